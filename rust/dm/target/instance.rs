// SPDX-License-Identifier: GPL-2.0

//! Instances of targets: what `dm_target::private` points to.

use super::{
    args::TableError,
    device::{
        Device,
        Users, //
    },
    task::Head,
    Operations,
    Target,
    Word, //
};
use crate::{
    alloc,
    bindings,
    bio::{
        Batches,
        Budget,
        Copies,
        Lack, //
    },
    context::MaySleep,
    errno,
    request::Clones, //
};
use core::{
    cell::Cell,
    ffi::CStr,
    mem::MaybeUninit,
    ops::Deref,
    ptr::NonNull,
    sync::atomic::{
        AtomicUsize,
        Ordering, //
    },
};
use kernel::{
    error::to_result,
    ffi::c_int,
    prelude::*,
    sync::Arc, //
};

/// A target of a table, with the state that its type keeps.
///
/// # Invariants
///
/// `ti` is the valid `struct dm_target` whose `private` points to `self`.
#[repr(C)]
pub(crate) struct Instance<T: Operations> {
    // First, so that it is found without knowing the type. Closed before the state is dropped.
    head: Head,
    ti: NonNull<bindings::dm_target>,
    users: Arc<Users>,
    jobs: AtomicUsize,
    // Dropped before the state, which the work of the batches uses.
    batches: Option<Batches<T>>,
    copies: Option<Copies>,
    clones: Option<Clones>,
    pub(crate) state: T,
}

// SAFETY: `ti` is only used for calls that may be made from any thread.
unsafe impl<T: Operations> Send for Instance<T> {}
// SAFETY: As above.
unsafe impl<T: Operations> Sync for Instance<T> {}

/// How a device is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// For reading.
    Read,
    /// As the mapped device: for reading, and for writing unless the table is read-only.
    Table,
}

/// A target while its constructor runs.
pub struct Construction<'a> {
    target: &'a Target,
    users: &'a Arc<Users>,
    copies: Cell<Option<Copies>>,
    token: MaySleep<'a>,
}

impl<'a> Construction<'a> {
    /// Returns whether the table is read-only.
    pub fn is_read_only(&self) -> bool {
        self.mode() & bindings::RDM_BLK_OPEN_WRITE as bindings::blk_mode_t == 0
    }

    /// Opens the device that a path or a `major:minor` names.
    ///
    /// # Errors
    ///
    /// Those of `dm_get_device`: `ENOENT` if there is no such device, `EINVAL` if it is the
    /// mapped device itself, `EOVERFLOW` for bad numbers, and those of opening it.
    pub fn open(&self, path: &CStr, access: Access) -> Result<Device> {
        let mode = match access {
            Access::Read => bindings::RDM_BLK_OPEN_READ as bindings::blk_mode_t,
            Access::Table => self.mode(),
        };
        Device::open(self.target, self.users, path, mode)
    }

    /// Has the core send flushes to the target.
    pub fn accept_flushes(&self) {
        // SAFETY: The target is being constructed, and nobody else uses it.
        unsafe { (*self.target.as_ptr()).num_flush_bios = 1 }
    }

    /// Has the core send discards to the target, if the devices below take any.
    pub fn accept_discards(&self) {
        // SAFETY: As above.
        unsafe { (*self.target.as_ptr()).num_discard_bios = 1 }
    }

    /// Has the core limit how many bios of swap are in flight, for a target that needs memory for
    /// each.
    pub fn limit_swap(&self) {
        // SAFETY: As above.
        unsafe { (*self.target.as_ptr()).set_limit_swap_bios(true) }
    }

    /// Has the core make ordinary writes of those that append to a zone, for a target that must
    /// know where data goes.
    pub fn emulate_zone_append(&self) {
        // SAFETY: As above.
        unsafe { (*self.target.as_ptr()).set_emulate_zone_append(true) }
    }

    /// Sets memory aside for [copies](crate::bio::Owned::make_copy) of bios.
    ///
    /// # Errors
    ///
    /// What there was no memory for.
    pub fn set_aside_copies(&self, budget: &'static Budget) -> Result<(), Lack> {
        self.copies.set(Some(Copies::new(budget, self.token)?));
        // SAFETY: The target is being constructed, and nobody else uses it.
        unsafe { (*self.target.as_ptr()).set_accounts_remapped_io(true) };
        Ok(())
    }

    /// Returns the token: constructors may sleep.
    pub fn may_sleep(&self) -> MaySleep<'a> {
        self.token
    }

    /// Has the core split bios at multiples of `sectors` (512 bytes).
    ///
    /// # Errors
    ///
    /// `EINVAL` if that is more than 32 bits can count.
    pub fn set_max_io_len(&self, sectors: u64) -> Result {
        // SAFETY: The target is being constructed, so nobody else uses it.
        to_result(unsafe { bindings::dm_set_target_max_io_len(self.target.as_ptr(), sectors) })
    }

    /// Has the core send one bio for each flush, even if no device below has a cache.
    pub fn want_flushes(&self) {
        // SAFETY: As above.
        unsafe {
            let ti = self.target.as_ptr();
            (*ti).num_flush_bios = 1;
            (*ti).set_flush_supported(true);
        }
    }

    /// Has the core send discards.
    pub fn want_discards(&self) {
        // SAFETY: As above.
        unsafe { (*self.target.as_ptr()).num_discard_bios = 1 };
    }

    fn mode(&self) -> bindings::blk_mode_t {
        // SAFETY: The target is being constructed, so its table is valid.
        unsafe { bindings::dm_table_get_mode((*self.target.as_ptr()).table) }
    }
}

impl Deref for Construction<'_> {
    type Target = Target;

    fn deref(&self) -> &Target {
        self.target
    }
}

impl<T: Operations> Instance<T> {
    /// Makes an instance and hands it to the core.
    ///
    /// # Safety
    ///
    /// `ti` must be a target that is being constructed.
    pub(super) unsafe fn construct(
        ti: *mut bindings::dm_target,
        words: &[Word],
    ) -> Result<(), TableError> {
        // SAFETY: By the requirements of this function.
        let target = unsafe { Target::from_raw(ti) };
        let no_memory = |_| TableError::new(T::MESSAGES.no_memory, errno::ENOMEM);
        let mut memory: KBox<MaybeUninit<Self>> =
            alloc::boxed(MaybeUninit::uninit(), GFP_KERNEL).map_err(no_memory)?;
        let batches = if T::HAS_BATCH {
            let instance = NonNull::from(&mut *memory).cast();
            // SAFETY: The batches become part of the instance.
            Some(unsafe { Batches::new(instance) }.map_err(no_memory)?)
        } else {
            None
        };
        // SAFETY: The head becomes part of the instance.
        let head = unsafe { Head::new::<T>(NonNull::from(&mut *memory).cast()) };
        let head = head.map_err(no_memory)?;
        let clones = match target.takes_requests() {
            true => Some(Clones::new().map_err(no_memory)?),
            false => None,
        };
        alloc::point().map_err(no_memory)?;
        let users = Arc::new(Users::new(), GFP_KERNEL).map_err(|_| no_memory(ENOMEM))?;
        let construction = Construction {
            target,
            users: &users,
            copies: Cell::new(None),
            token: MaySleep::assert(),
        };
        let state = T::ctr(&construction, words)?;
        let copies = construction.copies.take();
        let ti = NonNull::new(ti).ok_or(TableError::invalid(T::MESSAGES.no_memory))?;
        // INVARIANT: `private` is set to the instance below.
        let instance = memory.write(Self {
            head,
            ti,
            users,
            jobs: AtomicUsize::new(0),
            batches,
            copies,
            clones,
            state,
        });
        // SAFETY: `ti` is being constructed, and nobody else uses it.
        unsafe { (*ti.as_ptr()).private = KBox::into_raw(instance).cast() };
        Ok(())
    }

    /// Destroys the instance of a target once nothing uses it.
    ///
    /// # Safety
    ///
    /// `ti` must be a target for which [`Self::construct`] succeeded, and must not be used again.
    pub(super) unsafe fn destroy(ti: *mut bindings::dm_target) {
        // SAFETY: `private` was set by `construct`, and the core has no bio of it in flight.
        let instance = unsafe { KBox::from_raw((*ti).private.cast::<Self>()) };
        instance.head.close(MaySleep::assert());
        wait_for_none("job", || instance.jobs.load(Ordering::Acquire));
        let users = instance.users.clone();
        drop(instance);
        wait_for_none("device", || users.count());
    }

    /// # Safety
    ///
    /// `ti` must be a target for which [`Self::construct`] succeeded and that lives as long as
    /// the result.
    #[inline]
    pub(crate) unsafe fn of<'a>(ti: *mut bindings::dm_target) -> &'a Self {
        // SAFETY: `private` was set by `construct`.
        unsafe { &*(*ti).private.cast() }
    }

    #[inline]
    pub(crate) fn target(&self) -> &Target {
        // SAFETY: By the type invariant, `ti` is valid as long as `self`.
        unsafe { Target::from_raw(self.ti.as_ptr()) }
    }

    #[inline]
    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    #[inline]
    pub(crate) fn batches(&self) -> Option<&Batches<T>> {
        self.batches.as_ref()
    }

    #[inline]
    pub(crate) fn copies(&self) -> Option<&Copies> {
        self.copies.as_ref()
    }

    #[inline]
    pub(crate) fn clones(&self) -> Option<&Clones> {
        self.clones.as_ref()
    }

    /// Returns whether the core counts a bio from when the target submits it or its copy.
    #[inline]
    pub(crate) fn accounts(&self) -> bool {
        self.copies.is_some()
    }

    /// Announces a job, for which the destructor waits.
    pub(crate) fn begin_job(&self) {
        self.jobs.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends a job. `self` may be gone once this returns.
    pub(crate) fn end_job(&self) {
        self.jobs.fetch_sub(1, Ordering::Release);
    }
}

/// Waits until `count` returns 0, and complains if that takes long.
fn wait_for_none(what: &str, count: impl Fn() -> usize) {
    let mut waited: u32 = 0;
    while count() != 0 {
        // SAFETY: The core calls destructors in process context.
        unsafe { bindings::msleep(1) };
        waited = waited.saturating_add(1);
        if waited == 10_000 {
            pr_err!("a target waits for a {} that was not given back\n", what);
        }
    }
}

/// The kinds of audit records of constructors and destructors.
pub(super) const AUDIT_CTRL: c_int = bindings::RDM_AUDIT_DM_CTRL as c_int;
