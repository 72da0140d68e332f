//! One merge planned on its own, from page states: the planner that the engine runs, as one call.

use pumice_config::SpecError;
use pumice_ftl::merge::m_merge::{
    LeafState, MMergePlan, MMergePlanner, MMergeSettings, MergeCosts, PairState, ULeafState,
};
use pumice_types::chip::check_erase_table;
use pumice_types::{PbTree, Time, refuse, timing};

/// Page states: free, valid, invalid.
const FREE: u8 = 0;
const VALID: u8 = 1;
const INVALID: u8 = 2;

/// A D-block and its U-block, page by page.
#[derive(Clone, Debug)]
pub struct PairInput<'a> {
    /// D: 0 free, 1 valid, 2 invalid with its valid copy in U.
    pub d_state: &'a [u8],
    /// U: 0 free, 1 valid, 2 invalid.
    pub u_state: &'a [u8],
    /// Disturb counters of D, one a leaf.
    pub disturb: &'a [u8],
    /// L.
    pub max_splits: u8,
    /// One page copied, in microseconds.
    pub page_copy_us: f64,
    /// Whole-block erase, in microseconds.
    pub block_erase_us: f64,
    /// Partial erase by level in microseconds, level 0 first; PEN's table if absent.
    pub t_us: Option<&'a [f64]>,
    /// Disturbs that a leaf survives.
    pub disturb_tolerance: u8,
    /// Whether leaves are protected.
    pub disturb_aware: bool,
    /// M-Merges since the last full merge.
    pub m_merge_count: u32,
    /// W.
    pub wear_limit_w: u32,
}

/// Plans the merge of a pair (PEN, FAST'18, Algorithms 1 and 2).
///
/// # Errors
/// States that do not describe a pair, in one line.
pub fn plan_pair(input: &PairInput) -> Result<MMergePlan, SpecError> {
    let tree = checked_tree(input)?;
    let times = partial_erase_times(input, tree)?;
    let width = tree.pages_per_leaf();
    let count = |pages: &[u8], state: u8| pages.iter().filter(|&&page| page == state).count() as u16;
    let d_leaves: Vec<LeafState> = input
        .d_state
        .chunks(width)
        .zip(input.disturb)
        .map(|(pages, &disturb)| {
            let invalid = count(pages, INVALID);
            LeafState { valid: count(pages, VALID), invalid, in_u: invalid, disturb }
        })
        .collect();
    let u_leaves: Vec<ULeafState> = input
        .u_state
        .chunks(width)
        .map(|pages| ULeafState { free: count(pages, FREE), valid: count(pages, VALID), disturb: 0 })
        .collect();
    let costs = MergeCosts {
        copy: Time::from_us(input.page_copy_us),
        block_erase: Time::from_us(input.block_erase_us),
        partial_erase: times,
    };
    let settings = MMergeSettings {
        disturb_tolerance: input.disturb_tolerance,
        disturb_aware: input.disturb_aware,
        wear_limit: input.wear_limit_w,
    };
    let mut planner = MMergePlanner::new(tree, costs, settings);
    let pair = PairState { d_leaves: &d_leaves, u_leaves: &u_leaves, m_merges: input.m_merge_count };
    Ok(planner.plan(&pair).clone())
}

fn checked_tree(input: &PairInput) -> Result<PbTree, SpecError> {
    let fail = |text: String| Err(SpecError(text));
    let pages = input.d_state.len();
    if pages == 0 || pages > usize::from(u16::MAX) {
        return fail(format!("d_state has {pages} pages; allowed: 1 to {}", u16::MAX));
    }
    if input.u_state.len() != pages {
        return fail(format!(
            "u_state has {} pages and d_state {pages}; both must describe a block of one size",
            input.u_state.len()
        ));
    }
    for (name, states) in [("d_state", input.d_state), ("u_state", input.u_state)] {
        if let Some(page) = states.iter().position(|&state| state > INVALID) {
            return fail(format!("{name}[{page}] = {}; allowed: 0 free, 1 valid, 2 invalid", states[page]));
        }
    }
    let count = |states: &[u8], wanted| states.iter().filter(|&&state| state == wanted).count();
    let (superseded, current) = (count(input.d_state, INVALID), count(input.u_state, VALID));
    if superseded != current {
        return fail(format!(
            "d_state has {superseded} invalid pages and u_state {current} valid ones; they must be equal: each invalid page of D has its valid copy in U"
        ));
    }
    let Some(tree) = PbTree::new(pages as u16, input.max_splits) else {
        let largest = PbTree::largest_legal_splits(pages as u16);
        return fail(format!(
            "max_splits = {} does not divide {pages} pages; the largest legal value is {largest}",
            input.max_splits
        ));
    };
    if input.disturb.len() != tree.leaves() {
        return fail(format!(
            "disturb has {} counters; allowed: one a leaf, 2^max_splits = {}",
            input.disturb.len(),
            tree.leaves()
        ));
    }
    Ok(tree)
}

fn partial_erase_times(input: &PairInput, tree: PbTree) -> Result<Vec<Time>, SpecError> {
    let times = input.t_us.unwrap_or_default();
    for (name, value) in [("page_copy_us", input.page_copy_us), ("block_erase_us", input.block_erase_us)]
        .into_iter()
        .chain(times.iter().map(|&time| ("t_us", time)))
    {
        if !(0.0..=1e9).contains(&value) {
            let allowed = "a number from 0 to 1000000000 (us)";
            return Err(refuse!("{name} = {value} is not allowed; allowed: {allowed}"));
        }
    }
    if let Some(times) = input.t_us {
        let levels = usize::from(tree.max_splits()) + 1;
        check_erase_table(["t_us", "block_erase_us"], times, levels, input.block_erase_us)?;
    }
    Ok(timing::partial_erase_table(tree, input.block_erase_us, input.t_us))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_ftl::merge::m_merge::MergeChoice;

    /// A block of 64 pages, wholly outdated.
    const OUTDATED: PairInput<'static> = PairInput {
        d_state: &[INVALID; 64],
        u_state: &[VALID; 64],
        disturb: &[0; 64],
        max_splits: 6,
        page_copy_us: 970.0,
        block_erase_us: 10_000.0,
        t_us: None,
        disturb_tolerance: 1,
        disturb_aware: true,
        m_merge_count: 0,
        wear_limit_w: 16,
    };

    #[test]
    fn t329_a_pair_without_pages_is_refused() {
        let empty = PairInput { d_state: &[], u_state: &[], disturb: &[], max_splits: 0, ..OUTDATED };
        let error = plan_pair(&empty).expect_err("no pages");
        assert_eq!(error.to_string(), "d_state has 0 pages; allowed: 1 to 65535");
    }

    /// A block of 64 pages was priced as a partial block of a larger one, below tBERS.
    #[test]
    fn t905_a_small_block_wholly_outdated_is_a_tie_and_merged_in_full() {
        let plan = plan_pair(&OUTDATED).expect("a pair");
        assert_eq!((plan.m_merge, plan.merge), (Time::from_us(82_080.0), Time::from_us(82_080.0)));
        assert_eq!(plan.choice, MergeChoice::Merge);
    }
}
