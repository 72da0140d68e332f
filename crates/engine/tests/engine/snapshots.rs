//! Aged devices that serve several runs: no result may tell where the device of its run came from, and no device may
//! serve a run that would age it to another state.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pumice_config::aged::{AgedIdentity, SharedAgedDevices, values_before_requests};
use pumice_config::{Config, SpecSource, table};
use pumice_engine::observe::Observer;
use pumice_engine::snapshot::{DeviceOrigin, DiskPlace, Memory, Places, SealKey, Shelf};
use pumice_engine::{age, run};
use pumice_ftl::FtlKind;
use pumice_types::key::{Key, Range, ValueKind};
use pumice_types::{Choice, FlashCommand, Time};
use pumice_workload::PatternKind;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::registry::{Case, LOAD, case, cases};
use crate::support::run_seen_by;

/// The key of whoever runs these tests.
const KEY: &[u8] = b"a key of the tests";

/// A limit that nothing here reaches.
const ROOM: u64 = 1 << 30;

fn config(name: &str, sets: &[(String, String)]) -> Config {
    let source = SpecSource { preset: Some("tiny".into()), sets: sets.to_vec(), ..SpecSource::default() };
    Config::resolve(&source).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The result document, and what the shelf tells of the run's device.
fn on_shelf(config: &Config, places: Places) -> (Value, DeviceOrigin, Vec<String>) {
    let shelf = Arc::new(Shelf::new("this build".into(), places));
    let config = Config { aged_devices: Some(SharedAgedDevices(shelf.clone())), ..config.clone() };
    let outcome = run(&config, 1.0, &mut |_| true).expect("it runs");
    (without_keys(outcome.document), shelf.origin(), shelf.refusals())
}

fn without_shelf(config: &Config) -> Value {
    without_keys(run(config, 1.0, &mut |_| true).expect("it runs").document)
}

/// A document without what was asked for.
fn without_keys(mut document: Value) -> Value {
    let fields = document.as_object_mut().expect("an object");
    fields.retain(|name, _| !["config", "config_sha256"].contains(&name.as_str()));
    document
}

fn memory() -> &'static Memory {
    Box::leak(Box::default())
}

/// A folder of its own that disappears with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("pumice-snapshots-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    fn places(&self, limit: u64) -> Places {
        self.places_of(limit, KEY)
    }

    fn places_of(&self, limit: u64, key: &[u8]) -> Places {
        Places { disk: Some((DiskPlace::Folder(self.0.clone(), limit), SealKey::of(key))), ..Places::default() }
    }

    fn snapshots(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(&self.0).expect("it is there").map(|entry| entry.expect("readable").path()).collect();
        paths.sort();
        paths
    }

    fn only(&self) -> PathBuf {
        let snapshots = self.snapshots();
        assert_eq!(snapshots.len(), 1, "{snapshots:?}");
        snapshots[0].clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const PAGE: (&str, &str) = ("ftl.kind", "page");
const SUB_BLOCKS: [(&str, &str); 3] =
    [("geometry.layers", "16"), ("geometry.sub_blocks", "4"), ("partial_erase.unit", "sub-block")];

/// What else has state before the first request.
const OTHERS: &[(&str, &[(&str, &str)])] = &[
    ("buffer", &[("host.write_buffer_kib", "64"), ("host.flush", "lru")]),
    ("cached map", &[PAGE, ("ftl.map_place", "cached"), ("ftl.map_cache_entries", "64")]),
    ("spare map", &[("ftl.kind", "superblock-2006"), ("ftl.map_place", "spare")]),
    ("recency", &[PAGE, ("ftl.hot_cold", "recency")]),
    ("wear", &[PAGE, ("ftl.wear_leveling", "both"), ("ftl.wear_threshold", "2")]),
    ("leaves", &[PAGE, ("ftl.erase_unit", "partial-block")]),
    ("sub-blocks", &[PAGE, SUB_BLOCKS[0], SUB_BLOCKS[1], SUB_BLOCKS[2], ("ftl.erase_unit", "sub-block")]),
    (
        "disturbed sub-blocks",
        &[
            PAGE,
            SUB_BLOCKS[0],
            SUB_BLOCKS[1],
            SUB_BLOCKS[2],
            ("ftl.erase_unit", "sub-block"),
            ("partial_erase.sub_block_disturb", "3"),
        ],
    ),
    (
        "retirement",
        &[
            PAGE,
            ("erase.scheme", "aero"),
            ("erase.max_loops", "3"),
            ("erase.initial_pec", "2500"),
            ("ftl.over_provisioning", "0.5"),
        ],
    ),
    (
        "read retries",
        &[
            PAGE,
            SUB_BLOCKS[0],
            SUB_BLOCKS[1],
            ("erase.read_retry", "true"),
            ("erase.scheme", "aero"),
            ("erase.initial_pec", "4000"),
        ],
    ),
];

/// Every layer, policy and scheme, every way to recover, and what else has state before the first request.
fn all_cases() -> Vec<Case> {
    let recoveries = FtlKind::ALL.iter().flat_map(|kind| {
        kind.facts().recoveries.iter().map(move |recovery| {
            let own = [
                ("ftl.kind", kind.name()),
                ("ftl.recovery", recovery.name()),
                ("run.check", "integrity"),
                ("ftl.over_provisioning", "0.4"),
                ("power.cuts", if recovery.name() == "off" { "0" } else { "2" }),
            ];
            case(format!("{kind} recovery {recovery}"), &[LOAD, &own].concat())
        })
    });
    let others = OTHERS.iter().map(|&(name, sets)| case(name.into(), &[LOAD, sets].concat()));
    cases().into_iter().chain(recoveries).chain(others).collect()
}

/// Runs a case on a device that it ages, on one from memory, and on one from a file.
fn same_from_everywhere(name: &str, sets: &[(String, String)], folder: &Folder) {
    let (config, memory) = (config(name, sets), memory());
    let places = || Places { memory: Some((memory, ROOM)), ..folder.places(ROOM) };
    let fresh = without_shelf(&config);
    assert!(fresh["flash"]["programs"]["host"].as_u64() > Some(1_000), "{name}: too short to tell");
    for (places, origin) in
        [(places(), DeviceOrigin::Aged), (places(), DeviceOrigin::Memory), (folder.places(ROOM), DeviceOrigin::File)]
    {
        let (document, found, refusals) = on_shelf(&config, places);
        assert_eq!((found, refusals), (origin, Vec::new()), "{name}");
        assert_eq!(document, fresh, "{name}: device from {origin:?}");
    }
    // Devices of different cases are different.
    std::fs::remove_file(folder.only()).expect("it was written");
}

#[test]
fn t934_no_result_tells_where_its_device_came_from() {
    let folder = Folder::new("t934");
    for (name, sets) in all_cases() {
        same_from_everywhere(&name, &sets, &folder);
    }
}

#[test]
fn t1052_nor_does_that_of_a_device_in_large_pages() {
    let folder = Folder::new("t1052");
    // Four bytes a page make columns of four MiB.
    let large = [PAGE, ("geometry.blocks_per_plane", "4096"), ("initial.age_writes", "0.01")];
    let (name, sets) = case("large pages".into(), &[LOAD, &large].concat());
    same_from_everywhere(&name, &sets, &folder);
}

/// Values that a key may have instead of its own, as a spec gives them.
fn other_values(key: &Key, own: Option<&pumice_types::key::Value>) -> Vec<String> {
    let number = match own {
        Some(pumice_types::key::Value::Int(number)) => *number as f64,
        Some(pumice_types::key::Value::Float(number)) => *number,
        Some(_) | None => 3.0,
    };
    if key.path == "workload.kind" {
        return ["uniform", "zipf", "w10", "pic", "twin:hm_0"].map(|name| format!("\"{name}\"")).to_vec();
    }
    match (key.shape, key.range) {
        (ValueKind::Choice(names), _) => names.iter().map(|name| format!("\"{name}\"")).collect(),
        (ValueKind::Bool, _) => vec!["true".into(), "false".into()],
        (ValueKind::Int, _) => [number + 1.0, number * 2.0, 1.0, 4.0].map(|n| format!("{}", n as i64)).to_vec(),
        (ValueKind::Float, Range::Float(low, high)) => {
            [number / 2.0, number * 1.5, number + 1.0, 0.01].map(|n| format!("{:?}", n.clamp(low, high))).to_vec()
        }
        (ValueKind::FloatOrFloats, _) => {
            let numbers = [number / 2.0, number * 1.5].map(|n| format!("{n:?}"));
            numbers.iter().cloned().chain(numbers.iter().map(|one| format!("[{one}]"))).collect()
        }
        (ValueKind::Floats, _) if key.path.starts_with("power.") => vec!["[0.01, 0.02]".into(), "[40, 400]".into()],
        (ValueKind::Floats | ValueKind::Float | ValueKind::Text, _) => Vec::new(),
    }
}

/// Every valid configuration that differs from this one in one key.
fn neighbours(sets: &[(String, String)]) -> Vec<(&'static str, Config)> {
    let own = config("base", sets);
    let mut values = pumice_types::key::Values::new();
    pumice_types::key::Keys::write(&own, &mut values);
    let with = |key: &'static Key, value: String| {
        let sets = sets.iter().cloned().chain([(key.path.to_string(), value)]).collect();
        let source = SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() };
        Config::resolve(&source).ok().filter(|other| *other != own).map(|other| (key.path, other))
    };
    let of_key = |key: &'static Key| -> Vec<_> {
        let others = other_values(key, values.get(key.path));
        others.into_iter().filter_map(|value| with(key, value)).collect()
    };
    table::rows().iter().flat_map(of_key).collect()
}

/// Small devices: each key is varied several times, and each variant ages its own.
const SMALL: [(&str, &str); 2] = [("geometry.blocks_per_plane", "32"), ("ftl.over_provisioning", "0.4")];

fn bases() -> [Case; 3] {
    let closed = [("host.mode", "closed-loop"), ("host.queue_depth", "4"), ("workload.requests", "600")];
    let scan = [("ftl.kind", "page"), ("ftl.recovery", "scan"), ("run.check", "integrity")];
    let aero = [
        ("ftl.kind", "page"),
        ("erase.scheme", "aero"),
        ("erase.suspension", "pulse"),
        ("host.read_priority", "true"),
        ("host.write_buffer_kib", "32"),
    ];
    [
        case("nftl".into(), &[LOAD, &SMALL, &closed, &[("ftl.merge", "m-merge")]].concat()),
        case("page, recovery".into(), &[LOAD, &SMALL, &closed, &scan].concat()),
        case("page, aero".into(), &[LOAD, &SMALL, &closed, &aero].concat()),
    ]
}

/// A row that says wrongly that its key is read for requests only, or only with a clock, fails here.
#[test]
fn t935_a_key_that_is_not_read_before_the_first_request_leaves_the_aged_device_alone() {
    let (mut varied, mut apart) = (Vec::new(), Vec::new());
    for (name, sets) in bases() {
        let (own, memory) = (config(&name, &sets), memory());
        let identity = AgedIdentity::of(&own, 1.0).expect("aged");
        let places = || Places { memory: Some((memory, ROOM)), ..Places::default() };
        assert_eq!(on_shelf(&own, places()).1, DeviceOrigin::Aged);
        for (key, other) in neighbours(&sets) {
            if AgedIdentity::of(&other, 1.0).as_ref() != Some(&identity) {
                apart.push(key);
                continue;
            }
            varied.push(key);
            // Some cannot run with this trace or that clock, however the device came to be.
            let Ok(fresh) = run(&other, 1.0, &mut |_| true) else { continue };
            let (document, origin, refusals) = on_shelf(&other, places());
            assert_eq!((origin, refusals), (DeviceOrigin::Memory, Vec::new()), "{name}: {key}");
            assert_eq!(document, without_keys(fresh.document), "{name}: {key}");
        }
    }
    for key in ["host.mode", "host.queue_depth", "host.overhead_us", "workload.kind", "run.timed", "power.cuts"] {
        assert!(varied.contains(&key), "{key}: not varied");
    }
    for key in [
        "seed",
        "geometry.page_bytes",
        "ftl.over_provisioning",
        "initial.age_writes",
        "workload.footprint",
        "run.check",
    ] {
        assert!(apart.contains(&key) && !varied.contains(&key), "{key}: the same aged device");
    }
}

#[test]
fn t936_the_identity_holds_every_key_but_those_whose_rows_leave_them_out() {
    for (name, sets) in bases() {
        let own = config(&name, &sets);
        let (identity, held) = (AgedIdentity::of(&own, 1.0).expect("aged"), values_before_requests(&own));
        assert_ne!(AgedIdentity::of(&own, 0.5).expect("aged").sha256, identity.sha256, "{name}: the scale");
        for (key, other) in neighbours(&sets) {
            let found = AgedIdentity::of(&other, 1.0).map(|other| other.sha256);
            // Some keys change which others are read.
            let same = found.as_ref() == Some(&identity.sha256);
            assert_eq!(same, held == values_before_requests(&other) && found.is_some(), "{name}: {key}");
            assert!(!(same && held.contains_key(key)), "{name}: {key}");
        }
        for section in ["geometry.", "timing.t_", "ftl.kind", "ftl.over", "initial.", "seed"] {
            assert!(held.keys().any(|key| key.starts_with(section)), "{name}: nothing of {section}");
        }
    }
}

#[test]
fn t940_of_the_workload_an_aged_device_depends_on_the_footprint_alone() {
    for kind in PatternKind::NAMES {
        let config = config(kind, &case(String::new(), &[LOAD, &[("workload.kind", *kind)]].concat()).1);
        let held = values_before_requests(&config);
        let of_workload: Vec<_> = held.keys().filter(|key| key.starts_with("workload.")).collect();
        assert_eq!(of_workload, [&"workload.footprint"], "{kind}");
    }
}

fn one() -> Config {
    config("one", &case(String::new(), LOAD).1)
}

#[test]
fn t937_a_damaged_or_foreign_snapshot_is_refused_in_one_line_and_made_anew() {
    let (folder, config) = (Folder::new("t937"), one());
    let fresh = without_shelf(&config);
    assert_eq!(on_shelf(&config, folder.places(ROOM)).1, DeviceOrigin::Aged);
    let path = folder.only();
    let sound = std::fs::read(&path).expect("it was written");
    let check = |content: &[u8], expected: &str| {
        std::fs::write(&path, content).expect("a writable folder");
        let (document, origin, refusals) = on_shelf(&config, folder.places(ROOM));
        assert_eq!((origin, refusals.len()), (DeviceOrigin::Aged, 1), "{refusals:?}");
        let line = format!("{}: {expected}; the device is aged anew", path.display());
        assert_eq!((refusals[0].as_str(), document == fresh), (line.as_str(), true));
        assert_eq!(std::fs::read(&path).expect("made anew"), sound);
    };
    let changed = "is cut short or was changed after it was written";
    for at in [20, 200, sound.len() / 2, sound.len() - 65, sound.len() - 33] {
        let mut content = sound.clone();
        content[at] ^= 0x10;
        check(&content, changed);
    }
    check(&sound[..sound.len() / 2], changed);
    check(&sound[..20], changed);
    check(b"", "is not a snapshot; expected format pumice.snapshot/2");
    check(b"{}", "is not a snapshot; expected format pumice.snapshot/2");
    std::fs::write(&path, &sound).expect("a writable folder");
    let foreign = Shelf::new("another build".into(), folder.places(ROOM));
    let line = refused(&foreign, &config);
    assert_eq!(
        line,
        format!("{}: was written by another build of the engine; the device is aged anew", path.display())
    );
    let other = Config { seed: 7, ..config.clone() };
    let in_file = Shelf::new(
        "this build".into(),
        Places { disk: Some((DiskPlace::File(path.clone()), SealKey::of(KEY))), ..Places::default() },
    );
    let line = refused(&in_file, &other);
    assert_eq!(line, format!("{}: is the snapshot of another device; the device is aged anew", path.display()));
}

/// Whoever could write a snapshot could make up the state that a run goes on with: its digest was all that was asked for,
/// and anybody can make that anew. Some states ended in a panic, others in another result.
#[test]
fn t970_a_snapshot_that_was_not_sealed_with_the_key_of_its_reader_is_refused() {
    let (folder, config) = (Folder::new("t970"), one());
    assert_eq!(on_shelf(&config, folder.places(ROOM)).1, DeviceOrigin::Aged);
    let path = folder.only();
    let sound = std::fs::read(&path).expect("it was written");
    let digested = sound.len() - 64;
    let mut without_seal = sound.clone();
    without_seal[digested + 63] ^= 1;
    let mut made_up = sound.clone();
    made_up[digested / 2] ^= 0x10;
    let digest = Sha256::digest(&made_up[..digested]);
    made_up[digested..digested + 32].copy_from_slice(&digest);
    for (content, key) in [(without_seal, KEY), (made_up, KEY), (sound, &b"another key"[..])] {
        std::fs::write(&path, content).expect("a writable folder");
        let line = refused(&Shelf::new("this build".into(), folder.places_of(ROOM, key)), &config);
        let why = "was not written with your key, so nothing vouches for the device in it";
        assert_eq!(line, format!("{}: {why}; the device is aged anew", path.display()));
    }
}

/// The one line with which a shelf refuses what it has for a configuration.
fn refused(shelf: &Shelf, config: &Config) -> String {
    use pumice_config::aged::AgedDevices;
    assert!(shelf.find(&AgedIdentity::of(config, 1.0).expect("aged")).is_none());
    let lines = shelf.refusals();
    assert_eq!(lines.len(), 1);
    lines[0].clone()
}

#[test]
fn t938_what_was_not_used_for_longest_goes_when_there_is_no_more_room() {
    let (folder, memory) = (Folder::new("t938"), memory());
    let with_seed = |seed| Config { seed, ..one() };
    let size = |path: &Path| std::fs::metadata(path).expect("it is there").len();
    on_shelf(&with_seed(1), folder.places(ROOM));
    let (first, room) = (folder.only(), 2 * size(&folder.only()) + 4_096);
    let device = age(&with_seed(1), 1.0, &mut |_| true).expect("it ages").1.len() as u64;
    let places = || Places { memory: Some((memory, 2 * device + 64)), ..folder.places(room) };
    on_shelf(&with_seed(2), places());
    let second = folder.snapshots().into_iter().find(|path| *path != first).expect("another");
    let early = std::fs::File::options().append(true).open(&second).expect("it is there");
    early.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("a file system with times");
    on_shelf(&with_seed(1), places());
    on_shelf(&with_seed(3), places());
    assert!(first.exists() && !second.exists() && folder.snapshots().len() == 2);
    for (seed, origin) in [(1, DeviceOrigin::Memory), (3, DeviceOrigin::Memory), (2, DeviceOrigin::Aged)] {
        let in_memory = Places { memory: Some((memory, 2 * device + 64)), ..Places::default() };
        assert_eq!(on_shelf(&with_seed(seed), in_memory).1, origin, "seed {seed}");
    }
    let nowhere = Folder(first.join("below a file"));
    let (document, _, refusals) = on_shelf(&one(), nowhere.places(ROOM));
    assert_eq!((document, refusals.len()), (without_shelf(&one()), 1));
}

/// Counts the commands that it sees.
#[derive(Default)]
struct Counted(u64);

impl Observer for Counted {
    fn command(&mut self, _start: Time, _end: Time, _command: &FlashCommand) {
        self.0 += 1;
    }
}

#[test]
fn t939_whoever_watches_a_run_sees_its_device_being_aged() {
    let memory = memory();
    let places = || Places { memory: Some((memory, ROOM)), ..Places::default() };
    on_shelf(&one(), places());
    let commands = |config: &Config| {
        let mut counted = Counted::default();
        run_seen_by(config, &mut counted).expect("it runs");
        counted.0
    };
    let shelf = SharedAgedDevices(Arc::new(Shelf::new("this build".into(), places())));
    assert_eq!(commands(&Config { aged_devices: Some(shelf), ..one() }), commands(&one()));
}
