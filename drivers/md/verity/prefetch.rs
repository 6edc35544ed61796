// SPDX-License-Identifier: GPL-2.0

//! Reading hash blocks ahead: while the data is on its way, its hashes are fetched as well.

use crate::{
    hash_tree::Blocks,
    params,
    target::Verity, //
};
use dm::{
    bio::MapBio,
    context::MaySleep, //
};

/// A job: the hash blocks of some data blocks are to be read.
pub(crate) struct Prefetch {
    blocks: Blocks,
    priority: u16,
}

impl Verity {
    /// Has the hash blocks of a bio read if they are not cached. Best effort.
    #[inline]
    pub(crate) fn prefetch(&self, bio: &MapBio<'_, Self>, blocks: Blocks) {
        let Some(blocks) = self.not_validated(blocks) else {
            return;
        };
        if self.leaves_are_cached(blocks) {
            return;
        }
        let job = Prefetch {
            blocks,
            priority: bio.priority(),
        };
        // Without memory, the hashes are read when they are needed.
        let _ = bio.queue_job(&self.queue, job);
    }

    /// Returns the blocks without those at both ends that need no hash any more.
    #[inline]
    fn not_validated(&self, blocks: Blocks) -> Option<Blocks> {
        let Some(validated) = &self.options.validated else {
            return Some(blocks);
        };
        let end = blocks.first.saturating_add(blocks.count);
        let first = (blocks.first..end).find(|&block| !validated.get(block))?;
        let last = (first..end).rev().find(|&block| !validated.get(block))?;
        Some(Blocks {
            first,
            count: last.saturating_sub(first).saturating_add(1),
        })
    }

    /// Returns whether all leaves of some data blocks are in the cache. A leaf that was verified
    /// is all that verification needs.
    #[inline]
    fn leaves_are_cached(&self, blocks: Blocks) -> bool {
        let (mut block, mut left) = (blocks.first, blocks.count);
        while left > 0 {
            let Some(position) = self.geometry.position(0, block) else {
                // No tree, or no such block: nothing to read.
                return true;
            };
            if self.hashes.get(position.hash_block).is_none() {
                return false;
            }
            let run = self.geometry.leaf_run(block).clamp(1, left);
            block = block.saturating_add(run);
            left = left.saturating_sub(run);
        }
        true
    }
}

impl Prefetch {
    /// Reads the hash blocks, from the top down.
    pub(crate) fn run(self, verity: &Verity, token: MaySleep<'_>) {
        let hashes = verity.hashes.sleepable(token);
        let cluster = params::prefetch_cluster.get();
        for level in verity.geometry.prefetch_levels() {
            if let Some(blocks) = verity.geometry.prefetch(level, self.blocks, cluster) {
                hashes.prefetch(blocks.first, blocks.count, self.priority);
            }
        }
    }
}
