//! Several volumes in one trace: overlaid, separate, or one of them; coarse and jumping clocks.

use std::path::{Path, PathBuf};

use pumice_workload::{
    AddressPolicy, Notes, Placement, TraceError, TraceFormat, TraceOptions, Volumes, check_with, info_with,
    open_trace_with,
};
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

fn file(directory: &TempDir, content: &str) -> PathBuf {
    let path = directory.path().join("trace");
    std::fs::write(&path, content).expect("a writable temporary directory");
    path
}

/// Two disks of two hosts, interleaved: a_0 ends at 2.5 MiB, a_1 at 4 KiB, b_0 at 5 MiB.
fn mixed() -> String {
    let lines =
        [("a", 0, 0), ("a", 1, 0), ("a", 0, 5 * MIB / 2 - 4_096), ("b", 0, 5 * MIB - 4_096), ("a", 1, 0), ("b", 0, 0)];
    let line = |(n, (host, disk, offset)): (usize, &(&str, u64, u64))| {
        format!("{},{host},{disk},Write,{offset},4096,0\n", 128_166_372_000_000_000 + n * 10)
    };
    lines.iter().enumerate().map(line).collect()
}

fn offsets(
    text: &str,
    volumes: Volumes,
    capacity: u64,
    policy: AddressPolicy,
) -> Result<(Vec<u64>, Notes), TraceError> {
    let directory = TempDir::new().expect("a temporary directory");
    let placement = Placement { capacity_bytes: capacity, page_bytes: 4_096, policy };
    let mut workload =
        open_trace_with(&file(&directory, text), &TraceOptions { volumes, ..TraceOptions::default() }, &placement)?;
    let mut offsets = Vec::new();
    while let Some(request) = workload.next_request()? {
        offsets.push(request.offset_bytes);
    }
    Ok((offsets, workload.notes()))
}

#[test]
fn w240_overlay_shares_one_address_space_and_says_so() {
    let (found, notes) = offsets(&mixed(), Volumes::Overlay, 8 * MIB, AddressPolicy::Exact).expect("fits");
    assert_eq!(found, [0, 0, 5 * MIB / 2 - 4_096, 5 * MIB - 4_096, 0, 0]);
    assert_eq!(notes.other_volumes, 4);
}

#[test]
fn w241_separate_volumes_lie_one_behind_the_other() {
    let (found, notes) = offsets(&mixed(), Volumes::Separate, 9 * MIB, AddressPolicy::Exact).expect("fits exactly");
    assert_eq!(found, [0, 3 * MIB, 5 * MIB / 2 - 4_096, 9 * MIB - 4_096, 3 * MIB, 4 * MIB]);
    assert_eq!((notes.other_volumes, notes.wrapped), (0, 0));
    let error = offsets(&mixed(), Volumes::Separate, 9 * MIB - 512, AddressPolicy::Exact).expect_err("too small");
    assert!(error.to_string().contains("trace:4: ") && error.to_string().contains("\"compact\""), "{error}");
    let (found, notes) = offsets(&mixed(), Volumes::Separate, 4 * MIB, AddressPolicy::Wrap).expect("wraps");
    assert_eq!(found, [0, 3 * MIB, 5 * MIB / 2 - 4_096, MIB - 4_096, 3 * MIB, 0]);
    assert_eq!(notes.wrapped, 2);
}

#[test]
fn w242_separate_volumes_are_compacted_region_by_region() {
    let (found, _) = offsets(&mixed(), Volumes::Separate, 5 * MIB, AddressPolicy::Compact).expect("five regions");
    assert_eq!(found, [0, MIB, 5 * MIB / 2 - 4_096, 4 * MIB - 4_096, MIB, 4 * MIB]);
    let error = offsets(&mixed(), Volumes::Separate, 4 * MIB, AddressPolicy::Compact).expect_err("five regions");
    assert!(error.to_string().contains("trace:6: "), "{error}");
}

#[test]
fn w243_one_volume_by_name_or_number() {
    for (name, expected) in [
        ("a,1", vec![0, 0]),
        ("a_1", vec![0, 0]),
        ("1", vec![0, 0]),
        ("b_0", vec![5 * MIB - 4_096, 0]),
        // The first volume with this number alone.
        ("0", vec![0, 5 * MIB / 2 - 4_096]),
    ] {
        let (found, notes) = offsets(&mixed(), Volumes::One(name.into()), 8 * MIB, AddressPolicy::Exact).expect(name);
        assert_eq!(found, expected, "{name}");
        assert_eq!((notes.left_out, notes.other_volumes), (4, 0), "{name}");
    }
    let error = offsets(&mixed(), Volumes::One("c".into()), 8 * MIB, AddressPolicy::Exact).expect_err("no such volume");
    for part in ["no record of volume \"c\"", "3 volumes; allowed are \"a,0\", \"a,1\", \"b,0\""] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn w244_volume_policies_by_name() {
    assert_eq!("overlay".parse(), Ok(Volumes::Overlay));
    assert_eq!("separate".parse(), Ok(Volumes::Separate));
    assert_eq!("3".parse(), Ok(Volumes::One("3".to_owned())));
    assert!("".parse::<Volumes>().expect_err("empty").to_string().contains("\"separate\", \"overlay\""));
}

#[test]
fn w245_reports_with_volumes() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = file(&directory, &mixed());
    let options = |volumes| TraceOptions { format: Some(TraceFormat::Msr), volumes, ..TraceOptions::default() };
    let report = check_with(&path, &options(Volumes::One("b_0".into()))).expect("legal");
    assert_eq!((report.records, report.volumes, report.left_out, report.other_volumes), (2, 3, 4, 0));
    assert_eq!(report.volume, "b,0");
    let overlaid = info_with(&path, &options(Volumes::Overlay)).expect("legal");
    let separate = info_with(&path, &options(Volumes::Separate)).expect("legal");
    assert_eq!((overlaid.write.footprint.bytes, separate.write.footprint.bytes), (3 * 4_096, 5 * 4_096));
}

#[test]
fn w246_coarse_still_and_jumping_clocks_are_said() {
    let notes = |text: &str| offsets(text, Volumes::Overlay, 1 << 40, AddressPolicy::Exact).expect("legal").1;
    let coarse = notes("1538323200,0,8,1,5\n1538323201,8,8,1,5\n");
    assert_eq!((coarse.coarse_clock_ns, coarse.untimed, coarse.clock_jumps), (1_000_000_000, false, 0));
    let milliseconds = notes("0,1,512,w,0.001\n0,1,512,w,0.033\n0,1,512,w,0.100\n");
    assert_eq!((milliseconds.coarse_clock_ns, milliseconds.untimed), (1_000_000, false));
    // No two of these arrive at once.
    let apart = notes("0,1,512,w,0.005\n0,1,512,w,0.010\n0,1,512,w,0.015\n");
    assert_eq!(
        apart.warnings(),
        ["all times of the trace are multiples of 1 ms: requests with equal times arrive at once"]
    );
    let jump = notes("0,1,512,w,0.001001\n0,1,512,w,0.033\n0,1,512,w,90000.5\n");
    assert_eq!((jump.coarse_clock_ns, jump.clock_jumps), (0, 1));
    let still = notes("fio version 2 iolog\n/dev/a write 0 512\n/dev/a read 0 512\n");
    assert_eq!((still.coarse_clock_ns, still.untimed), (0, true));
}

/// Real slices, when they lie beside the repository.
#[test]
fn w247_real_slices_with_several_volumes() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let path = traces.join("tencent-cbs-sample.csv.zst");
    if !path.exists() {
        return;
    }
    let anywhere = |policy| Placement { capacity_bytes: 1 << 52, page_bytes: 4_096, policy };
    let options = |volumes| TraceOptions { volumes, ..TraceOptions::default() };
    for (policy, reach) in [(AddressPolicy::Exact, 1u64 << 40), (AddressPolicy::Compact, 0)] {
        let mut workload =
            open_trace_with(&path, &options(Volumes::Separate), &anywhere(policy)).expect("a real trace");
        let (mut count, mut end) = (0, 0);
        while let Some(request) = workload.next_request().expect("a real trace") {
            count += 1;
            end = end.max(request.offset_bytes + u64::from(request.bytes));
        }
        assert_eq!((count, workload.notes().coarse_clock_ns), (50_000, 1_000_000_000));
        assert!(end > reach, "{end}");
        assert!(policy == AddressPolicy::Exact || end < 1 << 36, "{end}");
    }
    let one = check_with(&path, &options(Volumes::One("1063".into()))).expect("a real trace");
    assert_eq!((one.volume.as_str(), one.records + one.left_out), ("1063", 50_000));
}
