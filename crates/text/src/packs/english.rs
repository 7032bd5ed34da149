//! English word lists. All entries are lower-case unless said otherwise.

/// The 40 function words that carry no content in an answer (articles are gone before they are looked up).
pub const STOP_WORDS: [&str; 40] = [
    "about", "and", "are", "as", "at", "be", "been", "but", "by", "did", "do", "does", "for", "from", "had", "has",
    "have", "he", "her", "his", "in", "into", "is", "it", "its", "of", "on", "or", "she", "that", "their", "they",
    "this", "to", "was", "were", "which", "who", "will", "with",
];

/// Words so common in English that a Latin-script text holding them is English.
pub const FUNCTION_WORDS: &[&str] = &[
    "the", "of", "and", "to", "is", "was", "are", "were", "what", "which", "who", "whom", "whose", "when", "where",
    "why", "how", "did", "does", "do", "has", "have", "had", "for", "with", "from", "by", "that", "this", "it", "its",
    "his", "her", "their", "they", "he", "she", "been", "be", "at", "on", "as", "or", "not", "there", "an", "many",
    "first", "name", "into", "after", "before", "between", "most", "you", "if",
];

/// Function words of other languages in Latin script that are not English words. Two of them without an English one
/// are evidence against English.
pub const FOREIGN_FUNCTION_WORDS: &[&str] = &[
    "der", "das", "und", "ist", "wer", "wann", "wo", "wie", "welche", "welcher", "welches", "eine", "einer", "hat",
    "wurde", "nicht", "mit", "von", "zu", "für", "le", "les", "des", "du", "une", "est", "qui", "où", "quand",
    "quel", "quelle", "comment", "dans", "pour", "avec", "sur", "que", "el", "los", "las", "una", "del", "quién",
    "qué", "cuál", "cuándo", "dónde", "cuántos", "cuántas", "cómo", "fue", "es", "por", "para", "il", "lo", "gli",
    "di", "che", "chi", "quando", "dove", "è", "della", "nel", "per", "con", "quem", "qual", "onde", "é", "foi", "um",
    "uma", "os", "da", "dos", "het", "een", "wie", "wat", "waar", "van", "niet", "och", "är", "som", "vad", "vem",
    "det", "av", "på", "og", "er", "hva", "hvem", "jest", "kto", "gdzie", "kiedy", "się", "nie", "ve", "bir", "kim",
    "ne", "zaman", "nerede",
];

/// Abbreviations that stand before a name or a number and never end a sentence.
pub const OPEN_ABBREVIATIONS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "rev", "hon", "st", "mt", "ft", "gen", "col", "lt", "maj", "capt", "sgt", "cmdr",
    "adm", "gov", "sen", "rep", "pres", "supt", "fr", "sr.", "messrs", "mme", "mlle", "vs", "v", "e.g", "i.e", "cf",
    "viz", "ca", "c", "approx", "esp", "op", "al", "figs", "fig", "eq", "eds", "ed", "vol", "vols", "pp", "ph", "b",
    "d", "r", "fl", "lit", "trans", "nos",
];

/// Abbreviations before a number only: elsewhere the same letters end a sentence ("He said no.").
pub const NUMBER_ABBREVIATIONS: &[&str] = &["no", "art", "sec", "ch", "p", "pt", "ser", "bk"];

/// Abbreviations that may or may not end a sentence: they do when a common sentence opener follows.
pub const CLOSE_ABBREVIATIONS: &[&str] = &[
    "jr", "sr", "esq", "inc", "ltd", "co", "corp", "bros", "llc", "plc", "etc", "a.m", "p.m", "am", "pm", "b.c", "a.d",
    "b.c.e", "c.e", "u.s", "u.k", "u.n", "u.s.a", "u.s.s.r", "d.c", "l.a", "n.y", "ph.d", "m.d", "b.a", "m.a", "b.sc",
    "m.sc", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "mon", "tue", "tues",
    "wed", "thu", "thur", "thurs", "fri", "sat", "sun", "ave", "blvd", "rd", "dept", "univ", "assn", "est", "ex",
    "km", "kg", "cm", "mm", "lb", "lbs", "oz", "min", "max", "hr", "hrs", "sq", "mph", "gal",
];

/// Words (with a capital in the text) that open a sentence after an abbreviation rather than go on with a name.
pub const SENTENCE_OPENERS: &[&str] = &[
    "the", "he", "she", "it", "in", "on", "at", "this", "that", "these", "those", "they", "we", "a", "an", "his",
    "her", "its", "their", "there", "however", "after", "before", "during", "when", "while", "although", "as", "by",
    "for", "from", "since", "but", "and", "if", "because", "both", "one", "some", "many", "most", "other", "another",
    "according", "as", "with", "under", "until", "later", "then", "also", "despite", "following", "born", "who",
    "what", "where", "how", "why",
];

/// Months with their number; three-letter forms are listed beside the whole word.
pub const MONTHS: &[(&str, u8)] = &[
    ("january", 1), ("jan", 1), ("february", 2), ("feb", 2), ("march", 3), ("mar", 3), ("april", 4), ("apr", 4),
    ("may", 5), ("june", 6), ("jun", 6), ("july", 7), ("jul", 7), ("august", 8), ("aug", 8), ("september", 9),
    ("sept", 9), ("sep", 9), ("october", 10), ("oct", 10), ("november", 11), ("nov", 11), ("december", 12),
    ("dec", 12),
];

/// Whole names of the months, January first.
pub const MONTH_NAMES: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
];

/// Days of the week with their short forms.
pub const WEEKDAYS: &[&str] = &[
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mondays", "tuesdays", "wednesdays",
    "thursdays", "fridays", "saturdays", "sundays", "mon", "tue", "tues", "wed", "thu", "thur", "thurs", "fri",
];

/// Words for other stretches of time.
pub const TIME_WORDS: &[&str] = &[
    "spring", "summer", "autumn", "winter", "fall", "decade", "decades", "century", "centuries", "twenties",
    "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties", "millennium", "easter",
    "christmas", "midnight", "noon",
];

/// Numbers below twenty.
pub const UNITS_WORDS: &[(&str, u32)] = &[
    ("zero", 0), ("one", 1), ("two", 2), ("three", 3), ("four", 4), ("five", 5), ("six", 6), ("seven", 7),
    ("eight", 8), ("nine", 9), ("ten", 10), ("eleven", 11), ("twelve", 12), ("thirteen", 13), ("fourteen", 14),
    ("fifteen", 15), ("sixteen", 16), ("seventeen", 17), ("eighteen", 18), ("nineteen", 19),
];

/// Multiples of ten.
pub const TENS_WORDS: &[(&str, u32)] = &[
    ("twenty", 20), ("thirty", 30), ("forty", 40), ("fourty", 40), ("fifty", 50), ("sixty", 60), ("seventy", 70),
    ("eighty", 80), ("ninety", 90),
];

/// Words that multiply what stands before them, as powers of ten.
pub const SCALE_WORDS: &[(&str, u32)] = &[
    ("thousand", 3), ("million", 6), ("billion", 9), ("trillion", 12), ("quadrillion", 15), ("mn", 6), ("bn", 9),
];

/// Ordinals below twenty and the multiples of ten.
pub const ORDINAL_WORDS: &[(&str, u32)] = &[
    ("first", 1), ("second", 2), ("third", 3), ("fourth", 4), ("fifth", 5), ("sixth", 6), ("seventh", 7),
    ("eighth", 8), ("ninth", 9), ("tenth", 10), ("eleventh", 11), ("twelfth", 12), ("thirteenth", 13),
    ("fourteenth", 14), ("fifteenth", 15), ("sixteenth", 16), ("seventeenth", 17), ("eighteenth", 18),
    ("nineteenth", 19), ("twentieth", 20), ("thirtieth", 30), ("fortieth", 40), ("fiftieth", 50), ("sixtieth", 60),
    ("seventieth", 70), ("eightieth", 80), ("ninetieth", 90), ("hundredth", 100), ("thousandth", 1000),
];

/// Words before a number that say it is not exact.
pub const APPROXIMATE_WORDS: &[&str] =
    &["about", "around", "approximately", "approx", "roughly", "nearly", "almost", "some", "circa", "ca", "c", "estimated"];

/// Words before a Roman numeral that make it one.
pub const ROMAN_CONTEXT: &[&str] = &[
    "chapter", "volume", "book", "part", "act", "war", "type", "phase", "section", "article", "title", "class", "bowl",
    "appendix", "stage", "mark", "episode", "division",
];

/// Whole answers that decline to answer.
pub const ABSTENTIONS: &[&str] = &[
    "unknown", "unsure", "not sure", "im not sure", "i am not sure", "i dont know", "i do not know", "dont know",
    "do not know", "no idea", "i have no idea", "not enough information", "insufficient information",
    "insufficient evidence", "not enough evidence", "not enough context", "insufficient context",
    "cannot determine", "cannot be determined", "can not be determined", "cant be determined", "could not be determined",
    "cannot answer", "cannot be answered", "i cannot answer", "i cant answer", "unable to answer", "unable to determine",
    "i am unable to answer", "i cannot determine", "i cant determine", "cant determine", "could not determine",
    "undetermined", "na", "n a", "none", "null", "nil", "no answer", "noanswer", "no answer found", "not available",
    "not found", "not known", "not mentioned", "not stated", "not specified", "not provided", "not given", "not listed",
    "unanswerable", "unspecified", "no information", "no information found", "no information available",
    "no relevant information", "information not found", "information not available", "no data", "not applicable",
    "none of the above", "none found", "not answerable", "idk", "no evidence", "not supported", "i have no comment",
    "unable to find", "could not find", "nothing found",
];

/// Openings of a clause that declines to answer; what follows only says why. In the form of the abstention matcher
/// (lower case, apostrophes deleted, other punctuation a space).
pub const ABSTENTION_OPENINGS: &[&str] = &[
    "i dont know", "i do not know", "i dont have", "i do not have", "im not sure", "i am not sure", "im unable",
    "i am unable", "i was unable", "i could not find", "i couldnt find", "i cannot find", "i cant find", "i cannot determine",
    "i cant determine", "i cannot answer", "i cant answer", "i cannot provide", "i cant provide", "i couldnt determine",
    "i could not determine", "i could not verify", "i cannot verify", "i cannot confirm", "i have no information",
    "i have no idea", "im sorry but", "i am sorry but", "sorry but i", "unable to determine", "unable to find", "unable to answer", "not enough information",
    "there is not enough", "there isnt enough", "there is insufficient", "there is no information", "there is no mention",
    "there was no information", "no information", "insufficient information", "insufficient evidence",
    "cannot be determined", "cannot determine", "cannot answer", "could not be determined", "could not determine", "could not find",
    "it is not possible to determine", "it is impossible to determine", "it is unknown", "it is not known", "it is unclear",
    "it is not clear", "it is not mentioned", "it is not specified", "it is not stated",
    "the answer is unknown", "the answer is not", "the answer cannot", "the answer could not",
    "the passage does not", "the passages do not", "the passage doesnt", "the passages dont", "none of the passages",
    "the context does not", "the provided context does not", "the given context does not", "the provided passages do not",
    "the given passages do not", "the provided information does not", "the provided text does not", "the text does not", "the document does not", "the documents do not",
    "the information is not", "information is not available", "the information provided does not",
    "the search results do not", "the search results did not", "the available information does not", "not found in", "not mentioned in", "not stated in", "not specified in", "not provided in",
    "not available in", "not given in", "unknown based on", "unknown from", "none of the", "based on the information provided it is not",
];

/// Words in front of an answer that belong to its wrapping.
pub const ANSWER_LABELS: &[&str] =
    &["short answer", "final answer", "the final answer", "the correct answer", "the answer", "answer", "ans", "a"];

/// First words of a reply that mean yes.
pub const YES_WORDS: &[&str] = &["yes", "yeah", "yep", "true", "correct", "affirmative"];
/// First words of a reply that mean no.
pub const NO_WORDS: &[&str] = &["no", "nope", "false", "incorrect", "negative"];
