//! Reads of mapping units: those of one page that a request asks for together are sensed once.

use pumice_types::{FlashCommand, FlashOp, MultiPlane, Time};

use super::die::{Die, Lane, READS};
use super::segment::{Resources, Segment, Usage};
use super::{NOBODY, Scheduler};

/// Whether a read behind another one asks for a unit of the same page, for the same access.
fn goes_along(first: (&FlashCommand, &Segment), other: (&FlashCommand, &Segment), units: u16) -> bool {
    let page = |command: &FlashCommand| (command.target.block, command.target.page / units);
    let reads = first.0.op == FlashOp::Read && other.0.op == FlashOp::Read;
    reads && first.1.token != NOBODY && first.1.token == other.1.token && page(first.0) == page(other.0)
}

impl Scheduler {
    /// The first segments of a lane that read units of one page for one access; at least one.
    #[inline(never)]
    pub(super) fn units_of_page(&mut self, index: usize, lane: usize) -> usize {
        let units = self.geometry.units_per_page;
        let die = &mut self.dies[index];
        let mut group = 1;
        while group < die.lanes[lane].segments.len() {
            if lane == READS {
                die.find_source(group, &self.chips.checked.array);
            }
            let Lane { segments, commands, .. } = &die.lanes[lane];
            if !goes_along((&commands[0], &segments[0]), (&commands[group], &segments[group]), units) {
                break;
            }
            group += 1;
        }
        group
    }

    /// Lets the read that was queued last go along with the one that its die has begun at this instant, if it asks for a
    /// unit of the same page.
    pub(super) fn join_sensing(&mut self, index: usize, lane: usize, now: Time) {
        let units = self.geometry.units_per_page;
        let Die { lanes, active, group, usage, started, on_channel, .. } = &mut self.dies[index];
        let Lane { segments, commands, .. } = &lanes[lane];
        let last = segments.len() - 1;
        let is_next = *active == Some(lane) && *started == now && !*on_channel && *group == last;
        let senses = usage.shape == Resources::DieThenChannel && usage.retries == 0;
        if self.policy.multi_plane != MultiPlane::Off
            || self.chips.retry.is_some()
            || !(is_next
                && senses
                && goes_along((&commands[0], &segments[0]), (&commands[last], &segments[last]), units))
        {
            return;
        }
        *group += 1;
        // A read that moves its whole page brings all of its units.
        usage.transfers += segments[last].own_time;
    }
}

impl Usage {
    /// Turns the usage of several reads that move the whole of one page into that of the page.
    pub(super) fn share_page(&mut self, lane: &Lane) {
        if lane.segments.front().is_some_and(|first| first.own_time == Time::ZERO) {
            self.transfers = self.channel;
        }
    }
}
