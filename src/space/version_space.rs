//! Version space: a Gram matrix with labels.

use std::sync::Arc;

use crate::base::{Control, Error, Result, require};
use crate::gram::{Gram, Planes};
use crate::simd::Precision;
use crate::space::coinciding::{Role, roles};
use crate::space::mirror::Mirror;

/// The set of unit weight vectors `w = Σ c_i φ_i` with `y_i <w, φ_i> > 0` for all examples.
///
/// Weight vectors are given by their dual coefficients `c`, shape (m,), which include the labels.
///
/// With several classes ([`VersionSpace::of_classes`]) w has a part for each class, and an example has a wall between its class
/// and every other. These m (C - 1) planes all have label +1. Everywhere vectors then have one number for each plane; only the
/// examples that are violated, by one wall or more, are counted, not their walls.
#[derive(Clone, Debug)]
pub struct VersionSpace<'a> {
    gram: Gram<'a>,
    labels: Vec<i8>,
    /// Shape (m,), or empty if no planes coincide.
    roles: Vec<Role>,
    /// The planes of several classes.
    planes: Option<Arc<Planes>>,
}

impl<'a> VersionSpace<'a> {
    /// Joins a Gram matrix and its labels, each -1 or +1. [`Error::Invalid`] if the number of labels is not m or a label is
    /// neither -1 nor +1.
    pub fn new(gram: Gram<'a>, labels: Vec<i8>) -> Result<Self> {
        let got = format_args!("{} labels", labels.len());
        require(labels.len() == gram.len(), "labels", got, "one per row of gram")?;
        if let Some(bad) = labels.iter().find(|y| ![-1, 1].contains(*y)) {
            return Err(Error::invalid("labels", bad, "-1 or +1"));
        }
        let roles = roles(&gram, &labels);
        Ok(Self { gram, labels, roles, planes: None })
    }

    /// Returns the joint version space of several classes, for labels 0, ..., `n_classes` - 1 of the examples of `gram`: the
    /// set of weight vectors `(w_1, ..., w_C)` with `Σ w_c = 0` of which that of an example's own class has the largest product
    /// with its feature vector.
    ///
    /// [`Error::Invalid`] if the number of labels is not m, a label is out of range or there are fewer than two classes.
    pub fn of_classes(gram: Gram<'a>, labels: &[usize], n_classes: usize) -> Result<Self> {
        let gram = Gram::of_classes(gram, labels, n_classes)?;
        let labels = vec![1; gram.len()];
        let planes = gram.planes().cloned();
        Ok(Self { roles: roles(&gram, &labels), gram, labels, planes })
    }

    /// Returns the image under a linear map, given its Gram matrix. Coinciding planes still coincide, however they are rounded.
    pub(crate) fn mapped<'b>(&self, gram: Gram<'b>) -> VersionSpace<'b> {
        debug_assert_eq!(gram.len(), self.len());
        let (labels, roles) = (self.labels.clone(), self.roles.clone());
        VersionSpace { gram, labels, roles, planes: self.planes.clone() }
    }

    pub(crate) fn planes(&self) -> Option<&Planes> {
        self.planes.as_deref()
    }

    /// Returns the number of examples, of which each has several planes if there are several classes.
    pub fn examples(&self) -> usize {
        self.planes.as_ref().map_or(self.len(), |planes| planes.examples())
    }

    /// Returns the dual coefficients of each class, shape (C, m), whose sum over the classes is zero, from those of the planes.
    /// None without [`VersionSpace::of_classes`].
    pub fn class_duals(&self, dual: &[f64]) -> Option<Vec<Vec<f64>>> {
        self.planes().map(|planes| planes.class_duals(dual))
    }

    /// Returns the dual coefficients of the planes from those of the classes, shape (C, m), of which it takes the mean of all
    /// classes off. None without [`VersionSpace::of_classes`].
    pub fn plane_duals(&self, classes: &[Vec<f64>]) -> Option<Vec<f64>> {
        self.planes().map(|planes| planes.plane_duals(classes))
    }

    pub(crate) fn check_two_classes(&self, name: &'static str, what: &str) -> Result<()> {
        let wanted = "another for several classes, where it is not defined";
        require(self.planes.is_none(), name, what, wanted)
    }

    /// Checks that walls of this transparency, of several classes, do not coincide: the weight of an example is then not a
    /// product over walls, and no single one can decide for a group.
    pub(crate) fn check_coinciding(&self, mirror: Mirror) -> Result<()> {
        let fits = self.planes.is_none() || self.roles.is_empty() || mirror.is_hard();
        let got = "0 for examples with parallel feature vectors";
        let wanted = "positive for them, where the walls of several classes are transparent";
        require(fits, "softness", got, wanted)
    }

    /// Returns the violated walls of each example, shape (m,) in the order of classes, at plane coordinates `f`; none for two
    /// classes.
    pub(crate) fn violated_walls(&self, f: &[f64]) -> Vec<u32> {
        let Some(planes) = &self.planes else { return Vec::new() };
        let mut walls = vec![0; planes.examples()];
        for column in f.chunks_exact(planes.examples()) {
            for (count, f) in walls.iter_mut().zip(column) {
                *count += u32::from(f.is_sign_negative());
            }
        }
        walls
    }

    /// Returns the number of examples with a plane for which the condition holds.
    pub(crate) fn count_examples(&self, is_violated: impl Fn(usize) -> bool) -> usize {
        if self.planes.is_none() {
            return (0..self.len()).filter(|&plane| is_violated(plane)).count();
        }
        let m = self.examples();
        let planes = |place: usize| (place..self.len()).step_by(m);
        (0..m).filter(|&place| planes(place).any(&is_violated)).count()
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

    /// Returns the probability that plane i lets a ball pass that comes from the side of `f`: `min(1, w' / w)` with the weights
    /// κ^violations on this side, w, and on the other, w'.
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

    /// Returns κ of the wall of plane i for a point that may move along its coordinate alone, given the numbers of violated
    /// walls at plane coordinates `f`. Behind another wall of its example a wall has no effect.
    #[inline]
    pub(crate) fn own_transparency(&self, i: usize, f: f64, walls: &[u32], mirror: Mirror) -> f64 {
        match &self.planes {
            Some(planes) if walls[planes.place(i)] > u32::from(f.is_sign_negative()) => 1.0,
            _ => mirror.of(self.labels[i]),
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

    /// Returns the planes of labels -1 and +1, of those that plane i decides for, violated on the side of `f` and on the other.
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

    /// Returns the planes of labels -1 and +1 violated at `f`. Coinciding planes are on the side of the one that decides.
    pub(crate) fn layer(&self, f: &[f64]) -> [u32; 2] {
        if self.planes.is_some() {
            return self.violations(f);
        }
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
        if self.planes.is_some() {
            violated[1] = self.violated_walls(f).iter().map(|&walls| u32::from(walls > 0)).sum();
            return violated;
        }
        for (i, &f) in f.iter().enumerate() {
            violated[self.class(i)] += u32::from(!self.satisfied(i, f));
        }
        violated
    }

    /// Returns the margins `y_i <w, φ_i>` of dual coefficients, shape (m,): all positive inside version space.
    /// [`Error::Invalid`] if the number of coefficients is not m.
    pub fn margins(&self, dual: &[f64]) -> Result<Vec<f64>> {
        let got = format_args!("{} coefficients", dual.len());
        require(dual.len() == self.len(), "dual", got, "one per example")?;
        let mut f = self.gram.product(dual, Precision::Compensated, &Control::new())?;
        for (f, y) in f.iter_mut().zip(&self.labels) {
            *f *= f64::from(*y);
        }
        Ok(f)
    }

    /// Returns whether every margin is positive. Errors as [`VersionSpace::margins`].
    pub fn contains(&self, dual: &[f64]) -> Result<bool> {
        Ok(self.margins(dual)?.iter().all(|&margin| margin > 0.0))
    }
}
