//! 86x: the power is cut on devices whose own energy ends what the dies have begun, or empties queues and write buffer,
//! as in [`crate::power`].

use pumice_ftl::FtlKind;

use crate::power::{Fault, Sets, all_are_noticed, cut_everywhere, device, fails, sampled, with_fault};
use crate::power_host::{BUFFERED, EAGER};
use crate::power_layers::{all_keep_their_promises, combinations, cut_often};
use crate::support::{document, number};

const LEVELS: [&str; 2] = ["operations", "full"];

/// Devices of these layers with a write buffer, at each level of protection.
pub fn protected(is_wanted: impl Fn(FtlKind) -> bool) -> Vec<Sets<'static>> {
    let all = combinations();
    let layers = all.iter().filter(|layer| is_wanted(layer.kind));
    let buffers = [BUFFERED, EAGER].into_iter().zip(LEVELS);
    layers
        .flat_map(|layer| {
            buffers.clone().map(|(buffer, level)| {
                let mut device = layer.device(buffer);
                device.insert(0, ("power.protection", level));
                device
            })
        })
        .collect()
}

fn is_page(kind: FtlKind) -> bool {
    kind == FtlKind::Page
}

#[test]
fn t860_a_protected_page_level_ftl_keeps_its_promises_wherever_the_power_is_cut() {
    let met = all_keep_their_promises(protected(is_page), |device| cut_everywhere(device, sampled(11, 211), false));
    assert!(met.cuts > 200, "{met:?}");
    assert_eq!((met.programs, met.erases), (0, 0), "nothing is torn");
}

#[test]
fn t861_and_every_layer_at_drawn_moments() {
    let met = all_keep_their_promises(protected(|_| true), cut_often);
    assert!(met.cuts > 4_000, "{met:?}");
    assert_eq!((met.programs, met.erases), (0, 0), "nothing is torn");
}

/// Faults that only a device with energy of its own can have.
pub const OF_PROTECTION: &[Fault] = &["operations-not-ended", "buffer-not-saved"];

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t862_every_fault_of_a_protected_device_is_noticed() {
    let devices = protected(is_page);
    all_are_noticed(OF_PROTECTION, |fault| {
        devices.iter().any(|device| with_fault(fault, || cut_often(device)))
            || devices.iter().any(|device| fails(fault, device, 61, false))
    });
}

#[test]
fn t864_blocks_that_were_being_written_are_written_further_where_nothing_is_left_half_done() {
    for recovery in ["scan", "summary"] {
        let (mut abandoned, mut programs) = (Vec::new(), Vec::new());
        for open_block in ["close", "reuse"] {
            let more: [&[(&str, &str)]; 2] = [
                &[("workload.requests", "4000"), ("power.cuts", "200"), ("power.protection", "operations")],
                &[("ftl.recovery", recovery), ("ftl.open_block", open_block)],
            ];
            let document = document(&[&device(&[])[..], &more.concat()].concat());
            assert_eq!(number(&document, "power.broken_promises"), 0.0);
            abandoned.push(number(&document, "power.abandoned_blocks"));
            programs.push(number(&document, "flash.programs.host") + number(&document, "flash.programs.gc"));
        }
        assert!(
            abandoned[1] < abandoned[0] / 4.0 && programs[1] < programs[0],
            "{recovery}: {abandoned:?} {programs:?}"
        );
    }
}

#[test]
fn t865_and_keep_their_promises_wherever_the_power_is_cut() {
    let reuse = [("ftl.open_block", "reuse")];
    let devices = protected(is_page).into_iter().filter(|device| !device.contains(&("ftl.recovery", "checkpoint")));
    let devices = devices.map(|device| [&reuse, &device[..]].concat()).collect();
    let met = all_keep_their_promises(devices, |device| cut_everywhere(device, sampled(11, 307), false));
    assert!(met.cuts > 100, "{met:?}");
}

#[test]
fn t863_energy_is_needed_for_as_long_as_an_operation_or_what_is_buffered_lasts() {
    let layers = combinations();
    let page = layers.iter().find(|layer| layer.kind == FtlKind::Page).expect("a page-level layer");
    let run =
        |level| document(&[&page.device(BUFFERED)[..], &[("power.protection", level), ("power.cuts", "30")]].concat());
    let [none, operations, full] = ["none", "operations", "full"].map(run);
    assert!(none["power"]["hold_up_us"]["max"].is_null());
    let longest = |document| number(document, "power.hold_up_us.max");
    let erase = number(&operations, "config.timing.t_bers_us");
    assert!(longest(&operations) > 0.0 && longest(&operations) <= erase, "the longest operation is an erase");
    assert!(longest(&full) > 2.0 * longest(&operations), "{} us", longest(&full));
    let served = |document| number(document, "host.write.latency_us.mean");
    assert!(served(&full) < served(&none), "writes with force unit access wait for nothing");
}
