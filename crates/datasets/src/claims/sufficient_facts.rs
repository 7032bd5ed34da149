//! SufficientFacts (Atanasova et al., 2022): evidence with one constituent or sentence taken out, and whether what is
//! left is still enough. A true source of evidence that is on the topic and settles nothing.

use serde::Deserialize;

use super::{Evidence, Verdict};
use crate::detokenise::prose;
use crate::read::{Row, required};

/// Whether the evidence is enough after the removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sufficiency {
    /// Not any more.
    NotEnough,
    /// What was removed did not matter.
    EnoughIrrelevant,
    /// What was removed is said again elsewhere.
    EnoughRepeated,
}

/// A claim with its evidence before and after the removal.
#[derive(Debug, Clone, PartialEq)]
pub struct SufficientFactsClaim {
    /// The claim.
    pub claim: String,
    /// All of the evidence.
    pub before: Vec<Evidence>,
    /// What it makes of the claim.
    pub verdict: Verdict,
    /// The evidence after the removal.
    pub after: Vec<Evidence>,
    /// Whether that is enough for the same verdict.
    pub sufficiency: Sufficiency,
    /// What was removed.
    pub removed: Vec<String>,
    /// How three models and the annotators agreed: `all_nei`, `agree_nei`, `agree_ei`, `disagree`.
    pub agreement: String,
}

impl SufficientFactsClaim {
    /// What the evidence after the removal makes of the claim.
    pub fn verdict_after(&self) -> Verdict {
        if self.sufficiency == Sufficiency::NotEnough { Verdict::NotEnough } else { self.verdict }
    }
}

#[derive(Deserialize)]
pub struct Published {
    claim: String,
    evidence: Vec<(String, String)>,
    label_before: String,
    label_after: String,
    #[serde(default)]
    agreement: String,
    #[serde(default)]
    removed: Vec<String>,
    text_orig: String,
}

impl Row for SufficientFactsClaim {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let sufficiency = match row.label_after.trim() {
            "NOT ENOUGH" => Sufficiency::NotEnough,
            "ENOUGH -- IRRELEVANT" => Sufficiency::EnoughIrrelevant,
            "ENOUGH -- REPEATED" => Sufficiency::EnoughRepeated,
            other => return Err(format!("`{other}` is no label after a removal")),
        };
        let before = marked_up(&row.text_orig);
        if before.is_empty() {
            return Err("`text_orig` holds no evidence".into());
        }
        // Removals inside brackets leave the closing one behind.
        let after = row
            .evidence
            .into_iter()
            .map(|(title, text)| Evidence::new(prose(&title), prose(&text.replace(" ]", ""))));
        Ok(Self {
            claim: prose(&required("claim", row.claim)?),
            before,
            verdict: Verdict::parse(&row.label_before)?,
            after: after.filter(|e| e.text.chars().any(char::is_alphanumeric)).collect(),
            sufficiency,
            removed: row.removed,
            agreement: row.agreement,
        })
    }
}

/// The pieces of a text in which `[[...]]` opens a page and the removed words stand in a `span`.
fn marked_up(text: &str) -> Vec<Evidence> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        match tag.split_once('>') {
            Some((name, after)) if name.starts_with("span") || name.starts_with("/span") => rest = after,
            _ => {
                plain.push('<');
                rest = tag;
            }
        }
    }
    plain.push_str(rest);
    let mut pieces: Vec<Evidence> = Vec::new();
    let mut open: &str = &plain;
    let mut title = "";
    loop {
        let (words, next) = match open.split_once("[[") {
            Some((words, next)) => (words, Some(next)),
            None => (open, None),
        };
        if !words.trim().is_empty() {
            pieces.push(Evidence::new(prose(title), prose(words)));
        }
        let Some((name, after)) = next.and_then(|n| n.split_once("]]")) else { return pieces };
        (title, open) = (name, after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn before_and_after_the_removal() {
        let rows = of_text::<SufficientFactsClaim>(
            r#"{"claim": "Unison was released by Atlantic.", "evidence": [["Unison", "It was released on 2 April 1990 ."]], "label_before": "REFUTES", "label_after": "NOT ENOUGH", "agreement": "agree_ei", "type": "PP", "removed": ["by Columbia Records"], "text_orig": "[[Unison]] It was released on 2 April 1990 <span style=\"color:red;\">by Columbia Records</span> ."}
{"claim": "C.", "evidence": [["A", "a < b."]], "label_before": "SUPPORTED", "label_after": "ENOUGH -- IRRELEVANT", "text_orig": " <span style=\"color:red;\"> [[Live Wood]]  Songs were chosen.</span> [[A]] a < b."}
{"claim": "C.", "evidence": [], "label_before": "SUPPORTED", "label_after": "WHO KNOWS", "text_orig": "x"}"#,
        );
        let row = &rows.rows[0];
        assert_eq!(
            row.before,
            [Evidence::new("Unison", "It was released on 2 April 1990 by Columbia Records.")]
        );
        assert_eq!(row.after, [Evidence::new("Unison", "It was released on 2 April 1990.")]);
        assert_eq!((row.verdict, row.verdict_after()), (Verdict::Refuted, Verdict::NotEnough));
        let row = &rows.rows[1];
        assert_eq!(
            row.before,
            [Evidence::new("Live Wood", "Songs were chosen."), Evidence::new("A", "a < b.")]
        );
        assert_eq!(row.verdict_after(), Verdict::Supported);
        assert_eq!(rows.bad.len(), 1);
    }
}
