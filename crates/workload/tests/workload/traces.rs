//! Trace files: good ones in every compression, and every way to be bad.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use pumice_types::{Choice, HostRequest, RequestKind, Time};
use pumice_workload::{
    AddressPolicy, Placement, REORDER_WINDOW, TraceError, TraceErrorKind, TraceFormat, Workload, check, file_digest,
    info, open_trace,
};
use tempfile::TempDir;

const BASE: u64 = 128_166_372_000_000_000;

fn device(capacity_bytes: u64, policy: AddressPolicy) -> Placement {
    Placement { capacity_bytes, page_bytes: 16_384, policy }
}

fn large() -> Placement {
    device(1 << 40, AddressPolicy::Exact)
}

fn file(directory: &TempDir, name: &str, content: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, content).expect("a writable temporary directory");
    path
}

fn drain(workload: &mut Workload) -> Result<Vec<HostRequest>, TraceError> {
    let mut requests = Vec::new();
    while let Some(request) = workload.next_request()? {
        requests.push(request);
    }
    Ok(requests)
}

fn read(path: &Path) -> Result<Vec<HostRequest>, TraceError> {
    drain(&mut open_trace(path, None, &large())?)
}

fn read_text(text: &[u8]) -> Result<Vec<HostRequest>, TraceError> {
    let directory = TempDir::new().expect("a temporary directory");
    read(&file(&directory, "trace.csv", text))
}

/// `count` legal lines, 1 µs apart.
fn text(count: u64) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        let kind = if n % 3 == 0 { "Read" } else { "Write" };
        writeln!(text, "{},hm,0,{kind},{},{},{}", BASE + n * 10, n * 7919 % 5_000 * 512, (n % 8 + 1) * 512, n)
            .expect("strings never fail");
        text
    })
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).expect("in memory");
    encoder.finish().expect("in memory")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).expect("in memory")
}

fn xz(text: &[u8]) -> Vec<u8> {
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).expect("in memory");
    encoder.write_all(text).expect("in memory");
    encoder.finish().expect("in memory")
}

/// What `xz` makes of nothing (the test's own encoder writes a broken file then).
const EMPTY_XZ: &[u8] = b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4F\0\0\0\0\x1c\xdfD!\x1f\xb6\xf3}\x01\0\0\0\0\x04YZ";

type Compress = fn(&[u8]) -> Vec<u8>;

const COMPRESSIONS: [(&str, Compress); 3] = [("gzip", gzip), ("zstd", zstd), ("xz", xz)];

#[test]
fn w180_every_compression_gives_the_same_requests() {
    let text = text(50_000);
    let plain = read_text(text.as_bytes()).expect("legal");
    assert_eq!(plain.len(), 50_000);
    assert_eq!(plain[1].arrival, Time(1_000));
    let directory = TempDir::new().expect("a temporary directory");
    for (name, compress) in COMPRESSIONS {
        // Two streams in one file, as `cat a.gz b.gz` gives them.
        let half = text.match_indices('\n').nth(20_000).expect("long enough").0 + 1;
        let bytes = [compress(&text.as_bytes()[..half]), compress(&text.as_bytes()[half..])].concat();
        let path = file(&directory, name, &bytes);
        let mut workload = open_trace(&path, Some(TraceFormat::Msr), &large()).expect("legal");
        assert_eq!(drain(&mut workload).expect("legal"), plain, "{name}");
        assert_eq!(workload.progress(), Some(1.0));
        let facts = workload.facts();
        let fact = |key| facts.iter().find(|(name, _)| *name == key).expect(key).1.to_string();
        assert_eq!((fact("compression"), fact("format"), fact("volume")), (name.into(), "msr".into(), "hm,0".into()));
        assert_eq!(fact("sha256"), file_digest(&path).expect("readable"));
    }
}

#[test]
fn w181_truncated_and_damaged_compressed_data() {
    let text = text(30_000);
    let directory = TempDir::new().expect("a temporary directory");
    for (name, compress) in COMPRESSIONS {
        let whole = compress(text.as_bytes());
        for keep in [whole.len() / 2, whole.len() - 3, 20] {
            let path = file(&directory, &format!("cut.{name}"), &whole[..keep]);
            let message = read(&path).expect_err("cut").to_string();
            assert!(message.contains(&format!("cut.{name}: {name} data ends early after ")), "{message}");
        }
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0x5a);
        let message = read(&file(&directory, &format!("bad.{name}"), &damaged)).expect_err("damaged").to_string();
        assert!(message.contains(&format!("bad.{name}")) && !message.contains('\n'), "{message}");
    }
}

/// A piece of line 1 is no header and no record: whatever it looks like, the file is cut.
#[test]
fn w193_compressed_data_that_is_cut_inside_line_1() {
    let directory = TempDir::new().expect("a temporary directory");
    let header = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n";
    for (name, compress) in COMPRESSIONS {
        let whole = compress(header.as_bytes());
        for keep in 10..whole.len() - 8 {
            let path = file(&directory, &format!("cut.{name}"), &whole[..keep]);
            let message = open_trace(&path, None, &large()).expect_err("cut").to_string();
            assert!(message.contains("data ends early after "), "{keep} bytes: {message}");
        }
    }
}

#[test]
fn w182_files_that_are_no_trace() {
    let directory = TempDir::new().expect("a temporary directory");
    let message = |path: &Path| read(path).expect_err("no trace").to_string();
    assert!(message(&directory.path().join("none.csv")).contains("none.csv: cannot be opened"));
    assert!(message(directory.path()).contains("is a directory"));
    assert!(message(&file(&directory, "empty.csv", b"")).contains("is empty; at least one record"));
    for (name, bytes) in [("gzip", &gzip(b"")[..]), ("zstd", &zstd(b"")), ("xz", EMPTY_XZ)] {
        let found = message(&file(&directory, name, bytes));
        assert!(found.contains("is empty"), "{found}");
    }
    let header = b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n";
    assert!(message(&file(&directory, "header.csv", header)).contains("holds a header and no records"));
    assert!(message(&file(&directory, "a.zip", b"PK\x03\x04rest")).contains("zip"));
    let junk: Vec<u8> = (0..100_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert!(message(&file(&directory, "junk", &junk)).contains("junk:1: "));
    assert!(message(&file(&directory, "zeros", &[0; 100_000])).contains("zeros:1: "));
    assert_eq!(read(&directory.path().join("none")).expect_err("missing").kind(), TraceErrorKind::File);
}

#[test]
fn w183_a_bad_line_is_named_with_its_number_and_text() {
    for (bad, part) in [
        ("junk", "1 field in \"junk\"; allowed are 7"),
        ("", "1 field in \"\""),
        ("128166372000000000,hm,0,Read,1,512", "6 fields"),
        ("-5,hm,0,Read,1,512,1", "Timestamp \"-5\""),
        ("128166372000000000,hm,0,Erase,1,512,1", "Type \"Erase\" found; allowed are Read and Write"),
        ("128166372000000000,hm,0,Read,one,512,1", "Offset \"one\""),
        ("128166372000000000,hm,0,Read,1,0,1", "Size \"0\""),
        ("128166372000000000,hm,0,Read,1,4294967296,1", "Size \"4294967296\""),
        ("128166372000000000,hm,0,Read,18446744073709551615,512,1", "largest address"),
        ("5,hm,0,Read,1,512,1", "Timestamp \"5\" lies more than 100 years"),
        ("Timestamp,Hostname,Disk,Type,Offset,Size,ResponseTime", "Timestamp \"Timestamp\""),
    ] {
        let message = read_text(format!("{}{bad}\n{}", text(4), text(1)).as_bytes()).expect_err(bad).to_string();
        assert!(message.contains("trace.csv:5: ") && message.contains(part), "{bad}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let message = read_text(b"128166372000000000,\xff\xfe,0,Read,1,512,1\n").expect_err("not UTF-8").to_string();
    assert!(message.contains("trace.csv:1: ") && message.contains("not UTF-8"), "{message}");
}

#[test]
fn w184_requests_before_a_bad_line_are_yielded_and_the_error_stays() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = file(&directory, "late.csv", format!("{}junk\n", text(100)).as_bytes());
    let mut workload = open_trace(&path, None, &large()).expect("its first line is good");
    for _ in 0..100 {
        assert!(workload.next_request().expect("good lines").is_some());
    }
    let first = workload.next_request().expect_err("bad line");
    assert_eq!(workload.next_request().expect_err("still"), first);
}

#[test]
fn w185_line_ends_and_headers_that_are_accepted() {
    let plain = read_text(text(10).as_bytes()).expect("legal");
    assert_eq!(read_text(text(10).replace('\n', "\r\n").as_bytes()).expect("CRLF"), plain);
    assert_eq!(read_text(text(10).trim_end().as_bytes()).expect("no last line feed"), plain);
    for end in ["\n", "\n\n \n", "\r\n\t\r\n", " "] {
        assert_eq!(read_text(format!("{}{end}", text(10)).as_bytes()).expect("blank lines at the end"), plain);
    }
    let headed = format!("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n{}", text(10));
    assert_eq!(read_text(headed.as_bytes()).expect("a header"), plain);
    let directory = TempDir::new().expect("a temporary directory");
    let mut workload = open_trace(&file(&directory, "headed.csv", headed.as_bytes()), None, &large()).expect("legal");
    drain(&mut workload).expect("legal");
    assert!(workload.notes().header);
    assert_eq!(workload.notes().lines, 11);
}

#[test]
fn w186_times_that_run_backwards_are_put_right_and_counted() {
    let line = |time: u64, offset: u64| format!("{},hm,0,Write,{offset},512,0\n", BASE + time);
    let shuffled = [line(30, 0), line(10, 512), line(20, 1024), line(10, 2048), line(40, 4096)].concat();
    let directory = TempDir::new().expect("a temporary directory");
    let mut workload = open_trace(&file(&directory, "s.csv", shuffled.as_bytes()), None, &large()).expect("legal");
    let order: Vec<(u64, u64)> =
        drain(&mut workload).expect("legal").iter().map(|r| (r.arrival.0, r.offset_bytes)).collect();
    assert_eq!(order, [(0, 512), (0, 2048), (1_000, 1024), (2_000, 0), (3_000, 4096)]);
    assert_eq!((workload.notes().reordered, workload.notes().clamped), (3, 0));

    let mut far: String = (0..REORDER_WINDOW as u64 + 10).map(|n| line(100 + n, n * 512)).collect();
    far += &line(0, 7 << 20);
    let path = file(&directory, "far.csv", far.as_bytes());
    let mut workload = open_trace(&path, None, &large()).expect("legal");
    let requests = drain(&mut workload).expect("legal");
    assert!(requests.is_sorted_by_key(|request| request.arrival));
    assert_eq!((workload.notes().reordered, workload.notes().clamped), (0, 1));
    let report = check(&path, None).expect("legal");
    assert_eq!((report.backward_steps, report.reordered, report.clamped), (1, 0, 1));
}

#[test]
fn w187_addresses_beyond_the_device() {
    let line = |n: u64, offset: u64| format!("{},hm,0,Write,{offset},4096,0\n", BASE + n);
    let text = [line(0, 0), line(1, 999 << 20), line(2, 4096), line(3, 5 << 20)].concat();
    let directory = TempDir::new().expect("a temporary directory");
    let path = file(&directory, "wide.csv", text.as_bytes());
    let run = |capacity, policy| drain(&mut open_trace(&path, None, &device(capacity, policy))?);
    let offsets = |capacity, policy| -> Vec<u64> {
        run(capacity, policy).expect("fits").iter().map(|request| request.offset_bytes).collect()
    };
    let error = run(4 << 20, AddressPolicy::Exact).expect_err("beyond");
    assert_eq!(error.kind(), TraceErrorKind::Capacity);
    let message = error.to_string();
    for part in
        ["wide.csv:2: bytes 1047527424 to 1047531519", "4194304 bytes", "workload.address = \"wrap\" or \"compact\""]
    {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(offsets(4 << 20, AddressPolicy::Wrap), [0, 3 << 20, 4096, 1 << 20]);
    assert_eq!(offsets(3 << 20, AddressPolicy::Compact), [0, 1 << 20, 4096, 2 << 20]);
    let message = run(2 << 20, AddressPolicy::Compact).expect_err("three regions").to_string();
    assert!(message.contains("wide.csv:4: ") && message.contains("even compacted"), "{message}");
}

#[test]
fn w188_check_shows_how_lines_were_understood() {
    let directory = TempDir::new().expect("a temporary directory");
    let report = check(&file(&directory, "t.csv", text(1000).as_bytes()), None).expect("legal");
    assert_eq!((report.records, report.reads, report.lines), (1000, 334, 1000));
    assert_eq!((report.format.as_str(), report.compression), ("msr", "none"));
    assert_eq!(report.first_lines.len(), 3);
    assert_eq!(report.first_lines[1].time_utc, "2007-02-22 17:00:00.0000010");
    assert_eq!((report.first_lines[1].kind, report.first_lines[1].bytes), ("write", 1024));
    assert!((report.span_s - 999e-6).abs() < 1e-12);
}

#[test]
fn w189_check_refuses_a_time_that_is_no_time() {
    let directory = TempDir::new().expect("a temporary directory");
    for time in ["0", "1172163600", "1172163600000", "99999999999999999"] {
        let path = file(&directory, "t.csv", format!("{time},hm,0,Read,0,512,1\n").as_bytes());
        let message = check(&path, None).expect_err(time).to_string();
        assert!(message.contains(&format!("t.csv:1: Timestamp \"{time}\" is no time")), "{message}");
        let mut workload = open_trace(&path, None, &large()).expect("a run warns");
        drain(&mut workload).expect("a run warns");
        assert_eq!(workload.notes().unlikely_times, 1);
    }
}

#[test]
fn w190_info_of_a_small_trace() {
    let directory = TempDir::new().expect("a temporary directory");
    let path = file(&directory, "t.csv.zst", &zstd(text(1000).as_bytes()));
    let report = info(&path, None).expect("legal");
    assert_eq!((report.requests, report.read.requests, report.write.requests), (1000, 334, 666));
    assert_eq!(report.interarrival_mean_us, Some(1.0));
    assert!(report.interarrival_cv.expect("mean above 0") < 1e-9);
    let requests = read(&path).expect("legal");
    let written: u64 = requests.iter().filter(|r| r.kind == RequestKind::Write).map(|r| u64::from(r.bytes)).sum();
    assert_eq!(report.write.bytes, written);
}

#[test]
fn w191_names_that_do_not_exist() {
    assert!("msr".parse::<TraceFormat>().is_ok());
    assert!(TraceFormat::NAMES.iter().all(|name| name.parse::<TraceFormat>().is_ok_and(|f| f.name() == *name)));
    assert!("xlsx".parse::<TraceFormat>().expect_err("unknown").to_string().contains("allowed are msr, alibaba"));
}

/// Real slices, when they lie beside the repository: format, requests, writes (both counted without
/// this crate; two files have no line feed behind their last line), span in seconds.
#[test]
fn w192_real_slices_parse() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    for (name, format, requests, writes, span_s) in [
        ("cloudphysics-vm-2h.csv.zst", "msr", 113_872, 66_898, 7_200.0),
        ("msr-hm0like-10k.csv.zst", "msr", 10_000, 7_980, 243.0),
        ("msr-hm0-1000.csv.zst", "msr", 1_000, 492, 127.0),
        ("Financial1-head.ssdsim.ascii.zst", "ssdsim", 10_000, 5_923, 260.0),
        ("Financial1_mini.spc.zst", "spc", 949, 766, 28.0),
        ("tpcc-small.trace.zst", "ssdsim", 6_999, 2_618, 0.14),
        ("java-ext4.blkparse.txt.zst", "blkparse", 9_887, 848, 1.266_874_89e9),
        ("systor17-traces-sample.csv.zst", "systor", 999, 173, 2.4),
        ("tencent-cbs-sample.csv.zst", "tencent", 50_000, 25_479, 1.0),
    ] {
        let path = traces.join(name);
        if !path.exists() {
            let _ = writeln!(std::io::stderr(), "skipped: {name} is not in {}", traces.display());
            continue;
        }
        let report = check(&path, None).expect("a real trace");
        assert_eq!((report.format.as_str(), report.records, report.compression), (format, requests, "zstd"), "{name}");
        assert!((report.span_s / span_s - 1.0).abs() < 0.04, "{name}: {} s", report.span_s);
        assert_eq!(report.writes, writes, "{name}");
        let report = info(&path, None).expect("a real trace");
        assert_eq!(report.requests, requests);
    }
}
