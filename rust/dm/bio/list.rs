// SPDX-License-Identifier: GPL-2.0

//! Bios that wait in line.

use super::{
    Header,
    Kept, //
};
use crate::target::Operations;
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
};

/// A line of bios that are kept, first in, first out. Nothing of it allocates.
///
/// Bios that are still in it when it is dropped end with an error.
///
/// # Invariants
///
/// `first` to `last` are a list of headers, linked by `next`, of bios that nobody else has; both
/// are null if there is none.
pub struct List<T: Operations> {
    first: *mut Header<T>,
    last: *mut Header<T>,
    _bios: PhantomData<Kept<T>>,
}

// SAFETY: The bios are owned, which may be handled by any thread.
unsafe impl<T: Operations> Send for List<T> {}

impl<T: Operations> List<T> {
    /// Makes an empty list.
    pub const fn new() -> Self {
        // INVARIANT: There is none.
        Self {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            _bios: PhantomData,
        }
    }

    /// Returns whether there is none. Any context.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// Adds a bio at the end. Any context.
    #[inline]
    pub fn push(&mut self, bio: Kept<T>) {
        let header = bio.into_header();
        // SAFETY: The header was ours; by the type invariants, so is the last one.
        unsafe {
            (*header).next = ptr::null_mut();
            match self.last.as_mut() {
                Some(last) => last.next = header,
                None => self.first = header,
            }
        }
        // INVARIANT: Linked above.
        self.last = header;
    }

    /// Takes the first one. Any context.
    #[inline]
    pub fn pop(&mut self) -> Option<Kept<T>> {
        let header = NonNull::new(self.first)?;
        // SAFETY: By the type invariants.
        self.first = unsafe { header.as_ref() }.next;
        if self.first.is_null() {
            self.last = ptr::null_mut();
        }
        // SAFETY: Nobody else has the bio, and it is no longer in the list.
        Some(unsafe { Kept::from_header(header) })
    }

    /// Takes all. Any context.
    #[inline]
    pub fn take(&mut self) -> Self {
        core::mem::take(self)
    }

    /// Returns the values that stay with the bios, from the first on. Any context.
    pub fn iter(&self) -> impl Iterator<Item = &T::PerBio> {
        let mut next = self.first;
        core::iter::from_fn(move || {
            // SAFETY: By the type invariants, and the borrow keeps the list as it is.
            let header = unsafe { next.as_ref() }?;
            next = header.next;
            Some(&header.data)
        })
    }
}

impl<T: Operations> Default for List<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Operations> Drop for List<T> {
    fn drop(&mut self) {
        while let Some(bio) = self.pop() {
            drop(bio);
        }
    }
}
