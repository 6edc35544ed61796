// SPDX-License-Identifier: GPL-2.0

//! Ranges of sectors, none of which overlaps another.
//!
//! Whoever reads or writes a range holds it meanwhile. The ranges that are held are sorted, so that
//! two comparisons tell whether another one overlaps them. There is room for a fixed number:
//! nothing here allocates, and who finds no room waits as one who finds an overlap does.
//!
//! Units: sectors of 512 bytes. Any context; the caller has a lock.

use core::ops::DerefMut;

/// Some sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The first one.
    pub start: u64,
    /// How many.
    pub len: u64,
}

impl Range {
    /// The sector after the last one.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.len)
    }

    /// Whether all sectors of another one are in this one.
    #[inline]
    pub fn covers(&self, other: &Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }

    /// Whether there is a sector in both.
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end() && other.start < self.end()
    }
}

/// Ranges that are held.
///
/// # Invariants
///
/// The first `len` slots are sorted, not empty, and do not overlap; there are as many slots.
#[derive(Debug)]
pub struct Held<S> {
    slots: S,
    len: usize,
}

impl<S: DerefMut<Target = [Range]>> Held<S> {
    /// Holds none, with room for as many as there are slots.
    pub fn new(slots: S) -> Self {
        // INVARIANT: There is none.
        Self { slots, len: 0 }
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn held(&self) -> &[Range] {
        self.slots.get(..self.len).unwrap_or_default()
    }

    /// Holds a range unless it is empty, overlaps another, or there is no room.
    #[inline]
    pub fn insert(&mut self, range: Range) -> bool {
        let held = self.held();
        let at = held.partition_point(|other| other.end() <= range.start);
        let overlaps = held.get(at).is_some_and(|other| other.overlaps(&range));
        let more = self.len.saturating_add(1);
        if overlaps || range.len == 0 {
            return false;
        }
        let Some(tail) = self.slots.get_mut(at..more) else {
            return false;
        };
        // The slot after the last one comes to the front, and is overwritten.
        tail.rotate_right(1);
        if let Some(slot) = tail.first_mut() {
            *slot = range;
        }
        // INVARIANT: Those before `at` end before `range` starts, the others start after its end.
        self.len = more;
        true
    }

    /// Gives up a range that is held; returns whether it was.
    #[inline]
    pub fn remove(&mut self, range: Range) -> bool {
        let Ok(at) = self
            .held()
            .binary_search_by(|other| other.start.cmp(&range.start))
        else {
            return false;
        };
        let len = self.len;
        match self.slots.get_mut(at..len) {
            Some(tail) if tail.first() == Some(&range) => tail.rotate_left(1),
            _ => return false,
        }
        // INVARIANT: The range is after the last one that is held.
        self.len = len.saturating_sub(1);
        true
    }
}
