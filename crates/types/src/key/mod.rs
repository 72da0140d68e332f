//! A key of the spec: one row beside the code that reads it.
//!
//! [`keys!`](crate::keys) turns the rows of a section into a struct with one typed field a key, and into a
//! table of [`Key`]s. Parsing, error texts, the JSON Schema, `explain` and the warnings about keys without
//! effect all come from that table, so a key is written once.

mod field;
mod value;
mod when;

use crate::{SpecError, refuse};

pub use field::{Field, NumberOrList};
pub use value::{ANY, ANY_US, COUNT_MAX, Range, Value, ValueKind, Values, float, int};
pub use when::{TIMED, When};

/// Source of a default that no publication gives.
pub const CHOSEN: &str = "chosen";

/// Source: PEN's device.
pub const PEN_TABLE_1: &str = "PEN, FAST'18, Table 1";

/// One key of the spec.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// `section.key`.
    pub path: &'static str,
    /// What sort of value it takes.
    pub shape: ValueKind,
    /// Limits of the value, if it is a number.
    pub range: Range,
    /// Unit, empty if it has none.
    pub unit: &'static str,
    /// Default as TOML text; empty if the key is absent unless given.
    pub default: &'static str,
    /// Where the default comes from.
    pub source: &'static str,
    /// When a run reads it.
    pub when: When,
    /// Meaning of the key.
    pub text: &'static str,
    /// Whether its type can read a value of the right shape and range; else how the sentence that begins
    /// with the key and the value ends.
    pub check: fn(&Value) -> Result<(), SpecError>,
}

impl Key {
    /// The default as TOML text, if there is one.
    pub fn default_text(&self) -> Option<&'static str> {
        (!self.default.is_empty()).then_some(self.default)
    }

    /// The allowed values in words.
    pub fn allowed(&self) -> String {
        match (self.shape, self.range) {
            (ValueKind::Choice(names), _) => {
                names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" | ")
            }
            (ValueKind::Bool, _) => "true or false".into(),
            (ValueKind::Text, _) => "a text".into(),
            (ValueKind::Int, Range::Int(low, i64::MAX)) => format!("a whole number from {low} to 2^63 - 1"),
            (ValueKind::Int, Range::Int(low, high)) => format!("a whole number from {low} to {high}"),
            (ValueKind::Floats, Range::Float(low, high)) => format!("a list of numbers from {low} to {high}"),
            (ValueKind::FloatOrFloats, Range::Float(low, high)) => {
                format!("a number from {low} to {high}, or a list of such numbers")
            }
            (_, Range::Float(low, high)) => format!("a number from {low} to {high}"),
            (ValueKind::Int | ValueKind::Float | ValueKind::Floats | ValueKind::FloatOrFloats, _) => "a number".into(),
        }
    }

    /// The value in the form that the key stores; `None` if it is not allowed. Whole numbers serve as numbers.
    pub fn accept(&self, value: Value) -> Option<Value> {
        let within = |number: f64| match self.range {
            Range::Float(low, high) => (low..=high).contains(&number),
            Range::Int(low, high) => (low as f64..=high as f64).contains(&number),
            Range::None => number.is_finite(),
        };
        match (self.shape, value) {
            (ValueKind::Int, Value::Int(number)) => match self.range {
                Range::Int(low, high) => (low..=high).contains(&number).then_some(Value::Int(number)),
                Range::Float(..) | Range::None => None,
            },
            (ValueKind::Int, Value::Float(number)) if is_exact(number) => self.accept(Value::Int(number as i64)),
            (ValueKind::Float | ValueKind::FloatOrFloats, Value::Int(number)) => {
                within(number as f64).then_some(Value::Float(number as f64))
            }
            (ValueKind::Float | ValueKind::FloatOrFloats, Value::Float(number)) => {
                within(number).then_some(Value::Float(number))
            }
            (ValueKind::Bool, Value::Bool(on)) => Some(Value::Bool(on)),
            (ValueKind::Text, Value::Text(text)) => Some(Value::Text(text)),
            (ValueKind::Choice(names), Value::Text(text)) => {
                names.contains(&text.as_str()).then_some(Value::Text(text))
            }
            (ValueKind::Floats | ValueKind::FloatOrFloats, Value::Floats(list)) => {
                list.iter().all(|&number| within(number)).then_some(Value::Floats(list))
            }
            _ => None,
        }
    }
}

/// Whether a number is whole and small enough to be exact, such as 1e6.
fn is_exact(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() <= (1_i64 << 53) as f64
}

/// Keys that are read together: a struct made by [`keys!`](crate::keys), or one made of such structs.
pub trait Keys: Sized {
    /// Every key, in the order in which users should see them.
    fn rows() -> Vec<&'static Key>;

    /// Reads all keys.
    ///
    /// # Errors
    /// The first key with a value that its type cannot read: key, value and why.
    fn read(values: &Values) -> Result<Self, SpecError>;

    /// Writes all keys.
    fn write(&self, values: &mut Values);
}

/// No keys.
impl Keys for () {
    fn rows() -> Vec<&'static Key> {
        Vec::new()
    }

    fn read(_: &Values) -> Result<Self, SpecError> {
        Ok(())
    }

    fn write(&self, _: &mut Values) {}
}

/// Reads the field of one key.
///
/// # Errors
/// Key, value and why it cannot be read.
pub fn read_field<T: Field>(path: &'static str, values: &Values) -> Result<T, SpecError> {
    let value = values.get(path);
    T::read(value).map_err(|why| match value {
        Some(value) => refuse!("{path} = {value} {why}"),
        None => refuse!("{path} has no value"),
    })
}

/// Declares keys, one row each, as the fields of a struct:
///
/// ```
/// use pumice_types::key::{CHOSEN, Keys, When, int};
/// pumice_types::keys! {
///     /// What is read of `[weather]`.
///     pub struct WeatherKeys in "weather" {
///         rain: u32 = "3", int(0, 10), "mm", CHOSEN, When::Always, "Rain of an hour.";
///     }
/// }
/// assert_eq!(WeatherKeys::rows()[0].path, "weather.rain");
/// ```
///
/// A row is: field and type; default as TOML text, empty if the key is absent unless given; limits; unit;
/// source of the default; when a run reads the key; what it means. A longer meaning that is put together from parts
/// follows after `=>`; users see it instead.
#[macro_export]
macro_rules! keys {
    (@text $text:literal) => { $text };
    (@text $text:literal $full:expr) => { $full };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident in $section:literal {
            $($field:ident : $type:ty = $default:literal, $range:expr, $unit:expr, $source:expr, $when:expr, $text:literal
            $(=> $full:expr)?;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $(#[doc = $text] pub $field: $type),+ }

        impl $name {
            const ROWS: &'static [$crate::key::Key] = &[$($crate::key::Key {
                path: concat!($section, ".", stringify!($field)),
                shape: <$type as $crate::key::Field>::SHAPE,
                range: $range,
                unit: $unit,
                default: $default,
                source: $source,
                when: $when,
                text: $crate::keys!(@text $text $($full)?),
                check: |value| <$type as $crate::key::Field>::read(Some(value)).map(|_| ()),
            }),+];
        }

        impl $crate::key::Keys for $name {
            fn rows() -> Vec<&'static $crate::key::Key> {
                $name::ROWS.iter().collect()
            }

            fn read(values: &$crate::key::Values) -> Result<Self, $crate::SpecError> {
                Ok($name {
                    $($field: $crate::key::read_field(concat!($section, ".", stringify!($field)), values)?),+
                })
            }

            fn write(&self, values: &mut $crate::key::Values) {
                $(if let Some(value) = $crate::key::Field::write(&self.$field) {
                    values.insert(concat!($section, ".", stringify!($field)), value);
                })+
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    crate::choice! {
        /// A choice.
        pub enum Wind { North = "north", South = "south" }
    }

    crate::keys! {
        /// Keys of a test.
        pub struct WeatherKeys in "weather" {
            wind: Wind = "\"north\"", ANY, "", CHOSEN, When::Always, "Where the wind comes from.";
            rain: u32 = "3", int(0, 10), "mm", CHOSEN, When::Is("weather.wind", &["n*"]), "Rain of an hour.";
            snow: Option<f64> = "", float(0.0, 1.0), "m", "no snow", When::Positive("weather.rain"), "Snow.";
        }
    }

    fn values() -> Values {
        BTreeMap::from([("weather.wind", Value::Text("south".into())), ("weather.rain", Value::Int(7))])
    }

    #[test]
    fn t021_keys_read_what_they_write() {
        let keys = WeatherKeys::read(&values()).expect("they read");
        assert_eq!(keys, WeatherKeys { wind: Wind::South, rain: 7, snow: None });
        let mut written = Values::new();
        keys.write(&mut written);
        assert_eq!(written, values());
        let paths: Vec<_> = WeatherKeys::rows().iter().map(|key| key.path).collect();
        assert_eq!(paths, ["weather.wind", "weather.rain", "weather.snow"]);
    }

    #[test]
    fn t022_values_beyond_a_keys_limits_are_not_accepted() {
        let rows = WeatherKeys::rows();
        assert_eq!(rows[1].accept(Value::Int(10)), Some(Value::Int(10)));
        assert_eq!(rows[1].accept(Value::Int(11)), None);
        assert_eq!(rows[1].accept(Value::Float(3.0)), Some(Value::Int(3)), "3.0 and 3e0 are whole numbers");
        assert_eq!(rows[1].accept(Value::Float(3.5)), None, "a whole number is wanted");
        assert_eq!(rows[2].accept(Value::Int(1)), Some(Value::Float(1.0)), "whole numbers serve as numbers");
        assert_eq!(rows[2].accept(Value::Float(1.1)), None);
        assert_eq!(rows[0].accept(Value::Text("west".into())), None);
        assert_eq!(rows[0].allowed(), "\"north\" | \"south\"");
    }

    #[test]
    fn t023_a_key_that_is_not_read_says_why() {
        let rows = WeatherKeys::rows();
        assert_eq!(rows[1].when.idle(&values()).as_deref(), Some("weather.wind = \"south\""));
        assert_eq!(rows[2].when.idle(&values()), None);
        let mut dry = values();
        dry.insert("weather.rain", Value::Int(0));
        assert_eq!(rows[2].when.idle(&dry).as_deref(), Some("weather.rain = 0"));
        assert_eq!(When::NotGiven("weather.rain").idle(&dry).as_deref(), Some("weather.rain given"));
        assert_eq!(When::Given("weather.snow").idle(&dry).as_deref(), Some("no weather.snow"));
        let any = When::Any(&[When::Positive("weather.rain"), When::Is("weather.wind", &["south"])]);
        assert_eq!((any.idle(&dry), any.paths().len()), (None, 2));
        let both = When::All(&[When::Is("weather.wind", &["south"]), When::Positive("weather.rain")]);
        assert_eq!(both.idle(&dry).as_deref(), Some("weather.rain = 0"));
    }
}
