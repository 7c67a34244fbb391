//! Values of sums of kernels between points, kept for the derivatives of what is made of them.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::Deserialize;

use super::triangle::part;
use crate::base::{Control, Result};
use crate::simd::distance::{Columns, ROWS, Radial};
use crate::simd::dot::dot;

/// What a kernel is a function of.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// The sum of absolute differences.
    #[serde(rename = "city block")]
    CityBlock,
    /// The Euclidean distance.
    Distance,
    /// The inner product.
    Product,
}

/// A kernel of points whose features are multiplied by factors.
pub struct Summand {
    /// What it is a function of.
    pub measure: Measure,
    /// Factor of the kernel.
    pub factor: f64,
    /// Factors of the features, shape (d,).
    pub scale: Vec<f64>,
    /// Of distances r: its values, and `-2 dk / d(r²)`, or `-dk/dr` of city blocks.
    pub radial: Radial<2>,
}

/// Points whose kernel values with the first of them are wanted, for many factors.
///
/// Differences of the last features count as their limits at most: these are categories, in inner products indicator vectors of
/// the length `limit / √2`.
pub struct KernelPlan {
    /// Shape (n + m, d): n landmarks, then m examples.
    pub points: Array2<f64>,
    /// Number n of landmarks.
    pub n_landmarks: usize,
    /// Of the last features.
    pub limits: Vec<f64>,
    /// The kernels that are added, with any factors.
    pub summands: Vec<Summand>,
}

impl Summand {
    /// Its value for equal points, divided by the factor, but for what numbers add to inner products.
    pub fn at_zero(&self, limits: &[f64]) -> f64 {
        let of_limits = self.scale[self.scale.len() - limits.len()..].iter().zip(limits);
        match self.measure {
            Measure::Product => 0.5 * of_limits.map(|(s, limit)| (s * limit).powi(2)).sum::<f64>(),
            _ => self.radial.terms[0][0],
        }
    }
}

/// A summand's part of the values, without its factor.
struct Addend {
    measure: Measure,
    factor: f64,
    /// Points and limits times the factors of the features.
    points: Array2<f64>,
    limits: Vec<f64>,
    n_landmarks: usize,
    /// Features before it are multiplied, those from it on have distances.
    first: usize,
    /// Values and derivatives of functions of distances, shape (n + m, n); empty without distances.
    values: Array2<f64>,
    radial: Array2<f64>,
    /// Value of these functions for equal points.
    at_zero: f64,
}

/// The values of a sum of kernels.
pub struct KernelSum {
    parts: Vec<Addend>,
}

/// Derivatives by the logarithms of a summand's factor, and of its (d,) factors of the features.
pub type BySummand = (f64, Vec<f64>);

impl KernelPlan {
    /// Returns the sum for factors of the kernels, and for (number of kernels, d) factors of the features.
    pub fn sum(
        &self,
        factors: &[f64],
        scales: &ArrayView2<f64>,
        control: &Control,
    ) -> Result<KernelSum> {
        let each = self.summands.iter().zip(factors).zip(scales.rows());
        let parts = each.map(|((summand, &factor), scale)| {
            self.part(&Summand { factor, scale: scale.to_vec(), ..*summand }, control)
        });
        Ok(KernelSum { parts: parts.collect::<Result<_>>()? })
    }

    fn part(&self, summand: &Summand, control: &Control) -> Result<Addend> {
        let &Summand { measure, factor, ref scale, radial: mut of } = summand;
        let (n, d) = (self.n_landmarks, scale.len());
        let (points, n_numbers) = (&self.points * &ArrayView1::from(scale), d - self.limits.len());
        let of_limits = self.limits.iter().zip(&scale[n_numbers..]);
        let limits: Vec<f64> = of_limits.map(|(a, b)| a * b).collect();
        let at_zero = summand.at_zero(&self.limits);
        let mut first = 0;
        if measure == Measure::Product {
            first = n_numbers;
            of = Radial { rate: 0.0, terms: [[at_zero, 0.0, -0.5], [1.0, 0.0, 0.0]] };
        }
        let shape = if first < d { (points.nrows(), n) } else { (0, 0) };
        let [mut values, mut radial] = [(); 2].map(|()| Array2::zeros(shape));
        if first < d {
            let [rows, columns] = distant(&points, n, first);
            let columns = Columns::new(&columns, n, d - first, &limits);
            let [values, radial] = [&mut values, &mut radial]
                .map(|values| values.as_slice_mut().expect("row-major").chunks_mut(ROWS * n));
            for ((rows, values), radial) in rows.chunks(ROWS * (d - first)).zip(values).zip(radial)
            {
                control.check()?;
                let city_block = measure == Measure::CityBlock;
                columns.values(rows, n, city_block, of, [values, radial]);
            }
        }
        Ok(Addend {
            measure,
            factor,
            points,
            limits,
            n_landmarks: n,
            first,
            values,
            radial,
            at_zero,
        })
    }
}

impl KernelSum {
    /// The (n + m, n) values with the landmarks.
    pub fn values(&self) -> Array2<f64> {
        let mut sum = Array2::zeros(self.shape());
        for addend in &self.parts {
            if addend.first > 0 {
                let [rows, columns] = addend.multiplied();
                general_mat_mul(addend.factor, &rows, &columns.t(), 1.0, &mut sum);
            }
            if !addend.values.is_empty() {
                sum.scaled_add(addend.factor, &addend.values);
            }
        }
        sum
    }

    /// Their shape (n + m, n).
    pub fn shape(&self) -> (usize, usize) {
        (self.parts[0].points.nrows(), self.parts[0].n_landmarks)
    }

    /// The (m,) values of the examples with themselves.
    pub fn own(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.parts[0].examples().nrows()];
        for addend in &self.parts {
            for (to, x) in sum.iter_mut().zip(addend.examples().rows()) {
                let square = x.iter().map(|x| x * x).sum::<f64>();
                *to += addend.factor * (square + addend.at_zero);
            }
        }
        sum
    }

    /// Returns the derivatives of a number, given the (n + m, n) and the (m,) ones by these values.
    pub fn slopes(
        &self,
        by_values: &ArrayView2<f64>,
        by_own: &ArrayView1<f64>,
        control: &Control,
    ) -> Result<Vec<BySummand>> {
        let by_values = by_values.as_standard_layout();
        self.parts.iter().map(|part| part.slopes(&by_values.view(), by_own, control)).collect()
    }
}

/// Returns the features from `first` on of all points, and of the n landmarks, in rows one after the other.
fn distant(points: &Array2<f64>, n: usize, first: usize) -> [Vec<f64>; 2] {
    [points.nrows(), n].map(|n| part(points.view(), ..n, first..).iter().copied().collect())
}

impl Addend {
    /// The features of the examples that are multiplied.
    fn examples(&self) -> ArrayView2<'_, f64> {
        part(self.points.view(), self.n_landmarks.., ..self.first)
    }

    /// The features of all points, and of the landmarks, that are multiplied.
    fn multiplied(&self) -> [ArrayView2<'_, f64>; 2] {
        let points = self.points.view();
        [points.nrows(), self.n_landmarks].map(|n| part(points, ..n, ..self.first))
    }

    fn slopes(
        &self,
        by_values: &ArrayView2<f64>,
        by_own: &ArrayView1<f64>,
        control: &Control,
    ) -> Result<BySummand> {
        let (factor, mut scale) = (self.factor, vec![0.0; self.points.ncols()]);
        let of_examples = factor * by_own.sum();
        let [rows, columns] = self.multiplied();
        let mut products = by_values.dot(&columns);
        let mut of_own = part(products.view_mut(), self.n_landmarks.., ..);
        let examples = self.examples();
        for ((mut to, x), by) in of_own.rows_mut().into_iter().zip(examples.rows()).zip(by_own) {
            to.scaled_add(*by, &x);
        }
        for (row, product) in rows.rows().into_iter().zip(products.rows()) {
            for ((to, x), y) in scale.iter_mut().zip(row).zip(product) {
                *to += 2.0 * factor * x * y;
            }
        }
        let mut by_factor = 0.5 * scale.iter().sum::<f64>() + of_examples * self.at_zero;
        if self.values.is_empty() {
            return Ok((by_factor, scale));
        }
        let [by, values, radial] = [by_values, &self.values.view(), &self.radial.view()]
            .map(|values| values.to_slice().expect("row-major"));
        by_factor += factor * dot(by, values);
        let (d, n) = (scale.len() - self.first, self.n_landmarks);
        let [rows, columns] = distant(&self.points, n, self.first);
        let columns = Columns::new(&columns, n, d, &self.limits);
        let weights = by.chunks(ROWS * n).zip(radial.chunks(ROWS * n));
        let mut sums = vec![0.0; d];
        for (rows, (by, radial)) in rows.chunks(ROWS * d).zip(weights) {
            control.check()?;
            let city_block = self.measure == Measure::CityBlock;
            columns.add_slopes(rows, city_block, [by, radial], &mut sums);
        }
        scale[self.first..].iter_mut().zip(sums).for_each(|(to, sum)| *to -= factor * sum);
        if self.measure == Measure::Product {
            let total = factor * by.iter().sum::<f64>() + of_examples;
            let of_limits = scale[self.first..].iter_mut().zip(&self.limits);
            of_limits.for_each(|(to, limit)| *to += total * limit * limit);
        }
        Ok((by_factor, scale))
    }
}
