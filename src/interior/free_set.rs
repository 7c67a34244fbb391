//! The free examples, whose multipliers are strictly between their bounds, and their linear systems.

use crate::base::{Control, Result, memory};
use crate::linalg::Cholesky;
use crate::simd::dot;
use crate::space::VersionSpace;

/// A pivot below this fraction of its diagonal entry is recomputed in twice the precision.
const SMALL_PIVOT: f64 = 1e-8;
/// Vectors of length m that a change of the set allocates, at most.
const STEP_VECTORS: usize = 16;

/// The free examples F with a factor of `Q_FF`, `Q_ij = y_i y_j (K_ij + shift)`.
pub(crate) struct FreeSet<'s> {
    space: &'s VersionSpace<'s>,
    free_bias: bool,
    /// A constant added to all kernel values. With a free bias `Σ a_i y_i = 0`, so the objective does not change, but `Q_FF` is
    /// regular whenever the system with the bias is. Zero without a free bias.
    shift: f64,
    members: Vec<usize>,
    factor: Cholesky,
    /// `L⁻¹ y_F` with a free bias, zeros without; its squared length is `y_F Q_FF⁻¹ y_F`.
    balance: Vec<f64>,
}

/// A change of one more multiplier, with changes of the free ones that keep their margins.
pub(crate) struct Direction {
    /// `L⁻¹ Q_Fe` of the entering example e, and its pivot.
    forwarded: Vec<f64>,
    pivot: f64,
    /// Rates of the free multipliers.
    pub rates: Vec<f64>,
    /// Rate of the bias.
    pub bias: f64,
    /// Rate of the margin of the entering example; zero if it is below rounding.
    pub curvature: f64,
}

impl<'s> FreeSet<'s> {
    pub(crate) fn new(space: &'s VersionSpace<'s>, free_bias: bool) -> Self {
        let shift = if free_bias { mean_diagonal(space) } else { 0.0 };
        let factor = Cholesky::new(space.gram().arch());
        Self { space, free_bias, shift, members: Vec::new(), factor, balance: Vec::new() }
    }

    /// Checks that there is memory for `more` members and for steps with them.
    pub(crate) fn check_memory(&self, more: usize) -> Result<()> {
        memory::check_vectors(more, self.members.len() + more)?;
        memory::check_vectors(STEP_VECTORS, self.space.len())
    }

    /// The free examples, in the order of their addition.
    pub(crate) fn members(&self) -> &[usize] {
        &self.members
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds an example unless its feature vector is nearly in the span of the members'. Returns whether it was added.
    pub(crate) fn push_if_independent(&mut self, i: usize) -> bool {
        let mut forwarded = self.column(i);
        self.factor.forward(&mut forwarded);
        let square = self.entry(i, i);
        let pivot = square - self.dot(&forwarded, &forwarded);
        let is_independent = pivot > SMALL_PIVOT * square;
        if is_independent {
            self.append(i, forwarded, pivot);
        }
        is_independent
    }

    /// Adds an example to an empty set.
    pub(crate) fn push_first(&mut self, i: usize) {
        debug_assert!(self.is_empty());
        self.append(i, Vec::new(), self.entry(i, i));
    }

    /// Adds the example that entered in a direction of positive curvature.
    pub(crate) fn push(&mut self, i: usize, direction: Direction) {
        self.append(i, direction.forwarded, direction.pivot);
    }

    fn append(&mut self, i: usize, forwarded: Vec<f64>, pivot: f64) {
        let imbalance = self.sign(i) - self.dot(&self.balance, &forwarded);
        self.balance.push(imbalance / pivot.sqrt());
        self.factor.push(forwarded, pivot);
        self.members.push(i);
    }

    /// Removes member k of the set and returns its example.
    pub(crate) fn remove(&mut self, k: usize) -> usize {
        self.factor.remove(k, &mut self.balance);
        self.members.remove(k)
    }

    /// The direction in which multiplier `e` changes by `sign` and the free margins do not change.
    pub(crate) fn direction(&self, e: usize, sign: f64, control: &Control) -> Result<Direction> {
        let column = self.column(e);
        let mut forwarded = column.clone();
        self.factor.forward(&mut forwarded);
        let square = self.entry(e, e);
        let mut pivot = square - self.dot(&forwarded, &forwarded);
        let mut imbalance = self.sign(e) - self.dot(&self.balance, &forwarded);
        let is_small = pivot < SMALL_PIVOT * square;
        let mut q = forwarded.clone();
        if is_small {
            self.factor.backward(&mut q);
            pivot = self.refine(e, &column, &mut q, control)?;
            let signs: Vec<f64> = self.members.iter().map(|&i| self.sign(i)).collect();
            imbalance = self.sign(e) - self.dot(&signs, &q);
        }
        let weight = self.dot(&self.balance, &self.balance);
        let bias = if self.free_bias { sign * imbalance / weight } else { 0.0 };
        let mut rates = self.balance.clone();
        if is_small {
            self.factor.backward(&mut rates);
        }
        rates.iter_mut().zip(&q).for_each(|(rate, q)| *rate = -sign * q - bias * *rate);
        if !is_small {
            self.factor.backward(&mut rates);
        }
        let curvature = if pivot > 0.0 { pivot + sign * imbalance * bias } else { 0.0 };
        Ok(Direction { forwarded, pivot, rates, bias, curvature })
    }

    /// Refines `q = Q_FF⁻¹ Q_Fe` and returns `z Q z`, `z = (1, -q)`, in twice the precision; zero if that is rounding error.
    fn refine(&self, e: usize, column: &[f64], q: &mut [f64], control: &Control) -> Result<f64> {
        let arch = self.space.gram().arch();
        let mut residual = vec![0.0; q.len()];
        for round in 0..3 {
            let z: Vec<f64> = q.iter().map(|q| -q).chain([1.0]).collect();
            for (j, &i) in self.members.iter().enumerate() {
                if j % 64 == 0 {
                    control.check()?;
                }
                let mut row = self.column(i);
                row.push(column[j]);
                residual[j] = dot::dot_compensated(arch, &row, &z);
            }
            if round < 2 {
                let mut step = residual.clone();
                self.factor.solve(&mut step);
                q.iter_mut().zip(&step).for_each(|(q, step)| *q += step);
            }
        }
        let square = self.entry(e, e);
        let top: Vec<f64> = column.iter().copied().chain([square]).collect();
        let z: Vec<f64> = q.iter().map(|q| -q).chain([1.0]).collect();
        let pivot = dot::dot_compensated(arch, &top, &z) - self.dot(q, &residual);
        let terms = q.iter().zip(&self.members).map(|(q, &i)| q * q * self.entry(i, i));
        let least = 2.0 * f64::EPSILON * (square + terms.sum::<f64>());
        Ok(if pivot > least { pivot } else { 0.0 })
    }

    /// Solves `Q_FF x + y_F b = goal`, and `y_F · x = balance` with a free bias (b = 0 without).
    pub(crate) fn solve(&self, goal: Vec<f64>, balance: f64) -> (Vec<f64>, f64) {
        let mut x = goal;
        self.factor.forward(&mut x);
        let mut bias = 0.0;
        if self.free_bias {
            let weight = self.dot(&self.balance, &self.balance);
            bias = (self.dot(&self.balance, &x) - balance) / weight;
            dot::axpy(self.space.gram().arch(), -bias, &self.balance, &mut x);
        }
        self.factor.backward(&mut x);
        (x, bias)
    }

    /// y_i with a free bias, zero without.
    fn sign(&self, i: usize) -> f64 {
        if self.free_bias { self.space.sign(i) } else { 0.0 }
    }

    /// `Q_ij = y_i y_j (K_ij + shift)`.
    pub(crate) fn entry(&self, i: usize, j: usize) -> f64 {
        let sign = self.space.sign(i) * self.space.sign(j);
        sign * (self.space.gram().entry(i, j) + self.shift)
    }

    /// The entries of Q between the free examples and example `e`.
    fn column(&self, e: usize) -> Vec<f64> {
        let gram = self.space.gram();
        let row = gram.row(e);
        let entry = |&i: &usize| {
            let k = if i == e { gram.diagonal(e) } else { row.at(i) + gram.offset() };
            self.space.sign(e) * self.space.sign(i) * (k + self.shift)
        };
        self.members.iter().map(entry).collect()
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        dot::dot(self.space.gram().arch(), a, b)
    }
}

pub(crate) fn mean_diagonal(space: &VersionSpace<'_>) -> f64 {
    let gram = space.gram();
    (0..gram.len()).map(|i| gram.diagonal(i)).sum::<f64>() / gram.len() as f64
}
