// SPDX-License-Identifier: GPL-2.0

//! The repair of a block.

use super::{
    Fec,
    Room,
    Workspace, //
};
use crate::{
    fec_layout::{
        Member,
        Place, //
    },
    hasher::Digest,
    report::Corruption,
    target::{
        HashBlock,
        Verity, //
    },
};
use core::{
    ops::Deref,
    sync::atomic::Ordering, //
};
use dm::{
    bufio,
    context::MaySleep,
    log::{
        Log,
        RateLimit, //
    },
    reserve::Lent,
};
use kernel::prelude::*;

static LOG: Log = Log::new(c"device-mapper: verity-fec");

/// How many blocks are being read ahead of the one that a repair looks at.
const READ_AHEAD: u8 = 16;

/// Where a repair asks for the digests of data blocks.
pub(crate) trait Digests {
    /// Finds the digest that a data block must have. Returns whether the hash tree vouches for it.
    ///
    /// This must not repair anything, and not hold on to anything of the hash cache.
    fn find(&mut self, block: u64, wanted: &mut Digest) -> bool;
}

impl<'a> Room<'a> {
    /// Tries to repair a block that must have the digest `wanted`. May sleep.
    ///
    /// # Errors
    ///
    /// They tell why it could not be repaired.
    pub(crate) fn repair(
        mut self,
        target: Corruption,
        wanted: &Digest,
        digests: &mut impl Digests,
        priority: u16,
        token: MaySleep<'_>,
    ) -> Result<Repaired<'a>> {
        let mut repair = Repair {
            verity: self.verity,
            fec: self.fec,
            place: self.fec.layout.place(target).ok_or(EIO)?,
            wanted,
            digests,
            workspace: &mut self.workspace,
            priority,
            token,
        };
        repair.run()?;
        self.fec.corrected.fetch_add(1, Ordering::Relaxed);
        Ok(Repaired(self.workspace))
    }
}

/// A block that was repaired, and has the right digest.
pub(crate) struct Repaired<'a>(Lent<'a, Workspace>);

impl Deref for Repaired<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.output
    }
}

/// The bytes of a block, for as long as they are needed.
type Block<'a> = bufio::Buffer<'a, ()>;
type HashBuffer<'a> = bufio::Buffer<'a, HashBlock>;

/// A block of the message that was read.
enum Read<'a> {
    Data(u64, Block<'a>),
    Hash(HashBuffer<'a>),
    /// Beyond the end of the message, or known to be zeros.
    Zeros,
    Failed,
}

/// The repair of a block.
struct Repair<'a, D> {
    verity: &'a Verity,
    fec: &'a Fec,
    place: Place,
    wanted: &'a Digest,
    digests: &'a mut D,
    workspace: &'a mut Workspace,
    priority: u16,
    token: MaySleep<'a>,
}

impl<'a, D: Digests> Repair<'a, D> {
    fn run(&mut self) -> Result {
        self.collect_message();
        self.collect_parity()?;
        let Err(error) = self.correct(&[]) else {
            return Ok(());
        };
        // Only now, since it takes a while.
        let mut positions = [0; u8::MAX as usize];
        match self.find_erasures(&mut positions) {
            [] => Err(error),
            erasures => self.correct(erasures),
        }
    }

    /// Reads all blocks with message bytes of the codewords.
    fn collect_message(&mut self) {
        self.workspace.remainders.fill(0);
        self.workspace.original.fill(0);
        (0..READ_AHEAD).for_each(|region| self.read_ahead(region));
        for region in 0..self.fec.layout.regions() {
            self.read_ahead(region.saturating_add(READ_AHEAD));
            match self.read(region) {
                Read::Data(_, buffer) => self.message(region, buffer.data()),
                Read::Hash(buffer) => self.message(region, buffer.data()),
                Read::Zeros | Read::Failed => {
                    self.fec.code.message_zero(&mut self.workspace.remainders);
                }
            }
        }
    }

    fn message(&mut self, region: u8, bytes: &[u8]) {
        let workspace = &mut *self.workspace;
        self.fec.code.message(&mut workspace.remainders, bytes);
        if region == self.place.region {
            for (to, from) in workspace.original.iter_mut().zip(bytes) {
                *to = *from;
            }
        }
    }

    fn read_ahead(&self, region: u8) {
        if region >= self.fec.layout.regions() {
            return;
        }
        match self.fec.layout.member(region, self.place.index) {
            Member::Data(block) => {
                let data = self.fec.data.sleepable(self.token);
                data.prefetch(block, 1, self.priority);
            }
            Member::Hash(block) => {
                let hashes = self.verity.hashes.sleepable(self.token);
                hashes.prefetch(block, 1, self.priority);
            }
            Member::Zeros => (),
        }
    }

    /// Reads the block of a region that has bytes of the codewords.
    fn read(&mut self, region: u8) -> Read<'a> {
        match self.fec.layout.member(region, self.place.index) {
            // Whatever is there, the message has zeros.
            Member::Data(block) if self.is_known_zero(block) => Read::Zeros,
            Member::Data(block) => {
                let data = self.fec.data.sleepable(self.token);
                match data.read(block, self.priority) {
                    Ok(buffer) => Read::Data(block, buffer),
                    Err(error) => self.failed(block, error),
                }
            }
            Member::Hash(block) => {
                let hashes = self.verity.hashes.sleepable(self.token);
                match hashes.read(block, self.priority) {
                    Ok(buffer) => Read::Hash(buffer),
                    Err(error) => self.failed(block, error),
                }
            }
            Member::Zeros => Read::Zeros,
        }
    }

    fn failed(&self, block: u64, error: Error) -> Read<'a> {
        static LIMIT: RateLimit = RateLimit::new();

        LOG.warn_limited(
            &LIMIT,
            format_args!(
                "{}: FEC {}: read failed ({}): {}",
                self.device(),
                self.place.block,
                block,
                error.to_errno()
            ),
        );
        Read::Failed
    }

    fn is_known_zero(&mut self, block: u64) -> bool {
        let Some(zero) = &self.verity.options.zero_digest else {
            return false;
        };
        let mut wanted = Digest::new();
        self.digests.find(block, &mut wanted) && self.is_same(&wanted, zero)
    }

    /// Reads the parity of the codewords.
    fn collect_parity(&mut self) -> Result {
        let size = self.workspace.output.len();
        let blocks = self.fec.layout.parity(self.place.index);
        let parity = self.fec.parity.sleepable(self.token);
        parity.prefetch(blocks.first, blocks.count, self.priority);
        for number in 0..blocks.count {
            let block = blocks.first.saturating_add(number);
            let buffer = parity
                .read(block, self.priority)
                .inspect_err(|&error| self.parity_failed(block, error))?;
            let at = size.saturating_mul(number as usize);
            let remainders = &mut self.workspace.remainders;
            self.fec.code.parity(remainders, at, buffer.data());
        }
        Ok(())
    }

    fn parity_failed(&self, block: u64, error: Error) {
        LOG.error(format_args!(
            "{}: FEC {}: parity read failed (block {}): {}",
            self.device(),
            self.place.block,
            block,
            error.to_errno()
        ));
    }

    /// Finds the message blocks that are bad, as many as can be repaired: their positions in the
    /// codewords.
    fn find_erasures<'p>(&mut self, positions: &'p mut [u8; u8::MAX as usize]) -> &'p [u8] {
        let most = self.fec.layout.roots().into();
        let mut count = 0;
        for region in 0..self.fec.layout.regions() {
            if count < most && self.is_erasure(region) {
                if let Some(position) = positions.get_mut(count) {
                    *position = region;
                }
                count = count.saturating_add(1);
            }
        }
        positions.get(..count).unwrap_or_default()
    }

    fn is_erasure(&mut self, region: u8) -> bool {
        // This one was found to be bad before.
        if region == self.place.region {
            return true;
        }
        match self.read(region) {
            Read::Data(block, buffer) => self.is_bad(block, buffer.data()),
            Read::Failed => true,
            Read::Hash(_) | Read::Zeros => false,
        }
    }

    /// Returns whether a data block certainly does not have the right digest.
    fn is_bad(&mut self, block: u64, bytes: &[u8]) -> bool {
        let (mut wanted, mut digest) = (Digest::new(), Digest::new());
        self.digests.find(block, &mut wanted)
            && self.hash(bytes, &mut digest).is_ok()
            && !self.is_same(&digest, wanted.bytes())
    }

    fn hash(&self, bytes: &[u8], digest: &mut Digest) -> Result {
        self.verity.hasher().digest(bytes.into(), digest)
    }

    fn is_same(&self, a: &Digest, b: &[u8]) -> bool {
        a.is_same(b, self.verity.geometry.digest_size() as usize)
    }

    /// Corrects the codewords, and checks the digest.
    fn correct(&mut self, erasures: &[u8]) -> Result {
        static FAILED: RateLimit = RateLimit::new();
        static CORRECTED: RateLimit = RateLimit::new();
        static MISMATCH: RateLimit = RateLimit::new();

        let (name, block) = (self.device(), self.place.block);
        let corrected = self.decode(erasures).inspect_err(|error| {
            if !erasures.is_empty() {
                let errno = error.to_errno();
                LOG.error_limited(
                    &FAILED,
                    format_args!("{name}: FEC {block}: failed to correct: {errno}"),
                );
            }
        })?;
        LOG.warn_limited(
            &CORRECTED,
            format_args!("{name}: FEC {block}: corrected {corrected} errors"),
        );
        let mut digest = Digest::new();
        self.hash(&self.workspace.output, &mut digest)?;
        if self.is_same(&digest, self.wanted.bytes()) {
            return Ok(());
        }
        let count = erasures.len();
        LOG.error_limited(
            &MISMATCH,
            format_args!("{name}: FEC {block}: failed to correct ({count} erasures)"),
        );
        Err(EILSEQ)
    }

    /// Corrects the codewords, and returns the number of wrong bytes in all blocks.
    fn decode(&mut self, erasures: &[u8]) -> Result<usize> {
        let (code, region) = (&self.fec.code, usize::from(self.place.region));
        let workspace = &mut *self.workspace;
        let codewords = workspace.remainders.chunks_exact(code.words().max(1));
        let bytes = workspace.original.iter().zip(workspace.output.iter_mut());
        let mut corrected: usize = 0;
        for (remainder, (original, output)) in codewords.zip(bytes) {
            *output = *original;
            if remainder.iter().all(|&word| word == 0) {
                continue;
            }
            let syndromes = code.syndromes(remainder);
            let errors = workspace.decoder.decode(&syndromes, erasures)?;
            for (_, value) in errors.iter().filter(|&(position, _)| position == region) {
                *output ^= value;
            }
            corrected = corrected.saturating_add(errors.count());
        }
        Ok(corrected)
    }

    fn device(&self) -> &'a str {
        self.verity.data_device.name().to_str().unwrap_or_default()
    }
}
