//! What can be typed. Defaults that a configuration file may change are `None` here.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Effects, Styles};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .placeholder(AnsiColor::Cyan.on_default());

const AFTER_HELP: &str = "\
Start with `counterproof demo`: it sets itself up and repairs wrong answers over a real corpus.
Exit codes: 0 done, 1 failed, 2 used wrongly.";

/// Puts an answer to the test: looks for evidence against it, and keeps it or repairs it.
#[derive(Debug, Parser)]
#[command(name = "counterproof", version, styles = STYLES, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Settings [default: counterproof.toml in this folder, if there is one]
    #[arg(long, global = true, value_name = "FILE", env = "COUNTERPROOF_CONFIG", hide_env_values = true, value_hint = ValueHint::FilePath,
          help_heading = "Global options")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Print no progress and no notes
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Tell more about what is being done (twice: everything)
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Global options")]
    pub(crate) verbose: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set everything up and repair wrong answers over a real corpus, offline
    Demo(DemoArgs),
    /// Build an index of documents, or tell about one
    #[command(subcommand)]
    Index(IndexCommand),
    /// Find passages
    Search(SearchArgs),
    /// Draft an answer, then put it to the test
    Ask(AskArgs),
    /// Put an answer to the test, and repair it if the evidence speaks against it
    Repair(RepairArgs),
    /// Tell whether evidence supports or refutes a claim, and how sure that is
    Check(CheckArgs),
    /// Find all the answers to a question, each verified across passages
    Answers(AnswersArgs),
    /// Work on every row of a file
    #[command(subcommand)]
    Batch(BatchCommand),
    /// List or fetch models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Train the small models anew, or fit them to rows of your own
    #[command(subcommand)]
    Train(TrainCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Use the small corpus that is part of the program, and fetch nothing
    #[arg(long)]
    pub(crate) small: bool,
    #[command(flatten)]
    pub(crate) choice: ModelArgs,
    /// Repair only the first N answers
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Show how each decision came about
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum IndexCommand {
    /// Read documents, cut them into passages, and build an index of them
    Build(IndexBuildArgs),
    /// Tell what an index holds
    Info {
        /// The folder of the index
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct IndexBuildArgs {
    /// Files or folders: .jsonl, .json, .csv, .tsv, .parquet, .txt, .md, .html, a BEIR folder, Wikipedia leads
    #[arg(required = true, value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(crate) sources: Vec<PathBuf>,
    /// The folder for the index
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// Replace an index that is there already
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// The encoder that makes the vectors: a name of `counterproof models list`, a folder, or `none` for an index of
    /// words alone [default: all-MiniLM-L6-v2]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoder: Option<String>,
    /// Words of a passage, about
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) passage_words: usize,
    /// The field that holds the text
    #[arg(long, value_name = "FIELD")]
    pub(crate) text_field: Option<String>,
    /// The field that holds the title
    #[arg(long, value_name = "FIELD")]
    pub(crate) title_field: Option<String>,
    /// The field that holds the id
    #[arg(long, value_name = "FIELD")]
    pub(crate) id_field: Option<String>,
}

/// Where evidence is looked for.
#[derive(Debug, Args)]
pub(crate) struct EvidenceArgs {
    /// The index to search
    #[arg(long, value_name = "DIR", env = "COUNTERPROOF_INDEX", hide_env_values = true, value_hint = ValueHint::DirPath)]
    pub(crate) index: Option<PathBuf>,
    /// Passages to search in place of an index: a file of any kind that can be indexed, or - for JSON lines on
    /// standard input
    #[arg(long, value_name = "FILE", conflicts_with = "index", value_hint = ValueHint::FilePath)]
    pub(crate) passages: Option<PathBuf>,
    /// The weight of words against meaning, from 0 to 1 [default: 0.5]
    #[arg(long, value_name = "X")]
    pub(crate) alpha: Option<f64>,
    /// BM25: how fast a repeated word stops counting [default: 0.9]
    #[arg(long, value_name = "X")]
    pub(crate) k1: Option<f32>,
    /// BM25: how much the length of a passage counts, from 0 to 1 [default: 0.4]
    #[arg(long, value_name = "X")]
    pub(crate) b: Option<f32>,
    /// The encoder the index was built with [default: all-MiniLM-L6-v2]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoder: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to look for; - reads it from standard input
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) evidence: EvidenceArgs,
    /// How many passages
    #[arg(short, value_name = "N", default_value_t = 10)]
    pub(crate) k: usize,
}

/// Which model is asked.
#[derive(Debug, Clone, Args)]
pub(crate) struct ModelArgs {
    /// The model: openai:NAME, anthropic:NAME, http://HOST/v1#NAME, gguf:FILE-OR-NAME, recorded:FILE, a name from the
    /// settings, or none: a reader and a verifier of the size of an encoder then decide [default: none]
    #[arg(long, value_name = "NAME", env = "COUNTERPROOF_MODEL", hide_env_values = true)]
    pub(crate) model: Option<String>,
    /// Let the verifier veto what the model proposes where its evidence speaks against it
    #[arg(long)]
    pub(crate) veto: bool,
    /// Write every exchange with the model to this file, for --model recorded:FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,
    /// Ask anew, even what was answered before
    #[arg(long)]
    pub(crate) no_cache: bool,
}

/// Who answers and decides, and how.
#[derive(Debug, Args)]
pub(crate) struct MethodArgs {
    #[command(flatten)]
    pub(crate) evidence: EvidenceArgs,
    #[command(flatten)]
    pub(crate) choice: ModelArgs,
    /// Passages that each search brings
    #[arg(short, value_name = "N")]
    pub(crate) k: Option<usize>,
    /// Which gate decides, where a language model is asked
    #[arg(long, value_name = "KIND")]
    pub(crate) gate: Option<Gate>,
    /// With --model none: the share of right answers that may be spoiled, such as 0.02, with 95 % confidence; less harm means fewer repairs
    #[arg(long, value_name = "SHARE")]
    pub(crate) max_harm: Option<f64>,
    /// Take a part of the method out, to see what it is worth (may be given more than once)
    #[arg(long, value_name = "PART")]
    pub(crate) ablate: Vec<String>,
    /// Tell what it would cost, and ask nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show how the decision came about
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Gate {
    /// By the model's abilities
    Auto,
    /// The model writes its decision
    Text,
    /// The model scores given answers
    Score,
}

#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The question; - reads it from standard input
    pub(crate) question: String,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// The question; - reads it from standard input
    pub(crate) question: String,
    /// The answer to put to the test; - reads it from standard input
    #[arg(long, value_name = "ANSWER")]
    pub(crate) draft: String,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
}

/// What judges by evidence.
#[derive(Debug, Args)]
pub(crate) struct VerifierArgs {
    /// What judges claims or answers by evidence: own, a folder with an entailment classifier of a hub, or tei:http://HOST of a
    /// text-embeddings-inference server [default: own]
    #[arg(long, value_name = "NAME", env = "COUNTERPROOF_VERIFIER", hide_env_values = true)]
    pub(crate) verifier: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Propose {
    /// By the model's abilities
    Auto,
    /// The model writes verdicts with citations
    Written,
    /// The model scores the three verdicts behind each passage, for small local models
    Scored,
}

/// How claims are checked.
#[derive(Debug, Args)]
pub(crate) struct CheckMethodArgs {
    #[command(flatten)]
    pub(crate) evidence: EvidenceArgs,
    #[command(flatten)]
    pub(crate) choice: ModelArgs,
    #[command(flatten)]
    pub(crate) judge: VerifierArgs,
    /// Passages that a search brings [default: 10]
    #[arg(short, value_name = "N")]
    pub(crate) k: Option<usize>,
    /// Ask a language model for exactly so many candidates [default: up to 16, fewer once more cannot change the verdict]
    #[arg(long, value_name = "N")]
    pub(crate) candidates: Option<usize>,
    /// How a language model's candidates are had
    #[arg(long, value_name = "HOW")]
    pub(crate) propose: Option<Propose>,
    /// Show a language model three examples
    #[arg(long)]
    pub(crate) few_shot: bool,
    /// Whether a claim with several facts is taken apart
    #[arg(long, value_name = "WHEN", default_value = "auto", num_args = 0..=1, default_missing_value = "auto", require_equals = true)]
    pub(crate) decompose: Decompose,
    /// Withhold verdicts that are less sure than this, from 0 to 1 [default: 0.5]
    #[arg(long, value_name = "P", group = "abstention")]
    pub(crate) threshold: Option<f64>,
    /// Withhold verdicts so that at most this share of those given is wrong, with 95 % confidence on claims like those the
    /// calibration holds
    #[arg(long, value_name = "SHARE", group = "abstention")]
    pub(crate) target_risk: Option<f64>,
    /// Withhold the least sure verdicts, so that about this share of claims gets one
    #[arg(long, value_name = "SHARE", group = "abstention")]
    pub(crate) coverage: Option<f64>,
    /// Withhold no verdict
    #[arg(long, group = "abstention")]
    pub(crate) no_abstention: bool,
    /// Take a part of the method out, to see what it is worth (may be given more than once)
    #[arg(long, value_name = "PART")]
    pub(crate) ablate: Vec<String>,
    /// Show how the verdict came about
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decompose {
    /// Where it states several facts
    Auto,
    /// Never
    Never,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The claim, a statement; - reads it from standard input
    #[arg(required_unless_present = "text", conflicts_with = "text")]
    pub(crate) claim: Option<String>,
    /// Check every sentence of a text that states something; - reads it from standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) text: Option<PathBuf>,
    /// Evidence to judge by, all of it and nothing else: the words themselves, or @FILE (may be given more than once)
    #[arg(long = "evidence", value_name = "TEXT|@FILE", conflicts_with = "passages")]
    pub(crate) given: Vec<String>,
    #[command(flatten)]
    pub(crate) method: CheckMethodArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Questions {
    /// One form for all, without asking a model
    Fixed,
    /// One pattern that a model writes for the question
    Template,
    /// One that a model writes for each candidate
    PerCandidate,
    /// One for each condition of the question
    PerConstraint,
}

/// How all answers are found.
#[derive(Debug, Args)]
pub(crate) struct AnswersMethodArgs {
    #[command(flatten)]
    pub(crate) evidence: EvidenceArgs,
    #[command(flatten)]
    pub(crate) choice: ModelArgs,
    #[command(flatten)]
    pub(crate) judge: VerifierArgs,
    /// Passages that are read [default: 100]
    #[arg(short, value_name = "N")]
    pub(crate) k: Option<usize>,
    /// Passages that are searched for to verify a candidate [default: 5]
    #[arg(long, value_name = "N")]
    pub(crate) k_verify: Option<usize>,
    /// Have the language model read every passage and judge every candidate: the method as published, N + 2 calls a candidate
    #[arg(long)]
    pub(crate) faithful: bool,
    /// How the questions are had that candidates are verified by [default: per-candidate with --faithful, else fixed]
    #[arg(long, value_name = "HOW")]
    pub(crate) questions: Option<Questions>,
    /// Keep candidates that are at least so probably right, from 0 to 1 [default: the calibration's]
    #[arg(long, value_name = "P")]
    pub(crate) threshold: Option<f64>,
    /// Keep what at least so many passages say, without verifying anything
    #[arg(long, value_name = "N")]
    pub(crate) support: Option<usize>,
    /// Verify so many candidates at most
    #[arg(long, value_name = "N")]
    pub(crate) max_candidates: Option<usize>,
    /// Make so many calls of a language model at most; candidates left over are rejected with --faithful, else decided without it
    #[arg(long, value_name = "N")]
    pub(crate) budget_calls: Option<usize>,
    /// Take a part of the method out, to see what it is worth (may be given more than once)
    #[arg(long, value_name = "PART")]
    pub(crate) ablate: Vec<String>,
    /// Show the rejected candidates, and how everything came about
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AnswersArgs {
    /// The question; - reads it from standard input
    pub(crate) question: String,
    #[command(flatten)]
    pub(crate) method: AnswersMethodArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BatchAnswersArgs {
    #[command(flatten)]
    pub(crate) rows: BatchFileArgs,
    #[command(flatten)]
    pub(crate) method: AnswersMethodArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BatchCommand {
    /// Draft an answer to every question, then put it to the test
    Ask(BatchArgs),
    /// Put the draft of every row to the test
    Repair(BatchArgs),
    /// Check the claim of every row
    Check(BatchCheckArgs),
    /// Find all answers to the question of every row
    Answers(BatchAnswersArgs),
}

/// The rows to work on.
#[derive(Debug, Args)]
pub(crate) struct BatchFileArgs {
    /// Rows: JSON lines or CSV with `question` or `claim`, and where wanted `id`, `draft`, `passages` to search, and
    /// `evidence` to judge a claim by; - reads JSON lines from standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) input: PathBuf,
    /// Results: one JSON object a row
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Go on from what the output holds; rows that failed for a passing reason are tried again
    #[arg(long)]
    pub(crate) resume: bool,
    /// Go on, and try every failed row again
    #[arg(long)]
    pub(crate) retry_failed: bool,
    /// Look at the first N rows only
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Rows worked on at the same time [default: the limit of the policy, 16; 1 for a model in process; 4 to check and 2 to find answers without one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) concurrency: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    #[command(flatten)]
    pub(crate) rows: BatchFileArgs,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BatchCheckArgs {
    #[command(flatten)]
    pub(crate) rows: BatchFileArgs,
    #[command(flatten)]
    pub(crate) method: CheckMethodArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrainCommand {
    /// Train the verifier, which judges whether a passage supports a statement
    Verifier(TrainArgs),
    /// Train the reader, which finds the words of a passage that answer a question
    Reader(TrainArgs),
    /// Fit how sure `repair --model none` and `check` are to questions or claims whose truth you know
    Calibrator(CalibratorArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// The folder with the data sets that the model card names
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data: PathBuf,
    /// The adapter to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: PathBuf,
    /// An adapter to begin with: the shipped verifier begins with the shipped reader [default: none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) start: Option<PathBuf>,
    /// End after so many minutes, with the plan cut in proportion [default: the whole plan]
    #[arg(long, value_name = "N")]
    pub(crate) minutes: Option<f64>,
    /// Where the state is kept, to go on from after a break [default: beside the adapter]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Decides everything that chance decides
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct CalibratorArgs {
    /// For repair: JSON lines with `question`, `draft`, `answers` (a list of every right one) and, where wanted, `passages`.
    /// For answers: JSON lines with `question`, `answers` (a list of every right one, each a text or a list of its names) and,
    /// where wanted, `passages`.
    /// For check: JSON lines with `claim`, `verdict` (supported, refuted, not_enough_evidence) and, where wanted, `evidence` or
    /// `passages`, and a `group` that claims with common text share
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) input: PathBuf,
    /// The calibration to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) evidence: EvidenceArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// What can be fetched, and what is here
    List,
    /// Fetch models by name
    Pull {
        /// Names from `counterproof models list` [default: what the demo needs]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}
