//! Any bytes, read as every kind of corpus: no panic, no unclean document, and a bound on memory.
#![no_main]

use std::io::Cursor;

use counterproof_core::Limits;
use counterproof_retrieval::corpus::{Format, ReadOptions, read};
use counterproof_retrieval::passages::{PassageOptions, split};
use libfuzzer_sys::fuzz_target;

const FORMATS: [Format; 7] = [
    Format::JsonLines,
    Format::Json,
    Format::Csv,
    Format::Tsv,
    Format::Text,
    Format::Markdown,
    Format::Html,
];

fuzz_target!(|input: (u8, Vec<u8>)| {
    let (kind, bytes) = input;
    let format = FORMATS[usize::from(kind) % FORMATS.len()];
    let limits = Limits { max_row_bytes: 1 << 16, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let Ok(mut documents) = read(Cursor::new(bytes), "fuzz", format, &options) else { return };
    let mut good = 0;
    for document in documents.by_ref().flatten() {
        good += 1;
        assert!(!document.text.trim().is_empty() && !document.text.contains('\0'));
        assert!(!document.id.is_empty());
        for passage in split(&document, &PassageOptions::default()) {
            assert!(document.text.contains(&passage.text));
        }
    }
    assert_eq!(documents.report().documents, good);
});
