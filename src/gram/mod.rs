//! The Gram matrix, with intercept and softness added.

mod classes;
mod dense;
mod planes;
mod walls;

use std::sync::Arc;

use pulp::Arch;

use crate::base::{Control, Result, check_length, require};
use crate::simd::{Entry, Precision, Row, dot};
pub use classes::ClassPlanes;
use dense::Dense;

pub use planes::{Joint, Planes};
pub use walls::{Wall, Walls};

/// Squared lengths of feature vectors. Roots of products of up to four of them neither overflow nor underflow.
const SQUARED_LENGTHS: std::ops::RangeInclusive<f64> = 1e-150..=1e150;

/// The rows of a symmetric matrix, without offset and softness. All rows of a source are of one kind.
#[derive(Debug)]
enum Source<'a> {
    /// In memory.
    Dense(Dense<'a>),
    /// Those of the walls between several classes, or of walls in general.
    Joint(Joint<'a>),
}

impl Source<'_> {
    /// Returns entry (i, j), with the same bits as in row i and in row j.
    #[inline]
    fn entry(&self, i: usize, j: usize) -> f64 {
        match self {
            Self::Dense(dense) => dense.entry(i, j),
            Self::Joint(joint) => joint.entry(i, j),
        }
    }
}

/// A Gram matrix `K_ij + offset + λ_i δ_ij`.
///
/// The rows of K are borrowed from a matrix of doubles or singles. All arithmetic is in doubles: singles perturb the entries of
/// an exact billiard by 6e-8.
///
/// `offset = 1` is the intercept: each feature vector gets a constant coordinate 1. `λ` is the softness of the boundary
/// (Herbrich et al., sec. 5), one value per example. Labels cancel in the flight times: all labelings share one matrix.
#[derive(Clone, Debug)]
pub struct Gram<'a> {
    source: Arc<Source<'a>>,
    offset: f64,
    softness: Vec<f64>,
    /// `K_ii + offset + λ_i`.
    diagonal: Vec<f64>,
    pub(crate) arch: Arch,
}

impl<'a> Gram<'a> {
    /// Borrows a row-major m x m matrix of doubles or of singles.
    ///
    /// [`crate::Error::Invalid`] when the matrix is empty, not square, not finite, or not symmetric to 1e-8 of its largest
    /// diagonal entry; for a negative or infinite `offset` or softness; or a diagonal entry with both not between 1e-150 and
    /// 1e150.
    pub fn new<E: Entry>(values: &'a [E], offset: f64, softness: Vec<f64>) -> Result<Self> {
        let m = softness.len();
        require(m > 0, "gram", "no example", "a matrix with at least one row")?;
        check_length("gram", values.len(), m * m)?;
        Self::from_source(Source::Dense(Dense::new(values, m)?), offset, softness)
    }

    /// Returns the Gram matrix of planes, given that of the examples or coordinates.
    pub(crate) fn of_planes(gram: Gram<'a>, planes: Planes) -> Result<Self> {
        let softness = vec![0.0; planes.len()];
        Self::from_source(Source::Joint(Joint::new(gram, planes)), 0.0, softness)
    }

    fn from_source(source: Source<'a>, offset: f64, softness: Vec<f64>) -> Result<Self> {
        require(offset.is_finite() && offset >= 0.0, "offset", offset, "finite and >= 0")?;
        for x in &softness {
            require(x.is_finite() && *x >= 0.0, "softness", x, "finite and >= 0")?;
        }
        let diagonal: Vec<f64> = softness
            .iter()
            .enumerate()
            .map(|(i, softness)| source.entry(i, i) + offset + softness)
            .collect();
        for (i, d) in diagonal.iter().enumerate() {
            let got = format_args!("diagonal {d:e} at {i} (offset and softness added)");
            let wanted = "a matrix with a diagonal between 1e-150 and 1e150";
            require(SQUARED_LENGTHS.contains(d), "gram", got, wanted)?;
        }
        Ok(Self { source: Arc::new(source), offset, softness, diagonal, arch: Arch::new() })
    }

    /// Returns the Gram matrix of the chosen examples, with rows of its own.
    pub(crate) fn submatrix(&self, chosen: &[usize]) -> Gram<'static> {
        let pick = |of: &[f64]| chosen.iter().map(|&i| of[i]).collect();
        let source = match &*self.source {
            Source::Dense(dense) => Source::Dense(dense.submatrix(chosen)),
            Source::Joint(joint) => {
                let entry = |i: usize, j: usize| joint.entry(chosen[i], chosen[j]);
                Source::Dense(Dense::of(chosen.len(), entry))
            }
        };
        Gram {
            source: Arc::new(source),
            offset: self.offset,
            softness: pick(&self.softness),
            diagonal: pick(&self.diagonal),
            arch: self.arch,
        }
    }

    /// Number of examples m.
    pub fn len(&self) -> usize {
        self.softness.len()
    }

    /// The walls, if these are the planes.
    pub(crate) fn walls(&self) -> Option<&Walls> {
        self.planes().and_then(Planes::walls)
    }

    /// Returns the dual coefficients that are recorded and returned: with walls those of the coordinates, otherwise of the planes.
    pub(crate) fn outer_duals(&self, dual: Vec<f64>) -> Vec<f64> {
        match self.walls() {
            None => dual,
            Some(walls) => walls.duals(&dual),
        }
    }

    /// The number of these.
    pub(crate) fn outer_len(&self) -> usize {
        self.walls().map_or(self.len(), |walls| walls.coordinates)
    }

    /// The planes of several classes or of walls, if these are the planes.
    #[inline]
    pub(crate) fn joint(&self) -> Option<&Joint<'_>> {
        match &*self.source {
            Source::Joint(joint) => Some(joint),
            Source::Dense(_) => None,
        }
    }

    /// Which planes, where they are not those of single examples.
    pub(crate) fn planes(&self) -> Option<&Planes> {
        self.joint().map(|joint| &joint.planes)
    }

    /// The Gram matrix of the examples or coordinates, where the planes are others; otherwise this one.
    pub(crate) fn of_examples(&self) -> &Gram<'_> {
        self.joint().map_or(self, |joint| &joint.gram)
    }

    /// True for a matrix of singles.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.of_examples().row(0), Row::Singles(_))
    }

    /// Row i without offset and softness, length m.
    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        match &*self.source {
            Source::Dense(dense) => dense.row(i),
            Source::Joint(joint) => joint.row(i),
        }
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

    /// Entry (i, j), offset and softness included. For many entries of one row, [`Self::row`] is faster.
    #[inline]
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        if i == j { self.diagonal[i] } else { self.source.entry(i, j) + self.offset }
    }

    /// Entry (i, i), offset and softness included: the squared length of the i-th feature vector.
    #[inline]
    pub fn diagonal(&self, i: usize) -> f64 {
        self.diagonal[i]
    }

    /// All these, shape (m,).
    pub(crate) fn diagonals(&self) -> &[f64] {
        &self.diagonal
    }

    /// Row i with offset and softness, length m.
    pub(crate) fn shifted_row(&self, i: usize) -> Vec<f64> {
        let mut row = self.row(i).to_vec();
        row.iter_mut().for_each(|x| *x += self.offset);
        row[i] = self.diagonal[i];
        row
    }

    /// Adds multiples of rows, without offset and softness.
    pub(crate) fn add_rows(&self, terms: &[(f64, usize)], out: &mut [f64]) {
        let rows: Vec<Row> = terms.iter().map(|&(_, i)| self.row(i)).collect();
        let (mut doubles, mut singles) = (Vec::new(), Vec::new());
        for (row, &(scale, _)) in rows.iter().zip(terms) {
            match row {
                Row::Doubles(row) => doubles.push((scale, &**row)),
                Row::Singles(row) => singles.push((scale, &**row)),
            }
        }
        dot::axpy_all(&doubles, out);
        dot::axpy_all(&singles, out);
    }

    /// Plane coordinates `K c` of a vector with few nonzero dual coefficients. Reads only the rows of these.
    pub(crate) fn combination(&self, dual: &[f64], control: &Control) -> Result<Vec<f64>> {
        const ROWS_AT_A_TIME: usize = 32;
        if let Some(Joint { gram, planes, .. }) = self.joint() {
            let duals = planes.function_duals(dual).into_iter();
            let fields: Result<Vec<_>> = duals.map(|c| gram.combination(&c, control)).collect();
            return Ok(planes.plane_field(&fields?));
        }
        let mut field = vec![0.0; self.len()];
        let terms: Vec<(f64, usize)> =
            dual.iter().enumerate().filter(|(_, c)| **c != 0.0).map(|(i, c)| (*c, i)).collect();
        self.add_shifts(dual, &mut field);
        for terms in terms.chunks(ROWS_AT_A_TIME) {
            control.check()?;
            self.add_rows(terms, &mut field);
        }
        Ok(field)
    }

    /// Plane coordinates `K c` of one vector.
    pub(crate) fn product(&self, c: &[f64], sum: Precision, control: &Control) -> Result<Vec<f64>> {
        Ok(self.multiply(&[c], sum, control)?.swap_remove(0))
    }

    /// Adds the contributions of offset and softness to the plane coordinates.
    fn add_shifts(&self, dual: &[f64], field: &mut [f64]) {
        let lift = self.offset * dual.iter().sum::<f64>();
        for ((f, c), softness) in field.iter_mut().zip(dual).zip(&self.softness) {
            *f += lift + softness * c;
        }
    }

    /// Returns the plane coordinates `K c` of several vectors of length m, in one pass over the matrix.
    /// [`crate::Error::Interrupted`] when the caller asks to stop. Panics if the length of a vector is not m.
    pub fn multiply(
        &self,
        duals: &[&[f64]],
        precision: Precision,
        control: &Control,
    ) -> Result<Vec<Vec<f64>>> {
        let mut fields = match &*self.source {
            Source::Dense(dense) => dense.multiply(duals, precision, control)?,
            Source::Joint(Joint { gram, planes, .. }) => {
                let functions: Vec<_> =
                    duals.iter().flat_map(|c| planes.function_duals(c)).collect();
                let duals: Vec<&[f64]> = functions.iter().map(Vec::as_slice).collect();
                let fields = gram.multiply(&duals, precision, control)?;
                let fields = fields.chunks_exact(planes.functions());
                fields.map(|functions| planes.plane_field(functions)).collect()
            }
        };
        for (c, f) in duals.iter().zip(&mut fields) {
            self.add_shifts(c, f);
        }
        Ok(fields)
    }
}
