//! 88x: the power is cut in multi-plane commands, of which each plane is left for itself, as in [`crate::power`].

use pumice_ftl::FtlKind;

use crate::power::{Fault, Sets, all_are_noticed, cut_everywhere, sampled};
use crate::power_layers::{Combination, all_keep_their_promises, combinations, cut_in_a_row, cut_often, fails_soon};
use crate::support::document;

/// Four planes a die, that work together whenever they can, and writes of single pages to all of them.
const PLANES: &[(&str, &str)] = &[
    ("geometry.planes_per_die", "4"),
    ("timing.multi_plane", "neighbours"),
    ("ftl.allocation_order", "PCWD"),
    ("geometry.page_bytes", "1024"),
    ("host.queue_depth", "32"),
    ("workload.kind", "uniform"),
    ("workload.request_bytes", "1024"),
    ("workload.requests", "2400"),
];

/// Erases in loops, which end plane by plane and which reads suspend.
const IN_LOOPS: &[(&str, &str)] = &[
    ("erase.scheme", "ispe"),
    ("erase.initial_pec", "3500"),
    ("erase.suspension", "pulse"),
    ("host.read_priority", "true"),
    ("workload.read_fraction", "0.4"),
];

/// The whole queue of a die is looked through for what can run together.
const OVERTAKING: &[(&str, &str)] = &[("timing.multi_plane", "queue")];

const BUDGETED: (&str, &str) = ("ftl.merge", "m-merge-budgeted");

/// Every layer but zones, which refuse this, with each way of recovery.
fn layers() -> Vec<Combination> {
    combinations().into_iter().filter(|layer| layer.kind != FtlKind::Zns).collect()
}

/// Neighbours in a queue that run together, with and without erases in loops.
fn neighbours() -> Vec<Sets<'static>> {
    let in_loops: &'static [(&'static str, &'static str)] = [PLANES, IN_LOOPS].concat().leak();
    let all = layers();
    all.iter().map(|layer| layer.device(PLANES)).chain(all.iter().map(|layer| layer.device(in_loops))).collect()
}

/// Commands that overtake others; of every other device with erases in loops.
fn overtaking() -> Vec<Sets<'static>> {
    let plain: &'static [(&'static str, &'static str)] = [PLANES, OVERTAKING].concat().leak();
    let in_loops: &'static [(&'static str, &'static str)] = [PLANES, IN_LOOPS, OVERTAKING].concat().leak();
    layers().iter().zip([plain, in_loops].into_iter().cycle()).map(|(layer, more)| layer.device(more)).collect()
}

/// Every device of these tests.
pub fn devices() -> Vec<Sets<'static>> {
    [neighbours(), overtaking()].concat()
}

#[test]
fn t880_every_layer_keeps_its_promises_wherever_a_multi_plane_command_is_cut() {
    let together = |device: &Sets| document(device)["flash"]["multi_plane_commands"].as_u64().unwrap_or(0);
    let together: Vec<u64> = devices().iter().map(together).collect();
    assert!(together.iter().filter(|&&commands| commands > 10).count() * 4 > together.len() * 3, "{together:?}");
    // So few writes all over the device bring too few M-Merges to a run; drawn cuts meet them.
    let is_m_merge = |device: &Sets| device.contains(&("ftl.merge", "m-merge")) || device.contains(&BUDGETED);
    let devices = devices().into_iter().filter(|device| !is_m_merge(device)).collect();
    let met = all_keep_their_promises(devices, |device| cut_everywhere(device, sampled(181, 2101), false));
    assert!(met.cuts > 500 && met.programs > 250 && met.erases > 150, "{met:?}");
}

#[test]
fn t881_and_at_moments_that_the_seed_draws_on_a_larger_device() {
    let met = all_keep_their_promises(devices(), cut_often);
    assert!(met.cuts > 5_000 && met.programs > 5_000 && met.erases > 1_000, "{met:?}");
}

#[test]
fn t882_and_eight_times_in_a_row_so_that_no_recovery_ends() {
    let met = all_keep_their_promises(devices(), |device| cut_in_a_row(device, sampled(181, 5_401)));
    assert!(met.cuts > 300 && met.programs > 160 && met.erases > 60, "{met:?}");
}

/// Faults that only a device can have whose planes work together.
pub const OF_PLANES: &[Fault] = &["planes-as-one", "joined-erases-do-not-wait", "changes-overtake"];

/// Faults of commands that overtake others.
const OF_OVERTAKING: &[Fault] = &["joined-erases-do-not-wait", "changes-overtake"];

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t883_every_fault_of_planes_that_work_together_is_noticed() {
    let devices = neighbours();
    let of_neighbours = OF_PLANES.iter().filter(|fault| **fault != "changes-overtake");
    all_are_noticed(of_neighbours, |fault| fails_soon(fault, &devices, 61));
    let devices = overtaking();
    all_are_noticed(OF_OVERTAKING, |fault| fails_soon(fault, &devices, 61));
}
