// SPDX-License-Identifier: GPL-2.0

//! The optional words of a verity table.
//!
//! The letter case of an option word means nothing. C names the words `DM_VERITY_OPT_*`.

use core::ffi::CStr;

use dm::{
    errno::E2BIG,
    target::{
        args::{
            Args,
            Range,
            TableError,
            Words, //
        },
        number::{
            parse_u64,
            parse_u8, //
        },
    },
};

use crate::{
    fec_layout::{
        Parity,
        MAX_ROOTS,
        MIN_ROOTS, //
    },
    hash_tree::Sizes,
    table::{
        copy,
        Environment,
        Features,
        Hashing, //
    },
};

/// `ignore_corruption`, see [`CorruptionMode::Ignore`].
pub const IGNORE_CORRUPTION: &str = "ignore_corruption";
/// `restart_on_corruption`, see [`CorruptionMode::Restart`].
pub const RESTART_ON_CORRUPTION: &str = "restart_on_corruption";
/// `panic_on_corruption`, see [`CorruptionMode::Panic`].
pub const PANIC_ON_CORRUPTION: &str = "panic_on_corruption";
/// `restart_on_error`, see [`ErrorMode::Restart`].
pub const RESTART_ON_ERROR: &str = "restart_on_error";
/// `panic_on_error`, see [`ErrorMode::Panic`].
pub const PANIC_ON_ERROR: &str = "panic_on_error";
/// The word that has zero blocks zeroed instead of verified.
pub const IGNORE_ZERO_BLOCKS: &str = "ignore_zero_blocks";
/// The word that has each block verified once only.
pub const CHECK_AT_MOST_ONCE: &str = "check_at_most_once";
/// The word that has small I/O verified where it ends.
pub const TRY_VERIFY_IN_TASKLET: &str = "try_verify_in_tasklet";
/// The word before the device with the parity blocks.
pub const USE_FEC_FROM_DEVICE: &str = "use_fec_from_device";
/// The word before the number of blocks that parity covers.
pub const FEC_BLOCKS: &str = "fec_blocks";
/// The word before the first block of parity.
pub const FEC_START: &str = "fec_start";
/// The word before the number of parity bytes of a codeword.
pub const FEC_ROOTS: &str = "fec_roots";
/// The word before the description of the key that has the signature.
pub const ROOT_HASH_SIG_KEY_DESC: &str = "root_hash_sig_key_desc";

/// How many words may follow: as in Debian's kernel, which has FEC and signatures built in, also
/// where [`Features`] has less.
static COUNT: Range = Range::new(0, 15, c"Invalid number of feature args");

/// What happens to I/O that does not have the right digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CorruptionMode {
    /// It fails with EIO.
    #[default]
    Eio,
    /// It succeeds; the log and the status tell.
    Ignore,
    /// The machine restarts.
    Restart,
    /// The kernel panics.
    Panic,
}

impl CorruptionMode {
    /// The word for it in a table; none for the default.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Eio => None,
            Self::Ignore => Some(IGNORE_CORRUPTION),
            Self::Restart => Some(RESTART_ON_CORRUPTION),
            Self::Panic => Some(PANIC_ON_CORRUPTION),
        }
    }
}

/// What happens to I/O that the data or the hash device fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorMode {
    /// It fails with the device's error.
    #[default]
    Eio,
    /// The machine restarts, and the I/O never ends.
    Restart,
    /// The kernel panics.
    Panic,
}

impl ErrorMode {
    /// The word for it in a table; none for the default.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Eio => None,
            Self::Restart => Some(RESTART_ON_ERROR),
            Self::Panic => Some(PANIC_ON_ERROR),
        }
    }
}

/// What a table says about the signature of the root digest.
#[derive(Debug)]
pub struct SignatureKey<B, S> {
    /// The description of the key, as in the table.
    pub description: B,
    /// The signature that the key holds.
    pub signature: S,
}

/// The options of a table.
pub struct Options<E: Environment> {
    /// What happens to I/O that does not have the right digest.
    pub corruption: CorruptionMode,
    /// What happens to I/O that a device fails.
    pub error: ErrorMode,
    /// With `ignore_zero_blocks`, the digest of a data block of zeros.
    pub zero_digest: Option<E::Bytes>,
    /// With `check_at_most_once`, a bit for each data block.
    pub validated: Option<E::Bitmap>,
    /// Whether small I/O is verified where it ends.
    pub try_verify_in_tasklet: bool,
    /// The words about parity. Their values were checked one by one, not against each other.
    pub parity: Parity<E::Device>,
    /// The signature of the root digest.
    pub signature: Option<SignatureKey<E::Bytes, E::Signature>>,
}

impl<E: Environment> Options<E> {
    fn new(try_verify_in_tasklet: bool) -> Self {
        Self {
            corruption: CorruptionMode::default(),
            error: ErrorMode::default(),
            zero_digest: None,
            validated: None,
            try_verify_in_tasklet,
            parity: Parity::default(),
            signature: None,
        }
    }
}

/// A word, recognised.
#[derive(Clone, Copy)]
enum Word {
    Corruption(CorruptionMode),
    Error(ErrorMode),
    IgnoreZeroBlocks,
    CheckAtMostOnce,
    TryVerifyInTasklet,
    FecDevice,
    FecBlocks,
    FecStart,
    FecRoots,
    SignatureKey,
}

const WORDS: [(&str, Word); 13] = [
    (IGNORE_CORRUPTION, Word::Corruption(CorruptionMode::Ignore)),
    (
        RESTART_ON_CORRUPTION,
        Word::Corruption(CorruptionMode::Restart),
    ),
    (PANIC_ON_CORRUPTION, Word::Corruption(CorruptionMode::Panic)),
    (RESTART_ON_ERROR, Word::Error(ErrorMode::Restart)),
    (PANIC_ON_ERROR, Word::Error(ErrorMode::Panic)),
    (IGNORE_ZERO_BLOCKS, Word::IgnoreZeroBlocks),
    (CHECK_AT_MOST_ONCE, Word::CheckAtMostOnce),
    (TRY_VERIFY_IN_TASKLET, Word::TryVerifyInTasklet),
    (USE_FEC_FROM_DEVICE, Word::FecDevice),
    (FEC_BLOCKS, Word::FecBlocks),
    (FEC_START, Word::FecStart),
    (FEC_ROOTS, Word::FecRoots),
    (ROOT_HASH_SIG_KEY_DESC, Word::SignatureKey),
];

impl Word {
    fn recognize(word: &CStr, features: Features) -> Option<Self> {
        WORDS
            .iter()
            .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(word.to_bytes()))
            .map(|&(_, word)| word)
            .filter(|word| match word {
                Self::FecDevice | Self::FecBlocks | Self::FecStart | Self::FecRoots => features.fec,
                Self::SignatureKey => features.signatures,
                _ => true,
            })
    }
}

/// Scans the options before the other words of the table are looked at.
///
/// Returns whether `try_verify_in_tasklet` is among the words, which may be a value as well. Only
/// a wrong number of words is an error here.
pub(crate) fn scan<W: Words + ?Sized>(mut args: Args<'_, W>) -> Result<bool, TableError> {
    if args.is_empty() {
        return Ok(false);
    }
    let mut found = false;
    for _ in 0..args.read_group(&COUNT)? {
        let word = args.shift().unwrap_or_default().to_bytes();
        found |= word.eq_ignore_ascii_case(TRY_VERIFY_IN_TASKLET.as_bytes());
    }
    Ok(found)
}

/// Reads the options, and gets from the environment what they need.
pub(crate) fn parse<W: Words + ?Sized, E: Environment>(
    mut args: Args<'_, W>,
    try_verify_in_tasklet: bool,
    hashing: &Hashing<E>,
    sizes: &Sizes,
    env: &mut E,
) -> Result<Options<E>, TableError> {
    let mut parser = Parser {
        options: Options::new(try_verify_in_tasklet),
        hashing,
        sizes,
        env,
    };
    if !args.is_empty() {
        let count = args.read_group(&COUNT)?;
        // Words after the counted ones mean nothing.
        if let Some(mut args) = args.take(count) {
            while let Some(word) = args.shift() {
                parser.option(word, &mut args)?;
            }
        }
    }
    Ok(parser.options)
}

struct Parser<'a, E: Environment> {
    options: Options<E>,
    hashing: &'a Hashing<E>,
    sizes: &'a Sizes,
    env: &'a mut E,
}

impl<E: Environment> Parser<'_, E> {
    /// Reads one option: `name`, and what follows it if it has a value.
    fn option<W: Words + ?Sized>(
        &mut self,
        name: &CStr,
        args: &mut Args<'_, W>,
    ) -> Result<(), TableError> {
        let Some(word) = Word::recognize(name, self.env.features()) else {
            self.env.unrecognized_option(name);
            return Err(TableError::invalid(c"Unrecognized verity feature request"));
        };
        match word {
            Word::Corruption(mode) => set_once(&mut self.options.corruption, mode),
            Word::Error(mode) => set_once(&mut self.options.error, mode),
            Word::IgnoreZeroBlocks => self.ignore_zero_blocks(),
            Word::CheckAtMostOnce => self.check_at_most_once(),
            Word::TryVerifyInTasklet => {
                self.options.try_verify_in_tasklet = true;
                Ok(())
            }
            Word::SignatureKey => self.signature_key(args),
            Word::FecDevice | Word::FecBlocks | Word::FecStart | Word::FecRoots => {
                let value = args.expect(c"FEC feature arguments require a value")?;
                self.parity(word, value)
            }
        }
    }

    fn ignore_zero_blocks(&mut self) -> Result<(), TableError> {
        if self.options.zero_digest.is_none() {
            let digest = self
                .env
                .zero_digest(self.hashing, self.sizes.data_block)
                .map_err(|errno| TableError::new(c"Cannot allocate zero digest", errno))?;
            self.options.zero_digest = Some(digest);
        }
        Ok(())
    }

    fn check_at_most_once(&mut self) -> Result<(), TableError> {
        const TOO_LARGE: TableError =
            TableError::new(c"device too large to use check_at_most_once", E2BIG);
        const FAILED: &CStr = c"failed to allocate bitset for check_at_most_once";

        if self.options.validated.is_none() {
            let bits = i32::try_from(self.sizes.data_blocks).map_err(|_| TOO_LARGE)?;
            let bitmap = self
                .env
                .bitmap(bits.unsigned_abs())
                .map_err(|errno| TableError::new(FAILED, errno))?;
            self.options.validated = Some(bitmap);
        }
        Ok(())
    }

    fn parity(&mut self, word: Word, value: &CStr) -> Result<(), TableError> {
        let parity = &mut self.options.parity;
        let blocks = || {
            parse_u64(value.to_bytes())
                .filter(|&blocks| self.sizes.data_block.to_sectors(blocks).is_some())
        };
        match word {
            Word::FecBlocks => {
                parity.blocks = blocks().ok_or(TableError::invalid(c"Invalid fec_blocks"))?;
            }
            Word::FecStart => {
                parity.start = blocks().ok_or(TableError::invalid(c"Invalid fec_start"))?;
            }
            Word::FecRoots => {
                parity.roots = parse_u8(value.to_bytes())
                    .filter(|roots| (MIN_ROOTS..=MAX_ROOTS).contains(roots))
                    .ok_or(TableError::invalid(c"Invalid fec_roots"))?;
            }
            _ if parity.device.is_some() => {
                return Err(TableError::invalid(c"FEC device already specified"));
            }
            _ => {
                let device = self.env.open_device(value);
                parity.device = Some(device.map_err(|errno| {
                    TableError::new(c"FEC device lookup failed", errno) //
                })?);
            }
        }
        Ok(())
    }

    fn signature_key<W: Words + ?Sized>(
        &mut self,
        args: &mut Args<'_, W>,
    ) -> Result<(), TableError> {
        if self.options.signature.is_some() {
            return Err(TableError::invalid(
                c"DM Verity Sig Verification root_hash_sig_key_desc already specified",
            ));
        }
        let key = args.expect(c"DM Verity Sig Verification Signature key not specified")?;
        let signature = self.env.signature(key).map_err(|errno| {
            TableError::new(c"DM Verity Sig Verification Invalid key specified", errno)
        })?;
        let description = copy(
            self.env,
            key.to_bytes(),
            c"DM Verity Sig Verification Could not allocate memory for signature key",
        )?;
        self.options.signature = Some(SignatureKey {
            description,
            signature,
        });
        Ok(())
    }
}

/// Sets a mode that has its default value; else the words of the table conflict.
fn set_once<T: Default + PartialEq>(mode: &mut T, value: T) -> Result<(), TableError> {
    if *mode != T::default() {
        return Err(TableError::invalid(
            c"Conflicting error handling parameters",
        ));
    }
    *mode = value;
    Ok(())
}
