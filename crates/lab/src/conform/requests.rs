//! Requests of one page, and what a layer makes of a sequence of them.

use std::fmt;

use pumice_config::Config;
use pumice_engine::observe::ObserverRef;
use pumice_engine::{SimError, Ssd, build};
use pumice_types::{Draw, HostRequest, RequestKind, Time};

/// Streams of the host: a page belongs to that of its number.
const STREAMS: u32 = 8;

/// A request of the host for one logical page, or for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRequest {
    /// Writes a page.
    Write(u32),
    /// Reads a page.
    Read(u32),
    /// Trims a page.
    Trim(u32),
    /// Waits until everything under way has ended, and idle dies have taken their steps.
    Wait,
}

impl fmt::Display for PageRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PageRequest::Write(lpn) => write!(f, "write {lpn}"),
            PageRequest::Read(lpn) => write!(f, "read {lpn}"),
            PageRequest::Trim(lpn) => write!(f, "trim {lpn}"),
            PageRequest::Wait => f.write_str("wait"),
        }
    }
}

/// Draws a sequence over pages below `pages`: mostly writes, half of them to an eighth of the pages.
pub fn draw(seed: u64, length: usize, pages: u32) -> Vec<PageRequest> {
    let draws = Draw::new(seed, "conform");
    let mut number = 0;
    let mut below = |bound: u32| {
        number += 1;
        (draws.bits(number) % u64::from(bound)) as u32
    };
    let mut request = || {
        let lpn = if below(2) == 0 { below(pages.div_ceil(8)) } else { below(pages) };
        match below(20) {
            0..=11 => PageRequest::Write(lpn),
            12..=15 => PageRequest::Read(lpn),
            16 | 17 => PageRequest::Trim(lpn),
            _ => PageRequest::Wait,
        }
    };
    (0..length).map(|_| request()).collect()
}

/// Runs a sequence on a device that is new, reads every logical page after it, and looks for what was stored. What
/// is wrong, in one line.
///
/// # Errors
/// A broken rule or belief, a failure of the layer, lost or corrupt pages, or a count of programs that is not that of the writes.
pub fn run_sequence(config: &Config, requests: &[PageRequest]) -> Result<(), String> {
    let told = |error: SimError| error.to_string();
    let mut ssd = Ssd::new(config, build(config, 1.0).map_err(told)?, ObserverRef::nobody());
    let pages = ssd.ftl().user_pages();
    let in_range = |lpn: u32| lpn < pages;
    let mut written = 0;
    for request in requests {
        match *request {
            PageRequest::Write(lpn) if in_range(lpn) => {
                written += 1;
                submit(&mut ssd, config, RequestKind::Write, lpn)?;
            }
            PageRequest::Read(lpn) if in_range(lpn) => submit(&mut ssd, config, RequestKind::Read, lpn)?,
            PageRequest::Trim(lpn) if in_range(lpn) => submit(&mut ssd, config, RequestKind::Trim, lpn)?,
            PageRequest::Wait => wait(&mut ssd)?,
            PageRequest::Write(_) | PageRequest::Read(_) | PageRequest::Trim(_) => {}
        }
    }
    for lpn in 0..pages {
        submit(&mut ssd, config, RequestKind::Read, lpn)?;
        wait(&mut ssd)?;
    }
    submit(&mut ssd, config, RequestKind::Flush, 0)?;
    wait(&mut ssd)?;
    check_end(&mut ssd, written)
}

/// What must hold when a sequence is over and nothing is under way.
fn check_end(ssd: &mut Ssd<ObserverRef>, written: u64) -> Result<(), String> {
    ssd.read_back();
    ssd.controller.raise_fault().map_err(|error| error.to_string())?;
    let (lost, corrupt) = (ssd.host.lost_pages, ssd.controller.scheduler.chips.checked.corrupt_pages);
    if lost + corrupt > 0 {
        return Err(format!("integrity: {corrupt} corrupt and {lost} lost pages"));
    }
    let programmed = ssd.controller.tally.counts.host_programs;
    // A page that is written again while RAM holds it is programmed once.
    if programmed > written || programmed < written && !ssd.controller.gathers() {
        return Err(format!("counts: {written} pages were written, {programmed} programmed for the host"));
    }
    Ok(())
}

/// A request of a whole page, or a flush, now.
fn submit(ssd: &mut Ssd<ObserverRef>, config: &Config, kind: RequestKind, lpn: u32) -> Result<(), String> {
    let page_bytes = config.chip.geometry.page_bytes;
    let is_flush = kind == RequestKind::Flush;
    let (bytes, offset_bytes) = if is_flush { (0, 0) } else { (page_bytes, u64::from(lpn) * u64::from(page_bytes)) };
    let now = ssd.now;
    // A layer that tells streams apart meets all of them, whichever requests are left out.
    let stream = (lpn % STREAMS) as u8;
    let request = HostRequest { arrival: now, offset_bytes, bytes, kind, fua: false, stream, flow: 0 };
    ssd.arrive(&request, true, now).map_err(|error| error.to_string())
}

/// Lets everything end.
fn wait(ssd: &mut Ssd<ObserverRef>) -> Result<(), String> {
    while ssd.run_until(Time(1 << 62)).map_err(|error| error.to_string())? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t328_a_sequence_meets_every_page_and_mostly_the_first_eighth_of_them() {
        let (mut met, mut kinds) = ([0; 64], [0; 4]);
        for request in draw(1, 4_000, 64) {
            let (kind, lpn) = match request {
                PageRequest::Write(lpn) => (0, lpn),
                PageRequest::Read(lpn) => (1, lpn),
                PageRequest::Trim(lpn) => (2, lpn),
                PageRequest::Wait => {
                    kinds[3] += 1;
                    continue;
                }
            };
            kinds[kind] += 1;
            met[lpn as usize] += 1;
        }
        let of_all = |part: u32| f64::from(part) / 4_000.0;
        let expected = [0.6, 0.2, 0.1, 0.1];
        assert!(kinds.iter().zip(expected).all(|(&kind, share)| (of_all(kind) - share).abs() < 0.03), "{kinds:?}");
        // Half of them, and an eighth of the others.
        assert!((of_all(met[..8].iter().sum()) / 0.9 - 0.5625).abs() < 0.03, "{met:?}");
        assert!(met.iter().all(|&requests| requests > 0), "{met:?}");
    }
}
