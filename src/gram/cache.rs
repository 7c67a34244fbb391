//! A cache of the most recently used rows, shared by all trajectories.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const NONE: usize = usize::MAX;

/// A least-recently-used cache of rows.
///
/// Rows are handed out as `Arc`, so they stay valid after eviction. They are computed outside the lock: two threads that miss
/// the same row at once both compute it, with the same bits.
#[derive(Debug)]
pub(super) struct RowCache {
    m: usize,
    capacity: usize,
    state: Mutex<State>,
}

/// The cached rows in a doubly linked list, ordered by their last use.
#[derive(Debug)]
struct State {
    /// Entries of all rows, length m.
    entries: Vec<Entry>,
    newest: usize,
    oldest: usize,
    cached: usize,
    computed: u64,
}

/// A row if it is cached, and its neighbors in the list.
#[derive(Clone, Debug)]
struct Entry {
    row: Option<Arc<[f64]>>,
    newer: usize,
    older: usize,
}

impl RowCache {
    /// Creates a cache for at most `capacity` of m rows of length m.
    pub fn new(m: usize, capacity: usize) -> Self {
        let entries = vec![Entry { row: None, newer: NONE, older: NONE }; m];
        let state = State { entries, newest: NONE, oldest: NONE, cached: 0, computed: 0 };
        Self { m, capacity: capacity.clamp(1, m), state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave a row half written: rows are complete before they are inserted.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Largest number of rows kept.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Rows computed so far.
    pub fn computed(&self) -> u64 {
        self.lock().computed
    }

    /// Row i if it is cached. Does not count as a use, so that products with the whole matrix do not evict the balls' rows.
    pub fn peek(&self, i: usize) -> Option<Arc<[f64]>> {
        self.lock().entries[i].row.clone()
    }

    /// Row i, computed by `fill` if it is not cached.
    pub fn get(&self, i: usize, fill: impl FnOnce(&mut [f64])) -> Arc<[f64]> {
        let evicted = {
            let mut state = self.lock();
            if let Some(row) = state.used(i) {
                return row;
            }
            state.computed += 1;
            state.evict_if_full(self.capacity)
        };
        // Reuse the memory of the evicted row, unless it is still in use.
        let mut row = evicted
            .filter(|row| Arc::strong_count(row) == 1)
            .unwrap_or_else(|| vec![0.0; self.m].into());
        fill(Arc::get_mut(&mut row).expect("the row has one owner"));
        let mut state = self.lock();
        if let Some(row) = state.used(i) {
            return row;
        }
        state.evict_if_full(self.capacity);
        state.insert(i, Arc::clone(&row));
        row
    }
}

impl State {
    /// Row i if it is cached, and marks it as the most recently used.
    fn used(&mut self, i: usize) -> Option<Arc<[f64]>> {
        let row = self.entries[i].row.clone()?;
        if self.newest != i {
            self.unlink(i);
            self.link(i);
        }
        Some(row)
    }

    fn insert(&mut self, i: usize, row: Arc<[f64]>) {
        self.entries[i].row = Some(row);
        self.link(i);
        self.cached += 1;
    }

    /// Evicts the least recently used row if `capacity` rows are cached. Returns it.
    fn evict_if_full(&mut self, capacity: usize) -> Option<Arc<[f64]>> {
        if self.cached < capacity {
            return None;
        }
        let oldest = self.oldest;
        self.unlink(oldest);
        self.cached -= 1;
        self.entries[oldest].row.take()
    }

    /// Makes row i the newest of the list.
    fn link(&mut self, i: usize) {
        (self.entries[i].newer, self.entries[i].older) = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = i,
            newest => self.entries[newest].newer = i,
        }
        self.newest = i;
    }

    fn unlink(&mut self, i: usize) {
        let Entry { newer, older, .. } = self.entries[i];
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_row(row: &[f64], i: usize) -> bool {
        row.iter().all(|x| x.to_bits() == (i as f64).to_bits())
    }

    proptest! {
        /// Compares the cached rows and the number of computed rows with a plain list.
        #[test]
        fn keeps_the_most_recently_used_rows(
            capacity in 1usize..12,
            requests in prop::collection::vec((0usize..10, any::<bool>()), 1..200),
        ) {
            let m = 10;
            let cache = RowCache::new(m, capacity);
            let mut recent: Vec<usize> = Vec::new();
            let mut held: Vec<(usize, Arc<[f64]>)> = Vec::new();
            let mut computed = 0;
            for (i, hold) in requests {
                let row = cache.get(i, |row| row.fill(i as f64));
                if let Some(at) = recent.iter().position(|&j| j == i) {
                    recent.remove(at);
                } else {
                    computed += 1;
                }
                recent.insert(0, i);
                recent.truncate(capacity.min(m));
                if hold {
                    held.push((i, row));
                }
                prop_assert_eq!(cache.computed(), computed);
                for j in 0..m {
                    let cached = cache.peek(j);
                    prop_assert_eq!(cached.is_some(), recent.contains(&j));
                    prop_assert!(cached.is_none_or(|row| is_row(&row, j)));
                }
                // Rows that are still held do not change.
                prop_assert!(held.iter().all(|(j, row)| is_row(row, *j)));
            }
        }
    }

    #[test]
    fn threads_share_rows() {
        let cache = RowCache::new(50, 7);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let cache = &cache;
                scope.spawn(move || {
                    for k in 0..2000 {
                        let i = (k * (thread + 3) + thread) % 50;
                        let row = cache.get(i, |row| row.fill(i as f64));
                        assert!(is_row(&row, i));
                    }
                });
            }
        });
        let kept = (0..50).filter(|&i| cache.peek(i).is_some()).count();
        assert_eq!(kept, 7);
    }
}
