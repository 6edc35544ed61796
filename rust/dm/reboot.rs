// SPDX-License-Identifier: GPL-2.0

//! Stopping the machine, for targets that are told to do so rather than to return bad data.
//!
//! C header: [`include/linux/reboot.h`](srctree/include/linux/reboot.h)

use crate::{
    bindings,
    context::MaySleep, //
};
use core::sync::atomic::{
    AtomicBool,
    Ordering, //
};
use kernel::prelude::*;

/// Restarts the machine at once, without stopping user space. May sleep.
///
/// Only the first call does anything, as the kernel does not expect two at a time; the others
/// return before the machine is gone.
pub fn restart(reason: &'static CStr, _: MaySleep<'_>) {
    static CALLED: AtomicBool = AtomicBool::new(false);

    if CALLED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: `reason` is a string, and `kernel_restart` does not write to it.
    unsafe { bindings::kernel_restart(reason.as_char_ptr().cast_mut()) }
}

/// Panics. Any context. Does not return.
pub fn panic(reason: &'static CStr) {
    // SAFETY: `reason` is a string.
    unsafe { bindings::rdm_panic(reason.as_char_ptr()) }
}

/// Returns whether the machine is halting, powering off or restarting. Any context.
pub fn is_going_down() -> bool {
    // SAFETY: The helper has no requirements.
    unsafe { bindings::rdm_system_is_going_down() }
}
