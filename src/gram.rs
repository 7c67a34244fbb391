//! The Gram matrix: rows on demand, borrowed, with shifts that cost nothing.

use pulp::Arch;

use crate::control::Control;
use crate::dot;
use crate::error::{Error, Result};

/// Squared lengths of feature vectors whose products, up to four at a time under a root, are in the range of doubles.
const LENGTHS: std::ops::RangeInclusive<f64> = 1e-150..=1e150;

/// A borrowed dense Gram matrix `K_ij + offset + λ_i δ_ij`, never copied and never signed.
///
/// `offset = 1` is the intercept (each feature vector gets a constant coordinate 1); `λ` is the softness of
/// the boundary (Herbrich et al., sec. 5), one value per example so that class weights fit in.
/// Labels do not enter: they cancel in the flight times, so one matrix serves every labeling and thread.
#[derive(Clone, Debug)]
pub struct Gram<'a> {
    values: &'a [f64],
    m: usize,
    offset: f64,
    softness: Vec<f64>,
    arch: Arch,
}

/// How carefully `K c` is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// As floating point numbers are: for statistics.
    Plain,
    /// As if in twice the precision, several times the work: for the ball itself. On ill-conditioned matrices c is large
    /// and `K c` small, and the rounding of a plain sum, times c again, would show in `|w|² = cᵀ K c`.
    Compensated,
}

impl<'a> Gram<'a> {
    /// Borrows a row-major m x m matrix.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the matrix is empty or not square, holds NaN or infinity, is not symmetric to
    /// 1e-8 of its largest diagonal entry; when `offset` or a softness is negative or not finite, their number
    /// is not m, or a diagonal entry with both added is not between 1e-150 and 1e150.
    pub fn new(values: &'a [f64], offset: f64, softness: Vec<f64>) -> Result<Self> {
        let m = softness.len();
        if m == 0 {
            return Err(Error::invalid("gram", "no example", "a matrix with at least one row"));
        }
        if values.len() != m * m {
            let got = format!("{} values for {m} softness values", values.len());
            return Err(Error::invalid("gram", got, "a square matrix with one softness per row"));
        }
        if !(offset.is_finite() && offset >= 0.0) {
            return Err(Error::invalid("offset", offset, "finite and >= 0"));
        }
        if let Some(bad) = softness.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
            return Err(Error::invalid("softness", bad, "finite and >= 0"));
        }
        let gram = Self { values, m, offset, softness, arch: Arch::new() };
        gram.check_entries()?;
        Ok(gram)
    }

    fn check_entries(&self) -> Result<()> {
        let m = self.m;
        if let Some(at) = self.values.iter().position(|x| !x.is_finite()) {
            let got = format!("{} at row {}, column {}", self.values[at], at / m, at % m);
            return Err(Error::invalid("gram", got, "finite"));
        }
        let largest = (0..m).map(|i| self.values[i * m + i].abs()).fold(0.0, f64::max);
        // Tiles keep both the rows and the columns that are compared in cache.
        const TILE: usize = 64;
        for i0 in (0..m).step_by(TILE) {
            for j0 in (0..=i0).step_by(TILE) {
                for i in i0..(i0 + TILE).min(m) {
                    for j in j0..(j0 + TILE).min(i) {
                        let (a, b) = (self.values[i * m + j], self.values[j * m + i]);
                        if (a - b).abs() > 1e-8 * largest {
                            let got = format!("{a} at ({i}, {j}) and {b} at ({j}, {i})");
                            return Err(Error::invalid("gram", got, "symmetric"));
                        }
                    }
                }
            }
        }
        for i in 0..m {
            let d = self.diagonal(i);
            if !LENGTHS.contains(&d) {
                let got = format!("diagonal {d:e} at {i} (offset and softness added)");
                let wanted = "a matrix with a diagonal between 1e-150 and 1e150";
                return Err(Error::invalid("gram", got, wanted));
            }
        }
        Ok(())
    }

    /// Number of examples m.
    pub fn len(&self) -> usize {
        self.m
    }

    /// False: a Gram matrix has at least one row.
    pub fn is_empty(&self) -> bool {
        self.m == 0
    }

    /// Row i without the shifts, length m.
    #[inline]
    pub fn row(&self, i: usize) -> &'a [f64] {
        &self.values[i * self.m..(i + 1) * self.m]
    }

    /// The constant added to every entry.
    #[inline]
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// λ of each example, shape (m,).
    pub fn softness(&self) -> &[f64] {
        &self.softness
    }

    /// Entry (i, j) with the shifts.
    #[inline]
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        let shift = if i == j { self.softness[i] } else { 0.0 };
        self.values[i * self.m + j] + self.offset + shift
    }

    /// Entry (i, i) with the shifts: the squared length of the i-th feature vector.
    #[inline]
    pub fn diagonal(&self, i: usize) -> f64 {
        self.entry(i, i)
    }

    /// The instruction set chosen for this machine.
    pub(crate) fn arch(&self) -> Arch {
        self.arch
    }

    /// Plane coordinates `K c` of several vectors at once: `out[k] = K duals[k]`, each of length m.
    ///
    /// One sweep through the matrix serves all vectors.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] when the caller asks to stop.
    ///
    /// # Panics
    ///
    /// When a vector's length is not m.
    pub fn multiply(
        &self,
        duals: &[&[f64]],
        out: &mut [&mut [f64]],
        precision: Precision,
        control: &Control,
    ) -> Result<()> {
        let product = match precision {
            Precision::Plain => dot::dot,
            Precision::Compensated => dot::dot_compensated,
        };
        let lifts: Vec<f64> = duals.iter().map(|c| self.offset * c.iter().sum::<f64>()).collect();
        for i in 0..self.m {
            if i % 64 == 0 {
                control.check()?;
            }
            let row = self.row(i);
            for ((c, f), lift) in duals.iter().zip(out.iter_mut()).zip(&lifts) {
                f[i] = product(self.arch, row, c) + (lift + self.softness[i] * c[i]);
            }
        }
        Ok(())
    }
}
