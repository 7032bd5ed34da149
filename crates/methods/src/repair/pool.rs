//! The pool of passages that the gate reads (CounterRefine, step 4): merged over all queries, without duplicates,
//! each passage knowing which queries found it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use counterproof_core::{Hit, Passage, Sha256Hex, sha256_hex};
use counterproof_text::normalise::squad;

use super::query::QueryRole;

/// A passage of the pool.
#[derive(Debug, Clone)]
pub struct PoolPassage {
    /// The passage.
    pub passage: Arc<Passage>,
    /// The queries that found it, in the order in which they did.
    pub found_by: Vec<QueryRole>,
    tokens: HashSet<String>,
}

/// Passages in the order in which the gate reads them.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    passages: Vec<PoolPassage>,
    by_hash: HashMap<Sha256Hex, usize>,
}

impl Pool {
    /// Adds the hits of one query in their order, until the pool holds `max` passages.
    ///
    /// A hit is a duplicate when its id or its normalised text is known, or when its tokens are at least `jaccard`
    /// alike to those of a passage in the pool; then only the query is noted.
    pub fn add(&mut self, role: QueryRole, hits: &[Hit], jaccard: f64, max: usize) {
        for hit in hits {
            let normalised = squad(&hit.passage.text);
            let hash = sha256_hex(&normalised);
            let tokens: HashSet<String> = normalised.split(' ').map(str::to_owned).collect();
            let known = self.by_hash.get(&hash).copied().or_else(|| {
                self.passages
                    .iter()
                    .position(|p| p.passage.id == hit.passage.id || likeness(&p.tokens, &tokens) >= jaccard)
            });
            if let Some(ix) = known {
                if let Some(passage) = self.passages.get_mut(ix).filter(|p| !p.found_by.contains(&role)) {
                    passage.found_by.push(role);
                }
            } else if self.passages.len() < max {
                self.by_hash.insert(hash, self.passages.len());
                let passage = Arc::clone(&hit.passage);
                self.passages.push(PoolPassage { passage, found_by: vec![role], tokens });
            }
        }
    }

    /// The passages.
    pub fn passages(&self) -> &[PoolPassage] {
        &self.passages
    }

    /// The passage at a place of the pool, counted from 0.
    pub fn get(&self, ix: usize) -> Option<&Arc<Passage>> {
        self.passages.get(ix).map(|p| &p.passage)
    }

    /// How many passages there are.
    pub fn len(&self) -> usize {
        self.passages.len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.passages.is_empty()
    }
}

fn likeness(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    if all == 0 { 1.0 } else { shared as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use counterproof_core::Score;

    use super::*;

    fn hit(id: &str, text: &str) -> Hit {
        Hit::new(Arc::new(Passage::new(id, "", text)), Score::new(1.0))
    }

    #[test]
    fn a_duplicate_keeps_the_first_and_notes_the_query() {
        let mut pool = Pool::default();
        let twenty = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
                      sixteen seventeen eighteen nineteen twenty";
        pool.add(QueryRole::Question, &[hit("a", "It opened in 1913."), hit("b", twenty)], 0.9, 20);
        let near = format!("{twenty} more");
        pool.add(
            QueryRole::Conditioned,
            &[hit("c", "it  opened in 1913"), hit("d", &near), hit("a", "changed"), hit("e", "Other.")],
            0.9,
            20,
        );
        let ids: Vec<&str> = pool.passages().iter().map(|p| p.passage.id.as_str()).collect();
        assert_eq!(ids, ["a", "b", "e"]);
        assert_eq!(pool.passages()[0].found_by, [QueryRole::Question, QueryRole::Conditioned]);
        assert_eq!(pool.passages()[1].found_by, [QueryRole::Question, QueryRole::Conditioned]);
    }

    #[test]
    fn the_pool_is_bounded() {
        let mut pool = Pool::default();
        let hits: Vec<Hit> = (0..30).map(|i| hit(&i.to_string(), &format!("number {i}"))).collect();
        pool.add(QueryRole::Question, &hits, 0.9, 20);
        assert_eq!(pool.len(), 20);
    }
}
