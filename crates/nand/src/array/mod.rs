//! State of all pages in columns, and the execution of flash commands on it.
//!
//! Cost: one bit and a 32-bit tag (logical page and version) a page, 40 bits beyond 2^30 logical pages; columns start as zero pages of the operating
//! system that take no memory until they are written, so a partly written device uses memory only for the blocks that
//! were touched. A column of corrupt bits exists only once a corrupt page was copied.

mod bare;
mod changes;
mod legality;
mod power;
mod search;
mod sub_block;
mod units;
mod word_lines;

use pumice_types::{
    BlockId, BlockShape, FILL_VERSION, FlashCommand, FlashOp, Geometry, Lpn, PageAddress, PageColumn, PbTree,
    ProgramOrder, StagedUnits, TagFormat, UnitPages, bits, prefetch,
};
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Violation};
use crate::wear::WearSummary;
use power::PowerState;
pub use power::Torn;
use word_lines::WordLines;

/// What the array needs to know of its chips.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ArrayConfig {
    /// Shape of the device.
    pub geometry: Geometry,
    /// How spare areas hold logical page and version.
    pub tags: TagFormat,
    /// Partial blocks that the erase command knows; L = 0 leaves the whole block only.
    pub tree: PbTree,
    /// Physical sub-blocks that the erase command knows, if it does; then L = 0.
    pub sub_blocks: Option<BlockShape>,
    /// Programming order inside an erase unit.
    pub program_order: ProgramOrder,
    /// Disturbs that a leaf survives.
    pub disturb_tolerance: u8,
    /// Programs in other sub-blocks on its word line that a page survives; `None`: any number. Read where
    /// sub-blocks can be erased.
    pub sub_block_disturb: Option<u32>,
    /// Whether copies use copyback, and so may not leave their plane.
    pub copyback: bool,
}

/// What a page returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageContent {
    /// Logical page in the spare area.
    pub lpn: Lpn,
    /// Version programmed with it.
    pub version: u8,
    /// The data cannot be trusted: disturbed beyond tolerance, now or when it was copied.
    pub corrupt: bool,
}

/// What a command returned. Only one variant holds anything: fields of two would share bytes, and every page that is
/// read would be put together byte by byte in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Nothing to return.
    Done,
    /// A page read, or the source page of a copy.
    Page(PageContent),
    /// A spare search that met what the controller expected.
    Expected,
    /// A spare search that met something else.
    Unexpected,
}

/// Per-block truth.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct BlockState {
    /// First logical page of an initial fill whose columns are not written out yet.
    fill_lpn: u32,
    /// Logical pages from one of its pages to the next.
    fill_stride: u32,
    /// Pages of that fill; 0 once the columns speak for themselves.
    fill_pages: u16,
    /// One past the highest page programmed since the last block erase.
    next_in_order: u16,
    /// Sequence number programmed into the spare areas.
    sequence: u32,
    /// Whole-block erases in this run.
    erases: u32,
    bad: bool,
    /// Erased in part since the last block erase: programming order holds per leaf.
    partially_erased: bool,
    /// Some leaf, or some page of a word line, may be disturbed beyond tolerance.
    over_tolerance: bool,
}

impl BlockState {
    /// Logical page that the initial fill has put into a page, if it has.
    #[inline(always)]
    fn filled_with(&self, page: u16, units_per_page: u16) -> Lpn {
        let distance = match units_per_page {
            1 => u32::from(page) * self.fill_stride,
            units => u32::from(page / units) * self.fill_stride + u32::from(page % units),
        };
        Lpn(self.fill_lpn + distance)
    }
}

/// The physical state of every page of the device.
#[derive(Clone, Serialize, Deserialize)]
pub struct NandArray {
    config: ArrayConfig,
    words_per_block: usize,
    programmed: PageColumn<u64>,
    tags: PageColumn<u32>,
    /// Versions, if tags leave no room for them; else empty.
    versions: PageColumn<u8>,
    corrupt: Vec<u64>,
    blocks: Vec<BlockState>,
    disturb: Vec<u8>,
    leaf_erases: Vec<u32>,
    /// Leaves of a block: those of the tree, or its sub-blocks.
    leaves_per_block: usize,
    /// Pages of each sub-block, if sub-blocks can be erased.
    sub_blocks: Option<UnitPages>,
    /// Programs on each word line, if they disturb other sub-blocks.
    word_lines: Option<WordLines>,
    /// What programs under way put into the units of their pages, where pages have several.
    staged: StagedUnits,
    /// What cuts of the power need and leave, if there may be any.
    power: Option<Box<PowerState>>,
}

impl NandArray {
    /// An array with every page erased.
    pub fn new(config: ArrayConfig) -> NandArray {
        let blocks = config.geometry.blocks() as usize;
        let pages = blocks * config.geometry.pages_per_block as usize;
        let words_per_block = bits::words_for(config.geometry.pages_per_block as usize);
        let sub_blocks = config.sub_blocks.map(UnitPages::sub_blocks);
        let leaves_per_block = sub_blocks.as_ref().map_or(config.tree.leaves(), UnitPages::units);
        let leaves = blocks * leaves_per_block;
        NandArray {
            words_per_block,
            programmed: PageColumn::new(blocks * words_per_block),
            tags: PageColumn::new(pages),
            versions: PageColumn::new(if config.tags.is_wide() { pages } else { 0 }),
            corrupt: Vec::new(),
            blocks: vec![BlockState::default(); blocks],
            disturb: vec![0; leaves],
            leaf_erases: vec![0; leaves],
            leaves_per_block,
            sub_blocks,
            word_lines: config
                .sub_blocks
                .zip(config.sub_block_disturb)
                .map(|(shape, bound)| WordLines::new(&config.geometry, shape, bound)),
            staged: StagedUnits::new(config.geometry.units_per_page),
            power: None,
            config,
        }
    }

    /// Puts the columns of pages into large pages, because programs will reach all of them. Nothing is programmed yet.
    pub fn use_large_pages(&mut self) {
        self.programmed = PageColumn::new_in_large_pages(self.programmed.len());
        self.tags = PageColumn::new_in_large_pages(self.tags.len());
        self.versions = PageColumn::new_in_large_pages(self.versions.len());
    }

    /// Bytes of state per page of the device, all columns counted as if touched.
    pub fn bytes_per_page(&self) -> f64 {
        let columns = (self.tags.len() + self.leaf_erases.len()) * 4
            + (self.programmed.len() + self.corrupt.len()) * 8
            + self.versions.len()
            + self.disturb.len()
            + self.word_lines.as_ref().map_or(0, WordLines::state_bytes)
            + self.power_bytes()
            + self.blocks.len() * size_of::<BlockState>();
        columns as f64 / self.tags.len() as f64
    }

    /// Marks a block bad, as the factory does.
    pub fn mark_bad(&mut self, block: BlockId) {
        self.blocks[block.index()].bad = true;
    }

    /// Fills pages `0..pages` of an erased block with the logical pages `first`, `first + stride`, …
    /// in version [`FILL_VERSION`]; costs nothing per page. Part of building the initial state.
    pub fn fill_block(&mut self, block: BlockId, [first, stride]: [u32; 2], pages: u16, sequence: u32) {
        let truth = &mut self.blocks[block.index()];
        assert!(truth.next_in_order == 0 && !truth.bad, "the initial fill takes good, erased blocks");
        truth.fill_lpn = first;
        truth.fill_stride = stride;
        truth.fill_pages = pages;
        truth.next_in_order = pages;
        truth.sequence = sequence;
        let words = self.words(block);
        bits::set_range(&mut self.programmed[words], 0, pages as usize);
        self.fill_summary(block, pages);
    }

    /// What the array knows of its chips.
    pub fn config(&self) -> &ArrayConfig {
        &self.config
    }

    /// Leaves of a block: those of the tree of partial blocks, or its sub-blocks.
    pub fn leaves_per_block(&self) -> usize {
        self.leaves_per_block
    }

    /// The leaf that holds a page: a part that wears apart.
    #[inline]
    pub fn leaf_of(&self, page: u16) -> usize {
        match &self.sub_blocks {
            Some(units) => units.unit_of(page),
            None => self.config.tree.leaf_of_page(usize::from(page)),
        }
    }

    /// Whether a block is bad: from the factory, or retired.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.blocks[block.index()].bad
    }

    /// Number of bad blocks.
    pub fn bad_blocks(&self) -> u64 {
        self.blocks.iter().filter(|block| block.bad).count() as u64
    }

    /// What [`NandArray::fill_block`] stored in a block that has taken no program or partial erase
    /// since: first logical page and stride, pages, sequence number.
    pub fn initial_fill(&self, block: BlockId) -> Option<([u32; 2], u16, u32)> {
        let block = &self.blocks[block.index()];
        (block.fill_pages > 0).then_some(([block.fill_lpn, block.fill_stride], block.fill_pages, block.sequence))
    }

    /// Executes one command, checked against every rule.
    ///
    /// # Errors
    /// The rule that the command breaks; the array is then unchanged.
    #[inline]
    pub fn execute(&mut self, command: &FlashCommand) -> Result<Returned, Violation> {
        // The check and what it lets through are two steps. In one result of both they would share their bytes, and
        // every read would wait until those are put together in memory.
        match self.check_rules(command) {
            Ok(()) => Ok(self.perform(command)),
            Err(rule) => Err(Violation { rule, command: *command }),
        }
    }

    /// Executes a page read or a copy, and returns what the page held.
    ///
    /// # Errors
    /// As [`NandArray::execute`].
    #[inline(always)]
    pub fn fetch(&mut self, command: &FlashCommand) -> Result<PageContent, Violation> {
        let copies = command.op == FlashOp::Copy;
        let checked = if copies { self.check_copy(command) } else { self.check_readable(command.target) };
        match checked {
            Ok(()) if copies => Ok(self.copy(command)),
            Ok(()) => Ok(self.page_content(command.target)),
            Err(rule) => Err(Violation { rule, command: *command }),
        }
    }

    /// Prefetches the state of `page`, which a command will read or program; no effect on results.
    #[inline]
    pub fn expect(&self, page: PageAddress) {
        prefetch(self.blocks.get(page.block.index()));
        prefetch(self.programmed.get(self.bit(page) >> 6));
        prefetch(self.tags.get(self.column(page)));
    }

    /// Prefetches the tags of a page that is copied, and of where it goes; no effect on results. The rest of their
    /// blocks' state is in the cache: copies go through blocks in order.
    #[inline]
    pub fn expect_copy(&self, command: &FlashCommand) {
        prefetch(self.tags.get(self.column(command.source)));
        prefetch(self.tags.get(self.column(command.target)));
    }

    /// Whether a page is programmed (a spare read of a blank page is legal).
    #[inline(always)]
    pub fn is_programmed(&self, page: PageAddress) -> bool {
        bits::get(&self.programmed, self.bit(page))
    }

    /// The spare area of a page: `None` if it is blank. What a recovery scan would read.
    pub fn spare(&self, page: PageAddress) -> Option<(Lpn, u8, u32)> {
        self.is_programmed(page).then(|| {
            let (lpn, version) = self.content(page);
            (lpn, version, self.blocks[page.block.index()].sequence)
        })
    }

    /// What a read of the page would return, without a command: for the final read-back.
    ///
    /// # Errors
    /// The rule that such a read would break.
    #[inline]
    pub fn peek(&self, page: PageAddress) -> Result<PageContent, Rule> {
        self.check_readable(page)?;
        Ok(self.page_content(page))
    }

    /// What the cells of a page hold, in a bad block too: `None` if it is erased.
    pub fn sensed(&self, page: PageAddress) -> Option<PageContent> {
        self.is_programmed(page).then(|| self.page_content(page))
    }

    /// Disturb counters of a block, one a leaf.
    pub fn disturb(&self, block: BlockId) -> &[u8] {
        &self.disturb[self.leaves(block)]
    }

    /// Programs in other sub-blocks on the word line of a programmed page since its cells were programmed; 0
    /// where sub-blocks do not disturb each other.
    pub fn word_line_disturb(&self, page: PageAddress) -> u32 {
        let is_filled = page.page < self.blocks[page.block.index()].fill_pages;
        let counted = self.word_lines.as_ref().filter(|_| !is_filled);
        counted.map_or(0, |lines| lines.disturbs(page))
    }

    /// Erases that hit leaf `leaf` of `block` in this run.
    pub fn leaf_erases(&self, block: BlockId, leaf: usize) -> u64 {
        let whole = self.blocks[block.index()].erases;
        u64::from(whole) + u64::from(self.leaf_erases[self.leaves(block)][leaf])
    }

    /// AEP, VEP and the most worn page of this run.
    pub fn wear(&self) -> WearSummary {
        let blocks = self.blocks.iter().zip(self.leaf_erases.chunks(self.leaves_per_block));
        WearSummary::over_leaves(blocks.map(|(block, leaves)| (u64::from(block.erases), leaves)))
    }

    /// Adds the erases that another thread has counted, on planes of its own.
    pub fn add_wear(&mut self, other: &NandArray) {
        self.leaf_erases.iter_mut().zip(&other.leaf_erases).for_each(|(sum, erases)| *sum += erases);
        self.blocks.iter_mut().zip(&other.blocks).for_each(|(sum, block)| sum.erases += block.erases);
        if self.corrupt.is_empty() {
            self.corrupt = vec![0; other.corrupt.len()];
        }
    }

    /// Forgets the erases counted so far: measuring starts here.
    pub fn reset_wear(&mut self) {
        self.leaf_erases.fill(0);
        self.blocks.iter_mut().for_each(|block| block.erases = 0);
    }

    #[inline]
    fn words(&self, block: BlockId) -> std::ops::Range<usize> {
        let start = block.index() * self.words_per_block;
        start..start + self.words_per_block
    }

    /// The place of a page in a column of bits.
    #[inline]
    fn bit(&self, page: PageAddress) -> usize {
        page.block.index() * self.words_per_block * 64 + usize::from(page.page)
    }

    #[inline]
    fn leaves(&self, block: BlockId) -> std::ops::Range<usize> {
        let leaves = self.leaves_per_block;
        block.index() * leaves..(block.index() + 1) * leaves
    }

    #[inline]
    fn column(&self, page: PageAddress) -> usize {
        page.block.index() * self.config.geometry.pages_per_block as usize + page.page as usize
    }

    /// Logical page and version of a programmed page.
    #[inline(always)]
    fn content(&self, page: PageAddress) -> (Lpn, u8) {
        let block = &self.blocks[page.block.index()];
        if page.page < block.fill_pages {
            return (block.filled_with(page.page, self.config.geometry.units_per_page), FILL_VERSION);
        }
        let column = self.column(page);
        self.config.tags.unpack(self.tags[column], || self.versions[column])
    }

    /// Notes what is programmed into the spare area of a page.
    #[inline(always)]
    fn set_content(&mut self, column: usize, lpn: Lpn, version: u8) {
        let (tag, own) = self.config.tags.pack(lpn, version);
        self.tags[column] = tag;
        if self.config.tags.is_wide() {
            self.versions[column] = own;
        }
    }

    /// What a programmed page returns.
    #[inline(always)]
    fn page_content(&self, page: PageAddress) -> PageContent {
        let (lpn, version) = self.content(page);
        let corrupt = self.is_over_tolerance(page) || self.was_copied_corrupt(page);
        PageContent { lpn, version, corrupt }
    }

    #[inline(always)]
    fn is_over_tolerance(&self, page: PageAddress) -> bool {
        self.blocks[page.block.index()].over_tolerance
            && match &self.word_lines {
                Some(lines) => lines.is_over(page),
                None => {
                    let leaf = self.config.tree.leaf_of_page(page.page as usize);
                    self.disturb(page.block)[leaf] > self.config.disturb_tolerance
                }
            }
    }

    #[inline]
    fn was_copied_corrupt(&self, page: PageAddress) -> bool {
        !self.corrupt.is_empty() && bits::get(&self.corrupt, self.bit(page))
    }
}
