//! The quadratic program of the largest margin, solved by an active set.
//!
//! `max Σ a_i - ½ |Σ a_i y_i φ_i|²` over `0 ≤ a_i ≤ C`, and `Σ a_i y_i = 0` where the bias is free. Every state
//! satisfies these bounds, and the examples strictly between them, the *free* ones, have margin 1. The example that
//! misses its condition most moves until it meets it; the free ones move along so that their margins stay, and one
//! that arrives at a bound stays there (Goldfarb and Idnani's dual method, in the multipliers). The dual objective only grows,
//! so no state comes twice and the end is exact. A change reads the rows of the Gram matrix that belong to free
//! examples: O(m) each.

use crate::base::{Control, Result};
use crate::interior::free_set::FreeSet;
use crate::simd::{Precision, dot};
use crate::space::VersionSpace;

/// Multiples of the rounding unit that are taken for rounding.
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// Entries after which the margins are recomputed.
const REFRESH: usize = 50;
/// Corrections of the free multipliers by their residuals.
const POLISH: usize = 8;

/// The bounds of the multipliers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// C, infinite for a hard margin.
    pub cost: f64,
    /// Whether `Σ a_i y_i = 0`.
    pub free_bias: bool,
}

/// Where a multiplier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Lower,
    Free,
    Upper,
}

/// Why the search ended.
#[derive(Debug)]
pub(crate) enum End {
    /// Every condition holds to the tolerance, or to rounding.
    Optimal,
    /// A direction `a ≥ 0` without curvature: no weight vector satisfies these examples.
    Unbounded(Vec<f64>),
    /// The caller has seen enough, or the changes are spent.
    Stopped,
}

/// A state of the search.
pub(crate) struct ActiveSet<'s> {
    space: &'s VersionSpace<'s>,
    bounds: Bounds,
    a: Vec<f64>,
    bias: f64,
    /// `y_i (f_i + b)`
    margins: Vec<f64>,
    place: Vec<Place>,
    free: FreeSet<'s>,
    lengths: Vec<f64>,
    changes: usize,
    fewest_violations: usize,
}

impl<'s> ActiveSet<'s> {
    /// The state `a = 0`.
    pub(crate) fn new(space: &'s VersionSpace<'s>, bounds: Bounds) -> Self {
        let (m, gram) = (space.len(), space.gram());
        Self {
            space,
            bounds,
            a: vec![0.0; m],
            bias: 0.0,
            margins: vec![0.0; m],
            place: vec![Place::Lower; m],
            free: FreeSet::new(space, bounds.free_bias),
            lengths: (0..m).map(|i| gram.diagonal(i).sqrt()).collect(),
            changes: 0,
            fewest_violations: m,
        }
    }

    /// Multipliers, shape (m,).
    pub(crate) fn multipliers(&self) -> &[f64] {
        &self.a
    }

    /// `y_i (f_i + b)`, shape (m,).
    pub(crate) fn margins(&self) -> &[f64] {
        &self.margins
    }

    /// b.
    pub(crate) fn bias(&self) -> f64 {
        self.bias
    }

    /// Changes of the set so far.
    pub(crate) fn changes(&self) -> usize {
        self.changes
    }

    /// Fewest violated examples of all states looked at.
    pub(crate) fn fewest_violations(&self) -> usize {
        self.fewest_violations
    }

    /// Starts from the free set and the bounds that approximate multipliers suggest: the largest of them first.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Interrupted`].
    pub(crate) fn start_from(&mut self, a: &[f64], control: &Control) -> Result<()> {
        let mut order: Vec<usize> = (0..a.len()).filter(|&i| a[i] > 0.0).collect();
        order.sort_by(|&i, &j| a[j].total_cmp(&a[i]));
        for (count, &i) in order.iter().enumerate() {
            if count % 16 == 0 {
                control.check()?;
                self.free.check_memory(16)?;
            }
            if a[i] >= self.bounds.cost {
                self.put(i, Place::Upper);
                continue;
            }
            if self.free.push_if_independent(i) {
                self.place[i] = Place::Free;
            }
        }
        while !self.free.is_empty() {
            control.check()?;
            let goal = self.missing_beside_upper();
            let upper = self.balance(|place| place == Place::Upper);
            let (solution, bias) = self.free.solve(goal, -upper);
            let cost = self.bounds.cost;
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
        if self.bounds.free_bias && self.free.is_empty() {
            for i in 0..self.a.len() {
                self.put(i, Place::Lower);
            }
        }
        self.recompute(Precision::Plain, control)
    }

    /// Lets examples enter until all conditions hold within `tol` or rounding, `limit` changes are made, or `enough` says so.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Interrupted`].
    pub(crate) fn run(
        &mut self,
        tol: f64,
        limit: usize,
        enough: impl Fn(&Self, (f64, f64)) -> bool,
        control: &Control,
    ) -> Result<End> {
        let patience = 100 + 2 * self.a.len();
        let (mut best, mut idle) = (f64::NEG_INFINITY, 0);
        for entered in 1.. {
            control.check()?;
            if entered % 16 == 1 {
                self.free.check_memory(16)?;
            }
            let violations = self.margins.iter().filter(|&&margin| margin <= 0.0).count();
            self.fewest_violations = self.fewest_violations.min(violations);
            let norms = self.norms();
            if self.changes >= limit || enough(self, norms) {
                return Ok(End::Stopped);
            }
            // The objective, to be maximized. Where rounding decides, states could come again.
            let value = norms.1 - 0.5 * norms.0;
            idle = if value > best { 0 } else { idle + 1 };
            best = best.max(value);
            if idle > patience {
                return Ok(End::Optimal);
            }
            let Some((entering, sign)) = self.choose(tol) else {
                return Ok(End::Optimal);
            };
            if let Some(direction) = self.enter(entering, sign, control)? {
                return Ok(End::Unbounded(direction));
            }
            if entered % REFRESH == 0 {
                self.recompute(Precision::Plain, control)?;
            }
        }
        unreachable!("the loop has no end of its own")
    }

    /// Corrects the free multipliers by their residuals, computed in twice the precision, and the margins with them, until
    /// the residuals are below `tol` or corrections are lost in rounding.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Interrupted`].
    pub(crate) fn polish(&mut self, tol: f64, control: &Control) -> Result<()> {
        self.recompute(Precision::Compensated, control)?;
        let mut residual = self.free_residual();
        for _ in 0..POLISH {
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
                .all(|&i| self.a[i] > 0.0 && self.a[i] < self.bounds.cost);
            let after = self.free_residual();
            if !inside || after.is_nan() || after >= residual {
                (self.a, self.bias, self.margins) = before;
                break;
            }
            residual = after;
        }
        Ok(())
    }

    /// Largest miss of a condition, in units of the margin, and how much of it rounding of the multipliers explains.
    pub(crate) fn residual(&self) -> (f64, f64) {
        let mut worst = (0.0, 0.0);
        for i in 0..self.a.len() {
            let miss = self.miss(i).abs();
            if miss > worst.0 {
                worst = (miss, self.rounding(i));
            }
        }
        worst
    }

    /// How much example i misses its condition: positive where its multiplier should grow, negative where it should fall.
    fn miss(&self, i: usize) -> f64 {
        let short = 1.0 - self.margins[i];
        match self.place[i] {
            Place::Lower => short.max(0.0),
            Place::Free => short,
            Place::Upper => short.min(0.0),
        }
    }

    /// The rounding of margin i: that of the multipliers themselves, each times its kernel value.
    fn rounding(&self, i: usize) -> f64 {
        let gram = self.space.gram();
        let row = gram.shifted_row(i);
        let terms = (0..self.a.len()).filter(|&j| self.a[j] > 0.0);
        let sum: f64 = terms.map(|j| self.a[j] * row[j].abs()).sum();
        ROUNDING * (sum + self.bias.abs())
    }

    /// The example at a bound that misses its condition most, relative to its length, and the direction of its multiplier.
    fn choose(&mut self, tol: f64) -> Option<(usize, f64)> {
        if self.bounds.free_bias && self.free.is_empty() {
            return self.choose_pair(tol);
        }
        let mut hidden = vec![false; self.a.len()];
        loop {
            let mut best: Option<(f64, usize, f64)> = None;
            for i in 0..self.a.len() {
                let miss = self.miss(i);
                let relative = miss.abs() / self.lengths[i];
                if miss.abs() > tol
                    && best.is_none_or(|(most, ..)| relative > most)
                    && self.place[i] != Place::Free
                    && !hidden[i]
                {
                    best = Some((relative, i, miss));
                }
            }
            let (_, i, miss) = best?;
            if miss.abs() > self.rounding(i) {
                return Some((i, miss.signum()));
            }
            hidden[i] = true;
        }
    }

    /// Where no example is free nothing fixes the bias: the two examples that contradict each other most. One of them gets
    /// margin 1 by the bias and is free from then on, the other one enters.
    fn choose_pair(&mut self, tol: f64) -> Option<(usize, f64)> {
        let gap = |i: usize| self.space.sign(i) * (1.0 - self.margins[i]);
        // Whose y_i a_i may grow, and whose may fall.
        let may =
            |i: usize, up: f64| (self.place[i] == Place::Lower) == (self.space.sign(i) * up > 0.0);
        let all = 0..self.a.len();
        let up = all.clone().filter(|&i| may(i, 1.0)).max_by(|&i, &j| gap(i).total_cmp(&gap(j)))?;
        let down = all.filter(|&i| may(i, -1.0)).min_by(|&i, &j| gap(i).total_cmp(&gap(j)))?;
        let wide = gap(up) - gap(down);
        if wide <= tol.max(self.rounding(up) + self.rounding(down)) {
            self.move_bias(0.5 * (gap(up) + gap(down)));
            return None;
        }
        self.move_bias(gap(up));
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

    /// Moves multiplier `e` up or down until its margin is 1 or its bound is met. A direction without end is returned.
    fn enter(&mut self, e: usize, sign: f64, control: &Control) -> Result<Option<Vec<f64>>> {
        let mut before: Vec<(usize, f64)> = vec![(e, self.a[e])];
        before.extend(self.free.members().iter().map(|&i| (i, self.a[i])));
        let bias_before = self.bias;
        let mut short = sign * (1.0 - self.margins[e]);
        let mut endless = None;
        loop {
            control.check()?;
            self.changes += 1;
            let direction = self.free.direction(e, sign, control)?;
            let newton = if direction.curvature > 0.0 {
                short.max(0.0) / direction.curvature
            } else {
                f64::INFINITY
            };
            let own = if sign > 0.0 { self.bounds.cost - self.a[e] } else { self.a[e] };
            let block = self.first_block(&direction.rates);
            let step = newton.min(own).min(block.map_or(f64::INFINITY, |(_, step)| step));
            if step.is_infinite() {
                let mut along = vec![0.0; self.a.len()];
                along[e] = 1.0;
                for (&i, rate) in self.free.members().iter().zip(&direction.rates) {
                    along[i] = rate.max(0.0);
                }
                endless = Some(along);
                break;
            }
            self.a[e] += sign * step;
            for (&i, rate) in self.free.members().iter().zip(&direction.rates) {
                self.a[i] += step * rate;
            }
            self.bias += step * direction.bias;
            short -= step * direction.curvature;
            if let Some((k, _)) = block.filter(|&(_, at)| at <= step) {
                let falls = direction.rates[k] < 0.0;
                self.release(k, if falls { Place::Lower } else { Place::Upper });
                if !(self.bounds.free_bias && self.free.is_empty()) {
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
        self.follow(&before, self.bias - bias_before);
        if self.bounds.free_bias && self.free.is_empty() {
            // The last that kept the balance has gone. The bias is free to give e its margin, unless both arrived at a bound.
            if self.a[e] > 0.0 && self.a[e] < self.bounds.cost {
                self.move_bias(self.space.sign(e) * (1.0 - self.margins[e]));
                self.free.push_first(e);
                self.place[e] = Place::Free;
            } else {
                self.put(e, if self.a[e] > 0.0 { Place::Upper } else { Place::Lower });
            }
        }
        Ok(endless)
    }

    /// The first free example to meet a bound, and after which step.
    fn first_block(&self, rates: &[f64]) -> Option<(usize, f64)> {
        let room = |k: usize| {
            let (a, rate) = (self.a[self.free.members()[k]], rates[k]);
            let room = if rate < 0.0 { a / -rate } else { (self.bounds.cost - a) / rate };
            room.max(0.0)
        };
        (0..rates.len())
            .filter(|&k| rates[k] != 0.0)
            .map(|k| (k, room(k)))
            .filter(|(_, step)| step.is_finite())
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn put(&mut self, i: usize, place: Place) {
        self.place[i] = place;
        self.a[i] = if place == Place::Upper { self.bounds.cost } else { 0.0 };
    }

    fn release(&mut self, k: usize, place: Place) {
        let i = self.free.remove(k);
        self.put(i, place);
    }

    /// Adds what the changes since `before` do to the margins.
    fn follow(&mut self, before: &[(usize, f64)], bias: f64) {
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

    /// Computes all margins anew.
    fn recompute(&mut self, precision: Precision, control: &Control) -> Result<()> {
        if precision == Precision::Compensated {
            let dual = self.dual();
            let mut f = vec![0.0; dual.len()];
            self.space.gram().multiply(&[&dual], &mut [&mut f], precision, control)?;
            for ((margin, y), f) in self.margins.iter_mut().zip(self.space.labels()).zip(&f) {
                *margin = f64::from(*y) * (f + self.bias);
            }
        } else {
            control.check()?;
            self.margins.fill(0.0);
            let all: Vec<(usize, f64)> = (0..self.a.len()).map(|i| (i, 0.0)).collect();
            self.follow(&all, self.bias);
        }
        Ok(())
    }

    /// Signed multipliers, shape (m,).
    pub(crate) fn dual(&self) -> Vec<f64> {
        self.a.iter().zip(self.space.labels()).map(|(a, y)| a * f64::from(*y)).collect()
    }

    /// `|w|² = Σ a_i y_i f_i`, and `Σ a_i`.
    pub(crate) fn norms(&self) -> (f64, f64) {
        let weighted = self.dot(&self.a, &self.margins);
        let square = weighted - self.bias * self.balance(|_| true);
        (square.max(0.0), self.a.iter().sum())
    }

    fn free_residual(&self) -> f64 {
        self.free.members().iter().map(|&i| (1.0 - self.margins[i]).abs()).fold(0.0, f64::max)
    }

    /// `Σ y_i a_i` of the examples in some places.
    fn balance(&self, of: impl Fn(Place) -> bool) -> f64 {
        let here = (0..self.a.len()).filter(|&i| of(self.place[i]));
        here.map(|i| self.space.sign(i) * self.a[i]).sum()
    }

    /// What the free examples' margins lack of 1 beside what the multipliers at C give them.
    fn missing_beside_upper(&self) -> Vec<f64> {
        let all = 0..self.a.len();
        let upper: Vec<usize> = all.filter(|&j| self.place[j] == Place::Upper).collect();
        let given =
            |i: usize| upper.iter().map(|&j| self.a[j] * self.free.entry(i, j)).sum::<f64>();
        self.free.members().iter().map(|&i| 1.0 - given(i)).collect()
    }

    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        dot::dot(self.space.gram().arch(), a, b)
    }
}
