//! Which of several normal values is the largest: the probability of each.
//!
//! Values of variance 1, whose means are `b_c` below the largest mean, have
//!
//! ```text
//! P(c) = ∫ φ(v + b_c) Π_{j≠c} Φ(v + b_j) dv.
//! ```
//!
//! The integrals of all values share the nodes of a trapezoidal rule. At these, Φ and its derivative φ follow from one series
//! in b around an entry of a table, in vector instructions over the nodes. The log probability of one of many values takes twice the
//! nodes, and that of a value far behind an integral about the mode of its integrand, in logarithms.

use std::sync::LazyLock;

use crate::simd::dot::add;
use crate::simd::log_normal::ln_normal_cdf_all;
use crate::simd::special::{hazard, hazard_plain, normal, whole};
use crate::simd::vector_fn;

/// Nodes of the integral, which fill vectors. The first is [`FIRST`].
const NODES: usize = 32;
const FIRST: f64 = -7.25;
/// Number of values from which nodes between these are needed: the integrand is narrow.
///
/// Log probabilities have a relative error below 1e-9 for 6 values and 1e-7 for 10, slopes 1e-8 and 2e-6.
const MANY: usize = 11;

/// Standard deviations by which a value that can be the largest is at most behind.
const FAR: u32 = 11;
/// Standard deviations behind from which a value's own integral is about its mode: nodes of the shared rule end too near to it.
const OWN_FAR: f64 = 6.5;

/// Half the width of the nodes about a mode, and their distance where the integrand is as narrow as k walls can make it.
const HALF_WIDTH: f64 = 8.5;
const STEP: f64 = 0.7;

/// Entries of the table per unit and per distance of two nodes.
const PER_UNIT: usize = 64;
const PER_NODE: usize = 28;
const DISTANCE: f64 = PER_NODE as f64 / PER_UNIT as f64;
/// Entries of the table at the distances of nodes from one another.
const ROW: usize = NODES + FAR as usize * PER_UNIT / PER_NODE + 2;
/// Order of the series. The first omitted terms of Φ and φ are below 1e-14.
const ORDER: usize = 6;

type Lanes = [f64; NODES];
type Series = [[f64; ROW]; ORDER + 1];

/// The coefficients of the series of Φ around `FIRST + i / PER_UNIT`, for i = r, r + [`PER_NODE`], ..., by r and by order.
static TABLE: LazyLock<Vec<Series>> = LazyLock::new(|| {
    let mut table = vec![[[0.0; ROW]; ORDER + 1]; PER_NODE];
    for (r, rows) in table.iter_mut().enumerate() {
        for k in 0..ROW {
            let x = FIRST + (r + k * PER_NODE) as f64 / PER_UNIT as f64;
            for (row, term) in rows.iter_mut().zip(series(x)) {
                row[k] = term;
            }
        }
    }
    table
});

/// Returns the coefficients of the powers of d in Φ(x + d): `φ^(n-1)(x) / n!`, from Hermite polynomials.
fn series(x: f64) -> [f64; ORDER + 1] {
    let mut terms = [distribution(x); ORDER + 1];
    let (mut last, mut hermite, mut factor) = (0.0, 1.0, normal(x));
    for (n, term) in terms.iter_mut().enumerate().skip(1) {
        let n = n as f64;
        factor /= n;
        *term = factor * hermite;
        (last, hermite) = (hermite, x * hermite - (n - 1.0) * last);
        factor = -factor;
    }
    terms
}

fn distribution(x: f64) -> f64 {
    normal(x) / hazard_plain(x)
}

/// Probabilities that each of several normal values is the largest. It keeps memory from one call to the next.
#[derive(Clone, Debug, Default)]
pub struct Largest {
    /// Φ, and φ times the product of Φ over the values before, at the nodes, for each value that is near.
    scratch: Vec<[Lanes; 2]>,
    /// By how much the values of an observation are behind, and their sums over the nodes.
    behind: Vec<f64>,
    sums: Vec<f64>,
}

impl Largest {
    /// Makes the table, once in a process.
    pub fn new() -> Self {
        LazyLock::force(&TABLE);
        Self::default()
    }

    /// Writes the probabilities that independent normal values are the largest, given by how much each mean is behind.
    pub fn probabilities(&mut self, behind: &[f64], p: &mut [f64]) {
        if count_near(behind) == 1 {
            behind.iter().zip(p).for_each(|(&b, p)| *p = f64::from(u8::from(is_near(b))));
            return;
        }
        p.fill(0.0);
        add_integrals(behind, None, 0.0, p, &mut self.scratch);
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= total);
    }

    /// Returns the log probability that a value is the largest, given by how much its mean is above each other one, and replaces
    /// these by derivatives.
    pub(crate) fn ln_probability(&mut self, contrasts: &mut [f64]) -> f64 {
        let most = contrasts.iter().fold(0.0, |most, d| f64::max(most, -d));
        if most >= OWN_FAR {
            return about_mode(contrasts, None);
        }
        let Self { scratch, behind, sums } = self;
        behind.clear();
        behind.push(most);
        behind.extend(contrasts.iter().map(|d| most + d));
        let near = count_near(behind);
        if near == 1 {
            contrasts.fill(0.0);
            return 0.0;
        }
        sums.clear();
        sums.resize(behind.len(), 0.0);
        add_integrals(behind, Some(0), 0.0, sums, scratch);
        if near >= MANY {
            add_integrals(behind, Some(0), 0.5 * DISTANCE, sums, scratch);
        }
        let p = sums[0];
        contrasts.iter_mut().zip(&sums[1..]).for_each(|(slope, sum)| *slope = sum / p);
        (p * if near < MANY { DISTANCE } else { 0.5 * DISTANCE }).ln()
    }
}

/// As [`Largest::ln_probability`], by an integral about the mode of its integrand, exact however far the value is behind.
///
/// Writes also minus the second derivatives of the probability by each two contrasts, relative to it.
pub fn about_mode(contrasts: &mut [f64], bends: Option<&mut [f64]>) -> f64 {
    let finite: Vec<usize> = (0..contrasts.len()).filter(|&j| contrasts[j].is_finite()).collect();
    let given: Vec<f64> = finite.iter().map(|&j| contrasts[j]).collect();
    // The logarithm of the integrand is concave, and its derivative convex: Newton's steps from 0 rise to the mode.
    let mut mode = 0.0;
    for _ in 0..100 {
        let (mut slope, mut curvature) = (-mode, 1.0);
        for d in &given {
            let (t, h) = (mode + d, hazard(mode + d));
            slope += h;
            curvature += h * (t + h);
        }
        let step = slope / curvature;
        mode += step;
        if step.abs() < 1e-3 {
            break;
        }
    }
    let step = STEP / (1.0 + given.len() as f64).sqrt();
    let n_nodes = whole(2.0 * HALF_WIDTH / step);
    let nodes: Vec<f64> = (0..=n_nodes).map(|k| mode - HALF_WIDTH + step * k as f64).collect();
    let mut weights: Vec<f64> = nodes.iter().map(|v| -0.5 * v * v).collect();
    let mut log_p = vec![0.0; nodes.len()];
    let mut hazards = Vec::with_capacity(given.len());
    for d in &given {
        let mut hazard: Vec<f64> = nodes.iter().map(|v| v + d).collect();
        ln_normal_cdf_all(&mut hazard, &mut log_p);
        add(&mut weights, &log_p);
        hazards.push(hazard);
    }
    let most = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    weights.iter_mut().for_each(|weight| *weight = (*weight - most).exp());
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    let mean = |of: &dyn Fn(usize) -> f64| -> f64 {
        weights.iter().enumerate().map(|(k, weight)| weight * of(k)).sum()
    };
    contrasts.fill(0.0);
    for (&j, hazard) in finite.iter().zip(&hazards) {
        contrasts[j] = mean(&|k| hazard[k]);
    }
    if let Some(bends) = bends {
        bends.fill(0.0);
        let width = contrasts.len();
        for (a, &j) in finite.iter().enumerate() {
            bends[j * width + j] = mean(&|k| (nodes[k] + given[a]) * hazards[a][k]);
            for (b, &l) in finite.iter().enumerate().take(a) {
                let product = -mean(&|k| hazards[a][k] * hazards[b][k]);
                bends[j * width + l] = product;
                bends[l * width + j] = product;
            }
        }
    }
    most + (sum * step).ln() - 0.5 * std::f64::consts::TAU.ln()
}

fn count_near(behind: &[f64]) -> usize {
    behind.iter().filter(|b| is_near(**b)).count()
}

fn is_near(behind: f64) -> bool {
    behind < f64::from(FAR)
}

vector_fn! {
    /// Adds sums over nodes, moved by a shift: of the probabilities, or of one and of its derivatives by how much the others are
    /// behind.
    fn add_integrals(
        simd: S,
        behind: &[f64],
        own: Option<usize>,
        shift: f64,
        sums: &mut [f64],
        scratch: &mut Vec<[Lanes; 2]>,
    ) {
        let table = &*TABLE;
        scratch.resize(count_near(behind), [[0.0; NODES]; 2]);
        // The product of Φ, and of φ of its own value, over the values before.
        let mut product = [1.0; NODES];
        let chosen = behind.iter().enumerate().filter(|(_, b)| is_near(**b));
        for ((c, &b), [below, density]) in chosen.zip(&mut *scratch) {
            // The series about the nearest entry of the table.
            let i = whole((b + shift) * PER_UNIT as f64 + 0.5);
            let d = simd.splat_f64s(b + shift - i as f64 / PER_UNIT as f64);
            let (series, first) = (&table[i % PER_NODE], i / PER_NODE);
            let terms: [&[S::f64s]; ORDER + 1] =
                std::array::from_fn(|n| S::as_simd_f64s(&series[n][first..first + NODES]).0);
            let (below, _) = S::as_mut_simd_f64s(below);
            let (density, _) = S::as_mut_simd_f64s(density);
            let (before, _) = S::as_mut_simd_f64s(&mut product);
            for k in 0..NODES / S::F64_LANES {
                // Horner's rule for the value and its derivative.
                let (mut value, mut slope) = (terms[ORDER][k], simd.splat_f64s(0.0));
                for term in terms[..ORDER].iter().rev() {
                    slope = simd.mul_add_e_f64s(slope, d, value);
                    value = simd.mul_add_e_f64s(value, d, term[k]);
                }
                density[k] = simd.mul_f64s(slope, before[k]);
                below[k] = if own == Some(c) { slope } else { value };
                before[k] = simd.mul_f64s(before[k], below[k]);
            }
        }
        // And over the values after.
        let mut product = [1.0; NODES];
        let (after, _) = S::as_mut_simd_f64s(&mut product);
        let mut at = scratch.iter().rev();
        for (&b, to) in behind.iter().zip(sums).rev() {
            let Some([below, density]) = (if is_near(b) { at.next() } else { None }) else {
                continue;
            };
            let ((density, _), (below, _)) = (S::as_simd_f64s(density), S::as_simd_f64s(below));
            let mut sum = simd.splat_f64s(0.0);
            for ((density, below), after) in density.iter().zip(below).zip(&mut *after) {
                sum = simd.mul_add_e_f64s(*density, *after, sum);
                *after = simd.mul_f64s(*after, *below);
            }
            *to += simd.reduce_sum_f64s(sum);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/laws/largest.rs"]
mod tests;
