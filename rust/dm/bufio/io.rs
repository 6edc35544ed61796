// SPDX-License-Identifier: GPL-2.0

//! Reading neighbouring blocks with one bio.
//!
//! C header: [`include/linux/bio.h`](srctree/include/linux/bio.h)

use super::{
    atomic::Ordering,
    cache::Cache,
    limit::Class,
    memory::{
        Head,
        Shape, //
    },
    ranges::Span,
    state::Status,
    wait, //
};
use crate::{
    alloc,
    bindings,
    context::MaySleep,
    target::device::Device, //
};
use core::{
    mem::MaybeUninit,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::to_result,
    prelude::*,
    sync::rcu,
    types::Opaque, //
};

/// The bios that are kept in reserve for each client, so that reads make progress without memory.
const RESERVED_BIOS: u32 = 1;

/// A source of bios that never fails where it may wait.
#[pin_data(PinnedDrop)]
pub(super) struct Bios {
    #[pin]
    set: Opaque<bindings::bio_set>,
}

// SAFETY: Sets of bios may be used and destroyed by any thread.
unsafe impl Send for Bios {}
// SAFETY: Sets of bios synchronise their users.
unsafe impl Sync for Bios {}

impl Bios {
    /// Makes a set. May sleep.
    pub(super) fn new() -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            set <- Opaque::try_ffi_init(|set: *mut bindings::bio_set| {
                alloc::point()?;
                // SAFETY: `set` is valid for writes; a set starts as zeroes.
                unsafe {
                    set.write_bytes(0, 1);
                    let flags = bindings::BIOSET_NEED_BVECS as i32;
                    to_result(bindings::bioset_init(set, RESERVED_BIOS, 0, flags))
                }
            }),
        })
    }

    /// Makes a bio that reads, with room for so many pieces of data. May sleep; then it does not
    /// fail.
    pub(super) fn read(&self, device: &Device, vecs: u32) -> Option<NonNull<bindings::bio>> {
        self.allocate(device, vecs, bindings::req_op_REQ_OP_READ)
    }

    /// Makes a bio that writes, as [`read`](Self::read) does.
    pub(super) fn write(&self, device: &Device, vecs: u32) -> Option<NonNull<bindings::bio>> {
        self.allocate(device, vecs, bindings::req_op_REQ_OP_WRITE)
    }

    fn allocate(
        &self,
        device: &Device,
        vecs: u32,
        op: bindings::blk_opf_t,
    ) -> Option<NonNull<bindings::bio>> {
        let vecs = vecs.min(bindings::BIO_MAX_VECS) as u16;
        let gfp = bindings::RDM_GFP_NOIO_WAIT;
        // SAFETY: The device is open, and the set valid.
        NonNull::new(unsafe {
            bindings::bio_alloc_bioset(device.bdev(), vecs, op, gfp, self.set.get())
        })
    }
}

#[pinned_drop]
impl PinnedDrop for Bios {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: The set was initialised, and all its bios have ended.
        unsafe { bindings::bioset_exit(self.set.get()) };
    }
}

/// Neighbouring buffers that are to be read with one bio.
///
/// The buffers are busy, and nothing fills them until the run is [sent](Self::send), which comes
/// at the latest when it is dropped. Who waits for anything else but memory for a bio sends it
/// first.
///
/// # Invariants
///
/// `first` to `last` are chained, valid, and busy with this run as the producer; their blocks are
/// neighbours, the one of `last` is `end - 1`, and `vecs` is the sum of what they take of a bio.
/// Both are null if there are none.
pub(super) struct Run<'a> {
    cache: &'a Cache,
    ioprio: u16,
    first: *mut Head,
    last: *mut Head,
    end: u64,
    vecs: u32,
}

impl<'a> Run<'a> {
    /// Makes an empty run.
    pub(super) fn new(cache: &'a Cache, ioprio: u16, _: MaySleep<'_>) -> Self {
        // INVARIANT: empty.
        Self {
            cache,
            ioprio,
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            end: 0,
            vecs: 0,
        }
    }

    /// Adds a buffer. Sends what is there if that is no neighbour, or enough.
    ///
    /// # Safety
    ///
    /// The buffer is valid, has `block`, and is busy with the caller as the producer, who becomes
    /// the run.
    pub(super) unsafe fn push(&mut self, head: NonNull<Head>, block: u64) {
        let vecs = self.cache.shape.vecs;
        if block != self.end || self.vecs.saturating_add(vecs) > bindings::BIO_MAX_VECS {
            self.send();
        }
        let head = head.as_ptr();
        // SAFETY: By the precondition the buffer is valid, and by the type invariants so is the
        // last one, and both are busy, for this run.
        unsafe {
            (*head).chain.store(ptr::null_mut(), Ordering::Relaxed);
            match self.last.as_ref() {
                Some(last) => last.chain.store(head, Ordering::Relaxed),
                None => self.first = head,
            }
        }
        // INVARIANT: chained above.
        self.last = head;
        self.end = block.wrapping_add(1);
        self.vecs = self.vecs.saturating_add(vecs);
    }

    /// Sends the bio, and starts anew.
    pub(super) fn send(&mut self) {
        let first = self.first;
        // SAFETY: By the type invariants.
        let Some(head) = (unsafe { first.as_ref() }) else {
            return;
        };
        let sector = self.cache.sector(head.block.load(Ordering::Relaxed));
        let bio = self.cache.bios.read(&self.cache.device, self.vecs);
        self.first = ptr::null_mut();
        self.last = ptr::null_mut();
        self.vecs = 0;
        let Some(bio) = bio else {
            // SAFETY: By the type invariants, the run was the producer and is empty now.
            unsafe { complete(first, Err(Status::RETRY)) };
            return;
        };
        // SAFETY: The bio is ours until it is submitted, and ends once.
        unsafe {
            let at = bio.as_ptr();
            (*at).bi_private = first.cast();
            (*at).bi_end_io = Some(end_io);
            (*at).bi_ioprio = self.ioprio;
            match sector {
                Some(sector) if self.fill(at, first) => {
                    (*at).bi_iter.bi_sector = sector;
                    bindings::submit_bio(at);
                }
                _ => {
                    (*at).bi_status = bindings::RDM_BLK_STS_IOERR as bindings::blk_status_t;
                    bindings::bio_endio(at);
                }
            }
        }
    }

    /// Adds the data of the buffers to the bio.
    ///
    /// # Safety
    ///
    /// The bio is the caller's, and the buffers are chained, valid, and busy for the caller.
    unsafe fn fill(&self, bio: *mut bindings::bio, first: *mut Head) -> bool {
        let shape = &self.cache.shape;
        let all = Span {
            start: 0,
            end: shape.block_size as u32,
        };
        let mut at = first;
        // SAFETY: By the precondition.
        while let Some(head) = unsafe { at.as_ref() } {
            // SAFETY: The data is valid memory that nobody else uses while the buffer is busy.
            let added = unsafe { add_data(shape, bio, head.data, all) };
            if !added {
                return false;
            }
            at = head.chain.load(Ordering::Relaxed);
        }
        true
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.send();
    }
}

/// Adds a span of the data of a buffer to a bio. Returns [`false`] if the bio has no room.
///
/// # Safety
///
/// The bio is the caller's. `data` is that of a buffer of this shape, in which the span is, and
/// stays valid until the bio ends.
pub(super) unsafe fn add_data(
    shape: &Shape,
    bio: *mut bindings::bio,
    data: NonNull<u8>,
    span: Span,
) -> bool {
    let bytes = span.len();
    let from = data.as_ptr().wrapping_add(span.start as usize).cast();
    // SAFETY: The data is memory of the direct map, or of `vmalloc`.
    unsafe {
        match shape.class_of(data) {
            Class::Virtual => bindings::bio_add_vmalloc(bio, from, bytes),
            _ => {
                let page = bindings::virt_to_page(from);
                let offset = from as usize % kernel::page::PAGE_SIZE;
                bindings::bio_add_page(bio, page, bytes, offset as u32) as u32 == bytes
            }
        }
    }
}

/// Calls a function that submits bios, which go to the device together when it returns or sleeps.
pub(super) fn plugged<R>(f: impl FnOnce() -> R) -> R {
    let mut plug = MaybeUninit::uninit();
    // SAFETY: The plug stays where it is until it is finished, and is used by this task only.
    unsafe { bindings::blk_start_plug(plug.as_mut_ptr()) };
    let result = f();
    // SAFETY: As above.
    unsafe { bindings::blk_finish_plug(plug.as_mut_ptr()) };
    result
}

/// Ends a read. Any context.
///
/// # Safety
///
/// `bio` is a bio of a [`Run`] that was sent.
unsafe extern "C" fn end_io(bio: *mut bindings::bio) {
    // Once the buffers are filled, the last client may go, and the module with it. Its code stays
    // until those are done who are in here.
    let _rcu = rcu::read_lock();
    // SAFETY: The bio is ours again. It goes before the buffers do: once they are filled, the
    // client may be destroyed, and the set with it.
    let (first, status) = unsafe {
        let first = (*bio).bi_private.cast::<Head>();
        let status = (*bio).bi_status;
        bindings::bio_put(bio);
        (first, status)
    };
    // SAFETY: The bio was the producer of its buffers, which are valid while they are busy.
    unsafe {
        let alone = (*first).chain.load(Ordering::Relaxed).is_null();
        let result = match status {
            0 => Ok(()),
            // It may be that only a neighbour cannot be read.
            _ if !alone => Err(Status::RETRY),
            status => Err(Status(status)),
        };
        complete(first, result);
    }
}

/// Ends busy for chained buffers, and gives up the producer's references.
///
/// # Safety
///
/// The buffers are chained, valid, and busy with the caller as the producer.
unsafe fn complete(first: *mut Head, result: Result<(), Status>) {
    let mut at = first;
    // SAFETY: By the precondition.
    while let Some(head) = unsafe { at.as_ref() } {
        // Before the buffer is given up.
        at = head.chain.load(Ordering::Relaxed);
        let state = head.state.as_ptr();
        head.state.complete(result, false);
        wait::filled(state);
    }
    wait::released();
}
