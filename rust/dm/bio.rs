// SPDX-License-Identifier: GPL-2.0

//! Bios, and who owns them.
//!
//! A bio belongs to a target from the call of [`map`](Operations::map) until the target says what
//! becomes of it. A [`MapBio`] is that right: the methods that consume it make the [`Decision`]
//! that `map` must return, so nothing is decided twice or not at all.
//!
//! A target that wants to see the data [takes](MapBio::take) the bio. An [`Owned`] bio moves
//! between the callbacks: [`submit`](Owned::submit) sends it to a device and
//! [`complete`](Operations::complete) gets it back, [`queue`](Owned::queue) sends it to
//! [`work`](Operations::work), [`end`](Owned::end) is the end. Each of them makes a [`Handed`],
//! which the callbacks must return: whoever has an owned bio hands it on. An owned bio that is
//! dropped all the same ends with an error, and a warning.
//!
//! The lifetime of a [`MapBio`] or an [`Owned`] is the name of the call that got the bio. It goes
//! over to the [`Decision`] or [`Handed`] that the bio is consumed for, and a callback must return
//! one with the name of its own call. So the answer is about the bio that was asked about: that of
//! another bio, or one from an earlier call, has another type. A target that wants to have a bio
//! beyond the callback [keeps](Owned::keep) it.
//!
//! With an owned bio the target keeps a value of [`Operations::PerBio`], in the memory that the
//! core sets aside in front of each bio: it costs no allocation. The core neither clears nor drops
//! that memory; `take` writes the value, the end of the bio drops it.
//!
//! C header: [`include/linux/bio.h`](srctree/include/linux/bio.h)

mod batch;
mod call;
mod copy;
mod data;
mod job;
mod list;
mod map;
mod metadata;
mod plug;
mod sort;
mod tags;

pub use batch::Batch;
pub(crate) use batch::Batches;
pub(crate) use call::Call;
pub use call::{
    Decision,
    Handed, //
};
pub(crate) use copy::{
    Bios,
    Copies,
    MAX_COPY, //
};
pub use copy::{
    Budget,
    Lack, //
};
pub use data::{
    Cursor,
    Segment, //
};
pub use list::List;
use map::op_of;
pub use map::{
    MapBio,
    Op, //
};
pub use plug::plugged;
pub use sort::{
    Sorted,
    Sorter, //
};
pub use tags::{
    TagPool,
    Tags, //
};

use crate::{
    bindings,
    context::MaySleep,
    target::{
        device::Device,
        Instance,
        Operations,
        Target, //
    },
    workqueue::OwnedQueue, //
};
use core::{
    marker::PhantomData,
    mem,
    ptr::NonNull, //
};
use kernel::prelude::*;

/// The result of a bio, `blk_status_t`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BlockStatus(bindings::blk_status_t);

impl BlockStatus {
    /// All is well.
    pub const OK: Self = Self(0);

    /// The device, or the data on it, is bad; the submitter sees `EIO`.
    pub const IO_ERROR: Self = Self(bindings::RDM_BLK_STS_IOERR as bindings::blk_status_t);

    /// The bio would have had to wait, which it asked not to; it is sent again in another way.
    pub const AGAIN: Self = Self(bindings::RDM_BLK_STS_AGAIN as bindings::blk_status_t);

    #[inline]
    pub(crate) fn from_raw(status: bindings::blk_status_t) -> Self {
        Self(status)
    }

    #[inline]
    pub(crate) fn into_raw(self) -> bindings::blk_status_t {
        self.0
    }

    /// Returns whether all is well.
    #[inline]
    pub fn is_ok(self) -> bool {
        self == Self::OK
    }
}

impl From<Error> for BlockStatus {
    fn from(error: Error) -> Self {
        // SAFETY: The function has no requirements.
        Self(unsafe { bindings::errno_to_blk_status(error.to_errno()) })
    }
}

impl From<Result> for BlockStatus {
    fn from(result: Result) -> Self {
        match result {
            Ok(()) => Self::OK,
            Err(e) => e.into(),
        }
    }
}

/// What stands in front of a bio that a target has taken.
#[repr(C)]
struct Header<T: Operations> {
    work: bindings::work_struct,
    bio: NonNull<bindings::bio>,
    instance: NonNull<Instance<T>>,
    end_io: bindings::bio_end_io_t,
    iter: bindings::bvec_iter,
    metadata: *mut bindings::bio_integrity_payload,
    next: *mut Header<T>,
    copy: Option<NonNull<bindings::bio>>,
    tags: Option<Tags>,
    data: T::PerBio,
}

/// Returns the bytes that the core must set aside in front of each bio.
pub(crate) const fn per_io_data_size<T: Operations>() -> u32 {
    const {
        // The core places the data directly in front of a structure that is aligned to 8 bytes.
        assert!(mem::align_of::<Header<T>>() <= 8);
        assert!(mem::size_of::<Header<T>>() % 8 == 0);
        mem::size_of::<Header<T>>() as u32
    }
}

/// # Safety
///
/// `bio` must be valid and owned by the caller.
#[inline]
unsafe fn redirect(bio: *mut bindings::bio, device: &Device, sector: u64) {
    // SAFETY: By the requirements of this function, and the device is open.
    unsafe {
        bindings::bio_set_dev(bio, device.bdev());
        (*bio).bi_iter.bi_sector = sector;
    }
}

/// A bio that a target has taken.
///
/// # Invariants
///
/// `header` is the valid header of a valid bio whose completion leads back to it, and `self` is
/// the only way to it. The instance lives as long as the bio has not ended: the core destroys no
/// target with bios in flight. No other `Owned` or [`MapBio`] has the name `'a`, unless it is
/// `'static`.
#[must_use = "a bio that is dropped ends with an error"]
pub struct Owned<'a, T: Operations> {
    header: NonNull<Header<T>>,
    _call: Call<'a>,
}

/// A bio that a target has taken and keeps: no callback waits for what becomes of it.
///
/// Callbacks are written for calls of any name, so a `Handed<'static>` does for none of them.
pub type Kept<T> = Owned<'static, T>;

// SAFETY: A bio may be handled by any thread, and `T::PerBio` is `Send`.
unsafe impl<T: Operations> Send for Owned<'_, T> {}

impl<'a, T: Operations> Owned<'a, T> {
    /// # Safety
    ///
    /// `header` must be that of a bio that was taken and that nobody else has. The result must be
    /// given to one call of a callback, or be a [`Kept`].
    #[inline]
    unsafe fn from_header(header: NonNull<Header<T>>) -> Self {
        // INVARIANT: By the requirements of this function.
        Self {
            header,
            _call: PhantomData,
        }
    }

    /// Keeps the bio beyond the callback, in a list or with a request to somebody else.
    #[inline]
    pub fn keep(self) -> (Kept<T>, Handed<'a>) {
        let header = self.header;
        mem::forget(self);
        // SAFETY: `self` had the bio, and is gone.
        let kept = unsafe { Kept::from_header(header) };
        (kept, Handed::new())
    }

    #[inline]
    fn header(&self) -> &Header<T> {
        // SAFETY: By the type invariant.
        unsafe { self.header.as_ref() }
    }

    #[inline]
    fn bio(&self) -> *mut bindings::bio {
        self.header().bio.as_ptr()
    }

    /// Gives up the right to the bio without ending it.
    #[inline]
    fn into_header(self) -> *mut Header<T> {
        let header = self.header.as_ptr();
        mem::forget(self);
        header
    }

    /// Returns the value that stays with the bio.
    #[inline]
    pub fn data(&self) -> &T::PerBio {
        &self.header().data
    }

    /// Returns the value that stays with the bio.
    #[inline]
    pub fn data_mut(&mut self) -> &mut T::PerBio {
        // SAFETY: By the type invariant, and `&mut self` is exclusive.
        unsafe { &mut (*self.header.as_ptr()).data }
    }

    /// Returns the result that the device gave.
    #[inline]
    pub fn status(&self) -> BlockStatus {
        // SAFETY: By the type invariant, the bio is valid and ours.
        BlockStatus(unsafe { (*self.bio()).bi_status })
    }

    /// Returns the number of bytes when the bio was taken.
    #[inline]
    pub fn bytes(&self) -> u32 {
        let iter = &self.header().iter;
        iter.bi_size
    }

    /// Returns what the bio asks for.
    #[inline]
    pub fn op(&self) -> Op {
        // SAFETY: By the type invariant, the bio is valid.
        unsafe { op_of(self.bio()) }
    }

    /// Returns the first sector (512 bytes) of the mapped device, as it was when the bio was
    /// taken.
    #[inline]
    pub fn sector(&self) -> u64 {
        let iter = &self.header().iter;
        iter.bi_sector
    }

    /// Returns whether the bio carries data to the device.
    #[inline]
    pub fn is_write(&self) -> bool {
        // SAFETY: By the type invariant, the bio is valid.
        unsafe { (*self.bio()).bi_opf & 1 != 0 }
    }

    /// Returns the I/O priority.
    #[inline]
    pub fn priority(&self) -> u16 {
        // SAFETY: By the type invariant, the bio is valid and ours.
        unsafe { (*self.bio()).bi_ioprio }
    }

    /// Returns whether the bio is a guess of what will be wanted: its failure matters to nobody.
    #[inline]
    pub fn is_read_ahead(&self) -> bool {
        // SAFETY: By the type invariant, the bio is valid and ours.
        unsafe { (*self.bio()).bi_opf & bindings::RDM_REQ_RAHEAD != 0 }
    }

    /// Returns a position at the front of the data.
    #[inline]
    pub fn cursor(&self) -> Cursor<'_> {
        // SAFETY: By the type invariant, the bio is valid and ours, and `iter` is how it was when
        // it was taken: its vectors are still the ones that `iter` describes.
        unsafe {
            let bio = self.bio();
            let writable = (*bio).bi_opf & 1 == 0;
            Cursor::new((*bio).bi_io_vec, self.header().iter, writable)
        }
    }

    /// Sends the bio to `sector` of `device`. [`complete`](Operations::complete) gets it back.
    /// In `map`, the bio goes out once `map` has returned.
    #[inline]
    pub fn submit(self, device: &Device, sector: u64) -> Handed<'a> {
        let bio = self.bio();
        // SAFETY: By the type invariant, the instance lives as long as the bio.
        let accounts = unsafe { self.header().instance.as_ref() }.accounts();
        self.into_header();
        // SAFETY: By the type invariant the bio was ours. Its completion makes a new `Owned`.
        unsafe {
            match accounts {
                true => copy::submit_accounted(bio, device, sector),
                false => {
                    redirect(bio, device, sector);
                    bindings::submit_bio_noacct(bio);
                }
            }
        }
        Handed::new()
    }

    /// Sends a part of the bio, `bytes` from byte `from` on, to `sector` of `device`.
    /// [`complete`](Operations::complete) gets the whole bio back. As [`submit`](Self::submit)
    /// otherwise; a part that is not in the bio fails with `EIO`.
    #[inline]
    pub fn submit_part(self, device: &Device, sector: u64, from: u32, bytes: u32) -> Handed<'a> {
        let bio = self.bio();
        let whole = self.bytes();
        if bytes == 0 || from.saturating_add(bytes) > whole {
            return self.end(BlockStatus::IO_ERROR);
        }
        // SAFETY: By the type invariant, the bio is valid and ours, and the iterator is how it was
        // when the bio was taken.
        unsafe {
            let mut part = Cursor::new((*bio).bi_io_vec, self.header().iter, false);
            part.advance(from);
            let mut iter = part.into_iter();
            iter.bi_size = bytes;
            metadata::detach(bio);
            (*bio).bi_iter = iter;
            (*bio).bi_status = 0;
        }
        self.submit(device, sector)
    }

    /// Sends the bio to `queue`, where [`work`](Operations::work) gets it. Any context.
    #[inline]
    pub fn queue(self, queue: &OwnedQueue) -> Handed<'a> {
        let header = self.into_header();
        // SAFETY: The header is ours until the work runs, so its work item is not in use.
        unsafe {
            let work = &raw mut (*header).work;
            bindings::rdm_init_bio_work(work, Some(run_work::<T>));
            bindings::queue_work(queue.as_ptr(), work);
        }
        Handed::new()
    }

    /// Ends the bio. Its memory may be gone or in use again when this returns. Any context.
    #[inline]
    pub fn end(self, status: BlockStatus) -> Handed<'a> {
        let header = self.into_header();
        // SAFETY: By the type invariant, header and bio were ours. The value is dropped once, and
        // neither is touched after the bio has ended.
        unsafe {
            let bio = (*header).bio.as_ptr();
            (*bio).bi_end_io = (*header).end_io;
            (*bio).bi_status = status.0;
            copy::drop_copy(header);
            metadata::attach(bio, (*header).metadata);
            (&raw mut (*header).tags).drop_in_place();
            (&raw mut (*header).data).drop_in_place();
            bindings::bio_endio(bio);
        }
        Handed::new()
    }

    /// Never ends the bio. Only for a machine that is about to restart.
    pub fn abandon(self) -> Handed<'a> {
        self.into_header();
        Handed::new()
    }

    /// Writes an audit record of an event with this bio at `sector`. May sleep.
    pub fn audit(&self, prefix: &CStr, op: &CStr, sector: u64, success: bool, _: MaySleep<'_>) {
        // SAFETY: By the type invariant, the bio is valid; the texts are strings.
        unsafe {
            bindings::dm_audit_log_bio(
                prefix.as_char_ptr(),
                op.as_char_ptr(),
                self.bio(),
                sector,
                success.into(),
            )
        }
    }

    /// Returns the target that took the bio.
    pub fn target(&self) -> &Target {
        // SAFETY: By the type invariant, the instance lives as long as the bio.
        unsafe { self.header().instance.as_ref() }.target()
    }
}

impl<T: Operations> Kept<T> {
    /// Goes on with the bio as a callback of its target would, in the context of the caller.
    pub fn resume(self, f: impl for<'a> FnOnce(&T, &Target, Owned<'a, T>) -> Handed<'a>) {
        let header = self.header;
        mem::forget(self);
        // SAFETY: `self` had the bio, and is gone. The instance lives as long as the bio.
        let (instance, bio) = unsafe {
            (
                header.as_ref().instance.as_ref(),
                Owned::from_header(header),
            )
        };
        let Handed(_) = f(&instance.state, instance.target(), bio);
    }
}

impl<T: Operations> Drop for Owned<'_, T> {
    fn drop(&mut self) {
        pr_err!("a bio was dropped instead of being ended\n");
        // SAFETY: `self` is not used after this.
        let bio = unsafe { Kept::from_header(self.header) };
        let _ended = bio.end(BlockStatus::IO_ERROR);
    }
}

/// # Safety
///
/// `bio` must be a bio that was taken and submitted.
unsafe extern "C" fn end_io<T: Operations>(bio: *mut bindings::bio) {
    // SAFETY: `take` set `bi_private`; the bio is ours again, since the `Owned` that submitted it
    // is gone, and its instance lives.
    let (instance, bio) = unsafe {
        let header = NonNull::new_unchecked((*bio).bi_private.cast::<Header<T>>());
        (
            header.as_ref().instance.as_ref(),
            Owned::from_header(header),
        )
    };
    let Handed(_) = instance.state.complete(instance.target(), bio);
}

/// # Safety
///
/// `work` must be the work item of a bio that was queued.
unsafe extern "C" fn run_work<T: Operations>(work: *mut bindings::work_struct) {
    // SAFETY: The work item is the first field of the header; the bio is ours again, since the
    // `Owned` that queued it is gone.
    let (instance, bio) = unsafe {
        let header = NonNull::new_unchecked(work.cast::<Header<T>>());
        (
            header.as_ref().instance.as_ref(),
            Owned::from_header(header),
        )
    };
    let token = MaySleep::assert();
    let Handed(_) = instance.state.work(instance.target(), bio, token);
}
