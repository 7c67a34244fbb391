//! The inverse of a positive definite Gram matrix, from a given Cholesky factor.

use std::array;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::factor::{Draw, Isotropic};
use crate::base::{Control, Result, check_length, require};
use crate::gram::{Gram, Planes};
use crate::simd::dot;
use crate::simd::tile::{self, SHARING};

/// Power iterations for the largest eigenvalue.
const POWER_ITERATIONS: usize = 6;

/// Columns of the factor that are read together, and panels of them between two checks of the stop flag.
const PANEL: usize = 4;
const CHECK_EVERY: usize = 16;

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
    /// The planes, where they are not those of single examples.
    planes: Option<&'a Planes>,
}

impl<'a> Inverse<'a> {
    /// Borrows `Lᵀ`, row-major (m, m), and the (m,) diagonal of A⁻¹. [`crate::Error::Invalid`] unless positive, finite, and
    /// of a size.
    pub fn new(columns: &'a [f64], diagonal: &'a [f64]) -> Result<Self> {
        let m = diagonal.len();
        check_length("factor", columns.len(), m * m)?;
        for x in columns.iter().step_by(m + 1).chain(diagonal) {
            let wanted = "positive and finite on its diagonal";
            require(*x > 0.0 && x.is_finite(), "factor", x, wanted)?;
        }
        Ok(Self { columns, diagonal, planes: None })
    }

    /// Returns the inverse of the matrix of all planes, given that of the examples.
    pub(crate) fn of_planes(self, gram: &'a Gram) -> Self {
        Self { planes: gram.planes(), ..self }
    }

    pub(crate) fn len(&self) -> usize {
        self.planes.map_or(self.examples(), Planes::len)
    }

    fn examples(&self) -> usize {
        self.diagonal.len()
    }

    /// The inverse of the matrix of the coordinates of walls; that of the planes, if there are no walls.
    pub(crate) fn of_coordinates(self) -> Self {
        Self { planes: self.planes.filter(|planes| planes.walls().is_none()), ..self }
    }

    /// The diagonal of Q, one number for each plane; not for walls, whose matrix has no inverse.
    pub(crate) fn diagonal(&self) -> impl Iterator<Item = f64> + Clone {
        let classes = self.planes.and_then(Planes::classes);
        let share = classes.map_or(1.0, |classes| 1.0 - (classes.n_classes as f64).recip());
        (0..self.len()).map(move |plane| match classes {
            None => self.diagonal[plane],
            Some(classes) => share * self.diagonal[classes.of(plane).0],
        })
    }

    /// `x ← A⁻¹ x` for several vectors, in two passes over the factor.
    pub(crate) fn solve(&self, vectors: &mut [Vec<f64>], control: &Control) -> Result<()> {
        let Some(planes) = self.planes else { return self.solve_of_examples(vectors, control) };
        let n = planes.functions();
        let mut functions: Vec<Vec<f64>> =
            vectors.iter().flat_map(|field| planes.function_fields(field)).collect();
        self.solve_of_examples(&mut functions, control)?;
        for (x, functions) in vectors.iter_mut().zip(functions.chunks_exact(n)) {
            *x = planes.plane_duals(functions);
        }
        Ok(())
    }

    fn solve_of_examples(&self, vectors: &mut [Vec<f64>], control: &Control) -> Result<()> {
        let (fours, rest) = vectors.as_chunks_mut();
        let panels = (0..self.examples()).step_by(PANEL).enumerate();
        for (panel, first) in panels.clone() {
            if panel % CHECK_EVERY == 0 {
                control.check()?;
            }
            fours.iter_mut().for_each(|xs| self.forward::<SHARING>(first, xs));
            rest.iter_mut().for_each(|x| self.forward(first, array::from_mut(x)));
        }
        for (panel, first) in panels.rev() {
            if panel % CHECK_EVERY == 0 {
                control.check()?;
            }
            fours.iter_mut().for_each(|xs| self.backward::<SHARING>(first, xs));
            rest.iter_mut().for_each(|x| self.backward(first, array::from_mut(x)));
        }
        Ok(())
    }

    /// The columns of the panel that begins with column `first`: their entries within its rows, and those below.
    fn panel(&self, first: usize) -> ([&'a [f64]; PANEL], [&'a [f64]; PANEL]) {
        let m = self.examples();
        let end = (first + PANEL).min(m);
        // Beyond the last column of the matrix there is nothing to read.
        let column = |k: usize| {
            let row = (first + k < m).then(|| &self.columns[(first + k) * m..][..m]);
            row.map_or((&[][..], &[][..]), |row| (&row[first..end], &row[end..]))
        };
        let columns: [_; PANEL] = array::from_fn(column);
        (columns.map(|(top, _)| top), columns.map(|(_, below)| below))
    }

    /// The steps of `x ← L⁻¹ x` for the columns of a panel.
    fn forward<const V: usize>(&self, first: usize, vectors: &mut [Vec<f64>; V]) {
        let (top, below) = self.panel(first);
        let n = top[0].len();
        let mut factors = [[0.0; PANEL]; V];
        for (x, factors) in vectors.iter_mut().zip(&mut factors) {
            let head = &mut x[first..first + n];
            for k in 0..n {
                head[k] /= top[k][k];
                for i in k + 1..n {
                    head[i] -= head[k] * top[k][i];
                }
                factors[k] = -head[k];
            }
        }
        if !below[0].is_empty() {
            let tails = vectors.each_mut().map(|x| &mut x[first + n..]);
            tile::add_multiples(below, factors, tails);
        }
    }

    /// The steps of `x ← L⁻ᵀ x` for the columns of a panel, after those of all later panels.
    fn backward<const V: usize>(&self, first: usize, vectors: &mut [Vec<f64>; V]) {
        let (top, below) = self.panel(first);
        let n = top[0].len();
        let sums = if below[0].is_empty() {
            [[0.0; V]; PANEL]
        } else {
            let tails = vectors.each_ref().map(|x| &x[first + n..]);
            let [a, b, c, d] = below;
            let [two, more] = [[a, b], [c, d]].map(|rows| tile::products(rows, tails));
            [two[0], two[1], more[0], more[1]]
        };
        for (v, x) in vectors.iter_mut().enumerate() {
            let head = &mut x[first..first + n];
            for k in (0..n).rev() {
                let later: f64 = (k + 1..n).map(|i| top[k][i] * head[i]).sum();
                head[k] = (head[k] - sums[k][v] - later) / top[k][k];
            }
        }
    }

    /// Returns the vector of the examples' span with orthonormal coordinates ξ.
    fn vector(&self, mut dual: Vec<f64>) -> Draw {
        let m = self.examples();
        let square = dot::dot(&dual, &dual);
        let mut field = vec![0.0; m];
        // Both products in one pass over the factor, whose reading takes most of the time.
        for first in (0..m).step_by(PANEL).rev() {
            let (top, below) = self.panel(first);
            let (head, tail) = field[first..].split_at_mut(top[0].len());
            let mut factors = [0.0; PANEL];
            for k in 0..head.len() {
                factors[k] = dual[first + k];
                for i in k..head.len() {
                    head[i] += factors[k] * top[k][i];
                }
            }
            if !tail.is_empty() {
                tile::add_multiples(below, [factors], [tail]);
            }
            self.backward(first, array::from_mut(&mut dual));
        }
        Draw { dual, field, square }
    }

    /// Returns the largest share of the way to the conditional means that all coordinates can move at once without overshooting
    /// in any direction: one over the largest eigenvalue of `D^-½ Q D^-½`, D the diagonal of Q, by power iteration.
    pub(crate) fn share(&self, control: &Control) -> Result<f64> {
        let scale: Vec<f64> = self.diagonal().map(|q| q.sqrt().recip()).collect();
        // A generic start: the fractional parts of multiples of the golden ratio.
        let mut x: Vec<f64> =
            (0..self.len()).map(|i| (i as f64 * 0.618_033_988_749_895).fract() - 0.4).collect();
        let mut largest = 1.0_f64;
        for _ in 0..POWER_ITERATIONS {
            let norm = dot::dot(&x, &x).sqrt();
            let mut next: Vec<f64> = x.iter().zip(&scale).map(|(x, d)| x / norm * d).collect();
            self.solve(std::slice::from_mut(&mut next), control)?;
            for (x, d) in next.iter_mut().zip(&scale) {
                *x *= d;
            }
            largest = largest.max(dot::dot(&next, &next).sqrt());
            x = next;
        }
        Ok(largest.recip())
    }
}

impl Isotropic for Inverse<'_> {
    fn draw(&self, mut rng: &mut dyn Rng) -> Draw {
        let m = self.examples();
        let n = self.planes.map_or(1, Planes::functions);
        let mut xi: Vec<f64> = StandardNormal.sample_iter(&mut rng).take(n * m).collect();
        let Some(planes) = self.planes else { return self.vector(xi) };
        planes.take_off_common(&mut xi, m);
        let each: Vec<Draw> = xi.chunks_exact(m).map(|xi| self.vector(xi.to_vec())).collect();
        let square = each.iter().map(|one| one.square).sum();
        let (duals, fields): (Vec<_>, Vec<_>) =
            each.into_iter().map(|one| (one.dual, one.field)).unzip();
        Draw { dual: planes.plane_duals(&duals), field: planes.plane_field(&fields), square }
    }
}
