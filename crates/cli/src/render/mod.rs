//! Output for people: the answer first, then why, then the evidence in its own words, then what it cost.

pub(crate) mod answers;
pub(crate) mod check;

use std::fmt::Write;

use counterproof::methods::repair::{Decision, Estimate, Reason, RepairReport};
use counterproof::{Citation, Event, Hit, RuleOutcome, StageCost, Trace, TracedHit};

use crate::style::{BAD, BOLD, DIM, GOOD, paint};

/// Columns that running text may take.
const WIDTH: usize = 96;

/// A whole report.
pub(crate) fn report(report: &RepairReport, explain: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", paint(BOLD, &plain(shown(&report.answer))));
    out.push_str(&decision(report));
    for citation in &report.citations {
        out.push('\n');
        out.push_str(&evidence(citation, &report.answer));
    }
    out.push('\n');
    if let Some(confidence) = report.confidence {
        let _ = write!(out, "{}", paint(DIM, &format!("confidence {:.2} · ", confidence.get())));
    }
    let _ = writeln!(out, "{}", paint(DIM, &cost(&report.cost.total)));
    if explain {
        out.push('\n');
        out.push_str(&trace(&report.trace));
    }
    out
}

fn shown(answer: &str) -> &str {
    if answer.trim().is_empty() { "(no answer)" } else { answer }
}

fn decision(report: &RepairReport) -> String {
    let why = report.reason.explain();
    match report.decision {
        Decision::Revise => format!(
            "{} from {}: {why}\n",
            paint(GOOD, "repaired"),
            paint(DIM, &format!("“{}”", plain(shown(&report.draft))))
        ),
        Decision::Keep => match report.reason {
            Reason::RetrievalFailed | Reason::GateFailed | Reason::Malformed => {
                format!("{}: {why}\n", paint(BAD, "kept, untested"))
            }
            _ => format!("{}: {why}\n", paint(GOOD, "kept")),
        },
    }
}

/// A citation: the title, and the words quoted with those of the answer marked.
pub(crate) fn evidence(citation: &Citation, answer: &str) -> String {
    let mut out = String::new();
    let id = paint(DIM, &format!("[{}]", plain(citation.passage.as_str())));
    let title = plain(&citation.title);
    let _ = if title.is_empty() { writeln!(out, "{id}") } else { writeln!(out, "{title}  {id}") };
    for line in wrap(&format!("“{}”", plain(&citation.quote)), WIDTH) {
        let _ = writeln!(out, "  {}", mark(&line, answer));
    }
    out
}

/// What a stage or a whole decision cost, in one line.
pub(crate) fn cost(cost: &StageCost) -> String {
    let mut parts = vec![count(cost.model_calls, "model call")];
    if cost.cached_calls > 0 {
        parts.push(format!("{} of them from the cache", cost.cached_calls));
    }
    parts.push(count(cost.searches, "search"));
    let tokens = cost.tokens_in.0 + cost.tokens_out.0;
    if tokens > 0 {
        parts.push(format!("{} tokens", thousands(tokens)));
    }
    parts.push(seconds(cost.wall_ms));
    if let Some(usd) = cost.usd {
        parts.push(format!("${usd:.4}"));
    }
    parts.join(" · ")
}

/// What a dry run estimates.
pub(crate) fn estimate(estimate: &Estimate, usd: Option<f64>) -> String {
    let mut out = format!(
        "{}: {}, {}, about {} tokens in and {} out",
        count(estimate.questions, "question"),
        count(estimate.model_calls, "model call"),
        count(estimate.searches, "search"),
        thousands(estimate.tokens_in.0),
        thousands(estimate.tokens_out.0),
    );
    if let Some(usd) = usd {
        let _ = write!(out, ", about ${usd:.2}");
    }
    out.push_str("\nnothing was asked\n");
    out
}

/// Hits of a search.
pub(crate) fn hits(hits: &[Hit], query: &str) -> String {
    if hits.is_empty() {
        return "no passage found\n".to_owned();
    }
    let mut out = String::new();
    for (rank, hit) in hits.iter().enumerate() {
        if rank > 0 {
            out.push('\n');
        }
        let passage = &hit.passage;
        let mut scores = format!("{:.3}", hit.score.get());
        if let (Some(sparse), Some(dense)) = (hit.sparse, hit.dense) {
            let _ = write!(scores, " (words {:.2}, meaning {:.3})", sparse.get(), dense.get());
        }
        let tail = paint(DIM, &format!("[{}]  {scores}", plain(passage.id.as_str())));
        let _ = writeln!(out, "{:>2}  {}  {tail}", rank + 1, paint(BOLD, &plain(&passage.title)));
        let lines = wrap(&plain(&passage.text), WIDTH - 4);
        for line in lines.iter().take(3) {
            let _ = writeln!(out, "    {}", mark(line, query));
        }
        if lines.len() > 3 {
            let _ = writeln!(out, "    …");
        }
    }
    out
}

/// How a decision came about.
pub(crate) fn trace(trace: &Trace) -> String {
    let mut out = format!("{}\n", paint(BOLD, "how it came about"));
    for event in &trace.events {
        let _ = match event {
            Event::Search { stage, query, hits, error, wall_ms, .. } => {
                let found = match error {
                    Some(error) => paint(BAD, &plain(&error.message)),
                    None => {
                        let name = |h: &TracedHit| match h.title.is_empty() {
                            true => format!("[{}]", plain(h.passage.as_str())),
                            false => plain(&h.title),
                        };
                        let titles: Vec<String> = hits.iter().map(name).collect();
                        let colon = if titles.is_empty() { "" } else { ": " };
                        format!("{}{colon}{}", count(hits.len() as u64, "passage"), titles.join("; "))
                    }
                };
                writeln!(out, "  search   {stage}: “{}” → {found} {}", plain(query), millis(*wall_ms))
            }
            Event::Reply { stage, reply, error, cached, wall_ms, .. } => {
                let said = match (reply, error) {
                    (_, Some(error)) => paint(BAD, &plain(&error.message)),
                    (Some(reply), None) => plain(&reply.trim().replace('\n', " ⏎ ")),
                    (None, None) => "nothing".to_owned(),
                };
                let cached = if *cached { " from the cache" } else { "" };
                writeln!(out, "  reply    {stage}{cached}: {said} {}", millis(*wall_ms))
            }
            Event::Scores { stage, scores, wall_ms, .. } => {
                let told: Vec<String> = scores
                    .iter()
                    .map(|(text, score)| format!("“{}” {:.2}", plain(text), score.get()))
                    .collect();
                writeln!(out, "  scores   {stage}: {} {}", told.join(", "), millis(*wall_ms))
            }
            Event::Read { stage, spans, wall_ms, .. } => {
                let told: Vec<String> = spans
                    .iter()
                    .map(|(_, words, margin)| format!("“{}” {:+.1}", plain(words), margin.get()))
                    .collect();
                writeln!(out, "  read     {stage}: {} {}", told.join(", "), millis(*wall_ms))
            }
            Event::Judged { stage, judged, wall_ms, .. } => {
                let _ = writeln!(
                    out,
                    "  judged   {stage}: {} {}",
                    count(judged.len() as u64, "pair"),
                    millis(*wall_ms)
                );
                judged.iter().try_for_each(|(passage, stated, nli)| {
                    writeln!(
                        out,
                        "             “{}” by {}: entailed {:.2}, neutral {:.2}, contradicted {:.2}",
                        plain(stated),
                        plain(passage.as_str()),
                        nli.entail.get(),
                        nli.neutral.get(),
                        nli.contradict.get()
                    )
                })
            }
            Event::Rule { rule, outcome, detail, .. } => {
                let sign = match outcome {
                    RuleOutcome::Passed => paint(GOOD, "✓"),
                    RuleOutcome::Failed => paint(BAD, "✗"),
                    RuleOutcome::Skipped => paint(DIM, "–"),
                };
                writeln!(out, "  rule   {sign} {rule}: {}", plain(detail))
            }
            Event::Decision { stage, decision, reason } => {
                writeln!(out, "  decision {stage}: {decision} ({reason})")
            }
            Event::Note { stage, text } => writeln!(out, "  note     {stage}: {}", plain(text)),
            _ => Ok(()),
        };
    }
    out
}

fn millis(ms: u64) -> String {
    paint(DIM, &format!("{ms} ms"))
}

/// Text that came from outside, fit for a terminal: without control characters, which could move the cursor or hide
/// what stands there.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' | '\r' => ' ',
            // Also the marks that turn the direction of what follows.
            c if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                '\u{fffd}'
            }
            c => c,
        })
        .collect()
}

/// Marks the words of `line` that are among `words`.
fn mark(line: &str, words: &str) -> String {
    let letters = |c: char| c.is_alphanumeric();
    let wanted: Vec<String> = words
        .split(|c| !letters(c))
        .map(str::to_lowercase)
        .filter(|w| w.chars().any(char::is_numeric) || w.chars().count() > 2 || !w.is_ascii())
        .filter(|w| !w.is_empty())
        .collect();
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (word, tail) = rest.split_at(rest.find(|c| !letters(c)).unwrap_or(rest.len()));
        if wanted.contains(&word.to_lowercase()) {
            out.push_str(&paint(BOLD, word));
        } else {
            out.push_str(word);
        }
        let (other, tail) = tail.split_at(tail.find(letters).unwrap_or(tail.len()));
        out.push_str(other);
        rest = tail;
    }
    out
}

/// Breaks text into lines of at most `width` characters at its blanks.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if length > 0 && length + 1 + size > width {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += size;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

pub(crate) fn count(n: u64, what: &str) -> String {
    let plural = match what {
        _ if n == 1 => "",
        w if w.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {what}{plural}", thousands(n))
}

pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

pub(crate) fn bytes(n: u64) -> String {
    let (mut value, mut unit) = (n as f64, "B");
    for next in ["kB", "MB", "GB"] {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1000.0, next);
    }
    if value < 10.0 && unit != "B" { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

fn seconds(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{:.1} s", ms as f64 / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_cannot_steer_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\nc\u{202e}d"), "a\u{fffd}[2Jb c\u{fffd}d");
    }

    #[test]
    fn the_words_of_the_answer_are_marked_and_no_others() {
        let marked = mark("It opened in 1889, in Paris.", "March 1889");
        assert_eq!(marked, format!("It opened in {}, in Paris.", paint(BOLD, "1889")));
        assert_eq!(mark("a of in", "a of in"), "a of in", "short words mark nothing");
    }

    #[test]
    fn numbers_read_easily() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(
            (bytes(612).as_str(), bytes(90_868_376).as_str(), bytes(1_117_320_768).as_str()),
            ("612 B", "91 MB", "1.1 GB")
        );
        assert_eq!(
            (count(1, "search").as_str(), count(3, "search").as_str(), count(2, "row").as_str()),
            ("1 search", "3 searches", "2 rows")
        );
    }

    #[test]
    fn lines_break_at_blanks() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 3), ["unbreakable"]);
    }
}
