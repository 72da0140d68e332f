//! `[timing]`: how long the chips take, and the channel.

use crate::key::{ANY, ANY_US, CHOSEN, PEN_TABLE_1, TIMED, When, float, int};
use crate::timing::partial_erase_table;
use crate::{FlashTiming, PbTree, Time, choice, keys};

use super::ChipKeys;

choice! {
    /// Which commands of a die may run together, each in a plane of its own.
    pub enum MultiPlane {
        /// None: one command at a time.
        Off = "off",
        /// Commands that stand next to each other in the die's queue.
        Neighbours = "neighbours",
        /// The command that is due, and commands from anywhere in the queue of the other planes.
        Queue = "queue",
    }
}

choice! {
    /// How much of a page a read moves over the channel.
    pub enum ReadTransfer {
        /// All of it.
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

keys! {
    /// `[timing]`
    pub struct TimingKeys in "timing" {
        t_r_us: f64 = "70.0", ANY_US, "us", PEN_TABLE_1, When::Always,
            "Page read into the die's register, tR.";
        t_prog_us: f64 = "900.0", ANY_US, "us", PEN_TABLE_1, When::Always,
            "Page program, tPROG.";
        t_bers_us: f64 = "10000.0", ANY_US, "us", PEN_TABLE_1, When::Always,
            "Whole-block erase, tBERS.";
        channel_mb_per_s: f64 = "400.0", float(0.001, 1e6), "10^6 bytes/s", "chosen: PEN prints none", When::Always,
            "Transfer rate of a channel. No value turns transfer time off.";
        copyback: bool = "true", ANY, "", "PEN's arithmetic counts no transfer for a copy", When::Always,
            "Copies inside a plane stay on the die. Off: a copy moves its page over the channel out and in again.";
        command_overhead_us: f64 = "0.0", ANY_US, "us", CHOSEN, When::Always,
            "Command and address cycles on the channel, before each transfer.";
        read_transfer: ReadTransfer = "\"page\"", ANY, "", "chosen: the papers count whole pages", TIMED,
            "How much of a page a read for the host moves over the channel. page: all of it, with its spare bytes. codewords: the codewords that hold what is asked for, each with its share of the spare bytes; collection moves whole pages all the same.";
        codeword_bytes: u32 = "4096", int(512, 1 << 20), "bytes", "chosen: codes of 1 to 4 KiB are usual", CODEWORDS,
            "Data bytes of a codeword of the error-correcting code; a divisor of geometry.page_bytes.";
        read_command: ReadCommand = "\"at-once\"", ANY, "", CHOSEN, TIMED,
            "When the command of a page read, or of a copy through the controller, reaches its die. at-once: as soon as the die is free, also while the channel carries data of other dies. channel: when the channel has carried all that asked for it before, read data that waits included.";
        multi_plane: MultiPlane = "\"off\"", ANY, "", CHOSEN, TIMED,
            "Which commands of a die that read, or program, one page number of several of its planes, or erase a block in each of several, run as one command: their array times are one, that of the slowest plane. off: none. neighbours: those next to each other in the die's queue. queue: the oldest, with commands from anywhere in the queue that lie in other planes and may overtake what is before them; copies program together with other copies, and with host writes unless they are copybacks; host reads of the page number that a copy through the controller reads are sensed with it.";
    }
}

impl ChipKeys {
    /// Refuses codewords that do not fill a page.
    pub(super) fn check_codewords(&self) -> Result<(), String> {
        let (timing, page) = (&self.timing, self.geometry.page_bytes);
        if timing.read_transfer == ReadTransfer::Page || page.is_multiple_of(timing.codeword_bytes) {
            return Ok(());
        }
        let found = timing.codeword_bytes;
        Err(format!("timing.codeword_bytes = {found} does not divide geometry.page_bytes = {page}; allowed: a divisor"))
    }

    /// Codewords of a page that a host's read can move one by one.
    fn codewords_per_page(&self) -> u32 {
        match self.timing.read_transfer {
            ReadTransfer::Page => 1,
            ReadTransfer::Codewords => self.geometry.page_bytes / self.timing.codeword_bytes,
        }
    }

    /// The timing table of a device whose blocks have these partial blocks; `program_factor` is what the
    /// erase scheme multiplies the time of a page program by.
    pub fn flash_timing(&self, tree: PbTree, program_factor: f64) -> FlashTiming {
        let (timing, geometry) = (&self.timing, &self.geometry);
        FlashTiming {
            t_r: Time::from_us(timing.t_r_us),
            t_prog: Time::from_us(timing.t_prog_us * program_factor),
            t_bers: Time::from_us(timing.t_bers_us),
            partial_erase: partial_erase_table(tree, timing.t_bers_us, self.partial_erase.t_us.as_deref()),
            page_transfer: FlashTiming::transfer(geometry.page_bytes + geometry.spare_bytes, timing.channel_mb_per_s),
            spare_transfer: FlashTiming::transfer(geometry.spare_bytes, timing.channel_mb_per_s),
            codewords_per_page: self.codewords_per_page(),
            command_overhead: Time::from_us(timing.command_overhead_us),
            reads_ask_channel: timing.read_command == ReadCommand::Channel,
            copyback: timing.copyback,
        }
    }
}
