//! A cache on flash: small objects in buckets that are rewritten at random, and a log of large objects.

use pumice_types::key::{When, float};

use crate::generator::pattern::{Pattern, SlotLaw};
use crate::generator::patterns::zipf::{ZipfAccess, ZipfLaw};
use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::random::RandomStream;

/// Source of the defaults.
const CACHELIB: &str = "CacheLib's defaults and traces as measured for WARP, FAST'26";

/// The writes of CacheLib to its flash (Berg et al., OSDI'20). The first part of the footprint holds small objects: a
/// write is that of the bucket which an object's key hashes to, so buckets are written independently of each other. The
/// rest is a log of large objects, written from end to end and over again. The host names stream 0 for small objects and
/// stream 1 for the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheAccess {
    /// Share of the footprint that holds small objects, 0 to 1.
    pub small_space: f64,
    /// Share of the requests that go there, 0 to 1.
    pub small_share: f64,
    /// Exponent of Zipf's law among the buckets; 0: all are equally likely.
    pub small_theta: f64,
}

/// When such a workload runs.
const IS_CACHE: When = When::All(&[When::Requests, When::Is("workload.kind", &[CacheAccess::NAME])]);

pumice_types::keys! {
    /// What a cache reads of `[workload]`.
    pub struct CacheKeys in "workload" {
        small_space: f64 = "0.04", float(0.0, 1.0), "share of the footprint", CACHELIB, IS_CACHE, "Part of the footprint that holds small objects (kind = \"cache\").";
        small_share: f64 = "0.8", float(0.0, 1.0), "share of requests", CACHELIB, IS_CACHE, "Requests that write small objects (kind = \"cache\"); without space for one sort, all go to the other.";
        small_theta: f64 = "0.0", float(0.0, 10.0), "", "chosen: buckets are hashed", IS_CACHE, "Exponent of Zipf's law among the buckets of small objects (kind = \"cache\"); 0 is uniform.";
    }
}

impl Pattern for CacheAccess {
    const NAME: &'static str = "cache";
    const ABOUT: &'static str = "a cache on flash: small objects at random in a share small_space of the footprint, large ones in a log over the rest";
    type Keys = CacheKeys;
    type Law = CacheLaw;

    fn of_keys(keys: &CacheKeys) -> CacheAccess {
        let &CacheKeys { small_space, small_share, small_theta } = keys;
        CacheAccess { small_space, small_share, small_theta }
    }

    fn law(self, slots: u64, seed: u64) -> Result<CacheLaw, TraceError> {
        for (key, share) in [("small_space", self.small_space), ("small_share", self.small_share)] {
            if !(0.0..=1.0).contains(&share) {
                let message = format!("{key} = {share} found; allowed are numbers from 0 to 1");
                return Err(TraceError::option(message));
            }
        }
        let small = libm::round(self.small_space * slots as f64) as u64;
        let small_share = match small {
            0 => 0.0,
            small if small == slots => 1.0,
            _ => self.small_share,
        };
        let buckets = (small > 0).then(|| ZipfAccess { theta: self.small_theta }.law(small, seed)).transpose()?;
        Ok(CacheLaw { slots, small, small_share, buckets, next: small })
    }

    fn streams(self) -> u8 {
        2
    }

    fn parameters(self) -> Vec<(&'static str, Fact)> {
        vec![
            ("small_space", Fact::Real(self.small_space)),
            ("small_share", Fact::Real(self.small_share)),
            ("small_theta", Fact::Real(self.small_theta)),
        ]
    }
}

/// The two parts at work.
#[derive(Debug)]
pub struct CacheLaw {
    slots: u64,
    /// Slots of small objects, from the first one on.
    small: u64,
    small_share: f64,
    /// Draws among them; none if there are none.
    buckets: Option<ZipfLaw>,
    /// Where the log goes on.
    next: u64,
}

impl SlotLaw for CacheLaw {
    #[inline]
    fn draw(&mut self, random: &mut RandomStream) -> Option<u64> {
        if random.unit() < self.small_share
            && let Some(buckets) = &mut self.buckets
        {
            return buckets.draw(random);
        }
        let slot = self.next;
        self.next = if slot + 1 == self.slots { self.small } else { slot + 1 };
        Some(slot)
    }

    #[inline]
    fn stream_of(&self, slot: u64) -> u8 {
        u8::from(slot >= self.small)
    }
}
