// SPDX-License-Identifier: GPL-2.0

//! In which context code runs, as types.
//!
//! A function that may sleep takes a [`MaySleep`]. The crate hands one to the callbacks that run
//! in process context and hold no spinlock: constructors, work items, suspend and resume hooks.
//! Completion callbacks, which may run in softirq or hard-irq context, get none, and since the
//! token cannot be made outside of the crate nor sent to another context, they cannot name an
//! operation that sleeps.

use crate::bindings;
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

/// What runs on this CPU.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A task of user space.
    Task,
    /// A thread of the kernel.
    Thread,
    /// A softirq, or anything with softirqs off.
    SoftIrq,
    /// A hard interrupt, or anything with interrupts off.
    HardIrq,
}

impl Kind {
    /// Returns the kind of the current context. Any context.
    #[inline]
    pub fn current() -> Self {
        // SAFETY: The helper has no requirements.
        match unsafe { bindings::rdm_context() } {
            0 => Self::Task,
            1 => Self::Thread,
            2 => Self::SoftIrq,
            _ => Self::HardIrq,
        }
    }
}

/// Returns whether another task is waiting for this CPU. Any context.
#[inline]
pub fn need_resched() -> bool {
    // SAFETY: The helper has no requirements.
    unsafe { bindings::rdm_need_resched() }
}

/// Lets others have this CPU if they wait for it. Does nothing where that is not possible. Process
/// context or softirq.
#[inline]
pub fn relax() {
    if Kind::current() == Kind::Thread || Kind::current() == Kind::Task {
        // SAFETY: The helper has no requirements; it does nothing where preemption is off.
        unsafe { bindings::rdm_cond_resched() }
    }
}
