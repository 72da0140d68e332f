//! Finished requests in batches of columns.

use pumice_types::RequestKind;

use crate::observe::RequestRecord;

/// Records of a batch: what a run keeps of its request log in memory at any time.
const BATCH_RECORDS: usize = 1 << 16;

/// Finished requests, one entry each in every column, in the order in which they were done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestBatch {
    /// Arrivals, nanoseconds since the start of the run.
    pub arrival_ns: Vec<u64>,
    /// Completions, on the same clock.
    pub done_ns: Vec<u64>,
    /// First bytes.
    pub offset_bytes: Vec<u64>,
    /// Lengths.
    pub bytes: Vec<u32>,
    /// 0 for a read, 1 for a write, 2 for a trim, 3 for a flush; from 4 on append, open, close, finish and reset of a zone.
    pub kind: Vec<u8>,
}

impl RequestBatch {
    /// An empty batch with room for all that it will hold.
    pub fn new() -> RequestBatch {
        let room = BATCH_RECORDS;
        RequestBatch {
            arrival_ns: Vec::with_capacity(room),
            done_ns: Vec::with_capacity(room),
            offset_bytes: Vec::with_capacity(room),
            bytes: Vec::with_capacity(room),
            kind: Vec::with_capacity(room),
        }
    }

    /// Appends a request; returns whether the batch is full.
    pub fn push(&mut self, record: &RequestRecord) -> bool {
        self.arrival_ns.push(record.arrival.0);
        self.done_ns.push(record.done.0);
        self.offset_bytes.push(record.request.offset_bytes);
        self.bytes.push(record.request.bytes);
        self.kind.push(match record.request.kind {
            RequestKind::Read => 0,
            RequestKind::Write => 1,
            RequestKind::Trim => 2,
            RequestKind::Flush => 3,
            RequestKind::Zone(command) => 4 + command as u8,
        });
        self.kind.len() >= BATCH_RECORDS
    }

    /// Records in the batch.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.arrival_ns.clear();
        self.done_ns.clear();
        self.offset_bytes.clear();
        self.bytes.clear();
        self.kind.clear();
    }
}

impl RequestBatch {
    /// The columns by name, as little-endian bytes.
    pub fn columns(&self) -> [(&'static str, Vec<u8>); 5] {
        let long = |column: &[u64]| column.iter().flat_map(|value| value.to_le_bytes()).collect();
        [
            ("arrival_ns", long(&self.arrival_ns)),
            ("done_ns", long(&self.done_ns)),
            ("offset_bytes", long(&self.offset_bytes)),
            ("bytes", self.bytes.iter().flat_map(|value| value.to_le_bytes()).collect()),
            ("kind", self.kind.clone()),
        ]
    }
}
