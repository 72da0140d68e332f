//! The chip without a controller, for people who write firmware: the checked array with the bytes of its pages,
//! called one operation at a time.
//!
//! The rules, the bad blocks, the erases and the bit errors are those of a run of the same spec. What is added here
//! are bytes, a clock that counts the time of each operation, cuts of the power at a chosen operation, and snapshots.
//! The C interface and `pumice.Chip` use this crate and add nothing to it.
#![forbid(unsafe_code)]

mod bit_errors;
mod cells;
mod failure;
mod image;
mod operations;
mod options;
mod power;
mod programs;
mod reads;
mod session;
pub mod torture;

use std::collections::BTreeSet;

use pumice_config::{Config, SpecError, SpecSource, without_effect_on_a_chip};
use pumice_engine::bare_chips;
use pumice_engine::chip::Chips;
use pumice_types::{BlockId, ChipKeys, Draw, EraseStep, Geometry, PageAddress, PartialEraseUnit, Time, refuse};

use bit_errors::BitErrors;
use cells::Cells;
pub use failure::ChipFailure;
pub use options::{ChipChoices, Illegal, PagePrograms};
pub use power::{CutOutcome, outcome_of};
use power::{PlannedCut, Supply};
use session::Recorder;

/// Declares [`ChipCounts`] and the names of its members.
macro_rules! counts {
    ($($(#[$about:meta])+ $name:ident),+ $(,)?) => {
        /// How often each thing was done since the chip was opened. `pumice_chip_counts` of C ends with these members.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(C)]
        pub struct ChipCounts {
            $($(#[$about])+ pub $name: u64),+
        }

        impl ChipCounts {
            /// Every count with its name, in the order of the members.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name)),+]
            }
        }
    };
}

counts! {
    /// Programs, copies and erases that began, whatever became of them: what cuts of the power are counted by.
    operations,
    /// Pages read, raw reads included.
    reads,
    /// Spare areas read alone, checks for blank pages included.
    oob_reads,
    /// Programs that ended.
    programs,
    /// Copies that ended.
    copies,
    /// Erases of a block that ended.
    block_erases,
    /// Erases of a partial block that ended.
    partial_erases,
    /// Erases of sub-blocks that ended.
    sub_block_erases,
    /// Times that a page was read again because of its bit errors.
    read_retries,
    /// Reads that failed their code.
    uncorrectable,
    /// Programs and erases that reported a failure.
    failed,
    /// Cuts of the power.
    cuts,
    /// Programs, copies and erases that broke a rule, refused or not.
    illegal,
}

/// All of a chip that changes.
#[derive(Clone)]
pub(crate) struct State {
    chips: Chips,
    cells: Cells,
    now: Time,
    counts: ChipCounts,
    supply: Supply,
    cut: Option<PlannedCut>,
    /// Blocks that fail to program and to erase from now on.
    failing: BTreeSet<BlockId>,
    /// Operations that still begin before the next one fails.
    failure: Option<u64>,
    /// Operations that still begin before what a cut left has its time.
    settling: Option<u64>,
    /// Steps of an erase; a reused buffer.
    steps: Vec<EraseStep>,
}

/// Chips of a spec, as firmware drives them.
pub struct Chip {
    seed: u64,
    keys: ChipKeys,
    geometry: Geometry,
    errors: Option<BitErrors>,
    options: ChipChoices,
    /// Blocks that the factory marked bad.
    from_factory: BTreeSet<BlockId>,
    draws: Draw,
    /// Random numbers drawn since the chip was opened, or told where to begin. Not a part of its state, so that what is
    /// tried from a snapshot again is drawn anew.
    drawn: u64,
    notes: Vec<String>,
    /// What notes the states before operations, if somebody wants them.
    recorder: Option<Box<Recorder>>,
    state: State,
}

/// What a chip was at one moment. Bytes that did not change since are shared with the chip.
pub struct ChipSnapshot {
    seed: u64,
    keys: ChipKeys,
    options: ChipChoices,
    state: State,
}

impl Chip {
    /// The chips of a spec, every page erased and the factory's bad blocks marked.
    ///
    /// # Errors
    /// [`SpecError`]: one line that names the place, what was found and what is allowed.
    pub fn open(source: &SpecSource) -> Result<Chip, SpecError> {
        Chip::open_with(source, ChipChoices::default())
    }

    /// Opens a chip with options, every page erased.
    ///
    /// # Errors
    /// As [`Chip::open`], and options that mean nothing.
    pub fn open_with(source: &SpecSource, options: ChipChoices) -> Result<Chip, SpecError> {
        if let Some(scale) = source.scale.filter(|&scale| scale != 1.0) {
            return Err(refuse!("scale = {scale}: a chip is not scaled; set the keys of [geometry]"));
        }
        let (seed, keys) = Config::resolve_chip(source)?;
        let notes = without_effect_on_a_chip(source)?;
        let mut chips = bare_chips(&keys, seed)?;
        chips.checked.array.prepare_for_cuts_without_numbers();
        let geometry = chips.checked.array.config().geometry;
        options.check(geometry.pages_per_block).map_err(|failure| SpecError(failure.to_string()))?;
        let errors = BitErrors::new(&chips, &keys, seed);
        let blocks = (0..geometry.blocks()).map(BlockId);
        let from_factory = blocks.filter(|&block| chips.checked.array.is_bad(block)).collect();
        let state = State {
            chips,
            cells: Cells::new(&geometry),
            now: Time::ZERO,
            counts: ChipCounts::default(),
            supply: Supply::On,
            cut: None,
            failing: BTreeSet::new(),
            failure: None,
            settling: None,
            steps: Vec::new(),
        };
        let (draws, drawn, recorder) = (Draw::new(seed, "chip"), 0, None);
        Ok(Chip { seed, keys, geometry, errors, options, from_factory, draws, drawn, notes, recorder, state })
    }

    /// Channels, dies, planes, blocks, pages and bytes.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Spec keys of the chip, resolved.
    pub fn keys(&self) -> &ChipKeys {
        &self.keys
    }

    /// Levels of partial blocks below the block; 0 if only blocks can be erased, or sub-blocks.
    pub fn max_splits(&self) -> u8 {
        self.state.chips.checked.array.config().tree.max_splits()
    }

    /// Sub-blocks that can be erased on their own; 0 if none can.
    pub fn sub_blocks(&self) -> u16 {
        let can = self.keys.partial_erase.unit == PartialEraseUnit::SubBlock;
        self.keys.geometry.sub_blocks.filter(|_| can).unwrap_or(0)
    }

    /// One line for each key of the spec that was set and that a chip does not read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Simulated time since the chip was opened.
    pub fn now(&self) -> Time {
        self.state.now
    }

    /// Lets time pass in which nothing is done. Data ages.
    pub fn wait(&mut self, time: Time) {
        self.state.now = Time(self.state.now.0.saturating_add(time.0));
    }

    /// What was done so far.
    pub fn counts(&self) -> &ChipCounts {
        &self.state.counts
    }

    /// The block of a number.
    ///
    /// # Errors
    /// There is none.
    pub fn block(&self, block: u32) -> Result<BlockId, ChipFailure> {
        self.page(block, 0).map(|page| page.block)
    }

    /// The page of a block's number and a number in it.
    ///
    /// # Errors
    /// There is none.
    pub fn page(&self, block: u32, page: u32) -> Result<PageAddress, ChipFailure> {
        let Geometry { pages_per_block, .. } = self.geometry;
        match u16::try_from(page) {
            Ok(index) if index < pages_per_block && block < self.geometry.blocks() => {
                Ok(PageAddress::new(BlockId(block), index))
            }
            _ => Err(ChipFailure::Address { block, page, blocks: self.geometry.blocks(), pages: pages_per_block }),
        }
    }

    /// Whether a block is marked bad: by the factory, or by [`Chip::mark_bad`].
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.state.chips.checked.array.is_bad(block)
    }

    /// Marks a block bad, as firmware does with one that has failed. It takes no program and no erase from now on;
    /// what it holds can be read.
    ///
    /// # Errors
    /// No power.
    pub fn mark_bad(&mut self, block: BlockId) -> Result<(), ChipFailure> {
        if !self.is_powered() {
            return Err(ChipFailure::PowerLost);
        }
        self.state.chips.checked.array.mark_bad(block);
        Ok(())
    }

    /// Makes a block go bad: its programs and erases fail from now on. What it holds can be read.
    pub fn grow_bad(&mut self, block: BlockId) {
        self.state.failing.insert(block);
    }

    /// After `after` more programs, copies and erases the next one fails, and its block has gone bad.
    pub fn fail_after(&mut self, after: u64) {
        self.state.failure = Some(after);
    }

    /// Takes back a planned failure.
    pub fn cancel_failure(&mut self) {
        self.state.failure = None;
    }

    /// Erases of the page's part of a block since the chip was opened.
    pub fn erases(&self, page: PageAddress) -> u64 {
        let array = &self.state.chips.checked.array;
        array.leaf_erases(page.block, array.leaf_of(page.page))
    }

    /// The chip as it is now.
    pub fn snapshot(&self) -> ChipSnapshot {
        ChipSnapshot { seed: self.seed, keys: self.keys.clone(), options: self.options, state: self.state.clone() }
    }

    /// Makes the chip what it was, its clock, its counts and its planned cut included. What is drawn after that is
    /// drawn anew: see [`Chip::draw_from`].
    ///
    /// # Errors
    /// The snapshot is of another spec or seed.
    pub fn restore(&mut self, snapshot: &ChipSnapshot) -> Result<(), ChipFailure> {
        let same = self.seed == snapshot.seed && self.keys == snapshot.keys && self.options == snapshot.options;
        if !same {
            let text = "the snapshot was taken of a chip of another spec or seed, or with other options";
            return Err(ChipFailure::Usage(text.into()));
        }
        self.state = snapshot.state.clone();
        Ok(())
    }

    /// From now on random outcomes are those of this number: the same number and the same calls give the same.
    pub fn draw_from(&mut self, number: u64) {
        self.drawn = Draw::new(number, "chip-draws").bits(0);
    }

    /// A random number.
    fn draw(&mut self) -> u64 {
        self.drawn = self.drawn.wrapping_add(1);
        self.draws.bits(self.drawn)
    }
}
