//! Words that help to tell what an English name names. All entries are lower-case.

/// Particles that stand, in lower case, inside a name of a person.
pub const PARTICLES: &[&str] = &[
    "de", "von", "van", "der", "den", "di", "da", "del", "della", "la", "le", "du", "des", "dos", "das", "do", "bin", "ibn",
    "al", "el", "ul", "ben", "y", "af", "av", "zu", "ter", "ten", "st",
];

/// Words that stand, in lower case, inside a title or an institution's name. "and" and "&" join two names as often.
pub const CONNECTORS: &[&str] = &["of", "the", "for", "in", "on", "at", "to", "a", "with", "from", "by", "&", "and", "de", "du", "la", "le"];

/// Titles in front of a person's name that are no part of it.
pub const TITLES: &[&str] = &[
    "mr", "mrs", "ms", "miss", "dr", "prof", "professor", "president", "senator", "governor", "congressman", "judge", "justice",
    "general", "colonel", "captain", "major", "lieutenant", "sergeant", "admiral", "commander", "rev", "reverend", "coach",
    "mayor", "minister", "chancellor", "secretary", "chairman", "director", "ambassador", "detective", "officer", "agent",
    "actor", "actress", "singer", "author", "vice", "prime", "ceo", "rep", "sen", "gov", "gen", "col", "capt", "lt", "sgt", "representative",
    "first", "former", "sir", "dame", "hon", "acting", "principal", "deputy", "assistant", "chief", "associate", "executive", "senior",
    "jurist",
];

/// Words that mark a name as a place's.
pub const PLACE_WORDS: &[&str] = &[
    "river", "lake", "mount", "mountain", "mountains", "island", "islands", "isle", "bay", "cape", "sea", "ocean", "gulf", "strait", "valley", "desert",
    "forest", "canyon", "falls", "creek", "harbor", "harbour", "port", "fort", "beach", "coast", "peninsula", "plateau", "plains", "hills",
    "hill", "county", "city", "town", "village", "province", "state", "states", "district", "territory", "republic", "kingdom", "region",
    "street", "avenue", "road", "boulevard", "square", "park", "garden", "gardens", "plaza", "bridge", "airport", "station",
    "stadium", "arena", "coliseum", "colosseum", "hall", "palace", "castle", "tower", "temple", "cathedral", "cemetery",
    "museum", "hospital", "hotel", "theatre", "theater", "prison", "north", "south", "east", "west", "northern", "southern",
    "eastern", "western", "central", "upper", "lower", "san", "santa", "los", "las", "saint", "st", "mt", "heights", "springs", "grove", "center", "centre",
    "dome", "field", "ranch", "studios", "school", "university", "college", "church", "basin", "reef", "alps", "borough",
];

/// Words that mark a name as an organisation's, a work's or an event's rather than a person's.
pub const THING_WORDS: &[&str] = &[
    "university", "college", "school", "institute", "academy", "company", "corporation", "corp", "inc", "ltd", "llc", "co", "association",
    "society", "foundation", "committee", "council", "commission", "ministry", "department", "agency", "bureau", "office",
    "court", "congress", "parliament", "senate", "house", "party", "union", "league", "club", "cup", "championship", "championships", "olympics",
    "games", "bowl", "series", "award", "awards", "prize", "medal", "festival", "war", "battle", "treaty", "act", "constitution", "amendment", "empire",
    "army", "navy", "force", "forces", "museum", "library", "theatre", "theater", "records", "studios", "pictures", "films", "entertainment",
    "television", "network", "channel", "radio", "news", "times", "magazine", "journal", "press", "album", "song", "film", "movie",
    "show", "season", "episode", "book", "novel", "church", "river", "lake", "mount", "mountains", "island", "islands", "bay", "sea", "ocean", "county", "city", "street", "avenue",
    "airport", "stadium", "bridge", "states", "kingdom", "republic", "province", "district", "century", "revolution", "code", "system", "theory", "language", "group",
    "day", "world", "national", "international", "chapter", "volume", "part", "section", "conference", "division", "tournament", "open",
];

/// Adjectives and nouns of peoples, faiths and languages: no persons, no places.
pub const PEOPLES: &[&str] = &[
    "american", "americans", "british", "english", "scottish", "welsh", "irish", "french", "german", "germans", "italian", "spanish", "portuguese", "dutch",
    "belgian", "swiss", "austrian", "swedish", "norwegian", "danish", "finnish", "icelandic", "russian", "soviet", "ukrainian", "polish", "czech",
    "slovak", "hungarian", "romanian", "bulgarian", "greek", "turkish", "serbian", "croatian", "bosnian", "albanian", "chinese", "japanese",
    "korean", "vietnamese", "thai", "indian", "pakistani", "bengali", "nepali", "iranian", "persian", "iraqi", "israeli", "jewish", "arab",
    "arabic", "egyptian", "moroccan", "algerian", "nigerian", "ghanaian", "kenyan", "ethiopian", "african", "asian", "european", "australian",
    "canadian", "mexican", "brazilian", "argentine", "argentinian", "chilean", "colombian", "peruvian", "venezuelan", "cuban", "jamaican",
    "latin", "roman", "romans", "christian", "christians", "catholic", "protestant", "muslim", "muslims", "islamic", "hindu", "buddhist", "mormon", "hebrew",
    "indonesian", "filipino", "malaysian", "estonian", "latvian", "lithuanian", "georgian", "armenian", "byzantine", "ottoman", "mongol", "tamil",
    "hispanic", "caribbean", "californian", "texan", "victorian", "elizabethan", "democratic", "republican", "democrat", "democrats", "republicans", "federal", "anglo", "anglican", "nazi", "communist",
];

/// Well-known places: states, federal states and large cities, of one word or several.
pub const PLACES: &[&str] = &[
    "afghanistan", "albania", "algeria", "angola", "argentina", "armenia", "australia", "austria", "azerbaijan", "bahamas", "bahrain",
    "bangladesh", "barbados", "belarus", "belgium", "belize", "benin", "bhutan", "bolivia", "bosnia", "botswana", "brazil", "brunei", "bulgaria",
    "burundi", "cambodia", "cameroon", "canada", "chad", "chile", "china", "colombia", "congo", "croatia", "cuba", "cyprus", "denmark",
    "djibouti", "dominica", "ecuador", "egypt", "england", "eritrea", "estonia", "ethiopia", "fiji", "finland", "france", "gabon", "gambia",
    "georgia", "germany", "ghana", "greece", "greenland", "grenada", "guatemala", "guinea", "guyana", "haiti", "honduras", "hungary", "iceland", "india",
    "indonesia", "iran", "iraq", "ireland", "israel", "italy", "jamaica", "japan", "jordan", "kazakhstan", "kenya", "kosovo", "kuwait",
    "kyrgyzstan", "laos", "latvia", "lebanon", "lesotho", "liberia", "libya", "liechtenstein", "lithuania", "luxembourg", "madagascar", "malawi",
    "malaysia", "maldives", "mali", "malta", "mauritania", "mauritius", "mexico", "moldova", "monaco", "mongolia", "montenegro", "morocco",
    "mozambique", "myanmar", "namibia", "nepal", "netherlands", "nicaragua", "niger", "nigeria", "norway", "oman", "pakistan", "palestine", "panama",
    "paraguay", "peru", "philippines", "poland", "portugal", "qatar", "romania", "russia", "rwanda", "samoa", "scotland", "senegal", "serbia",
    "seychelles", "singapore", "slovakia", "slovenia", "somalia", "spain", "sudan", "suriname", "sweden", "switzerland", "syria", "taiwan",
    "tajikistan", "tanzania", "thailand", "tibet", "togo", "tonga", "trinidad", "tunisia", "turkey", "turkmenistan", "uganda", "ukraine", "uruguay",
    "uzbekistan", "vanuatu", "vatican", "venezuela", "vietnam", "wales", "yemen", "zambia", "zimbabwe", "uk", "usa", "us", "u.s", "u.k", "u.s.a",
    "united states", "united kingdom", "new zealand", "south africa", "north korea", "south korea", "saudi arabia", "sri lanka", "costa rica",
    "alabama", "alaska", "arizona", "arkansas", "california", "colorado", "connecticut", "delaware", "florida", "hawaii", "idaho", "illinois",
    "indiana", "iowa", "kansas", "kentucky", "louisiana", "maine", "maryland", "massachusetts", "michigan", "minnesota", "mississippi", "missouri",
    "montana", "nebraska", "nevada", "ohio", "oklahoma", "oregon", "pennsylvania", "tennessee", "texas", "utah", "vermont", "virginia", "wisconsin",
    "wyoming", "new york", "new jersey", "new mexico", "new hampshire", "north carolina", "south carolina", "north dakota", "south dakota", "rhode island",
    "west virginia", "ontario", "quebec", "alberta", "manitoba", "saskatchewan", "queensland", "tasmania", "bavaria", "saxony", "prussia", "catalonia",
    "london", "paris", "berlin", "rome", "madrid", "vienna", "amsterdam", "brussels", "lisbon", "dublin", "edinburgh", "glasgow", "manchester",
    "liverpool", "birmingham", "oxford", "cambridge", "munich", "hamburg", "frankfurt", "cologne", "zurich", "geneva", "milan", "naples", "venice",
    "florence", "barcelona", "moscow", "leningrad", "kiev", "warsaw", "prague", "budapest", "bucharest", "athens", "istanbul", "constantinople",
    "jerusalem", "cairo", "alexandria", "baghdad", "tehran", "delhi", "mumbai", "bombay", "calcutta", "kolkata", "chennai", "bangalore", "karachi",
    "lahore", "dhaka", "bangkok", "hanoi", "manila", "jakarta", "beijing", "shanghai", "tokyo", "kyoto", "osaka", "seoul", "sydney", "melbourne",
    "brisbane", "perth", "adelaide", "auckland", "wellington", "toronto", "montreal", "vancouver", "ottawa", "chicago", "boston", "philadelphia",
    "houston", "dallas", "austin", "atlanta", "miami", "detroit", "cleveland", "seattle", "denver", "phoenix", "baltimore", "pittsburgh", "cincinnati",
    "minneapolis", "milwaukee", "nashville", "memphis", "orlando", "tampa", "portland", "sacramento", "hollywood", "brooklyn", "manhattan", "queens",
    "los angeles", "san francisco", "san diego", "las vegas", "new orleans", "washington", "hong kong", "rio de janeiro", "buenos aires", "nairobi", "lagos",
    "johannesburg", "africa", "asia", "europe", "america", "antarctica", "oceania", "eurasia", "mesopotamia", "arabia", "atlantic", "pacific", "mediterranean",
    "stockholm", "oslo", "copenhagen", "helsinki", "havana", "lima", "bogota", "caracas", "santiago", "britain", "great britain", "czechoslovakia", "yugoslavia", "soviet union",
];

/// Words before a name that put it in space.
pub const LOCATIVES: &[&str] = &[
    "in", "at", "from", "near", "to", "into", "across", "around", "outside", "inside", "between", "toward", "towards", "through", "throughout", "of",
    "on", "over", "along", "within", "via", "off", "beyond", "above", "below",
];

/// Capitalised sentence openers and other words that are no names.
pub const COMMON_OPENERS: &[&str] = &[
    "all", "among", "any", "around", "based", "each", "either", "even", "every", "few", "finally", "first", "second", "third", "here", "how",
    "instead", "just", "like", "made", "more", "much", "my", "neither", "next", "nearly", "none", "nor", "now", "once", "only", "our", "over", "perhaps", "prior",
    "several", "similarly", "so", "such", "than", "thus", "through", "throughout", "today", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "unlike", "upon", "us",
    "various", "was", "were", "is", "are", "which", "whose", "whom", "within", "without", "yet", "your", "additionally", "moreover", "furthermore", "meanwhile",
    "nevertheless", "therefore", "initially", "originally", "currently", "recently", "eventually", "subsequently", "traditionally", "historically",
    "generally", "usually", "often", "sometimes", "early", "late", "still", "together", "along", "alongside", "besides", "between", "beyond",
    "do", "does", "did", "has", "have", "had", "can", "could", "may", "might", "must", "shall", "should", "will", "would", "be", "been", "being", "let", "ft",
    "production", "filming", "note", "see", "list", "example", "examples", "people", "every", "everyone", "someone", "nothing", "something", "mr", "mrs", "ms", "dr", "bc", "ad", "bce", "ce", "am", "pm", "tv",
    "spring", "summer", "autumn", "winter", "depending", "given", "having", "using", "being", "written", "directed", "produced", "released", "located", "known", "named", "called", "including", "per", "about", "against", "near", "out", "up", "down", "off", "again", "itself", "himself", "herself", "themselves", "me", "him", "them", "am", "o", "oh", "whether", "though", "whereas", "whenever", "wherever",
];

/// Months that are also given names.
pub const NAME_MONTHS: &[&str] = &["april", "may", "june", "august"];

/// Offices and ranks that name a person together with what follows "of".
pub const OFFICES: &[&str] = &[
    "president", "king", "queen", "prince", "princess", "duke", "duchess", "earl", "count", "emperor", "empress", "pope", "archbishop", "bishop",
    "secretary", "chief", "governor", "speaker", "lord", "mayor", "sultan", "caliph", "tsar", "shah",
];

/// Directions that belong to the place after them, in lower case too.
pub const DIRECTIONS: &[&str] = &[
    "northern", "southern", "eastern", "western", "central", "northeastern", "northwestern", "southeastern", "southwestern", "north", "south", "east",
    "west", "northeast", "northwest", "southeast", "southwest", "upper", "lower", "downtown", "mainland",
];
