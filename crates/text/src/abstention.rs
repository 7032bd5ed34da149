//! Answers that decline to answer.
//!
//! An abstention is not an error and not an answer. It is matched as the whole answer, or as a clause that opens it
//! and declines; never as a part of one, because *Unknown Pleasures* and *None But the Brave* are answers.

use crate::normalise::fold_width;
use crate::packs::{chinese, english};

/// Whether a cleaned answer (see [`crate::answer::clean_answer`]) declines to answer.
///
/// An empty answer is none: the caller tells that case apart.
pub fn is_abstention(cleaned_answer: &str) -> bool {
    let form = matcher_form(cleaned_answer);
    if form.is_empty() {
        return false;
    }
    if english::ABSTENTIONS.contains(&form.as_str()) || is_chinese_abstention(cleaned_answer) {
        return true;
    }
    english::ABSTENTION_OPENINGS.iter().any(|opening| {
        form.strip_prefix(opening).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }) || leading_clause(cleaned_answer)
        .is_some_and(|clause| english::ABSTENTIONS.contains(&matcher_form(clause).as_str()))
}

/// Lower case, apostrophes deleted, every other punctuation mark a space, white space squeezed.
fn matcher_form(text: &str) -> String {
    let mut form = String::new();
    for c in fold_width(text).chars() {
        if matches!(c, '\'' | '’' | '`') {
            continue;
        }
        if c.is_alphanumeric() {
            form.extend(c.to_lowercase());
        } else if !form.is_empty() && !form.ends_with(' ') {
            form.push(' ');
        }
    }
    form.truncate(form.trim_end().len());
    form
}

/// What stands before the first mark that ends a clause: "Unknown; the passages are silent".
fn leading_clause(text: &str) -> Option<&str> {
    let marks = [". ", "; ", ": ", ", ", " - ", " – ", " — ", " ("];
    marks.iter().filter_map(|m| text.find(m)).min().and_then(|at| text.get(..at))
}

fn is_chinese_abstention(text: &str) -> bool {
    let bare: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
    chinese::ABSTENTIONS.contains(&bare.as_str())
        || chinese::ABSTENTION_OPENINGS.iter().any(|opening| bare.starts_with(opening))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abstentions_are_recognised() {
        for text in [
            "UNKNOWN",
            "Unknown",
            "I don't know",
            "I don’t know.",
            "i do not know",
            "Not enough information",
            "N/A",
            "n/a",
            "None",
            "cannot determine",
            "Cannot be determined",
            "Not found in provided context.",
            "Unknown.",
            "I don't know who directed it.",
            "The passages do not mention the year.",
            "Unknown (not in the passages)",
            "Not enough information to answer the question",
            "It is not known who built it",
            "There is no mention of the founder in the passages",
            "不知道",
            "未知",
            "无法确定。",
            "无法回答该问题",
            "没有提到",
            "文中没有提到作者。",
            "我不知道答案",
        ] {
            assert!(is_abstention(text), "{text}");
        }
    }

    #[test]
    fn answers_that_contain_such_words_are_answers() {
        for text in [
            "Unknown Pleasures",
            "None But the Brave",
            "The Unknown Soldier",
            "Nothing",
            "No",
            "The Man Who Knew Too Much",
            "Unknown Mortal Orchestra",
            "N/Aerospace",
            "Nonesuch",
            "I Don",
            "NASA",
            "Not Without My Daughter",
            "And Then There Were None",
            "",
            "无锡",
            "无间道",
            "未知死亡",
            "The Known World",
        ] {
            assert!(!is_abstention(text), "{text}");
        }
    }
}
