// SPDX-License-Identifier: GPL-2.0

//! What a device has done, in debugfs.
//!
//! Each table has a file `rdm/verity-<major>:<minor>.<n>` with a line for each counter; `n` tells
//! the tables of a device apart. The status lines are as in C.

use core::sync::atomic::{
    AtomicU32,
    Ordering, //
};
use dm::{
    counters::Counters,
    debugfs::{
        Attribute,
        Show, //
    },
    target::{
        status::Status,
        Target, //
    }, //
};
use kernel::prelude::*;

/// What is counted.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    /// Bios verified in the task that read, or the thread that the device completed them in.
    Task,
    /// Bios verified in softirq.
    Softirq,
    /// Bios verified on the work queue without sleeping.
    Queue,
    /// Bios that were too large for softirq, or of a class that is not verified there.
    TooLarge,
    /// Bios that were not verified in softirq since a task waited for the CPU.
    Busy,
    /// Bios that went to a worker of their own since a hash block was not cached.
    Missing,
    /// Bios that went to a worker of their own since a digest was wrong.
    Mismatch,
    /// Data blocks hashed two at a time.
    Paired,
    /// Data blocks hashed one at a time.
    Single,
    /// Times that bios which had completed by then were verified together.
    Round,
    /// Bios that completed while a round was at work, and were verified by it.
    Late,
}

const NAMES: [&str; 11] = [
    "task",
    "softirq",
    "queue",
    "not_softirq_size",
    "not_softirq_busy",
    "fallback_missing",
    "fallback_mismatch",
    "blocks_paired",
    "blocks_single",
    "rounds",
    "late",
];

/// The values of the counters.
struct Values(Counters<{ NAMES.len() }>);

impl Show for Values {
    fn show(&self, text: &mut Status<'_>) {
        for (i, name) in NAMES.iter().enumerate() {
            text.emit(format_args!("{} {}\n", name, self.0.sum(i)));
        }
    }
}

/// The counters of a table.
pub(crate) struct Statistics(Attribute<Values>);

impl Statistics {
    /// Makes the counters of a table, and their file. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn new(ti: &Target) -> Result<Self> {
        static TABLES: AtomicU32 = AtomicU32::new(0);

        let n = TABLES.fetch_add(1, Ordering::Relaxed);
        let device = ti.device_name().to_str().unwrap_or_default();
        let values = Values(Counters::new()?);
        Ok(Self(Attribute::new(
            fmt!("verity-{}.{}", device, n),
            values,
        )?))
    }

    /// Counts `n` more. Any context.
    #[inline]
    pub(crate) fn add(&self, count: Count, n: u64) {
        if n > 0 {
            self.0 .0.add(count as usize, n);
        }
    }
}
