// SPDX-License-Identifier: GPL-2.0

//! Everything that somebody waits for, against what ends it. The functions of [`Cache`] do what
//! those of the same names in `wait.rs` and `obtain.rs` do, except that nothing ends waiting but
//! being woken up.

use super::{
    atomic::{AtomicUsize, Ordering},
    queue::Queue,
    state::{Evict, State, Status},
    wakeup::{cleared, Flight, Wish, FLYING_BIT},
};
use loom::{cell::UnsafeCell, sync::Arc, thread};

struct Cache {
    state: State,
    wish: Wish,
    flight: Flight,
    /// For a bit of the state.
    queue: Queue,
    wishing: Queue,
    landing: Queue,
    /// Another buffer that is free, or 0.
    spare: AtomicUsize,
    /// The memory of buffer and flight.
    memory: UnsafeCell<u64>,
}

// SAFETY: This is what the tests are about.
unsafe impl Send for Cache {}
// SAFETY: This is what the tests are about.
unsafe impl Sync for Cache {}

impl Cache {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            state: State::new(),
            wish: Wish(AtomicUsize::new(0)),
            flight: Flight::new(),
            queue: Queue::new(),
            wishing: Queue::new(),
            landing: Queue::new(),
            spare: AtomicUsize::new(0),
            memory: UnsafeCell::new(0),
        })
    }

    /// A buffer that is valid and held so many times.
    fn held(times: usize) -> Arc<Self> {
        let cache = Self::new();
        cache.state.publish(times);
        cache.state.complete(Ok(()), true);
        cache
    }

    /// Is allowed as long as the memory is not given up.
    fn look(&self) {
        // SAFETY: The model checker reports an access that races with this one.
        self.memory.with(|memory| unsafe { *memory });
    }

    /// Gives up the memory.
    fn spoil(&self) {
        // SAFETY: The model checker reports an access that races with this one.
        self.memory.with_mut(|memory| unsafe { *memory += 1 });
    }

    fn is_busy(&self) -> bool {
        self.state.load().is_busy()
    }

    fn until_filled(&self) {
        self.queue.wait(|| self.is_busy());
        self.look();
    }

    fn filled(&self) {
        cleared(|| self.queue.wake(|| self.is_busy()));
    }

    fn until_written(&self) {
        self.queue.wait(|| self.state.load().is_writing());
        self.look();
    }

    fn is_wished(&self) -> bool {
        self.wish.0.load(Ordering::Acquire) != 0
    }

    fn released(&self) {
        self.wish
            .released(|| self.wishing.wake(|| self.is_wished()));
    }

    fn put(&self) {
        self.look();
        if self.state.put() {
            self.released();
        }
    }

    /// Waits for the buffer, and takes it away.
    fn obtain(&self) {
        self.until_found(|| self.state.try_evict(true) == Evict::Owned);
        self.spoil();
    }

    /// Waits for the spare buffer, and takes it.
    fn obtain_spare(&self) {
        self.until_found(|| self.spare.fetch_and(0, Ordering::SeqCst) != 0);
    }

    fn until_found(&self, look: impl Fn() -> bool) {
        loop {
            self.wish.announce();
            if look() {
                self.released();
                return;
            }
            self.wishing.wait(|| self.is_wished());
        }
    }

    fn is_flying(&self) -> bool {
        self.flight.word().load(Ordering::Acquire) & (1 << FLYING_BIT) != 0
    }

    fn landed(&self) {
        self.look();
        self.flight.done(|_| self.landing.wake(|| self.is_flying()));
    }

    fn until_landed(&self) {
        self.landed();
        self.landing.wait(|| self.is_flying());
        self.spoil();
    }
}

fn check(preemptions: usize, test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

fn spawn(cache: &Arc<Cache>, f: impl FnOnce(&Cache) + 'static) -> thread::JoinHandle<()> {
    let cache = cache.clone();
    thread::spawn(move || f(&cache))
}

#[test]
fn reader_against_completion() {
    check(3, || {
        let cache = Cache::new();
        cache.state.publish(2);
        let device = spawn(&cache, |cache| {
            cache.look();
            cache.state.complete(Ok(()), false);
            cache.filled();
        });
        cache.until_filled();
        cache.put();
        device.join().unwrap();
        assert_eq!(cache.state.try_evict(true), Evict::Owned);
    });
}

#[test]
fn two_readers_against_a_failure() {
    check(2, || {
        let cache = Cache::new();
        cache.state.publish(3);
        let reader = spawn(&cache, |cache| {
            cache.until_filled();
            assert!(cache.state.load().failure().is_some());
            cache.put();
        });
        let device = spawn(&cache, |cache| {
            cache.state.complete(Err(Status::RETRY), false);
            cache.filled();
        });
        cache.until_filled();
        cache.put();
        reader.join().unwrap();
        device.join().unwrap();
    });
}

#[test]
fn who_wants_a_buffer_against_its_release() {
    check(3, || {
        let cache = Cache::held(1);
        let holder = spawn(&cache, Cache::put);
        cache.obtain();
        holder.join().unwrap();
    });
}

#[test]
fn who_wants_a_buffer_against_the_last_of_two_releases() {
    check(2, || {
        let cache = Cache::held(2);
        let holders = [(); 2].map(|()| spawn(&cache, Cache::put));
        cache.obtain();
        for holder in holders {
            holder.join().unwrap();
        }
    });
}

#[test]
fn who_wants_a_buffer_against_a_completion_that_releases_it() {
    check(3, || {
        let cache = Cache::new();
        cache.state.publish(1);
        let device = spawn(&cache, |cache| {
            cache.look();
            cache.state.complete(Ok(()), false);
            cache.filled();
            cache.released();
        });
        cache.obtain();
        device.join().unwrap();
    });
}

#[test]
fn two_who_want_the_buffer_in_turn() {
    check(2, || {
        let cache = Cache::held(1);
        let other = spawn(&cache, |cache| {
            cache.obtain();
            // Another block, which is released in turn.
            cache.state.publish(1);
            cache.state.complete(Ok(()), false);
            cache.filled();
            cache.released();
        });
        let holder = spawn(&cache, Cache::put);
        holder.join().unwrap();
        other.join().unwrap();
        cache.obtain();
    });
}

#[test]
fn who_finds_another_buffer_keeps_nobody_asleep() {
    check(2, || {
        let cache = Cache::held(1);
        cache.spare.store(1, Ordering::Relaxed);
        let other = spawn(&cache, Cache::obtain_spare);
        let holder = spawn(&cache, Cache::put);
        cache.obtain();
        other.join().unwrap();
        holder.join().unwrap();
    });
}

#[test]
fn who_wants_to_overwrite_against_a_holder() {
    check(3, || {
        let cache = Cache::held(1);
        let holder = spawn(&cache, Cache::put);
        // What `produce` does.
        loop {
            cache.wish.announce();
            assert!(cache.state.try_join());
            if cache.state.try_claim() {
                cache.released();
                break;
            }
            cache.put();
            cache.wishing.wait(|| cache.is_wished());
        }
        cache.spoil();
        holder.join().unwrap();
    });
}

#[test]
fn writer_against_the_end_of_writing_out() {
    check(3, || {
        let cache = Cache::held(1);
        assert!(cache.state.set_dirty());
        cache.state.begin_write();
        let flusher = spawn(&cache, |cache| {
            assert!(!cache.state.end_write());
            cleared(|| cache.queue.wake(|| cache.state.load().is_writing()));
        });
        cache.until_written();
        cache.put();
        flusher.join().unwrap();
        assert_eq!(cache.state.try_evict(true), Evict::Owned);
    });
}

#[test]
fn destroy_against_the_last_two_bios() {
    check(2, || {
        let cache = Cache::new();
        cache.flight.begin();
        let bios = [(); 2].map(|()| {
            cache.flight.add();
            spawn(&cache, Cache::landed)
        });
        cache.until_landed();
        for bio in bios {
            bio.join().unwrap();
        }
    });
}

#[test]
fn a_flight_of_no_bios_has_landed() {
    check(3, || {
        let cache = Cache::new();
        cache.flight.begin();
        cache.until_landed();
        cache.flight.begin();
        assert!(cache.is_flying());
        cache.until_landed();
    });
}
