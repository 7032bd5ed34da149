//! Parts of a text that is longer than a model's window.

use std::ops::Range;

use counterproof_text::sentences::sentences;

use crate::pairs::Tokens;

/// Ranges of the tokens of `text`, at most `room` long, that together hold all of them. They begin and end at sentences,
/// and each begins with the last sentence of the one before where that leaves room for a new one, so that what two
/// neighbouring sentences say together is seen together. Only a sentence longer than the window is cut, with half of
/// the window repeated.
pub(crate) fn by_sentences(text: &str, tokens: &Tokens, room: usize) -> Vec<Range<usize>> {
    let (count, room) = (tokens.ids.len(), room.max(1));
    if count <= room {
        return std::iter::once(0..count).collect();
    }
    let mut units: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let ends = sentences(text).into_iter().map(|sentence| sentence.end());
    for end in ends.map(|end| tokens.offsets.partition_point(|(from, _)| *from < end)).chain([count]) {
        if end > start {
            units.extend(
                by_stride(end - start, room, room / 2).into_iter().map(|r| start + r.start..start + r.end),
            );
            start = end;
        }
    }
    let mut windows: Vec<Range<usize>> = Vec::new();
    for (i, unit) in units.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| units.get(i)).map_or(unit.start, |before| before.start);
        match windows.last_mut() {
            Some(window) if unit.end - window.start <= room => window.end = unit.end,
            Some(_) if unit.end - before <= room => windows.push(before..unit.end),
            _ => windows.push(unit.clone()),
        }
    }
    windows
}

/// Ranges of `room` places that together hold `0..count`, each repeating the last `overlap` of the one before.
pub(crate) fn by_stride(count: usize, room: usize, overlap: usize) -> Vec<Range<usize>> {
    let room = room.max(1);
    let stride = room.saturating_sub(overlap).max(1);
    let mut ranges = Vec::new();
    let mut start = 0;
    loop {
        let end = (start + room).min(count);
        ranges.push(start..end);
        if end == count {
            return ranges;
        }
        start += stride;
    }
}

#[cfg(test)]
mod tests {
    // A list of one range is what is meant.
    #![allow(clippy::single_range_in_vec_init)]

    use super::*;

    /// A token a word.
    fn words(text: &str) -> Tokens {
        let mut tokens = Tokens::default();
        let mut end = 0;
        for word in text.split_inclusive(' ') {
            let start = end;
            end += word.len();
            tokens.ids.push(1);
            tokens.offsets.push((start, start + word.trim_end().len()));
        }
        tokens
    }

    #[test]
    fn windows_end_at_sentences_and_share_one() {
        let text = "One two three. Four five six. Seven eight nine. Ten.";
        let tokens = words(text);
        assert_eq!(by_sentences(text, &tokens, 10), [0..10]);
        assert_eq!(by_sentences(text, &tokens, 6), [0..6, 3..9, 6..10]);
        assert_eq!(by_sentences(text, &tokens, 4), [0..3, 3..6, 6..10]);
    }

    #[test]
    fn a_sentence_longer_than_the_window_is_cut_and_nothing_is_lost() {
        let text = "a ".repeat(25) + "end. Short one here.";
        let tokens = words(&text);
        let windows = by_sentences(&text, &tokens, 8);
        assert!(windows.iter().all(|window| window.len() <= 8), "{windows:?}");
        let mut covered = 0;
        for window in &windows {
            assert!(window.start <= covered && window.end > covered, "{windows:?}");
            covered = window.end;
        }
        assert_eq!(covered, tokens.ids.len());
    }

    #[test]
    fn strides_cover_everything() {
        assert_eq!(by_stride(10, 4, 2), [0..4, 2..6, 4..8, 6..10]);
        assert_eq!(by_stride(3, 4, 2), [0..3]);
        assert_eq!(by_stride(0, 4, 2), [0..0]);
        assert_eq!(by_stride(5, 1, 3), [0..1, 1..2, 2..3, 3..4, 4..5]);
    }
}
