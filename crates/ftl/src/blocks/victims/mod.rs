//! Victim policies: which closed block a plane reclaims next. One file a policy, and the registry, in which each
//! is one line.

mod closed_blocks;
pub mod columns;
pub mod cost_benefit;
pub mod d_choices;
pub mod fifo;
pub mod greedy;
pub mod random;

use pumice_types::key::{CHOSEN, Field, Key, Keys, Range, Values, When, read_field};
use pumice_types::{SpecError, choice};

pub use closed_blocks::ClosedBlocks;

/// A victim policy. It sees the closed blocks of one plane and names one of them.
pub trait VictimRule: Copy {
    /// Keys of this policy alone.
    type Keys: Keys + Clone + std::fmt::Debug + PartialEq;

    /// Whether it asks for the order in which blocks were closed ([`ClosedBlocks::first_closed`]).
    const ORDERS_BY_CLOSING: bool = false;

    /// The policy as its keys describe it.
    fn of(keys: &Self::Keys) -> Self;

    /// The block to reclaim at the plane's time `now`, which counts pages written. Asked if a block has an invalid page.
    fn choose(self, blocks: &mut ClosedBlocks, now: u64) -> Option<u32>;
}

/// Makes enum, keys and dispatch from the registry. A line is: variant, name in `ftl.gc_policy`, field of its own
/// keys, its type, what it is.
macro_rules! registry {
    ($($variant:ident = $name:literal, $keys:ident: $rule:ty, $about:literal;)+) => {
        choice! {
            /// Every victim policy that a spec can ask for.
            pub enum GcPolicy { $(#[doc = $about] $variant = $name),+ }
        }

        /// The row of `ftl.gc_policy`.
        const POLICY: Key = Key {
            path: "ftl.gc_policy",
            shape: GcPolicy::SHAPE,
            range: Range::None,
            unit: "",
            default: "\"greedy\"",
            source: CHOSEN,
            when: When::Always,
            text: concat!("page: which block is reclaimed.", $(" ", $name, ": ", $about, "."),+),
            check: |value| GcPolicy::read(Some(value)).map(|_| ()),
        };

        /// Which policy, and the keys of all of them.
        #[derive(Clone, Debug, PartialEq)]
        pub struct PolicyKeys {
            /// Which policy.
            pub policy: GcPolicy,
            $(#[doc = concat!("Keys of ", $name, " alone.")] pub $keys: <$rule as VictimRule>::Keys),+
        }

        impl Keys for PolicyKeys {
            fn rows() -> Vec<&'static Key> {
                let mut rows = vec![&POLICY];
                $(rows.extend(<<$rule as VictimRule>::Keys as Keys>::rows());)+
                rows
            }

            fn read(values: &Values) -> Result<PolicyKeys, SpecError> {
                Ok(PolicyKeys { policy: read_field(POLICY.path, values)?, $($keys: Keys::read(values)?),+ })
            }

            fn write(&self, values: &mut Values) {
                values.extend(self.policy.write().map(|policy| (POLICY.path, policy)));
                $(self.$keys.write(values);)+
            }
        }

        impl PolicyKeys {
            /// The policy that the keys ask for.
            pub fn policy(&self) -> VictimPolicy {
                match self.policy { $(GcPolicy::$variant => VictimPolicy::$variant(<$rule as VictimRule>::of(&self.$keys))),+ }
            }
        }

        /// A victim policy at work.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum VictimPolicy { $(#[doc = $about] $variant($rule)),+ }

        impl VictimPolicy {
            fn orders_by_closing(self) -> bool {
                match self { $(VictimPolicy::$variant(_) => <$rule as VictimRule>::ORDERS_BY_CLOSING),+ }
            }

            fn choose(self, blocks: &mut ClosedBlocks, now: u64) -> Option<u32> {
                match self { $(VictimPolicy::$variant(rule) => rule.choose(blocks, now)),+ }
            }
        }

        $(impl From<$rule> for VictimPolicy {
            fn from(rule: $rule) -> VictimPolicy {
                VictimPolicy::$variant(rule)
            }
        })+
    };
}

registry! {
    Greedy = "greedy", greedy: greedy::Greedy, "fewest valid pages";
    CostBenefit = "cost-benefit", cost_benefit: cost_benefit::CostBenefit, "largest age (1 - u) / 2u, u being the share of valid pages";
    DChoices = "d-choices", d_choices: d_choices::DChoices, "fewest valid pages of d_choices random blocks";
    Fifo = "fifo", fifo: fifo::Fifo, "closed first";
    Random = "random", random: random::Random, "any";
}

impl PolicyKeys {
    /// The keys at their defaults.
    #[cfg(test)]
    fn of_defaults() -> PolicyKeys {
        PolicyKeys {
            policy: GcPolicy::Greedy,
            greedy: (),
            cost_benefit: (),
            d_choices: d_choices::DChoicesKeys { d_choices: 8 },
            fifo: (),
            random: (),
        }
    }
}
