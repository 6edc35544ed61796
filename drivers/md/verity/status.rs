// SPDX-License-Identifier: GPL-2.0

//! What a verity device says of itself: the three forms of its status.

use dm::target::status::Status;

use crate::{
    hash_tree::Sizes,
    hash_tree::Version,
    options::{
        CorruptionMode,
        ErrorMode,
        CHECK_AT_MOST_ONCE,
        FEC_BLOCKS,
        FEC_ROOTS,
        FEC_START,
        IGNORE_ZERO_BLOCKS,
        ROOT_HASH_SIG_KEY_DESC,
        TRY_VERIFY_IN_TASKLET,
        USE_FEC_FROM_DEVICE, //
    },
};

/// Writes the status as `dmsetup status` shows it: `V` or `C`, and how often parity helped.
///
/// `corrupted` is whether there was ever a wrong digest. `corrected` is the number of blocks that
/// parity repaired, if there is a FEC device.
pub fn emit_info(status: &mut Status<'_>, corrupted: bool, corrected: Option<u64>) {
    status.emit(format_args!("{} ", validity(corrupted)));
    match corrected {
        Some(blocks) => status.emit(format_args!("{blocks}")),
        None => status.bytes(b"-"),
    }
}

const fn validity(corrupted: bool) -> char {
    if corrupted {
        'C'
    } else {
        'V'
    }
}

/// The words about forward error correction.
#[derive(Clone, Copy, Debug)]
pub struct Fec<'a> {
    /// The name of the FEC device, as "major:minor".
    pub device: &'a [u8],
    /// The number of blocks that parity covers.
    pub blocks: u64,
    /// The first block of parity on the FEC device.
    pub start: u64,
    /// The parity bytes of a codeword.
    pub roots: u8,
}

/// All that a table line tells.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// The hash type.
    pub version: Version,
    /// The name of the data device, as "major:minor".
    pub data_device: &'a [u8],
    /// The name of the hash device, as "major:minor".
    pub hash_device: &'a [u8],
    /// The sizes of both.
    pub sizes: &'a Sizes,
    /// The name of the hash algorithm, as it was in the table.
    pub algorithm: &'a [u8],
    /// The root digest.
    pub root_digest: &'a [u8],
    /// The salt, empty if there is none.
    pub salt: &'a [u8],
    /// What happens to I/O that does not have the right digest.
    pub corruption: CorruptionMode,
    /// What happens to I/O that a device fails.
    pub error: ErrorMode,
    /// Whether zero blocks are zeroed instead of verified.
    pub ignore_zero_blocks: bool,
    /// Whether each block is verified once only.
    pub check_at_most_once: bool,
    /// Whether small I/O is verified where it ends.
    pub try_verify_in_tasklet: bool,
    /// Forward error correction, if there is a FEC device.
    pub fec: Option<Fec<'a>>,
    /// The description of the key that has the signature of the root digest.
    pub signature_key: Option<&'a [u8]>,
}

impl Table<'_> {
    /// Writes the table line as `dmsetup table` shows it: the table, in its usual form.
    pub fn emit(&self, status: &mut Status<'_>) {
        status.emit(format_args!("{} ", self.version.number()));
        status.bytes(self.data_device);
        status.bytes(b" ");
        status.bytes(self.hash_device);
        status.emit(format_args!(
            " {} {} {} {} ",
            self.sizes.data_block.bytes(),
            self.sizes.hash_block.bytes(),
            self.sizes.data_blocks,
            self.sizes.hash_start,
        ));
        status.bytes(self.algorithm);
        status.bytes(b" ");
        status.hex(self.root_digest);
        status.bytes(b" ");
        self.emit_salt(status);
        self.emit_options(status);
    }

    fn emit_salt(&self, status: &mut Status<'_>) {
        if self.salt.is_empty() {
            status.bytes(b"-");
        } else {
            status.hex(self.salt);
        }
    }

    /// The options that are one word each, in the order of the table line.
    fn flags(&self) -> [Option<&'static str>; 5] {
        [
            self.corruption.word(),
            self.error.word(),
            self.ignore_zero_blocks.then_some(IGNORE_ZERO_BLOCKS),
            self.check_at_most_once.then_some(CHECK_AT_MOST_ONCE),
            self.try_verify_in_tasklet.then_some(TRY_VERIFY_IN_TASKLET),
        ]
    }

    fn emit_options(&self, status: &mut Status<'_>) {
        let flags = self.flags();
        let count = flags
            .iter()
            .flatten()
            .count()
            .saturating_add(if self.fec.is_some() { 8 } else { 0 })
            .saturating_add(if self.signature_key.is_some() { 2 } else { 0 });
        if count == 0 {
            return;
        }
        status.emit(format_args!(" {count}"));
        for word in flags.into_iter().flatten() {
            status.emit(format_args!(" {word}"));
        }
        if let Some(fec) = &self.fec {
            fec.emit(status);
        }
        if let Some(key) = self.signature_key {
            status.emit(format_args!(" {ROOT_HASH_SIG_KEY_DESC} "));
            status.bytes(key);
        }
    }

    /// Writes what IMA measures when the table is loaded, with the name and the version of the
    /// target.
    pub fn emit_ima(
        &self,
        status: &mut Status<'_>,
        target: &[u8],
        target_version: [u32; 3],
        corrupted: bool,
    ) {
        let yes_no = |yes: bool| if yes { 'y' } else { 'n' };

        status.target_name_version(target, target_version);
        status.emit(format_args!(",hash_failed={}", validity(corrupted)));
        status.emit(format_args!(",verity_version={}", self.version.number()));
        emit_value(status, ",data_device_name=", self.data_device);
        emit_value(status, ",hash_device_name=", self.hash_device);
        emit_value(status, ",verity_algorithm=", self.algorithm);
        status.bytes(b",root_digest=");
        status.hex(self.root_digest);
        status.bytes(b",salt=");
        self.emit_salt(status);
        status.emit(format_args!(
            ",{IGNORE_ZERO_BLOCKS}={},{CHECK_AT_MOST_ONCE}={}",
            yes_no(self.ignore_zero_blocks),
            yes_no(self.check_at_most_once),
        ));
        if let Some(key) = self.signature_key {
            emit_value(status, ",root_hash_sig_key_desc=", key);
        }
        if let Some(word) = self.corruption.word() {
            emit_value(status, ",verity_mode=", word.as_bytes());
        }
        if let Some(word) = self.error.word() {
            emit_value(status, ",verity_error_mode=", word.as_bytes());
        }
        status.bytes(b";");
    }
}

impl Fec<'_> {
    fn emit(&self, status: &mut Status<'_>) {
        status.emit(format_args!(" {USE_FEC_FROM_DEVICE} "));
        status.bytes(self.device);
        status.emit(format_args!(
            " {FEC_BLOCKS} {} {FEC_START} {} {FEC_ROOTS} {}",
            self.blocks, self.start, self.roots,
        ));
    }
}

fn emit_value(status: &mut Status<'_>, name: &str, value: &[u8]) {
    status.bytes(name.as_bytes());
    status.bytes(value);
}
