// SPDX-License-Identifier: GPL-2.0

//! The verity target.

#![forbid(unsafe_code)]

use kernel::prelude::*;

module! {
    type: VerityModule,
    name: "rdm_verity",
    authors: ["The rdm developers"],
    description: "device mapper target for transparent disk integrity checking",
    license: "GPL",
    imports_ns: ["RDM"],
}

struct VerityModule;

impl kernel::Module for VerityModule {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(VerityModule)
    }
}
