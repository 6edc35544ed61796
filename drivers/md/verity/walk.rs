// SPDX-License-Identifier: GPL-2.0

//! The way from the root digest to the digest of a data block.
//!
//! A leaf that was verified since it was read vouches for its digests; otherwise the way from the
//! root down to it is verified first, and every block on it marked. A leaf is looked up once for
//! all data blocks that follow each other under it.
//!
//! The walk is the same in all contexts. What differs, how a hash block is got and what is done
//! about a bad one, is the [`Access`].

use crate::{
    hasher::{
        Digest,
        Hasher, //
    },
    target::{
        HashBlock,
        Verity, //
    },
    LOG, //
};
use core::{
    ops::Range,
    sync::atomic::Ordering, //
};
use dm::{
    bio::{
        Cursor,
        Segment, //
    },
    bits::AtomicBits,
    bufio::Buffer,
    crypto::Data,
    log::RateLimit, //
};
use kernel::prelude::*;

/// Why a block could not be verified.
#[derive(Clone, Copy)]
pub(crate) enum Stop {
    /// The bio ends with this error.
    Error(Error),
    /// A hash block is not cached.
    Missing,
    /// A digest is wrong, and nothing was done about it yet.
    Mismatch,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A hash block that is not as it must be.
pub(crate) struct BadHash<'a> {
    pub(crate) block: u64,
    pub(crate) wanted: &'a Digest,
    /// The data block on whose behalf it was looked at.
    pub(crate) number: u64,
}

/// How hash blocks are got.
pub(crate) trait Access<'a> {
    /// Gets a hash block.
    fn get(&self, block: u64) -> Result<Buffer<'a, HashBlock>, Stop>;

    /// Decides about a hash block that could not be got: what the walk goes on with, if it does.
    fn unreadable(
        &mut self,
        _bad: &BadHash<'_>,
        stop: Stop,
    ) -> Result<Buffer<'a, HashBlock>, Stop> {
        Err(stop)
    }

    /// Decides about a hash block whose digest is wrong: what the walk goes on with, if it does.
    fn mismatch(
        &mut self,
        _bad: &BadHash<'_>,
        _buffer: Buffer<'a, HashBlock>,
    ) -> Result<Buffer<'a, HashBlock>, Stop> {
        Err(Stop::Mismatch)
    }
}

/// A verified leaf, kept for the data blocks of `blocks`.
struct Leaf<'a> {
    blocks: Range<u64>,
    buffer: Buffer<'a, HashBlock>,
}

/// A walker.
pub(crate) struct Walk<'a, A> {
    pub(crate) verity: &'a Verity,
    pub(crate) hasher: Hasher<'a>,
    pub(crate) access: A,
    /// The data blocks that need not be looked at.
    pub(crate) validated: Option<&'a AtomicBits>,
    /// The bytes of a digest.
    digest_size: usize,
    leaf: Option<Leaf<'a>>,
}

impl<'a, A: Access<'a>> Walk<'a, A> {
    #[inline]
    pub(crate) fn new(verity: &'a Verity, access: A) -> Self {
        Self {
            verity,
            hasher: verity.hasher(),
            access,
            validated: verity.options.validated.as_ref(),
            digest_size: verity.geometry.digest_size() as usize,
            leaf: None,
        }
    }

    /// Gives back the leaf that is held.
    pub(crate) fn release(&mut self) {
        self.leaf = None;
    }

    /// Finds out what the digest of the data block at `cursor` must be, and where its data is.
    /// `None` if there is nothing to check, since that was done before or it is a zero block.
    #[inline]
    pub(crate) fn look<'b>(
        &mut self,
        number: u64,
        cursor: &Cursor<'b>,
        wanted: &mut Digest,
    ) -> Result<Option<Segment<'b>>, Stop> {
        if self.validated.is_some_and(|bits| bits.get(number)) {
            return Ok(None);
        }
        self.find(number, wanted)?;
        let segment = self.segment(cursor)?;
        if let Some(zero) = &self.verity.options.zero_digest {
            if self.is_same(wanted, zero) {
                segment.fill_zero();
                return Ok(None);
            }
        }
        Ok(Some(segment))
    }

    #[inline]
    fn segment<'b>(&self, cursor: &Cursor<'b>) -> Result<Segment<'b>, Stop> {
        let size = self.verity.geometry.data_block().bytes() as usize;
        match cursor.segment().and_then(|segment| segment.first(size)) {
            Some(segment) => Ok(segment),
            None => Err(unaligned()),
        }
    }

    /// Returns whether a data block has the digest that it must have, and if so remembers that.
    #[inline]
    pub(crate) fn is_good(&self, number: u64, digest: &Digest, wanted: &Digest) -> bool {
        let good = self.is_same(digest, wanted.bytes());
        if good {
            self.remember(number);
        }
        good
    }

    /// Remembers that a data block is good, if the table asks for that.
    #[inline]
    pub(crate) fn remember(&self, number: u64) {
        if let Some(validated) = self.validated {
            validated.set(number);
        }
    }

    /// Compares the bytes that a digest of this device has.
    #[inline]
    pub(crate) fn is_same(&self, a: &Digest, b: &[u8]) -> bool {
        a.is_same(b, self.digest_size)
    }

    /// Finds the digest that a data block must have.
    #[inline]
    pub(crate) fn find(&mut self, number: u64, wanted: &mut Digest) -> Result<(), Stop> {
        if let Some(leaf) = &self.leaf {
            if leaf.blocks.contains(&number) {
                return self.take_from_leaf(&leaf.buffer, number, wanted);
            }
        }
        self.find_leaf(number, wanted)
    }

    /// Finds the digest in another leaf than the last one.
    #[inline]
    fn find_leaf(&mut self, number: u64, wanted: &mut Digest) -> Result<(), Stop> {
        self.leaf = None;
        let geometry = &self.verity.geometry;
        let Some(position) = geometry.position(0, number) else {
            return self.take(&self.verity.hashing.root_digest, 0, wanted);
        };
        let buffer = self.leaf_of(number, position.hash_block)?;
        self.take_from_leaf(&buffer, number, wanted)?;
        if is_verified(&buffer) {
            let end = number.saturating_add(geometry.leaf_run(number));
            self.leaf = Some(Leaf {
                blocks: number..end,
                buffer,
            });
        }
        Ok(())
    }

    /// Returns the leaf with the digest of a data block, verified unless corruption is ignored.
    #[inline]
    fn leaf_of(&mut self, number: u64, block: u64) -> Result<Buffer<'a, HashBlock>, Stop> {
        match self.access.get(block) {
            Ok(buffer) if is_verified(&buffer) => return Ok(buffer),
            // Given back before the way down, on which one block is held at a time.
            Ok(buffer) => drop(buffer),
            Err(Stop::Missing) => return Err(Stop::Missing),
            // It shows again on the way down, if that gets so far.
            Err(_) => (),
        }
        self.descend(number)
    }

    /// Verifies the way from the root to the leaf of a data block, and returns the leaf.
    #[cold]
    fn descend(&mut self, number: u64) -> Result<Buffer<'a, HashBlock>, Stop> {
        let verity = self.verity;
        let mut wanted = Digest::new();
        self.take(&verity.hashing.root_digest, 0, &mut wanted)?;
        for level in (1..verity.geometry.levels()).rev() {
            let position = verity.geometry.position(level, number).ok_or(EINVAL)?;
            let buffer = self.hash_block(number, position.hash_block, &wanted)?;
            self.take(buffer.data(), position.offset, &mut wanted)?;
        }
        let leaf = verity.geometry.position(0, number).ok_or(EINVAL)?;
        self.hash_block(number, leaf.hash_block, &wanted)
    }

    /// Gets a hash block and verifies it, unless that was done.
    fn hash_block(
        &mut self,
        number: u64,
        block: u64,
        wanted: &Digest,
    ) -> Result<Buffer<'a, HashBlock>, Stop> {
        let bad = BadHash {
            block,
            wanted,
            number,
        };
        let buffer = match self.access.get(block) {
            Ok(buffer) => buffer,
            Err(stop) => return self.access.unreadable(&bad, stop),
        };
        if !is_verified(&buffer) {
            let mut digest = Digest::new();
            self.hash(buffer.data().into(), &mut digest)?;
            if !self.is_same(&digest, wanted.bytes()) {
                return self.access.mismatch(&bad, buffer);
            }
            buffer.aux().verified.store(true, Ordering::Release);
        }
        Ok(buffer)
    }

    /// Hashes a block.
    #[inline]
    pub(crate) fn hash(&self, block: Data<'_>, digest: &mut Digest) -> Result<(), Stop> {
        self.hasher.digest(block, digest).map_err(failed)
    }

    /// Hashes two blocks.
    #[inline]
    pub(crate) fn hash_pair(
        &self,
        blocks: [Data<'_>; 2],
        digests: &mut [Digest; 2],
    ) -> Result<(), Stop> {
        self.hasher.digest_pair(blocks, digests).map_err(failed)
    }

    /// Takes the digest of a data block from its leaf.
    #[inline]
    fn take_from_leaf(
        &self,
        leaf: &Buffer<'a, HashBlock>,
        number: u64,
        wanted: &mut Digest,
    ) -> Result<(), Stop> {
        let offset = self.verity.geometry.leaf_offset(number);
        self.take(leaf.data(), offset, wanted)
    }

    /// Takes the digest at `offset` (bytes) of a hash block.
    #[inline]
    fn take(&self, block: &[u8], offset: u32, wanted: &mut Digest) -> Result<(), Stop> {
        wanted.take(block, offset as usize, self.digest_size)?;
        Ok(())
    }
}

#[inline]
pub(crate) fn is_verified(buffer: &Buffer<'_, HashBlock>) -> bool {
    buffer.aux().verified.load(Ordering::Acquire)
}

#[cold]
fn failed(error: Error) -> Stop {
    LOG.error(format_args!("Error hashing block: {}", error.to_errno()));
    Stop::Error(error)
}

/// The limits of the device do not let a bio through that comes to this.
#[cold]
fn unaligned() -> Stop {
    static LIMIT: RateLimit = RateLimit::new();

    LOG.error_limited(
        &LIMIT,
        format_args!("unaligned io (data block spans pages)"),
    );
    Stop::Error(EIO)
}
