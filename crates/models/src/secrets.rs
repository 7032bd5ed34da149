//! Keys: read from the environment, sent in one header, and kept out of everything else.

use std::borrow::Cow;
use std::fmt;

/// An API key. It prints as nothing but the fact that it is there.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A key from its text; `None` when it is blank.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The key in an environment variable, if it is set and not blank.
    pub fn from_env(variable: &str) -> Option<Self> {
        std::env::var(variable).ok().and_then(|text| Self::new(&text))
    }

    /// The key itself, for the header that carries it.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `text` holds the key. Keys of a few characters only are not looked for: they would be found everywhere.
    pub(crate) fn stands_in(&self, text: &str) -> bool {
        const SHORTEST: usize = 6;
        self.0.len() >= SHORTEST && text.contains(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// How keys of well-known services begin, and how long they are at least.
const PREFIXES: [(&str, usize); 16] = [
    ("sk-", 20),
    ("sk_", 20),
    ("pk-", 24),
    ("rk-", 24),
    ("gsk_", 20),
    ("xai-", 20),
    ("hf_", 20),
    ("r8_", 20),
    ("tvly-", 16),
    ("AIza", 30),
    ("AKIA", 20),
    ("ghp_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("ya29.", 20),
    ("eyJhbGciOi", 30),
];

fn of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// The parts of `text` that look like a key of a well-known service, a bearer token, or a password in a URL, as byte
/// ranges in order.
fn keys(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for token in text.split(|c: char| !of_key(c)) {
        let start = token.as_ptr() as usize - text.as_ptr() as usize;
        let token = token.trim_end_matches('.');
        // A word such as "task-..." is cut at word bounds, so a prefix only counts at the head of a token.
        let known = PREFIXES.iter().any(|(prefix, least)| token.starts_with(prefix) && token.len() >= *least);
        let before = text.get(..start).unwrap_or_default();
        let bearer = token.len() >= 16
            && before
                .get(before.len().saturating_sub(7)..)
                .is_some_and(|b| b.eq_ignore_ascii_case("bearer "));
        if (known || bearer) && token.chars().any(|c| c.is_ascii_digit()) {
            found.push((start, start + token.len()));
        }
    }
    let mut from = 0;
    while let Some(scheme) = text.get(from..).and_then(|t| t.find("://")).map(|i| from + i + 3) {
        let rest = text.get(scheme..).unwrap_or_default();
        let authority = rest.find(|c: char| c == '/' || c.is_whitespace() || c == '"').unwrap_or(rest.len());
        if let Some(user) = rest.get(..authority).and_then(|a| a.rfind('@')) {
            found.push((scheme, scheme + user));
        }
        from = scheme;
    }
    found.sort_unstable();
    found
}

/// Whether something in `text` looks like a key.
pub(crate) fn holds_key(text: &str) -> bool {
    !keys(text).is_empty()
}

/// `text` with whatever looks like a key, and the keys given, blotted out.
pub(crate) fn redact<'t>(text: &'t str, known: Option<&Secret>) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(text);
    if let Some(secret) = known.filter(|s| s.stands_in(&text)) {
        text = Cow::Owned(text.replace(secret.expose(), "[key]"));
    }
    let found = keys(&text);
    if found.is_empty() {
        return text;
    }
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in found {
        if start < at {
            continue;
        }
        clean.push_str(text.get(at..start).unwrap_or_default());
        clean.push_str("[key]");
        at = end;
    }
    clean.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_blotted_out_and_words_are_not() {
        // Put together here so that no scanner takes this file for a leak.
        let key = format!("sk-{}", "proj-a1B2c3D4e5F6g7H8");
        assert_eq!(redact(&format!("wrong key: {key}."), None), "wrong key: [key].");
        assert_eq!(redact("Authorization: Bearer abcdef0123456789abc", None), "Authorization: Bearer [key]");
        assert_eq!(
            redact("at https://me:pass@example.org/v1 it", None),
            "at https://[key]@example.org/v1 it"
        );
        for text in ["task-oriented systems of 2019", "sk-learn", "the bearer of news", "a://b", "hf_hub"] {
            assert_eq!(redact(text, None), text);
            assert!(!holds_key(text));
        }
        let odd = Secret::new(" hunter2-hunter2 ").unwrap();
        assert_eq!(redact("sent hunter2-hunter2", Some(&odd)), "sent [key]");
        assert_eq!(format!("{odd:?}"), "Secret(..)");
    }
}
