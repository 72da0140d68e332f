//! Every key of the spec, once: type, unit, default, allowed values, source and meaning.
//!
//! Parsing, error texts, JSON Schema, `explain` and `--set` all read this table; a test holds it
//! against the typed [`super::Spec`]. A key enters when what it names works.

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
const CHOSEN: &str = "chosen";

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
    key("geometry.program_order", Kind::Choice(&["in-order", "any"]), "", "\"any\"", ["chosen: NFTL places by offset", "in-order: pages of an erase unit are programmed in ascending order, gaps allowed. any: every erased page may be programmed (a deviation from real 3D NAND that block-level FTLs need)."]),
    key("geometry.bad_blocks_per_plane", Kind::Int(0, 1 << 20), "", "0", [CHOSEN, "Blocks of each plane that are bad from the factory, drawn by the seed."]),

    key("timing.t_r_us", ANY_US, "us", "70.0", [PEN1, "Page read into the die's register, tR."]),
    key("timing.t_prog_us", ANY_US, "us", "900.0", [PEN1, "Page program, tPROG."]),
    key("timing.t_bers_us", ANY_US, "us", "10000.0", [PEN1, "Whole-block erase, tBERS."]),
    key("timing.channel_mb_per_s", Kind::Float(0.001, 1e6), "10^6 bytes/s", "400.0", ["chosen: PEN prints none", "Transfer rate of a channel. Every rate costs time."]),
    key("timing.copyback", Kind::Bool, "", "true", ["PEN's arithmetic counts no transfer for a copy", "Copies inside a plane stay on the die. Off: a copy moves its page over the channel out and in again."]),
    key("timing.command_overhead_us", ANY_US, "us", "0.0", [CHOSEN, "Command and address cycles on the channel, before each transfer."]),

    key("erase.scheme", Kind::Choice(&["fixed"]), "", "\"fixed\"", [CHOSEN, "fixed: every erase takes tBERS, or its level's time in the partial-erase table."]),

    key("partial_erase.unit", Kind::Choice(&["none", "partial-block"]), "", "\"partial-block\"", ["PEN, FAST'18, section 4", "What the chip can erase besides a whole block. partial-block: the halves, quarters, ... of a block."]),
    key("partial_erase.max_splits", Kind::Int(0, 12), "", "6", [PEN1, "L: how often a block is halved. 2^L must divide the pages of a block."]),
    key("partial_erase.t_us", Kind::Floats(0.0, 1e9), "us", "", ["PEN, FAST'18, Table 1, by partial-block pages", "Partial-erase times, level 0 (the block, so tBERS) first, L + 1 entries. Absent: Table 1, linear in log2(pages) between its entries; level 0 is tBERS."]),
    key("partial_erase.disturb_tolerance", Kind::Int(0, 255), "", "1", [PEN1, "Disturbs that a leaf survives. Beyond it, its pages read corrupt."]),
    key("partial_erase.disturb_aware", Kind::Bool, "", "true", ["PEN, FAST'18, section 5.2.2", "Merges restore leaves before they are disturbed beyond tolerance."]),
    key("partial_erase.wear_limit_w", Kind::Int(0, COUNT), "", "16", [PEN1, "W: M-Merges that a D-block may take between two full merges."]),

    key("ftl.kind", Kind::Choice(&["nftl", "page", "superblock", "replacement-block", "log-block", "fast"]), "", "\"nftl\"", [CHOSEN, "Translation layer. nftl: block-level mapping with one U-block a D-block. page: one map entry a page. superblock: adjacent logical blocks share their blocks, see ftl.superblock.variant. replacement-block: chains of blocks programmed in place. log-block: a limited number of U-blocks, at most one a D-block. fast: log blocks that all logical blocks share."]),
    key("ftl.merge", Kind::Choice(&["block-erase", "m-merge"]), "", "\"block-erase\"", ["PEN, FAST'18, section 5.2", "block-erase: always the full merge. m-merge: restore partial blocks where that is cheaper and allowed; needs partial_erase.unit = \"partial-block\"."]),
    key("ftl.over_provisioning", Kind::Float(0.0, 0.99), "spare / raw", "0.0909090909090909", ["PEN, FAST'18, Table 1: 10 % read as spare / user", "Share of the raw capacity that the host cannot address. User capacity is rounded down to whole logical blocks a plane."]),
    key("ftl.gc_free_threshold", Kind::Float(0.0, 1.0), "share of a plane's blocks", "0.08", [PEN1, "At or under this many free blocks a plane collects garbage: nftl merges a victim before it takes a U-block, page reclaims before it opens a block."]),
    key("ftl.gc_stop_threshold", Kind::Float(0.0, 1.0), "share of a plane's blocks", "", ["the start threshold", "page: a plane that reclaims goes on until it has more free blocks than this."]),
    key("ftl.gc_policy", Kind::Choice(&["greedy", "cost-benefit", "d-choices", "fifo", "random"]), "", "\"greedy\"", [CHOSEN, "page: which block is reclaimed. greedy: fewest valid pages. cost-benefit: largest age (1 - u) / 2u. d-choices: fewest valid pages of d_choices random blocks. fifo: closed first. random: any."]),
    key("ftl.d_choices", Kind::Int(1, 1024), "blocks", "8", [CHOSEN, "Random blocks that gc_policy = \"d-choices\" looks at."]),
    key("ftl.allocation_order", Kind::Choice(ORDERS), "", "\"CWDP\"", [CHOSEN, "page: order in which writes visit channels (C), chips (W), dies (D) and planes (P), first letter fastest."]),
    key("ftl.gc_mode", Kind::Choice(&["blocking"]), "", "\"blocking\"", ["PEN, FAST'18, section 2.2.2", "blocking: a merge holds its die, and the write that triggered it waits for it."]),
    key("ftl.u_index", Kind::Choice(&["spare", "ram"]), "", "\"spare\"", ["PEN, FAST'18, section 2.2.1", "Where the contents of a U-block are looked up. spare: in its spare areas, newest page first, paid for. ram: in RAM, at no flash cost."]),

    key("ftl.u_blocks", Kind::Int(1, 1 << 20), "blocks a plane", "", ["all that over-provisioning leaves", "superblock, replacement-block, log-block, fast: most U-blocks (log blocks) of a plane in use at once, beside the D-blocks and the block that merges copy into."]),
    key("ftl.map_place", Kind::Choice(&["ram", "spare"]), "", "\"ram\"", [CHOSEN, "superblock: where the page map is. ram: no flash access. spare (variant 2006): in spare areas, in three levels, with a cache. The rivals keep the map of their U-blocks in RAM in either case."]),
    key("ftl.map_cache_entries", Kind::Int(1, 1 << 24), "entries a plane", "16", ["EMSOFT'06, section 5.2", "map_place = \"spare\": logical blocks whose tables are cached, least recently used out first."]),
    key("ftl.superblock.variant", Kind::Choice(&["2006"]), "", "\"2006\"", [CHOSEN, "kind = \"superblock\": 2006 is the FTL of EMSOFT'06."]),
    key("ftl.superblock.logical", Kind::Int(1, 4096), "blocks", "4", ["EMSOFT'06, section 5.2", "Logical blocks of a superblock."]),
    key("ftl.superblock.physical", Kind::Int(2, 1 << 20), "blocks", "", ["8 with the map in spare areas (EMSOFT'06, section 4.2), no limit with the map in RAM", "Blocks that a superblock may own."]),
    key("ftl.superblock.valid_blocks", Kind::Choice(&["copy", "keep"]), "", "\"copy\"", ["EMSOFT'06, section 4.3, as it is written", "Variant 2006: D-blocks without an invalid page, when a full merge goes on beyond two blocks. copy: copied like the others, before the U-block. keep: they stay, because copying them wins nothing."]),

    key("host.mode", Kind::Choice(&["open-loop", "closed-loop"]), "", "\"open-loop\"", [CHOSEN, "open-loop: requests arrive by the workload's clock. closed-loop: a fixed number is always outstanding."]),
    key("host.queue_depth", Kind::Int(1, 65536), "requests", "1", [CHOSEN, "Requests outstanding in a closed loop."]),
    key("host.speedup", Kind::Float(1e-6, 1e9), "", "1.0", [CHOSEN, "Arrival times are divided by this (open loop)."]),
    key("host.partial_page", Kind::Choice(&["whole-page"]), "", "\"whole-page\"", ["PEN's figures know no read-modify-write", "Writes of part of a page. whole-page: the page is programmed, nothing is read first."]),

    key("workload.kind", Kind::Text, "", "\"twin:prn_1\"", [CHOSEN, "twin:NAME (see `pumice workloads`), trace, or a generator: uniform, sequential, zipf, hot-cold."]),
    key("workload.path", Kind::Text, "", "", ["none", "Trace file, plain or compressed with gzip, zstd or xz (kind = \"trace\")."]),
    key("workload.format", Kind::Text, "", "", ["found by content", "Trace format: msr, alibaba, tencent, spc, ssdsim, disksim, systor, blkparse or fio."]),
    key("workload.address", Kind::Choice(&["exact", "wrap", "compact"]), "", "\"exact\"", [CHOSEN, "Requests beyond the device. exact: an error. wrap: address modulo capacity. compact: touched regions packed in order of first touch."]),
    key("workload.volumes", Kind::Text, "", "\"overlay\"", [CHOSEN, "Traces of several volumes. overlay: all share one address space. separate: each has a region of its own, in order of first appearance. Else the number or name of the one volume to replay."]),
    key("workload.requests", Kind::Int(1, i64::MAX), "requests", "1000000", [CHOSEN, "Length of a generated workload."]),
    key("workload.request_bytes", Kind::Int(512, 1 << 30), "bytes", "16384", [CHOSEN, "Size of a generated request."]),
    key("workload.request_sizes", Kind::Floats(512.0, 1073741824.0), "bytes", "", ["request_bytes alone", "Sizes of generated requests, mixed by request_weights."]),
    key("workload.request_weights", Kind::Floats(0.0, 1e9), "", "", ["equal weights", "Weight of each of request_sizes."]),
    key("workload.read_fraction", Kind::Float(0.0, 1.0), "share of requests", "0.0", [CHOSEN, "Reads among generated requests."]),
    key("workload.footprint", Kind::Float(1e-9, 1.0), "share of user capacity", "1.0", [CHOSEN, "Addresses that a generated workload touches."]),
    key("workload.zipf_theta", Kind::Float(0.0, 10.0), "", "0.99", ["chosen: YCSB's default", "Exponent of Zipf's law (kind = \"zipf\"); 0 is uniform."]),
    key("workload.hot_space", Kind::Float(1e-9, 0.999999999), "share of the footprint", "0.2", [CHOSEN, "Hot part of the footprint (kind = \"hot-cold\")."]),
    key("workload.hot_share", Kind::Float(0.0, 1.0), "share of requests", "0.8", [CHOSEN, "Requests that go to the hot part (kind = \"hot-cold\")."]),
    key("workload.arrival", Kind::Choice(&["poisson", "fixed", "bursty"]), "", "\"poisson\"", [CHOSEN, "Arrivals of a generated workload (open loop). bursty: two-phase hyper-exponential with interarrival_cv."]),
    key("workload.mean_interarrival_us", Kind::Float(0.001, 1e12), "us", "1000.0", [CHOSEN, "Mean time between generated requests (open loop)."]),
    key("workload.mean_extent_kib", Kind::Float(4.0, 1e9), "KiB", "", ["the twin's own, see docs/WORKLOADS.md", "Mean length of a twin's write extents, for sensitivity studies."]),
    key("workload.write_extent_read_share", Kind::Float(0.0, 1.0), "share of read bytes", "", ["the twin's own, see docs/WORKLOADS.md", "Read bytes of a twin that go to its write extents, for sensitivity studies."]),
    key("workload.interarrival_cv", Kind::Float(1.0, 1000.0), "", "7.0", ["chosen: short slices of real traces show 3.4 to 7.2, a week more", "Coefficient of variation of inter-arrival times: of twins, and of arrival = \"bursty\" (two-phase hyper-exponential)."]),

    key("initial.fill", Kind::Float(0.0, 1.0), "share", "0.95", [PEN1, "What is stored before the first request."]),
    key("initial.fill_unit", Kind::Choice(&["block", "page"]), "", "\"block\"", [CHOSEN, "block: this share of the logical blocks is full, the others are empty. page: every logical block is full up to this share of its pages. A page-level FTL is filled with this share of its logical pages, from the first one, in either case."]),
    key("initial.age_writes", Kind::Float(0.0, 1000.0), "user capacities", "0.0", [CHOSEN, "Random one-page writes over the workload's footprint before the first request, untimed and not counted."]),

    key("run.max_requests", Kind::Int(1, i64::MAX), "requests", "", ["no limit", "Stop after this many requests."]),
    key("run.warmup_requests", Kind::Int(0, i64::MAX), "requests", "0", [CHOSEN, "Requests before measuring starts."]),
    key("run.timed", Kind::Bool, "", "true", [CHOSEN, "Off: no clock, no latencies; the same commands, counts and wear, faster."]),
    key("run.check", Kind::Choice(&["rules", "integrity"]), "", "\"rules\"", [CHOSEN, "rules: every flash rule and the tag of every page read. integrity: also a full read-back at the end; a corrupt or lost page ends with status 1."]),
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
        None => Err(format!("unknown key '{path}'; nearest valid key: '{}'", nearest(path))),
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
            Kind::Int(low, i64::MAX) => format!("a whole number from {low}"),
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
