//! Power cuts: what is left, how the device starts anew, and whether it has kept what it had promised.
//!
//! A cut takes queues and everything in the controller. The chips keep their state, but for what was under way
//! ([`Torn`]). A new translation layer is then built from what the chips can be asked, by commands that take their
//! time in the scheduler, and the host goes on.

use pumice_config::{Check, Config, Cuts, TornKind};
use pumice_ftl::recovery::{ChipPort, Restart};
use pumice_ftl::{Payload, Plan, TranslationLayer};
use pumice_nand::{CheckedArray, NandArray, Torn};
use pumice_types::{
    BlockId, Cause, FlashCommand, FlashOp, Geometry, Lpn, MultiPlane, PageAddress, RecoveryFault, SearchExpectation,
    SpareArea, SpareEntry, Time, bits,
};
use pumice_workload::RandomStream;

use crate::build::Foundation;
use crate::error::SimError;
use crate::observe::Observer;
use crate::scheduler::{Scheduler, UnderWay};
use crate::ssd::Ssd;

/// What a program, copy or erase leaves that a cut has interrupted, when it is drawn.
const OUTCOMES: [Torn; 3] = [Torn::Old, Torn::New, Torn::Mixed];

/// The chips, as a controller asks them that knows nothing. What it asks is read at once, and its commands are kept,
/// to be given time later: nothing changes meanwhile.
struct Port<'a> {
    array: &'a NandArray,
    commands: Vec<FlashCommand>,
    summary_pages: u16,
    /// The largest number that was found.
    last_number: u64,
    /// A bit a block of which a page was read.
    known: Vec<u64>,
}

impl Port<'_> {
    fn read(&mut self, page: PageAddress) -> SpareArea {
        let area = self.array.spare_area(page);
        if let SpareArea::Written(entry) = area {
            self.last_number = self.last_number.max(entry.programmed);
            bits::set(&mut self.known, page.block.index());
        }
        area
    }

    fn pay(&mut self, newest: PageAddress, pages: u16, what: SearchExpectation) {
        self.commands.push(FlashCommand::spare_search(Cause::Map, newest, pages, Lpn(0), what));
    }
}

impl ChipPort for Port<'_> {
    fn spare(&mut self, page: PageAddress) -> SpareArea {
        self.pay(page, 1, SearchExpectation::Scan);
        self.read(page)
    }

    fn spares(&mut self, block: BlockId, found: &mut Vec<SpareArea>) {
        let pages = self.array.config().geometry.pages_per_block;
        self.pay(PageAddress::new(block, pages - 1), pages, SearchExpectation::Scan);
        found.clear();
        found.extend((0..pages).map(|page| self.read(PageAddress::new(block, page))));
    }

    fn summary(&mut self, block: BlockId, found: &mut Vec<SpareArea>) -> Option<u64> {
        let pages = self.array.config().geometry.pages_per_block;
        self.pay(PageAddress::new(block, pages - 1), self.summary_pages, SearchExpectation::Pages);
        let number = self.array.summary(block, found)?;
        bits::set(&mut self.known, block.index());
        let listed = found.iter().filter_map(|area| match area {
            SpareArea::Written(entry) => Some(entry.programmed),
            SpareArea::Blank | SpareArea::Unreadable => None,
        });
        self.last_number = listed.fold(self.last_number.max(number), u64::max);
        Some(number)
    }

    fn block_number(&mut self, block: BlockId) -> u32 {
        self.array.block_number(block)
    }

    fn version(&self, page: PageAddress) -> u8 {
        self.array.peek(page).map_or(0, |content| content.version)
    }

    fn page(&mut self, page: PageAddress) -> Option<(SpareEntry, Payload)> {
        self.pay(page, 1, SearchExpectation::Pages);
        let found = self.array.own_page(page);
        self.last_number = found.iter().map(|(entry, _)| entry.programmed).fold(self.last_number, u64::max);
        if found.is_some() {
            bits::set(&mut self.known, page.block.index());
        }
        found
    }
}

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

/// Of the commands that begin from a drawn point of the workload on, one of so many is drawn.
const COMMANDS_DRAWN_FROM: u64 = 64;

/// Half of a command, in 2^-32.
const HALF: u32 = 1 << 31;

/// The cuts to come, the next one last.
#[derive(Clone)]
enum CutsToCome {
    /// At these times.
    At(Vec<Time>),
    /// In these commands that change flash.
    Within(Vec<u64>),
    /// Behind these shares of the workload, in commands that a stream draws. `armed`: the share of the next one is
    /// reached, and its command is drawn.
    Drawn { shares: Vec<f64>, random: RandomStream, armed: bool },
}

impl CutsToCome {
    /// Those that a configuration asks for.
    fn of(config: &Config) -> CutsToCome {
        match config.power.schedule().1 {
            Cuts::At(times) => CutsToCome::At(times.iter().rev().map(|&at| Time::from_us(at * 1e6)).collect()),
            Cuts::Within(commands) => {
                CutsToCome::Within(commands.iter().rev().map(|&command| command as u64).collect())
            }
            Cuts::Drawn(cuts) => {
                let mut random = RandomStream::new(config.seed, "power-cuts");
                let mut shares: Vec<f64> = (0..cuts).map(|_| random.unit()).collect();
                shares.sort_unstable_by(|a, b| b.total_cmp(a));
                CutsToCome::Drawn { shares, random, armed: false }
            }
        }
    }

    fn left(&self) -> usize {
        match self {
            CutsToCome::At(times) => times.len(),
            CutsToCome::Within(commands) => commands.len(),
            CutsToCome::Drawn { shares, .. } => shares.len(),
        }
    }

    /// The next one has come.
    fn pop(&mut self) {
        match self {
            CutsToCome::At(times) => drop(times.pop()),
            CutsToCome::Within(commands) => drop(commands.pop()),
            CutsToCome::Drawn { shares, armed, .. } => {
                shares.pop();
                *armed = false;
            }
        }
    }
}

/// Cuts of a run, and what the device starts anew from.
#[derive(Clone)]
pub struct PowerCuts<'a> {
    config: &'a Config,
    foundation: Foundation,
    to_come: CutsToCome,
    /// Share of the workload that has been submitted.
    share: f64,
    random: RandomStream,
}

impl<'a> PowerCuts<'a> {
    /// The cuts of a configuration at a scale.
    ///
    /// # Errors
    /// A scale that does not fit the geometry.
    pub fn new(config: &'a Config, scale: f64) -> Result<PowerCuts<'a>, SimError> {
        let random = RandomStream::new(config.seed, "power");
        let (foundation, to_come) = (Foundation::new(config, scale)?, CutsToCome::of(config));
        Ok(PowerCuts { config, foundation, to_come, share: 0.0, random })
    }

    /// When the power is cut next, as far as it is known.
    #[inline]
    fn next(&self, scheduler: &Scheduler) -> Option<Time> {
        match &self.to_come {
            CutsToCome::At(times) => times.last().copied(),
            CutsToCome::Within(_) | CutsToCome::Drawn { .. } => scheduler.cut_at(),
        }
    }

    /// One more cut, at this time; of a device whose spec has no schedule of cuts. `false`: it has one.
    pub fn order(&mut self, at: Time) -> bool {
        match &mut self.to_come {
            CutsToCome::At(times) => {
                times.push(at);
                true
            }
            CutsToCome::Within(_) | CutsToCome::Drawn { .. } => false,
        }
    }

    /// Cuts that are still to come.
    pub fn left(&self) -> usize {
        self.to_come.left()
    }

    /// Whether cuts wait for the workload to get to their share of it.
    #[inline]
    pub fn wait_for_share(&self) -> bool {
        matches!(&self.to_come, CutsToCome::Drawn { shares, armed: false, .. } if !shares.is_empty())
    }

    /// Tells the scheduler of the command in which the power is cut next, once that is settled. So much of the
    /// workload has been submitted.
    pub fn arm(&mut self, share: Option<f64>, scheduler: &mut Scheduler) {
        self.share = share.unwrap_or(self.share);
        match &mut self.to_come {
            CutsToCome::At(_) => {}
            CutsToCome::Within(commands) => {
                commands.last().into_iter().for_each(|&command| scheduler.cut_in(command, HALF));
            }
            CutsToCome::Drawn { shares, random, armed } => {
                if !*armed && shares.last().is_some_and(|&next| next <= self.share) {
                    *armed = true;
                    let command = scheduler.changes_begun() + 1 + random.below(COMMANDS_DRAWN_FROM);
                    scheduler.cut_in(command, random.bits() as u32);
                }
            }
        }
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
        let Some(first) = self.next_cut(cuts) else { return Ok(()) };
        while let Some(at) = self.next_cut(cuts) {
            cuts.to_come.pop();
            self.cut(at, cuts)?;
            cuts.arm(None, &mut self.controller.scheduler);
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

    /// The cut itself.
    fn cut(&mut self, at: Time, cuts: &mut PowerCuts) -> Result<(), SimError> {
        // It may still have been ending what an earlier cut had met.
        let begins = self.now.max(at);
        self.now = begins;
        self.power.cuts += 1;
        self.power.failed_requests += self.host.fail_outstanding(begins);
        if cuts.config.power.protection.empties_queues() && !RecoveryFault::BufferNotSaved.is_on() {
            self.run_on()?;
        }
        let under_way = self.cut_flash()?;
        self.leave(&under_way, cuts)?;
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
        if cuts.config.power.protection.ends_operations() && !RecoveryFault::OperationsNotEnded.is_on() {
            self.end_operations(under_way)?;
        } else {
            self.tear(under_way, cuts)?;
        }
        self.tell_power_lost(&mut cuts.random);
        Ok(())
    }

    /// What the dies have begun ends.
    fn end_operations(&mut self, under_way: &[UnderWay]) -> Result<(), SimError> {
        let now = self.now;
        for UnderWay { command, left, .. } in under_way {
            self.controller.scheduler.chips.execute(command)?;
            self.observer.command(now, now + *left, command);
            self.now = self.now.max(now + *left);
        }
        Ok(())
    }

    /// What the dies have begun is left as the cut has met it.
    fn tear(&mut self, under_way: &[UnderWay], cuts: &mut PowerCuts) -> Result<(), SimError> {
        for UnderWay { command, erase, has_ended, .. } in under_way {
            if *has_ended {
                self.controller.scheduler.chips.execute(command)?;
                self.observer.command(self.now, self.now, command);
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
            self.observer.torn(command);
            let checked = &mut self.controller.scheduler.chips.checked;
            checked.tear(command, left, |_| OUTCOMES[random.below(OUTCOMES.len() as u64) as usize])?;
        }
        Ok(())
    }

    /// Makes a device that was just built one that has lost its power with this flash, and starts it anew. Returns how
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
        self.start_anew(cuts)?;
        self.controller.scheduler.chips.checked.array.fade();
        Ok(self.now - began)
    }

    /// Builds the layer anew and lets its commands run. `false` if the power is cut before they have ended.
    fn start_anew(&mut self, cuts: &PowerCuts) -> Result<bool, SimError> {
        let (mut first, mut plan) = (Plan::default(), Plan::default());
        // What a user's own policy remembers is in the controller's RAM, so the policy is made anew too.
        let decider = cuts.foundation.decider(cuts.config, self.ftl().user_pages())?;
        let array = &self.controller.scheduler.chips.checked.array;
        let Geometry { pages_per_block, page_bytes, .. } = array.config().geometry;
        let known = vec![0; bits::words_for(array.config().geometry.blocks() as usize)];
        let summary_pages = cuts.config.ftl.shared.recovery.summary_pages(pages_per_block, page_bytes);
        let mut port = Port { array, commands: Vec::new(), summary_pages, last_number: 0, known };
        let (ftl, found) = {
            let (counters, erased_again, log) =
                (*self.ftl().counters(), self.ftl().erased_again(), self.ftl().log_counts());
            let zones = self.ftl().zones().map(|report| report.counters).unwrap_or_default();
            let (chips, first, plan) = (&mut port, &mut first, &mut plan);
            let protection = cuts.config.power.protection;
            let planes_apart = cuts.config.chip.timing.multi_plane != MultiPlane::Off;
            let mut restart =
                Restart { chips, first, plan, counters, erased_again, log, zones, protection, planes_apart };
            let mut parts = cuts.foundation.parts(cuts.config);
            parts.decider = decider.clone();
            parts.bad_blocks = if RecoveryFault::BadBlocksForgotten.is_on() { &[] } else { parts.bad_blocks };
            cuts.config.ftl.recover(&parts, &mut restart)?
        };
        let Port { commands, last_number, known, .. } = port;
        self.forget_erases(cuts.config.chip.erase.memory_in_spare, &known);
        self.controller.restart(ftl, if RecoveryFault::NumbersBeginAnew.is_on() { 1 } else { last_number + 1 });
        self.controller.scheduler.suspend_by(decider);
        self.note_reads(&commands);
        self.power.found.add(&found);
        self.submit_recovery(&commands, false)?;
        for mut phase in [first, plan] {
            if !self.drain_until_cut(cuts)? {
                return Ok(false);
            }
            self.controller.number(&mut phase);
            self.submit_recovery(&phase.commands, true)?;
            for command in &phase.commands {
                self.power.written[usize::from(command.op == FlashOp::Erase)] += 1;
            }
        }
        self.drain_until_cut(cuts)
    }

    /// What the erase scheme remembers of blocks is lost; `is_stored`: but for those of which a page was read.
    fn forget_erases(&mut self, is_stored: bool, known: &[u64]) {
        if let Some(eraser) = &mut self.controller.scheduler.chips.eraser {
            eraser.lose_memory(|block| is_stored && bits::get(known, block as usize));
        }
    }

    /// Counts the spare areas and the pages that starting anew reads.
    fn note_reads(&mut self, commands: &[FlashCommand]) {
        for command in commands {
            let whole = usize::from(command.expectation() == SearchExpectation::Pages);
            self.power.reads[whole] += u64::from(command.searched_pages());
        }
    }

    /// Runs what is queued; `false` if the power is cut before it has ended.
    fn drain_until_cut(&mut self, cuts: &PowerCuts) -> Result<bool, SimError> {
        while let Some(at) = self.controller.scheduler.next_event() {
            if self.next_cut(cuts).is_some_and(|cut| cut <= at) {
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
        for (lpn, allowed) in self.host.oracle.take_unsettled() {
            let page = self.ftl().locate(lpn);
            let content = page.and_then(|page| self.controller.scheduler.chips.checked.array.peek(page).ok());
            let found = content.map(|content| content.version);
            let is_own = content.is_none_or(|content| content.lpn == lpn && !content.corrupt);
            self.power.broken_promises += u64::from(!is_own || !allowed.contains(found));
            self.host.oracle.settle(lpn, found);
        }
        if everything {
            let mut lost = self.controller.read_back(&self.host.oracle);
            if self.host.oracle.promises_trims() {
                lost.extend(self.controller.come_back(&self.host.oracle));
            }
            self.power.broken_promises += lost.len() as u64;
            lost.into_iter().for_each(|(lpn, found)| self.host.oracle.settle(lpn, found));
        }
    }
}
