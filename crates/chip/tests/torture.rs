//! Torture of firmware whose faults are known: each is found, at the cut where it shows, and sound firmware passes.

use std::collections::BTreeSet;

use pumice_chip::torture::{Case, CaseFailure, Complaint, Firmware, Then, Torture, TorturePhase, TorturePlan};
use pumice_chip::{Chip, ChipFailure, CutOutcome};
use pumice_config::SpecSource;
use pumice_types::{BlockId, Choice, PageAddress};

const SPEC: &str = "
    [geometry]
    channels = 1
    chips_per_channel = 1
    dies_per_chip = 1
    planes_per_die = 1
    blocks_per_plane = 8
    pages_per_block = 16
    page_bytes = 512
    spare_bytes = 16
    program_order = \"in-order\"
    [partial_erase]
    unit = \"none\"
";

/// What the firmware does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// Erases the old block before it has written the new one.
    ErasesFirst,
    /// Believes a page that reads well after a cut, and erases all other blocks.
    Trusts,
    /// Gives up when a program fails.
    GivesUp,
    /// Does something else the first time.
    Wanders,
}

/// A counter: each step programs its number, into a new block for each four.
struct Counter {
    chip: Chip,
    fault: Fault,
    value: u64,
    place: Option<(u32, u16)>,
    runs: u64,
}

impl Counter {
    fn new(fault: Fault) -> Counter {
        let source = SpecSource { spec_text: Some(SPEC.into()), ..SpecSource::default() };
        let chip = Chip::open(&source).unwrap_or_else(|error| panic!("{error}"));
        Counter { chip, fault, value: 0, place: None, runs: 0 }
    }

    fn number_at(&mut self, block: u32, page: u16) -> Option<u64> {
        let mut data = [0; 8];
        self.chip.read(PageAddress::new(BlockId(block), page), &mut data, &mut []).ok()?;
        Some(u64::from_le_bytes(data))
    }

    /// Programs a number into a fresh block, and another if that goes bad; then erases the old one.
    fn renew(&mut self, value: u64) -> Result<(), ChipFailure> {
        let old = self.place.map(|(block, _)| block);
        if let Some(old) = old.filter(|_| self.fault == Fault::ErasesFirst) {
            self.chip.erase(BlockId(old))?;
        }
        let first = old.map_or(0, |block| block + 1);
        for block in (0..8).map(|nth| (first + nth) % 8).filter(|&block| Some(block) != old) {
            let address = PageAddress::new(BlockId(block), 0);
            let written =
                self.chip.erase(BlockId(block)).and_then(|()| self.chip.program(address, &value.to_le_bytes(), &[]));
            match written {
                Ok(()) => {
                    self.place = Some((block, 0));
                    if let Some(old) = old.filter(|_| self.fault != Fault::ErasesFirst) {
                        // A block that cannot be erased any more holds nothing newer.
                        let erased = self.chip.erase(BlockId(old));
                        return if erased == Err(ChipFailure::PowerLost) { erased } else { Ok(()) };
                    }
                    return Ok(());
                }
                Err(ChipFailure::PowerLost) => return written,
                Err(_) if self.fault == Fault::GivesUp => return written,
                Err(_) => {}
            }
        }
        Err(ChipFailure::Usage("no block is left".into()))
    }
}

/// A block that is going bad is not used.
fn unless_power_lost(failure: ChipFailure) -> Result<(), ChipFailure> {
    if failure == ChipFailure::PowerLost { Err(failure) } else { Ok(()) }
}

fn said(failure: ChipFailure) -> Complaint {
    Complaint(failure.to_string())
}

impl Firmware for Counter {
    fn with_chip<T>(&mut self, work: impl FnOnce(&mut Chip) -> T) -> T {
        work(&mut self.chip)
    }

    fn start(&mut self) -> Result<(), Complaint> {
        Ok(())
    }

    fn stop(&mut self) {
        (self.value, self.place) = (0, None);
    }

    fn format(&mut self) -> Result<(), Complaint> {
        Ok(())
    }

    fn mount(&mut self) -> Result<(), Complaint> {
        self.runs += 1;
        for block in 0..8 {
            for page in 0..16 {
                if let Some(value) = self.number_at(block, page).filter(|&value| value >= self.value) {
                    (self.value, self.place) = (value, Some((block, page)));
                }
            }
        }
        let Some((found, _)) = self.place else { return Ok(()) };
        if self.fault == Fault::Trusts {
            for block in (0..8).filter(|&block| block != found) {
                self.chip.erase(BlockId(block)).or_else(unless_power_lost).map_err(said)?;
            }
            return Ok(());
        }
        // What was just read may fail later: it is written anew.
        self.renew(self.value).map_err(said)
    }

    fn work(&mut self, step: u64) -> Result<(), Complaint> {
        if self.fault == Fault::Wanders && self.runs < 2 {
            self.renew(step + 1).map_err(said)?;
        }
        let next = self.place.filter(|&(_, page)| page < 3).map(|(block, page)| (block, page + 1));
        let written = next.map(|(block, page)| {
            let address = PageAddress::new(BlockId(block), page);
            self.chip.program(address, &(step + 1).to_le_bytes(), &[]).map(|()| self.place = next)
        });
        match written {
            Some(Ok(())) => {}
            Some(Err(failure @ ChipFailure::PowerLost)) => return Err(said(failure)),
            Some(Err(failure)) if self.fault == Fault::GivesUp => return Err(said(failure)),
            _ => self.renew(step + 1).map_err(said)?,
        }
        self.value = step + 1;
        Ok(())
    }

    fn check(&mut self, done: u64) -> Result<(), Complaint> {
        let right = self.value == done || self.value == done + 1;
        if right { Ok(()) } else { Err(Complaint(format!("{} after {done} steps", self.value))) }
    }
}

fn plan() -> TorturePlan {
    let (leaves, then) = (CutOutcome::ALL.to_vec(), Then::ALL.to_vec());
    TorturePlan { seed: 1, steps: 14, after: 4, leaves, then, draws: 2, fails: 5 }
}

fn tortured(fault: Fault) -> (Torture<Counter>, Vec<CaseFailure>, u64) {
    let mut early = Vec::new();
    let mut torture = Torture::new(Counter::new(fault), plan(), |finding| early.push(finding)).expect("it runs");
    let (mut found, mut begun) = (early, 0);
    let mut begins = |number| {
        assert_eq!(number, begun, "every case once, in order");
        begun += 1;
        true
    };
    torture.try_cases(0..u64::MAX, &mut begins, &mut |finding| found.push(finding)).expect("the same each time");
    (torture, found, begun)
}

#[test]
fn t157_sound_firmware_passes_every_cut_with_every_leftover_and_all_that_follows() {
    let (torture, found, begun) = tortured(Fault::Nothing);
    assert_eq!(begun, torture.cases());
    assert!(torture.sessions().len() == 6 && begun > 6 * 20 * 33, "{begun} cases");
    let shown: Vec<String> = found.iter().map(|finding| format!("{}: {}", finding.case, finding.text)).collect();
    assert!(found.is_empty(), "{shown:#?}");
}

#[test]
fn t158_each_fault_is_found_where_it_shows_and_its_line_shows_it_again() {
    for (fault, phases) in [
        (Fault::ErasesFirst, TorturePhase::ALL.to_vec()),
        (Fault::Trusts, vec![TorturePhase::Check]),
        (Fault::GivesUp, vec![TorturePhase::Session, TorturePhase::Mount, TorturePhase::Work]),
    ] {
        let (mut torture, found, _) = tortured(fault);
        let kinds: BTreeSet<TorturePhase> = found.iter().map(|finding| finding.phase).collect();
        let must = if fault == Fault::GivesUp { TorturePhase::Work } else { TorturePhase::Check };
        assert!(kinds.contains(&must) && kinds.iter().all(|kind| phases.contains(kind)), "{kinds:?}");
        for finding in found.iter().step_by(7) {
            let case: Case = finding.case.to_string().parse().expect("a line");
            assert_eq!(case, finding.case);
            let again = torture.try_case(case).expect("it runs").expect("it shows again");
            assert_eq!((again.phase, again.text), (finding.phase, finding.text.clone()));
        }
    }
    let (_, found, _) = tortured(Fault::Trusts);
    let trusted =
        |finding: &CaseFailure| finding.case.with.leaves == CutOutcome::Before && finding.case.fails.is_none();
    assert!(!found.iter().any(trusted), "nothing is torn there");
}

#[test]
fn t159_a_session_that_is_not_the_same_twice_is_no_torture() {
    let mut torture = Torture::new(Counter::new(Fault::Wanders), plan(), drop).expect("it runs");
    let ended = torture.try_cases(0..u64::MAX, &mut |_| true, &mut |_| {});
    assert!(ended.is_err_and(|error| error.to_string().contains("the firmware must do the same")));
    for (text, word) in [("cut=x", "'cut=x'"), ("cut=1 leaves=half", "leaves = \"half\""), ("spin", "'spin'")] {
        assert!(text.parse::<Case>().is_err_and(|error| error.to_string().contains(word)));
    }
}
