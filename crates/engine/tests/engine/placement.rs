//! Data placement: handles, and stripes of blocks over planes.

use pumice_config::Config;
use pumice_engine::observe::Observer;
use pumice_engine::run;
use pumice_types::{FlashCommand, Time};
use serde_json::{Value, json};

use crate::contract::check_counts;
use crate::power_handles::KeptApart;
use crate::support::{document, number, run_seen_by, source, spec};

type Set = (&'static str, &'static str);

/// A device without bad blocks in steady collection, read back at the end.
const DEVICE: &[Set] = &[
    ("ftl.kind", "page"),
    ("ftl.over_provisioning", "0.3"),
    ("geometry.bad_blocks_per_plane", "0"),
    ("timing.copyback", "false"),
    ("partial_erase.unit", "none"),
    ("workload.kind", "streams"),
    ("workload.requests", "12000"),
    ("workload.read_fraction", "0.2"),
    ("workload.request_bytes", "16384"),
    ("workload.footprint", "1.0"),
    ("host.mode", "closed-loop"),
    ("run.check", "integrity"),
];

/// One plane.
const ONE_PLANE: [Set; 4] = [
    ("geometry.channels", "1"),
    ("geometry.chips_per_channel", "1"),
    ("geometry.dies_per_chip", "1"),
    ("geometry.planes_per_die", "1"),
];

fn ran(more: &[Set]) -> Value {
    document(&[DEVICE, more].concat())
}

fn refusal(more: &[Set]) -> String {
    let text = Config::resolve(&source(&[DEVICE, more].concat())).expect_err("refused").to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[test]
fn t452_stripes_over_planes_are_collected_like_the_blocks_of_one_plane() {
    let untimed = ("run.timed", "false");
    let pages = |pages: &'static str| ("geometry.pages_per_block", pages);
    let striped: &[Set] = &[
        ("geometry.channels", "2"),
        ("geometry.chips_per_channel", "1"),
        ("geometry.dies_per_chip", "2"),
        ("geometry.planes_per_die", "2"),
    ];
    let one = [&ONE_PLANE[..], &[("geometry.blocks_per_plane", "32"), untimed]].concat();
    let eight = [striped, &[("geometry.blocks_per_plane", "32"), untimed]].concat();
    let counts = |document: &Value, planes: f64| {
        let n = |path: &str| number(document, path);
        (
            n("flash.programs.host"),
            n("flash.programs.gc"),
            n("flash.erases.block") / planes,
            document["gc"]["victim_fill"].clone(),
        )
    };
    let whole = ran(&[&one[..], &[pages("128")]].concat());
    assert!(number(&whole, "flash.programs.gc") > 1_000.0);
    let device = ran(&[&eight[..], &[pages("16"), ("ftl.erase_group", "device")]].concat());
    assert_eq!(counts(&device, 8.0), counts(&whole, 1.0), "a stripe over eight planes");
    let die =
        [&ONE_PLANE[..3], &[("geometry.planes_per_die", "4"), ("geometry.blocks_per_plane", "32"), untimed]].concat();
    let die = ran(&[&die[..], &[pages("32"), ("ftl.erase_group", "die")]].concat());
    assert_eq!(counts(&die, 4.0), counts(&whole, 1.0), "a stripe over the planes of a die");
    let apart = ran(&[&eight[..], &[pages("16")]].concat());
    assert_ne!(counts(&apart, 1.0).1, counts(&whole, 1.0).1, "eight planes that collect for themselves");
    let units = [("geometry.page_bytes", "65536"), ("ftl.map_unit_bytes", "16384")];
    let whole = ran(&[&one[..], &units, &[pages("64")]].concat());
    assert!(number(&whole, "flash.programs.gc") > 300.0);
    let device = ran(&[&eight[..], &units, &[pages("8"), ("ftl.erase_group", "device")]].concat());
    assert_eq!(counts(&device, 8.0), counts(&whole, 1.0), "mapping units");
    assert_eq!(device["flash"]["units"], whole["flash"]["units"]);
}

#[test]
fn t453_stripes_and_handles_keep_what_the_host_stored_in_every_mode() {
    for mode in ["blocking", "foreground", "background", "preemptible", "paced"] {
        for placed in [
            &[("ftl.handles", "3")][..],
            &[("ftl.handles", "3"), ("ftl.isolation", "persistent")],
            &[("ftl.handles", "2"), ("ftl.isolation", "persistent"), ("ftl.hot_cold", "mixed")],
            &[("ftl.wear_leveling", "both"), ("initial.fill", "0.9")],
            &[("ftl.map_unit_bytes", "4096"), ("ftl.handles", "2"), ("workload.flush_every", "40")],
        ] {
            for group in ["plane", "die"] {
                for together in ["off", "queue"] {
                    let more = [("ftl.gc_mode", mode), ("ftl.erase_group", group), ("timing.multi_plane", together)];
                    let planes = [("geometry.planes_per_die", "2"), ("geometry.blocks_per_plane", "40")];
                    check_counts(&ran(&[&more[..], &planes, placed].concat()));
                }
            }
        }
    }
}

/// Watches whose data each part of a block holds.
struct Apart(KeptApart);

impl Observer for Apart {
    fn command(&mut self, _: Time, _: Time, command: &FlashCommand) {
        self.0.note(command, false);
    }
}

#[test]
fn t458_handles_keep_their_data_apart_in_what_is_erased_apart() {
    let sub_blocks: &[Set] = &[
        ("partial_erase.unit", "sub-block"),
        ("ftl.erase_unit", "sub-block"),
        ("geometry.pages_per_block", "32"),
        ("geometry.layers", "8"),
        ("geometry.sub_blocks", "4"),
    ];
    let leaves: &[Set] = &[
        ("partial_erase.unit", "partial-block"),
        ("ftl.erase_unit", "partial-block"),
        ("geometry.pages_per_block", "64"),
        ("partial_erase.max_splits", "3"),
    ];
    let persistent = ("ftl.isolation", "persistent");
    for parts in [sub_blocks, leaves, &[persistent]] {
        for mode in ["blocking", "background", "preemptible"] {
            let more = [
                ("ftl.handles", "3"),
                ("ftl.gc_mode", mode),
                ("ftl.over_provisioning", "0.4"),
                ("geometry.program_order", "in-order"),
                ("geometry.blocks_per_plane", "40"),
                ("workload.requests", "20000"),
            ];
            let config = spec(&[DEVICE, parts, &more].concat());
            let mut apart = Apart(KeptApart::of(&config).expect("handles"));
            let outcome = run_seen_by(&config, &mut apart).expect("it runs");
            check_counts(&outcome.document);
            assert_eq!(outcome.integrity_error, None, "{parts:?}, {mode}");
            assert!(number(&outcome.document, "gc.copied_pages") > 1_000.0, "{parts:?}, {mode}");
            assert_eq!(apart.0.settle(), Ok(()), "{parts:?}, {mode}");
        }
    }
    for parts in [sub_blocks, leaves] {
        let why =
            refusal(&[parts, &[("ftl.handles", "3"), ("geometry.program_order", "in-order"), persistent]].concat());
        assert!(why.starts_with("ftl.handles needs ftl.erase_unit = \"block\" (the parts of one block may"), "{why}");
    }
}

#[test]
fn t454_what_stands_in_the_way_of_handles_and_stripes_is_refused_in_one_line() {
    let handles = ("ftl.handles", "2");
    for (more, expected) in [
        (
            ("ftl.recovery", "checkpoint"),
            "ftl.handles needs ftl.recovery = \"off\" | \"scan\" | \"summary\", found \"checkpoint\"",
        ),
        (("ftl.hot_cold", "recency"), "ftl.handles needs ftl.hot_cold = \"gc\" | \"mixed\", found \"recency\""),
        (
            ("ftl.hot_cold", "mixed"),
            "ftl.handles needs ftl.hot_cold = \"gc\", or ftl.isolation = \"persistent\", found \"mixed\"",
        ),
        (("ftl.kind", "nftl"), "ftl.handles = 2 needs ftl.kind = \"page\", found \"nftl\""),
        (("ftl.handles", "9"), "ftl.handles = 9"),
    ] {
        let text = refusal(&[handles, more]);
        assert!(text.contains(expected), "{text}");
    }
    let small = refusal(&[handles, ("ftl.recovery", "scan"), ("geometry.spare_bytes", "16")]);
    assert!(small.contains("stores 17 bytes in each spare area, and geometry.spare_bytes = 16"), "{small}");
    let moved = refusal(&[handles, ("ftl.isolation", "persistent"), ("ftl.wear_leveling", "static")]);
    assert!(moved.contains("or ftl.isolation = \"initial\", found \"static\""), "{moved}");
    for (more, expected) in [
        (("run.timed", "true"), "ftl.erase_group = \"device\" needs run.timed = false, found true"),
        (("ftl.recovery", "summary"), "ftl.erase_group = \"device\" needs ftl.recovery = \"off\", found \"summary\""),
        (("timing.copyback", "true"), "ftl.erase_group = \"device\" needs timing.copyback = false, found true"),
        (("geometry.bad_blocks_per_plane", "1"), "needs geometry.bad_blocks_per_plane = 0, found 1"),
        (("geometry.pages_per_block", "16384"), "makes stripes of 65536 pages; allowed: at most 65535"),
        (("ftl.kind", "nftl"), "ftl.erase_group = \"device\" needs ftl.kind = \"page\", found \"nftl\""),
    ] {
        let planes = [("geometry.planes_per_die", "2"), ("geometry.channels", "2")];
        let text = refusal(&[&planes[..], &[("ftl.erase_group", "device"), more]].concat());
        assert!(text.contains(expected), "{text}");
    }
    // The run ended in an integrity error when a block of a stripe was retired.
    let retired = [("ftl.erase_group", "die"), ("geometry.planes_per_die", "2"), ("timing.copyback", "false")];
    let retired = [&retired[..], &[("erase.scheme", "ispe"), ("erase.worn_blocks", "retired-by-cycles")]].concat();
    let text = refusal(&retired);
    assert!(text.contains("ftl.erase_group = \"die\" needs erase.worn_blocks = \"used\", found"), "{text}");
}

#[test]
fn t455_handles_tell_what_a_drive_tells() {
    let untimed = [("run.timed", "false"), ("workload.kind", "cache"), ("workload.small_space", "0.3")];
    let plain = ran(&untimed);
    assert_eq!(plain["placement"], Value::Null);
    for (pages, unit) in [("flash.programs", "4096"), ("flash.units", "1024")] {
        let placed = ran(&[&untimed[..], &[("ftl.handles", "3"), ("ftl.map_unit_bytes", unit)]].concat());
        tells_what_a_drive_tells(&placed, pages);
    }
}

/// Checks what a device with three handles tells against its counts, of pages or of mapping units.
fn tells_what_a_drive_tells(placed: &Value, counted: &str) {
    let n = |path: &str| number(placed, path);
    let page = n("config.geometry.page_bytes");
    let unit = n("config.ftl.map_unit_bytes");
    let of_cause = |cause: &str| n(&format!("{counted}.{cause}")) * unit;
    assert_eq!(n("placement.host_bytes"), of_cause("host"));
    let media = n("placement.host_bytes") * n("write_amplification");
    assert!((n("placement.media_bytes") / media - 1.0).abs() < 1e-12, "{media}");
    assert_eq!(n("placement.erased_bytes"), n("flash.erases.block") * page * n("config.geometry.pages_per_block"));
    let handles = placed["placement"]["handles"].as_array().expect("a list");
    let of = |handle: usize, field: &str| handles[handle][field].as_f64().expect("a number");
    let sum = |field: &str| (0..3).map(|handle| of(handle, field)).sum::<f64>();
    assert_eq!(handles.len(), 3);
    assert_eq!(sum("host_bytes"), n("placement.host_bytes"));
    assert_eq!(sum("copied_bytes") + n("placement.collected_bytes"), of_cause("gc"));
    assert!((of(0, "host_bytes") / sum("host_bytes") - 0.8).abs() < 0.02, "four fifths are small objects");
    assert_eq!(handles[2]["host_bytes"], json!(0), "nobody names the third");
    let unit = n("device.planes") * n("config.geometry.pages_per_block") * page;
    assert_eq!(of(2, "available_bytes"), unit);
    assert!(of(1, "available_bytes") <= unit);
}

#[test]
fn t456_streams_without_a_handle_are_said() {
    let warnings = |more: &[Set]| {
        let sets = [DEVICE, more].concat();
        let outcome = run(&Config::resolve(&source(&sets)).expect("valid"), 1.0, &mut |_| true).expect("it runs");
        outcome.document["warnings"].to_string()
    };
    let said = "the workload names 3 streams, ftl.handles = 2: data of the others goes to handle 0";
    assert!(warnings(&[("ftl.handles", "2")]).contains(said));
    for handles in ["1", "3"] {
        assert!(!warnings(&[("ftl.handles", handles)]).contains("streams"), "one handle is no placement");
    }
}
