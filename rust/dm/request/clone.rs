// SPDX-License-Identifier: GPL-2.0

//! What is sent to the device below.
//!
//! Each bio of a request has a clone, which refers to the same memory or to a part of the copy, and
//! whose result becomes the bio's. Where a write cannot be sent like that, because there is no
//! memory for clones or since they would be too many segments, the copy is sent as it is: so a
//! write depends on nothing but the copy, and copies have a reserve.

use super::{
    part,
    Header,
    OwnedRequest,
    Requests, //
};
use crate::{
    alloc, bindings,
    bio::{
        Bios,
        Cursor,
        Handed, //
    },
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    error::to_result,
    ffi::{
        c_int,
        c_void, //
    },
    page::PAGE_SIZE,
    prelude::*, //
};

/// The clones in reserve: as many as the core has for its own.
const RESERVED: u32 = 256;

/// The memory for clones of one instance.
pub(crate) struct Clones(Bios);

impl Clones {
    /// Sets the reserve aside. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        Bios::new(RESERVED, bindings::BIOSET_PERCPU_CACHE).map(Self)
    }
}

/// Where in the copy the next clone starts.
struct Place<'a> {
    cursor: Cursor<'a>,
    /// The pages that clones have, counting those at the borders for each: no less than segments.
    pages: u32,
}

/// Sends a request to `sector` of the device below.
///
/// # Errors
///
/// The request was not sent; it is the caller's again.
///
/// # Safety
///
/// `header` must be that of a request that nobody else has, and that was not sent. It must not be
/// used any more if it was sent now.
pub(super) unsafe fn send<T: Requests>(
    header: NonNull<Header<T>>,
    sector: u64,
) -> core::result::Result<(), bindings::blk_status_t> {
    // SAFETY: By the requirements of this function; `below` is a request of ours. Once that is
    // inserted, its completion has the header.
    let status = unsafe {
        let below = header.as_ref().below;
        if below.is_null() {
            return Err(bindings::RDM_BLK_STS_IOERR as bindings::blk_status_t);
        }
        if (*below).bio.is_null() {
            attach(header, below)?;
        }
        (*below).__sector = sector;
        (*below).end_io = Some(end_io::<T>);
        (*below).end_io_data = header.as_ptr().cast();
        let status = bindings::blk_insert_cloned_request(below);
        if super::is_busy(status) {
            bindings::blk_mq_cleanup_rq(below);
        }
        status
    };
    match status {
        0 => Ok(()),
        status => Err(status),
    }
}

/// Gives the request below its bios.
///
/// # Safety
///
/// As for [`send`]; `below` must be the request below, without bios.
unsafe fn attach<T: Requests>(
    header: NonNull<Header<T>>,
    below: *mut bindings::request,
) -> core::result::Result<(), bindings::blk_status_t> {
    const NO_MEMORY: bindings::blk_status_t =
        bindings::RDM_BLK_STS_RESOURCE as bindings::blk_status_t;
    const REFUSED: bindings::blk_status_t = bindings::RDM_BLK_STS_IOERR as bindings::blk_status_t;

    // SAFETY: By the requirements of this function.
    unsafe {
        let Header { original, copy, .. } = header.as_ref();
        let original = original.as_ptr();
        let Some(copy) = *copy else {
            return clone_bios(header, below, ptr::null_mut()).map_err(|_| NO_MEMORY);
        };
        if (*original).bio != (*original).biotail {
            let mut place = Place {
                cursor: part::whole(copy, (*original).__data_len),
                pages: 0,
            };
            let max = (*(*below).q).limits.max_segments.into();
            if clone_bios(header, below, &mut place).is_ok() {
                if place.pages <= max {
                    return Ok(());
                }
                bindings::blk_rq_unprep_clone(below);
            }
        }
        (*copy.as_ptr()).bi_end_io = Some(copy_end_io);
        (*copy.as_ptr()).bi_bdev = (*(*(*below).q).disk).part0;
        match bindings::blk_rq_append_bio(below, copy.as_ptr()) {
            0 => Ok(()),
            _ => Err(REFUSED),
        }
    }
}

/// Clones the bios of a request. `place` is null if they keep their memory.
///
/// # Safety
///
/// As for [`attach`].
unsafe fn clone_bios<T: Requests>(
    header: NonNull<Header<T>>,
    below: *mut bindings::request,
    place: *mut Place<'_>,
) -> Result {
    alloc::point()?;
    // SAFETY: By the requirements of this function.
    unsafe {
        let clones = header.as_ref().instance.as_ref().clones().ok_or(EINVAL)?;
        to_result(bindings::blk_rq_prep_clone(
            below,
            header.as_ref().original.as_ptr(),
            clones.0.as_ptr(),
            bindings::RDM_GFP_NOWAIT,
            Some(clone_bio),
            place.cast(),
        ))
    }
}

/// # Safety
///
/// `clone` must be a clone of `original` that nobody uses yet, `place` null or a [`Place`].
unsafe extern "C" fn clone_bio(
    clone: *mut bindings::bio,
    original: *mut bindings::bio,
    place: *mut c_void,
) -> c_int {
    // SAFETY: By the requirements of this function. The vectors of the copy are there as long as
    // the clone is: the copy is freed after it.
    unsafe {
        (*clone).bi_end_io = Some(clone_end_io);
        (*clone).bi_private = original.cast();
        if let Some(place) = place.cast::<Place<'_>>().as_mut() {
            let bytes = (*original).bi_iter.bi_size;
            let (vecs, iter) = place.cursor.first(bytes).into_parts();
            place.cursor.advance(bytes);
            let pages = bytes.div_ceil(PAGE_SIZE as u32).saturating_add(1);
            // One that starts at a page has none more.
            let more = u32::from(iter.bi_offset as usize % PAGE_SIZE == 0);
            place.pages = place.pages.saturating_add(pages.saturating_sub(more));
            (*clone).bi_io_vec = vecs.cast_mut();
            (*clone).bi_iter = iter;
        }
    }
    0
}

/// Gives back the request below, if it is still there.
///
/// # Safety
///
/// The request must be of one that nobody else has, and not be under way.
pub(super) unsafe fn release<T: Requests>(header: *mut Header<T>) {
    // SAFETY: By the requirements of this function. The bios of `below` are clones of ours, or the
    // copy, which is not freed here.
    unsafe {
        let below = core::mem::replace(&mut (*header).below, ptr::null_mut());
        if below.is_null() {
            return;
        }
        if (*header)
            .copy
            .is_some_and(|copy| (*below).bio == copy.as_ptr())
        {
            (*below).bio = ptr::null_mut();
        }
        bindings::blk_rq_unprep_clone(below);
        bindings::blk_mq_free_request(below);
    }
}

/// # Safety
///
/// `clone` must be one that was prepared by [`clone_bio`], and whose request is not done.
unsafe extern "C" fn clone_end_io(clone: *mut bindings::bio) {
    // SAFETY: By the requirements of this function; so the original bio is ours.
    unsafe {
        if let Some(original) = NonNull::new((*clone).bi_private.cast()) {
            part::set_status(original, (*clone).bi_status);
        }
        bindings::bio_put(clone);
    }
}

/// The copy belongs to the request, which has not ended.
///
/// # Safety
///
/// There is nothing to keep to.
unsafe extern "C" fn copy_end_io(_copy: *mut bindings::bio) {}

/// # Safety
///
/// `below` must have been sent for a request that was taken.
unsafe extern "C" fn end_io<T: Requests>(
    below: *mut bindings::request,
    _status: bindings::blk_status_t,
    _batch: *const bindings::io_comp_batch,
) -> bindings::rq_end_io_ret {
    // SAFETY: `send` set the data, and gave up the request. All bios of `below` have ended, so it
    // has none. The caller frees it.
    let (instance, mut request) = unsafe {
        let header = NonNull::new_unchecked((*below).end_io_data.cast::<Header<T>>());
        (*header.as_ptr()).below = ptr::null_mut();
        (
            header.as_ref().instance.as_ref(),
            OwnedRequest::from_header(header),
        )
    };
    if let Some(copy) = request.header().copy {
        // SAFETY: The copy is ours. It has a result if it was sent itself.
        let status = unsafe { (*copy.as_ptr()).bi_status };
        if status != 0 {
            for mut part in request.parts() {
                part.fail(crate::bio::BlockStatus::from_raw(status));
            }
        }
    }
    let Handed { .. } = instance.state.complete_request(instance.target(), request);
    bindings::rq_end_io_ret_RQ_END_IO_FREE
}
