//! The command line of counterproof: reads what was typed, calls the libraries, prints what they say.

mod args;
mod commands;
mod config;
mod context;
mod error;
mod model;
mod progress;
mod render;
mod style;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use counterproof::{Error, ErrorBody};
use serde_json::Value;
use tracing_subscriber::EnvFilter;

use crate::args::{BatchCommand, Cli, Command, GlobalArgs};
use crate::context::Context;
use crate::error::{Outcome, exit, tell};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    log(&cli.global);
    let json = cli.global.json;
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return exit(&Error::failed("starting", e).into(), json),
    };
    let outcome = runtime.block_on(run(&cli));
    // Work that nobody waits for any more (a pull that was broken off) must not hold the program.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => exit(&failure, json),
    }
}

async fn run(cli: &Cli) -> Outcome {
    if let Command::Completions { shell } = &cli.command {
        let mut script = Vec::new();
        clap_complete::generate(*shell, &mut Cli::command(), "counterproof", &mut script);
        std::io::stdout().lock().write_all(&script)?;
        return Ok(());
    }
    let context = Context::new(&cli.global)?;
    match &cli.command {
        Command::Demo(args) => commands::demo::run(args, &context).await,
        Command::Index(command) => commands::index::run(command, &context).await,
        Command::Search(args) => commands::search::run(args, &context).await,
        Command::Ask(args) => commands::repair::ask(args, &context).await,
        Command::Repair(args) => commands::repair::repair(args, &context).await,
        Command::Check(args) => commands::check::run(args, &context).await,
        Command::Answers(args) => commands::answers::run(args, &context).await,
        Command::Batch(BatchCommand::Answers(args)) => commands::answers::batch(args, &context).await,
        Command::Batch(BatchCommand::Check(args)) => commands::check::batch(args, &context).await,
        Command::Batch(BatchCommand::Ask(args)) => commands::batch::run("ask", args, &context).await,
        Command::Batch(BatchCommand::Repair(args)) => commands::batch::run("repair", args, &context).await,
        Command::Models(command) => commands::models::run(command, &context).await,
        Command::Train(command) => commands::train::run(command, &context).await,
        Command::Completions { .. } => Ok(()),
    }
}

/// Help and version are what was asked for; everything else is a wrong use, told as JSON where JSON was asked for.
fn usage(error: &clap::Error) -> ExitCode {
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let json = std::env::args_os().any(|a| a == "--json");
    if asked || !json {
        let _ = error.print();
    } else {
        let message = error.render().to_string();
        let message = message.trim().trim_start_matches("error: ").to_owned();
        tell(&ErrorBody { code: "usage".to_owned(), message, retry_after_ms: None }, true);
    }
    if asked { ExitCode::SUCCESS } else { ExitCode::from(2) }
}

/// Logs go to standard error: warnings, with `-v` what is done, with `-vv` everything of ours. `RUST_LOG` overrides.
fn log(global: &GlobalArgs) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (_, 0) => "warn",
        (_, 1) => "warn,counterproof=info",
        _ => "info,counterproof=debug",
    };
    // Libraries of ours have names that begin alike, and a filter by target takes all of them.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .with_target(global.verbose > 1)
        .try_init();
}

/// Prints one JSON object on a line of its own.
fn print_json(value: &Value) -> Outcome {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}
