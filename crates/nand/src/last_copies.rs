//! The rule behind the order of every merge: nothing takes away the last copy of a page's newest data.
//!
//! The rule is stronger than what the host was promised, and needs no knowledge of layer or host: of each logical page
//! the largest write number counts that was ever programmed to its end, and how many sound copies of it there are.

use pumice_types::{FlashCommand, FlashOp, Lpn, PageAddress, SpareArea, SpareEntry};

use crate::array::NandArray;

/// The newest data of one logical page.
#[derive(Clone, Copy, Default)]
struct NewestCopies {
    written: u64,
    copies: u32,
}

/// Sound copies of the newest data of each logical page.
#[derive(Clone)]
pub(crate) struct LastCopies(Vec<NewestCopies>);

impl LastCopies {
    /// Counts what an array holds for `pages` logical pages.
    pub fn of(array: &NandArray, pages: u32) -> LastCopies {
        let mut copies = LastCopies(vec![NewestCopies::default(); pages as usize]);
        let geometry = &array.config().geometry;
        for block in (0..geometry.blocks()).map(pumice_types::BlockId) {
            (0..geometry.pages_per_block).for_each(|page| copies.note_stored(array, PageAddress::new(block, page)));
        }
        copies
    }

    /// A page was programmed to its end.
    pub fn note_stored(&mut self, array: &NandArray, page: PageAddress) {
        let Some(entry) = sound(array, page) else { return };
        let Some(newest) = self.0.get_mut(entry.lpn.index()) else { return };
        if entry.written > newest.written {
            *newest = NewestCopies { written: entry.written, copies: 1 };
        } else if entry.written == newest.written {
            newest.copies += 1;
        }
    }

    /// An erase of these pages begins. Returns the first logical page that it takes the last copy of.
    pub fn note_erase(&mut self, array: &NandArray, command: &FlashCommand) -> Option<Lpn> {
        let mut lost = None;
        for page in erased_pages(array, command) {
            let Some(entry) = sound(array, page) else { continue };
            let Some(newest) = self.0.get_mut(entry.lpn.index()) else { continue };
            if entry.written == newest.written {
                newest.copies = newest.copies.saturating_sub(1);
                lost = lost.or((newest.copies == 0).then_some(entry.lpn));
            }
        }
        lost
    }
}

/// What a page holds, if no cut has touched it.
fn sound(array: &NandArray, page: PageAddress) -> Option<SpareEntry> {
    match array.spare_area(page) {
        SpareArea::Written(entry) if array.is_sound(page) => Some(entry),
        SpareArea::Written(_) | SpareArea::Blank | SpareArea::Unreadable => None,
    }
}

/// Pages that a command erases.
fn erased_pages(array: &NandArray, command: &FlashCommand) -> impl Iterator<Item = PageAddress> + use<> {
    let (config, block) = (array.config(), command.target.block);
    let pages: Vec<u16> = match command.op {
        FlashOp::Erase => (0..config.geometry.pages_per_block).collect(),
        FlashOp::PartialErase => config.tree.page_ranges(command.pb()).flatten().map(|page| page as u16).collect(),
        FlashOp::SubBlockErase => array.pages_of_sub_blocks(command.sub_blocks()),
        FlashOp::Read | FlashOp::SpareSearch | FlashOp::Program | FlashOp::Copy | FlashOp::Pause => Vec::new(),
    };
    pages.into_iter().map(move |page| PageAddress::new(block, page))
}
