//! The logical map from spare areas alone: what a controller does that lost all of its RAM.
//!
//! A scan of all spare areas gives the page global directory: of each logical block the page with the
//! highest write number. Everything else is found by following the tables: PMD, PT, page.

use std::collections::BTreeMap;

use pumice_types::{Geometry, Lpn, PageAddress, PlaneId};

use super::spare::{PT_PAGES, PTS, SpareImage};

/// Rebuilds the map of a device; `spare` is what a read of a page's spare area returns, `None` if it is
/// blank. Returns the page of each stored logical page.
pub fn rebuild(geometry: &Geometry, spare: impl Fn(PageAddress) -> Option<SpareImage>) -> BTreeMap<Lpn, PageAddress> {
    let pages = geometry.pages_per_block;
    let mut directory: BTreeMap<u32, (u64, PageAddress)> = BTreeMap::new();
    let blocks = (0..geometry.planes())
        .flat_map(|plane| (0..geometry.blocks_per_plane).map(move |index| geometry.block(PlaneId(plane), index)));
    for page in blocks.flat_map(|block| (0..pages).map(move |page| PageAddress::new(block, page))) {
        if let Some(image) = spare(page) {
            let newest = directory.entry(image.lpn().0 / u32::from(pages)).or_insert((0, page));
            if image.write_number() >= newest.0 {
                *newest = (image.write_number(), page);
            }
        }
    }
    let mut map = BTreeMap::new();
    for (logical_block, (_, pmd_at)) in directory {
        let first = Lpn(logical_block * u32::from(pages));
        follow(first, pmd_at, &spare, &mut map);
    }
    map
}

/// Follows the PMD in page `pmd_at` of the logical block that starts at `first`.
fn follow(
    first: Lpn,
    pmd_at: PageAddress,
    spare: &impl Fn(PageAddress) -> Option<SpareImage>,
    map: &mut BTreeMap<Lpn, PageAddress>,
) {
    let Some(directory) = spare(pmd_at) else { return };
    for pt in 0..PTS {
        let pt_at = directory.pde(pt, pmd_at);
        let first_of_pt = first.0 + pt as u32 * u32::from(PT_PAGES);
        let holds = |lpn: Lpn| (first_of_pt..first_of_pt + u32::from(PT_PAGES)).contains(&lpn.0);
        // An entry that points at a page of another PT says that this one was never written.
        let Some(table) = spare(pt_at).filter(|image| holds(image.lpn())) else { continue };
        for entry in 0..usize::from(PT_PAGES) {
            let (page, lpn) = (table.pte(entry, pt_at), Lpn(first_of_pt + entry as u32));
            if page != pt_at || table.lpn() == lpn {
                map.insert(lpn, page);
            }
        }
    }
}
