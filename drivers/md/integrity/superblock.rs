// SPDX-License-Identifier: GPL-2.0

//! The superblock of an integrity volume.
//!
//! It lies at the start sector of the table, on the device with the metadata, in an area of
//! [`SECTORS`] that has nothing else: 64 bytes, little endian, and, if [`Flags::FIXED_HMAC`] is
//! set and there is a journal MAC, the MAC of the first sector at the end of that sector. What
//! else there is in the area stays as it is.
//!
//! `integritysetup` reads and checks it as well. Units: a *sector* is 512 bytes, a *block* is what
//! a tag covers.
//!
//! C source: `struct superblock` in `drivers/md/dm-integrity.c`

use core::{
    mem::{
        offset_of,
        size_of, //
    },
    ops::{
        BitOr,
        BitXor,
        Range, //
    },
};

use dm::target::args::TableError;

use crate::{
    shape::{
        BlockSize,
        TagSize,
        MAX_LOG2_INTERLEAVE,
        MIN_LOG2_INTERLEAVE, //
    },
    table::Mode, //
};

/// The sectors of the area that the superblock has.
pub const SECTORS: u32 = 8;
/// The bytes of that area.
pub const AREA: usize = 4096;
/// The bytes that a superblock MAC covers, and at the end of which it is.
pub const MAC_AREA: usize = 512;
/// The bytes of the salt.
pub const SALT: usize = 16;
/// The longest digest that the crypto API makes, in bytes.
const MAX_DIGEST: usize = 64;

const MAGIC: [u8; 8] = *b"integrt\0";
/// The last version that there is.
const LAST_VERSION: u8 = 7;

/// The superblock as it is on disk. Numbers are little endian.
#[repr(C)]
pub struct OnDisk {
    /// "integrt" and NUL.
    pub magic: [u8; 8],
    /// See [`Superblock::version_to_write`].
    pub version: u8,
    /// See [`Superblock`], as for all that follow.
    pub log2_interleave_sectors: u8,
    /// A number.
    pub tag_size: [u8; 2],
    /// A number.
    pub journal_sections: [u8; 4],
    /// A number.
    pub provided_data_sectors: [u8; 8],
    /// See [`Flags`].
    pub flags: [u8; 4],
    /// A number.
    pub log2_sectors_per_block: u8,
    /// A number.
    pub log2_blocks_per_bitmap_bit: u8,
    /// Not in use.
    pub unused: [u8; 2],
    /// A number.
    pub recalc_sector: [u8; 8],
    /// Not in use.
    pub unused2: [u8; 8],
    /// Random bytes.
    pub salt: [u8; SALT],
}

const _: () = {
    assert!(size_of::<OnDisk>() == 64);
    assert!(offset_of!(OnDisk, magic) == 0);
    assert!(offset_of!(OnDisk, version) == 8);
    assert!(offset_of!(OnDisk, log2_interleave_sectors) == 9);
    assert!(offset_of!(OnDisk, tag_size) == 10);
    assert!(offset_of!(OnDisk, journal_sections) == 12);
    assert!(offset_of!(OnDisk, provided_data_sectors) == 16);
    assert!(offset_of!(OnDisk, flags) == 24);
    assert!(offset_of!(OnDisk, log2_sectors_per_block) == 28);
    assert!(offset_of!(OnDisk, log2_blocks_per_bitmap_bit) == 29);
    assert!(offset_of!(OnDisk, unused) == 30);
    assert!(offset_of!(OnDisk, recalc_sector) == 32);
    assert!(offset_of!(OnDisk, unused2) == 40);
    assert!(offset_of!(OnDisk, salt) == 48);
    assert!(AREA == SECTORS as usize * 512);
};

/// The flags of a superblock. Those without a name here stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// Journal sections have MACs.
    pub const JOURNAL_MAC: Self = Self(0x1);
    /// Tags are being computed anew; those from the recalculation sector on do not count.
    pub const RECALCULATING: Self = Self(0x2);
    /// The journal area has a bitmap.
    pub const DIRTY_BITMAP: Self = Self(0x4);
    /// Tag runs are padded to 4 KiB instead of 128 KiB.
    pub const FIXED_PADDING: Self = Self(0x8);
    /// There is a salt; it and the place are in each MAC and tag, and the superblock has a MAC.
    pub const FIXED_HMAC: Self = Self(0x10);
    /// Tags are in the integrity metadata of the device.
    pub const INLINE: Self = Self(0x20);
    /// The tag of a discarded block is a keyed hash of its number.
    pub const DISCARD_KEYED: Self = Self(0x40);

    /// Those that nothing changes after the format.
    const IMMUTABLE: Self = Self(0x1 | 0x8 | 0x10 | 0x20);

    /// All flags as on disk.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The flags with these bits on disk.
    #[inline]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Whether all of `other` are set.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets all of `other` if `on`, else clears them.
    #[inline]
    pub fn set(&mut self, other: Self, on: bool) {
        if on {
            self.0 |= other.0;
        } else {
            self.0 &= !other.0;
        }
    }

    #[inline]
    const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitXor for Flags {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

/// What a superblock says. Nothing of it was [checked](Superblock::check) unless stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Superblock {
    /// The version on disk. Not what is written: see [`version_to_write`](Self::version_to_write).
    pub version: u8,
    /// log2 of the data sectors between tag runs, zero with a separate device for metadata.
    pub log2_interleave_sectors: u8,
    /// The bytes of a tag.
    pub tag_size: u16,
    /// The sections of the journal.
    pub journal_sections: u32,
    /// The data sectors that the volume has. Only users read it: it is computed on each open.
    pub provided_data_sectors: u64,
    /// The flags.
    pub flags: Flags,
    /// log2 of the sectors of a block.
    pub log2_sectors_per_block: u8,
    /// log2 of the blocks that a bit of the bitmap on disk is for.
    pub log2_blocks_per_bitmap_bit: u8,
    /// The first sector whose tag is not computed yet, while [`Flags::RECALCULATING`] is set.
    pub recalc_sector: u64,
    /// The salt, all zero without [`Flags::FIXED_HMAC`].
    pub salt: [u8; SALT],
}

/// What there is where the superblock should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A superblock, which may make no sense.
    Superblock(Superblock),
    /// Zeros all over: to be formatted.
    Blank,
    /// Something else.
    Foreign,
}

/// What of a table must agree with the superblock.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The mode.
    pub mode: Mode,
    /// The size of tags.
    pub tag_size: TagSize,
    /// The block size.
    pub block: BlockSize,
    /// Whether metadata have a device of their own.
    pub meta_device: bool,
    /// Whether discarded blocks get keyed tags.
    pub discard_keyed: bool,
    /// Whether there is a journal MAC.
    pub journal_mac: bool,
    /// Whether that has a key.
    pub journal_mac_key: bool,
    /// Whether the table has `fix_hmac`.
    pub fix_hmac: bool,
}

impl Content {
    /// Looks at the area of the superblock, which is [`AREA`] bytes. Any context.
    pub fn of(area: &[u8]) -> Self {
        match Superblock::read_from(area) {
            Some(superblock) => Self::Superblock(superblock),
            None if area.iter().all(|&byte| byte == 0) => Self::Blank,
            None => Self::Foreign,
        }
    }
}

impl Superblock {
    /// Reads a superblock, if there is one.
    fn read_from(area: &[u8]) -> Option<Self> {
        if get(area, offset_of!(OnDisk, magic)) != Some(MAGIC) {
            return None;
        }
        let byte = |at| get(area, at).map(u8::from_le_bytes);
        Some(Self {
            version: byte(offset_of!(OnDisk, version))?,
            log2_interleave_sectors: byte(offset_of!(OnDisk, log2_interleave_sectors))?,
            tag_size: get(area, offset_of!(OnDisk, tag_size)).map(u16::from_le_bytes)?,
            journal_sections: get(area, offset_of!(OnDisk, journal_sections))
                .map(u32::from_le_bytes)?,
            provided_data_sectors: get(area, offset_of!(OnDisk, provided_data_sectors))
                .map(u64::from_le_bytes)?,
            flags: get(area, offset_of!(OnDisk, flags))
                .map(u32::from_le_bytes)
                .map(Flags)?,
            log2_sectors_per_block: byte(offset_of!(OnDisk, log2_sectors_per_block))?,
            log2_blocks_per_bitmap_bit: byte(offset_of!(OnDisk, log2_blocks_per_bitmap_bit))?,
            recalc_sector: get(area, offset_of!(OnDisk, recalc_sector)).map(u64::from_le_bytes)?,
            salt: get(area, offset_of!(OnDisk, salt))?,
        })
    }

    /// Writes the superblock to the start of its area, which is [`AREA`] bytes. What has no name
    /// in it stays as it is. Any context.
    pub fn write_to(&self, area: &mut [u8]) {
        let mut put = |at, bytes: &[u8]| put(area, at, bytes);
        put(offset_of!(OnDisk, magic), &MAGIC);
        put(offset_of!(OnDisk, version), &[self.version]);
        put(
            offset_of!(OnDisk, log2_interleave_sectors),
            &[self.log2_interleave_sectors],
        );
        put(offset_of!(OnDisk, tag_size), &self.tag_size.to_le_bytes());
        put(
            offset_of!(OnDisk, journal_sections),
            &self.journal_sections.to_le_bytes(),
        );
        put(
            offset_of!(OnDisk, provided_data_sectors),
            &self.provided_data_sectors.to_le_bytes(),
        );
        put(offset_of!(OnDisk, flags), &self.flags.0.to_le_bytes());
        put(
            offset_of!(OnDisk, log2_sectors_per_block),
            &[self.log2_sectors_per_block],
        );
        put(
            offset_of!(OnDisk, log2_blocks_per_bitmap_bit),
            &[self.log2_blocks_per_bitmap_bit],
        );
        put(
            offset_of!(OnDisk, recalc_sector),
            &self.recalc_sector.to_le_bytes(),
        );
        put(offset_of!(OnDisk, salt), &self.salt);
    }

    /// The version that says what a reader must know. It is to be set before each write, and may
    /// be lower than before.
    pub fn version_to_write(&self, mode: Mode, meta_device: bool) -> u8 {
        let has = |flag| self.flags.contains(flag);
        if has(Flags::DISCARD_KEYED) {
            7
        } else if has(Flags::INLINE) {
            6
        } else if has(Flags::FIXED_HMAC) {
            5
        } else if has(Flags::FIXED_PADDING) {
            4
        } else if mode == Mode::Bitmap || has(Flags::DIRTY_BITMAP) {
            3
        } else if meta_device || has(Flags::RECALCULATING) {
            2
        } else {
            1
        }
    }

    /// Checks what was read against a table, in the order of C: row I-33.
    ///
    /// All errors are EINVAL. If this succeeds, the tag size, the block size, and the interleave
    /// of the superblock are valid.
    pub fn check(&self, expected: &Expected) -> Result<(), TableError> {
        let inline = expected.mode == Mode::Inline;
        let has = |flag| self.flags.contains(flag);
        let fail_if = |wrong, text| match wrong {
            true => Err(TableError::invalid(text)),
            false => Ok(()),
        };

        fail_if(
            !(1..=LAST_VERSION).contains(&self.version),
            c"Unknown version",
        )?;
        fail_if(has(Flags::INLINE) != inline, c"Inline flag mismatch")?;
        fail_if(
            self.tag_size != expected.tag_size.bytes().into(),
            c"Tag size doesn't match the information in superblock",
        )?;
        fail_if(
            self.log2_sectors_per_block != expected.block.log2_sectors(),
            c"Block size doesn't match the information in superblock",
        )?;
        fail_if(
            !inline && self.journal_sections == 0,
            c"Corrupted superblock, journal_sections is 0",
        )?;
        fail_if(
            inline && self.journal_sections != 0,
            c"Corrupted superblock, journal_sections is not 0",
        )?;
        let interleave = match expected.meta_device {
            true => 0..=0,
            false => MIN_LOG2_INTERLEAVE..=MAX_LOG2_INTERLEAVE,
        };
        fail_if(
            !interleave.contains(&self.log2_interleave_sectors),
            c"Invalid interleave_sectors in the superblock",
        )?;
        fail_if(
            !expected.discard_keyed && has(Flags::DISCARD_KEYED),
            c"Keyed discard cannot be disabled once enabled",
        )?;
        fail_if(
            has(Flags::JOURNAL_MAC) != expected.journal_mac,
            c"Journal mac mismatch",
        )?;
        fail_if(
            expected.fix_hmac && !has(Flags::FIXED_HMAC) && expected.journal_mac_key,
            c"fix_hmac is on the command line but not in the superblock",
        )
    }

    /// Whether another superblock, read later, has another geometry, salt, or journal MAC: it must
    /// not be used in place of this one. Row I-76.
    pub fn is_other_volume(&self, other: &Self) -> bool {
        self.log2_interleave_sectors != other.log2_interleave_sectors
            || self.tag_size != other.tag_size
            || self.journal_sections != other.journal_sections
            || self.log2_sectors_per_block != other.log2_sectors_per_block
            || (self.flags ^ other.flags).intersects(Flags::IMMUTABLE)
            || self.salt != other.salt
    }

    /// Starts recalculation from the first sector.
    pub fn start_recalculation(&mut self) {
        self.flags.set(Flags::RECALCULATING, true);
        self.recalc_sector = 0;
    }

    /// Whether there is a salt, and MACs cover the place of what they are for.
    #[inline]
    pub fn has_fixed_hmac(&self) -> bool {
        self.flags.contains(Flags::FIXED_HMAC)
    }
}

/// Where a superblock MAC of this many bytes is in the area. It covers all bytes before it.
///
/// Returns [`None`] if it does not fit: then C logs "Error on digest is too long", and fails with
/// EINVAL. A superblock has a MAC if it [`has_fixed_hmac`](Superblock::has_fixed_hmac) and the
/// table has a journal MAC; it is not checked in [`Mode::Recovery`].
pub fn mac_range(digest_size: usize) -> Option<Range<usize>> {
    let start = MAC_AREA.checked_sub(digest_size)?;
    (start >= size_of::<OnDisk>() && digest_size <= MAX_DIGEST).then_some(start..MAC_AREA)
}

/// The `N` bytes at an offset, if there are so many.
fn get<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Copies bytes to an offset, as many as there is room for.
fn put(to: &mut [u8], at: usize, bytes: &[u8]) {
    let room = to.get_mut(at..).unwrap_or_default();
    for (to, from) in room.iter_mut().zip(bytes) {
        *to = *from;
    }
}
