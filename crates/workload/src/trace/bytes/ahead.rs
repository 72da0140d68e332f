//! A trace file that a thread of its own reads, hashes and decompresses, while the run works on what was read before.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use crate::trace::bytes::content::FileContent;

/// Bytes of content in a block.
const BLOCK: usize = 1 << 20;

/// Blocks that are ready at the most.
const BLOCKS_AHEAD: usize = 2;

/// What the thread hands over, in the order of the file.
enum Told {
    /// Content, and how many bytes of the file it took to get this far.
    Block(Vec<u8>, u64),
    /// There is no more: the digest of the file, and all of its bytes.
    End(io::Result<String>, u64),
    /// The file cannot be read on, or its compressed data is damaged.
    Fault(io::Error),
}

/// Content of a file that is read ahead, the same as without.
pub(in crate::trace) struct ReadAhead {
    told: Receiver<Told>,
    /// Takes blocks back that were used up, for their memory.
    spent: Sender<Vec<u8>>,
    block: Vec<u8>,
    /// How much of the block was handed on.
    at: usize,
    bytes_read: u64,
    /// Digest of the file, once its content was read to the end.
    digest: Option<io::Result<String>>,
}

impl ReadAhead {
    /// Begins to read.
    ///
    /// # Errors
    /// The operating system gives no thread.
    pub fn start(content: FileContent) -> io::Result<ReadAhead> {
        let (tell, told) = sync_channel(BLOCKS_AHEAD);
        let (spent, blocks) = channel();
        thread::Builder::new().name("trace".to_owned()).spawn(move || read_on(content, &tell, &blocks))?;
        Ok(ReadAhead { told, spent, block: Vec::new(), at: 0, bytes_read: 0, digest: None })
    }

    /// Bytes of the file behind the content that was handed on, up to the end of its block.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// SHA-256 of the whole file in hexadecimal, once its content was read to its end.
    pub fn digest(&mut self) -> io::Result<String> {
        self.digest.take().unwrap_or_else(|| Err(ended_early()))
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() && self.digest.is_none() {
            match self.told.recv() {
                Ok(Told::Block(block, bytes_read)) => {
                    let used_up = std::mem::replace(&mut self.block, block);
                    (self.at, self.bytes_read) = (0, bytes_read);
                    // Nobody takes it once the thread has come to the end.
                    let _ = self.spent.send(used_up);
                }
                Ok(Told::End(digest, bytes_read)) => {
                    (self.digest, self.bytes_read) = (Some(digest), bytes_read);
                }
                Ok(Told::Fault(fault)) => return Err(fault),
                Err(_) => return Err(ended_early()),
            }
        }
        let count = (&self.block[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

/// What the thread does: reads block after block, until nobody wants more of them.
fn read_on(mut content: FileContent, tell: &SyncSender<Told>, spent: &Receiver<Vec<u8>>) {
    loop {
        let mut block = spent.try_recv().unwrap_or_default();
        block.clear();
        block.reserve(BLOCK);
        // What was read before a fault is in the block, and is handed over before it.
        let end = content.by_ref().take(BLOCK as u64).read_to_end(&mut block);
        let is_whole = block.len() == BLOCK;
        if !block.is_empty() && tell.send(Told::Block(block, content.bytes_read())).is_err() {
            return;
        }
        let last = match end {
            Err(fault) => Told::Fault(fault),
            Ok(_) if is_whole => continue,
            Ok(_) => {
                let digest = content.digest();
                Told::End(digest, content.bytes_read())
            }
        };
        // The run may have ended meanwhile.
        let _ = tell.send(last);
        return;
    }
}

/// The thread ended without a last word, as only a fault of this program makes it.
fn ended_early() -> io::Error {
    io::Error::other("the thread that reads the file has ended")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tempfile::TempDir;

    use super::*;

    /// Numbers that hardly compress: more than the blocks that are ready at the most.
    fn text() -> Vec<u8> {
        let lines = (0..400_000u64).map(|line| format!("{}\n", line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20));
        lines.collect::<String>().into_bytes()
    }

    fn compressed() -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&text()).and_then(|()| encoder.finish()).expect("in memory")
    }

    /// The file with these bytes, read on the spot and ahead: content, how it ended, and the digest.
    fn both(bytes: &[u8]) -> [(Vec<u8>, Result<String, String>); 2] {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path().join("trace.gz");
        std::fs::write(&path, bytes).expect("writable");
        let open = || FileContent::open(&path).expect("readable").0;
        let told = |e: io::Error| format!("{}: {e}", e.kind());
        let (mut here, mut of_here) = (open(), Vec::new());
        let end = here.read_to_end(&mut of_here).and_then(|_| here.digest()).map_err(told);
        let (mut ahead, mut of_ahead) = (ReadAhead::start(open()).expect("a thread"), Vec::new());
        let end_ahead = ahead.read_to_end(&mut of_ahead).and_then(|_| ahead.digest()).map_err(told);
        if end_ahead.is_ok() {
            assert_eq!(ahead.bytes_read(), bytes.len() as u64, "all of the file");
        }
        [(of_here, end), (of_ahead, end_ahead)]
    }

    #[test]
    fn w198_a_file_that_is_read_ahead_has_the_same_content_digest_and_faults() {
        let whole = compressed();
        let [here, ahead] = both(&whole);
        assert!(here == ahead && here.0 == text() && here.1.is_ok(), "whole: {:?} {:?}", here.1, ahead.1);
        let [here, ahead] = both(&whole[..whole.len() / 2]);
        assert!(here == ahead && here.1.is_err(), "cut: {:?} {:?}", here.1, ahead.1);
        let mut damaged = whole;
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0x5a);
        let [here, ahead] = both(&damaged);
        assert!(here == ahead && here.1.is_err(), "damaged: {:?} {:?}", here.1, ahead.1);
    }

    /// A run that ends early leaves no thread behind that waits for it for ever.
    #[test]
    fn w199_a_file_need_not_be_read_to_its_end() {
        let directory = TempDir::new().expect("a temporary directory");
        let path = directory.path().join("trace.gz");
        std::fs::write(&path, compressed()).expect("writable");
        let (tell, told) = sync_channel(BLOCKS_AHEAD);
        let (_spent, blocks) = channel();
        let content = FileContent::open(&path).expect("readable").0;
        let thread = thread::spawn(move || read_on(content, &tell, &blocks));
        assert!(matches!(told.recv(), Ok(Told::Block(block, _)) if block.len() == BLOCK));
        drop(told);
        thread.join().expect("ended");
    }
}
