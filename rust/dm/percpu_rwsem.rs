// SPDX-License-Identifier: GPL-2.0

//! Locks for what all I/O reads and an ioctl changes.
//!
//! Readers count on their own CPU, so those of two CPUs share no cache line; a writer makes all of
//! them look, which takes as long as an RCU grace period. So this is for what is read with every
//! bio, and written when an administrator says so.
//!
//! C header: [`include/linux/percpu-rwsem.h`](srctree/include/linux/percpu-rwsem.h)

use crate::{
    alloc,
    bindings,
    context::MaySleep, //
};
use core::{
    cell::UnsafeCell,
    ops::{
        Deref,
        DerefMut, //
    },
};
use kernel::{
    error::to_result,
    prelude::*,
    types::Opaque, //
};

/// A value with many readers, or one writer.
pub struct PerCpuRwLock<T>(Pin<KBox<Inner<T>>>);

/// # Invariants
///
/// `lock` was initialised and is pinned. Who has read it, reads `value`, who has written it, has
/// `value` alone.
#[pin_data(PinnedDrop)]
struct Inner<T> {
    #[pin]
    lock: Opaque<bindings::percpu_rw_semaphore>,
    value: UnsafeCell<T>,
}

// SAFETY: The lock may be used by any thread, and goes with its value.
unsafe impl<T: Send> Send for Inner<T> {}
// SAFETY: The lock orders those who use the value.
unsafe impl<T: Send + Sync> Sync for Inner<T> {}

impl<T> PerCpuRwLock<T> {
    /// Makes a lock with its value. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub fn new(value: T, _: MaySleep<'_>) -> Result<Self> {
        alloc::point()?;
        let inner = try_pin_init!(Inner {
            lock <- Opaque::try_ffi_init(|slot| {
                // SAFETY: The slot is for a lock.
                to_result(unsafe { bindings::rdm_percpu_init_rwsem(slot) })
            }),
            value: UnsafeCell::new(value),
        }? Error);
        Ok(Self(alloc::pin_boxed(inner, GFP_KERNEL)?))
    }

    /// Reads the value, unless there is a writer. Any context.
    #[inline]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        // SAFETY: By the type invariant.
        let taken = unsafe { bindings::rdm_percpu_down_read_trylock(self.0.lock.get()) };
        // INVARIANT: It was taken.
        taken.then_some(ReadGuard(&self.0))
    }

    /// Reads the value; waits for a writer.
    #[inline]
    pub fn read(&self, _: MaySleep<'_>) -> ReadGuard<'_, T> {
        // SAFETY: By the type invariant; the token says that this may sleep.
        unsafe { bindings::rdm_percpu_down_read(self.0.lock.get()) };
        // INVARIANT: It was taken.
        ReadGuard(&self.0)
    }

    /// Waits until there is no reader, and keeps new ones away.
    pub fn write(&self, _: MaySleep<'_>) -> WriteGuard<'_, T> {
        // SAFETY: By the type invariant; the token says that this may sleep.
        unsafe { bindings::percpu_down_write(self.0.lock.get()) };
        // INVARIANT: It was taken.
        WriteGuard(&self.0)
    }
}

#[pinned_drop]
impl<T> PinnedDrop for Inner<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariant, and nobody has it.
        unsafe { bindings::percpu_free_rwsem(self.lock.get()) }
    }
}

/// A right to read.
///
/// # Invariants
///
/// The lock was taken for reading, and `self` gives it back.
#[must_use = "the lock is free once this is dropped"]
pub struct ReadGuard<'a, T>(&'a Inner<T>);

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: By the type invariant, nobody writes.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> Drop for ReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::rdm_percpu_up_read(self.0.lock.get()) }
    }
}

/// A right to write.
///
/// # Invariants
///
/// The lock was taken for writing, and `self` gives it back.
#[must_use = "the lock is free once this is dropped"]
pub struct WriteGuard<'a, T>(&'a Inner<T>);

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: By the type invariant, nobody else has the value.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: By the type invariant, nobody else has the value.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::percpu_up_write(self.0.lock.get()) }
    }
}
