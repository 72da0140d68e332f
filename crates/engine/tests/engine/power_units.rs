//! 87x: the power is cut on devices that map units smaller than a page, as in [`crate::power`]. What gathers in open pages is
//! lost; what a flush or force unit access has promised is not.

use pumice_types::RecoveryFault;

use crate::power::{Sets, all_are_noticed, cut_everywhere, device, fails, sampled, with_fault};
use crate::power_layers::{all_keep_their_promises, cut_often};

/// Four units a page, which come singly and in odd numbers, and are flushed often.
const IN_UNITS: &[(&str, &str)] = &[
    ("ftl.map_unit_bytes", "1024"),
    ("ftl.open_page_us", "2000"),
    ("timing.copyback", "false"),
    ("host.partial_page", "rmw"),
    ("workload.requests", "500"),
    ("workload.request_sizes", "[1024, 3072, 512, 5120]"),
    ("workload.flush_every", "11"),
    ("workload.fua_fraction", "0.1"),
];

/// Ways in which such a device decides what is done when.
const WAYS: [&[(&str, &str)]; 7] = [
    &[("ftl.gc_mode", "blocking"), ("ftl.hot_cold", "mixed")],
    &[("ftl.gc_mode", "background"), ("ftl.hot_cold", "gc")],
    &[("ftl.gc_mode", "paced"), ("ftl.hot_cold", "gc"), ("ftl.allocation", "static")],
    &[("host.write_buffer_kib", "16"), ("host.flush", "lru"), ("geometry.planes_per_die", "2")],
    &[("timing.multi_plane", "queue"), ("geometry.planes_per_die", "2"), ("host.read_priority", "true")],
    &[("power.protection", "operations"), ("ftl.open_block", "reuse")],
    &[("power.protection", "full"), ("host.write_buffer_kib", "16"), ("ftl.gc_mode", "preemptible")],
];

/// Devices of units.
pub fn devices() -> Vec<Sets<'static>> {
    WAYS.iter().map(|way| device(&[IN_UNITS, way].concat())).collect()
}

#[test]
fn t875_a_device_of_units_keeps_its_promises_wherever_the_power_is_cut() {
    let met = all_keep_their_promises(devices(), |device| cut_everywhere(device, sampled(1, 9), false));
    assert!(met.cuts > 3_000 && met.programs > 500 && met.erases > 100, "{met:?}");
}

#[test]
fn t876_and_wherever_it_is_cut_again_while_the_device_recovers() {
    let met = all_keep_their_promises(devices(), |device| cut_everywhere(device, sampled(61, 401), true));
    assert!(met.cuts > 3_000, "{met:?}");
}

#[test]
fn t877_and_at_drawn_moments_of_a_larger_one() {
    let met = all_keep_their_promises(devices(), cut_often);
    assert!(met.cuts > 1_000 && met.programs > 500 && met.erases > 20, "{met:?}");
}

#[test]
fn t878_faults_in_the_recovery_of_units_are_noticed() {
    let of_pages = [
        RecoveryFault::OldCopyWins,
        RecoveryFault::EarliestCopyWins,
        RecoveryFault::UnprovenPageKept,
        RecoveryFault::MovesNotDone,
        RecoveryFault::NumbersBeginAnew,
        RecoveryFault::FillForgotten,
        RecoveryFault::FlushDoneEarly,
        RecoveryFault::UnitAccessIgnored,
    ];
    all_are_noticed(&of_pages, |fault| {
        devices().iter().any(|device| with_fault(fault, || cut_often(device)))
            || devices().iter().any(|device| fails(fault, device, 31, false))
    });
}
