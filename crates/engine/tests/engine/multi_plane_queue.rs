//! 66x and 67x: multi-plane commands from the whole queue: what joins the command that is due, how long that
//! takes, and every hazard that forbids it. One die, blocks of 64 pages that are programmed in order.

use std::collections::HashSet;

use pumice_engine::observe::{Observer, ObserverSlot};
use pumice_engine::scheduler::{NOBODY, PHASES, Phase, Policy, Scheduler, Submission};
use pumice_engine::{SimError, build};
use pumice_types::suspension::SuspensionRule;
use pumice_types::{
    BlockId, Cause, FlashCommand, FlashOp, FlashTiming, Lpn, MultiPlane, PageAddress, PlaneReads, SearchExpectation,
    Time,
};

use crate::support::{document, number, run_seen_by, spec};

const BLOCKS: u32 = 64;
const PAGES: u32 = 64;

/// Start and end of every command.
#[derive(Default)]
struct Log(Vec<(Time, Time, FlashCommand)>);

impl Observer for Log {
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.0.push((start, end, *command));
    }
}

/// Page `page` of block `block` of a plane.
fn at(plane: u32, block: u32, page: u16) -> PageAddress {
    PageAddress::new(BlockId(plane * BLOCKS + block), page)
}

/// The logical page that the tests first program to a page.
fn lpn(page: PageAddress) -> Lpn {
    Lpn(page.block.0 * PAGES + u32::from(page.page))
}

fn program(plane: u32, block: u32, page: u16) -> FlashCommand {
    let target = at(plane, block, page);
    FlashCommand::program(Cause::Host, target, lpn(target), 1, 1)
}

fn read(plane: u32, block: u32, page: u16) -> FlashCommand {
    let target = at(plane, block, page);
    FlashCommand::read(Cause::Host, target, lpn(target), 1)
}

/// A copy from one block of a plane to another.
fn copy(plane: u32, from: (u32, u16), to: (u32, u16)) -> FlashCommand {
    let source = at(plane, from.0, from.1);
    FlashCommand::copy(source, at(plane, to.0, to.1), lpn(source), 1)
}

fn erase(plane: u32, block: u32) -> FlashCommand {
    FlashCommand::erase(at(plane, block, 0).block)
}

/// One die under `multi_plane = "queue"`, and what happened on it.
struct OneDie {
    scheduler: Scheduler,
    timing: FlashTiming,
    log: Log,
    now: Time,
}

/// How the die differs from test to test.
struct Kind {
    planes: &'static str,
    copyback: &'static str,
    /// Plans hold the die, and reads have priority.
    blocking: bool,
}

const TWO_PLANES: Kind = Kind { planes: "2", copyback: "false", blocking: false };

impl OneDie {
    /// A die on which these pages are programmed.
    fn new(kind: &Kind, programmed: &[FlashCommand]) -> OneDie {
        let sets = [
            ("geometry.channels", "1"),
            ("geometry.planes_per_die", kind.planes),
            ("geometry.program_order", "in-order"),
            ("timing.copyback", kind.copyback),
            ("timing.multi_plane", "queue"),
            ("partial_erase.unit", "none"),
            ("ftl.kind", "page"),
            ("ftl.over_provisioning", "0.25"),
            ("initial.fill", "0.0"),
        ];
        let built = build(&spec(&sets), 1.0).expect("a device");
        let policy = Policy {
            read_priority: kind.blocking,
            read_tokens: 0,
            holds_die: kind.blocking,
            erase: Some(SuspensionRule::NEVER),
            late_loops: false,
            program: None,
            plane_reads: PlaneReads::Die,
            multi_plane: MultiPlane::Queue,
            erases_wait: false,
            changes_in_order: false,
            moves_wait: false,
            log_waits: false,
        };
        let timing = built.timing.clone();
        let scheduler = Scheduler::new(built.geometry, built.chips, policy);
        let mut die = OneDie { scheduler, timing, log: Log::default(), now: Time::ZERO };
        for command in programmed {
            die.submit(&[*command]);
            die.finish().expect("legal");
        }
        die.log.0.clear();
        die
    }

    /// Queues a plan now; a read of one command may have priority.
    fn submit(&mut self, commands: &[FlashCommand]) {
        self.submit_for(NOBODY, commands);
    }

    /// Submits commands for somebody who waits and wants to know for what.
    fn submit_for(&mut self, token: u32, commands: &[FlashCommand]) {
        let (completes, parts) = (commands.len() - 1, token != NOBODY);
        let access = Submission { commands, completes, token, parts, urgent: true, part: Time::ZERO };
        self.scheduler.submit(&access, self.now, &mut self.log.observer()).expect("legal");
    }

    /// Runs until nothing is left.
    fn finish(&mut self) -> Result<(), SimError> {
        while self.scheduler.run_until(Time::NEVER, &mut self.now, &mut self.log.observer())? > 0 {}
        Ok(())
    }

    /// Programs a page that keeps the die busy while `plans` are queued, then runs them all. Returns what
    /// started together, by place in `plans`, in the order of time.
    fn run(&mut self, plans: &[&[FlashCommand]]) -> Vec<Vec<usize>> {
        self.submit(&[program(0, BLOCKS - 1, 0)]);
        plans.iter().for_each(|plan| self.submit(plan));
        self.finish().unwrap_or_else(|error| panic!("{plans:?}: {error}"));
        let places: Vec<FlashCommand> = plans.concat();
        let mut together: Vec<(Time, Vec<usize>)> = Vec::new();
        for (start, _, command) in &self.log.0[1..] {
            let place = places.iter().position(|other| other == command).expect("one of them");
            match together.last_mut().filter(|(at, _)| at == start) {
                Some((_, group)) => group.push(place),
                None => together.push((*start, vec![place])),
            }
        }
        together.into_iter().map(|(_, group)| group).collect()
    }

    /// How long the command of `place` in the order of time took.
    fn took(&self, place: usize) -> Time {
        let (start, end, _) = self.log.0[place + 1];
        end - start
    }
}

/// What starts together of `plans` on a die where `programmed` is done.
fn groups(kind: &Kind, programmed: &[FlashCommand], plans: &[&[FlashCommand]]) -> Vec<Vec<usize>> {
    OneDie::new(kind, programmed).run(plans)
}

#[test]
fn t664_the_other_planes_commands_overtake_from_anywhere_in_the_queue() {
    let plans: &[&[FlashCommand]] =
        &[&[program(0, 0, 0)], &[program(0, 0, 1)], &[program(0, 0, 2)], &[program(1, 0, 0)], &[program(1, 0, 1)]];
    assert_eq!(groups(&TWO_PLANES, &[], plans), [vec![0, 3], vec![1, 4], vec![2]]);
    // Reads of one page number, and erases of any blocks.
    let stored = [program(0, 0, 0), program(1, 0, 0), program(1, 1, 0)];
    let reads: &[&[FlashCommand]] =
        &[&[read(0, 0, 0)], &[program(0, 1, 0)], &[read(1, 0, 0)], &[erase(1, 1)], &[erase(0, 2)]];
    assert_eq!(groups(&TWO_PLANES, &stored, reads), [vec![0, 2], vec![1], vec![3, 4]]);
    // Four planes; each gives its oldest that fits.
    let four = Kind { planes: "4", ..TWO_PLANES };
    let plans: &[&[FlashCommand]] = &[
        &[program(0, 0, 0)],
        &[program(3, 0, 0)],
        &[program(3, 1, 0)],
        &[program(1, 0, 0)],
        &[program(1, 0, 1)],
        &[program(2, 0, 0)],
    ];
    assert_eq!(groups(&four, &[], plans), [vec![0, 3, 5, 1], vec![2], vec![4]]);
}

#[test]
fn t665_copies_read_one_after_the_other_and_program_together() {
    let stored = [program(0, 0, 0), program(1, 0, 0), program(1, 0, 1)];
    let took = |kind: &Kind, plans: &[&[FlashCommand]], expected: &[Vec<usize>]| {
        let mut die = OneDie::new(kind, &stored);
        assert_eq!(die.run(plans), expected);
        (die.took(0), die.timing.clone())
    };
    let (from_equal, from_other) = (copy(1, (0, 0), (2, 0)), copy(1, (0, 1), (2, 0)));
    let both = [vec![0, 1]];
    for (other, reads) in [(from_equal, 1), (from_other, 2)] {
        let plans: [&[FlashCommand]; 2] = [&[copy(0, (0, 0), (2, 0))], &[other]];
        let (time, t) = took(&TWO_PLANES, &plans, &both);
        assert_eq!(time, t.t_r(0) * reads + t.copy_transfer() * 2 + t.t_prog(0), "{reads} reads");
        let copyback = Kind { copyback: "true", ..TWO_PLANES };
        let (time, t) = took(&copyback, &plans, &both);
        assert_eq!(time, t.t_r(0) * reads + t.t_prog(0), "{reads} reads, on the die");
    }
    // A program and a copy, whichever is due: one read, three transfers. A copyback stays alone.
    let (host, moved) = ([program(0, 2, 0)], [from_other]);
    for plans in [[&host[..], &moved[..]], [&moved[..], &host[..]]] {
        let (time, t) = took(&TWO_PLANES, &plans, &both);
        assert_eq!(time, t.t_r(0) + t.copy_transfer() + t.page_transfer + t.command_overhead + t.t_prog(0));
        took(&Kind { copyback: "true", ..TWO_PLANES }, &plans, &[vec![0], vec![1]]);
    }
}

#[test]
fn t663_what_runs_beside_an_access_is_charged_to_it_part_by_part() {
    let mut die = OneDie::new(&TWO_PLANES, &[program(0, 0, 0)]);
    let (begins, t) = (die.now, die.timing.clone());
    let (page, host) = (t.page_transfer + t.command_overhead, Phase::Host as usize);
    // A page of the map keeps the die busy; then a copy is due, which the write joins.
    let mut of_map = program(0, BLOCKS - 1, 0);
    of_map.cause = Cause::Map;
    die.submit(&[of_map]);
    die.submit(&[copy(0, (0, 0), (2, 0))]);
    die.submit_for(7, &[program(1, 2, 0)]);
    die.finish().expect("legal");
    let done = die.scheduler.take_done().expect("it waited");
    assert_eq!((done.token, done.transfer, done.die), (7, page, t.t_prog(0)));
    let mut waited = [Time::ZERO; PHASES];
    waited[Phase::Map as usize] = page + t.t_prog(0);
    waited[Phase::GcRead as usize] = t.t_r(0) + page;
    waited[host] = page;
    assert_eq!(done.waited, waited);
    assert_eq!(waited.iter().copied().sum::<Time>() + done.transfer + done.die, done.at - begins);
    // A write that comes while pages of map and host are programmed together waits for the one that was due.
    let (begins, mut of_map) = (die.now, program(0, 2, 1));
    of_map.cause = Cause::Map;
    die.submit(&[program(0, 3, 0)]);
    die.submit(&[of_map]);
    die.submit(&[program(1, 2, 1)]);
    die.now = begins + page + t.t_prog(0);
    die.scheduler.run_until(die.now, &mut die.now, &mut die.log.observer()).expect("legal");
    die.now += Time(1);
    die.submit_for(8, &[program(1, 2, 2)]);
    die.finish().expect("legal");
    let done = die.scheduler.take_done().expect("it waited");
    let mut waited = [Time::ZERO; PHASES];
    waited[Phase::Map as usize] = page * 2 + t.t_prog(0) - Time(1);
    assert_eq!(done.waited, waited);
}

#[test]
fn t666_pages_of_a_block_are_programmed_in_order() {
    let stored = [program(0, 0, 0)];
    let plans: &[&[FlashCommand]] = &[&[program(0, 0, 1)], &[program(1, 0, 0)], &[program(1, 0, 1)]];
    assert_eq!(groups(&TWO_PLANES, &stored, plans), [[0], [1], [2]]);
}

#[test]
fn t667_a_program_waits_for_the_erase_of_its_block() {
    let plans: &[&[FlashCommand]] = &[&[program(0, 0, 0)], &[erase(1, 0)], &[program(1, 0, 0)]];
    assert_eq!(groups(&TWO_PLANES, &[program(1, 0, 0)], plans), [[0], [1], [2]]);
}

#[test]
fn t668_an_erase_waits_for_copies_and_reads_of_its_block() {
    let stored = [program(0, 0, 0), program(1, 0, 0)];
    let copied: &[&[FlashCommand]] = &[&[erase(0, 0)], &[copy(1, (0, 0), (1, 0)), erase(1, 0)]];
    assert_eq!(groups(&TWO_PLANES, &stored, copied), [[0], [1], [2]]);
    let was_read: &[&[FlashCommand]] = &[&[erase(0, 0)], &[read(1, 0, 0)], &[erase(1, 0)]];
    assert_eq!(groups(&TWO_PLANES, &stored, was_read), [[0], [1], [2]]);
}

#[test]
fn t669_an_erase_waits_for_a_read_with_priority_that_came_before_it() {
    let blocking = Kind { blocking: true, ..TWO_PLANES };
    for stale in [true, false] {
        let mut die = OneDie::new(&blocking, &[program(0, 0, 0), program(1, 0, 0), program(1, 3, 0)]);
        // A collection holds the die when the read comes; then the read's block is given up, or another.
        die.submit(&[copy(0, (0, 0), (1, 0)), erase(0, 0)]);
        die.submit(&[read(1, 0, 0)]);
        die.submit(&[erase(1, if stale { 0 } else { 3 })]);
        die.finish().expect("the read finds its page");
        let starts: Vec<Time> = die.log.0.iter().map(|command| command.0).collect();
        assert_eq!(starts[1] == starts[2], !stale, "erases together: {:?}", die.log.0);
        assert_eq!(die.scheduler.multi_plane().commands, u64::from(!stale));
    }
}

#[test]
fn t674_a_copy_waits_for_the_program_of_its_source_and_a_read_for_the_copy_to_its_page() {
    let stored = [program(1, 0, 0), program(0, 1, 0)];
    let copied: &[&[FlashCommand]] = &[&[program(0, 0, 0)], &[program(1, 0, 1)], &[copy(1, (0, 1), (1, 0))]];
    assert_eq!(groups(&TWO_PLANES, &stored, copied), [[0], [1], [2]]);
    let mut moved = read(1, 0, 0);
    moved.target = at(1, 1, 0);
    let was_read: &[&[FlashCommand]] = &[&[read(0, 1, 0)], &[copy(1, (0, 0), (1, 0))], &[moved]];
    assert_eq!(groups(&TWO_PLANES, &stored, was_read), [[0], [1], [2]]);
}

#[test]
fn t675_what_a_plan_finds_out_comes_before_what_it_does_with_it() {
    let stored = [program(1, 0, 0), program(1, 4, 0)];
    let scan = FlashCommand::spare_search(Cause::Gc, at(1, 4, 0), 1, Lpn(0), SearchExpectation::Scan);
    let searched: &[&[FlashCommand]] = &[&[program(0, 0, 0)], &[scan, copy(1, (0, 0), (1, 0))]];
    assert_eq!(groups(&TWO_PLANES, &stored, searched), [[0], [1], [2]]);
    let changed: &[&[FlashCommand]] = &[&[program(0, 0, 0)], &[read(1, 0, 0), program(1, 1, 0)]];
    assert_eq!(groups(&TWO_PLANES, &stored, changed), [[0], [1], [2]]);
    // In two plans neither needs the other.
    let apart: &[&[FlashCommand]] = &[&[program(0, 0, 0)], &[read(1, 0, 0)], &[program(1, 1, 0)]];
    assert_eq!(groups(&TWO_PLANES, &stored, apart), [vec![0, 2], vec![1]]);
}

#[test]
fn t676_a_plan_holds_the_die_until_the_last_of_it_that_is_left() {
    let blocking = Kind { blocking: true, ..TWO_PLANES };
    let mut die = OneDie::new(&blocking, &[program(0, 0, 0), program(1, 0, 0), program(1, 3, 0)]);
    // The second copy runs with the first and leaves a gap in its plan; a read may not come in before the erases.
    die.submit(&[copy(0, (0, 0), (1, 0)), copy(1, (0, 0), (1, 0)), erase(0, 0), erase(1, 0)]);
    die.submit(&[read(1, 3, 0)]);
    die.finish().expect("legal");
    let groups = die.log.0.chunk_by(|one, other| one.0 == other.0).map(<[_]>::len).collect::<Vec<_>>();
    // The first copy started on the idle die when the others were queued already.
    assert_eq!(groups, [2, 2, 1], "{:?}", die.log.0);
}

/// Priority reads from anywhere in their lane.
#[test]
fn t677_reads_with_priority_run_together_too() {
    let blocking = Kind { blocking: true, ..TWO_PLANES };
    let stored = [program(0, 0, 0), program(0, 0, 1), program(1, 0, 0), program(1, 0, 1)];
    let reads: &[&[FlashCommand]] = &[&[read(0, 0, 0)], &[read(0, 0, 1)], &[read(1, 0, 1)], &[read(1, 0, 0)]];
    assert_eq!(groups(&blocking, &stored, reads), [[0, 3], [1, 2]]);
}

/// A page-level device of two planes a die that collects under a closed loop.
const COLLECTS: [(&str, &str); 14] = [
    ("geometry.program_order", "in-order"),
    ("timing.copyback", "false"),
    ("partial_erase.unit", "none"),
    ("ftl.kind", "page"),
    ("ftl.allocation", "static"),
    ("ftl.over_provisioning", "0.2"),
    ("initial.fill", "1.0"),
    ("initial.age_writes", "1.5"),
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "16"),
    ("workload.read_fraction", "0.2"),
    ("workload.request_bytes", "4096"),
    ("workload.footprint", "1.0"),
    ("workload.requests", "60000"),
];

#[test]
fn t678_pairs_save_time_and_change_no_count_of_pages() {
    for copyback in ["false", "true"] {
        let run = |multi_plane| {
            let own = [("timing.multi_plane", multi_plane), ("timing.copyback", copyback)];
            document(&[&COLLECTS[..], &own].concat())
        };
        let (off, queue) = (run("off"), run("queue"));
        assert!(number(&queue, "flash.multi_plane_copies") > 5_000.0, "{}", queue["flash"]);
        let mixed = number(&queue, "flash.multi_plane_copies_with_programs");
        assert_eq!(mixed > 4_000.0, copyback == "false", "{}", queue["flash"]);
        assert_eq!(mixed > 0.0, copyback == "false", "{}", queue["flash"]);
        assert!(number(&queue, "host.iops") > 1.04 * number(&off, "host.iops"));
        for path in ["/flash/programs", "/flash/erases", "/gc", "/write_amplification"] {
            assert_eq!(off.pointer(path), queue.pointer(path), "{path}");
        }
    }
}

#[test]
fn t679_planes_of_a_die_that_collect_together_copy_together() {
    let run = |planes| {
        let own = [("timing.multi_plane", "queue"), ("ftl.gc_planes", planes)];
        let document = document(&[&COLLECTS[..], &own].concat());
        let pairs = number(&document, "flash.multi_plane_copies");
        (2.0 * pairs / number(&document, "flash.programs.gc"), number(&document, "host.iops"))
    };
    let (own, die) = (run("own"), run("die"));
    println!("share of copies that go in pairs, requests a second: {own:?}, by die {die:?}");
    assert!(die.0 > 0.7 && own.0 < 0.3, "{own:?} {die:?}");
    assert!(die.1 > 1.1 * own.1, "{own:?} {die:?}");
}

/// Start and end of the last copy.
fn last_copy(die: &OneDie) -> (Time, Time) {
    let found = die.log.0.iter().rfind(|(_, _, command)| command.op == FlashOp::Copy);
    found.map(|(start, end, _)| (*start, *end)).expect("it ran")
}

#[test]
fn t697_a_host_read_rides_on_a_copy_and_is_done_before_it() {
    let stored = [(0, 0, 0), (0, 0, 1), (0, 4, 0), (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)];
    let stored = stored.map(|(plane, block, page)| program(plane, block, page));
    // A plan copies pages 0 and 1; the first copy has begun when two reads come.
    let run = |kind: &Kind, reads: [FlashCommand; 2]| {
        let mut die = OneDie::new(kind, &stored);
        let begins = die.now;
        die.submit(&[copy(0, (0, 0), (2, 0)), copy(0, (0, 1), (2, 1)), erase(0, 0)]);
        reads.iter().zip(7..).for_each(|(read, token)| die.submit_for(token, &[*read]));
        die.finish().expect("legal");
        let done: Vec<_> = std::iter::from_fn(|| die.scheduler.take_done()).collect();
        for page in &done {
            let waited = page.waited.iter().copied().sum::<Time>();
            assert_eq!(waited + page.transfer + page.die, page.at - begins, "its parts are its time");
        }
        (die, done)
    };
    let blocking = Kind { blocking: true, ..TWO_PLANES };
    for kind in [&TWO_PLANES, &blocking] {
        let (die, done) = run(kind, [read(1, 0, 0), read(1, 1, 1)]);
        let t = die.timing.clone();
        let page = t.page_transfer + t.command_overhead;
        let (start, end) = last_copy(&die);
        assert_eq!(
            end - start,
            t.t_r(0) + page + t.copy_transfer() + t.t_prog(0),
            "its data goes out behind the read's"
        );
        assert_eq!((done[0].token, done[0].at), (8, start + t.t_r(0) + page), "the read of the same page number");
        assert_eq!((done[0].transfer, done[0].die), (page, t.t_r(0)));
        assert!(done[1].token == 7 && done[1].at > end, "the other waits");
        assert_eq!(die.scheduler.multi_plane().commands, 1);
    }
    // Neither a page of the copy's own plane or of another number, nor on a copy that stays on the die.
    let alone = |kind: &Kind, reads: [FlashCommand; 2]| {
        let (die, done) = run(kind, reads);
        assert!(done.iter().all(|page| page.at > last_copy(&die).1), "{:?}", die.log.0);
    };
    alone(&TWO_PLANES, [read(0, 4, 0), read(1, 0, 0)]);
    alone(&Kind { copyback: "true", ..TWO_PLANES }, [read(1, 0, 1), read(1, 0, 0)]);
}

#[test]
fn t699_an_erase_waits_for_a_read_of_its_block_that_rides() {
    let stored = [program(0, 0, 0), program(0, 0, 1), program(1, 0, 0), program(1, 0, 1)];
    for blocking in [false, true] {
        let mut die = OneDie::new(&Kind { blocking, ..TWO_PLANES }, &stored);
        die.submit(&[copy(0, (0, 0), (2, 0)), copy(0, (0, 1), (2, 1))]);
        die.submit_for(7, &[read(1, 0, 1)]);
        die.submit(&[erase(1, 0)]);
        die.submit(&[program(1, 0, 0)]);
        die.finish().expect("the read finds its page, and the program an erased one");
        let order: Vec<FlashOp> = die.log.0.iter().map(|(_, _, command)| command.op).collect();
        let expected = [FlashOp::Copy, FlashOp::Read, FlashOp::Copy, FlashOp::Erase, FlashOp::Program];
        assert_eq!(order, expected, "blocking: {blocking}");
    }
}

/// Reads waited until a collection that held their die was over, even where their plane could have sensed them together
/// with a page that was copied: a device of 70 % reads had a tenth fewer requests a second than one that pairs them.
#[test]
fn t948_reads_of_a_die_that_collects_ride_on_its_copies() {
    let reads = [("workload.read_fraction", "0.7"), ("ftl.gc_mode", "blocking")];
    for priority in ["false", "true"] {
        let run = |multi_plane| {
            let own = [("timing.multi_plane", multi_plane), ("host.read_priority", priority)];
            let mut log = Log::default();
            let outcome = run_seen_by(&spec(&[&COLLECTS[..], &reads, &own].concat()), &mut log);
            (outcome.expect("it runs").document, log)
        };
        let ((off, _), (queue, log)) = (run("off"), run("queue"));
        // The die and the start of each copy, and the reads that began with one.
        let begins = |(start, _, command): &(Time, Time, FlashCommand)| (*start, command.target.block.0 / (2 * BLOCKS));
        let of = |op| log.0.iter().filter(move |(_, _, command)| command.op == op);
        let copies: HashSet<_> = of(FlashOp::Copy).map(begins).collect();
        let rode = of(FlashOp::Read).filter(|read| copies.contains(&begins(read))).count();
        println!("{rode} of {} reads rode", of(FlashOp::Read).count());
        assert!(rode > 1_000, "{priority}: {rode}");
        assert!(number(&queue, "host.iops") > 1.04 * number(&off, "host.iops"), "{priority}");
        for path in ["/flash/programs", "/flash/erases", "/gc", "/write_amplification"] {
            assert_eq!(off.pointer(path), queue.pointer(path), "{path}");
        }
    }
}
