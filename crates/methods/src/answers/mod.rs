//! `answers`: what are all the answers to this question? After RI²VER (arXiv 2506.00425).
//!
//! Every passage is read by itself, in favour of completeness, and what they say is merged into candidates with the passages
//! they were read in. Then each candidate is verified across passages: by those it was read in and by those that another
//! search, for the candidate, brings. The method's known weakness is its cost, a call a passage and two a candidate. So the
//! cheap thing comes first here: a span reader reads, a verifier judges, and a light model that was fitted to known answers
//! tells how probably each candidate is right. A language model is asked only about those in between, several in one call.
//! [`Course::Faithful`] is the paper's form.
//!
//! The way of one question: passages -> [`Candidate`]s -> verification question -> more passages -> verdict ->
//! [`AnswersReport`].

mod candidates;
mod config;
mod decide;
mod pipeline;
mod prompts;
mod question;
mod read;
mod report;
mod verify;
mod weigh;

pub use candidates::{Candidate, Mention};
pub use config::{AnswersAblations, AnswersConfig, Course, Unparsed, VqMode};
pub use pipeline::Answers;
pub use report::{ANSWERS_SCHEMA, Answer, AnswersReport, Decider, RejectReason, Rejected};
pub use weigh::{AnswersCalibration, CalibrationRow, Evidence, FEATURES};
