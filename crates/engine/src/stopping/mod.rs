//! When a run knows enough to end (`run.until`): a sequential stopping rule by batch means.
//!
//! Measured requests are cut into batches in the order in which they are done. Whenever there are 128 batches, pairs of
//! neighbours become one, so that batches grow with the run. Four times between that, at 64, 80, 96 and 112 batches, the
//! rule looks at what is known so far. It looks seldom because each look is another chance to stop too early by luck.

mod batch;
mod estimate;
mod report;

use hdrhistogram::Histogram;
use pumice_config::{Goal, RunKeys, Until};
use pumice_types::Time;

use crate::metrics::{FlashCounts, latency_histogram};
use crate::observe::RequestRecord;
use batch::{Batch, DirectionBatch, FlashBatch, ValueCounts};
use estimate::{CORRELATION_MAX, Part, SHORT_IN_LONG, SHORT_MIN, Spread, spread};
pub use report::{Certainty, Quantity, StoppingReport};

/// Batches at which pairs become one.
const BATCHES_MAX: usize = 2 * SHORT_MIN;

/// Batches between two looks at what is known.
const LOOK_EVERY: usize = SHORT_MIN / 4;

/// Requests of a batch at first.
const FIRST_BATCH: u64 = 64;

/// Requests beyond a quantile that are needed before its interval says anything: four in each of 16 long batches.
const BEYOND_QUANTILE_MIN: u64 = 64;

/// Names of the two directions in the result document.
const LATENCIES: [&str; 2] = ["read_latency_us", "write_latency_us"];

/// Decides when a run ends.
#[derive(Clone)]
pub struct StoppingRule {
    until: Until,
    timed: bool,
    /// Histogram that gives latencies their buckets.
    buckets: Option<Histogram<u64>>,
    /// Requests of a batch.
    batch_requests: u64,
    /// Batches that are over.
    batches: Vec<Batch>,
    current: Batch,
    /// Flash commands before the current batch.
    flash: FlashBatch,
    is_met: bool,
}

impl StoppingRule {
    /// The rule of a run; `None` if its keys want none.
    pub fn new(keys: &RunKeys) -> Option<StoppingRule> {
        let until = keys.until?;
        Some(StoppingRule {
            until,
            timed: keys.timed,
            buckets: until.wanted.quantile_per_mille().map(|_| latency_histogram()),
            batch_requests: FIRST_BATCH,
            batches: Vec::with_capacity(BATCHES_MAX),
            current: Batch::default(),
            flash: FlashBatch::default(),
            is_met: false,
        })
    }

    /// Notes a measured request that is done.
    #[inline]
    pub fn note(&mut self, record: &RequestRecord) {
        if self.is_met {
            return;
        }
        let bucket =
            |buckets: &Histogram<u64>, latency: Time| buckets.highest_equivalent(latency.0.min(buckets.high()));
        let value = self.buckets.as_ref().map(|buckets| move |latency| bucket(buckets, latency));
        self.current.note(record, value);
    }

    /// Whether the run knows enough. So many flash commands have been counted since measuring began.
    #[inline]
    pub fn is_met(&mut self, counts: &FlashCounts) -> bool {
        if self.current.requests >= self.batch_requests && !self.is_met {
            self.end_batch(FlashBatch::so_far(counts));
        }
        self.is_met
    }

    #[cold]
    fn end_batch(&mut self, flash: FlashBatch) {
        self.current.end(flash.since(self.flash));
        self.flash = flash;
        self.batches.push(std::mem::take(&mut self.current));
        if self.batches.len() == BATCHES_MAX {
            self.pair();
        }
        if self.batches.len() >= SHORT_MIN && self.batches.len().is_multiple_of(LOOK_EVERY) {
            let known = self.quantities();
            self.is_met = !known.is_empty() && known.iter().all(|quantity| quantity.state == Certainty::Known);
        }
    }

    /// Makes one batch of each pair of neighbours.
    fn pair(&mut self) {
        let mut batches = std::mem::take(&mut self.batches).into_iter();
        while let Some(mut batch) = batches.next() {
            batches.next().iter().for_each(|next| batch.append(next));
            self.batches.push(batch);
        }
        self.batch_requests *= 2;
    }

    /// The batches that make whole long batches.
    fn whole(&self) -> &[Batch] {
        &self.batches[..self.batches.len() / SHORT_IN_LONG * SHORT_IN_LONG]
    }

    /// What is known of each quantity that is wanted. A direction without requests is none of them.
    fn quantities(&self) -> Vec<Quantity> {
        let wanted = self.until.wanted;
        let amplification = (wanted == Goal::Steady).then(|| self.amplification()).flatten();
        let latencies =
            (0..LATENCIES.len()).filter(|_| self.timed).filter_map(|direction| match wanted.quantile_per_mille() {
                None => self.mean(direction),
                Some(per_mille) => self.quantile(direction, per_mille),
            });
        amplification.into_iter().chain(latencies).collect()
    }

    /// Page programs for each of the host's.
    fn amplification(&self) -> Option<Quantity> {
        let part = |batch: &Batch| {
            let FlashBatch { programs, host_programs, .. } = batch.flash;
            Part { sum: programs as f64, weight: host_programs as f64 }
        };
        let known = self.ratio("write_amplification", part, 1.0)?;
        // Before collection has begun nothing varies, and a first value would pass for the lasting one.
        let state = if self.erases_all_along() { known.state } else { Certainty::NoErases };
        Some(Quantity { state, ..known })
    }

    fn mean(&self, direction: usize) -> Option<Quantity> {
        let part = |batch: &Batch| {
            let DirectionBatch { requests, latency_ns, .. } = batch.directions[direction];
            Part { sum: latency_ns as f64, weight: requests as f64 }
        };
        self.ratio(LATENCIES[direction], part, 1_000.0)
    }

    /// What is known of a ratio, in units of so many of the sum's; `None` if there is nothing to divide by.
    fn ratio(&self, of: &'static str, part: impl Fn(&Batch) -> Part, unit: f64) -> Option<Quantity> {
        let parts: Vec<Part> = self.whole().iter().map(part).collect();
        let (sum, weight) = parts.iter().fold((0.0, 0.0), |(sum, weight), part| (sum + part.sum, weight + part.weight));
        let ratio = (weight > 0.0).then(|| sum / weight)?;
        let known = (parts.len() >= SHORT_MIN && ratio > 0.0).then(|| spread(&parts, ratio, 0.0));
        Some(self.quantity(of, ratio / unit, known.map(|known| (known.half_width / ratio, known.correlation))))
    }

    /// What is known of a quantile; `None` without a request.
    ///
    /// The interval is found among ranks: how well the share of requests beyond the quantile is known, by batch means,
    /// says how many ranks the quantile may be off (Heidelberger and Lewis, "Quantile estimation in dependent sequences",
    /// Operations Research 32, 1984, section 1). No batch needs a quantile of its own, so batches may be short.
    fn quantile(&self, direction: usize, per_mille: u64) -> Option<Quantity> {
        let mut all = ValueCounts::default();
        self.whole().iter().for_each(|batch| all.add(&batch.directions[direction].latencies));
        let requests: u64 = self.whole().iter().map(|batch| batch.directions[direction].requests).sum();
        let value = all.at_rank(rank(requests, per_mille as f64 / 1_000.0))?;
        let beyond = (requests as f64) * (1_000 - per_mille) as f64 / 1_000.0;
        let is_enough = self.whole().len() >= SHORT_MIN && beyond >= BEYOND_QUANTILE_MIN as f64;
        let known = is_enough.then(|| self.spread_beyond(direction, per_mille, (&all, value, requests))).flatten();
        Some(self.quantity(LATENCIES[direction], value as f64 / 1_000.0, known))
    }

    /// Half-width of the interval of a quantile as a share of it, and the correlation of neighbouring batches; `None`
    /// if the interval has no upper end.
    fn spread_beyond(
        &self,
        direction: usize,
        per_mille: u64,
        (all, value, requests): (&ValueCounts, u64, u64),
    ) -> Option<(f64, f64)> {
        let share = (1_000 - per_mille) as f64 / 1_000.0;
        let (above, at) = all.above_and_at(value);
        // Of the requests with this very latency, a part counts as beyond it, as if they were in an order by chance.
        let part = (share * requests as f64 - above as f64) / at as f64;
        let parts: Vec<Part> = self
            .whole()
            .iter()
            .map(|batch| {
                let DirectionBatch { requests, latencies, .. } = &batch.directions[direction];
                let (above, at) = latencies.above_and_at(value);
                Part { sum: above as f64 + part * at as f64, weight: *requests as f64 }
            })
            .collect();
        let Spread { half_width, correlation } = spread(&parts, share, part * (1.0 - part) * at as f64);
        let quantile = 1.0 - share;
        let low = all.at_rank(rank(requests, quantile - half_width))?;
        let high =
            (quantile + half_width < 1.0).then(|| all.at_rank(rank(requests, quantile + half_width))).flatten()?;
        let off = (value - low).max(high - value);
        Some((if off == 0 { 0.0 } else { off as f64 / value as f64 }, correlation))
    }

    /// A quantity of which this half-width, as a share, and this correlation are known.
    fn quantity(&self, of: &'static str, value: f64, known: Option<(f64, f64)>) -> Quantity {
        let state = match known {
            None => Certainty::TooFew,
            Some((_, correlation)) if correlation > CORRELATION_MAX => Certainty::Correlated,
            Some((half_width, _)) if half_width > self.until.percent / 100.0 => Certainty::Wide,
            Some(_) => Certainty::Known,
        };
        let (half_width, correlation) = known.unzip();
        Quantity { of, value, half_width, correlation, state }
    }

    /// Whether blocks were erased in every long batch.
    fn erases_all_along(&self) -> bool {
        self.whole().chunks_exact(SHORT_IN_LONG).all(|short| short.iter().any(|batch| batch.flash.erases > 0))
    }

    /// Whether the host wrote in the first quarter of the run, and no block was erased for it.
    fn begins_without_erases(&self) -> bool {
        let first = &self.whole()[..self.whole().len() / 4];
        first.iter().any(|batch| batch.flash.host_programs > 0) && first.iter().all(|batch| batch.flash.erases == 0)
    }

    /// How the run ended.
    pub fn report(&self) -> StoppingReport {
        StoppingReport {
            until: self.until,
            is_met: self.is_met,
            requests: self.whole().iter().map(|batch| batch.requests).sum(),
            batches: self.whole().len() as u64,
            batch_requests: self.batch_requests,
            quantities: self.quantities(),
            begins_without_erases: self.begins_without_erases(),
        }
    }
}

/// The rank of a quantile among so many, 1 for the smallest.
fn rank(count: u64, quantile: f64) -> u64 {
    ((count as f64 * quantile).ceil() as u64).max(1)
}

#[cfg(test)]
mod tests;
