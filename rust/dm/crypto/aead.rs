// SPDX-License-Identifier: GPL-2.0

//! Authenticated encryption, any algorithm by name.
//!
//! What is encrypted, and data that goes with it and is only authenticated, get a tag, without
//! which the cipher text is refused.
//!
//! C header: [`include/crypto/aead.h`](srctree/include/crypto/aead.h)

use super::{
    frame::Memory,
    skcipher::Direction, //
};
use crate::{
    alloc,
    bindings,
    bio::Segment,
    context::MaySleep, //
};
use core::{
    ffi::CStr,
    mem::offset_of,
    ptr::NonNull, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::c_uint,
    page::PAGE_SIZE,
    prelude::*,
};

/// Marks the last entry of a scatter list, `SG_END`.
const SG_END: usize = 2;

/// A cipher that authenticates.
///
/// # Invariants
///
/// `tfm` is a valid transform that `self` owns. Its requests need `context` bytes of memory of
/// their own.
pub struct Aead {
    tfm: NonNull<bindings::crypto_aead>,
    iv_size: usize,
    context: usize,
}

// SAFETY: Transforms may be used and freed by any thread.
unsafe impl Send for Aead {}
// SAFETY: Requests only read the transform. A key that is set meanwhile garbles what they do, but
// they touch no memory other than theirs and the transform's.
unsafe impl Sync for Aead {}

impl Aead {
    /// Looks up an algorithm by its name in the crypto API, one that allocates no memory as it
    /// works. May load a module, may sleep.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none of that name, `ENOMEM`, or another error of the crypto API.
    pub fn new(name: &CStr, _: MaySleep<'_>) -> Result<Self> {
        alloc::point()?;
        // SAFETY: `name` is a string.
        let tfm = from_err_ptr(unsafe {
            bindings::crypto_alloc_aead(
                name.as_char_ptr(),
                0,
                bindings::RDM_CRYPTO_ALG_ALLOCATES_MEMORY,
            )
        })?;
        let tfm = NonNull::new(tfm).ok_or(ENOMEM)?;
        // INVARIANT: The transform was made just now and nobody else knows it.
        // SAFETY: It is valid.
        Ok(unsafe {
            Self {
                tfm,
                iv_size: bindings::crypto_aead_ivsize(tfm.as_ptr()) as usize,
                context: bindings::crypto_aead_reqsize(tfm.as_ptr()) as usize,
            }
        })
    }

    /// Returns the bytes of an initialisation vector; 0 if the cipher takes none. Any context.
    pub fn iv_size(&self) -> usize {
        self.iv_size
    }

    /// Returns the bytes of a block. Any context.
    pub fn block_size(&self) -> usize {
        // SAFETY: By the type invariant, `tfm` is valid.
        unsafe { bindings::crypto_aead_blocksize(self.tfm.as_ptr()) as usize }
    }

    /// Sets the key. Requests that run meanwhile give garbage. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the algorithm does not take the key, or another error of the algorithm. There is
    /// no key then.
    pub fn set_key(&self, key: &[u8], _: MaySleep<'_>) -> Result {
        let len = c_uint::try_from(key.len()).map_err(|_| EINVAL)?;
        // SAFETY: By the type invariant, `tfm` is valid, and `key` has `len` bytes.
        to_result(unsafe {
            bindings::crypto_aead_setkey(self.tfm.as_ptr(), key.as_ptr(), len) //
        })
    }

    /// Sets the bytes of the tag. Before the first request; may sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the algorithm has no tags of that size.
    pub fn set_tag_size(&mut self, size: u32, _: MaySleep<'_>) -> Result {
        // SAFETY: By the type invariant, `tfm` is valid.
        to_result(unsafe { bindings::crypto_aead_setauthsize(self.tfm.as_ptr(), size) })
    }

    fn tag_size(&self) -> usize {
        // SAFETY: By the type invariant, `tfm` is valid.
        unsafe { bindings::crypto_aead_authsize(self.tfm.as_ptr()) as usize }
    }
}

impl Drop for Aead {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `self` owns the transform. This wipes the key as well.
        unsafe { bindings::crypto_free_aead(self.tfm.as_ptr()) }
    }
}

/// A request and what it points to. The memory of the algorithm follows the request.
#[repr(C, align(64))]
struct Frame {
    iv: super::skcipher::Iv,
    list: bindings::scatterlist,
    wait: bindings::crypto_wait,
    request: bindings::aead_request,
}

/// What precedes the memory of the algorithm.
const HEAD: usize = offset_of!(Frame, request) + size_of::<bindings::aead_request>();

/// The memory of a request.
///
/// # Invariants
///
/// `memory` has a `Frame`, and `context` bytes behind `HEAD`.
pub struct Workspace {
    memory: Memory,
    context: usize,
}

impl Workspace {
    /// Allocates a workspace for a cipher. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(cipher: &Aead, _: MaySleep<'_>) -> Result<Self> {
        let bytes = HEAD.checked_add(cipher.context).ok_or(ENOMEM)?;
        // INVARIANT: There is enough of it.
        Ok(Self {
            memory: Memory::new(bytes.max(size_of::<Frame>()))?,
            context: cipher.context,
        })
    }

    /// Encrypts or decrypts where the bytes are: first `associated` bytes that are only
    /// authenticated, then the data, then the tag. May sleep.
    ///
    /// # Errors
    ///
    /// `EBADMSG` if the tag is not that of the rest. `EINVAL` if the bytes are too few, are not in
    /// the direct map, or if the vector is not of the cipher's size or the workspace is another
    /// cipher's; or an error of the algorithm.
    pub fn in_place(
        &mut self,
        cipher: &Aead,
        direction: Direction,
        bytes: &mut [u8],
        associated: usize,
        iv: &[u8],
        _: MaySleep<'_>,
    ) -> Result {
        let data = bytes
            .len()
            .checked_sub(associated)
            .and_then(|rest| rest.checked_sub(cipher.tag_size()))
            .ok_or(EINVAL)?;
        let len = match direction {
            Direction::Encrypt => data,
            Direction::Decrypt => data.wrapping_add(cipher.tag_size()),
        };
        let all = c_uint::try_from(bytes.len()).map_err(|_| EINVAL)?;
        let segment = Segment::of(bytes).ok_or(EINVAL)?;
        if cipher.context > self.context || iv.len() != cipher.iv_size {
            return Err(EINVAL);
        }
        let frame = self.memory.front::<Frame>().as_ptr();
        // SAFETY: By the type invariant, there is room for a frame, and all bytes are initialised.
        let frame = unsafe { &mut *frame };
        frame
            .iv
            .get_mut(..iv.len())
            .ok_or(EINVAL)?
            .copy_from_slice(iv);
        frame.list = pin_init::zeroed();
        // SAFETY: Segments are in the direct map.
        let page = unsafe { bindings::virt_to_page(segment.as_ptr().cast()) };
        frame.list.page_link = page.expose_provenance() | SG_END;
        frame.list.offset = (segment.as_ptr().addr() & (PAGE_SIZE - 1)) as c_uint;
        frame.list.length = all;
        frame.request.iv = frame.iv.as_mut_ptr();
        frame.request.src = &raw mut frame.list;
        frame.request.dst = &raw mut frame.list;
        frame.request.assoclen = associated as c_uint;
        frame.request.cryptlen = len as c_uint;
        frame.request.base.complete = Some(bindings::crypto_req_done);
        frame.request.base.data = (&raw mut frame.wait).cast();
        frame.request.base.flags = bindings::RDM_CRYPTO_TFM_REQ_MAY_BACKLOG;
        let request = &raw mut frame.request;
        // SAFETY: The transform is valid, and the request has all the memory that it needs, which
        // is borrowed exclusively until this has waited for it.
        to_result(unsafe {
            (*request).base.tfm = &raw mut (*cipher.tfm.as_ptr()).base;
            bindings::crypto_init_wait(&raw mut frame.wait);
            let result = match direction {
                Direction::Encrypt => bindings::crypto_aead_encrypt(request),
                Direction::Decrypt => bindings::crypto_aead_decrypt(request),
            };
            bindings::crypto_wait_req(result, &raw mut frame.wait)
        })
    }
}
