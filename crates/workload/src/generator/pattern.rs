//! What an access pattern of a generator is made of. Each pattern is one file in `patterns/`.

use std::fmt::Debug;

use pumice_types::key::Keys;

use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::random::RandomStream;

/// Where the requests of a generator begin. A value holds the pattern's parameters.
///
/// The footprint is divided into slots; a pattern draws the slot at which a request begins.
pub trait Pattern: Copy + Debug + PartialEq {
    /// The name that `workload.kind` has.
    const NAME: &'static str;
    /// What the pattern is, in words.
    const ABOUT: &'static str;
    /// The keys that this pattern alone reads; `()` if there are none.
    type Keys: Keys + Clone + Debug + PartialEq;
    /// What draws the slots.
    type Law: SlotLaw;

    /// The pattern with the parameters that the keys give.
    fn of_keys(keys: &Self::Keys) -> Self;

    /// The law over so many slots, at least one.
    ///
    /// # Errors
    /// Parameters outside their ranges.
    fn law(self, slots: u64, seed: u64) -> Result<Self::Law, TraceError>;

    /// How many streams the host names for its data; 1 if it names none.
    fn streams(self) -> u8 {
        1
    }

    /// The parameters by the names of their keys in `[workload]`, for the result document.
    fn parameters(self) -> Vec<(&'static str, Fact)> {
        Vec::new()
    }
}

/// Draws the slots at which requests begin.
pub trait SlotLaw: Debug {
    /// The next request's slot; `None` stands for the slot behind the last request.
    fn draw(&mut self, random: &mut RandomStream) -> Option<u64>;

    /// The stream that the host names for the data of a slot.
    #[inline]
    fn stream_of(&self, _slot: u64) -> u8 {
        0
    }
}

/// The stream that decides which slots are the popular ones.
pub(super) fn places(seed: u64) -> RandomStream {
    RandomStream::new(seed, "places")
}
