// SPDX-License-Identifier: GPL-2.0

//! Memory for requests of the crypto API that live longer than a function.

use crate::alloc;
use core::ptr::NonNull;
use kernel::prelude::*;

/// The alignment of the memory, in bytes.
pub(super) const ALIGNMENT: usize = 64;

/// Aligned memory.
///
/// # Invariants
///
/// There is at least one line.
pub(super) struct Memory(KVec<Line>);

/// A unit of memory, aligned.
#[repr(C, align(64))]
struct Line([u8; ALIGNMENT]);

impl Memory {
    /// Allocates at least `bytes`, zeroed. May sleep.
    pub(super) fn new(bytes: usize) -> Result<Self> {
        alloc::point()?;
        let lines = bytes.div_ceil(ALIGNMENT).max(1);
        let mut memory = KVec::with_capacity(lines, GFP_KERNEL)?;
        for _ in 0..lines {
            memory.push(Line([0; ALIGNMENT]), GFP_KERNEL)?;
        }
        // INVARIANT: At least one.
        Ok(Self(memory))
    }

    /// Returns the front, which is aligned to [`ALIGNMENT`].
    pub(super) fn front<T>(&mut self) -> NonNull<T> {
        NonNull::from(self.0.as_mut_slice()).cast()
    }
}
