// SPDX-License-Identifier: GPL-2.0

//! A queue of the kernel's table, as `wait_on_bit()` and `wake_up_bit()` use it.

use super::atomic::{fence, AtomicUsize, Ordering};
use loom::sync::{Condvar, Mutex};

pub(super) struct Queue {
    /// Whether there is somebody in the queue, which is looked at without the lock.
    waiting: AtomicUsize,
    /// How often those in the queue were woken up.
    round: Mutex<usize>,
    woken: Condvar,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            round: Mutex::new(0),
            woken: Condvar::new(),
        }
    }

    /// Waits until `is_set` is false, for ever if nobody calls [`wake`](Self::wake).
    pub(super) fn wait(&self, is_set: impl Fn() -> bool) {
        loop {
            // prepare_to_wait(): into the queue with the lock, then the state of the task, with a
            // barrier.
            let round = self.round.lock().unwrap();
            let before = *round;
            self.waiting.fetch_add(1, Ordering::Relaxed);
            drop(round);
            fence(Ordering::SeqCst);
            let must_wait = is_set();
            let mut round = self.round.lock().unwrap();
            while must_wait && *round == before {
                round = self.woken.wait(round).unwrap();
            }
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            drop(round);
            if !must_wait || !is_set() {
                return;
            }
        }
    }

    /// Wakes up those who wait, unless the bit is set again.
    pub(super) fn wake(&self, is_set: impl Fn() -> bool) {
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut round = self.round.lock().unwrap();
        if !is_set() {
            *round += 1;
            self.woken.notify_all();
        }
    }
}
