// SPDX-License-Identifier: GPL-2.0

//! The bitmap of a volume in bitmap mode: which data may have wrong tags after a crash.
//!
//! It lies where the journal would be, from its first sector, has a bit for each power of two of
//! data sectors, and is written in blocks of [`BLOCK`] bytes. Bit `n` is bit `n % 8` of byte
//! `n / 8`: that is what the words of 64 bits of little-endian machines give.
//!
//! Three bitmaps of this form are in use: the one on disk, the one of what may be written without
//! the disk being told, and the one of what is to be recalculated.
//!
//! Units: a *sector* is a logical one, of 512 bytes; a *block of the bitmap* has 32768 bits.
//! Any context; the caller sees to it that nobody else changes a bitmap meanwhile.
//!
//! C source: `block_bitmap_op()` in `drivers/md/dm-integrity.c`

use core::ops::Range;

use crate::{
    layout::Layout,
    superblock, //
};

/// The bytes of a block of the bitmap, whatever the size of a page is.
pub const BLOCK: usize = 4096;
/// The sectors of a block of the bitmap.
pub const BLOCK_SECTORS: u32 = superblock::SECTORS;
/// log2 of the bits of a block of the bitmap.
const LOG2_BLOCK_BITS: u32 = 15;
/// log2 of the sectors that a bit is for, where the table does not say.
const DEFAULT_LOG2_SECTORS_PER_BIT: u8 = 15;
/// log2 of the bits of a sector.
const LOG2_SECTOR_BITS: u32 = 12;

const _: () = assert!(BLOCK * 8 == 1 << LOG2_BLOCK_BITS);

/// What the bits are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    log2_sectors_per_bit: u8,
    log2_sectors_per_block: u8,
    sectors: u64,
}

impl Geometry {
    /// Chooses the sectors that a bit is for: as the table says, rounded up to a block, and up
    /// until the bitmap fits in the journal area.
    pub fn new(layout: &Layout, log2_sectors_per_bit: Option<u8>) -> Self {
        let log2_sectors_per_block = layout.block().log2_sectors();
        let sectors = layout.provided_data_sectors();
        let bits = u64::from(layout.journal_sectors())
            .wrapping_shl(LOG2_SECTOR_BITS)
            .min(u32::MAX.into());
        let mut geometry = Self {
            log2_sectors_per_bit: log2_sectors_per_bit
                .unwrap_or(DEFAULT_LOG2_SECTORS_PER_BIT)
                .max(log2_sectors_per_block),
            log2_sectors_per_block,
            sectors,
        };
        while bits != 0 && bits < geometry.bits() && geometry.log2_sectors_per_bit < 63 {
            geometry.log2_sectors_per_bit = geometry.log2_sectors_per_bit.saturating_add(1);
        }
        geometry
    }

    /// The bits that there are.
    pub fn bits(&self) -> u64 {
        let last = self.sectors.saturating_sub(1);
        self.bit(last).saturating_add(1)
    }

    /// The blocks of the bitmap; they fit in the journal area, if there is one.
    pub fn blocks(&self) -> u32 {
        let blocks = self.bits().div_ceil(1 << LOG2_BLOCK_BITS);
        u32::try_from(blocks).unwrap_or(u32::MAX)
    }

    /// The bytes of a bitmap in memory.
    pub fn bytes(&self) -> usize {
        usize::try_from(self.blocks())
            .unwrap_or(usize::MAX)
            .saturating_mul(BLOCK)
    }

    /// log2 of the sectors that a bit is for.
    #[inline]
    pub fn log2_sectors_per_bit(&self) -> u8 {
        self.log2_sectors_per_bit
    }

    /// log2 of the blocks that a bit is for, as the superblock has it.
    #[inline]
    pub fn log2_blocks_per_bit(&self) -> u8 {
        self.log2_sectors_per_bit
            .saturating_sub(self.log2_sectors_per_block)
    }

    /// The sectors that a bit is for, as a table shows them.
    #[inline]
    pub fn sectors_per_bit(&self) -> u64 {
        1u64.wrapping_shl(self.log2_sectors_per_bit.into())
    }

    /// The most sectors of a bio, so that its bits are in one block of the bitmap.
    pub fn max_io_sectors(&self) -> u32 {
        let log2 = LOG2_BLOCK_BITS.saturating_add(self.log2_sectors_per_bit.into());
        1u32.wrapping_shl(log2.min(31))
    }

    /// The first sector that a sector has its bit with.
    pub fn align_down(&self, sector: u64) -> u64 {
        sector & !self.sectors_per_bit().wrapping_sub(1)
    }

    /// The block of the bitmap that has the bit of a sector.
    pub fn block_of(&self, sector: u64) -> u32 {
        u32::try_from(self.bit(sector) >> LOG2_BLOCK_BITS).unwrap_or(u32::MAX)
    }

    /// The bits of some sectors: of all that are touched by them.
    pub fn range(&self, sector: u64, sectors: u64) -> Range<u64> {
        match sectors.checked_sub(1) {
            Some(more) => self.bit(sector)..self.bit(sector.saturating_add(more)).saturating_add(1),
            None => 0..0,
        }
    }

    #[inline]
    fn bit(&self, sector: u64) -> u64 {
        sector.wrapping_shr(self.log2_sectors_per_bit.into())
    }
}

/// A byte with some bits of a range.
struct Part {
    index: usize,
    mask: u8,
}

/// The bytes of a range of bits that are only partly in it, and the whole ones between.
struct Parts {
    first: Option<Part>,
    whole: Range<usize>,
    last: Option<Part>,
}

impl Parts {
    fn of(bits: &Range<u64>) -> Self {
        let byte = |bit: u64| usize::try_from(bit >> 3).unwrap_or(usize::MAX);
        let below = |bit: u64| !u8::MAX.wrapping_shl((bit & 7) as u32);
        let (start, end) = (byte(bits.start), byte(bits.end));
        let (before, until) = (below(bits.start), below(bits.end));
        let part = |index, mask| (mask != 0).then_some(Part { index, mask });

        if bits.is_empty() {
            Self {
                first: None,
                whole: 0..0,
                last: None,
            }
        } else if start == end {
            Self {
                first: part(start, until & !before),
                whole: start..start,
                last: None,
            }
        } else {
            let whole = match before {
                0 => start,
                _ => start.saturating_add(1),
            };
            Self {
                first: part(start, !before).filter(|_| before != 0),
                whole: whole..end,
                last: part(end, until),
            }
        }
    }

    fn ends(&self) -> impl Iterator<Item = &Part> {
        self.first.iter().chain(&self.last)
    }
}

/// Sets some bits, or clears them. Bits that `bitmap` does not have are left out.
pub fn fill(bitmap: &mut [u8], bits: &Range<u64>, on: bool) {
    let parts = Parts::of(bits);
    for part in parts.ends() {
        if let Some(byte) = bitmap.get_mut(part.index) {
            *byte = match on {
                true => *byte | part.mask,
                false => *byte & !part.mask,
            };
        }
    }
    let end = parts.whole.end.min(bitmap.len());
    if let Some(whole) = bitmap.get_mut(parts.whole.start..end) {
        whole.fill(if on { u8::MAX } else { 0 });
    }
}

/// Whether all of some bits are set, or all are clear. Bits that `bitmap` does not have are
/// neither.
pub fn all(bitmap: &[u8], bits: &Range<u64>, on: bool) -> bool {
    let parts = Parts::of(bits);
    let flip = if on { u8::MAX } else { 0 };
    let right = |byte: u8, mask: u8| (byte ^ flip) & mask == 0;
    let ends = parts.ends().all(|part| {
        bitmap
            .get(part.index)
            .is_some_and(|&byte| right(byte, part.mask))
    });
    ends && bitmap
        .get(parts.whole)
        .is_some_and(|whole| whole.iter().all(|&byte| right(byte, u8::MAX)))
}
