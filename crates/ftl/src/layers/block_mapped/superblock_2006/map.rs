//! The three-level page map in spare areas (EMSOFT'06, section 4.2), and its cache.
//!
//! The page global directory (PGD) is in RAM: for each logical block the page written last, whose spare area
//! holds the newest PMD. A PMD names the pages whose spare areas hold the newest four PTs. The simulator
//! keeps a shadow of the PMDs; the PTs' content is the [`PlaneBook`]'s map. So it knows which spare areas
//! a controller reads when the cache misses, and emits those reads; the array checks that each page is
//! what the tables say.
//!
//! The newest PMD and PT of anything are always in valid pages: a page is written later than all others
//! of its logical block, or of its PT, only if it is itself current. So no table is lost by an erase.
//!
//! Chosen: a miss loads the whole entry, a PMD and its PTs, one spare read for each page that holds one of
//! them. The cache belongs to the plane.

use pumice_types::{Cause, FlashCommand, PageAddress, SearchExpectation};
use serde::{Deserialize, Serialize};

use super::spare::{PT_PAGES, PTS, SpareContent, SpareImage};
use crate::blocks::recency::Recency;
use crate::layers::block_mapped::plane_book::{PlaneBook, Step};

/// Page of the plane + 1; 0 for none.
type Link = u32;

/// What the controller finds for one logical block.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Directory {
    /// PGD entry.
    pmd_at: Link,
    /// The PMD there.
    pt_at: [Link; PTS],
}

/// Cached entries: a PMD and its four PTs, each for one logical block.
#[derive(Clone, Serialize, Deserialize)]
struct Cache {
    recency: Recency,
    is_cached: Vec<bool>,
    used: u32,
    entries: u32,
}

/// The map of one plane.
#[derive(Clone, Serialize, Deserialize)]
pub struct SpareMap {
    directories: Vec<Directory>,
    cache: Cache,
    writes: u64,
    /// Spare areas of the pages programmed since they were last asked for; `None` if nobody asks.
    #[serde(skip)]
    images: Option<Vec<SpareImage>>,
}

impl SpareMap {
    /// Nothing written, nothing cached.
    pub fn new(logical_blocks: u32, entries: u32, keep_images: bool) -> SpareMap {
        let blocks = logical_blocks as usize;
        let cache = Cache { recency: Recency::new(blocks), is_cached: vec![false; blocks], used: 0, entries };
        SpareMap {
            directories: vec![Directory::default(); blocks],
            cache,
            writes: 0,
            images: keep_images.then(Vec::new),
        }
    }

    /// Bytes of the simulator's columns.
    pub fn state_bytes(&self) -> u64 {
        size_of_val(&self.directories[..]) as u64 + self.cache.is_cached.len() as u64 + self.cache.recency.state_bytes()
    }

    /// The tables after the initial fill of a logical block, page by page in order.
    pub fn note_fill(&mut self, logical: u32, block_index: usize, [filled, pages]: [u16; 2]) {
        let link = |page: u16| (block_index * usize::from(pages) + usize::from(page) + 1) as Link;
        let directory = &mut self.directories[logical as usize];
        directory.pmd_at = link(filled - 1);
        for (pt, at) in directory.pt_at.iter_mut().enumerate() {
            let first = pt as u16 * PT_PAGES;
            if first < filled {
                *at = link((first + PT_PAGES).min(filled) - 1);
            }
        }
    }

    /// Brings the entry of a logical block into the cache.
    pub fn load(&mut self, logical: u32, book: &PlaneBook, step: &mut Step) {
        self.cache.recency.touch(logical);
        if self.cache.is_cached[logical as usize] {
            step.shared.counters.map_hits += 1;
            return;
        }
        step.shared.counters.map_misses += 1;
        if self.cache.used < self.cache.entries {
            self.cache.used += 1;
        } else if let Some(oldest) = self.cache.recency.oldest() {
            self.cache.recency.remove(oldest);
            self.cache.is_cached[oldest as usize] = false;
        }
        self.cache.is_cached[logical as usize] = true;
        let Directory { pmd_at, pt_at } = self.directories[logical as usize];
        read_spare(pmd_at, book, step);
        for link in pt_at.into_iter().filter(|&link| link != pmd_at) {
            read_spare(link, book, step);
        }
    }

    /// Notes that a page of the plane was programmed with its tables.
    pub fn note_program(&mut self, local: u32, at: PageAddress, book: &PlaneBook) {
        let (logical, offset) = book.split(local);
        let link = (book.index(at.block) * usize::from(book.pages()) + usize::from(at.page) + 1) as Link;
        let directory = &mut self.directories[logical as usize];
        directory.pmd_at = link;
        directory.pt_at[usize::from(offset / PT_PAGES)] = link;
        if self.images.is_some() {
            let image = self.image(local, at, book);
            self.images.iter_mut().for_each(|images| images.push(image));
        }
        self.writes += 1;
    }

    /// Takes the spare areas of the pages programmed since this was last asked, in their order.
    pub fn take_images(&mut self) -> Vec<SpareImage> {
        self.images.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The spare area of a page that is being programmed.
    fn image(&self, local: u32, own: PageAddress, book: &PlaneBook) -> SpareImage {
        let (logical, offset) = book.split(local);
        let first = offset / PT_PAGES * PT_PAGES;
        let mut pt = [None; PT_PAGES as usize];
        for (page, entry) in (first..book.pages()).zip(&mut pt) {
            *entry = book.locate(logical * u32::from(book.pages()) + u32::from(page));
        }
        let pmd = self.directories[logical as usize].pt_at.map(|link| address(link, book));
        SpareImage::pack(&SpareContent { own, lpn: book.lpn(local), write_number: self.writes, pmd, pt })
    }
}

fn address(link: Link, book: &PlaneBook) -> Option<PageAddress> {
    let pages = u32::from(book.pages());
    let physical = link.checked_sub(1)?;
    Some(PageAddress::new(book.block(physical / pages), (physical % pages) as u16))
}

/// Reads one spare area, which must belong to the page that the tables name.
fn read_spare(link: Link, book: &PlaneBook, step: &mut Step) {
    if let Some(page) = address(link, book) {
        let lpn = book.lpn(book.owner(page));
        step.plan.push(FlashCommand::spare_search(Cause::Map, page, 1, lpn, SearchExpectation::Found));
    }
}
