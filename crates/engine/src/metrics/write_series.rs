//! Flash commands counted: in all, and in windows of host data written.

use pumice_types::{Cause, FlashCommand, FlashOp, PageTimes, PageUnit, Time};
use serde_json::{Value, json};

use super::FlashCounts;

/// Commands since measuring began.
#[derive(Clone, Debug, Default)]
pub struct CommandTally {
    /// Counts of all commands.
    pub counts: FlashCounts,
    of_types: Option<Box<ArrayTimes>>,
    series: Option<Box<WriteSeries>>,
}

impl CommandTally {
    /// Nothing counted yet, on chips with these times. `share`: length of the windows of a series as a share of so many
    /// pages; none without it.
    pub fn new(pages: &PageTimes, share: Option<f64>, user_pages: u32) -> CommandTally {
        let series = share.map(|share| Box::new(WriteSeries::new(share, user_pages)));
        let of_types = pages.differ().then(|| Box::new(ArrayTimes::new(pages.clone())));
        CommandTally { counts: FlashCounts::default(), of_types, series }
    }

    /// Counts a command.
    #[inline]
    pub fn note(&mut self, command: &FlashCommand) {
        self.counts.note(command);
        if let Some(of_types) = &mut self.of_types {
            of_types.note(command);
        }
        if let Some(series) = &mut self.series {
            series.note(command);
        }
    }

    /// Counts what a program puts into the mapping units of its page.
    pub fn note_units(&mut self, program: &FlashCommand, units: &[PageUnit]) {
        self.counts.units.note(program, units);
        if let Some(series) = &mut self.series {
            series.current.units.note(program, units);
        }
    }

    /// Adds the commands of another thread.
    pub fn absorb(&mut self, other: &CommandTally) {
        self.counts.absorb(&other.counts);
        if let (Some(sum), Some(of_types)) = (&mut self.of_types, &other.of_types) {
            sum.copies += of_types.copies;
            sum.searches += of_types.searches;
        }
    }

    /// Forgets what was counted.
    pub fn restart(&mut self) {
        self.counts = FlashCounts::default();
        if let Some(of_types) = &mut self.of_types {
            (of_types.copies, of_types.searches) = (Time::ZERO, Time::ZERO);
        }
        if let Some(series) = &mut self.series {
            **series = WriteSeries::new(series.share, series.user_pages);
        }
    }

    /// tR and tPROG of all copies and moves, and tR of all searches for collection and for the map, on chips with these
    /// times.
    pub fn array_times(&self, pages: &PageTimes) -> [Time; 2] {
        if let Some(of_types) = &self.of_types {
            return [of_types.copies, of_types.searches];
        }
        let (counts, t_r, t_prog) = (&self.counts, pages.t_r(0), pages.t_prog(0));
        let copies = t_r * (counts.copies + counts.moved_reads) + t_prog * (counts.copies + counts.moved_programs);
        [copies, t_r * (counts.gc_spare_pages + counts.map_spare_pages)]
    }

    /// The windows for the result document; null without a series.
    pub fn series(&self) -> Value {
        self.series.as_ref().map_or(Value::Null, |series| series.document())
    }
}

/// What commands took in the arrays of chips whose pages differ.
#[derive(Clone, Debug)]
struct ArrayTimes {
    pages: PageTimes,
    /// tR and tPROG of copies, and of pages that are moved.
    copies: Time,
    /// tR of searches for collection and for the map.
    searches: Time,
}

impl ArrayTimes {
    fn new(pages: PageTimes) -> ArrayTimes {
        ArrayTimes { pages, copies: Time::ZERO, searches: Time::ZERO }
    }

    #[cold]
    fn note(&mut self, command: &FlashCommand) {
        let (pages, target) = (&self.pages, command.target.page);
        match (command.op, command.cause) {
            (FlashOp::Copy, Cause::Map) => {}
            (FlashOp::Copy, _) => self.copies += pages.t_r(command.source.page) + pages.t_prog(target),
            (FlashOp::Read, Cause::Gc) => self.copies += pages.t_r(target),
            (FlashOp::Program, Cause::Gc) => self.copies += pages.t_prog(target),
            (FlashOp::SpareSearch, Cause::Gc | Cause::Map) => {
                self.searches += pages.t_r_down(target, command.searched_pages());
            }
            (FlashOp::Read | FlashOp::Program | FlashOp::SpareSearch, _)
            | (FlashOp::Erase | FlashOp::PartialErase | FlashOp::SubBlockErase | FlashOp::Pause, _) => {}
        }
    }
}

/// Counts of one window after the other. A window ends when the host has written so many pages in all; what collection
/// does between two host programs belongs to the window of the second one, for which it made room.
#[derive(Clone, Debug)]
struct WriteSeries {
    /// Length of a window as a share of the user capacity.
    share: f64,
    user_pages: u32,
    /// Host pages of all windows at which the one under way ends.
    end: u64,
    host_pages: u64,
    current: FlashCounts,
    done: Vec<FlashCounts>,
}

impl WriteSeries {
    /// An empty series of windows of such a share, above 0, of so many pages.
    fn new(share: f64, user_pages: u32) -> WriteSeries {
        let counts = FlashCounts::default();
        let mut series = WriteSeries { share, user_pages, end: 0, host_pages: 0, current: counts, done: Vec::new() };
        series.end = series.end_of(0);
        series
    }

    /// Counts a command.
    #[inline]
    fn note(&mut self, command: &FlashCommand) {
        self.current.note(command);
        if command.op == FlashOp::Program && self.current.host_programs > 0 {
            self.end_window_if_full();
        }
    }

    fn end_window_if_full(&mut self) {
        if self.host_pages + self.current.host_stored() >= self.end {
            self.host_pages += self.current.host_stored();
            self.done.push(std::mem::take(&mut self.current));
            self.end = self.end_of(self.done.len());
        }
    }

    /// Host pages at which the window of such a number ends, more than those of the window before.
    fn end_of(&self, nth: usize) -> u64 {
        let share = (self.share * f64::from(self.user_pages) * (nth + 1) as f64).round() as u64;
        share.max(self.host_pages + 1)
    }

    /// The section of the result document.
    fn document(&self) -> Value {
        let is_begun = self.current != FlashCounts::default();
        let windows = self.done.iter().chain(is_begun.then_some(&self.current));
        let mut begun = 0;
        let rows = windows.map(|counts| {
            let start = begun as f64 / f64::from(self.user_pages);
            begun += counts.host_stored();
            let amplification =
                (counts.host_stored() > 0).then(|| counts.stored() as f64 / counts.host_stored() as f64);
            json!({
                "start_capacities": start,
                "host_programs": counts.host_programs,
                "gc_programs": counts.gc_programs(),
                "map_programs": counts.all_map_programs(),
                "padding_programs": counts.padding_programs,
                "erases": counts.erases_total(),
                "write_amplification": amplification,
            })
        });
        Value::Array(rows.collect())
    }
}

#[cfg(test)]
mod tests {
    use pumice_types::{BlockId, Cause, Lpn, PageAddress};

    use super::*;

    #[test]
    fn t670_a_window_ends_with_the_host_page_that_fills_it() {
        let page = PageAddress::new(BlockId(0), 0);
        let host = FlashCommand::program(Cause::Host, page, Lpn(0), 0, 0);
        let copy = FlashCommand::copy(page, page, Lpn(0), 0);
        // Windows of 2.5 of 10 pages end at 3 (2.5 rounded), 5 and 8 pages.
        let mut series = WriteSeries::new(0.25, 10);
        for command in [copy, host, host, host, copy, copy, host, host, FlashCommand::erase(BlockId(0)), host] {
            series.note(&command);
        }
        let windows = series.document();
        let column = |name: &str| -> Vec<Value> {
            windows.as_array().into_iter().flatten().map(|window| window[name].clone()).collect()
        };
        assert_eq!(column("host_programs"), [3, 2, 1].map(Value::from));
        assert_eq!(column("gc_programs"), [1, 2, 0].map(Value::from));
        assert_eq!(column("erases"), [0, 0, 1].map(Value::from));
        assert_eq!(column("start_capacities"), [0.0, 0.3, 0.5].map(Value::from));
        assert_eq!(column("write_amplification")[1], 2.0);
    }
}
