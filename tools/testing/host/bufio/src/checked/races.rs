// SPDX-License-Identifier: GPL-2.0

//! Everything that two or three threads can do to a buffer at the same time.

use super::{cache::Cache, state::Status};
use loom::{sync::Arc, thread};

const BLOCK: u64 = 7;
/// In the same leaf as `BLOCK`.
const NEIGHBOUR: u64 = 8;
/// In another leaf.
const FAR: u64 = 100;

/// Runs all the schedules in which threads are preempted at most three times.
fn check(test: impl Fn() + Send + Sync + 'static) {
    check_bounded(3, test);
}

/// As [`check`], for three threads, of which there are many more schedules.
fn check_three(test: impl Fn() + Send + Sync + 'static) {
    check_bounded(2, test);
}

fn check_bounded(preemptions: usize, test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(test);
}

fn spawn(cache: &Arc<Cache>, f: impl FnOnce(&Cache) + 'static) -> thread::JoinHandle<()> {
    let cache = cache.clone();
    thread::spawn(move || f(&cache))
}

#[test]
fn get_against_evict() {
    check(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.load(0, BLOCK));
        let getter = spawn(&cache, |cache| {
            cache.use_once(BLOCK);
        });
        let evicted = cache.evict(0, true);
        getter.join().unwrap();
        assert_eq!(cache.use_once(BLOCK), !evicted);
    });
}

#[test]
fn get_against_clock() {
    check(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.load(0, BLOCK));
        let getter = spawn(&cache, |cache| {
            if cache.use_once(BLOCK) {
                // Referenced now, so that it has another round.
                assert!(!cache.evict(0, false) || cache.get(BLOCK).is_none());
            }
        });
        cache.evict(0, false);
        getter.join().unwrap();
    });
}

#[test]
fn get_against_reuse_in_the_same_leaf() {
    check_three(|| {
        let cache = Cache::new(1, 2);
        assert!(cache.load(0, BLOCK));
        let old = spawn(&cache, |cache| {
            cache.use_once(BLOCK);
        });
        let new = spawn(&cache, |cache| {
            cache.use_once(NEIGHBOUR);
        });
        let evicted = cache.evict(0, true);
        if evicted {
            assert!(cache.load(0, NEIGHBOUR));
        }
        old.join().unwrap();
        new.join().unwrap();
        assert_eq!(cache.use_once(NEIGHBOUR), evicted);
        assert_eq!(cache.use_once(BLOCK), !evicted);
    });
}

#[test]
fn get_against_reuse_of_buffer_and_leaf() {
    check(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.load(0, BLOCK));
        let getter = spawn(&cache, |cache| {
            cache.use_once(BLOCK);
            cache.use_once(FAR);
        });
        let evicted = cache.evict(0, true);
        if evicted {
            assert!(cache.load(0, FAR));
        }
        getter.join().unwrap();
        assert_eq!(cache.use_once(FAR), evicted);
    });
}

#[test]
fn get_against_a_leaf_in_front() {
    check(|| {
        let cache = Cache::new(2, 2);
        assert!(cache.load(0, BLOCK));
        let getter = spawn(&cache, |cache| {
            // Nothing happens to this block, but to the chain that it is in.
            assert!(cache.use_once(BLOCK));
        });
        assert!(cache.load(1, FAR));
        assert!(cache.evict(1, true));
        getter.join().unwrap();
    });
}

#[test]
fn join_against_reuse() {
    check(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.load(0, BLOCK));
        let joiner = spawn(&cache, |cache| {
            if let Some(buffer) = cache.join(BLOCK) {
                assert_eq!(buffer.wait(), Ok(()));
                buffer.check(BLOCK);
                buffer.state.put();
            }
        });
        if cache.evict(0, true) {
            assert!(cache.enter(0, FAR, 2));
            let buffer = cache.buffer(0);
            buffer.fill(Ok(()));
            buffer.check(FAR);
            buffer.state.put();
        }
        joiner.join().unwrap();
        assert_eq!(cache.buffer(0).state.load().count(), 0);
    });
}

#[test]
fn late_lookup_against_a_buffer_that_is_refused() {
    check(|| {
        let cache = Cache::new(2, 2);
        assert!(cache.load(0, BLOCK));
        assert!(cache.load(1, FAR));
        let late = spawn(&cache, |cache| {
            if let Some(buffer) = cache.join(BLOCK) {
                buffer.check(BLOCK);
                buffer.state.put();
            }
        });
        if cache.evict(0, true) {
            // The block is there already: this buffer stays what it is, its owner's.
            assert!(!cache.enter(0, FAR, 1));
            assert_eq!(cache.buffer(0).state.load().count(), 0);
            assert!(!cache.buffer(0).state.try_join());
        }
        late.join().unwrap();
    });
}

#[test]
fn release_against_evict() {
    check(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.load(0, BLOCK));
        assert!(cache.get(BLOCK).is_some());
        let holder = spawn(&cache, |cache| {
            cache.buffer(0).check(BLOCK);
            cache.buffer(0).state.put();
        });
        cache.evict(0, true);
        holder.join().unwrap();
    });
}

#[test]
fn two_getters() {
    check_three(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.load(0, BLOCK));
        let getters = [(); 2].map(|()| {
            spawn(&cache, |cache| {
                cache.use_once(BLOCK);
            })
        });
        let evicted = cache.evict(0, true);
        for getter in getters {
            getter.join().unwrap();
        }
        let state = cache.buffer(0).state.load();
        assert_eq!(state.count(), 0);
        assert_eq!(cache.evict(0, true), !evicted);
    });
}

#[test]
fn two_evictors() {
    check(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.load(0, BLOCK));
        let other = spawn(&cache, |cache| {
            if cache.evict(0, true) {
                assert!(cache.load(0, NEIGHBOUR));
            }
        });
        if cache.evict(0, true) {
            assert!(cache.load(0, FAR));
        }
        other.join().unwrap();
        assert!(cache.use_once(FAR) ^ cache.use_once(NEIGHBOUR));
    });
}

#[test]
fn completion_against_get() {
    check(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.enter(0, BLOCK, 1));
        let device = spawn(&cache, |cache| cache.buffer(0).fill(Ok(())));
        cache.use_once(BLOCK);
        device.join().unwrap();
        assert!(cache.use_once(BLOCK));
    });
}

#[test]
fn completion_against_waiters_and_evict() {
    check_three(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.enter(0, BLOCK, 2));
        let device = spawn(&cache, |cache| cache.buffer(0).fill(Ok(())));
        let evictor = spawn(&cache, |cache| {
            cache.evict(0, true);
        });
        let buffer = cache.buffer(0);
        assert_eq!(buffer.wait(), Ok(()));
        buffer.check(BLOCK);
        buffer.state.put();
        device.join().unwrap();
        evictor.join().unwrap();
    });
}

#[test]
fn two_readers_of_a_missing_block() {
    check(|| {
        let cache = Cache::new(2, 2);
        let read = |cache: &Cache, number| match cache.enter(number, BLOCK, 2) {
            true => {
                cache.buffer(number).fill(Ok(()));
                cache.buffer(number).check(BLOCK);
                cache.buffer(number).state.put();
                1
            }
            false => {
                let buffer = cache.join(BLOCK).unwrap();
                assert_eq!(buffer.wait(), Ok(()));
                buffer.check(BLOCK);
                buffer.state.put();
                0
            }
        };
        let other = spawn(&cache, move |cache| {
            read(cache, 0);
        });
        read(&cache, 1);
        other.join().unwrap();
        // One of the buffers is still owned: one read.
        let used = [0, 1].map(|number| cache.evict(number, true));
        assert!(used[0] ^ used[1]);
    });
}

#[test]
fn failure_against_get_and_restart() {
    check_three(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.enter(0, BLOCK, 2));
        cache.buffer(0).fill(Err(Status::RETRY));
        // One who has waited, and has not looked at the result yet; and one who comes later.
        let waiter = spawn(&cache, |cache| {
            let buffer = cache.buffer(0);
            if buffer.wait() == Ok(()) {
                buffer.check(BLOCK);
            }
            buffer.state.put();
        });
        let getter = spawn(&cache, |cache| {
            cache.use_once(BLOCK);
        });
        let buffer = cache.buffer(0);
        if cache.revive(0) {
            buffer.fill(Ok(()));
        }
        assert_eq!(buffer.wait(), Ok(()));
        buffer.check(BLOCK);
        buffer.state.put();
        waiter.join().unwrap();
        getter.join().unwrap();
        assert_eq!(buffer.state.load().count(), 0);
    });
}

#[test]
fn claim_against_get() {
    check(|| {
        let cache = Cache::new(1, 1);
        assert!(cache.load(0, BLOCK));
        let getter = spawn(&cache, |cache| {
            cache.use_once(BLOCK);
        });
        let buffer = cache.join(BLOCK).unwrap();
        if buffer.state.try_claim() {
            // The producer writes, and keeps its reference when it publishes.
            buffer.fill_as_producer();
            buffer.check(BLOCK);
        }
        buffer.state.put();
        getter.join().unwrap();
        assert!(cache.use_once(BLOCK));
    });
}

#[test]
fn destroy_against_get_and_completion() {
    check_three(|| {
        let cache = Cache::new(2, 2);
        assert!(cache.load(0, BLOCK));
        assert!(cache.enter(1, FAR, 1));
        let getter = spawn(&cache, |cache| {
            cache.use_once(BLOCK);
        });
        // The device knows the buffer, not the cache.
        let device = spawn(&cache, |cache| cache.buffer(1).fill(Ok(())));
        // What the destructor does with what is busy, while lookups end.
        assert_eq!(cache.buffer(1).wait(), Ok(()));
        assert!(cache.evict(1, true));
        getter.join().unwrap();
        // Nobody can hold a buffer now, so that it can be taken away.
        assert!(cache.evict(0, true));
        device.join().unwrap();
    });
}
