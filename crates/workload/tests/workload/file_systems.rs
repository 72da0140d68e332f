//! Workloads on a file system: Table 1's counts, determinism, addresses, what the options change.

use pumice_types::{HostRequest, RequestKind};
use pumice_workload::{
    AddressPolicy, Arrival, ArrivalKind, Fact, FatOptions, Placement, TraceErrorKind, Workload, fat, fat_catalogue,
};

const MIB: u64 = 1 << 20;
const PAGE: u64 = 2048;

/// The data region of every volume here begins in front of this.
const TABLES_END: u64 = 5 * MIB / 4;

fn options() -> FatOptions {
    FatOptions {
        scale: 1.0,
        seed: 1,
        volume_mib: None,
        flush_kib: None,
        fragmentation: 0.0,
        mixture: None,
        update_kib: None,
        saves: 1,
        arrival: Arrival::even(ArrivalKind::Fixed, 10.0),
    }
}

fn small() -> FatOptions {
    FatOptions { scale: 0.125, ..options() }
}

fn device(mib: u64) -> Placement {
    Placement { capacity_bytes: mib * MIB, page_bytes: 2048, policy: AddressPolicy::Exact }
}

fn requests(name: &str, options: &FatOptions, mib: u64) -> Vec<HostRequest> {
    let mut workload = fat(name, options, &device(mib)).expect(name);
    drain(&mut workload)
}

fn drain(workload: &mut Workload) -> Vec<HostRequest> {
    std::iter::from_fn(|| workload.next_request().expect("legal")).collect()
}

fn pages(requests: &[HostRequest]) -> u64 {
    let touched = |r: &HostRequest| (r.offset_bytes + u64::from(r.bytes) - 1) / PAGE - r.offset_bytes / PAGE + 1;
    requests.iter().map(touched).sum()
}

fn bytes(requests: &[HostRequest]) -> u64 {
    requests.iter().map(|r| u64::from(r.bytes)).sum()
}

/// Share of the requests that begin where the one before them of at least a page ended.
fn contiguous(requests: &[HostRequest]) -> f64 {
    let data: Vec<&HostRequest> = requests.iter().filter(|r| r.bytes >= 8192).collect();
    let next = data.windows(2).filter(|w| w[0].offset_bytes + u64::from(w[0].bytes) == w[1].offset_bytes).count();
    next as f64 / (data.len() - 1) as f64
}

#[test]
fn w300_table_1_is_met_within_the_storage() {
    for facts in fat_catalogue() {
        let mib = u64::from(facts.storage_mib);
        let mut workload = fat(facts.name, &options(), &device(mib)).expect(facts.name);
        let requests = drain(&mut workload);
        let off = pages(&requests) as f64 / facts.pages_written as f64 - 1.0;
        assert!(off.abs() < 0.02, "{}: {off:+.4} of {} pages", facts.name, facts.pages_written);
        assert!(requests.iter().all(|r| r.kind == RequestKind::Write && r.offset_bytes % 512 == 0 && r.bytes > 0));
        assert!(requests.iter().all(|r| r.offset_bytes + u64::from(r.bytes) <= mib * MIB), "{}", facts.name);
        assert!(requests.is_sorted_by_key(|r| r.arrival));
        // One data request of 32 KiB and two tables are the rule of a player. A PC writes its tables late,
        // after requests of 64 KiB, but much of what it writes is short.
        let per_request = bytes(&requests) / requests.len() as u64;
        let range = if facts.name == "pc" { 16 << 10..40 << 10 } else { 10 << 10..14 << 10 };
        assert!(range.contains(&per_request), "{}: {per_request} bytes a request", facts.name);
        assert!(workload.facts().contains(&("pages_written_2k", Fact::Count(pages(&requests)))));
        assert_eq!((workload.progress(), workload.requests_expected()), (Some(1.0), None));
    }
}

#[test]
fn w301_the_seed_decides_everything_and_the_page_size_nothing() {
    for name in ["pic", "pc"] {
        let first = requests(name, &small(), 512);
        assert_eq!(first, requests(name, &small(), 512), "{name}");
        assert_ne!(first, requests(name, &FatOptions { seed: 2, ..small() }, 512), "{name}");
        let large = Placement { page_bytes: 16_384, ..device(512) };
        assert_eq!(first, drain(&mut fat(name, &small(), &large).expect(name)), "{name}");
    }
}

#[test]
fn w302_both_tables_follow_every_flush() {
    let tables = |flush_kib: u32| {
        let requests = requests("mp3", &FatOptions { flush_kib: Some(flush_kib), ..small() }, 512);
        let (tables, data): (Vec<_>, Vec<_>) = requests.into_iter().partition(|r| r.offset_bytes < TABLES_END);
        tables.len() as f64 / (bytes(&data) as f64 / 1024.0 / f64::from(flush_kib))
    };
    // Two tables for 32 KiB of data, and those of each file's removal.
    let every_32 = tables(32);
    assert!((2.0..2.3).contains(&every_32), "{every_32} table writes a flush");
    // Flushed once a file, both tables of up to 15 sectors are joined: far fewer writes.
    let (few, many) = (tables(8192) / 8192.0, tables(16) / 16.0);
    assert!(few < many / 10.0, "{few} and {many} table writes a KiB");
}

#[test]
fn w303_fragmentation_breaks_runs() {
    let at = |fragmentation| contiguous(&requests("pic", &FatOptions { fragmentation, ..small() }, 256));
    let (none, some, much) = (at(0.0), at(0.02), at(0.2));
    assert!(none > some && some > much, "{none}, {some}, {much}");
    assert!(none > 0.9, "next-fit leaves long runs: {none}");
}

#[test]
fn w304_data_lies_on_aligned_clusters_and_tables_in_front() {
    let requests = requests("mov", &FatOptions { fragmentation: 0.0, ..small() }, 256);
    let cluster = 2048;
    let (tables, data): (Vec<_>, Vec<_>) = requests.into_iter().partition(|r| r.offset_bytes < TABLES_END);
    // Directories are written by the sector.
    let files = data.iter().filter(|r| r.bytes > 4096);
    assert!(files.clone().count() > 1000 && files.clone().all(|r| r.offset_bytes % cluster == 0));
    let mut distinct: Vec<u64> = tables.iter().map(|r| r.offset_bytes).collect();
    distinct.sort_unstable();
    distinct.dedup();
    // The second table mirrors the first: one distance leads from every sector of it to a copy. It
    // is near 512 KiB, four bytes for each of some 131,000 clusters.
    let first: Vec<u64> = distinct.iter().copied().filter(|&at| at < distinct[0] + (450 << 10)).collect();
    let is_distance = |&length: &u64| first.iter().all(|at| distinct.binary_search(&(at + length)).is_ok());
    let mut lengths = distinct.iter().map(|at| at - distinct[0]).filter(|&length| length > 450 << 10);
    assert!(first.len() > 100 && lengths.any(|length| is_distance(&length)));
}

#[test]
fn w305_what_cannot_be_is_refused() {
    let refused = |name: &str, options: &FatOptions, mib| {
        let error = fat(name, options, &device(mib)).expect_err(name);
        (error.kind(), error.to_string())
    };
    let (kind, text) = refused("pic", &options(), 2047);
    assert_eq!(kind, TraceErrorKind::Capacity);
    assert!(text.contains("workload.fat_volume_mib") && text.contains("2147483648 bytes"), "{text}");
    for (wrong, part) in [
        (FatOptions { scale: 0.01, ..options() }, "a volume of 20.48 MiB"),
        (FatOptions { volume_mib: Some(40_000), ..options() }, "a volume of 40000 MiB"),
        (FatOptions { scale: 1.5, ..options() }, "scale = 1.5"),
        (FatOptions { flush_kib: Some(0), ..options() }, "fat_flush_kib = 0"),
        (FatOptions { fragmentation: 0.6, ..options() }, "fat_fragmentation = 0.6"),
        (
            FatOptions { mixture: Some(vec![0.5, 0.5]), ..options() },
            "fat_mixture = [0.5, 0.5] found; allowed are three",
        ),
        (FatOptions { mixture: Some(vec![0.5, 0.5, 0.1]), ..options() }, "whose sum is at most 1"),
        (FatOptions { update_kib: Some(6), ..options() }, "fat_update_kib = 6 found; allowed are multiples of 4"),
    ] {
        let (kind, text) = refused("pic", &wrong, 4096);
        assert!(kind == TraceErrorKind::Option && text.contains(part), "{text}");
    }
    assert!(refused("picture", &options(), 4096).1.contains("allowed are pic, mp3, mov, pmp-2g, pmp-4g, pc"));
    let smaller = FatOptions { volume_mib: Some(1024), scale: 0.125, ..options() };
    assert!(requests("pmp-2g", &smaller, 128).iter().all(|r| r.offset_bytes < 128 * MIB));
}

#[test]
fn w306_the_mixture_decides_what_a_notebook_writes() {
    let written = |mixture: [f64; 3]| {
        let mixture = Some(mixture.to_vec());
        requests("pc", &FatOptions { mixture, update_kib: Some(16), ..small() }, 512)
    };
    let in_place = written([0.0, 0.0, 1.0]);
    assert!(in_place.iter().all(|r| r.bytes % 4096 == 0 && r.bytes <= 16_384), "nothing but updates, no table");
    let mean = bytes(&in_place) / in_place.len() as u64;
    assert!((9 << 10..11 << 10).contains(&mean), "{mean} bytes, evenly 4 to 16 KiB");
    // Songs and movies alone are written with their tables, in requests of 64 KiB.
    let media = written([0.0; 3]);
    let tables = media.iter().filter(|r| r.offset_bytes < TABLES_END).count();
    assert!(tables > 0 && contiguous(&media) > 0.9);
    let share = written([0.0, 0.0, 0.5]).iter().filter(|r| r.bytes <= 16_384 && r.bytes % 4096 == 0).count();
    assert!(share > in_place.len() / 4, "{share} of {}", in_place.len());
    // Without a mixture of its own, what a notebook has is what nobody asks for.
    let own = FatOptions { mixture: Some(vec![0.05, 0.10, 0.09]), update_kib: Some(64), ..small() };
    assert_eq!(requests("pc", &own, 512), requests("pc", &small(), 512));
}

#[test]
fn w307_a_saved_document_is_written_over_itself_as_a_whole() {
    let saved = |saves| requests("pc", &FatOptions { mixture: Some(vec![0.0, 1.0, 0.0]), saves, ..small() }, 512);
    // Requests that begin where one of the 64 requests before began, as a share of all bytes of files.
    let again = |saves| {
        let found = saved(saves);
        let files: Vec<_> = found.iter().filter(|r| r.offset_bytes >= TABLES_END).collect();
        let is_again =
            |nth: usize| files[nth.saturating_sub(64)..nth].iter().any(|r| r.offset_bytes == files[nth].offset_bytes);
        let again: u64 = (0..files.len()).filter(|&nth| is_again(nth)).map(|nth| u64::from(files[nth].bytes)).sum();
        again as f64 / files.iter().map(|r| u64::from(r.bytes)).sum::<u64>() as f64
    };
    let [once, four] = [again(1), again(4)];
    assert!(once < 0.1 && (0.65..0.85).contains(&four), "{once}, {four}");
}
