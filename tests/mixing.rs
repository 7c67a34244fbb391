//! The changes that make a billiard mix: scattering by the cosine law, the reflecting sphere; their exact laws.

mod common;

use std::sync::Arc;

use bayespoint::dynamics::{Arrival, Dynamics, Motion, Radius, Scattered};
use bayespoint::{
    Ball, Control, Error, Factor, Goal, Mirror, Outcome, Recorder, Refresh, RefreshChoice,
    Settings, Trajectory, VersionSpace,
};
use common::{
    Problem, angle, cross, dot, mean_and_error, normals, rng, run, seed, size, space, unit,
};
use rand::{Rng, RngExt};

const COSINE: Motion = Motion::Scattered { cosine: true, scatterer: None };
const SPHERE: Motion = Motion::Scattered { cosine: false, scatterer: Some(Radius::Fitted) };
const BOTH: Motion = Motion::Scattered { cosine: true, scatterer: Some(Radius::Fitted) };

fn taught(m: usize, r: usize, index: u64) -> Problem {
    let mut rng = rng(index);
    let teacher = normals(r, &mut rng);
    Problem::taught(m, &teacher, 0.0, &mut rng)
}

fn settings(motion: Motion, refresh: RefreshChoice, max_bounces: u64, seed: u64) -> Settings {
    Settings {
        motion,
        refresh,
        tol: None,
        max_bounces: Some(max_bounces),
        n_draws: 10,
        n_threads: 2,
        seed,
        ..Settings::default()
    }
}

/// The two coordinates of a direction across the exact centroid.
fn deviation(exact: &[f64], direction: &[f64]) -> [f64; 2] {
    let axis = if exact[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let first = unit(cross(exact, &axis));
    let second = cross(exact, &first);
    let direction = unit(direction.to_vec());
    [dot(&direction, &first), dot(&direction, &second)]
}

/// The largest bias of independent centers across the exact one, in standard errors.
fn bias(exact: &[f64], centers: &[Vec<f64>]) -> f64 {
    let deviations: Vec<_> = centers.iter().map(|center| deviation(exact, center)).collect();
    (0..2)
        .map(|axis| {
            let values: Vec<f64> = deviations.iter().map(|d| d[axis]).collect();
            let (bias, error) = mean_and_error(&values);
            bias.abs() / error
        })
        .fold(0.0, f64::max)
}

/// Student's t with 11 degrees of freedom: less than one chance in 10 000 a comparison.
const ALLOWED: f64 = 6.0;

#[test]
fn arc_and_impulse_centers_are_unbiased_on_polygons() {
    for index in 0..2 {
        let problem = taught(10, 3, 100 + index);
        let (space, exact) = (problem.space(), problem.polygon_centroid());
        for motion in [COSINE, SPHERE, BOTH] {
            for refresh in [RefreshChoice::None, RefreshChoice::Pair(Some(3.0))] {
                if motion == SPHERE && refresh == RefreshChoice::None {
                    // Alone it mixes as slowly as it is small: such runs remember where they began.
                    continue;
                }
                let outcomes: Vec<Outcome> = (0..size(12, 48))
                    .map(|k| run(&space, &settings(motion, refresh, 8_000, seed(100 * index + k))))
                    .collect();
                let centers = |of: fn(&Outcome) -> &[f64]| -> Vec<Vec<f64>> {
                    outcomes.iter().map(|outcome| problem.weight(of(outcome))).collect()
                };
                let arc = bias(&exact, &centers(|outcome| &outcome.center));
                let impulse = bias(&exact, &centers(|outcome| &outcome.impulse_center));
                println!("polygon {index}, {motion:?}, {refresh:?}: {arc:.2}, {impulse:.2}");
                assert!(arc < ALLOWED && impulse < ALLOWED, "{motion:?}, {refresh:?}");
                for outcome in &outcomes {
                    assert!(outcome.drift < 1e-9, "{}", outcome.drift);
                    let scatters = outcome.scatterings.iter().sum::<u64>() > 0;
                    assert_eq!(scatters, motion != COSINE);
                    assert_eq!(outcome.scatterer.is_some(), motion != COSINE);
                }
            }
        }
    }
}

/// The billiard alone is 0.02 rad off at that length. (The sphere alone mixes as slowly as it is small.)
#[test]
fn the_cosine_law_is_exact_without_refresh() {
    for index in 0..3 {
        let problem = taught(10, 3, 110 + index);
        let (space, exact) = (problem.space(), problem.polygon_centroid());
        for motion in [COSINE, BOTH] {
            let settings = settings(motion, RefreshChoice::None, 100_000, seed(7 + index));
            let outcome = run(&space, &settings);
            let off = angle(&exact, &problem.weight(&outcome.center));
            println!("polygon {index}, {motion:?}: {off:.5} of {:.5}", outcome.center_error);
            assert!(off < 4e-3 && off <= 4.0 * outcome.center_error, "{motion:?}: {off}");
        }
    }
}

// --- the judge, and wrong samplers ---

/// A trajectory inside version space of a problem, with the given dynamics and without refresh.
fn trajectory<'s, D: Dynamics>(
    space: &'s VersionSpace<'s>,
    dynamics: D,
    k: u64,
) -> Trajectory<'s, D> {
    let control = Control::new();
    let (start, _) = bayespoint::feasible_point(space, seed(k), &control).expect("separable");
    let direction = normals(start.len(), &mut rng(1000 + k));
    let ball = Ball::new(space.gram(), &start, &direction, &control).expect("a direction");
    Trajectory::new(space, dynamics, ball, rng(2000 + k))
}

/// Centers of independent trajectories.
fn centers<D: Dynamics>(
    problem: &Problem,
    dynamics: &D,
    refresh: &Refresh,
    bounces: u64,
) -> Vec<Vec<f64>> {
    let space = problem.space();
    (0..12)
        .map(|k| {
            let mut trajectory = trajectory(&space, dynamics.clone(), k);
            trajectory.set_refresh(refresh.clone());
            let control = Control::new();
            trajectory.run(Goal::either(f64::INFINITY, 500), &control).expect("runs");
            trajectory.reset(None);
            trajectory.run(Goal::either(f64::INFINITY, bounces), &control).expect("runs");
            problem.weight(&trajectory.ball_mut().take_arc_integral())
        })
        .collect()
}

/// Scatters by another law of the sine.
#[derive(Clone)]
struct Law {
    factor: Arc<Factor>,
    sine: fn(f64) -> f64,
}

impl Dynamics for Law {
    fn flight(&mut self, ball: &Ball) -> Option<f64> {
        Some(ball.to_wall())
    }

    fn arrive(
        &mut self,
        ball: &mut Ball,
        space: &VersionSpace<'_>,
        _: f64,
        rng: &mut impl Rng,
    ) -> Arrival {
        let sine = (self.sine)(rng.random());
        let hit = ball.scatter(space.gram(), sine, || self.factor.draw(rng));
        Arrival::Bounce { plane: hit.plane, impulse: hit.impulse }
    }
}

#[test]
fn another_law_of_the_angle_is_found_out() {
    let control = Control::new();
    let (mut right, mut wrong) = (0f64, 0f64);
    for index in 0..3 {
        let problem = taught(10, 3, 120 + index);
        let factor = Arc::new(Factor::new(problem.space().gram(), &control).expect("a factor"));
        let exact = problem.polygon_centroid();
        // On the sphere in three dimensions a wall has one: s ds / √(1 - s²).
        let cosine = Law { factor: Arc::clone(&factor), sine: |u| (1.0 - u * u).sqrt() };
        // More of them grazing, whatever the flux.
        let grazing = Law { factor, sine: |u| u.max(1e-6) };
        right = right.max(bias(&exact, &centers(&problem, &cosine, &Refresh::None, 40_000)));
        wrong = wrong.max(bias(&exact, &centers(&problem, &grazing, &Refresh::None, 160_000)));
    }
    println!("cosine law {right:.1} errors, grazing {wrong:.1}");
    assert!(right < ALLOWED && wrong > 2.0 * ALLOWED, "{right} {wrong}");
}

/// The octant's like in six dimensions: `E f_i = Γ(3) / (√π Γ(3.5))`, and the integrals of K = I are broken.
#[test]
fn the_orthant_in_six_dimensions() {
    let n = 6;
    let mut identity = vec![0.0; n * n];
    (0..n).for_each(|i| identity[i * n + i] = 1.0);
    let space = space(&identity, &vec![1; n], 0.0);
    let mean = 2.0 / (std::f64::consts::PI.sqrt() * 3.323_350_970_447_843);
    let judge = |norms: &[f64]| {
        let (norm, error) = mean_and_error(norms);
        (norm - mean * (n as f64).sqrt()) / error
    };
    for motion in [COSINE, BOTH] {
        let outcomes: Vec<Outcome> = (0..12)
            .map(|k| run(&space, &settings(motion, RefreshChoice::None, 10_000, seed(k))))
            .collect();
        let off = judge(&outcomes.iter().map(|outcome| outcome.center_norm).collect::<Vec<_>>());
        println!("{motion:?}: {off:.2} errors");
        assert!(off.abs() < ALLOWED, "{motion:?}: {off}");
    }
    // The law of three dimensions is not that of six.
    let factor = Arc::new(Factor::new(space.gram(), &Control::new()).expect("a factor"));
    let law = |sine: fn(f64) -> f64| -> f64 {
        let norms: Vec<f64> = (0..12)
            .map(|k| {
                let mut ball = trajectory(&space, Law { factor: Arc::clone(&factor), sine }, k);
                ball.run(Goal::either(f64::INFINITY, 40_000), &Control::new()).expect("runs");
                let integral = ball.ball_mut().take_arc_integral();
                dot(&integral, &integral).sqrt() / ball.tally().path
            })
            .collect();
        judge(&norms)
    };
    let (right, wrong) = (law(|u| (1.0 - u.sqrt()).sqrt()), law(|u| (1.0 - u * u).sqrt()));
    println!("law of six dimensions {right:.2} errors, of three {wrong:.2}");
    assert!(right.abs() < ALLOWED && wrong.abs() > 2.0 * ALLOWED, "{right} {wrong}");
}

// --- the sphere ---

/// The billiard with a reflecting sphere in explicit vectors, with nothing put back.
struct Plain<'p> {
    problem: &'p Problem,
    center: Vec<f64>,
    radius: f64,
    b: Vec<f64>,
    v: Vec<f64>,
    integral: Vec<f64>,
}

impl Plain<'_> {
    /// On to the next bounce at a wall. Returns its plane.
    fn bounce(&mut self) -> usize {
        loop {
            let (mut t, mut plane) = (f64::INFINITY, usize::MAX);
            for (i, x) in self.problem.x.iter().enumerate() {
                let y = f64::from(self.problem.labels[i]);
                let time = (y * dot(&self.b, x)).max(0.0).atan2(-y * dot(&self.v, x));
                if time < t {
                    (t, plane) = (time, i);
                }
            }
            let (height, speed) = (dot(&self.b, &self.center), dot(&self.v, &self.center));
            let highest = height.hypot(speed);
            let rim = self.radius.cos();
            let sphere = speed > 0.0 && highest > rim;
            if sphere {
                t = (speed.atan2(height) - (rim / highest).acos()).max(0.0);
            }
            let (sin, cos) = t.sin_cos();
            for i in 0..3 {
                let (b, v) = (self.b[i], self.v[i]);
                self.integral[i] += b * sin + v * (1.0 - cos);
                (self.b[i], self.v[i]) = (b * cos + v * sin, v * cos - b * sin);
            }
            let normal: Vec<f64> = if sphere {
                let height = dot(&self.b, &self.center);
                self.center.iter().zip(&self.b).map(|(c, b)| c - height * b).collect()
            } else {
                self.problem.x[plane].clone()
            };
            let kick = 2.0 * dot(&self.v, &normal) / dot(&normal, &normal);
            self.v.iter_mut().zip(&normal).for_each(|(v, n)| *v -= kick * n);
            // The sphere magnifies rounding of the norms too.
            self.b = unit(self.b.clone());
            let along = dot(&self.b, &self.v);
            self.v.iter_mut().zip(&self.b).for_each(|(v, b)| *v -= along * b);
            self.v = unit(self.v.clone());
            if !sphere {
                return plane;
            }
        }
    }
}

/// A large sphere far from the centroid, which would be missed.
fn sphere(problem: &Problem) -> (Vec<f64>, Scattered) {
    let (space, control) = (problem.space(), Control::new());
    let exact = problem.polygon_centroid();
    let nearest = |w: &[f64]| -> f64 {
        problem.x.iter().map(|x| dot(x, w).abs() / dot(x, x).sqrt()).fold(1.0, f64::min).asin()
    };
    let missed = |dual: &[f64]| {
        let w = unit(problem.weight(dual));
        nearest(&w).powi(2) * angle(&w, &exact)
    };
    let center = (0..50)
        .map(|k| bayespoint::feasible_point(&space, seed(k), &control).expect("separable").0)
        .max_by(|a, b| missed(a).total_cmp(&missed(b)))
        .expect("fifty");
    let w = unit(problem.weight(&center));
    let factor = Arc::new(Factor::new(space.gram(), &control).expect("a factor"));
    let radius = Radius::Given(0.9 * nearest(&w));
    let scattered = Scattered::new(factor, false)
        .with_sphere(&space, &center, radius, &control)
        .expect("inside");
    (w, scattered)
}

fn plain<'p>(problem: &'p Problem, center: &[f64], radius: f64, ball: &Ball) -> Plain<'p> {
    Plain {
        problem,
        center: unit(center.to_vec()),
        radius,
        b: unit(problem.weight(&ball.position(0.0))),
        v: unit(problem.weight(&ball.direction())),
        integral: vec![0.0; 3],
    }
}

#[test]
fn outside_the_sphere_the_path_is_that_of_the_reflecting_sphere() {
    let (mut compared, mut with_hits) = (0, 0);
    for index in 0..20 {
        let problem = taught(10, 3, 130 + index);
        let space = problem.space();
        let (center, scattered) = sphere(&problem);
        let radius = scattered.scatterer().expect("given");
        let mut engine = trajectory(&space, scattered, 50 + index);
        // From a wall on: outside.
        engine.run(Goal::either(f64::INFINITY, 1), &Control::new()).expect("runs");
        let mut plain = plain(&problem, &center, radius, engine.ball());
        let mut deviation = 1e-12;
        for bounce in 2..200 {
            let plane = plain.bounce();
            let before = engine.tally().hits[plane];
            engine.run(Goal::either(f64::INFINITY, bounce), &Control::new()).expect("runs");
            assert_eq!(engine.tally().hits[plane], before + 1, "bounce {bounce}: {deviation}");
            let now = angle(&problem.weight(&engine.ball().position(0.0)), &plain.b);
            // The sphere disperses; grazing hits do more at once.
            assert!(now < 1e5 * deviation, "bounce {bounce}: {now} after {deviation}");
            deviation = deviation.max(now);
            compared += 1;
            if deviation > 1e-9 {
                break;
            }
        }
        with_hits += u32::from(engine.tally().scatterings > 0);
    }
    assert!(compared > 150 && with_hits > 10, "{compared} {with_hits}");
}

#[test]
fn the_cap_is_added_back() {
    let (mut kept, mut missed) = (0f64, 0f64);
    for index in 0..3 {
        let problem = taught(10, 3, 140 + index);
        let space = problem.space();
        let (center, scattered) = sphere(&problem);
        let exact = problem.polygon_centroid();
        kept = kept.max(bias(
            &exact,
            &centers(&problem, &scattered, &Refresh::Pair { rate: 3.0 }, 20_000),
        ));
        let outside: Vec<Vec<f64>> = (0..12)
            .map(|k| {
                let mut ball = trajectory(&space, scattered.clone(), 60 + k);
                ball.run(Goal::either(f64::INFINITY, 1), &Control::new()).expect("runs");
                let radius = scattered.scatterer().expect("given");
                let mut plain = plain(&problem, &center, radius, ball.ball());
                (0..20_000).for_each(|_| _ = plain.bounce());
                plain.integral
            })
            .collect();
        missed = missed.max(bias(&exact, &outside));
    }
    println!("with the cap {kept:.1} errors, without it {missed:.1}");
    assert!(kept < ALLOWED && missed > 2.0 * ALLOWED, "{kept} {missed}");
}

/// Area of a spherical polygon, by its angles.
fn area(problem: &Problem) -> f64 {
    let normals: Vec<Vec<f64>> = problem
        .x
        .iter()
        .zip(&problem.labels)
        .map(|(x, y)| unit(x.iter().map(|x| x * f64::from(*y)).collect()))
        .collect();
    let (mut angles, mut corners) = (0.0, 0.0);
    for (i, n) in normals.iter().enumerate() {
        for (j, other) in normals.iter().enumerate().skip(i + 1) {
            for sign in [1.0, -1.0] {
                let corner = unit(cross(n, other).iter().map(|x| x * sign).collect());
                let inside = |(k, n): (usize, &Vec<f64>)| k == i || k == j || dot(n, &corner) > 0.0;
                if normals.iter().enumerate().all(inside) {
                    angles += std::f64::consts::PI - angle(n, other);
                    corners += 1.0;
                }
            }
        }
    }
    angles - (corners - 2.0) * std::f64::consts::PI
}

/// Refreshes inside the sphere too.
#[test]
fn draws_fill_the_cap_like_the_rest() {
    for refresh in [Refresh::Pair { rate: 3.0 }, Refresh::Pair { rate: 30.0 }] {
        for index in 0..3 {
            let problem = taught(10, 3, 150 + index);
            let space = problem.space();
            let (center, scattered) = sphere(&problem);
            let rim = scattered.scatterer().expect("given").cos();
            let share = std::f64::consts::TAU * (1.0 - rim) / area(&problem);
            let seen: Vec<f64> = (0..12)
                .map(|k| {
                    let mut ball = trajectory(&space, scattered.clone(), 80 + k);
                    ball.set_refresh(refresh.clone());
                    ball.run(Goal::either(f64::INFINITY, 500), &Control::new()).expect("runs");
                    ball.reset(Some(Recorder::new(0.05, &[], 0, space.gram()).expect("room")));
                    ball.run(Goal::path(1000.0), &Control::new()).expect("runs");
                    let recorder = ball.recorder().expect("kept");
                    let n = recorder.kept(10);
                    let (draws, _) = recorder.last(n, 10);
                    let inside = draws
                        .chunks(10)
                        .filter(|draw| dot(&problem.weight(draw), &unit(center.clone())) > rim);
                    inside.count() as f64 / n as f64
                })
                .collect();
            let (mean, error) = mean_and_error(&seen);
            println!("polygon {index}: {mean:.4} ± {error:.4} of draws in {share:.4} of the area");
            assert!((mean - share).abs() < ALLOWED * error, "{mean} ± {error} against {share}");
        }
    }
}

// --- settings ---

#[test]
fn what_cannot_be_is_refused() {
    let problem = taught(12, 4, 160);
    let with = |motion, mirror| Settings { motion, mirror, ..Settings::default() };
    let given =
        |radius| Motion::Scattered { cosine: false, scatterer: Some(Radius::Given(radius)) };
    let soft = Mirror::new(0.1, 0.0).expect("ok");
    for (name, settings) in [
        ("scatterer", with(given(0.0), Mirror::HARD)),
        ("scatterer", with(given(f64::NAN), Mirror::HARD)),
        ("scatterer", with(given(1.5), Mirror::HARD)),
        ("transparency", with(SPHERE, soft)),
    ] {
        match bayespoint::run(&problem.space(), &settings, &Control::new()) {
            Err(Error::Invalid { name: found, .. }) => assert_eq!(found, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// Scattering and half-silvered walls go together: passing or not is left to chance before the direction is.
#[test]
fn cosine_law_behind_transparent_walls() {
    let problem = taught(10, 3, 161);
    let violations = |motion| {
        let runs: Vec<f64> = (0..12)
            .map(|k| {
                let settings = Settings {
                    mirror: Mirror::new(0.3, 0.1).expect("ok"),
                    ..settings(motion, RefreshChoice::Pair(Some(3.0)), 20_000, seed(k))
                };
                run(&problem.space(), &settings).mean_violations
            })
            .collect();
        mean_and_error(&runs)
    };
    let ((plain, e), (cosine, f)) = (violations(Motion::Geodesic), violations(COSINE));
    println!("mean violations {plain:.4} ± {e:.4} and {cosine:.4} ± {f:.4}");
    assert!((plain - cosine).abs() < 5.0 * e.hypot(f), "{plain} {cosine}");
}

#[test]
fn few_dimensions_and_threads() {
    // One dimension and two: nothing to scatter along a wall.
    let one = vec![1.0; 9];
    let outcome =
        run(&space(&one, &[1, 1, 1], 0.0), &Settings { motion: BOTH, ..Settings::default() });
    assert!(outcome.scatterings.iter().all(|&n| n == 0));
    let problem = taught(8, 2, 162);
    let outcome = run(&problem.space(), &settings(COSINE, RefreshChoice::None, 1_000, seed(1)));
    assert!(outcome.center_error < 1e-2 && problem.space().contains(&outcome.center).expect("ok"));
    let problem = taught(30, 5, 163);
    let [one, two] = [1, 2].map(|n_threads| {
        let settings = settings(BOTH, RefreshChoice::Auto, 2_000, seed(2));
        run(&problem.space(), &Settings { n_threads, ..settings })
    });
    assert_eq!(one.draws, two.draws);
    assert_eq!(one.scatterings, two.scatterings);
}
