//! Cache for planes that are hit repeatedly.

/// Largest number of cached values: 8 MB.
pub const KEPT: usize = 1 << 20;

/// For planes of the shortest list: the inner products with all planes of that list, then the features. Computed when a plane is first hit.
#[derive(Clone, Debug, Default)]
pub(super) struct RowCache {
    values: Vec<f64>,
    /// Start of the values of each plane, or [`RowCache::NONE`].
    begins: Vec<usize>,
    /// Number of values per plane.
    width: usize,
    pub scratch: Vec<f64>,
}

impl RowCache {
    const NONE: usize = usize::MAX;

    /// Clears the cache, for a list of `planes` planes with d features.
    pub fn reset(&mut self, planes: usize, d: usize) {
        self.width = planes + d;
        self.values.clear();
        self.begins.clear();
        self.begins.resize(planes, Self::NONE);
        self.scratch.resize(self.width, 0.0);
    }

    /// Returns the values of the plane at place `at`, computed by `fill` if not cached.
    #[inline]
    pub fn get(&mut self, at: usize, fill: impl FnOnce(&mut [f64])) -> &[f64] {
        if self.begins[at] == Self::NONE {
            let begin = self.values.len();
            if begin + self.width > KEPT {
                fill(&mut self.scratch);
                return &self.scratch;
            }
            self.values.resize(begin + self.width, 0.0);
            fill(&mut self.values[begin..]);
            self.begins[at] = begin;
        }
        &self.values[self.begins[at]..][..self.width]
    }

    /// Returns the features of the plane at place `at`, if cached.
    #[inline]
    pub fn point(&self, at: usize) -> Option<&[f64]> {
        let begin = self.begins[at];
        (begin != Self::NONE).then(|| &self.values[begin..][self.begins.len()..self.width])
    }
}
