//! 4xx: workloads that drive a device end to end.

use crate::support::{document, number};

/// A device of a gigabyte with pages of 4 KiB.
const ROOMY: [(&str, &str); 5] = [
    ("geometry.blocks_per_plane", "1024"),
    ("run.timed", "false"),
    ("run.check", "integrity"),
    ("run.max_requests", "20000"),
    ("workload.fat_volume_mib", "256"),
];

#[test]
fn t420_a_file_system_in_use_runs_on_every_ftl_and_only_writes() {
    for (kind, workload) in [("nftl", "pic"), ("nftl", "pc"), ("page", "mov"), ("page", "pmp-4g")] {
        let sets = [&ROOMY[..], &[("ftl.kind", kind), ("workload.kind", workload), ("initial.fill", "1.0")]].concat();
        let result = document(&sets);
        assert_eq!(number(&result, "host.write.requests"), 20_000.0, "{kind} {workload}");
        assert_eq!(number(&result, "host.read.requests"), 0.0);
        assert_eq!(number(&result, "integrity.corrupt_pages") + number(&result, "integrity.lost_pages"), 0.0);
        assert!(number(&result, "write_amplification") >= 1.0);
    }
}
