//! 7xx: write amplification under uniform random writes against Desnoyers (SYSTOR'12; ACM TOS 2014).

use crate::support::{document, number};

/// Principal branch of Lambert's W for -1/e < x < 0, by Newton's method.
fn lambert_w(x: f64) -> f64 {
    let mut w = 0.0f64;
    for _ in 0..200 {
        let e = w.exp();
        w -= (w * e - x) / (e * (w + 1.0));
    }
    w
}

/// LRU and FIFO cleaning: α / (α + W(−α e^−α)), α = physical / user pages of the blocks with data.
fn fifo(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w(-alpha * (-alpha).exp()))
}

/// Greedy cleaning with n pages a block.
fn greedy(alpha: f64, n: f64) -> f64 {
    let a = (1.0 + 1.0 / (2.0 * n)) * alpha;
    let x0 = 0.5 - n / alpha * lambert_w(-a * (-a).exp());
    n / (n - (x0 - 1.0))
}

/// Write amplification of one plane in the steady state, and α of its data blocks.
fn simulate(policy: &str, over_provisioning: f64, pages: u32) -> (f64, f64) {
    let blocks = (600_000 / pages).max(1_000);
    let (block_text, page_text, op_text) = (blocks.to_string(), pages.to_string(), over_provisioning.to_string());
    let user_pages = (f64::from(blocks * pages) * (1.0 - over_provisioning)) as u32;
    let requests = (2 * user_pages).to_string();
    let document = document(&[
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", &block_text),
        ("geometry.pages_per_block", &page_text),
        ("partial_erase.unit", "none"),
        ("ftl.kind", "page"),
        ("ftl.gc_policy", policy),
        ("ftl.over_provisioning", &op_text),
        ("ftl.gc_free_threshold", "0.0"),
        ("initial.fill", "1.0"),
        ("initial.age_writes", "3.0"),
        ("workload.read_fraction", "0.0"),
        ("workload.request_bytes", "4096"),
        ("workload.footprint", "1.0"),
        ("workload.requests", &requests),
        ("run.timed", "false"),
    ]);
    // When a victim is chosen, the host's block has just been closed; the free block and the one
    // being copied into are not among those that hold data to clean.
    let alpha = f64::from((blocks - 2) * pages) / f64::from(user_pages);
    (number(&document, "write_amplification"), alpha)
}

#[test]
fn t710_fifo_cleaning_meets_the_closed_form() {
    for over_provisioning in [0.07, 0.10, 0.15, 0.20, 0.28] {
        let (simulated, alpha) = simulate("fifo", over_provisioning, 256);
        let theory = fifo(alpha);
        println!("fifo OP {over_provisioning} 256 pages: simulated {simulated:.4}, theory {theory:.4}");
        assert!((simulated / theory - 1.0).abs() < 0.01, "OP {over_provisioning}: {simulated} and {theory}");
    }
}

#[test]
fn t711_greedy_cleaning_meets_the_approximation() {
    for pages in [32, 64, 256, 576, 2112] {
        for over_provisioning in [0.07, 0.10, 0.15, 0.20, 0.28] {
            let (simulated, alpha) = simulate("greedy", over_provisioning, pages);
            let theory = greedy(alpha, f64::from(pages));
            println!("greedy OP {over_provisioning} {pages} pages: simulated {simulated:.4}, theory {theory:.4}");
            let off = simulated / theory - 1.0;
            assert!(off.abs() < 0.02, "OP {over_provisioning}, {pages} pages: {simulated} and {theory}");
        }
    }
}
