//! Chinese names, by the part of speech that the dictionary gives them, and titles in 《》.

use counterproof_core::{ByteSpan, QuestionType};

use super::MentionKind;
use crate::han;

pub(super) fn find(text: &str, wanted: QuestionType) -> Vec<(ByteSpan, MentionKind)> {
    let titles = titles(text);
    let mut out = Vec::new();
    for run in han::han_runs(text) {
        let mut at = run.start;
        // Neighbouring place names make one (中国北京市), and so do a place and an organisation (北京大学).
        let mut open: Option<(usize, usize, MentionKind)> = None;
        for (word, tag) in han::tag(text.get(run.clone()).unwrap_or_default()) {
            let end = at + word.len();
            let kind = match tag {
                "nr" | "nrt" | "nrfg" => Some(MentionKind::Person),
                "ns" => Some(MentionKind::Place),
                "nt" | "nz" => Some(MentionKind::Name),
                _ => None,
            };
            match (open, kind) {
                (
                    Some((start, _, MentionKind::Place)),
                    Some(kind @ (MentionKind::Place | MentionKind::Name)),
                ) => {
                    open = Some((start, end, kind));
                }
                _ => {
                    out.extend(open.take());
                    open = kind.map(|kind| (at, end, kind));
                }
            }
            at = end;
        }
        out.extend(open);
    }
    let mut out: Vec<(ByteSpan, MentionKind)> = out
        .into_iter()
        .filter(|(_, _, kind)| match wanted {
            QuestionType::Who => *kind == MentionKind::Person,
            QuestionType::Where => *kind == MentionKind::Place,
            _ => true,
        })
        .filter_map(|(start, end, kind)| Some((ByteSpan::new(start, end)?, kind)))
        .filter(|(span, _)| !titles.iter().any(|t| t.contains(*span)))
        .collect();
    if wanted == QuestionType::Entity {
        out.extend(titles.into_iter().map(|t| (t, MentionKind::Title)));
    }
    out
}

/// The spans inside 《》, without the marks.
fn titles(text: &str) -> Vec<ByteSpan> {
    let mut out = Vec::new();
    let mut open = None;
    for (at, c) in text.char_indices() {
        match c {
            '《' => open = Some(at + c.len_utf8()),
            '》' => {
                out.extend(open.take().filter(|start| *start < at).and_then(|start| ByteSpan::new(start, at)))
            }
            _ => {}
        }
    }
    out
}
