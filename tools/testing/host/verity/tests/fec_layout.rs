// SPDX-License-Identifier: GPL-2.0

//! Where parity is, and whether all of it is there: row V-34.

use dm::{
    errno::{
        E2BIG,
        EINVAL, //
    },
    target::args::TableError,
};
use proptest::prelude::*;
use verity::{
    fec_layout::{
        FecLayout,
        Parity, //
    },
    hash_tree::{
        BlockSize,
        Geometry,
        Sizes,
        Version, //
    },
};

fn tree(data_blocks: u64, hash_start: u64, hash_block: u32) -> Geometry {
    let sizes = Sizes {
        data_blocks,
        data_block: BlockSize::from_bytes(4096).unwrap(),
        hash_block: BlockSize::from_bytes(hash_block).unwrap(),
        hash_start,
        digest_size: 32,
    };
    Geometry::new(Version::Current, &sizes).unwrap()
}

fn parity(blocks: u64, roots: u8) -> Parity<()> {
    Parity {
        device: Some(()),
        blocks,
        start: 5,
        roots,
    }
}

#[track_caller]
fn refused<T>(result: Result<T, TableError>, text: &str, errno: dm::errno::Errno) {
    let error = result.err().expect("accepted");
    assert_eq!((error.text.to_str(), error.errno), (Ok(text), errno));
}

#[test]
fn layout() {
    // 1000 data blocks, 8 leaves, a root.
    let layout = FecLayout::new(&parity(1100, 2), &tree(1000, 1, 4096)).unwrap();
    assert_eq!(
        (layout.blocks(), layout.start(), layout.roots()),
        (1100, 5, 2)
    );
    assert_eq!((layout.regions(), layout.region_blocks()), (253, 5));
    assert_eq!(layout.hash_blocks(), 100);
}

#[test]
fn words_against_the_tree() {
    let usual = tree(1000, 1, 4096);
    refused(
        FecLayout::new(&parity(0, 0), &tree(1000, 1, 1024)),
        "Block sizes must match to use FEC",
        EINVAL,
    );
    refused(
        FecLayout::new(&parity(0, 0), &usual),
        "Missing fec_roots",
        EINVAL,
    );
    refused(
        FecLayout::new(&parity(0, 2), &usual),
        "Missing fec_blocks",
        EINVAL,
    );
    refused(
        FecLayout::new(&parity(1008, 2), &usual),
        "Invalid fec_blocks",
        EINVAL,
    );
    assert!(FecLayout::new(&parity(1009, 2), &usual).is_ok());
}

#[test]
fn sizes_of_devices() {
    let layout = FecLayout::new(&parity(1100, 3), &tree(1000, 7, 4096)).unwrap();
    assert_eq!(layout.check_hash_device(107), Ok(()));
    refused(
        layout.check_hash_device(106),
        "Hash device is too small for fec_blocks",
        E2BIG,
    );
    // 5 blocks a region, 3 roots.
    assert_eq!(layout.check_fec_device(15), Ok(()));
    refused(
        layout.check_fec_device(14),
        "FEC device is too small",
        E2BIG,
    );
    assert_eq!(layout.check_data_device(1000), Ok(()));
    refused(
        layout.check_data_device(999),
        "Data device is too small",
        E2BIG,
    );
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn any_numbers(
        data_blocks in prop_oneof![0..3000u64, any::<u64>().prop_map(|n| n >> 4)],
        hash_start in prop_oneof![0..9u64, any::<u64>().prop_map(|n| n >> 2)],
        blocks: u64,
        roots in 2..=24u8,
        device: u64,
    ) {
        let tree = tree(data_blocks, hash_start, 4096);
        let least = u128::from(data_blocks) + u128::from(tree.hash_blocks());
        let layout = FecLayout::new(&parity(blocks, roots), &tree);
        prop_assert_eq!(layout.is_ok(), blocks != 0 && u128::from(blocks) >= least);
        let Ok(layout) = layout else { return Ok(()) };
        let (blocks, device) = (u128::from(blocks), u128::from(device));
        let k = 255 - u128::from(roots);
        let regions = blocks.div_ceil(k);
        let hash_end = u128::from(hash_start) + blocks - u128::from(data_blocks);
        prop_assert_eq!(u128::from(layout.region_blocks()), regions);
        prop_assert_eq!(layout.check_hash_device(device as u64).is_ok(), hash_end <= device);
        let parity = regions * u128::from(roots);
        prop_assert_eq!(layout.check_fec_device(device as u64).is_ok(), parity <= device);
        let data_fits = u128::from(data_blocks) <= device;
        prop_assert_eq!(layout.check_data_device(device as u64).is_ok(), data_fits);
    }
}
