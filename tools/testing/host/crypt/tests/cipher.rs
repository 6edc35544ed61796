// SPDX-License-Identifier: GPL-2.0

//! Words for ciphers, and the names they have in the crypto API: rows C-10 to C-13 and C-16.

use crypt::cipher::Spec;
use dm::{
    errno::{
        Errno,
        EINVAL,
        ENOENT,
        ENOMEM, //
    },
    target::args::TableError,
};

/// The name in the crypto API, the number of keys, the IV mode and its options.
type Parts = (String, u32, Option<String>, Option<String>);

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn parts(word: &str, aead: bool) -> Result<Parts, TableError> {
    let spec = Spec::parse(word.as_bytes(), aead)?;
    spec.mac()?;
    let name = text(spec.api_name()?.as_cstr().to_bytes());
    Ok((
        name,
        spec.keys,
        spec.iv.map(text),
        spec.iv_options.map(text),
    ))
}

#[track_caller]
fn is(word: &str, name: &str, keys: u32, iv: &str, options: &str) {
    let some = |text: &str| (text != "-").then(|| text.into());
    let expected = (name.into(), keys, some(iv), some(options));
    assert_eq!(parts(word, false), Ok(expected), "{word}");
}

#[track_caller]
fn is_not(word: &str, aead: bool, text: &str, errno: Errno) {
    let error = parts(word, aead).expect_err(word);
    assert_eq!(
        (error.text.to_str().unwrap(), error.errno),
        (text, errno),
        "{word}"
    );
}

#[test]
fn the_old_form() {
    is("aes-cbc-plain64", "cbc(aes)", 1, "plain64", "-");
    is("aes-xts-plain64", "xts(aes)", 1, "plain64", "-");
    is("aes:64-cbc-lmk", "cbc(aes)", 64, "lmk", "-");
    is("aes:1-cbc-plain", "cbc(aes)", 1, "plain", "-");
    is(
        "aes-cbc-essiv:sha256",
        "essiv(cbc(aes),sha256)",
        1,
        "essiv",
        "sha256",
    );
    is(
        "aes-cbc-null:what:ever-else",
        "cbc(aes)",
        1,
        "null",
        "what:ever-else",
    );
    // Hyphens in an IV mode are part of it.
    is("aes-cbc-plain-64", "cbc(aes)", 1, "plain-64", "-");
    is("aes-cbc-", "cbc(aes)", 1, "", "-");
    is("-ecb", "ecb()", 1, "-", "-");
    is("cipher_null-ecb", "ecb(cipher_null)", 1, "-", "-");
    is("aes-ecb-plain", "ecb(aes)", 1, "plain", "-");
}

#[test]
fn the_oldest_form() {
    is("aes", "cbc(aes)", 1, "plain", "-");
    is("aes-plain", "cbc(aes)", 1, "plain", "-");
    is("aes:4", "cbc(aes)", 4, "plain", "-");
    is("", "cbc()", 1, "plain", "-");
    // With an IV mode, plain is a chaining mode like any other.
    is("aes-plain-null", "plain(aes)", 1, "null", "-");
}

#[test]
fn the_old_form_refused() {
    let no_iv = "IV mechanism required";
    is_not("aes-cbc", false, no_iv, EINVAL);
    is_not("aes-", false, no_iv, EINVAL);
    is_not("aes-cbc:plain", false, no_iv, EINVAL);
    is_not("aes-ECB", false, no_iv, EINVAL);
    is_not("cbc(aes)", false, "Bad cipher specification", EINVAL);
    is_not(
        "aes-cbc-essiv:sha(256",
        false,
        "Bad cipher specification",
        EINVAL,
    );
    is_not("aes-cbc-plain", true, "Bad cipher specification", EINVAL);
    is_not(
        "aes-cbc-essiv",
        false,
        "Digest algorithm missing for ESSIV mode",
        EINVAL,
    );
}

#[test]
fn the_number_of_keys() {
    for keys in [
        "0",
        "3",
        "6",
        "-1",
        "+2",
        "x",
        "",
        "2x",
        "4294967296",
        "0x2",
    ] {
        let word = format!("aes:{keys}-cbc-plain");
        is_not(&word, false, "Bad cipher key count specification", EINVAL);
    }
    // This comes before the IV mode.
    is_not(
        "aes:3-cbc",
        false,
        "Bad cipher key count specification",
        EINVAL,
    );
    is(
        "aes:2147483648-cbc-plain",
        "cbc(aes)",
        1 << 31,
        "plain",
        "-",
    );
    is("aes:4294967298-cbc-plain", "cbc(aes)", 2, "plain", "-");
    is("aes: 02-cbc-plain", "cbc(aes)", 2, "plain", "-");
}

#[test]
fn the_new_form() {
    is("capi:cbc(aes)-plain64", "cbc(aes)", 1, "plain64", "-");
    is("capi:cbc(aes)", "cbc(aes)", 1, "-", "-");
    is("capi:cbc(aes)-lmk", "cbc(aes)", 64, "lmk", "-");
    is(
        "capi:cbc(aes)-essiv:sha256",
        "essiv(cbc(aes),sha256)",
        1,
        "essiv",
        "sha256",
    );
    // The last hyphen and the last colon count, and the hyphen is before the colon.
    is("capi:cbc-x(aes-y)-plain", "cbc-x(aes-y)", 1, "plain", "-");
    is(
        "capi:cbc(aes)-essiv:sha3-256",
        "essiv(cbc(aes),sha3-256)",
        1,
        "essiv",
        "sha3-256",
    );
    is("capi:a:b-null:c", "a:b", 1, "null", "c");
    is("capi:", "", 1, "-", "-");
    is("capi:-:", "", 1, "", "");
    // An API name without an IV mode is cut all the same.
    is("capi:xts-aes-ni", "xts-aes", 1, "ni", "-");
    // The prefix has one letter case.
    is_not(
        "CAPI:cbc(aes)-plain",
        false,
        "Bad cipher specification",
        EINVAL,
    );
    is_not(
        "capi:cbc(aes)-essiv",
        false,
        "Digest algorithm missing for ESSIV mode",
        EINVAL,
    );
}

#[test]
fn authenticated_ciphers() {
    let mac = |word: &str| {
        let spec = Spec::parse(word.as_bytes(), true)?;
        Ok(spec.mac()?.map(|name| text(name.as_cstr().to_bytes())))
    };
    let named = |name: &str| Ok(Some(name.into()));
    assert_eq!(
        mac("capi:authenc(hmac(sha256),xts(aes))-random"),
        named("hmac(sha256)")
    );
    assert_eq!(mac("capi:authenc(,xts(aes))-random"), named(""));
    assert_eq!(mac("capi:gcm(aes)-random"), Ok(None));
    assert_eq!(mac("capi:rfc7539(chacha20,poly1305)-random"), Ok(None));
    let invalid = TableError::invalid(c"Invalid AEAD cipher spec");
    assert_eq!(mac("capi:authenc(hmac(sha256)-random"), Err(invalid));
    let long = format!("capi:authenc({},x)-random", "a".repeat(128));
    assert_eq!(
        mac(&long),
        Err(TableError::new(c"Invalid AEAD cipher spec", ENOENT))
    );
    // Without the option for it, this is a name like any other.
    let spec = Spec::parse(b"capi:authenc(hmac(sha256)-random", false).unwrap();
    assert_eq!(spec.mac(), Ok(None));
    is_not(
        "capi:gcm(aes)-lmk",
        true,
        "AEAD transforms not supported for LMK",
        EINVAL,
    );
    assert_eq!(
        parts("capi:authenc(hmac(sha256),cbc(aes))-essiv:sha256", true)
            .unwrap()
            .0,
        "essiv(authenc(hmac(sha256),cbc(aes)),sha256)"
    );
}

#[test]
fn names_that_are_too_long() {
    // 127 bytes and a NUL fit.
    let fits = "a".repeat(122);
    is(
        &format!("{fits}-cbc-plain"),
        &format!("cbc({fits})"),
        1,
        "plain",
        "-",
    );
    let long = "a".repeat(123);
    is_not(
        &format!("{long}-cbc-plain"),
        false,
        "Cannot allocate cipher strings",
        ENOMEM,
    );
    let essiv = format!("{}-cbc-essiv:sha256", "a".repeat(108));
    assert_eq!(parts(&essiv, false).unwrap().0.len(), 127);
    let essiv = format!("a{essiv}");
    is_not(&essiv, false, "Cannot allocate cipher strings", ENOMEM);
    let essiv = format!("capi:{}-essiv:sha256", "a".repeat(114));
    is_not(&essiv, false, "Cannot allocate cipher string", ENOMEM);
    let long = format!("capi:{}-plain", "a".repeat(128));
    is_not(&long, false, "Error allocating crypto tfm", ENOENT);
}
