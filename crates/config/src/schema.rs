//! JSON Schema and explanations, generated from the rows of the keys.

use pumice_types::key::{Key, Range, ValueKind};
use serde_json::{Map, Value, json};

use pumice_ftl::plugin::OwnLayer;

use crate::table::KeyTable;
use crate::{SpecError, flow, preset};

/// The place of a path inside nested objects, which are made as they are needed.
pub(crate) fn place<'a>(root: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(root, |node, name| {
        if node.is_null() {
            *node = Map::new().into();
        }
        &mut node[name]
    })
}

fn default_json(key: &Key) -> Value {
    let parse = |text| toml::from_str::<toml::Table>(&format!("v = {text}")).ok();
    key.default_text()
        .and_then(parse)
        .and_then(|mut table| table.remove("v"))
        .and_then(|value| serde_json::to_value(value).ok())
        .unwrap_or(Value::Null)
}

fn number_schema(kind: &str, range: Range) -> Value {
    match range {
        Range::Int(low, high) => json!({ "type": kind, "minimum": low, "maximum": high }),
        Range::Float(low, high) => json!({ "type": kind, "minimum": low, "maximum": high }),
        Range::None => json!({ "type": kind }),
    }
}

fn list_schema(range: Range) -> Value {
    json!({ "type": "array", "items": number_schema("number", range) })
}

fn key_schema(key: &Key) -> Value {
    let mut schema = match key.shape {
        ValueKind::Int => number_schema("integer", key.range),
        ValueKind::Float => number_schema("number", key.range),
        ValueKind::Bool => json!({ "type": "boolean" }),
        ValueKind::Text => json!({ "type": "string" }),
        ValueKind::Choice(names) => json!({ "enum": names }),
        ValueKind::Floats => list_schema(key.range),
        ValueKind::FloatOrFloats => json!({ "anyOf": [number_schema("number", key.range), list_schema(key.range)] }),
    };
    let unit = if key.unit.is_empty() { String::new() } else { format!(" Unit: {}.", key.unit) };
    schema["description"] = json!(format!("{}{unit} Source of the default: {}.", key.text, key.source));
    if key.default_text().is_some() {
        schema["default"] = default_json(key);
    }
    schema
}

/// JSON Schema (2020-12) of a spec file, with the keys of these plug-ins.
///
/// # Errors
/// Plug-ins whose names cannot be.
pub fn schema(plugins: &[OwnLayer]) -> Result<Value, SpecError> {
    let table = KeyTable::with(plugins, None)?;
    let mut properties = json!({ "preset": { "enum": preset::names().collect::<Vec<_>>() } });
    for key in table.rows() {
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
    properties["workload"]["properties"]["flow"] = flows_schema();
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pumice spec",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    }))
}

/// Schema of the list of flows: their own keys, and those of `[workload]` by reference.
fn flows_schema() -> Value {
    let mut keys = Map::new();
    for (name, key) in flow::templates() {
        let of_workload = || json!({ "$ref": format!("#/properties/workload/properties/{name}") });
        let schema = if flow::is_own(key) { key_schema(key) } else { of_workload() };
        keys.insert(name.to_string(), schema);
    }
    json!({
        "type": "array",
        "items": { "type": "object", "additionalProperties": false, "minProperties": 1, "properties": keys },
        "description": "Several workloads side by side. A flow takes from [workload] what it does not set itself.",
    })
}

/// What a key means, those of these plug-ins included: path, type, unit, default, allowed values, source and text.
///
/// # Errors
/// Unknown key, with the nearest valid one; plug-ins whose names cannot be.
pub fn explain(path: &str, plugins: &[OwnLayer]) -> Result<Value, SpecError> {
    let table = KeyTable::with(plugins, None)?;
    let of_flow = || flow::row(path).or_else(|| flow::own_row(path).map(Ok));
    let key = of_flow().unwrap_or_else(|| table.lookup(path).copied())?;
    let kind = match key.shape {
        ValueKind::Int => "whole number",
        ValueKind::Float => "number",
        ValueKind::Bool => "true or false",
        ValueKind::Text | ValueKind::Choice(_) => "text",
        ValueKind::Floats => "list of numbers",
        ValueKind::FloatOrFloats => "number or list of numbers",
    };
    Ok(json!({
        "key": key.path, "type": kind, "unit": key.unit, "default": default_json(&key),
        "allowed": key.allowed(), "source": key.source, "text": key.text,
    }))
}
