// SPDX-License-Identifier: GPL-2.0

//! Waiting for a part of what is under way, against its ends.

use super::{
    atomic::Ordering,
    progress::{Progress, ALARM_BIT},
    queue::Queue,
};
use loom::{sync::Arc, thread};

struct Window {
    progress: Progress,
    queue: Queue,
}

impl Window {
    /// One with so many under way.
    fn with(number: usize) -> Arc<Self> {
        let window = Self {
            progress: Progress::new(),
            queue: Queue::new(),
        };
        for _ in 0..number {
            window.progress.begin();
        }
        Arc::new(window)
    }

    fn is_alarm_set(&self) -> bool {
        self.progress.word().load(Ordering::Acquire) & (1 << ALARM_BIT) != 0
    }

    fn end(&self) {
        self.progress.end(|| self.wake());
    }

    fn wake(&self) {
        self.queue.wake(|| self.is_alarm_set());
    }

    /// Waits for nothing but being woken up.
    fn until(&self, number: usize) {
        while self.progress.must_wait(number, || self.wake()) {
            self.queue.wait(|| self.is_alarm_set());
        }
    }
}

fn check(preemptions: usize, test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

fn spawn(window: &Arc<Window>, f: impl FnOnce(&Window) + 'static) -> thread::JoinHandle<()> {
    let window = window.clone();
    thread::spawn(move || f(&window))
}

#[test]
fn half_of_two() {
    check(3, || {
        let window = Window::with(2);
        assert_eq!(window.progress.half(), 1);
        let ends = [(); 2].map(|()| spawn(&window, Window::end));
        window.until(1);
        for end in ends {
            end.join().unwrap();
        }
    });
}

#[test]
fn all_of_two() {
    check(2, || {
        let window = Window::with(2);
        let ends = [(); 2].map(|()| spawn(&window, Window::end));
        window.until(2);
        for end in ends {
            end.join().unwrap();
        }
    });
}

/// One of them waits for more than the other, and both for the same alarm.
#[test]
fn two_who_wait_for_different_numbers() {
    check(2, || {
        let window = Window::with(2);
        let first = spawn(&window, |window| window.until(1));
        let ends = spawn(&window, |window| {
            window.end();
            window.end();
        });
        window.until(2);
        ends.join().unwrap();
        first.join().unwrap();
    });
}

#[test]
fn an_alarm_that_nobody_waits_for_keeps_nobody_asleep() {
    check(3, || {
        let window = Window::with(3);
        assert!(window.progress.must_wait(1, || ()));
        window.end();
        let ends = spawn(&window, |window| {
            window.end();
            window.end();
        });
        window.until(3);
        ends.join().unwrap();
    });
}

#[test]
fn what_has_ended_is_not_waited_for() {
    check(3, || {
        let window = Window::with(1);
        assert_eq!(window.progress.half(), 0);
        window.until(0);
        window.end();
        window.until(1);
        assert_eq!(window.progress.half(), 1);
        window.until(1);
    });
}
