// SPDX-License-Identifier: GPL-2.0

//! A list whose links are in its elements, so that it never allocates.
//!
//! The file uses nothing but `core`.

use core::{
    cell::UnsafeCell,
    ptr::{
        self,
        NonNull, //
    },
};

/// The links of an element.
pub(crate) struct Links<T> {
    prev: UnsafeCell<*mut T>,
    next: UnsafeCell<*mut T>,
}

impl<T> Links<T> {
    /// Makes the links of an element that is in no list.
    pub(crate) const fn new() -> Self {
        Self {
            prev: UnsafeCell::new(ptr::null_mut()),
            next: UnsafeCell::new(ptr::null_mut()),
        }
    }
}

/// An element of a list.
///
/// # Safety
///
/// [`Linked::links`] always returns the same field of the element.
pub(crate) unsafe trait Linked: Sized {
    /// Returns the links.
    fn links(&self) -> &Links<Self>;
}

/// A list, in the order in which elements were pushed.
///
/// # Invariants
///
/// The elements are valid, are in no other list, and their links are accessed through the list
/// only.
pub(crate) struct List<T: Linked> {
    first: *mut T,
    last: *mut T,
    len: usize,
}

// SAFETY: The list has the only access to the links; the rest is for `T` to promise.
unsafe impl<T: Linked + Send + Sync> Send for List<T> {}

impl<T: Linked> List<T> {
    /// Makes an empty list.
    pub(crate) const fn new() -> Self {
        // INVARIANT: there are no elements.
        Self {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            len: 0,
        }
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The element that has been in the list for the longest time.
    pub(crate) fn front(&self) -> Option<NonNull<T>> {
        NonNull::new(self.first)
    }

    /// Goes through the elements; the list must not change meanwhile.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        // SAFETY: By the type invariants the element is valid.
        let first = unsafe { self.first.as_ref() };
        core::iter::successors(first, |element| {
            // SAFETY: By the type invariants the links are the list's, and the next is valid.
            unsafe { (*element.links().next.get()).as_ref() }
        })
    }

    /// Adds an element at the end.
    ///
    /// # Safety
    ///
    /// The element is valid until it is removed, and is in no list.
    pub(crate) unsafe fn push_back(&mut self, element: NonNull<T>) {
        let at = element.as_ptr();
        // SAFETY: The caller promises that it is valid.
        let links = unsafe { element.as_ref() }.links();
        // SAFETY: The element is in no list, so that nobody else accesses its links; by the type
        // invariants `last` is valid and its links are the list's.
        unsafe {
            *links.prev.get() = self.last;
            *links.next.get() = ptr::null_mut();
            match self.last.as_ref() {
                Some(last) => *last.links().next.get() = at,
                None => self.first = at,
            }
        }
        self.last = at;
        self.len = self.len.wrapping_add(1);
    }

    /// Takes an element out.
    ///
    /// # Safety
    ///
    /// The element is in this list.
    pub(crate) unsafe fn remove(&mut self, element: NonNull<T>) {
        // SAFETY: By the type invariants it is valid, as are its neighbours, and all the links
        // are the list's.
        unsafe {
            let links = element.as_ref().links();
            let (prev, next) = (*links.prev.get(), *links.next.get());
            match prev.as_ref() {
                Some(prev) => *prev.links().next.get() = next,
                None => self.first = next,
            }
            match next.as_ref() {
                Some(next) => *next.links().prev.get() = prev,
                None => self.last = prev,
            }
        }
        self.len = self.len.wrapping_sub(1);
    }

    /// Takes the first element out.
    pub(crate) fn pop_front(&mut self) -> Option<NonNull<T>> {
        let first = self.front()?;
        // SAFETY: It is in this list.
        unsafe { self.remove(first) };
        Some(first)
    }

    /// Moves the first element to the end.
    pub(crate) fn rotate(&mut self) {
        if let Some(first) = self.pop_front() {
            // SAFETY: It is valid by the type invariants, and was just taken out.
            unsafe { self.push_back(first) };
        }
    }
}
