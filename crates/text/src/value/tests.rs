// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use counterproof_core::ByteSpan;
use proptest::prelude::*;

use super::*;

fn one(text: &str) -> Value {
    let found = values(text);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found[0].value.clone()
}

fn shown(text: &str) -> Vec<String> {
    values(text).iter().map(|f| f.value.to_string()).collect()
}

fn compared(a: &str, b: &str) -> Comparison {
    compare(&one(a), &one(b))
}

#[track_caller]
fn all_same(texts: &[&str]) {
    for a in texts {
        for b in texts {
            assert_eq!(compared(a, b), Comparison::Same, "{a} / {b}");
        }
    }
}

#[test]
fn one_date_in_many_writings() {
    all_same(&[
        "Jan 15, 1967",
        "Jan. 15, 1967",
        "January 15, 1967",
        "15 January 1967",
        "15th of January, 1967",
        "January 15th 1967",
        "1967-01-15",
        "1967/01/15",
        "15.01.1967",
        "01/15/1967",
        "15/01/1967",
        "1967年1月15日",
        "一九六七年一月十五日",
        "１９６７年１月１５日",
    ]);
    all_same(&["2019年", "二〇一九年", "2019"]);
    all_same(&["44 BC", "44 B.C.", "44 BCE", "公元前44年"]);
    all_same(&["AD 79", "79 AD", "79 CE", "公元79年"]);
    all_same(&["19th century", "nineteenth-century", "19世纪", "1801-1900"]);
    all_same(&["1990s", "1990's", "1990年代", "20世纪90年代", "1990-1999"]);
}

#[test]
fn one_number_in_many_writings() {
    all_same(&[
        "4523000",
        "4,523,000",
        "4.523 million",
        "452.3万",
        "four million five hundred and twenty-three thousand",
    ]);
    all_same(&["twelve", "12", "a dozen", "十二"]);
    all_same(&["1500000", "1,500,000", "1.5 million", "150万", "1.5-million"]);
    all_same(&["三百万", "3000000", "300万", "three million"]);
    all_same(&["5%", "five percent", "5 per cent", "百分之五", "５％"]);
    all_same(&["21st", "twenty-first", "第21", "第二十一"]);
    all_same(&["$1.5 million", "US$1,500,000", "1.5 million dollars", "$1.5m", "150万美元"]);
}

#[test]
fn what_is_written_ambiguously_stays_ambiguous() {
    assert_eq!(compared("03/04/2019", "March 4, 2019"), Comparison::Ambiguous);
    assert_eq!(compared("03/04/2019", "4 March 2019"), Comparison::Ambiguous);
    assert_eq!(compared("03/04/2019", "May 3, 2019"), Comparison::Different);
    assert_eq!(compared("03/04/2019", "2019"), Comparison::Compatible);
    assert_eq!(compared("13/04/2019", "April 13, 2019"), Comparison::Same);
    assert_eq!(compared("1.234", "1234"), Comparison::Ambiguous);
    assert_eq!(compared("1.234", "1500 people"), Comparison::Different);
    assert_eq!(compared("1.234,5", "1,234.5"), Comparison::Same);
}

#[test]
fn less_exact_values_are_compatible() {
    for (a, b) in [
        ("1967", "January 15, 1967"),
        ("January 1967", "January 15, 1967"),
        ("1990s", "1994"),
        ("19th century", "1850"),
        ("summer 1990", "1990"),
        ("about 100", "103"),
        ("4.5 million", "4,523,000"),
        ("1990-1995", "1992"),
        ("5", "5 km"),
        ("5", "5%"),
        ("5 km", "3.1 miles"),
        ("21", "21st"),
    ] {
        assert_eq!(compared(a, b), Comparison::Compatible, "{a} / {b}");
    }
}

#[test]
fn different_and_incomparable_values() {
    for (a, b) in [
        ("1912", "1913"),
        ("January 15, 1967", "January 16, 1967"),
        ("January 1967", "February 1967"),
        ("44 BC", "AD 44"),
        ("12 people", "13"),
        ("5%", "6%"),
        ("5 km", "5 miles"),
        ("$5", "$6"),
        ("1990s", "2001"),
        ("1990-1995", "1996"),
        ("1990-1995", "1990-1996"),
    ] {
        assert_eq!(compared(a, b), Comparison::Different, "{a} / {b}");
    }
    for (a, b) in [
        ("5 km", "5 kg"),
        ("$5", "€5"),
        ("January 15", "1967"),
        ("5%", "5 km"),
        ("12", "1967-01-15"),
        ("7", "5 km"),
    ] {
        assert_eq!(compared(a, b), Comparison::Incomparable, "{a} / {b}");
    }
}

#[test]
fn units_convert_where_the_conversion_is_exact() {
    for (a, b) in [
        ("5 km", "5000 m"),
        ("1 mile", "1609.344 metres"),
        ("2 kg", "2000 g"),
        ("1 lb", "0.45359237 kg"),
        ("32 °F", "0 °C"),
        ("212 degrees Fahrenheit", "100 degrees Celsius"),
        ("2 hours", "120 minutes"),
        ("2 years", "24 months"),
        ("5公里", "5 km"),
        ("5千米", "5000米"),
        ("1 foot", "12 inches"),
        ("-40 °C", "−40 °F"),
    ] {
        assert_eq!(compared(a, b), Comparison::Same, "{a} / {b}");
    }
}

#[test]
fn ranges_are_read_whole() {
    for text in [
        "1990-1995",
        "1990–95",
        "from 1990 to 1995",
        "1990 to 1995",
        "between 1990 and 1995",
        "1990年至1995年",
        "从1990年到1995年",
        "1990-1995年",
    ] {
        assert_eq!(compare(&one(text), &one("1990-1995")), Comparison::Same, "{text}");
    }
    assert_eq!(one("between 10 and 12").to_string(), "10-12");
    assert_eq!(one("10 to 12 km").to_string(), "10 km-12 km");
    assert_eq!(one("$10–12 million").to_string(), "10000000 USD-12000000 USD");
    assert_eq!(shown("January 15–17, 1967"), ["January 15, 1967-January 17, 1967"]);
    assert_eq!(shown("15-17 January 1967"), ["January 15, 1967-January 17, 1967"]);
    assert_eq!(shown("100–44 BC"), ["100 BC-44 BC"]);
    assert_eq!(shown("March–May 1990"), ["March 1990-May 1990"]);
    let text = "He reigned from 1990 to 1995 there";
    assert_eq!(values(text)[0].span.slice(text), Some("from 1990 to 1995"));
}

#[test]
fn values_stand_in_prose() {
    let text = "On January 15, 1967, about 61,946 people saw the first game at $12 a seat; it took 2 hours 37 minutes.";
    let found: Vec<(&str, String)> =
        values(text).iter().map(|f| (f.span.slice(text).unwrap(), f.value.to_string())).collect();
    let expected = [
        ("January 15, 1967", "January 15, 1967"),
        ("61,946", "about 61946"),
        ("first", "1st"),
        ("$12", "12 USD"),
        ("2 hours", "2 h"),
        ("37 minutes", "37 min"),
    ];
    assert_eq!(found, expected.map(|(a, b)| (a, b.to_owned())));
    assert_eq!(shown("In 1990 1500 people came, 1990 million more"), ["1990", "1500", "1990000000"]);
    assert_eq!(shown("World War II and Chapter IV, but I am not"), ["2", "4"]);
    assert_eq!(
        shown("图书馆建于二〇一九年三月五日，有三百万册，约占百分之五"),
        ["March 5, 2019", "3000000", "about 5%"]
    );
    assert_eq!(shown("a man of one of the B2B groups may march with no one"), [] as [&str; 0]);
    assert_eq!(shown("call 555-123-4567 or see version 1.2.3"), shown("call 555-123-4567"));
    assert_eq!(shown("c. 1500"), ["about 1500"]);
    assert_eq!(shown("In May it opened"), ["May"]);
    assert_eq!(shown("line 5\nJanuary"), ["5", "January"]);
}

#[test]
fn years_are_tokens_as_written() {
    let list = |t: &str| years(t).into_iter().map(|(y, _)| y).collect::<Vec<_>>();
    assert_eq!(list("It opened in 1912, not 1913."), ["1912", "1913"]);
    assert_eq!(list("in the early 1910s"), [] as [&str; 0]);
    assert_eq!(list("44 BC and AD 79, 5 B.C."), ["44 BC", "AD 79", "5 B.C."]);
    assert_eq!(list("二〇一九年 2019年3月 公元前221年"), ["二〇一九", "2019", "公元前221"]);
    assert_eq!(list("999 people, 2101, 11,990, 3.1990, ISO1990"), [] as [&str; 0]);
    assert_eq!(list("1990–95"), ["1990"]);
    assert_eq!(list("1990-1995"), ["1990", "1995"]);
    assert_eq!(list("January 15, 1967"), ["1967"]);
}

#[test]
fn markers_of_time_and_number() {
    for text in [
        "1912",
        "in March",
        "Monday",
        "summer",
        "the nineties",
        "the 19th century",
        "last decade",
        "三月",
        "星期一",
        "May",
        "世纪",
        "AD 79",
    ] {
        assert!(has_time_marker(text), "{text}");
    }
    for text in ["he may go", "they march on", "the capital", "", "北京", "Marseille"] {
        assert!(!has_time_marker(text), "{text}");
    }
    for text in ["12", "twelve", "a dozen", "two hundred", "三", "half", "first", "½", "one"] {
        assert!(has_number_marker(text), "{text}");
    }
    for text in ["many", "the tone", "", "北京"] {
        assert!(!has_number_marker(text), "{text}");
    }
}

#[test]
fn anchors_of_equal_values_are_equal() {
    assert_eq!(anchors("January 15, 1967"), ["january", "15", "1967"]);
    assert_eq!(anchors("15 Jan. 1967"), ["january", "15", "1967"]);
    assert_eq!(anchors("1967年1月15日"), ["january", "15", "1967"]);
    assert_eq!(anchors("4,523,000"), anchors("4.523 million"));
    assert_eq!(anchors("twelve"), ["12"]);
    assert_eq!(anchors("from 1990 to 1995"), ["1990", "1995"]);
    assert_eq!(anchors("nothing"), [] as [&str; 0]);
}

#[test]
fn enormous_texts_are_read_in_linear_time() {
    for piece in ["one ", "1990-", "twenty-", "三", "1,", "January ", "from ", "5 to ", "B.C."] {
        let text = piece.repeat(100_000);
        let found = values(&text);
        assert!(found.len() <= 100_000);
    }
}

fn any_date() -> impl Strategy<Value = Date> {
    let year = prop_oneof![1000i32..=2100, -900i32..-1, 1i32..999];
    (year, proptest::option::of((1u8..=12, proptest::option::of(1u8..=28)))).prop_map(|(year, rest)| {
        let (month, day) = rest.map_or((None, None), |(m, d)| (Some(m), d));
        Date::new(Some(year), month, day)
    })
}

proptest! {
    #[test]
    fn a_number_shown_reads_back(mantissa in 0i64..1_000_000_000_000, places in 0i32..3) {
        let number = Decimal::new(mantissa.into(), -places);
        let read = one(&number.to_string());
        let plain = Value::Number(Number::exact(number));
        prop_assert!(matches!(compare(&read, &plain), Comparison::Same));
    }

    #[test]
    fn a_number_with_commas_reads_as_without(n in 10_000u64..1_000_000_000_000) {
        let digits = n.to_string();
        let mut with_commas = String::new();
        for (i, c) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i) % 3 == 0 {
                with_commas.push(',');
            }
            with_commas.push(c);
        }
        prop_assert_eq!(one(&with_commas), one(&digits));
    }

    #[test]
    fn a_date_shown_reads_back(date in any_date()) {
        prop_assert_eq!(one(&date.to_string()), Value::Date(date));
    }

    #[test]
    fn comparing_is_reflexive_and_symmetric(a in any_date(), b in any_date(), n in 0i64..5000, unit in prop_oneof![Just("km"), Just("miles"), Just("%"), Just("dollars"), Just("years"), Just("")]) {
        let texts = [a.to_string(), b.to_string(), format!("{n} {unit}"), "03/04/2019".into(), "1.234".into(), "about 100".into(), "1990-1995".into(), "1990s".into(), "4.5 million".into()];
        let found: Vec<Value> = texts.iter().flat_map(|t| values(t)).map(|f| f.value).collect();
        for x in &found {
            prop_assert_eq!(compare(x, x), Comparison::Same);
            for y in &found {
                prop_assert_eq!(compare(x, y), compare(y, x));
            }
        }
    }

    #[test]
    fn spans_are_ordered_disjoint_and_slice(text in "[0-9a-zA-Z ,.%$年月日三百万'–-]{0,60}|(one|two|twenty|million|January|[0-9]{1,4}|to|-|,|BC|from| ){0,30}") {
        let mut end = 0;
        for found in values(&text) {
            let span: ByteSpan = found.span;
            prop_assert!(span.start() >= end && !span.slice(&text).unwrap().is_empty());
            end = span.end();
        }
        for (written, span) in years(&text) {
            prop_assert_eq!(span.slice(&text), Some(written.as_str()));
        }
    }
}
