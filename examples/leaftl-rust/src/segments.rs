//! Lines that stand for entries of a map.

/// Logical pages of a group. A line lies in one.
pub const GROUP: u32 = 256;

/// Bytes of a line: first page, length, slope and intercept.
const SEGMENT_BYTES: u64 = 8;

/// A line through logical pages of a group and their places.
struct Segment {
    /// First logical page.
    first: u32,
    /// Place of that page.
    place: u32,
    /// Places from one logical page to the next.
    slope: f32,
    /// The block of all places.
    block: u32,
    /// Logical pages of the group for which it stands, a bit each.
    pages: [u64; 4],
    /// Whether it misses none of its places.
    exact: bool,
}

/// The lines of all groups, those of a group from the newest to the oldest.
pub struct Segments {
    groups: Vec<Vec<Segment>>,
    gamma: f32,
}

impl Segments {
    /// No line yet, for so many logical pages.
    pub fn new(pages: u32, gamma: u32) -> Segments {
        Segments { groups: (0..pages.div_ceil(GROUP)).map(|_| Vec::new()).collect(), gamma: gamma as f32 }
    }

    /// The predicted place of a logical page, and the block that it lies in.
    pub fn predict(&self, lpn: u32) -> Option<(u32, u32)> {
        let segment = self.groups[(lpn / GROUP) as usize].iter().find(|segment| segment.holds(lpn))?;
        Some((segment.predict(lpn), segment.block))
    }

    /// A logical page has no place any more.
    pub fn forget(&mut self, lpn: u32) {
        let group = &mut self.groups[(lpn / GROUP) as usize];
        group.iter_mut().for_each(|segment| segment.remove(lpn));
        group.retain(|segment| segment.pages != [0; 4]);
    }

    /// Learns that sorted logical pages lie one behind the other from the place `first` of a block on.
    pub fn learn(&mut self, lpns: &[u32], first: u32, block: u32) {
        let mut at = 0;
        while at < lpns.len() {
            let (line, length) = self.line(&lpns[at..], first + at as u32, block);
            lpns[at..at + length].iter().for_each(|&lpn| self.forget(lpn));
            self.groups[(line.first / GROUP) as usize].insert(0, line);
            at += length;
        }
    }

    /// The line through as many of the first points as it can pass within `gamma`, and how many these are.
    fn line(&self, lpns: &[u32], place: u32, block: u32) -> (Segment, usize) {
        let (first, mut low, mut high, mut length) = (lpns[0], 0.0f32, f32::INFINITY, 1);
        for (nth, &lpn) in lpns.iter().enumerate().skip(1) {
            let (right, up) = ((lpn - first) as f32, nth as f32);
            let (lowest, highest) = (low.max((up - self.gamma) / right), high.min((up + self.gamma) / right));
            if lpn / GROUP != first / GROUP || lowest > highest {
                break;
            }
            (low, high, length) = (lowest, highest, nth + 1);
        }
        let slope = if length == 1 { 0.0 } else { low + (high - low) / 2.0 };
        let mut line = Segment { first, place, slope, block, pages: [0; 4], exact: true };
        for (nth, &lpn) in (0..).zip(&lpns[..length]) {
            line.pages[(lpn % GROUP / 64) as usize] |= 1 << (lpn % 64);
            line.exact &= line.predict(lpn) == place + nth;
        }
        (line, length)
    }

    /// RAM of the map: the lines, and a byte for each page of a line that may miss.
    pub fn ram_bytes(&self) -> u64 {
        let pages = |segment: &Segment| segment.pages.iter().map(|bits| u64::from(bits.count_ones())).sum::<u64>();
        let of = |segment: &Segment| SEGMENT_BYTES + if segment.exact { 0 } else { pages(segment) };
        self.groups.iter().flatten().map(of).sum()
    }
}

impl Segment {
    fn holds(&self, lpn: u32) -> bool {
        self.pages[(lpn % GROUP / 64) as usize] >> (lpn % 64) & 1 == 1
    }

    fn remove(&mut self, lpn: u32) {
        self.pages[(lpn % GROUP / 64) as usize] &= !(1 << (lpn % 64));
    }

    /// The nearest whole place on the line.
    fn predict(&self, lpn: u32) -> u32 {
        self.place + (self.slope * (lpn - self.first) as f32 + 0.5) as u32
    }
}
