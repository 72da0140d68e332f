//! Mutated and random bytes in every format: requests or an error of one line, never a panic.

#[path = "../../../fuzz/engine.rs"]
mod engine;

use std::path::Path;

use engine::Random;
use pumice_types::Choice;
use pumice_workload::{
    AddressPolicy, ColumnRequest, FioJob, Placement, RequestKind, TraceError, TraceErrorKind, TraceFormat,
    TraceOptions, Trims, Volumes, check, info, open_trace_with,
};

const CAPACITY: u64 = 1 << 40;

/// Where failing inputs are kept.
fn keep() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Files of the corpus whose names begin so.
fn corpus(prefix: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = std::fs::read_dir(directory).expect("part of the repository").map(|entry| entry.expect("readable"));
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    // The order of a directory differs from machine to machine.
    paths.sort();
    let named =
        |path: &&std::path::PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    let files: Vec<Vec<u8>> = paths.iter().filter(named).map(|path| std::fs::read(path).expect("readable")).collect();
    assert!(!files.is_empty(), "no file of the corpus begins with {prefix}");
    files
}

/// What an error says must be one short line that names the file, and the line where there is one.
fn judge(error: &TraceError, path: &Path) -> Result<(), String> {
    let text = error.to_string();
    let rest = text.strip_prefix(&format!("{}:", path.display()));
    let names_line = |rest: &str| rest.split(':').next().is_some_and(|line| line.parse::<u64>().is_ok());
    let about_a_line = error.kind() == TraceErrorKind::Content && text.contains("found; allowed");
    match rest {
        _ if text.contains(['\n', '\r']) || text.len() > 1_000 => Err(format!("no short line: {text:?}")),
        // A survey's own limit concerns no line.
        None if error.kind() == TraceErrorKind::Capacity => Ok(()),
        None => Err(format!("the file is not named: {text}")),
        Some(rest) if about_a_line && !names_line(rest) => Err(format!("the line is not named: {text}")),
        Some(_) => Ok(()),
    }
}

/// Reads the file as a run, a check and a survey would.
fn survive(path: &Path, format: Option<TraceFormat>, random: &mut Random) -> Result<(), String> {
    let volumes = [Volumes::Overlay, Volumes::Separate, Volumes::One("0".to_owned())];
    let trims = if random.below(4) == 0 { Trims::Drop } else { Trims::Keep };
    let lists = ["time=0:s,op=1,offset=2:sectors,size=3", "op=type:0/1,offset=LBA:4096,size=size:kib,volume=0-1"];
    let list: &&str = random.pick(&lists);
    let columns = (random.below(4) == 0).then(|| ColumnRequest::parse(list).expect("legal"));
    let options = TraceOptions { format, columns, content: None, volumes: random.pick(&volumes).clone(), trims };
    let policy = *random.pick(AddressPolicy::ALL);
    let placement = Placement { capacity_bytes: CAPACITY, page_bytes: 4_096, policy };
    let mut last = 0;
    let end = open_trace_with(path, &options, &placement).and_then(|mut workload| {
        while let Some(request) = workload.next_request()? {
            let is_sized = (request.bytes == 0) == (request.kind == RequestKind::Flush);
            assert!(request.arrival.0 >= last && is_sized, "{request:?} after {last}");
            assert!(request.offset_bytes + u64::from(request.bytes) <= CAPACITY, "{request:?}");
            last = request.arrival.0;
        }
        Ok(())
    });
    end.or_else(|error| judge(&error, path))?;
    check(path, format).map(|_| ()).or_else(|error| judge(&error, path))?;
    info(path, format).map(|_| ()).or_else(|error| judge(&error, path))
}

/// Every reader: half of the inputs are read by name, half by content.
#[test]
fn w230_every_format() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let path = directory.path().join("trace");
    for &format in TraceFormat::ALL {
        engine::run(format.name(), &corpus(&format!("{format}-")), keep(), |bytes, random| {
            std::fs::write(&path, bytes).expect("a writable temporary directory");
            survive(&path, (random.below(2) == 0).then_some(format), random)
        });
    }
}

/// Damage to the compressed bytes themselves.
#[test]
fn w239_compressed() {
    let text = corpus("msr-good").concat();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).expect("legal options");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for writer in [&mut xz as &mut dyn std::io::Write, &mut gzip] {
        writer.write_all(&text).expect("memory");
    }
    let zstd = zstd::encode_all(&text[..], 1).expect("memory");
    let files = [xz.finish().expect("memory"), gzip.finish().expect("memory"), zstd];
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let path = directory.path().join("trace");
    engine::run("compressed", &files, keep(), |bytes, random| {
        std::fs::write(&path, bytes).expect("a writable temporary directory");
        survive(&path, None, random)
    });
}

#[test]
fn w249_fio_jobs() {
    let jobs = [
        "rw=randrw bs=16k iodepth=32 rwmixread=30",
        "[global]\nbssplit=4k/60:64k/40\n[j]\nrandseed=9\nsize=50%\n",
        "[global]\nbs=8k\n[a]\nnumjobs=3\noffset_increment=20%\nsize=30%\n[b]\nrate_iops=50\niodepth=4\n",
        "--rw=randtrim --random_distribution=zipf:1.2 --rate_iops=100 --rate_process=poisson",
    ];
    engine::run("fio-job", &jobs.map(|job| job.as_bytes().to_vec()), keep(), |bytes, _| {
        match FioJob::parse(&String::from_utf8_lossy(bytes)) {
            Err(error) if error.to_string().contains(['\n', '\r']) => Err(format!("{error}")),
            Err(error) if !error.to_string().contains("found") => Err(format!("nothing found is named: {error}")),
            Err(_) => Ok(()),
            Ok(jobs) => {
                match jobs.iter().find(|job| job.read_fraction + job.trim_fraction > 1.0 || job.iodepth == Some(0)) {
                    None => Ok(()),
                    Some(job) => Err(format!("{job:?}")),
                }
            }
        }
    });
}
