// SPDX-License-Identifier: GPL-2.0

//! Blocks with their tags in one unit of a device, and what stays in the journal: row I-09.

use integrity::{
    groups::Groups,
    layout::Layout,
    ranges::Range,
    replay::Sections, //
};
use integrity_model::{
    compare::compare,
    Machine, //
};
use proptest::prelude::*;

fn layout(options: &str, tag: &str) -> Layout {
    let table = format!("7:0 0 {tag} J 2 internal_hash:sha256 {options}");
    let words = model::words::split(table.as_bytes());
    compare(&words, &Machine::default(), &[0; 4096])
        .unwrap()
        .volume
        .layout
}

/// The first and the last byte of the tag of a block, from the first one on.
fn tag_of(layout: &Layout, sector: u64) -> (u64, u64) {
    let position = layout.tag_position(sector);
    let size = 512 << layout.log2_buffer_sectors();
    let first = position.buffer * size + u64::from(position.offset);
    (first, first + u64::from(layout.tag_size().bytes()) - 1)
}

#[test]
fn blocks_of_a_group() {
    let of = |options, tag, unit, sector| Groups::new(&layout(options, tag), unit).of(sector);
    let range = |start, len| Range { start, len };
    assert_eq!(
        of("block_size:4096", "4", 512, 8 * 130),
        range(8 * 128, 8 * 128)
    );
    assert_eq!(
        of("block_size:4096", "4", 4096, 8 * 130),
        range(0, 8 * 1024)
    );
    assert_eq!(of("block_size:512", "32", 512, 17), range(16, 16));
    // A tag of 20 bytes may be in two sectors: five sectors of tags have no part of another.
    assert_eq!(of("block_size:512", "20", 512, 200), range(128, 128));
    assert_eq!(of("block_size:512", "255", 512, 512), range(512, 512));
}

#[test]
fn the_last_group_ends_with_the_volume() {
    let layout = layout("block_size:512", "4");
    let end = layout.provided_data_sectors();
    let last = Groups::new(&layout, 1 << 16).of(end - 1);
    assert_eq!(last.end(), end);
}

#[test]
fn sections_in_which_blocks_may_stay() {
    let groups = |unit| Groups::new(&layout("block_size:4096", "4"), unit);
    let of = |first, count| Sections { first, count };
    // A group is in four of 48 entries at most, and two must be left.
    assert_eq!(groups(512).recent(of(4, 6), 6, 48), of(0, 4));
    assert_eq!(groups(512).recent(of(4, 3), 6, 48), of(4, 3));
    assert_eq!(groups(512).recent(of(0, 3), 3, 48), of(2, 1));
    assert_eq!(groups(512).recent(of(0, 2), 2, 48).count, 0);
    // Room for more than one in a large journal.
    assert_eq!(groups(512).recent(of(100, 200), 320, 48), of(260, 40));
    // Not worth it.
    assert_eq!(groups(1 << 16).recent(of(0, 200), 320, 48).count, 0);
}

#[test]
fn begun_or_not() {
    let groups = Groups::new(&layout("block_size:4096", "4"), 512);
    let group = groups.of(0);
    let is_begun = |blocks: &[u64]| groups.is_begun(group, |sector| blocks.contains(&(sector / 8)));
    let all: Vec<_> = (0..128).collect();
    assert!(!is_begun(&all));
    assert!(!is_begun(&all[1..]));
    assert!(!is_begun(&[]));
    assert!(is_begun(&all[..1]));
    assert!(is_begun(&all[..127]));
    assert!(is_begun(&[0, 127]));
}

proptest! {
    #[test]
    fn groups_share_no_unit(
        tag in 1u32..=32,
        log2_unit in 9u32..=12,
        log2_block in 9u32..=12,
        at in 0.0..1.0,
    ) {
        let layout = layout(&format!("block_size:{}", 1 << log2_block), &tag.to_string());
        let (unit, step) = (1u64 << log2_unit, u64::from(layout.block().sectors()));
        let groups = Groups::new(&layout, unit as u32);
        let blocks = layout.provided_data_sectors() / step;
        let group = groups.of((at * blocks as f64) as u64 * step);
        prop_assert_eq!(groups.of(group.start), group);
        prop_assert_eq!(groups.of(group.end() - step), group);
        if group.end() < layout.provided_data_sectors() {
            let last = tag_of(&layout, group.end() - step).1;
            prop_assert_eq!((last + 1) % unit, 0);
        }
        prop_assert_eq!(tag_of(&layout, group.start).0 % unit, 0);
    }

    #[test]
    fn sections_of_a_ring(all in 1u32..40, first in 0u32..40, count in 0u32..40, n in 0u32..40) {
        let sections = Sections { first: first % all, count: count.min(all) };
        let those: Vec<_> = (0..sections.count).map(|n| sections.nth(n, all)).collect();
        prop_assert_eq!(sections.has(n % all, all), those.contains(&(n % all)));
        let groups = Groups::new(&layout("block_size:512", "4"), 512);
        let recent = groups.recent(sections, all, 48);
        let last: Vec<_> = (0..recent.count).map(|n| recent.nth(n, all)).collect();
        prop_assert!(those.ends_with(&last));
        prop_assert!(recent.count <= all.saturating_sub(2));
    }
}
