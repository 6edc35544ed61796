// SPDX-License-Identifier: GPL-2.0

//! The ways of bios and requests whose sectors an engine converts.
//!
//! A thread of the queue hands all sectors of a bio over, and goes on to the next bio. What has
//! been converted comes back in an interrupt: a read ends there, a write goes on from the queue
//! `kcryptd_io`. A request is shared out for that, bio by bio.

use crate::target::{
    status_of,
    Crypt, //
};
use dm::{
    bio::{
        BlockStatus,
        Cursor,
        Handed,
        Kept,
        Op,
        Owned, //
    },
    context::MaySleep,
    crypto::skcipher::{
        Cargo,
        Direction,
        Window, //
    },
    request::{
        OwnedRequest,
        Share, //
    },
    target::Target, //
};
use kernel::prelude::*;

/// What has its sectors with an engine; a write has its copy.
pub(crate) enum Flight {
    Bio(Kept<Crypt>),
    Part(Share<Crypt>),
}

impl Cargo for Flight {
    fn data(&self) -> (Cursor<'_>, Cursor<'_>) {
        match self {
            Self::Bio(bio) if bio.is_write() => (bio.cursor(), bio.copy_cursor()),
            Self::Bio(bio) => (bio.cursor(), bio.cursor()),
            Self::Part(part) if part.is_write() => (part.cursor(), part.copy_cursor()),
            Self::Part(part) => (part.cursor(), part.cursor()),
        }
    }

    fn arrived(self, result: Result) {
        match self {
            Self::Bio(bio) => bio.resume(|crypt, ti, bio| match (bio.is_write(), result) {
                (true, result) => crypt.encrypted(ti, bio, result.is_ok()),
                (false, result) => bio.end(status_of(result)),
            }),
            Self::Part(mut part) => {
                if result.is_err() {
                    part.fail(BlockStatus::IO_ERROR);
                }
            }
        }
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
            .send(window, Flight::Bio(bio), direction, sector, token);
        handed
    }

    /// Hands the sectors of a request to the engine. One whose data the device did not read stays.
    pub(crate) fn take_off_request<'a>(
        &self,
        ti: &Target,
        mut request: OwnedRequest<'a, Self>,
        window: &Window<Flight>,
        token: MaySleep<'_>,
    ) -> Handed<'a> {
        let mut direction = Direction::Decrypt;
        if request.op() == Op::Write {
            direction = Direction::Encrypt;
            if request.make_copy(Some(token)).is_err() {
                return request.end(BlockStatus::IO_ERROR);
            }
        }
        request.share_out(|part| {
            if part.status().is_ok() {
                let sector = ti.offset(part.sector());
                self.converter
                    .send(window, Flight::Part(part), direction, sector, token);
            }
        })
    }
}
