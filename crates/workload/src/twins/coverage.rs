//! Which granules were touched: an exact bitset that counts.

/// A set of granules `0..size`.
#[derive(Debug)]
pub(crate) struct Coverage {
    words: Vec<u64>,
    covered: u64,
}

impl Coverage {
    pub fn new(size: u64) -> Coverage {
        Coverage { words: vec![0; size.div_ceil(64) as usize], covered: 0 }
    }

    /// Distinct granules so far.
    pub fn covered(&self) -> u64 {
        self.covered
    }

    /// Adds granules `start..start + len`, a word at a time.
    #[inline]
    pub fn add(&mut self, start: u64, len: u64) {
        let end = start + len;
        let mut at = start;
        while at < end {
            let bit = at % 64;
            let count = (64 - bit).min(end - at);
            let mask = (u64::MAX >> (64 - count)) << bit;
            let word = &mut self.words[(at / 64) as usize];
            self.covered += u64::from((mask & !*word).count_ones());
            *word |= mask;
            at += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w070_counts_every_granule_once() {
        let mut coverage = Coverage::new(1_000);
        let mut model = std::collections::BTreeSet::new();
        for (start, len) in [(0, 1), (63, 2), (60, 200), (128, 64), (999, 1), (0, 1000), (5, 5)] {
            coverage.add(start, len);
            model.extend(start..start + len);
            assert_eq!(coverage.covered(), model.len() as u64);
        }
    }
}
