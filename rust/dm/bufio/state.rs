// SPDX-License-Identifier: GPL-2.0

//! The state of a buffer: who may look at it, and who may take it away.
//!
//! One word holds the number of references and what the contents are worth, so that every step
//! of the protocol is one atomic operation, and a lookup needs no lock. The file uses nothing but
//! `core`: the host tests model-check it.
//!
//! # States
//!
//! | State  | Contents                        | New references                          |
//! |--------|---------------------------------|-----------------------------------------|
//! | owned  | belong to one thread            | none                                    |
//! | busy   | written by one producer         | [`State::try_join`]                     |
//! | valid  | read by who has a reference     | [`State::try_join`], [`State::try_get`] |
//! | failed | nobody's                        | none, until [`State::try_restart`]      |
//!
//! A buffer is made owned. Its owner writes its block number and publishes it busy; the producer
//! (an I/O in flight or a [`State::try_claim`] of the buffer) has one of the references and gives
//! it up in [`State::complete`]. Only a buffer without references goes back to owned, by
//! [`State::try_evict`]; only one that failed, or that nobody else holds, to busy.
//!
//! A lookup finds a pointer to a buffer, and may be delayed before it takes the reference until
//! the buffer has another block, or none. Therefore the memory of the word outlives all lookups,
//! and who has taken a reference compares the block number before anything else.
//!
//! # Buffers that are written
//!
//! A valid buffer of a store may be *dirty* (newer than the device), *writing* (on its way there),
//! *filling* (bytes that are missing are being read), or all of these. Each keeps the buffer from
//! being taken away, like a reference. Which bytes that is about is not in the word, but under a
//! lock of the buffer, whose holder changes the bits so that they agree.

use super::atomic::{
    AtomicUsize,
    Ordering, //
};

/// The number of the bit that is set while a buffer is busy, to wait on.
pub(crate) const BUSY_BIT: u32 = 0;

const BUSY: usize = 1 << BUSY_BIT;
const VALID: usize = 1 << 1;
const FAILED: usize = 1 << 2;
const OWNED: usize = 1 << 3;
const REFERENCED: usize = 1 << 4;
const CONTENTS: usize = BUSY | VALID | FAILED | OWNED;

/// The number of the bit that is set while a buffer is written out, to wait on.
pub(crate) const WRITING_BIT: u32 = 6;
/// The number of the bit that is set while missing bytes are read, to wait on.
pub(crate) const FILLING_BIT: u32 = 7;

const DIRTY: usize = 1 << 5;
const WRITING: usize = 1 << WRITING_BIT;
const FILLING: usize = 1 << FILLING_BIT;
const KEPT: usize = DIRTY | WRITING | FILLING;

const STATUS_SHIFT: u32 = 8;
const STATUS: usize = 0xff << STATUS_SHIFT;

const COUNT_SHIFT: u32 = 16;
const ONE: usize = 1 << COUNT_SHIFT;
/// No reference is given out beyond this number; far from an overflow even if every CPU is just
/// about to take one.
const COUNT_MAX: usize = (usize::MAX >> COUNT_SHIFT) / 2;

/// Why a buffer failed: a status of the block layer, or 0 where the contents were never asked
/// for by themselves, and are worth a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u8);

impl Status {
    /// A neighbour failed, or the producer gave up.
    pub(crate) const RETRY: Self = Self(0);
}

/// What came of [`State::try_evict`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evict {
    /// The buffer belongs to the caller.
    Owned,
    /// The buffer was referenced since the last time, and now no longer counts as such.
    Referenced,
    /// The buffer is held, busy, or dirty.
    InUse,
}

/// The state at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot(usize);

impl Snapshot {
    /// Whether the contents are being produced.
    #[inline]
    pub(crate) fn is_busy(self) -> bool {
        self.0 & BUSY != 0
    }

    /// Whether the contents are newer than what the device has, or has been told.
    #[inline]
    pub(crate) fn is_dirty(self) -> bool {
        self.0 & DIRTY != 0
    }

    /// Whether the contents are being written out.
    #[inline]
    pub(crate) fn is_writing(self) -> bool {
        self.0 & WRITING != 0
    }

    /// Returns why the buffer failed, if it has.
    #[inline]
    pub(crate) fn failure(self) -> Option<Status> {
        if self.0 & FAILED == 0 {
            return None;
        }
        Some(Status(((self.0 & STATUS) >> STATUS_SHIFT) as u8))
    }

    /// The number of references.
    #[inline]
    pub(crate) fn count(self) -> usize {
        self.0 >> COUNT_SHIFT
    }
}

/// The state of a buffer.
///
/// # Invariants
///
/// Exactly one of `BUSY`, `VALID`, `FAILED`, and `OWNED` is set. The count is 0 if it is `OWNED`,
/// and at least 1 if it is `BUSY`. The status is 0 unless it is `FAILED`. `DIRTY`, `WRITING`, and
/// `FILLING` are only set if it is `VALID`.
#[repr(transparent)]
pub(crate) struct State(AtomicUsize);

impl State {
    /// Makes the state of a buffer that belongs to the caller.
    pub(crate) fn new() -> Self {
        // INVARIANT: owned, with no reference.
        Self(AtomicUsize::new(OWNED))
    }

    /// Returns the current state. What was written before the contents became valid is visible
    /// to a caller who sees them valid and has a reference.
    #[inline]
    pub(crate) fn load(&self) -> Snapshot {
        Snapshot(self.0.load(Ordering::Acquire))
    }

    /// The address of the word, to wait on.
    pub(crate) fn as_ptr(&self) -> *const Self {
        self
    }

    /// Makes an owned buffer busy, with `holders` references: the producer's, and the caller's
    /// if it wants one.
    ///
    /// What the owner wrote before, above all the block number, is visible to whoever gets a
    /// reference.
    pub(crate) fn publish(&self, holders: usize) {
        debug_assert!(holders > 0);
        // INVARIANT: busy, with the producer's reference.
        self.0
            .store(BUSY | (holders << COUNT_SHIFT), Ordering::Release);
    }

    /// Takes a reference if the contents are valid. Any context; never waits.
    #[inline]
    #[must_use]
    pub(crate) fn try_get(&self) -> bool {
        self.take(|state| state & VALID != 0)
    }

    /// Takes a reference if the contents are valid, or may become so. Any context; never waits.
    ///
    /// A failure is only for those who waited for it, so that it is no reason to take one.
    #[inline]
    #[must_use]
    pub(crate) fn try_join(&self) -> bool {
        self.take(|state| state & (VALID | BUSY) != 0)
    }

    #[inline]
    fn take(&self, allowed: impl Fn(usize) -> bool) -> bool {
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            if !allowed(state) || state >> COUNT_SHIFT >= COUNT_MAX {
                return false;
            }
            match self.0.compare_exchange_weak(
                state,
                state.wrapping_add(ONE) | REFERENCED,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
    }

    /// Gives a reference back, and returns whether it was the last. Any context; never waits.
    ///
    /// Sequentially consistent, so that a waiter for a free buffer who announced itself before
    /// looking at this state is seen by the caller afterwards.
    #[inline]
    pub(crate) fn put(&self) -> bool {
        let before = self.0.fetch_sub(ONE, Ordering::SeqCst);
        debug_assert!(before >> COUNT_SHIFT > 0);
        Snapshot(before).count() == 1
    }

    /// Ends busy, for the producer. `keep` tells whether it keeps its reference.
    ///
    /// Any context. If it does not keep its reference, the buffer may be gone when this returns:
    /// the word must not be touched again.
    pub(crate) fn complete(&self, result: Result<(), Status>, keep: bool) {
        let set = match result {
            Ok(()) => VALID,
            Err(Status(status)) => FAILED | (usize::from(status) << STATUS_SHIFT),
        };
        let drop = if keep { 0 } else { ONE };
        // INVARIANT: the state is busy, and stays so for all but the producer, that is the
        // caller. So its bit is exchanged for another one, and the status was 0.
        let before = self
            .0
            .fetch_add(set.wrapping_sub(BUSY | drop), Ordering::SeqCst);
        debug_assert!(before & CONTENTS == BUSY);
    }

    /// Makes a failed buffer busy again, with `holders` more references. Others who still have
    /// one wait for the new result.
    #[must_use]
    pub(crate) fn try_restart(&self, holders: usize) -> bool {
        self.try_produce(holders, |state| state & FAILED != 0)
    }

    /// Makes a buffer busy again that nobody but the caller holds. Its reference becomes the
    /// producer's.
    #[must_use]
    pub(crate) fn try_claim(&self) -> bool {
        self.try_produce(0, |state| {
            state & (VALID | FAILED) != 0 && state & KEPT == 0 && state >> COUNT_SHIFT == 1
        })
    }

    fn try_produce(&self, holders: usize, allowed: impl Fn(usize) -> bool) -> bool {
        let mut state = self.0.load(Ordering::Relaxed);
        while allowed(state) {
            let count = (state >> COUNT_SHIFT).wrapping_add(holders);
            // INVARIANT: busy, with the producer's reference and no status.
            match self.0.compare_exchange_weak(
                state,
                BUSY | (count << COUNT_SHIFT) | (state & REFERENCED),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Makes a valid buffer dirty. The caller has a reference. Returns whether it was neither
    /// dirty nor being written out: then it is for the caller to see that it is.
    #[must_use]
    pub(crate) fn set_dirty(&self) -> bool {
        let before = self.0.fetch_or(DIRTY, Ordering::AcqRel);
        debug_assert!(before & VALID != 0);
        before & (DIRTY | WRITING) == 0
    }

    /// Begins to write out a dirty buffer: it is clean now, and being written. One thread at a
    /// time.
    pub(crate) fn begin_write(&self) {
        let before = self.0.fetch_xor(DIRTY | WRITING, Ordering::AcqRel);
        debug_assert!(before & (DIRTY | WRITING) == DIRTY);
    }

    /// Ends writing out. Returns whether the buffer is dirty again: if not, and the caller has no
    /// reference, it may be gone.
    #[must_use]
    pub(crate) fn end_write(&self) -> bool {
        let before = self.0.fetch_and(!WRITING, Ordering::AcqRel);
        debug_assert!(before & WRITING != 0);
        before & DIRTY != 0
    }

    /// Begins to read missing bytes of a valid buffer, unless somebody else does. The caller has
    /// a reference, or the buffer is dirty and the caller is the one to write it out.
    #[must_use]
    pub(crate) fn begin_fill(&self) -> bool {
        let before = self.0.fetch_or(FILLING, Ordering::AcqRel);
        debug_assert!(before & VALID != 0);
        before & FILLING == 0
    }

    /// Ends [filling](Self::begin_fill).
    pub(crate) fn end_fill(&self) {
        let before = self.0.fetch_and(!FILLING, Ordering::AcqRel);
        debug_assert!(before & FILLING != 0);
    }

    /// Takes the buffer away if nobody holds it, and, unless `force` is set, if it was not
    /// referenced since the last time.
    ///
    /// Everything that was done with the buffer happened before the caller owns it.
    pub(crate) fn try_evict(&self, force: bool) -> Evict {
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            let kept = state & KEPT != 0 || state >> COUNT_SHIFT != 0;
            if state & (VALID | FAILED) == 0 || kept {
                return Evict::InUse;
            }
            let (next, result) = match state & REFERENCED != 0 && !force {
                true => (state & !REFERENCED, Evict::Referenced),
                // INVARIANT: there is no reference, and there will be none while it is owned.
                false => (OWNED, Evict::Owned),
            };
            match self
                .0
                .compare_exchange_weak(state, next, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return result,
                Err(now) => state = now,
            }
        }
    }
}
