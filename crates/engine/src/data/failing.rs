//! Drives that misbehave when their power is cut.
//!
//! Each failure strikes what the drive programmed last for the host, which it has acknowledged, perhaps promised: as if
//! a program had not been finished when it was reported to be. The list is that of Zheng, Tucek, Qin and Lillibridge,
//! *Understanding the Robustness of SSDs under Power Fault*, FAST'13, with the flying writes that they looked for.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use pumice_config::PowerFailure;
use pumice_nand::NandArray;
use pumice_types::{BlockId, Lpn, PageAddress};
use pumice_workload::RandomStream;

use super::pages::PageMedium;
use super::sector::{SECTOR_BITS, SectorForm};
use crate::error::SimError;

/// Programs of host data that a cut may strike: the last ones.
const PROGRAMS_STRUCK: usize = 8;

/// Sectors of the records that a shorn write is shorn in: 4 KiB.
const RECORD_SECTORS: usize = 8;

/// Sectors written of a record that is shorn; FAST'13 found 3/8 and 7/8.
const SHORN_TO: [usize; 2] = [3, 7];

/// One block in so many of those that hold data loses its metadata. The drive of FAST'13 lost a third of its data.
const BLOCKS_A_LOST_ONE: u64 = 3;

/// One cut in so many is the drive's last.
const CUTS_A_DEATH: u64 = 4;

/// A program of host data.
#[derive(Clone)]
struct RecentProgram {
    page: PageAddress,
    lpn: Lpn,
    new: Option<Arc<[u8]>>,
    /// What the logical page held before.
    old: Option<Arc<[u8]>>,
}

/// What a drive does wrong, and what it may do it to.
#[derive(Clone)]
pub struct FailingDrive {
    failure: PowerFailure,
    form: SectorForm,
    recent: VecDeque<RecentProgram>,
    /// What was last programmed of each logical page. Only looked up.
    last: HashMap<Lpn, Option<Arc<[u8]>>>,
    is_dead: bool,
}

impl FailingDrive {
    /// A drive with a failure; `None` of an honest one.
    pub fn of(failure: PowerFailure, form: SectorForm) -> Option<FailingDrive> {
        let drive = FailingDrive { failure, form, recent: VecDeque::new(), last: HashMap::new(), is_dead: false };
        (failure != PowerFailure::None).then_some(drive)
    }

    /// Whether it answers nothing any more.
    pub fn is_dead(&self) -> bool {
        self.is_dead
    }

    /// A page of the host is programmed.
    pub fn note_program(&mut self, page: PageAddress, lpn: Lpn, new: Option<Arc<[u8]>>) {
        let old = self.last.insert(lpn, new.clone()).flatten();
        if self.recent.len() == PROGRAMS_STRUCK {
            self.recent.pop_front();
        }
        self.recent.push_back(RecentProgram { page, lpn, new, old });
    }

    /// The power is cut.
    ///
    /// # Errors
    /// Bytes could not be moved.
    pub fn strike(
        &mut self,
        array: &mut NandArray,
        pages: &mut impl PageMedium,
        random: &mut RandomStream,
    ) -> Result<(), SimError> {
        // A page that was erased since is no longer what it was.
        let is_there = |program: &RecentProgram| array.peek(program.page).is_ok_and(|found| found.lpn == program.lpn);
        let recent: Vec<RecentProgram> = self.recent.drain(..).filter(is_there).collect();
        match self.failure {
            PowerFailure::None => {}
            PowerFailure::BitCorruption => {
                if let Some(struck) = one_of(&recent, random) {
                    self.corrupt(struck, pages, random)?;
                }
            }
            PowerFailure::ShornWrites => {
                for struck in some_of(&recent, random) {
                    let to = SHORN_TO[random.below(SHORN_TO.len() as u64) as usize];
                    pages.program(struck.page, self.shorn(struck, to))?;
                }
            }
            PowerFailure::FlyingWrites => {
                if let Some(struck) = one_of(&recent, random) {
                    let others: Vec<RecentProgram> =
                        recent.iter().filter(|other| other.lpn != struck.lpn).cloned().collect();
                    if let Some(hit) = one_of(&others, random) {
                        pages.program(struck.page, struck.old.clone())?;
                        pages.program(hit.page, struck.new.clone())?;
                    }
                }
            }
            PowerFailure::UnserializableWrites => {
                some_of(&recent, random).into_iter().for_each(|struck| array.spoil(struck.page));
            }
            PowerFailure::MetadataCorruption => lose_blocks(array, random),
            PowerFailure::DeadDevice => self.is_dead |= random.below(CUTS_A_DEATH) == 0,
        }
        Ok(())
    }

    /// One bit of a page becomes wrong, and its code does not notice.
    fn corrupt(
        &self,
        struck: &RecentProgram,
        pages: &mut impl PageMedium,
        random: &mut RandomStream,
    ) -> Result<(), SimError> {
        let Some(new) = &struck.new else { return Ok(()) };
        let mut bytes = new.to_vec();
        let mut sectors: Vec<&mut [u8]> = bytes.chunks_mut(self.form.bytes()).collect();
        let sector = random.below(sectors.len() as u64) as usize;
        self.form.flip(sectors[sector], random.below(u64::from(SECTOR_BITS)) as u16);
        pages.program(struck.page, Some(bytes.into()))
    }

    /// What is left of a program of which only so many sectors of each record were written.
    fn shorn(&self, struck: &RecentProgram, to: usize) -> Option<Arc<[u8]>> {
        let sector = self.form.bytes();
        let length = struck.new.as_ref().or(struck.old.as_ref())?.len();
        let of = |bytes: &Option<Arc<[u8]>>| bytes.as_ref().map_or_else(|| vec![0; length], |bytes| bytes.to_vec());
        let (mut left, old) = (of(&struck.new), of(&struck.old));
        for nth in (0..length / sector).filter(|nth| nth % RECORD_SECTORS >= to) {
            let place = nth * sector..(nth + 1) * sector;
            left[place.clone()].copy_from_slice(&old[place]);
        }
        Some(left.into())
    }
}

fn one_of<'a>(recent: &'a [RecentProgram], random: &mut RandomStream) -> Option<&'a RecentProgram> {
    (!recent.is_empty()).then(|| &recent[random.below(recent.len() as u64) as usize])
}

/// Each with even odds.
fn some_of<'a>(recent: &'a [RecentProgram], random: &mut RandomStream) -> Vec<&'a RecentProgram> {
    recent.iter().filter(|_| random.below(2) == 0).collect()
}

/// Blocks that hold data fail whole.
fn lose_blocks(array: &mut NandArray, random: &mut RandomStream) {
    let geometry = array.config().geometry;
    for block in (0..geometry.blocks()).map(BlockId) {
        let pages = (0..geometry.pages_per_block).map(|page| PageAddress::new(block, page));
        let stored: Vec<PageAddress> = pages.filter(|&page| array.peek(page).is_ok()).collect();
        if !stored.is_empty() && random.below(BLOCKS_A_LOST_ONE) == 0 {
            stored.into_iter().for_each(|page| array.spoil(page));
        }
    }
}
