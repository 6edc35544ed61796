// SPDX-License-Identifier: GPL-2.0

//! How sectors are numbered and split, and where metadata is: rows C-30, C-53 to C-56, C-60, C-61
//! and C-63.

use std::num::NonZeroU32;

use crypt::{
    layout::{
        is_aligned,
        iv_sector,
        key_index,
        page_budget,
        write_aad,
        Profile,
        Splitting,
        Tuple, //
    },
    options::SectorSize,
};
use proptest::{
    prelude::*,
    sample::select, //
};

fn size(bytes: u32) -> SectorSize {
    SectorSize::from_bytes(bytes).unwrap()
}

fn tuple(metadata_size: u32, used: u32, iv_size: u32, aead: bool) -> Option<Tuple> {
    let profile = Profile {
        metadata_size,
        interval: 512,
    };
    Tuple::new(Some(profile), used, iv_size, size(512), aead, |_| true).ok()
}

#[test]
fn parts_of_a_tuple() {
    let tuple = tuple(48, 44, 12, true).unwrap();
    assert_eq!(tuple.tag(), 0..32);
    assert_eq!(tuple.iv(), 32..44);
    assert_eq!(tuple.rest(), 44..48);
    assert_eq!(tuple.at(3), Some(144..192));
    assert_eq!(tuple.bytes(8, size(512)), Some(384));
    assert_eq!(tuple.bytes(8, size(4096)), Some(48));
}

#[test]
fn a_random_iv_comes_first() {
    let tuple = tuple(32, 8, 16, false).unwrap();
    assert_eq!(
        (tuple.tag(), tuple.iv(), tuple.rest()),
        (0..0, 0..16, 16..32)
    );
}

#[test]
fn the_size_of_a_tag_is_asked_for_once() {
    let profile = Some(Profile {
        metadata_size: 48,
        interval: 512,
    });
    let mut asked = Vec::new();
    let tuple = Tuple::new(profile, 48, 16, size(512), true, |size| {
        asked.push(size);
        true
    });
    assert_eq!(tuple.unwrap().tag_size, 32);
    assert_eq!(asked, [32]);
}

#[test]
fn the_pool_of_tuples() {
    for (metadata, bytes, sectors) in [(48, 512, 10), (48, 4096, 80), (512, 512, 1), (600, 4096, 8)]
    {
        let tuple = Tuple {
            tag_size: 0,
            iv_size: 0,
            size: metadata,
        };
        assert_eq!(tuple.pool_sectors(size(bytes)), sectors);
    }
}

#[test]
fn authenticated_data() {
    let mut out = [0xff; 12];
    write_aad(0x0102_0304_0506_0708, &[9, 10, 11, 12], &mut out);
    assert_eq!(out, [8, 7, 6, 5, 4, 3, 2, 1, 9, 10, 11, 12]);
}

#[test]
fn numbers_of_sectors() {
    assert_eq!(iv_sector(16, 8, size(512), false), 24);
    assert_eq!(iv_sector(16, 8, size(4096), false), 24);
    assert_eq!(iv_sector(16, 8, size(4096), true), 3);
    // The sum wraps, as in C.
    assert_eq!(iv_sector(16, u64::MAX - 7, size(4096), true), 1);
    // Keys go by sectors of 512 bytes, whatever IVs do.
    assert_eq!(key_index(24, 8, 64), 32);
    assert_eq!(key_index(24, 41, 64), 1);
    assert_eq!(key_index(u64::MAX, 0, 1), 0);
    assert_eq!(key_index(u64::MAX, 0, 1 << 31), (1 << 31) - 1);
}

#[test]
fn alignment() {
    assert!(is_aligned(8, 8192, size(4096)));
    assert!(!is_aligned(4, 8192, size(4096)));
    assert!(!is_aligned(8, 6144, size(4096)));
    assert!(is_aligned(3, 512, size(512)));
    assert!(!is_aligned(3, 511, size(512)));
}

fn splitting(sector_size: u32, logical_block_size: u32, has_tag: bool) -> Splitting {
    Splitting {
        sector_size: size(sector_size),
        logical_block_size,
        page_size: 4096,
        has_tag,
    }
}

#[test]
fn splits() {
    let plain = splitting(512, 512, false);
    let tagged = splitting(512, 512, true);
    let large = splitting(4096, 512, false);
    let max = |splitting: Splitting, limit, write, no_split| {
        splitting.max_sectors(NonZeroU32::new(limit), write, no_split)
    };
    for write in [false, true] {
        assert_eq!(max(plain, 0, write, false), 256);
        assert_eq!(max(plain, 65536, write, false), 128);
        // More than the default is not to be had.
        assert_eq!(max(plain, 1 << 20, write, false), 256);
        assert_eq!(max(large, 10000, write, false), 16);
        assert_eq!(max(large, 1, write, false), 8);
        assert_eq!(max(splitting(512, 4096, false), 5000, write, false), 8);
    }
    // 256 pages at once, where pages are needed.
    assert_eq!(max(plain, 0, true, true), 2048);
    assert_eq!(max(tagged, 0, false, true), 2048);
    assert_eq!(max(plain, 0, false, true), u32::MAX / 512);
}

#[test]
fn pages_for_writes() {
    let budget = |pages, devices| page_budget(pages, NonZeroU32::new(devices).unwrap());
    assert_eq!(budget(1_000_000, 1), 20_000);
    assert_eq!(budget(1_000_000, 2), 10_000);
    assert_eq!(budget(1_000_000, 100), 4096);
    assert_eq!(budget(0, 1), 4096);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn splits_are_whole_sectors(
        limit: u32,
        sector_size in select(&[512u32, 1024, 2048, 4096][..]),
        block in select(&[512u32, 4096][..]),
        write: bool,
        no_split: bool,
        tag: bool,
    ) {
        let splitting = splitting(sector_size, block, tag);
        let sectors = splitting.max_sectors(NonZeroU32::new(limit), write, no_split);
        prop_assert!(sectors > 0);
        prop_assert_eq!(sectors % (sector_size.max(block) / 512), 0);
        if write || tag {
            prop_assert!(sectors <= 2048);
        }
        if limit != 0 && !no_split {
            prop_assert!(sectors <= 256 && sectors * 512 <= limit.max(sector_size.max(block)));
        }
    }

    #[test]
    fn tuples_fit(metadata in 1..600u32, used in 0..600u32, iv in 0..33u32, aead: bool) {
        let made = tuple(metadata, used, iv, aead);
        let tag = if aead { used.checked_sub(iv) } else { Some(0) };
        let fits = used <= metadata && tag.is_some_and(|tag| tag + iv <= metadata);
        prop_assert_eq!(made.is_some(), fits);
        if let Some(tuple) = made {
            prop_assert_eq!(tuple.tag().end, tuple.iv().start);
            prop_assert_eq!(tuple.iv().end, tuple.rest().start);
            prop_assert_eq!(tuple.rest().end, metadata as usize);
            prop_assert_eq!(tuple.iv().len(), iv as usize);
        }
    }
}
