// SPDX-License-Identifier: GPL-2.0

//! Tables put together at random, by the parser and by the reference, and read back: rows C-01 to
//! C-32 and C-35.

use crypt_model::{
    compare::{
        check,
        compare, //
    },
    machine::CIPHERS,
    tables::hex_key,
    Machine, //
};
use proptest::{
    prelude::*,
    sample::select, //
};

const IVS: [&str; 14] = [
    "plain",
    "plain64",
    "plain64be",
    "essiv:sha256",
    "benbi",
    "null",
    "lmk",
    "tcw",
    "random",
    "eboiv",
    "elephant",
    "essiv",
    "plain32",
    "random",
];

fn cipher() -> impl Strategy<Value = String> {
    let old = (
        select(
            &[
                "aes", "aes", "aes:2", "aes:64", "des3_ede", "any", "odd", "short", "aes:3",
            ][..],
        ),
        select(&["cbc", "cbc", "xts", "ecb", "ctr"][..]),
        select(&IVS[..]),
    );
    let old = old.prop_map(|(cipher, chaining, iv)| format!("{cipher}-{chaining}-{iv}"));
    let name = |cipher: &crypt_model::machine::Cipher| cipher.name.to_str().unwrap();
    let names: Vec<&str> = CIPHERS.iter().map(name).collect();
    let new = (select(names), select(&IVS[..]));
    let new = new.prop_map(|(name, iv)| format!("capi:{name}-{iv}"));
    let odd = select(
        &[
            "aes",
            "aes-plain",
            "aes-ecb",
            "cipher_null-ecb",
            "aes-cbc",
            "capi:",
        ][..],
    );
    prop_oneof![4 => old, 6 => new, 1 => odd.prop_map(String::from)]
}

fn key() -> impl Strategy<Value = String> {
    let sizes = [
        16usize, 32, 48, 64, 80, 96, 112, 128, 1024, 1040, 2048, 2080,
    ];
    let hex = select(sizes.to_vec()).prop_map(hex_key);
    let other = select(
        &[
            "-",
            ":64:logon:a",
            ":32:logon:b:c",
            ":16:user:a",
            ":32:encrypted:a",
            ":32:logon:none",
            ":x:logon:a",
            "0g",
        ][..],
    );
    prop_oneof![8 => hex, 2 => other.prop_map(String::from)]
}

fn option() -> impl Strategy<Value = String> {
    let known = select(
        &[
            "allow_discards",
            "SAME_cpu_crypt",
            "high_priority",
            "submit_from_crypt_cpus",
            "no_read_workqueue",
            "no_write_workqueue",
            "iv_large_sectors",
            "sector_size:512",
            "sector_size:4096",
            "integrity:28:aead",
            "integrity:48:aead",
            "integrity:48:aead",
            "integrity:16:none",
            "integrity_key_size:16",
        ][..],
    );
    let wrong = select(&["x", "integrity:16", "sector_size:0", "integrity:0:none"][..]);
    prop_oneof![30 => known, 1 => wrong].prop_map(String::from)
}

/// Options, and their number, which may be off by one.
fn options() -> impl Strategy<Value = String> {
    let off = prop_oneof![30 => Just(0i32), 1 => Just(1), 1 => Just(-1)];
    (prop::collection::vec(option(), 0..5), off).prop_map(|(options, off)| {
        match (options.len() as i32 + off, options.is_empty()) {
            (0, true) => String::new(),
            (count, _) => format!("{count} {}", options.join(" ")),
        }
    })
}

fn table() -> impl Strategy<Value = String> {
    let offset = select(&["0", "8", "1", "18446744073709551608", "x"][..]);
    let device = select(&["7:0", "7:1", "7:1", "7:1", "7:2", "7:3", "7:9"][..]);
    let start = select(&["0", "3", "18446744073709551615", "-1"][..]);
    (cipher(), key(), offset, device, start, options()).prop_map(
        |(cipher, key, offset, device, start, options)| {
            format!("{cipher} {key} {offset} {device} {start} {options}")
        },
    )
}

/// How many of so many tables were accepted; that they are not all refused is a test of the test.
fn run(cases: u32, machine: impl Strategy<Value = Machine>) -> u32 {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let counter = std::cell::Cell::new(0);
    proptest::test_runner::TestRunner::new(config)
        .run(&(table(), machine), |(line, machine)| {
            if let Ok(config) = compare(&crypt_model::tables::line(&line), &machine) {
                counter.set(counter.get() + 1);
                check(&config, &machine);
            }
            Ok(())
        })
        .unwrap();
    counter.get()
}

#[test]
fn by_parser_and_reference() {
    let accepted = run(4000, Just(Machine::default()));
    assert!(accepted > 100, "{accepted} accepted");
}

#[test]
fn where_calls_fail() {
    let machine = any::<[u8; 3]>().prop_map(|[a, b, c]| Machine::from_bytes(a, b, c));
    let accepted = run(4000, machine);
    assert!(accepted > 50, "{accepted} accepted");
}
