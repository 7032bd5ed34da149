//! The facts of a Chinese claim: clauses parted by "；", and clauses joined by "并" or "而且" to the same subject.

use super::facts::facts as all_facts;
use crate::han::tag;
use crate::packs::verbs;

/// Longer texts are no single claim.
const LONGEST: usize = 300;
const JOINTS: &[&str] = &["，并且", "，並且", "，而且", "，并", "，並", "；"];

/// The facts of `claim`, or `None` where it has one or cannot be split safely.
pub(super) fn facts(claim: &str) -> Option<Vec<String>> {
    if claim.chars().nth(LONGEST).is_some()
        || verbs::SCOPES_ZH.iter().any(|w| claim.contains(w))
        || opaque(claim)
    {
        return None;
    }
    let body = claim.trim_end_matches(['。', '.', '；', ' ']);
    let (at, joint) = JOINTS
        .iter()
        .filter_map(|j| body.find(j).map(|at| (at, *j)))
        .min_by_key(|(at, j)| (*at, std::cmp::Reverse(j.len())))?;
    let (first, second) = (body.get(..at)?, body.get(at + joint.len()..)?);
    let subject = subject(first)?;
    let second = carried(subject, second, joint == "；")?;
    if first.chars().count() < 4 || second.chars().count() >= claim.chars().count() {
        return None;
    }
    let mut out = vec![format!("{first}。")];
    out.extend(all_facts(&format!("{second}。")));
    Some(out)
}

/// Titles and quotations may hold a joint of their own.
fn opaque(claim: &str) -> bool {
    claim.contains(['《', '“', '"', '「', '（', '(', '？', '！', '：'])
}

fn is_noun(tag: &str) -> bool {
    tag.starts_with('n') || matches!(tag, "j" | "m" | "q" | "eng" | "t" | "s" | "uj" | "b" | "a" | "f")
}

/// The words before the first verb, where they are nouns only.
fn subject(clause: &str) -> Option<&str> {
    let mut end = 0;
    for (word, tag) in tag(clause) {
        if tag.starts_with('v') || matches!(tag, "p" | "d") {
            return clause.get(..end).filter(|s| !s.is_empty());
        }
        if !is_noun(tag) || word == "，" {
            return None;
        }
        end += word.len();
    }
    None
}

/// The second clause with a subject: its own, or that of the first in place of none or a pronoun.
fn carried(subject: &str, clause: &str, parted: bool) -> Option<String> {
    let clause = clause.trim();
    let rest = ["他们", "她们", "它们", "他", "她", "它"].iter().find_map(|p| clause.strip_prefix(p));
    if let Some(rest) = rest {
        return opens_with_verb(rest).then(|| format!("{subject}{rest}"));
    }
    if opens_with_verb(clause) {
        return Some(format!("{subject}{clause}"));
    }
    (parted && self::subject(clause).is_some()).then(|| clause.to_owned())
}

fn opens_with_verb(clause: &str) -> bool {
    let words = tag(clause);
    let first = words.iter().find(|(_, tag)| *tag != "d");
    first.is_some_and(|(_, tag)| tag.starts_with('v') || *tag == "p")
        && words.iter().any(|(_, tag)| tag.starts_with('v'))
}
