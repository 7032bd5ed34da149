//! Nouns that tell what a "what" or "which" question asks for.

use counterproof_core::QuestionType;

/// Times other than years.
const TIME: &[&str] =
    &["day", "date", "month", "decade", "century", "time", "era", "weekday", "birthday", "birthdate", "millennium"];
const YEAR: &[&str] = &["year"];
const NUMBER: &[&str] = &[
    "number", "population", "percentage", "percent", "age", "height", "length", "distance", "score", "amount", "total",
    "price", "cost", "rank", "capacity", "width", "depth", "weight", "speed", "temperature", "area", "size", "rate",
    "ratio", "proportion", "fraction", "quantity", "duration", "elevation", "altitude", "diameter", "radius", "volume",
    "mass", "frequency", "runtime", "salary", "budget", "revenue", "attendance", "count", "density", "magnitude", "gdp",
    "value", "share", "membership", "wingspan", "wheelbase", "isolation", "brightness", "ranking", "half-life", "horsepower", "footage",
    "stability", "durability", "resolution", "dimension", "measurement", "prominence", "circumference", "latitude", "longitude", "voltage",
    "thickness", "strength", "yield", "fee", "tonnage", "displacement", "wavelength", "week",
];
const PLACE: &[&str] = &[
    "city", "town", "country", "county", "state", "province", "village", "region", "continent", "river", "island",
    "district", "municipality", "street", "location", "place", "capital", "nation", "borough", "neighborhood",
    "neighbourhood", "suburb", "territory", "prefecture", "birthplace", "hometown", "lake", "mountain", "ocean", "sea",
    "valley", "desert", "peninsula", "venue", "address", "commune", "area", "planet", "parish", "kingdom", "canton",
    "hamlet", "headquarters", "cemetery", "hemisphere",
];
const PERSON: &[&str] = &[
    "person", "actor", "actress", "author", "president", "singer", "player", "director", "king", "queen", "scientist",
    "man", "woman", "boy", "girl", "people", "men", "women", "artist", "writer", "poet", "painter", "composer",
    "musician", "politician", "philosopher", "mathematician", "physicist", "chemist", "engineer", "architect",
    "inventor", "founder", "co-founder", "cofounder", "leader", "minister", "governor", "senator", "mayor", "emperor",
    "empress", "prince", "princess", "pope", "saint", "general", "explorer", "astronaut", "athlete", "footballer",
    "cricketer", "golfer", "boxer", "swimmer", "coach", "manager", "producer", "screenwriter", "songwriter",
    "guitarist", "drummer", "bassist", "pianist", "vocalist", "rapper", "dancer", "model", "comedian", "journalist",
    "historian", "judge", "lawyer", "doctor", "professor", "teacher", "student", "winner", "recipient", "champion",
    "wife", "husband", "son", "daughter", "father", "mother", "brother", "sister", "spouse", "child", "uncle", "aunt",
    "grandfather", "grandmother", "parent", "sibling", "cousin", "nephew", "niece", "ceo", "chairman", "chairperson",
    "chair", "secretary", "chancellor", "ambassador", "bishop", "archbishop", "host", "presenter", "character",
    "member", "striker", "goalkeeper", "quarterback", "pitcher", "batsman", "bowler", "captain", "referee", "novelist",
    "playwright", "dramatist", "sculptor", "photographer", "illustrator", "designer", "choreographer", "conductor",
    "soprano", "economist", "biologist", "botanist", "zoologist", "astronomer", "geologist", "archaeologist",
    "psychologist", "sociologist", "anthropologist", "linguist", "theologian", "entomologist", "researcher", "scholar",
    "officer", "soldier", "pilot", "nominee", "candidate", "successor", "predecessor", "owner", "editor", "narrator",
    "speaker", "monarch", "ruler", "pharaoh", "sultan", "duke", "earl", "count", "knight", "lord", "lady", "celebrity",
    "individual", "filmmaker", "activist", "businessman", "businesswoman", "entrepreneur", "wrestler", "skater",
    "surname", "driver", "streamer", "youtuber", "contestant", "survivor", "perpetrator", "settler", "nurse", "commander", "announcer",
    "villain", "surgeon", "attorney", "runner-up", "partner", "friend", "boyfriend", "girlfriend", "son-in-law", "daughter-in-law",
    "brother-in-law", "father-in-law", "mother-in-law", "chef", "criminal", "nobleman", "noblewoman", "typographer", "angel", "companion",
    "grandson", "granddaughter", "great-grandson", "stepfather", "stepmother", "twin", "commissioner", "chairwoman", "physician", "programmer",
    "detective", "impersonator", "priest", "monk", "nun", "missionary", "victim", "killer", "murderer", "assassin", "patron", "trainer",
    "instructor", "translator", "publisher", "caliph", "general", "pseudonym", "sprinter", "runner", "cyclist", "jockey", "umpire", "rower",
    "diver", "wrestler", "sailor", "merchant", "banker", "tycoon", "spy", "rebel", "warrior", "slave", "servant", "heir", "widow", "mistress",
    "lover", "ancestor", "descendant", "relative", "colleague", "mentor", "pupil", "disciple", "apostle", "prophet", "goddess", "god", "skier", "gymnast", "racer", "star", "justice", "dj", "lyricist", "naturalist",
];
/// Things that are none of the above, listed so that a modifier before them ("state university") does not decide.
const THING: &[&str] = &[
    "university", "college", "school", "team", "band", "company", "film", "movie", "song", "album", "award", "book",
    "novel", "club", "party", "group", "show", "series", "game", "play", "poem", "newspaper", "magazine", "language",
    "religion", "species", "animal", "plant", "genus", "family", "element", "disease", "organ", "bone", "color", "colour",
    "instrument", "genre", "label", "network", "channel", "station", "ship", "aircraft", "airline", "car", "brand",
    "medal", "prize", "title", "degree", "position", "role", "sport", "league", "event", "festival", "war", "battle",
    "treaty", "law", "act", "organization", "organisation", "agency", "institution", "museum", "church", "building",
    "bridge", "airport", "hotel", "hospital", "stadium", "theater", "theatre", "painting", "opera", "ballet", "musical",
    "episode", "season", "name", "word", "term", "type", "kind", "theory", "conference", "society", "academy",
    "institute", "department", "office", "program", "software", "zone", "franchise", "currency", "profession",
    "occupation", "nationality", "ethnicity", "ancestry", "subject", "field", "discipline", "major", "dynasty", "tribe", "breed",
    "drink", "dish", "food", "fruit", "tree", "holiday", "branch", "division", "regiment", "sign", "code", "flag", "anthem", "motto", "magazine",
];

/// The type that `word` (lower-case, singular or plural) asks for, when it decides one. `Entity` for a thing.
pub(crate) fn asked_by(word: &str) -> Option<QuestionType> {
    lookup(word).or_else(|| singulars(word).iter().find_map(|w| lookup(w))).or_else(|| names_a_doer(word))
}

/// Words built as names of persons: "ethnobotanist", "half-sister".
fn names_a_doer(word: &str) -> Option<QuestionType> {
    let singular = word.strip_suffix('s').unwrap_or(word);
    let built = singular.len() > 6 && ["ist", "ician", "grapher", "naut", "woman", "person"].iter().any(|end| singular.ends_with(end));
    let last = word.rsplit('-').next().filter(|part| part.len() < word.len());
    let related = last.is_some_and(|part| lookup(part.strip_suffix('s').unwrap_or(part)) == Some(QuestionType::Who));
    (built && !singular.ends_with("list") && !singular.ends_with("twist") || related).then_some(QuestionType::Who)
}

fn lookup(word: &str) -> Option<QuestionType> {
    let has = |list: &[&str]| list.contains(&word);
    if has(TIME) {
        Some(QuestionType::When)
    } else if has(YEAR) {
        Some(QuestionType::Year)
    } else if has(NUMBER) {
        Some(QuestionType::Number)
    } else if has(PLACE) {
        Some(QuestionType::Where)
    } else if has(PERSON) {
        Some(QuestionType::Who)
    } else if has(THING) {
        Some(QuestionType::Entity)
    } else {
        None
    }
}

fn singulars(word: &str) -> Vec<String> {
    let mut forms = Vec::new();
    if let Some(stem) = word.strip_suffix("ies") {
        forms.push(format!("{stem}y"));
    }
    if let Some(stem) = word.strip_suffix("es") {
        forms.push(stem.to_owned());
    }
    if let Some(stem) = word.strip_suffix('s') {
        forms.push(stem.to_owned());
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_count_as_their_singular() {
        assert_eq!(asked_by("cities"), Some(QuestionType::Where));
        assert_eq!(asked_by("actresses"), Some(QuestionType::Who));
        assert_eq!(asked_by("years"), Some(QuestionType::Year));
        assert_eq!(asked_by("species"), Some(QuestionType::Entity));
        assert_eq!(asked_by("ethnobotanist"), Some(QuestionType::Who));
        assert_eq!(asked_by("half-sisters"), Some(QuestionType::Who));
        assert_eq!(asked_by("playlist"), None);
        assert_eq!(asked_by("unheardof"), None);
    }
}
