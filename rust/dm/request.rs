// SPDX-License-Identifier: GPL-2.0

//! Requests, and who owns them.
//!
//! The block layer merges bios of neighbouring sectors to requests before it gives them to a
//! driver. A target type that implements [`Requests`] can be
//! [registered](crate::target::Registration::of_requests) under a name for which the core takes
//! part in that: tables of that name get requests, not bios. The core accepts such a table only
//! over a device that takes requests itself, as a whole, and never replaces it by one of another
//! name.
//!
//! As with [bios](crate::bio), [`map_request`](Requests::map_request) gets a [`MapRequest`], which
//! is consumed for the decision. A target that wants to see the data [takes](MapRequest::take) it.
//! An [`OwnedRequest`] has a request of the device below from the beginning: if that device has
//! none to give, the core is told, who keeps what waits and merges it meanwhile. The target may
//! give the data another place ([`make_copy`](OwnedRequest::make_copy)), sends it
//! ([`submit`](OwnedRequest::submit)) and gets it back ([`Requests::complete_request`]); the
//! request ends when it says so ([`end`](OwnedRequest::end)).
//!
//! # Why the core does not send them
//!
//! For `DM_MAPIO_REMAPPED` the core clones the bios, and ends the original ones from the completion
//! of the clones, before `rq_end_io` is called: nothing can be done to the data of a read after
//! that, and the data of a write cannot be another than that of the original. So this crate clones
//! the bios itself, has the core believe that the target does all (`DM_MAPIO_SUBMITTED`), and
//! completes the original request with `blk_mq_complete_request`. The core ends that without an
//! error then, and an error is that of a bio: it is put there before. So an error of the device
//! fails the bios that it is about and no others. A flush has no bio that could tell: it
//! is [remapped](MapRequest::remap), and the core takes care of all.
//!
//! C headers: [`include/linux/device-mapper.h`](srctree/include/linux/device-mapper.h),
//! [`include/linux/blk-mq.h`](srctree/include/linux/blk-mq.h)

mod clone;
mod map;
mod part;
mod share;

pub(crate) use clone::Clones;
pub use map::MapRequest;
pub(crate) use map::{
    adapt,
    per_io_data_size, //
};
pub use part::{
    Part,
    Parts, //
};
pub use share::Share;

use crate::{
    bindings,
    bio::{
        BlockStatus,
        Call,
        Decision,
        Handed,
        Op,
        MAX_COPY, //
    },
    context::MaySleep,
    target::{
        Instance,
        Operations,
        Target, //
    },
    workqueue::OwnedQueue, //
};
use core::{
    marker::PhantomData,
    mem,
    ptr::{
        self,
        NonNull, //
    },
    sync::atomic::AtomicU32, //
};
use kernel::prelude::*;

/// The operations of a target that takes requests. What has to do with bios only is not called.
pub trait Requests: Operations {
    /// What an instance keeps with each request that it [takes](MapRequest::take).
    type PerRequest: Send + 'static;

    /// Decides on a request. Must not sleep.
    fn map_request<'a>(&self, ti: &Target, request: MapRequest<'a, Self>) -> Decision<'a>;

    /// Is given back a taken request when the device has done it. Any context, even hard-irq.
    fn complete_request<'a>(&self, ti: &Target, request: OwnedRequest<'a, Self>) -> Handed<'a>;

    /// Goes on with a request that was [queued](OwnedRequest::queue), or without a token one that
    /// was [queued for softirq](OwnedRequest::queue_in_softirq).
    fn work_on_request<'a>(
        &self,
        ti: &Target,
        request: OwnedRequest<'a, Self>,
        token: Option<MaySleep<'_>>,
    ) -> Handed<'a>;

    /// Is given back a request that was [shared out](OwnedRequest::share_out). In the context of
    /// who dropped the last share.
    fn parts_done<'a>(&self, ti: &Target, request: OwnedRequest<'a, Self>) -> Handed<'a>;
}

/// What the core keeps for a target behind each request.
#[repr(C)]
struct Header<T: Requests> {
    work: bindings::work_struct,
    original: NonNull<bindings::request>,
    /// The request of the device below; null once that is done.
    below: *mut bindings::request,
    instance: NonNull<Instance<T>>,
    copy: Option<NonNull<bindings::bio>>,
    /// The shares that there are of it.
    shares: AtomicU32,
    data: T::PerRequest,
}

/// A request that a target has taken.
///
/// # Invariants
///
/// `header` is the valid header of a request that the core has started and that has bios, and
/// `self` is the only way to it. Nobody else uses the bios; their vectors are as they were when
/// the request was taken. `below`, if not null, is a request that we allocated and that is not
/// under way; its bios, if any, are our clones, or the copy. `copy` is of the instance's. The
/// instance lives until the request ends. No other `OwnedRequest` or [`MapRequest`] has the name
/// `'a`.
#[must_use = "a request that is dropped ends with an error"]
pub struct OwnedRequest<'a, T: Requests> {
    header: NonNull<Header<T>>,
    _call: Call<'a>,
}

// SAFETY: A request may be handled by any thread, and `T::PerRequest` is `Send`.
unsafe impl<T: Requests> Send for OwnedRequest<'_, T> {}

/// Returns whether the device below has no room now, and will have some.
fn is_busy(status: bindings::blk_status_t) -> bool {
    const BUSY: [u32; 2] = [
        bindings::RDM_BLK_STS_RESOURCE,
        bindings::RDM_BLK_STS_DEV_RESOURCE,
    ];
    BUSY.contains(&status.into())
}

impl<'a, T: Requests> OwnedRequest<'a, T> {
    /// # Safety
    ///
    /// `header` must be that of a request that was taken and that nobody else has. The result must
    /// be given to one call of a callback.
    unsafe fn from_header(header: NonNull<Header<T>>) -> Self {
        // INVARIANT: By the requirements of this function.
        Self {
            header,
            _call: PhantomData,
        }
    }

    fn header(&self) -> &Header<T> {
        // SAFETY: By the type invariant.
        unsafe { self.header.as_ref() }
    }

    fn original(&self) -> &bindings::request {
        // SAFETY: By the type invariant.
        unsafe { self.header().original.as_ref() }
    }

    fn instance(&self) -> &Instance<T> {
        // SAFETY: By the type invariant.
        unsafe { self.header().instance.as_ref() }
    }

    /// Gives up the right to the request without ending it.
    fn into_header(self) -> *mut Header<T> {
        let header = self.header.as_ptr();
        mem::forget(self);
        header
    }

    /// Returns the value that stays with the request. Any context.
    pub fn data(&self) -> &T::PerRequest {
        &self.header().data
    }

    /// Returns the value that stays with the request. Any context.
    pub fn data_mut(&mut self) -> &mut T::PerRequest {
        // SAFETY: By the type invariant, and `&mut self` is exclusive.
        unsafe { &mut (*self.header.as_ptr()).data }
    }

    /// Returns what the request asks for. Any context.
    pub fn op(&self) -> Op {
        Op::of(self.original().cmd_flags)
    }

    /// Returns the first sector (512 bytes) of the mapped device. Any context.
    pub fn sector(&self) -> u64 {
        self.original().__sector
    }

    /// Returns the number of bytes. Any context.
    pub fn bytes(&self) -> u32 {
        self.original().__data_len
    }

    /// Returns the bios, from the first on, each with its part of the copy. Any context.
    pub fn parts(&mut self) -> Parts<'_> {
        // SAFETY: By the type invariant; the bios are borrowed with `self`.
        unsafe { self.all_parts() }
    }

    /// # Safety
    ///
    /// Nobody else may use the bios for `'b`, and they and the copy must stay.
    unsafe fn all_parts<'b>(&self) -> Parts<'b> {
        let has_data = matches!(self.op(), Op::Read | Op::Write);
        let copy = match self.header().copy {
            // SAFETY: By the type invariant and the requirements of this function.
            Some(copy) => unsafe { part::whole(copy, self.bytes()) },
            None => part::nothing(),
        };
        // SAFETY: As above.
        unsafe { Parts::new(self.original().bio, has_data, copy) }
    }

    /// Gives the request other memory of as many bytes, whose contents are left as they were
    /// found. If `wait` is given, waits until there is memory.
    ///
    /// The target must have [set memory aside](crate::target::Construction::set_aside_copies), and
    /// have [limited](crate::target::limits::Limits::cap_copies) the size of requests.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` if there is a copy already, or more data than 256 pages.
    pub fn make_copy(&mut self, wait: Option<MaySleep<'_>>) -> Result {
        let bytes = self.bytes();
        let copies = self.instance().copies().ok_or(EINVAL)?;
        if self.has_copy() || bytes > MAX_COPY {
            return Err(EINVAL);
        }
        let opf = self.original().cmd_flags;
        let copy = copies
            .quick(bytes, opf)
            .or_else(|| copies.wait(bytes, opf, wait?))
            .ok_or(ENOMEM)?;
        // SAFETY: By the type invariant, the header is ours.
        unsafe { (*self.header.as_ptr()).copy = Some(copy) };
        Ok(())
    }

    /// Returns whether the request has a copy. Any context.
    pub fn has_copy(&self) -> bool {
        self.header().copy.is_some()
    }

    /// Sends the request, or its copy, to `sector` of the device for which it was taken.
    /// [`complete_request`](Requests::complete_request) gets it back, unless the device refuses
    /// it, in which case it ends. Gives it back if the device has no room, or if there is no
    /// memory. Any context but hard interrupts; must not have been sent before.
    pub fn submit(self, sector: u64) -> core::result::Result<Handed<'a>, Self> {
        let header = self.header;
        mem::forget(self);
        // SAFETY: `self` was the only way to the request; if it was not sent, it is ours again.
        match unsafe { clone::send(header, sector) } {
            Ok(()) => Ok(Handed::new()),
            // SAFETY: As above.
            Err(status) if is_busy(status) => Err(unsafe { Self::from_header(header) }),
            Err(status) => {
                // SAFETY: As above.
                let request = unsafe { Self::from_header(header) };
                Ok(request.end(BlockStatus::from_raw(status)))
            }
        }
    }

    /// As [`submit`](Self::submit), but waits until the device has room.
    pub fn submit_waiting(mut self, sector: u64, _: MaySleep<'_>) -> Handed<'a> {
        loop {
            match self.submit(sector) {
                Ok(handed) => return handed,
                Err(request) => self = request,
            }
            // SAFETY: The context may sleep.
            unsafe { bindings::rdm_sleep_us(100) };
        }
    }

    /// Has the core keep the request and map it again, in a while. For `map_request`, which is the
    /// only one that returns a decision.
    pub fn requeue(self) -> Decision<'a> {
        let header = self.into_header();
        // SAFETY: By the type invariant, the header was ours; it is not used any more.
        unsafe { Self::strip(header) };
        Decision::new(bindings::DM_MAPIO_REQUEUE)
    }

    /// Sends the request to `queue`, where [`work_on_request`](Requests::work_on_request) gets it.
    /// Any context.
    pub fn queue(self, queue: &OwnedQueue) -> Handed<'a> {
        // SAFETY: The queue lives until the target is destroyed.
        unsafe { self.queue_on(queue.as_ptr(), run_in_thread::<T>) }
    }

    /// Has [`work_on_request`](Requests::work_on_request) called in softirq. Any context.
    pub fn queue_in_softirq(self) -> Handed<'a> {
        // SAFETY: The queue is the kernel's and lives for ever.
        unsafe { self.queue_on(bindings::system_bh_wq, run_in_softirq::<T>) }
    }

    /// # Safety
    ///
    /// `queue` must live until the work has run, and `run` be for its context.
    unsafe fn queue_on(
        self,
        queue: *mut bindings::workqueue_struct,
        run: unsafe extern "C" fn(*mut bindings::work_struct),
    ) -> Handed<'a> {
        let header = self.into_header();
        // SAFETY: The header is ours until the work runs, so its work item is not in use.
        unsafe {
            let work = &raw mut (*header).work;
            bindings::rdm_init_request_work(work, Some(run));
            bindings::queue_work(queue, work);
        }
        Handed::new()
    }

    /// Ends the request: each bio with the error that it has, or else with `status`. Its memory may
    /// be gone or in use again when this returns. Any context.
    pub fn end(mut self, status: BlockStatus) -> Handed<'a> {
        if !status.is_ok() {
            for mut part in self.parts() {
                part.fail(status);
            }
        }
        let header = self.into_header();
        // SAFETY: By the type invariant, the header was ours. It is not touched after the request
        // was completed, which was started.
        unsafe {
            let original = (*header).original;
            Self::strip(header);
            bindings::rdm_complete_request(original.as_ptr());
        }
        Handed::new()
    }

    /// Drops all that belongs to a request.
    ///
    /// # Safety
    ///
    /// The header must be that of a request that nobody else has, and not be used any more.
    unsafe fn strip(header: *mut Header<T>) {
        // SAFETY: By the requirements of this function and the invariants of the type.
        unsafe {
            clone::release(header);
            if let Some(copy) = (*header).copy.take() {
                if let Some(copies) = (*header).instance.as_ref().copies() {
                    copies.free(copy);
                }
            }
            ptr::drop_in_place(&raw mut (*header).data);
        }
    }
}

impl<T: Requests> Drop for OwnedRequest<'_, T> {
    fn drop(&mut self) {
        pr_err!("a request was dropped instead of being ended\n");
        // SAFETY: `self` is not used after this.
        let request: OwnedRequest<'_, T> = unsafe { OwnedRequest::from_header(self.header) };
        let Handed { .. } = request.end(BlockStatus::IO_ERROR);
    }
}

/// # Safety
///
/// `work` must be the work item of a request that was queued.
unsafe fn run<T: Requests>(work: *mut bindings::work_struct, token: Option<MaySleep<'_>>) {
    // SAFETY: The work item is the first field of the header; the request is ours again, since the
    // `OwnedRequest` that queued it is gone.
    let (instance, request) = unsafe {
        let header = NonNull::new_unchecked(work.cast::<Header<T>>());
        (
            header.as_ref().instance.as_ref(),
            OwnedRequest::from_header(header),
        )
    };
    let Handed { .. } = instance
        .state
        .work_on_request(instance.target(), request, token);
}

/// # Safety
///
/// As for [`run`], in process context.
unsafe extern "C" fn run_in_thread<T: Requests>(work: *mut bindings::work_struct) {
    // SAFETY: By the requirements of this function.
    unsafe { run::<T>(work, Some(MaySleep::assert())) }
}

/// # Safety
///
/// As for [`run`].
unsafe extern "C" fn run_in_softirq<T: Requests>(work: *mut bindings::work_struct) {
    // SAFETY: By the requirements of this function.
    unsafe { run::<T>(work, None) }
}
