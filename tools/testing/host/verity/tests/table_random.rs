// SPDX-License-Identifier: GPL-2.0

//! Tables put together at random, by the parser and by the reference, and read back: rows X-10,
//! V-02 to V-41 and V-43.

use std::ffi::CString;

use model::{
    compare::{
        check,
        compare,
        table_line, //
    },
    Machine, //
};
use proptest::{
    prelude::*,
    sample::select, //
};
use verity::{
    fec_layout::FecLayout,
    table::{
        Config,
        Features, //
    },
};

const WRONG: [&str; 11] = [
    "",
    "x",
    "-",
    "0",
    "1",
    "-1",
    "4096x",
    "18446744073709551616",
    "+1",
    " 1",
    "1 ",
];

fn word(good: &'static [&'static str]) -> impl Strategy<Value = String> {
    // Once in a hundred words something is wrong.
    prop_oneof![
        99 => select(good).prop_map(String::from),
        1 => select(&WRONG[..]).prop_map(String::from),
    ]
}

fn positional() -> impl Strategy<Value = Vec<String>> {
    const DIGITS: &str = "0123456789abcdefABCDEF";
    let digest = (
        select(&[16usize, 20, 28, 32, 48, 64][..]),
        select(DIGITS.as_bytes()),
    )
        .prop_map(|(size, digit)| char::from(digit).to_string().repeat(size * 2));
    let pick = (
        (
            word(&["0", "1", "1", "01", "4294967297"]),
            word(&["7:0", "7:1", "7:2"]),
            word(&["7:0", "7:1", "7:2"]),
            word(&["512", "1024", "2048", "4096", "4294971392"]),
            word(&["512", "1024", "4096", "65536", "1073741824"]),
        ),
        (
            word(&[
                "1",
                "2",
                "129",
                "1000",
                "2147483648",
                "2305843009213693951",
                "18446744073709551615",
            ]),
            word(&["0", "1", "9", "2305843009213693950", "36028797018963967"]),
            word(&[
                "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "one", "huge", "null",
            ]),
            digest,
            word(&["-", "00", "aBcD", "0123456789abcdef0123456789abcdef"]),
        ),
    );
    pick.prop_map(|(a, b)| vec![a.0, a.1, a.2, a.3, a.4, b.0, b.1, b.2, b.3, b.4])
}

/// Most digests have the size that their algorithm wants.
fn fitting(mut words: Vec<String>, fit: bool) -> Vec<String> {
    let name = CString::new(words[7].as_str()).unwrap();
    let hash = model::machine::HASHES
        .iter()
        .find(|(hash, _)| *hash == name.as_c_str());
    if let (true, Some(&(_, size))) = (fit, hash) {
        words[8] = words[8]
            .repeat(40)
            .chars()
            .take(size as usize * 2)
            .collect();
    }
    words
}

const PARITY: &str = "use_fec_from_device 7:2 fec_blocks 2200000000 fec_start 3 fec_roots 2";

/// Whether the words about parity fit the tree; where there are none, they do.
fn parity_fits(config: &Config<Machine>) -> bool {
    let parity = &config.options.parity;
    parity.device.is_none() || FecLayout::new(parity, &config.geometry).is_ok()
}

fn option() -> impl Strategy<Value = String> {
    let known = select(
        &[
            "ignore_corruption",
            "restart_on_corruption",
            "panic_on_corruption",
            "restart_on_error",
            "panic_on_error",
            "ignore_zero_blocks",
            "check_at_most_once",
            "try_verify_in_tasklet",
            "Try_Verify_In_TASKLET",
            "use_fec_from_device 7:2",
            "fec_blocks 1500",
            "fec_start 3",
            "fec_roots 2",
            "fec_roots 258",
            "root_hash_sig_key_desc key",
            PARITY,
            PARITY,
        ][..],
    );
    let wrong = select(
        &[
            "unknown",
            "fec_roots 25",
            "fec_roots",
            "fec_blocks x",
            "use_fec_from_device 7:9",
            "0",
        ][..],
    );
    prop_oneof![20 => known, 1 => wrong].prop_map(String::from)
}

/// Options, and their number, which may be off by one.
fn options() -> impl Strategy<Value = Vec<String>> {
    let off = prop_oneof![30 => Just(0i32), 1 => Just(1), 1 => Just(-1)];
    (prop::collection::vec(option(), 0..5), off, any::<bool>()).prop_map(|(options, off, some)| {
        let words: Vec<String> = options
            .join(" ")
            .split_whitespace()
            .map(String::from)
            .collect();
        if words.is_empty() && some {
            return words;
        }
        let count = (words.len() as i32 + off).to_string();
        [vec![count], words].concat()
    })
}

fn table() -> impl Strategy<Value = Vec<CString>> {
    (positional(), prop::bool::weighted(0.98), options()).prop_map(|(words, fit, options)| {
        let words = [fitting(words, fit), options].concat();
        words
            .into_iter()
            .map(|word| CString::new(word).unwrap())
            .collect()
    })
}

fn machine() -> impl Strategy<Value = Machine> {
    let rarely = || prop::bool::weighted(0.02);
    let failure = prop::option::weighted(0.1, (0..16usize, select(&[5, 12, 4095][..])));
    let logical = || select(&[512u32, 512, 512, 512, 1024, 4096][..]);
    (
        rarely(),
        rarely(),
        rarely(),
        rarely(),
        failure,
        logical(),
        logical(),
        1..2000u64,
    )
        .prop_map(
            |(no_fec, no_signatures, writable, require, failure, data, hash, sectors)| {
                let mut machine = Machine {
                    features: Features {
                        fec: !no_fec,
                        signatures: !no_signatures,
                    },
                    read_only: !writable,
                    require_signature: require,
                    sectors,
                    failure,
                    ..Machine::default()
                };
                machine.devices[0].1 = data;
                machine.devices[1].1 = hash;
                machine
            },
        )
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(10000))]

    #[test]
    fn any_table_is_read_as_by_the_reference(words in table(), machine in machine()) {
        let _ = compare(&words, &machine);
    }

    #[test]
    fn any_accepted_table_can_be_used(words in table(), sectors in 1..9u64) {
        let machine = Machine { sectors, ..Machine::default() };
        let Ok(config) = compare(&words, &machine) else { return Ok(()) };
        check(&config, &machine);
    }

    #[test]
    fn any_line_is_cut_where_the_buffer_ends(words in table(), size in 1..400usize) {
        let machine = Machine { sectors: 1, ..Machine::default() };
        let Ok(config) = compare(&words, &machine) else { return Ok(()) };
        let line = table_line(&config, &machine, 4096);
        let cut = table_line(&config, &machine, size);
        prop_assert_eq!(&line[..line.len().min(size - 1)], cut);
    }
}

/// The tables above are not all refused, and those refused are so for many reasons.
#[test]
fn random_tables_reach_everything() {
    use proptest::{
        strategy::ValueTree,
        test_runner::TestRunner, //
    };
    let mut runner = TestRunner::deterministic();
    let (mut accepted, mut with_parity) = (0, 0);
    let mut texts = std::collections::BTreeSet::new();
    for _ in 0..10000 {
        let (words, machine) = (table(), machine())
            .new_tree(&mut runner)
            .unwrap()
            .current();
        match compare(&words, &machine) {
            Ok(config) => {
                accepted += 1;
                let parity = config.options.parity.device.is_some();
                with_parity += usize::from(parity && parity_fits(&config));
            }
            Err((text, _)) => drop(texts.insert(text)),
        }
    }
    assert!(accepted > 1500, "{accepted}");
    assert!(with_parity > 20, "{with_parity}");
    assert!(texts.len() >= 30, "{}: {texts:#?}", texts.len());
}
