//! Reads of mapping units: those of one page that a request asks for together are sensed once.

use pumice_nand::reads_one_page;
use pumice_types::{FlashCommand, Geometry, Time};

use super::die::{Die, Lane, READS, WORK};
use super::segment::{Resources, Segment};
use super::{NOBODY, Scheduler};

/// Whether a read asks for a unit of the page that another one senses, for the same access.
pub(super) fn goes_along(
    geometry: &Geometry,
    first: (&FlashCommand, &Segment),
    other: (&FlashCommand, &Segment),
) -> bool {
    let of_one = first.1.token != NOBODY && first.1.token == other.1.token;
    of_one && reads_one_page(geometry, [first.0, other.0])
}

impl Lane {
    /// The first of `group` that the read at a place goes along with.
    pub(super) fn along_with(&self, geometry: &Geometry, place: usize, group: usize) -> Option<usize> {
        let at = |nth: usize| (&self.commands[nth], &self.segments[nth]);
        (0..group).find(|&nth| goes_along(geometry, at(nth), at(place)))
    }

    /// Whether the read at a place goes along with one of the first `group`.
    pub(super) fn goes_along(&self, geometry: &Geometry, place: usize, group: usize) -> bool {
        self.along_with(geometry, place, group).is_some()
    }

    /// Whether the read at a place moves its whole page, and one before it has moved that.
    pub(super) fn is_brought(&self, geometry: &Geometry, place: usize) -> bool {
        let of_page = |other: &FlashCommand| reads_one_page(geometry, [other, &self.commands[place]]);
        geometry.units_per_page > 1
            && self.segments[place].own_time == Time::ZERO
            && self.commands.iter().take(place).any(of_page)
    }
}

impl Scheduler {
    /// The first segments of a lane that read units of one page for one access; at least one.
    #[inline(never)]
    pub(super) fn units_of_page(&mut self, index: usize, lane: usize) -> usize {
        let geometry = self.geometry;
        let die = &mut self.dies[index];
        let mut group = 1;
        while group < die.lanes[lane].segments.len() {
            let at = |nth: usize| (die.lanes[lane].commands[nth], die.lanes[lane].segments[nth].behind);
            // A read that does not go along keeps what it was to read.
            let (read, behind) =
                if lane == READS { die.source_of(group, &self.chips.checked.array) } else { at(group) };
            let Lane { commands, segments, .. } = &mut die.lanes[lane];
            if !goes_along(&geometry, (&commands[0], &segments[0]), (&read, &segments[group])) {
                break;
            }
            (commands[group], segments[group].behind) = (read, behind);
            group += 1;
        }
        group
    }

    /// Brings the reads that go along with the first `group` of the work lane, and were queued right behind them, to
    /// them. Returns how many that makes.
    pub(super) fn gather_units(&mut self, index: usize, mut group: usize) -> usize {
        let geometry = self.geometry;
        let Die { lanes: [_, work], queues: Some(queues), .. } = &mut self.dies[index] else { return group };
        let mut nth = 0;
        while geometry.units_per_page > 1 && nth < group {
            if let Some((number, place)) = queues.behind(nth)
                && work.goes_along(&geometry, place, group)
            {
                work.move_forward(queues.take_along(number), group);
                group += 1;
            }
            nth += 1;
        }
        group
    }

    /// Lets the read that was queued last go along with the one that its die has begun at this instant, if it asks for a
    /// unit of the same page.
    pub(super) fn join_sensing(&mut self, index: usize, lane: usize, now: Time) {
        let geometry = self.geometry;
        let Die { lanes, active, group, usage, started, on_channel, queues, .. } = &mut self.dies[index];
        let last = lanes[lane].segments.len() - 1;
        let begins = *active == Some(lane) && *started == now && !*on_channel && *group > 0;
        let senses = begins && usage.shape == Resources::DieThenChannel;
        let Some(first) = senses.then(|| lanes[lane].along_with(&geometry, last, *group)).flatten() else { return };
        // Units of one page have the same errors, so they are read again together.
        lanes[lane].segments[last].retries = lanes[lane].segments[first].retries;
        let own_time = lanes[lane].segments[last].own_time;
        match queues.as_mut().filter(|_| lane == WORK) {
            Some(queues) => match queues.behind(*group - 1) {
                Some((number, place)) if place == last => lanes[WORK].move_forward(queues.take_along(number), *group),
                Some(_) | None => return,
            },
            None if last == *group => {}
            None => return,
        }
        *group += 1;
        // A read that moves its whole page brings all of its units.
        usage.transfers += own_time;
    }
}
