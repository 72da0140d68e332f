//! Fields of a line as bytes, without allocation: what every format's parser is made of.

use pumice_types::RequestKind;

/// A place in a line. Each step takes one field or separator, or is `None` and ends the parsing.
#[derive(Clone, Copy)]
pub(in crate::trace) struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

/// Powers of ten up to a second in nanoseconds.
const POWERS: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

impl<'a> Cursor<'a> {
    #[inline]
    pub fn new(line: &'a [u8]) -> Cursor<'a> {
        Cursor { line, at: 0 }
    }

    /// A whole number: one digit at least, no sign.
    #[inline]
    pub fn whole(&mut self) -> Option<u64> {
        let (value, at) = number(self.line, self.at)?;
        self.at = at;
        Some(value)
    }

    /// A whole or decimal number in units of 10^-`decimals`; what is finer is dropped.
    #[inline]
    pub fn decimal(&mut self, decimals: usize) -> Option<u64> {
        let whole = self.whole()?.checked_mul(POWERS[decimals])?;
        if self.line.get(self.at) != Some(&b'.') {
            return Some(whole);
        }
        let start = self.at + 1;
        let count = self.line[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return None;
        }
        let kept = count.min(decimals);
        let (part, _) = if kept == 0 { (0, start) } else { number(&self.line[..start + kept], start)? };
        self.at = start + count;
        whole.checked_add(part * POWERS[decimals - kept])
    }

    /// Takes this byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) -> Option<()> {
        (*self.line.get(self.at)? == byte).then(|| self.at += 1)
    }

    /// Any single byte.
    #[inline]
    pub fn any(&mut self) -> Option<u8> {
        let byte = *self.line.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Spaces and tabs, one at least.
    #[inline]
    pub fn blanks(&mut self) -> Option<()> {
        let start = self.at;
        self.skip_blanks();
        (self.at > start).then_some(())
    }

    /// Spaces and tabs, if there are any.
    #[inline]
    pub fn skip_blanks(&mut self) {
        while matches!(self.line.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// Printable bytes up to the next blank or the end, one at least.
    #[inline]
    pub fn word(&mut self) -> Option<&'a [u8]> {
        let rest = &self.line[self.at..];
        let length = rest.iter().position(|&byte| !byte.is_ascii_graphic()).unwrap_or(rest.len());
        self.at += length;
        let whole = rest.get(length).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
        (length > 0 && whole).then_some(&rest[..length])
    }

    /// The whole number here as it is written.
    #[inline]
    pub fn digits(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        self.whole()?;
        Some(&self.line[start..self.at])
    }

    /// What is left.
    pub fn rest(&self) -> &'a [u8] {
        &self.line[self.at..]
    }

    /// Nothing is left.
    #[inline]
    pub fn end(&self) -> Option<()> {
        (self.at == self.line.len()).then_some(())
    }
}

/// The number that begins at `at` (one digit at least) and the index behind it.
#[inline]
pub(in crate::trace) fn number(line: &[u8], start: usize) -> Option<(u64, usize)> {
    let mut at = start;
    let mut value = 0u64;
    while let Some(digit) = line.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
        // 19 digits always fit.
        value = if at - start < 19 {
            value * 10 + u64::from(digit)
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))?
        };
        at += 1;
    }
    (at > start).then_some((value, at))
}

/// `R` or `W`, in either case.
#[inline]
pub(in crate::trace) fn letter(letter: u8) -> Option<RequestKind> {
    match letter {
        b'R' | b'r' => Some(RequestKind::Read),
        b'W' | b'w' => Some(RequestKind::Write),
        _ => None,
    }
}

/// `major,minor` numbers of a block device.
#[inline]
pub(in crate::trace) fn device_numbers(device: &[u8]) -> Option<()> {
    let mut at = Cursor::new(device);
    at.whole()?;
    at.byte(b',')?;
    at.whole()?;
    at.end()
}

/// A size in bytes as requests have it: 1 to 2^32 - 1.
#[inline]
pub(in crate::trace) fn size(bytes: u64) -> Option<u32> {
    u32::try_from(bytes).ok().filter(|&bytes| bytes > 0)
}

/// Offset and size in bytes of so many sectors of 512 bytes, if they are an address and a size.
#[inline]
pub(in crate::trace) fn sectors(first: u64, count: u64) -> Option<(u64, u32)> {
    let offset = first.checked_mul(512)?;
    let bytes = size(count.checked_mul(512)?)?;
    span(offset, bytes)
}

/// Device, offset and size from `device first-sector sectors`, with blanks around each: what the
/// ASCII formats of simulators share.
#[inline]
pub(in crate::trace) fn device_and_extent<'a>(at: &mut Cursor<'a>) -> Option<(&'a [u8], (u64, u32))> {
    at.blanks()?;
    let device = at.digits()?;
    at.blanks()?;
    let first = at.whole()?;
    at.blanks()?;
    let count = at.whole()?;
    at.blanks()?;
    Some((device, sectors(first, count)?))
}

/// The offset and the size, if the last byte has an address.
#[inline]
pub(in crate::trace) fn span(offset: u64, bytes: u32) -> Option<(u64, u32)> {
    offset.checked_add(u64::from(bytes)).map(|_| (offset, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w103_decimals_are_exact_and_finer_digits_are_dropped() {
        for (text, decimals, value) in [
            ("0.026214", 9, Some(26_214_000)),
            ("1456095145.133076000", 9, Some(1_456_095_145_133_076_000)),
            ("13.191135", 6, Some(13_191_135)),
            ("13", 6, Some(13_000_000)),
            ("0.1234567899", 9, Some(123_456_789)),
            ("0.000000000000000000000000001", 9, Some(0)),
            ("5.", 9, None),
            (".5", 9, None),
            ("-1.5", 9, None),
            ("1e3", 9, Some(1_000_000_000)),
            ("18446744073.709551615", 9, Some(u64::MAX)),
            ("18446744073.709551616", 9, None),
            ("18446744074", 9, None),
        ] {
            assert_eq!(Cursor::new(text.as_bytes()).decimal(decimals), value, "{text}");
        }
    }

    #[test]
    fn w104_words_end_at_blanks_only() {
        let mut cursor = Cursor::new(b"8,16 \t R");
        assert_eq!(cursor.word(), Some(&b"8,16"[..]));
        assert_eq!(cursor.blanks(), Some(()));
        assert_eq!(cursor.word(), Some(&b"R"[..]));
        assert_eq!((cursor.end(), cursor.word()), (Some(()), None));
        assert_eq!(Cursor::new(b"a\x07b c").word(), None);
        assert_eq!(sectors(u64::MAX / 512, 1), None);
        assert_eq!(sectors(0, 8_388_608), None);
        assert_eq!(sectors(3, 8), Some((1_536, 4_096)));
    }
}
