//! Workloads of portable devices: files on a real FAT32 file system over a device that logs its
//! sector writes.
//!
//! Paper: see [`catalogue`]. Built: the six workloads of its Table 1, to its numbers of written
//! pages. Deviation: the paper recorded real users; here a stated pattern of creating and deleting
//! drives the file system. Requests are generated file by file; nothing but allocation tables and
//! directories is kept in memory.

mod catalogue;
mod disk;
mod user;
mod volume;

use std::collections::VecDeque;
use std::fmt::Display;

use pumice_types::{HostRequest, RequestKind};

use crate::arrival::{Arrival, ArrivalClock as Clock};
use crate::error::{TraceError, excerpt};
use crate::fact::Fact;
use crate::placement::{Placement, Placer};
pub use catalogue::FatFacts;
use catalogue::{PAGE, TABLE_1};
use disk::Extent;
use user::User;
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
    /// File data after which allocation tables and directories are written, in KiB, at least 1.
    pub flush_kib: u32,
    /// Share of the clusters, from 0 up to 0.5, that small static files hold at random places.
    pub fragmentation: f64,
    /// When requests arrive.
    pub arrival: Arrival,
}

/// Requests of a file system in use.
#[derive(Debug)]
pub struct FatWorkload {
    facts: &'static FatFacts,
    options: FatOptions,
    volume: Volume,
    volume_bytes: u64,
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

impl FatWorkload {
    pub(crate) fn new(name: &str, options: &FatOptions, placement: &Placement) -> Result<FatWorkload, TraceError> {
        let facts = find(name)?;
        let FatOptions { scale, seed, flush_kib, fragmentation, arrival, .. } = *options;
        let refuse = |what: String| Err(TraceError::option(what));
        if !(scale > 0.0 && scale <= 1.0) {
            return refuse(format!("scale = {scale} found; allowed are numbers above 0 up to 1"));
        }
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
        let mut placer = Placer::new(placement);
        let (last, capacity) = (volume_bytes - PAGE, placement.capacity_bytes);
        if placement.policy == crate::placement::AddressPolicy::Exact && placer.place(last, PAGE as u32).is_err() {
            return Err(TraceError::capacity(format!(
                "workload {name}: a volume of {volume_bytes} bytes does not fit the device's user capacity of {capacity} \
                 bytes; lower workload.fat_volume_mib, set workload.address = \"wrap\", or use a larger device"
            )));
        }
        let stopped = |error| TraceError::option(failure(name, &error));
        let mut volume = Volume::format(volume_bytes, u64::from(flush_kib) << 10).map_err(stopped)?;
        let user = User::move_in(&mut volume, facts, fragmentation, seed).map_err(stopped)?;
        volume.log().recording = true;
        Ok(FatWorkload {
            facts,
            options: options.clone(),
            volume,
            volume_bytes,
            user,
            clock: Clock::new(arrival, seed)?,
            placer,
            queue: VecDeque::new(),
            pages: 0,
            pages_wanted: ((facts.pages_written as f64 * scale) as u64).max(1),
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
        Ok(Some(HostRequest { arrival, offset_bytes, bytes, kind, fua: false }))
    }

    pub(crate) fn placer(&self) -> &Placer {
        &self.placer
    }

    /// Share of the pages written.
    pub(crate) fn progress(&self) -> f64 {
        (self.pages as f64 / self.pages_wanted as f64).min(1.0)
    }

    pub(crate) fn facts(&self) -> Vec<(&'static str, Fact)> {
        let FatOptions { scale, seed, flush_kib, fragmentation, .. } = self.options;
        vec![
            ("name", Fact::Text(self.facts.name.to_owned())),
            ("file_system", Fact::Text("fat32".to_owned())),
            ("volume_bytes", Fact::Count(self.volume_bytes)),
            ("cluster_bytes", Fact::Count(self.volume.cluster())),
            ("pages_written_2k", Fact::Count(self.pages)),
            ("published_pages_written_2k", Fact::Count(self.facts.pages_written)),
            ("fat_flush_kib", Fact::Count(u64::from(flush_kib))),
            ("fat_fragmentation", Fact::Real(fragmentation)),
            ("scale", Fact::Real(scale)),
            ("seed", Fact::Count(seed)),
        ]
    }
}

fn failure(name: &str, why: &dyn Display) -> String {
    format!("workload {name}: {why}")
}
