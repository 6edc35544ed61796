// SPDX-License-Identifier: GPL-2.0

//! Taking buffers away.
//!
//! A batch of buffers is looked at with the lock held; they are freed without it. Nothing here
//! waits for I/O, except for [`Cache::reset`], which first waits for what is being read.

use super::{
    atomic::Ordering,
    cache::{
        now,
        Cache,
        Locked, //
    },
    list::List,
    memory::{
        Head,
        Owned, //
    },
    registry,
    state::Evict,
    wait, //
};
use crate::{
    bindings,
    context::MaySleep, //
};
use core::{
    ops::Range,
    ptr::NonNull, //
};

/// How many buffers are looked at with the lock held.
const BATCH: usize = 32;

impl Cache {
    /// Takes away a buffer that was not used for a while.
    pub(super) fn evict_one(&self, inner: &mut Locked<'_>, budget: &mut usize) -> Option<Owned> {
        while *budget > 0 {
            *budget = budget.saturating_sub(1);
            let head = inner.clock.front()?;
            // SAFETY: Buffers in the clock are valid.
            let buffer = unsafe { head.as_ref() };
            match buffer.state.try_evict(false) {
                Evict::Owned => return Some(self.remove(inner, head)),
                Evict::Referenced | Evict::InUse => {
                    buffer.stamp.store(now(), Ordering::Relaxed);
                    inner.clock.rotate();
                }
            }
        }
        self.count(inner);
        None
    }

    /// Frees up to `wanted` buffers that were not used for a while, looking at no more than
    /// `budget`, which is decreased. Returns how many it freed. May sleep, but not for I/O.
    pub(super) fn evict(&self, wanted: usize, budget: &mut usize) -> usize {
        let mut evicted = 0;
        while evicted < wanted && *budget > 0 && self.cached() > 0 {
            let mut share = BATCH.min(*budget);
            *budget = budget.saturating_sub(share);
            let mut victims = List::new();
            let mut inner = self.lock();
            while evicted < wanted {
                let Some(buffer) = self.evict_one(&mut inner, &mut share) else {
                    break;
                };
                evicted = evicted.saturating_add(1);
                self.keep(&mut inner, &mut victims, buffer);
            }
            drop(inner);
            *budget = budget.saturating_add(share);
            self.free(&mut victims);
        }
        evicted
    }

    /// Puts a buffer into the reserve if that needs one, else into `victims`.
    pub(super) fn keep(&self, inner: &mut Locked<'_>, victims: &mut List<Head>, buffer: Owned) {
        let list = match inner.reserve.len() < self.reserved {
            true => &mut inner.reserve,
            false => victims,
        };
        // SAFETY: It is in no list, and valid until it is freed.
        unsafe { list.push_back(buffer.into_raw()) };
    }

    /// Frees the buffers of a list of owned ones. May sleep.
    pub(super) fn free(&self, victims: &mut List<Head>) {
        while let Some(head) = victims.pop_front() {
            self.shared.total.fetch_sub(1, Ordering::Relaxed);
            // SAFETY: Buffers in such a list are owned, and it was just taken out.
            self.shape.free(unsafe { Owned::from_raw(head) });
        }
        // SAFETY: The helper has no requirements, and this may sleep.
        unsafe { bindings::rdm_cond_resched() };
    }

    /// Gives back a buffer that is not needed. May sleep.
    pub(super) fn give(&self, buffer: Owned) {
        let mut victims = List::new();
        self.keep(&mut self.lock(), &mut victims, buffer);
        self.free(&mut victims);
        wait::released();
    }

    /// Takes the buffer of another block. The second round finds all referenced bits cleared.
    pub(super) fn steal(&self) -> Option<Owned> {
        let mut budget = self.cached().saturating_mul(2);
        while budget > 0 {
            let mut share = BATCH.min(budget);
            budget = budget.saturating_sub(share);
            if let Some(buffer) = self.evict_one(&mut self.lock(), &mut share) {
                return Some(buffer);
            }
        }
        None
    }

    /// Drops a block unless somebody holds it. May sleep.
    pub(super) fn forget(&self, block: u64) {
        let mut victims = List::new();
        let mut inner = self.lock();
        let Some(head) = self.find(&inner, block).map(NonNull::from) else {
            return;
        };
        // SAFETY: It is valid, as it is in the index and the lock is held.
        if unsafe { head.as_ref() }.state.try_evict(true) == Evict::Owned {
            let buffer = self.remove(&mut inner, head);
            self.keep(&mut inner, &mut victims, buffer);
        }
        drop(inner);
        self.free(&mut victims);
        wait::released();
    }

    /// Drops those blocks of a range that nobody holds. May sleep.
    pub(super) fn forget_range(&self, range: Range<u64>) {
        let blocks = range.end.saturating_sub(range.start);
        if blocks > self.cached() as u64 {
            self.drop_unheld(|block| range.contains(&block));
        } else {
            range.for_each(|block| self.forget(block));
        }
    }

    /// Waits for what is being read, and drops every buffer that nobody holds. May sleep.
    pub(super) fn reset(&self, token: MaySleep<'_>) {
        loop {
            self.settle(token);
            if registry::alone(|| self.drop_unheld(|_| true)) == 0 {
                return;
            }
        }
    }

    /// Drops those buffers that `wanted` picks by their block and nobody holds. Returns how many
    /// of these are busy. May sleep, but not for I/O.
    ///
    /// Unless the caller keeps all others from evicting, a buffer may be passed over.
    fn drop_unheld(&self, wanted: impl Fn(u64) -> bool) -> usize {
        let mut left = self.cached();
        let mut busy = 0_usize;
        while left > 0 {
            let mut victims = List::new();
            let mut inner = self.lock();
            for _ in 0..BATCH.min(left) {
                left = left.saturating_sub(1);
                let Some(head) = inner.clock.front() else {
                    break;
                };
                // SAFETY: Buffers in the clock are valid.
                let buffer = unsafe { head.as_ref() };
                let picked = wanted(buffer.block.load(Ordering::Relaxed));
                if picked && buffer.state.try_evict(true) == Evict::Owned {
                    let buffer = self.remove(&mut inner, head);
                    self.keep(&mut inner, &mut victims, buffer);
                } else {
                    let is_busy = picked && buffer.state.load().is_busy();
                    busy = busy.saturating_add(is_busy.into());
                    inner.clock.rotate();
                }
            }
            drop(inner);
            self.free(&mut victims);
        }
        busy
    }

    /// Waits for the buffers that are busy. May pass over one that becomes so meanwhile.
    fn settle(&self, token: MaySleep<'_>) {
        let mut left = self.cached();
        while left > 0 {
            if let Some(head) = self.join_busy(&mut left) {
                // SAFETY: The reference is this function's, and it gives it back.
                unsafe {
                    wait::until_filled(&head.as_ref().state, token);
                    self.put(head);
                }
            }
        }
    }

    /// Takes a reference to the next buffer that is busy, among the next few.
    fn join_busy(&self, left: &mut usize) -> Option<NonNull<Head>> {
        let mut inner = self.lock();
        for _ in 0..BATCH.min(*left) {
            *left = left.saturating_sub(1);
            let head = inner.clock.front()?;
            inner.clock.rotate();
            // SAFETY: Buffers in the clock are valid.
            let state = unsafe { &head.as_ref().state };
            if state.load().is_busy() && state.try_join() {
                return Some(head);
            }
        }
        None
    }
}
