//! 68x: read retries, in times worked out by hand and counted against the map of bit errors. Times as in
//! `scheduling.rs`; blocks of 8 layers, 4 sub-blocks and 2 bits, so 64 pages in the order of the
//! write sequence.

use pumice_config::Config;
use pumice_engine::chip::erase::{EraseConfig, Lifetime};
use pumice_engine::observe::Observer;
use pumice_types::{EraseScheme, FlashCommand, FlashOp, Time};
use serde_json::Value;

use crate::support::{TraceFile, document, number, run_seen_by, source, spec};

const TRANSFER: f64 = 10.56;
const READ: f64 = 70.0 + TRANSFER;
const PAGE: u64 = 4096;
const LAYERS: u32 = 8;
const SUB_BLOCKS: u32 = 4;

type Sets<'a> = Vec<(&'a str, &'a str)>;

/// A page-level FTL, full, on blocks with a shape.
fn device<'a>(sequence: &'a str, ecc: &'a str, more: &[(&'a str, &'a str)]) -> Sets<'a> {
    let base = [
        ("ftl.kind", "page"),
        ("ftl.over_provisioning", "0.3"),
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.layers", "8"),
        ("geometry.sub_blocks", "4"),
        ("geometry.bits_per_cell", "2"),
        ("geometry.write_sequence", sequence),
        ("partial_erase.unit", "none"),
        ("initial.fill", "1.0"),
        ("host.partial_page", "rmw"),
        ("erase.read_retry", "true"),
        ("erase.ecc_bits_per_kib", ecc),
    ];
    [&base[..], more].concat()
}

/// Bit errors per KiB of a page of an unworn block, written down a second time.
fn errors(sequence: &str, page: u32) -> f64 {
    if page.is_multiple_of(2) {
        return 8192.0 * 6e-5;
    }
    let cell = page / 2;
    let (layer, sub_block) =
        if sequence == "sfws" { (cell % LAYERS, cell / LAYERS) } else { (cell / SUB_BLOCKS, cell % SUB_BLOCKS) };
    let x = (2.0 * f64::from(layer) / f64::from(LAYERS - 1) - 1.0).abs();
    let s = f64::from(sub_block) / f64::from(SUB_BLOCKS - 1);
    let layer_first = 8192.0 * 2e-4 * (1.0 + 0.6 * x * x);
    let disturbed = (1.0 - 0.08 * s) * (1.0 + 1.75 * (1.0 - x) * (1.0 - s) * (1.0 - s));
    if sequence == "sfws" { layer_first * disturbed } else { layer_first }
}

/// Retries until 0.8 of the errors, again and again, is at most what the code corrects.
fn retries(errors: f64, ecc: f64) -> u64 {
    if errors <= ecc { 0 } else { (libm::log(errors / ecc) / libm::log(1.25)).ceil() as u64 }
}

#[test]
fn t680_a_retry_is_another_array_read_and_another_transfer() {
    // Sub-block first page 7 is the upper page of layer 3 in S0: 4.15 bits per KiB, 3.32, 2.65, 2.12.
    // Page 1 is that of layer 0: 2.62, 2.10. Page 6 is a lower page.
    for (page, steps) in [(7, 3.0), (1, 1.0), (6, 0.0)] {
        let trace = TraceFile::new("retry", &[(0, 'R', page * PAGE, 4096)]);
        let found = trace.run(&device("sfws", "2.2", &[]));
        assert_eq!(number(&found, "host.read.latency_us.max"), (steps + 1.0) * READ, "page {page}");
        assert_eq!(number(&found, "flash.read_retries"), steps);
        assert_eq!(number(&found, "flash.reads.host"), 1.0);
    }
    // Layer first the same place (page 25) has 1.66 bits per KiB.
    let found = TraceFile::new("no-retry", &[(0, 'R', 25 * PAGE, 4096)]).run(&device("lfws", "2.2", &[]));
    assert_eq!(number(&found, "host.read.latency_us.max"), READ);
}

#[test]
fn t681_retries_of_two_dies_take_turns_on_their_channel() {
    let sets = device("sfws", "2.2", &[("geometry.dies_per_chip", "2")]);
    let found = TraceFile::new("retry-turns", &[(0, 'R', 14 * PAGE, 8192)]).run(&sets);
    assert_eq!(number(&found, "flash.read_retries"), 6.0, "page 7 of either die");
    // The second die's transfer follows the first die's, in each of the four rounds.
    assert!((number(&found, "host.read.latency_us.max") - (4.0 * READ + TRANSFER)).abs() < 1e-9);
}

#[test]
fn t682_the_old_copy_of_a_partial_write_is_read_again_too() {
    let sets = device("sfws", "2.2", &[]);
    let found = TraceFile::new("retry-rmw", &[(0, 'W', 7 * PAGE, 512)]).run(&sets);
    assert!((number(&found, "write_latency_breakdown_us.rmw_read") - 4.0 * READ).abs() < 1e-9);
    assert!((number(&found, "host.write.latency_us.max") - (4.0 * READ + TRANSFER + 900.0)).abs() < 1e-9);
}

#[test]
fn t712_zones_of_sub_blocks_have_the_errors_of_their_own_order() {
    // The first zone is S0, written layer by layer: its eighth page is the upper one of layer 3.
    let zones = [
        ("ftl.kind", "zns"),
        ("ftl.zns.unit", "sub-block"),
        ("partial_erase.unit", "sub-block"),
        ("ftl.over_provisioning", "0.5"),
        ("initial.fill", "0.0"),
    ];
    let written: Vec<_> = (0..16).map(|n: u64| (n * 10_000_000, 'W', n * PAGE, 4096)).collect();
    let requests = [&written[..], &[(1_000_000_000, 'R', 7 * PAGE, 4096)]].concat();
    for sequence in ["lfws", "sfws"] {
        let found = TraceFile::new(&format!("retry-zone-{sequence}"), &requests).run(&device(sequence, "2.2", &zones));
        assert_eq!(number(&found, "host.read.latency_us.max"), 4.0 * READ, "{sequence}");
    }
}

/// Collects blocks in the order in which they were filled; the copies pass the controller or not.
fn collection(copyback: &str) -> Value {
    let more = [
        ("timing.copyback", copyback),
        ("geometry.blocks_per_plane", "16"),
        ("ftl.over_provisioning", "0.75"),
        ("ftl.gc_free_threshold", "0.5"),
        ("ftl.gc_policy", "fifo"),
        ("ftl.hot_cold", "mixed"),
        ("initial.fill", "0.0"),
    ];
    // Pages 0 to 15 are written once, page 20 until half of the blocks are used and more.
    let requests: Vec<_> = (0..700).map(|n: u64| (n * 100_000, 'W', n.min(20) * PAGE, 4096)).collect();
    TraceFile::new(&format!("retry-copy-{copyback}"), &requests).run(&device("sfws", "2.2", &more))
}

#[test]
fn t683_copies_through_the_controller_are_read_again_and_copybacks_are_not() {
    let through = collection("false");
    let copied = number(&through, "gc.copied_pages");
    assert!(copied > 0.0, "something is copied");
    let retries = number(&through, "flash.read_retries");
    assert!(retries > 0.0, "an upper page is among the copies");
    let on_die = collection("true");
    assert_eq!(number(&on_die, "gc.copied_pages"), copied);
    assert_eq!(number(&on_die, "flash.read_retries"), 0.0);
    // All of the difference is reads of collection, for the copies and for their retries.
    let difference = |part: &str| {
        let path = format!("write_latency_breakdown_us.{part}");
        (number(&through, &path) - number(&on_die, &path)) * number(&through, "host.write.requests")
    };
    assert!((difference("gc_read") - copied * TRANSFER - retries * READ).abs() < 1e-6);
    assert!((difference("gc_write") - copied * TRANSFER).abs() < 1e-6);
}

/// Pages read, and the erases of their leaves by then: sub-blocks written sub-block first.
#[derive(Default)]
struct Reads {
    pages: Vec<(u32, u32)>,
    erases: std::collections::BTreeMap<(u32, u32), u32>,
}

impl Observer for Reads {
    fn command(&mut self, _start: Time, _end: Time, command: &FlashCommand) {
        let (block, page) = (command.target.block.0, u32::from(command.target.page));
        let mut erase = |leaf| *self.erases.entry((block, leaf)).or_default() += 1;
        match command.op {
            FlashOp::Read => {
                let erases = self.erases.get(&(block, page / 16)).copied().unwrap_or(0);
                self.pages.push((page, erases));
            }
            FlashOp::Erase => (0..SUB_BLOCKS).for_each(erase),
            FlashOp::SubBlockErase => command.sub_blocks().iter().for_each(|leaf| erase(leaf as u32)),
            _ => {}
        }
    }
}

fn observed(sets: &[(&str, &str)]) -> (Value, Reads) {
    let mut reads = Reads::default();
    let found = run_seen_by(&spec(sets), &mut reads).expect("the run ends well");
    (found.document, reads)
}

const MIXED: &[(&str, &str)] = &[
    ("workload.kind", "uniform"),
    ("workload.request_bytes", "4096"),
    ("workload.read_fraction", "0.5"),
    ("workload.footprint", "1.0"),
    ("workload.requests", "20000"),
    ("geometry.blocks_per_plane", "32"),
];

#[test]
fn t684_the_retries_of_a_run_are_those_of_the_map_read_by_read() {
    let of = |sequence| {
        let (found, reads) = observed(&device(sequence, "1.5", MIXED));
        let counted: u64 = reads.pages.iter().map(|&(page, _)| retries(errors(sequence, page), 1.5)).sum();
        assert_eq!(found["flash"]["read_retries"].as_u64(), Some(counted), "{sequence}");
        counted as f64 / reads.pages.len() as f64
    };
    // Reads fall on all pages of a block alike, so the mean over pages is the mean over reads.
    let of_map = |sequence| (0..64).map(|page| retries(errors(sequence, page), 1.5)).sum::<u64>() as f64 / 64.0;
    for sequence in ["lfws", "sfws"] {
        let (run, map) = (of(sequence), of_map(sequence));
        println!("{sequence}: {run:.4} retries a read, {map:.4} by the map");
        assert!((run / map - 1.0).abs() < 0.03, "{sequence}: {run} retries a read, {map} by the map");
    }
    assert!(of_map("sfws") > 1.2 * of_map("lfws"));
}

#[test]
fn t685_at_an_age_sub_block_first_needs_retries_in_the_middle_of_its_first_sub_blocks_and_layer_first_none() {
    let worn = |sequence, pec| device(sequence, "72.0", &[("erase.scheme", "ispe"), ("erase.initial_pec", pec)]);
    let each_page_once: Vec<_> = (0..64).map(|page| (page * 1_000, 'R', page * PAGE, 4096)).collect();
    let trace = TraceFile::new("aged", &each_page_once);
    for (pec, some) in [("0", false), ("2500", false), ("4000", true), ("5000", true)] {
        let sfws = trace.run(&worn("sfws", pec));
        let level = number(&sfws, "wear.m_rber") / (8192.0 * 3.2e-4);
        let by_page: Vec<u64> = (0..64).map(|page| retries(level * errors("sfws", page), 72.0)).collect();
        assert_eq!(number(&sfws, "flash.read_retries"), by_page.iter().sum::<u64>() as f64, "{pec}");
        assert_eq!(by_page.iter().any(|&steps| steps > 0), some, "{pec}");
        // Of S0 the middle layers before the outer ones; S2 and S3 (pages 32 to 63) never.
        assert!(by_page[7] >= by_page[1] && by_page[32..].iter().all(|&steps| steps == 0), "{by_page:?}");
        let lfws = trace.run(&worn("lfws", pec));
        assert_eq!(number(&lfws, "flash.read_retries"), 0.0, "{pec}");
        assert_eq!(number(&lfws, "host.read.latency_us.max"), READ);
    }
}

#[test]
fn t686_without_a_shape_every_page_is_as_bad_as_the_worst_of_its_block() {
    let sets = [
        ("ftl.kind", "page"),
        ("ftl.over_provisioning", "0.3"),
        ("erase.scheme", "ispe"),
        ("erase.initial_pec", "4000"),
        ("erase.rber_requirement", "40"),
        ("erase.ecc_bits_per_kib", "40.0"),
        ("erase.read_retry", "true"),
    ];
    let (found, reads) = observed(&[&sets[..], MIXED].concat());
    let life = pumice_engine::chip::erase::Lifetime::of(&pumice_engine::chip::erase::EraseConfig::aero_chips(
        pumice_types::EraseScheme::Ispe,
    ));
    let counted: u64 =
        reads.pages.iter().map(|&(_, erases)| retries(life.at(f64::from(4000 + erases)).m_rber, 40.0)).sum();
    assert!(reads.erases.values().any(|&erases| erases > 1), "blocks wear on");
    assert_eq!(found["flash"]["read_retries"].as_u64(), Some(counted));
    assert_eq!(counted, 2 * reads.pages.len() as u64, "58 bits per KiB need two retries for 40");
}

#[test]
fn t687_a_page_has_the_errors_of_its_own_sub_blocks_wear() {
    let life = Lifetime::of(&EraseConfig::aero_chips(EraseScheme::Ispe));
    let needed = |pec: u32, page| {
        let level = life.at(f64::from(pec)).m_rber / (8192.0 * 3.2e-4);
        retries(level * errors("sfws", page), 72.0)
    };
    // A few cycles before the worst place needs its first retry.
    let start = (0..5_000).find(|&pec| needed(pec, 7) > 0).expect("some age") - 8;
    let initial = start.to_string();
    let sub_blocks = [
        ("partial_erase.unit", "sub-block"),
        ("ftl.erase_unit", "sub-block"),
        ("geometry.program_order", "in-order"),
        ("erase.scheme", "ispe"),
        ("erase.initial_pec", &initial),
        ("workload.kind", "hot-cold"),
    ];
    let (found, reads) = observed(&[&device("sfws", "72.0", MIXED)[..], &sub_blocks].concat());
    let counted: u64 = reads.pages.iter().map(|&(page, erases)| needed(start + erases, page)).sum();
    assert_eq!(found["flash"]["read_retries"].as_u64(), Some(counted));
    let most = reads.erases.values().max().copied().unwrap_or(0);
    let all_worn: u64 = reads.pages.iter().map(|&(page, _)| needed(start + most, page)).sum();
    assert!(0 < counted && counted < all_worn, "{counted} retries, {all_worn} if all were worn alike");
}

#[test]
fn t689_no_legal_code_needs_more_retries_than_there_are() {
    // The weakest code and the end of all wear: 15 retries where erases do not wear, 7 where they do.
    let fixed = [("erase.initial_pec", "65535")];
    let worn = [("erase.scheme", "ispe"), ("erase.initial_pec", "65535"), ("erase.rber_requirement", "40")];
    for (ecc, more, most) in [("1.0", &fixed[..], 15.0), ("40.0", &worn[..], 7.0)] {
        let found = TraceFile::new("last", &[(0, 'R', 7 * PAGE, 4096)]).run(&device("sfws", ecc, more));
        assert!(number(&found, "flash.read_retries") <= most && number(&found, "flash.read_retries") > 4.0);
    }
    let text = Config::resolve(&source(&device("sfws", "39.0", &worn))).expect_err("refused").to_string();
    assert!(text.contains("erase.ecc_bits_per_kib = 39"), "{text}");
}

#[test]
fn t688_retries_are_off_unless_asked_for_and_refused_where_nothing_says_what_errors_there_are() {
    assert_eq!(document(&[])["flash"]["read_retries"], Value::Null);
    let text = Config::resolve(&source(&[("erase.read_retry", "true")])).expect_err("refused").to_string();
    assert!(text.contains("erase.scheme") && text.contains("geometry.layers"), "{text}");
}
