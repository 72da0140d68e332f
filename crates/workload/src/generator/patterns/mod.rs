//! The access patterns of generators: one file each, and one line each in the registry below.
//!
//! A pattern's file implements [`Pattern`] for a type that holds the pattern's parameters. Kinds of workloads, their
//! catalogue, the keys of the spec and the contract tests go through the registry.

mod cache;
mod hot_cold;
mod permutation;
mod sequential;
mod streams;
mod uniform;
mod zipf;

use pumice_types::choice;

use crate::generator::pattern::{Pattern, SlotLaw};
use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::key_group::key_group;
use crate::source::random::RandomStream;

pub use cache::CacheAccess;
pub use hot_cold::HotColdAccess;
pub use permutation::PermutationAccess;
pub use sequential::SequentialAccess;
pub use streams::StreamsAccess;
pub use uniform::UniformAccess;
pub use zipf::ZipfAccess;

/// Makes [`AccessPattern`], [`PatternKind`], [`PatternKeys`] and [`PatternLaw`] of a list of `Name = file::Type`.
macro_rules! patterns {
    ($($pattern:ident = $file:ident :: $access:ident),+ $(,)?) => {
        /// Where the requests of a generator begin, with the parameters.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum AccessPattern {
            $(#[doc = concat!("The pattern that `generator/patterns/", stringify!($file), ".rs` describes.")]
            $pattern($file::$access)),+
        }

        $(impl From<$file::$access> for AccessPattern {
            fn from(pattern: $file::$access) -> AccessPattern {
                AccessPattern::$pattern(pattern)
            }
        })+

        choice! {
            /// An access pattern by name.
            pub enum PatternKind {
                $(#[doc = concat!("The pattern that `generator/patterns/", stringify!($file), ".rs` describes.")]
                $pattern = <$file::$access as Pattern>::NAME),+
            }
        }

        key_group! {
            /// Keys that single patterns read.
            pub struct PatternKeys {
                $(#[doc = concat!("Those of `generator/patterns/", stringify!($file), ".rs`.")]
                pub $file: <$file::$access as Pattern>::Keys,)+
            }
        }

        impl PatternKind {
            /// What the pattern is, in words.
            pub fn about(self) -> &'static str {
                match self { $(PatternKind::$pattern => <$file::$access as Pattern>::ABOUT),+ }
            }

            /// The pattern with the parameters that the keys give.
            pub fn with(self, keys: &PatternKeys) -> AccessPattern {
                match self { $(PatternKind::$pattern => $file::$access::of_keys(&keys.$file).into()),+ }
            }
        }

        impl AccessPattern {
            /// The pattern without its parameters.
            pub fn kind(self) -> PatternKind {
                match self { $(AccessPattern::$pattern(_) => PatternKind::$pattern),+ }
            }

            /// The parameters by the names of their keys in `[workload]`.
            pub fn parameters(self) -> Vec<(&'static str, Fact)> {
                match self { $(AccessPattern::$pattern(pattern) => pattern.parameters()),+ }
            }

            /// How many streams the host names for its data.
            pub fn streams(self) -> u8 {
                match self { $(AccessPattern::$pattern(pattern) => pattern.streams()),+ }
            }

            /// The law over so many slots, at least one.
            pub(in crate::generator) fn law(self, slots: u64, seed: u64) -> Result<PatternLaw, TraceError> {
                match self {
                    $(AccessPattern::$pattern(pattern) => pattern.law(slots, seed).map(PatternLaw::$pattern)),+
                }
            }
        }

        /// Draws slots as one of the patterns does.
        #[derive(Debug)]
        pub(in crate::generator) enum PatternLaw { $($pattern(<$file::$access as Pattern>::Law)),+ }

        impl SlotLaw for PatternLaw {
            #[inline]
            fn draw(&mut self, stream: &mut RandomStream) -> Option<u64> {
                match self { $(PatternLaw::$pattern(law) => law.draw(stream)),+ }
            }

            #[inline]
            fn stream_of(&self, slot: u64) -> u8 {
                match self { $(PatternLaw::$pattern(law) => law.stream_of(slot)),+ }
            }
        }
    };
}

// The catalogue lists them in this order.
patterns! {
    Uniform = uniform::UniformAccess,
    Permutation = permutation::PermutationAccess,
    Sequential = sequential::SequentialAccess,
    Zipf = zipf::ZipfAccess,
    HotCold = hot_cold::HotColdAccess,
    Streams = streams::StreamsAccess,
    Cache = cache::CacheAccess,
}
