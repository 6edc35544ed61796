// SPDX-License-Identifier: GPL-2.0

//! Ciphers with a symmetric key, any algorithm by name.
//!
//! A [`Cipher`] has a key; a [`Request`] is what it needs to work on data: where from, where to,
//! and the initialisation vector. One request serves any number of pieces of data, one after the
//! other, so a whole bio costs one set-up and no allocation. It lives on the stack if the cipher
//! is [quick](Cipher::is_quick): it works at once and with little memory, in any context. Other
//! ciphers need a [`Workspace`], made ahead, and may sleep until an engine has done its work; or a
//! [`Window`], with which many requests are under way at the same time.
//!
//! C header: [`include/crypto/skcipher.h`](srctree/include/crypto/skcipher.h)

mod bulk;
mod window;

pub use bulk::Bulk;
pub use window::{
    Cargo,
    Window, //
};

use super::frame::Memory;
use crate::{
    alloc,
    bindings,
    bio::Segment,
    context::MaySleep, //
};
use core::{
    ffi::CStr,
    marker::PhantomData,
    mem::{
        offset_of,
        MaybeUninit, //
    },
    ptr::NonNull,
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::{
        c_int,
        c_uint, //
    },
    page::PAGE_SIZE,
    prelude::*,
};

/// The bytes of the longest initialisation vector that is supported.
pub const MAX_IV_SIZE: usize = 64;

/// The bytes of the longest name of an algorithm, with its NUL.
pub const MAX_NAME_SIZE: usize = bindings::RDM_CRYPTO_MAX_ALG_NAME as usize;

/// An initialisation vector, of which a cipher takes the front. The cipher overwrites it.
pub type Iv = [u8; MAX_IV_SIZE];

/// The most that a quick cipher may need on the stack, `MAX_SYNC_SKCIPHER_REQSIZE`.
const STACK_CONTEXT: usize = bindings::MAX_SYNC_SKCIPHER_REQSIZE as usize;

/// Marks the last entry of a scatter list, `SG_END`.
const SG_END: usize = 2;

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From plain text to cipher text.
    Encrypt,
    /// From cipher text to plain text.
    Decrypt,
}

/// A cipher that has, or will have, a key.
///
/// # Invariants
///
/// `tfm` is a valid transform that `self` owns; `iv_size` is at most [`MAX_IV_SIZE`]. Its requests
/// need `context` bytes of memory of their own, and if `asynchronous` is not set they are done
/// when the function that starts them returns.
pub struct Cipher {
    tfm: NonNull<bindings::crypto_skcipher>,
    iv_size: usize,
    context: usize,
    asynchronous: bool,
}

// SAFETY: Transforms may be used and freed by any thread.
unsafe impl Send for Cipher {}
// SAFETY: Requests only read the transform. A key that is set meanwhile garbles what they do, as
// the crypto API says, but they touch no memory other than theirs and the transform's.
unsafe impl Sync for Cipher {}

impl Cipher {
    /// Looks up an algorithm by its name in the crypto API. May load a module, may sleep.
    ///
    /// Algorithms that allocate memory as they work are not used: data that is written out to free
    /// memory must not wait for any.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is none of that name, `EOPNOTSUPP` if its vectors are too long, `ENOMEM`,
    /// or another error of the crypto API.
    pub fn new(name: &CStr, _: MaySleep<'_>) -> Result<Self> {
        alloc::point()?;
        // SAFETY: `name` is a string.
        let tfm = from_err_ptr(unsafe {
            bindings::crypto_alloc_skcipher(
                name.as_char_ptr(),
                0,
                bindings::RDM_CRYPTO_ALG_ALLOCATES_MEMORY,
            )
        })?;
        let tfm = NonNull::new(tfm).ok_or(ENOMEM)?;
        // SAFETY: The transform was made just now.
        let (iv_size, context, asynchronous) = unsafe {
            (
                bindings::crypto_skcipher_ivsize(tfm.as_ptr()) as usize,
                bindings::crypto_skcipher_reqsize(tfm.as_ptr()) as usize,
                bindings::rdm_skcipher_is_async(tfm.as_ptr()),
            )
        };
        // INVARIANT: Nobody else knows the transform; the sizes are its own.
        let cipher = Self {
            tfm,
            iv_size,
            context,
            asynchronous,
        };
        match iv_size <= MAX_IV_SIZE {
            true => Ok(cipher),
            false => Err(EOPNOTSUPP),
        }
    }

    /// Returns the bytes of an initialisation vector; 0 if the cipher takes none. Any context.
    #[inline]
    pub fn iv_size(&self) -> usize {
        self.iv_size
    }

    /// Returns the bytes of a block, of which data is a multiple. Any context.
    pub fn block_size(&self) -> usize {
        // SAFETY: By the type invariant, `tfm` is valid.
        unsafe { bindings::crypto_skcipher_blocksize(self.tfm.as_ptr()) as usize }
    }

    /// Returns the name of the driver that does the work, such as `xts-aes-vaes-avx2`.
    pub fn driver_name(&self) -> &CStr {
        // SAFETY: By the type invariant; the name lives as long as the transform.
        unsafe { CStr::from_char_ptr(bindings::crypto_skcipher_driver_name(self.tfm.as_ptr())) }
    }

    /// Returns whether a request may live on the [stack](on_stack), in any context.
    #[inline]
    pub fn is_quick(&self) -> bool {
        !self.asynchronous && self.context <= STACK_CONTEXT
    }

    /// Returns whether requests are handed to an engine that does them some time later.
    #[inline]
    pub fn is_asynchronous(&self) -> bool {
        self.asynchronous
    }

    /// Sets the key. Requests that run meanwhile give garbage. May sleep.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the algorithm takes no key of that size or thinks it weak, or another error of
    /// the algorithm. There is no key then.
    pub fn set_key(&self, key: &[u8], _: MaySleep<'_>) -> Result {
        let len = c_uint::try_from(key.len()).map_err(|_| EINVAL)?;
        // SAFETY: By the type invariant, `tfm` is valid, and `key` has `len` bytes.
        to_result(unsafe {
            bindings::crypto_skcipher_setkey(self.tfm.as_ptr(), key.as_ptr(), len)
            //
        })
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `self` owns the transform. This wipes the key as well.
        unsafe { bindings::crypto_free_skcipher(self.tfm.as_ptr()) }
    }
}

/// A request and what it points to. The memory of the algorithm follows the request.
#[repr(C, align(64))]
struct Frame {
    iv: Iv,
    src: bindings::scatterlist,
    dst: bindings::scatterlist,
    wait: bindings::crypto_wait,
    request: bindings::skcipher_request,
}

/// What precedes the memory of the algorithm.
const HEAD: usize = offset_of!(Frame, request) + size_of::<bindings::skcipher_request>();

/// A frame for the stack.
#[repr(C)]
struct StackFrame {
    frame: MaybeUninit<Frame>,
    _context: MaybeUninit<[u8; STACK_CONTEXT]>,
}

/// A request to ciphers, for one piece of data after the other.
///
/// # Invariants
///
/// `frame` is valid and has `context` bytes behind it for the algorithm, all of them borrowed
/// exclusively for `'a`. No request of it is in flight. If `waits` is set, the current context may
/// sleep as long as `'a` lasts.
pub struct Request<'a> {
    frame: NonNull<Frame>,
    context: usize,
    waits: bool,
    _memory: PhantomData<&'a mut ()>,
}

/// Calls `f` with a request on the stack, for ciphers that are [quick](Cipher::is_quick). Any
/// context but hard interrupts.
#[inline]
pub fn on_stack<R>(f: impl FnOnce(&mut Request<'_>) -> R) -> R {
    let mut memory = MaybeUninit::<StackFrame>::uninit();
    // SAFETY: The front of the memory is the frame, and it has room for the context behind it. It
    // stays where it is until this function returns.
    f(&mut unsafe { Request::new(NonNull::from(&mut memory).cast(), STACK_CONTEXT, false) })
}

impl Request<'_> {
    /// # Safety
    ///
    /// `frame` must be valid for writes for the lifetime of the result, with `context` bytes
    /// behind [`HEAD`], and not be used by anybody else. If `waits` is set, the current context
    /// must be one that may sleep, and stay that for the lifetime of the result.
    #[inline]
    unsafe fn new(frame: NonNull<Frame>, context: usize, waits: bool) -> Self {
        let ptr = frame.as_ptr();
        // SAFETY: By the requirements of this function.
        unsafe {
            (&raw mut (*ptr).src).write(pin_init::zeroed());
            (&raw mut (*ptr).dst).write(pin_init::zeroed());
            (&raw mut (*ptr).request).write_bytes(0, 1);
            (&raw mut (*ptr).iv).write([0; MAX_IV_SIZE]);
            (*ptr).request.iv = (&raw mut (*ptr).iv).cast();
            if waits {
                bindings::crypto_init_wait(&raw mut (*ptr).wait);
                (*ptr).request.base.complete = Some(bindings::crypto_req_done);
                (*ptr).request.base.data = (&raw mut (*ptr).wait).cast();
                (*ptr).request.base.flags = bindings::RDM_CRYPTO_TFM_REQ_MAY_BACKLOG;
            }
        }
        // INVARIANT: By the requirements of this function, and nothing was started yet.
        Self {
            frame,
            context,
            waits,
            _memory: PhantomData,
        }
    }

    /// Works on all units of `unit` bytes that both `src` and `dst` have, one after the other.
    /// Both may be the same memory. `next` writes the vector of each and says which cipher does it.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `dst` must not be written to, if the unit is no multiple of the cipher's block,
    /// or if the cipher needs another request than this one; or an error of the algorithm.
    #[inline]
    pub fn units<'c>(
        &mut self,
        direction: Direction,
        src: &Segment<'_>,
        dst: &Segment<'_>,
        unit: u32,
        mut next: impl FnMut(&mut Iv) -> &'c Cipher,
    ) -> Result {
        let same = src.as_ptr() == dst.as_ptr();
        let len = src.len().min(dst.len());
        if unit == 0 || !dst.is_writable() {
            return Err(EINVAL);
        }
        let mut from = Place::new(src.as_ptr());
        let mut to = Place::new(dst.as_ptr());
        // SAFETY: By the type invariant, the frame is ours, and it does not move.
        let frame = unsafe { self.frame.as_mut() };
        frame.request.cryptlen = unit;
        frame.request.src = &raw mut frame.src;
        frame.request.dst = match same {
            true => &raw mut frame.src,
            false => &raw mut frame.dst,
        };
        frame.src.length = unit;
        frame.dst.length = unit;
        let mut left = len;
        while left >= unit as usize {
            left = left.wrapping_sub(unit as usize);
            from.put(&mut frame.src, unit);
            if !same {
                to.put(&mut frame.dst, unit);
            }
            let cipher = next(&mut frame.iv);
            // SAFETY: Both entries are memory of at least `unit` bytes by the invariants of the
            // segments, that may race, as data of bios may with any cipher.
            unsafe { Self::start(frame, cipher, direction, self.context, self.waits) }?;
        }
        Ok(())
    }

    /// Has a cipher do the request, and waits for it.
    ///
    /// # Safety
    ///
    /// The request must have memory of `cryptlen` bytes in its lists. Context and `waits` must be
    /// those of a request.
    #[inline]
    unsafe fn start(
        frame: &mut Frame,
        cipher: &Cipher,
        direction: Direction,
        context: usize,
        waits: bool,
    ) -> Result {
        if cipher.context > context || (cipher.asynchronous && !waits) {
            return Err(EINVAL);
        }
        let request = &raw mut frame.request;
        // SAFETY: The transform is valid, and the request has all the memory that it needs. If the
        // transform is asynchronous, this waits until it has done the request.
        let result: c_int = unsafe {
            (*request).base.tfm = &raw mut (*cipher.tfm.as_ptr()).base;
            let result = match direction {
                Direction::Encrypt => bindings::crypto_skcipher_encrypt(request),
                Direction::Decrypt => bindings::crypto_skcipher_decrypt(request),
            };
            match cipher.asynchronous {
                true => bindings::crypto_wait_req(result, &raw mut frame.wait),
                false => result,
            }
        };
        match result {
            0 => Ok(()),
            error => Err(Error::from_errno(error)),
        }
    }

    /// Works on bytes where they are. The vector is left as the algorithm's mode goes on with it:
    /// what follows the bytes can be done with another call.
    ///
    /// # Errors
    ///
    /// `EINVAL` if `iv` is not of the cipher's size, if the bytes are no multiple of its block or
    /// have no page of their own (as those from `vmalloc`), or if the cipher needs another request
    /// than this one; or an error of the algorithm.
    pub fn in_place(
        &mut self,
        cipher: &Cipher,
        direction: Direction,
        bytes: &mut [u8],
        iv: &mut [u8],
    ) -> Result {
        let len = u32::try_from(bytes.len()).map_err(|_| EINVAL)?;
        let segment = Segment::of(bytes).ok_or(EINVAL)?;
        if iv.len() != cipher.iv_size {
            return Err(EINVAL);
        }
        self.units(direction, &segment, &segment, len, |place| {
            if let Some(place) = place.get_mut(..iv.len()) {
                place.copy_from_slice(iv);
            }
            cipher
        })?;
        // SAFETY: By the type invariant, the frame is ours.
        if let Some(after) = unsafe { self.frame.as_ref() }.iv.get(..iv.len()) {
            iv.copy_from_slice(after);
        }
        Ok(())
    }
}

/// A place in the direct map, and its page.
struct Place {
    page: *mut bindings::page,
    offset: usize,
}

impl Place {
    #[inline]
    fn new(ptr: *const u8) -> Self {
        Self {
            // SAFETY: Segments are in the direct map.
            page: unsafe { bindings::virt_to_page(ptr.cast()) },
            offset: ptr.addr() & (PAGE_SIZE - 1),
        }
    }

    /// Makes the place that of an entry, and goes on by `len` bytes.
    #[inline]
    fn put(&mut self, entry: &mut bindings::scatterlist, len: u32) {
        entry.page_link = self.page.expose_provenance() | SG_END;
        entry.offset = self.offset as c_uint;
        self.offset = self.offset.wrapping_add(len as usize);
        // The pages of a segment follow each other, and so do their structures.
        self.page = self.page.wrapping_add(self.offset / PAGE_SIZE);
        self.offset &= PAGE_SIZE - 1;
    }
}

/// The memory of a request to a cipher that is not [quick](Cipher::is_quick).
///
/// # Invariants
///
/// `memory` has a `Frame`, and `context` bytes behind `HEAD`.
pub struct Workspace {
    memory: Memory,
    context: usize,
}

impl Workspace {
    /// Allocates a workspace for a cipher and others of the same algorithm. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(cipher: &Cipher, _: MaySleep<'_>) -> Result<Self> {
        let bytes = HEAD.checked_add(cipher.context).ok_or(ENOMEM)?;
        // INVARIANT: There is enough of it.
        Ok(Self {
            memory: Memory::new(bytes.max(size_of::<Frame>()))?,
            context: cipher.context,
        })
    }

    /// Makes a request that may sleep.
    pub fn request<'a>(&'a mut self, _: MaySleep<'a>) -> Request<'a> {
        // SAFETY: By the type invariant; the token says that this context may sleep.
        unsafe { Request::new(self.memory.front(), self.context, true) }
    }
}
