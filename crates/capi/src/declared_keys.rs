//! Keys that C declares of a section of its own, and their values as C sees them.

use std::ptr;

use pumice_types::key::{Key, Range, Value, ValueKind, When};
use pumice_types::{SpecError, interned, refuse};

use crate::foreign::needed_text;
use crate::ftl::{CHOICE, NUMBER, SWITCH, WHOLE_NUMBER};
use crate::ftl::{CKey, CValue};

/// The most keys of a section.
const KEYS_MAX: u64 = 256;

/// The owner of keys: a policy or a layer of the user's own.
pub struct KeyOwner<'a> {
    /// The path of a key in a spec, or why its name is none.
    pub path: &'a dyn Fn(&str) -> Result<&'static str, SpecError>,
    /// The source that `explain` names.
    pub source: &'a str,
}

/// The keys of a list: where it begins, and how many there are.
///
/// # Errors
/// The first key that is none.
///
/// # Safety
/// The list has so many keys, or its pointer is null; their texts are null or end with a 0.
pub unsafe fn keys_of((first, count): (*const CKey, u64), owner: &KeyOwner) -> Result<Vec<Key>, SpecError> {
    if count > KEYS_MAX || count > 0 && first.is_null() {
        return Err(refuse!("has {count} keys; allowed: at most {KEYS_MAX}, in a list that is there"));
    }
    let mut keys: Vec<Key> = Vec::new();
    for nth in 0..count as usize {
        // SAFETY: the caller's promise.
        let key = unsafe { key_of(&ptr::read(first.add(nth)), owner) }?;
        if keys.iter().any(|other| other.path == key.path) {
            return Err(refuse!("has two keys {}", key.path));
        }
        keys.push(key);
    }
    Ok(keys)
}

/// A key as specs have it.
///
/// # Safety
/// The texts of `key` are null or end with a 0.
unsafe fn key_of(key: &CKey, owner: &KeyOwner) -> Result<Key, SpecError> {
    // SAFETY: the caller's promise.
    let texts = unsafe {
        (
            needed_text(key.name, "the name of a key")?,
            needed_text(key.default_value, "the default of a key")?,
            needed_text(key.unit, "the unit of a key")?,
            needed_text(key.text, "the text of a key")?,
        )
    };
    let (path, refused) = ((owner.path)(&texts.0)?, |why: &str| Err(refuse!("its key \"{}\" {why}", texts.0)));
    let (shape, range) = match key.kind {
        WHOLE_NUMBER if key.least <= key.most => (ValueKind::Int, Range::Int(key.least, key.most)),
        NUMBER if key.low <= key.high => (ValueKind::Float, Range::Float(key.low, key.high)),
        WHOLE_NUMBER | NUMBER => return refused("has limits that no number is between"),
        SWITCH => (ValueKind::Bool, Range::None),
        CHOICE => {
            // SAFETY: the caller's promise.
            let names = unsafe { needed_text(key.choices, "the names of a choice") }?;
            let names: Vec<&str> = names.split('|').collect();
            if names.iter().any(|name| name.is_empty()) {
                return refused("has a choice without a name");
            }
            (ValueKind::Choice(interned::list(&names)), Range::None)
        }
        _ => return refused("has a type or a condition that the header does not have"),
    };
    Ok(Key {
        path,
        shape,
        range,
        unit: interned::text(&texts.2),
        default: interned::text(&texts.1),
        source: interned::text(owner.source),
        when: When::Always,
        text: interned::text(&texts.3),
        check: |_| Ok(()),
    })
}

/// The value of a key as C sees it.
pub fn c_value(key: &Key, value: Option<&Value>) -> CValue {
    let plain = CValue { given: u32::from(value.is_some()), ..CValue::default() };
    let place = |name: &str| match key.shape {
        ValueKind::Choice(names) => names.iter().position(|known| *known == name).unwrap_or(0) as i64,
        ValueKind::Int
        | ValueKind::Float
        | ValueKind::Bool
        | ValueKind::Text
        | ValueKind::Floats
        | ValueKind::FloatOrFloats => 0,
    };
    match value {
        Some(Value::Int(whole)) => CValue { whole: *whole, ..plain },
        Some(Value::Float(number)) => CValue { number: *number, ..plain },
        Some(Value::Bool(on)) => CValue { whole: (*on).into(), ..plain },
        Some(Value::Text(name)) => CValue { whole: place(name), ..plain },
        Some(Value::Floats(_)) | None => plain,
    }
}
