// SPDX-License-Identifier: GPL-2.0

//! The second half of `dm_integrity_ctr()`: the superblock, and how much data there is room for.

use super::{
    invalid,
    table::fls,
    Ic,
    Refusal,
    Sb, //
};
use crate::Machine;

const MAC: u32 = 1;
const RECALCULATING: u32 = 2;
const DIRTY_BITMAP: u32 = 4;
const FIXED_PADDING: u32 = 8;
const FIXED_HMAC: u32 = 0x10;
const INLINE: u32 = 0x20;
const DISCARD_KEYED: u32 = 0x40;

impl Sb {
    /// Reads a superblock.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let number = |at: usize, size: usize| {
            let little = bytes[at..at + size].iter().rev();
            little.fold(0u64, |value, &byte| (value << 8) | u64::from(byte))
        };
        Self {
            version: bytes[8],
            log2_interleave_sectors: bytes[9],
            integrity_tag_size: number(10, 2) as u16,
            journal_sections: number(12, 4) as u32,
            provided_data_sectors: number(16, 8),
            flags: number(24, 4) as u32,
            log2_sectors_per_block: bytes[28],
            log2_blocks_per_bitmap_bit: bytes[29],
            recalc_sector: number(32, 8),
            salt: bytes[48..64].try_into().unwrap(),
        }
    }

    /// Writes it over what there is.
    pub fn write(&self, bytes: &mut [u8]) {
        bytes[..8].copy_from_slice(b"integrt\0");
        bytes[8] = self.version;
        bytes[9] = self.log2_interleave_sectors;
        bytes[10..12].copy_from_slice(&self.integrity_tag_size.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.journal_sections.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.provided_data_sectors.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.flags.to_le_bytes());
        bytes[28] = self.log2_sectors_per_block;
        bytes[29] = self.log2_blocks_per_bitmap_bit;
        bytes[32..40].copy_from_slice(&self.recalc_sector.to_le_bytes());
        bytes[48..64].copy_from_slice(&self.salt);
    }
}

/// `sb_set_version()`
pub fn sb_set_version(ic: &mut Ic) {
    let flags = ic.sb.flags;
    ic.sb.version = if flags & DISCARD_KEYED != 0 {
        7
    } else if flags & INLINE != 0 {
        6
    } else if flags & FIXED_HMAC != 0 {
        5
    } else if flags & FIXED_PADDING != 0 {
        4
    } else if ic.mode == b'B' || flags & DIRTY_BITMAP != 0 {
        3
    } else if ic.meta_dev.is_some() || flags & RECALCULATING != 0 {
        2
    } else {
        1
    };
}

fn calculate_journal_section_size(ic: &mut Ic) {
    let mut sector_space = 504u32;
    ic.journal_sections = ic.sb.journal_sections;
    let entry = 8 + 8 * u32::from(ic.sectors_per_block) + ic.tag_size;
    ic.journal_entry_size = (entry.div_ceil(8) * 8) as u16;
    if ic.sb.flags & MAC != 0 {
        sector_space -= 8;
    }
    let per_sector = (sector_space / u32::from(ic.journal_entry_size)) as u8;
    ic.journal_section_entries = per_sector.wrapping_mul(8);
    let entries = u32::from(ic.journal_section_entries);
    ic.journal_section_sectors = ((entries << ic.sb.log2_sectors_per_block) + 8) as u16;
    ic.journal_entries = entries.wrapping_mul(ic.journal_sections);
}

/// `get_data_sector()`, for a sector of an area of this size.
pub fn get_data_sector(ic: &Ic, sector: u64) -> u64 {
    if ic.meta_dev.is_some() {
        return sector;
    }
    let log2 = ic.sb.log2_interleave_sectors;
    let area = sector >> log2;
    let offset = u64::from(sector as u32 & ((1u32 << log2) - 1));
    (area << log2)
        .wrapping_add((area + 1).wrapping_mul(ic.metadata_run.into()))
        .wrapping_add(u64::from(ic.initial_sectors) + offset)
        .wrapping_add(ic.start)
}

/// `get_metadata_sector_and_offset()`: a buffer, and a byte in it.
pub fn get_metadata_sector_and_offset(ic: &Ic, sector: u64) -> (u64, u32) {
    let log2 = ic.sb.log2_interleave_sectors;
    let (area, offset) = match ic.meta_dev {
        None => (sector >> log2, sector & ((1 << log2) - 1)),
        Some(_) => (0, sector),
    };
    let shift = ic.log2_buffer_sectors + 9;
    let ms = ((area << log2) + area * u64::from(ic.metadata_run)) >> ic.log2_buffer_sectors;
    let bytes = (offset >> ic.sb.log2_sectors_per_block) * u64::from(ic.tag_size);
    (ms + (bytes >> shift), bytes as u32 & ((1u32 << shift) - 1))
}

fn calculate_device_limits(ic: &mut Ic) -> bool {
    calculate_journal_section_size(ic);
    let initial = 8 + u64::from(ic.journal_section_sectors) * u64::from(ic.journal_sections);
    if initial + 8 >= ic.meta_device_sectors || initial > u32::MAX.into() {
        return false;
    }
    ic.initial_sectors = initial as u32;
    if ic.mode == b'I' {
        initial + ic.provided_data_sectors <= ic.meta_device_sectors
    } else if ic.meta_dev.is_none() {
        let padding = if ic.sb.flags & FIXED_PADDING != 0 {
            8u64 << 9
        } else {
            1u64 << 9 << 8
        };
        let log2_blocks = ic.sb.log2_interleave_sectors - ic.sb.log2_sectors_per_block;
        let bytes = u64::from(ic.tag_size) << log2_blocks;
        ic.metadata_run = ((bytes.div_ceil(padding) * padding) >> 9) as u32;
        let last = get_data_sector(ic, ic.provided_data_sectors - 1);
        last >= ic.start && last < ic.meta_device_sectors
    } else {
        let shift = ic.log2_buffer_sectors + 9;
        let blocks = ic.provided_data_sectors >> ic.sb.log2_sectors_per_block;
        let bytes = blocks.wrapping_mul(ic.tag_size.into());
        let size = bytes.wrapping_add((1u64 << shift) - 1) >> shift << ic.log2_buffer_sectors;
        ic.metadata_run = 1;
        match initial.checked_add(size) {
            Some(end) => end <= ic.meta_device_sectors,
            None => false,
        }
    }
}

fn get_provided_data_sectors(ic: &mut Ic) {
    if ic.meta_dev.is_some() {
        let block = u64::from(ic.sectors_per_block);
        ic.provided_data_sectors = ic.data_device_sectors / block * block;
        return;
    }
    ic.provided_data_sectors = 0;
    if ic.meta_device_sectors == 0 {
        return;
    }
    for bit in (3..=fls(ic.meta_device_sectors)).rev() {
        let before = ic.provided_data_sectors;
        ic.provided_data_sectors |= 1 << bit;
        if !calculate_device_limits(ic) {
            ic.provided_data_sectors = before;
        }
    }
}

fn initialize_superblock(ic: &mut Ic, salt: [u8; 16]) -> bool {
    ic.sb = Sb {
        integrity_tag_size: ic.tag_size as u16,
        log2_sectors_per_block: fls(ic.sectors_per_block.into()),
        ..Sb::default()
    };
    let inline = ic.mode == b'I';
    let mac = ic.journal_mac_alg.is_some();
    if inline {
        ic.sb.flags |= INLINE;
    }
    if mac {
        ic.sb.flags |= MAC;
    }
    calculate_journal_section_size(ic);
    let mut sections = ic.journal_sectors / u32::from(ic.journal_section_sectors);
    if sections == 0 {
        sections = 1;
    }
    if inline {
        sections = 0;
    }
    if ic.fix_hmac && (ic.internal_hash_alg.is_some() || mac) {
        ic.sb.flags |= FIXED_HMAC;
        ic.sb.salt = salt;
    }
    if ic.discard_keyed {
        ic.sb.flags |= DISCARD_KEYED;
    }
    let fits = match ic.meta_dev {
        None => initialize_one_device(ic, sections),
        Some(_) => initialize_meta_device(ic, sections),
    };
    ic.sb.provided_data_sectors = ic.provided_data_sectors;
    sb_set_version(ic);
    fits
}

fn initialize_one_device(ic: &mut Ic, sections: u32) -> bool {
    if ic.fix_padding {
        ic.sb.flags |= FIXED_PADDING;
    }
    ic.sb.journal_sections = sections;
    let interleave = match ic.interleave_sectors {
        0 => 32768,
        sectors => sectors,
    };
    ic.sb.log2_interleave_sectors = fls(interleave.into()).clamp(3, 31);
    get_provided_data_sectors(ic);
    ic.provided_data_sectors != 0
}

fn initialize_meta_device(ic: &mut Ic, sections: u32) -> bool {
    get_provided_data_sectors(ic);
    if ic.provided_data_sectors == 0 {
        return false;
    }
    loop {
        ic.sb.journal_sections = 0;
        for bit in (0..=fls(sections.into())).rev() {
            let before = ic.sb.journal_sections;
            let test = before | (1 << bit);
            if test > sections {
                continue;
            }
            ic.sb.journal_sections = test;
            if !calculate_device_limits(ic) {
                ic.sb.journal_sections = before;
            }
        }
        if ic.sb.journal_sections != 0 {
            return true;
        }
        if ic.log2_buffer_sectors <= 3 {
            return false;
        }
        ic.log2_buffer_sectors -= 1;
    }
}

/// From the superblock that was read to where C allocates the journal.
pub fn open(ic: &mut Ic, area: &[u8], machine: &Machine, salt: [u8; 16]) -> Result<(), Refusal> {
    ic.should_write_sb = false;
    if area[..8] != *b"integrt\0" {
        if ic.mode != b'R' && area.iter().any(|&byte| byte != 0) {
            return invalid("The device is not initialized");
        }
        if !initialize_superblock(ic, salt) {
            return invalid("Could not initialize superblock");
        }
        ic.should_write_sb = ic.mode != b'R';
    } else {
        ic.sb = Sb::from_bytes(area);
    }
    check(ic)?;
    get_provided_data_sectors(ic);
    if ic.provided_data_sectors == 0 {
        return invalid("The device is too small");
    }
    while !calculate_device_limits(ic) {
        if ic.meta_dev.is_none() || ic.log2_buffer_sectors <= 3 {
            return invalid("The device is too small");
        }
        ic.log2_buffer_sectors -= 1;
    }
    bitmap(ic);
    if ic.meta_dev.is_none() && ic.mode != b'I' {
        let run = ic.metadata_run.trailing_zeros() as u8;
        ic.log2_buffer_sectors = ic.log2_buffer_sectors.min(run);
    }
    if machine.target_sectors > ic.provided_data_sectors {
        return invalid("Not enough provided sectors for requested mapping size");
    }
    let share = u64::from(100 - ic.journal_watermark);
    let threshold = (u64::from(ic.journal_entries) * share + 50) / 100;
    ic.free_sectors_threshold = threshold as u32;
    recalculation(ic)
}

fn check(ic: &Ic) -> Result<(), Refusal> {
    let sb = &ic.sb;
    if sb.version == 0 || sb.version > 7 {
        return invalid("Unknown version");
    }
    if (sb.flags & INLINE != 0) != (ic.mode == b'I') {
        return invalid("Inline flag mismatch");
    }
    if u32::from(sb.integrity_tag_size) != ic.tag_size {
        return invalid("Tag size doesn't match the information in superblock");
    }
    if sb.log2_sectors_per_block != fls(ic.sectors_per_block.into()) {
        return invalid("Block size doesn't match the information in superblock");
    }
    if ic.mode != b'I' && sb.journal_sections == 0 {
        return invalid("Corrupted superblock, journal_sections is 0");
    }
    if ic.mode == b'I' && sb.journal_sections != 0 {
        return invalid("Corrupted superblock, journal_sections is not 0");
    }
    let interleave = sb.log2_interleave_sectors;
    let valid = match ic.meta_dev {
        None => (3..=31).contains(&interleave),
        Some(_) => interleave == 0,
    };
    if !valid {
        return invalid("Invalid interleave_sectors in the superblock");
    }
    if !ic.discard_keyed && sb.flags & DISCARD_KEYED != 0 {
        return invalid("Keyed discard cannot be disabled once enabled");
    }
    if (sb.flags & MAC != 0) != ic.journal_mac_alg.is_some() {
        return invalid("Journal mac mismatch");
    }
    let mac_key = ic.journal_mac_alg.as_ref().and_then(|alg| alg.key.as_ref());
    if ic.fix_hmac && sb.flags & FIXED_HMAC == 0 && mac_key.is_some() {
        return invalid("fix_hmac is on the command line but not in the superblock");
    }
    Ok(())
}

fn bitmap(ic: &mut Ic) {
    let log2_block = ic.sb.log2_sectors_per_block;
    let mut log2_bit = match ic.log2_sectors_per_bitmap_bit {
        -1 => 15,
        log2 => log2 as u8,
    };
    log2_bit = log2_bit.max(log2_block);
    let sectors = u64::from(ic.journal_section_sectors) * u64::from(ic.journal_sections);
    let bits = (sectors << 12).min(u32::MAX.into());
    if bits != 0 {
        while bits < (ic.provided_data_sectors + ((1u64 << log2_bit) - 1)) >> log2_bit {
            log2_bit += 1;
        }
    }
    ic.log2_blocks_per_bitmap_bit = log2_bit - log2_block;
    if ic.should_write_sb {
        ic.sb.log2_blocks_per_bitmap_bit = ic.log2_blocks_per_bitmap_bit;
    }
    let blocks = ic.provided_data_sectors >> log2_block;
    let n_bits = blocks + ((1u64 << ic.log2_blocks_per_bitmap_bit) - 1);
    ic.n_bitmap_blocks = (n_bits >> ic.log2_blocks_per_bitmap_bit).div_ceil(32768) as u32;
}

fn recalculation(ic: &mut Ic) -> Result<(), Refusal> {
    if ic.recalculate_flag && ic.sb.flags & RECALCULATING == 0 {
        ic.sb.flags |= RECALCULATING;
        ic.sb.recalc_sector = 0;
    }
    if ic.sb.flags & RECALCULATING == 0 {
        return Ok(());
    }
    let Some(hash) = &ic.internal_hash_alg else {
        return invalid("Recalculate can only be specified with internal_hash");
    };
    let hash_key = hash.key.is_some();
    let mac_key = ic.journal_mac_alg.as_ref().is_some_and(|a| a.key.is_some());
    let unsafe_keys = if ic.sb.flags & FIXED_HMAC == 0 {
        hash_key || mac_key
    } else {
        hash_key && !mac_key
    };
    if ic.sb.recalc_sector < ic.provided_data_sectors && !ic.legacy_recalculate && unsafe_keys {
        let text = "Recalculating with HMAC is disabled for security reasons - if you really \
                    need it, use the argument \"legacy_recalculate\"";
        return Err((text.into(), 95));
    }
    Ok(())
}
