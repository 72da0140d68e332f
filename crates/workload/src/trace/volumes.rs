//! The volumes of a trace: their names, and what becomes of them.

use std::collections::HashMap;
use std::str::FromStr;

use crate::TraceError;
use crate::trace::TraceFormat;

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

impl FromStr for Volumes {
    type Err = TraceError;

    fn from_str(name: &str) -> Result<Volumes, TraceError> {
        match name {
            "overlay" => Ok(Volumes::Overlay),
            "separate" => Ok(Volumes::Separate),
            "" => Err(TraceError::option(
                "volumes \"\" found; allowed are \"separate\", \"overlay\" and the number or name of one volume"
                    .to_owned(),
            )),
            one => Ok(Volumes::One(one.to_owned())),
        }
    }
}

/// Most volumes a trace may name, so that a record's fits 16 bits.
pub(super) const VOLUMES_MAX: usize = 1 << 16;

/// Names of volumes in the order of their first appearance.
#[derive(Debug, Default)]
pub(super) struct VolumeNames {
    names: Vec<Box<[u8]>>,
    /// Only looked up, never iterated.
    index: HashMap<Box<[u8]>, u16>,
    /// The volume looked up last: records that follow each other mostly share it.
    last: usize,
}

impl VolumeNames {
    /// The number of a volume, and whether it is new; `None` if there are too many.
    #[inline]
    pub fn number(&mut self, name: &[u8]) -> Option<(u16, bool)> {
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

    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Name of a volume in the order of first appearance; empty if there is none.
    pub fn name(&self, number: usize) -> String {
        self.names.get(number).map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default()
    }
}

/// Whether a volume's name in a trace is the one that was asked for. In MSR files a volume is
/// `host,disk`; `host_disk`, as the collection's files are called, and the disk alone name it too.
pub(super) fn is_called(format: TraceFormat, name: &[u8], wanted: &str) -> bool {
    if name == wanted.as_bytes() {
        return true;
    }
    let comma = memchr::memrchr(b',', name).filter(|_| format == TraceFormat::MsrCsv);
    comma.is_some_and(|at| {
        let (host, disk) = (&name[..at], &name[at + 1..]);
        let whole = [host, b"_", disk].concat();
        disk == wanted.as_bytes() || whole == wanted.as_bytes()
    })
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

    #[test]
    fn w117_a_volume_by_its_names() {
        for (wanted, called) in [("hm,1", true), ("hm_1", true), ("1", true), ("hm", false), ("0", false)] {
            assert_eq!(is_called(TraceFormat::MsrCsv, b"hm,1", wanted), called, "{wanted}");
        }
        assert!(!is_called(TraceFormat::BlkParse, b"8,16", "16"));
        assert!(is_called(TraceFormat::BlkParse, b"8,16", "8,16"));
    }
}
