// SPDX-License-Identifier: GPL-2.0

//! The index against a map.

use crate::plain::index::{Bucket, Index, Insert, Leaf, SLOTS};
use proptest::prelude::*;
use std::{collections::BTreeMap, ptr::NonNull};

#[derive(Clone, Debug)]
enum Op {
    Insert(u64),
    InsertWithoutLeaf(u64),
    Remove(u64),
    Lookup(u64),
    FirstMissing(u64, u64),
}

/// Few enough blocks for them to meet, and the ends of what there can be.
fn block() -> impl Strategy<Value = u64> {
    prop_oneof![0..100u64, (u64::MAX - 40)..=u64::MAX]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => block().prop_map(Op::Insert),
        1 => block().prop_map(Op::InsertWithoutLeaf),
        3 => block().prop_map(Op::Remove),
        2 => block().prop_map(Op::Lookup),
        2 => (block(), 0..80u64).prop_map(|(start, len)| Op::FirstMissing(start, len)),
    ]
}

struct Machine {
    index: Index<u64, Vec<Bucket<u64>>>,
    spare: Vec<NonNull<Leaf<u64>>>,
    model: BTreeMap<u64, NonNull<u64>>,
    leaves: usize,
}

impl Machine {
    fn new(buckets: usize) -> Self {
        let empty = || Bucket::new(std::ptr::null_mut());
        Self {
            index: Index::new((0..buckets).map(|_| empty()).collect()).unwrap(),
            spare: Vec::new(),
            model: BTreeMap::new(),
            leaves: 0,
        }
    }

    fn has_leaf(&self, block: u64) -> bool {
        let first = block & !(SLOTS as u64 - 1);
        let mut run = self.model.range(first..=(first | (SLOTS as u64 - 1)));
        run.next().is_some()
    }

    fn insert(&mut self, block: u64, with_leaf: bool) {
        let buffer = NonNull::from(Box::leak(Box::new(block)));
        let mut spare = with_leaf.then(|| {
            self.spare.pop().unwrap_or_else(|| {
                self.leaves += 1;
                NonNull::from(Box::leak(Box::new(Leaf::new())))
            })
        });
        let needs_leaf = !self.has_leaf(block);
        // SAFETY: There is one thread; the buffer and the leaf were made here.
        let result = unsafe { self.index.insert(block, buffer, &mut spare) };
        let expected = match self.model.get(&block) {
            Some(there) => Insert::Exists(*there),
            None if needs_leaf && !with_leaf => Insert::NeedsLeaf,
            None => Insert::Done,
        };
        assert_eq!(result, expected);
        assert_eq!(spare.is_some(), with_leaf && !needs_leaf);
        self.spare.extend(spare);
        if result == Insert::Done {
            self.model.insert(block, buffer);
        } else {
            // SAFETY: Made above, and not entered.
            drop(unsafe { Box::from_raw(buffer.as_ptr()) });
        }
    }

    fn remove(&mut self, block: u64) {
        let Some(buffer) = self.model.remove(&block) else {
            return;
        };
        // SAFETY: There is one thread.
        let leaf = unsafe { self.index.remove(block) };
        assert_eq!(leaf.is_some(), !self.has_leaf(block));
        self.spare.extend(leaf);
        // SAFETY: Made by `insert`, and removed.
        assert_eq!(*unsafe { Box::from_raw(buffer.as_ptr()) }, block);
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Insert(block) => self.insert(block, true),
            Op::InsertWithoutLeaf(block) => self.insert(block, false),
            Op::Remove(block) => self.remove(block),
            Op::Lookup(block) => {
                // SAFETY: There is one thread.
                let found = unsafe { self.index.lookup(block) };
                assert_eq!(found, self.model.get(&block).copied());
            }
            Op::FirstMissing(start, len) => {
                let range = start..start.saturating_add(len);
                let expected = range.clone().find(|block| !self.model.contains_key(block));
                // SAFETY: There is one thread.
                assert_eq!(unsafe { self.index.first_missing(range) }, expected);
            }
        }
    }

    /// Removes everything; all leaves must be back then.
    fn finish(mut self) {
        while let Some((&block, _)) = self.model.first_key_value() {
            self.remove(block);
        }
        assert_eq!(self.spare.len(), self.leaves);
        for leaf in &self.spare {
            // SAFETY: Made by `insert`, and out of the table.
            drop(unsafe { Box::from_raw(leaf.as_ptr()) });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn behaves_as_a_map(
        buckets in prop_oneof![Just(1usize), Just(4), Just(64)],
        ops in prop::collection::vec(op(), 0..600),
    ) {
        let mut machine = Machine::new(buckets);
        ops.into_iter().for_each(|op| machine.run(op));
        machine.finish();
    }
}

#[test]
fn refuses_a_number_of_buckets_that_is_no_power_of_two() {
    for buckets in [0usize, 3, 6, 100] {
        let table: Vec<Bucket<u64>> = (0..buckets)
            .map(|_| Bucket::new(std::ptr::null_mut()))
            .collect();
        assert!(Index::new(table).is_none());
    }
}
