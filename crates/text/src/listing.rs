//! Lists within a sentence: "Heat, Wounded Man and Sanctuary". Whoever reads one item as an answer has often found them all.

use counterproof_core::ByteSpan;

/// Characters in brackets at most.
const LONGEST_BRACKET: usize = 120;

/// Items that are looked for on one side at most.
const LONGEST_LIST: usize = 50;

/// Words of an item at most.
const LONGEST_ITEM: usize = 8;

/// Words of an item that starts with a small letter at most: without capitals nothing else tells where the last item ends.
const LONGEST_PLAIN: usize = 4;

/// Small words within a name.
const INNER: [&str; 22] = [
    "of", "the", "de", "la", "le", "du", "del", "der", "den", "von", "van", "and", "in", "for", "to", "on",
    "a", "an", "at", "with", "da", "di",
];

/// The other items of the list that the words at `span` are an item of, in order; empty where they are none.
///
/// Items are parted by commas, semicolons, "and", "or" or an ampersand, and may each be followed by something in brackets. Two
/// items have to be joined by a word, since "Paris, France" is no list. Items are alike in how they begin: names stand
/// with names and numbers with numbers.
pub fn siblings(text: &str, span: ByteSpan) -> Vec<ByteSpan> {
    let Some(own) = span.slice(text) else { return Vec::new() };
    let Some(kind) = Kind::of(own) else { return Vec::new() };
    // The part that somebody plays stands beside an item and is none itself.
    if text.get(..span.start()).is_some_and(|before| before.trim_end().ends_with(" as")) {
        return Vec::new();
    }
    let (before, joined_before) = walk(text, span, kind, Direction::Back);
    let (after, joined_after) = walk(text, span, kind, Direction::On);
    let parted = before.len() + after.len();
    if parted == 0 || parted == 1 && !(joined_before || joined_after) {
        return Vec::new();
    }
    // A row of commas alone is a list from three items on, and only where a word joins the last of them: else it may as well be
    // "Springfield, Illinois, United States".
    if !(joined_before || joined_after) && kind != Kind::Number {
        return Vec::new();
    }
    let mut all = before;
    all.reverse();
    all.extend(after);
    all
}

/// Names that hold an "and" and are one name all the same.
const JOINED: [&str; 14] = [
    "trinidad and tobago",
    "bosnia and herzegovina",
    "antigua and barbuda",
    "saint kitts and nevis",
    "são tomé and príncipe",
    "tyne and wear",
    "simon and garfunkel",
    "procter and gamble",
    "standard and poor",
    "turks and caicos",
    "newfoundland and labrador",
    "jammu and kashmir",
    "rolls and royce",
    "marks and spencer",
];

/// The items of a text that is a list as a whole: "Bobby Scott and Bob Russell". `None` for any other, and for one name with
/// an "and" in it, such as a country's, as far as that is known.
pub fn items(text: &str) -> Option<Vec<ByteSpan>> {
    // A comma within a number parts nothing.
    let first_end = [", ", "; ", " and ", " or ", " & "].iter().filter_map(|mark| text.find(mark)).min()?;
    let lower = text.to_lowercase();
    if JOINED.iter().any(|name| lower.contains(name)) {
        return None;
    }
    let head = text.get(..first_end)?.trim_end();
    let start = head.len() - head.trim_start().len();
    let first = ByteSpan::new(start, head.len()).filter(|span| !span.is_empty())?;
    let kind = Kind::of(head)?;
    let (rest, joined) = walk(text, first, kind, Direction::On);
    let last = rest.last()?;
    // All of the text has to be of the list.
    let left = text.get(last.end()..)?;
    if !joined || left.chars().any(char::is_alphanumeric) {
        return None;
    }
    // Items of a list are of about one length: "Anna and Peter Pan" may be one name, "Ann Lee and Bob Ray" is two.
    let words = |span: &ByteSpan| span.slice(text).unwrap_or_default().split_whitespace().count();
    let several = rest.len() > 1 || kind == Kind::Number || words(&first) > 1 || words(last) == 1;
    several.then(|| std::iter::once(first).chain(rest).collect())
}

/// How an item begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Number,
    Plain,
}

impl Kind {
    fn of(item: &str) -> Option<Self> {
        let item = item.trim_start_matches(|c: char| !c.is_alphanumeric());
        let first =
            item.strip_prefix("the ").or_else(|| item.strip_prefix("a ")).unwrap_or(item).chars().next()?;
        Some(match first {
            c if c.is_uppercase() => Self::Name,
            c if c.is_numeric() => Self::Number,
            c if c.is_alphabetic() => Self::Plain,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Back,
    On,
}

/// The items on one side, the nearest first, and whether a word joins any of them.
fn walk(text: &str, span: ByteSpan, kind: Kind, direction: Direction) -> (Vec<ByteSpan>, bool) {
    let (mut items, mut joined) = (Vec::new(), false);
    let mut at = span;
    let beside = text.get(span.end()..).map(after_brackets).unwrap_or_default();
    let qualified = beside.split_whitespace().next().is_some_and(|word| QUALIFIERS.contains(&word));
    loop {
        let next = match direction {
            Direction::On => next_item(text, at.end(), kind),
            Direction::Back => previous_item(text, at.start(), kind, qualified),
        };
        let Some((item, by_word)) = next.filter(|_| items.len() < LONGEST_LIST) else {
            return (items, joined);
        };
        // What follows the item after "and" is another list, unless a word joins it too: "France, Austria and Monaco, and Italy".
        if direction == Direction::On && joined && !by_word {
            return (items, joined);
        }
        items.push(item);
        at = item;
        joined |= by_word;
    }
}

/// The item after the byte `at`, and whether a word joins it.
fn next_item(text: &str, at: usize, kind: Kind) -> Option<(ByteSpan, bool)> {
    let rest = text.get(at..)?;
    let rest = after_brackets(rest.trim_start_matches(['"', '”', '\'', '’']));
    let (by_word, rest) = separator(rest).or_else(|| separator(after_qualifier(rest)?))?;
    let start = text.len() - rest.len();
    let item = leading_item(rest, kind)?;
    let span = ByteSpan::new(start, start + item.len())?;
    Some((span, by_word))
}

/// The rest of a text after what stands in brackets at its start.
fn after_brackets(text: &str) -> &str {
    let mut text = text;
    loop {
        let trimmed = text.trim_start();
        let close = match trimmed.chars().next() {
            Some('(') => ')',
            Some('[') => ']',
            _ => return text,
        };
        match trimmed.char_indices().take(LONGEST_BRACKET).find(|(_, c)| *c == close) {
            Some((at, _)) => text = trimmed.get(at + close.len_utf8()..).unwrap_or_default(),
            None => return text,
        }
    }
}

/// Words of what is said beside an item at most.
const LONGEST_QUALIFIER: usize = 7;

/// Words that begin what is said beside an item: the part that somebody plays, where a neighbour lies, a date.
const QUALIFIERS: [&str; 7] = ["as", "to", "in", "on", "from", "for", "of"];

/// The rest of a text after what is said beside an item at its start: "France to the west, and Italy", "Al Pacino as Vincent
/// and Robert De Niro". It has to end where the next item can begin.
fn after_qualifier(text: &str) -> Option<&str> {
    let mut words = words_of(text);
    let (_, first) = words.next()?;
    if !QUALIFIERS.contains(&first) {
        return None;
    }
    for (start, word) in words.take(LONGEST_QUALIFIER) {
        if matches!(word, "and" | "or" | "&") {
            return text.get(start..);
        }
        if word.ends_with([',', ';']) {
            return text.get(start + word.len() - 1..);
        }
        if word.ends_with(['.', ':', '?', '!']) && !is_initial(word) {
            return None;
        }
    }
    None
}

/// The rest of a text before what is said beside an item at its end.
fn before_qualifier(text: &str) -> Option<&str> {
    for (start, word) in last_words_of(text).take(LONGEST_QUALIFIER) {
        if word.ends_with([',', ';', ':', '.', '?', '!']) && !is_initial(word) || matches!(word, "and" | "or")
        {
            return None;
        }
        if QUALIFIERS.contains(&word) {
            return text.get(..start).map(str::trim_end);
        }
    }
    None
}

/// Whether a separator at the start of a text is a word, and what follows it.
fn separator(text: &str) -> Option<(bool, &str)> {
    let trimmed = text.trim_start();
    let (marked, rest) = match trimmed.strip_prefix([',', ';']) {
        Some(rest) => (true, rest.trim_start()),
        None => (false, trimmed),
    };
    let word = ["and ", "or ", "& ", "as well as "].iter().find_map(|word| rest.strip_prefix(word));
    let (by_word, rest) = match word {
        Some(rest) => (true, rest.trim_start()),
        None => (false, rest),
    };
    let quoted = rest.trim_start_matches(['"', '“', '\'', '‘']);
    (marked || by_word).then_some((by_word, quoted))
}

/// The item at the start of a text.
fn leading_item(text: &str, kind: Kind) -> Option<&str> {
    if Kind::of(text)? != kind {
        return None;
    }
    let mut end = 0;
    let mut words = 0;
    let mut last_capital = 0;
    let mut after_inner = false;
    for (start, word) in words_of(text) {
        let bare = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != ')');
        let closes = bare.len() < word.len();
        let lower = bare.to_lowercase();
        if (start > 0 && matches!(lower.as_str(), "and" | "or" | "&")) || word.starts_with(['(', '[']) {
            break;
        }
        // "Apollo 11" is a name; in "Paul McCartney in 1965" the year is not of it.
        let numeric = bare.starts_with(char::is_numeric) && !after_inner;
        let capital = bare.starts_with(char::is_uppercase) || numeric;
        after_inner = INNER.contains(&lower.as_str());
        let fits = match kind {
            Kind::Name => capital || after_inner,
            Kind::Number => words == 0 || !capital && words < 3,
            Kind::Plain => !capital,
        };
        let longest = if kind == Kind::Plain { LONGEST_PLAIN } else { LONGEST_ITEM };
        words += 1;
        if !fits || bare.is_empty() {
            break;
        }
        if words > longest {
            return None;
        }
        end = start + bare.len();
        if capital {
            last_capital = end;
        }
        if closes && !is_initial(word) {
            break;
        }
    }
    let end = if kind == Kind::Name { last_capital } else { end };
    text.get(..end).filter(|item| !item.is_empty())
}

/// Whether a word is an initial such as "J.".
fn is_initial(word: &str) -> bool {
    word.strip_suffix('.')
        .is_some_and(|rest| rest.chars().count() == 1 && rest.chars().all(char::is_uppercase))
}

/// The words of a text with where they start.
fn words_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// The words of a text with where they start, the last first.
fn last_words_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().rev().map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// The item before the byte `at`, and whether a word joins it.
fn previous_item(text: &str, at: usize, kind: Kind, qualified: bool) -> Option<(ByteSpan, bool)> {
    let before = text.get(..at)?.trim_end_matches(['"', '“', '\'', '‘']).trim_end();
    let word = [" and", " or", " &", " as well as"].iter().find_map(|word| before.strip_suffix(word));
    let (by_word, rest) = match word {
        Some(rest) => (true, rest.trim_end()),
        None => (false, before),
    };
    let (marked, rest) = match rest.strip_suffix([',', ';']) {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    if !(marked || by_word) {
        return None;
    }
    let rest = before_brackets(rest.trim_end_matches(['"', '”', '\'', '’']));
    // Only where something is said beside this item too: of "University of Ohio, Yale" the first item is not "University".
    let rest = if qualified { before_qualifier(rest).unwrap_or(rest) } else { rest };
    let rest = before_brackets(rest);
    let item = trailing_item(rest, kind)?;
    let start = rest.len() - item.len();
    Some((ByteSpan::new(start, rest.len())?, by_word))
}

/// A text without what stands in brackets at its end.
fn before_brackets(text: &str) -> &str {
    let mut trimmed = text.trim_end();
    loop {
        let open = match trimmed.chars().next_back() {
            Some(')') => '(',
            Some(']') => '[',
            _ => return trimmed,
        };
        match trimmed.char_indices().rev().take(LONGEST_BRACKET).find(|(_, c)| *c == open) {
            Some((at, _)) => trimmed = trimmed.get(..at).unwrap_or_default().trim_end(),
            None => return trimmed,
        }
    }
}

/// The item at the end of a text.
fn trailing_item(text: &str, kind: Kind) -> Option<&str> {
    let mut start = None;
    for (n, (at, word)) in last_words_of(text).take(LONGEST_ITEM + 1).enumerate() {
        // What ends with a mark belongs to something before.
        if n > 0 && word.ends_with([',', ';', ':', '.', '?', '!', ')', '"']) && !is_initial(word) {
            break;
        }
        let bare = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        let begin = at + (word.len() - bare.len());
        let lower = bare.to_lowercase();
        let capital = bare.starts_with(|c: char| c.is_uppercase() || c.is_numeric());
        let longest = if kind == Kind::Plain { LONGEST_PLAIN } else { LONGEST_ITEM };
        if n >= longest || matches!(lower.as_str(), "and" | "or" | "&") {
            break;
        }
        match kind {
            Kind::Name if capital => start = Some(begin),
            Kind::Name if start.is_some() && INNER.contains(&lower.as_str()) => {}
            Kind::Number if bare.starts_with(char::is_numeric) => {
                start = Some(begin);
                break;
            }
            Kind::Number if n < 2 => {}
            // Without capitals only the word itself is surely of the item.
            Kind::Plain if !capital && n == 0 => start = Some(begin),
            _ => break,
        }
        // What opens a quotation opens the item.
        if bare.len() < word.len() {
            break;
        }
    }
    text.get(start?..).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, item: &str) -> Vec<String> {
        let at = text.find(item).unwrap();
        let span = ByteSpan::new(at, at + item.len()).unwrap();
        siblings(text, span).iter().map(|s| s.slice(text).unwrap().to_owned()).collect()
    }

    #[test]
    fn one_item_finds_the_others() {
        let text = "He drew Heat, Wounded Man (1983), Crying Freeman and Mai, the Psychic Girl.";
        assert_eq!(of(text, "Heat"), ["Wounded Man", "Crying Freeman", "Mai"]);
        assert_eq!(of(text, "Wounded Man"), ["Heat", "Crying Freeman", "Mai"]);
        assert_eq!(of(text, "Crying Freeman"), ["Heat", "Wounded Man", "Mai"]);
        let text = "The film starred Bill Murray, Dan Aykroyd, and Sigourney Weaver in the lead.";
        assert_eq!(of(text, "Dan Aykroyd"), ["Bill Murray", "Sigourney Weaver"]);
        let two = "It was written by John Lennon and Paul McCartney in 1965.";
        assert_eq!(of(two, "John Lennon"), ["Paul McCartney"]);
        assert_eq!(of(two, "Paul McCartney"), ["John Lennon"]);
        assert_eq!(of("It won in 1998, 2002 and 2006.", "2006"), ["1998", "2002"]);
        let plain = "The symptoms are fever, dry cough and headache.";
        assert_eq!(of(plain, "fever"), ["dry cough", "headache"]);
    }

    #[test]
    fn a_list_is_taken_apart() {
        let of = |text: &str| {
            items(text).map(|all| all.iter().map(|s| s.slice(text).unwrap().to_owned()).collect::<Vec<_>>())
        };
        let some = |all: &[&str]| Some(all.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        assert_eq!(of("Bobby Scott and Bob Russell"), some(&["Bobby Scott", "Bob Russell"]));
        assert_eq!(
            of("Diane Keaton, Jane Fonda, and Candice Bergen"),
            some(&["Diane Keaton", "Jane Fonda", "Candice Bergen"])
        );
        assert_eq!(of("1992 and 1993"), some(&["1992", "1993"]));
        assert_eq!(of("4,500 and 6,000"), some(&["4,500", "6,000"]));
        assert_eq!(of("Alaska and Hawaii"), some(&["Alaska", "Hawaii"]));
        for whole in [
            "Trinidad and Tobago",
            "Paris, France",
            "Heat",
            "1939 to 1945",
            "Mai, the Psychic Girl",
            "",
            " and ",
        ] {
            assert_eq!(of(whole), None, "{whole}");
        }
    }

    #[test]
    fn what_is_said_beside_an_item_is_passed_over() {
        let text = "It is bordered by Germany to the north, France to the west, Austria and Liechtenstein to the east, and Italy \
                    to the south.";
        assert_eq!(of(text, "Germany"), ["France", "Austria", "Liechtenstein", "Italy"]);
        assert_eq!(of(text, "France"), ["Germany", "Austria", "Liechtenstein", "Italy"]);
        let text =
            "It stars Al Pacino as Vincent Hanna, Robert De Niro as Neil McCauley and Val Kilmer as Chris.";
        assert_eq!(of(text, "Al Pacino"), ["Robert De Niro", "Val Kilmer"]);
        assert_eq!(of(text, "Val Kilmer"), ["Al Pacino", "Robert De Niro"]);
        assert_eq!(of(text, "Neil McCauley"), Vec::<String>::new(), "parts are another list");
    }

    #[test]
    fn what_is_no_list_has_no_other_items() {
        for (text, item) in [
            ("He was born in Paris, France.", "Paris"),
            ("He lives in Springfield, Illinois, United States.", "Springfield"),
            ("It was sung by Adele in London.", "Adele"),
            ("It opened in 1932, and the mayor spoke.", "1932"),
            ("The cause was malaria, although doctors disagreed, which surprised many.", "malaria"),
            ("", ""),
        ] {
            assert_eq!(of(text, item), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn enormous_lists_and_brackets_end() {
        let brackets = format!("Heat {}", "(a) ".repeat(100_000));
        assert!(of(&brackets, "Heat").is_empty());
        let names: Vec<String> = (0..20_000).map(|i| format!("Aa{}", "b".repeat(i % 5))).collect();
        let long = format!("{} and Zz.", names.join(", "));
        let middle = long.len() / 2;
        let at = middle + long[middle..].find("Aa").unwrap();
        let end = at + long[at..].find(',').unwrap();
        assert!(siblings(&long, ByteSpan::new(at, end).unwrap()).len() <= 2 * LONGEST_LIST);
    }

    #[test]
    fn quotes_and_initials_do_not_end_a_list() {
        let text = "Songs include \"Help\", \"Yesterday\" and \"Let It Be\".";
        assert_eq!(of(text, "Yesterday"), ["Help", "Let It Be"]);
        let text = "The authors are J. R. Smith, Mary Jones and Ann B. Lee.";
        assert_eq!(of(text, "Mary Jones"), ["J. R. Smith", "Ann B. Lee"]);
    }
}
