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
    hash_tree::Position,
    hasher::{
        Digest,
        Hasher,
        MAX_DIGEST_SIZE, //
    },
    target::{
        HashBlock,
        Verity, //
    },
    LOG, //
};
use core::sync::atomic::Ordering;
use dm::{
    bio::{
        Cursor,
        Segment, //
    },
    bufio::Buffer,
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

/// How hash blocks are got.
pub(crate) trait Access<'a> {
    /// Gets a hash block.
    fn get(&self, block: u64) -> Result<Buffer<'a, HashBlock>, Stop>;

    /// Decides about a hash block whose digest is wrong: the walk goes on with it, or not.
    /// `number` is the data block on whose behalf it was looked at.
    fn mismatch(&mut self, block: u64, number: u64) -> Result<(), Stop>;
}

/// A data block and the digest that it must have.
pub(crate) struct Pending<'a> {
    pub(crate) number: u64,
    pub(crate) segment: Segment<'a>,
    pub(crate) wanted: Digest,
}

/// A verified leaf, kept for the data blocks before `end`.
struct Leaf<'a> {
    end: u64,
    buffer: Buffer<'a, HashBlock>,
}

/// A walker.
pub(crate) struct Walk<'a, A> {
    pub(crate) verity: &'a Verity,
    pub(crate) hasher: Hasher<'a>,
    pub(crate) access: A,
    leaf: Option<Leaf<'a>>,
}

impl<'a, A: Access<'a>> Walk<'a, A> {
    pub(crate) fn new(verity: &'a Verity, access: A) -> Self {
        Self {
            verity,
            hasher: verity.hasher(),
            access,
            leaf: None,
        }
    }

    /// Finds out what the data block at `cursor` must be; `None` if there is nothing to check,
    /// since it was checked before or is a zero block.
    #[inline]
    pub(crate) fn look<'b>(
        &mut self,
        number: u64,
        cursor: &Cursor<'b>,
    ) -> Result<Option<Pending<'b>>, Stop> {
        let validated = &self.verity.options.validated;
        if validated.as_ref().is_some_and(|bits| bits.get(number)) {
            return Ok(None);
        }
        let wanted = self.digest_of(number)?;
        let segment = self.segment(cursor)?;
        if let Some(zero) = &self.verity.options.zero_digest {
            if self.is_same(&wanted, zero) {
                segment.fill_zero();
                return Ok(None);
            }
        }
        Ok(Some(Pending {
            number,
            segment,
            wanted,
        }))
    }

    #[inline]
    fn segment<'b>(&self, cursor: &Cursor<'b>) -> Result<Segment<'b>, Stop> {
        static LIMIT: RateLimit = RateLimit::new();

        let size = self.verity.geometry.data_block().bytes() as usize;
        let segment = cursor.segment().and_then(|segment| segment.first(size));
        Ok(segment.ok_or_else(|| {
            // The limits of the device do not let such a bio through.
            LOG.error_limited(
                &LIMIT,
                format_args!("unaligned io (data block spans pages)"),
            );
            EIO
        })?)
    }

    /// Returns whether a data block has the digest that it must have, and if so remembers that.
    #[inline]
    pub(crate) fn is_good(&self, block: &Pending<'_>, digest: &Digest) -> bool {
        let good = self.is_same(digest, &block.wanted);
        if good {
            self.remember(block.number);
        }
        good
    }

    /// Remembers that a data block is good, if the table asks for that.
    #[inline]
    pub(crate) fn remember(&self, number: u64) {
        if let Some(validated) = &self.verity.options.validated {
            validated.set(number);
        }
    }

    /// Compares the bytes that a digest of this device has.
    #[inline]
    pub(crate) fn is_same(&self, a: &[u8], b: &[u8]) -> bool {
        let size = self.verity.geometry.digest_size() as usize;
        match (a.get(..size), b.get(..size)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        }
    }

    /// Returns the digest that a data block must have.
    #[inline]
    fn digest_of(&mut self, number: u64) -> Result<Digest, Stop> {
        let Some(position) = self.verity.geometry.position(0, number) else {
            return self.to_digest(&self.verity.hashing.root_digest, 0);
        };
        if let Some(leaf) = &self.leaf {
            if self.is_under(leaf, number) {
                return self.to_digest(leaf.buffer.data(), position.offset);
            }
        }
        self.leaf = None;
        let buffer = self.leaf_of(number, position)?;
        let digest = self.to_digest(buffer.data(), position.offset)?;
        if is_verified(&buffer) {
            let run = self.verity.geometry.leaf_run(number);
            let end = number.saturating_add(run);
            self.leaf = Some(Leaf { end, buffer });
        }
        Ok(digest)
    }

    /// Returns whether the digest of a data block is in a leaf.
    #[inline]
    fn is_under(&self, leaf: &Leaf<'a>, number: u64) -> bool {
        let slots = self.verity.geometry.slot_bits();
        number < leaf.end && number >> slots == leaf.end.saturating_sub(1) >> slots
    }

    /// Returns the leaf with the digest of a data block, verified unless corruption is ignored.
    fn leaf_of(&mut self, number: u64, position: Position) -> Result<Buffer<'a, HashBlock>, Stop> {
        // An error shows again on the way down, if the way gets that far.
        match self.access.get(position.hash_block) {
            Ok(buffer) if is_verified(&buffer) => Ok(buffer),
            Err(Stop::Missing) => Err(Stop::Missing),
            _ => self.descend(number),
        }
    }

    /// Verifies the way from the root to the leaf of a data block, and returns the leaf.
    #[cold]
    fn descend(&mut self, number: u64) -> Result<Buffer<'a, HashBlock>, Stop> {
        let verity = self.verity;
        let mut wanted = self.to_digest(&verity.hashing.root_digest, 0)?;
        for level in (1..verity.geometry.levels()).rev() {
            let position = verity.geometry.position(level, number).ok_or(EINVAL)?;
            let buffer = self.hash_block(number, position.hash_block, &wanted)?;
            wanted = self.to_digest(buffer.data(), position.offset)?;
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
        let buffer = self.access.get(block)?;
        if !is_verified(&buffer) {
            let digest = self.hash(buffer.data().into())?;
            if self.is_same(&digest, wanted) {
                buffer.aux().verified.store(true, Ordering::Release);
            } else {
                self.access.mismatch(block, number)?;
            }
        }
        Ok(buffer)
    }

    /// Hashes a block.
    #[inline]
    pub(crate) fn hash(&self, block: dm::crypto::Data<'_>) -> Result<Digest, Stop> {
        Ok(self.hasher.digest(block).inspect_err(log_error)?)
    }

    /// Hashes two blocks.
    #[inline]
    pub(crate) fn hash_pair(&self, a: &Pending<'_>, b: &Pending<'_>) -> Result<[Digest; 2], Stop> {
        let digests = self.hasher.digest_pair(a.segment.data(), b.segment.data());
        Ok(digests.inspect_err(log_error)?)
    }

    /// Copies the digest at `offset` (bytes) of a hash block.
    #[inline]
    fn to_digest(&self, block: &[u8], offset: u32) -> Result<Digest, Stop> {
        let size = self.verity.geometry.digest_size() as usize;
        let mut digest = [0; MAX_DIGEST_SIZE];
        let from = block
            .get(offset as usize..)
            .and_then(|rest| rest.get(..size));
        match (digest.get_mut(..size), from) {
            (Some(to), Some(from)) => to.copy_from_slice(from),
            _ => return Err(Stop::Error(EINVAL)),
        }
        Ok(digest)
    }
}

#[inline]
fn is_verified(buffer: &Buffer<'_, HashBlock>) -> bool {
    buffer.aux().verified.load(Ordering::Acquire)
}

#[cold]
fn log_error(error: &Error) {
    LOG.error(format_args!("Error hashing block: {}", error.to_errno()));
}
