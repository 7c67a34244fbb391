//! Expectation propagation for functions of few dimensions: the evidence of two classes, several times, or of ordered ones.
//!
//! A weight vector `w ~ N(0, I)` gives example i the value `t_i = y_i ψ_i · w / √λ_i`, for its features ψ_i and level λ_i, and
//! its label has the probability `ε_i + s Φ(t_i)`. Each of these factors is approximated by a normal one, a site, so that the
//! posterior is normal (Minka, 2001). A sweep updates all sites at once and takes O(m r²) for m examples and r dimensions.
//!
//! The label of ordered classes tells that `ψ_i · w` with noise is between two thresholds, which are given.
//!
//! With label noise the likelihood is not log-concave: sites of labels that seem wrong have negative precisions.

mod site;
pub mod sums;
mod triangle;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use crate::base::{Control, Result};
use crate::ensemble::WorkerPool;
use crate::laws::{Law, Observed};
use crate::simd::dot::{axpy, dot};
use site::{Site, tilt};

const SWEEPS: usize = 60;
/// Factor on the step size of the sites after a sweep that turns the one before back.
const DAMPING: f64 = 0.7;
const SMALLEST_STEP: f64 = 0.1;
/// First step size with label noise; without it is 1.
const NOISY_STEP: f64 = 0.5;
/// Rows whose derivatives are computed at once, the fewest of a part of the products of a sweep, and the most such parts.
const ROWS: usize = 256;
const PARTS: usize = 8;

/// Problems with the same m examples in r dimensions, for C kinds of labels.
pub struct Problems<'a> {
    /// ψ, shape (m, r).
    pub features: ArrayView2<'a, f64>,
    /// λ, shape (m,).
    pub level: ArrayView1<'a, f64>,
    /// Which labels are positive, shape (C, m).
    pub positive: ArrayView2<'a, bool>,
    /// The interval of each example's value of the only problem, labels all positive, shape (m, 2); of two classes 0 to infinity.
    pub intervals: Option<ArrayView2<'a, f64>>,
    /// Probability of a wrong label for truly negative and truly positive examples.
    pub noise: [f64; 2],
    /// The sweeps of a problem end when its evidence changes by less, nats.
    pub change: f64,
}

/// Sites of a similar setting to start from, where they converged.
pub struct FirstSites<'a> {
    /// Shape (C, m).
    pub precision: ArrayView2<'a, f64>,
    /// Shape (C, m).
    pub shift: ArrayView2<'a, f64>,
    /// Shape (C,).
    pub converged: ArrayView1<'a, bool>,
}

/// The normal approximation of one problem, with `w ~ N(mean, covariance)`.
pub struct Approximation {
    /// Nats.
    pub log_evidence: f64,
    /// Whether the sites stopped changing.
    pub converged: bool,
    /// Precisions of the sites, shape (m,).
    pub precision: Vec<f64>,
    /// Precisions times means of the sites, shape (m,).
    pub shift: Vec<f64>,
    /// Probability of each label given all others, shape (m,).
    pub left_out: Vec<f64>,
    /// Derivatives by the rates of label noise.
    pub by_noise: [f64; 2],
    /// Derivatives by the levels, shape (m,).
    pub by_level: Vec<f64>,
    /// Derivative by the logarithm of a factor of all thresholds.
    pub by_thresholds: f64,
    /// Derivatives by `y_i t_i` at the mean, shape (m,).
    slope: Vec<f64>,
    mean: Array1<f64>,
    /// R, upper triangle: the covariance is `R Rᵀ`.
    root: Array2<f64>,
    /// Features over the root of the level, times R, shape (m, r).
    half: Array2<f64>,
}

/// How features ψ follow from kernel values, rows of values with the landmarks times T, and what else depends on them.
pub struct Whitening<'a> {
    /// T, shape (n, r): the kernel matrix of the landmarks is `(T Tᵀ)⁻¹`.
    pub factors: ArrayView2<'a, f64>,
    /// Whether T is an upper triangle, with zeros below.
    pub is_triangle: bool,
    /// ψ, shape (m, r).
    pub features: ArrayView2<'a, f64>,
    /// Derivatives of the evidence by the variance λ + missed of each example, shape (m,).
    pub by_variances: ArrayView1<'a, f64>,
    /// Derivative by the variance of the mean function over all examples.
    pub by_mean: f64,
}

/// Returns the approximation of each problem.
/// [`Error::Breakdown`](crate::Error::Breakdown) if features are not finite.
pub fn propagate(
    problems: &Problems,
    start: Option<&FirstSites>,
    n_threads: usize,
    control: &Control,
) -> Result<Vec<Approximation>> {
    let ((m, r), n) = (problems.features.dim(), problems.positive.nrows());
    let pool = WorkerPool::new(n_threads, control)?;
    pool.check_memory(1, (n + 2).min(pool.n_threads() + 2), m.saturating_mul(r))?;
    // Divided by √λ, but not multiplied by the labels.
    let mut rows = problems.features.as_standard_layout().into_owned();
    for (mut row, level) in rows.rows_mut().into_iter().zip(problems.level) {
        row /= level.sqrt();
    }
    pool.each(&mut vec![(); n], |k, ()| {
        let start = start.filter(|start| start.converged[k]);
        let sites = (0..m).map(|i| {
            start.map_or_else(
                || Site::first(problems.interval(i)),
                |start| Site { precision: start.precision[[k, i]], shift: start.shift[[k, i]] },
            )
        });
        problems.approximation(k, &rows.view(), sites.collect(), &pool)
    })
}

/// Returns the derivatives of `share` times the sum of the evidences by kernel values, with fixed sites: of the landmarks, then
/// of m examples with the landmarks, shape (n + m, n).
pub fn by_values(
    found: &[Approximation],
    level: &ArrayView1<f64>,
    share: f64,
    whitening: &Whitening,
    n_threads: usize,
    control: &Control,
) -> Result<Array2<f64>> {
    let &Whitening { factors, is_triangle, features, by_variances, by_mean } = whitening;
    let ((m, r), n) = (features.dim(), factors.nrows());
    let pool = WorkerPool::new(n_threads, control)?;
    pool.check_memory(1, 1, (m + n).saturating_mul(n))?;
    let mean = features.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(r));
    let mut by_values = Array2::zeros((n + m, n));
    let (mut by_gram, mut by_cross) = by_values.view_mut().split_at(Axis(0), n);
    let mut parts: Vec<_> = by_cross.axis_chunks_iter_mut(Axis(0), ROWS).collect();
    pool.each(&mut parts, |part, to| {
        let rows = part * ROWS..part * ROWS + to.nrows();
        let mut by_features = Array2::zeros((rows.len(), r));
        let mut weighted = Array2::zeros((rows.len(), r));
        for one in found {
            let half = one.half.slice_axis(Axis(0), rows.clone().into());
            for (((i, half), mut to), mut by) in
                rows.clone().zip(half.rows()).zip(weighted.rows_mut()).zip(by_features.rows_mut())
            {
                let scale = share / level[i].sqrt();
                to.zip_mut_with(&half, |to, x| *to = -scale * one.precision[i] * x);
                by.scaled_add(scale * one.slope[i], &one.mean);
            }
            triangle::add_times_transpose(
                &weighted.view(),
                &one.root.view(),
                &mut by_features.view_mut(),
            );
        }
        for ((i, mut by), psi) in rows
            .clone()
            .zip(by_features.rows_mut())
            .zip(features.slice_axis(Axis(0), rows.clone().into()).rows())
        {
            by.scaled_add(-2.0 * by_variances[i], &psi);
            by.scaled_add(-2.0 * by_mean, &mean);
        }
        if is_triangle {
            triangle::add_times_transpose(&by_features.view(), &factors, to);
        } else {
            general_mat_mul(1.0, &by_features, &factors.t(), 0.0, to);
        }
        control.check()
    })?;
    drop(parts);
    // The sum over the rows of derivatives by features times features: with its sites the precision of w is the inverse of R Rᵀ.
    let mut weighted = features.to_owned();
    for (mut row, by) in weighted.rows_mut().into_iter().zip(by_variances) {
        row *= -2.0 * by;
    }
    let mut sums = Array2::zeros((r, r));
    triangle::product(&weighted.view(), &features, &mut sums);
    sums.diag_mut().map_inplace(|x| *x -= share * found.len() as f64);
    for one in found {
        sums.scaled_add(share, &triangle::times_own_transpose(&one.root));
        add_square(share, &one.mean, &mut sums);
    }
    add_square(-2.0 * by_mean * m as f64, &mean, &mut sums);
    for (i, j) in (0..r).flat_map(|i| (0..i).map(move |j| (i, j))) {
        sums[[i, j]] = sums[[j, i]];
    }
    general_mat_mul(-0.5, &factors.dot(&sums), &factors.t(), 0.0, &mut by_gram);
    Ok(by_values)
}

/// Adds a multiple of `x xᵀ` to the upper triangle of a matrix.
fn add_square(factor: f64, x: &Array1<f64>, to: &mut Array2<f64>) {
    for (i, mut row) in to.rows_mut().into_iter().enumerate() {
        let (_, rest) = x.view().split_at(Axis(0), i);
        row.slice_axis_mut(Axis(0), (i..).into()).scaled_add(factor * x[i], &rest);
    }
}

/// Returns the triangle T and the features `values T` for kernel values of m examples with n landmarks, where `matrix`, that of
/// the landmarks, is `(T Tᵀ)⁻¹`. [`Error::Breakdown`](crate::Error::Breakdown) if it is not positive definite.
pub fn whiten(
    mut matrix: Array2<f64>,
    values: &ArrayView2<f64>,
) -> Result<(Array2<f64>, Array2<f64>)> {
    let mut inverse = Array2::zeros(matrix.raw_dim());
    triangle::factor(&mut matrix)?;
    triangle::invert(&matrix, &mut inverse);
    let mut features = Array2::zeros(values.raw_dim());
    triangle::times_upper(values, &inverse, &mut features.view_mut());
    Ok((inverse, features))
}

/// The posterior with the sites: its covariance is a root times its transpose, its mean the root times what is solved.
struct Posterior {
    /// Upper triangle of the factor of the precision.
    factor: Array2<f64>,
    root: Array2<f64>,
    /// Rows times the root.
    half: Array2<f64>,
    solved: Vec<f64>,
}

impl Posterior {
    fn new((m, r): (usize, usize)) -> Self {
        let [factor, root] = [(); 2].map(|()| Array2::zeros((r, r)));
        Self { factor, root, half: Array2::zeros((m, r)), solved: vec![0.0; r] }
    }

    /// Moves to the sites of rows that are to be multiplied by signs.
    fn set(
        &mut self,
        rows: &ArrayView2<f64>,
        signs: &[f64],
        sites: &[Site],
        pool: &WorkerPool,
    ) -> Result<()> {
        // Parts that do not depend on the number of threads: sums are rounded alike.
        let n = ROWS.max(rows.nrows().div_ceil(PARTS));
        let part =
            |k: usize| rows.slice_axis(Axis(0), (k * n..rows.nrows().min((k + 1) * n)).into());
        let mut parts: Vec<_> = self.half.axis_chunks_iter_mut(Axis(0), n).collect();
        let sums = pool.each(&mut parts, |k, half| {
            let sites = &sites[k * n..];
            for ((mut to, row), site) in half.rows_mut().into_iter().zip(part(k).rows()).zip(sites)
            {
                to.zip_mut_with(&row, |to, x| *to = site.precision * x);
            }
            let mut sum = Array2::zeros(self.factor.raw_dim());
            triangle::product(&half.view(), &part(k), &mut sum);
            Ok(sum)
        })?;
        self.factor.fill(0.0);
        self.factor.diag_mut().fill(1.0);
        sums.iter().for_each(|sum| self.factor += sum);
        triangle::factor(&mut self.factor)?;
        triangle::invert(&self.factor, &mut self.root);
        pool.each(&mut parts, |k, half| {
            triangle::times_upper(&part(k), &self.root, half);
            Ok(())
        })?;
        self.solved.fill(0.0);
        let half = self.half.as_slice().expect("row-major");
        for ((row, sign), site) in half.chunks_exact(self.solved.len()).zip(signs).zip(sites) {
            axpy(sign * site.shift, row, &mut self.solved);
        }
        Ok(())
    }

    /// Mean and variance of the value of each row, not multiplied by a sign.
    fn moments(&self) -> impl Iterator<Item = [f64; 2]> {
        let half = self.half.as_slice().expect("row-major");
        half.chunks_exact(self.solved.len()).map(|row| [dot(row, &self.solved), dot(row, row)])
    }

    /// Logarithm of the integral of the sites, without what belongs to single examples.
    fn log_integral(&self) -> f64 {
        let log_pivots = self.factor.diag().iter().map(|x| x.ln()).sum::<f64>();
        0.5 * dot(&self.solved, &self.solved) - log_pivots
    }
}

impl Problems<'_> {
    /// The interval of an example's value, in units of the noise.
    fn interval(&self, i: usize) -> [f64; 2] {
        self.intervals.map_or([0.0, f64::INFINITY], |intervals| {
            [0, 1].map(|end| intervals[[i, end]] / self.level[i].sqrt())
        })
    }

    fn approximation(
        &self,
        k: usize,
        rows: &ArrayView2<f64>,
        mut sites: Vec<Site>,
        pool: &WorkerPool,
    ) -> Result<Approximation> {
        let positive = self.positive.row(k);
        let signs: Vec<f64> = positive.iter().map(|&is| if is { 1.0 } else { -1.0 }).collect();
        let is_noisy = self.noise.iter().any(|&rate| rate != 0.0);
        let (mut floors, mut spans) = (Vec::new(), Vec::new());
        if is_noisy {
            floors.extend(positive.iter().map(|&is| self.noise[usize::from(!is)]));
            spans.resize(floors.len(), 1.0 - self.noise[0] - self.noise[1]);
        }
        let (law, n_contrasts) =
            if self.intervals.is_some() { (Law::Interval, 2) } else { (Law::OneWall, 1) };
        let observed = Observed { law, n_contrasts, noise: [&floors, &spans] };
        let intervals: Vec<[f64; 2]> = (0..sites.len()).map(|i| self.interval(i)).collect();
        let mut posterior = Posterior::new(rows.dim());
        let mut tilted = Vec::new();
        let (mut size, mut moved) = (if is_noisy { NOISY_STEP } else { 1.0 }, 0.0);
        let (mut value, mut converged) = (f64::NEG_INFINITY, false);
        for sweep in 0..SWEEPS {
            pool.control.check()?;
            if let Err(error) = posterior.set(rows, &signs, &sites, pool) {
                if !is_noisy || sweep == SWEEPS - 1 {
                    return Err(error);
                }
                // Halfway to flat sites, for which the posterior is proper.
                let flat = Site { precision: 0.0, shift: 0.0 };
                sites.iter_mut().for_each(|site| *site = site.moved(0.5, flat));
                continue;
            }
            let of_signs = posterior.moments().zip(&signs);
            let moments: Vec<_> =
                of_signs.map(|([mean, variance], sign)| [sign * mean, variance]).collect();
            tilted = tilt(&observed, &intervals, &sites, &moments);
            let before = value;
            value = posterior.log_integral() + tilted.iter().map(|one| one.value).sum::<f64>();
            let step = value - before;
            converged = step.abs() < self.change;
            if converged || !value.is_finite() {
                break;
            }
            if step.is_finite() {
                if step * moved < 0.0 && step.abs() > 0.5 * f64::abs(moved) {
                    size = f64::max(size * DAMPING, SMALLEST_STEP);
                }
                moved = step;
            }
            for (site, tilted) in sites.iter_mut().zip(&tilted) {
                *site = site.moved(size, tilted.site);
            }
        }
        let mut by_noise = [0.0; 2];
        for (one, &positive) in tilted.iter().zip(positive) {
            let [wrong, right] = one.by_noise();
            by_noise[0] += if positive { wrong } else { right };
            by_noise[1] += if positive { right } else { wrong };
        }
        let slope = |i: usize| sites[i].shift - sites[i].precision * tilted[i].mean;
        let by_level = |i: usize| {
            let of_row = slope(i) * tilted[i].mean - sites[i].precision * tilted[i].variance;
            -0.5 * (of_row + tilted[i].by_ends) / self.level[i]
        };
        Ok(Approximation {
            log_evidence: value,
            converged,
            precision: sites.iter().map(|site| site.precision).collect(),
            shift: sites.iter().map(|site| site.shift).collect(),
            left_out: tilted.iter().map(|one| one.left_out()).collect(),
            by_noise,
            by_level: (0..sites.len()).map(by_level).collect(),
            by_thresholds: tilted.iter().map(|one| one.by_ends).sum(),
            slope: (0..sites.len()).map(|i| signs[i] * slope(i)).collect(),
            mean: posterior.root.dot(&ArrayView1::from(&posterior.solved)),
            root: posterior.root,
            half: posterior.half,
        })
    }
}
