//! Keys of `[ftl]` that several layers read.

use pumice_types::key::{ANY, CHOSEN, PEN_TABLE_1, When, float, int};
use pumice_types::{choice, keys};

use super::recovery::Recovery;

choice! {
    /// How a layer merges blocks.
    pub enum MergeMethod {
        /// Always the full merge.
        BlockErase = "block-erase",
        /// M-Merge where it is cheaper and allowed.
        MMerge = "m-merge",
        /// M-Merge that restores only as many partial blocks as the pages to place need.
        MMergeBudgeted = "m-merge-budgeted",
    }
}

choice! {
    /// Where the map is.
    pub enum MapPlace {
        /// The whole map is in RAM.
        Ram = "ram",
        /// In translation pages in flash, cached on demand.
        Cached = "cached",
        /// In spare areas, cached.
        Spare = "spare",
    }
}

choice! {
    /// Where the controller finds out what a U-block holds.
    pub enum UIndex {
        /// In the spare areas, newest page first.
        Spare = "spare",
        /// In RAM, at no flash cost.
        Ram = "ram",
    }
}

choice! {
    /// Where the controller finds out how far a U-block is written.
    pub enum UPointer {
        /// In RAM, at no flash cost.
        Ram = "ram",
        /// In the spare areas, by halving, for each access that needs it.
        Search = "search",
    }
}

keys! {
    /// Keys of `[ftl]` that several layers read.
    pub struct SharedKeys in "ftl" {
        merge: MergeMethod = "\"block-erase\"", ANY, "", "PEN, FAST'18, section 5.2", When::Always,
            "block-erase: always the full merge. m-merge: restore partial blocks where cheaper and allowed; needs partial_erase.unit = \"partial-block\". m-merge-budgeted (superblock-pen, superblock-2006): restore only as many as needed, at least cost.";
        over_provisioning: f64 = "0.0909090909090909", float(0.0, 0.99), "spare / raw", "PEN, FAST'18, Table 1: 10 % read as spare / user", When::Always,
            "Share of the raw capacity that the host cannot address: x / (1 + x) for a share x of the user capacity (`ftl.spare_over_user`). User capacity is rounded down to whole logical blocks a plane.";
        spare_over_user: Option<f64> = "", float(0.0, 99.0), "spare / user", "that of over_provisioning", When::Always,
            "ftl.over_provisioning as a share of the user capacity (0.07: 960 GB on 1,024 GB of flash): over_provisioning = x / (1 + x). Of the two the one set last counts.";
        gc_free_threshold: f64 = "0.08", float(0.0, 1.0), "share of a plane's blocks", PEN_TABLE_1, When::Always,
            "Free blocks at or under which a plane collects garbage, before nftl takes a U-block, superblock-pen another block, or page opens a block. zns: empty zones at or under which the host cleans, at least two, with ftl.recovery three more.";
        map_place: MapPlace = "\"ram\"", ANY, "", CHOSEN, When::Always,
            "Where the map is. ram: in RAM. cached (page): in translation pages in flash, on blocks of the over-provisioning; entries are cached on demand, dirty ones written back in batches (DFTL). spare (superblock-2006): in spare areas, in three levels, with a cache.";
        map_cache_entries: Option<u32> = "", int(1, pumice_types::key::COUNT_MAX), "entries", "cached: none, it needs this or map_ram_kib. spare: 16 (EMSOFT'06, section 5.2)", When::Any(&[When::Is("ftl.kind", &["page"]), When::Is("ftl.map_place", &["spare"])]),
            "map_place = \"cached\": map entries in the cache. \"spare\": logical blocks of a plane whose tables are cached, least recently used out first.";
        u_index: UIndex = "\"spare\"", ANY, "", "PEN, FAST'18, section 2.2.1", When::Always,
            "Where the contents of a U-block are looked up. spare: in its spare areas, newest page first. ram: in RAM, at no flash cost.";
        u_pointer: UPointer = "\"ram\"", ANY, "", "chosen; search: PEN, FAST'18, section 2.2.1", When::Is("ftl.u_index", &["spare"]),
            "nftl, gftl, pbe: where the next free page of a U-block is known. ram: in two bytes a logical block. search: nowhere; each write to a U-block, and each read of its logical block, first finds it by bisection, one spare read a step (flash.reads.map).";
        recovery: Recovery = "\"off\"", ANY, "", CHOSEN, When::Always,
            "How the layer recovers after a power cut. off: power never fails. scan: from the spare areas of all pages. summary (page): from lists in the last pages of each block; spare areas only where there is none. checkpoint (page): from pages of the map, a journal, and spare areas of younger data.";
        u_blocks: Option<u32> = "", int(1, 1 << 20), "blocks a plane", "all that over-provisioning leaves", When::Always,
            "superblock-2006, replacement-block, log-block, fast: most U-blocks (log blocks) of a plane in use at once, besides D-blocks and the block that merges copy into.";
    }
}

keys! {
    /// Keys of `[ftl.superblock]` that both layers with superblocks read.
    pub struct SuperblockKeys in "ftl.superblock" {
        logical: u32 = "4", int(1, 4096), "blocks", "PEN, FAST'18, Table 1; EMSOFT'06, section 5.2", When::Always,
            "Adjacent logical blocks of a superblock: M of superblock-pen, N of superblock-2006.";
        physical: Option<u32> = "", int(2, 1 << 20), "blocks", "superblock-pen: logical + 1. superblock-2006: 8 with the map in spare areas (EMSOFT'06, section 4.2), no limit with the map in RAM", When::Always,
            "Blocks that a superblock may own, more than its logical ones.";
    }
}
