//! Types that a key can have: how each is read from a value, and written as one.

use super::value::{Value, ValueKind};
use crate::SpecError;

/// A type that a key can have.
pub trait Field: Sized {
    /// What sort of value it holds.
    const SHAPE: ValueKind;

    /// Reads an accepted value; `None` if the key has none.
    ///
    /// # Errors
    /// How the sentence ends that begins with the key and the value.
    fn read(value: Option<&Value>) -> Result<Self, SpecError>;

    /// The value as a spec would give it; `None` if the key would be absent.
    fn write(&self) -> Option<Value>;
}

macro_rules! whole_number_fields {
    ($($type:ty),+) => { $(
        impl Field for $type {
            const SHAPE: ValueKind = ValueKind::Int;

            fn read(value: Option<&Value>) -> Result<Self, SpecError> {
                match value {
                    Some(Value::Int(number)) => <$type>::try_from(*number).map_err(|_| "is too large".into()),
                    _ => Err("is not a whole number".into()),
                }
            }

            fn write(&self) -> Option<Value> {
                i64::try_from(*self).ok().map(Value::Int)
            }
        }
    )+ };
}

whole_number_fields!(u8, u16, u32, u64);

impl Field for f64 {
    const SHAPE: ValueKind = ValueKind::Float;

    fn read(value: Option<&Value>) -> Result<Self, SpecError> {
        match value {
            Some(Value::Float(number)) => Ok(*number),
            _ => Err("is not a number".into()),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Float(*self))
    }
}

impl Field for bool {
    const SHAPE: ValueKind = ValueKind::Bool;

    fn read(value: Option<&Value>) -> Result<Self, SpecError> {
        match value {
            Some(Value::Bool(on)) => Ok(*on),
            _ => Err("is neither true nor false".into()),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Bool(*self))
    }
}

impl Field for String {
    const SHAPE: ValueKind = ValueKind::Text;

    fn read(value: Option<&Value>) -> Result<Self, SpecError> {
        value.and_then(Value::as_text).map(String::from).ok_or_else(|| "is not a text".into())
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.clone()))
    }
}

impl Field for Vec<f64> {
    const SHAPE: ValueKind = ValueKind::Floats;

    fn read(value: Option<&Value>) -> Result<Self, SpecError> {
        match value {
            Some(Value::Floats(list)) => Ok(list.clone()),
            _ => Err("is no list of numbers".into()),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Floats(self.clone()))
    }
}

/// A number that stands for all of a kind, or a list of one number each.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberOrList {
    /// One for all.
    Number(f64),
    /// One each.
    List(Vec<f64>),
}

impl NumberOrList {
    /// The number of one of them, from 0; the last one's beyond the list.
    pub fn of(&self, nth: usize) -> f64 {
        match self {
            NumberOrList::Number(number) => *number,
            NumberOrList::List(list) => list.get(nth).or(list.last()).copied().unwrap_or_default(),
        }
    }
}

impl Field for NumberOrList {
    const SHAPE: ValueKind = ValueKind::FloatOrFloats;

    fn read(value: Option<&Value>) -> Result<Self, SpecError> {
        match value {
            Some(Value::Float(number)) => Ok(NumberOrList::Number(*number)),
            Some(Value::Floats(list)) if !list.is_empty() => Ok(NumberOrList::List(list.clone())),
            Some(Value::Floats(_)) => Err("is an empty list".into()),
            _ => Err("is neither a number nor a list of numbers".into()),
        }
    }

    fn write(&self) -> Option<Value> {
        Some(match self {
            NumberOrList::Number(number) => Value::Float(*number),
            NumberOrList::List(list) => Value::Floats(list.clone()),
        })
    }
}

/// A key that may be absent.
impl<T: Field> Field for Option<T> {
    const SHAPE: ValueKind = T::SHAPE;

    fn read(value: Option<&Value>) -> Result<Self, SpecError> {
        value.map(|value| T::read(Some(value))).transpose()
    }

    fn write(&self) -> Option<Value> {
        self.as_ref().and_then(T::write)
    }
}
