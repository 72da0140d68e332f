//! Reads that are repeated: on the die and, asked for anew, on the channel, as often as the chips say
//! when they start.

use pumice_types::Time;

use super::die::{Die, Lane};
use super::segment::{Resources, Segment, Usage};
use crate::chip::Chips;

impl Usage {
    /// Die and channel time of a segment with so many retries.
    #[inline]
    pub fn with_retries(&self, retries: u8) -> (Time, Time) {
        let again = u64::from(retries);
        (self.die_first * (again + 1) + self.die_last, self.channel + self.page_out * again)
    }
}

impl Die {
    /// Settles how often the reads of the segments that start together are repeated.
    pub fn begin_reads(&mut self, lane: usize, group: usize, chips: &mut Chips) {
        self.round = 0;
        let Lane { segments, commands, .. } = &mut self.lanes[lane];
        // A segment that reads a page has one command, so places in both queues agree.
        let reads =
            |segment: &&mut Segment| matches!(segment.shape, Resources::DieThenChannel | Resources::DieChannelDie);
        for (segment, command) in segments.iter_mut().take(group).filter(reads).zip(commands.iter()) {
            segment.retries = chips.begin_read(command);
            self.usage.retries = self.usage.retries.max(segment.retries);
        }
    }

    /// Begins the next retry; returns when the die is done with it.
    pub fn read_again(&mut self, now: Time) -> Time {
        self.round += 1;
        self.on_channel = false;
        now + self.usage.die_first
    }

    /// Die time behind the transfers of this round: there is some behind the last only.
    #[inline]
    pub fn after_transfers(&self) -> Time {
        if self.round == self.usage.retries { self.usage.die_last } else { Time::ZERO }
    }

    /// Channel time of this round: pages that need another retry move out, those in their last round move
    /// all that they have to.
    pub fn transfers_of_round(&self) -> Time {
        let Some(active) = self.active else { return Time::ZERO };
        let of = |segment: &Segment| match self.round {
            round if round < segment.retries => self.usage.page_out,
            round if round == segment.retries => self.usage.channel,
            _ => Time::ZERO,
        };
        self.lanes[active].segments.iter().take(self.group).map(of).sum()
    }
}
