//! A set of row numbers, one bit each: which rows of a segment are deleted.

/// Bits in the order of the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    pub(crate) fn contains(&self, row: u32) -> bool {
        self.words.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Adds a row; false when it was there already.
    pub(crate) fn insert(&mut self, row: u32) -> bool {
        let at = row as usize / 64;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        let Some(word) = self.words.get_mut(at) else { return false };
        let new = *word >> (row % 64) & 1 == 0;
        *word |= 1 << (row % 64);
        self.len += usize::from(new);
        new
    }

    /// How many rows it holds.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let len = words.iter().map(|word| word.count_ones() as usize).sum();
        Self { words, len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_survives_its_bytes() {
        let mut set = Bitmap::default();
        assert!(set.insert(3) && set.insert(200) && !set.insert(3));
        let again = Bitmap::from_bytes(&set.to_bytes());
        assert_eq!(again, set);
        assert_eq!(again.len(), 2);
        assert!(again.contains(200) && !again.contains(199) && !again.contains(100_000));
    }
}
