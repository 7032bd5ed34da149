//! Comparing two values by what they say.

use super::Decimal;
use super::model::{Date, Number, Quantity, Range, Value, Years};

/// How two values stand to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// They say the same.
    Same,
    /// They cannot both be right.
    Different,
    /// Both can be right, one being less exact: `1967` and `January 15, 1967`.
    Compatible,
    /// Whether they agree depends on how one is read: `03/04/2019`, `1.234`.
    Ambiguous,
    /// They speak of different kinds of thing: a weight and a date.
    Incomparable,
}

use Comparison::{Ambiguous, Compatible, Different, Incomparable, Same};

/// Compares two values. Symmetric, and [`Comparison::Same`] for a value and itself.
///
/// A bare number compared with one that has a unit is at best compatible, and never different: it may be of another
/// unit. Conversions between units count as the same within 1 part in 10^9, and as compatible when they agree to the
/// significant digits written.
pub fn compare(a: &Value, b: &Value) -> Comparison {
    if a == b {
        return Same;
    }
    match (a, b) {
        (Value::Range(x), Value::Range(y)) => ranges(x, y),
        (Value::Range(range), single) | (single, Value::Range(range)) => within(range, single),
        (Value::Date(x), Value::Date(y)) => dates(x, y),
        (Value::Date(date), Value::Number(number)) | (Value::Number(number), Value::Date(date)) => {
            year_and_number(date, number)
        }
        (Value::Date(_), _) | (_, Value::Date(_)) => Incomparable,
        (Value::Number(x), Value::Number(y)) => {
            let by_value = numbers(x, y);
            if by_value == Same && x.ordinal != y.ordinal { Compatible } else { by_value }
        }
        (Value::Percent(x), Value::Percent(y)) => numbers(x, y),
        (Value::Quantity(x), Value::Quantity(y)) => quantities(x, y),
        (Value::Number(x), Value::Percent(y)) | (Value::Percent(y), Value::Number(x)) => bare(x, y),
        (Value::Number(x), Value::Quantity(y)) | (Value::Quantity(y), Value::Number(x)) => bare(x, &y.number),
        (Value::Percent(_), Value::Quantity(_)) | (Value::Quantity(_), Value::Percent(_)) => Incomparable,
    }
}

fn numbers(a: &Number, b: &Number) -> Comparison {
    if a.alternative.is_some() || b.alternative.is_some() {
        let readings = |n: &Number| [Some(n.value), n.alternative];
        let mut seen = readings(a)
            .into_iter()
            .flatten()
            .flat_map(|x| readings(b).into_iter().flatten().map(move |y| x == y));
        let first = seen.next();
        // The same way of writing is read the same way, whichever it is.
        if a.value == b.value && a.alternative == b.alternative {
            return Same;
        }
        return match first {
            Some(equal) if seen.all(|other| other == equal) => {
                if equal {
                    Same
                } else {
                    Different
                }
            }
            _ => Ambiguous,
        };
    }
    if a.value == b.value {
        return Same;
    }
    let rounds_to = |rounded: &Number, exact: &Number| {
        rounded.rounded && exact.value.rounded_to(rounded.value.significant_digits()) == rounded.value
    };
    if rounds_to(a, b) || rounds_to(b, a) { Compatible } else { Different }
}

fn bare(number: &Number, of_unit: &Number) -> Comparison {
    match numbers(number, of_unit) {
        Same | Compatible => Compatible,
        Ambiguous => Ambiguous,
        Different | Incomparable => Incomparable,
    }
}

fn quantities(a: &Quantity, b: &Quantity) -> Comparison {
    if a.unit == b.unit {
        return numbers(&a.number, &b.number);
    }
    let convertible = a.unit.dimension() == b.unit.dimension()
        && !a.unit.is_currency()
        && a.unit.dimension() != crate::packs::units::Dimension::Other;
    if !convertible {
        return Incomparable;
    }
    let (x, y) = (a.unit.to_base(a.number.value), b.unit.to_base(b.number.value));
    if (x - y).abs() <= 1e-9 * x.abs().max(y.abs()) {
        return Same;
    }
    // "3.1 mi" for 5 km: equal to the digits that the rounded side is written with.
    let agrees = |written: &Quantity, base: f64| {
        let converted = written.unit.of_base(base);
        let digits = written.number.value.significant_digits().max(2);
        let unit = 10f64.powi(
            written.number.value.to_f64().abs().max(f64::MIN_POSITIVE).log10().floor() as i32 + 1
                - digits as i32,
        );
        (converted - written.number.value.to_f64()).abs() <= 0.5 * unit
    };
    if agrees(a, y) || agrees(b, x) { Compatible } else { Different }
}

fn year_and_number(date: &Date, number: &Number) -> Comparison {
    let year = date.years.filter(|y| date.is_year_only() && y.is_single() && y.first > 0);
    // A bare figure such as 1967 is the same whether it was read as a year or as a number.
    match year.map(|y| numbers(&Number::exact(Decimal::from(i64::from(y.first))), number)) {
        Some(Different) | None => Incomparable,
        Some(comparison) => comparison,
    }
}

fn dates(a: &Date, b: &Date) -> Comparison {
    if (a.alternative.is_some() || b.alternative.is_some())
        && (a.month, a.day, a.years, a.alternative) != (b.month, b.day, b.years, b.alternative)
    {
        let readings = |d: &Date| {
            let other = d.alternative.map(|(month, day)| Date {
                month: Some(month),
                day: Some(day),
                alternative: None,
                ..*d
            });
            [Some(Date { alternative: None, ..*d }), other]
        };
        let mut outcome = None;
        for x in readings(a).iter().flatten() {
            for y in readings(b).iter().flatten() {
                let this = dates(x, y);
                if *outcome.get_or_insert(this) != this {
                    return Ambiguous;
                }
            }
        }
        return outcome.unwrap_or(Incomparable);
    }
    let mut shared = false;
    let mut exact = true;
    match (a.years, b.years) {
        (Some(x), Some(y)) if x == y => shared = true,
        (Some(x), Some(y)) if overlap(x, y) => (shared, exact) = (true, false),
        (Some(x), Some(y)) => {
            // "c. 1500" leaves room for a few years.
            let near = (a.approximate || b.approximate)
                && x.is_single()
                && y.is_single()
                && (x.first - y.first).abs() <= 5;
            if !near {
                return Different;
            }
            (shared, exact) = (true, false);
        }
        (None, None) => {}
        _ => exact = false,
    }
    for (x, y) in [(a.month, b.month), (a.day, b.day)] {
        match (x, y) {
            (Some(x), Some(y)) if x == y => shared = true,
            (Some(_), Some(_)) => return Different,
            (None, None) => {}
            _ => exact = false,
        }
    }
    match (a.season, b.season) {
        (Some(x), Some(y)) if x == y => shared = true,
        (Some(_), Some(_)) => return Different,
        (None, None) => {}
        _ => exact = false,
    }
    match (shared, exact) {
        (false, _) => Incomparable,
        (true, true) => Same,
        (true, false) => Compatible,
    }
}

fn overlap(a: Years, b: Years) -> bool {
    a.first <= b.last && b.first <= a.last
}

fn ranges(a: &Range, b: &Range) -> Comparison {
    let ends = [compare(&a.low, &b.low), compare(&a.high, &b.high)];
    [Incomparable, Different, Ambiguous, Compatible].into_iter().find(|c| ends.contains(c)).unwrap_or(Same)
}

/// A single value and a range: a year range and the decade or century that spans the same years say the same.
fn within(range: &Range, single: &Value) -> Comparison {
    if let (Value::Date(low), Value::Date(high), Value::Date(date)) = (&range.low, &range.high, single) {
        let (Some(first), Some(last), Some(years)) = (low.years, high.years, date.years) else {
            return Incomparable;
        };
        let (first, last) = (first.first, last.last);
        let year_only = [low, high, date].iter().all(|d| d.is_year_only());
        if year_only && (years.first, years.last) == (first, last) {
            return Same;
        }
        let key = |d: &Date, missing: u8| (d.month.unwrap_or(missing), d.day.unwrap_or(missing));
        let before = (years.last, key(date, u8::MAX)) < (first, key(low, 0));
        let after = (years.first, key(date, 0)) > (last, key(high, u8::MAX));
        return if before || after { Different } else { Compatible };
    }
    let same_kind = match (&range.low, single) {
        (Value::Number(_), Value::Number(_)) | (Value::Percent(_), Value::Percent(_)) => true,
        (Value::Quantity(a), Value::Quantity(b)) => a.unit == b.unit,
        _ => false,
    };
    let (Some(low), Some(high), Some(number)) = (range.low.number(), range.high.number(), single.number())
    else {
        return Incomparable;
    };
    if !same_kind {
        return Incomparable;
    }
    let inside = low.value.compare(number.value).is_le() && number.value.compare(high.value).is_le();
    if inside { Compatible } else { Different }
}
