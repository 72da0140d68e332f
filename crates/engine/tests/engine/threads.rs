//! One device on several threads: the result is that of one thread, to the last bit.

use proptest::prelude::*;
use pumice_config::{Config, SpecSource};
use pumice_engine::{SimError, Threads, run, run_on_threads};

use crate::random_devices::{
    hybrid_settings, nftl_settings, page_settings, settings, superblock_2006_settings, superblock_settings,
};
use crate::support::spec;

/// What a device needs so that its channels go their own ways.
const APART: [(&str, &str); 7] = [
    ("host.mode", "open-loop"),
    ("host.partial_page", "whole-page"),
    ("host.write_buffer_kib", "0"),
    ("host.overhead_us", "0"),
    ("controller.t_request_us", "0"),
    ("controller.t_command_us", "0"),
    ("output.wear_map", "true"),
];

/// Whatever else a host and its device may have: the order of commands on a die, and when requests come.
fn loads() -> impl Strategy<Value = Vec<(String, String)>> {
    let multi_plane = prop_oneof![Just("off"), Just("neighbours"), Just("queue")];
    let kinds = prop_oneof![Just("uniform"), Just("sequential"), Just("zipf")];
    let order = (prop::bool::ANY, multi_plane, prop::bool::ANY, kinds);
    let load = (3u32..7, 1u32..60, 10.0f64..2000.0, 0u32..2, 0.0f64..0.1, prop::bool::ANY);
    (order, load).prop_map(|(order, load)| {
        let (channels, sectors, arrival, warmup, trims, timed) = load;
        let pairs = [
            ("geometry.channels", channels.to_string()),
            ("host.read_priority", order.0.to_string()),
            ("timing.multi_plane", order.1.into()),
            ("run.check", if order.2 { "integrity" } else { "rules" }.into()),
            ("workload.kind", order.3.into()),
            ("workload.request_bytes", (sectors * 512).to_string()),
            ("workload.mean_interarrival_us", format!("{arrival}")),
            ("workload.trim_fraction", format!("{trims}")),
            ("run.warmup_requests", (warmup * 400).to_string()),
            ("run.timed", timed.to_string()),
            ("output.histograms", timed.to_string()),
        ];
        pairs.map(|(key, value)| (key.to_string(), value)).to_vec()
    })
}

fn configured(settings: &[(String, String)], load: &[(String, String)]) -> Config {
    let apart = APART.map(|(key, value)| (key.to_string(), value.to_string()));
    let sets = settings.iter().chain(&apart).chain(load).cloned().collect();
    let source = SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() };
    Config::resolve(&source).expect("a valid spec")
}

fn check(config: &Config) {
    let alone = run(config, 1.0, &mut |_| true).expect("the run ends well");
    for threads in [1, 2, 4] {
        let found = run_on_threads(config, 1.0, Threads::Number(threads), &mut |_| true).expect("the run ends well");
        assert_eq!(found.document, alone.document, "{threads} threads");
        assert_eq!(found.histograms, alone.histograms, "{threads} threads");
        assert_eq!(
            (found.requests, found.flash_commands, found.integrity_error.clone()),
            (alone.requests, alone.flash_commands, alone.integrity_error.clone()),
            "{threads} threads"
        );
        let [found, alone] = [&found, &alone].map(|outcome| outcome.wear_map.as_ref().expect("a wear map"));
        assert_eq!(found, alone, "{threads} threads");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn t772_threads_run_an_nftl_exactly(settings in prop_oneof![settings(), nftl_settings()], load in loads()) {
        for merge in ["block-erase", "m-merge"] {
            let merge = [("ftl.merge".to_string(), merge.to_string())];
            check(&configured(&[&settings[..], &merge].concat(), &load));
        }
    }

    #[test]
    fn t773_threads_run_superblocks_exactly(
        settings in prop_oneof![superblock_settings(), superblock_2006_settings()], load in loads()
    ) {
        check(&configured(&settings, &load));
    }

    #[test]
    fn t774_threads_run_the_layers_of_2006_exactly(
        settings in prop_oneof![
            hybrid_settings("log-block"), hybrid_settings("fast"), hybrid_settings("replacement-block")
        ],
        load in loads()
    ) {
        check(&configured(&settings, &load));
    }

    #[test]
    fn t775_threads_run_a_page_level_ftl_with_static_allocation_exactly(
        settings in page_settings(), load in loads(), foreground in prop::bool::ANY, rmw in prop::bool::ANY
    ) {
        let changes = [
            ("ftl.allocation", "static"),
            ("ftl.gc_mode", if foreground { "foreground" } else { "blocking" }),
            ("host.partial_page", if rmw { "rmw" } else { "whole-page" }),
        ];
        let changes = changes.map(|(key, value)| (key.to_string(), value.to_string()));
        check(&configured(&settings, &[&load[..], &changes].concat()));
    }
}

#[test]
fn t776_what_joins_the_channels_is_refused_by_name_and_auto_takes_one_thread() {
    let refused = |sets: &[(&str, &str)], wanted: &str| {
        let config = spec(sets);
        let outcome = run_on_threads(&config, 1.0, Threads::Number(2), &mut |_| true);
        let error = outcome.err().map(|error: SimError| error.to_string()).expect("it is refused");
        assert_eq!(error, format!("threads = 2 is not allowed with {wanted}, which joins the channels; allowed: 1"));
        let auto = run_on_threads(&config, 1.0, Threads::UpTo(2), &mut |_| true).expect("one thread runs it");
        assert_eq!(auto.document, run(&config, 1.0, &mut |_| true).expect("it ends well").document);
    };
    let short = ("run.max_requests", "500");
    let channels = ("geometry.channels", "2");
    for (set, wanted) in [
        (("host.mode", "closed-loop"), "host.mode = \"closed-loop\""),
        (("host.link_mb_per_s", "1000"), "host.link_mb_per_s"),
        (("host.overhead_us", "2"), "host.overhead_us"),
        (("host.write_buffer_kib", "256"), "host.write_buffer_kib"),
        (("controller.t_request_us", "2"), "controller.t_request_us and controller.t_command_us"),
        (("host.partial_page", "rmw"), "ftl.kind = \"nftl\" and host.partial_page = \"rmw\""),
        (("erase.scheme", "ispe"), "erase.scheme = \"ispe\""),
        (("output.time_series_s", "0.1"), "output.time_series_s"),
        (("output.write_series", "0.1"), "output.write_series"),
    ] {
        refused(&[short, channels, ("host.partial_page", "whole-page"), set], wanted);
    }
    let page = [short, channels, ("ftl.kind", "page"), ("ftl.over_provisioning", "0.3")];
    refused(&page, "what ftl.kind = \"page\" does here");
    let drawn = [("initial.age_writes", "0.1"), ("initial.aged_by", "drawn"), ("workload.footprint", "1.0")];
    refused(&[&page[..], &[("ftl.allocation", "static")], &drawn].concat(), "initial.aged_by = \"drawn\"");
    refused(&[&page[..], &[("ftl.allocation", "static"), ("ftl.handles", "2")]].concat(), "ftl.handles");
}

#[test]
fn t777_a_run_on_threads_stops_when_it_is_told_to_and_fails_as_one_thread_does() {
    let sets = [("geometry.channels", "4"), ("workload.requests", "3000000"), ("host.partial_page", "whole-page")];
    let stopped = run_on_threads(&spec(&sets), 1.0, Threads::Number(2), &mut |_| false);
    assert!(matches!(stopped, Err(SimError::Interrupted)));
    let whole = [("geometry.channels", "4"), ("host.partial_page", "whole-page")];
    let nothing_left = [("run.warmup_requests", "500"), ("run.max_requests", "300")];
    for wrong in [nothing_left, [("workload.kind", "trace"), ("workload.path", "nowhere.csv")]] {
        let config = spec(&[whole, wrong].concat());
        let errors =
            [run(&config, 1.0, &mut |_| true), run_on_threads(&config, 1.0, Threads::Number(2), &mut |_| true)]
                .map(|outcome| outcome.err().map(|error| error.to_string()));
        assert!(errors[0].is_some());
        assert_eq!(errors[0], errors[1]);
    }
}
