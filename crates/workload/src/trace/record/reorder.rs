//! Puts records back into the order of time within a window.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::trace::record::TraceRecord;

/// Records among which the earliest is chosen: a record displaced by up to so many is put back.
pub const REORDER_WINDOW: usize = 65_536;

/// A priority queue by (time, line) that costs next to nothing while records come in order: those
/// wait in a queue that is sorted by itself, and only records that run backwards enter a heap.
#[derive(Debug, Default)]
pub(crate) struct ReorderWindow {
    /// Sorted by time: each record is no earlier than the one before it.
    ordered: VecDeque<TraceRecord>,
    /// Records earlier than one that came before them.
    late: BinaryHeap<Reverse<Late>>,
    last_time: u64,
    /// Records that ran backwards and found their place.
    pub reordered: u64,
    /// Records that came too late for their place.
    pub clamped: u64,
}

/// A record that came late, with whether it is one: ordered by time, then line.
#[derive(Debug, PartialEq, Eq)]
struct Late(TraceRecord);

impl Ord for Late {
    fn cmp(&self, other: &Late) -> std::cmp::Ordering {
        self.0.order().cmp(&other.0.order())
    }
}

impl PartialOrd for Late {
    fn partial_cmp(&self, other: &Late) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl ReorderWindow {
    /// Whether another record may enter before one must leave.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.len() <= REORDER_WINDOW
    }

    /// Records that entered and have not left.
    #[inline]
    pub fn len(&self) -> usize {
        self.ordered.len() + self.late.len()
    }

    #[inline]
    pub fn push(&mut self, record: TraceRecord) {
        match self.ordered.back() {
            Some(back) if record.time < back.time => self.late.push(Reverse(Late(record))),
            _ => self.ordered.push_back(record),
        }
    }

    /// The earliest record. One that is earlier than what has already left gets that one's time.
    #[inline]
    pub fn pop(&mut self) -> Option<TraceRecord> {
        if !self.late.is_empty() {
            return self.pop_either();
        }
        let mut record = self.ordered.pop_front()?;
        // Only after records from the heap can the queue's own next one be too late.
        self.clamp(&mut record, false);
        Some(record)
    }

    #[cold]
    fn pop_either(&mut self) -> Option<TraceRecord> {
        let from_heap = match (self.late.peek(), self.ordered.front()) {
            (Some(Reverse(Late(late))), Some(front)) => late.order() < front.order(),
            (late, _) => late.is_some(),
        };
        let mut record =
            if from_heap { self.late.pop().map(|Reverse(Late(record))| record) } else { self.ordered.pop_front() }?;
        self.clamp(&mut record, from_heap);
        Some(record)
    }

    #[inline]
    fn clamp(&mut self, record: &mut TraceRecord, was_late: bool) {
        if record.time < self.last_time {
            record.time = self.last_time;
            self.clamped += 1;
        } else {
            self.last_time = record.time;
            self.reordered += u64::from(was_late);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use pumice_types::RequestKind;

    use crate::trace::record::Durability;

    fn record(time: u64, line: u64) -> TraceRecord {
        let (kind, durability) = (RequestKind::Read, Durability::default());
        TraceRecord { time, offset: line, line, bytes: 512, volume: 0, kind, durability, stream: 0 }
    }

    /// Everything that leaves the window, as the reader drives it.
    fn run(times: &[u64]) -> (Vec<(u64, u64)>, ReorderWindow) {
        let mut window = ReorderWindow::default();
        let mut out = Vec::new();
        for (line, &time) in times.iter().enumerate() {
            window.push(record(time, line as u64));
            if !window.has_room() {
                out.extend(window.pop());
            }
        }
        out.extend(std::iter::from_fn(|| window.pop()));
        (out.into_iter().map(|r| (r.time, r.line)).collect(), window)
    }

    #[test]
    fn w120_order_is_restored_and_equal_times_keep_their_order() {
        let (out, window) = run(&[5, 5, 3, 5, 3, 9, 8]);
        assert_eq!(out, [(3, 2), (3, 4), (5, 0), (5, 1), (5, 3), (8, 6), (9, 5)]);
        assert_eq!((window.reordered, window.clamped), (3, 0));
    }

    #[test]
    fn w121_the_window_is_65536_records_wide() {
        for (ahead, clamped) in [(REORDER_WINDOW, 0), (REORDER_WINDOW + 1, 1)] {
            let mut times: Vec<u64> = (10..10 + ahead as u64).collect();
            times.push(0);
            let (out, window) = run(&times);
            assert_eq!((window.reordered, window.clamped), (1 - clamped, clamped), "{ahead} records ahead");
            assert_eq!(out.len(), times.len());
            assert!(out.is_sorted_by_key(|&(time, _)| time));
        }
    }

    proptest! {
        #[test]
        fn w122_inside_the_window_it_is_a_stable_sort(times in prop::collection::vec(0u64..50, 0..300)) {
            let mut sorted: Vec<(u64, u64)> = times.iter().enumerate().map(|(n, &t)| (t, n as u64)).collect();
            sorted.sort();
            prop_assert_eq!(run(&times).0, sorted);
        }
    }
}
