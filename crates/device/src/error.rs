//! Errors of a device: why a call was refused.

use pumice_config::SpecError;
use pumice_engine::SimError;
use pumice_types::RequestKind;
use thiserror::Error;

/// The last instant that a call may name, in nanoseconds: 146 years.
pub const LATEST: u64 = 1 << 62;

/// A call that a device refuses. Every text is one line.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The spec is at fault.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// An instant that is past.
    #[error("time {at} ns is past; allowed: from {present} ns, the device's present")]
    Past {
        /// The instant, in nanoseconds.
        at: u64,
        /// The device's present, in nanoseconds.
        present: u64,
    },
    /// An instant that the clock does not reach.
    #[error("time {at} ns is later than 146 years; allowed: up to {LATEST} ns")]
    TooLate {
        /// The instant, in nanoseconds.
        at: u64,
    },
    /// A range that the device does not have, or a length that no request of its kind has.
    #[error(
        "{} of {bytes} bytes at {offset_bytes}; allowed: 1 byte and more inside the {capacity} bytes of the \
         device; 0 bytes of a flush, at 0, and of a command to a zone that is no append",
        .kind.name()
    )]
    Range {
        /// The request's kind.
        kind: RequestKind,
        /// First byte of the request.
        offset_bytes: u64,
        /// Length of the request.
        bytes: u32,
        /// Bytes of the device.
        capacity: u64,
    },
    /// A command to a zone of a device that has none for its host.
    #[error("the device has no zones for its host; ftl.zns.interface = \"zones\" is needed")]
    NoZones,
    /// A flow that the spec does not have.
    #[error("the spec has no workload.flow[{flow}]; allowed: 0 to {}", .flows - 1)]
    Flow {
        /// Number of the flow.
        flow: u8,
        /// Flows that there are, or 1.
        flows: usize,
    },
    /// Bytes come with a request to a device that keeps none.
    #[error("the device keeps no bytes; open it with data")]
    NoData,
    /// More or fewer bytes come with a request than it writes.
    #[error(
        "{} of {bytes} bytes with {found} bytes of data; on a device with data a write and an append come \
         with as many as they write, and other requests with none",
        .kind.name()
    )]
    Data {
        /// The request's kind.
        kind: RequestKind,
        /// Length of the request.
        bytes: u32,
        /// Bytes that came with it.
        found: usize,
    },
    /// A request that begins or ends inside a unit of a device with data.
    #[error("{bytes} bytes at {offset_bytes}; allowed on a device with data: multiples of {unit}")]
    Units {
        /// First byte of the request.
        offset_bytes: u64,
        /// Length of the request.
        bytes: u32,
        /// Bytes of the unit.
        unit: u32,
    },
    /// The device is off.
    #[error("the device has no power; restart it first")]
    NoPower,
    /// The device is on.
    #[error("the device has power; only one that was cut is restarted")]
    HasPower,
    /// The result has been taken, or an error has ended the simulation.
    #[error("the device has ended: its result was taken, or its simulation failed")]
    Ended,
    /// A device that cannot be copied.
    #[error("{0}")]
    Fork(String),
    /// A snapshot that cannot be written or read.
    #[error("{0}")]
    Snapshot(String),
    /// The simulation ended in an error: a rule of the flash, a wrong belief.
    #[error("{0}")]
    Simulation(String),
}

impl From<SimError> for DeviceError {
    fn from(error: SimError) -> DeviceError {
        match error {
            SimError::Spec(error) => DeviceError::Spec(error),
            SimError::Trace(_)
            | SimError::Simulation(_)
            | SimError::WornOut(_)
            | SimError::Output(_)
            | SimError::Interrupted => DeviceError::Simulation(error.to_string()),
        }
    }
}
