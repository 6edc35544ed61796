// SPDX-License-Identifier: GPL-2.0

//! The cache with the atomics of the model checker.

/// What `atomic.rs` has in the kernel.
pub(crate) mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
}
#[path = "../../../../../rust/dm/bufio/index.rs"]
pub(crate) mod index;
#[path = "../../../../../rust/dm/bufio/lookup.rs"]
pub(crate) mod lookup;
#[path = "../../../../../rust/dm/bufio/state.rs"]
pub(crate) mod state;

mod cache;
mod races;
mod writes;
