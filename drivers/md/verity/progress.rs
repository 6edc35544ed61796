// SPDX-License-Identifier: GPL-2.0

//! How far the verification of a bio is.

use crate::hash_tree::Blocks;
use core::ops::Range;

/// What is kept with a bio.
pub(crate) struct Progress {
    first: u64,
    next: u64,
    end: u64,
    /// Whether a bad block was found, as opposed to a failing device.
    pub(crate) had_mismatch: bool,
    /// Whether the machine is to restart because of this bio.
    pub(crate) restart: bool,
}

impl Progress {
    /// The start of the verification of some data blocks.
    #[inline]
    pub(crate) fn new(blocks: Blocks) -> Self {
        Self {
            first: blocks.first,
            next: blocks.first,
            end: blocks.first.saturating_add(blocks.count),
            had_mismatch: false,
            restart: false,
        }
    }

    /// Returns the data blocks that are left.
    #[inline]
    pub(crate) fn left(&self) -> Range<u64> {
        self.next..self.end
    }

    /// Returns how many data blocks are done. A bio has less than 2^32 bytes, so less blocks.
    #[inline]
    pub(crate) fn done(&self) -> u32 {
        self.next.saturating_sub(self.first) as u32
    }

    /// Notes that the data blocks before `number` are done.
    #[inline]
    pub(crate) fn continue_at(&mut self, number: u64) {
        self.next = number.clamp(self.next, self.end);
    }
}
