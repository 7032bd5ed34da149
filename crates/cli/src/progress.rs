//! Progress on standard error: only on a terminal, and never with `--quiet`. Programs that read standard output see
//! nothing of it.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::Duration;

use counterproof::models::store::{Phase, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Whoever waits longer than this is shown that something happens.
const PATIENCE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(120);

/// Whether and where progress is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Display {
    shown: bool,
    quiet: bool,
}

impl Display {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { shown: !quiet && std::io::stderr().is_terminal(), quiet }
    }

    /// Whether long work should say in lines how far it is, because no bar is drawn.
    pub(crate) fn speaks_in_lines(self) -> bool {
        !self.shown && !self.quiet
    }

    /// Says how far long work is.
    pub(crate) fn line(self, text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    /// A bar over `total` things.
    pub(crate) fn bar(self, total: u64, what: &'static str, template: &str) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(total), self.target()).with_message(what);
        bar.set_style(style(template));
        bar
    }

    /// A bar over rows, with the time left.
    pub(crate) fn rows(self, total: u64, what: &'static str) -> ProgressBar {
        self.bar(total, what, "{msg} {wide_bar} {human_pos}/{human_len} {per_sec}, {eta} left {prefix}")
    }

    /// A bar over bytes, with the time left.
    pub(crate) fn bytes(self, total: u64, what: &'static str) -> ProgressBar {
        self.bar(total, what, "{msg} {wide_bar} {bytes}/{total_bytes}, {eta} left {prefix}")
    }

    /// Waits for `work`; a wait longer than two seconds gets a moving sign with what is being done.
    pub(crate) async fn waiting<T>(self, what: &'static str, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
            return done;
        }
        let bar = self.bar(0, what, "{spinner} {msg} {elapsed}");
        bar.enable_steady_tick(TICK);
        let done = work.await;
        bar.finish_and_clear();
        done
    }

    fn target(self) -> ProgressDrawTarget {
        if self.shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Shows how a pull of models goes: a line a file.
pub(crate) struct Pulling {
    display: Display,
    bars: Mutex<HashMap<String, (Phase, ProgressBar)>>,
}

impl Pulling {
    pub(crate) fn new(display: Display) -> Self {
        Self { display, bars: Mutex::default() }
    }

    /// Takes a report of the store.
    pub(crate) fn report(&self, progress: Progress<'_>) {
        let mut bars = self.bars.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let name = format!("{}/{}", progress.model, progress.file);
        if progress.phase == Phase::Done {
            if let Some((_, bar)) = bars.remove(&name) {
                bar.finish_and_clear();
            }
            return;
        }
        if bars.get(&name).is_some_and(|(phase, _)| *phase != progress.phase)
            && let Some((_, bar)) = bars.remove(&name)
        {
            bar.finish_and_clear();
        }
        let (_, bar) = bars.entry(name.clone()).or_insert_with(|| {
            let bar = match progress.total {
                Some(total) => self.display.bytes(total, ""),
                None => self.display.bar(0, "", "{spinner} {msg} {bytes} {elapsed}"),
            };
            bar.enable_steady_tick(TICK);
            bar.set_message(format!("{} {name}", doing(progress.phase)));
            (progress.phase, bar)
        });
        if progress.total.is_some_and(|total| progress.bytes > total) {
            bar.set_length(progress.bytes);
        }
        bar.set_position(progress.bytes);
    }
}

fn doing(phase: Phase) -> &'static str {
    match phase {
        Phase::Waiting => "waiting for another pull of",
        Phase::Hub => "fetching",
        Phase::Package => "fetching (by pip)",
        Phase::Unpacking => "unpacking",
        Phase::Checking => "checking",
        Phase::Done => "done with",
    }
}
