// SPDX-License-Identifier: GPL-2.0

//! The messages of a crypt device, which change its key while it is suspended.
//!
//! ```text
//! key set <key>
//! key wipe
//! ```

use core::ffi::CStr;

use dm::target::args::{
    Args,
    Words, //
};

use crate::key::Word;

/// What a message asks for.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// A new key, of the size that the table has. The target must scrub the word of it, which is
    /// the last one of the message.
    ///
    /// Digits make the old key invalid before they are read, also if they then turn out to be
    /// wrong. A key of a keyring does so once it was read, before the cipher gets it.
    SetKey(Word<'a>),
    /// No key until the next is set.
    WipeKey,
}

/// Why a message is refused: `EINVAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The device is not suspended.
    NotSuspended,
    /// There is no such message.
    Unrecognised,
    /// The size of the key cannot be read. The word has to be scrubbed as well.
    KeySize,
}

impl Refused {
    /// What C logs as a warning.
    pub const fn text(self) -> Option<&'static CStr> {
        match self {
            Self::NotSuspended => Some(c"not suspended during key manipulation."),
            Self::Unrecognised => Some(c"unrecognised message received."),
            Self::KeySize => None,
        }
    }
}

/// Reads a message to a device that has a key of `key_size` bytes: rows C-37 to C-39.
///
/// The letter case of words means nothing.
pub fn parse<'a, W: Words + ?Sized>(
    mut args: Args<'a, W>,
    suspended: bool,
    key_size: u32,
) -> Result<Message<'a>, Refused> {
    let is = |word: &CStr, name: &[u8]| word.to_bytes().eq_ignore_ascii_case(name);
    let (Some(first), Some(second)) = (args.shift(), args.shift()) else {
        return Err(Refused::Unrecognised);
    };
    if !is(first, b"key") {
        return Err(Refused::Unrecognised);
    }
    if !suspended {
        return Err(Refused::NotSuspended);
    }
    match (args.shift(), args.is_empty()) {
        (Some(key), true) if is(second, b"set") => Word::parse(key)
            .filter(|word| word.size() == key_size)
            .map(Message::SetKey)
            .ok_or(Refused::KeySize),
        (None, _) if is(second, b"wipe") => Ok(Message::WipeKey),
        _ => Err(Refused::Unrecognised),
    }
}
