// SPDX-License-Identifier: GPL-2.0

//! The state against an enumeration with numbers.

use crate::plain::state::{Evict, State, Status};
use proptest::prelude::*;

/// What a buffer is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Contents {
    Owned,
    Busy,
    Valid,
    Failed(u8),
}

use Contents::{Busy, Failed, Owned, Valid};

#[derive(Clone, Copy, Debug)]
enum Op {
    Publish(bool),
    Get,
    Join,
    Put,
    Complete(Option<u8>, bool),
    Restart(bool),
    Claim,
    Evict(bool),
    Dirty,
    BeginWrite,
    EndWrite,
    BeginFill,
    EndFill,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        any::<bool>().prop_map(Op::Publish),
        Just(Op::Get),
        Just(Op::Join),
        Just(Op::Put),
        (any::<Option<u8>>(), any::<bool>()).prop_map(|(e, keep)| Op::Complete(e, keep)),
        any::<bool>().prop_map(Op::Restart),
        Just(Op::Claim),
        any::<bool>().prop_map(Op::Evict),
        Just(Op::Dirty),
        Just(Op::BeginWrite),
        Just(Op::EndWrite),
        Just(Op::BeginFill),
        Just(Op::EndFill),
    ]
}

/// The model: `held` are the references, without the producer's.
#[derive(Debug)]
struct Model {
    contents: Contents,
    held: usize,
    referenced: bool,
    dirty: bool,
    writing: bool,
    filling: bool,
}

impl Model {
    fn take(&mut self, allowed: bool) -> bool {
        if allowed {
            self.held += 1;
            self.referenced = true;
        }
        allowed
    }

    fn is_kept(&self) -> bool {
        self.dirty || self.writing || self.filling
    }

    fn start(&mut self, held: usize, allowed: bool) -> bool {
        if allowed {
            self.held += held;
            self.contents = Busy;
        }
        allowed
    }

    fn evict(&mut self, force: bool) -> Evict {
        match self.contents {
            Owned | Busy => Evict::InUse,
            _ if self.held > 0 || self.is_kept() => Evict::InUse,
            _ if self.referenced && !force => {
                self.referenced = false;
                Evict::Referenced
            }
            _ => {
                (self.contents, self.referenced) = (Owned, false);
                Evict::Owned
            }
        }
    }

    /// Does the same to both, where the callers of the protocol may.
    fn run(&mut self, state: &State, op: Op) {
        match op {
            Op::Publish(hold) if self.contents == Owned => {
                state.publish(1 + usize::from(hold));
                self.start(hold.into(), true);
            }
            Op::Get => assert_eq!(state.try_get(), self.take(self.contents == Valid)),
            Op::Join => {
                let allowed = matches!(self.contents, Busy | Valid);
                assert_eq!(state.try_join(), self.take(allowed));
            }
            Op::Put if self.held > 0 => {
                self.held -= 1;
                assert_eq!(state.put(), self.held == 0 && self.contents != Busy);
            }
            Op::Complete(error, keep) if self.contents == Busy => {
                state.complete(error.map_or(Ok(()), |e| Err(Status(e))), keep);
                self.contents = error.map_or(Valid, Failed);
                self.held += usize::from(keep);
            }
            Op::Restart(hold) => {
                let allowed = matches!(self.contents, Failed(_));
                let holders = 1 + usize::from(hold);
                assert_eq!(state.try_restart(holders), self.start(hold.into(), allowed));
            }
            Op::Claim => {
                let free = self.held == 1 && !self.is_kept();
                let allowed = free && matches!(self.contents, Valid | Failed(_));
                assert_eq!(state.try_claim(), self.start(0, allowed));
                self.held -= usize::from(allowed);
            }
            Op::Evict(force) => assert_eq!(state.try_evict(force), self.evict(force)),
            Op::Dirty if self.contents == Valid && self.held > 0 => {
                assert_eq!(state.set_dirty(), !self.dirty && !self.writing);
                self.dirty = true;
            }
            Op::BeginWrite if self.dirty && !self.writing => {
                state.begin_write();
                (self.dirty, self.writing) = (false, true);
            }
            Op::EndWrite if self.writing => {
                assert_eq!(state.end_write(), self.dirty);
                self.writing = false;
            }
            Op::BeginFill if self.contents == Valid && (self.held > 0 || self.dirty) => {
                assert_eq!(state.begin_fill(), !self.filling);
                self.filling = true;
            }
            Op::EndFill if self.filling => {
                state.end_fill();
                self.filling = false;
            }
            Op::Publish(_) | Op::Put | Op::Complete(..) => {}
            Op::Dirty | Op::BeginWrite | Op::EndWrite | Op::BeginFill | Op::EndFill => {}
        }
    }

    fn compare(&self, state: &State) {
        let now = state.load();
        assert_eq!(now.is_busy(), self.contents == Busy);
        assert_eq!(now.is_dirty(), self.dirty);
        assert_eq!(now.is_writing(), self.writing);
        let producer = usize::from(self.contents == Busy);
        assert_eq!(now.count(), self.held + producer);
        let failure = match self.contents {
            Failed(status) => Some(Status(status)),
            _ => None,
        };
        assert_eq!(now.failure(), failure);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn behaves_as_the_model(ops in prop::collection::vec(op(), 0..500)) {
        let state = State::new();
        let mut model = Model {
            contents: Owned,
            held: 0,
            referenced: false,
            dirty: false,
            writing: false,
            filling: false,
        };
        for op in ops {
            model.run(&state, op);
            model.compare(&state);
        }
    }
}
