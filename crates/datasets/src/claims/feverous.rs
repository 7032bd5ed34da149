//! FEVEROUS (Aly et al., 2021), claims whose evidence is sentences.

use serde::Deserialize;
use serde_json::Value;

use super::{Evidence, Verdict};
use crate::detokenise::{page_title, prose};
use crate::read::{Row, id_text, required};

/// A claim with the sentences that settle it together.
#[derive(Debug, Clone, PartialEq)]
pub struct FeverousClaim {
    /// Its number.
    pub id: String,
    /// The claim.
    pub claim: String,
    /// Supported or refuted.
    pub verdict: Verdict,
    /// The sentences, without wiki markup.
    pub evidence: Vec<Evidence>,
    /// What makes it hard, as the annotators saw it.
    pub challenge: String,
}

#[derive(Deserialize)]
pub struct Published {
    id: Value,
    claim: String,
    label: String,
    #[serde(default)]
    challenge: String,
    evidence: String,
}

impl Row for FeverousClaim {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        // A sentence a line, its page before a tab.
        let pieces = row.evidence.lines().filter_map(|line| {
            let (page, text) = line.split_once('\t').unwrap_or(("", line));
            let text = prose(&without_links(text));
            (!text.is_empty()).then(|| Evidence::new(page_title(page), text))
        });
        let evidence: Vec<Evidence> = pieces.collect();
        if evidence.is_empty() {
            return Err("`evidence` is empty".into());
        }
        Ok(Self {
            id: id_text(&row.id),
            claim: prose(&required("claim", row.claim.replace('\u{a0}', " "))?),
            verdict: Verdict::parse(&row.label)?,
            evidence,
            challenge: row.challenge,
        })
    }
}

/// `[[Page|words]]` as `words`, `[[Page_name]]` as `Page name`.
fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[[") {
        out.push_str(before);
        let Some((inside, after)) = link.split_once("]]") else {
            rest = link;
            continue;
        };
        match inside.split_once('|') {
            Some((_, words)) => out.push_str(words),
            None => out.push_str(&inside.replace('_', " ")),
        }
        rest = after;
    }
    out.push_str(rest);
    out.replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn links_are_read_by_their_words() {
        let rows = of_text::<FeverousClaim>(
            r#"[{"id": 3, "claim": "It has a\u00a0porch.", "label": "supports", "challenge": "Other", "evidence": "Glenn Plantation\tA [[House_in_the_South|plantation house]] near [[Pitts_View]].\nGlenn Plantation\tA shed-roofed [[Patio|patio]]."}, {"id": 4, "claim": "C.", "label": "supports", "evidence": " "}]"#,
        );
        assert_eq!(rows.rows[0].claim, "It has a porch.");
        assert_eq!(
            rows.rows[0].evidence,
            [
                Evidence::new("Glenn Plantation", "A plantation house near Pitts View."),
                Evidence::new("Glenn Plantation", "A shed-roofed patio.")
            ]
        );
        assert_eq!(rows.bad.len(), 1);
        assert_eq!(without_links("a [[b c"), "a b c");
    }
}
