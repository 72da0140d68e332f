//! Batches of requests that follow each other, and what is summed up over them.

use pumice_types::{RequestKind, Time};

use crate::metrics::FlashCounts;
use crate::observe::RequestRecord;

/// Latencies that are gathered before they are sorted.
const GATHERED_MAX: usize = 4096;

/// How often each value came, smallest first.
#[derive(Clone, Debug, Default)]
pub struct ValueCounts {
    sorted: Vec<(u64, u64)>,
    gathered: Vec<u64>,
}

impl ValueCounts {
    /// Counts a value.
    fn note(&mut self, value: u64) {
        self.gathered.push(value);
        if self.gathered.len() >= GATHERED_MAX {
            self.sort();
        }
    }

    /// Brings what was gathered into order.
    fn sort(&mut self) {
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.sort_unstable();
        let runs: Vec<(u64, u64)> =
            gathered.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u64)).collect();
        self.add_sorted(&runs);
        gathered.clear();
        self.gathered = gathered;
    }

    /// Counts the values of others as well. Neither may hold values that are not in order.
    pub fn add(&mut self, others: &ValueCounts) {
        debug_assert!(self.gathered.is_empty() && others.gathered.is_empty(), "both are in order");
        self.add_sorted(&others.sorted);
    }

    fn add_sorted(&mut self, others: &[(u64, u64)]) {
        let own = std::mem::take(&mut self.sorted);
        let (mut own, mut others) = (own.into_iter().peekable(), others.iter().copied().peekable());
        while let (Some(a), Some(b)) = (own.peek(), others.peek()) {
            let taken = match a.0.cmp(&b.0) {
                std::cmp::Ordering::Less => own.next(),
                std::cmp::Ordering::Greater => others.next(),
                std::cmp::Ordering::Equal => own.next().zip(others.next()).map(|((value, a), (_, b))| (value, a + b)),
            };
            self.sorted.extend(taken);
        }
        self.sorted.extend(own.chain(others));
    }

    /// The value of a rank, 1 for the smallest; the largest value for ranks beyond. `None` without a value.
    pub fn at_rank(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        let found = self.sorted.iter().find(|(_, count)| {
            below += count;
            below >= rank
        });
        found.or(self.sorted.last()).map(|&(value, _)| value)
    }

    /// How many values are above this one, and how many equal it.
    pub fn above_and_at(&self, value: u64) -> (u64, u64) {
        let at = self.sorted.partition_point(|&(other, _)| other < value);
        let above = self.sorted.partition_point(|&(other, _)| other <= value);
        let count = |values: &[(u64, u64)]| values.iter().map(|&(_, count)| count).sum();
        (count(&self.sorted[above..]), count(&self.sorted[at..above]))
    }
}

/// Requests of one direction in a batch.
#[derive(Clone, Debug, Default)]
pub struct DirectionBatch {
    /// Requests done.
    pub requests: u64,
    /// Sum of their latencies in nanoseconds.
    pub latency_ns: u128,
    /// Latencies of the batch, if a quantile is wanted.
    pub latencies: ValueCounts,
}

/// Flash commands of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashBatch {
    /// Page programs.
    pub programs: u64,
    /// Programs for the host.
    pub host_programs: u64,
    /// Erases.
    pub erases: u64,
}

impl FlashBatch {
    /// What has been counted so far.
    pub fn so_far(counts: &FlashCounts) -> FlashBatch {
        FlashBatch { programs: counts.programs(), host_programs: counts.host_programs, erases: counts.erases_total() }
    }

    /// What has come since.
    pub fn since(self, before: FlashBatch) -> FlashBatch {
        FlashBatch {
            programs: self.programs - before.programs,
            host_programs: self.host_programs - before.host_programs,
            erases: self.erases - before.erases,
        }
    }
}

/// Requests that follow each other in the order in which they were done.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Requests of every kind.
    pub requests: u64,
    /// Reads, and writes.
    pub directions: [DirectionBatch; 2],
    /// Flash commands meanwhile.
    pub flash: FlashBatch,
}

impl Batch {
    /// Notes a request. `value` turns a latency into the one that stands for it among the counted ones; without it
    /// latencies are not kept.
    #[inline]
    pub fn note(&mut self, record: &RequestRecord, value: Option<impl Fn(Time) -> u64>) {
        self.requests += 1;
        let direction = match record.request.kind {
            RequestKind::Read => &mut self.directions[0],
            RequestKind::Write => &mut self.directions[1],
            RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => return,
        };
        let latency = record.done - record.arrival;
        direction.requests += 1;
        direction.latency_ns += u128::from(latency.0);
        if let Some(value) = value {
            direction.latencies.note(value(latency));
        }
    }

    /// Ends the batch. So much flash was used meanwhile.
    pub fn end(&mut self, flash: FlashBatch) {
        self.flash = flash;
        self.directions.iter_mut().for_each(|direction| direction.latencies.sort());
    }

    /// Makes the batch one with the batch after it.
    pub fn append(&mut self, next: &Batch) {
        self.requests += next.requests;
        for (direction, next) in self.directions.iter_mut().zip(&next.directions) {
            direction.requests += next.requests;
            direction.latency_ns += next.latency_ns;
            direction.latencies.add(&next.latencies);
        }
        self.flash.programs += next.flash.programs;
        self.flash.host_programs += next.flash.host_programs;
        self.flash.erases += next.flash.erases;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: impl IntoIterator<Item = u64>) -> ValueCounts {
        let mut counts = ValueCounts::default();
        values.into_iter().for_each(|value| counts.note(value));
        counts.sort();
        counts
    }

    #[test]
    fn t730_counted_values_keep_their_ranks() {
        let mut some = counts([5, 3, 5, 9]);
        some.add(&counts([4, 5, 1]));
        // 1 3 4 5 5 5 9
        let ranks: Vec<_> = (1..=8).filter_map(|rank| some.at_rank(rank)).collect();
        assert_eq!(ranks, [1, 3, 4, 5, 5, 5, 9, 9]);
        assert_eq!(some.above_and_at(5), (1, 3));
        assert_eq!(some.above_and_at(6), (1, 0));
        assert_eq!(some.above_and_at(9), (0, 1));
        assert_eq!(counts([]).at_rank(1), None);
        let many = counts((0..3 * GATHERED_MAX as u64).map(|nth| nth % 7));
        assert_eq!(many.above_and_at(6).1, 3 * GATHERED_MAX as u64 / 7);
    }
}
