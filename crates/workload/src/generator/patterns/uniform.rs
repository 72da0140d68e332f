//! Every slot equally likely.

use crate::generator::pattern::{Pattern, SlotLaw};
use crate::source::error::TraceError;
use crate::source::random::RandomStream;

/// Every slot is equally likely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniformAccess;

impl Pattern for UniformAccess {
    const NAME: &'static str = "uniform";
    const ABOUT: &'static str = "requests at uniformly random addresses of the footprint";
    type Keys = ();
    type Law = UniformLaw;

    fn of_keys((): &()) -> UniformAccess {
        UniformAccess
    }

    fn law(self, slots: u64, _: u64) -> Result<UniformLaw, TraceError> {
        Ok(UniformLaw { slots })
    }
}

/// A law that draws each slot with equal probability.
#[derive(Debug)]
pub struct UniformLaw {
    slots: u64,
}

impl SlotLaw for UniformLaw {
    #[inline]
    fn draw(&mut self, stream: &mut RandomStream) -> Option<u64> {
        Some(stream.below(self.slots))
    }
}
