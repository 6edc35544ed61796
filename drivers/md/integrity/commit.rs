// SPDX-License-Identifier: GPL-2.0

//! Commit ids: how one sees of each sector of the journal with what it was written.
//!
//! Each time that the journal has been filled to its last section, the *sequence* goes on, from 0
//! to 3 and to 0 again. Each sequence has a number, and the commit id of a sector is that number,
//! combined with the place of the sector. So there are never more than two sequences in a journal
//! that is not torn, and a sector at a place where it does not belong is noticed.
//!
//! C source: `dm_integrity_commit_id()` in `drivers/md/dm-integrity.c`

/// How many sequences there are.
pub const SEQUENCES: usize = 4;

/// A sequence.
///
/// # Invariants
///
/// The number is less than [`SEQUENCES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence(u8);

impl Sequence {
    /// All of them.
    // INVARIANT: These are less than four.
    pub const ALL: [Self; SEQUENCES] = [Self(0), Self(1), Self(2), Self(3)];

    /// The number.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// The one after this.
    #[inline]
    pub const fn next(self) -> Self {
        // INVARIANT: Cut to two bits.
        Self(self.0.wrapping_add(1) & 3)
    }

    /// The one before this.
    #[inline]
    pub const fn previous(self) -> Self {
        // INVARIANT: Cut to two bits.
        Self(self.0.wrapping_sub(1) & 3)
    }
}

/// The numbers of the sequences.
///
/// # Invariants
///
/// They differ from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitIds([u64; SEQUENCES]);

impl CommitIds {
    /// The numbers where they are no secret.
    // INVARIANT: They differ.
    pub const PLAIN: Self = Self([
        0x1111_1111_1111_1111,
        0x2222_2222_2222_2222,
        0x3333_3333_3333_3333,
        0x4444_4444_4444_4444,
    ]);

    /// The numbers as they are encrypted with a stream cipher, after the journal: row I-55.
    pub fn to_bytes(self) -> [u8; SEQUENCES * 8] {
        let mut bytes = [0; SEQUENCES * 8];
        for (to, number) in bytes.chunks_exact_mut(8).zip(self.0) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// The numbers that are encrypted to these bytes, made different by counting up.
    pub fn from_bytes(bytes: &[u8; SEQUENCES * 8]) -> Self {
        let mut numbers = [0; SEQUENCES];
        for (to, chunk) in numbers.iter_mut().zip(bytes.chunks_exact(8)) {
            *to = chunk.try_into().map_or(0, u64::from_le_bytes);
        }
        let mut distinct = numbers;
        for (i, number) in numbers.into_iter().enumerate() {
            let mut number = number;
            while distinct.iter().take(i).any(|&other| other == number) {
                number = number.wrapping_add(1);
            }
            if let Some(to) = distinct.get_mut(i) {
                *to = number;
            }
        }
        // INVARIANT: Each was counted up until it differed from those before.
        Self(distinct)
    }

    /// The commit id of a sector, counted from the start of its section.
    #[inline]
    pub fn id(&self, section: u32, sector: u32, sequence: Sequence) -> u64 {
        let number = self.0.get(usize::from(sequence.0)).copied().unwrap_or(0);
        number ^ u64::from(section).wrapping_shl(32) ^ u64::from(sector)
    }

    /// The sequence with which a sector with this commit id was written.
    pub fn sequence(&self, section: u32, sector: u32, id: u64) -> Option<Sequence> {
        Sequence::ALL
            .into_iter()
            .find(|&sequence| self.id(section, sector, sequence) == id)
    }
}
