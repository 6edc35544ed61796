// SPDX-License-Identifier: GPL-2.0

//! Who waits and who wakes up, with the atomics of the model checker: a wake-up that is lost is a
//! deadlock, which it reports.

/// What `atomic.rs` has in the kernel.
///
/// The model checker takes what is `SeqCst` for acquire and release only, except for barriers. So
/// there is a barrier in front of each, as on machines that have it no other way.
pub(crate) mod atomic {
    pub(crate) use loom::sync::atomic::{fence, Ordering};

    pub(crate) struct AtomicUsize(loom::sync::atomic::AtomicUsize);

    fn barrier(order: Ordering) -> Ordering {
        if order == Ordering::SeqCst {
            fence(order);
        }
        order
    }

    macro_rules! rmw {
        ($($name:ident)*) => {$(
            pub(crate) fn $name(&self, value: usize, order: Ordering) -> usize {
                self.0.$name(value, barrier(order))
            }
        )*};
    }

    impl AtomicUsize {
        pub(crate) fn new(value: usize) -> Self {
            Self(loom::sync::atomic::AtomicUsize::new(value))
        }

        pub(crate) fn load(&self, order: Ordering) -> usize {
            self.0.load(barrier(order))
        }

        pub(crate) fn store(&self, value: usize, order: Ordering) {
            self.0.store(value, barrier(order));
        }

        pub(crate) fn compare_exchange_weak(
            &self,
            old: usize,
            new: usize,
            ok: Ordering,
            fail: Ordering,
        ) -> Result<usize, usize> {
            self.0.compare_exchange_weak(old, new, barrier(ok), fail)
        }

        rmw!(fetch_add fetch_sub fetch_or fetch_and fetch_xor);
    }
}

#[path = "../../../../../rust/dm/progress.rs"]
pub(crate) mod progress;
#[path = "../../../../../rust/dm/bufio/state.rs"]
pub(crate) mod state;
#[path = "../../../../../rust/dm/bufio/wakeup.rs"]
pub(crate) mod wakeup;

mod parts;
mod queue;
mod races;
