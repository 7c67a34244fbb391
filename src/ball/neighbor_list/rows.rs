//! What is kept of planes that are hit again and again.

/// Kernel values that are kept of the planes of the shortest list: 2 MB.
const KEPT: usize = 1 << 18;

/// Of planes of the shortest list their kernel values with all of it, and their features times the factor of the kernel:
/// computed when a plane is hit first.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    values: Vec<f64>,
    /// Where those of a plane begin, or [`Rows::NONE`].
    begins: Vec<usize>,
    /// Numbers of each plane.
    width: usize,
    pub scratch: Vec<f64>,
}

impl Rows {
    pub const NONE: usize = usize::MAX;

    pub fn forget(&mut self, planes: usize, d: usize) {
        self.width = planes + d;
        self.values.clear();
        self.begins.clear();
        self.begins.resize(planes, Self::NONE);
        self.scratch.resize(self.width, 0.0);
    }

    /// Those of the plane at place `at`, which `fill` writes.
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

    /// The features of the plane at place `at`, if they are kept.
    #[inline]
    pub fn point(&self, at: usize) -> Option<&[f64]> {
        let begin = self.begins[at];
        (begin != Self::NONE).then(|| &self.values[begin..][self.begins.len()..self.width])
    }
}
