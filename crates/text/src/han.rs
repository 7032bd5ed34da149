//! Chinese characters and the word segmenter for them, loaded once and only when Chinese text is met.

use std::ops::Range;
use std::sync::LazyLock;

use jieba_rs::Jieba;

/// The embedded dictionary takes a noticeable part of a second and tens of megabytes to load: English-only users
/// never pay for it.
static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// Runs longer than this are cut in pieces before segmentation, which keeps its tables small on enormous input.
const MAX_RUN: usize = 4096;

/// Whether `c` is a CJK ideograph (or the ideographic zero).
pub(crate) fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '〇' | '々')
}

/// Whether `c` is Japanese kana.
pub(crate) fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{ff66}'..='\u{ff9d}')
}

/// Whether the text holds an ideograph.
pub(crate) fn has_han(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(is_han)
}

/// Byte ranges of the maximal runs of ideographs, each at most [`MAX_RUN`] characters long.
pub(crate) fn han_runs(text: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut length = 0;
    for (at, c) in text.char_indices() {
        if !is_han(c) {
            length = 0;
            continue;
        }
        let end = at + c.len_utf8();
        match runs.last_mut() {
            Some(run) if length > 0 && length < MAX_RUN && run.end == at => run.end = end,
            _ => {
                runs.push(at..end);
                length = 0;
            }
        }
        length += 1;
    }
    runs
}

/// The words of a run of ideographs, as slices of it.
pub(crate) fn segment(run: &str) -> Vec<&str> {
    JIEBA.cut(run, true).into_iter().map(|token| token.word).collect()
}

/// The words of a run of ideographs with their part of speech in the dictionary's tag set (`nr` person, `ns` place,
/// `nt` organisation, ...).
pub(crate) fn tag(run: &str) -> Vec<(&str, &str)> {
    JIEBA.tag(run, true).into_iter().map(|tag| (tag.word, tag.tag)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_words_are_slices_of_the_text() {
        let text = "图书馆 built in 北京市。";
        let runs: Vec<&str> = han_runs(text).into_iter().map(|r| &text[r]).collect();
        assert_eq!(runs, ["图书馆", "北京市"]);
        assert_eq!(segment("图书馆建于北京").concat(), "图书馆建于北京");
    }

    #[test]
    fn an_enormous_run_is_cut_in_pieces() {
        let text = "中".repeat(MAX_RUN * 2 + 5);
        let runs = han_runs(&text);
        assert_eq!(runs.len(), 3);
        assert_eq!(runs.iter().map(|r| r.len()).sum::<usize>(), text.len());
    }
}
