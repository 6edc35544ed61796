// SPDX-License-Identifier: GPL-2.0

//! What is kept with a bio.

use crate::ranges::Range;
use dm::bio::Op;

/// What is to be done with a bio on a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// From the front: the next part of it.
    Start,
    /// Its part is locked now.
    Locked,
    /// The tags of the data that is to be written.
    WriteTags,
    /// The tags of the data that was read.
    Verify,
    /// The data is in the journal, and was being written there.
    FromJournal,
    /// The tags of what is to be discarded.
    Discard,
}

/// How far a bio has come. It is handled in parts if the journal has some of it, or room for some
/// of it only.
///
/// All sectors are logical and have 512 bytes.
pub(crate) struct Progress {
    pub(crate) op: Op,
    /// Whether it ends only when it is on the medium.
    pub(crate) fua: bool,
    pub(crate) step: Step,
    /// The first sector of the part.
    pub(crate) sector: u64,
    /// The sectors from there to the end of the bio.
    pub(crate) left: u32,
    /// The sectors before it.
    pub(crate) done: u32,
    /// The sectors of the part.
    pub(crate) part: u32,
    /// The entry of the journal that has the first block of the part.
    pub(crate) journal: Option<u32>,
    /// Whether the tags of the part are to be right: they are not where they are yet to be
    /// computed.
    pub(crate) trusted: bool,
    /// Whether the journal was already emptied for this discard.
    pub(crate) drained: bool,
    /// When it began to wait.
    pub(crate) ticket: u64,
}

impl Progress {
    pub(crate) fn new(op: Op, fua: bool, sector: u64, sectors: u32) -> Self {
        Self {
            op,
            fua,
            step: Step::Start,
            sector,
            left: sectors,
            done: 0,
            part: 0,
            journal: None,
            trusted: true,
            drained: false,
            ticket: 0,
        }
    }

    /// The sectors of the part.
    #[inline]
    pub(crate) fn range(&self) -> Range {
        Range {
            start: self.sector,
            len: self.part.into(),
        }
    }

    /// Goes on to what is after the part; returns whether there is anything.
    #[inline]
    pub(crate) fn advance(&mut self) -> bool {
        self.sector = self.sector.saturating_add(self.part.into());
        self.done = self.done.saturating_add(self.part);
        self.left = self.left.saturating_sub(self.part);
        self.part = 0;
        self.step = Step::Start;
        self.left != 0
    }

    /// The byte of the bio at which the part starts.
    #[inline]
    pub(crate) fn offset(&self) -> u32 {
        self.done.wrapping_shl(9)
    }

    /// The bytes of the part.
    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        self.part.wrapping_shl(9)
    }
}
