//! A layer in Rust that does what a key says, and panics.

use pumice_plugin::{SpecError, Conduct, 
    ANY, BlockId, Cause, DieId, FlashCommand, FtlError, Lpn, PageAddress, Plan, PluginDevice, PluginLayer, SearchExpectation, TranslationLayer, When,
    choice, export_ftl, float, int, keys,
};

choice! {
    /// Where it goes wrong.
    pub enum Fault {
        /// Nowhere.
        Nowhere = "nowhere",
        /// When asked for its capacity.
        Capacity = "capacity",
        /// When made.
        New = "new",
        /// In a write.
        Write = "write",
        /// In a write, by an error.
        Error = "error",
        /// In a write, planning without end.
        Loop = "loop",
        /// In a write, without planning.
        Hang = "hang",
        /// In a read.
        Read = "read",
        /// When asked where a page is.
        Locate = "locate",
        /// When a page is trimmed.
        Trim = "trim",
        /// In a step.
        Step = "step",
        /// At the end.
        Drop = "drop",
        /// Plans what it may not.
        Pause = "pause",
    }
}

keys! {
    /// `[ftl.faulty]`
    pub struct FaultyKeys in "ftl.faulty" {
        fault: Fault = "\"nowhere\"", ANY, "", "chosen", When::Always, "Where it goes wrong.";
        after: Option<u32> = "", int(0, 1000), "writes", "at once", When::Always, "Writes before that.";
        share: f64 = "0.5", float(0.1, 1.0), "", "chosen", When::Always, "Of the good pages for the host.";
        steps: bool = "false", ANY, "", "chosen", When::Always, "Whether it works when idle.";
    }
}

/// A log that never collects.
pub struct Faulty {
    keys: FaultyKeys,
    pages_per_block: u32,
    bad: Vec<BlockId>,
    next: u32,
    pages: u32,
    writes: u32,
    page_of: Vec<Option<PageAddress>>,
}

impl Faulty {
    fn fails_at(&self, place: Fault) -> bool {
        self.keys.fault == place && self.writes >= self.keys.after.unwrap_or(0)
    }
}

impl PluginLayer for Faulty {
    const NAME: &'static str = "faulty";
    const RETIRES_BLOCKS: bool = true;
    type Keys = FaultyKeys;

    fn capacity(device: &PluginDevice, keys: &FaultyKeys) -> Result<u32, SpecError> {
        assert!(keys.fault != Fault::Capacity, "no capacity\nin two lines");
        Ok((device.good_pages() as f64 * keys.share) as u32)
    }

    fn new(device: &PluginDevice, keys: &FaultyKeys) -> Result<Faulty, SpecError> {
        assert!(keys.fault != Fault::New, "cannot be made");
        Ok(Faulty {
            keys: keys.clone(),
            pages_per_block: device.geometry.pages_per_block.into(),
            bad: device.bad_blocks.clone(),
            next: 0,
            pages: device.geometry.pages() as u32,
            writes: 0,
            page_of: vec![None; Faulty::capacity(device, keys)? as usize],
        })
    }
}

impl TranslationLayer for Faulty {
    fn write(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> Result<(), FtlError> {
        self.writes += 1;
        assert!(!self.fails_at(Fault::Write), "write {} of page {}", self.writes, lpn.0);
        if self.fails_at(Fault::Error) {
            return Err(FtlError::of_plugin("out of patience"));
        }
        while self.bad.contains(&BlockId(self.next / self.pages_per_block)) {
            self.next += self.pages_per_block;
        }
        if self.next >= self.pages {
            return Err(FtlError::NoFreeBlock { plane: 0 });
        }
        let page = PageAddress::new(BlockId(self.next / self.pages_per_block), (self.next % self.pages_per_block) as u16);
        self.next += 1;
        self.page_of[lpn.index()] = Some(page);
        plan.push(FlashCommand::program(Cause::Host, page, lpn, version, 0));
        while self.fails_at(Fault::Loop) {
            plan.push(FlashCommand::read(Cause::Host, page, lpn, version));
        }
        while self.fails_at(Fault::Hang) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        if self.fails_at(Fault::Pause) {
            plan.push(FlashCommand::spare_search(Cause::Gc, page, 1, lpn, SearchExpectation::Scan));
        }
        Ok(())
    }

    fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        assert!(!self.fails_at(Fault::Read), "read");
        let Some(page) = self.page_of[lpn.index()] else { return false };
        plan.push(FlashCommand::read(Cause::Host, page, lpn, version));
        true
    }

    fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        assert!(!self.fails_at(Fault::Locate), "locate");
        self.page_of[lpn.index()]
    }

    fn trim(&mut self, lpn: Lpn) {
        assert!(!self.fails_at(Fault::Trim), "trim");
        self.page_of[lpn.index()] = None;
    }

    fn conduct(&self) -> Conduct {
        Conduct { works_when_idle: self.keys.steps, ..Conduct::default() }
    }

    fn step(&mut self, _die: DieId, _plan: &mut Plan) -> Result<(), FtlError> {
        assert!(!self.fails_at(Fault::Step), "step");
        Ok(())
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        assert!(!self.fails_at(Fault::Drop), "drop");
    }
}

export_ftl!(Faulty);
