//! A text as claims: its sentences, and of each that states something the claim that can be checked by itself.

use counterproof_core::ByteSpan;
use counterproof_text::claim::{checkable, subject};
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
    sentences(text)
        .into_iter()
        .filter_map(|span| {
            let sentence = span.slice(text)?.trim();
            let resolved = last.as_deref().and_then(|name| with_name(sentence, name));
            if resolved.is_none()
                && let Some(name) = subject(sentence)
            {
                last = Some(name.as_str().to_owned());
            }
            let claim = resolved.unwrap_or_else(|| sentence.to_owned());
            let claim = checkable(&claim).then(|| claim.split_whitespace().collect::<Vec<_>>().join(" "));
            Some(Sentence { span, claim })
        })
        .collect()
}

/// The sentence with `name` in place of the pronoun it begins with, if it does.
fn with_name(sentence: &str, name: &str) -> Option<String> {
    let (head, rest) = sentence.split_once(' ')?;
    let (_, owns) = PRONOUNS.iter().find(|(pronoun, _)| head.eq_ignore_ascii_case(pronoun))?;
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
        assert_eq!(claims("It stands in Paris.")[0].as_deref(), Some("It stands in Paris."));
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
