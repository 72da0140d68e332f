//! What happens on a die: segments start, take the channel, end; their commands take effect.

use pumice_nand::check_multi_plane;
use pumice_types::{DieId, FlashOp, MultiPlane, PlaneReads, Time, prefetch};

use super::die::{BusySpan, Die, Lane, READS, WORK};
use super::segment::{NO_SNAPSHOT, Phase, PhaseTimes, Resources, Segment, Usage, charge};
use super::{Channel, NOBODY, PageDone, Scheduler};
use crate::error::SimError;
use crate::observe::ObserverRef;

/// Events that are handled in one go at the most, so that a run reports its progress.
const HANDLED_MAX: u64 = 1 << 12;

impl Channel {
    /// Reserves the channel for `time`; returns when the transfer starts.
    #[inline]
    pub(super) fn grant(&mut self, now: Time, time: Time) -> Time {
        let start = now.max(self.free_at);
        self.free_at = start + time;
        self.busy += time;
        start
    }
}

impl Scheduler {
    /// Handles the next event, if it is due by `due`, and those behind it that are, until one ends a page access, leaves
    /// a die idle or settles when the power is cut: nobody but the dies notices the others. `now` becomes the time of
    /// each. Returns how many it handled.
    ///
    /// # Errors
    /// What executing commands finds.
    #[inline]
    pub fn run_until(&mut self, due: Time, now: &mut Time, observer: &mut ObserverRef) -> Result<u64, SimError> {
        let mut handled = 0;
        while let Some((at, index)) = self.events.first().filter(|(at, _)| *at <= due) {
            *now = at;
            self.handle(index, at, observer)?;
            handled += 1;
            if !self.done.is_empty() || self.idle.is_some() || self.cut_at().is_some() || handled == HANDLED_MAX {
                break;
            }
        }
        Ok(handled)
    }

    /// Handles the event of a die.
    #[inline(always)]
    fn handle(&mut self, index: usize, now: Time, observer: &mut ObserverRef) -> Result<(), SimError> {
        let die = &mut self.dies[index];
        if !die.plane_reads.is_empty() {
            return self.step_reads(index, now, observer);
        }
        let shape = die.active_shape();
        if let Some(shape @ (Resources::DieThenChannel | Resources::DieChannelDie)) = shape
            && !die.on_channel
        {
            self.take_channel(index, shape, now);
            return Ok(());
        }
        if die.riders.are_there() {
            let due = die.riders.copies_end;
            self.end_riders(index, now, observer)?;
            self.set_due(index, Resources::DieChannelDie, due);
            self.begin_program(index, due, now);
            return Ok(());
        }
        if die.round < die.usage.retries {
            self.tell_transfers(index, now, observer);
            self.events.set(index, self.dies[index].read_again(now, &self.timing.pages));
            return Ok(());
        }
        if die.operation.stops {
            self.suspend(index, now, observer)?;
        } else {
            self.finish(index, now, observer)?;
        }
        if self.dies[index].active.is_none() {
            self.events.clear(index);
        }
        Ok(())
    }

    /// What a die has sensed asks for its channel.
    #[inline(always)]
    fn take_channel(&mut self, index: usize, shape: Resources, now: Time) {
        let die = &mut self.dies[index];
        die.on_channel = true;
        let (transfers, then) = (die.transfers(&self.geometry), die.after_transfers());
        let riders = die.riders.transfers;
        let out = self.channels[die.channel].grant(now, riders + transfers) + riders;
        die.riders.copies_end = out + transfers + then;
        if die.riders.are_there() {
            self.events.set(index, out);
        } else {
            let end = die.riders.copies_end;
            self.set_due(index, shape, end);
            self.begin_program(index, end, now);
        }
    }

    /// Executes the commands of a die-only segment that have ended by `now`.
    #[inline]
    pub(super) fn advance(&mut self, index: usize, now: Time, observer: &mut ObserverRef) -> Result<(), SimError> {
        let die = &self.dies[index];
        match die.active.filter(|_| die.usage.shape == Resources::Die) {
            Some(active) => self.advance_lane(index, active, now, observer),
            None => Ok(()),
        }
    }

    fn advance_lane(
        &mut self,
        index: usize,
        active: usize,
        now: Time,
        observer: &mut ObserverRef,
    ) -> Result<(), SimError> {
        let (timing, usages) = (&self.timing, &self.usages);
        let die = &mut self.dies[index];
        for left in (0..die.lanes[active].segments[0].commands).rev() {
            let command = die.lanes[active].commands[0];
            let duration = usages.die_only_time(timing, &command);
            let span = BusySpan { start: die.cursor, end: die.cursor + duration, occupies: true };
            if span.end > now {
                break;
            }
            die.end_command(active, span, &mut self.chips, observer)?;
            die.lanes[active].segments[0].commands = left;
            die.cursor = span.end;
            charge(&mut die.spent, timing, &command, duration);
        }
        Ok(())
    }

    /// Phase times of a die up to `now`, the running command's share included. Call after `advance`.
    pub(super) fn spent_at(&self, index: usize, now: Time) -> PhaseTimes {
        let die = &self.dies[index];
        let mut spent = die.spent;
        if let Some(since) = die.stalled_since {
            spent[self.phase_of_stall() as usize] += now - since;
        }
        if !die.plane_reads.is_empty() {
            spent[die.phase_of_reads() as usize] += now - die.started;
        } else if let Some(active) = die.active {
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
        let lane = self.next_lane(index);
        let die = &self.dies[index];
        if lane == WORK && die.operation.is_suspended {
            self.let_writes_pass(index);
        }
        if lane == WORK && self.must_wait(index) {
            self.stall(index, now);
        } else {
            self.end_stall(index, now);
            self.start_lane(index, lane, now);
        }
    }

    /// The lane that is next on a die: reads first, unless they have no token left.
    #[inline]
    fn next_lane(&mut self, index: usize) -> usize {
        let [reads, work] = &self.dies[index].lanes;
        if reads.segments.is_empty() {
            return WORK;
        }
        if self.policy.read_tokens == 0 || work.segments.is_empty() || self.due_before_reads(index) == 0 {
            return READS;
        }
        if self.tokens_are_spent(index) && !self.must_wait(index) {
            return WORK;
        }
        self.dies[index].reads_passed += 1;
        READS
    }

    /// How many commands of the work lane may run before the reads that wait: with tokens, those that were queued before
    /// the first of them. A later one may erase its page.
    #[inline]
    pub(super) fn due_before_reads(&self, index: usize) -> usize {
        if self.policy.read_tokens == 0 {
            return usize::MAX;
        }
        let [reads, work] = &self.dies[index].lanes;
        let first = reads.segments.front();
        first.map_or(usize::MAX, |read| read.behind.saturating_sub(work.first_number) as usize)
    }

    /// Whether work that waits is due before the next read.
    #[inline]
    pub(super) fn tokens_are_spent(&self, index: usize) -> bool {
        self.policy.read_tokens > 0 && self.dies[index].reads_passed >= self.policy.read_tokens
    }

    #[inline(always)]
    fn start_lane(&mut self, index: usize, lane: usize, now: Time) {
        if lane == READS {
            if self.policy.plane_reads != PlaneReads::Die {
                return self.start_reads(index, now);
            }
            self.find_sources(index);
        }
        if self.dies[index].operation.is_suspended && self.is_suspended_operation(index, lane) {
            return self.resume(index, now);
        }
        let group = self.gather(index, lane);
        self.settle_usage(index, lane, group);
        let die = &mut self.dies[index];
        die.active = Some(lane);
        die.group = group;
        die.on_channel = false;
        die.started = now;
        die.cursor = now;
        let due = match die.usage.shape {
            Resources::DieThenChannel | Resources::DieChannelDie if self.timing.reads_ask_channel => {
                now.max(self.channels[die.channel].free_at) + die.usage.die_first
            }
            Resources::Die | Resources::DieThenChannel | Resources::DieChannelDie => now + die.usage.die_first,
            Resources::Copyback => now + die.usage.die_first + die.usage.die_last,
            Resources::ChannelThenDie => {
                let (transfers, die_last) = (die.transfers(&self.geometry), die.usage.die_last);
                self.channels[die.channel].grant(now, transfers) + transfers + die_last
            }
            Resources::Erase => return self.begin_erase(index, now),
        };
        let shape = die.usage.shape;
        self.set_due(index, shape, due);
        if matches!(shape, Resources::ChannelThenDie | Resources::Copyback) {
            self.begin_program(index, due, now);
        }
    }

    /// Settles what the first `group` segments of a lane use together, and which reads ride on them.
    #[inline(always)]
    fn settle_usage(&mut self, index: usize, lane: usize, group: usize) {
        self.expect_first(&self.dies[index].lanes[lane]);
        let die = &mut self.dies[index];
        let Lane { segments, commands, .. } = &die.lanes[lane];
        self.usages.replace(&mut die.usage, &segments[0], &commands[0]);
        if group > 1 {
            die.usage.share(group, &die.lanes[lane], (&self.timing, &self.usages), &self.geometry);
        }
        if self.chips.retry.is_some() {
            die.begin_reads(lane, group, &mut self.chips);
        }
        if lane == WORK && self.policy.multi_plane == MultiPlane::Queue {
            self.gather_riders(index, group);
        }
    }

    /// Sets when something of this shape, which runs on a die, is due next.
    #[inline(always)]
    fn set_due(&mut self, index: usize, shape: Resources, at: Time) {
        match shape {
            Resources::DieThenChannel => self.events.set_unforeseen(index, at),
            Resources::Die
            | Resources::ChannelThenDie
            | Resources::DieChannelDie
            | Resources::Copyback
            | Resources::Erase => self.events.set(index, at),
        }
        self.note_change(index, at);
    }

    /// Prefetches what the first command of a lane needs; no effect on results.
    #[inline(always)]
    fn expect_first(&self, Lane { segments, commands, .. }: &Lane) {
        // Queues behind merges are longer than the caches: what this die needs next comes meanwhile.
        prefetch(segments.get(1));
        prefetch(commands.get(1));
        let command = &commands[0];
        match command.op {
            FlashOp::Copy => self.chips.checked.array.expect_copy(command),
            FlashOp::Read
            | FlashOp::SpareSearch
            | FlashOp::Program
            | FlashOp::Erase
            | FlashOp::PartialErase
            | FlashOp::SubBlockErase
            | FlashOp::Pause => self.chips.checked.array.expect(command.target),
        }
    }

    /// Ends the active segments: executes their commands, completes the accesses that waited for them, and starts
    /// what is next.
    fn finish(&mut self, index: usize, now: Time, observer: &mut ObserverRef) -> Result<(), SimError> {
        let Some(active) = self.dies[index].active else { return Ok(()) };
        if self.dies[index].usage.shape == Resources::Die {
            self.advance_lane(index, active, now, observer)?;
        }
        self.tell_transfers(index, now, observer);
        let chained = match self.policy.multi_plane {
            MultiPlane::Off => self.end_active(index, active, now, observer)?,
            MultiPlane::Erases | MultiPlane::Neighbours | MultiPlane::Queue => {
                self.end_group(index, active, now, observer)?
            }
        };
        if chained && !(active == WORK && self.must_wait(index)) {
            self.start_lane(index, active, now);
        } else if self.dies[index].is_waited_for() {
            self.start(index, now);
        } else {
            let die = &mut self.dies[index];
            die.active = None;
            die.lanes.iter_mut().for_each(Lane::rewind);
            self.idle = Some(DieId(index as u32));
        }
        if !self.stalled.is_empty() {
            self.wake(now);
        }
        Ok(())
    }

    /// Ends commands of which several may have run together.
    #[inline(never)]
    fn end_group(
        &mut self,
        index: usize,
        active: usize,
        now: Time,
        observer: &mut ObserverRef,
    ) -> Result<bool, SimError> {
        let group = self.dies[index].group;
        if group > 1 {
            let commands = self.dies[index].lanes[active].commands.make_contiguous();
            check_multi_plane(&self.geometry, &commands[..group], self.timing.copyback)?;
        }
        let held = self.dies[index].lanes[active].segments.front().is_some_and(|segment| segment.chained);
        let chained = self.end_active(index, active, now, observer)?;
        let goes_on = if active == WORK { self.dies[index].end_in_queues() } else { None };
        Ok(goes_on.map_or(chained, |goes_on| held && goes_on))
    }

    /// Ends what ran together in a lane: executes the commands and completes the accesses that waited for them. Returns
    /// whether the lane is to go on with what follows.
    #[inline(always)]
    fn end_active(
        &mut self,
        index: usize,
        active: usize,
        now: Time,
        observer: &mut ObserverRef,
    ) -> Result<bool, SimError> {
        let mut chained = false;
        let die = &mut self.dies[index];
        // What runs together is charged to the command that was due; what needs the die alone was charged meanwhile.
        let due = die.lanes[active].commands.front().filter(|_| die.usage.shape != Resources::Die).copied();
        for nth in 0..die.group {
            let Some(segment) = die.lanes[active].segments.pop_front() else { break };
            chained = segment.chained;
            let span = BusySpan { start: die.started, end: now, occupies: nth == 0 };
            let own = (segment.token != NOBODY).then(|| die.own_usage(&segment, &die.lanes[active], &self.usages));
            if segment.shape != Resources::Die {
                if self.policy.moves_wait
                    && let Some(command) = die.lanes[active].commands.front()
                {
                    self.moves.ended(index, command);
                }
                die.end_command(active, span, &mut self.chips, observer)?;
            }
            if let Some(own) = own {
                self.done.push_back(page_done(&segment, own, die, now));
            }
        }
        if let Some(command) = due {
            die.usage.charge(&mut die.spent, &command, now - die.started);
        }
        die.operation.is_running = false;
        die.busy += now - die.started;
        if active == WORK {
            die.reads_passed = 0;
        }
        Ok(chained)
    }

    /// Tells an observer that watches them of the transfers of what has ended its round or its work on a die.
    #[inline]
    pub(super) fn tell_transfers(&self, index: usize, now: Time, observer: &mut ObserverRef) {
        if !observer.watches_transfers() {
            return;
        }
        let die = &self.dies[index];
        let lasted = die.transfers(&self.geometry);
        let end = now - die.after_transfers();
        if lasted > Time::ZERO && matches!(die.active_shape(), Some(shape) if shape.uses_channel()) {
            observer.transfer(DieId(index as u32), end - lasted, end);
        }
    }
}

/// Accounts for an access that ends now, whose own resources are `own`. For a segment that used the channel
/// `die.spent` still ends at its start; for one that needed the die alone it includes the segment itself.
#[inline]
pub(super) fn page_done(segment: &Segment, own: Usage, die: &mut Die, now: Time) -> PageDone {
    let mut waited = PhaseTimes::default();
    // Work on the die alone is in `spent`, so it is in what was waited for.
    let (own_die, channel) =
        if segment.shape == Resources::Die { (Time::ZERO, Time::ZERO) } else { own.with_retries(segment.retries) };
    if segment.snapshot != NO_SNAPSHOT {
        let snapshot = die.snapshots.take(segment.snapshot);
        for (waited, (end, start)) in waited.iter_mut().zip(die.spent.iter().zip(snapshot.spent)) {
            *waited = *end - start;
        }
        if segment.shape != Resources::Die {
            let lasted = now - die.started;
            // Of an operation that was suspended, what ran before is in `spent`.
            let before = (own_die + channel).saturating_sub(lasted);
            waited[die.operation.phase as usize] = waited[die.operation.phase as usize] - before;
            let others = lasted + before - own_die - channel;
            let copies = die.usage.copy_reads.saturating_sub(own.copy_reads).min(others);
            waited[Phase::GcRead as usize] += copies;
            waited[Phase::Host as usize] += others - copies;
            debug_assert_eq!(waited.iter().copied().sum::<Time>() + own_die + channel, now - snapshot.at);
        }
    }
    PageDone { token: segment.token, at: now, transfer: channel, die: own_die, waited }
}
