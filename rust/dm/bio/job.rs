// SPDX-License-Identifier: GPL-2.0

//! Work of an instance that belongs to no bio.

use super::MapBio;
use crate::{
    alloc,
    bindings,
    context::MaySleep,
    target::{
        Instance,
        Operations, //
    },
    workqueue::OwnedQueue, //
};
use core::ptr::NonNull;
use kernel::{
    alloc::flags::{
        GFP_NOWAIT,
        __GFP_NOWARN, //
    },
    prelude::*, //
};

/// A job on a queue.
///
/// # Invariants
///
/// The instance has counted the job and so lives until it ends.
#[repr(C)]
struct Queued<T: Operations> {
    work: bindings::work_struct,
    instance: NonNull<Instance<T>>,
    job: T::Job,
}

impl<T: Operations> MapBio<'_, T> {
    /// Has [`job`](Operations::job) run on `queue`, some time, whatever becomes of the bio.
    /// Allocates without waiting.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; the job is dropped then.
    pub fn queue_job(&self, queue: &OwnedQueue, job: T::Job) -> Result {
        let queued = alloc::boxed(
            Queued {
                work: pin_init::zeroed(),
                instance: NonNull::from(self.instance),
                job,
            },
            GFP_NOWAIT | __GFP_NOWARN,
        )?;
        // INVARIANT: The job is counted before it can run.
        self.instance.begin_job();
        let queued = KBox::into_raw(queued);
        // SAFETY: The work item is ours until it runs.
        unsafe {
            let work = &raw mut (*queued).work;
            bindings::rdm_init_job_work(work, Some(run::<T>));
            bindings::queue_work(queue.as_ptr(), work);
        }
        Ok(())
    }
}

/// # Safety
///
/// `work` must be the work item of a job that was queued.
unsafe extern "C" fn run<T: Operations>(work: *mut bindings::work_struct) {
    // SAFETY: The work item is the first field, and it runs once.
    let Queued { instance, job, .. } =
        unsafe { KBox::into_inner(KBox::from_raw(work.cast::<Queued<T>>())) };
    // SAFETY: The instance lives until the job ends.
    let instance = unsafe { instance.as_ref() };
    instance
        .state
        .job(instance.target(), job, MaySleep::assert());
    instance.end_job();
}
