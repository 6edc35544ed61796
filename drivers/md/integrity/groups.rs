// SPDX-License-Identifier: GPL-2.0

//! Blocks whose tags go to the disk together, and those of them that are better not written yet.
//!
//! A device writes whole units, of 512 bytes or more, so the tags of some blocks that follow each
//! other can only be written together. Where a write-out of the journal ends among such blocks,
//! the tags of the others would have to be read first. If the first of the blocks are there, it is
//! likely that somebody writes one after the other and the rest will be in the journal soon. Then
//! they stay there: nothing has to be read when all of them have come.
//!
//! Units: logical sectors of 512 bytes; sections and entries of the journal. Nothing here does
//! I/O, and nothing that is decided here makes a volume right or wrong, only fast or slow. Any
//! context.

use crate::{
    layout::Layout,
    ranges::Range,
    replay::Sections,
    shape::BlockSize, //
};

/// The most blocks of a group that are waited for.
const MOST: u32 = 1024;

/// The share of the journal that blocks may stay in, where one group does not need more.
const SHARE: u32 = 8;

/// How blocks are grouped.
///
/// # Invariants
///
/// `log2_blocks` is at most 20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    block: BlockSize,
    log2_blocks: u8,
    end: u64,
}

impl Groups {
    /// The groups of a volume on a device that writes units of so many bytes, a power of two.
    ///
    /// A group is as small as it can be with its tags in whole units that it shares with no other
    /// group.
    pub fn new(layout: &Layout, unit: u32) -> Self {
        let tag = u32::from(layout.tag_size().bytes());
        // The greatest common divisor of a power of two and something else.
        let common = tag.trailing_zeros().min(unit.trailing_zeros());
        // INVARIANT: Cut.
        Self {
            block: layout.block(),
            log2_blocks: unit.trailing_zeros().saturating_sub(common).min(20) as u8,
            end: layout.provided_data_sectors(),
        }
    }

    /// The blocks of a group.
    fn blocks(&self) -> u32 {
        1u32.wrapping_shl(self.log2_blocks.into())
    }

    /// The group of the block with a sector.
    pub fn of(&self, sector: u64) -> Range {
        let bits = u32::from(self.log2_blocks).wrapping_add(self.block.log2_sectors().into());
        let start = sector & u64::MAX.wrapping_shl(bits);
        let end = start.saturating_add(1u64.wrapping_shl(bits));
        Range {
            start,
            len: end.min(self.end).saturating_sub(start),
        }
    }

    /// Of sections that are written out, the last ones, whose blocks may stay for once: so many
    /// that a group can become complete, or a few streams of blocks have room, but not the whole
    /// journal. What has stayed is among the older ones some time.
    pub fn recent(&self, sections: Sections, all: u32, entries: u32) -> Sections {
        let few = self.blocks().div_ceil(entries.max(1)).saturating_add(1);
        let most = match self.blocks() <= MOST {
            true => few.max(all / SHARE).min(all.saturating_sub(2)),
            false => 0,
        };
        let older = sections.count.saturating_sub(most);
        let first = u64::from(sections.first).saturating_add(older.into());
        Sections {
            first: first.checked_rem(all.into()).unwrap_or(0) as u32,
            count: sections.count.saturating_sub(older),
        }
    }

    /// Whether the first block of a group is there, as `has` says of the sector of a block, and
    /// some other is not.
    pub fn is_begun(&self, group: Range, mut has: impl FnMut(u64) -> bool) -> bool {
        let blocks = self.block.blocks_in(group.len);
        let sector = |n: u64| {
            let sectors = n.wrapping_shl(self.block.log2_sectors().into());
            group.start.saturating_add(sectors)
        };
        has(group.start) && !(1..blocks).all(|n| has(sector(n)))
    }
}
