//! Every key of the spec, once: type, unit, default, allowed values, source and meaning.
//!
//! Parsing, error texts, JSON Schema, `explain` and `--set` all read this table; a test holds it
//! against the typed [`super::Spec`]. A key enters when what it names works.

use pumice_types::{EraseMode, EraseScheme, Suspension};

use super::shown;

/// What a key's value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Whole number in a range, both ends included.
    Int(i64, i64),
    /// Number in a range, both ends included.
    Float(f64, f64),
    /// `true` or `false`.
    Bool,
    /// Any text.
    Text,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// List of numbers in a range.
    Floats(f64, f64),
}

/// One key of the spec.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// `section.key`, or a bare top-level key.
    pub path: &'static str,
    /// Allowed values.
    pub kind: Kind,
    /// Unit, empty if it has none.
    pub unit: &'static str,
    /// Default as TOML text; `None` if the key is absent unless given.
    pub default: Option<&'static str>,
    /// Where the default comes from.
    pub source: &'static str,
    /// What the key means.
    pub text: &'static str,
}

const COUNT: i64 = 1 << 31;
const ANY_US: Kind = Kind::Float(0.0, 1e9);

const fn key(
    path: &'static str,
    kind: Kind,
    unit: &'static str,
    default: &'static str,
    notes: [&'static str; 2],
) -> Key {
    let default = if default.is_empty() { None } else { Some(default) };
    Key { path, kind, unit, default, source: notes[0], text: notes[1] }
}

const PEN1: &str = "PEN, FAST'18, Table 1";
const AERO2: &str = "AERO, ASPLOS'24, Table 2";
const CHOSEN: &str = "chosen";
const SFWS: &str = "Buddhanoy et al., GLSVLSI'24, section 2.1";

const ORDERS: &[&str] = &[
    "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP", "WDPC", "WPCD", "WPDC", "DCWP", "DCPW",
    "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW", "PWCD", "PWDC", "PDCW", "PDWC",
];

/// The table.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("seed", Kind::Int(0, i64::MAX), "", "1", [CHOSEN, "Seed of every random stream: twins, generators, bad blocks. Same spec and seed, same result."]),

    key("geometry.channels", Kind::Int(1, 1024), "", "8", [PEN1, "Channels of the device."]),
    key("geometry.chips_per_channel", Kind::Int(1, 1024), "", "2", [PEN1, "Chips on one channel."]),
    key("geometry.dies_per_chip", Kind::Int(1, 64), "", "2", [PEN1, "Dies of one chip. A die runs one command at a time."]),
    key("geometry.planes_per_die", Kind::Int(1, 64), "", "2", [PEN1, "Planes of one die."]),
    key("geometry.blocks_per_plane", Kind::Int(1, 1 << 20), "", "1888", [PEN1, "Blocks of one plane, bad ones included."]),
    key("geometry.pages_per_block", Kind::Int(1, 16384), "pages", "576", [PEN1, "Pages of one block."]),
    key("geometry.page_bytes", Kind::Int(512, 1 << 20), "bytes", "16384", [PEN1, "User bytes of one page; a multiple of 512."]),
    key("geometry.spare_bytes", Kind::Int(0, 1 << 16), "bytes", "1280", [PEN1, "Spare bytes of one page; a page transfer moves them too, a spare search moves only them."]),
    key("geometry.layers", Kind::Int(1, 16384), "", "", [SFWS, "Layers (word lines) of a block. With sub_blocks and bits_per_cell it gives the pages of a block: layers x sub_blocks x bits_per_cell = pages_per_block. Absent: where pages lie in the block is not modelled."]),
    key("geometry.sub_blocks", Kind::Int(1, 32), "", "", [SFWS, "Physical sub-blocks of a block: rows of pillars with select gates of their own. Given together with layers."]),
    key("geometry.bits_per_cell", Kind::Int(1, 5), "pages of a cell", "1", ["chosen: the paper's example is SLC, its chip MLC", "Bits, and so pages, of one cell. Counts with layers and sub_blocks."]),
    key("geometry.write_sequence", Kind::Choice(&["lfws", "sfws"]), "", "\"lfws\"", ["Buddhanoy et al., GLSVLSI'24, section 4", "Order of a block's pages. lfws: layer first, all sub-blocks of a layer in turn. sfws: sub-block first, all layers of a sub-block in turn; needs layers and sub_blocks."]),
    key("geometry.program_order", Kind::Choice(&["in-order", "any"]), "", "\"any\"", ["chosen: NFTL places by offset", "in-order: pages of an erase unit are programmed in ascending order, gaps allowed. any: every erased page may be programmed (a deviation from real 3D NAND that block-level FTLs need)."]),
    key("geometry.bad_blocks_per_plane", Kind::Int(0, 1 << 20), "", "0", [CHOSEN, "Blocks of each plane that are bad from the factory, drawn by the seed."]),

    key("timing.t_r_us", ANY_US, "us", "70.0", [PEN1, "Page read into the die's register, tR."]),
    key("timing.t_prog_us", ANY_US, "us", "900.0", [PEN1, "Page program, tPROG."]),
    key("timing.t_bers_us", ANY_US, "us", "10000.0", [PEN1, "Whole-block erase, tBERS."]),
    key("timing.channel_mb_per_s", Kind::Float(0.001, 1e6), "10^6 bytes/s", "400.0", ["chosen: PEN prints none", "Transfer rate of a channel. Every rate costs time."]),
    key("timing.copyback", Kind::Bool, "", "true", ["PEN's arithmetic counts no transfer for a copy", "Copies inside a plane stay on the die. Off: a copy moves its page over the channel out and in again."]),
    key("timing.command_overhead_us", ANY_US, "us", "0.0", [CHOSEN, "Command and address cycles on the channel, before each transfer."]),
    key("timing.multi_plane", Kind::Bool, "", "false", [CHOSEN, "Neighbours in a die's queue that read, or program, one page number of several of its planes, or erase a block in each of several, run as one command: their array times are one, that of the slowest plane."]),

    key("erase.scheme", Kind::Choice(&EraseScheme::NAMES), "", "\"fixed\"", [CHOSEN, "fixed: every erase takes tBERS, or its level's time in the partial-erase table. ispe: full pulses at rising voltage until a verify passes. i-ispe: begins in the loop that ended the block's last erase. dpes: ispe at lower voltage, with slower programs, up to 3K PEC. aero-cons: pulses predicted from fail bits, to a complete erase. aero: leaves to the ECC what the requirement allows. aero-fit: aero at a fitted wear."]),
    key("erase.mode", Kind::Choice(&EraseMode::NAMES), "", "\"table\"", ["chosen: table reproduces", "table: each scheme meets the pulse times measured under it. mechanism: one measured need for all; what a scheme does with it follows from its rules."]),
    key("erase.initial_pec", Kind::Int(0, 65_535), "P/E cycles", "0", [CHOSEN, "Program/erase cycles of every block before the run. Pulse times change up to 5000."]),
    key("erase.rber_requirement", Kind::Int(40, 63), "bits/KiB", "63", ["AERO, ASPLOS'24, section 5.4", "Raw bit errors after a year beyond which a block is unusable: 40, 50 or 63."]),
    key("erase.ecc_bits_per_kib", Kind::Float(1.0, 8192.0), "bits/KiB", "72.0", ["AERO, ASPLOS'24, section 5.4", "Raw bit errors that the controller's code corrects in one KiB. Under an erase scheme that wears blocks, rber_requirement may not be above it."]),
    key("erase.read_retry", Kind::Bool, "", "false", [CHOSEN, "Pages with more bit errors than erase.ecc_bits_per_kib are read again, each time tR and a transfer, until the code can correct what is left. Errors follow from the wear of the block and, with geometry.layers and geometry.sub_blocks, from the page's place and the write sequence. Off: every read succeeds at once."]),
    key("erase.misprediction_rate", Kind::Float(0.0, 1.0), "", "0.0", ["AERO, ASPLOS'24, section 7.4: none was seen", "Chance that a pulse predicted from fail bits is one unit pulse (a seventh of t_ep_us) short."]),
    key("erase.max_loops", Kind::Int(1, 5), "loops", "5", ["AERO, ASPLOS'24, section 3.2", "Erase loops, and voltage levels, after which an erase has failed and its block is retired. Five erase every measured block; fewer need ftl.kind = \"page\"."]),
    key("erase.t_ep_us", Kind::Float(0.007, 1e9), "us", "3500.0", [AERO2, "Erase pulse of one loop. Its seventh is the unit pulse, 0.5 ms, in which pulse times are measured."]),
    key("erase.t_vr_us", ANY_US, "us", "100.0", ["AERO, ASPLOS'24, section 3.2", "Verify read after each pulse."]),
    key("erase.t_se_us", Kind::Float(0.001, 1e9), "us", "1000.0", [AERO2, "Shallow erase that begins an erase under aero-cons, aero and aero-fit; one to six sevenths of t_ep_us."]),
    key("erase.gamma", Kind::Int(1, COUNT), "fail bits", "500", ["chosen: a tenth of delta; AERO, ASPLOS'24, section 5.2 prints gamma << delta", "Most fail bits with one unit pulse to go. Controller and chip share gamma and delta, so no erase time hangs on their values; they scale the counts that figures show."]),
    key("erase.delta", Kind::Int(2, 100_000_000), "fail bits", "5000", ["AERO, ASPLOS'24, section 5.2", "Fail bits that one unit pulse takes away."]),
    key("erase.suspension", Kind::Choice(&Suspension::NAMES), "", "\"off\"", [CHOSEN, "Where host reads interrupt an erase (needs host.read_priority = true). loop: after each verify read. pulse: after each unit pulse and verify read. capped: as pulse, until the erase was suspended max_suspensions times or its block is needed."]),
    key("erase.suspend_us", ANY_US, "us", "0.0", ["chosen: between pulses no voltage is to be taken down", "Time from the boundary until the die takes a read."]),
    key("erase.resume_us", ANY_US, "us", "0.0", ["chosen, as suspend_us", "Time until a suspended erase goes on."]),
    key("erase.max_suspensions", Kind::Int(0, COUNT), "", "10", [CHOSEN, "Suspensions of one erase under suspension = \"capped\"."]),

    key("partial_erase.unit", Kind::Choice(&["none", "partial-block", "sub-block"]), "", "\"partial-block\"", ["PEN, FAST'18, section 4", "What the chip can erase besides a whole block. partial-block: the halves, quarters, ... of a block. sub-block: any set of the physical sub-blocks of a block in one operation of tBERS, without disturb; needs geometry.layers and geometry.sub_blocks."]),
    key("partial_erase.max_splits", Kind::Int(0, 12), "", "6", [PEN1, "L: how often a block is halved. 2^L must divide the pages of a block."]),
    key("partial_erase.t_us", Kind::Floats(0.0, 1e9), "us", "", ["PEN, FAST'18, Table 1, by partial-block pages", "Partial-erase times, level 0 (the block, so tBERS) first, L + 1 entries. Absent: Table 1, linear in log2(pages) between its entries; level 0 is tBERS."]),
    key("partial_erase.disturb_tolerance", Kind::Int(0, 255), "", "1", [PEN1, "Disturbs that a leaf survives. Beyond it, its pages read corrupt."]),
    key("partial_erase.disturb_aware", Kind::Bool, "", "true", ["PEN, FAST'18, section 5.2.2", "Merges restore leaves before they are disturbed beyond tolerance."]),
    key("partial_erase.wear_limit_w", Kind::Int(0, COUNT), "", "16", [PEN1, "W: M-Merges that a D-block (or a superblock) may take between two full merges."]),

    key("ftl.kind", Kind::Choice(&["nftl", "page", "superblock", "replacement-block", "log-block", "fast"]), "", "\"nftl\"", [CHOSEN, "Translation layer. nftl: block-level mapping with one U-block a D-block. page: one map entry a page. superblock: adjacent logical blocks share their blocks, see ftl.superblock.variant. replacement-block: chains of blocks programmed in place. log-block: a limited number of U-blocks, at most one a D-block. fast: log blocks that all logical blocks share."]),
    key("ftl.merge", Kind::Choice(&["block-erase", "m-merge", "m-merge-budgeted"]), "", "\"block-erase\"", ["PEN, FAST'18, section 5.2", "block-erase: always the full merge. m-merge: restore partial blocks where that is cheaper and allowed; needs partial_erase.unit = \"partial-block\". m-merge-budgeted: superblock only; restore only as many as the pages to place need, at least cost."]),
    key("ftl.superblock.variant", Kind::Choice(&["pen", "2006"]), "", "\"pen\"", ["PEN, FAST'18, section 5.3", "kind = \"superblock\": which one. pen: map in RAM, intra and inter merges, M-Merge. 2006: the FTL of EMSOFT'06 with switch, partial and full merges."]),
    key("ftl.superblock.logical", Kind::Int(1, 4096), "blocks", "4", ["PEN, FAST'18, Table 1; EMSOFT'06, section 5.2", "M (variant pen) or N (variant 2006): adjacent logical blocks of a superblock."]),
    key("ftl.superblock.physical", Kind::Int(2, 1 << 20), "blocks", "", ["variant pen: logical + 1. variant 2006: 8 with the map in spare areas (EMSOFT'06, section 4.2), no limit with the map in RAM", "Blocks that a superblock may own, more than its logical ones."]),
    key("ftl.superblock.valid_blocks", Kind::Choice(&["copy", "keep"]), "", "\"copy\"", ["EMSOFT'06, section 4.3, as it is written", "Variant 2006: D-blocks without an invalid page, when a full merge goes on beyond two blocks. copy: copied like the others, before the U-block. keep: they stay, because copying them wins nothing."]),
    key("ftl.comparator", Kind::Choice(&["none", "gftl", "pbe"]), "", "\"none\"", [CHOSEN, "nftl: what PEN is compared with. gftl: full pairs are merged slot by slot, one slot of tBERS a page written, their writes buffered meanwhile (Choudhuri and Givargis, 2008). pbe: chips without disturb that lose ftl.capacity_loss of their blocks (US 9,286,989)."]),
    key("ftl.capacity_loss", Kind::Float(0.0, 0.9), "share of a plane's blocks", "0.0", ["PEN, FAST'18, Figure 15c goes to 0.165", "comparator = \"pbe\": blocks that isolating partial blocks costs. Over-provisioning, fill and threshold remain shares of what is left."]),
    key("ftl.write_buffer_share", Kind::Float(0.0, 1.0), "share of a plane's blocks", "0.16", ["Choudhuri and Givargis, CODES+ISSS 2008", "comparator = \"gftl\": write-buffer blocks that each plane has in addition to geometry.blocks_per_plane, at least 1."]),
    key("ftl.over_provisioning", Kind::Float(0.0, 0.99), "spare / raw", "0.0909090909090909", ["PEN, FAST'18, Table 1: 10 % read as spare / user", "Share of the raw capacity that the host cannot address. User capacity is rounded down to whole logical blocks a plane."]),
    key("ftl.gc_free_threshold", Kind::Float(0.0, 1.0), "share of a plane's blocks", "0.08", [PEN1, "At or under this many free blocks a plane collects garbage: nftl merges a victim before it takes a U-block, superblock before it gives a superblock another block, page reclaims before it opens a block."]),
    key("ftl.gc_stop_threshold", Kind::Float(0.0, 1.0), "share of a plane's blocks", "", ["the start threshold", "page: a plane that reclaims goes on until it has more free blocks than this."]),
    key("ftl.gc_policy", Kind::Choice(&["greedy", "cost-benefit", "d-choices", "fifo", "random"]), "", "\"greedy\"", [CHOSEN, "page: which block is reclaimed. greedy: fewest valid pages. cost-benefit: largest age (1 - u) / 2u. d-choices: fewest valid pages of d_choices random blocks. fifo: closed first. random: any."]),
    key("ftl.d_choices", Kind::Int(1, 1024), "blocks", "8", [CHOSEN, "Random blocks that gc_policy = \"d-choices\" looks at."]),
    key("ftl.erase_unit", Kind::Choice(&["block", "partial-block", "sub-block"]), "", "\"block\"", [CHOSEN, "page: what collection reclaims and erases; a part needs the partial_erase.unit of its name. block: whole blocks. partial-block: the partial blocks of a block that win the most pages in a given time of the die, with the leaves that their erases would disturb beyond tolerance. sub-block: any set of physical sub-blocks of a block in one operation of tBERS."]),
    key("ftl.allocation", Kind::Choice(&["dynamic", "static"]), "", "\"dynamic\"", [CHOSEN, "page: which plane a write goes to. dynamic: the next one in turn that has room, so all planes fill alike and collect at the same time. static: the one of its logical page (pages are dealt to the planes in allocation_order), as MQSim does; writes then wait for the plane that collects."]),
    key("ftl.allocation_order", Kind::Choice(ORDERS), "", "\"CWDP\"", [CHOSEN, "page: order in which writes visit (or pages are dealt to) channels (C), chips (W), dies (D) and planes (P), first letter fastest."]),
    key("ftl.gc_mode", Kind::Choice(&["blocking", "foreground", "background", "preemptible"]), "", "\"blocking\"", ["PEN, FAST'18, section 2.2.2", "blocking: a merge holds its die, and the write that triggered it waits for it. page knows more: foreground reclaims behind that write's own program; background reclaims in steps of one page while a die is idle, at or under the stop threshold; preemptible in such steps from the start to the stop threshold. Without a block to spare, a write waits in every mode."]),
    key("ftl.hot_cold", Kind::Choice(&["mixed", "gc", "recency"]), "", "\"gc\"", [CHOSEN, "page: which pages share an open block of a plane. mixed: all of them. gc: copies of collection have one of their own. recency: so have hot pages, one for those written and one for those copied; hot are those that the host wrote before in this window or the last one."]),
    key("ftl.hot_window", Kind::Float(1e-9, 1000.0), "user capacities", "0.5", ["chosen: see docs/MODELS.md", "Host writes of a window of hot_cold = \"recency\"."]),
    key("ftl.wear_leveling", Kind::Choice(&["none", "dynamic", "static", "both"]), "", "\"none\"", [CHOSEN, "page: dynamic takes the free block with the fewest erases, not the one free longest. static moves the data of the least erased closed block of a plane when the most erased one is more than wear_threshold ahead."]),
    key("ftl.wear_threshold", Kind::Int(1, COUNT), "erases", "50", [CHOSEN, "Erases between a plane's most erased block and its least erased closed one beyond which static levelling moves data."]),
    key("ftl.map_place", Kind::Choice(&["ram", "cached", "spare"]), "", "\"ram\"", [CHOSEN, "Where the map is. ram: all of it in RAM. cached (page): in translation pages in flash, which take their blocks from the over-provisioning; entries are cached on demand, dirty ones written back in batches (DFTL). spare (superblock, variant 2006): in spare areas, in three levels, with a cache; the rivals of 2006 keep the map of their U-blocks in RAM in either case."]),
    key("ftl.map_ram_kib", Kind::Int(1, COUNT), "KiB", "", ["none: map_place = \"cached\" needs this or map_cache_entries", "RAM for cached map entries, 8 bytes each; the directory of translation pages comes on top."]),
    key("ftl.map_cache_entries", Kind::Int(1, COUNT), "entries", "", ["cached: none, it needs this or map_ram_kib. spare: 16 (EMSOFT'06, section 5.2)", "map_place = \"cached\": map entries that the cache holds. map_place = \"spare\": logical blocks of a plane whose tables are cached, least recently used out first."]),
    key("ftl.u_index", Kind::Choice(&["spare", "ram"]), "", "\"spare\"", ["PEN, FAST'18, section 2.2.1", "Where the contents of a U-block are looked up. spare: in its spare areas, newest page first, paid for. ram: in RAM, at no flash cost."]),

    key("ftl.u_blocks", Kind::Int(1, 1 << 20), "blocks a plane", "", ["all that over-provisioning leaves", "superblock, replacement-block, log-block, fast: most U-blocks (log blocks) of a plane in use at once, beside the D-blocks and the block that merges copy into."]),

    key("host.mode", Kind::Choice(&["open-loop", "closed-loop"]), "", "\"open-loop\"", [CHOSEN, "open-loop: requests arrive by the workload's clock. closed-loop: a fixed number is always outstanding."]),
    key("host.queue_depth", Kind::Int(1, 65536), "requests", "1", [CHOSEN, "Requests outstanding in each queue of a closed loop."]),
    key("host.queues", Kind::Int(1, 65536), "queues", "1", [CHOSEN, "Queues of a closed loop, served in turn: queues x queue_depth requests are outstanding."]),
    key("host.speedup", Kind::Float(1e-6, 1e9), "", "1.0", [CHOSEN, "Arrival times are divided by this (open loop)."]),
    key("host.write_buffer_kib", Kind::Int(0, 1 << 30), "KiB", "0", ["PEN and the 2006 papers know none", "DRAM that holds written pages until they are programmed; a write is done when it is stored there. 0: none, a write is done when it is programmed."]),
    key("host.flush", Kind::Choice(&["eager", "lru"]), "", "\"eager\"", [CHOSEN, "When buffered pages are programmed. eager: at once. lru: least recently written first, while more than three quarters of the buffer wait; pages written again meanwhile are programmed once."]),
    key("host.link_mb_per_s", Kind::Float(0.001, 1e6), "10^6 bytes/s", "", ["no time on the link", "Rate of the link to the host in each direction. Absent: it costs no time."]),
    key("host.overhead_us", ANY_US, "us", "0.0", [CHOSEN, "Fixed time that the controller takes for each request before it starts."]),
    key("host.partial_page", Kind::Choice(&["rmw", "whole-page"]), "", "\"rmw\"", ["chosen: what a drive with a map entry a page must do", "Writes of part of a page. rmw: the old copy is read first, unless the write buffer holds the rest. whole-page: the page is programmed, nothing is read first."]),
    key("host.read_priority", Kind::Bool, "", "false", [CHOSEN, "Host reads go before everything on their die that has not started; a blocking merge that has started runs to its end. Reads that must search spare areas first keep their place."]),

    key("workload.kind", Kind::Text, "", "\"twin:prn_1\"", [CHOSEN, "twin:NAME (see `pumice workloads`), trace, a FAT32 file system in use: pic, mp3, mov, pmp-2g, pmp-4g, pc, or a generator: uniform, sequential, zipf, hot-cold, and w10, w20, w30, w40 (one-page random writes)."]),
    key("workload.path", Kind::Text, "", "", ["none", "Trace file, plain or compressed with gzip, zstd or xz (kind = \"trace\")."]),
    key("workload.format", Kind::Text, "", "", ["found by content", "Trace format: msr, alibaba, tencent, spc, ssdsim, disksim, systor, blkparse or fio."]),
    key("workload.address", Kind::Choice(&["exact", "wrap", "compact"]), "", "\"exact\"", [CHOSEN, "Requests beyond the device. exact: an error. wrap: address modulo capacity. compact: touched regions packed in order of first touch."]),
    key("workload.volumes", Kind::Text, "", "\"overlay\"", [CHOSEN, "Traces of several volumes. overlay: all share one address space. separate: each has a region of its own, in order of first appearance. Else the number or name of the one volume to replay."]),
    key("workload.trims", Kind::Choice(&["keep", "drop"]), "", "\"keep\"", [CHOSEN, "Trims (discards) of a trace. keep: requests like others. drop: left out and counted. Formats that have them: blkparse, fio."]),
    key("workload.requests", Kind::Int(1, i64::MAX), "requests", "1000000", [CHOSEN, "Length of a generated workload."]),
    key("workload.request_bytes", Kind::Int(512, 1 << 30), "bytes", "16384", [CHOSEN, "Size of a generated request."]),
    key("workload.request_sizes", Kind::Floats(512.0, 1073741824.0), "bytes", "", ["request_bytes alone", "Sizes of generated requests, mixed by request_weights."]),
    key("workload.request_weights", Kind::Floats(0.0, 1e9), "", "", ["equal weights", "Weight of each of request_sizes."]),
    key("workload.read_fraction", Kind::Float(0.0, 1.0), "share of requests", "0.0", [CHOSEN, "Reads among generated requests."]),
    key("workload.trim_fraction", Kind::Float(0.0, 1.0), "share of requests", "0.0", [CHOSEN, "Trims among generated requests; with read_fraction at most 1, the rest are writes."]),
    key("workload.footprint", Kind::Float(1e-9, 1.0), "share of user capacity", "1.0", [CHOSEN, "Addresses that a generated workload touches."]),
    key("workload.zipf_theta", Kind::Float(0.0, 10.0), "", "0.99", ["chosen: YCSB's default", "Exponent of Zipf's law (kind = \"zipf\"); 0 is uniform."]),
    key("workload.hot_space", Kind::Float(1e-9, 0.999999999), "share of the footprint", "0.2", [CHOSEN, "Hot part of the footprint (kind = \"hot-cold\")."]),
    key("workload.hot_share", Kind::Float(0.0, 1.0), "share of requests", "0.8", [CHOSEN, "Requests that go to the hot part (kind = \"hot-cold\")."]),
    key("workload.arrival", Kind::Choice(&["poisson", "fixed", "bursty"]), "", "\"poisson\"", [CHOSEN, "Arrivals of a generated workload (open loop). bursty: two-phase hyper-exponential with interarrival_cv."]),
    key("workload.mean_interarrival_us", Kind::Float(0.001, 1e12), "us", "1000.0", [CHOSEN, "Mean time between generated requests (open loop)."]),
    key("workload.mean_extent_kib", Kind::Float(4.0, 1e9), "KiB", "", ["the twin's own, see docs/WORKLOADS.md", "Mean length of a twin's write extents, for sensitivity studies."]),
    key("workload.write_extent_read_share", Kind::Float(0.0, 1.0), "share of read bytes", "", ["the twin's own, see docs/WORKLOADS.md", "Read bytes of a twin that go to its write extents, for sensitivity studies."]),
    key("workload.fat_volume_mib", Kind::Int(128, 32768), "MiB", "", ["the paper's storage size", "Size of the FAT32 volume (kind = \"pic\", \"mp3\", \"mov\", \"pmp-2g\", \"pmp-4g\", \"pc\"), before scaling."]),
    key("workload.fat_flush_kib", Kind::Int(1, 1048576), "KiB", "32", [CHOSEN, "File data after which a FAT32 workload writes both allocation tables and changed directories."]),
    key("workload.fat_fragmentation", Kind::Float(0.0, 0.5), "share of clusters", "0.02", [CHOSEN, "Clusters of a FAT32 volume that small static files hold at random places, so that others lie in pieces."]),
    key("workload.interarrival_cv", Kind::Float(1.0, 1000.0), "", "7.0", ["chosen: short slices of real traces show 3.4 to 7.2, a week more", "Coefficient of variation of inter-arrival times: of twins, and of arrival = \"bursty\" (two-phase hyper-exponential)."]),
    key("workload.kind_persistence", Kind::Float(0.0, 0.9999), "", "0.0", ["chosen: no published figure; 0 mixes kinds in every burst", "Chance that a request of a twin is of the kind of the one before it, else its kind is drawn. Towards 1 bursts of reads and bursts of writes come apart."]),

    key("initial.fill", Kind::Float(0.0, 1.0), "share", "0.95", [PEN1, "What is stored before the first request."]),
    key("initial.fill_unit", Kind::Choice(&["block", "page"]), "", "\"block\"", [CHOSEN, "block: this share of the logical blocks is full, the others are empty. page: every logical block is full up to this share of its pages. A page-level FTL is filled with this share of its logical pages, from the first one, in either case."]),
    key("initial.age_writes", Kind::Float(0.0, 1000.0), "user capacities", "0.0", [CHOSEN, "Random one-page writes over the workload's footprint before the first request, untimed and not counted."]),

    key("run.max_requests", Kind::Int(1, i64::MAX), "requests", "", ["no limit", "Stop after this many requests."]),
    key("run.warmup_requests", Kind::Int(0, i64::MAX), "requests", "0", [CHOSEN, "Requests before measuring starts."]),
    key("run.timed", Kind::Bool, "", "true", [CHOSEN, "Off: no clock, no latencies; the same commands, counts and wear, faster."]),
    key("run.check", Kind::Choice(&["rules", "integrity"]), "", "\"rules\"", [CHOSEN, "rules: every flash rule and the tag of every page read. integrity: also a full read-back at the end; a corrupt or lost page ends with status 1."]),

    key("output.request_log", Kind::Bool, "", "false", [CHOSEN, "File request_log.parquet: every measured request with its arrival, completion, kind, offset, bytes and latency. One run with a clock and an output directory."]),
    key("output.command_log", Kind::Bool, "", "false", [CHOSEN, "File command_log.bin.zst: every flash command of the run, with the initial state; `pumice verify` replays it into the chip's rules. One run with an output directory."]),
    key("output.histograms", Kind::Bool, "", "false", [CHOSEN, "File latency.hlog: latencies of reads, writes and trims as HDR histograms (V2 interval log), in nanoseconds. One run with a clock and an output directory."]),
    key("output.wear_map", Kind::Bool, "", "false", [CHOSEN, "File wear_map.npy: erases of every leaf of every block, one row a block. One run with an output directory."]),
    key("output.time_series_s", Kind::Float(1e-6, 1e9), "s", "", ["no time series", "Length of a window of time_series in the result document: requests and latencies by the time at which requests were done."]),
];

/// The key with this path.
fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// Whether a key lies in this section, or in a section inside it.
fn is_inside(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether there is a section of this name, such as `ftl` or `ftl.superblock`.
pub fn is_section(path: &str) -> bool {
    KEYS.iter().any(|key| is_inside(key.path, path))
}

/// The key with this path, or in one line why there is none and what there is.
pub fn lookup(path: &str) -> Result<&'static Key, String> {
    let names: Vec<&str> = KEYS.iter().map(|key| key.path).filter(|key| is_inside(key, path)).collect();
    match find(path) {
        Some(key) => Ok(key),
        None if !names.is_empty() => Err(format!("'{path}' is a section; its keys are {}", names.join(", "))),
        None => Err(format!("unknown key '{}'; nearest valid key: '{}'", shown(path), nearest(path))),
    }
}

/// The nearest valid path to a misspelt one; a right key in a wrong section counts as near.
pub fn nearest(path: &str) -> &'static str {
    let own_name = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
    let wanted = own_name(path);
    let distance = |key: &Key| {
        let whole = strsim::damerau_levenshtein(path, key.path);
        whole.min(strsim::damerau_levenshtein(&wanted, &own_name(key.path)) + 1)
    };
    KEYS.iter().min_by_key(|key| distance(key)).map_or("seed", |key| key.path)
}

impl Kind {
    /// The allowed values in words.
    pub fn allowed(&self) -> String {
        match self {
            Kind::Int(low, i64::MAX) => format!("a whole number from {low} to 2^63 - 1"),
            Kind::Int(low, high) => format!("a whole number from {low} to {high}"),
            Kind::Float(low, high) => format!("a number from {low} to {high}"),
            Kind::Bool => "true or false".into(),
            Kind::Text => "a text".into(),
            Kind::Choice(names) => names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(" | "),
            Kind::Floats(low, high) => format!("a list of numbers from {low} to {high}"),
        }
    }

    /// The value in the form that the spec stores, if it is allowed. Whole numbers serve as floats.
    pub fn accept(&self, value: &toml::Value) -> Option<toml::Value> {
        use toml::Value;
        let number = |value: &Value, low: f64, high: f64| {
            let x = value.as_float().or_else(|| value.as_integer().map(|i| i as f64))?;
            (low..=high).contains(&x).then_some(Value::Float(x))
        };
        match self {
            Kind::Int(low, high) => value.as_integer().filter(|i| (low..=high).contains(&i)).map(Value::Integer),
            Kind::Float(low, high) => number(value, *low, *high),
            Kind::Bool => value.as_bool().map(Value::Boolean),
            Kind::Text => value.as_str().map(Value::from),
            Kind::Choice(names) => value.as_str().filter(|text| names.contains(text)).map(Value::from),
            Kind::Floats(low, high) => {
                let list: Option<Vec<_>> = value.as_array()?.iter().map(|v| number(v, *low, *high)).collect();
                list.map(Value::Array)
            }
        }
    }
}
