// SPDX-License-Identifier: GPL-2.0

//! Hash trees, laid out another way.

use verity::hash_tree::{
    BlockSize,
    Geometry,
    Position,
    Sizes,
    Version, //
};

/// Sizes of data blocks in bytes.
pub const DATA_BLOCK_SIZES: [u32; 4] = [512, 1024, 2048, 4096];
/// Sizes of hash blocks in bytes.
pub const HASH_BLOCK_SIZES: [u32; 8] = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];
/// Sizes of digests in bytes: MD5, SHA-1, SHA-224, -256, -384 and -512.
pub const DIGEST_SIZES: [u32; 6] = [16, 20, 28, 32, 48, 64];
/// Both hash types.
pub const VERSIONS: [Version; 2] = [Version::ChromiumOs, Version::Current];

/// Sizes of a tree, in blocks and bytes.
pub fn sizes(
    data_blocks: u64,
    data_block: u32,
    hash_block: u32,
    hash_start: u64,
    digest_size: u32,
) -> Sizes {
    Sizes {
        data_blocks,
        data_block: BlockSize::from_bytes(data_block).unwrap(),
        hash_block: BlockSize::from_bytes(hash_block).unwrap(),
        hash_start,
        digest_size,
    }
}

/// A tree with 128 slots of 32 bytes: the usual one.
pub fn usual(data_blocks: u64, hash_start: u64) -> Geometry {
    Geometry::new(
        Version::Current,
        &sizes(data_blocks, 4096, 4096, hash_start, 32),
    )
    .unwrap()
}

/// A tree laid out by dealing blocks to slots, in 128 bits.
pub struct Dealt {
    /// The digests in a block.
    pub slots: u128,
    /// The bytes from one digest to the next.
    pub slot_size: u128,
    /// The number of blocks of each level, from the leaves up.
    pub counts: Vec<u128>,
    hash_start: u128,
}

impl Dealt {
    /// Deals blocks until one is left.
    pub fn new(version: Version, sizes: &Sizes) -> Self {
        let block = u128::from(sizes.hash_block.bytes());
        let digest = u128::from(sizes.digest_size);
        // The largest power of two of digests that fits.
        let slots = (0..32)
            .map(|log| 1 << log)
            .filter(|n| n * digest <= block)
            .max()
            .unwrap();
        let mut counts = Vec::new();
        let mut below = u128::from(sizes.data_blocks);
        while below > 1 {
            below = below / slots + u128::from(below % slots != 0);
            counts.push(below);
        }
        Self {
            slots,
            slot_size: match version {
                Version::ChromiumOs => digest,
                // Padded so that the slots fill the block.
                Version::Current => block / slots,
            },
            counts,
            hash_start: u128::from(sizes.hash_start),
        }
    }

    /// The first block of a level: all higher levels come before it.
    pub fn start(&self, level: usize) -> u128 {
        self.hash_start + self.counts[level + 1..].iter().sum::<u128>()
    }

    /// The block after the last.
    pub fn end(&self) -> u128 {
        self.hash_start + self.counts.iter().sum::<u128>()
    }

    /// The block and the byte of a digest on the way from a data block to the root.
    pub fn position(&self, level: usize, data_block: u64) -> (u128, u128) {
        let mut index = u128::from(data_block);
        for _ in 0..level {
            index /= self.slots;
        }
        (
            self.start(level) + index / self.slots,
            index % self.slots * self.slot_size,
        )
    }
}

/// Panics unless a digest is where it was dealt to.
pub fn check_position(tree: &Geometry, dealt: &Dealt, level: u32, block: u64) {
    let Position { hash_block, offset } = tree.position(level, block).unwrap();
    assert_eq!(
        (u128::from(hash_block), u128::from(offset)),
        dealt.position(level as usize, block),
        "level {level}, data block {block} of {tree:?}"
    );
    assert!((tree.hash_start()..tree.hash_end()).contains(&hash_block));
    assert!(offset + tree.digest_size() <= tree.hash_block().bytes());
}

/// Panics unless a tree has the levels that were dealt.
pub fn check_shape(tree: &Geometry, dealt: &Dealt) {
    assert_eq!(1 << tree.slot_bits(), dealt.slots);
    assert_eq!(u128::from(tree.slot_size()), dealt.slot_size);
    assert_eq!(tree.levels() as usize, dealt.counts.len());
    for level in 0..tree.levels() {
        let start = tree.level_start(level).unwrap();
        assert_eq!(u128::from(start), dealt.start(level as usize));
    }
    assert_eq!(tree.level_start(tree.levels()), None);
    assert_eq!(tree.level_start(u32::MAX), None);
    assert_eq!(u128::from(tree.hash_end()), dealt.end());
    assert_eq!(tree.hash_blocks(), tree.hash_end() - tree.hash_start());
}

/// Runs `check` over trees of all sizes of blocks and digests, and both hash types.
pub fn all_trees(mut check: impl FnMut(Version, u32, u32, u32)) {
    for version in VERSIONS {
        for data_block in DATA_BLOCK_SIZES {
            for hash_block in HASH_BLOCK_SIZES {
                for digest in DIGEST_SIZES {
                    check(version, data_block, hash_block, digest);
                }
            }
        }
    }
}
