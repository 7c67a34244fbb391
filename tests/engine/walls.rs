//! Walls in general: several classes, ordered classes, preferences and choices against draws from the prior, and against the
//! machine of two classes.

use bayespoint::dynamics::{Dynamics, Geodesic};
use bayespoint::papers::onion::{OnionSettings, onion};
use bayespoint::{
    Average, Ball, Control, Error, EvidenceOutcome, EvidenceSettings, Goal, Gram, MarginSettings,
    Mirror, Outcome, Refresh, RefreshChoice, Settings, Tally, Trajectory, VersionSpace, Wall,
    evidence, feasible_point, max_margin, sample,
};
use rand::rngs::ChaCha8Rng;

use crate::common::states::complete;
use crate::common::{
    Inverted, TransparentWalls, alike, assert_same, blamed, burnt_in, dot, draws, mean,
    mean_and_error, normals, rng, seed, size, space as binary_space, try_fly,
};
use crate::straight::{CHORD, FLIPPER};

/// Coordinates with a covariance, softness inside, and walls.
struct Case {
    covariance: Vec<f64>,
    softness: Vec<f64>,
    walls: Vec<Wall>,
    /// Number of last coordinates, alike and independent, that the walls order: thresholds.
    thresholds: usize,
    /// Labels, where the machine of several classes takes the place of that of walls. Coordinates are the values of the first
    /// class at all examples, then those of the second, and so on.
    classes: Option<Vec<usize>>,
}

/// An RBF kernel of random points, and after them independent coordinates of a variance.
fn matrix(points: usize, others: usize, index: u64) -> Vec<f64> {
    let mut rng = rng(index);
    let x: Vec<Vec<f64>> = (0..points).map(|_| normals(2, &mut rng)).collect();
    let n = points + others;
    let value = |i: usize, j: usize| {
        if i.max(j) >= points {
            return 0.0;
        }
        (-0.5 * ((x[i][0] - x[j][0]).powi(2) + (x[i][1] - x[j][1]).powi(2))).exp()
    };
    (0..n * n).map(|k| value(k / n, k % n)).collect()
}

/// A value with its standard error.
type Estimate = (f64, f64);

/// Posterior means, and ln of the evidence.
struct Exact {
    coordinates: Vec<Estimate>,
    violations: Estimate,
    /// Of [`Case::first_is_farther`].
    farther: Estimate,
    log_z: Estimate,
}

impl Case {
    fn new(mut gram: Vec<f64>, softness: Vec<f64>, walls: Vec<Wall>) -> Self {
        let n = softness.len();
        (0..n).for_each(|i| gram[i * n + i] += softness[i]);
        Self { covariance: gram, softness, walls, thresholds: 0, classes: None }
    }

    /// Labels of points: `z_i` between the thresholds of its class. Thresholds rise if `rises`, whatever the labels.
    fn ordered(labels: &[usize], n_classes: usize, rises: bool, index: u64) -> Self {
        let m = labels.len();
        let mut softness = vec![0.3; m];
        softness.resize(m + n_classes - 1, 1.5);
        let threshold = |k: usize| m + k - 1;
        let mut walls: Vec<Wall> = Vec::new();
        for (i, &y) in labels.iter().enumerate() {
            if y > 0 {
                walls.push((vec![(i, 1.0), (threshold(y), -1.0)], Some(i)));
            }
            if y + 1 < n_classes {
                walls.push((vec![(threshold(y + 1), 1.0), (i, -1.0)], Some(i)));
            }
        }
        for k in 1..if rises { n_classes - 1 } else { 0 } {
            walls.push((vec![(threshold(k + 1), 1.0), (threshold(k), -1.0)], None));
        }
        let thresholds = n_classes - 1;
        Self { thresholds, ..Self::new(matrix(m, thresholds, index), softness, walls) }
    }

    /// Item a is preferred to item b.
    fn preferences(items: usize, pairs: &[(usize, usize)], index: u64) -> Self {
        let walls = pairs.iter().enumerate();
        let walls = walls.map(|(k, &(a, b))| (vec![(a, 1.0), (b, -1.0)], Some(k))).collect();
        Self::new(matrix(items, 0, index), vec![0.2; items], walls)
    }

    /// The value of the class of a point is the largest: the machine of several classes.
    fn classes(labels: &[usize], n_classes: usize, softness: f64, index: u64) -> Self {
        let (m, n) = (labels.len(), labels.len() * n_classes);
        let gram = matrix(m, 0, index);
        let entry = |i: usize, j: usize| {
            if i / m == j / m { gram[i % m * m + j % m] } else { 0.0 }
        };
        let mut walls: Vec<Wall> = Vec::new();
        for (i, &y) in labels.iter().enumerate() {
            for c in (0..n_classes).filter(|&c| c != y) {
                walls.push((vec![(y * m + i, 1.0), (c * m + i, -1.0)], Some(i)));
            }
        }
        let blocks = (0..n * n).map(|k| entry(k / n, k % n)).collect();
        let case = Self::new(blocks, vec![softness; n], walls);
        Self { classes: Some(labels.to_vec()), ..case }
    }

    /// Labels drawn from the prior: not too rare for a comparison with it.
    fn taught(m: usize, n_classes: usize, softness: f64, index: u64) -> Self {
        let case = Self::classes(&vec![0; m], n_classes, softness, index);
        let z = case.prior()(&mut rng(index + 1000));
        let value = |c: usize, i: usize| z[c * m + i];
        let largest = |i| (0..n_classes).max_by(|&a, &b| value(a, i).total_cmp(&value(b, i)));
        let labels: Vec<usize> = (0..m).map(|i| largest(i).expect("classes")).collect();
        Self::classes(&labels, n_classes, softness, index)
    }

    fn n(&self) -> usize {
        self.softness.len()
    }

    /// The covariance of all coordinates, or of the values of one class.
    fn block(&self) -> Vec<f64> {
        let size = self.classes.as_ref().map_or(self.n(), Vec::len);
        let rows = self.covariance.chunks(self.n()).take(size);
        rows.flat_map(|row| &row[..size]).copied().collect()
    }

    fn space(&self) -> VersionSpace<'static> {
        let mut gram = self.block();
        let size = gram.len().isqrt();
        (0..size).for_each(|i| gram[i * size + i] -= self.softness[i]);
        let gram = Gram::new(Box::leak(gram.into_boxed_slice()), 0.0, self.softness[..size].into());
        let space = gram.and_then(|gram| match &self.classes {
            Some(labels) => VersionSpace::of_classes(gram, labels, self.n() / size),
            None => VersionSpace::of_walls(gram, &self.walls),
        });
        space.expect("a good problem")
    }

    fn mirror(&self, kappa: f64) -> Mirror {
        let all_observed = self.walls.iter().all(|wall| wall.1.is_some());
        Mirror([if all_observed { kappa } else { 0.0 }, kappa])
    }

    fn value(&self, wall: usize, z: &[f64]) -> f64 {
        self.walls[wall].0.iter().map(|(j, b)| b * z[*j]).sum()
    }

    /// Violated observations, and whether all other walls hold.
    fn violations(&self, z: &[f64]) -> (u32, bool) {
        let (mut violated, mut holds) = (vec![0; self.walls.len()], true);
        for (wall, (_, observation)) in self.walls.iter().enumerate() {
            if self.value(wall, z) < 0.0 {
                match observation {
                    Some(k) => violated[*k] = 1,
                    None => holds = false,
                }
            }
        }
        (violated.iter().sum(), holds)
    }

    /// Whether the first wall is farther than the last one: 1 or 0.
    fn first_is_farther(&self, z: &[f64]) -> f64 {
        f64::from(u8::from(self.value(0, z) > self.value(self.walls.len() - 1, z)))
    }

    /// Returns a function that draws from the prior.
    fn prior(&self) -> impl Fn(&mut ChaCha8Rng) -> Vec<f64> + use<> {
        let (n, columns) = (self.n(), Inverted::new(&self.covariance, 0.0).columns);
        move |rng| {
            let xi = normals(n, rng);
            (0..n).map(|i| (0..=i).map(|k| columns[k * n + i] * xi[k]).sum()).collect()
        }
    }

    /// Averages over the prior with the weights κ^violations.
    fn exact(&self, kappa: f64, index: u64) -> Exact {
        let (n, draw, mut rng) = (self.n(), self.prior(), rng(index));
        // Many blocks: the errors of few have heavy tails.
        let (blocks, inner) = (size(150, 300), size(4_000, 20_000));
        let mut sums = vec![vec![0.0; n + 3]; blocks];
        for block in &mut sums {
            for _ in 0..inner {
                let mut z = draw(&mut rng);
                // Of their orders only one is possible, and all have the same probability.
                z[n - self.thresholds..].sort_by(f64::total_cmp);
                let (violations, holds) = self.violations(&z);
                let weight = if holds { kappa.powi(violations.cast_signed()) } else { 0.0 };
                z.extend([f64::from(violations), self.first_is_farther(&z), 1.0]);
                block.iter_mut().zip(&z).for_each(|(sum, z)| *sum += weight * z);
            }
        }
        let shares: Vec<f64> = sums.iter().map(|block| block[n + 2] / f64::from(inner)).collect();
        let share = mean(&shares);
        let estimate = |k: usize| {
            let values: Vec<f64> =
                sums.iter().map(|block| block[k] / f64::from(inner) / share).collect();
            // The error of a ratio.
            let center = mean(&values);
            let off: Vec<f64> =
                values.iter().zip(&shares).map(|(v, own)| v - center * own / share).collect();
            (center, mean_and_error(&off).1)
        };
        let (value, error) = mean_and_error(&shares);
        let orders: f64 = (1..=self.thresholds).map(|k| (k as f64).ln()).sum();
        Exact {
            coordinates: (0..n).map(estimate).collect(),
            violations: estimate(n),
            farther: estimate(n + 1),
            log_z: (value.ln() - orders, error / value),
        }
    }

    /// The dual coefficients of the coordinates of a point.
    fn duals(&self, space: &VersionSpace<'_>, dual: &[f64]) -> Vec<f64> {
        let of_classes = self
            .classes
            .as_ref()
            .and_then(|_| space.planes())
            .map(|planes| planes.function_duals(dual));
        of_classes.map_or_else(|| dual.to_vec(), |duals| duals.concat())
    }

    fn coordinates(&self, space: &VersionSpace<'_>, dual: &[f64]) -> Vec<f64> {
        let duals = self.duals(space, dual);
        self.covariance.chunks_exact(self.n()).map(|row| dot(row, &duals)).collect()
    }

    /// Largest deviation of a run in standard errors, of the mean of z and of the draws.
    fn deviation(&self, outcome: &Outcome, exact: &Exact) -> f64 {
        let space = self.space();
        // What all classes share is zero in the mean, and no dimension of the machine of classes.
        let shared = self.classes.as_ref().map_or(0, Vec::len);
        let scale = chi_mean(self.n() - shared) * outcome.center.norm;
        let values = self.coordinates(&space, &outcome.center.dual);
        let off = values.iter().zip(&exact.coordinates).enumerate().map(|(i, (own, estimate))| {
            let length = self.covariance[i * self.n() + i].sqrt();
            // The length of the mean has an error of the order of that of its direction.
            let of_center = 1.5 * outcome.center.error * scale * length;
            (own * scale - estimate.0).abs() / estimate.1.hypot(of_center)
        });
        let farther: Vec<f64> = draws(outcome)
            .map(|draw| self.first_is_farther(&self.coordinates(&space, draw)))
            .collect();
        let blocks: Vec<f64> = farther.chunks(farther.len() / 40).map(mean).collect();
        let (own, error) = mean_and_error(&blocks);
        let of_draws = (own - exact.farther.0).abs() / exact.farther.1.hypot(error).max(1e-3);
        off.fold(of_draws, f64::max)
    }
}

/// Mean length of a normal vector: E(n + 2) = E(n) (n + 1) / n.
fn chi_mean(n: usize) -> f64 {
    let first = (2.0 / std::f64::consts::PI).sqrt();
    let from = if n % 2 == 1 { (1, first) } else { (2, 1.0 / first) };
    (from.0..n).step_by(2).fold(from.1, |value, k| value * (k + 1) as f64 / k as f64)
}

fn settings(mirror: Mirror, index: u64) -> Settings {
    Settings {
        mirror,
        tol: None,
        length: Some(size(4000.0, 20_000.0)),
        n_draws: size(2000, 10_000),
        seed: seed(index),
        ..Settings::default()
    }
}

fn run(space: &VersionSpace<'_>, settings: &Settings) -> Outcome {
    sample(space, settings, None, None, &Control::new()).expect("a run")
}

/// A label is the right one with probability 1 - ε, else any other alike.
fn kappa(noise: f64, n_classes: usize) -> f64 {
    noise / ((n_classes - 1) as f64 * (1.0 - noise))
}

/// Choices: 2 out of {0, 1, 2, 3} and 4 out of {0, 4, 5}; and a wall of three coordinates.
fn choices() -> Case {
    let mut case = Case::preferences(6, &[(2, 0), (2, 1), (2, 3), (4, 0), (4, 5)], 54);
    for (wall, observation) in case.walls.iter_mut().zip([0, 0, 0, 1, 1]) {
        wall.1 = Some(observation);
    }
    case.walls.push((vec![(0, 1.0), (1, -2.0), (5, 1.5)], Some(2)));
    case
}

/// No order of the items fits.
fn contradictory() -> Case {
    Case::preferences(6, &[(0, 1), (1, 2), (2, 0), (0, 1), (1, 0), (3, 4), (0, 5)], 57)
}

fn cases() -> Vec<(Case, f64)> {
    let ring = [(0, 1), (1, 2), (0, 3), (4, 3), (4, 5), (2, 5)];
    vec![
        (Case::ordered(&[0, 2, 1, 1, 2], 3, false, 50), 0.0),
        (Case::ordered(&[0, 1, 4, 3, 2], 5, true, 51), 0.0),
        (Case::ordered(&[3, 1, 3, 0], 5, true, 55), 0.0),
        (Case::ordered(&[0, 2, 1, 1, 2, 0, 2], 3, true, 52), 0.1),
        (Case::preferences(6, &ring, 53), 0.0),
        // A tree: as many planes as coordinates, of which one is free.
        (Case::preferences(5, &[(0, 1), (1, 2), (0, 3), (4, 3)], 61), 0.0),
        (contradictory(), 0.2),
        (choices(), 0.3),
        (Case::taught(5, 3, 0.0, 50), 0.0),
        (Case::taught(6, 3, 0.4, 51), 0.0),
        (Case::taught(5, 4, 0.2, 52), 0.0),
        (Case::taught(8, 3, 0.1, 53), kappa(0.2, 3)),
        (Case::taught(6, 4, 0.3, 54), kappa(0.1, 4)),
        // Preferences of one item to all others are several classes.
        (Case { classes: None, ..Case::taught(8, 3, 0.2, 59) }, 0.2),
    ]
}

#[test]
fn centers_and_draws_are_those_of_the_prior_given_the_walls() {
    for (k, (case, kappa)) in (0..).zip(cases()) {
        let exact = case.exact(kappa, 60 + k);
        let space = case.space();
        let settings = settings(case.mirror(kappa), 70 + k);
        let pairs = Settings { refresh: RefreshChoice::Pair(Some(8.0)), ..settings.clone() };
        let inverted = Inverted::new(&case.block(), 0.0);
        for (name, settings, inverse) in [
            ("full", &settings, None),
            ("pair", &pairs, None),
            ("full", &settings, Some(inverted.inverse())),
        ] {
            let outcome = sample(&space, settings, inverse, None, &Control::new()).expect("a run");
            let off = case.deviation(&outcome, &exact);
            let (value, error) = exact.violations;
            let apart = (outcome.mean_violations - value).abs();
            let name = format!("case {k}, {name}, conditional means: {}", inverse.is_some());
            println!("{name}: {off:.2}, violations {apart:.4} ± {error:.4}");
            assert!(off < 5.0, "{name}: {off}");
            assert!(apart <= 5.0 * error + 0.02 * value, "{name}: {apart}");
            assert!(name.contains(outcome.refresh) && outcome.drift < 1e-8, "{name}");
            for draw in draws(&outcome) {
                let (violations, holds) = case.violations(&case.coordinates(&space, draw));
                assert!(holds && (kappa > 0.0 || violations == 0), "{name}");
            }
        }
    }
}

/// Thresholds of another variance are another prior.
#[test]
fn wrong_thresholds_are_noticed() {
    let case = || Case::ordered(&[0, 2, 1, 1, 2], 3, false, 50);
    let (exact, mut wrong) = (case().exact(0.0, 60), case());
    let n = wrong.n();
    for j in [n - 1, n - 2] {
        wrong.softness[j] = 0.1;
        wrong.covariance[j * n + j] = 0.1;
    }
    let outcome = run(&wrong.space(), &settings(Mirror::HARD, 70));
    let off = wrong.deviation(&outcome, &exact);
    println!("{off:.2}");
    assert!(off > 5.0, "{off}");
}

/// Mean violations of a dynamics, with an error from trajectories.
fn mean_violations<D: Dynamics>(case: &Case, dynamics: &D, kappa: f64, index: u64) -> Estimate {
    let space = case.space();
    let means: Vec<f64> = (0..size(24, 60))
        .map(|k| {
            let mut trajectory =
                burnt_in(&space, dynamics, case.mirror(kappa), 50.0, rng(index + k));
            trajectory.run(Goal::path(400.0), &Control::new()).expect("a run");
            trajectory.tally().violations / trajectory.tally().path
        })
        .collect();
    mean_and_error(&means)
}

/// Those of classes are in `tests/laws/classes.rs`.
#[test]
fn transparency_is_that_of_observations_and_not_of_walls() {
    // Thresholds of either order.
    let ordered = Case { thresholds: 0, ..Case::ordered(&[1, 2, 1, 0, 1, 2, 1], 3, false, 52) };
    for case in [ordered, choices()] {
        let (value, error) = case.exact(0.3, 80).violations;
        let off = |(own, of_own): Estimate| (own - value).abs() / error.hypot(of_own);
        let right = off(mean_violations(&case, &Geodesic, 0.3, 1_000));
        let wrong = off(mean_violations(&case, &TransparentWalls(0.3), 0.3, 1_000));
        println!("right {right:.2}, wrong {wrong:.2}");
        assert!(right < 4.0 && wrong > 8.0, "{right} {wrong}");
    }
}

#[test]
fn without_labels_a_share_of_the_examples_is_violated() {
    let case = Case::classes(&[0, 3, 2, 1, 0, 2, 2], 4, 0.2, 55);
    let (value, error) = mean_violations(&case, &Geodesic, 1.0, 2_000);
    println!("{value:.4} ± {error:.4}, exactly {}", 7.0 * 0.75);
    assert!((value - 7.0 * 0.75).abs() < 4.0 * error && error < 0.05, "{value} {error}");
}

fn evidence_of(case: &Case, targets: Vec<Mirror>, index: u64) -> EvidenceOutcome {
    let settings = EvidenceSettings { targets, tol: 0.04, seed: seed(index), ..Default::default() };
    evidence(&case.space(), &settings, &Control::new()).expect("an evidence")
}

#[test]
fn evidence_is_that_of_the_prior() {
    for (k, (case, kappa)) in (0..).zip(cases()) {
        let (exact, error) = case.exact(kappa, 90 + k).log_z;
        let mirror = case.mirror(kappa);
        let mut ways = vec![("alone", vec![mirror])];
        // The ladder mixes slowly where thresholds have few walls.
        if kappa == 0.0 && k != 2 && case.classes.is_none() {
            ways.push(("ladder", vec![mirror, alike(1.0)]));
        }
        for (way, targets) in ways {
            let found = evidence_of(&case, targets, 100 + k);
            let (value, of_value) = (found.values[0], found.errors[0]);
            let off = (value - exact).abs() / error.hypot(of_value);
            println!("case {k}, {way}: {exact:.3} ± {error:.3}, {value:.3} ± {of_value:.3}");
            // Where few vectors fit, the ladder would need a longer path.
            let near = found.converged || (way == "ladder" && of_value < 0.5);
            assert!(off < 4.0 && near, "case {k}, {way}: {off}");
            let Some(labels) = &case.classes else { continue };
            let m = labels.len();
            let at_chance = (case.n() - m) as f64 / (case.n() / m) as f64;
            assert!((found.mean_violations[0] / at_chance - 1.0).abs() < 0.15);
            assert_eq!(found.log_share.len(), m + 1);
            let sum: f64 = found.log_share.iter().map(|share| share.exp()).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{sum}");
            assert!(found.layers.iter().all(|layer| layer[0] == 0 && layer[1] as usize <= m));
        }
    }
}

/// Of a few points of three classes, `orders` of which have the same probability.
fn check_sum(points: u32, orders: f64, case_of: impl Fn(&[usize]) -> Case) {
    for noise in [0.0, 0.2] {
        let (mut sum, mut variance) = (0.0, 0.0);
        for labeling in 0..3usize.pow(points) {
            let labels: Vec<usize> = (0..points).map(|k| labeling / 3usize.pow(k) % 3).collect();
            let case = case_of(&labels);
            let found = evidence_of(&case, vec![case.mirror(kappa(noise, 3))], labeling as u64);
            assert!(found.converged);
            let certain = f64::from(points) * (1.0 - noise).ln();
            let probability = orders * (found.values[0] + certain).exp();
            sum += probability;
            variance += (probability * found.errors[0]).powi(2);
        }
        let error = variance.sqrt();
        println!("ε = {noise}: {sum:.4} ± {error:.4}");
        assert!((sum - 1.0).abs() < 4.0 * error && error < 0.02, "{sum} ± {error}");
    }
}

/// The thresholds of the prior have either order.
#[test]
fn evidences_of_all_labelings_sum_to_one() {
    check_sum(3, 2.0, |labels| Case::ordered(labels, 3, true, 56));
    check_sum(4, 1.0, |labels| Case::classes(labels, 3, 0.3, 56));
}

/// Tally and the integral of positions of a path from a point in a direction.
fn path(
    space: &VersionSpace<'_>,
    [position, direction]: [&[f64]; 2],
    kappa: f64,
    rate: f64,
) -> (Tally, Vec<f64>) {
    let control = Control::new();
    let ball = Ball::new(space.gram(), position, direction, &control).expect("a ball");
    let mut trajectory = Trajectory::new(space, Geodesic, ball, rng(121));
    trajectory.set_mirror(alike(kappa));
    trajectory.set_refresh(if rate > 0.0 { Refresh::Pair { rate } } else { Refresh::None });
    trajectory.reset();
    trajectory.run(Goal::path(20.0), &control).expect("a run");
    let tally = trajectory.tally().clone();
    (tally, trajectory.ball_mut().take_arc_integral())
}

/// Two classes of the machine of classes, as walls of single coordinates, and as two ordered classes with a threshold of the
/// variance of the intercept, follow the path of the binary machine.
#[test]
fn two_classes_are_the_binary_machine() {
    let (m, softness) = (30, 0.2);
    let gram = matrix(m, 0, 58);
    let with_intercept: Vec<f64> = gram.iter().map(|k| k + 1.0).collect();
    let labels: Vec<usize> = (0..m).map(|i| usize::from(i >= 14)).collect();
    let signs: Vec<i8> = labels.iter().map(|&y| if y > 0 { 1 } else { -1 }).collect();
    let sign = |i: usize| f64::from(signs[i]);
    let walls = (0..m).map(|i| (vec![(i, sign(i))], Some(i))).collect();
    let single = Case::new(gram.clone(), vec![softness; m], walls);
    let walls = (0..m).map(|i| (vec![(i, sign(i)), (m, -sign(i))], Some(i))).collect();
    let mut with_threshold = vec![softness; m];
    with_threshold.push(1.0);
    let ordered = Case::new(matrix(m, 1, 58), with_threshold, walls);
    let classes = Case::classes(&labels, 2, softness, 58);
    // Pairs of planes would include the plane that is no wall.
    for (case, gram, rate) in
        [(&single, &gram, 2.0), (&ordered, &with_intercept, 0.0), (&classes, &gram, 2.0)]
    {
        let (binary, space) = (binary_space(gram, &signs, softness), case.space());
        let (start, _) = feasible_point(&binary, seed(1), &Control::new()).expect("a point");
        let direction = normals(m, &mut rng(120));
        let converted = |dual: &[f64]| {
            if case.classes.is_some() {
                // w_1 = -w_0 = w / √2.
                let half: Vec<f64> = dual.iter().map(|c| c * 0.5f64.sqrt()).collect();
                let classes = [half.iter().map(|c| -c).collect(), half];
                return space.planes().expect("classes").plane_duals(&classes);
            }
            // Signs are in the normals of walls.
            let mut dual: Vec<f64> = (0..m).map(|i| dual[i] * sign(i)).collect();
            dual.resize(space.gram().len(), 0.0);
            dual
        };
        for kappa in [0.0, 0.3] {
            let (one, integral) = path(&binary, [&start, &direction], kappa, rate);
            let from = [converted(&start), converted(&direction)];
            let (two, of_walls) = path(&space, from.each_ref().map(Vec::as_slice), kappa, rate);
            assert!(one.bounces > 50);
            assert_eq!((one.bounces, one.refreshes), (two.bounces, two.refreshes));
            assert_eq!((&one.hits[..], one.crossings), (&two.hits[..m], two.crossings));
            assert!((one.violations - two.violations).abs() < 1e-9);
            let apart = converted(&integral);
            let apart = apart.iter().zip(&of_walls).map(|(a, b)| (a - b).abs());
            let worst = apart.fold(0.0, f64::max);
            println!("{} bounces: {worst:e}", one.bounces);
            assert!(worst < 1e-9, "{worst}");
        }
    }
}

/// Conditional means agree with arcs and have less noise by the factor `gain`; a run to a smaller tolerance goes on from one to a
/// larger tolerance, with the bits of a whole one.
fn check_conditional_means(case: &Case, kappa: f64, gain: f64) {
    let (space, control) = (case.space(), Control::new());
    let inverted = Inverted::new(&case.block(), 0.0);
    let inverse = Some(inverted.inverse());
    let settings = Settings { n_draws: 10, ..settings(case.mirror(kappa), 113) };
    let along = |length: f64, inverse| {
        let settings = Settings { length: Some(length), ..settings.clone() };
        sample(&space, &settings, inverse, None, &control).expect("a run").center
    };
    let (exact, smooth) = (along(20_000.0, None), along(200.0, inverse));
    let rough = along(200.0, None);
    let difference: Vec<f64> = smooth.dual.iter().zip(&exact.dual).map(|(a, b)| a - b).collect();
    let off = dot(&case.duals(&space, &difference), &case.coordinates(&space, &difference)).sqrt();
    println!("κ = {kappa}: {off:.4}, {:.4}; {:.4}; {:.4}", smooth.error, rough.error, exact.error);
    assert!(off < 2.0 * smooth.error.hypot(exact.error), "{off}");
    assert!(smooth.error < gain * rough.error, "{} {}", smooth.error, rough.error);
    assert!((smooth.norm - exact.norm).abs() < 4.0 * smooth.error.hypot(exact.error));
    let to =
        |tol, n_threads| Settings { tol: Some(tol), length: None, n_threads, ..settings.clone() };
    let first = sample(&space, &to(0.1, 1), inverse, None, &control).expect("a run");
    let whole = sample(&space, &to(smooth.error, 1), inverse, None, &control).expect("a run");
    assert!(first.length() < whole.length());
    for n_threads in [1, 3] {
        let settings = to(smooth.error, n_threads);
        let continued = sample(&space, &settings, inverse, Some(&complete(&first)), &control);
        assert_same(&whole, &continued.expect("a run"), "continued");
    }
    // The start is given by dual coefficients.
    let start: Vec<f64> = draws(&first).next().expect("a draw").to_vec();
    run(&space, &Settings { start: Some(start), ..to(0.1, 1) });
}

#[test]
fn conditional_means_have_less_noise_and_runs_continue() {
    let labels: Vec<usize> = (0..60).map(|i| (i * 7) % 5).collect();
    check_conditional_means(&Case::ordered(&labels, 5, false, 60), 0.0, 0.7);
    let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();
    let classes = Case::classes(&labels, 3, 0.3, 60);
    check_conditional_means(&classes, 0.0, 0.6);
    // Behind transparent walls the ball mixes more slowly than its conditional means can repair.
    check_conditional_means(&classes, 0.1, 1.0);
}

#[test]
fn points_inside_are_found_by_all_searches() {
    let labels: Vec<usize> = (0..24).map(|i| (i * i) % 4).collect();
    let case = Case::classes(&labels, 4, 0.2, 61);
    let (space, control) = (case.space(), Control::new());
    let found = max_margin(&space, &MarginSettings::default(), &control).expect("a margin");
    let (trapped, _) = feasible_point(&space, seed(2), &control).expect("a point");
    for dual in [&found.dual, &trapped] {
        assert!(space.contains(dual).expect("m coefficients"));
        assert_eq!(case.violations(&case.coordinates(&space, dual)), (0, true));
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
fn what_walls_and_classes_cannot_do_is_an_error() {
    let control = Control::new();
    // What is defined for two classes alone.
    let classes = Case::classes(&[0, 1, 2, 1], 3, 0.2, 63).space();
    for motion in [CHORD, FLIPPER] {
        let flown = try_fly(&classes, motion, &settings(Mirror::HARD, 115));
        assert_eq!(blamed(flown), "motion");
    }
    assert_eq!(blamed(onion(&classes, &OnionSettings::default(), &control)), "method");
    let outside = Settings { start: Some(normals(8, &mut rng(1))), ..settings(Mirror::HARD, 1) };
    assert_eq!(blamed(sample(&classes, &outside, None, None, &control)), "start");
    // Items 0 and 1 are preferred to one another, 0, 1, 2 in a circle.
    let case = contradictory();
    let space = case.space();
    let hard = sample(&space, &settings(Mirror::HARD, 1), None, None, &control);
    let Err(Error::Infeasible { examples, violations, .. }) = hard else { panic!("{hard:?}") };
    assert!(examples == 7 && violations >= 1);
    let circle = Case::preferences(3, &[(0, 1), (1, 2), (2, 0)], 53);
    assert!(matches!(feasible_point(&circle.space(), 1, &control), Err(Error::Infeasible { .. })));
    blamed(max_margin(&space, &MarginSettings::default(), &control));
    let inverted = Inverted::new(&case.block(), 0.0);
    let conditional = Settings { average: Average::Conditional, ..settings(case.mirror(0.1), 1) };
    blamed(sample(&space, &conditional, Some(inverted.inverse()), None, &control));
    let identity = [1.0, 0.0, 0.0, 1.0];
    for walls in [
        vec![],
        vec![(vec![], Some(0))],
        vec![(vec![(2, 1.0)], Some(0))],
        vec![(vec![(0, 0.0)], Some(0))],
        vec![(vec![(0, f64::NAN)], Some(0))],
        vec![(vec![(0, 1.0), (0, 2.0)], Some(0))],
        vec![(vec![(0, 1.0)], Some(1))],
        vec![(vec![(0, 1.0)], Some(usize::MAX))],
    ] {
        let gram = Gram::new(&identity, 0.0, vec![0.0; 2]).expect("a matrix");
        assert_eq!(blamed(VersionSpace::of_walls(gram, &walls)), "walls", "{walls:?}");
    }
    // Observations of two walls that share a wall from both sides: the walls cannot be transparent.
    let mut shared = Case::preferences(4, &[(0, 1), (0, 2), (1, 0), (1, 3)], 53);
    for (wall, observation) in shared.walls.iter_mut().zip([0, 0, 1, 1]) {
        wall.1 = Some(observation);
    }
    let noisy = sample(&shared.space(), &settings(shared.mirror(0.2), 1), None, None, &control);
    assert_eq!(blamed(noisy), "softness");
}
