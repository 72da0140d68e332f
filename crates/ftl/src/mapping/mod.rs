//! The translation layers, one file each, behind one enum.

pub mod fast;
pub mod gftl;
pub mod log_block;
pub mod nftl;
pub mod page;
pub mod plane_book;
pub mod replacement_block;
pub mod striped;
pub mod superblock_2006;
pub mod superblock_pen;

use std::fmt;

use pumice_types::{BlockId, DieId, Lpn, PageAddress, RequestKind};

use crate::counters::GcCounters;
use crate::merge::restore::{MMergeSettings, MergeCosts};
use crate::merge::superblock::RestoreScope;
use crate::plan::Plan;
use fast::Fast;
use gftl::Gftl;
use log_block::LogBlock;
use nftl::Nftl;
use page::PageFtl;
use replacement_block::ReplacementBlock;
use striped::Striped;
use superblock_2006::Superblock2006;
use superblock_pen::SuperblockPen;

/// How pairs are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergePolicy {
    /// Always the full merge.
    BlockErase,
    /// M-Merge where it is cheaper and allowed.
    MMerge {
        /// Durations to weigh.
        costs: MergeCosts,
        /// Disturb and wear limits.
        settings: MMergeSettings,
        /// What is restored where pages have no place of their own (superblock FTL).
        scope: RestoreScope,
    },
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
/// `first + p · stride`.
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

/// An FTL that cannot go on. Never the input's fault: specs that could lead here are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FtlError {
    /// A plane has no free block where one is needed.
    NoFreeBlock {
        /// The plane.
        plane: u32,
    },
    /// The same, in a plane whose blocks failed their erases.
    WornOut {
        /// The plane.
        plane: u32,
        /// Its retired blocks.
        retired: u32,
    },
}

impl fmt::Display for FtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FtlError::NoFreeBlock { plane } => write!(f, "plane {plane} has no free block left"),
            FtlError::WornOut { plane, retired } => write!(
                f,
                "plane {plane} has no free block left: {retired} of its blocks failed their erase and are retired"
            ),
        }
    }
}

impl std::error::Error for FtlError {}

/// Every translation layer. Variants differ in size by design: there is one FTL a run.
pub enum Ftl {
    /// Block-level mapping with D-blocks and U-blocks.
    Nftl(Box<Nftl>),
    /// The same with merges cut into slots.
    Gftl(Box<Gftl>),
    /// Page-level mapping.
    Page(Box<PageFtl>),
    /// Page-mapped superblocks, as PEN uses them.
    SuperblockPen(Box<SuperblockPen>),
    /// In-place blocks with chains of replacement blocks.
    ReplacementBlock(Box<Striped<ReplacementBlock>>),
    /// Block-level mapping with a limited number of U-blocks (BAST).
    LogBlock(Box<Striped<LogBlock>>),
    /// Block-level mapping with log blocks that all logical blocks share.
    Fast(Box<Striped<Fast>>),
    /// The superblock FTL of 2006.
    Superblock2006(Box<Striped<Superblock2006>>),
}

/// One call on whichever layer there is.
macro_rules! each {
    ($self:ident, $ftl:ident => $call:expr) => {
        match $self {
            Ftl::Nftl($ftl) => $call,
            Ftl::Gftl($ftl) => $call,
            Ftl::Page($ftl) => $call,
            Ftl::SuperblockPen($ftl) => $call,
            Ftl::ReplacementBlock($ftl) => $call,
            Ftl::LogBlock($ftl) => $call,
            Ftl::Fast($ftl) => $call,
            Ftl::Superblock2006($ftl) => $call,
        }
    };
}

impl Ftl {
    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        each!(self, ftl => ftl.user_pages())
    }

    /// Appends the commands that store version `version` of `lpn`.
    ///
    /// # Errors
    /// [`FtlError`] if garbage collection cannot make room.
    #[inline]
    pub fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.write(lpn, version, plan))
    }

    /// Appends the commands that read `lpn`, which must return `version`. `false` if the page was
    /// never written and the controller answers alone.
    #[inline]
    pub fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        each!(self, ftl => ftl.read(lpn, version, plan))
    }

    /// Appends the map accesses that must be done before `lpn` is read, written or trimmed: none if its
    /// entry is in RAM. `write`, `read` and `trim` then take the entry as loaded. Unlike theirs, these
    /// commands may be on several dies.
    #[inline]
    pub fn load_map(&mut self, lpn: Lpn, kind: RequestKind, plan: &mut Plan) -> Result<(), FtlError> {
        match self {
            Ftl::Page(ftl) => ftl.load_map(lpn, kind, plan),
            _ => Ok(()),
        }
    }

    /// The host accesses `lpn` soon. Changes nothing; only what it costs.
    #[inline]
    pub fn expect(&self, lpn: Lpn) {
        if let Ftl::Page(ftl) = self {
            ftl.expect(lpn);
        }
    }

    /// The host writes `lpn` soon, which was expected before. Changes nothing; only what it costs.
    #[inline]
    pub fn expect_overwrite(&self, lpn: Lpn) {
        if let Ftl::Page(ftl) = self {
            ftl.expect_overwrite(lpn);
        }
    }

    /// Gives `lpn` up: it reads as never written. A block-level layer keeps the page, as the standards
    /// allow.
    #[inline]
    pub fn trim(&mut self, lpn: Lpn) {
        if let Ftl::Page(ftl) = self {
            ftl.trim(lpn);
        }
    }

    /// Appends the next step of reclaiming that `die` may take while no host command waits for it:
    /// one page copied, or one block erased. Nothing if none is due.
    #[inline]
    pub fn internal_step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        match self {
            Ftl::Page(ftl) => ftl.internal_step(die, plan),
            _ => Ok(()),
        }
    }

    /// Whether [`Ftl::internal_step`] would append a step. Cheap: it may be asked at every event.
    #[inline]
    pub fn wants_step(&self, die: DieId) -> bool {
        match self {
            Ftl::Page(ftl) => ftl.wants_step(die),
            _ => false,
        }
    }

    /// Where the FTL believes the current page of `lpn` is.
    pub fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        each!(self, ftl => ftl.locate(lpn))
    }

    /// What garbage collection did so far.
    pub fn counters(&self) -> &GcCounters {
        each!(self, ftl => ftl.counters())
    }

    /// Starts counting anew.
    pub fn reset_counters(&mut self) {
        each!(self, ftl => ftl.reset_counters());
    }

    /// Bytes of RAM that the controller's map needs.
    pub fn map_ram_bytes(&self) -> u64 {
        each!(self, ftl => ftl.map_ram_bytes())
    }

    /// Bytes of the simulator's own FTL state, all of it counted as if touched.
    pub fn state_bytes(&self) -> u64 {
        each!(self, ftl => ftl.state_bytes())
    }
}
