//! What waits longer than usual: last loops of erases for the first write of their block, and reads and writes of the
//! host for a piece of other work.

use pumice_engine::observe::Observer;
use pumice_types::{BlockId, FlashCommand, FlashOp, Time};

use crate::support::{TraceFile, accepts, document, number, run_seen_by, spec};

/// Commands with their time on the die.
#[derive(Default)]
struct Spans(Vec<(FlashCommand, Time)>);

impl Observer for Spans {
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.0.push((*command, end - start));
    }
}

/// One request at a time on one die, so that the same commands run in one order whatever they cost.
const ALONE: &[(&str, &str)] = &[
    ("erase.initial_pec", "2500"),
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "1"),
    ("geometry.channels", "1"),
    ("workload.kind", "uniform"),
    ("workload.read_fraction", "0.2"),
    ("ftl.kind", "page"),
    ("initial.fill", "1.0"),
    ("run.check", "integrity"),
    ("run.max_requests", "20000"),
];

fn spans(scheme: &str, last_loop: &str) -> Vec<(FlashCommand, Time)> {
    let mut seen = Spans::default();
    let sets = [ALONE, &[("erase.scheme", scheme), ("erase.last_loop", last_loop)]].concat();
    run_seen_by(&spec(&sets), &mut seen).expect("the run ends well");
    seen.0
}

/// The second half of an erase is found by the block alone: the sum is what the erase takes at once.
#[test]
fn t227_a_last_loop_runs_before_the_first_program_of_its_block_and_not_a_nanosecond_is_lost() {
    for scheme in ["ispe", "aero", "aero-cons"] {
        let (at_once, late) = (spans(scheme, "at-once"), spans(scheme, "first-write"));
        let mut whole = at_once.iter().filter(|(command, _)| command.op == FlashOp::Erase);
        let mut owed: Vec<(BlockId, Time)> = Vec::new();
        let (mut ended, mut put_off) = (0, Time::ZERO);
        for (command, took) in &late {
            let block = command.target.block;
            let of_block = |(other, _): &(BlockId, Time)| *other == block;
            match command.op {
                FlashOp::Erase => {
                    let (same, time) = whole.next().expect("the same erases");
                    assert_eq!(same.target.block, block);
                    owed.push((block, *time - *took));
                }
                FlashOp::Pause => {
                    let at = owed.iter().position(of_block).expect("an erase of that block");
                    assert_eq!(owed.swap_remove(at).1, *took, "{scheme}");
                    (ended, put_off) = (ended + 1, put_off + *took);
                }
                FlashOp::Program | FlashOp::Copy => assert!(!owed.iter().any(of_block), "{scheme}: {command:?}"),
                FlashOp::Read | FlashOp::SpareSearch | FlashOp::PartialErase | FlashOp::SubBlockErase => {}
            }
        }
        assert!(ended > 40 && put_off > Time(ended * 500_000), "{scheme}: {ended} {put_off:?}");
        assert_eq!(whole.next(), None);
    }
}

/// Under load, with suspension: nothing is lost, blocks wear alike, and erases that end early hold the die less.
#[test]
fn t228_late_loops_are_suspended_as_other_loops_are() {
    for how in ["off", "loop", "pulse", "capped", "immediate", "authors-code"] {
        let with = |last_loop| {
            document(&[
                ("erase.scheme", "aero"),
                ("erase.initial_pec", "2500"),
                ("erase.suspension", how),
                ("erase.last_loop", last_loop),
                ("host.read_priority", "true"),
                ("workload.kind", "uniform"),
                ("workload.read_fraction", "0.5"),
                ("workload.mean_interarrival_us", "5000"),
                ("ftl.kind", "page"),
                ("ftl.gc_mode", "preemptible"),
                ("ftl.over_provisioning", "0.2"),
                ("run.check", "integrity"),
                ("run.max_requests", "20000"),
            ])
        };
        let (at_once, late) = (with("at-once"), with("first-write"));
        assert_eq!(number(&late, "integrity.lost_pages"), 0.0);
        assert!(number(&late, "flash.erases.block") > 100.0);
        let suspensions = |document| if how == "off" { 0.0 } else { number(document, "flash.suspensions") };
        assert!(how == "off" || suspensions(&late) > 10.0, "{how}");
        let share = number(&late, "gc.time_us.erase") / number(&at_once, "gc.time_us.erase");
        println!("{how}: suspensions {} {}, time {share}", suspensions(&at_once), suspensions(&late));
        assert!((0.8..1.2).contains(&share), "the loops run all the same: {share}");
    }
}

#[test]
fn t229_last_loops_wait_only_where_it_is_built() {
    let late = [("erase.scheme", "ispe"), ("erase.last_loop", "first-write"), ("ftl.kind", "page")];
    let refused = |more: &[(&str, &str)]| accepts(&[&late[..], more].concat()).expect_err("refused");
    assert!(refused(&[("timing.multi_plane", "queue")]).contains("timing.multi_plane = \"off\""));
    assert!(refused(&[("ftl.recovery", "scan"), ("ftl.over_provisioning", "0.3")]).contains("ftl.recovery = \"off\""));
    let tokens = [("host.read_tokens", "2")];
    assert!(accepts(&tokens).expect_err("refused").contains("host.read_priority = true"));
}

/// One write and then ten reads, while the die is busy: after so many reads the write has its turn.
#[test]
fn t230_so_many_reads_go_before_a_write_that_waits() {
    let mut requests = vec![(0, 'R', 0, 2048), (1, 'W', 0, 2048)];
    requests.extend((2..12).map(|us| (us, 'R', us * 65_536, 2048)));
    let trace = TraceFile::new("read-tokens", &requests);
    let before_write = |tokens| {
        let sets = [
            ("host.read_priority", "true"),
            ("host.read_tokens", tokens),
            ("host.partial_page", "whole-page"),
            ("ftl.kind", "page"),
            ("ftl.allocation", "static"),
            ("geometry.channels", "1"),
            ("geometry.chips_per_channel", "1"),
            ("geometry.dies_per_chip", "1"),
            ("workload.address", "wrap"),
            ("initial.fill", "1.0"),
        ];
        trace.commands(&sets).iter().position(|command| command.op == FlashOp::Program).expect("a write")
    };
    assert_eq!([before_write("0"), before_write("1"), before_write("2"), before_write("7")], [11, 2, 3, 8]);
}

/// Reads without a gap, each of which could interrupt an erase: with tokens writes wait less, and reads more.
#[test]
fn t231_work_goes_on_when_reads_have_no_token_left() {
    let with = |tokens| {
        document(&[
            ("erase.scheme", "ispe"),
            ("erase.initial_pec", "2500"),
            ("erase.suspension", "immediate"),
            ("erase.suspension_max_restarts", "1000"),
            ("host.read_priority", "true"),
            ("host.read_tokens", tokens),
            ("host.mode", "closed-loop"),
            ("host.queue_depth", "64"),
            ("workload.kind", "uniform"),
            ("workload.read_fraction", "0.9"),
            ("ftl.kind", "page"),
            ("ftl.gc_mode", "foreground"),
            ("ftl.over_provisioning", "0.2"),
            ("run.check", "integrity"),
            ("run.max_requests", "20000"),
        ])
    };
    let (none, two, many) = (with("0"), with("2"), with("1000000"));
    assert_eq!(none["host"], many["host"], "tokens that are never spent change nothing");
    assert!(number(&two, "host.write.latency_us.mean") < number(&none, "host.write.latency_us.mean"));
    assert!(number(&two, "host.read.latency_us.mean") > number(&none, "host.read.latency_us.mean"));
}

/// A host that never leaves a die idle: collection in steps has its turn all the same.
#[test]
fn t232_collection_has_its_step_after_so_many_writes() {
    let urgent = |mode, tokens| {
        let document = document(&[
            ("host.mode", "closed-loop"),
            ("host.queue_depth", "64"),
            ("workload.kind", "uniform"),
            ("ftl.kind", "page"),
            ("ftl.gc_mode", mode),
            ("ftl.gc_write_tokens", tokens),
            ("ftl.gc_free_threshold", "0.15"),
            ("ftl.over_provisioning", "0.4"),
            ("initial.fill", "1.0"),
            ("run.check", "integrity"),
            ("run.max_requests", "20000"),
        ]);
        assert_eq!(number(&document, "integrity.lost_pages"), 0.0);
        number(&document, "gc.urgent")
    };
    for mode in ["background", "preemptible"] {
        let [none, one, two] = ["0", "1", "2"].map(|tokens| urgent(mode, tokens));
        println!("{mode}: {none} {one} {two} writes waited for a whole victim");
        assert!(none > 100.0 && one == 0.0 && two < none / 2.0);
    }
}
