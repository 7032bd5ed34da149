//! FEVER (Thorne et al., 2018), paper_test with the words of its gold evidence.

use serde::Deserialize;
use serde_json::Value;

use super::{Evidence, Verdict};
use crate::detokenise::{page_title, prose};
use crate::read::{Row, id_text, required};

/// A claim with its gold evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct FeverClaim {
    /// Its number in FEVER.
    pub id: String,
    /// The claim.
    pub claim: String,
    /// What annotators found.
    pub verdict: Verdict,
    /// Sets of sentences, each enough for the verdict by itself; none without a decisive verdict.
    pub evidence: Vec<Vec<Evidence>>,
    /// Gold sentences whose sets could not be told apart, because the words of some are missing from the file. Filled
    /// only where `evidence` is empty although the verdict is decisive.
    pub unsorted: Vec<Evidence>,
}

/// A sentence by the numbers of its annotation and of its evidence, its page, and its place there.
type Named = (Value, Value, Option<String>, Option<i64>);

#[derive(Deserialize)]
pub struct Published {
    id: Value,
    #[serde(alias = "claim")]
    question: String,
    label: String,
    evidence: Vec<Vec<Named>>,
    pars: Vec<String>,
}

impl Row for FeverClaim {
    type Published = Published;

    fn from_published(row: Published) -> Result<Self, String> {
        let verdict = Verdict::parse(&row.label)?;
        // `pars` holds each gold sentence once, in the order in which the sets first name them.
        let mut named: Vec<(&str, i64)> = Vec::new();
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for set in &row.evidence {
            let mut places = Vec::new();
            for (_, _, page, sentence) in set {
                let (Some(page), Some(sentence)) = (page, sentence) else { continue };
                let name = (page.as_str(), *sentence);
                places.push(named.iter().position(|n| *n == name).unwrap_or_else(|| {
                    named.push(name);
                    named.len() - 1
                }));
            }
            if !places.is_empty() && !sets.contains(&places) {
                sets.push(places);
            }
        }
        if verdict != Verdict::NotEnough && row.pars.is_empty() {
            return Err(format!("the verdict is {} but `pars` holds no evidence", row.label));
        }
        let known = named.len() == row.pars.len();
        let sentence = |at: usize| {
            let title = named.get(at).map(|(page, _)| page_title(page)).unwrap_or_default();
            row.pars.get(at).map(|text| Evidence::new(title, prose(text)))
        };
        let evidence = if known {
            sets.iter().map(|places| places.iter().filter_map(|at| sentence(*at)).collect()).collect()
        } else {
            Vec::new()
        };
        let unsorted = if known {
            Vec::new()
        } else {
            row.pars.iter().map(|text| Evidence::new("", prose(text))).collect()
        };
        Ok(Self {
            id: id_text(&row.id),
            claim: prose(&required("question", row.question)?),
            verdict,
            evidence: if verdict == Verdict::NotEnough { Vec::new() } else { evidence },
            unsorted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn sentences_are_sorted_into_sets_and_read_as_prose() {
        let rows = of_text::<FeverClaim>(
            r#"{"id": 1, "question": "Vampires are deceased.", "label": "SUPPORTS", "evidence": [[[1, 2, "Vampire", 1]], [[1, 3, "Vampire_-LRB-film-RRB-", 10], [1, 3, "Vampire", 1]]], "pars": ["In folklore , vampires were undead .", "He 's dead ."]}
{"id": 2, "question": "Dark matter is dark.", "label": "NOT ENOUGH INFO", "evidence": [[[154282, null, null, null]]], "pars": []}
{"id": 3, "question": "A.", "label": "REFUTES", "evidence": [[[1, 2, "A", 0], [1, 2, "B", 4]]], "pars": ["Only one is here."]}
{"id": 4, "question": "No words.", "label": "REFUTES", "evidence": [], "pars": []}"#,
        );
        let vampire = Evidence::new("Vampire", "In folklore, vampires were undead.");
        assert_eq!(
            rows.rows[0].evidence,
            [vec![vampire.clone()], vec![Evidence::new("Vampire (film)", "He's dead."), vampire]]
        );
        assert_eq!((rows.rows[1].verdict, rows.rows[1].evidence.len()), (Verdict::NotEnough, 0));
        assert!(rows.rows[2].evidence.is_empty());
        assert_eq!(rows.rows[2].unsorted, [Evidence::new("", "Only one is here.")]);
        assert_eq!((rows.rows.len(), rows.bad.len()), (3, 1));
    }
}
