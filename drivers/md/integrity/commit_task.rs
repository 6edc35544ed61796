// SPDX-License-Identifier: GPL-2.0

//! What was written is made to last: the journal is written to the disk, or tags are.

use crate::{
    journal_area::Area,
    replay::Sections,
    table::Mode,
    target::{
        Integrity,
        COMMIT,
        WRITE_OUT, //
    },
};
use core::sync::atomic::Ordering;
use dm::{
    bio::BlockStatus,
    context::MaySleep,
    target::Target, //
};

impl Integrity {
    /// The task: commits all that was written so far, and then ends the bios that wait for it.
    pub(crate) fn commit(&self, ti: &Target, token: MaySleep<'_>) {
        let mut state = self.state.lock();
        let mut flushes = state.flushes.take();
        let area = self.area.as_ref().filter(|_| self.mode == Mode::Journal);
        match area {
            Some(area) => {
                let sections = state.ring.take_uncommitted(!flushes.is_empty());
                let rest = state.ring.has_incomplete();
                drop(state);
                if sections.count != 0 {
                    self.commit_sections(area, sections, token);
                }
                if rest {
                    ti.start_task_after(COMMIT, self.settings.commit_time);
                }
                self.make_room(ti);
            }
            None => {
                drop(state);
                self.flush_devices(true, token);
            }
        }
        while let Some(bio) = flushes.pop() {
            let _ = self.end(ti, bio, BlockStatus::OK);
        }
    }

    /// Writes sections to the disk.
    fn commit_sections(&self, area: &Area, sections: Sections, token: MaySleep<'_>) {
        self.journal_used.store(true, Ordering::Relaxed);
        let mut section = sections.first;
        for _ in 0..sections.count {
            self.wait_for_entries(token, |state| state.ring.is_section_filled(section));
            section = self.seal_section(area, section);
        }
        area.write(&self.io, sections, &self.failure, token);
        self.state.lock().ring.commit(sections);
    }

    /// Has the journal written out, if there is little room left in it.
    fn make_room(&self, ti: &Target) {
        let low = self.state.lock().ring.is_low(self.settings.free_threshold);
        if low {
            ti.start_task(WRITE_OUT);
        }
    }

    /// Gives a section its commit ids, and returns the next one.
    fn seal_section(&self, area: &Area, section: u32) -> u32 {
        let mut state = self.state.lock();
        let sequence = state.ring.sequence;
        let next = state.ring.section_after(section, 1);
        if next == 0 {
            state.ring.sequence = sequence.next();
        }
        drop(state);
        area.seal(section, sequence);
        next
    }
}
