//! Workloads written as traces and read again.

use std::path::Path;

use proptest::prelude::*;
use pumice_types::{Choice, HostRequest, RequestKind, Time};
use pumice_workload::{
    AddressPolicy, Arrival, ArrivalKind, Compression, Placement, RequestSizes, StreamsAccess, SyntheticOptions,
    TraceError, TraceFormat, TraceOptions, Workload, WriteReport, ZipfAccess, check, info, open_trace, open_trace_with,
    synthetic, write_trace, write_trace_as,
};

fn device() -> Placement {
    Placement { capacity_bytes: 1 << 40, page_bytes: 4_096, policy: AddressPolicy::Exact }
}

fn drain(workload: &mut Workload) -> Vec<HostRequest> {
    std::iter::from_fn(|| workload.next_request().expect("legal")).collect()
}

fn options(seed: u64) -> SyntheticOptions {
    SyntheticOptions {
        requests: 500,
        sizes: RequestSizes::mixed(&[(512, 1.0), (4_096, 2.0), (65_536, 1.0)]).expect("legal"),
        access: ZipfAccess { theta: 0.9 }.into(),
        read_fraction: 0.4,
        trim_fraction: 0.0,
        flush_every: None,
        fua_fraction: 0.0,
        footprint: 0.01,
        arrival: Arrival { kind: ArrivalKind::Bursty, mean_us: 700.0, cv: 4.0 },
        seed,
    }
}

fn generated(seed: u64) -> Workload {
    synthetic(&options(seed), &device()).expect("legal")
}

fn written(workload: &mut Workload, format: TraceFormat, path: &Path) -> Result<WriteReport, TraceError> {
    let mut file = std::fs::File::create(path).expect("a writable temporary directory");
    write_trace(workload, format, &mut file)
}

/// The formats that can be written.
fn formats() -> impl Iterator<Item = TraceFormat> {
    TraceFormat::ALL.iter().copied().filter(|format| format.is_writable())
}

/// Arrivals on a format's grain, from the first one.
fn on_grain(requests: &[HostRequest], grain: u64) -> Vec<HostRequest> {
    let first = requests.first().map_or(0, |request| request.arrival.0 / grain);
    let at = |r: &HostRequest| HostRequest { arrival: Time((r.arrival.0 / grain - first) * grain), ..*r };
    requests.iter().map(at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn w210_every_written_format_reads_as_the_same_requests(seed in any::<u64>()) {
        let directory = tempfile::TempDir::new().expect("a temporary directory");
        let path = directory.path().join("trace");
        let requests = drain(&mut generated(seed));
        for format in formats() {
            let report = written(&mut generated(seed), format, &path).expect("legal");
            prop_assert_eq!((report.requests, report.widened, report.format), (500, 0, format.name()));
            let again = drain(&mut open_trace(&path, None, &device()).expect("its own format is recognised"));
            prop_assert_eq!(&again, &on_grain(&requests, report.time_grain_ns), "{}", format.name());
            prop_assert_eq!(check(&path, None).expect("times are times").lines, report.lines);
        }
    }
}

#[test]
fn w211_a_trace_converted_to_every_format_and_back() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let (first, second) = (directory.path().join("first"), directory.path().join("second"));
    written(&mut generated(3), TraceFormat::Msr, &first).expect("legal");
    let original = drain(&mut open_trace(&first, None, &device()).expect("legal"));
    for format in formats() {
        let report = written(&mut open_trace(&first, None, &device()).expect("legal"), format, &second).expect("legal");
        let third = directory.path().join("third");
        let mut named = open_trace(&second, Some(format), &device()).expect("legal");
        written(&mut named, TraceFormat::Msr, &third).expect("legal");
        let back = drain(&mut open_trace(&third, None, &device()).expect("legal"));
        assert_eq!(back, on_grain(&original, report.time_grain_ns.max(100)), "{}", format.name());
        assert_eq!(report.rounded > 0, report.time_grain_ns > 100, "{}", format.name());
    }
}

#[test]
fn w215_trims_are_written_where_the_format_has_them_and_else_counted() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let path = directory.path().join("trace");
    let options =
        || SyntheticOptions { trim_fraction: 0.25, arrival: Arrival::even(ArrivalKind::Fixed, 10.0), ..options(5) };
    let requests = drain(&mut synthetic(&options(), &device()).expect("legal"));
    let trims = requests.iter().filter(|request| request.kind == RequestKind::Trim).count() as u64;
    for format in formats() {
        let mut workload = synthetic(&options(), &device()).expect("legal");
        let report = written(&mut workload, format, &path).expect("legal");
        let again = drain(&mut open_trace(&path, Some(format), &device()).expect("legal"));
        let kept = again.iter().filter(|request| request.kind == RequestKind::Trim).count() as u64;
        let (has, has_not) = if format.has_trims() { (trims, 0) } else { (0, trims) };
        assert_eq!((kept, report.trims_left_out, report.requests), (has, has_not, 500 - has_not), "{}", format.name());
        if has > 0 {
            assert_eq!(again, requests);
        }
    }
    assert!(trims > 80, "{trims} of 500");
}

#[test]
fn w217_flushes_are_written_where_the_format_has_them_and_force_unit_access_too() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let path = directory.path().join("trace");
    let arrival = Arrival::even(ArrivalKind::Fixed, 10.0);
    let options = || SyntheticOptions { flush_every: Some(7), fua_fraction: 0.5, arrival, ..options(5) };
    let requests = drain(&mut synthetic(&options(), &device()).expect("legal"));
    let fua = requests.iter().filter(|request| request.fua).count() as u64;
    let plain: Vec<HostRequest> = requests.iter().map(|request| HostRequest { fua: false, ..*request }).collect();
    for format in formats() {
        let mut workload = synthetic(&options(), &device()).expect("legal");
        let report = written(&mut workload, format, &path).expect("legal");
        let again = drain(&mut open_trace(&path, Some(format), &device()).expect("legal"));
        let left_out = if format.has_flushes() { 0 } else { 500 / 7 };
        assert_eq!(
            (report.flushes_left_out, report.fua_left_out),
            (left_out, if format.writes_fua() { 0 } else { fua }),
            "{format}"
        );
        assert_eq!(report.requests, 500 + 500 / 7 - left_out, "{format}");
        if format.has_flushes() {
            assert_eq!(again, if format.writes_fua() { requests.clone() } else { plain.clone() }, "{format}");
            let (checked, surveyed) = (check(&path, None).expect("legal"), info(&path, None).expect("legal"));
            assert_eq!((checked.flushes, checked.records, surveyed.flushes), (71, 571, 71), "{format}");
        }
    }
    assert!((100..200).contains(&fua), "{fua} of about 300 writes");
}

#[test]
fn w216_a_compressed_trace_is_what_its_name_promises() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let requests = drain(&mut generated(2));
    for (name, compression) in [("t.csv", "none"), ("t.csv.gz", "gzip"), ("t.ZST", "zstd"), ("t.xz", "xz")] {
        let path = directory.path().join(name);
        let mut file = std::fs::File::create(&path).expect("a writable temporary directory");
        let promised = Compression::of_name(&path);
        write_trace_as(&mut generated(2), TraceFormat::Systor, promised, &mut file).expect("legal");
        let report = check(&path, None).expect(name);
        assert_eq!((report.compression, report.records), (compression, 500), "{name}");
        assert_eq!(drain(&mut open_trace(&path, None, &device()).expect(name)), requests, "{name}");
    }
}

#[test]
fn w212_what_a_format_cannot_hold_is_said() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let (odd, path) = (directory.path().join("odd"), directory.path().join("out"));
    std::fs::write(&odd, "128166372000000000,h,0,Read,700,4294967295,0\n128166372000000000,h,0,Write,1,1,0\n")
        .expect("writable");
    let open = || open_trace(&odd, None, &device()).expect("legal");
    for (format, longest) in [(TraceFormat::SsdSim, "4294966784"), (TraceFormat::Spc, "4294967295")] {
        let message = written(&mut open(), format, &path).expect_err("too long").to_string();
        assert!(message.contains("request 1 of 4294967295 bytes") && message.contains(longest), "{message}");
    }
    let mut rest = open();
    rest.next_request().expect("legal");
    let report = written(&mut rest, TraceFormat::DiskSim, &path).expect("one request");
    assert_eq!((report.widened, report.bytes, report.address_grain_bytes), (1, 1, 512));
    let sector = drain(&mut open_trace(&path, None, &device()).expect("legal"));
    assert_eq!((sector[0].offset_bytes, sector[0].bytes), (0, 512));
    let message = written(&mut open(), TraceFormat::BlkParse, &path).expect_err("only read").to_string();
    assert!(message.contains("blkparse") && message.contains("allowed are msr"), "{message}");
}

#[test]
fn w213_an_output_that_refuses() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let message = write_trace(&mut generated(1), TraceFormat::Msr, &mut Full).expect_err("full").to_string();
    assert!(message.contains("the output cannot be written"), "{message}");
}

/// Real slices, when they lie beside the repository, survive a conversion.
#[test]
fn w214_real_slices_convert() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let path = directory.path().join("out");
    let anywhere = Placement { capacity_bytes: u64::MAX, ..device() };
    for name in ["Financial1_mini.spc.zst", "tpcc-small.trace.zst", "systor17-traces-sample.csv.zst"] {
        let Ok(mut workload) = open_trace_with(&traces.join(name), &TraceOptions::default(), &anywhere) else {
            continue;
        };
        let original = drain(&mut workload);
        for format in formats() {
            let mut workload = open_trace(&traces.join(name), None, &anywhere).expect("opened before");
            let report = written(&mut workload, format, &path).expect("sectors");
            let again = drain(&mut open_trace(&path, Some(format), &anywhere).expect("legal"));
            assert_eq!(again, on_grain(&original, report.time_grain_ns), "{name} as {}", format.name());
        }
    }
}

#[test]
fn w262_streams_are_written_where_the_format_has_them_and_else_counted() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let path = directory.path().join("trace");
    let access = StreamsAccess::new(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]);
    let arrival = Arrival::even(ArrivalKind::Fixed, 10.0);
    let options = || SyntheticOptions { access: access.into(), trim_fraction: 0.1, arrival, ..options(5) };
    let mut requests = drain(&mut synthetic(&options(), &device()).expect("legal"));
    for request in requests.iter_mut().filter(|request| request.kind != RequestKind::Write) {
        request.stream = 0;
    }
    let placed = requests.iter().filter(|request| request.stream > 0).count() as u64;
    for format in formats() {
        let mut workload = synthetic(&options(), &device()).expect("legal");
        let report = written(&mut workload, format, &path).expect("legal");
        let mut back = open_trace(&path, Some(format), &device()).expect("legal");
        let has_streams = format == TraceFormat::Csv;
        assert_eq!(report.streams_left_out, if has_streams { 0 } else { placed }, "{format}");
        assert_eq!(back.names_streams(), has_streams, "{format}");
        if has_streams {
            assert_eq!(drain(&mut back), requests);
            let by_stream = info(&path, None).expect("legal").writes_by_stream;
            assert_eq!(by_stream[1..].iter().sum::<u64>(), placed);
            assert_eq!(by_stream.len(), 3);
        }
    }
    assert!(placed > 100, "{placed} of 500");
}
