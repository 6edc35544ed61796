// SPDX-License-Identifier: GPL-2.0

//! The words that each table has, the order of errors, and what a table means: rows C-01 to C-16
//! and C-29 to C-32.

use crypt::iv::{
    Counter,
    Generator, //
};
use crypt_model::{
    compare::{
        accepted,
        compare, //
    },
    machine::Call,
    reference::Accepted,
    tables::*,
    Machine, //
};
use dm::errno::{
    EIO,
    ENOENT,
    ENOKEY,
    ENOMEM, //
};

const BAD_KEY: &str = "Error decoding and setting key";

#[test]
fn the_number_of_words() {
    for count in 0..5 {
        invalid(&table("")[..count], "Not enough arguments");
    }
    fine(&table("")[..5]);
    // Words after the counted options mean nothing: row X-08.
    fine(&table("0 nonsense"));
}

#[test]
fn what_a_table_means() {
    let config = fine(&table(
        "5 allow_discards NO_read_workqueue sector_size:4096 iv_large_sectors integrity_key_size:7",
    ));
    assert_eq!(
        accepted(&config),
        Accepted {
            cipher: b"aes-cbc-plain64".to_vec(),
            key: (0..32).collect(),
            reference: None,
            layout: [32, 1, 1, 0, 7],
            iv_size: 16,
            iv: Some("Counter(Plain64)".into()),
            iv_offset: 8,
            device: 0,
            start: 16,
            flags: [true, false, false, false, true, false, true],
            tag: None,
            aead: false,
            sector_size: 4096,
            mac_key_size: Some(7),
            tuple: None,
        }
    );
    let iv = config.iv.unwrap().generator;
    assert_eq!(iv, Generator::Counter(Counter::Plain64));
    assert!(iv.is_counter());
}

#[test]
fn the_first_error_wins() {
    // From each of these on, everything is wrong.
    let good = ["aes-cbc-plain64", KEY, "0", "7:0", "0"];
    let bad = ["aes-cbc-x", ":x:", "x", "7:9", "x"];
    let line = |from: usize, options: &str| {
        let words = [&good[..from], &bad[from..]].concat().join(" ");
        crypt_model::tables::line(&format!("{words} {options}"))
    };
    invalid(&line(0, "1 x"), "Cannot parse key size");
    invalid(&line(2, "1 x"), "Invalid feature arguments");
    let mut words = line(2, "1 x");
    words[CIPHER] = c"aes-cbc-x".into();
    invalid(&words, "Invalid feature arguments");
    words.truncate(5);
    invalid(&words, "Invalid IV mode");
    words[KEY_WORD] = c"xx".into();
    invalid(&words, "Invalid IV mode");
    words[CIPHER] = c"aes-cbc-lmk".into();
    invalid(&words, BAD_KEY);
    invalid(&line(2, ""), "Invalid iv_offset sector");
    refused(&line(3, ""), "Device lookup failed", ENOENT);
    invalid(&line(4, ""), "Invalid device sector");
    let mut words = line(4, "1 integrity:20:aead");
    words[CIPHER] = c"capi:gcm(aes)-random".into();
    invalid(&words, "Invalid device sector");
    words[START] = c"0".into();
    invalid(&words, "Integrity profile not supported.");
}

#[test]
fn offsets() {
    for word in ["x", "-1", "1x", "0x1", "", "+1", "1 "] {
        invalid(&with(IV_OFFSET, word), "Invalid iv_offset sector");
        invalid(&with(START, word), "Invalid device sector");
    }
    let max = "18446744073709551616";
    assert_eq!(fine(&with(IV_OFFSET, max)).iv_offset, u64::MAX);
    assert_eq!(fine(&with(START, max)).start, u64::MAX);
    // Whether or not IVs count large sectors.
    let mut words = table("1 sector_size:2048");
    words[IV_OFFSET] = c"6".into();
    invalid(&words, "Invalid iv_offset sector");
    words[IV_OFFSET] = c"4".into();
    words[START] = c"3".into();
    fine(&words);
}

#[test]
fn ciphers() {
    refused(
        &ciphered("what-cbc-plain", 32),
        "Error allocating crypto tfm",
        ENOENT,
    );
    refused(
        &ciphered("capi:gcm(aes)-plain", 32),
        "Error allocating crypto tfm",
        ENOENT,
    );
    refused(
        &ciphered("aes:2147483648-cbc-plain", 32),
        "Error allocating crypto tfm",
        ENOMEM,
    );
    for mode in ["Plain", "plain32", "", "plain64be "] {
        invalid(&ciphered(&format!("aes-cbc-{mode}"), 32), "Invalid IV mode");
    }
    // The size of the key is up to the cipher.
    invalid(&ciphered("aes-cbc-plain", 33), BAD_KEY);
    invalid(&ciphered("aes-xts-plain", 16), BAD_KEY);
    invalid(&ciphered("aes-cbc-plain", 0), BAD_KEY);
    fine(&ciphered("cipher_null-ecb", 0));
    invalid(&ciphered("cipher_null-ecb", 1), BAD_KEY);
    // IVs may be longer or shorter than a sector number.
    assert_eq!(fine(&ciphered("short-cbc-plain64", 16)).iv_size, 8);
    assert_eq!(
        fine(&ciphered("capi:adiantum(xchacha12,aes)-plain64", 32)).iv_size,
        32
    );
    let config = fine(&ciphered("capi:cbc(aes)", 16));
    assert_eq!((config.iv_size, config.iv.is_none()), (16, true));
}

#[test]
fn ciphers_without_iv() {
    let mut machine = Machine::default();
    let words = ciphered("aes-ecb-nonsense", 16);
    let config = crypt::table::parse(dm::target::args::Args::new(&words[..]), &mut machine);
    assert!(config.unwrap().iv.is_none());
    let warning = Call::Log("Selected cipher does not support IVs".into());
    assert!(machine.calls.contains(&warning));
    fine(&words);
    fine(&ciphered("aes-ecb", 16));
}

#[test]
fn constructors_of_iv_modes() {
    let refused = "Error creating IV";
    let with_option = |cipher, size, option: &str| {
        let mut words = ciphered(cipher, size);
        words.extend(line(&format!("1 {option}")));
        words[IV_OFFSET] = c"0".into();
        words
    };
    invalid(
        &with_option("aes:64-cbc-lmk", 1024, "sector_size:1024"),
        refused,
    );
    invalid(&with_option("aes-cbc-tcw", 64, "sector_size:1024"), refused);
    // The key of the cipher is checked first.
    invalid(&ciphered("any-cbc-tcw", 32), refused);
    invalid(&ciphered("aes-cbc-tcw", 32), BAD_KEY);
    invalid(&ciphered("aes-cbc-tcw", 20), BAD_KEY);
    fine(&ciphered("aes-cbc-tcw", 48));
    invalid(&ciphered("odd-cbc-benbi", 16), refused);
    invalid(&ciphered("wide-cbc-benbi", 16), refused);
    invalid(&ciphered("odd-cbc-eboiv", 16), refused);
    invalid(&ciphered("odd-cbc-elephant", 32), refused);
    invalid(&ciphered("aes-ctr-eboiv", 16), refused);
    invalid(&ciphered("capi:adiantum(xchacha12,aes)-lmk", 32), BAD_KEY);
    let fips = Machine {
        fips: true,
        ..Machine::default()
    };
    let words = ciphered("aes:64-cbc-lmk", 1024);
    assert_eq!(refusal(&words, &fips).0, refused);
    fine(&words);
}

#[test]
fn keys_of_iv_modes() {
    let layout = |cipher, size| accepted(&fine(&ciphered(cipher, size))).layout;
    assert_eq!(layout("aes:64-cbc-lmk", 64 * 16), [1024, 64, 64, 0, 0]);
    assert_eq!(layout("aes:64-cbc-lmk", 65 * 16), [1040, 64, 65, 16, 0]);
    assert_eq!(layout("capi:cbc(aes)-lmk", 65 * 16), [1040, 64, 65, 16, 0]);
    assert_eq!(layout("aes-cbc-tcw", 64), [64, 1, 3, 32, 0]);
    assert_eq!(layout("des3_ede-cbc-tcw", 48), [48, 1, 3, 24, 0]);
    assert_eq!(layout("aes-cbc-elephant", 64), [64, 1, 2, 32, 0]);
    assert_eq!(layout("aes:2-cbc-plain", 48), [48, 2, 2, 0, 0]);
    invalid(&ciphered("any-cbc-elephant", 66), "Unknown error");
    invalid(&ciphered("any-cbc-elephant", 60), "Error initialising IV");
    // A seed of eight bytes; C reads behind the key.
    invalid(
        &ciphered("blowfish:64-cbc-lmk", 65 * 8),
        "Error initialising IV",
    );
    fine(&ciphered("blowfish:64-cbc-lmk", 64 * 8));
    fine(&ciphered("blowfish:64-cbc-lmk", 65 * 16));
}

#[test]
fn keys_of_keyrings() {
    for word in [
        ":64:logon:a",
        ":32:logon:b:c",
        ":16:user:a",
        ":32:encrypted:a",
    ] {
        let cipher = if word == ":64:logon:a" {
            "aes-xts-plain64"
        } else {
            "aes-cbc-plain64"
        };
        let mut words = with(KEY_WORD, word);
        words[CIPHER] = std::ffi::CString::new(cipher).unwrap();
        let config = accepted(&fine(&words));
        let name = word.splitn(3, ':').nth(2).unwrap();
        assert_eq!(config.reference.unwrap(), name.as_bytes());
        // Only the cipher has it.
        assert!(config.key.iter().all(|&byte| byte == 0));
    }
    refused(&with(KEY_WORD, ":32:logon:none"), BAD_KEY, ENOKEY);
    for word in [
        ":16:logon:a",
        ":32:trusted:a",
        ":32:Logon:a",
        ":32:logon:",
        ":32:logon",
        ":32::a",
        ":32:",
        ":32:other:a",
        ":32:logon:a b",
        ":0:logon:a",
    ] {
        invalid(&with(KEY_WORD, word), BAD_KEY);
    }
    let trusted = Machine {
        types: (false, true),
        ..Machine::default()
    };
    assert!(compare(&with(KEY_WORD, ":32:trusted:a"), &trusted).is_ok());
    assert_eq!(
        refusal(&with(KEY_WORD, ":32:encrypted:a"), &trusted).0,
        BAD_KEY
    );
    refused(
        &with(KEY_WORD, ":2147483647:logon:a"),
        "Cannot allocate encryption context",
        ENOMEM,
    );
}

/// A table with authenticated encryption on the device with metadata.
fn authenticated(
    cipher: &str,
    key_size: usize,
    device: &str,
    options: &str,
) -> Vec<std::ffi::CString> {
    let key = hex_key(key_size);
    line(&format!("{cipher} {key} 0 {device} 0 {options}"))
}

const AUTHENC: &str = "capi:authenc(hmac(sha256),xts(aes))-random";

#[test]
fn authenticated_encryption() {
    let config = fine(&authenticated(AUTHENC, 96, "7:1", "1 integrity:48:aead"));
    let config = accepted(&config);
    assert_eq!(config.layout, [96, 1, 1, 0, 32]);
    assert_eq!(config.tuple, Some([32, 16, 48]));
    let config = fine(&authenticated(
        AUTHENC,
        80,
        "7:1",
        "2 integrity:32:AEAD integrity_key_size:16",
    ));
    assert_eq!(accepted(&config).layout, [80, 1, 1, 0, 16]);
    assert_eq!(accepted(&config).tuple, Some([16, 16, 48]));
    let config = fine(&authenticated(
        "capi:gcm(aes)-plain64",
        32,
        "7:1",
        "1 integrity:16:aead",
    ));
    assert_eq!(accepted(&config).tuple, Some([16, 0, 48]));
    invalid(
        &authenticated(AUTHENC, 31, "7:1", "1 integrity:48:aead"),
        BAD_KEY,
    );
    // In C, this writes to a null pointer.
    let options = "2 integrity:16:aead integrity_key_size:16";
    invalid(
        &authenticated("capi:gcm(aes)-plain64", 32, "7:1", options),
        BAD_KEY,
    );
    let unknown = authenticated(
        "capi:authenc(hmac(md9),xts(aes))-random",
        96,
        "7:1",
        "1 integrity:48:aead",
    );
    refused(&unknown, "Invalid AEAD cipher spec", ENOENT);
}

#[test]
fn metadata() {
    let gcm = "capi:gcm(aes)-random";
    let tuple = |cipher, device, options| {
        accepted(&fine(&authenticated(cipher, 32, device, options))).tuple
    };
    let refusal = |device, options, text| invalid(&authenticated(gcm, 32, device, options), text);
    refusal(
        "7:1",
        "1 integrity:49:aead",
        "Integrity profile tag size mismatch.",
    );
    refusal(
        "7:1",
        "2 integrity:28:aead sector_size:4096",
        "Integrity profile sector size mismatch.",
    );
    refusal(
        "7:2",
        "1 integrity:28:aead",
        "Integrity profile sector size mismatch.",
    );
    let unsupported = "Integrity AEAD auth tag size is not supported.";
    refusal("7:1", "1 integrity:11:aead", unsupported);
    refusal("7:3", "1 integrity:77:aead", unsupported);
    assert_eq!(
        tuple(gcm, "7:3", "1 integrity:76:aead"),
        Some([64, 12, 500])
    );
    // Random IVs want metadata, even if fewer bytes are asked for than they have: row C-31.
    let random = "aes-cbc-random";
    assert_eq!(
        tuple(random, "7:1", "1 integrity:8:none"),
        Some([0, 16, 48])
    );
    assert_eq!(tuple(random, "7:1", ""), Some([0, 16, 48]));
    // Without them, what is asked for is not looked at: row C-29.
    assert_eq!(tuple("aes-cbc-plain", "7:0", "1 integrity:480:none"), None);
    // Once authenticated, always: row C-28.
    let both = "2 integrity:20:aead integrity:28:none";
    assert_eq!(tuple(gcm, "7:1", both), Some([16, 12, 48]));
    let short = Machine {
        devices: vec![crypt_model::machine::Device {
            name: c"7:0".into(),
            zoned: false,
            profile: Some((8, 512)),
        }],
        ..Machine::default()
    };
    let words = authenticated(random, 32, "7:0", "");
    let text = "Not enough space for integrity tag in the profile.";
    assert_eq!(crypt_model::tables::refusal(&words, &short).0, text);
}

#[test]
fn zones() {
    let config = fine(&with(DEVICE, "7:2"));
    assert!(config.zoned && config.flags.no_write_workqueue);
    assert!(!fine(&table("")).flags.no_write_workqueue);
}

#[test]
fn any_call_may_fail() {
    let tables = [
        table("1 integrity:4:none"),
        with(KEY_WORD, ":32:logon:b:c"),
        ciphered("aes:64-cbc-lmk", 65 * 16),
        ciphered("aes-cbc-elephant", 64),
        authenticated(AUTHENC, 96, "7:1", "1 integrity:48:aead"),
    ];
    for words in tables {
        let mut failures = 0;
        for call in 0..200 {
            let machine = Machine {
                failure: Some((call, EIO.number())),
                ..Machine::default()
            };
            if compare(&words, &machine).is_err() {
                failures += 1;
            }
        }
        assert!((8..80).contains(&failures), "{failures} failures");
    }
}
