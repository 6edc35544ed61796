// SPDX-License-Identifier: GPL-2.0

//! Bios that wait for the end of a plug.
//!
//! Who submits several bios at once holds a plug meanwhile. A device that completes them as they
//! are submitted gives them back within the plug; those that wait in it are handed to
//! [`Operations::batch`] together when it ends, which is at once when the last one was submitted,
//! or when the task goes to sleep.
//!
//! C header: [`include/linux/blkdev.h`](srctree/include/linux/blkdev.h)

use super::{
    batch::Batch,
    Handed,
    Header,
    Owned, //
};
use crate::{
    bindings,
    target::{
        Instance,
        Operations, //
    }, //
};
use core::ptr::NonNull;

/// What waits in a plug for one instance.
///
/// # Invariants
///
/// `newest` is a list of headers, linked by `next`, of bios that nobody else has.
#[repr(C)]
struct Plugged<T: Operations> {
    callback: bindings::blk_plug_cb,
    newest: *mut Header<T>,
}

impl<'a, T: Operations> Owned<'a, T> {
    /// Has the bio wait for the end of the current plug; gives it back if there is none. A task
    /// that goes to sleep in the plug has its bios processed on [`Operations::queue`]. Process
    /// context.
    #[inline]
    pub fn batch_in_plug(self) -> Result<Handed<'a>, Self> {
        let instance = self.header().instance.as_ptr();
        // SAFETY: The size is that of the structure, which the callback frees. Memory that is new
        // is zeroed, which is a valid value without bios.
        let plugged = unsafe {
            bindings::blk_check_plugged(
                Some(unplug::<T>),
                instance.cast(),
                size_of::<Plugged<T>>() as i32,
            )
        };
        let Some(mut plugged) = NonNull::new(plugged.cast::<Plugged<T>>()) else {
            return Err(self);
        };
        // SAFETY: Plugs belong to the current task, so nobody else uses the structure now.
        let plugged = unsafe { plugged.as_mut() };
        let header = self.into_header();
        // SAFETY: The header was ours.
        unsafe { (*header).next = plugged.newest };
        // INVARIANT: The list is of the bios that waited and this one.
        plugged.newest = header;
        Ok(Handed::new())
    }
}

/// # Safety
///
/// `callback` must be that of a [`Plugged`], and is freed.
unsafe extern "C" fn unplug<T: Operations>(callback: *mut bindings::blk_plug_cb, asleep: bool) {
    // SAFETY: The callback is the first field of the structure, of which this is the end.
    let (newest, instance) = unsafe {
        let plugged = callback.cast::<Plugged<T>>();
        let parts = ((*plugged).newest, (*callback).data);
        bindings::kfree(callback.cast());
        parts
    };
    if newest.is_null() {
        return;
    }
    // SAFETY: By the type invariant, the bios were only here; they keep their instance alive.
    let (batch, instance) =
        unsafe { (Batch::from_newest(newest), &*instance.cast::<Instance<T>>()) };
    if asleep {
        for bio in batch {
            let _handed = bio.batch_on(instance.state.queue());
        }
    } else {
        instance.state.batch(instance.target(), batch);
    }
}

/// Calls `f`, and has the block layer merge what it submits, and send it when `f` is done or goes
/// to sleep. Process context.
pub fn plugged<R>(f: impl FnOnce() -> R) -> R {
    let mut plug = core::mem::MaybeUninit::<bindings::blk_plug>::uninit();
    // SAFETY: The plug stays where it is until it is finished. There is no unwinding.
    unsafe {
        bindings::blk_start_plug(plug.as_mut_ptr());
        let result = f();
        bindings::blk_finish_plug(plug.as_mut_ptr());
        result
    }
}
