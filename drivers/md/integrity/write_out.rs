// SPDX-License-Identifier: GPL-2.0

//! What is in the journal is written to its place.

use crate::{
    journal_area::{
        Area,
        Place, //
    },
    progress::Step,
    ranges::Range,
    replay::{
        self,
        next_run,
        Journal,
        Sections, //
    },
    staying::Staying,
    tags::{
        address,
        Chunk, //
    },
    target::Integrity, //
};
use dm::{
    context::MaySleep,
    io::Batch,
    target::Target, //
};
use kernel::prelude::*;

/// The most ranges that are written at once.
const AT_ONCE: usize = 64;

/// Where sections come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// They were filled since the device was resumed.
    Memory,
    /// They were found on the disk.
    Disk,
}

/// Consecutive entries of a section with consecutive blocks.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) section: u32,
    pub(crate) first: u32,
    pub(crate) end: u32,
    /// The sector of the first block.
    pub(crate) sector: u64,
}

impl Run {
    pub(crate) fn new(section: u32, found: &replay::Run) -> Self {
        Self {
            section,
            first: found.first,
            end: found.first.saturating_add(found.count),
            sector: found.sector,
        }
    }
}

/// Writes that are under way, and their ranges.
struct Out<'b, 'env> {
    batch: &'b Batch<'env>,
    held: [Range; AT_ONCE],
    count: usize,
    staying: Option<Staying>,
    /// Whether anything of the section stays.
    stays: bool,
    /// Whether anything was written.
    wrote: bool,
}

impl Integrity {
    /// The task: writes the sections that were committed to their places, and frees them.
    pub(crate) fn write_out_committed(&self, ti: &Target, token: MaySleep<'_>) {
        let Some(area) = &self.area else {
            return;
        };
        let sections = self.state.lock().ring.committed();
        if sections.count == 0 {
            return;
        }
        let freed = self.write_out(ti, area, sections, Origin::Memory, token);
        let mut waiting = self.state.lock().ring.free(sections, freed);
        while let Some(mut bio) = waiting.pop() {
            bio.data_mut().step = Step::Start;
            let _ = bio.queue(&self.queues.wait);
        }
    }

    /// Writes sections to their places, and waits until they are on the medium. Returns the number
    /// of the first ones of which nothing was left. May sleep.
    pub(crate) fn write_out(
        &self,
        ti: &Target,
        area: &Area,
        sections: Sections,
        origin: Origin,
        token: MaySleep<'_>,
    ) -> u32 {
        let mut freed = sections.count;
        let mut wrote = false;
        let staying = match origin {
            Origin::Memory => self.staying(area, sections),
            Origin::Disk => None,
        };
        self.io
            .batch(token, |batch| {
                let mut out = Out {
                    batch,
                    held: [Range::default(); AT_ONCE],
                    count: 0,
                    staying,
                    stays: false,
                    wrote: false,
                };
                for n in 0..sections.count {
                    let section = sections.nth(n, area.geometry().sections());
                    self.write_section(ti, area, section, origin, &mut out, token);
                    if core::mem::replace(&mut out.stays, false) {
                        freed = freed.min(n);
                    }
                }
                wrote = out.wrote;
                if wrote {
                    // Tags go out while the blocks do, not after them.
                    self.tags.start_writing(token);
                }
                self.drain(&mut out, token);
            })
            .1
            // All writes were waited for, and what they said was looked at.
            .unwrap_or_default();
        if wrote || freed != 0 {
            self.flush_devices(true, token);
        }
        freed
    }

    /// Waits for the writes, and gives up their ranges.
    fn drain(&self, out: &mut Out<'_, '_>, token: MaySleep<'_>) {
        let result = out.batch.wait(token);
        self.failure.check("copying from journal", result);
        for range in out.held.iter().take(out.count) {
            self.release(*range);
        }
        out.count = 0;
    }

    /// Holds a range for a write. Gives up the others first if it has to wait.
    fn hold_for(&self, out: &mut Out<'_, '_>, range: Range, token: MaySleep<'_>) {
        if out.count == AT_ONCE {
            self.drain(out, token);
        }
        if !self.try_hold(range) {
            self.drain(out, token);
            self.hold(range, token);
        }
    }

    fn write_section<'env>(
        &'env self,
        ti: &Target,
        area: &'env Area,
        section: u32,
        origin: Origin,
        out: &mut Out<'_, 'env>,
        token: MaySleep<'_>,
    ) {
        if origin == Origin::Disk && !area.verify(section, &self.failure) {
            self.failure.set("journal mac", EILSEQ);
            ti.audit(c"integrity", c"mac-journal", false, token);
        }
        if origin == Origin::Disk {
            self.drop_beyond_end(area, section);
        }
        let mut entry = 0;
        while let Some(found) = next_run(area, &self.layout, section, entry) {
            if found.invalid {
                self.failure.set("invalid sector in journal", EIO);
            }
            entry = found.first.saturating_add(found.count);
            let mut run = Run::new(section, &found);
            if let Some(staying) = &mut out.staying {
                out.stays |= self.leave_staying(&mut run, staying);
                if run.first == run.end {
                    continue;
                }
            }
            out.wrote = true;
            for entry in run.first..run.end {
                area.restore(Place { section, entry });
            }
            self.write_run(ti, area, run, origin, out, token);
        }
    }

    /// Frees the entries of blocks that the device had when it was larger.
    fn drop_beyond_end(&self, area: &Area, section: u32) {
        for entry in 0..area.entries() {
            let place = Place { section, entry };
            let end = self.layout.provided_data_sectors();
            if area.sector_of(place).is_some_and(|sector| sector >= end) {
                area.set_unused(place);
            }
        }
    }

    pub(crate) fn range_of(&self, run: &Run) -> Range {
        let blocks = run.end.saturating_sub(run.first);
        Range {
            start: run.sector,
            len: u64::from(blocks).saturating_mul(self.layout.block().sectors().into()),
        }
    }

    fn write_run<'env>(
        &'env self,
        ti: &Target,
        area: &'env Area,
        mut run: Run,
        origin: Origin,
        out: &mut Out<'_, 'env>,
        token: MaySleep<'_>,
    ) {
        let whole = self.range_of(&run);
        self.hold_for(out, whole, token);
        if origin == Origin::Memory {
            self.leave_index(area, &mut run);
        }
        if run.first == run.end {
            self.release(whole);
            return;
        }
        if let Some(slot) = out.held.get_mut(out.count) {
            *slot = whole;
            out.count = out.count.saturating_add(1);
        }
        self.write_run_tags(ti, area, &run, origin, token);
        if self.failure.is_set() {
            return;
        }
        let place = Place {
            section: run.section,
            entry: run.first,
        };
        let start = area.data_at(place);
        let len = (self.range_of(&run).len as usize).saturating_mul(512);
        let part = start..start.saturating_add(len);
        let sector = self.layout.data_sector(run.sector);
        let result = out
            .batch
            .write(&self.device, sector, area.memory(), part, token);
        self.failure.check("copying from journal", result);
    }

    /// Takes the entries of a run out of the index, and those off the run, at either end, whose
    /// blocks were written anew and will be written after these.
    fn leave_index(&self, area: &Area, run: &mut Run) {
        let number = |entry: u32| {
            run.section
                .saturating_mul(area.entries())
                .saturating_add(entry)
        };
        let (mut first, mut end) = (run.first, run.end);
        let mut state = self.state.lock();
        while first < end && state.ring.is_superseded(number(first)) {
            first = first.saturating_add(1);
        }
        while first < end && state.ring.is_superseded(number(end.saturating_sub(1))) {
            end = end.saturating_sub(1);
        }
        for entry in run.first..run.end {
            state.ring.index.remove(number(entry));
        }
        drop(state);
        for entry in run.first..run.end {
            if entry < first || entry >= end {
                area.set_unused(Place {
                    section: run.section,
                    entry,
                });
            }
        }
        let step = u64::from(self.layout.block().sectors());
        let skipped = u64::from(first.saturating_sub(run.first));
        run.sector = run.sector.saturating_add(skipped.saturating_mul(step));
        (run.first, run.end) = (first, end);
    }

    /// Writes the tags of a run, and frees its entries.
    fn write_run_tags(
        &self,
        ti: &Target,
        area: &Area,
        run: &Run,
        origin: Origin,
        token: MaySleep<'_>,
    ) {
        let tag = self.tag_bytes();
        let mut chunk = Chunk::new();
        let mut at = address(&self.layout, run.sector);
        let mut sector = run.sector;
        for entry in run.first..run.end {
            let place = Place {
                section: run.section,
                entry,
            };
            let pushed = chunk.push(tag, |out| {
                let tag = out.get_mut(..tag).ok_or(EIO)?;
                area.read_tag(place, tag).then_some(()).ok_or(EIO)
            });
            self.failure.check("writing tags", pushed);
            if origin == Origin::Disk {
                self.check_entry(ti, area, place, sector, token);
            }
            area.set_unused(place);
            sector = sector.saturating_add(self.layout.block().sectors().into());
            let last = entry.saturating_add(1) == run.end;
            if last || chunk.is_full(tag) {
                let result = self.failure.get();
                let result = result.and_then(|()| self.tags.write(at, chunk.tags(), token));
                self.failure.check("writing tags", result);
                at = at.saturating_add(chunk.tags().len() as u64);
                chunk.clear();
            }
        }
    }

    /// Verifies the tag of a block that was found in the journal on the disk.
    fn check_entry(
        &self,
        ti: &Target,
        area: &Area,
        place: Place,
        sector: u64,
        token: MaySleep<'_>,
    ) {
        let (Some(tagger), Some(data)) = (&self.tagger, area.data(place)) else {
            return;
        };
        let mut computed = Chunk::new();
        let mut stored = [0; 255];
        let pushed = computed.push(tagger.tag_bytes(), |out| tagger.tag(sector, data, out));
        let tag = stored.get_mut(..tagger.tag_bytes()).unwrap_or_default();
        if pushed.is_err() || !area.read_tag(place, tag) || computed.tags() != &*tag {
            self.failure
                .set("tag mismatch when replaying journal", EILSEQ);
            ti.audit(c"integrity", c"integrity-replay-journal", false, token);
        }
    }
}
