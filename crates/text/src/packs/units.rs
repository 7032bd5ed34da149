//! Units of measure and currencies. Factors are exact by definition (the yard and pound agreement of 1959, the
//! nautical mile of 1929, the SI).

/// What a unit measures; only units of one dimension convert into each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// In metres.
    Length,
    /// In kilograms.
    Mass,
    /// In kelvins.
    Temperature,
    /// In seconds.
    Time,
    /// Months and years, which have no fixed number of seconds; in months.
    CalendarTime,
    /// In square metres.
    Area,
    /// In cubic metres.
    Volume,
    /// In metres a second.
    Speed,
    /// Amounts of money: a label only, nothing converts.
    Currency,
    /// Shares of a hundred stated as points, watts and other units without conversions here.
    Other,
}

/// A unit: `base = number * factor + offset`.
#[derive(Debug)]
pub struct Entry {
    /// The symbol that names it in output.
    pub name: &'static str,
    /// What it measures.
    pub dimension: Dimension,
    /// Size in the base unit of its dimension.
    pub factor: f64,
    /// Zero point in the base unit; 0 except for temperatures.
    pub offset: f64,
    /// Lower-case forms in text, words parted by a space.
    pub forms: &'static [&'static str],
}

const fn unit(
    name: &'static str,
    dimension: Dimension,
    factor: f64,
    forms: &'static [&'static str],
) -> Entry {
    Entry { name, dimension, factor, offset: 0.0, forms }
}

const fn currency(name: &'static str, forms: &'static [&'static str]) -> Entry {
    unit(name, Dimension::Currency, 1.0, forms)
}

use Dimension::{Area, CalendarTime, Length, Mass, Other, Speed, Temperature, Time, Volume};

/// All units.
pub const UNITS: &[Entry] = &[
    unit("mm", Length, 0.001, &["mm", "millimetre", "millimetres", "millimeter", "millimeters", "毫米"]),
    unit(
        "cm",
        Length,
        0.01,
        &["cm", "centimetre", "centimetres", "centimeter", "centimeters", "厘米", "公分"],
    ),
    unit("m", Length, 1.0, &["m", "metre", "metres", "meter", "meters", "米", "公尺"]),
    unit(
        "km",
        Length,
        1000.0,
        &["km", "kms", "kilometre", "kilometres", "kilometer", "kilometers", "公里", "千米"],
    ),
    unit("in", Length, 0.0254, &["inch", "inches", "英寸"]),
    unit("ft", Length, 0.3048, &["ft", "foot", "feet", "英尺"]),
    unit("yd", Length, 0.9144, &["yd", "yds", "yard", "yards", "码"]),
    unit("mi", Length, 1609.344, &["mi", "mile", "miles", "英里"]),
    unit("nmi", Length, 1852.0, &["nmi", "nautical mile", "nautical miles", "海里"]),
    unit("mg", Mass, 1e-6, &["mg", "milligram", "milligrams", "毫克"]),
    unit("g", Mass, 0.001, &["g", "gram", "grams", "gramme", "grammes", "克"]),
    unit(
        "kg",
        Mass,
        1.0,
        &["kg", "kgs", "kilo", "kilos", "kilogram", "kilograms", "kilogramme", "公斤", "千克"],
    ),
    unit("t", Mass, 1000.0, &["tonne", "tonnes", "metric ton", "metric tons", "吨", "噸"]),
    unit("ton", Other, 1.0, &["ton", "tons"]),
    unit("lb", Mass, 0.453_592_37, &["lb", "lbs", "pound", "pounds", "磅"]),
    unit("oz", Mass, 0.028_349_523_125, &["oz", "ounce", "ounces", "盎司"]),
    Entry {
        name: "°C",
        dimension: Temperature,
        factor: 1.0,
        offset: 273.15,
        forms: &[
            "°c",
            "° c",
            "℃",
            "degrees celsius",
            "degree celsius",
            "celsius",
            "degrees centigrade",
            "摄氏度",
        ],
    },
    Entry {
        name: "°F",
        dimension: Temperature,
        factor: 5.0 / 9.0,
        offset: 459.67 * 5.0 / 9.0,
        forms: &["°f", "° f", "℉", "degrees fahrenheit", "degree fahrenheit", "fahrenheit", "华氏度"],
    },
    unit("K", Temperature, 1.0, &["kelvin", "kelvins"]),
    unit("ms", Time, 0.001, &["ms", "millisecond", "milliseconds", "毫秒"]),
    unit("s", Time, 1.0, &["sec", "secs", "second", "seconds", "秒", "秒钟"]),
    unit("min", Time, 60.0, &["min", "mins", "minute", "minutes", "分钟", "分鐘"]),
    unit("h", Time, 3600.0, &["h", "hr", "hrs", "hour", "hours", "小时", "小時"]),
    unit("day", Time, 86_400.0, &["day", "days", "天", "日"]),
    unit("week", Time, 604_800.0, &["week", "weeks", "周", "星期", "个星期"]),
    unit("month", CalendarTime, 1.0, &["month", "months", "个月", "個月"]),
    unit(
        "year",
        CalendarTime,
        12.0,
        &["year", "years", "yr", "yrs", "年", "岁", "歲", "周岁", "year old", "years old", "years of age"],
    ),
    unit("decade", CalendarTime, 120.0, &["decade", "decades"]),
    unit("century", CalendarTime, 1200.0, &["centuries"]),
    unit(
        "m²",
        Area,
        1.0,
        &["m²", "m2", "sq m", "square metre", "square metres", "square meter", "square meters", "平方米"],
    ),
    unit(
        "km²",
        Area,
        1e6,
        &[
            "km²",
            "km2",
            "sq km",
            "square kilometre",
            "square kilometres",
            "square kilometer",
            "square kilometers",
            "平方公里",
            "平方千米",
        ],
    ),
    unit("ha", Area, 1e4, &["ha", "hectare", "hectares", "公顷"]),
    unit("acre", Area, 4_046.856_422_4, &["acre", "acres", "英亩"]),
    unit("sq ft", Area, 0.092_903_04, &["sq ft", "square foot", "square feet", "平方英尺"]),
    unit("sq mi", Area, 2_589_988.110_336, &["sq mi", "square mile", "square miles", "平方英里"]),
    unit("ml", Volume, 1e-6, &["ml", "millilitre", "millilitres", "milliliter", "milliliters", "毫升"]),
    unit("l", Volume, 0.001, &["l", "litre", "litres", "liter", "liters", "升", "公升"]),
    unit(
        "m³",
        Volume,
        1.0,
        &["m³", "m3", "cubic metre", "cubic metres", "cubic meter", "cubic meters", "立方米"],
    ),
    unit("km/h", Speed, 1.0 / 3.6, &["km/h", "kmh", "kph", "kilometres per hour", "kilometers per hour"]),
    unit("mph", Speed, 0.447_04, &["mph", "miles per hour", "miles an hour"]),
    unit("m/s", Speed, 1.0, &["m/s", "metres per second", "meters per second"]),
    unit("knot", Speed, 1852.0 / 3600.0, &["knot", "knots", "节"]),
    unit("W", Other, 1.0, &["watt", "watts"]),
    unit("MW", Other, 1.0, &["mw", "megawatt", "megawatts"]),
    unit("Hz", Other, 1.0, &["hz", "hertz"]),
    unit("MB", Other, 1.0, &["mb", "megabyte", "megabytes"]),
    unit("GB", Other, 1.0, &["gb", "gigabyte", "gigabytes"]),
    currency("USD", &["$", "us$", "usd", "dollar", "dollars", "us dollar", "us dollars", "美元", "美金"]),
    currency("EUR", &["€", "eur", "euro", "euros", "欧元"]),
    currency("GBP", &["£", "gbp", "pounds sterling", "英镑"]),
    currency("JPY", &["jpy", "yen", "日元", "日圆"]),
    currency("CNY", &["¥", "rmb", "cny", "yuan", "renminbi", "元", "人民币", "块钱"]),
    currency("INR", &["₹", "inr", "rs", "rupee", "rupees", "卢比"]),
    currency("CAD", &["c$", "ca$", "cad", "canadian dollar", "canadian dollars", "加元"]),
    currency("AUD", &["a$", "au$", "aud", "australian dollar", "australian dollars", "澳元"]),
    currency("HKD", &["hk$", "hkd", "港元", "港币"]),
    currency("KRW", &["₩", "won", "韩元"]),
    currency("RUB", &["₽", "rub", "ruble", "rubles", "rouble", "roubles", "卢布"]),
    currency("CHF", &["chf", "swiss franc", "swiss francs"]),
    currency("cent", &["cents"]),
];

/// Words that stand for a currency in front of a number, in capitals; "US", "A" and the like before a currency sign too.
pub const CURRENCY_CODES: [&str; 19] = [
    "usd", "eur", "gbp", "jpy", "cny", "rmb", "inr", "cad", "aud", "hkd", "chf", "rs", "krw", "rub", "us",
    "au", "ca", "hk", "c",
];
