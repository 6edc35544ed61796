// SPDX-License-Identifier: GPL-2.0

//! Metadata that goes with the data of a copy.
//!
//! A device below may keep some bytes of metadata for each of its sectors. A target that has
//! [`Tags`] for a bio sends them with the copy, or gets them with it.
//!
//! C header: [`include/linux/bio-integrity.h`](srctree/include/linux/bio-integrity.h)

use super::{
    metadata,
    Cursor,
    Owned, //
};
use crate::{
    alloc, bindings,
    context::MaySleep,
    mempool::Pool,
    target::{
        device::Device,
        Operations, //
    },
};
use core::{
    ops::{
        Deref,
        DerefMut, //
    },
    ptr::NonNull,
    slice,
};
use kernel::{
    error::to_result,
    ffi::c_int,
    prelude::*,
    sync::Arc, //
};

/// The pieces in reserve.
const RESERVED: c_int = 64;

/// The most bytes that are asked for beyond the reserve, `KMALLOC_MAX_SIZE` of small machines.
const MAX_BYTES: usize = 4 << 20;

/// # Invariants
///
/// `pool` is of pieces of `bytes` bytes, each of which has a reference to it.
struct Pieces {
    pool: Pool,
    bytes: usize,
}

/// Where tags come from, with some in reserve.
pub struct TagPool(Arc<Pieces>);

impl TagPool {
    /// Sets pieces of `bytes` bytes aside. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(bytes: usize, _: MaySleep<'_>) -> Result<Self> {
        // SAFETY: These are the functions for pools of bytes, which get the number of them.
        let pool = unsafe {
            Pool::new(
                RESERVED,
                Some(bindings::mempool_kmalloc),
                Some(bindings::mempool_kfree),
                core::ptr::without_provenance_mut(bytes),
            )
        }?;
        // INVARIANT: Made just now.
        Ok(Self(Arc::new(Pieces { pool, bytes }, GFP_KERNEL)?))
    }

    /// Allocates `bytes` zeroes, without effort. In `map`, or where one may sleep.
    pub fn get(&self, bytes: usize) -> Option<Tags> {
        alloc::point().ok()?;
        if bytes > MAX_BYTES {
            return None;
        }
        let gfp = bindings::RDM_GFP_NOIO | bindings::RDM_GFP_ZERO;
        // SAFETY: The helper has no requirements.
        let ptr = unsafe { bindings::rdm_kmalloc(bytes, gfp) };
        // INVARIANT: Allocated and zeroed just now.
        Some(Tags {
            ptr: NonNull::new(ptr.cast())?,
            len: bytes,
            pool: None,
        })
    }

    /// Takes a piece of the reserve, zeroed, or waits for one. In `map` for a bio of which no other
    /// part waits, or where one may sleep.
    pub fn get_reserved(&self) -> Option<Tags> {
        // SAFETY: The pool is valid.
        let ptr = unsafe {
            bindings::mempool_alloc_noprof(self.0.pool.as_ptr(), bindings::RDM_GFP_NOIO_WAIT)
        };
        let ptr: NonNull<u8> = NonNull::new(ptr.cast())?;
        // SAFETY: The piece has so many bytes, and is ours.
        unsafe { ptr.write_bytes(0, self.0.bytes) };
        // INVARIANT: From the pool, and zeroed.
        Some(Tags {
            ptr,
            len: self.0.bytes,
            pool: Some(self.0.clone()),
        })
    }
}

/// Metadata for a bio.
///
/// # Invariants
///
/// `ptr` is valid for reads and writes of `len` initialised bytes that lie together in memory, and
/// that only `self` uses. They are from `pool`, or from `kmalloc` if there is none.
pub struct Tags {
    ptr: NonNull<u8>,
    len: usize,
    pool: Option<Arc<Pieces>>,
}

// SAFETY: The memory may be used and freed by any thread.
unsafe impl Send for Tags {}

impl Deref for Tags {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: By the type invariant.
        unsafe { slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl DerefMut for Tags {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: By the type invariant.
        unsafe { slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

impl Drop for Tags {
    fn drop(&mut self) {
        let ptr = self.ptr.as_ptr().cast();
        // SAFETY: By the type invariant.
        unsafe {
            match &self.pool {
                Some(pool) => bindings::mempool_free(ptr, pool.pool.as_ptr()),
                None => bindings::kfree(ptr),
            }
        }
    }
}

impl<T: Operations> Owned<'_, T> {
    /// Keeps tags with the bio, which are freed when it ends. A copy that there is already is
    /// freed, since others may go with it; tags that go with the bio itself stay as they are.
    pub fn set_tags(&mut self, tags: Tags) {
        if self.has_own_tags() {
            return;
        }
        self.drop_copy();
        // SAFETY: The header is valid, and `&mut self` is exclusive.
        unsafe { (*self.header.as_ptr()).tags = Some(tags) };
    }

    /// Returns positions at the front of the bio's data and of the copy's, and the tags: nothing of
    /// what there is not.
    pub fn parts(&mut self) -> (Cursor<'_>, Cursor<'_>, &mut [u8]) {
        // SAFETY: The header is valid, and `&mut self` is exclusive: no device has the copy. Tags
        // are in memory of their own.
        let tags = unsafe { (*self.header.as_ptr()).tags.as_mut() };
        (
            self.cursor(),
            self.copy_cursor(),
            tags.map_or(&mut [], |tags| &mut **tags),
        )
    }

    /// Has the first `bytes` of the tags go with the copy when that is submitted to `sector` of
    /// `device`. `wait` is as where the copy was made.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` if there are no copy or not so many tags, or if the device does not take
    /// them in one piece.
    pub fn attach_tags(
        &mut self,
        device: &Device,
        sector: u64,
        bytes: usize,
        wait: Option<MaySleep<'_>>,
    ) -> Result {
        let copy = self.header().copy.ok_or(EINVAL)?.as_ptr();
        self.attach(copy, device, sector, bytes, wait)
    }

    /// Has the first `bytes` of the tags go with the bio itself when that is
    /// [submitted](Self::submit) to `sector` of `device`, once. The bio came without metadata.
    ///
    /// # Errors
    ///
    /// Those of [`attach_tags`](Self::attach_tags).
    pub fn attach_tags_to_own(
        &mut self,
        device: &Device,
        sector: u64,
        bytes: usize,
        wait: Option<MaySleep<'_>>,
    ) -> Result {
        let bio = self.bio();
        // SAFETY: By the type invariant, the bio is valid.
        if !unsafe { metadata::of(bio) }.is_null() {
            return Err(EINVAL);
        }
        self.attach(bio, device, sector, bytes, wait)
    }

    /// Returns whether the bio itself has metadata other than what it came with.
    fn has_own_tags(&self) -> bool {
        // SAFETY: By the type invariant, the bio is valid.
        let now = unsafe { metadata::of(self.bio()) };
        !now.is_null() && now != self.header().metadata
    }

    /// Attaches tags to `to`, which is the bio or its copy.
    fn attach(
        &self,
        to: *mut bindings::bio,
        device: &Device,
        sector: u64,
        bytes: usize,
        wait: Option<MaySleep<'_>>,
    ) -> Result {
        alloc::point()?;
        let tags = self.header().tags.as_ref().ok_or(EINVAL)?;
        if bytes > tags.len() {
            return Err(EINVAL);
        }
        let gfp = match wait {
            Some(_) => bindings::RDM_GFP_NOIO_WAIT,
            None => bindings::RDM_GFP_NOWAIT,
        };
        let ptr = tags.ptr.as_ptr().cast();
        // SAFETY: Bio and copy are ours. The tags, which lie together in the direct map, stay until
        // the device is done with either: they are freed when the bio ends, and not replaced.
        to_result(unsafe {
            (*to).bi_bdev = device.bdev();
            bindings::rdm_bio_add_metadata(to, ptr, bytes as u32, sector, gfp)
        })
    }

    /// Frees the copy, if there is one.
    pub fn drop_copy(&mut self) {
        // SAFETY: The bio is ours, and so is its copy.
        unsafe { super::copy::drop_copy(self.header.as_ptr()) }
    }
}
