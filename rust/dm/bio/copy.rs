// SPDX-License-Identifier: GPL-2.0

//! Copies: bios with memory of their own that stand in for a bio that a target has taken.
//!
//! The data of a write belongs to whoever submitted it, and must not be changed. A target that
//! changes data on its way down [makes](Owned::make_copy) a copy of the bio, fills it, and
//! [submits](Owned::submit_copy) that. The copy belongs to the bio, and is freed when the bio ends.
//!
//! Writes are how memory becomes free, so they must not depend on it. Each device has a reserve of
//! bios and pages for at least one write of the largest size; who finds no memory waits until an
//! earlier write has given it back, one after the other, since two that each have half of what they
//! need would wait for ever. Beyond the reserve, all devices of a kind share a [`Budget`].
//!
//! C headers: [`include/linux/bio.h`](srctree/include/linux/bio.h),
//! [`include/linux/mempool.h`](srctree/include/linux/mempool.h)

mod memory;

pub(crate) use memory::{
    Bios,
    Copies,
    MAX_BYTES as MAX_COPY, //
};
pub use memory::{
    Budget,
    Lack, //
};

use super::{
    data::Cursor,
    BlockStatus,
    Handed,
    Header,
    Owned, //
};
use crate::{
    bindings,
    context::MaySleep,
    target::{
        device::Device,
        Operations, //
    },
};
use kernel::prelude::*;

impl<'a, T: Operations> Owned<'a, T> {
    /// Gives the bio a copy with as many bytes of memory, whose contents are left as they were
    /// found. If `wait` is given, waits until there is memory.
    ///
    /// The target must have [set memory aside](crate::target::Construction::set_aside_copies).
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` if there is a copy already, or more data than 256 pages.
    #[inline]
    pub fn make_copy(&mut self, wait: Option<MaySleep<'_>>) -> Result {
        let bytes = self.bytes();
        let header = self.header();
        // SAFETY: By the type invariant, the instance lives as long as the bio.
        let copies = unsafe { header.instance.as_ref() }.copies().ok_or(EINVAL)?;
        if header.copy.is_some() || bytes > memory::MAX_BYTES {
            return Err(EINVAL);
        }
        let base = self.bio();
        // SAFETY: By the type invariant, the bio is valid and ours.
        let (opf, priority) = unsafe { ((*base).bi_opf, (*base).bi_ioprio) };
        let copy = copies
            .quick(bytes, opf)
            .or_else(|| copies.wait(bytes, opf, wait?))
            .ok_or(ENOMEM)?;
        // SAFETY: The copy was made just now.
        unsafe {
            (*copy.as_ptr()).bi_ioprio = priority;
            (*copy.as_ptr()).bi_private = self.header.as_ptr().cast();
            (*copy.as_ptr()).bi_end_io = Some(copy_end_io::<T>);
            (*self.header.as_ptr()).copy = Some(copy);
        }
        Ok(())
    }

    /// Returns whether the bio has a copy.
    #[inline]
    pub fn has_copy(&self) -> bool {
        self.header().copy.is_some()
    }

    /// Returns a position at the front of the copy's data, which is ours to change; at the end of
    /// nothing if there is no copy.
    #[inline]
    pub fn copy_cursor(&self) -> Cursor<'_> {
        let Some(copy) = self.header().copy else {
            // SAFETY: There are no vectors.
            return unsafe { Cursor::new(core::ptr::null(), pin_init::zeroed(), false) };
        };
        let mut iter: bindings::bvec_iter = pin_init::zeroed();
        iter.bi_size = self.bytes();
        // SAFETY: The copy is ours, and has as many bytes in its vectors.
        unsafe { Cursor::new((*copy.as_ptr()).bi_io_vec, iter, true) }
    }

    /// Sends the copy to `sector` of `device` instead of the bio, which has the same direction.
    /// [`complete`](Operations::complete) gets the bio back, with the result of the copy. A bio
    /// without a copy fails.
    #[inline]
    pub fn submit_copy(self, device: &Device, sector: u64) -> Handed<'a> {
        let Some(copy) = self.header().copy else {
            return self.end(BlockStatus::IO_ERROR);
        };
        let base = self.bio();
        self.into_header();
        let copy = copy.as_ptr();
        // SAFETY: Bio and copy were ours; the completion of the copy makes a new `Owned`. The
        // device is open.
        unsafe {
            (*copy).bi_bdev = device.bdev();
            (*copy).bi_iter.bi_sector = sector;
            bindings::dm_submit_bio_remap(base, copy);
        }
        Handed::new()
    }
}

/// Submits a bio itself, where the target tells the core what it submits.
///
/// # Safety
///
/// `bio` must be a bio of the core that was taken, and be the caller's to give up.
#[inline]
pub(super) unsafe fn submit_accounted(bio: *mut bindings::bio, device: &Device, sector: u64) {
    const SENT_BEFORE: u16 = (1 << bindings::BIO_REMAPPED) | (1 << bindings::BIO_BPS_THROTTLED);

    // SAFETY: By the requirements of this function; the device is open. The core sets what
    // `bio_set_dev` would set besides.
    unsafe {
        (*bio).bi_flags &= !SENT_BEFORE;
        (*bio).bi_bdev = device.bdev();
        (*bio).bi_iter.bi_sector = sector;
        bindings::dm_submit_bio_remap(bio, core::ptr::null_mut());
    }
}

/// Frees the copy of a bio, if it has one.
///
/// # Safety
///
/// The header must be that of a bio that nobody else has.
#[inline]
pub(super) unsafe fn drop_copy<T: Operations>(header: *mut Header<T>) {
    // SAFETY: By the requirements of this function; the copy was made by the instance's.
    unsafe {
        if let Some(copy) = (*header).copy.take() {
            if let Some(copies) = (*header).instance.as_ref().copies() {
                copies.free(copy);
            }
        }
    }
}

/// # Safety
///
/// `copy` must be the copy of a bio, and submitted.
unsafe extern "C" fn copy_end_io<T: Operations>(copy: *mut bindings::bio) {
    // SAFETY: `make_copy` set `bi_private`; what submitted the copy has given up the bio.
    unsafe {
        let header = (*copy).bi_private.cast::<Header<T>>();
        let bio = (*header).bio.as_ptr();
        (*bio).bi_status = (*copy).bi_status;
        super::end_io::<T>(bio);
    }
}
