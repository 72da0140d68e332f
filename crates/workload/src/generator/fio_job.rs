//! Jobs in the words of fio, as far as they describe requests.

use crate::TraceError;
use crate::error::excerpt;
use crate::generator::{Access, RequestSizes, SyntheticOptions};

/// Keys that are understood.
const KEYS: &str = "rw (readwrite), bs (blocksize), bssplit, rwmixread, rwmixwrite, random_distribution, number_ios, \
                    randseed";

/// What the job's lines said so far.
#[derive(Default)]
struct Job {
    /// Whether addresses are random, and the share of reads, if `rw` fixes it.
    pattern: Option<(bool, Option<f64>)>,
    mix_read: Option<f64>,
    sizes: Option<RequestSizes>,
    zipf: Option<Access>,
}

/// Options of [`synthetic`](crate::synthetic) from `key=value` lines of an fio job. What the job
/// does not say, and fio has no default for, comes from `base`.
///
/// `rw` is `read`, `write`, `randread`, `randwrite`, `rw` (`readwrite`) or `randrw`, by default
/// `read`; `bs` is one size, by default 4k; `bssplit` is `size/percent:…`; `rwmixread` (or 100 -
/// `rwmixwrite`) is by default 50; `random_distribution` is `random` or `zipf:theta`. Suffixes k, m,
/// g, ki, mi, gi (with or without b) are powers of 1024. Blank lines, `#` and `;` comments and
/// `[section]` lines are passed over.
///
/// Unlike fio's, mixed sequential reads and writes share one position, and random requests may hit
/// a block again before every block was hit once (fio: `norandommap`).
///
/// # Errors
/// Any other key, and values outside these: nothing a job says is passed over silently.
pub fn from_fio_job(job: &str, base: &SyntheticOptions) -> Result<SyntheticOptions, TraceError> {
    let mut options = base.clone();
    let mut found = Job::default();
    for line in job.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';', '[']) {
            continue;
        }
        let (key, value) = line.split_once('=').map_or((line, ""), |(key, value)| (key.trim(), value.trim()));
        match key {
            "number_ios" => options.requests = number(key, value, 1..=u64::MAX)?,
            "randseed" => options.seed = number(key, value, 0..=u64::MAX)?,
            _ => found.take(key, value)?,
        }
    }
    let (random, reads) = found.pattern.unwrap_or((false, Some(1.0)));
    options.read_fraction = reads.unwrap_or(found.mix_read.unwrap_or(0.5));
    options.sizes = found.sizes.unwrap_or(RequestSizes::one(4096));
    options.access = if random { found.zipf.unwrap_or(Access::Uniform) } else { Access::Sequential };
    Ok(options)
}

impl Job {
    fn take(&mut self, key: &str, value: &str) -> Result<(), TraceError> {
        match key {
            "rw" | "readwrite" => self.pattern = Some(pattern(key, value)?),
            "bs" | "blocksize" => self.sizes = Some(RequestSizes::one(bytes(key, value)?)),
            "bssplit" => self.sizes = Some(split(value)?),
            "rwmixread" => self.mix_read = Some(number(key, value, 0..=100)? as f64 / 100.0),
            "rwmixwrite" => self.mix_read = Some((100 - number(key, value, 0..=100)?) as f64 / 100.0),
            "random_distribution" => self.zipf = Some(distribution(value)?),
            _ => {
                return Err(TraceError::option(format!(
                    "key {} of an fio job found; allowed are {KEYS}",
                    excerpt(key.as_bytes())
                )));
            }
        }
        Ok(())
    }
}

fn refuse<T>(key: &str, value: &str, allowed: &str) -> Result<T, TraceError> {
    Err(TraceError::option(format!("{key} = {} found; allowed are {allowed}", excerpt(value.as_bytes()))))
}

fn pattern(key: &str, value: &str) -> Result<(bool, Option<f64>), TraceError> {
    match value {
        "read" => Ok((false, Some(1.0))),
        "write" => Ok((false, Some(0.0))),
        "rw" | "readwrite" => Ok((false, None)),
        "randread" => Ok((true, Some(1.0))),
        "randwrite" => Ok((true, Some(0.0))),
        "randrw" => Ok((true, None)),
        _ => refuse(key, value, "read, write, rw, randread, randwrite and randrw"),
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

fn distribution(value: &str) -> Result<Access, TraceError> {
    let theta = value.strip_prefix("zipf:").map(str::parse::<f64>);
    match theta {
        None if value == "random" => Ok(Access::Uniform),
        Some(Ok(theta)) if (0.0..=10.0).contains(&theta) => Ok(Access::Zipf { theta }),
        _ => refuse("random_distribution", value, "random and zipf:theta with theta from 0 to 10"),
    }
}
