//! From a spec to an FTL and an array in their initial state. One file an FTL: what it refuses, how
//! many pages it offers, and how it is built.

pub mod comparator;
pub mod erase;
pub mod hybrid;
pub mod nftl;
pub mod page;
pub mod read_retry;
pub mod superblock_2006;
pub mod superblock_pen;

use pumice_ftl::merge::restore::{MMergeSettings, MergeCosts};
use pumice_ftl::merge::superblock::RestoreScope;
use pumice_ftl::{Ftl, InitialBlock, InitialFill, MergePolicy};
use pumice_nand::{ArrayConfig, NandArray};
use pumice_types::{BlockId, FlashTiming, Geometry, Lpn, PbTree, PlaneId, ProgramOrder, TagFormat, Time};
use pumice_workload::RandomStream;

use crate::device::{Device, block_shape, flash_timing, scaled_geometry, tree};
use crate::error::SimError;
use crate::ledger::Ledger;
use crate::spec::{Spec, SpecError, refuse};

/// The FTLs that are built, checked and sized each in their own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FtlKind {
    Page,
    Nftl,
    Gftl,
    SuperblockPen,
    Superblock2006,
    /// The superblock FTL's rivals: replacement block, log block, FAST.
    Rival,
}

impl FtlKind {
    /// The FTL of a device; see [`comparator::device_of`].
    fn of(spec: &Spec) -> FtlKind {
        match spec.ftl.kind.as_str() {
            "page" => FtlKind::Page,
            "superblock" if spec.ftl.superblock.variant == "pen" => FtlKind::SuperblockPen,
            "superblock" => FtlKind::Superblock2006,
            "replacement-block" | "log-block" | "fast" => FtlKind::Rival,
            _ if spec.ftl.comparator == "gftl" => FtlKind::Gftl,
            _ => FtlKind::Nftl,
        }
    }
}

/// What every FTL is built from.
pub struct Parts<'a> {
    /// The spec.
    pub spec: &'a Spec,
    /// The device's shape at the run's scale.
    pub geometry: Geometry,
    /// Its timing.
    pub timing: FlashTiming,
    /// Partial blocks of its blocks.
    pub tree: PbTree,
    /// Bad blocks from the factory.
    pub bad: Vec<BlockId>,
}

/// What is stored before the first request: in the array, and in the host's truth.
pub struct InitialState<'a> {
    array: &'a mut NandArray,
    ledger: &'a mut Ledger,
}

impl InitialState<'_> {
    /// Programs a block of the initial fill.
    pub fn program(&mut self, filled: &InitialBlock) {
        self.array.fill_block(filled.block, [filled.first.0, filled.stride], filled.pages, filled.sequence);
    }

    /// Notes that `pages` logical pages from `first`, the first of a logical block, are stored.
    pub fn note(&mut self, first: Lpn, pages: u32) {
        self.ledger.note_fill(first, pages);
    }
}

/// A device ready to run.
pub struct Built {
    /// Its shape.
    pub geometry: Geometry,
    /// Its timing.
    pub timing: FlashTiming,
    /// Its translation layer.
    pub ftl: Ftl,
    /// Its array and the host's truth.
    pub device: Device,
}

/// Builds FTL and array of a spec in their initial state.
///
/// # Errors
/// A scale that does not fit the geometry.
pub fn build(spec: &Spec, scale: f64) -> Result<Built, SimError> {
    let spec = &*comparator::device_of(spec);
    let mut geometry = scaled_geometry(spec, scale)?;
    geometry.blocks_per_plane += comparator::extra_blocks(spec);
    let tree = tree(spec)?;
    let timing = flash_timing(spec, tree);
    let user_pages = user_pages(spec, &geometry);
    let tags = TagFormat::new(user_pages + page::translation_pages(spec, user_pages));
    let mut array = NandArray::new(ArrayConfig {
        geometry,
        tags,
        tree,
        sub_blocks: block_shape(spec).filter(|_| spec.partial_erase.unit == "sub-block"),
        program_order: program_order(spec),
        disturb_tolerance: spec.partial_erase.disturb_tolerance,
        copyback: timing.copyback,
    });
    let bad = bad_blocks(spec, &geometry);
    bad.iter().for_each(|&block| array.mark_bad(block));
    let mut ledger = Ledger::new(user_pages, geometry.pages_per_block, tags);
    let parts = Parts { spec, geometry, timing, tree, bad };
    let initial = InitialState { array: &mut array, ledger: &mut ledger };
    let ftl = match FtlKind::of(spec) {
        FtlKind::Page => page::build(&parts, initial)?,
        FtlKind::Nftl => nftl::build(&parts, initial)?,
        FtlKind::Gftl => comparator::build_gftl(&parts, initial)?,
        FtlKind::SuperblockPen => superblock_pen::build(&parts, initial)?,
        FtlKind::Superblock2006 => superblock_2006::build(&parts, initial)?,
        FtlKind::Rival => hybrid::build(&parts, initial)?,
    };
    let eraser = erase::eraser(spec, &geometry, tree);
    let device = Device {
        array,
        ledger,
        eraser,
        retry: read_retry::build(spec),
        timing: parts.timing.clone(),
        steps: Vec::new(),
        failing: Vec::new(),
    };
    Ok(Built { geometry, timing: parts.timing, ftl, device })
}

/// Refuses a spec that its FTL cannot serve, with the reason and what would work.
///
/// # Errors
/// The first impossibility.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    comparator::check(spec)?;
    let spec = &*comparator::device_of(spec);
    let kind = FtlKind::of(spec);
    if kind != FtlKind::Page {
        page::check_absent(spec)?;
    }
    check_map_place(spec)?;
    erase::check(spec)?;
    read_retry::check(spec)?;
    match kind {
        FtlKind::Page => page::check(spec),
        FtlKind::Nftl | FtlKind::Gftl => nftl::check(spec),
        FtlKind::SuperblockPen => superblock_pen::check(spec),
        FtlKind::Superblock2006 => superblock_2006::check(spec),
        FtlKind::Rival => hybrid::check(spec),
    }
}

/// Refuses a map in spare areas for FTLs that cannot keep one there.
fn check_map_place(spec: &Spec) -> Result<(), SpecError> {
    let keeps_one = matches!(FtlKind::of(spec), FtlKind::Superblock2006 | FtlKind::Rival);
    if spec.ftl.map_place == "spare" && !keeps_one {
        let kind = spec.ftl.kind.as_str();
        let variant = if kind == "superblock" { " with ftl.superblock.variant = \"pen\"" } else { "" };
        return refuse(format!(
            "ftl.map_place = \"spare\" needs ftl.kind = \"superblock\" with ftl.superblock.variant = \"2006\", or one of its \
             rivals, found ftl.kind = \"{kind}\"{variant}"
        ));
    }
    Ok(())
}

/// Whether part of the map is in spare areas, behind a cache.
pub fn map_in_spare(spec: &Spec) -> bool {
    spec.ftl.kind == "superblock" && spec.ftl.map_place == "spare"
}

/// Logical pages that the host may address.
pub fn user_pages(spec: &Spec, geometry: &Geometry) -> u32 {
    let spec = &*comparator::device_of(spec);
    match FtlKind::of(spec) {
        FtlKind::Page => page::user_pages(spec, geometry),
        FtlKind::Nftl | FtlKind::Gftl => nftl::user_pages(spec, geometry),
        FtlKind::SuperblockPen => superblock_pen::user_pages(spec, geometry),
        FtlKind::Superblock2006 | FtlKind::Rival => hybrid::user_pages(spec, geometry),
    }
}

/// Whole units in a share of `units`. The allowance takes up what decimal shares lose in binary:
/// 0.29 of 100 is 29.
fn whole_share(units: u64, share: f64) -> u32 {
    (units as f64 * share + 1e-6) as u32
}

/// A smallest share in the form in which it is shown: rounded up, so that it works when typed.
fn typed_share(smallest: f64) -> f64 {
    (smallest * 1e6).ceil() / 1e6
}

/// Free blocks a plane at or under which garbage collection starts; one is always kept to copy into.
fn gc_start_blocks(spec: &Spec) -> u32 {
    whole_share(u64::from(spec.geometry.blocks_per_plane), spec.ftl.gc_free_threshold).max(1)
}

/// What is stored before the first request of an FTL with logical blocks.
fn initial_fill(spec: &Spec) -> InitialFill {
    match spec.initial.fill_unit.as_str() {
        "page" => InitialFill::Pages(spec.initial.fill),
        _ => InitialFill::Blocks(spec.initial.fill),
    }
}

/// Durations that merges weigh: a partial erase is expected to take its share of a block erase.
fn merge_costs(spec: &Spec, timing: &FlashTiming) -> MergeCosts {
    let block_erase = erase::expected_time(spec, timing);
    let expected = |time: &Time| match timing.t_bers {
        Time::ZERO => Time::ZERO,
        whole => time.scaled(block_erase, whole),
    };
    MergeCosts { copy: timing.copy(), block_erase, partial_erase: timing.partial_erase.iter().map(expected).collect() }
}

fn merge_policy(spec: &Spec, timing: &FlashTiming) -> MergePolicy {
    let scope = match spec.ftl.merge.as_str() {
        "m-merge" => RestoreScope::Superseded,
        "m-merge-budgeted" => RestoreScope::AsNeeded,
        _ => return MergePolicy::BlockErase,
    };
    let settings = MMergeSettings {
        disturb_tolerance: spec.partial_erase.disturb_tolerance,
        disturb_aware: spec.partial_erase.disturb_aware,
        wear_limit: spec.partial_erase.wear_limit_w,
    };
    MergePolicy::MMerge { costs: merge_costs(spec, timing), settings, scope }
}

fn program_order(spec: &Spec) -> ProgramOrder {
    match spec.geometry.program_order.as_str() {
        "in-order" => ProgramOrder::InOrder,
        _ => ProgramOrder::Any,
    }
}

/// Draws the factory's bad blocks, the same for the same seed.
fn bad_blocks(spec: &Spec, geometry: &Geometry) -> Vec<BlockId> {
    let mut random = RandomStream::new(spec.seed, "bad-blocks");
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
