// SPDX-License-Identifier: GPL-2.0

//! Reading neighbouring blocks with one bio.
//!
//! C header: [`include/linux/bio.h`](srctree/include/linux/bio.h)

use super::{
    atomic::Ordering,
    cache::Cache,
    limit::Class,
    memory::Head,
    state::Status,
    wait, //
};
use crate::{
    alloc,
    bindings,
    context::MaySleep, //
};
use core::ptr::{
    self,
    NonNull, //
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
        // SAFETY: The device is open, the set valid, and this may sleep: it does not fail.
        let bio = unsafe {
            bindings::bio_alloc_bioset(
                self.cache.device.bdev(),
                self.vecs as u16,
                bindings::req_op_REQ_OP_READ,
                bindings::RDM_GFP_NOIO_WAIT,
                self.cache.bios.set.get(),
            )
        };
        self.first = ptr::null_mut();
        self.last = ptr::null_mut();
        self.vecs = 0;
        let Some(bio) = NonNull::new(bio) else {
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
        let bytes = shape.block_size as u32;
        let mut at = first;
        // SAFETY: By the precondition.
        while let Some(head) = unsafe { at.as_ref() } {
            let data = head.data.as_ptr().cast();
            // SAFETY: The data is valid memory of the direct map, or of `vmalloc`, that nobody
            // else uses while the buffer is busy.
            let added = unsafe {
                match shape.class_of(head.data) {
                    Class::Virtual => bindings::bio_add_vmalloc(bio, data, bytes),
                    _ => {
                        let page = bindings::virt_to_page(data);
                        let offset = data as usize % kernel::page::PAGE_SIZE;
                        bindings::bio_add_page(bio, page, bytes, offset as u32) as u32 == bytes
                    }
                }
            };
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
