//! Words that deny, and words that exclude each other.

/// English words that deny a sentence or a part of it.
pub const NEGATIONS: &[&str] = &[
    "not", "no", "never", "nor", "neither", "none", "nobody", "nothing", "nowhere", "without", "cannot", "fails", "failed",
    "denied", "denies", "refused", "lacks", "lacked", "unable", "hardly", "barely",
];

/// Chinese words that deny.
pub const NEGATIONS_ZH: &[&str] = &[
    "不", "没", "沒", "没有", "沒有", "未", "无", "無", "非", "并非", "並非", "不是", "从未", "從未", "从不", "從不", "并未",
    "並未", "不能", "不会", "不會", "未能", "未曾", "否认", "否認", "拒绝", "拒絕",
];

/// Pairs of words that exclude each other when they stand in the same place of two sentences.
pub const OPPOSITES: &[(&str, &str)] = &[
    ("first", "last"), ("north", "south"), ("northern", "southern"), ("east", "west"), ("eastern", "western"),
    ("northeast", "southwest"), ("northwest", "southeast"), ("northeastern", "southwestern"), ("northwestern", "southeastern"),
    ("largest", "smallest"), ("biggest", "smallest"), ("highest", "lowest"), ("oldest", "youngest"), ("longest", "shortest"),
    ("before", "after"), ("won", "lost"), ("win", "lose"), ("increased", "decreased"), ("increase", "decrease"), ("rose", "fell"),
    ("rise", "fall"), ("male", "female"), ("son", "daughter"), ("brother", "sister"), ("husband", "wife"), ("father", "mother"),
    ("upper", "lower"), ("majority", "minority"), ("more", "fewer"), ("more", "less"), ("most", "least"), ("above", "below"),
    ("best", "worst"), ("public", "private"), ("winter", "summer"), ("spring", "autumn"), ("older", "younger"),
    ("larger", "smaller"), ("higher", "lower"), ("king", "queen"), ("prince", "princess"), ("boys", "girls"), ("men", "women"),
    ("man", "woman"), ("begins", "ends"), ("began", "ended"), ("married", "divorced"), ("accepted", "rejected"),
    ("success", "failure"), ("dead", "alive"), ("left", "right"), ("positive", "negative"),
    ("introduced", "abolished"), ("opened", "closed"), ("born", "died"), ("enabled", "disabled"), ("enables", "disables"),
    ("allowed", "forbidden"), ("permitted", "prohibited"), ("legal", "illegal"), ("included", "excluded"), ("includes", "excludes"),
    ("possible", "impossible"), ("married", "unmarried"), ("inside", "outside"), ("gained", "lost"),
    ("always", "never"), ("all", "none"), ("maximum", "minimum"), ("domestic", "foreign"), ("fiction", "nonfiction"),
    ("fictional", "real"), ("true", "false"), ("living", "dead"), ("ancient", "modern"), ("failed", "succeeded"), ("early", "late"), ("cold", "warm"), ("cooling", "warming"), ("growing", "shrinking"), ("gain", "loss"),
    ("上升", "下降"), ("增加", "减少"), ("增加", "減少"), ("最大", "最小"), ("最高", "最低"), ("之前", "之后"), ("之前", "之後"),
    ("南", "北"), ("东", "西"), ("東", "西"), ("男", "女"), ("第一", "最后"), ("胜", "败"), ("勝", "敗"),
];
