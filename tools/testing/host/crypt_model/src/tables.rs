// SPDX-License-Identifier: GPL-2.0

//! A good table, and what to expect of bad ones.

use std::ffi::CString;

use crypt::table::Config;
use dm::{
    errno::{
        Errno,
        EINVAL, //
    },
    target::number::hex_encode,
};
use model::words;

use crate::{
    compare::compare,
    reference::Refusal,
    Machine, //
};

/// A key of 32 bytes.
pub const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1B1C1D1E1F";

/// The index of the word: cipher.
pub const CIPHER: usize = 0;
/// The index of the word: key.
pub const KEY_WORD: usize = 1;
/// The index of the word: IV offset.
pub const IV_OFFSET: usize = 2;
/// The index of the word: device.
pub const DEVICE: usize = 3;
/// The index of the word: start.
pub const START: usize = 4;

/// The words of a line.
pub fn line(line: &str) -> Vec<CString> {
    words::split(line.as_bytes())
}

/// The words of a good table, and the options.
pub fn table(options: &str) -> Vec<CString> {
    line(&format!("aes-cbc-plain64 {KEY} 8 7:0 16 {options}"))
}

/// A good table but for one word.
pub fn with(index: usize, word: &str) -> Vec<CString> {
    let mut words = table("");
    words[index] = CString::new(word).unwrap();
    words
}

/// A good table but for the cipher and the size of the key in bytes.
pub fn ciphered(cipher: &str, key_size: usize) -> Vec<CString> {
    let mut words = with(CIPHER, cipher);
    words[KEY_WORD] = match key_size {
        0 => c"-".into(),
        _ => CString::new(hex_key(key_size)).unwrap(),
    };
    words
}

/// The digits of a key of so many bytes, none of which is like the next.
pub fn hex_key(size: usize) -> String {
    let bytes = (0..size).map(|n| ((n * 7 + 1) % 251) as u8);
    bytes.flat_map(hex_encode).map(char::from).collect()
}

/// The error for a table that is not accepted.
pub fn refusal(words: &[CString], machine: &Machine) -> Refusal {
    compare(words, machine)
        .err()
        .expect("the table was accepted")
}

/// Panics unless a table is refused with this error.
#[track_caller]
pub fn refused(words: &[CString], text: &str, errno: Errno) {
    assert_eq!(
        refusal(words, &Machine::default()),
        (text.into(), errno.number())
    );
}

/// Panics unless a table is refused with this text and EINVAL.
#[track_caller]
pub fn invalid(words: &[CString], text: &str) {
    refused(words, text, EINVAL);
}

/// Panics unless a table is accepted.
#[track_caller]
pub fn fine(words: &[CString]) -> Config<Machine> {
    match compare(words, &Machine::default()) {
        Ok(config) => config,
        Err(error) => panic!("{error:?}"),
    }
}
