// SPDX-License-Identifier: GPL-2.0

//! The devices that a table names.
//!
//! C header: [`include/linux/device-mapper.h`](srctree/include/linux/device-mapper.h)

use super::Target;
use crate::{
    alloc,
    bindings, //
};
use core::{
    ffi::CStr,
    ptr::NonNull,
    sync::atomic::{
        AtomicUsize,
        Ordering, //
    },
};
use kernel::{
    error::to_result,
    prelude::*,
    sync::{
        Arc,
        UniqueArc, //
    },
};

/// An open device that was named in the table.
///
/// It is a counted handle: clones are cheap, and the device is closed with the last one. All of
/// them must be gone when the target is destroyed, which comes by itself as long as they live in
/// the target's state; the destructor waits for one that is left somewhere else, and says so.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

/// Metadata beside the data of a device.
#[derive(Clone, Copy, Debug)]
pub struct Metadata {
    /// The bytes of metadata for each interval.
    pub bytes: u32,
    /// The bytes of data of an interval.
    pub interval: u32,
}

/// # Invariants
///
/// `dev` was returned by `dm_get_device` for `ti`, and `users` counts `self`. `ti` is valid as
/// long as `users` is not zero, since the destructor of the target waits for that.
struct Inner {
    ti: NonNull<bindings::dm_target>,
    dev: NonNull<bindings::dm_dev>,
    users: Arc<Users>,
}

/// The number of open devices of one target.
pub(crate) struct Users(AtomicUsize);

impl Users {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

// SAFETY: `dm_put_device` may be called from any thread.
unsafe impl Send for Inner {}
// SAFETY: `&Inner` only gives access to fields that do not change while the device is open.
unsafe impl Sync for Inner {}

impl Device {
    /// Opens a device for a target that is being constructed. May sleep.
    pub(super) fn open(
        target: &Target,
        users: &Arc<Users>,
        path: &CStr,
        mode: bindings::blk_mode_t,
    ) -> Result<Self> {
        alloc::point()?;
        // The memory first: a device that is open is always owned by something.
        let memory = UniqueArc::<Inner>::new_uninit(GFP_KERNEL)?;
        let ti = target.as_ptr();
        let mut dev = core::ptr::null_mut();
        // SAFETY: `ti` is being constructed, `path` is a string and `dev` valid for writes.
        to_result(unsafe { bindings::dm_get_device(ti, path.as_char_ptr(), mode, &mut dev) })?;
        let (ti, dev) = (
            NonNull::new(ti).ok_or(EINVAL)?,
            NonNull::new(dev).ok_or(EINVAL)?,
        );
        users.0.fetch_add(1, Ordering::Relaxed);
        // INVARIANT: `dm_get_device` succeeded for `ti`, and `users` was increased.
        let inner = Inner {
            ti,
            dev,
            users: users.clone(),
        };
        Ok(Self(memory.write(inner).into()))
    }

    /// Returns the number of the device as `major:minor`, as all status lines show it.
    pub fn name(&self) -> &CStr {
        // SAFETY: By the type invariant, `dev` is valid; the name ends with a NUL byte.
        unsafe { CStr::from_char_ptr((&raw const (*self.0.dev.as_ptr()).name).cast()) }
    }

    /// Returns the size in sectors of 512 bytes. Any context.
    pub fn sectors(&self) -> u64 {
        // SAFETY: By the type invariant, the device is open.
        unsafe { bindings::bdev_nr_sectors(self.bdev()) }
    }

    /// Returns the size of a logical block in bytes. Any context.
    pub fn logical_block_size(&self) -> u32 {
        // SAFETY: By the type invariant, the device is open.
        unsafe { bindings::bdev_logical_block_size(self.bdev()) }
    }

    /// Returns the size of a physical block in bytes. Any context.
    pub fn physical_block_size(&self) -> u32 {
        // SAFETY: By the type invariant, the device is open.
        unsafe { bindings::bdev_physical_block_size(self.bdev()) }
    }

    /// Calls `f` with the name of the device as the kernel knows it, such as `dm-0`.
    pub fn with_disk_name<R>(&self, f: impl FnOnce(&CStr) -> R) -> R {
        // `BDEVNAME_SIZE`.
        let mut name = [0_u8; 32];
        // SAFETY: By the type invariant, the device is open; the name is cut to what fits.
        unsafe {
            bindings::rdm_bdev_name(self.bdev(), name.as_mut_ptr().cast(), name.len())
            //
        };
        f(CStr::from_bytes_until_nul(&name).unwrap_or_default())
    }

    /// Returns whether a target for [requests](crate::request) may have the device below: it takes
    /// requests itself, and is no partition. Any context.
    pub fn takes_requests(&self) -> bool {
        // SAFETY: By the type invariant, the device is open.
        unsafe { bindings::rdm_bdev_takes_requests(self.bdev()) }
    }

    /// Returns whether the device has zones. Any context.
    pub fn is_zoned(&self) -> bool {
        // SAFETY: By the type invariant, the device is open.
        unsafe { bindings::bdev_is_zoned(self.bdev()) }
    }

    /// Returns the metadata that the device keeps for whoever writes; `None` if it has none, or if
    /// the block layer checks data with it. Any context.
    pub fn metadata(&self) -> Option<Metadata> {
        let mut metadata = Metadata {
            bytes: 0,
            interval: 0,
        };
        // SAFETY: By the type invariant, the device is open; both places are valid.
        let exists = unsafe {
            bindings::rdm_bdev_metadata(
                self.bdev(),
                &mut metadata.bytes,
                &mut metadata.interval, //
            )
        };
        exists.then_some(metadata)
    }

    /// Returns the device, which is open as long as `self` or a clone of it lives.
    #[inline]
    pub(crate) fn bdev(&self) -> *mut bindings::block_device {
        // SAFETY: By the type invariant, `dev` is valid.
        unsafe { (*self.0.dev.as_ptr()).bdev }
    }

    #[inline]
    pub(crate) fn dm_dev(&self) -> *mut bindings::dm_dev {
        self.0.dev.as_ptr()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: By the type invariant, `dev` was obtained by `dm_get_device` for `ti`, and
        // `ti` is valid.
        unsafe { bindings::dm_put_device(self.ti.as_ptr(), self.dev.as_ptr()) };
        self.users.0.fetch_sub(1, Ordering::Release);
    }
}
