use super::*;
use crate::Draw;
use crate::erase::{StepKind, total_time};

const GUARD: Time = Time(700_000);
const UNTOUCHED: PieceRestarts = PieceRestarts { start: Time::ZERO, count: 0 };

fn capped() -> SuspensionRule {
    SuspensionRule { max_suspensions: Some(2), ..SuspensionRule::after_each(ErasePiece::Pulse) }
}

fn immediate(restart: ErasePiece, guard: Time) -> SuspensionRule {
    let interruption = Some(Interruption { guard, max_restarts: 3 });
    SuspensionRule { interruption, ..SuspensionRule::after_each(restart) }
}

/// Shallow erase of two pulses, verify, remainder of three pulses, verify.
fn steps() -> [EraseStep; 4] {
    let pulse = |kind, pulses: u8| EraseStep { kind, level: 1, pulses, duration: Time(500_000 * u64::from(pulses)) };
    let verify = EraseStep { kind: StepKind::Verify, level: 1, pulses: 0, duration: Time(100_000) };
    [pulse(StepKind::Shallow, 2), verify, pulse(StepKind::Pulse, 3), verify]
}

/// Every instant at which a rule of safe points stops.
fn boundaries(rule: &SuspensionRule, state: SuspensionState) -> Vec<u64> {
    let steps = steps();
    let mut found = Vec::new();
    let mut from = Time::ZERO;
    while let Some(stop) = rule.next_stop(&steps, from, state, UNTOUCHED) {
        assert_eq!(stop.at, stop.keeps, "nothing is lost");
        found.push(stop.at.0);
        from = stop.at + Time(1);
    }
    found
}

#[test]
fn t210_suspension_is_legal_at_t_and_refused_a_nanosecond_earlier_or_later() {
    let state = SuspensionState::default();
    for (rule, expected) in [
        (SuspensionRule::NEVER, vec![]),
        (SuspensionRule::after_each(ErasePiece::Loop), vec![1_100_000]),
        (
            SuspensionRule::after_each(ErasePiece::Pulse),
            vec![500_000, 1_000_000, 1_100_000, 1_600_000, 2_100_000, 2_600_000],
        ),
    ] {
        assert_eq!(boundaries(&rule, state), expected, "{rule:?}");
        for at in expected {
            assert!(rule.allows(&steps(), Time(at), state), "{rule:?} at {at}");
            assert!(!rule.allows(&steps(), Time(at - 1), state), "{rule:?} at {at} - 1");
            assert!(!rule.allows(&steps(), Time(at + 1), state), "{rule:?} at {at} + 1");
        }
    }
}

#[test]
fn t211_neither_start_nor_completion_is_a_suspension() {
    let state = SuspensionState::default();
    let [by_loop, by_pulse] = [ErasePiece::Loop, ErasePiece::Pulse].map(SuspensionRule::after_each);
    let at_once = immediate(ErasePiece::Loop, Time::ZERO);
    for rule in [SuspensionRule::NEVER, by_loop, by_pulse, capped(), at_once] {
        assert!(!rule.allows(&steps(), Time::ZERO, state));
        assert!(!rule.allows(&steps(), total_time(&steps()), state));
    }
    let short = [EraseStep { duration: Time::ZERO, ..steps()[1] }];
    let at_end = [&steps()[..1], &short[..]].concat();
    assert!(!by_pulse.allows(&at_end, Time(1_000_000), state), "a verify read that takes no time completes too");
}

#[test]
fn t212_a_capped_erase_cannot_starve() {
    let state = |suspensions, urgent| SuspensionState { suspensions, urgent };
    assert_eq!(boundaries(&capped(), state(1, false)).len(), 6);
    assert!(boundaries(&capped(), state(2, false)).is_empty(), "the cap is reached");
    assert!(boundaries(&capped(), state(0, true)).is_empty(), "somebody waits for the block");
    let uncapped = SuspensionRule::after_each(ErasePiece::Pulse);
    assert_eq!(boundaries(&uncapped, state(99, true)).len(), 6, "without a cap it can be put off for ever");
    let slow = SuspensionRule { suspend: Time(50_000), resume: Time(20_000), ..capped() };
    assert_eq!(slow.overhead(), Time(70_000));
}

#[test]
fn t213_a_scaled_pulse_has_as_many_boundaries() {
    let [_, _, pulse, verify] = steps();
    let scaled = [pulse.scaled(Time(927), Time(1_000)), verify];
    let rule = SuspensionRule::after_each(ErasePiece::Pulse);
    let stop = |from| rule.next_stop(&scaled, from, SuspensionState::default(), UNTOUCHED);
    let found: Vec<Time> =
        iter::successors(stop(Time(1)), |last| stop(last.at + Time(1))).map(|stop| stop.at).collect();
    assert_eq!(found.len(), 3);
    assert_eq!(found[2], scaled[0].duration);
}

/// A read interrupts a loop at once as long as at least the guard time is left of it, a nanosecond
/// later no more, and then waits for its end.
#[test]
fn t214_an_interruption_is_legal_while_the_guard_time_is_left() {
    let state = SuspensionState::default();
    let rule = immediate(ErasePiece::Loop, GUARD);
    let stop = |at| rule.next_stop(&steps(), Time(at), state, UNTOUCHED);
    let (first, last) = (1_100_000 - GUARD.0, 2_700_000 - GUARD.0);
    for (at, keeps) in [(1, 0), (first, 0), (1_100_001, 1_100_000), (last, 1_100_000)] {
        assert_eq!(stop(at), Some(Stop { at: Time(at), keeps: Time(keeps) }));
    }
    assert_eq!(stop(first + 1), Some(Stop::after(Time(1_100_000))), "the loop goes on to its end");
    assert_eq!(stop(1_100_000), Some(Stop::after(Time(1_100_000))));
    assert_eq!(stop(last + 1), None, "the erase goes on to its end");
    let rule = immediate(ErasePiece::Pulse, Time::ZERO);
    let stop = |at| rule.next_stop(&steps(), Time(at), state, UNTOUCHED);
    for (at, keeps) in [(1, 0), (499_999, 0), (500_000, 500_000), (1_050_000, 1_000_000), (2_699_999, 2_600_000)] {
        assert_eq!(stop(at), Some(Stop { at: Time(at), keeps: Time(keeps) }), "a pulse, or a verify read");
    }
    assert_eq!(stop(2_700_000), None);
}

#[test]
fn t215_protected_loops_are_never_suspended() {
    let state = SuspensionState::default();
    let whole: Vec<EraseStep> = (0..3).flat_map(|_| [steps()[2], steps()[3]]).collect();
    let loop_time = 1_600_000;
    for protected in 0..=4 {
        let open = 3u64.saturating_sub(u64::from(protected)) * loop_time;
        for rule in [immediate(ErasePiece::Loop, Time::ZERO), SuspensionRule::after_each(ErasePiece::Pulse)] {
            let rule = SuspensionRule { protected_loops: protected, ..rule };
            if protected > 0 && open > 0 {
                assert!(rule.allows(&whole, Time(open), state), "before the first protected loop");
            }
            assert!(!rule.allows(&whole, Time(open + 1), state), "{protected}");
            let later = rule.next_stop(&whole, Time(open + 1), state, UNTOUCHED);
            assert_eq!(later, None, "{protected}: from there on the erase is one piece");
        }
    }
}

/// Somebody always waits: an erase still ends, after at most so many restarts of each piece.
#[test]
fn t216_an_interrupted_erase_makes_progress() {
    for (restart, pieces) in [(ErasePiece::Loop, 2), (ErasePiece::Pulse, 7)] {
        let rule = immediate(restart, Time::ZERO);
        let (mut done, mut restarts, mut lost) = (Time::ZERO, UNTOUCHED, 0);
        let mut turn = 0;
        while let Some(stop) = rule.next_stop(&steps(), done + Time(1 + turn % 7), SuspensionState::default(), restarts)
        {
            restarts = restarts.after(stop);
            (done, turn) = (stop.keeps, turn + 1);
            lost += u32::from(stop.at > stop.keeps);
        }
        assert_eq!(lost, 3 * pieces, "{restart}");
        assert_eq!(u64::from(lost) + pieces as u64 - 1, turn, "and a stop at each end but the last");
    }
}

/// Against the definition, on random erases and rules: a stop is where nothing is lost, or at once.
#[test]
fn t217_a_stop_keeps_whole_pieces_and_comes_as_early_as_its_rule_allows() {
    let draw = Draw::new(3, "suspension-test");
    let mut seen = [0; 3];
    for case in 0..20_000u64 {
        let number = |of: u64, below: u64| (draw.unit(case * 32 + of) * below as f64) as u64;
        let steps: Vec<EraseStep> = (0..=number(0, 4))
            .flat_map(|nth| {
                let pulses = 1 + number(1 + nth, 7) as u8;
                let pulse = EraseStep { pulses, duration: Time(500 * u64::from(pulses)), ..steps()[2] };
                [pulse, EraseStep { duration: Time(100), ..steps()[3] }]
            })
            .collect();
        let restart = [ErasePiece::Loop, ErasePiece::Pulse][number(8, 2) as usize];
        let guard = Time(number(9, 1_000));
        let interruption = (number(10, 2) == 0).then_some(Interruption { guard, max_restarts: 1 });
        let protected_loops = number(11, 3) as u8;
        let rule = SuspensionRule { interruption, protected_loops, ..SuspensionRule::after_each(restart) };
        let total = total_time(&steps);
        let from = Time(1 + number(12, total.0));
        let ends = |piece| {
            let mut start = Time::ZERO;
            let mut ends = Vec::new();
            for of_loop in steps.chunks(2) {
                ends.extend(piece_ends(piece, of_loop, start));
                start += total_time(of_loop);
            }
            ends
        };
        let (pieces, loops) = (ends(restart), ends(ErasePiece::Loop));
        let open = loops.len().saturating_sub(usize::from(protected_loops));
        let limit = open.checked_sub(1).map_or(Time::ZERO, |last| loops[last]);
        let stop = rule.next_stop(&steps, from, SuspensionState::default(), UNTOUCHED);
        let end = *pieces.iter().find(|&&end| end >= from).expect("the erase ends after it");
        let begin = pieces.iter().copied().filter(|&end| end < from).max().unwrap_or_default();
        let at_once = interruption.is_some_and(|rule| from < end && end - from >= rule.guard);
        let expected = if at_once { Stop { at: from, keeps: begin } } else { Stop::after(end) };
        let is_stop = end <= limit && expected.at < total;
        assert_eq!(stop, is_stop.then_some(expected), "{rule:?} {from:?} of {steps:?}");
        seen[usize::from(is_stop) + usize::from(is_stop && at_once)] += 1;
    }
    assert!(seen.iter().all(|&cases| cases > 1_000), "{seen:?}");
}
