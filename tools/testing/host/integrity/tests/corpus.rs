// SPDX-License-Identifier: GPL-2.0

//! What the fuzzer starts with: all of it runs, and most of it is a volume.

use std::fs;

use integrity_model::exercise;

#[test]
fn all_seeds() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/integrity/corpus");
    let (mut all, mut opened) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let input = fs::read(entry.unwrap().path()).unwrap();
        all += 1;
        opened += u32::from(exercise::run(&input).is_some());
    }
    assert!(all >= 20 && opened >= 12, "{opened} of {all}");
}
