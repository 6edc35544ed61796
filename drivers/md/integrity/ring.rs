// SPDX-License-Identifier: GPL-2.0

//! Which sections of the journal are in use.
//!
//! The journal is a ring. From the oldest on there are: sections that were committed, whose data is
//! to be written to its place; sections that are complete or being filled, and not committed; and
//! free ones, of which the first may be filled in part.
//!
//! Units: sections, and entries, of each of which a block goes into one. The caller has the lock
//! of the state.

use crate::{
    commit::Sequence,
    index::{
        Index,
        Slot, //
    },
    journal::Geometry,
    replay::{
        Resume,
        Sections, //
    },
    target::Integrity,
};
use dm::{
    alloc,
    bio::List, //
};
use kernel::prelude::*;

/// No section.
const NONE: Sections = Sections { first: 0, count: 0 };

/// The state of the ring.
pub(crate) struct Ring {
    geometry: Geometry,
    pub(crate) index: Index<KVVec<Slot>>,
    committed: Sections,
    uncommitted: Sections,
    free_section: u32,
    free_entry: u32,
    /// The entries that nobody has.
    pub(crate) free: u32,
    /// Writes for which there was none.
    pub(crate) waiting: List<Integrity>,
    /// How many entries of each section are being filled.
    filling: KVVec<u32>,
    /// How many wait until some are filled.
    pub(crate) watchers: u32,
    /// How many sections were left when others were last written out.
    kept: u32,
    /// The entries that one of those needs who wait for some.
    wanted: u32,
    /// How many want everything to be written out.
    pub(crate) drains: u32,
    /// Whether what is not in a complete section may be committed later.
    pub(crate) only_complete: bool,
    /// The commit ids that come next.
    pub(crate) sequence: Sequence,
}

impl Ring {
    /// The state of an empty journal, with memory for its entries if it is to be used. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(geometry: Geometry, used: bool) -> Result<Self> {
        let entries = match used {
            true => usize::try_from(geometry.entries()).map_err(|_| ENOMEM)?,
            false => 0,
        };
        let slots = alloc::filled(Slot::EMPTY, entries, GFP_KERNEL)?;
        let sections = match used {
            true => geometry.sections() as usize,
            false => 0,
        };
        let mut ring = Self {
            geometry,
            index: Index::new(slots),
            committed: NONE,
            uncommitted: NONE,
            free_section: 0,
            free_entry: 0,
            free: 0,
            waiting: List::new(),
            filling: alloc::filled(0, sections, GFP_KERNEL)?,
            watchers: 0,
            kept: 0,
            wanted: 0,
            drains: 0,
            only_complete: false,
            sequence: Sequence::default(),
        };
        ring.start_at(&Resume {
            section: 0,
            sequence: Sequence::default(),
        });
        Ok(ring)
    }

    /// Empties the ring, which goes on as it is told.
    pub(crate) fn start_at(&mut self, resume: &Resume) {
        let section = resume.section;
        self.sequence = resume.sequence;
        let none = Sections {
            first: section,
            count: 0,
        };
        self.committed = none;
        self.uncommitted = none;
        self.free_section = section;
        self.free_entry = 0;
        self.kept = 0;
        self.free = u32::try_from(self.geometry.entries()).unwrap_or(u32::MAX);
        self.index.clear();
    }

    fn entries(&self) -> u32 {
        self.geometry.section_entries().into()
    }

    /// The section so many after another, in the ring.
    pub(crate) fn section_after(&self, section: u32, count: u32) -> u32 {
        let next = u64::from(section).saturating_add(count.into());
        // Below the number of sections, which is not zero.
        next.checked_rem(self.geometry.sections().into())
            .unwrap_or(0) as u32
    }

    /// Takes `count` entries, and returns the first and how many: fewer only if the journal is
    /// small. A bio that is in one piece is in the journal in one piece as well.
    ///
    /// Returns `None` if there are not enough. Whoever waits has the journal written out.
    pub(crate) fn take(&mut self, count: u32) -> Option<(u32, u32)> {
        let large = u64::from(count) > self.geometry.entries() / 2;
        if self.free == 0 || (count > self.free && !large) {
            let wanted = if large { 1 } else { count };
            self.wanted = self.wanted.max(wanted);
            return None;
        }
        let count = count.min(self.free);
        let first = self
            .free_section
            .saturating_mul(self.entries())
            .saturating_add(self.free_entry);
        self.free = self.free.saturating_sub(count);
        let end = self.free_entry.saturating_add(count);
        let sections = end.checked_div(self.entries()).unwrap_or(0);
        self.free_entry = end.checked_rem(self.entries()).unwrap_or(0);
        self.free_section = self.section_after(self.free_section, sections);
        self.uncommitted.count = self.uncommitted.count.saturating_add(sections);
        Some((first, count))
    }

    /// Whether the journal is to be written out, if so many free entries are not enough. What
    /// was kept then makes it a smaller one.
    pub(crate) fn is_low(&self, threshold: u32) -> bool {
        let all = self.geometry.entries();
        let kept = u64::from(self.kept).saturating_mul(self.entries().into());
        let threshold = u64::from(threshold).saturating_mul(all.saturating_sub(kept));
        let threshold = threshold.checked_div(all).unwrap_or(0);
        u64::from(self.free) <= threshold || !self.waiting.is_empty()
    }

    /// Whether there are complete sections that were not committed.
    pub(crate) fn has_complete(&self) -> bool {
        self.uncommitted.count != 0
    }

    /// Whether a section is being filled.
    pub(crate) fn has_incomplete(&self) -> bool {
        self.free_entry != 0
    }

    /// Whether nobody who waits needs more than `sections` sections to be freed.
    pub(crate) fn is_enough(&self, sections: u32) -> bool {
        let freed = sections.saturating_mul(self.entries());
        self.waiting.is_empty() || self.free.saturating_add(freed) >= self.wanted
    }

    fn section_of(&self, entry: u32) -> u32 {
        entry.checked_div(self.entries()).unwrap_or(0)
    }

    /// Enters a block into an entry that was taken, which is going to be filled.
    #[inline]
    pub(crate) fn enter(&mut self, entry: u32, sector: u64) {
        self.index.insert(entry, sector);
        let section = self.section_of(entry) as usize;
        if let Some(filling) = self.filling.get_mut(section) {
            *filling = filling.saturating_add(1);
        }
    }

    /// Says that an entry is filled.
    #[inline]
    pub(crate) fn filled(&mut self, entry: u32) {
        let section = self.section_of(entry) as usize;
        if let Some(filling) = self.filling.get_mut(section) {
            *filling = filling.saturating_sub(1);
        }
    }

    /// Whether no entry of a section is being filled.
    pub(crate) fn is_section_filled(&self, section: u32) -> bool {
        self.filling.get(section as usize).is_none_or(|&n| n == 0)
    }

    /// Whether no entry is being filled of the section of an entry.
    pub(crate) fn is_filled(&self, entry: u32) -> bool {
        self.is_section_filled(self.section_of(entry))
    }

    /// The entry after another, in the ring.
    #[inline]
    pub(crate) fn entry_after(&self, entry: u32) -> u32 {
        let next = entry.saturating_add(1);
        match u64::from(next) < self.geometry.entries() {
            true => next,
            false => 0,
        }
    }

    /// Returns the sections that are to be committed: with the one that is being filled, which
    /// is closed, unless nobody needs it to be.
    pub(crate) fn take_uncommitted(&mut self, flush: bool) -> Sections {
        let later = core::mem::replace(&mut self.only_complete, false);
        let close = flush || !later || !self.waiting.is_empty() || self.drains != 0;
        if close && self.free_entry != 0 {
            let rest = self.entries().saturating_sub(self.free_entry);
            self.free = self.free.saturating_sub(rest);
            self.free_entry = 0;
            self.free_section = self.section_after(self.free_section, 1);
            self.uncommitted.count = self.uncommitted.count.saturating_add(1);
        }
        self.uncommitted
    }

    /// Says that sections were committed, the oldest that were not.
    pub(crate) fn commit(&mut self, sections: Sections) {
        let count = sections.count;
        self.uncommitted.first = self.section_after(self.uncommitted.first, count);
        self.uncommitted.count = self.uncommitted.count.saturating_sub(count);
        self.committed.count = self.committed.count.saturating_add(count);
    }

    /// The sections that were committed.
    pub(crate) fn committed(&self) -> Sections {
        self.committed
    }

    /// Whether an entry is in one of some sections.
    fn is_in(&self, sections: Sections, entry: u32) -> bool {
        sections.has(self.section_of(entry), self.geometry.sections())
    }

    /// Whether the block of an entry is in a newer one that was committed, and that will be
    /// written after it.
    pub(crate) fn is_superseded(&self, entry: u32) -> bool {
        self.index
            .newer(entry)
            .is_some_and(|newer| self.is_in(self.committed, newer))
    }

    /// Whether a block has an entry in one of some sections.
    pub(crate) fn has(&self, sections: Sections, sector: u64) -> bool {
        self.index.has(sector, |entry| self.is_in(sections, entry))
    }

    /// Frees the first `count` of sections, the oldest that were committed; returns the writes that
    /// may go on.
    pub(crate) fn free(&mut self, sections: Sections, count: u32) -> List<Integrity> {
        self.kept = sections.count.saturating_sub(count);
        self.wanted = 0;
        self.committed.first = self.section_after(self.committed.first, count);
        self.committed.count = self.committed.count.saturating_sub(count);
        let entries = count.saturating_mul(self.entries());
        self.free = self.free.saturating_add(entries);
        self.waiting.take()
    }

    /// The first section that is free, when nothing is being filled.
    pub(crate) fn first_free(&self) -> u32 {
        self.free_section
    }
}
