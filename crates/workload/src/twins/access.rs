//! The two halves of a twin: what it writes and what it reads. Addresses are in granules.

use crate::source::random::RandomStream;
use crate::twins::coverage::Coverage;
use crate::twins::layout::{Stretch, TwinLayout};
use crate::twins::runs::{RequestSpan, Runs};
use crate::twins::size::SizeBudget;

/// Visits a list of places one after the other, each from its start to its end.
#[derive(Debug, Default)]
struct FirstPass {
    /// Places visited completely.
    completed: usize,
    /// Granules visited of the next place.
    within: u64,
    /// Granules visited in all.
    covered: u64,
}

impl FirstPass {
    /// The next `want` granules, cut where the place ends; `None` when all places are done.
    #[inline]
    fn next(&mut self, places: &[Stretch], want: u64) -> Option<RequestSpan> {
        let place = places.get(self.completed)?;
        let len = want.min(place.len - self.within);
        let span = RequestSpan { index: self.completed, start: place.start + self.within, len };
        self.within += len;
        self.covered += len;
        if self.within == place.len {
            self.completed += 1;
            self.within = 0;
        }
        Some(span)
    }
}

/// What a twin must move and cover of one kind, in granules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TwinTarget {
    /// Requests, at least 1.
    pub requests: u64,
    /// Granules moved.
    pub moved: u64,
    /// Distinct granules.
    pub covered: u64,
}

/// Writes: extents created one after the other, and rewritten once they are complete.
#[derive(Debug)]
pub(crate) struct Writer {
    sizes: SizeBudget,
    choice: RandomStream,
    rewrites: Runs,
    first: FirstPass,
    target: TwinTarget,
}

impl Writer {
    pub fn new(target: TwinTarget, seed: u64) -> Writer {
        Writer {
            sizes: SizeBudget::new(target.moved, target.requests, RandomStream::new(seed, "write sizes")),
            choice: RandomStream::new(seed, "write choice"),
            rewrites: Runs::new(RandomStream::new(seed, "rewrites")),
            first: FirstPass::default(),
            target,
        }
    }

    /// Extents written completely.
    pub fn completed(&self) -> usize {
        self.first.completed
    }

    /// The next write. The probability of a first write is (bytes left to cover) / (bytes left to move): new extents
    /// come at a constant rate, and both run out together.
    #[inline]
    pub fn next(&mut self, layout: &TwinLayout) -> RequestSpan {
        let want = self.sizes.draw();
        let uncovered = self.target.covered.saturating_sub(self.first.covered);
        let create = self.completed() == 0 || self.choice.below(self.sizes.granules_left()) < uncovered;
        let created = if create { self.first.next(&layout.extents, want) } else { None };
        let span = match created {
            Some(span) => span,
            None => self.rewrites.next(&layout.extents[..self.completed()], want),
        };
        self.sizes.settle(want, span.len);
        span
    }
}

/// Reads: a share of them in completed write extents, the rest in the segments between.
#[derive(Debug)]
pub(crate) struct Reader {
    sizes: SizeBudget,
    choice: RandomStream,
    extent_reads: Runs,
    rereads: Runs,
    first: FirstPass,
    target: TwinTarget,
    /// Granules read in write extents, and still to be read there.
    extent_read: u64,
    extent_left: u64,
    /// First bit of each write extent in `extent_coverage`.
    extent_bits: Vec<u64>,
    extent_coverage: Coverage,
}

impl Reader {
    /// `extent_share` of what is read lies in write extents.
    pub fn new(target: TwinTarget, extent_share: f64, layout: &TwinLayout, seed: u64) -> Reader {
        let mut bits = 0;
        let first_bit = |extent: &Stretch| {
            bits += extent.len;
            bits - extent.len
        };
        let extent_bits = layout.extents.iter().map(first_bit).collect();
        Reader {
            sizes: SizeBudget::new(target.moved, target.requests, RandomStream::new(seed, "read sizes")),
            choice: RandomStream::new(seed, "read choice"),
            extent_reads: Runs::new(RandomStream::new(seed, "extent reads")),
            rereads: Runs::new(RandomStream::new(seed, "rereads")),
            first: FirstPass::default(),
            target,
            extent_read: 0,
            extent_left: (target.moved as f64 * extent_share) as u64,
            extent_bits,
            extent_coverage: Coverage::new(bits),
        }
    }

    /// The next read; `written` is the number of write extents that are complete.
    #[inline]
    pub fn next(&mut self, layout: &TwinLayout, written: usize) -> RequestSpan {
        let want = self.sizes.draw();
        let left = self.sizes.granules_left();
        let in_extent = written > 0 && self.choice.below(left) < self.extent_left;
        let span = if in_extent || layout.segments.is_empty() {
            self.in_extent(layout, written, want)
        } else {
            self.in_segment(layout, want)
        };
        self.sizes.settle(want, span.len);
        span
    }

    fn in_extent(&mut self, layout: &TwinLayout, written: usize, want: u64) -> RequestSpan {
        // None is complete only if the volume has no space but extents: then the first must do.
        let places = &layout.extents[..written.max(1)];
        let span = self.extent_reads.next(places, want);
        self.extent_read += span.len;
        self.extent_left = self.extent_left.saturating_sub(span.len);
        let bit = self.extent_bits[span.index] + (span.start - layout.extents[span.index].start);
        self.extent_coverage.add(bit, span.len);
        span
    }

    fn in_segment(&mut self, layout: &TwinLayout, want: u64) -> RequestSpan {
        let covered = self.first.covered + self.extent_coverage.covered() + self.extent_coverage_to_come();
        let uncovered = self.target.covered.saturating_sub(covered);
        let left = self.sizes.granules_left().saturating_sub(self.extent_left);
        let fresh = self.first.completed == 0 || self.choice.below(left) < uncovered;
        let first = if fresh { self.first.next(&layout.segments, want) } else { None };
        match first {
            Some(span) => span,
            None => self.rereads.next(&layout.segments[..self.first.completed], want),
        }
    }

    /// An estimate of what reads of write extents will yet add to the coverage, so that first reads
    /// leave room for it: half of what they added per granule so far, because they repeat
    /// themselves ever more, and at most as much again. It vanishes towards the end.
    fn extent_coverage_to_come(&self) -> u64 {
        let covered = self.extent_coverage.covered();
        let left_per_read = self.extent_left as f64 / self.extent_read.max(1) as f64;
        (covered as f64 * (0.5 * left_per_read).min(1.0)) as u64
    }
}
