// SPDX-License-Identifier: GPL-2.0

//! Device mapper targets.
//!
//! A target is a type that implements [`Operations`]. Its module registers it under one or more
//! names with a [`Registration`]; from then on the device mapper core makes an instance for each
//! table line of that name and calls it for each bio.
//!
//! Callbacks run on many CPUs at once, so they are given `&self`. What may sleep is said by the
//! token [`MaySleep`]: a callback that is not given one must not sleep.
//!
//! The life of an instance: [`ctr`](Operations::ctr) makes it, [`preresume`](Operations::preresume)
//! precedes the first bio, [`map`](Operations::map) is called for each bio,
//! [`postsuspend`](Operations::postsuspend) after the last one, until the next `preresume`. It is
//! dropped when no bio and no job of it is left.
//!
//! # Examples
//!
//! A target that maps to the front of another device:
//!
//! ```ignore
//! struct Front(Device);
//!
//! #[vtable]
//! impl Operations for Front {
//!     type PerBio = ();
//!     type Job = Infallible;
//!     const VERSION: [u32; 3] = [1, 0, 0];
//!     const FEATURES: Features = Features::NONE;
//!     const MESSAGES: Messages = Messages { prefix: c"front", no_memory: c"Cannot allocate" };
//!
//!     fn ctr(ti: &Construction<'_>, words: &[Word]) -> Result<Self, TableError> {
//!         let mut args = Args::new(words);
//!         let path = args.expect(c"No device")?;
//!         Ok(Self(ti.open(path, Access::Table).map_err(with_text(c"Device lookup failed"))?))
//!     }
//!
//!     fn map<'a>(&self, ti: &Target, bio: MapBio<'a, Self>) -> Decision<'a> {
//!         let sector = ti.offset(bio.sector());
//!         bio.remap(&self.0, sector)
//!     }
//! }
//! ```
//!
//! C header: [`include/linux/device-mapper.h`](srctree/include/linux/device-mapper.h)

pub mod args;
pub mod device;
mod instance;
pub mod limits;
pub mod number;
pub mod registration;
pub mod status;
mod task;

pub use self::{
    instance::{
        Access,
        Construction, //
    },
    registration::Registration, //
};
pub(crate) use instance::Instance;

use crate::{
    bindings,
    bio::{
        Batch,
        Decision,
        Handed,
        MapBio,
        Owned, //
    },
    context::MaySleep,
    errno::Errno,
    workqueue::OwnedQueue, //
};
use args::TableError;
use core::{
    ffi::CStr,
    ops::BitOr, //
};
use device::Device;
use kernel::{
    error::VTABLE_DEFAULT_ERROR,
    ffi::{
        c_char,
        c_int,
        c_void, //
    },
    prelude::*,
    types::Opaque, //
};
use limits::Limits;
use status::Status;

/// What the core must know of a target type, `DM_TARGET_*`.
#[derive(Clone, Copy)]
pub struct Features(u32);

impl Features {
    /// Nothing special.
    pub const NONE: Self = Self(0);
    /// A table with this target has no other line.
    pub const SINGLETON: Self = Self(bindings::DM_TARGET_SINGLETON);
    /// A device with this target never gets a table of another type.
    pub const IMMUTABLE: Self = Self(bindings::DM_TARGET_IMMUTABLE);

    /// Devices with zones that must be written in order may be below.
    pub const ZONED: Self = Self(bindings::DM_TARGET_ZONED_HM);
    /// Writes that a device must do as a whole may be sent.
    pub const ATOMIC_WRITES: Self = Self(bindings::DM_TARGET_ATOMIC_WRITES);

    /// Bios that must not wait for anything are welcome: `map` never does.
    pub const NOWAIT: Self = Self(bindings::DM_TARGET_NOWAIT);

    /// The device has a profile of metadata of its own, not that of the devices below.
    pub const INTEGRITY: Self = Self(bindings::DM_TARGET_INTEGRITY);

    /// Returns both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Features {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

/// The texts of a target that the crate itself needs.
pub struct Messages {
    /// The name in audit records.
    pub prefix: &'static CStr,
    /// The error of a table for which there is no memory at all.
    pub no_memory: &'static CStr,
}

/// A word of a table line.
///
/// # Invariants
///
/// The pointer is to a string that is valid as long as the slice of words that `self` is in.
#[repr(transparent)]
pub struct Word(*mut c_char);

impl Word {
    /// Overwrites the word at `index`, if there is one, with the digit 0.
    pub(crate) fn scrub(words: &mut [Self], index: Option<usize>) {
        let Some(word) = index.and_then(|index| words.get_mut(index)) else {
            return;
        };
        let len = word.as_ref().to_bytes().len();
        // SAFETY: By the type invariant; `&mut` makes sure that nobody has borrowed the string,
        // which is the core's copy of what user space said.
        unsafe { word.0.cast::<u8>().write_bytes(b'0', len) };
    }
}

impl AsRef<CStr> for Word {
    fn as_ref(&self) -> &CStr {
        // SAFETY: By the type invariant, and `&self` is a borrow of the slice.
        unsafe { CStr::from_char_ptr(self.0) }
    }
}

/// Where an ioctl on the mapped device goes.
pub struct Forward<'a> {
    /// The device that gets it.
    pub device: &'a Device,
    /// Whether the device is mapped as a whole; if not, only `CAP_SYS_RAWIO` may use it.
    pub whole: bool,
}

/// Is told the devices of a target.
pub struct Visitor<'a> {
    target: &'a Target,
    callout: bindings::iterate_devices_callout_fn,
    data: *mut c_void,
}

impl Visitor<'_> {
    /// Tells the core that `len` sectors from `start` of `device` are mapped. The result is to be
    /// returned unless it is 0.
    pub fn visit(&mut self, device: &Device, start: u64, len: u64) -> c_int {
        match self.callout {
            // SAFETY: The core passed the function and `data` to be called with its devices.
            Some(callout) => unsafe {
                callout(self.target.as_ptr(), device.dm_dev(), start, len, self.data)
            },
            None => 0,
        }
    }
}

/// The operations of a target.
#[vtable]
pub trait Operations: Sized + Send + Sync + 'static {
    /// What an instance keeps with each bio that it [takes](MapBio::take).
    type PerBio: Send + 'static;

    /// Work of an instance that belongs to no bio, see [`MapBio::queue_job`].
    type Job: Send + 'static;

    /// The version of the target, by which tools decide on features.
    const VERSION: [u32; 3];

    /// What the core must know.
    const FEATURES: Features;

    /// Texts.
    const MESSAGES: Messages;

    /// The index of a word of the table line that is secret. It is overwritten with the digit 0 in
    /// memory once [`ctr`](Self::ctr) has returned.
    const SECRET_WORD: Option<usize> = None;

    /// The same of a word of a [message](Self::message).
    const SECRET_MESSAGE_WORD: Option<usize> = None;

    /// The number of [tasks](Operations::task).
    const TASKS: usize = 0;

    /// Makes an instance from the words of a table line.
    ///
    /// # Errors
    ///
    /// The text becomes the `ti->error` that the core logs, the number the result of the ioctl.
    fn ctr(ti: &Construction<'_>, words: &[Word]) -> Result<Self, TableError>;

    /// Decides on a bio. Process context, but must not sleep for memory or other bios.
    fn map<'a>(&self, ti: &Target, bio: MapBio<'a, Self>) -> Decision<'a>;

    /// Is given back a taken bio when the device has done it. Any context, even hard-irq.
    fn complete<'a>(&self, _ti: &Target, _bio: Owned<'a, Self>) -> Handed<'a> {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Goes on with bios that were [batched](Owned::batch_in_softirq). Softirq context, or that of
    /// a work queue; must not sleep.
    fn batch(&self, _ti: &Target, _bios: Batch<Self>) {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The queue for bios that were [plugged](Owned::batch_in_plug) by a task that sleeps now.
    fn queue(&self) -> &OwnedQueue {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Goes on with a bio that was [queued](Owned::queue).
    fn work<'a>(&self, _ti: &Target, _bio: Owned<'a, Self>, _: MaySleep<'_>) -> Handed<'a> {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Does a job that was [queued](MapBio::queue_job).
    fn job(&self, _ti: &Target, _job: Self::Job, _: MaySleep<'_>) {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Does the task of a number below [`TASKS`](Operations::TASKS), which was
    /// [started](Target::start_task).
    fn task(&self, _ti: &Target, _number: usize, _: MaySleep<'_>) {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// The queue on which a task runs. A target with tasks has to have this.
    fn task_queue(&self, _number: usize) -> &OwnedQueue {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Is called when the machine is about to stop, if the device is in use, after md and before
    /// the drivers of the hardware.
    fn reboot(&self, _ti: &Target, _: MaySleep<'_>) {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Prepares for bios. An error keeps the device suspended.
    fn preresume(&self, _ti: &Target, _: MaySleep<'_>) -> Result {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Is told that bios will come again, after [`preresume`](Self::preresume) of all targets of
    /// the table.
    fn resume(&self, _ti: &Target, _: MaySleep<'_>) {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Answers a message, which has at least one word. Bios may be in flight.
    fn message(&self, _ti: &Target, _words: &[Word], _: MaySleep<'_>) -> Result {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Cleans up when no bio is left and none will come.
    fn postsuspend(&self, _ti: &Target, _: MaySleep<'_>) {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Prints the state, `STATUSTYPE_INFO`.
    fn status_info(&self, ti: &Target, status: &mut Status<'_>);

    /// Prints the table line, `STATUSTYPE_TABLE`.
    fn status_table(&self, ti: &Target, status: &mut Status<'_>);

    /// Prints what is measured when a table is loaded, `STATUSTYPE_IMA`.
    fn status_ima(&self, ti: &Target, status: &mut Status<'_>);

    /// Says where ioctls go.
    fn prepare_ioctl(&self, _ti: &Target) -> Forward<'_> {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Says on which device, and from which of its sectors on, the zones of the target are.
    fn zones(&self) -> (&device::Device, u64) {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Tells the devices below, until one visit does not return 0.
    fn iterate_devices(&self, _ti: &Target, _visitor: &mut Visitor<'_>) -> c_int {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }

    /// Changes the limits of the mapped device.
    fn io_hints(&self, _ti: &Target, _limits: &mut Limits) {
        kernel::build_error!(VTABLE_DEFAULT_ERROR)
    }
}

/// A `struct dm_target`: the place of an instance in its table.
///
/// # Invariants
///
/// `self.0` is a valid `struct dm_target` in a table.
#[repr(transparent)]
pub struct Target(Opaque<bindings::dm_target>);

impl Target {
    /// # Safety
    ///
    /// `ptr` must be valid for the lifetime of the result.
    #[inline]
    pub(crate) unsafe fn from_raw<'a>(ptr: *mut bindings::dm_target) -> &'a Self {
        // SAFETY: By the requirements of this function; the types have the same layout.
        unsafe { &*ptr.cast() }
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut bindings::dm_target {
        self.0.get()
    }

    /// Returns the first sector (512 bytes) of the mapped device that is this target's.
    #[inline]
    pub fn begin(&self) -> u64 {
        // SAFETY: By the type invariant; the field does not change.
        unsafe { (*self.as_ptr()).begin }
    }

    /// Returns the number of sectors.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        // SAFETY: By the type invariant; the field does not change.
        unsafe { (*self.as_ptr()).len }
    }

    /// Returns the sector relative to the target of a sector of the mapped device.
    #[inline]
    pub fn offset(&self, sector: u64) -> u64 {
        sector.wrapping_sub(self.begin())
    }

    /// Returns whether the core makes ordinary writes of those that append to a zone.
    #[inline]
    pub(crate) fn emulates_zone_append(&self) -> bool {
        // SAFETY: By the type invariant; the field does not change once there are bios.
        unsafe { (*self.as_ptr()).emulate_zone_append() }
    }

    /// Returns whether the type was [registered](Registration::of_requests) for requests. Any
    /// context.
    #[inline]
    pub fn takes_requests(&self) -> bool {
        // SAFETY: By the type invariant; the type outlives the table.
        unsafe { (*(*self.as_ptr()).type_).clone_and_map_rq.is_some() }
    }

    /// Returns the name under which the target type was registered, as in the table.
    pub fn type_name(&self) -> &CStr {
        // SAFETY: By the type invariant; the type and its name outlive the table.
        unsafe { CStr::from_char_ptr((*(*self.as_ptr()).type_).name) }
    }

    /// Returns the number of the mapped device as `major:minor`.
    pub fn device_name(&self) -> &CStr {
        // SAFETY: The table belongs to a mapped device, which is valid as long as it.
        unsafe {
            let md = bindings::dm_table_get_md((*self.as_ptr()).table);
            CStr::from_char_ptr(bindings::dm_device_name(md))
        }
    }

    /// Returns the name of the mapped device as the kernel knows it, such as `dm-0`.
    pub fn disk_name(&self) -> &CStr {
        // SAFETY: The table belongs to a mapped device, whose disk lives as long as it; its name
        // ends with a NUL byte.
        unsafe {
            let md = bindings::dm_table_get_md((*self.as_ptr()).table);
            let disk = bindings::dm_disk(md);
            CStr::from_char_ptr((&raw const (*disk).disk_name).cast())
        }
    }

    /// Sends a CHANGE uevent of the mapped device with one variable, `KEY=value`. May sleep.
    pub fn uevent(&self, variable: &CStr, _: MaySleep<'_>) {
        let mut env = [variable.as_char_ptr().cast_mut(), core::ptr::null_mut()];
        // SAFETY: The table is in use, so its mapped device is valid; `env` ends with NULL.
        unsafe {
            let md = bindings::dm_table_get_md((*self.as_ptr()).table);
            bindings::dm_disk_uevent(md, env.as_mut_ptr());
        }
    }

    /// Writes an audit record of an event of this device, `AUDIT_DM_EVENT`. May sleep.
    pub fn audit(&self, prefix: &CStr, op: &CStr, success: bool, _: MaySleep<'_>) {
        self.audit_record(bindings::RDM_AUDIT_DM_EVENT as c_int, prefix, op, success);
    }

    pub(crate) fn audit_record(&self, kind: c_int, prefix: &CStr, op: &CStr, success: bool) {
        // SAFETY: The texts are strings, `self` is valid.
        unsafe {
            bindings::dm_audit_log_ti(
                kind,
                prefix.as_char_ptr(),
                op.as_char_ptr(),
                self.as_ptr(),
                success.into(),
            )
        }
    }

    /// Returns the block device of the mapped device as a whole.
    pub(crate) fn mapped_bdev(&self) -> *mut bindings::block_device {
        // SAFETY: The table belongs to a mapped device, which is valid as long as it.
        unsafe { bindings::dm_part0(bindings::dm_table_get_md((*self.as_ptr()).table)) }
    }
}

// Here and not in `errno`, which is built where there is no kernel.
impl From<Error> for Errno {
    fn from(error: Error) -> Self {
        Self::from_return(error.to_errno())
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        Self::from_errno(errno.to_return())
    }
}

/// Returns a function that gives an error of the kernel the text of a table error.
pub fn with_text(text: &'static CStr) -> impl Fn(Error) -> TableError {
    move |error| TableError::new(text, error.into())
}
