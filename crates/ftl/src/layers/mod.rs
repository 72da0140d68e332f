//! The translation layers: one file or folder each, the registry, in which each is one line, and the calls on whichever
//! one runs.

#[macro_use]
mod registry;

pub mod block_mapped;
pub mod page;
pub mod partial_erase;
mod spec_rules;
pub mod zns;

use std::sync::LazyLock;

use pumice_types::key::{CHOSEN, Field, Key, Keys, Range, Value, ValueKind, Values, When, read_field};
use pumice_types::{BlockId, ChipKeys, Choice, DieId, Geometry, Lpn, PageAddress, RequestKind, SpecError};

use crate::blocks::victims::PolicyKeys;
use crate::foreign::plugin::PluginName;
use crate::plan::{EraseUnit, FillTarget, FtlError, GcCounters, InitialKeys, Plan};
use crate::seam::policy::OwnPolicy;
use crate::seam::{
    CopiedLayer, Facts, Layer, LayerParts, LayerSpec, LogSize, RecoveryCounts, Restart, SharedKeys, SuperblockKeys,
    TranslationLayer, ZoneOperation, ZoneReport,
};
pub use spec_rules::{is_strict, kinds_that};

registry! {
    Nftl = "nftl", nftl: partial_erase::nftl::Nftl, "block-level mapping with one U-block a D-block";
    Page = "page", page: page::PageFtl, "one map entry a page";
    Gftl = "gftl", gftl: partial_erase::gftl::Gftl, "nftl that merges slot by slot, one slot of tBERS a page written, and buffers writes to blocks that wait (Choudhuri and Givargis, 2008)";
    Pbe = "pbe", pbe: partial_erase::pbe::Pbe, "nftl on chips without disturb that lose ftl.capacity_loss of their blocks (US 9,286,989)";
    SuperblockPen = "superblock-pen", superblock_pen: partial_erase::superblock_pen::SuperblockPen, "adjacent logical blocks share their blocks; map in RAM, intra and inter merges, M-Merge (PEN, FAST'18)";
    Superblock2006 = "superblock-2006", superblock_2006: block_mapped::superblock_2006::Superblock2006, "adjacent logical blocks share their blocks; switch, partial and full merges (EMSOFT'06)";
    ReplacementBlock = "replacement-block", replacement_block: block_mapped::replacement_block::ReplacementBlock, "chains of blocks programmed in place";
    LogBlock = "log-block", log_block: block_mapped::log_block::LogBlock, "a limited number of U-blocks, at most one a D-block";
    Fast = "fast", fast: block_mapped::fast::Fast, "log blocks that all logical blocks share";
    Zns = "zns", zns: zns::Zns, "zones over stripes of erase units (NVMe Zoned Namespaces), and a host that keeps a log of streams on them and cleans it";
    @ Plugin, plugin: crate::foreign::plugged::Plugged, "a layer of the user's own";
}

/// Calls on whichever layer there is. The accesses of a host are compiled for each layer; the rest goes through
/// [`Ftl::layer`].
impl Ftl {
    /// Logical pages that the host may address.
    pub fn user_pages(&self) -> u32 {
        each!(self, ftl => ftl.user_pages())
    }

    /// The layer, for what is not asked at each access.
    pub fn layer(&self) -> &dyn TranslationLayer {
        each!(self, ftl => &**ftl)
    }

    /// The layer, to change it.
    pub fn layer_mut(&mut self) -> &mut dyn TranslationLayer {
        each!(self, ftl => &mut **ftl)
    }

    /// Appends the commands that store a version of `lpn`, which the host writes to a stream.
    ///
    /// # Errors
    /// As [`TranslationLayer::write`].
    #[inline]
    pub fn write_to_stream(&mut self, lpn: Lpn, version: u8, stream: u8, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => match ftl.streams() {
            Some(streams) => streams.write_to_stream(lpn, version, stream, plan),
            None => ftl.write(lpn, version, plan),
        })
    }

    /// See [`TranslationLayer::read`].
    #[inline]
    pub fn read(&mut self, lpn: Lpn, version: u8, plan: &mut Plan) -> bool {
        each!(self, ftl => ftl.read(lpn, version, plan))
    }

    /// See [`TranslationLayer::locate`].
    pub fn locate(&self, lpn: Lpn) -> Option<PageAddress> {
        each!(self, ftl => ftl.locate(lpn))
    }

    /// See [`TranslationLayer::trim`].
    #[inline]
    pub fn trim(&mut self, lpn: Lpn) {
        each!(self, ftl => ftl.trim(lpn));
    }

    /// See [`TranslationLayer::step`].
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn step(&mut self, die: DieId, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.step(die, plan))
    }

    /// Appends the map accesses that must be done before an access, if any are ([`MapLoads::load_map`](crate::MapLoads::load_map)).
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn load_map(&mut self, lpn: Lpn, kind: RequestKind, plan: &mut Plan) -> Result<(), FtlError> {
        each!(self, ftl => ftl.map_loads().map_or(Ok(()), |map| map.load_map(lpn, kind, plan)))
    }

    /// See [`LookAhead::expect`](crate::LookAhead::expect).
    #[inline]
    pub fn expect(&self, lpn: Lpn) {
        each!(self, ftl => if let Some(ahead) = ftl.look_ahead() { ahead.expect(lpn) });
    }

    /// See [`LookAhead::expect_overwrite`](crate::LookAhead::expect_overwrite).
    #[inline]
    pub fn expect_overwrite(&self, lpn: Lpn) {
        each!(self, ftl => if let Some(ahead) = ftl.look_ahead() { ahead.expect_overwrite(lpn) });
    }

    /// See [`LookAhead::expect_look_up`](crate::LookAhead::expect_look_up).
    #[inline]
    pub fn expect_look_up(&self, lpn: Lpn) -> Option<PageAddress> {
        each!(self, ftl => ftl.look_ahead()?.expect_look_up(lpn))
    }

    /// Tells the layer, if it retires blocks, that the next erase of one will fail
    /// ([`Retirement::note_failing`](crate::Retirement::note_failing)).
    pub fn note_failing(&mut self, block: BlockId) {
        if let Some(retirement) = self.layer_mut().retirement() {
            retirement.note_failing(block);
        }
    }

    /// Why an earlier call failed that could not say so ([`Faults::take_fault`](crate::Faults::take_fault)).
    pub fn take_fault(&mut self) -> Option<FtlError> {
        self.layer_mut().faults()?.take_fault()
    }

    /// Appends the commands of the next zone operation ([`ZoneOperations::next_operation`](crate::ZoneOperations::next_operation)).
    #[inline]
    pub fn next_operation(&mut self, plan: &mut Plan) -> Option<ZoneOperation> {
        each!(self, ftl => ftl.zone_operations()?.next_operation(plan))
    }

    /// Counts of collection; zeros for a layer that counts nothing.
    pub fn counters(&self) -> &GcCounters {
        static NOTHING_COUNTED: LazyLock<GcCounters> = LazyLock::new(GcCounters::default);
        self.layer().figures().map_or_else(|| &*NOTHING_COUNTED, |figures| figures.counters())
    }

    /// Zones of the layer, if it has any.
    pub fn zones(&self) -> Option<ZoneReport> {
        self.layer().figures()?.zones()
    }

    /// Blocks and RAM that its map takes for the case of a power cut; nothing if it keeps no log.
    pub fn log_size(&self) -> LogSize {
        self.layer().figures().and_then(|figures| figures.log_size()).unwrap_or_default()
    }
}

impl std::fmt::Display for FtlKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Field for FtlKind {
    const SHAPE: ValueKind = ValueKind::Choice(FtlKind::NAMES);

    fn read(value: Option<&Value>) -> Result<FtlKind, SpecError> {
        let name = value.and_then(Value::as_text).unwrap_or_default();
        let plugin = || PluginName::of_kind(name).map(FtlKind::Plugin);
        FtlKind::from_name(name).or_else(plugin).ok_or_else(|| "is not allowed".into())
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.name().to_string()))
    }
}
