//! When each die is due next, and which is due first.
//!
//! A die has one event or none, so the queue is a tournament over the dies: a leaf each, and in every other node the
//! earlier of its two children. A change of a die's event recomputes the path from its leaf to the root, one
//! comparison a level. No outdated event remains in the queue.

use std::hint::black_box;

use pumice_types::Time;

/// No event.
const NEVER: u128 = u128::MAX;

/// Time of an event that never comes.
const NEVER_AT: u64 = u64::MAX;

/// The events of all dies, in the order of their times, and of their making among equals.
#[derive(Clone, Debug)]
pub struct Events {
    /// Pair `n` holds nodes `2n` and `2n + 1`, of which node `n` is the earlier; the leaves come last, and node 1 is the
    /// earliest of all. An event is its time, its number and its die, from the highest bit down.
    pairs: Vec<[u128; 2]>,
    die_bits: u32,
    made: u64,
}

impl Events {
    /// No event for any of so many dies.
    pub fn new(dies: usize) -> Events {
        let leaves = dies.next_power_of_two();
        Events { pairs: vec![[NEVER; 2]; leaves], die_bits: leaves.trailing_zeros(), made: 0 }
    }

    /// The first event: its time and die.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        // Read in two halves, as it was written. A single wide load cannot be forwarded from two narrower stores and
        // would wait for the cache.
        let (at, order) = ((self.pairs[0][1] >> 64) as u64, self.pairs[0][1] as u64);
        let die = order as usize & ((1 << self.die_bits) - 1);
        (at != NEVER_AT).then_some((Time(at), die))
    }

    /// When a die is due.
    pub fn of(&self, die: usize) -> Option<Time> {
        let leaf = 1 << self.die_bits | die;
        let at = (self.pairs[leaf >> 1][leaf & 1] >> 64) as u64;
        (at != NEVER_AT).then_some(Time(at))
    }

    /// Gives a die its event, in place of the one it had.
    #[inline]
    pub fn set(&mut self, die: usize, at: Time) {
        let event = self.make(die, at);
        self.play(die, event, u128::min);
    }

    /// Sets a die's event where events come in no pattern, as those of reads do.
    #[inline]
    pub fn set_unforeseen(&mut self, die: usize, at: Time) {
        let event = self.make(die, at);
        self.play(die, event, min_without_branch);
    }

    /// Takes a die's event away. Which event is the earliest then is foreseen for no kind of command.
    #[inline]
    pub fn clear(&mut self, die: usize) {
        self.play(die, NEVER, min_without_branch);
    }

    #[inline]
    fn make(&mut self, die: usize, at: Time) -> u128 {
        self.made += 1;
        u128::from(at.0) << 64 | u128::from(self.made << self.die_bits | die as u64)
    }

    #[inline(always)]
    fn play(&mut self, die: usize, event: u128, earlier: impl Fn(u128, u128) -> u128) {
        let mut node = 1 << self.die_bits | die;
        let mut winner = event;
        while node > 1 {
            let pair = &mut self.pairs[node >> 1];
            pair[node & 1] = winner;
            winner = earlier(winner, pair[node & 1 ^ 1]);
            node >>= 1;
        }
        self.pairs[0][1] = winner;
    }
}

/// The smaller of two numbers. `u128::min` becomes a branch, which is the faster way if the processor foresees it, as it
/// does among the events of collection; a branch that it does not foresee takes longer than all of this.
#[inline]
fn min_without_branch(one: u128, other: u128) -> u128 {
    // Hidden from the compiler, which would make a branch of it again.
    let differs = black_box(u64::from(other < one).wrapping_neg());
    one ^ ((one ^ other) & (u128::from(differs) << 64 | u128::from(differs)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn t605_the_earliest_event_comes_first_and_the_older_of_equals(dies in 1usize..20, steps in proptest::collection::vec((0usize..20, 0u64..6, any::<bool>()), 1..200)) {
            let (mut events, mut all) = (Events::new(dies), vec![None; dies]);
            for (number, (die, at, foreseen)) in steps.into_iter().enumerate() {
                let die = die % dies;
                all[die] = (at > 0).then_some((at, number));
                match (at, foreseen) {
                    (0, _) => events.clear(die),
                    (at, true) => events.set(die, Time(at)),
                    (at, false) => events.set_unforeseen(die, Time(at)),
                }
                let first = (0..dies).filter_map(|die| all[die].map(|event| (event, die))).min();
                prop_assert_eq!(events.first(), first.map(|((at, _), die)| (Time(at), die)));
            }
        }
    }
}
