//! Drives that were told to lose data: they lose it, return what they have left, count it, and go on.

use std::path::Path;

use crate::client::{Client, served, source, temporary};
use pumice_config::{FlushPolicy, PowerFailure};
use pumice_ftl::FtlKind;
use pumice_ftl::Recovery;
use pumice_serve::{Address, ControlRequest, ServeOptions};
use pumice_types::Choice;
use pumice_workload::RandomStream;
use serde_json::Value;

const PAGE: u64 = 4096;

/// Pages that are written: few, so that the last writes before a cut are among them, and blocks are reclaimed.
const PAGES: u64 = 300;

/// Most power cuts until a drive must have lost something, and fewest that are made.
const CUTS: std::ops::Range<u64> = 2..20;

/// Every way to lie, as a setting: failures of a power cut, and flushes that are ignored.
fn lies() -> Vec<(&'static str, &'static str)> {
    let failures = PowerFailure::ALL.iter().filter(|&&failure| failure != PowerFailure::None);
    let failures = failures.map(|failure| ("power.failure", failure.name()));
    failures.chain([("host.flush", FlushPolicy::Ignored.name())]).collect()
}

/// Whether the engine sees the loss, which counts versions of pages and no bytes.
fn is_counted(lie: &str) -> bool {
    ["unserializable-writes", "metadata-corruption", "ignored"].contains(&lie)
}

/// Writes pages at random and flushes. `shadow` holds what each page should hold.
fn write(path: &Path, random: &mut RandomStream, shadow: &mut [u8]) {
    let Ok(mut client) = Client::simple(path) else { return };
    for nth in 0..150 {
        let (page, fill) = (random.below(PAGES), random.bits() as u8);
        // A drive that is dead fails everything.
        if client.ask((1, u16::from(nth % 5 == 0)), page * PAGE, PAGE as u32, &[fill; PAGE as usize]).is_ok() {
            shadow[page as usize] = fill;
        }
    }
    let _ = client.flush();
}

/// Reads every page. Returns how many do not hold what they should; they hold that from now on.
fn lost(path: &Path, shadow: &mut [u8], what: &str) -> u64 {
    let mut client = Client::simple(path).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut lost = 0;
    for (page, held) in shadow.iter_mut().enumerate() {
        match client.read(page as u64 * PAGE, PAGE as u32) {
            Ok(found) if found == [*held; PAGE as usize] => {}
            Ok(found) => {
                lost += 1;
                *held = found[0];
            }
            Err(errno) => {
                assert_eq!(errno, 5, "{what}: an error of input or output");
                lost += 1;
            }
        }
    }
    lost
}

/// Three of seven ended the server at the first read of a lost page: the device held the loss for a fault of its own.
#[test]
fn t946_a_drive_that_was_told_to_lose_data_returns_what_it_has_and_counts() {
    let recovers = |kind: &&FtlKind| kind.facts().recoveries.contains(&Recovery::Scan) && !kind.facts().forgets_trims();
    for (lie, kind, fill) in lies().into_iter().flat_map(|lie| {
        FtlKind::ALL.iter().filter(recovers).flat_map(move |&kind| ["0", "0.8"].map(|fill| (lie, kind, fill)))
    }) {
        let what = format!("{} {}, fill {fill}", lie.1, kind.name());
        let sets = [
            ("ftl.kind", kind.name()),
            ("ftl.recovery", "scan"),
            ("ftl.over_provisioning", "0.25"),
            ("initial.fill", fill),
            ("host.write_buffer_kib", "128"),
            ("host.flush", "lru"),
            lie,
        ];
        let name = what.replace([' ', ','], "-");
        let (server, path) = served(&ServeOptions::new(source("tiny", &sets), Address::Unix(temporary(&name))));
        let (mut random, mut shadow, mut found) = (RandomStream::new(1, &what), vec![0; PAGES as usize], 0);
        let mut cuts = 0;
        while cuts < CUTS.start || (found == 0 && cuts < CUTS.end) {
            cuts += 1;
            write(&path, &mut random, &mut shadow);
            server.answer(&ControlRequest::Cut {}).unwrap_or_else(|why| panic!("{what}: {why}"));
            found += lost(&path, &mut shadow, &what);
            let status = server.answer(&ControlRequest::Status {}).expect("a status");
            assert_eq!(status["failure"], Value::Null, "{what}");
        }
        assert!(found > 0, "{what}: nothing was lost");
        let document = server.stop().unwrap_or_else(|error| panic!("{what}: {error}"));
        let counted = document["power"]["broken_promises"].as_u64().expect("a count");
        assert!(counted > 0 || !is_counted(lie.1), "{what}: {found} pages are lost, none is counted");
    }
}
