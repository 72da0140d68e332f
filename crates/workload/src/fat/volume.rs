//! One FAT32 volume: files by number, created, overwritten and removed by the `fatfs` crate.
//!
//! That crate allocates next-fit and writes both copies of the allocation table. It is mounted for
//! each operation; what mounting writes (boot and information sector) is not logged, because the
//! volume of a player or a PC stays mounted.

use std::io::{self, Seek, SeekFrom, Write};

use fatfs::{Date, DateTime, FatType, FileSystem, FormatVolumeOptions, FsOptions, Time, TimeProvider};

use crate::fat::disk::{Disk, Log, SECTOR};

/// Largest cluster. Smaller volumes get the largest that leaves enough clusters for FAT32.
const CLUSTER_MAX: u64 = 16 << 10;

/// Clusters that make a FAT a FAT32 (65,525) with room for the tables themselves.
const CLUSTERS_MIN: u64 = 66_000;

/// The data region begins at a multiple of this on the device, as memory cards are formatted.
const ALIGNMENT: u64 = 128 << 10;

/// Entries of a directory, so that looking through one stays quick.
const FAN_OUT: u32 = 16;

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
        let mut cluster = CLUSTER_MAX;
        while cluster > SECTOR && bytes / cluster < CLUSTERS_MIN {
            cluster /= 2;
        }
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
        let fresh = self.free_numbers.is_empty();
        let number = self.free_numbers.pop().unwrap_or(self.files.len() as u32);
        if fresh {
            self.files.push(None);
        }
        self.mounted(|fs, chunk| {
            let root = fs.root_dir();
            if fresh && number.is_multiple_of(FAN_OUT) {
                make_directories(&root, number)?;
            }
            let mut file = root.create_file(&path(number))?;
            write_zeros(&mut file, bytes, chunk)
        })?;
        self.files[number as usize] = Some(bytes);
        self.used_clusters += bytes.div_ceil(self.cluster);
        Ok(number)
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
    fn mounted<T>(&mut self, operation: impl FnOnce(&FileSystem<&mut Disk>, usize) -> io::Result<T>) -> io::Result<T> {
        self.disk.rewind()?;
        let fs = FileSystem::new(&mut self.disk, FsOptions::new().time_provider(&CLOCK))?;
        let result = operation(&fs, self.chunk)?;
        fs.unmount()?;
        self.disk.log.flush();
        Ok(result)
    }
}

/// Directories are two deep.
fn path(number: u32) -> String {
    let (directory, file) = (number / FAN_OUT, number % FAN_OUT);
    format!("A{}/B{}/F{file}", directory / FAN_OUT, directory % FAN_OUT)
}

/// The directories of a file's path; those that exist stay as they are.
fn make_directories(root: &fatfs::Dir<'_, &mut Disk>, number: u32) -> io::Result<()> {
    let directory = number / FAN_OUT;
    let outer = root.create_dir(&format!("A{}", directory / FAN_OUT))?;
    outer.create_dir(&format!("B{}", directory % FAN_OUT))?;
    Ok(())
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
