// SPDX-License-Identifier: GPL-2.0

//! The ways of bios whose sectors an engine converts.
//!
//! A thread of the queue hands all sectors of a bio over, and goes on to the next bio. What has
//! been converted comes back in an interrupt: a read ends there, a write goes on from the queue
//! `kcryptd_io`.

use crate::target::{
    status_of,
    Crypt, //
};
use dm::{
    bio::{
        Cursor,
        Handed,
        Kept,
        Owned, //
    },
    context::MaySleep,
    crypto::skcipher::{
        Cargo,
        Direction,
        Window, //
    },
    target::Target, //
};
use kernel::prelude::*;

/// A bio whose sectors are with an engine; that of a write has its copy.
pub(crate) struct Flight(Kept<Crypt>);

impl Cargo for Flight {
    fn data(&self) -> (Cursor<'_>, Cursor<'_>) {
        match self.0.is_write() {
            true => (self.0.cursor(), self.0.copy_cursor()),
            false => (self.0.cursor(), self.0.cursor()),
        }
    }

    fn arrived(self, result: Result) {
        self.0
            .resume(|crypt, ti, bio| match (bio.is_write(), result) {
                (true, result) => crypt.encrypted(ti, bio, result.is_ok()),
                (false, result) => bio.end(status_of(result)),
            });
    }
}

impl Crypt {
    /// Hands the sectors of a bio to the engine.
    pub(crate) fn take_off<'a>(
        &self,
        ti: &Target,
        mut bio: Owned<'a, Self>,
        window: &Window<Flight>,
        token: MaySleep<'_>,
    ) -> Handed<'a> {
        let mut direction = Direction::Decrypt;
        if bio.is_write() {
            direction = Direction::Encrypt;
            if bio.make_copy(Some(token)).is_err() {
                return self.encrypted(ti, bio, false);
            }
        }
        let sector = ti.offset(bio.sector());
        let (bio, handed) = bio.keep();
        self.converter
            .send(window, Flight(bio), direction, sector, token);
        handed
    }
}
