//! One FAT32 volume: files by number, created, overwritten and removed by the `fatfs` crate.
//!
//! The crate `fatfs` allocates next-fit and writes both copies of the allocation table. It is mounted for
//! each operation; what mounting writes (boot and information sector) is not logged, because the
//! volume of a player or a PC stays mounted.

use std::io::{self, Seek, SeekFrom, Write};

use fatfs::{Date, DateTime, FatType, File, FileSystem, FormatVolumeOptions, FsOptions, Time, TimeProvider};

use crate::fat::disk::{Disk, Log, SECTOR};

/// Cluster of volumes from 512 MiB to below 8 GiB, as Windows formats them (Microsoft, KB 192322).
const CLUSTER: u64 = 4 << 10;

/// From here on clusters grow with the volume.
const CLUSTER_VOLUME: u64 = 8 << 30;

/// Clusters that make a FAT a FAT32 (65,525) with room for the tables themselves. Smaller volumes get
/// smaller clusters for it.
const CLUSTERS_MIN: u64 = 66_000;

/// Largest cluster of the volumes that can be formatted.
const CLUSTER_MAX: u64 = 16 << 10;

/// The data region begins at a multiple of this on the device, as memory cards are formatted.
const ALIGNMENT: u64 = 128 << 10;

/// Files of a directory. Cameras may put 9,999 into one (DCF), and every look-up goes through all of them.
const DIRECTORY_FILES: u32 = 250;

/// Bytes of a file that keeps scattered clusters apart; FAT32 ends at 4 GiB.
const FILLER_BYTES: u64 = 1 << 30;

/// The clock of all directory entries: the volume knows no time.
#[derive(Debug)]
struct FixedClock;

impl TimeProvider for FixedClock {
    fn get_current_date(&self) -> Date {
        Date { year: 2006, month: 10, day: 22 }
    }

    fn get_current_date_time(&self) -> DateTime {
        DateTime { date: self.get_current_date(), time: Time { hour: 12, min: 0, sec: 0, millis: 0 } }
    }
}

static CLOCK: FixedClock = FixedClock;
static ZEROS: [u8; CLUSTER_MAX as usize] = [0; CLUSTER_MAX as usize];

/// A mounted volume.
#[derive(Debug)]
pub(super) struct Volume {
    disk: Disk,
    cluster: u64,
    clusters: u64,
    /// Bytes of each file by its number, `None` for a number that is free.
    files: Vec<Option<u64>>,
    free_numbers: Vec<u32>,
    used_clusters: u64,
    /// Largest piece in which data reaches the file system.
    chunk: usize,
}

impl Volume {
    /// Formats a device of `bytes`, of which nothing is logged yet.
    pub fn format(bytes: u64, flush_bytes: u64) -> io::Result<Volume> {
        let cluster = cluster_bytes(bytes);
        let length = bytes.saturating_sub(ALIGNMENT);
        // Two tables of four bytes a cluster, and more than any formatter reserves in front of them.
        let front = (length / cluster * 8 + ALIGNMENT) as usize;
        let mut disk = Disk::new(length, front);
        let options = FormatVolumeOptions::new().fat_type(FatType::Fat32).bytes_per_cluster(cluster as u32);
        fatfs::format_volume(&mut disk, options.volume_id(0))?;
        let reserved = u64::from(u16::from_le_bytes([disk.front()[14], disk.front()[15]])) * SECTOR;
        let tables = disk.front()[36..40].iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte)) * SECTOR;
        let data = reserved + u64::from(disk.front()[16]) * tables;
        disk.log = Log::new(ALIGNMENT - data % ALIGNMENT, reserved, flush_bytes);
        disk.keep_in_front(data);
        let chunk = (flush_bytes.min(cluster) / SECTOR * SECTOR).max(SECTOR) as usize;
        let mut volume =
            Volume { disk, cluster, clusters: 0, files: Vec::new(), free_numbers: Vec::new(), used_clusters: 0, chunk };
        volume.clusters = volume.mounted(|fs, _| Ok(u64::from(fs.stats()?.total_clusters())))?;
        Ok(volume)
    }

    /// Bytes that files could take.
    pub fn capacity(&self) -> u64 {
        self.clusters * self.cluster
    }

    /// Bytes of a cluster.
    pub fn cluster(&self) -> u64 {
        self.cluster
    }

    /// Bytes that files take, in whole clusters.
    pub fn used(&self) -> u64 {
        self.used_clusters * self.cluster
    }

    /// What was written.
    pub fn log(&mut self) -> &mut Log {
        &mut self.disk.log
    }

    /// Creates a file of so many bytes, in whole sectors, and gives its number.
    pub fn create(&mut self, bytes: u64) -> io::Result<u32> {
        let number = self.number();
        self.mounted(|fs, chunk| write_zeros(&mut new_file(fs, number)?, bytes, chunk))?;
        self.files[number as usize] = Some(bytes);
        self.used_clusters += bytes.div_ceil(self.cluster);
        Ok(number)
    }

    /// A number that no file has.
    fn number(&mut self) -> u32 {
        self.free_numbers.pop().unwrap_or_else(|| {
            self.files.push(None);
            self.files.len() as u32 - 1
        })
    }

    /// Takes single clusters for good, so many clusters apart as `gaps` says (at most 1 GiB). What lies
    /// between them is free afterwards.
    pub fn scatter(&mut self, gaps: impl Iterator<Item = u64>) -> io::Result<()> {
        let (still, cluster) = (self.number(), self.cluster);
        self.mounted(|fs, _| new_file(fs, still).map(|_| ()))?;
        let mut gaps = gaps.peekable();
        let (mut taken, mut fillers) = (0, Vec::new());
        // Two open files that grow in turn lie one beside the other.
        while gaps.peek().is_some() {
            let filler = self.number();
            fillers.push(filler);
            self.mounted(|fs, chunk| {
                let (mut still, mut filler) = (fs.root_dir().open_file(&path(still))?, new_file(fs, filler)?);
                still.seek(SeekFrom::End(0))?;
                let mut filled = 0;
                while filled < FILLER_BYTES
                    && let Some(gap) = gaps.next()
                {
                    let gap_bytes = (gap * cluster).min(FILLER_BYTES);
                    write_zeros(&mut filler, gap_bytes, chunk)?;
                    write_zeros(&mut still, cluster, chunk)?;
                    filled += gap_bytes;
                    taken += 1;
                }
                Ok(())
            })?;
        }
        self.files[still as usize] = Some(taken * cluster);
        self.used_clusters += taken;
        fillers.into_iter().try_for_each(|filler| self.remove(filler))
    }

    /// Overwrites a part of a file that lies inside it. Nothing changes but what is logged, so
    /// nothing is done while nothing is.
    pub fn overwrite(&mut self, number: u32, offset: u64, bytes: u64) -> io::Result<()> {
        if !self.disk.log.recording {
            return Ok(());
        }
        self.mounted(|fs, chunk| {
            let mut file = fs.root_dir().open_file(&path(number))?;
            file.seek(SeekFrom::Start(offset))?;
            write_zeros(&mut file, bytes, chunk)
        })
    }

    /// Removes a file.
    pub fn remove(&mut self, number: u32) -> io::Result<()> {
        self.mounted(|fs, _| fs.root_dir().remove(&path(number)))?;
        let bytes = self.files[number as usize].take().unwrap_or_default();
        self.used_clusters -= bytes.div_ceil(self.cluster);
        self.free_numbers.push(number);
        Ok(())
    }

    /// One operation on the file system; what it left in the cache is flushed at its end.
    fn mounted<T>(&mut self, operation: impl FnOnce(&Mounted, usize) -> io::Result<T>) -> io::Result<T> {
        self.disk.rewind()?;
        let fs = FileSystem::new(&mut self.disk, FsOptions::new().time_provider(&CLOCK))?;
        let result = operation(&fs, self.chunk)?;
        fs.unmount()?;
        self.disk.log.flush();
        Ok(result)
    }
}

/// Bytes of a cluster of a volume of `bytes`.
fn cluster_bytes(bytes: u64) -> u64 {
    let mut cluster = CLUSTER * (bytes / CLUSTER_VOLUME + 1).next_power_of_two();
    while cluster > SECTOR && bytes / cluster < CLUSTERS_MIN {
        cluster /= 2;
    }
    cluster.min(CLUSTER_MAX)
}

fn directory(number: u32) -> String {
    format!("{}PUMIC", 100 + number / DIRECTORY_FILES)
}

fn path(number: u32) -> String {
    format!("{}/PUMI{:04}", directory(number), 1 + number % DIRECTORY_FILES)
}

type Mounted<'a> = FileSystem<&'a mut Disk>;

/// A file that is not there yet; its directory is made if it is the first of it.
fn new_file<'a, 'b>(fs: &'a Mounted<'b>, number: u32) -> io::Result<File<'a, &'b mut Disk>> {
    let root = fs.root_dir();
    if number.is_multiple_of(DIRECTORY_FILES) {
        root.create_dir(&directory(number))?;
    }
    root.create_file(&path(number))
}

fn write_zeros(file: &mut impl Write, bytes: u64, chunk: usize) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let count = left.min(chunk as u64);
        file.write_all(&ZEROS[..count as usize])?;
        left -= count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w162_clusters_are_those_of_windows() {
        let kib = |mib: u64| cluster_bytes(mib << 20) >> 10;
        let sizes = [512, 2048, 4096, 8191, 8192, 16_383, 16_384, 32_767];
        assert_eq!(sizes.map(kib), [4, 4, 4, 4, 8, 8, 16, 16]);
        assert_eq!([128, 256].map(kib), [1, 2], "smaller, or it would not be a FAT32");
        let just_enough = CLUSTERS_MIN * CLUSTER;
        assert_eq!([just_enough, just_enough - 1].map(cluster_bytes), [CLUSTER, CLUSTER / 2]);
    }

    #[test]
    fn w163_scattered_clusters_stay_and_what_lies_between_is_free() {
        let mut volume = Volume::format(128 << 20, 1 << 15).expect("large enough");
        let (cluster, before) = (volume.cluster(), volume.used());
        volume.scatter([3, 0, 5, 2].into_iter()).expect("room");
        assert_eq!(volume.used() - before, 4 * cluster);
        let free = volume.mounted(|fs, _| Ok(u64::from(fs.stats()?.free_clusters()))).expect("a file system");
        assert_eq!(volume.clusters - free, 4 + 2, "four, and one each of the two directories");
    }
}
