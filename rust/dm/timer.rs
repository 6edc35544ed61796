// SPDX-License-Identifier: GPL-2.0

//! Timers of nanoseconds.
//!
//! Those of the `kernel` crate are started by a value whose end stops them, which does not go with
//! a timer that its own callback and others start in turns.
//!
//! C header: [`include/linux/hrtimer.h`](srctree/include/linux/hrtimer.h)

use crate::{
    alloc,
    bindings, //
};
use core::ops::Deref;
use kernel::{
    prelude::*,
    types::Opaque, //
};

/// What happens when a timer expires.
pub trait Expire: Send + Sync {
    /// Is called in softirq, and returns after how many nanoseconds it wants to be called again.
    fn expired(&self) -> Option<u64>;
}

/// A timer and the value that it calls.
pub struct Timer<T: Expire>(Pin<KBox<Inner<T>>>);

/// # Invariants
///
/// `timer` was set up with [`expired`] and is pinned.
#[pin_data]
#[repr(C)]
struct Inner<T> {
    #[pin]
    timer: Opaque<bindings::hrtimer>,
    value: T,
}

// SAFETY: Timers may be used by any thread.
unsafe impl<T: Send> Send for Inner<T> {}
// SAFETY: Timers synchronise their users.
unsafe impl<T: Sync> Sync for Inner<T> {}

impl<T: Expire> Timer<T> {
    /// Makes a timer that is stopped. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or the error of the initialiser.
    pub fn new(value: T) -> Result<Self> {
        let inner = pin_init!(Inner {
            // INVARIANT: That is done here.
            timer <- Opaque::ffi_init(|slot| {
                // SAFETY: The slot is for a timer.
                unsafe {
                    bindings::hrtimer_setup(
                        slot,
                        Some(expired::<T>),
                        bindings::CLOCK_MONOTONIC as bindings::clockid_t,
                        bindings::hrtimer_mode_HRTIMER_MODE_REL_SOFT,
                    )
                }
            }),
            value,
        });
        Ok(Self(alloc::pin_boxed(inner, GFP_KERNEL)?))
    }

    /// Has the value called after so many nanoseconds, once. A timer that runs starts anew. Any
    /// context.
    pub fn start(&self, nanoseconds: u64) {
        // SAFETY: By the type invariant; it is stopped before it is freed.
        unsafe { start(self.0.timer.get(), nanoseconds) }
    }
}

impl<T: Expire> Deref for Timer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: Expire> Drop for Timer<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant. This waits for the callback.
        unsafe { bindings::hrtimer_cancel(self.0.timer.get()) };
    }
}

/// # Safety
///
/// `timer` must have been set up.
unsafe fn start(timer: *mut bindings::hrtimer, nanoseconds: u64) {
    let time = bindings::ktime_t::try_from(nanoseconds).unwrap_or(bindings::ktime_t::MAX);
    // SAFETY: By the requirements of this function.
    unsafe {
        bindings::hrtimer_start_range_ns(
            timer,
            time,
            0,
            bindings::hrtimer_mode_HRTIMER_MODE_REL_SOFT,
        )
    }
}

/// # Safety
///
/// `timer` must be that of a [`Timer`].
unsafe extern "C" fn expired<T: Expire>(
    timer: *mut bindings::hrtimer,
) -> bindings::hrtimer_restart {
    // SAFETY: The timer is the first field, and its owner waits for this function.
    let inner = unsafe { &*timer.cast::<Inner<T>>() };
    if let Some(nanoseconds) = inner.value.expired() {
        // SAFETY: By the type invariant.
        unsafe { start(timer, nanoseconds) };
    }
    bindings::hrtimer_restart::HRTIMER_NORESTART
}
