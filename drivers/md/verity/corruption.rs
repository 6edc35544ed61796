// SPDX-License-Identifier: GPL-2.0

//! What is done about bad blocks, and about devices that fail.

use crate::{
    options::{
        CorruptionMode,
        ErrorMode, //
    },
    report::{
        Corruption,
        MAX_REPORTS,
        REACHED_MAXIMUM,
        UEVENT_LENGTH, //
    },
    target::Verity,
    LOG, //
};
use core::sync::atomic::{
    AtomicBool,
    AtomicU32,
    Ordering, //
};
use dm::{
    bio::Owned,
    context::MaySleep,
    log::RateLimit,
    reboot,
    target::Target, //
};
use kernel::prelude::*;

/// The corruptions that a device has seen.
pub(crate) struct Corruptions {
    any: AtomicBool,
    reports: AtomicU32,
}

impl Corruptions {
    pub(crate) fn new() -> Self {
        Self {
            any: AtomicBool::new(false),
            reports: AtomicU32::new(0),
        }
    }

    /// Returns whether there was one, reported or not.
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Notes a corruption. Returns the number of its report, from 1, or `None` if there were
    /// [`MAX_REPORTS`] already.
    fn note(&self) -> Option<u32> {
        self.any.store(true, Ordering::Relaxed);
        self.reports
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                (n < MAX_REPORTS).then(|| n.wrapping_add(1))
            })
            .ok()
            .map(|n| n.wrapping_add(1))
    }
}

impl Verity {
    /// Reports a bad block and does what the table says.
    ///
    /// # Errors
    ///
    /// `EIO` unless corruption is to be ignored.
    pub(crate) fn handle_corruption(
        &self,
        ti: &Target,
        corruption: Corruption,
        token: MaySleep<'_>,
    ) -> Result {
        self.note_corruption(ti, corruption, token);
        match self.options.corruption {
            CorruptionMode::Ignore => return Ok(()),
            CorruptionMode::Eio => (),
            CorruptionMode::Restart => reboot::restart(c"dm-verity device corrupted", token),
            CorruptionMode::Panic => reboot::panic(c"dm-verity device corrupted"),
        }
        Err(EIO)
    }

    /// Reports a bad block, and that is all.
    pub(crate) fn note_corruption(&self, ti: &Target, corruption: Corruption, token: MaySleep<'_>) {
        if let Some(number) = self.corruptions.note() {
            self.report(ti, corruption, number, token);
        }
    }

    fn report(&self, ti: &Target, corruption: Corruption, number: u32, token: MaySleep<'_>) {
        static LIMIT: RateLimit = RateLimit::new();

        let name = self.data_device.name().to_str().unwrap_or_default();
        LOG.error_limited(&LIMIT, format_args!("{}: {}", name, corruption));
        if number == MAX_REPORTS {
            LOG.error(format_args!("{}: {}", name, REACHED_MAXIMUM));
            ti.audit(c"verity", c"max-corrupted-errors", false, token);
        }
        let mut buffer = [0; UEVENT_LENGTH];
        ti.uevent(corruption.uevent(&mut buffer), token);
    }

    /// Returns whether the failure of a bio stops the machine, and panics if that is how.
    ///
    /// Failures that do not count: of guesses, of bad blocks, which are no errors of a device,
    /// and of devices that go away because the machine does.
    pub(crate) fn stops_at_error(&self, bio: &Owned<'_, Self>) -> bool {
        if self.options.error == ErrorMode::Eio
            || bio.is_read_ahead()
            || bio.data().had_mismatch
            || reboot::is_going_down()
        {
            return false;
        }
        if self.options.error == ErrorMode::Panic {
            reboot::panic(c"dm-verity device has I/O error");
        }
        true
    }

    /// Restarts the machine because a device failed.
    pub(crate) fn restart_after_error(&self, token: MaySleep<'_>) {
        reboot::restart(c"dm-verity device has I/O error", token);
    }
}
