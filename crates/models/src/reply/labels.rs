//! Labelled lines: `DECISION: KEEP`, with whatever emphasis, bullets and fences a model adds.

use super::quoted::{Given, is_block_quote};
use super::{Label, Repair, note};

/// The values that were found, by the place of their label in the list asked for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Lines {
    /// Where the first label stands in the reply.
    pub(super) start: usize,
    pub(super) values: Vec<Option<String>>,
    /// The label whose value runs to the end of the reply.
    pub(super) last: Option<usize>,
    pub(super) repairs: Vec<Repair>,
    /// Labelled lines that were left out since a given text says them.
    pub(super) ignored: Vec<String>,
}

struct Line<'a> {
    start: usize,
    text: &'a str,
    fenced: bool,
    fence: bool,
}

/// The labelled values of a reply; `None` when it has no labelled line. Lines inside a code fence count only when there
/// is none outside, since a fence in a reply mostly quotes.
pub(super) fn read(text: &str, labels: &[Label], given: &Given) -> Option<Lines> {
    let lines = lines(text);
    let outside = scan(&lines, labels, given, false);
    if outside.values.iter().any(Option::is_some) {
        return Some(outside);
    }
    let mut inside = scan(&lines, labels, given, true);
    note(&mut inside.repairs, Repair::Fence);
    inside.ignored.extend(outside.ignored);
    if inside.values.iter().any(Option::is_some) || !inside.ignored.is_empty() { Some(inside) } else { None }
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut fenced = false;
    let mut start = 0;
    let mut lines = Vec::new();
    for raw in text.split_inclusive('\n') {
        let line = raw.trim_end_matches(['\n', '\r']);
        let fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        lines.push(Line { start, text: line, fenced: fenced && !fence, fence });
        fenced ^= fence;
        start += raw.len();
    }
    lines
}

fn scan(lines: &[Line<'_>], labels: &[Label], given: &Given, fenced: bool) -> Lines {
    let mut found = Lines { start: usize::MAX, values: vec![None; labels.len()], ..Lines::default() };
    // The label whose value is being read; a label that came before is read past.
    let mut open: Option<usize> = None;
    let mut label_line = "";
    for line in lines {
        if fenced && line.fence {
            open = None;
            continue;
        }
        let label = (line.fenced == fenced && !line.fence && !is_block_quote(line.text))
            .then(|| labelled(line.text, labels))
            .flatten();
        match label {
            Some((_, value, said)) if !value.is_empty() && given.holds(said) => {
                found.ignored.push(line.text.trim().to_owned());
                note(&mut found.repairs, Repair::Quotation);
            }
            Some((index, value, said)) => {
                open = None;
                label_line = said;
                if let Some(slot) = found.values.get_mut(index).filter(|slot| slot.is_none()) {
                    found.start = found.start.min(line.start);
                    *slot = Some(value);
                    open = Some(index);
                }
                found.last = open;
            }
            None => {
                let Some(index) = open else { continue };
                let block = labels.get(index).is_some_and(|l| l.block);
                let Some(Some(value)) = found.values.get_mut(index) else { continue };
                if block {
                    if !value.is_empty() {
                        value.push('\n');
                    }
                    value.push_str(line.text);
                } else if !line.text.trim().is_empty() {
                    if value.is_empty() && given.holds(&format!("{label_line}{}", line.text)) {
                        // Label and value stand on two lines, and so they do in a given text.
                        found.ignored.push(format!("{label_line} {}", line.text.trim()));
                        note(&mut found.repairs, Repair::Quotation);
                        if let Some(slot) = found.values.get_mut(index) {
                            *slot = None;
                        }
                        found.last = None;
                    } else if value.is_empty() {
                        *value = unwrapped(line.text.trim()).to_owned();
                    } else {
                        found.last = None;
                    }
                    open = None;
                }
            }
        }
    }
    for (value, label) in found.values.iter_mut().zip(labels) {
        if let Some(value) = value.as_mut().filter(|_| label.block) {
            *value = tidy(value);
        }
    }
    found
}

/// A block without the fences and quotation marks of Markdown around it.
fn tidy(block: &str) -> String {
    let fence = |line: &&str| !(line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~"));
    let lines: Vec<&str> = block.trim().lines().filter(fence).collect();
    let quote = |line: &str| line.trim_start().strip_prefix('>').map(|l| l.trim_start().to_owned());
    let text = match lines.iter().map(|l| quote(l)).collect::<Option<Vec<_>>>() {
        Some(quoted) => quoted.join("\n"),
        None => lines.join("\n"),
    };
    text.trim().to_owned()
}

fn is_mark(c: char) -> bool {
    matches!(c, '*' | '#' | '`' | '_')
}

/// The label that a line starts with, the value after it, and the line from the label on.
fn labelled<'l>(line: &'l str, labels: &[Label]) -> Option<(usize, String, &'l str)> {
    let line = line.trim_start();
    let bullet = line
        .strip_prefix("- ")
        .or_else(|| line.strip_prefix("• "))
        .or_else(|| {
            let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
            (rest.len() < line.len())
                .then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")))
                .flatten()
        })
        .unwrap_or(line);
    let head = bullet.trim_start_matches(|c: char| is_mark(c) || c.is_whitespace());
    let opened = bullet.get(..bullet.len() - head.len()).unwrap_or_default();
    labels.iter().enumerate().find_map(|(index, label)| {
        label.names().find_map(|name| Some((index, value_after(strip_fold(head, name)?, opened)?, head)))
    })
}

/// What follows a label, when a colon does; a heading needs none.
fn value_after(rest: &str, opened: &str) -> Option<String> {
    let unmarked = rest.trim_start_matches(is_mark);
    let closed_before = unmarked.len() < rest.len();
    let after = unmarked.trim_start();
    let Some(value) = after.strip_prefix([':', '：']) else {
        return (opened.contains('#') && after.is_empty()).then(String::new);
    };
    let opened: String = opened.chars().filter(|c| matches!(c, '*' | '_' | '`')).collect();
    if opened.is_empty() || closed_before {
        return Some(unwrapped(value.trim()).to_owned());
    }
    // The emphasis opened before the label closes right after the colon, or at the end of the line.
    let value = match value.strip_prefix(opened.as_str()) {
        Some(value) => value,
        None => value.trim_end().trim_end_matches(is_mark),
    };
    Some(unwrapped(value.trim()).to_owned())
}

/// A value without a pair of emphasis or code marks around the whole of it.
fn unwrapped(value: &str) -> &str {
    for mark in ["**", "`", "__", "*"] {
        let inside = value.strip_prefix(mark).and_then(|v| v.strip_suffix(mark));
        if let Some(inside) = inside.filter(|v| !v.is_empty() && !v.contains(mark)) {
            return inside.trim();
        }
    }
    value
}

/// `text` after `prefix`, compared without regard to case.
fn strip_fold<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let mut rest = text.chars();
    for wanted in prefix.chars() {
        let found = rest.next()?;
        if found != wanted && !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: [Label; 3] = [
        Label::line("DECISION").or(&["决定"]),
        Label::line("ANSWER").or(&["答案"]),
        Label::block("EVIDENCE").or(&["证据"]),
    ];

    fn values(text: &str) -> [Option<String>; 3] {
        let lines = read(text, &LABELS, &Given::default());
        lines.map_or([None, None, None], |l| l.values.try_into().unwrap())
    }

    #[track_caller]
    fn same(text: &str) {
        let some = |s: &str| Some(s.to_owned());
        assert_eq!(values(text), [some("KEEP"), some("1913"), some("NONE")], "{text}");
    }

    #[test]
    fn emphasis_bullets_and_fences_are_read_past() {
        same("DECISION: KEEP\nANSWER: 1913\nEVIDENCE: NONE");
        same("decision : KEEP\r\nAnswer: 1913\r\nevidence: NONE\r\n");
        same("**DECISION:** KEEP\n**ANSWER**: 1913\n**EVIDENCE: NONE**");
        same("- **Decision:** `KEEP`\n- *Answer*: **1913**\n- Evidence: NONE");
        same("1. DECISION: KEEP\n2. ANSWER: 1913\n3) EVIDENCE: NONE");
        same("### DECISION: KEEP\n### ANSWER\n1913\n### EVIDENCE\nNONE");
        same("`DECISION: KEEP`\n`ANSWER`: `1913`\nEVIDENCE:\nNONE");
        same(
            "Here is my decision.\n\n```\nDECISION: KEEP\nANSWER: 1913\nEVIDENCE: NONE\n```\nI hope it helps.",
        );
        same("EVIDENCE: NONE\n\nANSWER:\n\n1913\nDECISION: KEEP\n");
        same("决定：KEEP\n答案：1913\n证据：NONE");
        same("DECISION: KEEP\nANSWER: 1913\nEVIDENCE: NONE\nDECISION: REVISE\nANSWER: 1914");
    }

    #[test]
    fn a_star_that_belongs_to_the_answer_stays() {
        assert_eq!(values("ANSWER: A*")[1].as_deref(), Some("A*"));
        assert_eq!(values("**ANSWER:** A*")[1].as_deref(), Some("A*"));
        assert_eq!(values("**ANSWER: M*A*S*H**")[1].as_deref(), Some("M*A*S*H"));
    }

    #[test]
    fn a_word_that_begins_like_a_label_is_none() {
        assert_eq!(values("DECISIONS: KEEP\nThe ANSWER: 3\nanswered: 4\n> ANSWER: 5"), [None, None, None]);
    }

    #[test]
    fn lines_inside_a_fence_are_content_when_there_are_lines_outside() {
        let text = "DECISION: KEEP\nEVIDENCE: it says\n```\nANSWER: 666\n```\n";
        let [decision, answer, evidence] = values(text);
        assert_eq!((decision.as_deref(), answer), (Some("KEEP"), None));
        assert_eq!(evidence.as_deref(), Some("it says\nANSWER: 666"));
    }
}
