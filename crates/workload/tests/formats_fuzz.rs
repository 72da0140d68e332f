//! Random bytes and damaged lines in every format: an error of one line or requests, never a panic.

use std::path::Path;

use proptest::prelude::*;
use pumice_workload::{AddressPolicy, Placement, TraceFormat, TraceOptions, Volumes, check, info, open_trace_with};

/// What one pass over a file gives: requests, or how many there were before an error.
fn survive(path: &Path, options: &TraceOptions, policy: AddressPolicy) -> Result<u64, TestCaseError> {
    let placement = Placement { capacity_bytes: 1 << 40, page_bytes: 4_096, policy };
    let mut count = 0;
    let mut last = 0;
    let fault = match open_trace_with(path, options, &placement) {
        Err(error) => Some(error),
        Ok(mut workload) => loop {
            match workload.next_request() {
                Ok(Some(request)) => {
                    count += 1;
                    prop_assert!(request.arrival.0 >= last && request.bytes > 0);
                    prop_assert!(request.offset_bytes + u64::from(request.bytes) <= 1 << 40);
                    last = request.arrival.0;
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        },
    };
    let line = fault.map(|error| error.to_string());
    prop_assert!(line.as_ref().is_none_or(|line| !line.contains(['\n', '\r'])), "{:?}", line);
    prop_assert!(line.is_some() || count > 0);
    Ok(count)
}

fn survive_all(path: &Path, format: Option<TraceFormat>) -> Result<(), TestCaseError> {
    for volumes in [Volumes::Overlay, Volumes::Separate, Volumes::One("0".to_owned())] {
        let options = TraceOptions { format, volumes, ..TraceOptions::default() };
        for policy in [AddressPolicy::Exact, AddressPolicy::Wrap, AddressPolicy::Compact] {
            survive(path, &options, policy)?;
        }
    }
    let _ = (check(path, format), info(path, format));
    Ok(())
}

/// A legal file of each format, to be damaged.
fn good(format: TraceFormat) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/corpus/{}-good.txt", format.name()));
    std::fs::read(path).expect("part of the corpus")
}

/// Bytes of which lines are made, so that random ones come near to being legal.
fn almost_text() -> impl Strategy<Value = u8> {
    prop_oneof![
        6 => prop::sample::select(&b"0123456789"[..]),
        4 => prop::sample::select(&b",. \n\tRWD+-[(:r"[..]),
        1 => any::<u8>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn w230_random_bytes(bytes in prop::collection::vec(almost_text(), 0..400), binary in prop::collection::vec(any::<u8>(), 0..400)) {
        let directory = tempfile::TempDir::new().expect("a temporary directory");
        let path = directory.path().join("trace");
        for content in [bytes, binary] {
            std::fs::write(&path, &content).expect("a writable temporary directory");
            survive_all(&path, None)?;
            for format in TraceFormat::ALL {
                survive_all(&path, Some(format))?;
            }
        }
    }

    #[test]
    fn w231_damaged_lines(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, prop::collection::vec(almost_text(), 0..6)), 0..4),
        repeat in 1usize..4,
    ) {
        let directory = tempfile::TempDir::new().expect("a temporary directory");
        let path = directory.path().join("trace");
        for format in TraceFormat::ALL {
            let mut content = good(format).repeat(repeat);
            for (at, removed, inserted) in &cuts {
                let start = at.index(content.len());
                let end = (start + removed).min(content.len());
                content.splice(start..end, inserted.iter().copied());
                if content.is_empty() {
                    content.push(b'0');
                }
            }
            std::fs::write(&path, &content).expect("a writable temporary directory");
            survive_all(&path, Some(format))?;
            survive_all(&path, None)?;
        }
    }
}
