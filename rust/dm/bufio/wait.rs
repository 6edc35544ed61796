// SPDX-License-Identifier: GPL-2.0

//! Waiting for a buffer to be filled, and for buffers to be released.
//!
//! Both use the kernel's table of queues that are found by address, so a buffer has no queue of
//! its own, and waking up touches nothing of a buffer that may be gone already. Who has to be
//! woken up when is in `wakeup`.
//!
//! C header: [`include/linux/wait_bit.h`](srctree/include/linux/wait_bit.h)

use super::{
    atomic::AtomicUsize,
    state::{
        Snapshot,
        State,
        BUSY_BIT,
        FILLING_BIT,
        WRITING_BIT, //
    },
    wakeup::{
        cleared,
        Flight,
        Wish,
        FLYING_BIT,
        WISH_BIT, //
    },
};
use crate::{
    bindings,
    context::MaySleep, //
};
use kernel::{
    ffi::c_ulong,
    time::msecs_to_jiffies, //
};

/// How long to wait for a release. Memory may also come back without one.
const RELEASE_MS: u32 = 100;

/// Whether somebody waits for a release.
static WISH: Wish = Wish(AtomicUsize::new(0));

/// Waits until a buffer is not busy, and returns its state. The caller has a reference.
pub(super) fn until_filled(state: &State, _: MaySleep<'_>) -> Snapshot {
    loop {
        let now = state.load();
        if !now.is_busy() {
            return now;
        }
        until_clear(state.as_ptr(), BUSY_BIT);
    }
}

/// Waits until a buffer is not being written out. The caller has a reference.
pub(super) fn until_written(state: &State, _: MaySleep<'_>) {
    until_clear(state.as_ptr(), WRITING_BIT);
}

/// Waits until nobody fills a buffer. The caller has a reference, or writes the buffer out.
pub(super) fn until_not_filling(state: &State, _: MaySleep<'_>) {
    until_clear(state.as_ptr(), FILLING_BIT);
}

/// Ends submitting the bios of a flight, and waits for them.
pub(super) fn until_landed(flight: &Flight, _: MaySleep<'_>) {
    landed(flight);
    until_clear(flight.word(), FLYING_BIT);
}

/// Waits until a bit of a word is clear, which is valid meanwhile. What was done before it was
/// cleared is visible afterwards.
fn until_clear<T>(word: *const T, bit: u32) {
    // SAFETY: The word is valid, and as large as a `long`.
    unsafe {
        bindings::out_of_line_wait_on_bit(
            word.cast_mut().cast(),
            bit as i32,
            Some(bindings::bit_wait_io),
            bindings::TASK_UNINTERRUPTIBLE,
        )
    };
}

/// Wakes up those who wait until a buffer is filled. Any context. The buffer may be gone.
pub(super) fn filled(state: *const State) {
    wake(state, BUSY_BIT);
}

/// Wakes up those who wait until a buffer is written out. Any context. The buffer may be gone.
pub(super) fn written(state: *const State) {
    wake(state, WRITING_BIT);
}

/// Wakes up those who wait until nobody fills a buffer. Any context. The buffer may be gone.
pub(super) fn not_filling(state: *const State) {
    wake(state, FILLING_BIT);
}

/// Counts a bio of a flight that has ended, and wakes up who waits for the last. Any context.
/// Nothing of the cache may be used afterwards.
pub(super) fn landed(flight: &Flight) {
    // SAFETY: The address is compared with those that others wait for, not accessed.
    flight.done(|word| unsafe { bindings::wake_up_bit(word.cast_mut().cast(), FLYING_BIT as i32) });
}

/// Wakes up those who wait for a bit that was just cleared.
fn wake<T>(word: *const T, bit: u32) {
    // SAFETY: The address is compared with those that others wait for, not accessed.
    cleared(|| unsafe { bindings::wake_up_bit(word.cast_mut().cast(), bit as i32) });
}

/// Announces the wish for a buffer. To be called before looking for one; if there is one, then
/// [`released`] is to be called as well.
pub(super) fn announce() {
    WISH.announce();
}

/// Waits for a release since [`announce`] was called, though not for ever.
pub(super) fn until_released(_: MaySleep<'_>) {
    let timeout: c_ulong = msecs_to_jiffies(RELEASE_MS);
    // SAFETY: The word is static.
    unsafe {
        bindings::out_of_line_wait_on_bit_timeout(
            (&raw const WISH.0).cast_mut().cast(),
            WISH_BIT as i32,
            Some(bindings::bit_wait_timeout),
            bindings::TASK_UNINTERRUPTIBLE,
            timeout,
        )
    };
}

/// Tells those who wait that a buffer was released. Any context.
#[inline]
pub(super) fn released() {
    WISH.released(wake_waiting);
}

fn wake_waiting() {
    // SAFETY: The word is static.
    unsafe { bindings::wake_up_bit((&raw const WISH.0).cast_mut().cast(), WISH_BIT as i32) };
}
