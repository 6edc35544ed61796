// SPDX-License-Identifier: GPL-2.0

//! The parser of tables: rows V-02 to V-19 and V-40.

use std::ffi::CString;

use dm::errno::{
    E2BIG,
    EINVAL,
    ENOMEM, //
};
use model::{
    compare::{
        compare,
        load, //
    },
    machine::{
        Call,
        ENOENT, //
    },
    tables::{
        fine,
        invalid,
        refusal,
        refused,
        table,
        with,
        ALGORITHM,
        DATA_BLOCK,
        DATA_BLOCKS,
        DATA_DEVICE,
        DIGEST,
        HASH_BLOCK,
        HASH_DEVICE,
        HASH_START,
        ROOT,
        SALT_WORD,
        VERSION, //
    },
    Machine, //
};
use verity::options::{
    CorruptionMode,
    ErrorMode, //
};

/// Options that make all the calls there are.
const ALL_CALLS: &str = "6 ignore_zero_blocks check_at_most_once \
    root_hash_sig_key_desc key use_fec_from_device 7:2";

#[test]
fn a_good_table() {
    let config = fine(&table(""));
    assert_eq!((config.data_device, config.hash_device), (0, 1));
    assert_eq!(config.geometry.data_blocks(), 1000);
    assert_eq!(config.geometry.hash_start(), 1);
    assert_eq!(config.geometry.levels(), 2);
    assert_eq!(config.hashing.name, b"sha256");
    assert_eq!(config.hashing.root_digest[..2], [0xfb, 0x1a]);
    assert_eq!(config.hashing.salt, [0, 0xaa, 0xff, 0x11]);
    assert_eq!(config.hashing.state, Some(vec![0, 0xaa, 0xff, 0x11]));
    assert_eq!(config.options.corruption, CorruptionMode::Eio);
    assert_eq!(config.options.error, ErrorMode::Eio);
    assert!(config.options.zero_digest.is_none());
    assert!(config.options.validated.is_none());
    assert!(config.options.signature.is_none());
    assert!(!config.options.try_verify_in_tasklet);
}

#[test]
fn what_is_asked_of_the_machine_and_when() {
    let mut machine = Machine::default();
    let words = table(ALL_CALLS);
    load(&words, &mut machine).map_err(|_| ()).unwrap();
    assert_eq!(
        machine.calls,
        [
            Call::Open(c"7:0".into()),
            Call::Open(c"7:1".into()),
            Call::Allocate(6),
            Call::Hash(c"sha256".into(), 1),
            Call::Allocate(32),
            Call::Allocate(4),
            Call::State(vec![0, 0xaa, 0xff, 0x11]),
            Call::ZeroDigest(4096),
            Call::Bitmap(1000),
            Call::Signature(c"key".into()),
            Call::Allocate(3),
            Call::Open(c"7:2".into()),
            Call::Verify(CString::new(ROOT).unwrap(), Some(c"key".into())),
        ]
    );
}

#[test]
fn only_a_read_only_table() {
    let machine = Machine {
        read_only: false,
        ..Machine::default()
    };
    let text = ("Device must be readonly".into(), EINVAL.number());
    assert_eq!(refusal(&table(""), &machine), text);
    assert_eq!(refusal(&[], &machine), text, "before the number of words");
}

#[test]
fn at_least_ten_words() {
    for count in 0..10 {
        invalid(&table("")[..count], "Not enough arguments");
    }
    fine(&table("")[..10]);
}

#[test]
fn versions() {
    assert_eq!(fine(&with(VERSION, "0")).hashing.state, None);
    fine(&with(VERSION, "01"));
    fine(&with(VERSION, "4294967297"));
    for word in [
        "2",
        "-1",
        "",
        "1x",
        "0x1",
        "1 ",
        "18446744073709551617",
        "4294967298",
    ] {
        invalid(&with(VERSION, word), "Invalid version");
    }
}

#[test]
fn devices() {
    refused(
        &with(DATA_DEVICE, "7:9"),
        "Data device lookup failed",
        dm::errno::ENOENT,
    );
    refused(
        &with(HASH_DEVICE, "7:9"),
        "Hash device lookup failed",
        dm::errno::ENOENT,
    );
    let config = fine(&with(HASH_DEVICE, "7:0"));
    assert_eq!(
        (config.data_device, config.hash_device),
        (0, 0),
        "one device for both"
    );
}

#[test]
fn data_block_sizes() {
    for word in ["512", "1024", "2048", "4096", "4294971392"] {
        let mut words = with(DATA_BLOCK, word);
        words[DATA_BLOCKS] = c"10000".into();
        fine(&words);
    }
    for word in [
        "0",
        "1",
        "256",
        "511",
        "513",
        "768",
        "8192",
        "65536",
        "4096k",
        "-4096",
        "",
        "4294967296",
    ] {
        invalid(&with(DATA_BLOCK, word), "Invalid data device block size");
    }
    let machine = Machine {
        page_size: 65536,
        ..Machine::default()
    };
    assert!(compare(&with(DATA_BLOCK, "65536"), &machine).is_ok());
}

#[test]
fn hash_block_sizes() {
    for word in ["512", "1024", "4096", "65536", "1073741824"] {
        fine(&with(HASH_BLOCK, word));
    }
    for word in ["0", "256", "768", "2147483648", "4294967296", "x"] {
        invalid(&with(HASH_BLOCK, word), "Invalid hash device block size");
    }
}

#[test]
fn blocks_hold_whole_logical_blocks() {
    let machine = |data, hash| {
        let mut machine = Machine::default();
        machine.devices[0].1 = data;
        machine.devices[1].1 = hash;
        machine
    };
    assert!(compare(&table(""), &machine(4096, 4096)).is_ok());
    let text = |text: &str| (text.into(), EINVAL.number());
    assert_eq!(
        refusal(&with(DATA_BLOCK, "2048"), &machine(4096, 512)),
        text("Invalid data device block size")
    );
    assert_eq!(
        refusal(&with(HASH_BLOCK, "2048"), &machine(512, 4096)),
        text("Invalid hash device block size")
    );
}

#[test]
fn numbers_of_blocks() {
    // 2^61 blocks of 8 sectors are 2^64 sectors.
    fine(&with(DATA_BLOCKS, "2305843009213693951"));
    fine(&with(HASH_START, "2305843009213693951"));
    for word in [
        "2305843009213693952",
        "18446744073709551615",
        "99999999999999999999",
        "-1",
        "",
        "1x",
    ] {
        invalid(&with(DATA_BLOCKS, word), "Invalid data blocks");
        invalid(&with(HASH_START, word), "Invalid hash start");
    }
    fine(&with(HASH_START, "0"));
}

#[test]
fn the_target_is_not_longer_than_the_data() {
    let machine = |sectors| Machine {
        sectors,
        ..Machine::default()
    };
    for sectors in [1, 7999, 8000] {
        assert!(compare(&table(""), &machine(sectors)).is_ok());
    }
    let text = ("Data device is too small".into(), EINVAL.number());
    assert_eq!(refusal(&table(""), &machine(8001)), text);
    assert_eq!(refusal(&with(DATA_BLOCKS, "0"), &machine(1)), text);
}

#[test]
fn algorithms() {
    for (name, size) in [("sha1", 20), ("sha512", 64), ("md5", 16)] {
        let mut words = with(ALGORITHM, name);
        words[DIGEST] = CString::new("ab".repeat(size)).unwrap();
        fine(&words);
        words[DIGEST] = CString::new("ab".repeat(size + 1)).unwrap();
        invalid(&words, "Invalid root digest");
    }
    for name in ["sha257", "SHA256", "", "sha256 "] {
        let error = refusal(&with(ALGORITHM, name), &Machine::default());
        assert_eq!(error, ("Cannot initialize hash function".into(), ENOENT));
    }
    let mut words = with(ALGORITHM, "huge");
    words[HASH_BLOCK] = c"512".into();
    invalid(&words, "Digest size too big");
    // C divides by the size of a digest of no bytes, but for the words of a real table.
    invalid(&with(ALGORITHM, "null"), "Invalid root digest");
    let mut words = with(ALGORITHM, "null");
    words[DIGEST] = c"".into();
    invalid(&words, "Digest size too big");
}

#[test]
fn root_digests() {
    fine(&with(DIGEST, &ROOT.to_uppercase()));
    for word in [
        "",
        "-",
        "fb",
        &ROOT[2..],
        &ROOT[1..],
        &format!("{ROOT}00"),
        &ROOT.replace('f', "g"),
    ] {
        invalid(&with(DIGEST, word), "Invalid root digest");
    }
}

#[test]
fn salts() {
    assert!(fine(&with(SALT_WORD, "-")).hashing.salt.is_empty());
    assert_eq!(
        fine(&with(SALT_WORD, &"5a".repeat(300))).hashing.salt,
        [0x5a; 300]
    );
    for word in ["0", "abc", "--", "0x", "zz", "ab ", "-a"] {
        invalid(&with(SALT_WORD, word), "Invalid salt");
    }
}

#[test]
fn trees_too_large() {
    let mut words = with(ALGORITHM, "huge");
    words[DATA_BLOCK] = c"512".into();
    words[HASH_BLOCK] = c"1024".into();
    words[DIGEST] = CString::new("00".repeat(257)).unwrap();
    // Less than four digests in a block, so that each level has half the blocks of that below.
    words[DATA_BLOCKS] = c"9223372036854775809".into();
    refused(&words, "Too many tree levels", E2BIG);
    words[DATA_BLOCKS] = c"9223372036854775808".into();
    fine(&words);
    words[HASH_BLOCK] = c"512".into();
    invalid(&words, "Digest size too big");

    let mut words = with(DATA_BLOCK, "512");
    words[HASH_BLOCK] = c"512".into();
    words[HASH_START] = c"18446744073709551614".into();
    refused(&words, "Hash device offset overflow", E2BIG);
}

/// Two wrong words: the error is that of the first, whatever the second.
#[test]
fn the_first_wrong_word_wins() {
    let wrong = [
        (VERSION, "2", "Invalid version"),
        (DATA_DEVICE, "7:9", "Data device lookup failed"),
        (HASH_DEVICE, "7:9", "Hash device lookup failed"),
        (DATA_BLOCK, "1", "Invalid data device block size"),
        (HASH_BLOCK, "1", "Invalid hash device block size"),
        (DATA_BLOCKS, "x", "Invalid data blocks"),
        (DATA_BLOCKS, "0", "Data device is too small"),
        (HASH_START, "x", "Invalid hash start"),
        (ALGORITHM, "x", "Cannot initialize hash function"),
        (DIGEST, "x", "Invalid root digest"),
        (SALT_WORD, "x", "Invalid salt"),
        (11, "x", "Unrecognized verity feature request"),
    ];
    for (first, (at, word, text)) in wrong.iter().enumerate() {
        let mut words = table("1 ignore_corruption");
        words[*at] = CString::new(*word).unwrap();
        assert_eq!(refusal(&words, &Machine::default()).0, *text);
        for (at_second, second, _) in &wrong[first + 1..] {
            if at_second == at {
                continue;
            }
            let mut words = words.clone();
            words[*at_second] = CString::new(*second).unwrap();
            assert_eq!(
                refusal(&words, &Machine::default()).0,
                *text,
                "and {second}"
            );
        }
        // But the number of options is looked at before all of them.
        for count in ["16", "2", "x", ""] {
            let mut words = words.clone();
            words[10] = CString::new(count).unwrap();
            invalid(&words, "Invalid number of feature args");
        }
    }
}

/// Each call of the machine may fail; the number is the machine's, the text names the call.
#[test]
fn every_failure_has_its_text() {
    let words = table(ALL_CALLS);
    let texts = [
        "Data device lookup failed",
        "Hash device lookup failed",
        "Cannot allocate algorithm name",
        "Cannot initialize hash function",
        "Cannot allocate root digest",
        "Cannot allocate salt",
        "Cannot allocate initial hash state",
        "Cannot allocate zero digest",
        "failed to allocate bitset for check_at_most_once",
        "DM Verity Sig Verification Invalid key specified",
        "DM Verity Sig Verification Could not allocate memory for signature key",
        "FEC device lookup failed",
        "Root hash verification failed",
    ];
    for (call, text) in texts.iter().enumerate() {
        for errno in [ENOMEM.number(), 5, 4095] {
            let machine = Machine {
                failure: Some((call, errno)),
                ..Machine::default()
            };
            let text = match (call, errno) {
                (6, 5 | 4095) => "Cannot set up initial hash state",
                _ => text,
            };
            assert_eq!(refusal(&words, &machine), (text.into(), errno));
        }
    }
    let machine = Machine {
        failure: Some((texts.len(), 5)),
        ..Machine::default()
    };
    assert!(compare(&words, &machine).is_ok(), "no call was forgotten");
}
