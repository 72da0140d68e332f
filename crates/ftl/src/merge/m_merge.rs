//! M-Merge planning: PEN (FAST'18) §5.2, equation 1, Algorithms 1 and 2.
//!
//! Built: the minimum-cost set of partial blocks to restore for a given must-restore set (dynamic
//! programming over the PB tree), the loop that adds leaves which would be disturbed beyond
//! tolerance, the pre-erase of dead space in the U-block, and the choice against the full merge.
//! Deviations: Algorithm 2's loop condition is read as "while a leaf would be corrupted"; a merge
//! fits when the copy-outs are at most (not below) the free pages; the time to erase U belongs to
//! the M-Merge's cost, as in the worked example.

use pumice_types::{Pb, PbTree, Time, disturb};

/// What a planner must know of one leaf of the D-block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeafState {
    /// Pages of D whose content is current.
    pub valid: u16,
    /// Programmed pages of D whose content is superseded.
    pub invalid: u16,
    /// Current pages that lie in U and belong to this leaf.
    pub in_u: u16,
    /// Disturb counter.
    pub disturb: u8,
}

impl LeafState {
    fn is_programmed(&self) -> bool {
        self.valid + self.invalid > 0
    }
}

/// What a planner must know of one leaf of the U-block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ULeafState {
    /// Pages that can still be programmed.
    pub free: u16,
    /// Pages whose content is current.
    pub valid: u16,
    /// Disturb counter.
    pub disturb: u8,
}

/// Durations that the plan weighs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeCosts {
    /// One page copied.
    pub copy: Time,
    /// Whole-block erase.
    pub block_erase: Time,
    /// Partial erase by level, level 0 first.
    pub partial_erase: Vec<Time>,
}

/// Settings of M-Merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MMergeSettings {
    /// Disturbs that a leaf with valid pages survives.
    pub disturb_tolerance: u8,
    /// Whether the plan protects leaves; without it Algorithm 2's loop is left out.
    pub disturb_aware: bool,
    /// W: M-Merges that a D-block may take between two full merges.
    pub wear_limit: u32,
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

/// Which merge to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The full merge.
    #[default]
    Merge,
    /// M-Merge.
    MMerge,
}

/// A plan and its price. Every figure describes the M-Merge, whichever merge is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MMergePlan {
    /// The cheaper merge that is allowed.
    pub choice: Choice,
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
            Choice::Merge => "merge",
            Choice::MMerge => "m-merge",
        }
    }
}

/// Sums over the pages of one PB, and the best way to restore it.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    valid: u32,
    in_u: u32,
    dirty: bool,
    cost: Time,
    split: bool,
}

/// The planner: settings and scratch memory. Its result depends on its arguments alone.
#[derive(Clone, Debug)]
pub struct MMergePlanner {
    tree: PbTree,
    costs: MergeCosts,
    settings: MMergeSettings,
    nodes: Vec<Node>,
    must_restore: Vec<bool>,
    restored: Vec<bool>,
    pending: Vec<Pb>,
    plan: MMergePlan,
}

impl MMergePlanner {
    /// A planner for blocks of this tree.
    ///
    /// # Panics
    /// If `costs.partial_erase` does not have one entry a level.
    pub fn new(tree: PbTree, costs: MergeCosts, settings: MMergeSettings) -> MMergePlanner {
        assert_eq!(costs.partial_erase.len(), tree.max_splits() as usize + 1, "one partial-erase time a level");
        MMergePlanner {
            costs,
            settings,
            nodes: vec![Node::default(); tree.pb_count() + 1],
            must_restore: vec![false; tree.leaves()],
            restored: vec![false; tree.leaves()],
            pending: Vec::with_capacity(tree.pb_count()),
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
        self.must_restore.fill(false);
        loop {
            self.restore_sequence(pair.d_leaves);
            self.apply_disturb(pair.d_leaves);
            if !self.settings.disturb_aware || !self.protect_more(pair.d_leaves) {
                break;
            }
        }
        self.price(pair);
        &self.plan
    }

    /// Leaves that the last plan had to restore only to protect them from disturb.
    pub fn protected(&self) -> &[bool] {
        &self.must_restore
    }

    /// The cheapest set of PBs that restores every dirty leaf (Algorithm 1): bottom-up over the
    /// tree, a PB is split only if its halves together are strictly cheaper.
    fn restore_sequence(&mut self, d_leaves: &[LeafState]) {
        let first_leaf = self.tree.leaves();
        for (leaf, state) in d_leaves.iter().enumerate() {
            let dirty = state.invalid > 0 || state.in_u > 0 || self.must_restore[leaf];
            self.nodes[first_leaf + leaf] =
                Node { valid: u32::from(state.valid), in_u: u32::from(state.in_u), dirty, ..Node::default() };
        }
        for index in (1..=self.tree.pb_count()).rev() {
            let mut halves = Time::ZERO;
            if index < first_leaf {
                let (left, right) = (self.nodes[index * 2], self.nodes[index * 2 + 1]);
                halves = left.cost + right.cost;
                let (valid, in_u) = (left.valid + right.valid, left.in_u + right.in_u);
                self.nodes[index] = Node { valid, in_u, dirty: left.dirty || right.dirty, ..Node::default() };
            }
            let whole = self.restore_cost(Pb(index as u16));
            let split = index < first_leaf && halves < whole;
            self.nodes[index].split = split;
            self.nodes[index].cost = if split { halves } else { whole };
        }
        self.collect_restores();
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

    /// Counters after the restores, by the rule that the array applies command by command.
    fn apply_disturb(&mut self, d_leaves: &[LeafState]) {
        let counters = &mut self.plan.disturb_after;
        counters.clear();
        counters.extend(d_leaves.iter().map(|leaf| leaf.disturb));
        self.restored.fill(false);
        for &pb in &self.plan.restores {
            let erased = self.tree.leaf_range(pb);
            let restored = &mut self.restored;
            disturb::partial_erase(counters, &erased, |leaf| !restored[leaf] && d_leaves[leaf].is_programmed());
            restored[erased].fill(true);
        }
    }

    /// Adds leaves that hold valid pages and would exceed their tolerance to the must-restore set.
    /// Each round adds a leaf or ends, so there are at most as many rounds as leaves.
    fn protect_more(&mut self, d_leaves: &[LeafState]) -> bool {
        let mut added = false;
        for (leaf, state) in d_leaves.iter().enumerate() {
            let over = self.plan.disturb_after[leaf] > self.settings.disturb_tolerance;
            if over && state.valid > 0 && !self.restored[leaf] {
                self.must_restore[leaf] = true;
                added = true;
            }
        }
        added
    }

    /// Prices both merges and chooses (Algorithm 2, lines 7 to 17).
    fn price(&mut self, pair: &PairState) {
        let (mut copy_out, mut copy_back) = (0, 0);
        for pb in &self.plan.restores {
            let node = &self.nodes[pb.0 as usize];
            copy_out += node.valid;
            copy_back += node.valid + node.in_u;
        }
        let whole = &self.nodes[Pb::BLOCK.0 as usize];
        let u_free: u32 = pair.u_leaves.iter().map(|leaf| u32::from(leaf.free)).sum();
        let pre_erase = if u_free < copy_out { self.largest_dead_pb(pair.u_leaves) } else { None };
        let room = u_free + pre_erase.map_or(0, |pb| self.tree.pages(pb) as u32);

        let plan = &mut self.plan;
        plan.copy_out = copy_out;
        plan.copy_back = copy_back;
        plan.u_pre_erase = pre_erase;
        plan.merge = self.costs.copy * u64::from(whole.valid + whole.in_u) + self.costs.block_erase * 2;
        let pre_erase_time = pre_erase.map_or(Time::ZERO, |pb| self.costs.partial_erase[pb.level() as usize]);
        plan.m_merge = whole.cost + self.costs.block_erase + pre_erase_time;
        let allowed = copy_out <= room && pair.m_merges < self.settings.wear_limit;
        plan.choice = if allowed && plan.m_merge < plan.merge { Choice::MMerge } else { Choice::Merge };
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
