//! What must be done on one die, or plane, before the host is served: copies of suspects and of units, and erases.

use std::collections::BTreeMap;

use pumice_types::{BlockId, FlashCommand, Lpn, PageAddress, SpareRole};

use super::found_units::Finds;
use super::survey::{AreaSurvey, FoundBlock, FoundPage};
use super::{KeptBlock, KeptPage, KeptUnit, RECOVERY_ORDER, UnitRecovery, UnitShape};
use crate::plan::{FtlError, Plan};

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

/// The work on one die, or plane.
pub(super) struct UnitRebuild<'a> {
    recovery: &'a mut UnitRecovery,
    plan: &'a mut Plan,
    /// What was found, by address.
    holdings: Vec<Holding>,
    /// Pages that count, that the last cut may have hurt, and that have not been copied yet. Until then no block is
    /// erased.
    suspects: Vec<PageAddress>,
}

impl<'a> UnitRebuild<'a> {
    /// Nothing was found yet.
    pub(super) fn new(recovery: &'a mut UnitRecovery, plan: &'a mut Plan) -> UnitRebuild<'a> {
        UnitRebuild { recovery, plan, holdings: Vec::new(), suspects: Vec::new() }
    }

    fn erase(&mut self, block: BlockId) {
        self.recovery.proofs.erase(block, self.plan);
        self.recovery.pool.give_back(self.recovery.shape.geometry.plane_of(block), block);
    }

    /// Ends with a free block in the plane of the page programmed last. Returns the block that was erased for that.
    pub(super) fn make_room(&mut self, finds: &mut Finds) -> Result<Option<BlockId>, FtlError> {
        let Some(last) = finds.suspect else { return Ok(None) };
        let geometry = self.recovery.shape.geometry;
        let plane = geometry.plane_of(last.block);
        if self.recovery.pool.free_blocks(plane) > 0 {
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
    pub(super) fn hold(&mut self, finds: &Finds, erased: Option<BlockId>) {
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
        let shape = self.recovery.shape;
        let mut units: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, holding) in self.holdings.iter().enumerate() {
            let mut of_block: Vec<u32> = holding.pages.iter().map(|kept| shape.unit_of(kept.lpn)).collect();
            of_block.sort_unstable();
            of_block.dedup();
            of_block.into_iter().for_each(|unit| units.entry(unit).or_default().push(at));
        }
        units
    }

    /// How many blocks were found with pages of each unit, whether they count or not.
    fn blocks_found(&self) -> BTreeMap<u32, u32> {
        let mut found: BTreeMap<u32, u32> = BTreeMap::new();
        for lpn in self.holdings.iter().filter_map(|holding| holding.first) {
            *found.entry(self.recovery.shape.unit_of(lpn)).or_default() += 1;
        }
        found
    }

    /// Brings all units back to the blocks that they fill, first that of the page programmed last, then all others with
    /// suspects.
    pub(super) fn units(&mut self, last: Option<&FoundPage>) -> Result<Vec<KeptUnit>, FtlError> {
        let shape = self.recovery.shape;
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
        if !self.suspects.is_empty() {
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
        let shape = self.recovery.shape;
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
        self.recovery.counts.abandoned_blocks += u64::from(holding.is_open);
        let (block, may_be_restored) = (holding.block, holding.may_be_restored);
        KeptBlock { block, sequence: self.recovery.pool.next_sequence(), is_fresh: false, may_be_restored, pages }
    }

    /// Copies as much of a unit into new blocks as brings it down to those that its pages fill; of a unit in place
    /// everything. Blocks with suspects come first.
    fn rebuild(&mut self, unit: u32, of_unit: &[usize]) -> Result<Vec<KeptBlock>, FtlError> {
        let mut sources = of_unit.to_vec();
        sources.sort_by_key(|&at| (!self.is_suspected(at), self.holdings[at].pages.len()));
        let mut fresh: Vec<KeptBlock> = Vec::new();
        let copied = self.to_copy(&sources);
        if self.recovery.shape.in_place {
            self.copy_in_place(unit, &sources, &mut fresh)?;
            self.clear_dead();
        } else {
            for &source in &sources[..copied] {
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
        let UnitShape { geometry, blocks, in_place } = self.recovery.shape;
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
        let shape = self.recovery.shape;
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
        let UnitRecovery { shape, pool, proofs, .. } = &mut *self.recovery;
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
        self.recovery.copies += 1;
        self.recovery.counts.moved_pages += 1;
        target.pages.push(KeptPage { page, lpn, order: RECOVERY_ORDER + self.recovery.copies });
        Ok(())
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
