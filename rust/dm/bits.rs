// SPDX-License-Identifier: GPL-2.0

//! A set of bits that many CPUs change at once.

use crate::alloc;
use core::sync::atomic::{
    AtomicU64,
    Ordering, //
};
use kernel::prelude::*;

/// The bits of a word.
const BITS: u32 = u64::BITS;

/// Bits that are set and tested without a lock. All of them are clear at first.
pub struct AtomicBits {
    words: KVVec<Word>,
}

/// A word of bits.
#[repr(transparent)]
struct Word(AtomicU64);

// SAFETY: An atomic of 64 zero bits is a valid value.
unsafe impl Zeroable for Word {}

impl AtomicBits {
    /// Allocates `len` bits. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(len: u32) -> Result<Self> {
        Ok(Self {
            words: alloc::zeroed(len.div_ceil(BITS) as usize, GFP_KERNEL)?,
        })
    }

    /// Returns whether the bit is set; a bit that there is not is clear. Any context.
    #[inline]
    pub fn get(&self, bit: u64) -> bool {
        match self.word(bit) {
            Some(word) => word.load(Ordering::Acquire) & Self::mask(bit) != 0,
            None => false,
        }
    }

    /// Sets the bit, if there is one. Any context.
    #[inline]
    pub fn set(&self, bit: u64) {
        if let Some(word) = self.word(bit) {
            word.fetch_or(Self::mask(bit), Ordering::Release);
        }
    }

    /// Clears the bit, if there is one. Any context.
    #[inline]
    pub fn clear(&self, bit: u64) {
        if let Some(word) = self.word(bit) {
            word.fetch_and(!Self::mask(bit), Ordering::Release);
        }
    }

    /// Sets one of the first `len` bits that was clear, and returns which; [`None`] if there was
    /// none. Any context.
    #[inline]
    pub fn claim(&self, len: u32) -> Option<u64> {
        for (base, word) in (0..u64::from(len)).step_by(BITS as usize).zip(&self.words) {
            let mut free = !word.0.load(Ordering::Relaxed);
            while free != 0 {
                let bit = base.wrapping_add(free.trailing_zeros().into());
                if bit >= len.into() {
                    break;
                }
                let before = word.0.fetch_or(Self::mask(bit), Ordering::Acquire);
                if before & Self::mask(bit) == 0 {
                    return Some(bit);
                }
                free = !before;
            }
        }
        None
    }

    #[inline]
    fn word(&self, bit: u64) -> Option<&AtomicU64> {
        let word = usize::try_from(bit >> BITS.trailing_zeros()).ok()?;
        Some(&self.words.get(word)?.0)
    }

    #[inline]
    fn mask(bit: u64) -> u64 {
        // The shift is by what `bit` is modulo the bits of a word.
        1_u64.wrapping_shl(bit as u32)
    }
}
