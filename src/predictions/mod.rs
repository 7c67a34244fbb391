//! Means and variances of several models at many points, in one pass and in singles.
//!
//! For a tile of points the differences of the features from those of the m points of the basis give the kernel values k of all
//! models, which stay in the cache for their products and for the quadratic forms `kᵀ Q k` (`bayespoint.posterior.quadratic`).
//! Large parts of k cancel there, in singles with a loss of most digits. So the few directions P in which kernel values are
//! largest are taken out: with `a = Pᵀ k`, the form is that of `(k - P a, a)`.

use std::array;
use std::ops::Range;

use ndarray::{Array3, ArrayView1, ArrayView2, Axis};
use pulp::Arch;

use crate::base::{Control, Result, memory, require};
use crate::ensemble::WorkerPool;
use crate::propagation::sums::Measure;
use crate::simd::singles::{
    BLOCK, GROUP, Group, Lanes, PANEL, RadialSingles, add_form, add_product, deflate, panels,
    single,
};

/// Points of a tile, for which matrices are read once: a few blocks.
pub const TILE: usize = 4 * BLOCK;

/// A kernel of points whose features are multiplied by factors.
pub struct Part<'a> {
    /// What it is a function of.
    pub measure: Measure,
    /// Factor of the kernel.
    pub factor: f64,
    /// Factors of the features, shape (d,).
    pub scale: ArrayView1<'a, f64>,
    /// Of distances r, it is `(a + b r + c r²) exp(-rate r)`.
    pub rate: f64,
    /// The coefficients a, b and c.
    pub terms: [f64; 3],
}

/// A model: its kernel is a constant and at most one part of each measure.
pub struct Model<'a> {
    /// The parts of the kernel.
    pub parts: Vec<Part<'a>>,
    /// Constant that is added to all kernel values.
    pub offset: f64,
    /// Variance of the noise.
    pub softness: f64,
    /// Coefficients of the mean function, shape (m,).
    pub center: ArrayView1<'a, f64>,
    /// P, shape (m, r), with r a multiple of 6.
    pub span: ArrayView2<'a, f32>,
    /// Upper triangle with the form of `(k - P a, a)`, shape (m + r, m + r).
    pub form: ArrayView2<'a, f32>,
}

/// What is kept of a model.
struct Kept {
    center: Vec<f32>,
    span: Vec<Vec<[f32; PANEL]>>,
    form: Vec<Vec<[f32; PANEL]>>,
    /// The prior variance, noise included, is this constant and the sum of the squared features times the weights.
    constant: f64,
    squares: Vec<f64>,
}

/// Models with the same points.
pub struct Predictor {
    /// Shape (m, d).
    others: Vec<f32>,
    limits: Vec<f32>,
    d: usize,
    groups: Vec<Group>,
    models: Vec<Kept>,
}

impl Predictor {
    /// Takes the (m, d) points; differences of the last features count as their limits at most.
    pub fn new(points: &ArrayView2<'_, f64>, limits: &[f64], models: &[Model<'_>]) -> Result<Self> {
        let (m, d) = points.dim();
        require(limits.len() <= d && d > 0, "limits", limits.len(), "those of the last features")?;
        for model in models {
            let (parts, n) = (&model.parts, m + model.span.ncols());
            let fits = model.center.len() == m
                && model.span.nrows() == m
                && model.span.ncols().is_multiple_of(PANEL)
                && model.form.dim() == (n, n)
                && parts.iter().all(|part| part.scale.len() == d)
                && MEASURES.iter().all(|&of| parts.iter().filter(|p| p.measure == of).count() < 2);
            require(fits, "models", format_args!("{:?}", model.form.dim()), "one of the points")?;
        }
        memory::check_vectors(models.iter().map(|model| model.form.len() / 4).sum(), 1)?;
        Ok(Self {
            others: points.iter().copied().map(single).collect(),
            limits: limits.iter().copied().map(single).collect(),
            d,
            groups: models.chunks(GROUP).map(|models| group(models, d, limits)).collect(),
            models: models.iter().map(|model| Kept::new(model, d, limits)).collect(),
        })
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.d
    }

    /// Returns the means of all models at the n points, the prior variances, and if wanted the variances, all with noise, in
    /// singles but for the prior ones. Shape (2 or 3, number of models, n).
    pub fn moments(
        &self,
        points: &ArrayView2<'_, f64>,
        with_variances: bool,
        n_threads: usize,
        control: &Control,
    ) -> Result<Array3<f64>> {
        let n = points.nrows();
        memory::check_vectors(6 * self.models.len(), n)?;
        let mut tiles: Vec<_> =
            (0..n).step_by(TILE).map(|first| first..n.min(first + TILE)).collect();
        let pool = WorkerPool::new(n_threads, control)?;
        let rows = self.models.iter().map(Kept::rows).max().unwrap_or(0);
        pool.check_memory(pool.n_threads(), GROUP * TILE / 2, rows)?;
        let work = |_, rows: &mut Range<usize>| {
            self.tile(&points.slice_axis(Axis(0), rows.clone().into()), with_variances, control)
        };
        let of_tiles = pool.each(&mut tiles, work)?;
        let mut moments = Array3::zeros((2 + usize::from(with_variances), self.models.len(), n));
        for (rows, of_tile) in tiles.into_iter().zip(of_tiles) {
            moments.slice_axis_mut(Axis(2), rows.into()).assign(&of_tile);
        }
        Ok(moments)
    }

    fn tile(
        &self,
        points: &ArrayView2<'_, f64>,
        with_variances: bool,
        control: &Control,
    ) -> Result<Array3<f64>> {
        let (arch, n, m) = (Arch::new(), points.nrows(), self.others.len() / self.d);
        let mut moments = Array3::zeros((2 + usize::from(with_variances), self.models.len(), n));
        let blocks: Vec<Vec<Lanes>> = (0..n).step_by(BLOCK).map(|i| lanes(points, i)).collect();
        for (number, (group, models)) in
            self.groups.iter().zip(self.models.chunks(GROUP)).enumerate()
        {
            control.check()?;
            let rows = models.iter().map(Kept::rows).max().unwrap_or(m);
            let mut values = vec![[0f32; BLOCK]; blocks.len() * GROUP * rows];
            for (points, values) in blocks.iter().zip(values.chunks_exact_mut(GROUP * rows)) {
                let mut each = values.chunks_exact_mut(rows);
                let to = array::from_fn(|_| &mut each.next().expect("of a group")[..m]);
                group.values(arch, points, &self.others, &self.limits, to);
            }
            for (g, model) in models.iter().enumerate() {
                control.check()?;
                let k = number * GROUP + g;
                let of_block = |b| (b * GROUP + g) * rows..(b * GROUP + g) * rows + model.rows();
                let mut means = vec![[0.0; BLOCK]; blocks.len()];
                for (b, mean) in means.iter_mut().enumerate() {
                    add_product(arch, &values[of_block(b)][..m], &model.center, mean);
                }
                let mut forms = vec![[0.0; BLOCK]; blocks.len()];
                if with_variances {
                    for b in 0..blocks.len() {
                        deflate(arch, &mut values[of_block(b)], &model.span);
                    }
                    for (p, panel) in model.form.iter().enumerate() {
                        for (b, form) in forms.iter_mut().enumerate() {
                            add_form(arch, &values[of_block(b)], panel, p * PANEL, form);
                        }
                    }
                }
                for (i, point) in points.rows().into_iter().enumerate() {
                    let own = model.prior_variance(&point);
                    moments[[0, k, i]] = means.as_flattened()[i];
                    moments[[1, k, i]] = own;
                    if with_variances {
                        moments[[2, k, i]] = own + forms.as_flattened()[i];
                    }
                }
            }
        }
        Ok(moments)
    }
}

const MEASURES: [Measure; 3] = [Measure::CityBlock, Measure::Distance, Measure::Product];

/// Returns the features of a block of points from number `first` on, in singles; those that lack are zero.
fn lanes(points: &ArrayView2<'_, f64>, first: usize) -> Vec<Lanes> {
    let of_feature = |k| array::from_fn(|i| points.get([first + i, k]).map_or(0.0, |&x| single(x)));
    (0..points.ncols()).map(of_feature).collect()
}

/// Squared length of the indicator vectors of categories.
fn constant(part: &Part<'_>, limits: &[f64]) -> f64 {
    let scale = part.scale.slice_axis(Axis(0), (part.scale.len() - limits.len()..).into());
    0.5 * part.factor * scale.iter().zip(limits).map(|(s, limit)| (s * limit).powi(2)).sum::<f64>()
}

fn group(models: &[Model<'_>], d: usize, limits: &[f64]) -> Group {
    let mut group = Group {
        weights: vec![[[0.0; GROUP]; 3]; d],
        constant: [0.0; GROUP],
        radial: [[RadialSingles::default(); GROUP]; 2],
    };
    for (g, model) in models.iter().enumerate() {
        let mut added = model.offset;
        for part in &model.parts {
            let place = part.measure as usize;
            for (k, &scale) in part.scale.iter().enumerate() {
                let weight = match part.measure {
                    Measure::CityBlock => scale,
                    Measure::Distance => scale * scale,
                    Measure::Product if k < d - limits.len() => part.factor * scale * scale,
                    Measure::Product => -0.5 * part.factor * scale * scale,
                };
                group.weights[k][place][g] = single(weight);
            }
            if part.measure == Measure::Product {
                added += constant(part, limits);
            } else {
                let terms = part.terms.map(|term| single(part.factor * term));
                group.radial[place][g] = RadialSingles { rate: single(part.rate), terms };
            }
        }
        group.constant[g] = single(added);
    }
    group
}

impl Kept {
    fn new(model: &Model<'_>, d: usize, limits: &[f64]) -> Self {
        let (mut own, mut squares) = (model.offset + model.softness, vec![0.0; d - limits.len()]);
        for part in &model.parts {
            if part.measure == Measure::Product {
                own += constant(part, limits);
                let scales = squares.iter_mut().zip(&part.scale);
                scales.for_each(|(square, scale)| *square += part.factor * scale * scale);
            } else {
                own += part.factor * part.terms[0];
            }
        }
        let (span, form) = (&model.span, &model.form);
        Self {
            center: model.center.iter().copied().map(single).collect(),
            span: panels(|i, j| span[[i, j]], span.nrows(), span.ncols()),
            form: panels(|i, j| form[[i, j]], form.nrows(), form.ncols()),
            constant: own,
            squares,
        }
    }

    /// Number of values in the quadratic form.
    fn rows(&self) -> usize {
        self.center.len() + PANEL * self.span.len()
    }

    fn prior_variance(&self, point: &ArrayView1<'_, f64>) -> f64 {
        self.constant + self.squares.iter().zip(point).map(|(w, x)| w * x * x).sum::<f64>()
    }
}
