//! 68x: what every result document owes its reader, on random devices of every layer: shares between 0 and 1, parts that
//! sum to their whole, counts that are contained in each other, and nothing but null where nothing applies.

use pumice_config::Config;
use pumice_engine::observe::Observer;
use pumice_engine::{SimError, run};
use pumice_nand::NandArray;
use pumice_types::{Cause, FlashCommand, FlashOp, HostRequest, Time};
use pumice_workload::RandomStream;
use serde_json::Value;

use crate::power::{Sets, as_command, number_in};
use crate::power_layers::combinations;
use crate::support::{run_seen_by, source, spec};
use crate::timeline::{drawn_of, slices};
use crate::zone_requests::ZONES;

/// Keys of devices of any layer, and what is drawn for them. A value that a layer refuses is left out.
const DRAWN: &[(&str, &[&str])] = &[
    ("geometry.channels", &["1", "2"]),
    ("geometry.planes_per_die", &["1", "2", "4"]),
    ("geometry.pages_per_block", &["1", "2", "8", "32"]),
    ("geometry.program_order", &["in-order", "any"]),
    ("timing.multi_plane", &["off", "erases", "neighbours", "queue"]),
    ("timing.copyback", &["true", "false"]),
    ("timing.channel_mb_per_s", &["20.0", "1200.0"]),
    ("timing.read_transfer", &["codewords"]),
    ("timing.read_command", &["channel"]),
    ("timing.plane_reads", &["plane", "batch"]),
    ("program.suspension", &["pulse", "immediate"]),
    ("program.spread", &["0.9"]),
    ("controller.t_request_us", &["5.0", "400.0"]),
    ("controller.t_command_us", &["0.5", "60.0"]),
    ("controller.cores", &["3"]),
    ("erase.suspension", &["off", "loop"]),
    ("host.read_priority", &["true", "false"]),
    ("host.read_tokens", &["1", "4"]),
    ("host.write_buffer_kib", &["0", "64"]),
    ("host.flush", &["eager", "lru"]),
    ("host.mode", &["open-loop", "closed-loop"]),
    ("host.queue_depth", &["1", "32"]),
    ("host.link_mb_per_s", &["200.0"]),
    ("ftl.hot_cold", &["mixed", "gc", "recency"]),
    ("ftl.gc_mode", &["blocking", "foreground", "background", "preemptible", "paced"]),
    ("ftl.gc_planes", &["own", "die"]),
    ("ftl.map_place", &["ram", "cached", "spare"]),
    ("ftl.map_cache_entries", &["64"]),
    ("ftl.wear_leveling", &["none", "both"]),
    ("ftl.merge", &["block-erase", "m-merge"]),
    ("ftl.map_unit_bytes", &["512", "1024", "2048"]),
    ("ftl.open_page_us", &["0.0", "300.0"]),
    ("power.protection", &["none", "operations", "full"]),
    ("power.cuts", &["0", "1", "7", "60"]),
    ("workload.kind", &["uniform", "zipf", "sequential"]),
    ("workload.trim_fraction", &["0.0", "0.2"]),
    ("workload.request_bytes", &["512", "4096", "16384"]),
    ("workload.mean_interarrival_us", &["50.0", "3000.0"]),
    ("workload.requests", &["20", "400"]),
    ("run.warmup_requests", &["0", "15"]),
    ("run.timed", &["true", "true", "false"]),
];

/// Random devices that each test draws in the suite.
const DEVICES: u64 = 150;

/// Settings of random devices, drawn from the registry of layers, merges and ways of recovery.
struct Devices {
    random: RandomStream,
    bases: Vec<Sets<'static>>,
}

impl Devices {
    fn new(purpose: &str) -> Devices {
        let off: &[(&str, &str)] = &[("ftl.recovery", "off")];
        let all = combinations();
        let bases = all.iter().flat_map(|layer| [layer.device(&[]), [&layer.device(&[])[..], off].concat()]).collect();
        Devices { random: RandomStream::new(number_in("PUMICE_FIGURES_SEED").unwrap_or(1), purpose), bases }
    }

    fn pick<'a, T: ?Sized>(&mut self, all: &'a [&'a T]) -> &'a T {
        all[self.random.below(all.len() as u64) as usize]
    }

    /// A spec that is valid. What is refused is refused in one line.
    fn next(&mut self) -> (Sets<'static>, Config) {
        loop {
            let mut sets = self.bases[self.random.below(self.bases.len() as u64) as usize].clone();
            for (key, values) in DRAWN {
                if self.random.below(4) == 0 {
                    sets.push((key, self.pick(values)));
                }
            }
            match Config::resolve(&source(&sets)) {
                Ok(config) => return (sets, config),
                Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            }
        }
    }
}

/// Every object of a document that holds something, but nothing that applies.
fn empty_tables(path: &str, value: &Value, found: &mut Vec<String>) {
    let Some(table) = value.as_object() else { return };
    if !table.is_empty() && table.values().all(Value::is_null) {
        found.push(path.to_string());
    }
    table.iter().for_each(|(name, value)| empty_tables(&format!("{path}.{name}"), value, found));
}

/// A number, or 0 where it does not apply.
fn or_zero(document: &Value, path: &str) -> f64 {
    document.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_f64).unwrap_or(0.0)
}

/// What is wrong with a document.
fn faults(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let of = |path: &str| or_zero(document, path);
    let mut expect = |holds: bool, what: String| found.extend((!holds).then_some(what));
    for part in ["die", "channel"] {
        let shares = document["utilisation"][part].as_array().into_iter().flatten().filter_map(Value::as_f64);
        let outside: Vec<f64> = shares.filter(|share| !(0.0..=1.0).contains(share)).collect();
        expect(outside.is_empty(), format!("utilisation.{part}: {outside:?}"));
    }
    expect(of("utilisation.controller") <= 1.0, format!("utilisation.controller: {}", of("utilisation.controller")));
    for kind in ["read", "write", "trim", "flush", "append", "reset", "finish"] {
        let longest = of(&format!("host.{kind}.latency_us.max")) * 1e-6;
        let simulated = of("host.simulated_s") * (1.0 + 1e-12);
        // What was under way before measuring began took longer than what was measured.
        let is_whole = of("config.run.warmup_requests") == 0.0;
        expect(!is_whole || longest <= simulated, format!("{longest} s of a {kind} in {simulated} s"));
    }
    if let Some(parts) = document["write_latency_breakdown_us"].as_object() {
        let (sum, mean) = (parts.values().filter_map(Value::as_f64).sum::<f64>(), of("host.write.latency_us.mean"));
        expect((sum - mean).abs() <= 1e-9 * mean, format!("parts of the write latency: {sum} of {mean}"));
    }
    let logged = of("power.journal_pages") + of("power.map_pages") + of("power.trim_pages");
    expect(logged <= of("flash.programs.map"), format!("{logged} pages of the log"));
    let programs = ["host", "gc", "map", "padding"].map(|cause| of(&format!("flash.programs.{cause}")));
    let erases = ["block", "partial", "sub_block"].map(|unit| of(&format!("flash.erases.{unit}")));
    expect(of("power.recovery_programs") <= programs.iter().sum(), "power.recovery_programs".into());
    expect(of("power.recovery_erases") <= erases.iter().sum(), "power.recovery_erases".into());
    expect(of("power.erased_again") <= of("flash.erases.block"), "power.erased_again".into());
    let (rate, while_serving) = (of("host.iops"), of("host.service_iops"));
    expect(rate <= while_serving * (1.0 + 1e-12), format!("{rate} requests/s, {while_serving} while serving"));
    let recovering = of("power.recovery_us.mean") * 1e-6;
    expect(recovering <= of("host.simulated_s") * (1.0 + 1e-12), format!("{recovering} s of recovery"));
    for (section, table) in document.as_object().into_iter().flatten().filter(|(name, _)| *name != "config") {
        empty_tables(section, table, &mut found);
    }
    found
}

/// A page of mapping units that was programmed because its time was over cost the controller's core the time that it began
/// in, and not the present: requests were done before they came, with a latency of 2^64 ns. Work that a core had begun
/// counted whole although the run ended before.
///
/// Recoveries behind the last request were in the busy times and not in the simulated time, so that a die was busy for
/// up to 1,284 times as long as there was; a transfer that a cut ended was booked whole. Programs of summaries, of the
/// map and of its journal made writes wait, and the part that says so was null. A recovery that was cut itself counted
/// pages of the journal that no other count had.
#[test]
fn t946_figures_agree_with_each_other() {
    let mut devices = Devices::new("figures");
    let (mut met, mut wrong) = ([0u32; 3], Vec::new());
    for _ in 0..number_in("PUMICE_FIGURES").unwrap_or(DEVICES) {
        let (sets, config) = devices.next();
        let outcome = match run(&config, 1.0, &mut |_| true) {
            // Whether a generator has room is known with its device alone.
            Err(SimError::Trace(_)) => continue,
            Err(error) => panic!("{error}\n{}", as_command(&sets)),
            Ok(outcome) => outcome,
        };
        let found = faults(&outcome.document);
        wrong.extend((!found.is_empty()).then(|| format!("{}: {}", as_command(&sets), found.join("; "))));
        let of = |path: &str| u32::from(or_zero(&outcome.document, path) > 0.0);
        let seen = ["power.cuts", "write_latency_breakdown_us.map", "power.journal_pages"].map(of);
        met.iter_mut().zip(seen).for_each(|(met, seen)| *met += seen);
    }
    println!("cuts, waits for the map and journals in {met:?} runs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(met.iter().all(|&runs| runs > 0), "{met:?}");
}

/// Keys of devices whose host writes zones through a buffer.
const DRAWN_OF_ZONES: &[(&str, &[&str])] = &[
    ("host.write_buffer_kib", &["4", "16", "64"]),
    ("ftl.zns.max_open", &["1", "2", "3"]),
    ("ftl.zns.max_active", &["3", "4"]),
    ("ftl.zns.reset", &["at-once", "when-opened", "idle"]),
    ("ftl.zns.reset_erases", &["together", "in-turn", "alone"]),
    ("ftl.zns.finish_pace", &["at-once", "shared"]),
    ("ftl.zns.first_plane", &["same", "drawn"]),
    ("program.pages_per_command", &["1", "4"]),
    ("program.spread", &["0", "0.3"]),
    ("workload.flow[0].zones", &["[0, 3]", "[1, 5]"]),
    ("workload.flow[1].zones", &["[0, 2]", "[4, 4]"]),
    ("workload.flow[2].zones", &["[0, 1]", "[2, 2]"]),
    ("workload.flow[0].zones_at_once", &["1", "3"]),
    ("workload.flow[1].kind", &["zone-append", "zone-write", "zone-reset"]),
    ("workload.flow[2].kind", &["zone-write", "zone-read", "zone-finish"]),
    ("workload.zone_request_bytes", &["4096", "65536"]),
    ("workload.zone_share", &["0.1", "0.6"]),
    ("workload.requests", &["60", "300"]),
    ("host.mode", &["closed-loop"]),
    ("host.queue_depth", &["1", "8"]),
    ("controller.t_command_us", &["0.0", "20.0"]),
];

/// A write that waited for room in the buffer until its zone was written again had no part for that wait. One that was to
/// open its zone was not regarded when the next zone was opened, so that both together broke a limit and ended the run.
#[test]
fn t977_writes_of_zones_that_wait_for_the_buffer_open_them_in_order() {
    let (mut devices, mut wrong, mut refused) = (Devices::new("zones"), Vec::new(), 0);
    for _ in 0..DEVICES {
        let drawn = DRAWN_OF_ZONES.iter().map(|(key, values)| (*key, devices.pick(values)));
        let mut sets: Sets = ZONES.iter().copied().chain([("workload.kind", "zone-write")]).chain(drawn).collect();
        if !sets.contains(&("ftl.zns.reset", "at-once")) {
            sets.retain(|(key, _)| *key != "ftl.zns.reset_erases");
        }
        match run(&spec(&sets), 1.0, &mut |_| true) {
            Err(error) => wrong.push(format!("{}: {error}", as_command(&sets))),
            Ok(outcome) => {
                refused += u32::from(or_zero(&outcome.document, "zones.refused_requests") > 0.0);
                let found = faults(&outcome.document);
                wrong.extend((!found.is_empty()).then(|| format!("{}: {}", as_command(&sets), found.join("; "))));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(refused > 0, "no limit was met");
}

/// What ran, and was torn, from a cut of the power until the host was served again.
#[derive(Default)]
struct Starts {
    is_starting: bool,
    programs: u64,
    erases: u64,
    of_map: u64,
    /// Cuts of a device that was starting.
    cut: u64,
}

impl Starts {
    fn note(&mut self, command: &FlashCommand) {
        if self.is_starting {
            match command.op {
                FlashOp::Program | FlashOp::Copy => self.programs += 1,
                FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase => self.erases += 1,
                FlashOp::Read | FlashOp::SpareSearch | FlashOp::Pause => {}
            }
            self.of_map += u64::from(command.op == FlashOp::Program && command.cause == Cause::Map);
        }
    }
}

impl Observer for Starts {
    fn command(&mut self, _: Time, _: Time, command: &FlashCommand) {
        self.note(command);
    }

    fn torn(&mut self, command: &FlashCommand) {
        self.note(command);
    }

    fn power_lost(&mut self, _: &mut NandArray, _: &mut RandomStream) {
        self.cut += u64::from(self.is_starting);
        self.is_starting = true;
    }

    fn accepted(&mut self, _: u32, _: &HostRequest) {
        self.is_starting = false;
    }
}

/// A start that was cut itself counted everything that it had decided, and of its pages of the journal even what was
/// never queued.
#[test]
fn t947_a_start_that_is_cut_counts_what_it_has_done() {
    // Cuts follow each other after 0.3 to 7.2 ms, so that starts get ever further.
    let gaps = (0..60u32).map(|nth| 0.0003 * f64::from(nth % 24 + 1));
    let times = gaps.scan(0.01, |at, gap| {
        *at += gap;
        Some(format!("{at:.4}"))
    });
    let cuts = format!("[{}]", times.collect::<Vec<_>>().join(","));
    let (mut starts_cut, mut map_pages) = (0, 0);
    for layer in combinations() {
        let sets = [&layer.device(&[])[..], &[("power.cut_at_s", &cuts), ("workload.requests", "300")]].concat();
        let mut seen = Starts::default();
        let document = run_seen_by(&spec(&sets), &mut seen).expect("it runs").document;
        let of = |path: &str| or_zero(&document, path) as u64;
        let counted = [of("power.recovery_programs"), of("power.recovery_erases")];
        assert_eq!(counted, [seen.programs, seen.erases], "{}", as_command(&sets));
        (starts_cut, map_pages) = (starts_cut + seen.cut, map_pages + seen.of_map);
    }
    assert!(starts_cut > 100 && map_pages > 0, "{starts_cut} starts were cut, {map_pages} pages of the map");
}

/// Copies that ran together with programs, or with copies of other causes, were slices on top of each other.
#[test]
fn t948_slices_of_a_timeline_do_not_overlap() {
    let mut devices = Devices::new("slices");
    let mut mixed = 0;
    for nth in 0..DEVICES {
        let (mut sets, _) = devices.next();
        sets.extend(
            [("timing.multi_plane", "queue"), ("geometry.planes_per_die", "4")].into_iter().filter(|_| nth % 2 == 0),
        );
        sets.extend([("run.timed", "true"), ("output.timeline", "true"), ("output.timeline_length_s", "1e6")]);
        let Ok(config) = Config::resolve(&source(&sets)) else { continue };
        let (_, events) = drawn_of(&config);
        for process in [2, 3, 4] {
            for (thread, spans) in slices(&events, process) {
                let overlaps = spans.windows(2).find(|pair| pair[0].1 > pair[1].0);
                assert_eq!(overlaps, None, "thread {thread} of process {process}: {}", as_command(&sets));
            }
        }
        mixed += events.iter().filter(|event| event["name"] == "copy and program").count();
    }
    assert!(mixed > 0, "copies run together with programs");
}

/// A block whose only page would have held its own summary was divided by.
#[test]
fn t949_a_block_of_one_page_has_no_room_for_a_summary() {
    let refused = |more: &[(&str, &str)]| {
        let sets =
            [&[("ftl.kind", "page"), ("ftl.recovery", "summary"), ("ftl.over_provisioning", "0.6")], more].concat();
        Config::resolve(&source(&sets)).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let one = [("geometry.pages_per_block", "1"), ("partial_erase.max_splits", "0"), ("partial_erase.unit", "none")];
    let cached: &[(&str, &str)] = &[("ftl.map_place", "cached"), ("ftl.map_cache_entries", "64")];
    for more in [&one[..], &[&one[..], cached].concat()] {
        let error = refused(more);
        assert!(error.contains("geometry.pages_per_block must be at least 2, found 1"), "{error}");
    }
}
