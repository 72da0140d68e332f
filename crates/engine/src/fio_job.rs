//! A job in fio's words as settings of a spec, so that a result says what was run in the spec's own.

use pumice_types::Choice;
use pumice_workload::{Fact, FioJob, ZoneJob, ZonedFioJob};

use crate::error::SimError;

/// `(key, value as TOML text)` settings that generate what fio jobs describe; see [`FioJob::parse`] for what is
/// understood. One job becomes the workload, several become its flows. Without a rate `iodepth` requests are always
/// outstanding; with one, requests arrive by the clock, and where both are given never more than `iodepth`.
///
/// # Errors
/// Jobs that cannot be understood.
pub fn fio_job_settings(job: &str) -> Result<Vec<(String, String)>, SimError> {
    let jobs = FioJob::parse(job)?;
    let mut settings = Vec::new();
    settings.extend(jobs.iter().find_map(|job| job.seed).map(|seed| ("seed".to_owned(), seed.to_string())));
    match &jobs[..] {
        [job] if !needs_flow(job) => settings.extend(workload_of(job)),
        jobs => {
            for (number, job) in jobs.iter().enumerate() {
                let flow = format!("workload.flow[{number}].");
                settings.extend(flow_of(job, number).into_iter().map(|(key, value)| (format!("{flow}{key}"), value)));
            }
        }
    }
    Ok(settings)
}

/// Whether only a flow can say what the job says.
fn needs_flow(job: &FioJob) -> bool {
    job.zoned.is_some() || job.offset > 0.0 || job.rate.is_some() && job.iodepth.is_some()
}

/// The settings of the only job.
fn workload_of(job: &FioJob) -> Vec<(String, String)> {
    let mut settings = requests_of(job);
    settings.extend(job.footprint.map(|share| ("footprint".to_owned(), format!("{share:?}"))));
    let mut settings: Vec<_> = settings.into_iter().map(|(key, value)| (format!("workload.{key}"), value)).collect();
    match job.rate {
        Some(_) => settings.push(("host.mode".to_owned(), text("open-loop"))),
        None => settings.extend([
            ("host.mode".to_owned(), text("closed-loop")),
            ("host.queue_depth".to_owned(), job.iodepth.unwrap_or(1).to_string()),
        ]),
    }
    settings
}

/// The settings of one job among several.
fn flow_of(job: &FioJob, number: usize) -> Vec<(String, String)> {
    let is_plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name: String = match job.name.is_empty() {
        true => format!("job{number}"),
        false => job.name.chars().map(is_plain).collect(),
    };
    let mut settings = requests_of(job);
    let end = job.footprint.map_or(1.0, |share| (job.offset + share).min(1.0));
    let mode = match (job.rate, job.iodepth) {
        (None, _) => "closed-loop",
        (Some(_), None) => "open-loop",
        (Some(_), Some(_)) => "rate-limited",
    };
    settings.extend([
        ("name".to_owned(), text(&name)),
        match job.zoned.and_then(|zoned| zoned.zones) {
            Some([first, zones]) => ("zones".to_owned(), format!("[{first}, {zones}]")),
            None => ("range".to_owned(), format!("[{:?}, {end:?}]", job.offset)),
        },
        ("mode".to_owned(), text(mode)),
    ]);
    if mode != "open-loop" {
        settings.push(("queue_depth".to_owned(), job.iodepth.unwrap_or(1).to_string()));
    }
    settings
}

fn text(text: &str) -> String {
    format!("\"{text}\"")
}

/// What a job says of its requests, by the names of keys of `[workload]`.
fn requests_of(job: &FioJob) -> Vec<(String, String)> {
    if let Some(zoned) = &job.zoned {
        return requests_in_zones(job, zoned);
    }
    let list =
        |value: fn(&(u32, f64)) -> f64| format!("{:?}", job.sizes.list().iter().map(value).collect::<Vec<f64>>());
    let mut settings = vec![
        ("kind", text(job.access.kind().name())),
        ("read_fraction", format!("{:?}", job.read_fraction)),
        ("trim_fraction", format!("{:?}", job.trim_fraction)),
        ("request_sizes", list(|size| f64::from(size.0))),
        ("request_weights", list(|size| size.1)),
    ];
    settings.extend(job.requests.map(|requests| ("requests", requests.to_string())));
    if let Some((iops, arrival)) = job.rate {
        settings.extend([("arrival", text(arrival.name())), ("mean_interarrival_us", format!("{:?}", 1e6 / iops))]);
    }
    let settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value));
    let pattern = job.access.parameters().into_iter().map(|(name, value)| (name.to_owned(), toml(&value)));
    settings.chain(pattern).collect()
}

/// What a job on zones says of its requests.
fn requests_in_zones(job: &FioJob, zoned: &ZonedFioJob) -> Vec<(String, String)> {
    let bytes = job.sizes.list().iter().map(|size| size.0).max().unwrap_or_default();
    let mut settings = vec![("kind", text(zoned.job.name())), ("zone_request_bytes", bytes.to_string())];
    match zoned.job {
        ZoneJob::Write | ZoneJob::Append => settings.push(("zones_at_once", zoned.at_once.to_string())),
        ZoneJob::Read | ZoneJob::Finish | ZoneJob::Reset => {}
    }
    settings.extend(job.requests.map(|requests| ("requests", requests.to_string())));
    if let Some((iops, arrival)) = job.rate {
        settings.extend([("arrival", text(arrival.name())), ("mean_interarrival_us", format!("{:?}", 1e6 / iops))]);
    }
    settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// A fact as TOML text.
fn toml(fact: &Fact) -> String {
    match fact {
        Fact::Text(text) => format!("\"{text}\""),
        Fact::Count(count) => count.to_string(),
        Fact::Real(real) => format!("{real:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pumice_config::{Config, FlowMode, HostMode, SpecSource};
    use pumice_workload::ArrivalKind;

    fn resolved(job: &str) -> Config {
        let sets = fio_job_settings(job).expect(job);
        Config::resolve(&SpecSource { preset: Some("tiny".into()), sets, ..SpecSource::default() }).expect(job)
    }

    #[test]
    fn t050_a_job_in_fios_words_is_a_valid_spec() {
        let spec = resolved("rw=randrw bs=16k iodepth=32 rwmixread=30 number_ios=500 size=25%");
        let (workload, host) = (&spec.workload, &spec.host);
        let (drawn, shared) = (&workload.drawn.mix, &workload.shared);
        assert_eq!((workload.kind().name().as_str(), drawn.read_fraction, shared.requests), ("permutation", 0.3, 500));
        assert_eq!((drawn.request_sizes.as_deref(), shared.footprint), (Some(&[16_384.0][..]), 0.25));
        assert_eq!((host.mode, host.queue_depth), (HostMode::ClosedLoop, 32));
        assert_eq!(resolved("rw=randwrite norandommap=1").workload.kind().name(), "uniform");
        let spec = resolved("rw=randtrim\nrandom_distribution=zipf:1.1\nbssplit=4k/60:64k/40\nrate_iops=2000");
        let (workload, host) = (&spec.workload, &spec.host);
        let (drawn, shared) = (&workload.drawn, &workload.shared);
        assert_eq!((workload.kind().name(), shared.trim_fraction), ("zipf".to_owned(), 1.0));
        assert_eq!(drawn.patterns.zipf.zipf_theta, 1.1);
        assert_eq!(drawn.mix.request_weights.as_deref(), Some(&[60.0, 40.0][..]));
        assert_eq!((host.mode, shared.mean_interarrival_us), (HostMode::OpenLoop, 500.0));
        assert_eq!(shared.arrival, ArrivalKind::Fixed);
        assert!(fio_job_settings("rw=sideways").is_err());
    }

    #[test]
    fn t059_several_jobs_are_flows() {
        let spec = resolved(
            "[global]\nbs=4k\nnumber_ios=100\nrandseed=7\n[my writer]\nrw=write\niodepth=4\nsize=50%\n\
             [readers]\nrw=randread\nnumjobs=2\niodepth=8\nrate_iops=2000\noffset=50%\nsize=20%\noffset_increment=25%\n",
        );
        let flows: Vec<_> =
            spec.flows.iter().map(|flow| (flow.name.as_str(), flow.mode(&spec.host), flow.depth(&spec.host))).collect();
        let readers = (FlowMode::RateLimited, Some(8));
        assert_eq!(flows[0], ("my_writer", FlowMode::ClosedLoop, Some(4)));
        assert_eq!(flows[1..], [("readers-0", readers.0, readers.1), ("readers-1", readers.0, readers.1)]);
        let ranges: Vec<_> = spec.flows.iter().map(|flow| flow.keys.range.clone().expect("given")).collect();
        assert_eq!(ranges, [[0.0, 0.5], [0.5, 0.7], [0.75, 0.95]]);
        assert_eq!((spec.seed, spec.flows[2].workload.shared.requests), (7, 100));
        assert_eq!(spec.flows[2].workload.shared.mean_interarrival_us, 500.0);
        assert!(resolved("rw=read\niodepth=2").flows.is_empty());
        for (job, why) in [
            ("rw=read\nflow=2", "shares by tokens"),
            ("[a]\nnumjobs=65", "whole numbers from 1 to 64"),
            ("[a]\nnumjobs=40\n[b]\nnumjobs=40", "80 jobs"),
            ("[a]\nrw=read\n[global]\nbs=4k", "[global] behind a job"),
            ("[a]\noffset=60%\nsize=50%", "end behind the device"),
        ] {
            let error = fio_job_settings(job).expect_err(why).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
