//! English verbs and the small words around them, by form. There is no part-of-speech tagger here: a form counts as a
//! verb only in the right position, so the lists hold what occurs in plain statements rather than every verb.

/// Finite forms of "be".
pub const BE: &[&str] = &["is", "are", "was", "were", "isn't", "aren't", "wasn't", "weren't"];
/// Finite forms of "have".
pub const HAVE: &[&str] = &["has", "have", "had", "hasn't", "haven't", "hadn't"];
/// Other finite auxiliaries, which a bare infinitive follows.
pub const MODALS: &[&str] = &[
    "do", "does", "did", "can", "could", "will", "would", "may", "might", "must", "shall", "should", "cannot", "doesn't", "didn't",
    "don't", "can't", "couldn't", "won't", "wouldn't",
];

/// Irregular pasts that are neither participles nor nouns.
pub const PASTS: &[&str] = &[
    "became", "began", "wrote", "sang", "went", "came", "took", "gave", "drove", "broke", "chose", "drew", "fell", "flew", "grew",
    "knew", "ran", "saw", "spoke", "stole", "swam", "threw", "wore", "sank", "shook", "ate", "drank", "forbade", "froze", "hid",
    "overcame", "overtook", "oversaw", "rewrote", "underwent", "undertook", "withdrew", "arose", "awoke", "bore", "forgot", "forgave",
    "swore", "tore", "blew", "got", "did",
];
/// Irregular forms that are past and participle.
pub const PASTS_OR_PARTICIPLES: &[&str] = &[
    "won", "made", "led", "held", "left", "lost", "built", "sold", "bought", "told", "taught", "thought", "brought", "met", "said",
    "spent", "sent", "sat", "stood", "found", "paid", "kept", "fought", "caught", "felt", "shot", "hung", "sought", "struck", "laid",
    "understood", "lent", "fled", "rebuilt", "slept", "meant", "dealt", "heard", "fed", "swept", "wound", "bred", "bound", "withheld",
];
/// Irregular forms that are only participles.
pub const PARTICIPLES: &[&str] = &[
    "born", "written", "known", "given", "taken", "seen", "driven", "shown", "chosen", "drawn", "begun", "sung", "grown", "beaten",
    "broken", "spoken", "stolen", "thrown", "worn", "rewritten", "frozen", "hidden", "forgotten", "sworn", "overthrown", "undertaken", "flown",
    "eaten", "forbidden", "done", "become", "gone", "come", "been", "run", "set", "cut", "put", "hit", "cast", "split", "spread", "shut", "read",
];

/// Participles that, with a preposition after them and a passive before, go on with the passive: "was born in Warsaw
/// and raised in Paris".
pub const PASSIVES: &[&str] = &[
    "raised", "educated", "headquartered", "published", "released", "located", "based", "written", "filmed", "known", "adapted",
    "buried", "killed", "executed", "recorded", "built", "held", "made", "set", "sold", "found", "kept", "shot", "founded",
    "established", "created", "directed", "produced", "named", "called", "considered", "elected", "awarded", "appointed", "nominated",
    "inducted", "situated", "composed", "designed", "invented", "discovered", "introduced", "launched", "arrested",
    "imprisoned", "assassinated", "murdered", "sentenced", "convicted", "exiled", "crowned", "baptized", "baptised", "christened",
    "broadcast", "translated", "distributed", "developed", "constructed", "completed", "destroyed", "demolished", "abolished",
    "dissolved", "banned", "captured", "defeated", "deposed", "hired", "fired", "drafted", "signed", "traded", "selected", "chosen",
    "given", "taken", "cast", "credited", "associated", "surrounded", "bordered", "populated", "inhabited", "spoken", "owned",
    "operated", "managed", "edited", "illustrated", "painted", "performed", "inspired", "influenced", "featured", "included",
    "marketed", "licensed", "certified", "ranked", "rated", "dedicated", "renamed", "replaced", "rebuilt", "renovated", "incorporated",
    "annexed", "divided", "organized", "organised", "commissioned", "registered", "trained", "taught", "reared", "sung", "staged",
];

/// Pasts that take no object, so that a preposition after them does not make them passive.
pub const INTRANSITIVES: &[&str] = &[
    "moved", "lived", "died", "worked", "served", "retired", "emigrated", "immigrated", "migrated", "appeared", "starred",
    "competed", "participated", "graduated", "returned", "ended", "debuted", "premiered", "lasted", "travelled", "traveled", "acted",
    "belonged", "resulted", "ranged", "remained", "resided", "settled", "arrived", "escaped", "fled", "fought", "stood", "sat",
    "went", "came", "fell", "grew", "rose", "began", "became", "ran", "spoke", "campaigned", "converted", "collaborated", "toured",
    "peaked", "sailed", "resigned", "survived", "contributed", "led", "left", "lost", "played", "studied", "won", "met", "joined", "consisted",
    "enrolled", "married", "divorced", "emerged", "ascended", "succeeded", "failed", "turned", "stayed", "started", "continued", "reigned", "ruled",
    "dropped", "interned", "specialized", "specialised", "wrestled", "boxed", "volunteered", "enlisted", "advocated", "believed", "suffered",
    "referred", "attempted", "tried", "wanted", "decided", "refused", "agreed", "helped", "happened", "occurred", "opened", "closed", "aired",
];

/// Pasts that are hardly ever adjectives, so that a bare noun may follow: "and received mixed reviews".
pub const TRANSITIVES: &[&str] = &[
    "received", "gained", "attended", "invented", "discovered", "founded", "saved", "created", "earned", "obtained", "achieved", "joined", "garnered", "attracted", "sparked", "included",
    "featured", "played", "studied", "taught", "worked", "died", "lived", "became", "won", "began", "wrote", "took", "gave", "had", "led",
    "helped", "suffered", "caused", "developed", "topped", "reached", "practiced", "practised", "entered", "enjoyed", "inspired", "owned", "commanded",
    "spent", "fought", "faced", "remained", "held", "lost", "sold", "starred", "appeared", "served", "contained", "competed", "hosted", "toured", "opposed",
];

/// Third persons of the present that are hardly ever nouns.
pub const PRESENTS: &[&str] = &[
    "contains", "includes", "consists", "becomes", "appears", "serves", "belongs", "has", "does", "goes", "comes", "takes", "gives", "makes",
    "writes", "sings", "lies", "begins", "provides", "produces", "receives", "remains", "resides", "represents", "follows", "describes",
    "depicts", "explores", "involves", "employs", "operates", "owns", "occurs", "refers", "reaches", "tells", "uses", "wins", "loses",
    "attends", "believes", "borders", "celebrates", "competes", "constitutes", "creates", "develops", "enables", "encompasses", "generates",
    "holds", "incorporates", "inhabits", "joins", "maintains", "manages", "marries", "occupies", "participates", "performs", "portrays", "publishes",
    "separates", "speaks", "specializes", "specialises", "stands", "teaches", "voices", "kills", "dies", "finds", "helps",
    "tries", "turns", "narrates", "inspires", "earns", "enjoys", "grows", "connects", "comprises", "exists", "allows", "causes", "affects", "focuses",
    "discovers", "meets", "loves", "hates", "wants", "needs", "knows", "thinks", "says", "claims", "seems", "requires", "supports", "sells", "offers", "stretches", "empties", "extends", "attracts", "contributes", "rises",
];
/// Third persons of the present that are plural nouns as well: verbs only before an object.
pub const PRESENTS_OR_NOUNS: &[&str] = &[
    "stars", "plays", "features", "works", "lives", "acts", "runs", "hosts", "leads", "covers", "spans", "houses", "ranks", "rates", "airs",
    "marks", "shares", "starts", "ends", "supplies", "measures", "hails", "heads", "rules", "chronicles", "centers", "centres", "tours", "shows",
    "records", "directs", "names", "calls", "draws", "moves", "flows", "opens", "studies", "travels", "fights", "sets", "costs",
];

/// Words in "-ed" that are no pasts.
pub const NOT_PASTS: &[&str] = &[
    "hundred", "sacred", "indeed", "speed", "breed", "wicked", "naked", "united", "aged", "beloved", "renowned", "talented", "gifted",
    "kindred", "hatred", "exceed", "proceed", "succeed", "embed", "infrared", "rugged", "so-called", "unnamed", "untitled", "celebrated",
    "limited", "mixed", "varied", "noted", "skilled", "related", "alleged", "supposed", "advanced", "unfinished", "bleed", "greed", "weed", "steed", "need", "seed", "feed", "deed", "reed", "heed", "shed", "sled", "shred", "creed",
];

/// Bare infinitives that open a command or show that a plural statement has its verb.
pub const BASES: &[&str] = &[
    "add", "ask", "avoid", "be", "become", "begin", "believe", "belong", "bring", "build", "buy", "call", "carry", "cause", "change",
    "check", "choose", "click", "come", "compare", "consider", "consist", "contact", "contain", "continue", "create", "describe",
    "discuss", "download", "draw", "eat", "enter", "ensure", "exist", "explain", "feed", "fill", "find", "follow", "form", "get", "give",
    "go", "grow", "have", "help", "hold", "imagine", "include", "inhabit", "install", "join", "keep", "know", "learn", "leave", "let", "lie", "list",
    "listen", "live", "look", "lose", "make", "mean", "meet", "move", "need", "note", "occur", "open", "pay", "play", "please", "press",
    "produce", "provide", "put", "read", "receive", "remain", "remember", "remove", "represent", "run", "say", "see", "select", "sell", "send",
    "serve", "set", "share", "show", "sing", "sit", "speak", "stand", "start", "stay", "stop", "subscribe", "take", "talk", "teach", "tell",
    "think", "travel", "try", "turn", "type", "use", "visit", "wait", "walk", "want", "watch", "wear", "win", "work", "write", "reach", "range", "differ", "vary",
];

/// Determiners, possessives and quantifiers.
pub const DETERMINERS: &[&str] = &[
    "a", "an", "the", "his", "her", "its", "their", "this", "that", "these", "those", "my", "our", "your", "many", "several", "some", "any", "every",
    "each", "all", "most", "both", "numerous", "various", "multiple", "few", "more", "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "ten", "eleven", "twelve", "no", "another", "himself", "herself", "itself", "themselves", "part", "only", "over", "nearly", "almost",
];

/// Prepositions and verb particles.
pub const PREPOSITIONS: &[&str] = &[
    "in", "on", "at", "by", "for", "from", "to", "with", "of", "as", "into", "onto", "over", "under", "through", "throughout", "across",
    "after", "before", "during", "until", "since", "between", "among", "amongst", "against", "along", "alongside", "around", "about",
    "near", "off", "up", "out", "down", "back", "away", "within", "upon", "via", "per", "toward", "towards", "opposite", "behind", "outside", "inside",
    "there", "abroad", "together", "home", "onwards",
];

/// Adverbs that stand between a subject and its verb; those in "-ly" are read by their ending.
pub const ADVERBS: &[&str] = &[
    "also", "later", "then", "never", "once", "currently", "still", "now", "first", "soon", "often", "sometimes", "always", "even", "ever", "just", "already", "twice",
    "previously", "usually", "again", "afterwards", "thereafter", "briefly", "long", "famously", "best", "better", "widely", "well", "further", "actually", "quickly", "today", "all", "both",
];

/// Words that put a claim as a whole under a condition, a choice or a denial: its parts do not stand alone.
pub const SCOPES: &[&str] = &[
    "or", "nor", "neither", "either", "unless", "if", "without", "because", "whether", "rather", "instead", "unlike", "except", "lest", "provided",
    "otherwise", "would", "could", "might", "may", "should",
];

/// Words that deny, limit or hedge the verb phrase that they stand in, and maybe the one joined to it.
pub const LIMITS: &[&str] = &[
    "not", "never", "no", "none", "nobody", "nothing", "cannot", "only", "solely", "exclusively", "merely", "hardly", "barely", "fails", "failed",
    "refused", "refuses", "denied", "denies", "lacks", "lacked", "unable", "allegedly", "reportedly", "supposedly", "possibly", "probably", "perhaps",
    "maybe", "rarely", "seldom", "nearly", "almost", "both", "nowhere",
];

/// Words that open a clause inside the verb phrase: what is joined later may belong to it.
pub const CLAUSE_OPENERS: &[&str] = &[
    "that", "who", "which", "whose", "whom", "where", "when", "what", "how", "why", "he", "she", "they", "we", "i", "you", "although", "though", "while",
    "whereas", "having", "being", "whenever", "wherever", "once", "so", "until",
];

/// Words that point to something said before: a part that holds one does not stand alone.
pub const POINTERS: &[&str] = &[
    "him", "them", "it", "this", "these", "those", "there", "respectively", "another", "others", "same", "latter", "former", "other", "so",
    "thus", "therefore", "hence", "doing", "likewise", "vice", "each", "respective", "too", "instead", "not", "itself", "where",
];

/// First words of a sentence that are no subject.
pub const NO_SUBJECTS: &[&str] = &[
    "in", "on", "at", "during", "after", "before", "by", "for", "from", "with", "as", "when", "while", "although", "despite", "since", "until",
    "though", "because", "if", "to", "under", "according", "following", "along", "through", "within", "there", "this", "that", "these", "those", "what",
    "who", "which", "where", "why", "how", "here", "born", "once", "among", "both", "between", "besides", "due", "throughout", "upon", "about", "against",
    "unlike", "like", "and", "but", "not", "never", "only", "some", "each", "one", "everyone", "nobody", "no", "someone", "all", "any", "most", "many", "few", "originally", "also", "however",
];

/// Openings of a sentence that greets, thanks or wishes.
pub const GREETINGS: &[&str] = &[
    "hello", "hi", "hey", "dear", "thanks", "thank", "welcome", "goodbye", "bye", "congratulations", "greetings", "sorry", "cheers", "hopefully",
    "good morning", "good evening", "good afternoon", "good night", "good luck", "happy birthday", "happy new", "merry christmas", "long live",
    "best regards", "kind regards", "best wishes", "if only", "may you", "may the", "may your", "may god", "wish you", "wishing you", "see you", "let us", "let's", "god bless",
];

/// Words of the first person that make a sentence an opinion or a wish.
pub const OPINIONS: &[&str] = &[
    "i think", "i believe", "i feel", "i hope", "i guess", "i suppose", "i doubt", "i prefer", "i love", "i like", "i hate", "i wish", "i want", "i would",
    "i'd", "i am sure", "i'm sure", "i am not sure", "i'm not sure", "i am glad", "i'm glad", "i consider", "i find", "i agree", "i disagree", "i assume", "i expect", "i suspect", "i don't think", "i do not think",
    "i don't believe", "i do not believe", "i personally", "i really", "i also think", "we think", "we believe", "we feel", "we hope", "we wish", "we want", "we would", "we suspect", "we expect", "we should", "we must", "in my opinion",
    "in my view", "in our opinion", "in our view", "in my experience", "to my mind", "my opinion", "my favourite", "my favorite", "our favourite", "our favorite", "if you ask me", "imo", "imho", "i'm afraid", "i am afraid",
];

/// Short given names with the long form.
pub const SHORT_NAMES: &[(&str, &str)] = &[
    ("bill", "william"), ("will", "william"), ("bob", "robert"), ("rob", "robert"), ("dick", "richard"), ("rick", "richard"), ("jim", "james"), ("jimmy", "james"),
    ("jack", "john"), ("johnny", "john"), ("joe", "joseph"), ("mike", "michael"), ("tom", "thomas"), ("tony", "anthony"), ("ted", "edward"), ("ted", "theodore"), ("teddy", "theodore"),
    ("ed", "edward"), ("kate", "katherine"), ("liz", "elizabeth"), ("beth", "elizabeth"), ("chuck", "charles"), ("charlie", "charles"), ("dan", "daniel"), ("dave", "david"),
    ("steve", "stephen"), ("steve", "steven"), ("andy", "andrew"), ("drew", "andrew"), ("tony", "antonio"), ("alex", "alexander"), ("ben", "benjamin"), ("sam", "samuel"), ("matt", "matthew"), ("nick", "nicholas"),
    ("chris", "christopher"), ("pat", "patrick"), ("ron", "ronald"), ("larry", "lawrence"), ("harry", "henry"), ("hank", "henry"), ("hal", "henry"), ("peggy", "margaret"), ("maggie", "margaret"), ("meg", "margaret"),
    ("sue", "susan"), ("jenny", "jennifer"), ("jen", "jennifer"), ("al", "albert"), ("bert", "albert"), ("gene", "eugene"), ("greg", "gregory"), ("jeff", "jeffrey"), ("ken", "kenneth"), ("fred", "frederick"), ("walt", "walter"), ("abe", "abraham"),
    ("nelly", "helen"), ("molly", "mary"), ("polly", "mary"), ("babe", "george"), ("woody", "woodrow"), ("gerry", "gerald"), ("jerry", "gerald"), ("ray", "raymond"), ("leo", "leonard"), ("phil", "philip"), ("art", "arthur"), ("don", "donald"),
];

/// Chinese openings of a sentence that asks, greets, orders, wishes or holds an opinion.
pub const UNCHECKED_ZH: &[&str] = &[
    "我认为", "我認為", "我觉得", "我覺得", "我想", "我相信", "我希望", "我猜", "我喜欢", "我喜歡", "我们认为", "我們認為", "我们相信", "我們相信", "我们希望", "我們希望", "在我看来", "在我看來",
    "依我看", "个人认为", "個人認為", "希望", "祝", "愿", "願", "但愿", "但願", "请", "請", "你好", "您好", "大家好", "谢谢", "謝謝", "感谢", "感謝", "再见", "再見", "欢迎", "歡迎", "恭喜", "对不起", "對不起", "不要", "别", "別", "让我们", "讓我們",
];

/// Chinese openings of a question.
pub const QUESTIONS_ZH: &[&str] = &[
    "谁", "誰", "什么", "什麼", "为什么", "為什麼", "为何", "為何", "怎么", "怎麼", "怎样", "怎樣", "哪", "何时", "何時", "何地", "多少", "几", "幾", "是否", "请问", "請問", "是不是", "有没有", "有沒有", "难道", "難道", "如何",
];

/// Chinese words that put a claim as a whole under a condition, a choice or a denial.
pub const SCOPES_ZH: &[&str] = &[
    "如果", "假如", "若", "只要", "只有", "除非", "或", "不", "没", "沒", "未", "无", "無", "非", "因为", "因為", "由于", "由於", "虽然", "雖然", "尽管", "儘管", "既", "不仅", "不但", "即使", "认为", "認為", "说", "說", "据", "據", "以及",
];
