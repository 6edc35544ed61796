// SPDX-License-Identifier: GPL-2.0

//! Verification of what was read.
//!
//! The digest of a data block is in a leaf of the hash tree. A leaf that was verified since it was
//! read vouches for its digests; otherwise the way from the root down to it is verified first, and
//! every block on it marked. A leaf is looked up once for all data blocks that follow each other
//! under it. Data blocks are hashed in pairs where the CPU is good at that.

use crate::{
    hash_tree::{
        Blocks,
        Position, //
    },
    hasher::{
        Digest,
        Hasher,
        MAX_DIGEST_SIZE, //
    },
    report::{
        BlockKind,
        Corruption, //
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
        Owned,
        Segment, //
    },
    bufio::Buffer,
    context::MaySleep,
    log::RateLimit,
    target::Target, //
};
use kernel::prelude::*;

/// How far a bio is.
pub(crate) struct Progress {
    blocks: Blocks,
    /// Whether a bad block was found, as opposed to a failing device.
    pub(crate) had_mismatch: bool,
    /// Whether the machine is to restart because of this bio.
    pub(crate) restart: bool,
}

impl Progress {
    pub(crate) fn new(blocks: Blocks) -> Self {
        Self {
            blocks,
            had_mismatch: false,
            restart: false,
        }
    }
}

/// A data block whose digest is known but not compared yet.
struct Pending<'a> {
    number: u64,
    segment: Segment<'a>,
    wanted: Digest,
}

/// A verified leaf, kept for the data blocks before `end`.
struct Leaf<'a> {
    end: u64,
    buffer: Buffer<'a, HashBlock>,
}

impl Verity {
    /// Verifies the data of a bio. May sleep.
    ///
    /// # Errors
    ///
    /// `EIO` for a bad block, or the error of reading a hash block.
    pub(crate) fn verify(&self, ti: &Target, bio: &mut Owned<Self>, token: MaySleep<'_>) -> Result {
        let mut verification = Verification {
            verity: self,
            hasher: self.hasher(),
            ti,
            bio,
            token,
            leaf: None,
            pending: None,
            had_mismatch: false,
        };
        let result = verification.run();
        let had_mismatch = verification.had_mismatch;
        drop(verification);
        bio.data_mut().had_mismatch = had_mismatch;
        result
    }
}

/// The verification of a bio in process context.
struct Verification<'a> {
    verity: &'a Verity,
    hasher: Hasher<'a>,
    ti: &'a Target,
    bio: &'a Owned<Verity>,
    token: MaySleep<'a>,
    leaf: Option<Leaf<'a>>,
    pending: Option<Pending<'a>>,
    had_mismatch: bool,
}

impl<'a> Verification<'a> {
    fn run(&mut self) -> Result {
        let Blocks { first, count } = self.bio.data().blocks;
        let size = self.verity.geometry.data_block().bytes();
        let mut cursor = self.bio.cursor();
        for number in first..first.saturating_add(count) {
            if !self.is_validated(number) {
                self.block(number, &cursor)?;
            }
            cursor.advance(size);
        }
        match self.pending.take() {
            Some(last) => self.check_one(last),
            None => Ok(()),
        }
    }

    fn is_validated(&self, number: u64) -> bool {
        let validated = &self.verity.options.validated;
        validated.as_ref().is_some_and(|bits| bits.get(number))
    }

    /// Looks at one data block; it may be left pending.
    fn block(&mut self, number: u64, cursor: &Cursor<'a>) -> Result {
        let wanted = self.digest_of(number)?;
        let segment = self.segment(cursor)?;
        if self.is_zero(&wanted) {
            segment.fill_zero();
            return Ok(());
        }
        let block = Pending {
            number,
            segment,
            wanted,
        };
        if !self.hasher.prefers_pairs() {
            return self.check_one(block);
        }
        match self.pending.take() {
            Some(before) => self.check_two(before, block),
            None => {
                self.pending = Some(block);
                Ok(())
            }
        }
    }

    fn segment(&self, cursor: &Cursor<'a>) -> Result<Segment<'a>> {
        static LIMIT: RateLimit = RateLimit::new();

        let size = self.verity.geometry.data_block().bytes() as usize;
        cursor
            .segment()
            .and_then(|segment| segment.first(size))
            .ok_or_else(|| {
                // The limits of the device do not let such a bio through.
                LOG.error_limited(
                    &LIMIT,
                    format_args!("unaligned io (data block spans pages)"),
                );
                EIO
            })
    }

    fn is_zero(&self, wanted: &Digest) -> bool {
        match &self.verity.options.zero_digest {
            Some(zero) => self.is_same(wanted, zero),
            None => false,
        }
    }

    /// Compares the bytes that a digest of this device has.
    fn is_same(&self, a: &[u8], b: &[u8]) -> bool {
        let size = self.verity.geometry.digest_size() as usize;
        match (a.get(..size), b.get(..size)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        }
    }

    fn check_one(&mut self, block: Pending<'_>) -> Result {
        let digest = self
            .hasher
            .digest(block.segment.data())
            .map_err(log_error)?;
        self.compare(&block, &digest)
    }

    fn check_two(&mut self, a: Pending<'_>, b: Pending<'_>) -> Result {
        let [first, second] = self
            .hasher
            .digest_pair(a.segment.data(), b.segment.data())
            .map_err(log_error)?;
        self.compare(&a, &first)?;
        self.compare(&b, &second)
    }

    fn compare(&mut self, block: &Pending<'_>, digest: &Digest) -> Result {
        if self.is_same(digest, &block.wanted) || self.is_good_on_disk(block) {
            if let Some(validated) = &self.verity.options.validated {
                validated.set(block.number);
            }
            return Ok(());
        }
        self.corrupted(BlockKind::Data, block.number, block.number, c"verify-data")
    }

    /// Reads a block again where nobody else can write to it. If it is good there, it was changed
    /// after it was read, and the good one is returned.
    #[cold]
    fn is_good_on_disk(&self, block: &Pending<'_>) -> bool {
        let verity = self.verity;
        let mut page = verity.recheck_pages.alloc(self.token);
        let size = verity.geometry.data_block().bytes() as usize;
        let Some(data) = page.get_mut(..size) else {
            return false;
        };
        let sector = verity.data_sector(block.number);
        let good = verity
            .io
            .read(&verity.data_device, sector, data, self.token)
            .and_then(|()| self.hasher.digest((&*data).into()))
            .is_ok_and(|digest| self.is_same(&digest, &block.wanted));
        if good {
            block.segment.copy_from(data);
        }
        good
    }

    /// Reports a bad block. `of` is the data block on whose behalf it was looked at.
    #[cold]
    fn corrupted(&mut self, kind: BlockKind, block: u64, of: u64, op: &'static CStr) -> Result {
        let corruption = Corruption { kind, block };
        self.verity
            .handle_corruption(self.ti, corruption, self.token)
            .inspect_err(|_| {
                self.had_mismatch = true;
                self.bio.audit(c"verity", op, of, false, self.token);
            })
    }

    /// Returns the digest that a data block must have.
    #[inline]
    fn digest_of(&mut self, number: u64) -> Result<Digest> {
        let Some(position) = self.verity.geometry.position(0, number) else {
            return self.to_digest(&self.verity.hashing.root_digest, 0);
        };
        if let Some(leaf) = &self.leaf {
            if number < leaf.end {
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

    /// Returns the leaf with the digest of a data block, verified unless corruption is ignored.
    fn leaf_of(&mut self, number: u64, position: Position) -> Result<Buffer<'a, HashBlock>> {
        let hashes = self.verity.hashes.sleepable(self.token);
        if let Ok(buffer) = hashes.read(position.hash_block, self.bio.priority()) {
            if is_verified(&buffer) {
                return Ok(buffer);
            }
        }
        self.walk(number)
    }

    /// Verifies the way from the root to the leaf of a data block, and returns the leaf.
    fn walk(&mut self, number: u64) -> Result<Buffer<'a, HashBlock>> {
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

    /// Reads a hash block and verifies it, unless that was done.
    fn hash_block(
        &mut self,
        number: u64,
        hash_block: u64,
        wanted: &Digest,
    ) -> Result<Buffer<'a, HashBlock>> {
        let hashes = self.verity.hashes.sleepable(self.token);
        let buffer = hashes.read(hash_block, self.bio.priority())?;
        if !is_verified(&buffer) {
            let digest = self
                .hasher
                .digest(buffer.data().into())
                .map_err(log_error)?;
            if self.is_same(&digest, wanted) {
                buffer.aux().verified.store(true, Ordering::Release);
            } else {
                self.corrupted(BlockKind::Metadata, hash_block, number, c"verify-metadata")?;
            }
        }
        Ok(buffer)
    }

    /// Copies the digest at `offset` (bytes) of a hash block.
    #[inline]
    fn to_digest(&self, block: &[u8], offset: u32) -> Result<Digest> {
        let size = self.verity.geometry.digest_size() as usize;
        let mut digest = [0; MAX_DIGEST_SIZE];
        let from = block
            .get(offset as usize..)
            .and_then(|rest| rest.get(..size));
        match (digest.get_mut(..size), from) {
            (Some(to), Some(from)) => to.copy_from_slice(from),
            _ => return Err(EINVAL),
        }
        Ok(digest)
    }
}

#[inline]
fn is_verified(buffer: &Buffer<'_, HashBlock>) -> bool {
    buffer.aux().verified.load(Ordering::Acquire)
}

#[cold]
fn log_error(error: Error) -> Error {
    LOG.error(format_args!("Error hashing block: {}", error.to_errno()));
    error
}
