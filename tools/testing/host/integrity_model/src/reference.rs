// SPDX-License-Identifier: GPL-2.0

//! What the C target does, told once more.
//!
//! This shares no code with the files under test, has the names of C, and its arithmetic: numbers
//! have the sizes that they have there, and wrap. Its own truth is checked against C's results in
//! the tests of the golden files.

pub mod journal;
pub mod limits;
pub mod line;
pub mod table;

use std::ffi::CString;

/// The text and the number of an error.
pub type Refusal = (String, i32);

/// EINVAL with a text.
pub fn invalid<T>(text: &str) -> Result<T, Refusal> {
    Err((text.into(), crate::machine::EINVAL))
}

/// An algorithm and its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlgSpec {
    /// The name.
    pub alg_string: CString,
    /// The key in hexadecimal.
    pub key_string: Option<Vec<u8>>,
    /// The key.
    pub key: Option<Vec<u8>>,
}

/// The superblock, in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sb {
    pub version: u8,
    pub log2_interleave_sectors: u8,
    pub integrity_tag_size: u16,
    pub journal_sections: u32,
    pub provided_data_sectors: u64,
    pub flags: u32,
    pub log2_sectors_per_block: u8,
    pub log2_blocks_per_bitmap_bit: u8,
    pub recalc_sector: u64,
    pub salt: [u8; 16],
}

/// `struct dm_integrity_c`, as far as there is something to compare.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Ic {
    pub dev: usize,
    pub meta_dev: Option<usize>,
    pub start: u64,
    pub tag_size: u32,
    pub tuple_size: u32,
    pub mode: u8,

    pub journal_sectors: u32,
    pub interleave_sectors: u32,
    pub journal_watermark: u32,
    pub sync_msec: u32,
    pub log2_sectors_per_bitmap_bit: i8,
    pub bitmap_flush_interval: u32,
    pub sectors_per_block: u8,
    pub log2_buffer_sectors: u8,
    pub internal_hash_alg: Option<AlgSpec>,
    pub journal_crypt_alg: Option<AlgSpec>,
    pub journal_mac_alg: Option<AlgSpec>,
    pub recalculate_flag: bool,
    pub reset_recalculate_flag: bool,
    pub discard: bool,
    pub discard_keyed: bool,
    pub fix_padding: bool,
    pub fix_hmac: bool,
    pub legacy_recalculate: bool,

    pub data_device_sectors: u64,
    pub meta_device_sectors: u64,

    pub sb: Sb,
    pub should_write_sb: bool,
    pub journal_entry_size: u16,
    pub journal_section_entries: u8,
    pub journal_section_sectors: u16,
    pub journal_sections: u32,
    pub journal_entries: u32,
    pub initial_sectors: u32,
    pub metadata_run: u32,
    pub provided_data_sectors: u64,
    pub log2_blocks_per_bitmap_bit: u8,
    pub n_bitmap_blocks: u32,
    pub free_sectors_threshold: u32,
}
