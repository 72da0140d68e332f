//! From preset, file and `--set` to one flat set of accepted values, with errors that name the
//! place, what was found and what is allowed.

use std::collections::BTreeMap;

use toml::Value;
use toml::de::{DeTable, DeValue};

use super::keys::{self, Key};
use super::{SpecError, preset, shown};

/// Accepted values by path.
pub type Values = BTreeMap<&'static str, Value>;

/// Presets may start from presets; deeper chains than this are a loop.
const PRESET_DEPTH_MAX: usize = 8;

/// Defaults of every key that has one.
pub fn defaults() -> Result<Values, SpecError> {
    let mut values = Values::new();
    for key in keys::KEYS {
        if let Some(text) = key.default {
            set(&mut values, "default", key.path, parse_value(text))?;
        }
    }
    Ok(values)
}

/// Lays a spec text over `values`: its preset first, then its own keys. `depth` is how many presets
/// led here; `None` leaves the text's preset out.
///
/// # Errors
/// One line with `name:line`, what was found and what is allowed.
pub fn apply_text(values: &mut Values, name: &str, text: &str, depth: Option<usize>) -> Result<(), SpecError> {
    let fail = |error: toml::de::Error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        SpecError(format!("{name}:{line}: not TOML: {}", shown(&error.message().replace('\n', "; "))))
    };
    let spans = DeTable::parse(text).map_err(fail)?;
    let table: toml::Table = toml::from_str(text).map_err(fail)?;
    let place = |start: usize| format!("{name}:{}", line_of(text, start));
    if let (Some(value), Some(depth)) = (table.get("preset"), depth) {
        let at = spans.get_ref().get("preset").map_or(name.to_string(), |v| place(v.span().start));
        apply_preset(values, &at, value, depth)?;
    }
    for (key, value) in spans.get_ref() {
        let at = place(key.span().start);
        match (key.get_ref().as_ref(), value.get_ref(), table.get(key.get_ref().as_ref())) {
            ("preset", ..) => {}
            (section, DeValue::Table(entries), Some(Value::Table(section_values))) => {
                check_section(&at, section)?;
                apply_section(values, &place, section, (entries, section_values))?;
            }
            (path, _, Some(value)) => set(values, &at, path, value.clone())?,
            (_, _, None) => {}
        }
    }
    Ok(())
}

/// Lays a section over `values`, and the sections inside it.
fn apply_section(
    values: &mut Values,
    place: &dyn Fn(usize) -> String,
    section: &str,
    (entries, section_values): (&DeTable, &toml::Table),
) -> Result<(), SpecError> {
    for (entry, spanned) in entries {
        let at = place(entry.span().start);
        let path = format!("{section}.{}", entry.get_ref());
        match (spanned.get_ref(), section_values.get(entry.get_ref().as_ref())) {
            (DeValue::Table(inner), Some(Value::Table(inner_values))) if keys::is_section(&path) => {
                apply_section(values, place, &path, (inner, inner_values))?;
            }
            (_, Some(value)) => set(values, &at, &path, value.clone())?,
            (_, None) => {}
        }
    }
    Ok(())
}

/// Lays the named preset over `values`.
pub fn apply_preset(values: &mut Values, at: &str, name: &Value, depth: usize) -> Result<(), SpecError> {
    let names = || preset::names().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(" | ");
    let Some(text) = name.as_str().and_then(preset::text) else {
        let hint = name.as_str().and_then(preset::nearest).map_or(String::new(), |n| format!("; nearest: \"{n}\""));
        return Err(SpecError(format!(
            "{at}: preset = {} does not exist; allowed: {}{hint}",
            shown(&name.to_string()),
            names()
        )));
    };
    if depth >= PRESET_DEPTH_MAX {
        return Err(SpecError(format!("{at}: presets start from each other in a loop")));
    }
    apply_text(values, &format!("preset {}", name.as_str().unwrap_or_default()), text, Some(depth + 1))
}

/// Applies one `--set key=value`; a value that is no TOML is taken as a bare word. A section inside a
/// section takes an inline table, each of its keys for itself.
pub fn apply_set(values: &mut Values, path: &str, text: &str) -> Result<(), SpecError> {
    match parse_value(text) {
        Value::Table(entries) if path.contains('.') && keys::is_section(path) => {
            entries.into_iter().try_for_each(|(entry, value)| set(values, "--set", &format!("{path}.{entry}"), value))
        }
        // A choice or text may look like a number: a variant called 2006, a volume called 3.
        value => set(values, "--set", path, value)
            .or_else(|refusal| set(values, "--set", path, Value::String(text.to_string())).map_err(|_| refusal)),
    }
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

fn set(values: &mut Values, at: &str, path: &str, value: Value) -> Result<(), SpecError> {
    let key = keys::lookup(path).map_err(|text| SpecError(format!("{at}: {text}")))?;
    let accepted = key.kind.accept(&value).ok_or_else(|| refused(at, key, &value))?;
    values.insert(key.path, accepted);
    Ok(())
}

fn refused(at: &str, key: &Key, found: &Value) -> SpecError {
    let found = shown(&found.to_string());
    let unit = if key.unit.is_empty() { String::new() } else { format!(" ({})", key.unit) };
    SpecError(format!("{at}: {} = {found} is not allowed; allowed: {}{unit}", key.path, key.kind.allowed()))
}

fn check_section(at: &str, section: &str) -> Result<(), SpecError> {
    let sections = || keys::KEYS.iter().filter_map(|key| key.path.split_once('.').map(|(section, _)| section));
    if sections().any(|known| known == section) {
        return Ok(());
    }
    let nearest = sections().min_by_key(|known| strsim::damerau_levenshtein(known, section)).unwrap_or_default();
    Err(SpecError(format!("{at}: unknown section [{}]; nearest valid section: [{nearest}]", shown(section))))
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset.min(text.len())].iter().filter(|&&b| b == b'\n').count() + 1
}
