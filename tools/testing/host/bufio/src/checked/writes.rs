// SPDX-License-Identifier: GPL-2.0

//! Everything that can happen to a buffer while it is written, written out, and filled.
//!
//! The functions of [`Store`] do what those of the same names in the kernel do with the state and
//! the locks. The contents are two bytes: one that is written here, and one that is missing until
//! it is read. The cell `memory` stands for the memory of the buffer: whoever has taken the buffer
//! away changes it without a lock, which the model checker reports if it races with any other
//! access.

use super::state::{Evict, State};
use loom::{
    cell::UnsafeCell,
    sync::{
        atomic::{AtomicU64, Ordering},
        Arc, Mutex,
    },
    thread,
};

const MISSING: u64 = 77;

#[derive(Default)]
struct Contents {
    value: u64,
    dirty: bool,
    other: Option<u64>,
}

struct Store {
    state: State,
    contents: Mutex<Contents>,
    /// How often the buffer is in the list of dirty ones, protected by the lock of the cache.
    list: Mutex<usize>,
    memory: UnsafeCell<u64>,
    device: AtomicU64,
    reads: AtomicU64,
}

// SAFETY: This is what the tests are about.
unsafe impl Send for Store {}
// SAFETY: This is what the tests are about.
unsafe impl Sync for Store {}

impl Store {
    /// A buffer that is valid, clean, and held once.
    fn new() -> Arc<Self> {
        let store = Self {
            state: State::new(),
            contents: Mutex::default(),
            list: Mutex::new(0),
            memory: UnsafeCell::new(0),
            device: AtomicU64::new(0),
            reads: AtomicU64::new(0),
        };
        store.state.publish(1);
        store.state.complete(Ok(()), true);
        Arc::new(store)
    }

    /// Is allowed to those who have a reference, or write the buffer out.
    fn look(&self) {
        // SAFETY: The model checker reports an access that races with this one.
        self.memory.with(|memory| unsafe { *memory });
    }

    /// Writes a value; the caller has a reference.
    fn copy_in(&self, value: u64) {
        let mut contents = self.contents.lock().unwrap();
        self.look();
        contents.value = value;
        contents.dirty = true;
        self.mark_dirty();
    }

    fn mark_dirty(&self) {
        if self.state.load().is_dirty() {
            return;
        }
        let mut list = self.list.lock().unwrap();
        if self.state.set_dirty() {
            *list += 1;
        }
    }

    /// Writes the buffer out if it is in the list. Returns whether it was.
    fn write_round(&self, ok: bool) -> bool {
        let mut list = self.list.lock().unwrap();
        if *list == 0 {
            return false;
        }
        assert_eq!(*list, 1, "a buffer is in the list once");
        *list = 0;
        drop(list);
        let mut contents = self.contents.lock().unwrap();
        self.look();
        self.state.begin_write();
        let was_dirty = std::mem::take(&mut contents.dirty);
        let value = contents.value;
        drop(contents);
        self.look();
        if ok && was_dirty {
            self.device.store(value, Ordering::Relaxed);
        }
        if !ok {
            self.contents.lock().unwrap().dirty = true;
        }
        self.look();
        let mut list = self.list.lock().unwrap();
        if self.state.end_write() {
            *list += 1;
        }
        true
    }

    /// Takes the buffer away. Returns whether that was possible.
    fn evict(&self) -> bool {
        let _list = self.list.lock().unwrap();
        if self.state.try_evict(true) != Evict::Owned {
            return false;
        }
        // SAFETY: The model checker reports an access that races with this one.
        self.memory.with_mut(|memory| unsafe { *memory += 1 });
        true
    }

    /// Reads what is missing; the caller has a reference.
    fn fill(&self) {
        while !self.state.begin_fill() {
            thread::yield_now();
        }
        if self.contents.lock().unwrap().other.is_none() {
            self.look();
            self.reads.fetch_add(1, Ordering::Relaxed);
            let mut contents = self.contents.lock().unwrap();
            // Not what somebody has written meanwhile.
            contents.other.get_or_insert(MISSING);
        }
        self.state.end_fill();
    }

    fn on_device(&self) -> u64 {
        self.device.load(Ordering::Relaxed)
    }
}

fn check(test: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}

fn spawn(store: &Arc<Store>, f: impl FnOnce(&Store) + 'static) -> thread::JoinHandle<()> {
    let store = store.clone();
    thread::spawn(move || f(&store))
}

#[test]
fn change_against_writing_out() {
    check(|| {
        let store = Store::new();
        store.copy_in(1);
        let writer = spawn(&store, |store| {
            store.copy_in(2);
            store.state.put();
        });
        store.write_round(true);
        writer.join().unwrap();
        // What was changed in time is on the device, and else the buffer is in the list.
        store.write_round(true);
        assert_eq!(store.on_device(), 2);
        assert!(!store.write_round(true));
        assert!(store.evict());
    });
}

#[test]
fn two_changes_against_writing_out() {
    check(|| {
        let store = Store::new();
        assert!(store.state.try_join());
        let writers = [1, 2].map(|value| {
            spawn(&store, move |store| {
                store.copy_in(value);
                store.state.put();
            })
        });
        store.write_round(true);
        for writer in writers {
            writer.join().unwrap();
        }
        store.write_round(true);
        let value = store.contents.lock().unwrap().value;
        assert_eq!(store.on_device(), value);
        assert!(store.evict());
    });
}

#[test]
fn writing_out_against_evict() {
    check(|| {
        let store = Store::new();
        store.copy_in(1);
        store.state.put();
        let evictor = spawn(&store, |store| {
            if store.evict() {
                assert_eq!(store.on_device(), 1, "dirty buffers are not taken away");
            }
        });
        assert!(store.write_round(true));
        evictor.join().unwrap();
        assert_eq!(store.on_device(), 1);
    });
}

#[test]
fn change_and_release_against_writing_out_and_evict() {
    check(|| {
        let store = Store::new();
        let writer = spawn(&store, |store| {
            store.copy_in(1);
            store.state.put();
        });
        let evictor = spawn(&store, |store| {
            if store.evict() {
                assert_eq!(store.on_device(), 1);
            }
        });
        store.write_round(true);
        writer.join().unwrap();
        evictor.join().unwrap();
        store.write_round(true);
        assert_eq!(store.on_device(), 1);
    });
}

#[test]
fn failure_against_change() {
    check(|| {
        let store = Store::new();
        store.copy_in(1);
        let writer = spawn(&store, |store| {
            store.copy_in(2);
            store.state.put();
        });
        store.write_round(false);
        writer.join().unwrap();
        // What `retry` does.
        if store.contents.lock().unwrap().dirty {
            store.mark_dirty();
        }
        store.write_round(true);
        assert_eq!(store.on_device(), 2);
        assert!(store.evict());
    });
}

#[test]
fn missing_bytes_are_read_once() {
    check(|| {
        let store = Store::new();
        assert!(store.state.try_join());
        let other = spawn(&store, |store| {
            store.fill();
            store.state.put();
        });
        store.fill();
        assert_eq!(store.contents.lock().unwrap().other, Some(MISSING));
        store.state.put();
        other.join().unwrap();
        assert_eq!(store.reads.load(Ordering::Relaxed), 1);
        assert!(store.evict());
    });
}

#[test]
fn filling_against_change() {
    check(|| {
        let store = Store::new();
        assert!(store.state.try_join());
        let writer = spawn(&store, |store| {
            store.contents.lock().unwrap().other = Some(5);
            store.mark_dirty();
            store.state.put();
        });
        store.fill();
        store.state.put();
        writer.join().unwrap();
        assert_eq!(
            store.contents.lock().unwrap().other,
            Some(5),
            "newer than what was read"
        );
        assert!(!store.evict());
    });
}

#[test]
fn filling_to_write_out_against_evict_and_get() {
    check(|| {
        let store = Store::new();
        store.copy_in(1);
        store.state.put();
        let getter = spawn(&store, |store| {
            if store.state.try_get() {
                store.look();
                store.state.put();
            }
        });
        let evictor = spawn(&store, |store| {
            store.evict();
        });
        // No reference is needed: the buffer is dirty.
        store.fill();
        assert!(store.write_round(true));
        getter.join().unwrap();
        evictor.join().unwrap();
        assert_eq!(store.on_device(), 1);
    });
}
