//! How long requests are.

use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::random::RandomStream;

/// Most sizes in a list.
const SIZES_MAX: usize = 64;

/// Sizes of requests with how often each is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestSizes {
    /// Bytes and weight; weights count in proportion to their sum.
    sizes: Vec<(u32, f64)>,
    total: f64,
}

impl RequestSizes {
    /// All requests of so many bytes.
    pub fn one(bytes: u32) -> RequestSizes {
        RequestSizes { sizes: vec![(bytes, 1.0)], total: 1.0 }
    }

    /// Sizes in bytes, at least 1, each with its weight, a finite number above 0.
    ///
    /// # Errors
    /// No sizes or more than 64, a size of 0, or a weight that is none.
    pub fn mixed(sizes: &[(u32, f64)]) -> Result<RequestSizes, TraceError> {
        let sizes = RequestSizes { sizes: sizes.to_vec(), total: sizes.iter().map(|&(_, weight)| weight).sum() };
        sizes.validate()?;
        Ok(sizes)
    }

    /// Sizes in bytes and weights.
    pub fn list(&self) -> &[(u32, f64)] {
        &self.sizes
    }

    pub(super) fn validate(&self) -> Result<(), TraceError> {
        if self.sizes.is_empty() || self.sizes.len() > SIZES_MAX {
            let message = format!("{} request sizes found; allowed are 1 to {SIZES_MAX}", self.sizes.len());
            return Err(TraceError::option(message));
        }
        for &(bytes, weight) in &self.sizes {
            if bytes == 0 || !(weight.is_finite() && weight > 0.0) {
                return Err(TraceError::option(format!(
                    "request_bytes = {bytes} with weight {weight} found; allowed are 1 to 4294967295 bytes and finite \
                     weights above 0"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn smallest(&self) -> u32 {
        self.sizes.iter().map(|&(bytes, _)| bytes).min().unwrap_or_default()
    }

    pub(super) fn largest(&self) -> u32 {
        self.sizes.iter().map(|&(bytes, _)| bytes).max().unwrap_or_default()
    }

    /// The next request's size. A single one draws nothing.
    #[inline]
    pub(super) fn draw(&self, stream: &mut RandomStream) -> u32 {
        let (&(last, _), others) = match self.sizes.split_last() {
            Some(split) => split,
            None => return 0,
        };
        if others.is_empty() {
            return last;
        }
        let mut left = stream.unit() * self.total;
        for &(bytes, weight) in others {
            if left < weight {
                return bytes;
            }
            left -= weight;
        }
        last
    }

    pub(super) fn fact(&self) -> (&'static str, Fact) {
        if let [(bytes, _)] = self.sizes[..] {
            return ("request_bytes", Fact::Count(u64::from(bytes)));
        }
        let share = |&(bytes, weight): &(u32, f64)| format!("{bytes}:{}", weight / self.total);
        ("request_sizes", Fact::Text(self.sizes.iter().map(share).collect::<Vec<_>>().join(",")))
    }
}
