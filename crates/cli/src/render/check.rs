//! Verdicts for people: the verdict first, how sure it is, the words it rests on.

use std::fmt::Write;

use counterproof::methods::check::{AbstainReason, CheckReport, Cited, PartReport, Stance};
use counterproof::text::conflict::compare;
use counterproof::{Error, Verdict};

use super::{cost, evidence, plain, trace};
use crate::commands::check::CheckedSentence;
use crate::style::{BAD, BOLD, DIM, GOOD, NOTE, paint};

/// A whole report.
pub(crate) fn report(report: &CheckReport, explain: bool) -> String {
    let mut out = format!("{}\n", paint(BOLD, &plain(&report.whole.claim)));
    out.push_str(&verdict(&report.whole));
    if report.parts.is_empty() {
        out.push_str(&citations(&report.whole, ""));
    } else {
        for part in &report.parts {
            let _ = write!(out, "\n{} {}\n  {}", sign(part), plain(&part.claim), verdict(part));
            out.push_str(&citations(part, "  "));
        }
    }
    let _ = writeln!(out, "\n{}", paint(DIM, &cost(&report.cost.total)));
    if explain {
        out.push('\n');
        out.push_str(&trace(&report.trace));
    }
    out
}

/// The verdict in words, with its confidence; or why there is none.
fn verdict(part: &PartReport) -> String {
    let confidence = part.confidence.get();
    let sure = format!("{} ({confidence:.2})", in_words(confidence));
    let mut out = match part.reason {
        None => format!("{}: {sure}\n", named(part.verdict)),
        Some(reason @ AbstainReason::UnknownLanguage) => {
            format!("{}: {}\n", paint(NOTE, "withheld"), reason.explain())
        }
        Some(reason) => format!(
            "{}: {}; it would have been {}, {sure}\n",
            paint(NOTE, "withheld"),
            reason.explain(),
            label(part.verdict)
        ),
    };
    if part.unverified {
        let told = "the verifier could not be asked: this is the language model's majority, not verified";
        let _ = writeln!(out, "{}", paint(NOTE, told));
    }
    if part.conflict {
        let _ = writeln!(out, "{}", paint(NOTE, "some passages support it and others speak against it"));
    }
    out
}

fn label(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Supported => "supported",
        Verdict::Refuted => "refuted",
        Verdict::NotEnoughEvidence => "not enough evidence",
    }
}

fn named(verdict: Verdict) -> String {
    let style = match verdict {
        Verdict::Supported => GOOD,
        Verdict::Refuted => BAD,
        Verdict::NotEnoughEvidence => NOTE,
    };
    paint(style, label(verdict))
}

/// A confidence in words.
fn in_words(confidence: f64) -> &'static str {
    match confidence {
        c if c >= 0.95 => "almost certain",
        c if c >= 0.85 => "very likely",
        c if c >= 0.7 => "likely",
        c if c >= 0.5 => "more likely than not",
        _ => "unsure",
    }
}

fn citations(part: &PartReport, indent: &str) -> String {
    let both = part.conflict;
    let told = part.citations.iter().map(|cited| citation(cited, &part.claim, both));
    let lines: String = told.map(|text| format!("\n{text}")).collect();
    lines
        .lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{indent}{line}\n") })
        .collect()
}

fn citation(cited: &Cited, claim: &str, stance: bool) -> String {
    // Against a claim the words that differ decide, and beside it those that are the same.
    let differing: Vec<String> = match cited.stance {
        Stance::Refutes => {
            compare(&cited.citation.quote, claim).conflicts.into_iter().map(|c| c.stated).collect()
        }
        Stance::Supports => Vec::new(),
    };
    let marked = if differing.is_empty() { claim.to_owned() } else { differing.join(" ") };
    let told = evidence(&cited.citation, &marked);
    match (stance, cited.stance) {
        (false, _) => told,
        (true, Stance::Supports) => format!("{} {told}", paint(GOOD, "for")),
        (true, Stance::Refutes) => format!("{} {told}", paint(BAD, "against")),
    }
}

fn sign(part: &PartReport) -> String {
    match (part.abstained, part.verdict) {
        (true, _) => paint(NOTE, "?"),
        (false, Verdict::Supported) => paint(GOOD, "✓"),
        (false, Verdict::Refuted) => paint(BAD, "✗"),
        (false, Verdict::NotEnoughEvidence) => paint(DIM, "–"),
    }
}

/// How many sentences came out how.
#[derive(Default)]
struct Tally {
    supported: u64,
    refuted: u64,
    nothing: u64,
    withheld: u64,
    failed: u64,
}

impl Tally {
    fn add(&mut self, whole: &PartReport) {
        let count = match (whole.abstained, whole.verdict) {
            (true, _) => &mut self.withheld,
            (false, Verdict::Supported) => &mut self.supported,
            (false, Verdict::Refuted) => &mut self.refuted,
            (false, Verdict::NotEnoughEvidence) => &mut self.nothing,
        };
        *count += 1;
    }

    fn told(&self) -> String {
        let Self { supported, refuted, nothing, withheld, failed } = self;
        let mut told = format!(
            "{supported} supported, {refuted} refuted, {nothing} without enough evidence, {withheld} withheld"
        );
        if *failed > 0 {
            let _ = write!(told, ", {failed} could not be checked");
        }
        told
    }
}

/// A text with each sentence marked, what was found beneath it, and a tally.
pub(crate) fn document(text: &str, sentences: &[CheckedSentence], explain: bool) -> String {
    let mut out = String::new();
    let mut tally = Tally::default();
    for sentence in sentences {
        let words = plain(sentence.span.slice(text).unwrap_or_default().trim());
        match &sentence.report {
            None => {
                let _ = writeln!(out, "  {}", paint(DIM, &words));
            }
            Some(Err(error)) => {
                tally.failed += 1;
                let _ = writeln!(out, "{} {words}\n    {}", paint(BAD, "!"), told(error));
            }
            Some(Ok(report)) => {
                tally.add(&report.whole);
                let _ = writeln!(out, "{} {words}", sign(&report.whole));
                if let Some(claim) = sentence.claim.as_deref().filter(|claim| plain(claim) != words) {
                    let _ = writeln!(out, "    {}", paint(DIM, &format!("checked as: {}", plain(claim))));
                }
                out.push_str(&beneath(report, explain));
            }
        }
    }
    let _ = writeln!(out, "\n{}", paint(DIM, &tally.told()));
    out
}

/// What stands beneath a sentence: the verdict and the words it rests on, each set in.
fn beneath(report: &CheckReport, explain: bool) -> String {
    let whole = &report.whole;
    let decisive = !whole.abstained && whole.verdict != Verdict::NotEnoughEvidence;
    let mut told = verdict(whole);
    if decisive || explain {
        told.extend(whole.citations.iter().map(|cited| citation(cited, &whole.claim, whole.conflict)));
    }
    if explain {
        told.push_str(&trace(&report.trace));
    }
    told.lines().map(|line| format!("    {line}\n")).collect()
}

fn told(error: &Error) -> String {
    paint(BAD, &plain(&error.to_string()))
}
