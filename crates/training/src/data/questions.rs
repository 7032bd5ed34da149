//! Questions with a passage, whatever set they come from, in one form.

use std::collections::HashMap;
use std::ops::Range;

use counterproof_datasets::claims::Evidence;
use counterproof_datasets::questions::{DocumentKind, HotpotQuestion, RamDocsQuestion};
use counterproof_datasets::spans::SpanQuestion;
use counterproof_datasets::{Collection, Key, Split, Splits};
use counterproof_text::normalise::squad;

use super::answers::Golds;

/// A question with one passage.
pub(super) struct Asked {
    /// The data set.
    pub(super) set: &'static str,
    pub(super) question: String,
    pub(super) group: Key,
    pub(super) split: Split,
    pub(super) passage: Evidence,
    /// The answers that the passage gives; no text in it where it gives none.
    pub(super) given: Golds,
    /// Where they stand in the passage, first places first.
    pub(super) places: Vec<Range<usize>>,
    /// Answers that other passages give to the same question.
    pub(super) rivals: Vec<String>,
    /// Answers to other questions about the same passage.
    pub(super) siblings: Vec<String>,
    /// Whether the answer needs the whole passage (several hops), so that it must not be cut.
    pub(super) whole: bool,
}

impl Asked {
    /// Whether the passage gives an answer.
    pub(super) fn is_answered(&self) -> bool {
        !self.places.is_empty()
    }
}

/// The answers of a question longer than this are explanations, which the template does not fit.
const LONGEST_ANSWER: usize = 12;

fn is_short(answer: &str) -> bool {
    (1..=LONGEST_ANSWER).contains(&answer.split_whitespace().count())
}

/// Where `answers` stand in `text`, whatever their case.
fn places(text: &str, answers: &[impl AsRef<str>]) -> Vec<Range<usize>> {
    let lower = text.to_lowercase();
    let (text, fold) = if lower.len() == text.len() { (lower.as_str(), true) } else { (text, false) };
    let mut out: Vec<Range<usize>> = Vec::new();
    for answer in answers {
        let answer = answer.as_ref().trim();
        let wanted = if fold { answer.to_lowercase() } else { answer.to_owned() };
        let inner = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        for (at, found) in text.match_indices(&wanted).filter(|(_, f)| !f.is_empty()) {
            let end = at + found.len();
            let before = text.get(..at).and_then(|t| t.chars().next_back());
            let after = text.get(end..).and_then(|t| t.chars().next());
            if !inner(before) && !inner(after) {
                out.push(at..end);
            }
        }
    }
    out.sort_by_key(|r| (r.start, std::cmp::Reverse(r.end)));
    out.dedup();
    out
}

/// Every question of the collection with a passage, in a fixed order.
pub(super) fn all(data: &Collection, splits: &Splits) -> Vec<Asked> {
    let mut out = pool(&data.spans_en, splits);
    for row in &data.nq_oracle {
        let given: Vec<&String> = row.answers.iter().filter(|a| is_short(a)).collect();
        let places = places(&row.passage.text, &given);
        if places.is_empty() {
            continue;
        }
        out.push(Asked {
            set: "nq",
            given: Golds::new(&row.question, given.into_iter().cloned()),
            places,
            ..asked(splits, &row.question, row.passage.clone())
        });
    }
    out.extend(data.hotpotqa.iter().filter_map(|row| several_hops(row, splits)));
    for row in &data.hotpotqa_adversarial {
        let mut texts: Vec<&Evidence> = Vec::new();
        for piece in &row.rationale {
            if !texts.contains(&piece) {
                texts.push(piece);
            }
        }
        let text =
            counterproof_datasets::claims::join_evidence(&texts.into_iter().cloned().collect::<Vec<_>>());
        let places = places(&text, &[&row.answer]);
        if places.is_empty() || !is_short(&row.answer) {
            continue;
        }
        out.push(Asked {
            set: "hotpotqa-adversarial",
            given: Golds::new(&row.question, [row.answer.clone()]),
            places,
            whole: true,
            ..asked(splits, &row.question, Evidence { title: String::new(), text })
        });
    }
    out.extend(data.ramdocs.iter().flat_map(|row| documents(row, splits)));
    for row in &data.multispanqa {
        let answers: Vec<String> = row.answers().filter(|a| is_short(a)).map(str::to_owned).collect();
        if answers.is_empty() {
            continue;
        }
        out.push(Asked {
            set: "multispanqa",
            given: Golds::new(&row.question, answers),
            places: row.spans.clone(),
            ..asked(splits, &row.question, Evidence { title: String::new(), text: row.context.clone() })
        });
    }
    for row in &data.conflictnq {
        let real = row.passages.iter().map(|text| (text, &row.answer, &row.fake_answer));
        let fake = row.fake_passages.iter().map(|text| (text, &row.fake_answer, &row.answer));
        for (text, answer, rival) in real.chain(fake) {
            let places = places(text, &[answer]);
            if places.is_empty() || !is_short(answer) {
                continue;
            }
            out.push(Asked {
                set: "conflictnq",
                given: Golds::new(&row.question, [answer.clone()]),
                places,
                rivals: vec![rival.clone()],
                // The question stands in two wordings; the one people typed names it.
                group: Key::of(&row.question),
                split: splits.of(&row.question),
                ..asked(splits, &row.cleaned_question, Evidence { title: String::new(), text: text.clone() })
            });
        }
    }
    out
}

fn asked(splits: &Splits, question: &str, passage: Evidence) -> Asked {
    let group = Key::of(question);
    Asked {
        set: "",
        question: question.to_owned(),
        split: splits.of_key(&group),
        group,
        passage,
        given: Golds::new(question, std::iter::empty::<String>()),
        places: Vec::new(),
        rivals: Vec::new(),
        siblings: Vec::new(),
        whole: false,
    }
}

/// The pool: SQuAD and QED. Questions about one paragraph are each other's siblings.
fn pool(rows: &[SpanQuestion], splits: &Splits) -> Vec<Asked> {
    let mut by_context: HashMap<&str, Vec<&SpanQuestion>> = HashMap::new();
    for row in rows {
        by_context.entry(&row.context).or_default().push(row);
    }
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        let mut given: Vec<String> = Vec::new();
        for text in row.answer_texts().filter(|t| is_short(t)) {
            if !given.iter().any(|g| squad(g) == squad(text)) {
                given.push(text.to_owned());
            }
        }
        if given.is_empty() && !row.is_impossible() {
            continue;
        }
        let others =
            by_context.get(row.context.as_str()).into_iter().flatten().filter(|r| r.question != row.question);
        let siblings = others
            .filter_map(|r| r.answer_texts().next())
            .filter(|t| is_short(t))
            .map(str::to_owned)
            .collect();
        out.push(Asked {
            set: if row.source.starts_with("qed") { "qed" } else { "squad" },
            given: Golds::new(&row.question, given),
            places: row.answers.clone(),
            siblings,
            ..asked(splits, &row.question, Evidence { title: String::new(), text: row.context.clone() })
        });
    }
    out
}

/// A question of HotpotQA over the sentences that support its answer.
fn several_hops(row: &HotpotQuestion, splits: &Splits) -> Option<Asked> {
    let mut pieces: Vec<Evidence> = Vec::new();
    for paragraph in &row.paragraphs {
        // From the first sentence on, which says what the paragraph is about.
        let last = paragraph.supporting.iter().max();
        for sentence in last.and_then(|l| paragraph.sentences.get(..=*l)).unwrap_or_default() {
            pieces.push(Evidence { title: paragraph.title.clone(), text: sentence.clone() });
        }
    }
    let text = counterproof_datasets::claims::join_evidence(&pieces);
    let places = places(&text, &[&row.answer]);
    (!places.is_empty() && is_short(&row.answer)).then(|| Asked {
        set: "hotpotqa",
        given: Golds::new(&row.question, [row.answer.clone()]),
        places,
        whole: true,
        ..asked(splits, &row.question, Evidence { title: String::new(), text })
    })
}

/// Each document of RAMDocs gives its own answer, right or wrong; the verifier has to say what the document says.
fn documents(row: &RamDocsQuestion, splits: &Splits) -> Vec<Asked> {
    let every: Vec<String> = row.gold_answers.iter().chain(&row.wrong_answers).cloned().collect();
    let mut out = Vec::new();
    for document in &row.documents {
        let Some(answer) =
            document.answer.as_ref().filter(|a| document.kind != DocumentKind::Noise && is_short(a))
        else {
            continue;
        };
        let places = places(&document.text, &[answer]);
        if places.is_empty() {
            continue;
        }
        let own = Golds::new(&row.question, [answer.clone()]);
        let rivals = every.iter().filter(|other| own.differs(other)).cloned().collect();
        out.push(Asked {
            set: "ramdocs",
            given: own,
            places,
            rivals,
            ..asked(splits, &row.question, Evidence { title: String::new(), text: document.text.clone() })
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_as_whole_words_in_any_case() {
        assert_eq!(places("Rome and romeo, ROME.", &["rome"]), [0..4, 16..20]);
        assert_eq!(places("İstanbul Rome", &["Rome"]).len(), 1);
        assert!(places("Rome", &[""]).is_empty());
    }
}
