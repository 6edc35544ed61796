// SPDX-License-Identifier: GPL-2.0

//! Abstractions for device mapper targets.

use kernel::prelude::*;

pub mod alloc;
mod atomic;
pub(crate) mod bindings;
pub mod bio;
pub mod bits;
pub mod bufio;
pub mod bytes;
pub mod context;
pub mod counters;
pub mod crypto;
pub mod debugfs;
pub mod errno;
pub mod io;
pub mod keys;
pub mod log;
pub mod memory;
pub mod mempool;
pub mod params;
pub mod percpu_rwsem;
mod progress;
pub mod reboot;
pub mod reed_solomon;
pub mod request;
pub mod reserve;
pub mod secret;
pub mod security;
pub mod semaphore;
pub mod target;
pub mod timer;
mod wait_bit;
pub mod workqueue;

module! {
    type: RdmModule,
    name: "rdm",
    authors: ["The rdm developers"],
    description: "Rust abstractions for device mapper targets",
    license: "GPL",
}

struct RdmModule {
    _bufio: bufio::Registration,
}

impl kernel::Module for RdmModule {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        // SAFETY: This runs once.
        let bufio = unsafe { bufio::Registration::new() }?;
        debugfs::create();
        Ok(RdmModule { _bufio: bufio })
    }
}

impl Drop for RdmModule {
    fn drop(&mut self) {
        debugfs::remove();
    }
}
