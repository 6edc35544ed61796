// SPDX-License-Identifier: GPL-2.0

//! The bios that a request was merged from.

use crate::{
    bindings,
    bio::{
        BlockStatus,
        Cursor, //
    },
};
use core::{
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
};

/// The bios of a request, from the first sector on.
///
/// # Invariants
///
/// `next` is a list of valid bios, linked by `bi_next`, that nobody else uses for `'a`. `copy` has
/// as many bytes as they have, or none.
pub struct Parts<'a> {
    next: *mut bindings::bio,
    has_data: bool,
    copy: Cursor<'a>,
}

impl<'a> Parts<'a> {
    /// # Safety
    ///
    /// `first` must be a list of valid bios that nobody else uses for `'a`. If `has_data` is set,
    /// they must have vectors.
    pub(super) unsafe fn new(first: *mut bindings::bio, has_data: bool, copy: Cursor<'a>) -> Self {
        // INVARIANT: By the requirements of this function.
        Self {
            next: first,
            has_data,
            copy,
        }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        let bio = NonNull::new(self.next)?;
        // SAFETY: By the type invariant.
        let (next, iter) = unsafe { ((*bio.as_ptr()).bi_next, (*bio.as_ptr()).bi_iter) };
        self.next = next;
        let copy = self.copy.first(iter.bi_size);
        self.copy.advance(iter.bi_size);
        // INVARIANT: The bio is not in the list any more.
        Some(Part {
            bio,
            has_data: self.has_data,
            copy,
            _request: PhantomData,
        })
    }
}

/// A bio of a request.
///
/// # Invariants
///
/// `bio` is valid, and nobody else uses it for `'a`. It has vectors if `has_data` is set.
pub struct Part<'a> {
    bio: NonNull<bindings::bio>,
    has_data: bool,
    copy: Cursor<'a>,
    _request: PhantomData<&'a mut ()>,
}

impl<'a> Part<'a> {
    fn get(&self) -> &bindings::bio {
        // SAFETY: By the type invariant.
        unsafe { self.bio.as_ref() }
    }

    /// Returns the first sector (512 bytes) of the mapped device. Any context.
    pub fn sector(&self) -> u64 {
        let iter = self.get().bi_iter;
        iter.bi_sector
    }

    /// Returns the number of bytes. Any context.
    pub fn bytes(&self) -> u32 {
        let iter = self.get().bi_iter;
        iter.bi_size
    }

    /// Returns whether data goes to the device. Any context.
    pub fn is_write(&self) -> bool {
        self.get().bi_opf & 1 != 0
    }

    /// Returns a position at the front of the data. Any context.
    pub fn cursor(&self) -> Cursor<'a> {
        let bio = self.get();
        if !self.has_data {
            return nothing();
        }
        // SAFETY: By the type invariant, nobody advances the bio. Reads are into memory that may be
        // written to.
        unsafe { Cursor::new(bio.bi_io_vec, bio.bi_iter, !self.is_write()) }
    }

    /// Returns a position at the front of its part of the copy, at the end of nothing if there is
    /// no copy. Any context.
    pub fn copy_cursor(&self) -> Cursor<'a> {
        self.copy.clone()
    }

    /// Returns the result so far. Any context.
    pub fn status(&self) -> BlockStatus {
        BlockStatus::from_raw(self.get().bi_status)
    }

    /// Has the bio end with an error, unless it has one already. Any context.
    pub fn fail(&mut self, status: BlockStatus) {
        // SAFETY: By the type invariant.
        unsafe { set_status(self.bio, status.into_raw()) }
    }
}

/// Gives a bio a result, unless that is an error already.
///
/// # Safety
///
/// The bio must be valid, and nobody else use it.
pub(super) unsafe fn set_status(bio: NonNull<bindings::bio>, status: bindings::blk_status_t) {
    // SAFETY: By the requirements of this function.
    let place = unsafe { &mut (*bio.as_ptr()).bi_status };
    if *place == 0 {
        *place = status;
    }
}

/// Returns a position at the end of nothing.
pub(super) fn nothing<'a>() -> Cursor<'a> {
    // SAFETY: There are no vectors.
    unsafe { Cursor::new(ptr::null(), pin_init::zeroed(), false) }
}

/// Returns a position at the front of a copy.
///
/// # Safety
///
/// The bio must have vectors for that many bytes, which are valid and may be written to for `'a`.
pub(super) unsafe fn whole<'a>(copy: NonNull<bindings::bio>, bytes: u32) -> Cursor<'a> {
    let mut iter: bindings::bvec_iter = pin_init::zeroed();
    iter.bi_size = bytes;
    // SAFETY: By the requirements of this function.
    unsafe { Cursor::new((*copy.as_ptr()).bi_io_vec, iter, true) }
}
