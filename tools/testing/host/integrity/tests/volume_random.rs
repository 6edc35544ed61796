// SPDX-License-Identifier: GPL-2.0

//! Tables put together at random, on blank devices, on volumes, and on superblocks that somebody
//! tampered with, by the files under test and by the reference: rows I-01 to I-34, I-37, I-39, I-41
//! to I-43, and the layout of I-45 to I-48.

use std::ffi::CString;

use integrity_model::{
    compare::{
        area,
        compare,
        table_line,
        Opened, //
    },
    Machine,
};
use proptest::{
    prelude::*,
    sample::select, //
};

fn option() -> impl Strategy<Value = String> {
    let number = |name: &'static str, values: &'static [&'static str]| {
        select(values).prop_map(move |value| format!("{name}:{value}"))
    };
    let hash = select(
        &[
            "crc32c",
            "sha256",
            "sha512",
            "hmac(sha256):00ff",
            "hmac(sha256):0F",
            "hmac(sha256)",
            "far(sha1)",
            "huge",
            "crc32c:",
            "none",
            "hmac(sha256):0",
            "hmac(sha256):zz",
            "",
        ][..],
    );
    prop_oneof![
        4 => number("journal_sectors", &["0", "1", "176", "400", "1024", "70000", "4294967295"]),
        4 => number("interleave_sectors", &["0", "1", "8", "9", "64", "32768", "4294967295"]),
        4 => number("buffer_sectors", &["0", "1", "8", "127", "128", "4096", "4294967295"]),
        2 => number("journal_watermark", &["0", "1", "33", "50", "100", "101", "4294967346"]),
        2 => number("commit_time", &["0", "1", "10000", "4294967295"]),
        3 => number("block_size", &["512", "1024", "2048", "4096", "8192", "0", "513"]),
        3 => number("sectors_per_bit", &["0", "1", "7", "32768", "4294967296",
                                         "18446744073709551615", "18446744073709551616"]),
        2 => number("bitmap_flush_interval", &["0", "1", "4", "10000", "2147483648",
                                               "4294967295"]),
        3 => select(&["7:0", "7:1", "7:1", "7:2", "7:9", ""][..])
            .prop_map(|device| format!("meta_device:{device}")),
        6 => hash.clone().prop_map(|hash| format!("internal_hash:{hash}")),
        1 => select(&["ctr(aes):00", "cbc(aes):0", "cbc(aes)"][..])
            .prop_map(|cipher| format!("journal_crypt:{cipher}")),
        3 => hash.prop_map(|hash| format!("journal_mac:{hash}")),
        8 => select(&["recalculate", "reset_recalculate", "allow_discards",
                      "allow_discards_keyed", "fix_padding", "fix_hmac", "legacy_recalculate"][..])
            .prop_map(String::from),
        1 => select(&["Recalculate", "", "block_size", "block_size:", "fix_padding:1", "D",
                      "journal_sectors:-1", "journal_sectors: 9", "journal_sectors:9 "][..])
            .prop_map(String::from),
    ]
}

fn table() -> impl Strategy<Value = Vec<CString>> {
    let start = select(&["0", "0", "0", "8", "1", "1000", "18446744073709551615", "x"][..]);
    let tag = select(
        &[
            "-",
            "-",
            "1",
            "4",
            "4",
            "32",
            "255",
            "256",
            "0",
            "4294967297",
        ][..],
    );
    let mode = select(&["J", "J", "B", "D", "D", "R", "I", "X"][..]);
    let device = select(&["7:0", "7:0", "7:0", "7:2", "7:9"][..]);
    let options = prop::collection::vec(option(), 0..7);
    let hash = any::<bool>();
    (device, start, tag, mode, options, hash).prop_map(|(device, start, tag, mode, more, hash)| {
        let mut options = more;
        if hash {
            // Without one, little is possible.
            options.push("internal_hash:crc32c".into());
        }
        let count = options.len().to_string();
        let words = [device, start, tag, mode, &count].map(String::from);
        let words = words.into_iter().chain(options);
        words.map(|word| CString::new(word).unwrap()).collect()
    })
}

fn machine() -> impl Strategy<Value = Machine> {
    prop_oneof![
        Just(*b"@@@@"),
        any::<[u8; 4]>(),
        (any::<u8>(), any::<u8>()).prop_map(|(data, meta)| [data, meta, b'@', b'@']),
    ]
    .prop_map(Machine::from_bytes)
}

/// A superblock field, and a value for it.
fn tampering() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let number = |at: usize, size: usize, values: &'static [u64]| {
        select(values).prop_map(move |value| (at, value.to_le_bytes()[..size].to_vec()))
    };
    prop_oneof![
        number(0, 1, &[0, 0x69]),
        number(8, 1, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 255]),
        number(9, 1, &[0, 2, 3, 4, 15, 31, 32, 64, 255]),
        number(10, 2, &[0, 1, 4, 255, 256, 65535]),
        number(12, 4, &[0, 1, 2, 100, 0xffff, 0xff_ffff, 0xffff_ffff]),
        number(16, 8, &[0, u64::MAX]),
        number(24, 4, &[0, 1, 2, 4, 8, 16, 32, 64, 128, 9, 26, 0xffff_ffff]),
        number(28, 1, &[0, 1, 2, 3, 4, 255]),
        number(29, 1, &[0, 63, 255]),
        number(32, 8, &[0, 1, 4096, 1 << 40, u64::MAX]),
        number(48, 8, &[0, u64::MAX]),
        number(100, 1, &[0, 1]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn blank_devices(words in table(), machine in machine()) {
        if let Ok(opened) = compare(&words, &machine, &[0; 4096]) {
            opens_again(&opened, &words, &machine);
        }
    }

    #[test]
    fn tampered_superblocks(
        words in table(),
        machine in machine(),
        tampering in prop::collection::vec(tampering(), 0..4),
    ) {
        let mut bytes = match compare(&words, &machine, &[0; 4096]) {
            Ok(opened) => area(&opened),
            Err(_) => {
                let mut bytes = vec![0; 4096];
                bytes[..9].copy_from_slice(b"integrt\0\x01");
                bytes
            }
        };
        for (at, value) in tampering {
            bytes[at..at + value.len()].copy_from_slice(&value);
        }
        let _ = compare(&words, &machine, &bytes);
    }

    #[test]
    fn other_tables(words in table(), other in table(), machine in machine()) {
        if let Ok(opened) = compare(&words, &machine, &[0; 4096]) {
            let _ = compare(&other, &machine, &area(&opened));
        }
    }
}

/// What was formatted opens with the same table and with the line of its status, as the same.
fn opens_again(opened: &Opened, words: &[CString], machine: &Machine) {
    if !opened.volume.new {
        return;
    }
    let bytes = area(opened);
    let again = compare(words, machine, &bytes).unwrap();
    assert_eq!(again.volume.layout, opened.volume.layout);
    assert_eq!(again.volume.superblock, opened.volume.superblock);

    let line = table_line(opened);
    let printed = line.split(' ').map(|word| CString::new(word).unwrap());
    let printed = compare(&printed.collect::<Vec<_>>(), machine, &bytes).unwrap();
    assert_eq!(table_line(&printed), line);
    // With a journal that was rounded, and buffers that were cut, it is the same volume.
    assert_eq!(printed.volume.layout, opened.volume.layout);
}
