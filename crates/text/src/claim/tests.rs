// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use proptest::prelude::*;

use super::About::{No, Unclear, Yes};
use super::*;

#[track_caller]
fn splits(claim: &str, expected: &[&str]) {
    assert_eq!(facts(claim), expected, "{claim}");
}

#[test]
fn joined_verb_phrases_share_the_subject() {
    for (claim, expected) in [
        (
            "Marie Curie was born in Warsaw and won two Nobel Prizes.",
            &["Marie Curie was born in Warsaw.", "Marie Curie won two Nobel Prizes."][..],
        ),
        (
            "She was born in Warsaw and raised in Paris.",
            &["She was born in Warsaw.", "She was raised in Paris."],
        ),
        (
            "The film was directed by Ang Lee and produced by James Schamus",
            &["The film was directed by Ang Lee.", "The film was produced by James Schamus."],
        ),
        (
            "Shannon Lee is a martial artist but has never killed people.",
            &["Shannon Lee is a martial artist.", "Shannon Lee has never killed people."],
        ),
        (
            "Tom and Jerry was created by William Hanna and won seven Academy Awards.",
            &["Tom and Jerry was created by William Hanna.", "Tom and Jerry won seven Academy Awards."],
        ),
        (
            "Attila was the ruler of the Huns, and also conquered Gaul.",
            &["Attila was the ruler of the Huns.", "Attila conquered Gaul."],
        ),
        (
            "Cary Elwes was born in London, lives in Malibu, and has acted in films.",
            &["Cary Elwes was born in London, lives in Malibu, and has acted in films."],
        ),
        (
            "Nelson Mandela was imprisoned for 27 years, was released in 1990, and became president in 1994.",
            &[
                "Nelson Mandela was imprisoned for 27 years.",
                "Nelson Mandela was released in 1990.",
                "Nelson Mandela became president in 1994.",
            ],
        ),
        (
            "Ann Lee was born in Manchester, moved to New York, and founded the Shakers.",
            &[
                "Ann Lee was born in Manchester.",
                "Ann Lee moved to New York.",
                "Ann Lee founded the Shakers.",
            ],
        ),
        (
            "Hair (musical) was revived on Broadway in 2009 and ran for three years.",
            &["Hair (musical) was revived on Broadway in 2009.", "Hair (musical) ran for three years."],
        ),
        (
            "Milk is based on a true story and stars Sean Penn.",
            &["Milk is based on a true story.", "Milk stars Sean Penn."],
        ),
        (
            "Coronado fell from a horse and died in Mexico City.",
            &["Coronado fell from a horse.", "Coronado died in Mexico City."],
        ),
    ] {
        splits(claim, expected);
    }
}

#[test]
fn joined_clauses_get_the_subject_for_their_pronoun() {
    for (claim, expected) in [
        (
            "William Pitt is an actor with six children and he was born in Nevada.",
            &["William Pitt is an actor with six children.", "William Pitt was born in Nevada."][..],
        ),
        (
            "The Louvre is a museum, and it opened in 1793.",
            &["The Louvre is a museum.", "The Louvre opened in 1793."],
        ),
        ("Lyon is in France, while Turin is in Italy.", &["Lyon is in France.", "Turin is in Italy."]),
        (
            "Lyon was founded in 43 BC; Paris was founded later by the Parisii.",
            &["Lyon was founded in 43 BC.", "Paris was founded later by the Parisii."],
        ),
        (
            "Vampires were undead beings and they were feared.",
            &["Vampires were undead beings.", "Vampires were feared."],
        ),
        (
            "Ada wrote programs. Grace built a compiler in 1952.",
            &["Ada wrote programs.", "Grace built a compiler in 1952."],
        ),
    ] {
        splits(claim, expected);
    }
}

#[test]
fn asides_become_facts() {
    for (claim, expected) in [
        (
            "Barack Obama, who was born in Hawaii, won the election of 2008.",
            &["Barack Obama was born in Hawaii.", "Barack Obama won the election of 2008."][..],
        ),
        (
            "The Eiffel Tower, which opened in 1889, is in Paris.",
            &["The Eiffel Tower opened in 1889.", "The Eiffel Tower is in Paris."],
        ),
        (
            "Rosalind Franklin, who died in 1958, never won a Nobel Prize and was unmarried.",
            &[
                "Rosalind Franklin died in 1958.",
                "Rosalind Franklin never won a Nobel Prize and was unmarried.",
            ],
        ),
        (
            "Marie Curie, a French physicist, won two Nobel Prizes.",
            &["Marie Curie was a French physicist.", "Marie Curie won two Nobel Prizes."],
        ),
        (
            "Disneyland Paris, the first park in Europe, is owned by Disney and employs 15,000 people.",
            &[
                "Disneyland Paris is the first park in Europe.",
                "Disneyland Paris is owned by Disney.",
                "Disneyland Paris employs 15,000 people.",
            ],
        ),
    ] {
        splits(claim, expected);
    }
}

#[test]
fn what_is_one_fact_or_unsure_stays_whole() {
    for claim in [
        "Tom and Jerry is a cartoon.",
        "World War II lasted between 1939 and 1945.",
        "The dish needs salt and pepper.",
        "Sonny and Cher recorded I Got You Babe.",
        "Italy and France are in Europe.",
        "She won both the Oscar and the Emmy.",
        "He never married and had children.",
        "Ann was neither rich nor poor and lived in Rome.",
        "Ann not only sang songs but wrote books.",
        "If Ann wins the race and gets the prize, she is rich.",
        "Ann cannot leave unless Bob stays here and pays the bill.",
        "Ann left home without money and became rich.",
        "Ann was born in Rome or Milan and won a prize.",
        "Bob said that he was born in Rome and won a prize.",
        "Christina Aguilera is a singer who starred in Burlesque and worked as a coach.",
        "He wrote \"The Rise and Fall was a Dream and won Nothing\" in 1990.",
        "The film was written and directed by Stephen King.",
        "Maximum Overdrive is a film written and directed by Stephen King.",
        "Tolkien wrote The Hobbit, and it was published in 1937.",
        "Scandinavia includes Denmark, Norway, and Sweden.",
        "Ronstadt had two sisters and one brother.",
        "Willie played baseball and liked it.",
        "Sonny Bono proposed to Cher, but she declined.",
        "The Lion, the Witch and the Wardrobe was written by C. S. Lewis.",
        "Was Marie Curie born in Warsaw and did she win a prize?",
        "William Sherman went to LSU and his father was a lawyer.",
        "marie curie was born in warsaw and won prizes",
    ] {
        splits(claim, &[claim]);
    }
}

#[test]
fn chinese_claims_split_at_their_joints() {
    splits("居里夫人出生于华沙，并且获得诺贝尔奖。", &["居里夫人出生于华沙。", "居里夫人获得诺贝尔奖。"]);
    splits("北京是中国的首都；上海是中国的城市。", &["北京是中国的首都。", "上海是中国的城市。"]);
    for whole in
        ["鲁迅和周作人是兄弟。", "他不仅出生于北京，而且在北京工作。", "鲁迅出生于绍兴，著有《呐喊》。"]
    {
        splits(whole, &[whole]);
    }
}

#[test]
fn odd_claims_come_back_trimmed() {
    for odd in [
        "",
        " ",
        "\n",
        "...",
        "，。",
        "🙂🙂 🙂",
        "and",
        "X and",
        ", who ,",
        "\"",
        "(((",
        "a\nwon b",
        "and and and and and",
    ] {
        assert_eq!(facts(odd), [odd.trim()], "{odd:?}");
        assert_eq!(subject(odd).filter(|n| n.as_str() != "X"), None, "{odd:?}");
        assert!(!checkable(odd), "{odd:?}");
        assert!(!is_question(odd), "{odd:?}");
    }
}

#[test]
fn the_subject_is_the_first_proper_name() {
    for (claim, name) in [
        ("Marie Curie was born in Warsaw.", "Marie Curie"),
        ("The Eiffel Tower is in Paris.", "Eiffel Tower"),
        ("President Woodrow Wilson signed the act.", "Woodrow Wilson"),
        ("In 1995, Toy Story 2 was released.", "Toy Story 2"),
        ("On July 13th, 2007, Psych (season 2) began.", "Psych"),
        ("The Lion, the Witch and the Wardrobe is a novel.", "Lion"),
        ("Fifty Shades of Grey is a novel.", "Fifty Shades of Grey"),
        ("Linkin Park's second album sold well.", "Linkin Park"),
        ("J. R. R. Tolkien wrote The Hobbit.", "J. R. R. Tolkien"),
        ("Henry VIII had six wives.", "Henry VIII"),
        ("Richard I of England fought in the crusades.", "Richard I of England"),
        ("Apollo 11 landed on the Moon.", "Apollo 11"),
        ("German mathematician Carl Friedrich Gauss was a prodigy.", "Carl Friedrich Gauss"),
        ("The Odawa war chief Pontiac laid siege to a fort.", "Pontiac"),
        ("There is a show called The Office.", "Office"),
        ("NASA was founded in 1958.", "NASA"),
        ("\"Rappaccini's Daughter\" is a short tale.", "Rappaccini's Daughter"),
        ("During the Gettysburg Campaign there were losses.", "Gettysburg Campaign"),
        ("Hair (musical) was revived.", "Hair"),
        ("鲁迅出生于浙江绍兴。", "鲁迅"),
    ] {
        assert_eq!(subject(claim).map(|n| n.as_str().to_owned()).as_deref(), Some(name), "{claim}");
    }
    for claim in [
        "Dark matter is dark.",
        "It was first published in England.",
        "Vampires are dead.",
        "the sky is blue",
        "The novel was sold in Rome.",
    ] {
        assert_eq!(subject(claim), None, "{claim}");
    }
}

#[test]
fn passages_are_about_the_name_or_another() {
    for (name, title, text, about) in [
        ("Marie Curie", "Marie Curie", "", Yes),
        ("Marie Curie", "Radium", "It was found by Marie Curie.", Yes),
        ("Marie Curie", "Radium", "Curie, whose first name was Marie, found it.", Yes),
        ("marie curie", "MARIE CURIE", "", Yes),
        ("Marie Curie", "Pierre Curie", "Pierre Curie was a physicist.", No),
        ("Marie Curie", "Pierre Curie", "Pierre and Marie worked together.", Yes),
        ("Marie Curie", "Curie", "A family.", Yes),
        ("Marie Curie", "Radium", "Curie found it.", Unclear),
        ("Marie Curie", "Radium", "Pierre Curie found it.", No),
        ("Marie Curie", "Toy Story", "A film by Pixar.", No),
        ("J. R. R. Tolkien", "John Ronald Reuel Tolkien", "", Yes),
        ("John Ronald Reuel Tolkien", "J.R.R. Tolkien", "", Yes),
        ("J. R. R. Tolkien", "Christopher Tolkien", "He was an editor.", No),
        ("NASA", "National Aeronautics and Space Administration", "It was founded in 1958.", Yes),
        ("National Aeronautics and Space Administration", "NASA", "", Yes),
        ("US", "United States", "A country.", Yes),
        ("United States", "The U.S.", "A country.", Yes),
        ("Beyoncé", "Beyonce", "", Yes),
        ("Linkin Park's", "Linkin Park", "", Yes),
        ("Vampires", "Vampire", "", Yes),
        ("Henry VIII", "Henry VII", "Henry VII was king.", No),
        ("Henry VIII", "Henry VIII", "", Yes),
        ("Apollo 11", "Apollo 13", "Apollo 13 was a mission.", No),
        ("World War I", "World War II", "It began in 1939.", No),
        ("Toy Story 2", "Toy Story 3", "A film.", No),
        ("Toy Story", "Toy Story 3", "A film.", Unclear),
        ("Homeland", "Homeland (TV series)", "A series.", Yes),
        ("Bill Clinton", "William Clinton", "A president.", Yes),
        ("Arjit Singh", "Arijit Singh", "A singer.", Unclear),
        ("Marie Curie", "", "", Unclear),
        ("Marie Curie", "", "He was born in 1859.", Unclear),
        ("鲁迅", "鲁迅", "", Yes),
        ("鲁迅", "北京", "北京是首都。", No),
        ("鲁迅", "Beijing", "A capital.", Unclear),
    ] {
        let found = is_about(&Name::new(name).unwrap(), title, text);
        assert_eq!(found, about, "{name} | {title} | {text}");
    }
    assert_eq!(Name::new(" .. "), None);
}

#[test]
fn claims_are_told_from_other_sentences() {
    for sentence in [
        "Marie Curie was born in Warsaw.",
        "The tower opened in 1889.",
        "Rube Waddell loved dogs.",
        "Japan exports many cars.",
        "Cats purr when they are content.",
        "He said \"I think so\" in 1990.",
        "Will Smith starred in the film.",
        "Hello is a song by Adele.",
        "Mark Twain wrote two novels",
        "Do Not Go Gentle Into That Good Night is a poem.",
        "鲁迅出生于浙江绍兴。",
    ] {
        assert!(checkable(sentence), "{sentence}");
    }
    for sentence in [
        "",
        "Was Marie Curie born in Warsaw?",
        "Who won the cup in 1990",
        "Click here to read more.",
        "Please open the window now.",
        "Do not open the window.",
        "Hello, my dear old friends.",
        "Thank you for your attention.",
        "A brief history of the Roman Empire",
        "Early life and education",
        "I think Paris is beautiful.",
        "In my opinion, the film was bad.",
        "We believe the plan is good.",
        "I wish you were here.",
        "Happy birthday to you all.",
        "let x = foo(1) == 2;",
        "`cargo build --release` is run",
        "It rained.",
        "我认为这部电影很好。",
        "你好，大家今天来了。",
        "请打开窗户看看。",
        "🙂 🙂 🙂 🙂 🙂",
    ] {
        assert!(!checkable(sentence), "{sentence}");
    }
}

#[test]
fn questions_are_known_by_their_end_or_start() {
    for question in [
        "Is it true?",
        "鲁迅是谁？",
        "who wrote Hamlet",
        "What is the capital of France",
        "how many people live there",
        "In what year did the war end",
        "Which film did she direct",
        "Did Marie Curie win",
        "Can you help",
        "He said \"Why?\"",
        "谁写了《呐喊》",
        "你去过北京吗",
    ] {
        assert!(is_question(question), "{question}");
    }
    for statement in [
        "Who Framed Roger Rabbit is a film.",
        "What Lies Beneath was released in 2000.",
        "When he was young, he lived in Rome.",
        "Will Smith is an actor.",
        "May Pang was born in 1950.",
        "Is This It is an album.",
        "In Bruges is a film.",
        "Can is a band.",
        "Where the Wild Things Are is a book.",
        "How to Train Your Dragon is a film.",
        "What he said was true.",
        "几乎所有人都知道。",
    ] {
        assert!(!is_question(statement), "{statement}");
    }
}

#[test]
fn enormous_texts_are_read_in_linear_time() {
    let name = Name::new("Marie Curie").unwrap();
    for piece in [
        "X and won ",
        "X, who was born, ",
        "Anna of ",
        "\"A ",
        "( ",
        "and ",
        "was, ",
        "A; ",
        "x",
        "🙂",
        "，并且",
        "Curie ",
        "A.",
        "\n",
    ] {
        let text = piece.repeat(100_000 / piece.len());
        assert_eq!(facts(&text), [text.trim()]);
        let _ = (subject(&text), checkable(&text), is_question(&text), is_about(&name, &text, &text));
        let short = piece.repeat(1_000 / piece.len());
        assert!(!facts(&short).is_empty());
    }
}

const VOCABULARY: &str = "(Marie|Curie|The|film|was|is|has|been|born|won|raised|directed|and|but|while|, and|, who|, which|, a|; |he|it|they|in|by|\
    Paris|two|prizes|not|also|moved|to|stars|\\.|,|painter|\"|died|that)";

proptest! {
    #[test]
    fn a_fact_that_came_out_is_one_fact(words in proptest::collection::vec(VOCABULARY, 1..18)) {
        let claim = words.join(" ").replace(" ,", ",").replace(" .", ".");
        let found = facts(&claim);
        prop_assert!(!found.is_empty());
        for fact in &found {
            prop_assert_eq!(facts(fact), vec![fact.clone()], "{}", claim);
            prop_assert!(found.len() == 1 || fact.ends_with('.') && !fact.ends_with(".."));
        }
    }

    #[test]
    fn nothing_is_too_odd(text in ".{0,80}", title in ".{0,20}") {
        for fact in facts(&text) {
            prop_assert_eq!(facts(&fact), vec![fact.clone()]);
        }
        let _ = (checkable(&text), is_question(&text), subject(&title).map(|n| is_about(&n, &title, &text)));
    }
}

#[test]
fn a_title_that_asks_makes_no_question() {
    assert!(!is_question("Zoey Deutch did not portray Stephanie Fleming in Why Him?"));
    assert!(is_question("Did Zoey Deutch portray Stephanie Fleming in Why Him?"));
    assert!(is_question("The tower is open today?"));
}
