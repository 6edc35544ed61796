// SPDX-License-Identifier: GPL-2.0

//! Bios and the journal: writes go into it, and what is in it is read from there.

use crate::{
    progress::{
        Progress,
        Step, //
    },
    start::Plan,
    state::State,
    tags::Chunk,
    target::{
        Integrity,
        COMMIT, //
    },
};
use dm::{
    bio::{
        BlockStatus,
        Cursor,
        Handed,
        Owned,
        Segment, //
    },
    context::MaySleep,
    target::Target, //
};
use kernel::prelude::*;

impl Integrity {
    fn block_sectors(&self) -> u32 {
        self.layout.block().sectors()
    }

    fn blocks(&self, sectors: u32) -> u32 {
        self.layout.block().blocks_in(sectors.into()) as u32
    }

    /// Takes entries of the journal for as much of a write as there is room for.
    pub(crate) fn plan_fill(&self, state: &mut State, progress: &mut Progress) -> Plan {
        let Some((first, count)) = state.ring.take(self.blocks(progress.left)) else {
            return Plan::WaitForRoom;
        };
        progress.part = count.saturating_mul(self.block_sectors());
        let (mut entry, mut sector) = (first, progress.sector);
        for _ in 0..count {
            state.ring.enter(entry, sector);
            entry = state.ring.entry_after(entry);
            sector = sector.saturating_add(self.block_sectors().into());
        }
        Plan::Fill(first)
    }

    /// Finds out how much of a read is in the journal, or is not.
    pub(crate) fn plan_read(&self, state: &State, progress: &mut Progress) {
        let blocks = self.blocks(progress.left);
        let step = self.block_sectors();
        let index = &state.ring.index;
        progress.journal = index.find(progress.sector);
        let blocks = match progress.journal {
            None => index.free_blocks(progress.sector, blocks, step),
            Some(first) => (1..blocks)
                .find(|&n| !self.is_at(state, progress.sector, first, n))
                .unwrap_or(blocks),
        };
        progress.part = blocks.saturating_mul(step);
    }

    /// Returns whether the `n`-th block after one is in the `n`-th entry after its.
    fn is_at(&self, state: &State, sector: u64, entry: u32, n: u32) -> bool {
        let offset = u64::from(n).saturating_mul(self.block_sectors().into());
        let entry = entry.saturating_add(n);
        state
            .ring
            .index
            .is_newest(entry, sector.saturating_add(offset))
    }

    /// Returns whether the journal has no longer the blocks that a read wants from it.
    pub(crate) fn is_moved(&self, state: &State, progress: &Progress) -> bool {
        progress.journal.is_some_and(|first| {
            (0..self.blocks(progress.part)).any(|n| !self.is_at(state, progress.sector, first, n))
        })
    }

    /// Calls `f` with each block of the part of a bio, its number, and its sector.
    fn each_block(
        &self,
        bio: &Owned<'_, Self>,
        mut f: impl FnMut(u64, &Segment<'_>) -> Result,
    ) -> Result {
        let progress = bio.data();
        let mut cursor = bio.cursor();
        cursor.advance(progress.offset());
        self.blocks_from(cursor, progress.sector, progress.part)
            .try_for_each(|block| block.and_then(|(sector, data)| f(sector, &data)))
    }

    /// The blocks of the data from a cursor on, `part` sectors of it that start at `sector`, each
    /// with its sector.
    pub(crate) fn blocks_from<'c>(
        &self,
        mut cursor: Cursor<'c>,
        mut sector: u64,
        part: u32,
    ) -> impl Iterator<Item = Result<(u64, Segment<'c>)>> {
        let block = self.layout.block();
        (0..self.blocks(part)).map(move |_| {
            // Bios whose blocks are not in one piece were refused.
            let segment = cursor.segment();
            let data = segment.and_then(|segment| segment.first(block.bytes() as usize));
            let found = (sector, data.ok_or(EIO)?);
            cursor.advance(block.bytes());
            sector = sector.saturating_add(block.sectors().into());
            Ok(found)
        })
    }

    /// Copies the part of a write to entries that were taken for it. Any context.
    pub(crate) fn fill_journal(&self, ti: &Target, bio: &Owned<'_, Self>, first: u32) -> Result {
        let Some(area) = &self.area else {
            return Err(EIO);
        };
        let mut place = area.place(first);
        let mut chunk = Chunk::new();
        let mut given = self.given_tags(bio);
        let result = self.each_block(bio, |sector, block| {
            let mut good = area.fill(place, block);
            chunk.clear();
            match &self.tagger {
                Some(tagger) => {
                    let data = area.data(place).ok_or(EIO)?;
                    // The data of the bio may change, its copy does not.
                    chunk.push(tagger.tag_bytes(), |out| tagger.tag(sector, data, out))?;
                }
                None => chunk.push(self.tag_bytes(), |out| given.read(out))?,
            }
            good &= area.write_tag(place, chunk.tags());
            area.set_sector(place, sector);
            place = area.place_after(place);
            if good {
                Ok(())
            } else {
                Err(EIO)
            }
        });
        self.failure.check("journal entry", result);
        self.filled(ti, first, self.blocks(bio.data().part));
        result
    }

    /// Says that entries were filled, and has them committed some time.
    fn filled(&self, ti: &Target, first: u32, count: u32) {
        let mut state = self.state.lock();
        let ring = &mut state.ring;
        let mut entry = first;
        for _ in 0..count {
            ring.filled(entry);
            entry = ring.entry_after(entry);
        }
        let watched = ring.watchers != 0;
        let low = ring.is_low(self.settings.free_threshold) && ring.has_complete();
        ring.only_complete |= low;
        drop(state);
        if watched {
            self.state.notify();
        }
        match low {
            true => ti.start_task(COMMIT),
            false => ti.start_task_after(COMMIT, self.settings.commit_time),
        }
    }

    /// Copies the part of a read, which is locked, from the journal. `map` has no token.
    pub(crate) fn read_journal<'a>(
        &self,
        ti: &Target,
        mut bio: Owned<'a, Self>,
        token: Option<MaySleep<'_>>,
    ) -> Handed<'a> {
        let (Some(area), Some(first)) = (&self.area, bio.data().journal) else {
            return self.finish_part(ti, bio, BlockStatus::IO_ERROR);
        };
        let count = self.blocks(bio.data().part);
        let end = first.saturating_add(count);
        let is_filled = |state: &mut State| (first..end).all(|e| state.ring.is_filled(e));
        match token {
            None => {
                let ready = is_filled(&mut self.state.lock());
                if !ready {
                    bio.data_mut().step = Step::FromJournal;
                    return bio.queue(&self.queues.offload);
                }
            }
            Some(token) => self.wait_for_entries(token, is_filled),
        }
        let mut place = area.place(first);
        let mut given = self.given_tags(&bio);
        let mut chunk = Chunk::new();
        let result = self.each_block(&bio, |_, block| {
            let mut good = area.copy_to(place, block);
            if self.takes_tags {
                chunk.clear();
                chunk.push(self.tag_bytes(), |out| {
                    let tag = out.get_mut(..self.tag_bytes()).ok_or(EIO)?;
                    good &= area.read_tag(place, tag);
                    Ok(())
                })?;
                given.write(chunk.tags())?;
            }
            place = area.place_after(place);
            if good {
                Ok(())
            } else {
                Err(EIO)
            }
        });
        self.finish_part(ti, bio, result.into())
    }

    /// Waits until entries are filled. May sleep.
    pub(crate) fn wait_for_entries(
        &self,
        token: MaySleep<'_>,
        is_filled: impl FnMut(&mut State) -> bool,
    ) {
        let mut watchers = self.state.lock();
        watchers.ring.watchers = watchers.ring.watchers.saturating_add(1);
        drop(watchers);
        let mut state = self.state.wait_until(token, is_filled);
        state.ring.watchers = state.ring.watchers.saturating_sub(1);
    }

    /// Returns the bytes of a tag.
    pub(crate) fn tag_bytes(&self) -> usize {
        self.layout.tag_size().bytes().into()
    }
}
