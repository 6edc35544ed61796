// SPDX-License-Identifier: GPL-2.0

//! Targets for tests of the block cache.
//!
//! `bufio-test` is a read-only device whose data comes through the cache, and is compared with the
//! device below from outside. `table` parses the table line, which says how the cache is used;
//! `target` answers the core; `reader` reads. `bufio-store` runs programs that write through the
//! cache: `store` answers the core, `program` runs them.

#![forbid(unsafe_code)]

mod program;
mod reader;
mod store;
mod table;
mod target;

use dm::{
    log::Log,
    target::Registration, //
};
use kernel::prelude::*;
use store::StoreTest;
use target::BufioTest;

module! {
    type: TestModule,
    name: "test_bufio",
    authors: ["The rdm developers"],
    description: "device-mapper target for tests of the block cache",
    license: "GPL",
    imports_ns: ["RDM"],
}

/// Where the target's messages go.
static LOG: Log = Log::new(c"device-mapper: bufio-test");

/// The module: the targets.
#[pin_data]
struct TestModule {
    #[pin]
    target: Registration<BufioTest>,
    #[pin]
    store: Registration<StoreTest>,
}

impl kernel::InPlaceModule for TestModule {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            target <- Registration::new(c"bufio-test"),
            store <- Registration::new(c"bufio-store"),
        })
    }
}
