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
        Stop,
        Walk, //
    }, //
};
use dm::{
    bio::{
        Batch,
        BlockStatus,
        Kept,
        Segment, //
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
}

/// Where a bio stopped, and why.
#[derive(Clone, Copy)]
struct Stopped {
    number: u64,
    stop: Stop,
}

/// A data block that waits for a second one, and the bio that it belongs to.
#[derive(Clone, Copy)]
struct Waiting<'a> {
    member: usize,
    number: u64,
    segment: Segment<'a>,
}

/// Up to `N` bios that are verified together.
struct Group<'a, const N: usize> {
    walk: Walk<'a, Cached<'a>>,
    stopped: [Option<Stopped>; N],
    waiting: Option<Waiting<'a>>,
    /// The digests that the waiting data block and the one after it must have.
    wanted: [Digest; 2],
    pairs: bool,
    paired: u64,
    single: u64,
}

impl Verity {
    /// Verifies bios, and ends them or hands them to workers. `count` says as what to count them.
    #[inline]
    pub(crate) fn verify_batch(&self, mut batch: Batch<Self>, count: Count) {
        self.statistics.add(Count::Round, 1);
        loop {
            // The last of an odd number may find a partner among those that came meanwhile.
            let late = batch.refill_last();
            self.statistics.add(Count::Late, late as u64);
            match batch.len() {
                0 => return,
                1 => self.verify_some::<1>(&mut batch, 1, count),
                all => self.verify_some::<TOGETHER>(&mut batch, all & !1, count),
            }
        }
    }

    /// Verifies the next `N` bios, but no more than `max`.
    #[inline]
    fn verify_some<const N: usize>(&self, batch: &mut Batch<Self>, max: usize, count: Count) {
        let bios: [Option<Kept<Self>>; N] =
            core::array::from_fn(|i| if i < max { batch.next() } else { None });
        let stopped = self.verify_group(&bios);
        for (bio, stopped) in bios.into_iter().zip(stopped) {
            let Some(bio) = bio else {
                return;
            };
            self.settle(bio, stopped, count);
        }
    }

    /// Verifies some bios, and returns for each whether it stopped.
    #[inline]
    fn verify_group<const N: usize>(&self, bios: &[Option<Kept<Self>>; N]) -> [Option<Stopped>; N] {
        let walk = Walk::new(self, Cached { verity: self });
        let mut group = Group {
            pairs: walk.hasher.prefers_pairs(),
            walk,
            stopped: [None; N],
            waiting: None,
            wanted: [const { Digest::new() }; 2],
            paired: 0,
            single: 0,
        };
        for (member, bio) in bios.iter().enumerate() {
            let Some(bio) = bio else {
                break;
            };
            group.bio(member, bio);
        }
        group.flush();
        self.statistics.add(Count::Paired, group.paired);
        self.statistics.add(Count::Single, group.single);
        group.stopped
    }

    /// Ends a bio, or hands it to a worker if it stopped for a reason that sleeping helps.
    #[inline]
    fn settle(&self, bio: Kept<Self>, stopped: Option<Stopped>, count: Count) {
        match stopped {
            None => {
                self.statistics.add(count, 1);
                let _ended = self.finish(bio, BlockStatus::OK);
            }
            Some(stopped) => self.settle_stopped(bio, stopped),
        }
    }

    #[cold]
    fn settle_stopped(&self, mut bio: Kept<Self>, Stopped { number, stop }: Stopped) {
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

impl<'a, const N: usize> Group<'a, N> {
    /// Verifies a bio up to its last block, which may be left waiting for the next bio.
    #[inline]
    fn bio(&mut self, member: usize, bio: &'a Kept<Verity>) {
        let size = self.walk.verity.geometry.data_block().bytes();
        let mut cursor = bio.cursor();
        for number in bio.data().left() {
            let [first, second] = &mut self.wanted;
            let wanted = match self.waiting {
                None => first,
                Some(_) => second,
            };
            match self.walk.look(number, &cursor, wanted) {
                Ok(Some(segment)) => self.add(Waiting {
                    member,
                    number,
                    segment,
                }),
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
        if let Some(before) = self.waiting.take() {
            self.check_pair(&before, &next);
            return;
        }
        self.waiting = Some(next);
        if !self.pairs {
            self.flush();
        }
    }

    /// Hashes the data block that waits, if there is one.
    #[inline]
    fn flush(&mut self) {
        let Some(last) = self.waiting.take() else {
            return;
        };
        self.single = self.single.wrapping_add(1);
        let mut digest = Digest::new();
        let result = self.walk.hash(last.segment.data(), &mut digest);
        let [wanted, _] = &self.wanted;
        let good = result.is_ok() && self.walk.is_good(last.number, &digest, wanted);
        self.judge(&last, result, good);
    }

    #[inline]
    fn check_pair(&mut self, a: &Waiting<'_>, b: &Waiting<'_>) {
        self.paired = self.paired.wrapping_add(2);
        let mut digests = [const { Digest::new() }; 2];
        let data = [a.segment.data(), b.segment.data()];
        let result = self.walk.hash_pair(data, &mut digests);
        let ([first, second], [for_first, for_second]) = (&digests, &self.wanted);
        let hashed = result.is_ok();
        let good = [
            hashed && self.walk.is_good(a.number, first, for_first),
            hashed && self.walk.is_good(b.number, second, for_second),
        ];
        for (block, good) in [a, b].into_iter().zip(good) {
            self.judge(block, result, good);
        }
    }

    /// Notes that a bio stopped at a data block if that could not be hashed, or is not good.
    #[inline]
    fn judge(&mut self, block: &Waiting<'_>, result: Result<(), Stop>, good: bool) {
        let number = block.number;
        match result {
            Ok(()) if good => (),
            Ok(()) => {
                let stop = Stop::Mismatch;
                self.stop(block.member, Stopped { number, stop });
            }
            Err(stop) => self.stop(block.member, Stopped { number, stop }),
        }
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
