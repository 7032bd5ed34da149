//! HotpotQA (Yang et al., 2018) with its paragraphs, and with paragraphs that an adversary planted among them (Jiang
//! and Bansal, 2019).

use serde::Deserialize;

use crate::claims::Evidence;
use crate::detokenise::prose;
use crate::read::{Row, required};

/// A paragraph of the distractor setting.
#[derive(Debug, Clone, PartialEq)]
pub struct HotpotParagraph {
    /// Its title.
    pub title: String,
    /// Its sentences, without white space around them.
    pub sentences: Vec<String>,
    /// Which sentences support the answer, by their place.
    pub supporting: Vec<usize>,
}

/// A question of the distractor setting: two of its ten paragraphs matter.
#[derive(Debug, Clone, PartialEq)]
pub struct HotpotQuestion {
    /// Its id.
    pub id: String,
    /// The question.
    pub question: String,
    /// The answer; may be `yes` or `no`.
    pub answer: String,
    /// The paragraphs.
    pub paragraphs: Vec<HotpotParagraph>,
}

#[derive(Deserialize)]
pub struct PublishedQuestion {
    _id: String,
    question: String,
    answer: String,
    supporting_facts: Vec<(String, usize)>,
    context: Vec<(String, Vec<String>)>,
}

impl Row for HotpotQuestion {
    type Published = PublishedQuestion;

    fn from_published(row: PublishedQuestion) -> Result<Self, String> {
        let facts = row.supporting_facts;
        let paragraph = |(title, sentences): (String, Vec<String>)| {
            let supporting =
                facts.iter().filter(|(t, at)| *t == title && *at < sentences.len()).map(|(_, at)| *at);
            HotpotParagraph {
                supporting: supporting.collect(),
                sentences: sentences.iter().map(|s| s.trim().to_owned()).collect(),
                title,
            }
        };
        Ok(Self {
            id: row._id,
            question: required("question", row.question)?,
            answer: required("answer", row.answer)?,
            paragraphs: row.context.into_iter().map(paragraph).collect(),
        })
    }
}

/// A paragraph that is true or planted.
#[derive(Debug, Clone, PartialEq)]
pub struct AdversarialParagraph {
    /// Its title and text; a planted one has no title.
    pub evidence: Evidence,
    /// Whether it was planted to lead to another answer.
    pub planted: bool,
}

/// A question with true paragraphs and planted ones.
#[derive(Debug, Clone, PartialEq)]
pub struct HotpotAdversarial {
    /// Its id in HotpotQA.
    pub id: String,
    /// The question.
    pub question: String,
    /// The right answer.
    pub answer: String,
    /// The paragraphs.
    pub paragraphs: Vec<AdversarialParagraph>,
    /// The sentences of the true paragraphs that the answer rests on.
    pub rationale: Vec<Evidence>,
}

#[derive(Deserialize)]
struct Paragraph {
    title: String,
    context: String,
    is_supp: bool,
}

#[derive(Deserialize)]
struct Rationale {
    title: String,
    sentence: String,
}

#[derive(Deserialize)]
pub struct PublishedAdversarial {
    qas_id: String,
    question: String,
    paragraphs: Vec<Paragraph>,
    answer: String,
    #[serde(default)]
    rationale: Vec<Rationale>,
}

impl Row for HotpotAdversarial {
    type Published = PublishedAdversarial;

    fn from_published(row: PublishedAdversarial) -> Result<Self, String> {
        let paragraph = |p: Paragraph| AdversarialParagraph {
            planted: !p.is_supp,
            evidence: Evidence {
                title: if p.is_supp { p.title } else { String::new() },
                text: prose(&p.context),
            },
        };
        let rationale =
            row.rationale.into_iter().map(|r| Evidence { title: r.title, text: prose(&r.sentence) });
        Ok(Self {
            id: row.qas_id,
            question: required("question", row.question)?.trim().to_owned(),
            answer: required("answer", row.answer)?,
            paragraphs: row.paragraphs.into_iter().map(paragraph).collect(),
            rationale: rationale.collect(),
        })
    }
}

/// The answer that planted paragraphs lead to, as some model gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct HotpotWrongAnswer {
    /// Id of the question in HotpotQA.
    pub id: String,
    /// The answer.
    pub answer: String,
}

#[derive(Deserialize)]
pub struct PublishedWrong {
    qas_id: String,
    answer: String,
}

impl Row for HotpotWrongAnswer {
    type Published = PublishedWrong;

    fn from_published(row: PublishedWrong) -> Result<Self, String> {
        Ok(Self { id: row.qas_id, answer: required("answer", row.answer)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::of_text;

    #[test]
    fn supporting_sentences_are_marked() {
        let rows = of_text::<HotpotQuestion>(
            r#"[{"_id": "1", "question": "Lilu is what?", "answer": "a spirit", "supporting_facts": [["Lilu", 1], ["Lilu", 9]], "context": [["Lilu", ["A.", " It is a spirit."]], ["Dice", ["A game."]]], "type": "bridge", "level": "easy"}]"#,
        );
        assert_eq!(rows.rows[0].paragraphs[0].supporting, [1]);
        assert_eq!(rows.rows[0].paragraphs[0].sentences[1], "It is a spirit.");
        assert!(rows.rows[0].paragraphs[1].supporting.is_empty());
    }

    #[test]
    fn planted_paragraphs_are_known() {
        let rows = of_text::<HotpotAdversarial>(
            r#"[{"qas_id": "1", "question": " Where? ", "paragraphs": [{"title": "added", "context": "In Oslo.", "is_supp": false}, {"title": "Games", "context": "In Sochi.", "is_supp": true}], "answer": "Sochi", "rationale": [{"title": "Games", "sentence": "In Sochi."}]}]"#,
        );
        let row = &rows.rows[0];
        assert_eq!(row.question, "Where?");
        assert!(row.paragraphs[0].planted && row.paragraphs[0].evidence.title.is_empty());
        assert!(!row.paragraphs[1].planted);
        assert_eq!(row.rationale[0].title, "Games");
        let wrong = of_text::<HotpotWrongAnswer>(
            "{\"qas_id\": \"1\", \"answer\": \"Oslo\"}\n{\"qas_id\": \"2\", \"answer\": \"\"}",
        );
        assert_eq!((wrong.rows.len(), wrong.bad.len()), (1, 1));
    }
}
