//! File systems in use, as a kind of workload.

use pumice_types::key::{CHOSEN, When, float, int};
use pumice_types::{HostRequest, SpecError};

use crate::family::{Family, OpenFor};
use crate::fat::{FatFacts, FatOptions, FatWorkload, fat_catalogue, mixture, update_kib};
use crate::shared_keys::{IS_FILE_SYSTEM, KIND, SharedWorkloadKeys};
use crate::source::error::TraceError;
use crate::source::fact::Fact;
use crate::source::notes::Notes;
use crate::source::request_source::RequestSource;

/// The workload is the notebook.
const IS_PC: When = When::All(&[When::Requests, When::Is(KIND, &["pc"])]);

pumice_types::keys! {
    /// What file systems in use read of `[workload]`.
    pub struct FileSystemKeys in "workload" {
        fat_volume_mib: Option<u32> = "", int(128, 32768), "MiB", "the paper's storage size", IS_FILE_SYSTEM, "Size of the FAT32 volume of a file system in use, before scaling.";
        fat_flush_kib: Option<u32> = "", int(1, 1048576), "KiB", "chosen: 32, for pc 256; see docs/WORKLOADS.md", IS_FILE_SYSTEM, "File data after which a FAT32 workload writes both allocation tables and changed directories.";
        fat_fragmentation: f64 = "0.0", float(0.0, 0.5), "share of clusters", CHOSEN, IS_FILE_SYSTEM, "Clusters of a FAT32 volume that static data holds at random places.";
        fat_mixture: Option<Vec<f64>> = "", float(0.0, 1.0), "shares of file bytes", "0.05, 0.10 chosen, 0.09 fitted; see docs/WORKLOADS.md", IS_PC, "What pc writes to its web cache, to documents, and in place; songs and movies are the rest.";
        fat_update_kib: Option<u32> = "", int(4, 1024), "KiB", "64, fitted; see docs/WORKLOADS.md", IS_PC, "Largest update in place of pc: lengths are the multiples of 4 KiB up to it.";
        fat_saves: u32 = "1", int(1, 1000), "saves", CHOSEN, IS_PC, "How often in a row pc saves a document: first as a new file, then over itself. The share of the bytes stays.";
    }
}

/// A file system in use, by its place in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileSystemName(u8);

impl FileSystemName {
    /// The published figures, and what was chosen where the paper is silent.
    pub fn facts(self) -> &'static FatFacts {
        &fat_catalogue()[usize::from(self.0)]
    }
}

impl Family for FileSystemName {
    type Source = FatWorkload;
    type Keys = FileSystemKeys;
    const NEEDS_FILE: bool = false;

    fn members() -> Vec<FileSystemName> {
        (0..).take(fat_catalogue().len()).map(FileSystemName).collect()
    }

    fn name(self) -> String {
        self.facts().name.to_owned()
    }

    fn about(self) -> String {
        let FatFacts { description, storage_mib, pages_written, .. } = self.facts();
        format!("{description}; FAT32 of {storage_mib} MiB, {pages_written} pages of 2 KiB written")
    }

    fn check(keys: &FileSystemKeys) -> Result<(), SpecError> {
        mixture(keys.fat_mixture.as_deref())?;
        update_kib(keys.fat_update_kib).map(drop)
    }

    fn open(
        self,
        keys: &FileSystemKeys,
        shared: &SharedWorkloadKeys,
        run: &OpenFor,
    ) -> Result<FatWorkload, TraceError> {
        let options = FatOptions {
            scale: run.scale,
            seed: run.seed,
            volume_mib: keys.fat_volume_mib,
            flush_kib: keys.fat_flush_kib,
            fragmentation: keys.fat_fragmentation,
            mixture: keys.fat_mixture.clone(),
            update_kib: keys.fat_update_kib,
            saves: keys.fat_saves,
            arrival: shared.arrival_at(run.scale),
        };
        FatWorkload::new(self.facts().name, &options, &run.placement)
    }
}

impl RequestSource for FatWorkload {
    fn take_next(&mut self, request: &mut HostRequest) -> Result<bool, TraceError> {
        let next = FatWorkload::next_request(self)?;
        next.into_iter().for_each(|next| *request = next);
        Ok(next.is_some())
    }

    fn requests_expected(&self) -> Option<u64> {
        None
    }

    /// Share of the pages that were written.
    fn progress(&self) -> Option<f64> {
        Some(FatWorkload::progress(self))
    }

    fn notes(&self) -> Notes {
        Notes::of_placer(self.placer())
    }

    fn facts(&self) -> Vec<(&'static str, Fact)> {
        FatWorkload::facts(self)
    }
}
