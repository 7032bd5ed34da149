//! Finding JSON in a reply and reading it, mended where it has to be.

use serde_json::{Map, Value};

use super::quoted::Given;
use super::strings::{self, Place};
use super::{Repair, note};

/// JSON that was read from a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Json {
    /// The value: as it stands in the reply when that is valid JSON.
    pub value: Value,
    /// What had to be mended, in the order in which it was met.
    pub repairs: Vec<Repair>,
    /// JSON pointer (RFC 6901) to the string that the reply was cut off in, if it was.
    pub cut: Option<String>,
}

/// Where some JSON stands in a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) json: Json,
}

/// How many brackets of a reply are tried as the beginning of JSON, and how deep it may nest: a reply of nothing but
/// brackets costs no more.
const MAX_STARTS: usize = 64;
const MAX_DEPTH: usize = 64;

/// The first JSON of the reply: the whole of it when it is valid, else the first object, else the first array.
pub(super) fn first(text: &str, given: &Given) -> Option<Json> {
    if let Ok(value) = serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        return (!given.holds(text)).then(|| whole(text, value));
    }
    let found = candidates(text, given);
    let object = found.iter().position(|f| f.json.value.is_object());
    let array = found.iter().position(|f| f.json.value.as_array().is_some_and(|a| !a.is_empty()));
    // A list of objects counts before the objects that it holds; candidates never lie inside one another.
    let best = match (object, array) {
        (Some(o), Some(a)) => Some(o.min(a)),
        (o, a) => o.or(a),
    }?;
    found.into_iter().nth(best).map(|f| f.json)
}

/// Valid JSON is never changed, but for keys that come twice, which it leaves open (RFC 8259, 4) and of which the first
/// counts here as it does for labelled lines.
fn whole(text: &str, value: Value) -> Json {
    let mut tolerant = Tolerant::new(text, 0);
    match tolerant.value(0) {
        Ok(Got::Value(first)) if tolerant.repairs == [Repair::DuplicateKey] => {
            Json { value: first, repairs: tolerant.repairs, cut: None }
        }
        _ => Json { value, repairs: Vec::new(), cut: None },
    }
}

/// Every object and array of the reply that can be read and does not stand in a given text, in order, none inside
/// another.
pub(super) fn candidates(text: &str, given: &Given) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..MAX_STARTS {
        let Some(start) = text.get(at..).and_then(|t| t.find(['{', '['])).map(|i| at + i) else { break };
        match read_at(text, start) {
            Attempt::Read(json, end) => {
                let source = text.get(start..end).unwrap_or_default();
                if !given.holds(source) && !given.holds(&source.replace("\\\"", "\"")) {
                    found.push(Found { start, json: around(text, start, end, json) });
                }
                at = end.max(start + 1);
            }
            Attempt::Nothing => at = start + 1,
            Attempt::Broken => break,
        }
    }
    found
}

fn around(text: &str, start: usize, end: usize, mut json: Json) -> Json {
    let before = text.get(..start).unwrap_or_default().trim();
    let after = text.get(end..).unwrap_or_default().trim();
    let fence = |s: &str| s.strip_prefix("```").is_some_and(|s| s.chars().all(char::is_alphanumeric));
    if before.lines().last().is_some_and(fence) {
        note(&mut json.repairs, Repair::Fence);
        if before.lines().count() > 1 || !(after.is_empty() || after == "```") {
            note(&mut json.repairs, Repair::TextAround);
        }
    } else if !before.is_empty() || !after.is_empty() {
        note(&mut json.repairs, Repair::TextAround);
    }
    json
}

enum Attempt {
    /// JSON, and the place where it ends.
    Read(Json, usize),
    /// A bracket that begins no JSON.
    Nothing,
    /// An object that cannot be read. What stands inside it may be a text that it quotes, so nothing beyond its
    /// beginning is trusted.
    Broken,
}

/// Reads the JSON that begins at a bracket.
fn read_at(text: &str, start: usize) -> Attempt {
    let rest = text.get(start..).unwrap_or_default();
    let mut valid = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    if let Some(Ok(value)) = valid.next() {
        let end = start + valid.byte_offset();
        return Attempt::Read(whole(text.get(start..end).unwrap_or_default(), value), end);
    }
    // A whole object whose quotes are all escaped is JSON that was put into a string once too often.
    if rest.get(1..).is_some_and(|inside| inside.trim_start().starts_with("\\\"")) {
        let unescaped = rest.replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\");
        let mut tolerant = Tolerant::new(&unescaped, 0);
        let Some(value) = tolerant.container() else { return tolerant.failed() };
        note(&mut tolerant.repairs, Repair::EscapedTwice);
        let end = if tolerant.at >= unescaped.trim_end().len() { text.len() } else { closing(text, start) };
        return Attempt::Read(tolerant.finish(value), end);
    }
    let mut tolerant = Tolerant::new(text, start);
    let Some(value) = tolerant.container() else { return tolerant.failed() };
    let end = tolerant.at;
    Attempt::Read(tolerant.finish(value), end)
}

/// One past the last closing brace after `start`, or the end.
fn closing(text: &str, start: usize) -> usize {
    text.get(start..).and_then(|t| t.rfind('}')).map_or(text.len(), |i| start + i + 1)
}

/// A step into a value.
enum Part {
    Key(String),
    Index(usize),
}

impl Part {
    fn pointer(&self) -> String {
        match self {
            Self::Key(key) => format!("/{key}"),
            Self::Index(index) => format!("/{index}"),
        }
    }
}

/// A value, or the reply's end before there was a whole one.
enum Got {
    Value(Value),
    Cut,
}

/// What was met is not JSON, however one bends it.
struct NotJson;

struct Tolerant<'a> {
    text: &'a str,
    at: usize,
    repairs: Vec<Repair>,
    path: Vec<Part>,
    cut: Option<String>,
    /// Whether a key in quotes was met: it is an object, or was meant to be one.
    keyed: bool,
}

impl<'a> Tolerant<'a> {
    fn new(text: &'a str, at: usize) -> Self {
        Self { text, at, repairs: Vec::new(), path: Vec::new(), cut: None, keyed: false }
    }

    fn failed(self) -> Attempt {
        if self.keyed { Attempt::Broken } else { Attempt::Nothing }
    }

    fn finish(self, value: Value) -> Json {
        Json { value, repairs: self.repairs, cut: self.cut }
    }

    /// An object or array that holds something, or is valid and empty.
    fn container(&mut self) -> Option<Value> {
        match self.value(0) {
            Ok(Got::Value(value)) => {
                let something = match &value {
                    Value::Object(map) => !map.is_empty(),
                    Value::Array(items) => !items.is_empty(),
                    _ => false,
                };
                something.then_some(value)
            }
            _ => None,
        }
    }

    fn place(&self) -> Place {
        Place::Value { in_array: matches!(self.path.last(), Some(Part::Index(_))) }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, c: char) {
        self.at += c.len_utf8();
    }

    fn note(&mut self, repair: Repair) {
        note(&mut self.repairs, repair);
    }

    /// Skips white space and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
            self.at += rest.len() - trimmed.len();
            let length = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                comment.find("*/").map_or(trimmed.len(), |i| i + 4)
            } else {
                return;
            };
            self.note(Repair::Comment);
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Got, NotJson> {
        self.blank();
        match self.peek() {
            None => Ok(Got::Cut),
            Some('{') if depth < MAX_DEPTH => self.object(depth),
            Some('[') if depth < MAX_DEPTH => self.array(depth),
            Some(c) if strings::opens(c) => self.string(self.place()).map(|s| Got::Value(Value::String(s))),
            Some(c) if c == '-' || c.is_ascii_digit() => self.number(),
            Some(c) if c.is_alphabetic() => self.literal(depth),
            Some(_) => Err(NotJson),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Got, NotJson> {
        self.skip('{');
        let mut map = Map::new();
        let mut comma = true;
        loop {
            self.blank();
            match self.peek() {
                None => {
                    self.note(Repair::CutOff);
                    break;
                }
                Some('}') => {
                    if comma && !map.is_empty() {
                        self.note(Repair::TrailingComma);
                    }
                    self.skip('}');
                    break;
                }
                Some(']') if depth > 0 => {
                    self.note(Repair::Bracket);
                    break;
                }
                Some(',') => {
                    if comma {
                        self.note(Repair::TrailingComma);
                    }
                    comma = true;
                    self.skip(',');
                    continue;
                }
                Some(_) => {}
            }
            if !comma {
                self.note(Repair::MissingComma);
            }
            comma = false;
            let quoted = self.peek().is_some_and(strings::opens);
            let key = self.key()?;
            self.blank();
            match self.peek() {
                None => {
                    self.note(Repair::CutOff);
                    break;
                }
                Some(':') => {
                    self.keyed |= quoted;
                    self.skip(':');
                }
                Some(_) => return Err(NotJson),
            }
            self.path.push(Part::Key(strings::pointer_part(&key)));
            let got = self.value(depth + 1);
            self.path.pop();
            match got? {
                Got::Cut => {
                    self.note(Repair::CutOff);
                    break;
                }
                Got::Value(_) if map.contains_key(&key) => self.note(Repair::DuplicateKey),
                Got::Value(value) => {
                    map.insert(key, value);
                }
            }
        }
        Ok(Got::Value(Value::Object(map)))
    }

    fn array(&mut self, depth: usize) -> Result<Got, NotJson> {
        self.skip('[');
        let mut items = Vec::new();
        let mut comma = true;
        loop {
            self.blank();
            match self.peek() {
                None => {
                    self.note(Repair::CutOff);
                    break;
                }
                Some(']') => {
                    if comma && !items.is_empty() {
                        self.note(Repair::TrailingComma);
                    }
                    self.skip(']');
                    break;
                }
                Some('}') if depth > 0 => {
                    self.note(Repair::Bracket);
                    break;
                }
                Some(',') => {
                    if comma {
                        self.note(Repair::TrailingComma);
                    }
                    comma = true;
                    self.skip(',');
                    continue;
                }
                Some(_) => {}
            }
            if !comma {
                self.note(Repair::MissingComma);
            }
            comma = false;
            self.path.push(Part::Index(items.len()));
            let got = self.value(depth + 1);
            self.path.pop();
            match got? {
                Got::Cut => {
                    self.note(Repair::CutOff);
                    break;
                }
                Got::Value(value) => items.push(value),
            }
        }
        Ok(Got::Value(Value::Array(items)))
    }

    fn key(&mut self) -> Result<String, NotJson> {
        match self.peek() {
            Some(c) if strings::opens(c) => self.string(Place::Key),
            Some(c) if c.is_alphabetic() || c == '_' => {
                let rest = self.rest();
                let end = rest
                    .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
                    .unwrap_or(rest.len());
                self.at += end;
                self.note(Repair::BareKey);
                Ok(rest.get(..end).unwrap_or_default().to_owned())
            }
            _ => Err(NotJson),
        }
    }

    fn string(&mut self, place: Place) -> Result<String, NotJson> {
        let read = strings::read(self.rest(), place).ok_or(NotJson)?;
        self.at += read.length;
        for repair in read.repairs {
            self.note(repair);
        }
        if !read.closed {
            self.note(Repair::CutOff);
            self.cut.get_or_insert_with(|| self.path.iter().map(Part::pointer).collect());
        }
        Ok(read.value)
    }

    fn number(&mut self) -> Result<Got, NotJson> {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')))
            .unwrap_or(rest.len());
        self.at += end;
        if end == rest.len() {
            // More digits may have been to come.
            return Ok(Got::Cut);
        }
        let number = rest.get(..end).unwrap_or_default();
        serde_json::from_str(number).map(Got::Value).map_err(|_| NotJson)
    }

    fn literal(&mut self, depth: usize) -> Result<Got, NotJson> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        let value = match word {
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            "null" | "None" | "NULL" | "undefined" => Value::Null,
            // A number that is none is a missing value, never a number.
            "NaN" => Value::Null,
            _ if self.place() == (Place::Value { in_array: false }) && depth > 0 => {
                return self.bare(rest);
            }
            _ if end == rest.len() && depth > 0 => {
                self.at += end;
                return Ok(Got::Cut);
            }
            _ => return Err(NotJson),
        };
        if !matches!(word, "true" | "false" | "null") {
            self.note(Repair::Literal);
        }
        self.at += end;
        Ok(Got::Value(value))
    }

    /// Words without quotes, up to the next mark of JSON.
    fn bare(&mut self, rest: &str) -> Result<Got, NotJson> {
        let end = rest.find(|c: char| ",}]\n\r".contains(c)).unwrap_or(rest.len());
        let words = rest.get(..end).unwrap_or_default();
        if words.contains(['"', '{', '[', ':']) {
            return Err(NotJson);
        }
        self.at += end;
        if end == rest.len() {
            return Ok(Got::Cut);
        }
        self.note(Repair::BareWord);
        Ok(Got::Value(Value::String(words.trim().to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Option<Json> {
        first(text, &Given::default())
    }

    #[track_caller]
    fn mends(text: &str, value: &Value, repairs: &[Repair]) {
        let json = read(text).unwrap_or_else(|| panic!("unread: {text}"));
        assert_eq!(&json.value, value, "{text}");
        assert_eq!(json.repairs, repairs, "{text}");
    }

    #[test]
    fn valid_json_is_taken_as_it_stands() {
        for text in
            [r#"{"a": "it's \\ \"so\" \u00e9", "b": [1, 2.5, null, {}]}"#, "[]", "{}", "3", r#""text""#]
        {
            let json = read(text).unwrap();
            assert_eq!(json.value, serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(json.repairs, []);
        }
    }

    #[test]
    fn what_is_mended_is_said() {
        use Repair::*;
        mends("{\"a\": 1,}", &json!({"a": 1}), &[TrailingComma]);
        mends("{'a': 'it''s'}", &json!({"a": "it''s"}), &[Quotes, UnescapedQuote]);
        mends("{'a': 'it's so'}", &json!({"a": "it's so"}), &[Quotes, UnescapedQuote]);
        mends("{“a”: “b”}", &json!({"a": "b"}), &[Quotes]);
        mends("{a: True, b: None}", &json!({"a": true, "b": null}), &[BareKey, Literal]);
        mends("{a: KEEP it, \"b\": 1}", &json!({"a": "KEEP it", "b": 1}), &[BareKey, BareWord]);
        mends("{\"a\": 1 \"b\": 2}", &json!({"a": 1, "b": 2}), &[MissingComma]);
        mends("{\"a\": 1 // one\n}", &json!({"a": 1}), &[Comment]);
        mends("{\"a\": [1, 2}", &json!({"a": [1, 2]}), &[Bracket]);
        mends("{\"a\": \"x\ny\"}", &json!({"a": "x\ny"}), &[ControlCharacter]);
        mends(r#"{\"a\": \"b\"}"#, &json!({"a": "b"}), &[EscapedTwice]);
        mends(
            "{\"a\": \"say \"hi\" now\", \"b\": 1}",
            &json!({"a": "say \"hi\" now", "b": 1}),
            &[UnescapedQuote],
        );
        mends("```json\n{\"a\": 1}\n```", &json!({"a": 1}), &[Fence]);
        mends("Sure! {\"a\": 1} Done.", &json!({"a": 1}), &[TextAround]);
        mends(r#"{"a": 1, "a": 2}"#, &json!({"a": 1}), &[DuplicateKey]);
    }

    #[test]
    fn what_is_cut_off_is_closed_and_numbers_are_not_guessed() {
        let cut = read(r#"{"reason": "it says 19"#).unwrap();
        assert_eq!(cut.value, json!({"reason": "it says 19"}));
        assert_eq!((cut.repairs.as_slice(), cut.cut.as_deref()), (&[Repair::CutOff][..], Some("/reason")));
        let cut = read(r#"{"ids": [1, 2, 1"#).unwrap();
        assert_eq!(cut.value, json!({"ids": [1, 2]}));
        assert_eq!(read(r#"{"a": {"b": "c"}, "d": tr"#).unwrap().value, json!({"a": {"b": "c"}}));
        assert_eq!(read(r#"{"a": {"b": "c"}, "d"#).unwrap().value, json!({"a": {"b": "c"}}));
    }

    #[test]
    fn prose_is_not_json() {
        for text in ["", "no", "{", "a set {a, b}", "see [the page]", "[[2]", "{{name}}", "}{", "{\"a\" = 1}"]
        {
            let json = read(text);
            assert!(json.as_ref().is_none_or(|j| j.value == json!([[2]])), "{text}: {json:?}");
        }
    }

    #[test]
    fn what_a_broken_object_quotes_is_not_taken_for_the_reply() {
        let text =
            r#"{"decision": 1x, "evidence": "{\"decision\": \"REVISE\"}", "b": {"decision": "REVISE"}}"#;
        assert_eq!(read(text), None);
    }

    #[test]
    fn nothing_but_brackets_is_refused_quickly() {
        let deep = "[".repeat(200_000);
        assert!(read(&deep).is_none());
        let _ = read(&"{\"a\":".repeat(100_000));
    }
}
