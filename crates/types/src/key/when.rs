//! When a run reads a key.

use super::value::{Value, Values};

/// The key that gives a run a clock.
const CLOCK: &str = "run.timed";

/// The run has a clock.
pub const TIMED: When = When::On(CLOCK);

/// When a run reads a key. If the user set a key that the run does not read, the user is warned.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// In every run.
    Always,
    /// In every run, but not before its first request: what fills and ages a device does not read it.
    Requests,
    /// If a text key has one of these values; `twin:*` stands for every value that begins so.
    Is(&'static str, &'static [&'static str]),
    /// If a text key has none of these values.
    IsNot(&'static str, &'static [&'static str]),
    /// If a switch is on.
    On(&'static str),
    /// If a key has a value.
    Given(&'static str),
    /// If a key has no value.
    NotGiven(&'static str),
    /// If a number is above 0.
    Positive(&'static str),
    /// If a key that may have one has a list.
    List(&'static str),
    /// If all of these hold.
    All(&'static [When]),
    /// If one of these holds.
    Any(&'static [When]),
}

impl When {
    /// Why a run with these values does not read the key, as `key = value`; `None` if it does.
    pub fn idle(&self, values: &Values) -> Option<String> {
        let text = |path: &str| values.get(path).and_then(Value::as_text).unwrap_or_default();
        let is_in = |path: &str, names: &[&str]| names.iter().any(|name| matches_name(name, text(path)));
        let shown = |path: &str| values.get(path).map_or(format!("no {path}"), |value| format!("{path} = {value}"));
        match *self {
            When::Always | When::Requests => None,
            When::Is(path, names) => (!is_in(path, names)).then(|| shown(path)),
            When::IsNot(path, names) => is_in(path, names).then(|| shown(path)),
            When::On(path) => (values.get(path) != Some(&Value::Bool(true))).then(|| shown(path)),
            When::Given(path) => (!values.contains_key(path)).then(|| shown(path)),
            When::NotGiven(path) => values.contains_key(path).then(|| format!("{path} given")),
            When::Positive(path) => {
                let is_positive = match values.get(path) {
                    Some(Value::Int(number)) => *number > 0,
                    Some(Value::Float(number)) => *number > 0.0,
                    _ => false,
                };
                (!is_positive).then(|| shown(path))
            }
            When::List(path) => (!matches!(values.get(path), Some(Value::Floats(_)))).then(|| shown(path)),
            When::All(conditions) => conditions.iter().find_map(|condition| condition.idle(values)),
            When::Any(conditions) => {
                let idle: Option<Vec<String>> = conditions.iter().map(|condition| condition.idle(values)).collect();
                idle.and_then(|reasons| reasons.into_iter().next())
            }
        }
    }

    /// Whether filling and ageing read the key. They know neither clock nor requests.
    pub fn is_read_before_requests(&self, values: &Values) -> bool {
        match *self {
            When::Requests | When::On(CLOCK) => false,
            When::All(conditions) => conditions.iter().all(|condition| condition.is_read_before_requests(values)),
            When::Any(conditions) => conditions.iter().any(|condition| condition.is_read_before_requests(values)),
            When::Always
            | When::Is(..)
            | When::IsNot(..)
            | When::On(_)
            | When::Given(_)
            | When::NotGiven(_)
            | When::Positive(_)
            | When::List(_) => self.idle(values).is_none(),
        }
    }

    /// Every text key that the condition compares with names, and these.
    pub fn names(&self) -> Vec<(&'static str, &'static [&'static str])> {
        match *self {
            When::Is(path, names) | When::IsNot(path, names) => vec![(path, names)],
            When::Always
            | When::Requests
            | When::On(_)
            | When::Given(_)
            | When::NotGiven(_)
            | When::Positive(_)
            | When::List(_) => Vec::new(),
            When::All(conditions) | When::Any(conditions) => conditions.iter().flat_map(When::names).collect(),
        }
    }

    /// Every path that the condition asks for.
    pub fn paths(&self) -> Vec<&'static str> {
        match *self {
            When::Always | When::Requests => Vec::new(),
            When::Is(path, _)
            | When::IsNot(path, _)
            | When::On(path)
            | When::Given(path)
            | When::NotGiven(path)
            | When::Positive(path)
            | When::List(path) => vec![path],
            When::All(conditions) | When::Any(conditions) => conditions.iter().flat_map(When::paths).collect(),
        }
    }
}

/// Whether a value matches a name; a name that ends in `*` stands for all values that begin so.
fn matches_name(name: &str, value: &str) -> bool {
    name.strip_suffix('*').map_or(name == value, |prefix| value.starts_with(prefix))
}
