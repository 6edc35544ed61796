// SPDX-License-Identifier: GPL-2.0

//! The table of an integrity device.
//!
//! ```text
//! <device> <start sector> <tag size> <mode> <number of option words> [<option word>...]
//! ```
//!
//! The start sector is where the superblock is. The tag size is in bytes; `-` is the size of the
//! digests of the internal hash. The mode is one letter, see [`Mode`]. The options are in
//! [`options`].
//!
//! What is checked, in which order, and with which text and number it fails is part of the
//! interface: it is that of the C target. So the parser gets devices, memory, and hashes from an
//! [`Environment`] at the point where C does. What it got is dropped if the table is refused later.

use core::{
    ffi::CStr,
    ops::DerefMut, //
};

use dm::{
    errno::{
        Errno,
        ENOENT, //
    },
    target::{
        args::{
            Args,
            TableError,
            Words, //
        },
        number::{
            parse_u32,
            parse_u64, //
        },
    },
};

use crate::{
    options::{
        self,
        Algorithm,
        Discards,
        Options, //
    },
    shape::{
        Devices,
        TagSize, //
    },
    volume::Request,
};

/// The number of words before the number of options.
pub const POSITIONAL: usize = 4;

const INVALID_COUNT: &CStr = c"Invalid argument count";

/// How a volume is kept consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `J`: data and tags go through a journal.
    Journal,
    /// `B`: a bitmap says what may have wrong tags after a crash.
    Bitmap,
    /// `D`: data and tags are written, and a crash may leave wrong tags.
    Direct,
    /// `R`: nothing is checked, and nothing written.
    Recovery,
    /// `I`: data and tags are written as one, to a device with integrity metadata.
    Inline,
}

impl Mode {
    /// The letter in the table.
    #[inline]
    pub const fn letter(self) -> char {
        match self {
            Self::Journal => 'J',
            Self::Bitmap => 'B',
            Self::Direct => 'D',
            Self::Recovery => 'R',
            Self::Inline => 'I',
        }
    }

    /// The mode of this word, if there is one.
    pub const fn from_word(word: &[u8]) -> Option<Self> {
        match word {
            b"J" => Some(Self::Journal),
            b"B" => Some(Self::Bitmap),
            b"D" => Some(Self::Direct),
            b"R" => Some(Self::Recovery),
            b"I" => Some(Self::Inline),
            _ => None,
        }
    }
}

/// Why there is no hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashError {
    /// There is no such algorithm, or no memory for it.
    Open(Errno),
    /// It does not take this key, or needs one and has none: then it is ENOKEY.
    Key(Errno),
    /// There is no memory for its requests.
    Pool(Errno),
}

/// The integrity metadata that a device has itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Whether the device leaves the contents to its user: `BLK_INTEGRITY_CSUM_NONE`.
    pub is_opaque: bool,
    /// The bytes of metadata for an interval.
    pub tuple_bytes: u32,
    /// The bytes of data in an interval.
    pub interval_bytes: u64,
}

/// What the parser needs to know and to have.
///
/// An [`Errno`] from here is what the ioctl returns; the text to go with it is the parser's.
pub trait Environment: Sized {
    /// An open device; closed when dropped.
    type Device;
    /// A hash algorithm with its key, if it has one.
    type Hash;
    /// The same, for the journal's MAC.
    type Mac;
    /// Some memory. It may have had a key, and is wiped when dropped.
    type Bytes: DerefMut<Target = [u8]>;

    /// Opens a device in the mode of the table.
    fn open_device(&mut self, name: &CStr) -> Result<Self::Device, Errno>;

    /// The size of a device in sectors.
    fn device_sectors(&self, device: &Self::Device) -> u64;

    /// The integrity metadata that a device has, if it has some.
    fn profile(&self, device: &Self::Device) -> Option<Profile>;

    /// Gets memory of `length` bytes, which may be zero.
    fn allocate(&mut self, length: usize) -> Result<Self::Bytes, Errno>;

    /// Finds an algorithm for tags, synchronous if there is one, else asynchronous, and gives it
    /// its key.
    fn open_hash(&mut self, name: &CStr, key: Option<&[u8]>) -> Result<Self::Hash, HashError>;

    /// The size of the digests of an algorithm in bytes.
    fn digest_size(&self, hash: &Self::Hash) -> u32;

    /// Finds a synchronous algorithm for the journal's MAC, and gives it its key.
    fn open_mac(&mut self, name: &CStr, key: Option<&[u8]>) -> Result<Self::Mac, HashError>;

    /// The ticks of the kernel's clock in a second, `HZ`.
    fn ticks_per_second(&self) -> u32;
}

/// A table that was accepted.
///
/// What follows in C, and is not done here: dm-io client, pools, work queues; then the superblock
/// is read, its MAC verified, and [`Volume::open`](crate::volume::Volume::open) called with
/// [`request`](Self::request); then bufio client, journal with its cipher, bitmaps.
pub struct Config<E: Environment> {
    /// The data device, which has the metadata as well if there is no other for them.
    pub device: E::Device,
    /// The devices' sizes, and the start sector.
    pub devices: Devices,
    /// The size of tags.
    pub tag_size: TagSize,
    /// The mode.
    pub mode: Mode,
    /// The internal hash.
    pub internal_hash: Option<E::Hash>,
    /// The journal's MAC.
    pub journal_mac: Option<E::Mac>,
    /// In [`Mode::Inline`], the bytes of the device's metadata for a block, else zero.
    pub tuple_bytes: u32,
    /// The options.
    pub options: Options<E>,
}

/// Parses a table.
///
/// The errors are those of the rows I-01 to I-18, I-23, I-24, and I-27 to I-30 of the list of
/// behaviours, as far as they do not need the superblock.
pub fn parse<W: Words + ?Sized, E: Environment>(
    mut args: Args<'_, W>,
    env: &mut E,
) -> Result<Config<E>, TableError> {
    args.at_least(POSITIONAL.saturating_add(1), INVALID_COUNT)?;

    let device = open(env, args.expect(INVALID_COUNT)?)?;
    let start = parse_u64(args.expect(INVALID_COUNT)?.to_bytes())
        .ok_or(TableError::invalid(c"Invalid starting offset"))?;
    let tag_bytes = parse_tag_size(args.expect(INVALID_COUNT)?)?;
    let mode = Mode::from_word(args.expect(INVALID_COUNT)?.to_bytes()).ok_or(
        TableError::invalid(c"Invalid mode (expecting J, B, D, R, I)"),
    )?;
    let options = options::parse(args, env)?;

    let devices = Devices {
        start,
        data_sectors: env.device_sectors(&device),
        meta_sectors: options.meta_device.as_ref().map(|d| env.device_sectors(d)),
    };
    let internal_hash = open_hash(env, options.internal_hash.as_ref())?;
    let journal_mac = open_mac(env, options.journal_mac.as_ref())?;
    let tag_size = tag_size(env, tag_bytes, internal_hash.as_ref())?;
    let tuple_bytes = match mode {
        Mode::Inline => check_inline(env, &device, tag_size, &options)?,
        _ => 0,
    };
    check_hash(mode, &options)?;
    Ok(Config {
        device,
        devices,
        tag_size,
        mode,
        internal_hash,
        journal_mac,
        tuple_bytes,
        options,
    })
}

impl<E: Environment> Config<E> {
    /// What this table asks of a volume, for a target of so many sectors.
    pub fn request(&self, target_sectors: u64) -> Request {
        let options = &self.options;
        let has_key = |algorithm: &Option<Algorithm<E::Bytes>>| {
            algorithm.as_ref().is_some_and(|a| a.key().is_some())
        };
        Request {
            mode: self.mode,
            devices: self.devices,
            target_sectors,
            tag_size: self.tag_size,
            block: options.block,
            journal_sectors: options.journal_sectors,
            interleave_sectors: options.interleave_sectors,
            log2_buffer_sectors: options.log2_buffer_sectors,
            log2_sectors_per_bit: options.log2_sectors_per_bit,
            internal_hash: options.internal_hash.is_some(),
            internal_hash_key: has_key(&options.internal_hash),
            journal_mac: options.journal_mac.is_some(),
            journal_mac_key: has_key(&options.journal_mac),
            discard_keyed: options.discards == Discards::Keyed,
            fix_padding: options.fix_padding,
            fix_hmac: options.fix_hmac,
            recalculate: options.recalculate,
            legacy_recalculate: options.legacy_recalculate,
        }
    }
}

pub(crate) fn open<E: Environment>(env: &mut E, name: &CStr) -> Result<E::Device, TableError> {
    env.open_device(name)
        .map_err(|errno| TableError::new(c"Device lookup failed", errno))
}

/// The bytes of a tag, if they are not to be those of a digest.
fn parse_tag_size(word: &CStr) -> Result<Option<u32>, TableError> {
    if word == c"-" {
        return Ok(None);
    }
    parse_u32(word.to_bytes())
        .filter(|&bytes| bytes != 0)
        .map(Some)
        .ok_or(TableError::invalid(c"Invalid tag size"))
}

fn tag_size<E: Environment>(
    env: &E,
    bytes: Option<u32>,
    hash: Option<&E::Hash>,
) -> Result<TagSize, TableError> {
    let bytes = bytes
        .or_else(|| hash.map(|hash| env.digest_size(hash)))
        .ok_or(TableError::invalid(c"Unknown tag size"))?;
    TagSize::new(bytes).ok_or(TableError::invalid(c"Too big tag size"))
}

fn open_hash<E: Environment>(
    env: &mut E,
    algorithm: Option<&Algorithm<E::Bytes>>,
) -> Result<Option<E::Hash>, TableError> {
    let Some(algorithm) = algorithm else {
        return Ok(None);
    };
    match env.open_hash(algorithm.name(), algorithm.key()) {
        Ok(hash) => Ok(Some(hash)),
        Err(HashError::Open(errno)) => Err(TableError::new(c"Invalid internal hash", errno)),
        Err(HashError::Key(errno)) => {
            Err(TableError::new(c"Error setting internal hash key", errno)) //
        }
        Err(HashError::Pool(errno)) => Err(TableError::new(c"Cannot allocate mempool", errno)),
    }
}

fn open_mac<E: Environment>(
    env: &mut E,
    algorithm: Option<&Algorithm<E::Bytes>>,
) -> Result<Option<E::Mac>, TableError> {
    let Some(algorithm) = algorithm else {
        return Ok(None);
    };
    match env.open_mac(algorithm.name(), algorithm.key()) {
        Ok(mac) => Ok(Some(mac)),
        Err(HashError::Key(errno)) => {
            Err(TableError::new(c"Error setting journal mac key", errno)) //
        }
        Err(_) => Err(TableError::new(c"Invalid journal mac", ENOENT)),
    }
}

/// Checks what [`Mode::Inline`] demands: row I-29. Returns the bytes of metadata for a block.
fn check_inline<E: Environment>(
    env: &E,
    device: &E::Device,
    tag_size: TagSize,
    options: &Options<E>,
) -> Result<u32, TableError> {
    /// Half a page, as C has it on machines with pages of 4 KiB.
    const MAX_TUPLE: u32 = 2048;

    let fail = |text| Err(TableError::invalid(text));
    if options.meta_device.is_some() {
        return fail(c"Metadata device not supported in inline mode");
    }
    if options.internal_hash.is_none() {
        return fail(c"Internal hash not set in inline mode");
    }
    if options.journal_crypt.is_some() || options.journal_mac.is_some() {
        return fail(c"Journal crypt not supported in inline mode");
    }
    if options.discards != Discards::None {
        return fail(c"Discards not supported in inline mode");
    }
    let Some(profile) = env.profile(device).filter(|profile| profile.is_opaque) else {
        return fail(c"Integrity profile not supported");
    };
    if profile.tuple_bytes < tag_size.bytes().into() {
        return fail(c"The integrity profile is smaller than tag size");
    }
    if profile.tuple_bytes > MAX_TUPLE {
        return fail(c"Too big tuple size");
    }
    if profile.interval_bytes != options.block.bytes().into() {
        return fail(c"Integrity profile sector size mismatch");
    }
    Ok(profile.tuple_bytes)
}

/// Checks what needs an internal hash.
fn check_hash<E: Environment>(mode: Mode, options: &Options<E>) -> Result<(), TableError> {
    let hash = options.internal_hash.as_ref();
    if mode == Mode::Bitmap && hash.is_none() {
        return Err(TableError::invalid(
            c"Bitmap mode can be only used with internal hash",
        ));
    }
    if options.discards != Discards::None && hash.is_none() {
        return Err(TableError::invalid(
            c"Discard can be only used with internal hash",
        ));
    }
    if options.discards == Discards::Keyed && hash.is_none_or(|hash| hash.key().is_none()) {
        return Err(TableError::invalid(
            c"Keyed discard can only be used with keyed internal hash",
        ));
    }
    Ok(())
}
