// SPDX-License-Identifier: GPL-2.0

//! The optional words of a crypt table.
//!
//! The letter case of a word without a value means nothing; that of a word with one is exact, but
//! not that of the value itself. Words may be repeated, the last one counts.

use core::ffi::CStr;

use dm::target::{
    args::{
        Args,
        Range,
        TableError,
        Words, //
    },
    number::{
        parse_u16,
        parse_u32, //
    },
};

/// The word that passes discards to the device below.
pub const ALLOW_DISCARDS: &str = "allow_discards";
/// The word that has a bio encrypted by the CPU that submitted it.
pub const SAME_CPU_CRYPT: &str = "same_cpu_crypt";
/// The word for work queues of high priority.
pub const HIGH_PRIORITY: &str = "high_priority";
/// The word that has writes submitted where they were encrypted.
pub const SUBMIT_FROM_CRYPT_CPUS: &str = "submit_from_crypt_cpus";
/// The word that has reads decrypted where they complete.
pub const NO_READ_WORKQUEUE: &str = "no_read_workqueue";
/// The word that has writes encrypted where they are submitted.
pub const NO_WRITE_WORKQUEUE: &str = "no_write_workqueue";
/// The word that has IVs count sectors of `sector_size` bytes.
pub const IV_LARGE_SECTORS: &str = "iv_large_sectors";
/// What comes before the size and the profile of the metadata of a sector.
pub const INTEGRITY: &str = "integrity:";
/// What comes before the size of the key of a message authentication code in bytes.
pub const INTEGRITY_KEY_SIZE: &str = "integrity_key_size:";
/// What comes before the bytes that are encrypted at a time.
pub const SECTOR_SIZE: &str = "sector_size:";

/// The profile with authenticated encryption.
const AEAD: &[u8] = b"aead";
/// The profile without.
const NONE: &[u8] = b"none";

/// The most metadata of a sector that can be asked for, in bytes.
pub const MAX_TAG_SIZE: u32 = 480;

/// How many words may follow. C knows one more than it allows at once.
static COUNT: Range = Range::new(0, 9, c"Invalid number of feature args");

/// The number of bytes that are encrypted at a time.
///
/// # Invariants
///
/// `512 << shift`, and `shift` is at most 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectorSize {
    shift: u8,
}

impl SectorSize {
    /// The size of a sector of the block layer.
    pub const SMALL: Self = Self { shift: 0 };

    /// A size in bytes: 512, 1024, 2048 or 4096.
    pub const fn from_bytes(bytes: u32) -> Option<Self> {
        // INVARIANT: The four shifts there are.
        match bytes {
            512 => Some(Self { shift: 0 }),
            1024 => Some(Self { shift: 1 }),
            2048 => Some(Self { shift: 2 }),
            4096 => Some(Self { shift: 3 }),
            _ => None,
        }
    }

    /// The size in bytes.
    #[inline]
    pub const fn bytes(self) -> u32 {
        512 << self.shift
    }

    /// The size in sectors of 512 bytes: 1, 2, 4 or 8.
    #[inline]
    pub const fn sectors(self) -> u32 {
        1 << self.shift
    }

    /// The binary logarithm of [`sectors`](Self::sectors).
    #[inline]
    pub const fn shift(self) -> u32 {
        self.shift as u32
    }

    /// Whether a number of sectors of 512 bytes is a multiple of this size.
    #[inline]
    pub const fn divides(self, sectors: u64) -> bool {
        sectors.trailing_zeros() >= self.shift as u32
    }
}

/// The words that are one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Whether discards are passed to the device below.
    pub allow_discards: bool,
    /// Whether a bio is encrypted by the CPU that submitted it.
    pub same_cpu_crypt: bool,
    /// Whether work queues and thread have high priority.
    pub high_priority: bool,
    /// Whether writes are submitted where they were encrypted.
    pub submit_from_crypt_cpus: bool,
    /// Whether reads are decrypted where they complete.
    pub no_read_workqueue: bool,
    /// Whether writes are encrypted where they are submitted.
    pub no_write_workqueue: bool,
    /// Whether IVs count sectors of `sector_size` bytes, not of 512.
    pub iv_large_sectors: bool,
}

impl Flags {
    /// The bit of a word without a value.
    fn find(&mut self, word: &[u8]) -> Option<&mut bool> {
        let words = [
            (ALLOW_DISCARDS, &mut self.allow_discards),
            (SAME_CPU_CRYPT, &mut self.same_cpu_crypt),
            (HIGH_PRIORITY, &mut self.high_priority),
            (SUBMIT_FROM_CRYPT_CPUS, &mut self.submit_from_crypt_cpus),
            (NO_READ_WORKQUEUE, &mut self.no_read_workqueue),
            (NO_WRITE_WORKQUEUE, &mut self.no_write_workqueue),
            (IV_LARGE_SECTORS, &mut self.iv_large_sectors),
        ];
        words
            .into_iter()
            .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(word))
            .map(|(_, flag)| flag)
    }
}

/// The metadata of a sector, as a table asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<P> {
    /// The size in bytes, from 1 to [`MAX_TAG_SIZE`].
    pub size: u32,
    /// The word for what it is: "aead" or "none" in any letter case.
    pub profile: P,
}

/// The options of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// The words that are one bit each.
    pub flags: Flags,
    /// Metadata of sectors.
    pub tag: Option<Tag<&'a CStr>>,
    /// Whether encryption is authenticated. Stays so if a later word asks for other metadata.
    pub aead: bool,
    /// The size of the key of the message authentication code in bytes, not zero.
    pub mac_key_size: Option<u32>,
    /// The number of bytes that are encrypted at a time.
    pub sector_size: SectorSize,
}

/// Reads the words after the first five of a table for `sectors` sectors: rows C-17 to C-28.
///
/// Words after the counted ones mean nothing.
pub fn parse<'a, W: Words + ?Sized>(
    mut args: Args<'a, W>,
    sectors: u64,
) -> Result<Options<'a>, TableError> {
    let mut options = Options::default();
    if !args.is_empty() {
        for _ in 0..args.read_group(&COUNT)? {
            options.word(args.expect(c"Not enough feature arguments")?, sectors)?;
        }
    }
    Ok(options)
}

impl<'a> Options<'a> {
    fn word(&mut self, word: &'a CStr, sectors: u64) -> Result<(), TableError> {
        const UNKNOWN: TableError = TableError::invalid(c"Invalid feature arguments");

        let bytes = word.to_bytes();
        if let Some(flag) = self.flags.find(bytes) {
            *flag = true;
            return Ok(());
        }
        if let Some(size) = value(bytes, INTEGRITY).and_then(leading_u32) {
            return self.integrity(size, word);
        }
        if let Some(size) = value(bytes, INTEGRITY_KEY_SIZE).and_then(parse_u32) {
            return self.integrity_key_size(size);
        }
        let size = value(bytes, SECTOR_SIZE).and_then(parse_u16);
        self.sector_size(size.ok_or(UNKNOWN)?, sectors)
    }

    fn integrity(&mut self, size: u32, word: &'a CStr) -> Result<(), TableError> {
        const UNKNOWN: TableError = TableError::invalid(c"Unknown integrity profile");

        if !(1..=MAX_TAG_SIZE).contains(&size) {
            return Err(TableError::invalid(c"Invalid integrity arguments"));
        }
        // C takes what is after the first colon, whatever is between it and the number, and reads
        // from a null pointer if there is none.
        let profile = after_colon(word, INTEGRITY.len()).ok_or(UNKNOWN)?;
        let is = |name: &[u8]| profile.to_bytes().eq_ignore_ascii_case(name);
        if !is(AEAD) && !is(NONE) {
            return Err(UNKNOWN);
        }
        self.aead |= is(AEAD);
        self.tag = Some(Tag { size, profile });
        Ok(())
    }

    fn integrity_key_size(&mut self, size: u32) -> Result<(), TableError> {
        if size == 0 {
            return Err(TableError::invalid(c"Invalid integrity_key_size argument"));
        }
        self.mac_key_size = Some(size);
        Ok(())
    }

    fn sector_size(&mut self, bytes: u16, sectors: u64) -> Result<(), TableError> {
        let size = SectorSize::from_bytes(bytes.into()).ok_or(TableError::invalid(
            c"Invalid feature value for sector_size",
        ))?;
        if !size.divides(sectors) {
            return Err(TableError::invalid(
                c"Device size is not multiple of sector_size feature",
            ));
        }
        self.sector_size = size;
        Ok(())
    }
}

/// What follows `name` in a word.
fn value<'a>(word: &'a [u8], name: &str) -> Option<&'a [u8]> {
    word.strip_prefix(name.as_bytes())
}

/// Reads a number with `%u`, whatever follows it.
fn leading_u32(word: &[u8]) -> Option<u32> {
    let digit = word.iter().position(u8::is_ascii_digit)?;
    let digits = word.get(digit..)?.iter().take_while(|b| b.is_ascii_digit());
    let end = digit.checked_add(digits.count())?;
    // If something else is before the digits than what is skipped, this is no number either.
    parse_u32(word.get(..end)?)
}

/// What follows the first colon at `from` or later, to the end of the word.
pub(crate) fn after_colon(word: &CStr, from: usize) -> Option<&CStr> {
    let bytes = word.to_bytes_with_nul();
    let colon = bytes.get(from..)?.iter().position(|&byte| byte == b':')?;
    let after = from.checked_add(colon)?.checked_add(1)?;
    CStr::from_bytes_with_nul(bytes.get(after..)?).ok()
}
