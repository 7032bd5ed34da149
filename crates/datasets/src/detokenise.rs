//! From tokens back to prose.
//!
//! FEVER, its descendants and Natural Questions publish text as tokens of the Penn Treebank: `-LRB- born 1 May 1970 -RRB-`,
//! two grave accents for an opening quotation mark, `did n't`. A model that is trained on that learns a dialect nobody
//! writes. [`prose`] undoes it where a text is tokenised and leaves any other text as it is; [`Prose`] also tells where
//! a span has gone.

use std::ops::Range;

/// How a source cuts at hyphens and slashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hyphens {
    /// A hyphen inside a word stays inside it (FEVER), so a single one is a dash.
    #[default]
    Kept,
    /// A hyphen inside a word is a token of its own (Natural Questions): `best - seller`.
    Cut,
}

/// Text as it is written, with the places its tokens came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prose {
    /// The text.
    pub text: String,
    /// For each token its range in the source and in `text`, in order.
    moved: Vec<(Range<usize>, Range<usize>)>,
}

/// The text as it is written, without white space around it; see [`Prose::of`]. A comma that opens it is what was left of
/// a bracket, and goes too.
pub fn prose(text: &str) -> String {
    Prose::of(text.trim_start_matches([' ', ',', ';', '\n', '\t']).trim(), Hyphens::Kept).text
}

/// The title of a Wikipedia page from the way FEVER writes it: `ABC_islands_-LRB-Lesser_Antilles-RRB-`.
pub fn page_title(page: &str) -> String {
    brackets(&page.replace('_', " ")).replace("-COLON-", ":").split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Prose {
    /// Undoes the cutting of `text`, when it is cut.
    pub fn of(text: &str, hyphens: Hyphens) -> Self {
        if !is_tokenised(text) {
            return Self { text: text.to_owned(), moved: vec![(0..text.len(), 0..text.len())] };
        }
        let tokens = cut(text);
        let mut out =
            Self { text: String::with_capacity(text.len()), moved: Vec::with_capacity(tokens.len()) };
        let mut quotes = Quotes::default();
        let mut glue_next = true;
        for (at, token) in tokens.iter().enumerate() {
            let neighbour = |other: Option<usize>| other.and_then(|i| tokens.get(i)).map(|t| t.text);
            let around = (neighbour(at.checked_sub(1)), neighbour(at.checked_add(1)));
            let joint = join(token.text, around, hyphens, &mut quotes);
            if token.line_before && !out.text.is_empty() {
                out.text.push('\n');
            } else if !glue_next && !joint.left {
                out.text.push(' ');
            }
            let start = out.text.len();
            out.text.push_str(&joint.text);
            out.moved.push((token.start..token.start + token.text.len(), start..out.text.len()));
            glue_next = joint.right;
        }
        out
    }

    /// Where the bytes `range` of the source lie in the text; `None` when it holds no part of a token.
    pub fn locate(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let mut inside =
            self.moved.iter().filter(|(from, _)| from.start < range.end && range.start < from.end);
        let (from, to) = inside.next()?;
        // A token that was rewritten has no inner places.
        let offset = if from.len() == to.len() { range.start.saturating_sub(from.start) } else { 0 };
        let start = to.start + offset;
        let (from, to) = inside.next_back().unwrap_or(&(from.clone(), to.clone())).clone();
        let end = if from.len() == to.len() { to.end - from.end.saturating_sub(range.end) } else { to.end };
        (start < end && self.text.get(start..end).is_some()).then_some(start..end)
    }
}

struct Token<'a> {
    start: usize,
    text: &'a str,
    line_before: bool,
}

fn cut(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut start, mut line) = (None, false);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_whitespace(), start) {
            (false, None) => start = Some(at),
            (true, Some(from)) => {
                let word = text.get(from..at).unwrap_or_default();
                tokens.push(Token { start: from, text: word, line_before: line });
                (start, line) = (None, c == '\n');
            }
            (true, None) => line |= c == '\n',
            (false, Some(_)) => {}
        }
    }
    tokens
}

/// Whether a text shows marks that only a tokeniser leaves.
fn is_tokenised(text: &str) -> bool {
    const MARKS: [&str; 12] =
        [" -- ", " , ", " 's ", " n't ", "`` ", " ''", " ( ", "-LRB-", "-LSB-", " ; ", "-RRB-", " ' "];
    MARKS.iter().any(|mark| text.contains(mark))
        || text.ends_with(" .")
        || text.contains(" . ")
        || text.ends_with(" ?")
}

struct Joint {
    text: String,
    /// No space before it.
    left: bool,
    /// No space after it.
    right: bool,
}

/// Plain quotation marks open and close in turn.
#[derive(Default)]
struct Quotes {
    open: bool,
}

fn join(
    token: &str,
    (before, after): (Option<&str>, Option<&str>),
    hyphens: Hyphens,
    quotes: &mut Quotes,
) -> Joint {
    let keep = |left: bool, right: bool| Joint { text: brackets(token), left, right };
    let as_text = |text: &str, left: bool, right: bool| Joint { text: text.to_owned(), left, right };
    let ends_in = |word: Option<&str>, is: fn(&char) -> bool| {
        word.and_then(|w| w.chars().next_back()).is_some_and(|c| is(&c))
    };
    let starts_in = |word: Option<&str>, is: fn(&char) -> bool| {
        word.and_then(|w| w.chars().next()).is_some_and(|c| is(&c))
    };
    let between_numbers = ends_in(before, char::is_ascii_digit) && starts_in(after, char::is_ascii_digit);
    let between_words = ends_in(before, |c| c.is_alphanumeric()) && starts_in(after, |c| c.is_alphanumeric());
    match token {
        "," | "." | ";" | ":" | "!" | "?" | ")" | "]" | "}" | "-RRB-" | "-RSB-" | "-RCB-" | "%" | "..."
        | "…" | "°" | "’" | "”" => keep(true, false),
        "'s" | "'S" | "'re" | "'ve" | "'ll" | "'d" | "'m" | "’s" | "’re" | "’ve" | "’ll" | "’d" | "’m"
        | "n't" | "n’t" => keep(true, false),
        "(" | "[" | "{" | "-LRB-" | "-LSB-" | "-LCB-" | "$" | "£" | "€" | "¥" | "#" | "“" => {
            keep(false, true)
        }
        "``" => {
            quotes.open = true;
            as_text("\"", false, true)
        }
        "''" => {
            quotes.open = false;
            as_text("\"", true, false)
        }
        "\"" => {
            quotes.open = !quotes.open;
            keep(!quotes.open, quotes.open)
        }
        // The possessive of a plural.
        "'" if ends_in(before, |c| matches!(*c, 's' | 'z' | 'x')) => keep(true, false),
        "--" | "–" if between_numbers => as_text("–", true, true),
        "--" => as_text("–", false, false),
        "-" | "/" if hyphens == Hyphens::Cut && between_words => keep(true, true),
        _ => keep(false, false),
    }
}

/// Brackets as they are written in place of their names.
fn brackets(text: &str) -> String {
    if !text.contains("-L") && !text.contains("-R") {
        return text.to_owned();
    }
    const NAMES: [(&str, &str); 6] =
        [("-LRB-", "("), ("-RRB-", ")"), ("-LSB-", "["), ("-RSB-", "]"), ("-LCB-", "{"), ("-RCB-", "}")];
    NAMES.iter().fold(text.to_owned(), |text, (name, bracket)| text.replace(name, bracket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_become_prose() {
        for (tokens, text) in [
            (
                "Telemundo -LRB- -LSB- teleˈmundo -RSB- -RRB- is an American Spanish-language network .",
                "Telemundo ([teleˈmundo]) is an American Spanish-language network.",
            ),
            ("Damon Albarn 's debut did n't sell , he said .", "Damon Albarn's debut didn't sell, he said."),
            (
                "Everyday Robots -- co-produced by XL -- was released",
                "Everyday Robots – co-produced by XL – was released",
            ),
            ("It ran , from 1914 -- 1918 , in Paris .", "It ran, from 1914–1918, in Paris."),
            ("called `` the pathos '' , or \" a view \" .", "called \"the pathos\", or \"a view\"."),
            ("The Writers ' Guild ; it cost $ 5 ( 3 % ) .", "The Writers' Guild; it cost $5 (3%)."),
            ("One .\nTwo , three .", "One.\nTwo, three."),
            ("中文 , 也 .", "中文, 也."),
            (", it is the largest .", "it is the largest."),
        ] {
            assert_eq!(prose(tokens), text);
        }
    }

    #[test]
    fn prose_stays_as_it_is() {
        for text in ["He said: \"Go!\" (twice) - then left.", "A. B. C., 3.5 % of it", "", "中文。也是"]
        {
            assert_eq!(prose(text), text);
        }
    }

    #[test]
    fn hyphens_close_up_only_where_the_source_cuts_them() {
        let tokens = "the best - seller , spin - off and / or a B - side .";
        assert_eq!(Prose::of(tokens, Hyphens::Cut).text, "the best-seller, spin-off and/or a B-side.");
        assert_eq!(prose("It ended - so they said - in Rome ."), "It ended - so they said - in Rome.");
    }

    #[test]
    fn page_titles() {
        assert_eq!(page_title("ABC_islands_-LRB-Lesser_Antilles-RRB-"), "ABC islands (Lesser Antilles)");
        assert_eq!(page_title("Mission-COLON-_Impossible"), "Mission: Impossible");
    }

    #[test]
    fn spans_are_found_again() {
        let tokens = "It sold ( in `` all '' ) over 125 million copies , he said .";
        let prose = Prose::of(tokens, Hyphens::Cut);
        assert_eq!(prose.text, "It sold (in \"all\") over 125 million copies, he said.");
        for (part, found) in [
            ("over 125 million copies", "over 125 million copies"),
            ("`` all ''", "\"all\""),
            ("25 mill", "25 mill"),
            ("copies ,", "copies,"),
        ] {
            let at = tokens.find(part).unwrap();
            assert_eq!(&prose.text[prose.locate(&(at..at + part.len())).unwrap()], found);
        }
        assert_eq!(prose.locate(&(2..3)), None);
        let whole = Prose::of("plain text", Hyphens::Cut);
        assert_eq!(whole.locate(&(6..10)), Some(6..10));
    }
}
