//! Several classes: the Gram matrix of the walls between the class of each example and every other class.
//!
//! The weight vectors of C classes together form one vector w = (w_1, ..., w_C). Example i, labeled y, is satisfied where
//! `<w_y, φ_i> > <w_c, φ_i>` for all c ≠ y: by C - 1 planes through the origin with the normals
//! `ψ_ic = (e_y - e_c) ⊗ φ_i`. They span the space of all w with Σ_c w_c = 0, and a function that all classes share changes
//! no label. Their inner products are
//!
//! ```text
//! <ψ_ic, ψ_jd> = K_ij <e_{y_i} - e_c, e_{y_j} - e_d>,
//! ```
//!
//! so the walls are those of a matrix of m (C - 1) planes, labels +1, whose rows are multiples of rows of K, shifts inside.

use super::{Gram, Joint};
use crate::base::{Result, memory, require};
use crate::simd::{Entry, NextWall, pass, vectorized, with_entries};

/// The planes of m examples of C classes, and vectors of them: a number for each plane, or for each class and example.
///
/// Planes are ordered by columns. A column has one plane for each example, the examples sorted by their classes; in column s it
/// is the plane between their class y and class s, or s + 1 from s = y on. A row of the matrix is then a row of K times
/// constants that change only from class to class.
#[derive(Debug)]
pub struct ClassPlanes {
    pub n_classes: usize,
    /// The class of each example, shape (m,).
    labels: Vec<usize>,
    /// The examples sorted by class, shape (m,).
    order: Vec<usize>,
    /// The place of each example in `order`.
    places: Vec<usize>,
    /// Where each class begins in `order`, shape (C + 1,).
    begins: Vec<usize>,
    /// Whether the examples are given in the order of their classes.
    is_sorted: bool,
}

impl ClassPlanes {
    /// Takes a label for each example. [`crate::Error::Invalid`] for labels out of range or fewer than two classes;
    /// [`crate::Error::Memory`].
    pub fn new(labels: &[usize], n_classes: usize) -> Result<Self> {
        require(n_classes >= 2, "n_classes", n_classes, "at least 2")?;
        for y in labels {
            require(*y < n_classes, "labels", y, "in 0, ..., n_classes - 1")?;
        }
        memory::check_vectors(n_classes, labels.len())?;
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by_key(|&i| labels[i]);
        let mut places = vec![0; labels.len()];
        order.iter().enumerate().for_each(|(place, &i)| places[i] = place);
        let begins = (0..=n_classes).map(|c| order.partition_point(|&i| labels[i] < c)).collect();
        let is_sorted = order.is_sorted();
        Ok(Self { n_classes, labels: labels.to_vec(), order, places, begins, is_sorted })
    }

    /// Number of planes, m (C - 1).
    pub fn len(&self) -> usize {
        self.examples() * (self.n_classes - 1)
    }

    pub fn examples(&self) -> usize {
        self.labels.len()
    }

    /// A number below m for the example of a plane, the same for all of its planes: its place in the order of classes.
    #[inline]
    pub fn place(&self, plane: usize) -> usize {
        plane % self.examples()
    }

    /// The example of a plane, its class and the other class.
    pub fn of(&self, plane: usize) -> (usize, usize, usize) {
        let column = plane / self.examples();
        let example = self.order[plane - column * self.examples()];
        let own = self.labels[example];
        (example, own, column + usize::from(column >= own))
    }

    /// The place of a plane in vectors with a part for each class, shape (C, m): that of the other class.
    #[cfg(feature = "python")]
    pub fn index(&self, plane: usize) -> usize {
        let (example, _, other) = self.of(plane);
        other * self.examples() + example
    }

    /// `<e_{y_i} - e_c, e_{y_j} - e_d>` of two planes.
    fn factor((own, other): (usize, usize), (y, d): (usize, usize)) -> f64 {
        let v =
            |class: usize| f64::from(u8::from(class == own)) - f64::from(u8::from(class == other));
        v(y) - v(d)
    }

    /// The inner product of the normals of two planes, for the Gram matrix of the examples.
    pub fn entry(&self, gram: &Gram, i: usize, j: usize) -> f64 {
        let (one, own, other) = self.of(i);
        let (two, y, d) = self.of(j);
        Self::factor((own, other), (y, d)) * gram.entry(one, two)
    }

    /// Returns the dual coefficients of each class, shape (C, m), whose sum over the classes is zero, from those of the planes:
    /// `w = Σ a_ic ψ_ic` has those with `w_c = -Σ a_ic φ_i` over the examples of other classes, and so on.
    pub fn class_duals(&self, duals: &[f64]) -> Vec<Vec<f64>> {
        let mut classes = vec![vec![0.0; self.examples()]; self.n_classes];
        for (plane, &a) in duals.iter().enumerate() {
            let (example, own, other) = self.of(plane);
            classes[own][example] += a;
            classes[other][example] = 0.0 - a;
        }
        classes
    }

    /// Returns the dual coefficients of the planes from those of the classes, shape (C, m). What all classes share is taken off.
    pub fn plane_duals(&self, classes: &[Vec<f64>]) -> Vec<f64> {
        let share = (self.n_classes as f64).recip();
        let mean = |i| classes.iter().map(|class| class[i]).sum::<f64>() * share;
        let means: Vec<f64> = (0..self.examples()).map(mean).collect();
        let dual = |plane| {
            let (example, _, other) = self.of(plane);
            means[example] - classes[other][example]
        };
        (0..self.len()).map(dual).collect()
    }

    /// Returns the values of each class at the examples, shape (C, m), of sum 0 over the classes, from the plane coordinates.
    pub fn class_fields(&self, field: &[f64]) -> Vec<Vec<f64>> {
        let mut classes = vec![vec![0.0; self.examples()]; self.n_classes];
        for (plane, &f) in field.iter().enumerate() {
            let (example, own, _) = self.of(plane);
            classes[own][example] += f / self.n_classes as f64;
        }
        for (plane, &f) in field.iter().enumerate() {
            let (example, own, other) = self.of(plane);
            classes[other][example] = classes[own][example] - f;
        }
        classes
    }

    /// Returns the plane coordinates from the values of each class at the examples, shape (C, m).
    pub fn plane_field(&self, classes: &[Vec<f64>]) -> Vec<f64> {
        let coordinate = |plane| {
            let (example, own, other) = self.of(plane);
            classes[own][example] - classes[other][example]
        };
        (0..self.len()).map(coordinate).collect()
    }
}

/// Number of examples up to which a copy of their matrix in the order of the classes is kept.
const COPIED: usize = 4_096;

/// The rows of the planes of classes, made of those of the examples.
impl Joint<'_> {
    /// The matrix of the examples, if it is in the order of the classes, or its copy.
    fn sorted(&self, planes: &ClassPlanes) -> Option<&Gram<'_>> {
        let m = planes.examples();
        if planes.is_sorted {
            return Some(&self.gram);
        }
        let copy = || {
            let is_kept = m <= COPIED && memory::check_vectors(m, m).is_ok();
            is_kept.then(|| self.gram.submatrix(&planes.order))
        };
        self.sorted.get_or_init(copy).as_ref()
    }

    /// Writes the row of a plane's example in the order of the classes, with offset and softness.
    fn sort(&self, planes: &ClassPlanes, plane: usize, sorted: &mut [f64]) {
        let (example, ..) = planes.of(plane);
        let (place, offset) = (planes.places[example], self.gram.offset());
        let (row, order) = match self.sorted(planes) {
            Some(gram) => (gram.row(place), None),
            None => (self.gram.row(example), Some(&*planes.order)),
        };
        with_entries!(&row, |entries| sort(entries, order, offset, sorted));
        sorted[place] = self.gram.diagonal(example);
    }

    /// As [`pass::advance`] for all planes, one column of the rows at a time. `kicks` are planes and multiples of their rows.
    pub fn advance_classes(
        &self,
        planes: &ClassPlanes,
        (f, g): (&mut [f64], &mut [f64]),
        rotation: (f64, f64),
        kicks: &[(usize, f64)],
        scratch: &mut Vec<f64>,
    ) -> NextWall {
        let (arch, m, n) = (self.gram.arch, planes.examples(), planes.n_classes);
        scratch.resize((kicks.len() + 1) * m + n * kicks.len(), 0.0);
        let (row, rest) = scratch.split_at_mut(m);
        let (sorted, factors) = rest.split_at_mut(kicks.len() * m);
        for (&(plane, _), sorted) in kicks.iter().zip(sorted.chunks_exact_mut(m)) {
            self.sort(planes, plane, sorted);
        }
        let mut column_row = ColumnRow::new(planes, kicks, (sorted, row, factors));
        let mut first = NextWall::NONE;
        let columns = f.chunks_exact_mut(m).zip(g.chunks_exact_mut(m)).enumerate();
        for (column, (f, g)) in columns {
            let wall = if kicks.is_empty() {
                pass::advance::<f64>(arch, f, g, rotation, &[], 0.0)
            } else {
                let kick = (1.0, column_row.at(column));
                pass::advance(arch, f, g, rotation, &[kick], 0.0)
            };
            if wall.before(&first) {
                first = NextWall { plane: column * m + wall.plane, ..wall };
            }
        }
        first
    }

    /// Returns the row of a plane.
    pub fn row_of_classes(&self, planes: &ClassPlanes, plane: usize) -> Vec<f64> {
        let mut sorted = vec![0.0; planes.examples()];
        self.sort(planes, plane, &mut sorted);
        let (mut column, mut factors) = (sorted.clone(), vec![0.0; planes.n_classes]);
        let arrays = (&*sorted, &mut *column, &mut *factors);
        let mut columns = ColumnRow::new(planes, &[(plane, 1.0)], arrays);
        let mut row = Vec::with_capacity(planes.len());
        for column in 0..planes.n_classes - 1 {
            row.extend_from_slice(columns.at(column));
        }
        row
    }
}

/// One column after the other of a sum of multiples of rows of planes.
struct ColumnRow<'a> {
    planes: &'a ClassPlanes,
    /// The classes of the planes, own and other, and the multiples of their rows.
    kicks: [(usize, usize, f64); 2],
    /// The sorted rows of their examples, one after the other.
    sorted: &'a [f64],
    row: &'a mut [f64],
    /// The factors of the rows in the column, for each class one after the other.
    factors: &'a mut [f64],
}

impl<'a> ColumnRow<'a> {
    fn new(
        planes: &'a ClassPlanes,
        given: &[(usize, f64)],
        (sorted, row, factors): (&'a [f64], &'a mut [f64], &'a mut [f64]),
    ) -> Self {
        let mut kicks = [(0, 0, 0.0); 2];
        for (kick, &(plane, scale)) in kicks.iter_mut().zip(given) {
            let (_, own, other) = planes.of(plane);
            *kick = (own, other, scale);
        }
        // NaN is no factor.
        factors.fill(f64::NAN);
        Self { planes, kicks, sorted, row, factors }
    }

    /// Returns a column. Only classes whose factors differ from the last column's are written: most walls are between others.
    fn at(&mut self, column: usize) -> &[f64] {
        let Self { planes, kicks, sorted, ref mut row, ref mut factors } = *self;
        let m = planes.examples();
        let width = factors.len() / planes.n_classes;
        for (y, factors) in factors.chunks_exact_mut(width).enumerate() {
            let behind = column + usize::from(column >= y);
            let mut is_new = false;
            for ((own, other, scale), old) in kicks.into_iter().zip(&mut *factors) {
                let factor = scale * ClassPlanes::factor((own, other), (y, behind));
                is_new |= factor.to_bits() != old.to_bits();
                *old = factor;
            }
            if !is_new {
                continue;
            }
            let class = planes.begins[y]..planes.begins[y + 1];
            let row = &mut row[class.clone()];
            match *factors {
                [factor] => {
                    let sorted = &sorted[class];
                    vectorized!(row.iter_mut().zip(sorted).for_each(|(x, k)| *x = factor * k));
                }
                [one, two] => {
                    let pairs = sorted[class.clone()].iter().zip(&sorted[m..][class]);
                    vectorized!(
                        row.iter_mut().zip(pairs).for_each(|(x, (k, l))| *x = one * k + two * l)
                    );
                }
                _ => unreachable!("an event changes the direction along two planes at most"),
            }
        }
        self.row
    }
}

/// Copies a row of K, in another order if there is one.
fn sort<E: Entry>(row: &[E], order: Option<&[usize]>, offset: f64, sorted: &mut [f64]) {
    vectorized!(match order {
        None => {
            for (x, &entry) in sorted.iter_mut().zip(row) {
                *x = entry.into() + offset;
            }
        }
        Some(order) => {
            for (x, &i) in sorted.iter_mut().zip(order) {
                *x = row[i].into() + offset;
            }
        }
    });
}
