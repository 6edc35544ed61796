// SPDX-License-Identifier: GPL-2.0

//! Single blocks of AES, for what is made of them.
//!
//! C header: [`include/crypto/aes.h`](srctree/include/crypto/aes.h)

use crate::{
    bindings,
    secret, //
};
use core::{
    mem::MaybeUninit,
    slice, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The bytes of a block.
pub const BLOCK_SIZE: usize = 16;

/// A key that encrypts blocks. It is overwritten when it is dropped; moving it leaves a copy, so it
/// should not be moved.
///
/// # Invariants
///
/// The key was prepared.
pub struct Aes {
    key: MaybeUninit<bindings::aes_enckey>,
}

impl Aes {
    /// Calls `f` with a key that is gone afterwards. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the key is not of 16, 24, or 32 bytes.
    pub fn with<R>(key: &[u8], f: impl FnOnce(&Self) -> R) -> Result<R> {
        let mut aes = Self {
            key: MaybeUninit::zeroed(),
        };
        // SAFETY: The structure is valid for writes, and `key` for reads.
        to_result(unsafe {
            bindings::aes_prepareenckey(aes.key.as_mut_ptr(), key.as_ptr(), key.len())
            //
        })?;
        // INVARIANT: Prepared above.
        Ok(f(&aes))
    }

    /// Encrypts a block. Any context.
    pub fn encrypt(&self, block: &[u8; BLOCK_SIZE]) -> [u8; BLOCK_SIZE] {
        let mut out = [0; BLOCK_SIZE];
        // SAFETY: By the type invariant, and both are blocks.
        unsafe {
            bindings::rdm_aes_encrypt(self.key.as_ptr(), out.as_mut_ptr(), block.as_ptr())
            //
        };
        out
    }
}

impl Drop for Aes {
    fn drop(&mut self) {
        // SAFETY: The structure was zeroed when it was made, so all bytes are initialised.
        secret::wipe(unsafe {
            slice::from_raw_parts_mut(self.key.as_mut_ptr().cast(), size_of_val(&self.key))
            //
        });
    }
}
