//! Files that are one document each: plain text, Markdown, HTML.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::source::{Source, read_all};
use super::{Format, RawDocument, ReadOptions, Row, Rows};

pub(super) struct Page {
    source: Option<Source>,
    format: Format,
    /// The name of the file, for a title where the page has none.
    name: String,
    max: usize,
}

impl Page {
    pub(super) fn new(source: Source, format: Format, name: String, options: &ReadOptions) -> Self {
        Self { source: Some(source), format, name, max: options.limits.max_row_bytes }
    }
}

impl Rows for Page {
    fn next_row(&mut self) -> Option<Result<Row, (Option<u64>, String)>> {
        let mut source = self.source.take()?;
        let bytes = match read_all(&mut source, self.max) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let problem = format!("the file is over the limit max_row_bytes = {}", self.max);
                return Some(Err((None, problem)));
            }
            Err(e) => return Some(Err((None, e.to_string()))),
        };
        let raw = String::from_utf8_lossy(&bytes);
        let invalid_utf8 = matches!(raw, std::borrow::Cow::Owned(_));
        let nul = raw.contains('\0');
        let raw = raw.replace('\0', "").replace("\r\n", "\n");
        let (title, text) = match self.format {
            Format::Markdown => markdown(&raw),
            Format::Html => match html(&raw) {
                Ok(page) => page,
                Err(problem) => return Some(Err((None, problem))),
            },
            _ => (None, raw),
        };
        let title = title.unwrap_or_else(|| self.name.clone());
        Some(Ok(Row::Document(RawDocument {
            title,
            text,
            line: 1,
            invalid_utf8,
            nul,
            ..RawDocument::default()
        })))
    }
}

/// The first heading, and the words without their marks.
fn markdown(source: &str) -> (Option<String>, String) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut text = String::with_capacity(source.len());
    let mut title: Option<String> = None;
    let mut heading: Option<usize> = None;
    let mut hidden = 0usize;
    for event in Parser::new_ext(source, options) {
        match event {
            Event::Start(Tag::MetadataBlock(_)) => hidden += 1,
            Event::End(TagEnd::MetadataBlock(_)) => hidden = hidden.saturating_sub(1),
            _ if hidden > 0 => {}
            Event::Start(Tag::Heading { .. }) => heading = Some(text.len()),
            Event::End(TagEnd::Heading(_)) => {
                if let Some(words) = heading.take().and_then(|from| text.get(from..)) {
                    let words = words.trim();
                    if title.is_none() && !words.is_empty() {
                        title = Some(words.to_owned());
                    }
                }
                text.push_str("\n\n");
            }
            Event::Text(words) | Event::Code(words) => text.push_str(&words),
            Event::SoftBreak => text.push(' '),
            Event::HardBreak => text.push('\n'),
            Event::End(TagEnd::TableCell) => text.push('\t'),
            Event::End(TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead) => text.push('\n'),
            Event::End(TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::List(_) | TagEnd::Table) => {
                text.push_str("\n\n");
            }
            _ => {}
        }
    }
    (title, tidy(&text))
}

/// The title element, and the words that a reader sees.
fn html(source: &str) -> Result<(Option<String>, String), String> {
    // A line as wide as the page keeps the words of a paragraph together.
    let render = |page: &str| {
        html2text::config::plain_no_decorate()
            .no_table_borders()
            .allow_width_overflow()
            .string_from_read(page.as_bytes(), usize::from(u16::MAX))
            .map_err(|e| format!("the page cannot be read as HTML: {e}"))
    };
    let title = title_element(source).map(render).transpose()?;
    let title = title.map(|t| t.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|t| !t.is_empty());
    Ok((title, tidy(&render(source)?)))
}

/// What stands inside the first `<title>`.
fn title_element(source: &str) -> Option<&str> {
    let lower = source.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower.get(open..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    source.get(start..end)
}

/// Takes blanks from line ends, and leaves one empty line between paragraphs.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = 0;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() {
            blank += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if blank > 0 { "\n\n" } else { "\n" });
        }
        blank = 0;
        out.push_str(line);
    }
    out
}
