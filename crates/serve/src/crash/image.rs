//! The image of a device: a file that holds what a host would read.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use pumice_engine::SimError;

use super::truth::{FoundContent, HostTruth};
use crate::protocol::SECTOR;
use crate::store::file::in_file;
use pumice_engine::data::{SectorStamp, flip_bit, stamps_of};

/// Writes the pages of a device, in order, as a sparse file. Sectors come from the data of the session; what cannot be
/// read is zeroes.
///
/// # Errors
/// A file that cannot be written, or a page that cannot be read, in one line.
pub fn write(
    path: &Path,
    page_bytes: u32,
    (truth, data): (&HostTruth, &[u8]),
    pages: impl ExactSizeIterator<Item = Result<FoundContent, SimError>>,
) -> Result<(), SimError> {
    let file = File::create(path).map_err(in_file(path))?;
    file.set_len(pages.len() as u64 * u64::from(page_bytes)).map_err(in_file(path))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut bytes = vec![0; page_bytes as usize];
    for (nth, page) in pages.enumerate() {
        let FoundContent::Stamps(Some(stamps)) = page? else { continue };
        for (sector, stamp) in bytes.chunks_mut(SECTOR as usize).zip(stamps_of(&stamps)) {
            fill(sector, stamp, (truth, data));
        }
        out.seek(SeekFrom::Start(nth as u64 * u64::from(page_bytes))).map_err(in_file(path))?;
        out.write_all(&bytes).map_err(in_file(path))?;
    }
    out.flush().map_err(in_file(path))
}

/// The bytes of one sector.
fn fill(sector: &mut [u8], stamp: SectorStamp, (truth, data): (&HostTruth, &[u8])) {
    match stamp.write_number() {
        0 => sector.fill(0),
        number => {
            let from = truth.data_of(number);
            sector.copy_from_slice(&data[from..from + SECTOR as usize]);
        }
    }
    if let Some(bit) = stamp.flipped_bit() {
        flip_bit(sector, bit);
    }
}
