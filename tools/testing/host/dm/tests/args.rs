// SPDX-License-Identifier: GPL-2.0

//! The words of a table: rows.

use std::ffi::CString;

use dm::{
    errno::EINVAL,
    target::args::{
        Args,
        Range,
        TableError,
        Words, //
    },
};
use proptest::prelude::*;

const TEXT: TableError = TableError::new(c"text", EINVAL);
static RANGE: Range = Range::new(2, 4, c"text");

#[test]
fn words_come_in_order() {
    let words = [c"a", c"b"];
    let mut args = Args::new(&words[..]);
    assert_eq!(args.remaining(), 2);
    assert_eq!(args.peek(), Some(c"a"));
    assert_eq!(args.shift(), Some(c"a"));
    assert_eq!(args.expect(c"text"), Ok(c"b"));
    assert!(args.is_empty());
    assert_eq!(args.peek(), None);
    assert_eq!(args.shift(), None);
    assert_eq!(args.expect(c"text"), Err(TEXT));
    assert_eq!(args.remaining(), 0);
}

#[test]
fn no_words() {
    let words: [CString; 0] = [];
    assert!(Words::is_empty(&words[..]));
    assert!(!Words::is_empty(&[c""][..]));
    let mut args = Args::new(&words[..]);
    assert!(args.is_empty());
    assert_eq!(args.shift(), None);
    assert_eq!(args.read(&RANGE), Err(TEXT));
    assert_eq!(args.at_least(0, c"text"), Ok(()));
    assert_eq!(args.at_least(1, c"text"), Err(TEXT));
}

#[test]
fn numbers_within_the_range_only() {
    for (word, value) in [
        (c"1", None),
        (c"2", Some(2)),
        (c"4", Some(4)),
        (c"5", None),
        (c"4294967299", Some(3)),
        (c"x", None),
        (c"", None),
    ] {
        let words = [word, c"rest"];
        let mut args = Args::new(&words[..]);
        assert_eq!(args.read(&RANGE), value.ok_or(TEXT), "{word:?}");
        assert_eq!(args.remaining(), 1, "the word counts as read: {word:?}");
    }
}

#[test]
fn a_group_needs_its_words() {
    for count in 0..4usize {
        let words = [&[c"2"][..], &vec![c"x"; count]].concat();
        let mut args = Args::new(&words[..]);
        let expected = if count < 2 { Err(TEXT) } else { Ok(2) };
        assert_eq!(args.read_group(&RANGE), expected);
        assert_eq!(args.remaining(), count);
    }
}

#[test]
fn taken_words_end_where_told() {
    let words = [c"a", c"b", c"c"];
    let mut args = Args::new(&words[..]);
    assert!(args.take(4).is_none());
    assert!(args.take(usize::MAX).is_none());
    assert_eq!(args.remaining(), 3);
    let mut taken = args.take(2).unwrap();
    assert_eq!(args.remaining(), 1);
    assert_eq!(taken.at_least(3, c"text"), Err(TEXT));
    assert_eq!(taken.shift(), Some(c"a"));
    assert!(taken.take(2).is_none());
    assert_eq!(taken.shift(), Some(c"b"));
    assert_eq!(taken.shift(), None);
    assert_eq!(args.shift(), Some(c"c"));
}

#[derive(Clone, Debug)]
enum Step {
    Shift,
    Take(usize),
    Read,
    Group,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Shift),
        (0..6usize).prop_map(Step::Take),
        Just(Step::Read),
        Just(Step::Group),
    ]
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
    fn any_walk_is_as_along_a_slice(
        words in prop::collection::vec("[0-6x]{0,2}", 0..12),
        steps in prop::collection::vec(step(), 0..12),
    ) {
        let words: Vec<_> = words.into_iter().map(|word| CString::new(word).unwrap()).collect();
        let mut args = Args::new(&words[..]);
        let mut rest = &words[..];
        for step in steps {
            let number = rest.first().and_then(|word| word.to_str().unwrap().parse::<u32>().ok());
            let number = number.filter(|number| (2..=4).contains(number)).ok_or(TEXT);
            let after = rest.get(1..).unwrap_or_default();
            match step {
                Step::Shift => {
                    prop_assert_eq!(args.shift(), rest.first().map(CString::as_c_str));
                    rest = after;
                }
                Step::Take(count) => {
                    let taken = args.take(count);
                    prop_assert_eq!(taken.is_some(), count <= rest.len());
                    if let Some(taken) = taken {
                        prop_assert_eq!(taken.remaining(), count);
                        prop_assert_eq!(taken.peek(), rest[..count].first().map(CString::as_c_str));
                        rest = &rest[count..];
                    }
                }
                Step::Read => {
                    prop_assert_eq!(args.read(&RANGE), number);
                    rest = after;
                }
                Step::Group => {
                    let fits = number.map(|number| number as usize);
                    let fits = match fits {
                        Ok(count) if count > after.len() => Err(TEXT),
                        fits => fits,
                    };
                    prop_assert_eq!(args.read_group(&RANGE), fits);
                    rest = after;
                }
            }
            prop_assert_eq!(args.remaining(), rest.len());
        }
    }
}
