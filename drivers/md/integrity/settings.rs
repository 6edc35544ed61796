// SPDX-License-Identifier: GPL-2.0

//! What a table asks for beyond the volume.

use crate::{
    environment::Kernel,
    journal,
    options::{
        Algorithm,
        Discards,
        Options, //
    },
};
use dm::{
    secret::Secret,
    target::device::Device, //
};

/// The options that are looked at when the device is in use.
pub(crate) struct Settings {
    /// Taken when the device is made.
    pub(crate) meta_device: Option<Device>,
    watermark: u8,
    /// The free entries of the journal at or below which it is written out.
    pub(crate) free_threshold: u32,
    /// Milliseconds.
    pub(crate) commit_time: u32,
    pub(crate) bitmap_flush_ticks: u32,
    pub(crate) reset_recalculate: bool,
    pub(crate) legacy_recalculate: bool,
    pub(crate) discards: Discards,
    pub(crate) internal_hash: Option<Algorithm<Secret>>,
    pub(crate) journal_crypt: Option<Algorithm<Secret>>,
    pub(crate) journal_mac: Option<Algorithm<Secret>>,
}

impl Settings {
    pub(crate) fn new(options: Options<Kernel<'_>>) -> Self {
        Self {
            meta_device: options.meta_device,
            watermark: options.journal_watermark,
            free_threshold: 0,
            commit_time: options.commit_time,
            bitmap_flush_ticks: options.bitmap_flush_ticks,
            reset_recalculate: options.reset_recalculate,
            legacy_recalculate: options.legacy_recalculate,
            discards: options.discards,
            internal_hash: options.internal_hash,
            journal_crypt: options.journal_crypt,
            journal_mac: options.journal_mac,
        }
    }

    /// Computes what depends on the size of the journal.
    pub(crate) fn set_journal(&mut self, journal: &journal::Geometry) {
        self.free_threshold = journal.free_threshold(self.watermark);
    }

    /// Returns whether discards are supported.
    pub(crate) fn has_discards(&self) -> bool {
        self.discards != Discards::None
    }

    /// Returns whether discarded blocks have tags that nobody can make without the key.
    pub(crate) fn has_keyed_discards(&self) -> bool {
        self.discards == Discards::Keyed
    }
}
