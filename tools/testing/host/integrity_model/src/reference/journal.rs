// SPDX-License-Identifier: GPL-2.0

//! `replay_journal()` and `do_journal_write()`, on the bytes of a journal.

use super::{
    limits::get_data_sector,
    Ic, //
};

const IDS: [u64; 4] = [
    0x1111_1111_1111_1111,
    0x2222_2222_2222_2222,
    0x3333_3333_3333_3333,
    0x4444_4444_4444_4444,
];

/// A journal without cipher and MAC, as C has it in memory.
pub struct Journal<'a> {
    /// Its volume.
    pub ic: &'a Ic,
    /// All of its bytes.
    pub bytes: Vec<u8>,
}

/// What replaying does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The logical sectors written: section, entry, first sector, blocks, and the sector of the
    /// device.
    pub writes: Vec<(u32, u32, u64, u32, u64)>,
    /// What was logged.
    pub errors: Vec<&'static str>,
    /// The sections that were initialized and written, in steps, and with which sequence.
    pub cleared: Vec<(u32, u32, u8)>,
    /// The section that is written next.
    pub continue_section: u32,
    /// The sequence with which that is done.
    pub commit_seq: u8,
}

fn prev(seq: u8) -> u8 {
    (seq + 3) % 4
}

fn next(seq: u8) -> u8 {
    (seq + 1) % 4
}

impl Journal<'_> {
    fn sector(&self, i: u32, j: u32) -> usize {
        (i * u32::from(self.ic.journal_section_sectors) + j) as usize * 512
    }

    fn u64_at(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    /// `access_journal_entry()`
    fn entry(&self, i: u32, n: u32) -> usize {
        self.sector(i, n % 8) + (n / 8) as usize * usize::from(self.ic.journal_entry_size)
    }

    fn commit_id(&self, i: u32, j: u32) -> u64 {
        self.u64_at(self.sector(i, j) + 504)
    }

    fn expected(i: u32, j: u32, seq: u8) -> u64 {
        IDS[usize::from(seq)] ^ ((u64::from(i) << 32) ^ u64::from(j))
    }

    fn is_unused(&self, i: u32, n: u32) -> bool {
        self.u64_at(self.entry(i, n)) >> 32 == 0xffff_ffff
    }

    fn section_is_empty(&self, i: u32) -> bool {
        (0..self.ic.journal_section_entries.into()).all(|n| self.is_unused(i, n))
    }

    /// `replay_journal()`
    pub fn replay(&mut self) -> Replayed {
        let mut result = Replayed::default();
        let n = self.ic.journal_sections;
        let sectors = u32::from(self.ic.journal_section_sectors);
        let (mut used, mut max) = ([false; 4], [0u32; 4]);
        let mut journal_empty = true;
        for i in 0..n {
            for j in 0..sectors {
                let id = self.commit_id(i, j);
                let Some(k) = (0..4u8).find(|&k| Self::expected(i, j, k) == id) else {
                    result.errors.push("journal commit id");
                    return result;
                };
                used[usize::from(k)] = true;
                max[usize::from(k)] = i;
            }
            journal_empty &= self.section_is_empty(i);
        }
        let unused = if !used[3] {
            let mut unused = 3u8;
            while unused != 0 && !used[usize::from(unused - 1)] {
                unused -= 1;
            }
            unused
        } else {
            match (0..4u8).find(|&k| !used[usize::from(k)]) {
                Some(unused) => unused,
                None => {
                    result.errors.push("journal commit ids");
                    return result;
                }
            }
        };
        let last_used = prev(unused);
        let mut want = prev(last_used);
        if !used[usize::from(want)] && used[usize::from(prev(want))] {
            journal_empty = true;
        }
        let mut write_start = max[usize::from(last_used)] + 1;
        if write_start >= n {
            want = next(want);
            write_start -= n;
        }
        let (mut i, mut write_sections) = (write_start, 0);
        while write_sections < n
            && (0..sectors).all(|j| self.commit_id(i, j) == Self::expected(i, j, want))
        {
            i += 1;
            if i >= n {
                want = next(want);
                i -= n;
            }
            write_sections += 1;
        }
        if !journal_empty {
            self.write(write_start, write_sections, &mut result);
        }
        if write_sections == n && (self.ic.mode == b'J' || journal_empty) {
            result.continue_section = write_start;
            result.commit_seq = want;
        } else {
            let erase = prev(prev(last_used));
            result.cleared.push((write_start, 1, erase));
            if n >= 2 {
                result.cleared.push(((write_start + 1) % n, n - 2, erase));
                result
                    .cleared
                    .push(((write_start + 1 + n - 2) % n, 1, erase));
            }
            result.commit_seq = next(erase);
        }
        result
    }

    /// `do_journal_write()` of a replay
    fn write(&mut self, start: u32, count: u32, result: &mut Replayed) {
        let block = u64::from(self.ic.sectors_per_block);
        let area = |sector: u64| match self.ic.meta_dev {
            None => sector >> self.ic.sb.log2_interleave_sectors,
            Some(_) => 0,
        };
        let provided = self.ic.provided_data_sectors;
        for n in 0..count {
            let i = (start + n) % self.ic.journal_sections;
            let mut j = 0;
            while j < u32::from(self.ic.journal_section_entries) {
                let mut sec = self.u64_at(self.entry(i, j));
                if self.is_unused(i, j) {
                    j += 1;
                    continue;
                }
                if sec % block != 0 {
                    result.errors.push("invalid sector in journal");
                    sec -= sec % block;
                }
                if sec >= provided {
                    j += 1;
                    continue;
                }
                let mut k = j + 1;
                while k < u32::from(self.ic.journal_section_entries) && !self.is_unused(i, k) {
                    let sec2 = self.u64_at(self.entry(i, k));
                    let apart = u64::from(k - j) * block;
                    if sec2 >= provided || area(sec2) != area(sec) || sec2 != sec + apart {
                        break;
                    }
                    k += 1;
                }
                result
                    .writes
                    .push((i, j, sec, k - j, get_data_sector(self.ic, sec)));
                j = k;
            }
        }
    }
}
