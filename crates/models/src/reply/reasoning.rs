//! Splitting off what a model reasoned before it answered, for models that put it into the reply itself.

/// The reasoning at the head of a reply (between `<think>` and `</think>`, also where a template has swallowed the
/// opening tag or the reply was cut off inside) and the reply without it.
pub fn split_reasoning(text: &str) -> (Option<&str>, &str) {
    const TAGS: [(&str, &str); 3] =
        [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")];
    let head = text.trim_start();
    for (open, close) in TAGS {
        let opened = head.strip_prefix(open);
        let inside = opened.unwrap_or(head);
        // Only a reply that starts with the tag, or a lone closing tag with nothing opened before it, is reasoning: a
        // reply may well mention the tags.
        match (opened, inside.split_once(close)) {
            (Some(_), Some((reasoning, reply))) => return (some(reasoning), reply.trim_start()),
            (Some(unfinished), None) => return (some(unfinished), ""),
            (None, Some((reasoning, reply)))
                if !reasoning.contains(open) && reply.starts_with(['\n', '\r']) =>
            {
                return (some(reasoning), reply.trim_start());
            }
            (None, _) => {}
        }
    }
    (None, text)
}

fn some(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_is_never_the_answer() {
        assert_eq!(
            split_reasoning("<think>\nDECISION: REVISE?\n</think>\n\nKEEP"),
            (Some("DECISION: REVISE?"), "KEEP")
        );
        assert_eq!(split_reasoning("so 1912.\n</think>\n1913"), (Some("so 1912."), "1913"));
        assert_eq!(split_reasoning("<think>cut off"), (Some("cut off"), ""));
        assert_eq!(split_reasoning("<think>\n\n</think>\n\nyes"), (None, "yes"));
        assert_eq!(split_reasoning("a plain reply"), (None, "a plain reply"));
        assert_eq!(split_reasoning("the tag </think> closes"), (None, "the tag </think> closes"));
    }
}
