// SPDX-License-Identifier: GPL-2.0

//! Bitmap mode: before anything is written where the bitmap on the disk says that all is well, it
//! is changed to say that it may not be; and changed back some time after the last write.
//!
//! There are three bitmaps. That of the *disk* is what is there, or is about to be. What *may be
//! written* is marked on the disk for certain. And *stale* tags are those that may be wrong since
//! the machine stopped; they are not looked at until they have been computed anew.

use crate::{
    bitmap::{
        self,
        Geometry,
        BLOCK, //
    },
    commit::Sequence,
    environment::ticks_per_second,
    options::to_milliseconds,
    progress::{
        Progress,
        Step, //
    },
    ranges::Range,
    replay::{
        Journal,
        Sections, //
    },
    superblock::{
        Flags,
        Superblock, //
    },
    table::Mode,
    target::{
        Integrity,
        FLUSH_BITMAP,
        MARK_BITMAP, //
    },
};
use core::sync::atomic::Ordering;
use dm::{
    alloc,
    bio::{
        BlockStatus,
        Handed,
        Kept,
        List,
        Op,
        Owned, //
    },
    context::MaySleep,
    target::Target, //
};
use kernel::{
    new_spinlock_irq,
    prelude::*,
    sync::SpinLockIrq, //
};

/// The milliseconds after which bits are cleared when the machine is about to stop.
const SYNCHRONOUS_INTERVAL: u32 = 14;

/// The bitmaps.
pub(crate) struct Bits {
    disk: KVVec<u8>,
    may_write: KVVec<u8>,
    pub(crate) stale: KVVec<u8>,
    /// Bios whose bits are to be set on the disk. They hold their ranges.
    waiting: List<Integrity>,
}

/// The bitmaps and their lock.
pub(crate) struct Bitmaps(pub(crate) Pin<KBox<SpinLockIrq<Bits>>>);

impl Bitmaps {
    /// May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(geometry: &Geometry) -> Result<Self> {
        let bytes = geometry.bytes();
        let bits = Bits {
            disk: alloc::zeroed(bytes, GFP_KERNEL)?,
            may_write: alloc::zeroed(bytes, GFP_KERNEL)?,
            stale: alloc::zeroed(bytes, GFP_KERNEL)?,
            waiting: List::new(),
        };
        Ok(Self(alloc::pin_boxed(new_spinlock_irq!(bits), GFP_KERNEL)?))
    }
}

impl Bits {
    /// Sets the bits of all bitmaps, or clears them.
    fn fill(&mut self, bits: &core::ops::Range<u64>, on: bool) {
        for bitmap in [&mut self.disk, &mut self.may_write, &mut self.stale] {
            bitmap::fill(bitmap, bits, on);
        }
    }
}

impl Integrity {
    fn bits_of(&self, range: Range) -> core::ops::Range<u64> {
        self.bitmap.range(range.start, range.len)
    }

    fn all_bits(&self) -> core::ops::Range<u64> {
        self.bitmap.range(0, self.layout.provided_data_sectors())
    }

    /// Returns whether no tag of a part is stale.
    pub(crate) fn is_clean(&self, progress: &Progress) -> bool {
        let Some(bitmaps) = &self.bitmaps else {
            return true;
        };
        let bits = self.bits_of(progress.range());
        let result = bitmap::all(&bitmaps.0.lock().stale, &bits, false);
        result
    }

    /// Returns a bio that may go on; has one wait whose part is not marked on the disk.
    pub(crate) fn mark_first<'a>(
        &self,
        ti: &Target,
        bio: Owned<'a, Self>,
    ) -> core::result::Result<Owned<'a, Self>, Handed<'a>> {
        let Some(bitmaps) = &self.bitmaps else {
            return Ok(bio);
        };
        let bits = self.bits_of(bio.data().range());
        let mut state = bitmaps.0.lock();
        if bio.data().op == Op::Read || bitmap::all(&state.may_write, &bits, true) {
            drop(state);
            return Ok(bio);
        }
        let (kept, handed) = bio.keep();
        state.waiting.push(kept);
        drop(state);
        ti.start_task(MARK_BITMAP);
        Err(handed)
    }

    /// The task: marks on the disk where bios are to write.
    pub(crate) fn mark_bitmap(&self, ti: &Target, token: MaySleep<'_>) {
        let Some(bitmaps) = &self.bitmaps else {
            return;
        };
        let mut waiting = bitmaps.0.lock().waiting.take();
        let mut marked = List::new();
        let mut block = None;
        while let Some(bio) = waiting.pop() {
            let range = bio.data().range();
            let bits = self.bits_of(range);
            let mut state = bitmaps.0.lock();
            if bitmap::all(&state.may_write, &bits, true) {
                drop(state);
                self.start_again(bio);
                continue;
            }
            bitmap::fill(&mut state.disk, &bits, true);
            drop(state);
            // Bios do not cross blocks.
            let this = self.bitmap.block_of(range.start);
            if let Some(other) = block.replace(this).filter(|&other| other != this) {
                self.write_bitmap_block(other, token);
            }
            marked.push(bio);
        }
        let Some(last) = block else {
            return;
        };
        self.write_bitmap_block(last, token);
        while let Some(bio) = marked.pop() {
            let bits = self.bits_of(bio.data().range());
            bitmap::fill(&mut bitmaps.0.lock().may_write, &bits, true);
            self.start_again(bio);
        }
        ti.start_task_after(FLUSH_BITMAP, self.bitmap_interval());
    }

    /// Has a bio begin its part again, without its range.
    fn start_again(&self, mut bio: Kept<Self>) {
        self.release(bio.data().range());
        bio.data_mut().step = Step::Start;
        let _ = bio.queue(&self.queues.offload);
    }

    /// The milliseconds after which bits are cleared.
    pub(crate) fn bitmap_interval(&self) -> u32 {
        match self.is_synchronous.load(Ordering::Relaxed) {
            true => SYNCHRONOUS_INTERVAL,
            false => to_milliseconds(self.settings.bitmap_flush_ticks, ticks_per_second()),
        }
    }

    /// Writes a block of the bitmap to the disk.
    fn write_bitmap_block(&self, block: u32, token: MaySleep<'_>) {
        let (Some(area), Some(bitmaps)) = (&self.area, &self.bitmaps) else {
            return;
        };
        let start = (block as usize).saturating_mul(BLOCK);
        let end = start.saturating_add(BLOCK);
        let copied = match bitmaps.0.lock().disk.get(start..end) {
            Some(bytes) => area.memory().write(start, bytes),
            None => false,
        };
        if !copied {
            self.failure.set("writing journal", EIO);
        }
        area.write_bytes(&self.io, start..end, &self.failure, token);
    }

    /// Writes the bitmap to the disk.
    fn write_bitmap(&self, token: MaySleep<'_>) {
        let (Some(area), Some(bitmaps)) = (&self.area, &self.bitmaps) else {
            return;
        };
        let copied = area.memory().write(0, &bitmaps.0.lock().disk);
        if !copied {
            self.failure.set("writing journal", EIO);
        }
        area.write_bytes(&self.io, 0..self.bitmap.bytes(), &self.failure, token);
    }

    /// Reads the bitmap from the disk, into the memory of the journal.
    fn read_bitmap(&self, token: MaySleep<'_>) {
        if let Some(area) = &self.area {
            area.read_bytes(&self.io, self.bitmap.bytes(), &self.failure, token);
        }
    }

    /// Returns whether the bitmap that was read has no bit set.
    fn is_bitmap_clear(&self) -> bool {
        const BITS: u64 = 512 * 8;

        let Some(area) = &self.area else {
            return true;
        };
        let all = self.all_bits();
        let mut part = [0; 512];
        let mut first = 0_u64;
        let mut offset = 0;
        while first < all.end {
            let count = all.end.saturating_sub(first).min(BITS);
            if !area.memory().read(offset, &mut part) || !bitmap::all(&part, &(0..count), false) {
                return false;
            }
            first = first.saturating_add(BITS);
            offset = offset.saturating_add(part.len());
        }
        true
    }

    /// The task: clears the bits of what is not being written, once all of that is on the medium.
    pub(crate) fn flush_bitmap(&self, ti: &Target, token: MaySleep<'_>) {
        let Some(bitmaps) = &self.bitmaps else {
            return;
        };
        // Most of it before anyone has to wait.
        self.flush_devices(false, token);
        let range = Range {
            start: 0,
            len: self.layout.provided_data_sectors(),
        };
        self.hold(range, token);
        self.flush_devices(true, token);
        let limit = self.change_superblock(|superblock| {
            match superblock.flags.contains(Flags::RECALCULATING) {
                true => self.bitmap.align_down(superblock.recalc_sector),
                false => range.len,
            }
        });
        // What is calculated is calculated to the end.
        let limit = match limit {
            0 => 0..0,
            limit => self.bitmap.range(0, limit.min(range.len)),
        };
        {
            let mut state = bitmaps.0.lock();
            bitmap::fill(&mut state.disk, &limit, false);
            bitmap::fill(&mut state.may_write, &limit, false);
        }
        self.write_bitmap(token);
        self.release(range);
        let mut ended = self.state.lock().synchronous.take();
        while let Some(bio) = ended.pop() {
            let _ = bio.end(self.failure.status(BlockStatus::OK));
        }
        let _ = ti;
    }

    /// Starts a bitmap on a volume that has none.
    pub(crate) fn begin_bitmap(&self, token: MaySleep<'_>) {
        let Some(bitmaps) = &self.bitmaps else {
            return;
        };
        let provided = self.layout.provided_data_sectors();
        let recalculation = self.change_superblock(|superblock| {
            superblock.flags.set(Flags::DIRTY_BITMAP, true);
            superblock.log2_blocks_per_bitmap_bit = self.bitmap.log2_blocks_per_bit();
            superblock.recalculation()
        });
        self.write_superblock(token);
        {
            let mut bits = bitmaps.0.lock();
            bits.fill(&self.all_bits(), false);
            if let Some(sector) = recalculation.filter(|&sector| sector < provided) {
                let rest = provided.saturating_sub(sector);
                bits.fill(&self.bitmap.range(sector, rest), true);
            }
        }
        self.write_bitmap(token);
    }

    /// Goes on with a volume whose bitmap says what may be wrong.
    pub(crate) fn resume_dirty_bitmap(&self, ti: &Target, token: MaySleep<'_>) {
        self.read_bitmap(token);
        let same = self.change_superblock(|superblock| {
            superblock.log2_blocks_per_bitmap_bit == self.bitmap.log2_blocks_per_bit()
        });
        let reset = self.settings.reset_recalculate;
        let clear = same && !reset && self.is_bitmap_clear();
        if self.mode == Mode::Bitmap {
            self.take_bitmap(same && !reset, token);
        }
        if !clear {
            self.change_superblock(Superblock::start_recalculation);
        }
        if self.mode != Mode::Bitmap {
            self.erase_area(token);
            self.replay(ti, token);
            self.change_superblock(|s| s.flags.set(Flags::DIRTY_BITMAP, false));
        }
        self.write_superblock(token);
    }

    /// Takes over the bitmap that was read, or marks everything if it cannot be used.
    fn take_bitmap(&self, usable: bool, token: MaySleep<'_>) {
        let (Some(area), Some(bitmaps)) = (&self.area, &self.bitmaps) else {
            return;
        };
        if usable {
            let mut state = bitmaps.0.lock();
            let Bits {
                disk,
                may_write,
                stale,
                ..
            } = &mut *state;
            if area.memory().read(0, disk) {
                may_write.copy_from_slice(disk);
                stale.copy_from_slice(disk);
                return;
            }
        }
        self.change_superblock(|superblock| {
            superblock.log2_blocks_per_bitmap_bit = self.bitmap.log2_blocks_per_bit();
        });
        bitmaps.0.lock().fill(&self.all_bits(), true);
        self.write_bitmap(token);
    }

    /// Writes an empty journal to its whole area, over a bitmap if there was one.
    pub(crate) fn erase_area(&self, token: MaySleep<'_>) {
        if let Some(area) = &self.area {
            let sections = Sections {
                first: 0,
                count: area.geometry().sections(),
            };
            area.erase(
                &self.io,
                sections,
                Sequence::default(),
                &self.failure,
                token,
            );
        }
    }

    /// Marks what a volume has grown by.
    pub(crate) fn grow_bitmap(&self, old: u64, token: MaySleep<'_>) {
        let (Some(area), Some(bitmaps)) = (&self.area, &self.bitmaps) else {
            return;
        };
        let dirty = self.change_superblock(|superblock| {
            superblock.flags.contains(Flags::DIRTY_BITMAP)
                && superblock.log2_blocks_per_bitmap_bit == self.bitmap.log2_blocks_per_bit()
        });
        if !dirty {
            return;
        }
        self.read_bitmap(token);
        let more = self.layout.provided_data_sectors().saturating_sub(old);
        {
            let mut state = bitmaps.0.lock();
            let _ = area.memory().read(0, &mut state.disk);
            bitmap::fill(&mut state.disk, &self.bitmap.range(old, more), true);
        }
        self.write_bitmap(token);
    }

    /// Leaves the volume without a bitmap.
    pub(crate) fn suspend_bitmap(&self, token: MaySleep<'_>) {
        self.flush_devices(true, token);
        self.erase_area(token);
        self.change_superblock(|s| s.flags.set(Flags::DIRTY_BITMAP, false));
        self.write_superblock(token);
    }

    /// From now on, writes end only when they are on the medium and the bitmap is clear: the
    /// machine is about to stop, perhaps without suspending the device.
    pub(crate) fn be_synchronous(&self, ti: &Target, token: MaySleep<'_>) {
        if self.mode != Mode::Bitmap {
            return;
        }
        self.is_synchronous.store(true, Ordering::SeqCst);
        ti.cancel_task(FLUSH_BITMAP, token);
        ti.start_task(FLUSH_BITMAP);
        ti.flush_task(FLUSH_BITMAP, token);
    }
}
