//! Jobs in the words of fio, as far as they describe requests.

use crate::generator::patterns::{AccessPattern, PermutationAccess, SequentialAccess, UniformAccess, ZipfAccess};
use crate::generator::sizes::RequestSizes;
use crate::source::arrival::ArrivalKind;
use crate::source::error::{TraceError, excerpt, nearest};
use crate::source::zone_job::ZoneJob;

/// Keys that are understood.
const KEYS: &str = "rw (readwrite), bs (blocksize), bssplit, rwmixread, rwmixwrite, random_distribution, norandommap, \
                    iodepth, rate_iops, rate_process, offset, offset_increment, size, numjobs, number_ios, randseed, \
                    zonemode, max_open_zones, job_max_open_zones, zone_append";

/// Keys that say nothing about requests and are passed over.
const WITHOUT_MEANING: [&str; 7] =
    ["name", "description", "filename", "ioengine", "direct", "thread", "group_reporting"];

/// Most jobs of a file, clones included: the flows that a spec can have.
const JOBS_MAX: u64 = 64;

/// What a job says; what it does not say, and fio has no default for, is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct FioJob {
    /// Section of the job, with a number behind it where it is cloned; empty for settings without one.
    pub name: String,
    /// Where requests go.
    pub access: AccessPattern,
    /// Share of reads, 0 to 1.
    pub read_fraction: f64,
    /// Share of trims, 0 to 1.
    pub trim_fraction: f64,
    /// How long requests are.
    pub sizes: RequestSizes,
    /// Requests outstanding, if the job says so; fio's default is 1.
    pub iodepth: Option<u32>,
    /// Requests a second and how they arrive, if a rate is asked for.
    pub rate: Option<(f64, ArrivalKind)>,
    /// Where its addresses begin, as a share of the device.
    pub offset: f64,
    /// Share of the device that is addressed, above 0, at most 1.
    pub footprint: Option<f64>,
    /// What the job does with zones, under `zonemode=zbd`.
    pub zoned: Option<ZonedFioJob>,
    /// Number of requests.
    pub requests: Option<u64>,
    /// Seed of every stream.
    pub seed: Option<u64>,
}

/// What a job does on a device of zones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZonedFioJob {
    /// Whether it writes, appends or reads.
    pub job: ZoneJob,
    /// Zones that it writes at once.
    pub at_once: u64,
    /// The first zone of the job and the number of its zones, if it gives them in zones.
    pub zones: Option<[u64; 2]>,
}

/// What the job's keys said so far.
#[derive(Clone, Default)]
struct Found {
    name: String,
    clones: Option<u64>,
    is_zoned: bool,
    appends: bool,
    at_once: Option<u64>,
    offset_zones: Option<u64>,
    size_zones: Option<u64>,
    zones_between: Option<u64>,
    offset: Option<f64>,
    offset_increment: Option<f64>,
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
    /// of 1024. Every `[section]` but `[global]`, whose settings the sections behind it take over, is a job; `numjobs`
    /// makes clones of one, each `offset_increment` behind the one before. Blank lines, `#` and `;` comments are passed
    /// over, and so are keys that say nothing about requests. Returns at least one job.
    ///
    /// Unlike fio's, mixed sequential reads and writes share one position, and with several sizes a random request
    /// that reaches into blocks of the same pass that were hit already is not shortened.
    ///
    /// # Errors
    /// Any other key, more jobs than a spec has flows, and values outside these: nothing else a job says is passed over
    /// silently.
    pub fn parse(job: &str) -> Result<Vec<FioJob>, TraceError> {
        let mut global = Found::default();
        let mut jobs: Vec<Found> = Vec::new();
        let in_line =
            |number, error: TraceError| if job.lines().nth(1).is_some() { error.in_line(number) } else { error };
        for (number, line) in (1..).zip(job.lines().map(str::trim)) {
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                match name {
                    "global" if jobs.is_empty() => {}
                    "global" => {
                        let misplaced = TraceError::option("[global] behind a job found; allowed is one in front");
                        return Err(in_line(number, misplaced));
                    }
                    _ => jobs.push(Found { name: name.to_owned(), ..global.clone() }),
                }
                continue;
            }
            let found = jobs.last_mut().unwrap_or(&mut global);
            // Blanks around a single `=` belong to it; between several settings they part them.
            let several = line.matches('=').count() > 1 || line.starts_with("--");
            for setting in line.split(|c: char| several && c.is_whitespace()).filter(|text| !text.is_empty()) {
                let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
                let taken = found.take(key.trim().trim_start_matches("--"), value.trim());
                taken.map_err(|error| in_line(number, error))?;
            }
        }
        let found = if jobs.is_empty() { vec![global] } else { jobs };
        let clones = found.iter().map(|job| job.clones.unwrap_or(1)).sum::<u64>();
        if clones > JOBS_MAX {
            return Err(TraceError::option(format!("{clones} jobs found, clones included; allowed are {JOBS_MAX}")));
        }
        found.iter().flat_map(|job| (0..job.clones.unwrap_or(1)).map(|nth| job.clone_of(nth))).collect()
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
            "size" | "offset" | "offset_increment" if zones(value).is_some() => self.take_of_zones(key, value)?,
            "zonemode" | "zone_append" | "max_open_zones" | "job_max_open_zones" => self.take_of_zones(key, value)?,
            "size" => self.footprint = Some(share(key, value, 1)?),
            "offset" => self.offset = Some(share(key, value, 0)?),
            "offset_increment" => self.offset_increment = Some(share(key, value, 0)?),
            "numjobs" => self.clones = Some(number(key, value, 1..=JOBS_MAX)?),
            "flow" | "flow_id" | "flow_sleep" => {
                return Err(TraceError::option(format!(
                    "key {key} of an fio job found: shares by tokens cannot be said; allowed: iodepth or rate_iops of \
                     each job"
                )));
            }
            "number_ios" => self.requests = Some(number(key, value, 1..=i64::MAX as u64)?),
            "randseed" => self.seed = Some(number(key, value, 0..=i64::MAX as u64)?),
            _ if WITHOUT_MEANING.contains(&key) => {}
            _ => return Err(unknown(key)),
        }
        Ok(())
    }

    /// Takes what a job says of zones.
    fn take_of_zones(&mut self, key: &str, value: &str) -> Result<(), TraceError> {
        match key {
            "zonemode" => match value {
                "zbd" => self.is_zoned = true,
                "none" => self.is_zoned = false,
                _ => return refuse(key, value, "zbd and none"),
            },
            "zone_append" => self.appends = switch(key, value)?,
            "size" => self.size_zones = zones(value),
            "offset" => self.offset_zones = zones(value),
            "offset_increment" => self.zones_between = zones(value),
            _ => self.at_once = Some(number(key, value, 1..=65_536)?),
        }
        Ok(())
    }

    /// The job, or one of its clones.
    fn clone_of(&self, nth: u64) -> Result<FioJob, TraceError> {
        let offset = self.offset.unwrap_or(0.0) + nth as f64 * self.offset_increment.unwrap_or(0.0);
        if offset >= 1.0 || offset + self.footprint.unwrap_or(0.0) > 1.0 + 1e-9 {
            let text = format!("job {}: offset and size end behind the device; allowed: 100% together", self.name);
            return Err(TraceError::option(text));
        }
        let name = match self.clones {
            Some(clones) if clones > 1 => format!("{}-{nth}", self.name),
            Some(_) | None => self.name.clone(),
        };
        let zoned = self.zoned(nth)?;
        let rw = self.rw.unwrap_or(RwSetting { random: false, shares: Some((1.0, 0.0)) });
        let (read_fraction, trim_fraction) = rw.shares.unwrap_or((self.mix_read.unwrap_or(0.5), 0.0));
        Ok(FioJob {
            name,
            access: if rw.random { self.random_access() } else { SequentialAccess.into() },
            read_fraction,
            trim_fraction,
            sizes: self.sizes.clone().unwrap_or(RequestSizes::one(4096)),
            iodepth: self.iodepth,
            rate: self.rate_iops.map(|iops| (iops as f64, self.rate_process.unwrap_or(ArrivalKind::Fixed))),
            zoned,
            offset,
            footprint: self.footprint,
            requests: self.requests,
            seed: self.seed,
        })
    }

    /// What the job, or one of its clones, does with zones: `write` one after the other, `randwrite` as many at once as it
    /// may have open.
    fn zoned(&self, nth: u64) -> Result<Option<ZonedFioJob>, TraceError> {
        if !self.is_zoned {
            return match self.appends || self.at_once.is_some() || self.offset_zones.or(self.size_zones).is_some() {
                true => Err(TraceError::option("sizes or limits in zones found; they need zonemode=zbd")),
                false => Ok(None),
            };
        }
        let shares = self.rw.and_then(|rw| rw.shares).unwrap_or((1.0, 0.0));
        let job = match (shares, self.rw.is_some_and(|rw| rw.shares.is_none())) {
            (_, true) | ((_, 1.0), _) => return unzoned("rw of reads and writes, or of trims"),
            ((1.0, _), _) if self.rw.is_some_and(|rw| rw.random) => ZoneJob::Read,
            ((1.0, _), _) => return unzoned("rw=read"),
            _ if self.sizes.as_ref().is_some_and(|sizes| sizes.list().len() > 1) => return unzoned("bssplit"),
            _ if self.appends => ZoneJob::Append,
            _ => ZoneJob::Write,
        };
        let is_random = self.rw.is_some_and(|rw| rw.random);
        let at_once = match (job, self.at_once) {
            (ZoneJob::Write | ZoneJob::Append, Some(at_once)) if is_random => at_once,
            (ZoneJob::Write | ZoneJob::Append, None) if is_random => {
                return unzoned("rw=randwrite without max_open_zones");
            }
            (ZoneJob::Write | ZoneJob::Append | ZoneJob::Read | ZoneJob::Finish | ZoneJob::Reset, _) => 1,
        };
        let before = nth * self.zones_between.unwrap_or(0);
        let zones = match (self.offset_zones, self.size_zones) {
            (None, None) => None,
            (first, Some(zones)) => Some([first.unwrap_or(0) + before, zones]),
            (Some(_), None) => {
                return Err(TraceError::option("offset in zones found; it needs a size in zones"));
            }
        };
        Ok(Some(ZonedFioJob { job, at_once, zones }))
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

/// The error for a key that is not understood: the key that is meant, or all there are.
fn unknown(key: &str) -> TraceError {
    let names = KEYS.split([',', ' ', '(', ')']).filter(|name| !name.is_empty()).chain(WITHOUT_MEANING);
    let hint = match (key, nearest(key, names)) {
        ("runtime" | "time_based" | "ramp_time" | "loops", _) => "; a run ends by number_ios".into(),
        (_, Some(name)) => format!("; nearest: {name}"),
        (_, None) => String::new(),
    };
    TraceError::option(format!(
        "key {} of an fio job found{hint}; allowed are {KEYS}; passed over are {}",
        excerpt(key.as_bytes()),
        WITHOUT_MEANING.join(", ")
    ))
}

/// Refuses what a job on zones cannot be here.
fn unzoned<T>(found: &str) -> Result<T, TraceError> {
    let text = format!(
        "{found} found under zonemode=zbd; allowed are rw=write, randread, and randwrite with max_open_zones, each with one bs"
    );
    Err(TraceError::option(text))
}

/// A number of zones, as fio writes it: `14z`.
fn zones(value: &str) -> Option<u64> {
    value.strip_suffix('z')?.parse().ok()
}

/// A share of the device, of at least so many percent.
fn share(key: &str, value: &str, least: u64) -> Result<f64, TraceError> {
    match value.strip_suffix('%') {
        Some(percent) => Ok(number(key, percent, least..=100)? as f64 / 100.0),
        None => refuse(key, value, "percentages of the device like 50%"),
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
    if sizes.iter().map(|(_, percent)| percent).sum::<f64>() != 100.0 {
        return refuse("bssplit", value, "shares of 100 percent together");
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
