//! Verdicts about several numbered things in one reply.

use serde_json::Value;

use super::json::{self, Found};
use super::quoted::{Given, is_block_quote};
use super::{Parsed, Unparsed, choice};

/// Keys under which an item of a list names what it is about.
const ID_KEYS: [&str; 8] = ["id", "index", "number", "n", "statement", "claim", "item", "passage"];
/// Keys under which it gives its verdict.
const VERDICT_KEYS: [&str; 6] = ["verdict", "decision", "answer", "label", "value", "result"];

/// A verdict as it was found: for which id, and what was read.
type Verdict<'w> = (String, Result<&'w str, Unparsed>);

pub(super) fn read<'w>(
    text: &str,
    ids: &[&str],
    allowed: &[&'w str],
    given: &Given,
    cut_off: bool,
) -> Vec<Parsed<&'w str>> {
    let mut found = of_json(text, ids, allowed, given);
    if found.is_empty() {
        found = of_lines(text, ids, allowed, given, cut_off);
    }
    ids.iter().map(|id| for_id(id, &found).into()).collect()
}

fn for_id<'w>(id: &str, found: &[Verdict<'w>]) -> Result<&'w str, Unparsed> {
    let mut own = found.iter().filter(|(i, _)| i == id).map(|(_, v)| v);
    let first = own.next().ok_or_else(|| Unparsed::Missing { what: id.to_owned() })?.clone()?;
    for other in own {
        match other {
            Ok(other) if *other != first => {
                return Err(Unparsed::Ambiguous { between: format!("{first}, {other}") });
            }
            _ => {}
        }
    }
    Ok(first)
}

fn of_json<'w>(text: &str, ids: &[&str], allowed: &[&'w str], given: &Given) -> Vec<Verdict<'w>> {
    let mut verdicts = Vec::new();
    for Found { json, .. } in json::candidates(text, given) {
        let cut = json.cut.unwrap_or_default();
        collect(&json.value, "", &cut, ids, allowed, &mut verdicts);
    }
    verdicts
}

fn collect<'w>(
    value: &Value,
    path: &str,
    cut: &str,
    ids: &[&str],
    allowed: &[&'w str],
    verdicts: &mut Vec<Verdict<'w>>,
) {
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                collect(item, &format!("{path}/{i}"), cut, ids, allowed, verdicts);
            }
        }
        Value::Object(map) => {
            let of = |keys: &[&str]| {
                map.iter()
                    .find(|(k, _)| keys.contains(&k.to_lowercase().as_str()))
                    .map(|(k, v)| (format!("{path}/{}", super::strings::pointer_part(k)), v))
            };
            if let Some((_, id)) = of(&ID_KEYS) {
                let verdict = match of(&VERDICT_KEYS) {
                    Some((path, verdict)) => word(verdict, allowed, path == cut),
                    None => Err(Unparsed::Missing { what: "verdict".to_owned() }),
                };
                verdicts.push((scalar(id), verdict));
                return;
            }
            for (key, inside) in map {
                let path = format!("{path}/{}", super::strings::pointer_part(key));
                match inside {
                    Value::Array(_) => collect(inside, &path, cut, ids, allowed, verdicts),
                    Value::Object(fields) if ids.contains(&key.as_str()) => {
                        let verdict =
                            fields.iter().find(|(k, _)| VERDICT_KEYS.contains(&k.to_lowercase().as_str()));
                        let verdict = match verdict {
                            Some((k, v)) => word(v, allowed, format!("{path}/{k}") == cut),
                            None => Err(Unparsed::Missing { what: "verdict".to_owned() }),
                        };
                        verdicts.push((key.clone(), verdict));
                    }
                    Value::Object(_) => collect(inside, &path, cut, ids, allowed, verdicts),
                    verdict if ids.contains(&key.as_str()) => {
                        verdicts.push((key.clone(), word(verdict, allowed, path == cut)));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    }
}

fn word<'w>(value: &Value, allowed: &[&'w str], cut: bool) -> Result<&'w str, Unparsed> {
    match value {
        // Only where the words asked for are yes and no do JSON's own truth values mean them.
        Value::Bool(truth) => {
            let wanted = if *truth { "yes" } else { "no" };
            let text = if allowed.contains(&wanted) { wanted.to_owned() } else { truth.to_string() };
            choice::read(&text, allowed, cut)
        }
        other => choice::read(&scalar(other), allowed, cut),
    }
}

fn of_lines<'w>(
    text: &str,
    ids: &[&str],
    allowed: &[&'w str],
    given: &Given,
    cut_off: bool,
) -> Vec<Verdict<'w>> {
    let last = text.trim_end().lines().next_back();
    text.lines()
        .filter(|line| !is_block_quote(line) && !given.holds(line))
        .filter_map(|line| {
            let (id, rest) = numbered(line, ids)?;
            let at_end = cut_off && last.is_some_and(|l| std::ptr::eq(l.as_ptr(), line.as_ptr()));
            Some((id.to_owned(), choice::read(rest, allowed, at_end)))
        })
        .collect()
}

/// The id that a line starts with (`2:`, `[2]`, `2.`, `**2)**`, `Statement 2 -`) and what follows it.
fn numbered<'i, 't>(line: &'t str, ids: &[&'i str]) -> Option<(&'i str, &'t str)> {
    let marks = |c: char| c.is_whitespace() || "*#`-_([（【\"".contains(c);
    let mut head = line.trim_start_matches(marks);
    for word in ["statement", "claim", "item", "verdict", "passage"] {
        if head.get(..word.len()).is_some_and(|h| h.eq_ignore_ascii_case(word)) {
            head = head.get(word.len()..)?.trim_start_matches(marks);
            break;
        }
    }
    let id = ids.iter().filter(|id| head.starts_with(**id)).max_by_key(|id| id.len())?;
    let rest = head.get(id.len()..)?;
    let value = rest.trim_start_matches(|c: char| c.is_whitespace() || "*`_)].:：）】-–—=\"".contains(c));
    (value.len() < rest.len()).then_some((*id, value))
}

#[cfg(test)]
mod tests {
    use super::super::Reply;
    use super::*;

    const IDS: [&str; 3] = ["1", "2", "10"];
    const WORDS: [&str; 2] = ["yes", "no"];

    #[test]
    fn every_form_gives_the_same_verdicts() {
        for text in [
            "1: yes\n2: no - because it says so\n10: yes",
            "[1] Yes.\n[2] No\n[10] **yes**",
            "Verdicts:\n1. yes\n2. no\n10. yes",
            "Statement 1: yes\nStatement 2: no\nStatement 10: yes",
            r#"[{"id": 1, "verdict": "yes"}, {"id": "2", "verdict": "No."}, {"id": 10, "verdict": "yes"}]"#,
            r#"{"verdicts": [{"id": 1, "verdict": "yes"}, {"id": 2, "verdict": "no"}, {"id": 10, "verdict": true}]}"#,
            r#"{"1": "yes", "2": {"verdict": "no", "reason": "1: no"}, "10": "yes",}"#,
        ] {
            let verdicts = Reply::new(text).verdicts(&IDS, &WORDS);
            assert_eq!(verdicts, ["yes", "no", "yes"].map(Parsed::Read), "{text}");
        }
    }

    #[test]
    fn an_id_with_two_verdicts_or_none_is_unparsed_by_itself() {
        let verdicts = Reply::new("1: yes\n1: no\n2: no").verdicts(&IDS, &WORDS);
        assert!(matches!(verdicts[0], Parsed::Unparsed(Unparsed::Ambiguous { .. })));
        assert_eq!(verdicts[1], Parsed::Read("no"));
        assert_eq!(verdicts[2], Parsed::Unparsed(Unparsed::Missing { what: "10".to_owned() }));
    }
}
