//! 5xx: which blocks of a superblock are merged and how, against brute force.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at the variants that it is about")]
#![allow(clippy::print_stdout, reason = "figures shown with --nocapture")]

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use pumice_ftl::merge::budget::{BudgetPlan, BudgetPlanner};
use pumice_ftl::merge::restore::{LeafState, MMergeSettings, MergeChoice, MergeCosts};
use pumice_ftl::merge::superblock::{MemberState, PenSuperblockState, RestoreScope, SuperblockPlan, SuperblockPlanner};
use pumice_types::{Pb, PbTree, Time, timing};

fn costs(tree: PbTree, copy: u64, erase: u64) -> MergeCosts {
    let partial_erase = (0..=u64::from(tree.max_splits())).map(|level| Time(erase - level * erase / 50));
    MergeCosts { copy: Time(copy), block_erase: Time(erase), partial_erase: partial_erase.collect() }
}

fn settings(aware: bool, tolerance: u8) -> MMergeSettings {
    MMergeSettings { disturb_tolerance: tolerance, disturb_aware: aware, wear_limit: 16 }
}

/// Some blocks, leaf by leaf, and a wish.
#[derive(Clone, Debug)]
struct Case {
    tree: PbTree,
    leaves: Vec<LeafState>,
    tolerance: u8,
    erase: u64,
    wish: u32,
}

fn leaf(width: u16) -> impl Strategy<Value = LeafState> {
    (0..=width, 0..=width, 0u8..3).prop_map(move |(programmed, invalid, disturb)| {
        let invalid = invalid.min(programmed);
        // A leaf without a programmed page was never disturbed since its erase.
        let disturb = if programmed == 0 { 0 } else { disturb };
        LeafState { valid: programmed - invalid, invalid, in_u: 0, disturb }
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let shape = prop_oneof![Just((3u8, 1usize)), Just((2, 2)), Just((2, 1)), Just((1, 3)), Just((0, 3))];
    (shape, 1u16..5, 0u8..3, prop_oneof![Just(30u64), Just(300), Just(3_000)]).prop_flat_map(
        |((splits, blocks), width, tolerance, erase)| {
            let tree = PbTree::new(width << splits, splits).expect("divisible by construction");
            let leaves = proptest::collection::vec(leaf(width), tree.leaves() * blocks);
            (leaves, 0u32..=(u32::from(width) << splits) * blocks as u32).prop_map(move |(leaves, wish)| Case {
                tree,
                leaves,
                tolerance,
                erase,
                wish,
            })
        },
    )
}

/// Every set of disjoint PBs below `pb`.
fn antichains(tree: PbTree, pb: Pb) -> Vec<Vec<Pb>> {
    let mut all = vec![vec![pb]];
    if pb.level() == u32::from(tree.max_splits()) {
        all.push(vec![]);
        return all;
    }
    let [left, right] = pb.children();
    for a in antichains(tree, left) {
        for b in antichains(tree, right) {
            all.push([a.clone(), b].concat());
        }
    }
    all
}

impl Case {
    fn blocks(&self) -> usize {
        self.leaves.len() / self.tree.leaves()
    }

    fn leaves_of(&self, restore: &(usize, Pb)) -> std::ops::Range<usize> {
        let range = self.tree.leaf_range(restore.1);
        let first = restore.0 * self.tree.leaves();
        first + range.start..first + range.end
    }

    fn is_usable(&self, leaf: usize, aware: bool) -> bool {
        !aware || self.leaves[leaf].disturb <= self.tolerance
    }

    /// Pages that can be programmed once the restores are done and their own pages are back.
    fn room(&self, restores: &[(usize, Pb)], aware: bool) -> u32 {
        let width = self.tree.pages_per_leaf() as u16;
        let restored = |leaf: usize| restores.iter().any(|restore| self.leaves_of(restore).contains(&leaf));
        let room = |(leaf, state): (usize, &LeafState)| match restored(leaf) {
            true => width - state.valid,
            false if self.is_usable(leaf, aware) => width - state.valid - state.invalid,
            false => 0,
        };
        self.leaves.iter().enumerate().map(|leaf| u32::from(room(leaf))).sum()
    }

    fn price(&self, restores: &[(usize, Pb)]) -> Time {
        let costs = costs(self.tree, 10, self.erase);
        let price = |restore: &(usize, Pb)| {
            let valid: u64 = self.leaves[self.leaves_of(restore)].iter().map(|leaf| u64::from(leaf.valid)).sum();
            costs.copy * (valid * 2) + costs.partial_erase[restore.1.level() as usize]
        };
        restores.iter().map(price).sum()
    }

    /// Leaves that hold something to lose and would be over tolerance.
    fn endangered(&self, restores: &[(usize, Pb)]) -> Vec<usize> {
        let width = self.tree.leaves();
        let restored = |leaf: usize| restores.iter().any(|restore| self.leaves_of(restore).contains(&leaf));
        let holds = |leaf: usize| {
            let state = &self.leaves[leaf];
            let blank = usize::from(state.valid + state.invalid) < self.tree.pages_per_leaf();
            state.valid > 0 || (blank && self.is_usable(leaf, true))
        };
        let after = |leaf: usize| {
            let state = &self.leaves[leaf];
            let before = !leaf.is_multiple_of(width) && restored(leaf - 1);
            let behind = leaf % width + 1 < width && restored(leaf + 1);
            let programmed = state.valid + state.invalid > 0;
            state.disturb + if programmed { u8::from(before) + u8::from(behind) } else { 0 }
        };
        (0..self.leaves.len()).filter(|&leaf| !restored(leaf) && holds(leaf) && after(leaf) > self.tolerance).collect()
    }

    /// The cheapest of all sets of PBs in all blocks that `allowed` lets through.
    fn cheapest(&self, allowed: impl Fn(&[(usize, Pb)]) -> bool) -> Option<Time> {
        let of_one = antichains(self.tree, Pb::BLOCK);
        let mut sets: Vec<Vec<(usize, Pb)>> = vec![vec![]];
        for block in 0..self.blocks() {
            let extend = |set: &Vec<(usize, Pb)>| {
                let with = |pbs: &Vec<Pb>| set.iter().copied().chain(pbs.iter().map(|&pb| (block, pb))).collect();
                of_one.iter().map(with).collect::<Vec<_>>()
            };
            sets = sets.iter().flat_map(extend).collect();
        }
        sets.iter().filter(|set| allowed(set)).map(|set| self.price(set)).min()
    }

    fn plan(&self, aware: bool) -> (Option<BudgetPlan>, Vec<usize>) {
        let costs = costs(self.tree, 10, self.erase);
        let mut planner = BudgetPlanner::new(self.tree, costs, settings(aware, self.tolerance));
        let plan = planner.plan(&self.leaves, self.wish).cloned();
        let protected = |block: usize| planner.protected(block).to_vec();
        let must = (0..self.blocks()).flat_map(protected).enumerate().filter(|(_, must)| *must);
        (plan, must.map(|(leaf, _)| leaf).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn t550_a_budgeted_plan_is_the_cheapest_that_makes_room(case in cases()) {
        let (plan, _) = case.plan(false);
        let cheapest = case.cheapest(|restores| case.room(restores, false) >= case.wish);
        prop_assert_eq!(plan.as_ref().map(|plan| plan.cost), cheapest);
        if let Some(plan) = plan {
            prop_assert!(case.room(&plan.restores, false) >= case.wish);
            prop_assert_eq!(case.price(&plan.restores), plan.cost);
        }
    }

    #[test]
    fn t551_a_protected_plan_is_safe_and_the_cheapest_for_its_must_restore_set(case in cases()) {
        let (plan, must) = case.plan(true);
        let covers = |restores: &[(usize, Pb)]| {
            must.iter().all(|leaf| restores.iter().any(|restore| case.leaves_of(restore).contains(leaf)))
        };
        let cheapest = case.cheapest(|restores| covers(restores) && case.room(restores, true) >= case.wish);
        prop_assert_eq!(plan.as_ref().map(|plan| plan.cost), cheapest);
        if let Some(plan) = plan {
            prop_assert_eq!(case.endangered(&plan.restores), Vec::<usize>::new());
            prop_assert!(case.room(&plan.restores, true) >= case.wish);
            let copy_out = |restore: &(usize, Pb)| -> u32 {
                case.leaves[case.leaves_of(restore)].iter().map(|leaf| u32::from(leaf.valid)).sum()
            };
            prop_assert_eq!(plan.copy_out, plan.restores.iter().map(copy_out).sum::<u32>());
            let ascending = |pair: &[(usize, Pb)]| case.leaves_of(&pair[0]).end <= case.leaves_of(&pair[1]).start;
            prop_assert!(plan.restores.windows(2).all(ascending));
        }
    }

    #[test]
    fn t552_a_budgeted_plan_depends_on_its_arguments_alone(case in cases(), wish in 0u32..20) {
        let costs = costs(case.tree, 10, case.erase);
        let mut planner = BudgetPlanner::new(case.tree, costs, settings(true, case.tolerance));
        let more: Vec<LeafState> = case.leaves.iter().rev().chain(&case.leaves).copied().collect();
        planner.plan(&more, wish);
        prop_assert_eq!(planner.plan(&case.leaves, case.wish).cloned(), case.plan(true).0);
    }

    #[test]
    fn t553_a_full_merge_copies_the_fewest_pages_that_reach_its_goal(
        valid in proptest::collection::vec(0u32..=8, 3..8), freed in 1usize..4
    ) {
        let (tree, pages) = (PbTree::new(8, 0).expect("legal"), 8);
        // As many logical blocks as the valid pages fill, so that the goal can be reached.
        let logical = valid.iter().sum::<u32>().div_ceil(pages).max(1) as usize;
        prop_assume!(valid.len() >= logical + freed);
        let goal = valid.len() - freed;
        let plan = plan_of(tree, &members(&valid), goal, None);
        let copies = |set: u32| (0..valid.len()).filter(|n| set >> n & 1 == 1).map(|n| valid[n]).sum::<u32>();
        let reaches = |set: u32| set.count_ones() >= copies(set).div_ceil(pages) + freed as u32;
        let fewest = (1..1u32 << valid.len()).filter(|&set| reaches(set)).map(copies).min();
        let planned: u32 = plan.order[..plan.victims].iter().map(|&member| valid[member]).sum();
        prop_assert_eq!(Some(planned), fewest);
        prop_assert_eq!(plan.merge, Time(10) * u64::from(planned) + Time(100) * plan.victims as u64);
    }
}

/// How far the protection loop of the budgeted planner is from the cheapest safe set.
#[test]
fn t554_the_gap_of_the_budgeted_protection_loop_to_the_optimum() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut drawn, mut worse, mut sum, mut max) = (0u32, 0u32, 0.0f64, 0.0f64);
    while drawn < 200 {
        let case = cases().new_tree(&mut runner).expect("drawn").current();
        let safe = |restores: &[(usize, Pb)]| case.endangered(restores).is_empty();
        let best = case.cheapest(|restores| safe(restores) && case.room(restores, true) >= case.wish);
        let (Some(best), Some(plan)) = (best.filter(|best| best.0 > 0), case.plan(true).0) else { continue };
        assert!(plan.cost >= best, "the plan cannot be cheaper than the optimum");
        let gap = plan.cost.0 as f64 / best.0 as f64 - 1.0;
        drawn += 1;
        worse += u32::from(gap > 0.0);
        sum += gap;
        max = max.max(gap);
    }
    println!(
        "gap to the optimum over {drawn} cases: {:.1} % of plans dearer, mean {:.2} %, largest {:.1} %",
        100.0 * f64::from(worse) / f64::from(drawn),
        100.0 * sum / f64::from(drawn),
        100.0 * max
    );
    // Found with these cases: see docs/validation/ground-truth.md. A change of the loop shows up here.
    assert!(worse <= 8 && max < 3.5, "the loop has become worse");
}

/// Full blocks without a blank page, the first the oldest.
fn members(valid: &[u32]) -> Vec<MemberState> {
    valid.iter().zip(1..).map(|(&valid, age)| MemberState { valid, blank: 0, age }).collect()
}

/// Plans with copy 10 and erase 100 for a superblock whose leaves hold their blocks' pages evenly.
fn plan_of(tree: PbTree, members: &[MemberState], goal: usize, scope: Option<RestoreScope>) -> SuperblockPlan {
    let leaves = vec![LeafState::default(); members.len() * tree.leaves()];
    let m_merge = scope.map(|scope| (settings(true, 1), scope));
    let mut planner = SuperblockPlanner::new(tree, costs(tree, 10, 100), m_merge);
    let state =
        PenSuperblockState { members, leaves: &leaves, logical: goal, goal, m_merges: 0, free_blocks: 4, other: None };
    planner.plan(&state).clone()
}

#[test]
fn t555_the_emptiest_blocks_are_merged_first_and_the_oldest_among_equals() {
    let tree = PbTree::new(8, 0).expect("legal");
    let mut members = members(&[5, 3, 5, 3, 8]);
    members[1].age = 9;
    assert_eq!(plan_of(tree, &members, 4, None).order, [3, 1, 0, 2, 4]);
}

/// A superblock of four logical blocks in five blocks of 576 pages, PEN's device: block 4 holds 40
/// newer pages, which are superseded in the first 36 pages of block 0 and the last four of block 2.
fn worked_example() -> (PbTree, Vec<MemberState>, Vec<LeafState>) {
    let tree = PbTree::new(576, 6).expect("576 = 2^6 × 9");
    let mut members = members(&[540, 576, 572, 576, 40]);
    members[4].blank = 536;
    let full = LeafState { valid: 9, ..LeafState::default() };
    let mut leaves = vec![full; 5 * 64];
    leaves[..4].fill(LeafState { invalid: 9, ..LeafState::default() });
    leaves[2 * 64 + 63] = LeafState { valid: 5, invalid: 4, ..LeafState::default() };
    leaves[4 * 64..].fill(LeafState::default());
    (tree, members, leaves)
}

fn pen_plan(scope: RestoreScope, m_merges: u32, free_blocks: u32) -> SuperblockPlan {
    let (tree, members, leaves) = worked_example();
    let costs = MergeCosts {
        copy: Time::from_us(970.0),
        block_erase: Time::from_us(10_000.0),
        partial_erase: timing::partial_erase_table(tree, 10_000.0, None),
    };
    let mut planner = SuperblockPlanner::new(tree, costs, Some((settings(true, 1), scope)));
    let state = PenSuperblockState {
        members: &members,
        leaves: &leaves,
        logical: 4,
        goal: 4,
        m_merges,
        free_blocks,
        other: None,
    };
    planner.plan(&state).clone()
}

#[test]
fn t556_a_worked_merge_of_a_superblock() {
    let plan = pen_plan(RestoreScope::Superseded, 0, 10);
    assert_eq!((plan.order[0], plan.u_set), (4, 1), "the block with 40 valid pages is the U-set");
    // PB 16 is the first 36 pages, PB 127 the last nine, of which five are copied out and back.
    assert_eq!(plan.restores, [(0, Pb(16)), (2, Pb(127))]);
    assert_eq!((plan.copy_out, plan.borrowed), (5, 0));
    assert_eq!(plan.m_merge, Time::from_us(50.0 * 970.0 + 9_480.0 + 9_270.0 + 10_000.0));
    // Two blocks are not enough to win one, three are: 40 + 540 + 572 pages fill two new ones.
    assert_eq!(plan.victims, 3);
    assert_eq!(plan.merge, Time::from_us(1_152.0 * 970.0 + 30_000.0));
    assert_eq!(plan.choice, MergeChoice::MMerge);
    let budgeted = pen_plan(RestoreScope::AsNeeded, 0, 10);
    assert_eq!(budgeted.restores, plan.restores, "every superseded page is needed");
}

#[test]
fn t557_m_merge_stops_at_the_wear_limit() {
    assert_eq!(pen_plan(RestoreScope::Superseded, 15, 10).choice, MergeChoice::MMerge);
    assert_eq!(pen_plan(RestoreScope::Superseded, 16, 10).choice, MergeChoice::Merge);
}

/// The worked example without its block of newer pages: its superseded pages could be won, but no block.
#[test]
fn t549_a_superblock_without_a_block_too_many_is_not_restored() {
    let (tree, members, leaves) = worked_example();
    let (members, leaves) = (&members[..4], &leaves[..4 * 64]);
    for scope in [RestoreScope::Superseded, RestoreScope::AsNeeded] {
        let costs = costs(tree, 10, 1_000_000);
        let mut planner = SuperblockPlanner::new(tree, costs, Some((settings(true, 1), scope)));
        let state =
            PenSuperblockState { members, leaves, logical: 4, goal: 3, m_merges: 0, free_blocks: 10, other: None };
        let plan = planner.plan(&state);
        assert_eq!((plan.u_set, plan.choice, plan.m_merge), (0, MergeChoice::Merge, Time::ZERO));
        assert!(plan.restores.is_empty());
    }
}

#[test]
fn t558_copy_outs_borrow_blocks_only_if_there_are_any() {
    // Nothing is blank anywhere; each block of the D-set restores its first half, with 2, 2, 3 and 3
    // valid pages, so that ten pages need two further blocks.
    let tree = PbTree::new(8, 1).expect("legal");
    let members = members(&[6, 6, 6, 7, 7]);
    let half = |valid: u16| [LeafState { valid, invalid: 4 - valid, ..LeafState::default() }];
    let full = || [LeafState { valid: 4, ..LeafState::default() }];
    let leaves: Vec<LeafState> = [2, 2, 2, 3, 3].into_iter().flat_map(|valid| [half(valid), full()].concat()).collect();
    let costs = MergeCosts { copy: Time(1), block_erase: Time(100), partial_erase: vec![Time(100), Time(1)] };
    let mut planner = SuperblockPlanner::new(tree, costs, Some((settings(true, 9), RestoreScope::Superseded)));
    let state = |free_blocks| PenSuperblockState {
        members: &members,
        leaves: &leaves,
        logical: 4,
        goal: 4,
        m_merges: 0,
        free_blocks,
        other: None,
    };
    let plan = planner.plan(&state(2));
    assert_eq!((plan.copy_out, plan.borrowed, plan.choice), (10, 2, MergeChoice::MMerge));
    assert_eq!((plan.m_merge, plan.merge), (Time(6 + 20 + 4 + 300), Time(32 + 500)));
    assert_eq!(planner.plan(&state(1)).choice, MergeChoice::Merge);
}
