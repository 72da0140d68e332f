//! The device of a spec: its geometry at a scale, its timing, its array filled to the initial
//! state, its FTL, and the execution of a command with every check and count.

use pumice_ftl::merge::m_merge::{MMergeSettings, MergeCosts};
use pumice_ftl::{
    Ftl, InitialBlock, InitialFill, MergePolicy, Nftl, NftlConfig, OPEN_BLOCKS, PageConfig, PageFtl, UIndex,
    VictimPolicy,
};
use pumice_nand::{ArrayConfig, NandArray, Outcome};
use pumice_types::partial_block::MAX_SPLITS;
use pumice_types::{
    BlockId, Cause, FlashCommand, FlashOp, FlashTiming, Geometry, Lpn, PbTree, PlaneId, ProgramOrder, TagFormat, Time,
    timing,
};
use pumice_workload::Stream;

use crate::error::SimError;
use crate::ledger::Ledger;
use crate::spec::{Spec, SpecError};

/// Scale below which twins are known to drift.
pub const FAITHFUL_SCALE_MIN: f64 = 1.0 / 16.0;

/// Whole units in a share of `units`. The allowance takes up what decimal shares lose in binary:
/// 0.29 of 100 is 29.
fn whole_share(units: u64, share: f64) -> u32 {
    (units as f64 * share + 1e-6) as u32
}

/// Logical blocks that the host may address in each plane.
pub fn logical_blocks_per_plane(spec: &Spec) -> u32 {
    whole_share(u64::from(spec.geometry.blocks_per_plane), 1.0 - spec.ftl.over_provisioning)
}

/// The spec's geometry, shrunk by `scale`: dies, then chips, then channels are halved.
///
/// # Errors
/// A scale that halving cannot reach, with the nearest one that it can.
pub fn scaled_geometry(spec: &Spec, scale: f64) -> Result<Geometry, SpecError> {
    let g = &spec.geometry;
    let mut geometry = Geometry {
        channels: g.channels,
        chips_per_channel: g.chips_per_channel,
        dies_per_chip: g.dies_per_chip,
        planes_per_die: g.planes_per_die,
        blocks_per_plane: g.blocks_per_plane,
        pages_per_block: g.pages_per_block,
        page_bytes: g.page_bytes,
        spare_bytes: g.spare_bytes,
    };
    let mut legal = vec![1.0];
    let mut reached = 1.0;
    while (reached - scale).abs() > 1e-9 {
        let next = [&mut geometry.dies_per_chip, &mut geometry.chips_per_channel, &mut geometry.channels];
        let Some(factor) = next.into_iter().find(|factor| **factor % 2 == 0) else {
            let distance = |x: &f64| (x - scale).abs();
            let nearest = legal.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(1.0);
            return Err(SpecError(format!(
                "scale {scale} does not give a whole device by halving dies, then chips, then channels; nearest legal scale: {nearest}"
            )));
        };
        *factor /= 2;
        reached /= 2.0;
        legal.push(reached);
    }
    Ok(geometry)
}

/// The partial blocks of the spec's chips; the whole block alone if there are none.
pub fn tree(spec: &Spec) -> Result<PbTree, SpecError> {
    let splits = if spec.partial_erase.unit == "none" { 0 } else { spec.partial_erase.max_splits };
    PbTree::new(spec.geometry.pages_per_block, splits)
        .ok_or_else(|| SpecError(format!("partial_erase.max_splits = {splits} does not divide the block")))
}

/// The spec's timing table.
pub fn flash_timing(spec: &Spec, tree: PbTree) -> FlashTiming {
    let t = &spec.timing;
    let bytes = spec.geometry.page_bytes + spec.geometry.spare_bytes;
    FlashTiming {
        t_r: Time::from_us(t.t_r_us),
        t_prog: Time::from_us(t.t_prog_us),
        t_bers: Time::from_us(t.t_bers_us),
        partial_erase: timing::partial_erase_table(tree, t.t_bers_us, spec.partial_erase.t_us.as_deref()),
        page_transfer: FlashTiming::transfer(bytes, t.channel_mb_per_s),
        spare_transfer: FlashTiming::transfer(spec.geometry.spare_bytes, t.channel_mb_per_s),
        command_overhead: Time::from_us(t.command_overhead_us),
        copyback: t.copyback,
    }
}

/// Flash commands emitted since the last reset, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Page reads for the host.
    pub host_reads: u64,
    /// Page programs for the host.
    pub host_programs: u64,
    /// Pages copied by garbage collection: a read and a program each.
    pub copies: u64,
    /// Spare searches for the host.
    pub host_searches: u64,
    /// Spare searches for garbage collection.
    pub gc_searches: u64,
    /// Spare areas read in searches for the host.
    pub host_spare_pages: u64,
    /// Spare areas read in searches for garbage collection.
    pub gc_spare_pages: u64,
    /// Whole-block erases.
    pub block_erases: u64,
    /// Partial erases by level.
    pub partial_erases: [u64; MAX_SPLITS as usize + 1],
}

impl Tally {
    /// Partial erases of all levels.
    pub fn partial_erases_total(&self) -> u64 {
        self.partial_erases.iter().sum()
    }

    /// Spare searches.
    pub fn searches(&self) -> u64 {
        self.host_searches + self.gc_searches
    }

    /// Flash commands: page reads, programs and erases; a spare search counts once.
    pub fn flash_commands(&self) -> u64 {
        let erases = self.block_erases + self.partial_erases_total();
        self.host_reads + self.host_programs + self.copies * 2 + self.searches() + erases
    }

    /// Counts a command.
    #[inline]
    pub fn note(&mut self, command: &FlashCommand) {
        match command.op {
            FlashOp::Read => self.host_reads += 1,
            FlashOp::Program => self.host_programs += 1,
            FlashOp::Copy => self.copies += 1,
            FlashOp::Erase => self.block_erases += 1,
            FlashOp::PartialErase => self.partial_erases[command.pb().level() as usize] += 1,
            FlashOp::SpareSearch => {
                let pages = u64::from(command.searched_pages());
                let (searches, spare_pages) = match command.cause {
                    Cause::Host | Cause::Map | Cause::Rmw => (&mut self.host_searches, &mut self.host_spare_pages),
                    Cause::Gc => (&mut self.gc_searches, &mut self.gc_spare_pages),
                };
                *searches += 1;
                *spare_pages += pages;
            }
        }
    }
}

/// Physical truth with its checks: what a command is executed on.
pub struct Device {
    /// The array.
    pub array: NandArray,
    /// The host's truth.
    pub ledger: Ledger,
}

impl Device {
    /// Executes one command: rules and tags.
    ///
    /// # Errors
    /// A broken flash rule, or a page that is not what the FTL believes.
    #[inline]
    pub fn execute(&mut self, command: &FlashCommand) -> Result<(), SimError> {
        match self.array.execute(command)? {
            Outcome::Done | Outcome::Searched { as_expected: true } => Ok(()),
            Outcome::Page(content) => self.ledger.check(command, content),
            Outcome::Searched { as_expected: false } => Err(SimError::Simulation(format!(
                "integrity: spare search of {} pages in block {} for logical page {} did not end where the FTL believes",
                command.searched_pages(),
                command.target.block.0,
                command.lpn.0
            ))),
        }
    }

    /// Reads every stored page back without commands; counts corrupt and lost ones.
    pub fn read_back(&mut self, ftl: &Ftl) {
        for lpn in (0..ftl.user_pages()).map(Lpn) {
            if self.ledger.is_stored(lpn) {
                self.ledger.pages_checked += 1;
                let found = ftl.locate(lpn).and_then(|page| self.array.peek(page).ok());
                match found.filter(|page| page.lpn == lpn && page.version == self.ledger.version(lpn)) {
                    None => self.ledger.lost_pages += 1,
                    Some(page) if page.corrupt => self.ledger.note_corrupt(lpn),
                    Some(_) => {}
                }
            }
        }
    }
}

/// Draws the factory's bad blocks, the same for the same seed.
fn bad_blocks(spec: &Spec, geometry: &Geometry) -> Vec<BlockId> {
    let mut random = Stream::new(spec.seed, "bad-blocks");
    let mut bad = Vec::new();
    for plane in (0..geometry.planes()).map(PlaneId) {
        let mut indices: Vec<u32> = (0..geometry.blocks_per_plane).collect();
        for n in 0..spec.geometry.bad_blocks_per_plane as usize {
            let pick = n + random.below((indices.len() - n) as u64) as usize;
            indices.swap(n, pick);
            bad.push(geometry.block(plane, indices[n]));
        }
    }
    bad
}

/// Builds FTL and array of a spec in their initial state.
///
/// # Errors
/// A scale that does not fit the geometry.
pub fn build(spec: &Spec, scale: f64) -> Result<(Geometry, FlashTiming, Ftl, Device), SimError> {
    let geometry = scaled_geometry(spec, scale)?;
    let tree = tree(spec)?;
    let timing = flash_timing(spec, tree);
    let user_pages = user_pages(spec, &geometry);
    let mut array = NandArray::new(ArrayConfig {
        geometry,
        tags: TagFormat::new(user_pages),
        tree,
        program_order: program_order(spec),
        disturb_tolerance: spec.partial_erase.disturb_tolerance,
        copyback: timing.copyback,
    });
    let bad = bad_blocks(spec, &geometry);
    bad.iter().for_each(|&block| array.mark_bad(block));

    let mut ledger = Ledger::new(user_pages, geometry.pages_per_block);
    let fill_array = |filled: &InitialBlock| {
        array.fill_block(filled.block, [filled.first.0, filled.stride], filled.pages, filled.sequence);
    };
    let ftl = match spec.ftl.kind.as_str() {
        "page" => page_ftl(spec, &geometry, &bad, (fill_array, &mut ledger))?,
        _ => nftl(spec, (&geometry, &timing, tree), &bad, (fill_array, &mut ledger))?,
    };
    Ok((geometry, timing, ftl, Device { array, ledger }))
}

fn nftl(
    spec: &Spec,
    (geometry, timing, tree): (&Geometry, &FlashTiming, PbTree),
    bad: &[BlockId],
    (mut fill_array, ledger): (impl FnMut(&InitialBlock), &mut Ledger),
) -> Result<Ftl, SimError> {
    let config = NftlConfig {
        geometry: *geometry,
        tree,
        program_order: program_order(spec),
        logical_blocks_per_plane: logical_blocks_per_plane(spec),
        gc_free_blocks: gc_start_blocks(spec),
        u_index: if spec.ftl.u_index == "ram" { UIndex::Ram } else { UIndex::Spare },
        merge: merge_policy(spec, timing),
    };
    let mut ftl = Nftl::new(config, bad);
    let fill = match spec.initial.fill_unit.as_str() {
        "page" => InitialFill::Pages(spec.initial.fill),
        _ => InitialFill::Blocks(spec.initial.fill),
    };
    ftl.fill(fill, |filled| {
        fill_array(&filled);
        ledger.note_fill(filled.first, u32::from(filled.pages));
    })?;
    Ok(Ftl::Nftl(Box::new(ftl)))
}

fn page_ftl(
    spec: &Spec,
    geometry: &Geometry,
    bad: &[BlockId],
    (mut fill_array, ledger): (impl FnMut(&InitialBlock), &mut Ledger),
) -> Result<Ftl, SimError> {
    let policy = match spec.ftl.gc_policy.as_str() {
        "cost-benefit" => VictimPolicy::CostBenefit,
        "d-choices" => VictimPolicy::DChoices(spec.ftl.d_choices),
        "fifo" => VictimPolicy::Fifo,
        "random" => VictimPolicy::Random,
        _ => VictimPolicy::Greedy,
    };
    let stop = spec.ftl.gc_stop_threshold.unwrap_or(spec.ftl.gc_free_threshold);
    let config = PageConfig {
        geometry: *geometry,
        user_pages: user_pages(spec, geometry),
        order: (0..geometry.planes()).map(|turn| geometry.plane_in_order(&spec.ftl.allocation_order, turn)).collect(),
        policy,
        gc_start_blocks: gc_start_blocks(spec),
        gc_stop_blocks: whole_share(u64::from(geometry.blocks_per_plane), stop).max(gc_start_blocks(spec)),
        seed: Stream::new(spec.seed, "gc-victims").bits(),
    };
    let mut ftl = PageFtl::new(config, bad);
    let filled = ftl.fill(spec.initial.fill, |filled| fill_array(&filled))?;
    ledger.note_fill(Lpn(0), filled);
    Ok(Ftl::Page(Box::new(ftl)))
}

fn program_order(spec: &Spec) -> ProgramOrder {
    match spec.geometry.program_order.as_str() {
        "in-order" => ProgramOrder::InOrder,
        _ => ProgramOrder::Any,
    }
}

/// Free blocks a plane at or under which garbage collection starts; one is always kept to copy into.
fn gc_start_blocks(spec: &Spec) -> u32 {
    whole_share(u64::from(spec.geometry.blocks_per_plane), spec.ftl.gc_free_threshold).max(1)
}

/// Blocks of each plane that a page-level FTL cannot fill with valid data: those it keeps free, the
/// open ones and the bad ones, and one more, so that some plane always has room for a write.
pub fn page_ftl_reserve(spec: &Spec) -> u32 {
    gc_start_blocks(spec) + OPEN_BLOCKS + spec.geometry.bad_blocks_per_plane + 1
}

/// Logical pages that the host may address: whole blocks for a block-level FTL.
pub fn user_pages(spec: &Spec, geometry: &Geometry) -> u32 {
    match spec.ftl.kind.as_str() {
        "page" => whole_share(geometry.pages(), 1.0 - spec.ftl.over_provisioning),
        _ => geometry.planes() * logical_blocks_per_plane(spec) * u32::from(geometry.pages_per_block),
    }
}

fn merge_policy(spec: &Spec, timing: &FlashTiming) -> MergePolicy {
    if spec.ftl.merge != "m-merge" {
        return MergePolicy::BlockErase;
    }
    MergePolicy::MMerge {
        costs: MergeCosts {
            copy: timing.copy(),
            block_erase: timing.t_bers,
            partial_erase: timing.partial_erase.clone(),
        },
        settings: MMergeSettings {
            disturb_tolerance: spec.partial_erase.disturb_tolerance,
            disturb_aware: spec.partial_erase.disturb_aware,
            wear_limit: spec.partial_erase.wear_limit_w,
        },
    }
}
