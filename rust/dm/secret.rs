// SPDX-License-Identifier: GPL-2.0

//! Bytes that leave no copy behind.
//!
//! C header: [`include/linux/string.h`](srctree/include/linux/string.h) (`memzero_explicit`)

use crate::{
    alloc,
    bindings, //
};
use core::ops::{
    Deref,
    DerefMut, //
};
use kernel::prelude::*;

/// Key material on the heap, which is overwritten with zeroes before it is freed.
///
/// Its length does not change, so it never moves and leaves no copy where it was. It cannot be
/// printed.
pub struct Secret(KVec<u8>);

impl Secret {
    /// Allocates `len` zeroed bytes. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn zeroed(len: usize) -> Result<Self> {
        alloc::point()?;
        Ok(Self(KVec::from_elem(0, len, GFP_KERNEL)?))
    }

    /// Allocates a copy of `bytes`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn copy_of(bytes: &[u8]) -> Result<Self> {
        Ok(Self(alloc::bytes(bytes, GFP_KERNEL)?))
    }

    /// Overwrites all bytes with zeroes. Any context.
    pub fn wipe(&mut self) {
        wipe(&mut self.0);
    }

    /// Overwrites all bytes with random ones. Any context.
    pub fn randomize(&mut self) {
        fill_random(&mut self.0);
    }
}

impl Deref for Secret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Secret {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// Overwrites bytes with zeroes, even if nobody reads them any more. Any context.
pub fn wipe(bytes: &mut [u8]) {
    // SAFETY: The slice is valid for writes.
    unsafe { bindings::rdm_memzero_explicit(bytes.as_mut_ptr().cast(), bytes.len()) }
}

/// Overwrites bytes with random ones, good enough for keys. Any context.
pub fn fill_random(bytes: &mut [u8]) {
    // SAFETY: The slice is valid for writes.
    unsafe { bindings::get_random_bytes(bytes.as_mut_ptr().cast(), bytes.len()) }
}
