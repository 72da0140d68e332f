//! Power cuts: what is left, how the device recovers, and whether it has kept what it had promised.
//!
//! A cut takes queues and everything in the controller. The chips keep their state, but for what was under way
//! ([`Torn`]). A new translation layer is then built from what the chips can be asked, by commands that take their
//! time in the scheduler, and the host goes on.

mod cuts;
mod port;

use pumice_config::{Check, Config, FlushPolicy, PowerFailure};
use pumice_ftl::Plan;
use pumice_ftl::Restart;
use pumice_nand::CheckedArray;
use pumice_types::{FlashCommand, FlashOp, Geometry, MultiPlane, PageUnit, SearchExpectation, Time, bits};
use pumice_workload::RandomStream;

use crate::error::SimError;
use crate::observe::ObserverSlot;
use crate::scheduler::UnderWay;
use crate::ssd::Ssd;
use cuts::drawn;
use port::Port;

pub use cuts::PowerCuts;

/// What a power cut meets at one instant of a device that goes on: its flash, and the commands that were changing it.
pub struct CutFlash {
    checked: CheckedArray,
    under_way: Vec<UnderWay>,
}

impl CutFlash {
    /// Programs, copies and erases under way.
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }
}

/// Whether a device may lose what nobody wrote since its last start. Then every page is looked at after a cut: the loss is
/// counted there, and the host goes on with what is left. A read that meets it later would be held for a wrong belief.
fn is_told_to_lose(config: &Config) -> bool {
    config.power.failure != PowerFailure::None || config.host.flush == FlushPolicy::Ignored
}

impl<O: ObserverSlot> Ssd<O> {
    /// Starts the device after a cut, and again if the power is cut meanwhile. The power came back at `since`. Afterwards it
    /// is the time at which the host is served again.
    ///
    /// # Errors
    /// A broken rule or belief, or a layer that finds no room to work in.
    pub fn recover(&mut self, since: Time, cuts: &mut PowerCuts) -> Result<(), SimError> {
        cuts.arm(None, &mut self.controller.scheduler);
        while !self.try_to_recover(cuts)? {
            let Some(at) = self.next_cut(cuts) else { break };
            cuts.pop();
            self.cut(at, cuts)?;
            cuts.arm(None, &mut self.controller.scheduler);
        }
        self.controller.scheduler.chips.checked.array.fade();
        self.host.metrics.note_ready(self.now);
        let (figures, took) = (&mut self.power, self.now - since);
        figures.recoveries += 1;
        figures.recovery = [figures.recovery[0] + took, figures.recovery[1].max(took)];
        self.settle(cuts.config.run.check == Check::Integrity || is_told_to_lose(&cuts.config));
        Ok(())
    }

    /// What a power cut at this instant meets; nothing is cut. Nothing that has not happened yet comes before it.
    ///
    /// # Errors
    /// A broken rule or belief, found in commands that had ended.
    pub fn flash_cut_at(&mut self, at: Time) -> Result<CutFlash, SimError> {
        let under_way = self.changing_at(at)?;
        Ok(CutFlash { checked: self.controller.scheduler.chips.checked.clone(), under_way })
    }

    /// When the power is cut next, as far as it is known.
    #[inline]
    pub fn next_cut(&self, cuts: &PowerCuts) -> Option<Time> {
        cuts.next(&self.controller.scheduler)
    }

    /// The cut itself: what the host waits for fails, and what changes flash is torn.
    ///
    /// # Errors
    /// A broken rule or belief.
    pub fn cut(&mut self, at: Time, cuts: &mut PowerCuts) -> Result<(), SimError> {
        // It may still have been ending what an earlier cut had met.
        let begins = self.now.max(at);
        self.now = begins;
        self.power.cuts += 1;
        self.power.failed_requests += self.host.fail_outstanding(begins, &mut self.observer.observer());
        if cuts.config.power.protection.empties_queues() {
            self.run_on()?;
        }
        let under_way = self.cut_flash()?;
        self.leave(&under_way, cuts)?;
        // What ran on with stored energy may have set when open pages are due. They are in RAM no more.
        self.host.forget_due(self.now);
        self.power.note_hold_up(self.now - begins);
        Ok(())
    }

    /// Leaves of the commands that were changing flash what the cut leaves of them.
    fn leave(&mut self, under_way: &[UnderWay], cuts: &mut PowerCuts) -> Result<(), SimError> {
        let checked = &mut self.controller.scheduler.chips.checked;
        let commands: Vec<FlashCommand> = under_way.iter().map(|one| one.command).collect();
        checked.array.forget_staged(&commands);
        // What an earlier cut had left readable has had its time.
        checked.array.fade();
        if cuts.config.power.protection.ends_operations() {
            self.end_operations(under_way)?;
        } else {
            self.tear(under_way, cuts)?;
        }
        self.controller.scheduler.chips.checked.array.forget_units();
        self.tell_power_lost(&mut cuts.random);
        Ok(())
    }

    /// What the dies have begun ends.
    fn end_operations(&mut self, under_way: &[UnderWay]) -> Result<(), SimError> {
        let now = self.now;
        for UnderWay { command, left, .. } in under_way {
            self.controller.scheduler.chips.execute(command)?;
            self.observer.observer().command(now, now + *left, command);
            self.now = self.now.max(now + *left);
        }
        Ok(())
    }

    /// What the dies have begun is left as the cut has met it.
    fn tear(&mut self, under_way: &[UnderWay], cuts: &mut PowerCuts) -> Result<(), SimError> {
        for UnderWay { command, erase, has_ended, .. } in under_way {
            if *has_ended {
                self.controller.scheduler.chips.execute(command)?;
                self.observer.observer().command(self.now, self.now, command);
                continue;
            }
            if let Some((steps, done)) = erase {
                self.controller.scheduler.chips.cut_erase(command, steps, *done);
            }
            let kind = match command.op {
                FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => 1,
                FlashOp::Read | FlashOp::SpareSearch | FlashOp::Program | FlashOp::Copy | FlashOp::Pause => 0,
            };
            self.power.torn[kind] += 1;
            let left = cuts.draw();
            let random = &mut cuts.random;
            self.observer.observer().torn(command);
            let checked = &mut self.controller.scheduler.chips.checked;
            checked.tear(command, left, |_| drawn(random))?;
        }
        Ok(())
    }

    /// Makes a device that was just built one that has lost its power with this flash, and lets it recover. Returns how
    /// long that takes. `draws` names the stream that decides what torn operations leave.
    ///
    /// # Errors
    /// A broken rule or belief, or a layer that finds no room to work in.
    pub fn start_from(&mut self, flash: CutFlash, draws: &str, cuts: &mut PowerCuts) -> Result<Time, SimError> {
        let began = self.now;
        cuts.random = RandomStream::new(cuts.config.seed, draws);
        self.power.cuts += 1;
        self.controller.scheduler.chips.checked = flash.checked;
        self.leave(&flash.under_way, cuts)?;
        self.try_to_recover(cuts)?;
        self.controller.scheduler.chips.checked.array.fade();
        Ok(self.now - began)
    }

    /// Builds the layer anew and lets its commands run. `false` if the power is cut before they have ended.
    fn try_to_recover(&mut self, cuts: &PowerCuts) -> Result<bool, SimError> {
        let (mut first, mut plan) = (Plan::default(), Plan::default());
        // What a user's own policy remembers is in the controller's RAM, so the policy is made anew too.
        let decider = cuts.foundation.decider(&cuts.config, self.ftl().user_pages())?;
        let array = &self.controller.scheduler.chips.checked.array;
        let Geometry { pages_per_block, page_bytes, units_per_page, .. } = array.config().geometry;
        let recovery = cuts.config.ftl.shared.recovery;
        let summary_pages = recovery.summary_pages(pages_per_block, page_bytes, units_per_page) / units_per_page;
        let mut port = Port::new(array, summary_pages);
        let (ftl, found) = {
            let counters = *self.ftl().counters();
            let zones = self.ftl().zones().map(|report| report.counters).unwrap_or_default();
            let (chips, first, plan) = (&mut port, &mut first, &mut plan);
            let protection = cuts.config.power.protection;
            let planes_apart = cuts.config.chip.timing.multi_plane != MultiPlane::Off;
            let mut restart = Restart { chips, first, plan, counters, zones, protection, planes_apart };
            let mut parts = cuts.foundation.parts(&cuts.config);
            parts.decider = decider.clone();
            cuts.config.ftl.recover(&parts, &mut restart)?
        };
        let Port { commands, last_number, known, .. } = port;
        self.forget_erases(cuts.config.chip.erase.memory_in_spare, &known);
        self.controller.restart(ftl, last_number + 1);
        self.controller.scheduler.suspend_by(decider);
        self.note_reads(&commands);
        self.power.found.add(&found);
        self.submit_recovery(&commands)?;
        let mut is_cut = !self.run_out(|scheduler| cuts.next(scheduler))?;
        for mut phase in [first, plan] {
            if is_cut {
                break;
            }
            let units = phase.units.clone();
            self.controller.prepare_recovery(&mut phase, &mut self.observer.observer());
            self.submit_recovery(&phase.commands)?;
            is_cut = !self.run_out(|scheduler| cuts.next(scheduler))?;
            let left = if is_cut { self.left_by_cut(cuts)? } else { Vec::new() };
            self.note_done_at_start(&phase.commands, &left, &units);
        }
        Ok(!is_cut)
    }

    /// Commands that the next cut takes from the queues before they have changed anything.
    fn left_by_cut(&mut self, cuts: &PowerCuts) -> Result<Vec<FlashCommand>, SimError> {
        let at = self.next_cut(cuts).filter(|_| !cuts.config.power.protection.empties_queues());
        at.map_or(Ok(Vec::new()), |at| self.waiting_at(self.now.max(at)))
    }

    /// Counts commands of a device that recovers, all but those that are `left`; `units`: what its programs put into
    /// mapping units.
    fn note_done_at_start(&mut self, commands: &[FlashCommand], left: &[FlashCommand], units: &[PageUnit]) {
        let is_same = |one: &FlashCommand, other: &FlashCommand| {
            (one.op, one.target, one.number()) == (other.op, other.target, other.number())
        };
        let per_page = usize::from(self.controller.scheduler.chips.checked.array.config().geometry.units_per_page);
        let mut units = units.chunks(per_page);
        for command in commands {
            let stored = if command.op == FlashOp::Program { units.next() } else { None };
            if left.iter().any(|left| is_same(left, command)) {
                continue;
            }
            self.controller.tally.note(command);
            stored.into_iter().for_each(|units| self.controller.tally.note_units(command, units));
            match command.op {
                FlashOp::Program | FlashOp::Copy => self.power.written[0] += 1,
                FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => self.power.written[1] += 1,
                FlashOp::Read | FlashOp::SpareSearch | FlashOp::Pause => {}
            }
        }
    }

    /// What the erase scheme remembers of blocks is lost; `is_stored`: but for those of which a page was read.
    fn forget_erases(&mut self, is_stored: bool, known: &[u64]) {
        if let Some(eraser) = &mut self.controller.scheduler.chips.eraser {
            eraser.lose_memory(|block| is_stored && bits::get(known, block as usize));
        }
    }

    /// Counts the spare areas and the pages that recovery reads.
    fn note_reads(&mut self, commands: &[FlashCommand]) {
        for command in commands {
            let whole = usize::from(command.expectation() == SearchExpectation::Pages);
            self.power.reads[whole] += u64::from(command.searched_pages());
        }
    }

    /// Compares what the device returns with what it has promised, and lets the host go on with that. `everything`:
    /// also the pages of which there is only one version.
    fn settle(&mut self, everything: bool) {
        for (lpn, page) in self.host.oracle.take_unsettled() {
            let found = self.controller.find(lpn);
            let is_own = found.is_none_or(|(content, _)| content.lpn == lpn && !content.corrupt);
            let found = found.map(|(_, stored)| stored);
            self.power.broken_promises += u64::from(!is_own || !page.allows(found));
            self.host.oracle.settle(lpn, found);
        }
        // A layer that keeps what is trimmed may return any version of it, or nothing.
        if !self.host.oracle.promises_trims() {
            for lpn in self.host.oracle.trimmed() {
                let found = self.controller.find(lpn);
                self.power.broken_promises += u64::from(found.is_some_and(|(content, _)| content.lpn != lpn));
                self.host.oracle.settle(lpn, found.map(|(_, stored)| stored));
            }
        }
        if everything {
            let mut lost = self.controller.read_back(&self.host.oracle, |_| true);
            if self.host.oracle.promises_trims() {
                lost.extend(self.controller.come_back(&self.host.oracle));
            }
            self.power.broken_promises += lost.len() as u64;
            lost.into_iter().for_each(|(lpn, found)| self.host.oracle.settle(lpn, found));
        }
    }
}
