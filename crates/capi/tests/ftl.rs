//! 49x: translation layers in shared objects: the header against the Rust side, the examples, and what is refused or
//! fails, in one line each.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../../../examples/own-ftl-rust/src/lib.rs"]
mod compiled_in;
mod folder;
#[path = "ftl/power.rs"]
mod power;
#[path = "ftl/support.rs"]
mod support;

use std::fs;
use std::mem::{offset_of, size_of};
use std::path::Path;

use pumice_capi::ftl::{
    CChips, CCommand, CCounter, CKey, CLayer, CLayerDevice, CPageAddress, CPlan, CRequest, CSpareArea, CValue,
    FTL_VERSION, load,
};
use pumice_config::{Config, explain, schema, without_effect};
use pumice_ftl::plugin::OwnLayer;
use pumice_lab::conform::{Finding, Verdict, conform};
use pumice_types::{BlockId, Cause, FlashCommand, Lpn, PageAddress, Pb, UnitSet};
use serde_json::Value;

use folder::Folder;
use support::{LOAD, document, error_of, faulty, rust_example, source};

/// `_Static_assert`s that the C structure has this size and these offsets.
macro_rules! asserts {
    ($c:literal, $rust:ty: $($field:ident),+) => {{
        let mut text = format!("_Static_assert(sizeof({}) == {}, \"size\");\n", $c, size_of::<$rust>());
        $(text += &format!(
            "_Static_assert(offsetof({}, {}) == {}, \"{}\");\n",
            $c, stringify!($field), offset_of!($rust, $field), stringify!($field)
        );)+
        text
    }};
}

/// Functions of the header's types, written out: a difference to the Rust side does not compile.
const FUNCTIONS: &str = "
uint64_t capacity(const pumice_ftl_device *, const pumice_ftl_value *);
void *create(const pumice_ftl_device *, const pumice_ftl_value *);
void destroy(void *);
int plans(void *, uint32_t, uint32_t, pumice_ftl_plan *);
int finds(void *, uint32_t, pumice_ftl_page *);
int notes(void *, uint32_t);
int steps(void *, uint32_t, pumice_ftl_plan *);
int works(void *);
uint64_t bytes(void *);
const char *failure(void *);
void *recover(const pumice_ftl_device *, const pumice_ftl_value *, const pumice_ftl_chips *, pumice_ftl_plan *);
int reads_page(uint32_t, uint32_t, pumice_ftl_spare *);
int reads_block(uint32_t, pumice_ftl_spare *);
pumice_ftl_chips chips = { reads_page, reads_block };
uint64_t own_pages(const pumice_ftl_value *, uint64_t);
int writes(void *, uint32_t, uint32_t, uint32_t, pumice_ftl_plan *);
int begins(void *, const pumice_ftl_request *);
int counts(void *, uint64_t *);
struct pumice_ftl_layer layer = { 0, 0, 0, 0, 0, capacity, create, destroy, plans, plans, finds, notes, steps, works,
    notes, bytes, bytes, failure, recover, own_pages, plans, writes, notes, steps, begins, 0, 0, counts, 0, 0 };
";

/// Constants of the header, each with the number that Rust has for it.
const CONSTANTS: [(&str, u32); 26] = [
    ("OK", 0),
    ("NOT_STORED", 1),
    ("FAILED", 2),
    ("LAST", u32::MAX),
    ("AT_ONCE", u32::MAX - 1),
    ("WHOLE_NUMBER", 0),
    ("NUMBER", 1),
    ("SWITCH", 2),
    ("CHOICE", 3),
    ("FOR_HOST", 0),
    ("FOR_COLLECTION", 1),
    ("BLANK", 0),
    ("UNREADABLE", 1),
    ("WRITTEN", 2),
    ("READ", 0),
    ("LOOK", 1),
    ("FOR_MAP", 2),
    ("OF_READ", 0),
    ("OF_WRITE", 1),
    ("OF_TRIM", 2),
    ("OF_FLUSH", 3),
    ("PROGRAM", 2),
    ("COPY", 3),
    ("ERASE", 4),
    ("PARTIAL_ERASE", 5),
    ("SUB_BLOCK_ERASE", 6),
];

#[test]
fn t492_the_header_says_what_rust_has() {
    let equal = |(name, number): &(&str, u32)| format!("_Static_assert(PUMICE_FTL_{name} == {number}u, \"{name}\");\n");
    let constants: String = CONSTANTS.iter().map(equal).collect();
    let text = [
        "#include \"pumice_ftl.h\"\n".to_string(),
        format!("_Static_assert(PUMICE_FTL_VERSION == {}u, \"version\");\n", FTL_VERSION.code()),
        constants,
        asserts!("struct pumice_ftl_command", CCommand: block, page, from_block, from_page, lpn, reserved_0, operand,
            version, op, cause, reserved_1),
        asserts!("struct pumice_ftl_plan", CPlan: command, room, commands, completes, look_up_ns),
        asserts!("struct pumice_ftl_key", CKey: name, default_value, unit, text, choices, low, high, least, most, kind,
            reserved),
        asserts!("struct pumice_ftl_value", CValue: number, whole, given, reserved),
        asserts!("struct pumice_ftl_device", CLayerDevice: channels, chips_per_channel, dies_per_chip, planes_per_die,
            blocks_per_plane, pages_per_block, page_bytes, spare_bytes, in_order, max_splits, sub_blocks,
            bad_blocks_per_plane, bad_block, bad_blocks, over_provisioning, seed, loses_power, runs),
        asserts!("struct pumice_ftl_spare", CSpareArea: written, programmed, lpn, state),
        asserts!("struct pumice_ftl_chips", CChips: page, block),
        asserts!("struct pumice_ftl_page", CPageAddress: block, page),
        asserts!("struct pumice_ftl_request", CRequest: now_ns, lpn, pages, kind, stream),
        asserts!("struct pumice_ftl_counter", CCounter: name, text),
        asserts!("struct pumice_ftl_layer", CLayer: version, size, name, key, keys, capacity, create, destroy, write,
            read, locate, trim, step, works_when_idle, note_failing, map_ram_bytes, state_bytes, failure, recover,
            own_pages, look_up, write_to_stream, holds, force_out, begin_request, counter, counters, counts,
            moves_between_dies, reserved_2),
        FUNCTIONS.to_string(),
    ];
    let folder = Folder::new("header");
    folder.compile("header", &text.concat(), &["-c"]);
}

/// A plug-in's document without what says that it is one.
fn plain(mut document: Value) -> Value {
    for field in ["plugin", "run"] {
        document[field] = Value::Null;
    }
    document
}

#[test]
fn t493_the_example_in_rust_gives_the_same_result_loaded_and_compiled_in() {
    let loaded = load(&rust_example()).unwrap();
    let compiled_in = OwnLayer::compiled_in::<compiled_in::PageLog>().unwrap();
    for sets in [&[][..], &[("ftl.page-log.reserve", "4")], &[("run.timed", "false")]] {
        let sets = [&[("ftl.kind", "plugin:page-log")], sets].concat();
        let document = |layer: &OwnLayer| document(&[LOAD, &sets].concat(), std::slice::from_ref(layer)).unwrap();
        let (loaded, compiled_in) = (document(&loaded), document(&compiled_in));
        assert_eq!(loaded["plugin"]["name"], "page-log");
        assert_eq!(loaded["plugin"]["sha256"].as_str().unwrap().len(), 64);
        assert!(loaded["gc"]["copied_pages"].as_u64().unwrap() > 1000);
        assert_eq!(loaded["gc"]["copied_pages"], loaded["flash"]["programs"]["gc"]);
        assert_eq!(loaded["integrity"]["lost_pages"], 0);
        assert_eq!(plain(loaded), plain(compiled_in));
    }
}

/// The example in C is the same log: it makes the same choices, and so gives the same figures.
#[test]
fn t493_the_example_in_c_gives_the_result_of_the_example_in_rust() {
    let folder = Folder::new("example-c");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/own-ftl-c/own_ftl.c");
    let c = load(&folder.shared("own_ftl.so", &fs::read_to_string(path).unwrap())).unwrap();
    let rust = load(&rust_example()).unwrap();
    let bad = [("geometry.bad_blocks_per_plane", "3"), ("workload.trim_fraction", "0.1")];
    let mut in_c = document(&[LOAD, &bad, &[("ftl.kind", "plugin:page-log-c")]].concat(), &[c]).unwrap();
    let mut in_rust = document(&[LOAD, &bad, &[("ftl.kind", "plugin:page-log")]].concat(), &[rust]).unwrap();
    in_c["gc"]["map"] = in_rust["gc"]["map"].clone();
    for document in [&mut in_c, &mut in_rust] {
        for field in ["plugin", "run", "config", "config_sha256"] {
            document[field] = Value::Null;
        }
    }
    assert!(in_c["gc"]["copied_pages"].as_u64().unwrap() > 1000);
    assert_eq!(in_c, in_rust);
}

#[test]
fn t494_keys_of_a_plug_in_are_checked() {
    let plugins = [load(&rust_example()).unwrap()];
    let config = |sets: &[(&str, &str)]| Config::resolve(&source(sets, &plugins)).map_err(|error| error.to_string());
    let own = config(&[("ftl.kind", "plugin:page-log"), ("ftl.page-log.reserve", "5")]).unwrap();
    assert_eq!(own.to_json()["ftl"]["page-log"]["reserve"], 5);
    assert_eq!(own.to_json()["ftl"]["kind"], "plugin:page-log");
    let other = config(&[("ftl.kind", "plugin:page-log"), ("ftl.page-log.reserve", "6")]).unwrap();
    assert_ne!(own.digest(), other.digest());
    let built_in = config(&[("ftl.kind", "page")]).unwrap();
    assert_eq!(built_in.to_json()["ftl"].get("page-log"), None);

    let refused = |sets: &[(&str, &str)]| config(sets).unwrap_err();
    let text = refused(&[("ftl.page-log.reserve", "0")]);
    assert_eq!(
        text,
        "--set: ftl.page-log.reserve = 0 is not allowed; allowed: a whole number from 1 to 1000 (blocks a plane)"
    );
    assert!(refused(&[("ftl.page-log.reserv", "1")]).contains("nearest valid key: 'ftl.page-log.reserve'"));
    assert!(refused(&[("ftl.kind", "plugin:other")]).contains("\"plugin:page-log\""));
    let none = Config::resolve(&source(&[("ftl.kind", "plugin:page-log")], &[])).unwrap_err().to_string();
    assert!(none.contains("--plugin FILE"), "{none}");
    let text = refused(&[("ftl.kind", "plugin:page-log"), ("ftl.page-log.reserve", "100")]);
    assert_eq!(text, "plug-in \"page-log\": capacity failed: reserve = 100 leaves no room on planes of 64 good blocks");
    let idle = source(&[("ftl.page-log.reserve", "3"), ("ftl.kind", "page")], &plugins);
    let lines = without_effect(&idle, &Config::resolve(&idle).unwrap()).unwrap();
    assert_eq!(lines, ["ftl.page-log.reserve has no effect with ftl.kind = \"page\""]);
    let idle = source(&[("ftl.kind", "plugin:page-log"), ("ftl.gc_policy", "fifo")], &plugins);
    let lines = without_effect(&idle, &Config::resolve(&idle).unwrap()).unwrap();
    let line = "ftl.gc_policy has no effect with ftl.kind = \"plugin:page-log\"; ftl.kind = \"page\" reads it";
    assert_eq!(lines, [line]);
    for merge in ["m-merge", "m-merge-budgeted"] {
        let text = refused(&[("ftl.kind", "plugin:page-log"), ("ftl.merge", merge)]);
        assert!(text.contains("found \"plugin:page-log\""), "{text}");
    }
    for (key, value) in [("ftl.recovery", "summary"), ("ftl.map_place", "cached"), ("ftl.capacity_loss", "0.1")] {
        let text = refused(&[("ftl.kind", "plugin:page-log"), (key, value)]);
        assert!(text.contains("found \"plugin:page-log\""), "{text}");
    }
}

#[test]
fn t494_keys_of_a_plug_in_are_explained_and_in_the_schema() {
    let plugins = [load(&rust_example()).unwrap()];
    let told = explain("ftl.page-log.reserve", &plugins).unwrap();
    assert_eq!((&told["default"], &told["type"]), (&Value::from(2), &Value::from("whole number")));
    assert_eq!(told["source"], "plug-in \"page-log\"");
    let schema = schema(&plugins).unwrap();
    let ftl = &schema["properties"]["ftl"]["properties"];
    assert_eq!(ftl["page-log"]["properties"]["reserve"]["maximum"], 1000);
    assert!(ftl["kind"]["enum"].as_array().unwrap().contains(&"plugin:page-log".into()));
    let twice = [plugins[0].clone(), plugins[0].clone()];
    assert!(Config::resolve(&source(&[], &twice)).unwrap_err().to_string().contains("is given twice"));
}

const GOOD: &str = ".version = PUMICE_FTL_VERSION, .size = sizeof(struct pumice_ftl_layer)";

/// C of a layer whose table has these fields.
fn table(fields: &str) -> String {
    format!(
        "#include \"pumice_ftl.h\"\nconst struct pumice_ftl_layer *pumice_ftl(void) {{ static const struct \
         pumice_ftl_layer l = {{ {fields} }}; return &l; }}\n"
    )
}

/// C of a layer with one key, which has these fields.
fn keyed(key: &str) -> String {
    format!(
        "#include \"pumice_ftl.h\"\nconst struct pumice_ftl_layer *pumice_ftl(void) {{ static const struct \
         pumice_ftl_key k = {{ {key} }}; static const struct pumice_ftl_layer l = {{ {GOOD}, .name = \"k\", \
         .key = &k, .keys = 1 }}; return &l; }}\n"
    )
}

/// Shared objects that hold no translation layer: their names, their C, and what is said of them.
fn no_layers() -> Vec<(&'static str, String, &'static str)> {
    vec![
        ("other.so", "int other(void) { return 1; }\n".to_string(), "exports no function pumice_ftl, so it holds no"),
        (
            "null.so",
            "#include \"pumice_ftl.h\"\nconst struct pumice_ftl_layer *pumice_ftl(void) { return 0; }\n".to_string(),
            "pumice_ftl returned a null pointer",
        ),
        ("old.so", table(".version = 0x00000009u, .size = 8"), "pumice_ftl.h: version 0.9 was asked for"),
        ("new.so", table(".version = PUMICE_FTL_VERSION + 1u, .size = 8"), "pumice_ftl.h: version 1.5 was asked for"),
        ("short.so", table(".version = PUMICE_FTL_VERSION, .size = 16"), "has a table of 16 bytes"),
        ("nameless.so", table(GOOD), "its name is a null pointer"),
        ("named.so", table(&format!("{GOOD}, .name = \"My FTL\"")), "\"My FTL\" is no name of a plug-in"),
        ("empty.so", table(&format!("{GOOD}, .name = \"empty\"")), "plug-in \"empty\": has no function capacity"),
        ("keys.so", table(&format!("{GOOD}, .name = \"k\", .keys = 3")), "plug-in \"k\": has 3 keys"),
        (
            "kind.so",
            keyed(".name = \"x\", .default_value = \"\", .unit = \"\", .text = \"\", .kind = 9"),
            "its key \"x\" has a type or a condition",
        ),
        (
            "limits.so",
            keyed(".name = \"x\", .default_value = \"\", .unit = \"\", .text = \"\", .low = 2, .high = 1, .kind = 1"),
            "its key \"x\" has limits that no number is between",
        ),
        (
            "path.so",
            keyed(".name = \"X y\", .default_value = \"\", .unit = \"\", .text = \"\""),
            "\"X y\" is no name of a key",
        ),
    ]
}

#[test]
fn t495_what_holds_no_translation_layer_is_refused_in_one_line() {
    let folder = Folder::new("refused");
    for (name, text, expected) in no_layers() {
        let error = load(&folder.shared(name, &text)).expect_err(name);
        assert!(error.0.contains(name) && error.0.contains(expected) && !error.0.contains('\n'), "{error}");
    }
    let text = folder.file("text.so", "not a shared object\n");
    let error = load(&text).expect_err("text");
    assert!(error.0.contains("text.so: is not a shared object") && !error.0.contains('\n'), "{error}");
    assert!(load(&folder.0.join("absent.so")).expect_err("absent").0.contains("No such file"));
    assert!(load(&folder.0).expect_err("a folder").0.contains("directory"));
}

#[test]
fn t496_a_name_that_is_a_key_or_section_already_is_refused() {
    let folder = Folder::new("names");
    for name in ["merge", "superblock"] {
        let plugins = [load(&folder.broken(name, &format!("-DNAME=\\\"{name}\\\""))).unwrap()];
        let error = Config::resolve(&source(&[], &plugins)).unwrap_err().to_string();
        assert!(error.contains(&format!("because there is a key ftl.{name}")), "{error}");
    }
}

/// What a faulty plug-in does, how it is compiled from one source, and how the run ends.
const FAULTS: &[(&str, &str, &str)] = &[
    ("fails", "-DFAIL_WRITE", "plug-in \"broken\": write failed: out of patience"),
    ("fails-silently", "-DFAIL_WRITE -DSILENT", "plug-in \"broken\": write failed"),
    ("fails-to-read", "-DFAIL_READ", "plug-in \"broken\": read failed: out of patience"),
    ("fails-to-trim", "-DFAIL_TRIM", "plug-in \"broken\": trim failed: out of patience"),
    ("fails-to-create", "-DFAIL_CREATE", "plug-in \"broken\": create failed: out of patience"),
    ("wrong-place", "-DWRONG_BLOCK", "plug-in \"broken\": planned Read at block 4096 page 0; the device has"),
    ("wrong-page", "-DWRONG_PAGE", "plug-in \"broken\": planned Program at block 0 page 65535; the device has"),
    ("other-page", "-DOTHER_PAGE", "integrity: Read of logical page"),
    ("wrong-locate", "-DWRONG_LOCATE", "plug-in \"broken\": locates logical page "),
    ("loops", "-DLOOP", "plug-in \"broken\": write failed: looped"),
    ("overflows", "-DOVERFLOW", "plug-in \"broken\": planned 131073 commands in one call; allowed: 131072"),
    ("bad-block", "-DUSE_BAD_BLOCK", "flash rule 'bad-block' refuses Program"),
    ("overwrites", "-DOVERWRITE", "flash rule 'erase-before-program' refuses Program"),
    ("lpn", "-DWRONG_LPN", "plug-in \"broken\": planned Program of logical page 4294967295; it has"),
    // Either was noticed only if the page was read, or the device read back at the end: the run lost data and said that
    // no page was lost.
    ("plans-nothing", "-DPLAN_NOTHING", "plug-in \"broken\": planned no program of logical page"),
    ("plans-another", "-DPLAN_ANOTHER", "plug-in \"broken\": planned no program of logical page"),
    // These passed: a read that read nothing cost nothing, one of another page was right about that page, and an old
    // version was noticed if somebody read it.
    ("reads-nothing", "-DREAD_NOTHING", "plug-in \"broken\": planned no read of logical page"),
    ("reads-another", "-DREAD_ANOTHER", "plug-in \"broken\": planned no read of logical page"),
    ("old-version", "-DOLD_VERSION", "plug-in \"broken\": planned no program of logical page"),
    ("own-page", "-DOWN_PAGE=s->pages", "plug-in \"broken\": planned Program of logical page"),
    ("looks-far", "-DLOOK=5", "plug-in \"broken\": planned a command with op 1 and cause 0; allowed: cause 2"),
    (
        "looks-long",
        "-DLOOK=2 -DLOOK_PAGES=2",
        "plug-in \"broken\": planned SpareSearch for Map, which plug-ins may not",
    ),
    ("moves-unasked", "-DMOVE=0", "plug-in \"broken\": planned Program for Gc, which plug-ins may not"),
    ("moves-unread", "-DMOVE=1", "plug-in \"broken\": moves logical page"),
    ("op", "-DWRONG_OP", "plug-in \"broken\": planned a command with op 77, which plug-ins may not"),
    ("takes-time", "-DTAKES_TIME", "plug-in \"broken\": planned the time of a look-up in another call"),
    ("completes", "-DWRONG_COMPLETION=9", "plug-in \"broken\": completes an access at command 9 of 1"),
    ("completes-behind", "-DWRONG_COMPLETION=1", "plug-in \"broken\": completes an access at command 1 of 1"),
    ("forgets", "-DFORGET", "integrity: the FTL does not find logical page"),
    ("no-room", "-DNOTHING", "plug-in \"broken\": write failed: no block left"),
];

#[test]
fn t497_a_faulty_plug_in_ends_the_run_with_one_line() {
    let folder = Folder::new("faults");
    for (name, flags, expected) in FAULTS {
        let plugins = [load(&folder.broken(name, flags)).unwrap()];
        let sets = [
            ("ftl.kind", "plugin:broken"),
            ("workload.trim_fraction", "0.1"),
            ("geometry.bad_blocks_per_plane", "1"),
            ("initial.fill", "0.0"),
            ("workload.requests", if *name == "wrong-locate" { "2000" } else { "20000" }),
        ];
        for timed in ["true", "false"] {
            let sets = [&sets[..], &[("run.timed", timed)]].concat();
            let error = error_of(&[LOAD, &sets].concat(), &plugins);
            assert!(error.contains(expected) && !error.contains('\n'), "{name}, timed = {timed}: {error}");
            // A reason is told if the plug-in gives one, and only then.
            assert_eq!(error.contains("patience"), expected.contains("patience"), "{name}: {error}");
        }
    }
}

/// The loader maps what a file's header promises, and whoever then touched what was missing was killed by SIGBUS.
#[test]
fn t967_a_shared_object_that_is_cut_short_is_refused() {
    let folder = Folder::new("cut-short");
    let path = folder.broken("whole", "");
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for sixteenth in 0..16 {
        let cut = path.with_file_name(format!("cut-{sixteenth}.so"));
        fs::write(&cut, &whole[..whole.len() * sixteenth / 16]).unwrap();
        // The table of sections, which stands last, is not needed to run.
        let Err(text) = load(&cut) else { continue };
        assert!(text.0.contains("shared object") && !text.0.contains('\n'), "{sixteenth}/16: {text}");
        refused += usize::from(text.0.ends_with(": is a shared object that is cut short"));
    }
    assert!(refused > 8, "{refused}");
}

/// Where a layer in Rust goes wrong, and how the run ends.
const PANICS: &[(&str, &str)] = &[
    ("capacity", "plug-in \"faulty\": capacity failed: panicked: no capacity in two lines ("),
    ("new", "plug-in \"faulty\": create failed: panicked: cannot be made ("),
    ("write", "plug-in \"faulty\": write failed: panicked: write 50 of page"),
    ("error", "plug-in \"faulty\": write failed: out of patience"),
    ("loop", "plug-in \"faulty\": write failed: panicked: more than 131072 commands in one plan"),
    ("read", "plug-in \"faulty\": read failed: panicked: read ("),
    ("locate", "plug-in \"faulty\": locate failed: panicked: locate ("),
    ("trim", "plug-in \"faulty\": trim failed: panicked: trim ("),
    ("step", "plug-in \"faulty\": step failed: panicked: step ("),
    ("pause", "plug-in \"faulty\": planned a command with op 1 and cause 1; allowed: cause 2"),
];

#[test]
fn t497_a_panic_inside_a_plug_in_ends_the_run_with_one_line() {
    let plugins = [load(&faulty()).unwrap()];
    let sets = |fault| {
        let sets = [
            ("ftl.kind", "plugin:faulty"),
            ("ftl.faulty.fault", fault),
            ("ftl.faulty.after", "50"),
            ("ftl.faulty.steps", "true"),
            ("workload.trim_fraction", "0.1"),
            ("workload.requests", "3000"),
            ("initial.fill", "0.0"),
        ];
        [LOAD, &sets].concat()
    };
    for (fault, expected) in PANICS {
        let error = error_of(&sets(fault), &plugins);
        assert!(error.starts_with(expected) && !error.contains('\n'), "{fault}: {error}");
    }
    for harmless in ["nowhere", "drop"] {
        let document = document(&sets(harmless), &plugins).unwrap();
        assert_eq!(document["config"]["ftl"]["faulty"]["fault"], harmless);
        assert_eq!(document["integrity"]["lost_pages"], 0);
    }
    let retires = [("erase.scheme", "ispe"), ("erase.max_loops", "4"), ("workload.requests", "100")];
    assert!(document(&[&sets("nowhere")[..], &retires].concat(), &plugins).is_ok());
}

#[test]
fn t498_a_plug_in_that_lies_about_its_size_is_refused() {
    let folder = Folder::new("sizes");
    for (name, flags, expected) in [
        ("more", "-DCAPACITY=1000000000000ull", "says that the host may address 1000000000000 pages; allowed: 1 to"),
        ("none", "-DCAPACITY=0", "plug-in \"broken\": capacity failed"),
    ] {
        let plugins = [load(&folder.broken(name, flags)).unwrap()];
        let error = error_of(&[LOAD, &[("ftl.kind", "plugin:broken")]].concat(), &plugins);
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
    // All good pages are possible, but such a plug-in runs out of blocks when it is filled.
    let plugins = [load(&folder.broken("all", "-DCAPACITY=good_pages(device)")).unwrap()];
    let sets = [("ftl.kind", "plugin:broken"), ("initial.fill", "1.0")];
    let error = error_of(&[LOAD, &sets].concat(), &plugins);
    assert!(error.contains("no block left") && !error.contains('\n'), "{error}");
}

#[test]
fn t499_what_a_plug_in_cannot_do_is_not_asked_of_it() {
    let folder = Folder::new("abilities");
    let plugins = [load(&folder.broken("plain", "")).unwrap()];
    let sets = [("ftl.kind", "plugin:broken"), ("erase.scheme", "ispe"), ("erase.max_loops", "4")];
    let error = Config::resolve(&source(&sets, &plugins)).unwrap_err().to_string();
    assert!(error.contains("a translation layer that retires blocks, found \"plugin:broken\""), "{error}");
    assert!(Config::resolve(&source(&sets[..1], &plugins)).is_ok());
}

/// The example in C, with a text of it replaced.
pub fn altered(folder: &Folder, name: &str, [from, to]: [&str; 2]) -> OwnLayer {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/own-ftl-c/own_ftl.c");
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    load(&folder.shared(&format!("{name}.so"), &text.replace(from, to))).unwrap()
}

/// The example in C, which the command `pumice conform` is tried on, is the same log.
#[test]
fn t488_the_example_conforms() {
    let verdicts = conform(&load(&rust_example()).unwrap(), &[], &mut || true);
    assert!(verdicts.len() > 16);
    for verdict in verdicts {
        let is_declared = verdict.check == "blocks whose erases fail";
        match verdict.finding {
            Finding::Holds => assert!(!is_declared, "{verdict:?}"),
            Finding::NotRun(_) => assert!(is_declared, "{verdict:?}"),
            Finding::Fails { .. } => panic!("{verdict:?}"),
        }
    }
}

/// Faults in the example: what is replaced, what the suite says, and how many requests show it at most.
const SEEDED: &[(&str, [&str; 2], &str, usize)] = &[
    (
        "the last page of a victim is not moved",
        ["page < (victim + 1) * pages; page++", "page + 1 < (victim + 1) * pages; page++"],
        "",
        60,
    ),
    ("bad blocks are used", ["if (log->closed[p * log->blocks_per_plane + nth] != 2)", ""], "bad-block", 40),
    (
        "a trim gives up another page",
        [
            "uint32_t page = log->page_of[lpn];\n    if (page",
            "lpn ^= lpn == 5;\n    uint32_t page = log->page_of[lpn];\n    if (page",
        ],
        "",
        60,
    ),
];

#[test]
fn t489_a_fault_is_found_and_shown_by_few_requests() {
    let folder = Folder::new("seeded");
    for (nth, (what, change, text, most)) in SEEDED.iter().enumerate() {
        let layer = altered(&folder, &format!("fault-{nth}"), *change);
        let verdicts = conform(&layer, &[], &mut || true);
        let failed = verdicts.iter().find_map(|verdict| match &verdict.finding {
            Finding::Fails { text, requests } if !requests.is_empty() => Some((text, requests)),
            Finding::Fails { .. } | Finding::Holds | Finding::NotRun(_) => None,
        });
        let (found, requests) = failed.unwrap_or_else(|| panic!("{what}: not found"));
        assert!(found.contains(text) && !found.contains('\n'), "{what}: {found}");
        assert!(requests.len() <= *most, "{what}: {} requests: {requests:?}", requests.len());
    }
}

#[test]
fn t463_a_layer_is_tried_with_every_stream_that_it_places() {
    let folder = Folder::new("stream");
    let layer = load(&folder.broken("stream", "-DCHATTY -DFAIL_STREAM=5")).unwrap();
    let verdicts = conform(&layer, &[], &mut || true);
    let fails = |verdict: &Verdict| matches!(&verdict.finding, Finding::Fails { text, .. } if text.contains("write_to_stream failed"));
    assert!(verdicts.iter().any(fails), "{verdicts:?}");
}

/// A layer that says everything that version 1.2 has: it reads a page of its own map before each access, places the
/// streams of the host apart, moves pages from die to die, and counts requests.
#[test]
fn t478_a_layer_speaks_of_its_map_of_streams_of_requests_and_of_moves() {
    let folder = Folder::new("chatty");
    let plugins = [load(&folder.broken("chatty", "-DCHATTY")).unwrap()];
    let sets = [
        ("ftl.kind", "plugin:broken"),
        ("workload.requests", "600"),
        ("initial.fill", "0.0"),
        ("workload.kind", "streams"),
        ("workload.stream_share", "[0.5, 0.0, 0.5]"),
    ];
    for timed in ["true", "false"] {
        let found = document(&[LOAD, &sets, &[("run.timed", timed)]].concat(), &plugins).unwrap();
        let count =
            |path: &str| found.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {found}"));
        let (reads, writes) = (count("/host/read/requests"), count("/host/write/requests"));
        assert_eq!(count("/plugin/counts/requests"), reads + writes);
        assert_eq!(count("/plugin/counts/moved"), count("/flash/programs/gc"));
        assert_eq!(count("/plugin/counts/of_map"), count("/flash/programs/map"));
        assert_eq!(count("/plugin/counts/looks"), count("/flash/reads/map"));
        // Half of the requests are of stream 2, and write two pages each.
        let streamed = count("/plugin/counts/streamed") / 2;
        assert!(streamed.is_multiple_of(2) && streamed.abs_diff(writes) < writes / 5, "{streamed} of {writes}");
        assert!(count("/plugin/counts/moved") > 5 && count("/plugin/counts/of_map") > 5, "{}", found["plugin"]);
        assert_eq!(count("/integrity/lost_pages"), 0);
    }
}

#[test]
fn t491_commands_come_back_from_c_as_they_went() {
    let page = |block, page| PageAddress::new(BlockId(block), page);
    let commands = [
        FlashCommand::read(Cause::Host, page(3, 4), Lpn(9), 7),
        FlashCommand::program(Cause::Host, page(3, 5), Lpn(8), 255, 0),
        FlashCommand::copy(page(1, 2), page(3, 6), Lpn(7), 0),
        FlashCommand::erase(BlockId(1)),
        FlashCommand::partial_erase(BlockId(2), Pb(5)),
        FlashCommand::sub_block_erase(BlockId(2), UnitSet(0b1010)),
        FlashCommand::look(page(4, 5), Lpn(3)),
        FlashCommand::read(Cause::Map, page(3, 4), Lpn(9), 7),
        FlashCommand::moved(page(1, 2), page(3, 6), Lpn(7), 9, 0),
    ];
    for command in commands {
        // SAFETY: a command of the engine is one of C as well, padding aside, which nobody reads.
        let plain = unsafe { &*std::ptr::from_ref(&command).cast::<CCommand>() };
        assert_eq!(plain.command(), Some(command));
        assert_eq!(
            (plain.block, plain.page, plain.operand),
            (command.target.block.0, command.target.page, command.operand())
        );
    }
    for op in [7, 8, 255] {
        let command = CCommand { op, ..CCommand::default() };
        assert_eq!(command.command(), None);
        assert!(command.refusal().contains(&format!("op {op}, which")));
    }
    for cause in [3, 4, 5, 9, 255] {
        let read = CCommand { cause, ..CCommand::default() };
        assert_eq!(read.command(), None);
        assert!(read.refusal().contains(&format!("op 0 and cause {cause}; allowed: cause 0, 1, 2")));
    }
}
