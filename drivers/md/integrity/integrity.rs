// SPDX-License-Identifier: GPL-2.0

//! The integrity target: a device with a tag for each block.
//!
//! One file for each activity: `table` and `options` parse the table line, `environment` gets
//! for them what they need, `volume` opens what is on the disk or has `format` make it,
//! `layout` knows where everything is, `construct` makes a device, `target` answers the core,
//! `start` is the way of a bio, `state` what bios and tasks share, `verify` and `tags` are
//! about tags, `given` about those of the device above, `journal_io` takes bios to the journal
//! and back, `journal_crypt` encrypts it, `commit_task` and `write_out` bring it to the disk,
//! `staying` and `groups` say what of it better stays, `replay` decides about what was found
//! there and `replay_task` does it, `bitmaps` is bitmap mode, `inline` the one without metadata
//! of its own, `recalculate` computes tags, `resume` is what comes first and last, `status`
//! prints.

#![forbid(unsafe_code)]

mod bitmaps;
mod commit_task;
mod construct;
mod discard;
mod environment;
mod failure;
mod given;
mod inline;
mod journal_area;
mod journal_crypt;
mod journal_io;
mod progress;
mod recalculate;
mod replay_task;
mod resume;
mod ring;
mod settings;
mod start;
mod state;
mod staying;
mod superblock_io;
mod tagger;
mod tags;
mod target;
mod verify;
mod write_out;

// Files without kernel types are compiled on the host as well, where tests use all of them.
#[allow(dead_code, unreachable_pub)]
mod bitmap;
#[allow(dead_code, unreachable_pub)]
mod commit;
#[allow(dead_code, unreachable_pub)]
mod format;
#[allow(dead_code, unreachable_pub)]
mod groups;
#[allow(dead_code, unreachable_pub)]
mod index;
#[allow(dead_code, unreachable_pub)]
mod journal;
#[allow(dead_code, unreachable_pub)]
mod layout;
#[allow(dead_code, unreachable_pub)]
mod options;
#[allow(dead_code, unreachable_pub)]
mod ranges;
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

use dm::{
    log::Log,
    target::Registration, //
};
use kernel::prelude::*;
use target::Integrity;

module! {
    type: IntegrityModule,
    name: "rdm_integrity",
    authors: ["The rdm developers"],
    description: "device-mapper target for per-block integrity tags, in Rust",
    license: "GPL",
    imports_ns: ["RDM"],
}

/// Where the target's messages go.
static LOG: Log = Log::new(c"device-mapper: integrity");

/// The module: the target under its own name, and under the name of the C target where that is
/// free.
#[pin_data]
struct IntegrityModule {
    #[pin]
    own: Registration<Integrity>,
    #[pin]
    usual: Registration<Integrity>,
}

impl kernel::InPlaceModule for IntegrityModule {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            own <- Registration::new(c"rintegrity"),
            usual <- Registration::if_free(c"integrity"),
        })
    }
}
