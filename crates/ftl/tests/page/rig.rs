//! A small array that refuses what a chip would, and a host with the truth about what it stored.

use std::collections::BTreeSet;

use pumice_ftl::victims::greedy::Greedy;
use pumice_ftl::{
    Allocation, EraseUnits, GcMode, GcPlanes, HotCold, InitialBlock, MapLoads, PageConfig, PageFtl, Plan, Streams,
    TranslationLayer, VictimPolicy, WearLeveling,
};
use pumice_types::{
    BlockId, Cause, DieId, FlashCommand, FlashOp, Geometry, Lpn, PageAddress, PlaneId, RequestKind, TagFormat,
};

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
        units_per_page: 1,
    };
    PageConfig {
        geometry,
        user_pages: (geometry.pages() / 2) as u32,
        stripes: None,
        order: (0..geometry.planes()).map(PlaneId).collect(),
        allocation: Allocation::Dynamic,
        policy: VictimPolicy::from(Greedy),
        units: EraseUnits::whole_blocks(pages_per_block),
        gc_mode: GcMode::Blocking,
        gc_write_tokens: 0,
        gc_planes: GcPlanes::Own,
        gc_start_blocks: 1,
        gc_stop_blocks: 1,
        cached_map: None,
        hot_cold: HotCold::Copies,
        wear_leveling: WearLeveling::NONE,
        log: None,
        trims: None,
        recovers: false,
        blank_blocks: 0,
        reuses_open_blocks: false,
        erases_together: false,
        decider: None,
        seed: 7,
    }
}

/// FTL, array and host.
pub struct Rig {
    pub ftl: PageFtl,
    geometry: Geometry,
    erases_together: bool,
    /// Logical page and version in each physical page; `None` if it is erased.
    array: Vec<Option<(u32, u8)>>,
    /// Next page of each block that may be programmed.
    next: Vec<u16>,
    /// Erases of each block.
    pub erases: Vec<u32>,
    /// Host writes and programs of host pages, copies included.
    pub writes: u64,
    pub programs: u64,
    /// Version of each logical page that is stored.
    pub truth: Vec<Option<u8>>,
    versions: Vec<u8>,
    tags: TagFormat,
    /// The stream that the host names for a page.
    pub stream_of: fn(u32) -> u8,
    pub plan: Plan,
    /// Commands executed: all of them, and those of the map by operation (reads, programs, copies).
    pub commands: u64,
    pub map_commands: [u64; 3],
}

impl Rig {
    /// A device with a share of its logical pages stored.
    pub fn new(config: PageConfig, fill: f64) -> Rig {
        let geometry = config.geometry;
        let user = config.user_pages as usize;
        let tags = TagFormat::new(config.user_pages + config.translation_pages());
        let mut rig = Rig {
            erases_together: config.erases_together,
            ftl: PageFtl::new(config, &[]),
            geometry,
            array: vec![None; geometry.pages() as usize],
            next: vec![0; geometry.blocks() as usize],
            erases: vec![0; geometry.blocks() as usize],
            writes: 0,
            programs: 0,
            truth: vec![None; user],
            versions: vec![0; user],
            tags,
            stream_of: |lpn| (lpn % 5) as u8,
            plan: Plan::default(),
            commands: 0,
            map_commands: [0; 3],
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
        self.load_map(lpn, RequestKind::Write);
        self.writes += 1;
        let version = self.tags.next(self.versions[lpn as usize]);
        self.versions[lpn as usize] = version;
        self.truth[lpn as usize] = Some(version);
        self.plan.clear();
        let stream = (self.stream_of)(lpn);
        self.ftl.write_to_stream(Lpn(lpn), version, stream, &mut self.plan).expect("there is room");
        self.execute();
    }

    /// Reads a page; the FTL must find what the host stored, and nothing else.
    pub fn read(&mut self, lpn: u32) {
        self.load_map(lpn, RequestKind::Read);
        self.plan.clear();
        let expected = self.truth[lpn as usize];
        let found = self.ftl.read(Lpn(lpn), expected.unwrap_or_default(), &mut self.plan);
        assert_eq!(found, expected.is_some(), "logical page {lpn}");
        self.execute();
    }

    /// Gives a page up.
    pub fn trim(&mut self, lpn: u32) {
        self.load_map(lpn, RequestKind::Trim);
        self.ftl.trim(Lpn(lpn));
        self.truth[lpn as usize] = None;
    }

    /// Has the map entry of a page brought into RAM.
    fn load_map(&mut self, lpn: u32, kind: RequestKind) {
        self.plan.clear();
        self.ftl.load_map(Lpn(lpn), kind, &mut self.plan).expect("there is room");
        if let Some(completing) = self.plan.completes() {
            assert_eq!(completing, self.plan.commands.len() - 1, "the host waits for the last command");
            assert_eq!(self.plan.commands[completing].op, FlashOp::Read);
        }
        for command in &self.plan.commands {
            assert!(command.cause == Cause::Map || command.op == FlashOp::Erase);
            match command.op {
                FlashOp::Read => self.map_commands[0] += 1,
                FlashOp::Program => self.map_commands[1] += 1,
                FlashOp::Copy => self.map_commands[2] += 1,
                _ => {}
            }
        }
        self.execute();
    }

    /// One step of the controller's own; returns whether there was one.
    pub fn step(&mut self, die: u32) -> bool {
        self.plan.clear();
        self.ftl.step(DieId(die), &mut self.plan).expect("there is room");
        let commands = &self.plan.commands;
        let planes: BTreeSet<_> = commands.iter().map(|command| self.geometry.plane_of(command.target.block)).collect();
        let at_once = commands.iter().all(|command| command.op == FlashOp::Erase) && planes.len() == commands.len();
        assert!(commands.len() <= 1 || (self.erases_together && at_once), "one command, or erases of several planes");
        let did_one = !commands.is_empty();
        self.execute();
        did_one
    }

    /// Pages programmed for each page written since `before`, an earlier pair of writes and programs.
    pub fn write_amplification(&self, before: (u64, u64)) -> f64 {
        (self.programs - before.1) as f64 / (self.writes - before.0) as f64
    }

    /// Blocks of the device.
    pub fn blocks(&self) -> u32 {
        self.geometry.blocks()
    }

    /// Logical pages in a block, valid or not.
    pub fn stored_in(&self, block: BlockId) -> impl Iterator<Item = u32> {
        let (first, pages) = (self.at(PageAddress::new(block, 0)), usize::from(self.geometry.pages_per_block));
        self.array[first..first + pages].iter().flatten().map(|&(lpn, _)| lpn)
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
                self.erases[command.target.block.index()] += 1;
            }
            op => panic!("a page-level FTL has no use for {op:?}"),
        }
    }

    fn program(&mut self, command: &FlashCommand, version: u8) {
        let (at, page) = (self.at(command.target), command.target);
        assert_eq!(page.page, self.next[page.block.index()], "pages of a block are programmed in order");
        self.next[page.block.index()] += 1;
        self.programs += u64::from(command.cause != Cause::Map);
        assert_eq!(self.array[at].replace((command.lpn.0, version)), None, "erased before");
    }
}
