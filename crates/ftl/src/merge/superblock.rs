//! Merging the blocks of a superblock: PEN (FAST'18) §5.3, Algorithm 3.
//!
//! Built: the full merge (blocks with the fewest valid pages are emptied until few enough are left),
//! M-Merge (the blocks beyond M with the fewest valid pages are the U-set; the others are restored and
//! take its valid pages), the same with only as many restores as those pages need
//! ([`super::budget`]), and the choice.
//! Deviations: line 2's `M − N` is read as the blocks owned beyond M; line 12's `&&` as "or"; blocks
//! allocated for copy-outs and the erases of the U-set belong to the price; M-Merge must be strictly
//! cheaper, as for a pair.

use pumice_types::{Pb, PbTree, Time};
use serde::{Deserialize, Serialize};

use super::budget::BudgetPlanner;
use super::restore::{LeafState, MMergeSettings, MergeChoice, MergeCosts, RestorePlanner};

/// Which partial blocks M-Merge restores in a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestoreScope {
    /// All with a superseded page (Algorithm 3).
    Superseded,
    /// As many as the pages to place need, at least cost.
    AsNeeded,
}

/// One block of a superblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberState {
    /// Valid pages.
    pub valid: u32,
    /// Blank pages that may be programmed.
    pub blank: u32,
    /// Allocation number, smaller is older.
    pub age: u32,
}

/// A superblock to merge.
#[derive(Clone, Copy, Debug)]
pub struct PenSuperblockState<'a> {
    /// Blocks of the superblock.
    pub members: &'a [MemberState],
    /// Leaves of the blocks, block after block.
    pub leaves: &'a [LeafState],
    /// M: blocks that its logical pages fill.
    pub logical: usize,
    /// Blocks that it may own after a full merge, at least M.
    pub goal: usize,
    /// M-Merges since its last full merge.
    pub m_merges: u32,
    /// Free blocks of its plane that an M-Merge may borrow.
    pub free_blocks: u32,
    /// Price of the layer's own merge, in place of the full merge of Algorithm 3.
    pub other: Option<Time>,
}

/// Which blocks to merge and how. The prices of both merges are given whichever is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuperblockPlan {
    /// The cheaper merge that is allowed.
    pub choice: MergeChoice,
    /// Price of the full merge.
    pub merge: Time,
    /// Price of the M-Merge; 0 if none was planned.
    pub m_merge: Time,
    /// All blocks, fewest valid pages first, the oldest among equals.
    pub order: Vec<usize>,
    /// How many of the first of `order` a full merge empties.
    pub victims: usize,
    /// How many of the first of `order` are the U-set of an M-Merge.
    pub u_set: usize,
    /// Block and partial block of each restore of an M-Merge, by block, then by address.
    pub restores: Vec<(usize, Pb)>,
    /// Valid pages that its restores copy out and back.
    pub copy_out: u32,
    /// Free blocks that it borrows for copy-outs.
    pub borrowed: u32,
}

/// The planner: settings and scratch memory. Its result depends on its arguments alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuperblockPlanner {
    tree: PbTree,
    costs: MergeCosts,
    m_merge: Option<MMerge>,
    plan: SuperblockPlan,
}

/// What M-Merge needs besides.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct MMerge {
    settings: MMergeSettings,
    scope: RestoreScope,
    all: RestorePlanner,
    as_needed: BudgetPlanner,
    /// Leaves of the D-set, block after block, and the block that each comes from.
    d_leaves: Vec<LeafState>,
    d_set: Vec<usize>,
}

impl SuperblockPlanner {
    /// A planner for blocks of this tree; without settings it knows full merges only.
    pub fn new(tree: PbTree, costs: MergeCosts, m_merge: Option<(MMergeSettings, RestoreScope)>) -> SuperblockPlanner {
        let m_merge = m_merge.map(|(settings, scope)| MMerge {
            settings,
            scope,
            all: RestorePlanner::new(tree, costs.clone(), settings),
            as_needed: BudgetPlanner::new(tree, costs.clone(), settings),
            d_leaves: Vec::new(),
            d_set: Vec::new(),
        });
        SuperblockPlanner { tree, costs, m_merge, plan: SuperblockPlan::default() }
    }

    /// Plans the merge of one superblock (Algorithm 3).
    pub fn plan(&mut self, state: &PenSuperblockState) -> &SuperblockPlan {
        let order = &mut self.plan.order;
        order.clear();
        order.extend(0..state.members.len());
        order.sort_unstable_by_key(|&member| (state.members[member].valid, state.members[member].age));
        match state.other {
            None => self.plan_full(state),
            Some(price) => self.plan.merge = price,
        }
        self.plan.choice = MergeChoice::Merge;
        self.plan.m_merge = Time::ZERO;
        self.plan.restores.clear();
        self.plan.u_set = state.members.len().saturating_sub(state.logical);
        if self.plan.u_set > 0 && self.m_merge.is_some() {
            self.plan_m_merge(state);
        }
        &self.plan
    }

    /// The last plan.
    pub fn last(&self) -> &SuperblockPlan {
        &self.plan
    }

    /// Empties the fewest blocks, of those with the fewest valid pages, that bring the superblock down
    /// to its goal. Their pages go to blank pages of the others, then to new blocks.
    fn plan_full(&mut self, state: &PenSuperblockState) {
        let pages = self.tree.pages_per_block() as u32;
        let to_free = state.members.len().saturating_sub(state.goal) as u32;
        let mut room: u32 = state.members.iter().map(|member| member.blank).sum();
        let (mut copies, mut victims) = (0, 0);
        for &member in &self.plan.order {
            copies += state.members[member].valid;
            room -= state.members[member].blank;
            victims += 1;
            let opened = copies.saturating_sub(room).div_ceil(pages);
            if victims >= opened + to_free {
                break;
            }
        }
        self.plan.victims = victims as usize;
        self.plan.merge = self.costs.copy * u64::from(copies) + self.costs.block_erase * u64::from(victims);
    }

    /// Plans the restores of the D-set, prices the M-Merge and chooses.
    fn plan_m_merge(&mut self, state: &PenSuperblockState) {
        let Some(m_merge) = &mut self.m_merge else { return };
        let plan = &mut self.plan;
        let (u_set, d_set) = plan.order.split_at(plan.u_set);
        let sum = |of: fn(&MemberState) -> u32| u_set.iter().map(|&member| of(&state.members[member])).sum::<u32>();
        let (to_place, u_blank) = (sum(|member| member.valid), sum(|member| member.blank));
        m_merge.d_set.clear();
        m_merge.d_set.extend_from_slice(d_set);
        m_merge.d_set.sort_unstable();
        m_merge.describe(state, self.tree.leaves());
        let Some((cost, copy_out)) = m_merge.restores(self.tree.leaves(), to_place, &mut plan.restores) else { return };

        let pages = self.tree.pages_per_block() as u32;
        plan.copy_out = copy_out;
        plan.borrowed = copy_out.saturating_sub(u_blank).div_ceil(pages);
        let erases = plan.u_set as u64 + u64::from(plan.borrowed);
        plan.m_merge = cost + self.costs.copy * u64::from(to_place) + self.costs.block_erase * erases;
        let allowed = plan.borrowed <= state.free_blocks && state.m_merges < m_merge.settings.wear_limit;
        if allowed && plan.m_merge < plan.merge {
            plan.choice = MergeChoice::MMerge;
        }
    }
}

impl MMerge {
    /// Gathers the leaves of the D-set.
    fn describe(&mut self, state: &PenSuperblockState, width: usize) {
        self.d_leaves.clear();
        for &member in &self.d_set {
            self.d_leaves.extend_from_slice(&state.leaves[member * width..(member + 1) * width]);
        }
    }

    /// Fills `restores` and returns their cost and copy-outs; `None` if the pages would not fit.
    fn restores(&mut self, width: usize, to_place: u32, restores: &mut Vec<(usize, Pb)>) -> Option<(Time, u32)> {
        let d_set = &self.d_set;
        match self.scope {
            RestoreScope::Superseded => {
                let (mut cost, mut copy_out) = (Time::ZERO, 0);
                for (leaves, &member) in self.d_leaves.chunks(width).zip(d_set) {
                    let plan = self.all.plan(leaves);
                    cost += plan.cost;
                    copy_out += plan.copy_out;
                    restores.extend(plan.restores.iter().map(|&pb| (member, pb)));
                }
                Some((cost, copy_out))
            }
            RestoreScope::AsNeeded => {
                let plan = self.as_needed.plan(&self.d_leaves, to_place)?;
                restores.extend(plan.restores.iter().map(|&(nth, pb)| (d_set[nth], pb)));
                Some((plan.cost, plan.copy_out))
            }
        }
    }
}
