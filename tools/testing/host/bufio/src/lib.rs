// SPDX-License-Identifier: GPL-2.0

//! The files of the block cache that know nothing of the kernel, built twice: with the atomics of
//! the language, and with those of a model checker that tries all the ways in which threads can
//! get into each other's way, and all that weak memory may show them.

#![cfg(test)]
#![allow(clippy::duplicate_mod, dead_code)]

mod checked;
mod plain;
mod random;
mod waiting;
