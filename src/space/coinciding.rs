//! Coinciding planes: examples with parallel feature vectors, which share one wall.

use crate::gram::{Gram, Planes};
use crate::simd::{Entry, with_entries};

/// Role of a plane in its group of coinciding planes.
///
/// A ball arrives at all planes of a group at once. If each decided for itself, in an order left to rounding, planes whose
/// labels ask for different sides would let the ball through with different probabilities in the two directions. The
/// same holds for walls that depend on the layer. Therefore the first plane of a group decides with the weight of all,
/// and the others are transparent. Planes that ask for the same side each keep their own transparency at a mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Coincides with no other plane.
    Alone,
    /// Another plane decides. `agrees` if all planes of the group ask for the same side.
    Follows { agrees: bool },
    /// Decides for its group: numbers of planes of labels -1 and +1 satisfied where its coordinate is positive, and negative.
    Decides([[u32; 2]; 2]),
}

/// Returns whether the planes of two examples with this inner product coincide, up to rounding.
pub fn is_parallel(gram: &Gram, i: usize, j: usize, inner: f64) -> bool {
    let product = gram.diagonal(i) * gram.diagonal(j);
    inner * inner >= product * (1.0 - 8.0 * f64::EPSILON)
}

/// Returns the roles of all planes, shape (m,), or an empty vector if no planes coincide.
pub fn roles(gram: &Gram, labels: &[i8]) -> Vec<Role> {
    let m = labels.len();
    let hard: Vec<usize> = match gram.planes() {
        // Softness gives a feature vector a coordinate of its own, so that it is parallel to no other.
        None => (0..m).filter(|&i| gram.softness()[i] == 0.0).collect(),
        Some(Planes::Walls(walls)) => {
            let examples = gram.of_examples();
            let is_soft = examples.softness().iter().all(|softness| *softness > 0.0);
            if is_soft { walls.of_same_coordinates() } else { (0..walls.walls()).collect() }
        }
        Some(Planes::Classes(planes)) => {
            // Planes of several classes coincide only if the feature vectors of their examples are parallel.
            let examples = gram.of_examples();
            let of_examples = roles(examples, &vec![1; examples.len()]);
            let has_parallel = |plane: usize| of_examples[planes.of(plane).0] != Role::Alone;
            (0..m).filter(|&plane| !of_examples.is_empty() && has_parallel(plane)).collect()
        }
    };
    let mut roles = vec![Role::Alone; m];
    let squares = gram.diagonals();
    for (k, &i) in hard.iter().enumerate() {
        if roles[i] != Role::Alone {
            continue;
        }
        let (mut sides, mut group) = ([[0; 2]; 2], Vec::new());
        let row = gram.row(i);
        // Few planes coincide with another. A vectorized test without branches excludes the rest.
        let may_coincide =
            with_entries!(&row, |row| any_near(&row[i..], gram.offset(), &squares[i..]));
        if !may_coincide {
            continue;
        }
        for &j in &hard[k..] {
            let inner = row.at(j) + gram.offset();
            if is_parallel(gram, i, j, inner) {
                group.push(j);
                let is_positive = labels[j] > 0;
                let is_below = (inner > 0.0) != is_positive;
                sides[usize::from(is_below)][usize::from(is_positive)] += 1;
            }
        }
        if group.len() > 1 {
            for j in group {
                roles[j] = Role::Follows { agrees: sides.contains(&[0; 2]) };
            }
            roles[i] = Role::Decides(sides);
        }
    }
    if roles.iter().all(|role| *role == Role::Alone) { Vec::new() } else { roles }
}

/// Returns whether the first plane may coincide with another, given its row and the squared lengths of all feature vectors.
fn any_near<E: Entry>(row: &[E], offset: f64, squares: &[f64]) -> bool {
    let least = 0.999 * squares[0];
    let near = |&k: &E, square: &f64| (k.into() + offset).powi(2) >= least * square;
    let others = row[1..].iter().zip(&squares[1..]);
    others.fold(false, |any, (k, square)| any | near(k, square))
}
