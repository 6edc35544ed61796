// SPDX-License-Identifier: GPL-2.0

//! What is to be done with a journal that was found on a device.
//!
//! The sections that were written last in full, the newest sequence ending where the one before
//! goes on, are written to their places. What follows depends on the mode: journal mode goes on
//! after them, others make the journal an empty one.
//!
//! C source: `replay_journal()` and `do_journal_write()` in `drivers/md/dm-integrity.c`

use core::ffi::CStr;

use crate::{
    commit::{
        Sequence,
        SEQUENCES, //
    },
    journal::Geometry,
    layout::Layout,
    table::Mode,
};

/// A journal in memory, decrypted, as it was read. Nobody changes it meanwhile.
pub trait Journal {
    /// The size of everything in it.
    fn geometry(&self) -> &Geometry;

    /// The sequence with which a sector of a section was written, if its commit id is one of that
    /// place.
    fn sequence(&self, section: u32, sector: u32) -> Option<Sequence>;

    /// The logical sector of an entry of a section, unless the entry is not in use.
    fn sector(&self, section: u32, entry: u32) -> Option<u64>;
}

/// Some sections that follow each other, with section 0 after the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    /// The first one.
    pub first: u32,
    /// The number of them.
    pub count: u32,
}

impl Sections {
    /// One of these of `all` sections.
    #[inline]
    pub fn nth(&self, n: u32, all: u32) -> u32 {
        let section = u64::from(self.first).wrapping_add(n.into());
        // Below the number of sections, which is not zero.
        section.checked_rem(all.into()).unwrap_or(0) as u32
    }

    /// Whether a section is one of these of `all` sections.
    #[inline]
    pub fn has(&self, section: u32, all: u32) -> bool {
        let distance = match section.checked_sub(self.first) {
            Some(distance) => distance,
            None => section.saturating_add(all).saturating_sub(self.first),
        };
        distance < self.count
    }
}

/// Where writing goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The next section.
    pub section: u32,
    /// The sequence with which it is written.
    pub sequence: Sequence,
}

/// A journal to be made an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erase {
    /// The sections to be initialized and written, in this order, each step to its end before the
    /// next: so a crash does not bring back what was replayed. Steps may have no sections.
    pub steps: [Sections; 3],
    /// The sequence with which that is done.
    pub sequence: Sequence,
}

/// What is to be done with a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The sections to be replayed, in their order: row I-64.
    pub replay: Option<Sections>,
    /// How to empty the journal after that, where that is needed.
    pub erase: Option<Erase>,
    /// Where writing goes on after that.
    pub resume: Resume,
}

/// Why a journal cannot be used. The device then fails all I/O with EIO, and nothing is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// A sector has a commit id that no sequence gives.
    CommitId,
    /// All sequences are in use.
    CommitIds,
}

impl ReplayError {
    /// What the log names it, after "Error on ".
    pub const fn text(self) -> &'static CStr {
        match self {
            Self::CommitId => c"journal commit id",
            Self::CommitIds => c"journal commit ids",
        }
    }
}

/// What a first look at all sections tells.
struct Survey {
    /// For each sequence, the last section that has a sector of it.
    last_section: [Option<u32>; SEQUENCES],
    is_empty: bool,
}

impl Survey {
    fn new<J: Journal + ?Sized>(journal: &J) -> Result<Self, ReplayError> {
        let geometry = journal.geometry();
        let mut survey = Self {
            last_section: [None; SEQUENCES],
            is_empty: true,
        };
        for section in 0..geometry.sections() {
            for sector in 0..geometry.section_sectors().into() {
                let sequence = journal
                    .sequence(section, sector)
                    .ok_or(ReplayError::CommitId)?;
                if let Some(last) = survey.last_section.get_mut(index(sequence)) {
                    *last = Some(section);
                }
            }
            survey.is_empty = survey.is_empty && is_empty(journal, section);
        }
        Ok(survey)
    }

    fn last_section(&self, sequence: Sequence) -> Option<u32> {
        self.last_section.get(index(sequence)).copied().flatten()
    }

    fn has(&self, sequence: Sequence) -> bool {
        self.last_section(sequence).is_some()
    }

    /// The newest sequence: the one before the first gap.
    fn newest(&self) -> Result<Sequence, ReplayError> {
        let [first, .., last] = Sequence::ALL;
        if !self.has(last) {
            let mut newest = last.previous();
            while newest != first && !self.has(newest) {
                newest = newest.previous();
            }
            return Ok(newest);
        }
        Sequence::ALL
            .into_iter()
            .find(|&sequence| !self.has(sequence))
            .map(Sequence::previous)
            .ok_or(ReplayError::CommitIds)
    }
}

fn index(sequence: Sequence) -> usize {
    sequence.number().into()
}

fn is_empty<J: Journal + ?Sized>(journal: &J, section: u32) -> bool {
    (0..journal.geometry().section_entries().into())
        .all(|entry| journal.sector(section, entry).is_none())
}

/// Whether all sectors of a section are of a sequence.
fn is_whole<J: Journal + ?Sized>(journal: &J, section: u32, sequence: Sequence) -> bool {
    (0..journal.geometry().section_sectors().into())
        .all(|sector| journal.sequence(section, sector) == Some(sequence))
}

/// The section after one, and the sequence there.
fn step(geometry: &Geometry, number: u32, sequence: Sequence) -> (u32, Sequence) {
    let next = number.saturating_add(1);
    if next >= geometry.sections() {
        (0, sequence.next())
    } else {
        (next, sequence)
    }
}

impl Plan {
    /// Looks at a journal. One that was just formatted need not be read for that; one that was in
    /// use and emptied since then is not looked at, and goes on where it was.
    pub fn new<J: Journal + ?Sized>(journal: &J, mode: Mode) -> Result<Self, ReplayError> {
        let geometry = journal.geometry();
        let survey = Survey::new(journal)?;
        let newest = survey.newest()?;
        let wanted = newest.previous();
        // A crash while the journal was emptied: what is left was replayed before.
        let is_empty = survey.is_empty || (!survey.has(wanted) && survey.has(wanted.previous()));

        // The oldest section comes after the last one of the newest sequence.
        let last = survey.last_section(newest).unwrap_or(0);
        let (first, mut sequence) = step(geometry, last, wanted);
        let mut section = first;
        let mut count = 0u32;
        while count < geometry.sections() && is_whole(journal, section, sequence) {
            (section, sequence) = step(geometry, section, sequence);
            count = count.saturating_add(1);
        }

        let replay = (!is_empty && count != 0).then_some(Sections { first, count });
        if count == geometry.sections() && (mode == Mode::Journal || is_empty) {
            return Ok(Self {
                replay,
                erase: None,
                resume: Resume {
                    section: first,
                    sequence,
                },
            });
        }
        let erase = Erase::new(geometry, first, newest.previous().previous());
        Ok(Self {
            replay,
            erase: Some(erase),
            resume: Resume {
                section: 0,
                sequence: erase.sequence.next(),
            },
        })
    }
}

impl Erase {
    fn new(geometry: &Geometry, first: u32, sequence: Sequence) -> Self {
        let sections = geometry.sections();
        let at = |distance: u32| {
            let number = u64::from(first).saturating_add(distance.into());
            let wrapped = number.checked_rem(sections.into()).unwrap_or(0);
            // Less than `sections`.
            wrapped as u32
        };
        let middle = sections.saturating_sub(2);
        let step = |distance, count| Sections {
            first: at(distance),
            count,
        };
        Self {
            steps: [
                step(0, sections.min(1)),
                step(1, middle),
                step(middle.saturating_add(1), u32::from(sections >= 2)),
            ],
            sequence,
        }
    }
}

/// Entries of a section that follow each other on the device, with their tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first entry.
    pub first: u32,
    /// The number of entries.
    pub count: u32,
    /// The logical sector of the first one: below the end of the volume, and that of a block.
    pub sector: u64,
    /// Whether that of the journal was not the first of a block: C logs "Error on invalid sector in
    /// journal" with EIO, and writes nothing from then on.
    pub invalid: bool,
}

/// Finds the next run of a section, from `entry` on. Entries that are not in use, or are beyond
/// the end of the volume, are left out. The one after it is looked for from `first + count` on.
pub fn next_run<J: Journal + ?Sized>(
    journal: &J,
    layout: &Layout,
    section: u32,
    entry: u32,
) -> Option<Run> {
    let entries = u32::from(journal.geometry().section_entries());
    let sector_of = |entry| {
        journal
            .sector(section, entry)
            .filter(|&sector| sector < layout.provided_data_sectors())
    };
    let (first, found) =
        (entry..entries).find_map(|entry| sector_of(entry).map(|sector| (entry, sector)))?;
    let sector = layout.block().align_down(found);
    let blocks = layout.block().blocks_in(layout.contiguous_sectors(sector));
    let follows = |distance: u32| {
        let sectors = u64::from(distance).wrapping_shl(layout.block().log2_sectors().into());
        u64::from(distance) < blocks
            && sector_of(first.saturating_add(distance)) == sector.checked_add(sectors)
    };
    let most = entries.saturating_sub(first);
    Some(Run {
        first,
        count: (1..most).find(|&n| !follows(n)).unwrap_or(most),
        sector,
        invalid: sector != found,
    })
}
