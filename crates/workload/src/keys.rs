//! `[workload]`: which requests a run replays or draws.

use pumice_types::key::{ANY, CHOSEN, When, float, int};
use pumice_types::{choice, keys};

use crate::AddressPolicy;

choice! {
    /// What becomes of a trace's trims.
    pub enum Trims {
        /// They are requests like others.
        Keep = "keep",
        /// They are left out and counted.
        Drop = "drop",
    }
}

choice! {
    /// When the requests of a generator arrive.
    pub enum ArrivalKind {
        /// Exponential inter-arrival times.
        Poisson = "poisson",
        /// Equal inter-arrival times.
        Fixed = "fixed",
        /// Two-phase hyper-exponential inter-arrival times.
        Bursty = "bursty",
    }
}

/// Generators whose requests the spec describes.
const DRAWN: When = When::Is("workload.kind", &["uniform", "sequential", "zipf", "hot-cold"]);

/// Those, and w10 to w40, which say themselves what their requests are.
const GENERATED: When =
    When::Is("workload.kind", &["uniform", "sequential", "zipf", "hot-cold", "w10", "w20", "w30", "w40"]);

const NOT_GENERATED: When =
    When::IsNot("workload.kind", &["uniform", "sequential", "zipf", "hot-cold", "w10", "w20", "w30", "w40"]);

const TRACE: When = When::Is("workload.kind", &["trace"]);

const TWIN: When = When::Is("workload.kind", &["twin:*"]);

/// FAT32 file systems in use.
const FILE_SYSTEM: When = When::Is("workload.kind", &["pic", "mp3", "mov", "pmp-2g", "pmp-4g", "pc"]);

const OPEN_LOOP: When = When::All(&[When::On("run.timed"), When::Is("host.mode", &["open-loop"])]);

/// Workloads whose arrivals the spec describes.
const ARRIVALS: When = When::All(&[When::IsNot("workload.kind", &["trace", "twin:*"]), OPEN_LOOP]);

/// Read by twins, and by whatever else arrives in bursts.
const BURSTS: When = When::All(&[
    When::IsNot("workload.kind", &["trace"]),
    When::Any(&[When::Is("workload.arrival", &["bursty"]), TWIN]),
    OPEN_LOOP,
]);

keys! {
    /// `[workload]`
    pub struct WorkloadKeys in "workload" {
        kind: String = "\"twin:prn_1\"", ANY, "", CHOSEN, When::Always,
            "twin:NAME (see `pumice workloads`), trace, a FAT32 file system in use: pic, mp3, mov, pmp-2g, pmp-4g, pc, or a generator: uniform, sequential, zipf, hot-cold, and w10, w20, w30, w40 (one-page random writes).";
        path: Option<String> = "", ANY, "", "none", When::Always,
            "Trace file, plain or compressed with gzip, zstd or xz (kind = \"trace\").";
        format: Option<String> = "", ANY, "", "found by content", When::Always,
            "Trace format: msr, alibaba, tencent, spc, ssdsim, disksim, systor, blkparse or fio.";
        address: AddressPolicy = "\"exact\"", ANY, "", CHOSEN, NOT_GENERATED,
            "Requests beyond the device. exact: an error. wrap: address modulo capacity. compact: touched regions packed in order of first touch.";
        volumes: String = "\"overlay\"", ANY, "", CHOSEN, TRACE,
            "Traces of several volumes. overlay: all share one address space. separate: each has a region of its own, in order of first appearance. Else the number or name of the one volume to replay.";
        trims: Trims = "\"keep\"", ANY, "", CHOSEN, TRACE,
            "Trims (discards) of a trace. keep: requests like others. drop: left out and counted. Formats that have them: blkparse, fio.";
        requests: u64 = "1000000", int(1, i64::MAX), "requests", CHOSEN, GENERATED,
            "Length of a generated workload.";
        request_bytes: u32 = "16384", int(512, 1 << 30), "bytes", CHOSEN, When::All(&[DRAWN, When::NotGiven("workload.request_sizes")]),
            "Size of a generated request.";
        request_sizes: Option<Vec<f64>> = "", float(512.0, 1_073_741_824.0), "bytes", "request_bytes alone", DRAWN,
            "Sizes of generated requests, mixed by request_weights.";
        request_weights: Option<Vec<f64>> = "", float(0.0, 1e9), "", "equal weights", DRAWN,
            "Weight of each of request_sizes.";
        read_fraction: f64 = "0.0", float(0.0, 1.0), "share of requests", CHOSEN, DRAWN,
            "Reads among generated requests.";
        trim_fraction: f64 = "0.0", float(0.0, 1.0), "share of requests", CHOSEN, GENERATED,
            "Trims among generated requests; with read_fraction at most 1, the rest are writes.";
        footprint: f64 = "1.0", float(1e-9, 1.0), "share of user capacity", CHOSEN, When::Any(&[GENERATED, When::Positive("initial.age_writes")]),
            "Addresses that a generated workload touches.";
        zipf_theta: f64 = "0.99", float(0.0, 10.0), "", "chosen: YCSB's default", When::Is("workload.kind", &["zipf"]),
            "Exponent of Zipf's law (kind = \"zipf\"); 0 is uniform.";
        hot_space: f64 = "0.2", float(1e-9, 0.999999999), "share of the footprint", CHOSEN, When::Is("workload.kind", &["hot-cold"]),
            "Hot part of the footprint (kind = \"hot-cold\").";
        hot_share: f64 = "0.8", float(0.0, 1.0), "share of requests", CHOSEN, When::Is("workload.kind", &["hot-cold"]),
            "Requests that go to the hot part (kind = \"hot-cold\").";
        arrival: ArrivalKind = "\"poisson\"", ANY, "", CHOSEN, ARRIVALS,
            "Arrivals of a generated workload (open loop). bursty: two-phase hyper-exponential with interarrival_cv.";
        mean_interarrival_us: f64 = "1000.0", float(0.001, 1e12), "us", CHOSEN, ARRIVALS,
            "Mean time between generated requests (open loop).";
        mean_extent_kib: Option<f64> = "", float(4.0, 1e9), "KiB", "the twin's own, see docs/WORKLOADS.md", TWIN,
            "Mean length of a twin's write extents, for sensitivity studies.";
        write_extent_read_share: Option<f64> = "", float(0.0, 1.0), "share of read bytes", "the twin's own, see docs/WORKLOADS.md", TWIN,
            "Read bytes of a twin that go to its write extents, for sensitivity studies.";
        fat_volume_mib: Option<u32> = "", int(128, 32768), "MiB", "the paper's storage size", FILE_SYSTEM,
            "Size of the FAT32 volume (kind = \"pic\", \"mp3\", \"mov\", \"pmp-2g\", \"pmp-4g\", \"pc\"), before scaling.";
        fat_flush_kib: u32 = "32", int(1, 1_048_576), "KiB", CHOSEN, FILE_SYSTEM,
            "File data after which a FAT32 workload writes both allocation tables and changed directories.";
        fat_fragmentation: f64 = "0.02", float(0.0, 0.5), "share of clusters", CHOSEN, FILE_SYSTEM,
            "Clusters of a FAT32 volume that small static files hold at random places, so that others lie in pieces.";
        interarrival_cv: f64 = "7.0", float(1.0, 1000.0), "", "chosen: short slices of real traces show 3.4 to 7.2, a week more", BURSTS,
            "Coefficient of variation of inter-arrival times: of twins, and of arrival = \"bursty\" (two-phase hyper-exponential).";
        kind_persistence: f64 = "0.0", float(0.0, 0.9999), "", "chosen: no published figure; 0 mixes kinds in every burst", TWIN,
            "Chance that a request of a twin is of the kind of the one before it, else its kind is drawn. Towards 1 bursts of reads and bursts of writes come apart.";
    }
}

impl WorkloadKeys {
    /// Refuses keys that do not belong together.
    ///
    /// # Errors
    /// The first such key, with what it belongs to.
    pub fn check(&self) -> Result<(), String> {
        let only_traces = |key: &str| {
            Err(format!("workload.{key} belongs to workload.kind = \"trace\", found kind = \"{}\"", self.kind))
        };
        match self.kind.as_str() {
            "trace" if self.path.is_none() => Err("workload.kind = \"trace\" needs workload.path".into()),
            "trace" => Ok(()),
            _ if self.path.is_some() => only_traces("path"),
            _ if self.format.is_some() => only_traces("format"),
            _ => self.check_sizes(),
        }
    }

    fn check_sizes(&self) -> Result<(), String> {
        let (sizes, weights) = (&self.request_sizes, &self.request_weights);
        match (sizes, weights) {
            (None, Some(_)) => Err("workload.request_weights needs workload.request_sizes".into()),
            (Some(sizes), Some(weights)) if sizes.len() != weights.len() => Err(format!(
                "workload.request_weights has {} entries and workload.request_sizes {}; allowed: one weight a size",
                weights.len(),
                sizes.len()
            )),
            (Some(sizes), _) if sizes.is_empty() => {
                Err("workload.request_sizes is empty; allowed: at least one size".into())
            }
            (Some(sizes), _) if sizes.iter().any(|size| size.fract() != 0.0) => {
                Err("workload.request_sizes holds a fraction of a byte; allowed: whole numbers".into())
            }
            _ => Ok(()),
        }
    }
}
