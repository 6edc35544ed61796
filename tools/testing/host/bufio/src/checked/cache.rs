// SPDX-License-Identifier: GPL-2.0

//! A small cache around the protocol, whose threads the model checker schedules.
//!
//! The data of a buffer is a cell that reports an access that races with another. A valid buffer
//! has its block number as data; whoever owns one overwrites it, as memory that is freed would
//! be. Buffers and leaves live as long as the cache, whereas in the kernel RCU keeps them for as
//! long as a lookup may have them: each thread here is one long lookup.

use super::{
    atomic::{AtomicU64, Ordering},
    index::{Bucket, Index, Insert, Leaf},
    lookup::Entry,
    state::{Evict, State, Status},
};
use loom::{
    cell::UnsafeCell,
    sync::{Arc, Mutex},
    thread,
};
use std::ptr::NonNull;

/// The data of a buffer that was taken away.
const POISON: u64 = u64::MAX;

pub(super) struct Buffer {
    pub(super) state: State,
    block: AtomicU64,
    data: UnsafeCell<u64>,
}

impl Entry for Buffer {
    fn state(&self) -> &State {
        &self.state
    }

    fn block(&self) -> &AtomicU64 {
        &self.block
    }
}

impl Buffer {
    fn write(&self, value: u64) {
        // SAFETY: The model checker reports an access that races with this one.
        self.data.with_mut(|data| unsafe { *data = value });
    }

    /// What somebody with a reference reads.
    pub(super) fn read(&self) -> u64 {
        // SAFETY: The model checker reports an access that races with this one.
        self.data.with(|data| unsafe { *data })
    }

    /// What somebody with a reference to a valid buffer expects.
    pub(super) fn check(&self, block: u64) {
        assert_eq!(self.read(), block);
        assert_eq!(self.block.load(Ordering::Relaxed), block);
    }

    /// What the device does.
    pub(super) fn fill(&self, result: Result<(), Status>) {
        if result.is_ok() {
            self.write(self.block.load(Ordering::Relaxed));
        }
        self.state.complete(result, false);
    }

    /// What a thread does that fills a buffer by itself, and keeps its reference.
    pub(super) fn fill_as_producer(&self) {
        self.write(self.block.load(Ordering::Relaxed));
        self.state.complete(Ok(()), true);
    }

    /// Waits for the contents, with a reference.
    pub(super) fn wait(&self) -> Result<(), Status> {
        loop {
            let state = self.state.load();
            if !state.is_busy() {
                return state.failure().map_or(Ok(()), Err);
            }
            thread::yield_now();
        }
    }
}

/// What the lock protects: the leaves in reserve.
type Reserve = Vec<NonNull<Leaf<Buffer>>>;

pub(super) struct Cache {
    index: Index<Buffer, Vec<Bucket<Buffer>>>,
    lock: Mutex<Reserve>,
    leaves: Vec<NonNull<Leaf<Buffer>>>,
    buffers: Vec<NonNull<Buffer>>,
}

// SAFETY: This is what the tests are about.
unsafe impl Send for Cache {}
// SAFETY: This is what the tests are about.
unsafe impl Sync for Cache {}

impl Drop for Cache {
    fn drop(&mut self) {
        for leaf in &self.leaves {
            // SAFETY: Made by `new`; no thread is left that could have it.
            drop(unsafe { Box::from_raw(leaf.as_ptr()) });
        }
        for buffer in &self.buffers {
            // SAFETY: As above.
            drop(unsafe { Box::from_raw(buffer.as_ptr()) });
        }
    }
}

impl Cache {
    /// Makes a cache with one bucket, so that all leaves are in one chain.
    pub(super) fn new(buffers: usize, leaves: usize) -> Arc<Self> {
        let buckets = vec![Bucket::new(std::ptr::null_mut())];
        let leaves: Vec<_> = (0..leaves)
            .map(|_| NonNull::from(Box::leak(Box::new(Leaf::new()))))
            .collect();
        let buffer = || Buffer {
            state: State::new(),
            block: AtomicU64::new(POISON),
            data: UnsafeCell::new(POISON),
        };
        Arc::new(Self {
            index: Index::new(buckets).unwrap(),
            lock: Mutex::new(leaves.clone()),
            leaves,
            buffers: (0..buffers)
                .map(|_| NonNull::from(Box::leak(Box::new(buffer()))))
                .collect(),
        })
    }

    pub(super) fn buffer(&self, number: usize) -> &Buffer {
        // SAFETY: Buffers live as long as the cache.
        unsafe { self.buffers[number].as_ref() }
    }

    /// Enters an owned buffer, busy with `holders` references. Returns whether it did.
    pub(super) fn enter(&self, number: usize, block: u64, holders: usize) -> bool {
        let mut reserve = self.lock.lock().unwrap();
        let mut spare = reserve.pop();
        let buffer = self.buffers[number];
        // SAFETY: The lock is held, and the test owns the buffer.
        let done = unsafe { self.index.enter(block, holders, buffer, &mut spare) };
        reserve.extend(spare);
        assert!(!matches!(done, Insert::NeedsLeaf));
        matches!(done, Insert::Done)
    }

    /// Enters an owned buffer and fills it, holding nothing.
    pub(super) fn load(&self, number: usize, block: u64) -> bool {
        let entered = self.enter(number, block, 1);
        if entered {
            self.buffer(number).fill(Ok(()));
        }
        entered
    }

    pub(super) fn get(&self, block: u64) -> Option<&Buffer> {
        // SAFETY: Nothing is freed while there are threads.
        unsafe { Some(self.index.get(block, || {})?.as_ref()) }
    }

    pub(super) fn join(&self, block: u64) -> Option<&Buffer> {
        // SAFETY: Nothing is freed while there are threads.
        unsafe { Some(self.index.join(block, || {})?.as_ref()) }
    }

    /// Gets a block, checks what is in it, and gives it back. Returns whether it was there.
    pub(super) fn use_once(&self, block: u64) -> bool {
        let Some(buffer) = self.get(block) else {
            return false;
        };
        buffer.check(block);
        buffer.state.put();
        true
    }

    /// Takes a buffer away from its block, and spoils its data.
    pub(super) fn evict(&self, number: usize, force: bool) -> bool {
        let buffer = self.buffer(number);
        let mut reserve = self.lock.lock().unwrap();
        if buffer.state.try_evict(force) != Evict::Owned {
            return false;
        }
        let block = buffer.block.load(Ordering::Relaxed);
        // SAFETY: The lock is held.
        reserve.extend(unsafe { self.index.remove(block) });
        drop(reserve);
        buffer.write(POISON);
        true
    }

    /// Restarts a failed buffer, or takes a reference, as a reader with the lock does. Returns
    /// whether the caller is the one to fill it.
    pub(super) fn revive(&self, number: usize) -> bool {
        let _reserve = self.lock.lock().unwrap();
        let state = &self.buffer(number).state;
        state.try_restart(2) || {
            assert!(state.try_join());
            false
        }
    }
}
