//! The streaming parser against a naive one, on random lines and on random bytes.

use std::path::Path;

use proptest::prelude::*;
use pumice_types::{HostRequest, RequestKind, Time};
use pumice_workload::{AddressPolicy, Placement, open_trace};

/// (time, kind, offset, size) as the format says, with the standard library alone.
type Naive = (u64, RequestKind, u64, u32);

fn digits(field: &str) -> Option<u64> {
    let plain = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
    if plain { field.parse().ok() } else { None }
}

fn naive_line(line: &[u8]) -> Option<Naive> {
    let text = std::str::from_utf8(line).ok()?;
    let fields: Vec<&str> = text.strip_suffix('\r').unwrap_or(text).split(',').collect();
    let [time, host, disk, kind, offset, size, response] = fields[..] else { return None };
    digits(disk).and(digits(response))?;
    let kind = match kind.to_ascii_lowercase().as_str() {
        "read" => RequestKind::Read,
        "write" => RequestKind::Write,
        _ => return None,
    };
    let (time, offset, size) = (digits(time)?, digits(offset)?, digits(size)?);
    let bytes = u32::try_from(size).ok().filter(|&bytes| bytes > 0)?;
    offset.checked_add(size)?;
    (!host.chars().any(char::is_control)).then_some((time, kind, offset, bytes))
}

/// The requests of a whole text and whether it ends without a fault; times are in range.
fn naive(text: &[u8]) -> (Vec<HostRequest>, bool) {
    let mut records = Vec::new();
    let mut good = true;
    for line in text.strip_suffix(b"\n").unwrap_or(text).split(|&byte| byte == b'\n') {
        match naive_line(line) {
            Some(record) => records.push(record),
            None => {
                good = false;
                break;
            }
        }
    }
    records.sort_by_key(|record| record.0);
    let base = records.first().map_or(0, |record| record.0);
    let request = |(time, kind, offset_bytes, bytes)| HostRequest {
        arrival: Time((time - base) * 100),
        offset_bytes,
        bytes,
        kind,
        fua: false,
        stream: 0,
        flow: 0,
    };
    (records.into_iter().map(request).collect(), good)
}

fn streamed(path: &Path) -> (Vec<HostRequest>, bool) {
    let placement = Placement { capacity_bytes: u64::MAX, page_bytes: 4096, policy: AddressPolicy::Exact };
    let mut requests = Vec::new();
    let Ok(mut workload) = open_trace(path, None, &placement) else { return (requests, false) };
    loop {
        match workload.next_request() {
            Ok(Some(request)) => requests.push(request),
            Ok(None) => return (requests, true),
            Err(error) => {
                assert!(!error.to_string().contains('\n'));
                return (requests, false);
            }
        }
    }
}

fn compare(text: &[u8]) -> Result<(), TestCaseError> {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let path = directory.path().join("trace");
    std::fs::write(&path, text).expect("a writable temporary directory");
    prop_assert_eq!(streamed(&path), naive(text));
    Ok(())
}

/// Mostly legal fields, so that a good share of the lines is whole.
fn line() -> impl Strategy<Value = String> {
    let time = prop_oneof![20 => "[0-9]{1,16}", 1 => "-?[0-9]{0,3}\\.?[0-9]{0,2}"];
    let host = prop_oneof![20 => "[a-z0-9]{0,5}", 1 => "\\PC{0,3}", 1 => "[\u{0}-\u{2b}]{0,3}"];
    let kind = prop_oneof![20 => "(Read|Write|READ|write)", 1 => "[A-Za-z]{0,5}"];
    let number = || prop_oneof![20 => "[0-9]{1,10}", 3 => "[0-9]{17,22}", 1 => "[ -+0-9a]{0,4}"];
    let size = prop_oneof![20 => "[1-9][0-9]{0,8}", 1 => "[0-9]{8,12}", 1 => Just("0".to_owned())];
    let end = prop_oneof![10 => Just("\n"), 3 => Just("\r\n"), 1 => Just(",\n")];
    (time, host, "[0-9]{1,2}", kind, number(), size, number(), end).prop_map(
        |(time, host, disk, kind, offset, size, response, end)| {
            format!("{time},{host},{disk},{kind},{offset},{size},{response}{end}")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn w195_random_lines(lines in prop::collection::vec(line(), 1..30), cut in 0usize..3) {
        let text = lines.concat();
        compare(&text.as_bytes()[..text.len() - cut])?;
    }

    #[test]
    fn w196_random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000), magic in 0usize..5) {
        let heads: [&[u8]; 5] = [b"", &[0x1f, 0x8b, 8], &[0x28, 0xb5, 0x2f, 0xfd], b"\xfd7zXZ\0", b"128166372000000000,h,0,"];
        let directory = tempfile::TempDir::new().expect("a temporary directory");
        let path = directory.path().join("trace");
        std::fs::write(&path, [heads[magic], &bytes].concat()).expect("a writable temporary directory");
        let (requests, good) = streamed(&path);
        prop_assert!(!good || !requests.is_empty());
    }
}
