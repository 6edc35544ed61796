// SPDX-License-Identifier: GPL-2.0

//! How the kernel takes a table line apart, and reads a number.

use std::ffi::CString;

/// White space of the kernel's `isspace()`.
pub fn is_space(byte: u8) -> bool {
    [9, 10, 11, 12, 13, 32, 0xa0].contains(&byte)
}

/// Splits a line as `dm_split_args()` does; what follows a NUL is not part of it.
pub fn split(line: &[u8]) -> Vec<CString> {
    let line = line.split(|&byte| byte == 0).next().unwrap();
    let mut words = Vec::new();
    let mut rest = line.iter().copied().peekable();
    loop {
        while rest.next_if(|&byte| is_space(byte)).is_some() {}
        if rest.peek().is_none() {
            return words;
        }
        let mut word = Vec::new();
        while let Some(byte) = rest.next_if(|&byte| !is_space(byte)) {
            let quoted = if byte == b'\\' { rest.next() } else { None };
            word.push(quoted.unwrap_or(byte));
        }
        words.push(CString::new(word).unwrap());
    }
}

/// Reads a number as `sscanf(word, "%llu%c", ...) == 1` does.
///
/// Compares decimal strings instead of multiplying.
pub fn number(word: &[u8]) -> Option<u64> {
    let start = word.iter().position(|&byte| !is_space(byte))?;
    let digits = std::str::from_utf8(&word[start..]).ok()?;
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    let max = u64::MAX.to_string();
    if (digits.len(), digits) > (max.len(), max.as_str()) {
        return Some(u64::MAX);
    }
    Some(format!("0{digits}").parse().unwrap())
}

/// Reads hexadecimal digits, two a byte.
pub fn hex(word: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    if word.len() % 2 != 0 {
        return None;
    }
    word.chunks(2)
        .map(|pair| Some((digit(pair[0])? * 16 + digit(pair[1])?) as u8))
        .collect()
}
