//! GFTL, a comparator of PEN (FAST'18 §6.2.1): Choudhuri and Givargis, *Deterministic service
//! guarantees for NAND flash using partial block cleaning*, CODES+ISSS 2008, on top of the NFTL.
//!
//! Built: a full pair is not merged at once but queued; while it waits, its writes go to page-mapped write-buffer
//! blocks; every page written comes with a slot of tBERS for the plane's merge queue: one erase, or as many page
//! copies as fit; the die is idle for the rest of the slot. Deviations: the slot stands before the page's own
//! program, so that the response bears it (the sum is the same); a pair that an unpaired write would merge is queued
//! too, counted as soon as it is queued, and the write takes a block from the reserve under the threshold; a search
//! of U is cut into slots like copies. When the reserve or the buffer is used up, the write waits until the queue has
//! won a block, beyond its slot. GFTL's guarantee then fails, because merges are needed faster than slots come.
//!
//! Added: M-Merge slot by slot (PEN), where it is cheaper than the full merge.
//!
//! After a power cut every logical block with a U-block, with pages in the buffer, or half merged, is merged before the
//! host is served ([`crate::recovery`]); queue and buffer are empty then. The paper says nothing of power cuts. Added to
//! the spare area of a page, beside its logical page: the numbers of its write and of its program. A block that was
//! blank when the power came back is erased before it is used, beyond the slot: the guarantee fails once for each.

mod buffer;
mod clean;
mod gftl_spec;

use pumice_types::{BlockId, Cause, DieId, FlashCommand, Lpn, PageAddress, PlaneId, Time, bits};
use serde::{Deserialize, Serialize};

use super::nftl::{NONE, Nftl, NftlConfig, Trigger};
use crate::merge::restore::MergeChoice;
use crate::merge::run::NOT_IN_U;
use crate::plan::{FtlError, GcCounters, InitialBlock, InitialFill, Plan};
use crate::recovery::{KeptUnit, UnitRecovery, UnitShape};
use crate::seam::{Conduct, Figures, MemoryUse, RecoveryCounts, Restart, TranslationLayer};
use buffer::BufferBlocks;
use clean::Cleaning;

/// Settings of GFTL.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GftlConfig {
    /// The NFTL below. Its geometry holds the buffer's blocks too.
    pub nftl: NftlConfig,
    /// Free blocks of each plane that only recovery takes.
    pub reserve: usize,
    /// Write-buffer blocks of each plane, at least 1, taken from the plane's blocks.
    pub buffer_blocks: u32,
    /// Length of a slot: a block erase.
    pub slot: Time,
    /// One page copied.
    pub copy: Time,
    /// Partial erases by level.
    pub partial_erase: Vec<Time>,
    /// One spare area read in a search.
    pub search_page: Time,
    /// What a search costs besides.
    pub search: Time,
}

/// The translation layer's state.
#[derive(Clone, Serialize, Deserialize)]
pub struct Gftl {
    nftl: Nftl,
    config: GftlConfig,
    buffer: BufferBlocks,
    /// Whether each logical block waits to be merged, or is being merged.
    queued: Vec<bool>,
    planes: Vec<Cleaning>,
}

impl Gftl {
    /// An empty device over its good blocks.
    pub fn new(config: GftlConfig, bad_blocks: &[BlockId]) -> Gftl {
        let geometry = config.nftl.geometry;
        let nftl = Nftl::new(config.nftl.clone(), bad_blocks);
        let (blocks, pages) = (geometry.blocks_per_plane as usize, usize::from(geometry.pages_per_block));
        Gftl {
            buffer: BufferBlocks::new(&geometry, config.buffer_blocks, nftl.user_pages()),
            queued: vec![false; nftl.logical.len()],
            planes: (0..geometry.planes()).map(|_| Cleaning::new(blocks, pages)).collect(),
            nftl,
            config,
        }
    }

    /// A device that has lost its power: every logical block has a D-block alone, and the buffer is empty.
    ///
    /// # Errors
    /// No room to work in.
    fn recover(config: GftlConfig, bad: &[BlockId], restart: &mut Restart) -> Result<(Gftl, RecoveryCounts), FtlError> {
        let geometry = config.nftl.geometry;
        let mut ftl = Gftl::new(config, bad);
        let mut recovery = UnitRecovery::new(UnitShape::in_place(geometry), bad);
        for die in (0..geometry.dies()).map(DieId) {
            for KeptUnit { unit, blocks, .. } in recovery.die(die, restart)? {
                blocks.iter().for_each(|kept| ftl.nftl.adopt_kept(unit as usize, kept));
            }
        }
        (ftl.nftl.pool, ftl.nftl.proofs, ftl.nftl.counters) = (recovery.pool, recovery.proofs, restart.counters);
        Ok((ftl, recovery.counts))
    }

    /// See [`Nftl::fill`].
    ///
    /// # Errors
    /// [`FtlError`] if a plane has fewer blocks than the fill needs.
    pub fn fill(&mut self, fill: InitialFill, programmed: impl FnMut(InitialBlock)) -> Result<(), FtlError> {
        self.nftl.fill(fill, programmed)
    }

    /// Gives a logical block a U-block. If the plane runs low even when all that is queued will be done,
    /// its best victim is queued.
    fn pair(&mut self, logical: usize, plan: &mut Plan) -> Result<(), FtlError> {
        let plane = self.nftl.plane_of(logical);
        let expected = self.available(plane.index()) + self.planes[plane.index()].waiting();
        if expected <= self.nftl.config.gc_free_blocks as usize {
            self.enqueue_victim(plane.index());
        }
        self.win_block(plane.index(), plan)?;
        self.nftl.give_u_block(logical, plan)
    }

    /// Free blocks of a plane without those that are the buffer's.
    fn available(&self, plane: usize) -> usize {
        let free = self.nftl.pool.free_blocks(PlaneId(plane as u32));
        free.saturating_sub(self.buffer.blocks_left(plane))
    }

    fn enqueue(&mut self, logical: usize, trigger: Trigger) {
        self.nftl.note_trigger(logical, trigger);
        let plane = self.nftl.plane_of(logical);
        let slot = self.nftl.logical[logical].u_slot;
        if slot != NONE {
            self.nftl.victims[plane.index()].remove(slot as usize % self.nftl.slots_per_plane);
        }
        self.queued[logical] = true;
        self.planes[plane.index()].queue.push_back(logical as u32);
    }

    fn enqueue_victim(&mut self, plane: usize) -> bool {
        let victim = self.nftl.best_victim(PlaneId(plane as u32));
        if let Some(victim) = victim {
            self.enqueue(victim, Trigger::Unpaired);
        }
        victim.is_some()
    }

    /// Writes a page of a queued logical block.
    fn write_to_buffer(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let (logical, offset) = self.nftl.split(lpn);
        let plane = self.nftl.plane_of(logical);
        if self.buffer.next_page(plane.index()).is_none() {
            self.win_buffer_block(plane.index(), plan)?;
            let (block, sequence) = self.nftl.take_block(plane)?;
            self.nftl.proofs.prove(block, plan);
            self.buffer.open(plane.index(), block, sequence);
        }
        let target = self.buffer.next_page(plane.index()).ok_or(FtlError::NoFreeBlock { plane: plane.0 })?;
        self.forget_buffered(plane.index(), lpn);
        self.supersede(logical, offset);
        self.buffer.store(lpn, target.page);
        plan.push(FlashCommand::program(Cause::Host, target.page, lpn, version, target.sequence));
        Ok(())
    }

    /// Forgets the buffer's copy of a page; its block is erased if that was the last.
    fn forget_buffered(&mut self, plane: usize, lpn: Lpn) {
        if let Some(block) = self.buffer.forget(plane, lpn) {
            self.planes[plane].dead.push_back((block, MergeChoice::Merge));
        }
    }

    /// Forgets the copy of a page in D or U.
    fn supersede(&mut self, logical: usize, offset: usize) {
        let words = self.nftl.words_of(logical);
        bits::clear(&mut self.nftl.d_valid[words], offset);
        let slot = self.nftl.logical[logical].u_slot;
        if slot != NONE {
            self.nftl.in_u[slot as usize * self.nftl.pages + offset] = NOT_IN_U;
        }
    }

    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        self.nftl.user_pages()
    }
}

impl TranslationLayer for Gftl {
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let (logical, offset) = self.nftl.split(lpn);
        let plane = self.nftl.plane_of(logical).index();
        self.slot(plane, plan)?;
        if self.queued[logical] {
            return self.write_to_buffer(lpn, version, plan);
        }
        if self.nftl.logical[logical].d == NONE {
            self.win_block(plane, plan)?;
            self.nftl.take_d_block(logical, plan)?;
        }
        if self.nftl.fits_d(logical, offset) {
            self.nftl.program_d(logical, offset, version, plan);
        } else {
            if self.nftl.logical[logical].u_slot == NONE {
                self.pair(logical, plan)?;
            }
            self.nftl.append_to_u(logical, offset, version, plan);
            let slot = self.nftl.logical[logical].u_slot as usize;
            if usize::from(self.nftl.u_blocks[slot].written) == self.nftl.pages {
                self.enqueue(logical, Trigger::Full);
            }
        }
        self.forget_buffered(plane, lpn);
        Ok(())
    }

    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        match self.buffer.locate(lpn) {
            Some(page) => {
                plan.push(FlashCommand::read(Cause::Host, page, lpn, version));
                true
            }
            // The merge has just searched U, and knows where it has put its pages.
            None if self.is_restored(lpn) => {
                let page = self.nftl.locate(lpn);
                page.into_iter().for_each(|page| plan.push(FlashCommand::read(Cause::Host, page, lpn, version)));
                page.is_some()
            }
            None => self.nftl.read(lpn, version, plan),
        }
    }

    #[inline]
    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        self.buffer.locate(lpn).or_else(|| self.nftl.locate(lpn))
    }

    fn conduct(&self) -> Conduct {
        self.nftl.conduct()
    }

    crate::seam::capabilities!(figures, memory);
}

impl Figures for Gftl {
    /// What garbage collection did so far.
    fn counters(&self) -> &GcCounters {
        self.nftl.counters()
    }

    fn counters_mut(&mut self) -> &mut GcCounters {
        self.nftl.counters_mut()
    }

    /// Starts counting anew.
    fn reset_counters(&mut self) {
        self.nftl.reset_counters();
    }
}

impl MemoryUse for Gftl {
    /// RAM of the map: the NFTL's, a bit for each logical block, and for each page of the buffer its
    /// logical page in four bytes.
    fn map_ram_bytes(&self) -> u64 {
        let buffered = u64::from(self.config.buffer_blocks) * self.planes.len() as u64 * self.nftl.pages as u64;
        self.nftl.map_ram_bytes() + self.queued.len().div_ceil(8) as u64 + buffered * 4
    }

    /// Bytes of this struct's columns.
    fn state_bytes(&self) -> u64 {
        self.nftl.state_bytes() + self.buffer.state_bytes() + self.queued.len() as u64
    }
}
