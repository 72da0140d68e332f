//! Values that a spec gives to keys, and which values a key allows.

use std::collections::BTreeMap;
use std::fmt;

/// A value that a spec can give to a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A text.
    Text(String),
    /// A list of numbers.
    Floats(Vec<f64>),
}

/// The accepted value of each key that has one, by path.
pub type Values = BTreeMap<&'static str, Value>;

impl Value {
    /// The text of a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Floats(_) => None,
        }
    }
}

/// As a spec writes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(number) => number.fmt(f),
            Value::Float(number) => fmt::Debug::fmt(number, f),
            Value::Bool(on) => on.fmt(f),
            Value::Text(text) => write!(f, "\"{text}\""),
            Value::Floats(list) => fmt::Debug::fmt(list, f),
        }
    }
}

/// What sort of value a field holds. It follows from the field's type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// Whole numbers.
    Int,
    /// Numbers.
    Float,
    /// `true` or `false`.
    Bool,
    /// A text that the field's type reads.
    Text,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A list of numbers.
    Floats,
    /// A number, or a list of numbers.
    FloatOrFloats,
}

/// Smallest and largest number that a key allows, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// The key holds no number.
    None,
    /// Whole numbers.
    Int(i64, i64),
    /// Numbers.
    Float(f64, f64),
}

/// A range of whole numbers, both ends included.
pub const fn int(low: i64, high: i64) -> Range {
    Range::Int(low, high)
}

/// A range of numbers, both ends included.
pub const fn float(low: f64, high: f64) -> Range {
    Range::Float(low, high)
}

/// Any duration in microseconds up to a quarter of an hour.
pub const ANY_US: Range = Range::Float(0.0, 1e9);

/// The key holds no number.
pub const ANY: Range = Range::None;

/// A large count: beyond any device.
pub const COUNT_MAX: i64 = 1 << 31;
