//! Jobs in the words of fio, as far as they describe requests.

use crate::arrival::ArrivalKind;
use crate::error::{TraceError, excerpt};
use crate::generator::patterns::{AccessPattern, PermutationAccess, SequentialAccess, UniformAccess, ZipfAccess};
use crate::generator::sizes::RequestSizes;

/// Keys that are understood.
const KEYS: &str = "rw (readwrite), bs (blocksize), bssplit, rwmixread, rwmixwrite, random_distribution, norandommap, \
                    iodepth, rate_iops, rate_process, size, number_ios, randseed";

/// Keys that say nothing about requests and are passed over.
const WITHOUT_MEANING: [&str; 7] =
    ["name", "description", "filename", "ioengine", "direct", "thread", "group_reporting"];

/// What a job says; what it does not say, and fio has no default for, is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct FioJob {
    /// Where requests go.
    pub access: AccessPattern,
    /// Share of reads, 0 to 1.
    pub read_fraction: f64,
    /// Share of trims, 0 to 1.
    pub trim_fraction: f64,
    /// How long requests are.
    pub sizes: RequestSizes,
    /// Requests outstanding; fio's default is 1.
    pub iodepth: u32,
    /// Requests a second and how they arrive, if a rate is asked for.
    pub rate: Option<(f64, ArrivalKind)>,
    /// Share of the device that is addressed, above 0, at most 1.
    pub footprint: Option<f64>,
    /// Number of requests.
    pub requests: Option<u64>,
    /// Seed of every stream.
    pub seed: Option<u64>,
}

/// What the job's keys said so far.
#[derive(Default)]
struct Found {
    rw: Option<RwSetting>,
    mix_read: Option<f64>,
    sizes: Option<RequestSizes>,
    distribution: Option<RandomDistribution>,
    /// Random requests may come back to a block before every block was hit once.
    no_random_map: bool,
    iodepth: Option<u32>,
    rate_iops: Option<u64>,
    rate_process: Option<ArrivalKind>,
    footprint: Option<f64>,
    requests: Option<u64>,
    seed: Option<u64>,
}

/// What `random_distribution` says.
#[derive(Clone, Copy)]
enum RandomDistribution {
    /// All blocks alike.
    Random,
    Zipf(ZipfAccess),
}

/// What `rw` says.
#[derive(Clone, Copy)]
struct RwSetting {
    random: bool,
    /// Shares of reads and of trims, if `rw` fixes them.
    shares: Option<(f64, f64)>,
}

impl FioJob {
    /// Understands `key=value` settings, one a line or several between blanks, with or without the
    /// command line's `--` in front.
    ///
    /// `rw` is `read`, `write`, `trim`, `randread`, `randwrite`, `randtrim`, `rw` (`readwrite`) or
    /// `randrw`, by default `read`; `bs` is one size, by default 4k; `bssplit` is `size/percent:…`;
    /// `rwmixread` (or 100 - `rwmixwrite`) is by default 50; `random_distribution` is `random` or
    /// `zipf:theta`, and under `random` every block is hit once a pass unless `norandommap` is given;
    /// `size` is a percentage of the device. Suffixes k, m, g, ki, mi, gi (with or without b) are powers
    /// of 1024. Blank lines, `#` and `;` comments, `[global]` and one other `[section]` line are passed
    /// over, and so are keys that say nothing about requests.
    ///
    /// Unlike fio's, mixed sequential reads and writes share one position, and with several sizes a random request
    /// that reaches into blocks of the same pass that were hit already is not shortened.
    ///
    /// # Errors
    /// Any other key, a second job, a rate beside a depth, and values outside these: nothing else a
    /// job says is passed over silently.
    pub fn parse(job: &str) -> Result<FioJob, TraceError> {
        let mut found = Found::default();
        let mut sections = 0;
        for line in job.lines().map(str::trim) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if line.starts_with('[') {
                sections += u32::from(line != "[global]");
                if sections > 1 {
                    let message = format!("a second job {} found; allowed is one", excerpt(line.as_bytes()));
                    return Err(TraceError::option(message));
                }
                continue;
            }
            // Blanks around a single `=` belong to it; between several settings they part them.
            let several = line.matches('=').count() > 1 || line.starts_with("--");
            for setting in line.split(|c: char| several && c.is_whitespace()).filter(|text| !text.is_empty()) {
                let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
                found.take(key.trim().trim_start_matches("--"), value.trim())?;
            }
        }
        found.job()
    }
}

impl Found {
    fn take(&mut self, key: &str, value: &str) -> Result<(), TraceError> {
        match key {
            "rw" | "readwrite" => self.rw = Some(rw_setting(key, value)?),
            "bs" | "blocksize" => self.sizes = Some(RequestSizes::one(bytes(key, value)?)),
            "bssplit" => self.sizes = Some(split(value)?),
            "rwmixread" => self.mix_read = Some(number(key, value, 0..=100)? as f64 / 100.0),
            "rwmixwrite" => self.mix_read = Some((100 - number(key, value, 0..=100)?) as f64 / 100.0),
            "random_distribution" => self.distribution = Some(distribution(value)?),
            "norandommap" => self.no_random_map = switch(key, value)?,
            "iodepth" => self.iodepth = Some(number(key, value, 1..=65_536)? as u32),
            "rate_iops" => self.rate_iops = Some(number(key, value, 1..=1_000_000_000)?),
            "rate_process" => self.rate_process = Some(rate_process(key, value)?),
            "size" => {
                let Some(percent) = value.strip_suffix('%') else {
                    return refuse(key, value, "percentages of the device like 50%");
                };
                self.footprint = Some(number(key, percent, 1..=100)? as f64 / 100.0);
            }
            "number_ios" => self.requests = Some(number(key, value, 1..=i64::MAX as u64)?),
            "randseed" => self.seed = Some(number(key, value, 0..=i64::MAX as u64)?),
            _ if WITHOUT_MEANING.contains(&key) => {}
            _ => {
                return Err(TraceError::option(format!(
                    "key {} of an fio job found; allowed are {KEYS}; passed over are {}",
                    excerpt(key.as_bytes()),
                    WITHOUT_MEANING.join(", ")
                )));
            }
        }
        Ok(())
    }

    fn job(self) -> Result<FioJob, TraceError> {
        if let (Some(depth), Some(rate)) = (self.iodepth, self.rate_iops) {
            return Err(TraceError::option(format!(
                "iodepth = {depth} beside rate_iops = {rate} found; allowed is one: a depth holds so many requests \
                 outstanding, a rate issues them by the clock"
            )));
        }
        let rw = self.rw.unwrap_or(RwSetting { random: false, shares: Some((1.0, 0.0)) });
        let (read_fraction, trim_fraction) = rw.shares.unwrap_or((self.mix_read.unwrap_or(0.5), 0.0));
        Ok(FioJob {
            access: if rw.random { self.random_access() } else { SequentialAccess.into() },
            read_fraction,
            trim_fraction,
            sizes: self.sizes.unwrap_or(RequestSizes::one(4096)),
            iodepth: self.iodepth.unwrap_or(1),
            rate: self.rate_iops.map(|iops| (iops as f64, self.rate_process.unwrap_or(ArrivalKind::Fixed))),
            footprint: self.footprint,
            requests: self.requests,
            seed: self.seed,
        })
    }

    /// Where random requests go. fio keeps a map of the blocks hit, for its even distribution alone.
    fn random_access(&self) -> AccessPattern {
        match self.distribution.unwrap_or(RandomDistribution::Random) {
            RandomDistribution::Zipf(zipf) => zipf.into(),
            RandomDistribution::Random if self.no_random_map => UniformAccess.into(),
            RandomDistribution::Random => PermutationAccess.into(),
        }
    }
}

/// A switch: given alone, or with 1, it is on; with 0 it is off.
fn switch(key: &str, value: &str) -> Result<bool, TraceError> {
    match value {
        "" | "1" => Ok(true),
        "0" => Ok(false),
        _ => refuse(key, value, "0, 1, and the key alone, which means 1"),
    }
}

fn refuse<T>(key: &str, value: &str, allowed: &str) -> Result<T, TraceError> {
    Err(TraceError::option(format!("{key} = {} found; allowed are {allowed}", excerpt(value.as_bytes()))))
}

fn rw_setting(key: &str, value: &str) -> Result<RwSetting, TraceError> {
    let shares = match value.strip_prefix("rand").unwrap_or(value) {
        "read" => Some((1.0, 0.0)),
        "write" => Some((0.0, 0.0)),
        "trim" => Some((0.0, 1.0)),
        "rw" => None,
        "readwrite" if value == "readwrite" => None,
        _ => return refuse(key, value, "read, write, trim, rw, readwrite, randread, randwrite, randtrim and randrw"),
    };
    Ok(RwSetting { random: value.starts_with("rand"), shares })
}

fn rate_process(key: &str, value: &str) -> Result<ArrivalKind, TraceError> {
    match value {
        "linear" => Ok(ArrivalKind::Fixed),
        "poisson" => Ok(ArrivalKind::Poisson),
        _ => refuse(key, value, "linear and poisson"),
    }
}

fn number(key: &str, value: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, TraceError> {
    match value.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => refuse(key, value, &format!("whole numbers from {} to {}", range.start(), range.end())),
    }
}

fn bytes(key: &str, value: &str) -> Result<u32, TraceError> {
    let lower = value.to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &lower[digits.len()..] {
        "" | "b" => Some(0),
        "k" | "kb" | "ki" | "kib" => Some(10),
        "m" | "mb" | "mi" | "mib" => Some(20),
        "g" | "gb" | "gi" | "gib" => Some(30),
        _ => None,
    };
    let whole: Option<u64> = digits.parse().ok();
    let bytes = whole.zip(shift).and_then(|(whole, shift)| whole.checked_mul(1 << shift));
    match bytes.and_then(|bytes| u32::try_from(bytes).ok()) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => refuse(key, value, "one size for reads and writes of 1 to 4294967295 bytes, like 4096, 4k or 1m"),
    }
}

fn split(value: &str) -> Result<RequestSizes, TraceError> {
    let mut sizes = Vec::new();
    for part in value.split(':') {
        let Some((size, percent)) = part.split_once('/') else {
            return refuse("bssplit", value, "size/percent parts with : between them, like 4k/60:64k/40");
        };
        sizes.push((bytes("bssplit", size)?, number("bssplit", percent, 1..=100)? as f64));
    }
    RequestSizes::mixed(&sizes)
}

fn distribution(value: &str) -> Result<RandomDistribution, TraceError> {
    let theta = value.strip_prefix("zipf:").map(str::parse::<f64>);
    match theta {
        None if value == "random" => Ok(RandomDistribution::Random),
        Some(Ok(theta)) if (0.0..=10.0).contains(&theta) => Ok(RandomDistribution::Zipf(ZipfAccess { theta })),
        _ => refuse("random_distribution", value, "random and zipf:theta with theta from 0 to 10"),
    }
}
