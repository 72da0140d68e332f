//! JSON Schema and explanations, generated from the key table.

use serde_json::{Value, json};

use super::keys::{KEYS, Key, Kind, lookup};
use super::{SpecError, preset};

fn default_json(key: &Key) -> Value {
    let parse = |text| toml::from_str::<toml::Table>(&format!("v = {text}")).ok();
    key.default
        .and_then(parse)
        .and_then(|mut table| table.remove("v"))
        .and_then(|value| serde_json::to_value(value).ok())
        .unwrap_or(Value::Null)
}

fn key_schema(key: &Key) -> Value {
    let mut schema = match key.kind {
        Kind::Int(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Float(low, high) => json!({ "type": "number", "minimum": low, "maximum": high }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Choice(names) => json!({ "enum": names }),
        Kind::Floats(low, high) => {
            json!({ "type": "array", "items": { "type": "number", "minimum": low, "maximum": high } })
        }
    };
    let unit = if key.unit.is_empty() { String::new() } else { format!(" Unit: {}.", key.unit) };
    schema["description"] = json!(format!("{}{unit} Source of the default: {}.", key.text, key.source));
    if key.default.is_some() {
        schema["default"] = default_json(key);
    }
    schema
}

/// JSON Schema (2020-12) of a spec file.
pub fn schema() -> Value {
    let mut properties = json!({ "preset": { "enum": preset::names().collect::<Vec<_>>() } });
    for key in KEYS {
        let mut names = key.path.split('.');
        let name = names.next_back().unwrap_or_default();
        let mut node = &mut properties;
        for section in names {
            let object = &mut node[section];
            if object.is_null() {
                *object = json!({ "type": "object", "additionalProperties": false, "properties": {} });
            }
            node = &mut object["properties"];
        }
        node[name] = key_schema(key);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pumice spec",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    })
}

/// What a key means: path, type, unit, default, allowed values, source and text.
///
/// # Errors
/// Unknown key, with the nearest valid one.
pub fn explain(path: &str) -> Result<Value, SpecError> {
    let key = lookup(path).map_err(SpecError)?;
    let kind = match key.kind {
        Kind::Int(..) => "whole number",
        Kind::Float(..) => "number",
        Kind::Bool => "true or false",
        Kind::Text | Kind::Choice(_) => "text",
        Kind::Floats(..) => "list of numbers",
    };
    Ok(json!({
        "key": key.path, "type": kind, "unit": key.unit, "default": default_json(key),
        "allowed": key.kind.allowed(), "source": key.source, "text": key.text,
    }))
}
