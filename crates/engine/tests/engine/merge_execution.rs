//! 5xx and 2xx: executing a planned M-Merge on an array leaves exactly the same logical content.

use proptest::prelude::*;
use pumice_ftl::Plan;
use pumice_ftl::merge::m_merge::{
    LeafState, MMergePlanner, MMergeSettings, MergeChoice, MergeCosts, PairState, ULeafState,
};
use pumice_ftl::merge::run::{NOT_IN_U, Pair, full_merge, m_merge};
use pumice_nand::{ArrayConfig, NandArray};
use pumice_types::{
    BlockId, Cause, FlashCommand, Geometry, Lpn, PageAddress, PbTree, ProgramOrder, TagFormat, Time, bits,
};

const D: BlockId = BlockId(0);
const U: BlockId = BlockId(1);
const FREE: BlockId = BlockId(2);
const PAGES: usize = 72;

fn array(tree: PbTree) -> NandArray {
    NandArray::new(ArrayConfig {
        geometry: Geometry {
            channels: 1,
            chips_per_channel: 1,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: 3,
            pages_per_block: PAGES as u16,
            page_bytes: 4096,
            spare_bytes: 64,
            units_per_page: 1,
        },
        tags: TagFormat::new(PAGES as u32),
        tree,
        program_order: ProgramOrder::Any,
        disturb_tolerance: 1,
        sub_block_disturb: None,
        copyback: true,
        sub_blocks: None,
    })
}

/// A pair as writes leave it: some offsets written to D, then updates appended to U.
struct Case {
    tree: PbTree,
    array: NandArray,
    d_valid: Vec<u64>,
    in_u: Vec<u16>,
    updates: Vec<usize>,
    written: Vec<bool>,
}

fn build(splits: u8, written: Vec<bool>, updates: Vec<usize>) -> Case {
    let tree = PbTree::new(PAGES as u16, splits).expect("72 = 2^3 × 9");
    let mut array = array(tree);
    let mut d_valid = vec![0u64; bits::words_for(PAGES)];
    let mut in_u = vec![NOT_IN_U; PAGES];
    let mut program = |block, page: usize, lpn: usize, version: u8| {
        let target = PageAddress::new(block, page as u16);
        array.execute(&FlashCommand::program(Cause::Host, target, Lpn(lpn as u32), version, 1)).expect("legal");
    };
    for offset in (0..PAGES).filter(|&offset| written[offset]) {
        program(D, offset, offset, 1);
        bits::set(&mut d_valid, offset);
    }
    let updates: Vec<usize> = updates.into_iter().filter(|&offset| written[offset]).collect();
    for (page, &offset) in updates.iter().enumerate() {
        program(U, page, offset, 2 + page as u8);
        bits::clear(&mut d_valid, offset);
        in_u[offset] = page as u16;
    }
    Case { tree, array, d_valid, in_u, updates, written }
}

impl Case {
    fn pair(&self) -> Pair<'_> {
        Pair {
            d: D,
            d_sequence: 1,
            u: U,
            u_sequence: 1,
            first_lpn: Lpn(0),
            d_valid: &self.d_valid,
            in_u: &self.in_u,
            u_room: self.updates.len() as u16..PAGES as u16,
        }
    }

    /// Version that each offset must read after any merge.
    fn versions(&self) -> Vec<Option<u8>> {
        let version = |offset: usize| match self.in_u[offset] {
            NOT_IN_U => self.written[offset].then_some(1),
            page => Some(2 + page as u8),
        };
        (0..PAGES).map(version).collect()
    }

    fn leaves(&self) -> (Vec<LeafState>, Vec<ULeafState>) {
        let width = self.tree.pages_per_leaf();
        let mut d = vec![LeafState::default(); self.tree.leaves()];
        let mut u = vec![ULeafState::default(); self.tree.leaves()];
        for page in 0..PAGES {
            let leaf = page / width;
            d[leaf].valid += u16::from(bits::get(&self.d_valid, page));
            d[leaf].invalid += u16::from(self.written[page] && !bits::get(&self.d_valid, page));
            d[leaf].in_u += u16::from(self.in_u[page] != NOT_IN_U);
            u[leaf].free += u16::from(page >= self.updates.len());
            let current = self.updates.get(page).is_some_and(|&offset| self.in_u[offset] as usize == page);
            u[leaf].valid += u16::from(current);
        }
        (d, u)
    }
}

/// Versions that block `block` holds, in place.
fn content(array: &NandArray, block: BlockId) -> Vec<Option<u8>> {
    let read = |offset: usize| {
        let page = array.peek(PageAddress::new(block, offset as u16)).ok()?;
        assert_eq!(page.lpn, Lpn(offset as u32));
        assert!(!page.corrupt);
        Some(page.version)
    };
    (0..PAGES).map(read).collect()
}

fn case() -> impl Strategy<Value = Case> {
    let written = proptest::collection::vec(proptest::bool::weighted(0.9), PAGES);
    let updates = (0usize..8, 0usize..72).prop_flat_map(|(spread, first)| {
        let offset = (0..=spread * 9).prop_map(move |n| (first + n) % PAGES);
        proptest::collection::vec(offset, 1..=PAGES)
    });
    (0u8..4, written, updates)
        .prop_map(|(splits, written, updates)| build(splits, written, updates))
        .prop_filter("U holds something", |case| !case.updates.is_empty())
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "L = {}, updates {:?}, written {:?}", self.tree.max_splits(), self.updates, self.written)
    }
}

fn execute(array: &mut NandArray, plan: &Plan) {
    for command in &plan.commands {
        array.execute(command).expect("a merge breaks no rule");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, max_global_rejects: 50_000, ..ProptestConfig::default() })]

    #[test]
    fn t540_a_full_merge_keeps_the_content(mut case in case()) {
        let mut plan = Plan::default();
        full_merge(&case.pair(), FREE, 2, &mut plan);
        execute(&mut case.array, &plan);
        prop_assert_eq!(content(&case.array, FREE), case.versions());
        prop_assert!((0..PAGES).all(|p| case.array.spare(PageAddress::new(D, p as u16)).is_none()));
    }

    #[test]
    fn t541_an_m_merge_keeps_the_content_and_its_disturb_counters_are_the_arrays(mut case in case(), erase in 1u64..200) {
        let tree = case.tree;
        let partial_erase = vec![Time(erase); tree.max_splits() as usize + 1];
        let costs = MergeCosts { copy: Time(10), block_erase: Time(erase), partial_erase };
        let settings = MMergeSettings { disturb_tolerance: 1, disturb_aware: true, wear_limit: 16 };
        let mut planner = MMergePlanner::new(tree, costs, settings);
        let (d_leaves, u_leaves) = case.leaves();
        let chosen = planner.plan(&PairState { d_leaves: &d_leaves, u_leaves: &u_leaves, m_merges: 0 }).clone();
        prop_assume!(chosen.choice == MergeChoice::MMerge);
        let (mut plan, mut slots) = (Plan::default(), vec![0u16; PAGES]);
        m_merge(&case.pair(), tree, &chosen, &mut slots, &mut plan);
        execute(&mut case.array, &plan);
        prop_assert_eq!(content(&case.array, D), case.versions());
        prop_assert_eq!(case.array.disturb(D), &chosen.disturb_after[..]);
        let copies = plan.commands.iter().filter(|c| c.op == pumice_types::FlashOp::Copy).count();
        prop_assert_eq!(copies as u32, chosen.copy_out + chosen.copy_back);
    }
}
