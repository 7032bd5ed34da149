//! Passages that a person hands over with the question, ranked in memory by the same BM25 as the index on disk.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use counterproof_core::{
    Error, Hit, Limits, Passage, PassageId, Result, Retriever, Score, UserError, sha256_hex,
};

use crate::analyzer::Analysis;
use crate::bm25::Bm25Params;
use crate::bm25::memory::MemoryPostings;
use crate::index::on_cpu;
use crate::rank::best_by_id;

/// Up to here a list is searched at once, on the caller's thread: it takes less time than handing the work to another.
const AT_ONCE: usize = 256;

/// A few passages, up to some hundred thousand, held and searched in memory.
#[derive(Clone)]
pub struct ListRetriever(Arc<List>);

struct List {
    passages: Vec<Arc<Passage>>,
    postings: MemoryPostings,
    params: Bm25Params,
    limits: Limits,
    identity: String,
}

impl std::fmt::Debug for ListRetriever {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListRetriever").field("passages", &self.0.passages.len()).finish_non_exhaustive()
    }
}

impl ListRetriever {
    /// A retriever over `passages`; one that is given twice, word for word, counts once.
    ///
    /// # Errors
    /// When there are more or longer passages than `limits` allows, or when two with different words have the same id.
    pub fn new(passages: impl IntoIterator<Item = Passage>, limits: &Limits) -> Result<Self> {
        let mut list: Vec<Arc<Passage>> = Vec::new();
        let mut places: HashMap<PassageId, usize> = HashMap::new();
        for passage in passages {
            limits.check_passage(&passage.text)?;
            if let Some(known) = places.get(&passage.id).and_then(|at| list.get(*at)) {
                if **known == passage {
                    continue;
                }
                return Err(Error::invalid(
                    format!("passage {}", passage.id),
                    "two passages with different words have this id; give each its own",
                ));
            }
            places.insert(passage.id.clone(), list.len());
            list.push(Arc::new(passage));
            if list.len() > limits.max_passages {
                return Err(UserError::TooLarge {
                    what: "list of passages",
                    limit: "max_passages",
                    size: list.len(),
                    max: limits.max_passages,
                }
                .into());
            }
        }
        let params = Bm25Params::default();
        let mut all = format!("{params:?}");
        for passage in &list {
            for part in [passage.id.as_str(), &passage.title, &passage.text] {
                all.push_str(sha256_hex(part).as_str());
            }
        }
        let (mut postings, mut analysis) = (MemoryPostings::default(), Analysis::new());
        for passage in &list {
            postings.add(&mut analysis, &passage.title, &passage.text);
        }
        let identity = format!("list:{}", sha256_hex(all));
        Ok(Self(Arc::new(List { passages: list, postings, params, limits: limits.clone(), identity })))
    }

    /// The passages, in the order they were given.
    pub fn passages(&self) -> &[Arc<Passage>] {
        &self.0.passages
    }
}

impl List {
    fn search(&self, query: &str, k: usize) -> Vec<Hit> {
        let rows = self.postings.search(query, k, self.params);
        let id = |row: u32| self.passages.get(row as usize).map_or("", |p| p.id.as_str());
        best_by_id(rows, k, id)
            .into_iter()
            .filter_map(|(row, score)| {
                let passage = self.passages.get(row as usize)?;
                let score = Score::new(score);
                Some(Hit { sparse: Some(score), ..Hit::new(Arc::clone(passage), score) })
            })
            .collect()
    }
}

#[async_trait]
impl Retriever for ListRetriever {
    fn identity(&self) -> &str {
        &self.0.identity
    }

    async fn search(&self, query: &str, k: usize) -> Result<Vec<Hit>> {
        self.0.limits.check_k(k)?;
        if self.0.passages.len() <= AT_ONCE {
            return Ok(self.0.search(query, k));
        }
        let (list, query) = (Arc::clone(&self.0), query.to_owned());
        on_cpu(move || Ok(list.search(&query, k))).await
    }
}
