// SPDX-License-Identifier: GPL-2.0

//! Bios that wait together.
//!
//! Bios that complete on one CPU one after the other are often better handled together: one wake-up
//! for all of them, and work that is cheaper for two than for one and one. An owned bio that is
//! [batched](Owned::batch) waits in a list of its CPU; whoever finds the list empty has it
//! processed, and whatever is in it by then is handed to [`Operations::batch`]. So nothing waits
//! for company, it only finds it.
//!
//! Each CPU has two lists, one that is processed in softirq, one on a queue of the target.

use super::{
    Handed,
    Header,
    Kept,
    Owned, //
};
use crate::{
    alloc,
    bindings,
    target::{
        Instance,
        Operations, //
    },
    workqueue::OwnedQueue, //
};
use core::{
    cell::UnsafeCell,
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
    sync::atomic::{
        AtomicPtr,
        Ordering, //
    },
};
use kernel::prelude::*;

/// The lists of an instance.
pub(crate) struct Batches<T: Operations> {
    cpus: KVec<Cpu<T>>,
}

/// The lists of a CPU, on cache lines of their own.
#[repr(C, align(128))]
struct Cpu<T: Operations> {
    softirq: Lane<T>,
    queue: Lane<T>,
}

/// A list and the work that processes it.
///
/// # Invariants
///
/// `head` is a list of headers, linked by `next`, of bios that nobody else has. `work` was
/// initialised with [`run`] where the lane is, and `instance` lives as long as it.
#[repr(C)]
struct Lane<T: Operations> {
    work: UnsafeCell<bindings::work_struct>,
    head: AtomicPtr<Header<T>>,
    instance: NonNull<Instance<T>>,
}

// SAFETY: The work item is only used by the kernel, the list is atomic.
unsafe impl<T: Operations> Send for Batches<T> {}
// SAFETY: As above.
unsafe impl<T: Operations> Sync for Batches<T> {}

impl<T: Operations> Lane<T> {
    fn new(instance: NonNull<Instance<T>>) -> Self {
        Self {
            work: UnsafeCell::new(pin_init::zeroed()),
            head: AtomicPtr::new(ptr::null_mut()),
            instance,
        }
    }

    /// Adds a bio, and returns whether it is the only one.
    #[inline]
    fn push(&self, bio: Owned<'_, T>) -> bool {
        let header = bio.into_header();
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: The header was ours, and is not in the list yet.
            unsafe { (*header).next = head };
            match self.head.compare_exchange_weak(
                head,
                header,
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return head.is_null(),
                Err(now) => head = now,
            }
        }
    }

    /// Takes all bios, the oldest first.
    fn take(&self) -> Batch<T> {
        let newest = self.head.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: By the type invariant, and the list is ours now.
        let mut batch = unsafe { Batch::from_newest(newest) };
        // INVARIANT: The lane lives as long as the instance, and that as long as its bios.
        batch.lane = Some(NonNull::from(self));
        batch
    }
}

impl<T: Operations> Batches<T> {
    /// Makes the lists of an instance. May sleep.
    ///
    /// # Safety
    ///
    /// The result must be dropped before `instance` is.
    pub(crate) unsafe fn new(instance: NonNull<Instance<T>>) -> Result<Self> {
        alloc::point()?;
        // SAFETY: The helper has no requirements.
        let count = unsafe { bindings::rdm_nr_cpu_ids() } as usize;
        let mut cpus = KVec::with_capacity(count, GFP_KERNEL)?;
        for _ in 0..count {
            let cpu = Cpu {
                softirq: Lane::new(instance),
                queue: Lane::new(instance),
            };
            cpus.push(cpu, GFP_KERNEL)?;
        }
        for cpu in &mut cpus {
            // INVARIANT: The vector does not grow any more, so the lanes stay where they are.
            // SAFETY: Nobody uses the work items yet.
            unsafe {
                bindings::rdm_init_softirq_work(cpu.softirq.work.get(), Some(run::<T>));
                bindings::rdm_init_batch_work(cpu.queue.work.get(), Some(run::<T>));
            }
        }
        Ok(Self { cpus })
    }

    /// Returns the lists of the current CPU, or of another that the task was on just now.
    #[inline]
    fn here(&self) -> Option<&Cpu<T>> {
        // SAFETY: The helper has no requirements.
        let cpu = unsafe { bindings::rdm_raw_smp_processor_id() };
        self.cpus.get(cpu as usize)
    }
}

impl<T: Operations> Drop for Batches<T> {
    fn drop(&mut self) {
        for cpu in &self.cpus {
            for lane in [&cpu.softirq, &cpu.queue] {
                // SAFETY: The work item was initialised. No bio is in flight, so it is not queued
                // again; this waits for the end of one that has just ended its last bio.
                unsafe { bindings::cancel_work_sync(lane.work.get()) };
            }
        }
    }
}

/// # Safety
///
/// `work` must be the work item of a lane.
unsafe extern "C" fn run<T: Operations>(work: *mut bindings::work_struct) {
    // SAFETY: The work item is the first field of the lane, which lives as long as it is used.
    let lane = unsafe { &*work.cast::<Lane<T>>() };
    // SAFETY: By the type invariant.
    let instance = unsafe { lane.instance.as_ref() };
    let batch = lane.take();
    // Nothing is left if all that waited went to the batch before.
    if !batch.is_empty() {
        instance.state.batch(instance.target(), batch);
    }
}

/// Bios that waited together, oldest first. Those that are not taken end with an error.
///
/// # Invariants
///
/// `next` is a list of `len` headers of bios that nobody else has. `lane` lives as long as one of
/// them.
pub struct Batch<T: Operations> {
    next: *mut Header<T>,
    len: usize,
    lane: Option<NonNull<Lane<T>>>,
    _bios: PhantomData<Kept<T>>,
}

impl<T: Operations> Batch<T> {
    /// # Safety
    ///
    /// `newest` must be a list of headers, linked by `next`, of bios that nobody else has.
    pub(super) unsafe fn from_newest(mut newest: *mut Header<T>) -> Self {
        let mut oldest = ptr::null_mut();
        let mut len: usize = 0;
        while !newest.is_null() {
            // SAFETY: By the requirements of this function.
            let next = unsafe { core::mem::replace(&mut (*newest).next, oldest) };
            oldest = newest;
            newest = next;
            len = len.wrapping_add(1);
        }
        // INVARIANT: The list was ours, in the other order.
        Self {
            next: oldest,
            len,
            lane: None,
            _bios: PhantomData,
        }
    }

    /// Returns how many bios are left.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether no bio is left.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds the bios that have come to wait in the same list since, behind a last one that is
    /// left, and returns how many. Does nothing if more are left, or none.
    #[inline]
    pub fn refill_last(&mut self) -> usize {
        if self.len != 1 {
            return 0;
        }
        let (Some(last), Some(lane)) = (NonNull::new(self.next), self.lane) else {
            return 0;
        };
        // SAFETY: By the type invariant; there is a bio.
        let mut late = unsafe { lane.as_ref() }.take();
        // SAFETY: By the type invariant, the header is ours.
        unsafe { (*last.as_ptr()).next = late.next };
        self.len = self.len.saturating_add(late.len);
        // INVARIANT: The bios are in the list of `self` now.
        late.next = ptr::null_mut();
        core::mem::take(&mut late.len)
    }
}

impl<T: Operations> Iterator for Batch<T> {
    type Item = Kept<T>;

    #[inline]
    fn next(&mut self) -> Option<Kept<T>> {
        let header = NonNull::new(self.next)?;
        // SAFETY: By the type invariant.
        self.next = unsafe { header.as_ref() }.next;
        self.len = self.len.saturating_sub(1);
        // SAFETY: By the type invariant nobody else has the bio, and it is no longer in the list.
        Some(unsafe { Kept::from_header(header) })
    }
}

impl<T: Operations> Drop for Batch<T> {
    fn drop(&mut self) {
        for bio in self {
            drop(bio);
        }
    }
}

impl<'a, T: Operations> Owned<'a, T> {
    /// Makes a batch of the bio alone, to be handled at once.
    #[inline]
    pub fn alone(self) -> (Batch<T>, Handed<'a>) {
        let header = self.into_header();
        // SAFETY: The header was ours.
        unsafe { (*header).next = ptr::null_mut() };
        // INVARIANT: The list is of the one bio.
        let batch = Batch {
            next: header,
            len: 1,
            lane: None,
            _bios: PhantomData,
        };
        (batch, Handed::new())
    }

    /// Has the bio processed in softirq, together with others of this CPU. Any context.
    #[inline]
    pub fn batch_in_softirq(self) -> Handed<'a> {
        // SAFETY: The queue is the kernel's and lives for ever.
        let queue = unsafe { bindings::system_bh_wq };
        self.batch(queue, |cpu| &cpu.softirq)
    }

    /// Has the bio processed on `queue`, together with others of this CPU. Any context.
    #[inline]
    pub fn batch_on(self, queue: &OwnedQueue) -> Handed<'a> {
        self.batch(queue.as_ptr(), |cpu| &cpu.queue)
    }

    #[inline]
    fn batch(
        self,
        queue: *mut bindings::workqueue_struct,
        lane: impl FnOnce(&Cpu<T>) -> &Lane<T>,
    ) -> Handed<'a> {
        // SAFETY: By the type invariant, the instance lives as long as the bio. It lives longer
        // than this function, too, since it waits for the work of its lists.
        let instance = unsafe { self.header().instance.as_ref() };
        let Some(cpu) = instance.batches().and_then(Batches::here) else {
            let (batch, handed) = self.alone();
            instance.state.batch(instance.target(), batch);
            return handed;
        };
        let lane = lane(cpu);
        let work = lane.work.get();
        if lane.push(self) {
            // SAFETY: The work item was initialised, and the bio keeps the instance alive until
            // the work has taken it.
            unsafe { bindings::queue_work(queue, work) };
        }
        Handed::new()
    }
}
