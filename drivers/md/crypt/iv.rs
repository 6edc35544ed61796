// SPDX-License-Identifier: GPL-2.0

//! Initialisation vectors, one for each encrypted sector.
//!
//! The *sector* that the functions here take is that of [`layout::iv_sector`]: counted from the
//! start of the target plus the offset of the table, in units of 512 bytes or of the sector size
//! of the table. Formulas that need a cipher, a hash or a checksum get it from the caller. Any
//! context.
//!
//! [`layout::iv_sector`]: crate::layout::iv_sector

use core::ffi::CStr;

use dm::errno::{
    Errno,
    EINVAL, //
};

use crate::{
    key::{
        KeyLayout,
        LMK_SEED_SIZE,
        TCW_WHITENING_SIZE, //
    },
    options::SectorSize,
};

/// The smallest buffer for an IV in bytes: a sector fits in. Ciphers with shorter ones read its
/// start.
pub const MIN_SIZE: u32 = 8;

/// A way to make IVs, as a table names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `plain`: the low 32 bits of the sector, little-endian.
    Plain,
    /// `plain64`: the sector, little-endian.
    Plain64,
    /// `plain64be`: the sector, big-endian, at the end.
    Plain64be,
    /// `essiv`: as plain64; the crypto API encrypts it.
    Essiv,
    /// `benbi`: the number of the cipher block, from one, big-endian, at the end.
    Benbi,
    /// `null`: zeros.
    Null,
    /// `lmk`: a hash of sector and data, for Loop-AES.
    Lmk,
    /// `tcw`: a part of the key and the sector, for TrueCrypt before version 4.1.
    Tcw,
    /// `random`: random, and stored with the sector.
    Random,
    /// `eboiv`: the byte offset, encrypted, for BitLocker.
    Eboiv,
    /// `elephant`: as eboiv, and the data is diffused, for old BitLocker.
    Elephant,
}

impl Mode {
    /// The mode of a word; letter case matters.
    pub const fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"plain" => Self::Plain,
            b"plain64" => Self::Plain64,
            b"plain64be" => Self::Plain64be,
            b"essiv" => Self::Essiv,
            b"benbi" => Self::Benbi,
            b"null" => Self::Null,
            b"lmk" => Self::Lmk,
            b"tcw" => Self::Tcw,
            b"random" => Self::Random,
            b"eboiv" => Self::Eboiv,
            b"elephant" => Self::Elephant,
            _ => return None,
        })
    }
}

/// What an IV mode depends on.
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    /// Whether encryption is authenticated.
    pub aead: bool,
    /// The block size of the cipher in bytes.
    pub block_size: u32,
    /// The bytes of an IV, at least [`MIN_SIZE`].
    pub iv_size: u32,
    /// The sector size of the table.
    pub sector_size: SectorSize,
    /// Whether algorithms that FIPS does not know are forbidden.
    pub fips: bool,
}

/// An IV mode that is a formula of the sector alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// See [`Mode::Plain`].
    Plain,
    /// See [`Mode::Plain64`] and [`Mode::Essiv`].
    Plain64,
    /// See [`Mode::Plain64be`].
    Plain64be,
    /// See [`Mode::Benbi`].
    Benbi {
        /// The binary logarithm of the cipher blocks of 512 bytes, at most 9.
        shift: u32,
    },
    /// See [`Mode::Null`].
    Null,
}

impl Counter {
    /// The number in the IV, and whether it is at its end and big-endian.
    #[inline]
    const fn number(self, sector: u64) -> (u64, bool) {
        match self {
            Self::Plain => (sector & 0xffff_ffff, false),
            Self::Plain64 => (sector, false),
            Self::Plain64be => (sector, true),
            Self::Benbi { shift } => (sector.wrapping_shl(shift).wrapping_add(1), true),
            Self::Null => (0, false),
        }
    }

    /// Writes an IV of at least [`MIN_SIZE`] bytes.
    #[inline]
    pub fn write(self, sector: u64, iv: &mut [u8]) {
        iv.fill(0);
        let (number, at_end) = self.number(sector);
        if at_end {
            if let Some(last) = iv.last_chunk_mut() {
                *last = number.to_be_bytes();
            }
        } else if let Some(first) = iv.first_chunk_mut() {
            *first = number.to_le_bytes();
        }
    }

    /// The same for a cipher with an IV of 16 bytes, as most have it.
    #[inline]
    pub const fn block(self, sector: u64) -> [u8; 16] {
        let (number, at_end) = self.number(sector);
        if at_end {
            (number as u128).to_be_bytes()
        } else {
            (number as u128).to_le_bytes()
        }
    }
}

/// What makes the IVs of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// A formula of the sector alone: sectors can be encrypted in batches.
    Counter(Counter),
    /// [`lmk`](crate::iv_lmk::iv) before writes; after reads, see there.
    Lmk {
        /// Whether there is a seed in the key.
        seeded: bool,
    },
    /// [`tcw`](crate::iv_tcw::iv); the ciphertext is whitened as well.
    Tcw,
    /// Random bytes before writes; what is stored before reads.
    Random,
    /// [`eboiv_block`], encrypted in one block with zeros as data, in CBC mode, by the first
    /// transform.
    Eboiv,
    /// As [`Eboiv`](Self::Eboiv), and the data goes through [`iv_elephant`](crate::iv_elephant).
    Elephant,
}

impl Generator {
    /// What makes IVs of a mode.
    ///
    /// # Errors
    ///
    /// `EINVAL` with a text that C overwrites with another, "Error creating IV": row C-15.
    pub fn new(mode: Mode, of: &Attributes, key: &KeyLayout) -> Result<Self, &'static CStr> {
        Ok(match mode {
            Mode::Plain => Self::Counter(Counter::Plain),
            Mode::Plain64 | Mode::Essiv => Self::Counter(Counter::Plain64),
            Mode::Plain64be => Self::Counter(Counter::Plain64be),
            Mode::Null => Self::Counter(Counter::Null),
            Mode::Random => Self::Random,
            Mode::Benbi => Self::Counter(Counter::Benbi {
                shift: benbi_shift(of.block_size)?,
            }),
            Mode::Lmk => Self::lmk(of, key)?,
            Mode::Tcw => Self::tcw(of, key)?,
            Mode::Eboiv => check_eboiv(of).map(|()| Self::Eboiv)?,
            Mode::Elephant => check_eboiv(of).map(|()| Self::Elephant)?,
        })
    }

    fn lmk(of: &Attributes, key: &KeyLayout) -> Result<Self, &'static CStr> {
        if of.sector_size != SectorSize::SMALL {
            return Err(c"Unsupported sector size for LMK");
        }
        if of.fips {
            return Err(c"LMK support is disabled due to FIPS");
        }
        // C reads beyond the digest.
        if of.iv_size > 16 {
            return Err(c"Unsupported IV size for LMK");
        }
        Ok(Self::Lmk {
            seeded: key.parts != key.transforms,
        })
    }

    fn tcw(of: &Attributes, key: &KeyLayout) -> Result<Self, &'static CStr> {
        if of.sector_size != SectorSize::SMALL {
            return Err(c"Unsupported sector size for TCW");
        }
        if key.size <= key.extra {
            return Err(c"Wrong key size for TCW");
        }
        // C reads beyond the sector.
        if of.iv_size > 16 {
            return Err(c"Unsupported IV size for TCW");
        }
        Ok(Self::Tcw)
    }

    /// Whether the IV is a formula of the sector alone, and the data is left alone.
    #[inline]
    pub const fn is_counter(self) -> bool {
        matches!(self, Self::Counter(_))
    }

    /// The bytes of the IV that are stored with each sector.
    pub const fn stored_size(self, iv_size: u32) -> u32 {
        match self {
            Self::Random => iv_size,
            _ => 0,
        }
    }

    /// The part of the key that this uses; to be asked again when the key has changed.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the seed is too short, where C reads beyond the key.
    pub fn secret<'k>(
        self,
        layout: &KeyLayout,
        key: &'k [u8],
        iv_size: u32,
    ) -> Result<Secret<'k>, Errno> {
        let secret = match self {
            Self::Lmk { seeded: true } => layout
                .lmk_seed()
                .and_then(|range| key.get(range)?.try_into().ok())
                .map(Secret::Lmk),
            Self::Tcw => secret_tcw(layout, key, iv_size),
            Self::Elephant => usize::try_from(layout.extra)
                .ok()
                .and_then(|extra| layout.before_end(key, extra))
                .map(Secret::Elephant),
            _ => Some(Secret::None),
        };
        secret.ok_or(EINVAL)
    }
}

fn secret_tcw<'k>(layout: &KeyLayout, key: &'k [u8], iv_size: u32) -> Option<Secret<'k>> {
    let size = usize::try_from(iv_size).ok()?;
    let extra = layout.before_end(key, size.checked_add(TCW_WHITENING_SIZE)?)?;
    let (seed, whitening) = extra.split_at_checked(size)?;
    Some(Secret::Tcw {
        seed,
        whitening: whitening.try_into().ok()?,
    })
}

/// A part of a key that IVs are made with. To be copied, and wiped with the key.
#[derive(Clone, Copy)]
pub enum Secret<'k> {
    /// The mode needs none.
    None,
    /// The seed of IV mode lmk.
    Lmk(&'k [u8; LMK_SEED_SIZE]),
    /// What IV mode tcw changes IVs and ciphertext with.
    Tcw {
        /// As long as an IV.
        seed: &'k [u8],
        /// For [`whitening`](crate::iv_tcw::whitening).
        whitening: &'k [u8; TCW_WHITENING_SIZE],
    },
    /// The AES key of IV mode elephant, of any length up to 32 bytes.
    Elephant(&'k [u8]),
}

/// The shift of [`Counter::Benbi`] for a cipher with blocks of so many bytes.
fn benbi_shift(block_size: u32) -> Result<u32, &'static CStr> {
    if !block_size.is_power_of_two() {
        return Err(c"cypher blocksize is not a power of 2");
    }
    9u32.checked_sub(block_size.trailing_zeros())
        .ok_or(c"cypher blocksize is > 512")
}

fn check_eboiv(of: &Attributes) -> Result<(), &'static CStr> {
    if of.aead {
        return Err(c"AEAD transforms not supported for EBOIV");
    }
    if of.block_size != of.iv_size {
        return Err(c"Block size of EBOIV cipher does not match IV size of block cipher");
    }
    Ok(())
}

/// Writes the byte offset that the IV modes eboiv and elephant encrypt.
#[inline]
pub fn eboiv_block(sector: u64, size: SectorSize, out: &mut [u8]) {
    let offset = sector.wrapping_mul(u64::from(size.bytes()));
    Counter::Plain64.write(offset, out);
}
