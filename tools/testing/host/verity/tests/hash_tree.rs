// SPDX-License-Identifier: GPL-2.0

//! The shape of the hash tree: rows V-14, V-18, V-47, V-66 and V-70 to V-73.

use dm::errno::{
    E2BIG,
    EINVAL, //
};
use proptest::prelude::*;
use verity::hash_tree::{
    BlockSize,
    Blocks,
    Geometry,
    Position,
    Sizes,
    Version,
    DIGEST_TOO_BIG,
    HASH_DEVICE_TOO_SMALL,
    OFFSET_OVERFLOW,
    OUT_OF_RANGE,
    TOO_MANY_LEVELS,
    UNALIGNED_IO, //
};

const DATA_BLOCK_SIZES: [u32; 4] = [512, 1024, 2048, 4096];
const HASH_BLOCK_SIZES: [u32; 8] = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536];
const DIGEST_SIZES: [u32; 6] = [16, 20, 28, 32, 48, 64];
const VERSIONS: [Version; 2] = [Version::ChromiumOs, Version::Current];

fn sizes(
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
fn usual(data_blocks: u64, hash_start: u64) -> Geometry {
    Geometry::new(
        Version::Current,
        &sizes(data_blocks, 4096, 4096, hash_start, 32),
    )
    .unwrap()
}

/// A tree laid out by dealing blocks to slots, in 128 bits.
struct Dealt {
    slots: u128,
    slot_size: u128,
    /// The number of blocks of each level, from the leaves up.
    counts: Vec<u128>,
    hash_start: u128,
}

impl Dealt {
    fn new(version: Version, sizes: &Sizes) -> Self {
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
    fn start(&self, level: usize) -> u128 {
        self.hash_start + self.counts[level + 1..].iter().sum::<u128>()
    }

    fn end(&self) -> u128 {
        self.hash_start + self.counts.iter().sum::<u128>()
    }

    fn position(&self, level: usize, data_block: u64) -> (u128, u128) {
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

fn check_position(tree: &Geometry, dealt: &Dealt, level: u32, block: u64) {
    let Position { hash_block, offset } = tree.position(level, block).unwrap();
    assert_eq!(
        (u128::from(hash_block), u128::from(offset)),
        dealt.position(level as usize, block),
        "level {level}, data block {block} of {tree:?}"
    );
    assert!((tree.hash_start()..tree.hash_end()).contains(&hash_block));
    assert!(offset + tree.digest_size() <= tree.hash_block().bytes());
}

fn check_shape(tree: &Geometry, dealt: &Dealt) {
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
fn all_trees(mut check: impl FnMut(Version, u32, u32, u32)) {
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

#[test]
fn all_block_and_digest_sizes() {
    let mut trees = 0;
    all_trees(|version, data_block, hash_block, digest| {
        let slots =
            u64::from(Dealt::new(version, &sizes(0, 512, hash_block, 0, digest)).slots as u32);
        let edges = [1, slots, slots * slots, slots.pow(3)];
        for data_blocks in edges
            .into_iter()
            .flat_map(|edge| [edge - 1, edge, edge + 1])
        {
            for hash_start in [0, 1, 1000] {
                let sizes = sizes(data_blocks, data_block, hash_block, hash_start, digest);
                let tree = Geometry::new(version, &sizes).unwrap();
                let dealt = Dealt::new(version, &sizes);
                check_shape(&tree, &dealt);
                for block in [
                    0,
                    1,
                    slots - 1,
                    slots,
                    data_blocks / 2,
                    data_blocks.wrapping_sub(1),
                ] {
                    if block < data_blocks {
                        (0..tree.levels()).for_each(|l| check_position(&tree, &dealt, l, block));
                    }
                }
                trees += 1;
            }
        }
    });
    assert_eq!(trees, 2 * 4 * 8 * 6 * 12 * 3);
}

#[test]
fn every_digest_has_a_place_of_its_own() {
    all_trees(|version, data_block, hash_block, digest| {
        let sizes = sizes(3000, data_block, hash_block, 7, digest);
        let tree = Geometry::new(version, &sizes).unwrap();
        // Of each level, the places of the digests of the blocks below, in order.
        let mut below = (0..3000).collect::<Vec<u64>>();
        let mut blocks = 3000;
        for level in 0..tree.levels() {
            let mut places = below
                .iter()
                .map(|&block| tree.position(level, block).unwrap());
            let first = places.next().unwrap();
            assert_eq!(first.hash_block, tree.level_start(level).unwrap());
            assert_eq!(first.offset, 0);
            let mut last = first;
            for place in places {
                if place.hash_block == last.hash_block {
                    assert_eq!(place.offset, last.offset + tree.slot_size());
                } else {
                    assert_eq!((place.hash_block, place.offset), (last.hash_block + 1, 0));
                    blocks += 1;
                }
                last = place;
            }
            // The first data block below each block of this level.
            below = below.into_iter().step_by(1 << tree.slot_bits()).collect();
        }
        assert_eq!(below, [0]);
        assert_eq!(tree.hash_blocks(), blocks - 3000 + u64::from(tree.levels()));
    });
}

#[test]
fn the_usual_tree() {
    let tree = usual(262144, 1);
    assert_eq!(
        (tree.levels(), tree.slot_bits(), tree.slot_size()),
        (3, 7, 32)
    );
    assert_eq!(tree.level_start(2), Some(1));
    assert_eq!(tree.level_start(1), Some(2));
    assert_eq!(tree.level_start(0), Some(18));
    assert_eq!(tree.hash_end(), 18 + 2048);
    let position = |level, block| {
        let Position { hash_block, offset } = tree.position(level, block).unwrap();
        (hash_block, offset)
    };
    assert_eq!(position(0, 0), (18, 0));
    assert_eq!(position(0, 129), (19, 32));
    assert_eq!(position(1, 129), (2, 32));
    assert_eq!(position(2, 16384), (1, 32));
    assert_eq!(tree.position(0, 262144), None);
    assert_eq!(tree.position(3, 0), None);
}

#[test]
fn sha1_digests_are_padded_only_in_the_current_version() {
    let sizes = sizes(1000, 4096, 4096, 0, 20);
    let current = Geometry::new(Version::Current, &sizes).unwrap();
    let chromium = Geometry::new(Version::ChromiumOs, &sizes).unwrap();
    assert_eq!((current.slot_size(), current.slot_bits()), (32, 7));
    assert_eq!((chromium.slot_size(), chromium.slot_bits()), (20, 7));
    assert_eq!(current.position(0, 5).unwrap().offset, 160);
    assert_eq!(chromium.position(0, 5).unwrap().offset, 100);
}

#[test]
fn one_data_block_has_no_tree() {
    for data_blocks in [0, 1] {
        let tree = usual(data_blocks, 5);
        assert_eq!(
            (tree.levels(), tree.hash_blocks(), tree.hash_end()),
            (0, 0, 5)
        );
        assert_eq!(tree.position(0, 0), None);
        assert_eq!(tree.leaf_run(0), data_blocks);
        assert_eq!(tree.prefetch_levels().count(), 0);
        assert!(tree.check_hash_device(5).is_ok());
        assert!(tree.check_hash_device(4).is_err());
    }
}

#[test]
fn two_digests_must_fit() {
    for (digest, fits) in [
        (0, true),
        (1, true),
        (255, true),
        (256, true),
        (257, false),
        (u32::MAX, false),
    ] {
        let sizes = sizes(1, 512, 512, 0, digest);
        assert_eq!(sizes.check_digest().is_ok(), fits, "{digest}");
        let tree = Geometry::new(Version::Current, &sizes);
        assert_eq!(tree.is_ok(), fits && digest != 0, "{digest}");
        if let Err(error) = tree {
            assert_eq!((error.text, error.errno), (DIGEST_TOO_BIG, EINVAL));
        }
    }
}

#[test]
fn no_more_than_63_levels() {
    let with_levels =
        |data_blocks| Geometry::new(Version::Current, &sizes(data_blocks, 512, 512, 0, 256));
    assert_eq!(with_levels(1 << 62).unwrap().levels(), 62);
    assert_eq!(with_levels(1 << 63).unwrap().levels(), 63);
    let error = with_levels((1 << 63) + 1).unwrap_err();
    assert_eq!((error.text, error.errno), (TOO_MANY_LEVELS, E2BIG));
}

#[test]
fn the_tree_must_end_before_block_numbers_do() {
    // A root and two leaves.
    let tree =
        |hash_start| Geometry::new(Version::Current, &sizes(200, 4096, 4096, hash_start, 32));
    assert_eq!(tree(u64::MAX - 3).unwrap().hash_end(), u64::MAX);
    for hash_start in [u64::MAX - 2, u64::MAX - 1, u64::MAX] {
        let error = tree(hash_start).unwrap_err();
        assert_eq!((error.text, error.errno), (OFFSET_OVERFLOW, E2BIG));
    }
}

#[test]
fn a_tree_of_all_blocks_is_not_taken_for_none() {
    // C rounds up with a sum that wraps, and accepts these with a tree of no or few blocks.
    for data_blocks in [u64::MAX, u64::MAX - 1, u64::MAX - 15] {
        for digest in [16, 32, 64] {
            let sizes = sizes(data_blocks, 512, 512, 0, digest);
            let tree = Geometry::new(Version::Current, &sizes).unwrap();
            check_shape(&tree, &Dealt::new(Version::Current, &sizes));
            assert!(tree.hash_blocks() > 1 << 58);
        }
    }
}

#[test]
fn the_hash_device_must_hold_the_tree() {
    let tree = usual(200, 10);
    assert_eq!(tree.check_hash_device(13), Ok(()));
    let error = tree.check_hash_device(12).unwrap_err();
    assert_eq!((error.text, error.errno), (HASH_DEVICE_TOO_SMALL, E2BIG));
}

#[test]
fn block_sizes_are_powers_of_two_from_a_sector() {
    for bits in 0..32 {
        let size = BlockSize::from_bytes(1 << bits);
        assert_eq!(size.is_some(), bits >= 9, "{bits}");
        if let Some(size) = size {
            assert_eq!(
                (size.bits(), size.bytes(), size.sector_bits()),
                (bits, 1 << bits, bits - 9)
            );
            assert_eq!(size.to_sectors(3), Some(3 << (bits - 9)));
            assert_eq!(size.blocks_in(3 << (bits - 9)), 3);
        }
    }
    for bytes in [0, 511, 513, 768, 4095, 4097, u32::MAX] {
        assert_eq!(BlockSize::from_bytes(bytes), None);
    }
    let size = BlockSize::from_bytes(4096).unwrap();
    assert_eq!(size.to_sectors(u64::MAX >> 3), Some(!7));
    assert_eq!(size.to_sectors((u64::MAX >> 3) + 1), None);
}

#[test]
fn leaves_are_shared_by_consecutive_blocks() {
    all_trees(|version, data_block, hash_block, digest| {
        let sizes = sizes(1000, data_block, hash_block, 3, digest);
        let tree = Geometry::new(version, &sizes).unwrap();
        let leaf = |block| tree.position(0, block).map(|position| position.hash_block);
        let mut run = 0;
        for block in (0..1000).rev() {
            run = if leaf(block) == leaf(block + 1) {
                run + 1
            } else {
                1
            };
            assert_eq!(tree.leaf_run(block), run, "block {block} of {tree:?}");
        }
        for block in [1000, 1001, u64::MAX] {
            assert_eq!(tree.leaf_run(block), 0);
        }
    });
}

#[test]
fn all_levels_but_the_root_are_prefetched() {
    assert_eq!(usual(128, 0).prefetch_levels().count(), 0);
    assert_eq!(usual(129, 0).prefetch_levels().collect::<Vec<_>>(), [0]);
    assert_eq!(
        usual(16385, 0).prefetch_levels().collect::<Vec<_>>(),
        [1, 0]
    );
}

#[test]
fn leaves_are_prefetched_in_clusters() {
    // Levels at 100, 101..117, 117..2165.
    let tree = usual(262144, 100);
    let range = |level, first, count, cluster| {
        let data = Blocks { first, count };
        tree.prefetch(level, data, cluster)
            .map(|blocks| (blocks.first, blocks.count))
    };
    let leaf = 117;
    assert_eq!(tree.level_start(0), Some(leaf));
    // No cluster.
    assert_eq!(range(0, 1280, 8, 0), Some((leaf + 10, 1)));
    assert_eq!(range(0, 1280, 8, 4095), Some((leaf + 10, 1)));
    assert_eq!(range(0, 1280, 8, 4096), Some((leaf + 10, 1)));
    // 127 is 64 * 1 + 63.
    assert_eq!(range(0, 1280, 8, 262144), Some((100, 28)));
    assert_eq!(range(0, 1280, 200, 262144), Some((100, 28 + 64)));
    assert_eq!(range(0, 1280, 8, 16384), Some((124, 4)));
    // Rounded down to a power of two.
    assert_eq!(range(0, 1280, 8, 7 * 4096 + 1), Some((124, 4)));
    // The end of the tree.
    assert_eq!(tree.hash_end(), 2165);
    assert_eq!(range(0, 262143, 1, 262144), Some((2112, 53)));
    assert_eq!(range(0, 262143, 1, u32::MAX), Some((100, 2065)));
    // Other levels have no clusters.
    assert_eq!(range(1, 16384, 8, 262144), Some((102, 1)));
    assert_eq!(range(1, 16383, 2, 262144), Some((101, 2)));
    assert_eq!(range(2, 0, 262144, 262144), Some((100, 1)));
    // Nothing of the kind.
    assert_eq!(range(3, 0, 1, 262144), None);
    assert_eq!(range(0, 0, 0, 262144), None);
    assert_eq!(range(0, 262143, 2, 262144), None);
    assert_eq!(range(0, u64::MAX, 2, 262144), None);
}

#[test]
fn a_bio_is_whole_data_blocks_of_the_device() {
    let tree = usual(100, 0);
    let blocks = |sector, sectors| {
        let blocks = tree.data_blocks_of(sector, sectors);
        blocks.map(|blocks| (blocks.first, blocks.count))
    };
    assert_eq!(blocks(0, 8), Ok((0, 1)));
    assert_eq!(blocks(0, 800), Ok((0, 100)));
    assert_eq!(blocks(792, 8), Ok((99, 1)));
    for (sector, sectors) in [(1, 8), (0, 1), (4, 4), (7, 1), (8, 12)] {
        assert_eq!(
            blocks(sector, sectors),
            Err(UNALIGNED_IO),
            "{sector} {sectors}"
        );
    }
    for (sector, sectors) in [(0, 808), (800, 8), (792, 16), (!7, 8), (u64::MAX - 15, 8)] {
        assert_eq!(
            blocks(sector, sectors),
            Err(OUT_OF_RANGE),
            "{sector} {sectors}"
        );
    }
    assert_eq!(
        blocks(801, 8),
        Err(UNALIGNED_IO),
        "alignment is looked at first"
    );
}

fn any_sizes() -> impl Strategy<Value = (Version, Sizes)> {
    let number = || {
        prop_oneof![
            0..5000u64,
            any::<u64>(),
            (0..64u32).prop_map(|bits| 1 << bits),
            0..20u64
        ]
        .prop_flat_map(|number| prop_oneof![Just(number), Just(!number)])
    };
    (
        prop::sample::select(&VERSIONS[..]),
        number(),
        9..32u32,
        9..32u32,
        number(),
        prop_oneof![1..300u32, any::<u32>()],
    )
        .prop_map(
            |(version, data_blocks, data_bits, hash_bits, hash_start, digest)| {
                (
                    version,
                    sizes(
                        data_blocks,
                        1 << data_bits,
                        1 << hash_bits,
                        hash_start,
                        digest,
                    ),
                )
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_numbers_make_the_dealt_tree_or_its_error((version, sizes) in any_sizes(), blocks: [u64; 4]) {
        let two_fit = u64::from(sizes.digest_size) * 2 <= u64::from(sizes.hash_block.bytes());
        match Geometry::new(version, &sizes) {
            Err(error) if error.text == DIGEST_TOO_BIG => prop_assert!(!two_fit),
            Err(error) => {
                prop_assert!(two_fit);
                let dealt = Dealt::new(version, &sizes);
                let levels = dealt.counts.len() > 63;
                prop_assert_eq!(error.errno, E2BIG);
                prop_assert_eq!(error.text, if levels { TOO_MANY_LEVELS } else { OFFSET_OVERFLOW });
                prop_assert!(levels || dealt.end() > u128::from(u64::MAX));
            }
            Ok(tree) => {
                prop_assert!(two_fit);
                let dealt = Dealt::new(version, &sizes);
                check_shape(&tree, &dealt);
                for block in blocks.into_iter().chain([0, sizes.data_blocks.wrapping_sub(1)]) {
                    let Some(block) = block.checked_rem(sizes.data_blocks) else { continue };
                    (0..tree.levels()).for_each(|level| check_position(&tree, &dealt, level, block));
                    prop_assert_eq!(tree.position(tree.levels(), block), None);
                    let run = tree.leaf_run(block);
                    prop_assert!(run >= 1);
                    prop_assert!(run <= sizes.data_blocks - block);
                }
                prop_assert_eq!(tree.position(0, sizes.data_blocks), None);
            }
        }
    }

    #[test]
    fn any_prefetch_covers_what_is_needed(
        (version, sizes) in any_sizes(), first: u64, count: u64, cluster: u32, level in 0..70u32,
    ) {
        let Ok(tree) = Geometry::new(version, &sizes) else { return Ok(()) };
        let first = first.checked_rem(sizes.data_blocks).unwrap_or(first);
        let count = 1 + count.checked_rem(sizes.data_blocks.saturating_sub(first)).unwrap_or(count % 5);
        let Some(range) = tree.prefetch(level, Blocks { first, count }, cluster) else {
            prop_assert!(level >= tree.levels() || first.checked_add(count).is_none_or(|end| end > sizes.data_blocks));
            return Ok(());
        };
        let need = |block| tree.position(level, block).unwrap().hash_block;
        let (low, high) = (need(first), need(first + count - 1));
        let end = range.first + range.count;
        prop_assert!(range.first <= low && high < end);
        prop_assert!(tree.hash_start() <= range.first && end <= tree.hash_end());
        // A cluster is a power of two, of more than half of what was asked for and not more.
        let blocks = u64::from(cluster >> tree.data_block().bits());
        if level > 0 || blocks == 0 {
            prop_assert_eq!((range.first, end), (low, high + 1));
        } else {
            let size = (0..32).map(|log| 1u64 << log).filter(|&size| size <= blocks).max().unwrap();
            prop_assert_eq!(range.first, (low - low % size).max(tree.hash_start()));
            let rounded = u128::from(high - high % size) + u128::from(size);
            prop_assert_eq!(u128::from(end), rounded.min(tree.hash_end().into()));
        }
    }

    #[test]
    fn any_bio_is_in_blocks_or_refused((version, sizes) in any_sizes(), sector: u64, sectors: u32, near: bool) {
        let Ok(tree) = Geometry::new(version, &sizes) else { return Ok(()) };
        let per_block = u128::from(sizes.data_block.bytes() / 512);
        let sector = if near { sector % 10 * per_block as u64 } else { sector };
        let (first, length) = (u128::from(sector), u128::from(sectors));
        let expected = if first % per_block != 0 || length % per_block != 0 {
            Err(UNALIGNED_IO)
        } else if (first + length) / per_block > u128::from(sizes.data_blocks) || first + length > u128::from(u64::MAX) {
            Err(OUT_OF_RANGE)
        } else {
            Ok((first / per_block, length / per_block))
        };
        let blocks = tree.data_blocks_of(sector, sectors);
        prop_assert_eq!(blocks.map(|b| (b.first.into(), b.count.into())), expected);
    }
}
