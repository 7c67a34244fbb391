//! The dynamics of the papers: their pseudo-code in explicit vectors, the rules of their centers, their bias.

use std::time::{Duration, Instant};

use bayespoint::dynamics::Geodesic;
use bayespoint::papers::motions::{Addition, Motion, Points, Straight};
use bayespoint::{
    Average, Ball, Control, Error, Goal, Mirror, RefreshChoice, Settings, StopReason, Trajectory,
    Until,
};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use crate::common::{
    Problem, angle, assert_same, blamed, dot, draws, dual_angle, each, fly, noisily_taught,
    normals, rms, rng, run, seed, size, space, taught, try_fly, unit,
};
use crate::runs::check_ended_by_time;
use crate::scattered::BOTH;

fn add(a: &[f64], scale: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + scale * b).collect()
}

// --- the pseudo-code ---

/// Herbrich et al., Algorithm 1, and Ruján and Marchand, Algorithm 18.1, line by line, with their errors corrected.
struct Pseudocode<'p> {
    problem: &'p Problem,
    flipper: bool,
    tau_max: f64,
    rng: ChaCha8Rng,
    b: Vec<f64>,
    v: Vec<f64>,
    left: Option<usize>,
    center: Vec<f64>,
    weight: f64,
    escapes: u64,
}

impl Pseudocode<'_> {
    /// Returns the state after the first launch.
    fn launched<'p>(
        problem: &'p Problem,
        flipper: bool,
        tau_max: f64,
        rng: ChaCha8Rng,
        start: &[f64],
    ) -> Pseudocode<'p> {
        let mut paper = Pseudocode {
            problem,
            flipper,
            tau_max,
            rng,
            b: unit(problem.weight(start)),
            v: Vec::new(),
            left: None,
            center: Vec::new(),
            weight: 0.0,
            escapes: 0,
        };
        paper.launch();
        paper
    }

    fn random(&mut self) -> Vec<f64> {
        let beta = normals(self.problem.x.len(), &mut self.rng);
        let units: Vec<f64> =
            beta.iter().zip(&self.problem.x).map(|(b, x)| b / dot(x, x).sqrt()).collect();
        unit(self.problem.weight(&units))
    }

    fn launch(&mut self) {
        if self.flipper && self.weight > 0.0 {
            (self.b, self.left) = (self.center.clone(), None);
        }
        self.b = unit(self.b.clone());
        self.v = self.random();
        if let Some(plane) = self.left {
            let y = f64::from(self.problem.labels[plane]);
            if y * dot(&self.v, &self.problem.x[plane]) < 0.0 {
                self.v.iter_mut().for_each(|v| *v = -*v);
            }
        }
    }

    /// Moves to the next bounce and returns its plane.
    fn bounce(&mut self) -> usize {
        loop {
            let (mut tau, mut plane) = (f64::INFINITY, usize::MAX);
            for (i, x) in self.problem.x.iter().enumerate() {
                let time = -dot(&self.b, x) / dot(&self.v, x);
                // The wall just left is at zero up to rounding.
                if time > 0.0 && time < tau && self.left != Some(i) {
                    (tau, plane) = (time, i);
                }
            }
            if tau >= self.tau_max {
                self.escapes += 1;
                self.launch();
                continue;
            }
            let mut to = add(&self.b, tau, &self.v);
            let (from, end) = (unit(self.b.clone()), unit(to.clone()));
            let midpoint = unit(add(&from, 1.0, &end));
            let chord = add(&from, -1.0, &end);
            let chord = dot(&chord, &chord).sqrt();
            if self.flipper {
                self.add_arc(&midpoint, angle(&from, &end));
            } else {
                self.add_chord(&midpoint, chord);
                to = end;
            }
            let x = &self.problem.x[plane];
            self.v = add(&self.v, -2.0 * dot(&self.v, x) / dot(x, x), x);
            self.b = to;
            self.left = Some(plane);
            return plane;
        }
    }

    fn add_chord(&mut self, zeta: &[f64], lambda: f64) {
        if self.weight > 0.0 {
            let mu = self.weight / (self.weight + lambda);
            let c = dot(&self.center, zeta);
            let rho1 = mu * (-(mu * mu - mu * mu * c - 2.0) / (c + 1.0)).sqrt();
            let rho2 = -rho1 * c - (mu * mu * (1.0 - c) - 1.0);
            self.center =
                add(&self.center.iter().map(|w| rho1 * w).collect::<Vec<_>>(), rho2, zeta);
        } else {
            self.center = zeta.to_vec();
        }
        self.weight += lambda;
    }

    fn add_arc(&mut self, b: &[f64], weight: f64) {
        if self.weight > 0.0 {
            let phi = angle(&self.center, b);
            let part = phi * weight / (self.weight + weight);
            let across = add(b, -phi.cos(), &self.center);
            let old: Vec<f64> = self.center.iter().map(|w| part.cos() * w).collect();
            self.center = add(&old, part.sin() / phi.sin(), &across);
        } else {
            self.center = b.to_vec();
        }
        self.weight += weight;
    }
}

/// Runs both for 100 bounces on the same random stream and compares planes and points. Returns the numbers of bounces compared
/// and of escapes.
///
/// Rounding errors grow exponentially with the number of launches: grazing hits magnify them, and explicit vectors lose the
/// direction near the end of a long flight. The comparison ends where they reach 1e-8.
fn agrees(problem: &Problem, dynamics: Straight, tau_max: f64, flipper: bool, k: u64) -> [u64; 2] {
    let (space, control) = (problem.space(), Control::new());
    let (start, _) =
        bayespoint::feasible_point(&space, seed(9 + 10 * k), &control).expect("separable");
    let direction: Vec<f64> = normals(start.len(), &mut rng(10 + 10 * k));
    let ball = Ball::new(space.gram(), &start, &direction, &control).expect("a direction");
    let stream = || ChaCha8Rng::seed_from_u64(seed(11 + 10 * k));
    let mut engine = Trajectory::new(&space, Geodesic, ball, stream())
        .launched_by(dynamics, &control)
        .expect("launched");
    let mut paper = Pseudocode::launched(problem, flipper, tau_max, stream(), &start);
    let mut deviation = 0.0;
    for bounce in 1..=100 {
        let plane = paper.bounce();
        let before = engine.tally().hits[plane];
        // A goal before the wall must not change the path.
        if bounce % 3 == 0 {
            let path = engine.tally().path + 1e-4;
            engine.run(Goal { arrivals: bounce, ..Goal::path(path) }, &control).expect("runs");
        }
        engine.run(Goal::either(f64::INFINITY, bounce), &control).expect("runs");
        assert_eq!(engine.tally().bounces, bounce);
        assert_eq!(engine.tally().hits[plane], before + 1, "bounce {bounce} on plane {plane}");
        let here = problem.weight(&engine.ball().position(0.0));
        let (before, now) = (deviation, angle(&here, &paper.b));
        assert!(now < 1e-8 || (before > 1e-12 && now < 1e5 * before), "bounce {bounce}: {now}");
        deviation = now;
        if deviation > 1e-8 {
            return [bounce, paper.escapes];
        }
    }
    assert_eq!(engine.dynamics().escapes, paper.escapes);
    let center = &engine.dynamics().center;
    assert!(
        (center.weight / paper.weight - 1.0).abs() < 1e-7,
        "weights {} and {}, tau_max {tau_max}, {deviation}",
        center.weight,
        paper.weight
    );
    let off = angle(&problem.weight(&center.dual), &paper.center);
    assert!(off < 1e-7, "centers {off}");
    [100, paper.escapes]
}

#[test]
fn the_engine_does_what_the_pseudocode_says() {
    for (m, r, index) in [(10, 2, 8), (10, 3, 1), (25, 6, 2), (40, 12, 3), (6, 6, 7)] {
        let problem = taught(m, r, index);
        for tau_max in [f64::INFINITY, 1e3, 1.0] {
            let mut seen = [0; 2];
            for k in 0..8 {
                let chord = Straight::chord(m, tau_max, None);
                let flipper = Straight::flipper(m, tau_max, Points::Midpoints);
                for [bounces, escapes] in [
                    agrees(&problem, chord, tau_max, false, k),
                    agrees(&problem, flipper, tau_max, true, k),
                ] {
                    seen = [seen[0] + bounces, seen[1] + escapes];
                }
            }
            assert!(seen[0] > 1200 && seen[1] > 8, "{seen:?}");
        }
    }
}

// --- the additions ---

fn plane_vector(angle: f64) -> [f64; 2] {
    [angle.cos(), angle.sin()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Herbrich et al., Eqs. 21-24.
    #[test]
    fn chord_addition_has_its_four_properties(
        phi in 1e-6..3.0f64, old in 1e-3..1e3f64, new in 0.0..1e3f64,
    ) {
        let (s, t) = (plane_vector(0.0), plane_vector(phi));
        let (first, second) = Addition::Chord.shares(dot(&s, &t), old, new);
        let sum: Vec<f64> = s.iter().zip(&t).map(|(s, t)| first * s + second * t).collect();
        let mu = old / (old + new);
        let distance = |a: &[f64], b: &[f64]| dot(&add(a, -1.0, b), &add(a, -1.0, b)).sqrt();
        prop_assert!((dot(&sum, &sum) - 1.0).abs() < 1e-13);
        prop_assert!((distance(&t, &sum) - mu * distance(&t, &s)).abs() < 1e-9 * phi.max(1e-4));
        prop_assert!(first >= 0.0 && second >= 0.0);
    }

    /// The bound of the stopping rule requires this.
    #[test]
    fn the_share_of_a_new_vector_falls_with_the_cosine_and_rises_with_its_weight(
        cosine in -0.999..0.999f64, closer in 0.0..1.0f64,
        old in 1e-3..1e3f64, new in 1e-3..1e3f64, heavier in 1.0..10.0f64,
    ) {
        let share = |cosine, new| Addition::Chord.shares(cosine, old, new).1;
        let between = cosine + closer * (1.0 - cosine);
        prop_assert!(share(between, new) <= share(cosine, new) + 1e-12);
        // Beyond a right angle a share can exceed 1; below 1 it rises with the weight.
        let bound = share(cosine, heavier * new);
        prop_assert!(bound >= 1.0 || share(cosine, new) <= bound + 1e-12);
    }

    /// Ruján and Marchand, Eq. 18.27, and its meaning.
    #[test]
    fn arc_addition_divides_the_angle(
        phi in 0.0..3.1f64, old in 1e-3..1e3f64, new in 0.0..1e3f64,
    ) {
        let (a, b) = (plane_vector(0.0), plane_vector(phi));
        let (first, second) = Addition::Arc.shares(dot(&a, &b), old, new);
        let part = phi * new / (old + new);
        let sum: Vec<f64> = a.iter().zip(&b).map(|(a, b)| first * a + second * b).collect();
        let expected = plane_vector(part);
        // A tiny angle is known from its cosine to 1e-8.
        prop_assert!((sum[0] - expected[0]).abs() < 1e-9 && (sum[1] - expected[1]).abs() < 1e-9);
        if phi > 1e-3 {
            let printed = part.cos() - part.sin() / phi.sin() * phi.cos();
            prop_assert!((first - printed).abs() < 1e-9);
            prop_assert!((second - part.sin() / phi.sin()).abs() < 1e-9);
        }
    }

}

// --- bias ---

pub const CHORD: Motion = Motion::Chord { tau_max: 1e6, weight_tol: None };
pub const FLIPPER: Motion = Motion::Flipper { tau_max: f64::INFINITY, points: Points::Midpoints };
const BOUNCES: Motion = Motion::Flipper { tau_max: f64::INFINITY, points: Points::Bounces };

fn settings(max_bounces: u64, seed: u64) -> Settings {
    Settings {
        tol: None,
        max_bounces: Some(max_bounces),
        n_draws: 1,
        seed,
        n_threads: 2,
        ..Settings::default()
    }
}

/// Angle between a center and the exact centroid of a polygon.
fn off(problem: &Problem, dual: &[f64]) -> f64 {
    angle(&problem.polygon_centroid(), &problem.weight(dual))
}

/// Bias of the centers of polygons, of the exact integral along the same flights (escapes and restarts are missing) and of the
/// paper's own center (which also uses midpoints).
#[test]
#[ignore = "long: make test-all"]
fn bias_on_polygons() {
    let problems: Vec<Problem> = (0..8).map(|index| taught(10, 3, 100 + index)).collect();
    let mut found = Vec::new();
    for (name, motion) in [
        ("geodesic", None),
        ("chord", Some(CHORD)),
        ("flipper", Some(FLIPPER)),
        ("bounces", Some(BOUNCES)),
    ] {
        let (mut arcs, mut own, mut errors) = (Vec::new(), Vec::new(), Vec::new());
        for (index, problem) in problems.iter().enumerate() {
            let settings = settings(size(60_000, 600_000), seed(200 + index as u64));
            let (outcome, center) = match motion {
                None => (run(&problem.space(), &settings), None),
                Some(motion) => {
                    let flight = fly(&problem.space(), motion, &settings);
                    assert!(flight.escapes.iter().sum::<u64>() > 0);
                    (flight.run, flight.center)
                }
            };
            arcs.push(off(problem, &outcome.center.dual));
            own.push(off(problem, center.as_ref().unwrap_or(&outcome.center.dual)));
            errors.push(outcome.center.error);
        }
        println!(
            "{name:9} rms off the centroid: arc {:.5}, own center {:.5}; statistical error {:.5}",
            rms(&arcs),
            rms(&own),
            rms(&errors)
        );
        found.push((rms(&arcs), rms(&own), rms(&errors)));
    }
    let [geodesic, chord, flipper, bounces] = found[..] else { unreachable!() };
    assert!(geodesic.0 < 4.0 * geodesic.2, "{geodesic:?}");
    for (straight, most) in [(chord, 0.1), (flipper, 0.3), (bounces, 0.3)] {
        for center in [straight.0, straight.1] {
            // Small, but larger than the statistical error.
            assert!(
                center > 3.0 * geodesic.0 && center < most,
                "{straight:?} against {geodesic:?}"
            );
        }
    }
}

// --- settings and ends ---

#[test]
fn invalid_settings_are_errors() {
    let problem = taught(12, 4, 20);
    let default = Settings::default;
    let chord = |tau_max, weight_tol| Motion::Chord { tau_max, weight_tol };
    let flipper = |tau_max| Motion::Flipper { tau_max, points: Points::Midpoints };
    let mirror = Mirror([0.1, 0.0]);
    let full = RefreshChoice::Full(Some(1.0));
    for (name, motion, settings) in [
        ("transparency", CHORD, Settings { mirror, ..default() }),
        ("refresh", CHORD, Settings { refresh: RefreshChoice::Pair(None), ..default() }),
        ("refresh", FLIPPER, Settings { refresh: full, ..default() }),
        ("average", CHORD, Settings { average: Average::Impulse, ..default() }),
        ("n_draws", chord(1e6, Some(0.1)), Settings { n_draws: 0, ..default() }),
        ("tau_max", chord(0.0, None), default()),
        ("tau_max", chord(f64::NAN, None), default()),
        ("tau_max", flipper(-1.0), default()),
        ("weight_tol", chord(1e6, Some(0.0)), default()),
        ("weight_tol", chord(1e6, Some(1.0)), default()),
        // No flight is as short: an error, not an endless loop.
        ("tau_max", chord(1e-12, None), default()),
        ("tau_max", flipper(1e-12), default()),
    ] {
        assert_eq!(blamed(try_fly(&problem.space(), motion, &settings)), name);
    }
}

#[test]
fn runs_end_as_set() {
    let problem = taught(40, 8, 21);
    let by = |motion, length, tol| {
        let seed = seed(22);
        let settings = Settings { length, tol, seed, ..Settings::default() };
        fly(&problem.space(), motion, &settings)
    };
    let weighed = Motion::Chord { tau_max: 1e6, weight_tol: Some(1e-3) };
    let light = by(weighed, None, None).run;
    assert_eq!(light.stop_reason, StopReason::Ended);
    // The longest of a thousand flights has a share of 1e-3 or more.
    let bounces = each(&light, |tally| tally.bounces);
    assert!(bounces.iter().any(|n| (1_000..100_000).contains(n)), "{bounces:?}");
    for motion in [CHORD, FLIPPER, BOUNCES] {
        let flight = by(motion, Some(30.0), None);
        let long = flight.run;
        assert_eq!(long.stop_reason, StopReason::Length);
        assert!(each(&long, |tally| tally.path).iter().all(|x| (x - 30.0).abs() < 1e-12));
        // Less than π between two launches.
        assert!(flight.escapes.iter().all(|n| (n + 1) as f64 * std::f64::consts::PI > 30.0));
        let flight = by(motion, None, Some(0.05));
        let precise = flight.run;
        assert_eq!(precise.stop_reason, StopReason::Tol);
        assert!(precise.center.error <= 0.05);
        let own = flight.center.expect("kept");
        let space = problem.space();
        assert!(space.contains(&own).expect("ok"));
        // The two means of the same flights.
        let apart = dual_angle(&space, &own, &precise.center.dual);
        assert!(apart < 0.3, "{motion:?}: {apart}");
        assert!(precise.center.impulse.iter().all(|x| x.is_nan()));
        assert!(precise.drift < 1e-8, "{}", precise.drift);
        for draw in draws(&precise) {
            assert!(space.margins(draw).expect("ok").iter().all(|&margin| margin > -1e-9));
        }
    }
}

/// After `Until::Ended` the share of the next flight is at most the tolerance.
#[test]
fn the_stopping_rule_bounds_the_share_of_the_next_flight() {
    let problem = taught(40, 8, 27);
    let (space, control) = (problem.space(), Control::new());
    let (start, _) = bayespoint::feasible_point(&space, seed(28), &control).expect("separable");
    let ball = Ball::new(space.gram(), &start, &normals(40, &mut rng(29)), &control).expect("ok");
    let mut trajectory = Trajectory::new(&space, Geodesic, ball, rng(30))
        .launched_by(Straight::chord(40, 1e6, Some(0.01)), &control)
        .expect("launched");
    let goal = Goal { until: Until::Ended, ..Goal::path(f64::INFINITY) };
    trajectory.run(goal, &control).expect("runs");
    let share = trajectory.dynamics().center.next_share();
    assert!(share <= 0.01 && share > 0.008, "{share}");
    let bounces = trajectory.tally().bounces;
    trajectory.run(goal, &control).expect("runs");
    assert_eq!(trajectory.tally().bounces, bounces, "it has ended");
}

/// In two dimensions every launch multiplies the part of the dual coefficients in the null space of the matrix by a random
/// factor, whose logarithm is a random walk.
#[test]
#[ignore = "long: make test-all"]
fn launches_beside_few_walls_of_a_plane_lose_no_digits() {
    for motion in [CHORD, FLIPPER] {
        let (mut launches, mut open) = (0, 0);
        for index in 0..40 {
            let problem = taught(3, 2, 3100 + index);
            match try_fly(&problem.space(), motion, &settings(2_000, seed(31))) {
                Ok(flight) => {
                    let drift = flight.run.drift;
                    assert!(drift < 1e-9, "{motion:?} {index}: {drift:e}");
                    launches += flight.escapes.iter().sum::<u64>();
                }
                // A few of these version spaces are nearly open.
                Err(Error::Invalid { name: "tau_max", .. }) => open += 1,
                Err(other) => panic!("{motion:?} {index}: {other}"),
            }
        }
        assert!(launches > 10_000 && open < 5, "{motion:?} {launches} {open}");
    }
}

#[test]
fn same_seed_same_bits_for_any_number_of_threads() {
    let problem = noisily_taught(80, 15, 0.1, 1);
    let space = space(&problem.gram, &problem.labels, 0.5);
    for motion in [BOTH, FLIPPER] {
        let of = |n_threads, seed| {
            let settings = Settings { n_trajectories: 5, n_threads, ..settings(2_000, seed) };
            fly(&space, motion, &settings)
        };
        let one = of(1, 3);
        for n_threads in [2, 8] {
            assert_same(&one, &of(n_threads, 3), "threads");
        }
        assert_ne!(one.run.draws, of(1, 4).run.draws, "{motion:?}");
    }
}

/// A run that the time ends anywhere, also in burn-in, returns what there is.
#[test]
fn time_ends_a_run_with_what_there_is() {
    let problem = taught(40, 6, 13);
    let space = problem.space();
    for (motion, seconds) in [(BOTH, 1e-9), (BOTH, 0.1), (CHORD, 1e-9), (CHORD, 0.1)] {
        let settings = Settings {
            tol: Some(1e-12),
            max_time: Some(seconds),
            seed: seed(3),
            ..Settings::default()
        };
        let start = bayespoint::feasible_point(&space, 1, &Control::new()).expect("separable").0;
        let began = Instant::now();
        let short = fly(&space, motion, &Settings { start: Some(start), ..settings }).run;
        assert!(began.elapsed() < Duration::from_secs(20));
        check_ended_by_time(&space, &short);
    }
}
