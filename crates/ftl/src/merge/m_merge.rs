//! M-Merge of a D-block and its U-block: PEN (FAST'18) §5.2, Algorithm 2.
//!
//! Built: the restores of D ([`super::restore`]), the pre-erase of dead space in the U-block, and the
//! choice against the full merge.
//! Deviations: a merge fits when the copy-outs are at most (not below) the free pages; the time to
//! erase U belongs to the M-Merge's cost, as in the worked example.

use pumice_types::{Pb, PbTree, Time, disturb};
use serde::{Deserialize, Serialize};

use super::restore::RestorePlanner;
pub use super::restore::{LeafState, MMergeSettings, MergeChoice, MergeCosts};

/// What a planner must know of one leaf of the U-block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ULeafState {
    /// Pages that can still be programmed.
    pub free: u16,
    /// Pages whose content is current.
    pub valid: u16,
    /// Disturb counter.
    pub disturb: u8,
}

/// A D-block and its U-block, leaf by leaf.
#[derive(Clone, Copy, Debug)]
pub struct PairState<'a> {
    /// Leaves of D, ascending.
    pub d_leaves: &'a [LeafState],
    /// Leaves of U, ascending.
    pub u_leaves: &'a [ULeafState],
    /// M-Merges of this D-block since its last full merge.
    pub m_merges: u32,
}

/// A plan and its price. Every figure describes the M-Merge, whichever merge is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MMergePlan {
    /// The cheaper merge that is allowed.
    pub choice: MergeChoice,
    /// Price of the M-Merge.
    pub m_merge: Time,
    /// Price of the full merge.
    pub merge: Time,
    /// Partial blocks of D to restore, by address.
    pub restores: Vec<Pb>,
    /// Valid pages of D to copy out first.
    pub copy_out: u32,
    /// Pages to copy back into D.
    pub copy_back: u32,
    /// Partial block of U to erase first, to make room for the copy-outs.
    pub u_pre_erase: Option<Pb>,
    /// Disturb counters of D after the M-Merge.
    pub disturb_after: Vec<u8>,
}

impl MMergePlan {
    /// The choice as reports show it.
    pub fn choice_name(&self) -> &'static str {
        match self.choice {
            MergeChoice::Merge => "merge",
            MergeChoice::MMerge => "m-merge",
        }
    }
}

/// The planner: settings and scratch memory. Its result depends on its arguments alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MMergePlanner {
    tree: PbTree,
    costs: MergeCosts,
    settings: MMergeSettings,
    restore: RestorePlanner,
    plan: MMergePlan,
}

impl MMergePlanner {
    /// A planner for blocks of this tree.
    ///
    /// # Panics
    /// If `costs.partial_erase` does not have one entry a level.
    pub fn new(tree: PbTree, costs: MergeCosts, settings: MMergeSettings) -> MMergePlanner {
        MMergePlanner {
            restore: RestorePlanner::new(tree, costs.clone(), settings),
            costs,
            settings,
            plan: MMergePlan {
                restores: Vec::with_capacity(tree.leaves()),
                disturb_after: Vec::with_capacity(tree.leaves()),
                ..MMergePlan::default()
            },
            tree,
        }
    }

    /// Plans the merge of one pair (Algorithm 2).
    pub fn plan(&mut self, pair: &PairState) -> &MMergePlan {
        self.restore.plan(pair.d_leaves);
        self.plan.disturb_after.clear();
        self.plan.disturb_after.extend_from_slice(self.restore.counters_after());
        self.price(pair);
        &self.plan
    }

    /// Leaves that the last plan had to restore only to protect them from disturb.
    pub fn protected(&self) -> &[bool] {
        self.restore.protected()
    }

    /// Prices both merges and chooses (Algorithm 2, lines 7 to 17).
    fn price(&mut self, pair: &PairState) {
        let restore = self.restore.last();
        let u_free: u32 = pair.u_leaves.iter().map(|leaf| u32::from(leaf.free)).sum();
        let pre_erase = if u_free < restore.copy_out { self.largest_dead_pb(pair.u_leaves) } else { None };
        let room = u_free + pre_erase.map_or(0, |pb| self.tree.pages(pb) as u32);

        let plan = &mut self.plan;
        plan.restores.clone_from(&restore.restores);
        plan.copy_out = restore.copy_out;
        plan.copy_back = restore.copy_back;
        plan.u_pre_erase = pre_erase;
        plan.merge = self.costs.copy * u64::from(restore.valid + restore.in_u) + self.costs.block_erase * 2;
        let pre_erase_time = pre_erase.map_or(Time::ZERO, |pb| self.costs.partial_erase[pb.level() as usize]);
        plan.m_merge = restore.cost + self.costs.block_erase + pre_erase_time;
        let allowed = restore.copy_out <= room && pair.m_merges < self.settings.wear_limit;
        plan.choice = if allowed && plan.m_merge < plan.merge { MergeChoice::MMerge } else { MergeChoice::Merge };
    }

    /// The largest PB of U whose pages are all programmed and superseded, the lowest index among
    /// equals, leaving out PBs whose erase would disturb valid pages of U beyond tolerance.
    fn largest_dead_pb(&self, u_leaves: &[ULeafState]) -> Option<Pb> {
        let dead = |leaf: usize| u_leaves[leaf].free == 0 && u_leaves[leaf].valid == 0;
        let harmless = |leaf: usize| {
            let state = &u_leaves[leaf];
            state.valid == 0 || state.disturb < self.settings.disturb_tolerance
        };
        (1..=self.tree.pb_count() as u16).map(Pb).find(|&pb| {
            let leaves = self.tree.leaf_range(pb);
            leaves.clone().all(dead)
                && (!self.settings.disturb_aware || disturb::neighbours(&leaves, u_leaves.len()).all(harmless))
        })
    }
}
