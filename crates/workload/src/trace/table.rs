//! Which column of a table in memory is what: a program's table, or one out of a Parquet or Arrow file.

use serde::Serialize;

use crate::source::error::TraceError;
use crate::trace::columns::header::TableColumn;
use crate::trace::columns::layout::ColumnLayout;
use crate::trace::columns::units::TRUTHS;
use crate::trace::options::TraceOptions;
use crate::trace::sniff;

/// A column and its unit: nanoseconds times ten to the power of it for times, bytes for addresses and lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UnitColumn {
    /// Number of the column, from 0.
    pub column: usize,
    /// Nanoseconds, or bytes.
    pub unit: u64,
}

/// Which column of a table is what, and in which unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableLayout {
    /// Arrivals; `None` if all requests arrive at once.
    pub time: Option<UnitColumn>,
    /// Number of the column of operations.
    pub op: usize,
    /// Words of the operations in lower case, each with the word that the engine's own text has for it.
    pub words: Vec<(String, &'static str)>,
    /// First bytes.
    pub offset: UnitColumn,
    /// Lengths.
    pub size: UnitColumn,
    /// First and last of the columns that name the volume together.
    pub volume: Option<(usize, usize)>,
    /// Number of the column that says which writes have force unit access, beside what the operation's words say.
    pub fua: Option<usize>,
    /// Number of the column that says the stream of a write.
    pub stream: Option<usize>,
    /// Words of that column in lower case, each with what it says.
    pub truths: Vec<(&'static str, bool)>,
    /// The layout as `workload.columns` would give it.
    pub text: String,
}

impl TableLayout {
    /// The layout of a table with these columns: by the options' columns or format, otherwise by the columns' names.
    ///
    /// # Errors
    /// What the names lack or contradict, and what is allowed.
    pub fn of(columns: &[TableColumn], options: &TraceOptions) -> Result<TableLayout, TraceError> {
        let layout = sniff::of_table(columns, options).map_err(TraceError::option)?;
        Ok(TableLayout::from(&layout))
    }
}

impl From<&ColumnLayout> for TableLayout {
    fn from(layout: &ColumnLayout) -> TableLayout {
        let unit_column = |(column, unit): (usize, u64)| UnitColumn { column, unit };
        let words = layout.op.1.iter();
        TableLayout {
            time: layout.time.map(|(column, unit)| UnitColumn { column, unit: unit.ns() }),
            op: layout.op.0,
            words: words.map(|(word, operation)| (word.to_ascii_lowercase(), operation.own_word())).collect(),
            offset: unit_column(layout.offset),
            size: unit_column(layout.size),
            volume: layout.volume,
            fua: layout.fua,
            stream: layout.stream,
            truths: TRUTHS.to_vec(),
            text: layout.text(),
        }
    }
}
