// SPDX-License-Identifier: GPL-2.0

//! Finding memory for a buffer, or for a leaf of the index.
//!
//! First what is free, then what can be reclaimed without I/O, then the reserve, then another
//! buffer of the client; and if all that fails, waiting for one to be released. The memory of all
//! clients together stays within the [limit](super::limit), for which buffers of any client may
//! have to go.

use super::{
    atomic::Ordering,
    cache::{
        Cache,
        Inner, //
    },
    limit,
    memory::{
        allocate_leaf,
        free_leaf,
        Effort,
        Leaf,
        Owned, //
    },
    registry,
    wait, //
};
use crate::context::MaySleep;
use core::ptr::NonNull;

impl Cache {
    /// Puts a leaf into the reserve if that needs one, else frees it.
    pub(super) fn keep_leaf(&self, inner: &mut Inner, leaf: NonNull<Leaf>) {
        let kept =
            inner.leaves.len() < self.reserved && inner.leaves.push_within_capacity(leaf).is_ok();
        if !kept {
            // SAFETY: It is out of the index, and nobody else has it.
            unsafe { free_leaf(leaf) };
        }
    }

    /// Gives back a leaf that is not needed.
    pub(super) fn give_leaf(&self, leaf: NonNull<Leaf>) {
        self.keep_leaf(&mut self.lock(), leaf);
    }

    /// Allocates a buffer whose bytes were charged.
    pub(super) fn allocate(&self, effort: Effort) -> Option<Owned> {
        let buffer = self.shape.allocate(effort).ok();
        if buffer.is_none() {
            self.shared.total.fetch_sub(1, Ordering::Relaxed);
            limit::discharge(self.shape.footprint.get());
        }
        buffer
    }

    /// Charges the bytes of a buffer in any case.
    pub(super) fn charge_reserve(&self) {
        self.shared.total.fetch_add(1, Ordering::Relaxed);
        limit::charge(self.shape.footprint.get());
    }

    /// Charges the bytes of a buffer, for which others may have to go. A client that has no
    /// buffer at all gets one in any case. May sleep, but not for I/O.
    fn charge(&self) -> bool {
        let bytes = self.shape.footprint.get();
        let total = &self.shared.total;
        if !limit::try_charge(bytes) {
            registry::make_room(bytes);
            if !limit::try_charge(bytes) {
                let first = total.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
                if first.is_ok() {
                    limit::charge(bytes);
                }
                return first.is_ok();
            }
        }
        total.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Finds memory for a buffer without waiting for it.
    pub(super) fn obtain_now(&self) -> Option<Owned> {
        match self.charge() {
            true => self.allocate(Effort::NoWait),
            false => None,
        }
    }

    /// Finds memory for a buffer: what can be reclaimed, the reserve, another buffer. Writes dirty
    /// buffers so that they can be taken, and waits for one to be released if nothing helps.
    pub(super) fn obtain(&self, token: MaySleep<'_>) -> Owned {
        self.until_found(|| self.look_for_buffer(), token)
    }

    /// Calls `look` until it finds something. Writes dirty buffers meanwhile so that they can be
    /// taken, and waits for one to be released if there is none.
    fn until_found<R>(&self, look: impl Fn() -> Option<R>, token: MaySleep<'_>) -> R {
        loop {
            wait::announce();
            if let Some(found) = look() {
                wait::released();
                return found;
            }
            if !self.relieve(token) {
                wait::until_released(token);
            }
        }
    }

    fn look_for_buffer(&self) -> Option<Owned> {
        if self.charge() {
            if let Some(buffer) = self.allocate(Effort::NoIo) {
                return Some(buffer);
            }
        }
        self.take_reserve().or_else(|| self.steal())
    }

    fn take_reserve(&self) -> Option<Owned> {
        let head = self.lock().reserve.pop_front()?;
        // SAFETY: Buffers in the reserve are owned, and it was just taken out.
        Some(unsafe { Owned::from_raw(head) })
    }

    /// Finds memory for a leaf without waiting for it.
    pub(super) fn obtain_leaf_now(&self) -> Option<NonNull<Leaf>> {
        allocate_leaf(Effort::NoWait).ok()
    }

    /// Finds memory for a leaf. Waits until a leaf has no buffers any more if nothing helps.
    pub(super) fn obtain_leaf(&self, token: MaySleep<'_>) -> NonNull<Leaf> {
        self.until_found(|| self.look_for_leaf(), token)
    }

    fn look_for_leaf(&self) -> Option<NonNull<Leaf>> {
        loop {
            if let Ok(leaf) = allocate_leaf(Effort::NoIo) {
                return Some(leaf);
            }
            if let Some(leaf) = self.lock().leaves.pop() {
                return Some(leaf);
            }
            // One of the buffers may be the last of its leaf.
            self.give(self.steal()?);
        }
    }
}
