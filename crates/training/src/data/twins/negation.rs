//! A negation more or less, where English puts it: behind the first auxiliary of the main clause, or with "did" and
//! "does" before the plain form of the verb.

use std::ops::Range;

const AUXILIARIES: &[&str] = &["is", "was", "are", "were", "can", "could", "will", "would", "must", "should"];
/// Auxiliaries only before a participle.
const PERFECT: &[&str] = &["has", "have", "had"];
/// Words after which "not" does not simply negate the sentence.
const QUANTIFIERS: &[&str] = &[
    "all",
    "every",
    "some",
    "any",
    "only",
    "never",
    "no",
    "not",
    "both",
    "either",
    "neither",
    "nor",
    "nobody",
    "none",
    "nothing",
    "few",
    "most",
    "many",
    "always",
    "often",
    "sometimes",
    "also",
    "each",
    "several",
    "without",
    "cannot",
    "hardly",
    "because",
    "may",
    "least",
    "n't",
    "already",
    "still",
    "just",
    "almost",
    "even",
];
/// Words that open a clause inside the subject.
const CLAUSES: &[&str] = &[
    "who", "which", "that", "where", "when", "while", "although", "if", "whose", "as", "since", "after",
    "before", "and", "but",
];

/// Verbs in the past and the present with their plain form.
const VERBS: &[(&str, &str)] = &[
    ("won", "win"),
    ("starred", "star"),
    ("played", "play"),
    ("directed", "direct"),
    ("wrote", "write"),
    ("released", "release"),
    ("recorded", "record"),
    ("became", "become"),
    ("began", "begin"),
    ("made", "make"),
    ("took", "take"),
    ("worked", "work"),
    ("appeared", "appear"),
    ("died", "die"),
    ("lived", "live"),
    ("married", "marry"),
    ("founded", "found"),
    ("sold", "sell"),
    ("received", "receive"),
    ("featured", "feature"),
    ("performed", "perform"),
    ("served", "serve"),
    ("opened", "open"),
    ("moved", "move"),
    ("sang", "sing"),
    ("lost", "lose"),
    ("joined", "join"),
    ("published", "publish"),
    ("created", "create"),
    ("produced", "produce"),
    ("earned", "earn"),
    ("attended", "attend"),
    ("graduated", "graduate"),
    ("spent", "spend"),
    ("defeated", "defeat"),
    ("grew", "grow"),
    ("went", "go"),
    ("came", "come"),
    ("ran", "run"),
    ("gave", "give"),
    ("held", "hold"),
    ("included", "include"),
    ("contained", "contain"),
    ("ended", "end"),
    ("started", "start"),
    ("acted", "act"),
    ("hosted", "host"),
    ("premiered", "premiere"),
    ("aired", "air"),
    ("debuted", "debut"),
    ("signed", "sign"),
    ("killed", "kill"),
    ("retired", "retire"),
    ("competed", "compete"),
    ("developed", "develop"),
    ("designed", "design"),
    ("discovered", "discover"),
    ("invented", "invent"),
];
const PRESENT: &[(&str, &str)] = &[
    ("stars", "star"),
    ("plays", "play"),
    ("contains", "contain"),
    ("includes", "include"),
    ("features", "feature"),
    ("lives", "live"),
    ("works", "work"),
    ("belongs", "belong"),
    ("consists", "consist"),
    ("exists", "exist"),
    ("lies", "lie"),
    ("takes", "take"),
    ("begins", "begin"),
    ("ends", "end"),
    ("refers", "refer"),
    ("means", "mean"),
    ("causes", "cause"),
    ("produces", "produce"),
    ("uses", "use"),
    ("makes", "make"),
    ("runs", "run"),
    ("sings", "sing"),
    ("writes", "write"),
    ("holds", "hold"),
];

fn words(text: &str) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    for piece in text.split_inclusive(' ') {
        let word = piece.trim_end();
        if !word.is_empty() {
            out.push(at..at + word.len());
        }
        at += piece.len();
    }
    out
}

fn replace(text: &str, range: Range<usize>, with: &str) -> Option<String> {
    Some(format!("{}{with}{}", text.get(..range.start)?, text.get(range.end..)?))
}

/// The denial of a sentence; `None` where no rule says how it is put, or where it would not be the plain opposite.
pub(crate) fn negated(sentence: &str) -> Option<String> {
    let spans = words(sentence);
    let lower = |at: usize| {
        spans.get(at).and_then(|s| sentence.get(s.clone())).map(str::to_lowercase).unwrap_or_default()
    };
    let bare = |at: usize| lower(at).trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    // A question with its answer, several sentences and quotations are no plain sentences.
    let plain =
        !sentence.contains(['?', '"', '“', ';']) && !sentence.trim_end_matches(['.', ' ']).contains(". ");
    // "Among them are ...": the subject stands behind the verb.
    let inverted = matches!(lower(0).as_str(), "among" | "in" | "at" | "on" | "here");
    if !plain
        || inverted
        || spans.len() < 3
        || (0..spans.len()).any(|at| QUANTIFIERS.contains(&bare(at).as_str()))
    {
        return None;
    }
    for at in 1..spans.len() {
        let word = lower(at);
        if CLAUSES.contains(&bare(at).as_str()) || lower(at).ends_with(',') {
            return None;
        }
        let span = spans.get(at)?.clone();
        if AUXILIARIES.contains(&word.as_str()) {
            return replace(sentence, span.end..span.end, " not");
        }
        let next = bare(at + 1);
        if PERFECT.contains(&word.as_str()) {
            if next == "been" || next.ends_with("ed") || next.ends_with("en") || next == "won" {
                return replace(sentence, span.end..span.end, " not");
            }
            let with = match word.as_str() {
                "has" => "does not have",
                "have" => "do not have",
                _ => "did not have",
            };
            return replace(sentence, span, with);
        }
        for (list, auxiliary) in [(VERBS, "did not"), (PRESENT, "does not")] {
            if let Some((_, plain)) = list.iter().find(|(form, _)| *form == word) {
                // "the film directed by ...": a participle of the subject.
                return if next == "by" {
                    None
                } else {
                    replace(sentence, span, &format!("{auxiliary} {plain}"))
                };
            }
        }
    }
    None
}

/// A denied sentence without its only negation; `None` for any other.
pub(crate) fn affirmed(sentence: &str) -> Option<String> {
    let spans = words(sentence);
    let text = |at: usize| spans.get(at).and_then(|s| sentence.get(s.clone())).unwrap_or_default();
    let mut negations = Vec::new();
    for at in 0..spans.len() {
        let word = text(at);
        if matches!(word, "not" | "never" | "no" | "nobody" | "none" | "neither" | "without")
            || word.ends_with("n't")
            || word == "cannot"
        {
            negations.push(at);
        }
    }
    let [at] = negations.as_slice() else { return None };
    let span = spans.get(*at)?.clone();
    let before = at.checked_sub(1).map(text).unwrap_or_default();
    match text(*at) {
        "not" if AUXILIARIES.contains(&before) || PERFECT.contains(&before) => {
            replace(sentence, span.start.checked_sub(1)?..span.end, "")
        }
        contracted => {
            let auxiliary = contracted.strip_suffix("n't")?;
            AUXILIARIES
                .contains(&auxiliary.to_lowercase().as_str())
                .then(|| replace(sentence, span, auxiliary))?
        }
    }
    .filter(|_| text(at + 1) != "only" && !sentence.contains(" any") && !sentence.contains(" yet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negation_stands_where_english_puts_it() {
        for (sentence, denial) in [
            ("Vampires are deceased.", "Vampires are not deceased."),
            ("Anna Smith won an award in 1999.", "Anna Smith did not win an award in 1999."),
            ("The band has recorded an album.", "The band has not recorded an album."),
            ("The town has a harbour.", "The town does not have a harbour."),
            ("The film stars Tom Jones.", "The film does not star Tom Jones."),
        ] {
            assert_eq!(negated(sentence).as_deref(), Some(denial));
        }
    }

    #[test]
    fn sentences_without_a_plain_opposite_have_none() {
        for sentence in [
            "All vampires are deceased.",
            "The film directed by Anna Smith.",
            "The man who was here is gone.",
            "He is not here.",
            "Who wrote it? The answer is Anna.",
            "He danced in Rome.",
        ] {
            assert_eq!(negated(sentence), None, "{sentence}");
        }
    }

    #[test]
    fn a_denial_is_undone() {
        assert_eq!(affirmed("Vampires are not deceased.").as_deref(), Some("Vampires are deceased."));
        assert_eq!(affirmed("He wasn't born in Rome.").as_deref(), Some("He was born in Rome."));
        for sentence in
            ["He was never born.", "He is not and was not here.", "He is not only here.", "He did not win."]
        {
            assert_eq!(affirmed(sentence), None, "{sentence}");
        }
    }
}
