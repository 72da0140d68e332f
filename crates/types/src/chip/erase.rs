//! `[erase]`: the scheme of whole-block erases, its pulses, and when an erase may be suspended.

use crate::key::{ANY, ANY_US, CHOSEN, COUNT_MAX, TIMED, When, float, int};
use crate::{
    EraseMode, ErasePiece, EraseScheme, InitialMemory, LastLoop, RberRequirement, Suspension, SuspensionFor,
    WornBlockRule, keys,
};

const AERO_TABLE_2: &str = "AERO, ASPLOS'24, Table 2";

/// Erases run as a process.
const LOOPS: When = When::Is("erase.scheme", EraseScheme::WITH_LOOPS);

/// Pulses are predicted from fail bits.
const PREDICTS: When = When::Is("erase.scheme", EraseScheme::PREDICTING);

/// Erases begin shallow.
const SHALLOW: When = When::Is("erase.scheme", EraseScheme::SHALLOW);

/// Blocks have a past under a scheme that remembers whether shallow erases pay.
const REMEMBERS: When = When::All(&[SHALLOW, When::Positive("erase.initial_pec")]);

/// A power cut can take what is remembered of blocks.
const FORGETS: When =
    When::All(&[When::Is("erase.scheme", EraseScheme::REMEMBERING), When::IsNot("ftl.recovery", &["off"])]);

/// Wear or place decide over bit errors.
const LOOPS_OR_ERRORS: When = When::Any(&[LOOPS, When::On("erase.read_retry")]);

const EVER_SUSPENDED: When = When::All(&[TIMED, When::IsNot("erase.suspension", &["off"])]);

/// Erases are suspended, by a rule whose parts are keys.
const SUSPENDED: When = When::All(&[TIMED, When::IsNot("erase.suspension", &["off", "authors-code"])]);

/// A suspension interrupts a pulse or loop.
const INTERRUPTED: When = When::All(&[TIMED, When::Is("erase.suspension", &["immediate", "authors-code"])]);

const IMMEDIATE: When = When::All(&[TIMED, When::Is("erase.suspension", &["immediate"])]);

keys! {
    /// `[erase]`
    pub struct EraseKeys in "erase" {
        scheme: EraseScheme = "\"fixed\"", ANY, "", CHOSEN, When::Always,
            "How a whole block is erased." => EraseScheme::EXPLAINED;
        mode: EraseMode = "\"table\"", ANY, "", "chosen: table reproduces", LOOPS,
            "table: each scheme has the pulse times measured under it. mechanism: all schemes' rules act on one measured need.";
        initial_pec: u16 = "0", int(0, 65_535), "P/E cycles", CHOSEN, LOOPS_OR_ERRORS,
            "Program/erase cycles of every block before the run. Pulse times grow up to 5000.";
        initial_memory: InitialMemory = "\"clear\"", ANY, "", CHOSEN, REMEMBERS,
            "What AERO's controller remembers of erases before the run: clear: nothing, so it tries a shallow erase on every block once more. learned: for which blocks one does not pay. i-ispe always remembers.";
        memory_in_spare: bool = "false", ANY, "", CHOSEN, FORGETS,
            "Whether spare areas also store the scheme's memory of their block, a byte a page. Off: a power cut loses it. On: lost only for blocks under erase, or without a page that the recovery reads.";
        rber_requirement: RberRequirement = "63", int(40, 63), "bits/KiB", "AERO, ASPLOS'24, section 5.4", LOOPS,
            "Raw bit errors after a year beyond which a block is unusable: 40, 50 or 63.";
        worn_blocks: WornBlockRule = "\"used\"", ANY, "", CHOSEN, LOOPS,
            "What becomes of a block beyond rber_requirement. used: it stays in use, unreliable. retired-by-cycles: it is retired at the P/E cycles at which a mean block reaches the requirement. retired-by-errors: when the stress of its own erases has brought it there. Without a block left to write to, the device is read-only and the run ends. Needs ftl.kind = \"page\" with whole blocks as erase units.";
        endurance: Option<u32> = "", int(1, COUNT_MAX), "P/E cycles", "none: no rating", When::Always,
            "Cycles that a data sheet rates a block for. Only counted, in wear.endurance_used; blocks end by worn_blocks.";
        ecc_bits_per_kib: f64 = "72.0", float(1.0, 8192.0), "bits/KiB", "AERO, ASPLOS'24, section 5.4", LOOPS_OR_ERRORS,
            "Raw bit errors that the controller's code corrects in one KiB. Under an erase scheme that wears blocks, rber_requirement may not be above it.";
        read_retry: bool = "false", ANY, "", CHOSEN, When::Always,
            "Pages with more bit errors than erase.ecc_bits_per_kib are read again (tR and a transfer) until the code corrects the rest. Errors depend on wear and, with geometry.layers and geometry.sub_blocks, on the page's place.";
        misprediction_rate: f64 = "0.0", float(0.0, 1.0), "", "AERO, ASPLOS'24, section 7.4: none was seen", PREDICTS,
            "Chance that a pulse predicted from fail bits is one unit pulse (a seventh of t_ep_us) short.";
        max_loops: u8 = "5", int(1, 5), "loops", "AERO, ASPLOS'24, section 3.2", When::Always,
            "Erase loops after which an erase has failed and its block is retired. Five erase every measured block; fewer need ftl.kind = \"page\".";
        last_loop: LastLoop = "\"at-once\"", ANY, "", CHOSEN, When::All(&[TIMED, LOOPS]),
            "When the last loop of a block erase runs. at-once: behind the others. first-write: before the first program of the block, as in the simulator of AERO's authors (true_lazy_erase); an oracle under schemes that do not predict pulses.";
        t_ep_us: f64 = "3500.0", float(0.007, 1e9), "us", AERO_TABLE_2, LOOPS,
            "Erase pulse of one loop. Its seventh is the unit pulse, 0.5 ms, in which pulse times are measured.";
        t_vr_us: f64 = "100.0", ANY_US, "us", "AERO, ASPLOS'24, section 3.2", LOOPS,
            "Verify read after each pulse.";
        t_feature_us: f64 = "0.0", ANY_US, "us", "chosen: AERO, ASPLOS'24, section 6 uses the commands and prints no time; ONFI bounds them by 1 us", PREDICTS,
            "GET FEATURE, which reads the fail bits behind a verify read, and SET FEATURE, which sets the time of the pulse that follows: each takes so long.";
        t_se_us: f64 = "1000.0", float(0.001, 1e9), "us", AERO_TABLE_2, SHALLOW,
            "Shallow erase that begins an erase under the schemes of AERO; one to six sevenths of t_ep_us.";
        gamma: u32 = "500", int(1, COUNT_MAX), "fail bits", "chosen: a tenth of delta; AERO, ASPLOS'24, section 5.2 prints gamma << delta", PREDICTS,
            "Most fail bits with one unit pulse to go. No erase time depends on gamma and delta, because controller and chip share them.";
        delta: u32 = "5000", int(2, 100_000_000), "fail bits", "AERO, ASPLOS'24, section 5.2", PREDICTS,
            "Fail bits that one unit pulse takes away.";
        suspension: Suspension = "\"off\"", ANY, "", CHOSEN, TIMED,
            "Where host reads suspend an erase (needs host.read_priority = true). loop: after each verify read. pulse: after each unit pulse and verify read. capped: as pulse, until the erase was suspended max_suspensions times or its block is needed. immediate: at once; the interrupted pulse or loop begins again. authors-code, as in the simulator of AERO's authors: in 100 us, then the whole loop again; not with less than 700 us of it left, and never in the last loop (an oracle under ispe).";
        suspension_for: SuspensionFor = "\"reads\"", ANY, "", CHOSEN, EVER_SUSPENDED,
            "What suspends an erase. reads: host reads. reads-and-writes: also programs of host writes, and their reads of old copies, that are queued directly behind the erase and do not need its block.";
        suspension_restart: ErasePiece = "\"loop\"", ANY, "", CHOSEN, IMMEDIATE,
            "What begins again under suspension = \"immediate\": the interrupted unit pulse or verify read, or the whole loop.";
        suspension_guard_us: f64 = "0.0", ANY_US, "us", CHOSEN, IMMEDIATE,
            "A pulse or loop with less than this left is not interrupted but goes on to its end.";
        suspension_max_restarts: u32 = "10", int(0, COUNT_MAX), "", CHOSEN, INTERRUPTED,
            "Times that one pulse or loop begins again; then it goes on to its end, so every erase ends.";
        protected_loops: u8 = "0", int(0, 255), "loops", CHOSEN, SUSPENDED,
            "Last loops of an erase that are never suspended; a shallow erase counts as one. Under schemes that do not predict pulses this is an oracle: a controller learns only from the verify read which loop was the last.";
        suspend_us: f64 = "0.0", ANY_US, "us", "chosen: between pulses no voltage is to be taken down", SUSPENDED,
            "Time from the stop of the erase until the die takes a read.";
        resume_us: f64 = "0.0", ANY_US, "us", "chosen, as suspend_us", SUSPENDED,
            "Time until a suspended erase goes on.";
        max_suspensions: u32 = "10", int(0, COUNT_MAX), "", CHOSEN, When::All(&[TIMED, When::Is("erase.suspension", &["capped"])]),
            "Suspensions of one erase under suspension = \"capped\".";
    }
}
