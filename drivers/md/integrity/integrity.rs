// SPDX-License-Identifier: GPL-2.0

//! The integrity target: a device with a tag for each block.

#![forbid(unsafe_code)]

// Files without kernel types are compiled on the host as well, where tests use all of them.
#[allow(dead_code, unreachable_pub)]
mod bitmap;
#[allow(dead_code, unreachable_pub)]
mod commit;
#[allow(dead_code, unreachable_pub)]
mod format;
#[allow(dead_code, unreachable_pub)]
mod journal;
#[allow(dead_code, unreachable_pub)]
mod layout;
#[allow(dead_code, unreachable_pub)]
mod options;
#[allow(dead_code, unreachable_pub)]
mod replay;
#[allow(dead_code, unreachable_pub)]
mod shape;
#[allow(dead_code, unreachable_pub)]
mod status;
#[allow(dead_code, unreachable_pub)]
mod superblock;
#[allow(dead_code, unreachable_pub)]
mod table;
#[allow(dead_code, unreachable_pub)]
mod volume;

use kernel::prelude::*;

module! {
    type: IntegrityModule,
    name: "rdm_integrity",
    authors: ["The rdm developers"],
    description: "device-mapper target for per-block integrity tags, in Rust",
    license: "GPL",
    imports_ns: ["RDM"],
}

struct IntegrityModule;

impl kernel::Module for IntegrityModule {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Self)
    }
}
