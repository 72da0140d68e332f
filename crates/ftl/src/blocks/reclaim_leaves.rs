//! Which leaves of one block are reclaimed together where partial blocks can be erased, and what must be
//! saved from the disturb that this causes.
//!
//! Chen et al. (*Enabling sub-blocks erase management to boost the performance of 3D NAND flash memory*,
//! DAC'16, as GLSVLSI'24 describes it in section 3) erase sub-blocks cut along the layers; partial blocks,
//! their times and the disturb of what lies beside them are PEN's (FAST'18, sections 4 and 6). Built:
//! within a block the set of partial blocks that wins the most free pages in a given time of the die,
//! found over the tree, and the leaves that must go with them because they hold valid pages and would
//! be disturbed beyond tolerance.
//!
//! Deviations: Chen et al. erase a sub-block with valid pages alone, and leave guard layers; here a leaf
//! in danger is copied out and erased too.

use pumice_types::erase_unit::UNITS_MAX;
use pumice_types::{Pb, PbTree, Time, UnitSet, disturb};
use serde::{Deserialize, Serialize};

use super::reclaim_units::UnitChoice;

/// What erasing partial blocks costs, and what disturb they cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafRule {
    /// Partial blocks of a block, at most [`UNITS_MAX`] leaves.
    pub tree: PbTree,
    /// One page copied.
    pub copy: Time,
    /// One partial erase, by level.
    pub erase: Vec<Time>,
    /// Disturbs that a leaf survives.
    pub tolerance: u8,
    /// Whether leaves in danger are saved.
    pub protects: bool,
}

/// A set of leaves to erase, and what it wins and costs.
#[derive(Clone, Copy, Debug, Default)]
struct Pick {
    units: UnitSet,
    won: u64,
    copies: u64,
    time: u64,
}

impl Pick {
    fn with(self, other: Pick) -> Pick {
        Pick {
            units: self.units.with(other.units),
            won: self.won + other.won,
            copies: self.copies + other.copies,
            time: self.time + other.time,
        }
    }
}

/// What is won if a page is worth `time / won` of the die.
#[derive(Clone, Copy, Debug)]
struct Price {
    time: u64,
    won: u64,
}

impl Price {
    /// Worth of a pick, scaled; above 0 if it is cheaper a page than this price.
    fn value(self, pick: &Pick) -> i128 {
        i128::from(pick.won) * i128::from(self.time) - i128::from(pick.time) * i128::from(self.won)
    }
}

/// A search for the best pick of a block.
struct Search<'a> {
    rule: &'a LeafRule,
    valid: &'a [Option<u16>],
    must: UnitSet,
    price: Price,
}

impl Search<'_> {
    /// The best pick below `pb`, and `pb` erased as a whole.
    fn best(&self, pb: Pb) -> (Pick, Pick) {
        let tree = self.rule.tree;
        let range = tree.leaf_range(pb);
        let erase = self.rule.erase[pb.level() as usize].0;
        if range.len() == 1 {
            let leaf = range.start;
            let copies = self.valid[leaf].map_or(0, u64::from);
            let won = if self.valid[leaf].is_some() { tree.pages_per_leaf() as u64 - copies } else { 0 };
            let whole = Pick { units: UnitSet::one(leaf), won, copies, time: copies * self.rule.copy.0 + erase };
            let takes = self.must.contains(leaf) || self.price.value(&whole) > 0;
            return (if takes { whole } else { Pick::default() }, whole);
        }
        let [(left, all_left), (right, all_right)] = pb.children().map(|child| self.best(child));
        let split = left.with(right);
        let both = all_left.with(all_right);
        let whole = Pick { time: both.copies * self.rule.copy.0 + erase, ..both };
        let (value, its_value) = (self.price.value(&whole), self.price.value(&split));
        let takes = value >= its_value && (value > 0 || !split.units.is_empty());
        (if takes { whole } else { split }, whole)
    }
}

/// The leaves to reclaim in one go, those in danger included. `valid` holds for each leaf its valid pages,
/// or `None` if it is blank; `disturbs` its disturbs so far. Some leaf must have an invalid page. The set
/// may hold blank leaves, where erasing them again spares an operation.
pub fn choose_leaves(valid: &[Option<u16>], disturbs: &[u8], rule: &LeafRule) -> UnitChoice {
    let mut must = UnitSet::EMPTY;
    loop {
        let pick = cheapest(valid, must, rule);
        let more = if rule.protects { endangered(pick.units, valid, disturbs, rule) } else { UnitSet::EMPTY };
        if more.is_empty() {
            return UnitChoice { units: pick.units, copies: pick.copies as u32 };
        }
        must = must.with(more);
    }
}

/// The set with the least time for each page won, among those that contain `must`. Dinkelbach's method: lower the
/// price of a page until no set beats it; the result is the minimum.
fn cheapest(valid: &[Option<u16>], must: UnitSet, rule: &LeafRule) -> Pick {
    let (_, mut found) = Search { rule, valid, must, price: Price { time: 0, won: 1 } }.best(Pb::BLOCK);
    loop {
        let price = Price { time: found.time, won: found.won };
        let (better, _) = Search { rule, valid, must, price }.best(Pb::BLOCK);
        if better.won == 0 || price.value(&better) <= 0 {
            return found;
        }
        found = better;
    }
}

/// Leaves that keep valid pages beside these erases and would be disturbed beyond tolerance.
fn endangered(erased: UnitSet, valid: &[Option<u16>], disturbs: &[u8], rule: &LeafRule) -> UnitSet {
    let leaves = |is_one: fn(Option<u16>) -> bool| (0..valid.len()).filter(move |&leaf| is_one(valid[leaf])).collect();
    let (blank, data) = (leaves(|valid| valid.is_none()), leaves(|valid| valid.is_some_and(|pages| pages > 0)));
    beyond_tolerance(erased, [blank, data], disturbs, rule)
}

/// Leaves with data beside these erases that would be disturbed beyond tolerance. `blank` leaves hold no programmed
/// page before.
pub fn beyond_tolerance(erased: UnitSet, [blank, data]: [UnitSet; 2], disturbs: &[u8], rule: &LeafRule) -> UnitSet {
    let mut counters = [0u8; UNITS_MAX];
    let counters = &mut counters[..disturbs.len()];
    counters.copy_from_slice(disturbs);
    erase_all(erased, blank, rule.tree, counters);
    data.without(erased).iter().filter(|&leaf| counters[leaf] > rule.tolerance).collect()
}

/// What erasing these leaves does to the disturb counters of their block. `blank` leaves hold no programmed
/// page before.
pub fn erase_all(erased: UnitSet, mut blank: UnitSet, tree: PbTree, counters: &mut [u8]) {
    for pb in erased.partial_blocks(tree) {
        let range = tree.leaf_range(pb);
        disturb::partial_erase(counters, &range, |leaf| !blank.contains(leaf));
        blank = blank.with(range.collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAVES: usize = 8;
    const PAGES: u64 = 9;

    fn rule(protects: bool) -> LeafRule {
        let erase = [10_000, 9_790, 9_480, 9_270].map(|us| Time(us * 1_000)).to_vec();
        let tree = PbTree::new(72, 3).expect("legal");
        LeafRule { tree, copy: Time(970_000), erase, tolerance: 1, protects }
    }

    fn set(leaves: &[usize]) -> UnitSet {
        leaves.iter().copied().collect()
    }

    /// Pages won and time of a set of leaves, counted from the partial blocks that erase it.
    fn count(units: UnitSet, valid: &[Option<u16>], rule: &LeafRule) -> (u64, u64) {
        let closed = units.iter().filter_map(|leaf| valid[leaf]);
        let (won, copies) = closed.fold((0, 0), |(won, copies), v| (won + PAGES - u64::from(v), copies + u64::from(v)));
        let erases: u64 = units.partial_blocks(rule.tree).map(|pb| rule.erase[pb.level() as usize].0).sum();
        (won, copies * rule.copy.0 + erases)
    }

    struct Draws(u64);

    impl Draws {
        fn below(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % below
        }

        fn block(&mut self) -> Vec<Option<u16>> {
            let mut valid: Vec<_> =
                (0..LEAVES).map(|_| (self.below(6) > 0).then(|| self.below(PAGES + 1) as u16)).collect();
            valid[self.below(LEAVES as u64) as usize] = Some(self.below(PAGES) as u16);
            valid
        }
    }

    #[test]
    fn t570_an_empty_leaf_is_erased_alone_and_neighbours_together() {
        let mut valid = [Some(9); LEAVES];
        valid[3] = Some(0);
        let alone = UnitChoice { units: set(&[3]), copies: 0 };
        assert_eq!(choose_leaves(&valid, &[0; LEAVES], &rule(true)), alone);
        valid[2] = Some(0);
        valid[6] = Some(0);
        // Two leaves for 9.48 ms are cheaper a page than three for 18.75.
        let pair = UnitChoice { units: set(&[2, 3]), copies: 0 };
        assert_eq!(choose_leaves(&valid, &[0; LEAVES], &rule(true)), pair);
    }

    #[test]
    fn t571_no_set_of_leaves_wins_pages_cheaper() {
        let mut draws = Draws(1);
        for _ in 0..300 {
            let (valid, rule) = (draws.block(), rule(false));
            let units = choose_leaves(&valid, &[0; LEAVES], &rule).units;
            let (won, time) = count(units, &valid, &rule);
            for other in (1..1u64 << LEAVES).map(UnitSet) {
                let (its_won, its_time) = count(other, &valid, &rule);
                assert!(u128::from(time) * u128::from(its_won) <= u128::from(its_time) * u128::from(won), "{valid:?}");
            }
        }
    }

    #[test]
    fn t572_nothing_valid_is_left_beyond_tolerance_and_only_what_must_be_is_added() {
        let mut draws = Draws(2);
        let mut saved = 0;
        for _ in 0..2_000 {
            let (valid, rule) = (draws.block(), rule(true));
            let disturbs: Vec<u8> = valid.iter().map(|v| if v.is_some() { draws.below(2) as u8 } else { 0 }).collect();
            let choice = choose_leaves(&valid, &disturbs, &rule);
            assert_eq!(endangered(choice.units, &valid, &disturbs, &rule), UnitSet::EMPTY, "{valid:?} {disturbs:?}");
            let copies: u32 = choice.units.iter().filter_map(|leaf| valid[leaf]).map(u32::from).sum();
            assert_eq!(choice.copies, copies);
            let (won, _) = count(choice.units, &valid, &rule);
            assert!(won > 0);
            let careless = choose_leaves(&valid, &disturbs, &LeafRule { protects: false, ..rule.clone() });
            match endangered(careless.units, &valid, &disturbs, &rule).is_empty() {
                true => assert_eq!(choice, careless),
                false => saved += 1,
            }
        }
        assert!(saved > 100, "leaves were in danger {saved} times");
    }

    #[test]
    fn t573_a_disturbed_neighbour_with_valid_pages_is_saved_and_one_without_is_not() {
        let mut valid = [Some(9); LEAVES];
        valid[3] = Some(0);
        let mut disturbs = [0; LEAVES];
        disturbs[4] = 1;
        let saved = UnitChoice { units: set(&[3, 4]), copies: 9 };
        assert_eq!(choose_leaves(&valid, &disturbs, &rule(true)), saved);
        let careless = UnitChoice { units: set(&[3]), copies: 0 };
        assert_eq!(choose_leaves(&valid, &disturbs, &rule(false)), careless);
        valid[4] = None;
        disturbs[4] = 0;
        assert_eq!(choose_leaves(&valid, &disturbs, &rule(true)), careless, "a blank leaf is not disturbed");
    }

    #[test]
    fn t574_the_gap_to_the_cheapest_safe_set_is_small() {
        let mut draws = Draws(3);
        let (mut dearer, mut gaps, mut worst) = (0, 0.0, 0.0f64);
        const CASES: u32 = 1_000;
        for _ in 0..CASES {
            let (valid, rule) = (draws.block(), rule(true));
            let disturbs: Vec<u8> = valid.iter().map(|v| if v.is_some() { draws.below(2) as u8 } else { 0 }).collect();
            let price = |units: UnitSet| {
                let (won, time) = count(units, &valid, &rule);
                if won > 0 { time as f64 / won as f64 } else { f64::INFINITY }
            };
            let is_safe = |units: &UnitSet| endangered(*units, &valid, &disturbs, &rule).is_empty();
            let safe = (1..1u64 << LEAVES).map(UnitSet).filter(is_safe);
            let best = safe.map(price).fold(f64::INFINITY, f64::min);
            let gap = price(choose_leaves(&valid, &disturbs, &rule).units) / best - 1.0;
            dearer += u32::from(gap > 1e-12);
            gaps += gap;
            worst = worst.max(gap);
        }
        let mean = gaps / f64::from(CASES);
        assert!(
            dearer * 100 < 12 * CASES && mean < 0.025,
            "{dearer} of {CASES} dearer, by {mean} on average, {worst} at most"
        );
    }
}
