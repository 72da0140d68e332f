//! One request behind the other.

use crate::generator::pattern::{Pattern, SlotLaw};
use crate::source::error::TraceError;
use crate::source::random::RandomStream;

/// Requests begin one behind the other, and again at the first byte when the next does not fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialAccess;

impl Pattern for SequentialAccess {
    const NAME: &'static str = "sequential";
    const ABOUT: &'static str = "requests one after the other through the footprint";
    type Keys = ();
    type Law = Next;

    fn of_keys((): &()) -> SequentialAccess {
        SequentialAccess
    }

    fn law(self, _: u64, _: u64) -> Result<Next, TraceError> {
        Ok(Next)
    }
}

/// Always the slot behind the last request.
#[derive(Debug)]
pub struct Next;

impl SlotLaw for Next {
    #[inline]
    fn draw(&mut self, _: &mut RandomStream) -> Option<u64> {
        None
    }
}
