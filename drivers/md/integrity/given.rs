// SPDX-License-Identifier: GPL-2.0

//! Tags that come with the data: the device above computes them, and this one only keeps them.

use crate::{
    tags::{
        address,
        Chunk, //
    },
    target::Integrity, //
};
use dm::{
    bio::{
        Cursor,
        Owned, //
    },
    context::MaySleep, //
};
use kernel::prelude::*;

/// The tags of a bio, if it has any.
pub(crate) struct Given<'a> {
    cursor: Option<Cursor<'a>>,
    tag: usize,
}

impl Given<'_> {
    /// Copies the next tag to the front of `out`: zeroes if the bio has none.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result {
        let tag = out.get_mut(..self.tag).ok_or(EINVAL)?;
        match &mut self.cursor {
            Some(cursor) => cursor.copy_to(tag),
            None => {
                tag.fill(0);
                Ok(())
            }
        }
    }

    /// Copies tags to the bio, if it wants any.
    pub(crate) fn write(&mut self, tags: &[u8]) -> Result {
        match &mut self.cursor {
            Some(cursor) => cursor.copy_from(tags),
            None => Ok(()),
        }
    }
}

impl Integrity {
    /// The tags of the part of a bio.
    pub(crate) fn given_tags<'b>(&self, bio: &'b Owned<'_, Self>) -> Given<'b> {
        let tag = self.tag_bytes();
        let blocks = self.layout.block().blocks_in(bio.data().done.into());
        let skipped = blocks.saturating_mul(tag as u64);
        let mut cursor = match self.tagger {
            Some(_) => None,
            None => bio.metadata(),
        };
        if let Some(cursor) = &mut cursor {
            cursor.advance(u32::try_from(skipped).unwrap_or(u32::MAX));
        }
        Given { cursor, tag }
    }

    /// Calls `f` with the address and the length of chunks of the tags of the part of a bio.
    fn each_given(
        &self,
        bio: &Owned<'_, Self>,
        mut f: impl FnMut(&mut Given<'_>, u64, usize) -> Result,
    ) -> Result {
        let mut given = self.given_tags(bio);
        if given.cursor.is_none() {
            return Ok(());
        }
        let progress = bio.data();
        let mut left = self.layout.block().blocks_in(progress.part.into()) as usize;
        let mut at = address(&self.layout, progress.sector);
        while left > 0 {
            let count = left.min(Chunk::room(self.tag_bytes()) as usize);
            let len = count.saturating_mul(self.tag_bytes());
            f(&mut given, at, len)?;
            at = at.saturating_add(len as u64);
            left = left.saturating_sub(count);
        }
        Ok(())
    }

    /// Writes the tags that came with the part of a bio; without any, those on the disk stay. May
    /// sleep.
    pub(crate) fn write_given_tags(&self, bio: &Owned<'_, Self>, token: MaySleep<'_>) -> Result {
        let mut chunk = Chunk::new();
        self.each_given(bio, |given, at, len| {
            chunk.clear();
            while chunk.tags().len() < len {
                chunk.push(self.tag_bytes(), |out| given.read(out))?;
            }
            self.tags.write(at, chunk.tags(), token)
        })
    }

    /// Reads the tags that go with the part of a bio, if it wants them. May sleep.
    pub(crate) fn read_given_tags(&self, bio: &Owned<'_, Self>, token: MaySleep<'_>) -> Result {
        let mut chunk = Chunk::new();
        self.each_given(bio, |given, at, len| {
            chunk.clear();
            chunk.push(len, |out| {
                let tags = out.get_mut(..len).ok_or(EINVAL)?;
                self.tags.read(at, tags, token)
            })?;
            given.write(chunk.tags())
        })
    }
}
