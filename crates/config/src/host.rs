//! `[host]`: how requests come to the device.

use pumice_types::key::{ANY, ANY_US, CHOSEN, COUNT_MAX, TIMED, When, float, int};
use pumice_types::{choice, keys};

choice! {
    /// What paces the requests.
    pub enum HostMode {
        /// The workload's clock.
        OpenLoop = "open-loop",
        /// Completions: a fixed number of requests is always outstanding.
        ClosedLoop = "closed-loop",
    }
}

choice! {
    /// When buffered pages are programmed.
    pub enum FlushPolicy {
        /// At once; the buffer only decouples the host from the flash.
        Eager = "eager",
        /// Least recently written first, while more than three quarters of the buffer wait for it.
        Lru = "lru",
        /// As `Lru`, and the host's own flushes change nothing: the drive lies about them.
        Ignored = "ignored",
    }
}

choice! {
    /// What a write of part of a page does first.
    pub enum PartialPage {
        /// The write reads the old copy.
        Rmw = "rmw",
        /// Nothing: the whole page is programmed.
        WholePage = "whole-page",
    }
}

const CLOSED_LOOP: When = When::All(&[TIMED, When::Is("host.mode", &["closed-loop"])]);
const READS_FIRST: When = When::All(&[TIMED, When::On("host.read_priority")]);
const OPEN_LOOP: When = When::All(&[TIMED, When::Is("host.mode", &["open-loop"])]);

/// Largest write buffer, in KiB: 64 GiB.
const BUFFER_KIB_MAX: i64 = 1 << 26;

keys! {
    /// `[host]`
    pub struct HostKeys in "host" {
        mode: HostMode = "\"open-loop\"", ANY, "", CHOSEN, TIMED,
            "open-loop: requests arrive by the workload's clock. closed-loop: a fixed number is always outstanding.";
        queue_depth: u32 = "1", int(1, 65536), "requests", CHOSEN, CLOSED_LOOP,
            "Requests outstanding in each queue of a closed loop.";
        queues: u32 = "1", int(1, 65536), "queues", CHOSEN, CLOSED_LOOP,
            "Queues of a closed loop, served in turn: queues x queue_depth requests are outstanding.";
        speedup: f64 = "1.0", float(1e-6, 1e9), "", CHOSEN, OPEN_LOOP,
            "Arrival times are divided by this (open loop).";
        write_buffer_kib: u64 = "0", int(0, BUFFER_KIB_MAX), "KiB", "PEN and the 2006 papers know none", When::Always,
            "DRAM that holds written pages until they are programmed; a write is done when stored there. 0: none; else whole pages, rounded down.";
        flush: FlushPolicy = "\"eager\"", ANY, "", CHOSEN, When::Positive("host.write_buffer_kib"),
            "When buffered pages are programmed. eager: at once. lru: least recently written first, while the buffer is over three quarters full. ignored: as lru, but flushes and force unit access are acknowledged without a program, as by drives that lie.";
        link_mb_per_s: Option<f64> = "", float(0.001, 1e6), "10^6 bytes/s", "no time on the link", TIMED,
            "Rate of the link to the host in each direction. Absent: it costs no time.";
        overhead_us: f64 = "0.0", ANY_US, "us", CHOSEN, TIMED,
            "Fixed time that the controller takes for each request before it starts.";
        partial_page: PartialPage = "\"rmw\"", ANY, "", "chosen: what a drive with a map entry a page must do", When::Requests,
            "Writes of part of a page. rmw: the old copy is read first, unless the write buffer holds the rest. whole-page: the page is programmed, nothing is read first.";
        read_priority: bool = "false", ANY, "", CHOSEN, TIMED,
            "Host reads overtake everything on their die that has not started; a blocking merge that has started runs to its end. Reads that search spare areas first keep their place.";
        read_tokens: u32 = "0", int(0, COUNT_MAX), "read commands", CHOSEN, READS_FIRST,
            "Read commands (batches of them with timing.plane_reads = \"batch\") in a row that read_priority lets go before work that waits on their die; then a piece of that work runs. 0: no limit. The simulator of AERO's authors has 2.";
    }
}
