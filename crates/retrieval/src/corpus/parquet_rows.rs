//! Parquet corpora. Only the columns that are needed are read.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;

use super::columns::Columns;
use super::lines::too_long;
use super::{Progress, RawDocument, ReadOptions, Row, Rows};

pub(super) struct ParquetRows {
    rows: RowIter<'static>,
    /// Names of the columns read, by what they hold.
    id: Option<String>,
    title: Option<String>,
    url: Option<String>,
    text: String,
    number: u64,
    total: u64,
    bytes: u64,
    reported: u64,
    progress: Progress,
    max: usize,
    ended: bool,
}

impl ParquetRows {
    pub(super) fn open(path: &Path, options: &ReadOptions, progress: Progress) -> Result<Self, String> {
        let file = File::open(path).map_err(|e| e.to_string())?;
        let bytes = file.metadata().map_or(0, |m| m.len());
        guarded(|| Self::start(file, bytes, options, progress))?
    }

    fn start(file: File, bytes: u64, options: &ReadOptions, progress: Progress) -> Result<Self, String> {
        let reader = SerializedFileReader::new(file).map_err(|e| e.to_string())?;
        let metadata = reader.metadata().file_metadata();
        let total = u64::try_from(metadata.num_rows()).unwrap_or(0);
        let schema = metadata.schema();
        let header: Vec<String> = schema.get_fields().iter().map(|f| f.name().to_owned()).collect();
        let columns = Columns::new(options);
        let name = |names: &[String]| Columns::find(names, &header).and_then(|at| header.get(at).cloned());
        let Some(text) = name(&columns.text) else { return Err(columns.no_text(&header)) };
        let (id, title, url) = (name(&columns.id), name(&columns.title), name(&columns.url));
        let wanted = |field: &str| {
            [id.as_deref(), title.as_deref(), url.as_deref(), Some(&*text)].contains(&Some(field))
        };
        let fields: Vec<Arc<Type>> =
            schema.get_fields().iter().filter(|f| wanted(f.name())).map(Arc::clone).collect();
        let projection =
            Type::group_type_builder(schema.name()).with_fields(fields).build().map_err(|e| e.to_string())?;
        let rows =
            RowIter::from_file_into(Box::new(reader)).project(Some(projection)).map_err(|e| e.to_string())?;
        Ok(Self {
            rows,
            id,
            title,
            url,
            text,
            number: 0,
            total,
            bytes,
            reported: 0,
            progress,
            max: options.limits.max_row_bytes,
            ended: false,
        })
    }

    /// The row iterator reads through the file out of our sight, so progress is told by rows.
    fn report(&mut self, rows: u64) {
        let done = (u128::from(self.bytes) * u128::from(rows) / u128::from(self.total.max(1))) as u64;
        self.progress.advance(done.saturating_sub(self.reported));
        self.reported = self.reported.max(done);
    }
}

/// Runs what may panic inside the Parquet decoder on a damaged file, as an error.
fn guarded<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| "the Parquet file is damaged".to_owned())
}

fn text_of(field: Field) -> Option<String> {
    match field {
        Field::Null => None,
        Field::Str(s) => Some(s),
        Field::Bytes(b) => Some(String::from_utf8_lossy(b.data()).into_owned()),
        Field::ListInternal(list) => {
            let parts: Vec<String> = list.elements().iter().cloned().filter_map(text_of).collect();
            Some(parts.join(" "))
        }
        Field::Group(_) | Field::MapInternal(_) => None,
        other => Some(other.to_string()),
    }
}

impl Rows for ParquetRows {
    fn next_row(&mut self) -> Option<Result<Row, (Option<u64>, String)>> {
        if self.ended {
            return None;
        }
        let row = match guarded(|| self.rows.next()) {
            Ok(Some(Ok(row))) => row,
            Ok(None) => {
                self.ended = true;
                self.report(self.total);
                return None;
            }
            Ok(Some(Err(e))) => {
                self.ended = true;
                return Some(Err((Some(self.number + 1), e.to_string())));
            }
            Err(problem) => {
                self.ended = true;
                return Some(Err((Some(self.number + 1), problem)));
            }
        };
        self.number += 1;
        self.report(self.number);
        let mut raw = RawDocument { line: self.number, ..RawDocument::default() };
        for (name, field) in row.into_columns() {
            let name = Some(name.as_str());
            if name == Some(&*self.text) {
                raw.text = text_of(field).unwrap_or_default();
            } else if name == self.title.as_deref() {
                raw.title = text_of(field).unwrap_or_default();
            } else if name == self.id.as_deref() {
                raw.id = text_of(field);
            } else if name == self.url.as_deref() {
                raw.url = text_of(field);
            }
        }
        if raw.text.len() > self.max {
            return Some(Err((Some(self.number), too_long(raw.text.len() as u64, self.max))));
        }
        Some(Ok(Row::Document(raw)))
    }
}
