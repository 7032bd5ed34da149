//! The few styles that output uses. `anstream` takes them out where there is no terminal.

use anstyle::{AnsiColor, Effects, Style};

pub(crate) const BOLD: Style = Style::new().effects(Effects::BOLD);
pub(crate) const DIM: Style = Style::new().effects(Effects::DIMMED);
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().effects(Effects::BOLD);
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

/// `text` in `style`.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{}{text}{}", style.render(), style.render_reset())
}
