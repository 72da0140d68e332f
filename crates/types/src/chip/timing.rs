//! `[timing]`: how long the chips take, and the channel.

use crate::key::{ANY, ANY_US, CHOSEN, NumberOrList, PEN_TABLE_1, TIMED, When, float, int};
use crate::timing::partial_erase_table;
use crate::{FlashTiming, PageTimes, PbTree, SpecError, Time, choice, keys, refuse};

use super::ChipKeys;

choice! {
    /// Which commands of a die may run together, each in a plane of its own.
    pub enum MultiPlane {
        /// None: one command at a time.
        Off = "off",
        /// Erases that stand next to each other in the die's queue.
        Erases = "erases",
        /// Commands that stand next to each other in the die's queue.
        Neighbours = "neighbours",
        /// The command that is due, and commands from anywhere in the queue of the other planes.
        Queue = "queue",
    }
}

impl MultiPlane {
    /// Whether reads or programs run together.
    pub fn joins_pages(self) -> bool {
        match self {
            MultiPlane::Off | MultiPlane::Erases => false,
            MultiPlane::Neighbours | MultiPlane::Queue => true,
        }
    }
}

choice! {
    /// Which host reads of a die sense at one time.
    pub enum PlaneReads {
        /// One, or those of one multi-plane command.
        Die = "die",
        /// One in each plane.
        Plane = "plane",
        /// One in each plane, begun together.
        Batch = "batch",
    }
}

choice! {
    /// How much of a page a read moves over the channel.
    pub enum ReadTransfer {
        /// The whole page.
        Page = "page",
        /// The codewords that hold what is asked for.
        Codewords = "codewords",
    }
}

choice! {
    /// When the command of a page read reaches its die.
    pub enum ReadCommand {
        /// As soon as the die is free, whatever the channel carries.
        AtOnce = "at-once",
        /// When the channel has carried all that asked for it before.
        Channel = "channel",
    }
}

/// Reads are timed, and move codewords.
const CODEWORDS: When = When::All(&[TIMED, When::Is("timing.read_transfer", &["codewords"])]);

/// Commands are timed, or collection in steps erases what they may erase together.
const PLANES_TOGETHER: When = When::Any(&[
    TIMED,
    When::All(&[When::Is("ftl.kind", &["page"]), When::IsNot("ftl.gc_mode", &["blocking", "foreground", "paced"])]),
]);

keys! {
    /// `[timing]`
    pub struct TimingKeys in "timing" {
        t_r_us: NumberOrList = "70.0", ANY_US, "us", PEN_TABLE_1, When::Always,
            "Page read into the die's register, tR: of all pages, or a list with one time for each page type (geometry.bits_per_cell), least significant bit first.";
        t_prog_us: NumberOrList = "900.0", ANY_US, "us", PEN_TABLE_1, When::Always,
            "Page program, tPROG: of all pages, or a list like timing.t_r_us. An erase scheme that changes it changes all types alike.";
        t_bers_us: f64 = "10000.0", ANY_US, "us", PEN_TABLE_1, When::Always,
            "Whole-block erase, tBERS.";
        channel_mb_per_s: f64 = "400.0", float(0.001, 1e6), "10^6 bytes/s", "chosen: PEN prints none", When::Always,
            "Transfer rate of a channel. No value turns transfer time off.";
        copyback: bool = "true", ANY, "", "PEN's arithmetic counts no transfer for a copy", When::Always,
            "Copies inside a plane stay on the die. Off: a copy moves its page over the channel and back.";
        command_overhead_us: f64 = "0.0", ANY_US, "us", CHOSEN, When::Always,
            "Command and address cycles on the channel, before each transfer.";
        read_transfer: ReadTransfer = "\"page\"", ANY, "", "chosen: the papers count whole pages", TIMED,
            "How much of a page a host read moves over the channel. page: all, with its spare bytes. codewords: the codewords asked for, with their share of the spare bytes; collection always moves whole pages.";
        codeword_bytes: u32 = "4096", int(512, 1 << 20), "bytes", "chosen: codes of 1 to 4 KiB are usual", CODEWORDS,
            "Data bytes of a codeword of the error-correcting code; a divisor of geometry.page_bytes.";
        read_command: ReadCommand = "\"at-once\"", ANY, "", CHOSEN, TIMED,
            "When the command of a page read, or of a copy through the controller, reaches its die. at-once: as soon as the die is free, even while the channel is busy. channel: after all earlier transfers, waiting read data included.";
        plane_reads: PlaneReads = "\"die\"", ANY, "", CHOSEN, TIMED,
            "Which host reads of a die sense at one time. die: one, or those of one multi-plane command. plane: each idle plane begins its next read. batch: when no plane reads, the oldest waiting read of each begins. Both need host.read_priority = true. Programs, copies, erases and the controller's own reads take the whole die.";
        multi_plane: MultiPlane = "\"off\"", ANY, "", CHOSEN, PLANES_TOGETHER,
            "Which commands of a die run as one, for the time of the slowest plane: reads or programs of one page number in several planes, or an erase in each. off: none. erases: erases next to each other in the queue. neighbours: reads, programs and erases next to each other in the queue. queue: the oldest with any of other planes that may overtake; copies program together, and with host writes unless they are copybacks; a host read is sensed with a copy through the controller of the same page number.";
    }
}

impl ChipKeys {
    /// Refuses codewords that do not fill a page.
    pub(super) fn check_codewords(&self) -> Result<(), SpecError> {
        let (timing, page) = (&self.timing, self.geometry.page_bytes);
        if timing.read_transfer == ReadTransfer::Page || page.is_multiple_of(timing.codeword_bytes) {
            return Ok(());
        }
        let found = timing.codeword_bytes;
        Err(refuse!("timing.codeword_bytes = {found} does not divide geometry.page_bytes = {page}; allowed: a divisor"))
    }

    /// Codewords of a page that a host's read can move one by one.
    fn codewords_per_page(&self) -> u32 {
        match self.timing.read_transfer {
            ReadTransfer::Page => 1,
            ReadTransfer::Codewords => {
                self.geometry.page_bytes * u32::from(self.units.per_page) / self.timing.codeword_bytes
            }
        }
    }

    /// Refuses lists of times that do not have one for each page type.
    pub(super) fn check_page_times(&self) -> Result<(), SpecError> {
        let bits = self.geometry.bits_per_cell;
        for (key, times) in [("t_r_us", &self.timing.t_r_us), ("t_prog_us", &self.timing.t_prog_us)] {
            if let NumberOrList::List(list) = times
                && list.len() != usize::from(bits)
            {
                return Err(refuse!(
                    "timing.{key} has {} entries, and geometry.bits_per_cell = {bits}; allowed: one time for all pages, \
                     or a list of {bits}, one for each page type, the least significant bit first",
                    list.len()
                ));
            }
        }
        Ok(())
    }

    /// Refuses commands that program a part of a block that does not divide it.
    pub(super) fn check_program_pages(&self) -> Result<(), SpecError> {
        let (together, pages) = (self.program.pages_per_command, self.geometry.pages_per_block);
        if (pages / self.units.per_page).is_multiple_of(together) {
            return Ok(());
        }
        Err(refuse!("program.pages_per_command = {together} does not divide the pages of a block; allowed: a divisor"))
    }

    /// tR and tPROG of the pages of a block.
    fn page_times(&self, program_factor: f64) -> PageTimes {
        let (timing, geometry) = (&self.timing, &self.geometry);
        let bits = usize::from(geometry.bits_per_cell);
        let by_type =
            |times: &NumberOrList, factor: f64| (0..bits).map(|bit| Time::from_us(times.of(bit) * factor)).collect();
        // Each mapping unit of a page has the type of its page.
        let units = self.units.per_page;
        let pages = geometry.page_types.types(geometry.bits_per_cell, geometry.pages_per_block / units);
        let types = pages.into_iter().flat_map(|of_page| std::iter::repeat_n(of_page, usize::from(units))).collect();
        let times = PageTimes::by_type(by_type(&timing.t_r_us, 1.0), by_type(&timing.t_prog_us, program_factor), types);
        times.programmed_together(geometry.pages_per_block, [self.program.pages_per_command, units])
    }

    /// The timing table of a device whose blocks have these partial blocks; `program_factor` is what the
    /// erase scheme multiplies the time of a page program by.
    pub fn flash_timing(&self, tree: PbTree, program_factor: f64) -> FlashTiming {
        let (timing, geometry) = (&self.timing, &self.geometry);
        let units = u32::from(self.units.per_page);
        let spare_bytes = self.page_spare_bytes();
        FlashTiming {
            pages: self.page_times(program_factor),
            t_bers: Time::from_us(timing.t_bers_us),
            partial_erase: partial_erase_table(tree, timing.t_bers_us, self.partial_erase.t_us.as_deref()),
            page_transfer: FlashTiming::transfer(geometry.page_bytes * units + spare_bytes, timing.channel_mb_per_s),
            spare_transfer: FlashTiming::transfer(spare_bytes, timing.channel_mb_per_s),
            units_per_page: units,
            codewords_per_page: self.codewords_per_page(),
            command_overhead: Time::from_us(timing.command_overhead_us),
            reads_ask_channel: timing.read_command == ReadCommand::Channel,
            copyback: timing.copyback,
        }
    }
}
