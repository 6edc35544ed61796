// SPDX-License-Identifier: GPL-2.0

//! What is done with journals, whole, torn, and damaged, by the files under test and by the
//! reference: rows I-50 to I-53 and I-64.

use integrity::{
    commit::{
        CommitIds,
        Sequence, //
    },
    journal::Geometry,
};
use integrity_model::{
    compare::{
        compare,
        Opened, //
    },
    reference::journal::Replayed,
    replay,
    section::{
        set_commit_id,
        set_commit_ids,
        set_entry,
        Entry,
        Places, //
    },
    Machine,
};
use proptest::{
    prelude::*,
    sample::select, //
};

fn open(table: &str) -> Opened {
    let words = model::words::split(table.as_bytes());
    compare(&words, &Machine::default(), &[0; 4096]).unwrap()
}

/// Five sections of 176 sectors, 168 blocks each.
fn five(mode: char) -> Opened {
    let opened = open(&format!(
        "7:0 0 4 {mode} 2 internal_hash:crc32c journal_sectors:900"
    ));
    assert_eq!(opened.volume.layout.journal().sections(), 5);
    assert_eq!(opened.volume.layout.journal().section_entries(), 168);
    opened
}

struct Image {
    geometry: Geometry,
    bytes: Vec<u8>,
}

impl Image {
    fn new(opened: &Opened, newest: u8, newer: u32) -> Self {
        let geometry = *opened.volume.layout.journal();
        let newest = Sequence::ALL[usize::from(newest)];
        Self {
            geometry,
            bytes: replay::empty(&geometry, newest, newer),
        }
    }

    fn section(&mut self, number: u32) -> &mut [u8] {
        let size = self.geometry.section_bytes();
        &mut self.bytes[number as usize * size..][..size]
    }

    /// A section written with blocks from these sectors on, in its first entries.
    fn write(&mut self, number: u32, sequence: u8, sectors: &[u64]) {
        let geometry = self.geometry;
        let section = self.section(number);
        for (entry, &sector) in (0..).zip(sectors) {
            set_entry(section, &geometry, entry, Entry::Sector(sector));
        }
        let sequence = Sequence::ALL[usize::from(sequence)];
        set_commit_ids(section, number, &CommitIds::PLAIN, sequence);
    }
}

/// What is written: first sector and number of blocks.
fn written(replayed: &Replayed) -> Vec<(u64, u32)> {
    let writes = replayed.writes.iter();
    writes
        .map(|&(_, _, sector, count, _)| (sector, count))
        .collect()
}

#[test]
fn empty_journals_go_on() {
    for mode in ['J', 'B', 'D'] {
        let opened = five(mode);
        // As formatted.
        let image = Image::new(&opened, 0, 5);
        let replayed = replay::compare(&opened, &image.bytes);
        assert_eq!(replayed.writes, []);
        assert_eq!(replayed.cleared, []);
        assert_eq!((replayed.continue_section, replayed.commit_seq), (0, 1));
        // As left in the middle.
        let image = Image::new(&opened, 2, 3);
        let replayed = replay::compare(&opened, &image.bytes);
        assert_eq!(replayed.cleared, []);
        assert_eq!((replayed.continue_section, replayed.commit_seq), (3, 2));
    }
}

#[test]
fn what_was_committed_is_replayed_in_its_order() {
    let opened = five('J');
    let mut image = Image::new(&opened, 1, 2);
    // The oldest is section 2 of the sequence before.
    image.write(0, 1, &[80, 81, 82, 7]);
    image.write(1, 1, &[80]);
    image.write(4, 0, &[1000]);
    let replayed = replay::compare(&opened, &image.bytes);
    assert_eq!(written(&replayed), [(1000, 1), (80, 3), (7, 1), (80, 1)]);
    assert_eq!(replayed.cleared, []);
    assert_eq!((replayed.continue_section, replayed.commit_seq), (2, 1));
}

#[test]
fn other_modes_empty_the_journal() {
    let opened = five('D');
    let mut image = Image::new(&opened, 1, 2);
    image.write(1, 1, &[80]);
    let replayed = replay::compare(&opened, &image.bytes);
    assert_eq!(written(&replayed), [(80, 1)]);
    // The one after the newest first, the newest last.
    assert_eq!(replayed.cleared, [(2, 1, 3), (3, 3, 3), (1, 1, 3)]);
    assert_eq!((replayed.continue_section, replayed.commit_seq), (0, 0));
}

#[test]
fn torn_tail_is_ignored() {
    let opened = five('J');
    let mut image = Image::new(&opened, 1, 2);
    image.write(1, 1, &[80]);
    image.write(2, 1, &[160]);
    // The last sectors of section 2 did not get to the disk.
    for sector in 100..176 {
        let id = CommitIds::PLAIN.id(2, sector, Sequence::ALL[0]);
        set_commit_id(image.section(2), sector, id);
    }
    let replayed = replay::compare(&opened, &image.bytes);
    assert_eq!(written(&replayed), [(80, 1)]);
    assert_eq!(replayed.cleared.len(), 3);
}

#[test]
fn foreign_commit_ids_are_errors() {
    let opened = five('J');
    let mut image = Image::new(&opened, 1, 2);
    let id = CommitIds::PLAIN.id(3, 9, Sequence::ALL[0]);
    // That of another sector.
    set_commit_id(image.section(3), 10, id);
    let replayed = replay::compare(&opened, &image.bytes);
    assert_eq!(replayed.errors, ["journal commit id"]);

    let mut image = Image::new(&opened, 1, 2);
    for sequence in 0..4 {
        image.write(sequence.into(), sequence, &[]);
    }
    let replayed = replay::compare(&opened, &image.bytes);
    assert_eq!(replayed.errors, ["journal commit ids"]);
}

#[test]
fn runs_end_with_an_area() {
    let opened = open("7:0 0 4 J 3 internal_hash:crc32c journal_sectors:900 interleave_sectors:64");
    let mut image = Image::new(&opened, 0, 5);
    image.write(0, 0, &[62, 63, 64, 65, 128]);
    image.write(1, 0, &[5]);
    let replayed = replay::compare(&opened, &image.bytes);
    assert_eq!(written(&replayed), [(62, 2), (64, 2), (128, 1), (5, 1)]);
}

#[test]
fn sectors_beyond_the_end_are_left_out() {
    let opened = five('J');
    let end = opened.volume.layout.provided_data_sectors();
    let mut image = Image::new(&opened, 0, 5);
    image.write(
        0,
        0,
        &[
            end - 1,
            end,
            end + 1,
            u64::MAX >> 32 << 32,
            0xffff_fffe << 32,
            3,
        ],
    );
    let replayed = replay::compare(&opened, &image.bytes);
    assert_eq!(written(&replayed), [(end - 1, 1), (3, 1)]);
}

#[test]
fn misaligned_sectors_are_errors() {
    let opened = open("7:0 0 4 J 3 internal_hash:crc32c journal_sectors:900 block_size:4096");
    let mut image = Image::new(&opened, 0, 2);
    image.write(0, 0, &[8, 17]);
    let replayed = replay::compare(&opened, &image.bytes);
    assert_eq!(replayed.errors, ["invalid sector in journal"]);
}

#[test]
fn every_entry_has_its_place() {
    for block in [512, 1024, 2048, 4096] {
        for tag in [1, 4, 16, 17, 32, 100, 255] {
            for mac in ["", " journal_mac:crc32c"] {
                let count = if mac.is_empty() { 1 } else { 2 };
                let table = format!("7:0 0 {tag} J {count} block_size:{block}{mac}");
                every_byte_once(open(&table).volume.layout.journal());
            }
        }
    }
}

/// Entries, blocks, commit ids, and MACs fill a section, and do not overlap.
fn every_byte_once(geometry: &Geometry) {
    let mut used = vec![0u8; geometry.section_bytes()];
    let mut take = |range: std::ops::Range<usize>| {
        for byte in &mut used[range] {
            *byte += 1;
        }
    };
    for entry in 0..geometry.section_entries() {
        let whole = geometry.entry_range(entry).unwrap();
        assert!(whole.start % 8 == 0 && geometry.tag_range(entry).unwrap().end <= whole.end);
        take(whole);
        let block = geometry.block_range(entry).unwrap();
        for sector in block.step_by(512) {
            take(sector..sector + 504);
        }
    }
    for sector in 0..u32::from(geometry.section_sectors()) {
        take(integrity_model::section::commit_id_range(sector));
        if sector < 8 && geometry.has_mac() {
            take(integrity_model::section::mac_part_range(sector));
        }
    }
    assert!(used.iter().all(|&count| count <= 1));
    let unused = used[8 * 512..].iter().filter(|&&count| count == 0).count();
    assert_eq!(unused, 0, "after the entries");
    assert!(geometry.entry_range(geometry.section_entries()).is_none());
    assert!(geometry.block_range(geometry.section_entries()).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_journal(
        table in select(&[
            "7:0 0 4 J 1 journal_sectors:1",
            "7:0 0 4 J 1 journal_sectors:400",
            "7:0 0 4 D 1 journal_sectors:900",
            "7:0 0 32 J 2 journal_sectors:900 block_size:4096",
            "7:0 0 32 J 3 journal_sectors:700 block_size:1024 interleave_sectors:64",
            "7:0 0 17 J 2 journal_sectors:3000 meta_device:7:1",
        ][..]),
        (newest, newer) in (0..4u8, 0..30u32),
        edits in prop::collection::vec(any::<[u8; 5]>(), 0..12),
    ) {
        let opened = open(table);
        let geometry = *opened.volume.layout.journal();
        let newest = Sequence::ALL[usize::from(newest)];
        let mut bytes = replay::empty(&geometry, newest, newer % (geometry.sections() + 1));
        for change in edits {
            replay::edit(&mut bytes, &geometry, change);
        }
        replay::compare(&opened, &bytes);
    }
}
