// SPDX-License-Identifier: GPL-2.0

//! Replays journals by the files under test and by the reference, and compares.

use integrity::{
    commit::{
        CommitIds,
        Sequence, //
    },
    journal::Geometry,
    replay::{
        next_run,
        Plan,
        Sections, //
    },
    table::Mode,
};

use crate::{
    compare::{
        summary,
        Opened, //
    },
    reference::journal::{
        Journal,
        Replayed, //
    },
    section::{
        commit_id,
        initialize,
        set_commit_id,
        set_commit_ids,
        set_entry,
        Bytes,
        Entry,
        Places, //
    },
};

/// What replay by the files under test does, as the reference has it.
pub fn replay(opened: &Opened, bytes: &[u8]) -> Replayed {
    let layout = &opened.volume.layout;
    let journal = Bytes {
        geometry: *layout.journal(),
        bytes,
    };
    let mut result = Replayed::default();
    let plan = match Plan::new(&journal, opened.config.mode) {
        Ok(plan) => plan,
        Err(error) => {
            result.errors.push(error.text().to_str().unwrap());
            return result;
        }
    };
    let sections = layout.journal().sections();
    let Sections { first, count } = plan.replay.unwrap_or(Sections { first: 0, count: 0 });
    for section in (0..count).map(|n| (first + n) % sections) {
        let mut entry = 0;
        while let Some(run) = next_run(&journal, layout, section, entry) {
            if run.invalid {
                result.errors.push("invalid sector in journal");
            }
            let target = layout.data_sector(run.sector);
            let write = (section, run.first, run.sector, run.count, target);
            result.writes.push(write);
            entry = run.first + run.count;
        }
    }
    if let Some(erase) = plan.erase {
        let steps = erase
            .steps
            .into_iter()
            .take(if sections == 1 { 1 } else { 3 });
        let sequence = erase.sequence.number();
        let steps = steps.map(|step| (step.first, step.count, sequence));
        result.cleared.extend(steps);
    }
    result.continue_section = plan.resume.section;
    result.commit_seq = plan.resume.sequence.number();
    result
}

/// Replays a journal by both, and compares.
pub fn compare(opened: &Opened, bytes: &[u8]) -> Replayed {
    let ic = summary(opened);
    let wanted = Journal {
        ic: &ic,
        bytes: bytes.to_vec(),
    }
    .replay();
    let mut found = replay(opened, bytes);
    // C logs also what is misaligned beyond the end.
    let beyond = "invalid sector in journal";
    if found.errors.is_empty() && wanted.errors.iter().all(|&error| error == beyond) {
        found.errors.clone_from(&wanted.errors);
    }
    assert_eq!(found.errors.first(), wanted.errors.first());
    found.errors.clone_from(&wanted.errors);
    assert_eq!(found, wanted);
    found
}

/// Whether the journal of a volume can be replayed, and is small enough for a test.
pub fn is_possible(opened: &Opened) -> bool {
    !matches!(opened.config.mode, Mode::Recovery | Mode::Inline)
        && opened.volume.layout.journal().bytes() <= 4 << 20
}

/// A journal without a block in it, of which the sections up to one are of a newer sequence than
/// the rest.
pub fn empty(geometry: &Geometry, newest: Sequence, newer: u32) -> Vec<u8> {
    let mut bytes = vec![0; geometry.bytes() as usize];
    let sections = bytes.chunks_exact_mut(geometry.section_bytes());
    for (number, section) in (0..).zip(sections) {
        let sequence = match number < newer {
            true => newest,
            false => newest.previous(),
        };
        initialize(section, geometry, number, &CommitIds::PLAIN, sequence);
    }
    bytes
}

/// Changes something in a journal, as the bytes say.
pub fn edit(bytes: &mut [u8], geometry: &Geometry, [kind, section, place, low, high]: [u8; 5]) {
    let size = geometry.section_bytes();
    let number = u32::from(section) % geometry.sections();
    let section = &mut bytes[number as usize * size..][..size];
    let sequence = Sequence::ALL[usize::from(low & 3)];
    let block = u64::from(geometry.block().sectors());
    let value = u64::from(u16::from_le_bytes([low, high]));
    let entry = place % geometry.section_entries();
    let sector = ((u32::from(place) << 1) | u32::from(high & 1)) % size.div_ceil(512) as u32;
    match kind & 7 {
        0 => {
            let id = CommitIds::PLAIN.id(number, sector, sequence);
            set_commit_id(section, sector, id);
        }
        1 => set_commit_ids(section, number, &CommitIds::PLAIN, sequence),
        2 => set_entry(section, geometry, entry, Entry::Sector(value * block)),
        3 => set_entry(section, geometry, entry, Entry::Sector(value)),
        4 => {
            for n in 0..u64::from(geometry.section_entries() - entry).min(9) {
                let sector = Entry::Sector((value + n) * block);
                set_entry(section, geometry, entry + n as u8, sector);
            }
        }
        5 => {
            let id = commit_id(section, sector).unwrap_or(0);
            set_commit_id(section, sector, id ^ (1 << (low & 63)));
        }
        6 => set_entry(section, geometry, entry, Entry::Unused),
        _ => set_entry(section, geometry, entry, Entry::Sector(!value << 32)),
    }
}
