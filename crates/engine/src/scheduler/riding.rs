//! Host reads that ride on a copy, with `timing.multi_plane = "queue"`: while a copy through the controller reads its
//! page, other planes of the die read the pages of the same number. Their data goes out first, so they are done long
//! before the copy is, and a read need not wait until a collection that holds the die is over.
//!
//! A read may ride from either lane: with priority, or from anywhere in the work lane where nothing before it could
//! notice (`plane_queues`). Where pages may be read again, and on copies that stay on the die, no read rides.

use pumice_nand::{check_read_beside, fits_read_beside};
use pumice_types::{Cause, DieId, FlashCommand, FlashOp, PlaneId, Time};

use super::die::{Die, READS, WORK};
use super::plane_queues::PlaneQueues;
use super::run::page_done;
use super::segment::{Resources, Segment};
use super::{NOBODY, Scheduler};
use crate::error::SimError;
use crate::observe::ObserverRef;

impl Scheduler {
    /// Brings the reads that ride on the copy at the head of the work lane behind what runs with it.
    pub(super) fn gather_riders(&mut self, index: usize, group: usize) {
        let die = &self.dies[index];
        let copy = die.lanes[WORK].commands[0];
        if die.usage.shape != Resources::DieChannelDie || copy.op != FlashOp::Copy || self.chips.retry.is_some() {
            return;
        }
        let have_reads = die.queues.as_ref().is_some_and(PlaneQueues::have_reads);
        if !have_reads && die.lanes[READS].commands.is_empty() {
            return;
        }
        let planes = self.geometry.planes_per_die;
        for plane in (0..planes).map(|plane| PlaneId(index as u32 * planes + plane)) {
            let copies =
                |other: &FlashCommand| other.op == FlashOp::Copy && self.geometry.plane_of(other.target.block) == plane;
            if self.dies[index].lanes[WORK].commands.iter().take(group).any(copies) {
                continue;
            }
            if !self.rides_with_priority(index, (plane, &copy)) {
                self.rides_from_work(index, (plane, &copy), group);
            }
        }
        let riders = self.dies[index].riders;
        if riders.are_there() {
            let die = &mut self.dies[index];
            // Collection reads until its page is out, and the host's pages go before it.
            die.usage.copy_reads += riders.transfers;
            self.multi_plane.commands += u64::from(group == 1);
        }
    }

    /// Brings the first read with priority of a plane that can ride to the front of its lane.
    fn rides_with_priority(&mut self, index: usize, (plane, copy): (PlaneId, &FlashCommand)) -> bool {
        let (geometry, usages) = (self.geometry, &self.usages);
        let die = &mut self.dies[index];
        let fits = |read: &FlashCommand| {
            geometry.plane_of(read.target.block) == plane && fits_read_beside(&geometry, copy, read)
        };
        let ahead = die.riders.count[READS];
        for nth in ahead..die.lanes[READS].commands.len() {
            if !fits(&die.lanes[READS].commands[nth]) {
                continue;
            }
            let source = die.source_of(nth, &self.chips.checked.array);
            if fits(&source.0) {
                let lane = &mut die.lanes[READS];
                (lane.commands[nth], lane.segments[nth].behind) = source;
                let transfer = usages.of(&lane.segments[nth], &lane.commands[nth]).channel;
                lane.bring_forward(nth, ahead);
                die.take_rider(READS, transfer);
                return true;
            }
        }
        false
    }

    /// Brings the oldest read of a plane that can ride, and may overtake what is before it, behind the running group.
    fn rides_from_work(&mut self, index: usize, (plane, copy): (PlaneId, &FlashCommand), group: usize) {
        let (geometry, usages) = (self.geometry, &self.usages);
        let die = &mut self.dies[index];
        let Die { lanes: [_, work], queues: Some(queues), riders, .. } = die else { return };
        let waits = |place: usize| {
            let (segment, command) = (&work.segments[place], &work.commands[place]);
            let is_hosts = matches!(command.cause, Cause::Host | Cause::Rmw);
            is_hosts && segment.token != NOBODY && !segment.chained
        };
        let fits = |place: usize| fits_read_beside(&geometry, copy, &work.commands[place]) && waits(place);
        let Some(number) = queues.find((plane.0 % geometry.planes_per_die) as usize, fits) else { return };
        let (from, to) = (queues.overtake(number), group + riders.count[WORK]);
        work.move_forward(from, to);
        let transfer = usages.of(&work.segments[to], &work.commands[to]).channel;
        die.take_rider(WORK, transfer);
    }

    /// The data of the riders is out: they take effect and are done. The copy goes on.
    pub(super) fn end_riders(&mut self, index: usize, now: Time, observer: &mut ObserverRef) -> Result<(), SimError> {
        let die = &mut self.dies[index];
        let riders = std::mem::take(&mut die.riders);
        if observer.watches_transfers() {
            observer.transfer(DieId(index as u32), now - riders.transfers, now);
        }
        let copy = die.lanes[WORK].commands[0];
        for (lane, at) in [(READS, 0), (WORK, die.group)] {
            for _ in 0..riders.count[lane] {
                let Some((segment, read)) = die.remove_rider(lane, at) else { break };
                check_read_beside(&self.geometry, &copy, &read)?;
                self.chips.execute(&read)?;
                observer.command(die.started, now, &read);
                // What it waited for beside its own time was the channel.
                let own = self.usages.of(&segment, &read).with_copy_reads(die.usage.copy_reads);
                self.done.push_back(page_done(&segment, own, die, now));
            }
        }
        Ok(())
    }
}

impl Die {
    /// One more read of this lane rides.
    fn take_rider(&mut self, lane: usize, transfer: Time) {
        self.riders.count[lane] += 1;
        self.riders.transfers += transfer;
    }

    /// Takes a read that rode from its place in its lane.
    fn remove_rider(&mut self, lane: usize, at: usize) -> Option<(Segment, FlashCommand)> {
        let segment = self.lanes[lane].segments.remove(at)?;
        let read = self.lanes[lane].commands.remove(at)?;
        // Those behind it keep their numbers.
        self.lanes[lane].first_number += 1;
        if let Some(queues) = self.queues.as_mut().filter(|_| lane == WORK) {
            queues.end_last_overtaking();
        }
        Some((segment, read))
    }
}
