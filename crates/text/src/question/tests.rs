// A failed expectation is what this file is for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use counterproof_core::QuestionType::{self, *};

use super::*;

fn check(cases: &[(&str, QuestionType)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(question, kind)| RuleTyper.classify(question) != *kind)
        .map(|(question, kind)| format!("{question}: {} instead of {kind}", RuleTyper.classify(question)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_examples_of_the_specification() {
    check(&[
        ("On what day, month, and year was X born?", When),
        ("In what year was the bridge opened?", Year),
        ("Who starred in Doctor Who?", Who),
    ]);
}

#[test]
fn yes_no_and_alternatives() {
    check(&[
        ("Is Paris in France?", YesNo),
        ("Are A and B both American?", YesNo),
        ("did the romans reach ireland", YesNo),
        ("Were Scott Derrickson and Ed Wood of the same nationality?", YesNo),
        ("is venus or mars bigger", Entity),
        ("Is the Nile or the Amazon longer?", Entity),
        ("Did he win two or more medals?", YesNo),
        ("Will Smith starred in which film about tennis?", Entity),
        ("Will it rain?", YesNo),
    ]);
}

#[test]
fn times() {
    check(&[
        ("When was Paris founded?", When),
        ("when did the titanic sink", When),
        ("what date did world war 2 end", When),
        ("What was the release date of the album?", When),
        ("What month and year did it open?", When),
        ("In which century was the tower built?", When),
        ("On which day of the week did it happen?", When),
        ("what time does the sun set", When),
        ("What year did it open?", Year),
        ("In which year's election was she elected?", Year),
        ("What was the year of its completion?", Year),
        ("The director of Jaws was born in which year?", Year),
        ("Name the year in which the bridge was opened.", Year),
        ("What time zone is Chicago in?", Entity),
    ]);
}

#[test]
fn quantities() {
    check(&[
        ("how many seasons of the show are there", Number),
        ("How tall is the tower?", Number),
        ("Approximately how many people live there?", Number),
        ("What is the population of Malta?", Number),
        ("At what age did he die?", Number),
        ("What percentage of the votes did she win?", Number),
        ("For how long did he rule?", Number),
        ("what was the number of passengers on board", Number),
        ("The gun had a barrel length of what in meters?", Number),
        ("What is the topographic isolation of the mountain in kilometers?", Number),
        ("What place did the skater finish at the championships?", Number),
        ("How did he die?", Other),
        ("how does a fridge work", Other),
    ]);
}

#[test]
fn places() {
    check(&[
        ("Where was the composer born?", Where),
        ("What city hosted the games?", Where),
        ("In which country is the lake?", Where),
        ("what is the capital of france", Where),
        ("Name the capital of Burkina Faso.", Where),
        ("What is the name of the town where he was born?", Where),
        ("In what city and country was he born?", Where),
        ("the battle of hastings was fought in what country", Where),
        ("What state university did he attend?", Entity),
        ("What country singer wrote it?", Who),
    ]);
}

#[test]
fn persons() {
    check(&[
        ("who got the first nobel prize in physics", Who),
        ("who's the president of the us", Who),
        ("whos the lead singer of queen", Who),
        ("Whose portrait is on the note?", Who),
        ("To whom was it sold?", Who),
        ("Which actor won the award in 1990?", Who),
        ("What is the first and last name of the woman who won?", Who),
        ("What is the name of the person who founded it?", Who),
        ("What was the name of the King's father?", Who),
        ("In 1999, who won the cup?", Who),
        ("According to the report, who was responsible?", Who),
        ("When he died, who became king?", Who),
        ("Name the actor who played the doctor.", Who),
        ("the man who invented the telephone was who", Who),
        ("Which film director was born in Rome?", Who),
        ("Which Prime Minister of Italy was named 'Iron Baron'?", Who),
        ("Who won the Gerard P. Kuiper Prize in 2001?", Who),
        ("In the drama \"Happy Valley,\" who does Alec play?", Who),
        ("What is the name and surname of the first woman to serve as a commissioner?", Who),
        ("What was the name of Hetty King's half-sister?", Who),
    ]);
}

#[test]
fn entities_and_the_rest() {
    check(&[
        ("What band released the album?", Entity),
        ("Which film won?", Entity),
        ("What is the name of the ship on which he sailed?", Entity),
        ("What's the name of the women's liberal arts college in Cambridge, Massachusetts?", Entity),
        ("Which is bigger, Venus or Mars?", Entity),
        ("Which Country Music award did she win?", Entity),
        ("Who wrote Where the Wild Things Are?", Who),
        ("What is the author's best known novel?", Entity),
        ("Why did he leave?", Other),
        ("What is the difference between a crow and a raven?", Other),
        ("what does the name mean", Other),
        ("the south west wind blows across nigeria between", Other),
        ("", Other),
        ("Write a poem.", Other),
        ("Wer hat den Roman geschrieben und wann wurde er veröffentlicht?", Other),
    ]);
}

#[test]
fn texts_without_a_question_word() {
    check(&[
        ("Finity's End was written by which American writer?", Who),
        ("the cuban revolt against spain was led by", Who),
        ("name of black man in to kill a mockingbird", Who),
        ("number of episodes in season 2 this is us", Number),
        ("nuclear power plant that blew up in russia", Entity),
        ("the battle of hastings is located in", Where),
        ("the vast interior rural area of australia is known as the", Entity),
        ("the golden age of india took place during the rule of the", Other),
        ("State the year in which it opened.", Year),
        ("Tell me the name of the city where he was born.", Where),
    ]);
}

#[test]
fn question_words_in_titles_decide_nothing() {
    check(&[
        ("Is \"Who's Afraid of Virginia Woolf?\" a play?", YesNo),
        ("In what year was \"When Harry Met Sally\" released?", Year),
        ("What Ever Happened to Baby Jane? was released in what year?", Year),
    ]);
}

#[test]
fn chinese() {
    check(&[
        ("谁写了《红楼梦》？", Who),
        ("电影《何时是读书天》的导演是谁？", Who),
        ("哪位作家获得了诺贝尔奖？", Who),
        ("他出生在哪里？", Where),
        ("哪个城市举办了2008年奥运会？", Where),
        ("鲁迅是哪国人？", Where),
        ("图书馆是什么时候建成的？", When),
        ("他何时去世？", When),
        ("会议在几月几日召开？", When),
        ("这座桥是哪一年建成的？", Year),
        ("北京有多少人口？", Number),
        ("这座塔多高？", Number),
        ("他有几个孩子？", Number),
        ("百分之几的人支持？", Number),
        ("北京是中国的首都吗？", YesNo),
        ("他是否获奖？", YesNo),
        ("哪部电影获奖？", Entity),
        ("最长的是长江还是黄河？", Entity),
        ("他获得了什么奖？", Entity),
        ("他为什么离开？", Other),
        ("怎么做豆腐？", Other),
        ("《为什么》的作者是谁？", Who),
    ]);
}

#[test]
fn estimates_are_asked_for_by_name() {
    assert!(asks_estimate("Approximately how many people live there?"));
    assert!(asks_estimate("About how many?"));
    assert!(asks_estimate("北京大约有多少人口？"));
    assert!(!asks_estimate("What is the book about?"));
    assert!(!asks_estimate("How many people live there?"));
}

#[test]
fn an_enormous_question_is_read_in_part() {
    assert_eq!(RuleTyper.classify(&format!("who {}", "x ".repeat(1_000_000))), Who);
}
