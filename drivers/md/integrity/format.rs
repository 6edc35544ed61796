// SPDX-License-Identifier: GPL-2.0

//! Making a new volume: the superblock that a table asks for.
//!
//! C source: `initialize_superblock()` in `drivers/md/dm-integrity.c`

use dm::target::args::TableError;

use crate::{
    journal,
    shape::{
        Devices,
        Shape,
        MAX_LOG2_INTERLEAVE,
        MIN_LOG2_INTERLEAVE, //
    },
    superblock::{
        Flags,
        Superblock,
        SALT, //
    },
    table::Mode,
    volume::Request,
};

const FAILED: TableError = TableError::invalid(c"Could not initialize superblock");

/// log2 of the data sectors for one journal sector, where the table does not say.
const LOG2_JOURNAL_SHARE: u32 = 7;
/// The most journal sectors, where the table does not say.
const MAX_DEFAULT_JOURNAL: u64 = 131_072;
/// The data sectors of an area, where the table does not say.
const DEFAULT_INTERLEAVE: u32 = 32_768;

/// The journal sectors that a table asks for, or the default for this device.
fn journal_sectors(request: &Request) -> u32 {
    let share = request.devices.data_sectors >> LOG2_JOURNAL_SHARE;
    // The conversion cannot fail after the limit.
    let default = u32::try_from(share.min(MAX_DEFAULT_JOURNAL)).unwrap_or(u32::MAX);
    request.journal_sectors.unwrap_or(default)
}

/// log2 of the interleave, which is rounded down to one that there is.
fn log2_interleave(request: &Request) -> u8 {
    let sectors = match request.interleave_sectors {
        0 => DEFAULT_INTERLEAVE,
        sectors => sectors,
    };
    (sectors.ilog2() as u8).clamp(MIN_LOG2_INTERLEAVE, MAX_LOG2_INTERLEAVE)
}

fn flags(request: &Request) -> Flags {
    let mut flags = Flags::default();
    flags.set(Flags::INLINE, request.mode == Mode::Inline);
    flags.set(Flags::JOURNAL_MAC, request.journal_mac);
    flags.set(Flags::FIXED_HMAC, has_salt(request));
    flags.set(Flags::DISCARD_KEYED, request.discard_keyed);
    let one_device = !request.devices.has_meta_device();
    flags.set(Flags::FIXED_PADDING, one_device && request.fix_padding);
    flags
}

fn has_salt(request: &Request) -> bool {
    request.fix_hmac && (request.internal_hash || request.journal_mac)
}

/// Makes the superblock of a new volume.
///
/// `salt` is asked for random bytes if there is to be a salt. Fails with "Could not initialize
/// superblock" and EINVAL if the devices are too small. The bitmap's size is not set yet.
pub(crate) fn superblock(
    request: &Request,
    salt: impl FnOnce() -> [u8; SALT],
) -> Result<Superblock, TableError> {
    let flags = flags(request);
    let journal = |sections| {
        let mac = flags.contains(Flags::JOURNAL_MAC);
        journal::Geometry::new(request.block, request.tag_size, mac, sections)
    };
    let section_sectors = journal(0).section_sectors().into();
    let sections = match request.mode {
        Mode::Inline => 0,
        _ => journal_sectors(request)
            .checked_div(section_sectors)
            .unwrap_or(0)
            .max(1),
    };
    let mut shape = Shape {
        mode: request.mode,
        devices: request.devices,
        journal: journal(sections),
        log2_interleave: match request.devices.has_meta_device() {
            true => 0,
            false => log2_interleave(request),
        },
        fixed_padding: flags.contains(Flags::FIXED_PADDING),
        log2_buffer_sectors: request.log2_buffer_sectors,
    };
    let provided_data_sectors = shape.provided_data_sectors();
    if provided_data_sectors == 0 {
        return Err(FAILED);
    }
    if request.devices.has_meta_device() {
        fit_journal(&mut shape, provided_data_sectors, journal)?;
    }
    let mut superblock = Superblock {
        log2_interleave_sectors: shape.log2_interleave,
        tag_size: request.tag_size.bytes().into(),
        journal_sections: shape.journal.sections(),
        provided_data_sectors,
        flags,
        log2_sectors_per_block: request.block.log2_sectors(),
        salt: match has_salt(request) {
            true => salt(),
            false => [0; SALT],
        },
        ..Superblock::default()
    };
    superblock.version = version(&superblock, request.mode, &request.devices);
    Ok(superblock)
}

fn version(superblock: &Superblock, mode: Mode, devices: &Devices) -> u8 {
    superblock.version_to_write(mode, devices.has_meta_device())
}

/// Takes as many sections as there is room for beside the tags, at most those that `shape` has;
/// if there is none at all, with smaller buffers.
fn fit_journal(
    shape: &mut Shape,
    provided_data_sectors: u64,
    journal: impl Fn(u32) -> journal::Geometry,
) -> Result<(), TableError> {
    let most = shape.journal.sections();
    loop {
        let mut sections = 0;
        for bit in (0..=most.checked_ilog2().unwrap_or(0)).rev() {
            let more = sections | 1u32.wrapping_shl(bit);
            shape.journal = journal(more);
            if more <= most && shape.holds(provided_data_sectors) {
                sections = more;
            }
        }
        shape.journal = journal(sections);
        if sections != 0 {
            return Ok(());
        }
        if !shape.shrink_buffers() {
            return Err(FAILED);
        }
    }
}
