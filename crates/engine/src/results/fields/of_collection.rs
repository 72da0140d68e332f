//! Garbage collection.

use pumice_ftl::{EraseUnit, MergeMethod};
use serde_json::{Value, json};

use super::Type::{Integer, List, Number};
use super::{ResultField, count, fields};
use crate::results::Finished;

/// Meaning of the erases of partial merges.
const IN_PARTIAL_MERGES: &str = "Erases in partial merges; of partial blocks there are none";

/// Meaning of the erases of switch merges.
const IN_SWITCH_MERGES: &str = "Erases in switch merges; of partial blocks there are none";

/// Meaning of the erases without a merge.
const OF_DEAD_BLOCKS: &str =
    "Erases of U-blocks without valid pages, without a merge; of partial blocks there are none";

fields! {
    pub const FIELDS:
    "gc.invocations", Integer, "", "",
        "Starts of garbage collection, the sum of `gc.triggers`: merges (GFTL: merges queued), times that a plane ran low and reclaimed (`page`), plans that collect (plug-in)",
        |run| json!(run.gc().triggers());
    "gc.reclaimed_blocks", Integer, "blocks", "`ftl.kind` is neither `page`, `zns` nor a plug-in",
        "Victim blocks (`page`); blocks erased for a zone reset, or by a plug-in",
        |run| count(run.reports().reclaims_victims, run.gc().reclaimed.block_erases);
    "gc.urgent", Integer, "writes", "`ftl.gc_mode` is `blocking` or `foreground`",
        "Writes that had to reclaim themselves although collection is in steps, or paced",
        |run| count(run.config.ftl.page.gc_mode.interrupts_victims(), run.gc().urgent);
    "gc.reclaimed_partial_blocks", Integer, "erases", "`ftl.erase_unit`, or `ftl.zns.unit`, is not `partial-block`",
        "Partial erases that reclaimed parts of blocks",
        |run| count(run.config.ftl.erase_unit() == EraseUnit::PartialBlock, run.gc().reclaimed.partial_erases);
    "gc.reclaimed_sub_blocks", Integer, "sub-blocks", "`ftl.erase_unit`, or `ftl.zns.unit`, is not `sub-block`",
        "Physical sub-blocks reclaimed apart from their block",
        |run| count(run.config.ftl.erase_unit() == EraseUnit::SubBlock, run.gc().reclaimed_sub_blocks);
    "gc.merges.full", Integer, "merges", "`ftl.kind` is `page`, `zns` or a plug-in",
        "Full merges, those in place of an M-Merge included",
        |run| count(run.reports().full_merges, run.gc().full.merges);
    "gc.merges.partial", Integer, "merges", "the FTL has no such merges",
        "Partial merges",
        |run| count(run.reports().partial_and_switch_merges, run.gc().partial.merges);
    "gc.merges.switch", Integer, "merges", "the FTL has no such merges",
        "Switch merges",
        |run| count(run.reports().partial_and_switch_merges, run.gc().switch.merges);
    "gc.merges.m_merge", Integer, "merges", "`ftl.merge` is `block-erase`",
        "M-Merges",
        |run| count(run.config.ftl.shared.merge != MergeMethod::BlockErase, run.gc().m_merge.merges);
    "gc.erases_by_merge.full.block", Integer, "commands", "as `gc.merges.full`",
        "Block erases in full merges: two each (NFTL, log block), one a block emptied (superblock); random log blocks included (FAST), buffer blocks included and done so far (GFTL)",
        |run| count(run.reports().full_merges, run.gc().full.block_erases);
    "gc.erases_by_merge.full.partial", Integer, "commands", "as `gc.merges.full`",
        "Partial erases in full merges: 0",
        |run| count(run.reports().full_merges, run.gc().full.partial_erases);
    "gc.erases_by_merge.m_merge.block", Integer, "commands", "`ftl.merge` is `block-erase`",
        "Block erases in M-Merges: one each (NFTL), the U-set and borrowed blocks (superblock)",
        |run| count(run.config.ftl.shared.merge != MergeMethod::BlockErase, run.gc().m_merge.block_erases);
    "gc.erases_by_merge.m_merge.partial", Integer, "commands", "`ftl.merge` is `block-erase`",
        "Partial erases in M-Merges, the pre-erase of U included",
        |run| count(run.config.ftl.shared.merge != MergeMethod::BlockErase, run.gc().m_merge.partial_erases);
    "gc.erases_by_merge.partial.block", Integer, "commands", "as `gc.merges.partial`",
        IN_PARTIAL_MERGES,
        |run| count(run.reports().partial_and_switch_merges, run.gc().partial.block_erases);
    "gc.erases_by_merge.partial.partial", Integer, "commands", "as `gc.merges.partial`",
        IN_PARTIAL_MERGES,
        |run| count(run.reports().partial_and_switch_merges, run.gc().partial.partial_erases);
    "gc.erases_by_merge.switch.block", Integer, "commands", "as `gc.merges.partial`",
        IN_SWITCH_MERGES,
        |run| count(run.reports().partial_and_switch_merges, run.gc().switch.block_erases);
    "gc.erases_by_merge.switch.partial", Integer, "commands", "as `gc.merges.partial`",
        IN_SWITCH_MERGES,
        |run| count(run.reports().partial_and_switch_merges, run.gc().switch.partial_erases);
    "gc.erases_by_merge.dead.block", Integer, "commands", "as `gc.merges.partial`",
        OF_DEAD_BLOCKS,
        |run| count(run.reports().partial_and_switch_merges, run.gc().dead.block_erases);
    "gc.erases_by_merge.dead.partial", Integer, "commands", "as `gc.merges.partial`",
        OF_DEAD_BLOCKS,
        |run| count(run.reports().partial_and_switch_merges, run.gc().dead.partial_erases);
    "gc.triggers.full", Integer, "merges", "`ftl.kind` is `page`, `zns`, `superblock-pen`, `superblock-2006` or a plug-in",
        "Merges because the U-block (GFTL: or the write buffer) was full",
        |run| count(run.reports().pair_triggers, run.gc().trigger_full);
    "gc.triggers.unpaired", Integer, "merges", "`ftl.kind` is `page`, `zns`, `superblock-pen`, `superblock-2006` or a plug-in",
        "Merges because the plane ran low (for a U-block at or under the threshold, for a D-block at the last free block), no U-block was left, or FAST's sequence ended",
        |run| count(run.reports().pair_triggers, run.gc().trigger_unpaired);
    "gc.triggers.intra", Integer, "merges", "`ftl.kind` is neither `superblock-pen` nor `superblock-2006`",
        "Merges because a superblock had no room and owned N blocks",
        |run| count(run.reports().superblock_triggers, run.gc().trigger_intra);
    "gc.triggers.inter", Integer, "merges", "`ftl.kind` is neither `superblock-pen` nor `superblock-2006`",
        "Merges because a superblock needed a block and the plane ran low, or no U-block was left",
        |run| count(run.reports().superblock_triggers, run.gc().trigger_inter);
    "gc.triggers.free_blocks", Integer, "", "`ftl.kind` is neither `page`, `zns` nor a plug-in",
        "Times that a plane ran low; zones that the host cleaned; plans of a plug-in that collect",
        |run| count(run.reports().reclaims_victims, run.gc().trigger_free_blocks);
    "gc.copied_pages", Integer, "pages", "",
        "Pages copied, or moved between zones, also by wear levelling; out and back in an M-Merge counts twice",
        |run| json!(run.gc().copied_pages);
    "gc.wear_leveling.erases", Integer, "commands", "no static wear levelling",
        "Blocks that static wear levelling moved and erased; not among `gc.reclaimed_blocks`",
        |run| count(run.config.ftl.page.wear_leveling.moves_data(), run.gc().moved.block_erases);
    "gc.wear_leveling.copied_pages", Integer, "pages", "no static wear levelling",
        "Pages copied by it",
        |run| count(run.config.ftl.page.wear_leveling.moves_data(), run.gc().moved_pages);
    "gc.time_us.map", Number, "us", "",
        "Spare areas read for merges and map × (tR + spare transfer), and command overheads, over all dies, without waits for the channel",
        |run| json!(run.search_time().as_us());
    "gc.time_us.copy", Number, "us", "",
        "Copies × time of one unhindered copy; pages moved between zones cross the controller",
        |run| json!(run.copy_time().as_us());
    "gc.time_us.erase", Number, "us", "",
        "Erases × their times, and interrupted pulses",
        |run| json!(run.erase_time().as_us());
    "gc.victim_fill", List, "merges", "",
        "Victims by share: 11 counts, entry i for i/10 ≤ share < (i + 1)/10, the last for 1. Share of written pages of the U-block (NFTL, FTLs of 2006), or of valid pages of the victim (`page`), the zone cleaned, or the superblock's emptiest block (PEN)",
        |run| json!(run.gc().victim_fill);
    "gc.sharing_degree", Number, "logical blocks", "`ftl.kind` is not `fast`, or it reclaimed no random log block",
        "Logical blocks with current pages in a random log block when it is reclaimed, on average",
        sharing_degree;
    "gc.u_blocks_max", Integer, "blocks", "`ftl.kind` is `page`, `zns`, `superblock-pen` or a plug-in",
        "Most U-blocks in use at once, over all planes",
        |run| count(run.reports().u_blocks, run.gc().u_blocks_max);
    "gc.map.ram_bytes", Integer, "bytes", "",
        "Controller RAM of the map ([NFTL](models/nftl-and-m-merge.md#ram-of-the-map), [superblock](models/superblock-pen.md), [page level](models/page-level.md); a plug-in's own figure, or 0)",
        |run| json!(run.controller.ftl.layer().memory().map_or(0, |memory| memory.map_ram_bytes()));
    "gc.map.hits", Integer, "", "the map is in RAM",
        "Look-ups that the map cache answered: one a page access (`\"cached\"`), or a page accessed or copied and a logical block of a merged superblock (`\"spare\"`)",
        |run| count(run.is_map_behind_cache(), run.gc().map_hits);
    "gc.map.misses", Integer, "", "the map is in RAM",
        "Look-ups that it did not",
        |run| count(run.is_map_behind_cache(), run.gc().map_misses);
    "gc.map.write_backs", Integer, "pages", "`ftl.map_place` is not `cached`",
        "Translation pages programmed with changed entries, copies excluded",
        |run| count(run.is_map_cached(), run.gc().map_write_backs);
    "gc.map.erases", Integer, "commands", "`ftl.map_place` is not `cached`",
        "Blocks of translation pages erased",
        |run| count(run.is_map_cached(), run.gc().map_erases);
}

/// How many logical blocks share a victim of FAST.
fn sharing_degree(run: &Finished) -> Value {
    let gc = run.gc();
    json!((gc.shared_victims > 0).then(|| gc.sharing_blocks as f64 / gc.shared_victims as f64))
}
