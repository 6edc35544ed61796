// SPDX-License-Identifier: GPL-2.0

//! The index of the journal, against a list of what was entered.

use integrity::index::{
    Index,
    Slot, //
};
use proptest::prelude::*;

const ENTRIES: u32 = 32;

proptest! {
    #[test]
    fn as_a_list(steps in prop::collection::vec((0..ENTRIES, 0u64..12), 1..300)) {
        let mut index = Index::new(vec![Slot::EMPTY; ENTRIES as usize]);
        // Entries with their sectors, the newest last.
        let mut list: Vec<(u32, u64)> = vec![];
        for (entry, sector) in steps {
            match list.iter().position(|&(e, _)| e == entry) {
                Some(at) => {
                    list.remove(at);
                    index.remove(entry);
                }
                None => {
                    list.push((entry, sector));
                    index.insert(entry, sector);
                }
            }
            prop_assert_eq!(index.is_empty(), list.is_empty());
            for sector in 0..12 {
                let newest = list.iter().rev().find(|&&(_, s)| s == sector).map(|&(e, _)| e);
                prop_assert_eq!(index.find(sector), newest);
                let odd = list.iter().any(|&(e, s)| s == sector && e % 2 == 1);
                prop_assert_eq!(index.has(sector, |entry| entry % 2 == 1), odd);
            }
            for (at, &(entry, sector)) in list.iter().enumerate() {
                let mut after = list.iter().skip(at + 1);
                let newer = after.find(|&&(_, s)| s == sector).map(|&(e, _)| e);
                prop_assert_eq!(index.newer(entry), newer);
                prop_assert_eq!(index.is_newest(entry, sector), newer.is_none());
            }
            let free = (0..12).take_while(|s| list.iter().all(|&(_, t)| t != *s)).count();
            prop_assert_eq!(index.free_blocks(0, 12, 1), free as u32);
        }
    }
}

#[test]
fn removing_twice_does_nothing() {
    let mut index = Index::new(vec![Slot::EMPTY; 4]);
    index.insert(1, 100);
    index.insert(2, 100);
    index.remove(3);
    index.remove(1);
    index.remove(1);
    assert_eq!(index.find(100), Some(2));
    index.remove(2);
    assert!(index.is_empty());
    assert_eq!(index.find(100), None);
}
