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
    errno::Errno, //
};
use kernel::prelude::*;

/// The bytes of the longest digest.
pub(crate) const MAX_DIGEST_SIZE: usize = shash::MAX_DIGEST_SIZE;

/// A digest, in the front of the longest.
pub(crate) type Digest = [u8; MAX_DIGEST_SIZE];

/// The hash algorithm of a table.
pub(crate) struct Algorithm {
    hash: shash::Hash,
    use_library: bool,
}

/// The state of a hash after the salt.
pub(crate) enum Salted {
    /// Of the SHA-256 library.
    Library(sha256::State),
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
            return Ok(Salted::Library(state));
        }
        self.hash.save(salt, token).map(Salted::Api).map_err(|e| {
            let errno = Errno::from_return(e.to_errno());
            match e {
                ENOMEM => StateError::Allocate(errno),
                _ => StateError::Hash(errno),
            }
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
        matches!(self.salted, Some(Salted::Library(_))) && sha256::is_2x_optimized()
    }

    /// Computes the digest of a block. Any context.
    ///
    /// # Errors
    ///
    /// Those of the algorithm.
    #[inline]
    pub(crate) fn digest(&self, block: Data<'_>) -> Result<Digest> {
        let mut digest = [0; MAX_DIGEST_SIZE];
        match self.salted {
            Some(Salted::Library(state)) => {
                if let Some(front) = digest.first_chunk_mut() {
                    *front = state.digest(block);
                }
            }
            Some(Salted::Api(state)) => self.algorithm.hash.resume(state, block, &mut digest)?,
            None => self
                .algorithm
                .hash
                .digest(&[block, self.salt.into()], &mut digest)?,
        }
        Ok(digest)
    }

    /// Computes the digests of two blocks of one size. Any context.
    ///
    /// # Errors
    ///
    /// Those of the algorithm.
    #[inline]
    pub(crate) fn digest_pair(&self, a: Data<'_>, b: Data<'_>) -> Result<[Digest; 2]> {
        let mut digests = [[0; MAX_DIGEST_SIZE]; 2];
        let pair = match self.salted {
            Some(Salted::Library(state)) => state.digest_2x(a, b),
            _ => None,
        };
        match pair {
            Some(pair) => {
                for (digest, half) in digests.iter_mut().zip(pair) {
                    if let Some(front) = digest.first_chunk_mut() {
                        *front = half;
                    }
                }
            }
            None => digests = [self.digest(a)?, self.digest(b)?],
        }
        Ok(digests)
    }
}
