//! The bytes of a trace file: decompressed by what they are, hashed and counted on the way.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use sha2::{Digest, Sha256};

use crate::source::compression::Compression;
use crate::source::error::{TraceError, TraceErrorKind};
use crate::trace::bytes::recorded::SharedContent;

/// Bytes asked of the file at a time by the decompressors.
const RAW_CHUNK: usize = 256 << 10;

/// Largest window a zstd stream may ask for, as a power of 2: what `zstd --long=31` writes.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// Where the bytes come from.
enum Bytes {
    File(File),
    /// Text in memory, and how much of it was read.
    Memory(SharedContent, usize),
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Bytes::File(file) => file.read(buffer),
            Bytes::Memory(content, at) => {
                let count = (&content.text[*at..]).read(buffer)?;
                *at += count;
                Ok(count)
            }
        }
    }
}

/// The file itself. Hashing on the way costs less than parsing, and spares a second reading.
pub(in crate::trace) struct RawFile {
    bytes: Bytes,
    /// Bytes looked at to recognise the compression, not yet handed on.
    head: Vec<u8>,
    hash: Sha256,
    bytes_read: u64,
}

impl Read for RawFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = if self.head.is_empty() {
            self.bytes.read(buffer)?
        } else {
            let count = self.head.len().min(buffer.len());
            buffer[..count].copy_from_slice(&self.head[..count]);
            self.head.drain(..count);
            count
        };
        self.hash.update(&buffer[..count]);
        self.bytes_read += count as u64;
        Ok(count)
    }
}

enum Decoder {
    Plain(RawFile),
    Gzip(Box<MultiGzDecoder<BufReader<RawFile>>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<RawFile>>>),
    Xz(Box<XzReader<BufReader<RawFile>>>),
}

/// A trace file's content.
pub(in crate::trace) struct FileContent(Decoder);

impl FileContent {
    /// Content that the caller holds.
    pub fn held(content: &SharedContent) -> FileContent {
        let bytes = Bytes::Memory(SharedContent::clone(content), 0);
        FileContent(Decoder::Plain(RawFile { bytes, head: Vec::new(), hash: Sha256::new(), bytes_read: 0 }))
    }

    /// Opens the file and recognises its compression. Returns also how many bytes it has, if it is a regular one.
    pub fn open(path: &Path) -> Result<(FileContent, Option<u64>), TraceError> {
        let refuse = |what: &dyn std::fmt::Display| TraceError::in_file(TraceErrorKind::File, path, what);
        let file = File::open(path).map_err(|e| refuse(&format!("cannot be opened: {e}")))?;
        let metadata = file.metadata().map_err(|e| refuse(&format!("cannot be read: {e}")))?;
        if metadata.is_dir() {
            return Err(refuse(&"is a directory; a trace file is needed"));
        }
        let mut head = Vec::new();
        (&file).take(6).read_to_end(&mut head).map_err(|e| refuse(&format!("cannot be read: {e}")))?;
        let raw = RawFile { bytes: Bytes::File(file), head: head.clone(), hash: Sha256::new(), bytes_read: 0 };
        let buffered = |raw| BufReader::with_capacity(RAW_CHUNK, raw);
        let decoder = match head.as_slice() {
            [0x1f, 0x8b, ..] => Decoder::Gzip(Box::new(MultiGzDecoder::new(buffered(raw)))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                let zstd = zstd_decoder(buffered(raw)).map_err(|e| refuse(&format!("cannot be read as zstd: {e}")))?;
                Decoder::Zstd(Box::new(zstd))
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0] => Decoder::Xz(Box::new(XzReader::new(buffered(raw), true))),
            [b'B', b'Z', b'h', ..] | [b'P', b'K', 3, 4, ..] | [b'7', b'z', 0xbc, 0xaf, ..] => {
                return Err(refuse(&"is a bzip2, zip or 7z file; allowed are plain text, gzip, zstd and xz"));
            }
            _ if is_columnar(&head) => {
                return Err(refuse(
                    &"is a Parquet or Arrow file, which pumice's command and Python package decode; allowed here are text \
                      formats",
                ));
            }
            _ => Decoder::Plain(raw),
        };
        Ok((FileContent(decoder), metadata.is_file().then_some(metadata.len())))
    }

    fn raw(&self) -> &RawFile {
        match &self.0 {
            Decoder::Plain(raw) => raw,
            Decoder::Gzip(gzip) => gzip.get_ref().get_ref(),
            Decoder::Zstd(zstd) => zstd.get_ref().get_ref(),
            Decoder::Xz(xz) => xz.inner().get_ref(),
        }
    }

    fn raw_mut(&mut self) -> &mut RawFile {
        match &mut self.0 {
            Decoder::Plain(raw) => raw,
            Decoder::Gzip(gzip) => gzip.get_mut().get_mut(),
            Decoder::Zstd(zstd) => zstd.get_mut().get_mut(),
            Decoder::Xz(xz) => xz.inner_mut().get_mut(),
        }
    }

    /// How it is compressed.
    pub fn compression(&self) -> Compression {
        match &self.0 {
            Decoder::Plain(_) => Compression::None,
            Decoder::Gzip(_) => Compression::Gzip,
            Decoder::Zstd(_) => Compression::Zstd,
            Decoder::Xz(_) => Compression::Xz,
        }
    }

    /// Bytes of the file that the content handed on so far was made of.
    pub fn bytes_read(&self) -> u64 {
        let waiting = match &self.0 {
            Decoder::Plain(_) => 0,
            Decoder::Gzip(gzip) => gzip.get_ref().buffer().len(),
            Decoder::Zstd(zstd) => zstd.get_ref().buffer().len(),
            Decoder::Xz(xz) => xz.inner().buffer().len(),
        };
        self.raw().bytes_read - waiting as u64
    }

    /// SHA-256 of the whole file in hexadecimal, once its content was read to its end.
    pub fn digest(&mut self) -> io::Result<String> {
        let raw = self.raw_mut();
        if let Bytes::Memory(content, _) = &raw.bytes
            && let Some(digest) = &content.sha256
        {
            return Ok(digest.clone());
        }
        // A decompressor need not have asked for the file's very last bytes.
        io::copy(raw, &mut io::sink())?;
        Ok(hexadecimal(raw.hash.clone()))
    }
}

impl Read for FileContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Decoder::Plain(raw) => raw.read(buffer),
            Decoder::Gzip(gzip) => gzip.read(buffer),
            Decoder::Zstd(zstd) => zstd.read(buffer),
            Decoder::Xz(xz) => xz.read(buffer),
        }
    }
}

/// Whether a file that begins so is a Parquet, Feather or Arrow file.
pub fn is_columnar(head: &[u8]) -> bool {
    [&b"PAR1"[..], b"ARROW1", b"FEA1", b"\xff\xff\xff\xff"].iter().any(|magic| head.starts_with(magic))
}

fn zstd_decoder<R: io::BufRead>(raw: R) -> io::Result<zstd::stream::read::Decoder<'static, R>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(raw)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(decoder)
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of a file's bytes, in hexadecimal. For a trace that is read to its end,
/// [`Workload::facts`](crate::Workload::facts) gives it without a second reading.
pub fn file_digest(path: &Path) -> Result<String, TraceError> {
    let refuse = |e: io::Error| TraceError::in_file(TraceErrorKind::File, path, format!("cannot be read: {e}"));
    let mut file = File::open(path).map_err(refuse)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; RAW_CHUNK];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hexadecimal(hash)),
            Ok(count) => hash.update(&buffer[..count]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(refuse(e)),
        }
    }
}
