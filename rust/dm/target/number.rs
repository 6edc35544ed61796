// SPDX-License-Identifier: GPL-2.0

//! Numbers and hexadecimal strings in the words of a table line.
//!
//! Device mapper targets in C read a number with `sscanf(word, "%u%c", ...) == 1`. Tables that
//! users have written depend on what that does, so the functions here do exactly the same:
//!
//! - white space before the number is skipped (a word of a table has some only if the user quoted
//!   it with a backslash),
//! - then at least one decimal digit, no sign, no prefix; leading zeros mean nothing,
//! - and nothing after the digits, not even white space,
//! - a value of more than 64 bits is 2^64 - 1,
//! - and of that, `u32`, `u16` and `u8` are the low bits, **silently**: 4294971392 is 4096.
//!
//! C source: `vsscanf()` in `lib/vsprintf.c`, `hex2bin()` in `lib/hexdump.c`

/// White space as in the kernel's `lib/ctype.c`: ASCII, and Latin-1's no-break space.
#[inline]
const fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ' | 0xa0)
}

/// Appends a decimal digit; what does not fit in 64 bits is 2^64 - 1, whatever follows.
#[inline]
const fn push_digit(value: u64, digit: u8) -> u64 {
    value.saturating_mul(10).saturating_add(digit as u64)
}

/// Reads a word with `%llu%c`: units are the caller's.
///
/// Returns [`None`] if the word is not a number by the rules of this [module](self).
///
/// # Examples
///
/// ```
/// use dm::target::number::parse_u64;
///
/// assert_eq!(parse_u64(b"4096"), Some(4096));
/// assert_eq!(parse_u64(b"18446744073709551617"), Some(u64::MAX));
/// assert_eq!(parse_u64(b"0x1000"), None);
/// assert_eq!(parse_u64(b"-1"), None);
/// ```
pub fn parse_u64(word: &[u8]) -> Option<u64> {
    let mut bytes = word.iter().copied().skip_while(|&byte| is_space(byte));
    let first = bytes.next().filter(u8::is_ascii_digit)?;
    bytes.try_fold(push_digit(0, first.wrapping_sub(b'0')), |value, byte| {
        byte.is_ascii_digit()
            .then(|| push_digit(value, byte.wrapping_sub(b'0')))
    })
}

/// Reads a word with `%u%c`: the low 32 bits of [`parse_u64`].
///
/// # Examples
///
/// ```
/// use dm::target::number::parse_u32;
///
/// assert_eq!(parse_u32(b"4294971392"), Some(4096));
/// ```
pub fn parse_u32(word: &[u8]) -> Option<u32> {
    parse_u64(word).map(|value| value as u32)
}

/// Reads a word with `%hu%c`: the low 16 bits of [`parse_u64`].
pub fn parse_u16(word: &[u8]) -> Option<u16> {
    parse_u64(word).map(|value| value as u16)
}

/// Reads a word with `%hhu%c`: the low 8 bits of [`parse_u64`].
pub fn parse_u8(word: &[u8]) -> Option<u8> {
    parse_u64(word).map(|value| value as u8)
}

/// All ones if `low <= byte <= high`, else zero, without a branch.
#[inline]
const fn within(byte: u8, low: u8, high: u8) -> u8 {
    let (byte, low, high) = (byte as u16, low as u16, high as u16);
    let outside = (byte.wrapping_sub(low) | high.wrapping_sub(byte)) >> 8;
    !(outside as u8)
}

/// The value of a hexadecimal digit, and all ones if it is one, else zero.
///
/// Keys are read with this, so that, as in C, no branch and no address depends on the digit.
#[inline]
const fn hex_digit(byte: u8) -> (u8, u8) {
    let decimal = within(byte, b'0', b'9');
    let upper = byte & 0xdf;
    let letter = within(upper, b'A', b'F');
    let value = (decimal & byte.wrapping_sub(b'0')) | (letter & upper.wrapping_sub(b'A' - 10));
    (value, decimal | letter)
}

/// Reads a hexadecimal string of either letter case into `out`.
///
/// Returns [`None`] if `hex` is not exactly two digits for each byte of `out`, or has a byte that
/// is no digit; `out` then has unspecified contents. The time depends on the length only.
///
/// # Examples
///
/// ```
/// use dm::target::number::hex_decode;
///
/// let mut out = [0; 2];
/// assert_eq!(hex_decode(b"c0De", &mut out), Some(()));
/// assert_eq!(out, [0xc0, 0xde]);
/// assert_eq!(hex_decode(b"c0d", &mut out), None);
/// ```
pub fn hex_decode(hex: &[u8], out: &mut [u8]) -> Option<()> {
    if out.len().checked_mul(2) != Some(hex.len()) {
        return None;
    }
    let mut valid = 0xff;
    for (pair, byte) in hex.chunks_exact(2).zip(out.iter_mut()) {
        if let &[high, low] = pair {
            let (high, high_valid) = hex_digit(high);
            let (low, low_valid) = hex_digit(low);
            *byte = (high << 4) | low;
            valid &= high_valid & low_valid;
        }
    }
    (valid == 0xff).then_some(())
}

/// The two lower-case digits of a byte.
#[inline]
pub const fn hex_encode(byte: u8) -> [u8; 2] {
    const fn digit(value: u8) -> u8 {
        // Keys are printed with this: no table look-up by value.
        let letter = within(value, 10, 15);
        value
            .wrapping_add(b'0')
            .wrapping_add(letter & (b'a' - b'0' - 10))
    }
    [digit(byte >> 4), digit(byte & 0xf)]
}
