//! Means and variances of several models at many points, in one pass and in singles.
//!
//! For a tile of points the differences of the features from those of the m points of the basis give the kernel values k of all
//! models, which stay in the cache for their products and for the quadratic forms `kᵀ Q k` (`bayespoint.posterior.quadratic`).
//! Large parts of k cancel there, in singles with a loss of most digits. So the few directions P in which kernel values are
//! largest are taken out: with `a = Pᵀ k`, the form is that of `(k - P a, a)`.

use std::array;

use ndarray::{Array3, ArrayView1, ArrayView2, ArrayViewMut3, Axis};

use crate::base::{Control, Result, memory, require};
use crate::ensemble::WorkerPool;
use crate::propagation::sums::{Measure, Summand};
use crate::simd::distance::Radial;
use crate::simd::singles::{
    BLOCK, GROUP, Group, PANEL, Panel, PointBlock, add_form, add_product, add_products, single,
    write_values,
};

/// Points of a tile, for which matrices are read once: a few blocks.
pub const TILE: usize = 4 * BLOCK;

/// A model: its kernel is a constant and at most one part of each measure.
pub struct Model<'a> {
    /// The parts of the kernel.
    pub parts: Vec<Summand>,
    /// Constant that is added to all kernel values.
    pub offset: f64,
    /// Variance of the noise.
    pub softness: f64,
    /// Coefficients of the mean function, shape (m,).
    pub center: ArrayView1<'a, f64>,
    /// P, shape (m, r), of all models the same.
    pub span: ArrayView2<'a, f32>,
    /// Upper triangle with the form of `(k - P a, a)`, zero below, shape (m + r, m + r).
    pub form: ArrayView2<'a, f32>,
}

/// What is kept of a model.
struct Kept {
    center: Vec<f32>,
    /// Of P, and of its transpose with the other sign.
    span: [Vec<Panel>; 2],
    form: Vec<Panel>,
    /// The prior variance, noise included, is this constant and the sum of the squared features times the weights.
    constant: f64,
    squares: Vec<f64>,
}

/// Models with the same points.
pub struct Predictor {
    /// Shape (m, d).
    others: Vec<f32>,
    limits: Vec<f32>,
    /// Number of features.
    pub d: usize,
    /// Number of values in the quadratic forms.
    rows: usize,
    groups: Vec<Group>,
    models: Vec<Kept>,
}

impl Predictor {
    /// Takes the (m, d) points; differences of the last features count as their limits at most.
    pub fn new(points: &ArrayView2<f64>, limits: &[f64], models: &[Model]) -> Result<Self> {
        let (m, d) = points.dim();
        require(limits.len() <= d && d > 0, "limits", limits.len(), "those of the last features")?;
        let rows = models.first().map_or(m, |model| model.form.nrows());
        for model in models {
            let parts = &model.parts;
            let fits = model.center.len() == m
                && model.span.dim() == (m, rows - m)
                && model.form.dim() == (rows, rows)
                && parts.iter().all(|part| part.scale.len() == d)
                && MEASURES.iter().all(|&of| parts.iter().filter(|p| p.measure == of).count() < 2);
            require(fits, "models", format_args!("{:?}", model.form.dim()), "one of the points")?;
        }
        memory::check_vectors(models.len() * rows / 4, rows)?;
        Ok(Self {
            others: points.iter().copied().map(single).collect(),
            limits: limits.iter().copied().map(single).collect(),
            d,
            rows,
            groups: models.chunks(GROUP).map(|models| group(models, d, limits)).collect(),
            models: models.iter().map(|model| Kept::new(model, d, limits)).collect(),
        })
    }

    /// Returns the means of all models at the n points, the prior variances, and if wanted the variances, all with noise, in
    /// singles but for the prior ones. Shape (2 or 3, number of models, n).
    pub fn moments(
        &self,
        points: &ArrayView2<f64>,
        with_variances: bool,
        n_threads: usize,
        control: &Control,
    ) -> Result<Array3<f64>> {
        let n = points.nrows();
        memory::check_vectors(3 * self.models.len(), n)?;
        let mut moments = Array3::zeros((2 + usize::from(with_variances), self.models.len(), n));
        let mut tiles: Vec<_> = moments.axis_chunks_iter_mut(Axis(2), TILE).collect();
        let pool = WorkerPool::new(n_threads, control)?;
        pool.check_memory(pool.n_threads(), GROUP * TILE / 2, self.rows)?;
        pool.each(&mut tiles, |tile, to| {
            let rows = tile * TILE..n.min((tile + 1) * TILE);
            self.tile(&points.slice_axis(Axis(0), rows.into()), to, control)
        })?;
        Ok(moments)
    }

    fn tile(
        &self,
        points: &ArrayView2<f64>,
        moments: &mut ArrayViewMut3<f64>,
        control: &Control,
    ) -> Result<()> {
        let (rows, m) = (self.rows, self.others.len() / self.d);
        let blocks: Vec<Vec<PointBlock>> =
            (0..points.nrows()).step_by(BLOCK).map(|i| lanes(points, i)).collect();
        let with_variances = moments.len_of(Axis(0)) > 2;
        let mut values = vec![PointBlock([0.0; BLOCK]); blocks.len() * GROUP * rows];
        for (k, model) in self.models.iter().enumerate() {
            control.check()?;
            if k.is_multiple_of(GROUP) {
                for (points, values) in blocks.iter().zip(values.chunks_exact_mut(GROUP * rows)) {
                    let mut each = values.chunks_exact_mut(rows);
                    let to = array::from_fn(|_| &mut each.next().expect("of a group")[..m]);
                    let group = &self.groups[k / GROUP];
                    write_values(group, points, &self.others, &self.limits, to);
                }
            }
            let mut of_blocks: Vec<&mut [PointBlock]> =
                values.chunks_exact_mut(rows).skip(k % GROUP).step_by(GROUP).collect();
            let [mut means, mut forms] = [(); 2].map(|()| vec![[0.0; BLOCK]; blocks.len()]);
            for (mean, values) in means.iter_mut().zip(&of_blocks) {
                add_product(&values[..m], &model.center, mean);
            }
            if with_variances {
                for values in &mut of_blocks {
                    let (values, products) = values.split_at_mut(m);
                    products.fill(PointBlock([0.0; BLOCK]));
                    add_products(values, &model.span[0], products);
                    add_products(products, &model.span[1], values);
                }
                for (p, panel) in model.form.iter().enumerate() {
                    for (form, values) in forms.iter_mut().zip(&of_blocks) {
                        add_form(values, panel, p * PANEL, form);
                    }
                }
            }
            for (i, point) in points.rows().into_iter().enumerate() {
                let squares = model.squares.iter().zip(point).map(|(w, x)| w * x * x);
                let own = model.constant + squares.sum::<f64>();
                moments[[0, k, i]] = means.as_flattened()[i];
                moments[[1, k, i]] = own;
                if with_variances {
                    moments[[2, k, i]] = own + forms.as_flattened()[i];
                }
            }
        }
        Ok(())
    }
}

const MEASURES: [Measure; 3] = [Measure::CityBlock, Measure::Distance, Measure::Product];

/// Returns the features of a block of points from number `first` on, in singles; those that lack are zero.
fn lanes(points: &ArrayView2<f64>, first: usize) -> Vec<PointBlock> {
    let number = |i, k| points.get([first + i, k]).map_or(0.0, |&x| single(x));
    (0..points.ncols()).map(|k| PointBlock(array::from_fn(|i| number(i, k)))).collect()
}

/// Returns the panels of a matrix, square ones being upper triangles.
fn panels(matrix: &ArrayView2<f32>) -> Vec<Panel> {
    let (n, columns) = matrix.dim();
    let panel = |first| {
        let rows = if n == columns { n.min(first + PANEL) } else { n };
        let entry = |i, j| matrix.get([i, j]).copied().unwrap_or(0.0);
        (0..rows).map(|i| array::from_fn(|c| entry(i, first + c))).collect()
    };
    (0..columns).step_by(PANEL).map(panel).collect()
}

fn group(models: &[Model], d: usize, limits: &[f64]) -> Group {
    let mut group = Group {
        weights: vec![[[0.0; GROUP]; 3]; d],
        constant: [0.0; GROUP],
        radial: [[Radial { rate: 0.0, terms: [[0.0; 3]] }; GROUP]; 2],
    };
    for (g, model) in models.iter().enumerate() {
        let mut constant = model.offset;
        for part in &model.parts {
            let (place, factor) = (part.measure as usize, part.factor);
            for (k, &scale) in part.scale.iter().enumerate() {
                let weight = match part.measure {
                    Measure::CityBlock => scale,
                    Measure::Distance => scale * scale,
                    Measure::Product if k < d - limits.len() => factor * scale * scale,
                    Measure::Product => -0.5 * factor * scale * scale,
                };
                group.weights[k][place][g] = single(weight);
            }
            if part.measure == Measure::Product {
                constant += factor * part.at_zero(limits);
            } else {
                let Radial { rate, terms } = part.radial;
                let terms = [terms[0].map(|term| single(factor * term))];
                group.radial[place][g] = Radial { rate: single(rate), terms };
            }
        }
        group.constant[g] = single(constant);
    }
    group
}

impl Kept {
    fn new(model: &Model, d: usize, limits: &[f64]) -> Self {
        let at_zero = model.parts.iter().map(|part| part.factor * part.at_zero(limits));
        let mut squares = vec![0.0; d - limits.len()];
        for part in model.parts.iter().filter(|part| part.measure == Measure::Product) {
            let scales = squares.iter_mut().zip(&part.scale);
            scales.for_each(|(square, scale)| *square = part.factor * scale * scale);
        }
        Self {
            center: model.center.iter().copied().map(single).collect(),
            span: [panels(&model.span), panels(&model.span.map(|x| -x).t())],
            form: panels(&model.form),
            constant: model.offset + model.softness + at_zero.sum::<f64>(),
            squares,
        }
    }
}
