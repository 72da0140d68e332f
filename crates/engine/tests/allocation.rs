//! The engine allocates nothing per command once it is warm, and layers say what memory they take.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pumice_config::{Config, SpecSource};
use pumice_engine::{Built, build, run};
use pumice_ftl::FtlKind;
use pumice_types::Choice;

struct Counting;

// A run has one thread, and tests run beside each other: each thread counts for itself.
thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that this thread has taken and not given back.
    static LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE_BYTES.set(LIVE_BYTES.get() + layout.size() as i64);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.set(LIVE_BYTES.get() - layout.size() as i64);
        // SAFETY: the pointer came from `alloc` above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a preset; after half of its requests nothing may be allocated any more.
#[track_caller]
fn check(preset: &str, scale: f64, sets: &[(&str, &str)]) {
    let label = format!("{preset} {sets:?}");
    let sets = sets.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let spec = Config::resolve(&SpecSource { preset: Some(preset.into()), sets, ..SpecSource::default() });
    let mut counts = Vec::new();
    let outcome = run(&spec.expect("valid"), scale, &mut |progress| {
        counts.push((progress.requests, ALLOCATIONS.get()));
        true
    });
    let outcome = outcome.expect("it runs");
    assert!(outcome.flash_commands > 1_000_000, "long enough to tell");
    let (warm, last) = (counts[counts.len() / 2], counts[counts.len() - 1]);
    // The list of counts itself, and a queue in a burst deeper than any before, may grow.
    assert!(last.1 - warm.1 <= 4, "{label}: {} allocations from request {}", last.1 - warm.1, warm.0);
}

#[test]
fn t910_no_allocation_after_warm_up() {
    let runs = [
        ("pen-1tb", "nftl", "block-erase", "open-loop"),
        ("pen-1tb", "nftl", "m-merge", "open-loop"),
        ("pen-1tb", "nftl", "m-merge", "closed-loop"),
        ("pen-1tb", "gftl", "block-erase", "open-loop"),
        ("pen-superblock-4-5", "superblock-pen", "m-merge", "open-loop"),
        ("pen-superblock-4-5", "superblock-pen", "m-merge-budgeted", "open-loop"),
    ];
    for (preset, kind, merge, mode) in runs {
        let sets = [("ftl.merge", merge), ("host.mode", mode), ("host.queue_depth", "16"), ("ftl.kind", kind)];
        check(preset, 0.0625, &sets);
    }
    for copyback in ["false", "true"] {
        let sets = [
            ("timing.multi_plane", "queue"),
            ("timing.copyback", copyback),
            ("ftl.gc_planes", "die"),
            ("ftl.allocation", "static"),
            ("initial.age_writes", "0.0"),
            ("workload.footprint", "0.9"),
            ("workload.requests", "6000000"),
        ];
        check("bench-64g", 0.0625, &sets);
    }
    for kind in ["log-block", "fast", "superblock-2006"] {
        let sets = [
            ("ftl.kind", kind),
            ("workload.kind", "hot-cold"),
            ("workload.requests", "60000"),
            ("workload.request_bytes", "16384"),
            ("workload.read_fraction", "0.0"),
            ("workload.hot_space", "0.1"),
        ];
        check("superblock-2006-2g", 1.0, &sets);
    }
}

/// Compares the bytes that a layer says its state takes with those that it gives back when it is dropped. The device is
/// small enough for all columns to come from the allocator, and not as large pages from the operating system.
fn check_state(kind: FtlKind) {
    let sets = [("ftl.kind", kind.name()), ("geometry.pages_per_block", "512"), ("initial.fill", "0.8")];
    let sets = sets.map(|(key, value)| (key.to_string(), value.to_string())).to_vec();
    let config = Config::resolve(&SpecSource { preset: Some("small".into()), sets, ..SpecSource::default() });
    let Built { ftl, geometry, .. } = build(&config.expect("valid"), 1.0).expect("it is built");
    // These layers have room for as many U-blocks as half of the blocks, with four bytes a page.
    let reserves = [FtlKind::Nftl, FtlKind::Gftl, FtlKind::Pbe].contains(&kind);
    let reserved = if reserves { geometry.pages() / 2 * 4 } else { 0 };
    let said = ftl.layer().memory().map_or(0, |memory| memory.state_bytes()) + reserved;
    let before = LIVE_BYTES.get();
    drop(ftl);
    let held = (before - LIVE_BYTES.get()) as u64;
    // What is left out does not grow with the pages: lists of blocks, and memory of the planners.
    assert!(said <= held && held - said <= held / 50, "{kind}: holds {held} bytes and says {said}");
}

#[test]
fn t918_every_layer_says_how_much_memory_its_state_takes() {
    FtlKind::ALL.iter().for_each(|&kind| check_state(kind));
}
