// SPDX-License-Identifier: GPL-2.0

//! Commit ids: rows I-53 and I-55.

use integrity::commit::{
    CommitIds,
    Sequence, //
};
use proptest::prelude::*;

#[test]
fn plain_ids() {
    let [first, second, _, last] = Sequence::ALL;
    assert_eq!(CommitIds::PLAIN.id(0, 0, first), 0x1111_1111_1111_1111);
    assert_eq!(CommitIds::PLAIN.id(2, 1, second), 0x2222_2220_2222_2223);
    assert_eq!(
        CommitIds::PLAIN.id(u32::MAX, 0, last),
        0xbbbb_bbbb_4444_4444
    );
    assert_eq!((first.previous(), last.next()), (last, first));
    let bytes = CommitIds::PLAIN.to_bytes();
    assert_eq!(bytes[8..16], [0x22; 8]);
    assert_eq!(CommitIds::from_bytes(&bytes), CommitIds::PLAIN);
}

#[test]
fn equal_ids_are_made_different() {
    // 5, 5, 6, 5 count up to 5, 6, 7, 8: each is compared with what those before have become.
    let mut bytes = [0; 32];
    for (chunk, number) in bytes.chunks_mut(8).zip([5u64, 5, 6, 5]) {
        chunk.copy_from_slice(&number.to_le_bytes());
    }
    let ids = CommitIds::from_bytes(&bytes);
    assert_eq!(
        Sequence::ALL.map(|sequence| ids.id(0, 0, sequence)),
        [5, 6, 7, 8]
    );
    // And around the end.
    let ids = CommitIds::from_bytes(&[0xff; 32]);
    let numbers = Sequence::ALL.map(|sequence| ids.id(0, 0, sequence));
    assert_eq!(numbers, [u64::MAX, 0, 1, 2]);
}

proptest! {
    #[test]
    fn found_again(section: u32, sector in 0..392u32, other in 0..392u32) {
        for sequence in Sequence::ALL {
            let id = CommitIds::PLAIN.id(section, sector, sequence);
            prop_assert_eq!(CommitIds::PLAIN.sequence(section, sector, id), Some(sequence));
            if other != sector {
                prop_assert_eq!(CommitIds::PLAIN.sequence(section, other, id), None);
            }
        }
    }
}
