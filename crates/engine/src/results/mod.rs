//! What a finished run leaves: its document, and the files that its spec asks for.

mod fields;
mod request_log;
mod timeline;
mod told;

use std::ops::{Add, Sub};

use pumice_config::{Check, Config};
use pumice_ftl::{GcCounters, MapPlace, Recovery, Reports, ZoneReport};
use pumice_nand::{CheckedArray, WearSummary};
use pumice_types::{FlashTiming, Geometry, Time, WornBlockRule};
use pumice_workload::Fact;
use serde_json::{Map, Value, json};

use crate::chip::Chips;
use crate::chip::erase::{EraseTotals, Eraser, Lifetime};
use crate::controller::Controller;
use crate::error::SimError;
use crate::host::Host;
use crate::metrics::{FlashCounts, PowerFigures, WearMap, interval_log};
use crate::scheduler::Scheduler;
use crate::stopping::StoppingReport;
pub use fields::{ResultField, fields_of_result};
pub use request_log::RequestBatch;
pub use timeline::Timeline;
pub use told::Circumstances;

/// Name and version of the document's format.
pub const FORMAT: &str = "pumice.result/1";

/// How long each part of a device was busy up to an instant, or between two.
#[derive(Clone, Debug, Default)]
pub struct BusyTimes {
    /// The instant, or the time between the two.
    pub of: Time,
    /// Each die.
    pub dies: Vec<Time>,
    /// Each channel.
    pub channels: Vec<Time>,
    /// All cores of the controller together; none if they take no time.
    pub cores: Time,
}

impl BusyTimes {
    /// What is left of these times without those up to an earlier instant.
    #[must_use]
    pub fn since(mut self, before: &BusyTimes) -> BusyTimes {
        self.of = self.of - before.of;
        self.join(before, Time::sub);
        self
    }

    /// The times of these dies and channels, and of other dies and channels up to the same instant.
    #[must_use]
    pub fn and(mut self, others: &BusyTimes) -> BusyTimes {
        self.join(others, Time::add);
        self
    }

    fn join(&mut self, other: &BusyTimes, join: impl Fn(Time, Time) -> Time) {
        let pairs = self.dies.iter_mut().zip(&other.dies).chain(self.channels.iter_mut().zip(&other.channels));
        pairs.chain([(&mut self.cores, &other.cores)]).for_each(|(own, &others)| *own = join(*own, others));
    }
}

/// When a device became read-only, because too many of its blocks were worn out.
#[derive(Clone, Copy, Debug)]
pub struct EndOfLife {
    /// The request that found no block to write to, counted from 1.
    pub request: u64,
    /// The time.
    pub at: Time,
}

/// A finished run.
pub struct Outcome {
    /// The result document, all but the times of its `run` section.
    pub document: Value,
    /// Requests of the whole run, warm-up included.
    pub requests: u64,
    /// Flash commands of the whole run, warm-up and ageing included.
    pub flash_commands: u64,
    /// What an integrity run found wrong.
    pub integrity_error: Option<String>,
    /// Latency histograms as an HDR interval log, if the spec asks for them.
    pub histograms: Option<Vec<u8>>,
    /// Erases of every leaf, if the spec asks for them.
    pub wear_map: Option<WearMap>,
}

impl Outcome {
    /// What a run of so many requests leaves.
    ///
    /// # Errors
    /// A histogram that its own format cannot hold.
    pub fn of(run: &Finished, requests: u64) -> Result<Outcome, SimError> {
        let output = &run.config.output;
        Ok(Outcome {
            document: fields::document(run),
            requests,
            flash_commands: run.controller.flash_commands_total(),
            integrity_error: integrity_error(run.config.run.check, (run.host, run.checked(), run.power)),
            histograms: output.histograms.then(|| interval_log(&run.host.metrics)).transpose()?,
            wear_map: output.wear_map.then(|| WearMap::of(&run.checked().array, &run.geometry)),
        })
    }
}

/// What an integrity run has found wrong with the pages of its host, in its flash, and after cuts of its power.
pub(crate) fn integrity_error(
    check: Check,
    (host, checked, power): (&Host, &CheckedArray, &PowerFigures),
) -> Option<String> {
    let (corrupt, lost) = (checked.corrupt_pages, host.lost_pages + power.broken_promises);
    let broken = check == Check::Integrity && corrupt + lost > 0;
    broken.then(|| format!("integrity: {corrupt} corrupt and {lost} lost pages"))
}

/// Everything that a finished run leaves for its document.
pub struct Finished<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Scale of the run.
    pub scale: f64,
    /// The device's shape at that scale.
    pub geometry: Geometry,
    /// Timing of the device.
    pub timing: FlashTiming,
    /// Requests and what was measured of them.
    pub host: &'a Host,
    /// Translation layer, scheduler and chips.
    pub controller: &'a Controller,
    /// What power cuts did.
    pub power: &'a PowerFigures,
    /// What the workload tells of itself.
    pub facts: Vec<(&'static str, Fact)>,
    /// What the workload of each flow tells, by the flow's number.
    pub flow_facts: Vec<(u8, Vec<(&'static str, Fact)>)>,
    /// How the rule that may end the run early judged; `None` without such a rule.
    pub stopping: Option<StoppingReport>,
    /// Busy times since the warm-up; empty without a clock.
    pub busy: BusyTimes,
    /// Expected life of a block, and the mean P/E cycles; `None` if erases do not wear.
    pub life: Option<(Lifetime, f64)>,
    /// When the device became read-only, if it has.
    pub end_of_life: Option<EndOfLife>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Finished<'_> {
    fn counts(&self) -> &FlashCounts {
        &self.controller.tally.counts
    }

    fn scheduler(&self) -> &Scheduler {
        &self.controller.scheduler
    }

    fn chips(&self) -> &Chips {
        &self.controller.scheduler.chips
    }

    fn checked(&self) -> &CheckedArray {
        &self.chips().checked
    }

    fn wear(&self) -> WearSummary {
        self.checked().array.wear()
    }

    fn gc(&self) -> &GcCounters {
        self.controller.ftl.counters()
    }

    fn zones(&self) -> Option<ZoneReport> {
        self.controller.ftl.zones()
    }

    fn reports(&self) -> Reports {
        self.config.ftl.kind.facts().reports
    }

    fn user_pages(&self) -> u64 {
        u64::from(self.controller.ftl.user_pages())
    }

    fn spare_pages(&self) -> f64 {
        (self.geometry.pages() - self.user_pages()) as f64
    }

    fn programmed_bytes(&self) -> f64 {
        let page_bytes = self.geometry.page_bytes * u32::from(self.geometry.units_per_page);
        self.counts().programs() as f64 * f64::from(page_bytes)
    }

    /// Whether a page has several mapping units.
    fn maps_units(&self) -> bool {
        self.geometry.units_per_page > 1
    }

    /// Whether pages of their own hold the map, behind a cache.
    fn is_map_cached(&self) -> bool {
        self.config.ftl.shared.map_place == MapPlace::Cached
    }

    /// Whether a part of the map is read from flash.
    fn is_map_in_flash(&self) -> bool {
        self.is_map_cached() || self.controller.ftl.layer().conduct().reads_map_in_spare
    }

    /// Whether look-ups of the map may be answered by a cache.
    fn is_map_behind_cache(&self) -> bool {
        self.is_map_in_flash() && self.config.ftl.shared.map_place != MapPlace::Ram
    }

    /// Whether pages are programmed for the map, or for a recovery to find it again.
    fn programs_for_map(&self) -> bool {
        let (kind, recovery) = (self.config.ftl.kind, self.config.ftl.shared.recovery);
        let writes_trims = recovery != Recovery::Off && kind.facts().writes_down_trims;
        let by_plug_in = self.config.ftl.own_layer().is_some_and(|own| own.source.offers().looks_up);
        self.is_map_cached() || recovery.writes_own_pages() || writes_trims || by_plug_in
    }

    /// Whether worn blocks are retired, so that the device may end read-only.
    fn retires_worn_blocks(&self) -> bool {
        self.chips().eraser.is_some() && self.config.chip.erase.worn_blocks != WornBlockRule::Used
    }

    /// Blocks that chips and controller use no more, those that were bad from the start left out.
    fn blocks_retired(&self) -> u64 {
        let factory = u64::from(self.config.chip.geometry.bad_blocks_per_plane) * u64::from(self.geometry.planes());
        self.checked().array.bad_blocks() - factory
    }

    fn erase_totals(&self) -> Option<&EraseTotals> {
        self.chips().eraser.as_ref().map(Eraser::totals)
    }

    /// Time of all copies, and of all pages moved between dies, with nothing in the way.
    fn copy_time(&self) -> Time {
        let (counts, timing) = (self.counts(), &self.timing);
        let transfer = timing.page_transfer + timing.command_overhead;
        let [array, _] = self.controller.tally.array_times(&timing.pages);
        array + timing.copy_transfers() * counts.copies + transfer * (counts.moved_reads + counts.moved_programs)
    }

    /// Die time of all erases.
    fn erase_time(&self) -> Time {
        self.erase_steps_time() + self.chips().restarts.time
    }

    /// Time of what all erases consist of, without what began again.
    fn erase_steps_time(&self) -> Time {
        if let Some(totals) = self.erase_totals() {
            return totals.time;
        }
        let (counts, timing) = (self.counts(), &self.timing);
        let partial: Time = counts.partial_erases.iter().zip(&timing.partial_erase).map(|(&n, &t)| t * n).sum();
        timing.t_bers * (counts.block_erases + counts.sub_block_erases) + partial
    }

    /// Time of all spare areas read for merges and for the map.
    fn search_time(&self) -> Time {
        let (counts, timing) = (self.counts(), &self.timing);
        let [_, array] = self.controller.tally.array_times(&timing.pages);
        array
            + timing.spare_transfer * (counts.gc_spare_pages + counts.map_spare_pages)
            + timing.command_overhead * (counts.gc_searches + counts.map_spare_pages)
    }

    /// State of array, translation layer and oracle per physical page, as if everything were touched.
    fn state_bytes_per_page(&self) -> f64 {
        let erases = self.chips().eraser.as_ref().map_or(0, |eraser| eraser.ram_bytes() as u64);
        let layer = self.controller.ftl.layer().memory().map_or(0, |memory| memory.state_bytes());
        let others = layer + self.host.oracle.state_bytes() + erases;
        self.checked().array.bytes_per_page() + others as f64 / self.geometry.pages() as f64
    }

    /// What the workload tells of itself.
    fn workload_facts(&self) -> Map<String, Value> {
        self.facts.iter().map(|(name, value)| (name.to_string(), json!(value))).collect()
    }
}
