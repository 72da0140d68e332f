//! The fields of the result document, one row each: path, unit, when it is null, what it means, and its value.
//!
//! The document, the lists of docs/RESULTS.md and the names that users may ask for all come from these rows.
//! Fields of the workload that depend on its kind are the workload's own (`Workload::facts`).

mod of_collection;
mod of_flash;
mod of_flows;
mod of_host;
mod of_life;
mod of_placement;
mod of_power;
mod of_run;
mod of_workload;
mod of_zones;

use pumice_types::choice;
use serde_json::{Map, Value, json};

use super::Finished;

choice! {
    /// What sort of value a field has.
    pub enum Type {
        /// A text.
        Text = "text",
        /// A whole number.
        Integer = "integer",
        /// A number.
        Number = "number",
        /// A list; it is one field, whatever its entries are.
        List = "list",
        /// All fields below a path.
        Table = "table",
    }
}

/// One field of the document.
pub struct ResultField {
    /// Where it stands, such as `host.iops`; `config.*` stands for everything below `config`.
    pub path: &'static str,
    /// What sort of value it has.
    pub kind: Type,
    /// Unit, empty if it has none.
    pub unit: &'static str,
    /// When it is null; empty if never.
    pub null: &'static str,
    /// Meaning of the field, in Markdown.
    pub text: &'static str,
    /// Workloads whose runs have it; empty if all have.
    pub workloads: &'static str,
    /// The field's value; `None` if the workload tells it.
    value: Option<fn(&Finished) -> Value>,
}

/// Declares rows: path, type, unit, when it is null, what it means, and how its value is found.
macro_rules! fields {
    (pub const $name:ident: $($path:expr, $kind:expr, $unit:literal, $null:expr, $text:expr, $value:expr;)+) => {
        pub const $name: &[ResultField] = &[$(ResultField {
            path: $path, kind: $kind, unit: $unit, null: $null, text: $text, workloads: "", value: Some($value),
        }),+];
    };
}
use fields;

/// Declares rows whose values are the workload's: workloads that have it, path, type, unit, when it is null, what
/// it means.
macro_rules! fact_fields {
    (pub const FIELDS: $($workloads:literal, $path:literal, $kind:expr, $unit:literal, $null:literal, $text:literal;)+) => {
        pub const FIELDS: &[ResultField] = &[$(ResultField {
            path: $path, kind: $kind, unit: $unit, null: $null, text: $text, workloads: $workloads, value: None,
        }),+];
    };
}
use fact_fields;

/// Every field, section by section.
pub fn fields_of_result() -> impl Iterator<Item = &'static ResultField> {
    let of_device = [
        of_flash::FIELDS,
        of_life::FIELDS,
        of_collection::FIELDS,
        of_placement::FIELDS,
        of_zones::FIELDS,
        of_power::FIELDS,
    ];
    let of_host = of_host::FIELDS.into_iter().chain([of_flows::FIELDS]);
    [of_run::FIELDS, of_workload::FIELDS].into_iter().chain(of_host).chain(of_device).flatten()
}

/// The document of a finished run, all but what only a wall clock knows.
pub fn document(run: &Finished) -> Value {
    let mut document = json!({ "workload": Value::Object(run.workload_facts()) });
    for field in fields_of_result() {
        if let Some(value) = field.value {
            *place(&mut document, field.path.trim_end_matches(".*")) = value(run);
        }
    }
    let sections = document.as_object_mut().into_iter().flatten();
    sections.filter(|(name, _)| *name != SPEC).for_each(|(_, section)| null_if_empty(section));
    document
}

/// The section that holds the spec, where an absent key is null and no table is.
const SPEC: &str = "config";

/// Makes every table null as a whole in which nothing applies.
fn null_if_empty(value: &mut Value) {
    let Some(table) = value.as_object_mut() else { return };
    table.values_mut().for_each(null_if_empty);
    if table.values().all(Value::is_null) {
        *value = Value::Null;
    }
}

/// The place of a path inside nested tables, which are made as they are needed.
fn place<'a>(root: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(root, |node, name| {
        if node.is_null() {
            *node = Map::new().into();
        }
        &mut node[name]
    })
}

/// `a / b`, or null if `b` is 0.
fn ratio(a: f64, b: f64) -> Value {
    if b > 0.0 { json!(a / b) } else { Value::Null }
}

/// A value, or null where it does not apply.
fn when(applies: bool, value: impl FnOnce() -> Value) -> Value {
    if applies { value() } else { Value::Null }
}

/// A count, or null where it does not apply.
fn count(applies: bool, value: u64) -> Value {
    when(applies, || json!(value))
}
