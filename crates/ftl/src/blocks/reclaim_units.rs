//! Which erase units of which block a plane reclaims next, in one erase operation.
//!
//! An erase unit is a block, or a part of it that can be erased apart from the others: a physical
//! sub-block (GLSVLSI'24). Victims are found as Chen et al. do (DAC'16, as GLSVLSI'24 describes it in
//! section 3): where units without a valid page exist, the block with most of them; else the unit that
//! the victim policy names, with `greedy` the one with the fewest valid pages. Then the planner decides
//! which other units of that block join it: one operation erases any set of sub-blocks, so a unit that
//! joins costs its copies and no further erase.
//!
//! Deviation: Chen et al. reclaim a unit that still holds valid pages alone. Here others join it where
//! that wins more free pages in a microsecond of the die.

use pumice_types::erase_unit::UNITS_MAX;
use pumice_types::{Time, UnitSet};
use serde::{Deserialize, Serialize};

use super::victims::greedy::Greedy;
use super::victims::{ClosedBlocks, VictimPolicy};

/// A unit of a plane: its block's index in the plane, and its place in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitId {
    /// Index of the block in its plane.
    pub block: u32,
    /// Unit of the block.
    pub unit: usize,
}

/// What the planner weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinRule {
    /// Pages of a unit.
    pub pages_per_unit: u16,
    /// One page copied.
    pub copy: Time,
    /// One erase operation, whatever it erases.
    pub erase: Time,
    /// Free pages that copies may take.
    pub room: u32,
}

/// What is to be reclaimed in one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitChoice {
    /// Units to erase.
    pub units: UnitSet,
    /// Valid pages in them, to be copied first.
    pub copies: u32,
}

/// The set of units around `seed` that wins the most free pages in a given time. `valid` holds, for
/// each unit of the block, its valid pages, or `None` if it may not be erased now (it is free or being
/// written). The seed is a unit with an invalid page whose copies fit; among the others those with
/// fewer valid pages join first, so the set is the best there is if room suffices.
pub fn join_units(seed: usize, valid: &[Option<u16>], rule: &JoinRule) -> UnitChoice {
    let mut others = [(0u16, 0u8); UNITS_MAX];
    let mut count = 0;
    for (unit, pages) in valid.iter().enumerate() {
        if let Some(pages) = pages.filter(|_| unit != seed) {
            others[count] = (pages, unit as u8);
            count += 1;
        }
    }
    others[..count].sort_unstable();
    let pages = u64::from(rule.pages_per_unit);
    let mut copies = u64::from(valid[seed].unwrap_or_default());
    let (mut units, mut won) = (UnitSet::one(seed), pages - copies);
    for &(its_valid, unit) in &others[..count] {
        let its_valid = u64::from(its_valid);
        let time = copies * rule.copy.0 + rule.erase.0;
        let pays = u128::from(pages - its_valid) * u128::from(time)
            > u128::from(won) * u128::from(its_valid) * u128::from(rule.copy.0);
        if !pays || copies + its_valid > u64::from(rule.room) {
            break;
        }
        units = units.with(UnitSet::one(usize::from(unit)));
        copies += its_valid;
        won += pages - its_valid;
    }
    UnitChoice { units, copies: copies as u32 }
}

/// Victim order of one plane, over the units of its blocks.
#[derive(Clone, Serialize, Deserialize)]
pub struct UnitVictims {
    lists: ClosedBlocks,
    /// Blocks with units without a valid page, by how many; where a block has several units.
    empty: Option<ClosedBlocks>,
    units_per_block: usize,
    greedy: bool,
}

impl UnitVictims {
    /// No closed unit yet, in a plane of `blocks` blocks of `units_per_block` units.
    pub fn new(policy: VictimPolicy, blocks: u32, [units_per_block, pages_per_unit]: [u16; 2], seed: u64) -> Self {
        let greedy = policy == Greedy.into();
        let counted = greedy && units_per_block > 1;
        UnitVictims {
            lists: ClosedBlocks::new(policy, blocks * u32::from(units_per_block), pages_per_unit, seed),
            empty: counted.then(|| ClosedBlocks::new(Greedy.into(), blocks, units_per_block, seed)),
            units_per_block: usize::from(units_per_block),
            greedy,
        }
    }

    /// Bytes of the columns.
    pub fn state_bytes(&self) -> u64 {
        self.lists.state_bytes() + self.empty.as_ref().map_or(0, ClosedBlocks::state_bytes)
    }

    #[inline]
    fn index(&self, UnitId { block, unit }: UnitId) -> u32 {
        block * self.units_per_block as u32 + unit as u32
    }

    /// Adds a unit whose last page was just written, at the plane's time `now`.
    pub fn close(&mut self, id: UnitId, valid: u16, now: u64) {
        self.lists.close(self.index(id), valid, now);
        if valid == 0 {
            self.note_empty(id.block, now);
        }
    }

    /// Notes that a page of a unit was invalidated; nothing to do if the unit is not closed.
    #[inline]
    pub fn invalidate(&mut self, id: UnitId, now: u64) {
        let index = self.index(id);
        self.lists.invalidate(index, now);
        if self.empty.is_some() && self.lists.valid_of(index) == Some(0) {
            self.note_empty(id.block, now);
        }
    }

    /// Notes the stream of a unit's pages, for policies that look at it.
    pub fn note_stream(&mut self, id: UnitId, stream: u8) {
        let index = self.index(id);
        self.lists.note_stream(index, stream);
    }

    /// The stream that was noted of a unit.
    #[inline]
    pub fn stream_of(&self, id: UnitId) -> u8 {
        self.lists.stream_of(self.index(id))
    }

    /// The lists themselves, for a policy that looks at whole blocks; meaningful where a block is one unit.
    pub fn blocks(&mut self) -> &mut ClosedBlocks {
        &mut self.lists
    }

    /// A page of a unit is invalidated soon.
    #[inline]
    pub fn expect(&self, id: UnitId) {
        self.lists.expect(self.index(id));
    }

    /// Takes units of a block out: they are being reclaimed.
    pub fn remove(&mut self, block: u32, units: UnitSet) {
        for unit in units.iter() {
            self.lists.remove(self.index(UnitId { block, unit }));
        }
        let left = (0..self.units_per_block).filter(|&unit| self.valid(UnitId { block, unit }) == Some(0)).count();
        let all = self.units_per_block as u16;
        if let Some(empty) = &mut self.empty
            && let Some(before) = empty.valid_of(block)
            && usize::from(all - before) != left
        {
            empty.remove(block);
            if left > 0 {
                empty.close(block, all - left as u16, 0);
            }
        }
    }

    /// Valid pages of a closed unit; `None` if it is free or being written.
    #[inline]
    pub fn valid(&self, id: UnitId) -> Option<u16> {
        self.lists.valid_of(self.index(id))
    }

    /// Whether [`UnitVictims::take`] would find a victim.
    #[inline]
    pub fn has_invalid(&self) -> bool {
        self.lists.has_invalid()
    }

    /// The unit to reclaim next; `None` if no closed unit has an invalid page.
    pub fn seed(&mut self, now: u64) -> Option<UnitId> {
        let units = self.units_per_block;
        if let Some(block) = self.empty.as_mut().filter(|_| self.greedy).and_then(|empty| empty.choose(now)) {
            let is_empty = |&unit: &usize| self.valid(UnitId { block, unit }) == Some(0);
            if let Some(unit) = (0..units).find(is_empty) {
                return Some(UnitId { block, unit });
            }
        }
        let index = self.lists.choose(now)? as usize;
        Some(UnitId { block: (index / units) as u32, unit: index % units })
    }

    /// Chooses what to reclaim next and removes it from the lists. The choice depends only on valid counts, the order
    /// in which they changed, and the rule.
    pub fn take(&mut self, now: u64, rule: &JoinRule) -> Option<(u32, UnitChoice)> {
        self.take_by(now, |seed, valid| join_units(seed.unit, valid, rule))
    }

    /// As [`UnitVictims::take`], with a planner of its own for the block of the first unit: it is given
    /// that unit and the valid pages of each, `None` for units that hold nothing. A choice may hold such
    /// units too.
    pub fn take_by(
        &mut self,
        now: u64,
        choose: impl FnOnce(UnitId, &[Option<u16>]) -> UnitChoice,
    ) -> Option<(u32, UnitChoice)> {
        let seed = self.seed(now)?;
        let mut valid = [None; UNITS_MAX];
        for (unit, pages) in valid.iter_mut().enumerate().take(self.units_per_block) {
            *pages = self.valid(UnitId { block: seed.block, unit });
        }
        let choice = choose(seed, &valid[..self.units_per_block]);
        let closed = choice.units.iter().filter(|&unit| valid[unit].is_some());
        self.remove(seed.block, closed.collect());
        Some((seed.block, choice))
    }

    /// Notes that a closed unit of a block came to hold no valid page.
    fn note_empty(&mut self, block: u32, now: u64) {
        let all = self.units_per_block as u16;
        let Some(empty) = &mut self.empty else { return };
        match empty.valid_of(block) {
            Some(_) => empty.invalidate(block, now),
            None => empty.close(block, all - 1, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: JoinRule = JoinRule { pages_per_unit: 32, copy: Time(825_000), erase: Time(3_800_000), room: u32::MAX };

    fn set(units: &[usize]) -> UnitSet {
        units.iter().copied().collect()
    }

    #[test]
    fn t560_units_without_a_valid_page_all_join_and_full_ones_never() {
        let valid = [Some(0), Some(32), None, Some(0), Some(31), Some(0)];
        assert_eq!(join_units(3, &valid, &RULE), UnitChoice { units: set(&[0, 3, 5]), copies: 0 });
    }

    #[test]
    fn t561_a_unit_joins_if_its_pages_are_worth_their_copies() {
        // An erase is worth 4.6 copies. Alone 12 pages are won in 24.6, with units 3 and 1 it is 37 in
        // 63.6; unit 2 wins 11 in 21, which is less.
        let valid = [Some(20), Some(20), Some(21), Some(19)];
        assert_eq!(join_units(0, &valid, &RULE), UnitChoice { units: set(&[0, 1, 3]), copies: 59 });
        let dear_erase = JoinRule { erase: Time(100_000_000), ..RULE };
        assert_eq!(join_units(0, &valid, &dear_erase).units, set(&[0, 1, 2, 3]));
        let room_for_two = JoinRule { room: 40, ..RULE };
        assert_eq!(join_units(0, &valid, &room_for_two), UnitChoice { units: set(&[0, 3]), copies: 39 });
    }

    /// Pages won in a time, over every set of units around the seed.
    fn best_rate(seed: usize, valid: &[Option<u16>], rule: &JoinRule) -> f64 {
        let sets = (0..1u64 << valid.len()).map(UnitSet).filter(|set| set.contains(seed));
        sets.filter_map(|set| rate(set, valid, rule)).fold(0.0, f64::max)
    }

    fn rate(set: UnitSet, valid: &[Option<u16>], rule: &JoinRule) -> Option<f64> {
        let copies: Option<u64> = set.iter().map(|unit| valid[unit].map(u64::from)).sum();
        let copies = copies?;
        let won = u64::from(rule.pages_per_unit) * u64::from(set.len()) - copies;
        Some(won as f64 / (copies * rule.copy.0 + rule.erase.0) as f64)
    }

    #[test]
    fn t562_no_other_set_wins_more_in_the_same_time() {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..2_000 {
            let units = 1 + draw(8) as usize;
            let mut valid: Vec<Option<u16>> = (0..units).map(|_| (draw(5) > 0).then(|| draw(33) as u16)).collect();
            let seed = draw(units as u64) as usize;
            valid[seed] = Some(draw(32) as u16);
            let rule = JoinRule { erase: Time(1 + draw(40_000_000)), ..RULE };
            let found = rate(join_units(seed, &valid, &rule).units, &valid, &rule).expect("closed units");
            assert!(found >= best_rate(seed, &valid, &rule) * (1.0 - 1e-12), "{valid:?} from {seed}");
        }
    }

    fn victims() -> UnitVictims {
        UnitVictims::new(Greedy.into(), 4, [16, 32], 1)
    }

    fn id(block: u32, unit: usize) -> UnitId {
        UnitId { block, unit }
    }

    #[test]
    fn t563_figure_2_sub_block_first_frees_half_the_block_at_once_without_a_copy() {
        let mut victims = victims();
        (0..16).for_each(|unit| victims.close(id(1, unit), 32, 0));
        assert_eq!(victims.seed(0), None, "nothing to win yet");
        for unit in 0..8 {
            (0..32).for_each(|_| victims.invalidate(id(1, unit), 1));
        }
        let choice = UnitChoice { units: UnitSet::first(8), copies: 0 };
        assert_eq!(victims.take(2, &RULE), Some((1, choice)));
        assert_eq!(victims.take(3, &RULE), None);
    }

    #[test]
    fn t564_figure_2_layer_first_leaves_half_of_every_sub_block_to_copy() {
        let mut victims = victims();
        (0..16).for_each(|unit| victims.close(id(1, unit), 32, 0));
        for unit in (0..16).flat_map(|unit| [unit; 16]) {
            victims.invalidate(id(1, unit), 1);
        }
        let choice = UnitChoice { units: UnitSet::first(16), copies: 256 };
        assert_eq!(victims.take(2, &RULE), Some((1, choice)));
    }

    #[test]
    fn t565_the_block_with_most_empty_units_comes_first_and_then_the_emptiest_unit() {
        let mut victims = victims();
        for block in 0..3 {
            (0..16).for_each(|unit| victims.close(id(block, unit), if unit < 2 { 1 } else { 30 }, 0));
        }
        victims.invalidate(id(0, 0), 1);
        victims.invalidate(id(2, 0), 2);
        victims.invalidate(id(2, 1), 3);
        let only_empty = JoinRule { room: 0, ..RULE };
        let mut taken = std::iter::from_fn(|| victims.take(4, &only_empty));
        assert_eq!(taken.next(), Some((2, UnitChoice { units: set(&[0, 1]), copies: 0 })));
        assert_eq!(taken.next(), Some((0, UnitChoice { units: set(&[0]), copies: 0 })));
        assert_eq!(taken.next(), Some((0, UnitChoice { units: set(&[1]), copies: 1 })), "changed longest ago");
    }
}
