//! Recovery for layers that keep everything of a *unit* (a logical block, or a superblock) on one plane. The
//! spare area of every page is read; then each unit is brought back to the blocks that its logical pages fill.
//!
//! A spare area holds the logical page, the number of the write that brought the data, and that of the program. Of
//! each logical page the largest write number counts, and of its copies the one programmed last: a block is erased
//! only after the programs that replace its pages, and a die does what it does in the order of decision.
//!
//! Only one operation of a die can have been cut, or of a plane where a die works on several at once; what is said here
//! of a die is then true of a plane. The page programmed last is the *suspect*: it may be unfinished
//! although it reads well. Or an erase was cut, which leaves no trace either; then the suspect is sound. So:
//!
//! 1. The unit of the suspect comes first. Its pages are copied into a block that is erased before, while everything
//!    can still be read.
//! 2. Then all blocks without a page that counts are erased, and not before.
//! 3. Every other unit that has more blocks than its pages fill, or shares one, is copied likewise.
//!
//! Cuts that follow each other closely leave one target after the other. Each holds the first pages of what the one
//! before held. A plane keeps [`RESERVE`] free blocks for them. When they are used up, one of three targets holds
//! nothing that the other two do not hold, and can be erased whatever the last cut has hurt ([`Finds::is_spare`]). What
//! then counts in place of its pages is suspect too.

mod found_units;
pub mod survey;
mod unit_rebuild;

use pumice_types::{BlockId, DieId, Geometry, Lpn, bits};

use crate::blocks::block_pool::BlockPool;
use crate::plan::FtlError;
use crate::seam::{LayerSpec, MergeMethod, Proofs, Recovery, RecoveryCounts, Restart};
use found_units::Finds;
use survey::{AreaSurvey, CutArea};
use unit_rebuild::UnitRebuild;

/// Free blocks of a plane beyond what merges need.
const RESERVE: u32 = 3;

/// Bytes that a spare area needs for this: the logical page, and two numbers of 48 bits.
pub const SPARE_BYTES: u32 = 4 + 6 + 6;

/// Bytes of a spare area with a mark of the page: its role, or the open block that took it.
pub const MARKED_SPARE_BYTES: u32 = SPARE_BYTES + 1;

/// Copies in a recovery come after everything that was programmed before.
const RECOVERY_ORDER: u64 = 1 << 48;

/// Bytes of a spare area with what a merge needs beside: a page that M-Merge has restored says so.
pub fn spare_bytes(spec: &LayerSpec) -> u32 {
    match spec.shared.merge {
        MergeMethod::BlockErase => SPARE_BYTES,
        MergeMethod::MMerge | MergeMethod::MMergeBudgeted => MARKED_SPARE_BYTES,
    }
}

/// Free blocks of a plane that a spec's layer keeps for recovery.
pub fn reserve(spec: &LayerSpec) -> u32 {
    if spec.shared.recovery == Recovery::Off { 0 } else { RESERVE }
}

/// What units are.
#[derive(Clone, Copy, Debug)]
pub struct UnitShape {
    /// Shape of the device.
    pub geometry: Geometry,
    /// Logical blocks of a unit, which are as many blocks as its pages fill.
    pub blocks: u32,
    /// Every page has its own offset in its block; a unit is one logical block.
    pub in_place: bool,
}

impl UnitShape {
    /// Single logical blocks whose pages are at their own offsets.
    pub fn in_place(geometry: Geometry) -> UnitShape {
        UnitShape { geometry, blocks: 1, in_place: true }
    }

    fn unit_of(&self, lpn: Lpn) -> u32 {
        lpn.0 / (self.blocks * u32::from(self.geometry.pages_per_block))
    }

    fn offset_of(&self, lpn: Lpn) -> u16 {
        (lpn.0 % u32::from(self.geometry.pages_per_block)) as u16
    }
}

/// A current page of a kept block.
#[derive(Clone, Copy, Debug)]
pub struct KeptPage {
    /// Page of the block.
    pub page: u16,
    /// Logical page of the data.
    pub lpn: Lpn,
    /// Larger than that of pages programmed before it.
    pub order: u64,
}

/// A block that a unit keeps.
#[derive(Debug)]
pub struct KeptBlock {
    /// The block.
    pub block: BlockId,
    /// New sequence number of the block.
    pub sequence: u32,
    /// The block was erased for these copies. The blank pages of any other block may hide a program that was cut.
    pub is_fresh: bool,
    /// A part of it may have been erased since it was erased whole.
    pub may_be_restored: bool,
    /// Current pages of the block, in page order.
    pub pages: Vec<KeptPage>,
}

/// A unit that was found, and its blocks.
#[derive(Debug)]
pub struct KeptUnit {
    /// The unit's number.
    pub unit: u32,
    /// At most as many as it has logical blocks.
    pub blocks: Vec<KeptBlock>,
    /// More blocks than that held pages of it, whether they count or not.
    pub was_larger: bool,
}

/// A device that recovers.
pub struct UnitRecovery {
    shape: UnitShape,
    is_bad: Vec<u64>,
    /// Free blocks, when all dies are done.
    pub pool: BlockPool,
    /// What is known of the blocks.
    pub proofs: Proofs,
    /// What was found.
    pub counts: RecoveryCounts,
    copies: u64,
}

impl UnitRecovery {
    /// Nothing is known.
    pub fn new(shape: UnitShape, bad: &[BlockId]) -> UnitRecovery {
        let geometry = &shape.geometry;
        let mut is_bad = vec![0; bits::words_for(geometry.blocks() as usize)];
        bad.iter().for_each(|block| bits::set(&mut is_bad, block.index()));
        UnitRecovery {
            shape,
            is_bad,
            pool: BlockPool::new(geometry, bad),
            proofs: Proofs::lost(geometry.blocks()),
            counts: RecoveryCounts::default(),
            copies: 0,
        }
    }

    /// Reads a die, and appends what must be done on it before the host is served. Returns what is then stored.
    ///
    /// # Errors
    /// No room to copy a unit.
    pub fn die(&mut self, die: DieId, restart: &mut Restart) -> Result<Vec<KeptUnit>, FtlError> {
        let mut kept = Vec::new();
        for area in CutArea::all_of(&self.shape.geometry, die, restart.planes_apart) {
            kept.extend(self.area(&area, restart)?);
        }
        Ok(kept)
    }

    fn area(&mut self, area: &CutArea, restart: &mut Restart) -> Result<Vec<KeptUnit>, FtlError> {
        let survey = AreaSurvey::read(&self.shape.geometry, area, &self.is_bad, restart.chips);
        self.counts.unreadable_pages += survey.unreadable;
        for found in &survey.blocks {
            self.pool.withdraw(self.shape.geometry.plane_of(found.block), found.block);
        }
        let plan = &mut *restart.plan;
        let mut finds = Finds::of(&survey);
        let mut rebuild = UnitRebuild::new(self, plan);
        let erased = rebuild.make_room(&mut finds)?;
        rebuild.hold(&finds, erased);
        rebuild.units(survey.last.as_ref())
    }
}
