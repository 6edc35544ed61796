// SPDX-License-Identifier: GPL-2.0

//! SHA-256 by the kernel's library: no transform to allocate, no call through pointers.
//!
//! C header: [`include/crypto/sha2.h`](srctree/include/crypto/sha2.h)

use super::Data;
use crate::bindings;
use core::mem::MaybeUninit;
use kernel::prelude::*;

/// The bytes of a digest.
pub const DIGEST_SIZE: usize = 32;

/// A hash in progress.
///
/// # Invariants
///
/// `ctx` was initialised by the library.
pub struct State {
    ctx: bindings::sha256_ctx,
}

impl Clone for State {
    #[inline]
    fn clone(&self) -> Self {
        // SAFETY: The context is plain data without pointers.
        let ctx = unsafe { core::ptr::read(&self.ctx) };
        // INVARIANT: `self.ctx` was initialised, so its copy is.
        Self { ctx }
    }
}

impl State {
    /// Starts a hash. Any context.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let mut ctx = MaybeUninit::uninit();
        // SAFETY: `ctx` is valid for writes, and the call initialises all of it.
        let ctx = unsafe {
            bindings::sha256_init(ctx.as_mut_ptr());
            ctx.assume_init()
        };
        // INVARIANT: `ctx` was initialised above.
        Self { ctx }
    }

    /// Adds bytes. Any context.
    #[inline]
    pub fn update(&mut self, data: Data<'_>) {
        // SAFETY: By the type invariants, `ctx` is valid and `data` can be read.
        unsafe { bindings::sha256_update(&mut self.ctx, data.as_ptr(), data.len()) }
    }

    /// Writes the digest of what was added so far and `data` to `out`. Any context.
    #[inline]
    pub fn digest(&self, data: Data<'_>, out: &mut [u8; DIGEST_SIZE]) {
        let mut state = self.clone();
        state.update(data);
        // SAFETY: By the type invariant, `ctx` is valid; `out` takes 32 bytes.
        unsafe { bindings::sha256_final(&mut state.ctx, out.as_mut_ptr()) };
    }

    /// Writes two digests at once: of what was added so far and each of `data`, which must have
    /// one length. Any context.
    ///
    /// The CPU interleaves the two where it has SHA instructions, for little more than the time
    /// of one.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the lengths differ.
    #[inline]
    pub fn digest_2x(&self, data: [Data<'_>; 2], out: [&mut [u8; DIGEST_SIZE]; 2]) -> Result {
        let [a, b] = data;
        let [first, second] = out;
        if a.len() != b.len() {
            return Err(EINVAL);
        }
        // SAFETY: By the type invariants, `ctx` is valid and `a` and `b` can be read for the
        // same length; the digests take 32 bytes each.
        unsafe {
            bindings::sha256_finup_2x(
                &self.ctx,
                a.as_ptr(),
                b.as_ptr(),
                a.len(),
                first.as_mut_ptr(),
                second.as_mut_ptr(),
            )
        };
        Ok(())
    }
}

/// Returns whether [`State::digest_2x`] is faster than two digests on this CPU. Any context.
pub fn is_2x_optimized() -> bool {
    // SAFETY: The function has no requirements.
    unsafe { bindings::sha256_finup_2x_is_optimized() }
}
