//! Delimited text: by its header, by a list of columns, and out of memory.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use pumice_types::{HostRequest, RequestKind};
use pumice_workload::{
    AddressPolicy, ColumnRequest, Fact, Placement, RecordedContent, TraceFormat, TraceOptions, Volumes, Workload,
    check_with, open_trace_with,
};

const ANYWHERE: Placement = Placement { capacity_bytes: u64::MAX, page_bytes: 4_096, policy: AddressPolicy::Exact };

fn read(text: &[u8], options: &TraceOptions) -> Result<(Vec<HostRequest>, Workload), String> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text).expect("a writable temporary directory");
    open(file.path(), options).map_err(|message| message.replace(&file.path().display().to_string(), "FILE"))
}

fn open(path: &Path, options: &TraceOptions) -> Result<(Vec<HostRequest>, Workload), String> {
    let mut workload = open_trace_with(path, options, &ANYWHERE).map_err(|error| error.to_string())?;
    let mut requests = Vec::new();
    while let Some(request) = workload.next_request().map_err(|error| error.to_string())? {
        requests.push(request);
    }
    Ok((requests, workload))
}

fn columns(list: &str) -> TraceOptions {
    TraceOptions { columns: Some(ColumnRequest::parse(list).expect(list)), ..TraceOptions::default() }
}

fn request(arrival_ns: u64, offset_bytes: u64, bytes: u32, kind: RequestKind) -> HostRequest {
    HostRequest { arrival: pumice_types::Time(arrival_ns), offset_bytes, bytes, kind, fua: false, stream: 0, flow: 0 }
}

/// The trap: Alibaba's columns with offset and length exchanged.
#[test]
fn w240_the_header_decides_which_column_is_which() {
    let swapped =
        b"device_id,opcode,length,offset,timestamp\n419,W,16384,8192,1577808144360767\n419,R,512,0,1577808144360777\n";
    let plain =
        b"device_id,opcode,offset,length,timestamp\n419,W,8192,16384,1577808144360767\n419,R,0,512,1577808144360777\n";
    let expected = [request(0, 8_192, 16_384, RequestKind::Write), request(10_000, 0, 512, RequestKind::Read)];
    for format in [None, Some(TraceFormat::Alibaba)] {
        let options = TraceOptions { format, ..TraceOptions::default() };
        let (requests, workload) = read(swapped, &options).expect("named");
        assert_eq!(requests, expected);
        assert!(workload.notes().header);
        let text = Fact::Text("time=4:us,op=1:R/W,offset=3:bytes,size=2:bytes,volume=0".to_owned());
        assert!(workload.facts().contains(&("columns", text)), "{:?}", workload.facts());
        assert_eq!(read(plain, &options).expect("in order").0, expected);
    }
    let message = read(swapped, &TraceOptions { format: Some(TraceFormat::Msr), ..TraceOptions::default() });
    let message = message.expect_err("another format's names");
    assert!(message.starts_with("FILE:1: the header names column 0 \"device_id\""), "{message}");
}

#[test]
fn w241_a_list_of_columns_reads_any_separator_and_unit() {
    let expected = [request(0, 4_096, 512, RequestKind::Write), request(1_500_000_000, 0, 1_024, RequestKind::Read)];
    for (text, list) in [
        ("10,W,8,512\n11.5,R,0,1024\n", "time=0:s,op=1,offset=2:sectors,size=3"),
        ("10;W;8;0,5;512\n11.5;R;0;;1024\n", "time=0:s,op=1,offset=2:sectors,size=4"),
        ("1024\tread\t0\t11500\n512\twrite\t1\t10000\n", "time=3:ms,op=1,offset=2:4096,size=0"),
        ("  10000000  2a   8  1\r\n11500000 28 0 2\n", "time=0:us,op=1:28+88/2a+8a,offset=2:sectors,size=3:sectors"),
        (
            "\u{feff}\"when\",\"what\",\"lba\",\"n\"\n\"100000000\",\"1\",\"8\",\"1\"\n115000000,0,0,2",
            "time=when:100ns,op=what:0/1,offset=LBA:sectors,size=n:512",
        ),
        (
            "t|is_write|offset_sectors|n\n10|1|8|1\n11.5|0|0|2\n",
            "time=t:s,op=is_write,offset=offset_sectors,size=n:512",
        ),
    ] {
        assert_eq!(read(text.as_bytes(), &columns(list)).expect(list).0, expected, "{text}");
    }
}

const HEADER: &str = "time_ms,op,length,lba\n";

/// Traces and columns that cannot both be right, and what is said of them.
const CONTRADICTIONS: &[(&str, &str, &str)] = &[
    (
        HEADER,
        "time=0:ms,op=1,offset=2,size=3",
        "FILE:1: workload.columns gives offset=2, and the header calls that column \"length\", which means size",
    ),
    (HEADER, "time=0:s,op=1,offset=3,size=2", "gives time in s, and the header calls the column \"time_ms\""),
    (
        HEADER,
        "time=when:s,op=1,offset=3,size=2",
        "gives time=when, and the header names the columns \"time_ms,op,length,lba\"",
    ),
    (
        HEADER,
        "time=time_ms,op=op,offset=lba,size=lenght",
        "the columns \"time_ms,op,length,lba\"; nearest: size=length",
    ),
    (
        "time_ms,op,lba,nsect\n",
        "time=0,op=1,offset=2,size=3",
        "gives offset without a unit, and the header calls the column \"lba\", which may count sectors",
    ),
    (
        "time_ms,op,offset_bytes,nsect\n",
        "time=0,op=op,offset=2,size=nsect",
        "gives size without a unit, and the header calls the column \"nsect\"",
    ),
    (
        "1,R,0,512\n2024-01-01T00:00:01Z,R,0,512\n",
        "time=0:s,op=1,offset=2,size=3",
        "from 0 to 18446744073; dates are no numbers: give them as seconds since any instant",
    ),
    (HEADER, "time=0,op=1,offset=3:sectors,size=9", "gives size=9, and there are 4 columns, 0 to 3"),
    (
        "1,R,0,512\n",
        "time=0,op=1,offset=2,size=3",
        "gives time without a unit; allowed are time=0:UNIT with ns, 100ns, us, ms, s",
    ),
    ("1,R,0,512\n", "time=t:s,op=1,offset=2,size=3", "gives time=t, and line 1 names no columns"),
    (
        "when,op,when,size,offset\n",
        "time=when:s,op=op,offset=offset,size=size",
        "gives time=when, and the header gives columns 0 and 2 this name; give its number",
    ),
    ("1,R,0,512\n", "time=0:s,op=1,offset=2,size=3,volume=1-0", "volume=1-0; allowed are neighbours"),
    ("1,x,0,512\n", "time=0:s,op=1,offset=2,size=3", "FILE:1: op (column 1) \"x\" found; allowed are R, W"),
    (
        "1,R,0,512\n-2,R,0,512\n",
        "time=0:s,op=1,offset=2,size=3",
        "FILE:2: time (column 0) \"-2\" found; allowed are plain digits like 12.345, in s, from 0 to 18446744073",
    ),
    (
        "1,R,0,512\n1;R;0;512\n",
        "time=0:s,op=1,offset=2,size=3",
        "FILE:2: 1 field in \"1;R;0;512\"; allowed are 4, as in line 1",
    ),
    ("1,R,0,512\n\n2,R,0,512\n", "time=0:s,op=1,offset=2,size=3", "FILE:2: 1 field in \"\""),
    ("1,R,18446744073709551615,512\n", "time=0:s,op=1,offset=2,size=3", "beyond the largest address"),
    ("1,R,0,512\r2,R,0,512\r", "time=0:s,op=1,offset=2,size=3", "FILE:1: size (column 3) \"512\\r2\" found"),
    ("", "time=0:s,op=1,offset=2,size=3", "FILE: is empty"),
    ("time_s,op,offset_bytes,size_bytes\n", "time=0:s,op=1,offset=2,size=3", "FILE: holds a header and no records"),
];

/// Two more shapes of delimited text: row numbers in a column without a name, and hexadecimal addresses.
#[test]
fn w265_what_pandas_and_tracers_write_is_read() {
    let expected = [request(0, 4_096, 512, RequestKind::Write), request(1_000, 0, 1_024, RequestKind::Read)];
    for text in [
        ",time_us,op,offset_bytes,size_bytes\n0,10,W,4096,512\n1,11,R,0,1024\n",
        "time_us,op,offset_bytes,size_bytes\n10,W,0x1000,0x200\n11,R,0X0,1024\n",
    ] {
        assert_eq!(read(text.as_bytes(), &TraceOptions::default()).expect(text).0, expected, "{text}");
    }
    for (text, part) in [
        ("time_us,op,offset_bytes,size_bytes\n10,W,0x,512\n", "offset (column \"offset_bytes\") \"0x\" found"),
        ("# made by me\ntime_us,op,offset_bytes,size_bytes\n10,W,0,512\n", "is a comment, and names of columns follow"),
        ("[global]\nrw=randwrite\n", "\"[global]\" begins a section, as in a job of fio's; --fio-job FILE runs one"),
        ("\u{1}\u{2}PAR\n\u{3}\n", "is no text; allowed are msr"),
    ] {
        let message = read(text.as_bytes(), &TraceOptions::default()).expect_err(text);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn w242_each_contradiction_is_one_line() {
    for &(text, list, part) in CONTRADICTIONS {
        let message = match read(text.as_bytes(), &columns(list)) {
            Ok((requests, _)) => panic!("{text}: {requests:?}"),
            Err(message) => message,
        };
        let is_short = message.len() < 500 && !message.contains(['\n', '\r']);
        assert!(is_short && message.contains(part), "{text}: {message}");
    }
    let both = TraceOptions { format: Some(TraceFormat::Spc), ..columns("op=0,offset=1,size=2") };
    assert!(read(b"R,0,512\n", &both).expect_err("both").contains("workload.columns is given beside workload.format"));
}

#[test]
fn w243_a_list_may_leave_out_times_and_name_a_volume() {
    let (requests, workload) = read(b"R,0,512\nW,8,512\n", &columns("op=0,offset=1,size=2")).expect("untimed");
    assert!(requests.iter().all(|request| request.arrival.0 == 0) && workload.notes().untimed);
    let text = b"host,disk,op,offset_bytes,size_bytes\nh,1,R,0,512\nh,2,W,512,512\n";
    let one = TraceOptions { volumes: Volumes::One("h,2".into()), ..columns("op=op,offset=3,size=4,volume=0-1") };
    let (requests, _) = read(text, &one).expect("one volume");
    assert_eq!(requests, [request(0, 512, 512, RequestKind::Write)]);
}

#[test]
fn w244_content_in_memory_is_read_like_a_file_and_identified() {
    let content = |text: &str, sha256: Option<&str>| TraceOptions {
        content: Some(Arc::new(RecordedContent {
            text: text.as_bytes().to_vec(),
            format: "table".into(),
            origin_columns: "time=0:ns,op=1,offset=2:bytes,size=3:bytes".into(),
            sha256: sha256.map(str::to_owned),
        })),
        ..TraceOptions::default()
    };
    let text = "5\tW\t0\t512\tv 1\n7\tF\t\t\tv 1\n9\tWF\t512\t512\tv 1\n";
    let name = Path::new("table");
    let (requests, workload) = open(name, &content(text, None)).expect("in memory");
    let kinds: Vec<_> = requests.iter().map(|request| (request.arrival.0, request.kind, request.fua)).collect();
    assert_eq!(kinds, [(0, RequestKind::Write, false), (2, RequestKind::Flush, false), (4, RequestKind::Write, true)]);
    let digest = |workload: &Workload| {
        workload.facts().into_iter().find(|(name, _)| *name == "sha256").map(|(_, fact)| fact).expect("read to its end")
    };
    let (_, other) = open(name, &content(&text.replace("512\tv", "1024\tv"), None)).expect("in memory");
    assert_ne!(digest(&workload), digest(&other));
    let (_, decoded) = open(name, &content(text, Some("abc"))).expect("in memory");
    assert_eq!(digest(&decoded), Fact::Text("abc".to_owned()));
    let report = check_with(name, &content(text, None)).expect("in memory");
    assert_eq!((report.format.as_str(), report.volume.as_str(), report.records), ("table", "v 1", 3));
    assert!(open(name, &content("5\tW\t0\t0\tv\n", None)).expect_err("no size").starts_with("table:1: size"));
}

#[test]
fn w245_columnar_files_are_named_as_what_they_are() {
    for magic in [&b"PAR1xxxx"[..], b"ARROW1\0\0", b"FEA1", b"\xff\xff\xff\xff\0\0\0\0"] {
        let message = read(magic, &TraceOptions::default()).expect_err("no text");
        assert!(message.contains("FILE: is a Parquet or Arrow file"), "{message}");
    }
}

/// Force unit access in a column of its own, beside the words of operations, whoever names the column.
#[test]
fn w249_force_unit_access_may_have_a_column() {
    let fua_of = |text: &str, options: &TraceOptions| -> Vec<(RequestKind, bool)> {
        let (requests, _) = read(text.as_bytes(), options).expect(text);
        requests.iter().map(|request| (request.kind, request.fua)).collect()
    };
    let any = TraceOptions::default();
    let expected = [(RequestKind::Write, true), (RequestKind::Write, false), (RequestKind::Read, false)];
    for (text, options) in [
        ("time_us,op,offset_bytes,size_bytes,fua\n0,W,0,512,1\n1,W,0,512,0\n2,R,0,512,0\n", &any),
        ("time_us,is_write,offset_bytes,size_bytes,is_fua\n0,1,0,512,True\n1,1,0,512,False\n2,0,0,512,False\n", &any),
        ("fua,time_us,op,offset_bytes,size_bytes\nfalse,0,FUA,0,512\n0,1,W,0,512\n0,2,R,0,512\n", &any),
        ("0;W;0;512;1\n1;W;0;512;0\n2;R;0;512;0\n", &columns("time=0:us,op=1,offset=2,size=3,fua=4")),
        ("device_id,opcode,offset,length,timestamp,fua\n1,W,0,512,1,1\n1,W,0,512,2,0\n1,R,0,512,3,0\n", &any),
    ] {
        assert_eq!(fua_of(text, options), expected, "{text}");
    }
    let head = "time_us,op,offset_bytes,size_bytes,fua\n";
    for (line, part) in [
        ("0,W,0,512,maybe", "fua (column \"fua\") \"maybe\" found; allowed are 0 and false, of writes also 1 and true"),
        ("0,R,0,512,1", "fua (column \"fua\") \"1\" found; allowed are 0 and false, of writes also"),
        ("0,F,,,1", "fua (column \"fua\") \"1\" found"),
        ("0,W,0,512,", "fua (column \"fua\") \"\" found"),
    ] {
        let message = read(format!("{head}{line}\n").as_bytes(), &any).expect_err(line);
        assert!(message.starts_with("FILE:2: ") && message.contains(part), "{message}");
    }
}

/// The stream of a write in a column of its own, whoever names the column.
#[test]
fn w261_streams_may_have_a_column() {
    let any = TraceOptions::default();
    let in_memory = TraceOptions {
        content: Some(Arc::new(RecordedContent {
            text: b"0\tW\t0\t512\tv\t3\n1\tR\t0\t512\tv\t0\n2\tWF\t0\t512\tv\t255\n".to_vec(),
            format: "table".into(),
            origin_columns: "time=0:ns,op=1,offset=2:bytes,size=3:bytes,stream=7".into(),
            sha256: None,
        })),
        ..TraceOptions::default()
    };
    for (text, options) in [
        ("time_us,op,offset_bytes,size_bytes,stream\n0,W,0,512,3\n1,R,0,512,\n2,W,0,512,255\n", &any),
        ("placement_id,time_us,op,offset_bytes,size_bytes\n3,0,W,0,512\n-1,1,R,0,512\n255,2,W,0,512\n", &any),
        ("0;W;0;512;3\n1;R;0;512;x\n2;W;0;512;255\n", &columns("time=0:us,op=1,offset=2,size=3,stream=4")),
        ("device_id,opcode,offset,length,timestamp,stream\n1,W,0,512,1,3\n1,R,0,512,2,\n1,W,0,512,3,255\n", &any),
        ("", &in_memory),
    ] {
        let (requests, workload) = match options.content {
            Some(_) => open(Path::new("table"), options).expect("in memory"),
            None => read(text.as_bytes(), options).expect(text),
        };
        assert_eq!(requests.iter().map(|request| request.stream).collect::<Vec<u8>>(), [3, 0, 255], "{text}");
        assert_eq!((workload.names_streams(), workload.streams()), (true, 256), "{text}");
    }
    let head = "time_us,op,offset_bytes,size_bytes,stream\n";
    for line in ["0,W,0,512,256", "0,W,0,512,", "0,WF,0,512,-1", "0,W,0,512,1.5"] {
        let message = read(format!("{head}{line}\n").as_bytes(), &any).expect_err(line);
        let part = "found; allowed are whole numbers from 0 to 255 for a write";
        assert!(message.starts_with("FILE:2: stream (column \"stream\")") && message.contains(part), "{message}");
    }
    let (_, plain) = read(b"time_us,op,offset_bytes,size_bytes\n0,W,0,512\n", &any).expect("no streams");
    assert_eq!((plain.names_streams(), plain.streams()), (false, 1));
}

/// The share of a trace that is done counts the requests that were taken. A file that fits into one buffer, a window of
/// records that are put in order, or a compressed one that is read in one go, was done with its first request, and runs
/// were expected to end at once.
#[test]
fn w266_the_share_that_is_done_follows_the_requests() {
    for (requests, is_compressed) in [(20_000, false), (200_000, true)] {
        let lines = (0..requests).fold("time_us,op,offset_bytes,size_bytes\n".to_owned(), |text, n| {
            text + &format!("{n},W,{},512\n", n % 100 * 512)
        });
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        if is_compressed {
            let mut gzip = flate2::write::GzEncoder::new(&mut file, flate2::Compression::fast());
            gzip.write_all(lines.as_bytes()).and_then(|()| gzip.finish().map(drop)).expect("written");
        } else {
            file.write_all(lines.as_bytes()).expect("a writable temporary directory");
        }
        let mut workload = open_trace_with(file.path(), &TraceOptions::default(), &ANYWHERE).expect("legal");
        for quarter in 1..=4 {
            for _ in 0..requests / 4 {
                workload.next_request().expect("legal").expect("a request");
            }
            let (share, due) = (workload.progress().expect("a file"), f64::from(quarter) / 4.0);
            assert!((share - due).abs() < 0.1, "{share} after {due} of {requests}");
        }
    }
}
