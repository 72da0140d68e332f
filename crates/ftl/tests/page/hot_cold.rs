//! 7xx: what it gains to keep hot and cold pages apart.

use pumice_ftl::victims::cost_benefit::CostBenefit;
use pumice_ftl::victims::fifo::Fifo;
use pumice_ftl::victims::greedy::Greedy;
use pumice_ftl::{HotCold, PageConfig, VictimPolicy};

use crate::rig::{Rig, config};

/// Numbers that look random enough to be addresses.
pub struct Addresses(pub u64);

impl Addresses {
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 33) * u64::from(bound)) >> 31) as u32
    }
}

/// Write amplification in the steady state with `share` percent of the writes to `space` percent of
/// the pages.
fn measured(policy: VictimPolicy, hot_cold: HotCold, [share, space]: [u32; 2]) -> f64 {
    let small = config(1, 128, 32);
    let user_pages = (small.geometry.pages() * 80 / 100) as u32;
    let mut rig = Rig::new(PageConfig { user_pages, policy, hot_cold, ..small }, 1.0);
    let mut addresses = Addresses(1);
    let hot_pages = user_pages * space / 100;
    let mut write = |rig: &mut Rig| {
        let lpn = match addresses.below(100) < share {
            true => addresses.below(hot_pages),
            false => hot_pages + addresses.below(user_pages - hot_pages),
        };
        // Neighbours in the address space are not alike.
        rig.write((u64::from(lpn) * 2_654_435_761 % u64::from(user_pages)) as u32);
    };
    (0..user_pages * 6).for_each(|_| write(&mut rig));
    let before = (rig.writes, rig.programs);
    (0..user_pages * 6).for_each(|_| write(&mut rig));
    rig.check();
    rig.write_amplification(before)
}

#[test]
fn t760_what_is_kept_apart_is_copied_less_if_the_policy_lets_hot_blocks_age() {
    let kinds = [HotCold::Mixed, HotCold::Copies, HotCold::Recency { window: 3_276 }];
    for (policy, skew) in [
        (VictimPolicy::from(CostBenefit), [80, 20]),
        (VictimPolicy::from(CostBenefit), [95, 5]),
        (VictimPolicy::from(Greedy), [95, 5]),
    ] {
        let [mixed, copies, recency] = kinds.map(|kind| measured(policy, kind, skew));
        println!("{policy:?} {skew:?}: mixed {mixed:.3}, copies apart {copies:.3}, by recency {recency:.3}");
        assert!(recency < copies, "{policy:?} {skew:?}");
        assert!(recency < 0.98 * mixed, "{policy:?} {skew:?}");
        // Greedy reclaims hot and cold blocks at the same share of valid pages, whatever it costs.
        assert!(copies < mixed || policy == VictimPolicy::from(Greedy), "{policy:?} {skew:?}");
    }
}

/// Under FIFO every block stays equally long, whatever lies in it.
#[test]
fn t762_in_the_order_of_a_log_it_is_all_the_same_what_lies_together() {
    let [mixed, copies, recency] = [HotCold::Mixed, HotCold::Copies, HotCold::Recency { window: 3_276 }]
        .map(|kind| measured(VictimPolicy::from(Fifo), kind, [95, 5]));
    println!("FIFO: mixed {mixed:.3}, copies apart {copies:.3}, by recency {recency:.3}");
    assert!((copies / mixed - 1.0).abs() < 0.03 && (recency / mixed - 1.0).abs() < 0.03);
}

#[test]
fn t761_without_skew_there_is_little_to_keep_apart() {
    let [mixed, copies, recency] = [HotCold::Mixed, HotCold::Copies, HotCold::Recency { window: 1_638 }]
        .map(|kind| measured(VictimPolicy::from(Greedy), kind, [20, 20]));
    println!("uniform: mixed {mixed:.3}, copies apart {copies:.3}, by recency {recency:.3}");
    assert!((copies / mixed - 1.0).abs() < 0.05 && (recency / copies - 1.0).abs() < 0.1);
}
