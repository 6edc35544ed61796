// SPDX-License-Identifier: GPL-2.0

//! Opens a volume that some bytes tell, and replays its journal.

use integrity::{
    commit::Sequence,
    superblock::AREA, //
};

use crate::{
    compare::{
        compare,
        Opened, //
    },
    replay, Machine,
};

/// Takes the bytes apart: four about the machine, see [`Machine::from_bytes`]; the table, which
/// ends with the line; then the superblock, which is blank if it has no bytes; and after 64 of
/// these two about the state of the journal, and five for each change to that.
///
/// Everything is done by the files under test and by the reference, and compared.
pub fn run(input: &[u8]) -> Option<Opened> {
    let (&machine, rest) = input.split_first_chunk::<4>()?;
    let machine = Machine::from_bytes(machine);
    let mut parts = rest.splitn(2, |&byte| byte == b'\n');
    let table = model::words::split(parts.next()?);
    let rest = parts.next().unwrap_or_default();
    let (superblock, journal) = rest.split_at(rest.len().min(64));

    let mut area = vec![0; AREA];
    area[..superblock.len()].copy_from_slice(superblock);
    let opened = compare(&table, &machine, &area).ok()?;
    if let (Some((&[newest, newer], edits)), true) =
        (journal.split_first_chunk(), replay::is_possible(&opened))
    {
        let geometry = *opened.volume.layout.journal();
        let newest = Sequence::ALL[usize::from(newest & 3)];
        let newer = u32::from(newer) % (geometry.sections() + 1);
        let mut bytes = replay::empty(&geometry, newest, newer);
        for change in edits.chunks_exact(5) {
            replay::edit(&mut bytes, &geometry, change.try_into().ok()?);
        }
        replay::compare(&opened, &bytes);
    }
    Some(opened)
}
