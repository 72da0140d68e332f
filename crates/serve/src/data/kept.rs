//! What a device holds at one instant: kept to go back to, and in a file to go on with in the next session.

use pumice_types::{FlashCommand, FlashOp, RequestKind};

use super::{DataPath, nth_page};
use crate::data::failing::FailingDrive;
use crate::data::pages::PhysicalPages;
use crate::data::volatile::VolatileBytes;

/// What a device held at one instant, on flash and in RAM.
pub struct KeptBytes {
    pages: Option<PhysicalPages>,
    volatile: VolatileBytes,
    failing: Option<Box<FailingDrive>>,
}

impl DataPath {
    /// What the device holds now. Requests under way are no part of it.
    ///
    /// # Errors
    /// The device is in a file that cannot be copied.
    pub fn keep(&self) -> Result<KeptBytes, String> {
        let pages = self.pages.as_ref().map(|(pages, _)| pages.copied()).transpose()?;
        Ok(KeptBytes { pages, volatile: self.volatile(), failing: self.failing.clone() })
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

    /// The pages were committed in an earlier session.
    pub fn retrace_commit(&mut self) {
        self.pages.iter_mut().for_each(|(pages, _)| pages.retrace_commit());
    }

    /// The pages are committed. `is_end`: what nobody needs any more is given up now.
    ///
    /// # Errors
    /// The file's.
    pub fn commit(&mut self, is_end: bool) -> Result<(), String> {
        self.pages.iter_mut().try_for_each(|(pages, _)| pages.commit(is_end))
    }

    /// Goes back to what this device, or another one of its kind, held. Nothing is under way then.
    ///
    /// # Errors
    /// The device is in a file that cannot be written.
    pub fn go_back_to(&mut self, kept: &KeptBytes) -> Result<(), String> {
        if let (Some((pages, _)), Some(kept)) = (&mut self.pages, &kept.pages) {
            pages.go_back_to(kept)?;
        }
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
                let Some((pages, _)) = &mut self.pages else { return };
                filled.for_each(|page| pages.retrace_program(page));
            }
            FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => self.erase(command),
            FlashOp::Read | FlashOp::SpareSearch | FlashOp::Pause => {}
        }
    }
}
