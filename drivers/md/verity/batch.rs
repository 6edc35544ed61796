// SPDX-License-Identifier: GPL-2.0

//! Verification of bios as they come, in any context.
//!
//! Nothing here sleeps: a bio whose hash blocks are not all cached, or with a digest that is
//! wrong, goes to a worker of its own, which continues at the block that stopped it. Data blocks
//! are hashed two at a time, across the blocks of a bio and across bios.

use crate::{
    hasher::Digest,
    statistics::Count,
    target::{
        HashBlock,
        Verity, //
    },
    walk::{
        Access,
        Pending,
        Stop,
        Walk, //
    }, //
};
use dm::{
    bio::{
        Batch,
        BlockStatus,
        Owned, //
    },
    bufio::Buffer, //
};
use kernel::prelude::*;

/// How many bios are looked at together; none of them ends before all are verified.
const TOGETHER: usize = 8;

/// Hash blocks are only taken from the cache.
struct Cached<'a> {
    verity: &'a Verity,
}

impl<'a> Access<'a> for Cached<'a> {
    #[inline]
    fn get(&self, block: u64) -> Result<Buffer<'a, HashBlock>, Stop> {
        self.verity.hashes.get(block).ok_or(Stop::Missing)
    }

    fn mismatch(&mut self, _block: u64, _number: u64) -> Result<(), Stop> {
        Err(Stop::Mismatch)
    }
}

/// Where a bio stopped, and why.
#[derive(Clone, Copy)]
struct Stopped {
    number: u64,
    stop: Stop,
}

/// A data block that waits for a second one, and the bio that it belongs to.
struct Waiting<'a> {
    member: usize,
    block: Pending<'a>,
}

/// Bios that are verified together.
struct Group<'a> {
    walk: Walk<'a, Cached<'a>>,
    stopped: [Option<Stopped>; TOGETHER],
    waiting: Option<Waiting<'a>>,
    pairs: bool,
    paired: u64,
    single: u64,
}

impl Verity {
    /// Verifies bios, and ends them or hands them to workers. `count` says as what to count them.
    #[inline]
    pub(crate) fn verify_batch(&self, mut batch: Batch<Self>, count: Count) {
        while !batch.is_empty() {
            let bios: [Option<Owned<Self>>; TOGETHER] = core::array::from_fn(|_| batch.next());
            let stopped = self.verify_group(&bios);
            for (bio, stopped) in bios.into_iter().flatten().zip(stopped) {
                self.settle(bio, stopped, count);
            }
        }
    }

    /// Verifies some bios, and returns for each whether it stopped.
    #[inline]
    fn verify_group(&self, bios: &[Option<Owned<Self>>; TOGETHER]) -> [Option<Stopped>; TOGETHER] {
        let walk = Walk::new(self, Cached { verity: self });
        let mut group = Group {
            pairs: walk.hasher.prefers_pairs(),
            walk,
            stopped: [None; TOGETHER],
            waiting: None,
            paired: 0,
            single: 0,
        };
        for (member, bio) in bios.iter().flatten().enumerate() {
            group.bio(member, bio);
        }
        group.flush();
        self.statistics.add(Count::Paired, group.paired);
        self.statistics.add(Count::Single, group.single);
        group.stopped
    }

    /// Ends a bio, or hands it to a worker if it stopped for a reason that sleeping helps.
    #[inline]
    fn settle(&self, mut bio: Owned<Self>, stopped: Option<Stopped>, count: Count) {
        let Some(Stopped { number, stop }) = stopped else {
            self.statistics.add(count, 1);
            let _ended = self.finish(bio, BlockStatus::OK);
            return;
        };
        let why = match stop {
            Stop::Error(ENOMEM) | Stop::Missing => Count::Missing,
            Stop::Mismatch => Count::Mismatch,
            Stop::Error(error) => {
                let _ended = self.finish(bio, error.into());
                return;
            }
        };
        self.statistics.add(why, 1);
        bio.data_mut().continue_at(number);
        let _queued = bio.queue(&self.queue);
    }
}

impl<'a> Group<'a> {
    /// Verifies a bio up to its last block, which may be left waiting for the next bio.
    #[inline]
    fn bio(&mut self, member: usize, bio: &'a Owned<Verity>) {
        let size = self.walk.verity.geometry.data_block().bytes();
        let mut cursor = bio.cursor();
        for number in bio.data().left() {
            match self.walk.look(number, &cursor) {
                Ok(Some(block)) => self.add(Waiting { member, block }),
                Ok(None) => (),
                Err(stop) => self.stop(member, Stopped { number, stop }),
            }
            if self.stopped.get(member).is_some_and(Option::is_some) {
                return;
            }
            cursor.advance(size);
        }
    }

    /// Hashes a data block and the one before it, or has it wait.
    #[inline]
    fn add(&mut self, next: Waiting<'a>) {
        if !self.pairs {
            self.check(&next);
        } else if let Some(before) = self.waiting.take() {
            self.check_pair(&before, &next);
        } else {
            self.waiting = Some(next);
        }
    }

    /// Hashes the data block that is left, if there is one.
    #[inline]
    fn flush(&mut self) {
        if let Some(last) = self.waiting.take() {
            self.check(&last);
        }
    }

    #[inline]
    fn check(&mut self, waiting: &Waiting<'_>) {
        self.single = self.single.wrapping_add(1);
        match self.walk.hash(waiting.block.segment.data()) {
            Ok(digest) => self.compare(waiting, &digest),
            Err(stop) => self.stop_at(waiting, stop),
        }
    }

    #[inline]
    fn check_pair(&mut self, a: &Waiting<'_>, b: &Waiting<'_>) {
        self.paired = self.paired.wrapping_add(2);
        match self.walk.hash_pair(&a.block, &b.block) {
            Ok([first, second]) => {
                self.compare(a, &first);
                self.compare(b, &second);
            }
            Err(stop) => {
                self.stop_at(a, stop);
                self.stop_at(b, stop);
            }
        }
    }

    #[inline]
    fn compare(&mut self, waiting: &Waiting<'_>, digest: &Digest) {
        if !self.walk.is_good(&waiting.block, digest) {
            self.stop_at(waiting, Stop::Mismatch);
        }
    }

    #[cold]
    fn stop_at(&mut self, waiting: &Waiting<'_>, stop: Stop) {
        let number = waiting.block.number;
        self.stop(waiting.member, Stopped { number, stop });
    }

    /// Notes that a bio stopped; of two reasons the one at the earlier block counts.
    #[cold]
    fn stop(&mut self, member: usize, stopped: Stopped) {
        if let Some(place) = self.stopped.get_mut(member) {
            if place.is_none_or(|earlier| stopped.number < earlier.number) {
                *place = Some(stopped);
            }
        }
    }
}
