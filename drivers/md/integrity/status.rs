// SPDX-License-Identifier: GPL-2.0

//! What an integrity device says of itself: the three forms of its status.

use core::ops::Deref;

use dm::target::status::Status;

use crate::{
    bitmap,
    layout::Layout,
    options::{
        Algorithm,
        Discards, //
    },
    superblock::{
        Flags,
        Superblock, //
    },
    table::Mode,
};

/// Writes the status as `dmsetup status` shows it: wrong tags seen, data sectors, and, if tags are
/// being computed, the first sector that has none yet.
pub fn emit_info(
    status: &mut Status<'_>,
    mismatches: u64,
    provided_data_sectors: u64,
    recalculation: Option<u64>,
) {
    status.emit(format_args!("{mismatches} {provided_data_sectors}"));
    match recalculation {
        Some(sector) => status.emit(format_args!(" {sector}")),
        None => status.bytes(b" -"),
    }
}

impl Superblock {
    /// The first sector that has no tag yet, for [`emit_info`]. C never clears the flag, so that
    /// after the last tag this is the number of sectors.
    pub fn recalculation(&self) -> Option<u64> {
        self.flags
            .contains(Flags::RECALCULATING)
            .then_some(self.recalc_sector)
    }
}

/// All that a table line tells.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a, B> {
    /// The name of the data device, as "major:minor".
    pub device: &'a [u8],
    /// The name of the device for metadata, if there is one.
    pub meta_device: Option<&'a [u8]>,
    /// The superblock in memory.
    pub superblock: &'a Superblock,
    /// Where everything is.
    pub layout: &'a Layout,
    /// What the bitmap is for.
    pub bitmap: &'a bitmap::Geometry,
    /// Whether all tags are computed anew on each resume.
    pub reset_recalculate: bool,
    /// What discards do.
    pub discards: Discards,
    /// Whether the table has `legacy_recalculate`.
    pub legacy_recalculate: bool,
    /// The free entries at or below which the journal is written out.
    pub free_threshold: u32,
    /// Milliseconds after which what was written is committed.
    pub commit_time: u32,
    /// Milliseconds after which bits are cleared.
    pub bitmap_flush_interval: u32,
    /// The internal hash.
    pub internal_hash: Option<&'a Algorithm<B>>,
    /// The cipher of the journal.
    pub journal_crypt: Option<&'a Algorithm<B>>,
    /// The MAC of the journal.
    pub journal_mac: Option<&'a Algorithm<B>>,
}

/// A writer of words that only counts them, or writes them too.
struct Words<'s, 'b> {
    status: Option<&'s mut Status<'b>>,
    count: u32,
}

impl Words<'_, '_> {
    fn add(&mut self, word: core::fmt::Arguments<'_>, rest: &[&[u8]]) {
        self.count = self.count.saturating_add(1);
        if let Some(status) = &mut self.status {
            status.emit(format_args!(" {word}"));
            for bytes in rest {
                status.bytes(bytes);
            }
        }
    }

    fn flag(&mut self, word: &str, on: bool) {
        if on {
            self.add(format_args!("{word}"), &[]);
        }
    }

    fn algorithm<B: Deref<Target = [u8]>>(&mut self, name: &str, algorithm: Option<&Algorithm<B>>) {
        let Some(algorithm) = algorithm else {
            return;
        };
        let word = algorithm.name().to_bytes();
        match algorithm.key_hex() {
            Some(key) => self.add(format_args!("{name}:"), &[word, b":", key]),
            None => self.add(format_args!("{name}:"), &[word]),
        }
    }
}

impl<B: Deref<Target = [u8]>> Table<'_, B> {
    /// Writes the table line as `dmsetup table` shows it, **with the keys**: the table, in its
    /// usual form. Row I-37.
    pub fn emit(&self, status: &mut Status<'_>) {
        status.bytes(self.device);
        status.emit(format_args!(
            " {} {} {}",
            self.layout.start(),
            self.layout.tag_size().bytes(),
            self.layout.mode().letter(),
        ));
        let mut counter = Words {
            status: None,
            count: 0,
        };
        self.words(&mut counter);
        status.emit(format_args!(" {}", counter.count));
        self.words(&mut Words {
            status: Some(status),
            count: 0,
        });
    }

    fn words(&self, words: &mut Words<'_, '_>) {
        let flags = self.superblock.flags;
        let layout = self.layout;
        let mode = layout.mode();

        if let Some(device) = self.meta_device {
            words.add(format_args!("meta_device:"), &[device]);
        }
        if layout.block().sectors() != 1 {
            words.add(format_args!("block_size:{}", layout.block().bytes()), &[]);
        }
        words.flag("recalculate", flags.contains(Flags::RECALCULATING));
        words.flag("reset_recalculate", self.reset_recalculate);
        words.flag("allow_discards", self.discards == Discards::Plain);
        words.flag("allow_discards_keyed", self.discards == Discards::Keyed);
        if mode != Mode::Inline {
            let sectors = layout.interleave_sectors();
            words.add(format_args!("interleave_sectors:{sectors}"), &[]);
        }
        words.add(
            format_args!("buffer_sectors:{}", self.buffer_sectors()),
            &[],
        );
        match mode {
            Mode::Journal => self.journal_words(words),
            Mode::Bitmap => self.bitmap_words(words),
            _ => {}
        }
        words.flag("fix_padding", flags.contains(Flags::FIXED_PADDING));
        words.flag("fix_hmac", flags.contains(Flags::FIXED_HMAC));
        words.flag("legacy_recalculate", self.legacy_recalculate);
        words.algorithm("internal_hash", self.internal_hash);
        words.algorithm("journal_crypt", self.journal_crypt);
        words.algorithm("journal_mac", self.journal_mac);
    }

    fn journal_words(&self, words: &mut Words<'_, '_>) {
        let sectors = self.layout.journal_sectors();
        let watermark = self.layout.journal().watermark(self.free_threshold);
        words.add(format_args!("journal_sectors:{sectors}"), &[]);
        words.add(format_args!("journal_watermark:{watermark}"), &[]);
        words.add(format_args!("commit_time:{}", self.commit_time), &[]);
    }

    fn bitmap_words(&self, words: &mut Words<'_, '_>) {
        let sectors = self.bitmap.sectors_per_bit();
        let interval = self.bitmap_flush_interval;
        words.add(format_args!("sectors_per_bit:{sectors}"), &[]);
        words.add(format_args!("bitmap_flush_interval:{interval}"), &[]);
    }

    fn buffer_sectors(&self) -> u32 {
        1u32.wrapping_shl(self.layout.log2_buffer_sectors().into())
    }

    /// Writes what IMA measures when the table is loaded, with the name and the version of the
    /// target, and without the keys. Row I-39.
    pub fn emit_ima(&self, status: &mut Status<'_>, target: &[u8], target_version: [u32; 3]) {
        let flags = self.superblock.flags;
        let layout = self.layout;
        let yes_no = |yes: bool| if yes { 'y' } else { 'n' };

        status.target_name_version(target, target_version);
        status.bytes(b",dev_name=");
        status.bytes(self.device);
        status.emit(format_args!(
            ",start={},tag_size={},mode={}",
            layout.start(),
            layout.tag_size().bytes(),
            layout.mode().letter(),
        ));
        if let Some(device) = self.meta_device {
            status.bytes(b",meta_device=");
            status.bytes(device);
        }
        if layout.block().sectors() != 1 {
            status.emit(format_args!(",block_size={}", layout.block().bytes()));
        }
        for (name, yes) in [
            ("recalculate", flags.contains(Flags::RECALCULATING)),
            ("allow_discards", self.discards != Discards::None),
            ("allow_discards_keyed", self.discards == Discards::Keyed),
            ("fix_padding", flags.contains(Flags::FIXED_PADDING)),
            ("fix_hmac", flags.contains(Flags::FIXED_HMAC)),
            ("legacy_recalculate", self.legacy_recalculate),
        ] {
            status.emit(format_args!(",{name}={}", yes_no(yes)));
        }
        status.emit(format_args!(
            ",journal_sectors={},interleave_sectors={},buffer_sectors={};",
            layout.journal_sectors(),
            layout.interleave_sectors(),
            self.buffer_sectors(),
        ));
    }
}
