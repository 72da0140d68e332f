//! Page types: which bit of its cells a page is, and how long pages of each type take.
//!
//! A cell of b bits holds b pages. They differ in time, because a chip compares the cell with more reference voltages
//! for one bit than for another, and the higher bits need finer programming. The least significant bit is type 0.

use crate::{Time, choice};
use serde::{Deserialize, Serialize};

choice! {
    /// In which order page types follow each other in a block.
    pub enum PageTypeOrder {
        /// Higher pages of a word line come after lower pages of later ones, as in planar chips.
        Interleaved = "interleaved",
        /// All pages of a word line, from the lowest bit on, before those of the next.
        OneShot = "one-shot",
    }
}

/// Most bits of a cell.
pub const CELL_BITS_MAX: usize = 5;

/// Word lines that are programmed in turn before the order goes on to another type: those of even and of odd bit
/// lines.
const LINES_TOGETHER: u16 = 2;

/// Pairs of word lines by which each type is behind the lowest one under [`PageTypeOrder::Interleaved`]. That of
/// three-bit cells is the order of Yaakobi et al., "Characterization and Error-Correcting Codes for TLC Flash
/// Memories", ICNC 2012, as MQSim and FEMU have it; the fourth and fifth go on in it.
const BEHIND: [u16; CELL_BITS_MAX] = [0, 2, 3, 4, 5];

impl PageTypeOrder {
    /// The type of each page of a block, in the order of the pages. A block whose pages do not fill its last word lines
    /// ends before they are full.
    pub fn types(self, bits_per_cell: u8, pages_per_block: u16) -> Vec<u8> {
        let bits = u16::from(bits_per_cell.max(1));
        match self {
            PageTypeOrder::OneShot => (0..pages_per_block).map(|page| (page % bits) as u8).collect(),
            PageTypeOrder::Interleaved => {
                let lines = pages_per_block.div_ceil(bits);
                let pairs = lines.div_ceil(LINES_TOGETHER);
                let lines_of = |pair: u16| LINES_TOGETHER.min(lines - pair * LINES_TOGETHER);
                let behind = &BEHIND[..usize::from(bits)];
                let steps = (0..pairs + behind[behind.len() - 1]).flat_map(|step| {
                    let of_step = behind.iter().enumerate().filter_map(move |(bit, behind)| {
                        let pair = step.checked_sub(*behind).filter(|&pair| pair < pairs)?;
                        Some((bit as u8, lines_of(pair)))
                    });
                    of_step.flat_map(|(bit, lines)| (0..lines).map(move |_| bit))
                });
                steps.take(usize::from(pages_per_block)).collect()
            }
        }
    }
}

/// tR and tPROG of every page of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTimes {
    /// tR by type; one entry if all pages are alike.
    t_r: Vec<Time>,
    /// tPROG by type; one entry if all pages are alike.
    t_prog: Vec<Time>,
    /// The type of each page of a block; empty if all pages are alike.
    types: Vec<u8>,
    /// tPROG of each page of a block, if it does not follow from its type; else empty.
    programs: Vec<Time>,
}

impl PageTimes {
    /// All pages take the same.
    pub fn alike(t_r: Time, t_prog: Time) -> PageTimes {
        PageTimes { t_r: vec![t_r], t_prog: vec![t_prog], types: Vec::new(), programs: Vec::new() }
    }

    /// Pages of these types, whose times stand in the order of the types.
    pub fn by_type(t_r: Vec<Time>, t_prog: Vec<Time>, types: Vec<u8>) -> PageTimes {
        let is_one = |times: &[Time]| times.windows(2).all(|pair| pair[0] == pair[1]);
        if is_one(&t_r) && is_one(&t_prog) {
            return PageTimes::alike(t_r[0], t_prog[0]);
        }
        PageTimes { t_r, t_prog, types, programs: Vec::new() }
    }

    /// Returns the times where one command programs `together` pages of a block, each of `units` mapping units: the last
    /// takes the time of all.
    pub fn programmed_together(mut self, pages: u16, [together, units]: [u16; 2]) -> PageTimes {
        if together == 1 {
            return self;
        }
        let command = together * units;
        let time_of = |page: u16| {
            let first = page / command * command;
            match (page - first) / units + 1 == together {
                true => (0..together).map(|nth| self.t_prog(first + nth * units)).sum(),
                false => Time::ZERO,
            }
        };
        self.programs = (0..pages).map(time_of).collect();
        self
    }

    /// Pages that one command programs.
    pub fn pages_together(&self) -> u16 {
        let takes_time = |time: &Time| *time > Time::ZERO;
        self.programs.iter().position(takes_time).map_or(1, |last| last as u16 + 1)
    }

    /// Whether pages differ.
    #[inline]
    pub fn differ(&self) -> bool {
        !self.types.is_empty() || !self.programs.is_empty()
    }

    #[inline]
    fn type_of(&self, page: u16) -> usize {
        self.types.get(usize::from(page)).map_or(0, |&of_page| usize::from(of_page))
    }

    /// Time in which the array reads this page of a block, tR.
    #[inline]
    pub fn t_r(&self, page: u16) -> Time {
        self.t_r[self.type_of(page)]
    }

    /// Time in which the array programs this page of a block, tPROG.
    #[inline]
    pub fn t_prog(&self, page: u16) -> Time {
        match self.programs.get(usize::from(page)) {
            Some(&own) => own,
            None => self.t_prog[self.type_of(page)],
        }
    }

    /// Time in which the array reads so many pages, one after the other, from `newest` downwards.
    #[inline]
    pub fn t_r_down(&self, newest: u16, pages: u16) -> Time {
        if !self.differ() {
            return self.t_r[0] * u64::from(pages);
        }
        (0..pages).map(|behind| self.t_r(newest.saturating_sub(behind))).sum()
    }

    /// tR of a page of which nothing is known: the mean over the pages of a block.
    pub fn mean_t_r(&self) -> Time {
        self.mean(&self.t_r)
    }

    /// tPROG of a page of which nothing is known: the mean over the pages of a block.
    pub fn mean_t_prog(&self) -> Time {
        let all: Time = self.programs.iter().copied().sum();
        all.0.checked_div(self.programs.len() as u64).map_or_else(|| self.mean(&self.t_prog), Time)
    }

    fn mean(&self, times: &[Time]) -> Time {
        let all: Time = self.types.iter().map(|&of_page| times[usize::from(of_page)]).sum();
        all.0.checked_div(self.types.len() as u64).map_or(times[0], Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(order: PageTypeOrder, bits: u8, pages: u16) -> String {
        order.types(bits, pages).into_iter().map(|bit| char::from(b'0' + bit)).collect()
    }

    #[test]
    fn t304_page_types_follow_each_other_as_the_sources_say() {
        use PageTypeOrder::{Interleaved, OneShot};
        assert_eq!(text(OneShot, 3, 8), "01201201");
        assert_eq!(text(OneShot, 2, 6), "010101", "as MQSim orders the pages of two-bit cells");
        assert_eq!(text(Interleaved, 1, 4), "0000");
        assert_eq!(text(Interleaved, 3, 30), "000000110011220011221122112222");
        let peer = |page: u16| match page {
            0..6 => 0,
            6..8 => 1,
            _ => (page - 8) / 2 % 3,
        };
        let types = Interleaved.types(3, 256);
        let first_other = (0..256).find(|&page| u16::from(types[usize::from(page)]) != peer(page));
        assert_eq!(first_other, Some(248), "MQSim's and FEMU's order, but that a block ends with full word lines");
    }

    #[test]
    fn t305_every_word_line_has_one_page_of_each_type() {
        for order in [PageTypeOrder::Interleaved, PageTypeOrder::OneShot] {
            for bits in 1..=CELL_BITS_MAX as u8 {
                for lines in 1..40 {
                    let types = order.types(bits, lines * u16::from(bits));
                    for bit in 0..bits {
                        assert_eq!(types.iter().filter(|&&of| of == bit).count(), usize::from(lines), "{order} {bits}");
                    }
                    // A page comes after the lower pages of its word line.
                    for end in 0..types.len() {
                        let so_far = |bit: u8| types[..=end].iter().filter(|&&of| of == bit).count();
                        assert!((1..bits).all(|bit| so_far(bit) <= so_far(bit - 1)), "{order} {bits} {lines} {end}");
                    }
                }
            }
            for pages in 1..200 {
                assert_eq!(order.types(3, pages).len(), usize::from(pages), "{order}");
            }
        }
    }

    #[test]
    fn t306_times_are_those_of_the_types_and_their_means_those_of_a_block() {
        let us = |us: &[u64]| us.iter().map(|&us| Time(us * 1_000)).collect::<Vec<_>>();
        let types = PageTypeOrder::OneShot.types(3, 8);
        let times = PageTimes::by_type(us(&[60, 75, 110]), us(&[400, 750, 1_600]), types.clone());
        assert_eq!([0, 1, 2, 3].map(|page| times.t_r(page).0 / 1_000), [60, 75, 110, 60]);
        assert_eq!(times.t_prog(5), Time(1_600_000));
        assert_eq!(times.t_r_down(4, 3), Time(75_000 + 60_000 + 110_000));
        assert_eq!(times.mean_t_r(), Time((3 * 60_000 + 3 * 75_000 + 2 * 110_000) / 8));
        let same = PageTimes::by_type(us(&[70, 70, 70]), us(&[900, 900, 900]), types);
        assert_eq!(same, PageTimes::alike(Time(70_000), Time(900_000)));
        assert_eq!((same.mean_t_prog(), same.t_r_down(7, 2)), (Time(900_000), Time(140_000)));
    }

    #[test]
    fn t780_the_last_page_of_a_program_takes_the_time_of_all_its_pages() {
        let times = |of: [u64; 3]| of.map(|us| Time(us * 1000)).to_vec();
        let by_type = PageTimes::by_type(times([60, 75, 110]), times([400, 750, 1600]), vec![0, 1, 2, 0, 1, 2]);
        let programs = |times: &PageTimes| (0..6).map(|page| times.t_prog(page).0 / 1000).collect::<Vec<_>>();
        let together = by_type.clone().programmed_together(6, [3, 1]);
        assert_eq!(programs(&together), [0, 0, 2750, 0, 0, 2750]);
        assert_eq!(together.t_r(1), by_type.t_r(1), "reads are as before");
        assert_eq!(together.mean_t_prog().0, by_type.mean_t_prog().0);
        assert_eq!(by_type.clone().programmed_together(6, [1, 1]), by_type);
        // Pages of two mapping units: what is programmed last is the whole page.
        let of_units = PageTimes::alike(Time(0), Time(900_000)).programmed_together(8, [2, 2]);
        assert!(of_units.differ());
        assert_eq!(
            (0..8).map(|unit| of_units.t_prog(unit).0 / 1000).collect::<Vec<_>>(),
            [0, 0, 1800, 1800, 0, 0, 1800, 1800]
        );
    }
}
