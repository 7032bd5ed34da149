//! The same work, asked for several times at once, is done once.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

/// Work under way, by key.
///
/// Whoever comes first does the work; whoever comes with the same key while it is under way waits for its result. If
/// the first is dropped (its caller timed out or was cancelled), one of those who wait takes over. When the work is
/// done it is forgotten: the map is no cache.
#[derive(Debug)]
pub struct OnceMap<K, V> {
    under_way: Mutex<HashMap<K, Shared<V>>>,
}

/// The result to come, and how many wait for it.
#[derive(Debug)]
struct Shared<V> {
    cell: Arc<OnceCell<V>>,
    callers: usize,
}

impl<K, V> Default for OnceMap<K, V> {
    fn default() -> Self {
        Self { under_way: Mutex::new(HashMap::new()) }
    }
}

impl<K: Eq + Hash + Clone, V: Clone> OnceMap<K, V> {
    /// A map with nothing under way.
    pub fn new() -> Self {
        Self::default()
    }

    /// The result of `work`, done here or by another who asked for the same key at the same time.
    pub async fn run<F: Future<Output = V>>(&self, key: &K, work: impl FnOnce() -> F) -> V {
        let cell = {
            let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
            let shared = under_way
                .entry(key.clone())
                .or_insert_with(|| Shared { cell: Arc::new(OnceCell::new()), callers: 0 });
            shared.callers += 1;
            Arc::clone(&shared.cell)
        };
        let entry = Entry { map: self, key, cell };
        entry.cell.get_or_init(work).await.clone()
    }

    /// How many keys are being worked on.
    pub fn len(&self) -> usize {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One caller's share in some work. When the work is done, or the last who shared in it is gone, the key is freed.
struct Entry<'m, K: Eq + Hash, V> {
    map: &'m OnceMap<K, V>,
    key: &'m K,
    cell: Arc<OnceCell<V>>,
}

impl<K: Eq + Hash, V> Drop for Entry<'_, K, V> {
    fn drop(&mut self) {
        let mut under_way = self.map.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        // Another round of work may stand under the key by now.
        let Some(shared) = under_way.get_mut(self.key).filter(|shared| Arc::ptr_eq(&shared.cell, &self.cell))
        else {
            return;
        };
        shared.callers -= 1;
        if self.cell.initialized() || shared.callers == 0 {
            under_way.remove(self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn work_under_way_is_shared_and_then_forgotten() {
        let map = Arc::new(OnceMap::new());
        let runs = Arc::new(AtomicUsize::new(0));
        let ask = |key: u32| {
            let (map, runs) = (map.clone(), runs.clone());
            tokio::spawn(async move {
                map.run(&key, || async {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    runs.fetch_add(1, Ordering::SeqCst)
                })
                .await
            })
        };
        let asked = [ask(1), ask(1), ask(1), ask(2)];
        for one in asked {
            one.await.unwrap();
        }
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        assert!(map.is_empty());
        ask(1).await.unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn when_the_first_is_dropped_another_takes_over() {
        let map = Arc::new(OnceMap::new());
        let leader = {
            let map = map.clone();
            tokio::spawn(async move { map.run(&1, std::future::pending::<&str>).await })
        };
        tokio::task::yield_now().await;
        let follower = {
            let map = map.clone();
            tokio::spawn(async move { map.run(&1, || async { "follower" }).await })
        };
        tokio::task::yield_now().await;
        assert_eq!(map.len(), 1);
        leader.abort();
        assert_eq!(follower.await.unwrap(), "follower");
        assert!(map.is_empty());
    }

    #[tokio::test]
    async fn work_that_everybody_left_leaves_nothing_behind() {
        let map: OnceMap<u32, ()> = OnceMap::new();
        let gone = tokio::time::timeout(Duration::from_millis(5), map.run(&1, std::future::pending)).await;
        assert!(gone.is_err());
        assert!(map.is_empty());
    }
}
