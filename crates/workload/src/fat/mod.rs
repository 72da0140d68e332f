//! Workloads of portable devices: files on a real FAT32 file system over a device that logs its
//! sector writes.
//!
//! Paper: see [`catalogue`]. Built: the six workloads of its Table 1, to its numbers of written
//! pages. Deviation: the paper recorded real users; here a stated pattern of creating and deleting
//! drives the file system. Requests are generated file by file; nothing but allocation tables and
//! directories is kept in memory.

mod catalogue;
mod disk;
pub(crate) mod file_system;
mod user;
mod volume;

use std::collections::VecDeque;
use std::fmt::Display;

use pumice_types::{HostRequest, RequestKind, SpecError, refuse};

use crate::source::arrival::{Arrival, ArrivalClock as Clock};
use crate::source::error::{TraceError, excerpt};
use crate::source::fact::Fact;
use crate::source::placement::{Placement, Placer};
pub use catalogue::FatFacts;
use catalogue::{MIXTURE, PAGE, TABLE_1, UPDATE_GRAIN_KIB, UPDATE_KIB, UPDATE_KIB_MAX};
use disk::Extent;
use user::{Profile, User};
use volume::Volume;

/// Sizes in MiB of the volumes that can be formatted.
const VOLUME_MIB: std::ops::RangeInclusive<f64> = 128.0..=32_768.0;

/// How a workload on a file system is made.
#[derive(Clone, Debug, PartialEq)]
pub struct FatOptions {
    /// Multiplies the storage size and the pages written, above 0, at most 1. Files keep their size.
    pub scale: f64,
    /// Seed of sizes, choices and arrivals.
    pub seed: u64,
    /// Size of the volume in MiB before scaling; `None` takes the paper's.
    pub volume_mib: Option<u32>,
    /// File data after which allocation tables and directories are written, in KiB, at least 1; `None`
    /// takes the workload's own.
    pub flush_kib: Option<u32>,
    /// Share of the clusters, from 0 up to 0.5, that static data holds at random places.
    pub fragmentation: f64,
    /// Shares of the bytes that `pc` writes to its web cache, to documents, and in place; each from 0 to
    /// 1, as their sum. `None` takes its own. The rest is songs and movies.
    pub mixture: Option<Vec<f64>>,
    /// Most KiB that one of `pc`'s updates in place touches, a multiple of 4; `None` takes its own.
    pub update_kib: Option<u32>,
    /// How often in a row `pc` writes a document, at least 1.
    pub saves: u32,
    /// When requests arrive.
    pub arrival: Arrival,
}

/// Requests of a file system in use.
#[derive(Debug)]
pub struct FatWorkload {
    facts: &'static FatFacts,
    options: FatOptions,
    chosen: Chosen,
    volume: Volume,
    user: User,
    clock: Clock,
    placer: Placer,
    queue: VecDeque<Extent>,
    pages: u64,
    pages_wanted: u64,
}

/// The workloads that [`fat`](crate::fat) knows.
pub fn fat_catalogue() -> &'static [FatFacts] {
    TABLE_1
}

fn find(name: &str) -> Result<&'static FatFacts, TraceError> {
    TABLE_1.iter().find(|facts| facts.name == name).ok_or_else(|| {
        let names: Vec<&str> = TABLE_1.iter().map(|facts| facts.name).collect();
        TraceError::option(format!("workload {} found; allowed are {}", excerpt(name.as_bytes()), names.join(", ")))
    })
}

/// Options with everything filled in that the workload itself decides.
#[derive(Debug)]
struct Chosen {
    volume_bytes: u64,
    flush_kib: u32,
    mixture: [f64; 3],
    update_kib: u32,
}

/// Checks the options, but for whether the device has room.
fn chosen(facts: &FatFacts, options: &FatOptions) -> Result<Chosen, TraceError> {
    let refuse = |what: String| Err(TraceError::option(what));
    let FatOptions { scale, fragmentation, .. } = *options;
    if !(scale > 0.0 && scale <= 1.0) {
        return refuse(format!("scale = {scale} found; allowed are numbers above 0 up to 1"));
    }
    let flush_kib = options.flush_kib.unwrap_or(facts.flush_kib);
    if flush_kib == 0 || !(0.0..=0.5).contains(&fragmentation) {
        return refuse(format!(
            "fat_flush_kib = {flush_kib}, fat_fragmentation = {fragmentation} found; allowed are at least 1 KiB and \
             0 to 0.5"
        ));
    }
    let volume_mib = f64::from(options.volume_mib.unwrap_or(facts.storage_mib)) * scale;
    if !VOLUME_MIB.contains(&volume_mib) {
        return refuse(format!(
            "a volume of {volume_mib} MiB found (fat_volume_mib times the scale); allowed are {} to {} MiB",
            VOLUME_MIB.start(),
            VOLUME_MIB.end()
        ));
    }
    let volume_bytes = (volume_mib * f64::from(1 << 20)) as u64 / PAGE * PAGE;
    let mixture = mixture(options.mixture.as_deref()).map_err(TraceError::option)?;
    let update_kib = update_kib(options.update_kib).map_err(TraceError::option)?;
    Ok(Chosen { volume_bytes, flush_kib, mixture, update_kib })
}

/// The shares of a notebook's mixture that are asked for, or its own.
///
/// # Errors
/// Shares that are not three, or that are more than everything.
pub(crate) fn mixture(asked: Option<&[f64]>) -> Result<[f64; 3], String> {
    let shares = asked.unwrap_or(&MIXTURE);
    let is_mixture =
        |shares: &[f64; 3]| shares.iter().all(|&share| share >= 0.0) && shares.iter().sum::<f64>() <= 1.0 + 1e-9;
    shares.try_into().ok().filter(is_mixture).ok_or_else(|| {
        format!("workload.fat_mixture = {shares:?} found; allowed are three shares from 0 whose sum is at most 1")
    })
}

/// The longest update in place that is asked for, or a notebook's own, in KiB.
///
/// # Errors
/// A length that an update cannot have.
pub(crate) fn update_kib(asked: Option<u32>) -> Result<u32, SpecError> {
    let update_kib = asked.unwrap_or(UPDATE_KIB);
    match update_kib > 0 && update_kib <= UPDATE_KIB_MAX && update_kib.is_multiple_of(UPDATE_GRAIN_KIB) {
        true => Ok(update_kib),
        false => Err(refuse!(
            "workload.fat_update_kib = {update_kib} found; allowed are multiples of {UPDATE_GRAIN_KIB} up to \
             {UPDATE_KIB_MAX}"
        )),
    }
}

impl FatWorkload {
    pub(crate) fn new(name: &str, options: &FatOptions, placement: &Placement) -> Result<FatWorkload, TraceError> {
        let facts = find(name)?;
        let chosen = chosen(facts, options)?;
        let volume_bytes = chosen.volume_bytes;
        let mut placer = Placer::new(placement);
        let (last, capacity) = (volume_bytes - PAGE, placement.capacity_bytes);
        if placement.policy == crate::source::placement::AddressPolicy::Exact
            && placer.place(last, PAGE as u32).is_err()
        {
            return Err(TraceError::capacity(format!(
                "workload {name}: a volume of {volume_bytes} bytes does not fit the device's user capacity of {capacity} \
                 bytes; lower workload.fat_volume_mib, set workload.address = \"wrap\", or use a larger device"
            )));
        }
        let stopped = |error| TraceError::option(failure(name, &error));
        let mut volume = Volume::format(volume_bytes, u64::from(chosen.flush_kib) << 10).map_err(stopped)?;
        let profile = Profile {
            kinds: facts.kinds(chosen.mixture, options.saves.max(1)),
            volume_bytes: u64::from(facts.storage_mib) << 20,
            update_bytes: u64::from(chosen.update_kib) << 10,
            fragmentation: options.fragmentation,
            seed: options.seed,
        };
        let user = User::move_in(&mut volume, profile).map_err(stopped)?;
        volume.log().recording = true;
        Ok(FatWorkload {
            facts,
            volume,
            chosen,
            user,
            clock: Clock::new(options.arrival, options.seed)?,
            placer,
            queue: VecDeque::new(),
            pages: 0,
            pages_wanted: ((facts.pages_written as f64 * options.scale) as u64).max(1),
            options: options.clone(),
        })
    }

    /// The next request, `None` after the last.
    ///
    /// # Errors
    /// A file system that refuses an operation, or a request that has no place on the device.
    pub fn next_request(&mut self) -> Result<Option<HostRequest>, TraceError> {
        if self.pages >= self.pages_wanted {
            return Ok(None);
        }
        let Extent { offset, bytes } = loop {
            if let Some(extent) = self.queue.pop_front() {
                break extent;
            }
            self.user.act(&mut self.volume).map_err(|e| TraceError::option(failure(self.facts.name, &e)))?;
            std::mem::swap(&mut self.queue, &mut self.volume.log().out);
        };
        self.pages += (offset + u64::from(bytes) - 1) / PAGE - offset / PAGE + 1;
        let placed = self.placer.place(offset, bytes);
        let offset_bytes = placed.map_err(|misfit| TraceError::capacity(failure(self.facts.name, &misfit)))?;
        let (arrival, kind) = (self.clock.tick(), RequestKind::Write);
        Ok(Some(HostRequest { arrival, offset_bytes, bytes, kind, fua: false, stream: 0, flow: 0 }))
    }

    pub(crate) fn placer(&self) -> &Placer {
        &self.placer
    }

    /// Share of the pages written.
    pub(crate) fn progress(&self) -> f64 {
        (self.pages as f64 / self.pages_wanted as f64).min(1.0)
    }

    pub(crate) fn facts(&self) -> Vec<(&'static str, Fact)> {
        let FatOptions { scale, seed, fragmentation, .. } = self.options;
        vec![
            ("name", Fact::Text(self.facts.name.to_owned())),
            ("file_system", Fact::Text("fat32".to_owned())),
            ("volume_bytes", Fact::Count(self.chosen.volume_bytes)),
            ("cluster_bytes", Fact::Count(self.volume.cluster())),
            ("pages_written_2k", Fact::Count(self.pages)),
            ("published_pages_written_2k", Fact::Count(self.facts.pages_written)),
            ("fat_flush_kib", Fact::Count(u64::from(self.chosen.flush_kib))),
            ("fat_fragmentation", Fact::Real(fragmentation)),
            ("scale", Fact::Real(scale)),
            ("seed", Fact::Count(seed)),
        ]
    }
}

fn failure(name: &str, why: &dyn Display) -> String {
    format!("workload {name}: {why}")
}
