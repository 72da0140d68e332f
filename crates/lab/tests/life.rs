//! The life of a device, fast-forwarded and whole.

#![allow(clippy::print_stdout, reason = "measured figures, shown with --nocapture")]

use std::time::Instant;

use pumice_config::{Config, SpecSource};
use pumice_lab::life::{Life, LifeQuery, life};

/// A small page-level device that wears out at requirement 40, of so many blocks that its end does not hang on one.
const DEVICE: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.over_provisioning", "0.25"),
    ("ftl.gc_mode", "blocking"),
    ("partial_erase.unit", "none"),
    ("erase.rber_requirement", "40"),
    ("geometry.channels", "1"),
    ("geometry.planes_per_die", "1"),
    ("geometry.blocks_per_plane", "1024"),
    ("geometry.pages_per_block", "16"),
    ("run.timed", "false"),
    ("workload.read_fraction", "0.0"),
    ("workload.footprint", "1.0"),
    ("workload.request_bytes", "4096"),
];

fn lived(more: &[(&str, &str)], query: LifeQuery) -> (Life, f64) {
    let sets = [DEVICE, more].concat();
    let source = SpecSource {
        preset: Some("tiny".into()),
        sets: sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
        ..SpecSource::default()
    };
    let config = Config::resolve(&source).expect("a valid spec");
    let begun = Instant::now();
    let life = life(&config, 1.0, query, &mut |_| true).expect("a life");
    (life, begun.elapsed().as_secs_f64())
}

/// The device may not survive the first few pages of a window, which say little of its write amplification.
fn check_end(life: &Life) {
    let [.., before, last] = &life.course[..] else { panic!("a course has several points") };
    let rise = last.write_amplification / before.write_amplification;
    assert!((0.7..2.0).contains(&rise), "{before:?}, {last:?}");
}

#[test]
fn t478_a_life_in_jumps_ends_like_the_whole_one() {
    for more in [
        &[("erase.scheme", "ispe"), ("erase.worn_blocks", "retired-by-errors")][..],
        &[("erase.scheme", "aero-cons"), ("erase.worn_blocks", "retired-by-errors")],
        &[("erase.scheme", "ispe"), ("erase.worn_blocks", "retired-by-cycles"), ("ftl.wear_leveling", "both")],
        &[
            ("erase.scheme", "ispe"),
            ("erase.worn_blocks", "retired-by-errors"),
            ("workload.kind", "zipf"),
            ("ftl.wear_leveling", "both"),
            ("ftl.wear_threshold", "4"),
        ],
    ] {
        let (whole, slow) = lived(more, LifeQuery { whole: true, ..LifeQuery::default() });
        let (jumped, fast) = lived(more, LifeQuery::default());
        let pec = jumped.end.pec / whole.end.pec - 1.0;
        let host = jumped.end.host_bytes / whole.end.host_bytes - 1.0;
        println!(
            "{more:?}: {:.0} cycles {:+.2} %, {:.0} capacities {:+.2} %, WAF {:.2} {:.2}, spread {:.2} {:.2}, retired {} {}, {slow:.1} s {:.0} times, simulated 1/{:.0}",
            whole.end.pec,
            pec * 100.0,
            whole.end.host_bytes / whole.capacity_bytes as f64,
            host * 100.0,
            whole.write_amplification,
            jumped.write_amplification,
            whole.wear_spread,
            jumped.wear_spread,
            whole.end.retired_blocks,
            jumped.end.retired_blocks,
            slow / fast,
            jumped.end.host_bytes / jumped.simulated_bytes,
        );
        // Under zipf write amplification still rises when the first jump begins, so that too many host writes are counted.
        let most = if more.contains(&("workload.kind", "zipf")) { 0.05 } else { 0.02 };
        assert!(pec.abs() < 0.01 && host.abs() < most, "{more:?}");
        assert!(jumped.end.host_bytes > 120.0 * jumped.simulated_bytes, "{more:?}");
        assert_eq!(whole.simulated_bytes, whole.end.host_bytes);
        [whole, jumped].iter().for_each(check_end);
    }
}

/// A generator was opened anew after `workload.requests`, so that a larger device was written at the same few places.
#[test]
fn t997_a_life_goes_on_behind_the_requests_of_a_run() {
    let few = [("workload.requests", "1000"), ("erase.worn_blocks", "retired-by-errors"), ("erase.scheme", "ispe")];
    let [few, many] = [&few[..], &few[1..]].map(|more| lived(more, LifeQuery::default()).0);
    assert!(few.write_amplification > 2.0);
    assert_eq!((few.end, few.course), (many.end, many.course));
}

/// Drawn without end, such a workload would be waited for without end.
#[test]
fn t998_a_workload_that_never_writes_is_refused_where_it_ages_a_device() {
    let of = |more: &[(&str, &str)]| {
        let sets = [DEVICE, more].concat();
        let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Config::resolve(&SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() })
            .expect("a valid spec")
    };
    for nothing in
        [&[("workload.read_fraction", "1.0")][..], &[("workload.kind", "w10"), ("workload.trim_fraction", "1.0")]]
    {
        let aged = [nothing, &[("initial.aged_by", "requests"), ("initial.age_writes", "1.0")]].concat();
        let worn = [nothing, &[("erase.scheme", "ispe"), ("erase.worn_blocks", "retired-by-errors")]].concat();
        let ran = pumice_engine::run(&of(&aged), 1.0, &mut |_| true).map(drop);
        let lived = life(&of(&worn), 1.0, LifeQuery::default(), &mut |_| true).map(drop);
        for ended in [ran, lived] {
            let error = ended.expect_err("it never ends otherwise").to_string();
            assert!(error.contains("the workload writes nothing"), "{error}");
        }
    }
}
