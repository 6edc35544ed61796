// SPDX-License-Identifier: GPL-2.0

//! Which bytes of a block are valid, and which are newer than the device.
//!
//! A block that is written through the cache need not be read first: the bytes that were written
//! are valid, and nobody looks at the others. What is missing is read when somebody wants to look
//! at it, or when it must go to the device together with what was written, since a device writes
//! whole physical blocks. A block that was overwritten wholly is never read.
//!
//! The file uses nothing but `core`: the host tests compare it with a plain model.

use super::ranges::{
    Ranges,
    Span, //
};

/// What may be written along, in bytes, instead of with another request.
pub(crate) const BRIDGE: u32 = 16384;

/// How a device wants to be read and written, in bytes. Both are powers of two, and blocks of the
/// cache consist of whole ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// What is read at once.
    pub(crate) sector: u32,
    /// What is written at once.
    pub(crate) unit: u32,
}

impl Geometry {
    /// Computes how to read and write blocks of `block_size` bytes that start at a multiple of
    /// `alignment` bytes of a device with these logical and physical blocks.
    ///
    /// A block may be smaller than what the device would like, or in the wrong place. Then it
    /// cannot be helped that the device has to read.
    pub(crate) fn new(block_size: u32, alignment: u64, logical: u32, physical: u32) -> Self {
        let whole = u64::from(block_size) | alignment;
        let largest = 1_u32 << whole.trailing_zeros().min(31);
        let clamp = |bytes: u32| bytes.max(512).next_power_of_two().min(largest);
        Self {
            sector: clamp(logical),
            unit: clamp(physical.max(logical)),
        }
    }
}

/// What the bytes of a block are worth.
///
/// # Invariants
///
/// All ranges are in the `size` bytes of the block. `valid` has all of `dirty` and `writing`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contents {
    size: u32,
    /// The bytes that somebody wrote or read.
    valid: Ranges,
    /// The bytes that are to be written out.
    dirty: Ranges,
    /// The bytes that are being written out.
    writing: Ranges,
}

impl Contents {
    /// Makes the contents of a block of which all bytes are as on the device.
    pub(crate) fn whole(size: u32) -> Self {
        let mut contents = Self::nothing(size);
        contents.valid = Ranges::of(contents.all());
        contents
    }

    /// Makes the contents of a block of which no byte is valid.
    pub(crate) fn nothing(size: u32) -> Self {
        Self {
            size,
            valid: Ranges::EMPTY,
            dirty: Ranges::EMPTY,
            writing: Ranges::EMPTY,
        }
    }

    /// All bytes of the block, of which there are some.
    pub(crate) fn all(&self) -> Span {
        Span {
            start: 0,
            end: self.size,
        }
    }

    /// Whether all bytes of the span are valid.
    pub(crate) fn is_valid(&self, span: Span) -> bool {
        self.valid.cover(span)
    }

    /// The bytes that are valid.
    pub(crate) fn valid(&self) -> &Ranges {
        &self.valid
    }

    /// Whether there is something to be written out.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Makes a span valid and dirty, for a caller who changes its bytes. Returns [`false`] if
    /// there are too many ranges: then all that is [missing](Self::missing) must be read first.
    #[must_use]
    pub(crate) fn write(&mut self, span: Span) -> bool {
        // INVARIANT: Valid first.
        let fits = self.valid.add(span);
        if fits {
            self.dirty.add_within(span, &self.valid);
        }
        fits
    }

    /// What would be written out now: what is dirty, in whole units.
    pub(crate) fn pending(&self, unit: u32) -> Ranges {
        let mut wide = Ranges::EMPTY;
        for span in self.dirty.iter() {
            // There are not more of them than before.
            let _fits = wide.add(span.widen(unit));
        }
        wide
    }

    /// Returns the first run of sectors that must be read for all bytes of `needed`, which is
    /// made of whole sectors, to be valid.
    ///
    /// It starts and ends with a sector that is needed. Those between are missing, too.
    pub(crate) fn missing(&self, needed: &Ranges, sector: u32) -> Option<Span> {
        let mut gaps = self.valid.gaps(self.all()).map(|gap| gap.widen(sector));
        let mut next = gaps.next();
        while let Some(mut run) = next {
            next = gaps.next();
            while let Some(gap) = next.filter(|gap| gap.start <= run.end) {
                run = run.join(gap);
                next = gaps.next();
            }
            let wanted = needed.iter().filter_map(|span| span.intersection(run));
            if let Some(found) = wanted.reduce(Span::join) {
                return Some(found);
            }
        }
        None
    }

    /// Returns all that is missing, from the first sector to the last, if something of `needed` is.
    ///
    /// One request is better than several, now or later: who writes here and there in a block
    /// would have to read each time.
    pub(crate) fn all_missing(&self, needed: &Ranges, sector: u32) -> Option<Span> {
        self.missing(needed, sector)?;
        let gaps = self.valid.gaps(self.all()).map(|gap| gap.widen(sector));
        gaps.reduce(Span::join)
    }

    /// The bytes of a span that are not valid, so that what was read is to be copied there.
    pub(crate) fn gaps(&self, span: Span) -> impl Iterator<Item = Span> + '_ {
        self.valid.gaps(span)
    }

    /// Makes all bytes of a run that was [missing](Self::missing) valid. Returns [`false`] if
    /// that would be too many ranges, which is so for no run that was needed for all bytes of the
    /// block, or to write out.
    #[must_use]
    pub(crate) fn filled(&mut self, run: Span) -> bool {
        self.valid.add(run)
    }

    /// Begins to write out what is dirty. Nothing of it is missing. Returns what to write: where
    /// little is between, with that.
    pub(crate) fn begin_write(&mut self, unit: u32) -> Ranges {
        self.writing = self.pending(unit).bridged(&self.valid, BRIDGE);
        self.dirty = Ranges::EMPTY;
        self.writing
    }

    /// Ends writing out. If it failed, what was being written is dirty again.
    pub(crate) fn end_write(&mut self, written: bool) {
        let writing = core::mem::replace(&mut self.writing, Ranges::EMPTY);
        if !written {
            for span in writing.iter() {
                self.dirty.add_within(span, &self.valid);
            }
        }
    }
}
