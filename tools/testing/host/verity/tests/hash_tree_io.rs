// SPDX-License-Identifier: GPL-2.0

//! What I/O asks of the hash tree: rows V-47, V-48 and V-66.

use model::tree::{
    all_trees,
    sizes,
    usual, //
};
use verity::hash_tree::{
    Blocks,
    Geometry,
    OUT_OF_RANGE,
    UNALIGNED_IO, //
};

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
            if let Some(position) = tree.position(0, block) {
                assert_eq!(
                    tree.leaf_offset(block),
                    position.offset,
                    "block {block} of {tree:?}"
                );
            }
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
