//! Verbs by form and position, as far as splitting a claim needs to know them.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::words::Word;
use crate::packs::verbs;

type Words = LazyLock<HashSet<&'static str>>;
macro_rules! sets {
    ($($name:ident),*) => { $(static $name: Words = LazyLock::new(|| verbs::$name.iter().copied().collect());)* };
}
sets!(
    BE,
    HAVE,
    MODALS,
    PASTS,
    PASTS_OR_PARTICIPLES,
    PARTICIPLES,
    PASSIVES,
    INTRANSITIVES,
    TRANSITIVES,
    PRESENTS,
    PRESENTS_OR_NOUNS,
    NOT_PASTS,
    DETERMINERS,
    PREPOSITIONS,
    ADVERBS
);

/// What a verb group is built of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// "is a city".
    Copula,
    /// "was founded".
    Passive,
    /// "has founded", "has been founded".
    Perfect,
    /// "founded", "contains", "will found".
    Active,
}

/// A finite verb with its auxiliaries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// Its finite word.
    pub(super) first: usize,
    /// Its last word.
    pub(super) last: usize,
    pub(super) form: Form,
    /// Whether it is in the present.
    pub(super) present: bool,
}

/// The verb that opens what is joined to a verb phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// Finite by itself.
    Own,
    /// A participle, which leans on the auxiliary of the phrase before.
    Leaning,
}

/// The words of a claim, asked about by position.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) words: &'a [Word],
}

impl Reader<'_> {
    fn plain(&self, at: usize) -> Option<&Word> {
        self.words.get(at).filter(|w| !w.inside && !w.capital)
    }

    fn in_set(&self, at: usize, set: &HashSet<&str>) -> bool {
        self.plain(at).is_some_and(|w| set.contains(w.lower.as_str()))
    }

    pub(super) fn is(&self, at: usize, word: &str) -> bool {
        self.plain(at).is_some_and(|w| w.lower == word)
    }

    pub(super) fn is_preposition(&self, at: usize) -> bool {
        self.in_set(at, &PREPOSITIONS)
    }

    pub(super) fn is_determiner(&self, at: usize) -> bool {
        self.in_set(at, &DETERMINERS)
    }

    pub(super) fn is_adverb(&self, at: usize) -> bool {
        self.in_set(at, &ADVERBS)
            || self
                .plain(at)
                .is_some_and(|w| w.lower.len() > 4 && w.lower.ends_with("ly") && w.lower != "family")
    }

    /// A word of the other lists that a verb may follow all the same: "only", "no one", "went home".
    pub(super) fn is_limiter(&self, at: usize) -> bool {
        let words = ["only", "nearly", "almost", "all", "both", "each", "most", "there", "home", "one"];
        self.words.get(at).is_some_and(|w| w.is(&words))
    }

    /// The first place from `at` on that is no adverb.
    pub(super) fn past_adverbs(&self, at: usize) -> usize {
        (at..self.words.len()).find(|i| !self.is_adverb(*i)).unwrap_or(self.words.len())
    }

    /// A finite auxiliary.
    pub(super) fn is_auxiliary(&self, at: usize) -> bool {
        self.in_set(at, &BE) || self.in_set(at, &HAVE) || self.in_set(at, &MODALS)
    }

    /// A form that is finite wherever it stands.
    pub(super) fn is_clearly_finite(&self, at: usize) -> bool {
        self.is_auxiliary(at) || self.in_set(at, &PASTS)
    }

    fn is_regular_past(&self, at: usize) -> bool {
        self.plain(at).is_some_and(|w| {
            w.lower.len() > 3
                && w.lower.ends_with("ed")
                && !w.lower.contains('-')
                && !NOT_PASTS.contains(w.lower.as_str())
        })
    }

    fn is_participle(&self, at: usize) -> bool {
        self.is_regular_past(at) || self.in_set(at, &PASTS_OR_PARTICIPLES) || self.in_set(at, &PARTICIPLES)
    }

    /// A regular past by its ending, whatever follows.
    pub(super) fn may_be_past(&self, at: usize) -> bool {
        self.is_regular_past(at) || self.in_set(at, &PASTS_OR_PARTICIPLES)
    }

    /// A verb form that waits for what a joint puts after it: "written and directed by".
    pub(super) fn is_bare_verb(&self, at: usize) -> bool {
        self.is_participle(at)
    }

    /// Whether an object may begin here.
    fn opens_object(&self, at: usize) -> bool {
        self.is_determiner(at) || self.words.get(at).is_some_and(|w| w.capital || w.number || w.inside)
    }

    fn ends_at(&self, at: usize) -> bool {
        at.checked_sub(1).and_then(|b| self.words.get(b)).is_none_or(|w| !w.after.is_empty())
            || at >= self.words.len()
    }

    /// Whether a form that can also be a noun or adjective is a verb by the word after it.
    fn is_followed_as_verb(&self, at: usize) -> bool {
        let next = at + 1;
        let after = self.past_adverbs(next);
        self.opens_object(after)
            || self.is_preposition(after) && !self.is(after, "of")
            || self.in_set(at, &TRANSITIVES)
            || self.in_set(at, &INTRANSITIVES) && self.ends_at(next)
    }

    /// Whether the verb of a clause stands at `at`, after its subject.
    pub(super) fn is_finite(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        if (self.is_determiner(before) || self.is_preposition(before)) && !self.is_limiter(before) {
            return self.in_set(at, &BE);
        }
        if self.is_clearly_finite(at) {
            return true;
        }
        if self.in_set(at, &PRESENTS) {
            return true;
        }
        if self.in_set(at, &PRESENTS_OR_NOUNS) {
            return self.opens_object(at + 1) || self.is_preposition(at + 1) && !self.is(at + 1, "of");
        }
        if !(self.is_regular_past(at) || self.in_set(at, &PASTS_OR_PARTICIPLES)) {
            return false;
        }
        // "the film directed by", "the company founded in": no verb of the sentence.
        let reduced = self.is(at + 1, "by") || self.in_set(at, &PASSIVES) && self.is_preposition(at + 1);
        !reduced && self.is_followed_as_verb(at)
    }

    /// The verb group whose finite word stands at `first`.
    pub(super) fn group(&self, first: usize) -> Group {
        let present = self.plain(first).is_some_and(|w| {
            matches!(w.lower.as_str(), "is" | "are" | "has" | "have" | "does" | "do" | "can" | "will")
                || w.lower.ends_with('s') && w.lower != "was"
        });
        let group = |last, form| Group { first, last, form, present };
        let next = self.past_adverbs(self.past_not(first + 1));
        if self.in_set(first, &BE) {
            let being = self.is(next, "being");
            let verb = if being { self.past_adverbs(next + 1) } else { next };
            return if self.is_participle(verb) && !self.is_attributive(verb) {
                group(verb, Form::Passive)
            } else {
                group(first, Form::Copula)
            };
        }
        if self.in_set(first, &HAVE) && self.is_participle(next) && !self.is_attributive(next) {
            let verb = if self.is(next, "been") { self.past_adverbs(next + 1) } else { next };
            return group(if self.is_participle(verb) { verb } else { next }, Form::Perfect);
        }
        if self.in_set(first, &MODALS) {
            return group(next.min(self.words.len().saturating_sub(1)), Form::Active);
        }
        group(first, Form::Active)
    }

    fn past_not(&self, at: usize) -> usize {
        at + usize::from(self.is(at, "not"))
    }

    /// "had mixed feelings": a participle before a bare noun may be an adjective.
    fn is_attributive(&self, at: usize) -> bool {
        let after = self.past_adverbs(at + 1);
        !(self.ends_at(at + 1)
            || self.opens_object(after)
            || self.is_preposition(after)
            || self.is(after, "and")
            || self.is(after, "been")
            || self.in_set(at, &PARTICIPLES)
            || self.in_set(at, &TRANSITIVES)
            || self.in_set(at, &PASSIVES))
    }

    /// How the verb at `at` goes on with a verb phrase of the form of `group`; `None` where there is none, or none that
    /// is sure.
    pub(super) fn opening(&self, at: usize, group: Group) -> Option<Opening> {
        if self.is_clearly_finite(at) {
            return Some(Opening::Own);
        }
        if self.in_set(at, &PRESENTS) || self.in_set(at, &PRESENTS_OR_NOUNS) {
            let object = self.opens_object(at + 1)
                || self.in_set(at, &PRESENTS) && self.is_preposition(at + 1) && !self.is(at + 1, "of");
            return (group.present && object).then_some(Opening::Own);
        }
        let past = self.is_regular_past(at) || self.in_set(at, &PASTS_OR_PARTICIPLES);
        if !past && !self.in_set(at, &PARTICIPLES) {
            return None;
        }
        if past && !self.is(at + 1, "by") && !self.is_followed_as_verb(at) {
            return None;
        }
        self.lean(at, group, past)
    }

    /// Whether the past or participle at `at` is finite or leans on the auxiliary of `group`.
    fn lean(&self, at: usize, group: Group, past: bool) -> Option<Opening> {
        let next = self.past_adverbs(at + 1);
        let by = self.is(next, "by");
        let named = self.plain(at).is_some_and(|w| {
            matches!(
                w.lower.as_str(),
                "named"
                    | "called"
                    | "considered"
                    | "awarded"
                    | "elected"
                    | "crowned"
                    | "given"
                    | "renamed"
                    | "appointed"
            )
        });
        match group.form {
            Form::Perfect => None,
            Form::Active => (past && !by).then_some(Opening::Own),
            Form::Passive | Form::Copula => {
                let passive =
                    self.in_set(at, &PASSIVES) && self.is_preposition(next) || self.in_set(at, &PARTICIPLES);
                if by || passive {
                    // "is a film and released in 2001" would lean on the wrong tense.
                    let fits = group.form == Form::Passive || by || !group.present || !past;
                    return fits.then_some(Opening::Leaning);
                }
                if named {
                    return None;
                }
                let active = self.opens_object(next)
                    || self.in_set(at, &INTRANSITIVES)
                    || self.in_set(at, &TRANSITIVES) && !self.is_preposition(next);
                (past && active).then_some(Opening::Own)
            }
        }
    }

    /// Whether the verb phrase that starts at `at` can end with its verb: "and died."
    pub(super) fn stands_alone(&self, at: usize) -> bool {
        self.in_set(at, &INTRANSITIVES)
    }
}
