//! An active-set method for the quadratic program of the largest margin.
//!
//! Maximizes `Σ a_i - ½ |Σ a_i y_i φ_i|²` over `a_i ≥ 0`. All states are feasible, and the examples with positive multipliers,
//! the *free* ones, have margin 1. In each step the example that violates its optimality condition most enters: its multiplier
//! grows until the condition holds, and the free multipliers change with it such that their margins remain 1. A multiplier that
//! reaches 0 is fixed there (the dual method of Goldfarb and Idnani, written in the multipliers). The objective increases
//! strictly, so no state recurs and the solution is exact. A step reads the rows of the free examples, O(m) each.

use super::free_set::FreeSet;
use super::lengths;
use crate::base::{Control, Result};
use crate::simd::{Precision, dot};
use crate::space::VersionSpace;

/// Relative error of a sum that is attributed to rounding.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Steps after which the margins are recomputed.
const REFRESH: usize = 50;
/// Iterations of refinement of the free multipliers.
const MAX_REFINEMENTS: usize = 8;

/// Why the search ended. Err with a direction `a ≥ 0` in which the objective is unbounded: no weight vector satisfies these
/// examples. Otherwise whether the caller stopped it or the limit of changes; if not, every condition holds.
pub type End = std::result::Result<bool, Vec<f64>>;

pub struct ActiveSet<'s> {
    pub space: &'s VersionSpace<'s>,
    /// Multipliers a, shape (m,).
    pub a: Vec<f64>,
    /// `y_i f_i`, shape (m,).
    pub margins: Vec<f64>,
    is_free: Vec<bool>,
    free: FreeSet<'s>,
    lengths: Vec<f64>,
    pub changes: usize,
    /// Fewest violated examples of all states.
    pub fewest_violations: usize,
}

impl<'s> ActiveSet<'s> {
    /// The state `a = 0`.
    pub fn new(space: &'s VersionSpace<'s>) -> Self {
        let m = space.len();
        Self {
            space,
            a: vec![0.0; m],
            margins: vec![0.0; m],
            is_free: vec![false; m],
            free: FreeSet::new(space),
            lengths: lengths(space.gram()),
            changes: 0,
            fewest_violations: space.examples(),
        }
    }

    /// Starts from the free set that approximate multipliers suggest. The largest multipliers are added first.
    pub fn start_from(&mut self, a: &[f64], control: &Control) -> Result<()> {
        let mut order: Vec<usize> = (0..a.len()).filter(|&i| a[i] > 0.0).collect();
        order.sort_by(|&i, &j| a[j].total_cmp(&a[i]));
        for (count, &i) in order.iter().enumerate() {
            if count % 16 == 0 {
                control.check()?;
                self.free.check_memory(16)?;
            }
            self.is_free[i] = self.free.push_if_independent(i);
        }
        while !self.free.members.is_empty() {
            control.check()?;
            let solution = self.free.solve(vec![1.0; self.free.members.len()]);
            if solution.iter().all(|&x| x > 0.0) {
                for (&i, &x) in self.free.members.iter().zip(&solution) {
                    self.a[i] = x;
                }
                break;
            }
            for (k, &x) in solution.iter().enumerate().rev() {
                if x <= 0.0 || x.is_nan() {
                    // O(|F|²) each.
                    control.check()?;
                    self.release(k);
                }
            }
        }
        self.recompute(Precision::Plain, control)
    }

    /// Lets examples enter until all conditions hold within `tol` or rounding, after `limit` changes, or if `is_enough` holds.
    pub fn run(
        &mut self,
        tol: f64,
        limit: usize,
        is_enough: impl Fn(&Self, (f64, f64)) -> bool,
        control: &Control,
    ) -> Result<End> {
        let patience = 100 + 2 * self.a.len();
        let (mut best, mut idle) = (f64::NEG_INFINITY, 0);
        let mut entered = 0;
        loop {
            control.check()?;
            if entered % 16 == 0 {
                self.free.check_memory(16)?;
            }
            let violations = self.space.count_examples(|i| self.margins[i] <= 0.0);
            self.fewest_violations = self.fewest_violations.min(violations);
            let norms = self.norms();
            if self.changes >= limit || is_enough(self, norms) {
                return Ok(Ok(true));
            }
            // Stop if the objective no longer grows: rounding could make states recur.
            let value = norms.1 - 0.5 * norms.0;
            idle = if value > best { 0 } else { idle + 1 };
            best = best.max(value);
            if idle > patience {
                return Ok(Ok(false));
            }
            let Some(entering) = self.choose(tol) else {
                return Ok(Ok(false));
            };
            if let Some(direction) = self.enter(entering, control)? {
                return Ok(Err(direction));
            }
            entered += 1;
            if entered % REFRESH == 0 {
                self.recompute(Precision::Plain, control)?;
            }
        }
    }

    /// Refines the free multipliers, by residuals in twice the precision, until these are at most `tol` or no longer decrease.
    pub fn polish(&mut self, tol: f64, control: &Control) -> Result<()> {
        self.recompute(Precision::Compensated, control)?;
        let mut residual = self.free_residual();
        for _ in 0..MAX_REFINEMENTS {
            if self.free.members.is_empty() || residual <= tol {
                break;
            }
            let before = (self.a.clone(), self.margins.clone());
            let goal = self.free.members.iter().map(|&i| 1.0 - self.margins[i]).collect();
            for (&i, step) in self.free.members.iter().zip(self.free.solve(goal)) {
                self.a[i] += step;
            }
            self.recompute(Precision::Compensated, control)?;
            let inside = self.free.members.iter().all(|&i| self.a[i] > 0.0);
            let after = self.free_residual();
            if !inside || after.is_nan() || after >= residual {
                (self.a, self.margins) = before;
                break;
            }
            residual = after;
        }
        Ok(())
    }

    /// Largest violation of an optimality condition, in units of the margin, and the part of it that rounding can explain.
    pub fn residual(&self) -> (f64, f64) {
        let mut worst = (0.0, 0.0);
        for i in 0..self.a.len() {
            let violation = self.violation(i);
            if violation > worst.0 {
                worst = (violation, self.rounding(i));
            }
        }
        worst
    }

    /// Violation of the optimality condition of example i.
    fn violation(&self, i: usize) -> f64 {
        let slack = 1.0 - self.margins[i];
        if self.is_free[i] { slack.abs() } else { slack.max(0.0) }
    }

    /// Bound of the rounding error of margin i, due to the rounding of the multipliers.
    fn rounding(&self, i: usize) -> f64 {
        let row = self.space.gram().shifted_row(i);
        let terms = (0..self.a.len()).filter(|&j| self.a[j] > 0.0);
        let sum: f64 = terms.map(|j| self.a[j] * row[j].abs()).sum();
        ROUNDING * sum
    }

    /// The example with multiplier 0 and the largest violation relative to its length.
    fn choose(&self, tol: f64) -> Option<usize> {
        let mut is_rounding = vec![false; self.a.len()];
        loop {
            let mut best: Option<(f64, usize)> = None;
            for i in 0..self.a.len() {
                let violation = self.violation(i);
                let relative = violation / self.lengths[i];
                if violation > tol
                    && best.is_none_or(|(most, _)| relative > most)
                    && !self.is_free[i]
                    && !is_rounding[i]
                {
                    best = Some((relative, i));
                }
            }
            let (_, i) = best?;
            if self.violation(i) > self.rounding(i) {
                return Some(i);
            }
            is_rounding[i] = true;
        }
    }

    /// Raises multiplier `e` until its margin is 1, or returns a direction of unbounded growth.
    fn enter(&mut self, e: usize, control: &Control) -> Result<Option<Vec<f64>>> {
        let mut before: Vec<(usize, f64)> = vec![(e, self.a[e])];
        before.extend(self.free.members.iter().map(|&i| (i, self.a[i])));
        let mut slack = 1.0 - self.margins[e];
        let mut unbounded = None;
        loop {
            control.check()?;
            self.changes += 1;
            let direction = self.free.direction(e, control)?;
            let newton = if direction.curvature > 0.0 {
                slack.max(0.0) / direction.curvature
            } else {
                f64::INFINITY
            };
            let block = self.first_block(&direction.rates);
            let step = newton.min(block.map_or(f64::INFINITY, |(_, step)| step));
            if step.is_infinite() {
                let mut along = vec![0.0; self.a.len()];
                along[e] = 1.0;
                for (&i, rate) in self.free.members.iter().zip(&direction.rates) {
                    along[i] = rate.max(0.0);
                }
                unbounded = Some(along);
                break;
            }
            self.a[e] += step;
            for (&i, rate) in self.free.members.iter().zip(&direction.rates) {
                self.a[i] += step * rate;
            }
            slack -= step * direction.curvature;
            if let Some((k, _)) = block.filter(|&(_, at)| at <= step) {
                self.release(k);
                continue;
            }
            self.free.push(e, direction);
            self.is_free[e] = true;
            break;
        }
        self.update_margins(&before);
        Ok(unbounded)
    }

    /// The free example whose multiplier reaches 0 first, as index into the free set, and the step after which it does.
    fn first_block(&self, rates: &[f64]) -> Option<(usize, f64)> {
        let members = &self.free.members;
        (0..rates.len())
            .filter(|&k| rates[k] < 0.0)
            .map(|k| (k, (self.a[members[k]] / -rates[k]).max(0.0)))
            .filter(|(_, step)| step.is_finite())
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn release(&mut self, k: usize) {
        let i = self.free.remove(k);
        (self.is_free[i], self.a[i]) = (false, 0.0);
    }

    /// Updates the margins after changes of the multipliers, whose old values are `before`.
    fn update_margins(&mut self, before: &[(usize, f64)]) {
        let gram = self.space.gram();
        let mut change = vec![0.0; self.a.len()];
        let mut total = 0.0;
        let mut terms = Vec::with_capacity(before.len());
        for &(i, old) in before {
            let step = self.space.sign(i) * (self.a[i] - old);
            if step != 0.0 {
                terms.push((step, i));
                change[i] += step * gram.softness()[i];
                total += step;
            }
        }
        gram.add_rows(&terms, &mut change);
        let lift = gram.offset() * total;
        for ((margin, y), change) in self.margins.iter_mut().zip(self.space.labels()).zip(&change) {
            *margin += f64::from(*y) * (change + lift);
        }
    }

    fn recompute(&mut self, precision: Precision, control: &Control) -> Result<()> {
        if precision == Precision::Compensated {
            let f = self.space.gram().product(&self.dual(), precision, control)?;
            self.margins = self.space.signed(&f);
        } else {
            control.check()?;
            self.margins.fill(0.0);
            let all: Vec<(usize, f64)> = (0..self.a.len()).map(|i| (i, 0.0)).collect();
            self.update_margins(&all);
        }
        Ok(())
    }

    /// Signed multipliers, shape (m,).
    pub fn dual(&self) -> Vec<f64> {
        self.space.signed(&self.a)
    }

    /// `|w|² = Σ a_i y_i f_i`, and `Σ a_i`.
    pub fn norms(&self) -> (f64, f64) {
        let square = dot::dot(&self.a, &self.margins);
        (square.max(0.0), self.a.iter().sum())
    }

    /// Largest deviation of the margins of free examples from 1.
    fn free_residual(&self) -> f64 {
        self.free.members.iter().map(|&i| (1.0 - self.margins[i]).abs()).fold(0.0, f64::max)
    }
}
