//! `pumice_chip.h` and `pumice_device.h` against the Rust side: every function with its types, every number, the layout of every struct.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use pumice_capi::InterfaceVersion;
use pumice_capi::chip::{BYTE_PROGRAMS, CChipCounts, CChipInfo, CHIP_VERSION, ChipOptions, ChipStatus};
use pumice_capi::device::{
    CDeviceCompletion, CDeviceInfo, CDeviceOptions, CDeviceRequest, DEVICE_VERSION, DeviceStatus,
};
use pumice_capi::torture::{CFirmware, FIRMWARE_VERSION};
use pumice_chip::{ChipCounts, CutOutcome, Illegal};
use pumice_device::{Device, KINDS, Status};
use pumice_types::{Choice, RequestKind};

/// Functions by name, with the Rust types of what they take and, last, of what they return.
type Functions = BTreeMap<String, Vec<String>>;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header(of: &str) -> String {
    let text = fs::read_to_string(folder().join(format!("include/pumice_{of}.h"))).expect("the header is there");
    let mut code = String::new();
    for (nth, piece) in text.split("/*").enumerate() {
        code += if nth == 0 { piece } else { piece.split_once("*/").expect("comments end").1 };
    }
    code
}

/// The Rust type of a C declaration such as `const void *data`.
fn rust_type(declaration: &str) -> String {
    let base = declaration.trim().trim_start_matches("const ").split([' ', '*']).next().unwrap_or_default();
    let base = match base {
        "uint32_t" => "u32",
        "uint64_t" | "pumice_device" => "u64",
        "size_t" => "usize",
        "int" => "c_int",
        "char" => "c_char",
        "void" => "c_void",
        "pumice_chip" => "ChipHandle",
        "pumice_chip_snapshot" => "ChipSnapshot",
        "pumice_chip_options" => "ChipOptions",
        "pumice_chip_info" => "CChipInfo",
        "pumice_chip_counts" => "CChipCounts",
        "pumice_device_options" => "CDeviceOptions",
        "pumice_device_info" => "CDeviceInfo",
        "pumice_device_request" => "CDeviceRequest",
        "pumice_device_completion" => "CDeviceCompletion",
        other => panic!("the test knows no C type '{other}' in '{declaration}'"),
    };
    let stars = declaration.matches('*').count();
    let constant = declaration.trim().starts_with("const ");
    let pointer = |level: usize| if level == 0 && constant { "*const " } else { "*mut " };
    // The innermost pointer is the one to constant memory; Rust writes it last.
    let pointers: String = (0..stars).rev().map(pointer).collect();
    format!("{pointers}{base}")
}

fn functions_of_the_header(of: &str) -> Functions {
    let header = header(of);
    let mut found = Functions::new();
    for statement in header.split(';') {
        let statement = statement.trim().lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ");
        let Some((head, arguments)) = statement.trim_end().strip_suffix(')').and_then(|text| text.split_once('('))
        else {
            continue;
        };
        let Some((returned, name)) = head.trim().rsplit_once([' ', '*']) else { continue };
        if statement.contains("typedef") || !name.starts_with(&format!("pumice_{of}_")) {
            continue;
        }
        let returned = if head.contains('*') { format!("{returned}*") } else { returned.to_string() };
        let returned = returned.rsplit(['{', '}', '"']).next().unwrap_or_default().trim().to_string();
        let arguments = arguments.split(',').filter(|argument| argument.trim() != "void");
        let mut types: Vec<String> = arguments.map(rust_type).collect();
        types.push(if returned == "void" { String::new() } else { rust_type(&returned) });
        found.insert(name.to_string(), types);
    }
    found
}

/// The exported functions of the Rust side, as its source declares them.
fn functions_of_the_source(of: &str) -> Functions {
    let mut found = Functions::new();
    for file in fs::read_dir(folder().join("src").join(of)).expect("readable") {
        let text = fs::read_to_string(file.expect("readable").path()).expect("readable");
        for (at, _) in text.match_indices("extern \"C\" fn ") {
            let rest = &text[at + "extern \"C\" fn ".len()..];
            let (head, _) = rest.split_once('{').expect("a body");
            let (name, rest) = head.split_once('(').unwrap_or_default();
            if !name.starts_with(&format!("pumice_{of}_")) {
                continue;
            }
            let (arguments, returned) = rest.rsplit_once(')').expect("closed");
            let types = arguments.split(',').filter_map(|argument| argument.split_once(':'));
            let mut types: Vec<String> = types.map(|(_, name)| name.trim().to_string()).collect();
            types.push(returned.trim().trim_start_matches("->").trim().to_string());
            assert!(found.insert(name.to_string(), types).is_none());
        }
    }
    found
}

#[test]
fn t071_the_header_declares_every_exported_function_with_its_types_and_no_other() {
    for (of, least) in [("chip", 26), ("device", 18)] {
        let (header, source) = (functions_of_the_header(of), functions_of_the_source(of));
        assert!(source.len() >= least, "functions are found: {source:#?}");
        assert_eq!(header, source);
    }
}

/// What the C compiler says that the header means: one `name value` a line.
fn numbers_of_the_header(lines: &[String]) -> BTreeMap<String, u64> {
    let folder = std::env::temp_dir().join(format!("pumice-header-{}-{}", std::process::id(), lines.len()));
    fs::create_dir_all(&folder).expect("a folder for the program");
    let (source, program) = (folder.join("numbers.c"), folder.join("numbers"));
    let prints: String =
        lines.iter().map(|line| format!("    printf(\"{line} %llu\\n\", (unsigned long long)({line}));\n")).collect();
    let text = format!(
        "#include <stdio.h>\n#include \"pumice_firmware.h\"\n#include \"pumice_device.h\"\nint main(void) {{\n{prints}    return 0;\n}}\n"
    );
    fs::write(&source, text).expect("written");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let include = folder_of_the_header();
    let flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", &include, "-o"];
    let built = Command::new(compiler).args(flags).arg(&program).arg(&source).status().expect("a C compiler");
    assert!(built.success(), "the header compiles without a warning");
    let output = Command::new(&program).output().expect("runs");
    fs::remove_dir_all(&folder).expect("removed");
    let text = String::from_utf8(output.stdout).expect("text");
    let pairs = text.lines().filter_map(|line| line.rsplit_once(' '));
    pairs.map(|(name, value)| (name.to_string(), value.parse().expect("a number"))).collect()
}

fn folder_of_the_header() -> String {
    folder().join("include").to_str().expect("a path that is text").to_string()
}

/// Members of a struct with their offsets, as C and Rust are to agree on them.
macro_rules! members {
    ($rust:ty, $c:literal: $($member:ident),+) => {
        [
            vec![(format!("sizeof({})", $c), size_of::<$rust>() as u64)],
            vec![$((format!("offsetof({}, {})", $c, stringify!($member)), offset_of!($rust, $member) as u64)),+],
        ]
        .concat()
    };
}

/// `pumice_firmware.h` has one struct and one entry.
#[test]
fn t078_the_table_of_firmware_is_laid_out_as_the_library_reads_it() {
    let expected: BTreeMap<String, u64> = [
        vec![("PUMICE_FIRMWARE_VERSION".to_string(), u64::from(FIRMWARE_VERSION.code()))],
        members!(CFirmware, "pumice_firmware": version, size, name, steps, start, stop, format, mount, work, check),
    ]
    .concat()
    .into_iter()
    .collect();
    let names: Vec<String> = expected.keys().cloned().collect();
    assert_eq!(numbers_of_the_header(&names), expected);
}

/// Names and numbers of versions, statuses and other numbers that are no closed set of the library's.
fn single_numbers() -> Vec<(String, u64)> {
    [
        ("VERSION", u64::from(CHIP_VERSION.code())),
        ("BYTE_PROGRAMS", u64::from(BYTE_PROGRAMS)),
        ("OK", ChipStatus::Ok as u64),
        ("REFUSED", ChipStatus::Refused as u64),
        ("UNCORRECTABLE", ChipStatus::Uncorrectable as u64),
        ("FAILED", ChipStatus::Failed as u64),
        ("POWER_LOST", ChipStatus::PowerLost as u64),
        ("MISUSE", ChipStatus::Misuse as u64),
        ("BAD_SPEC", ChipStatus::BadSpec as u64),
        ("BAD_VERSION", ChipStatus::BadVersion as u64),
        ("INTERNAL", ChipStatus::Internal as u64),
    ]
    .map(|(name, number)| (format!("PUMICE_CHIP_{name}"), number))
    .to_vec()
}

/// Names and numbers of a closed set.
fn numbered<T: Choice>(what: &str) -> Vec<(String, u64)> {
    let named =
        |(place, choice): (usize, &T)| (format!("PUMICE_CHIP_{what}_{}", choice.name().to_uppercase()), place as u64);
    T::ALL.iter().enumerate().map(named).collect()
}

#[test]
fn t072_numbers_and_layouts_of_the_header_are_those_of_the_library() {
    let expected: BTreeMap<String, u64> = [
        single_numbers(),
        numbered::<Illegal>("ILLEGAL"),
        numbered::<CutOutcome>("CUT"),
        members!(ChipOptions, "pumice_chip_options": version, size, preset, spec, spec_name, on_refusal, context,
            page_programs, pair_distance, illegal, reserved),
        members!(CChipInfo, "pumice_chip_info": size, blocks, blocks_per_plane, pages_per_block, page_bytes, oob_bytes,
            max_splits, sub_blocks),
        members!(CChipCounts, "pumice_chip_counts": size, powered, time_ns),
        ChipCounts::default()
            .named()
            .into_iter()
            .zip((offset_of!(CChipCounts, counts) as u64..).step_by(8))
            .map(|((name, _), at)| (format!("offsetof(pumice_chip_counts, {name})"), at))
            .collect(),
    ]
    .concat()
    .into_iter()
    .collect();
    compare("chip", &expected);
}

#[test]
fn t082_numbers_and_layouts_of_the_devices_header_are_those_of_the_library() {
    let status = |status: DeviceStatus| {
        let name = format!("{status:?}").chars().fold(String::new(), |name, letter| match letter.is_uppercase() {
            true if !name.is_empty() => format!("{name}_{letter}"),
            true | false => format!("{name}{}", letter.to_ascii_uppercase()),
        });
        (format!("PUMICE_DEVICE_{name}"), status as u64)
    };
    let kind = |kind: &RequestKind| match kind {
        RequestKind::Zone(command) => format!("PUMICE_DEVICE_ZONE_{}", command.name().to_uppercase()),
        RequestKind::Read | RequestKind::Write | RequestKind::Trim | RequestKind::Flush => {
            format!("PUMICE_DEVICE_{}", kind.name().to_uppercase())
        }
    };
    let expected: BTreeMap<String, u64> = [
        DeviceStatus::ALL.map(status).to_vec(),
        KINDS.iter().zip(0..).map(|(of, number)| (kind(of), number)).collect(),
        vec![
            ("PUMICE_DEVICE_VERSION".into(), u64::from(DEVICE_VERSION.code())),
            ("PUMICE_DEVICE_NEVER".into(), Device::NEVER),
            ("PUMICE_DEVICE_DONE".into(), Status::Done.code().into()),
            ("PUMICE_DEVICE_POWER_LOST".into(), Status::PowerLost.code().into()),
            ("PUMICE_DEVICE_UNREADABLE".into(), Status::Unreadable.code().into()),
        ],
        members!(CDeviceOptions, "pumice_device_options": version, size, request_bytes, completion_bytes, preset, file,
            spec, settings, data, reserved),
        members!(CDeviceRequest, "pumice_device_request": at_ns, offset_bytes, bytes, kind, fua, stream, flow),
        members!(CDeviceCompletion, "pumice_device_completion": id, at_ns, offset_bytes, end, reserved),
        members!(CDeviceInfo, "pumice_device_info": size, powered, capacity_bytes, now_ns, outstanding, waiting),
    ]
    .concat()
    .into_iter()
    .collect();
    compare("device", &expected);
}

/// Compares the numbers and layouts of a header with those of the library, and that none of its numbers is left out.
fn compare(of: &str, expected: &BTreeMap<String, u64>) {
    let names: Vec<String> = expected.keys().cloned().collect();
    assert_eq!(&numbers_of_the_header(&names), expected);
    let (header, prefix) = (header(of), format!("PUMICE_{}_", of.to_uppercase()));
    let words = header.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let in_header: BTreeSet<String> = words.filter(|word| word.starts_with(&prefix)).map(Into::into).collect();
    let compared = names.into_iter().filter(|name| name.starts_with(&prefix));
    let compared: BTreeSet<String> = compared.chain(["H", "OPTIONS"].map(|name| format!("{prefix}{name}"))).collect();
    assert_eq!(in_header, compared, "every number of the header is compared");
}

#[test]
fn t070_a_program_can_use_its_own_major_version_up_to_the_minor_one_that_is_there() {
    let library = InterfaceVersion::new(2, 3);
    for (major, minor, is_served) in [(2, 0, true), (2, 3, true), (2, 4, false), (1, 9, false), (3, 0, false)] {
        let asked = InterfaceVersion::new(major, minor);
        assert_eq!(InterfaceVersion::from_code(asked.code()), asked);
        assert_eq!(library.check("pumice_x.h", asked).is_ok(), is_served, "{asked}");
    }
    let refusal = library.check("pumice_x.h", InterfaceVersion::new(1, 9)).expect_err("too old");
    assert_eq!(refusal.text(), "pumice_x.h: version 1.9 was asked for; this library has 2.3, which serves 2.0 to 2.3");
}
