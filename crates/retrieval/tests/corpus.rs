//! Corpora as people have them: every format, and what goes wrong in them.

// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use counterproof_core::Limits;
use counterproof_retrieval::corpus::{Document, Format, ReadOptions, ReadReport, RowError, open};
use proptest::prelude::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }
}

fn read_with(path: &Path, options: &ReadOptions) -> (Vec<Document>, Vec<RowError>, ReadReport) {
    let mut documents = open(path, options).unwrap();
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for row in documents.by_ref() {
        match row {
            Ok(document) => good.push(document),
            Err(error) => bad.push(error),
        }
    }
    let report = documents.report();
    assert_eq!((report.documents, report.failed), (good.len() as u64, bad.len() as u64));
    let progress = documents.progress();
    assert_eq!(progress.bytes_read(), progress.bytes_total(), "all was read");
    (good, bad, report)
}

fn read(path: &Path) -> (Vec<Document>, Vec<RowError>, ReadReport) {
    read_with(path, &ReadOptions::default())
}

fn texts(documents: &[Document]) -> Vec<&str> {
    documents.iter().map(|d| d.text.as_str()).collect()
}

fn ids(documents: &[Document]) -> Vec<&str> {
    documents.iter().map(|d| d.id.as_str()).collect()
}

#[test]
fn json_lines_by_the_names_that_corpora_use() {
    let folder = Folder::new();
    let path = folder.file(
        "c.jsonl",
        concat!(
            "{\"id\": \"a\", \"title\": \"A\", \"text\": \"one\", \"url\": \"http://x\"}\n",
            "{\"_id\": 7, \"title\": \"B\", \"text\": \"two\"}\n",
            "{\"doc_id\": \"c\", \"contents\": \"three\"}\n",
            "{\"title\": \"Paris\", \"extract\": \"four\"}\n",
            "{\"body\": \"five\"}\n",
            "{\"text\": [\"six\", \"seven\"], \"url\": \"http://y\"}",
        ),
    );
    let (documents, errors, _) = read(&path);
    assert_eq!(errors, []);
    assert_eq!(texts(&documents), ["one", "two", "three", "four", "five", "six seven"]);
    assert_eq!(ids(&documents), ["a", "7", "c", "Paris", "c:5", "http://y"]);
    assert_eq!(documents[0].url.as_deref(), Some("http://x"));
}

#[test]
fn a_bad_row_is_named_and_the_rest_goes_on() {
    let folder = Folder::new();
    let path = folder.file(
        "c.jsonl",
        "{\"text\": \"one\"}\n{\"text\": \"tw\n[1, 2]\n{\"title\": \"no text\"}\n\n{\"text\": \"  \"}\n{\"text\": null}\n{\"text\": \"\\ud800\"}\n{\"text\": \"last\"}\n",
    );
    let (documents, errors, report) = read(&path);
    assert_eq!(texts(&documents), ["one", "last"]);
    assert_eq!(errors.iter().map(|e| e.line.unwrap()).collect::<Vec<_>>(), [2, 3, 4, 8]);
    assert!(errors[0].to_string().contains("c.jsonl, line 2: not JSON"), "{}", errors[0]);
    assert!(errors[2].problem.contains("looked for text, contents"), "{}", errors[2]);
    assert!(errors[2].problem.contains("found title"), "{}", errors[2]);
    assert_eq!(report.empty, 3);
}

#[test]
fn damaged_text_is_repaired_and_counted() {
    let folder = Folder::new();
    let mut bytes = b"\xef\xbb\xbf{\"text\": \"caf\xe9\"}\r\n".to_vec();
    bytes.extend_from_slice(
        b"{\"text\": \"a\x00b\"}\r\n{\"text\": \"c\\u0000d\"}\r\n{\"text\": \"fine\"}\r\n",
    );
    let (documents, errors, report) = read(&folder.file("c.jsonl", bytes));
    assert_eq!(errors, []);
    assert_eq!(texts(&documents), ["caf\u{fffd}", "ab", "cd", "fine"]);
    assert_eq!((report.invalid_utf8, report.nul), (1, 2));
}

#[test]
fn utf16_is_read_by_its_mark() {
    let folder = Folder::new();
    let text = "{\"text\": \"图书馆 🦀\"}\n{\"text\": \"two\"}\n";
    for (mark, to) in
        [([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xfe, 0xff], u16::to_be_bytes)]
    {
        let mut bytes = mark.to_vec();
        bytes.extend(text.encode_utf16().flat_map(to));
        let (documents, _, _) = read(&folder.file("c.jsonl", &bytes));
        assert_eq!(texts(&documents), ["图书馆 🦀", "two"]);
    }
    // A surrogate alone and half a unit at the end are replaced.
    let (documents, _, _) = read(&folder.file("t.txt", [0xff, 0xfe, 0x41, 0, 0, 0xd8, 0x42, 0, 0x43]));
    assert_eq!(texts(&documents), ["A\u{fffd}B\u{fffd}"]);
}

#[test]
fn a_packed_file_is_known_by_its_bytes() {
    let folder = Folder::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(b"{\"text\": \"one\"}\n{\"text\": \"two\"}\n").unwrap();
    let packed = packer.finish().unwrap();
    for name in ["c.jsonl.gz", "mislabelled.jsonl"] {
        let (documents, errors, _) = read(&folder.file(name, &packed));
        assert_eq!((texts(&documents), errors.len()), (vec!["one", "two"], 0));
    }
    let cut = folder.file("cut.jsonl.gz", &packed[..packed.len() - 10]);
    let errors: Vec<_> = open(&cut, &ReadOptions::default()).unwrap().filter_map(Result::err).collect();
    assert_eq!(errors.len(), 1, "a file that ends too early is told, once: {errors:?}");
}

#[test]
fn a_row_over_the_limit_is_left_out() {
    let folder = Folder::new();
    let long = "x".repeat(100_000);
    let path = folder.file("c.jsonl", format!("{{\"text\": \"{long}\"}}\n{{\"text\": \"short\"}}\n"));
    let limits = Limits { max_row_bytes: 1000, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let (documents, errors, _) = read_with(&path, &options);
    assert_eq!(texts(&documents), ["short"]);
    assert_eq!(errors[0].line, Some(1));
    assert!(errors[0].problem.contains("max_row_bytes = 1000"), "{}", errors[0]);

    let page = folder.file("p.txt", &long);
    let errors: Vec<_> = open(&page, &options).unwrap().filter_map(Result::err).collect();
    assert!(errors[0].problem.contains("max_row_bytes"), "{errors:?}");
}

#[test]
fn csv_with_quotes_and_line_breaks() {
    let folder = Folder::new();
    let path = folder.file(
        "c.csv",
        "ID,Title,Text\r\n1,A,plain\r\n2,\"B, b\",\"two\nlines, \"\"quoted\"\"\"\r\n\r\n3,C,5\" pipe\r\n",
    );
    let (documents, errors, _) = read(&path);
    assert_eq!(errors, []);
    assert_eq!(texts(&documents), ["plain", "two\nlines, \"quoted\"", "5\" pipe"]);
    assert_eq!((documents[1].title.as_str(), ids(&documents)), ("B, b", vec!["1", "2", "3"]));
}

#[test]
fn a_csv_row_with_too_few_fields_is_named_by_its_line() {
    let folder = Folder::new();
    let path = folder.file("c.csv", "id,text\n1,one\n2\n\"3\",\"a\nb\"\n4,x,y\n5,five\n");
    let (documents, errors, _) = read(&path);
    assert_eq!(texts(&documents), ["one", "a\nb", "five"]);
    assert_eq!(errors.iter().map(|e| e.line.unwrap()).collect::<Vec<_>>(), [3, 6]);
    assert!(errors[0].problem.contains("1 fields, the header 2"), "{}", errors[0]);
}

#[test]
fn a_quote_that_is_never_closed_costs_one_row() {
    let folder = Folder::new();
    let path = folder.file("c.csv", "id,text\n1,one\n2,\"open\n3,three\n4,four\n");
    let (documents, errors, _) = read(&path);
    assert_eq!(texts(&documents), ["one", "three", "four"]);
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].line, Some(3));
    assert!(errors[0].problem.contains("never closed"), "{}", errors[0]);
}

#[test]
fn columns_can_be_named() {
    let folder = Folder::new();
    let options = ReadOptions {
        text_field: Some("Absatz".into()),
        title_field: Some("Kopf".into()),
        id_field: Some("Nr".into()),
        ..ReadOptions::default()
    };
    let path = folder.file("c.tsv", "Nr\tKopf\tAbsatz\n9\tT\tein Satz\n");
    let (documents, _, _) = read_with(&path, &options);
    assert_eq!(
        (documents[0].id.as_str(), documents[0].title.as_str(), &*documents[0].text),
        ("9", "T", "ein Satz")
    );
    let (documents, errors, _) = read(&path);
    assert_eq!((documents.len(), errors.len()), (0, 1), "without a text column nothing can be read");
    assert!(errors[0].problem.contains("found Nr, Kopf, Absatz"), "{}", errors[0]);
}

#[test]
fn wikipedia_leads_as_one_object() {
    let folder = Folder::new();
    let path = folder.file(
        "summaries.json",
        r#"{"Paris": {"title": "Paris", "extract": "A city."}, "Bad": 3, "Rome": {"title": "Rome", "extract": "Another."}}"#,
    );
    let (documents, errors, _) = read(&path);
    assert_eq!(ids(&documents), ["Paris", "Rome"]);
    assert_eq!(documents[1].text, "Another.");
    assert!(errors[0].problem.contains("Bad"), "{errors:?}");

    let path =
        folder.file("list.json", "[{\"id\": 1, \"text\": \"one\"},\n {\"id\": 2, \"text\": \"two\"},\n oops");
    let (documents, errors, _) = read(&path);
    assert_eq!(ids(&documents), ["1", "2"], "what stands before the fault is kept");
    assert_eq!(errors[0].line, Some(3));
}

#[test]
fn pages_of_a_folder() {
    let folder = Folder::new();
    folder.file("b/notes.txt", "\u{feff}Plain words.\r\nSecond line.\r\n");
    folder.file(
        "a.md",
        "---\ndraft: true\n---\n# The *Tower*\n\nBuilt in `1889`\nof [iron](http://x).\n\n- one\n- two\n",
    );
    folder.file(
        "c.html",
        "<html><head><title>A &amp; B</title><style>p{}</style><script>var x=1;</script></head>\
         <body><h1>Head</h1><p>It opened in <b>1889</b>.</p><p>Then it closed.</p></body></html>",
    );
    folder.file(".hidden/x.txt", "no");
    folder.file("picture.png", [0u8; 9]);
    let (documents, errors, _) = read(folder.0.path());
    assert_eq!(errors, []);
    assert_eq!(ids(&documents), ["a.md", "b/notes.txt", "c.html"]);
    assert_eq!(documents[0].title, "The Tower");
    assert!(documents[0].text.contains("Built in 1889 of iron."), "{:?}", documents[0].text);
    assert!(!documents[0].text.contains("draft"), "{:?}", documents[0].text);
    assert_eq!(documents[1].title, "notes");
    assert_eq!(documents[1].text, "Plain words.\nSecond line.\n");
    assert_eq!(documents[2].title, "A & B");
    assert!(documents[2].text.contains("It opened in 1889."), "{:?}", documents[2].text);
    assert!(!documents[2].text.contains("var x"), "{:?}", documents[2].text);
}

#[test]
fn a_beir_folder_gives_its_corpus_only() {
    let folder = Folder::new();
    folder.file("corpus.jsonl", "{\"_id\": \"d1\", \"title\": \"T\", \"text\": \"words\"}\n");
    folder.file("queries.jsonl", "{\"_id\": \"q1\", \"text\": \"a question\"}\n");
    folder.file("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n");
    let (documents, errors, _) = read(folder.0.path());
    assert_eq!((ids(&documents), errors.len()), (vec!["d1"], 0));
}

#[test]
fn parquet() {
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    let schema = "message m { REQUIRED INT64 id; OPTIONAL BYTE_ARRAY title (UTF8); REQUIRED BYTE_ARRAY text (UTF8); REQUIRED INT64 unused; }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer =
        parquet::file::writer::SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    for group in 0..2i64 {
        let mut rows = writer.next_row_group().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[group * 2, group * 2 + 1], None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&[ByteArray::from("T")], Some(&[1, 0]), None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        let text = [ByteArray::from("words"), ByteArray::from(if group == 0 { "more" } else { " " })];
        column.typed::<ByteArrayType>().write_batch(&text, None, None).unwrap();
        column.close().unwrap();
        let mut column = rows.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&[0, 0], None, None).unwrap();
        column.close().unwrap();
        rows.close().unwrap();
    }
    writer.close().unwrap();

    let folder = Folder::new();
    let (documents, errors, report) = read(&folder.file("c.parquet", &bytes));
    assert_eq!(errors, []);
    assert_eq!(ids(&documents), ["0", "1", "2"]);
    assert_eq!((documents[0].title.as_str(), documents[1].title.as_str()), ("T", ""));
    assert_eq!((documents[1].text.as_str(), report.empty), ("more", 1));

    // Damage anywhere is an error, never a panic.
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        let path = folder.file("damaged.parquet", &damaged);
        let _ = open(&path, &ReadOptions::default()).unwrap().count();
    }
    let path = folder.file("cut.parquet", &bytes[..bytes.len() / 2]);
    assert_eq!(open(&path, &ReadOptions::default()).unwrap().filter(Result::is_err).count(), 1);
}

#[test]
fn what_cannot_be_opened_says_what_can() {
    let folder = Folder::new();
    let error = open(folder.0.path().join("none.jsonl"), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.code(), "not_found");
    let error = open(folder.file("c.xyz", "words"), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains(".jsonl"), "{error}");
    let error = open(folder.0.path(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("known kinds"), "{error}");
    let told = ReadOptions { format: Some(Format::Text), ..ReadOptions::default() };
    assert_eq!(read_with(&folder.file("c.xyz", "words"), &told).0.len(), 1);
}

#[test]
fn an_empty_file_has_no_documents() {
    let folder = Folder::new();
    for name in ["c.jsonl", "c.csv", "c.txt", "c.md", "c.html"] {
        let (documents, errors, _) = read(&folder.file(name, ""));
        assert_eq!((documents.len(), errors.len()), (0, 0), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_make_a_reader_panic_or_give_an_unclean_document(
        bytes in proptest::collection::vec(
            prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), Just(b'{'), Just(b'}'), Just(b'<'), any::<u8>()],
            0..400,
        ),
        name in prop_oneof![
            Just("c.jsonl"), Just("c.json"), Just("c.csv"), Just("c.tsv"), Just("c.parquet"), Just("c.txt"),
            Just("c.md"), Just("c.html")
        ],
    ) {
        let folder = Folder::new();
        for document in open(folder.file(name, &bytes), &ReadOptions::default()).unwrap().flatten() {
            prop_assert!(!document.text.trim().is_empty() && !document.text.contains('\0'));
            prop_assert!(!document.id.is_empty());
        }
    }

    #[test]
    fn csv_gives_back_what_was_written(rows in proptest::collection::vec(("[a-z]{1,5}", "[ -~\n]{1,40}"), 1..10)) {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["id", "text"]).unwrap();
        for (i, (id, text)) in rows.iter().enumerate() {
            writer.write_record([format!("{id}{i}"), format!("x{text}")]).unwrap();
        }
        let folder = Folder::new();
        let (documents, errors, _) = read(&folder.file("c.csv", writer.into_inner().unwrap()));
        prop_assert_eq!(errors, vec![]);
        let expected: Vec<String> = rows.iter().map(|(_, text)| format!("x{text}")).collect();
        prop_assert_eq!(texts(&documents), expected);
    }
}
