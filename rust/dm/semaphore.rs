// SPDX-License-Identifier: GPL-2.0

//! Semaphores, and things of which there is a number.
//!
//! A mutex is released by who took it. What is given to a device comes back in an interrupt: that
//! is what semaphores can do.
//!
//! C header: [`include/linux/semaphore.h`](srctree/include/linux/semaphore.h)

use crate::{
    bindings,
    bits::AtomicBits,
    context::MaySleep, //
};
use kernel::{
    prelude::*,
    types::Opaque, //
};

/// A count that can be waited for.
///
/// # Invariants
///
/// The semaphore was initialised, and is pinned.
#[pin_data]
struct Semaphore {
    #[pin]
    inner: Opaque<bindings::semaphore>,
}

// SAFETY: Semaphores may be used by any thread.
unsafe impl Send for Semaphore {}
// SAFETY: Semaphores synchronise their users.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    fn new(count: u32) -> impl PinInit<Self> {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        pin_init!(Self {
            // INVARIANT: That is done here.
            inner <- Opaque::ffi_init(move |slot| {
                // SAFETY: The slot is for a semaphore.
                unsafe { bindings::sema_init(slot, count) }
            }),
        })
    }

    fn down(&self, _: MaySleep<'_>) {
        // SAFETY: By the type invariant; the token says that this may sleep.
        unsafe { bindings::down(self.inner.get()) }
    }

    fn try_down(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::down_trylock(self.inner.get()) == 0 }
    }

    fn up(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::up(self.inner.get()) }
    }
}

/// A number of places, each of which one user has at a time.
#[pin_data]
pub struct Places {
    #[pin]
    free: Semaphore,
    taken: AtomicBits,
    len: u32,
}

impl Places {
    /// Makes places that are all free. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(len: u32) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            free <- Semaphore::new(len),
            taken: AtomicBits::new(len)?,
            len,
        })
    }

    /// Returns how many places there are. Any context.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether there are none at all. Any context.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes a place; waits for one if all are taken. Of two users none gets the place of the
    /// other.
    pub fn take(&self, token: MaySleep<'_>) -> usize {
        self.free.down(token);
        self.claim()
    }

    /// Takes a place, if there is one now. Any context but hard interrupts.
    pub fn try_take(&self) -> Option<usize> {
        self.free.try_down().then(|| self.claim())
    }

    /// Returns a place that is free, which the semaphore says there is.
    fn claim(&self) -> usize {
        loop {
            // It may be freed and another be taken just behind the search.
            if let Some(place) = self.taken.claim(self.len) {
                return place as usize;
            }
            core::hint::spin_loop();
        }
    }

    /// Gives a place back. Callers must have it. Any context.
    pub fn put(&self, place: usize) {
        self.taken.clear(place as u64);
        self.free.up();
    }
}
