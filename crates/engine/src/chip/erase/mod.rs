//! Joins the controller's side of an erase (`pumice_ftl::erase`) with the block's side (`pumice_nand::erase`). It
//! yields steps with durations and has no clock. The scheduler may suspend between two steps; an untimed run takes
//! all steps at once.

mod config;
mod distribution;
mod endurance;
mod from_keys;
mod lifetime;
mod restarts;
mod status;

pub use config::EraseConfig;
pub use distribution::{Distribution, DistributionRequest, FelpSample, distribution, felp_samples, sample_steps};
pub use endurance::Endurance;
pub use from_keys::{erase_config, eraser, expected_time, suspension_rule};
pub use lifetime::{LAST_PEC, Lifetime, LifetimePoint};
pub use restarts::RestartTotals;

use serde::{Deserialize, Serialize};

use pumice_ftl::erase::{BlockMemories, EraseAction, EraseController, EraseJob, EraseReport};
use pumice_nand::erase::{BlockErase, EraseTruth};
use pumice_nand::reliability::{stress, stress_between};
use pumice_types::erase::{MAX_LOOPS, MAX_PULSES, PULSES_PER_LOOP, total_time};
use pumice_types::{EraseStep, StepKind, Time, bits};

/// One erase in progress: the controller's job and the block's state. Call for one step at a time; drop it if the
/// erase is cancelled.
#[derive(Clone, Copy, Debug)]
pub struct RunningErase {
    job: EraseJob,
    truth: BlockErase,
    is_verified: bool,
}

impl RunningErase {
    /// The next action. A step's effect on the block is applied when the step is handed out.
    pub fn next_action(&mut self) -> EraseAction {
        let bits = self.is_verified.then(|| self.truth.verify());
        let action = self.job.next(bits);
        if let EraseAction::Step(step) = action {
            self.is_verified = step.kind == StepKind::Verify;
            if step.pulses > 0 {
                self.truth.pulse(step.level, step.pulses);
            }
        }
        action
    }

    /// What the erase has shown so far.
    pub fn report(&self) -> EraseReport {
        self.job.report()
    }
}

/// One finished erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EraseOutcome {
    /// Time of all steps, without suspension.
    pub time: Time,
    /// What it showed.
    pub report: EraseReport,
    /// The block must not be used again: its erase failed, or it is worn out.
    pub retired: bool,
}

/// Totals over the erases of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EraseTotals {
    /// Erases finished, retirements included. One that a power cut ends is not finished; its time and stress count.
    pub erases: u64,
    /// Erases by erase loops; index 0 stays empty.
    pub loops: [u64; MAX_LOOPS as usize + 1],
    /// Predictions that were short.
    pub mispredictions: u64,
    /// Blocks retired.
    pub retired: u64,
    /// Time of all steps.
    pub time: Time,
    /// Stress of all pulses, in milliseconds at level 1.
    pub stress: f64,
}

impl EraseTotals {
    fn add(&mut self, outcome: &EraseOutcome, stress: f64) {
        self.erases += 1;
        self.loops[usize::from(outcome.report.loops.min(MAX_LOOPS))] += 1;
        self.mispredictions += u64::from(outcome.report.mispredictions);
        self.retired += u64::from(outcome.retired);
        self.time += outcome.time;
        self.stress += stress;
    }

    /// Takes off what the power cut left undone of an erase, of which so much was done.
    fn cut_short(&mut self, steps: &[EraseStep], done: Time) {
        let whole = total_time(steps);
        self.erases -= 1;
        self.loops[usize::from(loops_of(steps).min(MAX_LOOPS))] -= 1;
        self.time = self.time.saturating_sub(whole.saturating_sub(done));
        self.stress -= stress_between(steps, done, whole);
    }

    /// Mean time of an erase in microseconds, `None` without one. Time spent in erases that did not end is part of it.
    pub fn mean_us(&self) -> Option<f64> {
        (self.erases > 0).then(|| self.time.as_us() / self.erases as f64)
    }
}

/// The blocks of a device, the scheme that erases them, and their wear: two bytes for each leaf that is
/// erased apart, and what the scheme remembers of a block.
#[derive(Clone, Debug)]
pub struct Eraser {
    config: EraseConfig,
    truth: EraseTruth,
    controller: EraseController,
    /// P/E cycles of each leaf.
    pec: Vec<u16>,
    /// Leaves of a block: parts that can be erased apart.
    leaves: usize,
    totals: EraseTotals,
    /// Erases of each block that are decided and not begun; empty if no erase can be a block's last.
    decided: Vec<u8>,
    /// When blocks are worn out; `None` if they are used on.
    endurance: Option<Endurance>,
    /// A bit a block whose next erase begins at the lowest level, because a power cut took what was remembered. Empty
    /// before the first cut, and where the remembered loops are not the measured ones.
    forgotten: Vec<u64>,
}

/// What erases have made of a device's blocks: borrowed to be written, owned when it is read.
#[derive(Serialize, Deserialize)]
pub struct WornBlocks<P = Vec<u16>, D = Vec<u8>, M = BlockMemories> {
    pec: P,
    decided: D,
    memories: M,
}

impl Eraser {
    /// What erases have made of the blocks; what was counted is left out.
    pub fn worn_blocks(&self) -> WornBlocks<&[u16], &[u8], &BlockMemories> {
        let Eraser { pec, decided, controller, .. } = self;
        WornBlocks { pec, decided, memories: &controller.memories }
    }

    /// Goes on with blocks of the same number that were worn like this.
    pub fn restore(&mut self, worn: WornBlocks) {
        self.pec = worn.pec;
        self.decided = worn.decided;
        self.controller.memories = worn.memories;
    }

    /// Blocks that have taken `initial_pec` cycles each.
    pub fn new(config: EraseConfig, blocks: usize, initial_pec: u16) -> Eraser {
        let endurance = Endurance::of(&config);
        let can_end = config.max_loops < MAX_LOOPS || endurance.is_some();
        let mut eraser = Eraser {
            truth: config.truth(),
            controller: config.controller(blocks),
            pec: vec![0; blocks],
            leaves: 1,
            totals: EraseTotals::default(),
            decided: vec![0; if can_end { blocks } else { 0 }],
            endurance,
            forgotten: Vec::new(),
            config,
        };
        eraser.wear(initial_pec, |_| true);
        eraser
    }

    /// Wears every leaf of the blocks in use by so many cycles, as if its block had been erased so often: what the scheme
    /// remembers of a block is what the last of these erases showed. A block that would be worn out on the way stops before
    /// its last erase.
    pub fn wear(&mut self, cycles: u16, is_in_use: impl Fn(u32) -> bool) {
        if cycles == 0 {
            return;
        }
        self.forgotten.clear();
        for block in (0..self.blocks() as u32).filter(|&block| is_in_use(block)) {
            let first = block as usize * self.leaves;
            let most = self.cycles_left(block).map_or(u16::MAX, |left| left.saturating_sub(1).min(65_535) as u16);
            let cycles = cycles.min(most);
            self.pec[first..first + self.leaves].iter_mut().for_each(|pec| *pec = pec.saturating_add(cycles));
            if cycles == 0 {
                continue;
            }
            let pec = self.pec(block);
            if self.config.remembers_last_loop() {
                self.remember_measured(block, pec);
            }
            if self.config.has_learned() {
                let last = self.truth.begin(block, pec - 1);
                learn(&mut self.controller, block as usize, last);
            }
        }
    }

    /// The most cycles by which every leaf can be worn further.
    pub fn wear_max(&self) -> u16 {
        u16::MAX - self.pec.iter().copied().max().unwrap_or_default()
    }

    /// Gives each block so many leaves that are erased apart and wear apart.
    pub fn with_leaves(mut self, leaves: usize) -> Eraser {
        self.pec = self.pec.iter().flat_map(|&pec| std::iter::repeat_n(pec, leaves)).collect();
        self.leaves = leaves;
        self
    }

    fn remember_measured(&mut self, block: u32, pec: u32) {
        let loops = self.truth.ispe_loops(self.truth.quantile(block), pec);
        self.controller.remember_loop(block as usize, loops);
    }

    /// Begins an erase of some of a block's leaves. The most worn of them decides how long it takes.
    fn begin(&mut self, block: u32, leaves: impl Iterator<Item = usize> + Clone) -> RunningErase {
        if let Some(decided) = self.decided.get_mut(block as usize) {
            *decided = decided.saturating_sub(1);
        }
        let first = block as usize * self.leaves;
        let pec = leaves.clone().map(|leaf| u32::from(self.pec[first + leaf])).max().unwrap_or_default();
        let is_forgotten = !self.forgotten.is_empty() && bits::get(&self.forgotten, block as usize);
        if is_forgotten {
            bits::clear(&mut self.forgotten, block as usize);
        } else if self.config.memory_is_measured() {
            self.remember_measured(block, pec);
        }
        // What was measured under i-ISPE holds for erases that begin where the last one ended.
        let truth = if is_forgotten { self.truth.under_ispe() } else { self.truth };
        let truth = truth.begin_part(block, leaves.min().unwrap_or_default() as u16, pec);
        RunningErase { job: self.controller.begin(block as usize), truth, is_verified: false }
    }

    /// Erases a block to the end; `steps` is emptied and filled with what the die does.
    pub fn erase(&mut self, block: u32, steps: &mut Vec<EraseStep>) -> EraseOutcome {
        let leaves = 0..self.leaves;
        self.erase_part(block, leaves, [Time(1), Time(1)], steps)
    }

    /// Like [`Eraser::erase`], for some leaves of a block. Each step lasts `part / whole` of the whole block's step.
    /// Only these leaves are worn.
    pub fn erase_part(
        &mut self,
        block: u32,
        leaves: impl Iterator<Item = usize> + Clone,
        [part, whole]: [Time; 2],
        steps: &mut Vec<EraseStep>,
    ) -> EraseOutcome {
        let mut erase = self.begin(block, leaves.clone());
        let failed = run_to_end(&mut erase, steps);
        if part != whole && whole > Time::ZERO {
            steps.iter_mut().for_each(|step| *step = step.scaled(part, whole));
        }
        for leaf in leaves {
            let pec = &mut self.pec[block as usize * self.leaves + leaf];
            *pec = pec.saturating_add(1);
        }
        let retired = failed || self.cycles_left(block) == Some(0);
        let outcome = EraseOutcome { time: total_time(steps), report: erase.report(), retired };
        self.controller.finish(block as usize, &outcome.report);
        self.totals.add(&outcome, stress(steps));
        outcome
    }

    /// The power was cut while an erase of a block was under way: of its steps so much was done. It wears the block like
    /// a whole one.
    pub fn cut_short(&mut self, block: u32, steps: &[EraseStep], done: Time) {
        self.totals.cut_short(steps, done);
        self.forget(block);
    }

    /// A power cut took what the scheme remembers of all blocks but those that are known.
    pub fn lose_memory(&mut self, is_known: impl Fn(u32) -> bool) {
        (0..self.blocks() as u32).filter(|&block| !is_known(block)).for_each(|block| self.forget(block));
    }

    fn forget(&mut self, block: u32) {
        self.controller.memories.forget(block as usize);
        if self.config.memory_is_measured() {
            self.forgotten.resize(bits::words_for(self.blocks()), 0);
            bits::set(&mut self.forgotten, block as usize);
        }
    }

    /// P/E cycles of a block's most worn leaf, those before the run included.
    pub fn pec(&self, block: u32) -> u32 {
        let first = block as usize * self.leaves;
        self.pec[first..first + self.leaves].iter().copied().max().map_or(0, u32::from)
    }

    /// Erases that a block takes before the one that wears it out, that one included; 0 if it is worn out. `None` if
    /// blocks are used however worn they are.
    pub fn cycles_left(&self, block: u32) -> Option<u32> {
        let endurance = self.endurance.as_ref()?;
        Some((endurance.limit(self.truth.quantile(block)) + 1).saturating_sub(self.pec(block)))
    }

    /// P/E cycles of one leaf of a block, those before the run included.
    #[inline]
    pub fn leaf_pec(&self, block: u32, leaf: usize) -> u32 {
        u32::from(self.pec[block as usize * self.leaves + leaf])
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.pec.len() / self.leaves
    }

    /// Mean P/E cycles of all leaves.
    pub fn mean_pec(&self) -> f64 {
        self.pec.iter().map(|&pec| f64::from(pec)).sum::<f64>() / self.pec.len().max(1) as f64
    }

    /// Expected life of the mean block under this scheme.
    pub fn lifetime(&self) -> Lifetime {
        self.endurance.as_ref().map_or_else(|| Lifetime::of(&self.config), |endurance| endurance.mean().clone())
    }

    /// Forgets the erases counted so far, not their wear: measuring starts here.
    pub fn restart_measuring(&mut self) {
        self.totals = EraseTotals::default();
    }

    /// Totals over all finished erases.
    pub fn totals(&self) -> &EraseTotals {
        &self.totals
    }

    /// RAM that a controller needs for the scheme.
    pub fn controller_ram_bytes(&self) -> u64 {
        let table = if self.config.scheme.predicts() { u64::from(MAX_PULSES) * 4 } else { 0 };
        self.controller.ram_bytes() as u64 + table
    }

    /// Bytes of state: wear and the scheme's memory.
    pub fn ram_bytes(&self) -> usize {
        self.pec.len() * 2 + self.decided.len() + self.controller.ram_bytes()
    }
}

/// Erase loops that steps consist of.
fn loops_of(steps: &[EraseStep]) -> u8 {
    let (mut loops, mut in_loop) = (0, 0);
    for step in steps.iter().filter(|step| step.pulses > 0) {
        loops += u8::from(in_loop == 0);
        in_loop = (in_loop + step.pulses) % PULSES_PER_LOOP;
    }
    loops
}

/// Lets a controller remember what an erase of a block before the run showed.
fn learn(controller: &mut EraseController, block: usize, truth: BlockErase) {
    let mut erase = RunningErase { job: controller.begin(block), truth, is_verified: false };
    run_to_end(&mut erase, &mut Vec::new());
    controller.finish(block, &erase.report());
}

/// Runs all steps of an erase. Returns whether the block must be retired.
fn run_to_end(erase: &mut RunningErase, steps: &mut Vec<EraseStep>) -> bool {
    steps.clear();
    loop {
        match erase.next_action() {
            EraseAction::Step(step) => steps.push(step),
            EraseAction::Done => return false,
            EraseAction::Retire => return true,
        }
    }
}
