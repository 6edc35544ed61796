// SPDX-License-Identifier: GPL-2.0

//! The engine: a queue of few requests, and a timer.
//!
//! Requests that find the queue full wait in front of it, as those of the kernel's `crypto_queue`
//! do: their senders are told to send no more, and then when there is room.

use crate::params;
use dm::{
    alloc,
    crypto::engine::{
        Answer,
        Engine,
        Line,
        Offer,
        Pending, //
    },
    timer::{
        Expire,
        Timer, //
    },
};
use kernel::{
    new_spinlock_irq,
    prelude::*,
    sync::SpinLockIrq, //
};

/// The engine.
pub(crate) struct Server {
    timer: Timer<Queues>,
}

/// What it has to do.
struct Queues(Pin<KBox<SpinLockIrq<State>>>);

struct State {
    queue: Line,
    /// What waits in front of the queue.
    front: Line,
    /// Whether the timer runs, or its callback does.
    busy: bool,
}

impl State {
    fn note(&self) {
        let all = self.queue.len().saturating_add(self.front.len());
        params::most.raise(all as usize);
    }
}

impl Server {
    pub(crate) fn new() -> Result<Self> {
        let state = State {
            queue: Line::new(),
            front: Line::new(),
            busy: false,
        };
        let queues = Queues(alloc::pin_boxed(new_spinlock_irq!(state), GFP_KERNEL)?);
        Ok(Self {
            timer: Timer::new(queues)?,
        })
    }
}

/// How long the engine takes for a request, in nanoseconds.
fn duration(bytes: u32) -> u64 {
    let picoseconds = u64::from(bytes).saturating_mul(params::byte_ps.get().into());
    u64::from(params::request_ns.get()).saturating_add(picoseconds / 1000)
}

#[vtable]
impl Engine for Server {
    fn offer(&self, offer: Offer) -> Answer {
        if params::refuse_after.take_one() == Some(1) {
            return offer.refuse(EIO);
        }
        let bytes = offer.bytes();
        let mut state = self.timer.0.lock();
        if state.queue.len() >= params::depth.get().max(1) {
            return match offer.delay() {
                Ok((request, answer)) => {
                    params::delayed.add(1);
                    state.front.push(request);
                    state.note();
                    answer
                }
                Err(offer) => offer.refuse(ENOSPC),
            };
        }
        let (request, answer) = offer.accept();
        state.queue.push(request);
        state.note();
        if !state.busy {
            state.busy = true;
            self.timer.start(duration(bytes));
        }
        answer
    }
}

impl Queues {
    /// Takes the request that is done, and what has room in the queue now.
    fn next(&self) -> (Option<Pending>, Option<Pending>) {
        let mut state = self.0.lock();
        (state.queue.pop(), state.front.pop())
    }
}

impl Expire for Queues {
    fn expired(&self) -> Option<u64> {
        let (request, entering) = self.next();
        if let Some(entering) = entering {
            entering.enter();
            self.0.lock().queue.push(entering);
        }
        if let Some(mut request) = request {
            let result = match params::fail_after.take_one() {
                Some(1) => Err(EIO),
                _ => request.work(),
            };
            params::requests.add(1);
            request.complete(result);
        }
        let mut state = self.0.lock();
        let next = state.queue.first_bytes().map(duration);
        if next.is_none() {
            params::idle.add(1);
            state.busy = false;
        }
        next
    }
}
