//! Which rows may be trained on.
//!
//! A split is by the claim or the question, never by the row: rows that share one are twins, and a twin in training
//! gives its sister away. Which side a key falls on is a hash of its words, so it is the same on every machine and
//! stays the same when rows are added. Sets share claims, so the sides are settled for all sets together: what any set
//! keeps for reports is kept out of training in every other.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use counterproof_core::sha256_hex;
use counterproof_text::normalise::squad;
use serde::{Deserialize, Serialize};

use crate::detokenise::prose;

/// A claim or question by its words alone: however it is cut, punctuated or capitalised, it has one key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(String);

impl Key {
    /// The key of `text`.
    pub fn of(text: &str) -> Self {
        // Spaces go too, because sources differ in where they cut ("best - seller").
        let words = squad(&prose(text));
        let letters: String = words.chars().filter(|c| c.is_alphanumeric()).collect();
        Self(if letters.is_empty() { words } else { letters })
    }

    /// Its letters and digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A number in 0..1 that depends on the key and `salt` only, evenly spread over keys.
    pub fn draw(&self, salt: &str) -> f64 {
        let digest = sha256_hex(format!("{salt}\u{1f}{}", self.0));
        // 52 bits are what a double holds exactly.
        let head = digest.as_str().get(..13).and_then(|h| u64::from_str_radix(h, 16).ok()).unwrap_or(0);
        head as f64 / (1u64 << 52) as f64
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a row may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Training.
    Train,
    /// Early stopping, temperature, thresholds.
    Validation,
    /// Figures in reports, and nothing else.
    Report,
}

/// How much of a set goes where.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Share {
    /// A share of the keys is kept for reports, by hash.
    Part(f64),
    /// This many keys are kept for reports, evenly over the labels, those with the least hashes.
    Balanced(usize),
}

/// Builds the [`Splits`] of several sets.
#[derive(Debug, Clone)]
pub struct SplitBuilder {
    salt: String,
    validation: f64,
    reported: HashMap<Key, Vec<&'static str>>,
}

impl SplitBuilder {
    /// Keys are drawn with `salt`; of those not kept for reports the share `validation` is for validation.
    pub fn new(salt: impl Into<String>, validation: f64) -> Self {
        Self { salt: salt.into(), validation, reported: HashMap::new() }
    }

    /// Keeps `share` of the set `name` for reports. Each row is its claim or question with its label; give rows
    /// without labels the same one.
    pub fn keep<'a, L: Ord>(
        &mut self,
        name: &'static str,
        share: Share,
        rows: impl IntoIterator<Item = (&'a str, L)>,
    ) -> &mut Self {
        let mut by_label: BTreeMap<L, BTreeMap<Key, f64>> = BTreeMap::new();
        for (text, label) in rows {
            let key = Key::of(text);
            let draw = key.draw(&self.salt);
            by_label.entry(label).or_default().insert(key, draw);
        }
        let labels = by_label.len();
        let mut taken: HashSet<Key> = HashSet::new();
        for (at, keys) in by_label.into_values().enumerate() {
            let mut keys: Vec<(Key, f64)> = keys.into_iter().filter(|(k, _)| !taken.contains(k)).collect();
            match share {
                Share::Part(part) => keys.retain(|(_, draw)| *draw < part),
                Share::Balanced(count) => {
                    keys.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
                    keys.truncate(count / labels + usize::from(at < count % labels));
                }
            }
            taken.extend(keys.into_iter().map(|(k, _)| k));
        }
        for key in taken {
            self.reported.entry(key).or_default().push(name);
        }
        self
    }

    /// The sides, settled.
    pub fn build(self) -> Splits {
        Splits { salt: self.salt, validation: self.validation, reported: self.reported }
    }
}

/// The side of every claim and question.
#[derive(Debug, Clone)]
pub struct Splits {
    salt: String,
    validation: f64,
    reported: HashMap<Key, Vec<&'static str>>,
}

impl Splits {
    /// The side of a claim or question.
    pub fn of(&self, text: &str) -> Split {
        self.of_key(&Key::of(text))
    }

    /// The side of a key.
    pub fn of_key(&self, key: &Key) -> Split {
        if self.reported.contains_key(key) {
            Split::Report
        } else if key.draw(&format!("{}/validation", self.salt)) < self.validation {
            Split::Validation
        } else {
            Split::Train
        }
    }

    /// Whether the set `name` itself keeps a claim or question for its reports, and not only some other set.
    pub fn is_kept_by(&self, name: &str, text: &str) -> bool {
        self.reported.get(&Key::of(text)).is_some_and(|names| names.contains(&name))
    }

    /// How many keys are kept for reports.
    pub fn reported(&self) -> usize {
        self.reported.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_has_one_key_however_it_is_written() {
        let key = Key::of("Damon Albarn's debut album was released in 2011.");
        assert_eq!(key, Key::of("damon albarn 's debut album was released in 2011 ."));
        assert_eq!(Key::of("a best-seller"), Key::of("the best - seller ?"));
        assert_ne!(key, Key::of("Damon Albarn's debut album was released in 2012."));
        assert_ne!(Key::of("?"), Key::of("!—"));
    }

    #[test]
    fn draws_are_stable_and_even() {
        assert!(
            (Key::of("who wrote it").draw("1") - Key::of("Who wrote it?").draw("1")).abs() < f64::EPSILON
        );
        assert!((Key::of("who wrote it").draw("1") - Key::of("who wrote it").draw("2")).abs() > f64::EPSILON);
        let low = (0..4000).filter(|n| Key::of(&format!("claim {n}")).draw("x") < 0.25).count();
        assert!((850..1150).contains(&low), "{low}");
    }

    #[test]
    fn what_one_set_reports_no_other_trains_on() {
        let claims: Vec<String> = (0..400).map(|n| format!("Claim number {n}.")).collect();
        let mut builder = SplitBuilder::new("1", 0.1);
        builder.keep("a", Share::Part(0.3), claims.iter().map(|c| (c.as_str(), ())));
        builder.keep("b", Share::Part(0.1), claims.iter().map(|c| (c.as_str(), ())));
        let splits = builder.build();
        let reported = claims.iter().filter(|c| splits.of(c) == Split::Report).count();
        assert_eq!(reported, splits.reported());
        assert!((90..150).contains(&reported), "{reported}");
        let first = claims.iter().find(|c| splits.of(c) == Split::Report).unwrap();
        assert_eq!(splits.of(&first.to_uppercase().replace('.', " ?")), Split::Report);
        let validated = claims.iter().filter(|c| splits.of(c) == Split::Validation).count();
        assert!((10..60).contains(&validated), "{validated}");
        assert!(splits.is_kept_by("a", first) && !splits.is_kept_by("c", first));
    }

    #[test]
    fn a_number_is_kept_evenly_over_the_labels_and_twins_count_once() {
        let rows: Vec<(String, u8)> =
            (0..90).map(|n| (format!("Claim {n}"), (n % 3) as u8)).chain([("claim 0 .".into(), 0)]).collect();
        let mut builder = SplitBuilder::new("1", 0.0);
        builder.keep("a", Share::Balanced(31), rows.iter().map(|(c, l)| (c.as_str(), *l)));
        let splits = builder.build();
        for label in 0..3u8 {
            let kept =
                rows.iter().take(90).filter(|(c, l)| *l == label && splits.of(c) == Split::Report).count();
            assert_eq!(kept, if label == 0 { 11 } else { 10 });
        }
    }
}
