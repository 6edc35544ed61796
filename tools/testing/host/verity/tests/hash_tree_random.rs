// SPDX-License-Identifier: GPL-2.0

//! Hash trees of any size: rows V-14, V-18, V-47, V-66 and V-70 to V-73.

use dm::errno::{
    E2BIG, //
};
use model::tree::{
    check_position,
    check_shape,
    sizes,
    Dealt,
    VERSIONS, //
};
use proptest::prelude::*;
use verity::hash_tree::{
    Blocks,
    Geometry,
    Sizes,
    Version,
    DIGEST_TOO_BIG,
    OFFSET_OVERFLOW,
    OUT_OF_RANGE,
    TOO_MANY_LEVELS,
    UNALIGNED_IO, //
};

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

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn any_numbers_make_the_dealt_tree_or_its_error(
        (version, sizes) in any_sizes(), blocks: [u64; 4],
    ) {
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
                    for level in 0..tree.levels() {
                        check_position(&tree, &dealt, level, block);
                    }
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
        let most = sizes.data_blocks.saturating_sub(first);
        let count = 1 + count.checked_rem(most).unwrap_or(count % 5);
        let Some(range) = tree.prefetch(level, Blocks { first, count }, cluster) else {
            prop_assert!(level >= tree.levels() || most == 0);
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
    fn any_bio_is_in_blocks_or_refused(
        (version, sizes) in any_sizes(), sector: u64, sectors: u32, near: bool,
    ) {
        let Ok(tree) = Geometry::new(version, &sizes) else { return Ok(()) };
        let per_block = u128::from(sizes.data_block.bytes() / 512);
        let sector = if near { sector % 10 * per_block as u64 } else { sector };
        let (first, length) = (u128::from(sector), u128::from(sectors));
        let end = first + length;
        let expected = if first % per_block != 0 || length % per_block != 0 {
            Err(UNALIGNED_IO)
        } else if end / per_block > sizes.data_blocks.into() || end > u64::MAX.into() {
            Err(OUT_OF_RANGE)
        } else {
            Ok((first / per_block, length / per_block))
        };
        let blocks = tree.data_blocks_of(sector, sectors);
        prop_assert_eq!(blocks.map(|b| (b.first.into(), b.count.into())), expected);
    }
}
