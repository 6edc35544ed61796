// SPDX-License-Identifier: GPL-2.0

//! The files of the verity target that know nothing of the kernel.

#![no_std]

#[cfg(test)]
extern crate std;

#[path = "../../../../../drivers/md/verity/fec_code.rs"]
pub mod fec_code;
#[path = "../../../../../drivers/md/verity/fec_layout.rs"]
pub mod fec_layout;
#[path = "../../../../../drivers/md/verity/hash_tree.rs"]
pub mod hash_tree;
#[path = "../../../../../drivers/md/verity/options.rs"]
pub mod options;
#[path = "../../../../../drivers/md/verity/report.rs"]
pub mod report;
#[path = "../../../../../drivers/md/verity/status.rs"]
pub mod status;
#[path = "../../../../../drivers/md/verity/table.rs"]
pub mod table;
