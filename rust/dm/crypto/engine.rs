// SPDX-License-Identifier: GPL-2.0

//! Asynchronous ciphers of our own, for tests.
//!
//! Debian's kernels have no asynchronous cipher that runs without hardware. A [`Registration`] adds
//! one to the crypto API. Its requests are offered to an [`Engine`], which has a queue, and has a
//! synchronous cipher of the kernel do the work when their turn has come: so the results are real.
//!
//! C header: [`include/crypto/internal/skcipher.h`](srctree/include/crypto/internal/skcipher.h)

use crate::{
    alloc,
    bindings, //
};
use core::{
    mem::{
        self,
        offset_of, //
    },
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::{
        c_char,
        c_int,
        c_uint, //
    },
    module::this_module,
    prelude::*,
    sync::Arc, //
};

/// What does the requests of an algorithm.
#[vtable]
pub trait Engine: Send + Sync + 'static {
    /// Takes a request, or does not. Any context but hard interrupts.
    fn offer(&self, offer: Offer) -> Answer;
}

/// How an algorithm is known.
pub struct Algorithm {
    /// What it does, such as `xts(aes)`. A synchronous cipher of this name does the work.
    pub name: &'static CStr,
    /// Its own name.
    pub driver_name: &'static CStr,
    /// Of ciphers with the same name that of the highest priority is used by default.
    pub priority: i32,
    /// The bytes of the shortest and of the longest key.
    pub key_sizes: (u32, u32),
    /// The bytes of a block, and of a vector.
    pub block_size: u32,
}

/// An algorithm that the crypto API has, until it is dropped.
///
/// # Invariants
///
/// The algorithm is registered; it was made from a box, which `self` owns.
pub struct Registration<E: Engine>(NonNull<Registered<E>>);

#[repr(C)]
struct Registered<E> {
    alg: bindings::skcipher_alg,
    name: &'static CStr,
    engine: Arc<E>,
}

// SAFETY: Algorithms may be unregistered by any thread.
unsafe impl<E: Engine> Send for Registration<E> {}
// SAFETY: There is nothing to do with a reference.
unsafe impl<E: Engine> Sync for Registration<E> {}

impl<E: Engine> Registration<E> {
    /// Registers an algorithm, whose requests `engine` does. The crypto API tests it first. May
    /// sleep.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is one of the same driver's name; `ENOMEM`, or an error of the crypto API.
    pub fn new(algorithm: &Algorithm, engine: Arc<E>) -> Result<Self> {
        // SAFETY: All fields are integers, pointers, and options of function pointers.
        let mut alg: bindings::skcipher_alg = unsafe { mem::zeroed() };
        alg.setkey = Some(Self::set_key);
        alg.encrypt = Some(Self::encrypt);
        alg.decrypt = Some(Self::decrypt);
        alg.init = Some(Self::init);
        alg.exit = Some(Self::exit);
        // SAFETY: The field of the union is all integers and pointers.
        let common = unsafe { alg.__bindgen_anon_1.co.as_mut() };
        (common.min_keysize, common.max_keysize) = algorithm.key_sizes;
        common.ivsize = algorithm.block_size;
        let base = &mut common.base;
        base.cra_flags = bindings::RDM_CRYPTO_ALG_ASYNC;
        base.cra_blocksize = algorithm.block_size;
        base.cra_ctxsize = size_of::<*mut bindings::crypto_skcipher>() as c_uint;
        base.cra_priority = algorithm.priority;
        base.cra_module = this_module::<E::OwnerModule>().as_ptr();
        write_name(&mut base.cra_name, algorithm.name);
        write_name(&mut base.cra_driver_name, algorithm.driver_name);
        let registered = Registered {
            alg,
            name: algorithm.name,
            engine,
        };
        let registered = KBox::into_raw(alloc::boxed(registered, GFP_KERNEL)?);
        // SAFETY: The algorithm stays where it is until it is unregistered.
        let result = to_result(unsafe {
            bindings::crypto_register_skcipher(&raw mut (*registered).alg) //
        });
        match (result, NonNull::new(registered)) {
            // INVARIANT: Both as required.
            (Ok(()), Some(registered)) => Ok(Self(registered)),
            (result, _) => {
                // SAFETY: It came from a box just now, and nobody else knows it.
                drop(unsafe { KBox::from_raw(registered) });
                Err(result.err().unwrap_or(ENOMEM))
            }
        }
    }

    /// # Safety
    ///
    /// `tfm` must be a transform of such an algorithm, valid for `'a`.
    unsafe fn of<'a>(tfm: *mut bindings::crypto_skcipher) -> &'a Registered<E> {
        // SAFETY: The algorithm of the transform is the first field, and lives longer than it.
        unsafe { &*bindings::crypto_skcipher_alg(tfm).cast::<Registered<E>>() }
    }

    /// # Safety
    ///
    /// `tfm` must be a new transform of such an algorithm.
    unsafe extern "C" fn init(tfm: *mut bindings::crypto_skcipher) -> c_int {
        // SAFETY: By the requirements of this function. A transform that must not be asynchronous
        // cannot be one of ours.
        let worker = from_err_ptr(unsafe {
            bindings::crypto_alloc_skcipher(
                Self::of(tfm).name.as_char_ptr(),
                0,
                bindings::RDM_CRYPTO_ALG_ASYNC,
            )
        });
        let worker = match worker {
            Ok(worker) => worker,
            Err(error) => return error.to_errno(),
        };
        // SAFETY: The context has room for a pointer. The worker is valid.
        unsafe {
            *worker_of(tfm) = worker;
            let size = bindings::crypto_skcipher_reqsize(worker).saturating_add(HEAD as c_uint);
            bindings::crypto_skcipher_set_reqsize(tfm, size);
        }
        0
    }

    /// # Safety
    ///
    /// `tfm` must be a transform that was initialised, and is used no more.
    unsafe extern "C" fn exit(tfm: *mut bindings::crypto_skcipher) {
        // SAFETY: By the requirements of this function.
        unsafe { bindings::crypto_free_skcipher(*worker_of(tfm)) }
    }

    /// # Safety
    ///
    /// `tfm` must be a transform that was initialised, `key` have `len` bytes.
    unsafe extern "C" fn set_key(
        tfm: *mut bindings::crypto_skcipher,
        key: *const u8,
        len: c_uint,
    ) -> c_int {
        // SAFETY: By the requirements of this function.
        unsafe {
            let worker = *worker_of(tfm);
            bindings::rdm_skcipher_copy_flags(worker, tfm);
            bindings::crypto_skcipher_setkey(worker, key, len)
        }
    }

    /// # Safety
    ///
    /// `request` must be one of a transform that was initialised.
    unsafe extern "C" fn encrypt(request: *mut bindings::skcipher_request) -> c_int {
        // SAFETY: By the requirements of this function.
        unsafe { Self::offer(request, false) }
    }

    /// # Safety
    ///
    /// As [`Self::encrypt`].
    unsafe extern "C" fn decrypt(request: *mut bindings::skcipher_request) -> c_int {
        // SAFETY: By the requirements of this function.
        unsafe { Self::offer(request, true) }
    }

    /// # Safety
    ///
    /// As [`Self::encrypt`].
    unsafe fn offer(request: *mut bindings::skcipher_request, decrypt: bool) -> c_int {
        // SAFETY: By the requirements of this function. The request has the size that `init` asked
        // for, so there is room for the context.
        let registered = unsafe {
            let context = bindings::skcipher_request_ctx(request).cast::<Context>();
            (&raw mut (*context).next).write(ptr::null_mut());
            (&raw mut (*context).decrypt).write(decrypt);
            Self::of(bindings::crypto_skcipher_reqtfm(request))
        };
        // INVARIANT: Nobody has answered yet.
        registered.engine.offer(Offer(request)).0
    }
}

impl<E: Engine> Drop for Registration<E> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. No transform is left: each holds the module.
        unsafe {
            bindings::crypto_unregister_skcipher(&raw mut (*self.0.as_ptr()).alg);
            drop(KBox::from_raw(self.0.as_ptr()));
        }
    }
}

fn write_name(to: &mut [c_char], name: &CStr) {
    // The last byte stays 0.
    let room = to.len().saturating_sub(1);
    for (to, from) in to.iter_mut().take(room).zip(name.to_bytes()) {
        *to = *from as c_char;
    }
}

/// Returns where a transform has its worker.
///
/// # Safety
///
/// `tfm` must be a transform of one of our algorithms.
unsafe fn worker_of(tfm: *mut bindings::crypto_skcipher) -> *mut *mut bindings::crypto_skcipher {
    // SAFETY: By the requirements of this function; that is what the context is.
    unsafe { bindings::crypto_skcipher_ctx(tfm).cast() }
}

/// What a request has for us. The memory of the worker's algorithm follows.
#[repr(C)]
struct Context {
    next: *mut bindings::skcipher_request,
    decrypt: bool,
    work: bindings::skcipher_request,
}

/// What precedes the memory of the worker's algorithm.
const HEAD: usize = offset_of!(Context, work) + size_of::<bindings::skcipher_request>();

/// What a sender is told at once.
#[must_use]
pub struct Answer(c_int);

/// A request that waits for an answer.
///
/// # Invariants
///
/// The request is valid, and its sender has no answer yet.
#[must_use]
pub struct Offer(*mut bindings::skcipher_request);

impl Offer {
    /// Returns the bytes of the data.
    pub fn bytes(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { (*self.0).cryptlen }
    }

    /// Takes the request.
    pub fn accept(self) -> (Pending, Answer) {
        let answer = (bindings::EINPROGRESS as c_int).wrapping_neg();
        // INVARIANT: The answer says so.
        (Pending(self.0), Answer(answer))
    }

    /// Takes the request although there is no room for it now, and tells the sender to send no
    /// more. Gives it back if the sender wants to be refused rather than to wait.
    ///
    /// Once there is room, [`Pending::enter`] must be called.
    ///
    /// # Errors
    ///
    /// The request.
    pub fn delay(self) -> Result<(Pending, Answer), Self> {
        // SAFETY: By the type invariant.
        let flags = unsafe { (*self.0).base.flags };
        if flags & bindings::RDM_CRYPTO_TFM_REQ_MAY_BACKLOG == 0 {
            return Err(self);
        }
        let answer = (bindings::EBUSY as c_int).wrapping_neg();
        // INVARIANT: The answer says so.
        Ok((Pending(self.0), Answer(answer)))
    }

    /// Does not take the request.
    pub fn refuse(self, error: Error) -> Answer {
        Answer(error.to_errno())
    }
}

/// A request that was taken.
///
/// One that is dropped fails.
///
/// # Invariants
///
/// The request is valid, and its sender waits for its end.
#[must_use]
pub struct Pending(*mut bindings::skcipher_request);

// SAFETY: Requests may be done by any thread.
unsafe impl Send for Pending {}

impl Pending {
    /// Returns the bytes of the data.
    pub fn bytes(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { (*self.0).cryptlen }
    }

    /// Tells the sender that a request which was delayed is delayed no longer. Softirq.
    pub fn enter(&self) {
        let error = (bindings::EINPROGRESS as c_int).wrapping_neg();
        // SAFETY: By the type invariant.
        unsafe { bindings::rdm_skcipher_request_complete(self.0, error) }
    }

    /// Does the work. Any context but hard interrupts.
    ///
    /// # Errors
    ///
    /// Those of the cipher.
    pub fn work(&mut self) -> Result {
        // SAFETY: By the type invariant; the context has room for a request to the worker.
        to_result(unsafe {
            let context = self.context();
            let worker = *worker_of(bindings::crypto_skcipher_reqtfm(self.0));
            let work = &raw mut (*context).work;
            work.write_bytes(0, 1);
            (*work).base.tfm = &raw mut (*worker).base;
            (*work).cryptlen = (*self.0).cryptlen;
            (*work).iv = (*self.0).iv;
            (*work).src = (*self.0).src;
            (*work).dst = (*self.0).dst;
            match (*context).decrypt {
                true => bindings::crypto_skcipher_decrypt(work),
                false => bindings::crypto_skcipher_encrypt(work),
            }
        })
    }

    /// Tells the sender how the request ended. Softirq.
    pub fn complete(self, result: Result) {
        let error = result.err().map_or(0, |error| error.to_errno());
        let request = self.into_raw();
        // SAFETY: The request was ours.
        unsafe { bindings::rdm_skcipher_request_complete(request, error) }
    }

    fn into_raw(self) -> *mut bindings::skcipher_request {
        let request = self.0;
        mem::forget(self);
        request
    }

    fn context(&self) -> *mut Context {
        // SAFETY: By the type invariant; offers have written the context.
        unsafe { bindings::skcipher_request_ctx(self.0).cast() }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // INVARIANT: `self` is used no more.
        Self(self.0).complete(Err(EIO));
    }
}

/// Requests that wait, first in, first out. Nothing of it allocates.
///
/// # Invariants
///
/// `first` to `last` are a list of requests that were taken, linked by their contexts, and are
/// nobody else's; both are null if there is none.
pub struct Line {
    first: *mut bindings::skcipher_request,
    last: *mut bindings::skcipher_request,
    len: u32,
}

// SAFETY: Requests may be done by any thread.
unsafe impl Send for Line {}

impl Line {
    /// Makes an empty line.
    pub const fn new() -> Self {
        // INVARIANT: There is none.
        Self {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            len: 0,
        }
    }

    /// Returns how many there are.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes of the first one's data.
    pub fn first_bytes(&self) -> Option<u32> {
        // SAFETY: By the type invariant.
        (!self.first.is_null()).then(|| unsafe { (*self.first).cryptlen })
    }

    /// Adds a request at the end.
    pub fn push(&mut self, request: Pending) {
        // SAFETY: By the type invariants; the contexts are there.
        unsafe {
            (*request.context()).next = ptr::null_mut();
            match self.last.is_null() {
                true => self.first = request.0,
                false => {
                    let last = bindings::skcipher_request_ctx(self.last).cast::<Context>();
                    (*last).next = request.0;
                }
            }
        }
        // INVARIANT: Linked above.
        self.last = request.into_raw();
        self.len = self.len.saturating_add(1);
    }

    /// Takes the first one.
    pub fn pop(&mut self) -> Option<Pending> {
        if self.first.is_null() {
            return None;
        }
        // INVARIANT: It was taken, and is in the line no more.
        let request = Pending(self.first);
        // SAFETY: By the type invariant.
        self.first = unsafe { (*request.context()).next };
        if self.first.is_null() {
            self.last = ptr::null_mut();
        }
        self.len = self.len.saturating_sub(1);
        Some(request)
    }
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        while let Some(request) = self.pop() {
            drop(request);
        }
    }
}
