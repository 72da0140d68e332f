//! What happens on a die: segments start, take the channel, end; their commands take effect.

use pumice_nand::check_multi_plane;
use pumice_types::{ChannelId, DieId, FlashCommand, FlashOp, Time, prefetch};

use super::die::{BusySpan, Die, Lane, READS, WORK};
use super::segment::{Phase, PhaseTimes, Resources, Segment, Usage, charge, die_only_time};
use super::{NOBODY, PageDone, Scheduler};
use crate::error::SimError;
use crate::observe::Observer;

impl Scheduler {
    /// Handles the next event.
    ///
    /// # Errors
    /// What executing its commands finds.
    pub fn step(&mut self, observer: &mut impl Observer) -> Result<(), SimError> {
        let Some((now, index)) = self.events.first() else { return Ok(()) };
        let die = &mut self.dies[index];
        let shape = die.active_shape();
        if matches!(shape, Some(Resources::DieThenChannel | Resources::DieChannelDie)) && !die.on_channel {
            die.on_channel = true;
            let (transfers, then) = (die.transfers(), die.after_transfers());
            let end = self.grant(index, now, transfers) + transfers + then;
            self.events.set(index, end);
            return Ok(());
        }
        if die.round < die.usage.retries {
            self.events.set(index, die.read_again(now));
            return Ok(());
        }
        if shape == Some(Resources::Erase) && die.erase.stops {
            self.suspend(index, now)?;
        } else {
            self.finish(index, now, observer)?;
        }
        if self.dies[index].active.is_none() {
            self.events.clear(index);
        }
        Ok(())
    }

    /// Executes the commands of a die-only segment that have ended by `now`.
    pub(super) fn advance(&mut self, index: usize, now: Time, observer: &mut impl Observer) -> Result<(), SimError> {
        let timing = &self.timing;
        let die = &mut self.dies[index];
        let Some(active) = die.active.filter(|_| die.active_shape() == Some(Resources::Die)) else { return Ok(()) };
        while die.lanes[active].segments[0].commands > 0 {
            let duration = die_only_time(timing, &die.lanes[active].commands[0]);
            let span = BusySpan { start: die.cursor, end: die.cursor + duration, occupies: true };
            if span.end > now {
                break;
            }
            let Some(command) = die.end_command(active, span, &mut self.chips, observer)? else { break };
            die.lanes[active].segments[0].commands -= 1;
            die.cursor = span.end;
            charge(&mut die.spent, timing, &command, duration);
        }
        Ok(())
    }

    /// Phase times of a die up to `now`, the running command's share included. Call after `advance`.
    pub(super) fn spent_at(&self, index: usize, now: Time) -> PhaseTimes {
        let die = &self.dies[index];
        let mut spent = die.spent;
        if let Some(active) = die.active {
            let lane = &die.lanes[active];
            let segment = &lane.segments[0];
            match lane.commands.front() {
                Some(command) if segment.shape == Resources::Die && segment.commands > 0 => {
                    charge(&mut spent, &self.timing, command, now - die.cursor);
                }
                // Executed to its end, whose event is due at this very instant: all is in `spent`.
                _ if segment.shape == Resources::Die => {}
                Some(command) => die.usage.charge(&mut spent, command, now - die.started),
                None => {}
            }
        }
        spent
    }

    /// Starts what is next on a die that is idle or has just finished something. Call only if
    /// something waits.
    #[inline]
    pub(super) fn start(&mut self, index: usize, now: Time) {
        let die = &self.dies[index];
        let lane = if die.lanes[READS].segments.is_empty() { WORK } else { READS };
        if lane == WORK && die.erase.is_suspended {
            self.let_writes_pass(index);
        }
        self.start_lane(index, lane, now);
    }

    #[inline]
    fn start_lane(&mut self, index: usize, lane: usize, now: Time) {
        if lane == READS {
            self.find_sources(index);
        }
        let group = match &self.dies[index].erase {
            // A suspended erase goes on as it began.
            erase if erase.is_suspended && self.dies[index].lanes[lane].segments[0].shape == Resources::Erase => {
                erase.together
            }
            _ if self.policy.multi_plane => self.group(index, lane),
            _ => 1,
        };
        let die = &mut self.dies[index];
        let Lane { segments, commands, .. } = &die.lanes[lane];
        // Queues behind merges are longer than the caches: what this die needs next comes meanwhile.
        prefetch(segments.get(1));
        prefetch(commands.get(1));
        let (shape, command) = (segments[0].shape, &commands[0]);
        self.chips.checked.array.expect(command.target);
        self.chips.checked.array.expect(command.source);
        die.usage = Usage::of(&segments[0], command, &self.timing);
        if self.chips.retry.is_some() {
            die.begin_reads(lane, group, &mut self.chips);
        }
        die.active = Some(lane);
        die.group = group;
        die.on_channel = false;
        die.started = now;
        die.cursor = now;
        let due = match shape {
            Resources::Die | Resources::DieThenChannel | Resources::DieChannelDie => now + die.usage.die_first,
            Resources::ChannelThenDie => {
                let (transfers, die_last) = (die.transfers(), die.usage.die_last);
                self.grant(index, now, transfers) + transfers + die_last
            }
            Resources::Erase => return self.start_erase(index, now),
        };
        self.events.set(index, due);
    }

    /// Points the reads that may start now to where their pages still are, if copies that are queued
    /// will move them.
    fn find_sources(&mut self, index: usize) {
        let together = if self.policy.multi_plane { self.geometry.planes_per_die as usize } else { 1 };
        let die = &mut self.dies[index];
        for nth in 0..together.min(die.lanes[READS].commands.len()) {
            let (mut read, mut behind) = (die.lanes[READS].commands[nth], die.lanes[READS].segments[nth].behind);
            die.follow_copies(&mut read, &mut behind);
            die.lanes[READS].commands[nth] = read;
            die.lanes[READS].segments[nth].behind = behind;
        }
    }

    /// How many segments at the head of a lane run as one multi-plane command: page reads, or page
    /// programs, of one page number in several planes, or erases of a block in each of several planes.
    fn group(&mut self, index: usize, lane: usize) -> usize {
        let lane = &self.dies[index].lanes[lane];
        let first = lane.commands[0];
        if !matches!(first.op, FlashOp::Read | FlashOp::Program | FlashOp::Erase) {
            return 1;
        }
        let plane = |command: &FlashCommand| self.geometry.plane_of(command.target.block);
        let fits = |nth: usize| {
            let command = &lane.commands[nth];
            command.op == first.op
                && command.target.page == first.target.page
                && lane.commands.iter().take(nth).all(|earlier| plane(earlier) != plane(command))
        };
        // Each of these segments is one command, so places in both queues agree.
        let most = lane.segments.len().min(self.geometry.planes_per_die as usize);
        let group = (1..most).find(|&nth| !fits(nth)).unwrap_or(most);
        self.multi_plane_commands += u64::from(group > 1);
        group
    }

    /// Reserves the die's channel for `time`; returns when the transfer starts.
    fn grant(&mut self, index: usize, now: Time, time: Time) -> Time {
        let ChannelId(channel) = self.geometry.channel_of(DieId(index as u32));
        let channel = &mut self.channels[channel as usize];
        let start = now.max(channel.free_at);
        channel.free_at = start + time;
        channel.busy += time;
        start
    }

    /// Ends the active segment: its commands take effect, who waited hears of it, the next starts.
    fn finish(&mut self, index: usize, now: Time, observer: &mut impl Observer) -> Result<(), SimError> {
        self.advance(index, now, observer)?;
        let Some(active) = self.dies[index].active else { return Ok(()) };
        if self.dies[index].group > 1 {
            let group = self.dies[index].group;
            let commands = self.dies[index].lanes[active].commands.make_contiguous();
            check_multi_plane(&self.geometry, &commands[..group])?;
        }
        let mut chained = false;
        for nth in 0..self.dies[index].group {
            let die = &mut self.dies[index];
            let Some(segment) = die.lanes[active].segments.pop_front() else { break };
            chained = segment.chained;
            let span = BusySpan { start: die.started, end: now, occupies: nth == 0 };
            let ended = match segment.shape {
                Resources::Die => None,
                _ => die.end_command(active, span, &mut self.chips, observer)?,
            };
            if segment.token != NOBODY {
                let done = page_done(&segment, die, now);
                self.done.push_back(done);
            }
            if let Some(command) = ended.filter(|_| nth + 1 == die.group) {
                die.usage.charge(&mut die.spent, &command, now - die.started);
            }
        }
        let die = &mut self.dies[index];
        die.busy += now - die.started;
        let waiting = |lane: usize| !die.lanes[lane].segments.is_empty();
        if chained {
            self.start_lane(index, active, now);
        } else if waiting(WORK) || waiting(READS) {
            self.start(index, now);
        } else {
            die.active = None;
            self.idle = Some(DieId(index as u32));
        }
        Ok(())
    }
}

/// Accounts for an access that ends now. For a segment that used the channel `die.spent` still ends
/// at its start; for one that needed the die alone it includes the segment itself.
fn page_done(segment: &Segment, die: &mut Die, now: Time) -> PageDone {
    let mut waited = PhaseTimes::default();
    // Work on the die alone is in `spent`, so it is in what was waited for.
    let (own_die, channel) = match segment.shape {
        Resources::Die => (Time::ZERO, Time::ZERO),
        _ => die.usage.with_retries(segment.retries),
    };
    if segment.snapshot {
        let snapshot = die.lanes[WORK].snapshots.pop_front().unwrap_or_default();
        for (waited, (end, start)) in waited.iter_mut().zip(die.spent.iter().zip(snapshot.spent)) {
            *waited = *end - start;
        }
        if segment.shape != Resources::Die {
            waited[Phase::Host as usize] += now - die.started - own_die - channel;
            debug_assert_eq!(waited.iter().copied().sum::<Time>() + own_die + channel, now - snapshot.at);
        }
    }
    PageDone { token: segment.token, at: now, transfer: channel, die: own_die, waited }
}
