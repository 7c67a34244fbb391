//! Walls in general: the Gram matrix of half-spaces `Σ_j b_j z_j ≥ 0` of a Gaussian vector z with few nonzero b_j each.
//!
//! The coordinates `z_j = <w, φ_j>` have the matrix K of their feature vectors, offset and softness inside. A coordinate with a
//! row of zeros and a softness is independent of all others. A wall has the normal `ψ = Σ_j b_j φ_j`, so the matrix of walls
//! is `B K Bᵀ`. There may be more walls than coordinates, and then it is singular: all factors are those of K.
//!
//! Vectors of the span of the φ_j have dual coefficients of the ψ, too. To find them, coordinates are ordered so that each has a
//! wall with it and earlier ones only. Where there is none the coordinate itself becomes a *free* plane, which lets every ball
//! pass: then each vector has dual coefficients of the planes, and its coordinates follow from its plane coordinates.

use std::cmp::Reverse;
use std::collections::VecDeque;

use crate::base::{Result, require};
use crate::simd::vectorized;

/// Largest number of coordinates of a wall.
const MOST_TERMS: usize = 3;

/// A wall `Σ_j b_j z_j ≥ 0`: pairs of j and b_j, and its observation; None if it always holds.
pub type Wall = (Vec<(usize, f64)>, Option<usize>);

/// The planes of walls, and at the end the free ones.
#[derive(Debug)]
pub struct Walls {
    pub coordinates: usize,
    /// Coordinates and coefficients of all planes, one pair of arrays for each term. Missing terms have the coefficient 0.
    terms: Vec<(Vec<u32>, Vec<f64>)>,
    /// The observation of each wall. Walls that always hold have one each, after all others.
    pub observations: Vec<usize>,
    /// Number of observations without the walls that always hold.
    pub observed: usize,
    /// Number of walls of each observation, and of each wall that always holds.
    pub sizes: Vec<u32>,
    /// Each coordinate with the plane that gives it, given the coordinates before it, and its place among the plane's terms.
    order: Vec<(usize, usize, usize)>,
}

impl Walls {
    /// Returns the planes of walls of some coordinates, and their labels: -1, with turned normals, for walls that always hold.
    ///
    /// [`crate::Error::Invalid`] without walls; for a wall without or with too many terms, or of coordinates that are
    /// repeated or out of range, or with coefficients that are 0 or not finite; for observations that are not 0, 1, ...
    pub fn new(coordinates: usize, walls: &[Wall]) -> Result<(Self, Vec<i8>)> {
        require(!walls.is_empty(), "walls", "none", "at least one")?;
        let observed = walls.iter().filter_map(|(_, observation)| *observation);
        let n = observed.clone().max().map_or(0, |most| most.saturating_add(1));
        require(n <= walls.len(), "walls", n, "no more observations than walls")?;
        let (mut sizes, mut always) = (vec![0; n], n);
        let mut observations = Vec::with_capacity(walls.len());
        for (terms, observation) in walls {
            let got = format_args!("{terms:?}");
            let wanted = "walls with 1 to 3 different coordinates of the matrix";
            let fits = (1..=MOST_TERMS).contains(&terms.len())
                && terms.iter().all(|(j, b)| *j < coordinates && *b != 0.0 && b.is_finite())
                && (1..terms.len()).all(|k| terms[..k].iter().all(|term| term.0 != terms[k].0));
            require(fits, "walls", got, wanted)?;
            observations.push(observation.unwrap_or(always));
            match observation {
                Some(k) => sizes[*k] += 1,
                None => always += 1,
            }
        }
        for (k, size) in sizes.iter().enumerate() {
            require(*size > 0, "walls", k, "observations 0, 1, ... with a wall each")?;
        }
        sizes.resize(always, 1);
        let mut labels: Vec<i8> =
            walls.iter().map(|wall| if wall.1.is_some() { 1 } else { -1 }).collect();
        let width = walls.iter().map(|wall| wall.0.len()).max().unwrap_or(1);
        let mut built = Self {
            coordinates,
            terms: vec![(Vec::new(), Vec::new()); width],
            observations,
            observed: n,
            sizes,
            order: Vec::with_capacity(coordinates),
        };
        for ((terms, _), &label) in walls.iter().zip(&labels) {
            let turned: Vec<_> = terms.iter().map(|(j, b)| (*j, b * f64::from(label))).collect();
            built.push(&turned);
        }
        built.find_order();
        labels.resize(built.len(), 1);
        Ok((built, labels))
    }

    #[allow(clippy::cast_possible_truncation, reason = "no matrix has 2^32 rows")]
    fn push(&mut self, terms: &[(usize, f64)]) {
        for (k, (indices, values)) in self.terms.iter_mut().enumerate() {
            let (index, value) = terms.get(k).copied().unwrap_or((terms[0].0, 0.0));
            indices.push(index as u32);
            values.push(value);
        }
    }

    /// Orders the coordinates, and adds free planes where none is given by a wall.
    fn find_order(&mut self) {
        let mut planes_of = vec![Vec::new(); self.coordinates];
        for plane in 0..self.len() {
            self.of(plane).for_each(|(j, _)| planes_of[j].push(plane));
        }
        let mut unknown: Vec<usize> = (0..self.len()).map(|plane| self.of(plane).count()).collect();
        let mut ready: VecDeque<usize> = (0..self.len()).filter(|&p| unknown[p] == 1).collect();
        let mut is_known = vec![false; self.coordinates];
        let mut by_degree: Vec<usize> = (0..self.coordinates).collect();
        by_degree.sort_by_key(|&j| Reverse(planes_of[j].len()));
        let mut next = by_degree.into_iter();
        while self.order.len() < self.coordinates {
            let given = ready.pop_front().and_then(|plane| {
                let (place, (j, _)) =
                    self.of(plane).enumerate().find(|(_, (j, _))| !is_known[*j])?;
                Some((j, plane, place))
            });
            let given = match given {
                Some(given) => given,
                None if !ready.is_empty() => continue,
                None => {
                    let j = next.find(|&j| !is_known[j]).expect("a coordinate is not in the order");
                    self.push(&[(j, 1.0)]);
                    (j, self.len() - 1, 0)
                }
            };
            self.order.push(given);
            is_known[given.0] = true;
            for &plane in &planes_of[given.0] {
                unknown[plane] -= 1;
                if unknown[plane] == 1 {
                    ready.push_back(plane);
                }
            }
        }
    }

    /// The coordinates and coefficients of a plane.
    pub fn of(&self, plane: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let all = self.terms.iter().map(move |(j, b)| (j[plane] as usize, b[plane]));
        all.filter(|(_, b)| *b != 0.0)
    }

    /// Number of planes.
    pub fn len(&self) -> usize {
        self.terms[0].0.len()
    }

    /// Number of walls, which come before the free planes.
    pub fn walls(&self) -> usize {
        self.observations.len()
    }

    /// Whether a plane is the only wall of its observation.
    pub fn is_alone(&self, wall: usize) -> bool {
        self.sizes[self.observations[wall]] == 1
    }

    /// Returns `B z`, the plane coordinates at coordinates z.
    pub fn field(&self, z: &[f64], field: &mut [f64]) {
        vectorized!({
            for (k, (indices, values)) in self.terms.iter().enumerate() {
                let terms = field.iter_mut().zip(indices).zip(values);
                if k == 0 {
                    terms.for_each(|((f, &j), b)| *f = b * z[j as usize]);
                } else {
                    terms.for_each(|((f, &j), b)| *f += b * z[j as usize]);
                }
            }
        });
    }

    /// Returns z at plane coordinates.
    pub fn coordinates_at(&self, field: &[f64]) -> Vec<f64> {
        let mut z = vec![0.0; self.coordinates];
        for &(j, plane, place) in &self.order {
            let all: f64 = self.of(plane).map(|(i, b)| b * z[i]).sum();
            z[j] = (field[plane] - all) / self.terms[place].1[plane];
        }
        z
    }

    /// Returns `Bᵀ a`: the dual coefficients of the φ from those of the ψ.
    pub fn duals(&self, of_planes: &[f64]) -> Vec<f64> {
        let mut duals = vec![0.0; self.coordinates];
        for (indices, values) in &self.terms {
            for ((&j, b), a) in indices.iter().zip(values).zip(of_planes) {
                duals[j as usize] += b * a;
            }
        }
        duals
    }

    /// Returns for each coordinate the sum over its walls.
    pub fn hits(&self, of_planes: &[u64]) -> Vec<u64> {
        let mut hits = vec![0; self.coordinates];
        for (plane, n) in of_planes.iter().enumerate() {
            self.of(plane).for_each(|(j, _)| hits[j] += n);
        }
        hits
    }

    /// Returns dual coefficients of the ψ with these of the φ.
    pub fn plane_duals(&self, duals: &[f64]) -> Vec<f64> {
        let (mut rest, mut found) = (duals.to_vec(), vec![0.0; self.len()]);
        for &(j, plane, place) in self.order.iter().rev() {
            let a = rest[j] / self.terms[place].1[plane];
            found[plane] = a;
            self.of(plane).for_each(|(i, b)| rest[i] -= b * a);
        }
        found
    }

    /// Planes that may coincide although every coordinate has a softness: those of the same coordinates as another.
    pub fn of_same_coordinates(&self) -> Vec<usize> {
        let support = |plane: &usize| {
            let mut support: Vec<usize> = self.of(*plane).map(|term| term.0).collect();
            support.sort_unstable();
            support
        };
        let mut order: Vec<usize> = (0..self.walls()).collect();
        order.sort_by_cached_key(support);
        let groups = order.chunk_by(|a, b| support(a) == support(b));
        let mut found: Vec<usize> =
            groups.filter(|group| group.len() > 1).flatten().copied().collect();
        found.sort_unstable();
        found
    }

    /// Returns how far each coordinate can move down and up before it meets a wall, given all others, at plane coordinates.
    pub fn room(&self, field: &[f64], labels: &[i8]) -> Vec<[f64; 2]> {
        let mut room = vec![[f64::INFINITY; 2]; self.coordinates];
        for (plane, (f, &label)) in field.iter().zip(labels).enumerate().take(self.walls()) {
            for (j, b) in self.of(plane) {
                let side = &mut room[j][usize::from((b > 0.0) != (label > 0))];
                *side = side.min((f / b).abs());
            }
        }
        room
    }
}
