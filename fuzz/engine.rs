//! A seeded mutation fuzzer for stable Rust, shared by the fuzz tests of the crates.
//!
//! An input is a file of the corpus after a few random mutations, or random bytes. The same target,
//! seed and number give the same input on every machine. `FUZZ_SEED` and `FUZZ_SECONDS` (for all
//! targets together) come from the environment; without them each target runs a fixed number of
//! inputs from seed 1, as part of the ordinary tests.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Inputs of a target in the ordinary tests.
const INPUTS: u64 = 400;

/// Targets that share `FUZZ_SECONDS`.
const TARGETS: u32 = 16;

/// Longest input, in bytes.
const INPUT_MAX: usize = 16 << 10;

/// Pieces of text at which parsers of numbers, lines and TOML are apt to stumble.
const TOKENS: [&str; 40] = [
    "0",
    "1",
    "-1",
    "18446744073709551615",
    "18446744073709551616",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "0.5",
    ".5",
    "1e999",
    "-0.0",
    "nan",
    "inf",
    "1_000",
    "0x10",
    "true",
    "\"\"",
    "\"a\"",
    "[]",
    "[1, 2]",
    "{}",
    "=",
    ",",
    ".",
    "\n",
    "\r\n",
    "\t",
    " ",
    "#",
    "[ftl]",
    "preset",
    "\u{0}",
    "\u{feff}",
    "ü",
    "\u{202e}",
    "R",
    "W",
    "trim",
    "+",
];

/// Random numbers: SplitMix64.
pub struct Random(u64);

impl Random {
    /// The random numbers of one input.
    pub fn new(target: &str, seed: u64, number: u64) -> Random {
        let name = target
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut random = Random(name ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number.rotate_left(32));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// In `0..bound`; `bound` is above 0.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// An input from a corpus that is not empty.
pub fn input(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    if random.below(16) == 0 {
        return (0..random.below(600)).map(|_| random.next() as u8).collect();
    }
    let mut bytes = random.pick(corpus).clone();
    for _ in 0..random.below(6) {
        mutate(&mut bytes, corpus, random);
        bytes.truncate(INPUT_MAX);
    }
    bytes
}

fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(12)).min(bytes.len());
    match random.below(9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.next() as u8,
        2 => {
            bytes.drain(at..end);
        }
        3 => {
            bytes.splice(at..end, random.pick(&TOKENS).bytes());
        }
        4 => {
            bytes.splice(at..at, random.pick(&TOKENS).bytes());
        }
        5 => bytes.truncate(at),
        6 => {
            let again = bytes[at..].to_vec();
            bytes.extend(again);
        }
        7 => {
            let other = random.pick(corpus);
            let from = random.below(other.len() + 1);
            bytes.splice(at..end, other[from..].iter().copied());
        }
        _ => move_line(bytes, random),
    }
}

/// Swaps two lines, or doubles one.
fn move_line(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    if lines.is_empty() {
        return;
    }
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    if random.below(2) == 0 {
        lines.swap(one, other);
    } else {
        lines.insert(one, lines[other]);
    }
    *bytes = lines.concat();
}

/// Runs a target. `check` says what is wrong with the program's answer to an input; a panic is
/// always wrong. An input that fails is kept in `keep`.
///
/// # Panics
/// If any input fails; the text says how to come back to it.
pub fn run(target: &str, corpus: &[Vec<u8>], keep: &Path, check: impl Fn(&[u8], &mut Random) -> Result<(), String>) {
    let number_of = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number_of("FUZZ_SEED").unwrap_or(1);
    let deadline = number_of("FUZZ_SECONDS").map(|all| Instant::now() + Duration::from_secs(all) / TARGETS);
    let mut number = 0;
    while deadline.map_or(number < INPUTS, |deadline| Instant::now() < deadline) {
        let mut random = Random::new(target, seed, number);
        let bytes = input(corpus, &mut random);
        let fault = match catch_unwind(AssertUnwindSafe(|| check(&bytes, &mut random))) {
            Ok(Ok(())) => None,
            Ok(Err(fault)) => Some(fault),
            Err(_) => Some("panicked".to_owned()),
        };
        if let Some(fault) = fault {
            let file = keep.join(format!("fuzz-{target}-{seed}-{number}"));
            let kept =
                std::fs::write(&file, &bytes).map_or_else(|error| error.to_string(), |()| file.display().to_string());
            panic!("{target}, FUZZ_SEED={seed}, input {number}: {fault}; the input: {kept}");
        }
        number += 1;
    }
    #[allow(clippy::print_stderr, reason = "a long run says what it did")]
    if deadline.is_some() {
        eprintln!("{target}: {number} inputs from seed {seed}");
    }
}
