//! The cheapest partial blocks of one block to restore: PEN (FAST'18) §5.2.2, equation 1,
//! Algorithm 1, and the loop of Algorithm 2 that protects leaves from disturb.
//!
//! Built: dynamic programming over the PB tree for a given must-restore set, and the loop that adds
//! leaves which would be disturbed beyond tolerance.
//! Deviation: the loop's condition is read as "while a leaf would be corrupted".

use pumice_types::{Pb, PbTree, Time, disturb};
use serde::{Deserialize, Serialize};

/// What a planner must know of one leaf of a block to restore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafState {
    /// Pages whose content is current.
    pub valid: u16,
    /// Programmed pages whose content is superseded.
    pub invalid: u16,
    /// Current pages that lie in the U-block and belong to this leaf; 0 where pages have no place of
    /// their own.
    pub in_u: u16,
    /// Disturb counter.
    pub disturb: u8,
}

impl LeafState {
    fn is_programmed(&self) -> bool {
        self.valid + self.invalid > 0
    }
}

/// Durations that a plan weighs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeCosts {
    /// One page copied.
    pub copy: Time,
    /// Whole-block erase.
    pub block_erase: Time,
    /// Partial erase by level, level 0 first.
    pub partial_erase: Vec<Time>,
}

/// Settings of M-Merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MMergeSettings {
    /// Disturbs that a leaf with valid pages survives.
    pub disturb_tolerance: u8,
    /// Whether the plan protects leaves; without it Algorithm 2's loop is left out.
    pub disturb_aware: bool,
    /// W: M-Merges that a D-block (or a superblock) may take between two full merges.
    pub wear_limit: u32,
}

/// Which merge to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MergeChoice {
    /// The full merge.
    #[default]
    Merge,
    /// M-Merge.
    MMerge,
}

/// The leaves of one block that must be restored because their neighbours are: the loop of
/// Algorithm 2, for whichever planner chooses the restores.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Protection {
    tree: PbTree,
    settings: MMergeSettings,
    must_restore: Vec<bool>,
    restored: Vec<bool>,
    after: Vec<u8>,
}

impl Protection {
    /// Nothing to protect yet.
    pub(crate) fn new(tree: PbTree, settings: MMergeSettings) -> Protection {
        let leaves = tree.leaves();
        let (must_restore, restored) = (vec![false; leaves], vec![false; leaves]);
        Protection { tree, settings, must_restore, restored, after: Vec::with_capacity(leaves) }
    }

    /// Forgets the must-restore set.
    pub(crate) fn begin(&mut self) {
        self.must_restore.fill(false);
    }

    /// Leaves that must be restored.
    pub(crate) fn must_restore(&self) -> &[bool] {
        &self.must_restore
    }

    /// Counters after the restores that were last looked at.
    pub(crate) fn counters_after(&self) -> &[u8] {
        &self.after
    }

    /// Applies the disturb rule to `restores` and adds to the must-restore set every leaf that they would disturb
    /// beyond tolerance and for which `counts` is true (it holds valid pages). Returns whether it added any. Each
    /// round adds a leaf or ends, so there are at most as many rounds as leaves.
    pub(crate) fn extend(
        &mut self,
        leaves: &[LeafState],
        restores: impl Iterator<Item = Pb>,
        counts: impl Fn(&LeafState) -> bool,
    ) -> bool {
        self.apply(leaves, restores);
        let mut added = false;
        if self.settings.disturb_aware {
            for (leaf, state) in leaves.iter().enumerate() {
                let over = self.after[leaf] > self.settings.disturb_tolerance;
                if over && counts(state) && !self.restored[leaf] {
                    self.must_restore[leaf] = true;
                    added = true;
                }
            }
        }
        added
    }

    /// Counters after the restores, by the rule that the array applies command by command.
    fn apply(&mut self, leaves: &[LeafState], restores: impl Iterator<Item = Pb>) {
        self.after.clear();
        self.after.extend(leaves.iter().map(|leaf| leaf.disturb));
        self.restored.fill(false);
        for pb in restores {
            let erased = self.tree.leaf_range(pb);
            let restored = &mut self.restored;
            disturb::partial_erase(&mut self.after, &erased, |leaf| !restored[leaf] && leaves[leaf].is_programmed());
            restored[erased].fill(true);
        }
    }
}

/// What to restore in one block, and its price.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestorePlan {
    /// Partial blocks to restore, by address.
    pub restores: Vec<Pb>,
    /// Valid pages to copy out first.
    pub copy_out: u32,
    /// Pages to copy back: those copied out, and the current pages of U that belong here.
    pub copy_back: u32,
    /// Copies and partial erases of the restores.
    pub cost: Time,
    /// Valid pages of the block.
    pub valid: u32,
    /// Current pages of U that belong to the block.
    pub in_u: u32,
}

/// Sums over the pages of one PB, and the best way to restore it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct RestoreNode {
    valid: u32,
    in_u: u32,
    dirty: bool,
    cost: Time,
    split: bool,
}

/// The planner: settings and scratch memory. Its result depends on its arguments alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RestorePlanner {
    tree: PbTree,
    costs: MergeCosts,
    nodes: Vec<RestoreNode>,
    protection: Protection,
    pending: Vec<Pb>,
    plan: RestorePlan,
}

impl RestorePlanner {
    /// A planner for blocks of this tree.
    ///
    /// # Panics
    /// If `costs.partial_erase` does not have one entry a level.
    pub fn new(tree: PbTree, costs: MergeCosts, settings: MMergeSettings) -> RestorePlanner {
        assert_eq!(costs.partial_erase.len(), tree.max_splits() as usize + 1, "one partial-erase time a level");
        RestorePlanner {
            costs,
            nodes: vec![RestoreNode::default(); tree.pb_count() + 1],
            protection: Protection::new(tree, settings),
            pending: Vec::with_capacity(tree.pb_count()),
            plan: RestorePlan { restores: Vec::with_capacity(tree.leaves()), ..RestorePlan::default() },
            tree,
        }
    }

    /// The cheapest restores of every dirty leaf (one with a superseded page, a page in U, or in need
    /// of protection) that leave no valid page disturbed beyond tolerance.
    pub fn plan(&mut self, leaves: &[LeafState]) -> &RestorePlan {
        self.protection.begin();
        self.weigh_all(leaves);
        loop {
            self.collect_restores();
            if !self.protection.extend(leaves, self.plan.restores.iter().copied(), |leaf| leaf.valid > 0) {
                break;
            }
            self.weigh_protected();
        }
        self.sum_up();
        &self.plan
    }

    /// The last plan.
    pub fn last(&self) -> &RestorePlan {
        &self.plan
    }

    /// Leaves that the last plan had to restore only to protect them from disturb.
    pub fn protected(&self) -> &[bool] {
        self.protection.must_restore()
    }

    /// Disturb counters after the last plan's restores.
    pub fn counters_after(&self) -> &[u8] {
        self.protection.counters_after()
    }

    /// Finds for every PB the cheapest way to restore its dirty leaves (Algorithm 1), from the leaves up.
    fn weigh_all(&mut self, leaves: &[LeafState]) {
        let first_leaf = self.tree.leaves();
        for (leaf, state) in leaves.iter().enumerate() {
            let node = &mut self.nodes[first_leaf + leaf];
            let (valid, in_u) = (u32::from(state.valid), u32::from(state.in_u));
            *node = RestoreNode { valid, in_u, dirty: state.invalid > 0 || state.in_u > 0, ..RestoreNode::default() };
            self.weigh_leaf(first_leaf + leaf);
        }
        (1..first_leaf).rev().for_each(|index| self.weigh_halves(index));
    }

    /// Weighs the PBs above leaves that have to be protected since they were last weighed; the others stay as
    /// they are.
    fn weigh_protected(&mut self) {
        let first_leaf = self.tree.leaves();
        for leaf in 0..first_leaf {
            let mut index = first_leaf + leaf;
            if self.nodes[index].dirty || !self.protection.must_restore()[leaf] {
                continue;
            }
            self.nodes[index].dirty = true;
            self.weigh_leaf(index);
            while index > 1 {
                index /= 2;
                self.weigh_halves(index);
            }
        }
    }

    #[inline]
    fn weigh_leaf(&mut self, index: usize) {
        self.nodes[index].cost = self.restore_cost(Pb(index as u16));
    }

    /// A PB is split only if its halves together are strictly cheaper.
    #[inline]
    fn weigh_halves(&mut self, index: usize) {
        let (left, right) = (self.nodes[index * 2], self.nodes[index * 2 + 1]);
        let (valid, in_u, halves) = (left.valid + right.valid, left.in_u + right.in_u, left.cost + right.cost);
        self.nodes[index] = RestoreNode { valid, in_u, dirty: left.dirty || right.dirty, ..RestoreNode::default() };
        let whole = self.restore_cost(Pb(index as u16));
        self.nodes[index].split = halves < whole;
        self.nodes[index].cost = halves.min(whole);
    }

    /// Price of restoring `pb` as a whole; nothing if no page of it needs it.
    fn restore_cost(&self, pb: Pb) -> Time {
        let node = &self.nodes[pb.0 as usize];
        if !node.dirty {
            return Time::ZERO;
        }
        let copies = u64::from(node.valid) * 2 + u64::from(node.in_u);
        self.costs.copy * copies + self.costs.partial_erase[pb.level() as usize]
    }

    /// Leaves of the chosen tree that cost something, in address order.
    fn collect_restores(&mut self) {
        self.plan.restores.clear();
        self.pending.clear();
        self.pending.push(Pb::BLOCK);
        while let Some(pb) = self.pending.pop() {
            let node = &self.nodes[pb.0 as usize];
            if node.split {
                let [left, right] = pb.children();
                self.pending.push(right);
                self.pending.push(left);
            } else if node.dirty {
                self.plan.restores.push(pb);
            }
        }
    }

    fn sum_up(&mut self) {
        let whole = self.nodes[Pb::BLOCK.0 as usize];
        let plan = &mut self.plan;
        (plan.copy_out, plan.copy_back) = (0, 0);
        for pb in &plan.restores {
            let node = &self.nodes[pb.0 as usize];
            plan.copy_out += node.valid;
            plan.copy_back += node.valid + node.in_u;
        }
        (plan.cost, plan.valid, plan.in_u) = (whole.cost, whole.valid, whole.in_u);
    }
}
