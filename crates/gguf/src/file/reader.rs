//! Reads the header of a GGUF file. Every length is checked against the bytes that are left before anything is
//! allocated, so that a damaged or hostile file ends in a message and not in a crash.

use std::collections::HashMap;

use super::TensorInfo;

const MAGIC: &[u8; 4] = b"GGUF";
const DEFAULT_ALIGNMENT: u64 = 32;
/// Arrays of arrays deeper than this are not found in real files.
const MAX_DEPTH: u32 = 4;

/// A value of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    Numbers(Vec<f64>),
    Other,
}

impl Value {
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Unsigned(n) => Some(*n),
            Self::Signed(n) => u64::try_from(*n).ok(),
            _ => None,
        }
    }

    pub(crate) fn as_f32(&self) -> Option<f32> {
        match self {
            Self::Float(x) => Some(*x as f32),
            Self::Unsigned(n) => Some(*n as f32),
            Self::Signed(n) => Some(*n as f32),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(b) => Some(*b),
            Self::Unsigned(n) => Some(*n != 0),
            _ => None,
        }
    }

    pub(crate) fn as_texts(&self) -> Option<&[String]> {
        match self {
            Self::Texts(texts) => Some(texts),
            _ => None,
        }
    }

    pub(crate) fn as_numbers(&self) -> Option<&[f64]> {
        match self {
            Self::Numbers(numbers) => Some(numbers),
            _ => None,
        }
    }
}

/// What stands before the tensor data.
pub(super) struct Header {
    pub(super) metadata: HashMap<String, Value>,
    pub(super) tensors: HashMap<String, TensorInfo>,
    pub(super) data_start: usize,
}

/// Reads the header, or says what is wrong with it.
pub(super) fn read_header(bytes: &[u8]) -> Result<Header, String> {
    let mut cursor = Cursor { bytes, at: 0 };
    if cursor.take(4)? != MAGIC {
        return Err("it is not a GGUF file (it does not begin with \"GGUF\")".to_owned());
    }
    let version = cursor.u32()?;
    if !(2..=3).contains(&version) {
        return Err(format!("it has GGUF version {version}; supported are 2 and 3, little endian"));
    }
    let tensor_count = cursor.u64()?;
    let value_count = cursor.u64()?;
    let mut metadata = HashMap::new();
    for _ in 0..value_count {
        let key = cursor.text()?;
        let kind = cursor.u32()?;
        let value = cursor.value(kind, 0)?;
        metadata.insert(key, value);
    }
    let mut tensors = HashMap::new();
    for _ in 0..tensor_count {
        let name = cursor.text()?;
        let rank = cursor.u32()?;
        if rank > 4 {
            return Err(format!("tensor {name} has {rank} dimensions"));
        }
        let mut dims = Vec::with_capacity(rank as usize);
        for _ in 0..rank {
            dims.push(usize::try_from(cursor.u64()?).map_err(|_| format!("tensor {name} is too large"))?);
        }
        let type_id = cursor.u32()?;
        let offset = cursor.u64()?;
        tensors.insert(name, TensorInfo { dims, type_id, offset });
    }
    let alignment = metadata.get("general.alignment").and_then(Value::as_u64).unwrap_or(DEFAULT_ALIGNMENT);
    if alignment == 0 || alignment > 1 << 20 {
        return Err(format!("it has the impossible alignment {alignment}"));
    }
    let data_start = (cursor.at as u64).next_multiple_of(alignment) as usize;
    if tensor_count > 0 && data_start > bytes.len() {
        return Err("it is cut off after the header".to_owned());
    }
    Ok(Header { metadata, tensors, data_start })
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(n);
        let piece = end
            .and_then(|end| self.bytes.get(self.at..end))
            .ok_or_else(|| format!("it is cut off in the header, at byte {}", self.at))?;
        self.at += n;
        Ok(piece)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N)?.try_into().map_err(|_| "it cannot be read".to_owned())
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn text(&mut self) -> Result<String, String> {
        let len = usize::try_from(self.u64()?).unwrap_or(usize::MAX);
        Ok(String::from_utf8_lossy(self.take(len)?).into_owned())
    }

    fn value(&mut self, kind: u32, depth: u32) -> Result<Value, String> {
        Ok(match kind {
            0 => Value::Unsigned(u64::from(u8::from_le_bytes(self.array()?))),
            1 => Value::Signed(i64::from(i8::from_le_bytes(self.array()?))),
            2 => Value::Unsigned(u64::from(u16::from_le_bytes(self.array()?))),
            3 => Value::Signed(i64::from(i16::from_le_bytes(self.array()?))),
            4 => Value::Unsigned(u64::from(self.u32()?)),
            5 => Value::Signed(i64::from(i32::from_le_bytes(self.array()?))),
            6 => Value::Float(f64::from(f32::from_le_bytes(self.array()?))),
            7 => Value::Bool(u8::from_le_bytes(self.array()?) != 0),
            8 => Value::Text(self.text()?),
            9 => self.list(depth)?,
            10 => Value::Unsigned(self.u64()?),
            11 => Value::Signed(i64::from_le_bytes(self.array()?)),
            12 => Value::Float(f64::from_le_bytes(self.array()?)),
            other => return Err(format!("its metadata holds a value of the unknown type {other}")),
        })
    }

    fn list(&mut self, depth: u32) -> Result<Value, String> {
        if depth >= MAX_DEPTH {
            return Err("its metadata holds lists within lists without end".to_owned());
        }
        let kind = self.u32()?;
        let len = self.u64()?;
        // No element takes less than a byte, so a longer list cannot be whole.
        if len > (self.bytes.len() - self.at.min(self.bytes.len())) as u64 {
            return Err(format!("its metadata holds a list of {len} values that does not fit in the file"));
        }
        match kind {
            8 => (0..len).map(|_| self.text()).collect::<Result<Vec<_>, _>>().map(Value::Texts),
            9 => {
                for _ in 0..len {
                    self.list(depth + 1)?;
                }
                Ok(Value::Other)
            }
            _ => {
                let mut numbers = Vec::new();
                for _ in 0..len {
                    numbers.push(match self.value(kind, depth + 1)? {
                        Value::Unsigned(n) => n as f64,
                        Value::Signed(n) => n as f64,
                        Value::Float(x) => x,
                        Value::Bool(b) => f64::from(u8::from(b)),
                        _ => return Err("its metadata holds a list that cannot be read".to_owned()),
                    });
                }
                Ok(Value::Numbers(numbers))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &mut Vec<u8>, s: &str) {
        bytes.extend((s.len() as u64).to_le_bytes());
        bytes.extend(s.as_bytes());
    }

    fn sample() -> Vec<u8> {
        let mut b = b"GGUF".to_vec();
        b.extend(3u32.to_le_bytes());
        b.extend(1u64.to_le_bytes());
        b.extend(2u64.to_le_bytes());
        text(&mut b, "general.architecture");
        b.extend(8u32.to_le_bytes());
        text(&mut b, "llama");
        text(&mut b, "tokens");
        b.extend(9u32.to_le_bytes());
        b.extend(8u32.to_le_bytes());
        b.extend(2u64.to_le_bytes());
        text(&mut b, "a");
        text(&mut b, "bé");
        text(&mut b, "w");
        b.extend(2u32.to_le_bytes());
        b.extend(4u64.to_le_bytes());
        b.extend(3u64.to_le_bytes());
        b.extend(0u32.to_le_bytes());
        b.extend(64u64.to_le_bytes());
        b.resize(b.len().next_multiple_of(32), 0);
        b
    }

    #[test]
    fn reads_metadata_and_tensors() {
        let bytes = sample();
        let header = read_header(&bytes).unwrap();
        assert_eq!(header.metadata["general.architecture"].as_str(), Some("llama"));
        assert_eq!(header.metadata["tokens"].as_texts().unwrap(), ["a", "bé"]);
        assert_eq!(header.tensors["w"].dims, [4, 3]);
        assert_eq!(header.tensors["w"].offset, 64);
        assert_eq!(header.data_start, bytes.len());
    }

    #[test]
    fn every_cut_is_noticed() {
        let bytes = sample();
        let header_end = bytes.iter().rposition(|b| *b == 64).unwrap() + 8;
        for len in 0..header_end {
            assert!(read_header(&bytes[..len]).is_err(), "cut at {len}");
        }
    }

    #[test]
    fn a_lying_length_allocates_nothing() {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        bytes.extend(1u64.to_le_bytes());
        text(&mut bytes, "k");
        bytes.extend(9u32.to_le_bytes());
        bytes.extend(4u32.to_le_bytes());
        bytes.extend(u64::MAX.to_le_bytes());
        assert!(read_header(&bytes).err().unwrap().contains("does not fit"));
    }
}
