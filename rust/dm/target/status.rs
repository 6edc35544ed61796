// SPDX-License-Identifier: GPL-2.0

//! The answer of a target to a status ioctl.
//!
//! dm core hands the target a buffer of some size. Text that does not fit is dropped without a
//! word: core sees from the length of the string that the buffer is full, tells user space, and
//! that asks again with a larger one. So nothing here fails.
//!
//! # Examples
//!
//! ```
//! use dm::target::status::Status;
//!
//! let mut buffer = [0xff; 16];
//! let mut status = Status::new(&mut buffer);
//! status.emit(format_args!("{} ", 4096));
//! status.hex(&[0xc0, 0xde]);
//! assert_eq!(status.as_bytes(), b"4096 c0de");
//! assert_eq!(buffer[9], 0);
//! ```
//!
//! C header: `include/linux/device-mapper.h` (`DMEMIT()`)

use core::fmt;

use crate::target::number::hex_encode;

/// A writer into a buffer of fixed size that always holds a C string.
///
/// As `DMEMIT()`: of `n` bytes, at most `n - 1` are text, and a NUL follows the text.
///
/// # Invariants
///
/// - `length < buffer.len()`, or both are zero.
/// - If the buffer is not empty, the byte at `length` is NUL.
#[derive(Debug)]
pub struct Status<'a> {
    buffer: &'a mut [u8],
    length: usize,
    needed: usize,
}

impl<'a> Status<'a> {
    /// Starts an empty string in `buffer`.
    pub fn new(buffer: &'a mut [u8]) -> Self {
        if let Some(first) = buffer.first_mut() {
            *first = 0;
        }
        // INVARIANT: The length is zero, and the first byte, if there is one, is NUL.
        Self {
            buffer,
            length: 0,
            needed: 0,
        }
    }

    /// Appends text, as much of it as fits.
    pub fn bytes(&mut self, text: &[u8]) {
        self.needed = self.needed.saturating_add(text.len());
        let Some((nul, room)) = self
            .buffer
            .get_mut(self.length..)
            .and_then(<[u8]>::split_last_mut)
        else {
            return;
        };
        let mut copied = 0usize;
        for (to, from) in room.iter_mut().zip(text) {
            *to = *from;
            copied = copied.saturating_add(1);
        }
        match room.get_mut(copied) {
            Some(after) => *after = 0,
            None => *nul = 0,
        }
        // INVARIANT: At most the size of `room`, which ends before the last byte of the buffer, was
        // copied, and the byte after that was made NUL.
        self.length = self.length.saturating_add(copied);
    }

    /// Appends formatted text, as much of it as fits.
    pub fn emit(&mut self, arguments: fmt::Arguments<'_>) {
        // Fails only if a formatting trait of an argument fails, and then what it wrote stays.
        let _ = fmt::Write::write_fmt(self, arguments);
    }

    /// Appends two lower-case hexadecimal digits for each byte, as much as fits.
    pub fn hex(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.bytes(&hex_encode(byte));
        }
    }

    /// Appends what every answer for IMA starts with: `DMEMIT_TARGET_NAME_VERSION()`.
    pub fn target_name_version(&mut self, name: &[u8], [major, minor, patch]: [u32; 3]) {
        self.bytes(b"target_name=");
        self.bytes(name);
        self.emit(format_args!(",target_version={major}.{minor}.{patch}"));
    }

    /// The text so far, without the NUL.
    pub fn as_bytes(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }

    /// The bytes of text that were to be written, fitting or not, without the NUL.
    pub fn needed(&self) -> usize {
        self.needed
    }

    /// Whether some text did not fit.
    pub fn is_truncated(&self) -> bool {
        self.needed > self.length
    }

    /// Whether dm core will take the buffer for full and have user space ask again.
    ///
    /// It does so also when the text just fits.
    pub fn is_full(&self) -> bool {
        self.length.saturating_add(1) >= self.buffer.len()
    }
}

impl fmt::Write for Status<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes(text.as_bytes());
        Ok(())
    }
}
