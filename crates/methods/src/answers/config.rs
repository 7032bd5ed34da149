//! The parameters of a search for all answers.

use std::collections::BTreeSet;

use counterproof_core::{Error, Price, Result};
use serde::{Deserialize, Serialize};

/// Who reads and who decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// A span reader reads and a verifier decides; a language model, where there is one, is asked about the candidates in
    /// between.
    #[default]
    Cascade,
    /// The paper's form: a language model reads every passage, writes a question for every candidate and gives every verdict.
    Faithful,
}

/// How the question is had by which a candidate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VqMode {
    /// One that a language model writes for each candidate: the paper's form.
    PerCandidate,
    /// One pattern a question, with a slot for the candidate.
    Template,
    /// One question for each condition; the candidate has to meet them all.
    PerConstraint,
    /// `Is "X" a correct answer to: "..."?`, without asking a model.
    Fixed,
}

/// What becomes of a candidate whose verdict cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unparsed {
    /// It is rejected.
    #[default]
    Drop,
    /// It is kept.
    Keep,
}

/// Parameters of [`Answers`](super::Answers). The defaults are those of RI²VER where it tells them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswersConfig {
    /// Passages that are read.
    pub k: usize,
    /// Passages that the search for a candidate brings.
    pub k_verify: usize,
    /// Passages that a candidate was read in and that its verdict is given by, at most.
    pub max_source: usize,
    /// Who reads and who decides.
    pub course: Course,
    /// How verification questions are had; `None` takes the paper's form with [`Course::Faithful`] and the fixed one else.
    pub questions: Option<VqMode>,
    /// Conditions that a question is taken apart into, at most.
    pub max_constraints: usize,
    /// Spans with less, in nats over "no answer here", are not candidates of the span reader.
    pub min_margin: f64,
    /// Words of a candidate at most.
    pub max_answer_words: usize,
    /// Candidates that are verified at most, in their order; the others are rejected, and said to be.
    pub max_candidates: Option<usize>,
    /// Calls of a language model at most. Candidates that are left over are rejected, and said to be, with [`Course::Faithful`]; in
    /// the cascade the verifier's verdict on them stands.
    pub budget_calls: Option<usize>,
    /// Candidates are kept from this probability on; `None` takes the calibration's.
    pub threshold: Option<f64>,
    /// Between these probabilities a language model is asked; `None` takes the calibration's.
    pub unsure: Option<(f64, f64)>,
    /// Candidates that a language model is asked about in one call.
    pub group: usize,
    /// A verdict of a model that scores its words is yes from this probability on.
    pub theta: f64,
    /// What becomes of a candidate whose verdict cannot be read.
    pub unparsed: Unparsed,
    /// Whether candidates are merged that differ by something in brackets, by the order of their words, or not in value.
    pub alias_merge: bool,
    /// Names of one thing each.
    pub aliases: Vec<BTreeSet<String>>,
    /// Tokens of a passage that a language model is shown at most, about.
    pub max_passage_tokens: usize,
    /// Tokens of the passages that a model reads at once with `concat_reading`, about.
    pub max_context_tokens: usize,
    /// Keeps what so many passages say, without any verification.
    pub support_threshold: Option<usize>,
    /// Parts that are taken out.
    pub ablate: AnswersAblations,
    /// What the language model charges.
    pub price: Option<Price>,
}

impl Default for AnswersConfig {
    fn default() -> Self {
        Self {
            k: 100,
            k_verify: 5,
            max_source: 3,
            course: Course::default(),
            questions: None,
            max_constraints: 3,
            min_margin: 0.0,
            max_answer_words: 12,
            max_candidates: None,
            budget_calls: None,
            threshold: None,
            unsure: None,
            group: 8,
            theta: 0.5,
            unparsed: Unparsed::default(),
            alias_merge: true,
            aliases: Vec::new(),
            max_passage_tokens: 200,
            max_context_tokens: 2000,
            support_threshold: None,
            ablate: AnswersAblations::default(),
            price: None,
        }
    }
}

/// Parts of the method that can be taken out, to see what they are worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswersAblations {
    /// Every candidate is an answer.
    pub no_verification: bool,
    /// No search is made for a candidate.
    pub no_extra_evidence: bool,
    /// The best passages are read as one text.
    pub concat_reading: bool,
    /// The candidate is judged by the question itself.
    pub no_vq: bool,
    /// A candidate is judged without the passages it was read in.
    pub no_source_passages: bool,
    /// A language model lists what it remembers; nothing is read.
    pub parametric_only: bool,
    /// What the question itself names may be an answer.
    pub no_echo_filter: bool,
    /// Where one item of a list was read, the others are not taken too.
    pub no_lists: bool,
    /// What a passage is about is no candidate unless it is read in one.
    pub no_titles: bool,
}

impl AnswersConfig {
    /// The parts that [`ablate`](Self::ablate) knows.
    pub const PARTS: [&str; 9] = [
        "no_verification",
        "no_extra_evidence",
        "concat_reading",
        "no_vq",
        "no_source_passages",
        "parametric_only",
        "no_echo_filter",
        "no_lists",
        "no_titles",
    ];

    /// Takes a part out by its name.
    ///
    /// # Errors
    /// A user's error that lists the names.
    pub fn ablate(&mut self, part: &str) -> Result<()> {
        let name = part.trim().to_lowercase().replace('-', "_");
        let parts = &mut self.ablate;
        let switch = match name.as_str() {
            "no_verification" => &mut parts.no_verification,
            "no_extra_evidence" => &mut parts.no_extra_evidence,
            "concat_reading" => &mut parts.concat_reading,
            "no_vq" => &mut parts.no_vq,
            "no_source_passages" => &mut parts.no_source_passages,
            "parametric_only" => &mut parts.parametric_only,
            "no_echo_filter" => &mut parts.no_echo_filter,
            "no_lists" => &mut parts.no_lists,
            "no_titles" => &mut parts.no_titles,
            _ => {
                let known = Self::PARTS.join(", ");
                return Err(Error::invalid(
                    "--ablate",
                    format!("answers has no part {part}; it has {known}"),
                ));
            }
        };
        *switch = true;
        Ok(())
    }

    /// How verification questions are had.
    pub fn vq_mode(&self) -> VqMode {
        match (self.ablate.no_vq, self.questions, self.course) {
            (true, _, _) => VqMode::Fixed,
            (false, Some(mode), _) => mode,
            (false, None, Course::Faithful) => VqMode::PerCandidate,
            (false, None, Course::Cascade) => VqMode::Fixed,
        }
    }

    /// Checks what a person may have set.
    ///
    /// # Errors
    /// A user's error that names the setting.
    pub fn validate(&self) -> Result<()> {
        let counts = [
            ("k", self.k),
            ("max_source", self.max_source),
            ("max_constraints", self.max_constraints),
            ("group", self.group),
            ("max_answer_words", self.max_answer_words),
        ];
        for (name, n) in counts {
            if n == 0 {
                return Err(Error::invalid(format!("{name} of answers"), "it has to be at least 1"));
            }
        }
        let (low, high) = self.unsure.unwrap_or((0.0, 1.0));
        let shares = [
            ("threshold", self.threshold.unwrap_or(0.0)),
            ("theta", self.theta),
            ("unsure", low),
            ("unsure", high),
        ];
        if let Some((name, x)) = shares.into_iter().find(|(_, x)| !(0.0..=1.0).contains(x)) {
            let problem = format!("{x} is not between 0 and 1");
            return Err(Error::invalid(format!("{name} of answers"), problem));
        }
        if low > high {
            let problem = format!("it begins at {low}, above its end {high}");
            return Err(Error::invalid("unsure of answers", problem));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_can_be_taken_out_by_its_name() {
        for part in AnswersConfig::PARTS {
            let mut config = AnswersConfig::default();
            config.ablate(&part.replace('_', "-")).unwrap();
            assert_ne!(config.ablate, AnswersAblations::default(), "{part}");
        }
        let error = AnswersConfig::default().ablate("no_such_thing").unwrap_err();
        assert!(error.to_string().contains("no_verification"), "{error}");
    }

    #[test]
    fn the_paper_writes_a_question_for_each_candidate() {
        let mut config = AnswersConfig { course: Course::Faithful, ..AnswersConfig::default() };
        assert_eq!(config.vq_mode(), VqMode::PerCandidate);
        config.ablate.no_vq = true;
        assert_eq!(config.vq_mode(), VqMode::Fixed);
        assert_eq!(AnswersConfig::default().vq_mode(), VqMode::Fixed);
        let upside_down = AnswersConfig { unsure: Some((0.9, 0.1)), ..AnswersConfig::default() };
        assert!(upside_down.validate().unwrap_err().to_string().contains("0.9"));
    }
}
