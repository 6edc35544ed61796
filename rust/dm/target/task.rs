// SPDX-License-Identifier: GPL-2.0

//! What a target does of its own accord: tasks, some of them after a while, and what it does when
//! the machine is about to stop.
//!
//! A task has a number below [`Operations::TASKS`] and runs on the queue that
//! [`Operations::task_queue`] gives it, one instance of it at a time. Starting it allocates
//! nothing. The target is destroyed when no task runs or waits any more.
//!
//! C headers: [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h),
//! [`include/linux/notifier.h`](srctree/include/linux/notifier.h)

use super::{
    Instance,
    Operations,
    Target, //
};
use crate::{
    alloc,
    bindings,
    context::MaySleep, //
};
use core::{
    cell::UnsafeCell,
    ptr::NonNull,
    sync::atomic::{
        AtomicBool,
        Ordering, //
    },
};
use kernel::{
    ffi::{
        c_int,
        c_ulong,
        c_void, //
    },
    prelude::*,
    time::msecs_to_jiffies, //
};

/// Finds the queue of a task of an instance of some type.
type QueueOf = unsafe fn(NonNull<c_void>, usize) -> *mut bindings::workqueue_struct;

/// What of an instance does not depend on its type.
///
/// # Invariants
///
/// `tasks` have been initialised where they are. `self` does not move once the notifier is
/// registered. `instance` is the instance that `self` is in, and
/// `queue_of` is for its type.
pub(super) struct Head {
    tasks: KVec<Task>,
    notifier: Notifier,
    registered: AtomicBool,
    closed: AtomicBool,
    instance: NonNull<c_void>,
    queue_of: QueueOf,
}

#[repr(C)]
struct Task {
    work: UnsafeCell<bindings::delayed_work>,
    instance: NonNull<c_void>,
    number: usize,
}

#[repr(C)]
struct Notifier {
    block: UnsafeCell<bindings::notifier_block>,
    instance: NonNull<c_void>,
}

impl Head {
    /// Makes the head of an instance. May sleep.
    ///
    /// # Safety
    ///
    /// The result must become that of `instance`, and be [closed](Self::close) before the state
    /// is dropped.
    pub(super) unsafe fn new<T: Operations>(instance: NonNull<Instance<T>>) -> Result<Self> {
        let instance = instance.cast::<c_void>();
        let mut tasks = match T::TASKS {
            0 => KVec::new(),
            count => alloc::with_capacity(count, GFP_KERNEL)?,
        };
        for number in 0..T::TASKS {
            let work = UnsafeCell::new(pin_init::zeroed());
            let task = Task {
                work,
                instance,
                number,
            };
            tasks.push(task, GFP_KERNEL)?;
        }
        for task in &mut tasks {
            // INVARIANT: The vector does not grow any more, so the task stays where it is.
            // SAFETY: Nobody uses the work item yet.
            unsafe { bindings::rdm_init_delayed_work(task.work.get(), Some(run::<T>)) };
        }
        let block = bindings::notifier_block {
            notifier_call: Some(reboot::<T>),
            next: core::ptr::null_mut(),
            // After md, and before the drivers of the hardware.
            priority: c_int::MAX.wrapping_sub(1),
        };
        let block = UnsafeCell::new(block);
        Ok(Self {
            tasks,
            notifier: Notifier { block, instance },
            registered: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            instance,
            queue_of: queue_of::<T>,
        })
    }

    /// Waits for the tasks, and lets none start any more.
    pub(super) fn close(&self, token: MaySleep<'_>) {
        self.closed.store(true, Ordering::SeqCst);
        self.unregister(token);
        for task in &self.tasks {
            // SAFETY: By the type invariants; tasks may be cancelled in process context.
            unsafe { bindings::cancel_delayed_work_sync(task.work.get()) };
        }
    }

    /// Has [`Operations::reboot`] called when the machine is about to stop. May sleep.
    pub(super) fn register(&self, _: MaySleep<'_>) {
        if self.registered.swap(true, Ordering::AcqRel) {
            return;
        }
        // SAFETY: The block is unregistered in `close` at the latest.
        unsafe { bindings::register_reboot_notifier(self.notifier.block.get()) };
    }

    /// The opposite of [`register`](Self::register). May sleep.
    pub(super) fn unregister(&self, _: MaySleep<'_>) {
        if self.registered.swap(false, Ordering::AcqRel) {
            // SAFETY: The block was registered.
            unsafe { bindings::unregister_reboot_notifier(self.notifier.block.get()) };
        }
    }

    /// Returns a task and its queue, unless the instance is being destroyed.
    fn task(&self, number: usize) -> Option<(&Task, *mut bindings::workqueue_struct)> {
        let task = self.tasks.get(number)?;
        if self.closed.load(Ordering::SeqCst) {
            return None;
        }
        // SAFETY: By the type invariants.
        let queue = unsafe { (self.queue_of)(self.instance, number) };
        (!queue.is_null()).then_some((task, queue))
    }
}

/// # Safety
///
/// `instance` must be a valid instance of type `T`.
unsafe fn queue_of<T: Operations>(
    instance: NonNull<c_void>,
    number: usize,
) -> *mut bindings::workqueue_struct {
    if !T::HAS_TASK_QUEUE {
        return core::ptr::null_mut();
    }
    // SAFETY: By the requirements of this function. The queue is part of the state: it lives until
    // the state is dropped, which is after the tasks have been cancelled.
    let instance = unsafe { instance.cast::<Instance<T>>().as_ref() };
    instance.state.task_queue(number).as_ptr()
}

/// # Safety
///
/// `work` must be the work item of a task of an instance of type `T`.
unsafe extern "C" fn run<T: Operations>(work: *mut bindings::work_struct) {
    if !T::HAS_TASK {
        return;
    }
    // SAFETY: The work item is at the front of the task, which lives while it runs.
    let (instance, number) = unsafe {
        let task = work.cast::<Task>();
        ((*task).instance.cast::<Instance<T>>(), (*task).number)
    };
    // SAFETY: The instance waits for its tasks before it goes.
    let instance = unsafe { instance.as_ref() };
    instance
        .state
        .task(instance.target(), number, MaySleep::assert());
}

/// # Safety
///
/// `block` must be that of a [`Notifier`] of an instance of type `T`.
unsafe extern "C" fn reboot<T: Operations>(
    block: *mut bindings::notifier_block,
    _code: c_ulong,
    _data: *mut c_void,
) -> c_int {
    if T::HAS_REBOOT {
        // SAFETY: The block is at the front of the notifier, which is unregistered before the
        // instance goes.
        let instance = unsafe {
            let notifier = block.cast::<Notifier>();
            (*notifier).instance.cast::<Instance<T>>().as_ref()
        };
        instance.state.reboot(instance.target(), MaySleep::assert());
    }
    bindings::NOTIFY_DONE as c_int
}

impl Target {
    fn head(&self) -> Option<&Head> {
        // SAFETY: By the type invariant; `private` is null until the instance is made, and then
        // points to one, whose first field is the head.
        unsafe { (*self.as_ptr()).private.cast::<Head>().as_ref() }
    }

    /// Has a task run as soon as possible: once more if it is running. Any context.
    pub fn start_task(&self, number: usize) {
        if let Some((task, queue)) = self.head().and_then(|head| head.task(number)) {
            // SAFETY: The work item was initialised, and its queue lives until it is cancelled.
            unsafe { bindings::rdm_start_delayed_work(queue, task.work.get()) };
        }
    }

    /// Has a task run in `ms` milliseconds, unless it is to run before that. Any context.
    pub fn start_task_after(&self, number: usize, ms: u32) {
        if let Some((task, queue)) = self.head().and_then(|head| head.task(number)) {
            let delay = msecs_to_jiffies(ms);
            // SAFETY: As above.
            unsafe { bindings::rdm_queue_delayed_work(queue, task.work.get(), delay) };
        }
    }

    /// Keeps a task from running, and waits for it if it does. May sleep.
    pub fn cancel_task(&self, number: usize, _: MaySleep<'_>) {
        if let Some(task) = self.head().and_then(|head| head.tasks.get(number)) {
            // SAFETY: The work item was initialised.
            unsafe { bindings::cancel_delayed_work_sync(task.work.get()) };
        }
    }

    /// Waits until a task that is running, or was to run at once, has run. May sleep.
    pub fn flush_task(&self, number: usize, _: MaySleep<'_>) {
        if let Some(task) = self.head().and_then(|head| head.tasks.get(number)) {
            // SAFETY: The work item was initialised.
            unsafe { bindings::rdm_flush_work(task.work.get()) };
        }
    }

    /// Returns whether the target is being suspended, or is, and no bio is left. Any context.
    pub fn is_post_suspending(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::dm_post_suspending(self.as_ptr()) != 0 }
    }
}
