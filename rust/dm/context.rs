// SPDX-License-Identifier: GPL-2.0

//! In which context code runs, as types.
//!
//! A function that may sleep takes a [`MaySleep`]. The crate hands one to the callbacks that run
//! in process context and hold no spinlock: constructors, work items, suspend and resume hooks.
//! Completion callbacks, which may run in softirq or hard-irq context, get none, and since the
//! token cannot be made outside of the crate nor sent to another context, they cannot name an
//! operation that sleeps.

use core::marker::PhantomData;

/// Proof that the current context may sleep.
///
/// It is a zero-sized token, bound to the callback it was given to by its lifetime.
#[derive(Clone, Copy)]
pub struct MaySleep<'a>(PhantomData<(&'a (), *mut ())>);

impl MaySleep<'_> {
    /// Asserts that the current context may sleep.
    ///
    /// Only callbacks of the crate make tokens: in process context, without a spinlock held,
    /// outside of RCU read-side sections, and not in `map`, where sleeping could deadlock.
    pub(crate) fn assert() -> Self {
        kernel::task::might_sleep();
        Self(PhantomData)
    }
}
