// SPDX-License-Identifier: GPL-2.0

//! Filling a bio with what is in the cache.

use crate::{
    target::BufioTest,
    LOG, //
};
use core::sync::atomic::{
    AtomicU64,
    Ordering, //
};
use dm::{
    bio::{
        Cursor,
        Owned, //
    },
    bufio::{
        Buffer,
        Sleepable, //
    },
    context::MaySleep, //
};
use kernel::prelude::*;

/// The most blocks that are held at once.
const MAX_HELD: usize = 8;

/// What goes with each block: the number of the block, once it was used, plus 1.
#[derive(Default)]
pub(crate) struct Tag(AtomicU64);

impl Tag {
    /// Finds out whether the typed data is that of the block.
    fn check(&self, block: u64) -> Result {
        let expected = block.wrapping_add(1);
        match self.0.swap(expected, Ordering::Relaxed) {
            0 => Ok(()),
            found if found == expected => Ok(()),
            found => {
                LOG.error(format_args!("block {} has the tag {}", block, found));
                Err(EILSEQ)
            }
        }
    }
}

/// A position in a bio, and the byte of the device that belongs there.
pub(crate) struct Reader<'a> {
    test: &'a BufioTest,
    cursor: Cursor<'a>,
    byte: u64,
    ioprio: u16,
}

impl<'a> Reader<'a> {
    /// Starts at the front of a bio.
    pub(crate) fn new(test: &'a BufioTest, bio: &'a Owned<'_, BufioTest>) -> Self {
        Self {
            test,
            cursor: bio.cursor(),
            byte: bio.data().saturating_mul(512),
            ioprio: bio.priority(),
        }
    }

    /// Replaces the data of the bio by what is in the cache, as far as it is. Returns whether all
    /// of it was. Any context.
    pub(crate) fn replace(mut self) -> bool {
        let mut complete = true;
        while self.cursor.remaining() > 0 {
            let block = self.block();
            match self.test.client.get(block) {
                Some(buffer) => complete &= self.copy(&buffer).is_ok(),
                None => {
                    complete = false;
                    self.skip();
                }
            }
        }
        complete
    }

    /// Reads the data of the bio through the cache.
    pub(crate) fn read(mut self, token: MaySleep<'_>) -> Result {
        let test = self.test;
        let cache = test.client.sleepable(token);
        let mut held = [const { None }; MAX_HELD];
        while self.cursor.remaining() > 0 {
            let block = self.block();
            let buffer = self.buffer(&cache, block)?;
            self.copy(&buffer)?;
            let count = test.reads.fetch_add(1, Ordering::Relaxed);
            self.hold(&mut held, buffer);
            if held.iter().all(Option::is_none) {
                self.disturb(&cache, block, count)?;
            }
        }
        Ok(())
    }

    fn block_size(&self) -> u64 {
        self.test.client.block_size() as u64
    }

    /// Where the position is in its block.
    fn offset(&self) -> u64 {
        let rest = self.byte.checked_rem(self.block_size());
        rest.unwrap_or_default()
    }

    fn block(&self) -> u64 {
        self.byte.checked_div(self.block_size()).unwrap_or_default()
    }

    fn buffer<'c>(&self, cache: &Sleepable<'c, Tag>, block: u64) -> Result<Buffer<'c, Tag>> {
        let usage = &self.test.usage;
        if usage.ahead > 0 {
            cache.prefetch(block, usage.ahead.into(), self.ioprio);
        }
        if usage.around == 0 {
            return cache.read(block, self.ioprio);
        }
        let around = u64::from(usage.around);
        let first = block.saturating_sub(block.checked_rem(around).unwrap_or_default());
        cache.read_around(block, first..first.saturating_add(around), self.ioprio)
    }

    /// Copies what is left of a block into the bio, and goes on behind it.
    fn copy(&mut self, buffer: &Buffer<'_, Tag>) -> Result {
        buffer.aux().check(buffer.block())?;
        let data = buffer.data();
        let mut rest = data.get(self.offset() as usize..).ok_or(EIO)?;
        while let Some(segment) = self.cursor.segment() {
            let copied = segment.copy_from(rest);
            self.advance(copied);
            rest = rest.get(copied..).ok_or(EIO)?;
            if rest.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Goes on behind the block.
    fn skip(&mut self) {
        let rest = self.block_size().saturating_sub(self.offset());
        self.advance(rest.min(self.cursor.remaining().into()) as usize);
    }

    fn advance(&mut self, bytes: usize) {
        self.cursor.advance(bytes as u32);
        self.byte = self.byte.saturating_add(bytes as u64);
    }

    /// Keeps a buffer, and releases those that were kept when there are enough.
    fn hold<'c>(&self, held: &mut [Option<Buffer<'c, Tag>>; MAX_HELD], buffer: Buffer<'c, Tag>) {
        let count = (self.test.usage.hold as usize).min(MAX_HELD);
        let places = held.get_mut(..count.saturating_sub(1)).unwrap_or_default();
        match places.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(buffer),
            None => {
                drop(buffer);
                held.fill_with(|| None);
            }
        }
    }

    /// Does to the cache what the table says, while others use it.
    fn disturb(&self, cache: &Sleepable<'_, Tag>, block: u64, count: u32) -> Result {
        let usage = &self.test.usage;
        let due = |every: u32| count.checked_rem(every) == Some(0);
        if due(usage.forget) {
            cache.forget(block..block.saturating_add(1));
        }
        if due(usage.reset) {
            cache.reset();
        }
        if due(usage.renew) {
            self.renew(cache, block)?;
        }
        Ok(())
    }

    /// Fills a block anew with what is in it: nobody can see a difference. Every other time it is
    /// given up instead.
    fn renew(&self, cache: &Sleepable<'_, Tag>, block: u64) -> Result {
        let old = cache.read(block, self.ioprio)?;
        let copy = dm::alloc::bytes(old.data(), GFP_KERNEL)?;
        drop(old);
        let mut new = cache.new_block(block)?;
        new.aux().check(block)?;
        new.data_mut().copy_from_slice(&copy);
        if block % 2 == 0 {
            new.publish().aux().check(block)?;
        }
        Ok(())
    }
}
