//! 48x: policies in shared objects: the header against the Rust side, the example against the built-in policy, and
//! what is refused, in one line each.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests, which show what they found")]

mod folder;

use std::ffi::c_void;
use std::fs;
use std::mem::{offset_of, size_of};
use std::path::Path;

use pumice_capi::policy::{
    Addresses, CDevice, CErase, CPage, CPlane, CPolicy, POLICY_VERSION, StatePage, at_addresses, load,
};
use pumice_config::{Config, SpecSource};
use pumice_engine::run;
use pumice_ftl::policy::{Decisions, OwnPolicy, PageToPlace, SuspensionPoint};
use pumice_ftl::victims::columns::{BlockLife, BlockRow};
use pumice_types::{DieId, Lpn, PlaneId, Time};
use serde_json::Value;

use folder::Folder;

/// `_Static_assert`s that the C structure has this size and these offsets.
macro_rules! asserts {
    ($c:literal, $rust:ty: $($field:ident $(= $offset:expr)?),+) => {{
        let mut text = format!("_Static_assert(sizeof({}) == {}, \"size\");\n", $c, size_of::<$rust>());
        $(text += &format!("_Static_assert(offsetof({}, {}) == {}, \"{}\");\n", $c, stringify!($field), asserts!(@ $rust, $field $(, $offset)?), stringify!($field));)+
        text
    }};
    (@ $rust:ty, $field:ident) => { offset_of!($rust, $field) };
    (@ $rust:ty, $field:ident, $offset:expr) => { $offset };
}

/// The types of functions at addresses, written out: a difference to the header does not compile.
const FLAT: &str = "
uint32_t about_plane(uint32_t, uint64_t, const pumice_block *, uint32_t, const uint32_t *, const double *, uint32_t);
pumice_flat_plane about_plane;
uint32_t about_page(uint32_t, uint32_t, uint64_t, uint32_t);
pumice_flat_page about_page;
uint32_t about_erase(uint32_t, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t);
pumice_flat_erase about_erase;
uint32_t state_plane(void *, uint32_t, uint64_t, const pumice_block *, const pumice_block_life *, uint32_t,
                     const uint32_t *, const double *, uint32_t);
pumice_state_plane state_plane;
uint32_t state_page(void *, uint32_t, uint32_t, uint64_t, uint32_t);
pumice_state_page state_page;
uint32_t state_erase(void *, uint32_t, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t, uint32_t);
pumice_state_erase state_erase;
";

#[test]
fn t480_the_header_says_what_rust_has() {
    let text = [
        "#include <stddef.h>\n#include \"pumice_policy.h\"\n".to_string(),
        format!("_Static_assert(PUMICE_POLICY_VERSION == {}u, \"version\");\n", POLICY_VERSION.code()),
        format!("_Static_assert(PUMICE_STREAMS_MAX == {}u, \"streams\");\n", pumice_ftl::policy::STREAMS_MAX),
        format!("_Static_assert(PUMICE_NO_BLOCK == {}u, \"no block\");\n", pumice_ftl::victims::columns::NO_BLOCK),
        asserts!("struct pumice_block", BlockRow: changed = BlockRow::CHANGED_AT, erases = BlockRow::ERASES_AT,
            valid = BlockRow::VALID_AT, stream = BlockRow::STREAM_AT, closed = BlockRow::CLOSED_AT),
        asserts!("struct pumice_block_life", BlockLife: opened = BlockLife::OPENED_AT, closed = BlockLife::CLOSED_AT),
        asserts!("struct pumice_device", CDevice: planes, blocks_per_plane, pages_per_block, user_pages, seed, value),
        asserts!("struct pumice_plane", CPlane: now, plane, blocks, counts, reserved, block, oldest, age, life),
        asserts!("struct pumice_erase", CErase: now_ns, done_ns, total_ns, die, suspensions, waiting_reads, urgent),
        asserts!("struct pumice_page", CPage: now, lpn, plane, copied_from, reserved),
        asserts!("struct pumice_policy", CPolicy: version, size, name, create, destroy, victim, placement, streams,
            reserved, suspend, wear_swap, failure, key, keys),
        FLAT.to_string(),
        "int main(void) { return 0; }\n".to_string(),
    ];
    Folder::new("header").compile("header", &text.concat(), &[]);
}

const PAGE: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.merge", "block-erase"),
    ("partial_erase.unit", "none"),
    ("ftl.over_provisioning", "0.2"),
    ("workload.footprint", "1.0"),
    ("workload.read_fraction", "0.0"),
    ("workload.kind", "zipf"),
    ("initial.fill", "0.9"),
];

/// The document of a run of the tiny device, without what differs because a policy is named.
fn document(policy: Option<OwnPolicy>, sets: &[(&str, &str)]) -> Result<Value, String> {
    let sets = [PAGE, sets].concat().into_iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let source = SpecSource { preset: Some("tiny".into()), sets, own_policy: policy, ..SpecSource::default() };
    let config = Config::resolve(&source).map_err(|error| error.to_string())?;
    let mut document = run(&config, 1.0, &mut |_| true).map_err(|error| error.to_string())?.document;
    document["policy"] = Value::Null;
    document["run"] = Value::Null;
    Ok(document)
}

#[test]
fn t481_the_example_in_c_gives_the_result_of_the_built_in_policy() {
    let folder = Folder::new("example");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies/cost_benefit.c");
    let object = folder.shared("cost_benefit.so", &fs::read_to_string(path).unwrap());
    let policy = load(&object).unwrap();
    assert_eq!((policy.0.name(), policy.0.decides().names()), ("cost-benefit in C", vec!["victim"]));
    let sets = [("ftl.gc_policy", "cost-benefit")];
    let (own, built_in) = (document(Some(policy), &sets).unwrap(), document(None, &sets).unwrap());
    assert!(built_in["gc"]["copied_pages"].as_f64().unwrap() > 1000.0);
    assert_eq!(own, built_in);
}

/// A policy with every entry and a state. It counts calls in its context, and names streams by turns.
const STATEFUL: &str = r#"
#include <stdlib.h>
#include "pumice_policy.h"
struct state { uint64_t calls; uint64_t limit; uint32_t blocks; };
static void *create(const pumice_device *device)
{
    struct state *state = calloc(1, sizeof *state);
    state->blocks = device->blocks_per_plane;
    state->limit = (uint64_t)device->value[0].whole;
    return state;
}
static void destroy(void *context) { free(context); }
static uint32_t victim(void *context, const pumice_plane *plane)
{
    struct state *state = context;
    state->calls++;
    if (plane->blocks != state->blocks)
        return PUMICE_NO_BLOCK;
    for (uint32_t block = 0; block < plane->blocks; block++)
        if (plane->block[block].closed
            && (plane->life[block].opened > plane->life[block].closed || plane->life[block].closed > plane->now))
            return PUMICE_NO_BLOCK;
    uint32_t fewest = PUMICE_NO_BLOCK;
    for (uint32_t block = 0; block < plane->blocks; block++)
        if (plane->block[block].closed && (fewest == PUMICE_NO_BLOCK || plane->block[block].valid < plane->block[fewest].valid))
            fewest = block;
    return fewest;
}
static uint32_t placement(void *context, const pumice_page *page)
{
    struct state *state = context;
    state->calls++;
    return page->copied_from == PUMICE_FROM_HOST ? page->lpn % 2 : 2;
}
static uint32_t suspend(void *context, const pumice_erase *erase) { (void)context; return erase->done_ns * 2 > erase->total_ns; }
static uint32_t wear_swap(void *context, const pumice_plane *plane) { (void)context; (void)plane; return PUMICE_NO_BLOCK; }
static const char *failure(void *context) { struct state *state = context; return state->calls > state->limit ? "broke\nhere" : 0; }
static const struct pumice_ftl_key limit = {
    .name = "limit", .default_value = "1000000000", .unit = "calls", .text = "Fails behind these.", .most = INT64_MAX,
};
const struct pumice_policy *pumice_policy(void)
{
    static const struct pumice_policy policy = {
        PUMICE_POLICY_VERSION, sizeof(struct pumice_policy), "all", create, destroy, victim, placement, 3, 0, suspend,
        wear_swap, failure, &limit, 1,
    };
    return &policy;
}
"#;

#[test]
fn t482_every_entry_is_asked_and_a_state_lives_for_one_run() {
    let folder = Folder::new("stateful");
    let policy = load(&folder.shared("all.so", STATEFUL)).unwrap();
    assert_eq!(policy.0.decides().names(), ["victim", "placement", "suspend", "wear_swap"]);
    let sets = [
        ("erase.scheme", "ispe"),
        ("erase.suspension", "pulse"),
        ("host.read_priority", "true"),
        ("ftl.over_provisioning", "0.3"),
    ];
    let first = document(Some(policy.clone()), &sets).unwrap();
    assert_eq!(first, document(Some(policy.clone()), &sets).unwrap(), "the state of a run ends with it");
    assert_eq!(first["config"]["policy"]["limit"], 1_000_000_000);
    let error = document(Some(policy.clone()), &[&sets[..], &[("policy.limit", "1000")]].concat()).unwrap_err();
    assert_eq!(error, "policy \"all\": broke here");
    let error = document(Some(policy), &[("policy.limits", "1000")]).unwrap_err();
    assert!(error.ends_with("unknown key 'policy.limits'; nearest valid key: 'policy.limit'"), "{error}");
    let error = document(None, &[("policy.limit", "1000")]).unwrap_err();
    assert!(error.contains("unknown key 'policy.limit'"), "{error}");
    let cuts = [
        ("initial.age_writes", "0"),
        ("ftl.over_provisioning", "0.4"),
        ("ftl.recovery", "scan"),
        ("power.cuts", "20"),
        ("run.check", "integrity"),
    ];
    let under_cuts = [&sets[..], &cuts].concat();
    let able = STATEFUL.replace("wear_swap, failure,", "0, failure,");
    // A function that nobody takes is refused by the compiler.
    let able = able.lines().filter(|line| !line.contains("wear_swap(")).collect::<Vec<_>>().join("\n");
    let policy = load(&folder.shared("able.so", &able)).unwrap();
    let cut = document(Some(policy.clone()), &under_cuts).unwrap();
    assert_eq!(cut, document(Some(policy), &under_cuts).unwrap(), "the state ends with each power cut too");
    assert_eq!(cut["power"]["broken_promises"], 0);
    assert!(cut["power"]["cuts"].as_u64().unwrap() >= 10, "{}", cut["power"]);
}

#[test]
fn t469_a_victim_that_is_none_is_told() {
    let none = STATEFUL.replace("plane->blocks != state->blocks", "plane->blocks");
    let policy = load(&Folder::new("none").shared("none.so", &none)).unwrap();
    let sets = [("erase.scheme", "ispe"), ("erase.suspension", "pulse"), ("host.read_priority", "true")];
    let error = document(Some(policy), &[&sets[..], &[("ftl.over_provisioning", "0.3")]].concat()).unwrap_err();
    assert_eq!(error, "policy \"all\": victim named no block");
}

/// A policy in C with these fields in its table.
fn table(fields: &str) -> String {
    format!(
        "#include \"pumice_policy.h\"\nstatic uint32_t f(void *c, const pumice_page *p) {{ (void)c; (void)p; return 0; }}\n\
         const struct pumice_policy *pumice_policy(void) {{ (void)f; static const struct pumice_policy p = {{ {fields} }}; return &p; }}\n"
    )
}

const GOOD: &str = ".version = PUMICE_POLICY_VERSION, .size = sizeof(struct pumice_policy)";

#[test]
fn t468_a_policys_name_is_a_line_of_at_most_80_characters() {
    let folder = Folder::new("named");
    let named = |file: &str, name: &str| {
        let text = table(&format!("{GOOD}, .name = \"{name}\", .placement = f, .streams = 1"));
        load(&folder.shared(file, &text)).map(|policy| policy.0.name().chars().count())
    };
    assert_eq!(named("longest.so", &"n".repeat(80)).expect("a name"), 80);
    for (file, name) in [("empty.so", ""), ("long.so", &"n".repeat(81)), ("lines.so", "two\\nlines")] {
        let error = named(file, name).expect_err(file);
        assert!(error.0.contains("is empty, longer than 80 characters or has control characters"), "{error}");
    }
}

#[test]
fn t483_what_is_no_policy_is_refused_in_one_line() {
    let folder = Folder::new("refused");
    let cases = [
        (
            "other.so",
            "int other(void) { return 1; }\n".to_string(),
            "exports no function pumice_policy, so it is no policy",
        ),
        (
            "null.so",
            "#include \"pumice_policy.h\"\nconst struct pumice_policy *pumice_policy(void) { return 0; }\n".to_string(),
            "pumice_policy returned a null pointer",
        ),
        ("old.so", table(".version = 0x00000009u, .size = 8"), "pumice_policy.h: version 0.9 was asked for"),
        ("new.so", table(".version = 0x00020000u, .size = 8"), "pumice_policy.h: version 2.0 was asked for"),
        ("short.so", table(".version = PUMICE_POLICY_VERSION, .size = 16"), "has a table of 16 bytes"),
        ("idle.so", table(&format!("{GOOD}, .name = \"idle\"")), "decides nothing"),
        (
            "streams.so",
            table(&format!("{GOOD}, .name = \"s\", .placement = f, .streams = 9")),
            "a placement of 9 streams",
        ),
        ("nameless.so", table(&format!("{GOOD}, .placement = f, .streams = 1")), "its policy has no name"),
    ];
    for (name, text, expected) in cases {
        let error = load(&folder.shared(name, &text)).expect_err(name);
        assert!(error.0.contains(name) && error.0.contains(expected) && !error.0.contains('\n'), "{error}");
    }
    let text = folder.0.join("text.so");
    fs::write(&text, "not a shared object\n").unwrap();
    let error = load(&text).expect_err("text");
    assert!(error.0.contains("text.so: is not a shared object") && !error.0.contains('\n'), "{error}");
    assert!(load(&folder.0.join("absent.so")).expect_err("absent").0.contains("absent.so: No such file"));
    assert!(load(&folder.0).expect_err("a folder").0.contains("directory"));
}

#[test]
fn t484_without_an_address_there_is_an_error_and_no_call() {
    let mut decisions = at_addresses(Addresses::default());
    let page = PageToPlace { lpn: Lpn(0), plane: PlaneId(0), now: 0, copied_from: None };
    assert!(decisions.placement(&page).is_err());
    let erase = SuspensionPoint {
        die: DieId(0),
        now: Time::ZERO,
        done: Time::ZERO,
        total: Time(1),
        suspensions: 0,
        waiting_reads: 1,
        is_urgent: false,
    };
    assert!(decisions.suspend(&erase).is_err());
}

extern "C" fn second_stream(lpn: u32, plane: u32, now: u64, copied_from: u32) -> u32 {
    assert_eq!((plane, now, copied_from), (2, 9, 255));
    u32::from(lpn == 7) + 1
}

#[test]
fn t485_a_function_at_an_address_is_called_with_what_the_header_says() {
    let address = second_stream as extern "C" fn(u32, u32, u64, u32) -> u32 as usize;
    let mut decisions = at_addresses(Addresses { placement: address, ..Addresses::default() });
    let page = PageToPlace { lpn: Lpn(7), plane: PlaneId(2), now: 9, copied_from: None };
    assert_eq!(decisions.placement(&page), Ok(2));
    assert_eq!(decisions.placement(&PageToPlace { lpn: Lpn(8), ..page }), Ok(1));
}

extern "C" fn counting_stream(state: *mut c_void, lpn: u32, plane: u32, now: u64, copied_from: u32) -> u32 {
    assert_eq!((plane, now, copied_from), (2, 9, 1));
    // SAFETY: the test gives the address of a number.
    let calls = unsafe { &mut *state.cast::<u32>() };
    *calls += 1;
    lpn + *calls
}

#[test]
fn t478_a_function_with_a_state_is_given_its_memory() {
    let mut calls = 0u32;
    let placement = counting_stream as StatePage as usize;
    let addresses = Addresses { placement, state: (&raw mut calls) as usize, ..Addresses::default() };
    let mut decisions = at_addresses(addresses);
    let page = PageToPlace { lpn: Lpn(1), plane: PlaneId(2), now: 9, copied_from: Some(1) };
    assert_eq!((decisions.placement(&page), decisions.placement(&page)), (Ok(2), Ok(3)));
    assert_eq!(calls, 2);
}

/// Pages whose death is near together are written together: the less is copied, the better that is foreseen. The order
/// is that of the paper (FAST'22, Figure 12): without separation, host and collection apart, SepBIT.
#[test]
fn t479_sepbit_copies_less_than_copies_apart_and_these_less_than_no_separation() {
    let folder = Folder::new("sepbit");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies/sepbit.c");
    let sepbit = load(&folder.shared("sepbit.so", &fs::read_to_string(path).unwrap())).unwrap();
    for theta in ["0.9", "1.1"] {
        let amplification = |policy, hot_cold| {
            let sets = [
                ("geometry.channels", "1"),
                ("geometry.planes_per_die", "1"),
                ("geometry.blocks_per_plane", "800"),
                ("geometry.pages_per_block", "64"),
                ("ftl.over_provisioning", "0.15"),
                ("ftl.gc_policy", "cost-benefit"),
                ("ftl.hot_cold", hot_cold),
                ("workload.zipf_theta", theta),
                ("workload.requests", "200000"),
                ("initial.fill", "1.0"),
                ("initial.age_writes", "4.0"),
                ("run.timed", "false"),
            ];
            document(policy, &sets).unwrap()["write_amplification"].as_f64().unwrap()
        };
        let (none, copies) = (amplification(None, "mixed"), amplification(None, "gc"));
        let sepbit = amplification(Some(sepbit.clone()), "mixed");
        println!("zipf {theta}: NoSep {none:.3}, SepGC {copies:.3}, SepBIT {sepbit:.3}");
        assert!(none > copies && copies > sepbit, "theta {theta}: {none}, {copies}, {sepbit}");
    }
}
