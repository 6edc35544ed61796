// SPDX-License-Identifier: GPL-2.0

//! The shape of the hash tree: rows V-14, V-18 and V-70 to V-73.

use dm::errno::{
    E2BIG,
    EINVAL, //
};
use model::tree::{
    all_trees,
    check_position,
    check_shape,
    sizes,
    usual,
    Dealt, //
};
use verity::hash_tree::{
    BlockSize,
    Geometry,
    Position,
    Version,
    DIGEST_TOO_BIG,
    HASH_DEVICE_TOO_SMALL,
    OFFSET_OVERFLOW,
    TOO_MANY_LEVELS, //
};

#[test]
fn all_block_and_digest_sizes() {
    let mut trees = 0;
    all_trees(|version, data_block, hash_block, digest| {
        let slots = Dealt::new(version, &sizes(0, 512, hash_block, 0, digest)).slots as u64;
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
