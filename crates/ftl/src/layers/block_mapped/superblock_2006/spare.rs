//! What the superblock FTL programs into the spare area of a page (EMSOFT'06, figure 7): data information
//! (DI), the physical block mapping table (PBMT), the page middle directory (PMD) of the page's logical
//! block and the page table (PT) of the page's 16 neighbours.
//!
//! A PBMT holds seven block numbers. Entries of PMD and PT are a 3-bit block index and a 6-bit page index;
//! block index 7 means the block of the level above: for a PMD entry the block of the page that holds
//! the PMD, for a PT entry that of the page that holds the PT. Both are the page itself here.
//!
//! Chosen, where the paper is silent: an entry for what was never written points at the page that holds
//! it, which is recognised because that page belongs to something else; 48 of the 60 bits left over hold
//! a write number, which tells the newer of two pages after a power loss (the paper leaves recovery to
//! future work). ECC and the bad-block mark take their room but are not modelled.

use pumice_types::{BlockId, Lpn, PageAddress};

/// Bytes that an image needs in the spare area.
pub const IMAGE_BYTES: u32 = 63;
/// Bytes that recovery after a power cut needs beyond an image: the number of the write that brought the data,
/// which tells whether two copies hold the same. An image has the number of the program alone.
pub const WRITE_NUMBER_BYTES: u32 = 6;
/// Pages whose locations one PT holds.
pub const PT_PAGES: u16 = 16;
/// PTs of a logical block.
pub const PTS: usize = 4;
/// Blocks that a superblock can own while its map is in spare areas: those of a PBMT, and the page's own.
pub const BLOCKS_MAX: u32 = 8;

const PBMT_ENTRIES: usize = 7;
const SAME_BLOCK: u16 = 7;
const LSN_AT: usize = 16;
const PBMT_AT: usize = 20;
const TABLES_AT: usize = 34;
const WRITE_NUMBER_AT: usize = 57;
const ENTRY_BITS: usize = 9;
const PAGE_BITS: u16 = 6;
const NO_NUMBER: u16 = u16::MAX;

/// Where a page is found in the three tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableIndices {
    /// Superblock.
    pub superblock: u32,
    /// Entry of the page global directory inside the superblock.
    pub pgd: u32,
    /// Entry of the PMD: which PT.
    pub pmd: u16,
    /// Entry of the PT.
    pub pte: u16,
}

impl TableIndices {
    /// Indices of page `page` of logical block `logical_block`, with `blocks` logical blocks a superblock
    /// (EMSOFT'06, figure 6).
    pub fn of(logical_block: u32, page: u16, blocks: u32) -> TableIndices {
        TableIndices {
            superblock: logical_block / blocks,
            pgd: logical_block % blocks,
            pmd: page / PT_PAGES,
            pte: page % PT_PAGES,
        }
    }
}

/// What a page's spare area is to say.
#[derive(Clone, Copy, Debug)]
pub struct SpareContent {
    /// The page itself.
    pub own: PageAddress,
    /// Logical page of the data.
    pub lpn: Lpn,
    /// Programs of the plane before this one.
    pub write_number: u64,
    /// Page that holds each PT of the logical block.
    pub pmd: [Option<PageAddress>; PTS],
    /// Page of each logical page of the PT.
    pub pt: [Option<PageAddress>; PT_PAGES as usize],
}

/// The first 64 bytes of a spare area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpareImage([u8; 64]);

impl SpareImage {
    /// Packs the tables. The PT's blocks come into the PBMT first, then the PMD's. A full merge may leave
    /// more than seven for a moment; entries that find no room are written as "never written", and a
    /// later page of the same merge supersedes them.
    pub fn pack(content: &SpareContent) -> SpareImage {
        let mut image = SpareImage([0xFF; 64]);
        image.0[LSN_AT..LSN_AT + 4].copy_from_slice(&content.lpn.0.to_le_bytes());
        image.0[WRITE_NUMBER_AT..WRITE_NUMBER_AT + 6].copy_from_slice(&content.write_number.to_le_bytes()[..6]);
        let mut pbmt = [NO_NUMBER; PBMT_ENTRIES];
        for (entry, page) in content.pt.iter().enumerate() {
            image.put_entry(PTS + entry, entry_of(*page, content.own, &mut pbmt));
        }
        for (entry, page) in content.pmd.iter().enumerate() {
            image.put_entry(entry, entry_of(*page, content.own, &mut pbmt));
        }
        for (bytes, number) in image.0[PBMT_AT..TABLES_AT].chunks_exact_mut(2).zip(pbmt) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        image
    }

    /// Logical page of the page.
    pub fn lpn(&self) -> Lpn {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[LSN_AT..LSN_AT + 4]);
        Lpn(u32::from_le_bytes(bytes))
    }

    /// Programs of the plane before this one.
    pub fn write_number(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes[..6].copy_from_slice(&self.0[WRITE_NUMBER_AT..WRITE_NUMBER_AT + 6]);
        u64::from_le_bytes(bytes)
    }

    /// Page that holds PT `index`, if this image is the PMD in page `own`. A PT that was never written
    /// comes out as `own`.
    pub fn pde(&self, index: usize, own: PageAddress) -> PageAddress {
        self.resolve(self.entry(index), own)
    }

    /// Page that holds logical page `index` of the PT in page `own`; `own` if it was never written.
    pub fn pte(&self, index: usize, own: PageAddress) -> PageAddress {
        self.resolve(self.entry(PTS + index), own)
    }

    fn resolve(&self, entry: u16, own: PageAddress) -> PageAddress {
        let (index, page) = (entry >> PAGE_BITS, entry & ((1 << PAGE_BITS) - 1));
        if index == SAME_BLOCK {
            return PageAddress::new(own.block, page);
        }
        let at = PBMT_AT + usize::from(index) * 2;
        let number = u16::from_le_bytes([self.0[at], self.0[at + 1]]);
        PageAddress::new(BlockId(u32::from(number)), page)
    }

    fn entry(&self, index: usize) -> u16 {
        let (byte, shift) = (TABLES_AT + index * ENTRY_BITS / 8, index * ENTRY_BITS % 8);
        u16::from_le_bytes([self.0[byte], self.0[byte + 1]]) >> shift & ((1 << ENTRY_BITS) - 1)
    }

    fn put_entry(&mut self, index: usize, entry: u16) {
        let (byte, shift) = (TABLES_AT + index * ENTRY_BITS / 8, index * ENTRY_BITS % 8);
        let mask = ((1u16 << ENTRY_BITS) - 1) << shift;
        let both = u16::from_le_bytes([self.0[byte], self.0[byte + 1]]) & !mask | entry << shift;
        self.0[byte..byte + 2].copy_from_slice(&both.to_le_bytes());
    }
}

/// The entry for a page, with its block entered into the PBMT if it is not there yet.
fn entry_of(page: Option<PageAddress>, own: PageAddress, pbmt: &mut [u16; PBMT_ENTRIES]) -> u16 {
    let never = SAME_BLOCK << PAGE_BITS | own.page;
    let Some(page) = page else { return never };
    if page.block == own.block {
        return SAME_BLOCK << PAGE_BITS | page.page;
    }
    let number = page.block.0 as u16;
    match pbmt.iter_mut().enumerate().find(|(_, known)| **known == number || **known == NO_NUMBER) {
        Some((index, known)) => {
            *known = number;
            (index as u16) << PAGE_BITS | page.page
        }
        None => never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn t320_logical_block_17_page_12_is_found_as_in_figure_6() {
        let indices = TableIndices::of(17, 12, 4);
        assert_eq!(indices, TableIndices { superblock: 4, pgd: 1, pmd: 0, pte: 12 });
    }

    #[test]
    fn t321_the_image_fits_the_spare_area_of_a_2_kib_page() {
        let entries_end = TABLES_AT + ((PTS + usize::from(PT_PAGES)) * ENTRY_BITS).div_ceil(8);
        assert_eq!(entries_end, WRITE_NUMBER_AT);
        assert_eq!(WRITE_NUMBER_AT + 6, IMAGE_BYTES as usize);
    }

    fn page() -> impl Strategy<Value = Option<PageAddress>> {
        // Seven blocks beside the page's own, which is 3.
        proptest::option::of((0u32..8, 0u16..64).prop_map(|(block, page)| PageAddress::new(BlockId(block * 257), page)))
    }

    proptest! {
        #[test]
        fn t006_images_are_bijective(
            pmd in proptest::array::uniform4(page()), pt in proptest::array::uniform16(page()),
            own in (0u32..8, 0u16..64), lpn in any::<u32>(), write_number in 0u64..1 << 48
        ) {
            let own = PageAddress::new(BlockId(own.0 * 257), own.1);
            let image = SpareImage::pack(&SpareContent { own, lpn: Lpn(lpn), write_number, pmd, pt });
            prop_assert_eq!((image.lpn(), image.write_number()), (Lpn(lpn), write_number));
            for (index, page) in pmd.iter().enumerate() {
                prop_assert_eq!(image.pde(index, own), page.unwrap_or(own));
            }
            for (index, page) in pt.iter().enumerate() {
                prop_assert_eq!(image.pte(index, own), page.unwrap_or(own));
            }
        }
    }
}
