//! From messages to the text a model was trained to answer: the chat template of the file, or ChatML, or plain paragraphs
//! when it has none.

use std::time::{SystemTime, UNIX_EPOCH};

use counterproof_core::{Message, Result, Role, UserError};
use minijinja::{Environment, ErrorKind, context};
use serde::Serialize;

use crate::file::GgufFile;
use crate::tokenizer::Vocabulary;

const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content + \
                      '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}\
                      {% endif %}";
const PLAIN: &str = "{% for message in messages %}{{ message.content + '\n\n' }}{% endfor %}";
const NAME: &str = "chat";

#[derive(Serialize)]
struct Turn {
    role: &'static str,
    content: String,
}

/// Turns conversations into prompts.
pub(crate) struct Chat {
    environment: Environment<'static>,
    file: String,
    bos: String,
    eos: String,
    thinking: bool,
}

impl Chat {
    /// Takes the template from the file.
    pub(crate) fn load(file: &GgufFile, vocabulary: &Vocabulary, thinking: bool) -> Result<Self> {
        let template = match file.text("tokenizer.chat_template") {
            Some(template) => template.to_owned(),
            None if vocabulary.control("<|im_start|>").is_some() => CHATML.to_owned(),
            None => PLAIN.to_owned(),
        };
        let (bos, eos) = (vocabulary.bos_text(), vocabulary.eos_text(file));
        Self::new(template, file.name(), bos, eos, thinking)
    }

    fn new(template: String, file: String, bos: String, eos: String, thinking: bool) -> Result<Self> {
        let mut environment = Environment::new();
        // As the library that these templates are written for sets them.
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> Result<String, minijinja::Error> {
            Err(minijinja::Error::new(ErrorKind::InvalidOperation, message))
        });
        environment.add_function("strftime_now", |format: String| strftime(&format, SystemTime::now()));
        environment.add_template_owned(NAME, template).map_err(|e| {
            counterproof_core::Error::from(UserError::Unsupported {
                who: "the GGUF back end".to_owned(),
                what: format!("read the chat template of {file}: {e}"),
            })
        })?;
        Ok(Self { environment, file, bos, eos, thinking })
    }

    /// The prompt for a conversation, up to where the model goes on. The contents of messages go through `shield`, so
    /// that they stay text whatever they say. A last message by the assistant is the beginning of its turn.
    pub(crate) fn render(&self, messages: &[Message], shield: impl Fn(&str) -> String) -> Result<String> {
        let (begun, turns) = match messages.split_last() {
            None => return Err(UserError::Empty { what: "conversation" }.into()),
            Some((last, before)) if last.role == Role::Assistant => (Some(last), before),
            Some(_) => (None, messages),
        };
        let turns: Vec<Turn> = turns
            .iter()
            .map(|m| Turn {
                role: match m.role {
                    Role::System => "system",
                    Role::User => "user",
                    Role::Assistant => "assistant",
                },
                content: shield(&m.content),
            })
            .collect();
        let rendered = self
            .environment
            .get_template(NAME)
            .and_then(|template| {
                template.render(context! {
                    messages => turns,
                    add_generation_prompt => true,
                    bos_token => self.bos,
                    eos_token => self.eos,
                    enable_thinking => self.thinking,
                })
            })
            .map_err(|e| UserError::Invalid {
                what: "the conversation".to_owned(),
                problem: format!(
                    "the chat template of {} refuses it: {}",
                    self.file,
                    e.detail().map_or_else(|| e.to_string(), str::to_owned)
                ),
            })?;
        Ok(match begun {
            Some(message) => rendered + &shield(&message.content),
            None => rendered,
        })
    }
}

/// The date and time (UTC) in the fields of `strftime` that chat templates use; other fields stay as they are.
fn strftime(format: &str, now: SystemTime) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let days = seconds / 86_400;
    let (year, month, day) = civil(days);
    let month_name = MONTHS.get(month as usize - 1).copied().unwrap_or_default();
    let day_name = DAYS.get((days % 7) as usize).copied().unwrap_or_default();
    let mut out = String::new();
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('Y') => out.push_str(&year.to_string()),
            Some('y') => out.push_str(&format!("{:02}", year % 100)),
            Some('m') => out.push_str(&format!("{month:02}")),
            Some('d') => out.push_str(&format!("{day:02}")),
            Some('B') => out.push_str(month_name),
            Some('b') => out.push_str(month_name.get(..3).unwrap_or(month_name)),
            Some('A') => out.push_str(day_name),
            Some('a') => out.push_str(day_name.get(..3).unwrap_or(day_name)),
            Some('H') => out.push_str(&format!("{:02}", seconds / 3600 % 24)),
            Some('M') => out.push_str(&format!("{:02}", seconds / 60 % 60)),
            Some('S') => out.push_str(&format!("{:02}", seconds % 60)),
            Some('%') => out.push('%'),
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
    }
    out
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |y: u64| y.is_multiple_of(4) && (!y.is_multiple_of(100) || y.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn chat(template: &str) -> Chat {
        Chat::new(template.to_owned(), "m.gguf".to_owned(), "<s>".to_owned(), "</s>".to_owned(), false)
            .unwrap()
    }

    #[test]
    fn a_begun_turn_is_gone_on_with() {
        let messages = [Message::user("Why?"), Message::assistant("Because")];
        assert_eq!(
            chat(CHATML).render(&messages, str::to_owned).unwrap(),
            "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\nBecause"
        );
        assert_eq!(chat(PLAIN).render(&messages, str::to_owned).unwrap(), "Why?\n\nBecause");
    }

    #[test]
    fn a_template_may_use_pythons_methods_and_refuse() {
        let strict = chat(
            "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system here') }}{% endif %}\
             {% for m in messages %}{{ m['content'].strip().upper() }}{% endfor %}",
        );
        assert_eq!(strict.render(&[Message::user(" a ")], str::to_owned).unwrap(), "<s>A");
        let error = strict.render(&[Message::system("s")], str::to_owned).unwrap_err();
        assert_eq!(error.code(), "invalid_input");
        assert!(
            error.to_string().contains("No system here") && error.to_string().contains("m.gguf"),
            "{error}"
        );
        assert_eq!(strict.render(&[], str::to_owned).unwrap_err().code(), "empty_input");
    }

    #[test]
    fn a_broken_template_names_the_file() {
        let error = Chat::new("{% if".to_owned(), "m.gguf".to_owned(), String::new(), String::new(), false);
        assert!(error.err().unwrap().to_string().contains("m.gguf"));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |s| UNIX_EPOCH + Duration::from_secs(s);
        assert_eq!(strftime("%d %b %Y", at(0)), "01 Jan 1970");
        assert_eq!(strftime("%A %d %B %Y %H:%M:%S", at(951_827_696)), "Tuesday 29 February 2000 12:34:56");
        assert_eq!(strftime("%a %m/%y 100%%", at(1_735_689_599)), "Tue 12/24 100%");
    }
}
