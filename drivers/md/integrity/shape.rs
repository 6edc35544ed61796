// SPDX-License-Identifier: GPL-2.0

//! The sizes that make up an integrity volume, and how much data there is room for.
//!
//! See [`layout`](crate::layout) for the format, and the units.
//!
//! C source: `calculate_device_limits()` and `get_provided_data_sectors()` in
//! `drivers/md/dm-integrity.c`

use core::num::NonZeroU8;

use crate::{
    journal,
    superblock,
    table::Mode, //
};

/// log2 of the bytes of a sector.
pub const SECTOR_SHIFT: u32 = 9;
/// log2 of the fewest data sectors of an area.
pub const MIN_LOG2_INTERLEAVE: u8 = 3;
/// log2 of the most data sectors of an area.
pub const MAX_LOG2_INTERLEAVE: u8 = 31;
/// log2 of the most sectors of a buffer.
pub const MAX_LOG2_BUFFER: u8 = 22;

/// Sectors that must be free after the journal; also log2 of the sectors that a tag run is padded
/// to in older volumes.
const PADDING: u32 = 8;

/// The bytes of a tag: from 1 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagSize(NonZeroU8);

impl TagSize {
    /// The tag size of so many bytes, if it is one.
    #[inline]
    pub const fn new(bytes: u32) -> Option<Self> {
        if bytes > u8::MAX as u32 {
            return None;
        }
        match NonZeroU8::new(bytes as u8) {
            Some(bytes) => Some(Self(bytes)),
            None => None,
        }
    }

    /// The bytes.
    #[inline]
    pub const fn bytes(self) -> u8 {
        self.0.get()
    }
}

/// The size of a block: 512, 1024, 2048, or 4096 bytes.
///
/// # Invariants
///
/// The number, log2 of the sectors, is at most 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSize(u8);

impl BlockSize {
    /// The block size of so many bytes, if it is one.
    #[inline]
    pub const fn from_bytes(bytes: u32) -> Option<Self> {
        match bytes {
            512 => Some(Self(0)),
            1024 => Some(Self(1)),
            2048 => Some(Self(2)),
            4096 => Some(Self(3)),
            _ => None,
        }
    }

    /// log2 of the sectors of a block.
    #[inline]
    pub const fn log2_sectors(self) -> u8 {
        self.0
    }

    /// The sectors of a block.
    #[inline]
    pub const fn sectors(self) -> u32 {
        1u32.wrapping_shl(self.0 as u32)
    }

    /// The bytes of a block.
    #[inline]
    pub const fn bytes(self) -> u32 {
        self.sectors().wrapping_shl(SECTOR_SHIFT)
    }

    /// The blocks in so many sectors, rounded down.
    #[inline]
    pub const fn blocks_in(self, sectors: u64) -> u64 {
        sectors >> self.0
    }

    /// Whether this is a multiple of the sectors of a block.
    #[inline]
    pub const fn is_aligned(self, sectors: u64) -> bool {
        sectors & self.mask() == 0
    }

    /// The sector at which the block with this sector starts.
    #[inline]
    pub const fn align_down(self, sector: u64) -> u64 {
        sector & !self.mask()
    }

    #[inline]
    const fn mask(self) -> u64 {
        (self.sectors() as u64).wrapping_sub(1)
    }
}

/// The devices of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Devices {
    /// The sector of the superblock, on the device with the metadata.
    pub start: u64,
    /// The sectors of the data device.
    pub data_sectors: u64,
    /// The sectors of the device for metadata, if there is one.
    pub meta_sectors: Option<u64>,
}

impl Devices {
    /// The sectors of the device with the metadata.
    #[inline]
    pub fn metadata_sectors(&self) -> u64 {
        self.meta_sectors.unwrap_or(self.data_sectors)
    }

    /// Whether metadata have a device of their own.
    #[inline]
    pub fn has_meta_device(&self) -> bool {
        self.meta_sectors.is_some()
    }
}

/// What is known of a volume before it is known how much data it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The mode.
    pub mode: Mode,
    /// The devices.
    pub devices: Devices,
    /// The journal.
    pub journal: journal::Geometry,
    /// log2 of the data sectors of an area: from [`MIN_LOG2_INTERLEAVE`] to
    /// [`MAX_LOG2_INTERLEAVE`] if there is one device.
    pub log2_interleave: u8,
    /// Whether tag runs are padded to 4 KiB instead of 128 KiB.
    pub fixed_padding: bool,
    /// log2 of the sectors of a buffer: at most [`MAX_LOG2_BUFFER`].
    pub log2_buffer_sectors: u8,
}

/// An area, and a sector in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) area: u64,
    pub(crate) offset: u64,
}

impl Shape {
    pub(crate) fn block(&self) -> BlockSize {
        self.journal.block()
    }

    pub(crate) fn tag_bytes(&self) -> u64 {
        self.journal.tag_size().bytes().into()
    }

    /// The sectors of superblock and journal, if these fit.
    pub(crate) fn initial_sectors(&self) -> Option<u32> {
        let sectors = self
            .journal
            .sectors()
            .checked_add(superblock::SECTORS.into())?;
        if sectors.checked_add(PADDING.into())? >= self.devices.metadata_sectors() {
            return None;
        }
        u32::try_from(sectors).ok()
    }

    /// The sectors of the tag run of an area, as C counts them where there are no areas.
    pub(crate) fn metadata_run(&self) -> u32 {
        if self.mode == Mode::Inline {
            return 0;
        }
        if self.devices.has_meta_device() {
            return 1;
        }
        let log2_blocks = self
            .log2_interleave
            .saturating_sub(self.block().log2_sectors());
        let bytes = self.tag_bytes().wrapping_shl(log2_blocks.into());
        let padding = match self.fixed_padding {
            true => PADDING,
            false => 1 << PADDING,
        };
        // At most 255 << 22 sectors.
        let sectors = bytes.div_ceil(1 << SECTOR_SHIFT) as u32;
        sectors
            .checked_next_multiple_of(padding)
            .unwrap_or(u32::MAX)
    }

    pub(crate) fn place(&self, sector: u64) -> Place {
        if self.devices.has_meta_device() || self.mode == Mode::Inline {
            return Place {
                area: 0,
                offset: sector,
            };
        }
        let area = sector.wrapping_shr(self.log2_interleave.into());
        Place {
            area,
            offset: sector ^ area.wrapping_shl(self.log2_interleave.into()),
        }
    }

    /// The device sectors of an area, with its tag run.
    pub(crate) fn area_sectors(&self) -> u64 {
        1u64.wrapping_shl(self.log2_interleave.into())
            .saturating_add(self.metadata_run().into())
    }

    /// The sector of the data device that has a logical sector, unless 64 bits do not count so far.
    pub(crate) fn data_sector(&self, sector: u64, initial_sectors: u32) -> Option<u64> {
        if self.devices.has_meta_device() {
            return Some(sector);
        }
        let place = self.place(sector);
        place
            .area
            .checked_mul(self.area_sectors())?
            .checked_add(self.metadata_run().into())?
            .checked_add(initial_sectors.into())?
            .checked_add(place.offset)?
            .checked_add(self.devices.start)
    }

    /// Whether the devices hold so many data sectors, which are not zero.
    ///
    /// As in C, the start sector counts only where tags and data are mixed.
    pub(crate) fn holds(&self, data_sectors: u64) -> bool {
        self.end_of(data_sectors)
            .is_some_and(|end| end <= self.devices.metadata_sectors())
    }

    fn end_of(&self, data_sectors: u64) -> Option<u64> {
        let initial = self.initial_sectors()?;
        if self.mode == Mode::Inline {
            data_sectors.checked_add(initial.into())
        } else if self.devices.has_meta_device() {
            let shift = SECTOR_SHIFT.saturating_add(self.log2_buffer_sectors.into());
            let bytes = self
                .block()
                .blocks_in(data_sectors)
                .checked_mul(self.tag_bytes())?;
            let buffers = bytes.div_ceil(1u64.wrapping_shl(shift));
            buffers
                .checked_mul(1u64.wrapping_shl(self.log2_buffer_sectors.into()))?
                .checked_add(initial.into())
        } else {
            let last = data_sectors.checked_sub(1)?;
            self.data_sector(last, initial)?.checked_add(1)
        }
    }

    /// The data sectors that there can be: with one device the most that fit, in multiples of
    /// eight; with two the whole blocks of the data device, whether their tags fit or not.
    pub(crate) fn provided_data_sectors(&self) -> u64 {
        if self.devices.has_meta_device() {
            return self.block().align_down(self.devices.data_sectors);
        }
        let bits = u64::BITS.saturating_sub(self.devices.metadata_sectors().leading_zeros());
        let mut provided = 0;
        for bit in (3..bits).rev() {
            let more = provided | 1u64.wrapping_shl(bit);
            if self.holds(more) {
                provided = more;
            }
        }
        provided
    }

    /// Makes buffers smaller, where tags have a device of their own, until all tags fit.
    pub(crate) fn fit_buffers(&mut self, data_sectors: u64) -> bool {
        while !self.holds(data_sectors) {
            if !self.shrink_buffers() {
                return false;
            }
        }
        true
    }

    /// Halves the buffers, unless they are as small as they may get or that does not help.
    pub(crate) fn shrink_buffers(&mut self) -> bool {
        if !self.devices.has_meta_device() || self.log2_buffer_sectors <= 3 {
            return false;
        }
        self.log2_buffer_sectors = self.log2_buffer_sectors.saturating_sub(1);
        true
    }

    /// Makes buffers so small that none has both tags and data.
    ///
    /// C forgets that areas may be smaller than buffers, and then writes tags over data.
    pub(crate) fn align_buffers(&mut self) {
        if self.devices.has_meta_device() || self.mode == Mode::Inline {
            return;
        }
        let run = self.metadata_run().trailing_zeros() as u8;
        self.log2_buffer_sectors = self.log2_buffer_sectors.min(run).min(self.log2_interleave);
    }
}
