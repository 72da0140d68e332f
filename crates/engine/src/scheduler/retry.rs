//! Reads that are repeated: on the die and, asked for anew, on the channel, as often as the chips say
//! when they start.

use pumice_types::{Geometry, PageTimes, Time};

use super::die::{Die, Lane};
use super::segment::{Resources, Segment, Usage};
use crate::chip::Chips;

impl Usage {
    /// Die and channel time of a segment with so many retries.
    #[inline]
    pub fn with_retries(&self, retries: u8) -> (Time, Time) {
        let again = u64::from(retries);
        (self.die_first * (again + 1) + self.die_last, self.channel + self.again * again)
    }
}

impl Die {
    /// Settles how often the reads of the segments that start together are repeated.
    pub fn begin_reads(&mut self, lane: usize, group: usize, chips: &mut Chips) {
        self.round = 0;
        let geometry = chips.checked.array.config().geometry;
        let reading = &mut self.lanes[lane];
        for nth in 0..group {
            if matches!(reading.segments[nth].shape, Resources::DieThenChannel | Resources::DieChannelDie) {
                // A segment that reads a page has one command, so places in both queues agree. Units of one page have
                // the same errors.
                let retries = match reading.along_with(&geometry, nth, nth) {
                    Some(first) => reading.segments[first].retries,
                    None => chips.begin_read(&reading.commands[nth]),
                };
                reading.segments[nth].retries = retries;
                self.usage.retries = self.usage.retries.max(retries);
            }
        }
        if self.usage.copy_reads > Time::ZERO {
            for round in 1..=self.usage.retries {
                let again = self.usage.page * self.reading(lane, group, round);
                self.usage.copy_reads += self.read_time(lane, group, round, &chips.timing.pages) + again;
            }
        }
    }

    /// How many of the segments that start together read in a round.
    fn reading(&self, lane: usize, group: usize, round: u8) -> u64 {
        let reads = |segment: &&Segment| segment.retries >= round;
        self.lanes[lane].segments.iter().take(group).filter(reads).count() as u64
    }

    /// Die time of the reads of a round of retries.
    fn read_time(&self, lane: usize, group: usize, round: u8, pages: &PageTimes) -> Time {
        if self.usage.reads < 2 {
            return self.usage.die_first;
        }
        let Lane { segments, commands, .. } = &self.lanes[lane];
        let reads = segments.iter().zip(commands).take(group).filter(|(segment, _)| segment.retries >= round);
        reads.map(|(_, command)| pages.t_r(command.source.page)).sum()
    }

    /// Begins the next retry; returns when the die is done with it.
    pub fn read_again(&mut self, now: Time, pages: &PageTimes) -> Time {
        self.round += 1;
        self.on_channel = false;
        let Some(active) = self.active else { return now };
        now + self.read_time(active, self.group, self.round, pages)
    }

    /// Die time after the transfers of this round; not zero only in the last round.
    #[inline]
    pub fn after_transfers(&self) -> Time {
        if self.round == self.usage.retries { self.usage.die_last } else { Time::ZERO }
    }

    /// Channel time of this round: pages that need another retry move out, those in their last round move
    /// all that they have to.
    pub fn transfers_of_round(&self, geometry: &Geometry) -> Time {
        let Some(active) = self.active else { return Time::ZERO };
        let lane = &self.lanes[active];
        let page = |segment: &Segment| if segment.own_time > Time::ZERO { segment.own_time } else { self.usage.page };
        let of = |(nth, segment): (usize, &Segment)| match (self.round, segment.shape) {
            _ if lane.is_brought(geometry, nth) => Time::ZERO,
            (round, _) if round < segment.retries => page(segment),
            (round, _) if round > segment.retries => Time::ZERO,
            (_, Resources::DieChannelDie) => page(segment) * 2,
            (..) => page(segment),
        };
        lane.segments.iter().take(self.group).enumerate().map(of).sum()
    }
}
