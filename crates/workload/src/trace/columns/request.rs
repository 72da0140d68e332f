//! `workload.columns`: which column of delimited text is what, and in which unit.

use std::fmt;

use pumice_types::key::{Field, Value, ValueKind};
use pumice_types::{Choice, SpecError};

use crate::source::error::{excerpt, nearest};
use crate::trace::columns::Role;
use crate::trace::columns::units::{OperationWords, TimeUnit, grain, meaning};

/// A column: by its number from 0, or by its name in the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::trace) enum ColumnRef {
    Number(usize),
    Name(String),
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnRef::Number(number) => number.fmt(f),
            ColumnRef::Name(name) => name.fmt(f),
        }
    }
}

/// Which columns of delimited text say what, and in which unit, as the user gives it: `time=0:s,op=1,offset=2:sectors,size=3`.
///
/// A column is a number from 0 or a name of the header. Without `time` every request arrives at 0; without a unit,
/// `offset` and `size` are in bytes unless the column's name ends in a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRequest {
    text: String,
    pub(in crate::trace) time: Option<(ColumnRef, Option<TimeUnit>)>,
    pub(in crate::trace) op: (ColumnRef, Option<OperationWords>),
    pub(in crate::trace) offset: (ColumnRef, Option<u64>),
    pub(in crate::trace) size: (ColumnRef, Option<u64>),
    /// First and last of neighbouring columns.
    pub(in crate::trace) volume: Option<(ColumnRef, ColumnRef)>,
    pub(in crate::trace) fua: Option<ColumnRef>,
    pub(in crate::trace) stream: Option<ColumnRef>,
}

/// Largest number of a column.
pub(in crate::trace) const COLUMN_MAX: usize = 255;

/// One item of the list: role, column, and the unit behind the colon.
struct Item<'a> {
    role: Role,
    column: &'a str,
    unit: Option<&'a str>,
}

impl ColumnRequest {
    /// Reads the list.
    ///
    /// # Errors
    /// What is wrong, and what is allowed. The text ends a sentence that begins with the key and the list.
    pub fn parse(text: &str) -> Result<ColumnRequest, String> {
        let mut items: Vec<Item<'_>> = Vec::new();
        for part in text.split(',') {
            let item = Item::parse(part).map_err(|fault| match corrected(text) {
                Some(list) => format!("{fault}; nearest: {list:?}"),
                None => fault,
            })?;
            if items.iter().any(|known| known.role == item.role) {
                return Err(format!("gives {} twice; allowed is once", item.role.name()));
            }
            items.push(item);
        }
        let of = |role: Role| items.iter().find(|item| item.role == role);
        let needed = |role: Role| {
            of(role).ok_or_else(|| {
                format!(
                    "does not give {}; needed are op, offset and size, allowed beside them time, volume, fua and stream",
                    role.name()
                )
            })
        };
        let (op, offset, size) = (needed(Role::Op)?, needed(Role::Offset)?, needed(Role::Size)?);
        let words = |unit: &str| OperationWords::parse(unit).map_err(|fault| format!("names no operations: {fault}"));
        Ok(ColumnRequest {
            text: text.to_owned(),
            time: of(Role::Time).map(Item::time).transpose()?,
            op: (op.column()?, op.unit.map(words).transpose()?),
            offset: (offset.column()?, offset.grain()?),
            size: (size.column()?, size.grain()?),
            volume: of(Role::Volume).map(Item::columns).transpose()?,
            fua: of(Role::Fua).map(Item::bare_column).transpose()?,
            stream: of(Role::Stream).map(Item::bare_column).transpose()?,
        })
    }
}

/// The list with its roles as they are called here, where they are misspelt, have another name, or are left out because
/// the columns have their names; `None` if there is no such list.
fn corrected(text: &str) -> Option<String> {
    let item = |part: &str| {
        let (name, column) = part.split_once('=').unwrap_or((part, part));
        let near = || nearest(name.trim(), Role::NAMES.iter().copied()).and_then(|known| meaning(known).role);
        let role = meaning(name).role.or_else(near)?;
        Some(format!("{}={column}", role.name()))
    };
    let list = text.split(',').map(item).collect::<Option<Vec<_>>>()?.join(",");
    (list != text && ColumnRequest::parse(&list).is_ok()).then_some(list)
}

impl<'a> Item<'a> {
    fn parse(part: &'a str) -> Result<Item<'a>, String> {
        let (name, rest) = part.split_once('=').unwrap_or((part, ""));
        let role = Role::from_name(name.trim());
        let Some(role) = role.filter(|_| !rest.is_empty()) else {
            let found = excerpt(part.as_bytes());
            return Err(format!(
                "has {found}; allowed are items such as time=0:s, op=1, offset=2:sectors, size=3, volume=4"
            ));
        };
        let (column, unit) = match rest.split_once(':') {
            Some((column, unit)) => (column.trim(), Some(unit.trim())),
            None => (rest.trim(), None),
        };
        Ok(Item { role, column, unit })
    }

    fn column(&self) -> Result<ColumnRef, String> {
        reference(self.column)
    }

    /// The column of a role that has no unit.
    fn bare_column(&self) -> Result<ColumnRef, String> {
        self.refuse_unit()?;
        self.column()
    }

    fn refuse_unit(&self) -> Result<(), String> {
        self.unit.map_or(Ok(()), |unit| {
            let (role, found) = (self.role.name(), excerpt(unit.as_bytes()));
            Err(format!("gives {role} the unit {found}; a {role} column has none"))
        })
    }

    /// The columns of a volume: one, or the first and last of several.
    fn columns(&self) -> Result<(ColumnRef, ColumnRef), String> {
        self.refuse_unit()?;
        let ends = self.column.split_once('-').filter(|(first, last)| {
            !first.is_empty()
                && !last.is_empty()
                && [first, last].iter().all(|end| end.bytes().all(|b| b.is_ascii_digit()))
        });
        let (first, last) = ends.unwrap_or((self.column, self.column));
        Ok((reference(first)?, reference(last)?))
    }

    fn time(&self) -> Result<(ColumnRef, Option<TimeUnit>), String> {
        let read = |unit: &str| {
            TimeUnit::from_name(unit).ok_or_else(|| {
                let found = excerpt(unit.as_bytes());
                format!("gives time the unit {found}; allowed are {}", TimeUnit::NAMES.join(", "))
            })
        };
        Ok((self.column()?, self.unit.map(read).transpose()?))
    }

    fn grain(&self) -> Result<Option<u64>, String> {
        self.unit.map(grain).transpose().map_err(|fault| format!("gives {} no unit: {fault}", self.role.name()))
    }
}

fn reference(text: &str) -> Result<ColumnRef, String> {
    if text.is_empty() {
        return Err("names no column; allowed are numbers from 0 and names of the header".to_owned());
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(ColumnRef::Name(text.to_owned()));
    }
    let number = text.parse().ok().filter(|&number| number <= COLUMN_MAX);
    number
        .map(ColumnRef::Number)
        .ok_or_else(|| format!("names column {}; allowed are 0 to {COLUMN_MAX}", excerpt(text.as_bytes())))
}

impl fmt::Display for ColumnRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The list can be the value of a key.
impl Field for ColumnRequest {
    const SHAPE: ValueKind = ValueKind::Text;

    fn read(value: Option<&Value>) -> Result<ColumnRequest, SpecError> {
        Ok(ColumnRequest::parse(value.and_then(Value::as_text).unwrap_or_default())?)
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.text.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w152_a_list_of_columns() {
        let request = ColumnRequest::parse("time=0:s,op=1:0/1,offset=lba:sectors, size=3,volume=4-5").expect("legal");
        assert_eq!(request.time, Some((ColumnRef::Number(0), Some(TimeUnit::Seconds))));
        assert_eq!(request.offset, (ColumnRef::Name("lba".into()), Some(512)));
        assert_eq!(request.size, (ColumnRef::Number(3), None));
        assert_eq!(request.volume, Some((ColumnRef::Number(4), ColumnRef::Number(5))));
        let untimed = ColumnRequest::parse("op=0,offset=1:4096,size=2:kib").expect("legal");
        assert_eq!((untimed.time, untimed.offset.1, untimed.size.1), (None, Some(4_096), Some(1_024)));
    }

    #[test]
    fn w153_each_fault_of_a_list_is_named() {
        for (text, part) in [
            ("", "has \"\"; allowed are items such as"),
            ("op=0,offset=1", "does not give size"),
            ("op=0,op=1,offset=1,size=2", "gives op twice"),
            ("when=0,op=0,offset=1,size=2", "has \"when=0\""),
            ("tiem=0:s,op=1,ofset=2,size=3", "; nearest: \"time=0:s,op=1,offset=2,size=3\""),
            ("timestamp,op,lba,length", "; nearest: \"time=timestamp,op=op,offset=lba,size=length\""),
            ("op=,offset=1,size=2", "has \"op=\""),
            ("op=0,offset=1,size=:kib", "names no column"),
            ("time=0:h,op=0,offset=1,size=2", "gives time the unit \"h\"; allowed are ns, 100ns, us, ms, s"),
            ("op=0,offset=1:furlongs,size=2", "gives offset no unit: \"furlongs\" is no unit"),
            ("op=0,offset=1:0,size=2", "\"0\" is no unit"),
            ("op=0:R,offset=1,size=2", "names no operations: \"R\" found"),
            ("op=0,offset=1,size=256", "names column \"256\"; allowed are 0 to 255"),
            ("op=0,offset=1,size=2,volume=3:x", "gives volume the unit"),
            ("op=0,offset=1,size=2,fua=3:x", "gives fua the unit"),
            ("op=0,offset=1,size=2,stream=3:x", "gives stream the unit"),
        ] {
            let message = ColumnRequest::parse(text).expect_err(text);
            assert!(message.contains(part) && !message.contains('\n'), "{text}: {message}");
        }
    }
}
