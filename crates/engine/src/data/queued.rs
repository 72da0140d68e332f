//! Pages that queued commands will fill, and the bytes that they will hold.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use pumice_types::PageAddress;
use serde::{Deserialize, Serialize};

/// What a queued command will store in its page.
#[derive(Clone, Serialize, Deserialize)]
pub enum QueuedContent {
    /// Bytes that are known now; `None`: zeroes. `is_corrupt`: they fail their code.
    Bytes {
        /// The bytes.
        bytes: Option<Arc<[u8]>>,
        /// Whether they fail their code.
        is_corrupt: bool,
    },
    /// What this page holds.
    CopyOf(PageAddress),
}

/// One queued command's content, with its number in the order of queueing.
#[derive(Clone, Serialize, Deserialize)]
struct QueuedPage {
    number: u64,
    content: QueuedContent,
}

/// Contents by page. A page may be in several queued commands, with erases between them. Only looked up.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct QueuedPages {
    pages: HashMap<PageAddress, VecDeque<QueuedPage>>,
    next: u64,
}

/// Where the content of a page is now.
pub enum PageNow<'a> {
    /// On flash, in this page.
    Flash(PageAddress),
    /// In RAM; see [`QueuedContent::Bytes`].
    Ram(&'a Option<Arc<[u8]>>, bool),
}

impl QueuedPages {
    /// A command was queued that fills a page.
    pub fn add(&mut self, page: PageAddress, content: QueuedContent) {
        self.next += 1;
        self.pages.entry(page).or_default().push_back(QueuedPage { number: self.next, content });
    }

    /// The oldest command that fills a page takes effect. `None`: it was not queued.
    pub fn take(&mut self, page: PageAddress) -> Option<QueuedContent> {
        let waiting = self.pages.get_mut(&page)?;
        let taken = waiting.pop_front();
        if waiting.is_empty() {
            self.pages.remove(&page);
        }
        taken.map(|taken| taken.content)
    }

    /// Where the newest content of a page is. A copy holds what was newest in its source when it was queued.
    pub fn find(&self, page: PageAddress) -> PageNow<'_> {
        let (mut page, mut before) = (page, u64::MAX);
        loop {
            let waiting = self.pages.get(&page).into_iter().flatten();
            match waiting.rev().find(|queued| queued.number < before) {
                None => return PageNow::Flash(page),
                Some(QueuedPage { number, content: QueuedContent::CopyOf(source) }) => {
                    (page, before) = (*source, *number);
                }
                Some(QueuedPage { content: QueuedContent::Bytes { bytes, is_corrupt }, .. }) => {
                    return PageNow::Ram(bytes, *is_corrupt);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pumice_types::BlockId;

    use super::*;

    fn page(number: u16) -> PageAddress {
        PageAddress::new(BlockId(1), number)
    }

    fn bytes(byte: u8) -> QueuedContent {
        QueuedContent::Bytes { bytes: Some(Arc::from([byte])), is_corrupt: false }
    }

    /// The byte that a page will hold, or the page of flash that holds it.
    fn found(pages: &QueuedPages, at: u16) -> Result<u8, u16> {
        match pages.find(page(at)) {
            PageNow::Flash(page) => Err(page.page),
            PageNow::Ram(bytes, _) => Ok(bytes.as_ref().expect("bytes")[0]),
        }
    }

    #[test]
    fn s070_a_page_that_is_copied_away_and_back_holds_what_it_held_when_each_copy_was_queued() {
        let mut pages = QueuedPages::default();
        assert_eq!(found(&pages, 0), Err(0));
        pages.add(page(1), QueuedContent::CopyOf(page(0)));
        assert_eq!(found(&pages, 1), Err(0));
        pages.add(page(0), bytes(7));
        assert_eq!((found(&pages, 0), found(&pages, 1)), (Ok(7), Err(0)));
        pages.add(page(2), QueuedContent::CopyOf(page(0)));
        pages.add(page(0), QueuedContent::CopyOf(page(1)));
        assert_eq!((found(&pages, 0), found(&pages, 1), found(&pages, 2)), (Err(0), Err(0), Ok(7)));
        assert!(matches!(pages.take(page(0)), Some(QueuedContent::Bytes { .. })), "the oldest first");
        assert!(matches!(pages.take(page(0)), Some(QueuedContent::CopyOf(source)) if source == page(1)));
        assert!(pages.take(page(0)).is_none());
    }
}
