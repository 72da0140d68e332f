//! Which physical sub-blocks must be reclaimed together because the others share their word lines.
//!
//! All sub-blocks of a block share its word lines (GLSVLSI'24, section 2.1). A page that is programmed puts the
//! program voltage on its word line, and so disturbs the pages of the other sub-blocks there; the sub-blocks
//! that were written first have the most errors, because the later ones are programmed after them (section
//! 5.1). Where sub-blocks are erased apart, that goes on without an end: data that stays is disturbed each time
//! when a sub-block beside it is written anew. An erase disturbs nobody: only the channels of the chosen
//! sub-blocks get its voltage, and the word lines are grounded (section 2.2).
//!
//! The controller counts *fills*: how often a sub-block of the block was written since this one was. A fill
//! programs every page of a sub-block, so it disturbs each word line of the others as often as a cell has bits.
//! When units become free, they will be written, all of them. So units that hold valid pages and would then be
//! disturbed more often than they bear are reclaimed with them.

use pumice_types::UnitSet;
use serde::{Deserialize, Serialize};

use super::reclaim_units::{JoinRule, UnitChoice, join_units};

/// How often the pages of a sub-block bear that others on their word lines are programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRule {
    /// Fills of other sub-blocks that a sub-block bears between two of its own; at least one fewer than a block
    /// has, so that a block can be written once.
    pub fills_max: u16,
    /// Whether sub-blocks in danger are saved.
    pub protects: bool,
}

/// The units to reclaim in one go around `seed`, those in danger included. `valid` is as in [`join_units`], of a
/// block that is not being written, so `None` means blank. `fills` holds the fills of other units since each
/// unit was written.
pub fn choose_on_shared_lines(
    seed: usize,
    valid: &[Option<u16>],
    fills: &[u16],
    join: &JoinRule,
    rule: &LineRule,
) -> UnitChoice {
    let mut choice = join_units(seed, valid, join);
    if !rule.protects {
        return choice;
    }
    loop {
        let more = endangered(choice.units, valid, fills, rule);
        if more.is_empty() {
            return choice;
        }
        let copies: u32 = more.iter().filter_map(|unit| valid[unit]).map(u32::from).sum();
        choice = UnitChoice { units: choice.units.with(more), copies: choice.copies + copies };
    }
}

/// Units that keep valid pages and would be disturbed more often than they bear once all units are written
/// that are blank after this erase.
fn endangered(erased: UnitSet, valid: &[Option<u16>], fills: &[u16], rule: &LineRule) -> UnitSet {
    let blank = (0..valid.len()).filter(|&unit| valid[unit].is_none()).map(UnitSet::one).fold(erased, UnitSet::with);
    let coming = blank.len();
    let stays = |&unit: &usize| !blank.contains(unit) && valid[unit].is_some_and(|pages| pages > 0);
    let bears = |unit: usize| u32::from(fills[unit]) + coming <= u32::from(rule.fills_max);
    (0..valid.len()).filter(stays).filter(|&unit| !bears(unit)).collect()
}

/// Notes that these units of a block are written, one after the other or layer by layer: on every word line the
/// lower ones come first.
pub fn note_fill(fills: &mut [u16], written: UnitSet) {
    let mut later = written.len() as u16;
    for (unit, count) in fills.iter_mut().enumerate() {
        if written.contains(unit) {
            later -= 1;
            *count = later;
        } else {
            *count = count.saturating_add(written.len() as u16);
        }
    }
}

#[cfg(test)]
mod tests {
    use pumice_types::Time;

    use super::*;

    const JOIN: JoinRule = JoinRule { pages_per_unit: 8, copy: Time(1), erase: Time(4), room: u32::MAX };

    fn set(units: &[usize]) -> UnitSet {
        units.iter().copied().collect()
    }

    #[test]
    fn t575_a_fill_disturbs_all_others_and_the_first_of_a_fill_as_often_as_others_follow() {
        let mut fills = [9u16; 4];
        note_fill(&mut fills, UnitSet::first(4));
        assert_eq!(fills, [3, 2, 1, 0], "a block that is written whole");
        note_fill(&mut fills, set(&[2]));
        assert_eq!(fills, [4, 3, 0, 1]);
        note_fill(&mut fills, set(&[0, 3]));
        assert_eq!(fills, [1, 5, 2, 0]);
        let mut most = [u16::MAX, 0];
        note_fill(&mut most, set(&[1]));
        assert_eq!(most, [u16::MAX, 0]);
    }

    #[test]
    fn t576_what_would_not_bear_the_next_fill_is_saved_and_what_it_frees_counts_too() {
        let rule = LineRule { fills_max: 5, protects: true };
        let full = Some(8);
        // Unit 3 is empty. Written anew it is one fill more for the others: unit 0 then has 5, which it bears.
        let valid = [full, full, full, Some(0)];
        assert_eq!(choose_on_shared_lines(3, &valid, &[4, 3, 2, 0], &JOIN, &rule).units, set(&[3]));
        // With 5 before it would have 6. It is saved; then two fills come, and unit 1 would have 6 as well.
        let saved = choose_on_shared_lines(3, &valid, &[5, 4, 3, 0], &JOIN, &rule);
        assert_eq!(saved, UnitChoice { units: set(&[0, 1, 2, 3]), copies: 24 });
        let saved = choose_on_shared_lines(3, &valid, &[5, 3, 3, 0], &JOIN, &rule);
        assert_eq!(saved, UnitChoice { units: set(&[0, 3]), copies: 8 });
        // A unit without a valid page needs no help, a blank one is written as well.
        let valid = [Some(0), full, None, Some(0)];
        let full_room = JoinRule { room: 0, ..JOIN };
        assert_eq!(choose_on_shared_lines(3, &valid, &[5, 2, 0, 0], &full_room, &rule).units, set(&[0, 3]));
        assert_eq!(choose_on_shared_lines(3, &valid, &[5, 3, 0, 0], &full_room, &rule).units, set(&[0, 1, 3]));
        let careless = LineRule { protects: false, ..rule };
        assert_eq!(choose_on_shared_lines(3, &valid, &[5, 3, 0, 0], &full_room, &careless).units, set(&[0, 3]));
    }

    #[test]
    fn t577_nothing_valid_is_left_in_danger_and_no_smaller_set_around_the_choice_is_safe() {
        let mut state = 5u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut saved = 0;
        for _ in 0..3_000 {
            let units = 2 + draw(5) as usize;
            let mut valid: Vec<Option<u16>> = (0..units).map(|_| (draw(5) > 0).then(|| draw(9) as u16)).collect();
            let seed = draw(units as u64) as usize;
            valid[seed] = Some(draw(8) as u16);
            let fills_max = (units - 1) as u16 + draw(4) as u16;
            let fills: Vec<u16> = (0..units).map(|_| draw(u64::from(fills_max) + 1) as u16).collect();
            let rule = LineRule { fills_max, protects: true };
            let choice = choose_on_shared_lines(seed, &valid, &fills, &JOIN, &rule);
            let careless =
                choose_on_shared_lines(seed, &valid, &fills, &JOIN, &LineRule { protects: false, ..rule }).units;
            // Recounted with the fills that follow.
            let is_safe = |erased: UnitSet| {
                let blank = (0..units).filter(|&unit| valid[unit].is_none() || erased.contains(unit));
                let mut after = fills.clone();
                note_fill(&mut after, blank.collect());
                (0..units)
                    .all(|unit| erased.contains(unit) || valid[unit].unwrap_or(0) == 0 || after[unit] <= fills_max)
            };
            assert!(is_safe(choice.units), "{valid:?} {fills:?} {rule:?}: {choice:?}");
            let copies: u32 = choice.units.iter().filter_map(|unit| valid[unit]).map(u32::from).sum();
            assert_eq!(choice.copies, copies);
            let supersets = (0..1u64 << units).map(UnitSet).filter(|other| careless.without(*other).is_empty());
            let least = supersets.filter(|&other| is_safe(other)).map(UnitSet::len).min();
            let added = choice.units.iter().filter(|&unit| valid[unit].is_some()).count() as u32;
            assert_eq!(Some(added), least, "{valid:?} {fills:?} {rule:?}: {choice:?}");
            saved += u32::from(choice.units != careless);
        }
        assert!(saved > 300, "units were in danger {saved} times");
    }
}
