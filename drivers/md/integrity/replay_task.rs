// SPDX-License-Identifier: GPL-2.0

//! What is in the journal when a device is resumed: what was not written to its place before the
//! machine stopped is now.

use crate::{
    commit::Sequence,
    journal_area::Area,
    replay::{
        Erase,
        Plan,
        Resume, //
    },
    target::Integrity,
    write_out::Origin, //
};
use core::sync::atomic::Ordering;
use dm::{
    context::MaySleep,
    target::Target, //
};
use kernel::prelude::*;

impl Integrity {
    /// Replays the journal, or empties it; then the ring starts. Does nothing if the journal is
    /// known to be as the ring has it. May sleep.
    pub(crate) fn replay(&self, ti: &Target, token: MaySleep<'_>) {
        let Some(area) = &self.area else {
            return;
        };
        if self.journal_current.load(Ordering::Relaxed) {
            return;
        }
        let resume = self.replay_area(ti, area, token);
        self.state.lock().ring.start_at(&resume);
    }

    fn replay_area(&self, ti: &Target, area: &Area, token: MaySleep<'_>) -> Resume {
        if !self.just_formatted.load(Ordering::Relaxed) {
            area.read(&self.io, &self.failure, token);
        }
        let plan = match self.failure.get() {
            Ok(()) => Plan::new(area, self.mode),
            Err(_) => return Resume::from_start(),
        };
        let plan = match plan {
            Ok(plan) => plan,
            Err(error) => {
                let text = error.text().to_str().unwrap_or_default();
                self.failure.set(text, EIO);
                return Resume::from_start();
            }
        };
        if let Some(sections) = plan.replay {
            self.write_out(ti, area, sections, Origin::Disk, token);
        }
        if let Some(erase) = &plan.erase {
            self.erase_journal(area, erase, token);
        }
        plan.resume
    }

    fn erase_journal(&self, area: &Area, erase: &Erase, token: MaySleep<'_>) {
        for sections in erase.steps {
            area.erase(&self.io, sections, erase.sequence, &self.failure, token);
        }
    }
}

impl Resume {
    /// The start of an empty journal; where the device has failed, it does not matter.
    fn from_start() -> Self {
        Self {
            section: 0,
            sequence: Sequence::default(),
        }
    }
}
