//! The inverse of a positive definite Gram matrix, by a Cholesky factor that the caller has made.

use pulp::Arch;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::base::{Control, Error, Result};
use crate::linalg::factor::{Draw, Isotropic};
use crate::simd::dot;

/// Products with the inverse that find its largest eigenvalue, relative to its diagonal, well enough.
const POWERS: usize = 6;

/// The inverse Q of a positive definite Gram matrix A, by a Cholesky factor made elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Inverse<'a> {
    /// Row j holds column j of L in `A = L Lᵀ`, from its diagonal entry on; what is left of that is not looked at.
    columns: &'a [f64],
    /// Q_ii, shape (m,).
    diagonal: &'a [f64],
    arch: Arch,
}

impl<'a> Inverse<'a> {
    /// Borrows the columns of L, row-major (m, m), and the diagonal of A⁻¹, shape (m,).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the shapes do not fit or a diagonal entry of either is not positive and finite.
    pub fn new(columns: &'a [f64], diagonal: &'a [f64]) -> Result<Self> {
        let m = diagonal.len();
        if columns.len() != m * m {
            let got = format!("{} entries", columns.len());
            return Err(Error::invalid("factor", got, "as many as m x m"));
        }
        let own = columns.iter().step_by(m + 1).chain(diagonal);
        if let Some(&bad) = own.clone().find(|x| !(**x > 0.0 && x.is_finite())) {
            return Err(Error::invalid("factor", bad, "positive and finite on its diagonal"));
        }
        Ok(Self { columns, diagonal, arch: Arch::new() })
    }

    /// Number of examples m.
    pub(crate) fn len(&self) -> usize {
        self.diagonal.len()
    }

    /// Q_ii, shape (m,).
    pub(crate) fn diagonal(&self) -> &'a [f64] {
        self.diagonal
    }

    /// The instruction set chosen for this machine.
    pub(crate) fn arch(&self) -> Arch {
        self.arch
    }

    /// Column j of L from its diagonal entry on.
    fn column(&self, j: usize) -> &'a [f64] {
        let m = self.len();
        &self.columns[j * m + j..(j + 1) * m]
    }

    /// `x ← A⁻¹ x` for several vectors in two sweeps through the factor.
    pub(crate) fn solve(&self, vectors: &mut [Vec<f64>], control: &Control) -> Result<()> {
        for j in 0..self.len() {
            if j % 64 == 0 {
                control.check()?;
            }
            let column = self.column(j);
            for x in &mut *vectors {
                let (head, tail) = x[j..].split_at_mut(1);
                head[0] /= column[0];
                dot::axpy(self.arch, -head[0], &column[1..], tail);
            }
        }
        for j in (0..self.len()).rev() {
            if j % 64 == 0 {
                control.check()?;
            }
            for x in &mut *vectors {
                self.back_step(j, x);
            }
        }
        Ok(())
    }

    /// Entry j of `L⁻ᵀ x` in the place of x_j, those after it being done.
    fn back_step(&self, j: usize, x: &mut [f64]) {
        let column = self.column(j);
        let (head, tail) = x[j..].split_at_mut(1);
        head[0] = (head[0] - dot::dot(self.arch, &column[1..], tail)) / column[0];
    }

    /// The share s of the way to the conditional means that all coordinates can be moved at once without going too far in
    /// any direction: one over the largest eigenvalue of `D^-½ Q D^-½`, where D holds the diagonal of Q.
    pub(crate) fn share(&self, control: &Control) -> Result<f64> {
        let scale: Vec<f64> = self.diagonal.iter().map(|q| q.sqrt().recip()).collect();
        // Any vector that is not special: the fractional parts of multiples of the golden ratio.
        let mut x: Vec<f64> =
            (0..self.len()).map(|i| (i as f64 * 0.618_033_988_749_895).fract() - 0.4).collect();
        let mut largest = 1.0_f64;
        for _ in 0..POWERS {
            let norm = dot::dot(self.arch, &x, &x).sqrt();
            let mut next: Vec<f64> = x.iter().zip(&scale).map(|(x, d)| x / norm * d).collect();
            self.solve(std::slice::from_mut(&mut next), control)?;
            for (x, d) in next.iter_mut().zip(&scale) {
                *x *= d;
            }
            largest = largest.max(dot::dot(self.arch, &next, &next).sqrt());
            x = next;
        }
        Ok(largest.recip())
    }
}

impl Isotropic for Inverse<'_> {
    fn draw(&self, mut rng: &mut dyn Rng) -> Draw {
        let m = self.len();
        let mut dual: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(m).collect();
        let square = dot::dot(self.arch, &dual, &dual);
        let mut field = vec![0.0; m];
        for j in 0..m {
            dot::axpy(self.arch, dual[j], self.column(j), &mut field[j..]);
        }
        for j in (0..m).rev() {
            self.back_step(j, &mut dual);
        }
        Draw { dual, field, square }
    }
}
