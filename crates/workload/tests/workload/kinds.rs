//! The kinds of workloads: every one by name, and the keys that it reads and does not read.

use std::collections::BTreeSet;
use std::path::Path;

use pumice_types::key::{Key, Keys, Value, ValueKind, Values};
use pumice_types::{Choice, HostRequest};
use pumice_workload::{OpenFor, PatternKind, Placement, TraceFormat, WorkloadKeys, WorkloadKind, catalogue};

/// Requests that are compared.
const REQUESTS: usize = 2_000;

fn corpus(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name).display().to_string()
}

/// A trace with two volumes and a trim, not at address 0.
fn trace() -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kinds.log");
    let lines =
        "fio version 3 iolog\n1 /dev/a write 4194304 4096\n2 /dev/b write 8192 512\n3 /dev/a trim 4194304 512\n";
    std::fs::write(&path, lines).expect("a writable temporary directory");
    path.display().to_string()
}

fn key(path: &str) -> &'static Key {
    WorkloadKeys::rows().into_iter().find(|key| key.path == path).expect(path)
}

/// The value that a spec's text gives.
fn value(shape: ValueKind, text: &str) -> Value {
    let number = |text: &str| text.trim().parse::<f64>().expect("a number");
    match shape {
        ValueKind::Int => Value::Int(text.parse().expect("a whole number")),
        ValueKind::Float | ValueKind::FloatOrFloats => Value::Float(number(text)),
        ValueKind::Bool => Value::Bool(text == "true"),
        ValueKind::Text | ValueKind::Choice(_) => Value::Text(text.trim_matches('"').to_owned()),
        ValueKind::Floats => Value::Floats(text.trim_matches(['[', ']']).split(',').map(number).collect()),
    }
}

/// Every key at its default, and what conditions ask of other sections.
fn defaults(kind: WorkloadKind) -> Values {
    let rows = WorkloadKeys::rows().into_iter();
    let mut values: Values = rows.filter_map(|key| Some((key.path, value(key.shape, key.default_text()?)))).collect();
    values.insert("workload.kind", Value::Text(kind.name()));
    values.insert("run.timed", Value::Bool(true));
    values.insert("host.mode", Value::Text("open-loop".to_owned()));
    values.insert("initial.age_writes", Value::Float(0.0));
    if kind.is_trace() {
        values.insert("workload.path", Value::Text(trace()));
    }
    values
}

/// The first requests of a workload; the error if it cannot be opened.
fn requests(values: &Values) -> Result<Vec<HostRequest>, String> {
    let keys = WorkloadKeys::read(values)?;
    keys.check()?;
    let (capacity_bytes, scale) = match keys.kind() {
        WorkloadKind::Twin(_) => (1 << 36, 1.0 / 256.0),
        WorkloadKind::FileSystem(_) => (1 << 36, 1.0 / 16.0),
        // Small enough for sequential requests to reach the end of the footprint.
        WorkloadKind::Drawn(_) | WorkloadKind::HotWrites(_) | WorkloadKind::Zoned(_) => (1 << 24, 1.0),
        WorkloadKind::Trace(_) => (1 << 36, 1.0),
    };
    let placement = Placement { capacity_bytes, page_bytes: 4_096, policy: keys.shared.address };
    let mut workload = keys
        .open(&OpenFor { placement, seed: 1, scale, zone_bytes: Some(1 << 20), content: None })
        .map_err(|error| error.to_string())?;
    let next = std::iter::from_fn(|| workload.next_request().expect("legal"));
    Ok(next.take(REQUESTS).collect())
}

/// Another value of every key but the kind.
const OTHERS: &[(&str, &str)] = &[
    ("workload.address", "compact"),
    ("workload.requests", "1500"),
    ("workload.trim_fraction", "0.3"),
    ("workload.flush_every", "9"),
    ("workload.fua_fraction", "0.5"),
    ("workload.footprint", "0.25"),
    ("workload.arrival", "fixed"),
    ("workload.mean_interarrival_us", "77.0"),
    ("workload.interarrival_cv", "3.0"),
    ("workload.mean_extent_kib", "64.0"),
    ("workload.write_extent_read_share", "0.5"),
    ("workload.kind_persistence", "0.9"),
    ("workload.fat_volume_mib", "2304"),
    ("workload.fat_flush_kib", "64"),
    ("workload.fat_fragmentation", "0.002"),
    ("workload.fat_mixture", "[0.3, 0.3, 0.3]"),
    ("workload.fat_update_kib", "4"),
    ("workload.fat_saves", "3"),
    ("workload.request_bytes", "8192"),
    ("workload.request_sizes", "[4096, 65536]"),
    ("workload.request_weights", "[1, 5]"),
    ("workload.read_fraction", "0.5"),
    ("workload.zipf_theta", "1.5"),
    ("workload.hot_space", "0.5"),
    ("workload.hot_share", "0.3"),
    ("workload.stream_space", "[0.2, 0.3, 0.5]"),
    ("workload.stream_share", "[0.1, 0.3, 0.6]"),
    ("workload.small_space", "0.3"),
    ("workload.small_share", "0.4"),
    ("workload.small_theta", "0.9"),
    ("workload.zone_request_bytes", "65536"),
    ("workload.zones_at_once", "3"),
    ("workload.zone_share", "0.5"),
    ("workload.path", "msr-good.txt"),
    ("workload.format", "alibaba"),
    ("workload.columns", "op=0,offset=1,size=2"),
    ("workload.volumes", "separate"),
    ("workload.trims", "drop"),
];

/// Settings under which keys that need another one are read.
const BASES: [&[(&str, &str)]; 2] =
    [&[], &[("workload.arrival", "bursty"), ("workload.request_sizes", "[8192, 4096]"), ("workload.requests", "1999")]];

/// All kinds but most of the twins and file systems, which differ in their numbers alone. The notebook has keys of
/// its own.
fn kinds() -> Vec<WorkloadKind> {
    let (mut twins, mut file_systems) = (0, 0);
    let is_wanted = |kind: &WorkloadKind| match kind {
        WorkloadKind::Twin(_) => {
            twins += 1;
            twins == 1
        }
        WorkloadKind::FileSystem(_) => {
            file_systems += 1;
            file_systems == 1 || kind.name() == "pc"
        }
        WorkloadKind::Drawn(_) | WorkloadKind::HotWrites(_) | WorkloadKind::Zoned(_) | WorkloadKind::Trace(_) => true,
    };
    WorkloadKind::all().into_iter().filter(is_wanted).collect()
}

#[test]
fn w400_a_key_changes_the_requests_exactly_where_it_is_read() {
    let known: BTreeSet<&str> = OTHERS.iter().map(|(path, _)| *path).chain(["workload.kind"]).collect();
    assert_eq!(known, WorkloadKeys::rows().iter().map(|key| key.path).collect(), "every key needs another value here");
    for kind in kinds() {
        for base in BASES {
            let mut values = defaults(kind);
            values.extend(base.iter().map(|&(path, text)| (path, value(key(path).shape, text))));
            let before = requests(&values).expect("the base runs");
            assert!(!before.is_empty(), "{kind}");
            for &(path, text) in OTHERS {
                let key = key(path);
                let text = if path == "workload.path" { &corpus(text) } else { text };
                let mut changed = values.clone();
                changed.insert(path, value(key.shape, text));
                let after = requests(&changed);
                match key.when.idle(&changed) {
                    // A key that would be idle may be refused instead.
                    Some(_) => assert!(after.is_err() || after.as_ref() == Ok(&before), "{kind} reads {path}"),
                    None => assert!(after.as_ref() != Ok(&before), "{kind} does not read {path}"),
                }
            }
        }
    }
}

#[test]
fn w401_every_kind_is_found_by_its_name() {
    let all = WorkloadKind::all();
    let names: BTreeSet<String> = all.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), all.len(), "two workloads share a name");
    for kind in all {
        assert_eq!(WorkloadKind::parse(&kind.name()), Ok(kind));
        let classes = [
            kind.is_twin(),
            kind.is_file_system(),
            kind.is_drawn(),
            kind.is_hot_writes(),
            kind.is_zoned(),
            kind.is_trace(),
        ];
        assert_eq!(classes.iter().filter(|&&is| is).count(), 1, "{kind}");
        assert!(!kind.about().is_empty(), "{kind}");
        assert_eq!(serde_json::to_value(kind).expect("a text"), kind.name());
        let listed = catalogue().contains(&(kind.name(), kind.about()));
        assert_eq!(listed, !kind.needs_file(), "{kind}");
    }
    assert_eq!(catalogue().len(), WorkloadKind::all().len() - 1);
}

#[test]
fn w402_an_unknown_kind_names_the_nearest() {
    for (name, nearest) in [
        ("unform", "uniform"),
        ("prn_1", "twin:prn_1"),
        ("prn1", "twin:prn_1"),
        ("twin:usr1", "twin:usr_1"),
        ("W10", "w10"),
        ("trac", "trace"),
        ("mp4", "mp3"),
        ("hotcold", "hot-cold"),
    ] {
        let message = WorkloadKind::parse(name).expect_err(name);
        assert_eq!(
            message.0,
            format!("does not exist; nearest: \"{nearest}\"; `pumice workloads` lists all"),
            "{name}"
        );
    }
    for file in ["prn_1.csv", "traces/prn_1", "trace:prn_1.csv.gz"] {
        let message = WorkloadKind::parse(file).expect_err(file);
        assert_eq!(
            message.0,
            "is no workload; a trace is replayed by --trace FILE, in a spec by kind = \"trace\" with path; a job of fio's is run by --fio-job FILE"
        );
    }
}

#[test]
fn w403_keys_that_contradict_each_other_are_refused() {
    let check = |kind: &str, set: &[(&'static str, &str)]| {
        let mut values = defaults(WorkloadKind::parse(kind).expect(kind));
        values.extend(set.iter().map(|&(path, text)| (path, value(key(path).shape, text))));
        WorkloadKeys::read(&values).expect(kind).check()
    };
    for (kind, set, part) in [
        ("uniform", ("workload.path", "a.csv"), "workload.path belongs to workload.kind = \"trace\", found kind"),
        ("pic", ("workload.format", "msr"), "workload.format belongs to workload.kind = \"trace\", found kind"),
        ("zipf", ("workload.request_weights", "[1]"), "needs workload.request_sizes"),
    ] {
        let message = check(kind, &[set]).expect_err(part);
        assert!(message.0.contains(part), "{message}");
    }
    let sizes =
        |sizes, weights| check("uniform", &[("workload.request_sizes", sizes), ("workload.request_weights", weights)]);
    assert!(sizes("[512]", "[1, 2]").expect_err("one size, two weights").0.contains("has 2 entries"));
    assert!(sizes("[512.5]", "[1]").expect_err("half a byte").0.contains("fraction of a byte"));
    assert_eq!(sizes("[512, 1024]", "[1, 2]"), Ok(()));
    let mut no_path = defaults(WorkloadKind::parse("trace").expect("the kind"));
    no_path.remove("workload.path");
    assert!(
        WorkloadKeys::read(&no_path).expect("reads").check().expect_err("no file").0.contains("needs workload.path")
    );
    let trace = WorkloadKind::parse("trace").expect("the kind");
    assert!(trace.check_scale(0.5).expect_err("half a trace").0.contains("never scaled"));
    assert_eq!(
        (trace.check_scale(1.0), WorkloadKind::parse("w10").expect("a kind").check_scale(0.5)),
        (Ok(()), Ok(()))
    );
}

#[test]
fn w404_keys_read_what_they_write() {
    for kind in WorkloadKind::all() {
        let mut values = defaults(kind);
        let keys = WorkloadKeys::read(&values).expect("defaults are legal");
        values.retain(|path, _| path.starts_with("workload."));
        let mut written = Values::new();
        keys.write(&mut written);
        assert_eq!(written, values);
    }
}

#[test]
fn w405_a_kind_lists_the_keys_that_it_may_read() {
    let paths = |name: &str| -> BTreeSet<&str> {
        WorkloadKind::parse(name).expect(name).keys().iter().map(|key| key.path).collect()
    };
    assert!(paths("zipf").contains("workload.zipf_theta") && !paths("uniform").contains("workload.zipf_theta"));
    assert!(
        paths("twin:hm_0").contains("workload.interarrival_cv") && !paths("twin:hm_0").contains("workload.arrival")
    );
    assert_eq!(
        paths("trace"),
        ["kind", "path", "format", "columns", "volumes", "trims", "address", "footprint"]
            .map(|key| WorkloadKeys::rows().iter().find(|row| row.path.ends_with(key)).expect(key).path)
            .into()
    );
}

/// Files in a folder of variants, the registry and the trait that all of them implement aside.
fn variants(folder: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let entries = std::fs::read_dir(folder).expect("part of the repository");
    let names = entries.map(|entry| entry.expect("readable").file_name());
    names.filter(|name| name != "mod.rs" && name != "format.rs").count()
}

#[test]
fn w406_every_file_of_a_variant_is_in_its_registry() {
    assert_eq!(variants("trace/formats"), TraceFormat::ALL.len());
    assert_eq!(variants("generator/patterns"), PatternKind::ALL.len());
}
