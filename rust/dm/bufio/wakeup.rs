// SPDX-License-Identifier: GPL-2.0

//! Who has to be woken up, and when.
//!
//! Whoever waits, in the kernel's table of queues, first says so and then looks; whoever has
//! something to tell first tells and then looks who waits. So one of them sees the other. Both need
//! a full barrier between the two steps.
//!
//! The file uses nothing but `core`: the host tests model-check it, with queues that do what the
//! kernel's do. To sleep and to wake up is the caller's: `wait` does it in the kernel.

use super::atomic::{
    fence,
    AtomicUsize,
    Ordering, //
};

/// Calls a function that wakes those up who wait for a bit, which was just cleared.
#[inline]
pub(crate) fn cleared(wake: impl FnOnce()) {
    // The queue is looked at without its lock.
    fence(Ordering::SeqCst);
    wake();
}

/// The bit of a [`Wish`] that is set while somebody wants a buffer.
pub(crate) const WISH_BIT: u32 = 0;

const WISH: usize = 1 << WISH_BIT;

/// Whether somebody wants a buffer that others have. Buffers of all clients count, since they
/// share the memory.
pub(crate) struct Wish(pub(crate) AtomicUsize);

impl Wish {
    /// Announces that the caller wants a buffer. To be called before looking for one, and again
    /// before looking for one again.
    ///
    /// The caller waits on the bit if there is none, and calls [`released`](Self::released) if
    /// there is: the announcement may have kept somebody asleep who waited on the same bit.
    pub(crate) fn announce(&self) {
        self.0.fetch_or(WISH, Ordering::SeqCst);
        // Whoever released something before has either seen that, or is seen by what follows.
        fence(Ordering::SeqCst);
    }

    /// Is called with a buffer released, by an operation that is `SeqCst` or under the lock that
    /// waiters look under. Calls `wake` to wake those up who wait on the bit, if anybody does.
    #[inline]
    pub(crate) fn released(&self, wake: impl FnOnce()) {
        if self.0.load(Ordering::SeqCst) != 0 {
            self.grant(wake);
        }
    }

    #[cold]
    fn grant(&self, wake: impl FnOnce()) {
        self.0.fetch_and(!WISH, Ordering::SeqCst);
        cleared(wake);
    }
}

/// The bit of the word of a [`Flight`] that is set until it has landed.
pub(crate) const FLYING_BIT: u32 = 0;

/// Bios that one thread sends, and waits for together.
pub(crate) struct Flight {
    /// The number of bios, and 1 while they are being submitted.
    bios: AtomicUsize,
    /// The bit [`FLYING_BIT`] is set until the number is 0.
    flying: AtomicUsize,
}

impl Flight {
    /// Makes a flight of no bios.
    pub(crate) fn new() -> Self {
        Self {
            bios: AtomicUsize::new(0),
            flying: AtomicUsize::new(0),
        }
    }

    /// Begins to submit.
    pub(crate) fn begin(&self) {
        self.bios.store(1, Ordering::Relaxed);
        self.flying.store(1 << FLYING_BIT, Ordering::Relaxed);
    }

    /// Counts a bio that is about to be submitted.
    pub(crate) fn add(&self) {
        self.bios.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a bio that has ended, or the end of submitting. Any context. With the last one, the
    /// flight may be gone before `wake` is called, with the address of its word.
    pub(crate) fn done(&self, wake: impl FnOnce(*const AtomicUsize)) {
        let flying = &raw const self.flying;
        if self.bios.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.flying.store(0, Ordering::Release);
            cleared(|| wake(flying));
        }
    }

    /// The word to wait on.
    pub(crate) fn word(&self) -> &AtomicUsize {
        &self.flying
    }
}
