// SPDX-License-Identifier: GPL-2.0

//! Ranges that are held, against all of their sectors.

use std::collections::BTreeSet;

use integrity::ranges::{
    Held,
    Range, //
};
use proptest::prelude::*;

#[test]
fn neighbours_do_not_overlap() {
    let mut held = Held::new(vec![Range::default(); 4]);
    assert!(held.insert(Range { start: 8, len: 8 }));
    assert!(held.insert(Range { start: 0, len: 8 }));
    assert!(held.insert(Range { start: 16, len: 8 }));
    assert!(!held.insert(Range { start: 15, len: 2 }));
    assert!(!held.insert(Range { start: 40, len: 0 }));
    assert!(!held.remove(Range { start: 8, len: 7 }));
    assert!(held.remove(Range { start: 8, len: 8 }));
    assert!(held.insert(Range { start: 15, len: 1 }));
}

#[test]
fn no_room() {
    let mut held = Held::new(vec![Range::default(); 1]);
    assert!(held.insert(Range { start: 8, len: 8 }));
    assert!(!held.insert(Range { start: 80, len: 8 }));
    assert!(held.remove(Range { start: 8, len: 8 }));
    assert!(held.is_empty());
    assert!(held.insert(Range { start: 80, len: 8 }));
}

proptest! {
    #[test]
    fn as_sets_of_sectors(
        steps in prop::collection::vec((0u64..64, 1u64..12, any::<bool>()), 1..200),
    ) {
        let mut held = Held::new(vec![Range::default(); 64]);
        let mut ranges: Vec<Range> = vec![];
        let mut sectors = BTreeSet::new();
        for (start, len, give_up) in steps {
            if give_up && !ranges.is_empty() {
                let range = ranges.swap_remove(start as usize % ranges.len());
                prop_assert!(held.remove(range));
                sectors.retain(|s| !(range.start..range.end()).contains(s));
                continue;
            }
            let range = Range { start, len };
            let free = (start..range.end()).all(|s| !sectors.contains(&s));
            prop_assert_eq!(held.insert(range), free);
            if free {
                ranges.push(range);
                sectors.extend(start..range.end());
            }
        }
        prop_assert_eq!(held.is_empty(), ranges.is_empty());
    }
}
