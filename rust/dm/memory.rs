// SPDX-License-Identifier: GPL-2.0

//! Memory that many CPUs and devices use at once, and that the target keeps in order.
//!
//! What a journal keeps of a device is too much for a lock: one part is being written to the
//! device while others are being filled and read. So there are no slices of a [`Shared`], only
//! copies in and out, and an access that overlaps another finds or leaves some bytes of each.
//!
//! C header: [`include/linux/vmalloc.h`](srctree/include/linux/vmalloc.h)

use crate::{
    alloc,
    bindings,
    bio::Segment,
    context::MaySleep,
    crypto::Data, //
};
use core::{
    ptr::NonNull,
    sync::atomic::{
        AtomicU64,
        Ordering, //
    },
};
use kernel::{
    ffi::c_uint,
    page::PAGE_SIZE,
    prelude::*, //
};

/// Some memory, zeroes at first.
///
/// # Invariants
///
/// `ptr` is from `vmalloc`, owned by `self`, and valid for reads and writes of `len` bytes by code
/// that copes with races. It is initialised.
pub struct Shared {
    ptr: NonNull<u8>,
    len: usize,
}

// SAFETY: The memory may be used and freed by any thread.
unsafe impl Send for Shared {}
// SAFETY: All accesses cope with races.
unsafe impl Sync for Shared {}

impl Shared {
    /// Allocates `len` bytes, rounded up to pages. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, also if that is more than the machine has.
    pub fn new(len: usize, _: MaySleep<'_>) -> Result<Self> {
        alloc::point()?;
        let len = len
            .max(1)
            .checked_next_multiple_of(PAGE_SIZE)
            .ok_or(ENOMEM)?;
        // SAFETY: The helper has no requirements.
        let pages = unsafe { bindings::totalram_pages() };
        if (len / PAGE_SIZE) as u64 >= pages as u64 {
            return Err(ENOMEM);
        }
        // SAFETY: The helper has no requirements.
        let ptr = unsafe {
            bindings::rdm_vmalloc(len, bindings::RDM_GFP_KERNEL | bindings::RDM_GFP_ZERO)
        };
        // INVARIANT: Allocated just now, and zeroed.
        Ok(Self {
            ptr: NonNull::new(ptr.cast()).ok_or(ENOMEM)?,
            len,
        })
    }

    /// Returns the number of bytes.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the address of `len` bytes from `offset` on, if there are so many.
    #[inline]
    pub(crate) fn at(&self, offset: usize, len: usize) -> Option<*mut u8> {
        let end = offset.checked_add(len)?;
        (end <= self.len).then(|| self.ptr.as_ptr().wrapping_add(offset))
    }

    /// Copies from `offset` on to `target`; returns whether there is so much. Any context.
    #[inline]
    #[must_use]
    pub fn read(&self, offset: usize, target: &mut [u8]) -> bool {
        let Some(ptr) = self.at(offset, target.len()) else {
            return false;
        };
        // SAFETY: By the type invariants. The function is C's, which copes with races.
        unsafe { bindings::memcpy(target.as_mut_ptr().cast(), ptr.cast(), target.len()) };
        true
    }

    /// Copies `source` to `offset`; returns whether there is room. Any context.
    #[inline]
    #[must_use]
    pub fn write(&self, offset: usize, source: &[u8]) -> bool {
        let Some(ptr) = self.at(offset, source.len()) else {
            return false;
        };
        // SAFETY: As above.
        unsafe { bindings::memcpy(ptr.cast(), source.as_ptr().cast(), source.len()) };
        true
    }

    /// Sets `len` bytes from `offset` on to `value`; returns whether there are so many. Any
    /// context.
    #[must_use]
    pub fn fill(&self, offset: usize, len: usize, value: u8) -> bool {
        let Some(ptr) = self.at(offset, len) else {
            return false;
        };
        // SAFETY: As above.
        unsafe { bindings::memset(ptr.cast(), value.into(), len) };
        true
    }

    /// Sets `len` bytes from `offset` on to the exclusive or of those at the same place of two
    /// others, of which one may be this; returns whether all have so many. Any context.
    #[must_use]
    pub fn xor(&self, offset: usize, len: usize, left: &Self, right: &Self) -> bool {
        let (Some(to), Some(left), Some(right), Ok(size)) = (
            self.at(offset, len),
            left.at(offset, len),
            right.at(offset, len),
            c_uint::try_from(len),
        ) else {
            return false;
        };
        // SAFETY: As above.
        unsafe { bindings::__crypto_xor(to, left, right, size) };
        true
    }

    /// Copies all of a piece of a bio to `offset`; returns whether there is room. Any context.
    #[inline]
    #[must_use]
    pub fn copy_from(&self, offset: usize, source: &Segment<'_>) -> bool {
        let Some(ptr) = self.at(offset, source.len()) else {
            return false;
        };
        // SAFETY: As above, and a segment can be read.
        unsafe { bindings::memcpy(ptr.cast(), source.as_ptr().cast(), source.len()) };
        true
    }

    /// Copies from `offset` on to a piece of a bio that takes data, all of it; returns whether
    /// there is so much. Any context.
    #[inline]
    #[must_use]
    pub fn copy_to(&self, offset: usize, target: &Segment<'_>) -> bool {
        if !target.is_writable() {
            return false;
        }
        let Some(ptr) = self.at(offset, target.len()) else {
            return false;
        };
        // SAFETY: As above, and a segment that is writable can be written to.
        unsafe { bindings::memcpy(target.as_ptr().cast(), ptr.cast(), target.len()) };
        true
    }

    /// Returns `len` bytes from `offset` on, to be hashed.
    #[inline]
    pub fn data(&self, offset: usize, len: usize) -> Option<Data<'_>> {
        let ptr = self.at(offset, len)?;
        // SAFETY: By the type invariants.
        Some(unsafe { Data::from_raw(ptr, len) })
    }

    /// Returns the page that a byte is in, and the number of bytes before it there.
    pub(crate) fn page(&self, offset: usize) -> Option<(*mut bindings::page, usize)> {
        let ptr = self.at(offset, 1)?;
        // SAFETY: By the type invariants, the address is one of `vmalloc`.
        let page = unsafe { bindings::vmalloc_to_page(ptr.cast()) };
        Some((page, ptr.addr() & (PAGE_SIZE - 1)))
    }

    #[inline]
    fn word(&self, offset: usize) -> Option<&AtomicU64> {
        let ptr = self.at(offset, 8).filter(|_| offset % 8 == 0)?;
        // SAFETY: By the type invariants; pages are aligned, and so is the offset.
        Some(unsafe { AtomicU64::from_ptr(ptr.cast()) })
    }

    /// Returns the eight bytes at `offset`, a multiple of eight, in the order of the memory. What
    /// was written before them by [`store`](Self::store) is seen. Any context.
    #[inline]
    pub fn load(&self, offset: usize) -> [u8; 8] {
        match self.word(offset) {
            Some(word) => word.load(Ordering::Acquire).to_ne_bytes(),
            None => [0; 8],
        }
    }

    /// Writes eight bytes at `offset`, a multiple of eight, after all that was written before.
    /// Any context.
    #[inline]
    pub fn store(&self, offset: usize, bytes: [u8; 8]) {
        if let Some(word) = self.word(offset) {
            word.store(u64::from_ne_bytes(bytes), Ordering::Release);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: By the type invariants.
        unsafe { bindings::rdm_vfree(self.ptr.as_ptr().cast()) };
    }
}
