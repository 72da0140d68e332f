//! Where the volumes of a trace lie in the address space that the device sees.

use std::path::Path;

use crate::source::error::{TraceError, TraceErrorKind};
use crate::source::placement::{AddressPolicy, COMPACT_REGION_BYTES, Misfit};
use crate::trace::options::TraceOptions;
use crate::trace::record::TraceRecord;
use crate::trace::records::RecordReader;
use crate::trace::volumes::Volumes;

/// Where the volumes lie.
#[derive(Debug)]
pub(super) enum VolumeLayout {
    /// All on the same addresses.
    Shared,
    /// Each in regions of its own, mixed with the others'.
    Regions,
    /// One after the other; holds the first byte of each.
    Bases(Vec<u64>),
}

impl VolumeLayout {
    /// The layout that the options ask for. [`Volumes::Separate`] reads the file once beforehand unless addresses are
    /// compacted: how long the volumes are must be known before the second can be placed.
    pub fn of(path: &Path, options: &TraceOptions, policy: AddressPolicy) -> Result<VolumeLayout, TraceError> {
        match (&options.volumes, policy) {
            (Volumes::Overlay | Volumes::One(_), _) => Ok(VolumeLayout::Shared),
            (Volumes::Separate, AddressPolicy::Compact) => Ok(VolumeLayout::Regions),
            (Volumes::Separate, AddressPolicy::Exact | AddressPolicy::Wrap) => {
                bases(path, &ends(path, options)?).map(VolumeLayout::Bases)
            }
        }
    }

    /// First byte of a record where its volume's addresses begin.
    #[inline]
    pub fn start(&self, record: &TraceRecord) -> Result<u64, Misfit> {
        let VolumeLayout::Bases(bases) = self else { return Ok(record.offset) };
        let base = bases.get(usize::from(record.volume)).ok_or(Misfit::Changed)?;
        let start = base.checked_add(record.offset).ok_or(Misfit::Changed)?;
        start.checked_add(u64::from(record.bytes)).map(|_| start).ok_or(Misfit::Changed)
    }
}

/// The byte behind the last one of each volume, in the order of first appearance.
fn ends(path: &Path, options: &TraceOptions) -> Result<Vec<u64>, TraceError> {
    let mut records = RecordReader::open(path, options, false)?;
    if !records.is_regular() {
        let message = "is a pipe, and volumes laid out one behind the other need a second reading; set \
                       workload.address = \"compact\", set workload.volumes = \"overlay\", or use a file";
        return Err(TraceError::in_file(TraceErrorKind::File, path, message));
    }
    let mut ends: Vec<u64> = Vec::new();
    while let Some(record) = records.next()? {
        let volume = usize::from(record.volume);
        if volume >= ends.len() {
            ends.resize(volume + 1, 0);
        }
        ends[volume] = ends[volume].max(record.offset + u64::from(record.bytes));
    }
    Ok(ends)
}

/// First byte of each volume when each begins at the next whole MiB after the last byte of the one that appears
/// before it.
fn bases(path: &Path, ends: &[u64]) -> Result<Vec<u64>, TraceError> {
    let mut next = 0u64;
    let begin = |end: &u64| {
        let base = next;
        let length = end.checked_next_multiple_of(COMPACT_REGION_BYTES);
        next = length.and_then(|length| base.checked_add(length)).ok_or_else(|| {
            let message = "the volumes are longer than 2^64 bytes together; set workload.address = \"compact\"";
            TraceError::in_file(TraceErrorKind::Capacity, path, message)
        })?;
        Ok(base)
    };
    ends.iter().map(begin).collect()
}
