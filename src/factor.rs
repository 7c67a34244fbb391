//! Pivoted Cholesky factor of the Gram matrix: isotropic Gaussian vectors of the span.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::control::Control;
use crate::dot;
use crate::error::{Error, Result};
use crate::gram::Gram;
use crate::room;

/// Examples beyond which their factor, at O(m³), costs more than it could gain where it is not asked for.
pub(crate) const MANY: usize = 2_000;

/// `K = L Lᵀ` with the rows of L in the order of the examples and its columns in the order of the pivots.
///
/// L has as many columns as K has numerical rank r, so singular matrices are welcome.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Row-major (m, rank).
    rows: Vec<f64>,
    /// The example of each column, length rank.
    pivots: Vec<usize>,
    /// Entries of each row up to its last that is not zero, length m: its column for a pivot, the rank for the others.
    lengths: Vec<usize>,
    arch: pulp::Arch,
}

/// A source of isotropic Gaussian vectors of the span.
pub trait Isotropic: std::fmt::Debug + Send + Sync {
    /// Draws one.
    fn draw(&self, rng: &mut dyn Rng) -> Draw;
}

impl Isotropic for Factor {
    fn draw(&self, rng: &mut dyn Rng) -> Draw {
        Self::draw(self, rng)
    }
}

/// An isotropic Gaussian vector of the span.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Dual coefficients c = L^-T ξ, shape (m,).
    pub dual: Vec<f64>,
    /// Plane coordinates L ξ, shape (m,).
    pub field: Vec<f64>,
    /// Squared length |ξ|².
    pub square: f64,
}

/// The dimension of the span of the feature vectors, or `most` if that is less: as many steps of a factorization, each of
/// which reads one row.
pub(crate) fn rank_up_to(gram: &Gram<'_>, most: usize) -> usize {
    let m = gram.len();
    let mut left: Vec<f64> = (0..m).map(|i| gram.diagonal(i)).collect();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    while columns.len() < most {
        let share = |i: usize| left[i] / gram.diagonal(i);
        let pivot = (0..m).max_by(|&a, &b| share(a).total_cmp(&share(b)));
        let Some(pivot) = pivot.filter(|&i| share(i) > m as f64 * f64::EPSILON) else { break };
        let mut column = gram.shifted_row(pivot);
        for done in &columns {
            dot::axpy(gram.arch(), -done[pivot], done, &mut column);
        }
        let root = left[pivot].sqrt();
        for (left, x) in left.iter_mut().zip(&mut column) {
            *x /= root;
            *left -= *x * *x;
        }
        left[pivot] = 0.0;
        columns.push(column);
    }
    columns.len()
}

impl Factor {
    /// Factors K with complete pivoting, panel by panel, O(m² rank) operations and m x (m + rank) numbers.
    ///
    /// Every diagonal entry is judged against its own size, so that short feature vectors count as much as long ones:
    /// columns are added until no more than `m ε` of any remains.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the rows of K are computed on demand: its factor would have to be kept as a whole;
    /// [`Error::Breakdown`] when a remaining diagonal entry is clearly negative (K is not positive semi-definite);
    /// [`Error::Memory`] where there is no room for it; [`Error::Interrupted`].
    pub fn new(gram: &Gram<'_>, control: &Control) -> Result<Self> {
        const PANEL: usize = 32;
        gram.check_in_memory()?;
        let m = gram.len();
        let arch = gram.arch();
        room::check_vectors(2 * m, m)?;
        // What remains of K after the panels done so far.
        let mut rest: Vec<f64> = Vec::with_capacity(m * m);
        for i in 0..m {
            rest.extend(gram.shifted_row(i));
        }
        let mut diagonal: Vec<f64> = (0..m).map(|i| gram.diagonal(i)).collect();
        let share = |diagonal: &[f64], i: usize| diagonal[i] / gram.diagonal(i);
        let tiny = m as f64 * f64::EPSILON;
        let mut taken = vec![false; m];
        let mut pivots: Vec<usize> = Vec::with_capacity(m);
        let mut rows = vec![0.0; m * m];
        'panels: while pivots.len() < m {
            let start = pivots.len();
            let stop = (start + PANEL).min(m);
            let mut exhausted = false;
            for column in start..stop {
                control.check()?;
                let free = (0..m).filter(|&i| !taken[i]);
                let pivot =
                    free.max_by(|&a, &b| share(&diagonal, a).total_cmp(&share(&diagonal, b)));
                let Some(pivot) = pivot.filter(|&i| share(&diagonal, i) > tiny) else {
                    exhausted = true;
                    break;
                };
                taken[pivot] = true;
                pivots.push(pivot);
                let root = diagonal[pivot].sqrt();
                let head: Vec<f64> = rows[pivot * m + start..pivot * m + column].to_vec();
                for i in 0..m {
                    if taken[i] && i != pivot {
                        continue;
                    }
                    let done: f64 = rows[i * m + start..i * m + column]
                        .iter()
                        .zip(&head)
                        .map(|(a, b)| a * b)
                        .sum();
                    let entry = (rest[pivot * m + i] - done) / root;
                    rows[i * m + column] = entry;
                    if i != pivot {
                        diagonal[i] -= entry * entry;
                    }
                }
            }
            if exhausted {
                break 'panels;
            }
            Self::subtract_panel(arch, &mut rest, &rows, &taken, m, start..stop, control)?;
        }
        let left = (0..m).filter(|&i| !taken[i]).map(|i| share(&diagonal, i)).fold(0.0, f64::min);
        if left < -1e3 * tiny {
            return Err(Error::Breakdown {
                what: "smallest pivot of the Gram matrix, relative to its diagonal entry",
                value: left,
            });
        }
        let rank = pivots.len();
        if rank < m {
            for i in 0..m {
                rows.copy_within(i * m..i * m + rank, i * rank);
            }
            rows.truncate(m * rank);
            rows.shrink_to_fit();
        }
        let mut lengths = vec![rank; m];
        for (column, &pivot) in pivots.iter().enumerate() {
            lengths[pivot] = column + 1;
        }
        Ok(Self { rows, pivots, lengths, arch })
    }

    fn subtract_panel(
        arch: pulp::Arch,
        rest: &mut [f64],
        rows: &[f64],
        taken: &[bool],
        m: usize,
        panel: std::ops::Range<usize>,
        control: &Control,
    ) -> Result<()> {
        // The panel, transposed, so that the update runs along the rows of `rest`.
        let width = panel.len();
        let mut columns = vec![0.0; width * m];
        for i in 0..m {
            for (r, at) in panel.clone().enumerate() {
                columns[r * m + i] = rows[i * m + at];
            }
        }
        for i in (0..m).filter(|&i| !taken[i]) {
            if i % 64 == 0 {
                control.check()?;
            }
            let scales = &rows[i * m + panel.start..i * m + panel.end];
            for (r, &scale) in scales.iter().enumerate() {
                dot::axpy(
                    arch,
                    -scale,
                    &columns[r * m..(r + 1) * m],
                    &mut rest[i * m..(i + 1) * m],
                );
            }
        }
        Ok(())
    }

    pub(crate) fn examples(&self) -> usize {
        self.lengths.len()
    }

    /// Numerical rank: the dimension of the span.
    pub fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// Draws an isotropic Gaussian vector of the span: f = L ξ, c = L^-T ξ.
    pub fn draw(&self, rng: &mut (impl Rng + ?Sized)) -> Draw {
        self.vector(
            std::iter::repeat_with(|| StandardNormal.sample(rng)).take(self.rank()).collect(),
        )
    }

    /// The vector of the span with orthonormal coordinates ξ, length rank: f = L ξ, c = L^-T ξ.
    pub(crate) fn vector(&self, mut xi: Vec<f64>) -> Draw {
        let (m, rank) = (self.lengths.len(), self.rank());
        let square = xi.iter().map(|x| x * x).sum();
        let field = (0..m)
            .map(|i| {
                let length = self.lengths[i];
                dot::dot(self.arch, &self.rows[i * rank..i * rank + length], &xi[..length])
            })
            .collect();
        let dual = self.solve_upper(&mut xi, m);
        Draw { dual, field, square }
    }

    /// The orthonormal coordinates ξ of the vector with plane coordinates `field`: L ξ = f at the pivots.
    pub(crate) fn coordinates(&self, field: &[f64]) -> Vec<f64> {
        let rank = self.rank();
        let mut xi = Vec::with_capacity(rank);
        for (column, &pivot) in self.pivots.iter().enumerate() {
            let row = &self.rows[pivot * rank..=pivot * rank + column];
            xi.push((field[pivot] - dot::dot(self.arch, &row[..column], &xi)) / row[column]);
        }
        xi
    }

    /// The vector of the plane coordinates `field`, without what it has along columns that may be the rounding of a matrix of
    /// less rank.
    pub(crate) fn without_rounding(&self, gram: &Gram<'_>, field: &[f64]) -> Draw {
        const ROUNDING: f64 = 1e-12;
        let mut xi = self.coordinates(field);
        for (column, (x, &pivot)) in xi.iter_mut().zip(&self.pivots).enumerate() {
            let root = self.rows[pivot * self.rank() + column];
            if root * root < ROUNDING * gram.diagonal(pivot) {
                *x = 0.0;
            }
        }
        self.vector(xi)
    }

    /// The dual coefficients c, shape (m,) and zero but for the pivots, with `Lᵀ c = ξ`. Spends ξ.
    fn solve_upper(&self, xi: &mut [f64], m: usize) -> Vec<f64> {
        let rank = self.rank();
        let mut dual = vec![0.0; m];
        for column in (0..rank).rev() {
            let pivot = self.pivots[column];
            let row = &self.rows[pivot * rank..=pivot * rank + column];
            let c = xi[column] / row[column];
            dual[pivot] = c;
            dot::axpy(self.arch, -c, &row[..column], &mut xi[..column]);
        }
        dual
    }
}
