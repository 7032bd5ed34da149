//! The prompts of this method: files beside this one, each in English and in Chinese, chosen by the language of the
//! question.

use counterproof_core::{QuestionType, Result};
use counterproof_models::prompts::{Rendered, Value};
use counterproof_text::language::{Language, detect};

use super::Pool;
use crate::prompts::{Loaded, fill, prompt_set};

static DRAFT: Loaded = prompt_set!("repair", "draft");
static GATE: Loaded = prompt_set!("repair", "gate");
static SCORE: Loaded = prompt_set!("repair", "score");

/// Asks for the shortest answer from the passages.
pub(super) fn draft(question: &str, pool: &Pool, max_tokens: usize) -> Result<Rendered> {
    let passages = shown(pool, max_tokens);
    fill(
        &DRAFT,
        question,
        &[("question", Value::Line(question)), ("passages", Value::Passages(&pairs(&passages)))],
    )
}

/// Asks for decision, answer and evidence.
pub(super) fn gate(
    question: &str,
    wanted: QuestionType,
    draft: &str,
    pool: &Pool,
    max_tokens: usize,
) -> Result<Rendered> {
    let passages = shown(pool, max_tokens);
    fill(
        &GATE,
        question,
        &[
            ("question", Value::Line(question)),
            ("wanted", Value::Plain(described(wanted, detect(question)))),
            ("draft", Value::Line(draft)),
            ("passages", Value::Passages(&pairs(&passages))),
        ],
    )
}

/// The beginning of an answer to `question` after evidence, given as titles and sentences.
pub(super) fn score(question: &str, evidence: &[(String, String)]) -> Result<Rendered> {
    fill(
        &SCORE,
        question,
        &[("question", Value::Line(question)), ("evidence", Value::Passages(&pairs(evidence)))],
    )
}

fn pairs(passages: &[(String, String)]) -> Vec<(&str, &str)> {
    passages.iter().map(|(title, text)| (title.as_str(), text.as_str())).collect()
}

/// Titles and texts of the pool, each text cut to `max_tokens` whitespace tokens (or six times as many characters,
/// for texts without spaces).
fn shown(pool: &Pool, max_tokens: usize) -> Vec<(String, String)> {
    pool.passages()
        .iter()
        .map(|entry| {
            let words = entry.passage.text.split_whitespace().take(max_tokens).collect::<Vec<_>>().join(" ");
            let text = words.chars().take(max_tokens.saturating_mul(12)).collect();
            (entry.passage.title.clone(), text)
        })
        .collect()
}

fn described(wanted: QuestionType, language: Language) -> &'static str {
    let (english, chinese) = match wanted {
        QuestionType::YesNo => ("yes or no", "是或否"),
        QuestionType::Year => ("a year", "年份"),
        QuestionType::When => ("a date or time", "日期或时间"),
        QuestionType::Number => ("a number or quantity", "数字或数量"),
        QuestionType::Where => ("a place", "地点"),
        QuestionType::Who => ("a person's name", "人名"),
        QuestionType::Entity => ("a name", "名称"),
        QuestionType::Other => ("a short phrase", "简短的短语"),
    };
    if language == Language::Chinese { chinese } else { english }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_prompt_file_is_sound_and_speaks_the_language_of_the_question() {
        let pool = Pool::default();
        for (question, language) in [("In what year was it founded?", ".en@"), ("它成立于哪一年？", ".zh@")]
        {
            for rendered in [
                draft(question, &pool, 200).unwrap(),
                gate(question, QuestionType::Year, "1912", &pool, 200).unwrap(),
                score(question, &[]).unwrap(),
            ] {
                assert!(rendered.prompt.name.contains(language), "{}", rendered.prompt.name);
                assert!(rendered.messages.iter().any(|m| m.content.contains(question)));
            }
        }
    }
}
