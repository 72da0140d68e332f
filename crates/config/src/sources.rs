//! From preset, file and `--set` to one flat set of accepted values, with errors that name the
//! place, what was found and what is allowed.

use pumice_types::key::{self, Key, Keys, Values};
use pumice_types::{ChipKeys, refuse};
use toml::Value;
use toml::de::{DeTable, DeValue};

use crate::effect::{OVER_PROVISIONING, SPARE_OVER_USER};
use crate::table::KeyTable;
use crate::{
    Config, SEED, SpecError, SpecSource, at_place, effect, flow, near, preset, retired, shown, synonyms, units,
};

/// Presets may start from presets; deeper chains than this are a loop.
const PRESET_DEPTH_MAX: usize = 8;

/// Spare over user capacity where spare over raw capacity is `raw`.
pub fn spare_over_user(raw: f64) -> f64 {
    raw / (1.0 - raw)
}

/// Values that are collected, and the keys that they may be of.
struct Collected {
    table: KeyTable,
    values: Values,
}

impl Collected {
    /// The row of a key, or in one line why there is none and what there is.
    fn row(&self, path: &str) -> Result<Key, SpecError> {
        flow::row(path).unwrap_or_else(|| self.table.lookup(path).copied())
    }
}

/// Nothing yet, for a source's keys.
fn nothing(source: &SpecSource) -> Result<Collected, SpecError> {
    Ok(Collected { table: KeyTable::with(&source.plugins, source.own_policy.as_ref())?, values: Values::new() })
}

/// The value of every key that has one.
///
/// # Errors
/// One line that names the place, what was found and what is allowed.
pub fn values(source: &SpecSource) -> Result<Values, SpecError> {
    let mut values = nothing(source)?;
    set_defaults(&mut values)?;
    if let Some(name) = &source.preset {
        apply_preset(&mut values, "", &Value::from(name.as_str()), 0)?;
    }
    let depth = if source.preset.is_none() { Some(0) } else { None };
    apply_own(&mut values, source, depth)?;
    Ok(values.values)
}

/// One line for each key that a source sets itself, not by its preset, and that its run does not read, and for
/// each name that stands for other values.
///
/// # Errors
/// A source that [`Config::resolve`] refuses as well.
pub fn without_effect(source: &SpecSource, config: &Config) -> Result<Vec<String>, SpecError> {
    let mut own = nothing(source)?;
    apply_own(&mut own, source, None)?;
    let mut values = Values::new();
    config.write(&mut values);
    let line = |key: &Key| {
        let why = effect::idle(config, key, &values)?;
        let reader =
            effect::reader(config, key, &values).map_or(String::new(), |reader| format!("; {reader} reads it"));
        Some(format!("{} has no effect with {why}{reader}", key.path))
    };
    let lines = own.values.keys().filter_map(|path| line(&own.row(path).ok()?));
    Ok(aliases(source).into_iter().chain(lines).collect())
}

/// The keys that a source sets itself: in its text and in single settings, but not by a preset.
///
/// # Errors
/// A source that [`Config::resolve`] refuses as well.
pub fn own_keys(source: &SpecSource) -> Result<Vec<&'static str>, SpecError> {
    let mut own = nothing(source)?;
    apply_own(&mut own, source, None)?;
    Ok(own.values.keys().copied().collect())
}

/// Keys of the chips' sections that only a controller reads.
const OF_THE_CONTROLLER: [&str; 26] = [
    "geometry.capacity_gib",
    "timing.plane_reads",
    "timing.multi_plane",
    "timing.read_transfer",
    "timing.codeword_bytes",
    "timing.read_command",
    "erase.suspension",
    "erase.suspension_for",
    "erase.suspension_restart",
    "erase.suspension_guard_us",
    "erase.suspension_max_restarts",
    "erase.protected_loops",
    "erase.suspend_us",
    "erase.resume_us",
    "erase.max_suspensions",
    "program.spread",
    "program.suspension",
    "program.pulses",
    "program.protected_pulses",
    "program.suspension_guard_us",
    "program.suspension_max_restarts",
    "program.suspend_us",
    "program.resume_us",
    "program.max_suspensions",
    "partial_erase.disturb_aware",
    "partial_erase.wear_limit_w",
];

/// One line for each key that a source sets itself and that a chip without a controller does not read.
///
/// # Errors
/// A source that [`Config::resolve_chip`] refuses as well.
pub fn without_effect_on_a_chip(source: &SpecSource) -> Result<Vec<String>, SpecError> {
    let mut own = nothing(source)?;
    apply_own(&mut own, source, None)?;
    let chip: Vec<&str> = ChipKeys::rows().iter().map(|key| key.path).chain([SEED.path]).collect();
    let is_idle = |key: &&&str| !chip.contains(*key) || OF_THE_CONTROLLER.contains(*key);
    let line = |key: &&'static str| format!("{key} has no effect: a chip alone has no controller");
    Ok(own.values.keys().filter(is_idle).map(line).collect())
}

/// Overrides `values` with what a source sets itself: its text, then its single settings.
fn apply_own(values: &mut Collected, source: &SpecSource, depth: Option<usize>) -> Result<(), SpecError> {
    let name = source.spec_name.as_deref().unwrap_or("spec");
    let of_text = source.spec_text.as_ref().map(|text| apply_text(values, name, text, depth));
    let origin = |place: usize| source.origins.get(place).map_or("--set", String::as_str);
    let each = |(place, (path, text)): (usize, &(String, String))| apply_set(values, origin(place), path, text);
    let of_sets: Vec<_> = source.sets.iter().enumerate().map(each).collect();
    every(of_text.into_iter().chain(of_sets))
}

/// Most errors that are told at once.
const ERRORS_MAX: usize = 10;

/// The errors of several settings, one a line: whoever made two mistakes learns of both.
fn every(settings: impl Iterator<Item = Result<(), SpecError>>) -> Result<(), SpecError> {
    let wrong: Vec<String> = settings.filter_map(Result::err).map(|error| error.0).collect();
    let mut lines: Vec<&str> = wrong.iter().flat_map(|text| text.lines()).collect();
    lines.dedup();
    lines.truncate(ERRORS_MAX);
    if lines.is_empty() { Ok(()) } else { Err(SpecError(lines.join("\n"))) }
}

/// What the aliases that a source uses stand for.
fn aliases(source: &SpecSource) -> Vec<String> {
    let table: Option<toml::Table> = source.spec_text.as_deref().and_then(|text| toml::from_str(text).ok());
    let in_text = table.as_ref().and_then(|table| table.get("ftl")?.get("kind")?.as_str());
    let in_sets = source.sets.iter().filter(|(path, _)| path == "ftl.kind").map(|(_, text)| text.trim_matches('"'));
    let names = in_text.into_iter().chain(in_sets);
    names.filter_map(|name| retired::alias("ftl.kind", name)).map(|alias| alias.note.to_string()).collect()
}

/// An error about keys that a source did not write itself, with what its aliases stand for.
pub fn with_aliases(source: &SpecSource, error: SpecError) -> SpecError {
    let notes = aliases(source);
    if notes.is_empty() { error } else { refuse!("{error} ({})", notes.join("; ")) }
}

/// Sets every key that has a default to it.
fn set_defaults(values: &mut Collected) -> Result<(), SpecError> {
    let rows = values.table.rows().to_vec();
    let mut defaults = rows.iter().filter_map(|key| Some((key.path, key.default_text()?)));
    defaults.try_for_each(|(path, text)| set(values, "default", path, parse_value(text)))
}

/// Overrides `values` with a spec text: its preset first, then its own keys. `depth` is how many presets led here;
/// `None` leaves the text's preset out.
///
/// # Errors
/// One line with `name:line`, what was found and what is allowed.
fn apply_text(values: &mut Collected, name: &str, text: &str, depth: Option<usize>) -> Result<(), SpecError> {
    let fail = |error: toml::de::Error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        refuse!("{name}:{line}: not TOML: {}", shown(&error.message().replace('\n', "; ")))
    };
    let spans = DeTable::parse(text).map_err(fail)?;
    let table: toml::Table = toml::from_str(text).map_err(fail)?;
    let place = |start: usize| format!("{name}:{}", line_of(text, start));
    if let (Some(value), Some(depth)) = (table.get("preset"), depth) {
        let at = spans.get_ref().get("preset").map_or(name.to_string(), |v| place(v.span().start));
        apply_preset(values, &at, value, depth)?;
    }
    every(spans.get_ref().iter().map(|(key, value)| {
        let at = place(key.span().start);
        match (key.get_ref().as_ref(), value.get_ref(), table.get(key.get_ref().as_ref())) {
            ("preset", ..) | (_, _, None) => Ok(()),
            (section, DeValue::Table(entries), Some(Value::Table(section_values))) => {
                check_section(&values.table, &at, section)?;
                apply_section(values, &place, section, (entries, section_values))
            }
            (path, _, Some(value)) => set(values, &at, path, value.clone()),
        }
    }))
}

/// Overrides `values` with the keys of a section and of the sections inside it.
fn apply_section(
    values: &mut Collected,
    place: &dyn Fn(usize) -> String,
    section: &str,
    (entries, section_values): (&DeTable, &toml::Table),
) -> Result<(), SpecError> {
    every(entries.iter().map(|(entry, spanned)| {
        let at = place(entry.span().start);
        let path = format!("{section}.{}", entry.get_ref());
        match (spanned.get_ref(), section_values.get(entry.get_ref().as_ref())) {
            (DeValue::Table(inner), Some(Value::Table(inner_values))) if values.table.is_section(&path) => {
                apply_section(values, place, &path, (inner, inner_values))
            }
            (DeValue::Array(flows), Some(Value::Array(list))) if path == flow::SECTION => {
                let places: Vec<String> = flows.iter().map(|flow| place(flow.span().start)).collect();
                apply_flows(values, &places, list)
            }
            (_, Some(value)) => set(values, &at, &path, value.clone()),
            (_, None) => Ok(()),
        }
    }))
}

/// Puts the flows of a list in the place of all that were there.
fn apply_flows(values: &mut Collected, places: &[String], list: &[Value]) -> Result<(), SpecError> {
    values.values.retain(|path, _| !flow::is_of_flow(path));
    for (number, (flow, at)) in list.iter().zip(places).enumerate() {
        let path = format!("{}[{number}]", flow::SECTION);
        let Some(entries) = flow.as_table().filter(|entries| !entries.is_empty()) else {
            let found = shown(&flow.to_string());
            let text = format!("{path} = {found} is not allowed; allowed: a table with keys of the flow");
            return Err(at_place(at, text));
        };
        entries.iter().try_for_each(|(name, value)| set(values, at, &format!("{path}.{name}"), value.clone()))?;
    }
    Ok(())
}

/// Overrides `values` with the named preset.
fn apply_preset(values: &mut Collected, at: &str, name: &Value, depth: usize) -> Result<(), SpecError> {
    let names = || preset::names().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(" | ");
    let Some(text) = name.as_str().and_then(preset::text) else {
        let hint = name.as_str().and_then(preset::nearest).map_or(String::new(), |n| format!("; nearest: \"{n}\""));
        let name = shown(&name.to_string());
        return Err(at_place(at, format!("preset = {name} does not exist; allowed: {}{hint}", names())));
    };
    if depth >= PRESET_DEPTH_MAX {
        return Err(at_place(at, "presets start from each other in a loop"));
    }
    apply_text(values, &format!("preset {}", name.as_str().unwrap_or_default()), text, Some(depth + 1))
}

/// Applies one setting, which comes from `at`; a value that is no TOML is taken as a bare word. A section inside a
/// section takes an inline table, each of its keys for itself.
fn apply_set(values: &mut Collected, at: &str, path: &str, text: &str) -> Result<(), SpecError> {
    let value = with_unit(values, path, parse_value(text));
    if let (Value::Array(list), flow::SECTION) = (&value, path) {
        return apply_flows(values, &vec![at.to_string(); list.len()], list);
    }
    if let Value::Table(entries) = &value
        && path.contains('.')
        && values.table.is_section(path)
    {
        let each = |(entry, value): (&String, &Value)| set(values, at, &format!("{path}.{entry}"), value.clone());
        return entries.iter().try_for_each(each);
    }
    // A choice or text may look like a number: a volume called 3.
    set(values, at, path, value)
        .or_else(|refusal| set(values, at, path, Value::String(text.to_string())).map_err(|_| refusal))
}

/// A number with a unit behind it, such as `4k`, in the unit of its key; any other value as it is.
fn with_unit(values: &Collected, path: &str, value: Value) -> Value {
    let Ok(key) = values.table.lookup(path) else { return value };
    let read = value.as_str().and_then(|text| units::read(key, text));
    read.unwrap_or(value)
}

fn parse_value(text: &str) -> Value {
    toml::from_str::<toml::Table>(&format!("value = {text}"))
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("value"))
        .or_else(|| bare_fraction(text))
        .unwrap_or_else(|| Value::String(text.to_string()))
}

/// A number with nothing on one side of its point, such as `.6`: TOML knows none, users of a shell write them.
fn bare_fraction(text: &str) -> Option<Value> {
    let text = text.trim();
    let (whole, fraction) = text.trim_start_matches(['+', '-']).split_once('.')?;
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    text.parse().ok().map(Value::Float)
}

fn set(values: &mut Collected, at: &str, path: &str, value: Value) -> Result<(), SpecError> {
    let key = values.row(path).map_err(|text| at_place(at, text))?;
    flow::check_number(&values.values, path).map_err(|text| at_place(at, text))?;
    if let Some(alias) = value.as_str().and_then(|name| retired::alias(key.path, name)) {
        return alias.values.iter().try_for_each(|(path, text)| set(values, at, path, parse_value(text)));
    }
    let accepted = typed(&value).and_then(|typed| key.accept(typed)).ok_or_else(|| refused(at, &key, &value))?;
    (key.check)(&accepted).map_err(|why| {
        let hint = value.as_str().and_then(|text| retired::meant(&key, text));
        let why = hint.map_or(why, |hint| pumice_types::refuse!("does not exist; {hint}"));
        at_place(at, format!("{} = {} {why}", key.path, shown(&value.to_string())))
    })?;
    if key.unit == "us" && has_less_than_a_nanosecond(&accepted) {
        let found = shown(&value.to_string());
        let text =
            format!("{} = {found} is less than a nanosecond, the smallest time; the unit is microseconds", key.path);
        return Err(at_place(at, text));
    }
    if key.path == SPARE_OVER_USER {
        set_spare_over_user(values, &accepted);
    } else {
        values.values.insert(key.path, accepted);
    }
    Ok(())
}

/// Sets over-provisioning by its other name. A resolved spec has both names; of equal values the one that is there
/// stays, to the last digit.
fn set_spare_over_user(values: &mut Collected, accepted: &key::Value) {
    let key::Value::Float(user) = *accepted else { return };
    let is_there = |raw: &key::Value| matches!(raw, key::Value::Float(raw) if spare_over_user(*raw) == user);
    if !values.values.get(OVER_PROVISIONING).is_some_and(is_there) {
        values.values.insert(OVER_PROVISIONING, key::Value::Float(user / (1.0 + user)));
    }
}

/// Whether a number of microseconds would be rounded to nothing, as seconds or milliseconds often are.
fn has_less_than_a_nanosecond(value: &key::Value) -> bool {
    let is_less = |us: f64| us > 0.0 && us < 0.001;
    match value {
        key::Value::Float(us) => is_less(*us),
        key::Value::Floats(list) => list.iter().any(|&us| is_less(us)),
        key::Value::Int(_) | key::Value::Bool(_) | key::Value::Text(_) => false,
    }
}

/// A TOML value as a key's value; `None` for what no key takes.
fn typed(value: &Value) -> Option<key::Value> {
    let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|number| number as f64));
    Some(match value {
        Value::Integer(number) => key::Value::Int(*number),
        Value::Float(number) => key::Value::Float(*number),
        Value::Boolean(on) => key::Value::Bool(*on),
        Value::String(text) => key::Value::Text(text.clone()),
        Value::Array(list) => key::Value::Floats(list.iter().map(number).collect::<Option<_>>()?),
        Value::Datetime(_) | Value::Table(_) => return None,
    })
}

fn refused(at: &str, key: &Key, found: &Value) -> SpecError {
    let plain = found.as_str().map_or_else(|| found.to_string(), str::to_string);
    if let Some(instead) = retired::value(key.path, &plain) {
        return at_place(at, format!("{} = {} is now {instead}", key.path, shown(&found.to_string())));
    }
    if let Some(meant) = number_as_text(key, found) {
        return at_place(
            at,
            format!("{} = {} is a text, where a number is due; write {meant}", key.path, shown(&found.to_string())),
        );
    }
    // A number that TOML cannot hold was read as a text; it is shown as it was written.
    let number = found.as_str().filter(|text| text.parse::<f64>().is_ok());
    let found = number.map_or_else(|| shown(&found.to_string()), shown);
    let unit = if key.unit.is_empty() { String::new() } else { format!(" ({})", key.unit) };
    let hint = retired::meant(key, &plain).or_else(|| as_a_share(key, &plain));
    let hint = hint.map_or(String::new(), |meant| format!("; {meant}"));
    at_place(at, format!("{} = {found} is not allowed; allowed: {}{unit}{hint}", key.path, key.allowed()))
}

/// What a percentage is as a share, for keys that take one.
fn as_a_share(key: &Key, found: &str) -> Option<String> {
    let percent: f64 = found.parse().ok()?;
    let is_share = key.unit.starts_with("share") || key.unit.starts_with("spare");
    let share = percent / 100.0;
    key.accept(key::Value::Float(share)).filter(|_| is_share)?;
    Some(format!("{percent} % is {share}"))
}

/// The number that a text holds for a key that takes numbers, with or without a unit, as a spec writes it.
fn number_as_text(key: &Key, found: &Value) -> Option<key::Value> {
    let text = found.as_str()?;
    let number = units::read(key, text).unwrap_or_else(|| parse_value(text));
    typed(&number).filter(|_| !number.is_str()).and_then(|value| key.accept(value))
}

fn check_section(table: &KeyTable, at: &str, section: &str) -> Result<(), SpecError> {
    let known: Vec<&str> = table.sections().into_iter().filter(|known| !known.contains('.')).collect();
    if known.contains(&section) {
        return Ok(());
    }
    let nearest = known.iter().filter_map(|known| Some((near(section, known)?, known))).min();
    let hint = synonyms::section(section).map(str::to_string).unwrap_or_else(|| {
        nearest.map_or_else(
            || format!("allowed: {}", known.iter().map(|known| format!("[{known}]")).collect::<Vec<_>>().join(", ")),
            |(_, known)| format!("nearest valid section: [{known}]"),
        )
    });
    Err(refuse!("{at}: unknown section [{}]; {hint}", shown(section)))
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1
}
