// SPDX-License-Identifier: GPL-2.0

//! The table line: `<device> <start> <block size> <reserved buffers> [<word> <number>]...`
//!
//! The words are
//!
//! - `around N`: a missing block is read with those of the N blocks, aligned, that it is among;
//! - `ahead N`: before a block is read, the N from it on are prefetched;
//! - `hold N`: as many blocks, and no more than are reserved, are held at once;
//! - `forget N`: every N-th block is dropped after it was read;
//! - `renew N`: every N-th block is filled anew with what was in it;
//! - `reset N`: all blocks are dropped every N blocks;
//! - `softirq 1`: bios go to the device first, and where they complete, the blocks that are in the
//!   cache replace what the device has read; the others are read through the cache then.

use dm::target::{
    args::{
        Args,
        Range,
        TableError, //
    },
    device::Device,
    with_text,
    Access,
    Construction,
    Word, //
};
use kernel::prelude::*;

/// What a cache is made of: the front of the table line of both targets.
pub(crate) struct Cache {
    pub(crate) device: Device,
    pub(crate) start: u64,
    pub(crate) block_size: u32,
    pub(crate) reserved: u32,
}

impl Cache {
    /// Parses `<device> <start> <block size> <reserved buffers>`.
    pub(crate) fn parse(
        ti: &Construction<'_>,
        args: &mut Args<'_, [Word]>,
        access: Access,
    ) -> Result<Self, TableError> {
        let path = args.expect(c"No device")?;
        Ok(Self {
            device: ti
                .open(path, access)
                .map_err(with_text(c"Device lookup failed"))?,
            start: args.read(&ANY)?.into(),
            block_size: args.read(&ANY)?,
            reserved: args.read(&ANY)?,
        })
    }
}

/// What the table line says.
pub(crate) struct Table {
    pub(crate) cache: Cache,
    pub(crate) usage: Usage,
}

/// How the cache is used; 0 for not at all.
#[derive(Default)]
pub(crate) struct Usage {
    pub(crate) around: u32,
    pub(crate) ahead: u32,
    pub(crate) hold: u32,
    pub(crate) forget: u32,
    pub(crate) renew: u32,
    pub(crate) reset: u32,
    pub(crate) softirq: u32,
}

const ANY: Range = Range::new(0, u32::MAX, c"Invalid number");

impl Usage {
    fn of(&mut self, word: &CStr) -> Option<&mut u32> {
        Some(match word.to_bytes() {
            b"around" => &mut self.around,
            b"ahead" => &mut self.ahead,
            b"hold" => &mut self.hold,
            b"forget" => &mut self.forget,
            b"renew" => &mut self.renew,
            b"reset" => &mut self.reset,
            b"softirq" => &mut self.softirq,
            _ => return None,
        })
    }
}

/// Parses the table line.
pub(crate) fn parse(ti: &Construction<'_>, words: &[Word]) -> Result<Table, TableError> {
    let mut args = Args::new(words);
    let cache = Cache::parse(ti, &mut args, Access::Read)?;
    let mut usage = Usage::default();
    while let Some(word) = args.shift() {
        let place = usage.of(word).ok_or(TableError::invalid(c"Unknown word"))?;
        *place = args.read(&ANY)?;
    }
    Ok(Table { cache, usage })
}
