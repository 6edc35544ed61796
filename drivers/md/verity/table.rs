// SPDX-License-Identifier: GPL-2.0

//! The table of a verity device.
//!
//! ```text
//! <version> <data device> <hash device> <data block size> <hash block size>
//! <number of data blocks> <first hash block> <algorithm> <root digest> <salt>
//! [<number of option words> <option word>...]
//! ```
//!
//! Block sizes are in bytes, the first hash block is counted in hash blocks from the start of the
//! hash device, digest and salt are hexadecimal, no salt is `-`. The options are in
//! [`options`].
//!
//! What is checked, in which order, and with which text and number it fails is part of the
//! interface: it is that of the C target. So the parser gets devices, memory, and hashes from an
//! [`Environment`] at the point where C does. What it got is dropped if the table is refused later.

use core::{
    ffi::CStr,
    ops::{
        DerefMut,
        RangeInclusive, //
    },
};

use dm::{
    errno::{
        Errno,
        ENOKEY, //
    },
    target::{
        args::{
            Args,
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
    hash_tree::{
        BlockSize,
        Geometry,
        Sizes,
        Version, //
    },
    options::{
        self,
        Options, //
    },
};

/// The number of words without options.
pub const POSITIONAL: usize = 10;

/// Which options there are. Words of others are unknown words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Forward error correction: `use_fec_from_device` and the `fec_*` words.
    pub fec: bool,
    /// Signatures of the root digest: `root_hash_sig_key_desc`.
    pub signatures: bool,
}

/// Why there is no initial hash state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateError {
    /// There is no memory for it.
    Allocate(Errno),
    /// The salt could not be hashed.
    Hash(Errno),
}

impl From<StateError> for TableError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Allocate(errno) => {
                Self::new(c"Cannot allocate initial hash state", errno) //
            }
            StateError::Hash(errno) => Self::new(c"Cannot set up initial hash state", errno),
        }
    }
}

/// What the parser needs to know and to have.
///
/// An [`Errno`] from here is what the ioctl returns; the text to go with it is the parser's.
pub trait Environment: Sized {
    /// An open device; closed when dropped.
    type Device;
    /// A hash algorithm.
    type Hash;
    /// The state of a hash after the salt.
    type State;
    /// Some memory.
    type Bytes: DerefMut<Target = [u8]>;
    /// A bit for each data block.
    type Bitmap;
    /// The signature of a root digest.
    type Signature;

    /// Which options there are.
    fn features(&self) -> Features;

    /// Whether the table is read-only.
    fn is_read_only(&self) -> bool;

    /// The length of the target in sectors.
    fn target_sectors(&self) -> u64;

    /// The size of a page in bytes.
    fn page_size(&self) -> u32;

    /// Opens a device for reading.
    fn open_device(&mut self, name: &CStr) -> Result<Self::Device, Errno>;

    /// The logical block size of a device in bytes.
    fn logical_block_size(&self, device: &Self::Device) -> u32;

    /// Gets memory of `length` bytes, which may be zero.
    fn allocate(&mut self, length: usize) -> Result<Self::Bytes, Errno>;

    /// Finds a hash algorithm, to be used as `version` says.
    fn open_hash(&mut self, name: &CStr, version: Version) -> Result<Self::Hash, Errno>;

    /// The size of the digests of an algorithm in bytes.
    fn digest_size(&self, hash: &Self::Hash) -> u32;

    /// Hashes the salt, for [`Version::Current`].
    fn initial_state(&mut self, hash: &Self::Hash, salt: &[u8]) -> Result<Self::State, StateError>;

    /// Computes the digest of a data block of zeros.
    fn zero_digest(
        &mut self,
        hashing: &Hashing<Self>,
        data_block: BlockSize,
    ) -> Result<Self::Bytes, Errno>;

    /// Gets memory for so many bits, all zero.
    fn bitmap(&mut self, bits: u32) -> Result<Self::Bitmap, Errno>;

    /// Gets the signature that a key holds. Called only if there are [`Features::signatures`].
    fn signature(&mut self, _key: &CStr) -> Result<Self::Signature, Errno> {
        Err(ENOKEY)
    }

    /// Verifies the root digest, as it is in the table; called also if there is no signature.
    fn verify_root_digest(
        &mut self,
        _digest: &CStr,
        _signature: Option<&Self::Signature>,
    ) -> Result<(), Errno> {
        Ok(())
    }

    /// Logs a word that is no option.
    fn unrecognized_option(&mut self, word: &CStr);
}

/// How blocks are hashed, and to what.
pub struct Hashing<E: Environment> {
    /// The hash type.
    pub version: Version,
    /// The name of the algorithm, as in the table.
    pub name: E::Bytes,
    /// The algorithm.
    pub hash: E::Hash,
    /// The root digest.
    pub root_digest: E::Bytes,
    /// The salt; empty if there is none.
    pub salt: E::Bytes,
    /// The state after the salt, for [`Version::Current`] only.
    pub state: Option<E::State>,
}

/// A table that was accepted.
///
/// What follows in C, and is not done here: page pool, dm-io client, bufio client,
/// [`Geometry::check_hash_device`], work queue, [`FecLayout`](crate::fec_layout::FecLayout) if
/// there is a FEC device.
pub struct Config<E: Environment> {
    /// The data device.
    pub data_device: E::Device,
    /// The hash device, which may be the data device.
    pub hash_device: E::Device,
    /// Where the digests are.
    pub geometry: Geometry,
    /// How blocks are hashed.
    pub hashing: Hashing<E>,
    /// The options.
    pub options: Options<E>,
}

/// Parses a table.
///
/// The errors are the rows V-02 to V-18, V-20 to V-33, V-36 to V-38, V-40 and V-41 of the list of
/// behaviours.
pub fn parse<W: Words + ?Sized, E: Environment>(
    mut args: Args<'_, W>,
    env: &mut E,
) -> Result<Config<E>, TableError> {
    if !env.is_read_only() {
        return Err(TableError::invalid(c"Device must be readonly"));
    }
    let words = args
        .take(POSITIONAL)
        .ok_or(TableError::invalid(c"Not enough arguments"))?;
    // Before the other words, so that a wrong number of options wins over these.
    let try_verify_in_tasklet = options::scan(args.clone())?;
    let table = Positional::parse(words, env)?;
    let options = options::parse(
        args,
        try_verify_in_tasklet,
        &table.hashing,
        &table.sizes,
        env,
    )?;
    let signature = options.signature.as_ref().map(|key| &key.signature);
    env.verify_root_digest(table.root_digest, signature)
        .map_err(|errno| TableError::new(c"Root hash verification failed", errno))?;
    Ok(Config {
        data_device: table.data_device,
        hash_device: table.hash_device,
        geometry: Geometry::new(table.hashing.version, &table.sizes)?,
        hashing: table.hashing,
        options,
    })
}

/// The words that each table has.
struct Positional<'a, E: Environment> {
    data_device: E::Device,
    hash_device: E::Device,
    sizes: Sizes,
    hashing: Hashing<E>,
    root_digest: &'a CStr,
}

impl<'a, E: Environment> Positional<'a, E> {
    fn parse<W: Words + ?Sized>(mut args: Args<'a, W>, env: &mut E) -> Result<Self, TableError> {
        let mut next = || args.expect(c"Not enough arguments");

        let version = parse_version(next()?)?;
        let data_device = open(env, next()?, c"Data device lookup failed")?;
        let hash_device = open(env, next()?, c"Hash device lookup failed")?;
        let data_block = block_size(
            next()?,
            env.logical_block_size(&data_device)..=env.page_size(),
            c"Invalid data device block size",
        )?;
        let hash_block = block_size(
            next()?,
            env.logical_block_size(&hash_device)..=i32::MAX.unsigned_abs(),
            c"Invalid hash device block size",
        )?;
        let data_blocks = block_number(next()?, data_block, c"Invalid data blocks")?;
        if env.target_sectors() > data_block.to_sectors(data_blocks).unwrap_or(u64::MAX) {
            return Err(TableError::invalid(c"Data device is too small"));
        }
        let hash_start = block_number(next()?, hash_block, c"Invalid hash start")?;

        let name = next()?;
        let (name, hash) = open_hash(env, name, version)?;
        let sizes = Sizes {
            data_blocks,
            data_block,
            hash_block,
            hash_start,
            digest_size: env.digest_size(&hash),
        };
        sizes.check_digest()?;
        let root_digest = next()?;
        let hashing = Hashing {
            version,
            name,
            root_digest: parse_root_digest(env, root_digest, sizes.digest_size)?,
            salt: parse_salt(env, next()?)?,
            hash,
            state: None,
        };
        Ok(Self {
            data_device,
            hash_device,
            sizes,
            hashing: salted(env, hashing)?,
            root_digest,
        })
    }
}

fn parse_version(word: &CStr) -> Result<Version, TableError> {
    parse_u32(word.to_bytes())
        .and_then(Version::from_number)
        .ok_or(TableError::invalid(c"Invalid version"))
}

fn open<E: Environment>(
    env: &mut E,
    name: &CStr,
    text: &'static CStr,
) -> Result<E::Device, TableError> {
    env.open_device(name)
        .map_err(|errno| TableError::new(text, errno))
}

/// A block size in bytes, within limits in bytes.
fn block_size(
    word: &CStr,
    limits: RangeInclusive<u32>,
    text: &'static CStr,
) -> Result<BlockSize, TableError> {
    parse_u32(word.to_bytes())
        .filter(|bytes| limits.contains(bytes))
        .and_then(BlockSize::from_bytes)
        .ok_or(TableError::invalid(text))
}

/// A number of blocks that 64 bits can count in sectors as well.
fn block_number(word: &CStr, size: BlockSize, text: &'static CStr) -> Result<u64, TableError> {
    parse_u64(word.to_bytes())
        .filter(|&blocks| size.to_sectors(blocks).is_some())
        .ok_or(TableError::invalid(text))
}

fn open_hash<E: Environment>(
    env: &mut E,
    name: &CStr,
    version: Version,
) -> Result<(E::Bytes, E::Hash), TableError> {
    let copied = copy(env, name.to_bytes(), c"Cannot allocate algorithm name")?;
    let hash = env
        .open_hash(name, version)
        .map_err(|errno| TableError::new(c"Cannot initialize hash function", errno))?;
    Ok((copied, hash))
}

fn parse_root_digest<E: Environment>(
    env: &mut E,
    word: &CStr,
    digest_size: u32,
) -> Result<E::Bytes, TableError> {
    const INVALID: TableError = TableError::invalid(c"Invalid root digest");

    let size = usize::try_from(digest_size).map_err(|_| INVALID)?;
    let mut digest = allocate(env, size, c"Cannot allocate root digest")?;
    hex_decode(word.to_bytes(), &mut digest).ok_or(INVALID)?;
    Ok(digest)
}

fn parse_salt<E: Environment>(env: &mut E, word: &CStr) -> Result<E::Bytes, TableError> {
    let hex = match word.to_bytes() {
        b"-" => b"",
        hex => hex,
    };
    let mut salt = allocate(env, hex.len() / 2, c"Cannot allocate salt")?;
    hex_decode(hex, &mut salt).ok_or(TableError::invalid(c"Invalid salt"))?;
    Ok(salt)
}

/// Hashes the salt ahead of the data, where it comes first.
fn salted<E: Environment>(env: &mut E, mut hashing: Hashing<E>) -> Result<Hashing<E>, TableError> {
    hashing.state = match hashing.version {
        Version::ChromiumOs => None,
        Version::Current => Some(env.initial_state(&hashing.hash, &hashing.salt)?),
    };
    Ok(hashing)
}

fn allocate<E: Environment>(
    env: &mut E,
    length: usize,
    text: &'static CStr,
) -> Result<E::Bytes, TableError> {
    env.allocate(length)
        .map_err(|errno| TableError::new(text, errno))
}

/// Copies bytes into memory of the environment.
pub(crate) fn copy<E: Environment>(
    env: &mut E,
    bytes: &[u8],
    text: &'static CStr,
) -> Result<E::Bytes, TableError> {
    let mut copied = allocate(env, bytes.len(), text)?;
    for (to, from) in copied.iter_mut().zip(bytes) {
        *to = *from;
    }
    Ok(copied)
}
