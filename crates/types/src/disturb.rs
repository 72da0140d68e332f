//! Program disturb around partial erases (PEN, FAST'18 §4.2 and Figure 11).
//!
//! Rule: when adjacent leaves are partially erased and programmed again, the leaf just before and
//! the leaf just after that run are disturbed once each, provided they hold a programmed page; an
//! erased leaf returns to 0. Counters tick at the partial-erase command, one command a PB. Because
//! an erased leaf has no programmed page, erasing adjacent PBs one after the other ticks exactly
//! the two leaves beside the whole run, and a leaf between two runs ticks twice.

use std::ops::Range;

/// Leaves that a partial erase of `erased` disturbs: the neighbours that exist.
#[inline]
pub fn neighbours(erased: &Range<usize>, leaves: usize) -> impl Iterator<Item = usize> + use<> {
    let before = erased.start.checked_sub(1);
    let after = (erased.end < leaves).then_some(erased.end);
    before.into_iter().chain(after)
}

/// Applies one partial erase to the counters of a block. `programmed(leaf)` tells whether a leaf
/// holds a programmed page; it is asked about neighbours only.
#[inline]
pub fn partial_erase(counters: &mut [u8], erased: &Range<usize>, mut programmed: impl FnMut(usize) -> bool) {
    for leaf in neighbours(erased, counters.len()) {
        if programmed(leaf) {
            counters[leaf] = counters[leaf].saturating_add(1);
        }
    }
    counters[erased.clone()].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t020_a_run_disturbs_its_two_neighbours_and_a_leaf_between_runs_twice() {
        let mut counters = [0u8; 8];
        let mut programmed = [true; 8];
        for erased in [1..2usize, 2..4, 5..6] {
            partial_erase(&mut counters, &erased, |leaf| programmed[leaf]);
            programmed[erased].fill(false);
        }
        assert_eq!(counters, [1, 0, 0, 0, 2, 0, 1, 0]);
    }

    #[test]
    fn t021_blank_neighbours_are_not_counted() {
        let mut counters = [0u8; 4];
        partial_erase(&mut counters, &(1..2), |leaf| leaf == 2);
        assert_eq!(counters, [0, 0, 1, 0]);
    }
}
