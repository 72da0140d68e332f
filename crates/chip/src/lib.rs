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
mod operations;
mod power;

use std::collections::BTreeSet;

use pumice_config::{Config, SpecError, SpecSource, without_effect_on_a_chip};
use pumice_engine::bare_chips;
use pumice_engine::chip::Chips;
use pumice_types::{BlockId, ChipKeys, Draw, EraseStep, Geometry, PageAddress, PartialEraseUnit, Time};

use bit_errors::BitErrors;
use cells::Cells;
pub use failure::ChipFailure;
pub use power::{CutOutcome, outcome_of};
use power::{PlannedCut, Supply};

/// How often each thing was done since the chip was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChipCounts {
    /// Programs, copies and erases that began, whatever became of them: what cuts of the power are counted by.
    pub operations: u64,
    /// Pages read, raw reads included.
    pub reads: u64,
    /// Spare areas read alone, checks for blank pages included.
    pub oob_reads: u64,
    /// Programs that ended.
    pub programs: u64,
    /// Copies that ended.
    pub copies: u64,
    /// Erases of a block that ended.
    pub block_erases: u64,
    /// Erases of a partial block that ended.
    pub partial_erases: u64,
    /// Erases of sub-blocks that ended.
    pub sub_block_erases: u64,
    /// Times that a page was read again because of its bit errors.
    pub read_retries: u64,
    /// Reads that failed their code.
    pub uncorrectable: u64,
    /// Programs and erases that reported a failure.
    pub failed: u64,
    /// Cuts of the power.
    pub cuts: u64,
}

/// All of a chip that changes.
#[derive(Clone)]
struct State {
    chips: Chips,
    cells: Cells,
    now: Time,
    counts: ChipCounts,
    supply: Supply,
    cut: Option<PlannedCut>,
    /// Blocks whose programs and erases fail from now on.
    failing: BTreeSet<BlockId>,
    /// Random numbers drawn so far.
    drawn: u64,
    /// Steps of an erase; a reused buffer.
    steps: Vec<EraseStep>,
}

/// Chips of a spec, as firmware drives them.
pub struct Chip {
    seed: u64,
    keys: ChipKeys,
    geometry: Geometry,
    errors: Option<BitErrors>,
    draws: Draw,
    notes: Vec<String>,
    state: State,
}

/// What a chip was at one moment. Bytes that did not change since are shared with the chip.
pub struct ChipSnapshot {
    seed: u64,
    keys: ChipKeys,
    state: State,
}

impl Chip {
    /// The chips of a spec, every page erased and the factory's bad blocks marked.
    ///
    /// # Errors
    /// [`SpecError`]: one line that names the place, what was found and what is allowed.
    pub fn open(source: &SpecSource) -> Result<Chip, SpecError> {
        if let Some(scale) = source.scale.filter(|&scale| scale != 1.0) {
            return Err(SpecError(format!("scale = {scale}: a chip is not scaled; set the keys of [geometry]")));
        }
        let (seed, keys) = Config::resolve_chip(source)?;
        let notes = without_effect_on_a_chip(source)?;
        let mut chips = bare_chips(&keys, seed)?;
        chips.checked.array.prepare_for_cuts_without_numbers();
        let geometry = chips.checked.array.config().geometry;
        let errors = BitErrors::new(&chips, &keys, seed);
        let state = State {
            chips,
            cells: Cells::new(&geometry),
            now: Time::ZERO,
            counts: ChipCounts::default(),
            supply: Supply::On,
            cut: None,
            failing: BTreeSet::new(),
            drawn: 0,
            steps: Vec::new(),
        };
        Ok(Chip { seed, keys, geometry, errors, draws: Draw::new(seed, "chip"), notes, state })
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

    /// Whether a block is marked bad: by the factory, by [`Chip::mark_bad`], or because its erase failed for good.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.state.chips.checked.array.is_bad(block)
    }

    /// Marks a block bad, as firmware does with one that has failed. It takes no command from now on.
    pub fn mark_bad(&mut self, block: BlockId) {
        self.state.chips.checked.array.mark_bad(block);
    }

    /// Makes a block go bad: its programs and erases fail from now on. What it holds can be read.
    pub fn grow_bad(&mut self, block: BlockId) {
        self.state.failing.insert(block);
    }

    /// Erases of the page's part of a block since the chip was opened.
    pub fn erases(&self, page: PageAddress) -> u64 {
        let array = &self.state.chips.checked.array;
        array.leaf_erases(page.block, array.leaf_of(page.page))
    }

    /// The chip as it is now.
    pub fn snapshot(&self) -> ChipSnapshot {
        ChipSnapshot { seed: self.seed, keys: self.keys.clone(), state: self.state.clone() }
    }

    /// Makes the chip what it was, its clock, its counts and its planned cut included.
    ///
    /// # Errors
    /// The snapshot is of another spec or seed.
    pub fn restore(&mut self, snapshot: &ChipSnapshot) -> Result<(), ChipFailure> {
        if self.seed != snapshot.seed || self.keys != snapshot.keys {
            return Err(ChipFailure::Usage("the snapshot was taken of a chip of another spec or seed".into()));
        }
        self.state = snapshot.state.clone();
        Ok(())
    }
}
