// SPDX-License-Identifier: GPL-2.0

//! Allocations, all of which can be made to fail in test builds.
//!
//! All memory of the crate and of the targets comes from here or from an abstraction that calls
//! [`point`] before it allocates. In a build with `--cfg rdm_fail`, `rdm.ko` has the parameters
//! `fail_after` and `fail_points`: the test writes `n` to the first, and the `n`-th allocation
//! from then on fails, once; the second counts. Walking `n` up from 1 until nothing fails visits
//! every error path. In other builds [`point`] is nothing.

use crate::bindings;
use kernel::{
    alloc::Flags,
    prelude::*, //
};

#[cfg(rdm_fail)]
mod fail {
    use crate::params::UintParam;

    crate::module_param! {
        /// Which allocation fails, counted from the time of writing; 0 for none.
        pub(super) static fail_after: UintParam = UintParam::new(0), 0o644;
    }

    crate::module_param! {
        /// The number of allocations since the module was loaded or this was written.
        pub(super) static fail_points: UintParam = UintParam::new(0), 0o644;
    }
}

/// Runs `f`, in which allocations start no I/O to get memory: for those that I/O waits for.
pub fn without_io<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: The helper has no requirements.
    let flags = unsafe { bindings::rdm_memalloc_noio_save() };
    let result = f();
    // SAFETY: The flags are those of this task, from above.
    unsafe { bindings::rdm_memalloc_noio_restore(flags) };
    result
}

/// A place where an allocation may fail. Any context.
///
/// # Errors
///
/// `ENOMEM` if a test has asked for it.
#[inline]
pub fn point() -> Result {
    #[cfg(rdm_fail)]
    {
        fail::fail_points.add(1);
        if fail::fail_after.take_one() == Some(1) {
            return Err(ENOMEM);
        }
    }
    Ok(())
}

/// Allocates a value. The context is that of `flags`.
///
/// # Errors
///
/// `ENOMEM`.
#[inline]
pub fn boxed<T>(value: T, flags: Flags) -> Result<KBox<T>> {
    point()?;
    Ok(KBox::new(value, flags)?)
}

/// Allocates and initialises a pinned value. The context is that of `flags`.
///
/// # Errors
///
/// `ENOMEM`, or the error of the initialiser.
#[inline]
pub fn pin_boxed<T, E>(init: impl PinInit<T, E>, flags: Flags) -> Result<Pin<KBox<T>>>
where
    Error: From<E>,
{
    point()?;
    KBox::pin_init(init, flags)
}

/// Allocates a copy of `bytes`. The context is that of `flags`.
///
/// # Errors
///
/// `ENOMEM`.
pub fn bytes(bytes: &[u8], flags: Flags) -> Result<KVec<u8>> {
    point()?;
    let mut copy = KVec::with_capacity(bytes.len(), flags)?;
    copy.extend_from_slice(bytes, flags)?;
    Ok(copy)
}

/// Allocates `len` zeroed elements, with pages of their own if there are many. The context is
/// that of `flags`.
///
/// # Errors
///
/// `ENOMEM`.
pub fn zeroed<T: Zeroable>(len: usize, flags: Flags) -> Result<KVVec<T>> {
    point()?;
    Ok(KVVec::zeroed(len, flags)?)
}

/// Allocates `len` copies of `value`, with pages of their own if there are many. The context is
/// that of `flags`.
///
/// # Errors
///
/// `ENOMEM`.
pub fn filled<T: Copy>(value: T, len: usize, flags: Flags) -> Result<KVVec<T>> {
    point()?;
    Ok(KVVec::from_elem(value, len, flags)?)
}

/// Allocates room for `len` elements. The context is that of `flags`.
///
/// # Errors
///
/// `ENOMEM`.
pub fn with_capacity<T>(len: usize, flags: Flags) -> Result<KVec<T>> {
    point()?;
    Ok(KVec::with_capacity(len, flags)?)
}
