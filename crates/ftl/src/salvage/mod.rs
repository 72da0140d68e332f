//! Starting anew for layers that keep everything of a *unit* (a logical block, or a superblock) on one plane. The
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

mod finds;

use std::collections::BTreeMap;

use pumice_types::{BlockId, DieId, FlashCommand, Geometry, Lpn, PageAddress, RecoveryFault, SpareRole, bits};

use crate::block_pool::BlockPool;
use crate::error::FtlError;
use crate::layer::LayerSpec;
use crate::recovery::{Proofs, Recovery, RecoveryCounts, Restart};
use crate::survey::{AreaSurvey, CutArea, FoundBlock, FoundPage};
use finds::Finds;

/// Free blocks of a plane beyond what merges need.
const RESERVE: u32 = 3;

/// Bytes that a spare area needs for this: the logical page, and two numbers of 48 bits.
pub const SPARE_BYTES: u32 = 4 + 6 + 6;

/// The same with a mark of the page: its role, or the open block that took it.
pub const MARKED_SPARE_BYTES: u32 = SPARE_BYTES + 1;

/// Copies in a recovery come after everything that was programmed before.
const RECOVERY_ORDER: u64 = 1 << 48;

/// Free blocks of a plane that a spec's layer keeps for starting anew.
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
    /// Its logical page.
    pub lpn: Lpn,
    /// Larger than that of pages programmed before it.
    pub order: u64,
}

/// A block that a unit keeps.
#[derive(Debug)]
pub struct KeptBlock {
    /// Which.
    pub block: BlockId,
    /// Its new sequence number.
    pub sequence: u32,
    /// It was erased for these copies. The blank pages of any other block may hide a program that was cut.
    pub is_fresh: bool,
    /// A part of it may have been erased since it was erased whole.
    pub may_be_restored: bool,
    /// Its current pages, in page order.
    pub pages: Vec<KeptPage>,
}

/// A unit that was found, and its blocks.
#[derive(Debug)]
pub struct KeptUnit {
    /// Which.
    pub unit: u32,
    /// At most as many as it has logical blocks.
    pub blocks: Vec<KeptBlock>,
    /// More blocks than that held pages of it, whether they count or not.
    pub was_larger: bool,
}

/// A block that was found, until it is erased or kept.
struct Holding {
    block: BlockId,
    /// Logical page of its first readable page.
    first: Option<Lpn>,
    may_be_restored: bool,
    is_open: bool,
    is_erased: bool,
    /// Pages that count and have not been copied.
    pages: Vec<KeptPage>,
}

/// A device that starts anew.
pub struct Salvage {
    shape: UnitShape,
    is_bad: Vec<u64>,
    /// Free blocks, when all dies are done.
    pub pool: BlockPool,
    /// What is known of them.
    pub proofs: Proofs,
    /// What was found.
    pub counts: RecoveryCounts,
    copies: u64,
}

impl Salvage {
    /// Nothing is known.
    pub fn new(shape: UnitShape, bad: &[BlockId], restart: &Restart) -> Salvage {
        let geometry = &shape.geometry;
        let mut is_bad = vec![0; bits::words_for(geometry.blocks() as usize)];
        bad.iter().for_each(|block| bits::set(&mut is_bad, block.index()));
        Salvage {
            shape,
            is_bad,
            pool: BlockPool::new(geometry, bad),
            proofs: Proofs::lost(geometry.blocks(), restart.erased_again),
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
        let mut rescue = Rescue { salvage: self, plan, holdings: Vec::new(), suspects: Vec::new() };
        let erased = rescue.make_room(&mut finds)?;
        rescue.hold(&finds, erased);
        let kept = rescue.units(survey.last.as_ref())?;
        if RecoveryFault::MovesNotDone.is_on() {
            restart.plan.clear();
        }
        Ok(kept)
    }
}

/// The work on one die, or plane.
struct Rescue<'a> {
    salvage: &'a mut Salvage,
    plan: &'a mut crate::plan::Plan,
    /// What was found, by address.
    holdings: Vec<Holding>,
    /// Pages that count, that the last cut may have hurt, and that have not been copied yet. Until then no block is
    /// erased.
    suspects: Vec<PageAddress>,
}

impl Rescue<'_> {
    fn erase(&mut self, block: BlockId) {
        self.salvage.proofs.erase(block, self.plan);
        self.salvage.pool.give_back(self.salvage.shape.geometry.plane_of(block), block);
    }

    /// Ends with a free block in the plane of the page programmed last. Returns the block that was erased for that.
    fn make_room(&mut self, finds: &mut Finds) -> Result<Option<BlockId>, FtlError> {
        let Some(last) = finds.suspect else { return Ok(None) };
        let geometry = self.salvage.shape.geometry;
        let plane = geometry.plane_of(last.block);
        if self.salvage.pool.free_blocks(plane) > 0 {
            return Ok(None);
        }
        let mut here = finds.survey.blocks.iter().filter(|found| geometry.plane_of(found.block) == plane);
        let spare = here.find(|found| finds.is_spare(found)).ok_or(FtlError::NoFreeBlock { plane: plane.0 })?;
        let counted = finds.counting().filter(|found| found.page.block == spare.block).map(|found| found.entry.lpn);
        let counted: Vec<Lpn> = counted.collect();
        finds.forget(spare.block);
        // What counts now in their place may lie in a block whose erase was cut. There are others of each.
        let in_their_place = counted.iter().filter_map(|&lpn| finds.copies_of(lpn).next());
        self.suspects.extend(in_their_place.map(|found| found.page));
        self.erase(spare.block);
        Ok(Some(spare.block))
    }

    /// Notes what the blocks hold that counts, and what of that is suspect.
    fn hold(&mut self, finds: &Finds, erased: Option<BlockId>) {
        self.holdings.extend(finds.survey.blocks.iter().map(|found| Holding::of(finds.survey, found)));
        for holding in self.holdings.iter_mut().filter(|holding| Some(holding.block) == erased) {
            holding.is_erased = true;
        }
        for found in finds.counting() {
            let at = self.holdings.partition_point(|holding| holding.block < found.page.block);
            let (page, lpn, order) = (found.page.page, found.entry.lpn, found.entry.programmed);
            self.holdings[at].pages.push(KeptPage { page, lpn, order });
            self.suspects.extend(finds.suspect.filter(|&suspect| suspect == found.page));
        }
        self.holdings.iter_mut().for_each(|holding| holding.pages.sort_unstable_by_key(|kept| kept.page));
    }

    /// Whether a block holds a suspect.
    fn is_suspected(&self, at: usize) -> bool {
        self.suspects.iter().any(|suspect| suspect.block == self.holdings[at].block)
    }

    /// Blocks with pages that count, by unit.
    fn blocks_of_units(&self) -> BTreeMap<u32, Vec<usize>> {
        let shape = self.salvage.shape;
        let mut units: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, holding) in self.holdings.iter().enumerate() {
            let mut of_block: Vec<u32> = holding.pages.iter().map(|kept| shape.unit_of(kept.lpn)).collect();
            of_block.sort_unstable();
            of_block.dedup();
            if RecoveryFault::SharedPagesForgotten.is_on() {
                of_block.truncate(1);
            }
            of_block.into_iter().for_each(|unit| units.entry(unit).or_default().push(at));
        }
        units
    }

    /// How many blocks were found with pages of each unit, whether they count or not.
    fn blocks_found(&self) -> BTreeMap<u32, u32> {
        let mut found: BTreeMap<u32, u32> = BTreeMap::new();
        for lpn in self.holdings.iter().filter_map(|holding| holding.first) {
            *found.entry(self.salvage.shape.unit_of(lpn)).or_default() += 1;
        }
        found
    }

    /// Brings all units back to the blocks that they fill, first that of the page programmed last, then all others with
    /// suspects.
    fn units(&mut self, last: Option<&FoundPage>) -> Result<Vec<KeptUnit>, FtlError> {
        let shape = self.salvage.shape;
        let (units, found) = (self.blocks_of_units(), self.blocks_found());
        let first = last.map(|last| shape.unit_of(last.entry.lpn));
        let mut ordered: Vec<u32> = units.keys().copied().collect();
        ordered.sort_by_key(|unit| (Some(*unit) != first, !units[unit].iter().any(|&at| self.is_suspected(at))));
        self.clear_dead();
        let mut kept = Vec::with_capacity(ordered.len());
        for unit in ordered {
            let of_unit = &units[&unit];
            let blocks = match self.is_clean(unit, of_unit) {
                true => of_unit.iter().map(|&at| self.keep(at)).collect(),
                false => self.rebuild(unit, of_unit)?,
            };
            let was_larger = found.get(&unit).is_some_and(|&found| found > shape.blocks);
            kept.push(KeptUnit { unit, blocks, was_larger });
        }
        Ok(kept)
    }

    /// Erases blocks without a page that counts, unless suspects still have to be copied.
    fn clear_dead(&mut self) {
        if !self.suspects.is_empty() && !RecoveryFault::SupersededErasedFirst.is_on() {
            return;
        }
        for at in 0..self.holdings.len() {
            if self.holdings[at].pages.is_empty() && !self.holdings[at].is_erased {
                self.holdings[at].is_erased = true;
                self.erase(self.holdings[at].block);
            }
        }
    }

    /// Whether a unit can keep its blocks as they are.
    fn is_clean(&self, unit: u32, of_unit: &[usize]) -> bool {
        let shape = self.salvage.shape;
        let is_own = |kept: &KeptPage| shape.unit_of(kept.lpn) == unit;
        let is_home = |kept: &KeptPage| is_own(kept) && (!shape.in_place || shape.offset_of(kept.lpn) == kept.page);
        let is_clean = |&at: &usize| !self.is_suspected(at) && self.holdings[at].pages.iter().all(is_home);
        of_unit.len() <= shape.blocks as usize && of_unit.iter().all(is_clean)
    }

    /// Keeps a block as it was found.
    fn keep(&mut self, at: usize) -> KeptBlock {
        let holding = &mut self.holdings[at];
        let pages = std::mem::take(&mut holding.pages);
        // Not free, and not to be erased.
        holding.is_erased = true;
        self.salvage.counts.abandoned_blocks += u64::from(holding.is_open);
        let (block, may_be_restored) = (holding.block, holding.may_be_restored);
        KeptBlock { block, sequence: self.salvage.pool.next_sequence(), is_fresh: false, may_be_restored, pages }
    }

    /// Copies as much of a unit into new blocks as brings it down to those that its pages fill; of a unit in place
    /// everything. Blocks with suspects come first.
    fn rebuild(&mut self, unit: u32, of_unit: &[usize]) -> Result<Vec<KeptBlock>, FtlError> {
        let mut sources = of_unit.to_vec();
        sources.sort_by_key(|&at| (!self.is_suspected(at), self.holdings[at].pages.len()));
        let mut fresh: Vec<KeptBlock> = Vec::new();
        let copied = self.to_copy(&sources);
        if self.salvage.shape.in_place {
            self.erase_early(&sources);
            self.copy_in_place(unit, &sources, &mut fresh)?;
            self.clear_dead();
        } else {
            for &source in &sources[..copied] {
                self.erase_early(&[source]);
                self.copy_in_order(source, &mut fresh)?;
                self.clear_dead();
            }
        }
        fresh.extend(sources[copied..].iter().map(|&at| self.keep(at)));
        Ok(fresh)
    }

    /// How many of a unit's blocks are copied: all with suspects, and the fewest that bring it down to those that its
    /// pages fill; all of a unit in place.
    fn to_copy(&self, sources: &[usize]) -> usize {
        let UnitShape { geometry, blocks, in_place } = self.salvage.shape;
        let mut pages = 0_usize;
        for (nth, &at) in sources.iter().enumerate() {
            let left = sources.len() - nth + pages.div_ceil(usize::from(geometry.pages_per_block));
            if left <= blocks as usize && !self.is_suspected(at) && !in_place {
                return nth;
            }
            pages += self.holdings[at].pages.len();
        }
        sources.len()
    }

    /// Copies a logical block to its own offsets.
    fn copy_in_place(&mut self, unit: u32, sources: &[usize], fresh: &mut Vec<KeptBlock>) -> Result<(), FtlError> {
        let shape = self.salvage.shape;
        let is_own = |kept: &KeptPage| shape.unit_of(kept.lpn) == unit;
        let mut pages: Vec<(BlockId, KeptPage)> = Vec::new();
        for &at in sources {
            let Holding { block, pages: held, .. } = &mut self.holdings[at];
            pages.extend(held.iter().filter(|kept| is_own(kept)).map(|&kept| (*block, kept)));
            held.retain(|kept| !is_own(kept));
        }
        pages.sort_unstable_by_key(|(_, kept)| kept.lpn);
        for (block, kept) in pages {
            let source = PageAddress::new(block, kept.page);
            self.copy(source, kept.lpn, Some(shape.offset_of(kept.lpn)), fresh)?;
        }
        Ok(())
    }

    /// Copies all that counts of a block, one page after the other.
    fn copy_in_order(&mut self, source: usize, fresh: &mut Vec<KeptBlock>) -> Result<(), FtlError> {
        let block = self.holdings[source].block;
        for kept in std::mem::take(&mut self.holdings[source].pages) {
            self.copy(PageAddress::new(block, kept.page), kept.lpn, None, fresh)?;
        }
        Ok(())
    }

    /// Copies a page to an offset, or to the next page, of the newest block.
    fn copy(
        &mut self,
        source: PageAddress,
        lpn: Lpn,
        offset: Option<u16>,
        fresh: &mut Vec<KeptBlock>,
    ) -> Result<(), FtlError> {
        let Salvage { shape, pool, proofs, .. } = &mut *self.salvage;
        let is_full = |block: &KeptBlock| block.pages.len() == usize::from(shape.geometry.pages_per_block);
        if fresh.last().is_none_or(is_full) {
            let plane = shape.geometry.plane_of(source.block);
            let (block, sequence) = pool.take(plane).ok_or(FtlError::NoFreeBlock { plane: plane.0 })?;
            proofs.prove(block, self.plan);
            fresh.push(KeptBlock { block, sequence, is_fresh: true, may_be_restored: false, pages: Vec::new() });
        }
        let Some(target) = fresh.last_mut() else { return Ok(()) };
        let page = offset.unwrap_or(target.pages.len() as u16);
        self.plan.push(FlashCommand::copy(source, PageAddress::new(target.block, page), lpn, target.sequence));
        self.suspects.retain(|&suspect| suspect != source);
        self.salvage.copies += 1;
        self.salvage.counts.moved_pages += 1;
        target.pages.push(KeptPage { page, lpn, order: RECOVERY_ORDER + self.salvage.copies });
        Ok(())
    }

    /// Erases what is about to be copied, which is a fault.
    fn erase_early(&mut self, sources: &[usize]) {
        if RecoveryFault::CopiedBlocksErasedFirst.is_on() {
            for &at in sources {
                self.salvage.proofs.erase(self.holdings[at].block, self.plan);
            }
        }
    }
}

impl Holding {
    fn of(survey: &AreaSurvey, found: &FoundBlock) -> Holding {
        let pages = survey.pages_of(found);
        let is_whole = pages.len() == usize::from(survey.pages_per_block);
        let is_restored = pages.iter().any(|found| found.entry.role() == SpareRole::Restored);
        Holding {
            block: found.block,
            first: pages.first().map(|found| found.entry.lpn),
            may_be_restored: !is_whole || is_restored,
            is_open: found.end < survey.pages_per_block,
            is_erased: false,
            pages: Vec::new(),
        }
    }
}
