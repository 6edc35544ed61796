// SPDX-License-Identifier: GPL-2.0

//! The atomics of the files that know nothing of the kernel.
//!
//! The host tests have a file of the same name that takes them from a model checker instead.

pub(crate) use core::sync::atomic::{
    fence,
    AtomicPtr,
    AtomicU32,
    AtomicU64,
    AtomicUsize,
    Ordering, //
};
