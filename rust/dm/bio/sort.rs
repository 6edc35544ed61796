// SPDX-License-Identifier: GPL-2.0

//! Bios in the order of their sectors.

use super::{
    Header,
    Kept, //
};
use crate::target::Operations;
use core::{
    marker::PhantomData,
    mem,
    ptr::{
        self,
        NonNull, //
    },
};

/// The lists that are being merged. From 4096 bios on, the last one grows by 2048 at a time.
const RUNS: usize = 12;

/// Bios that are sorted by the sectors that they had when they were taken. No allocation.
///
/// Those that are not taken out end with an error.
///
/// # Invariants
///
/// Each run is a sorted list of headers, linked by `next`, of bios that nobody else has; the run
/// of index `i` has `1 << i` of them or is empty, except for the last one. From `used` on they are
/// empty.
pub struct Sorter<T: Operations> {
    runs: [*mut Header<T>; RUNS],
    used: usize,
    _bios: PhantomData<Kept<T>>,
}

impl<T: Operations> Sorter<T> {
    /// Makes one without bios.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        // INVARIANT: All are empty.
        Self {
            runs: [ptr::null_mut(); RUNS],
            used: 0,
            _bios: PhantomData,
        }
    }

    /// Adds a bio. Bios of the same sector stay in the order in which they came.
    pub fn push(&mut self, bio: Kept<T>) {
        let mut new = bio.into_header();
        // SAFETY: The header was ours, and is in no list.
        unsafe { (*new).next = ptr::null_mut() };
        let last = RUNS.wrapping_sub(1);
        for (index, run) in self.runs.iter_mut().enumerate() {
            let old = mem::replace(run, ptr::null_mut());
            // INVARIANT: Two runs of a size make one of twice the size; where one is missing, the
            // new one takes its place.
            if !old.is_null() {
                // SAFETY: Both are sorted lists of ours.
                new = unsafe { merge(old, new) };
            }
            if old.is_null() || index == last {
                *run = new;
                self.used = self.used.max(index.wrapping_add(1));
                return;
            }
        }
    }

    /// Returns all bios in order.
    pub fn sorted(mut self) -> Sorted<T> {
        let mut all = ptr::null_mut();
        for run in self.runs.iter_mut().take(self.used) {
            // SAFETY: Both are sorted lists of ours. The runs of higher index came first.
            all = unsafe { merge(mem::replace(run, ptr::null_mut()), all) };
        }
        self.used = 0;
        // INVARIANT: `self` has none of them any more.
        Sorted {
            next: all,
            _bios: PhantomData,
        }
    }
}

impl<T: Operations> Drop for Sorter<T> {
    fn drop(&mut self) {
        for run in self.runs.iter_mut().take(self.used) {
            // INVARIANT: The run is empty now.
            drop(Sorted {
                next: mem::replace(run, ptr::null_mut()),
                _bios: PhantomData,
            });
        }
    }
}

/// Merges two sorted lists. Where sectors are equal, `old` comes first.
///
/// # Safety
///
/// Both must be lists of headers, linked by `next`, that nobody else uses.
unsafe fn merge<T: Operations>(mut old: *mut Header<T>, mut new: *mut Header<T>) -> *mut Header<T> {
    let mut first = ptr::null_mut();
    let mut end: *mut *mut Header<T> = &mut first;
    // SAFETY: By the requirements of this function; `end` is `first` or a field of the header that
    // was linked last.
    unsafe {
        while !old.is_null() && !new.is_null() {
            let (old_sector, new_sector) = ((*old).iter.bi_sector, (*new).iter.bi_sector);
            let smaller = match old_sector <= new_sector {
                true => &mut old,
                false => &mut new,
            };
            *end = *smaller;
            end = &raw mut (**smaller).next;
            *smaller = *end;
        }
        *end = match old.is_null() {
            true => new,
            false => old,
        };
    }
    first
}

/// Bios in the order of their sectors. Those that are not taken out end with an error.
///
/// # Invariants
///
/// `next` is a list of headers of bios that nobody else has.
pub struct Sorted<T: Operations> {
    next: *mut Header<T>,
    _bios: PhantomData<Kept<T>>,
}

impl<T: Operations> Iterator for Sorted<T> {
    type Item = Kept<T>;

    fn next(&mut self) -> Option<Kept<T>> {
        let header = NonNull::new(self.next)?;
        // SAFETY: By the type invariant.
        self.next = unsafe { header.as_ref() }.next;
        // SAFETY: By the type invariant nobody else has the bio, and it is no longer in the list.
        Some(unsafe { Kept::from_header(header) })
    }
}

impl<T: Operations> Drop for Sorted<T> {
    fn drop(&mut self) {
        for bio in self {
            drop(bio);
        }
    }
}
