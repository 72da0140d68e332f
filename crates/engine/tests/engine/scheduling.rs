//! 6xx: when things happen. Timing is pen-1tb's on the tiny device: tR 70 µs, tPROG 900 µs, tBERS
//! 10 ms, page of 4096 + 128 bytes at 400 MB/s = 10.56 µs, spare area 0.32 µs.

use pumice_engine::build;
use pumice_engine::observe::ObserverSlot;
use pumice_engine::scheduler::{Policy, Scheduler, Submission};
use pumice_ftl::Plan;
use pumice_types::{BlockId, FlashCommand, FlashOp, Lpn, MultiPlane, PlaneReads, Time};

use crate::multi_plane_erase::{Log, finish, submission};
use crate::support::{TraceFile, number, spec};

const TRANSFER: f64 = 10.56;
const SPARE: f64 = 0.32;
const BLOCK: u64 = 64 * 4096;

#[test]
fn t610_an_unloaded_write_takes_transfer_and_program() {
    let document = TraceFile::new("write", &[(0, 'W', 0, 4096)]).run(&[]);
    assert_eq!(number(&document, "host.write.latency_us.max"), TRANSFER + 900.0);
    assert_eq!(number(&document, "write_latency_breakdown_us.transfer"), TRANSFER);
    assert_eq!(number(&document, "write_latency_breakdown_us.program"), 900.0);
}

#[test]
fn t611_an_unloaded_read_takes_array_time_and_transfer() {
    let document = TraceFile::new("read", &[(0, 'R', 0, 4096)]).run(&[]);
    assert_eq!(number(&document, "host.read.latency_us.max"), 70.0 + TRANSFER);
}

#[test]
fn t612_a_read_beside_a_u_block_pays_for_the_search() {
    // Three updates of block 0, then a read of the oldest of them and of a page that is in D.
    let requests = [
        (0, 'W', 0, 4096),
        (10_000, 'W', 4096, 4096),
        (20_000, 'W', 8192, 4096),
        (30_000, 'R', 0, 4096),
        (40_000, 'R', 40_960, 4096),
    ];
    let trace = TraceFile::new("search", &requests);
    let expected = 3.0 * (70.0 + SPARE) + 70.0 + TRANSFER;
    let document = trace.run(&[]);
    assert!((number(&document, "host.read.latency_us.mean") - expected).abs() < 1e-6);
    assert_eq!(number(&document, "flash.reads.spare"), 6.0);
    let in_ram = trace.run(&[("ftl.u_index", "ram")]);
    assert!((number(&in_ram, "host.read.latency_us.mean") - 70.0 - TRANSFER).abs() < 1e-6);
}

#[test]
fn t613_never_written_pages_are_answered_without_flash() {
    let document = TraceFile::new("unwritten", &[(0, 'R', 0, 8192)]).run(&[("initial.fill", "0.0")]);
    assert_eq!(number(&document, "host.read.latency_us.max"), 0.0);
    assert_eq!(number(&document, "run.flash_commands"), 0.0);
}

#[test]
fn t614_one_die_serves_one_command_at_a_time_and_two_dies_two() {
    // Both pages of a request are in one block, so on one die; the second waits for the first.
    let document = TraceFile::new("one-die", &[(0, 'R', 0, 8192)]).run(&[]);
    assert_eq!(number(&document, "host.read.latency_us.max"), 2.0 * (70.0 + TRANSFER));
    // Blocks 0 and 1 lie on two channels.
    let document = TraceFile::new("two-dies", &[(0, 'R', 0, 4096), (0, 'R', BLOCK, 4096)]).run(&[]);
    assert_eq!(number(&document, "host.read.latency_us.max"), 70.0 + TRANSFER);
}

#[test]
fn t615_dies_of_one_channel_share_it() {
    let sets = [("geometry.channels", "1"), ("geometry.dies_per_chip", "2")];
    let document = TraceFile::new("bus", &[(0, 'R', 0, 4096), (0, 'R', BLOCK, 4096)]).run(&sets);
    assert_eq!(number(&document, "host.read.latency_us.max"), 70.0 + 2.0 * TRANSFER);
}

/// 64 updates of page 0 fill its U-block; the next one merges the pair.
fn merge_trace(after: &[(u64, char, u64, u32)]) -> Vec<(u64, char, u64, u32)> {
    let updates = (0..65).map(|n| (n * 5_000, 'W', 0, 4096));
    updates.chain(after.iter().copied()).collect()
}

#[test]
fn t620_a_merge_is_charged_to_the_write_that_triggers_it_phase_by_phase() {
    let document = TraceFile::new("merge", &merge_trace(&[])).run(&[]);
    let scan = 64.0 * (70.0 + SPARE);
    let merge = 64.0 * 970.0 + 2.0 * 10_000.0;
    assert!((number(&document, "host.write.latency_us.max") - (scan + merge + TRANSFER + 900.0)).abs() < 1e-6);
    for (part, sum) in [
        ("gc_spare_read", scan),
        ("gc_read", 64.0 * 70.0),
        ("gc_write", 64.0 * 900.0),
        ("gc_erase", 20_000.0),
        ("queue", 0.0),
    ] {
        let mean = number(&document, &format!("write_latency_breakdown_us.{part}"));
        assert!((mean * 65.0 - sum).abs() < 1e-6, "{part}: {mean} × 65 is not {sum}");
    }
    assert_eq!(number(&document, "gc.time_us.copy"), 64.0 * 970.0);
    assert_eq!(number(&document, "gc.time_us.erase"), 20_000.0);
    assert!((number(&document, "gc.time_us.map") - scan).abs() < 1e-6);
}

#[test]
fn t621_waiting_behind_a_merge_is_charged_by_overlap() {
    // The merge starts at 320 ms with a scan of 4500.48 µs; a write to another block of the die
    // arrives 10 ms later and meets the copies in their middle, then the trigger's own program.
    let arrives = 64 * 5_000 + 10_000;
    let trace = merge_trace(&[(arrives, 'W', 4 * BLOCK, 4096)]);
    let document = TraceFile::new("overlap", &trace).run(&[]);
    let scan = 64.0 * (70.0 + SPARE);
    let into_copies: f64 = 10_000.0 - scan;
    let copies = 64.0 * 970.0;
    let (whole, rest) = ((into_copies / 970.0).floor(), into_copies % 970.0);
    let read_done = whole * 70.0 + rest.min(70.0);
    let expected_read = 64.0 * 70.0 + (64.0 * 70.0 - read_done);
    let expected_write = 64.0 * 900.0 + (copies - into_copies) - (64.0 * 70.0 - read_done);
    for (part, sum) in
        [("gc_read", expected_read), ("gc_write", expected_write), ("gc_erase", 40_000.0), ("queue", TRANSFER + 900.0)]
    {
        let mean = number(&document, &format!("write_latency_breakdown_us.{part}"));
        assert!((mean * 66.0 - sum).abs() < 1e-3, "{part}: {} is not {sum}", mean * 66.0);
    }
}

#[test]
fn t622_copies_through_the_controller_pay_two_transfers() {
    let document = TraceFile::new("no-copyback", &merge_trace(&[])).run(&[("timing.copyback", "false")]);
    let merge = 64.0 * (970.0 + 2.0 * TRANSFER) + 64.0 * (70.0 + SPARE) + 20_000.0;
    assert!((number(&document, "host.write.latency_us.max") - (merge + TRANSFER + 900.0)).abs() < 1e-6);
}

/// A command overhead of 2.5 µs, and merges whose copies go through the controller.
const OVERHEAD: f64 = 2.5;
const WITH_OVERHEAD: &[(&str, &str)] = &[("timing.command_overhead_us", "2.5"), ("timing.copyback", "false")];

#[test]
fn t626_each_use_of_the_channel_pays_a_command_overhead_a_copy_through_the_controller_two() {
    let read = TraceFile::new("overhead-read", &[(0, 'R', 0, 4096)]).run(WITH_OVERHEAD);
    assert_eq!(number(&read, "host.read.latency_us.max"), 70.0 + OVERHEAD + TRANSFER);
    let write = TraceFile::new("overhead-write", &[(0, 'W', 0, 4096)]).run(WITH_OVERHEAD);
    assert_eq!(number(&write, "host.write.latency_us.max"), OVERHEAD + TRANSFER + 900.0);
    assert_eq!(number(&write, "write_latency_breakdown_us.transfer"), OVERHEAD + TRANSFER);
    let merge = TraceFile::new("overhead-merge", &merge_trace(&[])).run(WITH_OVERHEAD);
    // One search command for all 64 spare areas; 64 copies, each out and in; erases use no channel.
    let search = 64.0 * (70.0 + SPARE) + OVERHEAD;
    let copies = 64.0 * (970.0 + 2.0 * (TRANSFER + OVERHEAD));
    let near = |path: &str, expected: f64| {
        let found = number(&merge, path);
        assert!((found - expected).abs() < 1e-6, "{path}: {found} is not {expected}");
    };
    near("host.write.latency_us.max", search + copies + 20_000.0 + OVERHEAD + TRANSFER + 900.0);
    near("gc.time_us.map", search);
    near("gc.time_us.copy", copies);
    near("gc.time_us.erase", 20_000.0);
    near("write_latency_breakdown_us.gc_spare_read", search / 65.0);
    near("write_latency_breakdown_us.gc_read", 64.0 * (70.0 + OVERHEAD + TRANSFER) / 65.0);
    near("write_latency_breakdown_us.gc_write", 64.0 * (OVERHEAD + TRANSFER + 900.0) / 65.0);
}

#[test]
fn t616_each_spare_area_of_a_map_is_read_by_a_command_of_its_own() {
    let spare_map = [
        ("ftl.kind", "superblock-2006"),
        ("ftl.map_place", "spare"),
        ("geometry.program_order", "in-order"),
        ("partial_erase.max_splits", "0"),
        ("ftl.over_provisioning", "0.25"),
        ("workload.requests", "3000"),
        ("timing.command_overhead_us", "2.5"),
    ];
    let document = crate::support::document(&spare_map);
    let areas = number(&document, "flash.reads.map");
    assert!(areas > 1_000.0 && number(&document, "flash.reads.spare") == 0.0);
    let expected = areas * (70.0 + SPARE + OVERHEAD);
    assert!((number(&document, "gc.time_us.map") / expected - 1.0).abs() < 1e-12);
}

#[test]
fn t623_a_closed_loop_at_depth_1_never_waits() {
    let requests: Vec<_> = (0..50).map(|n| (0, 'W', n * BLOCK * 2, 4096)).collect();
    let trace = TraceFile::new("closed", &requests);
    let document = trace.run(&[("host.mode", "closed-loop"), ("initial.fill", "0.0")]);
    assert_eq!(number(&document, "host.write.latency_us.max"), TRANSFER + 900.0);
    let iops = 1e6 / (TRANSFER + 900.0);
    assert!((number(&document, "host.service_iops") / iops - 1.0).abs() < 1e-9);
    assert!((number(&document, "host.iops") / iops - 1.0).abs() < 1e-9);
}

#[test]
fn t624_service_iops_leave_idle_time_out() {
    let document = TraceFile::new("idle", &[(0, 'W', 0, 4096), (1_000_000, 'W', 0, 4096)]).run(&[]);
    let busy_s = 2.0 * (TRANSFER + 900.0) / 1e6;
    assert!((number(&document, "host.service_iops") - 2.0 / busy_s).abs() < 1e-6);
    assert!(number(&document, "host.iops") < 2.0);
}

#[test]
fn t625_warm_up_is_not_measured_and_speed_up_divides_time() {
    let requests = [(0, 'W', 0, 4096), (2_000, 'R', 0, 4096), (4_000, 'R', 0, 4096)];
    let trace = TraceFile::new("warmup", &requests);
    let document = trace.run(&[("run.warmup_requests", "1"), ("host.speedup", "2.0")]);
    assert_eq!(number(&document, "host.write.requests"), 0.0);
    assert_eq!(number(&document, "host.read.requests"), 2.0);
    assert_eq!(number(&document, "flash.programs.host"), 0.0);
    let last_read = 70.0 + SPARE + 70.0 + TRANSFER;
    assert!((number(&document, "host.simulated_s") - (1_000.0 + last_read) / 1e6).abs() < 1e-12);
}

#[test]
fn t630_a_slot_of_gftl_takes_its_time_and_counts_as_no_command() {
    let trace = TraceFile::new("slot", &[(0, 'W', 0, 4096), (50_000, 'W', 4096, 4096)]);
    let document = trace.run(&[("ftl.kind", "gftl")]);
    let n = |path: &str| number(&document, path);
    assert_eq!(n("host.write.latency_us.mean"), 10_000.0 + TRANSFER + 900.0);
    assert_eq!(n("write_latency_breakdown_us.gc_erase"), 10_000.0);
    assert_eq!(n("run.flash_commands"), 2.0);
    assert_eq!(n("flash.erases.block"), 0.0);
    // A slot longer than one pause can be, 2^32 ns.
    let document = trace.run(&[("ftl.kind", "gftl"), ("timing.t_bers_us", "10000000")]);
    assert_eq!(number(&document, "host.write.latency_us.max"), 2.0 * (10_000_000.0 + TRANSFER + 900.0) - 50_000.0);
}

/// Two plans of two erases each hold their die one after the other. A read with priority comes while the first runs: it
/// waits for the end of that plan, and the second plan waits for it.
#[test]
fn t617_a_read_goes_between_plans_that_hold_the_die() {
    let sets = [("geometry.channels", "1"), ("ftl.kind", "page"), ("ftl.over_provisioning", "0.25")];
    let mut built = build(&spec(&sets), 1.0).expect("a device");
    let (timing, last) = (built.timing.clone(), built.geometry.blocks_per_plane - 1);
    let mut read = Plan::default();
    assert!(built.ftl.read(Lpn(0), 0, &mut read));
    let policy = Policy {
        read_priority: true,
        read_tokens: 0,
        holds_die: true,
        erase: None,
        late_loops: false,
        program: None,
        plane_reads: PlaneReads::Die,
        multi_plane: MultiPlane::Off,
        erases_wait: false,
        changes_in_order: false,
        moves_wait: false,
        log_waits: false,
    };
    let (mut scheduler, mut log) = (Scheduler::new(built.geometry, built.chips, policy), Log::default());
    for nth in [0, 2] {
        let plan = [last - nth, last - nth - 1].map(|block| FlashCommand::erase(BlockId(block)));
        scheduler.submit(&submission(&plan), Time::ZERO, &mut log.observer()).expect("legal");
    }
    let read = Submission { token: 1, ..submission(&read.commands) };
    scheduler.submit(&read, Time(1), &mut log.observer()).expect("legal");
    finish(&mut scheduler, &mut log);
    let ends = |op| log.0.iter().filter(|done| done.2.op == op).map(|done| done.1).collect::<Vec<_>>();
    let (erase, own) = (timing.t_bers, timing.t_r(0) + timing.page_transfer);
    assert_eq!(ends(FlashOp::Read), [erase * 2 + own]);
    assert_eq!(ends(FlashOp::Erase), [erase, erase * 2, erase * 3 + own, erase * 4 + own]);
}
