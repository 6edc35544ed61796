// SPDX-License-Identifier: GPL-2.0

//! Where in the journal a block is.
//!
//! A block that is written again has another entry, and of those that have it the newest counts.
//! Entries with one sector are in one chain of a hash table, the newest first. Memory for all
//! entries is there from the start.
//!
//! Units: logical sectors of 512 bytes, of blocks; entries counted from the first of the journal.
//! Any context; the caller has a lock.

use core::ops::DerefMut;

/// No entry.
const NONE: u32 = u32::MAX;
/// No sector.
const FREE: u64 = u64::MAX;

/// An entry of the journal, and its place in the index.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Its sector.
    sector: u64,
    /// The next older entry in its chain.
    older: u32,
    /// The first entry of the chain of this number, for another entry than this.
    chain: u32,
}

impl Slot {
    /// An entry that is not in use.
    pub const EMPTY: Self = Self {
        sector: FREE,
        older: NONE,
        chain: NONE,
    };
}

/// The index.
#[derive(Debug)]
pub struct Index<S> {
    slots: S,
    used: usize,
}

impl<S: DerefMut<Target = [Slot]>> Index<S> {
    /// An index for as many entries as there are slots, which are emptied.
    pub fn new(slots: S) -> Self {
        let mut index = Self { slots, used: 0 };
        index.clear();
        index
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.slots.fill(Slot::EMPTY);
        self.used = 0;
    }

    /// Whether there is no entry.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The chain of a sector: multiplication spreads neighbours, and the high bits count.
    #[inline]
    fn chain_of(&self, sector: u64) -> usize {
        let hash = sector.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let chains = self.slots.len() as u64;
        // Below the number of slots, as the hash has 32 bits.
        (hash.wrapping_mul(chains) >> 32) as usize
    }

    #[inline]
    fn first(&self, sector: u64) -> u32 {
        match self.slots.get(self.chain_of(sector)) {
            Some(slot) => slot.chain,
            None => NONE,
        }
    }

    #[inline]
    fn slot(&self, entry: u32) -> Option<&Slot> {
        self.slots.get(usize::try_from(entry).ok()?)
    }

    #[inline]
    fn slot_mut(&mut self, entry: u32) -> Option<&mut Slot> {
        self.slots.get_mut(usize::try_from(entry).ok()?)
    }

    /// Entries of the chain of a sector, the newest first.
    fn chain(&self, sector: u64) -> impl Iterator<Item = (u32, &Slot)> {
        let mut next = self.first(sector);
        core::iter::from_fn(move || {
            let entry = next;
            let slot = self.slot(entry)?;
            next = slot.older;
            Some((entry, slot))
        })
    }

    /// The newest entry of a block, if it has any.
    #[inline]
    pub fn find(&self, sector: u64) -> Option<u32> {
        if self.used == 0 {
            return None;
        }
        self.chain(sector)
            .find(|(_, slot)| slot.sector == sector)
            .map(|(entry, _)| entry)
    }

    /// Whether a block has an entry that is one of those that are wanted.
    pub fn has(&self, sector: u64, mut is_wanted: impl FnMut(u32) -> bool) -> bool {
        self.chain(sector)
            .any(|(entry, slot)| slot.sector == sector && is_wanted(entry))
    }

    /// Whether the entry is in use, for another block than which there is no newer one.
    #[inline]
    pub fn is_newest(&self, entry: u32, sector: u64) -> bool {
        self.find(sector) == Some(entry)
    }

    /// The next newer entry with the block of an entry.
    pub fn newer(&self, entry: u32) -> Option<u32> {
        let sector = self.slot(entry)?.sector;
        let mut newer = None;
        for (other, slot) in self.chain(sector) {
            if other == entry {
                return newer;
            }
            if slot.sector == sector {
                newer = Some(other);
            }
        }
        None
    }

    /// Enters a block; the entry was not in use.
    #[inline]
    pub fn insert(&mut self, entry: u32, sector: u64) {
        let chain = self.chain_of(sector);
        let older = self.first(sector);
        let Some(slot) = self.slot_mut(entry) else {
            return;
        };
        slot.sector = sector;
        slot.older = older;
        if let Some(slot) = self.slots.get_mut(chain) {
            slot.chain = entry;
        }
        self.used = self.used.saturating_add(1);
    }

    /// Gives up an entry; does nothing if it is not in use.
    pub fn remove(&mut self, entry: u32) {
        let Some(&Slot { sector, older, .. }) = self.slot(entry) else {
            return;
        };
        let newer = self
            .chain(sector)
            .find(|(_, slot)| slot.older == entry)
            .map(|(other, _)| other);
        if sector == FREE || (newer.is_none() && self.first(sector) != entry) {
            return;
        }
        let chain = self.chain_of(sector);
        match newer {
            Some(newer) => {
                if let Some(slot) = self.slot_mut(newer) {
                    slot.older = older;
                }
            }
            None => {
                if let Some(slot) = self.slots.get_mut(chain) {
                    slot.chain = older;
                }
            }
        }
        if let Some(slot) = self.slot_mut(entry) {
            slot.sector = FREE;
            slot.older = NONE;
        }
        self.used = self.used.saturating_sub(1);
    }

    /// How many of `blocks` blocks of `step` sectors, from a sector on, have no entry before the
    /// first one that has.
    pub fn free_blocks(&self, sector: u64, blocks: u32, step: u32) -> u32 {
        if self.used == 0 {
            return blocks;
        }
        (0..blocks)
            .find(|&n| {
                let offset = u64::from(n).wrapping_mul(step.into());
                self.find(sector.wrapping_add(offset)).is_some()
            })
            .unwrap_or(blocks)
    }
}
