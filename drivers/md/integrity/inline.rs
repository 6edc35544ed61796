// SPDX-License-Identifier: GPL-2.0

//! Inline mode: the device below has room for the tag of each block itself, and gets and gives
//! it together with the data. There is no journal, and nothing to be kept in order.
//!
//! C source: `dm_integrity_map_inline()` and what follows it in `drivers/md/dm-integrity.c`

use crate::{
    progress::{
        Progress,
        Step, //
    },
    tagger::{
        Tagger,
        SPARE, //
    },
    target::Integrity,
    LOG, //
};
use core::sync::atomic::{
    AtomicU64,
    Ordering, //
};
use dm::{
    bio::{
        BlockStatus,
        Decision,
        Handed,
        MapBio,
        Op,
        Owned,
        TagPool, //
    },
    context::MaySleep,
    crypto::Data,
    io,
    log::RateLimit,
    target::Target, //
};
use kernel::prelude::*;

/// The bytes of tags, with what a digest may take beyond them, that there is always memory for.
const RESERVED: usize = 8192;

/// What inline mode needs.
pub(crate) struct Inline {
    /// The bytes that the device keeps for a block: the tag, then zeroes.
    tuple: usize,
    pool: TagPool,
    /// The sector up to which tags are known to be right without a look at the superblock.
    calculated: AtomicU64,
}

impl Inline {
    /// For a device that keeps `tuple` bytes for each block. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(tuple: u32, token: MaySleep<'_>) -> Result<Self> {
        Ok(Self {
            tuple: tuple as usize,
            pool: TagPool::new(RESERVED, token)?,
            calculated: AtomicU64::new(0),
        })
    }

    /// The bytes of the tags of so many blocks.
    fn bytes(&self, blocks: u64) -> usize {
        (blocks as usize).saturating_mul(self.tuple)
    }

    /// The blocks whose tags so many bytes of memory have room for.
    fn room(&self, bytes: usize) -> usize {
        let tags = bytes.saturating_sub(SPARE);
        tags.checked_div(self.tuple).unwrap_or(0)
    }

    /// Writes the tag of a block to its place, zeroes after it, and the rest of a long digest over
    /// these. That and what comes after the place is as it is in C.
    fn put(
        &self,
        tagger: &Tagger,
        sector: u64,
        data: Data<'_>,
        tags: &mut [u8],
        at: usize,
    ) -> Result {
        let out = tags.get_mut(at..).ok_or(EINVAL)?;
        out.get_mut(..self.tuple).ok_or(EINVAL)?.fill(0);
        tagger.tag(sector, data, out)
    }

    /// Returns whether the tag of a block is the one at a place.
    fn is_right(
        &self,
        tagger: &Tagger,
        sector: u64,
        data: Data<'_>,
        tags: &[u8],
        at: usize,
    ) -> Result<bool> {
        let mut tag = [0; 256 + SPARE];
        tagger.tag(sector, data, &mut tag)?;
        let size = tagger.significant_bytes();
        let (tag, stored) = (tag.get(..size), tags.get(at..));
        let stored = stored.and_then(|tags| tags.get(..size)).ok_or(EINVAL)?;
        // No branch depends on the bytes.
        let pairs = tag.ok_or(EINVAL)?.iter().zip(stored);
        Ok(pairs.fold(0, |wrong, (a, b)| wrong | (a ^ b)) == 0)
    }

    /// Notes up to where the tags are right.
    pub(crate) fn set_calculated(&self, recalculation: Option<u64>) {
        let sector = recalculation.unwrap_or(u64::MAX);
        self.calculated.store(sector, Ordering::Release);
    }
}

impl Integrity {
    /// Takes a bio with memory for its tags, or the part of it for which there is some.
    pub(crate) fn map_inline<'a>(
        &self,
        ti: &Target,
        inline: &Inline,
        mut bio: MapBio<'a, Self>,
    ) -> Decision<'a> {
        let sector = ti.offset(bio.sector());
        let block = self.layout.block();
        if bio.metadata_bytes().is_some() {
            let progress = Progress::new(bio.op(), false, sector, bio.sectors());
            return bio.take(progress).end(EOPNOTSUPP.into()).into();
        }
        if bio.is_flush() {
            return bio.remap(&self.device, sector);
        }
        if !self.is_allowed(sector, &bio) {
            return bio.kill();
        }
        let bytes = inline.bytes(block.blocks_in(bio.sectors().into()));
        let tags = inline.pool.get(bytes.saturating_add(SPARE)).or_else(|| {
            let blocks = inline.room(RESERVED) as u32;
            bio.accept_partial(blocks.saturating_mul(block.sectors()));
            inline.pool.get_reserved()
        });
        let Some(tags) = tags else { return bio.kill() };
        let sectors = bio.sectors();
        let mut progress = Progress::new(bio.op(), false, sector, sectors);
        progress.part = sectors;
        let mut bio = bio.take(progress);
        bio.set_tags(tags);
        self.start_inline(inline, bio).into()
    }

    /// Holds the range of a bio if its tags may be computed anew just now, and sends it on.
    fn start_inline<'a>(&self, inline: &Inline, mut bio: Owned<'a, Self>) -> Handed<'a> {
        let range = bio.data().range();
        if range.end() > inline.calculated.load(Ordering::Acquire) {
            let mut state = self.state.lock();
            if !state.is_calculated(range) {
                if !state.try_hold(range) {
                    let (kept, handed) = bio.keep();
                    state.wait(kept);
                    return handed;
                }
                bio.data_mut().trusted = false;
            }
        }
        self.send_inline(inline, bio, None)
    }

    /// Goes on with a bio on a queue.
    pub(crate) fn go_on_inline<'a>(
        &self,
        inline: &Inline,
        mut bio: Owned<'a, Self>,
        token: MaySleep<'_>,
    ) -> Handed<'a> {
        match bio.data().step {
            Step::Verify => {
                let result = self.verify_inline(inline, &mut bio, token);
                self.end_inline(bio, result.into())
            }
            Step::Locked => {
                bio.data_mut().trusted = false;
                self.send_inline(inline, bio, Some(token))
            }
            _ => self.send_inline(inline, bio, Some(token)),
        }
    }

    /// Sends a bio to the device with its tags. Without a token, it is sent later if there is no
    /// memory.
    fn send_inline<'a>(
        &self,
        inline: &Inline,
        mut bio: Owned<'a, Self>,
        token: Option<MaySleep<'_>>,
    ) -> Handed<'a> {
        let blocks = self.layout.block().blocks_in(bio.data().part.into());
        let sector = self.layout.data_sector(bio.data().sector);
        let result = match bio.data().op {
            Op::Write => self.compute_inline(inline, &mut bio),
            _ => Ok(()),
        };
        let result = result.and_then(|()| {
            bio.attach_tags_to_own(&self.device, sector, inline.bytes(blocks), token)
        });
        match result {
            Ok(()) => bio.submit(&self.device, sector),
            Err(ENOMEM) if token.is_none() => {
                bio.data_mut().step = Step::WriteTags;
                bio.queue(&self.queues.offload)
            }
            Err(error) => self.end_inline(bio, error.into()),
        }
    }

    /// Computes the tags of what is to be written.
    fn compute_inline(&self, inline: &Inline, bio: &mut Owned<'_, Self>) -> Result {
        let tagger = self.tagger.as_ref().ok_or(EINVAL)?;
        let (sector, part) = (bio.data().sector, bio.data().part);
        let (cursor, _, tags) = bio.parts();
        for (n, block) in (0..).zip(self.blocks_from(cursor, sector, part)) {
            let (sector, data) = block?;
            inline
                .put(tagger, sector, data.data(), tags, inline.bytes(n))
                .inspect_err(|&error| self.failure.set("crypto_shash_digest", error))?;
        }
        Ok(())
    }

    /// Takes a bio back from the device. Any context.
    pub(crate) fn completed_inline<'a>(&self, mut bio: Owned<'a, Self>) -> Handed<'a> {
        let status = bio.status();
        if status.is_ok() && bio.data().op == Op::Read && bio.data().trusted {
            bio.data_mut().step = Step::Verify;
            return bio.queue(&self.queues.metadata);
        }
        self.end_inline(bio, status)
    }

    /// Ends a bio, and gives up its range if it has held one. Any context.
    fn end_inline<'a>(&self, bio: Owned<'a, Self>, status: BlockStatus) -> Handed<'a> {
        if !bio.data().trusted {
            self.release(bio.data().range());
        }
        bio.end(status)
    }

    /// Compares the tags of what was read.
    fn verify_inline(
        &self,
        inline: &Inline,
        bio: &mut Owned<'_, Self>,
        token: MaySleep<'_>,
    ) -> Result {
        let tagger = self.tagger.as_ref().ok_or(EINVAL)?;
        let (sector, part) = (bio.data().sector, bio.data().part);
        let (cursor, _, tags) = bio.parts();
        let mut wrong = None;
        for (n, block) in (0..).zip(self.blocks_from(cursor, sector, part)) {
            let (sector, data) = block?;
            if !inline.is_right(tagger, sector, data.data(), tags, inline.bytes(n))? {
                wrong = Some(n);
                break;
            }
        }
        match wrong {
            Some(first) => self.recheck_inline(inline, tagger, bio, first, token),
            None => Ok(()),
        }
    }

    /// Reads a bio again from a block on, to where nobody else writes: the data may have been
    /// changed while it was hashed.
    #[cold]
    fn recheck_inline(
        &self,
        inline: &Inline,
        tagger: &Tagger,
        bio: &mut Owned<'_, Self>,
        first: u64,
        token: MaySleep<'_>,
    ) -> Result {
        let block = self.layout.block();
        let (start, blocks) = (bio.data().sector, block.blocks_in(bio.data().part.into()));
        let mut page = self.recheck_pages.alloc(token);
        let data = page.get_mut(..block.bytes() as usize).ok_or(EIO)?;
        let (mut cursor, _, tags) = bio.parts();
        let tags = tags.get_mut(..inline.tuple).ok_or(EINVAL)?;
        cursor.advance((first as u32).saturating_mul(block.bytes()));
        for n in first..blocks {
            let offset = n.saturating_mul(block.sectors().into());
            let sector = start.saturating_add(offset);
            let place = self.layout.data_sector(sector);
            io::read_with_metadata(&self.device, place, data, tags, token)?;
            if !inline.is_right(tagger, sector, (&*data).into(), tags, 0)? {
                self.report_inline(bio, sector, token);
                return Err(EILSEQ);
            }
            cursor.segment().ok_or(EIO)?.copy_from(data);
            cursor.advance(block.bytes());
        }
        Ok(())
    }

    /// Reports a block whose tag is wrong: C names the device below in this mode.
    #[cold]
    fn report_inline(&self, bio: &Owned<'_, Self>, sector: u64, token: MaySleep<'_>) {
        static LIMIT: RateLimit = RateLimit::new();

        self.device.with_disk_name(|name| {
            let name = name.to_str().unwrap_or_default();
            LOG.error_limited(
                &LIMIT,
                fmt!("{}: Checksum failed at sector 0x{:x}", name, sector),
            );
        });
        self.failure.count_mismatch();
        bio.audit(c"integrity", c"integrity-checksum", sector, false, token);
    }

    /// Writes data that was read, together with the tags computed of it. May sleep.
    pub(crate) fn write_computed_inline(
        &self,
        inline: &Inline,
        tagger: &Tagger,
        mut sector: u64,
        data: &[u8],
        token: MaySleep<'_>,
    ) -> Result {
        let block = self.layout.block();
        let bytes = block.bytes() as usize;
        let all = inline.bytes((data.len() as u64).checked_div(bytes as u64).unwrap_or(0));
        let tags = inline.pool.get(all.saturating_add(SPARE));
        let mut tags = tags.or_else(|| inline.pool.get_reserved()).ok_or(ENOMEM)?;
        let at_once = inline.room(tags.len()).max(1).saturating_mul(bytes);
        for part in data.chunks(at_once) {
            let place = self.layout.data_sector(sector);
            let mut used = 0_usize;
            for block_data in part.chunks_exact(bytes) {
                inline.put(tagger, sector, block_data.into(), &mut tags, used)?;
                used = used.saturating_add(inline.tuple);
                sector = sector.saturating_add(block.sectors().into());
            }
            let tags = tags.get(..used).ok_or(EINVAL)?;
            io::write_with_metadata(&self.device, place, part, tags, token)?;
        }
        Ok(())
    }
}
