//! A text as claims: its sentences, and of each that states something the claim that can be checked by itself.

use counterproof_core::{ByteSpan, QuestionType};
use counterproof_text::claim::{checkable, subject};
use counterproof_text::mention::{Mention, mentions};
use counterproof_text::sentences::sentences;

/// A sentence of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Where it stands.
    pub span: ByteSpan,
    /// What it claims, with the name that a pronoun at its head stands for; `None` where it states nothing that evidence
    /// could settle.
    pub claim: Option<String>,
}

/// The pronouns that may stand for the subject of the sentence before, and whether they own what follows.
const PRONOUNS: [(&str, bool); 8] = [
    ("he", false),
    ("she", false),
    ("it", false),
    ("they", false),
    ("his", true),
    ("her", true),
    ("its", true),
    ("their", true),
];

/// Splits a text into sentences and takes the claims.
///
/// ```
/// use counterproof_methods::check::claims_of;
///
/// let text = "Marie Curie was born in Warsaw. She won two Nobel Prizes. Isn't that something?";
/// let claims: Vec<Option<String>> = claims_of(text).into_iter().map(|s| s.claim).collect();
/// assert_eq!(claims[1].as_deref(), Some("Marie Curie won two Nobel Prizes."));
/// assert_eq!(claims[2], None);
/// ```
pub fn claims_of(text: &str) -> Vec<Sentence> {
    let mut last: Option<String> = None;
    let joined = with_lines_joined(text);
    sentences(&joined)
        .into_iter()
        .filter_map(|span| {
            let sentence = span.slice(text)?.trim();
            let claim = match pronoun(sentence) {
                Some(owns) => last.as_deref().and_then(|name| with_name(sentence, owns, name)),
                None => {
                    // A sentence about something without a name ends what a pronoun could stand for.
                    last = sole_name(sentence);
                    Some(sentence.to_owned())
                }
            };
            let claim = claim.filter(|claim| checkable(claim));
            let claim = claim.map(|claim| claim.split_whitespace().collect::<Vec<_>>().join(" "));
            Some(Sentence { span, claim })
        })
        .collect()
}

/// The text with single line breaks as blanks, byte for byte where it was: lines that an editor broke are one sentence.
/// Blank lines, lists and headings still part.
fn with_lines_joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\n') {
        let (line, after) = rest.split_at(at);
        let next = after.get(1..).unwrap_or_default();
        let begins = |c: char| c == '\n' || c == '\r' || "-*#>•|=".contains(c) || c.is_ascii_digit();
        let joins =
            !line.trim().is_empty() && !line.trim_start().starts_with('#') && !next.starts_with(begins);
        out.push_str(line);
        out.push(if joins { ' ' } else { '\n' });
        rest = next;
    }
    out.push_str(rest);
    out
}

/// Whether a sentence begins with a pronoun, and whether that owns what follows it. "It was in 1910 that", "it rained" are
/// not told apart from "it opened": where that matters the claim is shown.
fn pronoun(sentence: &str) -> Option<bool> {
    let (head, _) = sentence.split_once(' ')?;
    PRONOUNS.iter().find(|(pronoun, _)| head.eq_ignore_ascii_case(pronoun)).map(|(_, owns)| *owns)
}

/// The subject of a sentence, where it names nobody else that a pronoun could mean.
fn sole_name(sentence: &str) -> Option<String> {
    let name = subject(sentence)?;
    let persons = mentions(sentence, QuestionType::Who);
    let other = |m: &Mention| !m.text.contains(name.as_str()) && !name.as_str().contains(&m.text);
    (!persons.iter().any(other)).then(|| name.as_str().to_owned())
}

/// The sentence with `name` in place of the pronoun it begins with.
fn with_name(sentence: &str, owns: bool, name: &str) -> Option<String> {
    let (_, rest) = sentence.split_once(' ')?;
    let owner = match (owns, name.ends_with('s')) {
        (false, _) => "",
        (true, true) => "'",
        (true, false) => "'s",
    };
    Some(format!("{name}{owner} {rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(text: &str) -> Vec<Option<String>> {
        claims_of(text).into_iter().map(|s| s.claim).collect()
    }

    #[test]
    fn a_pronoun_stands_for_the_last_name() {
        let got = claims("The Eiffel Tower opened in 1889. Its height is 330 metres. It stands in Paris.");
        assert_eq!(got[1].as_deref(), Some("Eiffel Tower's height is 330 metres."));
        assert_eq!(got[2].as_deref(), Some("Eiffel Tower stands in Paris."));
    }

    #[test]
    fn a_pronoun_that_could_stand_for_anybody_makes_no_claim() {
        assert_eq!(claims("It stands in Paris.")[0], None);
        assert_eq!(claims("Marie Curie married Pierre Curie. He was born in Paris.")[1], None);
        let got =
            claims("Marie Curie was born in Warsaw. The novel was sold in Rome. It was a success there.");
        assert_eq!(got[2], None, "{got:?}");
    }

    #[test]
    fn spans_are_those_of_the_text() {
        let text = "Who knows? The tower\nopened in 1889.";
        let all = claims_of(text);
        assert_eq!(all[0].claim, None);
        assert_eq!(all[1].span.slice(text), Some("The tower\nopened in 1889."));
        assert_eq!(all[1].claim.as_deref(), Some("The tower opened in 1889."));
        assert!(claims_of("").is_empty());
    }
}
