//! Chinese numerals and dates, in ideographs, digits and mixtures of both (300万).

use super::model::{Date, Value, Years};
use super::number::literal;
use super::{Decimal, Number, Quantity, Unit};
use crate::packs::chinese;
use crate::scan::Lexeme;

fn digit(c: char) -> Option<u8> {
    chinese::DIGITS.iter().find(|(d, _)| *d == c).map(|(_, n)| *n)
}

fn scale(table: &[(char, u32)], c: char) -> Option<u32> {
    table.iter().find(|(s, _)| *s == c).map(|(_, power)| *power)
}

fn han_at(lexemes: &[Lexeme], at: usize) -> Option<char> {
    lexemes.get(at)?.han()
}

pub(super) fn is_numeral(c: char) -> bool {
    digit(c).is_some()
        || scale(chinese::SMALL_SCALES, c).is_some()
        || scale(chinese::LARGE_SCALES, c).is_some()
}

/// Reads the numeral at `at`: 三百万, 二〇一九, 300万, 1.5亿, 十二. Whether a lone ideograph counts is the caller's question.
pub(super) fn numeral_at(lexemes: &[Lexeme], at: usize) -> Option<(Number, usize)> {
    let lexeme = lexemes.get(at)?;
    if lexeme.is_number() {
        let (value, alternative) = literal(&lexeme.text)?;
        let (mut value, mut next, mut scaled) = (value, at + 1, false);
        while let Some(c) =
            han_at(lexemes, next).filter(|_| !lexemes.get(next).is_some_and(|l| l.line_before))
        {
            let Some(power) = scale(chinese::SMALL_SCALES, c).or_else(|| scale(chinese::LARGE_SCALES, c))
            else {
                break;
            };
            (value, next, scaled) = (value.times_ten_to(power as i32)?, next + 1, true);
        }
        let alternative = if scaled { None } else { alternative };
        // 3千5百: what follows adds on.
        if scaled
            && let Some(rest) = lexemes.get(next).filter(|l| l.is_number() && !l.space_before)
            && let Some(power) = han_at(lexemes, next + 1).and_then(|c| scale(chinese::SMALL_SCALES, c))
        {
            let rest = literal(&rest.text)?.0.times_ten_to(power as i32)?;
            return Some((Number::exact(value.plus(rest)?), next + 2));
        }
        return Some((Number { alternative, rounded: scaled, ..Number::exact(value) }, next));
    }
    positional(lexemes, at)
}

/// Longer runs of digits are no number that a text states.
const LONGEST: usize = 24;

fn positional(lexemes: &[Lexeme], at: usize) -> Option<(Number, usize)> {
    let mut end = at;
    let mut chars = Vec::new();
    while let Some(c) = han_at(lexemes, end).filter(|c| is_numeral(*c)) {
        if end > at && lexemes.get(end).is_some_and(|l| l.space_before) {
            break;
        }
        chars.push(c);
        end += 1;
        if chars.len() > LONGEST {
            return None;
        }
    }
    if chars.is_empty() {
        return None;
    }
    if chars.iter().all(|c| digit(*c).is_some()) {
        let digits: String = chars.iter().filter_map(|c| digit(*c)).map(|d| char::from(b'0' + d)).collect();
        return Some((Number::exact(Decimal::parse(&digits)?), end));
    }
    // Groups of four digits, each with its large scale.
    let (mut total, mut group, mut pending) = (Decimal::ZERO, Decimal::ZERO, None::<u8>);
    for c in &chars {
        if let Some(d) = digit(*c) {
            if pending.is_some_and(|p| p != 0) {
                return None;
            }
            pending = Some(d);
        } else if let Some(power) = scale(chinese::SMALL_SCALES, *c) {
            let d = pending.take().unwrap_or(1);
            group = group.plus(Decimal::from(u32::from(d)).times_ten_to(power as i32)?)?;
        } else if let Some(power) = scale(chinese::LARGE_SCALES, *c) {
            group = group.plus(Decimal::from(u32::from(pending.take().unwrap_or(0))))?;
            if group == Decimal::ZERO {
                // 万亿: a scale of a scale; a scale alone (万一) is no number.
                if total == Decimal::ZERO {
                    return None;
                }
                total = total.times_ten_to(power as i32)?;
            } else {
                total = total.plus(group.times_ten_to(power as i32)?)?;
            }
            group = Decimal::ZERO;
        }
    }
    let rest = Decimal::from(u32::from(pending.unwrap_or(0)));
    Some((Number::exact(total.plus(group)?.plus(rest)?), end))
}

/// Reads a Chinese date, number, share or quantity at `at`.
pub(super) fn value_at(lexemes: &[Lexeme], at: usize) -> Option<(Value, usize)> {
    if let Some((date, next)) = date_at(lexemes, at) {
        return Some((Value::Date(date), next));
    }
    let c = han_at(lexemes, at);
    if c == Some('第') {
        let (number, next) = numeral_at(lexemes, at + 1)?;
        return Some((Value::Number(Number { ordinal: true, ..number }), next));
    }
    if c == Some('百') && han_at(lexemes, at + 1) == Some('分') && han_at(lexemes, at + 2) == Some('之') {
        let (number, next) = decimal_at(lexemes, at + 3)?;
        return Some((Value::Percent(number), next));
    }
    let (number, next) = decimal_at(lexemes, at)?;
    let scaled_digits = lexemes.get(at).is_some_and(Lexeme::is_number) && next > at + 1;
    let ideographs = lexemes.get(at).is_some_and(|l| l.han().is_some());
    if !ideographs && !scaled_digits && lexemes.get(next).is_none_or(|l| l.han().is_none()) {
        return None;
    }
    if lexemes.get(next).is_some_and(|l| l.is("%")) {
        return Some((Value::Percent(number), next + 1));
    }
    if let Some((unit, length)) = lexemes.get(next..).and_then(Unit::at_start) {
        return Some((Value::Quantity(Quantity { number, unit }), next + length));
    }
    if ideographs && next == at + 1 {
        let measured = han_at(lexemes, next).is_some_and(|m| chinese::MEASURE_WORDS.contains(&m));
        let whole = lexemes.len() == 1;
        // 一个 is as often an article as a number; 十 and 百 alone are part of many words.
        let article = c == Some('一') && !whole && !measured;
        return (whole
            || (measured
                && !article
                && !matches!(c, Some('百' | '千' | '万' | '萬' | '亿' | '億' | '零' | '〇'))))
        .then_some((Value::Number(number), next));
    }
    (ideographs || scaled_digits).then_some((Value::Number(number), next))
}

/// A numeral with a fraction: 三点五.
fn decimal_at(lexemes: &[Lexeme], at: usize) -> Option<(Number, usize)> {
    let (number, next) = numeral_at(lexemes, at)?;
    if !matches!(han_at(lexemes, next), Some('点' | '點')) {
        return Some((number, next));
    }
    let mut digits = String::new();
    let mut end = next + 1;
    while let Some(d) = han_at(lexemes, end).and_then(digit).filter(|_| digits.len() < LONGEST) {
        digits.push(char::from(b'0' + d));
        end += 1;
    }
    if digits.is_empty() {
        return Some((number, next));
    }
    let fraction = Decimal::parse(&format!("0.{digits}"))?;
    let mut value = number.value.plus(fraction)?;
    while let Some(power) = han_at(lexemes, end).and_then(|c| scale(chinese::LARGE_SCALES, c)) {
        (value, end) = (value.times_ten_to(power as i32)?, end + 1);
    }
    Some((Number::exact(value), end))
}

/// 2019年3月5日, 二〇一九年, 公元前221年, 3月5日, 19世纪, 20世纪90年代.
pub(super) fn date_at(lexemes: &[Lexeme], at: usize) -> Option<(Date, usize)> {
    let (mut start, mut era) = (at, None);
    if matches!(han_at(lexemes, start), Some('公' | '西')) && han_at(lexemes, start + 1) == Some('元') {
        (start, era) = (start + 2, Some(false));
    }
    if han_at(lexemes, start) == Some('前')
        && (era.is_some() || lexemes.get(start + 1).is_some_and(Lexeme::is_number))
    {
        (start, era) = (start + 1, Some(true));
    }
    let (number, next) = numeral_at(lexemes, start)?;
    let written = next - start;
    let whole = i32::try_from(number.value.to_i64()?).ok()?;
    match han_at(lexemes, next)? {
        '年' if han_at(lexemes, next + 1) == Some('代') => (whole % 10 == 0
            && (1000..=2100).contains(&whole))
        .then(|| (from_years(Years::decade(whole)), next + 2)),
        '年' => {
            let four_digits = (1000..=2100).contains(&whole)
                && (lexemes.get(start).is_some_and(|l| l.is_number() && l.text.len() == 4) || written == 4);
            if era.is_none() && !four_digits || !(1..=9999).contains(&whole) {
                return None;
            }
            let year = if era == Some(true) { -whole } else { whole };
            let mut date = Date::year(year);
            let mut next = next + 1;
            if let Some((month, after)) = counted(lexemes, next, 12, &['月']) {
                (date.month, next) = (Some(month), after);
                if let Some((day, after)) = counted(lexemes, next, 31, &['日', '号', '號']) {
                    (date.day, next) = (Some(day), after);
                }
            }
            Some((date, next))
        }
        '月' if era.is_none() && (1..=12).contains(&whole) => {
            let month = u8::try_from(whole).ok()?;
            let day = counted(lexemes, next + 1, 31, &['日', '号', '號']);
            let after = day.map_or(next + 1, |(_, after)| after);
            // 三月 within a longer word or 三个月 is no month; 月 followed by 份 is.
            Some((Date::new(None, Some(month), day.map(|(d, _)| d)), after))
        }
        '世' if matches!(han_at(lexemes, next + 1), Some('纪' | '紀')) => {
            let number = u32::try_from(whole).ok().filter(|n| (1..=40).contains(n))?;
            let bc = era == Some(true);
            let after = next + 2;
            if !bc
                && let Some((decade, end)) = numeral_at(lexemes, after)
                && han_at(lexemes, end) == Some('年')
                && han_at(lexemes, end + 1) == Some('代')
            {
                let tens = i32::try_from(decade.value.to_i64()?)
                    .ok()
                    .filter(|d| d % 10 == 0 && (10..100).contains(d));
                if let Some(tens) = tens {
                    return Some((from_years(Years::decade(100 * (whole - 1) + tens)), end + 2));
                }
            }
            Some((from_years(Years::century(number, bc)), after))
        }
        _ => None,
    }
}

fn from_years(years: Years) -> Date {
    Date { years: Some(years), ..Date::default() }
}

/// A numeral from 1 to `most` before one of `marks`.
fn counted(lexemes: &[Lexeme], at: usize, most: i64, marks: &[char]) -> Option<(u8, usize)> {
    let (number, next) = numeral_at(lexemes, at)?;
    han_at(lexemes, next).filter(|c| marks.contains(c))?;
    let n = number.value.to_i64().filter(|n| (1..=most).contains(n))?;
    Some((u8::try_from(n).ok()?, next + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::lex;

    #[test]
    fn numerals_in_every_writing() {
        for (text, value) in [
            ("三百万", "3000000"),
            ("300万", "3000000"),
            ("1.5亿", "150000000"),
            ("二十一", "21"),
            ("一百零五", "105"),
            ("十二", "12"),
            ("两千", "2000"),
            ("二〇一九", "2019"),
            ("一万二千三百", "12300"),
            ("三万亿", "3000000000000"),
            ("3千5百", "3500"),
            ("１２３４万", "12340000"),
            ("壹佰", "100"),
            ("十", "10"),
        ] {
            let lexemes = lex(text);
            let (number, next) = numeral_at(&lexemes, 0).unwrap();
            assert_eq!((number.value.to_string().as_str(), next), (value, lexemes.len()), "{text}");
        }
        assert!(numeral_at(&lex("万一"), 0).is_none());
    }

    #[test]
    fn dates_in_every_writing() {
        for (text, date) in [
            ("1967年1月15日", "January 15, 1967"),
            ("一九六七年一月十五日", "January 15, 1967"),
            ("2019年", "2019"),
            ("二〇一九年", "2019"),
            ("公元前221年", "221 BC"),
            ("公元79年", "AD 79"),
            ("3月5日", "March 5"),
            ("十月", "October"),
            ("19世纪", "19th century"),
            ("公元前五世纪", "5th century BC"),
            ("20世纪90年代", "1990s"),
            ("1990年代", "1990s"),
            ("２０１９年３月５号", "March 5, 2019"),
        ] {
            let lexemes = lex(text);
            let (found, next) = date_at(&lexemes, 0).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.to_string().as_str(), next), (date, lexemes.len()), "{text}");
        }
        assert!(date_at(&lex("三年"), 0).is_none());
        assert!(date_at(&lex("100年"), 0).is_none());
    }
}
