// SPDX-License-Identifier: GPL-2.0

//! Verification of one bio where it may sleep: hash blocks are read, bad blocks dealt with.
//!
//! Few bios come here, and those wait for the device anyway: blocks are hashed one at a time.

use crate::{
    hasher::Digest,
    report::{
        BlockKind,
        Corruption, //
    },
    target::{
        HashBlock,
        Verity, //
    },
    walk::{
        Access,
        Stop,
        Walk, //
    }, //
};
use dm::{
    bio::{
        Owned,
        Segment, //
    },
    bufio::Buffer,
    context::MaySleep,
    target::Target, //
};
use kernel::prelude::*;

/// Hash blocks are read if they are not cached; bad ones are reported.
struct Reading<'a> {
    verity: &'a Verity,
    ti: &'a Target,
    bio: &'a Owned<Verity>,
    token: MaySleep<'a>,
    had_mismatch: bool,
}

impl Reading<'_> {
    /// Reports a bad block and does what the table says. `of` is the data block on whose behalf
    /// it was looked at.
    #[cold]
    fn corrupted(
        &mut self,
        kind: BlockKind,
        block: u64,
        of: u64,
        op: &'static CStr,
    ) -> Result<(), Stop> {
        let corruption = Corruption { kind, block };
        self.verity
            .handle_corruption(self.ti, corruption, self.token)
            .inspect_err(|_| {
                self.had_mismatch = true;
                self.bio.audit(c"verity", op, of, false, self.token);
            })?;
        Ok(())
    }
}

impl<'a> Access<'a> for Reading<'a> {
    fn get(&self, block: u64) -> Result<Buffer<'a, HashBlock>, Stop> {
        let hashes = self.verity.hashes.sleepable(self.token);
        Ok(hashes.read(block, self.bio.priority())?)
    }

    fn mismatch(&mut self, block: u64, number: u64) -> Result<(), Stop> {
        self.corrupted(BlockKind::Metadata, block, number, c"verify-metadata")
    }
}

impl Verity {
    /// Verifies the data of a bio, from where an earlier attempt stopped. May sleep.
    ///
    /// # Errors
    ///
    /// `EIO` for a bad block, or the error of reading a hash block.
    pub(crate) fn verify(&self, ti: &Target, bio: &mut Owned<Self>, token: MaySleep<'_>) -> Result {
        let access = Reading {
            verity: self,
            ti,
            bio,
            token,
            had_mismatch: false,
        };
        let mut walk = Walk::new(self, access);
        let result = walk.all(bio);
        let had_mismatch = walk.access.had_mismatch;
        drop(walk);
        bio.data_mut().had_mismatch = had_mismatch;
        result.map_err(|stop| match stop {
            Stop::Error(error) => error,
            Stop::Missing | Stop::Mismatch => EIO,
        })
    }
}

/// A data block whose digest is known, and where that is.
struct Found<'a> {
    number: u64,
    segment: Segment<'a>,
}

impl<'a> Walk<'a, Reading<'a>> {
    /// Verifies all data blocks that are left.
    fn all(&mut self, bio: &Owned<Verity>) -> Result<(), Stop> {
        let blocks = bio.data().left();
        let size = self.verity.geometry.data_block().bytes();
        let mut cursor = bio.cursor();
        cursor.advance(bio.data().done().saturating_mul(size));
        let (mut wanted, mut digest) = (Digest::new(), Digest::new());
        for number in blocks {
            if let Some(segment) = self.look(number, &cursor, &mut wanted)? {
                self.hash(segment.data(), &mut digest)?;
                if !self.is_good(number, &digest, &wanted) {
                    self.bad(&Found { number, segment }, &wanted)?;
                }
            }
            cursor.advance(size);
        }
        Ok(())
    }

    /// Deals with a data block whose digest is wrong.
    #[cold]
    fn bad(&mut self, block: &Found<'_>, wanted: &Digest) -> Result<(), Stop> {
        if self.is_good_on_disk(block, wanted) {
            self.remember(block.number);
            return Ok(());
        }
        let number = block.number;
        self.access
            .corrupted(BlockKind::Data, number, number, c"verify-data")
    }

    /// Reads a block again where nobody else can write to it. If it is good there, it was changed
    /// after it was read, and the good one is returned.
    fn is_good_on_disk(&self, block: &Found<'_>, wanted: &Digest) -> bool {
        let (verity, token) = (self.verity, self.access.token);
        let mut page = verity.recheck_pages.alloc(token);
        let size = verity.geometry.data_block().bytes() as usize;
        let Some(data) = page.get_mut(..size) else {
            return false;
        };
        let sector = verity.data_sector(block.number);
        let mut digest = Digest::new();
        let good = verity
            .io
            .read(&verity.data_device, sector, data, token)
            .and_then(|()| self.hasher.digest((&*data).into(), &mut digest))
            .is_ok_and(|()| self.is_same(&digest, wanted.bytes()));
        if good {
            block.segment.copy_from(data);
        }
        good
    }
}
