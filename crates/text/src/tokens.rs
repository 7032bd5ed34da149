//! Words of a text and how far two texts share them.
//!
//! All measures work on tokens in SQuAD form; Chinese runs are parted into words by a dictionary, so that a Chinese
//! answer is compared word by word too.

use std::collections::{HashMap, HashSet};

use counterproof_core::ByteSpan;
use unicode_segmentation::UnicodeSegmentation;

use crate::han::{self, has_han, is_han, is_kana};
use crate::normalise::squad;
use crate::packs::{chinese, english};
use crate::value::{self, Comparison, Found, Value};

/// A word and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Where the word stands in the text.
    pub span: ByteSpan,
    /// The word in SQuAD form; empty for an article.
    pub normal: String,
}

/// The words of `text` with their normal forms.
pub fn tokens(text: &str) -> Vec<Token> {
    words(text)
        .into_iter()
        .map(|span| Token { span, normal: squad(span.slice(text).unwrap_or_default()) })
        .collect()
}

/// The words of `text` by Unicode UAX #29; runs of Chinese characters are parted by a dictionary. White space and
/// punctuation belong to no word.
pub fn words(text: &str) -> Vec<ByteSpan> {
    let chinese = has_han(text) && !text.chars().any(is_kana);
    if !chinese {
        return unicode_words(text, 0, text.len());
    }
    let mut out = Vec::new();
    let mut done = 0;
    for run in han::han_runs(text) {
        out.extend(unicode_words(text, done, run.start));
        let mut at = run.start;
        for word in han::segment(text.get(run.clone()).unwrap_or_default()) {
            out.extend(ByteSpan::new(at, at + word.len()));
            at += word.len();
        }
        done = run.end;
    }
    out.extend(unicode_words(text, done, text.len()));
    out
}

fn unicode_words(text: &str, start: usize, end: usize) -> Vec<ByteSpan> {
    text.get(start..end)
        .unwrap_or_default()
        .unicode_word_indices()
        .filter_map(|(at, word)| ByteSpan::new(start + at, start + at + word.len()))
        .collect()
}

/// The tokens of `text` in SQuAD form, Chinese runs parted into words.
pub fn normal_tokens(text: &str) -> Vec<String> {
    let normal = squad(text);
    if !has_han(&normal) || normal.chars().any(is_kana) {
        return normal.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
    }
    let mut out = Vec::new();
    for token in normal.split(' ') {
        let mut done = 0;
        for run in han::han_runs(token) {
            push_bare(token.get(done..run.start), &mut out);
            out.extend(
                han::segment(token.get(run.clone()).unwrap_or_default()).into_iter().map(str::to_owned),
            );
            done = run.end;
        }
        push_bare(token.get(done..), &mut out);
    }
    out
}

/// Keeps a piece between Chinese runs only when it holds a letter or a digit: full-width punctuation is no token.
fn push_bare(piece: Option<&str>, out: &mut Vec<String>) {
    out.extend(
        piece
            .filter(|p| p.chars().any(char::is_alphanumeric))
            .map(|p| p.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()),
    );
}

/// The tokens that carry content: [`normal_tokens`] without function words; all of them when nothing else is left.
pub fn content_tokens(text: &str) -> Vec<String> {
    let all = normal_tokens(text);
    let content: Vec<String> = all.iter().filter(|t| !is_function_word(t)).cloned().collect();
    if content.is_empty() { all } else { content }
}

fn is_function_word(token: &str) -> bool {
    english::STOP_WORDS.contains(&token) || chinese::FUNCTION_WORDS.contains(&token)
}

/// The share of the answer's content tokens that the evidence holds (CounterRefine, step 6), in 0..=1.
///
/// A number or date counts as shared when the evidence states the same value in other words (`Jan 15, 1967` for
/// `January 15, 1967`, `4523000` for `4.523 million`). An answer without a token has overlap 0.
pub fn overlap(answer: &str, evidence: &str) -> f64 {
    let content: HashSet<String> = content_tokens(answer).into_iter().collect();
    if content.is_empty() {
        return 0.0;
    }
    let evidence_normal = squad(evidence);
    let evidence_tokens: HashSet<&str> = evidence_normal.split(' ').collect();
    let is_shared = |token: &str| {
        evidence_tokens.contains(token)
            || token.chars().next().is_some_and(is_han) && evidence_normal.contains(token)
            || evidence_tokens.iter().any(|e| e.trim_matches(|c: char| !c.is_alphanumeric()) == token)
    };
    let mut missing: HashSet<&str> = content.iter().map(String::as_str).filter(|t| !is_shared(t)).collect();
    if !missing.is_empty() {
        let said = value::values(answer);
        if !said.is_empty() {
            let stated = value::values(evidence);
            for found in &said {
                if stated.iter().any(|s| states(&s.value, found)) {
                    for token in normal_tokens(found.span.slice(answer).unwrap_or_default()) {
                        missing.remove(token.as_str());
                    }
                }
            }
        }
    }
    (content.len() - missing.len()) as f64 / content.len() as f64
}

/// Whether a value of the evidence says everything that a value of the answer says.
fn states(evidence: &Value, answer: &Found) -> bool {
    match value::compare(&answer.value, evidence) {
        Comparison::Same => true,
        Comparison::Compatible => evidence.refines(&answer.value),
        _ => false,
    }
}

/// The share of the tokens of `snippet`, repeated ones counted as often as they stand, that `passage` holds; in
/// 0..=1, and 0 for a snippet without a token.
pub fn containment(snippet: &str, passage: &str) -> f64 {
    let snippet = comparison_tokens(snippet);
    if snippet.is_empty() {
        return 0.0;
    }
    let mut left: HashMap<String, usize> = HashMap::new();
    for token in comparison_tokens(passage) {
        *left.entry(token).or_default() += 1;
    }
    let found = snippet
        .iter()
        .filter(|token| match left.get_mut(*token) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        })
        .count();
    found as f64 / snippet.len() as f64
}

/// Tokens shared by two texts as a share of the tokens in either (sets); 1 when neither has any.
pub fn jaccard(a: &str, b: &str) -> f64 {
    let a: HashSet<String> = comparison_tokens(a).into_iter().collect();
    let b: HashSet<String> = comparison_tokens(b).into_iter().collect();
    let both = a.intersection(&b).count();
    let either = a.len() + b.len() - both;
    if either == 0 { 1.0 } else { both as f64 / either as f64 }
}

/// Tokens for comparing two stretches of text: SQuAD tokens, with pairs of neighbouring ideographs in place of
/// Chinese words, because where a snippet is cut changes how a dictionary parts it.
fn comparison_tokens(text: &str) -> Vec<String> {
    let normal = squad(text);
    if !has_han(&normal) {
        return normal.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
    }
    let mut out = Vec::new();
    for token in normal.split(' ') {
        let mut done = 0;
        for run in han::han_runs(token) {
            push_bare(token.get(done..run.start), &mut out);
            let run_text = token.get(run.clone()).unwrap_or_default();
            let chars: Vec<char> = run_text.chars().collect();
            if chars.len() == 1 {
                out.push(run_text.to_owned());
            }
            out.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
            done = run.end;
        }
        push_bare(token.get(done..), &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn word_list(text: &str) -> Vec<&str> {
        words(text).into_iter().map(|s| s.slice(text).unwrap()).collect()
    }

    #[test]
    fn words_of_english_and_chinese() {
        assert_eq!(word_list("It can't cost 3.5, can it?"), ["It", "can't", "cost", "3.5", "can", "it"]);
        assert_eq!(word_list("图书馆建于1952年。"), ["图书馆", "建于", "1952", "年"]);
        assert_eq!(tokens("The U.S.")[0].normal, "");
        assert_eq!(tokens("The U.S.")[1].normal, "us");
    }

    #[test]
    fn content_leaves_function_words_out_unless_nothing_else_is_left() {
        assert_eq!(content_tokens("The University of Paris"), ["university", "paris"]);
        assert_eq!(content_tokens("The Who"), ["who"]);
        assert_eq!(content_tokens("To be or not to be"), ["not"]);
        assert_eq!(content_tokens("北京的图书馆"), ["北京", "图书馆"]);
        assert_eq!(english::STOP_WORDS.len(), 40);
    }

    #[test]
    fn overlap_is_the_share_of_the_answer_that_the_evidence_holds() {
        assert_eq!(overlap("Marie Curie", "It was founded by Marie Curie in 1909."), 1.0);
        assert_eq!(overlap("Marie Curie", "It was founded by Pierre Curie."), 0.5);
        assert_eq!(overlap("Paris", "(Paris) “Paris”"), 1.0);
        assert_eq!(overlap("", "anything"), 0.0);
        assert_eq!(overlap("北京", "北京大学建于1898年"), 1.0);
    }

    #[test]
    fn values_are_shared_by_value() {
        for (answer, evidence) in [
            ("Jan 15, 1967", "played on January 15, 1967, at the Los Angeles Memorial Coliseum"),
            ("January 1967", "It was played on 15 Jan. 1967."),
            ("4523000", "The town has 4,523,000 inhabitants."),
            ("4.523 million", "The town has 4,523,000 inhabitants."),
            ("twelve", "It has 12 members."),
            ("2019年3月5日", "于二〇一九年三月五日开幕"),
        ] {
            assert_eq!(overlap(answer, evidence), 1.0, "{answer} / {evidence}");
        }
        assert!(overlap("Jan 15, 1967", "It was played on January 16, 1968.") < 0.5);
        assert!(overlap("January 15, 1967", "It was played in 1967.") < 0.5);
    }

    #[test]
    fn containment_counts_repeated_tokens() {
        assert_eq!(containment("the laboratory was founded", "In 1913 the laboratory was founded."), 1.0);
        assert_eq!(containment("one one", "one"), 0.5);
        assert_eq!(containment("", "one"), 0.0);
        assert_eq!(containment("图书馆建于", "老图书馆建于1952年"), 1.0);
    }

    #[test]
    fn jaccard_of_sets() {
        assert_eq!(jaccard("a b c", "b c d"), 2.0 / 3.0);
        assert_eq!(jaccard("", ""), 1.0);
        assert_eq!(jaccard("x", ""), 0.0);
    }

    proptest! {
        #[test]
        fn words_slice_and_are_ordered(text in "[a-zA-Z0-9 .,'国家图书馆年é！]{0,60}") {
            let mut end = 0;
            for span in words(&text) {
                prop_assert!(span.start() >= end && !span.slice(&text).unwrap().is_empty());
                end = span.end();
            }
        }

        #[test]
        fn measures_stay_between_nought_and_one(a in ".{0,40}", b in ".{0,40}") {
            for x in [overlap(&a, &b), containment(&a, &b), jaccard(&a, &b)] {
                prop_assert!((0.0..=1.0).contains(&x));
            }
            prop_assert_eq!(jaccard(&a, &b), jaccard(&b, &a));
        }
    }
}
