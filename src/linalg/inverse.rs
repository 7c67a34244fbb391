//! The inverse of a positive definite Gram matrix, from a given Cholesky factor.

use pulp::Arch;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::base::{Control, Error, Result};
use crate::gram::{Gram, Planes};
use crate::linalg::factor::{Draw, Isotropic, take_off_mean};
use crate::simd::dot;

/// Power iterations for the largest eigenvalue.
const POWER_ITERATIONS: usize = 6;

/// The inverse Q of a positive definite Gram matrix A, represented by the Cholesky factor of A.
///
/// Where the planes are the walls between several classes, the factor is that of the matrix K of the examples. The dual basis of
/// the normals `ψ_ic` is that of the `φ_i` times `t_c = 1 / C - e_c`, so `Q_ic,ic = (K⁻¹)_ii (C - 1) / C`.
#[derive(Clone, Copy, Debug)]
pub struct Inverse<'a> {
    /// `Lᵀ`, where `A = L Lᵀ`, row-major (m, m). Entries below the diagonal are not read.
    columns: &'a [f64],
    /// Q_ii, shape (m,).
    diagonal: &'a [f64],
    /// The planes of several classes.
    planes: Option<&'a Planes>,
    arch: Arch,
}

impl<'a> Inverse<'a> {
    /// Borrows `Lᵀ`, row-major (m, m), and the diagonal of A⁻¹, shape (m,).
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the shapes do not match or a diagonal entry of either is not positive and finite.
    pub fn new(columns: &'a [f64], diagonal: &'a [f64]) -> Result<Self> {
        let m = diagonal.len();
        if columns.len() != m * m {
            let got = format!("{} entries", columns.len());
            return Err(Error::invalid("factor", got, "m x m"));
        }
        let diagonals = columns.iter().step_by(m + 1).chain(diagonal);
        if let Some(&bad) = diagonals.clone().find(|x| !(**x > 0.0 && x.is_finite())) {
            return Err(Error::invalid("factor", bad, "positive and finite on its diagonal"));
        }
        Ok(Self { columns, diagonal, planes: None, arch: Arch::new() })
    }

    /// Returns the inverse of the matrix of all planes, given that of the examples.
    pub(crate) fn of_planes(self, gram: &'a Gram<'_>) -> Self {
        Self { planes: gram.planes().map(|planes| &**planes), ..self }
    }

    /// Number of planes.
    pub(crate) fn len(&self) -> usize {
        self.examples() * self.planes.map_or(1, |planes| planes.n_classes() - 1)
    }

    /// Number of examples m.
    fn examples(&self) -> usize {
        self.diagonal.len()
    }

    /// The diagonal of Q, one number for each plane.
    pub(crate) fn diagonal(&self) -> impl Iterator<Item = f64> + Clone {
        let share = self.planes.map_or(1.0, |planes| 1.0 - (planes.n_classes() as f64).recip());
        (0..self.len()).map(move |plane| match self.planes {
            None => self.diagonal[plane],
            Some(planes) => share * self.diagonal[planes.of(plane).0],
        })
    }

    /// The instruction set of this machine.
    pub(crate) fn arch(&self) -> Arch {
        self.arch
    }

    /// Column j of L from its diagonal entry on.
    fn column(&self, j: usize) -> &'a [f64] {
        let m = self.examples();
        &self.columns[j * m + j..(j + 1) * m]
    }

    /// `x ← A⁻¹ x` for several vectors, in two passes over the factor.
    pub(crate) fn solve(&self, vectors: &mut [Vec<f64>], control: &Control) -> Result<()> {
        let Some(planes) = self.planes else { return self.solve_of_examples(vectors, control) };
        let n = planes.n_classes();
        let mut classes: Vec<Vec<f64>> =
            vectors.iter().flat_map(|field| planes.class_fields(field)).collect();
        self.solve_of_examples(&mut classes, control)?;
        for (x, classes) in vectors.iter_mut().zip(classes.chunks_exact(n)) {
            *x = planes.plane_duals(classes);
        }
        Ok(())
    }

    fn solve_of_examples(&self, vectors: &mut [Vec<f64>], control: &Control) -> Result<()> {
        for j in 0..self.examples() {
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
        for j in (0..self.examples()).rev() {
            if j % 64 == 0 {
                control.check()?;
            }
            for x in &mut *vectors {
                self.back_step(j, x);
            }
        }
        Ok(())
    }

    /// One step of the back substitution `x ← L⁻ᵀ x`: computes entry j from those after it.
    fn back_step(&self, j: usize, x: &mut [f64]) {
        let column = self.column(j);
        let (head, tail) = x[j..].split_at_mut(1);
        head[0] = (head[0] - dot::dot(self.arch, &column[1..], tail)) / column[0];
    }

    /// Returns the vector of the examples' span with orthonormal coordinates ξ.
    fn vector(&self, mut dual: Vec<f64>) -> Draw {
        let m = self.examples();
        let square = dot::dot(self.arch, &dual, &dual);
        let mut field = vec![0.0; m];
        // Both products in one pass over the factor, whose reading takes most of the time.
        for j in (0..m).rev() {
            dot::axpy(self.arch, dual[j], self.column(j), &mut field[j..]);
            self.back_step(j, &mut dual);
        }
        Draw { dual, field, square }
    }

    /// Returns the largest fraction of the way to the conditional means by which all coordinates can move at once without
    /// overshooting in any direction: one over the largest eigenvalue of `D^-½ Q D^-½`, where D is the diagonal of Q. Uses
    /// power iteration.
    pub(crate) fn share(&self, control: &Control) -> Result<f64> {
        let scale: Vec<f64> = self.diagonal().map(|q| q.sqrt().recip()).collect();
        // A generic start: the fractional parts of multiples of the golden ratio.
        let mut x: Vec<f64> =
            (0..self.len()).map(|i| (i as f64 * 0.618_033_988_749_895).fract() - 0.4).collect();
        let mut largest = 1.0_f64;
        for _ in 0..POWER_ITERATIONS {
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
        let m = self.examples();
        let n = self.planes.map_or(1, Planes::n_classes);
        let mut xi: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(n * m).collect();
        let Some(planes) = self.planes else { return self.vector(xi) };
        take_off_mean(&mut xi, m);
        let classes: Vec<Draw> = xi.chunks_exact(m).map(|xi| self.vector(xi.to_vec())).collect();
        let square = classes.iter().map(|class| class.square).sum();
        let (duals, fields): (Vec<_>, Vec<_>) =
            classes.into_iter().map(|class| (class.dual, class.field)).unzip();
        Draw { dual: planes.plane_duals(&duals), field: planes.plane_field(&fields), square }
    }
}
