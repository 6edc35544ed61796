// SPDX-License-Identifier: GPL-2.0

//! The metadata that goes with the data of a bio, from whoever submitted it.
//!
//! C header: [`include/linux/bio-integrity.h`](srctree/include/linux/bio-integrity.h)

use super::{
    Cursor,
    Owned, //
};
use crate::{
    bindings,
    target::Operations, //
};
use core::ptr;

/// Returns the metadata of a bio, null if it has none.
///
/// # Safety
///
/// `bio` must be valid.
#[inline]
pub(super) unsafe fn of(bio: *const bindings::bio) -> *mut bindings::bio_integrity_payload {
    // SAFETY: By the requirements of this function; with the flag, there is a payload.
    unsafe {
        match (*bio).bi_opf & bindings::RDM_REQ_INTEGRITY {
            0 => ptr::null_mut(),
            _ => (*bio).bi_integrity,
        }
    }
}

/// Takes the metadata off a bio, so that the device below does not get it.
///
/// # Safety
///
/// `bio` must be valid and the caller's.
#[inline]
pub(super) unsafe fn detach(bio: *mut bindings::bio) {
    // SAFETY: By the requirements of this function.
    unsafe {
        if !of(bio).is_null() {
            (*bio).bi_integrity = ptr::null_mut();
            (*bio).bi_opf &= !bindings::RDM_REQ_INTEGRITY;
        }
    }
}

/// Puts metadata back, unless it is null.
///
/// # Safety
///
/// `bio` must be valid and the caller's, and `payload` what it had when it was taken.
#[inline]
pub(super) unsafe fn attach(
    bio: *mut bindings::bio,
    payload: *mut bindings::bio_integrity_payload,
) {
    if payload.is_null() {
        return;
    }
    // SAFETY: By the requirements of this function.
    unsafe {
        (*bio).bi_integrity = payload;
        (*bio).bi_opf |= bindings::RDM_REQ_INTEGRITY;
    }
}

impl<T: Operations> Owned<'_, T> {
    /// Returns a position at the front of the metadata, if the bio has any: to be read if the bio
    /// is a write, else to be written.
    #[inline]
    pub fn metadata(&self) -> Option<Cursor<'_>> {
        // SAFETY: By the type invariant, the bio is valid and ours; its metadata stays with it,
        // also where the bio itself has been sent without it.
        unsafe {
            let payload = self.header().metadata;
            if payload.is_null() {
                return None;
            }
            let writable = (*self.bio()).bi_opf & 1 == 0;
            let (vecs, iter) = (
                bindings::rdm_bip_vec(payload),
                *bindings::rdm_bip_iter(payload),
            );
            Some(Cursor::new(vecs, iter, writable))
        }
    }
}
