// SPDX-License-Identifier: GPL-2.0

//! A block that is written in parts, against plain arrays of bytes.
//!
//! The model has the bytes that readers must see. The device has what was written out and nothing
//! else, at every step: that is what is left if the power goes. Bytes in the cache that are not
//! valid are poisoned.

use crate::plain::{
    contents::{Contents, Geometry},
    ranges::{Ranges, Span, MAX},
};
use proptest::prelude::*;

/// Nobody writes this, and no device has it.
const POISON: u8 = 0xff;

const SIZE: u32 = 8192;

#[derive(Clone, Copy, Debug)]
enum Op {
    Write {
        at: u32,
        len: u32,
        byte: u8,
    },
    Read {
        at: u32,
        len: u32,
    },
    /// Fills, and starts to write out. `late` tells whether the device looks at the data at the
    /// end; `alone`, whether only what is needed can be read.
    Begin {
        late: bool,
        alone: bool,
    },
    End {
        ok: bool,
    },
    /// Drops the block, and gets it back, read or not.
    Evict {
        read: bool,
    },
}

fn range() -> impl Strategy<Value = (u32, u32)> {
    prop_oneof![
        // Anything; tags; whole sectors and pages.
        (0..SIZE, 1..SIZE),
        (0..SIZE / 32, 1..8_u32).prop_map(|(at, len)| (at * 32, len * 32)),
        (0..SIZE / 512, 1..10_u32).prop_map(|(at, len)| (at * 512, len * 512)),
        (0..SIZE, 1..40_u32),
    ]
    .prop_map(|(at, len)| (at, len.min(SIZE - at)))
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (range(), 0..POISON).prop_map(|((at, len), byte)| Op::Write { at, len, byte }),
        1 => range().prop_map(|(at, len)| Op::Read { at, len }),
        2 => any::<(bool, bool)>().prop_map(|(late, alone)| Op::Begin { late, alone }),
        2 => prop::bool::weighted(0.8).prop_map(|ok| Op::End { ok }),
        1 => any::<bool>().prop_map(|read| Op::Evict { read }),
    ]
}

fn span(at: u32, len: u32) -> Span {
    Span::new(at, at + len).unwrap()
}

fn bytes(span: Span) -> std::ops::Range<usize> {
    span.start as usize..span.end as usize
}

struct Machine {
    geometry: Geometry,
    contents: Contents,
    /// The data of the buffer.
    cache: Vec<u8>,
    device: Vec<u8>,
    /// What readers see.
    seen: Vec<u8>,
    /// Which bytes were written, and not written out with success since then began.
    newer: Vec<bool>,
    /// What is being written: the ranges, and the data if the device has looked at it.
    writing: Option<(Ranges, Option<Vec<u8>>)>,
    reads: usize,
}

impl Machine {
    fn new(sector: u32, unit: u32) -> Self {
        let device: Vec<_> = (0..SIZE).map(|i| (i % 251) as u8).collect();
        Self {
            geometry: Geometry { sector, unit },
            contents: Contents::nothing(SIZE),
            cache: vec![POISON; SIZE as usize],
            seen: device.clone(),
            device,
            newer: vec![false; SIZE as usize],
            writing: None,
            reads: 0,
        }
    }

    fn is_valid(&self, at: usize) -> bool {
        self.contents.is_valid(span(at as u32, 1))
    }

    /// What `read_missing` does, where all can be read.
    fn fill(&mut self, needed: &Ranges) {
        let sector = self.geometry.sector;
        if let Some(run) = self.contents.all_missing(needed, sector) {
            assert!(self.contents.missing(needed, sector).is_some());
            assert_eq!((run.start % sector, run.end % sector), (0, 0));
            for end in [span(run.start, sector), span(run.end - sector, sector)] {
                assert!(!self.contents.is_valid(end));
            }
            self.take(run);
            assert!(self.contents.is_valid(self.contents.all()));
        }
        assert!(self.contents.missing(needed, sector).is_none());
    }

    /// What it does where something else cannot be read.
    fn fill_needed(&mut self, needed: &Ranges) {
        let sector = self.geometry.sector;
        while let Some(run) = self.contents.missing(needed, sector) {
            assert_eq!((run.start % sector, run.end % sector), (0, 0));
            // Only sectors are read of which something is missing, and the first and the last are
            // needed.
            for at in (run.start..run.end).step_by(sector as usize) {
                assert!(!self.contents.is_valid(span(at, sector)));
            }
            for end in [span(run.start, sector), span(run.end - sector, sector)] {
                assert!(needed.cover(end));
            }
            self.take(run);
        }
    }

    fn take(&mut self, run: Span) {
        let gaps: Vec<_> = self.contents.gaps(run).collect();
        for gap in gaps {
            self.cache[bytes(gap)].copy_from_slice(&self.device[bytes(gap)]);
        }
        assert!(self.contents.filled(run));
        self.reads += 1;
    }

    fn fill_all(&mut self) {
        let all = Ranges::of(self.contents.all());
        self.fill(&all);
        assert!(self.contents.is_valid(self.contents.all()));
    }

    fn write(&mut self, span: Span, byte: u8) {
        if !self.contents.write(span) {
            self.fill_all();
            assert!(self.contents.write(span));
        }
        self.cache[bytes(span)].fill(byte);
        self.seen[bytes(span)].fill(byte);
        self.newer[bytes(span)].fill(true);
    }

    fn read(&mut self, span: Span) {
        if !self.contents.is_valid(span) {
            self.fill_all();
        }
        assert_eq!(self.cache[bytes(span)], self.seen[bytes(span)]);
    }

    fn begin(&mut self, late: bool, alone: bool) {
        if self.writing.is_some() || !self.contents.is_dirty() {
            return;
        }
        let needed = self.contents.pending(self.geometry.unit);
        match alone {
            true => self.fill_needed(&needed),
            false => self.fill(&needed),
        }
        let ranges = self.contents.begin_write(self.geometry.unit);
        for range in ranges.iter() {
            assert_eq!(range.start % self.geometry.unit, 0);
            assert_eq!(range.end % self.geometry.unit, 0);
            assert!(self.contents.is_valid(range));
        }
        for at in (0..SIZE as usize).filter(|at| self.newer[*at]) {
            assert!(ranges.cover(span(at as u32, 1)));
        }
        self.newer.fill(false);
        assert!(!self.contents.is_dirty());
        self.writing = Some((ranges, (!late).then(|| self.cache.clone())));
    }

    fn end(&mut self, ok: bool) {
        let Some((ranges, data)) = self.writing.take() else {
            return;
        };
        let data = data.unwrap_or_else(|| self.cache.clone());
        for (i, range) in ranges.iter().enumerate() {
            // If it fails, some of it may have been written.
            if ok || i % 2 == 0 {
                self.device[bytes(range)].copy_from_slice(&data[bytes(range)]);
            }
        }
        self.contents.end_write(ok);
        if !ok {
            for range in ranges.iter() {
                self.newer[bytes(range)].fill(true);
            }
        }
    }

    fn evict(&mut self, read: bool) {
        if self.writing.is_some() || self.contents.is_dirty() {
            return;
        }
        self.cache.fill(POISON);
        self.contents = Contents::nothing(SIZE);
        if read {
            self.cache.copy_from_slice(&self.device);
            self.contents = Contents::whole(SIZE);
        }
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Write { at, len, byte } => self.write(span(at, len), byte),
            Op::Read { at, len } => self.read(span(at, len)),
            Op::Begin { late, alone } => self.begin(late, alone),
            Op::End { ok } => self.end(ok),
            Op::Evict { read } => self.evict(read),
        }
    }

    fn check(&self) {
        for at in 0..SIZE as usize {
            if self.is_valid(at) {
                assert_eq!(self.cache[at], self.seen[at], "valid byte {at}");
            } else {
                assert!(!self.newer[at]);
            }
            // What the device has was there before, or was written by somebody.
            assert_ne!(self.device[at], POISON, "byte {at} of the device");
            if !self.newer[at] && self.writing.is_none() {
                assert_eq!(self.device[at], self.seen[at], "clean byte {at}");
            }
        }
    }

    /// Everything is on the device after this.
    fn flush(&mut self) {
        self.end(true);
        self.begin(true, false);
        self.end(true);
        assert_eq!(self.device, self.seen);
        self.evict(true);
        self.read(self.contents.all());
    }
}

fn geometry() -> impl Strategy<Value = (u32, u32)> {
    prop_oneof![
        Just((512, 512)),
        Just((512, 4096)),
        Just((4096, 4096)),
        Just((512, SIZE)),
        Just((1024, 2048)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// About a million operations, with all bytes compared every now and then.
    #[test]
    fn behaves_as_plain_bytes(
        (sector, unit) in geometry(),
        ops in prop::collection::vec(op(), 0..550),
    ) {
        let mut machine = Machine::new(sector, unit);
        for (i, op) in ops.into_iter().enumerate() {
            machine.run(op);
            if i % 64 == 0 {
                machine.check();
            }
        }
        machine.check();
        machine.flush();
    }

    /// A block that is overwritten wholly, in whatever order, is never read.
    #[test]
    fn overwritten_blocks_are_not_read(
        (sector, unit) in geometry(),
        cuts in prop::collection::btree_set(1..SIZE, 0..MAX * 2),
        backwards in any::<bool>(),
    ) {
        let mut machine = Machine::new(sector, unit);
        let ends = cuts.iter().copied().chain([SIZE]);
        let mut pieces: Vec<_> = [0].into_iter().chain(cuts.iter().copied()).zip(ends).collect();
        if backwards {
            pieces.reverse();
        }
        for (start, end) in pieces {
            machine.write(Span::new(start, end).unwrap(), 7);
        }
        machine.flush();
        prop_assert_eq!(machine.reads, 0);
    }

    /// As many separate places as fit are not read for, and one more is read for once.
    #[test]
    fn a_few_places_are_not_read(
        places in prop::collection::btree_set(0..SIZE / 64, MAX + 1),
        unit in prop_oneof![Just(512), Just(4096)],
    ) {
        let mut machine = Machine::new(512, unit);
        for (i, place) in places.into_iter().enumerate() {
            machine.write(span(place * 64, 32), 7);
            prop_assert_eq!(machine.reads, usize::from(i == MAX));
        }
    }

    /// Places that are written and then written out cost one read at most, unless whole sectors
    /// were written.
    #[test]
    fn small_writes_cost_one_read(
        places in prop::collection::btree_set(0..SIZE / 64, 1..MAX + 1),
        unit in prop_oneof![Just(512), Just(4096)],
    ) {
        let mut machine = Machine::new(512, unit);
        for place in places {
            machine.write(span(place * 64, 32), 7);
        }
        machine.flush();
        prop_assert_eq!(machine.reads, 1);
    }

    /// However often it is written here and there, a block is read at most once while it stays.
    #[test]
    fn blocks_are_read_once(
        (sector, unit) in geometry(),
        writes in prop::collection::vec((range(), any::<bool>()), 1..60),
    ) {
        let mut machine = Machine::new(sector, unit);
        for ((at, len), written_out) in writes {
            machine.write(span(at, len), 7);
            if written_out {
                machine.begin(false, false);
                machine.end(true);
            }
        }
        machine.read(span(0, SIZE));
        prop_assert!(machine.reads <= 1);
        machine.check();
    }

    #[test]
    fn geometry_is_of_the_block(
        block in 1_u32..=2048,
        start in any::<u32>(),
        logical in 9_u32..13,
        physical in 9_u32..17,
    ) {
        let bytes = block * 512;
        let start = u64::from(start) * 512;
        let found = Geometry::new(bytes, start, 1 << logical, 1 << physical);
        for part in [found.sector, found.unit] {
            prop_assert!(part.is_power_of_two() && part >= 512);
            prop_assert_eq!((bytes % part, start % u64::from(part)), (0, 0));
        }
        prop_assert!(found.sector <= found.unit && found.unit <= 1 << logical.max(physical));
        if bytes % (1 << physical) == 0 && start % (1 << physical) == 0 && physical >= logical {
            prop_assert_eq!(found.unit, 1 << physical);
        }
    }
}
