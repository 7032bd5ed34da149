//! Which language a text is in, as far as the rules need to know: English, Chinese, or one read by the Unicode rules
//! alone.

use serde::{Deserialize, Serialize};

use crate::han::{is_han, is_kana};
use crate::packs::english;

/// The languages that have a pack here, and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// English; also short Latin text that nothing speaks against (a bare name, a number).
    English,
    /// Chinese, simplified or traditional.
    Chinese,
    /// Any other: text is read by the Unicode rules, without word lists.
    Other,
}

impl Language {
    /// The name used in JSON and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::English => "english",
            Self::Chinese => "chinese",
            Self::Other => "other",
        }
    }
}

/// How much of a long text is looked at: a language shows in its first lines.
const LOOKED_AT: usize = 4000;
/// Letters that trigram statistics need before their word counts against English.
const ENOUGH_LETTERS: usize = 40;

/// The language of `text`: by script first, then by function words, then by letter statistics.
///
/// Questions are short and full of names, on which statistics alone go wrong: one English function word in a few
/// decides for English, and a text without any evidence counts as English.
pub fn detect(text: &str) -> Language {
    let (mut han, mut kana, mut latin_words, mut other, mut in_word) =
        (0usize, 0usize, 0usize, 0usize, false);
    let mut letters = 0usize;
    for c in text.chars().take(LOOKED_AT) {
        if is_han(c) {
            han += 1;
        } else if is_kana(c) {
            kana += 1;
        } else if is_latin(c) {
            letters += 1;
            latin_words += usize::from(!in_word);
        } else if c.is_alphabetic() {
            other += 1;
        }
        in_word = is_latin(c) || (in_word && matches!(c, '\'' | '’'));
    }
    if kana > 0 && kana * 8 >= han && kana + han >= latin_words {
        return Language::Other;
    }
    if han > 0 && han >= latin_words {
        return if other > han { Language::Other } else { Language::Chinese };
    }
    if other > letters {
        return Language::Other;
    }
    latin(text, letters)
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic()
        || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') && c.is_alphabetic()
}

fn latin(text: &str, letters: usize) -> Language {
    let cut = text.char_indices().nth(LOOKED_AT).map_or(text.len(), |(at, _)| at);
    let head = text.get(..cut).unwrap_or(text);
    let (mut words, mut english_words, mut foreign_words) = (0usize, 0usize, 0usize);
    for word in head.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty()) {
        let word = word.to_lowercase();
        words += 1;
        if english::FUNCTION_WORDS.contains(&word.as_str()) {
            english_words += 1;
        } else if english::FOREIGN_FUNCTION_WORDS.contains(&word.as_str()) {
            foreign_words += 1;
        }
    }
    if english_words > foreign_words || english_words * 6 >= words.max(1) && english_words >= foreign_words {
        return Language::English;
    }
    if foreign_words >= 2 || foreign_words == 1 && head.contains(['¿', '¡']) {
        return Language::Other;
    }
    let reliable_other = letters >= ENOUGH_LETTERS
        && whatlang::detect(head).is_some_and(|i| i.is_reliable() && i.lang() != whatlang::Lang::Eng);
    if reliable_other { Language::Other } else { Language::English }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_questions_are_told_apart() {
        for text in [
            "who got the first nobel prize in physics",
            "When was Paris founded?",
            "Oscar de la Renta",
            "Ludwig van Beethoven",
            "1912",
            "",
            "Who directed Der Himmel über Berlin?",
            "what does 龍 mean in Chinese?",
            "name the capital of burkina faso",
            "Kraków",
            "What year did Kinoko Teikoku release their first single Taikutsu Shinogi (退屈しのぎ)?",
            "Maria Skłodowska-Curie",
        ] {
            assert_eq!(detect(text), Language::English, "{text}");
        }
        for text in [
            "谁写了《红楼梦》？",
            "Python 是哪一年发布的？",
            "北京",
            "誰是第一位總統",
            "２０１９年３月５日，北京",
        ] {
            assert_eq!(detect(text), Language::Chinese, "{text}");
        }
        for text in [
            "東京はどこですか",
            "カタカナ",
            "Кто написал Войну и мир?",
            "Wer hat den Roman geschrieben und wann wurde er veröffentlicht?",
            "¿Quién escribió Don Quijote?",
            "Qui est le président de la France ?",
            "서울은 어디에 있습니까",
            "من كتب هذا الكتاب؟",
        ] {
            assert_eq!(detect(text), Language::Other, "{text}");
        }
    }

    #[test]
    fn enormous_input_is_read_in_part_only() {
        assert_eq!(detect(&"the end ".repeat(1_000_000)), Language::English);
    }
}
