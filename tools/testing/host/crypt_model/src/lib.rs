// SPDX-License-Identifier: GPL-2.0

//! What the tests and the fuzzer of the crypt parser compare it with.
//!
//! [`Machine`] is what a table is loaded into: ciphers, keyrings, devices, and a log of what was
//! asked of it. [`reference`](mod@reference) is a second, independent account of what the C target
//! does with a table. [`compare`](compare::compare) loads a table by both and compares everything.

pub mod compare;
mod environment;
pub mod machine;
pub mod reference;
mod reference_cipher;
pub mod tables;

pub use machine::Machine;
