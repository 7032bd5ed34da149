//! Prompts that were read lately. A request whose prompt begins like one of them goes on from there.

use crate::engine::common_prefix;
use crate::model::KvCache;

/// A few caches: the one in use, and those used before it, the latest first.
pub(crate) struct PromptCaches {
    current: KvCache,
    earlier: Vec<KvCache>,
}

impl PromptCaches {
    /// `count` caches like `empty`, one at least.
    pub(crate) fn new(empty: KvCache, count: usize) -> Self {
        Self { earlier: vec![empty.clone(); count.saturating_sub(1)], current: empty }
    }

    /// A cache that holds as much of a prompt's beginning as any of them does, and nothing else. The last token is always
    /// left to be read, since what comes next is computed from it.
    ///
    /// The cache with the longest beginning is cut back and used, unless the greater part of it would be lost and
    /// another can take over a copy of the beginning: two kinds of prompts in turns then keep a cache each.
    pub(crate) fn for_prompt(&mut self, tokens: &[u32]) -> &mut KvCache {
        let usable = tokens.len().saturating_sub(1);
        let common = |cache: &KvCache| common_prefix(cache.tokens(), tokens).min(usable);
        let mut len = common(&self.current);
        let mut best = None;
        for (i, cache) in self.earlier.iter().enumerate() {
            if common(cache) > len {
                (best, len) = (Some(i), common(cache));
            }
        }
        if let Some(i) = best {
            self.make_current(i);
        }
        let loses_much = self.current.len() > 2 * len;
        if loses_much && let Some(oldest) = self.earlier.len().checked_sub(1) {
            self.make_current(oldest);
            // What was current until now is the latest of the earlier ones.
            if let Some(source) = self.earlier.first() {
                self.current.copy_from(source, len);
            }
        }
        self.current.truncate(len);
        &mut self.current
    }

    fn make_current(&mut self, i: usize) {
        let next = self.earlier.remove(i);
        let last = std::mem::replace(&mut self.current, next);
        self.earlier.insert(0, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(caches: &mut PromptCaches, tokens: &[u32]) -> usize {
        let cache = caches.for_prompt(tokens);
        let kept = cache.len();
        cache.commit(&tokens[kept..]);
        kept
    }

    #[test]
    fn a_prompt_goes_on_from_its_beginning() {
        let mut caches = PromptCaches::new(KvCache::new(0, 0), 1);
        assert_eq!(read(&mut caches, &[1, 2, 3, 4]), 0);
        assert_eq!(read(&mut caches, &[1, 2, 3, 4]), 3, "the last token is read again");
        assert_eq!(read(&mut caches, &[1, 2, 9]), 2);
        assert_eq!(read(&mut caches, &[1, 2, 3, 4]), 2);
    }

    #[test]
    fn prompts_in_turns_keep_a_cache_each() {
        let (a, b): (Vec<u32>, Vec<u32>) = ((0..20).collect(), [0, 1].into_iter().chain(50..70).collect());
        let mut caches = PromptCaches::new(KvCache::new(0, 0), 2);
        assert_eq!(read(&mut caches, &a), 0);
        assert_eq!(read(&mut caches, &b), 2, "the common beginning is taken over");
        for _ in 0..3 {
            assert_eq!(read(&mut caches, &a), a.len() - 1);
            assert_eq!(read(&mut caches, &b), b.len() - 1);
        }
    }
}
