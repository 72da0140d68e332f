//! Every slot once, in random order, again and again.

use crate::generator::pattern::{Pattern, SlotLaw, places};
use crate::generator::scatter::Scatter;
use crate::source::error::TraceError;
use crate::source::random::RandomStream;

/// The requests go in passes. Every pass takes each slot once, in a random order of its own, as fio's random writes
/// do unless `norandommap` is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PermutationAccess;

impl Pattern for PermutationAccess {
    const NAME: &'static str = "permutation";
    const ABOUT: &'static str =
        "passes over the footprint, each of which takes every address once, in a new random order";
    type Keys = ();
    type Law = PermutationLaw;

    fn of_keys((): &()) -> PermutationAccess {
        PermutationAccess
    }

    fn law(self, slots: u64, seed: u64) -> Result<PermutationLaw, TraceError> {
        let mut orders = places(seed);
        Ok(PermutationLaw { slots, next: 0, order: Scatter::new(slots, &mut orders), orders })
    }
}

/// A pass under way.
#[derive(Debug)]
pub struct PermutationLaw {
    slots: u64,
    /// Slots that this pass has taken.
    next: u64,
    /// The order of this pass.
    order: Scatter,
    /// Draws the orders.
    orders: RandomStream,
}

impl SlotLaw for PermutationLaw {
    #[inline]
    fn draw(&mut self, _: &mut RandomStream) -> Option<u64> {
        if self.next == self.slots {
            self.next = 0;
            self.order = Scatter::new(self.slots, &mut self.orders);
        }
        let slot = self.order.place(self.next);
        self.next += 1;
        Some(slot)
    }
}
