//! Answer-conditioned queries (CounterRefine, step 3): the draft itself is used to look for what speaks for and
//! against it.

use counterproof_core::QuestionType;
use counterproof_text::abstention::is_abstention;
use counterproof_text::answer::yes_no;

use super::RepairConfig;

/// Where a query came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QueryRole {
    /// The question.
    Question,
    /// Question and draft together.
    Conditioned,
    /// The draft alone.
    BareDraft,
}

impl QueryRole {
    /// The role's name in traces.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Conditioned => "conditioned",
            Self::BareDraft => "bare_draft",
        }
    }
}

/// The queries for a question and its draft, in the order in which they are sent.
///
/// Always the question; question and draft, unless the draft abstains; the draft alone where the question asks for a
/// person, a place, a time or a number. Queries that differ only in case and spacing are sent once.
pub fn queries(
    question: &str,
    draft: &str,
    question_type: QuestionType,
    config: &RepairConfig,
) -> Vec<(QueryRole, String)> {
    let question = squeeze(question);
    let mut queries = vec![(QueryRole::Question, question.clone())];
    let draft = clip_words(draft, config.max_query_draft_words);
    if draft.is_empty() || is_abstention(&draft) {
        return queries;
    }
    let shown = if config.quote_draft { format!("\"{draft}\"") } else { draft.clone() };
    if !config.ablate.no_conditioned_query {
        queries.push((QueryRole::Conditioned, format!("{question} {shown}")));
    }
    let typed = matches!(
        question_type,
        QuestionType::Who
            | QuestionType::Where
            | QuestionType::When
            | QuestionType::Year
            | QuestionType::Number
    );
    let says_something = draft.chars().count() >= 2 && yes_no(&draft).is_none();
    if typed && says_something && !config.ablate.no_bare_draft {
        queries.push((QueryRole::BareDraft, shown));
    }
    let mut seen = std::collections::HashSet::new();
    queries.retain(|(_, q)| seen.insert(q.to_lowercase()));
    queries
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first `max` words. A text without spaces (Chinese) counts two characters as a word.
fn clip_words(text: &str, max: usize) -> String {
    let clipped = text.split_whitespace().take(max).collect::<Vec<_>>().join(" ");
    if clipped.contains(' ') {
        clipped
    } else {
        clipped.chars().take(max.saturating_mul(2).max(64)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(question_type: QuestionType, draft: &str) -> Vec<&'static str> {
        queries("Who wrote it?", draft, question_type, &RepairConfig::default())
            .iter()
            .map(|(role, _)| role.as_str())
            .collect()
    }

    /// Acceptance test 7 of the specification.
    #[test]
    fn the_query_set_depends_on_the_type_asked_for() {
        assert_eq!(roles(QuestionType::Entity, "Moby-Dick"), ["question", "conditioned"]);
        assert_eq!(roles(QuestionType::Who, "Herman Melville"), ["question", "conditioned", "bare_draft"]);
        assert_eq!(roles(QuestionType::Who, "I don't know"), ["question"]);
        assert_eq!(roles(QuestionType::Who, "  "), ["question"]);
    }

    #[test]
    fn a_bare_yes_or_a_single_character_is_never_a_query() {
        assert_eq!(roles(QuestionType::Number, "7"), ["question", "conditioned"]);
        assert_eq!(roles(QuestionType::Number, "yes"), ["question", "conditioned"]);
    }

    #[test]
    fn equal_queries_are_sent_once() {
        let config = RepairConfig::default();
        let sent = queries("  Herman   Melville ", "herman melville", QuestionType::Who, &config);
        assert_eq!(sent.len(), 2, "{sent:?}");
    }

    #[test]
    fn a_long_draft_is_cut_in_queries_only() {
        let draft = "word ".repeat(100);
        let sent = queries("Who?", &draft, QuestionType::Who, &RepairConfig::default());
        assert_eq!(sent[2].1.split(' ').count(), 30);
    }

    #[test]
    fn switches_take_single_queries_out() {
        let mut config = RepairConfig { quote_draft: true, ..RepairConfig::default() };
        config.ablate.no_bare_draft = true;
        let sent = queries("Who?", "Ada", QuestionType::Who, &config);
        assert_eq!(
            sent,
            [(QueryRole::Question, "Who?".into()), (QueryRole::Conditioned, "Who? \"Ada\"".into())]
        );
    }
}
