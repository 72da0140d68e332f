//! The cheapest partial blocks to restore in several blocks so that a given number of pages finds
//! room there: a knapsack over the PB trees. Beyond PEN, whose Algorithm 3 restores every partial
//! block with a superseded page.
//!
//! Built: for a given must-restore set the true minimum, as a table of least cost by pages won for
//! each PB (restored whole, or the best split of the wish over its halves), folded over the blocks;
//! the protection loop of Algorithm 2 around it. Among equal prices the larger PB is restored, and
//! the earlier half or block wins less.

use pumice_types::{Pb, PbTree, Time};
use serde::{Deserialize, Serialize};

use super::restore::{LeafState, MMergeSettings, MergeCosts, Protection};

/// What to restore, and its price.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetPlan {
    /// Block and partial block of each restore, by block, then by address.
    pub restores: Vec<(usize, Pb)>,
    /// Valid pages to copy out first and back later.
    pub copy_out: u32,
    /// Copies and partial erases of the restores.
    pub cost: Time,
}

/// Sums over the pages of one PB.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct BudgetNode {
    valid: u32,
    must: bool,
    /// First entry and last index of its table: least cost of winning at least so many pages.
    first: usize,
    most: usize,
}

/// The PBs of one block with their tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BlockTable {
    nodes: Vec<BudgetNode>,
    costs: Vec<Time>,
    protection: Protection,
}

impl BlockTable {
    fn of(&self, pb: Pb) -> &[Time] {
        let node = &self.nodes[pb.0 as usize];
        &self.costs[node.first..=node.first + node.most]
    }
}

/// The planner: settings and scratch memory. Its result depends on its arguments alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BudgetPlanner {
    tree: PbTree,
    costs: MergeCosts,
    settings: MMergeSettings,
    blocks: Vec<BlockTable>,
    /// Least cost of winning so many pages in the blocks up to and with each.
    folded: Vec<Vec<Time>>,
    /// Pages to win in each block.
    wishes: Vec<usize>,
    pending: Vec<(Pb, usize)>,
    plan: BudgetPlan,
}

impl BudgetPlanner {
    /// A planner for blocks of this tree.
    pub fn new(tree: PbTree, costs: MergeCosts, settings: MMergeSettings) -> BudgetPlanner {
        BudgetPlanner {
            tree,
            costs,
            settings,
            blocks: Vec::new(),
            folded: Vec::new(),
            wishes: Vec::new(),
            pending: Vec::with_capacity(tree.pb_count()),
            plan: BudgetPlan::default(),
        }
    }

    /// Blank pages of a leaf that may be programmed: under protection not those of a leaf that was
    /// disturbed beyond tolerance.
    fn usable_blank(&self, leaf: &LeafState) -> u32 {
        if self.settings.disturb_aware && leaf.disturb > self.settings.disturb_tolerance {
            return 0;
        }
        self.tree.pages_per_leaf() as u32 - u32::from(leaf.valid + leaf.invalid)
    }

    /// The cheapest restores after which `pages` more pages fit in the blocks. `leaves` holds the
    /// leaves of one block after the other. `None` if they cannot fit.
    pub fn plan(&mut self, leaves: &[LeafState], pages: u32) -> Option<&BudgetPlan> {
        let width = self.tree.leaves();
        let blank: u32 = leaves.iter().map(|leaf| self.usable_blank(leaf)).sum();
        let wish = pages.saturating_sub(blank) as usize;
        self.prepare(leaves.len() / width);
        loop {
            for (block, leaves) in leaves.chunks(width).enumerate() {
                self.fill_table(block, leaves, wish);
            }
            if !self.choose(wish) {
                return None;
            }
            let mut again = false;
            for (block, leaves) in leaves.chunks(width).enumerate() {
                again |= self.protect(block, leaves);
            }
            if !again {
                return Some(&self.plan);
            }
        }
    }

    /// Leaves of a block that the last plan had to restore only to protect them from disturb.
    pub fn protected(&self, block: usize) -> &[bool] {
        self.blocks[block].protection.must_restore()
    }

    /// Makes room for this many blocks and forgets what had to be protected.
    fn prepare(&mut self, blocks: usize) {
        let (tree, settings) = (self.tree, self.settings);
        let table = || BlockTable {
            nodes: vec![BudgetNode::default(); tree.pb_count() + 1],
            costs: Vec::new(),
            protection: Protection::new(tree, settings),
        };
        if self.blocks.len() != blocks {
            self.blocks.resize_with(blocks, table);
            self.folded.resize_with(blocks, Vec::new);
        }
        self.blocks.iter_mut().for_each(|block| block.protection.begin());
    }

    /// Fills the tables of one block from the leaves up.
    fn fill_table(&mut self, block: usize, leaves: &[LeafState], wish: usize) {
        let first_leaf = self.tree.leaves();
        self.blocks[block].costs.clear();
        for index in (1..=self.tree.pb_count()).rev() {
            let (valid, must, most) = if index >= first_leaf {
                let state = &leaves[index - first_leaf];
                let valid = u32::from(state.valid);
                let won = self.tree.pages_per_leaf() as u32 - valid - self.usable_blank(state);
                let must = self.blocks[block].protection.must_restore()[index - first_leaf];
                (valid, must, wish.min(won as usize))
            } else {
                let [left, right] = [index * 2, index * 2 + 1].map(|half| self.blocks[block].nodes[half]);
                (left.valid + right.valid, left.must || right.must, wish.min(left.most + right.most))
            };
            let whole = self.whole_cost(Pb(index as u16), valid);
            let table = &mut self.blocks[block];
            let first = table.costs.len();
            table.nodes[index] = BudgetNode { valid, must, first, most };
            for won in 0..=most {
                let cost = match (index >= first_leaf, won) {
                    (_, 0) if !must => Time::ZERO,
                    (true, _) => whole,
                    (false, _) => whole.min(best_split(table, Pb(index as u16), won).0),
                };
                table.costs.push(cost);
            }
        }
    }

    fn whole_cost(&self, pb: Pb, valid: u32) -> Time {
        self.costs.copy * (u64::from(valid) * 2) + self.costs.partial_erase[pb.level() as usize]
    }

    /// Spreads the wish over the blocks and reads the restores off the tables. `false` if the blocks
    /// do not have so many pages to win.
    fn choose(&mut self, wish: usize) -> bool {
        self.fold(wish);
        if self.folded.last().is_none_or(|best| best.len() <= wish) {
            return wish == 0 && self.blocks.is_empty();
        }
        self.wishes.clear();
        self.wishes.resize(self.blocks.len(), 0);
        let mut left = wish;
        for block in (1..self.blocks.len()).rev() {
            let (before, own) = (&self.folded[block - 1], self.blocks[block].of(Pb::BLOCK));
            self.wishes[block] = left - cheapest_pair(before, own, left).1;
            left -= self.wishes[block];
        }
        self.wishes[0] = left;
        self.plan.restores.clear();
        (self.plan.copy_out, self.plan.cost) = (0, Time::ZERO);
        for block in 0..self.blocks.len() {
            self.collect(block);
        }
        true
    }

    fn fold(&mut self, wish: usize) {
        for block in 0..self.blocks.len() {
            let own = self.blocks[block].of(Pb::BLOCK);
            let (before, rest) = self.folded.split_at_mut(block);
            rest[0].clear();
            match before.last() {
                None => rest[0].extend_from_slice(own),
                Some(before) => {
                    let most = wish.min(before.len() + own.len() - 2);
                    rest[0].extend((0..=most).map(|won| cheapest_pair(before, own, won).0));
                }
            }
        }
    }

    /// Restores of one block, in address order.
    fn collect(&mut self, block: usize) {
        self.pending.clear();
        self.pending.push((Pb::BLOCK, self.wishes[block]));
        while let Some((pb, won)) = self.pending.pop() {
            let table = &self.blocks[block];
            let node = table.nodes[pb.0 as usize];
            if won == 0 && !node.must {
                continue;
            }
            let whole = self.whole_cost(pb, node.valid);
            if table.of(pb)[won] == whole {
                self.plan.restores.push((block, pb));
                self.plan.copy_out += node.valid;
                self.plan.cost += whole;
            } else {
                let [left, right] = pb.children();
                let (_, in_left) = best_split(table, pb, won);
                self.pending.push((right, won - in_left));
                self.pending.push((left, in_left));
            }
        }
    }

    /// Adds the leaves of a block that the restores would disturb beyond tolerance: those with valid
    /// pages, and those whose blank pages are counted on.
    fn protect(&mut self, block: usize, leaves: &[LeafState]) -> bool {
        let (aware, width) = (self.settings.disturb_aware, self.tree.pages_per_leaf() as u16);
        let tolerance = self.settings.disturb_tolerance;
        let blank = |leaf: &LeafState| leaf.valid + leaf.invalid < width && leaf.disturb <= tolerance;
        let restores = self.plan.restores.iter().filter(|(of, _)| *of == block).map(|(_, pb)| *pb);
        let protection = &mut self.blocks[block].protection;
        aware && protection.extend(leaves, restores, |leaf| leaf.valid > 0 || blank(leaf))
    }
}

/// The cheapest way to win `won` pages in the halves of `pb`, and how many of them in the first.
fn best_split(table: &BlockTable, pb: Pb, won: usize) -> (Time, usize) {
    let [left, right] = pb.children();
    cheapest_pair(table.of(left), table.of(right), won)
}

/// The cheapest sum of an entry of each table whose indices add up to `won`, and the smallest such
/// index into the first. `won` is at most the sum of the last indices.
fn cheapest_pair(first: &[Time], second: &[Time], won: usize) -> (Time, usize) {
    let (least, most) = (won.saturating_sub(second.len() - 1), won.min(first.len() - 1));
    let sums = (least..=most).map(|index| (first[index] + second[won - index], index));
    sums.min().unwrap_or((Time(u64::MAX), least))
}
