//! Geweke's test of the joint distribution ("Getting it right", 2004): weights and labels drawn in turn, each given the other,
//! against weights from the prior and labels given the weights. Errors of the sampler add up from step to step.

use std::sync::Arc;

use bayespoint::dynamics::{Dynamics, Geodesic};
use bayespoint::{Ball, Control, Factor, Goal, Isotropic, Refresh, Trajectory};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::common::{Problem, alike, mean_and_error, normals, rng, size, space};
use crate::comparisons::{Comparisons, effective_size};
use crate::samplers::ShortOfWall;

/// A function of weights and labels.
type Both = fn(&[f64], &[i8]) -> f64;
const FUNCTIONS: [(&str, Both); 7] = [
    ("f_1", |f, _| f[0]),
    ("f_1²", |f, _| f[0].powi(2)),
    ("f_1 f_2", |f, _| f[0] * f[1]),
    ("y_1", |_, y| f64::from(y[0])),
    ("y_1 y_2", |_, y| f64::from(y[0] * y[1])),
    ("y_1 f_2", |f, y| f64::from(y[0]) * f[1]),
    ("smallest y f", |f, y| {
        f.iter().zip(y).map(|(f, y)| f * f64::from(*y)).fold(f64::INFINITY, f64::min)
    }),
];

fn labeled(f: &[f64], noise: f64, rng: &mut ChaCha8Rng) -> Vec<i8> {
    f.iter().map(|f| if (*f > 0.0) == (rng.random::<f64>() < noise) { -1 } else { 1 }).collect()
}

/// Returns chains of the functions of weights and labels drawn in turn, the weights by short runs of the billiard.
fn in_turn<D: Dynamics>(
    problem: &Problem,
    (softness, noise): (f64, f64),
    dynamics: &D,
    full: bool,
    steps: usize,
) -> Vec<Vec<Vec<f64>>> {
    let control = Control::new();
    let m = problem.x.len();
    (0..20)
        .map(|chain| {
            let mut rng = rng(70_000 + chain);
            let template = space(&problem.gram, &vec![1; m], softness);
            let factor = Arc::new(Factor::new(template.gram(), &control).expect("definite"));
            let first = factor.draw(&mut rng);
            let mut dual = first.dual;
            let norm = first.square.sqrt();
            dual.iter_mut().for_each(|c| *c /= norm);
            let mut f: Vec<f64> = first.field.iter().map(|f| f / norm).collect();
            (0..steps)
                .map(|_| {
                    let labels = labeled(&f, noise, &mut rng);
                    let space = space(&problem.gram, &labels, softness);
                    let direction = factor.draw(&mut rng).dual;
                    let ball = Ball::new(space.gram(), &dual, &direction, &control).expect("ok");
                    let stream = ChaCha8Rng::seed_from_u64(rng.random());
                    let mut trajectory = Trajectory::new(&space, dynamics.clone(), ball, stream);
                    trajectory.set_mirror(alike(noise / (1.0 - noise)));
                    trajectory.set_refresh(if full {
                        let source: Arc<dyn Isotropic> = Arc::clone(&factor) as _;
                        Refresh::Full { rate: 1.0, source }
                    } else {
                        Refresh::Pair { rate: 3.0 }
                    });
                    trajectory.run(Goal::path(1.5), &control).expect("runs");
                    dual = trajectory.ball().position(0.0);
                    f.copy_from_slice(trajectory.ball().f());
                    FUNCTIONS.iter().map(|(_, of)| of(&f, &labels)).collect()
                })
                .collect()
        })
        .collect()
}

/// Returns the means of the functions of independent weights and labels, with standard errors.
fn independent(problem: &Problem, (softness, noise): (f64, f64), draws: usize) -> Vec<(f64, f64)> {
    let mut rng = rng(71_000);
    let space = space(&problem.gram, &vec![1; problem.x.len()], softness);
    let factor = Factor::new(space.gram(), &Control::new()).expect("definite");
    let values: Vec<Vec<f64>> = (0..draws)
        .map(|_| {
            let draw = factor.draw(&mut rng);
            let f: Vec<f64> = draw.field.iter().map(|f| f / draw.square.sqrt()).collect();
            let labels = labeled(&f, noise, &mut rng);
            FUNCTIONS.iter().map(|(_, of)| of(&f, &labels)).collect()
        })
        .collect();
    (0..FUNCTIONS.len())
        .map(|k| mean_and_error(&values.iter().map(|value| value[k]).collect::<Vec<f64>>()))
        .collect()
}

fn problem() -> Problem {
    let mut rng = rng(72_000);
    // The planes are correlated.
    let x: Vec<Vec<f64>> = (0..6)
        .map(|_| {
            let mut x = normals(4, &mut rng);
            x[0] += 1.5;
            x
        })
        .collect();
    Problem::new(x, vec![1; 6])
}

fn compare<D: Dynamics>(comparisons: &mut Comparisons, dynamics: &D, full: bool, steps: usize) {
    let problem = problem();
    for (softness, noise) in [(0.3, 0.2), (0.3, 0.05), (2.0, 0.3)] {
        let turns = in_turn(&problem, (softness, noise), dynamics, full, steps);
        let alone = independent(&problem, (softness, noise), 20 * turns.len() * steps);
        for (k, (name, _)) in FUNCTIONS.iter().enumerate() {
            let chains: Vec<Vec<f64>> =
                turns.iter().map(|chain| chain.iter().map(|values| values[k]).collect()).collect();
            let (exact, error) = alone[k];
            let (found, own) = mean_and_error(&chains.concat());
            let inflation = chains.concat().len() as f64 / effective_size(&chains);
            let correlated = own * inflation.sqrt();
            let z = (found - exact) / correlated.hypot(error);
            let case = format!("Geweke, λ = {softness}, ε = {noise}, full {full}");
            comparisons.check_score(&case, name, (found, exact), z);
        }
    }
}

#[test]
fn weights_and_labels_in_turn_have_the_joint_law() {
    let mut comparisons = Comparisons::default();
    for full in [true, false] {
        compare(&mut comparisons, &Geodesic, full, size(600, 4000));
    }
    comparisons.assert_right();
}

#[test]
fn weights_by_a_wrong_dynamics_have_not() {
    let mut comparisons = Comparisons::default();
    compare(&mut comparisons, &ShortOfWall, true, 1200);
    comparisons.assert_wrong("Geweke, short of the wall");
}
