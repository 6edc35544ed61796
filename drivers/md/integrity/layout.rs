// SPDX-License-Identifier: GPL-2.0

//! Where everything is on the devices of an integrity volume.
//!
//! With one device, from the start sector of the table:
//!
//! ```text
//! | superblock | journal | tags | data     | tags | data     | ...
//!                         \-- area 0 -----/ \-- area 1 -----/
//! ```
//!
//! Each area has `interleave` data sectors, a power of two, and before them a *tag run* with
//! their tags, one for each block. A tag run is padded to 4 KiB, or, in older volumes, to
//! 128 KiB. With a separate device for metadata, superblock, journal, and one run with all the
//! tags are there, and data start at the first sector of the data device. In inline mode, data
//! follow the superblock, and tags are in the integrity metadata of the device.
//!
//! Units: a *sector* is 512 bytes; a *logical* sector is one of the volume, others are of a
//! device; a *block* is what a tag covers; a *buffer* is a power of two of sectors, the unit in
//! which tags are cached, counted from the first tag. Any context.
//!
//! C source: `calculate_device_limits()` and its neighbours in `drivers/md/dm-integrity.c`

use dm::target::args::TableError;

use crate::{
    bitmap,
    journal,
    shape::{
        BlockSize,
        Shape,
        TagSize,
        SECTOR_SHIFT, //
    },
    superblock,
    table::Mode, //
};

const TOO_SMALL: TableError = TableError::invalid(c"The device is too small");

/// Where a tag is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagPosition {
    /// The buffer that has its first byte.
    pub buffer: u64,
    /// That byte, from the start of the buffer. The rest may be in the next buffer.
    pub offset: u32,
}

/// Why a bio is refused. Displayed, it is the line that C logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoError {
    /// It ends beyond the last sector.
    TooBig {
        /// Its first logical sector.
        sector: u64,
        /// Its sectors.
        sectors: u32,
        /// The sectors of the volume.
        provided: u64,
    },
    /// It does not start and end with a block.
    Unaligned {
        /// Its first logical sector.
        sector: u64,
        /// Its sectors.
        sectors: u32,
        /// The sectors of a block.
        block: u32,
    },
}

impl core::fmt::Display for IoError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::TooBig {
                sector,
                sectors,
                provided,
            } => write!(
                f,
                "Too big sector number: {sector:#x} + {sectors:#x} > {provided:#x}"
            ),
            Self::Unaligned {
                sector,
                sectors,
                block,
            } => write!(
                f,
                "Bio not aligned on {block} sectors: {sector:#x}, {sectors:#x}"
            ),
        }
    }
}

/// Where everything is.
///
/// # Invariants
///
/// The devices hold [`provided_data_sectors`](Self::provided_data_sectors), which is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    provided_data_sectors: u64,
    initial_sectors: u32,
    metadata_run: u32,
}

impl Layout {
    /// Finds out how much data a volume has: row I-34.
    ///
    /// Fails with "The device is too small" and EINVAL.
    pub fn new(mut shape: Shape) -> Result<Self, TableError> {
        let provided_data_sectors = shape.provided_data_sectors();
        if provided_data_sectors == 0 || !shape.fit_buffers(provided_data_sectors) {
            return Err(TOO_SMALL);
        }
        shape.align_buffers();
        // INVARIANT: Not zero, and it was found to fit; smaller buffers take no more room.
        Ok(Self {
            provided_data_sectors,
            initial_sectors: shape.initial_sectors().ok_or(TOO_SMALL)?,
            metadata_run: shape.metadata_run(),
            shape,
        })
    }

    /// The data sectors that the volume has.
    #[inline]
    pub fn provided_data_sectors(&self) -> u64 {
        self.provided_data_sectors
    }

    /// The sectors of superblock and journal.
    #[inline]
    pub fn initial_sectors(&self) -> u32 {
        self.initial_sectors
    }

    /// The sectors of the journal, as a table shows them.
    #[inline]
    pub fn journal_sectors(&self) -> u32 {
        self.initial_sectors.saturating_sub(superblock::SECTORS)
    }

    /// The sector of the superblock, on the device with the metadata.
    #[inline]
    pub fn start(&self) -> u64 {
        self.shape.devices.start
    }

    /// The first sector of the journal, on the device with the metadata.
    #[inline]
    pub fn journal_start(&self) -> u64 {
        self.start().wrapping_add(superblock::SECTORS.into())
    }

    /// The sector at which the first buffer of tags starts, on the device with the metadata.
    #[inline]
    pub fn tags_start(&self) -> u64 {
        self.start().wrapping_add(self.initial_sectors.into())
    }

    /// The sector of the data device from which on data sectors are counted when dm core checks
    /// how large the device is. As in C.
    #[inline]
    pub fn data_start(&self) -> u64 {
        if self.has_meta_device() {
            return 0;
        }
        self.tags_start().wrapping_add(self.metadata_run.into())
    }

    /// Whether metadata have a device of their own.
    #[inline]
    pub fn has_meta_device(&self) -> bool {
        self.shape.devices.has_meta_device()
    }

    /// The mode.
    #[inline]
    pub fn mode(&self) -> Mode {
        self.shape.mode
    }

    /// The block size.
    #[inline]
    pub fn block(&self) -> BlockSize {
        self.shape.block()
    }

    /// The tag size.
    #[inline]
    pub fn tag_size(&self) -> TagSize {
        self.shape.journal.tag_size()
    }

    /// The journal.
    #[inline]
    pub fn journal(&self) -> &journal::Geometry {
        &self.shape.journal
    }

    /// log2 of the sectors of a buffer.
    #[inline]
    pub fn log2_buffer_sectors(&self) -> u8 {
        self.shape.log2_buffer_sectors
    }

    /// The data sectors of an area, 1 with a separate device for metadata, as a table shows them.
    #[inline]
    pub fn interleave_sectors(&self) -> u32 {
        1u32.wrapping_shl(self.shape.log2_interleave.into())
    }

    /// Where the tag of the block is that has a logical sector below the end.
    pub fn tag_position(&self, sector: u64) -> TagPosition {
        let place = self.shape.place(sector);
        let first = place.area.wrapping_mul(self.shape.area_sectors());
        let bytes = self
            .block()
            .blocks_in(place.offset)
            .wrapping_mul(self.shape.tag_bytes());
        let sector = first.wrapping_add(bytes >> SECTOR_SHIFT);
        let log2_buffer = u32::from(self.shape.log2_buffer_sectors);
        let in_buffer = sector as u32 & !u32::MAX.wrapping_shl(log2_buffer);
        let in_sector = bytes as u32 & !u32::MAX.wrapping_shl(SECTOR_SHIFT);
        TagPosition {
            buffer: sector.wrapping_shr(log2_buffer),
            offset: in_buffer.wrapping_shl(SECTOR_SHIFT) | in_sector,
        }
    }

    /// The sector of the data device that has a logical sector below the end.
    pub fn data_sector(&self, sector: u64) -> u64 {
        // By the invariant, the last one fits, and those before it do as well.
        self.shape
            .data_sector(sector, self.initial_sectors)
            .unwrap_or(u64::MAX)
    }

    /// How many sectors from a logical sector on are on consecutive device sectors, with
    /// consecutive tags: to the end of the area or of the volume.
    pub fn contiguous_sectors(&self, sector: u64) -> u64 {
        let rest = self.provided_data_sectors.saturating_sub(sector);
        if self.has_meta_device() || self.mode() == Mode::Inline {
            return rest;
        }
        let area = 1u64.wrapping_shl(self.shape.log2_interleave.into());
        rest.min(area.saturating_sub(self.shape.place(sector).offset))
    }

    /// Fails if a table maps more than the volume has.
    pub fn check_target(&self, sectors: u64) -> Result<(), TableError> {
        if sectors > self.provided_data_sectors {
            return Err(TableError::invalid(
                c"Not enough provided sectors for requested mapping size",
            ));
        }
        Ok(())
    }

    /// Checks the place of a bio: row I-69. Its segments must be multiples of a block as well.
    pub fn check_io(&self, sector: u64, sectors: u32) -> Result<(), IoError> {
        let end = sector.checked_add(sectors.into());
        if end.is_none_or(|end| end > self.provided_data_sectors) {
            return Err(IoError::TooBig {
                sector,
                sectors,
                provided: self.provided_data_sectors,
            });
        }
        if !self.block().is_aligned(sector | u64::from(sectors)) {
            return Err(IoError::Unaligned {
                sector,
                sectors,
                block: self.block().sectors(),
            });
        }
        Ok(())
    }

    /// The most sectors of a bio, if there is a limit: it stays in an area, and, in bitmap mode,
    /// has all its bits in one block of the bitmap. Row I-82.
    pub fn max_io_sectors(&self, bitmap: &bitmap::Geometry) -> Option<u32> {
        let area = (!self.has_meta_device() && self.mode() != Mode::Inline)
            .then(|| self.interleave_sectors());
        let block = (self.mode() == Mode::Bitmap).then(|| bitmap.max_io_sectors());
        match (area, block) {
            (Some(area), Some(block)) => Some(area.min(block)),
            (area, block) => area.or(block),
        }
    }
}
