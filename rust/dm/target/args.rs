// SPDX-License-Identifier: GPL-2.0

//! The words of a table line, and the error that a constructor gives for one.
//!
//! dm core splits the line at white space and hands the target an array of C strings. [`Words`] is
//! that array, [`Args`] reads along it.
//!
//! # Examples
//!
//! ```
//! use dm::target::args::{Args, Range};
//!
//! static FEATURES: Range = Range::new(0, 15, c"Invalid number of feature args");
//!
//! let words = [c"2", c"ignore_zero_blocks", c"check_at_most_once"];
//! let mut args = Args::new(&words[..]);
//! let count = args.read_group(&FEATURES)?;
//! assert_eq!(count, 2);
//! assert_eq!(args.shift(), Some(c"ignore_zero_blocks"));
//! # Ok::<(), dm::target::args::TableError>(())
//! ```
//!
//! C header: `include/linux/device-mapper.h` (`struct dm_arg_set`)

use core::ffi::CStr;

use crate::{
    errno::{
        Errno,
        EINVAL, //
    },
    target::number::parse_u32, //
};

/// Why a table was refused.
///
/// The text becomes `ti->error`, which dm core logs; the number is what the ioctl returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableError {
    /// The text of the log line.
    pub text: &'static CStr,
    /// The error number of the ioctl.
    pub errno: Errno,
}

impl TableError {
    /// An error with this text and number.
    #[inline]
    pub const fn new(text: &'static CStr, errno: Errno) -> Self {
        Self { text, errno }
    }

    /// The commonest: [`EINVAL`].
    #[inline]
    pub const fn invalid(text: &'static CStr) -> Self {
        Self::new(text, EINVAL)
    }
}

/// An array of C strings.
pub trait Words {
    /// The number of words.
    fn len(&self) -> usize;

    /// The word at `index`, or [`None`] if `index` is not below [`len`](Words::len).
    fn get(&self, index: usize) -> Option<&CStr>;

    /// Whether there is no word at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: AsRef<CStr>> Words for [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn get(&self, index: usize) -> Option<&CStr> {
        <[T]>::get(self, index).map(AsRef::as_ref)
    }
}

/// The range of a number in a table, and the text of the error if it is anything else.
///
/// C calls this `struct dm_arg`.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    min: u32,
    max: u32,
    text: &'static CStr,
}

impl Range {
    /// A range from `min` to `max`, both included.
    pub const fn new(min: u32, max: u32, text: &'static CStr) -> Self {
        Self { min, max, text }
    }

    fn error(&self) -> TableError {
        TableError::invalid(self.text)
    }
}

/// A reader of words.
///
/// # Invariants
///
/// `next <= end <= words.len()`.
#[derive(Debug)]
pub struct Args<'a, W: ?Sized> {
    words: &'a W,
    next: usize,
    end: usize,
}

impl<W: ?Sized> Clone for Args<'_, W> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<'a, W: Words + ?Sized> Args<'a, W> {
    /// Reads all of `words`.
    pub fn new(words: &'a W) -> Self {
        // INVARIANT: Zero is not more than any length.
        Self {
            words,
            next: 0,
            end: words.len(),
        }
    }

    /// The number of words not read yet.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.end.saturating_sub(self.next)
    }

    /// Whether all words have been read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Fails with `text` and [`EINVAL`] if there are fewer than `count` words left.
    pub fn at_least(&self, count: usize, text: &'static CStr) -> Result<(), TableError> {
        if self.remaining() < count {
            return Err(TableError::invalid(text));
        }
        Ok(())
    }

    /// The next word, without reading it.
    pub fn peek(&self) -> Option<&'a CStr> {
        if self.is_empty() {
            return None;
        }
        self.words.get(self.next)
    }

    /// Reads the next word, if any: `dm_shift_arg()`.
    pub fn shift(&mut self) -> Option<&'a CStr> {
        let word = self.peek()?;
        // INVARIANT: There was a word, so `next` was below `end`.
        self.next = self.next.saturating_add(1);
        Some(word)
    }

    /// Reads the next word, or fails with `text` and [`EINVAL`].
    pub fn expect(&mut self, text: &'static CStr) -> Result<&'a CStr, TableError> {
        self.shift().ok_or(TableError::invalid(text))
    }

    /// Reads a number of the given range: `dm_read_arg()`.
    ///
    /// The word is read by the rules of [`parse_u32`]. It counts as read even if this fails.
    pub fn read(&mut self, range: &Range) -> Result<u32, TableError> {
        self.shift()
            .and_then(|word| parse_u32(word.to_bytes()))
            .filter(|value| (range.min..=range.max).contains(value))
            .ok_or(range.error())
    }

    /// Reads a number of words that follow: `dm_read_arg_group()`.
    ///
    /// Like [`read`](Args::read), and fails if fewer words are left than the number says.
    pub fn read_group(&mut self, range: &Range) -> Result<usize, TableError> {
        let count = usize::try_from(self.read(range)?).map_err(|_| range.error())?;
        if self.remaining() < count {
            return Err(range.error());
        }
        Ok(count)
    }

    /// Reads the next `count` words with a reader of their own, which ends after them.
    ///
    /// Returns [`None`], and reads nothing, if there are fewer.
    pub fn take(&mut self, count: usize) -> Option<Self> {
        if self.remaining() < count {
            return None;
        }
        let end = self.next.saturating_add(count);
        // INVARIANT: `next + count` is at most `end`, as compared above.
        let taken = Self { end, ..*self };
        self.next = end;
        Some(taken)
    }
}
