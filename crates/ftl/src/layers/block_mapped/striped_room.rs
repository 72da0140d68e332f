//! How specs ask for the layers with a limited number of U-blocks: how many blocks of a plane are D-blocks, U-blocks,
//! and blocks to merge into, and what all of these layers make of a spec alike.

use pumice_types::key::Keys;
use pumice_types::{Geometry, SpecError, refuse};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::plane_book::PlaneBook;
use super::striped::{PlaneFtl, Striped, StripedConfig};
use crate::plan::{FillTarget, FtlError, program_and_note};
use crate::recovery;
use crate::seam::{
    Facts, Layer, LayerParts, LayerSpec, MapPlace, MergeMethod, Recovery, RecoveryCounts, Reports, Restart, typed_share,
};

/// What layers with D-blocks and a limited number of U-blocks have in common.
pub const HYBRID: Facts = Facts {
    reads: &["over_provisioning", "u_blocks"],
    merges: &[MergeMethod::BlockErase, MergeMethod::MMerge],
    map_places: &[MapPlace::Ram, MapPlace::Spare],
    recoveries: &[Recovery::Off, Recovery::Scan],
    copies_on_one_die: true,
    reports: Reports::HYBRID_PAIRS,
    ..Facts::PLAIN
};

/// A layer that works plane by plane, as a spec asks for it.
pub trait PlaneLayer: PlaneFtl + Clone + Serialize + DeserializeOwned {
    /// Keys of this layer alone.
    type OwnKeys: Keys;

    /// What is fixed of it.
    const FIXED: Facts = HYBRID;

    /// How it divides the blocks of a plane.
    fn room<'a>(spec: &'a LayerSpec<'a>) -> Room<'a> {
        Room::of_blocks(spec)
    }

    /// Refuses a spec that the layer cannot serve, however much room it has.
    ///
    /// # Errors
    /// The impossibility.
    fn check_shape(_spec: &LayerSpec) -> Result<(), SpecError> {
        Ok(())
    }

    /// An empty plane with at most `u_blocks` U-blocks.
    fn empty(book: PlaneBook, u_blocks: u32, parts: &LayerParts, keys: &Self::OwnKeys) -> Self;
}

impl<F: PlaneLayer> Layer for F {
    type Keys = F::OwnKeys;
    type Running = Striped<F>;

    const FACTS: Facts = F::FIXED;

    fn check(spec: &LayerSpec, _: &F::OwnKeys) -> Result<(), SpecError> {
        F::check_shape(spec)?;
        F::room(spec).check()
    }

    fn capacity(spec: &LayerSpec, _: &F::OwnKeys, geometry: &Geometry) -> Result<u32, SpecError> {
        Ok(F::room(spec).user_pages(geometry))
    }

    fn recover(
        parts: &LayerParts,
        keys: &F::OwnKeys,
        restart: &mut Restart,
    ) -> Result<(Striped<F>, RecoveryCounts), FtlError> {
        let room = F::room(&parts.spec);
        let plane = |book| F::empty(book, room.u_blocks(), parts, keys);
        Striped::recover(&room.config(parts), parts.bad_blocks, restart, plane)
    }

    fn build(parts: &LayerParts, keys: &F::OwnKeys, target: &mut dyn FillTarget) -> Result<Striped<F>, FtlError> {
        let room = F::room(&parts.spec);
        let plane = |book| F::empty(book, room.u_blocks(), parts, keys);
        let mut ftl = Striped::new(&room.config(parts), parts.bad_blocks, plane);
        ftl.fill(parts.spec.initial.of_blocks(), |filled| program_and_note(target, &filled))?;
        Ok(ftl)
    }
}

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

    fn config(&self, parts: &LayerParts) -> StripedConfig {
        let units_per_plane = self.units_per_plane();
        StripedConfig { geometry: parts.geometry, unit_blocks: self.unit_blocks, units_per_plane }
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
