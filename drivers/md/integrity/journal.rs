// SPDX-License-Identifier: GPL-2.0

//! The journal on disk.
//!
//! It consists of sections of equal size. A section is eight sectors of entries, then the data of
//! as many blocks as there are entries:
//!
//! ```text
//! | entries (8 sectors) | block of entry 0 | block of entry 1 | ...
//! ```
//!
//! Entry `n` is in sector `n % 8`. It has the logical sector of its block, the eight bytes at the
//! end of each sector of the block, and the tag. These eight bytes of *every* sector of a section
//! are a commit id, which tells whether the sector belongs to a section that was
//! written to the end. With a journal MAC, the eight bytes before it are, in the sectors of
//! entries, an eighth of the MAC of the section.
//!
//! Units: a *sector* is 512 bytes; byte offsets are from the first byte of the journal. Nothing
//! here does I/O. Any context.
//!
//! C source: `struct journal_entry`, `struct journal_sector`, and
//! `calculate_journal_section_size()` in `drivers/md/dm-integrity.c`

use crate::shape::{
    BlockSize,
    TagSize,
    SECTOR_SHIFT, //
};

/// The sectors of a section that have entries.
pub const ENTRY_SECTORS: u32 = 8;
/// The bytes of a sector.
pub const SECTOR: usize = 512;
/// Where in a sector the commit id is.
pub const COMMIT_ID: usize = SECTOR - COMMIT_ID_BYTES;
/// The bytes of a commit id, and of what an entry keeps of each sector.
pub const COMMIT_ID_BYTES: usize = 8;
/// Where in a sector of entries its part of the MAC is.
pub const MAC_PART: usize = COMMIT_ID - MAC_PART_BYTES;
/// The bytes of a part of the MAC.
pub const MAC_PART_BYTES: usize = 8;
/// The bytes of the MAC of a section, cut or padded with zeros to this.
pub const MAC: usize = MAC_PART_BYTES * ENTRY_SECTORS as usize;

const ROUND_UP: u32 = 8;

/// The size of everything in a journal.
///
/// # Invariants
///
/// - An entry is at most 328 bytes, a section at most 392 sectors, and all numbers but `sections`
///   are as computed from block size, tag size, and `mac`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    block: BlockSize,
    tag_size: TagSize,
    mac: bool,
    sections: u32,
    entry_bytes: u16,
    section_entries: u8,
    section_sectors: u16,
}

impl Geometry {
    /// The journal of so many sections, with a MAC in each or not.
    pub const fn new(block: BlockSize, tag_size: TagSize, mac: bool, sections: u32) -> Self {
        let last_bytes = block.sectors().wrapping_mul(COMMIT_ID_BYTES as u32);
        let entry = (tag_size.bytes() as u32)
            .wrapping_add(last_bytes)
            .wrapping_add(8)
            .next_multiple_of(ROUND_UP);
        let space = if mac { MAC_PART } else { COMMIT_ID } as u32;
        let in_sector = match space.checked_div(entry) {
            Some(entries) => entries,
            None => 0,
        };
        let entries = in_sector.wrapping_mul(ENTRY_SECTORS);
        let data = entries.wrapping_shl(block.log2_sectors() as u32);
        // INVARIANT: With a tag of 1 to 255 bytes, and 1 to 8 sectors, an entry is from 24 to 328
        // bytes, so that there are from 8 to 168; the most sectors are those of 48 entries of 8.
        Self {
            block,
            tag_size,
            mac,
            sections,
            entry_bytes: entry as u16,
            section_entries: entries as u8,
            section_sectors: data.wrapping_add(ENTRY_SECTORS) as u16,
        }
    }

    /// The block size.
    #[inline]
    pub const fn block(&self) -> BlockSize {
        self.block
    }

    /// The tag size.
    #[inline]
    pub const fn tag_size(&self) -> TagSize {
        self.tag_size
    }

    /// Whether sections have a MAC.
    #[inline]
    pub const fn has_mac(&self) -> bool {
        self.mac
    }

    /// The number of sections.
    #[inline]
    pub const fn sections(&self) -> u32 {
        self.sections
    }

    /// The bytes of an entry.
    #[inline]
    pub const fn entry_bytes(&self) -> u16 {
        self.entry_bytes
    }

    /// The entries of a section: from 8 to 168, a multiple of 8.
    #[inline]
    pub const fn section_entries(&self) -> u8 {
        self.section_entries
    }

    /// The sectors of a section.
    #[inline]
    pub const fn section_sectors(&self) -> u16 {
        self.section_sectors
    }

    /// The entries of the journal. Fits 32 bits if the sectors do.
    #[inline]
    pub const fn entries(&self) -> u64 {
        // At most 168 times 2^32.
        (self.sections as u64).wrapping_mul(self.section_entries as u64)
    }

    /// The sectors of the journal.
    #[inline]
    pub const fn sectors(&self) -> u64 {
        // At most 392 times 2^32.
        (self.sections as u64).wrapping_mul(self.section_sectors as u64)
    }

    /// The bytes of the journal.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.sectors().wrapping_shl(SECTOR_SHIFT)
    }

    /// The free entries at or below which the journal is to be written out, where a table allows
    /// so many per cent of it to be in use.
    pub fn free_threshold(&self, watermark: u8) -> u32 {
        let share = 100u64.saturating_sub(watermark.into());
        let threshold = self.entries().saturating_mul(share).saturating_add(50) / 100;
        u32::try_from(threshold).unwrap_or(u32::MAX)
    }

    /// The percentage that a table shows for a [threshold](Self::free_threshold).
    pub fn watermark(&self, free_threshold: u32) -> u32 {
        let entries = self.entries();
        let used = entries.saturating_sub(free_threshold.into());
        let rounded = used.saturating_mul(100).saturating_add(entries / 2);
        rounded.checked_div(entries).unwrap_or(0) as u32
    }
}
