// SPDX-License-Identifier: GPL-2.0

//! The optional words of an integrity table.
//!
//! Letter case matters. A word that does not look like any of these is an "Invalid argument"; of
//! those that are repeated the last one counts.

use core::{
    ffi::CStr,
    fmt,
    ops::Deref, //
};

use dm::{
    errno::ENOMEM,
    target::{
        args::{
            Args,
            Range,
            TableError,
            Words, //
        },
        number::{
            hex_decode,
            parse_u32,
            parse_u64, //
        },
    },
};

use crate::{
    shape::{
        BlockSize,
        MAX_LOG2_BUFFER, //
    },
    table::{
        self,
        Environment, //
    },
};

/// How many words may follow, as in C, which has one word more than this.
static COUNT: Range = Range::new(0, 18, c"Invalid number of feature args");

const INVALID: TableError = TableError::invalid(c"Invalid argument");

/// Data sectors of an area, where the table does not say.
const DEFAULT_INTERLEAVE: u32 = 32_768;
/// log2 of the sectors of a buffer, where the table does not say.
const DEFAULT_LOG2_BUFFER: u8 = 7;
/// Percentage of the journal that may be in use before it is written out.
const DEFAULT_WATERMARK: u8 = 50;
/// Milliseconds after which what was written is committed to the journal.
const DEFAULT_COMMIT_TIME: u32 = 10_000;
/// Milliseconds after which bits are cleared in the bitmap.
const DEFAULT_FLUSH_INTERVAL: u32 = 10_000;

/// An algorithm of the crypto API, with its key, as a table names it: `name` or `name:key`.
pub struct Algorithm<B> {
    /// The name, NUL, and if there is a key, its hexadecimal digits and another NUL.
    text: B,
    key: Option<B>,
}

impl<B: Deref<Target = [u8]>> Algorithm<B> {
    /// The name.
    pub fn name(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.text).unwrap_or_default()
    }

    /// The key, which may be empty, if there is one.
    pub fn key(&self) -> Option<&[u8]> {
        self.key.as_deref()
    }

    /// The key as it is in the table.
    pub fn key_hex(&self) -> Option<&[u8]> {
        self.key.as_ref()?;
        let mut parts = self.text.split(|&byte| byte == 0);
        parts.nth(1)
    }
}

impl<B> fmt::Debug for Algorithm<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys are not for logs.
        f.write_str("Algorithm")
    }
}

/// What discards do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discards {
    /// They are not supported.
    #[default]
    None,
    /// `allow_discards`: the tags of what was discarded are a constant.
    Plain,
    /// `allow_discards_keyed`: the tags of what was discarded are keyed hashes of the place.
    Keyed,
}

/// The options of a table.
pub struct Options<E: Environment> {
    /// `meta_device`: the device for superblock, journal, and tags.
    pub meta_device: Option<E::Device>,
    /// `block_size`: what a tag covers.
    pub block: BlockSize,
    /// `journal_sectors`: the sectors of the journal of a new volume; never zero.
    pub journal_sectors: Option<u32>,
    /// `interleave_sectors`: the data sectors between tag runs of a new volume.
    pub interleave_sectors: u32,
    /// `buffer_sectors`: log2 of the sectors of a buffer.
    pub log2_buffer_sectors: u8,
    /// `journal_watermark`: the percentage of the journal that may be in use before it is written
    /// out; at most 100.
    pub journal_watermark: u8,
    /// `commit_time`: milliseconds after which what was written is committed.
    pub commit_time: u32,
    /// `sectors_per_bit`: log2 of the data sectors that a bit of the bitmap is for.
    pub log2_sectors_per_bit: Option<u8>,
    /// `bitmap_flush_interval`: ticks of the kernel's clock after which bits are cleared.
    pub bitmap_flush_ticks: u32,
    /// `internal_hash`: what computes the tags.
    pub internal_hash: Option<Algorithm<E::Bytes>>,
    /// `journal_crypt`: the cipher of the journal.
    pub journal_crypt: Option<Algorithm<E::Bytes>>,
    /// `journal_mac`: the MAC of journal sections, and of the superblock with `fix_hmac`.
    pub journal_mac: Option<Algorithm<E::Bytes>>,
    /// `recalculate` or `reset_recalculate`: tags are computed where they are not yet.
    pub recalculate: bool,
    /// `reset_recalculate`: and all of them anew on each resume.
    pub reset_recalculate: bool,
    /// `allow_discards` and `allow_discards_keyed`.
    pub discards: Discards,
    /// `fix_padding`: tag runs of a new volume are padded to 4 KiB only.
    pub fix_padding: bool,
    /// `fix_hmac`: a new volume has a salt, and MACs cover what they should.
    pub fix_hmac: bool,
    /// `legacy_recalculate`: recalculation also where it is no good with keys.
    pub legacy_recalculate: bool,
}

impl<E: Environment> Options<E> {
    fn new(env: &E) -> Self {
        Self {
            meta_device: None,
            block: BlockSize::default(),
            journal_sectors: None,
            interleave_sectors: DEFAULT_INTERLEAVE,
            log2_buffer_sectors: DEFAULT_LOG2_BUFFER,
            journal_watermark: DEFAULT_WATERMARK,
            commit_time: DEFAULT_COMMIT_TIME,
            log2_sectors_per_bit: None,
            bitmap_flush_ticks: to_ticks(DEFAULT_FLUSH_INTERVAL, env.ticks_per_second()),
            internal_hash: None,
            journal_crypt: None,
            journal_mac: None,
            recalculate: false,
            reset_recalculate: false,
            discards: Discards::None,
            fix_padding: false,
            fix_hmac: false,
            legacy_recalculate: false,
        }
    }

    /// Reads a word without a value. Returns whether it is one.
    fn flag(&mut self, word: &[u8]) -> bool {
        match word {
            b"recalculate" => self.recalculate = true,
            b"reset_recalculate" => {
                self.recalculate = true;
                self.reset_recalculate = true;
            }
            b"allow_discards" if self.discards == Discards::Keyed => {}
            b"allow_discards" => self.discards = Discards::Plain,
            b"allow_discards_keyed" => self.discards = Discards::Keyed,
            b"fix_padding" => self.fix_padding = true,
            b"fix_hmac" => self.fix_hmac = true,
            b"legacy_recalculate" => self.legacy_recalculate = true,
            _ => return false,
        }
        true
    }

    fn named(&mut self, name: &[u8], value: &CStr, env: &mut E) -> Result<(), TableError> {
        match name {
            b"meta_device" => {
                // Closed first, as in C: opening it again may give something else.
                self.meta_device = None;
                self.meta_device = Some(table::open(env, value)?);
            }
            b"internal_hash" => {
                self.internal_hash = None;
                let invalid = c"Invalid internal_hash argument";
                self.internal_hash = Some(algorithm(env, value, invalid)?);
            }
            b"journal_crypt" => {
                self.journal_crypt = None;
                let invalid = c"Invalid journal_crypt argument";
                self.journal_crypt = Some(algorithm(env, value, invalid)?);
            }
            b"journal_mac" => {
                self.journal_mac = None;
                let invalid = c"Invalid journal_mac argument";
                self.journal_mac = Some(algorithm(env, value, invalid)?);
            }
            b"sectors_per_bit" => {
                let sectors = parse_u64(value.to_bytes()).ok_or(INVALID)?;
                self.log2_sectors_per_bit = Some(sectors.max(1).ilog2() as u8);
            }
            _ => {
                let number = parse_u32(value.to_bytes()).ok_or(INVALID)?;
                self.number(name, number, env)?;
            }
        }
        Ok(())
    }

    fn number(&mut self, name: &[u8], value: u32, env: &E) -> Result<(), TableError> {
        match name {
            b"journal_sectors" => self.journal_sectors = Some(value.max(1)),
            b"interleave_sectors" => self.interleave_sectors = value,
            b"buffer_sectors" => {
                self.log2_buffer_sectors = (value.max(1).ilog2() as u8).min(MAX_LOG2_BUFFER);
            }
            b"journal_watermark" if value <= 100 => self.journal_watermark = value as u8,
            b"commit_time" => self.commit_time = value,
            b"block_size" => {
                self.block = BlockSize::from_bytes(value)
                    .ok_or(TableError::invalid(c"Invalid block_size argument"))?;
            }
            b"bitmap_flush_interval" => {
                self.bitmap_flush_ticks = flush_ticks(value, env.ticks_per_second())?;
            }
            _ => return Err(INVALID),
        }
        Ok(())
    }
}

/// Reads the options, and opens the device for metadata.
pub(crate) fn parse<W: Words + ?Sized, E: Environment>(
    mut args: Args<'_, W>,
    env: &mut E,
) -> Result<Options<E>, TableError> {
    let mut options = Options::new(env);
    for _ in 0..args.read_group(&COUNT)? {
        let word = args.expect(c"Not enough feature arguments")?;
        match split(word) {
            Some((name, value)) => options.named(name, value, env)?,
            None if options.flag(word.to_bytes()) => {}
            None => return Err(INVALID),
        }
    }
    Ok(options)
}

/// What is before the first colon of a word, and what after it.
fn split(word: &CStr) -> Option<(&[u8], &CStr)> {
    let colon = word.to_bytes().iter().position(|&byte| byte == b':')?;
    let (name, rest) = word.to_bytes_with_nul().split_at_checked(colon)?;
    let value = CStr::from_bytes_with_nul(rest.get(1..)?).ok()?;
    Some((name, value))
}

/// Reads an algorithm and its key.
fn algorithm<E: Environment>(
    env: &mut E,
    word: &CStr,
    invalid: &'static CStr,
) -> Result<Algorithm<E::Bytes>, TableError> {
    const NO_MEMORY: TableError = TableError::new(c"Out of memory for an argument", ENOMEM);

    let word = word.to_bytes_with_nul();
    let mut text = env.allocate(word.len()).map_err(|_| NO_MEMORY)?;
    for (to, from) in text.iter_mut().zip(word) {
        *to = *from;
    }
    let Some(colon) = text.iter().position(|&byte| byte == b':') else {
        return Ok(Algorithm { text, key: None });
    };
    if let Some(byte) = text.get_mut(colon) {
        *byte = 0;
    }
    // Without the NUL that ends the word.
    let hex = match text.get(colon..) {
        Some([_, hex @ .., _]) => hex,
        _ => &[],
    };
    if hex.len() % 2 != 0 {
        return Err(TableError::invalid(invalid));
    }
    let mut key = env.allocate(hex.len() / 2).map_err(|_| NO_MEMORY)?;
    hex_decode(hex, &mut key).ok_or(TableError::invalid(invalid))?;
    Ok(Algorithm {
        text,
        key: Some(key),
    })
}

fn flush_ticks(milliseconds: u32, ticks_per_second: u32) -> Result<u32, TableError> {
    let most = u64::from(u32::MAX)
        .wrapping_mul(1000)
        .checked_div(ticks_per_second.into());
    if most.is_none_or(|most| u64::from(milliseconds) >= most) {
        return Err(TableError::invalid(
            c"Invalid bitmap_flush_interval argument",
        ));
    }
    Ok(to_ticks(milliseconds, ticks_per_second))
}

/// Ticks of the kernel's clock in an interval, rounded up: `msecs_to_jiffies()`, cut to 32 bits.
///
/// From 2^31 ms on, it is the longest one that there is.
pub fn to_ticks(milliseconds: u32, ticks_per_second: u32) -> u32 {
    // MAX_JIFFY_OFFSET, cut to 32 bits.
    const FOREVER: u32 = u32::MAX - 1;

    if milliseconds > i32::MAX.unsigned_abs() {
        return FOREVER;
    }
    // At most 2^31 times 2^32.
    let product = u64::from(milliseconds).wrapping_mul(ticks_per_second.into());
    u32::try_from(product.div_ceil(1000)).unwrap_or(FOREVER)
}

/// Milliseconds in so many ticks, rounded up: `jiffies_to_msecs()`, cut to 32 bits.
pub fn to_milliseconds(ticks: u32, ticks_per_second: u32) -> u32 {
    // At most 2^32 times 1000.
    let product = u64::from(ticks).wrapping_mul(1000);
    product.div_ceil(u64::from(ticks_per_second).max(1)) as u32
}
