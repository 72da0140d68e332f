//! Which of the host's writes are hot: those of pages that it wrote not long ago.
//!
//! Two bits a logical page say whether the host wrote it in the current window of so many writes, and
//! in the one before; a page written in either is hot when it is written again. This is the idea of
//! Park and Du, *Hot Data Identification for Flash-based Storage Systems Using Multiple Bloom Filters*,
//! MSST'11, with two filters, which are exact bitmaps here, so that nothing collides.

use pumice_types::{Lpn, bits};
use serde::{Deserialize, Serialize};

/// Recent writes.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::layers::page) struct RecentWrites {
    current: Vec<u64>,
    previous: Vec<u64>,
    window: u32,
    left: u32,
}

impl RecentWrites {
    /// Nothing written yet; a window is `window` writes.
    pub(in crate::layers::page) fn new(pages: u32, window: u32) -> RecentWrites {
        let words = bits::words_for(pages as usize);
        RecentWrites { current: vec![0; words], previous: vec![0; words], window, left: window }
    }

    /// Notes a write of `lpn`; returns whether the page is hot.
    #[inline]
    pub(in crate::layers::page) fn note(&mut self, lpn: Lpn) -> bool {
        let hot = self.is_hot(lpn);
        bits::set(&mut self.current, lpn.index());
        self.left -= 1;
        if self.left == 0 {
            self.left = self.window;
            std::mem::swap(&mut self.current, &mut self.previous);
            self.current.fill(0);
        }
        hot
    }

    /// Whether the host wrote the page in this window or the one before.
    #[inline]
    pub(in crate::layers::page) fn is_hot(&self, lpn: Lpn) -> bool {
        bits::get(&self.current, lpn.index()) || bits::get(&self.previous, lpn.index())
    }

    /// Bytes of the bitmaps.
    pub(in crate::layers::page) fn state_bytes(&self) -> u64 {
        (self.current.len() + self.previous.len()) as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t560_a_page_is_hot_until_a_whole_window_passed_without_it() {
        let mut recent = RecentWrites::new(100, 10);
        assert!(!recent.note(Lpn(7)), "the first write is cold");
        assert!((20..29).chain(40..49).all(|lpn| !recent.note(Lpn(lpn))));
        assert!(recent.note(Lpn(7)), "written in the window before");
        assert!(recent.note(Lpn(48)) && !recent.note(Lpn(20)), "two windows ago is long ago");
    }
}
