// SPDX-License-Identifier: GPL-2.0

//! The verity target: a read-only device whose blocks are checked against a tree of hashes.
//!
//! One file for each activity: `table` and `options` parse the table line, `environment` gets for
//! them what they need, `hash_tree` knows where digests are, `target` answers the core, `walk` goes
//! from the root digest to a data block, `batch` verifies bios where they complete, `verify` where
//! it may sleep, `prefetch` reads hashes ahead, `fec` repairs bad blocks, `corruption` does what
//! the table says about those that cannot be, `signature` verifies root digests, `status` and
//! `statistics` print.

#![forbid(unsafe_code)]

mod batch;
mod corruption;
mod environment;
mod fec;
mod hasher;
mod params;
mod prefetch;
mod progress;
mod signature;
mod statistics;
mod target;
mod verify;
mod walk;

// Files without kernel types are compiled on the host as well, where tests use all of them.
#[allow(dead_code, unreachable_pub)]
mod fec_code;
#[allow(dead_code, unreachable_pub)]
mod fec_layout;
#[allow(dead_code, unreachable_pub)]
mod hash_tree;
#[allow(dead_code, unreachable_pub)]
mod options;
#[allow(unreachable_pub)]
mod report;
#[allow(unreachable_pub)]
mod status;
#[allow(unreachable_pub)]
mod table;

use dm::{
    keys,
    log::Log,
    target::Registration, //
};
use kernel::prelude::*;
use target::Verity;

module! {
    type: VerityModule,
    name: "rdm_verity",
    authors: ["The rdm developers"],
    description: "device-mapper target for transparent disk integrity checking, in Rust",
    license: "GPL",
    imports_ns: ["RDM"],
}

/// Where the target's messages go.
static LOG: Log = Log::new(c"device-mapper: verity");

/// The module: the target under its own name, and under the name of the C target where that is
/// free.
#[pin_data]
struct VerityModule {
    #[pin]
    own: Registration<Verity>,
    #[pin]
    usual: Registration<Verity>,
    // Dropped when no table can be loaded any more.
    keyring: keys::Guard,
}

impl kernel::InPlaceModule for VerityModule {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            keyring: signature::create_keyring()?,
            own <- Registration::new(c"rverity"),
            usual <- Registration::if_free(c"verity"),
        })
    }
}
