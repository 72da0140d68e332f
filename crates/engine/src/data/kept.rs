//! What a device holds at one instant: kept to go back to, and in a file to go on with in the next session.

use pumice_types::{FlashCommand, FlashOp, RequestKind};

use super::failing::FailingDrive;
use super::pages::{PageMedium, PagesInMemory};
use super::volatile::VolatileBytes;
use super::{DataPath, nth_page};
use crate::error::SimError;

/// What a device held at one instant, on flash and in RAM.
pub struct KeptBytes<M> {
    medium: M,
    volatile: VolatileBytes,
    failing: Option<Box<FailingDrive>>,
}

impl<M: PageMedium> DataPath<M> {
    /// What the device holds now. Requests under way are no part of it.
    ///
    /// # Errors
    /// The device is in a file that cannot be copied.
    pub fn keep(&self) -> Result<KeptBytes<M>, SimError> {
        Ok(KeptBytes { medium: self.medium.copied()?, volatile: self.volatile(), failing: self.failing.clone() })
    }

    /// What is in RAM.
    pub fn volatile(&self) -> VolatileBytes {
        VolatileBytes { ram: self.ram.clone(), queued: self.queued.clone(), settled: self.settled.clone() }
    }

    /// What of RAM matters if the power is cut: nothing but the pages that queued commands were about to fill.
    pub fn volatile_but_lost(&self) -> VolatileBytes {
        VolatileBytes { ram: self.split.empty_ram(), queued: self.queued.clone(), settled: Vec::new() }
    }

    /// The commands of earlier sessions have come, and this was in RAM then.
    pub fn go_on_with(&mut self, volatile: VolatileBytes) {
        self.put_back(volatile);
        // Nobody waits any more for reads that were under way.
        for transfer in &mut self.under_way {
            transfer.take_if(|transfer| transfer.request.kind == RequestKind::Read);
        }
        self.is_replay = false;
    }

    /// Goes back to what this device, or another one of its kind, held. Nothing is under way then.
    ///
    /// # Errors
    /// The device is in a file that cannot be written.
    pub fn go_back_to(&mut self, kept: &KeptBytes<M>) -> Result<(), SimError> {
        self.medium.go_back_to(&kept.medium)?;
        self.lose_ram();
        self.finished.clear();
        self.failure = None;
        self.put_back(kept.volatile.clone());
        self.failing.clone_from(&kept.failing);
        Ok(())
    }

    fn put_back(&mut self, volatile: VolatileBytes) {
        let VolatileBytes { ram, queued, settled } = volatile;
        (self.ram, self.queued, self.settled) = (ram, queued, settled);
    }

    /// Notes of a command of an earlier session where the bytes of its pages lie.
    pub(super) fn retrace(&mut self, command: &FlashCommand) {
        match command.op {
            FlashOp::Program | FlashOp::Copy => {
                let filled = (0..self.filled_by(command)).map(|nth| nth_page(command.target, nth));
                filled.for_each(|page| self.medium.retrace_program(page));
            }
            FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => self.erase(command),
            FlashOp::Read | FlashOp::SpareSearch | FlashOp::Pause => {}
        }
    }
}

impl DataPath<PagesInMemory> {
    /// What the device holds now, as bytes. Requests under way are no part of it.
    ///
    /// # Errors
    /// A drive that fails: what it may strike is not written down.
    pub fn written_down(&self) -> Result<Vec<u8>, String> {
        if self.failing.is_some() {
            return Err("a drive that fails (power.failure) cannot be written down".into());
        }
        let written = (&self.medium, self.volatile());
        postcard::to_stdvec(&written).map_err(|error| format!("the bytes cannot be written down: {error}"))
    }

    /// Goes on with what a device of the same kind held.
    ///
    /// # Errors
    /// The bytes are no such thing; nothing has changed then.
    pub fn restore(&mut self, written: &[u8]) -> Result<(), String> {
        let read: Result<(PagesInMemory, VolatileBytes), _> = postcard::from_bytes(written);
        let (medium, volatile) = read.map_err(|error| format!("holds no bytes of a device: {error}"))?;
        if !medium.is_like(&self.medium) {
            return Err("holds the bytes of another device".into());
        }
        self.medium = medium;
        self.put_back(volatile);
        Ok(())
    }
}
