//! The chips: what a command is executed on, with every check; what an erase does step by step; which reads are
//! repeated.

pub mod erase;
pub mod read_retry;

use pumice_nand::{CheckedArray, ChipError};
use pumice_types::suspension::Stop;
use pumice_types::{BlockId, EraseStep, FlashCommand, FlashOp, FlashTiming, StepKind, Time};

use erase::{Eraser, RestartTotals};
use read_retry::ReadRetry;

/// Grain at which an erase of fixed time can be suspended: AERO's unit pulse.
const FIXED_PULSE: Time = Time(500_000);

/// Physical truth with its checks.
#[derive(Clone)]
pub struct Chips {
    /// The array, and the check of what it returns.
    pub checked: CheckedArray,
    /// How blocks erase, if not in one fixed time.
    pub eraser: Option<Eraser>,
    /// Which reads must be repeated, if any are.
    pub retry: Option<ReadRetry>,
    /// What erases lost by being interrupted.
    pub restarts: RestartTotals,
    /// Durations of the chips.
    pub timing: FlashTiming,
    /// Steps of an untimed erase; a reused buffer.
    steps: Vec<EraseStep>,
    /// Blocks whose erase has begun and will fail, or whose next erase fails by order.
    failing: Vec<BlockId>,
    /// Blocks whose next erase fails by order.
    ordered: Vec<BlockId>,
    /// Erases that failed by order.
    failed_by_order: u64,
}

impl Chips {
    /// Chips with nothing under way.
    pub fn new(checked: CheckedArray, eraser: Option<Eraser>, retry: Option<ReadRetry>, timing: FlashTiming) -> Chips {
        let restarts = RestartTotals::default();
        Chips {
            checked,
            eraser,
            retry,
            restarts,
            timing,
            steps: Vec::new(),
            failing: Vec::new(),
            ordered: Vec::new(),
            failed_by_order: 0,
        }
    }

    /// Executes one command: rules and tags.
    ///
    /// # Errors
    /// A broken flash rule, or a page that is not what the FTL believes.
    #[inline]
    pub fn execute(&mut self, command: &FlashCommand) -> Result<(), ChipError> {
        self.checked.execute(command)?;
        if !self.failing.is_empty() && command.op == FlashOp::Erase {
            self.retire(command.target.block);
        }
        Ok(())
    }

    /// Marks a block bad after its erase failed. Any later command to it breaks the rule `bad-block`.
    #[cold]
    fn retire(&mut self, block: BlockId) {
        if let Some(at) = self.failing.iter().position(|&failing| failing == block) {
            self.failing.swap_remove(at);
            self.checked.retire(block);
        }
        if let Some(at) = self.ordered.iter().position(|&ordered| ordered == block) {
            self.ordered.swap_remove(at);
            self.failed_by_order += 1;
        }
    }

    /// Lets the next erase of a block fail. `false`: it was ordered before, or the block is bad.
    pub fn fail_next_erase(&mut self, block: BlockId) -> bool {
        let is_new = !self.failing.contains(&block) && !self.checked.array.is_bad(block);
        if is_new {
            self.failing.push(block);
            self.ordered.push(block);
        }
        is_new
    }

    /// Erases that failed by order; 0 before the first.
    pub fn failed_by_order(&self) -> u64 {
        self.failed_by_order
    }

    /// Whether the erase of a block that has begun fails.
    pub fn fails(&self, block: BlockId) -> bool {
        self.failing.contains(&block)
    }

    /// Begins an erase: fills `steps` with what it will do to the die. A partial block's steps are the
    /// whole block's, in the proportion of the erase times (PEN's table as the scale).
    pub fn begin_erase(&mut self, command: &FlashCommand, steps: &mut Vec<EraseStep>) {
        let timing = &self.timing;
        let time = timing.erase_time(command);
        match &mut self.eraser {
            Some(eraser) => {
                let (block, times) = (command.target.block, [time, timing.t_bers]);
                let outcome = match command.op {
                    FlashOp::PartialErase => eraser.erase_part(
                        block.0,
                        self.checked.array.config().tree.leaf_range(command.pb()),
                        times,
                        steps,
                    ),
                    FlashOp::SubBlockErase => eraser.erase_part(block.0, command.sub_blocks().iter(), times, steps),
                    FlashOp::Erase
                    | FlashOp::Read
                    | FlashOp::SpareSearch
                    | FlashOp::Program
                    | FlashOp::Copy
                    | FlashOp::Pause => eraser.erase(block.0, steps),
                };
                if outcome.retired {
                    self.failing.push(block);
                }
            }
            None => {
                steps.clear();
                let pulses = (time.0 / FIXED_PULSE.0).clamp(1, 255) as u8;
                steps.push(EraseStep { kind: StepKind::Fixed, level: 0, pulses, duration: time });
            }
        }
    }

    /// An erase of these steps has stopped.
    pub fn interrupt_erase(&mut self, steps: &[EraseStep], stop: Stop) {
        self.restarts.note(steps, stop);
    }

    /// The power was cut while an erase was under way: of its steps so much was done.
    pub fn cut_erase(&mut self, command: &FlashCommand, steps: &[EraseStep], done: Time) {
        if let Some(eraser) = &mut self.eraser {
            eraser.cut_short(command.target.block.0, steps, done);
        }
    }

    /// Adds what another thread did with its channels. Nothing wears, and no read is retried.
    pub fn absorb(&mut self, other: &Chips) {
        self.checked.array.add_wear(&other.checked.array);
        self.checked.pages_checked += other.checked.pages_checked;
        self.checked.corrupt_pages += other.checked.corrupt_pages;
        self.restarts.count += other.restarts.count;
        self.restarts.time += other.restarts.time;
    }

    /// Factor on the stress of the run's erases by pulses that began again: 1 if none did.
    pub fn restart_factor(&self) -> f64 {
        let stress = self.eraser.as_ref().map_or(0.0, |eraser| eraser.totals().stress);
        if stress > 0.0 { 1.0 + self.restarts.stress / stress } else { 1.0 }
    }

    /// Begins to read a page: how often the read is repeated until its errors can be corrected, counted.
    /// None for commands whose data does not pass the controller, and for spare areas.
    pub fn begin_read(&mut self, command: &FlashCommand) -> u8 {
        let Some(retry) = &mut self.retry else { return 0 };
        let page = match command.op {
            FlashOp::Read => command.target,
            FlashOp::Copy if !self.timing.copyback => command.source,
            FlashOp::Copy
            | FlashOp::SpareSearch
            | FlashOp::Program
            | FlashOp::Erase
            | FlashOp::PartialErase
            | FlashOp::SubBlockErase
            | FlashOp::Pause => return 0,
        };
        let leaf = self.checked.array.leaf_of(page.page);
        let pec = self.eraser.as_ref().map_or(0, |eraser| eraser.leaf_pec(page.block.0, leaf));
        retry.note(self.checked.array.config().geometry.page_number(page.page), pec)
    }

    /// Executes one command without a clock. An erase wears its block as it would with one, a read
    /// counts its retries.
    ///
    /// # Errors
    /// As [`Chips::execute`].
    #[inline]
    pub fn execute_untimed(&mut self, command: &FlashCommand) -> Result<(), ChipError> {
        let erases = matches!(command.op, FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase);
        if erases && self.eraser.is_some() {
            let mut steps = std::mem::take(&mut self.steps);
            self.begin_erase(command, &mut steps);
            self.steps = steps;
        }
        if self.retry.is_some() {
            self.begin_read(command);
        }
        self.execute(command)
    }

    /// Starts measuring: wear and retries so far count no more. What blocks have taken stays with them.
    pub fn restart_measuring(&mut self) {
        self.checked.array.reset_wear();
        self.restarts = RestartTotals::default();
        if let Some(eraser) = &mut self.eraser {
            eraser.restart_measuring();
        }
        if let Some(retry) = &mut self.retry {
            retry.restart_measuring();
        }
    }
}
