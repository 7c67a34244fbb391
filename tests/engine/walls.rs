//! Walls in general: ordered classes, preferences and choices against draws from the prior, and against the machines of classes.

use bayespoint::dynamics::{Dynamics, Geodesic};
use bayespoint::{
    Average, Ball, Control, Error, EvidenceSettings, Factor, Goal, Gram, Inverse, MarginSettings,
    Mirror, Outcome, Refresh, RefreshChoice, Settings, Tally, Trajectory, VersionSpace, Wall,
    evidence, feasible_point, max_margin, resume, run_with,
};

use crate::common::states::complete;
use crate::common::{
    TransparentWalls, dot, draws, inverse, mean, mean_and_error, normals, rng, seed, size,
    space as binary_space,
};

/// Coordinates with a covariance, softness inside, and walls.
struct Case {
    covariance: Vec<f64>,
    softness: Vec<f64>,
    walls: Vec<Wall>,
    /// Number of last coordinates, alike and independent, that the walls order: thresholds.
    thresholds: usize,
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

impl Case {
    fn new(mut gram: Vec<f64>, softness: Vec<f64>, walls: Vec<Wall>) -> Self {
        let n = softness.len();
        (0..n).for_each(|i| gram[i * n + i] += softness[i]);
        Self { covariance: gram, softness, walls, thresholds: 0 }
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

    fn n(&self) -> usize {
        self.softness.len()
    }

    fn observations(&self) -> usize {
        self.walls.iter().filter_map(|wall| wall.1).max().map_or(0, |k| k + 1)
    }

    fn space(&self) -> VersionSpace<'static> {
        let n = self.n();
        let mut gram = self.covariance.clone();
        (0..n).for_each(|i| gram[i * n + i] -= self.softness[i]);
        let gram = Gram::new(Box::leak(gram.into_boxed_slice()), 0.0, self.softness.clone());
        VersionSpace::of_walls(gram.expect("a matrix"), &self.walls).expect("walls")
    }

    fn mirror(&self, kappa: f64) -> Mirror {
        let all_observed = self.walls.iter().all(|wall| wall.1.is_some());
        Mirror::new(if all_observed { kappa } else { 0.0 }, kappa).expect("a transparency")
    }

    /// Violated observations, and whether all other walls hold.
    fn violations(&self, z: &[f64]) -> (u32, bool) {
        let (mut violated, mut holds) = (vec![0; self.observations()], true);
        for (terms, observation) in &self.walls {
            if terms.iter().map(|(j, b)| b * z[*j]).sum::<f64>() < 0.0 {
                match observation {
                    Some(k) => violated[*k] = 1,
                    None => holds = false,
                }
            }
        }
        (violated.iter().sum(), holds)
    }

    /// Averages over the prior with the weights κ^violations: of z and the violations; and ln of the mean weight.
    fn exact(&self, kappa: f64, index: u64) -> (Vec<(f64, f64)>, (f64, f64)) {
        let (columns, _) = inverse(&self.covariance, 0.0);
        let (n, mut rng) = (self.n(), rng(index));
        let (blocks, inner) = (size(150, 300), size(4_000, 20_000));
        let mut sums = vec![vec![0.0; n + 2]; blocks];
        for block in &mut sums {
            for _ in 0..inner {
                let xi = normals(n, &mut rng);
                let mut z: Vec<f64> =
                    (0..n).map(|i| (0..=i).map(|k| columns[k * n + i] * xi[k]).sum()).collect();
                // Of their orders only one is possible, and all have the same probability.
                z[n - self.thresholds..].sort_by(f64::total_cmp);
                let (violations, holds) = self.violations(&z);
                let weight = if holds { kappa.powi(violations.cast_signed()) } else { 0.0 };
                block[n + 1] += weight;
                block[n] += weight * f64::from(violations);
                block[..n].iter_mut().zip(&z).for_each(|(sum, z)| *sum += weight * z);
            }
        }
        let shares: Vec<f64> = sums.iter().map(|block| block[n + 1] / f64::from(inner)).collect();
        let share = mean(&shares);
        let each = (0..=n).map(|k| {
            let values: Vec<f64> =
                sums.iter().map(|block| block[k] / f64::from(inner) / share).collect();
            let center = mean(&values);
            let off: Vec<f64> =
                values.iter().zip(&shares).map(|(v, own)| v - center * own / share).collect();
            (center, mean_and_error(&off).1)
        });
        let (value, error) = mean_and_error(&shares);
        let orders: f64 = (1..=self.thresholds).map(|k| (k as f64).ln()).sum();
        (each.collect(), (value.ln() - orders, error / value))
    }

    fn coordinates(&self, dual: &[f64]) -> Vec<f64> {
        self.covariance.chunks_exact(self.n()).map(|row| dot(row, dual)).collect()
    }

    /// Largest deviation of the mean of z, in standard errors.
    fn deviation(&self, outcome: &Outcome, exact: &[(f64, f64)]) -> f64 {
        let scale = chi_mean(self.n()) * outcome.center.norm;
        let values = self.coordinates(&outcome.center.dual);
        let each = values.iter().zip(exact).enumerate().map(|(i, (own, (value, error)))| {
            let length = self.covariance[i * self.n() + i].sqrt();
            let of_center = 1.5 * outcome.center.error * scale * length;
            (own * scale - value).abs() / error.hypot(of_center)
        });
        each.fold(0.0, f64::max)
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

fn cases() -> Vec<(Case, f64)> {
    let ring = [(0, 1), (1, 2), (0, 3), (4, 3), (4, 5), (2, 5)];
    let contradictory = [(0, 1), (1, 2), (2, 0), (0, 1), (1, 0), (3, 4), (0, 5)];
    // Choices: 2 out of {0, 1, 2, 3} and 4 out of {0, 4, 5}; and a wall of three coordinates.
    let mut choices = Case::preferences(6, &[(2, 0), (2, 1), (2, 3), (4, 0), (4, 5)], 54);
    for (wall, observation) in choices.walls.iter_mut().zip([0, 0, 0, 1, 1]) {
        wall.1 = Some(observation);
    }
    choices.walls.push((vec![(0, 1.0), (1, -2.0), (5, 1.5)], Some(2)));
    vec![
        (Case::ordered(&[0, 2, 1, 1, 2], 3, false, 50), 0.0),
        (Case::ordered(&[0, 1, 4, 3, 2], 5, true, 51), 0.0),
        (Case::ordered(&[3, 1, 3, 0], 5, true, 55), 0.0),
        (Case::ordered(&[0, 2, 1, 1, 2, 0, 2], 3, true, 52), 0.1),
        (Case::preferences(6, &ring, 53), 0.0),
        // A tree: as many planes as coordinates, of which one is free.
        (Case::preferences(5, &[(0, 1), (1, 2), (0, 3), (4, 3)], 61), 0.0),
        (Case::preferences(6, &contradictory, 57), 0.2),
        (choices, 0.3),
    ]
}

#[test]
fn centers_are_those_of_the_prior_given_the_walls() {
    for (k, (case, kappa)) in (0..).zip(cases()) {
        let (exact, _) = case.exact(kappa, 60 + k);
        let space = case.space();
        let settings = settings(case.mirror(kappa), 70 + k);
        let pairs = Settings { refresh: RefreshChoice::Pair(Some(8.0)), ..settings.clone() };
        let (columns, diagonal) = inverse(&case.covariance, 0.0);
        let inverse = Inverse::new(&columns, &diagonal).expect("an inverse");
        for (name, settings, inverse) in [
            ("full", &settings, None),
            ("pairs", &pairs, None),
            ("conditional means", &settings, Some(inverse)),
        ] {
            let outcome = run_with(&space, settings, inverse, &Control::new()).expect("a run");
            let off = case.deviation(&outcome, &exact);
            let (value, error) = exact[case.n()];
            let apart = (outcome.mean_violations - value).abs();
            println!("case {k}, {name}: {off:.2}, violations {apart:.4} ± {error:.4}");
            assert!(off < 5.0, "case {k}, {name}: {off}");
            assert!(apart <= 5.0 * error + 0.02 * value, "case {k}, {name}: {apart}");
            assert!(outcome.drift < 1e-8);
            for draw in draws(&outcome) {
                let (violations, holds) = case.violations(&case.coordinates(draw));
                assert!(holds && (kappa > 0.0 || violations == 0));
            }
        }
    }
}

/// Thresholds of another variance are another prior.
#[test]
fn wrong_thresholds_are_noticed() {
    let (case, kappa) = cases().swap_remove(0);
    let (exact, _) = case.exact(kappa, 60);
    let mut wrong = Case::ordered(&[0, 2, 1, 1, 2], 3, false, 50);
    let n = wrong.n();
    for j in [n - 1, n - 2] {
        wrong.softness[j] = 0.1;
        wrong.covariance[j * n + j] = 0.1;
    }
    let run = settings(case.mirror(kappa), 70);
    let outcome = run_with(&wrong.space(), &run, None, &Control::new()).expect("a run");
    let off = wrong.deviation(&outcome, &exact);
    assert!(off > 8.0, "{off}");
}

fn mean_violations<D: Dynamics>(case: &Case, dynamics: &D, kappa: f64, index: u64) -> (f64, f64) {
    let (space, control) = (case.space(), Control::new());
    let factor = std::sync::Arc::new(Factor::new(space.gram(), &control).expect("a factor"));
    let each: Vec<f64> = (0..size(24, 60))
        .map(|k| {
            let mut rng = rng(index + k);
            let [position, direction] = [(); 2].map(|()| factor.draw(&mut rng).dual);
            let ball = Ball::new(space.gram(), &position, &direction, &control).expect("a ball");
            let mut trajectory = Trajectory::new(&space, dynamics.clone(), ball, rng);
            trajectory.set_mirror(case.mirror(kappa));
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
fn transparency_is_that_of_observations_and_not_of_walls() {
    // Thresholds of either order.
    let ordered = Case { thresholds: 0, ..Case::ordered(&[1, 2, 1, 0, 1, 2, 1], 3, false, 52) };
    let choices = cases().swap_remove(7).0;
    for (case, kappa) in [(ordered, 0.3), (choices, 0.3)] {
        let (value, error) = case.exact(kappa, 80).0[case.n()];
        let off = |(own, of_own): (f64, f64)| (own - value).abs() / error.hypot(of_own);
        let right = off(mean_violations(&case, &Geodesic, kappa, 1_000));
        let wrong = off(mean_violations(&case, &TransparentWalls(kappa), kappa, 1_000));
        println!("right {right:.2}, wrong {wrong:.2}");
        assert!(right < 4.0 && wrong > 8.0, "{right} {wrong}");
    }
}

fn log_z(case: &Case, targets: Vec<Mirror>, index: u64) -> (f64, f64) {
    let settings = EvidenceSettings { targets, tol: 0.04, seed: seed(index), ..Default::default() };
    let found = evidence(&case.space(), &settings, &Control::new()).expect("an evidence");
    assert!(found.converged);
    (found.values[0], found.errors[0])
}

#[test]
fn evidence_is_that_of_the_prior() {
    for (k, (case, kappa)) in (0..).zip(cases()) {
        let (_, (exact, error)) = case.exact(kappa, 90 + k);
        let mirror = case.mirror(kappa);
        let mut ways = vec![("alone", vec![mirror])];
        // The ladder mixes slowly where thresholds have few walls.
        if kappa == 0.0 && k != 2 {
            ways.push(("ladder", vec![mirror, Mirror::new(1.0, 1.0).expect("transparent")]));
        }
        for (way, targets) in ways {
            let (value, of_value) = log_z(&case, targets, 100 + k);
            let off = (value - exact).abs() / error.hypot(of_value);
            println!("case {k}, {way}: {exact:.3} ± {error:.3}, {value:.3} ± {of_value:.3}");
            assert!(off < 4.0, "case {k}, {way}: {off}");
        }
    }
}

/// Of three points of three ordered classes; the thresholds of the prior have either order.
#[test]
fn evidences_of_all_labelings_sum_to_one() {
    let noise = 0.2;
    for (kappa, certain) in [(0.0, 1.0f64), (0.5 * noise / (1.0 - noise), 1.0 - noise)] {
        let (mut sum, mut variance) = (0.0, 0.0);
        for labeling in 0..27 {
            let labels = [1, 3, 9].map(|power| labeling / power % 3);
            let case = Case::ordered(&labels, 3, true, 56);
            let (value, error) = log_z(&case, vec![case.mirror(kappa)], labeling as u64);
            let probability = 2.0 * (value + 3.0 * certain.ln()).exp();
            sum += probability;
            variance += (probability * error).powi(2);
        }
        let error = variance.sqrt();
        println!("κ = {kappa:.3}: {sum:.4} ± {error:.4}");
        assert!((sum - 1.0).abs() < 4.0 * error && error < 0.02, "{sum} ± {error}");
    }
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
    trajectory.set_mirror(Mirror::new(kappa, kappa).expect("a transparency"));
    trajectory.set_refresh(if rate > 0.0 { Refresh::Pair { rate } } else { Refresh::None });
    trajectory.reset();
    trajectory.run(Goal::path(20.0), &control).expect("a run");
    let tally = trajectory.tally().clone();
    (tally, trajectory.ball_mut().take_arc_integral())
}

/// Two classes as walls of single coordinates, and two ordered classes with a threshold of the variance of the intercept, follow
/// the path of the binary machine.
#[test]
fn two_ordered_classes_are_the_binary_machine() {
    let m = 30;
    let gram = matrix(m, 0, 58);
    let labels: Vec<i8> = (0..m).map(|i| if i % 3 == 0 { -1 } else { 1 }).collect();
    let with_intercept: Vec<f64> = gram.iter().map(|k| k + 1.0).collect();
    let binary = binary_space(&with_intercept, &labels, 0.2);
    let (start, _) = feasible_point(&binary, seed(1), &Control::new()).expect("a point");
    let direction = normals(m, &mut rng(120));
    let sign = |i: usize| f64::from(labels[i]);
    let walls = (0..m).map(|i| (vec![(i, sign(i))], Some(i))).collect();
    let single = Case::new(with_intercept.clone(), vec![0.2; m], walls);
    let mut softness = vec![0.2; m];
    softness.push(1.0);
    let walls = (0..m).map(|i| (vec![(i, sign(i)), (m, -sign(i))], Some(i))).collect();
    let at = |i: usize, j: usize| if i.max(j) == m { 0.0 } else { gram[i * m + j] };
    let larger = (0..(m + 1) * (m + 1)).map(|k| at(k / (m + 1), k % (m + 1))).collect();
    let ordered = Case::new(larger, softness, walls);
    // Pairs of planes would include the plane that is no wall.
    for (case, rate) in [(&single, 2.0), (&ordered, 0.0)] {
        for kappa in [0.0, 0.3] {
            let (one, integral) = path(&binary, [&start, &direction], kappa, rate);
            let space = case.space();
            // Signs are in the normals of walls.
            let padded = |dual: &[f64]| {
                let mut dual: Vec<f64> = (0..m).map(|i| dual[i] * sign(i)).collect();
                dual.resize(space.gram().len(), 0.0);
                dual
            };
            let (two, of_walls) = path(&space, [&padded(&start), &padded(&direction)], kappa, rate);
            assert!(one.bounces > 50 && one.bounces == two.bounces, "{one:?} {two:?}");
            assert_eq!(one.hits, two.hits[..m]);
            assert!((one.violations - two.violations).abs() < 1e-9);
            let apart = padded(&integral);
            let apart = apart.iter().zip(&of_walls).map(|(a, b)| (a - b).abs());
            let worst = apart.fold(0.0, f64::max);
            println!("{} bounces: {worst:e}", one.bounces);
            assert!(worst < 1e-10, "{worst}");
        }
    }
}

/// Preferences of one item to all others are several classes.
#[test]
fn walls_between_classes_are_those_of_the_machine_of_classes() {
    let (m, n_classes) = (8, 3);
    let labels: Vec<usize> = (0..m).map(|i| i % n_classes).collect();
    let gram = matrix(m, 0, 59);
    let n = m * n_classes;
    let block = |k: usize| {
        let (i, j) = (k / n, k % n);
        if i / m == j / m { gram[i % m * m + j % m] } else { 0.0 }
    };
    let mut walls: Vec<Wall> = Vec::new();
    for (i, &y) in labels.iter().enumerate() {
        for c in (0..n_classes).filter(|&c| c != y) {
            walls.push((vec![(y * m + i, 1.0), (c * m + i, -1.0)], Some(i)));
        }
    }
    let case = Case::new((0..n * n).map(block).collect(), vec![0.2; n], walls);
    let (space, control) = (case.space(), Control::new());
    let classes = Gram::new(&gram, 0.0, vec![0.2; m])
        .and_then(|gram| VersionSpace::of_classes(gram, &labels, n_classes))
        .expect("classes");
    for kappa in [0.0, 0.2] {
        let run = settings(case.mirror(kappa), 130);
        let [walls, joint] =
            [&space, &classes].map(|space| run_with(space, &run, None, &control).expect("a run"));
        // What all classes share is zero in the mean, and has another length.
        let of_walls = case.coordinates(&walls.center.dual);
        let duals = classes.class_duals(&joint.center.dual).expect("classes").concat();
        let of_classes = case.coordinates(&duals);
        let scales = [(n, &walls), (n - m, &joint)]
            .map(|(n, outcome)| (chi_mean(n), outcome.center.norm, outcome.center.error));
        let [(a, norm, of_a), (b, other, of_b)] = scales;
        let error = (a * of_a).hypot(b * of_b) * 1.2f64.sqrt();
        for (x, y) in of_walls.iter().zip(&of_classes) {
            assert!((a * norm * x - b * other * y).abs() < 5.0 * error, "{x} {y}");
        }
        let apart = (walls.mean_violations - joint.mean_violations).abs();
        assert!(apart <= 0.03 * joint.mean_violations, "{apart}");
    }
}

/// Conditional means between two walls agree with arcs and have less noise; a continued run has the bits of a whole one.
#[test]
fn conditional_means_have_less_noise_and_runs_continue() {
    let labels: Vec<usize> = (0..60).map(|i| (i * 7) % 5).collect();
    let case = Case::ordered(&labels, 5, false, 60);
    let (space, control) = (case.space(), Control::new());
    let (columns, diagonal) = inverse(&case.covariance, 0.0);
    let inverse = Inverse::new(&columns, &diagonal).expect("an inverse");
    let length =
        |length: f64| Settings { length: Some(length), n_draws: 10, ..settings(Mirror::HARD, 113) };
    let run = |length_of: f64, inverse| {
        run_with(&space, &length(length_of), inverse, &control).expect("a run")
    };
    let exact = run(20_000.0, None).center;
    let smooth = run(200.0, Some(inverse));
    let rough = run(200.0, None).center;
    let difference: Vec<f64> =
        smooth.center.dual.iter().zip(&exact.dual).map(|(a, b)| a - b).collect();
    let off = dot(&difference, &case.coordinates(&difference)).sqrt();
    println!("{off:.4}, {:.4}; {:.4}; {:.4}", smooth.center.error, rough.error, exact.error);
    assert!(off < 2.0 * smooth.center.error.hypot(exact.error), "{off}");
    assert!(smooth.center.error < 0.7 * rough.error);
    assert!((smooth.center.norm - exact.norm).abs() < 4.0 * smooth.center.error);
    let tol = |tol| Settings { tol: Some(tol), length: None, ..length(1.0) };
    let first = run_with(&space, &tol(0.1), Some(inverse), &control).expect("a run");
    let whole = run_with(&space, &tol(0.04), Some(inverse), &control).expect("a run");
    let state = complete(&first);
    let on = resume(&space, &tol(0.04), Some(inverse), &state, &control).expect("a run");
    let bits = |outcome: &Outcome| -> Vec<u64> {
        outcome.center.dual.iter().chain(&outcome.draws).map(|x| x.to_bits()).collect()
    };
    assert_eq!(bits(&on), bits(&whole));
    // The start is given by dual coefficients of the coordinates.
    let start: Vec<f64> = draws(&first).next().expect("a draw").to_vec();
    let given = Settings { start: Some(start), ..length(50.0) };
    run_with(&space, &given, None, &control).expect("a run from a draw");
    let outside = Settings { start: Some(normals(case.n(), &mut rng(1))), ..length(50.0) };
    assert!(run_with(&space, &outside, None, &control).is_err());
}

#[test]
fn what_walls_cannot_do_is_an_error() {
    let (case, control) = (cases().swap_remove(6).0, Control::new());
    // Items 0 and 1 are preferred to one another, 0, 1, 2 in a circle.
    let hard = run_with(&case.space(), &settings(Mirror::HARD, 1), None, &control);
    let Err(Error::Infeasible { examples, violations, .. }) = hard else { panic!("{hard:?}") };
    assert!(examples == 7 && violations >= 1);
    let circle = Case::preferences(3, &[(0, 1), (1, 2), (2, 0)], 53);
    assert!(matches!(feasible_point(&circle.space(), 1, &control), Err(Error::Infeasible { .. })));
    let space = case.space();
    let (columns, diagonal) = inverse(&case.covariance, 0.0);
    let given = Inverse::new(&columns, &diagonal).ok();
    let conditional = Settings { average: Average::Conditional, ..settings(case.mirror(0.1), 1) };
    let errors = [
        max_margin(&space, &MarginSettings::default(), &control).err(),
        run_with(&space, &conditional, given, &control).err(),
    ];
    for error in errors {
        assert!(matches!(error, Some(Error::Invalid { .. })), "{error:?}");
    }
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
        let found = VersionSpace::of_walls(gram, &walls);
        assert!(matches!(found, Err(Error::Invalid { name: "walls", .. })), "{walls:?}");
    }
    // Observations of two walls that share a wall from both sides: the walls cannot be transparent.
    let mut shared = Case::preferences(4, &[(0, 1), (0, 2), (1, 0), (1, 3)], 53);
    for (wall, observation) in shared.walls.iter_mut().zip([0, 0, 1, 1]) {
        wall.1 = Some(observation);
    }
    let noisy = run_with(&shared.space(), &settings(shared.mirror(0.2), 1), None, &control);
    assert!(matches!(noisy, Err(Error::Invalid { name: "softness", .. })));
}
