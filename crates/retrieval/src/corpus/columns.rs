//! Which field of a row is what: the names that published corpora use, and the user's own.

use super::ReadOptions;

/// Names of the four fields, in order of preference.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    pub(super) id: Vec<String>,
    pub(super) title: Vec<String>,
    pub(super) url: Vec<String>,
    pub(super) text: Vec<String>,
}

impl Columns {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let names = |own: &Option<String>, usual: &[&str]| match own {
            Some(name) => vec![name.clone()],
            None => usual.iter().map(|&s| s.to_owned()).collect(),
        };
        Self {
            id: names(&options.id_field, &["id", "_id", "doc_id", "docid"]),
            title: names(&options.title_field, &["title"]),
            url: names(&None, &["url"]),
            text: names(&options.text_field, &["text", "contents", "content", "extract", "body", "passage"]),
        }
    }

    /// The place in `header` of the first of `names` that it holds.
    pub(super) fn find(names: &[String], header: &[String]) -> Option<usize> {
        names.iter().find_map(|name| header.iter().position(|h| h.trim().eq_ignore_ascii_case(name)))
    }

    /// What to say of a row or header without a text.
    pub(super) fn no_text(&self, there: &[String]) -> String {
        let there = if there.is_empty() { "nothing".to_owned() } else { there.join(", ") };
        format!("no field holds the text: looked for {}, found {there}", self.text.join(", "))
    }
}
