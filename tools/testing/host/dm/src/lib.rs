// SPDX-License-Identifier: GPL-2.0

//! Stands in for the `dm` crate on the host: its files that know nothing of the kernel.

#![no_std]

#[cfg(test)]
extern crate std;

#[path = "../../../../../rust/dm/errno.rs"]
pub mod errno;

pub mod target;
