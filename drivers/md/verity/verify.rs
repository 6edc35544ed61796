// SPDX-License-Identifier: GPL-2.0

//! Verification of one bio where it may sleep: hash blocks are read, bad blocks dealt with.
//!
//! Few bios come here, and those wait for the device anyway: blocks are hashed one at a time.

use crate::{
    fec::{
        Digests,
        Repaired,
        Room, //
    },
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
        is_verified,
        Access,
        BadHash,
        Stop,
        Walk, //
    }, //
};
use core::sync::atomic::Ordering;
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

/// The event of a bad hash block, in audit records.
const VERIFY_METADATA: &CStr = c"verify-metadata";

/// Hash blocks are read if they are not cached; bad ones are repaired or reported.
struct Reading<'a, 'call> {
    verity: &'a Verity,
    ti: &'a Target,
    bio: &'a Owned<'call, Verity>,
    token: MaySleep<'a>,
    had_mismatch: bool,
}

impl<'a> Reading<'a, '_> {
    fn repair(
        &mut self,
        room: Room<'a>,
        target: Corruption,
        wanted: &Digest,
    ) -> Result<Repaired<'a>> {
        let looking = Looking {
            verity: self.verity,
            ti: self.ti,
            bio: self.bio,
            token: self.token,
            target,
            reported: None,
        };
        let mut digests = Walk::new(self.verity, looking);
        let priority = self.bio.priority();
        let result = room.repair(target, wanted, &mut digests, priority, self.token);
        self.had_mismatch |= digests.access.reported.is_some();
        result
    }

    /// Tries to repair a data block.
    fn repair_data(&mut self, block: u64, wanted: &Digest) -> Option<Repaired<'a>> {
        let target = Corruption {
            kind: BlockKind::Data,
            block,
        };
        let room = self.verity.room_for_repair(self.token)?;
        self.repair(room, target, wanted).ok()
    }

    /// Tries to repair a hash block, and to put it into the cache.
    fn repair_hash(&mut self, bad: &BadHash<'_>) -> Option<Buffer<'a, HashBlock>> {
        let target = Corruption {
            kind: BlockKind::Metadata,
            block: bad.block,
        };
        let room = self.verity.room_for_repair(self.token)?;
        let hashes = self.verity.hashes.sleepable(self.token);
        let meanwhile = hashes.client().get(bad.block).filter(is_verified);
        if meanwhile.is_some() {
            return meanwhile;
        }
        let repaired = self.repair(room, target, bad.wanted).ok()?;
        let mut buffer = hashes.new_block(bad.block).ok()?;
        for (to, from) in buffer.data_mut().iter_mut().zip(repaired.iter()) {
            *to = *from;
        }
        buffer.aux().verified.store(true, Ordering::Release);
        Some(buffer.publish())
    }

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

impl<'a> Access<'a> for Reading<'a, '_> {
    fn get(&self, block: u64) -> Result<Buffer<'a, HashBlock>, Stop> {
        let hashes = self.verity.hashes.sleepable(self.token);
        Ok(hashes.read(block, self.bio.priority())?)
    }

    #[cold]
    fn unreadable(&mut self, bad: &BadHash<'_>, stop: Stop) -> Result<Buffer<'a, HashBlock>, Stop> {
        self.repair_hash(bad).ok_or(stop)
    }

    #[cold]
    fn mismatch(
        &mut self,
        bad: &BadHash<'_>,
        buffer: Buffer<'a, HashBlock>,
    ) -> Result<Buffer<'a, HashBlock>, Stop> {
        drop(buffer);
        if let Some(repaired) = self.repair_hash(bad) {
            return Ok(repaired);
        }
        self.corrupted(BlockKind::Metadata, bad.block, bad.number, VERIFY_METADATA)?;
        self.get(bad.block)
    }
}

/// Hash blocks are read if they are not cached, and reported if they are bad: on behalf of a
/// repair.
struct Looking<'a, 'call> {
    verity: &'a Verity,
    ti: &'a Target,
    bio: &'a Owned<'call, Verity>,
    token: MaySleep<'a>,
    /// The block that is being repaired.
    target: Corruption,
    /// The block that was reported last. Many data blocks may be under it.
    reported: Option<u64>,
}

impl Looking<'_, '_> {
    /// Reports a bad hash block, unless it is the one that is being repaired. Nothing else is done
    /// about it: nobody wanted it, and it may be repairable when somebody does.
    fn report(&mut self, bad: &BadHash<'_>) {
        let corruption = Corruption {
            kind: BlockKind::Metadata,
            block: bad.block,
        };
        if corruption == self.target || self.reported == Some(bad.block) {
            return;
        }
        self.reported = Some(bad.block);
        self.verity.note_corruption(self.ti, corruption, self.token);
        self.bio
            .audit(c"verity", VERIFY_METADATA, bad.number, false, self.token);
    }
}

impl<'a> Access<'a> for Looking<'a, '_> {
    fn get(&self, block: u64) -> Result<Buffer<'a, HashBlock>, Stop> {
        let hashes = self.verity.hashes.sleepable(self.token);
        Ok(hashes.read(block, self.bio.priority())?)
    }

    #[cold]
    fn mismatch(
        &mut self,
        bad: &BadHash<'_>,
        buffer: Buffer<'a, HashBlock>,
    ) -> Result<Buffer<'a, HashBlock>, Stop> {
        drop(buffer);
        self.report(bad);
        Err(Stop::Mismatch)
    }
}

impl<'a> Digests for Walk<'a, Looking<'a, '_>> {
    fn find(&mut self, block: u64, wanted: &mut Digest) -> bool {
        let found = Walk::find(self, block, wanted).is_ok();
        // The repair goes on to read other blocks.
        self.release();
        found
    }
}

impl Verity {
    /// Verifies the data of a bio, from where an earlier attempt stopped. May sleep.
    ///
    /// # Errors
    ///
    /// `EIO` for a bad block, or the error of reading a hash block.
    pub(crate) fn verify(
        &self,
        ti: &Target,
        bio: &mut Owned<'_, Self>,
        token: MaySleep<'_>,
    ) -> Result {
        let access = Reading {
            verity: self,
            ti,
            bio,
            token,
            had_mismatch: false,
        };
        let mut walk = Walk::new(self, access);
        if !bio.status().is_ok() {
            // The device failed it: what was found before says nothing of what is there now.
            walk.validated = None;
        }
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

impl<'a> Walk<'a, Reading<'a, '_>> {
    /// Verifies all data blocks that are left.
    fn all(&mut self, bio: &Owned<'_, Verity>) -> Result<(), Stop> {
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
        let number = block.number;
        self.release();
        if self.is_good_on_disk(block, wanted) {
            self.remember(number);
            return Ok(());
        }
        if let Some(repaired) = self.access.repair_data(number, wanted) {
            block.segment.copy_from(&repaired);
            return Ok(());
        }
        if !self.access.bio.status().is_ok() {
            // Not a bad block, but a failing device.
            return Err(Stop::Error(EIO));
        }
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
