// SPDX-License-Identifier: GPL-2.0

//! A journal in memory as plain bytes: entries, blocks, commit ids, and parts of the MAC.
//!
//! All offsets are in bytes from the start of the section.

use core::ops::Range;

use integrity::{
    commit::{
        CommitIds,
        Sequence, //
    },
    journal::{
        Geometry,
        COMMIT_ID,
        COMMIT_ID_BYTES,
        ENTRY_SECTORS,
        MAC_PART,
        MAC_PART_BYTES,
        SECTOR, //
    },
    replay::Journal,
};

/// The high half of the sector of an entry that is not in use.
const UNUSED: u64 = 0xffff_ffff << 32;
/// The high half of the sector of an entry that is being filled; never on disk.
const IN_PROGRESS: u64 = 0xffff_fffe << 32;
/// The high half of a sector.
const HIGH: u64 = UNUSED;

/// What an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Nothing.
    Unused,
    /// A block that is just being copied. On disk, it is a sector number as any other.
    InProgress,
    /// The block that starts at this logical sector.
    Sector(u64),
}

impl Entry {
    fn of(raw: u64) -> Self {
        match raw & HIGH {
            UNUSED => Self::Unused,
            IN_PROGRESS => Self::InProgress,
            _ => Self::Sector(raw),
        }
    }
}

/// Where everything is in a section.
pub trait Places {
    /// The bytes of a section.
    fn section_bytes(&self) -> usize;
    /// Where an entry is: sector, saved ends of sectors, and tag.
    fn entry_range(&self, entry: u8) -> Option<Range<usize>>;
    /// Where the saved ends of the sectors of a block are.
    fn last_bytes_range(&self, entry: u8) -> Option<Range<usize>>;
    /// Where the tag of an entry is.
    fn tag_range(&self, entry: u8) -> Option<Range<usize>>;
    /// The first sector of the block of an entry.
    fn block_sector(&self, entry: u8) -> Option<u32>;
    /// Where the block of an entry is.
    fn block_range(&self, entry: u8) -> Option<Range<usize>>;
}

impl Places for Geometry {
    fn section_bytes(&self) -> usize {
        // At most 392 sectors.
        (self.section_sectors() as usize).wrapping_mul(SECTOR)
    }

    fn entry_range(&self, entry: u8) -> Option<Range<usize>> {
        if entry >= self.section_entries() {
            return None;
        }
        let (entry, sectors) = (usize::from(entry), ENTRY_SECTORS as usize);
        let bytes = usize::from(self.entry_bytes());
        // At most 21 entries of one sector.
        let start = (entry % sectors)
            .wrapping_mul(SECTOR)
            .wrapping_add((entry / sectors).wrapping_mul(bytes));
        Some(start..start.wrapping_add(bytes))
    }

    fn last_bytes_range(&self, entry: u8) -> Option<Range<usize>> {
        let start = self.entry_range(entry)?.start.wrapping_add(8);
        let bytes = (self.block().sectors() as usize).wrapping_mul(COMMIT_ID_BYTES);
        Some(start..start.wrapping_add(bytes))
    }

    fn tag_range(&self, entry: u8) -> Option<Range<usize>> {
        let start = self.last_bytes_range(entry)?.end;
        let bytes = usize::from(self.tag_size().bytes());
        Some(start..start.wrapping_add(bytes))
    }

    fn block_sector(&self, entry: u8) -> Option<u32> {
        if entry >= self.section_entries() {
            return None;
        }
        let log2 = self.block().log2_sectors().into();
        Some(
            u32::from(entry)
                .wrapping_shl(log2)
                .wrapping_add(ENTRY_SECTORS),
        )
    }

    fn block_range(&self, entry: u8) -> Option<Range<usize>> {
        let start = (self.block_sector(entry)? as usize).wrapping_mul(SECTOR);
        Some(start..start.wrapping_add(self.block().bytes() as usize))
    }
}

/// Where the commit id of a sector is.
pub fn commit_id_range(sector: u32) -> Range<usize> {
    part_range(sector, COMMIT_ID, COMMIT_ID_BYTES)
}

/// Where the part of the MAC is that a sector of entries has.
pub fn mac_part_range(sector: u32) -> Range<usize> {
    part_range(sector, MAC_PART, MAC_PART_BYTES)
}

fn part_range(sector: u32, offset: usize, bytes: usize) -> Range<usize> {
    let start = (sector as usize)
        .saturating_mul(SECTOR)
        .saturating_add(offset);
    start..start.saturating_add(bytes)
}

fn get_u64(section: &[u8], range: Range<usize>) -> Option<u64> {
    let bytes = section.get(range)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

fn put(section: &mut [u8], range: Range<usize>, bytes: &[u8]) {
    if let Some(to) = section.get_mut(range) {
        for (to, from) in to.iter_mut().zip(bytes) {
            *to = *from;
        }
    }
}

/// The commit id of a sector.
pub fn commit_id(section: &[u8], sector: u32) -> Option<u64> {
    get_u64(section, commit_id_range(sector))
}

/// Writes the commit id of a sector.
pub fn set_commit_id(section: &mut [u8], sector: u32, id: u64) {
    put(section, commit_id_range(sector), &id.to_le_bytes());
}

/// Writes the commit ids of all sectors of the section of this number.
///
/// What was in their place must be [saved](save_last_bytes) before.
pub fn set_commit_ids(section: &mut [u8], number: u32, ids: &CommitIds, sequence: Sequence) {
    for (sector, bytes) in (0..).zip(section.chunks_exact_mut(SECTOR)) {
        let id = ids.id(number, sector, sequence);
        put(bytes, COMMIT_ID..SECTOR, &id.to_le_bytes());
    }
}

/// Reads what an entry is for.
pub fn entry(section: &[u8], geometry: &Geometry, entry: u8) -> Option<Entry> {
    get_u64(section, geometry.entry_range(entry)?).map(Entry::of)
}

/// Sets what an entry is for. What is not in use keeps the low half of its sector, as in C.
pub fn set_entry(section: &mut [u8], geometry: &Geometry, entry: u8, value: Entry) {
    let Some(range) = geometry.entry_range(entry) else {
        return;
    };
    let Some(old) = get_u64(section, range.clone()) else {
        return;
    };
    let raw = match value {
        Entry::Unused => old & !HIGH | UNUSED,
        Entry::InProgress => old & !HIGH | IN_PROGRESS,
        Entry::Sector(sector) => sector,
    };
    put(section, range, &raw.to_le_bytes());
}

/// The tag of an entry.
pub fn tag<'a>(section: &'a [u8], geometry: &Geometry, entry: u8) -> Option<&'a [u8]> {
    section.get(geometry.tag_range(entry)?)
}

/// The tag of an entry, to be written.
pub fn tag_mut<'a>(section: &'a mut [u8], geometry: &Geometry, entry: u8) -> Option<&'a mut [u8]> {
    section.get_mut(geometry.tag_range(entry)?)
}

/// The block of an entry. The ends of its sectors are right only until commit ids are written, and
/// after they are [restored](restore_last_bytes).
pub fn block<'a>(section: &'a [u8], geometry: &Geometry, entry: u8) -> Option<&'a [u8]> {
    section.get(geometry.block_range(entry)?)
}

/// The block of an entry, to be written.
pub fn block_mut<'a>(
    section: &'a mut [u8],
    geometry: &Geometry,
    entry: u8,
) -> Option<&'a mut [u8]> {
    section.get_mut(geometry.block_range(entry)?)
}

/// The saved end of a sector of the block of an entry, counted from the first.
pub fn last_bytes(
    section: &[u8],
    geometry: &Geometry,
    entry: u8,
    sector: u32,
) -> Option<[u8; COMMIT_ID_BYTES]> {
    let saved = section.get(geometry.last_bytes_range(entry)?)?;
    let mut chunks = saved.chunks_exact(COMMIT_ID_BYTES);
    chunks.nth(sector as usize)?.try_into().ok()
}

/// Copies the ends of the sectors of a block to its entry.
pub fn save_last_bytes(section: &mut [u8], geometry: &Geometry, entry: u8) {
    copy_last_bytes(section, geometry, entry, |saved, sector| (sector, saved));
}

/// Copies the ends of the sectors of a block from its entry.
pub fn restore_last_bytes(section: &mut [u8], geometry: &Geometry, entry: u8) {
    copy_last_bytes(section, geometry, entry, |saved, sector| (saved, sector));
}

/// Copies the ends of all sectors of a block, from and to where `direction` says.
fn copy_last_bytes(
    section: &mut [u8],
    geometry: &Geometry,
    entry: u8,
    direction: impl Fn(Range<usize>, Range<usize>) -> (Range<usize>, Range<usize>),
) {
    let (Some(saved), Some(first)) = (
        geometry.last_bytes_range(entry),
        geometry.block_sector(entry),
    ) else {
        return;
    };
    for (sector, start) in (first..).zip(saved.step_by(COMMIT_ID_BYTES)) {
        let saved = start..start.saturating_add(COMMIT_ID_BYTES);
        let (from, to) = direction(saved, commit_id_range(sector));
        let bytes = section.get(from).and_then(|b| b.first_chunk()).copied();
        let bytes: [u8; COMMIT_ID_BYTES] = bytes.unwrap_or_default();
        put(section, to, &bytes);
    }
}

/// What the MAC of a section covers, after the salt and the number of the section where the
/// superblock has a salt: the sectors of all entries, as they are on disk.
pub fn mac_input<'a>(
    section: &'a [u8],
    geometry: &'a Geometry,
) -> impl Iterator<Item = &'a [u8]> + 'a {
    (0..geometry.section_entries())
        .filter_map(|entry| section.get(geometry.entry_range(entry)?)?.get(..8))
}

/// Writes the MAC of a section. `mac` is cut, or padded with zeros.
pub fn set_mac(section: &mut [u8], mac: &[u8]) {
    let mut bytes = mac.iter().copied().chain(core::iter::repeat(0));
    for sector in 0..ENTRY_SECTORS {
        if let Some(part) = section.get_mut(mac_part_range(sector)) {
            part.fill_with(|| bytes.next().unwrap_or(0));
        }
    }
}

/// Whether a section has this MAC. The time does not depend on where they differ.
pub fn has_mac(section: &[u8], mac: &[u8]) -> bool {
    let mut bytes = mac.iter().copied().chain(core::iter::repeat(0));
    let mut differing = 0;
    for sector in 0..ENTRY_SECTORS {
        let Some(part) = section.get(mac_part_range(sector)) else {
            return false;
        };
        for (have, want) in part.iter().zip(&mut bytes) {
            differing |= have ^ want;
        }
    }
    differing == 0
}

/// Makes the section of this number one without a block in it. Its MAC is to be set next.
pub fn initialize(
    section: &mut [u8],
    geometry: &Geometry,
    number: u32,
    ids: &CommitIds,
    sequence: Sequence,
) {
    section.fill(0);
    for entry in 0..geometry.section_entries() {
        set_entry(section, geometry, entry, Entry::Unused);
    }
    set_commit_ids(section, number, ids, sequence);
}

/// A journal as its bytes, with commit ids that are no secret.
pub struct Bytes<'a> {
    /// The size of everything.
    pub geometry: Geometry,
    /// All of it.
    pub bytes: &'a [u8],
}

impl Bytes<'_> {
    fn section(&self, number: u32) -> &[u8] {
        let size = self.geometry.section_bytes();
        &self.bytes[number as usize * size..][..size]
    }
}

impl Journal for Bytes<'_> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn sequence(&self, section: u32, sector: u32) -> Option<Sequence> {
        let id = commit_id(self.section(section), sector)?;
        CommitIds::PLAIN.sequence(section, sector, id)
    }

    fn sector(&self, section: u32, number: u32) -> Option<u64> {
        let range = self.geometry.entry_range(number as u8)?;
        get_u64(self.section(section), range).filter(|&raw| raw & HIGH != UNUSED)
    }
}
