//! Planes that are not those of single examples: of several classes, or of walls, with rows made of those of the examples.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::Gram;
use super::classes::ClassPlanes;
use super::walls::Walls;
use crate::simd::{NextWall, Row, dot, pass, with_entries};

/// Which planes. A vector belongs to some functions of the examples, or coordinates: one for each class, or one of walls.
#[derive(Clone, Debug)]
pub enum Planes {
    Classes(Arc<ClassPlanes>),
    Walls(Arc<Walls>),
}

impl Planes {
    /// Number of planes.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.len(),
            Self::Walls(walls) => walls.len(),
        }
    }

    /// Number of what is violated or not as a whole: of examples, or of observations.
    pub fn examples(&self) -> usize {
        match self {
            Self::Classes(classes) => classes.examples(),
            Self::Walls(walls) => walls.sizes.len(),
        }
    }

    /// A number for the example of a plane, the same for all of its planes; none for free planes.
    #[inline]
    pub fn place(&self, plane: usize) -> Option<usize> {
        match self {
            Self::Classes(classes) => Some(classes.place(plane)),
            Self::Walls(walls) => (plane < walls.walls()).then(|| walls.observations[plane]),
        }
    }

    pub fn walls(&self) -> Option<&Walls> {
        match self {
            Self::Classes(_) => None,
            Self::Walls(walls) => Some(walls),
        }
    }

    pub fn classes(&self) -> Option<&ClassPlanes> {
        match self {
            Self::Classes(classes) => Some(classes),
            Self::Walls(_) => None,
        }
    }

    /// Number of functions.
    pub fn functions(&self) -> usize {
        self.classes().map_or(1, |classes| classes.n_classes)
    }

    /// Dimensions of the planes' span for each of that of the examples.
    pub fn dimensions(&self) -> usize {
        self.classes().map_or(1, |classes| classes.n_classes - 1)
    }

    /// Returns the dual coefficients of each function from those of the planes.
    pub fn function_duals(&self, duals: &[f64]) -> Vec<Vec<f64>> {
        match self {
            Self::Classes(classes) => classes.class_duals(duals),
            Self::Walls(walls) => vec![walls.duals(duals)],
        }
    }

    /// Returns dual coefficients of the planes from those of the functions.
    pub fn plane_duals(&self, functions: &[Vec<f64>]) -> Vec<f64> {
        match self {
            Self::Classes(classes) => classes.plane_duals(functions),
            Self::Walls(walls) => walls.plane_duals(&functions[0]),
        }
    }

    /// Returns the values of each function from the plane coordinates.
    pub fn function_fields(&self, field: &[f64]) -> Vec<Vec<f64>> {
        match self {
            Self::Classes(classes) => classes.class_fields(field),
            Self::Walls(walls) => vec![walls.coordinates_at(field)],
        }
    }

    /// Returns the plane coordinates from the values of the functions.
    pub fn plane_field(&self, functions: &[Vec<f64>]) -> Vec<f64> {
        match self {
            Self::Classes(classes) => classes.plane_field(functions),
            Self::Walls(walls) => {
                let mut field = vec![0.0; walls.len()];
                walls.field(&functions[0], &mut field);
                field
            }
        }
    }

    /// Takes off what all functions share, of vectors of a given length one after the other: it moves no wall.
    pub fn take_off_common(&self, vectors: &mut [f64], length: usize) {
        if self.classes().is_none() {
            return;
        }
        let share = length as f64 / vectors.len() as f64;
        for k in 0..length {
            let mean = vectors.iter().skip(k).step_by(length).sum::<f64>() * share;
            vectors.iter_mut().skip(k).step_by(length).for_each(|x| *x -= mean);
        }
    }
}

/// The rows of the planes.
#[derive(Debug)]
pub struct Joint<'a> {
    pub gram: Gram<'a>,
    pub planes: Planes,
    /// A copy of the matrix in the order of the classes, where one is kept: made when the first row is needed.
    pub sorted: OnceLock<Option<Gram<'static>>>,
}

impl<'a> Joint<'a> {
    pub fn new(gram: Gram<'a>, planes: Planes) -> Self {
        Self { gram, planes, sorted: OnceLock::new() }
    }

    /// As [`pass::advance`] for all planes. `kicks` are planes and multiples of their rows.
    pub fn advance(
        &self,
        (f, g): (&mut [f64], &mut [f64]),
        rotation: (f64, f64),
        kicks: &[(usize, f64)],
        scratch: &mut Vec<f64>,
    ) -> NextWall {
        let walls = match &self.planes {
            Planes::Classes(planes) => {
                return self.advance_classes(planes, (f, g), rotation, kicks, scratch);
            }
            Planes::Walls(walls) => walls,
        };
        let arch = self.gram.arch;
        if kicks.is_empty() {
            return pass::advance::<f64>(arch, f, g, rotation, &[], 0.0);
        }
        scratch.resize(walls.coordinates + walls.len(), 0.0);
        let (sum, row) = scratch.split_at_mut(walls.coordinates);
        self.add_up(walls, kicks, sum);
        walls.field(sum, row);
        pass::advance(arch, f, g, rotation, &[(1.0, &*row)], 0.0)
    }

    /// Writes the coordinates of a sum of multiples of normals of walls.
    fn add_up(&self, walls: &Walls, kicks: &[(usize, f64)], sum: &mut [f64]) {
        sum.fill(0.0);
        let mut lift = 0.0;
        for &(plane, scale) in kicks {
            for (j, b) in walls.of(plane) {
                with_entries!(self.gram.row(j), |row| dot::axpy(scale * b, &row, sum));
                lift += scale * b;
            }
        }
        let lift = self.gram.offset() * lift;
        if lift != 0.0 {
            sum.iter_mut().for_each(|x| *x += lift);
        }
        for &(plane, scale) in kicks {
            for (j, b) in walls.of(plane) {
                sum[j] += scale * b * self.gram.softness()[j];
            }
        }
    }

    pub fn row(&self, plane: usize) -> Row<'_> {
        Row::Doubles(Cow::Owned(match &self.planes {
            Planes::Classes(planes) => self.row_of_classes(planes, plane),
            Planes::Walls(walls) => {
                let mut sum = vec![0.0; walls.coordinates];
                self.add_up(walls, &[(plane, 1.0)], &mut sum);
                let mut row = self.planes.plane_field(&[sum]);
                row[plane] = self.entry(plane, plane);
                row
            }
        }))
    }

    pub fn entry(&self, i: usize, j: usize) -> f64 {
        match &self.planes {
            Planes::Classes(planes) => planes.entry(&self.gram, i, j),
            Planes::Walls(walls) => {
                // In the same order for (i, j) and (j, i).
                let (i, j) = (i.min(j), i.max(j));
                let terms =
                    walls.of(i).flat_map(|(k, a)| walls.of(j).map(move |(l, b)| (k, l, a * b)));
                terms.map(|(k, l, factor)| factor * self.gram.entry(k, l)).sum()
            }
        }
    }
}
