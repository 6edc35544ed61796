// SPDX-License-Identifier: GPL-2.0

//! A simulated engine for ciphers, for tests and measurements.
//!
//! It does one request after the other, in a time that the parameters say, while the CPU does
//! something else; the results are those of the kernel's own ciphers. Tables name it as
//! `capi:xts-aes-engine-plain64` or `capi:cbc-aes-engine-plain64`; nobody gets it who does not.

#![forbid(unsafe_code)]

mod params;
mod server;

use dm::crypto::engine::{
    Algorithm,
    Registration, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};
use server::Server;

module! {
    type: EngineModule,
    name: "test_engine",
    authors: ["The rdm developers"],
    description: "simulated engine with asynchronous ciphers, for tests",
    license: "GPL",
    imports_ns: ["RDM"],
}

const XTS: Algorithm = Algorithm {
    name: c"xts(aes)",
    driver_name: c"xts-aes-engine",
    priority: 1,
    key_sizes: (32, 64),
    block_size: 16,
};

const CBC: Algorithm = Algorithm {
    name: c"cbc(aes)",
    driver_name: c"cbc-aes-engine",
    priority: 1,
    key_sizes: (16, 32),
    block_size: 16,
};

/// The module: the algorithms, which share the engine.
struct EngineModule {
    _xts: Registration<Server>,
    _cbc: Registration<Server>,
}

impl kernel::Module for EngineModule {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        let server = Arc::new(Server::new()?, GFP_KERNEL)?;
        Ok(Self {
            _xts: Registration::new(&XTS, server.clone())?,
            _cbc: Registration::new(&CBC, server)?,
        })
    }
}
