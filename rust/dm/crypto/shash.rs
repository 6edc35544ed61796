// SPDX-License-Identifier: GPL-2.0

//! Synchronous hashes of the crypto API, any algorithm by name.
//!
//! C header: [`include/crypto/hash.h`](srctree/include/crypto/hash.h)

use super::{
    to_result,
    Data, //
};
use crate::{
    alloc,
    bindings,
    context::MaySleep, //
};
use core::{
    ffi::CStr,
    mem::MaybeUninit,
    ptr::NonNull, //
};
use kernel::{error::from_err_ptr, prelude::*};

/// The bytes of the longest digest of the kernel.
pub const MAX_DIGEST_SIZE: usize = bindings::RDM_HASH_MAX_DIGESTSIZE as usize;

/// The bytes of the longest descriptor of the kernel.
const MAX_STATE_SIZE: usize = bindings::RDM_HASH_MAX_DESCSIZE as usize;

/// The bytes of the largest descriptor: its header, and the state of an algorithm.
const MAX_DESC_SIZE: usize = size_of::<bindings::shash_desc>() + MAX_STATE_SIZE;

/// A hash algorithm, ready for use.
///
/// # Invariants
///
/// `tfm` is a valid transform that `self` owns. Its digest has `digest_size`, at most
/// [`MAX_DIGEST_SIZE`] bytes and its state at most `MAX_STATE_SIZE`, as the crypto API checks of
/// every algorithm.
pub struct Hash {
    tfm: NonNull<bindings::crypto_shash>,
    digest_size: usize,
}

// SAFETY: Transforms without a key may be used and freed by any thread.
unsafe impl Send for Hash {}
// SAFETY: The state of a hash is in its descriptor; the transform is only read.
unsafe impl Sync for Hash {}

impl Hash {
    /// Looks up an algorithm by its name in the crypto API. May load a module, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none of that name, `ENOMEM`, or another error of the crypto API.
    pub fn new(name: &CStr, token: MaySleep<'_>) -> Result<Self> {
        Self::with_mask(name, 0, token)
    }

    /// Looks up an algorithm as [`new`](Self::new) does, one that allocates nothing when it
    /// hashes: for writing back memory.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn for_writes(name: &CStr, token: MaySleep<'_>) -> Result<Self> {
        Self::with_mask(name, bindings::CRYPTO_ALG_ALLOCATES_MEMORY, token)
    }

    fn with_mask(name: &CStr, mask: u32, _: MaySleep<'_>) -> Result<Self> {
        alloc::point()?;
        // SAFETY: `name` is a string.
        let tfm = unsafe { bindings::crypto_alloc_shash(name.as_char_ptr(), 0, mask) };
        let tfm = NonNull::new(from_err_ptr(tfm)?).ok_or(ENOMEM)?;
        // SAFETY: The transform was made just now.
        let digest_size = unsafe { bindings::crypto_shash_digestsize(tfm.as_ptr()) } as usize;
        // INVARIANT: Nobody else knows the transform.
        Ok(Self { tfm, digest_size })
    }

    /// Sets the key. It takes `&mut`, since hashes in progress use it. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` or `ENOSYS` if the algorithm does not take this key, or any.
    pub fn set_key(&mut self, key: &[u8], _: MaySleep<'_>) -> Result {
        let len = u32::try_from(key.len()).map_err(|_| EINVAL)?;
        // SAFETY: By the type invariant, `tfm` is valid, and `key` can be read.
        to_result(unsafe { bindings::crypto_shash_setkey(self.tfm.as_ptr(), key.as_ptr(), len) })
    }

    /// Returns whether the algorithm needs a key, and has none. Any context.
    pub fn needs_key(&self) -> bool {
        // SAFETY: By the type invariant, `tfm` is valid.
        let flags = unsafe { bindings::crypto_shash_get_flags(self.tfm.as_ptr()) };
        flags & bindings::CRYPTO_TFM_NEED_KEY != 0
    }

    /// Returns the bytes of a digest. Any context.
    #[inline]
    pub fn digest_size(&self) -> usize {
        self.digest_size
    }

    /// Returns the name of the algorithm without its implementation, such as `sha256`.
    pub fn algorithm(&self) -> &CStr {
        // SAFETY: By the type invariant, `tfm` is valid, and it holds the name while it lives.
        unsafe { CStr::from_char_ptr(bindings::crypto_shash_alg_name(self.tfm.as_ptr())) }
    }

    /// Returns the name of the implementation, such as `sha256-lib`.
    pub fn driver(&self) -> &CStr {
        // SAFETY: As in `algorithm`.
        unsafe { CStr::from_char_ptr(bindings::crypto_shash_driver_name(self.tfm.as_ptr())) }
    }

    /// Saves the state of a hash to which `prefix` was added. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or an error of the algorithm.
    pub fn save(&self, prefix: &[u8], _: MaySleep<'_>) -> Result<KVVec<u8>> {
        // SAFETY: By the type invariant, `tfm` is valid.
        let size = unsafe { bindings::crypto_shash_statesize(self.tfm.as_ptr()) } as usize;
        let mut state = alloc::zeroed::<u8>(size, GFP_KERNEL)?;
        let mut desc = Desc::new(self);
        desc.init()?;
        desc.update(prefix.into())?;
        // SAFETY: The descriptor is in use, and `state` takes the bytes of a state.
        to_result(unsafe {
            bindings::crypto_shash_export(desc.as_ptr(), state.as_mut_ptr().cast())
        })?;
        Ok(state)
    }

    /// Writes the digest of a saved state and `data` to the front of `out`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `state` is not one of this hash or `out` is too short, or an error of the
    /// algorithm.
    pub fn resume(&self, state: &[u8], data: Data<'_>, out: &mut [u8]) -> Result {
        // SAFETY: By the type invariant, `tfm` is valid.
        let size = unsafe { bindings::crypto_shash_statesize(self.tfm.as_ptr()) } as usize;
        if state.len() != size || out.len() < self.digest_size() {
            return Err(EINVAL);
        }
        let mut desc = Desc::new(self);
        // SAFETY: The descriptor belongs to this hash, and `state` has the bytes of a state.
        to_result(unsafe { bindings::crypto_shash_import(desc.as_ptr(), state.as_ptr().cast()) })?;
        desc.finup(data, out)
    }

    /// Writes the digest of `parts`, one after the other, to the front of `out`. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `out` is too short, or an error of the algorithm.
    #[inline]
    pub fn digest(&self, parts: &[Data<'_>], out: &mut [u8]) -> Result {
        self.digest_all(parts.iter().copied(), out)
    }

    /// Writes the digest of parts, one after the other, to the front of `out`. Any context.
    ///
    /// # Errors
    ///
    /// As [`digest`](Self::digest).
    pub fn digest_all<'a>(
        &self,
        parts: impl IntoIterator<Item = Data<'a>>,
        out: &mut [u8],
    ) -> Result {
        if out.len() < self.digest_size() {
            return Err(EINVAL);
        }
        let mut desc = Desc::new(self);
        desc.init()?;
        let mut last: Data<'_> = [].as_slice().into();
        for part in parts {
            if !last.is_empty() {
                desc.update(last)?;
            }
            last = part;
        }
        desc.finup(last, out)
    }
}

impl Drop for Hash {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `self` owns the transform.
        unsafe { bindings::crypto_free_shash(self.tfm.as_ptr()) }
    }
}

/// A hash in progress, on the stack.
///
/// # Invariants
///
/// The front of `memory` is a `struct shash_desc` of `hash`.
#[repr(C, align(16))]
struct Desc<'a> {
    memory: MaybeUninit<[u8; MAX_DESC_SIZE]>,
    _hash: &'a Hash,
}

impl<'a> Desc<'a> {
    fn new(hash: &'a Hash) -> Self {
        let mut memory = MaybeUninit::<[u8; MAX_DESC_SIZE]>::uninit();
        let desc = memory.as_mut_ptr().cast::<bindings::shash_desc>();
        // SAFETY: `memory` has room for the structure. It may be less aligned than `desc` wants
        // until it is moved into `self`, hence the unaligned write.
        unsafe { (&raw mut (*desc).tfm).write_unaligned(hash.tfm.as_ptr()) };
        // INVARIANT: The transform was set above.
        Self {
            memory,
            _hash: hash,
        }
    }

    fn as_ptr(&mut self) -> *mut bindings::shash_desc {
        self.memory.as_mut_ptr().cast()
    }

    fn init(&mut self) -> Result {
        // SAFETY: By the type invariant, and `memory` has room for the state of any algorithm.
        to_result(unsafe { bindings::crypto_shash_init(self.as_ptr()) })
    }

    fn update(&mut self, data: Data<'_>) -> Result {
        let len = u32::try_from(data.len()).map_err(|_| EINVAL)?;
        // SAFETY: The descriptor is in use, and `data` can be read.
        to_result(unsafe { bindings::crypto_shash_update(self.as_ptr(), data.as_ptr(), len) })
    }

    /// Adds the last data, and writes the digest to `out`, which has room for one.
    fn finup(&mut self, data: Data<'_>, out: &mut [u8]) -> Result {
        let len = u32::try_from(data.len()).map_err(|_| EINVAL)?;
        // SAFETY: The descriptor is in use, `data` can be read, and `out` takes a digest.
        to_result(unsafe {
            bindings::crypto_shash_finup(self.as_ptr(), data.as_ptr(), len, out.as_mut_ptr())
        })
    }
}
