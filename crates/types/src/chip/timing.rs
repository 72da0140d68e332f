//! `[timing]`: how long the chips take, and the channel.

use crate::key::{ANY, ANY_US, CHOSEN, PEN_TABLE_1, TIMED, When, float};
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
        multi_plane: MultiPlane = "\"off\"", ANY, "", CHOSEN, TIMED,
            "Which commands of a die that read, or program, one page number of several of its planes, or erase a block in each of several, run as one command: their array times are one, that of the slowest plane. off: none. neighbours: those next to each other in the die's queue. queue: the oldest, with commands from anywhere in the queue that lie in other planes and may overtake what is before them; copies program together with other copies, and with host writes unless they are copybacks.";
    }
}

impl ChipKeys {
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
            command_overhead: Time::from_us(timing.command_overhead_us),
            copyback: timing.copyback,
        }
    }
}
