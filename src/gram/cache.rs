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

/// Rows in a doubly linked list, ordered by their last use.
#[derive(Debug)]
struct State {
    /// The slot of each row, or `NONE`.
    slot: Vec<usize>,
    slots: Vec<Slot>,
    /// Slots without a row.
    free: Vec<usize>,
    newest: usize,
    oldest: usize,
    computed: u64,
}

#[derive(Debug)]
struct Slot {
    index: usize,
    row: Option<Arc<[f64]>>,
    newer: usize,
    older: usize,
}

impl RowCache {
    /// Creates a cache for at most `capacity` of m rows of length m.
    pub fn new(m: usize, capacity: usize) -> Self {
        let state = State {
            slot: vec![NONE; m],
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            computed: 0,
        };
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
        let state = self.lock();
        let slot = state.slot[i];
        if slot == NONE { None } else { state.slots[slot].row.clone() }
    }

    /// Row i, computed by `fill` if it is not cached.
    pub fn get(&self, i: usize, fill: impl FnOnce(&mut [f64])) -> Arc<[f64]> {
        let spare = {
            let mut state = self.lock();
            if let Some(row) = state.used(i) {
                return row;
            }
            state.computed += 1;
            if state.slots.len() - state.free.len() < self.capacity {
                None
            } else {
                state.drop_oldest()
            }
        };
        // Reuse the memory of the evicted row, unless it is still in use.
        let mut row = spare
            .filter(|row| Arc::strong_count(row) == 1)
            .unwrap_or_else(|| vec![0.0; self.m].into());
        match Arc::get_mut(&mut row) {
            Some(entries) => fill(entries),
            None => unreachable!("the row has one owner"),
        }
        let mut state = self.lock();
        if let Some(row) = state.used(i) {
            return row;
        }
        if state.slots.len() - state.free.len() >= self.capacity {
            state.drop_oldest();
        }
        state.insert(i, Arc::clone(&row));
        row
    }
}

impl State {
    /// Row i if it is cached, and marks it as the most recently used.
    fn used(&mut self, i: usize) -> Option<Arc<[f64]>> {
        let slot = self.slot[i];
        if slot == NONE {
            return None;
        }
        if self.newest != slot {
            self.unlink(slot);
            self.link(slot);
        }
        self.slots[slot].row.clone()
    }

    fn insert(&mut self, index: usize, row: Arc<[f64]>) {
        let entry = Slot { index, row: Some(row), newer: NONE, older: NONE };
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot] = entry;
            slot
        } else {
            self.slots.push(entry);
            self.slots.len() - 1
        };
        self.slot[index] = slot;
        self.link(slot);
    }

    fn drop_oldest(&mut self) -> Option<Arc<[f64]>> {
        let slot = self.oldest;
        if slot == NONE {
            return None;
        }
        self.unlink(slot);
        self.slot[self.slots[slot].index] = NONE;
        self.free.push(slot);
        self.slots[slot].row.take()
    }

    fn link(&mut self, slot: usize) {
        (self.slots[slot].newer, self.slots[slot].older) = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.slots[newest].newer = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: usize) {
        let Slot { newer, older, .. } = self.slots[slot];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older].newer = newer,
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
