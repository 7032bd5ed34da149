//! Batch runs: rows of a file in, one JSON object a row out, each row exactly once, whatever happens in between.
//!
//! The output file is the only state. Each result is written whole as one line, in the order in which rows finish, so
//! that nothing that was paid for waits in memory; when every row is done the file is put into the order of the
//! input. After a crash (`kill -9`, a power cut) [`Resume::Continue`] reads the output, cuts off a torn last line, and
//! works on what is missing. Each line carries the number of its row and a digest of the row's content, so that an
//! input that was edited meanwhile is noticed rather than mixed up.
//!
//! A row that cannot be read, or whose work fails, is a line with an `error`, and the rest goes on.

mod csv_rows;
mod input;
mod output;
mod run;

pub use input::{Input, InputFormat, InputRow, Row, evidence};
pub use output::{Resume, Sink};
pub use run::{BatchOptions, BatchProgress, BatchSummary, Stop, run};
