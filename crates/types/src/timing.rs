//! How long flash operations take, as data. The scheduler alone decides when they happen.

use crate::page_times::PageTimes;
use crate::{FlashCommand, FlashOp, PbTree, Time};
use serde::{Deserialize, Serialize};

/// Pages and microseconds of PEN's partial-erase table (FAST'18, Table 1; 576 pages is the whole
/// block and takes tBERS).
const PEN_PARTIAL_ERASE_US: [(f64, f64); 6] =
    [(9.0, 9_270.0), (18.0, 9_370.0), (36.0, 9_480.0), (72.0, 9_620.0), (144.0, 9_790.0), (288.0, 9_950.0)];

/// Pages from which a partial erase costs a whole tBERS.
const PEN_BLOCK_PAGES: f64 = 576.0;

/// Partial-erase time for a PB of `pages` pages when the spec gives no table: PEN's Table 1,
/// linear in log2(pages) between its entries, its smallest entry below 9 pages, tBERS above 576.
/// `t_bers_us` stands for the table's last entry, so that level 0 is always tBERS.
pub fn partial_erase_us(pages: usize, t_bers_us: f64) -> f64 {
    let pages = pages as f64;
    if pages >= PEN_BLOCK_PAGES {
        return t_bers_us;
    }
    let mut below = PEN_PARTIAL_ERASE_US[0];
    if pages <= below.0 {
        return below.1.min(t_bers_us);
    }
    for above in PEN_PARTIAL_ERASE_US[1..].iter().copied().chain([(PEN_BLOCK_PAGES, t_bers_us)]) {
        if pages <= above.0 {
            let share = libm::log2(pages / below.0) / libm::log2(above.0 / below.0);
            return (below.1 + share * (above.1 - below.1)).min(t_bers_us);
        }
        below = above;
    }
    t_bers_us
}

/// Erase times by level, level 0 first: tBERS, then the given table's or PEN's times.
pub fn partial_erase_table(tree: PbTree, t_bers_us: f64, given_us: Option<&[f64]>) -> Vec<Time> {
    let level_us = |level: u8| match (level, given_us) {
        (0, _) => t_bers_us,
        (level, Some(times)) => times[usize::from(level)],
        (level, None) => partial_erase_us(tree.pages_per_block() >> level, t_bers_us),
    };
    (0..=tree.max_splits()).map(|level| Time::from_us(level_us(level))).collect()
}

/// Parts of a page that a request's pages tell apart.
pub const PAGE_PARTS: u64 = 64;

/// Durations of flash operations and transfers of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashTiming {
    /// Page read into the register, tR, and page program, tPROG.
    pub pages: PageTimes,
    /// Whole-block erase, tBERS.
    pub t_bers: Time,
    /// Erase of a partial block by level; entry 0 is tBERS.
    pub partial_erase: Vec<Time>,
    /// Page and spare bytes over the channel.
    pub page_transfer: Time,
    /// Parts of a page, of equal size, that a read for the host can move one by one; 1: it moves the whole page.
    pub codewords_per_page: u32,
    /// Mapping units of a page.
    pub units_per_page: u32,
    /// Spare bytes over the channel.
    pub spare_transfer: Time,
    /// Command and address cycles on the channel, before each command that uses it.
    pub command_overhead: Time,
    /// A page read begins when the channel has carried all that asked for it before.
    pub reads_ask_channel: bool,
    /// Whether a copy inside a plane stays on the die (no transfer).
    pub copyback: bool,
}

impl FlashTiming {
    /// Page read into the register, tR.
    #[inline]
    pub fn t_r(&self, page: u16) -> Time {
        self.pages.t_r(page)
    }

    /// Page program, tPROG.
    #[inline]
    pub fn t_prog(&self, page: u16) -> Time {
        self.pages.t_prog(page)
    }

    /// A page copied with nothing in the way, whichever page of a block it is and will be: mean tR and mean tPROG, and
    /// two transfers unless copyback. Planners weigh copies with it.
    pub fn mean_copy(&self) -> Time {
        self.pages.mean_t_r() + self.copy_transfers() + self.pages.mean_t_prog()
    }

    /// The transfers of a copy: two, or none with copyback.
    pub fn copy_transfers(&self) -> Time {
        if self.copyback { Time::ZERO } else { self.copy_transfer() }
    }

    /// Channel time of a copy that goes through the controller: out and in again.
    pub fn copy_transfer(&self) -> Time {
        (self.page_transfer + self.command_overhead) * 2
    }

    /// Channel time of a host's read that needs these parts of its page, or mapping unit, of [`PAGE_PARTS`]: that of the
    /// codewords that hold them, and of the command. `None` if that is the whole page.
    #[inline]
    pub fn part_transfer(&self, needed: u64) -> Option<Time> {
        if self.codewords_per_page == 1 || (needed == u64::MAX && self.units_per_page == 1) {
            return None;
        }
        let all = u64::from(self.codewords_per_page);
        // A codeword holds several units, or a unit several codewords.
        let codewords = (all / u64::from(self.units_per_page)).max(1);
        let holds = |codeword: &u64| {
            let (first, end) = (codeword * PAGE_PARTS / codewords, ((codeword + 1) * PAGE_PARTS).div_ceil(codewords));
            needed & (u64::MAX >> (PAGE_PARTS - end + first)) << first != 0
        };
        let moved = (0..codewords).filter(holds).count() as u64;
        Some(Time((self.page_transfer.0 * moved).div_ceil(all)) + self.command_overhead)
    }

    /// Time of a whole erase command in one step: tBERS, or the partial block's.
    #[inline]
    pub fn erase_time(&self, command: &FlashCommand) -> Time {
        match command.op {
            FlashOp::PartialErase => self.partial_erase[command.pb().level() as usize],
            FlashOp::Erase
            | FlashOp::SubBlockErase
            | FlashOp::Read
            | FlashOp::SpareSearch
            | FlashOp::Program
            | FlashOp::Copy
            | FlashOp::Pause => self.t_bers,
        }
    }

    /// Time on the channel for `bytes` at `mb_per_s` (10^6 bytes a second), to the nearest
    /// nanosecond; at least 1 ns for at least one byte, so that no rate is free.
    pub fn transfer(bytes: u32, mb_per_s: f64) -> Time {
        if bytes == 0 {
            return Time::ZERO;
        }
        Time(((f64::from(bytes) * 1_000.0 / mb_per_s).round() as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t300_the_partial_erase_table_is_pens() {
        for (pages, us) in
            [(576, 10_000.0), (288, 9_950.0), (144, 9_790.0), (72, 9_620.0), (36, 9_480.0), (18, 9_370.0), (9, 9_270.0)]
        {
            assert_eq!(partial_erase_us(pages, 10_000.0), us, "{pages} pages");
        }
        assert_eq!(partial_erase_us(1, 10_000.0), 9_270.0);
        assert_eq!(partial_erase_us(2304, 10_000.0), 10_000.0);
        let between = partial_erase_us(51, 10_000.0);
        assert!(between > 9_480.0 && between < 9_620.0);
    }

    #[test]
    fn t301_a_partial_erase_is_never_dearer_than_the_block() {
        for pages in 1..600 {
            assert!(partial_erase_us(pages, 3_000.0) <= 3_000.0);
        }
    }

    #[test]
    fn t303_level_0_is_the_block_erase_however_small_the_block() {
        for pages in [64, 288, 576] {
            let tree = PbTree::new(pages, 3).expect("legal");
            let table = partial_erase_table(tree, 10_000.0, None);
            assert_eq!(table[0], Time::from_us(10_000.0));
            assert!(table[1] < table[0] && table.len() == 4);
        }
    }

    #[test]
    fn t302_no_channel_rate_is_free() {
        assert_eq!(FlashTiming::transfer(17_664, 400.0), Time(44_160));
        assert_eq!(FlashTiming::transfer(16_384, 1_200.0), Time(13_653));
        assert_eq!(FlashTiming::transfer(1, 1e9), Time(1));
        assert_eq!(FlashTiming::transfer(0, 400.0), Time::ZERO);
    }
}
