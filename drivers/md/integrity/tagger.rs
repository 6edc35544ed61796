// SPDX-License-Identifier: GPL-2.0

//! The tag of a block: a hash of where and what it is.

use crate::superblock::SALT;
use dm::crypto::{
    shash::{
        Hash,
        MAX_DIGEST_SIZE, //
    },
    Data, //
};
use kernel::prelude::*;

/// What computes tags.
///
/// # Invariants
///
/// A tag has `tag` bytes, at least 1, a digest `digest`, at most [`MAX_DIGEST_SIZE`].
pub(crate) struct Tagger {
    hash: Hash,
    digest: usize,
    tag: usize,
    salt: Option<[u8; SALT]>,
}

/// The bytes that [`Tagger::tag`] may write beyond a tag, rounded up.
pub(crate) const SPARE: usize = MAX_DIGEST_SIZE;

impl Tagger {
    pub(crate) fn new(hash: Hash, tag: usize, salt: Option<[u8; SALT]>) -> Self {
        // INVARIANT: The crypto API checks it of all algorithms.
        Self {
            digest: hash.digest_size(),
            hash,
            tag,
            salt,
        }
    }

    /// Returns the bytes of a tag.
    #[inline]
    pub(crate) fn tag_bytes(&self) -> usize {
        self.tag
    }

    /// Returns the bytes of a tag that are of a digest; those after them are zero.
    pub(crate) fn significant_bytes(&self) -> usize {
        self.tag.min(self.digest)
    }

    /// Writes the tag of a block to the front of `out`, and anything after it: up to [`SPARE`]
    /// bytes. Any context.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no room for that, or an error of the algorithm.
    #[inline]
    pub(crate) fn tag(&self, sector: u64, data: Data<'_>, out: &mut [u8]) -> Result {
        let place = sector.to_le_bytes();
        match &self.salt {
            Some(salt) => {
                let parts = [salt[..].into(), place[..].into(), data];
                self.hash.digest(&parts, out)?;
            }
            None => self.hash.digest(&[place[..].into(), data], out)?,
        }
        if self.digest < self.tag {
            out.get_mut(self.digest..self.tag).ok_or(EINVAL)?.fill(0);
        }
        Ok(())
    }

    /// Writes the tag of a discarded block, where these have a tag with a key, as [`Self::tag`]
    /// does. No block of data has it, since a hash of data is one of more bytes.
    pub(crate) fn discarded(&self, sector: u64, out: &mut [u8]) -> Result {
        const NOTHING: &[u8] = &[];

        self.tag(sector, NOTHING.into(), out)
    }
}
