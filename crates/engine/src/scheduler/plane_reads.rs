//! Planes of a die that read by themselves, with `timing.plane_reads = "plane"`: host reads with priority begin as soon
//! as their plane is idle, whatever the other planes read; with "batch" they begin together, when no plane reads any more.
//! Everything else takes the whole die, and begins when no plane reads any more.

use pumice_types::{DieId, FlashCommand, Geometry, PlaneReads, Time};

use super::PageDone;
use super::Scheduler;
use super::die::{Die, Lane, READS};
use super::segment::{NO_SNAPSHOT, Phase, PhaseTimes, Resources, Segment, Usage, phase};
use super::steps::PlaneRead;
use super::units::goes_along;
use crate::error::SimError;
use crate::observe::ObserverRef;

impl Scheduler {
    /// Starts the reads with priority whose planes are idle, oldest first.
    pub(super) fn start_reads(&mut self, index: usize, now: Time) {
        let planes = self.geometry.planes_per_die as usize;
        let Scheduler { dies, usages, chips, geometry, .. } = self;
        let shares = geometry.units_per_page > 1 && chips.retry.is_none();
        let die = &mut dies[index];
        if die.plane_reads.is_empty() {
            (die.active, die.group, die.started, die.reads_since) = (Some(READS), 0, now, now);
            die.usage = Usage { shape: Resources::DieThenChannel, ..Usage::default() };
        }
        let from = if self.timing.reads_ask_channel { now.max(self.channels[die.channel].free_at) } else { now };
        let (mut reading, mut nth) = (die.planes_that_read(), 0);
        while nth < die.lanes[READS].commands.len() {
            if reading == planes {
                let Some(unit) = shares.then(|| die.next_that_may_share(nth, now)).flatten() else { break };
                nth = unit;
            }
            let (command, _) = die.source_of(nth, &chips.checked.array);
            let plane = geometry.plane_of(command.target.block);
            let sensed = die.plane_reads.iter().find(|read| read.plane == plane);
            let asks = (&command, &die.lanes[READS].segments[nth]);
            if sensed.is_some_and(|read| !(shares && read.may_share(geometry, asks, now))) {
                nth += 1;
                continue;
            }
            let is_first = sensed.is_none();
            let Some(mut segment) = die.take_read(nth) else { break };
            let mut usage = usages.of(&segment, &command);
            if is_first {
                reading += 1;
            } else if segment.own_time == Time::ZERO {
                // Its whole page is moved once.
                usage.channel = Time::ZERO;
            }
            segment.retries = chips.begin_read(&command);
            let (due, left) = (from + usage.die_first, segment.retries);
            die.plane_reads.push(PlaneRead { plane, segment, command, usage, started: now, due, left, moves: None });
        }
        self.set_next_read(index);
    }

    /// Sets the event of a die whose planes read.
    fn set_next_read(&mut self, index: usize) {
        match self.dies[index].plane_reads.iter().map(|read| read.due).min() {
            Some(due) => self.events.set_unforeseen(index, due),
            None => self.events.clear(index),
        }
    }

    /// Handles what is due on a die whose planes read.
    pub(super) fn step_reads(&mut self, index: usize, now: Time, observer: &mut ObserverRef) -> Result<(), SimError> {
        let die = &mut self.dies[index];
        die.spent[die.phase_of_reads() as usize] += now - die.started;
        die.busy += now - die.started;
        die.started = now;
        let mut nth = 0;
        while let Some(read) = self.dies[index].plane_reads.get_mut(nth) {
            if read.due > now {
                nth += 1;
                continue;
            }
            let Some(moved) = read.moves else {
                // Sensed: its data asks for the channel.
                let moves = if read.left > 0 { read.usage.again } else { read.usage.channel };
                let channel = self.dies[index].channel;
                let end = self.channels[channel].grant(now, moves) + moves;
                let read = &mut self.dies[index].plane_reads[nth];
                (read.moves, read.due) = (Some(moves), end);
                nth += 1;
                continue;
            };
            if observer.watches_transfers() && moved > Time::ZERO {
                observer.transfer(DieId(index as u32), now - moved, now);
            }
            if read.left > 0 {
                (read.left, read.moves, read.due) = (read.left - 1, None, now + read.usage.die_first);
                nth += 1;
            } else {
                self.end_read(index, nth, now, observer)?;
            }
        }
        self.after_reads(index, now);
        Ok(())
    }

    /// A read is done.
    fn end_read(&mut self, index: usize, nth: usize, now: Time, observer: &mut ObserverRef) -> Result<(), SimError> {
        let die = &mut self.dies[index];
        let read = die.plane_reads.remove(nth);
        self.chips.execute(&read.command)?;
        observer.command(read.started, now, &read.command);
        if self.policy.moves_wait {
            self.moves.ended(index, &read.command);
        }
        self.done.push_back(die.read_done(&read, now));
        if die.plane_reads.is_empty() {
            die.clock.occupy(die.reads_since, now, &read.command)?;
        }
        Ok(())
    }

    /// Starts what is next on a die of which planes have read.
    fn after_reads(&mut self, index: usize, now: Time) {
        let die = &mut self.dies[index];
        if !die.plane_reads.is_empty() {
            match self.policy.plane_reads {
                PlaneReads::Plane => self.start_reads(index, now),
                PlaneReads::Die | PlaneReads::Batch => self.set_next_read(index),
            }
        } else if die.is_waited_for() {
            self.start(index, now);
        } else {
            die.active = None;
            die.lanes.iter_mut().for_each(Lane::rewind);
            self.idle = Some(DieId(index as u32));
        }
        if !self.stalled.is_empty() {
            self.wake(now);
        }
        if self.dies[index].active.is_none() {
            self.events.clear(index);
        }
    }
}

impl PlaneRead {
    /// Whether a read that waits asks for another unit of the page, which its plane has begun to sense at this instant.
    fn may_share(&self, geometry: &Geometry, asks: (&FlashCommand, &Segment), now: Time) -> bool {
        self.begins(now) && goes_along(geometry, (&self.command, &self.segment), asks)
    }

    /// Whether its plane has begun to sense at this instant.
    fn begins(&self, now: Time) -> bool {
        self.started == now && self.moves.is_none()
    }
}

impl Die {
    /// Takes a read out of its lane.
    fn take_read(&mut self, nth: usize) -> Option<Segment> {
        let lane = &mut self.lanes[READS];
        lane.commands.remove(nth)?;
        lane.first_number += 1;
        lane.segments.remove(nth)
    }

    /// Planes of which a read has not ended.
    fn planes_that_read(&self) -> usize {
        let reads = &self.plane_reads;
        let is_first = |nth: &usize| reads.iter().take(*nth).all(|earlier| earlier.plane != reads[*nth].plane);
        (0..reads.len()).filter(is_first).count()
    }

    /// The first waiting read from a place on that may ask for another unit of a page of which a read begins now.
    fn next_that_may_share(&self, from: usize, now: Time) -> Option<usize> {
        let begun = || self.plane_reads.iter().filter(|read| read.begins(now));
        begun().next()?;
        let segments = &self.lanes[READS].segments;
        (from..segments.len()).find(|&nth| begun().any(|read| read.segment.token == segments[nth].token))
    }

    /// What the time in which planes read is charged to: the read that began first.
    pub(super) fn phase_of_reads(&self) -> Phase {
        self.plane_reads.first().map_or(Phase::Host, |read| phase(&read.command))
    }

    /// Accounts for a read that ends now. What it waited for beside its own time were other reads and the channel.
    fn read_done(&mut self, read: &PlaneRead, now: Time) -> PageDone {
        let (own_die, transfer) = read.usage.with_retries(read.segment.retries);
        let mut waited = PhaseTimes::default();
        if read.segment.snapshot != NO_SNAPSHOT {
            let snapshot = self.snapshots.take(read.segment.snapshot);
            for (waited, (end, start)) in waited.iter_mut().zip(self.spent.iter().zip(snapshot.spent)) {
                *waited = *end - start;
            }
            // Its own time may have been charged to a read of another plane.
            let mut own = own_die + transfer;
            for charged in [phase(&read.command), Phase::Host, Phase::Map].map(|phase| phase as usize) {
                let taken = own.min(waited[charged]);
                (waited[charged], own) = (waited[charged] - taken, own - taken);
            }
            debug_assert_eq!(waited.iter().copied().sum::<Time>() + own_die + transfer, now - snapshot.at);
        }
        PageDone { token: read.segment.token, at: now, transfer, die: own_die, waited }
    }
}
