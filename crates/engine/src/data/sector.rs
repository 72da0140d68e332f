//! What is kept of a sector: its bytes, or a number that names the write that they come from.

/// Bytes of a sector, the least that a request reads or writes.
pub const SECTOR: u32 = 512;

/// What is kept of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectorForm {
    /// Bytes of the sector.
    Bytes,
    /// A [`SectorStamp`] in their place.
    Stamps,
}

impl SectorForm {
    /// Bytes that a sector takes.
    pub const fn bytes(self) -> usize {
        match self {
            SectorForm::Bytes => SECTOR as usize,
            SectorForm::Stamps => STAMP,
        }
    }

    /// Bytes that are kept of so many bytes of the device, which are whole sectors.
    pub const fn taken_by(self, bytes: usize) -> usize {
        bytes / SECTOR as usize * self.bytes()
    }

    /// Makes one bit wrong of what is kept of a sector.
    pub fn flip(self, sector: &mut [u8], bit: u16) {
        match self {
            SectorForm::Bytes => flip_bit(sector, bit),
            SectorForm::Stamps => {
                let stamp = stamps_of(sector).next();
                if let Some(stamp) = stamp {
                    sector.copy_from_slice(&stamp.damaged(bit).to_bytes());
                }
            }
        }
    }
}

/// Makes one bit of a sector's bytes wrong.
pub fn flip_bit(sector: &mut [u8], bit: u16) {
    sector[usize::from(bit) / 8] ^= 1 << (bit % 8);
}

/// Bits of a sector.
pub const SECTOR_BITS: u16 = SECTOR as u16 * 8;

/// Bytes of a stamp.
pub const STAMP: usize = size_of::<u64>();

/// Bits of the number of a write.
const NUMBER_BITS: u32 = 48;

/// One bit of the sector is wrong; which, is in the bits between.
const IS_DAMAGED: u64 = 1 << 63;

/// Which write of a sector a sector holds. Writes count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorStamp(u64);

impl SectorStamp {
    /// The stamp of a write.
    pub fn of(number: u64) -> SectorStamp {
        SectorStamp(number)
    }

    /// The number of the write; 0: the sector was never written.
    pub fn write_number(self) -> u64 {
        self.0 & ((1 << NUMBER_BITS) - 1)
    }

    /// The bit that is wrong, if one is.
    pub fn flipped_bit(self) -> Option<u16> {
        (self.0 & IS_DAMAGED != 0).then_some((self.0 >> NUMBER_BITS) as u16 % SECTOR_BITS)
    }

    /// Puts a wrong bit into the stamp.
    fn damaged(self, bit: u16) -> SectorStamp {
        SectorStamp(self.write_number() | u64::from(bit % SECTOR_BITS) << NUMBER_BITS | IS_DAMAGED)
    }

    /// As it is kept.
    pub fn to_bytes(self) -> [u8; STAMP] {
        self.0.to_le_bytes()
    }
}

/// The stamps of a page.
pub fn stamps_of(page: &[u8]) -> impl Iterator<Item = SectorStamp> + '_ {
    let (stamps, _) = page.as_chunks::<STAMP>();
    stamps.iter().map(|&stamp| SectorStamp(u64::from_le_bytes(stamp)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s061_a_stamp_keeps_its_number_when_a_bit_is_wrong() {
        let mut kept = SectorStamp::of(77).to_bytes();
        SectorForm::Stamps.flip(&mut kept, 4095);
        let stamp = stamps_of(&kept).next().expect("one");
        assert_eq!((stamp.write_number(), stamp.flipped_bit()), (77, Some(4095)));
        let mut bytes = [0; 512];
        SectorForm::Bytes.flip(&mut bytes, 4095);
        assert_eq!((bytes[511], bytes[510]), (128, 0));
    }
}
