//! 80x: the power is cut at every command of small devices, with everything that it may leave. What was promised is
//! still there, and the device goes on.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::LazyLock;

use pumice_config::{Config, TornKind};
use pumice_engine::metrics::{FlashCounts, PowerFigures};
use pumice_engine::observe::Observer;
use pumice_engine::run_to_end;
use pumice_ftl::{Allocation, GcMode, Separation};
use pumice_nand::NandArray;
use pumice_types::fault::switch;
use pumice_types::{BlockId, Choice, EraseKeys, FlashCommand, Geometry, PageAddress, SpareArea, Time};

use crate::power_blocks::OF_BLOCKS;
use crate::power_handles::{KeptApart, OF_HANDLES};
use crate::power_host::{OF_BUFFERS, OF_TRIMS};
use crate::power_layers::OF_UNITS;
use crate::power_map::OF_MAPS;
use crate::power_planes::OF_PLANES;
use crate::power_protection::OF_PROTECTION;
use crate::power_sub_blocks::OF_PARTS;
use crate::power_units::OF_GATHERING;
use crate::power_wear::OF_WEAR;
use crate::power_zones::OF_ZONES;
use crate::support::{NO_SPEC, spec};

/// The name of a fault in recovery.
pub type Fault = &'static str;

/// The faults, which tests/faults.py writes into a copy of the sources.
static FAULTS: LazyLock<toml::Table> = LazyLock::new(|| {
    include_str!("recovery_faults.toml").parse().unwrap_or_else(|error| panic!("recovery_faults.toml: {error}"))
});

/// Settings of a spec.
pub type Sets<'a> = Vec<(&'a str, &'a str)>;

/// Two dies of small blocks, mostly overwritten in a fifth of them.
pub const TWO_DIES: &[(&str, &str)] = &[
    ("partial_erase.unit", "none"),
    ("geometry.channels", "2"),
    ("geometry.chips_per_channel", "1"),
    ("geometry.dies_per_chip", "1"),
    ("geometry.planes_per_die", "1"),
    ("geometry.pages_per_block", "8"),
    ("workload.kind", "hot-cold"),
    ("workload.read_fraction", "0.2"),
    ("workload.request_bytes", "8192"),
    ("workload.requests", "160"),
    ("host.mode", "closed-loop"),
    ("host.queue_depth", "4"),
    ("run.check", "integrity"),
];

/// Full devices, with so few blocks that collection never rests.
const FULL: &[(&str, &str)] = &[
    ("ftl.kind", "page"),
    ("ftl.recovery", "scan"),
    ("ftl.over_provisioning", "0.6"),
    ("geometry.blocks_per_plane", "16"),
    ("geometry.program_order", "in-order"),
    ("initial.fill", "1.0"),
];

/// A page-level device of this kind.
pub fn device(more: &[(&'static str, &'static str)]) -> Sets<'static> {
    [TWO_DIES, FULL, more].concat()
}

/// The step between two instants that are cut: `whole` under `make power`, where everything is cut that is here, and
/// larger in the suite.
pub fn sampled(whole: usize, in_suite: usize) -> usize {
    if std::env::var_os("PUMICE_POWER_WHOLE").is_some() { whole } else { in_suite }
}

/// When commands ran; of erases in loops, when each of the loops did. And of a device with handles, whose pages blocks
/// hold.
struct Spans {
    all: Vec<(Time, Time)>,
    loop_time: Option<Time>,
    kept_apart: Option<KeptApart>,
}

impl Spans {
    fn note(&mut self, mut start: Time, end: Time) {
        while let Some(loop_time) = self.loop_time.filter(|&time| start + time < end) {
            self.all.push((start, start + loop_time));
            start += loop_time;
        }
        self.all.push((start, end));
    }
}

impl Observer for Spans {
    fn command(&mut self, start: Time, end: Time, command: &FlashCommand) {
        self.note(start, end);
        self.kept_apart.iter_mut().for_each(|kept| kept.note(command, false));
    }

    fn torn(&mut self, command: &FlashCommand) {
        self.kept_apart.iter_mut().for_each(|kept| kept.note(command, true));
    }

    fn suspended(&mut self, start: Time, end: Time, _: &FlashCommand) {
        self.note(start, end);
    }
}

/// Cuts of the power, and what they may leave.
#[derive(Clone, Debug)]
pub enum CutsOrdered<'a> {
    /// The cuts of the device's own spec.
    AsDrawn,
    /// At these times.
    At(&'a [Time], TornKind),
    /// In these commands.
    In(&'a [u64], TornKind),
}

impl CutsOrdered<'_> {
    /// The settings that ask for them.
    fn sets(&self) -> Vec<(&'static str, String)> {
        match self {
            CutsOrdered::AsDrawn => Vec::new(),
            CutsOrdered::At(times, torn) => {
                vec![("power.cut_at_s", format!("{:?}", in_seconds(times))), ("power.torn", torn.to_string())]
            }
            CutsOrdered::In(commands, torn) => {
                vec![("power.cut_at_command", format!("{commands:?}")), ("power.torn", torn.to_string())]
            }
        }
    }
}

fn in_seconds(times: &[Time]) -> Vec<f64> {
    times.iter().map(|time| time.0 as f64 / 1e9).collect()
}

/// A device whose spec is read once, however often its power is cut: to read a spec, and to write a document, takes longer
/// than to run so small a device.
pub struct OftenCut<'a> {
    sets: &'a Sets<'a>,
    config: Config,
}

/// What a run has left.
struct Ran {
    power: PowerFigures,
    flash: FlashCounts,
    /// When its commands ran.
    spans: Vec<(Time, Time)>,
}

impl<'a> OftenCut<'a> {
    pub fn new(sets: &'a Sets<'a>) -> OftenCut<'a> {
        OftenCut { sets, config: spec(sets) }
    }

    /// Runs it with these cuts. An error names the command that repeats the run.
    fn run(&mut self, cuts: &CutsOrdered) -> Result<Ran, String> {
        self.order(cuts);
        let EraseKeys { scheme, t_ep_us, t_vr_us, .. } = &self.config.chip.erase;
        let loop_time = scheme.has_loops().then(|| Time::from_us(t_ep_us + t_vr_us));
        let mut spans = Spans { all: Vec::new(), loop_time, kept_apart: KeptApart::of(&self.config) };
        let told = |error: String| {
            let more = cuts.sets();
            let more = more.iter().map(|(key, value)| (*key, &**value));
            format!("{error}\n{}", as_command(&self.sets.iter().copied().chain(more).collect()))
        };
        let ended = run_to_end(&self.config, 1.0, &mut spans, &mut |_| true);
        let ended = ended.map_err(|error| told(error.to_string()))?;
        ended.integrity_error().map_or(Ok(()), |error| Err(told(error)))?;
        numbered_apart(&ended.session.ssd.controller.scheduler.chips.checked.array).map_err(told)?;
        let (power, flash) = (ended.session.ssd.power, ended.session.ssd.controller.tally.counts);
        spans.kept_apart.map_or(Ok(()), |kept| kept.settle()).map_err(told)?;
        Ok(Ran { power, flash, spans: spans.all })
    }

    /// Writes cuts into the spec.
    fn order(&mut self, cuts: &CutsOrdered) {
        let power = &mut self.config.power;
        let torn = match cuts {
            CutsOrdered::AsDrawn => return,
            CutsOrdered::At(times, torn) => {
                power.cut_at_s = in_seconds(times);
                torn
            }
            CutsOrdered::In(commands, torn) => {
                power.cut_at_command = commands.iter().map(|&command| command as f64).collect();
                torn
            }
        };
        power.torn = *torn;
        assert_eq!(power.given().len(), 1, "one key says when the power is cut");
    }

    /// Runs it with these cuts, and notes what they have met.
    pub fn cut(&mut self, cuts: &CutsOrdered) -> Result<Met, String> {
        let mut met = Met::default();
        met.add(&self.run(cuts)?);
        Ok(met)
    }
}

/// Fails if two pages carry one number of a program. A start takes the page with the largest number for the one programmed
/// last, so with two of them it may trust the one that was cut.
fn numbered_apart(array: &NandArray) -> Result<(), String> {
    let geometry = &array.config().geometry;
    let Geometry { pages_per_block, .. } = *geometry;
    let blocks = (0..geometry.blocks()).map(BlockId);
    let pages = blocks.flat_map(|block| (0..pages_per_block).map(move |page| PageAddress::new(block, page)));
    let number = |page| match array.spare_area(page) {
        SpareArea::Written(entry) if entry.programmed > 0 => Some((entry.programmed, geometry.page_of_unit(page))),
        SpareArea::Written(_) | SpareArea::Blank | SpareArea::Unreadable => None,
    };
    let mut numbers: Vec<(u64, PageAddress)> = pages.filter_map(number).collect();
    numbers.sort_unstable();
    // Mapping units of one page share the number of its program.
    numbers.dedup();
    match numbers.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some([(number, page), (_, other)]) => Err(format!("program {number} wrote {page:?} and {other:?}")),
        _ => Ok(()),
    }
}

/// The run as somebody would type it.
pub fn as_command(sets: &Sets) -> String {
    let sets: Vec<String> = sets.iter().map(|(key, value)| format!("--set '{key}={value}'")).collect();
    format!("pumice run --preset tiny {}", sets.join(" "))
}

/// Instants at which something may be under way: around the beginning, the middle and the end of every command.
fn instants(spans: &[(Time, Time)]) -> Vec<Time> {
    let around = |&(start, end): &(Time, Time)| [start + Time(1), Time((start.0 + end.0) / 2), end, end + Time(1)];
    let mut all: Vec<Time> = spans.iter().flat_map(around).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What cuts have met.
#[derive(Clone, Copy, Debug, Default)]
pub struct Met {
    pub cuts: u64,
    pub programs: u64,
    pub erases: u64,
    /// Commands that change flash, in these runs.
    pub commands: u64,
    /// Erases of a run without cuts, the fewest of several devices; collection works where there are some.
    pub erases_uncut: Option<u64>,
}

impl Met {
    pub fn with(self, more: Met) -> Met {
        let Met { cuts, programs, erases, commands, erases_uncut } = more;
        Met {
            cuts: self.cuts + cuts,
            programs: self.programs + programs,
            erases: self.erases + erases,
            commands: self.commands + commands,
            erases_uncut: self.erases_uncut.into_iter().chain(erases_uncut).min(),
        }
    }

    fn add(&mut self, ran: &Ran) {
        let [programs, erases] = ran.power.torn;
        self.cuts += ran.power.cuts;
        self.programs += programs;
        self.erases += erases;
        self.commands += ran.flash.programs() + ran.flash.erases_total();
    }
}

/// Runs with cuts at these times and all that they may leave. When the commands of the last of these runs ran, and the
/// longest time that a recovery took.
fn cut_at(device: &mut OftenCut, times: &[Time], met: &mut Met) -> Result<(Vec<(Time, Time)>, Time), String> {
    let (mut last, mut longest) = (Vec::new(), Time::ZERO);
    for torn in TornKind::ALL {
        let ran = device.run(&CutsOrdered::At(times, *torn))?;
        met.add(&ran);
        longest = longest.max(ran.power.recovery[1]);
        last = ran.spans;
    }
    Ok((last, longest))
}

/// Runs a device with the cuts that its spec has drawn.
pub fn cut_as_drawn(sets: &Sets) -> Result<Met, String> {
    OftenCut::new(sets).cut(&CutsOrdered::AsDrawn)
}

/// A number that the environment gives.
pub fn number_in(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} = {text:?} is not a whole number")))
}

/// Which of the first `step` instants is cut: that in their middle, or the one that `PUMICE_POWER_SEED` chooses.
fn first_instant(step: usize) -> usize {
    number_in("PUMICE_POWER_SEED").map_or(step / 2, |seed| (seed % step as u64) as usize)
}

/// Cuts the power of a device at every `step`-th instant at which something happens; and again, at every one of them
/// while it recovers and shortly after.
pub fn cut_everywhere(device: &Sets, step: usize, again: bool) -> Result<Met, String> {
    let mut often_cut = OftenCut::new(device);
    let Ran { spans, flash, .. } = often_cut.run(&CutsOrdered::AsDrawn)?;
    let (block, partial) = (flash.block_erases, flash.partial_erases_total());
    let mut met = Met { erases_uncut: Some(block + partial), ..Met::default() };
    let merges_partially = device.iter().any(|(key, value)| *key == "ftl.merge" && value.starts_with("m-merge"));
    assert!(!merges_partially || partial > 10, "M-Merge works");
    for &at in instants(&spans).iter().skip(first_instant(step)).step_by(step) {
        let (spans, took) = cut_at(&mut often_cut, &[at], &mut met)?;
        if again {
            let mut after: Vec<Time> = instants(&spans).into_iter().filter(|&again| again > at).collect();
            after.truncate(after.partition_point(|&again| again <= at + took) + INSTANTS_BEHIND);
            for again in after {
                cut_at(&mut often_cut, &[at, again], &mut met)?;
            }
        }
    }
    Ok(met)
}

/// Cuts each of some devices, none of which may break a promise.
pub fn cut_all<'a>(devices: impl IntoIterator<Item = Sets<'a>>, step: usize, again: bool) -> Met {
    let met = devices.into_iter().fold(Met::default(), |met, device| {
        met.with(cut_everywhere(&device, step, again).unwrap_or_else(|error| panic!("{error}")))
    });
    println!("{met:?}");
    assert!(met.erases_uncut > Some(10), "collection works");
    met
}

/// Instants behind a recovery at which a second cut still comes.
const INSTANTS_BEHIND: usize = 10;

/// Devices that decide differently what is done when.
pub fn devices() -> impl Iterator<Item = Sets<'static>> {
    Allocation::ALL.iter().flat_map(|allocation| {
        GcMode::ALL.iter().map(|mode| {
            let apart = if *mode == GcMode::Blocking { Separation::Mixed } else { Separation::Gc };
            let names = [allocation.name(), mode.name(), apart.name()];
            let names = ["ftl.allocation", "ftl.gc_mode", "ftl.hot_cold"].into_iter().zip(names);
            device(&names.collect::<Vec<_>>())
        })
    })
}

/// The device, recovering by this method.
pub fn by(method: &'static str, device: Sets<'static>) -> Sets<'static> {
    // Small pages, so that the map takes several and the journal fills.
    let small_pages: &[(&str, &str)] = match method {
        "checkpoint" => &[
            ("geometry.page_bytes", "512"),
            ("geometry.blocks_per_plane", "24"),
            ("ftl.over_provisioning", "0.6"),
            ("ftl.checkpoint_interval", "0.3"),
            ("workload.request_bytes", "1024"),
        ],
        _ => &[],
    };
    device.into_iter().chain([("ftl.recovery", method)]).chain(small_pages.iter().copied()).collect()
}

#[test]
fn t800_a_page_level_ftl_keeps_its_promises_wherever_the_power_is_cut() {
    let met = cut_all(devices(), sampled(1, 13), false).with(cut_all(further_devices(), sampled(1, 13), false));
    assert!(met.cuts > 2_500 && met.programs > 2_000 && met.erases > 500, "{met:?}");
}

/// Cuts every device that recovers by this method, and some of them once more while they do.
fn cut_by(method: &'static str) -> Met {
    let once = cut_all(devices().chain(further_devices()).map(|device| by(method, device)), sampled(1, 13), false);
    once.with(cut_all(devices().step_by(3).map(|device| by(method, device)), sampled(31, 1_201), true))
}

#[test]
fn t805_so_it_does_from_summaries_of_blocks() {
    let met = cut_by("summary");
    assert!(met.cuts > 5_000 && met.programs > 2_500 && met.erases > 500, "{met:?}");
}

#[test]
fn t806_so_it_does_from_the_map_and_its_journal_in_flash() {
    let met = cut_by("checkpoint");
    assert!(met.cuts > 5_000 && met.programs > 2_500 && met.erases > 500, "{met:?}");
}

#[test]
fn t801_and_wherever_it_is_cut_again_while_the_device_recovers() {
    let met = cut_all(devices(), sampled(23, 997), true);
    assert!(met.cuts > 4_000, "{met:?}");
}

/// A device on which cuts are drawn: large enough that most of it is in no cut's way.
const LARGER: &[(&str, &str)] = &[
    ("geometry.channels", "4"),
    ("geometry.chips_per_channel", "2"),
    ("geometry.blocks_per_plane", "24"),
    ("geometry.pages_per_block", "16"),
    ("ftl.over_provisioning", "0.4"),
    ("workload.requests", "20000"),
    ("host.queue_depth", "16"),
    ("power.cuts", "200"),
];

/// Runs a larger device that loses power again and again.
fn cut_often(method: &'static str, device: &Sets<'static>, seed: usize, met: &mut Met) -> Result<(), String> {
    let seed = seed.to_string();
    let device = by(method, device.iter().chain(LARGER).copied().collect());
    let sets: Sets = device.into_iter().chain([("seed", &*seed)]).collect();
    *met = met.with(cut_as_drawn(&sets)?);
    Ok(())
}

#[test]
fn t803_and_at_moments_that_the_seed_draws_on_a_larger_device() {
    let mut met = Met::default();
    let all = devices().flat_map(|device| ["scan", "summary", "checkpoint"].map(|method| (method, device.clone())));
    for (nth, (method, device)) in all.enumerate() {
        let before = met.cuts;
        cut_often(method, &device, nth, &mut met).unwrap_or_else(|error| panic!("{error}"));
        assert!(met.cuts - before > 190, "those at the very end may not come");
    }
    println!("{met:?}");
    assert!(met.cuts > 3_000 && met.programs > 3_000 && met.erases > 100, "{met:?}");
}

#[test]
fn t804_a_cut_in_a_command_meets_that_command() {
    let sets = device(&[]);
    let mut device = OftenCut::new(&sets);
    let whole = device.run(&CutsOrdered::AsDrawn).unwrap_or_else(|error| panic!("{error}")).flash;
    let mut programs_and_erases = [0; 2];
    for command in 1..=whole.programs() + whole.block_erases {
        let met = device.run(&CutsOrdered::In(&[command], TornKind::Drawn)).unwrap_or_else(|error| panic!("{error}"));
        let [programs, erases] = met.power.torn;
        assert!(programs + erases >= 1 && met.power.cuts == 1, "command {command}");
        programs_and_erases[0] += programs;
        programs_and_erases[1] += erases;
    }
    assert!(programs_and_erases[0] > 200 && programs_and_erases[1] > 20, "{programs_and_erases:?}");
}

/// Bad blocks and several planes; and dies so far apart that one erases what another has yet to replace.
fn further_devices() -> [Sets<'static>; 2] {
    let devices: [Sets; 2] = [
        vec![("geometry.bad_blocks_per_plane", "1"), ("geometry.planes_per_die", "2")],
        vec![
            ("geometry.channels", "4"),
            ("ftl.gc_mode", "background"),
            ("host.queue_depth", "8"),
            ("workload.requests", "400"),
            ("workload.read_fraction", "0.0"),
            ("workload.request_bytes", "4096"),
        ],
    ];
    devices.map(|more| device(&more))
}

/// Whether something fails with this fault, with an error or with a panic. A spec that is refused says nothing about the
/// fault, so its panic goes on.
pub fn with_fault<T>(fault: Fault, cut: impl FnOnce() -> Result<T, String>) -> bool {
    switch(fault);
    let met = catch_unwind(AssertUnwindSafe(cut));
    switch("");
    match met {
        Ok(met) => met.is_err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>();
            if text.is_some_and(|text| text.starts_with(NO_SPEC)) {
                resume_unwind(panic);
            }
            true
        }
    }
}

#[test]
#[should_panic(expected = "a valid spec")]
fn t898_a_device_that_is_refused_notices_no_fault() {
    with_fault("old-copy-wins", || cut_as_drawn(&vec![("geometry.channels", "0")]));
}

/// Whether a device fails with this fault at some of its cuts.
pub fn fails(fault: Fault, device: &Sets, step: usize, again: bool) -> bool {
    with_fault(fault, || cut_everywhere(device, step, again))
}

/// Whether a device fails with this fault that loses power again and again.
fn fails_often(fault: Fault, method: &'static str, device: &Sets<'static>) -> bool {
    with_fault(fault, || cut_often(method, device, 0, &mut Met::default()))
}

/// Whether some cut of some device fails with this fault.
fn is_noticed(fault: Fault) -> bool {
    let methods = || ["scan", "summary", "checkpoint"].into_iter();
    // Drawn cuts are quick and notice most, and most of that on the first devices that can have the fault.
    further_devices()
        .into_iter()
        .chain(devices())
        .any(|device| methods().any(|method| fails_often(fault, method, &device)))
        || further_devices().iter().any(|device| fails(fault, device, 13, false))
        || methods().any(|method| devices().any(|device| fails(fault, &by(method, device), 11, false)))
        || methods().any(|method| devices().any(|device| fails(fault, &by(method, device), 61, true)))
}

/// Fails with the names of those faults that are not noticed.
pub fn all_are_noticed<'a>(faults: impl IntoIterator<Item = &'a Fault>, is_noticed: impl Fn(Fault) -> bool) {
    let is_missed = |fault: &Fault| {
        let begun = std::time::Instant::now();
        let noticed = is_noticed(fault);
        println!("{fault}: {}, {:.1} s", if noticed { "noticed" } else { "missed" }, begun.elapsed().as_secs_f64());
        !noticed
    };
    let missed: Vec<&str> = faults.into_iter().copied().filter(is_missed).collect();
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}

#[test]
fn t807_every_fault_fits_the_sources() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| panic!("crates"));
    let read =
        |file: &str| std::fs::read_to_string(crates.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut sources: BTreeMap<&str, String> = BTreeMap::new();
    for (name, fault) in FAULTS.iter() {
        for edit in fault["edits"].as_array().into_iter().flatten() {
            let [file, old, new] = [0, 1, 2].map(|at| edit[at].as_str().unwrap_or_else(|| panic!("{name}: {edit}")));
            let source = sources.entry(file).or_insert_with(|| read(file));
            assert_eq!(source.matches(old).count(), 1, "{name}: {file} must have once: {old}");
            *source = source.replace(old, new);
        }
    }
}

#[test]
#[ignore = "needs faulty sources: make faults"]
fn t802_every_fault_in_recovery_is_noticed() {
    cut_all(further_devices(), 13, false);
    let of_others = [
        OF_BLOCKS,
        OF_UNITS,
        OF_BUFFERS,
        OF_TRIMS,
        OF_PROTECTION,
        OF_PARTS,
        OF_PLANES,
        OF_MAPS,
        OF_GATHERING,
        OF_HANDLES,
        OF_WEAR,
        OF_ZONES,
    ]
    .concat();
    let faults: Vec<Fault> = FAULTS.keys().map(String::as_str).filter(|fault| !of_others.contains(fault)).collect();
    assert!(faults.len() >= 20);
    all_are_noticed(faults.iter().rev(), is_noticed);
}
