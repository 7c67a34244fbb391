//! Scattering by the cosine law and the reflecting sphere keep the uniform distribution.

use std::f64::consts::PI;
use std::sync::Arc;

use bayespoint::dynamics::{Arrival, Dynamics};
use bayespoint::papers::motions::{Motion, Radius, Scattered, scatter};
use bayespoint::{
    Average, Ball, Control, Factor, Goal, Isotropic, Mirror, Refresh, RefreshChoice, Settings,
    Trajectory, VersionSpace,
};
use rand::{Rng, RngExt};

use crate::common::{
    Problem, angle, blamed, dot, fly, mean_and_error, normals, rng, seed, space, taught, try_fly,
    uniform, unit,
};
use crate::polygons::{ALLOWED, bias};

pub const COSINE: Motion = Motion::Scattered { cosine: true, scatterer: None };
pub const SPHERE: Motion = Motion::Scattered { cosine: false, scatterer: Some(Radius::Fitted) };
pub const BOTH: Motion = Motion::Scattered { cosine: true, scatterer: Some(Radius::Fitted) };

pub fn settings(refresh: RefreshChoice, max_bounces: u64, seed: u64) -> Settings {
    Settings {
        refresh,
        tol: None,
        max_bounces: Some(max_bounces),
        n_draws: 10,
        n_threads: 2,
        seed,
        ..Settings::default()
    }
}

/// Returns a trajectory in version space without refresh.
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

/// Returns the centers of independent trajectories.
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
            trajectory.reset();
            trajectory.run(Goal::either(f64::INFINITY, bounces), &control).expect("runs");
            problem.weight(&trajectory.ball_mut().take_arc_integral())
        })
        .collect()
}

/// Scatters by a given distribution of the sine.
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
        let (plane, impulse) = scatter(ball, space.gram(), sine, || self.factor.draw(rng));
        Arrival::Bounce { plane, impulse }
    }
}

/// An orthant: `E f_i = Γ(3) / (√π Γ(3.5))`. Without scattering K = I has conserved quantities. The distribution for three
/// dimensions is wrong in six.
#[test]
fn the_sine_has_the_distribution_for_six_dimensions() {
    let n = 6;
    let identity = uniform(n, 1.0, 0.0);
    let space = space(&identity, &vec![1; n], 0.0);
    let mean = 2.0 / (PI.sqrt() * 3.323_350_970_447_843);
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
        let (norm, error) = mean_and_error(&norms);
        (norm - mean * (n as f64).sqrt()) / error
    };
    let (right, wrong) = (law(|u| (1.0 - u.sqrt()).sqrt()), law(|u| (1.0 - u * u).sqrt()));
    println!("distribution for six dimensions {right:.2} errors, for three {wrong:.2}");
    assert!(right.abs() < ALLOWED && wrong.abs() > 2.0 * ALLOWED, "{right} {wrong}");
}

// --- the sphere ---

/// The billiard outside a reflecting sphere, in explicit vectors.
struct Plain<'p> {
    problem: &'p Problem,
    center: Vec<f64>,
    radius: f64,
    b: Vec<f64>,
    v: Vec<f64>,
    integral: Vec<f64>,
}

impl Plain<'_> {
    /// Moves to the next bounce at a wall and returns its plane.
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
            // Renormalize, since the sphere magnifies rounding errors.
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

/// Returns a large sphere far from the centroid, so that leaving it out shifts the center.
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
        // At a wall the ball is outside the sphere.
        engine.run(Goal::either(f64::INFINITY, 1), &Control::new()).expect("runs");
        let mut plain = plain(&problem, &center, radius, engine.ball());
        let mut deviation = 1e-12;
        for bounce in 2..200 {
            let plane = plain.bounce();
            let before = engine.tally().hits[plane];
            engine.run(Goal::either(f64::INFINITY, bounce), &Control::new()).expect("runs");
            assert_eq!(engine.tally().hits[plane], before + 1, "bounce {bounce}: {deviation}");
            let now = angle(&problem.weight(&engine.ball().position(0.0)), &plain.b);
            // The sphere magnifies deviations, grazing hits most.
            assert!(now < 1e5 * deviation, "bounce {bounce}: {now} after {deviation}");
            deviation = deviation.max(now);
            compared += 1;
            if deviation > 1e-9 {
                break;
            }
        }
        with_hits += u32::from(engine.dynamics().scatterings > 0);
    }
    assert!(compared > 150 && with_hits > 10, "{compared} {with_hits}");
}

#[test]
fn the_center_includes_the_cap() {
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

/// In two dimensions there is no direction along a wall.
#[test]
fn two_dimensions() {
    let problem = taught(8, 2, 162);
    let settings = settings(RefreshChoice::None, 1_000, seed(1));
    let outcome = fly(&problem.space(), COSINE, &settings).run;
    assert!(
        outcome.center.error < 1e-2 && problem.space().contains(&outcome.center.dual).expect("ok")
    );
}

#[test]
fn invalid_settings_are_errors() {
    let specular = |scatterer| Motion::Scattered { cosine: false, scatterer };
    let given = |radius| specular(Some(Radius::Given(radius)));
    let default = Settings::default;
    let mirror = Mirror([0.1, 0.0]);
    for (name, motion, settings) in [
        ("scatterer", specular(None), default()),
        ("scatterer", given(1e-7), default()),
        ("scatterer", given(f64::NAN), default()),
        ("scatterer", given(1.5), default()),
        ("transparency", BOTH, Settings { mirror, ..default() }),
        ("average", BOTH, Settings { average: Average::Conditional, ..default() }),
        ("tol", BOTH, Settings { tol: Some(-1.0), ..default() }),
    ] {
        assert_eq!(blamed(try_fly(&taught(12, 4, 20).space(), motion, &settings)), name);
    }
}
