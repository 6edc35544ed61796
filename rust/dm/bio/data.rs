// SPDX-License-Identifier: GPL-2.0

//! The data of a bio.
//!
//! The memory belongs to whoever submitted the bio, often to user space, which may write to it at
//! any time. So there are no slices of it, only [`Segment`]s, which can be hashed, filled and
//! copied to.

use crate::{
    bindings,
    crypto::Data, //
};
use core::marker::PhantomData;
use kernel::prelude::*;

/// A position in the data of a bio.
///
/// # Invariants
///
/// `vecs` points to the vectors that `iter` describes, which are valid for `'a`.
#[derive(Clone)]
pub struct Cursor<'a> {
    vecs: *const bindings::bio_vec,
    iter: bindings::bvec_iter,
    writable: bool,
    _bio: PhantomData<&'a ()>,
}

impl<'a> Cursor<'a> {
    /// # Safety
    ///
    /// `vecs` must point to the vectors that `iter` describes, valid for `'a`, or be null. The
    /// memory must be writable if `writable` is set.
    #[inline]
    pub(crate) unsafe fn new(
        vecs: *const bindings::bio_vec,
        mut iter: bindings::bvec_iter,
        writable: bool,
    ) -> Self {
        // Discards and their like have a size, but no data.
        if vecs.is_null() {
            iter.bi_size = 0;
        }
        // INVARIANT: By the requirements of this function.
        Self {
            vecs,
            iter,
            writable,
            _bio: PhantomData,
        }
    }

    /// Returns the bytes from here to the end.
    #[inline]
    pub fn remaining(&self) -> u32 {
        self.iter.bi_size
    }

    /// Returns the position as the kernel has it.
    #[inline]
    pub(super) fn into_iter(self) -> bindings::bvec_iter {
        self.iter
    }

    /// Returns a position of which only `bytes`, or what there is if that is less, remain.
    #[inline]
    pub(crate) fn first(&self, bytes: u32) -> Self {
        let mut first = self.clone();
        // INVARIANT: The vectors have no fewer.
        first.iter.bi_size = bytes.min(self.iter.bi_size);
        first
    }

    /// Returns the vectors and the position in them as the kernel has it.
    #[inline]
    pub(crate) fn into_parts(self) -> (*const bindings::bio_vec, bindings::bvec_iter) {
        (self.vecs, self.iter)
    }

    /// Returns the bytes up to the end of the current piece of memory; `None` at the end.
    #[inline]
    pub(super) fn vector_len(&self) -> Option<u32> {
        Some(self.segment()?.len() as u32)
    }

    /// Returns what lies together in memory from here on; `None` at the end.
    #[inline]
    pub fn segment(&self) -> Option<Segment<'a>> {
        let iter = self.iter;
        if iter.bi_size == 0 {
            return None;
        }
        // SAFETY: By the type invariant there are bytes left, so `bi_idx` is a valid vector.
        let vec = unsafe { &*self.vecs.add(iter.bi_idx as usize) };
        let len = vec.bv_len.saturating_sub(iter.bi_offset).min(iter.bi_size);
        // SAFETY: A vector has a valid page. This code is for 64-bit kernels, where all pages are
        // in the direct map, in which the pages of a vector follow each other.
        let page = unsafe { bindings::lowmem_page_address(vec.bv_page) }.cast::<u8>();
        let ptr = page
            .wrapping_add(vec.bv_offset as usize)
            .wrapping_add(iter.bi_offset as usize);
        // INVARIANT: The vector has `len` bytes from there, valid as long as the bio.
        Some(Segment {
            ptr,
            len: len as usize,
            writable: self.writable,
            _bio: PhantomData,
        })
    }

    /// Goes on by `bytes`, or to the end if there are fewer.
    #[inline]
    pub fn advance(&mut self, bytes: u32) {
        let mut bytes = bytes.min(self.iter.bi_size);
        self.iter.bi_size = self.iter.bi_size.saturating_sub(bytes);
        while bytes > 0 {
            // SAFETY: By the type invariant there were `bytes` left, so `bi_idx` is valid.
            let len = unsafe { (*self.vecs.add(self.iter.bi_idx as usize)).bv_len };
            let step = len.saturating_sub(self.iter.bi_offset).min(bytes);
            bytes = bytes.saturating_sub(step);
            self.iter.bi_offset = self.iter.bi_offset.saturating_add(step);
            if self.iter.bi_offset >= len {
                self.iter.bi_offset = 0;
                self.iter.bi_idx = self.iter.bi_idx.saturating_add(1);
            }
        }
    }
}

impl Cursor<'_> {
    /// Copies the next bytes to all of `target`, and goes on behind them. Any context.
    ///
    /// # Errors
    ///
    /// `EIO` if there are fewer; those there are have been copied.
    pub fn copy_to(&mut self, mut target: &mut [u8]) -> Result {
        while !target.is_empty() {
            let copied = self.segment().ok_or(EIO)?.copy_to(target);
            target = self.behind(copied, target.get_mut(copied..))?;
        }
        Ok(())
    }

    /// Copies all of `source` to the next bytes, and goes on behind them. Any context.
    ///
    /// # Errors
    ///
    /// `EIO` if there is not enough room, or if this is the data of a write, which is not ours.
    pub fn copy_from(&mut self, mut source: &[u8]) -> Result {
        while !source.is_empty() {
            let copied = self.segment().ok_or(EIO)?.copy_from(source);
            source = self.behind(copied, source.get(copied..))?;
        }
        Ok(())
    }

    /// Goes on behind bytes that were copied, of which there must be some. Returns the rest.
    fn behind<T>(&mut self, copied: usize, rest: Option<T>) -> Result<T> {
        if copied == 0 {
            return Err(EIO);
        }
        self.advance(copied as u32);
        rest.ok_or(EIO)
    }
}

#[cfg(not(CONFIG_64BIT))]
compile_error!("the data of bios is only accessible on 64-bit kernels");

/// Data of a bio, or like it, that lies together in memory.
///
/// # Invariants
///
/// `ptr` is valid for reads of `len` bytes for `'a`, and for writes if `writable` is set, by code
/// that copes with races. The memory is in the direct map.
#[derive(Clone, Copy)]
pub struct Segment<'a> {
    ptr: *mut u8,
    len: usize,
    writable: bool,
    _bio: PhantomData<&'a ()>,
}

impl<'a> Segment<'a> {
    /// Returns the number of bytes.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the first `len` bytes, or `None` if there are fewer.
    #[inline]
    pub fn first(&self, len: usize) -> Option<Self> {
        // INVARIANT: The front of the segment is as valid as the segment.
        (len <= self.len).then_some(Self { len, ..*self })
    }

    /// Returns the bytes from `offset` on, or `None` if there are none.
    #[inline]
    pub fn skip(&self, offset: usize) -> Option<Self> {
        let len = self.len.checked_sub(offset).filter(|&len| len > 0)?;
        // INVARIANT: The end of the segment is as valid as the segment.
        Some(Self {
            ptr: self.ptr.wrapping_add(offset),
            len,
            ..*self
        })
    }

    /// Returns the bytes, to be hashed.
    #[inline]
    pub fn data(&self) -> Data<'a> {
        // SAFETY: By the type invariant.
        unsafe { Data::from_raw(self.ptr, self.len) }
    }

    /// Returns bytes as a segment; `None` if they are not in the direct map, as those from
    /// `vmalloc`.
    pub fn of(bytes: &'a mut [u8]) -> Option<Self> {
        // SAFETY: The helper has no requirements. No memory from elsewhere borders on the map.
        let direct = unsafe { bindings::rdm_is_direct(bytes.as_ptr().cast()) };
        // INVARIANT: The slice is valid and borrowed exclusively for `'a`.
        direct.then_some(Self {
            ptr: bytes.as_mut_ptr(),
            len: bytes.len(),
            writable: true,
            _bio: PhantomData,
        })
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// Returns whether the data is ours to change.
    #[inline]
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Copies the front of the segment to `target`, as much as there is, and returns how much.
    pub fn copy_to(&self, target: &mut [u8]) -> usize {
        let len = target.len().min(self.len);
        // SAFETY: By the type invariant. The function is C's, which copes with races.
        unsafe { bindings::memcpy(target.as_mut_ptr().cast(), self.ptr.cast(), len) };
        len
    }

    /// Fills the segment with zeroes. Does nothing to the data of a write, which is not ours.
    pub fn fill_zero(&self) {
        if !self.writable {
            return;
        }
        // SAFETY: By the type invariant. The function is C's, which copes with races.
        unsafe { bindings::memset(self.ptr.cast(), 0, self.len) };
    }

    /// Copies as many bytes of `source` as there is room for, and returns how many: none to the
    /// data of a write, which is not ours.
    pub fn copy_from(&self, source: &[u8]) -> usize {
        if !self.writable {
            return 0;
        }
        let len = source.len().min(self.len);
        // SAFETY: By the type invariant. The function is C's, which copes with races.
        unsafe { bindings::memcpy(self.ptr.cast(), source.as_ptr().cast(), len) };
        len
    }
}
