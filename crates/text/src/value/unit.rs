//! Units of measure and currencies.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use super::Decimal;
use crate::packs::units::{CURRENCY_CODES, Dimension, Entry, UNITS};
use crate::scan::{Kind, Lexeme};

/// A unit of measure or a currency.
#[derive(Clone, Copy)]
pub struct Unit {
    entry: &'static Entry,
}

/// Units by the lexemes of their forms, joined by spaces.
static FORMS: LazyLock<HashMap<String, &'static Entry>> = LazyLock::new(|| {
    let mut forms = HashMap::new();
    for entry in UNITS {
        for form in entry.forms {
            let key = join(crate::scan::lex(form).iter());
            forms.entry(key).or_insert(entry);
        }
    }
    forms
});

/// The most lexemes that a form has.
const LONGEST: usize = 4;

fn join<'a>(lexemes: impl Iterator<Item = &'a Lexeme>) -> String {
    let mut key = String::new();
    for lexeme in lexemes {
        if !key.is_empty() && lexeme.kind != Kind::Han {
            key.push(' ');
        }
        key.push_str(&lexeme.text);
    }
    key
}

impl Unit {
    /// The unit named by a form such as `km`, `miles` or `公里`.
    pub fn named(form: &str) -> Option<Self> {
        let key = join(crate::scan::lex(form).iter());
        FORMS.get(&key).map(|entry| Self { entry })
    }

    /// The symbol.
    pub fn name(self) -> &'static str {
        self.entry.name
    }

    /// What it measures.
    pub fn dimension(self) -> Dimension {
        self.entry.dimension
    }

    pub(super) fn is_currency(self) -> bool {
        self.entry.dimension == Dimension::Currency
    }

    /// The number in the base unit of the dimension.
    pub(super) fn to_base(self, number: Decimal) -> f64 {
        number.to_f64() * self.entry.factor + self.entry.offset
    }

    /// The number of this unit that `base` is.
    pub(super) fn of_base(self, base: f64) -> f64 {
        (base - self.entry.offset) / self.entry.factor
    }

    /// The longest unit that `lexemes` begin with, and how many of them it takes.
    pub(super) fn at_start(lexemes: &[Lexeme]) -> Option<(Self, usize)> {
        // The single letters h, g, l, m, ... are units only right behind their number.
        let first = lexemes.first()?;
        let mut longest = None;
        for length in 1..=LONGEST.min(lexemes.len()) {
            let piece = lexemes.get(..length)?;
            if piece.iter().skip(1).any(|l| l.line_before) {
                break;
            }
            if let Some(entry) = FORMS.get(&join(piece.iter())) {
                longest = Some((Self { entry }, length));
            }
        }
        let (unit, length) = longest?;
        let letter = length == 1 && first.is_word() && first.text.chars().nth(1).is_none();
        let unclear =
            letter && (first.space_before && !matches!(first.text.as_str(), "m" | "g") || first.capital);
        let in_as_preposition = first.is("in") || first.is("won") && !first.space_before;
        (!unclear && !in_as_preposition && !first.line_before).then_some((unit, length))
    }

    /// The currency whose symbol stands at `at`, and where the number after it begins.
    pub(super) fn currency_before(lexemes: &[Lexeme], at: usize) -> Option<(Self, usize)> {
        for length in [2, 1] {
            let Some(piece) = lexemes.get(at..at + length) else { continue };
            if length == 2 && piece.get(1).is_some_and(|l| l.space_before) {
                continue;
            }
            if let Some(entry) = FORMS.get(&join(piece.iter())).filter(|e| e.dimension == Dimension::Currency)
            {
                let spelled = piece.iter().all(Lexeme::is_word);
                let code =
                    piece.first().is_some_and(|l| l.capital && CURRENCY_CODES.contains(&l.text.as_str()));
                if spelled && !code {
                    continue;
                }
                let next = lexemes.get(at + length)?;
                return next.is_number().then_some((Self { entry }, at + length));
            }
        }
        None
    }
}

impl PartialEq for Unit {
    fn eq(&self, other: &Self) -> bool {
        self.entry.name == other.entry.name
    }
}

impl Eq for Unit {}

impl fmt::Debug for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unit({})", self.entry.name)
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry.name)
    }
}
