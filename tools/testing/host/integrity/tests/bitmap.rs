// SPDX-License-Identifier: GPL-2.0

//! The bitmap, against one with a boolean for each bit: row I-57, and I-14 and I-82.

use integrity::bitmap::{
    all,
    fill,
    words,
    Geometry,
    BLOCK, //
};
use integrity_model::{
    compare::compare,
    Machine, //
};
use proptest::prelude::*;

const BITS: u64 = 2 * 4096 * 8;

fn bitmap(options: &str) -> Geometry {
    let table = format!("7:0 0 - B 2 internal_hash:crc32c {options}");
    let words = model::words::split(table.as_bytes());
    compare(&words, &Machine::default(), &[0; 4096])
        .unwrap()
        .volume
        .bitmap
}

#[test]
fn bits_of_sectors() {
    let geometry = bitmap("sectors_per_bit:1024");
    assert_eq!(geometry.sectors_per_bit(), 1024);
    assert_eq!(geometry.range(0, 1), 0..1);
    assert_eq!(geometry.range(1023, 1), 0..1);
    assert_eq!(geometry.range(1023, 2), 0..2);
    assert_eq!(geometry.range(1024, 1024), 1..2);
    assert_eq!(geometry.range(5, 0), 0..0);
    assert_eq!(geometry.align_down(2047), 1024);
    assert_eq!(geometry.max_io_sectors(), 1024 * 32768);
    assert_eq!(geometry.bytes(), BLOCK);
    assert_eq!(geometry.block_of(1024 * 32768), 1);
}

#[test]
fn first_bit_is_the_lowest() {
    let mut bytes = [0; 16];
    fill(&mut bytes, &(0..1), true);
    fill(&mut bytes, &(9..10), true);
    fill(&mut bytes, &(63..66), true);
    assert_eq!(bytes, [1, 2, 0, 0, 0, 0, 0, 0x80, 3, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn largest_bits() {
    let geometry = bitmap("sectors_per_bit:18446744073709551615");
    assert_eq!(geometry.log2_sectors_per_bit(), 63);
    assert_eq!((geometry.bits(), geometry.blocks()), (1, 1));
    assert_eq!(geometry.max_io_sectors(), 1 << 31);
}

fn range() -> impl Strategy<Value = std::ops::Range<u64>> {
    let edge = prop_oneof![
        0..=BITS,
        (0..=BITS / 64).prop_map(|word| word * 64),
        (0..=BITS / 64).prop_map(|word| (word * 64).saturating_sub(1)),
    ];
    let length = prop_oneof![0u64..130, 0..=BITS];
    (edge, length).prop_map(|(start, length)| start..(start + length).min(BITS))
}

proptest! {
    #[test]
    fn like_booleans(steps in prop::collection::vec((range(), any::<bool>()), 1..20)) {
        let mut bytes = vec![0; BITS as usize / 8];
        let mut wanted = vec![false; BITS as usize];
        for (bits, on) in steps {
            let wanted = &mut wanted[bits.start as usize..bits.end as usize];
            for on in [false, true] {
                let same = wanted.iter().all(|&bit| bit == on);
                prop_assert_eq!(all(&bytes, &bits, on), same);
            }
            fill(&mut bytes, &bits, on);
            wanted.fill(on);
        }
        let found = (0..BITS as usize).map(|bit| (bytes[bit / 8] >> (bit % 8)) & 1 == 1);
        prop_assert!(found.eq(wanted));
    }

    #[test]
    fn each_bit_in_one_word(bits in range()) {
        let mut count = 0;
        for (word, mask) in words(&bits) {
            prop_assert!(mask != 0);
            let first = word as u64 * 64;
            for bit in (0..64).filter(|bit| (mask >> bit) & 1 == 1) {
                prop_assert!(bits.contains(&(first + bit)));
            }
            count += u64::from(mask.count_ones());
        }
        prop_assert_eq!(count, bits.end.saturating_sub(bits.start));
    }

    #[test]
    fn beyond_the_end(bits in range()) {
        let mut few = vec![0; 64];
        fill(&mut few, &bits, true);
        prop_assert_eq!(all(&few, &bits, true), bits.is_empty() || bits.end <= 512);
    }
}
