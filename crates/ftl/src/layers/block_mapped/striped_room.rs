//! The blocks of a plane under the layers with a limited number of U-blocks: how many are D-blocks, U-blocks,
//! and blocks to merge into.

use pumice_types::{Geometry, SpecError, refuse};

use super::plane_book::PlaneBook;
use super::striped::{PlaneFtl, Striped, StripedConfig};
use crate::plan::{FillTarget, FtlError, program_and_note};
use crate::recovery;
use crate::seam::{LayerParts, LayerSpec, RecoveryCounts, Restart, typed_share};

/// How a layer divides the blocks of each plane.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// What the layer knows of the spec.
    pub spec: &'a LayerSpec<'a>,
    /// Logical blocks that share their blocks: those of a superblock, or one.
    pub unit_blocks: u32,
    /// Free blocks a plane that only merges take, and recovery.
    pub merge_blocks: u32,
    /// Fewest U-blocks with which the layer works.
    pub u_blocks_min: u32,
}

impl<'a> Room<'a> {
    /// Single logical blocks, one block to merge into and what recovery needs, and at least one U-block.
    pub fn of_blocks(spec: &'a LayerSpec<'a>) -> Room<'a> {
        Room { spec, unit_blocks: 1, merge_blocks: 1 + recovery::reserve(spec), u_blocks_min: 1 }
    }

    /// Units of logical blocks in each plane.
    fn units_per_plane(&self) -> u32 {
        self.spec.user_blocks_per_plane() / self.unit_blocks
    }

    /// D-blocks of each plane.
    fn d_blocks_per_plane(&self) -> u32 {
        self.units_per_plane() * self.unit_blocks
    }

    fn good_blocks(&self) -> u32 {
        self.spec.chip.geometry.good_blocks_per_plane()
    }

    /// U-blocks of each plane: those asked for, or all that there are.
    pub fn u_blocks(&self) -> u32 {
        let left = self.good_blocks().saturating_sub(self.d_blocks_per_plane() + self.merge_blocks);
        self.spec.shared.u_blocks.unwrap_or(left)
    }

    /// Logical pages that the host may address: whole superblocks, or whole blocks.
    pub fn user_pages(&self, geometry: &Geometry) -> u32 {
        geometry.planes() * self.d_blocks_per_plane() * u32::from(geometry.pages_per_block)
    }

    /// A device of such planes, filled; `plane` makes the layer of one plane.
    ///
    /// # Errors
    /// A fill that does not fit, which [`Room::check`] rules out.
    pub fn filled<F: PlaneFtl>(
        &self,
        parts: &LayerParts,
        target: &mut dyn FillTarget,
        plane: impl FnMut(PlaneBook) -> F,
    ) -> Result<Striped<F>, FtlError> {
        let mut ftl = Striped::new(&self.config(parts), parts.bad_blocks, plane);
        ftl.fill(parts.spec.initial.of_blocks(), |filled| program_and_note(target, &filled))?;
        Ok(ftl)
    }

    fn config(&self, parts: &LayerParts) -> StripedConfig {
        let units_per_plane = self.units_per_plane();
        StripedConfig { geometry: parts.geometry, unit_blocks: self.unit_blocks, units_per_plane }
    }

    /// A device of such planes that has lost its power.
    ///
    /// # Errors
    /// No room to work in.
    pub fn recovered<F: PlaneFtl>(
        &self,
        parts: &LayerParts,
        restart: &mut Restart,
        plane: impl FnMut(PlaneBook) -> F,
    ) -> Result<(Striped<F>, RecoveryCounts), FtlError> {
        Striped::recover(&self.config(parts), parts.bad_blocks, restart, plane)
    }

    /// Refuses a device without room for U-blocks.
    ///
    /// # Errors
    /// The impossibility, with the nearest value that works.
    pub fn check(&self) -> Result<(), SpecError> {
        self.spec.check_spare_bytes(recovery::spare_bytes(self.spec))?;
        let (kind, shared) = (self.spec.kind, self.spec.shared);
        if let Some(u_blocks) = shared.u_blocks.filter(|&u_blocks| u_blocks < self.u_blocks_min) {
            return Err(refuse!(
                "ftl.u_blocks = {u_blocks}; ftl.kind = \"{kind}\" needs a sequential and a random log block: at least {}",
                self.u_blocks_min
            ));
        }
        if self.d_blocks_per_plane() == 0 {
            return Err(refuse!(
                "ftl.over_provisioning = {} leaves no room for {} logical blocks a plane; lower it",
                shared.over_provisioning,
                self.unit_blocks
            ));
        }
        let needed = shared.u_blocks.unwrap_or(self.u_blocks_min) + self.merge_blocks;
        if self.d_blocks_per_plane() + needed > self.good_blocks() {
            return Err(self.too_few_blocks(needed));
        }
        Ok(())
    }

    /// Why `needed` blocks a plane beyond the logical ones are not there, and what would help.
    fn too_few_blocks(&self, needed: u32) -> SpecError {
        let (good, d_blocks) = (self.good_blocks(), self.d_blocks_per_plane());
        let possible = good.saturating_sub(needed) / self.unit_blocks * self.unit_blocks;
        let found = format!(
            "ftl.over_provisioning = {} leaves {} blocks a plane beyond the {d_blocks} logical ones, and ftl.kind = \"{}\" \
             needs {needed} for U-blocks and merging",
            self.spec.shared.over_provisioning,
            good.saturating_sub(d_blocks),
            self.spec.kind
        );
        if possible == 0 {
            return refuse!("{found}; geometry has only {good} good blocks a plane");
        }
        let smallest = typed_share(1.0 - f64::from(possible) / f64::from(self.spec.blocks_per_plane()));
        refuse!("{found}; the smallest value that works is {smallest}")
    }
}
