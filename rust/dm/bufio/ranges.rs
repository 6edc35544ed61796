// SPDX-License-Identifier: GPL-2.0

//! A few ranges of the bytes of a block.
//!
//! The file uses nothing but `core`, and no memory beyond its own: what does not fit is refused.

/// The most ranges that are kept.
///
/// So many places of a block can be written separately before something must be read.
pub(crate) const MAX: usize = 6;

/// The bytes from `start` to before `end`, of which there is at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    const NONE: Self = Self { start: 0, end: 0 };

    /// Makes the span of the bytes from `start` to before `end`, if there are any.
    pub(crate) fn new(start: u32, end: u32) -> Option<Self> {
        (start < end).then_some(Self { start, end })
    }

    /// The number of bytes.
    pub(crate) fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// The bytes that are in both.
    pub(crate) fn intersection(self, other: Self) -> Option<Self> {
        Self::new(self.start.max(other.start), self.end.min(other.end))
    }

    /// The smallest span that has both.
    pub(crate) fn join(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The smallest span that has this one, and starts and ends at a multiple of `unit`, which is
    /// a power of two.
    pub(crate) fn widen(self, unit: u32) -> Self {
        let rest = unit.wrapping_sub(1);
        Self {
            start: self.start & !rest,
            end: self.end.saturating_add(rest) & !rest,
        }
    }

    fn has(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A set of bytes, as ranges.
///
/// # Invariants
///
/// The first `len` spans are in order, none is empty, and there is a byte between any two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges {
    spans: [Span; MAX],
    len: u32,
}

impl Ranges {
    /// The empty set.
    pub(crate) const EMPTY: Self = Self {
        spans: [Span::NONE; MAX],
        len: 0,
    };

    /// Makes the set of the bytes of a span.
    pub(crate) fn of(span: Span) -> Self {
        let mut ranges = Self::EMPTY;
        ranges.push(span);
        ranges
    }

    /// The ranges, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.spans.iter().take(self.len as usize).copied()
    }

    /// Whether there is no byte in the set.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether all bytes of the span are in the set.
    pub(crate) fn cover(&self, span: Span) -> bool {
        self.iter().any(|own| own.has(span))
    }

    /// Adds the bytes of a span. Returns [`false`], with nothing changed, if that would be too
    /// many ranges.
    #[must_use]
    pub(crate) fn add(&mut self, span: Span) -> bool {
        let mut sum = Self::EMPTY;
        let mut fits = true;
        // What is still to be added, until a range behind it is found.
        let mut new = Some(span);
        for own in self.iter() {
            match new {
                Some(span) if own.end >= span.start && own.start <= span.end => {
                    new = Some(span.join(own));
                    continue;
                }
                Some(span) if own.start > span.end => {
                    fits &= sum.push(span);
                    new = None;
                }
                _ => {}
            }
            fits &= sum.push(own);
        }
        if let Some(span) = new {
            fits &= sum.push(span);
        }
        if fits {
            *self = sum;
        }
        fits
    }

    /// Adds the bytes of a span, all of which are in `wider`, as are those of the set. Where that
    /// would be too many ranges, some bytes of `wider` that are between them are added as well.
    pub(crate) fn add_within(&mut self, span: Span, wider: &Ranges) {
        if self.add(span) {
            return;
        }
        // There are as many ranges as there can be, and at most as many in `wider`. So either one
        // of those has the new span and a range of this set; or one has two of this set.
        let near = wider.iter().find(|wide| wide.has(span)).and_then(|wide| {
            let inside = self.iter().filter(|own| wide.has(*own));
            inside.min_by_key(|own| own.join(span).len())
        });
        if let Some(near) = near {
            let _touches = self.add(near.join(span));
            return;
        }
        if let Some(joined) = self.closest(wider) {
            let _touches = self.add(joined);
        }
        let _fits = self.add(span);
    }

    /// The smallest span from the start of one range to the end of the next that is in `wider`.
    fn closest(&self, wider: &Ranges) -> Option<Span> {
        let pairs = self.iter().zip(self.iter().skip(1));
        pairs
            .filter(|(one, next)| wider.cover(one.join(*next)))
            .min_by_key(|(one, next)| next.start.saturating_sub(one.end))
            .map(|(one, next)| one.join(next))
    }

    /// The set with what is between its ranges, where that is at most `most` bytes, and all of it
    /// in `within`.
    pub(crate) fn bridged(&self, within: &Ranges, most: u32) -> Self {
        let mut sum = Self::EMPTY;
        let mut last: Option<Span> = None;
        for span in self.iter() {
            let near = last.filter(|last| {
                let between = Span::new(last.end, span.start);
                between.is_none_or(|gap| gap.len() <= most && within.cover(gap))
            });
            last = match (near, last) {
                (Some(near), _) => Some(near.join(span)),
                (None, Some(done)) => {
                    sum.push(done);
                    Some(span)
                }
                (None, None) => Some(span),
            };
        }
        if let Some(done) = last {
            sum.push(done);
        }
        sum
    }

    /// The bytes of a span that are not in the set.
    pub(crate) fn gaps(&self, within: Span) -> impl Iterator<Item = Span> + '_ {
        let starts = core::iter::once(within.start).chain(self.iter().map(|own| own.end));
        let ends = self.iter().map(|own| own.start);
        let ends = ends.chain(core::iter::once(within.end));
        starts
            .zip(ends)
            .filter_map(move |(start, end)| Span::new(start.max(within.start), end.min(within.end)))
    }

    /// Adds a span behind all others. Returns [`false`] if there is no room.
    fn push(&mut self, span: Span) -> bool {
        let Some(place) = self.spans.get_mut(self.len as usize) else {
            return false;
        };
        // INVARIANT: The callers add spans in order, with a byte between them.
        *place = span;
        self.len = self.len.saturating_add(1);
        true
    }
}
