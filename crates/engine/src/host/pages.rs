//! How a request falls into pages and parts of pages.

use std::ops::Range;

use pumice_types::{HostRequest, Lpn, PAGE_PARTS, RequestKind};

/// A divisor, at least 1.
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    by: u64,
    /// Logarithm of the divisor, if it is a power of two, as nearly always: a shift is faster than a division.
    shift: Option<u32>,
}

impl Divisor {
    /// Makes the divisor of a number.
    pub fn new(by: u32) -> Divisor {
        Divisor { by: u64::from(by), shift: by.is_power_of_two().then(|| by.trailing_zeros()) }
    }

    /// A number divided by it.
    #[inline]
    pub fn quotient(self, of: u64) -> u64 {
        match self.shift {
            Some(shift) => of >> shift,
            None => self.divide(of),
        }
    }

    /// What is left of a number that is divided by it.
    #[inline]
    pub fn remainder(self, of: u64) -> u64 {
        of - self.quotient(of) * self.by
    }

    #[cold]
    fn divide(self, of: u64) -> u64 {
        of / self.by
    }
}

/// The pages of a device, as requests see them.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    page_bytes: Divisor,
}

impl Pages {
    /// Pages of so many bytes.
    pub fn new(page_bytes: u32) -> Pages {
        Pages { page_bytes: Divisor::new(page_bytes) }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes.by
    }

    /// The page that holds a byte.
    #[inline]
    fn page_at(&self, byte: u64) -> u64 {
        self.page_bytes.quotient(byte)
    }

    /// The first logical page of a request.
    #[inline]
    pub fn first_of(&self, request: &HostRequest) -> Lpn {
        Lpn(self.page_at(request.offset_bytes) as u32)
    }

    /// Logical pages of a request with the parts that it touches; none of a flush. A trim leaves out pages that
    /// it covers in part.
    #[inline]
    pub fn of(&self, request: &HostRequest) -> RequestPages {
        let (start, end) = (request.offset_bytes, request.offset_bytes + u64::from(request.bytes));
        let (next, stop) = (self.page_at(start), self.page_at(end + self.page_bytes() - 1));
        RequestPages { pages: *self, kind: request.kind, start, end, next, stop }
    }

    /// The parts of a page that bytes `from..to` of it touch, one bit each. A part that is covered only partly is
    /// included for a read, which needs it, and left out for a write, which does not supply all of it.
    #[inline]
    fn part_mask(&self, from: u64, to: u64, kind: RequestKind) -> u64 {
        let below = |byte: u64| self.page_at(byte * PAGE_PARTS);
        let above = |byte: u64| self.page_at(byte * PAGE_PARTS + self.page_bytes() - 1);
        let (first, last) = match kind {
            RequestKind::Read => (below(from), above(to)),
            RequestKind::Write | RequestKind::Trim | RequestKind::Flush | RequestKind::Zone(_) => {
                (above(from), below(to))
            }
        };
        match last.saturating_sub(first) {
            0 => 0,
            64 => u64::MAX,
            parts => ((1 << parts) - 1) << first,
        }
    }
}

/// The pages of one request.
pub struct RequestPages {
    pages: Pages,
    kind: RequestKind,
    /// First byte.
    start: u64,
    /// One past the last byte.
    end: u64,
    /// The next page.
    next: u64,
    /// One past the last page.
    stop: u64,
}

impl RequestPages {
    /// The numbers of the pages that are still to come.
    #[inline]
    pub fn range(&self) -> Range<u32> {
        let page_bytes = self.pages.page_bytes();
        let (mut next, mut stop) = (self.next, self.stop);
        if self.kind == RequestKind::Trim {
            next += u64::from(next < stop && next * page_bytes < self.start);
            stop -= u64::from(next < stop && stop * page_bytes > self.end);
        }
        next as u32..stop.max(next) as u32
    }
}

impl Iterator for RequestPages {
    type Item = (Lpn, u64);

    #[inline(always)]
    fn next(&mut self) -> Option<(Lpn, u64)> {
        while self.next < self.stop {
            let page = self.next;
            self.next += 1;
            let first = page * self.pages.page_bytes();
            let end = first + self.pages.page_bytes();
            if self.start <= first && end <= self.end {
                return Some((Lpn(page as u32), u64::MAX));
            }
            if self.kind != RequestKind::Trim {
                let (from, to) = (self.start.max(first) - first, self.end.min(end) - first);
                return Some((Lpn(page as u32), self.pages.part_mask(from, to, self.kind)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t999_the_range_of_a_request_is_that_of_its_pages() {
        for pages in [Pages::new(4096), Pages::new(12_288)] {
            for kind in [RequestKind::Read, RequestKind::Write, RequestKind::Trim, RequestKind::Flush] {
                for offset_bytes in (0..40_000).step_by(512) {
                    for bytes in (0..40_000).step_by(1_536) {
                        let arrival = pumice_types::Time::ZERO;
                        let request =
                            HostRequest { arrival, offset_bytes, bytes, kind, fua: false, stream: 0, flow: 0 };
                        let touched: Vec<u32> = pages.of(&request).map(|(lpn, _)| lpn.0).collect();
                        assert_eq!(pages.of(&request).range().collect::<Vec<u32>>(), touched, "{request:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn t694_pages_that_are_no_power_of_two_are_counted_by_division() {
        let pages = Pages::new(12_288);
        let at = |offset_bytes: u64, bytes: u32| {
            let (arrival, kind) = (pumice_types::Time::ZERO, RequestKind::Read);
            HostRequest { arrival, offset_bytes, bytes, kind, fua: false, stream: 0, flow: 0 }
        };
        assert_eq!(pages.first_of(&at(3 * 12_288 - 512, 512)), Lpn(2));
        assert_eq!(pages.first_of(&at(3 * 12_288, 512)), Lpn(3));
        let touched: Vec<Lpn> = pages.of(&at(12_288 - 512, 12_288 + 1_024)).map(|(lpn, _)| lpn).collect();
        assert_eq!(touched, [Lpn(0), Lpn(1), Lpn(2)]);
    }
}
