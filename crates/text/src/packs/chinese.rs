//! Chinese word lists (simplified and traditional forms).

/// Function words that carry no content in an answer.
pub const FUNCTION_WORDS: &[&str] = &[
    "的", "了", "是", "在", "和", "与", "與", "及", "或", "也", "都", "就", "而", "被", "把", "于", "於", "之", "其",
    "这", "這", "那", "他", "她", "它", "他们", "们", "有", "为", "為", "对", "對", "从", "從", "到", "以", "由",
    "一个", "一種", "一种", "吗", "嗎", "呢", "吧", "啊", "着", "過", "过", "等", "所", "并", "並",
];

/// Digits, as used in positional writing and in sequences (二〇一九).
pub const DIGITS: &[(char, u8)] = &[
    ('〇', 0), ('零', 0), ('一', 1), ('二', 2), ('三', 3), ('四', 4), ('五', 5), ('六', 6), ('七', 7), ('八', 8),
    ('九', 9), ('两', 2), ('兩', 2), ('壹', 1), ('贰', 2), ('叁', 3), ('肆', 4), ('伍', 5), ('陆', 6), ('柒', 7),
    ('捌', 8), ('玖', 9),
];

/// Multipliers within a group of four digits, as powers of ten.
pub const SMALL_SCALES: &[(char, u32)] =
    &[('十', 1), ('百', 2), ('千', 3), ('拾', 1), ('佰', 2), ('仟', 3)];

/// Multipliers of groups, as powers of ten.
pub const LARGE_SCALES: &[(char, u32)] = &[('万', 4), ('萬', 4), ('亿', 8), ('億', 8), ('兆', 12)];

/// Words that stand between a numeral and a noun. A single numeral character counts as a number only before one of
/// them or a unit, because 一 is part of many words (一般, 一些).
pub const MEASURE_WORDS: &[char] = &[
    '个', '個', '名', '位', '人', '次', '座', '部', '本', '辆', '辆', '条', '條', '张', '張', '只', '隻', '匹', '头',
    '棵', '家', '间', '間', '层', '層', '集', '季', '届', '屆', '场', '場', '种', '種', '项', '項', '枚', '首', '篇',
    '章', '卷', '册', '套', '双', '對', '对', '颗', '顆', '艘', '架', '台', '所', '支', '岁', '歲', '倍', '句', '字',
    '世', '等', '号', '號', '级', '級', '排', '局', '代', '站', '度', '幅', '块', '步', '口',
];

/// Words before a number that say it is not exact.
pub const APPROXIMATE_WORDS: &[&str] = &["约占", "約佔", "约有", "約有", "大约", "大約", "约为", "約為", "约", "約", "近", "将近", "大概", "左右", "接近"];

/// Words for a time.
pub const TIME_WORDS: &[&str] = &[
    "年", "月", "日", "号", "世纪", "世紀", "年代", "星期", "周", "週", "礼拜", "春", "夏", "秋", "冬", "季", "朝",
    "时期", "時期", "初", "末",
];

/// Whole answers that decline to answer, without punctuation.
pub const ABSTENTIONS: &[&str] = &[
    "不知道", "未知", "无", "無", "没有", "不清楚", "不确定", "不確定", "无法确定", "無法確定", "无法回答", "無法回答", "无法判断", "無法判斷",
    "无法得知", "無法得知", "不详", "不詳", "没有提到", "沒有提到", "未提及", "未提到", "没有答案", "無答案", "无答案", "信息不足", "資訊不足",
    "证据不足", "證據不足", "没有足够的信息", "没有相关信息", "沒有相關資訊", "找不到", "未找到", "没有找到", "不适用", "我不知道", "我不清楚",
];

/// Openings of a clause that declines to answer.
pub const ABSTENTION_OPENINGS: &[&str] = &[
    "不知道", "我不知道", "我不清楚", "我不确定", "我無法", "我无法", "无法确定", "無法確定", "无法回答", "無法回答", "无法判断", "無法判斷", "无法得知", "无法从",
    "没有足够", "沒有足夠", "没有提到", "沒有提到", "没有提及", "未提及", "未提到", "信息不足", "資訊不足", "证据不足", "文中没有", "文中未", "文章没有", "文章未", "上下文没有", "上下文中没有",
    "上下文未", "段落中没有", "段落没有", "提供的信息", "提供的上下文", "根据提供的信息无法", "根据上下文无法", "未在",
];

/// Words in front of an answer that belong to its wrapping.
pub const ANSWER_LABELS: &[&str] = &["最终答案", "最終答案", "正确答案", "答案", "回答", "答"];

/// Replies that mean yes, longest first.
pub const YES_WORDS: &[&str] = &["是的", "对的", "對的", "正确", "正確", "没错", "沒錯", "是", "对", "對"];
/// Replies that mean no, longest first.
pub const NO_WORDS: &[&str] =
    &["不是的", "不是", "不对", "不對", "并非", "並非", "错误", "錯誤", "没有", "沒有", "不正确", "否"];
