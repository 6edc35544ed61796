// SPDX-License-Identifier: GPL-2.0

//! Blocks that may be forgotten: their tags say so first.

use crate::{
    options::Discards,
    progress::Step,
    table::Mode,
    tags::{
        address,
        Chunk,
        FILLER, //
    },
    target::Integrity, //
};
use dm::{
    bio::{
        Handed,
        Owned, //
    },
    context::MaySleep,
    target::Target, //
};
use kernel::prelude::*;

impl Integrity {
    /// Goes on with a discard whose range is locked. May sleep.
    pub(crate) fn discard<'a>(
        &self,
        ti: &Target,
        mut bio: Owned<'a, Self>,
        token: MaySleep<'_>,
    ) -> Handed<'a> {
        if self.mode == Mode::Journal && !bio.data().drained && self.is_in_journal(&bio) {
            self.release(bio.data().range());
            self.drain_journal(ti, token);
            let progress = bio.data_mut();
            progress.drained = true;
            progress.step = Step::Start;
            return bio.queue(&self.queues.offload);
        }
        if let Err(error) = self.write_discarded(&bio, token) {
            return self.finish_part(ti, bio, error.into());
        }
        if self.mode != Mode::Direct {
            // Before the data may change.
            self.flush_devices(false, token);
        }
        self.submit_data(bio)
    }

    fn is_in_journal(&self, bio: &Owned<'_, Self>) -> bool {
        let block = self.layout.block();
        let progress = bio.data();
        let blocks = block.blocks_in(progress.part.into()) as u32;
        let state = self.state.lock();
        let free = state
            .ring
            .index
            .free_blocks(progress.sector, blocks, block.sectors());
        free < blocks
    }

    /// Writes the tags of discarded blocks. May sleep.
    fn write_discarded(&self, bio: &Owned<'_, Self>, token: MaySleep<'_>) -> Result {
        let block = self.layout.block();
        let tag = self.tag_bytes();
        let mut sector = bio.data().sector;
        let mut at = address(&self.layout, sector);
        let mut left = block.blocks_in(bio.data().part.into()) as u32;
        let mut chunk = Chunk::new();
        self.failure.get()?;
        while left > 0 {
            let count = left.min(Chunk::room(tag));
            chunk.clear();
            for _ in 0..count {
                chunk.push(tag, |out| self.discarded_tag(sector, out))?;
                sector = sector.saturating_add(block.sectors().into());
            }
            self.tags.write(at, chunk.tags(), token)?;
            at = at.saturating_add(chunk.tags().len() as u64);
            left = left.saturating_sub(count);
        }
        Ok(())
    }

    fn discarded_tag(&self, sector: u64, out: &mut [u8]) -> Result {
        match &self.tagger {
            Some(tagger) if self.settings.discards == Discards::Keyed => {
                tagger.discarded(sector, out)
            }
            _ => {
                let tag = out.get_mut(..self.tag_bytes()).ok_or(EINVAL)?;
                tag.fill(FILLER);
                Ok(())
            }
        }
    }
}
