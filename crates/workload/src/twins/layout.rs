//! Where a twin's write extents lie on its volume, and what is left between them for reads.
//! All lengths and addresses are in granules.

use crate::source::random::RandomStream;
use crate::twins::catalogue::EXTENT_SIGMA;

/// A stretch of the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// First granule.
    pub start: u64,
    /// Granules, at least 1.
    pub len: u64,
}

/// The volume, divided.
#[derive(Debug)]
pub(crate) struct TwinLayout {
    /// Write extents in the order of their creation; their lengths add up to the write coverage.
    pub extents: Vec<Stretch>,
    /// Everything else, cut into segments, in the order of first reading.
    pub segments: Vec<Stretch>,
}

/// What a layout is drawn for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayoutPlan {
    /// Granules of the volume.
    pub volume: u64,
    /// Granules of all write extents together; at most `volume`.
    pub written: u64,
    /// Mean granules of a write extent.
    pub mean_extent: f64,
    /// Most granules of a read segment.
    pub segment: u64,
}

impl TwinLayout {
    /// Extents of log-normal length, uniform over the volume without overlap.
    pub fn draw(plan: &LayoutPlan, seed: u64) -> TwinLayout {
        let lengths = extent_lengths(plan, &mut RandomStream::new(seed, "extent lengths"));
        let mut extents = spread(plan, &lengths, &mut RandomStream::new(seed, "extent places"));
        let mut segments = gaps(plan, &extents);
        RandomStream::new(seed, "extent order").shuffle(&mut extents);
        RandomStream::new(seed, "segment order").shuffle(&mut segments);
        TwinLayout { extents, segments }
    }
}

/// Lengths that add up to the coverage exactly: the last one is cut.
fn extent_lengths(plan: &LayoutPlan, stream: &mut RandomStream) -> Vec<u64> {
    let mu = libm::log(plan.mean_extent) - EXTENT_SIGMA * EXTENT_SIGMA / 2.0;
    let mut lengths = Vec::new();
    let mut left = plan.written;
    while left > 0 {
        let drawn = libm::exp(mu + EXTENT_SIGMA * stream.normal());
        let len = (libm::round(drawn) as u64).clamp(1, left);
        lengths.push(len);
        left -= len;
    }
    lengths
}

/// Uniform without overlap: sorted uniform points cut the free space, and each extent opens the
/// volume at its point by its own length.
fn spread(plan: &LayoutPlan, lengths: &[u64], stream: &mut RandomStream) -> Vec<Stretch> {
    let free = plan.volume - plan.written;
    let mut points: Vec<u64> = lengths.iter().map(|_| stream.below(free + 1)).collect();
    points.sort_unstable();
    let mut before = 0;
    let place = |(point, &len): (u64, &u64)| {
        let start = point + before;
        before += len;
        Stretch { start, len }
    };
    points.into_iter().zip(lengths).map(place).collect()
}

/// The space outside extents that are sorted by address, in segments.
fn gaps(plan: &LayoutPlan, extents: &[Stretch]) -> Vec<Stretch> {
    let mut segments = Vec::with_capacity((plan.volume / plan.segment) as usize + extents.len());
    let mut at = 0;
    let end = Stretch { start: plan.volume, len: 0 };
    for extent in extents.iter().chain([&end]) {
        while at < extent.start {
            let len = plan.segment.min(extent.start - at);
            segments.push(Stretch { start: at, len });
            at += len;
        }
        at = extent.start + extent.len;
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w040_extents_and_segments_partition_the_volume() {
        let plan = LayoutPlan { volume: 100_000, written: 30_000, mean_extent: 64.0, segment: 256 };
        for seed in 0..20 {
            let layout = TwinLayout::draw(&plan, seed);
            assert_eq!(layout.extents.iter().map(|e| e.len).sum::<u64>(), plan.written);
            let mut all: Vec<Stretch> = layout.extents.iter().chain(&layout.segments).copied().collect();
            all.sort_unstable_by_key(|s| s.start);
            let mut at = 0;
            for stretch in all {
                assert_eq!(stretch.start, at);
                at += stretch.len;
            }
            assert_eq!(at, plan.volume);
        }
    }

    #[test]
    fn w041_the_mean_extent_is_the_one_asked_for() {
        let plan = LayoutPlan { volume: 1 << 34, written: 1 << 30, mean_extent: 1000.0, segment: 1 << 20 };
        let extents = TwinLayout::draw(&plan, 1).extents.len() as f64;
        let mean = plan.written as f64 / extents;
        // Standard deviation of a length is sqrt(e^2.25 - 1) = 2.91 means; five standard errors.
        let tolerance = 5.0 * 2.91 / extents.sqrt();
        assert!((mean / 1000.0 - 1.0).abs() < tolerance, "{mean}");
    }

    #[test]
    fn w042_a_full_volume_has_no_segments() {
        let plan = LayoutPlan { volume: 5_000, written: 5_000, mean_extent: 3.0, segment: 7 };
        assert!(TwinLayout::draw(&plan, 9).segments.is_empty());
    }
}
