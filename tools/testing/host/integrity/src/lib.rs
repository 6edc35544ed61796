// SPDX-License-Identifier: GPL-2.0

//! The files of the integrity target that know nothing of the kernel.

#![no_std]

#[cfg(test)]
extern crate std;

#[path = "../../../../../drivers/md/integrity/bitmap.rs"]
pub mod bitmap;
#[path = "../../../../../drivers/md/integrity/commit.rs"]
pub mod commit;
#[path = "../../../../../drivers/md/integrity/format.rs"]
pub mod format;
#[path = "../../../../../drivers/md/integrity/groups.rs"]
pub mod groups;
#[path = "../../../../../drivers/md/integrity/index.rs"]
pub mod index;
#[path = "../../../../../drivers/md/integrity/journal.rs"]
pub mod journal;
#[path = "../../../../../drivers/md/integrity/layout.rs"]
pub mod layout;
#[path = "../../../../../drivers/md/integrity/options.rs"]
pub mod options;
#[path = "../../../../../drivers/md/integrity/ranges.rs"]
pub mod ranges;
#[path = "../../../../../drivers/md/integrity/replay.rs"]
pub mod replay;
#[path = "../../../../../drivers/md/integrity/shape.rs"]
pub mod shape;
#[path = "../../../../../drivers/md/integrity/status.rs"]
pub mod status;
#[path = "../../../../../drivers/md/integrity/superblock.rs"]
pub mod superblock;
#[path = "../../../../../drivers/md/integrity/table.rs"]
pub mod table;
#[path = "../../../../../drivers/md/integrity/volume.rs"]
pub mod volume;
