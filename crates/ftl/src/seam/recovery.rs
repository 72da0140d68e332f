//! Recovery after a power cut: what a layer may ask the chips, and how a spec asks for it.

use pumice_types::{BlockId, FlashCommand, PageAddress, SpareArea, SpareEntry, bits, choice};
use serde::{Deserialize, Serialize};

use super::zones::ZoneCounters;
use crate::plan::{GcCounters, Payload, Plan};

choice! {
    /// How a layer finds its map again after a power cut.
    pub enum Recovery {
        /// No recovery: the device never loses power.
        Off = "off",
        /// The layer reads the spare area of every page that is written.
        Scan = "scan",
        /// The layer reads the last pages of each block, which list what the block holds, and the spare areas of blocks
        /// without such a list.
        Summary = "summary",
        /// The layer reads its map and a journal of changes from flash, and the spare areas of what is younger.
        Checkpoint = "checkpoint",
    }
}

/// Bytes of a page in the summary of its block: logical page, and the numbers of the write and of the program.
const SUMMARY_ENTRY_BYTES: u32 = 4 + 6 + 6;

impl Recovery {
    /// Whether the layer writes pages of its own for it.
    pub fn writes_own_pages(self) -> bool {
        match self {
            Recovery::Off | Recovery::Scan => false,
            Recovery::Summary | Recovery::Checkpoint => true,
        }
    }

    /// Pages at the end of each block of this shape that list what the block holds; where pages have several mapping units,
    /// the units of those pages.
    pub fn summary_pages(self, pages_per_block: u16, page_bytes: u32, units_per_page: u16) -> u16 {
        match self {
            Recovery::Off | Recovery::Scan | Recovery::Checkpoint => 0,
            Recovery::Summary => {
                // Each of them lists as many pages as it has room for, and takes one page itself.
                let units = u32::from(units_per_page);
                let entries = page_bytes * units / SUMMARY_ENTRY_BYTES;
                (u32::from(pages_per_block).div_ceil(entries + units) * units) as u16
            }
        }
    }
}

choice! {
    /// What the device's own energy, that of its capacitors, lets it do when the power is cut.
    pub enum CutProtection {
        /// Nothing.
        None = "none",
        /// The device ends what the dies have begun.
        Operations = "operations",
        /// The device ends all that is queued, and programs its write buffer.
        Full = "full",
    }
}

impl CutProtection {
    /// Whether what a die has begun ends, so that a cut leaves nothing half done.
    pub fn ends_operations(self) -> bool {
        match self {
            CutProtection::None => false,
            CutProtection::Operations | CutProtection::Full => true,
        }
    }

    /// Whether queues and write buffer are emptied, so that no acknowledged write is lost.
    pub fn empties_queues(self) -> bool {
        match self {
            CutProtection::None | CutProtection::Operations => false,
            CutProtection::Full => true,
        }
    }
}

/// The chips, as a controller sees them that knows nothing. Every answer is paid for by a command.
pub trait ChipPort {
    /// The spare area of one page, which costs a read.
    fn spare(&mut self, page: PageAddress) -> SpareArea;

    /// The spare areas of all pages of a block in order, which costs a read each, into `found`.
    fn spares(&mut self, block: BlockId, found: &mut Vec<SpareArea>);

    /// What the summary of a block says of the pages before it, into `found`, and the number of its program; `None`
    /// if it cannot be read. Costs the reads of its pages.
    fn summary(&mut self, block: BlockId, found: &mut Vec<SpareArea>) -> Option<u64>;

    /// The number that the spare areas of a block carry beside those of its pages; 0 if none of them was ever written.
    /// Costs nothing: of whoever asks, one of them was read.
    fn block_number(&mut self, block: BlockId) -> u32;

    /// Which version of its logical page a page holds that was found. The simulator knows data by its version, so this
    /// stands for the data itself: it is what a host gets that reads the page to write it elsewhere.
    fn version(&self, page: PageAddress) -> u8;

    /// A page of the layer's own, whole, with its spare area; `None` if it is blank or fails its code. Costs a read.
    fn page(&mut self, page: PageAddress) -> Option<(SpareEntry, Payload)>;
}

/// What a layer keeps of its map for the case of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSize {
    /// Blocks of a plane that are set aside for the map and its journal.
    pub blocks_per_plane: u64,
    /// RAM for what is not written yet, and for where the pages are.
    pub ram_bytes: u64,
}

/// Blocks of which nothing proves that they are erased: after a power cut, all that look so.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Proofs {
    /// One bit each; empty before the first cut.
    unproven: Vec<u64>,
}

impl Proofs {
    /// After a cut of a device of so many blocks.
    pub fn lost(blocks: u32) -> Proofs {
        Proofs { unproven: vec![u64::MAX; bits::words_for(blocks as usize)] }
    }

    /// Blocks after a cut that left nothing half done: what looks erased is.
    pub fn held(blocks: u32) -> Proofs {
        Proofs { unproven: vec![0; bits::words_for(blocks as usize)] }
    }

    /// A block was found to hold pages that count: it is not written before it is erased anyway.
    pub fn note_in_use(&mut self, block: BlockId) {
        bits::clear(&mut self.unproven, block.index());
    }

    /// A block was found written, and holds nothing that is needed: it is erased before it is written.
    pub fn note_superseded(&mut self, block: BlockId) {
        bits::set(&mut self.unproven, block.index());
    }

    /// Whether nothing proves that a block is erased.
    #[inline]
    pub fn is_lost(&self, block: BlockId) -> bool {
        !self.unproven.is_empty() && bits::get(&self.unproven, block.index())
    }

    /// Appends the erase of a block that looked erased when the power came back, before its first page is programmed.
    #[inline]
    pub fn prove(&mut self, block: BlockId, plan: &mut Plan) {
        if self.is_lost(block) {
            bits::clear(&mut self.unproven, block.index());
            plan.push(FlashCommand::erase_again(block));
        }
    }

    /// Appends the erase of a block that was found written, and holds nothing that is needed.
    pub fn erase(&mut self, block: BlockId, plan: &mut Plan) {
        bits::clear(&mut self.unproven, block.index());
        plan.push(FlashCommand::erase_again(block));
    }
}

/// What a layer recovers with.
pub struct Restart<'a> {
    /// The chips.
    pub chips: &'a mut dyn ChipPort,
    /// Takes what must have ended before the plan begins.
    pub first: &'a mut Plan,
    /// Takes what must be done before the host is served.
    pub plan: &'a mut Plan,
    /// What was counted before the cut. No knowledge of the layer: a measurement that goes on.
    pub counters: GcCounters,
    /// What happened to zones: a measurement too.
    pub zones: ZoneCounters,
    /// What cuts of the power leave half done.
    pub protection: CutProtection,
    /// A die may have been at work on several of its planes at once.
    pub planes_apart: bool,
}

/// What a layer found when it recovered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryCounts {
    /// Pages that fail their code.
    pub unreadable_pages: u64,
    /// Blocks that were being written, and are not written further.
    pub abandoned_blocks: u64,
    /// Pages that are copied because nothing proves that their program had ended.
    pub moved_pages: u64,
}

impl RecoveryCounts {
    /// Adds those of another start.
    pub fn add(&mut self, other: &RecoveryCounts) {
        self.unreadable_pages += other.unreadable_pages;
        self.abandoned_blocks += other.abandoned_blocks;
        self.moved_pages += other.moved_pages;
    }
}
