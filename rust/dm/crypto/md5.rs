// SPDX-License-Identifier: GPL-2.0

//! MD5, for formats that have it. It is no secure hash any more.
//!
//! C header: [`include/crypto/md5.h`](srctree/include/crypto/md5.h)

use crate::{
    bindings,
    secret, //
};
use core::{
    mem::MaybeUninit,
    slice, //
};

/// A hash in progress. It is overwritten when it is dropped.
///
/// # Invariants
///
/// The context is initialised.
pub struct Md5 {
    context: MaybeUninit<bindings::md5_ctx>,
}

impl Md5 {
    /// Starts a hash. Any context.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let mut context = MaybeUninit::zeroed();
        // SAFETY: The structure is valid for writes.
        unsafe { bindings::md5_init(context.as_mut_ptr()) };
        // INVARIANT: Initialised above.
        Self { context }
    }

    /// Adds bytes. Any context.
    pub fn update(&mut self, bytes: &[u8]) {
        // SAFETY: By the type invariant, and `bytes` is valid for reads.
        unsafe { bindings::md5_update(self.context.as_mut_ptr(), bytes.as_ptr(), bytes.len()) }
    }

    /// Returns the state after the last whole block of 64 bytes. Without padding, so it is no
    /// digest unless the caller has added that. Any context.
    pub fn state(self) -> [u32; 4] {
        // SAFETY: By the type invariant.
        unsafe { self.context.assume_init_ref() }.state.h
    }
}

impl Drop for Md5 {
    fn drop(&mut self) {
        // SAFETY: The structure was zeroed when it was made, so all bytes are initialised.
        secret::wipe(unsafe {
            slice::from_raw_parts_mut(
                self.context.as_mut_ptr().cast(),
                size_of_val(&self.context), //
            )
        });
    }
}
