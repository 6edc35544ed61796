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

/// The bits of a word.
const WORD_BITS: u64 = 64;
/// log2 of the bits of a word.
const LOG2_WORD_BITS: u32 = 6;
/// The bytes of a word.
const WORD_BYTES: usize = 8;

const _: () = assert!(BLOCK * 8 == 1 << LOG2_BLOCK_BITS);
const _: () = assert!(WORD_BITS == 1 << LOG2_WORD_BITS && WORD_BITS == WORD_BYTES as u64 * 8);

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

/// The words that have some bits, with those of the bits that are in each.
///
/// Word `n` is bytes `8 * n` to `8 * n + 7`, little endian.
pub fn words(bits: &Range<u64>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = *bits;
    let first = start >> LOG2_WORD_BITS;
    let after = end.div_ceil(WORD_BITS);
    // All ones from a bit of a word on; zero if it is after the last one.
    let from = move |bit: u64, word: u64| {
        let bit = bit.saturating_sub(word.saturating_mul(WORD_BITS));
        u64::MAX.checked_shl(bit.min(WORD_BITS) as u32).unwrap_or(0)
    };
    let words = if start < end { first..after } else { 0..0 };
    words.map(move |word| {
        let mask = from(start, word) & !from(end, word);
        (usize::try_from(word).unwrap_or(usize::MAX), mask)
    })
}

fn word_range(word: usize) -> Range<usize> {
    let start = word.saturating_mul(WORD_BYTES);
    start..start.saturating_add(WORD_BYTES)
}

/// Sets some bits, or clears them. Bits that `bitmap` does not have are left out.
pub fn fill(bitmap: &mut [u8], bits: &Range<u64>, on: bool) {
    for (word, mask) in words(bits) {
        let bytes = bitmap.get_mut(word_range(word)).unwrap_or_default();
        for (byte, mask) in bytes.iter_mut().zip(mask.to_le_bytes()) {
            *byte = match on {
                true => *byte | mask,
                false => *byte & !mask,
            };
        }
    }
}

/// Whether all of some bits are set, or all are clear. Bits that `bitmap` does not have are
/// neither.
pub fn all(bitmap: &[u8], bits: &Range<u64>, on: bool) -> bool {
    words(bits).all(|(word, mask)| {
        let bytes = bitmap.get(word_range(word)).and_then(|b| b.first_chunk());
        bytes.is_some_and(|&bytes| {
            let word = u64::from_le_bytes(bytes);
            mask & if on { !word } else { word } == 0
        })
    })
}
