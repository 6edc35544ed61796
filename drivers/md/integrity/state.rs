// SPDX-License-Identifier: GPL-2.0

//! What bios and tasks of a device share: one lock, held for as long as it takes to look and to
//! decide.
//!
//! # Ranges
//!
//! Whoever reads or writes the data of a range, or its tags, holds it meanwhile; only writes into
//! the journal do not need to. A range is given up in completions, so the lock is one that
//! interrupts are off under. Who finds a range held waits in line, and gets it before anyone who
//! asked later for anything that overlaps. Bios wait without a thread: they are handed on to a
//! queue when they have their ranges. No bio waits for a range while it has one, and tasks give up
//! all they have before they wait. So all that is held is given up some day.

use crate::{
    progress::{
        Progress,
        Step, //
    },
    ranges::{
        Held,
        Range, //
    },
    ring::Ring,
    superblock::{
        Flags,
        Superblock, //
    },
    target::Integrity,
};
use dm::{
    alloc,
    bio::{
        Kept,
        List, //
    },
    context::MaySleep,
};
use kernel::{
    new_condvar, new_spinlock_irq,
    prelude::*,
    sync::{
        CondVar,
        SpinLockIrq,
        SpinLockIrqGuard, //
    },
};

/// How many ranges can be held at once.
const RANGES: usize = 2048;

/// How many tasks can wait for ranges at once: each of those that there are.
const WAITERS: usize = 4;

/// A task that waits for a range.
#[derive(Clone, Copy)]
struct Waiter {
    range: Range,
    ticket: u64,
    granted: bool,
}

/// What the lock protects.
pub(crate) struct State {
    held: Held<KVVec<Range>>,
    waiting: List<Integrity>,
    tasks: [Option<Waiter>; WAITERS],
    tickets: u64,
    /// Bios that wait for the next commit.
    pub(crate) flushes: List<Integrity>,
    /// Writes that end after the next flush of the bitmap, when the machine is about to stop.
    pub(crate) synchronous: List<Integrity>,
    pub(crate) superblock: Superblock,
    pub(crate) ring: Ring,
}

/// Bios that have got their ranges, and whether tasks have.
pub(crate) struct Granted {
    pub(crate) bios: List<Integrity>,
    tasks: bool,
}

#[pin_data]
struct Inner {
    #[pin]
    state: SpinLockIrq<State>,
    #[pin]
    changed: CondVar,
}

/// The state and its lock.
pub(crate) struct Locked(Pin<KBox<Inner>>);

impl Locked {
    /// May sleep.
    pub(crate) fn new(superblock: Superblock, ring: Ring) -> Result<Self> {
        let slots = alloc::filled(Range::default(), RANGES, GFP_KERNEL)?;
        let state = State {
            held: Held::new(slots),
            waiting: List::new(),
            tasks: [None; WAITERS],
            tickets: 0,
            flushes: List::new(),
            synchronous: List::new(),
            superblock,
            ring,
        };
        let inner = pin_init!(Inner {
            state <- new_spinlock_irq!(state),
            changed <- new_condvar!(),
        });
        Ok(Self(alloc::pin_boxed(inner, GFP_KERNEL)?))
    }

    /// Any context.
    #[inline]
    pub(crate) fn lock(&self) -> SpinLockIrqGuard<'_, State> {
        self.0.state.lock()
    }

    /// Waits until a condition holds, which [`notify`](Self::notify) is called for. May sleep.
    pub(crate) fn wait_until(
        &self,
        _: MaySleep<'_>,
        mut holds: impl FnMut(&mut State) -> bool,
    ) -> SpinLockIrqGuard<'_, State> {
        let mut state = self.lock();
        while !holds(&mut state) {
            self.wait(&mut state);
        }
        state
    }

    /// Gives up the lock until something has changed. The caller may sleep.
    fn wait(&self, state: &mut SpinLockIrqGuard<'_, State>) {
        self.0.changed.wait(state);
    }

    /// Has those look again who wait for a condition. Any context.
    pub(crate) fn notify(&self) {
        self.0.changed.notify_all();
    }
}

impl State {
    fn take_ticket(&mut self) -> u64 {
        self.tickets = self.tickets.wrapping_add(1);
        self.tickets
    }

    /// Holds a range if nobody does, and nobody waits for any of it.
    #[inline]
    pub(crate) fn try_hold(&mut self, range: Range) -> bool {
        if !self.waiting.is_empty() {
            let clash = |other: &Progress| other.range().overlaps(&range);
            if self.waiting.iter().any(clash) {
                return false;
            }
        }
        let clash = |waiter: &Waiter| !waiter.granted && waiter.range.overlaps(&range);
        if self.tasks.iter().flatten().any(clash) {
            return false;
        }
        self.held.insert(range)
    }

    /// Has a bio wait for its range.
    pub(crate) fn wait(&mut self, mut bio: Kept<Integrity>) {
        bio.data_mut().ticket = self.take_ticket();
        self.waiting.push(bio);
    }

    fn add_waiter(&mut self, waiter: Waiter) -> bool {
        match self.tasks.iter_mut().find(|slot| slot.is_none()) {
            Some(slot) => {
                *slot = Some(waiter);
                true
            }
            None => false,
        }
    }

    fn take_granted(&mut self, ticket: u64) -> bool {
        let slot = self
            .tasks
            .iter_mut()
            .find(|slot| slot.is_some_and(|waiter| waiter.ticket == ticket));
        match slot {
            Some(slot) if slot.is_some_and(|waiter| waiter.granted) => {
                *slot = None;
                true
            }
            _ => false,
        }
    }

    /// Gives up a range.
    #[inline]
    pub(crate) fn release(&mut self, range: Range) -> Granted {
        self.held.remove(range);
        self.grant()
    }

    /// Gives ranges to those who wait, as far as the first can have his.
    fn grant(&mut self) -> Granted {
        let mut granted = Granted {
            bios: List::new(),
            tasks: false,
        };
        while self.grant_first(&mut granted) {}
        granted
    }

    fn grant_first(&mut self, granted: &mut Granted) -> bool {
        let bio = self.waiting.iter().next().map(|p| (p.ticket, p.range()));
        let task = self
            .tasks
            .iter_mut()
            .flatten()
            .filter(|waiter| !waiter.granted)
            .min_by_key(|waiter| waiter.ticket);
        match (bio, task) {
            (bio, Some(task)) if bio.is_none_or(|(ticket, _)| task.ticket < ticket) => {
                task.granted = self.held.insert(task.range);
                granted.tasks |= task.granted;
                task.granted
            }
            (Some((_, range)), _) if self.held.insert(range) => {
                if let Some(mut bio) = self.waiting.pop() {
                    bio.data_mut().step = Step::Locked;
                    granted.bios.push(bio);
                }
                true
            }
            _ => false,
        }
    }

    /// Whether the tags of a range are to be right, as far as recalculation goes.
    #[inline]
    pub(crate) fn is_calculated(&self, range: Range) -> bool {
        !self.superblock.flags.contains(Flags::RECALCULATING)
            || range.end() <= self.superblock.recalc_sector
    }
}

impl Integrity {
    /// Holds a range for a task, which must not hold another. May sleep.
    pub(crate) fn hold(&self, range: Range, _: MaySleep<'_>) {
        let mut state = self.state.lock();
        let ticket = state.take_ticket();
        let waiter = Waiter {
            range,
            ticket,
            granted: false,
        };
        loop {
            if state.try_hold(range) {
                return;
            }
            // There is room, since no task waits twice.
            if state.add_waiter(waiter) {
                break;
            }
            self.state.wait(&mut state);
        }
        while !state.take_granted(ticket) {
            self.state.wait(&mut state);
        }
    }

    /// Holds a range for a task, if nobody does, and nobody waits for any of it. Any context.
    pub(crate) fn try_hold(&self, range: Range) -> bool {
        self.state.lock().try_hold(range)
    }

    /// Gives up a range, and hands on the bios that have waited for it. Any context.
    #[inline]
    pub(crate) fn release(&self, range: Range) {
        let granted = self.state.lock().release(range);
        self.hand_on(granted);
    }

    /// Hands on those who have got their ranges. Any context, without the lock.
    #[inline]
    pub(crate) fn hand_on(&self, mut granted: Granted) {
        if granted.tasks {
            self.state.notify();
        }
        while let Some(bio) = granted.bios.pop() {
            let _ = bio.queue(&self.queues.wait);
        }
    }
}
