//! Fields of the workload: which ones a document has depends on the kind of workload, and their values are the
//! workload's own (`Workload::facts`).

use super::{
    ResultField,
    Type::{Integer, Number, Text},
    fact_fields,
};

fact_fields! {
    pub const FIELDS:
    "generators", "workload.requests", Integer, "requests", "",
        "Length of the workload after scaling";
    "generators", "workload.access", Text, "", "",
        "`sequential`, `uniform`, `zipf` or `hot-cold`";
    "generators", "workload.zipf_theta", Number, "", "absent but for `zipf`",
        "Exponent of Zipf's law";
    "generators", "workload.hot_space", Number, "share of the footprint", "absent but for `hot-cold`",
        "Hot part";
    "generators", "workload.hot_share", Number, "share of requests", "absent but for `hot-cold`",
        "Requests to the hot part";
    "generators", "workload.request_bytes", Integer, "bytes", "absent if sizes are mixed",
        "Size of every request";
    "generators", "workload.request_sizes", Text, "bytes", "absent but for mixed sizes",
        "Sizes and their shares, `size:share,…`";
    "generators", "workload.read_fraction", Number, "share", "",
        "Chance that a request is of this kind";
    "generators", "workload.trim_fraction", Number, "share", "",
        "Chance that a request is of this kind";
    "generators", "workload.flush_every", Integer, "requests", "absent without flushes",
        "Requests between two flushes";
    "generators", "workload.fua_fraction", Number, "share", "absent without such writes",
        "Chance that a write has force unit access";
    "generators", "workload.footprint", Number, "share of user capacity", "",
        "Part of the address space used, from its start";
    "generators", "workload.footprint_bytes", Integer, "bytes", "",
        "The same in bytes, rounded down to whole requests";
    "generators", "workload.arrival", Text, "", "",
        "`poisson`, `fixed` or `bursty`";
    "generators", "workload.interarrival_cv", Number, "", "absent but for `bursty`",
        "Coefficient of variation of the inter-arrival times";
    "generators", "workload.mean_interarrival_us", Number, "us", "",
        "Mean time between requests after scaling";
    "generators", "workload.seed", Integer, "", "",
        "Seed of the workload's streams";
    "file systems", "workload.name", Text, "", "",
        "`pic`, `mp3`, `mov`, `pmp-2g`, `pmp-4g` or `pc`";
    "file systems", "workload.file_system", Text, "", "",
        "`fat32`";
    "file systems", "workload.volume_bytes", Integer, "bytes", "",
        "Size of the volume after scaling";
    "file systems", "workload.cluster_bytes", Integer, "bytes", "",
        "Size of a cluster";
    "file systems", "workload.pages_written_2k", Integer, "pages of 2 KiB", "",
        "Pages written, counted each time; with `run.until` of up to 24 requests more";
    "file systems", "workload.published_pages_written_2k", Integer, "pages of 2 KiB", "",
        "The paper's number, before scaling";
    "file systems", "workload.fat_flush_kib", Integer, "KiB", "",
        "File data between two flushes of the allocation tables";
    "file systems", "workload.fat_fragmentation", Number, "share of clusters", "",
        "Clusters held by scattered static data";
    "file systems", "workload.scale", Number, "", "",
        "Factor on volume and pages written";
    "file systems", "workload.seed", Integer, "", "",
        "Seed of the workload's streams";
    "twins", "workload.twin", Text, "", "",
        "Trace that the twin stands in for";
    "twins", "workload.source", Text, "", "",
        "Where its figures come from";
    "twins", "workload.scale", Number, "", "",
        "Factor on requests, bytes, coverage and volume";
    "twins", "workload.seed", Integer, "", "",
        "Seed of the workload's streams";
    "twins", "workload.requests", Integer, "requests", "",
        "Length of the twin after scaling";
    "twins", "workload.volume_gib", Number, "GiB", "",
        "Size of the volume after scaling";
    "twins", "workload.mean_extent_kib", Number, "KiB", "",
        "Mean length of a write extent";
    "twins", "workload.extent_sigma", Number, "", "",
        "Standard deviation of the logarithm of extent lengths";
    "twins", "workload.write_extents", Integer, "", "",
        "Number of write extents drawn";
    "twins", "workload.write_extent_read_share", Number, "share of read bytes", "",
        "Reads that go to write extents";
    "twins", "workload.kind_persistence", Number, "", "",
        "Chance that a request has the kind of the one before";
    "twins", "workload.granule_bytes", Integer, "bytes", "",
        "Every offset and size is a multiple of this";
    "twins", "workload.interarrival_cv", Number, "", "",
        "Coefficient of variation of the inter-arrival times";
    "twins", "workload.published_read_requests", Number, "requests", "",
        "Published figure of the trace, unscaled";
    "twins", "workload.published_write_requests", Number, "requests", "",
        "Published figure of the trace, unscaled";
    "twins", "workload.published_read_gib", Number, "GiB", "",
        "Published figure of the trace, unscaled";
    "twins", "workload.published_write_gib", Number, "GiB", "",
        "Published figure of the trace, unscaled";
    "twins", "workload.published_read_coverage_gib", Number, "GiB", "twins of AERO's Table 3: not published",
        "Published distinct bytes, unscaled";
    "twins", "workload.published_write_coverage_gib", Number, "GiB", "twins of AERO's Table 3: not published",
        "Published distinct bytes, unscaled";
    "traces", "workload.path", Text, "", "",
        "The file, as given";
    "traces", "workload.format", Text, "", "",
        "The format's name, see [WORKLOADS.md](WORKLOADS.md); or `parquet`, `arrow` or `table`";
    "traces", "workload.columns", Text, "", "absent where the format has fixed columns",
        "As in `workload.columns`: of delimited text, Parquet, Arrow and tables";
    "traces", "workload.compression", Text, "", "",
        "`none`, `gzip`, `zstd` or `xz`";
    "traces", "workload.volume", Text, "", "",
        "Volume of the first record replayed";
    "traces", "workload.volumes", Text, "", "",
        "`overlay`, `separate` or the one volume replayed";
    "traces", "workload.volumes_seen", Integer, "", "",
        "Distinct volumes in what was read";
    "traces", "workload.sha256", Text, "", "absent if the file was not read to its end",
        "SHA-256 of the file; of a table in memory, of its requests as text";
}
