//! The labelled values of a reply, whatever form they came in.

use serde_json::Value;

use super::json::{self, Found, Json};
use super::quoted::Given;
use super::{Label, Parsed, Repair, Unparsed, choice, labels, note};

/// Values by label.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fields {
    values: Vec<(&'static str, String)>,
    cut: Option<&'static str>,
    repairs: Vec<Repair>,
    ignored: Vec<String>,
}

impl Fields {
    /// The value of the label with this name, if the reply has it. It may be empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
    }

    /// The one of `allowed` that the value of a label amounts to; see [`choice`](super::choice()).
    pub fn choice<'w>(&self, name: &str, allowed: &[&'w str]) -> Parsed<&'w str> {
        let Some(value) = self.get(name) else {
            return Parsed::Unparsed(Unparsed::Missing { what: name.to_owned() });
        };
        let cut_off = self.cut == Some(self.name(name));
        choice::read(value, allowed, cut_off).into()
    }

    /// The label whose value the reply was cut off in, if it was.
    pub fn cut_off(&self) -> Option<&'static str> {
        self.cut
    }

    /// What had to be mended.
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// Labelled lines that were left out since a given text has them word for word.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// The labels found with their values, in the order in which the labels were asked for.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(name, value)| (*name, value.as_str()))
    }

    fn name(&self, name: &str) -> &'static str {
        self.values.iter().find(|(n, _)| *n == name).map_or("", |(n, _)| n)
    }
}

/// Reads the fields from labelled lines or JSON, whichever comes first.
pub(super) fn read(text: &str, asked: &[Label], given: &Given, cut_off: bool) -> Result<Fields, Unparsed> {
    if text.trim().is_empty() {
        return Err(Unparsed::Empty);
    }
    let lines = labels::read(text, asked, given);
    let object = json::candidates(text, given).into_iter().find_map(|Found { start, json }| {
        let fields = of_json(json, asked)?;
        Some((start, fields))
    });
    let ignored = lines.as_ref().map(|l| l.ignored.clone()).unwrap_or_default();
    match (lines, object) {
        (Some(lines), Some((start, fields))) if start < lines.start => Ok(Fields { ignored, ..fields }),
        (Some(lines), _) if lines.values.iter().any(Option::is_some) => {
            let name = |index: usize| asked.get(index).map(Label::name);
            Ok(Fields {
                cut: if cut_off { lines.last.and_then(name) } else { None },
                values: asked.iter().zip(lines.values).filter_map(|(l, v)| Some((l.name, v?))).collect(),
                repairs: lines.repairs,
                ignored,
            })
        }
        (_, Some((_, fields))) => Ok(Fields { ignored, ..fields }),
        _ => {
            Err(Unparsed::NoLabel { expected: asked.iter().map(Label::name).collect::<Vec<_>>().join(", ") })
        }
    }
}

/// The fields of an object that has at least one of the keys asked for; also where a lone object or array is wrapped
/// around it.
fn of_json(json: Json, asked: &[Label]) -> Option<Fields> {
    let Json { value, mut repairs, cut } = json;
    let mut prefix = String::new();
    let mut value = &value;
    loop {
        match value {
            Value::Object(map) if map.keys().any(|k| asked.iter().any(|l| is(l, k))) => break,
            Value::Object(map) if map.len() == 1 => {
                let (key, inside) = map.iter().next()?;
                prefix = format!("{prefix}/{}", super::strings::pointer_part(key));
                value = inside;
            }
            Value::Array(items) if items.len() == 1 => {
                prefix.push_str("/0");
                value = items.first()?;
            }
            _ => return None,
        }
        note(&mut repairs, Repair::Wrapped);
    }
    let map = value.as_object()?;
    let mut fields = Fields { repairs, ..Fields::default() };
    for label in asked {
        let Some((key, value)) = map.iter().find(|(k, _)| is(label, k)) else { continue };
        let pointer = format!("{prefix}/{}", super::strings::pointer_part(key));
        if cut.as_deref().is_some_and(|c| c == pointer || c.starts_with(&format!("{pointer}/"))) {
            fields.cut = Some(label.name);
        }
        if let Some(text) = text_of(value) {
            fields.values.push((label.name, text));
        }
    }
    Some(fields)
}

/// Whether a key is the label, but for case, spaces and marks.
fn is(label: &Label, key: &str) -> bool {
    let key = key.trim().trim_matches(['*', '#', '`', ':', '_']).to_lowercase();
    label.names().any(|name| name.to_lowercase() == key)
}

/// A value as text: a list of texts is one text a line. `null` is no value.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Array(items) => match items.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
            Some(texts) => Some(texts.join("\n")),
            None => Some(value.to_string()),
        },
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reply;
    use super::*;

    const LABELS: [Label; 3] = [Label::line("DECISION"), Label::line("ANSWER"), Label::block("EVIDENCE")];
    const WORDS: [&str; 2] = ["KEEP", "REVISE"];

    fn parse(text: &str) -> Fields {
        Reply::parse(text, &LABELS).into_result().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn json_and_lines_say_the_same() {
        for text in [
            "DECISION: REVISE\nANSWER: 1913\nEVIDENCE: founded in 1913",
            r#"{"decision": "REVISE", "answer": 1913, "evidence": "founded in 1913"}"#,
            r#"Sure: ```json
{"Decision": "REVISE", "ANSWER": "1913", "evidence": ["founded in 1913"],}
```"#,
            r#"{"result": {"decision": "REVISE", "answer": "1913", "evidence": "founded in 1913"}}"#,
            r#"[{'decision': 'REVISE', 'answer': '1913', 'evidence': 'founded in 1913'}]"#,
        ] {
            let fields = parse(text);
            assert_eq!(fields.choice("DECISION", &WORDS), Parsed::Read("REVISE"), "{text}");
            assert_eq!(fields.get("ANSWER"), Some("1913"), "{text}");
            assert_eq!(fields.get("EVIDENCE"), Some("founded in 1913"), "{text}");
        }
    }

    #[test]
    fn whichever_form_comes_first_counts() {
        let fields = parse("DECISION: KEEP\nEVIDENCE: {\"decision\": \"REVISE\"}");
        assert_eq!(fields.get("DECISION"), Some("KEEP"));
        let fields = parse("{\"decision\": \"KEEP\", \"evidence\": \"x\nDECISION: REVISE\ny\"}");
        assert_eq!(fields.get("DECISION"), Some("KEEP"));
        assert!(fields.repairs().contains(&Repair::ControlCharacter));
    }

    #[test]
    fn a_decision_that_was_cut_off_is_not_read() {
        let fields = parse(r#"{"answer": "1913", "decision": "KEEP"#);
        assert_eq!(fields.cut_off(), Some("DECISION"));
        assert_eq!(
            fields.choice("DECISION", &WORDS),
            Parsed::Unparsed(Unparsed::CutOff { what: "KEEP".to_owned() })
        );
        let text = "DECISION: REVISE\nANSWER: 1913\nEVIDENCE: founded in 19";
        let cut = Reply::new(text).cut_off(true).fields(&LABELS).read().unwrap();
        assert_eq!(cut.cut_off(), Some("EVIDENCE"));
        assert_eq!(cut.choice("DECISION", &WORDS), Parsed::Read("REVISE"));
    }

    #[test]
    fn a_reply_without_the_form_is_unparsed() {
        assert_eq!(Reply::parse(" \n", &LABELS), Parsed::Unparsed(Unparsed::Empty));
        for text in ["I would keep the answer.", "{\"verdict\": \"KEEP\"}", "<html>502</html>", "{}"] {
            let Parsed::Unparsed(Unparsed::NoLabel { expected }) = Reply::parse(text, &LABELS) else {
                panic!("{text}")
            };
            assert_eq!(expected, "DECISION, ANSWER, EVIDENCE");
        }
        let fields = parse("DECISION: maybe");
        assert!(matches!(fields.choice("DECISION", &WORDS), Parsed::Unparsed(Unparsed::Unknown { .. })));
        assert!(matches!(fields.choice("ANSWER", &WORDS), Parsed::Unparsed(Unparsed::Missing { .. })));
    }
}
