//! 7xx: write amplification under uniform random writes against Desnoyers (SYSTOR'12; ACM TOS 2014).

use crate::support::{document, number};

/// Principal branch of Lambert's W for -1/e < x < 0, by Newton's method.
fn lambert_w(x: f64) -> f64 {
    let mut w = 0.0f64;
    for _ in 0..200 {
        let e = libm::exp(w);
        w -= (w * e - x) / (e * (w + 1.0));
    }
    w
}

/// LRU and FIFO cleaning: α / (α + W(−α e^−α)), α = physical / user pages of the blocks with data.
fn fifo(alpha: f64) -> f64 {
    alpha / (alpha + lambert_w(-alpha * libm::exp(-alpha)))
}

/// Greedy cleaning with n pages a block.
fn greedy(alpha: f64, n: f64) -> f64 {
    let a = (1.0 + 1.0 / (2.0 * n)) * alpha;
    let x0 = 0.5 - n / alpha * lambert_w(-a * libm::exp(-a));
    n / (n - (x0 - 1.0))
}

/// Cleaning of the best of d random blocks with n pages each, in the mean field (Van Houdt, SIGMETRICS'13): of the blocks
/// with i valid pages as many lose one as there are full blocks less the victims with at least i, so λ i p_i = 1 − P_i^d,
/// where P_i is the share of blocks with at least i valid pages. λ is what makes the mean n / α; the victim has then
/// n (1 − λ / α) valid pages.
fn d_choices(alpha: f64, n: u32, d: i32) -> f64 {
    let between = |low: f64, high: f64, is_above: &dyn Fn(f64) -> bool| {
        let halve = |(low, high): (f64, f64)| {
            let middle = 0.5 * (low + high);
            if is_above(middle) { (low, middle) } else { (middle, high) }
        };
        (0..60).fold((low, high), |range, _| halve(range)).0
    };
    let valid = |lambda: f64| {
        let (mut above, mut valid) = (0.0, 0.0);
        for i in (1..=n).map(f64::from).rev() {
            let share = between(0.0, 1.0 - above, &|p| lambda * i * p + libm::pow(above + p, f64::from(d)) > 1.0);
            above += share;
            valid += i * share;
        }
        valid
    };
    alpha / between(0.0, alpha, &|lambda| lambda > 0.0 && valid(lambda) < f64::from(n) / alpha)
}

/// LRU and FIFO cleaning of pages of several kinds, each with its share of the writes and of the data,
/// that lie mixed. A page stays for `stay` host writes per user page before its block is the victim,
/// and is then still valid with chance e^(−stay · writes / space); with every page written by a copy as
/// well, a kind is written writes / (1 − e^(…)) times per host write. The sum is the write
/// amplification, and one round through all blocks is stay · sum = α.
fn fifo_of_kinds(alpha: f64, kinds: &[(f64, f64)]) -> f64 {
    let amplification = |stay: f64| -> f64 {
        kinds.iter().map(|(writes, space)| writes / (1.0 - libm::exp(-stay * writes / space))).sum()
    };
    let (mut low, mut high) = (1e-9, alpha);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if middle * amplification(middle) > alpha { high = middle } else { low = middle }
    }
    alpha / low
}

/// Least write amplification that greedy cleaning of two kinds in blocks of their own can have, over all
/// ways of sharing the spare pages between them.
fn greedy_apart(alpha: f64, n: f64, [hot, cold]: [(f64, f64); 2]) -> f64 {
    let of = |alpha_hot: f64| {
        let alpha_cold = (alpha - hot.1 * alpha_hot) / cold.1;
        hot.0 * greedy(alpha_hot, n) + cold.0 * greedy(alpha_cold, n)
    };
    let most = (alpha - cold.1) / hot.1;
    (1..1000).map(|step| of(1.0 + (most - 1.0) * f64::from(step) / 1000.0)).fold(f64::INFINITY, f64::min)
}

/// Write amplification of one plane in the steady state, and α of its data blocks.
fn simulate(policy: &str, over_provisioning: f64, pages: u32) -> (f64, f64) {
    simulate_with(policy, over_provisioning, (blocks_of(pages), pages), &[("initial.age_writes", "3.0")], 2)
}

/// So many blocks of this many pages that their number changes nothing within the tolerances.
fn blocks_of(pages: u32) -> u32 {
    (600_000 / pages).clamp(500, 6_000)
}

/// Simulates blocks of so many pages with further settings, over this many user capacities of requests.
fn simulate_with(
    policy: &str,
    over_provisioning: f64,
    (blocks, pages): (u32, u32),
    settings: &[(&str, &str)],
    capacities: u32,
) -> (f64, f64) {
    let (block_text, page_text, op_text) = (blocks.to_string(), pages.to_string(), over_provisioning.to_string());
    let user_pages = (f64::from(blocks * pages) * (1.0 - over_provisioning)) as u32;
    let requests = (capacities * user_pages).to_string();
    let own = [
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
        ("workload.read_fraction", "0.0"),
        ("workload.request_bytes", "4096"),
        ("workload.footprint", "1.0"),
        ("workload.requests", &requests),
        ("run.timed", "false"),
    ];
    let document = document(&[&own[..], settings].concat());
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
    for (pages, shares) in [(32, &[0.07, 0.28][..]), (256, &[0.07, 0.15, 0.28]), (2112, &[0.10, 0.20])] {
        for &over_provisioning in shares {
            let (simulated, alpha) = simulate("greedy", over_provisioning, pages);
            let theory = greedy(alpha, f64::from(pages));
            println!("greedy OP {over_provisioning} {pages} pages: simulated {simulated:.4}, theory {theory:.4}");
            let off = simulated / theory - 1.0;
            assert!(off.abs() < 0.02, "OP {over_provisioning}, {pages} pages: {simulated} and {theory}");
        }
    }
}

/// Cleaning of a random block that has an invalid page, with n pages a block; ρ = user / physical pages of the blocks
/// with data. In the mean field, with K = ρ / (1 − ρ), a share K / (n + K) of the blocks is full, and what a random one
/// of the others yields gives 1 / (1 − ρ + ρ / n). Where full blocks are taken as well (Van Houdt 2013), it is
/// 1 / (1 − ρ): of n pages all but a share ρ are won.
fn random(alpha: f64, n: f64) -> f64 {
    let rho = 1.0 / alpha;
    1.0 / (1.0 - rho + rho / n)
}

/// Greedy's choice stood in where a random one was full: with 64 pages and 7 % the write amplification was 10.1.
#[test]
fn t778_random_cleaning_meets_the_mean_field_of_blocks_that_are_not_full() {
    for (over_provisioning, pages) in [(0.07, 64), (0.07, 256), (0.15, 64), (0.28, 64)] {
        let (simulated, alpha) = simulate("random", over_provisioning, pages);
        let theory = random(alpha, f64::from(pages));
        let with_full_ones = random(alpha, f64::INFINITY);
        println!(
            "random OP {over_provisioning} {pages} pages: simulated {simulated:.4}, theory {theory:.4} (full ones \
             too: {with_full_ones:.4})"
        );
        assert!((simulated / theory - 1.0).abs() < 0.01, "OP {over_provisioning}: {simulated} and {theory}");
    }
}

/// Write amplification by units of 4 KiB in pages of 16 KiB, and α, with 256 units a block.
fn simulate_units(policy: &str, over_provisioning: f64) -> (f64, f64) {
    let settings = [
        ("initial.age_writes", "3.0"),
        ("geometry.pages_per_block", "64"),
        ("geometry.page_bytes", "16384"),
        ("ftl.map_unit_bytes", "4096"),
        ("timing.copyback", "false"),
    ];
    simulate_with(policy, over_provisioning, (blocks_of(256), 256), &settings, 2)
}

#[test]
fn t716_units_in_larger_pages_meet_the_closed_forms() {
    for (policy, over_provisioning) in [("greedy", 0.07), ("d-choices", 0.15), ("fifo", 0.28)] {
        let (simulated, alpha) = simulate_units(policy, over_provisioning);
        let theory = match policy {
            "fifo" => fifo(alpha),
            "greedy" => greedy(alpha, 256.0),
            _ => d_choices(alpha, 256, 8),
        };
        println!("{policy} OP {over_provisioning} units: simulated {simulated:.4}, theory {theory:.4}");
        assert!((simulated / theory - 1.0).abs() < 0.005, "OP {over_provisioning}: {simulated} and {theory}");
    }
}

/// One plane of blocks of 256 pages under writes of which a share goes to a part of the space, after six
/// user capacities of them.
fn simulate_hot_cold(policy: &str, hot_cold: &str, over_provisioning: f64, hot: (f64, f64)) -> (f64, f64) {
    let (share, space) = (hot.0.to_string(), hot.1.to_string());
    let warm_up = (6.0 * 600_000.0 * (1.0 - over_provisioning)) as u64;
    let settings = [
        ("workload.kind", "hot-cold"),
        ("workload.hot_share", &share),
        ("workload.hot_space", &space),
        ("ftl.hot_cold", hot_cold),
        ("run.warmup_requests", &warm_up.to_string()),
    ];
    simulate_with(policy, over_provisioning, (blocks_of(256), 256), &settings, 8)
}

#[test]
fn t714_hot_and_cold_pages_mixed_under_fifo_meet_the_closed_form() {
    for (over_provisioning, share) in [(0.1, 0.8), (0.2, 0.8), (0.2, 0.9)] {
        let kinds = [(share, 1.0 - share), (1.0 - share, share)];
        let (simulated, alpha) = simulate_hot_cold("fifo", "mixed", over_provisioning, kinds[0]);
        let theory = fifo_of_kinds(alpha, &kinds);
        println!("fifo OP {over_provisioning} {share}: simulated {simulated:.4}, theory {theory:.4}");
        assert!((simulated / theory - 1.0).abs() < 0.01, "OP {over_provisioning}, {share}: {simulated}, {theory}");
    }
}

/// Greedy cleaning keeps hot and cold blocks at the same fewest valid pages, hence both kinds at the
/// same α: wholly apart, the two cost what uniform writes cost. Less needs a policy that lets cold blocks
/// fill up, and nothing is below the best division of the spare pages.
#[test]
fn t715_hot_pages_apart_gain_what_theory_gives_them() {
    let kinds = [(0.9, 0.1), (0.1, 0.9)];
    for over_provisioning in [0.1, 0.2] {
        let run = |policy, hot_cold| simulate_hot_cold(policy, hot_cold, over_provisioning, kinds[0]);
        let ((mixed, alpha), (apart, _)) = (run("greedy", "mixed"), run("greedy", "recency"));
        let (benefit, _) = run("cost-benefit", "recency");
        let (uniform, best) = (greedy(alpha, 256.0), greedy_apart(alpha, 256.0, kinds));
        println!(
            "OP {over_provisioning}: greedy mixed {mixed:.4}, apart {apart:.4}, theory {uniform:.4}; \
             cost-benefit {benefit:.4}, best {best:.4}"
        );
        assert!((apart / uniform - 1.0).abs() < 0.02, "{apart} and {uniform}");
        assert!(mixed > 1.08 * uniform, "{mixed} and {uniform}");
        assert!(benefit > best && benefit < 0.65 * uniform, "{benefit} between {best} and {uniform}");
    }
}
