//! Bit columns: one bit a page, grouped by block, 64 pages a word.

/// Words of 64 bits that hold `bits` bits.
#[inline]
pub fn words_for(bits: usize) -> usize {
    bits.div_ceil(64)
}

/// Whether bit `index` is set.
#[inline]
pub fn get(words: &[u64], index: usize) -> bool {
    words[index >> 6] >> (index & 63) & 1 == 1
}

/// Sets bit `index`.
#[inline]
pub fn set(words: &mut [u64], index: usize) {
    words[index >> 6] |= 1 << (index & 63);
}

/// Clears bit `index`.
#[inline]
pub fn clear(words: &mut [u64], index: usize) {
    words[index >> 6] &= !(1 << (index & 63));
}

/// The part of word `word` that lies in the bit range `start..end`.
#[inline]
fn range_mask(word: usize, start: usize, end: usize) -> u64 {
    let low = start.saturating_sub(word * 64).min(64);
    let high = end.saturating_sub(word * 64).min(64);
    if low >= high {
        return 0;
    }
    let upto_high = if high == 64 { u64::MAX } else { (1 << high) - 1 };
    upto_high & (u64::MAX << low)
}

/// The set bits from one place on, in their order. The words are given anew for each, so that bits up to the last that
/// was found may change meanwhile; a change of a later one in the same word is not seen.
pub struct SetBits {
    word: usize,
    left: u64,
}

impl SetBits {
    /// The set bits at `start` and behind it.
    #[inline]
    pub fn from(words: &[u64], start: usize) -> SetBits {
        let word = start >> 6;
        SetBits { word, left: words.get(word).map_or(0, |bits| bits & (u64::MAX << (start & 63))) }
    }

    /// The next set bit.
    #[inline]
    pub fn next(&mut self, words: &[u64]) -> Option<usize> {
        while self.left == 0 {
            self.word += 1;
            self.left = *words.get(self.word)?;
        }
        let index = self.word * 64 + self.left.trailing_zeros() as usize;
        self.left &= self.left - 1;
        Some(index)
    }
}

/// Number of set bits in `start..end`.
#[inline]
pub fn count_range(words: &[u64], start: usize, end: usize) -> u32 {
    if start >= end {
        return 0;
    }
    if end - start <= 64 {
        return count_short(words, start, end - start);
    }
    (start >> 6..=(end - 1) >> 6).map(|w| (words[w] & range_mask(w, start, end)).count_ones()).sum()
}

/// Number of set bits among `width` from `start` on: 1 to 64, in one word or in two. Where all or none are set, as
/// mostly in the parts of a block, nothing is counted: without an instruction of its own a count takes a dozen.
#[inline]
fn count_short(words: &[u64], start: usize, width: usize) -> u32 {
    let (word, shift) = (start >> 6, start & 63);
    let mut bits = words[word] >> shift;
    if shift + width > 64 {
        bits |= words[word + 1] << (64 - shift);
    }
    let all = u64::MAX >> (64 - width);
    match bits & all {
        0 => 0,
        found if found == all => width as u32,
        found => found.count_ones(),
    }
}

/// The first set bit in `start..end`.
#[inline]
pub fn next_set(words: &[u64], start: usize, end: usize) -> Option<usize> {
    next(words, start, end, 0)
}

/// The first clear bit in `start..end`.
#[inline]
pub fn next_clear(words: &[u64], start: usize, end: usize) -> Option<usize> {
    next(words, start, end, u64::MAX)
}

/// The first bit in `start..end` that differs from `than`, which has all bits alike.
#[inline]
fn next(words: &[u64], start: usize, end: usize, than: u64) -> Option<usize> {
    if start >= end {
        return None;
    }
    (start >> 6..=(end - 1) >> 6).find_map(|w| {
        let found = (words[w] ^ than) & range_mask(w, start, end);
        (found != 0).then(|| w * 64 + found.trailing_zeros() as usize)
    })
}

/// Sets bits `start..end`.
pub fn set_range(words: &mut [u64], start: usize, end: usize) {
    if start < end {
        let first = start >> 6;
        for (w, word) in words[first..=(end - 1) >> 6].iter_mut().enumerate() {
            *word |= range_mask(first + w, start, end);
        }
    }
}

/// Clears bits `start..end`.
pub fn clear_range(words: &mut [u64], start: usize, end: usize) {
    if start < end {
        let first = start >> 6;
        for (w, word) in words[first..=(end - 1) >> 6].iter_mut().enumerate() {
            *word &= !range_mask(first + w, start, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t004_counts_of_ranges_agree_with_single_bits() {
        let words = [0xF0F0_1234_5678_FFFF, 0x8000_0000_0000_0001, u64::MAX, 0x0123_4567_89AB_CDEF];
        for start in 0..256 {
            let mut count = 0;
            for end in start..=256 {
                assert_eq!(count_range(&words, start, end), count, "{start}..{end}");
                count += u32::from(end < 256 && get(&words, end));
            }
        }
    }

    #[test]
    fn t1053_set_bits_come_one_after_the_other() {
        let words = [0xF0F0_1234_5678_FFFF, 0, 0x8000_0000_0000_0001];
        for start in 0..260 {
            let mut found = SetBits::from(&words, start);
            for expected in (start..192).filter(|&bit| get(&words, bit)) {
                assert_eq!(found.next(&words), Some(expected), "from {start}");
            }
            assert_eq!([found.next(&words), found.next(&words)], [None, None], "from {start}");
        }
    }

    #[test]
    fn t029_the_next_bit_of_a_range_is_the_first_that_single_bits_name() {
        for words in [[1, 1, 1], [0, 1, 1 << 63], [1 << 63, 0, 1], [!1, !1, !1], [u64::MAX, !1, u64::MAX >> 1]] {
            for start in 0..192 {
                for end in start..=192 {
                    let of = |wanted: bool| (start..end).find(|&bit| get(&words, bit) == wanted);
                    assert_eq!(next_set(&words, start, end), of(true), "{words:x?} {start}..{end}");
                    assert_eq!(next_clear(&words, start, end), of(false), "{words:x?} {start}..{end}");
                }
            }
        }
    }

    #[test]
    fn t001_ranges_agree_with_single_bits() {
        for start in 0..130 {
            for end in start..130 {
                let mut words = [0u64; 3];
                set_range(&mut words, start, end);
                for bit in 0..130 {
                    assert_eq!(get(&words, bit), (start..end).contains(&bit), "{start}..{end} bit {bit}");
                }
                assert_eq!(count_range(&words, 0, 130), (end - start) as u32);
                assert_eq!(count_range(&words, start, end), (end - start) as u32);
                assert_eq!(next_set(&words, 0, 130), (start < end).then_some(start));
                let after = if start == 0 { end } else { 0 };
                assert_eq!(next_clear(&words, 0, 130), (after < 130).then_some(after));
                clear_range(&mut words, start, end);
                assert_eq!(words, [0; 3]);
            }
        }
    }
}
