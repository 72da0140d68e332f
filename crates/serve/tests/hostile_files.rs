//! Recordings of sessions that somebody made to do harm: refused in one line, or sessions; never a panic, and never
//! more memory than the file is worth.

#[path = "../../../fuzz/engine.rs"]
mod engine;

use std::path::{Path, PathBuf};

use engine::Random;
use pumice_config::SpecSource;
use pumice_serve::RecordedSession;
use pumice_serve::crash::{CrashLab, CutPlaces};

/// Bytes of the device that sessions here are of; it is `tiny` with [`SETS`].
const CAPACITY: u64 = 1 << 20;

/// A small device that recovers after a cut.
const SETS: [(&str, &str); 5] = [
    ("ftl.kind", "page"),
    ("ftl.recovery", "scan"),
    ("ftl.over_provisioning", "0.5"),
    ("geometry.blocks_per_plane", "16"),
    ("initial.fill", "0.0"),
];

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("pumice-hostile-{}-{name}", std::process::id()))
}

/// An entry of a request, as a recording has it.
fn entry(at: u64, offset: u64, bytes: u32, kind: u8) -> Vec<u8> {
    let mut entry = vec![0];
    entry.extend(at.to_le_bytes());
    entry.extend(offset.to_le_bytes());
    entry.extend(bytes.to_le_bytes());
    entry.extend([kind, 0, 0, 0]);
    entry
}

/// A sound session: writes, a trim, a read, a flush, a mark.
fn session() -> Vec<u8> {
    let mut body = Vec::new();
    for nth in 0..6 {
        body.extend(entry(nth, nth * 4096, 1024, 1));
        body.extend([nth as u8; 1024]);
    }
    body.extend(entry(7, 0, 4096, 2));
    body.extend(entry(8, 4096, 512, 0));
    body.extend(entry(9, 0, 0, 3));
    body.extend([1, 3, 0]);
    body.extend(b"row");
    body.push(2);
    body
}

fn header() -> String {
    format!(
        r#"{{"capacity_bytes":{CAPACITY},"spec":{{"preset":"tiny","spec_text":null,"spec_name":null,"sets":[["ftl.kind","page"]],"origins":["--set"],"scale":null,"plugins":[{{"path":"/x.so","sha256":"00"}}]}}}}"#
    )
}

/// Writes a recording of these parts, and reads it.
fn read(path: &Path, header: &[u8], body: &[u8]) -> Result<RecordedSession, String> {
    let mut content = b"pumice.recording/1\n".to_vec();
    content.extend(header);
    content.push(b'\n');
    content.extend(zstd::stream::encode_all(body, 1).expect("compresses"));
    std::fs::write(path, content).expect("writable");
    RecordedSession::read(path).map_err(|error| error.to_string())
}

fn source() -> SpecSource {
    let sets = SETS.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }
}

/// A recording that is read is a session that can be replayed.
fn survive(path: &Path, header: &[u8], body: &[u8]) -> Result<(), String> {
    let recorded = match read(path, header, body) {
        Ok(recorded) => recorded,
        Err(text) if text.contains('\n') || !text.contains(&path.display().to_string()) => {
            return Err(format!("no line with the file's name: {text:?}"));
        }
        Err(_) => return Ok(()),
    };
    match CrashLab::new(&source(), recorded).and_then(|lab| lab.instants(CutPlaces::Random, 2)) {
        Err(error) if error.to_string().contains('\n') => Err(format!("several lines: {error}")),
        _ => Ok(()),
    }
}

#[test]
fn s203_no_recording_makes_the_lab_panic() {
    let path = temporary("recording");
    let corpus = [session(), header().into_bytes()];
    let sound = read(&path, &corpus[1], &corpus[0]).expect("a sound recording");
    assert_eq!((sound.operations.len(), sound.marks.len()), (9, 1));
    engine::run("recordings", &corpus[..1], Path::new(env!("CARGO_TARGET_TMPDIR")), |body, random: &mut Random| {
        let header = match random.below(3) {
            0 => engine::input(&corpus[1..], random),
            _ => corpus[1].clone(),
        };
        survive(&path, &header, body)
    });
    std::fs::remove_file(path).expect("is there");
}

#[test]
fn s204_a_recording_takes_no_more_memory_than_its_file_is_worth() {
    let path = temporary("bomb");
    let writes = |count: usize| {
        let one = [entry(0, 0, CAPACITY as u32, 1), vec![0; CAPACITY as usize]].concat();
        [one.repeat(count), vec![2]].concat()
    };
    let unfolds = |body: &[u8]| read(&path, header().as_bytes(), body).map(|_| ()).expect_err("too much");
    // Sessions of real programs write zeroes too, but not without end.
    assert_eq!(read(&path, header().as_bytes(), &writes(64)).expect("64 MiB").operations.len(), 64);
    let flushes = [entry(0, 0, 0, 3).repeat(6 << 20), vec![2]].concat();
    let marks = [[1, 0, 0].repeat(6 << 20), vec![2]].concat();
    for bomb in [writes(192), flushes, marks] {
        assert!(unfolds(&bomb).contains("unfolds to over 128 MiB and 256 times the size of its file"));
    }
    // A request that claims more than its device has is refused before anything is made for it.
    assert!(unfolds(&entry(0, 512, u32::MAX - 511, 1)).contains("request 1 lies beyond its device"));
    assert!(unfolds(&entry(0, u64::MAX - 511, 512, 1)).contains("request 1 lies beyond its device"));
    assert!(unfolds(&entry(0, 100, 512, 1)).contains("request 1 is not of whole sectors"));
    assert!(unfolds(&entry(0, 0, 0, 1)).contains("request 1 is not of whole sectors"));
    std::fs::remove_file(path).expect("is there");
}
