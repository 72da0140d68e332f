//! Rules between keys: combinations that are impossible although each value is allowed.

use pumice_ftl::{AgedBy, EraseGroup, FtlKind, OpenBlocks};
use pumice_ftl::{FinishPace, Recovery, ResetErases};
use pumice_types::erase::{MAX_LOOPS, PULSES_PER_LOOP};
use pumice_types::refusal::{needs, quoted};
use pumice_types::{
    ChipKeys, EraseKeys, LastLoop, MultiPlane, PartialEraseUnit, PlaneReads, ProgramSuspension, Suspension,
    SuspensionFor, WornBlockRule, refuse,
};
use pumice_workload::{Trims, WorkloadKeys};

use crate::{Config, FlushPolicy, SpecError, flow};

/// How far a shallow erase may be from a whole number of unit pulses, in unit pulses.
const SHALLOW_TOLERANCE: f64 = 1e-6;

/// Most pages that a write buffer holds: a page takes about 200 bytes once it is buffered.
const BUFFER_PAGES_MAX: u64 = 1 << 24;

/// Checks a spec whose single values are all allowed.
///
/// # Errors
/// The first impossibility, with what would be possible.
pub fn check(config: &Config) -> Result<(), SpecError> {
    config.chip.check()?;
    config.ftl.check(&config.chip, &config.initial)?;
    check_buffer(config)?;
    check_zones(config)?;
    check_erase(config)?;
    check_suspending_policy(config)?;
    check_power(config)?;
    check_stripes(config)?;
    check_read_retry(&config.assumed_chip())?;
    match config.flows.is_empty() {
        true => config.workload.check()?,
        false => check_flows(config)?,
    }
    check_until(config)?;
    check_drawn(config)?;
    check_output(config)
}

/// Refuses a steady state that is not that of the spec's layer, or in which not all stored pages are written.
fn check_drawn(config: &Config) -> Result<(), SpecError> {
    if !config.initial.is_drawn() {
        return Ok(());
    }
    let (kind, fill, footprint) = (config.ftl.kind, config.initial.fill, config.workload.shared.footprint);
    needs(
        "initial.aged_by = \"drawn\"",
        [
            (kind != FtlKind::Page, "ftl.kind = \"page\"", quoted(kind)),
            (footprint < fill, "a workload.footprint of initial.fill or more", format!("{footprint} and {fill}")),
        ],
    )
}

/// Checks what a spec says of chips that no controller drives.
///
/// # Errors
/// The first impossibility, with what would be possible.
pub fn check_chip(chip: &ChipKeys) -> Result<(), SpecError> {
    chip.check()?;
    check_erase_process(&chip.erase)?;
    check_failing_erases(&chip.erase)?;
    if chip.erase.max_loops < MAX_LOOPS && chip.partial_erase.unit != PartialEraseUnit::None {
        return Err(refuse!(
            "erase.max_loops = {} lets erases fail, which needs partial_erase.unit = \"none\", found \"{}\"",
            chip.erase.max_loops,
            chip.partial_erase.unit
        ));
    }
    check_read_retry(chip)
}

/// Refuses a write buffer that holds no page, or so many that the simulation would need gigabytes for it.
fn check_buffer(config: &Config) -> Result<(), SpecError> {
    let page_bytes = u64::from(config.mapped_page_bytes());
    let (kib, kib_max) = (config.host.write_buffer_kib, BUFFER_PAGES_MAX * page_bytes / 1024);
    if kib > 0 && kib * 1024 < page_bytes {
        return Err(refuse!(
            "host.write_buffer_kib = {kib} holds no page of geometry.page_bytes = {page_bytes}; allowed: 0, or at least {}",
            page_bytes.div_ceil(1024)
        ));
    }
    if kib > kib_max {
        return Err(refuse!(
            "host.write_buffer_kib = {kib} is more than {BUFFER_PAGES_MAX} pages of geometry.page_bytes = {page_bytes}; allowed: at most {kib_max}"
        ));
    }
    Ok(())
}

/// Refuses a policy of the user's that decides when erases are suspended, where none ever is.
fn check_suspending_policy(config: &Config) -> Result<(), SpecError> {
    match &config.ftl.own_policy {
        Some(policy) if config.ftl.decides().suspend && config.chip.erase.suspension == Suspension::Off => {
            Err(refuse!(
                "policy \"{}\" decides suspend: it needs erase.suspension = \"loop\" | \"pulse\" | \"capped\" | \"immediate\" | \"authors-code\", found \"off\"",
                policy.0.name()
            ))
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses what a host that addresses zones cannot have, and its workloads elsewhere.
fn check_zones(config: &Config) -> Result<(), SpecError> {
    if config.ftl.has_host_zones() {
        return check_zone_buffer(config);
    }
    match config.workloads().map(WorkloadKeys::kind).find(|kind| kind.is_zoned()) {
        Some(kind) => {
            Err(refuse!("workload.kind = \"{kind}\" needs ftl.kind = \"zns\" and ftl.zns.interface = \"zones\""))
        }
        None => Ok(()),
    }
}

/// Refuses a write buffer that programs pages of a zone in another order than they came, and rules of a buffer that is
/// not there.
fn check_zone_buffer(config: &Config) -> Result<(), SpecError> {
    let (buffer, flush, zns) = (config.host.write_buffer_kib, config.host.flush, &config.ftl.zns);
    let has_none = || (buffer == 0, "a host.write_buffer_kib", "0".into());
    if zns.reset_erases == ResetErases::Alone {
        needs("ftl.zns.reset_erases = \"alone\"", [has_none()])?;
    }
    if zns.finish_pace == FinishPace::Shared {
        needs("ftl.zns.finish_pace = \"shared\"", [has_none()])?;
    }
    let rule = (buffer > 0 && flush != FlushPolicy::Eager, "host.flush = \"eager\" with a write buffer", quoted(flush));
    needs("ftl.zns.interface = \"zones\"", [rule])
}

/// Refuses flows that cannot be, or where only one workload can be.
fn check_flows(config: &Config) -> Result<(), SpecError> {
    flow::check(config)?;
    needs(
        "workload.flow",
        [(
            config.initial.age_writes > 0.0 && config.initial.aged_by == AgedBy::Requests,
            "initial.aged_by = \"pages\"",
            quoted(config.initial.aged_by),
        )],
    )
}

/// Refuses cuts of the power where something is in the way that cannot recover yet.
fn check_power(config: &Config) -> Result<(), SpecError> {
    let recovery = config.ftl.shared.recovery;
    config.power.check(&config.ftl)?;
    if recovery == Recovery::Off {
        return Ok(());
    }
    let (chip, protection) = (&config.chip, config.power.protection);
    let reuses = config.ftl.kind == FtlKind::Page && config.ftl.page.open_block == OpenBlocks::Reuse;
    if reuses && !protection.ends_operations() {
        return Err(refuse!(
            "ftl.open_block = \"reuse\" needs power.protection = \"operations\" | \"full\", found \"{protection}\""
        ));
    }
    check_trims(config)?;
    needs(
        format_args!("ftl.recovery = \"{recovery}\""),
        [
            (chip.erase.max_loops < MAX_LOOPS, "erase.max_loops = 5", chip.erase.max_loops.to_string()),
            (
                chip.timing.multi_plane != MultiPlane::Off && config.ftl.own_layer().is_some(),
                "timing.multi_plane = \"off\" with a layer of your own",
                quoted(chip.timing.multi_plane),
            ),
            (config.output.command_log, "output.command_log = false", "true".into()),
        ],
    )
}

/// Refuses trims of a layer that would bring back what was trimmed. A layer that keeps it has nothing to write down.
fn check_trims(config: &Config) -> Result<(), SpecError> {
    let recovery = config.ftl.shared.recovery;
    if !config.forgets_trims() {
        return Ok(());
    }
    for workload in config.workloads() {
        let fraction = workload.shared.trim_fraction;
        if fraction > 0.0 {
            return Err(refuse!("ftl.recovery = \"{recovery}\" needs workload.trim_fraction = 0, found {fraction}"));
        }
        if workload.trace.trims != Trims::Drop && workload.kind().is_trace() {
            return Err(refuse!("ftl.recovery = \"{recovery}\" needs workload.trims = \"drop\", found \"keep\""));
        }
    }
    Ok(())
}

/// Refuses a clock where collection copies pages from one die to another.
fn check_stripes(config: &Config) -> Result<(), SpecError> {
    match config.ftl.page.erase_group {
        EraseGroup::Plane | EraseGroup::Die => Ok(()),
        EraseGroup::Device if !config.run.timed => Ok(()),
        EraseGroup::Device => Err("ftl.erase_group = \"device\" needs run.timed = false, found true".into()),
    }
}

/// Refuses keys of the erase itself that cannot hold together.
fn check_erase_process(keys: &EraseKeys) -> Result<(), SpecError> {
    let requirement = keys.rber_requirement.bits_per_kib();
    if keys.scheme.has_loops() && f64::from(requirement) > keys.ecc_bits_per_kib {
        return Err(refuse!(
            "erase.rber_requirement = {requirement} is above erase.ecc_bits_per_kib = {}, so blocks would stay in use that cannot be read",
            keys.ecc_bits_per_kib
        ));
    }
    if keys.gamma >= keys.delta {
        return Err(refuse!("erase.gamma = {} is not below erase.delta = {}", keys.gamma, keys.delta));
    }
    let pulses = keys.t_se_us * f64::from(PULSES_PER_LOOP) / keys.t_ep_us;
    let whole = (pulses - pulses.round()).abs() <= SHALLOW_TOLERANCE;
    if !whole || !(1.0..f64::from(PULSES_PER_LOOP)).contains(&pulses.round()) {
        return Err(refuse!(
            "erase.t_se_us = {} is not one to six sevenths of erase.t_ep_us = {}",
            keys.t_se_us,
            keys.t_ep_us
        ));
    }
    Ok(())
}

/// Refuses erase keys that cannot hold together.
fn check_erase(config: &Config) -> Result<(), SpecError> {
    let keys = &config.chip.erase;
    check_erase_process(keys)?;
    check_retirement(config)?;
    if keys.suspension != Suspension::Off && !config.host.read_priority {
        return Err(refuse!(
            "erase.suspension = \"{}\" lets reads go first, which needs host.read_priority = true",
            keys.suspension
        ));
    }
    check_plane_reads(config)?;
    check_read_tokens(config)?;
    check_last_loop(config)?;
    check_program_suspension(config)?;
    // Commands that overtake others rely on the order of the queue after a suspended erase.
    if keys.suspension_for == SuspensionFor::ReadsAndWrites
        && keys.suspension != Suspension::Off
        && config.chip.timing.multi_plane == MultiPlane::Queue
    {
        return Err(
            "erase.suspension_for = \"reads-and-writes\" needs timing.multi_plane = \"off\" or \"neighbours\", found \"queue\""
                .into(),
        );
    }
    Ok(())
}

/// Refuses erases that can fail under a scheme without loops.
fn check_failing_erases(keys: &EraseKeys) -> Result<(), SpecError> {
    if keys.max_loops == MAX_LOOPS || keys.scheme.has_loops() {
        return Ok(());
    }
    Err(refuse!(
        "erase.max_loops = {} lets erases fail, which needs erase.scheme = a scheme with erase loops, found \"{}\"",
        keys.max_loops,
        keys.scheme
    ))
}

/// Refuses erases that can fail under an FTL that does not retire blocks, or with erase units smaller than a block.
fn check_retirement(config: &Config) -> Result<(), SpecError> {
    let keys = &config.chip.erase;
    check_failing_erases(keys)?;
    let retires_worn = keys.scheme.has_loops() && keys.worn_blocks != WornBlockRule::Used;
    let needs = match (keys.max_loops, retires_worn) {
        (MAX_LOOPS, false) => return Ok(()),
        (_, true) => format!("erase.worn_blocks = \"{}\" retires blocks, which needs", keys.worn_blocks),
        (loops, false) => format!("erase.max_loops = {loops} lets erases fail, which needs"),
    };
    // What a device promised whose last write is refused half-way is not kept book of.
    let recovery = config.ftl.shared.recovery;
    if retires_worn && recovery != Recovery::Off {
        return Err(refuse!("{needs} ftl.recovery = \"off\", found \"{recovery}\""));
    }
    config.ftl.check_retirement(&config.assumed_chip(), &config.initial).map_err(|needed| refuse!("{needs} {needed}"))
}

/// Refuses retries where nothing says how many errors a page has.
fn check_read_retry(chip: &ChipKeys) -> Result<(), SpecError> {
    let keys = &chip.erase;
    if keys.read_retry && !keys.scheme.has_loops() && chip.geometry.block_shape().is_none() {
        return Err(refuse!(
            "erase.read_retry = true needs a wear or a place that errors follow from: erase.scheme other than \"{}\", \
             or geometry.layers and geometry.sub_blocks",
            keys.scheme
        ));
    }
    Ok(())
}

/// Refuses to wait for a latency without a clock.
fn check_until(config: &Config) -> Result<(), SpecError> {
    match config.run.until {
        Some(until) if !config.run.timed && !until.wanted.is_known_without_clock() => {
            Err(refuse!("run.until = \"{until}\" is a latency, which needs run.timed = true, found false"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses latencies and times of completion without a clock.
fn check_output(config: &Config) -> Result<(), SpecError> {
    let output = &config.output;
    let timed = [
        (output.request_log, "output.request_log"),
        (output.histograms, "output.histograms"),
        (output.timeline, "output.timeline"),
        (output.time_series_s.is_some(), "output.time_series_s"),
    ];
    match timed.into_iter().find(|(on, _)| *on && !config.run.timed) {
        Some((_, key)) => Err(refuse!("{key} needs run.timed = true, found false")),
        None => Ok(()),
    }
}

/// What needs reads that go first.
fn reads_first(config: &Config) -> (bool, &'static str, String) {
    (!config.host.read_priority, "host.read_priority = true", "false".into())
}

/// What needs reads and programs of one plane each.
fn pages_apart(config: &Config) -> (bool, &'static str, String) {
    let multi_plane = config.chip.timing.multi_plane;
    (multi_plane.joins_pages(), "timing.multi_plane = \"off\" or \"erases\"", quoted(multi_plane))
}

/// Refuses what does not know planes that read by themselves: reads that wait their turn, commands of several planes,
/// and the command log and the timeline, in which commands of a die do not overlap.
fn check_plane_reads(config: &Config) -> Result<(), SpecError> {
    let plane_reads = config.chip.timing.plane_reads;
    if plane_reads == PlaneReads::Die {
        return Ok(());
    }
    needs(
        format_args!("timing.plane_reads = \"{plane_reads}\""),
        [
            reads_first(config),
            pages_apart(config),
            (config.output.command_log, "output.command_log = false", "true".into()),
            (config.output.timeline, "output.timeline = false", "true".into()),
        ],
    )
}

/// Refuses limits of reads that do not go first, or that begin while others run; and commands of several planes that read
/// or move pages, of which a later one could erase what a waiting read needs.
fn check_read_tokens(config: &Config) -> Result<(), SpecError> {
    let (tokens, plane_reads) = (config.host.read_tokens, config.chip.timing.plane_reads);
    if tokens == 0 {
        return Ok(());
    }
    needs(
        format_args!("host.read_tokens = {tokens}"),
        [
            reads_first(config),
            (plane_reads == PlaneReads::Plane, "timing.plane_reads = \"die\" or \"batch\"", quoted(plane_reads)),
            pages_apart(config),
        ],
    )
}

/// Refuses last loops that wait where planes erase together, and where the power may be cut before they ran: neither is
/// built.
fn check_last_loop(config: &Config) -> Result<(), SpecError> {
    let (last_loop, multi_plane) = (config.chip.erase.last_loop, config.chip.timing.multi_plane);
    if last_loop == LastLoop::AtOnce {
        return Ok(());
    }
    let recovery = config.ftl.shared.recovery;
    needs(
        format_args!("erase.last_loop = \"{last_loop}\""),
        [
            (multi_plane != MultiPlane::Off, "timing.multi_plane = \"off\"", quoted(multi_plane)),
            (recovery != Recovery::Off, "ftl.recovery = \"off\"", quoted(recovery)),
        ],
    )
}

/// Refuses suspended programs without reads that go first, and of several planes: what runs together is settled when
/// the command starts, and commands that overtake others change it while it is suspended.
fn check_program_suspension(config: &Config) -> Result<(), SpecError> {
    let suspension = config.chip.program.suspension;
    if suspension == ProgramSuspension::Off {
        return Ok(());
    }
    needs(format_args!("program.suspension = \"{suspension}\""), [reads_first(config), pages_apart(config)])
}
