//! Power cuts: what is left, how the device starts anew, and whether it has kept what it had promised.
//!
//! A cut takes queues and everything in the controller. The chips keep their state, but for what was under way
//! ([`Torn`]). A new translation layer is then built from what the chips can be asked, by commands that take their
//! time in the scheduler, and the host goes on.

use pumice_config::{Check, Config, TornKind};
use pumice_ftl::recovery::{ChipPort, Restart};
use pumice_ftl::{Plan, TranslationLayer};
use pumice_nand::{NandArray, Torn};
use pumice_types::{
    BlockId, Cause, FlashCommand, FlashOp, Lpn, PageAddress, RecoveryFault, SearchExpectation, SpareArea, Time,
};
use pumice_workload::RandomStream;

use crate::build::Foundation;
use crate::error::SimError;
use crate::observe::Observer;
use crate::ssd::Ssd;

/// What a program, copy or erase leaves that a cut has interrupted, when it is drawn.
const OUTCOMES: [Torn; 3] = [Torn::Old, Torn::New, Torn::Mixed];

/// The chips, as a controller asks them that knows nothing. What it asks is read at once, and its commands are kept,
/// to be given time later: nothing changes meanwhile.
struct Port<'a> {
    array: &'a NandArray,
    commands: Vec<FlashCommand>,
    /// The largest number that was found.
    last_number: u64,
}

impl Port<'_> {
    fn read(&mut self, page: PageAddress) -> SpareArea {
        let area = self.array.spare_area(page);
        if let SpareArea::Written(entry) = area {
            self.last_number = self.last_number.max(entry.programmed);
        }
        area
    }

    fn pay(&mut self, newest: PageAddress, pages: u16) {
        let search = FlashCommand::spare_search(Cause::Map, newest, pages, Lpn(0), SearchExpectation::Scan);
        self.commands.push(search);
    }
}

impl ChipPort for Port<'_> {
    fn spare(&mut self, page: PageAddress) -> SpareArea {
        self.pay(page, 1);
        self.read(page)
    }

    fn spares(&mut self, block: BlockId, found: &mut Vec<SpareArea>) {
        let pages = self.array.config().geometry.pages_per_block;
        self.pay(PageAddress::new(block, pages - 1), pages);
        found.clear();
        found.extend((0..pages).map(|page| self.read(PageAddress::new(block, page))));
    }
}

/// Cuts of a run, and what the device starts anew from.
pub struct PowerCuts<'a> {
    config: &'a Config,
    foundation: Foundation,
    /// Times of the cuts to come, the next one last.
    times: Vec<Time>,
    random: RandomStream,
}

impl<'a> PowerCuts<'a> {
    /// The cuts of a configuration at a scale.
    ///
    /// # Errors
    /// A scale that does not fit the geometry.
    pub fn new(config: &'a Config, scale: f64) -> Result<PowerCuts<'a>, SimError> {
        let times = config.power.cut_at_s.iter().rev().map(|&at| Time::from_us(at * 1e6)).collect();
        let random = RandomStream::new(config.seed, "power");
        Ok(PowerCuts { config, foundation: Foundation::new(config, scale)?, times, random })
    }

    /// When the power is cut next.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.times.last().copied()
    }

    /// Cuts that are still to come.
    pub fn left(&self) -> usize {
        self.times.len()
    }

    /// What an operation leaves.
    fn draw(&mut self) -> Torn {
        match self.config.power.torn {
            TornKind::Old => Torn::Old,
            TornKind::New => Torn::New,
            TornKind::Mixed => Torn::Mixed,
            TornKind::Drawn => OUTCOMES[self.random.below(OUTCOMES.len() as u64) as usize],
        }
    }
}

impl<O: Observer> Ssd<'_, O> {
    /// Cuts the power at the time of the next cut, and starts the device anew; again, if the power is cut meanwhile.
    /// Afterwards it is the time at which the host is served again.
    ///
    /// # Errors
    /// A broken rule or belief, or a layer that finds no room to work in.
    pub fn lose_power(&mut self, cuts: &mut PowerCuts) -> Result<(), SimError> {
        let Some(first) = cuts.next() else { return Ok(()) };
        while let Some(at) = cuts.times.pop() {
            self.cut(at, cuts)?;
            if self.start_anew(cuts)? {
                break;
            }
        }
        self.controller.scheduler.chips.checked.array.fade();
        let (figures, took) = (&mut self.power, self.now - first);
        figures.recoveries += 1;
        figures.recovery = [figures.recovery[0] + took, figures.recovery[1].max(took)];
        self.settle(cuts.config.run.check == Check::Integrity);
        Ok(())
    }

    /// The cut itself.
    fn cut(&mut self, at: Time, cuts: &mut PowerCuts) -> Result<(), SimError> {
        self.now = at;
        self.power.cuts += 1;
        let torn = self.cut_flash()?;
        let checked = &mut self.controller.scheduler.chips.checked;
        // What an earlier cut had left readable has had its time.
        checked.array.fade();
        for command in &torn {
            let kind = usize::from(matches!(command.op, FlashOp::Erase | FlashOp::PartialErase));
            self.power.torn[kind] += 1;
            let left = cuts.draw();
            let random = &mut cuts.random;
            checked.tear(command, left, |_| OUTCOMES[random.below(OUTCOMES.len() as u64) as usize])?;
        }
        self.power.failed_requests += self.host.fail_outstanding(at);
        Ok(())
    }

    /// Builds the layer anew and lets its commands run. `false` if the power is cut before they have ended.
    fn start_anew(&mut self, cuts: &PowerCuts) -> Result<bool, SimError> {
        let mut plan = Plan::default();
        let array = &self.controller.scheduler.chips.checked.array;
        let mut port = Port { array, commands: Vec::new(), last_number: 0 };
        let (ftl, found) = {
            let (counters, erased_again) = (*self.ftl().counters(), self.ftl().erased_again());
            let mut restart = Restart { chips: &mut port, plan: &mut plan, counters, erased_again };
            let mut parts = cuts.foundation.parts(cuts.config);
            if RecoveryFault::BadBlocksForgotten.is_on() {
                parts.bad_blocks = &[];
            }
            cuts.config.ftl.recover(&parts, &mut restart)?
        };
        let Port { commands, last_number, .. } = port;
        let begins_anew = RecoveryFault::NumbersBeginAnew.is_on();
        self.controller.restart(ftl, if begins_anew { 1 } else { last_number + 1 });
        self.power.spare_reads += commands.iter().map(|command| u64::from(command.searched_pages())).sum::<u64>();
        self.power.found.add(&found);
        self.submit_recovery(&commands, false)?;
        if !self.drain_until(cuts.next())? {
            return Ok(false);
        }
        self.controller.number(&mut plan.commands);
        self.submit_recovery(&plan.commands, true)?;
        self.drain_until(cuts.next())
    }

    /// Runs what is queued; `false` if a time comes before it has ended.
    fn drain_until(&mut self, limit: Option<Time>) -> Result<bool, SimError> {
        while let Some(at) = self.controller.scheduler.next_event() {
            if limit.is_some_and(|limit| limit <= at) {
                return Ok(false);
            }
            self.now = at;
            if RecoveryFault::CollectsWhileStarting.is_on() {
                self.step()?;
                continue;
            }
            self.step_recovery()?;
        }
        Ok(true)
    }

    /// Compares what the device returns with what it has promised, and lets the host go on with that. `everything`:
    /// also the pages of which there is only one version.
    fn settle(&mut self, everything: bool) {
        for (lpn, promised, newer) in self.host.oracle.take_unsettled() {
            let page = self.ftl().locate(lpn);
            let content = page.and_then(|page| self.controller.scheduler.chips.checked.array.peek(page).ok());
            let found = content.map(|content| content.version);
            let is_own = content.is_none_or(|content| content.lpn == lpn && !content.corrupt);
            let is_allowed = found == promised || found.is_some_and(|version| newer.contains(&version));
            self.power.broken_promises += u64::from(!is_own || !is_allowed);
            self.host.oracle.settle(lpn, found);
        }
        if everything {
            self.power.broken_promises += self.controller.read_back(&self.host.oracle);
        }
    }
}
