//! 69x: several planes of a die erase at once: who keeps the die busy, where a read comes in between, and
//! which erases the page-level FTL brings together.

use pumice_engine::observe::{Observer, ObserverSlot};
use pumice_engine::scheduler::{NOBODY, Policy, Scheduler, Submission};
use pumice_engine::{Built, build};
use pumice_ftl::Plan;
use pumice_types::erase::{StepKind, total_time};
use pumice_types::suspension::{ErasePiece, SuspensionRule};
use pumice_types::{BlockId, EraseStep, FlashCommand, FlashOp, Lpn, MultiPlane, PlaneReads, Time};

use crate::support::{document, number, run_seen_by, spec};

const SUSPEND: Time = Time(7_000);
const RESUME: Time = Time(11_000);

/// Start and end of every command, with its block.
#[derive(Default)]
pub struct Log(pub Vec<(Time, Time, FlashCommand)>);

impl Observer for Log {
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.0.push((start, end, *command));
    }
}

/// One die of two planes under aero at 2.5K PEC, whose blocks need different pulses.
pub fn built() -> Built {
    let sets = [
        ("geometry.channels", "1"),
        ("ftl.kind", "page"),
        ("ftl.over_provisioning", "0.25"),
        ("partial_erase.unit", "none"),
        ("erase.scheme", "aero"),
        ("erase.initial_pec", "2500"),
    ];
    build(&spec(&sets), 1.0).expect("a device")
}

fn scheduler(built: Built, multi_plane: MultiPlane) -> Scheduler {
    let rule = SuspensionRule { suspend: SUSPEND, resume: RESUME, ..SuspensionRule::after_each(ErasePiece::Loop) };
    scheduler_with(rule, built, multi_plane)
}

/// A scheduler that suspends erases by a rule.
pub fn scheduler_with(rule: SuspensionRule, built: Built, multi_plane: MultiPlane) -> Scheduler {
    Scheduler::new(built.geometry, built.chips, policy(rule, multi_plane))
}

fn policy(rule: SuspensionRule, multi_plane: MultiPlane) -> Policy {
    Policy {
        read_priority: true,
        read_tokens: 0,
        holds_die: false,
        erase: Some(rule),
        late_loops: false,
        program: None,
        plane_reads: PlaneReads::Die,
        multi_plane,
        erases_wait: false,
        changes_in_order: false,
        moves_wait: false,
        log_waits: false,
    }
}

/// Commands that nobody waits for.
pub fn submission(commands: &[FlashCommand]) -> Submission<'_> {
    Submission { commands, completes: 0, token: NOBODY, parts: false, urgent: true, part: Time::ZERO }
}

/// What each block's next erase will do.
pub fn steps(built: &Built, block: u32) -> Vec<EraseStep> {
    let mut steps = Vec::new();
    built.chips.eraser.clone().expect("a scheme").erase(block, &mut steps);
    steps
}

/// Pairs of blocks, one a plane, from the emptiest end of each plane.
fn pairs(built: &Built) -> Vec<[u32; 2]> {
    let blocks = built.geometry.blocks_per_plane;
    (0..12).map(|n| [blocks - 1 - n, 2 * blocks - 1 - (5 * n) % 12]).collect()
}

pub fn finish(scheduler: &mut Scheduler, log: &mut Log) {
    while scheduler.run_until(Time::NEVER, &mut { Time::ZERO }, &mut log.observer()).expect("no rule is broken") > 0 {}
}

#[test]
fn t690_a_multi_plane_erase_takes_its_slowest_planes_time_and_each_block_its_own() {
    for pair in pairs(&built()) {
        let each = pair.map(|block| total_time(&steps(&built(), block)));
        let (at_once, in_turn) = ([each[0].max(each[1]); 2], [each[0], each[0] + each[1]]);
        for (multi_plane, ends) in [
            (MultiPlane::Erases, at_once),
            (MultiPlane::Neighbours, at_once),
            (MultiPlane::Queue, at_once),
            (MultiPlane::Off, in_turn),
        ] {
            let mut log = Log::default();
            let mut scheduler = scheduler(built(), multi_plane);
            let erases = pair.map(|block| FlashCommand::erase(BlockId(block)));
            scheduler.submit(&submission(&erases), Time::ZERO, &mut log.observer()).expect("legal");
            finish(&mut scheduler, &mut log);
            assert_eq!(log.0.iter().map(|command| command.1).collect::<Vec<_>>(), ends);
            assert_eq!(scheduler.multi_plane().commands, u64::from(multi_plane != MultiPlane::Off));
            assert_eq!(scheduler.busy_times(ends[1]).0, [ends[1]], "a die is busy once");
            let totals = scheduler.chips.eraser.as_ref().expect("a scheme").totals();
            assert_eq!((totals.erases, totals.time), (2, each[0] + each[1]));
        }
    }
}

/// Where a plane stops for a read that comes at `at`: after a verify read, or at its end.
fn stop(steps: &[EraseStep], at: Time) -> Time {
    let mut time = Time::ZERO;
    for step in steps {
        time += step.duration;
        if step.kind == StepKind::Verify && time >= at {
            return time;
        }
    }
    time
}

#[test]
fn t691_a_read_comes_in_when_the_last_plane_has_come_to_its_boundary() {
    let mut suspended = 0;
    for (nth, pair) in pairs(&built()).into_iter().enumerate() {
        let at = Time(400_000 + 517_003 * nth as u64);
        let (mut built, mut log, mut plan) = (built(), Log::default(), Plan::default());
        let planes = pair.map(|block| steps(&built, block));
        assert!(built.ftl.read(Lpn(0), 0, &mut plan));
        let own = built.timing.t_r(0) + built.timing.page_transfer;
        let mut scheduler = scheduler(built, MultiPlane::Neighbours);
        let erases = pair.map(|block| FlashCommand::erase(BlockId(block)));
        scheduler.submit(&submission(&erases), Time::ZERO, &mut log.observer()).expect("legal");
        let read = Submission { token: 1, ..submission(&plan.commands) };
        scheduler.submit(&read, at, &mut log.observer()).expect("legal");
        finish(&mut scheduler, &mut log);

        let stops = [0, 1].map(|plane| stop(&planes[plane], at));
        let totals = [0, 1].map(|plane| total_time(&planes[plane]));
        let (lets_go, end) = (stops[0].max(stops[1]), totals[0].max(totals[1]));
        let done = |op| log.0.iter().filter(|c| c.2.op == op).map(|c| c.1).collect::<Vec<_>>();
        if lets_go < end {
            suspended += 1;
            let read_done = lets_go + SUSPEND + own;
            let left = (totals[0] - stops[0]).max(totals[1] - stops[1]);
            assert_eq!(done(FlashOp::Read), [read_done], "{planes:?}");
            assert_eq!(done(FlashOp::Erase), [read_done + RESUME + left; 2]);
        } else {
            assert_eq!((done(FlashOp::Erase), done(FlashOp::Read)), (vec![end; 2], vec![end.max(at) + own]));
        }
        assert_eq!(scheduler.suspensions().erases, u64::from(lets_go < end));
        assert_eq!(scheduler.multi_plane().commands, 1, "what goes on after a suspension is no new command");
    }
    assert!((3..12).contains(&suspended), "{suspended}");
}

/// A read, an erase in the other plane, two reads of which one token lets one go first, and an erase of what they read.
#[test]
fn t782_an_erase_that_is_due_takes_none_along_that_a_read_comes_before() {
    let (mut built, mut log, mut plan) = (built(), Log::default(), Plan::default());
    assert!(built.ftl.read(Lpn(0), 0, &mut plan));
    let (read, per_plane) = (plan.commands[0], built.geometry.blocks_per_plane);
    let other = BlockId(if read.target.block.0 < per_plane { 2 * per_plane - 1 } else { per_plane - 1 });
    let policy = Policy { read_tokens: 1, ..policy(SuspensionRule::NEVER, MultiPlane::Erases) };
    let mut scheduler = Scheduler::new(built.geometry, built.chips, policy);
    let commands = [read, FlashCommand::erase(other), read, read, FlashCommand::erase(read.target.block)];
    for command in &commands {
        let one = submission(std::slice::from_ref(command));
        scheduler.submit(&one, Time::ZERO, &mut log.observer()).expect("legal");
    }
    finish(&mut scheduler, &mut log);
    let order: Vec<_> = log.0.iter().map(|done| (done.2.op, done.2.target.block)).collect();
    assert_eq!(order, [0, 2, 1, 3, 4].map(|nth: usize| (commands[nth].op, commands[nth].target.block)));
}

/// A page-level device of two dies with four planes each, under a load that leaves it time to collect.
fn load(multi_plane: &'static str, mode: &'static str, seed: &'static str) -> [(&'static str, &'static str); 15] {
    [
        ("geometry.planes_per_die", "4"),
        ("timing.multi_plane", multi_plane),
        ("erase.scheme", "aero"),
        ("erase.initial_pec", "2500"),
        ("erase.suspension", "loop"),
        ("host.read_priority", "true"),
        ("partial_erase.unit", "none"),
        ("ftl.kind", "page"),
        ("ftl.gc_mode", mode),
        ("ftl.over_provisioning", "0.25"),
        ("workload.read_fraction", "0.5"),
        ("workload.footprint", "0.3"),
        ("workload.mean_interarrival_us", "12000"),
        ("run.max_requests", "60000"),
        ("seed", seed),
    ]
}

#[test]
fn t692_planes_that_collect_together_erase_together_and_the_log_keeps_to_the_rules() {
    for mode in ["preemptible", "background"] {
        let mut log = Log::default();
        let spec = spec(&load("neighbours", mode, "3"));
        run_seen_by(&spec, &mut log).expect("the run ends well");
        let erases: Vec<_> = log.0.iter().filter(|command| command.2.op == FlashOp::Erase).collect();
        let together = erases.windows(2).filter(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)).count();
        println!("{mode}: {} erases, {together} behind another one at the same time", erases.len());
        assert!(erases.len() > 100 && together > erases.len() / 4, "{} {together}", erases.len());
    }
}

#[test]
fn t693_erasing_together_keeps_a_die_busy_for_less_time() {
    let share = |multi_plane| {
        let found = document(&load(multi_plane, "preemptible", "3"));
        let busy = found["utilisation"]["die"].as_array().expect("dies").iter();
        let busy_s = busy.map(|share| share.as_f64().expect("a share")).sum::<f64>();
        (busy_s, number(&found, "flash.erases.block"), number(&found, "wear.mean_erase_latency_us"))
    };
    let (single, multi) = (share("off"), share("neighbours"));
    println!("busy, erases, mean erase: {single:?} one by one, {multi:?} together");
    assert!(multi.0 < single.0, "{multi:?} {single:?}");
    assert!((multi.1 / single.1 - 1.0).abs() < 0.05, "the same work");
    assert!((multi.2 / single.2 - 1.0).abs() < 0.05, "a plane's own time, not its die's");
}
