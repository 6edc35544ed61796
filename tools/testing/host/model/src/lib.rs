// SPDX-License-Identifier: GPL-2.0

//! What the tests and the fuzzer of the verity parser compare it with.
//!
//! [`Machine`] is what a table is loaded into: devices, hash algorithms, keys, and a log of what
//! was asked of it. [`reference`](mod@reference) is a second, independent account of what the C
//! target does with a table. [`compare`](compare::compare) loads a table by both and compares
//! everything.

pub mod compare;
pub mod environment;
pub mod machine;
pub mod reference;
pub mod tables;
pub mod tree;
pub mod words;

pub use machine::Machine;
