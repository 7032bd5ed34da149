//! Right and wrong answers to a question: which words count as the gold answer, and which other words of a passage
//! would be an answer of the same kind that is wrong.
//!
//! A label is only as good as this: "wrong" has to be wrong by value and not only in its letters, and must not be
//! another right answer, another name of it, or a part of it.

use std::collections::HashSet;
use std::ops::Range;

use counterproof_core::QuestionType;
use counterproof_text::mention::mentions;
use counterproof_text::normalise::{contains_phrase, squad};
use counterproof_text::question::{QuestionTyper as _, RuleTyper};
use counterproof_text::tokens::content_tokens;
use counterproof_text::value::{Comparison, Value, compare, values};

/// The right answers of one question.
pub(super) struct Golds {
    texts: Vec<String>,
    normal: Vec<String>,
    tokens: HashSet<String>,
    values: Vec<Value>,
    kind: Option<QuestionType>,
}

/// What an answer is by its own look, where the question does not tell.
fn kind_by_look(answer: &str) -> Option<QuestionType> {
    let found = values(answer);
    let covered: usize = found.iter().map(|f| f.span.len()).sum();
    if let Some(first) = found.first()
        && covered * 2 >= answer.len()
    {
        return Some(match &first.value {
            Value::Date(date) if date.is_year_only() => QuestionType::Year,
            Value::Date(_) => QuestionType::When,
            Value::Range(range) if matches!(range.low, Value::Date(_)) => QuestionType::When,
            _ => QuestionType::Number,
        });
    }
    let words: Vec<&str> =
        answer.split_whitespace().filter(|w| w.len() > 3 || w.chars().all(char::is_uppercase)).collect();
    let capital = |w: &&&str| w.chars().next().is_some_and(char::is_uppercase);
    let named =
        !words.is_empty() && words.len() <= 6 && words.iter().filter(capital).count() * 3 >= words.len() * 2;
    named.then_some(QuestionType::Entity)
}

fn fits(kind: QuestionType, answer: &str) -> bool {
    let look = kind_by_look(answer);
    match kind {
        QuestionType::Year => look == Some(QuestionType::Year),
        QuestionType::When => matches!(look, Some(QuestionType::Year | QuestionType::When)),
        QuestionType::Number => matches!(look, Some(QuestionType::Number | QuestionType::Year)),
        QuestionType::Who | QuestionType::Where | QuestionType::Entity => look == Some(QuestionType::Entity),
        QuestionType::YesNo | QuestionType::Other => false,
    }
}

impl Golds {
    pub(super) fn new(question: &str, texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let texts: Vec<String> =
            texts.into_iter().map(Into::into).filter(|t: &String| !t.trim().is_empty()).collect();
        let asked = RuleTyper.classify(question);
        let kind = if texts.is_empty() {
            (!matches!(asked, QuestionType::YesNo | QuestionType::Other)).then_some(asked)
        } else if texts.iter().any(|t| fits(asked, t)) {
            Some(asked)
        } else {
            texts.first().and_then(|t| kind_by_look(t))
        };
        Self {
            normal: texts.iter().map(|t| squad(t)).filter(|n| !n.is_empty()).collect(),
            tokens: texts.iter().flat_map(|t| content_tokens(t)).map(|t| stem(&t)).collect(),
            values: texts.iter().flat_map(|t| values(t)).map(|f| f.value).collect(),
            kind,
            texts,
        }
    }

    /// The kind of thing the answer is; `None` for a phrase that is no name, date or number.
    pub(super) fn kind(&self) -> Option<QuestionType> {
        self.kind
    }

    pub(super) fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Whether `text` says one of the answers in any of its forms.
    pub(super) fn said_in(&self, text: &str) -> bool {
        let normal = squad(text);
        if self.normal.iter().any(|gold| contains_phrase(&normal, gold)) {
            return true;
        }
        if self.values.is_empty() {
            return false;
        }
        let stated = values(text);
        self.values.iter().any(|gold| {
            stated
                .iter()
                .any(|s| matches!(compare(gold, &s.value), Comparison::Same | Comparison::Compatible))
        })
    }

    /// Whether some content word of an answer stands in `text`.
    pub(super) fn leaves_trace_in(&self, text: &str) -> bool {
        content_tokens(text).iter().any(|t| self.tokens.contains(&stem(t)))
    }

    /// Whether `candidate` is a different answer of the same kind: not the gold answer, not a part of it, no other
    /// wording of it. Without a gold answer every candidate differs.
    pub(super) fn differs(&self, candidate: &str) -> bool {
        let normal = squad(candidate);
        if normal.is_empty() || self.normal.is_empty() {
            return !normal.is_empty();
        }
        let related =
            self.normal.iter().any(|gold| contains_phrase(&normal, gold) || contains_phrase(gold, &normal));
        if related || self.texts.iter().any(|gold| is_acronym(gold, candidate) || is_acronym(candidate, gold))
        {
            return false;
        }
        match self.kind {
            Some(QuestionType::Year | QuestionType::When | QuestionType::Number)
                if !self.values.is_empty() =>
            {
                let said = values(candidate);
                !said.is_empty()
                    && said.iter().all(|s| {
                        self.values.iter().all(|gold| compare(gold, &s.value) == Comparison::Different)
                    })
            }
            _ => content_tokens(candidate).iter().all(|t| !self.tokens.contains(&stem(t))),
        }
    }

    /// The other answers of the same kind in `passage`, each once, in order: what a reader that does not bind answers
    /// to the question would give.
    ///
    /// Left out are what the question itself names, and what stands with a gold answer in one list, name or aside
    /// ("A, B and C", "Paris, France", "William Gates (Bill)"): that may be right too.
    pub(super) fn others_in(&self, passage: &str, question: &str) -> Vec<String> {
        let Some(kind) = self.kind else { return Vec::new() };
        let asked = squad(question);
        let asked_tokens: HashSet<String> = content_tokens(question).iter().map(|t| stem(t)).collect();
        let all = mentions(passage, kind);
        let spans: Vec<Range<usize>> = all.iter().map(|m| m.span.start()..m.span.end()).collect();
        // With the whole name around it: "Pierre" of "Pierre Curie".
        let mut golds: Vec<Range<usize>> = self.places_in(passage);
        for gold in &mut golds {
            for span in &spans {
                if span.start < gold.end && gold.start < span.end {
                    *gold = gold.start.min(span.start)..gold.end.max(span.end);
                }
            }
        }
        let mut seen = HashSet::new();
        let mut out = Vec::new();
        for mention in &all {
            let normal = squad(&mention.text);
            let place = mention.span.start()..mention.span.end();
            let named = contains_phrase(&asked, &normal)
                || content_tokens(&mention.text).iter().any(|t| asked_tokens.contains(&stem(t)));
            // A single word beside full names is most often no person at all.
            let person = kind != QuestionType::Who
                || mention.text.contains(' ')
                || self.texts.iter().all(|t| !t.trim().contains(' '));
            let plain =
                person && !mention.text.contains('\n') && mention.text.split_whitespace().count() <= 8;
            // What a text calls a thing by may be another name of the answer.
            let before: String = passage.get(..place.start).unwrap_or_default().to_lowercase();
            let before = before.trim_end_matches(|c: char| !c.is_alphanumeric());
            let before =
                before.strip_suffix(" the").or_else(|| before.strip_suffix("\"the")).unwrap_or(before);
            let before = before.trim_end_matches(|c: char| !c.is_alphanumeric());
            const CALLED: [&str; 6] = [" known as", " called", " nicknamed", " dubbed", " aka", " alias"];
            let alias = CALLED.iter().any(|w| before.ends_with(w));
            if plain
                && !alias
                && !named
                && self.differs(&mention.text)
                && !golds.iter().any(|gold| stand_together(passage, gold, &place, &spans))
                && is_like(kind, &mention.text, &self.texts)
                && seen.insert(normal)
            {
                out.push(mention.text.clone());
            }
        }
        out
    }

    /// Where gold answers stand in `passage`.
    fn places_in(&self, passage: &str) -> Vec<Range<usize>> {
        let lower = passage.to_lowercase();
        // Lower-casing keeps byte places in all but a few letters; a place that is off is none.
        let same_places = lower.len() == passage.len();
        let mut out = Vec::new();
        for gold in &self.texts {
            let (text, gold) =
                if same_places { (&lower, gold.to_lowercase()) } else { (&passage.to_owned(), gold.clone()) };
            out.extend(text.match_indices(gold.trim()).map(|(at, found)| at..at + found.len()));
        }
        for found in values(passage) {
            if self.values.iter().any(|v| compare(v, &found.value) == Comparison::Same) {
                out.push(found.span.start()..found.span.end());
            }
        }
        out
    }
}

/// A number answers like a number of the same unit, if any; other kinds answer alike.
fn is_like(kind: QuestionType, candidate: &str, golds: &[String]) -> bool {
    if kind != QuestionType::Number {
        return true;
    }
    let form = |text: &str| -> Option<&'static str> {
        values(text).first().map(|f| match &f.value {
            Value::Percent(_) => "percent",
            Value::Quantity(_) => "quantity",
            Value::Number(n) if n.ordinal => "ordinal",
            Value::Date(_) => "year",
            Value::Range(_) => "range",
            Value::Number(_) => "number",
        })
    };
    let said = form(candidate);
    golds.is_empty() || golds.iter().any(|gold| form(gold) == said)
}

/// Whether two places of a passage belong to one list, one name or one aside.
fn stand_together(passage: &str, a: &Range<usize>, b: &Range<usize>, mentions: &[Range<usize>]) -> bool {
    if a.start < b.end && b.start < a.end {
        return true;
    }
    let (left, right) = if a.start <= b.start { (a, b) } else { (b, a) };
    let Some(gap) = passage.get(left.end..right.start) else { return true };
    if gap.len() > 160 {
        return false;
    }
    // What is left of the gap without the other names in it.
    let mut rest = String::new();
    let mut at = left.end;
    for inner in mentions.iter().filter(|m| m.start >= left.end && m.end <= right.start) {
        rest.push_str(passage.get(at..inner.start.max(at)).unwrap_or_default());
        rest.push(' ');
        at = inner.end.max(at);
    }
    rest.push_str(passage.get(at..right.start).unwrap_or_default());
    const JOINTS: [&str; 26] = [
        "and",
        "or",
        "of",
        "in",
        "the",
        "a",
        "an",
        "also",
        "known",
        "as",
        "called",
        "named",
        "nicknamed",
        "née",
        "born",
        "aka",
        "formerly",
        "now",
        "then",
        "both",
        "well",
        "to",
        "from",
        "with",
        "alias",
        "near",
    ];
    let words: Vec<String> =
        rest.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase).collect();
    let one_clause = !rest.contains(['.', ';']);
    one_clause && words.iter().all(|w| JOINTS.contains(&w.as_str()))
}

/// Whether `short` is made of the first letters of `long`.
fn is_acronym(long: &str, short: &str) -> bool {
    let letters: String = short.chars().filter(|c| c.is_alphabetic()).collect();
    let initials: String = long
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| w.chars().next().is_some_and(char::is_uppercase))
        .filter_map(|w| w.chars().next())
        .collect();
    initials.chars().count() >= 2 && letters.chars().count() <= 6 && letters == initials
}

/// Enough of a stem to see that "Germans" and "German", "Denver" and "Denver's" are one.
fn stem(token: &str) -> String {
    let token = token.trim_end_matches("'s").trim_end_matches('s');
    token.chars().take(6).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn others(question: &str, gold: &[&str], passage: &str) -> Vec<String> {
        Golds::new(question, gold.iter().copied()).others_in(passage, question)
    }

    #[test]
    fn dates_of_the_same_passage_that_are_another_day() {
        let passage = "It was founded on 4 July 1890, opened in May 1913 and burned down in 1950. In 1890 it was small.";
        assert_eq!(others("When was it founded?", &["4 July 1890"], passage), ["May 1913", "1950"]);
    }

    #[test]
    fn persons_that_are_not_the_answer_under_another_name() {
        let passage = "William Henry Gates III (Bill) founded it with Paul Allen. Gates left in 2008, and Steve Ballmer followed him.";
        assert_eq!(
            others("Who left in 2008?", &["William Henry Gates III", "Gates"], passage),
            ["Paul Allen", "Steve Ballmer"]
        );
    }

    #[test]
    fn members_of_one_list_and_places_around_a_place_are_left_out() {
        let passage = "The cast was Anna Smith, Tom Jones and Eve Black. It was directed by Carl Gray.";
        assert_eq!(others("Who starred in it?", &["Anna Smith"], passage), ["Carl Gray"]);
        let passage = "She was born in Lyon, France, and died in Geneva.";
        assert_eq!(others("Where was she born?", &["Lyon"], passage), ["Geneva"]);
    }

    #[test]
    fn numbers_of_the_same_kind() {
        let passage =
            "It has 1,250 seats, 12 rooms and 30% of the rooms have a view; some 1250 seats are red.";
        let found = others("How many seats does it have?", &["1,250"], passage);
        assert!(found.contains(&"12".to_owned()), "{found:?}");
        assert!(found.iter().all(|f| !f.contains('%') && !f.contains("250")), "{found:?}");
    }

    #[test]
    fn what_the_question_names_is_no_other_answer() {
        let passage = "Marie Curie worked with Pierre Curie and Henri Becquerel.";
        assert_eq!(others("Who worked with Marie Curie?", &["Pierre"], passage), Vec::<String>::new());
        assert!(Golds::new("Which agency?", ["National Security Agency"]).differs("CIA"));
        assert!(!Golds::new("Which agency?", ["National Security Agency"]).differs("NSA"));
    }

    #[test]
    fn golds_are_found_by_value() {
        let golds = Golds::new("When?", ["January 15, 1967"]);
        assert!(golds.said_in("It was on 15 Jan. 1967.") && golds.said_in("It was in 1967."));
        assert!(!golds.said_in("It was in 1968."));
        assert_eq!(Golds::new("what is it", ["a kind of spirit"]).kind(), None);
        assert_eq!(Golds::new("what is it", ["Denver Broncos"]).kind(), Some(QuestionType::Entity));
    }
}
