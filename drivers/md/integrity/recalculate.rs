// SPDX-License-Identifier: GPL-2.0

//! Tags that are wrong, or that there are none of yet, are computed from the data.

use crate::{
    bitmap,
    ranges::Range,
    tagger::Tagger,
    tags::{
        address,
        Chunk, //
    },
    target::{
        Integrity,
        FLUSH_BITMAP,
        RECALCULATE, //
    },
    LOG, //
};
use core::cmp::Ordering;
use dm::{
    alloc,
    context::MaySleep,
    target::Target, //
};
use kernel::{
    alloc::flags::__GFP_NOWARN,
    prelude::*, //
};

/// The most sectors that are read at once.
const AT_ONCE: u32 = 8192;

/// How often the superblock is written: once for so many times.
const SUPERBLOCK: u32 = 16;

/// Why recalculation stops.
enum Stop {
    /// All is done, or the device is being suspended.
    Done,
    /// The device has failed.
    Failed,
}

impl Integrity {
    /// Starts recalculation, if there is anything to be computed.
    pub(crate) fn start_recalculation(&self, ti: &Target, token: MaySleep<'_>) {
        let provided = self.layout.provided_data_sectors();
        let Some(sector) = self.change_superblock(|s| s.recalculation()) else {
            return;
        };
        match sector.cmp(&provided) {
            Ordering::Less => ti.start_task(RECALCULATE),
            Ordering::Equal => {}
            Ordering::Greater => {
                self.change_superblock(|superblock| superblock.recalc_sector = provided);
                self.save_recalculation(token);
            }
        }
    }

    /// Stops recalculation; it goes on after the next resume.
    pub(crate) fn stop_recalculation(&self, ti: &Target, token: MaySleep<'_>) {
        ti.flush_task(RECALCULATE, token);
        ti.cancel_task(RECALCULATE, token);
        ti.cancel_task(FLUSH_BITMAP, token);
    }

    /// Writes down how far it has come.
    fn save_recalculation(&self, token: MaySleep<'_>) {
        self.flush_devices(false, token);
        if !self.failure.is_set() {
            self.write_superblock(token);
        }
    }

    /// The task: computes tags from where it stopped on.
    pub(crate) fn recalculate(&self, ti: &Target, token: MaySleep<'_>) {
        let Some(tagger) = &self.tagger else {
            return;
        };
        let Some(mut buffer) = self.recalculation_buffer() else {
            LOG.error(fmt!(
                "out of memory for recalculate buffer - recalculation disabled"
            ));
            return;
        };
        let mut count = 0_u32;
        let stop = loop {
            count = count.saturating_add(1);
            if count == SUPERBLOCK {
                count = 0;
                self.save_recalculation(token);
                if self.bitmaps.is_some() {
                    ti.start_task_after(FLUSH_BITMAP, self.bitmap_interval());
                }
            }
            if let Some(stop) = self.recalculate_some(ti, tagger, &mut buffer, token) {
                break stop;
            }
        };
        if let Stop::Done = stop {
            self.save_recalculation(token);
        }
    }

    fn recalculation_buffer(&self) -> Option<KVec<u8>> {
        let mut sectors = AT_ONCE;
        while sectors >= self.layout.block().sectors() {
            let bytes = (sectors as usize).saturating_mul(512);
            let flags = GFP_KERNEL | __GFP_NOWARN;
            let buffer = alloc::without_io(|| alloc::with_capacity(bytes, flags));
            if let Ok(mut buffer) = buffer {
                buffer.extend_with(bytes, 0, flags).ok()?;
                return Some(buffer);
            }
            sectors /= 2;
        }
        None
    }

    /// Computes the tags of as much as is read at once. Says when it is to stop.
    fn recalculate_some(
        &self,
        ti: &Target,
        tagger: &Tagger,
        buffer: &mut [u8],
        token: MaySleep<'_>,
    ) -> Option<Stop> {
        if ti.is_post_suspending() {
            return Some(Stop::Done);
        }
        let start = self.change_superblock(|superblock| superblock.recalc_sector);
        let room = self.layout.contiguous_sectors(start);
        if room == 0 {
            self.end_recalculation(ti);
            return Some(Stop::Done);
        }
        let range = Range {
            start,
            len: room.min((buffer.len() / 512) as u64),
        };
        self.hold(range, token);
        let result = self
            .failure
            .get()
            .and_then(|()| self.recalculate_range(tagger, range, buffer, token));
        let mut state = self.state.lock();
        if result.is_ok() {
            state.superblock.recalc_sector = range.end();
            if let Some(inline) = &self.inline {
                inline.set_calculated(Some(range.end()));
            }
        }
        let granted = state.release(range);
        drop(state);
        self.hand_on(granted);
        result.is_err().then_some(Stop::Failed)
    }

    /// All tags are right now.
    fn end_recalculation(&self, ti: &Target) {
        if let Some(bitmaps) = &self.bitmaps {
            let all = self.bitmap.range(0, self.layout.provided_data_sectors());
            bitmap::fill(&mut bitmaps.0.lock().stale, &all, false);
            ti.start_task(FLUSH_BITMAP);
        }
    }

    /// Takes off a range, at either end, what is not stale.
    fn stale_part(&self, range: Range) -> Range {
        let Some(bitmaps) = &self.bitmaps else {
            return range;
        };
        let state = bitmaps.0.lock();
        let clean = |start: u64, end: u64| {
            let bits = self.bitmap.range(start, end.saturating_sub(start));
            bitmap::all(&state.stale, &bits, false)
        };
        let (mut start, mut end) = (range.start, range.end());
        while start < end {
            let next = self
                .bitmap
                .align_down(start)
                .saturating_add(self.bitmap.sectors_per_bit())
                .min(end);
            if !clean(start, next) {
                break;
            }
            start = next;
        }
        while start < end {
            let before = self.bitmap.align_down(end.saturating_sub(1)).max(start);
            if !clean(before, end) {
                break;
            }
            end = before;
        }
        Range {
            start,
            len: end.saturating_sub(start),
        }
    }

    /// Computes the tags of a range that is held.
    fn recalculate_range(
        &self,
        tagger: &Tagger,
        whole: Range,
        buffer: &mut [u8],
        token: MaySleep<'_>,
    ) -> Result {
        let range = self.stale_part(whole);
        if range.len == 0 {
            return Ok(());
        }
        let bytes = (range.len as usize).saturating_mul(512);
        let data = buffer.get_mut(..bytes).ok_or(EINVAL)?;
        let sector = self.layout.data_sector(range.start);
        self.io
            .read(&self.device, sector, data, token)
            .inspect_err(|&error| self.failure.set("reading data", error))?;
        if let Some(inline) = &self.inline {
            return self
                .write_computed_inline(inline, tagger, range.start, data, token)
                .inspect_err(|&error| self.failure.set("writing data", error));
        }
        self.write_computed(tagger, range.start, data, token)
            .inspect_err(|&error| self.failure.set("writing tags", error))?;
        if let Some(bitmaps) = &self.bitmaps {
            let start = self.bitmap.align_down(whole.start);
            let end = self.bitmap.align_down(whole.end());
            let bits = self.bitmap.range(start, end.saturating_sub(start));
            bitmap::fill(&mut bitmaps.0.lock().stale, &bits, false);
        }
        Ok(())
    }

    fn write_computed(
        &self,
        tagger: &Tagger,
        mut sector: u64,
        data: &[u8],
        token: MaySleep<'_>,
    ) -> Result {
        let block = self.layout.block();
        let tag = tagger.tag_bytes();
        let mut chunk = Chunk::new();
        let mut at = address(&self.layout, sector);
        let per_chunk = (block.bytes() as usize).saturating_mul(Chunk::room(tag) as usize);
        for part in data.chunks(per_chunk.max(1)) {
            chunk.clear();
            for bytes in part.chunks_exact(block.bytes() as usize) {
                chunk.push(tag, |out| tagger.tag(sector, bytes.into(), out))?;
                sector = sector.saturating_add(block.sectors().into());
            }
            self.tags.write(at, chunk.tags(), token)?;
            at = at.saturating_add(chunk.tags().len() as u64);
        }
        Ok(())
    }
}
