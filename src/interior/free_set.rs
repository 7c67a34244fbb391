//! The free examples, whose multipliers are positive, and their linear systems.

use crate::base::{Control, Result, memory};
use crate::linalg::Cholesky;
use crate::simd::dot;
use crate::space::VersionSpace;

/// A pivot below this fraction of its diagonal entry is recomputed in twice the precision.
const SMALL_PIVOT: f64 = 1e-8;
/// Vectors of length m that a change of the set allocates, at most.
const STEP_VECTORS: usize = 16;

/// The free examples F with a factor of `Q_FF`, `Q_ij = y_i y_j K_ij`.
pub struct FreeSet<'s> {
    space: &'s VersionSpace<'s>,
    /// In the order of their addition.
    pub members: Vec<usize>,
    factor: Cholesky,
}

/// A change of one more multiplier, with changes of the free ones that keep their margins.
pub struct Direction {
    /// `L⁻¹ Q_Fe` of the entering example e.
    forwarded: Vec<f64>,
    /// Rates of the free multipliers.
    pub rates: Vec<f64>,
    /// Rate of the margin of the entering example, its pivot; zero if it is below rounding.
    pub curvature: f64,
}

/// Returns `(-q, 1)`.
fn with_one(q: &[f64]) -> Vec<f64> {
    q.iter().map(|q| -q).chain([1.0]).collect()
}

impl<'s> FreeSet<'s> {
    pub fn new(space: &'s VersionSpace<'s>) -> Self {
        Self { space, members: Vec::new(), factor: Cholesky::default() }
    }

    /// Checks that there is memory for `more` members and for steps with them.
    pub fn check_memory(&self, more: usize) -> Result<()> {
        memory::check_vectors(more, self.members.len() + more)?;
        memory::check_vectors(STEP_VECTORS, self.space.len())
    }

    /// Adds an example unless its feature vector is nearly in the span of the members'. Returns whether it was added.
    pub fn push_if_independent(&mut self, i: usize) -> bool {
        let (forwarded, pivot) = self.forwarded(i, self.column(i));
        let is_independent = pivot > SMALL_PIVOT * self.square(i);
        if is_independent {
            self.factor.push(forwarded, pivot);
            self.members.push(i);
        }
        is_independent
    }

    /// Returns `L⁻¹ Q_Fe`, given the column of an example, and the pivot of this.
    fn forwarded(&self, e: usize, mut column: Vec<f64>) -> (Vec<f64>, f64) {
        self.factor.forward(&mut column);
        let pivot = self.square(e) - dot::dot(&column, &column);
        (column, pivot)
    }

    /// Adds the example that entered in a direction of positive curvature.
    pub fn push(&mut self, i: usize, direction: Direction) {
        self.factor.push(direction.forwarded, direction.curvature);
        self.members.push(i);
    }

    /// Removes member k of the set and returns its example.
    pub fn remove(&mut self, k: usize) -> usize {
        self.factor.remove(k);
        self.members.remove(k)
    }

    /// The direction in which multiplier `e` grows by 1 and the free margins do not change.
    pub fn direction(&self, e: usize, control: &Control) -> Result<Direction> {
        let column = self.column(e);
        let (forwarded, mut curvature) = self.forwarded(e, column.clone());
        let mut rates = forwarded.clone();
        self.factor.backward(&mut rates);
        if curvature < SMALL_PIVOT * self.square(e) {
            curvature = self.refine(e, &column, &mut rates, control)?;
        }
        dot::scale(&mut rates, -1.0);
        Ok(Direction { forwarded, rates, curvature })
    }

    /// Refines `q = Q_FF⁻¹ Q_Fe` and returns `z Q z`, `z = (1, -q)`, in twice the precision; zero if that is rounding error.
    fn refine(&self, e: usize, column: &[f64], q: &mut [f64], control: &Control) -> Result<f64> {
        let mut residual = vec![0.0; q.len()];
        for round in 0..3 {
            let z = with_one(q);
            for (j, &i) in self.members.iter().enumerate() {
                if j % 64 == 0 {
                    control.check()?;
                }
                let mut row = self.column(i);
                row.push(column[j]);
                residual[j] = dot::dot_compensated(&row, &z);
            }
            if round < 2 {
                let mut step = residual.clone();
                self.factor.solve(&mut step);
                dot::add(q, &step);
            }
        }
        let top: Vec<f64> = column.iter().copied().chain([self.square(e)]).collect();
        let z = with_one(q);
        let pivot = dot::dot_compensated(&top, &z) - dot::dot(q, &residual);
        let terms = q.iter().zip(&self.members).map(|(q, &i)| q * q * self.square(i));
        let least = 2.0 * f64::EPSILON * (self.square(e) + terms.sum::<f64>());
        Ok(if pivot > least { pivot } else { 0.0 })
    }

    /// Solves `Q_FF x = goal`.
    pub fn solve(&self, mut goal: Vec<f64>) -> Vec<f64> {
        self.factor.solve(&mut goal);
        goal
    }

    /// `Q_ii`: the squares of signs are 1.
    fn square(&self, i: usize) -> f64 {
        self.space.gram().diagonal(i)
    }

    /// The entries of Q between the free examples and example `e`.
    fn column(&self, e: usize) -> Vec<f64> {
        let gram = self.space.gram();
        let row = gram.row(e);
        let entry = |&i: &usize| {
            let k = if i == e { gram.diagonal(e) } else { row.at(i) + gram.offset() };
            self.space.sign(e) * self.space.sign(i) * k
        };
        self.members.iter().map(entry).collect()
    }
}
