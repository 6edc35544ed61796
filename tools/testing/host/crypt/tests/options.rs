// SPDX-License-Identifier: GPL-2.0

//! The optional words: rows C-17 to C-28, X-06, X-07 and X-09.

use crypt::options::{
    Flags,
    SectorSize, //
};
use crypt_model::{
    compare::accepted,
    tables::*,
    Machine, //
};

const COUNT: &str = "Invalid number of feature args";
const UNKNOWN: &str = "Invalid feature arguments";

/// A good table with one option.
fn one(option: &str) -> Vec<std::ffi::CString> {
    let mut words = table("1");
    words.push(std::ffi::CString::new(option).unwrap());
    words
}

#[test]
fn the_number_of_options() {
    let flags = "allow_discards ".repeat(10);
    fine(&table(&format!("9 {flags}")));
    for count in ["10", "x", "-1", "1x"] {
        invalid(&table(&format!("{count} {flags}")), COUNT);
    }
    invalid(&table("1"), COUNT);
    invalid(&table("2 allow_discards"), COUNT);
    fine(&table("4294967297 allow_discards"));
}

#[test]
fn flags() {
    let words = [
        "allow_discards",
        "same_cpu_crypt",
        "high_priority",
        "submit_from_crypt_cpus",
        "no_read_workqueue",
        "no_write_workqueue",
        "iv_large_sectors",
    ];
    for (index, word) in words.into_iter().enumerate() {
        let mut expected = [false; 7];
        expected[index] = true;
        for word in [word.into(), word.to_ascii_uppercase()] {
            assert_eq!(accepted(&fine(&one(&word))).flags, expected);
        }
        invalid(&one(&format!("{word}:")), UNKNOWN);
        invalid(&one(&word[1..]), UNKNOWN);
    }
    assert_eq!(fine(&table("")).flags, Flags::default());
}

#[test]
fn sector_sizes() {
    for (word, bytes) in [
        ("512", 512),
        ("1024", 1024),
        ("2048", 2048),
        ("4096", 4096),
        ("66048", 512),
        ("4294968320", 1024),
        (" 0512", 512),
    ] {
        let size = fine(&one(&format!("sector_size:{word}"))).sector_size;
        assert_eq!(size.bytes(), bytes);
        assert_eq!(size.sectors(), bytes / 512);
        assert_eq!(1 << size.shift(), bytes / 512);
        assert_eq!(SectorSize::from_bytes(bytes), Some(size));
    }
    for word in [
        "0",
        "256",
        "513",
        "1536",
        "8192",
        "65536",
        "99999999999999999999",
    ] {
        invalid(
            &one(&format!("sector_size:{word}")),
            "Invalid feature value for sector_size",
        );
    }
    for word in ["", "x", "-512", "512x", "0x200", "512 "] {
        invalid(&one(&format!("sector_size:{word}")), UNKNOWN);
    }
    invalid(&one("SECTOR_SIZE:512"), UNKNOWN);
    let machine = Machine {
        sectors: 12,
        ..Machine::default()
    };
    let text = "Device size is not multiple of sector_size feature";
    assert_eq!(refusal(&one("sector_size:4096"), &machine).0, text);
    let config = crypt_model::compare::compare(&one("sector_size:2048"), &machine);
    assert!(config.is_ok());
}

#[test]
fn multiples_of_sector_sizes() {
    for (bytes, sectors) in [(512, 1), (1024, 2), (2048, 4), (4096, 8)] {
        let size = SectorSize::from_bytes(bytes).unwrap();
        for number in [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 1 << 63, u64::MAX] {
            assert_eq!(size.divides(number), number % sectors == 0);
        }
    }
}

#[test]
fn integrity() {
    for (word, size, profile) in [
        ("integrity:16:none", 16, "none"),
        ("integrity:480:NONE", 480, "NONE"),
        ("integrity: 1:None", 1, "None"),
        ("integrity:4294967297:none", 1, "none"),
        // What is between number and colon means nothing.
        ("integrity:16x:none", 16, "none"),
    ] {
        let tag = fine(&one(word)).tag.unwrap();
        assert_eq!((tag.size, &tag.profile[..]), (size, profile.as_bytes()));
    }
    let size = "Invalid integrity arguments";
    for word in [
        "integrity:0:none",
        "integrity:481:none",
        "integrity:0",
        "integrity:4294967296:x",
    ] {
        invalid(&one(word), size);
    }
    // Where the second colon is missing, C reads from a null pointer.
    let profile = "Unknown integrity profile";
    for word in [
        "integrity:16",
        "integrity:16x",
        "integrity:16:",
        "integrity:16:hmac",
        "integrity:16:none:",
        "integrity:16:none ",
    ] {
        invalid(&one(word), profile);
    }
    for word in [
        "integrity:",
        "integrity:x:none",
        "integrity::none",
        "Integrity:16:none",
        "integrity",
    ] {
        invalid(&one(word), UNKNOWN);
    }
}

#[test]
fn integrity_key_sizes() {
    for (word, size) in [
        ("1", 1),
        ("32", 32),
        ("4294967295", u32::MAX),
        ("4294967298", 2),
    ] {
        let config = accepted(&fine(&one(&format!("integrity_key_size:{word}"))));
        assert_eq!(config.mac_key_size, Some(size));
        assert_eq!(config.layout[4], size);
    }
    for word in ["0", "4294967296"] {
        invalid(
            &one(&format!("integrity_key_size:{word}")),
            "Invalid integrity_key_size argument",
        );
    }
    for word in ["", "x", "1x", "-1", "1:"] {
        invalid(&one(&format!("integrity_key_size:{word}")), UNKNOWN);
    }
    invalid(&one("INTEGRITY_key_size:1"), UNKNOWN);
}

#[test]
fn repeated_words() {
    let config = fine(&table(
        "4 sector_size:512 sector_size:4096 integrity:4:none integrity:5:NONE",
    ));
    assert_eq!(config.sector_size.bytes(), 4096);
    assert_eq!(config.tag.unwrap().size, 5);
    let config = fine(&table(
        "3 integrity_key_size:1 integrity_key_size:2 high_priority",
    ));
    assert_eq!(config.key.layout.mac, 2);
}

#[test]
fn unknown_words() {
    for word in [
        "",
        "x",
        "read_workqueue",
        "allow_discards ",
        "sector_size",
        "0",
    ] {
        invalid(&one(word), UNKNOWN);
    }
}
