//! A random order of any number of items without a table of it.

use crate::source::random::RandomStream;

/// Rounds of the cipher: four make an order that no simple statistic tells from a random one.
const ROUNDS: usize = 4;

/// A permutation of 0 to n - 1: a Feistel cipher on the next even number of bits, applied again
/// until the result is one of the items, which takes fewer than four times on average.
#[derive(Clone, Copy, Debug)]
pub struct Scatter {
    items: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Scatter {
    /// `items` is at least 1 and at most 2^62.
    pub fn new(items: u64, stream: &mut RandomStream) -> Scatter {
        let bits = u64::BITS - (items - 1).leading_zeros();
        Scatter { items, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| stream.bits()) }
    }

    /// Where an item goes.
    #[inline]
    pub fn place(&self, item: u64) -> u64 {
        let mut at = item;
        loop {
            at = self.cipher(at);
            if at < self.items {
                return at;
            }
        }
    }

    #[inline]
    fn cipher(&self, block: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (block >> self.half_bits, block & mask);
        for key in self.keys {
            // Multiplication carries low bits up; the fold brings the high ones down again.
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
            (left, right) = (right, (left ^ (mixed >> 32)) & mask);
        }
        (left << self.half_bits) | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w035_every_item_has_one_place() {
        for items in [1, 2, 3, 4, 5, 17, 1000, 4096, 65_537] {
            let scatter = Scatter::new(items, &mut RandomStream::new(7, "places"));
            let mut seen = vec![false; items as usize];
            for item in 0..items {
                assert!(!std::mem::replace(&mut seen[scatter.place(item) as usize], true), "{items}: {item}");
            }
        }
    }

    #[test]
    fn w036_neighbours_part() {
        let items = 1 << 30;
        let scatter = Scatter::new(items, &mut RandomStream::new(1, "places"));
        let places: Vec<u64> = (0..10_000).map(|item| scatter.place(item)).collect();
        let mean = places.iter().map(|&place| place as f64).sum::<f64>() / 1e4 / items as f64;
        assert!((mean - 0.5).abs() < 5.0 * 0.289 / 100.0, "{mean}");
        let near = places.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < items / 100).count();
        // 2 % are expected, 200 of 10,000; five standard deviations.
        assert!((130..270).contains(&near), "{near}");
    }
}
