//! `[[workload.flow]]`: several streams of requests side by side.
//!
//! A flow has every key of `[workload]`, and those here. What it does not set it takes from `[workload]`, which is the
//! workload itself where there is no flow. Among the values of a spec the key of a flow has the path
//! `workload.flow[1].kind`; a user may also write `workload.flow.1.kind`. To read a flow, or to know whether it reads a
//! key, its values are laid over those of `[workload]`, under the paths that these have.

use std::collections::BTreeSet;

use pumice_types::key::{ANY, Key, Keys, TIMED, Value, Values, When, float, int};
use pumice_types::{SpecError, choice, interned, keys, refuse};
use pumice_workload::WorkloadKeys;

use crate::{Config, HostKeys, HostMode, near, shown};

/// Where flows stand in a spec.
pub(crate) const SECTION: &str = "workload.flow";

/// The section whose keys a flow takes over.
const WORKLOAD: &str = "workload.";

/// Most flows of a spec.
pub const FLOWS_MAX: usize = 64;

/// The key on which rows depend that ageing reads, beside the flows.
const AGE_WRITES: &str = "initial.age_writes";

/// The key that paces all flows without a mode of their own.
const HOST_MODE: &str = "host.mode";

/// The keys that give flows a depth that have none of their own.
const DEPTHS: [&str; 2] = ["host.queue_depth", "host.queues"];

/// The mode of a flow, whose value is the one that it has in the end while a flow is looked at.
const MODE: &str = "workload.flow.mode";

choice! {
    /// What paces the requests of a flow.
    pub enum FlowMode {
        /// The workload's clock.
        OpenLoop = "open-loop",
        /// Completions: a fixed number of requests is always outstanding.
        ClosedLoop = "closed-loop",
        /// The workload's clock, but never more than a fixed number of requests outstanding.
        RateLimited = "rate-limited",
    }
}

choice! {
    /// Classes of flows at the controller's cores, the first served before all others.
    pub enum FlowPriority {
        /// Before all others.
        Urgent = "urgent",
        /// Before medium and low.
        High = "high",
        /// Before low.
        Medium = "medium",
        /// When nobody else waits.
        Low = "low",
    }
}

const BY_DEPTH: When = When::All(&[TIMED, When::Is(MODE, &["closed-loop", "rate-limited"])]);

/// The device tells the host's streams apart.
const PLACED: When = When::All(&[When::Requests, When::Given("ftl.handles")]);

/// Something waits for the controller's cores.
const QUEUES: When = When::All(&[
    TIMED,
    When::Any(&[When::Positive("controller.t_request_us"), When::Positive("controller.t_command_us")]),
]);

keys! {
    /// Keys of a flow beside those of `[workload]`.
    pub struct FlowKeys in "workload.flow" {
        name: Option<String> = "", ANY, "", "flow and its number, from flow0", When::Always,
            "What results call the flow: letters, digits, - and _; no two flows have the same.";
        range: Option<Vec<f64>> = "", float(0.0, 1.0), "shares of user capacity", "[0.0, 1.0]: the whole device", When::Requests,
            "Addresses of the flow, as two shares of the user capacity, rounded down to whole pages. footprint is a share of the range.";
        zones: Option<Vec<f64>> = "", float(0.0, 4294967295.0), "zones", "those of range", When::All(&[When::Requests, When::Is("ftl.zns.interface", &["zones"])]),
            "Addresses of the flow as its first zone and the number of its zones, in place of range.";
        mode: Option<FlowMode> = "", ANY, "", "host.mode", TIMED,
            "open-loop: requests arrive by the flow's clock. closed-loop: queue_depth requests are always outstanding. rate-limited: by the clock, at most queue_depth outstanding; later requests wait for room.";
        queue_depth: Option<u32> = "", int(1, 65536), "requests", "host.queue_depth x host.queues", BY_DEPTH,
            "Most requests of the flow that are outstanding.";
        priority: Option<FlowPriority> = "", ANY, "", "medium", QUEUES,
            "Whose requests the cores of the controller take first: all of a higher class before any of a lower.";
        weight: Option<u32> = "", int(1, 256), "requests", "1", QUEUES,
            "Requests that the controller's cores take of this flow before the next one of its priority.";
        stream: Option<u32> = "", int(0, 255), "", "that of its workload", PLACED,
            "Stream of the flow's writes (ftl.handles), and of initial.age_writes in its range.";
    }
}

/// One flow of a spec.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// What results call it.
    pub name: String,
    /// Keys that a flow has beside those of a workload.
    pub keys: FlowKeys,
    /// Requests of the flow.
    pub workload: WorkloadKeys,
}

impl Flow {
    /// What paces it.
    pub fn mode(&self, host: &HostKeys) -> FlowMode {
        self.keys.mode.unwrap_or(match host.mode {
            HostMode::OpenLoop => FlowMode::OpenLoop,
            HostMode::ClosedLoop => FlowMode::ClosedLoop,
        })
    }

    /// Most of its requests outstanding; `None` if nothing limits them.
    pub fn depth(&self, host: &HostKeys) -> Option<u64> {
        let all = u64::from(host.queue_depth) * u64::from(host.queues);
        match self.mode(host) {
            FlowMode::OpenLoop => None,
            FlowMode::ClosedLoop | FlowMode::RateLimited => Some(self.keys.queue_depth.map_or(all, u64::from)),
        }
    }

    /// The flow's first page and the page behind its last, of a device of `of` pages in zones of `zone` (1 without).
    pub fn pages(&self, of: u32, zone: u32) -> [u32; 2] {
        if let Some(zones) = &self.keys.zones {
            return [zones[0], zones[0] + zones[1]].map(|place| (place as u32).saturating_mul(zone));
        }
        let [from, to] = self.range();
        [from, to].map(|share| (f64::from(of) * share) as u32 / zone * zone)
    }

    /// The stream that its writes name, if the spec says one.
    pub fn stream(&self) -> Option<u8> {
        self.keys.stream.map(|stream| stream as u8)
    }

    /// The flow's addresses as shares of the user capacity.
    pub(crate) fn range(&self) -> [f64; 2] {
        self.keys.range.as_ref().map_or([0.0, 1.0], |range| [range[0], range[1]])
    }

    /// Place of its class among all, the one served first being 0.
    pub fn class(&self) -> u8 {
        self.keys.priority.unwrap_or(FlowPriority::Medium) as u8
    }
}

/// The number of a flow, and the name of its key, if the path is one of a flow's.
pub(crate) fn split(path: &str) -> Option<(usize, &str)> {
    let rest = path.strip_prefix(SECTION)?.strip_prefix(['.', '['])?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
    let name = rest[end..].strip_prefix("].").or_else(|| rest[end..].strip_prefix('.'))?;
    Some((rest[..end].parse().ok()?, name))
}

/// Whether the path is one of a flow's keys.
pub(crate) fn is_of_flow(path: &str) -> bool {
    split(path).is_some()
}

/// The first flow's kind: a spec with flows has it.
pub(crate) const FIRST_KIND: &str = "workload.flow[0].kind";

/// The path of a flow's key.
fn path_of(number: usize, name: &str) -> &'static str {
    interned::text(&format!("{SECTION}[{number}].{name}"))
}

/// Whether the key of a flow is none of `[workload]`.
pub(crate) fn is_own(key: &Key) -> bool {
    key.path.starts_with("workload.flow.")
}

/// The row of a key that flows have beside those of `[workload]`, by its path without a number.
pub(crate) fn own_row(path: &str) -> Option<Key> {
    FlowKeys::rows().into_iter().find(|key| key.path == path).copied()
}

/// Every key that a flow may have, with the name that it has there.
pub(crate) fn templates() -> impl Iterator<Item = (&'static str, &'static Key)> {
    let named = |section: &'static str| move |key: &'static Key| Some((key.path.strip_prefix(section)?, key));
    FlowKeys::rows()
        .into_iter()
        .filter_map(named("workload.flow."))
        .chain(WorkloadKeys::rows().into_iter().filter_map(named(WORKLOAD)))
}

/// The row of a flow's key, under the flow's path; `None` if the path is not of a flow.
pub(crate) fn row(path: &str) -> Option<Result<Key, SpecError>> {
    let (number, name) = split(path)?;
    if number >= FLOWS_MAX {
        return Some(Err(refuse!("{}: there are at most {FLOWS_MAX} flows, from 0", shown(path))));
    }
    Some(match templates().find(|(known, _)| *known == name) {
        Some((_, key)) => Ok(Key { path: path_of(number, name), ..*key }),
        None => {
            let nearest = templates().filter_map(|(known, _)| Some((near(name, known)?, known))).min();
            let hint = nearest.map_or_else(
                || {
                    "a flow has the keys of [workload], and name, range, zones, mode, queue_depth, priority, weight, stream"
                        .to_string()
                },
                |(_, known)| format!("nearest valid key: '{SECTION}[{number}].{known}'"),
            );
            Err(refuse!("unknown key '{}'; {hint}", shown(path)))
        }
    })
}

/// How many flows have values.
pub(crate) fn count(values: &Values) -> usize {
    values.keys().filter_map(|path| split(path)).map(|(number, _)| number).collect::<BTreeSet<_>>().len()
}

/// Refuses a flow behind one that is not there.
pub(crate) fn check_number(values: &Values, path: &str) -> Result<(), SpecError> {
    let (Some((number, _)), next) = (split(path), count(values)) else { return Ok(()) };
    match number > next {
        true => Err(refuse!("{}: flow {next} is not there yet; flows are numbered from 0 without a gap", shown(path))),
        false => Ok(()),
    }
}

/// The values with those of a flow laid over the ones of `[workload]`.
fn laid_over(values: &Values, number: usize) -> Values {
    let mut own: Values =
        values.iter().filter(|(path, _)| !is_of_flow(path)).map(|(path, v)| (*path, v.clone())).collect();
    for (name, key) in templates() {
        if let Some(value) = values.get(path_of(number, name)) {
            own.insert(key.path, value.clone());
        }
    }
    own
}

/// A text about `[workload]` as one about a flow.
fn told_of(number: usize, text: &str) -> String {
    let own = format!("{SECTION}[{number}].");
    text.replace("workload.flow.", &own).replace(WORKLOAD, &own).replace(&format!("{own}flow[{number}]."), &own)
}

/// Reads all flows.
pub(crate) fn read(values: &Values) -> Result<Vec<Flow>, SpecError> {
    let flow = |number: usize| {
        let own = laid_over(values, number);
        let keys = FlowKeys::read(&own)?;
        let name = keys.name.clone().unwrap_or_else(|| format!("flow{number}"));
        Ok(Flow { name, keys, workload: WorkloadKeys::read(&own)? })
    };
    (0..count(values)).map(|number| flow(number).map_err(|error: SpecError| told_of(number, &error.0).into())).collect()
}

/// Writes all flows, each of their keys.
pub(crate) fn write(flows: &[Flow], values: &mut Values) {
    for (number, flow) in flows.iter().enumerate() {
        let mut own = Values::new();
        flow.keys.write(&mut own);
        flow.workload.write(&mut own);
        let named = templates().filter_map(|(name, key)| Some((path_of(number, name), own.get(key.path)?.clone())));
        values.extend(named);
    }
}

/// All flows as JSON, each key with its value, null for a key that has none.
pub(crate) fn to_json(flows: &[Flow], values: &Values) -> serde_json::Value {
    let entry =
        |number: usize, name: &str| values.get(path_of(number, name)).map_or(serde_json::Value::Null, crate::json);
    let flow = |number: usize| -> serde_json::Value {
        templates().map(|(name, _)| (name.to_string(), entry(number, name))).collect::<serde_json::Map<_, _>>().into()
    };
    (0..flows.len()).map(flow).collect::<Vec<_>>().into()
}

/// Why a run does not read a key of a spec with flows: one of a flow's own, or one for all of them.
pub(crate) fn idle(config: &Config, key: &Key, values: &Values) -> Option<String> {
    let of = |number: usize| {
        let mut own = laid_over(values, number);
        let mode = config.flows[number].mode(&config.host);
        own.insert(MODE, Value::Text(mode.to_string()));
        let by_clock = mode != FlowMode::ClosedLoop;
        let host = if by_clock { HostMode::OpenLoop } else { HostMode::ClosedLoop };
        own.insert(HOST_MODE, Value::Text(host.to_string()));
        // That there are flows is a condition of keys too.
        own.extend(values.get_key_value(FIRST_KIND).map(|(path, kind)| (*path, kind.clone())));
        own
    };
    let told =
        |number: usize, why: String| told_of(number, &why).replace(HOST_MODE, &format!("{SECTION}[{number}].mode"));
    if let Some((number, name)) = split(key.path) {
        let (_, row) = templates().find(|(known, _)| *known == name)?;
        return row.when.idle(&of(number)).map(|why| told(number, why));
    }
    let of_each = |number: usize| {
        let own = of(number);
        let replaced = key.path.starts_with(WORKLOAD) && own.get(key.path) != values.get(key.path);
        let flow = &config.flows[number];
        let has_depth = DEPTHS.contains(&key.path) && flow.depth(&config.host).is_some();
        let ageing_reads = config.initial.age_writes > 0.0 && key.when.paths().contains(&AGE_WRITES);
        if replaced && !ageing_reads {
            Some(format!("a value of its own in every {SECTION}"))
        } else if has_depth {
            flow.keys.queue_depth.map(|depth| format!("{SECTION}[{number}].queue_depth = {depth}"))
        } else {
            key.when.idle(&own).map(|why| told(number, why))
        }
    };
    let reasons: Option<Vec<String>> = (0..config.flows.len()).map(of_each).collect();
    reasons.and_then(|reasons| reasons.into_iter().next())
}

/// Refuses zones of a flow that cannot be.
fn check_zones(config: &Config, flow: &Flow) -> Result<(), SpecError> {
    let Some(zones) = &flow.keys.zones else { return Ok(()) };
    let is_whole = zones.iter().all(|number| number.fract() == 0.0);
    if zones.len() != 2 || !is_whole || zones[1] < 1.0 {
        return Err(refuse!("zones = {zones:?} is no range of zones; allowed: [first, number], whole numbers"));
    }
    if flow.keys.range.is_some() {
        return Err(refuse!("zones = {zones:?} beside range found; allowed: one of them"));
    }
    match config.ftl.has_host_zones() {
        true => Ok(()),
        false => Err(refuse!("zones = {zones:?} needs ftl.kind = \"zns\" and ftl.zns.interface = \"zones\"")),
    }
}

/// Refuses flows that cannot be.
pub(crate) fn check(config: &Config) -> Result<(), SpecError> {
    for (number, flow) in config.flows.iter().enumerate() {
        let at = format!("{SECTION}[{number}]");
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        if flow.name.is_empty() || !flow.name.chars().all(is_plain) {
            return Err(refuse!("{at}.name = \"{}\" is no name; allowed: letters, digits, - and _", shown(&flow.name)));
        }
        if config.flows[..number].iter().any(|other| other.name == flow.name) {
            return Err(refuse!("{at}.name = \"{}\" is the name of another flow", flow.name));
        }
        if let Some(range) = &flow.keys.range
            && !(range.len() == 2 && range[0] < range[1])
        {
            return Err(refuse!("{at}.range = {range:?} is no range; allowed: [from, to], with from below to"));
        }
        if let (Some(stream), Some(handles)) = (flow.keys.stream, config.ftl.page.handles)
            && stream >= handles
        {
            return Err(refuse!("{at}.stream = {stream} with ftl.handles = {handles}; allowed: 0 to {}", handles - 1));
        }
        check_zones(config, flow).map_err(|text| format!("{at}.{text}"))?;
        flow.workload.check().map_err(|error| told_of(number, &error.0))?;
    }
    match config.run.only_flow {
        Some(only) if !config.flows.is_empty() && only as usize >= config.flows.len() => {
            Err(refuse!("run.only_flow = {only} is no flow; allowed: 0 to {}", config.flows.len() - 1))
        }
        Some(_) | None => Ok(()),
    }
}
