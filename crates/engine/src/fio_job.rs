//! A job in fio's words as settings of a spec, so that a result says what was run in the spec's own.

use pumice_types::Choice;
use pumice_workload::{Fact, FioJob};

use crate::error::SimError;

/// `(key, value as TOML text)` settings that generate what an fio job describes; see
/// [`FioJob::parse`] for what is understood. Without a rate the host keeps `iodepth` requests
/// outstanding; with one, requests arrive by the clock.
///
/// # Errors
/// A job that cannot be understood.
pub fn fio_job_settings(job: &str) -> Result<Vec<(String, String)>, SimError> {
    let job = FioJob::parse(job)?;
    let text = |text: &str| format!("\"{text}\"");
    let list =
        |value: fn(&(u32, f64)) -> f64| format!("{:?}", job.sizes.list().iter().map(value).collect::<Vec<f64>>());
    let mut settings = vec![
        ("workload.kind", text(job.access.kind().name())),
        ("workload.read_fraction", format!("{:?}", job.read_fraction)),
        ("workload.trim_fraction", format!("{:?}", job.trim_fraction)),
        ("workload.request_sizes", list(|size| f64::from(size.0))),
        ("workload.request_weights", list(|size| size.1)),
    ];
    settings.extend(job.footprint.map(|share| ("workload.footprint", format!("{share:?}"))));
    settings.extend(job.requests.map(|requests| ("workload.requests", requests.to_string())));
    settings.extend(job.seed.map(|seed| ("seed", seed.to_string())));
    match job.rate {
        Some((iops, arrival)) => settings.extend([
            ("host.mode", text("open-loop")),
            ("workload.arrival", text(arrival.name())),
            ("workload.mean_interarrival_us", format!("{:?}", 1e6 / iops)),
        ]),
        None => {
            settings.extend([("host.mode", text("closed-loop")), ("host.queue_depth", job.iodepth.to_string())]);
        }
    }
    let settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value));
    let pattern = job.access.parameters().into_iter().map(|(name, value)| (format!("workload.{name}"), toml(&value)));
    Ok(settings.chain(pattern).collect())
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
    use pumice_config::{Config, HostMode, SpecSource};
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
}
