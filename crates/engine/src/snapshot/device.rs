//! An aged device as bytes: all state that ageing has changed, and nothing that a run counts from its first request.

use pumice_config::Config;
use pumice_ftl::Ftl;
use pumice_nand::CheckedArray;
use pumice_types::Time;
use serde::{Deserialize, Serialize};

use crate::build::guards_copies;
use crate::chip::erase::{Eraser, WornBlocks};
use crate::controller::Controller;
use crate::controller::buffer::WriteBuffer;
use crate::host::Host;
use crate::host::oracle::Oracle;
use crate::observe::ObserverSlot;
use crate::ssd::Ssd;

/// A device, its parts borrowed to be written and owned when they are read.
#[derive(Serialize, Deserialize)]
struct KeptDevice<F, C, W, O, B> {
    ftl: F,
    checked: C,
    worn: Option<W>,
    oracle: O,
    buffer: B,
    next_number: Option<u64>,
    commands: u64,
}

type DeviceRead = KeptDevice<Ftl, CheckedArray, WornBlocks, Oracle, Option<WriteBuffer>>;

impl<O: ObserverSlot> Ssd<O> {
    /// The device as bytes, right after ageing.
    ///
    /// # Errors
    /// The translation layer cannot be written down.
    pub fn written_down(&self) -> Result<Vec<u8>, String> {
        write_down(&self.host, &self.controller)
    }

    /// Goes on with a device that was written down, in place of one that was just built from keys with the same
    /// [`AgedIdentity`](pumice_config::aged::AgedIdentity).
    ///
    /// # Errors
    /// The bytes are no device; this one is as before then.
    pub fn restore(&mut self, config: &Config, device: &[u8]) -> Result<(), String> {
        let commands = restore((&mut self.host, &mut self.controller), config, device)?;
        self.restart_measuring(Time::ZERO);
        self.controller.uncounted_commands = commands;
        Ok(())
    }
}

// What follows knows no observer, so that the layers' state is compiled to bytes and back once.

fn write_down(host: &Host, controller: &Controller) -> Result<Vec<u8>, String> {
    let chips = &controller.scheduler.chips;
    let written = KeptDevice {
        ftl: &controller.ftl,
        checked: &chips.checked,
        worn: chips.eraser.as_ref().map(Eraser::worn_blocks),
        oracle: &host.oracle,
        buffer: &controller.buffer,
        next_number: controller.next_number,
        commands: controller.uncounted_commands,
    };
    postcard::to_stdvec(&written).map_err(|error| format!("the device cannot be written down: {error}"))
}

/// Returns the commands that the device had carried out.
fn restore((host, controller): (&mut Host, &mut Controller), config: &Config, device: &[u8]) -> Result<u64, String> {
    let (read, rest): (DeviceRead, &[u8]) =
        postcard::take_from_bytes(device).map_err(|error| format!("holds no device: {error}"))?;
    let chips = &mut controller.scheduler.chips;
    if !rest.is_empty() || read.worn.is_some() != chips.eraser.is_some() {
        return Err("holds no device of this kind".into());
    }
    chips.checked = read.checked;
    if guards_copies(config) {
        chips.checked.guard_copies();
    }
    if let (Some(eraser), Some(worn)) = (&mut chips.eraser, read.worn) {
        eraser.restore(worn);
    }
    controller.ftl = read.ftl;
    controller.buffer = read.buffer;
    controller.next_number = read.next_number;
    host.oracle = read.oracle;
    Ok(read.commands)
}
