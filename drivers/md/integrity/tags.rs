// SPDX-License-Identifier: GPL-2.0

//! Tags on the disk, through the cache: of one bio, one range.

use crate::{
    groups::Groups,
    layout::Layout,
    options::Discards,
    tagger::{
        Tagger,
        SPARE, //
    },
    target::Integrity, //
};
use core::ops::Range;
use dm::{
    bio::Cursor,
    bufio::Store,
    bytes::Bytes,
    context::MaySleep, //
};
use kernel::prelude::*;

/// What the tags of discarded blocks consist of.
pub(crate) const FILLER: u8 = 0xf6;

/// The bytes of tags that are handled at once.
const TAGS: usize = 448;

/// Tags of some blocks, and what a digest may take beyond the last one.
pub(crate) struct Chunk {
    bytes: Bytes<{ TAGS + SPARE }>,
    len: usize,
}

impl Chunk {
    pub(crate) fn new() -> Self {
        Self {
            bytes: Bytes::new(),
            len: 0,
        }
    }

    /// How many tags of so many bytes there is room for: at least one.
    pub(crate) fn room(tag: usize) -> u32 {
        TAGS.checked_div(tag).unwrap_or(0).max(1) as u32
    }

    /// Whether there is no room for another tag of so many bytes.
    pub(crate) fn is_full(&self, tag: usize) -> bool {
        self.len.saturating_add(tag) > TAGS
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Has `f` write a tag of `tag` bytes, and up to [`SPARE`] bytes after it.
    pub(crate) fn push(&mut self, tag: usize, f: impl FnOnce(&mut [u8]) -> Result) -> Result {
        let end = self.len.saturating_add(tag);
        let room = self.len..end.saturating_add(SPARE);
        f(self.bytes.get_mut(room).ok_or(EINVAL)?)?;
        self.len = end;
        Ok(())
    }

    pub(crate) fn tags(&self) -> &[u8] {
        self.bytes.first(self.len)
    }
}

/// Where tags are in the cache.
pub(crate) struct Tags {
    pub(crate) store: Store,
    /// The blocks that have their tags in one unit of the device.
    pub(crate) groups: Groups,
    tag: usize,
    discards: Discards,
}

/// The byte of the area of tags at which that of a block is.
pub(crate) fn address(layout: &Layout, sector: u64) -> u64 {
    let position = layout.tag_position(sector);
    let bits = u32::from(layout.log2_buffer_sectors()).saturating_add(9);
    position
        .buffer
        .wrapping_shl(bits)
        .saturating_add(position.offset.into())
}

/// A piece of some bytes that is in one buffer.
struct Piece {
    block: u64,
    offset: usize,
    range: Range<usize>,
}

impl Tags {
    pub(crate) fn new(store: Store, layout: &Layout, discards: Discards) -> Self {
        Self {
            groups: Groups::new(layout, store.unit() as u32),
            store,
            tag: layout.tag_size().bytes().into(),
            discards,
        }
    }

    /// The pieces of `len` bytes from an address on, by buffers.
    fn pieces(&self, address: u64, len: usize) -> impl Iterator<Item = Piece> {
        let size = self.store.block_size() as u64;
        let mut done = 0_usize;
        core::iter::from_fn(move || {
            let at = address.saturating_add(done as u64);
            let offset = at.checked_rem(size)?;
            let rest = len.checked_sub(done).filter(|&rest| rest > 0)?;
            let here = (size.saturating_sub(offset) as usize).min(rest);
            let start = done;
            done = done.saturating_add(here);
            Some(Piece {
                block: at.checked_div(size)?,
                offset: offset as usize,
                range: start..done,
            })
        })
    }

    /// Writes tags. May sleep.
    pub(crate) fn write(&self, address: u64, tags: &[u8], token: MaySleep<'_>) -> Result {
        let blocks = self.store.blocks(token);
        for piece in self.pieces(address, tags.len()) {
            let bytes = tags.get(piece.range).ok_or(EINVAL)?;
            blocks.hold(piece.block)?.write(piece.offset, bytes)?;
        }
        Ok(())
    }

    /// Starts to write what is in the cache only and can be written without a read, and does not
    /// wait for it. May sleep.
    pub(crate) fn start_writing(&self, token: MaySleep<'_>) {
        self.store.blocks(token).write_complete_async();
    }

    /// Reads tags. May sleep.
    pub(crate) fn read(&self, address: u64, tags: &mut [u8], token: MaySleep<'_>) -> Result {
        let blocks = self.store.blocks(token);
        for piece in self.pieces(address, tags.len()) {
            let bytes = tags.get_mut(piece.range).ok_or(EINVAL)?;
            blocks.read(piece.block, 0)?.read(piece.offset, bytes)?;
        }
        Ok(())
    }

    /// Returns the index of a byte that differs, if any does.
    fn difference(&self, address: u64, tags: &[u8], token: MaySleep<'_>) -> Result<Option<usize>> {
        let blocks = self.store.blocks(token);
        for piece in self.pieces(address, tags.len()) {
            let start = piece.range.start;
            let bytes = tags.get(piece.range).ok_or(EINVAL)?;
            let block = blocks.read(piece.block, 0)?;
            if let Some(index) = block.compare(piece.offset, bytes)? {
                return Ok(Some(start.saturating_add(index)));
            }
        }
        Ok(None)
    }

    /// Returns whether tags are right: as they are on the disk, or of discarded blocks, where these
    /// have tags that everybody can make. May sleep.
    pub(crate) fn compare(&self, address: u64, tags: &[u8], token: MaySleep<'_>) -> Result<bool> {
        let mut done = 0_usize;
        while let Some(rest) = tags.get(done..).filter(|rest| !rest.is_empty()) {
            let at = address.saturating_add(done as u64);
            let Some(index) = self.difference(at, rest, token)? else {
                return Ok(true);
            };
            let first = index
                .checked_div(self.tag)
                .unwrap_or(0)
                .saturating_mul(self.tag);
            if self.discards != Discards::Plain
                || !self.is_filler(at.saturating_add(first as u64), token)?
            {
                return Ok(false);
            }
            done = done.saturating_add(first).saturating_add(self.tag);
        }
        Ok(true)
    }

    fn is_filler(&self, address: u64, token: MaySleep<'_>) -> Result<bool> {
        let mut bytes = [0; 255];
        let tag = bytes.get_mut(..self.tag).ok_or(EINVAL)?;
        self.read(address, tag, token)?;
        Ok(tag.iter().all(|&byte| byte == FILLER))
    }
}

impl Integrity {
    /// Computes the tags of `count` blocks, of the data from a cursor on. Goes on by as much.
    #[inline]
    pub(crate) fn compute_tags(
        &self,
        tagger: &Tagger,
        cursor: &mut Cursor<'_>,
        mut sector: u64,
        mut count: u32,
        chunk: &mut Chunk,
    ) -> Result {
        let (bytes, sectors) = (self.layout.block().bytes(), self.layout.block().sectors());
        chunk.clear();
        while count > 0 {
            let mut rest = cursor.segment();
            let before = count;
            while let Some(data) = rest.and_then(|rest| rest.first(bytes as usize)) {
                chunk
                    .push(tagger.tag_bytes(), |out| {
                        tagger.tag(sector, data.data(), out)
                    })
                    .inspect_err(|&error| self.failure.set("crypto_shash_digest", error))?;
                sector = sector.saturating_add(sectors.into());
                count = count.saturating_sub(1);
                rest = rest.and_then(|rest| rest.skip(bytes as usize));
                if count == 0 {
                    break;
                }
            }
            let done = before.saturating_sub(count);
            if done == 0 {
                // Bios whose blocks are not in one piece were refused.
                return Err(EIO);
            }
            cursor.advance(done.saturating_mul(bytes));
        }
        Ok(())
    }

    /// Has all that was written reach the medium: tags, and data if it is on another device. May
    /// sleep.
    pub(crate) fn flush_devices(&self, data: bool, token: MaySleep<'_>) {
        if data && self.meta_device.is_some() {
            let result = self.io.flush(&self.device, token);
            self.failure.check("flushing disk cache", result);
        }
        let result = self.tags.store.blocks(token).write_dirty();
        self.failure.check("writing tags", result);
    }
}
