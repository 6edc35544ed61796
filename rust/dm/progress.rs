// SPDX-License-Identifier: GPL-2.0

//! What is under way, and waiting for a part of it.
//!
//! Who hands over to a queue that is full could wait for room for one more, and would be woken up
//! for each. [`Progress`] is for waiting until there is room for many, while enough is left in the
//! queue to keep the other side busy.
//!
//! Whoever waits first sets the alarm and then looks at the number; whoever has ended something
//! first counts it and then looks at the alarm. So one of them sees the other. Both need a full
//! barrier between the two steps.
//!
//! The file uses nothing but `core`: the host tests model-check it. To sleep and to wake up is the
//! caller's, who uses the kernel's functions for a bit of a word.

use super::atomic::{
    fence,
    AtomicUsize,
    Ordering, //
};

/// The bit of the word of a [`Progress`] that is set while the alarm is.
pub(crate) const ALARM_BIT: u32 = 0;

const ALARM: usize = 1 << ALARM_BIT;

/// The numbers are counted up to one that takes centuries to reach.
const _: () = assert!(usize::BITS >= 64);

/// How much was begun and has ended, of anything.
pub(crate) struct Progress {
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// With the bit [`ALARM_BIT`], and the number in the others: those who wait want to be woken up
    /// when so many have ended, or before. Otherwise 0.
    alarm: AtomicUsize,
}

impl Progress {
    /// Makes one of nothing.
    pub(crate) fn new() -> Self {
        Self {
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            alarm: AtomicUsize::new(0),
        }
    }

    /// Counts something that begins, and will end whatever others wait for. Any context.
    #[inline]
    pub(crate) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts something that has ended. Calls `wake` to wake those up who wait on the bit, if it
    /// is time. Any context.
    #[inline]
    pub(crate) fn end(&self, wake: impl FnOnce()) {
        let ended = self.ended.fetch_add(1, Ordering::SeqCst).wrapping_add(1);
        fence(Ordering::SeqCst);
        let alarm = self.alarm.load(Ordering::SeqCst);
        if alarm != 0 && alarm >> 1 <= ended {
            self.ring(wake);
        }
    }

    #[cold]
    fn ring(&self, wake: impl FnOnce()) {
        // It may be a later one by now. Then those who set it are woken up, and set it again.
        self.alarm.store(0, Ordering::SeqCst);
        // The queue is looked at without its lock.
        fence(Ordering::SeqCst);
        wake();
    }

    /// Returns how many will have ended when half of what is under way now has.
    pub(crate) fn half(&self) -> usize {
        let ended = self.ended.load(Ordering::Acquire);
        let begun = self.begun.load(Ordering::Acquire);
        ended.wrapping_add(begun.saturating_sub(ended) / 2)
    }

    /// Returns whether to wait until so many have ended. If so, the caller waits on the bit, and
    /// asks again. If not, `wake` may have been called: an alarm that was set for nothing may have
    /// kept somebody asleep whose own had just rung.
    pub(crate) fn must_wait(&self, number: usize, wake: impl FnOnce()) -> bool {
        if self.ended.load(Ordering::Acquire) >= number {
            return false;
        }
        self.set_alarm(number);
        if self.ended.load(Ordering::SeqCst) < number {
            return true;
        }
        self.ring(wake);
        false
    }

    /// Sets the alarm to a number, unless it is set to one before that.
    fn set_alarm(&self, number: usize) {
        let wanted = (number << 1) | ALARM;
        let mut alarm = self.alarm.load(Ordering::SeqCst);
        while alarm == 0 || alarm > wanted {
            let order = Ordering::SeqCst;
            match self
                .alarm
                .compare_exchange_weak(alarm, wanted, order, order)
            {
                Ok(_) => break,
                Err(now) => alarm = now,
            }
        }
        fence(Ordering::SeqCst);
    }

    /// The word to wait on.
    pub(crate) fn word(&self) -> &AtomicUsize {
        &self.alarm
    }
}
