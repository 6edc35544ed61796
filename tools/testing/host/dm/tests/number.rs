// SPDX-License-Identifier: GPL-2.0

//! Numbers and hexadecimal strings in the words of a table: rows.

use dm::target::number::{
    hex_decode,
    hex_encode,
    parse_u16,
    parse_u32,
    parse_u64,
    parse_u8, //
};
use model::words;
use proptest::prelude::*;

#[test]
fn whole_word_of_digits() {
    for (word, value) in [
        (&b"0"[..], Some(0)),
        (b"4096", Some(4096)),
        (b"0004096", Some(4096)),
        (b"010", Some(10)),
        (b" 7", Some(7)),
        (b"\t\n\x0b\x0c\r\xa0 7", Some(7)),
        (b"", None),
        (b" ", None),
        (b"7 ", None),
        (b"7\n", None),
        (b"7x", None),
        (b"x7", None),
        (b"+7", None),
        (b"-7", None),
        (b"-0", None),
        (b"0x7", None),
        (b"7.0", None),
        (b"7 7", None),
        (b"\x1c7", None),
        (b"\x857", None),
        (b"\xc2\xb2", None),
        (b"7\0", None),
    ] {
        assert_eq!(parse_u64(word), value, "{}", word.escape_ascii());
        assert_eq!(
            words::number(word),
            value,
            "the model: {}",
            word.escape_ascii()
        );
    }
}

#[test]
fn more_than_64_bits_saturate() {
    for (word, value) in [
        ("18446744073709551614", u64::MAX - 1),
        ("18446744073709551615", u64::MAX),
        ("18446744073709551616", u64::MAX),
        ("18446744073709551617", u64::MAX),
        ("18446744073709551620", u64::MAX),
        ("99999999999999999999999999999999999999999999999", u64::MAX),
        ("00000000000000000000000000000000000000000000001", 1),
        ("36893488147419103232", u64::MAX),
    ] {
        assert_eq!(parse_u64(word.as_bytes()), Some(value), "{word}");
        assert_eq!(
            words::number(word.as_bytes()),
            Some(value),
            "the model: {word}"
        );
    }
}

#[test]
fn narrow_numbers_are_the_low_bits() {
    assert_eq!(parse_u32(b"4294971392"), Some(4096));
    assert_eq!(parse_u32(b"4294967296"), Some(0));
    assert_eq!(parse_u32(b"99999999999999999999"), Some(u32::MAX));
    assert_eq!(parse_u16(b"66048"), Some(512));
    assert_eq!(parse_u16(b"99999999999999999999"), Some(u16::MAX));
    assert_eq!(parse_u8(b"258"), Some(2));
    assert_eq!(parse_u8(b"99999999999999999999"), Some(u8::MAX));
    assert_eq!(parse_u8(b"258x"), None);
}

#[test]
fn every_pair_of_bytes_as_hexadecimal() {
    for high in 0..=255u8 {
        for low in 0..=255u8 {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let expected = digit(high)
                .zip(digit(low))
                .map(|(high, low)| high * 16 + low);
            let mut out = [0];
            let result = hex_decode(&[high, low], &mut out);
            assert_eq!(
                result.map(|()| u32::from(out[0])),
                expected,
                "{high:#x} {low:#x}"
            );
        }
    }
}

#[test]
fn hexadecimal_needs_two_digits_a_byte() {
    let mut out = [0; 2];
    for word in [
        &b""[..],
        b"1",
        b"12",
        b"123",
        b"12345",
        b"123456",
        b"12 4",
        b" 123",
    ] {
        assert_eq!(hex_decode(word, &mut out), None, "{}", word.escape_ascii());
    }
    assert_eq!(hex_decode(b"", &mut []), Some(()));
    assert_eq!(hex_decode(b"0", &mut []), None);
    assert_eq!(hex_decode(b"aB9f", &mut out), Some(()));
    assert_eq!(out, [0xab, 0x9f]);
}

#[test]
fn every_byte_is_printed_in_lower_case() {
    for byte in 0..=255u8 {
        assert_eq!(
            hex_encode(byte).to_vec(),
            format!("{byte:02x}").into_bytes()
        );
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn any_word_is_read_as_by_the_model(word in "[ \t\u{a0}]{0,2}[0-9]{0,24}[ -~]{0,2}") {
        // As Latin-1, in which a no-break space is one byte.
        let word: Vec<u8> = word.chars().map(|c| c as u8).collect();
        prop_assert_eq!(parse_u64(&word), words::number(&word));
    }

    #[test]
    fn any_bytes_are_read_as_by_the_model(word in prop::collection::vec(any::<u8>(), 0..8)) {
        prop_assert_eq!(parse_u64(&word), words::number(&word));
    }

    #[test]
    fn any_number_is_read_back(value: u64) {
        let word = value.to_string();
        prop_assert_eq!(parse_u64(word.as_bytes()), Some(value));
        prop_assert_eq!(parse_u32(word.as_bytes()), Some(value as u32));
        prop_assert_eq!(parse_u16(word.as_bytes()), Some(value as u16));
        prop_assert_eq!(parse_u8(word.as_bytes()), Some(value as u8));
    }

    #[test]
    fn any_bytes_survive_hexadecimal(
        bytes in prop::collection::vec(any::<u8>(), 0..80), upper: bool,
    ) {
        let mut word: Vec<u8> = bytes.iter().copied().flat_map(hex_encode).collect();
        if upper {
            word.make_ascii_uppercase();
        }
        let mut out = vec![0; bytes.len()];
        prop_assert_eq!(hex_decode(&word, &mut out), Some(()));
        prop_assert_eq!(&out, &bytes);
        prop_assert_eq!(words::hex(&word), Some(bytes));
    }
}
