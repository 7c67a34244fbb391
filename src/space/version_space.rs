//! Version space: a Gram matrix with labels.

use crate::base::{Control, Error, Result};
use crate::gram::Gram;
use crate::simd::Precision;
use crate::space::coinciding::{Role, roles};
use crate::space::mirror::Mirror;

/// The set of unit weight vectors `w = Σ c_i φ_i` with `y_i <w, φ_i> > 0` for all examples.
///
/// Weight vectors are given by their dual coefficients `c`, shape (m,), which include the labels.
#[derive(Clone, Debug)]
pub struct VersionSpace<'a> {
    gram: Gram<'a>,
    labels: Vec<i8>,
    /// Shape (m,), or empty if no planes coincide.
    roles: Vec<Role>,
}

impl<'a> VersionSpace<'a> {
    /// Joins a Gram matrix and its labels, each -1 or +1.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the number of labels is not m or a label is neither -1 nor +1.
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

    /// Returns the image of the region under a linear map, given the Gram matrix of the mapped feature vectors. Coinciding
    /// planes still coincide, whatever their rounded inner products.
    pub(crate) fn mapped<'b>(&self, gram: Gram<'b>) -> VersionSpace<'b> {
        debug_assert_eq!(gram.len(), self.len());
        VersionSpace { gram, labels: self.labels.clone(), roles: self.roles.clone() }
    }

    /// Returns the Gram matrix.
    pub fn gram(&self) -> &Gram<'a> {
        &self.gram
    }

    /// Returns the labels, shape (m,).
    pub fn labels(&self) -> &[i8] {
        &self.labels
    }

    /// Returns the number of examples m.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Returns false: a version space has at least one example.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns the label of example i as a floating-point number.
    #[inline]
    pub(crate) fn sign(&self, i: usize) -> f64 {
        f64::from(self.labels[i])
    }

    /// Returns whether plane coordinate `f` agrees with the label of example i. Zeros count by their sign bit.
    #[inline]
    pub(crate) fn satisfied(&self, i: usize, f: f64) -> bool {
        f.is_sign_positive() == (self.labels[i] > 0)
    }

    /// Returns the probability that plane i lets a ball pass that comes from the side of plane coordinate `f`.
    ///
    /// It is 1 from the violated side and κ from the satisfied side: `min(1, w' / w)` with the weights κ^violations on
    /// this side, w, and on the other, w'.
    #[inline]
    pub(crate) fn transparency(&self, i: usize, f: f64, mirror: Mirror) -> f64 {
        match self.role(i) {
            Role::Follows { agrees: false } => 1.0,
            Role::Decides { above, below } if above != [0; 2] && below != [0; 2] => {
                let (here, there) = self.violated(i, f);
                let ratio = (mirror.log_weight(there) - mirror.log_weight(here)).exp();
                // Two hard sides give NaN: nothing passes.
                if ratio.is_nan() { 0.0 } else { ratio.min(1.0) }
            }
            _ if self.satisfied(i, f) => mirror.of(self.labels[i]),
            _ => 1.0,
        }
    }

    /// Returns the roles of all planes, or an empty slice if no planes coincide.
    pub(crate) fn roles(&self) -> &[Role] {
        &self.roles
    }

    #[inline]
    fn role(&self, i: usize) -> Role {
        self.roles.get(i).copied().unwrap_or(Role::Alone)
    }

    /// Returns, of the planes that plane i decides for, the numbers of labels -1 and +1 violated on the side of plane
    /// coordinate `f`, and on the other side.
    #[inline]
    fn violated(&self, i: usize, f: f64) -> ([u32; 2], [u32; 2]) {
        let (above, below) = match self.role(i) {
            Role::Alone if self.labels[i] > 0 => ([0, 1], [0, 0]),
            Role::Alone => ([0, 0], [1, 0]),
            Role::Follows { .. } => ([0; 2], [0; 2]),
            Role::Decides { above, below } => (above, below),
        };
        if f.is_sign_positive() { (below, above) } else { (above, below) }
    }

    /// Returns the numbers of planes of labels -1 and +1 violated at plane coordinates `f`. Coinciding planes count as on
    /// the side of the plane that decides.
    pub(crate) fn layer(&self, f: &[f64]) -> [u32; 2] {
        f.iter().enumerate().fold([0; 2], |layer, (i, &f)| {
            let (here, _) = self.violated(i, f);
            [layer[0] + here[0], layer[1] + here[1]]
        })
    }

    /// Returns the layer behind plane i, for a ball in `layer` on the side of plane coordinate `f`.
    #[inline]
    pub(crate) fn layer_behind(&self, i: usize, f: f64, layer: [u32; 2]) -> [u32; 2] {
        let (here, there) = self.violated(i, f);
        [layer[0] + there[0] - here[0], layer[1] + there[1] - here[1]]
    }

    /// Returns 0 for label -1, 1 for label +1.
    #[inline]
    fn class(&self, i: usize) -> usize {
        usize::from(self.labels[i] > 0)
    }

    /// Returns the numbers of examples of labels -1 and +1.
    pub(crate) fn class_counts(&self) -> [u32; 2] {
        let mut counts = [0; 2];
        for i in 0..self.len() {
            counts[self.class(i)] += 1;
        }
        counts
    }

    /// Returns the numbers of examples of labels -1 and +1 violated at plane coordinates `f`.
    pub(crate) fn violations(&self, f: &[f64]) -> [u32; 2] {
        let mut violated = [0; 2];
        for (i, &f) in f.iter().enumerate() {
            violated[self.class(i)] += u32::from(!self.satisfied(i, f));
        }
        violated
    }

    /// Returns the margins `y_i <w, φ_i>` of dual coefficients, shape (m,): all positive inside version space.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if the number of coefficients is not m.
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

    /// Returns whether every margin is positive.
    ///
    /// # Errors
    ///
    /// As [`VersionSpace::margins`].
    pub fn contains(&self, dual: &[f64]) -> Result<bool> {
        Ok(self.margins(dual)?.iter().all(|&margin| margin > 0.0))
    }
}
