//! PBE, a comparator of PEN (FAST'18 §6.2.3): partial blocks that the chip isolates from each other (US 9,286,989).
//!
//! Built: the NFTL on chips whose partial erases disturb nothing, and that lose a share of their blocks for it.
//! Over-provisioning, fill and threshold are shares of the blocks that are left. After a power cut it recovers as the
//! NFTL does, with the same spare areas; it has no disturb counters to lose.

use pumice_types::key::{When, float};
use pumice_types::{ChipKeys, Geometry, SpecError, keys, refuse};

use super::nftl::Nftl;
use crate::plan::{FillTarget, FtlError};
use crate::seam::{Facts, Layer, LayerParts, LayerSpec, RecoveryCounts, Restart, whole_share};

/// More disturbs than a counter of one byte can hold: no leaf is ever over tolerance.
const UNDISTURBED: u8 = u8::MAX;

keys! {
    /// Keys of PBE alone.
    pub struct PbeKeys in "ftl" {
        capacity_loss: f64 = "0.0", float(0.0, 0.9), "share of a plane's blocks", "PEN, FAST'18, Figure 15c goes to 0.165", When::Always,
            "pbe: blocks that isolating partial blocks costs. Over-provisioning, fill and threshold remain shares of what is left.";
    }
}

/// PBE as a spec asks for it; an NFTL runs.
pub enum Pbe {}

impl Layer for Pbe {
    type Keys = PbeKeys;
    type Running = Nftl;

    const FACTS: Facts = Facts { strict_keys: &["ftl.capacity_loss"], ..Nftl::FACTS };

    fn adapt(chip: &mut ChipKeys, keys: &PbeKeys) {
        let blocks = u64::from(chip.geometry.blocks_per_plane);
        chip.geometry.blocks_per_plane = whole_share(blocks, 1.0 - keys.capacity_loss);
        chip.partial_erase.disturb_tolerance = UNDISTURBED;
        chip.partial_erase.disturb_aware = false;
    }

    fn check(spec: &LayerSpec, keys: &PbeKeys) -> Result<(), SpecError> {
        if spec.chip.geometry.blocks_per_plane <= spec.chip.geometry.bad_blocks_per_plane {
            return Err(refuse!(
                "ftl.capacity_loss = {} leaves no good block in a plane; lower it",
                keys.capacity_loss
            ));
        }
        Nftl::check(spec, &())
    }

    fn capacity(spec: &LayerSpec, _: &PbeKeys, geometry: &Geometry) -> Result<u32, SpecError> {
        Nftl::capacity(spec, &(), geometry)
    }

    fn recover(parts: &LayerParts, _: &PbeKeys, restart: &mut Restart) -> Result<(Nftl, RecoveryCounts), FtlError> {
        Nftl::recover(parts, &(), restart)
    }

    fn build(parts: &LayerParts, _: &PbeKeys, target: &mut dyn FillTarget) -> Result<Nftl, FtlError> {
        Nftl::build(parts, &(), target)
    }
}
