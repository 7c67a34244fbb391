//! Version space: a Gram matrix with labels.

use crate::base::{Control, Error, Result};
use crate::gram::{Gram, KEY_WINDOW, Values};
use crate::simd::{Entry, Precision};
use crate::space::mirror::Mirror;

/// The set of unit weight vectors `w = Σ c_i φ_i` with `y_i <w, φ_i> > 0` for all examples.
///
/// Weight vectors are given by their dual coefficients `c`, shape (m,), with the labels inside: `w = Σ c_i φ_i`.
#[derive(Clone, Debug)]
pub struct VersionSpace<'a> {
    gram: Gram<'a>,
    labels: Vec<i8>,
    /// Roles of planes that coincide; empty where none do.
    roles: Vec<Role>,
}

/// What a plane does where several coincide.
///
/// A ball arrives at all of them at once. Taken one after the other, in an order left to rounding, planes whose labels
/// ask for different sides would let it through with other probabilities there than back, and so would any of them
/// where the walls know the layers. So the first of them decides for all, by the weight of all, and the others are
/// transparent. Mirrors of planes that ask for the same side need no such care, and each keeps its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Coincides with none.
    Alone,
    /// Another plane decides; `agrees` where all of them ask for the same side.
    Follows { agrees: bool },
    /// Decides: planes of labels -1 and +1 that are satisfied where its own coordinate is positive, and where it is negative.
    Decides { above: [u32; 2], below: [u32; 2] },
}

impl Role {
    /// True when a mirror may treat the plane as if it were alone.
    fn is_simple(self) -> bool {
        match self {
            Self::Alone => true,
            Self::Follows { agrees } => agrees,
            Self::Decides { above, below } => above == [0; 2] || below == [0; 2],
        }
    }
}

impl<'a> VersionSpace<'a> {
    /// Joins a Gram matrix and its labels, each -1 or +1.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the number of labels is not m or a label is neither -1 nor +1.
    pub fn new(gram: Gram<'a>, labels: Vec<i8>) -> Result<Self> {
        if labels.len() != gram.len() {
            return Err(Error::invalid(
                "labels",
                format!("{} labels", labels.len()),
                "one per row of gram",
            ));
        }
        if let Some(bad) = labels.iter().find(|y| ![-1, 1].contains(*y)) {
            return Err(Error::invalid("labels", bad, "-1 or +1"));
        }
        let roles = roles(&gram, &labels);
        Ok(Self { gram, labels, roles })
    }

    /// The same region seen through a linear map, with the Gram matrix of the mapped feature vectors. Planes that
    /// coincide go on to coincide, whatever rounding says.
    pub(crate) fn mapped<'b>(&self, gram: Gram<'b>) -> VersionSpace<'b> {
        debug_assert_eq!(gram.len(), self.len());
        VersionSpace { gram, labels: self.labels.clone(), roles: self.roles.clone() }
    }

    /// The Gram matrix.
    pub fn gram(&self) -> &Gram<'a> {
        &self.gram
    }

    /// The labels, shape (m,).
    pub fn labels(&self) -> &[i8] {
        &self.labels
    }

    /// Number of examples m.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// False: a version space has at least one example.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The label of example i as a number.
    #[inline]
    pub(crate) fn sign(&self, i: usize) -> f64 {
        f64::from(self.labels[i])
    }

    /// True when a plane coordinate is on the side of its label. The side of zero is its sign bit.
    #[inline]
    pub(crate) fn satisfied(&self, i: usize, f: f64) -> bool {
        f.is_sign_positive() == (self.labels[i] > 0)
    }

    /// Probability that a ball which comes from the side of plane coordinate `f` passes plane i.
    ///
    /// 1 from the violated side, κ from the satisfied one: the ratio of the weights κ^violations there and here, or 1
    /// if that is more.
    #[inline]
    pub(crate) fn transparency(&self, i: usize, f: f64, mirror: Mirror) -> f64 {
        match self.role(i) {
            role if role.is_simple() => match (self.satisfied(i, f), self.labels[i] > 0) {
                (false, _) => 1.0,
                (true, true) => mirror.positive,
                (true, false) => mirror.negative,
            },
            Role::Decides { above, below } => {
                let (here, there) =
                    if f.is_sign_positive() { (below, above) } else { (above, below) };
                let ratio = (mirror.log_weight(there) - mirror.log_weight(here)).exp();
                // Hard on both sides: nothing passes.
                if ratio.is_nan() { 0.0 } else { ratio.min(1.0) }
            }
            _ => 1.0,
        }
    }

    /// Roles of planes that coincide; empty where none do.
    pub(crate) fn roles(&self) -> &[Role] {
        &self.roles
    }

    #[inline]
    fn role(&self, i: usize) -> Role {
        self.roles.get(i).copied().unwrap_or(Role::Alone)
    }

    /// Planes of labels -1 and +1 that are violated at plane coordinates `f`. Planes that coincide are on the same side,
    /// that of the one that decides.
    pub(crate) fn layer(&self, f: &[f64]) -> [u32; 2] {
        let mut layer = [0; 2];
        for (i, &f) in f.iter().enumerate() {
            match self.role(i) {
                Role::Alone => layer[self.class(i)] += u32::from(!self.satisfied(i, f)),
                Role::Follows { .. } => {}
                Role::Decides { above, below } => {
                    let violated = if f.is_sign_positive() { below } else { above };
                    layer[0] += violated[0];
                    layer[1] += violated[1];
                }
            }
        }
        layer
    }

    /// The layer behind plane i for a ball that is in `layer`, on the side of plane coordinate `f`.
    #[inline]
    pub(crate) fn layer_behind(&self, i: usize, f: f64, mut layer: [u32; 2]) -> [u32; 2] {
        match self.role(i) {
            Role::Alone => {
                let count = &mut layer[self.class(i)];
                *count = if self.satisfied(i, f) { *count + 1 } else { *count - 1 };
            }
            Role::Follows { .. } => {}
            Role::Decides { above, below } => {
                let (here, there) =
                    if f.is_sign_positive() { (below, above) } else { (above, below) };
                layer = [layer[0] + there[0] - here[0], layer[1] + there[1] - here[1]];
            }
        }
        layer
    }

    /// 0 for label -1, 1 for label +1.
    #[inline]
    fn class(&self, i: usize) -> usize {
        usize::from(self.labels[i] > 0)
    }

    /// Number of examples of labels -1 and +1.
    pub(crate) fn class_counts(&self) -> [u32; 2] {
        let mut counts = [0; 2];
        for i in 0..self.len() {
            counts[self.class(i)] += 1;
        }
        counts
    }

    /// Number of examples of labels -1 and +1 that plane coordinates `f` violate.
    pub(crate) fn violations(&self, f: &[f64]) -> [u32; 2] {
        let mut violated = [0; 2];
        for (i, &f) in f.iter().enumerate() {
            violated[self.class(i)] += u32::from(!self.satisfied(i, f));
        }
        violated
    }

    /// Margins `y_i <w, φ_i>` of dual coefficients, shape (m,): all positive inside version space.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the number of coefficients is not m.
    pub fn margins(&self, dual: &[f64]) -> Result<Vec<f64>> {
        if dual.len() != self.len() {
            return Err(Error::invalid(
                "dual",
                format!("{} coefficients", dual.len()),
                "one per example",
            ));
        }
        let mut f = vec![0.0; self.len()];
        self.gram.multiply(&[dual], &mut [&mut f], Precision::Compensated, &Control::new())?;
        for (f, y) in f.iter_mut().zip(&self.labels) {
            *f *= f64::from(*y);
        }
        Ok(f)
    }

    /// True when every margin is positive.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] when the number of coefficients is not m.
    pub fn contains(&self, dual: &[f64]) -> Result<bool> {
        Ok(self.margins(dual)?.iter().all(|&margin| margin > 0.0))
    }
}

/// Whether planes with this inner product coincide, up to rounding.
pub(crate) fn is_parallel(gram: &Gram<'_>, i: usize, j: usize, inner: f64) -> bool {
    let product = gram.diagonal(i) * gram.diagonal(j);
    inner * inner >= product * (1.0 - 8.0 * f64::EPSILON)
}

/// The roles of all planes, or none where no planes coincide.
fn roles(gram: &Gram<'_>, labels: &[i8]) -> Vec<Role> {
    let m = labels.len();
    let mut roles = vec![Role::Alone; m];
    // Softness gives a feature vector a coordinate of its own: it coincides with none.
    let candidates: Vec<usize> = (0..m).filter(|&i| gram.softness()[i] == 0.0).collect();
    let neighbors = Neighbors::new(gram, &candidates);
    for (k, &i) in candidates.iter().enumerate() {
        if roles[i] != Role::Alone {
            continue;
        }
        let (mut above, mut below) = ([0; 2], [0; 2]);
        let mut group = Vec::new();
        neighbors.each(gram, &candidates[k..], |j, inner| {
            if is_parallel(gram, i, j, inner) {
                group.push(j);
                let satisfied_above = (inner > 0.0) == (labels[j] > 0);
                let side = if satisfied_above { &mut above } else { &mut below };
                side[usize::from(labels[j] > 0)] += 1;
            }
        });
        if group.len() > 1 {
            for j in group {
                roles[j] = Role::Follows { agrees: above == [0; 2] || below == [0; 2] };
            }
            roles[i] = Role::Decides { above, below };
        }
    }
    if roles.iter().all(|role| *role == Role::Alone) { Vec::new() } else { roles }
}

/// Entries beyond which a row is computed as a whole.
const MANY: usize = 64;

/// Where to look for planes that coincide with one.
enum Neighbors {
    /// Everywhere: along its row. Squared lengths of all planes' feature vectors.
    All { squares: Vec<f64> },
    /// Among those with nearly the same key: keys of all planes, and candidates in their order with the place of each.
    ByKey { keys: Vec<f64>, order: Vec<usize>, place: Vec<usize> },
}

impl Neighbors {
    fn new(gram: &Gram<'_>, candidates: &[usize]) -> Self {
        let Some(keys) = gram.keys().filter(|_| !candidates.is_empty()) else {
            return Self::All { squares: (0..gram.len()).map(|i| gram.diagonal(i)).collect() };
        };
        let mut order = candidates.to_vec();
        order.sort_by(|&i, &j| keys[i].total_cmp(&keys[j]));
        let mut place = vec![0; gram.len()];
        for (at, &i) in order.iter().enumerate() {
            place[i] = at;
        }
        Self::ByKey { keys, order, place }
    }

    /// Calls with the planes of `rest` that may coincide with its first, in their order, and their products with it.
    fn each(&self, gram: &Gram<'_>, rest: &[usize], mut call: impl FnMut(usize, f64)) {
        let first = rest[0];
        match self {
            Self::All { squares } => {
                let row = gram.row(first);
                // Nearly always nobody coincides with it, which is seen without branches, in vectors.
                let near = match row.values() {
                    Values::Doubles(row) => {
                        any_near(&row[first..], gram.offset(), &squares[first..])
                    }
                    Values::Singles(row) => {
                        any_near(&row[first..], gram.offset(), &squares[first..])
                    }
                };
                if near {
                    rest.iter().for_each(|&j| call(j, row.at(j) + gram.offset()));
                }
            }
            Self::ByKey { keys, order, place } => {
                let near = |&&j: &&usize| (keys[j] - keys[first]).abs() <= KEY_WINDOW;
                let (before, from) = order.split_at(place[first]);
                let before = before.iter().rev().take_while(near);
                let mut near: Vec<usize> =
                    from.iter().take_while(near).chain(before).copied().collect();
                near.sort_unstable();
                let near = near.iter().filter(|&&j| j >= first);
                if near.clone().count() > MANY {
                    let row = gram.row(first);
                    near.for_each(|&j| call(j, row.at(j) + gram.offset()));
                } else {
                    near.for_each(|&j| call(j, gram.entry(first, j)));
                }
            }
        }
    }
}

/// Whether the first of some planes may coincide with another of them, by its row and all squared lengths.
fn any_near<E: Entry>(row: &[E], offset: f64, squares: &[f64]) -> bool {
    let least = 0.999 * squares[0];
    let near = |&k: &E, square: &f64| (k.into() + offset).powi(2) >= least * square;
    let others = row[1..].iter().zip(&squares[1..]);
    others.fold(false, |any, (k, square)| any | near(k, square))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::gram::{Kernel, KernelRows, Source};

    fn kernel() -> impl Strategy<Value = Kernel> {
        prop_oneof![
            Just(Kernel::Linear),
            Just(Kernel::Rbf { sigma: 2.0 }),
            Just(Kernel::Polynomial { degree: 3, coef0: 0.0 }),
            Just(Kernel::Polynomial { degree: 2, coef0: 0.0 }),
            Just(Kernel::Polynomial { degree: 2, coef0: 1.0 }),
        ]
    }

    proptest! {
        /// Of computed rows the planes that coincide are found by keys, of a matrix along its rows: the same ones.
        #[test]
        fn planes_that_coincide_are_found_by_keys(
            points in prop::collection::vec((-2i32..2, -2i32..2, 1i32..3), 1..100),
            labels in prop::collection::vec(any::<bool>(), 100),
            offset in prop_oneof![Just(0.0), Just(1.0), Just(100.0)],
            kernel in kernel(),
        ) {
            // Few small whole numbers: many coincide, point the same way or the opposite, with exact products.
            let x: Vec<f64> = points.iter().flat_map(|p| [p.0, p.1, p.2].map(f64::from)).collect();
            let m = points.len();
            let labels: Vec<i8> = labels[..m].iter().map(|&y| if y { 1 } else { -1 }).collect();
            let rows = Arc::new(KernelRows::new(&x, m, kernel, 2.0, 1).expect("finite"));
            let matrix: Vec<f64> = (0..m * m).map(|k| rows.entry(k / m, k % m)).collect();
            let softness: Vec<f64> = (0..m).map(|i| if i % 7 == 3 { 0.5 } else { 0.0 }).collect();
            let dense = Gram::new(&matrix, offset, softness.clone()).expect("symmetric");
            let computed = Gram::computed(rows, offset, softness).expect("regular");
            prop_assert_eq!(roles(&computed, &labels), roles(&dense, &labels));
        }
    }
}
