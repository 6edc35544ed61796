// SPDX-License-Identifier: GPL-2.0

//! What stays in the journal when it is written out: blocks that begin a [group](crate::groups)
//! of which others are not in the journal yet. So what is written one after the other is written
//! out without tags having to be read.
//!
//! A section that has such blocks is not freed, and none after it: sections are freed in their
//! order, so nothing is written over any of them on the disk, and after a crash they are replayed.
//! Nothing stays where somebody waits for more room than there would be, for a discard, and when
//! the device is suspended.
//!
//! All blocks of a group stay, or none does. It depends on the sections that are written out, and
//! on the index, out of which entries go as they are written. So an older entry of a block never
//! stays where a newer one is written.

use crate::{
    journal_area::Area,
    replay::{
        next_run,
        Journal,
        Sections, //
    },
    target::{
        Integrity,
        COMMIT,
        WRITE_OUT, //
    },
    write_out::Run, //
};
use dm::{
    context::MaySleep,
    target::Target, //
};

/// How it is decided what stays.
#[derive(Clone, Copy)]
pub(crate) struct Staying {
    /// The sections of which blocks may stay.
    recent: Sections,
    /// The first sector of the group that was looked at last, and whether it stays.
    last: Option<(u64, bool)>,
}

impl Integrity {
    /// Has everything that was written up to now go to its place. May sleep.
    pub(crate) fn drain_journal(&self, ti: &Target, token: MaySleep<'_>) {
        let mut state = self.state.lock();
        state.ring.drains = state.ring.drains.saturating_add(1);
        drop(state);
        for task in [COMMIT, WRITE_OUT] {
            ti.start_task(task);
            ti.flush_task(task, token);
        }
        let mut state = self.state.lock();
        state.ring.drains = state.ring.drains.saturating_sub(1);
    }

    /// Says how to decide what of some sections stays, if anything may.
    pub(crate) fn staying(&self, area: &Area, sections: Sections) -> Option<Staying> {
        let all = area.geometry().sections();
        let recent = self.tags.groups.recent(sections, all, area.entries());
        let staying = Staying { recent, last: None };
        let state = self.state.lock();
        if state.ring.drains != 0 {
            return None;
        }
        if state.ring.is_enough(0) {
            return Some(staying);
        }
        drop(state);
        // Somebody waits.
        let freed = self.count_freed(area, sections, staying);
        let state = self.state.lock();
        state.ring.is_enough(freed).then_some(staying)
    }

    /// How many sections there are before the first one of which something stays.
    fn count_freed(&self, area: &Area, sections: Sections, mut staying: Staying) -> u32 {
        let older = sections.count.saturating_sub(staying.recent.count);
        (older..sections.count)
            .find(|&n| {
                let section = sections.nth(n, area.geometry().sections());
                self.stays_in(area, section, &mut staying)
            })
            .unwrap_or(sections.count)
    }

    /// Whether anything of a section stays.
    fn stays_in(&self, area: &Area, section: u32, staying: &mut Staying) -> bool {
        let mut entry = 0;
        while let Some(found) = next_run(area, &self.layout, section, entry) {
            entry = found.first.saturating_add(found.count);
            let mut run = Run::new(section, &found);
            if self.leave_staying(&mut run, staying) {
                return true;
            }
        }
        false
    }

    /// Takes what stays off a run, at either end. Returns whether there is anything.
    pub(crate) fn leave_staying(&self, run: &mut Run, staying: &mut Staying) -> bool {
        if !staying
            .recent
            .has(run.section, self.layout.journal().sections())
        {
            return false;
        }
        let step = u64::from(self.layout.block().sectors());
        let groups = &self.tags.groups;
        let mut any = false;
        let all = self.range_of(run);
        let first = groups.of(all.start);
        if !all.covers(&first) && self.stays(first.start, staying) {
            let sectors = first.end().min(all.end()).saturating_sub(all.start);
            let blocks = sectors.checked_div(step).unwrap_or(0) as u32;
            run.first = run.first.saturating_add(blocks);
            run.sector = run.sector.saturating_add(sectors);
            any = true;
        }
        if run.first == run.end {
            return any;
        }
        let last = groups.of(all.end().saturating_sub(step));
        if last != first && !all.covers(&last) && self.stays(last.start, staying) {
            let sectors = all.end().saturating_sub(last.start);
            let blocks = sectors.checked_div(step).unwrap_or(0) as u32;
            run.end = run.end.saturating_sub(blocks);
            any = true;
        }
        any
    }

    /// Whether a group stays.
    fn stays(&self, start: u64, staying: &mut Staying) -> bool {
        if let Some((_, answer)) = staying.last.filter(|&(group, _)| group == start) {
            return answer;
        }
        let groups = &self.tags.groups;
        let state = self.state.lock();
        let has = |sector| state.ring.has(staying.recent, sector);
        let answer = groups.is_begun(groups.of(start), has);
        staying.last = Some((start, answer));
        answer
    }
}
