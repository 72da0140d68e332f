//! The volumes of a trace: their names, and what becomes of them.

use pumice_types::SpecError;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use pumice_types::key::{Field, Value, ValueKind};

use crate::source::error::{TraceError, excerpt};

/// What becomes of the volumes (disks, devices, units, files) that a trace's records name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Volumes {
    /// All share one address space, named `overlay`.
    #[default]
    Overlay,
    /// Each has addresses of its own, in the order in which they first appear, named `separate`.
    Separate,
    /// Only this one, by the number or name that the records have.
    One(String),
}

impl Volumes {
    /// The names that do not stand for one volume.
    pub const NAMES: [&'static str; 2] = ["overlay", "separate"];

    /// What a name asks for.
    ///
    /// # Errors
    /// An empty name; the text ends a sentence that begins with the key and the name.
    pub fn parse(name: &str) -> Result<Volumes, SpecError> {
        match name {
            "overlay" => Ok(Volumes::Overlay),
            "separate" => Ok(Volumes::Separate),
            "" => Err("found; allowed are \"separate\", \"overlay\" and the number or name of one volume".into()),
            one => Ok(Volumes::One(one.to_owned())),
        }
    }

    /// The name that [`Volumes::parse`] reads.
    pub fn name(&self) -> &str {
        match self {
            Volumes::Overlay => "overlay",
            Volumes::Separate => "separate",
            Volumes::One(name) => name,
        }
    }
}

impl fmt::Display for Volumes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Volumes {
    type Err = TraceError;

    fn from_str(name: &str) -> Result<Volumes, TraceError> {
        Volumes::parse(name).map_err(|why| TraceError::option(format!("volumes \"{name}\" {why}")))
    }
}

impl Field for Volumes {
    const SHAPE: ValueKind = ValueKind::Text;

    fn read(value: Option<&Value>) -> Result<Volumes, SpecError> {
        Volumes::parse(value.and_then(Value::as_text).unwrap_or_default())
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.name().to_owned()))
    }
}

/// Most volumes a trace may name, so that a record's fits 16 bits.
pub(super) const VOLUMES_MAX: usize = 1 << 16;

/// Names of volumes in the order of their first appearance.
#[derive(Debug, Default)]
struct VolumeNames {
    names: Vec<Box<[u8]>>,
    /// Only looked up, never iterated.
    index: HashMap<Box<[u8]>, u16>,
    /// The volume looked up last: records that follow each other mostly share it.
    last: usize,
}

impl VolumeNames {
    /// The number of a volume, and whether it is new; `None` if there are too many.
    #[inline]
    fn number(&mut self, name: &[u8]) -> Option<(u16, bool)> {
        match self.names.get(self.last) {
            Some(last) if **last == *name => Some((self.last as u16, false)),
            _ => self.look_up(name),
        }
    }

    fn look_up(&mut self, name: &[u8]) -> Option<(u16, bool)> {
        let known = self.index.get(name).copied();
        let number = match known {
            Some(number) => number,
            None => {
                let number = u16::try_from(self.names.len()).ok()?;
                self.names.push(name.into());
                self.index.insert(name.into(), number);
                number
            }
        };
        self.last = usize::from(number);
        Some((number, known.is_none()))
    }

    fn len(&self) -> usize {
        self.names.len()
    }

    /// Name of a volume in the order of first appearance; empty if there is none.
    fn name(&self, number: usize) -> String {
        self.names.get(number).map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default()
    }
}

/// The volumes of a trace, and which of them are wanted.
#[derive(Debug)]
pub(super) struct VolumeFilter {
    names: VolumeNames,
    /// The one volume asked for by name, and its number once it was seen.
    wanted: Option<(String, Option<u16>)>,
    /// Whether a volume that the records call by the first name may also be called by the second.
    also_called: fn(&[u8], &str) -> bool,
}

impl VolumeFilter {
    pub fn new(volumes: &Volumes, also_called: fn(&[u8], &str) -> bool) -> VolumeFilter {
        let wanted = match volumes {
            Volumes::One(name) => Some((name.clone(), None)),
            Volumes::Overlay | Volumes::Separate => None,
        };
        VolumeFilter { names: VolumeNames::default(), wanted, also_called }
    }

    /// The number of a record's volume, and whether the record is wanted; `None` if there are too many volumes.
    #[inline]
    pub fn admit(&mut self, name: &[u8]) -> Option<(u16, bool)> {
        let (number, is_new) = self.names.number(name)?;
        let Some((wanted, found)) = &mut self.wanted else { return Some((number, true)) };
        let is_called = || name == wanted.as_bytes() || (self.also_called)(name, wanted);
        if is_new && found.is_none() && is_called() {
            *found = Some(number);
        }
        Some((number, *found == Some(number)))
    }

    /// Volumes named so far.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Name of a volume in the order of first appearance; empty if there is none.
    pub fn name(&self, number: usize) -> String {
        self.names.name(number)
    }

    /// What to say if records named volumes and none was the one asked for.
    pub fn none_wanted(&self) -> Option<String> {
        let (wanted, _) = self.wanted.as_ref().filter(|_| self.len() > 0)?;
        let known: Vec<String> = (0..self.len().min(8)).map(|n| excerpt(self.name(n).as_bytes())).collect();
        let more = if self.len() > known.len() { ", …" } else { "" };
        Some(format!(
            "no record of volume {} among those of {} volumes; allowed are {}{more}",
            excerpt(wanted.as_bytes()),
            self.len(),
            known.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w116_volumes_are_numbered_by_first_appearance() {
        let mut names = VolumeNames::default();
        let numbers: Vec<_> = [&b"b"[..], b"b", b"a", b"b", b"c"].iter().map(|name| names.number(name)).collect();
        assert_eq!(numbers, [Some((0, true)), Some((0, false)), Some((1, true)), Some((0, false)), Some((2, true))]);
        assert_eq!((names.len(), names.name(1)), (3, "a".to_owned()));
        for n in 3..VOLUMES_MAX {
            assert!(names.number(format!("v{n}").as_bytes()).is_some());
        }
        assert_eq!(names.number(b"one too many"), None);
        assert_eq!(names.number(b"b"), Some((0, false)));
    }
}
