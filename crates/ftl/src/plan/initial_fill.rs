//! What is stored before the first request.

use pumice_types::key::{ANY, CHOSEN, PEN_TABLE_1, When, float};
use pumice_types::{BlockId, FlashCommand, Lpn, PageAddress, choice, keys};

use super::commands::Payload;
use super::ftl_error::FtlError;

choice! {
    /// What the share of the initial fill is taken of.
    pub enum FillUnit {
        /// Some logical blocks are full, the others empty.
        Block = "block",
        /// Every logical block has some of its pages.
        Page = "page",
    }
}

choice! {
    /// What ages a device before its first request.
    pub enum AgedBy {
        /// Random writes of one page.
        Pages = "pages",
        /// What the workload writes.
        Requests = "requests",
        /// Random writes of one page since ever: the state that they end in is drawn, and the last of them are done.
        Drawn = "drawn",
    }
}

keys! {
    /// `[initial]`
    pub struct InitialKeys in "initial" {
        fill: f64 = "0.95", float(0.0, 1.0), "share", PEN_TABLE_1, When::Always,
            "What is stored before the first request.";
        fill_unit: FillUnit = "\"block\"", ANY, "", CHOSEN, When::IsNot("ftl.kind", &["page", "zns"]),
            "block: this share of the logical blocks is full. page: every logical block is full up to this share. Page-level FTL and zones: always the first pages up to this share.";
        age_writes: f64 = "0.0", float(0.0, 1000.0), "user capacities", CHOSEN, When::Always,
            "Writes before the first request, untimed and not counted; aged_by says which.";
        aged_by: AgedBy = "\"pages\"", ANY, "", CHOSEN, When::Positive("initial.age_writes"),
            "pages: random writes of one page over the workload's footprint. requests: the workload's own writes and trims; a generator's follow those of the run, others come from the start, as often as needed. If requests write several pages, a state aged by single pages can last, above all with ftl.allocation = \"static\". drawn: as after very many writes of pages, by drawing the steady state (greedy collection at page level) and then writing so much; blocks keep their wear.";
    }
}

impl InitialKeys {
    /// Whether the device begins in a state that is drawn, so that nothing is stored by a fill.
    pub fn is_drawn(&self) -> bool {
        self.age_writes > 0.0 && self.aged_by == AgedBy::Drawn
    }

    /// The fill of an FTL with logical blocks.
    pub fn of_blocks(&self) -> InitialFill {
        match self.fill_unit {
            FillUnit::Page => InitialFill::Pages(self.fill),
            FillUnit::Block => InitialFill::Blocks(self.fill),
        }
    }
}

/// What is stored before the first request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InitialFill {
    /// A share of the logical blocks is full, the others empty, evenly spread.
    Blocks(f64),
    /// Every logical block is full up to a share of its pages.
    Pages(f64),
}

impl InitialFill {
    /// Pages of a logical block of `pages` that are stored, the block being the `index`-th of its
    /// plane. Empty blocks are spread evenly: one is left empty whenever the empty share gains a whole
    /// block.
    pub fn pages_of(self, index: u64, pages: u16) -> u16 {
        let millionths = |share: f64| (share * 1e6).round() as u64;
        match self {
            InitialFill::Pages(share) => (u64::from(pages) * millionths(share) / 1_000_000) as u16,
            InitialFill::Blocks(share) => {
                let empty = millionths(1.0 - share);
                let is_empty = (index + 1) * empty / 1_000_000 > index * empty / 1_000_000;
                if is_empty { 0 } else { pages }
            }
        }
    }
}

/// A block that the initial fill programs: page p of `0..pages` holds logical page
/// `first + p · stride`. Where pages have several mapping units, `pages` counts units, and those of a page follow each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialBlock {
    /// Physical block.
    pub block: BlockId,
    /// Logical page of page 0.
    pub first: Lpn,
    /// Logical pages from one page to the next.
    pub stride: u32,
    /// Pages programmed.
    pub pages: u16,
    /// Sequence number of the block.
    pub sequence: u32,
}

/// What hears of the initial fill: the array, which is brought to the same state, and the check of what the
/// host reads.
pub trait FillTarget {
    /// Programs a block.
    fn program(&mut self, filled: &InitialBlock);

    /// Executes a command of a layer that fills itself by writes.
    ///
    /// # Errors
    /// A broken rule of the chip, in one line.
    fn execute(&mut self, command: &FlashCommand) -> Result<(), FtlError>;

    /// Programs a page of the layer's own.
    fn program_own(&mut self, _page: PageAddress, _lpn: Lpn, _content: Payload) {}

    /// Notes that `pages` logical pages from `first`, the first of a logical block, are stored.
    fn note_stored(&mut self, first: Lpn, pages: u32);
}

/// Passes on a block of an FTL with logical blocks.
pub(crate) fn program_and_note(target: &mut dyn FillTarget, filled: &InitialBlock) {
    target.program(filled);
    target.note_stored(filled.first, u32::from(filled.pages));
}
