//! Version space: a Gram matrix with labels.

use std::sync::Arc;

use super::coinciding::{Role, roles};
use super::mirror::Mirror;
use crate::base::{Control, Result, check_length, require};
use crate::gram::{ClassPlanes, Gram, Planes, Wall, Walls};
use crate::simd::Precision;

/// The set of unit weight vectors `w = Σ c_i φ_i` with `y_i <w, φ_i> > 0` for all examples.
///
/// Weight vectors are given by their dual coefficients `c`, shape (m,), which include the labels.
///
/// With several classes ([`VersionSpace::of_classes`]) w has a part for each class, and an example has a wall between its class
/// and every other. These m (C - 1) planes all have label +1. Everywhere vectors then have one number for each plane; only the
/// examples that are violated, by one wall or more, are counted, not their walls.
///
/// Walls in general ([`VersionSpace::of_walls`]) are half-spaces of a Gaussian vector, as of ordered classes and choices.
#[derive(Clone, Debug)]
pub struct VersionSpace<'a> {
    gram: Gram<'a>,
    labels: Vec<i8>,
    /// Shape (m,), or empty if no planes coincide.
    roles: Vec<Role>,
    /// The planes, where they are not those of single examples.
    planes: Option<Planes>,
}

impl<'a> VersionSpace<'a> {
    /// Joins a Gram matrix and its labels. [`crate::Error::Invalid`] for another number than m or a label neither -1 nor +1.
    pub fn new(gram: Gram<'a>, labels: Vec<i8>) -> Result<Self> {
        check_length("labels", labels.len(), gram.len())?;
        for y in &labels {
            require([-1, 1].contains(y), "labels", y, "-1 or +1")?;
        }
        Ok(Self::of_planes(gram, labels))
    }

    /// Returns the joint version space of several classes, for labels 0, ..., `n_classes` - 1 of the examples of `gram`: the
    /// set of `(w_1, ..., w_C)` with `Σ w_c = 0` of which that of an example's class has the largest product with its vector.
    ///
    /// [`crate::Error::Invalid`] if the number of labels is not m, a label is out of range or there are fewer than two classes.
    pub fn of_classes(gram: Gram<'a>, labels: &[usize], n_classes: usize) -> Result<Self> {
        check_length("labels", labels.len(), gram.len())?;
        let planes = ClassPlanes::new(labels, n_classes)?;
        let gram = Gram::of_planes(gram, Planes::Classes(Arc::new(planes)))?;
        let labels = vec![1; gram.len()];
        Ok(Self::of_planes(gram, labels))
    }

    fn of_planes(gram: Gram<'a>, labels: Vec<i8>) -> Self {
        let (roles, planes) = (roles(&gram, &labels), gram.planes().cloned());
        Self { gram, labels, roles, planes }
    }

    /// Returns the version space of walls `Σ_j b_j z_j ≥ 0` of the Gaussian vector z whose covariance is the Gram matrix, with offset
    /// and softness. Walls of one observation are violated or not as a whole; those of none always hold: they have label -1,
    /// whose transparency should be 0, and all others +1.
    ///
    /// [`crate::Error::Invalid`] without walls; for a wall of no coordinates, more than three, repeated ones or others than
    /// those of the matrix, coefficients 0 or not finite, or normals without length; if the observations are not 0, 1, ...
    pub fn of_walls(gram: Gram<'a>, walls: &[Wall]) -> Result<Self> {
        let (walls, labels) = Walls::new(gram.len(), walls)?;
        let gram = Gram::of_planes(gram, Planes::Walls(Arc::new(walls)))?;
        Ok(Self::of_planes(gram, labels))
    }

    /// Returns the image under a linear map, given its Gram matrix. Coinciding planes still coincide, however they are rounded.
    pub(crate) fn mapped<'b>(&self, gram: Gram<'b>) -> VersionSpace<'b> {
        debug_assert_eq!(gram.len(), self.len());
        let (labels, roles) = (self.labels.clone(), self.roles.clone());
        VersionSpace { gram, labels, roles, planes: self.planes.clone() }
    }

    /// Returns the planes of several classes or of walls; none for two classes.
    pub fn planes(&self) -> Option<&Planes> {
        self.planes.as_ref()
    }

    pub(crate) fn walls(&self) -> Option<&Walls> {
        self.planes.as_ref().and_then(Planes::walls)
    }

    /// Returns whether plane i is no wall, but lets every ball pass.
    #[inline]
    pub(crate) fn is_free(&self, i: usize) -> bool {
        self.walls().is_some_and(|walls| i >= walls.walls())
    }

    /// Returns the number of examples, of which each has several planes if there are several classes.
    pub fn examples(&self) -> usize {
        self.planes.as_ref().map_or(self.len(), Planes::examples)
    }

    pub(crate) fn check_no_walls(&self, name: &'static str, what: &str) -> Result<()> {
        require(self.walls().is_none(), name, what, "another for walls, where it is not defined")
    }

    /// Checks that transparent walls of examples or observations of several do not coincide if they ask for different sides: the
    /// weight of an example is then not a product over walls, and no single one can decide for a group.
    pub(crate) fn check_coinciding(&self, mirror: Mirror) -> Result<()> {
        let is_in_doubt = |(i, role): (usize, &Role)| {
            let disagrees = match role {
                Role::Alone => false,
                Role::Follows { agrees } => !agrees,
                Role::Decides(sides) => !sides.contains(&[0; 2]),
            };
            match &self.planes {
                None => false,
                Some(Planes::Classes(_)) => *role != Role::Alone,
                Some(Planes::Walls(walls)) => disagrees && !walls.is_alone(i),
            }
        };
        let fits = mirror.is_hard() || !self.roles.iter().enumerate().any(is_in_doubt);
        let got = "0 for examples with parallel feature vectors";
        let wanted =
            "positive for them, where the walls of several classes or observations are transparent";
        require(fits, "softness", got, wanted)
    }

    /// Returns the violated walls of each example at plane coordinates `f`, by [`Planes::place`]; none for two classes.
    pub(crate) fn violated_walls(&self, f: &[f64]) -> Vec<u32> {
        let Some(planes) = &self.planes else { return Vec::new() };
        let mut walls = vec![0; planes.examples()];
        for (i, &f) in f.iter().enumerate() {
            if let Some(place) = planes.place(i) {
                walls[place] += u32::from(!self.satisfied(i, f));
            }
        }
        walls
    }

    /// Returns the number of examples with a plane for which the condition holds.
    pub(crate) fn count_examples(&self, is_violated: impl Fn(usize) -> bool) -> usize {
        let Some(planes) = &self.planes else {
            return (0..self.len()).filter(|&plane| is_violated(plane)).count();
        };
        let mut violated = vec![false; planes.examples()];
        for (plane, place) in (0..self.len()).filter_map(|i| Some((i, planes.place(i)?))) {
            violated[place] = violated[place] || is_violated(plane);
        }
        violated.into_iter().filter(|is| *is).count()
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

    /// Returns κ of the wall of plane i for a point that may move along its coordinate alone, given the numbers of violated
    /// walls at plane coordinates `f`. Behind another wall of its example a wall has no effect.
    #[inline]
    pub(crate) fn own_transparency(&self, i: usize, f: f64, walls: &[u32], mirror: Mirror) -> f64 {
        match &self.planes {
            Some(planes)
                if planes.place(i).is_none_or(|k| walls[k] > u32::from(!self.satisfied(i, f))) =>
            {
                1.0
            }
            _ => mirror.of(self.labels[i]),
        }
    }

    /// Returns the roles of all planes, or an empty slice if no planes coincide.
    pub(crate) fn roles(&self) -> &[Role] {
        &self.roles
    }

    pub(super) fn role(&self, i: usize) -> Role {
        self.roles.get(i).copied().unwrap_or(Role::Alone)
    }

    /// Returns the planes of labels -1 and +1, of those that plane i decides for, violated on the side of `f` and on the other.
    pub(super) fn violated(&self, i: usize, f: f64) -> ([u32; 2], [u32; 2]) {
        let [above, below] = match self.role(i) {
            Role::Alone if self.labels[i] > 0 => [[0, 1], [0, 0]],
            Role::Alone => [[0, 0], [1, 0]],
            Role::Follows { .. } => [[0; 2]; 2],
            Role::Decides(sides) => sides,
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
        if let Some(planes) = &self.planes {
            // Walls that always hold come after the observations, and each is the only one of its own.
            let observed = self.walls().map_or(planes.examples(), |walls| walls.observed);
            for (place, walls) in self.violated_walls(f).into_iter().enumerate() {
                violated[usize::from(place < observed)] += u32::from(walls > 0);
            }
            return violated;
        }
        for (i, &f) in f.iter().enumerate() {
            violated[self.class(i)] += u32::from(!self.satisfied(i, f));
        }
        violated
    }

    /// Returns the margins `y_i <w, φ_i>` of dual coefficients, shape (m,); [`crate::Error::Invalid`] for another number.
    pub fn margins(&self, dual: &[f64]) -> Result<Vec<f64>> {
        check_length("dual", dual.len(), self.len())?;
        let f = self.gram.product(dual, Precision::Compensated, &Control::new())?;
        Ok(self.signed(&f))
    }

    /// Returns one number for each plane, times its label.
    pub(crate) fn signed(&self, values: &[f64]) -> Vec<f64> {
        values.iter().zip(&self.labels).map(|(x, y)| x * f64::from(*y)).collect()
    }

    /// Returns the number of examples without a positive margin. Errors as [`VersionSpace::margins`].
    pub(crate) fn violated_by(&self, dual: &[f64]) -> Result<usize> {
        let margins = self.margins(dual)?;
        Ok(self.count_examples(|i| margins[i].is_nan() || margins[i] <= 0.0))
    }

    /// Returns whether every margin is positive, but for planes that are no walls. Errors as [`VersionSpace::margins`].
    pub fn contains(&self, dual: &[f64]) -> Result<bool> {
        Ok(self.violated_by(dual)? == 0)
    }
}
