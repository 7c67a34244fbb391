//! An active-set method for the quadratic program of the largest margin.
//!
//! Maximizes `Σ a_i - ½ |Σ a_i y_i φ_i|²` over `0 ≤ a_i ≤ C`, with `Σ a_i y_i = 0` if the bias is free. All states are
//! feasible, and the examples with multipliers strictly between the bounds, the *free* ones, have margin 1. In each step the
//! example that violates its optimality condition most enters: its multiplier changes until the condition holds, and the
//! free multipliers change with it such that their margins remain 1. A multiplier that reaches a bound is fixed there (the
//! dual method of Goldfarb and Idnani, written in the multipliers). The objective increases strictly, so no state recurs
//! and the solution is exact. A step reads the rows of the free examples, O(m) each.

use crate::base::{Control, Result};
use crate::interior::free_set::FreeSet;
use crate::interior::{MarginSettings, lengths};
use crate::simd::{Precision, dot};
use crate::space::VersionSpace;

/// Relative error of a sum that is attributed to rounding.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Steps after which the margins are recomputed.
const REFRESH: usize = 50;
/// Iterations of refinement of the free multipliers.
const MAX_REFINEMENTS: usize = 8;

/// Position of a multiplier relative to its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Lower,
    Free,
    Upper,
}

/// Why the search ended. Err with a direction `a ≥ 0` in which the objective is unbounded: no weight vector satisfies these
/// examples. Otherwise whether the caller stopped it or the limit of changes; if not, every condition holds.
pub(crate) type End = std::result::Result<bool, Vec<f64>>;

pub(crate) struct ActiveSet<'s> {
    pub(super) space: &'s VersionSpace<'s>,
    pub(super) settings: MarginSettings,
    /// Multipliers a, shape (m,).
    pub(super) a: Vec<f64>,
    pub(super) bias: f64,
    /// `y_i (f_i + b)`, shape (m,).
    pub(super) margins: Vec<f64>,
    place: Vec<Place>,
    free: FreeSet<'s>,
    lengths: Vec<f64>,
    pub(super) changes: usize,
    /// Fewest violated examples of all states.
    pub(super) fewest_violations: usize,
}

impl<'s> ActiveSet<'s> {
    /// The state `a = 0`.
    pub(crate) fn new(space: &'s VersionSpace<'s>, settings: MarginSettings) -> Self {
        let m = space.len();
        Self {
            space,
            settings,
            a: vec![0.0; m],
            bias: 0.0,
            margins: vec![0.0; m],
            place: vec![Place::Lower; m],
            free: FreeSet::new(space, settings.free_bias),
            lengths: lengths(space),
            changes: 0,
            fewest_violations: space.examples(),
        }
    }

    /// Starts from the free set that approximate multipliers suggest. The largest multipliers are added first.
    pub(crate) fn start_from(&mut self, a: &[f64], control: &Control) -> Result<()> {
        let mut order: Vec<usize> = (0..a.len()).filter(|&i| a[i] > 0.0).collect();
        order.sort_by(|&i, &j| a[j].total_cmp(&a[i]));
        for (count, &i) in order.iter().enumerate() {
            if count % 16 == 0 {
                control.check()?;
                self.free.check_memory(16)?;
            }
            if a[i] >= self.settings.cost {
                self.put(i, Place::Upper);
            } else if self.free.push_if_independent(i) {
                self.place[i] = Place::Free;
            }
        }
        while !self.free.is_empty() {
            control.check()?;
            let goal = self.free_goals();
            let upper = self.balance(|place| place == Place::Upper);
            let (solution, bias) = self.free.solve(goal, -upper);
            let cost = self.settings.cost;
            let inside = |x: f64| x > 0.0 && x < cost;
            if solution.iter().all(|&x| inside(x)) {
                for (&i, &x) in self.free.members().iter().zip(&solution) {
                    self.a[i] = x;
                }
                self.bias = bias;
                break;
            }
            for (k, &x) in solution.iter().enumerate().rev() {
                if !inside(x) {
                    // O(|F|²) each.
                    control.check()?;
                    let bound = if x > 0.0 { Place::Upper } else { Place::Lower };
                    self.release(k, bound);
                }
            }
        }
        if self.settings.free_bias && self.free.is_empty() {
            for i in 0..self.a.len() {
                self.put(i, Place::Lower);
            }
        }
        self.recompute(Precision::Plain, control)
    }

    /// Lets examples enter until all conditions hold within `tol` or rounding, after `limit` changes, or if `is_enough` holds.
    pub(crate) fn run(
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
            let Some((entering, sign)) = self.choose(tol) else {
                return Ok(Ok(false));
            };
            if let Some(direction) = self.enter(entering, sign, control)? {
                return Ok(Err(direction));
            }
            entered += 1;
            if entered % REFRESH == 0 {
                self.recompute(Precision::Plain, control)?;
            }
        }
    }

    /// Refines the free multipliers, by residuals in twice the precision, until these are at most `tol` or no longer decrease.
    pub(crate) fn polish(&mut self, tol: f64, control: &Control) -> Result<()> {
        self.recompute(Precision::Compensated, control)?;
        let mut residual = self.free_residual();
        for _ in 0..MAX_REFINEMENTS {
            if self.free.is_empty() || residual <= tol {
                break;
            }
            let before = (self.a.clone(), self.bias, self.margins.clone());
            let goal = self.free.members().iter().map(|&i| 1.0 - self.margins[i]).collect();
            let (steps, bias) = self.free.solve(goal, -self.balance(|_| true));
            for (&i, step) in self.free.members().iter().zip(&steps) {
                self.a[i] += step;
            }
            self.bias += bias;
            self.recompute(Precision::Compensated, control)?;
            let inside = self
                .free
                .members()
                .iter()
                .all(|&i| self.a[i] > 0.0 && self.a[i] < self.settings.cost);
            let after = self.free_residual();
            if !inside || after.is_nan() || after >= residual {
                (self.a, self.bias, self.margins) = before;
                break;
            }
            residual = after;
        }
        Ok(())
    }

    /// Largest violation of an optimality condition, in units of the margin, and the part of it that rounding can explain.
    pub(crate) fn residual(&self) -> (f64, f64) {
        let mut worst = (0.0, 0.0);
        for i in 0..self.a.len() {
            let violation = self.violation(i).abs();
            if violation > worst.0 {
                worst = (violation, self.rounding(i));
            }
        }
        worst
    }

    /// Violation of the optimality condition of example i: positive if its multiplier should grow, negative if it should fall.
    fn violation(&self, i: usize) -> f64 {
        let slack = 1.0 - self.margins[i];
        match self.place[i] {
            Place::Lower => slack.max(0.0),
            Place::Free => slack,
            Place::Upper => slack.min(0.0),
        }
    }

    /// Bound of the rounding error of margin i, due to the rounding of the multipliers.
    fn rounding(&self, i: usize) -> f64 {
        let gram = self.space.gram();
        let row = gram.shifted_row(i);
        let terms = (0..self.a.len()).filter(|&j| self.a[j] > 0.0);
        let sum: f64 = terms.map(|j| self.a[j] * row[j].abs()).sum();
        ROUNDING * (sum + self.bias.abs())
    }

    /// The example at a bound with the largest violation relative to its length, and the sign of the change of its multiplier.
    fn choose(&mut self, tol: f64) -> Option<(usize, f64)> {
        if self.settings.free_bias && self.free.is_empty() {
            return self.choose_pair(tol);
        }
        let mut is_rounding = vec![false; self.a.len()];
        loop {
            let mut best: Option<(f64, usize, f64)> = None;
            for i in 0..self.a.len() {
                let violation = self.violation(i);
                let relative = violation.abs() / self.lengths[i];
                if violation.abs() > tol
                    && best.is_none_or(|(most, ..)| relative > most)
                    && self.place[i] != Place::Free
                    && !is_rounding[i]
                {
                    best = Some((relative, i, violation));
                }
            }
            let (_, i, violation) = best?;
            if violation.abs() > self.rounding(i) {
                return Some((i, violation.signum()));
            }
            is_rounding[i] = true;
        }
    }

    /// If no example is free, takes the two that ask for the most different biases: one gets margin 1 and is free, one enters.
    fn choose_pair(&mut self, tol: f64) -> Option<(usize, f64)> {
        // The change of the bias after which margin i is 1.
        let wanted = |i: usize| self.space.sign(i) * (1.0 - self.margins[i]);
        // Whether y_i a_i may grow (up = 1) or fall (up = -1).
        let may =
            |i: usize, up: f64| (self.place[i] == Place::Lower) == (self.space.sign(i) * up > 0.0);
        let all = 0..self.a.len();
        let up = all
            .clone()
            .filter(|&i| may(i, 1.0))
            .max_by(|&i, &j| wanted(i).total_cmp(&wanted(j)))?;
        let down =
            all.filter(|&i| may(i, -1.0)).min_by(|&i, &j| wanted(i).total_cmp(&wanted(j)))?;
        if wanted(up) - wanted(down) <= tol.max(self.rounding(up) + self.rounding(down)) {
            self.move_bias(0.5 * (wanted(up) + wanted(down)));
            return None;
        }
        self.move_bias(wanted(up));
        self.free.push_first(up);
        self.place[up] = Place::Free;
        Some((down, if self.place[down] == Place::Lower { 1.0 } else { -1.0 }))
    }

    fn move_bias(&mut self, step: f64) {
        self.bias += step;
        for (margin, y) in self.margins.iter_mut().zip(self.space.labels()) {
            *margin += f64::from(*y) * step;
        }
    }

    /// Changes multiplier `e` by `sign` until its margin is 1 or it is at a bound, or returns a direction of unbounded growth.
    fn enter(&mut self, e: usize, sign: f64, control: &Control) -> Result<Option<Vec<f64>>> {
        let mut before: Vec<(usize, f64)> = vec![(e, self.a[e])];
        before.extend(self.free.members().iter().map(|&i| (i, self.a[i])));
        let bias_before = self.bias;
        let mut slack = sign * (1.0 - self.margins[e]);
        let mut unbounded = None;
        loop {
            control.check()?;
            self.changes += 1;
            let direction = self.free.direction(e, sign, control)?;
            let newton = if direction.curvature > 0.0 {
                slack.max(0.0) / direction.curvature
            } else {
                f64::INFINITY
            };
            let own = if sign > 0.0 { self.settings.cost - self.a[e] } else { self.a[e] };
            let block = self.first_block(&direction.rates);
            let step = newton.min(own).min(block.map_or(f64::INFINITY, |(_, step)| step));
            if step.is_infinite() {
                let mut along = vec![0.0; self.a.len()];
                along[e] = 1.0;
                for (&i, rate) in self.free.members().iter().zip(&direction.rates) {
                    along[i] = rate.max(0.0);
                }
                unbounded = Some(along);
                break;
            }
            self.a[e] += sign * step;
            for (&i, rate) in self.free.members().iter().zip(&direction.rates) {
                self.a[i] += step * rate;
            }
            self.bias += step * direction.bias;
            slack -= step * direction.curvature;
            if let Some((k, _)) = block.filter(|&(_, at)| at <= step) {
                let falls = direction.rates[k] < 0.0;
                self.release(k, if falls { Place::Lower } else { Place::Upper });
                if !(self.settings.free_bias && self.free.is_empty()) {
                    continue;
                }
            }
            if own <= step {
                self.put(e, if sign > 0.0 { Place::Upper } else { Place::Lower });
            } else if block.is_none_or(|(_, at)| at > step) {
                self.free.push(e, direction);
                self.place[e] = Place::Free;
            }
            break;
        }
        self.update_margins(&before, self.bias - bias_before);
        if self.settings.free_bias && self.free.is_empty() {
            // The last free example has reached a bound. The bias gives e margin 1, unless e has reached a bound as well.
            if self.a[e] > 0.0 && self.a[e] < self.settings.cost {
                self.move_bias(self.space.sign(e) * (1.0 - self.margins[e]));
                self.free.push_first(e);
                self.place[e] = Place::Free;
            } else {
                self.put(e, if self.a[e] > 0.0 { Place::Upper } else { Place::Lower });
            }
        }
        Ok(unbounded)
    }

    /// The free example that reaches a bound first, as index into the free set, and the step after which it does.
    fn first_block(&self, rates: &[f64]) -> Option<(usize, f64)> {
        let largest_step = |k: usize| {
            let (a, rate) = (self.a[self.free.members()[k]], rates[k]);
            let step = if rate < 0.0 { a / -rate } else { (self.settings.cost - a) / rate };
            step.max(0.0)
        };
        (0..rates.len())
            .filter(|&k| rates[k] != 0.0)
            .map(|k| (k, largest_step(k)))
            .filter(|(_, step)| step.is_finite())
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn put(&mut self, i: usize, place: Place) {
        self.place[i] = place;
        self.a[i] = if place == Place::Upper { self.settings.cost } else { 0.0 };
    }

    fn release(&mut self, k: usize, place: Place) {
        let i = self.free.remove(k);
        self.put(i, place);
    }

    /// Updates the margins after changes of the multipliers, whose old values are `before`, and of the bias.
    fn update_margins(&mut self, before: &[(usize, f64)], bias: f64) {
        let gram = self.space.gram();
        let mut change = vec![bias; self.a.len()];
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
            for ((margin, y), f) in self.margins.iter_mut().zip(self.space.labels()).zip(&f) {
                *margin = f64::from(*y) * (f + self.bias);
            }
        } else {
            control.check()?;
            self.margins.fill(0.0);
            let all: Vec<(usize, f64)> = (0..self.a.len()).map(|i| (i, 0.0)).collect();
            self.update_margins(&all, self.bias);
        }
        Ok(())
    }

    /// Signed multipliers, shape (m,).
    pub(crate) fn dual(&self) -> Vec<f64> {
        self.a.iter().zip(self.space.labels()).map(|(a, y)| a * f64::from(*y)).collect()
    }

    /// `|w|² = Σ a_i y_i f_i`, and `Σ a_i`.
    pub(crate) fn norms(&self) -> (f64, f64) {
        let weighted = dot::dot(self.space.gram().arch(), &self.a, &self.margins);
        let square = weighted - self.bias * self.balance(|_| true);
        (square.max(0.0), self.a.iter().sum())
    }

    /// Largest deviation of the margins of free examples from 1.
    fn free_residual(&self) -> f64 {
        self.free.members().iter().map(|&i| (1.0 - self.margins[i]).abs()).fold(0.0, f64::max)
    }

    /// `Σ y_i a_i` over the examples whose place satisfies `of`.
    fn balance(&self, of: impl Fn(Place) -> bool) -> f64 {
        let here = (0..self.a.len()).filter(|&i| of(self.place[i]));
        here.map(|i| self.space.sign(i) * self.a[i]).sum()
    }

    /// 1 minus the contribution of the multipliers at C to the margins, for each free example.
    fn free_goals(&self) -> Vec<f64> {
        let all = 0..self.a.len();
        let upper: Vec<usize> = all.filter(|&j| self.place[j] == Place::Upper).collect();
        let contribution =
            |i: usize| upper.iter().map(|&j| self.a[j] * self.free.entry(i, j)).sum::<f64>();
        self.free.members().iter().map(|&i| 1.0 - contribution(i)).collect()
    }
}
