//! The device of a spec: its geometry at a scale, its timing, and the execution of a command with
//! every check and count.

use pumice_ftl::Ftl;
use pumice_nand::{NandArray, Outcome};
use pumice_types::partial_block::MAX_SPLITS;
use pumice_types::{
    BlockId, BlockShape, Cause, EraseStep, FlashCommand, FlashOp, FlashTiming, Geometry, Lpn, PbTree, StepKind, Time,
    WriteSequence, timing,
};

use crate::erase::Eraser;
use crate::error::SimError;
use crate::ledger::Ledger;
use crate::read_retry::ReadRetry;
use crate::spec::{Spec, SpecError};

/// Grain at which an erase of fixed time can be suspended: AERO's unit pulse.
const FIXED_PULSE: Time = Time(500_000);

/// Scale below which twins are known to drift.
pub const FAITHFUL_SCALE_MIN: f64 = 1.0 / 16.0;

/// The spec's geometry, shrunk by `scale`: dies, then chips, then channels are halved.
///
/// # Errors
/// A scale that halving cannot reach, with the nearest one that it can.
pub fn scaled_geometry(spec: &Spec, scale: f64) -> Result<Geometry, SpecError> {
    let g = &spec.geometry;
    let mut geometry = Geometry {
        channels: g.channels,
        chips_per_channel: g.chips_per_channel,
        dies_per_chip: g.dies_per_chip,
        planes_per_die: g.planes_per_die,
        blocks_per_plane: g.blocks_per_plane,
        pages_per_block: g.pages_per_block,
        page_bytes: g.page_bytes,
        spare_bytes: g.spare_bytes,
    };
    let mut legal = vec![1.0];
    let mut reached = 1.0;
    while (reached - scale).abs() > 1e-9 {
        let next = [&mut geometry.dies_per_chip, &mut geometry.chips_per_channel, &mut geometry.channels];
        let Some(factor) = next.into_iter().find(|factor| **factor % 2 == 0) else {
            let distance = |x: &f64| (x - scale).abs();
            let nearest = legal.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(1.0);
            return Err(SpecError(format!(
                "scale {scale} does not give a whole device by halving dies, then chips, then channels; nearest legal scale: {nearest}"
            )));
        };
        *factor /= 2;
        reached /= 2.0;
        legal.push(reached);
    }
    Ok(geometry)
}

/// The partial blocks of the spec's chips; the whole block alone if there are none.
pub fn tree(spec: &Spec) -> Result<PbTree, SpecError> {
    let splits = if spec.partial_erase.unit == "partial-block" { spec.partial_erase.max_splits } else { 0 };
    PbTree::new(spec.geometry.pages_per_block, splits)
        .ok_or_else(|| SpecError(format!("partial_erase.max_splits = {splits} does not divide the block")))
}

/// Where the pages of a block lie, if the spec says so.
pub fn block_shape(spec: &Spec) -> Option<BlockShape> {
    let g = &spec.geometry;
    BlockShape::new(g.layers?, g.sub_blocks?, g.bits_per_cell, WriteSequence::named(&g.write_sequence)?)
}

/// The spec's timing table.
pub fn flash_timing(spec: &Spec, tree: PbTree) -> FlashTiming {
    let t = &spec.timing;
    let bytes = spec.geometry.page_bytes + spec.geometry.spare_bytes;
    FlashTiming {
        t_r: Time::from_us(t.t_r_us),
        t_prog: Time::from_us(t.t_prog_us * crate::build::erase::program_time_factor(spec)),
        t_bers: Time::from_us(t.t_bers_us),
        partial_erase: timing::partial_erase_table(tree, t.t_bers_us, spec.partial_erase.t_us.as_deref()),
        page_transfer: FlashTiming::transfer(bytes, t.channel_mb_per_s),
        spare_transfer: FlashTiming::transfer(spec.geometry.spare_bytes, t.channel_mb_per_s),
        command_overhead: Time::from_us(t.command_overhead_us),
        copyback: t.copyback,
    }
}

/// Flash commands emitted since the last reset, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Page reads for the host.
    pub host_reads: u64,
    /// Page programs for the host.
    pub host_programs: u64,
    /// Page reads of old copies, before writes of part of a page.
    pub rmw_reads: u64,
    /// Page reads of the map.
    pub map_reads: u64,
    /// Page programs of the map.
    pub map_programs: u64,
    /// Pages copied by garbage collection: a read and a program each.
    pub copies: u64,
    /// Pages of the map copied by garbage collection.
    pub map_copies: u64,
    /// Spare searches for the host.
    pub host_searches: u64,
    /// Spare searches for garbage collection.
    pub gc_searches: u64,
    /// Spare areas read in searches for the host.
    pub host_spare_pages: u64,
    /// Spare areas read in searches for garbage collection.
    pub gc_spare_pages: u64,
    /// Spare areas read for the map, each by a command of its own.
    pub map_spare_pages: u64,
    /// Whole-block erases.
    pub block_erases: u64,
    /// Partial erases by level.
    pub partial_erases: [u64; MAX_SPLITS as usize + 1],
    /// Erases of a set of physical sub-blocks, one an operation.
    pub sub_block_erases: u64,
}

impl Tally {
    /// Partial erases of all levels.
    pub fn partial_erases_total(&self) -> u64 {
        self.partial_erases.iter().sum()
    }

    /// Erase operations of every kind.
    pub fn erases_total(&self) -> u64 {
        self.block_erases + self.partial_erases_total() + self.sub_block_erases
    }

    /// Spare searches.
    pub fn searches(&self) -> u64 {
        self.host_searches + self.gc_searches
    }

    /// Flash commands: page reads, programs and erases; a spare search counts once.
    pub fn flash_commands(&self) -> u64 {
        self.reads() + self.programs() + self.searches() + self.map_spare_pages + self.erases_total()
    }

    /// Page reads of all causes.
    pub fn reads(&self) -> u64 {
        self.host_reads + self.rmw_reads + self.map_reads + self.map_copies + self.copies
    }

    /// Page programs of all causes.
    pub fn programs(&self) -> u64 {
        self.host_programs + self.map_programs + self.map_copies + self.copies
    }

    /// Counts a command.
    #[inline]
    pub fn note(&mut self, command: &FlashCommand) {
        match command.op {
            FlashOp::Read => match command.cause {
                Cause::Map => self.map_reads += 1,
                Cause::Rmw => self.rmw_reads += 1,
                Cause::Host | Cause::Gc => self.host_reads += 1,
            },
            FlashOp::Program if command.cause == Cause::Map => self.map_programs += 1,
            FlashOp::Program => self.host_programs += 1,
            FlashOp::Copy if command.cause == Cause::Map => self.map_copies += 1,
            FlashOp::Copy => self.copies += 1,
            FlashOp::Erase => self.block_erases += 1,
            FlashOp::PartialErase => self.partial_erases[command.pb().level() as usize] += 1,
            FlashOp::SubBlockErase => self.sub_block_erases += 1,
            FlashOp::Pause => {}
            FlashOp::SpareSearch if command.cause == Cause::Map => {
                self.map_spare_pages += u64::from(command.searched_pages());
            }
            FlashOp::SpareSearch => {
                let pages = u64::from(command.searched_pages());
                let (searches, spare_pages) = match command.cause {
                    Cause::Host | Cause::Map | Cause::Rmw => (&mut self.host_searches, &mut self.host_spare_pages),
                    Cause::Gc => (&mut self.gc_searches, &mut self.gc_spare_pages),
                };
                *searches += 1;
                *spare_pages += pages;
            }
        }
    }
}

/// Physical truth with its checks: what a command is executed on.
pub struct Device {
    /// The array.
    pub array: NandArray,
    /// The host's truth.
    pub ledger: Ledger,
    /// How blocks erase, if not in one fixed time.
    pub eraser: Option<Eraser>,
    /// Which reads must be repeated, if any are.
    pub retry: Option<ReadRetry>,
    /// Durations of its chips.
    pub timing: FlashTiming,
    /// Steps of an erase that nobody times, reused.
    pub steps: Vec<EraseStep>,
    /// Blocks whose erase has begun and will fail.
    pub failing: Vec<BlockId>,
}

impl Device {
    /// Executes one command: rules and tags.
    ///
    /// # Errors
    /// A broken flash rule, or a page that is not what the FTL believes.
    #[inline]
    pub fn execute(&mut self, command: &FlashCommand) -> Result<(), SimError> {
        execute(&mut self.array, &mut self.ledger, command)?;
        if !self.failing.is_empty() && command.op == FlashOp::Erase {
            self.retire(command.target.block);
        }
        Ok(())
    }

    /// Marks a block bad whose erase has just failed: whoever still uses it breaks a rule.
    #[cold]
    fn retire(&mut self, block: BlockId) {
        if let Some(at) = self.failing.iter().position(|&failing| failing == block) {
            self.failing.swap_remove(at);
            self.array.mark_bad(block);
        }
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
                    FlashOp::PartialErase => {
                        eraser.erase_part(block.0, self.array.config().tree.leaf_range(command.pb()), times, steps)
                    }
                    FlashOp::SubBlockErase => eraser.erase_part(block.0, command.sub_blocks().iter(), times, steps),
                    _ => eraser.erase(block.0, steps),
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

    /// Begins to read a page: how often the read is repeated until its errors can be corrected, counted.
    /// None for commands whose data does not pass the controller, and for spare areas.
    pub fn begin_read(&mut self, command: &FlashCommand) -> u8 {
        let Some(retry) = &mut self.retry else { return 0 };
        let page = match command.op {
            FlashOp::Read => command.target,
            FlashOp::Copy if !self.timing.copyback => command.source,
            _ => return 0,
        };
        let leaf = self.array.leaf_of(page.page);
        let pec = self.eraser.as_ref().map_or(0, |eraser| eraser.leaf_pec(page.block.0, leaf));
        retry.note(page.page, pec)
    }

    /// Executes one command without a clock. An erase wears its block as it would with one, a read
    /// counts its retries.
    ///
    /// # Errors
    /// As [`Device::execute`].
    #[inline]
    pub fn execute_untimed(&mut self, command: &FlashCommand) -> Result<(), SimError> {
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

    /// Reads every stored page back without commands; counts corrupt and lost ones.
    pub fn read_back(&mut self, ftl: &Ftl) {
        for lpn in (0..ftl.user_pages()).map(Lpn) {
            if self.ledger.is_stored(lpn) {
                self.ledger.pages_checked += 1;
                let found = ftl.locate(lpn).and_then(|page| self.array.peek(page).ok());
                match found.filter(|page| page.lpn == lpn && page.version == self.ledger.version(lpn)) {
                    None => self.ledger.lost_pages += 1,
                    Some(page) if page.corrupt => self.ledger.note_corrupt(lpn),
                    Some(_) => {}
                }
            }
        }
    }
}

/// As [`Device::execute`], for an array that nobody gives time to.
///
/// # Errors
/// As there.
#[inline]
pub(crate) fn execute(array: &mut NandArray, ledger: &mut Ledger, command: &FlashCommand) -> Result<(), SimError> {
    match array.execute(command)? {
        Outcome::Done | Outcome::Searched { as_expected: true } => Ok(()),
        Outcome::Page(content) => ledger.check(command, content),
        Outcome::Searched { as_expected: false } => Err(SimError::Simulation(format!(
            "integrity: spare search of {} pages in block {} for logical page {} did not end where the FTL believes",
            command.searched_pages(),
            command.target.block.0,
            command.lpn.0
        ))),
    }
}
