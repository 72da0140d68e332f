//! Every number of the twins, in one place.
//!
//! *Published* are, per trace, the numbers of requests, the bytes and the coverage (distinct
//! bytes): PEN (FAST'18), Table 2. Its "GB" are GiB: only so do prn_0's reads and writes add up to
//! the 63.44 GB (10^9 bytes) that Salkhordeh et al. (IEEE TPDS 2019, Table 2) give for that trace.
//! *Chosen* are the sizes of the volumes (approximate; the collection's sizes are not published
//! beside these figures) and the granularity of addresses. *Fitted* is the mean length of a write
//! extent, to the baseline FTL alone, at full scale and with three seeds: prn_1's to its 140,000
//! published merges; proj_1's to Figure 4, where it has more merges with blocks of 576 pages than
//! with blocks of 72; the others by one common factor on starting values, to the mean write
//! amplification of the high-write set (Figure 5). `docs/WORKLOADS.md` shows the fit. No figure of
//! M-Merge entered it.

use serde::Serialize;

/// Seconds covered by every trace of the collection: one week (Narayanan et al., FAST'08).
pub const WEEK_SECONDS: u64 = 168 * 3600;

/// σ of the logarithm of the write extents' lengths. Chosen.
pub(crate) const EXTENT_SIGMA: f64 = 1.5;

/// Bytes of a segment of the space outside the write extents: the unit in which that space is
/// permuted for reading. Chosen.
pub(crate) const READ_SEGMENT_BYTES: u64 = 1 << 20;

/// Default share of the read bytes that go to write extents. Chosen; `stg_1` is the exception.
const EXTENT_READS: f64 = 0.05;

/// Where the published columns come from.
const SOURCE: &str = "PEN (FAST'18), Table 2, GB read as GiB; volume size, mean extent and granularity chosen";

/// Where the columns of the other twins come from.
const SOURCE_AERO: &str =
    "AERO (ASPLOS'24), Table 3: share of reads, mean request, mean inter-arrival time; all else chosen";

/// The published figures of one trace and what its twin adds to them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TwinFacts {
    /// Name of the trace: `prn_1` for the twin called `twin:prn_1`.
    pub name: &'static str,
    /// What the server did (Narayanan et al., FAST'08).
    pub description: &'static str,
    /// Read requests, in 10^6.
    pub read_requests_m: f64,
    /// Write requests, in 10^6.
    pub write_requests_m: f64,
    /// Bytes read, in GiB.
    pub read_gib: f64,
    /// Bytes written, in GiB.
    pub write_gib: f64,
    /// Distinct bytes read, in GiB.
    pub read_coverage_gib: f64,
    /// Distinct bytes written, in GiB.
    pub write_coverage_gib: f64,
    /// Size of the volume in GiB. Approximate, chosen.
    pub volume_gib: f64,
    /// Mean length of a write extent in KiB. Fitted for the twelve of PEN, chosen for the others.
    pub mean_extent_kib: f64,
    /// Bytes of which every offset and size is a multiple. Chosen: 512 where a slice of the real
    /// volume shows requests of 512 bytes, else 4096.
    pub granule_bytes: u32,
    /// Share of the read bytes that go to write extents. Chosen.
    pub write_extent_read_share: f64,
    /// Whether the two coverages are published; else they are chosen.
    pub coverage_is_published: bool,
    /// Source of the figures, in words.
    pub source: &'static str,
}

impl TwinFacts {
    /// Granularity other than 4 KiB.
    const fn granule(self, granule_bytes: u32) -> TwinFacts {
        TwinFacts { granule_bytes, ..self }
    }

    /// Share of read bytes to write extents other than the default.
    const fn extent_reads(self, write_extent_read_share: f64) -> TwinFacts {
        TwinFacts { write_extent_read_share, ..self }
    }
}

/// One row: Table 2's six columns in its order, then [volume in GiB, mean extent in KiB].
const fn row(name: &'static str, description: &'static str, table: [f64; 6], chosen: [f64; 2]) -> TwinFacts {
    TwinFacts {
        name,
        description,
        read_requests_m: table[0],
        write_requests_m: table[1],
        read_gib: table[2],
        write_gib: table[3],
        read_coverage_gib: table[4],
        write_coverage_gib: table[5],
        volume_gib: chosen[0],
        mean_extent_kib: chosen[1],
        granule_bytes: 4096,
        write_extent_read_share: EXTENT_READS,
        coverage_is_published: true,
        source: SOURCE,
    }
}

/// One row of AERO's Table 3: [share of reads, mean request in KiB, mean inter-arrival time in ms]; reads and writes
/// are taken to be equally large, and a week to be covered. Then what that table does not give and is
/// chosen: [read coverage, write coverage, volume] in GiB and the mean extent in KiB.
const fn aero(name: &'static str, description: &'static str, table: [f64; 3], chosen: [f64; 4]) -> TwinFacts {
    let [read_share, request_kib, interarrival_ms] = table;
    let requests_m = WEEK_SECONDS as f64 * 1e-3 / interarrival_ms;
    let gib_per_m = request_kib * 1e6 / (1u64 << 20) as f64;
    let (reads_m, writes_m) = (requests_m * read_share, requests_m * (1.0 - read_share));
    let figures = [reads_m, writes_m, reads_m * gib_per_m, writes_m * gib_per_m, chosen[0], chosen[1]];
    let row = row(name, description, figures, [chosen[2], chosen[3]]);
    TwinFacts { coverage_is_published: false, source: SOURCE_AERO, ..row }
}

/// The twelve traces of PEN's Table 2, in its order, then the eight of AERO's Table 3 that are not among
/// them (its hm_0, proj_2 and usr_1 are).
///
/// `stg_1` reads almost every byte once: reads of write extents would leave its coverage no room.
/// Coverage and volumes of the eight are chosen so that volumes fit AERO's device and a written byte is
/// rewritten some 3 to 20 times (prxy_1, a small hot volume, more), as on the volumes of Table 2.
#[rustfmt::skip]
static CATALOGUE: [TwinFacts; 20] = [
    row("hm_0", "hardware monitoring, boot volume", [1.417, 2.576, 9.96, 20.47, 1.84, 1.63], [14.0, 333.0]).granule(512),
    row("prn_0", "print server, boot volume", [0.602, 4.983, 13.12, 45.96, 3.72, 12.38], [66.0, 1300.0]),
    row("prn_1", "print server, data volume", [8.464, 2.77, 181.35, 30.78, 73.78, 11.52], [360.0, 555.0]),
    row("proj_0", "project directories, boot volume", [0.527, 3.697, 8.97, 144.26, 1.74, 1.65], [16.0, 666.0]),
    row("proj_1", "project directories, data volume", [21.143, 2.497, 750.36, 25.57, 693.5, 9.03], [820.0, 850.0]),
    row("proj_2", "project directories, data volume", [25.642, 3.625, 1015.9, 168.68, 409.37, 115.13], [816.0, 39_000.0]),
    row("prxy_0", "firewall and web proxy, boot volume", [0.384, 12.135, 3.04, 53.8, 0.29, 0.7], [20.0, 166.0]),
    row("src1_1", "source control, data volume", [43.576, 2.17, 1485.6, 30.34, 116.69, 4.16], [274.0, 910.0]),
    row("src1_2", "source control, boot volume", [0.484, 1.424, 8.82, 44.14, 1.55, 0.65], [8.0, 333.0]),
    row("stg_1", "web staging, data volume", [1.4, 0.796, 79.52, 5.98, 79.42, 0.39], [101.0, 166.0]).extent_reads(0.0),
    row("usr_1", "user home directories, data volume", [41.426, 3.858, 2079.2, 56.12, 651.16, 24.56], [820.0, 3900.0]),
    row("usr_2", "user home directories, data volume", [8.575, 1.995, 415.28, 26.46, 377.8, 10.02], [530.0, 2210.0]),
    aero("ali_32", "cloud block device, writes", [0.07, 54.0, 16.3], [40.0, 200.0, 500.0, 2048.0]),
    aero("ali_3", "cloud block device, mixed", [0.52, 26.0, 111.8], [20.0, 20.0, 100.0, 1024.0]),
    aero("ali_12", "cloud block device, mixed", [0.69, 38.0, 57.9], [60.0, 30.0, 200.0, 1024.0]),
    aero("ali_121", "cloud block device, reads", [0.78, 18.0, 13.8], [120.0, 40.0, 300.0, 1024.0]),
    aero("ali_124", "cloud block device, reads", [0.95, 36.0, 5.1], [300.0, 40.0, 500.0, 2048.0]),
    aero("rsrch_0", "research projects, boot volume", [0.09, 9.0, 421.9], [0.25, 1.0, 34.0, 256.0]),
    aero("stg_0", "web staging, boot volume", [0.15, 12.0, 297.8], [1.0, 2.0, 11.0, 256.0]),
    aero("prxy_1", "firewall and web proxy, data volume", [0.65, 13.0, 3.6], [15.0, 10.0, 67.0, 512.0]),
];

/// Every twin there is, with its published and its chosen figures.
pub fn twin_catalogue() -> &'static [TwinFacts] {
    &CATALOGUE
}
