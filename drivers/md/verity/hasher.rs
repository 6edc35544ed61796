// SPDX-License-Identifier: GPL-2.0

//! How blocks are hashed: by the SHA-256 library where that does, else by the crypto API.

use crate::{
    hash_tree::Version,
    table::StateError, //
};
use dm::{
    context::MaySleep,
    crypto::{
        sha256,
        shash,
        Data, //
    },
};
use kernel::prelude::*;

/// The bytes of the longest digest.
const MAX_DIGEST_SIZE: usize = shash::MAX_DIGEST_SIZE;

/// Room for a digest of any algorithm; the rest is undefined.
pub(crate) struct Digest([u8; MAX_DIGEST_SIZE]);

impl Digest {
    /// Makes room for a digest.
    #[inline]
    pub(crate) const fn new() -> Self {
        Self([0; MAX_DIGEST_SIZE])
    }

    /// Takes `size` bytes at `offset` of a block.
    ///
    /// # Errors
    ///
    /// `EINVAL` if they are not all in the block, or more than a digest can have.
    #[inline]
    pub(crate) fn take(&mut self, block: &[u8], offset: usize, size: usize) -> Result {
        let from = block.get(offset..).ok_or(EINVAL)?;
        // By far the most frequent size, for which copying is a few instructions.
        if size == sha256::DIGEST_SIZE {
            if let (Some(to), Some(from)) = (self.0.first_chunk_mut(), from.first_chunk()) {
                *to = *from as [u8; sha256::DIGEST_SIZE];
                return Ok(());
            }
        }
        match (self.0.get_mut(..size), from.get(..size)) {
            (Some(to), Some(from)) => to.copy_from_slice(from),
            _ => return Err(EINVAL),
        }
        Ok(())
    }

    /// Returns whether the first `size` bytes are those of another digest.
    #[inline]
    pub(crate) fn is_same(&self, other: &[u8], size: usize) -> bool {
        if size == sha256::DIGEST_SIZE {
            let front: Option<&[u8; sha256::DIGEST_SIZE]> = self.0.first_chunk();
            return front.is_some() && front == other.first_chunk();
        }
        match (self.0.get(..size), other.get(..size)) {
            (Some(a), Some(b)) => a == b,
            _ => false,
        }
    }

    /// Returns the bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The hash algorithm of a table.
pub(crate) struct Algorithm {
    hash: shash::Hash,
    use_library: bool,
}

/// The state of a hash after the salt.
pub(crate) enum Salted {
    /// Of the SHA-256 library, and whether it is good at two blocks at a time.
    Library(sha256::State, bool),
    /// Of the crypto API.
    Api(KVVec<u8>),
}

impl Algorithm {
    /// Finds an algorithm by its name. May sleep.
    ///
    /// # Errors
    ///
    /// Those of the crypto API, `ENOENT` if there is no such algorithm.
    pub(crate) fn new(name: &CStr, version: Version, token: MaySleep<'_>) -> Result<Self> {
        Ok(Self {
            hash: shash::Hash::new(name, token)?,
            use_library: version == Version::Current && name == c"sha256",
        })
    }

    /// Returns the bytes of a digest.
    pub(crate) fn digest_size(&self) -> usize {
        self.hash.digest_size()
    }

    /// Returns the name of the algorithm without its implementation.
    pub(crate) fn name(&self) -> &CStr {
        self.hash.algorithm()
    }

    /// Hashes the salt ahead of all blocks. May sleep.
    ///
    /// # Errors
    ///
    /// Those of the crypto API.
    pub(crate) fn salted(
        &self,
        salt: &[u8],
        token: MaySleep<'_>,
    ) -> core::result::Result<Salted, StateError> {
        if self.use_library {
            let mut state = sha256::State::new();
            state.update(salt.into());
            return Ok(Salted::Library(state, sha256::is_2x_optimized()));
        }
        self.hash
            .save(salt, token)
            .map(Salted::Api)
            .map_err(|e| match e {
                ENOMEM => StateError::Allocate(e.into()),
                _ => StateError::Hash(e.into()),
            })
    }
}

/// The digests of blocks.
pub(crate) struct Hasher<'a> {
    pub(crate) algorithm: &'a Algorithm,
    pub(crate) salt: &'a [u8],
    pub(crate) salted: Option<&'a Salted>,
}

impl Hasher<'_> {
    /// Returns whether two blocks at once cost less than one after the other.
    #[inline]
    pub(crate) fn prefers_pairs(&self) -> bool {
        matches!(self.salted, Some(Salted::Library(_, true)))
    }

    /// Computes the digest of a block. Any context.
    ///
    /// # Errors
    ///
    /// Those of the algorithm.
    #[inline]
    pub(crate) fn digest(&self, block: Data<'_>, digest: &mut Digest) -> Result {
        match self.salted {
            Some(Salted::Library(state, _)) => {
                let out = digest.0.first_chunk_mut().ok_or(EINVAL)?;
                state.digest(block, out);
                Ok(())
            }
            Some(Salted::Api(state)) => self.algorithm.hash.resume(state, block, &mut digest.0),
            None => {
                let parts = [block, self.salt.into()];
                self.algorithm.hash.digest(&parts, &mut digest.0)
            }
        }
    }

    /// Computes the digests of two blocks of one size. Any context.
    ///
    /// # Errors
    ///
    /// Those of the algorithm.
    #[inline]
    pub(crate) fn digest_pair(&self, blocks: [Data<'_>; 2], digests: &mut [Digest; 2]) -> Result {
        let [first, second] = digests;
        if let Some(Salted::Library(state, _)) = self.salted {
            let (a, b) = (first.0.first_chunk_mut(), second.0.first_chunk_mut());
            return state.digest_2x(blocks, [a.ok_or(EINVAL)?, b.ok_or(EINVAL)?]);
        }
        let [a, b] = blocks;
        self.digest(a, first)?;
        self.digest(b, second)
    }
}
