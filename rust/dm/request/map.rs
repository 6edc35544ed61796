// SPDX-License-Identifier: GPL-2.0

//! Requests that the core maps.

use super::{
    Header,
    OwnedRequest,
    Requests, //
};
use crate::{
    bindings,
    bio::{
        Call,
        Decision,
        Op, //
    },
    target::{
        device::Device,
        Instance, //
    },
};
use core::{
    marker::PhantomData,
    mem,
    ptr::NonNull,
    sync::atomic::AtomicU32, //
};
use kernel::{
    error::from_err_ptr,
    ffi::c_int, //
};

/// Returns the bytes that the core must set aside behind each request.
pub(crate) const fn per_io_data_size<T: Requests>() -> u32 {
    const {
        // The core places the data behind a structure that is aligned to 8 bytes.
        assert!(mem::align_of::<Header<T>>() <= 8);
        mem::size_of::<Header<T>>() as u32
    }
}

/// Why the device below gave no request.
enum Lack {
    /// All of its requests are in use.
    Busy,
    /// It is being removed.
    Gone,
}

impl From<Lack> for Decision<'_> {
    fn from(lack: Lack) -> Self {
        Self::new(match lack {
            Lack::Busy => bindings::DM_MAPIO_REQUEUE,
            Lack::Gone => bindings::DM_MAPIO_KILL,
        })
    }
}

/// A request that its target has not decided on.
///
/// # Invariants
///
/// `request` is valid and started, and the target may do with it what it likes; `header` is the
/// memory behind it for a target of type `T`. `clone` is the place for the request that the core
/// is to send. No other `MapRequest` or [`OwnedRequest`] has the name `'a`.
pub struct MapRequest<'a, T: Requests> {
    request: NonNull<bindings::request>,
    header: NonNull<Header<T>>,
    clone: *mut *mut bindings::request,
    instance: &'a Instance<T>,
    _call: Call<'a>,
}

impl<'a, T: Requests> MapRequest<'a, T> {
    fn get(&self) -> &bindings::request {
        // SAFETY: By the type invariant.
        unsafe { self.request.as_ref() }
    }

    /// Returns what the request asks for.
    pub fn op(&self) -> Op {
        Op::of(self.get().cmd_flags)
    }

    /// Returns whether all that was written before is to reach the medium. Such a request has no
    /// data.
    pub fn is_flush(&self) -> bool {
        self.get().cmd_flags & bindings::RDM_REQ_OP_MASK == bindings::req_op_REQ_OP_FLUSH
    }

    /// Returns the first sector (512 bytes) of the mapped device.
    pub fn sector(&self) -> u64 {
        self.get().__sector
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> u32 {
        self.get().__data_len
    }

    /// Fails the request with `EIO`.
    pub fn kill(self) -> Decision<'a> {
        Decision::new(bindings::DM_MAPIO_KILL)
    }

    /// Has the core keep the request, and map it again when there is room or in some milliseconds.
    pub fn requeue(self) -> Decision<'a> {
        Decision::new(bindings::DM_MAPIO_REQUEUE)
    }

    /// Has the core keep the request, and map it again in 100 milliseconds.
    pub fn requeue_later(self) -> Decision<'a> {
        Decision::new(bindings::DM_MAPIO_DELAY_REQUEUE)
    }

    /// Has the core submit the request to the same sectors of `device`, and end it with its result.
    pub fn remap(self, device: &Device) -> Decision<'a> {
        match self.request_below(device) {
            Ok(below) => {
                // SAFETY: By the type invariant; the core frees the request by `release`.
                unsafe { *self.clone = below.as_ptr() };
                Decision::new(bindings::DM_MAPIO_REMAPPED)
            }
            Err(lack) => lack.into(),
        }
    }

    /// Takes the request, with a value that stays with it, for `device`. No allocation.
    ///
    /// # Errors
    ///
    /// A decision, if the device has no request left, or is gone, or if this request has no bios.
    pub fn take(
        self,
        device: &Device,
        data: T::PerRequest,
    ) -> core::result::Result<OwnedRequest<'a, T>, Decision<'a>> {
        if self.get().bio.is_null() {
            return Err(self.kill());
        }
        let below = self.request_below(device)?;
        // SAFETY: By the type invariant.
        unsafe {
            self.header.write(Header {
                work: pin_init::zeroed(),
                original: self.request,
                below: below.as_ptr(),
                instance: NonNull::from(self.instance),
                copy: None,
                shares: AtomicU32::new(0),
                data,
            })
        };
        // INVARIANT: The header was made above. The name is that of `self`, which is gone.
        // SAFETY: As above.
        Ok(unsafe { OwnedRequest::from_header(self.header) })
    }

    /// Allocates a request of `device` like this one. Does not wait.
    fn request_below(
        &self,
        device: &Device,
    ) -> core::result::Result<NonNull<bindings::request>, Lack> {
        let flags = self.get().cmd_flags | bindings::RDM_REQ_NOMERGE;
        // SAFETY: The device is open, and takes requests: the core has checked that.
        let below = unsafe {
            let queue = (*device.bdev()).bd_queue;
            from_err_ptr(bindings::blk_mq_alloc_request(
                queue,
                flags,
                bindings::RDM_BLK_MQ_REQ_NOWAIT,
            ))
        };
        match below.map(NonNull::new) {
            Ok(Some(below)) => Ok(below),
            // SAFETY: The device is open.
            _ if unsafe { bindings::rdm_bdev_is_dying(device.bdev()) } => Err(Lack::Gone),
            _ => Err(Lack::Busy),
        }
    }
}

/// Makes a target type for bios one for requests.
pub(crate) fn adapt<T: Requests>(tt: &mut bindings::target_type) {
    tt.features = bindings::DM_TARGET_IMMUTABLE.into();
    tt.map = None;
    tt.clone_and_map_rq = Some(clone_and_map_rq::<T>);
    tt.release_clone_rq = Some(release_clone_rq);
}

/// # Safety
///
/// `ti` must be a target of requests for which `ctr` succeeded, `rq` a request for it that was
/// started, `info` and `clone` places of the core.
unsafe extern "C" fn clone_and_map_rq<T: Requests>(
    ti: *mut bindings::dm_target,
    rq: *mut bindings::request,
    info: *mut bindings::map_info,
    clone: *mut *mut bindings::request,
) -> c_int {
    // SAFETY: The core passes valid pointers; `ptr` is memory of `per_io_data_size` bytes, which
    // `ctr` set to the size of a header.
    let (instance, request) = unsafe {
        let instance = Instance::<T>::of(ti);
        // INVARIANT: By the requirements of this function.
        let request = MapRequest {
            request: NonNull::new_unchecked(rq),
            header: NonNull::new_unchecked((*info).ptr.cast()),
            clone,
            instance,
            _call: PhantomData,
        };
        (instance, request)
    };
    let target = instance.target();
    instance.state.map_request(target, request).into_raw()
}

/// # Safety
///
/// `clone` must be a request that was allocated for the core.
unsafe extern "C" fn release_clone_rq(
    clone: *mut bindings::request,
    _info: *mut bindings::map_info,
) {
    // SAFETY: By the requirements of this function; the core uses it no more.
    unsafe { bindings::blk_mq_free_request(clone) }
}
