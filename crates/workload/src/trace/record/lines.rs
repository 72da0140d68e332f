//! Lines out of one large buffer that is reused for the whole file.

use std::io::{self, Read};

/// Bytes of the buffer.
const BUFFER: usize = 1 << 20;

/// Longest line, in bytes. Longer ones are no text of any format.
pub(in crate::trace) const MAX_LINE: usize = 64 << 10;

/// The byte order mark of UTF-8.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why there is no next line.
#[derive(Debug)]
pub(in crate::trace) enum LineFault {
    /// The file cannot be read, or its compressed data is damaged.
    Io(io::Error),
    /// A line is longer than [`MAX_LINE`]; its first bytes.
    TooLong(Vec<u8>),
}

/// Splits bytes at line feeds. A carriage return before the line feed belongs to the line's end;
/// the last line needs no line feed.
pub(in crate::trace) struct LineReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// What was read and not yet handed out.
    start: usize,
    end: usize,
    /// Bytes that came from the source in all.
    filled: u64,
    exhausted: bool,
    /// Whether the last line had no line feed.
    pub unended: bool,
    /// What ended the reading while looking ahead; said once the lines before it are handed out.
    pending: Option<io::Error>,
}

impl<R: Read> LineReader<R> {
    pub fn new(source: R) -> LineReader<R> {
        LineReader {
            source,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            filled: 0,
            exhausted: false,
            unended: false,
            pending: None,
        }
    }

    pub fn source(&self) -> &R {
        &self.source
    }

    pub fn source_mut(&mut self) -> &mut R {
        &mut self.source
    }

    /// Share of the bytes read so far whose lines were handed out.
    pub fn handed_out(&self) -> f64 {
        if self.filled == 0 { 0.0 } else { 1.0 - (self.end - self.start) as f64 / self.filled as f64 }
    }

    /// Looks at the bytes that come next: `wanted` of them, more if they are there already, fewer at
    /// the end. `wanted` is at most [`MAX_LINE`], and no line was taken yet.
    pub fn peek(&mut self, wanted: usize) -> &[u8] {
        while !self.exhausted && self.end - self.start < wanted {
            if let Err(fault) = self.fill() {
                (self.pending, self.exhausted) = (Some(fault), true);
                self.drop_part_of_first_line();
            }
        }
        &self.buffer[self.start..self.end]
    }

    /// Leaves out the mark that UTF-8 text may begin with. The first bytes were looked at already.
    pub fn skip_mark(&mut self) {
        if self.buffer[self.start..self.end].starts_with(UTF8_MARK) {
            self.start += UTF8_MARK.len();
        }
    }

    /// The next line without its end, `None` after the last. After a fault there is none.
    #[inline]
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, LineFault> {
        let start = self.start;
        if let Some(len) = memchr::memchr(b'\n', &self.buffer[start..self.end]) {
            self.start = start + len + 1;
            return Ok(Some(without_return(&self.buffer[start..start + len])));
        }
        self.next_line_after_fill()
    }

    /// The buffer holds no whole line: reads on until it does.
    #[cold]
    fn next_line_after_fill(&mut self) -> Result<Option<&[u8]>, LineFault> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while !self.exhausted {
            let fresh = self.end;
            if let Err(fault) = self.fill() {
                self.give_up();
                return Err(LineFault::Io(fault));
            }
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[fresh..self.end]) {
                self.start = fresh + at + 1;
                return Ok(Some(without_return(&self.buffer[..fresh + at])));
            }
            if self.end > MAX_LINE {
                let head = self.buffer[..256].to_vec();
                self.give_up();
                return Err(LineFault::TooLong(head));
            }
        }
        if let Some(fault) = self.pending.take() {
            self.give_up();
            return Err(LineFault::Io(fault));
        }
        let end = std::mem::take(&mut self.end);
        self.unended |= end > 0;
        Ok((end > 0).then(|| without_return(&self.buffer[..end])))
    }

    /// Reads once. There is room: what is left of a line is at most [`MAX_LINE`] long.
    fn fill(&mut self) -> io::Result<()> {
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    self.filled += count as u64;
                    self.exhausted = count == 0;
                    return Ok(());
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Nothing may be concluded from a piece of line 1: whoever looks ahead finds nothing, then hears of the fault.
    fn drop_part_of_first_line(&mut self) {
        if memchr::memchr(b'\n', &self.buffer[self.start..self.end]).is_none() {
            self.end = self.start;
        }
    }

    /// What is left is no whole line and must not be taken for one.
    fn give_up(&mut self) {
        (self.start, self.end, self.exhausted) = (0, 0, true);
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields one byte at a time, so that every refill is exercised.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((&first, rest)) = self.0.split_first() else { return Ok(0) };
            buffer[0] = first;
            self.0 = rest;
            Ok(1)
        }
    }

    fn lines(source: impl Read) -> Vec<Vec<u8>> {
        let mut reader = LineReader::new(source);
        std::iter::from_fn(|| reader.next_line().expect("readable").map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn w100_lines_end_with_lf_crlf_or_the_file() {
        for text in [&b"a\r\n\nbc\nd"[..], b"a\n\nbc\nd\n"] {
            assert_eq!(lines(text), [&b"a"[..], b"", b"bc", b"d"]);
            assert_eq!(lines(Trickle(text)), lines(text));
            let mut reader = LineReader::new(text);
            while reader.next_line().expect("readable").is_some() {}
            assert_eq!(reader.unended, !text.ends_with(b"\n"));
        }
        assert!(lines(&b""[..]).is_empty());
    }

    #[test]
    fn w101_lines_that_cross_the_buffer_stay_whole() {
        let text: Vec<u8> = (0..200_000).flat_map(|n: u32| format!("line {n}\n").into_bytes()).collect();
        let found = lines(&text[..]);
        assert_eq!(found.len(), 200_000);
        assert!(found.iter().enumerate().all(|(n, line)| line == format!("line {n}").as_bytes()));
    }

    #[test]
    fn w102_a_line_without_end_is_refused_and_not_collected() {
        let mut reader = LineReader::new(io::repeat(b'x'));
        assert!(matches!(reader.next_line(), Err(LineFault::TooLong(_))));
        assert!(matches!(reader.next_line(), Ok(None)));
    }
}
