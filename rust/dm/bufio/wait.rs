// SPDX-License-Identifier: GPL-2.0

//! Waiting for a buffer to be filled, and for buffers to be released.
//!
//! Who has to be woken up when is in `wakeup`.

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
    context::MaySleep,
    wait_bit::{
        self,
        until_clear,
        until_clear_or, //
    },
};
use kernel::time::msecs_to_jiffies;

/// How long to wait for a release. Memory may also come back without one.
const RELEASE_MS: u32 = 100;

/// Whether somebody waits for a release.
static WISH: Wish = Wish(AtomicUsize::new(0));

/// Waits until a buffer is not busy, and returns its state. The caller has a reference.
pub(super) fn until_filled(state: &State, token: MaySleep<'_>) -> Snapshot {
    loop {
        let now = state.load();
        if !now.is_busy() {
            return now;
        }
        until_clear(state, BUSY_BIT, token);
    }
}

/// Waits until a buffer is not being written out. The caller has a reference.
pub(super) fn until_written(state: &State, token: MaySleep<'_>) {
    until_clear(state, WRITING_BIT, token);
}

/// Waits until nobody fills a buffer. The caller has a reference, or writes the buffer out.
pub(super) fn until_not_filling(state: &State, token: MaySleep<'_>) {
    until_clear(state, FILLING_BIT, token);
}

/// Ends submitting the bios of a flight, and waits for them.
pub(super) fn until_landed(flight: &Flight, token: MaySleep<'_>) {
    landed(flight);
    until_clear(flight.word(), FLYING_BIT, token);
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
    flight.done(|word| wait_bit::wake(word, FLYING_BIT));
}

/// Wakes up those who wait for a bit that was just cleared.
fn wake<T>(word: *const T, bit: u32) {
    cleared(|| wait_bit::wake(word, bit));
}

/// Announces the wish for a buffer. To be called before looking for one; if there is one, then
/// [`released`] is to be called as well.
pub(super) fn announce() {
    WISH.announce();
}

/// Waits for a release since [`announce`] was called, though not for ever.
pub(super) fn until_released(token: MaySleep<'_>) {
    until_clear_or(&WISH.0, WISH_BIT, msecs_to_jiffies(RELEASE_MS), token);
}

/// Tells those who wait that a buffer was released. Any context.
#[inline]
pub(super) fn released() {
    WISH.released(wake_waiting);
}

fn wake_waiting() {
    wait_bit::wake(&raw const WISH.0, WISH_BIT);
}
