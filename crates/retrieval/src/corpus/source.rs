//! The bytes of a file as UTF-8: counted for the progress, unpacked, and turned from UTF-16 where a byte order mark
//! says so.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::Progress;

/// A buffered stream of bytes that are meant to be UTF-8.
pub(super) type Source = Box<dyn BufRead + Send>;

const BUFFER: usize = 256 << 10;

/// Counts what is read from the file itself, before it is unpacked.
struct Counted<R> {
    inner: R,
    progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.progress.advance(n as u64);
        Ok(n)
    }
}

pub(super) fn open(path: &Path, progress: &Progress) -> io::Result<Source> {
    let file = Counted { inner: File::open(path)?, progress: progress.clone() };
    decode(BufReader::with_capacity(BUFFER, file))
}

/// Unpacks gzip and decodes UTF-16, each told by its first bytes and not by the name of the file.
pub(super) fn decode(mut raw: impl BufRead + Send + 'static) -> io::Result<Source> {
    if raw.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return decode_text(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw)));
    }
    decode_text(raw)
}

fn decode_text(mut raw: impl BufRead + Send + 'static) -> io::Result<Source> {
    let start = raw.fill_buf()?;
    if start.starts_with(&[0xef, 0xbb, 0xbf]) {
        raw.consume(3);
        return Ok(Box::new(raw));
    }
    let little_endian = match start {
        [0xff, 0xfe, ..] => true,
        [0xfe, 0xff, ..] => false,
        _ => return Ok(Box::new(raw)),
    };
    raw.consume(2);
    let utf16 = Utf16 { inner: raw, little_endian, held: None, out: Vec::new(), given: 0 };
    Ok(Box::new(BufReader::with_capacity(BUFFER, utf16)))
}

/// UTF-16 read as UTF-8. A surrogate without its partner, or half a unit at the end, becomes U+FFFD.
struct Utf16<R> {
    inner: R,
    little_endian: bool,
    /// A unit that was read ahead: a high surrogate's missing partner.
    held: Option<u16>,
    out: Vec<u8>,
    given: usize,
}

impl<R: BufRead> Utf16<R> {
    fn unit(&mut self) -> io::Result<Option<u16>> {
        if let Some(unit) = self.held.take() {
            return Ok(Some(unit));
        }
        let mut bytes = [0u8; 2];
        let mut n = 0;
        while let Some(rest) = bytes.get_mut(n..).filter(|rest| !rest.is_empty()) {
            match self.inner.read(rest)? {
                0 if n == 0 => return Ok(None),
                0 => return Ok(Some(0xfffd)),
                read => n += read,
            }
        }
        Ok(Some(if self.little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }))
    }

    fn fill(&mut self) -> io::Result<()> {
        self.out.clear();
        self.given = 0;
        while self.out.len() < 8 << 10 {
            let Some(unit) = self.unit()? else { break };
            let c = if (0xd800..0xdc00).contains(&unit) {
                match self.unit()? {
                    Some(low @ 0xdc00..0xe000) => {
                        let code = 0x10000 + ((u32::from(unit) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                        char::from_u32(code)
                    }
                    other => {
                        self.held = other;
                        None
                    }
                }
            } else {
                char::from_u32(u32::from(unit))
            };
            let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
            self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Utf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.out.len() {
            self.fill()?;
        }
        let mut rest = self.out.get(self.given..).unwrap_or_default();
        let n = rest.read(buffer)?;
        self.given += n;
        Ok(n)
    }
}

/// Reads a whole source, or `None` when it is larger than `max` bytes.
pub(super) fn read_all(source: &mut Source, max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.by_ref().take(max as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= max).then_some(bytes))
}
