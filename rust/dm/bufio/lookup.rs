// SPDX-License-Identifier: GPL-2.0

//! Finding buffers by their block, and entering them: [`super::index`] and [`super::state`]
//! together. The file uses nothing but `core`: the host tests model-check it.

use super::{
    atomic::{
        AtomicU64,
        Ordering, //
    },
    index::{
        Bucket,
        Index,
        Insert,
        Leaf, //
    },
    state::State,
};
use core::{
    ops::Deref,
    ptr::NonNull, //
};

/// What a buffer in an index has.
pub(crate) trait Entry {
    /// Who may use the buffer.
    fn state(&self) -> &State;

    /// The block that the buffer has. Changes only while the buffer is owned.
    fn block(&self) -> &AtomicU64;
}

impl<T: Entry, S: Deref<Target = [Bucket<T>]>> Index<T, S> {
    /// Takes a reference to a buffer that has the block and is valid. Any context; no lock.
    ///
    /// `released` is called if the last reference to a buffer was given back meanwhile.
    ///
    /// # Safety
    ///
    /// The caller is in an RCU read-side critical section, or holds the lock.
    #[inline]
    pub(crate) unsafe fn get(&self, block: u64, released: impl FnOnce()) -> Option<NonNull<T>> {
        // SAFETY: The same precondition; the buffer is valid at least as long.
        let buffer = unsafe { self.lookup(block)?.as_ref() };
        if !buffer.state().try_get() {
            return None;
        }
        confirm(buffer, block, released)
    }

    /// Takes a reference to a buffer that has the block and is valid, or may become so. Any
    /// context; no lock.
    ///
    /// `released` is called if the last reference to a buffer was given back meanwhile.
    ///
    /// # Safety
    ///
    /// The caller is in an RCU read-side critical section, or holds the lock.
    #[inline]
    pub(crate) unsafe fn join(&self, block: u64, released: impl FnOnce()) -> Option<NonNull<T>> {
        // SAFETY: The same precondition; the buffer is valid at least as long.
        let buffer = unsafe { self.lookup(block)?.as_ref() };
        if !buffer.state().try_join() {
            return None;
        }
        confirm(buffer, block, released)
    }

    /// Enters a buffer for a block, and makes it busy with `holders` references, one of which is
    /// the producer's. Takes `spare` if the block needs a leaf.
    ///
    /// # Safety
    ///
    /// The caller holds the lock and owns the buffer. It frees it only once it owns it again, and
    /// no lookup can have it any more. `spare` is valid, empty, and in no table.
    pub(crate) unsafe fn enter(
        &self,
        block: u64,
        holders: usize,
        buffer: NonNull<T>,
        spare: &mut Option<NonNull<Leaf<T>>>,
    ) -> Insert<T> {
        // SAFETY: The caller owns the buffer.
        let entry = unsafe { buffer.as_ref() };
        entry.block().store(block, Ordering::Relaxed);
        // SAFETY: The same preconditions.
        let result = unsafe { self.insert(block, buffer, spare) };
        if matches!(result, Insert::Done) {
            // Not before it is entered: a lookup that is late may have this buffer, and nobody
            // could take the reference back that it would get.
            entry.state().publish(holders);
        }
        result
    }
}

/// Gives a new reference back unless the buffer has the block.
#[inline]
fn confirm<T: Entry>(buffer: &T, block: u64, released: impl FnOnce()) -> Option<NonNull<T>> {
    if buffer.block().load(Ordering::Relaxed) == block {
        return Some(NonNull::from(buffer));
    }
    if buffer.state().put() {
        released();
    }
    None
}
