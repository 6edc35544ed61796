// SPDX-License-Identifier: GPL-2.0

//! Where parity is, for forward error correction.
//!
//! Parity covers the data blocks, the hash blocks, and blocks after these on the hash device, as
//! one message. It is cut into `255 - roots` regions of equal size, and byte `i` of each region
//! makes up codeword `i` of a Reed-Solomon code, whose `roots` bytes of parity follow each other
//! from the start block on the FEC device. Beyond its end, the message is taken to be zeros.
//!
//! So block `n` of each region has bytes of the same codewords as block `n` of the others, and
//! all of the parity of these fills the `roots` blocks from `n * roots` on.
//!
//! Units are blocks of the data block size, which must be the hash block size too.

use core::{
    ffi::CStr,
    num::NonZeroU8, //
};

use dm::{
    errno::E2BIG,
    target::args::TableError, //
};

use crate::{
    hash_tree::{
        Blocks,
        Geometry, //
    },
    report::{
        BlockKind,
        Corruption, //
    },
};

/// Bytes of a codeword, parity included.
pub const CODEWORD: u8 = 255;
/// The fewest parity bytes of a codeword.
pub const MIN_ROOTS: u8 = 2;
/// The most parity bytes of a codeword.
pub const MAX_ROOTS: u8 = 24;

/// The words of a table about parity, zero where there is none.
#[derive(Debug)]
pub struct Parity<D> {
    /// The device that has it. Without one, the other words mean nothing.
    pub device: Option<D>,
    /// The number of blocks that it covers.
    pub blocks: u64,
    /// Its first block on the FEC device.
    pub start: u64,
    /// Its bytes of a codeword: zero, or from [`MIN_ROOTS`] to [`MAX_ROOTS`].
    pub roots: u8,
}

impl<D> Default for Parity<D> {
    fn default() -> Self {
        Self {
            device: None,
            blocks: 0,
            start: 0,
            roots: 0,
        }
    }
}

/// Where a block is in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The block, from the start of the message.
    pub block: u64,
    /// The region that it is in.
    pub region: u8,
    /// The block, from the start of its region.
    pub index: u64,
}

/// What is at a place in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// A data block, from the start of the data device.
    Data(u64),
    /// A hash block or one that follows these, from the start of the hash device.
    Hash(u64),
    /// Zeros, after the end of the message.
    Zeros,
}

/// Where parity is.
///
/// # Invariants
///
/// `roots` is from [`MIN_ROOTS`] to [`MAX_ROOTS`], and `blocks` is at least the number of data and
/// hash blocks together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FecLayout {
    data_blocks: u64,
    hash_start: u64,
    blocks: u64,
    start: u64,
    roots: NonZeroU8,
}

impl FecLayout {
    /// Checks the words of a table against the hash tree.
    ///
    /// The checks of the sizes of the three devices follow in the order
    /// [`check_hash_device`](Self::check_hash_device),
    /// [`check_fec_device`](Self::check_fec_device),
    /// [`check_data_device`](Self::check_data_device).
    pub fn new<D>(parity: &Parity<D>, tree: &Geometry) -> Result<Self, TableError> {
        if tree.data_block() != tree.hash_block() {
            return Err(TableError::invalid(c"Block sizes must match to use FEC"));
        }
        let roots = NonZeroU8::new(parity.roots)
            .filter(|roots| (MIN_ROOTS..=MAX_ROOTS).contains(&roots.get()))
            .ok_or(TableError::invalid(c"Missing fec_roots"))?;
        if parity.blocks == 0 {
            return Err(TableError::invalid(c"Missing fec_blocks"));
        }
        match tree.data_blocks().checked_add(tree.hash_blocks()) {
            Some(least) if parity.blocks >= least => {
                // INVARIANT: All was compared above.
                Ok(Self {
                    data_blocks: tree.data_blocks(),
                    hash_start: tree.hash_start(),
                    blocks: parity.blocks,
                    start: parity.start,
                    roots,
                })
            }
            _ => Err(TableError::invalid(c"Invalid fec_blocks")),
        }
    }

    /// Fails if a hash device of so many blocks ends before what parity covers.
    pub fn check_hash_device(&self, blocks: u64) -> Result<(), TableError> {
        let end = self.hash_start.checked_add(self.hash_blocks());
        check_size(end, blocks, c"Hash device is too small for fec_blocks")
    }

    /// Fails if a FEC device of so many blocks *after the start block* does not hold all parity.
    pub fn check_fec_device(&self, blocks: u64) -> Result<(), TableError> {
        let parity = self.region_blocks().checked_mul(self.roots().into());
        check_size(parity, blocks, c"FEC device is too small")
    }

    /// Fails if a data device of so many blocks does not hold all data blocks.
    pub fn check_data_device(&self, blocks: u64) -> Result<(), TableError> {
        check_size(Some(self.data_blocks), blocks, c"Data device is too small")
    }

    /// The number of blocks that parity covers.
    #[inline]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The first block of parity on the FEC device.
    #[inline]
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The number of blocks that parity covers on the hash device, from the first of the tree.
    #[inline]
    pub fn hash_blocks(&self) -> u64 {
        self.blocks.saturating_sub(self.data_blocks)
    }

    /// The parity bytes of a codeword.
    #[inline]
    pub fn roots(&self) -> u8 {
        self.roots.get()
    }

    /// The message bytes of a codeword, and so the number of regions.
    #[inline]
    pub fn regions(&self) -> u8 {
        CODEWORD.saturating_sub(self.roots.get())
    }

    /// Finds a block in the message. Returns [`None`] if it is not covered.
    pub fn place(&self, target: Corruption) -> Option<Place> {
        let block = match target.kind {
            BlockKind::Data => target.block,
            BlockKind::Metadata => target
                .block
                .checked_sub(self.hash_start)?
                .checked_add(self.data_blocks)?,
        };
        if block >= self.blocks {
            return None;
        }
        Some(Place {
            block,
            region: u8::try_from(block.checked_div(self.region_blocks())?).ok()?,
            index: block.checked_rem(self.region_blocks())?,
        })
    }

    /// What is at block `index` of a region.
    pub fn member(&self, region: u8, index: u64) -> Member {
        let before = self.region_blocks().checked_mul(region.into());
        match before.and_then(|before| before.checked_add(index)) {
            Some(block) if block < self.data_blocks => Member::Data(block),
            Some(block) if block < self.blocks => Member::Hash(
                self.hash_start
                    .saturating_add(block.saturating_sub(self.data_blocks)),
            ),
            _ => Member::Zeros,
        }
    }

    /// The blocks with the parity of the codewords of block `index` of each region, from the
    /// [start block](Self::start).
    pub fn parity(&self, index: u64) -> Blocks {
        Blocks {
            first: index.saturating_mul(self.roots().into()),
            count: self.roots().into(),
        }
    }

    /// The blocks of a region: `ceil(blocks / regions)`.
    #[inline]
    pub fn region_blocks(&self) -> u64 {
        self.blocks.div_ceil(u64::from(self.regions()).max(1))
    }
}

fn check_size(needed: Option<u64>, blocks: u64, text: &'static CStr) -> Result<(), TableError> {
    match needed {
        Some(needed) if needed <= blocks => Ok(()),
        _ => Err(TableError::new(text, E2BIG)),
    }
}
