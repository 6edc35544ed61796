// SPDX-License-Identifier: GPL-2.0

//! What a cache has that is written, and the work item that writes in the background.
//!
//! C header: [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use super::{
    atomic::{
        AtomicPtr,
        AtomicU32,
        AtomicUsize,
        Ordering, //
    },
    cache::Cache,
    contents::Geometry,
    memory::{
        Effort,
        Owned,
        Shape, //
    },
    partial::{
        init_extra,
        Extra, //
    },
    wakeup::Flight, //
};
use crate::{
    bindings,
    context::MaySleep,
    target::device::Device,
    workqueue::{
        Flags,
        OwnedQueue, //
    },
};
use core::ptr;
use kernel::{
    new_mutex,
    prelude::*,
    sync::Mutex,
    types::Opaque, //
};

/// Why the work item runs, from the least urgent reason on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub(super) enum Goal {
    /// There is no reason.
    Nothing,
    /// Too much of the cache is dirty.
    Balance,
    /// Somebody wants what needs no read to be written.
    Complete,
    /// Somebody needs memory.
    Room,
    /// Somebody wants everything to be written.
    All,
}

/// What a cache has that is written.
#[pin_data]
pub(super) struct Writes {
    pub(super) geometry: Geometry,
    /// Whether the device does not want data to change while it is being written.
    pub(super) stable: bool,
    /// Held by who writes buffers out.
    #[pin]
    pub(super) turn: Mutex<()>,
    /// A buffer to read into where there is no memory.
    #[pin]
    pub(super) scratch: Mutex<Option<Owned>>,
    /// The bios of one round of writing.
    pub(super) flight: Flight,
    /// Those that read what a round lacks.
    pub(super) reads: Flight,
    /// The number of buffers in the list of dirty ones.
    pub(super) dirty: AtomicUsize,
    /// How many may be dirty before it makes sense to look for some to write.
    pub(super) patience: AtomicUsize,
    /// An `errno` that was not reported yet.
    error: AtomicU32,
    /// Not 0 if there are clean buffers that could not be written.
    failed: AtomicU32,
    goal: AtomicUsize,
    cache: AtomicPtr<Cache>,
    #[pin]
    work: Opaque<bindings::work_struct>,
    queue: OwnedQueue,
}

impl Writes {
    /// Makes it for a cache of a device. May sleep.
    pub(super) fn new(
        device: &Device,
        geometry: Geometry,
        token: MaySleep<'_>,
    ) -> Result<Pin<KBox<Self>>> {
        let flags = Flags::MEM_RECLAIM | Flags::UNBOUND;
        let queue = OwnedQueue::new(c"rdm_bufio", flags, token)?;
        // SAFETY: The device is open.
        let stable = unsafe { bindings::bdev_stable_writes(device.bdev()) };
        let init = try_pin_init!(Self {
            geometry,
            stable,
            turn <- new_mutex!((), "bufio_turn"),
            scratch <- new_mutex!(None, "bufio_scratch"),
            flight: Flight::new(),
            reads: Flight::new(),
            dirty: AtomicUsize::new(0),
            patience: AtomicUsize::new(0),
            error: AtomicU32::new(0),
            failed: AtomicU32::new(0),
            goal: AtomicUsize::new(Goal::Nothing as usize),
            cache: AtomicPtr::new(ptr::null_mut()),
            work <- Opaque::ffi_init(|work| {
                // SAFETY: `work` is valid for writes.
                unsafe { bindings::rdm_init_writes_work(work, Some(run)) }
            }),
            queue,
        }? Error);
        crate::alloc::pin_boxed(init, GFP_KERNEL)
    }

    /// Tells whose this is.
    ///
    /// # Safety
    ///
    /// The cache is pinned, owns this, and waits for the work before it goes.
    pub(super) unsafe fn attach(&self, cache: &Cache) {
        let cache = ptr::from_ref(cache).cast_mut();
        self.cache.store(cache, Ordering::Release);
    }

    /// Has the work item run. Any context.
    pub(super) fn kick(&self, goal: Goal) {
        self.goal.fetch_max(goal as usize, Ordering::Release);
        // SAFETY: Both are valid, and the work is initialised.
        unsafe { bindings::queue_work(self.queue.as_ptr(), self.work.get()) };
    }

    /// Takes note of an error of a buffer that is clean now, though it is not as on the device.
    pub(super) fn fail(&self, error: Error) {
        let errno = error.to_errno().unsigned_abs();
        let _first = self
            .error
            .compare_exchange(0, errno, Ordering::AcqRel, Ordering::Relaxed);
        self.failed.store(1, Ordering::Release);
    }

    /// Returns the first error since the last call.
    pub(super) fn take_error(&self) -> Result {
        match self.error.swap(0, Ordering::AcqRel) {
            0 => Ok(()),
            errno => Err(Error::from_errno((errno as i32).wrapping_neg())),
        }
    }

    /// Whether there may be clean buffers that could not be written since the last call.
    pub(super) fn take_failed(&self) -> bool {
        self.failed.swap(0, Ordering::AcqRel) != 0
    }
}

impl Cache {
    /// Makes a cache that is written. May sleep.
    pub(super) fn new_written(
        device: &Device,
        block_size: usize,
        start: u64,
        reserved: usize,
        token: MaySleep<'_>,
    ) -> Result<Pin<KBox<Self>>> {
        let shape = Shape::with_init::<Extra>(block_size, init_extra)?;
        let geometry = Geometry::new(
            block_size as u32,
            start << bindings::SECTOR_SHIFT,
            device.logical_block_size(),
            device.physical_block_size(),
        );
        let writes = Writes::new(device, geometry, token)?;
        let cache = Self::new(device, shape, start, reserved, Some(writes))?;
        cache.charge_reserve();
        let scratch = cache.allocate(Effort::Kernel).ok_or(ENOMEM)?;
        if let Some(writes) = &cache.writes {
            *writes.scratch.lock() = Some(scratch);
            // SAFETY: The cache is pinned and owns it, and waits for the work when it is dropped.
            unsafe { writes.attach(&cache) };
        }
        Ok(cache)
    }

    /// Writes what is dirty, for the last time. Returns the buffer for scratch, for the caller to
    /// free.
    pub(super) fn finish_writing(&self, token: MaySleep<'_>) -> Option<Owned> {
        let writes = self.writes.as_ref()?;
        writes.queue.flush(token);
        if writes.take_failed() {
            self.retry(token);
        }
        self.write_all(writes, token);
        if writes.take_failed() {
            pr_err!("bufio: blocks could not be written: they are lost\n");
        }
        let scratch = writes.scratch.lock().take();
        scratch
    }
}

/// # Safety
///
/// Called by a work queue with the work of a valid [`Writes`].
unsafe extern "C" fn run(work: *mut bindings::work_struct) {
    // SAFETY: The work is part of a `Writes`, whose cache waits for it before it goes.
    let (writes, cache) = unsafe {
        let work = Opaque::cast_from(work);
        let writes = &*kernel::container_of!(work, Writes, work);
        (writes, writes.cache.load(Ordering::Acquire).as_ref())
    };
    let goal = writes.goal.swap(Goal::Nothing as usize, Ordering::AcqRel);
    let Some(cache) = cache else {
        return;
    };
    let token = MaySleep::assert();
    match goal {
        goal if goal == Goal::All as usize => cache.write_all(writes, token),
        goal if goal == Goal::Room as usize => cache.write_for_room(writes, token),
        goal if goal == Goal::Complete as usize => cache.write_complete(writes, token),
        _ => cache.write_to_balance(writes, token),
    }
}
