// SPDX-License-Identifier: GPL-2.0

//! The crypt target: what is written is encrypted, what is read is decrypted.
//!
//! One file for each activity: `table`, `options`, `cipher`, `key` and `encryption` parse the table
//! line, `environment` gets for them what they need; `construct` makes a device of it, `target`
//! answers the core and says which bio goes where, `request` does so for requests where the device
//! gets those, `way` says who converts. `convert` works through the sectors of a bio, `special`
//! does so for the modes that change data beside the cipher, `tagged` and `tagged_bio` where
//! sectors have metadata, `flight` where an engine does the work; `iv`, `iv_lmk`, `iv_tcw`,
//! `iv_elephant` are the formulas of those modes, `layout` what is computed from sectors. `secret`
//! is where keys are, and changes them on a `message`; `status` prints.

#![forbid(unsafe_code)]

mod construct;
mod convert;
mod environment;
mod flight;
mod params;
mod request;
mod secret;
mod special;
mod tagged;
mod tagged_bio;
mod target;
mod way;

// Files without kernel types are compiled on the host as well, where tests use all of them.
#[allow(dead_code, unreachable_pub)]
mod cipher;
#[allow(dead_code, unreachable_pub)]
mod encryption;
#[allow(dead_code, unreachable_pub)]
mod iv;
#[allow(dead_code, unreachable_pub)]
mod iv_elephant;
#[allow(dead_code, unreachable_pub)]
mod iv_lmk;
#[allow(dead_code, unreachable_pub)]
mod iv_tcw;
#[allow(dead_code, unreachable_pub)]
mod key;
#[allow(dead_code, unreachable_pub)]
mod layout;
#[allow(dead_code, unreachable_pub)]
mod message;
#[allow(dead_code, unreachable_pub)]
mod options;
#[allow(dead_code, unreachable_pub)]
mod status;
#[allow(dead_code, unreachable_pub)]
mod table;

use dm::{
    bio::Budget,
    log::Log,
    target::Registration, //
};
use kernel::prelude::*;
use target::Crypt;

module! {
    type: CryptModule,
    name: "rdm_crypt",
    authors: ["The rdm developers"],
    description: "device-mapper target for transparent encryption and decryption, in Rust",
    license: "GPL",
    imports_ns: ["RDM"],
}

/// Where the target's messages go.
static LOG: Log = Log::new(c"device-mapper: crypt");

/// The pages that all devices may have for what they write.
static BUDGET: Budget = Budget::new(layout::page_budget);

/// The module: the target under its own name, and under the name of the C target where that is
/// free; both for bios, and for requests.
#[pin_data]
struct CryptModule {
    #[pin]
    own: Registration<Crypt>,
    #[pin]
    usual: Registration<Crypt>,
    #[pin]
    own_requests: Registration<Crypt>,
    #[pin]
    usual_requests: Registration<Crypt>,
}

impl kernel::InPlaceModule for CryptModule {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            own <- Registration::new(c"rcrypt"),
            usual <- Registration::if_free(c"crypt"),
            own_requests <- Registration::of_requests(c"rcrypt-rq"),
            usual_requests <- Registration::of_requests_if_free(c"crypt-rq"),
        })
    }
}
