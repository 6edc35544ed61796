// SPDX-License-Identifier: GPL-2.0

//! Work queues of a target's own.
//!
//! The `kernel` crate only has the queues of the system. A target needs its own, with a rescuer,
//! where writing back memory depends on its progress.
//!
//! C header: [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use crate::{
    alloc,
    bindings,
    context::MaySleep, //
};
use core::{
    ops::{
        BitOr,
        Deref, //
    },
    ptr::NonNull,
};
use kernel::prelude::*;

/// How a queue runs its work.
#[derive(Clone, Copy)]
pub struct Flags(u32);

impl Flags {
    /// The queue has a rescuer thread and so makes progress without memory.
    pub const MEM_RECLAIM: Self = Self(bindings::RDM_WQ_MEM_RECLAIM);
    /// The workers have a high priority.
    pub const HIGHPRI: Self = Self(bindings::RDM_WQ_HIGHPRI);
    /// Work runs on the CPU that queued it.
    pub const PERCPU: Self = Self(bindings::RDM_WQ_PERCPU);
    /// Work runs on any CPU.
    pub const UNBOUND: Self = Self(bindings::RDM_WQ_UNBOUND);
    /// Work may take long, and others on its CPU need not wait for it.
    pub const CPU_INTENSIVE: Self = Self(bindings::RDM_WQ_CPU_INTENSIVE);
    /// The queue is in sysfs, where its name must be unique.
    pub const SYSFS: Self = Self(bindings::RDM_WQ_SYSFS);
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An owned work queue.
///
/// Dropping it waits for the work that is queued.
///
/// # Invariants
///
/// `ptr` is a work queue that `self` owns.
pub struct OwnedQueue {
    ptr: NonNull<bindings::workqueue_struct>,
}

// SAFETY: Work queues may be used and destroyed by any thread.
unsafe impl Send for OwnedQueue {}
// SAFETY: All operations on a work queue are synchronised by the kernel.
unsafe impl Sync for OwnedQueue {}

impl OwnedQueue {
    /// Allocates a queue. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(name: &CStr, flags: Flags, token: MaySleep<'_>) -> Result<Self> {
        Self::with_limit(name, flags, 0, token)
    }

    /// Allocates a queue that runs at most `limit` pieces of work at a time: on each CPU, or
    /// altogether if it is [unbound](Flags::UNBOUND). 0 is the kernel's default. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn with_limit(name: &CStr, flags: Flags, limit: u32, _: MaySleep<'_>) -> Result<Self> {
        alloc::point()?;
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        // SAFETY: The format is a literal that takes one string, and `name` is one.
        let ptr = unsafe {
            bindings::alloc_workqueue_noprof(
                c"%s".as_char_ptr(),
                flags.0,
                limit,
                name.as_char_ptr(),
            )
        };
        // INVARIANT: The queue was made just now and nobody else knows it.
        Ok(Self {
            ptr: NonNull::new(ptr).ok_or(ENOMEM)?,
        })
    }

    /// Waits until all work queued so far has run. May sleep.
    pub fn flush(&self, _: MaySleep<'_>) {
        // SAFETY: By the type invariant, `ptr` is a valid queue.
        unsafe { bindings::flush_workqueue(self.ptr.as_ptr()) }
    }

    pub(crate) fn as_ptr(&self) -> *mut bindings::workqueue_struct {
        self.ptr.as_ptr()
    }
}

impl Deref for OwnedQueue {
    type Target = kernel::workqueue::Queue;

    fn deref(&self) -> &Self::Target {
        // SAFETY: By the type invariant, `ptr` is valid for as long as `self`.
        unsafe { kernel::workqueue::Queue::from_raw(self.ptr.as_ptr()) }
    }
}

impl Drop for OwnedQueue {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `ptr` is a valid queue that nobody uses after `self`.
        unsafe { bindings::destroy_workqueue(self.ptr.as_ptr()) }
    }
}

/// Returns the number of CPUs that run. Any context.
pub fn online_cpus() -> u32 {
    // SAFETY: The helper has no requirements.
    unsafe { bindings::rdm_num_online_cpus() }
}
