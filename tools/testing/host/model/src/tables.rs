// SPDX-License-Identifier: GPL-2.0

//! A good table, and what to expect of bad ones.

use std::ffi::CString;

use dm::errno::{
    Errno,
    EINVAL, //
};
use verity::table::Config;

use crate::{
    compare::compare,
    reference::Refusal,
    words,
    Machine, //
};

/// A root digest.
pub const ROOT: &str = "fb1a5a0f00deb908d8b53cb270858975e76cf64105d412ce764225d53b8f3cfd";
/// A salt.
pub const SALT: &str = "00AAff11";

/// The index of the word: hash type.
pub const VERSION: usize = 0;
/// The index of the word: data device.
pub const DATA_DEVICE: usize = 1;
/// The index of the word: hash device.
pub const HASH_DEVICE: usize = 2;
/// The index of the word: size of a data block.
pub const DATA_BLOCK: usize = 3;
/// The index of the word: size of a hash block.
pub const HASH_BLOCK: usize = 4;
/// The index of the word: number of data blocks.
pub const DATA_BLOCKS: usize = 5;
/// The index of the word: first hash block.
pub const HASH_START: usize = 6;
/// The index of the word: hash algorithm.
pub const ALGORITHM: usize = 7;
/// The index of the word: root digest.
pub const DIGEST: usize = 8;
/// The index of the word: salt.
pub const SALT_WORD: usize = 9;

/// The words of a good table, and the options.
pub fn table(options: &str) -> Vec<CString> {
    let line = format!("1 7:0 7:1 4096 4096 1000 1 sha256 {ROOT} {SALT} {options}");
    words::split(line.as_bytes())
}

/// A good table but for one word.
pub fn with(index: usize, word: &str) -> Vec<CString> {
    let mut words = table("");
    words[index] = CString::new(word).unwrap();
    words
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
