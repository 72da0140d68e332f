//! 2xx: a read comes in at the instant that the rule of suspension names, an interrupted piece begins again, and
//! what it had run for is counted.

use pumice_engine::Built;
use pumice_engine::chip::erase::RestartTotals;
use pumice_engine::observe::ObserverSlot;
use pumice_engine::scheduler::Submission;
use pumice_ftl::Plan;
use pumice_nand::reliability::stress_between;
use pumice_types::erase::total_time;
use pumice_types::suspension::{Interruption, Stop, SuspensionRule, SuspensionState};
use pumice_types::{
    BlockId, Cause, Draw, ErasePiece, FlashCommand, FlashOp, Lpn, MultiPlane, PageAddress, SuspensionFor, Time,
};

use crate::multi_plane_erase::{Log, built, finish, scheduler_with, steps, submission};
use crate::support::{document, number};

const SUSPEND: Time = Time(100_000);
const RESUME: Time = Time(30_000);

fn immediate(restart: ErasePiece, guard: Time, max_restarts: u32) -> SuspensionRule {
    SuspensionRule {
        interruption: Some(Interruption { guard, max_restarts }),
        suspend: SUSPEND,
        resume: RESUME,
        ..SuspensionRule::after_each(restart)
    }
}

/// An erase of one block that starts at 0, and reads at these instants: ends of the erase and of the reads,
/// suspensions, and what began again.
fn erase_with_reads(rule: SuspensionRule, block: u32, reads: &[Time]) -> (Time, Vec<Time>, u64, RestartTotals) {
    let (mut built, mut log, mut plan) = (built(), Log::default(), Plan::default());
    assert!(built.ftl.read(Lpn(0), 0, &mut plan));
    let mut scheduler = scheduler_with(rule, built, MultiPlane::Off);
    let erase = [FlashCommand::erase(BlockId(block))];
    scheduler.submit(&submission(&erase), Time::ZERO, &mut log.observer()).expect("legal");
    for (token, &at) in reads.iter().enumerate() {
        while let Some(next) = scheduler.next_event().filter(|&next| next < at) {
            scheduler.run_until(next, &mut { next }, &mut log.observer()).expect("no rule is broken");
        }
        let read = Submission { token: token as u32, ..submission(&plan.commands) };
        scheduler.submit(&read, at, &mut log.observer()).expect("legal");
    }
    finish(&mut scheduler, &mut log);
    let ends = |op| log.0.iter().filter(|done| done.2.op == op).map(|done| done.1).collect::<Vec<_>>();
    (ends(FlashOp::Erase)[0], ends(FlashOp::Read), scheduler.suspensions().erases, scheduler.chips.restarts)
}

/// Time that a read of one page takes without waiting.
fn own_time() -> Time {
    let timing = built().timing;
    timing.t_r(0) + timing.page_transfer
}

#[test]
fn t220_an_interrupted_loop_begins_again_when_the_read_is_done() {
    let (draw, own) = (Draw::new(1, "suspension-times"), own_time());
    let (mut lost, mut waited) = (0, 0);
    for case in 0..120u64 {
        let block = built().geometry.blocks_per_plane - 1 - (case % 12) as u32;
        let steps = steps(&built(), block);
        let total = total_time(&steps);
        let restart = [ErasePiece::Loop, ErasePiece::Pulse][(case / 12 % 2) as usize];
        let rule = immediate(restart, Time(if restart == ErasePiece::Loop { 700_000 } else { 0 }), 3);
        let rule = SuspensionRule { protected_loops: (case % 3) as u8, ..rule };
        let at = Time(1 + (draw.unit(case) * (total.0 - 2) as f64) as u64);
        let found = erase_with_reads(rule, block, &[at]);
        let stop = rule.next_stop(&steps, at, SuspensionState::default(), Default::default());
        let Some(Stop { at: stops, keeps }) = stop else {
            assert_eq!(found, (total, vec![total + own], 0, RestartTotals::default()), "{rule:?}");
            continue;
        };
        let read = stops + SUSPEND + own;
        let (count, time, stress) = (u64::from(stops > keeps), stops - keeps, stress_between(&steps, keeps, stops));
        assert_eq!(found, (read + RESUME + (total - keeps), vec![read], 1, RestartTotals { count, time, stress }));
        assert!(stops >= at);
        (lost, waited) = (lost + count, waited + u64::from(stops > at));
    }
    assert!(lost > 40 && waited > 5, "{lost} {waited}");
}

/// The last instant at which a read is let in at once, and the first at which it is not.
#[test]
fn t221_a_read_is_let_in_at_once_until_the_guard_time_and_not_a_nanosecond_later() {
    let guard = Time(700_000);
    let own = own_time();
    let block = built().geometry.blocks_per_plane - 1;
    let steps = steps(&built(), block);
    let first: Time = steps.iter().take(2).map(|step| step.duration).sum();
    let rule = immediate(ErasePiece::Loop, guard, 10);
    let read_ends = |rule, at| erase_with_reads(rule, block, &[at]).1[0];
    let last_legal = first - guard;
    assert_eq!(read_ends(rule, last_legal), last_legal + SUSPEND + own);
    assert_eq!(read_ends(rule, last_legal + Time(1)), first + SUSPEND + own);
    let loops = steps.iter().filter(|step| step.ends_loop()).count() as u8;
    let protected = |loops| SuspensionRule { protected_loops: loops, ..immediate(ErasePiece::Loop, Time::ZERO, 10) };
    let total = total_time(&steps);
    assert_eq!(read_ends(protected(loops - 1), first), first + SUSPEND + own, "the end of the last open loop");
    assert_eq!(read_ends(protected(loops - 1), first + Time(1)), total + own, "a nanosecond into a protected one");
    assert_eq!(read_ends(protected(loops), Time(1)), total + own);
}

/// Reads that come all the time: the erase ends all the same, after as much work as its restarts allow.
#[test]
fn t222_an_erase_under_a_storm_of_reads_makes_progress() {
    let own = own_time();
    let reads: Vec<Time> = (1..2_000).map(|nth| Time(nth * 150_000)).collect();
    let block = built().geometry.blocks_per_plane - 2;
    let total = total_time(&steps(&built(), block));
    let mut last = Time::ZERO;
    for max_restarts in [0, 1, 3, 10] {
        let (end, ends, suspensions, restarts) =
            erase_with_reads(immediate(ErasePiece::Loop, Time::ZERO, max_restarts), block, &reads);
        let loops = steps(&built(), block).iter().filter(|step| step.ends_loop()).count() as u64;
        assert_eq!(restarts.count, u64::from(max_restarts) * loops, "each loop begins again so often");
        assert_eq!(suspensions, restarts.count + loops - 1, "and the erase stops between its loops");
        assert!(restarts.time <= total * u64::from(max_restarts));
        let others = own * ends.iter().filter(|&&read| read < end).count() as u64;
        assert!(end <= total + restarts.time + others + (SUSPEND + RESUME) * suspensions, "the die is never idle");
        assert!(end > last);
        last = end;
    }
}

/// A device under reads and writes on which erases are suspended in a way.
fn load(sets: &[(&'static str, &'static str)]) -> serde_json::Value {
    let base = [
        ("erase.scheme", "ispe"),
        ("erase.initial_pec", "2500"),
        ("host.read_priority", "true"),
        ("host.mode", "open-loop"),
        ("workload.kind", "uniform"),
        ("workload.read_fraction", "0.5"),
        ("workload.mean_interarrival_us", "20000"),
        ("ftl.kind", "page"),
        ("ftl.gc_mode", "foreground"),
        ("ftl.over_provisioning", "0.2"),
        ("run.max_requests", "30000"),
    ];
    document(&[&base[..], sets].concat())
}

#[test]
fn t223_authors_code_is_a_name_for_a_combination_of_keys() {
    let parts = [
        ("erase.suspension", "immediate"),
        ("erase.suspension_restart", "loop"),
        ("erase.suspension_guard_us", "700.0"),
        ("erase.protected_loops", "1"),
        ("erase.suspend_us", "100.0"),
    ];
    let (by_name, by_parts) = (load(&[("erase.suspension", "authors-code")]), load(&parts));
    for section in ["host", "flash", "gc", "wear", "utilisation"] {
        assert_eq!(by_name[section], by_parts[section]);
    }
    assert!(number(&by_name, "flash.erase_restarts") > 10.0);
    assert!(number(&by_name, "flash.suspensions") >= number(&by_name, "flash.erase_restarts"));
}

/// What began again holds the die and wears the block; what stops at a boundary does neither.
#[test]
fn t224_pulses_that_begin_again_cost_time_and_wear() {
    let with = |how| load(&[("erase.suspension", how)]);
    let (off, by_loop, at_once) = (with("off"), with("loop"), with("immediate"));
    for field in ["wear.m_rber", "wear.pec_at_requirement", "gc.time_us.erase", "wear.mean_erase_latency_us"] {
        assert_eq!(number(&off, field), number(&by_loop, field), "{field}");
    }
    assert_eq!((number(&by_loop, "flash.erase_restarts"), number(&by_loop, "wear.restart_stress")), (0.0, 0.0));
    assert!(off["flash"]["erase_restarts"].is_null());
    assert!(number(&at_once, "flash.erase_restarts") > 10.0);
    assert!(number(&at_once, "wear.restart_stress") > 0.001, "{}", number(&at_once, "wear.restart_stress"));
    assert!(number(&at_once, "wear.m_rber") > number(&off, "wear.m_rber"));
    assert!(number(&at_once, "wear.pec_at_requirement") < number(&off, "wear.pec_at_requirement"));
    assert!(number(&at_once, "gc.time_us.erase") > number(&off, "gc.time_us.erase"));
    assert_eq!(number(&at_once, "wear.mean_erase_latency_us"), number(&off, "wear.mean_erase_latency_us"));
    let longest = |document| number(document, "host.read.latency_us.max");
    assert!(longest(&at_once) < longest(&by_loop), "{} {}", longest(&at_once), longest(&by_loop));
}

/// An erase that starts at 0 and a part of a host write at `at`: ends of both.
fn erase_with(rule: SuspensionRule, at: Time, part: impl Fn(&mut Built, BlockId) -> FlashCommand) -> (Time, Time) {
    let (mut built, mut log) = (built(), Log::default());
    let block = BlockId(built.geometry.blocks_per_plane - 1);
    let part = [part(&mut built, block)];
    let mut scheduler = scheduler_with(rule, built, MultiPlane::Off);
    let erase = [FlashCommand::erase(block)];
    scheduler.submit(&submission(&erase), Time::ZERO, &mut log.observer()).expect("legal");
    let write = Submission { token: 1, urgent: false, ..submission(&part) };
    scheduler.submit(&write, at, &mut log.observer()).expect("legal");
    finish(&mut scheduler, &mut log);
    let end = |op| log.0.iter().find(|done| done.2.op == op).expect("it ended").1;
    (end(FlashOp::Erase), end(part[0].op))
}

/// An erase that starts at 0 and a program at `at`, of another block or of the erased one: ends of both.
fn erase_with_write(rule: SuspensionRule, at: Time, into_erased: bool) -> (Time, Time) {
    erase_with(rule, at, |_, block| {
        let block = BlockId(block.0 - u32::from(!into_erased));
        FlashCommand::program(Cause::Host, PageAddress::new(block, 0), Lpn(0), 1, 0)
    })
}

#[test]
fn t225_a_host_write_goes_between_loops_only_if_the_key_says_so_and_the_block_is_another() {
    let timing = built().timing;
    let own = timing.page_transfer + timing.t_prog(0);
    let block = built().geometry.blocks_per_plane - 1;
    let steps = steps(&built(), block);
    let (first, total) = (steps[0].duration + steps[1].duration, total_time(&steps));
    let rule = |whom| SuspensionRule {
        whom,
        suspend: SUSPEND,
        resume: RESUME,
        ..SuspensionRule::after_each(ErasePiece::Loop)
    };
    let at = Time(400_000);
    assert_eq!(erase_with_write(rule(SuspensionFor::Reads), at, false), (total, total + own));
    let written = first + SUSPEND + own;
    let let_in = rule(SuspensionFor::ReadsAndWrites);
    assert_eq!(erase_with_write(let_in, at, false), (written + RESUME + total - first, written));
    assert_eq!(erase_with_write(let_in, first, false).1, written, "the last instant");
    let old_copy = |built: &mut Built, _| {
        let mut plan = Plan::default();
        assert!(built.ftl.read(Lpn(0), 0, &mut plan));
        let FlashCommand { target, lpn, version, .. } = plan.commands[0];
        FlashCommand::read(Cause::Rmw, target, lpn, version)
    };
    let read = first + SUSPEND + own_time();
    assert_eq!(erase_with(let_in, at, old_copy), (read + RESUME + total - first, read), "an old copy that it needs");
    let of_map = |built: &mut Built, block| {
        let FlashCommand { target, lpn, version, .. } = old_copy(built, block);
        FlashCommand::read(Cause::Map, target, lpn, version)
    };
    let waits = (total, total + own_time());
    assert_eq!(erase_with(let_in, at, of_map), waits, "a page of the map is none that the host writes");
    assert!(erase_with_write(let_in, first + Time(1), false).1 > written);
    assert_eq!(erase_with_write(let_in, at, true), (total, total + own), "it needs the erased block");
    let at_once = SuspensionRule { whom: SuspensionFor::ReadsAndWrites, ..immediate(ErasePiece::Loop, Time::ZERO, 9) };
    assert_eq!(erase_with_write(at_once, at, false).1, at + SUSPEND + own);
}

/// Random loads under every rule: no flash rule is broken, all data is there, and the same work is done.
#[test]
fn t226_writes_that_pass_erases_lose_nothing() {
    let base = [
        ("run.check", "integrity"),
        ("ftl.gc_mode", "preemptible"),
        ("workload.mean_interarrival_us", "3000"),
        ("geometry.planes_per_die", "4"),
        ("workload.request_bytes", "2048"),
        ("run.max_requests", "20000"),
    ];
    for multi_plane in ["off", "neighbours"] {
        for how in ["loop", "pulse", "capped", "immediate", "authors-code"] {
            let with = |whom| {
                let sets = [
                    ("timing.multi_plane", multi_plane),
                    ("erase.suspension", how),
                    ("erase.suspension_for", whom),
                    ("erase.scheme", "aero"),
                ];
                load(&[&base[..], &sets].concat())
            };
            let (reads, writes) = (with("reads"), with("reads-and-writes"));
            assert_eq!(number(&writes, "integrity.lost_pages"), 0.0);
            assert!(number(&writes, "flash.suspensions") > number(&reads, "flash.suspensions"), "{how}");
            let longest = |document| number(document, "host.write.latency_us.p99_9");
            println!("{how}, multi-plane {multi_plane}: p99.9 of writes {} {}", longest(&reads), longest(&writes));
            assert!(longest(&writes) < longest(&reads), "{how}");
        }
    }
}
