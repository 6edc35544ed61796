// SPDX-License-Identifier: GPL-2.0

//! The cipher of a crypt table, and its name in the crypto API.
//!
//! ```text
//! <cipher>[:<keys>]-<chaining mode>-<IV mode>[:<IV options>]
//! capi:<name in the crypto API>-<IV mode>[:<IV options>]
//! ```
//!
//! Only the second form has authenticated encryption. In it the IV options follow the last colon,
//! and the IV mode the last hyphen before that, since names may have both.

use core::ffi::CStr;

use dm::{
    errno::{
        Errno,
        ENOENT,
        ENOMEM, //
    },
    target::{
        args::TableError,
        number::parse_u32, //
    },
};

/// The bytes of the longest name in the crypto API and its NUL: `CRYPTO_MAX_ALG_NAME`.
pub const MAX_NAME_SIZE: usize = 128;

/// The number of keys that the second form of a cipher has with IV mode lmk.
const LMK_KEYS: u32 = 64;

const CAPI: &[u8] = b"capi:";
const ESSIV: &[u8] = b"essiv";
const LMK: &[u8] = b"lmk";

/// A name in the crypto API.
///
/// # Invariants
///
/// From `length`, which is below the size of `bytes`, all bytes are NUL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; MAX_NAME_SIZE],
    length: usize,
}

impl Name {
    /// Puts a name together. [`None`] if it is too long.
    fn new(parts: &[&[u8]]) -> Option<Self> {
        // INVARIANT: All is NUL.
        let mut name = Self {
            bytes: [0; MAX_NAME_SIZE],
            length: 0,
        };
        for part in parts {
            let end = name.length.checked_add(part.len())?;
            if end >= MAX_NAME_SIZE {
                return None;
            }
            let room = name.bytes.get_mut(name.length..end)?;
            room.iter_mut()
                .zip(*part)
                .for_each(|(to, from)| *to = *from);
            // INVARIANT: Compared above, and what follows was not written.
            name.length = end;
        }
        Some(name)
    }

    /// The name.
    pub fn as_cstr(&self) -> &CStr {
        // Cannot fail by the invariant.
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

/// The two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form<'a> {
    Old {
        cipher: &'a [u8],
        chaining: &'a [u8],
    },
    Api(&'a [u8]),
}

/// A cipher, as a table names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec<'a> {
    form: Form<'a>,
    /// The number of transforms, each with a key of its own: a power of two.
    pub keys: u32,
    /// The word for the IV mode.
    pub iv: Option<&'a [u8]>,
    /// What follows it.
    pub iv_options: Option<&'a [u8]>,
    aead: bool,
}

impl<'a> Spec<'a> {
    /// Reads the word of a table, which asks for authenticated encryption or not: rows C-10 to
    /// C-12.
    pub fn parse(word: &'a [u8], aead: bool) -> Result<Self, TableError> {
        match word.strip_prefix(CAPI) {
            Some(rest) => Ok(Self::parse_api(rest, aead)),
            None => Self::parse_old(word, aead),
        }
    }

    fn parse_api(word: &'a [u8], aead: bool) -> Self {
        let (word, iv_options) = split_last(word, b':');
        let (name, iv) = split_last(word, b'-');
        Self {
            form: Form::Api(name),
            // There is no authenticated cipher with more, see `api_name`.
            keys: if iv == Some(LMK) && !aead {
                LMK_KEYS
            } else {
                1
            },
            iv,
            iv_options,
            aead,
        }
    }

    fn parse_old(word: &'a [u8], aead: bool) -> Result<Self, TableError> {
        if word.contains(&b'(') || aead {
            return Err(TableError::invalid(c"Bad cipher specification"));
        }
        let (cipher, rest) = split_first(word, b'-');
        let (cipher, keys) = split_first(cipher, b':');
        let (chaining, rest) = split_first_of(rest, b'-');
        let (iv, iv_options) = split_first_of(rest, b':');
        let keys = keys
            .map_or(Some(1), parse_u32)
            .filter(|keys| keys.is_power_of_two())
            .ok_or(TableError::invalid(c"Bad cipher key count specification"))?;
        // The first tables had no mode, or `plain` instead of it.
        let (chaining, iv) = match (chaining, iv) {
            (None, _) | (Some(b"plain"), None) => (&b"cbc"[..], Some(&b"plain"[..])),
            (Some(chaining), iv) => (chaining, iv),
        };
        if chaining != b"ecb" && iv.is_none() {
            return Err(TableError::invalid(c"IV mechanism required"));
        }
        Ok(Self {
            form: Form::Old { cipher, chaining },
            keys,
            iv,
            iv_options,
            aead,
        })
    }

    /// The name of the message authentication code, whose digest size is the size of its key
    /// unless the table tells another. [`None`] if the cipher is no `authenc()`. To be asked
    /// before [`api_name`](Self::api_name).
    ///
    /// # Errors
    ///
    /// "Invalid AEAD cipher spec": row C-16.
    pub fn mac(&self) -> Result<Option<Name>, TableError> {
        let (true, Form::Api(name)) = (self.aead, self.form) else {
            return Ok(None);
        };
        let Some(arguments) = name.strip_prefix(b"authenc(") else {
            return Ok(None);
        };
        let (mac, cipher) = split_first(arguments, b',');
        if cipher.is_none() {
            return Err(TableError::invalid(c"Invalid AEAD cipher spec"));
        }
        Name::new(&[mac]).map(Some).ok_or(invalid_mac(ENOENT))
    }

    /// The name of the cipher in the crypto API: rows C-13 and C-16.
    pub fn api_name(&self) -> Result<Name, TableError> {
        const NO_DIGEST: TableError =
            TableError::invalid(c"Digest algorithm missing for ESSIV mode");

        let essiv = self.iv == Some(ESSIV);
        match self.form {
            Form::Old { cipher, chaining } => {
                let name = match (essiv, self.iv_options) {
                    (true, None) => return Err(NO_DIGEST),
                    (true, Some(digest)) => {
                        Name::new(&[b"essiv(", chaining, b"(", cipher, b"),", digest, b")"])
                    }
                    (false, _) => Name::new(&[chaining, b"(", cipher, b")"]),
                };
                name.ok_or(TableError::new(c"Cannot allocate cipher strings", ENOMEM))
            }
            Form::Api(_) if self.aead && self.iv == Some(LMK) => Err(TableError::invalid(
                c"AEAD transforms not supported for LMK",
            )),
            Form::Api(name) => match (essiv, self.iv_options) {
                (true, None) => Err(NO_DIGEST),
                (true, Some(digest)) => Name::new(&[b"essiv(", name, b",", digest, b")"])
                    .ok_or(TableError::new(c"Cannot allocate cipher string", ENOMEM)),
                // No cipher has a name of that length.
                (false, _) => Name::new(&[name]).ok_or(no_cipher(ENOENT)),
            },
        }
    }
}

/// The error if there is no such message authentication code.
pub const fn invalid_mac(errno: Errno) -> TableError {
    TableError::new(c"Invalid AEAD cipher spec", errno)
}

/// The error if there is no such cipher.
pub const fn no_cipher(errno: Errno) -> TableError {
    TableError::new(c"Error allocating crypto tfm", errno)
}

/// What is before the first `separator`, and what is after it if there is one.
fn split_first(word: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    let mut parts = word.splitn(2, |&byte| byte == separator);
    (parts.next().unwrap_or_default(), parts.next())
}

/// The same of a word that there may not be.
fn split_first_of(word: Option<&[u8]>, separator: u8) -> (Option<&[u8]>, Option<&[u8]>) {
    match word.map(|word| split_first(word, separator)) {
        None => (None, None),
        Some((first, rest)) => (Some(first), rest),
    }
}

/// What is before the last `separator`, and what is after it if there is one.
fn split_last(word: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    let mut parts = word.rsplitn(2, |&byte| byte == separator);
    match (parts.next(), parts.next()) {
        (Some(last), Some(first)) => (first, Some(last)),
        _ => (word, None),
    }
}
