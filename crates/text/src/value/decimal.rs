//! Exact decimal numbers: `4.523 million` equals `4,523,000`, which binary fractions cannot promise.

use std::cmp::Ordering;
use std::fmt;

/// A decimal number `mantissa * 10^exponent` in lowest terms, so that equal numbers are equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    mantissa: i128,
    exponent: i32,
}

impl Decimal {
    /// Nought.
    pub const ZERO: Self = Self { mantissa: 0, exponent: 0 };

    /// The number `mantissa * 10^exponent`.
    pub fn new(mantissa: i128, exponent: i32) -> Self {
        if mantissa == 0 {
            return Self::ZERO;
        }
        let (mut mantissa, mut exponent) = (mantissa, exponent);
        while mantissa % 10 == 0 && exponent < i32::MAX {
            mantissa /= 10;
            exponent += 1;
        }
        Self { mantissa, exponent }
    }

    /// Reads plain digits with at most one decimal point; `None` for anything else, and for more than 36 digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = whole.len() + fraction.len();
        let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if digits == 0 || digits > 36 || !plain(whole) || !plain(fraction) {
            return None;
        }
        let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
        Some(Self::new(mantissa, -i32::try_from(fraction.len()).ok()?))
    }

    /// The number times a power of ten; `None` beyond what fits.
    pub fn times_ten_to(self, power: i32) -> Option<Self> {
        Some(Self::new(self.mantissa, self.exponent.checked_add(power)?))
    }

    /// The product; `None` beyond what fits.
    pub fn times(self, other: Self) -> Option<Self> {
        Some(Self::new(
            self.mantissa.checked_mul(other.mantissa)?,
            self.exponent.checked_add(other.exponent)?,
        ))
    }

    /// The sum; `None` beyond what fits.
    pub fn plus(self, other: Self) -> Option<Self> {
        let exponent = self.exponent.min(other.exponent);
        let at = |d: Self| d.mantissa.checked_mul(pow10(d.exponent.checked_sub(exponent)?)?);
        Some(Self::new(at(self)?.checked_add(at(other)?)?, exponent))
    }

    /// The number with its sign turned.
    pub fn negated(self) -> Self {
        Self { mantissa: self.mantissa.saturating_neg(), exponent: self.exponent }
    }

    /// The nearest binary number.
    pub fn to_f64(self) -> f64 {
        // Through text, which rounds once; multiplying by a power of ten would round twice.
        format!("{}e{}", self.mantissa, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// The number as an integer, when it is one that fits.
    pub fn to_i64(self) -> Option<i64> {
        if self.exponent < 0 {
            return None;
        }
        i64::try_from(self.mantissa.checked_mul(pow10(self.exponent)?)?).ok()
    }

    /// How many digits it is known to, trailing noughts of a whole number not counted.
    pub fn significant_digits(self) -> u32 {
        self.mantissa.unsigned_abs().checked_ilog10().map_or(1, |d| d + 1)
    }

    /// The number rounded, half away from nought, to `digits` significant digits.
    pub fn rounded_to(self, digits: u32) -> Self {
        let excess = self.significant_digits().saturating_sub(digits.max(1));
        let Some(unit) = i32::try_from(excess).ok().and_then(pow10) else { return self };
        let half = if excess == 0 { 0 } else { unit / 2 * self.mantissa.signum() };
        let rounded = self.mantissa.saturating_add(half) / unit;
        Self::new(rounded, self.exponent.saturating_add(excess as i32))
    }

    /// The number rounded, half away from nought, to the place of the last digit that `other` is known to.
    pub fn rounded_to_place_of(self, other: Self) -> Self {
        let excess = i64::from(other.exponent) - i64::from(self.exponent);
        if excess <= 0 {
            return self;
        }
        let Some(unit) = i32::try_from(excess).ok().and_then(pow10) else { return Self::ZERO };
        let half = unit / 2 * self.mantissa.signum();
        Self::new(self.mantissa.saturating_add(half) / unit, other.exponent)
    }

    /// The order of two numbers.
    pub fn compare(self, other: Self) -> Ordering {
        let difference = self.plus(other.negated()).map(|d| d.mantissa.cmp(&0));
        difference.unwrap_or_else(|| self.to_f64().total_cmp(&other.to_f64()))
    }
}

impl From<i64> for Decimal {
    fn from(n: i64) -> Self {
        Self::new(n.into(), 0)
    }
}

impl From<u32> for Decimal {
    fn from(n: u32) -> Self {
        Self::new(n.into(), 0)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mantissa < 0 {
            f.write_str("-")?;
        }
        let digits = self.mantissa.unsigned_abs().to_string();
        match usize::try_from(self.exponent) {
            Ok(noughts) if noughts <= 60 => write!(f, "{digits}{}", "0".repeat(noughts)),
            Ok(_) => write!(f, "{digits}e{}", self.exponent),
            Err(_) => {
                let places = self.exponent.unsigned_abs() as usize;
                let padded = format!("{digits:0>width$}", width = places + 1);
                let (whole, fraction) = padded.split_at(padded.len() - places);
                write!(f, "{whole}.{fraction}")
            }
        }
    }
}

fn pow10(power: i32) -> Option<i128> {
    10i128.checked_pow(u32::try_from(power).ok()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_numbers_are_equal_values() {
        let million = Decimal::parse("4.523").unwrap().times_ten_to(6).unwrap();
        assert_eq!(million, Decimal::parse("4523000").unwrap());
        assert_eq!(Decimal::parse("1.50"), Decimal::parse("01.5"));
        assert_eq!(Decimal::parse("1,5"), None);
        assert_eq!(Decimal::parse(""), None);
        assert_eq!(Decimal::parse("0.05").unwrap().to_string(), "0.05");
        assert_eq!(Decimal::from(-1200i64).to_string(), "-1200");
    }

    #[test]
    fn rounding_keeps_significant_digits() {
        let n = |t: &str| Decimal::parse(t).unwrap();
        assert_eq!(n("4523000").rounded_to(2), n("4500000"));
        assert_eq!(n("124000").rounded_to(2), n("120000"));
        assert_eq!(n("115000").rounded_to(2), n("120000"));
        assert_eq!(n("0.0996").rounded_to(2), n("0.1"));
        assert_eq!(n("7").rounded_to(0), n("7"));
        assert_eq!(n("124000").rounded_to_place_of(n("120000")), n("120000"));
        assert_eq!(n("3.149").rounded_to_place_of(n("3.14")), n("3.15"));
        assert_eq!(n("4").rounded_to_place_of(n("1000000")), Decimal::ZERO);
    }

    proptest! {
        #[test]
        fn display_parses_back(mantissa in -1_000_000_000i128..1_000_000_000, exponent in -12i32..12) {
            let n = Decimal::new(mantissa, exponent);
            let text = n.to_string();
            let parsed = Decimal::parse(text.trim_start_matches('-')).unwrap();
            prop_assert_eq!(if mantissa < 0 { parsed.negated() } else { parsed }, n);
        }

        #[test]
        fn order_agrees_with_binary_numbers(a in -1_000_000i64..1_000_000, b in -1_000_000i64..1_000_000, e in -6i32..6) {
            let (x, y) = (Decimal::new(a.into(), e), Decimal::new(b.into(), 0));
            if (x.to_f64() - y.to_f64()).abs() > 1e-6 {
                prop_assert_eq!(x.compare(y), x.to_f64().total_cmp(&y.to_f64()));
            }
        }
    }
}
