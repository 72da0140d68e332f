//! 84x: the power is cut on every translation layer of the registry, with every merge and every way of recovery
//! that it knows, as in [`crate::power`].

use pumice_config::TornKind;
use pumice_ftl::Recovery;
use pumice_ftl::{FtlKind, MergeMethod};
use pumice_types::Choice;

use crate::power::{
    CutsOrdered, Fault, Met, OftenCut, Sets, TWO_DIES, all_are_noticed, cut_as_drawn, cut_everywhere, fails, sampled,
    with_fault,
};
use crate::power_blocks::PARTIAL;

/// So many blocks that every layer finds room, but merges never rest.
const LITTLE_ROOM: &[(&str, &str)] = &[
    ("ftl.over_provisioning", "0.5"),
    ("ftl.gc_free_threshold", "0.2"),
    ("ftl.superblock.logical", "2"),
    ("geometry.blocks_per_plane", "14"),
    ("initial.fill", "0.9"),
];

/// More room, where a layer or a method needs it; less where there would be too few merges.
fn room(kind: FtlKind, recovery: Recovery) -> &'static [(&'static str, &'static str)] {
    match (kind, recovery) {
        (FtlKind::Page, Recovery::Checkpoint) => &[
            ("geometry.page_bytes", "512"),
            ("geometry.blocks_per_plane", "24"),
            ("ftl.over_provisioning", "0.6"),
            ("ftl.gc_free_threshold", "0.08"),
            ("ftl.checkpoint_interval", "0.3"),
            ("workload.request_bytes", "1024"),
        ],
        (FtlKind::Page, Recovery::Off | Recovery::Scan | Recovery::Summary) => {
            &[("ftl.over_provisioning", "0.6"), ("geometry.blocks_per_plane", "16"), ("ftl.gc_free_threshold", "0.08")]
        }
        (FtlKind::Superblock2006, _) => &[("ftl.u_blocks", "2")],
        (FtlKind::Zns, _) => {
            &[("ftl.over_provisioning", "0.65"), ("geometry.blocks_per_plane", "16"), ("ftl.gc_free_threshold", "0.08")]
        }
        _ => &[],
    }
}

/// Two planes a die with bad blocks, half full; pages in order where the layer allows that; and tables in spare areas, of
/// the layer that has them.
pub fn further(kind: FtlKind) -> Vec<(&'static str, &'static str)> {
    let mut sets = vec![
        ("geometry.planes_per_die", "2"),
        ("geometry.bad_blocks_per_plane", "1"),
        ("geometry.spare_bytes", "128"),
        ("timing.copyback", "false"),
        ("initial.fill_unit", "page"),
        ("initial.fill", "0.5"),
        ("workload.kind", "uniform"),
        ("workload.requests", "320"),
    ];
    sets.extend((kind != FtlKind::ReplacementBlock).then_some(("geometry.program_order", "in-order")));
    sets.extend((kind == FtlKind::Superblock2006).then_some(("ftl.map_place", "spare")));
    sets
}

/// A layer with a merge and a way of recovery.
pub struct Combination {
    pub kind: FtlKind,
    merge: MergeMethod,
    recovery: Recovery,
}

impl Combination {
    /// A device of this layer.
    pub fn device(&self, more: &[(&'static str, &'static str)]) -> Sets<'static> {
        let Combination { kind, merge, recovery } = *self;
        let names = [("ftl.kind", kind.name()), ("ftl.merge", merge.name()), ("ftl.recovery", recovery.name())];
        let partial = if merge == MergeMethod::BlockErase { &[][..] } else { PARTIAL };
        [TWO_DIES, LITTLE_ROOM, partial, room(kind, recovery), more, &names].concat()
    }
}

/// Every layer of the registry with each merge and each way of recovery.
pub fn combinations() -> Vec<Combination> {
    let mut all = Vec::new();
    for &kind in FtlKind::ALL {
        let recoveries: Vec<Recovery> =
            kind.facts().recoveries.iter().copied().filter(|&recovery| recovery != Recovery::Off).collect();
        assert!(!recoveries.is_empty(), "{kind}");
        for &merge in kind.facts().merges {
            all.extend(recoveries.iter().map(|&recovery| Combination { kind, merge, recovery }));
        }
    }
    all
}

/// Does something to every device; tells of all that fail.
pub fn all_keep_their_promises(devices: Vec<Sets<'static>>, cut: impl Fn(&Sets) -> Result<Met, String>) -> Met {
    let (mut all, mut failed) = (Met::default(), Vec::new());
    for device in devices {
        let met = cut(&device).map_err(|error| failed.push(error)).unwrap_or_default();
        println!("{:?} {met:?}", &device[device.len() - 3..]);
        all = all.with(met);
    }
    println!("{all:?}");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(all.erases_uncut.is_none_or(|erases| erases > 10), "collection works");
    all
}

#[test]
fn t840_every_layer_keeps_its_promises_wherever_the_power_is_cut() {
    let devices =
        combinations().iter().flat_map(|layer| [layer.device(&[]), layer.device(&further(layer.kind))]).collect();
    let met = all_keep_their_promises(devices, |device| cut_everywhere(device, sampled(1, 31), false));
    assert!(met.cuts > 5_000 && met.programs > 3_500 && met.erases > 1_000, "{met:?}");
}

#[test]
fn t841_and_wherever_it_is_cut_again_while_the_device_recovers() {
    let devices = combinations().iter().map(|layer| layer.device(&[])).collect();
    let met = all_keep_their_promises(devices, |device| cut_everywhere(device, sampled(127, 1_901), true));
    assert!(met.cuts > 13_000 && met.programs > 8_000 && met.erases > 3_000, "{met:?}");
}

/// A device on which cuts are drawn: large enough that most of it is in no cut's way.
pub const LARGER: &[(&str, &str)] = &[
    ("geometry.channels", "4"),
    ("geometry.chips_per_channel", "2"),
    ("geometry.blocks_per_plane", "24"),
    ("geometry.pages_per_block", "16"),
    ("workload.requests", "20000"),
    ("host.queue_depth", "16"),
    ("power.cuts", "200"),
];

/// Cuts a device on which cuts are drawn.
pub fn cut_often(device: &Sets) -> Result<Met, String> {
    let sets: Sets = device.iter().copied().chain(LARGER.iter().copied()).collect();
    let met = cut_as_drawn(&sets)?;
    assert!(met.cuts > 190, "those at the very end may not come");
    Ok(met)
}

#[test]
fn t842_and_at_moments_that_the_seed_draws_on_a_larger_device() {
    let devices =
        combinations().iter().flat_map(|layer| [layer.device(&[]), layer.device(&further(layer.kind))]).collect();
    let met = all_keep_their_promises(devices, cut_often);
    assert!(met.cuts > 5_000 && met.programs > 5_000 && met.erases > 1_000, "{met:?}");
}

/// Cuts in every `step`-th command and in some that follow it, so close that each meets the recovery from the one
/// before.
pub fn cut_in_a_row(device: &Sets, step: usize) -> Result<Met, String> {
    let mut device = OftenCut::new(device);
    let commands = device.cut(&CutsOrdered::AsDrawn)?.commands;
    let mut met = Met::default();
    for (first, apart) in (1..commands).step_by(step).flat_map(|first| [2, 3, 5, 8].map(|apart| (first, apart))) {
        let cuts: Vec<u64> = (0..8).map(|nth| first + nth * apart).collect();
        for torn in TornKind::ALL {
            met = met.with(device.cut(&CutsOrdered::In(&cuts, *torn))?);
        }
    }
    Ok(met)
}

#[test]
fn t844_and_eight_times_in_a_row_so_that_no_recovery_ends() {
    let devices = combinations().iter().map(|layer| layer.device(&[])).collect();
    let met = all_keep_their_promises(devices, |device| cut_in_a_row(device, sampled(7, 37)));
    assert!(met.cuts > 10_000 && met.programs > 5_000 && met.erases > 2_000, "{met:?}");
}

/// Faults that only layers can have that bring units back to the blocks that they fill.
pub const OF_UNITS: &[Fault] = &["superseded-erased-first", "spare-blocks-unchecked", "shared-pages-forgotten"];

/// Faults that they share with other layers.
const SHARED: &[Fault] = &[
    "old-copy-wins",
    "earliest-copy-wins",
    "unproven-page-kept",
    "moves-not-done",
    "numbers-too-short",
    "numbers-begin-anew",
    "blank-blocks-trusted",
    "blank-pages-trusted",
    "old-blocks-trusted",
    "unreadable-spoils-block",
    "fill-forgotten",
    "last-block-forgotten",
    "bad-blocks-forgotten",
    "acknowledged-early",
    "copied-blocks-erased-first",
    "restored-undisturbed",
];

/// Whether some device fails with this fault at drawn cuts, or at eight in a row from every so many-th command on.
pub fn fails_soon(fault: Fault, devices: &[Sets], every: usize) -> bool {
    devices.iter().any(|device| with_fault(fault, || cut_often(device)))
        || devices.iter().any(|device| with_fault(fault, || cut_in_a_row(device, every)))
}

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t843_every_fault_of_a_layer_that_brings_units_back_is_noticed() {
    // A layer of whichever other sort is asked too: one device that notices is enough.
    let others = [FtlKind::Page, FtlKind::Nftl, FtlKind::Pbe, FtlKind::Zns];
    let is_of_units = |layer: &&Combination| !others.contains(&layer.kind);
    let all = combinations();
    let layers = all.iter().filter(is_of_units);
    let devices: Vec<Sets> = layers.flat_map(|layer| [layer.device(&[]), layer.device(&further(layer.kind))]).collect();
    all_are_noticed(OF_UNITS.iter().chain(SHARED), |fault| {
        fails_soon(fault, &devices, 61) || devices.iter().any(|device| fails(fault, device, 29, false))
    });
}
