// SPDX-License-Identifier: GPL-2.0

//! The table of a crypt device.
//!
//! ```text
//! <cipher> <key> <IV offset> <device> <start> [<number of option words> <option word>...]
//! ```
//!
//! The cipher is in [`cipher`](crate::cipher), the key in [`key`], the options are in
//! [`options`]. IV offset and start are in sectors.
//!
//! What is checked, in which order, and with which text and number it fails is part of the
//! interface: it is that of the C target. So the parser gets ciphers, keys, memory and the device
//! from an [`Environment`] at the point where C does. What it got is dropped if the table is
//! refused later.

use core::{
    ffi::CStr,
    ops::DerefMut, //
};

use dm::{
    errno::{
        Errno,
        EINVAL, //
    },
    target::{
        args::{
            Args,
            TableError,
            Words, //
        },
        number::parse_u64, //
    },
};

use crate::{
    encryption::Encryption,
    iv::{
        self,
        Generator, //
    },
    key::{
        self,
        KeyLayout,
        Reference, //
    },
    layout::{
        Profile,
        Tuple, //
    },
    options::{
        self,
        Flags,
        SectorSize,
        Tag, //
    },
};

/// The number of words without options.
pub const POSITIONAL: usize = 5;

/// The index of the word with the key, which the target must scrub.
pub const KEY: usize = 1;

/// What dm core logs if a constructor fails without a text.
pub(crate) const NO_TEXT: &CStr = c"Unknown error";

/// What the parser needs to know and to have.
///
/// An [`Errno`] from here is what the ioctl returns; the text to go with it is the parser's.
pub trait Environment: Sized {
    /// Memory for key material.
    type Secret: key::Secret;
    /// Some memory.
    type Bytes: DerefMut<Target = [u8]>;
    /// The transforms of a cipher.
    type Cipher;
    /// What an IV mode needs besides its [`Generator`], such as copied parts of the key.
    type Iv;
    /// The reserves of memory that I/O needs.
    type Pools;
    /// An open device; closed when dropped.
    type Device;

    /// The length of the target in sectors.
    fn target_sectors(&self) -> u64;

    /// The types of keys that the kernel was built with.
    fn key_types(&self) -> key::Types;

    /// Whether algorithms that FIPS does not know are forbidden.
    fn fips(&self) -> bool;

    /// Logs an error.
    fn log_error(&mut self, text: &'static CStr);

    /// Logs a warning.
    fn log_warning(&mut self, text: &'static CStr);

    /// Gets memory of `length` bytes, which may be zero, for key material: zeroed. A length of
    /// 2 GiB is an error, not a warning in the log.
    fn allocate_secret(&mut self, length: usize) -> Result<Self::Secret, Errno>;

    /// Gets memory of `length` bytes, which may be zero.
    fn allocate(&mut self, length: usize) -> Result<Self::Bytes, Errno>;

    /// Returns the bytes of a digest of a message authentication code.
    fn mac_size(&mut self, name: &CStr) -> Result<u32, Errno>;

    /// Allocates `transforms` transforms of a cipher, authenticated ones if `aead`: then there is
    /// just one. `transforms` may be 2^31.
    fn open_cipher(
        &mut self,
        name: &CStr,
        transforms: u32,
        aead: bool,
    ) -> Result<Self::Cipher, Errno>;

    /// The bytes of an IV of a cipher; zero if it has none.
    fn iv_size(&self, cipher: &Self::Cipher) -> u32;

    /// The block size of a cipher in bytes.
    fn block_size(&self, cipher: &Self::Cipher) -> u32;

    /// Copies a key from a keyring. `EINVAL` if it does not have exactly the size of `out`.
    fn read_key(&mut self, key: &Reference<'_>, out: &mut [u8]) -> Result<(), Errno>;

    /// Gives a transform its key.
    fn set_key(
        &mut self,
        cipher: &mut Self::Cipher,
        transform: u32,
        key: &[u8],
    ) -> Result<(), Errno>;

    /// Gets what an IV mode needs, with nothing in it. `iv_size` is in bytes.
    fn create_iv(
        &mut self,
        cipher: &Self::Cipher,
        generator: Generator,
        iv_size: u32,
    ) -> Result<Self::Iv, Errno>;

    /// Copies the part of the key that an IV mode needs.
    fn set_iv_secret(&mut self, iv: &mut Self::Iv, secret: iv::Secret<'_>) -> Result<(), Errno>;

    /// Gets reserves of memory; the text of an error is that of row C-33.
    fn create_pools(
        &mut self,
        cipher: &Self::Cipher,
        iv_size: u32,
    ) -> Result<Self::Pools, TableError>;

    /// Opens the device, in the mode of the table.
    fn open_device(&mut self, name: &CStr) -> Result<Self::Device, Errno>;

    /// Whether a device has zones.
    fn is_zoned(&self, device: &Self::Device) -> bool;

    /// The metadata of a device; [`None`] if it has none, or checks it itself.
    fn profile(&self, device: &Self::Device) -> Option<Profile>;

    /// Sets the bytes of an authentication tag.
    fn set_tag_size(&mut self, cipher: &mut Self::Cipher, size: u32) -> Result<(), Errno>;
}

/// The key of a device.
pub struct Key<E: Environment> {
    /// The key itself; zeros if it is from a keyring, then only the cipher has it.
    pub bytes: E::Secret,
    /// Its name in a keyring, `<type>:<description>`.
    pub reference: Option<E::Bytes>,
    /// How it is divided.
    pub layout: KeyLayout,
    /// Memory for [`KeyLayout::install`].
    pub authenc: Option<E::Secret>,
}

/// How IVs are made.
pub struct Iv<E: Environment> {
    /// The formula.
    pub generator: Generator,
    /// What it needs.
    pub state: E::Iv,
}

/// A table that was accepted.
///
/// What follows in C, and is not done here: the pool of tuples, the work queues, the thread that
/// writes.
pub struct Config<E: Environment> {
    /// The word for the cipher.
    pub cipher_string: E::Bytes,
    /// The cipher, which has its keys.
    pub cipher: E::Cipher,
    /// The key.
    pub key: Key<E>,
    /// The bytes of the buffer for an IV; zero if the cipher has none. At least
    /// [`iv::MIN_SIZE`] otherwise, even if the IV is shorter.
    pub iv_size: u32,
    /// How IVs are made, if the cipher has one.
    pub iv: Option<Iv<E>>,
    /// The reserves of memory.
    pub pools: E::Pools,
    /// What is added to sectors for IVs, in sectors of 512 bytes.
    pub iv_offset: u64,
    /// The device below.
    pub device: E::Device,
    /// The first sector on it.
    pub start: u64,
    /// The options of one bit each. A device with zones sets `no_write_workqueue`.
    pub flags: Flags,
    /// Whether the device below has zones, so that writes must stay in order.
    pub zoned: bool,
    /// Metadata of sectors, as the table asked for it. It may be unused.
    pub tag: Option<Tag<E::Bytes>>,
    /// The bytes that are encrypted at a time.
    pub sector_size: SectorSize,
    /// Whether the table told the size of the key of the message authentication code.
    pub mac_key_size_given: bool,
    /// Metadata of sectors, if it is used.
    pub tuple: Option<Tuple>,
}

/// Parses a table: rows C-01 to C-32 of the list of behaviours.
pub fn parse<W: Words + ?Sized, E: Environment>(
    mut args: Args<'_, W>,
    env: &mut E,
) -> Result<Config<E>, TableError> {
    const FEW: &CStr = c"Not enough arguments";

    args.at_least(POSITIONAL, FEW)?;
    let cipher = args.expect(FEW)?;
    let key =
        key::Word::parse(args.expect(FEW)?).ok_or(TableError::invalid(c"Cannot parse key size"))?;
    let [iv_offset, device, start] = [args.expect(FEW)?, args.expect(FEW)?, args.expect(FEW)?];

    let bytes = allocate_key(env, key.size())?;
    let options = options::parse(args, env.target_sectors())?;
    let tag = copy_tag(env, options.tag)?;
    let encryption = Encryption::new(cipher, key, bytes, &options, env)?;
    let pools = env.create_pools(&encryption.cipher, encryption.iv_size)?;
    let config = Config {
        pools,
        iv_offset: parse_iv_offset(iv_offset, options.sector_size)?,
        device: env
            .open_device(device)
            .map_err(|errno| TableError::new(c"Device lookup failed", errno))?,
        start: parse_u64(start.to_bytes()).ok_or(TableError::invalid(c"Invalid device sector"))?,
        flags: options.flags,
        zoned: false,
        tag,
        sector_size: options.sector_size,
        mac_key_size_given: options.mac_key_size.is_some(),
        tuple: None,
        cipher_string: encryption.cipher_string,
        cipher: encryption.cipher,
        key: encryption.key,
        iv_size: encryption.iv_size,
        iv: encryption.iv,
    };
    config.with_device(env)
}

impl<E: Environment> Config<E> {
    /// Adds what depends on the device below.
    fn with_device(mut self, env: &mut E) -> Result<Self, TableError> {
        self.zoned = env.is_zoned(&self.device);
        self.flags.no_write_workqueue |= self.zoned;
        let stored = self.iv.as_ref().map_or(0, |iv| {
            iv.generator.stored_size(self.iv_size) //
        });
        let aead = self.key.layout.aead;
        if !aead && stored == 0 {
            return Ok(self);
        }
        self.tuple = Some(Tuple::new(
            env.profile(&self.device),
            self.tag.as_ref().map_or(0, |tag| tag.size),
            stored,
            self.sector_size,
            aead,
            |size| env.set_tag_size(&mut self.cipher, size).is_ok(),
        )?);
        Ok(self)
    }
}

fn allocate_key<E: Environment>(env: &mut E, size: u32) -> Result<E::Secret, TableError> {
    usize::try_from(size)
        .map_err(|_| EINVAL)
        .and_then(|size| env.allocate_secret(size))
        .map_err(|errno| TableError::new(c"Cannot allocate encryption context", errno))
}

fn parse_iv_offset(word: &CStr, size: SectorSize) -> Result<u64, TableError> {
    parse_u64(word.to_bytes())
        .filter(|&offset| size.divides(offset))
        .ok_or(TableError::invalid(c"Invalid iv_offset sector"))
}

fn copy_tag<E: Environment>(
    env: &mut E,
    tag: Option<Tag<&CStr>>,
) -> Result<Option<Tag<E::Bytes>>, TableError> {
    tag.map(|tag| {
        copy(env, tag.profile.to_bytes(), NO_TEXT).map(|profile| Tag {
            size: tag.size,
            profile,
        })
    })
    .transpose()
}

/// Copies bytes into memory of the environment.
pub(crate) fn copy<E: Environment>(
    env: &mut E,
    bytes: &[u8],
    text: &'static CStr,
) -> Result<E::Bytes, TableError> {
    copy_bytes(env, bytes).map_err(|errno| TableError::new(text, errno))
}

/// Copies bytes into memory of the environment, where an error has no text of its own.
pub(crate) fn copy_bytes<E: Environment>(env: &mut E, bytes: &[u8]) -> Result<E::Bytes, Errno> {
    let mut copied = env.allocate(bytes.len())?;
    for (to, from) in copied.iter_mut().zip(bytes) {
        *to = *from;
    }
    Ok(copied)
}
