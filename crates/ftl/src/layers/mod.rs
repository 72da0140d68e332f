//! The translation layers: one file or folder each, and the registry, in which each is one line.

#[macro_use]
mod registry;

pub mod block_mapped;
pub mod page;
pub mod partial_erase;
mod spec_rules;
pub mod zns;

use pumice_types::key::{CHOSEN, Field, Key, Keys, Range, Value, ValueKind, Values, When, read_field};
use pumice_types::{ChipKeys, Choice, Geometry};

use crate::blocks::victims::PolicyKeys;
use crate::foreign::plugin::PluginName;
use crate::plan::{EraseUnit, FillTarget, FtlError, InitialKeys};
use crate::seam::policy::OwnPolicy;
use crate::seam::{
    Layer, LayerParts, LayerSpec, MapPlace, MergeMethod, Recovery, RecoveryCounts, Reports, Restart, SharedKeys,
    SuperblockKeys,
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

// Behind the registry, which makes the macro that it is written with.
mod dispatch;

impl std::fmt::Display for FtlKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Field for FtlKind {
    const SHAPE: ValueKind = ValueKind::Choice(FtlKind::NAMES);

    fn read(value: Option<&Value>) -> Result<FtlKind, String> {
        let name = value.and_then(Value::as_text).unwrap_or_default();
        let plugin = || PluginName::of_kind(name).map(FtlKind::Plugin);
        FtlKind::from_name(name).or_else(plugin).ok_or_else(|| "is not allowed".to_string())
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.name().to_string()))
    }
}
