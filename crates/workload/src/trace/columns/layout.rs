//! Which column of a file is what: a request for columns, or the names of a header, brought together with line 1.

use pumice_types::Choice;

use crate::source::error::{excerpt, nearest};
use crate::trace::columns::Role;
use crate::trace::columns::header::{Delimiter, Header};
use crate::trace::columns::request::{ColumnRef, ColumnRequest};
use crate::trace::columns::units::{NameMeaning, OperationWords, TimeUnit, grain_name};

/// Which column of a file is what.
#[derive(Clone, Debug)]
pub(in crate::trace) struct ColumnLayout {
    pub delimiter: Delimiter,
    /// Fields of every line.
    pub fields: usize,
    pub time: Option<(usize, TimeUnit)>,
    pub op: (usize, OperationWords),
    /// Column and unit in bytes.
    pub offset: (usize, u64),
    /// Column and unit in bytes.
    pub size: (usize, u64),
    /// First and last of neighbouring columns.
    pub volume: Option<(usize, usize)>,
    /// Says which writes have force unit access, beside what the operation's words say.
    pub fua: Option<usize>,
    /// The stream that the host names for what it writes.
    pub stream: Option<usize>,
    /// Names of the columns; empty if line 1 has none.
    pub names: Vec<String>,
}

impl ColumnLayout {
    /// The layout of a file whose first line is `line`. Without a request the header's names must tell it.
    ///
    /// # Errors
    /// What line 1 lacks or contradicts, and what is allowed.
    pub fn of(request: Option<&ColumnRequest>, line: &[u8]) -> Result<ColumnLayout, String> {
        match (request, Header::of(line)) {
            (Some(request), header) => Columns { header: header.as_ref(), line }.layout(request),
            (None, Some(header)) => by_names(&header),
            (None, None) => Err(format!(
                "{} found; allowed is a line that names the columns with their units, such as \
                 time_ns,op,offset_bytes,size_bytes; without one, set workload.columns (--columns)",
                excerpt(line)
            )),
        }
    }

    /// The layout under names, line 1's or a table's. Without a request they must tell it.
    ///
    /// # Errors
    /// What the names lack or contradict, and what is allowed.
    pub fn under(request: Option<&ColumnRequest>, header: &Header<'_>) -> Result<ColumnLayout, String> {
        match request {
            Some(request) => Columns { header: Some(header), line: b"" }.layout(request),
            None => by_names(header),
        }
    }

    /// Whether line 1 names the columns.
    pub fn has_header(&self) -> bool {
        !self.names.is_empty()
    }

    /// The column as an error names it.
    pub fn label(&self, role: Role, column: usize) -> String {
        match self.names.get(column) {
            Some(name) => format!("{} (column \"{name}\")", role.name()),
            None => format!("{} (column {column})", role.name()),
        }
    }

    /// The layout as `workload.columns` would give it, every unit included.
    pub fn text(&self) -> String {
        let time = self.time.map(|(column, unit)| format!("time={column}:{unit},"));
        let words = self.op.1.text();
        let words = if words.is_empty() { String::new() } else { format!(":{words}") };
        let volume =
            self.volume.map(
                |(first, last)| {
                    if first == last { format!(",volume={first}") } else { format!(",volume={first}-{last}") }
                },
            );
        format!(
            "{}op={}{words},offset={}:{},size={}:{}{}{}{}",
            time.unwrap_or_default(),
            self.op.0,
            self.offset.0,
            grain_name(self.offset.1),
            self.size.0,
            grain_name(self.size.1),
            volume.unwrap_or_default(),
            self.fua.map(|column| format!(",fua={column}")).unwrap_or_default(),
            self.stream.map(|column| format!(",stream={column}")).unwrap_or_default()
        )
    }
}

/// A layout that the names of a header tell alone, units included.
fn by_names(header: &Header<'_>) -> Result<ColumnLayout, String> {
    let meanings = &header.meanings;
    let column = |role: Role| {
        let of_role: Vec<&str> = header
            .names
            .iter()
            .zip(meanings)
            .filter(|(_, told)| told.role == Some(role))
            .map(|(name, _)| *name)
            .collect();
        header.column(role).ok_or_else(|| match of_role[..] {
            [] => untold(header, &format!("none of them is known to mean {}", role.name())),
            _ => untold(header, &format!("{} may all mean {}", of_role.join(", "), role.name())),
        })
    };
    let no_unit = |column: usize| untold(header, &format!("\"{}\" does not end in a unit", header.names[column]));
    let grain = |column: usize| meanings[column].grain.ok_or_else(|| no_unit(column));
    let (time, op) = (column(Role::Time)?, column(Role::Op)?);
    let (offset, size) = (column(Role::Offset)?, column(Role::Size)?);
    let if_named = |role: Role| meanings.iter().any(|told| told.role == Some(role)).then(|| column(role)).transpose();
    let (volume, fua, stream) = (if_named(Role::Volume)?, if_named(Role::Fua)?, if_named(Role::Stream)?);
    Ok(ColumnLayout {
        delimiter: header.delimiter,
        fields: header.names.len(),
        time: Some((time, meanings[time].time.ok_or_else(|| no_unit(time))?)),
        op: (op, OperationWords::of_name(header.names[op])),
        offset: (offset, grain(offset)?),
        size: (size, grain(size)?),
        volume: volume.map(|column| (column, column)),
        fua,
        stream,
        names: header.names.iter().map(|&name| name.to_owned()).collect(),
    })
}

/// The names of a header are not enough.
fn untold(header: &Header<'_>, why: &str) -> String {
    format!(
        "the format is not recognised from the columns {}: {why}; set workload.columns (--columns) to \
         {} with the columns that the file has (units of time: ns, 100ns, us, ms, s; of offset and size: bytes, \
         sectors, kib, mib), or workload.format to the format whose columns these are",
        header.shown(),
        header.suggestion()
    )
}

/// Line 1 of a file whose columns a request names.
struct Columns<'a> {
    header: Option<&'a Header<'a>>,
    line: &'a [u8],
}

impl Columns<'_> {
    fn layout(&self, request: &ColumnRequest) -> Result<ColumnLayout, String> {
        let delimiter = self.header.map_or_else(|| Delimiter::of(self.line), |header| header.delimiter);
        let fields = self.header.map_or_else(|| delimiter.fields(self.line).len(), |header| header.names.len());
        let at = |role, reference| self.column(role, reference, fields);
        let time = match &request.time {
            Some((reference, unit)) => {
                let column = at(Role::Time, reference)?;
                Some((column, self.time_unit(column, *unit)?))
            }
            None => None,
        };
        let op = at(Role::Op, &request.op.0)?;
        let words = request.op.1.clone().unwrap_or_else(|| OperationWords::of_name(self.name(op).unwrap_or_default()));
        let (offset, size) = (at(Role::Offset, &request.offset.0)?, at(Role::Size, &request.size.0)?);
        let volume = match &request.volume {
            Some((first, last)) => Some((at(Role::Volume, first)?, at(Role::Volume, last)?)),
            None => None,
        };
        if let Some((first, last)) = volume.filter(|(first, last)| first > last) {
            return Err(format!(
                "workload.columns gives volume={first}-{last}; allowed are neighbours, the first one first"
            ));
        }
        Ok(ColumnLayout {
            delimiter,
            fields,
            time,
            op: (op, words),
            offset: (offset, self.grain(Role::Offset, offset, request.offset.1)?),
            size: (size, self.grain(Role::Size, size, request.size.1)?),
            volume,
            fua: request.fua.as_ref().map(|reference| at(Role::Fua, reference)).transpose()?,
            stream: request.stream.as_ref().map(|reference| at(Role::Stream, reference)).transpose()?,
            names: self
                .header
                .map(|header| header.names.iter().map(|&name| name.to_owned()).collect())
                .unwrap_or_default(),
        })
    }

    fn name(&self, column: usize) -> Option<&str> {
        self.header.and_then(|header| header.names.get(column).copied())
    }

    /// What the column's name tells.
    fn told(&self, column: usize) -> NameMeaning {
        self.header.and_then(|header| header.meanings.get(column).copied()).unwrap_or_default()
    }

    /// The line that holds the names, or the first one.
    fn shown(&self) -> String {
        self.header.map_or_else(|| excerpt(self.line), Header::shown)
    }

    /// The number of a column.
    fn column(&self, role: Role, reference: &ColumnRef, fields: usize) -> Result<usize, String> {
        let given = format!("workload.columns gives {}={reference}", role.name());
        match (reference, self.header) {
            (ColumnRef::Number(number), _) if *number >= fields => {
                Err(format!("{given}, and there are {fields} columns, 0 to {}: {}", fields.max(1) - 1, self.shown()))
            }
            (ColumnRef::Number(number), _) => self.agreed(role, *number, &given),
            (ColumnRef::Name(_), None) => {
                Err(format!("{given}, and line 1 names no columns: {}; allowed are numbers from 0", excerpt(self.line)))
            }
            (ColumnRef::Name(name), Some(header)) => {
                let named = |is_it: &dyn Fn(&str) -> bool| -> Vec<usize> {
                    (0..header.names.len()).filter(|&column| is_it(header.names[column])).collect()
                };
                let exact = named(&|known| known == name);
                let found = if exact.is_empty() { named(&|known| known.eq_ignore_ascii_case(name)) } else { exact };
                match found[..] {
                    [column] => Ok(column),
                    [] => {
                        let near = nearest(name, header.names.iter().copied());
                        let hint = near.map(|near| format!("; nearest: {}={near}", role.name())).unwrap_or_default();
                        Err(format!("{given}, and the header names the columns {}{hint}", header.shown()))
                    }
                    [first, second, ..] => Err(format!(
                        "{given}, and the header gives columns {first} and {second} this name; give its number"
                    )),
                }
            }
        }
    }

    /// A column given by its number, unless the header says that it is something else.
    fn agreed(&self, role: Role, column: usize, given: &str) -> Result<usize, String> {
        let name = self.name(column).unwrap_or_default();
        match self.told(column).role {
            Some(told) if told != role => Err(format!(
                "{given}, and the header calls that column \"{name}\", which means {}; \
                 if it is {} all the same, give it by name: {}={name}",
                told.name(),
                role.name(),
                role.name()
            )),
            Some(_) | None => Ok(column),
        }
    }

    fn time_unit(&self, column: usize, given: Option<TimeUnit>) -> Result<TimeUnit, String> {
        let name = self.name(column).unwrap_or_default();
        match (given, self.told(column).time) {
            (Some(given), Some(told)) if given != told => Err(unit_clash(Role::Time, given.name(), name)),
            (Some(unit), _) | (None, Some(unit)) => Ok(unit),
            (None, None) => Err(format!(
                "workload.columns gives time without a unit; allowed are time={column}:UNIT with {}",
                TimeUnit::NAMES.join(", ")
            )),
        }
    }

    fn grain(&self, role: Role, column: usize, given: Option<u64>) -> Result<u64, String> {
        let name = self.name(column).unwrap_or_default();
        match (given, self.told(column).grain) {
            (Some(given), Some(told)) if given != told => Err(unit_clash(role, &grain_name(given), name)),
            (Some(unit), _) | (None, Some(unit)) => Ok(unit),
            (None, None) if may_count(name) => Err(format!(
                "workload.columns gives {} without a unit, and the header calls the column \"{name}\", which may count \
                 sectors; allowed are {}={column}:UNIT with bytes, sectors, kib, mib or a number of bytes",
                role.name(),
                role.name()
            )),
            (None, None) => Ok(1),
        }
    }
}

/// Whether a column of this name may count sectors or blocks in place of bytes.
fn may_count(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["lba", "lbn", "sect", "blk", "block", "nlb"].iter().any(|part| name.contains(part))
}

fn unit_clash(role: Role, given: &str, name: &str) -> String {
    format!(
        "workload.columns gives {} in {given}, and the header calls the column \"{name}\"; allowed is one unit, or none in \
         workload.columns",
        role.name()
    )
}
