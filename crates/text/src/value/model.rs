//! The kinds of value.

use std::fmt;

use counterproof_core::ByteSpan;

use super::{Decimal, Unit};
use crate::packs::english::MONTH_NAMES;

/// A value and where it stands in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What it says.
    pub value: Value,
    /// The words that say it, with the words that open a range ("from", "between").
    pub span: ByteSpan,
}

/// A number, date, quantity or range.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A bare number: `12`, `twelve`, `1.5 million`, `21st`, `三百万`.
    Number(Number),
    /// A share of a hundred: `5%`, `five percent`, `百分之五`.
    Percent(Number),
    /// A number of a known unit or currency: `5 km`, `$1.5 million`.
    Quantity(Quantity),
    /// A point or stretch of the calendar.
    Date(Date),
    /// From one value to another of the same kind.
    Range(Box<Range>),
}

/// A number as a text states it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// What it is.
    pub value: Decimal,
    /// What it is when the other convention for separators is followed: `1.234` may be 1234.
    pub alternative: Option<Decimal>,
    /// Said to be inexact ("about", "nearly", 约).
    pub approximate: bool,
    /// Written in a way that rounds: with a scale word ("4.5 million") or said to be inexact.
    pub rounded: bool,
    /// Counts a place in an order: `21st`, 第五.
    pub ordinal: bool,
}

impl Number {
    /// The exact number `value`.
    pub fn exact(value: Decimal) -> Self {
        Self { value, alternative: None, approximate: false, rounded: false, ordinal: false }
    }
}

/// A number of a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// How many.
    pub number: Number,
    /// Of what.
    pub unit: Unit,
}

/// A date, of which each part may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Date {
    /// The year, decade or century.
    pub years: Option<Years>,
    /// The season.
    pub season: Option<Season>,
    /// The month, 1 to 12.
    pub month: Option<u8>,
    /// The day of the month, 1 to 31.
    pub day: Option<u8>,
    /// `(month, day)` in the other reading of an all-numeric date such as `03/04/2019`.
    pub alternative: Option<(u8, u8)>,
    /// Said to be inexact ("c. 1500", "around 1990").
    pub approximate: bool,
}

/// The years `first..=last`; years before Christ are negative, and there is no year 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Years {
    /// First year.
    pub first: i32,
    /// Last year; equal to `first` for a single year.
    pub last: i32,
}

impl Years {
    /// A single year.
    pub fn single(year: i32) -> Self {
        Self { first: year, last: year }
    }

    /// The decade that begins with `year`.
    pub fn decade(year: i32) -> Self {
        Self { first: year, last: year + 9 }
    }

    /// The `number`-th century, before Christ if `bc`: the 19th runs from 1801 to 1900.
    pub fn century(number: u32, bc: bool) -> Self {
        let n = i32::try_from(number.clamp(1, 10_000)).unwrap_or(1);
        if bc {
            Self { first: -100 * n, last: -100 * (n - 1) - 1 }
        } else {
            Self { first: 100 * (n - 1) + 1, last: 100 * n }
        }
    }

    /// Whether it is one year.
    pub fn is_single(self) -> bool {
        self.first == self.last
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// A season of the year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Season {
    /// March to May in the north.
    Spring,
    /// June to August in the north.
    Summer,
    /// September to November in the north.
    Autumn,
    /// December to February in the north.
    Winter,
}

/// From `low` to `high`, both of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Range {
    /// Where it begins.
    pub low: Value,
    /// Where it ends, inclusive.
    pub high: Value,
}

impl Value {
    /// The number at the heart of a bare number, share or quantity.
    pub fn number(&self) -> Option<&Number> {
        match self {
            Self::Number(n) | Self::Percent(n) => Some(n),
            Self::Quantity(q) => Some(&q.number),
            Self::Date(_) | Self::Range(_) => None,
        }
    }

    /// Whether this value says all that `other` says, and maybe more exactly: `January 15, 1967` refines `1967`.
    pub fn refines(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Date(own), Self::Date(theirs)) => own.refines(theirs),
            (Self::Range(_), Self::Range(_)) => self == other,
            (_, Self::Range(_)) => false,
            _ => match (self.number(), other.number()) {
                (Some(own), Some(theirs)) => {
                    let units_kept = matches!(other, Self::Number(_)) || !matches!(self, Self::Number(_));
                    units_kept && (own.value == theirs.value || (theirs.rounded && !own.rounded))
                }
                _ => false,
            },
        }
    }
}

impl Date {
    /// The year `year`.
    pub fn year(year: i32) -> Self {
        Self { years: Some(Years::single(year)), ..Self::default() }
    }

    /// A day, as far as its parts are known.
    pub fn new(year: Option<i32>, month: Option<u8>, day: Option<u8>) -> Self {
        Self { years: year.map(Years::single), month, day, ..Self::default() }
    }

    /// Whether only the year is given.
    pub fn is_year_only(&self) -> bool {
        self.years.is_some() && self.month.is_none() && self.season.is_none()
    }

    fn refines(&self, other: &Self) -> bool {
        let has = |own: Option<u8>, theirs: Option<u8>| theirs.is_none() || own == theirs;
        let years = match (self.years, other.years) {
            (_, None) => true,
            (Some(own), Some(theirs)) => theirs.contains(own),
            (None, Some(_)) => false,
        };
        years
            && has(self.month, other.month)
            && has(self.day, other.day)
            && (other.season.is_none() || other.season == self.season)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.approximate {
            f.write_str("about ")?;
        }
        if !self.ordinal {
            return write!(f, "{}", self.value);
        }
        let n = self.value.to_i64().unwrap_or(0);
        let suffix = match (n % 10, n % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        write!(f, "{}{suffix}", self.value)
    }
}

impl fmt::Display for Years {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |f: &mut fmt::Formatter<'_>, year: i32| match year {
            ..0 => write!(f, "{} BC", year.unsigned_abs()),
            0..1000 => write!(f, "AD {year}"),
            _ => write!(f, "{year}"),
        };
        if self.is_single() {
            return one(f, self.first);
        }
        let century = (self.last.unsigned_abs().max(self.first.unsigned_abs())).div_ceil(100);
        if *self == Self::century(century, false) || *self == Self::century(century, true) {
            let ordinal = Number { ordinal: true, ..Number::exact(Decimal::from(century)) };
            return write!(f, "{ordinal} century{}", if self.first < 0 { " BC" } else { "" });
        }
        if self.first % 10 == 0 && self.first >= 1000 && self.last == self.first + 9 {
            return write!(f, "{}s", self.first);
        }
        one(f, self.first)?;
        f.write_str("-")?;
        one(f, self.last)
    }
}

impl fmt::Display for Date {
    /// As English writes it: `January 15, 1967`, `summer 1990`, `44 BC`, `19th century`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        if let Some(season) = self.season {
            parts.push(format!("{season:?}").to_lowercase());
        }
        if let Some(name) = self.month.and_then(|m| MONTH_NAMES.get(usize::from(m).checked_sub(1)?)) {
            let capital: String = name.chars().take(1).flat_map(char::to_uppercase).collect();
            parts.push(format!("{capital}{}", name.get(1..).unwrap_or_default()));
        }
        if let Some(day) = self.day {
            parts.push(format!("{day}{}", if self.years.is_some() { "," } else { "" }));
        }
        if let Some(years) = self.years {
            parts.push(years.to_string());
        }
        if self.approximate {
            f.write_str("about ")?;
        }
        f.write_str(&parts.join(" "))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => write!(f, "{n}"),
            Self::Percent(n) => write!(f, "{n}%"),
            Self::Quantity(q) => write!(f, "{} {}", q.number, q.unit),
            Self::Date(d) => write!(f, "{d}"),
            Self::Range(r) => write!(f, "{}-{}", r.low, r.high),
        }
    }
}
