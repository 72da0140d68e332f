//! The device under the file system: keeps what the file system must read again and logs what it
//! writes.
//!
//! File contents are zeros and need no memory: only the region in front of the files, and those
//! blocks of the data region that ever held something else (directories), are stored.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;

/// Bytes of the pieces in which the data region is stored.
const PIECE: usize = 4096;

/// Longest request: what the drivers and bridges of the time moved at once.
const REQUEST_BYTES_MAX: u64 = 64 << 10;

/// Bytes written to the device by one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub offset: u64,
    pub bytes: u32,
}

/// A device of sectors in memory.
#[derive(Debug)]
pub(super) struct Disk {
    bytes: u64,
    at: u64,
    /// Everything before the data region.
    front: Vec<u8>,
    /// Pieces of the device by number; absent ones hold zeros.
    pieces: Vec<Option<Box<[u8; PIECE]>>>,
    pub log: Log,
}

/// Sector writes on their way to the device.
///
/// Whole zero sectors are file data and go out at once, joined while they are contiguous. All else
/// (allocation tables, directories) waits in the file system's cache until a flush, which writes
/// each dirty sector once, ascending, after the data that the tables describe.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// First byte of the volume on the device.
    base: u64,
    /// Writes before this byte of the volume are not logged: the boot and information sectors of a
    /// volume that stays mounted.
    quiet: u64,
    /// Whether writes are logged at all.
    pub recording: bool,
    /// Data bytes after which the cache is flushed.
    flush_bytes: u64,
    unflushed: u64,
    run: Option<(u64, u64)>,
    dirty: BTreeSet<u64>,
    pub out: VecDeque<Extent>,
}

impl Log {
    /// A log of a volume that begins at `base` and whose first `quiet` bytes are not logged.
    pub fn new(base: u64, quiet: u64, flush_bytes: u64) -> Log {
        Log { base, quiet, flush_bytes, ..Log::default() }
    }

    fn data(&mut self, offset: u64, bytes: u64) {
        if !self.recording {
            return;
        }
        match &mut self.run {
            Some((start, end)) if *end == offset && offset + bytes - *start <= REQUEST_BYTES_MAX => *end += bytes,
            _ => {
                self.emit_run();
                self.run = Some((offset, offset + bytes));
            }
        }
        self.unflushed += bytes;
        if self.unflushed >= self.flush_bytes {
            self.flush();
        }
    }

    fn tables(&mut self, offset: u64, bytes: u64) {
        if self.recording && offset >= self.quiet {
            self.dirty.extend(offset / SECTOR..=(offset + bytes - 1) / SECTOR);
        }
    }

    /// Writes out what waits.
    pub fn flush(&mut self) {
        self.unflushed = 0;
        self.emit_run();
        for sector in std::mem::take(&mut self.dirty) {
            let start = sector * SECTOR;
            match &mut self.run {
                Some((first, end)) if *end == start && start + SECTOR - *first <= REQUEST_BYTES_MAX => *end += SECTOR,
                _ => {
                    self.emit_run();
                    self.run = Some((start, start + SECTOR));
                }
            }
        }
        self.emit_run();
    }

    fn emit_run(&mut self) {
        if let Some((start, end)) = self.run.take() {
            self.out.push_back(Extent { offset: self.base + start, bytes: (end - start) as u32 });
        }
    }
}

impl Disk {
    /// A device of zeros of which the first `front` bytes are kept in one piece.
    pub fn new(bytes: u64, front: usize) -> Disk {
        let pieces = vec![None; bytes.div_ceil(PIECE as u64) as usize];
        Disk { bytes, at: 0, front: vec![0; front], pieces, log: Log::default() }
    }

    /// The first bytes.
    pub fn front(&self) -> &[u8] {
        &self.front
    }

    /// Says where the data region begins: from there on, only what is not zero is kept. Called while
    /// nothing but zeros lies behind.
    pub fn keep_in_front(&mut self, data: u64) {
        // Pieces are numbered from byte 0, so the front may end inside one.
        self.front.resize(data as usize, 0);
        self.front.shrink_to_fit();
    }

    /// How many of `wanted` bytes lie between here and the end of the front, of a piece or of the
    /// device.
    fn within(&self, wanted: usize) -> usize {
        let front = self.front.len() as u64;
        let end = if self.at < front { front } else { (self.at / PIECE as u64 + 1) * PIECE as u64 };
        (end.min(self.bytes).saturating_sub(self.at) as usize).min(wanted)
    }

    /// Stores bytes that lie within the front or within one piece.
    fn store(&mut self, bytes: &[u8], zeros: bool) {
        let at = self.at as usize;
        if at < self.front.len() {
            self.front[at..at + bytes.len()].copy_from_slice(bytes);
            return;
        }
        let (piece, within) = (&mut self.pieces[at / PIECE], at % PIECE);
        if piece.is_some() || !zeros {
            let stored = piece.get_or_insert_with(|| Box::new([0; PIECE]));
            stored[within..within + bytes.len()].copy_from_slice(bytes);
        }
    }
}

impl Read for Disk {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.within(buffer.len());
        let at = self.at as usize;
        let buffer = &mut buffer[..count];
        if at < self.front.len() {
            buffer.copy_from_slice(&self.front[at..at + count]);
        } else if let Some(Some(stored)) = self.pieces.get(at / PIECE) {
            buffer.copy_from_slice(&stored[at % PIECE..at % PIECE + count]);
        } else {
            buffer.fill(0);
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Write for Disk {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let start = self.at;
        // Piece by piece: whole ones are looked at many bytes at a time, and the first that is not
        // zero ends it.
        let zeros = buffer.chunks(256).all(|piece| piece.iter().fold(0, |all, byte| all | byte) == 0);
        let mut written = 0;
        while written < buffer.len() {
            let count = self.within(buffer.len() - written);
            if count == 0 {
                break;
            }
            self.store(&buffer[written..written + count], zeros);
            self.at += count as u64;
            written += count;
        }
        let bytes = written as u64;
        let whole = start.is_multiple_of(SECTOR) && bytes.is_multiple_of(SECTOR);
        match bytes {
            0 => {}
            _ if zeros && whole && start >= self.front.len() as u64 => self.log.data(start, bytes),
            _ => self.log.tables(start, bytes),
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let (base, by) = match position {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::End(by) => (self.bytes, by),
            SeekFrom::Current(by) => (self.at, by),
        };
        self.at =
            base.checked_add_signed(by).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "before byte 0"))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> Disk {
        let mut disk = Disk::new(1 << 20, 8192);
        disk.log = Log::new(1 << 17, 1024, 4096);
        disk.log.recording = true;
        disk
    }

    fn write(disk: &mut Disk, at: u64, bytes: &[u8]) {
        disk.seek(SeekFrom::Start(at)).expect("inside");
        disk.write_all(bytes).expect("inside");
    }

    fn logged(disk: &mut Disk) -> Vec<(u64, u32)> {
        disk.log.out.drain(..).map(|extent| (extent.offset - (1 << 17), extent.bytes)).collect()
    }

    #[test]
    fn w160_what_is_written_is_read_across_all_seams() {
        let mut disk = disk();
        let pattern: Vec<u8> = (0..20_000).map(|n| (n % 251) as u8).collect();
        write(&mut disk, 5_000, &pattern);
        write(&mut disk, 9_000, &[0; 600]);
        let mut expected = pattern;
        expected[4_000..4_600].fill(0);
        let mut found = vec![1; 20_000];
        disk.seek(SeekFrom::Start(5_000)).expect("inside");
        disk.read_exact(&mut found).expect("inside");
        assert_eq!(found, expected);
        assert_eq!(disk.seek(SeekFrom::End(0)).expect("the end"), 1 << 20);
        assert_eq!(disk.write(&[1]).expect("nothing"), 0);
    }

    #[test]
    fn w161_tables_wait_for_a_flush_and_follow_the_data() {
        let mut disk = disk();
        write(&mut disk, 0, &[1; 4]);
        write(&mut disk, 2048, &[1; 4]);
        write(&mut disk, 2560, &[2; 4]);
        write(&mut disk, 2050, &[3; 4]);
        assert_eq!(logged(&mut disk), [], "the cache holds tables; the boot sector is never written");
        write(&mut disk, 16_384, &[0; 2048]);
        write(&mut disk, 18_432, &[0; 2048]);
        assert_eq!(logged(&mut disk), [(16_384, 4096), (2048, 1024)]);
        write(&mut disk, 40_960, &[0; 512]);
        disk.log.flush();
        assert_eq!(logged(&mut disk), [(40_960, 512)]);
    }
}
