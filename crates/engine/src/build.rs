//! From a configuration to a device in its initial state.

use pumice_config::{Check, Config, SpecError};
use pumice_ftl::Recovery;
use pumice_ftl::policy::{Decider, DeviceShape};
use pumice_ftl::{FillTarget, Ftl, FtlError, InitialBlock, LayerParts, Payload, erase::flash_timing};
use pumice_nand::{ArrayConfig, CheckedArray, NandArray};
use pumice_types::{
    BlockId, ChipKeys, FlashCommand, FlashTiming, Geometry, Lpn, PageAddress, PbTree, PlaneId, TagFormat, Time,
};
use pumice_workload::{RandomStream, Trims};

use crate::chip::Chips;
use crate::chip::erase::{eraser, expected_time};
use crate::chip::read_retry::read_retry;
use crate::error::SimError;
use crate::host::oracle::Oracle;
use crate::host::promises::PromiseRules;

/// What is stored before the first request: in the array, and in the host's oracle.
struct InitialState<'a> {
    checked: &'a mut CheckedArray,
    oracle: &'a mut Oracle,
}

impl FillTarget for InitialState<'_> {
    fn program(&mut self, filled: &InitialBlock) {
        self.checked.array.fill_block(filled.block, [filled.first.0, filled.stride], filled.pages, filled.sequence);
    }

    fn execute(&mut self, command: &FlashCommand) -> Result<(), FtlError> {
        self.checked.execute(command).map_err(|error| FtlError::Fill(error.to_string()))
    }

    fn program_own(&mut self, page: PageAddress, lpn: Lpn, content: Payload) {
        self.checked.array.fill_own(page, lpn, content);
    }

    fn note_stored(&mut self, first: Lpn, pages: u32) {
        self.oracle.note_fill(first, pages);
    }
}

/// A device ready to run.
pub struct Built {
    /// Shape of the device.
    pub geometry: Geometry,
    /// Timing of the device.
    pub timing: FlashTiming,
    /// Translation layer of the device.
    pub ftl: Ftl,
    /// Chips of the device.
    pub chips: Chips,
    /// What the host has stored on it.
    pub oracle: Oracle,
    /// The user's own policy, if there is one.
    pub decider: Option<Decider>,
}

/// What a configuration makes of a device at a scale, before anything is stored on it.
#[derive(Clone)]
pub struct Foundation {
    chip: ChipKeys,
    geometry: Geometry,
    timing: FlashTiming,
    tree: PbTree,
    bad_blocks: Vec<BlockId>,
    block_erase: Time,
    victim_seed: u64,
}

impl Foundation {
    /// Builds the foundation of a configuration's device at a scale.
    ///
    /// # Errors
    /// A scale that does not fit the geometry.
    pub fn new(config: &Config, scale: f64) -> Result<Foundation, SpecError> {
        Foundation::of(config.assumed_chip(), config.seed, config.device_geometry(scale)?)
    }

    /// Builds the foundation of a device from its chips and shape.
    fn of(chip: ChipKeys, seed: u64, geometry: Geometry) -> Result<Foundation, SpecError> {
        let (tree, timing) = (chip.tree()?, flash_timing(&chip)?);
        Ok(Foundation {
            bad_blocks: bad_blocks(seed, chip.geometry.bad_blocks_per_plane, &geometry),
            block_erase: expected_time(&chip, seed, &timing),
            victim_seed: RandomStream::new(seed, "gc-victims").bits(),
            chip,
            geometry,
            timing,
            tree,
        })
    }

    /// The chips with every page erased and the factory's bad blocks marked. `host_pages` are the logical pages of
    /// the host among those of the tags.
    fn chips(&self, seed: u64, tags: TagFormat, host_pages: u32) -> Chips {
        let Foundation { chip, geometry, timing, tree, .. } = self;
        let mut array = NandArray::new(ArrayConfig {
            geometry: *geometry,
            tags,
            tree: *tree,
            sub_blocks: chip.erased_sub_blocks(),
            program_order: chip.geometry.program_order,
            disturb_tolerance: chip.partial_erase.disturb_tolerance,
            sub_block_disturb: chip.partial_erase.sub_block_disturb,
            copyback: timing.copyback,
        });
        self.bad_blocks.iter().for_each(|&block| array.mark_bad(block));
        let eraser = eraser(chip, seed, geometry, *tree);
        Chips::new(CheckedArray::new(array, host_pages), eraser, read_retry(chip, seed), timing.clone())
    }

    /// What a translation layer is built from.
    pub fn parts<'a>(&'a self, config: &'a Config) -> LayerParts<'a> {
        LayerParts {
            spec: config.layer_spec(&self.chip),
            geometry: self.geometry,
            timing: &self.timing,
            tree: self.tree,
            bad_blocks: &self.bad_blocks,
            block_erase: self.block_erase,
            seed: self.victim_seed,
            decider: None,
        }
    }

    /// Makes the user's own policy, if there is one: for a new device, and for one that recovers.
    ///
    /// # Errors
    /// The decider cannot be made.
    pub fn decider(&self, config: &Config, user_pages: u32) -> Result<Option<Decider>, SimError> {
        let shape = DeviceShape {
            planes: self.geometry.planes(),
            blocks_per_plane: self.geometry.blocks_per_plane,
            pages_per_block: u32::from(self.geometry.pages_per_block),
            user_pages,
            seed: config.seed,
        };
        let opened = config.ftl.own_policy.as_ref().map(|policy| Decider::open(policy, &shape));
        opened.transpose().map_err(|fault| SimError::Simulation(fault.to_string()))
    }
}

/// Builds translation layer and chips of a configuration in their initial state.
///
/// # Errors
/// A scale that does not fit the geometry.
pub fn build(config: &Config, scale: f64) -> Result<Built, SimError> {
    let foundation = Foundation::new(config, scale)?;
    let mut parts = foundation.parts(config);
    let Foundation { geometry, timing, .. } = &foundation;
    let user_pages = config.ftl.user_pages(&parts.spec, geometry)?;
    parts.decider = foundation.decider(config, user_pages)?;
    let tags = TagFormat::new(user_pages + config.ftl.translation_pages(&parts.spec, user_pages));
    let mut chips = foundation.chips(config.seed, tags, user_pages);
    let array = &mut chips.checked.array;
    let mut oracle = Oracle::new(user_pages, geometry.pages_per_block, tags);
    if config.ftl.kind.facts().writes_everywhere {
        array.use_large_pages();
        oracle.use_large_pages();
    }
    if config.ftl.shared.recovery != Recovery::Off {
        let Geometry { pages_per_block, page_bytes, units_per_page, .. } = *geometry;
        array.prepare_for_cuts();
        let recovery = config.ftl.shared.recovery;
        array.set_summary_pages(recovery.summary_pages(pages_per_block, page_bytes, units_per_page));
        oracle.prepare_for_cuts(PromiseRules::of(config));
    }
    let ftl = config.ftl.build(&parts, &mut InitialState { checked: &mut chips.checked, oracle: &mut oracle })?;
    if config.ftl.own_layer().is_some() {
        // It filled itself by writes, and may have erased blocks for them. That wear is not of the run.
        chips.checked.array.reset_wear();
    }
    if guards_copies(config) {
        chips.checked.guard_copies();
    }
    Ok(Built { geometry: *geometry, timing: timing.clone(), ftl, chips, oracle, decider: parts.decider })
}

/// Whether no erase may take the last copy of a page's newest data: where power may be cut and everything is checked.
/// A layer gives up the last copies of pages that the host trims.
pub(crate) fn guards_copies(config: &Config) -> bool {
    let trims = config.workloads().any(|workload| {
        workload.shared.trim_fraction > 0.0 || workload.kind().is_trace() && workload.trace.trims == Trims::Keep
    });
    let gives_up = trims && config.ftl.kind.facts().gives_up_trimmed;
    config.ftl.shared.recovery != Recovery::Off && config.run.check == Check::Integrity && !gives_up
}

/// The chips of a spec without a controller, every page erased, with the bad blocks that a run of the same seed has.
/// All data belongs to one logical page.
///
/// # Errors
/// Partial blocks that the chips do not have.
pub fn bare_chips(chip: &ChipKeys, seed: u64) -> Result<Chips, SpecError> {
    let geometry = chip.geometry.scaled(1.0)?;
    Ok(Foundation::of(chip.clone(), seed, geometry)?.chips(seed, TagFormat::new(1), 1))
}

/// Draws the factory's bad blocks, the same for the same seed.
fn bad_blocks(seed: u64, per_plane: u32, geometry: &Geometry) -> Vec<BlockId> {
    let mut random = RandomStream::new(seed, "bad-blocks");
    let mut bad = Vec::new();
    for plane in (0..geometry.planes()).map(PlaneId) {
        let mut indices: Vec<u32> = (0..geometry.blocks_per_plane).collect();
        for n in 0..per_plane as usize {
            let pick = n + random.below((indices.len() - n) as u64) as usize;
            indices.swap(n, pick);
            bad.push(geometry.block(plane, indices[n]));
        }
    }
    bad
}
