//! 9xx: each past bug with its story.

use pumice_config::Config;
use pumice_engine::{SimError, run};
use pumice_ftl::GcPolicy;
use pumice_types::{Choice, FlashOp};
use serde_json::Value;

use crate::support::{TraceFile, document, number, source, spec};

/// A write that arrived at the very instant at which a merge's last command ended, before that
/// event was handled, took the whole merge into its snapshot a second time: parts of its latency
/// came out negative.
#[test]
fn t901_a_write_that_arrives_as_a_merge_ends_waits_for_nothing_twice() {
    let document = document(&[
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "16"),
        ("workload.read_fraction", "0.0"),
        ("workload.request_bytes", "4096"),
        ("workload.requests", "100000"),
        ("geometry.channels", "1"),
        ("geometry.dies_per_chip", "16"),
        ("geometry.spare_bytes", "0"),
        ("timing.t_r_us", "10"),
        ("timing.t_prog_us", "10"),
        ("timing.t_bers_us", "10"),
        ("timing.channel_mb_per_s", "40.96"),
        ("partial_erase.t_us", "[10, 10, 10, 10, 10]"),
        ("ftl.merge", "m-merge"),
        ("ftl.u_index", "ram"),
    ]);
    let parts = document["write_latency_breakdown_us"].as_object().expect("a table");
    let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
    let mean = number(&document, "host.write.latency_us.mean");
    assert!((sum / mean - 1.0).abs() < 1e-9, "parts {sum} and mean {mean}");
}

/// Commands were counted when they ran and the FTL's decisions when they were made, so a warm-up
/// that ended amid a merge split them.
#[test]
fn t902_counts_agree_wherever_the_warm_up_ends() {
    for warmup in ["5000", "5001", "7777"] {
        let sets =
            [("ftl.merge", "m-merge"), ("run.warmup_requests", warmup), ("workload.mean_interarrival_us", "2000.0")];
        let document = document(&sets);
        assert_eq!(number(&document, "gc.copied_pages"), number(&document, "flash.programs.gc"));
    }
}

/// A warm-up as long as the workload measured nothing, or everything.
#[test]
fn t903_a_warm_up_that_leaves_nothing_is_refused() {
    for timed in ["true", "false"] {
        let sets = [("run.warmup_requests", "20000"), ("run.timed", timed)];
        match run(&spec(&sets), 1.0, &mut |_| true) {
            Err(SimError::Spec(error)) => assert!(error.to_string().contains("leaves nothing to measure")),
            _ => panic!("accepted"),
        }
    }
}

/// Shares of blocks lost one block to binary fractions: 0.34 of 100 left 65.
#[test]
fn t904_decimal_shares_give_whole_blocks() {
    let sets = [("geometry.blocks_per_plane", "100"), ("ftl.over_provisioning", "0.34"), ("workload.requests", "1")];
    assert_eq!(number(&document(&sets), "device.user_bytes"), 66.0 * 4.0 * 64.0 * 4096.0);
}

/// At the smallest over-provisioning that validation named, a full page-level device had no plane
/// that could take an overwrite.
#[test]
fn t906_the_smallest_over_provisioning_named_works_on_a_full_device() {
    let full =
        [("ftl.kind", "page"), ("initial.fill", "1.0"), ("workload.footprint", "1.0"), ("run.check", "integrity")];
    let too_small = Config::resolve(&source(&[&full[..], &[("ftl.over_provisioning", "0.05")]].concat()));
    let text = too_small.expect_err("refused").to_string();
    let smallest = text.rsplit(' ').next().expect("ends with the value");
    document(&[&full[..], &[("ftl.over_provisioning", smallest)]].concat());
}

/// Progress was reported by requests alone, so a run of few, large requests could not be stopped.
#[test]
fn t907_a_run_of_few_large_requests_can_be_stopped() {
    let sets = [
        ("workload.requests", "3000"),
        ("workload.request_bytes", "4194304"),
        ("workload.mean_interarrival_us", "1.0"),
    ];
    let mut reports = 0;
    let stopped = run(&spec(&sets), 1.0, &mut |_| {
        reports += 1;
        false
    });
    assert!(matches!(stopped, Err(SimError::Interrupted)) && reports == 1);
}

/// Arrivals beyond the clock gave a result without a word.
#[test]
fn t908_arrivals_beyond_the_clock_are_refused() {
    let sets = [("workload.mean_interarrival_us", "1e12"), ("host.speedup", "1e-6")];
    assert!(matches!(run(&spec(&sets), 1.0, &mut |_| true), Err(SimError::Spec(_))));
}

/// An M-Merge moves a page out of its place and back. While both moves were queued, a read with priority
/// looked for the page's source, and for the source's source, for ever.
#[test]
fn t909_a_read_of_a_page_that_is_queued_to_be_moved_out_and_back_ends() {
    let fill = [(0, 'W', 0, 64 * 4096)];
    let updates = [(0, 'W', 0, 4096); 65];
    let reads = [1, 2, 3].map(|page| (100, 'R', page * 4096, 4096));
    let requests: Vec<_> = fill.into_iter().chain(updates).chain(reads).collect();
    let sets = [
        ("ftl.merge", "m-merge"),
        ("ftl.u_index", "ram"),
        ("host.read_priority", "true"),
        ("initial.fill", "0.0"),
        ("run.check", "integrity"),
    ];
    let document = TraceFile::new("out-and-back", &requests).run(&sets);
    assert_eq!(number(&document, "gc.merges.m_merge"), 1.0);
    assert_eq!(number(&document, "host.buffer_hits"), 3.0, "their first programs are still queued");
}

/// A page was moved from block B to C and, by the next merge, back into B. Before either had run, B still
/// held the page, so a read with priority was sent there; the first merge then erased B under it.
#[test]
fn t912_a_read_with_priority_does_not_trust_a_page_that_will_be_erased_and_filled_again() {
    let document = document(&[
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", "10"),
        ("geometry.pages_per_block", "8"),
        ("geometry.program_order", "in-order"),
        ("partial_erase.max_splits", "0"),
        ("ftl.u_index", "ram"),
        ("ftl.over_provisioning", "0.3"),
        ("ftl.gc_free_threshold", "0"),
        ("timing.copyback", "false"),
        ("initial.fill", "0.9"),
        ("initial.fill_unit", "page"),
        ("workload.read_fraction", "0.77"),
        ("workload.footprint", "0.25"),
        ("workload.requests", "3000"),
        ("workload.request_bytes", "4608"),
        ("workload.mean_interarrival_us", "2500.0"),
        ("host.write_buffer_kib", "64"),
        ("host.partial_page", "rmw"),
        ("host.read_priority", "true"),
        ("run.check", "integrity"),
    ]);
    assert!(number(&document, "gc.merges.full") > 100.0);
}

/// A read with priority waited for a merge that held its die, while the merges queued behind it moved its
/// page on and used its place again. When it started it followed those, too, and ended in an erased page.
#[test]
fn t913_a_read_with_priority_follows_only_what_was_decided_before_it() {
    let document = document(&[
        ("geometry.channels", "2"),
        ("geometry.dies_per_chip", "2"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", "12"),
        ("geometry.pages_per_block", "8"),
        ("geometry.program_order", "in-order"),
        ("geometry.bad_blocks_per_plane", "1"),
        ("partial_erase.max_splits", "0"),
        ("ftl.u_index", "ram"),
        ("ftl.over_provisioning", "0.4115068361945352"),
        ("ftl.gc_free_threshold", "0.28691967924056777"),
        ("timing.copyback", "false"),
        ("initial.fill", "0.8980826203241977"),
        ("initial.fill_unit", "page"),
        ("seed", "904"),
        ("workload.read_fraction", "0.7728649878451798"),
        ("workload.footprint", "0.25"),
        ("workload.requests", "1500"),
        ("workload.request_bytes", "12800"),
        ("workload.mean_interarrival_us", "2492.8216458189645"),
        ("host.write_buffer_kib", "64"),
        ("host.partial_page", "rmw"),
        ("host.read_priority", "true"),
        ("run.check", "integrity"),
    ]);
    assert!(number(&document, "gc.merges.full") > 100.0);
}

/// An M-Merge copies a page out, erases its partial block and copies the page back. A read that came in
/// while that erase was suspended was sent to the block under erase.
#[test]
fn t914_no_read_goes_to_a_page_whose_erase_is_suspended() {
    let updates = (0..65).map(|n| (n * 5_000, 'W', 0, 4096));
    let reads = (0..60).map(|n| (64 * 5_000 + 500 * n, 'R', 4096, 4096));
    let requests: Vec<_> = updates.chain(reads).collect();
    let sets = [
        ("ftl.merge", "m-merge"),
        ("ftl.u_index", "ram"),
        ("host.read_priority", "true"),
        ("erase.suspension", "pulse"),
    ];
    let commands = TraceFile::new("suspended", &requests).commands(&sets);
    let (mut copied_from, mut reads_between) = (None, 0);
    for command in commands.iter().filter(|command| command.lpn.0 == 1) {
        match (command.op, copied_from) {
            (FlashOp::Copy, None) => copied_from = Some(command.source.block),
            (FlashOp::Copy, Some(_)) => copied_from = None,
            (FlashOp::Read, Some(under_erase)) => {
                assert_ne!(command.target.block, under_erase);
                reads_between += 1;
            }
            _ => {}
        }
    }
    assert!(commands.iter().any(|command| command.op == FlashOp::PartialErase), "an M-Merge happens");
    assert!(reads_between > 0, "its erase is suspended for reads");
}

/// Pages found in the write buffer were counted without a clock and not with one.
#[test]
fn t911_pages_read_from_the_write_buffer_are_counted() {
    for timed in ["true", "false"] {
        let sets = [("host.write_buffer_kib", "64"), ("host.flush", "lru"), ("run.timed", timed)];
        let document = TraceFile::new("hits", &[(0, 'W', 0, 4096), (10, 'R', 0, 4096)]).run(&sets);
        assert_eq!(number(&document, "host.buffer_hits"), 1.0, "timed: {timed}");
    }
}

/// Thousands of writes to two pages wait, so their versions come round while a read of one of them
/// waits; a page that held that version an age ago was taken for the page that was meant.
#[test]
fn t915_an_old_version_of_the_same_number_is_not_taken_for_the_new_one() {
    let document = document(&[
        ("geometry.pages_per_block", "4"),
        ("geometry.blocks_per_plane", "9"),
        ("geometry.channels", "1"),
        ("geometry.bad_blocks_per_plane", "2"),
        ("partial_erase.max_splits", "1"),
        ("ftl.kind", "superblock-pen"),
        ("ftl.superblock.logical", "2"),
        ("ftl.superblock.physical", "7"),
        ("ftl.merge", "m-merge-budgeted"),
        ("ftl.over_provisioning", "0.41"),
        ("ftl.gc_free_threshold", "0.15"),
        ("initial.fill", "0.23"),
        ("seed", "159"),
        ("timing.t_bers_us", "1000"),
        ("workload.kind", "uniform"),
        ("workload.read_fraction", "0.2"),
        ("workload.footprint", "0.1"),
        ("workload.request_bytes", "8192"),
        ("workload.requests", "5045"),
        ("workload.mean_interarrival_us", "1000"),
        ("host.read_priority", "true"),
        ("run.check", "integrity"),
    ]);
    assert_eq!(number(&document, "integrity.lost_pages"), 0.0);
}

/// With multi-plane commands a read that was not the next in its lane was pointed to its page's source,
/// and when its turn came to that page's source in turn, which held other data by then.
#[test]
fn t916_a_read_is_pointed_to_its_source_once() {
    let document = document(&[
        ("geometry.channels", "1"),
        ("geometry.dies_per_chip", "1"),
        ("geometry.planes_per_die", "2"),
        ("geometry.blocks_per_plane", "16"),
        ("geometry.pages_per_block", "12"),
        ("geometry.program_order", "in-order"),
        ("geometry.bad_blocks_per_plane", "1"),
        ("partial_erase.max_splits", "0"),
        ("ftl.kind", "page"),
        ("ftl.gc_policy", "cost-benefit"),
        ("ftl.over_provisioning", "0.45"),
        ("ftl.gc_free_threshold", "0.1"),
        ("ftl.gc_stop_threshold", "0.19054762660571323"),
        ("timing.copyback", "false"),
        ("timing.multi_plane", "neighbours"),
        ("initial.fill", "0.22514538903706716"),
        ("seed", "177"),
        ("workload.read_fraction", "0.4223833120919261"),
        ("workload.footprint", "1"),
        ("workload.request_bytes", "4608"),
        ("workload.requests", "1500"),
        ("workload.mean_interarrival_us", "969.5004224711868"),
        ("host.write_buffer_kib", "20"),
        ("host.partial_page", "rmw"),
        ("host.read_priority", "true"),
        ("run.check", "integrity"),
    ]);
    assert_eq!(number(&document, "integrity.lost_pages"), 0.0);
}

/// The time for which dies were busy was read one event behind the last request's end. Where the write
/// buffer took the last requests at once, a die's share of the measured time came out above 1.
#[test]
fn t917_no_die_is_busy_for_longer_than_was_measured() {
    let document = document(&[
        ("geometry.channels", "1"),
        ("geometry.planes_per_die", "1"),
        ("geometry.blocks_per_plane", "10"),
        ("geometry.pages_per_block", "8"),
        ("partial_erase.max_splits", "0"),
        ("ftl.over_provisioning", "0.3"),
        ("ftl.gc_free_threshold", "0"),
        ("initial.fill", "0"),
        ("host.write_buffer_kib", "4"),
        ("host.mode", "closed-loop"),
        ("host.queue_depth", "1"),
        ("workload.read_fraction", "0"),
        ("workload.footprint", "0.25"),
        ("workload.request_bytes", "512"),
        ("workload.requests", "1500"),
    ]);
    let busy = document["utilisation"]["die"][0].as_f64().expect("a timed run");
    assert!(busy > 0.0 && busy <= 1.0, "{busy}");
}

/// A page-level device that recovers by this method, with these further settings; ended well, and its document.
fn after_cuts(method: &str, sets: &[(&str, &str)]) -> Value {
    let base = [("ftl.kind", "page"), ("ftl.recovery", method), ("run.check", "integrity")];
    let sets = [&base, sets].concat();
    let outcome = run(&spec(&sets), 1.0, &mut |_| true).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
    assert_eq!(outcome.integrity_error, None, "{sets:?}");
    outcome.document
}

/// A journal page gave 0 for "up to this page", and 0 was also the number up to which a device counts that was just
/// filled. A second cut, while it first recovered, lost the last page of a plane.
#[test]
fn t927_a_cut_of_the_first_start_after_the_fill_loses_nothing() {
    let device = [("ftl.over_provisioning", "0.3"), ("initial.age_writes", "0"), ("workload.requests", "400")];
    for cuts in ["[40,60]", "[40,61]", "[40,60,200,300]"] {
        after_cuts("checkpoint", &[&device[..], &[("power.cut_at_command", cuts)]].concat());
    }
}

/// Without a blank block left, a page that nothing proves was copied behind everything in its own block; if that copy
/// was cut and left no trace, the next start copied to the same page again.
#[test]
fn t928_a_start_that_is_cut_again_and_again_never_programs_a_page_twice() {
    after_cuts(
        "scan",
        &[
            ("geometry.dies_per_chip", "2"),
            ("geometry.blocks_per_plane", "32"),
            ("ftl.over_provisioning", "0.5"),
            ("timing.copyback", "false"),
            ("host.mode", "closed-loop"),
            ("partial_erase.max_splits", "3"),
            ("workload.requests", "281"),
            ("power.cuts", "200"),
            ("initial.age_writes", "0"),
            ("seed", "170"),
        ],
    );
}

/// A device that recovers asked the victim policy what to reclaim, and there was no room for what it named.
#[test]
fn t929_a_start_finds_room_whatever_the_victim_policy() {
    for policy in GcPolicy::ALL {
        let sets = [
            ("ftl.over_provisioning", "0.4"),
            ("ftl.gc_policy", policy.name()),
            ("workload.requests", "1500"),
            ("power.cuts", "400"),
        ];
        after_cuts("scan", &sets);
        after_cuts("summary", &sets);
    }
}

/// Commands that began between a cut's own command and the cut were counted, so a cut in one of them never came, and
/// none of those behind it.
#[test]
fn t930_every_cut_of_a_list_comes() {
    for cuts in ["[5,6,100]", "[5,6,7,8,9]", "[1,2]"] {
        let document = after_cuts("scan", &[("ftl.over_provisioning", "0.3"), ("power.cut_at_command", cuts)]);
        assert_eq!(number(&document, "power.cuts"), cuts.split(',').count() as f64, "{cuts}");
    }
}

/// What power cuts did was counted from the beginning of the run, and the commands that it is a part of only from
/// where measuring begins.
#[test]
fn t931_a_recovery_in_the_warm_up_is_not_measured() {
    let cut = [("ftl.over_provisioning", "0.3"), ("power.cut_at_command", "[100]")];
    let whole = after_cuts("checkpoint", &cut);
    let measured = after_cuts("checkpoint", &[&cut[..], &[("run.warmup_requests", "19990")]].concat());
    for field in ["power.cuts", "power.recovery_programs", "power.recovery_erases", "power.erased_again"] {
        assert!(number(&whole, field) > 0.0, "{field}");
        assert!(number(&measured, field) <= number(&measured, "flash.erases.block"), "{field}");
    }
    assert_eq!(number(&measured, "power.cuts"), 0.0);
}

/// A trim took a page out of the write buffer, and the flush behind it promised what had been there, although nothing
/// stores it any more. Layers that keep what is trimmed were said to have lost it.
#[test]
fn t959_what_a_trim_takes_out_of_the_write_buffer_is_not_promised() {
    let sets = [
        ("ftl.kind", "nftl"),
        ("ftl.over_provisioning", "0.25"),
        ("ftl.recovery", "scan"),
        ("host.write_buffer_kib", "256"),
        ("host.flush", "lru"),
        ("workload.kind", "hot-cold"),
        ("workload.trim_fraction", "0.3"),
        ("workload.flush_every", "13"),
        ("run.check", "integrity"),
        ("power.cuts", "20"),
    ];
    let document = document(&sets);
    assert_eq!(number(&document, "integrity.lost_pages"), 0.0);
    assert_eq!((number(&document, "power.cuts"), number(&document, "power.broken_promises")), (20.0, 0.0));
}

/// A device that collects while it is idle did so behind the last request as well, up to its threshold, and the run
/// counted that: a higher threshold had a higher write amplification with not one request served differently.
#[test]
fn t949_a_device_begins_nothing_of_its_own_behind_the_last_request() {
    for mode in ["background", "preemptible"] {
        let sets = [
            ("ftl.kind", "page"),
            ("ftl.gc_mode", mode),
            ("ftl.gc_free_threshold", "0.05"),
            ("ftl.gc_stop_threshold", "0.2"),
            ("ftl.over_provisioning", "0.25"),
            ("initial.fill", "1.0"),
            ("initial.age_writes", "1.0"),
            ("workload.read_fraction", "1.0"),
            ("workload.requests", "1"),
            ("workload.request_bytes", "4096"),
        ];
        for host in ["open-loop", "closed-loop"] {
            let document = document(&[&sets[..], &[("host.mode", host)]].concat());
            // The die that served the request may have begun one step as it ended.
            assert!(number(&document, "gc.copied_pages") <= 1.0, "{mode}: {}", document["gc"]);
            assert_eq!(number(&document, "flash.erases.block"), 0.0, "{mode}");
        }
    }
}
