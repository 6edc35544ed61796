// SPDX-License-Identifier: GPL-2.0

//! Waiting until a bit of a word is clear.
//!
//! The kernel has a table of queues that are found by the address of a word, so what is waited for
//! needs no queue of its own, and waking up touches nothing that may be gone already.
//!
//! C header: [`include/linux/wait_bit.h`](srctree/include/linux/wait_bit.h)

use crate::{
    bindings,
    context::MaySleep, //
};
use core::ptr;
use kernel::ffi::c_ulong;

/// Waits until a bit of a word is clear. What was done before it was cleared is visible afterwards.
pub(crate) fn until_clear<T>(word: &T, bit: u32, _: MaySleep<'_>) {
    const { assert!(size_of::<T>() == size_of::<c_ulong>()) };
    // SAFETY: The word is valid, and as large as a `long`.
    unsafe {
        bindings::out_of_line_wait_on_bit(
            ptr::from_ref(word).cast_mut().cast(),
            bit as i32,
            Some(bindings::bit_wait_io),
            bindings::TASK_UNINTERRUPTIBLE,
        )
    };
}

/// Waits until a bit of a word is clear, or for a number of jiffies.
pub(crate) fn until_clear_or<T>(word: &T, bit: u32, timeout: c_ulong, _: MaySleep<'_>) {
    const { assert!(size_of::<T>() == size_of::<c_ulong>()) };
    // SAFETY: As above.
    unsafe {
        bindings::out_of_line_wait_on_bit_timeout(
            ptr::from_ref(word).cast_mut().cast(),
            bit as i32,
            Some(bindings::bit_wait_timeout),
            bindings::TASK_UNINTERRUPTIBLE,
            timeout,
        )
    };
}

/// Wakes up those who wait for a bit, which was just cleared; a full barrier must be between. Any
/// context. The word may be gone.
pub(crate) fn wake<T>(word: *const T, bit: u32) {
    // SAFETY: The address is compared with those that others wait for, not accessed.
    unsafe { bindings::wake_up_bit(word.cast_mut().cast(), bit as i32) };
}
