//! Random small devices of every kind, for the contract of the layers.

use proptest::prelude::*;
use pumice_ftl::{FtlKind, MergeMethod};
use pumice_types::Choice;

pub fn settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let shape = (1u32..3, 1u32..3, 1u32..3, 10u32..40, prop_oneof![Just(8u32), Just(12), Just(64), Just(72)]);
    let ftl = (prop::bool::ANY, prop::bool::ANY, prop::bool::ANY, 0.1f64..0.4, 0.0f64..0.3);
    let chip = (0u8..4, 0u8..3, 0u32..2, prop::bool::ANY, 0u32..4);
    let load = (1u64..1000, 0.0f64..0.9, prop_oneof![Just(0.25f64), Just(0.5), Just(1.0)], 1u32..4, 0.0f64..1.0);
    (shape, ftl, chip, load).prop_map(|(shape, ftl, chip, load)| {
        let splits = u8::try_from(shape.4.trailing_zeros()).unwrap_or(0).min(chip.0);
        let pairs = [
            ("geometry.channels", shape.0.to_string()),
            ("geometry.dies_per_chip", shape.1.to_string()),
            ("geometry.planes_per_die", shape.2.to_string()),
            ("geometry.blocks_per_plane", shape.3.to_string()),
            ("geometry.pages_per_block", shape.4.to_string()),
            ("geometry.program_order", if ftl.0 { "any" } else { "in-order" }.into()),
            ("geometry.bad_blocks_per_plane", chip.2.to_string()),
            ("partial_erase.max_splits", splits.to_string()),
            ("partial_erase.disturb_tolerance", chip.1.to_string()),
            ("partial_erase.wear_limit_w", (chip.4 * 5).to_string()),
            ("ftl.u_index", if ftl.1 { "spare" } else { "ram" }.into()),
            ("ftl.over_provisioning", format!("{}", ftl.3 + 0.2)),
            ("ftl.gc_free_threshold", format!("{}", ftl.4)),
            ("timing.copyback", chip.3.to_string()),
            ("initial.fill", format!("{}", load.4)),
            ("initial.fill_unit", if ftl.2 { "block" } else { "page" }.into()),
            ("seed", load.0.to_string()),
            ("workload.read_fraction", format!("{}", load.1)),
            ("workload.footprint", format!("{}", load.2)),
            ("workload.request_bytes", (load.3 * 4096).to_string()),
            ("workload.requests", "1500".into()),
            ("run.check", "integrity".into()),
        ];
        pairs.map(|(key, value)| (key.to_string(), value)).to_vec()
    })
}

/// Settings of a page-level FTL: more blocks, and enough spare ones for its open blocks.
pub fn page_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let policy = prop_oneof![Just("greedy"), Just("cost-benefit"), Just("d-choices"), Just("fifo"), Just("random")];
    let order = prop_oneof![Just("CWDP"), Just("PDWC"), Just("DPCW")];
    let planes = prop_oneof![Just("own"), Just("die")];
    let collection = (policy, planes, 0.0f64..0.1);
    (settings(), collection, order, 16u32..40, 0.45f64..0.7, 0.0f64..2.0).prop_map(
        |(mut settings, (policy, planes, stop), order, blocks, over_provisioning, age)| {
            let changes = [
                ("ftl.kind", "page".to_string()),
                ("ftl.gc_policy", policy.into()),
                ("ftl.gc_planes", planes.into()),
                ("ftl.allocation_order", order.into()),
                ("geometry.blocks_per_plane", blocks.to_string()),
                ("ftl.over_provisioning", format!("{over_provisioning}")),
                ("ftl.gc_free_threshold", "0.1".into()),
                ("ftl.gc_stop_threshold", format!("{}", 0.1 + stop)),
                ("initial.age_writes", format!("{age}")),
            ];
            settings.extend(changes.map(|(key, value)| (key.to_string(), value)));
            settings
        },
    )
}

/// tR and tPROG of cells of so many bits; nothing for none.
fn page_times(bits: usize) -> Vec<(&'static str, String)> {
    if bits == 0 {
        return Vec::new();
    }
    let [t_r, t_prog] = [[60, 75, 110], [400, 750, 1_600]].map(|times| format!("{:?}", &times[..bits]));
    vec![("geometry.bits_per_cell", bits.to_string()), ("timing.t_r_us", t_r), ("timing.t_prog_us", t_prog)]
}

/// Erases whose last loop waits, of blocks that can be read without retries.
const LATE_LOOPS: [(&str, &str); 3] =
    [("erase.scheme", "ispe"), ("erase.ecc_bits_per_kib", "72.0"), ("erase.last_loop", "first-write")];

/// Everything between the host and the FTL, in any mix.
pub fn host_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let buffer = (prop_oneof![Just(0u32), Just(4), Just(20), Just(64), Just(1024)], prop::bool::ANY);
    let link = (prop_oneof![Just(None), (20.0f64..4000.0).prop_map(Some)], prop_oneof![Just(0.0f64), Just(3.25)]);
    let multi_plane = prop::sample::select(vec!["off", "erases", "neighbours", "queue"]);
    let reads = (prop_oneof![Just("page"), Just("codewords")], prop_oneof![Just("at-once"), Just("channel")]);
    let suspension = prop_oneof![Just("off"), Just("pulse"), Just("capped"), Just("immediate")];
    let order = (prop::bool::ANY, multi_plane, prop::bool::ANY, reads, 0usize..4, suspension);
    let load = (prop::bool::ANY, 1u32..5, 1u32..9, 1u32..40, 20.0f64..3000.0);
    (buffer, link, order, load).prop_map(|(buffer, link, order, load)| {
        let mut pairs = vec![
            ("host.write_buffer_kib", buffer.0.to_string()),
            ("timing.read_transfer", order.3.0.into()),
            ("timing.codeword_bytes", "512".into()),
            ("timing.read_command", order.3.1.into()),
            ("host.flush", if buffer.1 { "lru" } else { "eager" }.into()),
            ("host.overhead_us", format!("{}", link.1)),
            ("controller.t_request_us", format!("{}", link.1 * f64::from(load.2 % 3))),
            ("controller.t_command_us", format!("{}", link.1 * f64::from(load.2 % 2))),
            ("controller.cores", (load.1 % 3 + 1).to_string()),
            ("host.read_priority", order.0.to_string()),
            ("timing.multi_plane", order.1.into()),
            ("host.partial_page", if order.2 { "rmw" } else { "whole-page" }.into()),
            ("host.mode", if load.0 { "closed-loop" } else { "open-loop" }.into()),
            ("host.queues", load.1.to_string()),
            ("host.queue_depth", load.2.to_string()),
            ("workload.request_bytes", (load.3 * 512).to_string()),
            ("workload.mean_interarrival_us", format!("{}", load.4)),
        ];
        pairs.extend(link.0.map(|rate| ("host.link_mb_per_s", format!("{rate}"))));
        pairs.extend(page_times(order.4));
        let late = LATE_LOOPS.iter().filter(|_| order.1 == "off" && load.1 % 2 == 1);
        pairs.extend(late.map(|&(key, value)| (key, value.to_string())));
        if order.0 {
            let joins = ["neighbours", "queue"].contains(&order.1);
            pairs.push(("program.suspension", if joins { "off" } else { order.5 }.into()));
            pairs.push(("host.read_tokens", if joins { 0 } else { load.1 / 2 }.to_string()));
            pairs.push(("program.max_suspensions", "2".into()));
            pairs.extend([("program.suspend_us", link.1.to_string()), ("program.resume_us", load.1.to_string())]);
        }
        pairs.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    })
}

/// Settings of a page-level FTL that change what is moved where and when.
pub fn page_options() -> impl Strategy<Value = Vec<(String, String)>> {
    let mode = prop_oneof![Just("blocking"), Just("foreground"), Just("background"), Just("preemptible")];
    let load = prop_oneof![Just(("open-loop", "20000.0")), Just(("open-loop", "500.0")), Just(("closed-loop", "1.0"))];
    let entries = prop::option::of(1u32..3000);
    let apart = prop_oneof![Just("mixed"), Just("gc"), Just("recency")];
    let leveling = prop_oneof![Just("none"), Just("dynamic"), Just("static"), Just("both")];
    let places = (entries, apart, leveling, 1u32..6, 0.01f64..2.0, (0usize..4, prop::bool::ANY));
    (page_settings(), mode, 24u32..40, places, load).prop_map(|(mut settings, mode, blocks, places, load)| {
        let (entries, apart, leveling, threshold, window, (bits, interleaved)) = places;
        let mut change = |key: &str, value: &str| settings.push((key.to_string(), value.to_string()));
        change("host.mode", load.0);
        change("host.queue_depth", "8");
        change("workload.mean_interarrival_us", load.1);
        change("ftl.gc_mode", mode);
        change("ftl.gc_write_tokens", &(threshold / 2).to_string());
        page_times(bits).iter().for_each(|(key, value)| change(key, value));
        if interleaved {
            change("partial_erase.unit", "none");
            change("geometry.page_types", "interleaved");
        }
        change("geometry.blocks_per_plane", &blocks.to_string());
        change("ftl.over_provisioning", "0.65");
        change("ftl.hot_cold", apart);
        change("ftl.hot_window", &window.to_string());
        change("ftl.wear_leveling", leveling);
        change("ftl.wear_threshold", &threshold.to_string());
        if let Some(entries) = entries {
            change("ftl.map_place", "cached");
            change("ftl.map_cache_entries", &entries.to_string());
        }
        settings
    })
}

/// A device's settings and its host's. Bits of a cell are part of the shape of sub-blocks, which the device has drawn.
pub fn with_host(settings: &[(String, String)], host: &[(String, String)]) -> Vec<(String, String)> {
    let of_types = ["geometry.bits_per_cell", "timing.t_r_us", "timing.t_prog_us"];
    let has_layers = settings.iter().any(|(key, _)| key == "geometry.layers");
    let host = host.iter().filter(|(key, _)| !(has_layers && of_types.contains(&key.as_str())));
    settings.iter().chain(host).cloned().collect()
}

/// Chips that could erase sub-blocks, whose pages may disturb and outlive each other, in blocks that are erased whole;
/// or none.
fn shape_settings() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let shape = (2u32..6, 1u32..6, 1u32..4, prop_oneof![Just("lfws"), Just("sfws")]);
    let chip = (0u32..3, prop_oneof![Just("fixed"), Just("ispe")], prop::bool::ANY);
    prop::option::of((shape, chip)).prop_map(|drawn| {
        let Some(((layers, sub_blocks, bits, sequence), (more, scheme, retries))) = drawn else { return Vec::new() };
        let once = (sub_blocks - 1) * bits;
        vec![
            ("partial_erase.unit", "sub-block".into()),
            ("partial_erase.sub_block_disturb", (once + more).max(1).to_string()),
            ("geometry.layers", layers.to_string()),
            ("geometry.sub_blocks", sub_blocks.to_string()),
            ("geometry.bits_per_cell", bits.to_string()),
            ("geometry.pages_per_block", (layers * sub_blocks * bits).to_string()),
            ("geometry.write_sequence", sequence.into()),
            ("erase.scheme", scheme.into()),
            ("erase.read_retry", retries.to_string()),
        ]
    })
}

/// Settings of a page-level FTL that maps units smaller than a page.
pub fn unit_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let mode =
        prop_oneof![Just("blocking"), Just("foreground"), Just("background"), Just("preemptible"), Just("paced")];
    let apart = prop_oneof![Just("mixed"), Just("gc"), Just("recency")];
    let leveling = prop_oneof![Just("none"), Just("dynamic"), Just("static"), Just("both")];
    let apart = (apart, leveling, shape_settings());
    let unit = prop_oneof![Just(512u32), Just(1024), Just(2048)];
    let group = prop_oneof![Just("plane"), Just("die")];
    let asks = (0.0f64..0.3, 1u32..60, prop_oneof![Just(0.0f64), Just(0.1)]);
    (page_settings(), mode, apart, (unit, 1.0f64..5000.0, group), asks).prop_map(
        |(mut settings, mode, apart, unit, asks)| {
            let mut change = |key: &str, value: String| settings.push((key.to_string(), value));
            change("ftl.gc_mode", mode.into());
            change("ftl.hot_cold", apart.0.into());
            change("ftl.wear_leveling", apart.1.into());
            change("ftl.wear_threshold", "2".into());
            change("geometry.blocks_per_plane", "32".into());
            change("ftl.over_provisioning", "0.65".into());
            change("ftl.map_unit_bytes", unit.0.to_string());
            change("ftl.open_page_us", unit.1.to_string());
            change("ftl.erase_group", unit.2.into());
            if unit.2 == "die" {
                change("geometry.bad_blocks_per_plane", "0".into());
            }
            apart.2.into_iter().for_each(|(key, value)| change(key, value));
            change("timing.copyback", "false".into());
            change("workload.fua_fraction", asks.0.to_string());
            change("workload.flush_every", asks.1.to_string());
            change("workload.trim_fraction", asks.2.to_string());
            settings
        },
    )
}

/// Handles, or none, of a device whose copies lie apart.
pub fn handle_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::option::of(1u32..4).prop_map(|handles| {
        let Some(count) = handles else { return Vec::new() };
        let of_streams = [
            ("workload.kind", "streams".to_string()),
            ("ftl.hot_cold", "gc".into()),
            ("ftl.handles", count.to_string()),
            ("geometry.blocks_per_plane", "40".into()),
        ];
        of_streams.map(|(key, value)| (key.to_string(), value)).to_vec()
    })
}

/// Settings with a map in flash of which a part is cached, or with none.
pub fn with_map(
    settings: impl Strategy<Value = Vec<(String, String)>>,
) -> impl Strategy<Value = Vec<(String, String)>> {
    (settings, map_settings()).prop_map(|(settings, map)| [settings, map].concat())
}

/// A map in flash of which a part is cached, or none; behind settings of handles.
pub fn map_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::option::of(1u32..3000).prop_map(|entries| {
        let Some(entries) = entries else { return Vec::new() };
        let of_map = [
            ("ftl.map_place", "cached".to_string()),
            ("ftl.map_cache_entries", entries.to_string()),
            ("geometry.blocks_per_plane", "48".into()),
        ];
        of_map.map(|(key, value)| (key.to_string(), value)).to_vec()
    })
}

/// Settings of a page-level FTL with blocks whose physical sub-blocks are erased apart.
pub fn sub_block_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let shape = (1u16..9, 2u16..9, 1u16..4, prop_oneof![Just("lfws"), Just("sfws")]);
    let apart = prop_oneof![Just("mixed"), Just("gc")];
    let streams = (apart, handle_settings());
    (page_settings(), shape, prop_oneof![Just("dynamic"), Just("static")], streams).prop_map(
        |(mut settings, (layers, sub_blocks, bits, sequence), allocation, (apart, handles))| {
            let changes = [
                ("partial_erase.unit", "sub-block".to_string()),
                ("ftl.erase_unit", "sub-block".into()),
                ("ftl.hot_cold", apart.into()),
                ("ftl.allocation", allocation.into()),
                ("geometry.layers", layers.to_string()),
                ("geometry.sub_blocks", sub_blocks.to_string()),
                ("geometry.bits_per_cell", bits.to_string()),
                ("geometry.pages_per_block", (layers * sub_blocks * bits).to_string()),
                ("geometry.write_sequence", sequence.into()),
                ("geometry.program_order", "in-order".into()),
                ("workload.request_bytes", "4096".into()),
                ("erase.read_retry", (layers % 2 == 0).to_string()),
                ("erase.ecc_bits_per_kib", "1.5".into()),
            ];
            settings.extend(changes.map(|(key, value)| (key.to_string(), value)));
            settings.extend(handles);
            settings
        },
    )
}

/// Either merge of the NFTL.
pub fn nftl_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    (settings(), prop_oneof![Just("block-erase"), Just("m-merge")]).prop_map(|(mut settings, merge)| {
        settings.push(("ftl.merge".into(), merge.into()));
        settings
    })
}

/// Settings of superblocks: M and N small enough for devices of a few blocks, spare blocks enough.
pub fn superblock_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let shape = (1u32..5, 1u32..5, 14u32..40, 0.3f64..0.5);
    (settings(), shape, prop::bool::ANY).prop_map(|(mut settings, (logical, more, blocks, over), aware)| {
        let changes = [
            ("ftl.kind", "superblock-pen".to_string()),
            ("ftl.superblock.logical", logical.to_string()),
            ("ftl.superblock.physical", (logical + more).to_string()),
            ("geometry.blocks_per_plane", blocks.to_string()),
            ("ftl.over_provisioning", format!("{over}")),
            ("partial_erase.disturb_aware", aware.to_string()),
            ("workload.requests", "3000".into()),
        ];
        settings.extend(changes.map(|(key, value)| (key.to_string(), value)));
        if !aware {
            settings.push(("partial_erase.disturb_tolerance".into(), "99".into()));
        }
        settings
    })
}

/// Every merge that a layer knows.
pub fn merges_of(kind: &str) -> impl Strategy<Value = MergeMethod> + use<> {
    let layer = FtlKind::ALL.iter().find(|layer| layer.name() == kind).expect("a layer of the registry");
    prop::sample::select(layer.facts().merges)
}

/// Settings of FTLs with D-blocks and a limited number of U-blocks.
pub fn hybrid_settings(kind: &'static str) -> impl Strategy<Value = Vec<(String, String)>> {
    (settings(), 30u32..60, 1u32..9, (0.36f64..0.5, merges_of(kind)), 0.0f64..2.0).prop_map(
        move |(mut settings, blocks, u_blocks, (over_provisioning, merge), age)| {
            let changes = [
                ("ftl.kind", kind.to_string()),
                ("ftl.merge", merge.name().to_string()),
                ("geometry.blocks_per_plane", blocks.to_string()),
                ("ftl.u_blocks", u_blocks.max(u32::from(kind == "fast") * 2).to_string()),
                ("ftl.over_provisioning", format!("{over_provisioning}")),
                ("initial.age_writes", format!("{age}")),
            ];
            settings.extend(changes.map(|(key, value)| (key.to_string(), value)));
            if kind == "replacement-block" {
                settings.push(("geometry.program_order".into(), "any".into()));
            }
            settings
        },
    )
}

/// Settings of the superblock FTL of 2006, with its map in RAM or in spare areas.
pub fn superblock_2006_settings() -> impl Strategy<Value = Vec<(String, String)>> {
    let pages = prop_oneof![Just(8u32), Just(12), Just(40), Just(64)];
    let shape = (1u32..6, 1u32..4, 1u32..20, prop::bool::ANY);
    (hybrid_settings("superblock-2006"), shape, pages).prop_map(|(mut settings, shape, pages)| {
        let (logical, beyond, entries, in_spare) = shape;
        let changes = [
            ("geometry.program_order", "in-order".to_string()),
            ("geometry.pages_per_block", pages.to_string()),
            ("partial_erase.max_splits", pages.trailing_zeros().to_string()),
            ("ftl.superblock.logical", logical.to_string()),
            ("ftl.superblock.physical", (logical + beyond).to_string()),
            ("ftl.map_place", if in_spare { "spare" } else { "ram" }.into()),
            ("ftl.superblock.valid_blocks", if entries % 2 == 0 { "copy" } else { "keep" }.into()),
        ];
        settings.extend(changes.map(|(key, value)| (key.to_string(), value)));
        if in_spare {
            settings.push(("ftl.map_cache_entries".into(), entries.to_string()));
        }
        settings
    })
}
