//! The engine allocates nothing per command once it is warm.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use pumice_config::{Config, SpecSource};
use pumice_engine::run;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed on unchanged to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
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
        counts.push((progress.requests, ALLOCATIONS.load(Ordering::Relaxed)));
        true
    });
    let outcome = outcome.expect("it runs");
    assert!(outcome.flash_commands > 1_000_000, "long enough to tell");
    let (warm, last) = (counts[counts.len() / 2], counts[counts.len() - 1]);
    // The list of counts itself, and a queue in a burst deeper than any before, may grow.
    assert!(last.1 - warm.1 <= 4, "{label}: {} allocations from request {}", last.1 - warm.1, warm.0);
}

// One test, because all threads of a process share the count.
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
