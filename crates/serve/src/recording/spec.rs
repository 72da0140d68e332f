//! The spec of a served device: the user's, with what real programs decide in place of a workload.

use std::path::Path;

use pumice_config::{Config, SpecError, SpecSource, own_keys, without_effect};
use pumice_engine::data::check_pages;
use pumice_types::refuse;

use crate::recording::record::UNRECORDED;

/// Keys that serving settles, with their values: requests arrive when clients send them, and a write of part of a page
/// keeps the rest.
const SETTLED: [(&str, &str); 4] = [
    ("workload.kind", "\"trace\""),
    ("host.mode", "\"open-loop\""),
    ("host.speedup", "1.0"),
    ("host.partial_page", "\"rmw\""),
];

/// A device that recovers after a power cut knows no trims if its layer has no way to write them down.
const WITHOUT_TRIMS: (&str, &str) = ("workload.trims", "\"drop\"");

/// The configuration of a served device.
///
/// # Errors
/// A spec that is not allowed, or that asks for what a served device cannot give.
pub fn served_config(source: &SpecSource, record: Option<&Path>) -> Result<Config, SpecError> {
    let mut served = source.clone();
    let path = match record.map(|path| path.to_str().ok_or(path)) {
        None => UNRECORDED.0,
        Some(Ok(path)) => path,
        Some(Err(path)) => return Err(refuse!("--record: the name {path:?} is not UTF-8")),
    };
    let path = serde_json::Value::from(path).to_string();
    SETTLED.into_iter().chain([("workload.path", path.as_str())]).for_each(|setting| settle(&mut served, setting));
    if knows_no_trims(&served)? {
        settle(&mut served, WITHOUT_TRIMS);
    }
    let config = Config::resolve(&served)?;
    check(&config)?;
    Ok(config)
}

/// One line for each key that a source sets itself and that serving does not read.
///
/// # Errors
/// A source that [`served_config`] refuses as well.
pub fn without_effect_on_a_served_device(source: &SpecSource, config: &Config) -> Result<Vec<String>, SpecError> {
    let own = own_keys(source)?;
    let settled = SETTLED.iter().map(|(key, _)| *key).chain(["workload.path"]);
    let line = |key| format!("{key} has no effect: a served device settles it");
    let settled = settled.filter(|key| own.contains(key)).map(line);
    Ok(settled.chain(without_effect(source, config)?).collect())
}

/// Whether the device recovers after a power cut, and does not know then what was given up.
fn knows_no_trims(source: &SpecSource) -> Result<bool, SpecError> {
    let mut asked = source.clone();
    settle(&mut asked, WITHOUT_TRIMS);
    Ok(Config::resolve(&asked)?.forgets_trims())
}

/// Settles a key; its value is TOML text.
fn settle(source: &mut SpecSource, (key, value): (&str, &str)) {
    source.origins.resize(source.sets.len(), "--set".into());
    source.sets.push((key.into(), value.into()));
    source.origins.push("serve".into());
}

/// Refuses keys that a served device cannot heed.
fn check(config: &Config) -> Result<(), SpecError> {
    let run = &config.run;
    let refusals = [
        (!run.timed).then(|| "run.timed = false: a served device has a clock; allowed: true".into()),
        run.max_requests
            .map(|max| format!("run.max_requests = {max}: a served device takes every request; leave it out")),
        run.until.map(|until| format!("run.until = \"{until}\": a served device takes every request; leave it out")),
        (run.warmup_requests > 0).then(|| {
            let found = run.warmup_requests;
            format!("run.warmup_requests = {found}: a served device measures every request; allowed: 0")
        }),
        config.output.files().first().map(|key| {
            format!("{key}: a served device writes no such file; replay its record with `pumice run --trace`")
        }),
        config
            .power
            .given()
            .first()
            .map(|key| format!("{key}: a served device has no schedule of power cuts; replay its record with one")),
        config.ftl.has_host_zones().then(|| {
            "ftl.zns.interface = \"zones\": clients of a served device know no zones; allowed: \"log\"".into()
        }),
        (!config.flows.is_empty())
            .then(|| "workload.flow: the requests of a served device come from its clients; leave it out".into()),
    ];
    match refusals.into_iter().flatten().next() {
        Some(text) => Err(SpecError(text)),
        None => check_pages(config, "a served device"),
    }
}
