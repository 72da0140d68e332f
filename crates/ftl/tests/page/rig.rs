//! A small array that refuses what a chip would, and a host with the truth about what it stored.

use pumice_ftl::{Allocation, EraseUnits, GcMode, InitialBlock, PageConfig, PageFtl, Plan, VictimPolicy};
use pumice_types::{DieId, FlashCommand, FlashOp, Geometry, Lpn, PageAddress, PlaneId};

/// Settings of a small device: greedy, blocking, a start threshold of one block, no fill.
pub fn config(planes_per_die: u32, blocks_per_plane: u32, pages_per_block: u16) -> PageConfig {
    let geometry = Geometry {
        channels: 2,
        chips_per_channel: 1,
        dies_per_chip: 1,
        planes_per_die,
        blocks_per_plane,
        pages_per_block,
        page_bytes: 4096,
        spare_bytes: 64,
    };
    PageConfig {
        geometry,
        user_pages: (geometry.pages() / 2) as u32,
        order: (0..geometry.planes()).map(PlaneId).collect(),
        allocation: Allocation::Dynamic,
        policy: VictimPolicy::Greedy,
        units: EraseUnits::whole_blocks(pages_per_block),
        gc_mode: GcMode::Blocking,
        gc_start_blocks: 1,
        gc_stop_blocks: 1,
        seed: 7,
    }
}

/// FTL, array and host.
pub struct Rig {
    pub ftl: PageFtl,
    geometry: Geometry,
    /// Logical page and version in each physical page; `None` if it is erased.
    array: Vec<Option<(u32, u8)>>,
    /// Next page of each block that may be programmed.
    next: Vec<u16>,
    /// Version of each logical page that is stored.
    pub truth: Vec<Option<u8>>,
    versions: Vec<u8>,
    pub plan: Plan,
    /// Commands executed.
    pub commands: u64,
}

impl Rig {
    /// A device with a share of its logical pages stored.
    pub fn new(config: PageConfig, fill: f64) -> Rig {
        let geometry = config.geometry;
        let user = config.user_pages as usize;
        let mut rig = Rig {
            ftl: PageFtl::new(config, &[]),
            geometry,
            array: vec![None; geometry.pages() as usize],
            next: vec![0; geometry.blocks() as usize],
            truth: vec![None; user],
            versions: vec![0; user],
            plan: Plan::default(),
            commands: 0,
        };
        let mut blocks = Vec::new();
        let filled = rig.ftl.fill(fill, |block| blocks.push(block)).expect("it fits");
        blocks.iter().for_each(|block| rig.fill_block(block));
        rig.truth[..filled as usize].fill(Some(0));
        rig
    }

    fn fill_block(&mut self, filled: &InitialBlock) {
        for page in 0..filled.pages {
            let at = self.at(PageAddress::new(filled.block, page));
            self.array[at] = Some((filled.first.0 + u32::from(page) * filled.stride, 0));
        }
        self.next[filled.block.index()] = filled.pages;
    }

    fn at(&self, page: PageAddress) -> usize {
        page.block.index() * usize::from(self.geometry.pages_per_block) + usize::from(page.page)
    }

    /// Writes a page, executing what the FTL appends.
    pub fn write(&mut self, lpn: u32) {
        let version = self.versions[lpn as usize] % 255 + 1;
        self.versions[lpn as usize] = version;
        self.truth[lpn as usize] = Some(version);
        self.plan.clear();
        self.ftl.write(Lpn(lpn), version, &mut self.plan).expect("there is room");
        self.execute();
    }

    /// Reads a page; the FTL must find what the host stored, and nothing else.
    pub fn read(&mut self, lpn: u32) {
        self.plan.clear();
        let expected = self.truth[lpn as usize];
        let found = self.ftl.read(Lpn(lpn), expected.unwrap_or_default(), &mut self.plan);
        assert_eq!(found, expected.is_some(), "logical page {lpn}");
        self.execute();
    }

    /// Gives a page up.
    pub fn trim(&mut self, lpn: u32) {
        self.ftl.trim(Lpn(lpn));
        self.truth[lpn as usize] = None;
    }

    /// One step of the controller's own; returns whether there was one.
    pub fn step(&mut self, die: u32) -> bool {
        let wanted = self.ftl.wants_step(DieId(die));
        self.plan.clear();
        self.ftl.internal_step(DieId(die), &mut self.plan).expect("there is room");
        assert_eq!(wanted, self.plan.commands.len() == 1, "a step is one command, and comes when it is wanted");
        self.execute();
        wanted
    }

    /// Reads everything back and recounts.
    pub fn check(&mut self) {
        (0..self.truth.len() as u32).for_each(|lpn| self.read(lpn));
        assert_eq!(self.ftl.audit(), Ok(()));
    }

    fn execute(&mut self) {
        let commands = std::mem::take(&mut self.plan.commands);
        commands.iter().for_each(|command| self.run(command));
        self.commands += commands.len() as u64;
        self.plan.commands = commands;
    }

    fn run(&mut self, command: &FlashCommand) {
        let target = self.at(command.target);
        match command.op {
            FlashOp::Read => assert_eq!(self.array[target], Some((command.lpn.0, command.version))),
            FlashOp::Program => self.program(command, command.version),
            FlashOp::Copy => {
                let plane = |page: PageAddress| self.geometry.plane_of(page.block);
                assert_eq!(plane(command.source), plane(command.target), "copies stay in their plane");
                let (lpn, version) = self.array[self.at(command.source)].expect("a programmed page");
                assert_eq!(lpn, command.lpn.0);
                self.program(command, version);
            }
            FlashOp::Erase => {
                self.array[target..target + usize::from(self.geometry.pages_per_block)].fill(None);
                self.next[command.target.block.index()] = 0;
            }
            op => panic!("a page-level FTL has no use for {op:?}"),
        }
    }

    fn program(&mut self, command: &FlashCommand, version: u8) {
        let (at, page) = (self.at(command.target), command.target);
        assert_eq!(page.page, self.next[page.block.index()], "pages of a block are programmed in order");
        self.next[page.block.index()] += 1;
        assert_eq!(self.array[at].replace((command.lpn.0, version)), None, "erased before");
    }
}
