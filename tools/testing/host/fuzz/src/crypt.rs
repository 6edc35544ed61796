// SPDX-License-Identifier: GPL-2.0

//! Loads any bytes as a crypt table, by the parser and by the reference, and compares.
//!
//! The first three bytes are about the machine, see `Machine::from_bytes`; the rest is the line.

#![no_main]

use crypt_model::{
    compare::{
        check,
        compare, //
    },
    Machine,
};
use libfuzzer_sys::fuzz_target;
use model::words;

fuzz_target!(|input: &[u8]| {
    let [flags, failure, sectors, line @ ..] = input else {
        return;
    };
    let machine = Machine::from_bytes(*flags, *failure, *sectors);
    if let Ok(config) = compare(&words::split(line), &machine) {
        check(&config, &machine);
    }
});
