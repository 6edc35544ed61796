// SPDX-License-Identifier: GPL-2.0

//! Hashes and ciphers of the kernel.

pub mod aead;
pub mod aes;
pub mod crc32;
pub mod engine;
mod frame;
pub mod md5;
pub mod sha256;
pub mod shash;
pub mod skcipher;

/// The result of a function of the crypto API, where an error is rare.
#[inline]
fn to_result(status: core::ffi::c_int) -> kernel::error::Result {
    #[cold]
    fn failed(status: core::ffi::c_int) -> kernel::error::Result {
        kernel::error::to_result(status)
    }

    if status == 0 {
        Ok(())
    } else {
        failed(status)
    }
}

/// Bytes to be hashed that somebody else may change meanwhile.
///
/// The data of a bio belongs to whoever submitted it, often to user space, which can write to it
/// at any time. A `&[u8]` over it would be unsound; a `Data` only promises that the memory is
/// there. The hash of changing bytes is some hash, no more.
///
/// # Invariants
///
/// `ptr` is valid for reads of `len` bytes for `'a`, by code that copes with races.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    ptr: *const u8,
    len: usize,
    _memory: core::marker::PhantomData<&'a u8>,
}

impl Data<'_> {
    /// # Safety
    ///
    /// `ptr` must be valid for reads of `len` bytes for the lifetime of the result; others may
    /// write to them.
    #[inline]
    pub(crate) unsafe fn from_raw(ptr: *const u8, len: usize) -> Self {
        // INVARIANT: By the requirements of this function.
        Self {
            ptr,
            len,
            _memory: core::marker::PhantomData,
        }
    }

    /// Returns the number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is nothing to hash.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.ptr
    }
}

impl<'a> From<&'a [u8]> for Data<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        // SAFETY: A slice is valid for reads for its lifetime.
        unsafe { Self::from_raw(bytes.as_ptr(), bytes.len()) }
    }
}
