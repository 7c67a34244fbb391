//! Version spaces with closed forms of the uniform law.
//!
//! A direction times an independent length with a chi distribution is a normal vector truncated by the same planes. So every law
//! of truncated normal vectors is one of directions ([`Sample::length`]).

use std::f64::consts::PI;

use bayespoint::Mirror;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::common::{Inverted, Problem, alike, cross, density, dot, normal, normals, unit};
use crate::special::{beta, tabulated};

/// A sampled weight vector.
pub struct Sample {
    /// Of unit length.
    pub weight: Vec<f64>,
    /// The length of an independent normal vector with the dimension of the span.
    pub length: f64,
    /// Number of violated planes.
    pub violations: f64,
}

pub enum Law {
    Distribution(Box<dyn Fn(f64) -> f64>),
    Mean(f64),
}

/// A function of a weight vector and its exact law.
pub struct Quantity {
    pub name: String,
    pub of: Box<dyn Fn(&Sample) -> f64>,
    pub law: Law,
}

impl Quantity {
    fn distribution(
        name: &str,
        of: impl Fn(&Sample) -> f64 + 'static,
        function: impl Fn(f64) -> f64 + 'static,
    ) -> Self {
        let law = Law::Distribution(Box::new(function));
        Self { name: name.into(), of: Box::new(of), law }
    }

    fn mean(name: &str, of: impl Fn(&Sample) -> f64 + 'static, exact: f64) -> Self {
        Self { name: name.into(), of: Box::new(of), law: Law::Mean(exact) }
    }
}

/// Draws from the exact law.
type Exact = Box<dyn Fn(&mut ChaCha8Rng) -> Vec<f64>>;

pub struct Target {
    pub name: String,
    /// The input of the engine: feature vectors, row-major, the offset and the softness.
    pub base: Vec<f64>,
    pub offset: f64,
    pub softness: f64,
    /// The same problem with explicit features for offset and softness too.
    pub problem: Problem,
    pub mirror: Mirror,
    /// Dimension of the span.
    pub rank: usize,
    pub quantities: Vec<Quantity>,
    pub exact: Option<Exact>,
    /// The center as a weight vector of any length, since dual coefficients of ill-conditioned planes are inaccurate.
    pub center: Option<Vec<f64>>,
}

impl Target {
    fn plain(name: String, x: Vec<Vec<f64>>, labels: Vec<i8>) -> Self {
        let (base, rank) = (x.concat(), x[0].len());
        Self {
            name,
            base,
            offset: 0.0,
            softness: 0.0,
            problem: Problem::new(x, labels),
            mirror: Mirror::HARD,
            rank,
            quantities: Vec::new(),
            exact: None,
            center: None,
        }
    }

    /// Returns dual coefficients of a weight vector, with zeros for planes beyond the rank.
    pub fn dual(&self, weight: &[f64]) -> Vec<f64> {
        let (m, n) = (self.problem.x.len(), self.rank);
        let field: Vec<f64> = self.problem.x[..n].iter().map(|x| dot(x, weight)).collect();
        let rows = self.problem.gram.chunks(m).take(n);
        let gram: Vec<f64> = rows.flat_map(|row| row[..n].iter().copied()).collect();
        let rows = Inverted::new(&gram, 0.0).rows();
        let mut dual: Vec<f64> = rows.iter().map(|row| dot(row, &field)).collect();
        dual.resize(m, 0.0);
        dual
    }
}

fn axis(n: usize, i: usize) -> Vec<f64> {
    (0..n).map(|j| f64::from(u8::from(i == j))).collect()
}

/// Distribution function of the absolute value of a coordinate on the unit sphere in n dimensions.
fn coordinate(n: usize) -> impl Fn(f64) -> f64 {
    move |x| beta(0.5, 0.5 * (n as f64 - 1.0), x * x)
}

/// An orthant in n dimensions: each label is violated with odds κ : 1.
pub fn orthant(n: usize, kappa: f64) -> Target {
    let labels: Vec<i8> = (0..n).map(|i| if i % 3 == 1 { -1 } else { 1 }).collect();
    let sign: Vec<f64> = labels.iter().map(|y| f64::from(*y)).collect();
    let mut target = Target::plain(
        format!("orthant, n = {n}, κ = {kappa}"),
        (0..n).map(|i| axis(n, i)).collect(),
        labels,
    );
    let d = n as f64;
    target.mirror = alike(kappa);
    let (first, last) = (sign[0], sign[n - 1]);
    let share = (1.0 - kappa) / (1.0 + kappa);
    target.quantities = vec![
        Quantity::distribution("|w_1|", |s| s.weight[0].abs(), coordinate(n)),
        Quantity::distribution("|w_n|", move |s| s.weight[n - 1].abs(), coordinate(n)),
        Quantity::mean("w_1²", |s| s.weight[0].powi(2), d.recip()),
        Quantity::mean("w_1 w_2", |s| -s.weight[0] * s.weight[1], share.powi(2) * 2.0 / (PI * d)),
        Quantity::mean(
            "length times w_n",
            move |s| s.length * s.weight[n - 1] * last,
            share * (2.0 / PI).sqrt(),
        ),
    ];
    if kappa > 0.0 {
        let negative = kappa / (1.0 + kappa);
        target.quantities.extend([
            Quantity::mean("violations", |s| s.violations, d * negative),
            Quantity::mean(
                "violations squared",
                |s| s.violations.powi(2),
                d * negative * (1.0 - negative) + (d * negative).powi(2),
            ),
            Quantity::mean(
                "violated first",
                move |s| f64::from(u8::from(s.weight[0] * first < 0.0)),
                negative,
            ),
        ]);
    }
    target.center = Some(sign.clone());
    target.exact = Some(Box::new(move |rng| {
        let values = normals(sign.len(), rng);
        let signed = values.iter().zip(&sign).map(|(z, y)| {
            let flip = if rng.random::<f64>() < kappa / (1.0 + kappa) { -1.0 } else { 1.0 };
            z.abs() * y * flip
        });
        unit(signed.collect())
    }));
    target
}

/// A wedge of opening angle ω, times an orthant in the other n - 2 dimensions.
pub fn wedge(n: usize, omega: f64) -> Target {
    let mut x: Vec<Vec<f64>> = (0..n).map(|i| axis(n, i)).collect();
    x[0] = axis(n, 1);
    x[1] = axis(n, 0).iter().map(|e| -e * omega.sin()).collect();
    x[1][1] = omega.cos();
    let mut labels = vec![1; n];
    labels[1] = -1;
    let mut target = Target::plain(format!("wedge of {omega} rad, n = {n}"), x, labels);
    let angle = |s: &Sample| s.weight[1].atan2(s.weight[0]);
    target.quantities =
        vec![Quantity::distribution("angle", angle, move |x| (x / omega).clamp(0.0, 1.0))];
    let across = 0.5 * (n as f64 - 2.0);
    if n > 2 {
        target.quantities.extend([
            Quantity::distribution(
                "squared radius",
                |s| s.weight[0].powi(2) + s.weight[1].powi(2),
                move |x| 1.0 - (1.0 - x.clamp(0.0, 1.0)).powf(across),
            ),
            Quantity::distribution("w_n", move |s| s.weight[n - 1], coordinate(n)),
        ]);
    }
    // The mean of a normal vector: its part in the plane of the wedge, and its other coordinates.
    let along = (PI / 2.0).sqrt() * (0.5 * omega).sin() / (0.5 * omega);
    let mut mean = vec![(2.0 / PI).sqrt(); n];
    (mean[0], mean[1]) = (along * (0.5 * omega).cos(), along * (0.5 * omega).sin());
    target.center = Some(mean);
    target.exact = Some(Box::new(move |rng| {
        let mut w: Vec<f64> = normals(n, rng).iter().map(|z| z.abs()).collect();
        let (radius, angle) = (w[0].hypot(w[1]), omega * rng.random::<f64>());
        (w[0], w[1]) = (radius * angle.cos(), radius * angle.sin());
        unit(w)
    }));
    target
}

/// A spherical triangle with given corners, counter-clockwise.
pub fn triangle(corners: [[f64; 3]; 3]) -> Target {
    let [a, b, c] = corners.map(|corner| unit(corner.to_vec()));
    let inward = [unit(cross(&a, &b)), unit(cross(&b, &c)), unit(cross(&c, &a))];
    let labels = vec![1, -1, 1];
    let x: Vec<Vec<f64>> = inward
        .iter()
        .zip(&labels)
        .map(|(n, y)| n.iter().map(|n| 1.7 * n * f64::from(*y)).collect())
        .collect();
    let sides = [(&a, &b), (&b, &c), (&c, &a)].map(|(a, b)| dot(a, b).acos());
    let at = |k: usize| PI - dot(&inward[k], &inward[(k + 2) % 3]).acos();
    let (alpha, beta) = (at(0), at(1));
    // Area of the triangle with angle φ at A, the angle at B and the side between them (Girard).
    let cos_side = sides[0].cos();
    let area = move |phi: f64| {
        phi + beta + (phi.sin() * beta.sin() * cos_side - phi.cos() * beta.cos()).acos() - PI
    };
    let whole = area(alpha);
    let mean: Vec<f64> = (0..3)
        .map(|k| 0.5 / whole * (0..3).map(|edge| sides[edge] * inward[edge][k]).sum::<f64>())
        .collect();
    let mut target = Target::plain(format!("triangle of area {whole:.3}"), x.clone(), labels);
    let up = unit(cross(&a, &b));
    let east = cross(&up, &a);
    let azimuth = move |s: &Sample| dot(&s.weight, &up).atan2(dot(&s.weight, &east));
    target.quantities = (0..3)
        .map(|k| Quantity::mean(&format!("w_{}", k + 1), move |s| s.weight[k], mean[k]))
        .collect();
    target.quantities.push(Quantity::distribution("azimuth", azimuth, move |phi| {
        area(phi.clamp(0.0, alpha)) / whole
    }));
    target.center = Some(mean);
    target.exact = Some(Box::new(move |rng| {
        loop {
            let w = unit(normals(3, rng));
            if inward.iter().all(|n| dot(n, &w) > 0.0) {
                return w;
            }
        }
    }));
    target
}

/// Half of the sphere: one hard wall among transparent ones.
pub fn half_sphere(n: usize) -> Target {
    let x: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let mut x = axis(n, i);
            x[0] = if i == 0 { 1.0 } else { 0.6 };
            x
        })
        .collect();
    let mut labels = vec![-1; n];
    labels[0] = 1;
    let mut target = Target::plain(format!("half sphere, n = {n}"), x, labels);
    target.mirror = Mirror([1.0, 0.0]);
    let last = n - 1;
    let half = coordinate(n);
    target.quantities = vec![
        Quantity::distribution("w_1", |s| s.weight[0], coordinate(n)),
        Quantity::distribution(
            "w_n",
            move |s| s.weight[last],
            move |x| 0.5 + 0.5 * half(x).copysign(x),
        ),
    ];
    target.center = Some(axis(n, 0));
    target.exact = Some(Box::new(move |rng| {
        let mut w = unit(normals(n, rng));
        w[0] = w[0].abs();
        w
    }));
    target
}

/// A cone of m planes with `K_ij = shared + own δ_ij`, the first `negative` of them with label -1, and transparencies by class.
/// The diagonal part consists of `own - softness` and softness, the shared part is the offset.
pub struct Cone {
    pub m: usize,
    pub negative: usize,
    pub own: f64,
    pub shared: f64,
    pub softness: f64,
    pub kappa: (f64, f64),
}

impl Cone {
    pub fn target(&self) -> Target {
        let &Self { m, negative, own, shared, softness, kappa } = self;
        let labels: Vec<i8> = (0..m).map(|i| if i < negative { -1 } else { 1 }).collect();
        let x = (0..m)
            .map(|i| {
                let mut x = vec![0.0; 2 * m + 1];
                (x[i], x[m + i]) = ((own - softness).sqrt(), softness.sqrt());
                x[2 * m] = shared.sqrt();
                x
            })
            .collect();
        let mut target = Target::plain(
            format!(
                "cone, m = {m} ({negative} -), ρ = {:.2}, κ = {kappa:?}",
                shared / (own + shared)
            ),
            x,
            labels.clone(),
        );
        target.base =
            (0..m).flat_map(|i| axis(m, i)).map(|e| e * (own - softness).sqrt()).collect();
        (target.offset, target.softness, target.rank) = (shared, softness, m);
        target.mirror = Mirror([kappa.0, kappa.1]);

        // Given the shared part s, f_i is normal with mean √shared s; its negative and its positive half have different weights.
        let deviation = own.sqrt();
        let mean = move |s: f64| shared.sqrt() * s;
        let halves = move |y: i8| if y > 0 { (kappa.1, 1.0) } else { (1.0, kappa.0) };
        let weight = move |y: i8, s: f64| {
            let (below, above) = halves(y);
            let a = mean(s) / deviation;
            below * normal(-a) + above * normal(a)
        };
        let average = move |y: i8, s: f64| {
            let (below, above) = halves(y);
            let a = mean(s) / deviation;
            mean(s) + deviation * density(a) * (above - below) / weight(y, s)
        };
        let violated = move |y: i8, s: f64| {
            let (kappa, sign) = if y > 0 { (kappa.1, -1.0) } else { (kappa.0, 1.0) };
            kappa * normal(sign * mean(s) / deviation) / weight(y, s)
        };
        let count = move |y: i8| (if y > 0 { m - negative } else { negative }) as f64;
        let nodes: Vec<(f64, f64)> = {
            // Nodes are denser near the walls, where the scale is the root of own over shared.
            let scale = (own / shared.max(1e-300)).sqrt().min(1.0);
            let end = (10.0 / scale).asinh();
            let raw: Vec<(f64, f64)> = (0..=1000)
                .map(|k| {
                    let u = end * f64::from(k - 500) / 500.0;
                    let s = scale * u.sinh();
                    let classes = [-1, 1].into_iter().filter(|&y| count(y) > 0.0);
                    let log: f64 = classes.map(|y| count(y) * weight(y, s).ln()).sum();
                    (s, density(s) * log.exp() * u.cosh())
                })
                .collect();
            let sum: f64 = raw.iter().map(|node| node.1).sum();
            raw.into_iter().map(|(s, p)| (s, p / sum)).filter(|node| node.1 > 1e-14).collect()
        };
        let expect = |of: &dyn Fn(f64) -> f64| nodes.iter().map(|&(s, p)| p * of(s)).sum::<f64>();
        let by_class = |of: &dyn Fn(i8, f64) -> f64, s: f64| {
            [-1, 1].iter().filter(|y| count(**y) > 0.0).map(|&y| count(y) * of(y, s)).sum::<f64>()
        };
        let (first, last) = (labels[0], labels[m - 1]);
        let features = (target.problem.x[0].clone(), target.problem.x[m - 1].clone());
        let product = features.clone();
        target.quantities = vec![Quantity::mean(
            "f_1 f_m",
            move |s| s.length.powi(2) * dot(&s.weight, &product.0) * dot(&s.weight, &product.1),
            expect(&|s| average(first, s) * average(last, s)),
        )];
        if kappa != (0.0, 0.0) {
            target.quantities.push(Quantity::mean(
                "violations",
                |s| s.violations,
                expect(&|s| by_class(&violated, s)),
            ));
        }
        for (name, feature, y) in [("f_1", features.0, first), ("f_m", features.1, last)] {
            let (below, above) = halves(y);
            let nodes = nodes.clone();
            // Between hard walls on both sides the width is that of the own part.
            let both = negative > 0 && negative < m && kappa == (0.0, 0.0);
            let wide = if both { 6.0 * own.sqrt() } else { 6.0 * (own + shared).sqrt() };
            let distribution = tabulated((-wide, wide), 400, |x| {
                let of = |&(s, p): &(f64, f64)| {
                    let left = normal((x.min(0.0) - mean(s)) / deviation);
                    let right = if x > 0.0 {
                        normal((x - mean(s)) / deviation) - normal(-mean(s) / deviation)
                    } else {
                        0.0
                    };
                    p * (below * left + above * right) / weight(y, s)
                };
                nodes.iter().map(of).sum()
            });
            let of = move |s: &Sample| s.length * dot(&s.weight, &feature);
            target.quantities.push(Quantity::distribution(name, of, distribution));
        }
        let field: Vec<f64> = labels.iter().map(|&y| expect(&|s| average(y, s))).collect();
        // K⁻¹ f by Sherman and Morrison, with the part along (1, …, 1) separate to avoid cancellation for a small own part.
        let middle = field.iter().sum::<f64>() / m as f64;
        let together = middle / (own + m as f64 * shared);
        let dual: Vec<f64> = field.iter().map(|f| (f - middle) / own + together).collect();
        target.center = Some(target.problem.weight(&dual));
        target
    }
}
