//! What a device in another program refuses.

use pumice_config::{Config, PowerFailure, SpecError};
use pumice_types::{HostRequest, RequestKind, ZoneCommand};

use super::{Device, Power};
use crate::error::{DeviceError, LATEST};

impl Device {
    pub(super) fn check_is_on(&self) -> Result<(), DeviceError> {
        match self.power {
            Power::On => Ok(()),
            Power::Off(_) => Err(DeviceError::NoPower),
            Power::Ended => Err(DeviceError::Ended),
        }
    }

    pub(super) fn check_not_past(&self, at: u64) -> Result<(), DeviceError> {
        check_instant(at, self.now())
    }

    #[inline]
    pub(super) fn check_range(&self, request: &HostRequest) -> Result<(), DeviceError> {
        let HostRequest { kind, offset_bytes, bytes, .. } = *request;
        let is_legal = match kind {
            RequestKind::Flush => offset_bytes == 0 && bytes == 0,
            RequestKind::Zone(_) if !self.config.ftl.has_host_zones() => return Err(DeviceError::NoZones),
            RequestKind::Zone(command) => {
                (bytes > 0) == (command == ZoneCommand::Append) && offset_bytes < self.capacity
            }
            RequestKind::Read | RequestKind::Write | RequestKind::Trim => {
                bytes > 0 && offset_bytes.checked_add(u64::from(bytes)).is_some_and(|end| end <= self.capacity)
            }
        };
        if is_legal {
            return Ok(());
        }
        Err(DeviceError::Range { kind, offset_bytes, bytes, capacity: self.capacity })
    }

    pub(super) fn check_flow(&self, flow: u8) -> Result<(), DeviceError> {
        let flows = self.config.flows.len().max(1);
        if usize::from(flow) < flows { Ok(()) } else { Err(DeviceError::Flow { flow, flows }) }
    }
}

/// Refuses an instant that is past at a device's present, or too late for its clock.
pub fn check_instant(at: u64, present: u64) -> Result<(), DeviceError> {
    match at {
        _ if at < present => Err(DeviceError::Past { at, present }),
        _ if at > LATEST => Err(DeviceError::TooLate { at }),
        _ => Ok(()),
    }
}

/// Refuses a spec that asks for what a device in another program has not.
pub fn refuse_what_needs_a_run(config: &Config) -> Result<(), SpecError> {
    let refuse = |text: &str| Err(SpecError(text.into()));
    if !config.run.timed {
        return refuse("run.timed = false: a device in another program lives in that program's time; allowed: true");
    }
    if config.run.until.is_some() {
        return refuse("run.until: a device in another program ends when that program ends; leave it out");
    }
    if config.power.cuts > 0 {
        return refuse(
            "power.cuts: they are drawn over the length of a workload, and this device knows none; allowed: 0, \
             or power.cut_at_s, power.cut_at_command, or the call that cuts the power",
        );
    }
    Ok(())
}

/// Refuses drives that fail, for a device that keeps no bytes.
pub fn refuse_failures(config: &Config) -> Result<(), SpecError> {
    if config.power.failure == PowerFailure::None {
        return Ok(());
    }
    let text = "power.failure: such failures strike bytes, which this device does not keep; allowed: \"none\", or a device \
                opened with data";
    Err(SpecError(text.into()))
}
