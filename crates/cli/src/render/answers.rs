//! All answers for people: those first that are surest, each with its best quotation.

use std::fmt::Write;

use counterproof::methods::answers::{Answer, AnswersReport, Decider, RejectReason, Rejected};

use super::{cost, count, evidence, plain, trace};
use crate::style::{BOLD, DIM, NOTE, paint};

/// A whole report.
pub(crate) fn report(report: &AnswersReport, explain: bool) -> String {
    let mut out = String::new();
    if report.answers.is_empty() {
        let _ = writeln!(out, "{}", paint(BOLD, "(no answer)"));
        let _ = writeln!(out, "{}", paint(NOTE, why_none(report)));
    }
    for answer in &report.answers {
        out.push_str(&one(answer));
    }
    let over = report.rejected.iter().filter(|r| r.reason == RejectReason::OverBudget).count();
    if over > 0 {
        let told = format!("\n{} not verified: the budget was spent", count(over as u64, "candidate"));
        let _ = writeln!(out, "{}", paint(NOTE, &told));
    }
    if explain && !report.rejected.is_empty() {
        let _ = writeln!(out, "\n{}", paint(BOLD, "rejected"));
        for rejected in &report.rejected {
            let _ = writeln!(out, "  {}", turned_down(rejected));
        }
    }
    let found = count(report.answers.len() as u64, "answer");
    let of = report.answers.len() + report.rejected.len();
    let counted = format!(
        "{found} of {} in {} · {}",
        count(of as u64, "candidate"),
        count(report.passages as u64, "passage"),
        cost(&report.cost.total)
    );
    let _ = writeln!(out, "\n{}", paint(DIM, &counted));
    if explain {
        out.push('\n');
        out.push_str(&trace(&report.trace));
    }
    out
}

fn why_none(report: &AnswersReport) -> &'static str {
    match (report.passages, report.rejected.is_empty()) {
        (0, true) => "no passage was found",
        (_, true) => "no passage holds anything that answers the question",
        (_, false) => "no candidate was established; --explain shows them",
    }
}

fn one(answer: &Answer) -> String {
    let mut told = vec![count(answer.support as u64, "passage")];
    if let Some(confidence) = answer.confidence {
        told.insert(0, format!("{:.2}", confidence.get()));
    }
    match answer.decided_by {
        Decider::Model => told.push("by the language model".to_owned()),
        Decider::Nobody => told.push("not verified".to_owned()),
        Decider::Verifier | Decider::Support => {}
    }
    let tail = paint(DIM, &format!("({})", told.join(", ")));
    let mut out = format!("{} {tail}\n", paint(BOLD, &plain(&answer.answer)));
    if let Some(citation) = answer.citations.first() {
        for line in evidence(citation, &answer.answer).lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

fn turned_down(rejected: &Rejected) -> String {
    let sureness = rejected.confidence.map_or_else(String::new, |p| format!(" ({:.2})", p.get()));
    let why = paint(DIM, &format!("{}{sureness}", rejected.reason.explain()));
    format!("{}: {why}", plain(&rejected.answer))
}
