//! What several threads have measured on one device, put together.

use pumice_types::{Time, add_fields};

use super::{FlashCounts, KindMetrics, Metrics, UnitCounts, WriteParts};

/// The entries of several lists, each of which is in order, all in order; with the number of the list.
pub fn in_order<T, K: Ord>(mut lists: Vec<&[T]>, key: impl Fn(&T) -> K) -> impl Iterator<Item = (usize, &T)> {
    std::iter::from_fn(move || {
        let begun = lists.iter_mut().enumerate().filter(|(_, list)| !list.is_empty());
        let (number, list) = begun.min_by_key(|(_, list)| key(&list[0]))?;
        let (next, left) = list.split_first()?;
        *list = left;
        Some((number, next))
    })
}

impl KindMetrics {
    /// Adds requests that another thread has measured.
    pub fn absorb(&mut self, other: &KindMetrics) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        // Both have the same bounds.
        let added = self.latency.add(&other.latency);
        debug_assert!(added.is_ok());
        self.latency_sum += other.latency_sum;
        self.latency_max = self.latency_max.max(other.latency_max);
    }
}

impl WriteParts {
    fn absorb(&mut self, other: &WriteParts) {
        add_fields!(self, other, WriteParts { link, controller, rmw_read, transfer, program; waited });
        self.waited.iter_mut().zip(other.waited).for_each(|(sum, waited)| *sum += waited);
    }
}

impl Metrics {
    /// Keeps from now on when requests were outstanding, not only for how long.
    pub fn keep_spans(&mut self) {
        self.spans = Some(Vec::new());
    }

    /// Adds what another thread has measured. The time with requests outstanding is no sum; see [`Metrics::serve`].
    pub fn absorb(&mut self, other: &Metrics) {
        let kinds = [
            (&mut self.read, &other.read),
            (&mut self.write, &other.write),
            (&mut self.trim, &other.trim),
            (&mut self.flush, &other.flush),
            (&mut self.append, &other.append),
            (&mut self.reset, &other.reset),
            (&mut self.finish, &other.finish),
        ];
        kinds.into_iter().for_each(|(sum, kind)| sum.absorb(kind));
        self.zones_opened_closed += other.zones_opened_closed;
        self.refused.iter_mut().zip(other.refused).for_each(|(sum, count)| *sum += count);
        self.fua_writes += other.fua_writes;
        self.write_parts.absorb(&other.write_parts);
        self.last_arrival = self.last_arrival.max(other.last_arrival);
        self.last_done = self.last_done.max(other.last_done);
        self.last_ready = self.last_ready.max(other.last_ready);
    }

    /// Sums up the time with requests outstanding on this thread or another.
    pub fn serve<'a>(&mut self, others: impl Iterator<Item = &'a Metrics>) {
        let own = self.spans.take();
        let spans = own.as_deref().into_iter().chain(others.filter_map(|other| other.spans.as_deref())).collect();
        let (mut end, mut serving) = (Time::ZERO, Time::ZERO);
        for (_, &[from, to]) in in_order(spans, |&[from, _]| from) {
            serving += to.max(end) - from.max(end);
            end = end.max(to);
        }
        self.serving = serving;
    }

    /// Notes that requests were outstanding for this long.
    pub(super) fn note_span(&mut self, to: Time) {
        let from = self.serving_since;
        let Some(spans) = &mut self.spans else { return };
        match spans.last_mut() {
            Some(last) if last[1] == from => last[1] = to,
            _ => spans.push([from, to]),
        }
    }
}

impl FlashCounts {
    /// Adds the commands of another thread.
    pub fn absorb(&mut self, other: &FlashCounts) {
        add_fields!(self, other, FlashCounts {
            host_reads, host_programs, rmw_reads, map_reads, map_programs, waiting_map_programs, copies, moved_reads,
            moved_programs, padding_programs, map_copies, host_searches, gc_searches, host_spare_pages, gc_spare_pages,
            map_spare_pages, block_erases, erases_again, sub_block_erases, buffer_hits; partial_erases, units
        });
        add_fields!(self.units, &other.units, UnitCounts { host, gc, padding, map });
        let levels = self.partial_erases.iter_mut().zip(&other.partial_erases);
        levels.for_each(|(sum, count)| *sum += count);
    }
}
