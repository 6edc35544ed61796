// SPDX-License-Identifier: GPL-2.0

//! Bytes on the stack, of which only those that are used cost anything.

use core::{
    mem::MaybeUninit,
    ops::Range, //
};

/// How many bytes are set at once.
const STEP: usize = 64;

/// Up to `N` bytes, zeros at first. Those that were not asked for yet are not even set.
///
/// # Invariants
///
/// The first `set` of the bytes are initialised; `set` is at most `N`.
pub struct Bytes<const N: usize> {
    bytes: [MaybeUninit<u8>; N],
    set: usize,
}

impl<const N: usize> Bytes<N> {
    /// Returns zeros. Any context.
    #[inline]
    pub const fn new() -> Self {
        // INVARIANT: None is said to be initialised.
        Self {
            bytes: [const { MaybeUninit::uninit() }; N],
            set: 0,
        }
    }

    /// Returns a range of the bytes, or `None` if it ends behind the last one. Any context.
    #[inline]
    pub fn get_mut(&mut self, range: Range<usize>) -> Option<&mut [u8]> {
        if range.end > self.set {
            self.set_up_to(range.end);
        }
        let bytes = self.bytes.get_mut(range)?;
        // SAFETY: By the type invariant, since `set` is not less than the end of the range: if
        // it was, it was increased, unless there are not that many bytes, and so no such range.
        Some(unsafe { &mut *(core::ptr::from_mut(bytes) as *mut [u8]) })
    }

    /// Initialises what is missing up to `end`, and some more, so that it is not called for each
    /// few bytes.
    fn set_up_to(&mut self, end: usize) {
        let end = end.checked_next_multiple_of(STEP).unwrap_or(N).min(N);
        if let Some(new) = self.bytes.get_mut(self.set..end) {
            new.fill(MaybeUninit::new(0));
            // INVARIANT: The bytes up to there were initialised just now or before.
            self.set = end;
        }
    }

    /// Returns the first `len` bytes, as far as they were asked for. Any context.
    #[inline]
    pub fn first(&self, len: usize) -> &[u8] {
        let bytes = self.bytes.get(..len.min(self.set)).unwrap_or_default();
        // SAFETY: By the type invariant, the first `set` bytes are initialised.
        unsafe { &*(core::ptr::from_ref(bytes) as *const [u8]) }
    }
}

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Self::new()
    }
}
