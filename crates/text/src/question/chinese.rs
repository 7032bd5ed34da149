//! Question words of Chinese, which stand where the answer would stand.

use counterproof_core::QuestionType;

/// Types with the words that ask for them, in order of precedence: the more specific first ("哪一年" before "哪").
const WORDS: &[(QuestionType, &[&str])] = &[
    (
        QuestionType::Other,
        &["为什么", "為什麼", "为何", "為何", "怎么", "怎麼", "怎样", "怎樣", "如何", "什么原因", "什麼原因"],
    ),
    (
        QuestionType::Year,
        &[
            "哪一年",
            "哪年",
            "何年",
            "什么年份",
            "什麼年份",
            "哪个年份",
            "哪個年份",
            "几几年",
            "幾幾年",
            "哪几年",
        ],
    ),
    (
        QuestionType::When,
        &[
            "何时",
            "何時",
            "什么时候",
            "什麼時候",
            "什么时间",
            "什麼時間",
            "哪一天",
            "哪天",
            "几月",
            "幾月",
            "几号",
            "幾號",
            "几日",
            "幾日",
            "哪个月",
            "哪個月",
            "哪一月",
            "什么日期",
            "什麼日期",
            "哪个世纪",
            "哪個世紀",
            "几世纪",
            "幾世紀",
            "什么年代",
            "什麼年代",
            "哪个年代",
            "哪個年代",
            "哪个时期",
            "哪個時期",
            "何日",
            "何月",
            "几点",
            "幾點",
            "哪个朝代",
            "哪個朝代",
            "什么朝代",
            "什麼朝代",
        ],
    ),
    (
        QuestionType::Number,
        &[
            "多少",
            "多大",
            "多高",
            "多长",
            "多長",
            "多久",
            "多远",
            "多遠",
            "多重",
            "多深",
            "多宽",
            "多寬",
            "多快",
            "多厚",
            "几个",
            "幾個",
            "几次",
            "幾次",
            "第几",
            "第幾",
            "百分之几",
            "百分之幾",
            "几人",
            "幾人",
            "几名",
            "几位",
            "幾位",
            "几座",
            "几部",
            "几岁",
            "幾歲",
            "几年",
            "幾年",
            "几种",
            "几天",
            "几届",
            "几条",
            "几本",
        ],
    ),
    (
        QuestionType::Who,
        &[
            "谁",
            "誰",
            "哪位",
            "哪一位",
            "何人",
            "什么人",
            "什麼人",
            "哪个人",
            "哪個人",
            "哪名",
            "哪一名",
            "哪些人",
            "哪两位",
            "哪几位",
        ],
    ),
    (
        QuestionType::Where,
        &[
            "哪里",
            "哪裡",
            "哪裏",
            "哪儿",
            "哪兒",
            "何处",
            "何處",
            "何地",
            "什么地方",
            "什麼地方",
            "什么地点",
            "什麼地點",
            "哪国",
            "哪國",
            "哪省",
            "哪市",
        ],
    ),
];

/// Nouns after 哪 or 什么 that name a kind of place.
const PLACES: &[&str] = &[
    "国家", "國家", "城市", "省", "州", "县", "縣", "市", "地区", "地區", "岛", "島", "洲", "大洲", "大陆",
    "河", "河流", "湖", "山", "山脉", "村", "镇", "鎮", "区", "區", "街道", "地方", "地点", "首都", "国",
    "國",
];
/// Nouns after 哪 or 什么 that name a kind of person.
const PERSONS: &[&str] = &[
    "人",
    "演员",
    "演員",
    "导演",
    "導演",
    "作家",
    "作者",
    "诗人",
    "詩人",
    "总统",
    "總統",
    "皇帝",
    "国王",
    "國王",
    "女王",
    "科学家",
    "科學家",
    "歌手",
    "画家",
    "畫家",
    "球员",
    "球員",
    "教练",
    "教練",
    "将军",
    "將軍",
    "物理学家",
    "数学家",
    "哲学家",
    "名字的人",
];
/// What may stand between 哪 and its noun.
const BETWEEN: &[&str] = &[
    "一个", "一個", "一座", "一条", "一部", "一家", "个", "個", "座", "条", "條", "些", "几个", "两个", "一",
    "片", "块",
];

pub(super) fn classify(question: &str) -> QuestionType {
    let bare = without_titles(question);
    let text = bare.trim_end_matches(|c: char| !c.is_alphanumeric());
    let has = |words: &[&str]| words.iter().any(|w| text.contains(w));
    let polar =
        has(&["是否", "是不是", "有没有", "有沒有", "能否", "可否", "能不能", "会不会", "會不會", "对不对"])
            || text.ends_with(['吗', '嗎']);
    if polar {
        return if text.contains("还是") || text.contains("還是") {
            QuestionType::Entity
        } else {
            QuestionType::YesNo
        };
    }
    if let Some((kind, _)) = WORDS.iter().find(|(_, words)| has(words)) {
        return *kind;
    }
    for head in ["哪", "什么", "什麼", "何"] {
        for (at, _) in text.match_indices(head) {
            let mut rest = text.get(at + head.len()..).unwrap_or_default();
            for between in BETWEEN {
                if let Some(after) = rest.strip_prefix(between) {
                    rest = after;
                    break;
                }
            }
            if PLACES.iter().any(|p| rest.starts_with(p)) {
                return QuestionType::Where;
            }
            if PERSONS.iter().any(|p| rest.starts_with(p)) {
                return QuestionType::Who;
            }
        }
    }
    if asks_how_many(text) {
        return QuestionType::Number;
    }
    if has(&["什么", "什麼", "哪", "何", "啥", "还是", "還是"]) {
        return QuestionType::Entity;
    }
    // A noun phrase with 的 and a closing mark: "法国的首都是？"
    for (ending, kind) in [
        ("作者是", QuestionType::Who),
        ("首都是", QuestionType::Where),
        ("首都", QuestionType::Where),
        ("人口是", QuestionType::Number),
    ] {
        if text.ends_with(ending) {
            return kind;
        }
    }
    QuestionType::Other
}

/// 几 asks for a number unless it is part of 几乎 (almost) or stands for "some" before a scale (几十).
fn asks_how_many(text: &str) -> bool {
    ['几', '幾'].iter().any(|c| {
        text.match_indices(*c).any(|(at, found)| {
            let next = text.get(at + found.len()..).and_then(|r| r.chars().next());
            !matches!(next, Some('乎' | '十' | '百' | '千' | '何'))
        })
    })
}

/// The question without what stands in title marks or quotes, where a question word is only a name.
fn without_titles(question: &str) -> String {
    let mut out = String::with_capacity(question.len());
    let mut depth = 0usize;
    for c in question.chars() {
        match c {
            '《' | '〈' | '「' | '『' | '“' => depth += 1,
            '》' | '〉' | '」' | '』' | '”' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    // An opening mark without its closing one would hide the whole rest.
    if depth > 0 { question.to_owned() } else { out }
}
