//! What a client may ask of the device, and the host requests that it becomes.

use std::collections::VecDeque;

use pumice_types::{HostRequest, RequestKind, Time};

/// What a client asks for. Offsets and lengths are in bytes, whole sectors inside the device, and not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientOperation {
    /// Return data.
    Read(Place),
    /// Store data.
    Write {
        /// The bytes that it touches.
        place: Place,
        /// As many bytes as the place has.
        data: Vec<u8>,
        /// The write outlasts a power cut once it is done.
        fua: bool,
    },
    /// Make what was acknowledged outlast a power cut.
    Flush,
    /// Give data up.
    Trim {
        /// The bytes that it touches.
        place: Place,
        /// The trim outlasts a power cut once it is done.
        fua: bool,
    },
    /// Let a part read as zeroes.
    WriteZeroes {
        /// The bytes that it touches.
        place: Place,
        /// Zeroes are written; nothing is given up.
        stored: bool,
        /// The zeroes outlast a power cut once they are done.
        fua: bool,
    },
    /// Tell which parts hold data.
    Status {
        /// The bytes that it touches.
        place: Place,
        /// The first part is enough.
        one: bool,
    },
}

/// A part of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
}

impl Place {
    /// The place in parts that are written at once.
    pub fn parts(self) -> impl DoubleEndedIterator<Item = Place> {
        let (first, end) = (self.offset / WRITTEN_MAX, self.offset + u64::from(self.bytes));
        (first..end.div_ceil(WRITTEN_MAX)).map(move |part| {
            let offset = self.offset.max(part * WRITTEN_MAX);
            Place { offset, bytes: (end.min((part + 1) * WRITTEN_MAX) - offset) as u32 }
        })
    }
}

/// Longest write that the device makes of its own, in bytes. None crosses a multiple of it, so that pages stay whole.
const WRITTEN_MAX: u64 = 1 << 20;

/// One step of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationStep {
    /// A host request, with the data that it writes.
    Request(HostRequest, Vec<u8>),
    /// Zeroes are written.
    StoreZeroes(Place),
    /// What a trim has left in a part is written over with zeroes.
    ZeroTheRest(Place),
}

/// A host request; the device sets its arrival.
pub fn request(kind: RequestKind, place: Place, fua: bool) -> HostRequest {
    HostRequest { arrival: Time::ZERO, offset_bytes: place.offset, bytes: place.bytes, kind, fua, stream: 0, flow: 0 }
}

impl ClientOperation {
    /// Whether what the device holds must last once it is done: it is a flush, or has force unit access.
    pub fn lasts(&self) -> bool {
        match *self {
            ClientOperation::Flush => true,
            ClientOperation::Write { fua, .. }
            | ClientOperation::Trim { fua, .. }
            | ClientOperation::WriteZeroes { fua, .. } => fua,
            ClientOperation::Read(_) | ClientOperation::Status { .. } => false,
        }
    }

    /// The first byte behind what it is about; 0 if it is about no place.
    pub fn end(&self) -> u64 {
        match self {
            ClientOperation::Read(place)
            | ClientOperation::Write { place, .. }
            | ClientOperation::Trim { place, .. }
            | ClientOperation::WriteZeroes { place, .. }
            | ClientOperation::Status { place, .. } => place.offset + u64::from(place.bytes),
            ClientOperation::Flush => 0,
        }
    }

    /// The steps of the operation, one after the other. None of a status: it asks for no request.
    pub fn steps(self) -> VecDeque<OperationStep> {
        let bare = |kind, place| OperationStep::Request(request(kind, place, false), Vec::new());
        let flush = OperationStep::Request(HostRequest::flush(Time::ZERO), Vec::new());
        let lasting = |mut steps: VecDeque<OperationStep>, fua: bool| {
            steps.extend(fua.then(|| flush.clone()));
            steps
        };
        match self {
            ClientOperation::Read(place) => [bare(RequestKind::Read, place)].into(),
            ClientOperation::Write { place, data, fua } => {
                [OperationStep::Request(request(RequestKind::Write, place, fua), data)].into()
            }
            ClientOperation::Flush => [flush].into(),
            ClientOperation::Trim { place, fua } => lasting([bare(RequestKind::Trim, place)].into(), fua),
            ClientOperation::WriteZeroes { place, stored: false, fua } => {
                lasting([bare(RequestKind::Trim, place), OperationStep::ZeroTheRest(place)].into(), fua)
            }
            ClientOperation::WriteZeroes { place, stored: true, fua } => {
                lasting(place.parts().map(OperationStep::StoreZeroes).collect(), fua)
            }
            ClientOperation::Status { .. } => VecDeque::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s060_parts_of_a_place_make_the_place_and_cross_no_boundary() {
        let parts = |offset, bytes| -> Vec<(u64, u32)> {
            Place { offset, bytes }.parts().map(|part| (part.offset, part.bytes)).collect()
        };
        const MIB: u32 = 1 << 20;
        assert_eq!(parts(512, 512), [(512, 512)]);
        assert_eq!(parts(0, 2 * MIB), [(0, MIB), (MIB.into(), MIB)]);
        assert_eq!(parts(u64::from(MIB) - 512, 1024), [(u64::from(MIB) - 512, 512), (MIB.into(), 512)]);
        let whole = parts(512, u32::MAX - 511);
        assert_eq!(whole.len(), 4096);
        assert_eq!(whole.iter().map(|&(_, bytes)| u64::from(bytes)).sum::<u64>(), u64::from(u32::MAX - 511));
    }
}
