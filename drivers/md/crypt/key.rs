// SPDX-License-Identifier: GPL-2.0

//! The key of a crypt device: how a table or a message names it, and how it is divided.
//!
//! ```text
//! <hexadecimal digits>                 the key itself
//! :<bytes>:<type>:<description>        a key in a keyring
//! -                                    no key, for ciphers without one
//! ```
//!
//! Nothing here prints a key. Memory that holds one is the caller's, see [`Secret`].

use core::{
    ffi::CStr,
    fmt,
    ops::{
        DerefMut,
        Range, //
    },
};

use dm::{
    errno::{
        Errno,
        EINVAL, //
    },
    target::number::{
        hex_decode,
        parse_u32, //
    },
};

use crate::{
    iv::Mode,
    options::after_colon, //
};

/// Memory for a key, which is zeroed when it is dropped.
pub trait Secret: DerefMut<Target = [u8]> {
    /// Zeroes the memory, in a way that the compiler does not optimise out.
    fn wipe(&mut self);
}

/// What a table or a message says about the key: its size is known, the rest is unread.
#[derive(Clone, Copy)]
pub struct Word<'a> {
    size: u32,
    /// From the second colon if there is one at the start, else all of it.
    text: &'a CStr,
}

impl fmt::Debug for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Word({} bytes)", self.size)
    }
}

impl<'a> Word<'a> {
    /// Reads the size. [`None`] means "Cannot parse key size", `EINVAL`.
    ///
    /// An odd last digit does not count, as in C; nor do the bits above the 32nd of a size, and a
    /// size of 2 GiB or more is none.
    pub fn parse(word: &'a CStr) -> Option<Self> {
        let bytes = word.to_bytes();
        let (size, text) = match bytes.strip_prefix(b":") {
            None => (u32::try_from(bytes.len() / 2).ok()?, word),
            Some(rest) => {
                let colon = rest.iter().position(|&byte| byte == b':')?;
                let with_nul = word.to_bytes_with_nul().get(colon.checked_add(1)?..)?;
                (
                    parse_u32(rest.get(..colon)?)?,
                    CStr::from_bytes_with_nul(with_nul).ok()?,
                )
            }
        };
        (size <= i32::MAX.unsigned_abs()).then_some(Self { size, text })
    }

    /// The size of the key in bytes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Reads the rest, where only the given types of keys are known.
    pub fn source(&self, types: Types) -> Result<Source<'a>, Malformed> {
        let bytes = self.text.to_bytes();
        match (self.size, bytes) {
            (0, b"-") => Ok(Source::None),
            (0, _) => Err(Malformed::Other),
            (_, [b':', ..]) => Reference::parse(self.text, types).map(Source::Keyring),
            (_, digits) => Ok(Source::Hex(Hex { digits })),
        }
    }
}

/// Why a key cannot be what was said: `EINVAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// There is white space in the name of a key, which a table line could not show.
    WhiteSpace,
    /// Any other reason.
    Other,
}

impl Malformed {
    /// What C logs as an error.
    pub const fn text(self) -> Option<&'static CStr> {
        match self {
            Self::WhiteSpace => Some(c"whitespace chars not allowed in key string"),
            Self::Other => None,
        }
    }
}

/// Where a key comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// There is none.
    None,
    /// Digits.
    Hex(Hex<'a>),
    /// A keyring.
    Keyring(Reference<'a>),
}

/// A key in hexadecimal digits.
#[derive(Clone, Copy)]
pub struct Hex<'a> {
    digits: &'a [u8],
}

impl fmt::Debug for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hex(..)")
    }
}

impl Hex<'_> {
    /// Writes the key to `out`, which has [`Word::size`] bytes. Its contents are unspecified if
    /// this fails.
    pub fn decode(&self, out: &mut [u8]) -> Result<(), Errno> {
        let digits = out.len().checked_mul(2).ok_or(EINVAL)?;
        // There may be one more digit.
        let digits = self.digits.get(..digits).ok_or(EINVAL)?;
        hex_decode(digits, out).ok_or(EINVAL)
    }
}

/// The types of keys that the kernel was built with, besides "user" and "logon".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Types {
    /// Keys that a master key encrypts.
    pub encrypted: bool,
    /// Keys that a trust source, such as a TPM, seals.
    pub trusted: bool,
}

/// A type of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `logon`: user space can write but not read it.
    Logon,
    /// `user`.
    User,
    /// `encrypted`.
    Encrypted,
    /// `trusted`.
    Trusted,
}

impl Type {
    fn parse(word: &[u8], types: Types) -> Option<Self> {
        match word {
            b"logon" => Some(Self::Logon),
            b"user" => Some(Self::User),
            b"encrypted" if types.encrypted => Some(Self::Encrypted),
            b"trusted" if types.trusted => Some(Self::Trusted),
            _ => None,
        }
    }
}

/// The name of a key in a keyring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The type.
    pub kind: Type,
    /// The description, not empty.
    pub description: &'a CStr,
    /// Both as the table has them: `<type>:<description>`.
    pub name: &'a CStr,
}

impl<'a> Reference<'a> {
    fn parse(text: &'a CStr, types: Types) -> Result<Self, Malformed> {
        let name = after_colon(text, 0).ok_or(Malformed::Other)?;
        if name.to_bytes().iter().any(|&byte| is_space(byte)) {
            return Err(Malformed::WhiteSpace);
        }
        let description = after_colon(name, 0).ok_or(Malformed::Other)?;
        let word = name.to_bytes().split(|&byte| byte == b':').next();
        let kind = word.and_then(|word| Type::parse(word, types));
        if description.is_empty() {
            return Err(Malformed::Other);
        }
        Ok(Self {
            kind: kind.ok_or(Malformed::Other)?,
            description,
            name,
        })
    }
}

/// White space as in the kernel's `lib/ctype.c`.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ' | 0xa0)
}

/// The bytes before the keys for an `authenc()` cipher: see [`KeyLayout::install`].
pub const AUTHENC_HEADER: usize = 8;

/// The bytes of an MD5 digest, and of the seed in a key for IV mode lmk.
pub const LMK_SEED_SIZE: usize = 16;

/// The bytes at the end of a key for IV mode tcw that change the ciphertext.
pub const TCW_WHITENING_SIZE: usize = 16;

/// The longest second half of a key for IV mode elephant in bytes.
pub const ELEPHANT_MAX_KEY_SIZE: u32 = 32;

/// How a key is divided: one part for each transform, then what is extra.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLayout {
    /// The size of the whole key in bytes.
    pub size: u32,
    /// The number of transforms, a power of two.
    pub transforms: u32,
    /// The number of independent parts of the key.
    pub parts: u32,
    /// The bytes at its end that are not for the transforms.
    pub extra: u32,
    /// The size of the key of the message authentication code in bytes; may have been given
    /// without being used.
    pub mac: u32,
    /// Whether encryption is authenticated.
    pub aead: bool,
}

impl KeyLayout {
    /// A key of `size` bytes for one transform or more, a power of two.
    pub const fn new(size: u32, transforms: u32, mac: u32, aead: bool) -> Self {
        Self {
            size,
            transforms,
            parts: transforms,
            extra: 0,
            mac,
            aead,
        }
    }

    /// Takes from the key what an IV mode needs.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the key of IV mode elephant is too long; C has no text for that.
    pub fn reserve(&mut self, mode: Mode, iv_size: u32) -> Result<(), Errno> {
        match mode {
            Mode::Elephant => {
                self.parts = 2;
                self.extra = self.size / 2;
                if self.extra > ELEPHANT_MAX_KEY_SIZE {
                    return Err(EINVAL);
                }
            }
            // One part more than transforms is the seed.
            Mode::Lmk if self.size.checked_rem(self.parts) != Some(0) => {
                self.parts = self.parts.saturating_add(1);
                self.extra = self.size.checked_div(self.parts).ok_or(EINVAL)?;
            }
            Mode::Tcw => {
                self.parts = self.parts.saturating_add(2);
                self.extra = iv_size.saturating_add(TCW_WHITENING_SIZE as u32);
            }
            _ => {}
        }
        Ok(())
    }

    /// The bytes of the key of one transform.
    ///
    /// [`None`] if the key has fewer than are extra, which no cipher takes in C either.
    pub fn subkey_size(&self) -> Option<u32> {
        let bytes = self.size.checked_sub(self.extra)?;
        bytes.checked_shr(self.transforms.checked_ilog2()?)
    }

    /// The key of a transform.
    pub fn subkey<'k>(&self, key: &'k [u8], index: u32) -> Option<&'k [u8]> {
        let size = usize::try_from(self.subkey_size()?).ok()?;
        let start = size.checked_mul(usize::try_from(index).ok()?)?;
        key.get(start..start.checked_add(size)?)
    }

    /// The bytes from `start`, counted from the end of the key.
    pub(crate) fn before_end<'k>(&self, key: &'k [u8], start: usize) -> Option<&'k [u8]> {
        key.get(key.len().checked_sub(start)?..)
    }

    /// Where the seed of IV mode lmk is, if there is one.
    pub(crate) fn lmk_seed(&self) -> Option<Range<usize>> {
        let part = self.size.checked_div(self.parts)?;
        let start = usize::try_from(part.checked_mul(self.transforms)?).ok()?;
        Some(start..start.checked_add(LMK_SEED_SIZE)?)
    }

    /// Whether the cipher takes its keys in the form for `authenc()`.
    pub fn is_authenc(&self) -> bool {
        self.aead && self.mac != 0
    }

    /// The bytes of memory that [`install`](Self::install) needs for `authenc()`. To be asked
    /// before [`reserve`](Self::reserve).
    pub fn authenc_size(&self) -> Option<usize> {
        usize::try_from(self.subkey_size()?)
            .ok()?
            .checked_add(AUTHENC_HEADER)
    }

    /// Gives each transform its key by `set`. All of them are tried, also after an error, which
    /// is returned in the end.
    ///
    /// `authenc` is memory of at least [`authenc_size`](Self::authenc_size) bytes; it is wiped
    /// afterwards.
    ///
    /// # Errors
    ///
    /// The last one of `set`, or `EINVAL` if the key cannot be divided so.
    pub fn install<S: Secret>(
        &self,
        key: &[u8],
        authenc: Option<&mut S>,
        mut set: impl FnMut(u32, &[u8]) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        if self.is_authenc() {
            // In C, what is no authenc() but has integrity_key_size writes to a null pointer.
            let memory = authenc.ok_or(EINVAL)?;
            let result = self
                .write_authenc(key, memory)
                .ok_or(EINVAL)
                .and_then(|key| set(0, key));
            memory.wipe();
            return result;
        }
        let mut result = Ok(());
        for index in 0..self.transforms {
            let subkey = self.subkey(key, index).ok_or(EINVAL)?;
            if let Err(errno) = set(index, subkey) {
                result = Err(errno);
            }
        }
        result
    }

    /// Writes both keys as `authenc()` takes them, and returns what was written.
    ///
    /// That is a `struct rtattr` in the machine's byte order, with the length of the cipher's key
    /// as big-endian number in it; the key of the message authentication code; the cipher's key.
    /// In `key`, the cipher's comes first.
    ///
    /// C header: `include/crypto/authenc.h`
    fn write_authenc<'o>(&self, key: &[u8], out: &'o mut [u8]) -> Option<&'o [u8]> {
        const LENGTH: u16 = AUTHENC_HEADER as u16;
        const CRYPTO_AUTHENC_KEYA_PARAM: u16 = 1;

        let subkey = self.subkey(key, 0)?;
        let cipher_size = self.subkey_size()?.checked_sub(self.mac)?;
        let (cipher, mac) = subkey.split_at_checked(usize::try_from(cipher_size).ok()?)?;
        let out = out.get_mut(..AUTHENC_HEADER.checked_add(subkey.len())?)?;
        let [l0, l1] = LENGTH.to_ne_bytes();
        let [t0, t1] = CRYPTO_AUTHENC_KEYA_PARAM.to_ne_bytes();
        let [s0, s1, s2, s3] = cipher_size.to_be_bytes();
        let header = [l0, l1, t0, t1, s0, s1, s2, s3];
        let bytes = header.iter().chain(mac).chain(cipher);
        for (to, from) in out.iter_mut().zip(bytes) {
            *to = *from;
        }
        Some(out)
    }
}
