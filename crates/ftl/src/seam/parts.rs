//! What a layer is given: its part of a spec ([`LayerSpec`]), and what it is built from ([`LayerParts`]).

use pumice_types::erase::schemes::SchemeMemory;
use pumice_types::erase_unit::UNITS_MAX;
use pumice_types::refusal::{needs, quoted};
use pumice_types::{BlockId, ChipKeys, FlashTiming, Geometry, PartialEraseUnit, PbTree, SpecError, Time, refuse};
use serde::{Deserialize, Serialize};

use super::policy::{Decider, Decides};
use super::recovery::Recovery;
use super::shared_keys::{MergeMethod, SharedKeys, SuperblockKeys};
use crate::blocks::reclaim_leaves::LeafRule;
use crate::blocks::victims::PolicyKeys;
use crate::merge::restore::{MMergeSettings, MergeCosts};
use crate::merge::superblock::RestoreScope;
use crate::plan::{EraseUnit, InitialKeys};

/// Bytes of a spare area for each further mapping unit of its page: the logical unit, and the number of its write.
const UNIT_BYTES: u32 = 4 + 6;

/// The part of a spec that a layer may know.
#[derive(Clone, Copy, Debug)]
pub struct LayerSpec<'a> {
    /// Name of the layer, as `ftl.kind` has it.
    pub kind: &'static str,
    /// The chips.
    pub chip: &'a ChipKeys,
    /// Keys that several layers read.
    pub shared: &'a SharedKeys,
    /// Superblocks.
    pub superblock: &'a SuperblockKeys,
    /// Victim policies.
    pub policies: &'a PolicyKeys,
    /// What is stored at the start.
    pub initial: &'a InitialKeys,
    /// What a user's own policy decides; nothing if there is none.
    pub decides: Decides,
}

impl LayerSpec<'_> {
    /// Blocks of each plane, bad ones included.
    pub(crate) fn blocks_per_plane(&self) -> u32 {
        self.chip.geometry.blocks_per_plane
    }

    /// Pages of a device of this shape that over-provisioning leaves to the host.
    pub(crate) fn pages_for_host(&self, geometry: &Geometry) -> u32 {
        whole_share(geometry.pages(), 1.0 - self.shared.over_provisioning)
    }

    /// Blocks of each plane that over-provisioning leaves to the host.
    pub(crate) fn user_blocks_per_plane(&self) -> u32 {
        whole_share(u64::from(self.blocks_per_plane()), 1.0 - self.shared.over_provisioning)
    }

    /// Refuses spare areas that are too small for what recovery needs.
    ///
    /// # Errors
    /// What is needed, and what there is.
    pub(crate) fn check_spare_bytes(&self, needed: u32) -> Result<(), SpecError> {
        let (recovery, units) = (self.shared.recovery, u32::from(self.chip.units.per_page));
        let bytes = self.chip.page_spare_bytes();
        let erase = &self.chip.erase;
        let remembers = erase.memory_in_spare && erase.scheme.memory() != SchemeMemory::Nothing;
        let needed = needed + u32::from(remembers) + (units - 1) * UNIT_BYTES;
        if recovery == Recovery::Off || bytes >= needed {
            return Ok(());
        }
        Err(refuse!(
            "ftl.recovery = \"{recovery}\" stores {needed} bytes in each spare area, and geometry.spare_bytes = {bytes}"
        ))
    }

    /// Refuses an erase unit, the value of `key`, that the chip does not have or whose leaves are too many.
    ///
    /// # Errors
    /// What is needed, and what there is.
    pub(crate) fn check_unit(&self, key: &str, unit: EraseUnit) -> Result<(), SpecError> {
        let wanted = match unit {
            EraseUnit::Block => return Ok(()),
            EraseUnit::PartialBlock => PartialEraseUnit::PartialBlock,
            EraseUnit::SubBlock => PartialEraseUnit::SubBlock,
        };
        let found = self.chip.partial_erase.unit;
        let needed = format!("partial_erase.unit = \"{wanted}\"");
        needs(format_args!("{key} = \"{unit}\""), [(found != wanted, &needed, quoted(found))])?;
        if unit == EraseUnit::PartialBlock { self.check_leaves(key) } else { Ok(()) }
    }

    /// Refuses leaves that collection cannot reclaim.
    fn check_leaves(&self, key: &str) -> Result<(), SpecError> {
        let (splits, splits_max) = (self.chip.partial_erase.max_splits, UNITS_MAX.trailing_zeros());
        if u32::from(splits) > splits_max {
            return Err(refuse!(
                "{key} = \"partial-block\" with partial_erase.max_splits = {splits}; allowed: at most {splits_max}"
            ));
        }
        Ok(())
    }

    /// Free blocks a plane at or under which garbage collection starts; one is always kept to copy into.
    pub(crate) fn gc_start_blocks(&self) -> u32 {
        whole_share(u64::from(self.blocks_per_plane()), self.shared.gc_free_threshold).max(1)
    }
}

/// What a layer is built from.
pub struct LayerParts<'a> {
    /// The layer's part of the spec.
    pub spec: LayerSpec<'a>,
    /// The device's shape at the run's scale.
    pub geometry: Geometry,
    /// Timing of the device.
    pub timing: &'a FlashTiming,
    /// Partial blocks of its blocks.
    pub tree: PbTree,
    /// Bad blocks from the factory.
    pub bad_blocks: &'a [BlockId],
    /// What an erase of a whole block is expected to take.
    pub block_erase: Time,
    /// Seed for choices that the layer draws.
    pub seed: u64,
    /// The user's own policy, if there is one.
    pub decider: Option<Decider>,
}

/// How pairs are merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MergePolicy {
    /// Always the full merge.
    BlockErase,
    /// M-Merge where it is cheaper and allowed.
    MMerge {
        /// Durations to weigh.
        costs: MergeCosts,
        /// Disturb and wear limits.
        settings: MMergeSettings,
        /// What is restored where pages have no place of their own (superblocks).
        scope: RestoreScope,
    },
}

impl LayerParts<'_> {
    /// What erasing partial blocks of these chips costs and disturbs.
    pub(crate) fn leaf_rule(&self) -> LeafRule {
        let keys = &self.spec.chip.partial_erase;
        LeafRule {
            tree: self.tree,
            copy: self.timing.mean_copy(),
            erase: self.timing.partial_erase.clone(),
            tolerance: keys.disturb_tolerance,
            protects: keys.disturb_aware,
        }
    }

    /// Durations that merges weigh: a partial erase is expected to take its share of a block erase.
    pub(crate) fn merge_costs(&self) -> MergeCosts {
        let expected = |time: &Time| match self.timing.t_bers {
            Time::ZERO => Time::ZERO,
            whole => time.scaled(self.block_erase, whole),
        };
        MergeCosts {
            copy: self.timing.mean_copy(),
            block_erase: self.block_erase,
            partial_erase: self.timing.partial_erase.iter().map(expected).collect(),
        }
    }

    /// How the spec wants pairs to be merged.
    pub(crate) fn merge_policy(&self) -> MergePolicy {
        let scope = match self.spec.shared.merge {
            MergeMethod::BlockErase => return MergePolicy::BlockErase,
            MergeMethod::MMerge => RestoreScope::Superseded,
            MergeMethod::MMergeBudgeted => RestoreScope::AsNeeded,
        };
        let keys = &self.spec.chip.partial_erase;
        let settings = MMergeSettings {
            disturb_tolerance: keys.disturb_tolerance,
            disturb_aware: keys.disturb_aware,
            wear_limit: keys.wear_limit_w,
        };
        MergePolicy::MMerge { costs: self.merge_costs(), settings, scope }
    }
}

/// Whole units in a share of `units`. The allowance takes up what decimal shares lose in binary:
/// 0.29 of 100 is 29.
pub fn whole_share(units: u64, share: f64) -> u32 {
    (units as f64 * share + 1e-6) as u32
}

/// A smallest share in the form in which it is shown: rounded up, so that it works when typed.
pub(crate) fn typed_share(smallest: f64) -> f64 {
    (smallest * 1e6).ceil() / 1e6
}
