//! Seeded calls in any order, with null pointers, wrong versions, buffers of any length and addresses that do not
//! exist. No call may crash; a call that is refused changes nothing; what was programmed is what is read.
//!
//! `FUZZ_SEED` and `FUZZ_SECONDS` (for all fuzz targets together) choose other calls, and more of them. `make miri` runs
//! the tests without whole simulations under Miri, with fewer calls.

#[path = "fuzz/device.rs"]
mod device;
#[path = "fuzz/plugins.rs"]
mod plugins;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use pumice_capi::chip::*;
use pumice_chip::ChipSnapshot;
use pumice_types::Draw;

const PAGES: u32 = 16;
const BLOCKS: u32 = 8;
const PAGE: usize = 512;
const OOB: usize = 16;

const SPEC: &str = "
    [geometry]
    channels = 1
    chips_per_channel = 1
    dies_per_chip = 1
    planes_per_die = 2
    blocks_per_plane = 4
    pages_per_block = 16
    page_bytes = 512
    spare_bytes = 16
    bad_blocks_per_plane = 1
    [partial_erase]
    max_splits = 2
";

/// Targets of all fuzz tests, which share `FUZZ_SECONDS`; the others are in the folder `fuzz`.
const TARGETS: u32 = 19;

fn seed() -> u64 {
    std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

fn seconds() -> Option<u64> {
    std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok())
}

/// Miri is some thousand times slower. It looks for accesses of memory that are not allowed, and needs no rare ends for
/// that. So tests make so much fewer calls under it.
const FEWER: u64 = if cfg!(miri) { 200 } else { 1 };

/// Calls of one chip.
const STEPS: u64 = if cfg!(miri) { 100 } else { 4_000 };

/// The seed, and how many rounds a test makes that makes so many unless seconds are given, in each of which it gets about
/// as many done.
fn chosen(rounds: u64) -> (u64, u64) {
    let rounds = rounds / FEWER;
    (seed(), rounds.max(seconds().unwrap_or(0) * rounds / u64::from(TARGETS)))
}

/// Random numbers, one after the other.
struct Random {
    draw: Draw,
    place: u64,
}

impl Random {
    fn new(seed: u64) -> Random {
        Random { draw: Draw::new(seed, "fuzz-chip"), place: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.place += 1;
        self.draw.bits(self.place) % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A block or page, now and then one that does not exist.
    fn index(&mut self, count: u32) -> u32 {
        match self.below(40) {
            0 => count,
            1 => u32::MAX,
            _ => self.below(u64::from(count)) as u32,
        }
    }
}

/// Refusals that the caller's function was told of.
unsafe extern "C" fn count_refusals(context: *mut c_void, status: c_int, text: *const c_char) {
    assert!(status == ChipStatus::Refused as c_int || status == ChipStatus::Misuse as c_int);
    // SAFETY: the interface hands over a text that ends with a 0, and the counter that the test gave it.
    unsafe {
        assert!(!CStr::from_ptr(text).is_empty());
        *context.cast::<u64>() += 1;
    }
}

fn options(spec: &CStr, refusals: *mut u64) -> ChipOptions {
    ChipOptions {
        version: CHIP_VERSION.code(),
        size: size_of::<ChipOptions>() as u32,
        preset: null(),
        spec: spec.as_ptr(),
        spec_name: null(),
        on_refusal: Some(count_refusals),
        context: refusals.cast(),
        page_programs: 0,
        pair_distance: 0,
        illegal: 0,
        reserved: 0,
    }
}

fn open(options: &ChipOptions) -> (c_int, *mut ChipHandle, String) {
    let mut chip = null_mut();
    let mut message = [1; 1000];
    // SAFETY: all pointers are to live variables of the right lengths.
    let status = unsafe { pumice_chip_open(options, &raw mut chip, message.as_mut_ptr(), message.len()) };
    let text = if status == 0 { String::new() } else { text(message.as_ptr()) };
    (status, chip, text)
}

fn text(text: *const c_char) -> String {
    // SAFETY: every text of the interface ends with a 0.
    unsafe { CStr::from_ptr(text) }.to_str().expect("UTF-8").to_string()
}

fn counts(chip: *mut ChipHandle) -> CChipCounts {
    let mut counts = CChipCounts { size: size_of::<CChipCounts>() as u32, ..CChipCounts::default() };
    // SAFETY: an open chip, and a struct of the size that it says.
    assert_eq!(unsafe { pumice_chip_get_counts(chip, &raw mut counts) }, 0);
    counts
}

/// A chip under random calls, and what its pages must return.
struct Fuzzed {
    random: Random,
    chip: *mut ChipHandle,
    snapshot: *mut ChipSnapshot,
    /// First byte of the pages that were programmed and that nothing has touched since.
    known: BTreeMap<(u32, u32), u8>,
    /// The page whose program met the last cut, and where every fourth read goes.
    torn: (u32, u32),
    /// What `known` held when the snapshot was taken.
    known_then: BTreeMap<(u32, u32), u8>,
    statuses: [u64; 9],
}

impl Fuzzed {
    /// One random call. Returns its status.
    fn step(&mut self) -> c_int {
        let (block, page) = (self.random.index(BLOCKS), self.random.index(PAGES));
        let chip = if self.random.one_in(100) { null_mut() } else { self.chip };
        let kind = self.random.below(22);
        // SAFETY: the chip is null or open, pointers are null or to live memory of the lengths given.
        unsafe {
            match kind {
                0..=6 => self.program(chip, block, page),
                7..=9 => self.read(chip, block, page),
                10 => {
                    let to = (self.random.index(BLOCKS), self.random.index(PAGES));
                    let status = pumice_chip_copy(chip, block, page, to.0, to.1, null(), 0);
                    if status != ChipStatus::Refused as c_int {
                        self.known.remove(&to);
                    }
                    status
                }
                11..=12 => self.erased(block, pumice_chip_erase(chip, block)),
                13 => {
                    let pb = self.random.index(10);
                    self.erased(block, pumice_chip_erase_partial(chip, block, pb))
                }
                14 => pumice_chip_erase_sub_blocks(chip, block, page),
                15 => {
                    let leaves = self.random.below(7) as c_int - 1;
                    pumice_chip_cut_after(chip, self.random.below(20), leaves)
                }
                16 => pumice_chip_power_on(chip),
                17 => {
                    let mut blank = 7;
                    let place = if self.random.one_in(5) { null_mut() } else { &raw mut blank };
                    pumice_chip_is_blank(chip, block, page, place)
                }
                18 => self.rare(chip, block),
                19 => self.snapshot(chip),
                20 => pumice_chip_settle(chip),
                _ => pumice_chip_wait(chip, self.random.below(1_000_000)),
            }
        }
    }

    /// A length for a buffer of `bytes`: often all of it, now and then more than a page has.
    fn length(&mut self, bytes: usize) -> usize {
        match self.random.below(8) {
            0 => 0,
            1 => bytes + 1,
            2 => self.random.below(bytes as u64) as usize,
            _ => bytes,
        }
    }

    unsafe fn program(&mut self, chip: *mut ChipHandle, block: u32, page: u32) -> c_int {
        let value = self.random.below(256) as u8;
        let (data, oob) = ([value; PAGE + 1], [value; OOB + 1]);
        let (data_bytes, oob_bytes) = (self.length(PAGE), self.length(OOB));
        let data_start = if self.random.one_in(30) { null() } else { data.as_ptr().cast() };
        // SAFETY: the buffers are longer than any length here.
        let status =
            unsafe { pumice_chip_program(chip, block, page, data_start, data_bytes, oob.as_ptr().cast(), oob_bytes) };
        match ChipStatus::Ok as c_int {
            ok if status == ok && data_bytes > 0 => drop(self.known.insert((block, page), value)),
            ok if status == ok => drop(self.known.insert((block, page), 0xff)),
            _ if status == ChipStatus::Refused as c_int || status == ChipStatus::Misuse as c_int => {}
            _ => {
                self.known.remove(&(block, page));
                self.torn = (block, page);
            }
        }
        status
    }

    unsafe fn read(&mut self, chip: *mut ChipHandle, block: u32, page: u32) -> c_int {
        let (block, page) = if self.random.one_in(4) { self.torn } else { (block, page) };
        let mut data = [0_u8; PAGE + 1];
        let mut oob = [0_u8; OOB + 1];
        let (data_bytes, oob_bytes) = (self.length(PAGE), self.length(OOB));
        let start = data.as_mut_ptr();
        let data_start: *mut c_void = if self.random.one_in(30) { null_mut() } else { start.cast() };
        let oob_start: *mut c_void = match self.random.below(30) {
            // Inside the other buffer.
            0 => start.wrapping_add(5).cast(),
            _ => oob.as_mut_ptr().cast(),
        };
        // SAFETY: the buffers are longer than any length here; the interface refuses those that overlap.
        let status = unsafe { pumice_chip_read(chip, block, page, data_start, data_bytes, oob_start, oob_bytes) };
        if status == ChipStatus::Ok as c_int && data_bytes > 0 && !data_start.is_null() {
            if let Some(&value) = self.known.get(&(block, page)) {
                assert_eq!(data[0], value, "block {block} page {page}");
            }
            assert!(data[data_bytes..].iter().all(|&byte| byte == 0), "nothing beyond the length is written");
        }
        status
    }

    /// After an erase of a part of a block, whatever came of it, nothing is known of the block.
    fn erased(&mut self, block: u32, status: c_int) -> c_int {
        if status != ChipStatus::Refused as c_int {
            self.known.retain(|&(of, _), _| of != block);
        }
        status
    }

    unsafe fn rare(&mut self, chip: *mut ChipHandle, block: u32) -> c_int {
        // SAFETY: as for every step.
        unsafe {
            match self.random.below(18) {
                0 => pumice_chip_mark_bad(chip, block),
                1 => pumice_chip_grow_bad(chip, block),
                2 => pumice_chip_power_off(chip),
                3 => pumice_chip_cancel_cut(chip),
                4 => pumice_chip_get_info(chip, null_mut()),
                5 => {
                    let mut small = CChipInfo { size: self.random.below(12) as u32, ..CChipInfo::default() };
                    let status = pumice_chip_get_info(chip, &raw mut small);
                    assert_eq!(small.page_bytes, 0, "members beyond the size are not written");
                    status
                }
                6 => pumice_chip_get_erases(chip, block, 0, null_mut()),
                7 => pumice_chip_is_bad(chip, block, null_mut()),
                8 => pumice_chip_read_oob(chip, block, 0, null_mut(), OOB),
                9 => pumice_chip_read_raw(chip, block, 0, null_mut(), usize::MAX, null_mut(), 0),
                10 => pumice_chip_read_at(chip, block, 0, usize::MAX, null_mut(), 0),
                11 => pumice_chip_read_at(chip, block, 0, 1, null_mut(), 8),
                12 => pumice_chip_program_at(chip, block, 0, usize::MAX, null_mut(), 0),
                13 => pumice_chip_save(chip, null()),
                14 => pumice_chip_load(chip, c"no such file".as_ptr()),
                15 => pumice_chip_draw_from(chip, self.random.below(3)),
                _ => pumice_chip_read_raw(chip, block, 0, null_mut(), 0, null_mut(), 0),
            }
        }
    }

    unsafe fn snapshot(&mut self, chip: *mut ChipHandle) -> c_int {
        // SAFETY: as for every step; the snapshot is null or was taken and not freed.
        unsafe {
            if self.random.one_in(2) {
                let status = pumice_chip_snapshot_restore(chip, self.snapshot);
                if status == ChipStatus::Ok as c_int {
                    self.known = self.known_then.clone();
                }
                return status;
            }
            pumice_chip_snapshot_free(&raw mut self.snapshot);
            assert!(self.snapshot.is_null());
            let status = pumice_chip_snapshot_take(chip, &raw mut self.snapshot);
            self.known_then = self.known.clone();
            status
        }
    }
}

/// Random calls on a chip of its own until `goes_on` says no. Returns how often each status came.
fn run(seed: u64, mut goes_on: impl FnMut(u64) -> bool) -> [u64; 9] {
    let spec = CString::new(format!("seed = {}\n{SPEC}", seed % 1000)).expect("no 0");
    let mut refusals = 0;
    let (status, chip, message) = open(&options(&spec, &raw mut refusals));
    assert_eq!(status, 0, "{message}");
    let (known, known_then, random, statuses) = (BTreeMap::new(), BTreeMap::new(), Random::new(seed), [0; 9]);
    let mut fuzzed = Fuzzed { random, chip, snapshot: null_mut(), known, torn: (0, 0), known_then, statuses };
    let mut told = 0;
    for nth in 0.. {
        if !goes_on(nth) {
            break;
        }
        let before = counts(chip);
        let status = fuzzed.step();
        let slot = fuzzed.statuses.get_mut(status as usize).expect("a status of the header");
        *slot += 1;
        assert_ne!(status, ChipStatus::Internal as c_int, "seed {seed}, step {nth}");
        if status == ChipStatus::Refused as c_int || status == ChipStatus::Misuse as c_int {
            let mut after = counts(chip);
            after.counts.illegal = before.counts.illegal;
            assert_eq!(format!("{before:?}"), format!("{after:?}"), "a refusal changes nothing, but is counted");
            told += 1;
        }
    }
    // SAFETY: open handles that are closed once; closing null does nothing.
    unsafe {
        let mut chip = fuzzed.chip;
        pumice_chip_close(&raw mut chip);
        assert!(chip.is_null());
        pumice_chip_close(&raw mut chip);
        pumice_chip_close(null_mut());
        pumice_chip_snapshot_free(&raw mut fuzzed.snapshot);
        pumice_chip_snapshot_free(null_mut());
    }
    assert!(refusals <= told && refusals > told / 2, "the caller's function is told, unless there was no chip");
    fuzzed.statuses
}

#[test]
fn t073_no_calls_in_any_order_crash_the_library_or_make_it_forget() {
    let (seed, seconds) = (seed(), seconds());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds) / TARGETS);
    let mut statuses = [0; 9];
    for round in 0.. {
        let found = run(seed + round, |nth| nth < STEPS);
        statuses.iter_mut().zip(found).for_each(|(all, one)| *all += one);
        if end.map_or(round >= 20, |end| Instant::now() >= end) {
            break;
        }
    }
    let [done, refused, uncorrectable, failed, power_lost, misuse, ..] = statuses;
    let all = [done, refused, uncorrectable, failed, power_lost, misuse];
    // A run of a chosen length may be too short for that.
    assert!(
        end.is_some() || cfg!(miri) || all.iter().all(|&count| count > 100),
        "every kind of end is met: {statuses:?}"
    );
}

#[test]
fn t074_what_is_no_chip_is_not_opened() {
    let spec = CString::new(SPEC).expect("no 0");
    let good = options(&spec, null_mut());
    let not_utf8 = CString::new(b"\xff\xfe".to_vec()).expect("no 0");
    let misspelt = CString::new("[geometry]\nchanels = 2").expect("no 0");
    let version = CHIP_VERSION.code();
    let cases = [
        (ChipOptions { version: version + (1 << 16), ..good }, ChipStatus::BadVersion, "version 2.1 was asked for"),
        (ChipOptions { version: version + 1, ..good }, ChipStatus::BadVersion, "version 1.2 was asked for"),
        (ChipOptions { version: 0, ..good }, ChipStatus::BadVersion, "version 0.0 was asked for"),
        (ChipOptions { size: 8, ..good }, ChipStatus::Misuse, "options has 8 bytes"),
        (ChipOptions { illegal: 2, ..good }, ChipStatus::Misuse, "illegal = 2 is no enum pumice_chip_illegal"),
        (ChipOptions { pair_distance: 9999, ..good }, ChipStatus::BadSpec, "pair_distance = 9999 is not allowed"),
        (ChipOptions { spec: not_utf8.as_ptr(), ..good }, ChipStatus::Misuse, "spec is not UTF-8"),
        (ChipOptions { preset: c"tini".as_ptr(), ..good }, ChipStatus::BadSpec, "nearest: \"tiny\""),
        (ChipOptions { spec: misspelt.as_ptr(), ..good }, ChipStatus::BadSpec, "spec:2: unknown key"),
        (
            ChipOptions { spec: misspelt.as_ptr(), spec_name: c"my.toml".as_ptr(), ..good },
            ChipStatus::BadSpec,
            "my.toml:2: unknown key 'geometry.chanels'; nearest valid key: 'geometry.channels'",
        ),
    ];
    // A caller of version 1.0 has shorter options; what lies behind them is not read.
    let oldest = std::mem::offset_of!(ChipOptions, page_programs) as u32;
    let (status, mut chip, message) = open(&ChipOptions { size: oldest, version: version - 1, illegal: 9, ..good });
    assert_eq!((status, message.as_str()), (0, ""));
    // SAFETY: an open chip.
    unsafe { pumice_chip_close(&raw mut chip) };
    for (options, expected, part) in cases {
        let (status, chip, message) = open(&options);
        assert_eq!(status, expected as c_int, "{message}");
        assert!(chip.is_null() && message.contains(part), "{message}");
    }
    let mut message = [1; 8];
    // SAFETY: null pointers are allowed, and the message is as long as it says.
    unsafe {
        assert_eq!(pumice_chip_open(null(), &mut null_mut(), message.as_mut_ptr(), 8), ChipStatus::Misuse as c_int);
        assert_eq!(text(message.as_ptr()), "options");
        assert_eq!(pumice_chip_open(&raw const good, null_mut(), null_mut(), 0), ChipStatus::Misuse as c_int);
        assert!(!text(pumice_chip_message(null())).is_empty());
    }
}
