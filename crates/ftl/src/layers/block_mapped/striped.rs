//! A translation layer that works plane by plane, over a whole device: units of logical blocks are dealt
//! out to the planes in turn, and each plane keeps its own blocks, U-blocks and victims. So all commands
//! of one page access are on one die.

use pumice_types::{BlockId, Cause, DieId, FlashCommand, Geometry, Lpn, PageAddress, PlaneId};
use serde::{Deserialize, Serialize};

use super::plane_book::{PlaneBook, PlanePlace, Shared, Step};
use crate::plan::{FtlError, GcCounters, InitialBlock, InitialFill, Plan};
use crate::recovery::{KeptUnit, UnitRecovery, UnitShape};
use crate::seam::{Conduct, Figures, Homes, MemoryUse, Merging, RecoveryCounts, Restart, TranslationLayer};

/// A translation layer over one plane. Logical pages are counted inside the plane.
pub trait PlaneFtl: Send {
    /// Whether every page of a D-block has its own offset.
    const IN_PLACE: bool = true;

    /// What it believes about the plane.
    fn book(&self) -> &PlaneBook;

    /// The book of the plane, to take over what was found after a power cut.
    fn book_mut(&mut self) -> &mut PlaneBook;

    /// Takes over the blocks that a unit, counted in the plane, has kept after a power cut, as its D-blocks. The book
    /// knows them.
    fn adopt_kept(&mut self, unit: u32, found: &KeptUnit);

    /// Stores the first `pages` pages of a logical block before the first request.
    ///
    /// # Errors
    /// [`FtlError`] if the plane has no block left.
    fn fill(&mut self, logical: u32, pages: u16, shared: &mut Shared) -> Result<InitialBlock, FtlError>;

    /// Stores a version of a page.
    ///
    /// # Errors
    /// [`FtlError`] if garbage collection cannot make room, which validation rules out.
    fn write(&mut self, local: u32, version: u8, step: &mut Step) -> Result<(), FtlError>;

    /// Reads of the map that must come before a stored page is read.
    fn look_up(&mut self, _local: u32, _step: &mut Step) {}

    /// Whether a part of the map is in spare areas, behind a cache.
    fn reads_map_in_spare(&self) -> bool {
        false
    }

    /// Merges until no U-block is in use.
    ///
    /// # Errors
    /// As [`PlaneFtl::write`].
    fn merge_all(&mut self, step: &mut Step) -> Result<(), FtlError>;

    /// RAM of the map.
    fn map_ram_bytes(&self) -> u64;

    /// Bytes of the simulator's own state.
    fn state_bytes(&self) -> u64;
}

/// Shape of a layer that works plane by plane.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StripedConfig {
    /// Shape of the device.
    pub geometry: Geometry,
    /// Logical blocks of a unit.
    pub unit_blocks: u32,
    /// Units of each plane.
    pub units_per_plane: u32,
}

/// The planes of a device.
#[derive(Clone, Serialize, Deserialize)]
pub struct Striped<F> {
    planes: Vec<F>,
    unit_pages: u32,
    user_pages: u32,
    shared: Shared,
}

impl<F: PlaneFtl> Striped<F> {
    /// An empty device; `plane` makes the layer of one plane.
    pub fn new(config: &StripedConfig, bad_blocks: &[BlockId], plane: impl FnMut(PlaneBook) -> F) -> Striped<F> {
        let geometry = config.geometry;
        let unit_pages = config.unit_blocks * u32::from(geometry.pages_per_block);
        let planes = geometry.planes();
        let book = |turn| {
            let place = PlanePlace { plane: geometry.striped_plane(turn), turn, planes, unit_pages };
            PlaneBook::new(&geometry, place, config.units_per_plane * config.unit_blocks)
        };
        Striped {
            planes: (0..planes).map(book).map(plane).collect(),
            unit_pages,
            user_pages: planes * config.units_per_plane * unit_pages,
            shared: Shared::new(&geometry, bad_blocks),
        }
    }

    /// A device that has lost its power: every unit has D-blocks alone, as many as its pages fill, and no U-block.
    ///
    /// # Errors
    /// No room to work in.
    pub fn recover(
        config: &StripedConfig,
        bad_blocks: &[BlockId],
        restart: &mut Restart,
        plane: impl FnMut(PlaneBook) -> F,
    ) -> Result<(Striped<F>, RecoveryCounts), FtlError> {
        let geometry = config.geometry;
        let shape = UnitShape { geometry, blocks: config.unit_blocks, in_place: F::IN_PLACE };
        let mut ftl = Striped::new(config, bad_blocks, plane);
        let mut recovery = UnitRecovery::new(shape, bad_blocks);
        let planes = ftl.planes.len() as u32;
        for die in (0..geometry.dies()).map(DieId) {
            for found in recovery.die(die, restart)? {
                let plane = &mut ftl.planes[(found.unit % planes) as usize];
                found.blocks.iter().for_each(|kept| plane.book_mut().adopt(kept));
                plane.adopt_kept(found.unit / planes, &found);
            }
        }
        let UnitRecovery { pool, proofs, counts, .. } = recovery;
        ftl.shared = Shared::found(pool, proofs, restart.counters);
        Ok((ftl, counts))
    }

    /// Fills the device before the first request and reports each block programmed, so that the array
    /// can be brought to the same state. Costs nothing per page.
    ///
    /// # Errors
    /// [`FtlError`] if a plane has too few blocks, which validation rules out.
    pub fn fill(&mut self, fill: InitialFill, mut programmed: impl FnMut(InitialBlock)) -> Result<(), FtlError> {
        for plane in &mut self.planes {
            for logical in 0..plane.book().logical_blocks() {
                let pages = fill.pages_of(u64::from(logical), plane.book().pages());
                if pages > 0 {
                    programmed(plane.fill(logical, pages, &mut self.shared)?);
                }
            }
        }
        Ok(())
    }

    /// The layers of the planes, in stripe order.
    pub fn planes_mut(&mut self) -> impl Iterator<Item = &mut F> {
        self.planes.iter_mut()
    }

    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        self.user_pages
    }

    /// Free blocks of a plane.
    pub fn free_blocks(&self, plane: PlaneId) -> usize {
        self.shared.pool.free_blocks(plane)
    }

    /// Plane, by its turn, and local page of a logical page.
    #[inline]
    fn split(&self, lpn: Lpn) -> (usize, u32) {
        let (unit, offset) = (lpn.0 / self.unit_pages, lpn.0 % self.unit_pages);
        let planes = self.planes.len() as u32;
        ((unit % planes) as usize, unit / planes * self.unit_pages + offset)
    }
}

impl<F: PlaneFtl> TranslationLayer for Striped<F> {
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        let (plane, local) = self.split(lpn);
        self.planes[plane].write(local, version, &mut Step { shared: &mut self.shared, plan })
    }

    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        let (plane, local) = self.split(lpn);
        let ftl = &mut self.planes[plane];
        let Some(page) = ftl.book().locate(local) else { return false };
        ftl.look_up(local, &mut Step { shared: &mut self.shared, plan });
        plan.push(FlashCommand::read(Cause::Host, page, lpn, version));
        true
    }

    #[inline]
    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        let (plane, local) = self.split(lpn);
        self.planes[plane].book().locate(local)
    }

    fn conduct(&self) -> Conduct {
        Conduct { reads_map_in_spare: self.planes.iter().any(F::reads_map_in_spare), ..Conduct::default() }
    }

    fn homes(&self) -> Option<Homes> {
        let order = self.planes.iter().map(|plane| plane.book().plane()).collect();
        Some(Homes { unit_pages: self.unit_pages, order })
    }

    crate::seam::capabilities!(figures, memory, merging);
}

impl<F: PlaneFtl> Figures for Striped<F> {
    /// What garbage collection did so far.
    fn counters(&self) -> &GcCounters {
        &self.shared.counters
    }

    fn counters_mut(&mut self) -> &mut GcCounters {
        &mut self.shared.counters
    }

    fn u_blocks_used(&self) -> u64 {
        self.shared.u_blocks_used()
    }
}

impl<F: PlaneFtl> MemoryUse for Striped<F> {
    /// RAM of the map of all planes.
    fn map_ram_bytes(&self) -> u64 {
        self.planes.iter().map(F::map_ram_bytes).sum()
    }

    /// Bytes of the state of all planes.
    fn state_bytes(&self) -> u64 {
        self.planes.iter().map(F::state_bytes).sum()
    }
}

impl<F: PlaneFtl> Merging for Striped<F> {
    /// Appends the merges that leave no U-block in use, plane by plane.
    fn merge_all(&mut self, plan: &mut Plan) -> Result<(), FtlError> {
        let step = &mut Step { shared: &mut self.shared, plan };
        self.planes.iter_mut().try_for_each(|plane| plane.merge_all(step))
    }
}
