//! What the options of the page-level FTL refuse (4xx), cost and gain (7xx), on whole runs.

use pumice_config::Config;

use crate::support::{document, number, source};

/// A full page-level device without a clock.
const FULL: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("run.timed", "false"),
    ("initial.fill", "1.0"),
    ("workload.footprint", "1.0"),
    ("workload.read_fraction", "0.2"),
    ("run.check", "integrity"),
];

fn refusal(sets: &[(&str, &str)]) -> String {
    Config::resolve(&source(sets)).expect_err("refused").to_string()
}

#[test]
fn t420_the_smallest_over_provisioning_counts_translation_pages_and_works() {
    for (entries, blocks) in [("1", "64"), ("100000", "64"), ("50", "300")] {
        let cached = [
            ("ftl.map_place", "cached"),
            ("ftl.map_cache_entries", entries),
            ("geometry.blocks_per_plane", blocks),
            ("geometry.page_bytes", "512"),
        ];
        let settings = [FULL, &cached].concat();
        let text = refusal(&[&settings[..], &[("ftl.over_provisioning", "0.01")]].concat());
        let smallest = text.rsplit(' ').next().expect("ends with the value");
        let document = document(&[&settings[..], &[("ftl.over_provisioning", smallest)]].concat());
        assert!(number(&document, "gc.copied_pages") > 0.0);
        let below = (smallest.parse::<f64>().expect("a number") - 0.001).to_string();
        refusal(&[&settings[..], &[("ftl.over_provisioning", &below)]].concat());
    }
}

#[test]
fn t421_options_that_contradict_each_other_are_refused() {
    let page = ("ftl.kind", "page");
    let cached = ("ftl.map_place", "cached");
    let budget = ("ftl.map_ram_kib", "64");
    for (sets, part) in [
        (&[cached, budget][..], "needs ftl.kind"),
        (&[("ftl.gc_mode", "foreground")], "needs ftl.kind"),
        (&[("ftl.hot_cold", "recency")], "needs ftl.kind"),
        (&[("ftl.wear_leveling", "both")], "needs ftl.kind"),
        (&[page, cached], "found neither"),
        (&[page, cached, budget, ("ftl.map_cache_entries", "9")], "both given"),
        (&[page, budget], "belong to"),
    ] {
        assert!(refusal(sets).contains(part), "{sets:?}: {}", refusal(sets));
    }
}

#[test]
fn t422_too_few_blocks_are_refused_with_a_number_that_works() {
    for map in [("ftl.map_place", "ram"), ("ftl.map_place", "cached")] {
        let settings = |blocks: &str| {
            let budget = ("ftl.map_cache_entries", "10");
            let sets = [("geometry.blocks_per_plane", blocks.to_string()), ("ftl.over_provisioning", "0.98".into())];
            let sets = sets.map(|(key, value)| (key.to_string(), value)).to_vec();
            let extra = if map.1 == "cached" { vec![map, budget] } else { vec![map] };
            let mut source = source(&[FULL, &extra].concat());
            source.sets.extend(sets);
            Config::resolve(&source).map_err(|error| error.to_string())
        };
        let text = settings("3").expect_err("refused");
        let needed: u32 =
            text.split_whitespace().find_map(|word| word.parse().ok().filter(|&n| n > 3)).expect("a number");
        assert!(settings(&(needed - 1).to_string()).is_err(), "{text}");
        assert!(
            settings(&needed.to_string()).is_ok_and(|spec| spec.chip.geometry.blocks_per_plane == needed),
            "{text}"
        );
    }
}

#[test]
fn t750_a_map_cache_trades_ram_for_flash_accesses() {
    let zipf = [("workload.kind", "zipf"), ("ftl.over_provisioning", "0.3"), ("workload.request_bytes", "4096")];
    let run = |entries: &str| {
        let cached = [("ftl.map_place", "cached"), ("ftl.map_cache_entries", entries)];
        document(&[FULL, &zipf, &cached].concat())
    };
    let in_ram = number(&document(&[FULL, &zipf].concat()), "write_amplification");
    let mut misses_before = f64::INFINITY;
    let mut waf_before = f64::INFINITY;
    for entries in ["16", "256", "2048", "100000"] {
        let document = run(entries);
        let n = |path: &str| number(&document, path);
        println!(
            "{entries} entries: {} misses, {} map reads, {} map programs, WAF {:.3} (in RAM {in_ram:.3})",
            n("gc.map.misses"),
            n("flash.reads.map"),
            n("flash.programs.map"),
            n("write_amplification")
        );
        assert_eq!(n("gc.map.hits") + n("gc.map.misses"), 20_000.0);
        assert!(n("gc.map.misses") < misses_before && n("write_amplification") < waf_before);
        (misses_before, waf_before) = (n("gc.map.misses"), n("write_amplification"));
        assert!(waf_before > in_ram);
        if entries == "100000" {
            assert_eq!(n("flash.programs.map"), 0.0, "all of the map fits");
        }
    }
}

#[test]
fn t751_static_wear_levelling_evens_erases_and_counts_what_it_moves() {
    let skewed = [
        ("workload.kind", "hot-cold"),
        ("workload.hot_space", "0.1"),
        ("workload.hot_share", "1.0"),
        ("workload.requests", "200000"),
        ("workload.read_fraction", "0.0"),
        ("workload.request_bytes", "4096"),
        ("ftl.wear_threshold", "10"),
        ("ftl.over_provisioning", "0.2"),
    ];
    let run = |leveling: &str| document(&[FULL, &skewed, &[("ftl.wear_leveling", leveling)]].concat());
    let [none, dynamic, both] = ["none", "dynamic", "both"].map(run);
    for (name, document) in [("none", &none), ("dynamic", &dynamic), ("both", &both)] {
        let n = |path: &str| number(document, path);
        println!(
            "{name}: VEP {:.1}, most {}, WAF {:.3}",
            n("wear.vep"),
            n("wear.max_erases_per_page"),
            n("write_amplification")
        );
    }
    assert!(number(&both, "wear.vep") < 0.05 * number(&none, "wear.vep"));
    assert!(number(&both, "wear.max_erases_per_page") - number(&both, "wear.aep") <= 11.0);
    assert!(number(&both, "gc.wear_leveling.erases") > 0.0);
    assert!(none["gc"]["wear_leveling"]["erases"].is_null() && dynamic["gc"]["wear_leveling"]["erases"].is_null());
    let all = number(&both, "gc.reclaimed_blocks") + number(&both, "gc.wear_leveling.erases");
    assert_eq!(number(&both, "flash.erases.block"), all);
}

#[test]
fn t752_the_later_collection_comes_the_less_a_write_waits_for_it() {
    let load = [
        ("run.timed", "true"),
        ("run.check", "rules"),
        ("ftl.over_provisioning", "0.2"),
        ("workload.mean_interarrival_us", "1000000.0"),
        ("workload.request_bytes", "4096"),
        ("initial.age_writes", "1.0"),
    ];
    let modes = ["blocking", "foreground", "preemptible", "background"];
    let documents = modes.map(|mode| document(&[FULL, &load, &[("ftl.gc_mode", mode)]].concat()));
    for (mode, document) in modes.iter().zip(&documents) {
        let n = |path: &str| number(document, path);
        println!(
            "{mode}: write mean {:.0} us, p99 {:.0} us, WAF {:.3}, urgent {}",
            n("host.write.latency_us.mean"),
            n("host.write.latency_us.p99"),
            n("write_amplification"),
            document["gc"]["urgent"]
        );
    }
    let mean = |nth: usize| number(&documents[nth], "host.write.latency_us.mean");
    assert!(mean(1) < mean(0) && mean(2) < mean(1) && mean(3) < mean(1));
}

#[test]
fn t753_a_read_whose_map_entry_is_not_cached_reads_two_pages() {
    let reads = [
        ("run.timed", "true"),
        ("workload.read_fraction", "1.0"),
        ("workload.request_bytes", "4096"),
        ("workload.requests", "300"),
        ("workload.mean_interarrival_us", "100000.0"),
        ("ftl.over_provisioning", "0.3"),
    ];
    let run = |map: &[(&str, &str)]| number(&document(&[FULL, &reads, map].concat()), "host.read.latency_us.max");
    let in_ram = run(&[]);
    let missed = run(&[("ftl.map_place", "cached"), ("ftl.map_cache_entries", "1")]);
    assert!((missed - 2.0 * in_ram).abs() < 0.002, "{missed} us and {in_ram} us");
}
