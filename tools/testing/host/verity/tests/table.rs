// SPDX-License-Identifier: GPL-2.0

//! The parser of tables: rows V-02 to V-18, V-20 to V-33, V-36 to V-38, V-40, V-41, X-08 and X-09.

use std::ffi::CString;

use dm::errno::{
    E2BIG,
    EINVAL,
    ENOKEY,
    ENOMEM, //
};
use model::{
    compare::{
        accepted,
        compare, //
    },
    machine::{
        Call,
        ENOENT, //
    },
    reference::Refusal,
    words, //
    Machine,
};
use verity::{
    options::{
        CorruptionMode,
        ErrorMode, //
    },
    table::Features,
};

const ROOT: &str = "fb1a5a0f00deb908d8b53cb270858975e76cf64105d412ce764225d53b8f3cfd";
const SALT: &str = "00AAff11";

const VERSION: usize = 0;
const DATA_DEVICE: usize = 1;
const HASH_DEVICE: usize = 2;
const DATA_BLOCK: usize = 3;
const HASH_BLOCK: usize = 4;
const DATA_BLOCKS: usize = 5;
const HASH_START: usize = 6;
const ALGORITHM: usize = 7;
const DIGEST: usize = 8;
const SALT_WORD: usize = 9;

/// The words of a good table, and the options.
fn table(options: &str) -> Vec<CString> {
    let line = format!("1 7:0 7:1 4096 4096 1000 1 sha256 {ROOT} {SALT} {options}");
    words::split(line.as_bytes())
}

/// A good table but for one word.
fn with(index: usize, word: &str) -> Vec<CString> {
    let mut words = table("");
    words[index] = CString::new(word).unwrap();
    words
}

fn refusal(words: &[CString], machine: &Machine) -> Refusal {
    compare(words, machine)
        .err()
        .expect("the table was accepted")
}

#[track_caller]
fn refused(words: &[CString], text: &str, errno: dm::errno::Errno) {
    assert_eq!(
        refusal(words, &Machine::default()),
        (text.into(), errno.number())
    );
}

#[track_caller]
fn invalid(words: &[CString], text: &str) {
    refused(words, text, EINVAL);
}

#[track_caller]
fn fine(words: &[CString]) -> verity::table::Config<Machine> {
    match compare(words, &Machine::default()) {
        Ok(config) => config,
        Err(error) => panic!("{error:?}"),
    }
}

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
    let words = table("6 ignore_zero_blocks check_at_most_once root_hash_sig_key_desc key use_fec_from_device 7:2");
    model::compare::load(&words, &mut machine)
        .map_err(|_| ())
        .unwrap();
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

#[test]
fn numbers_of_options() {
    fine(&table("0"));
    fine(&table("0 what follows means nothing"));
    fine(&table("4294967296"));
    fine(&table("1 ignore_corruption ignore_corruption 7"));
    fine(&table(&format!("15 {}", "ignore_zero_blocks ".repeat(15))));
    let text = "Invalid number of feature args";
    for options in [
        "1",
        "2 ignore_corruption",
        "x",
        "-1",
        "1x ignore_corruption",
    ] {
        invalid(&table(options), text);
    }
    invalid(
        &table(&format!("16 {}", "ignore_zero_blocks ".repeat(16))),
        text,
    );
}

#[test]
fn numbers_of_options_are_the_same_without_features() {
    let machine = Machine {
        features: Features::default(),
        ..Machine::default()
    };
    let fifteen = table(&format!("15 {}", "ignore_zero_blocks ".repeat(15)));
    assert!(compare(&fifteen, &machine).is_ok());
}

#[test]
fn modes() {
    for (options, corruption, error) in [
        (
            "1 ignore_corruption",
            CorruptionMode::Ignore,
            ErrorMode::Eio,
        ),
        (
            "1 restart_on_corruption",
            CorruptionMode::Restart,
            ErrorMode::Eio,
        ),
        (
            "1 panic_on_corruption",
            CorruptionMode::Panic,
            ErrorMode::Eio,
        ),
        (
            "1 restart_on_error",
            CorruptionMode::Eio,
            ErrorMode::Restart,
        ),
        ("1 panic_on_error", CorruptionMode::Eio, ErrorMode::Panic),
        (
            "2 PANIC_on_Error Ignore_Corruption",
            CorruptionMode::Ignore,
            ErrorMode::Panic,
        ),
    ] {
        let config = fine(&table(options));
        assert_eq!(
            (config.options.corruption, config.options.error),
            (corruption, error)
        );
    }
}

#[test]
fn one_mode_of_a_kind() {
    let corruption = [
        "ignore_corruption",
        "restart_on_corruption",
        "panic_on_corruption",
    ];
    let error = ["restart_on_error", "panic_on_error"];
    for kind in [&corruption[..], &error[..]] {
        for first in kind {
            for second in kind {
                let words = table(&format!("3 {first} ignore_zero_blocks {second}"));
                invalid(&words, "Conflicting error handling parameters");
            }
        }
    }
}

#[test]
fn flags_may_be_repeated() {
    let mut machine = Machine::default();
    let words = table("6 ignore_zero_blocks CHECK_at_most_once try_verify_in_tasklet Try_Verify_In_Tasklet check_at_most_once IGNORE_ZERO_BLOCKS");
    let config = model::compare::load(&words, &mut machine)
        .map_err(|_| ())
        .unwrap();
    assert_eq!(accepted(&config).flags, (true, true, true));
    let once = |call: &Call| machine.calls.iter().filter(|&made| made == call).count();
    assert_eq!(
        (once(&Call::ZeroDigest(4096)), once(&Call::Bitmap(1000))),
        (1, 1)
    );
    fine(&words);
}

#[test]
fn a_bit_for_each_of_not_too_many_blocks() {
    let mut words = table("1 check_at_most_once");
    words[DATA_BLOCKS] = c"2147483647".into();
    assert_eq!(fine(&words).options.validated, Some(0x7fff_ffff));
    words[DATA_BLOCKS] = c"2147483648".into();
    refused(&words, "device too large to use check_at_most_once", E2BIG);
}

#[test]
fn unknown_options() {
    let text = "Unrecognized verity feature request";
    for option in [
        "unknown",
        "ignore_corruptions",
        "fec_",
        "\\ ignore_corruption",
        "-",
    ] {
        invalid(&table(&format!("1 {option}")), text);
    }
    invalid(&table("2 ignore_corruption 3"), text);
    let mut machine = Machine::default();
    let _ = model::compare::load(&table("2 ignore_corruption What"), &mut machine);
    assert_eq!(machine.calls.last(), Some(&Call::Log(c"What".into())));
}

#[test]
fn options_of_features_that_are_not_there_are_unknown() {
    let options = [
        "use_fec_from_device 7:2",
        "fec_blocks 1",
        "fec_start 1",
        "fec_roots 2",
        "root_hash_sig_key_desc key",
    ];
    for option in options {
        let words = table(&format!("2 {option}"));
        fine(&words);
        for (fec, signatures) in [(false, false), (false, true), (true, false)] {
            let machine = Machine {
                features: Features { fec, signatures },
                ..Machine::default()
            };
            let there = if option.starts_with("root") {
                signatures
            } else {
                fec
            };
            let outcome = compare(&words, &machine).map(|_| ());
            let text = "Unrecognized verity feature request".to_string();
            assert_eq!(
                outcome,
                if there {
                    Ok(())
                } else {
                    Err((text, EINVAL.number()))
                }
            );
        }
    }
}

#[test]
fn forward_error_correction() {
    let config = fine(&table(
        "8 Use_FEC_from_device 7:2 fec_blocks 1008 fec_start 2 fec_roots 24",
    ));
    let parity = config.options.parity;
    assert_eq!(parity.device, Some(2));
    assert_eq!((parity.blocks, parity.start, parity.roots), (1008, 2, 24));

    let config = fine(&table("4 fec_blocks 5 fec_roots 258"));
    assert_eq!(
        config.options.parity.device, None,
        "values without a device are dropped"
    );
    assert_eq!(config.options.parity.roots, 2, "the low eight bits");

    for option in [
        "use_fec_from_device",
        "fec_blocks",
        "fec_start",
        "fec_roots",
    ] {
        let text = "FEC feature arguments require a value";
        invalid(&table(&format!("1 {option}")), text);
        invalid(&table(&format!("1 {option} 2")), text);
    }
    invalid(
        &table("4 use_fec_from_device 7:2 use_fec_from_device 7:2"),
        "FEC device already specified",
    );
    refused(
        &table("2 use_fec_from_device 7:9"),
        "FEC device lookup failed",
        dm::errno::ENOENT,
    );
    for word in ["x", "-1", "2305843009213693952"] {
        invalid(
            &table(&format!("2 fec_blocks {word}")),
            "Invalid fec_blocks",
        );
        invalid(&table(&format!("2 fec_start {word}")), "Invalid fec_start");
    }
    for word in ["0", "1", "25", "255", "256", "281", "x"] {
        invalid(&table(&format!("2 fec_roots {word}")), "Invalid fec_roots");
    }
}

#[test]
fn signatures() {
    let config = fine(&table("2 root_hash_sig_key_desc key"));
    let key = config.options.signature.unwrap();
    assert_eq!(
        (key.description, key.signature),
        (b"key".to_vec(), c"key".into())
    );

    let text = |text: &str| format!("DM Verity Sig Verification {text}");
    invalid(
        &table("1 root_hash_sig_key_desc key"),
        &text("Signature key not specified"),
    );
    refused(
        &table("2 root_hash_sig_key_desc x"),
        &text("Invalid key specified"),
        ENOKEY,
    );
    invalid(
        &table("3 root_hash_sig_key_desc key ROOT_hash_sig_key_desc"),
        &text("root_hash_sig_key_desc already specified"),
    );
}

#[test]
fn the_root_digest_is_verified_as_typed() {
    let mut machine = Machine::default();
    let typed = ROOT.to_uppercase();
    assert!(model::compare::load(&with(DIGEST, &typed), &mut machine).is_ok());
    let call = Call::Verify(CString::new(typed).unwrap(), None);
    assert_eq!(machine.calls.last(), Some(&call));

    let machine = Machine {
        require_signature: true,
        ..Machine::default()
    };
    let text = ("Root hash verification failed".into(), ENOKEY.number());
    assert_eq!(refusal(&table(""), &machine), text);
    assert!(compare(&table("2 root_hash_sig_key_desc key"), &machine).is_ok());
}

/// A value that looks like the option acts in the first scan of the words, as in C.
#[test]
fn a_value_may_be_taken_for_the_tasklet_option() {
    let machine = Machine {
        keys: vec![c"try_verify_in_tasklet".into()],
        ..Machine::default()
    };
    let words = table("2 root_hash_sig_key_desc try_verify_in_tasklet");
    let config = compare(&words, &machine).map_err(|_| ()).unwrap();
    assert!(config.options.try_verify_in_tasklet);
}

/// Each call of the machine may fail; the number is the machine's, the text names the call.
#[test]
fn every_failure_has_its_text() {
    let words = table("6 ignore_zero_blocks check_at_most_once root_hash_sig_key_desc key use_fec_from_device 7:2");
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
