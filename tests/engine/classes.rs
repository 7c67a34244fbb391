//! Several classes: one version space of all of them, against draws from the prior and the machine of two classes.

use bayespoint::dynamics::{Dynamics, Geodesic};
use bayespoint::papers::onion::{OnionSettings, onion};
use bayespoint::{
    Ball, Control, Error, EvidenceSettings, Factor, Goal, Gram, Inverse, MarginSettings, Mirror,
    Outcome, Refresh, RefreshChoice, Settings, Trajectory, VersionSpace, evidence, feasible_point,
    max_margin, resume, run_with,
};

use crate::common::{
    TransparentWalls, dot, draws, inverse, mean, mean_and_error, normals, rng, seed, size,
    space as binary_space, try_fly,
};
use crate::straight::{CHORD, FLIPPER};

/// Examples of several classes with an RBF kernel.
struct Case {
    /// Row-major (m, m), without softness.
    gram: Vec<f64>,
    labels: Vec<usize>,
    n_classes: usize,
    softness: f64,
    /// Kernel values of a further point with the examples.
    point: Vec<f64>,
}

impl Case {
    fn new(labels: &[usize], n_classes: usize, softness: f64, index: u64) -> Self {
        let mut rng = rng(index);
        let mut x: Vec<Vec<f64>> = labels.iter().map(|_| normals(2, &mut rng)).collect();
        x.push(normals(2, &mut rng));
        let m = labels.len();
        let kernel =
            |a: &[f64], b: &[f64]| (-0.5 * ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2))).exp();
        let gram = (0..m * m).map(|k| kernel(&x[k / m], &x[k % m])).collect();
        let point = (0..m).map(|i| kernel(&x[i], &x[m])).collect();
        Self { gram, labels: labels.to_vec(), n_classes, softness, point }
    }

    /// Labels drawn from the prior: not too rare for a comparison with it.
    fn taught(m: usize, n_classes: usize, softness: f64, index: u64) -> Self {
        let mut case = Self::new(&vec![0; m], n_classes, softness, index);
        let (columns, _) = inverse(&case.gram, softness);
        let mut rng = rng(index + 1000);
        let values: Vec<Vec<f64>> = (0..n_classes)
            .map(|_| {
                let xi = normals(m, &mut rng);
                (0..m).map(|i| (0..=i).map(|k| columns[k * m + i] * xi[k]).sum()).collect()
            })
            .collect();
        let largest = |i: usize| {
            (0..n_classes).max_by(|&a, &b| values[a][i].total_cmp(&values[b][i])).expect("classes")
        };
        case.labels = (0..m).map(largest).collect();
        case
    }

    fn m(&self) -> usize {
        self.labels.len()
    }

    fn space(&self) -> VersionSpace<'_> {
        let gram = Gram::new(&self.gram, 0.0, vec![self.softness; self.m()]).expect("a matrix");
        VersionSpace::of_classes(gram, &self.labels, self.n_classes).expect("labels")
    }

    /// The dimensions of the joint space.
    fn dimensions(&self) -> f64 {
        (self.m() * (self.n_classes - 1)) as f64
    }

    /// Values of the classes at the examples, with softness, and at the further point, of class duals.
    fn values(&self, duals: &[Vec<f64>]) -> Vec<f64> {
        let m = self.m();
        let own = |dual: &Vec<f64>, i: usize| {
            dot(&self.gram[i * m..(i + 1) * m], dual) + self.softness * dual[i]
        };
        let at = |dual: &Vec<f64>| {
            let mut values: Vec<f64> = (0..m).map(|i| own(dual, i)).collect();
            values.push(dot(&self.point, dual));
            values
        };
        duals.iter().flat_map(at).collect()
    }

    fn violations(&self, values: &[f64]) -> u32 {
        let width = self.m() + 1;
        let violated = |i: usize| {
            let at = |c: usize| values[c * width + i];
            (0..self.n_classes).any(|c| c != self.labels[i] && at(c) >= at(self.labels[i]))
        };
        (0..self.m()).map(|i| u32::from(violated(i))).sum()
    }

    /// The class that is predicted at the further point.
    fn vote(&self, values: &[f64]) -> usize {
        let width = self.m() + 1;
        let at = |c: usize| values[c * width + self.m()];
        (0..self.n_classes).max_by(|&a, &b| at(a).total_cmp(&at(b))).expect("classes")
    }

    /// Averages over the prior with the weights κ^violations.
    fn exact(&self, kappa: f64, index: u64) -> Exact {
        let (m, n) = (self.m(), self.n_classes);
        let (columns, _) = inverse(&self.gram, self.softness);
        let mut rng = rng(index);
        let mut blocks = Vec::new();
        // Many blocks: the errors of few have heavy tails.
        for _ in 0..size(150, 300) {
            let mut block = Sums::new(n * (m + 1) + n + 1);
            for _ in 0..size(4_000, 20_000) {
                // u = L ξ and dual coefficients L⁻ᵀ ξ, of which the value at the point follows.
                let mut duals: Vec<Vec<f64>> = (0..n).map(|_| normals(m, &mut rng)).collect();
                for k in 0..m {
                    let mean = duals.iter().map(|d| d[k]).sum::<f64>() / n as f64;
                    duals.iter_mut().for_each(|d| d[k] -= mean);
                }
                for xi in &mut duals {
                    for j in (0..m).rev() {
                        let tail: f64 = (j + 1..m).map(|k| columns[j * m + k] * xi[k]).sum();
                        xi[j] = (xi[j] - tail) / columns[j * m + j];
                    }
                }
                let values = self.values(&duals);
                let violations = self.violations(&values);
                let weight = kappa.powi(i32::try_from(violations).expect("few"));
                if weight > 0.0 {
                    let mut entry = values.clone();
                    entry.extend((0..n).map(|c| f64::from(u8::from(self.vote(&values) == c))));
                    entry.push(violations.into());
                    block.add(weight, &entry);
                } else {
                    block.add(0.0, &[]);
                }
            }
            blocks.push(block);
        }
        let shares: Vec<f64> = blocks.iter().map(|block| block.weight / block.count).collect();
        let weight = mean(&shares);
        let each = |k: usize| {
            let values: Vec<f64> =
                blocks.iter().map(|block| block.values[k] / block.count / weight).collect();
            // The error of a ratio.
            let center = mean(&values);
            let off: Vec<f64> =
                values.iter().zip(&shares).map(|(v, share)| v - center * share / weight).collect();
            (center, mean_and_error(&off).1)
        };
        let all: Vec<(f64, f64)> = (0..=n * (m + 1) + n).map(each).collect();
        let (value, error) = mean_and_error(&shares);
        Exact {
            fields: all[..n * (m + 1)].to_vec(),
            votes: all[n * (m + 1)..][..n].to_vec(),
            violations: all[n * (m + 1) + n],
            log_z: (value.ln(), error / value),
        }
    }
}

struct Sums {
    count: f64,
    weight: f64,
    values: Vec<f64>,
}

impl Sums {
    fn new(width: usize) -> Self {
        Self { count: 0.0, weight: 0.0, values: vec![0.0; width] }
    }

    fn add(&mut self, weight: f64, values: &[f64]) {
        self.count += 1.0;
        self.weight += weight;
        self.values.iter_mut().zip(values).for_each(|(sum, x)| *sum += weight * x);
    }
}

/// Posterior means with their errors.
struct Exact {
    /// Of the values of all classes at the examples and at the further point.
    fields: Vec<(f64, f64)>,
    votes: Vec<(f64, f64)>,
    violations: (f64, f64),
    log_z: (f64, f64),
}

/// Mean length of a normal vector.
fn chi_mean(d: f64) -> f64 {
    // E = √2 Γ((d+1)/2) / Γ(d/2), with E(d) E(d+1) = d.
    let far = d + 400.0;
    let mut value = (far - 0.5 + 0.125 / far).sqrt();
    let mut at = far;
    while at > d + 0.5 {
        value = (at - 1.0) / value;
        at -= 1.0;
    }
    value
}

#[test]
fn mean_length_of_normal_vectors() {
    assert!((chi_mean(1.0) - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-6);
    assert!((chi_mean(2.0) - (std::f64::consts::PI / 2.0).sqrt()).abs() < 1e-6);
}

/// Deviation of a run from the exact center, votes and violations in standard errors: the largest.
fn deviation(case: &Case, outcome: &Outcome, exact: &Exact) -> f64 {
    let space = case.space();
    let center = space.class_duals(&outcome.center.dual).expect("classes");
    let scale = chi_mean(case.dimensions()) * outcome.center.norm;
    let length = (1.0 + case.softness).sqrt();
    let mut worst: f64 = 0.0;
    let error = outcome.center.error * scale * length;
    for (own, &(value, of_value)) in case.values(&center).iter().zip(&exact.fields) {
        // The length of the mean has an error of the order of that of its direction.
        worst = worst.max((own * scale - value).abs() / of_value.hypot(1.5 * error));
    }
    let votes: Vec<usize> = draws(outcome)
        .map(|draw| case.vote(&case.values(&space.class_duals(draw).expect("classes"))))
        .collect();
    for (c, &(value, of_value)) in exact.votes.iter().enumerate() {
        let own: Vec<f64> = votes.iter().map(|&vote| f64::from(u8::from(vote == c))).collect();
        let blocks: Vec<f64> = own.chunks(own.len() / 40).map(mean).collect();
        let (own, error) = mean_and_error(&blocks);
        worst = worst.max((own - value).abs() / of_value.hypot(error).max(1e-3));
    }
    worst
}

fn settings(kappa: f64, index: u64) -> Settings {
    Settings {
        mirror: Mirror::new(kappa, kappa).expect("a transparency"),
        tol: None,
        length: Some(size(4000.0, 20_000.0)),
        n_draws: size(2000, 10_000),
        seed: seed(index),
        ..Settings::default()
    }
}

/// A label is the largest class with probability 1 - ε, else any other alike.
fn kappa(noise: f64, n_classes: usize) -> f64 {
    noise / ((n_classes - 1) as f64 * (1.0 - noise))
}

fn cases() -> Vec<(Case, f64)> {
    vec![
        (Case::taught(5, 3, 0.0, 50), 0.0),
        (Case::taught(6, 3, 0.4, 51), 0.0),
        (Case::taught(5, 4, 0.2, 52), 0.0),
        (Case::taught(8, 3, 0.1, 53), kappa(0.2, 3)),
        (Case::taught(6, 4, 0.3, 54), kappa(0.1, 4)),
    ]
}

#[test]
fn centers_and_votes_are_those_of_the_prior_given_the_labels() {
    for (k, (case, kappa)) in (0..).zip(cases()) {
        let exact = case.exact(kappa, 60 + k);
        let space = case.space();
        let settings = settings(kappa, 70 + k);
        let pairs = Settings { refresh: RefreshChoice::Pair(Some(8.0)), ..settings.clone() };
        let (columns, diagonal) = inverse(&case.gram, case.softness);
        let inverse = Inverse::new(&columns, &diagonal).expect("an inverse");
        for (name, settings, inverse) in [
            ("full", &settings, None),
            ("pairs", &pairs, None),
            ("conditional means", &settings, Some(inverse)),
        ] {
            let outcome = run_with(&space, settings, inverse, &Control::new()).expect("a run");
            let off = deviation(&case, &outcome, &exact);
            let (value, error) = exact.violations;
            let apart = (outcome.mean_violations - value).abs();
            println!("case {k}, {name}: {off:.2}, violations {apart:.4} ± {error:.4}");
            assert!(off < 5.0, "case {k}, {name}: {off}");
            assert!(apart <= 5.0 * error + 0.02 * value, "case {k}, {name}: {apart}");
            let full = if name == "pairs" { "pair" } else { "full" };
            assert_eq!(outcome.refresh, full);
            assert!(outcome.drift < 1e-8);
        }
    }
}

/// Mean violations of a dynamics, with an error from trajectories.
fn mean_violations<D: Dynamics>(case: &Case, dynamics: &D, kappa: f64, index: u64) -> (f64, f64) {
    let space = case.space();
    let control = Control::new();
    let factor = std::sync::Arc::new(Factor::new(space.gram(), &control).expect("a factor"));
    let each: Vec<f64> = (0..size(24, 60))
        .map(|k| {
            let mut rng = rng(index + k);
            let [position, direction] = [(); 2].map(|()| factor.draw(&mut rng).dual);
            let ball = Ball::new(space.gram(), &position, &direction, &control).expect("a ball");
            let mut trajectory = Trajectory::new(&space, dynamics.clone(), ball, rng);
            trajectory.set_mirror(Mirror::new(kappa, kappa).expect("a transparency"));
            let source = std::sync::Arc::clone(&factor) as _;
            trajectory.set_refresh(Refresh::Full { rate: 0.5, source });
            trajectory.reset();
            trajectory.run(Goal::path(50.0), &control).expect("a run");
            trajectory.reset();
            trajectory.run(Goal::path(400.0), &control).expect("a run");
            trajectory.tally().violations / trajectory.tally().path
        })
        .collect();
    mean_and_error(&each)
}

#[test]
fn transparency_is_that_of_examples_and_not_of_walls() {
    for (k, (case, kappa)) in (0..).zip(cases().into_iter().filter(|case| case.1 > 0.0)) {
        let (value, error) = case.exact(kappa, 80 + k).violations;
        let off = |(own, of_own): (f64, f64)| (own - value).abs() / error.hypot(of_own);
        let right = off(mean_violations(&case, &Geodesic, kappa, 1_000));
        let wrong = off(mean_violations(&case, &TransparentWalls(kappa), kappa, 1_000));
        println!("right {right:.2}, wrong {wrong:.2}");
        assert!(right < 4.0 && wrong > 8.0, "{right} {wrong}");
    }
}

#[test]
fn without_labels_a_share_of_the_examples_is_violated() {
    let case = Case::new(&[0, 3, 2, 1, 0, 2, 2], 4, 0.2, 55);
    let (value, error) = mean_violations(&case, &Geodesic, 1.0, 2_000);
    println!("{value:.4} ± {error:.4}, exactly {}", 7.0 * 0.75);
    assert!((value - 7.0 * 0.75).abs() < 4.0 * error && error < 0.05, "{value} {error}");
}

fn ladder(case: &Case, kappas: &[f64], tol: f64, index: u64) -> bayespoint::EvidenceOutcome {
    let settings = EvidenceSettings {
        targets: kappas.iter().map(|&k| Mirror::new(k, k).expect("a transparency")).collect(),
        tol,
        seed: seed(index),
        ..EvidenceSettings::default()
    };
    evidence(&case.space(), &settings, &Control::new()).expect("an evidence")
}

#[test]
fn evidence_is_that_of_the_prior() {
    for (k, (case, kappa)) in (0..).zip(cases()) {
        let (exact, error) = case.exact(kappa, 90 + k).log_z;
        let found = ladder(&case, &[kappa], 0.04, 100 + k);
        let off = (found.values[0] - exact).abs() / error.hypot(found.errors[0]);
        println!("{exact:.3} ± {error:.3}, {:.3} ± {:.3}", found.values[0], found.errors[0]);
        assert!(found.converged && off < 4.0, "case {k}: {off}");
        let (m, n) = (case.m() as f64, case.n_classes as f64);
        assert!((found.mean_violations[0] / (m * (n - 1.0) / n) - 1.0).abs() < 0.15);
        assert_eq!(found.log_share.len(), case.m() + 1);
        let sum: f64 = found.log_share.iter().map(|share| share.exp()).sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        assert!(found.layers.iter().all(|layer| layer[0] == 0 && layer[1] as usize <= case.m()));
    }
}

#[test]
fn evidences_of_all_labelings_sum_to_one() {
    let noise = 0.15;
    for (kappa, certain) in [(0.0, 1.0f64), (kappa(noise, 3), 1.0 - noise)] {
        let (mut sum, mut variance) = (0.0, 0.0);
        for labeling in 0..81 {
            let labels = [1, 3, 9, 27].map(|power| labeling / power % 3);
            let found = ladder(&Case::new(&labels, 3, 0.3, 56), &[kappa], 0.05, labeling as u64);
            let probability = (found.values[0] + 4.0 * certain.ln()).exp();
            sum += probability;
            variance += (probability * found.errors[0]).powi(2);
        }
        let error = variance.sqrt();
        println!("κ = {kappa:.3}: {sum:.4} ± {error:.4}");
        assert!((sum - 1.0).abs() < 4.0 * error && error < 0.02, "{sum} ± {error}");
    }
}

/// Values of all classes at the examples and the further point, by the center of a run, with its
/// norm and error.
fn of_center(case: &Case, index: u64) -> (Vec<f64>, f64, f64) {
    let space = case.space();
    let center =
        run_with(&space, &settings(0.0, index), None, &Control::new()).expect("a run").center;
    (case.values(&space.class_duals(&center.dual).expect("classes")), center.norm, center.error)
}

/// Another order of classes or of examples is another order of planes.
#[test]
fn the_order_of_classes_and_examples_does_not_matter() {
    let sorted = Case::new(&[0, 0, 1, 1, 2, 2], 3, 0.2, 59);
    let renamed = Case { labels: vec![2, 2, 0, 0, 1, 1], ..Case::new(&[0; 6], 3, 0.2, 59) };
    let order = [3, 0, 4, 2, 5, 1, 6];
    let mut shuffled = Case::new(&[1, 0, 2, 1, 2, 0], 3, 0.2, 59);
    shuffled.gram = (0..36).map(|k| sorted.gram[order[k / 6] * 6 + order[k % 6]]).collect();
    shuffled.point = order[..6].iter().map(|&i| sorted.point[i]).collect();
    let (exact, norm, of_exact) = of_center(&sorted, 110);
    for (case, classes, examples) in
        [(&renamed, [2, 0, 1], [0, 1, 2, 3, 4, 5, 6]), (&shuffled, [0, 1, 2], order)]
    {
        let (found, own, error) = of_center(case, 111);
        let allowed = 5.0 * error.hypot(of_exact);
        for c in 0..3 {
            for (i, j) in examples.into_iter().enumerate() {
                let apart = (found[classes[c] * 7 + i] - exact[c * 7 + j]).abs();
                assert!(apart < allowed, "class {c}, example {i}: {apart}");
            }
        }
        assert!((own - norm).abs() < allowed, "{own} {norm}");
        let [a, b] = [&sorted, case].map(|case| ladder(case, &[0.0], 0.05, 112));
        assert!((a.values[0] - b.values[0]).abs() < 4.0 * a.errors[0].hypot(b.errors[0]));
    }
}

/// Paths of the joint machine of two classes and of the binary one from the same point in the same direction.
#[test]
fn two_classes_are_the_binary_machine() {
    for kappa in [0.0, 0.3] {
        let labels: Vec<usize> = (0..30).map(|i| usize::from(i >= 14)).collect();
        let case = Case::new(&labels, 2, 0.2, 58);
        let signs: Vec<i8> = labels.iter().map(|&y| if y > 0 { 1 } else { -1 }).collect();
        let (binary, joint) = (binary_space(&case.gram, &signs, case.softness), case.space());
        let control = Control::new();
        let (start, _) = feasible_point(&binary, seed(1), &control).expect("a point");
        let direction = normals(30, &mut rng(120));
        let paths = [&binary, &joint].map(|space| {
            // w_1 = -w_0 = w / √2.
            let convert = |dual: &[f64]| {
                let half: Vec<f64> = dual.iter().map(|c| c * 0.5f64.sqrt()).collect();
                let classes = [half.iter().map(|c| -c).collect(), half];
                space.plane_duals(&classes).unwrap_or_else(|| dual.to_vec())
            };
            let (position, direction) = (convert(&start), convert(&direction));
            let ball = Ball::new(space.gram(), &position, &direction, &control).expect("a ball");
            let mut trajectory = Trajectory::new(space, Geodesic, ball, rng(121));
            trajectory.set_mirror(Mirror::new(kappa, kappa).expect("a transparency"));
            trajectory.set_refresh(Refresh::Pair { rate: 2.0 });
            trajectory.reset();
            trajectory.run(Goal::path(20.0), &control).expect("a run");
            let tally = trajectory.tally().clone();
            let integral = trajectory.ball_mut().take_arc_integral();
            let classes = space.class_duals(&integral);
            let own = classes
                .map_or(integral, |classes| classes[1].iter().map(|c| c * 2f64.sqrt()).collect());
            (tally, own)
        });
        let [(one, a), (two, b)] = paths;
        assert!(one.bounces > 100);
        assert_eq!((one.bounces, one.crossings), (two.bounces, two.crossings));
        assert_eq!((&one.hits, one.refreshes), (&two.hits, two.refreshes));
        assert!((one.violations - two.violations).abs() < 1e-10);
        let worst = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{} bounces: {worst:e}", one.bounces);
        assert!(worst < 1e-10, "{worst}");
    }
}

#[test]
fn conditional_means_agree_with_arcs_and_have_less_noise() {
    let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();
    let case = Case::new(&labels, 3, 0.3, 60);
    let space = case.space();
    let (columns, diagonal) = inverse(&case.gram, case.softness);
    let inverse = Inverse::new(&columns, &diagonal).expect("an inverse");
    for kappa in [0.0, 0.1] {
        let mirror = Mirror::new(kappa, kappa).expect("a transparency");
        let length = |length| Settings {
            length: Some(length),
            tol: None,
            n_draws: 10,
            mirror,
            seed: seed(113),
            ..Settings::default()
        };
        let run = |settings: &Settings, inverse| {
            run_with(&space, settings, inverse, &Control::new()).expect("a run").center
        };
        let exact = run(&length(20_000.0), None);
        let smooth = run(&length(200.0), Some(inverse));
        let rough = run(&length(200.0), None);
        let apart = |a: &[f64]| {
            let difference: Vec<f64> = a.iter().zip(&exact.dual).map(|(a, b)| a - b).collect();
            let planes = space.gram().len();
            let product = |i: usize| {
                (0..planes).map(|j| space.gram().entry(i, j) * difference[j]).sum::<f64>()
            };
            (0..planes).map(|i| difference[i] * product(i)).sum::<f64>().sqrt()
        };
        let (off, arcs) = (apart(&smooth.dual), apart(&rough.dual));
        println!(
            "κ = {kappa}: {off:.4}, reported {:.4}; arcs {arcs:.4}; long {:.4}",
            smooth.error, exact.error
        );
        assert!(off < 2.0 * smooth.error.hypot(exact.error), "{off}");
        // Behind transparent walls the ball mixes more slowly than its conditional means can repair.
        let gain = if kappa > 0.0 { 1.0 } else { 0.6 };
        assert!(smooth.error < gain * rough.error, "{} {}", smooth.error, rough.error);
        assert!((smooth.norm - exact.norm).abs() < 4.0 * smooth.error.hypot(exact.error));
    }
}

#[test]
fn points_inside_are_found_by_all_searches() {
    let labels: Vec<usize> = (0..24).map(|i| (i * i) % 4).collect();
    let case = Case::new(&labels, 4, 0.2, 61);
    let space = case.space();
    let control = Control::new();
    let found = max_margin(&space, &MarginSettings::default(), &control).expect("a margin");
    let (trapped, _) = feasible_point(&space, seed(2), &control).expect("a point");
    for dual in [&found.dual, &trapped] {
        assert!(space.contains(dual).expect("m coefficients"));
        // Every example leads in its own class.
        let values = case.values(&space.class_duals(dual).expect("classes"));
        assert_eq!(case.violations(&values), 0);
    }
    // Optimal: no wall is nearer than the margin, multipliers belong to walls on it, and the duality gap is closed.
    let margins = space.margins(&found.dual).expect("margins");
    let least = margins.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((least - found.margin).abs() < 1e-9 && found.converged && found.gap < 1e-6);
    for (a, margin) in found.multipliers.iter().zip(&margins) {
        assert!(*a >= 0.0 && (*a < 1e-12 || (margin - least).abs() < 1e-7));
    }
}

#[test]
fn what_is_defined_for_two_classes_alone_is_refused() {
    let case = Case::new(&[0, 1, 2, 1], 3, 0.2, 63);
    let space = case.space();
    let control = Control::new();
    let refused = |name: &str, error: Error| match error {
        Error::Invalid { name: found, .. } => assert_eq!(found, name),
        other => panic!("{other:?}"),
    };
    for motion in [CHORD, FLIPPER] {
        refused("motion", try_fly(&space, motion, &settings(0.0, 115)).expect_err("refused"));
    }
    refused("method", onion(&space, &OnionSettings::default(), &control).expect_err("refused"));
}

#[test]
fn a_smaller_tolerance_goes_on_from_a_larger_one() {
    let labels: Vec<usize> = (0..20).map(|i| (i * i) % 3).collect();
    let case = Case::new(&labels, 3, 0.2, 65);
    let space = case.space();
    let control = Control::new();
    let (columns, diagonal) = inverse(&case.gram, case.softness);
    let inverse = Some(Inverse::new(&columns, &diagonal).expect("an inverse"));
    for kappa in [0.0, 0.1] {
        let mirror = Mirror::new(kappa, kappa).expect("a transparency");
        let to = |tol| Settings { mirror, tol: Some(tol), seed: seed(117), ..Settings::default() };
        let here = run_with(&space, &to(0.004), inverse, &control).expect("a run");
        let first = run_with(&space, &to(0.2), inverse, &control).expect("a run");
        let state = crate::common::states::complete(&first);
        assert!(first.length() < here.length());
        for n_threads in [1, 3] {
            let settings = Settings { n_threads, ..to(0.004) };
            let continued = resume(&space, &settings, inverse, &state, &control).expect("a run");
            crate::common::assert_same(&here, &continued, "continued");
        }
    }
}
