//! 71x, 72x: pages of one cell differ in time. Times worked out by hand, and recounted from the commands of runs.

use pumice_engine::observe::Observer;
use pumice_ftl::erase::flash_timing;
use pumice_types::{ChipKeys, FlashCommand, FlashOp, Time};
use serde_json::Value;

use crate::support::{TraceFile, accepts, document, number, run_seen_by, spec};

/// A page-level FTL on one plane of three-bit cells.
const TLC: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.over_provisioning", "0.3"),
    ("geometry.channels", "1"),
    ("geometry.planes_per_die", "1"),
    ("geometry.program_order", "in-order"),
    ("geometry.bits_per_cell", "3"),
    ("partial_erase.unit", "none"),
    ("initial.fill", "1.0"),
    ("timing.t_r_us", "[60, 75, 110]"),
    ("timing.t_prog_us", "[400, 750, 1600]"),
    ("run.check", "integrity"),
];

/// tR by type.
const T_R: [f64; 3] = [60.0, 75.0, 110.0];

/// tPROG by type.
const T_PROG: [f64; 3] = [400.0, 750.0, 1_600.0];

/// A page of 4096 + 128 bytes at 400 MB/s.
const TRANSFER: f64 = 10.56;

/// Both orders, and the types of the first pages of a block under each.
const ORDERS: [(&str, &[usize]); 2] = [
    ("one-shot", &[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1]),
    ("interleaved", &[0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2]),
];

#[test]
fn t716_a_page_takes_the_times_of_its_type() {
    for (order, types) in ORDERS {
        let sets = [TLC, &[("geometry.page_types", order)]].concat();
        let (mut writes, mut expected) = (Vec::new(), 0.0);
        for (page, &of_page) in types.iter().enumerate() {
            let read =
                TraceFile::new(&format!("types-{order}-{page}"), &[(0, 'R', page as u64 * 4096, 4096)]).run(&sets);
            assert_eq!(number(&read, "host.read.latency_us.max"), T_R[of_page] + TRANSFER, "{order}, page {page}");
            // Writes to one plane fill a block page by page.
            writes.push((page as u64 * 50_000, 'W', 4096 * 40, 4096));
            expected += T_PROG[of_page] + TRANSFER;
        }
        let written = TraceFile::new(&format!("types-{order}"), &writes).run(&sets);
        let sum = number(&written, "host.write.latency_us.mean") * writes.len() as f64;
        assert!((sum - expected).abs() < 1e-6, "{order}: {sum} is not {expected}");
    }
}

/// Commands that ran together, or alone, with their start and end.
#[derive(Default)]
struct Groups(Vec<(Time, Time, Vec<FlashCommand>)>);

impl Observer for Groups {
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        match self.0.last_mut() {
            Some((begun, ended, group)) if (*begun, *ended) == (start, end) && group[0].op != FlashOp::Erase => {
                group.push(*command);
            }
            _ => self.0.push((start, end, vec![*command])),
        }
    }
}

/// Random writes and reads, with collection.
const BUSY: &[(&str, &str)] = &[
    ("workload.requests", "6000"),
    ("workload.footprint", "1.0"),
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "16"),
    ("ftl.merge", "block-erase"),
    ("run.warmup_requests", "0"),
];

/// What a group takes: reads of one page number are one, transfers come one after the other, programs are one.
fn expected_us(group: &[FlashCommand], copyback: bool, type_of: impl Fn(u16) -> usize) -> f64 {
    let t_r = |page: u16| T_R[type_of(page)];
    let copies: Vec<u16> = group.iter().filter(|c| c.op == FlashOp::Copy).map(|c| c.source.page).collect();
    let programs = group.iter().filter(|c| c.op == FlashOp::Program).count() as f64;
    let reads = group.iter().filter(|c| c.op == FlashOp::Read).count() as f64;
    let sensed = match copies.first() {
        Some(first) if copies.iter().all(|page| page == first) => t_r(*first),
        Some(_) => copies.iter().map(|&page| t_r(page)).sum(),
        None if reads > 0.0 => t_r(group[0].target.page),
        None => 0.0,
    };
    let through = if copyback { 0.0 } else { 2.0 * copies.len() as f64 };
    let programmed = if reads > 0.0 { 0.0 } else { T_PROG[type_of(group[0].target.page)] };
    sensed + (through + programs + reads) * TRANSFER + programmed
}

/// How the device of a run copies and joins.
type Copying = (&'static str, &'static str);

/// Recounts the commands of a run. Returns how many groups ran together.
fn recount((order, types): (&'static str, &[usize]), (copyback, multi_plane): Copying) -> usize {
    let planes = if multi_plane == "queue" { "2" } else { "1" };
    let more = [
        ("geometry.page_types", order),
        ("timing.copyback", copyback),
        ("timing.multi_plane", multi_plane),
        ("geometry.planes_per_die", planes),
        ("workload.read_fraction", if copyback == "true" { "0.3" } else { "0.0" }),
    ];
    let (mut seen, sets) = (Groups::default(), [TLC, BUSY, &more].concat());
    let outcome = run_seen_by(&spec(&sets), &mut seen).expect("the run ends well");
    let type_of = |page: u16| match order {
        "one-shot" => usize::from(page % 3),
        // A block of 64 pages is 22 word lines; where it ends nothing is checked.
        _ if page < 14 => types[usize::from(page)],
        _ => usize::from((page - 8) / 2 % 3),
    };
    let is_sure = |c: &FlashCommand| order == "one-shot" || c.source.page.max(c.target.page) < 52;
    let of_pages = |c: &FlashCommand| matches!(c.op, FlashOp::Read | FlashOp::Program | FlashOp::Copy);
    let (sure, unsure): (Vec<_>, Vec<_>) = seen.0.iter().partition(|(.., group)| group.iter().all(is_sure));
    for (start, end, group) in sure.iter().filter(|(.., group)| of_pages(&group[0])) {
        let (took, expected) = ((*end - *start).as_us(), expected_us(group, copyback == "true", type_of));
        assert!((took - expected).abs() < 1e-6, "{sets:?}: {group:?} took {took}, expected {expected}");
    }
    let copies = || seen.0.iter().flat_map(|(.., group)| group).filter(|c| c.op == FlashOp::Copy);
    assert!(copies().count() > 500, "{}", copies().count());
    if unsure.is_empty() {
        let transfers = if copyback == "true" { 0.0 } else { 2.0 * TRANSFER };
        let one = |c: &FlashCommand| T_R[type_of(c.source.page)] + T_PROG[type_of(c.target.page)] + transfers;
        let told = number(&outcome.document, "gc.time_us.copy");
        assert!((told / copies().map(one).sum::<f64>() - 1.0).abs() < 1e-9, "{told}");
    }
    sure.iter().filter(|(.., group)| group.len() > 1).count()
}

#[test]
fn t717_every_command_takes_the_times_of_its_pages_alone_and_in_groups() {
    for of_order in ORDERS {
        let ways: [Copying; 4] = [("true", "off"), ("false", "off"), ("true", "queue"), ("false", "queue")];
        let grouped = ways.map(|way| recount(of_order, way));
        assert!(grouped[2] > 50 && grouped[3] > 50, "{grouped:?}");
    }
}

/// A document without what was asked for.
fn outcome(sets: &[(&str, &str)]) -> Value {
    let mut document = document(sets);
    let fields = document.as_object_mut().expect("an object");
    fields.retain(|name, _| !["config", "config_sha256", "workload", "run"].contains(&name.as_str()));
    document
}

#[test]
fn t718_a_list_of_equal_times_is_one_time() {
    let lists = [("timing.t_r_us", "[70, 70, 70]"), ("timing.t_prog_us", "[900, 900, 900]")];
    let one = [("timing.t_r_us", "70"), ("timing.t_prog_us", "900")];
    let single = [("geometry.bits_per_cell", "1"), ("timing.t_r_us", "[70]"), ("timing.t_prog_us", "[900]")];
    let with = |sets: &[(&'static str, &'static str)]| outcome(&[TLC, BUSY, sets].concat());
    assert_eq!(with(&lists), with(&one));
    assert_eq!(with(&single), with(&one));
    assert_ne!(with(&[]), with(&one), "the test can fail");
}

#[test]
fn t719_an_erase_scheme_slows_the_programs_of_every_type() {
    let worn = [("erase.scheme", "dpes"), ("erase.initial_pec", "2500")];
    let config = spec(&[TLC, &worn].concat());
    let timing = flash_timing(&config.chip).expect("legal");
    let programs = [0, 1, 2].map(|page| timing.t_prog(page).as_us());
    assert_eq!(programs, T_PROG.map(|us| (us * 1.3 * 1e3).round() / 1e3));
    assert_eq!([0, 1, 2].map(|page| timing.t_r(page).as_us()), T_R);
}

#[test]
fn t307_units_of_a_page_are_read_in_the_time_of_its_type() {
    for (order, _) in ORDERS {
        let mut chip = spec(&[TLC, &[("geometry.page_types", order)]].concat()).chip;
        let reads = |chip: &ChipKeys| {
            let timing = flash_timing(chip).expect("legal");
            (0..chip.geometry.pages_per_block).map(|page| timing.t_r(page)).collect::<Vec<Time>>()
        };
        let of_pages = reads(&chip);
        chip.map_units(4);
        let of_units: Vec<Time> = of_pages.iter().flat_map(|&time| [time; 4]).collect();
        assert_eq!(reads(&chip), of_units, "{order}");
    }
}

#[test]
fn t726_a_list_has_one_time_for_each_page_type() {
    let refused = |sets: &[(&'static str, &'static str)]| accepts(&[TLC, sets].concat()).expect_err("refused");
    let two = refused(&[("timing.t_prog_us", "[400, 750]")]);
    assert!(two.contains("timing.t_prog_us has 2 entries, and geometry.bits_per_cell = 3"), "{two}");
    assert!(refused(&[("timing.t_r_us", "[]")]).contains("timing.t_r_us"));
    assert!(refused(&[("timing.t_r_us", "[60, -1, 4]")]).contains("a number from 0 to 1000000000, or a list"));
    let order = ("geometry.page_types", "interleaved");
    assert!(refused(&[order, ("partial_erase.unit", "partial-block")]).contains("needs partial_erase.unit = \"none\""));
    let shape = [("geometry.layers", "8"), ("geometry.sub_blocks", "2"), ("geometry.pages_per_block", "48")];
    assert!(refused(&[&[order][..], &shape].concat()).contains("without geometry.layers"));
    assert_eq!(accepts(&[TLC, &shape].concat()), Ok(()));
}
