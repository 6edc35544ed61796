// SPDX-License-Identifier: GPL-2.0

//! The ranges against a set of numbers.

use crate::plain::ranges::{Ranges, Span, MAX};
use proptest::prelude::*;
use std::collections::BTreeSet;

const SIZE: u32 = 64;

fn span() -> impl Strategy<Value = Span> {
    (0..SIZE, 1..9_u32).prop_map(|(start, len)| Span::new(start, (start + len).min(SIZE)).unwrap())
}

fn set(ranges: &Ranges) -> BTreeSet<u32> {
    ranges
        .iter()
        .flat_map(|span| span.start..span.end)
        .collect()
}

/// In order, none empty, and apart.
fn check(ranges: &Ranges) {
    let spans: Vec<_> = ranges.iter().collect();
    assert!(spans.len() <= MAX);
    assert!(spans.iter().all(|span| span.start < span.end));
    assert!(spans.windows(2).all(|two| two[0].end < two[1].start));
    assert_eq!(ranges.is_empty(), spans.is_empty());
}

/// How many ranges it takes.
fn runs(set: &BTreeSet<u32>) -> usize {
    set.iter()
        .filter(|at| !at.checked_sub(1).is_some_and(|prev| set.contains(&prev)))
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn behaves_as_a_set(spans in prop::collection::vec(span(), 0..40), probe in span()) {
        let mut ranges = Ranges::EMPTY;
        let mut model = BTreeSet::new();
        for span in spans {
            let mut sum = model.clone();
            sum.extend(span.start..span.end);
            let fits = ranges.add(span);
            prop_assert_eq!(fits, runs(&sum) <= MAX);
            if fits {
                model = sum;
            }
            prop_assert_eq!(set(&ranges), model.clone());
            check(&ranges);
        }
        let all = (probe.start..probe.end).all(|at| model.contains(&at));
        prop_assert_eq!(ranges.cover(probe), all);
        let gaps: BTreeSet<_> =
            ranges.gaps(probe).flat_map(|gap| gap.start..gap.end).collect();
        let missing: BTreeSet<_> =
            (probe.start..probe.end).filter(|at| !model.contains(at)).collect();
        prop_assert_eq!(gaps, missing);
    }

    /// What is added within a wider set is there, and nothing that is not in the wider set.
    #[test]
    fn fits_within_a_wider_set(spans in prop::collection::vec(span(), 0..40)) {
        let mut wider = Ranges::EMPTY;
        let mut ranges = Ranges::EMPTY;
        let mut wanted = BTreeSet::new();
        for span in spans {
            if !wider.add(span) {
                continue;
            }
            ranges.add_within(span, &wider);
            wanted.extend(span.start..span.end);
            check(&ranges);
            prop_assert!(set(&ranges).is_superset(&wanted));
            prop_assert!(set(&wider).is_superset(&set(&ranges)));
        }
    }

    /// What is added is in the wider set, and as short as was said; what is left is not.
    #[test]
    fn bridges_what_is_near(
        spans in prop::collection::vec(span(), 0..10),
        more in prop::collection::vec(span(), 0..10),
        most in 0..SIZE / 2,
    ) {
        let (mut ranges, mut wider) = (Ranges::EMPTY, Ranges::EMPTY);
        for span in spans {
            if wider.add(span) {
                ranges.add_within(span, &wider);
            }
        }
        for span in more {
            let _fits = wider.add(span);
        }
        let sum = ranges.bridged(&wider, most);
        check(&sum);
        let between = |set: &Ranges| {
            let ends: Vec<_> = set.iter().collect();
            let gaps = ends.windows(2).map(|two| Span::new(two[0].end, two[1].start).unwrap());
            gaps.collect::<Vec<_>>()
        };
        let near = |gap: &Span| gap.len() <= most && wider.cover(*gap);
        let kept: Vec<_> = between(&ranges).into_iter().filter(|gap| !near(gap)).collect();
        prop_assert_eq!(between(&sum), kept);
        prop_assert!(ranges.iter().all(|span| sum.cover(span)));
        prop_assert_eq!(
            sum.iter().next().map(|span| span.start),
            ranges.iter().next().map(|span| span.start)
        );
    }

    /// Many small ranges of a set that has everything.
    #[test]
    fn fits_within_everything(spans in prop::collection::vec(span(), 0..60)) {
        let wider = Ranges::of(Span::new(0, SIZE).unwrap());
        let mut ranges = Ranges::EMPTY;
        let mut wanted = BTreeSet::new();
        for span in spans {
            let small = Span::new(span.start, span.start + 1).unwrap();
            ranges.add_within(small, &wider);
            wanted.insert(small.start);
            check(&ranges);
            prop_assert!(set(&ranges).is_superset(&wanted));
        }
    }
}
