// SPDX-License-Identifier: GPL-2.0

//! Where the digests are: the shape of the hash tree.
//!
//! A hash block is cut into slots, one digest each. A block of level 0, a *leaf*, holds the digests
//! of data blocks, a block of level `n + 1` those of blocks of level `n`; the one block of the
//! highest level is hashed to the root digest of the table. A device of one data block has no
//! levels: the root digest is that of the data block.
//!
//! On the hash device the levels lie one after the other from `hash_start`, the highest first:
//!
//! ```text
//! hash_start                                                  hash_end
//! | level 2, the root | level 1 ...      | level 0 ...               |
//! ```
//!
//! Units: a *data block* and a *hash block* are counted from the start of their device, in blocks
//! of the table's size for that device; a *sector* is 512 bytes. Nothing here does I/O, and no
//! number from a table makes anything here panic or wrap.
//!
//! The format is that of `Documentation/admin-guide/device-mapper/verity.rst` in the kernel, and of
//! `veritysetup`.

use core::{
    ffi::CStr,
    ops::Range, //
};

use dm::{
    errno::E2BIG,
    target::args::TableError, //
};

/// log2 of the size of a sector in bytes.
pub const SECTOR_SHIFT: u32 = 9;

/// The largest number of levels that a tree may have, `DM_VERITY_MAX_LEVELS`.
pub const MAX_LEVELS: usize = 63;

/// `ti->error` if a hash block has no room for two digests.
pub const DIGEST_TOO_BIG: &CStr = c"Digest size too big";
/// `ti->error` if there are more than [`MAX_LEVELS`] levels.
pub const TOO_MANY_LEVELS: &CStr = c"Too many tree levels";
/// `ti->error` if the tree would end beyond the last block that 64 bits can count.
pub const OFFSET_OVERFLOW: &CStr = c"Hash device offset overflow";
/// `ti->error` if the tree ends beyond the end of the hash device.
pub const HASH_DEVICE_TOO_SMALL: &CStr = c"Hash device is too small";

/// The log line for a bio that does not start and end with a data block.
pub const UNALIGNED_IO: &CStr = c"unaligned io";
/// The log line for a bio that goes beyond the last data block.
pub const OUT_OF_RANGE: &CStr = c"io out of range";

/// The hash type, the first word of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// As in the first releases of Chromium OS: a block is hashed before the salt, and digests lie
    /// back to back in a hash block.
    ChromiumOs = 0,
    /// The current one: the salt is hashed before the block, and each digest is padded with zeros
    /// to a power of two.
    Current = 1,
}

impl Version {
    /// The number in the table.
    #[inline]
    pub const fn number(self) -> u32 {
        match self {
            Self::ChromiumOs => 0,
            Self::Current => 1,
        }
    }

    /// The hash type of this number, if there is one.
    #[inline]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::ChromiumOs),
            1 => Some(Self::Current),
            _ => None,
        }
    }
}

/// The size of a block: a power of two from a sector to 2 GiB.
///
/// # Invariants
///
/// `bits` is from [`SECTOR_SHIFT`] to 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSize {
    bits: u32,
}

impl BlockSize {
    /// The block size of this many bytes, if it is one.
    #[inline]
    pub const fn from_bytes(bytes: u32) -> Option<Self> {
        if !bytes.is_power_of_two() || bytes < 1 << SECTOR_SHIFT {
            return None;
        }
        // INVARIANT: A power of two has at most 31 trailing zeros, and at least as many as a sector
        // if it is not smaller.
        Some(Self {
            bits: bytes.trailing_zeros(),
        })
    }

    /// log2 of the size in bytes.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// The size in bytes.
    #[inline]
    pub const fn bytes(self) -> u32 {
        1u32.wrapping_shl(self.bits)
    }

    /// log2 of the size in sectors.
    #[inline]
    pub const fn sector_bits(self) -> u32 {
        self.bits.saturating_sub(SECTOR_SHIFT)
    }

    /// The sectors in so many blocks, unless that is more than 64 bits can count.
    #[inline]
    pub const fn to_sectors(self, blocks: u64) -> Option<u64> {
        blocks.checked_mul(1u64.wrapping_shl(self.sector_bits()))
    }

    /// The whole blocks in so many sectors.
    #[inline]
    pub const fn blocks_in(self, sectors: u64) -> u64 {
        sectors.wrapping_shr(self.sector_bits())
    }
}

/// Where a digest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The hash block that has it, from the start of the hash device.
    pub hash_block: u64,
    /// Its first byte in the hash block. It and the rest of the digest are inside the block.
    pub offset: u32,
}

/// Some blocks of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The first block, from the start of the device.
    pub first: u64,
    /// The number of blocks.
    pub count: u64,
}

/// What a table says about the sizes of both devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The number of data blocks.
    pub data_blocks: u64,
    /// The size of a data block.
    pub data_block: BlockSize,
    /// The size of a hash block.
    pub hash_block: BlockSize,
    /// The first hash block of the tree.
    pub hash_start: u64,
    /// The size of a digest in bytes.
    pub digest_size: u32,
}

impl Sizes {
    const DIGEST_TOO_BIG: TableError = TableError::invalid(DIGEST_TOO_BIG);

    /// Fails with [`DIGEST_TOO_BIG`] if a hash block does not hold two digests.
    pub fn check_digest(&self) -> Result<(), TableError> {
        if self.hash_block.bytes() / 2 < self.digest_size {
            return Err(Self::DIGEST_TOO_BIG);
        }
        Ok(())
    }

    /// log2 of the number of slots in a hash block: the largest power of two of digests that fits.
    ///
    /// Fails as [`check_digest`](Self::check_digest) does, and, unlike C, which would divide by it,
    /// if a digest has no bytes.
    pub fn slot_bits(&self) -> Result<u32, TableError> {
        self.check_digest()?;
        self.hash_block
            .bytes()
            .checked_div(self.digest_size)
            .and_then(u32::checked_ilog2)
            .ok_or(Self::DIGEST_TOO_BIG)
    }
}

/// `value >> shift`, for any shift.
#[inline]
const fn shift_right(value: u64, shift: u32) -> u64 {
    match value.checked_shr(shift) {
        Some(value) => value,
        None => 0,
    }
}

/// The levels of a tree: the smallest number such that one block is enough for the highest.
fn levels_of(data_blocks: u64, slot_bits: u32) -> u32 {
    // The number of the last block has one bit more than its logarithm says, and each level takes
    // `slot_bits` of them away.
    match data_blocks.saturating_sub(1).checked_ilog2() {
        Some(log) => log.saturating_add(1).div_ceil(slot_bits.max(1)),
        None => 0,
    }
}

/// The shape of a hash tree.
///
/// # Invariants
///
/// - `slot_bits` is from 1 to 31, and `slot_size << slot_bits` is at most the size of a hash block.
/// - `digest_size <= slot_size`.
/// - `levels <= MAX_LEVELS`, and `slot_bits * (levels - 1) < 64`.
/// - For each level of the tree and each data block, the hash block on the way to the root, as
///   [`position`](Geometry::position) computes it, is less than `hash_end`.
#[derive(Clone, Debug)]
pub struct Geometry {
    sizes: Sizes,
    version: Version,
    slot_bits: u32,
    slot_size: u32,
    levels: u32,
    hash_end: u64,
    level_start: [u64; MAX_LEVELS],
}

impl Geometry {
    /// Computes the shape of the tree.
    ///
    /// Fails with [`DIGEST_TOO_BIG`], or, with [`E2BIG`], [`TOO_MANY_LEVELS`] or
    /// [`OFFSET_OVERFLOW`].
    ///
    /// For nearly 2^64 data blocks C's rounding wraps, and it then accepts a tree of no blocks; the
    /// result here is then one of the two errors or a tree too large for any device.
    pub fn new(version: Version, sizes: &Sizes) -> Result<Self, TableError> {
        let slot_bits = sizes.slot_bits()?;
        let slot_size = match version {
            Version::ChromiumOs => sizes.digest_size,
            Version::Current => sizes.hash_block.bytes().wrapping_shr(slot_bits),
        };
        let mut geometry = Self {
            sizes: *sizes,
            version,
            slot_bits,
            slot_size,
            levels: levels_of(sizes.data_blocks, slot_bits),
            hash_end: sizes.hash_start,
            level_start: [0; MAX_LEVELS],
        };
        geometry.place_levels()?;
        Ok(geometry)
    }

    /// Gives each level its place, from the highest down.
    fn place_levels(&mut self) -> Result<(), TableError> {
        let starts = usize::try_from(self.levels)
            .ok()
            .and_then(|levels| self.level_start.get_mut(..levels))
            .ok_or(TableError::new(TOO_MANY_LEVELS, E2BIG))?;
        for (level, start) in (0..self.levels).zip(starts.iter_mut()).rev() {
            *start = self.hash_end;
            // ceil(data_blocks / 2^shift); a tree with levels has data blocks.
            let shift = self.slot_bits.saturating_mul(level.saturating_add(1));
            let last = shift_right(self.sizes.data_blocks.saturating_sub(1), shift);
            self.hash_end = last
                .checked_add(1)
                .and_then(|blocks| blocks.checked_add(self.hash_end))
                .ok_or(TableError::new(OFFSET_OVERFLOW, E2BIG))?;
        }
        Ok(())
    }

    /// Fails with [`HASH_DEVICE_TOO_SMALL`] and [`E2BIG`] if a hash device of so many hash blocks
    /// does not hold the whole tree.
    pub fn check_hash_device(&self, hash_blocks: u64) -> Result<(), TableError> {
        if hash_blocks < self.hash_end {
            return Err(TableError::new(HASH_DEVICE_TOO_SMALL, E2BIG));
        }
        Ok(())
    }

    /// The sizes that this tree was made for.
    #[inline]
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The hash type.
    #[inline]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The number of data blocks.
    #[inline]
    pub fn data_blocks(&self) -> u64 {
        self.sizes.data_blocks
    }

    /// The size of a data block.
    #[inline]
    pub fn data_block(&self) -> BlockSize {
        self.sizes.data_block
    }

    /// The size of a hash block.
    #[inline]
    pub fn hash_block(&self) -> BlockSize {
        self.sizes.hash_block
    }

    /// The size of a digest in bytes.
    #[inline]
    pub fn digest_size(&self) -> u32 {
        self.sizes.digest_size
    }

    /// The bytes from one digest to the next in a hash block.
    #[inline]
    pub fn slot_size(&self) -> u32 {
        self.slot_size
    }

    /// log2 of the number of digests in a hash block.
    #[inline]
    pub fn slot_bits(&self) -> u32 {
        self.slot_bits
    }

    /// The number of levels; the root block is of level `levels - 1`.
    #[inline]
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// The first hash block of the tree: the root block if there is one.
    #[inline]
    pub fn hash_start(&self) -> u64 {
        self.sizes.hash_start
    }

    /// The hash block after the last of the tree.
    #[inline]
    pub fn hash_end(&self) -> u64 {
        self.hash_end
    }

    /// The number of hash blocks of the tree.
    #[inline]
    pub fn hash_blocks(&self) -> u64 {
        self.hash_end.saturating_sub(self.sizes.hash_start)
    }

    /// The first hash block of a level, or [`None`] if there is no such level.
    #[inline]
    pub fn level_start(&self, level: u32) -> Option<u64> {
        if level >= self.levels {
            return None;
        }
        self.level_start.get(usize::try_from(level).ok()?).copied()
    }

    /// Where, at a level, the digest on the way from `data_block` to the root is.
    ///
    /// Level 0 has the digest of the data block itself. Returns [`None`] if the tree has no such
    /// level or no such data block.
    #[inline]
    pub fn position(&self, level: u32, data_block: u64) -> Option<Position> {
        let start = self.level_start(level)?;
        if data_block >= self.sizes.data_blocks {
            return None;
        }
        let index = shift_right(data_block, self.slot_bits.wrapping_mul(level));
        let slot = index as u32 & self.slot_mask();
        Some(Position {
            // Neither wraps, by the invariants of the type.
            hash_block: start.wrapping_add(shift_right(index, self.slot_bits)),
            offset: slot.wrapping_mul(self.slot_size),
        })
    }

    /// The first byte of the digest of a data block in its leaf.
    #[inline]
    pub fn leaf_offset(&self, data_block: u64) -> u32 {
        let slot = data_block as u32 & self.slot_mask();
        // Does not wrap, by the invariants of the type.
        slot.wrapping_mul(self.slot_size)
    }

    /// How many data blocks, from this one on, have their digests in the same leaf.
    ///
    /// One look-up of the leaf serves them all: their digests follow each other at
    /// [`slot_size`](Geometry::slot_size) bytes. Zero if there is no such data block, one if the
    /// tree has no levels.
    #[inline]
    pub fn leaf_run(&self, data_block: u64) -> u64 {
        let slot = data_block & u64::from(self.slot_mask());
        let in_leaf = u64::from(self.slot_mask())
            .wrapping_sub(slot)
            .wrapping_add(1);
        in_leaf.min(self.sizes.data_blocks.saturating_sub(data_block))
    }

    #[inline]
    fn slot_mask(&self) -> u32 {
        1u32.wrapping_shl(self.slot_bits).wrapping_sub(1)
    }

    /// The levels worth reading before they are needed, in the order to read them.
    ///
    /// The root block is not among them: it is used by each I/O and stays cached.
    #[inline]
    pub fn prefetch_levels(&self) -> core::iter::Rev<Range<u32>> {
        (0..self.levels.saturating_sub(1)).rev()
    }

    /// The hash blocks of a level worth reading before `data` is verified.
    ///
    /// Leaves are read in clusters: `cluster` is their size as in the module parameter, in bytes of
    /// *data* block size, and is rounded down to a power of two of blocks; less than a block is no
    /// cluster. Clusters begin at multiples of their size from the start of the hash device, and
    /// are cut off where the tree begins, and where it ends. (C does not cut at the beginning, and
    /// so reads blocks that no one asks for.)
    ///
    /// Returns [`None`] if there is no such level, or if `data` is empty or beyond the end.
    pub fn prefetch(&self, level: u32, data: Blocks, cluster: u32) -> Option<Blocks> {
        let last = data.first.checked_add(data.count.checked_sub(1)?)?;
        let mut first = self.position(level, data.first)?.hash_block;
        let mut last = self.position(level, last)?.hash_block;
        if level == 0 {
            if let Some(log) =
                shift_right(cluster.into(), self.sizes.data_block.bits).checked_ilog2()
            {
                let mask = 1u64.wrapping_shl(log).wrapping_sub(1);
                first = (first & !mask).max(self.sizes.hash_start);
                last = (last | mask).min(self.hash_end.saturating_sub(1));
            }
        }
        Some(Blocks {
            first,
            count: last.checked_sub(first)?.checked_add(1)?,
        })
    }

    /// The data blocks of a bio, given in sectors from the start of the data device.
    ///
    /// Fails with the line to log, [`UNALIGNED_IO`] or [`OUT_OF_RANGE`]; user space sees EIO.
    #[inline]
    pub fn data_blocks_of(&self, sector: u64, sectors: u32) -> Result<Blocks, &'static CStr> {
        let size = self.sizes.data_block;
        let mask = 1u64.wrapping_shl(size.sector_bits()).wrapping_sub(1);
        let count = u64::from(sectors);
        if (sector | count) & mask != 0 {
            return Err(UNALIGNED_IO);
        }
        match sector.checked_add(count) {
            Some(end) if size.blocks_in(end) <= self.sizes.data_blocks => Ok(Blocks {
                first: size.blocks_in(sector),
                count: size.blocks_in(count),
            }),
            _ => Err(OUT_OF_RANGE),
        }
    }
}
