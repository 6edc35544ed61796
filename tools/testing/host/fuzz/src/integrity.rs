// SPDX-License-Identifier: GPL-2.0

//! Opens any bytes as table, superblock, and journal of an integrity volume, by the files under
//! test and by the reference, and compares. See `integrity_model::exercise`.

#![no_main]

use integrity_model::exercise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let _ = exercise::run(input);
});
