// SPDX-License-Identifier: GPL-2.0

//! What the tests and the fuzzer of the integrity target's files compare them with.
//!
//! [`Machine`] is what a table is loaded into. [`reference`](mod@reference) is a second,
//! independent account of what the C target does with a table, a superblock, and a journal, in
//! the terms of C and with its arithmetic. [`compare`] and [`replay`] do all of it by both, and
//! [`exercise`] for bytes of a fuzzer. [`section`] reads and writes sections of a journal.

pub mod compare;
pub mod exercise;
pub mod machine;
pub mod reference;
pub mod replay;
pub mod section;

pub use machine::Machine;
