//! File systems in use, as a kind of workload.

use pumice_types::HostRequest;
use pumice_types::key::{CHOSEN, float, int};

use crate::error::TraceError;
use crate::fact::Fact;
use crate::family::{Family, OpenFor};
use crate::fat::{FatFacts, FatOptions, FatWorkload, fat_catalogue};
use crate::notes::Notes;
use crate::request_source::RequestSource;
use crate::shared_keys::{IS_FILE_SYSTEM, SharedWorkloadKeys};

pumice_types::keys! {
    /// What file systems in use read of `[workload]`.
    pub struct FileSystemKeys in "workload" {
        fat_volume_mib: Option<u32> = "", int(128, 32768), "MiB", "the paper's storage size", IS_FILE_SYSTEM, "Size of the FAT32 volume of a file system in use, before scaling.";
        fat_flush_kib: u32 = "32", int(1, 1048576), "KiB", CHOSEN, IS_FILE_SYSTEM, "File data after which a FAT32 workload writes both allocation tables and changed directories.";
        fat_fragmentation: f64 = "0.02", float(0.0, 0.5), "share of clusters", CHOSEN, IS_FILE_SYSTEM, "Clusters of a FAT32 volume that small static files hold at random places, so that others lie in pieces.";
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

    fn check(_: &FileSystemKeys) -> Result<(), String> {
        Ok(())
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
            arrival: shared.arrival_at(run.scale),
        };
        FatWorkload::new(self.facts().name, &options, &run.placement)
    }
}

impl RequestSource for FatWorkload {
    fn next_request(&mut self) -> Result<Option<HostRequest>, TraceError> {
        FatWorkload::next_request(self)
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
