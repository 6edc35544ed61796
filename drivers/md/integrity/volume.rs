// SPDX-License-Identifier: GPL-2.0

//! Opening a volume: what a table asks for, and what there is on the device.
//!
//! C source: `dm_integrity_ctr()` in `drivers/md/dm-integrity.c`, from where it has read the
//! superblock

use core::ffi::CStr;

use dm::{
    errno::EOPNOTSUPP,
    target::args::TableError, //
};

use crate::{
    bitmap, format, journal,
    layout::Layout,
    shape::{
        BlockSize,
        Devices,
        Shape,
        TagSize, //
    },
    superblock::{
        Content,
        Expected,
        Flags,
        Superblock,
        SALT, //
    },
    table::Mode,
};

const HMAC_RECALCULATION: &CStr = c"Recalculating with HMAC is disabled for security reasons - \
     if you really need it, use the argument \"legacy_recalculate\"";

/// What a table asks of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The mode.
    pub mode: Mode,
    /// The devices.
    pub devices: Devices,
    /// The sectors of the target.
    pub target_sectors: u64,
    /// The size of tags.
    pub tag_size: TagSize,
    /// The block size.
    pub block: BlockSize,
    /// The sectors of the journal, if the table says; for a new volume.
    pub journal_sectors: Option<u32>,
    /// The data sectors between tag runs, for a new volume.
    pub interleave_sectors: u32,
    /// log2 of the sectors of a buffer.
    pub log2_buffer_sectors: u8,
    /// log2 of the data sectors that a bit of the bitmap is for, if the table says.
    pub log2_sectors_per_bit: Option<u8>,
    /// Whether there is an internal hash.
    pub internal_hash: bool,
    /// Whether that has a key.
    pub internal_hash_key: bool,
    /// Whether there is a journal MAC.
    pub journal_mac: bool,
    /// Whether that has a key.
    pub journal_mac_key: bool,
    /// Whether discarded blocks get keyed tags.
    pub discard_keyed: bool,
    /// `fix_padding`, for a new volume.
    pub fix_padding: bool,
    /// `fix_hmac`.
    pub fix_hmac: bool,
    /// `recalculate` or `reset_recalculate`.
    pub recalculate: bool,
    /// `legacy_recalculate`.
    pub legacy_recalculate: bool,
}

/// A volume that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// The superblock, as it is to be in memory. For a new volume it has to be written, after the
    /// journal was initialized, unless the mode is [`Mode::Recovery`].
    pub superblock: Superblock,
    /// Where everything is.
    pub layout: Layout,
    /// The bitmap that this table asks for. A bitmap on disk may have bits of another size.
    pub bitmap: bitmap::Geometry,
    /// Whether superblock and journal are to be written: C's `should_write_sb`.
    pub new: bool,
}

impl Volume {
    /// Finds out what to do with a device whose superblock area has these bytes.
    ///
    /// `salt` is asked for random bytes if a new volume is to have a salt. All errors are EINVAL
    /// except for EOPNOTSUPP of row I-21. The errors are those of the rows I-19, I-21, I-24, I-31,
    /// I-33, and I-34, in the order of C. If the superblock has a MAC, that was verified before.
    pub fn open(
        area: &[u8],
        request: &Request,
        salt: impl FnOnce() -> [u8; SALT],
    ) -> Result<Self, TableError> {
        let recovery = request.mode == Mode::Recovery;
        let (mut superblock, found) = match Content::of(area) {
            Content::Superblock(superblock) => (superblock, true),
            Content::Foreign if !recovery => {
                return Err(TableError::invalid(c"The device is not initialized"));
            }
            _ => (format::superblock(request, salt)?, false),
        };
        let new = !found && !recovery;
        superblock.check(&request.expected())?;
        let layout = Layout::new(request.shape(&superblock))?;
        let bitmap = bitmap::Geometry::new(&layout, request.log2_sectors_per_bit);
        if new {
            superblock.log2_blocks_per_bitmap_bit = bitmap.log2_blocks_per_bit();
        }
        layout.check_target(request.target_sectors)?;
        request.set_up_recalculation(&mut superblock, &layout)?;
        Ok(Self {
            superblock,
            layout,
            bitmap,
            new,
        })
    }
}

impl Request {
    /// What of the table must agree with the superblock.
    pub fn expected(&self) -> Expected {
        Expected {
            mode: self.mode,
            tag_size: self.tag_size,
            block: self.block,
            meta_device: self.devices.has_meta_device(),
            discard_keyed: self.discard_keyed,
            journal_mac: self.journal_mac,
            journal_mac_key: self.journal_mac_key,
            fix_hmac: self.fix_hmac,
        }
    }

    /// The shape of the volume of a superblock that was checked.
    fn shape(&self, superblock: &Superblock) -> Shape {
        let has = |flag| superblock.flags.contains(flag);
        Shape {
            mode: self.mode,
            devices: self.devices,
            journal: journal::Geometry::new(
                self.block,
                self.tag_size,
                has(Flags::JOURNAL_MAC),
                superblock.journal_sections,
            ),
            log2_interleave: superblock.log2_interleave_sectors,
            fixed_padding: has(Flags::FIXED_PADDING),
            log2_buffer_sectors: self.log2_buffer_sectors,
        }
    }

    fn set_up_recalculation(
        &self,
        superblock: &mut Superblock,
        layout: &Layout,
    ) -> Result<(), TableError> {
        if self.recalculate && !superblock.flags.contains(Flags::RECALCULATING) {
            superblock.start_recalculation();
        }
        if !superblock.flags.contains(Flags::RECALCULATING) {
            return Ok(());
        }
        if !self.internal_hash {
            return Err(TableError::invalid(
                c"Recalculate can only be specified with internal_hash",
            ));
        }
        if superblock.recalc_sector < layout.provided_data_sectors()
            && self.is_recalculation_disabled(superblock)
        {
            return Err(TableError::new(HMAC_RECALCULATION, EOPNOTSUPP));
        }
        Ok(())
    }

    /// Whether recalculation would bless with a key what somebody without the key wrote.
    fn is_recalculation_disabled(&self, superblock: &Superblock) -> bool {
        if self.legacy_recalculate {
            return false;
        }
        match superblock.has_fixed_hmac() {
            true => self.internal_hash_key && !self.journal_mac_key,
            false => self.internal_hash_key || self.journal_mac_key,
        }
    }
}
