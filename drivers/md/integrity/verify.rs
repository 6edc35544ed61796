// SPDX-License-Identifier: GPL-2.0

//! Tags of what is written, and of what was read.

use crate::{
    tagger::Tagger,
    tags::{
        address,
        Chunk, //
    },
    target::Integrity,
    LOG, //
};
use dm::{
    bio::{
        BlockStatus,
        Owned, //
    },
    context::MaySleep,
    log::RateLimit,
    target::Target, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*, //
};

impl Integrity {
    /// Computes the tags of the part of a bio, and hands them on chunk by chunk, with their
    /// address, until one is refused.
    fn each_chunk(
        &self,
        tagger: &Tagger,
        bio: &Owned<'_, Self>,
        mut f: impl FnMut(u64, &[u8]) -> Result<bool>,
    ) -> Result<bool> {
        let block = self.layout.block();
        let progress = bio.data();
        let mut cursor = bio.cursor();
        cursor.advance(progress.offset());
        let mut chunk = Chunk::new();
        let mut sector = progress.sector;
        let mut left = block.blocks_in(progress.part.into()) as u32;
        let mut address = address(&self.layout, sector);
        while left > 0 {
            let count = left.min(Chunk::room(tagger.tag_bytes()));
            self.compute_tags(tagger, &mut cursor, sector, count, &mut chunk)?;
            if !f(address, chunk.tags())? {
                return Ok(false);
            }
            address = address.saturating_add(chunk.tags().len() as u64);
            let sectors = u64::from(count).saturating_mul(block.sectors().into());
            sector = sector.saturating_add(sectors);
            left = left.saturating_sub(count);
        }
        Ok(true)
    }

    /// Writes the tags of the part of a bio to the cache. May sleep.
    pub(crate) fn write_tags(&self, bio: &Owned<'_, Self>, token: MaySleep<'_>) -> Result {
        self.failure.get()?;
        let Some(tagger) = &self.tagger else {
            return self.write_given_tags(bio, token);
        };
        self.each_chunk(tagger, bio, |address, tags| {
            self.tags.write(address, tags, token)?;
            Ok(true)
        })?;
        Ok(())
    }

    /// Verifies the part of a bio that was read. May sleep.
    pub(crate) fn verify(
        &self,
        ti: &Target,
        bio: &mut Owned<'_, Self>,
        token: MaySleep<'_>,
    ) -> BlockStatus {
        let Some(tagger) = &self.tagger else {
            return self.read_given_tags(bio, token).into();
        };
        if !self.is_clean(bio.data()) {
            return BlockStatus::OK;
        }
        let good = self.failure.get().and_then(|()| {
            self.each_chunk(tagger, bio, |address, tags| {
                self.tags.compare(address, tags, token)
            })
        });
        match good {
            Ok(true) => BlockStatus::OK,
            Ok(false) => self.recheck(ti, tagger, bio, token).into(),
            Err(error) => error.into(),
        }
    }

    /// Reads the part of a bio again, block by block, to where nobody else writes: the data may
    /// have been changed while it was hashed. May sleep.
    #[cold]
    fn recheck(
        &self,
        ti: &Target,
        tagger: &Tagger,
        bio: &Owned<'_, Self>,
        token: MaySleep<'_>,
    ) -> Result {
        let block = self.layout.block();
        let progress = bio.data();
        let mut cursor = bio.cursor();
        cursor.advance(progress.offset());
        let mut page = self.recheck_pages.alloc(token);
        for n in 0..block.blocks_in(progress.part.into()) {
            let offset = n.saturating_mul(block.sectors().into());
            let sector = progress.sector.saturating_add(offset);
            let data = self.read_block(sector, &mut page, token)?;
            if !self.is_right(tagger, sector, data, token)? {
                self.report(ti, bio, sector, token);
                return Err(EILSEQ);
            }
            let target = cursor.segment().ok_or(EIO)?;
            target.copy_from(data);
            cursor.advance(block.bytes());
        }
        Ok(())
    }

    /// Reads a block, and as much around it as the device wants.
    fn read_block<'p>(
        &self,
        sector: u64,
        page: &'p mut [u8],
        token: MaySleep<'_>,
    ) -> Result<&'p [u8]> {
        let bytes = self.layout.block().bytes();
        let unit = self.device.logical_block_size().max(bytes);
        if unit as usize > PAGE_SIZE {
            return Err(EIO);
        }
        let place = self.layout.data_sector(sector);
        let before = place & u64::from(unit >> 9).wrapping_sub(1);
        let buffer = page.get_mut(..unit as usize).ok_or(EIO)?;
        let start = place.saturating_sub(before);
        self.io.read(&self.device, start, buffer, token)?;
        let skip = (before as usize).saturating_mul(512);
        buffer
            .get(skip..skip.saturating_add(bytes as usize))
            .ok_or(EIO)
    }

    /// Returns whether the tag of a block is right: that of its data, or of a discarded block.
    fn is_right(
        &self,
        tagger: &Tagger,
        sector: u64,
        data: &[u8],
        token: MaySleep<'_>,
    ) -> Result<bool> {
        let address = address(&self.layout, sector);
        let mut chunk = Chunk::new();
        let tag = tagger.tag_bytes();
        chunk.push(tag, |out| tagger.tag(sector, data.into(), out))?;
        if self.tags.compare(address, chunk.tags(), token)? {
            return Ok(true);
        }
        if !self.settings.has_keyed_discards() {
            return Ok(false);
        }
        chunk.clear();
        chunk.push(tag, |out| tagger.discarded(sector, out))?;
        self.tags.compare(address, chunk.tags(), token)
    }

    /// Reports a block whose tag is wrong. May sleep.
    #[cold]
    fn report(&self, ti: &Target, bio: &Owned<'_, Self>, sector: u64, token: MaySleep<'_>) {
        static LIMIT: RateLimit = RateLimit::new();

        LOG.error_limited(
            &LIMIT,
            fmt!(
                "{}: Checksum failed at sector 0x{:x}",
                ti.disk_name().to_str().unwrap_or_default(),
                sector
            ),
        );
        self.failure.count_mismatch();
        bio.audit(c"integrity", c"integrity-checksum", sector, false, token);
    }
}
