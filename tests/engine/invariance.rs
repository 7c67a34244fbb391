//! Reversal, symmetries, the momentum identity, and feature vectors of very different lengths.

use bayespoint::{Ball, Control, Error, MarginSettings, Settings, VersionSpace};

use crate::common::{Problem, angle, dot, normals, rng, run, seed, taught, unit};

/// Returns the dual coefficients of a point in version space and of a direction.
fn start(space: &VersionSpace<'_>, index: u64) -> (Vec<f64>, Vec<f64>) {
    let (position, _) =
        bayespoint::feasible_point(space, index, &Control::new()).expect("separable");
    (position, normals(space.len(), &mut rng(index + 1)))
}

fn ball(space: &VersionSpace<'_>, (position, direction): &(Vec<f64>, Vec<f64>)) -> Ball {
    Ball::new(space.gram(), position, direction, &Control::new()).expect("a good start")
}

#[test]
fn a_thousand_bounces_and_back() {
    for index in 0..5 {
        let problem = taught(60, 12, index);
        let space = problem.space();
        let mut ball = ball(&space, &start(&space, index));
        let (f, g) = (ball.f().to_vec(), ball.g().to_vec());
        let first_flight = ball.to_wall();
        for _ in 0..1000 {
            ball.reflect(space.gram());
        }
        ball.reverse(space.gram());
        for _ in 0..1000 {
            ball.reflect(space.gram());
        }
        ball.fly(space.gram(), first_flight);
        for i in 0..f.len() {
            let length = space.gram().diagonal(i).sqrt();
            assert!((ball.f()[i] - f[i]).abs() < 1e-8 * length, "f[{i}]: {} {}", ball.f()[i], f[i]);
            assert!((ball.g()[i] + g[i]).abs() < 1e-8 * length, "g[{i}]: {} {}", ball.g()[i], g[i]);
        }
        let (position, w) =
            (problem.weight(&ball.position(0.0)), problem.weight(&start(&space, index).0));
        assert!(angle(&position, &w) < 1e-8);
    }
}

/// Returns the planes hit by 500 bounces from a start, and the arc integral.
fn bounces(space: &VersionSpace<'_>, start: &(Vec<f64>, Vec<f64>)) -> (Vec<usize>, Vec<f64>) {
    let mut ball = ball(space, start);
    let planes = (0..500).map(|_| ball.reflect(space.gram()).0).collect();
    (planes, ball.take_arc_integral())
}

fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    let scale = a.iter().fold(0f64, |s, x| s.max(x.abs()));
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance * scale, "{a} {b} (scale {scale})");
    }
}

/// Checks that another problem has the same path: `dual` converts dual coefficients of the first, `plane` planes of the other.
fn check_same_path(
    (one, other): (&Problem, &Problem),
    dual: impl Fn(&[f64]) -> Vec<f64>,
    plane: impl Fn(usize) -> usize,
    tolerance: f64,
) {
    let (space, other) = (one.space(), other.space());
    let from = start(&space, 11);
    let (planes, integral) = bounces(&space, &from);
    let (other_planes, other_integral) = bounces(&other, &(dual(&from.0), dual(&from.1)));
    assert_eq!(planes, other_planes.into_iter().map(plane).collect::<Vec<_>>());
    assert_close(&dual(&integral), &other_integral, tolerance);
}

/// Each dual coefficient times a number of its own.
fn times<'a>(factors: &'a [f64]) -> impl Fn(&[f64]) -> Vec<f64> + 'a {
    move |dual| dual.iter().zip(factors).map(|(c, by)| c * by).collect()
}

/// The feature vectors times numbers, with the labels of the sides that the same weight vectors are on.
fn scaled(problem: &Problem, scales: &[f64]) -> Problem {
    let x = problem.x.iter().zip(scales).map(|(x, s)| x.iter().map(|x| x * s).collect()).collect();
    let labels = problem.labels.iter().zip(scales).map(|(y, s)| if *s < 0.0 { -y } else { *y });
    Problem::new(x, labels.collect())
}

#[test]
fn scaling_a_normal_changes_nothing() {
    let original = taught(40, 8, 11);
    let scales: Vec<f64> = (0..40).map(|i| if i % 3 == 0 { 1e3 } else { 0.3 }).collect();
    let shrinks: Vec<f64> = scales.iter().map(|s| s.recip()).collect();
    check_same_path((&original, &scaled(&original, &scales)), times(&shrinks), |i| i, 1e-8);
}

/// Version space depends only on the directions of feature vectors.
#[test]
fn lengths_over_sixteen_decades() {
    let control = Control::new();
    for (index, decades) in (0..).zip([8.0, 12.0, 16.0, 8.0, 12.0, 16.0]) {
        let mut rng = rng(40 + index);
        let m = [6, 8, 10, 12, 14, 16][usize::try_from(index).expect("one of six")];
        let short: Vec<Vec<f64>> = (0..m).map(|_| unit(normals(m + 4, &mut rng))).collect();
        let labels: Vec<i8> = (0..m).map(|i| if i % 2 == 0 { 1 } else { -1 }).collect();
        let length = |i: usize| 10f64.powf(decades * (i as f64 / (m as f64 - 1.0) - 0.5));
        let scaled = |(i, x): (usize, &Vec<f64>)| x.iter().map(|x| x * length(i)).collect();
        let long: Vec<Vec<f64>> = short.iter().enumerate().map(scaled).collect();
        let (even, uneven) = (Problem::new(short, labels.clone()), Problem::new(long, labels));
        let settings = Settings { tol: Some(0.03), seed: seed(41), ..Settings::default() };
        let [one, other] = [&even, &uneven].map(|problem| run(&problem.space(), &settings));
        let apart = angle(&even.weight(&one.center.dual), &uneven.weight(&other.center.dual));
        assert!(apart < 4.0 * 0.03 * 2f64.sqrt(), "{decades} decades: {apart}");
        let space = uneven.space();
        let (point, _) = bayespoint::feasible_point(&space, seed(42), &control).expect("separable");
        assert!(space.contains(&point).expect("ok"));
        // The largest margin depends on the lengths. It may be lost to rounding; then the error names them.
        match bayespoint::max_margin(&space, &MarginSettings::default(), &control) {
            Ok(found) => assert!(space.contains(&found.dual).expect("ok")),
            Err(Error::Invalid { name: "gram", wanted, .. }) => assert!(wanted.contains("lengths")),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The certificate of infeasible labels holds for the given lengths.
#[test]
fn certificates_of_uneven_lengths() {
    let mut rng = rng(50);
    let labels: Vec<i8> = (0..40).map(|i| if i % 2 == 0 { 1 } else { -1 }).collect();
    let x: Vec<Vec<f64>> = (0..40)
        .map(|i| {
            let scale = 10f64.powf(10.0 * (f64::from(i) / 39.0 - 0.5));
            normals(4, &mut rng).iter().map(|x| x * scale).collect()
        })
        .collect();
    let problem = Problem::new(x, labels);
    let error = bayespoint::run(&problem.space(), &Settings::default(), &Control::new())
        .expect_err("not separable");
    let Error::Infeasible { certificate, margin_bound, violations, .. } = error else {
        panic!("{error}")
    };
    assert!((1..=20).contains(&violations), "{violations}");
    assert!(problem.check_certificate(&certificate) < 1e-6 && margin_bound < 1e-6);
    // The same weights prove it for vectors of unit length, up to the square root of rounding.
    let lengths: Vec<f64> = problem.x.iter().map(|x| dot(x, x).sqrt()).collect();
    let total: f64 = certificate.iter().zip(&lengths).map(|(a, l)| a * l).sum();
    let combination = problem.weight(&problem.signed(&certificate));
    let length = dot(&combination, &combination).sqrt() / total;
    assert!(length < 1e-6, "{length}");
}

#[test]
fn permuting_the_examples_permutes_the_result() {
    let original = taught(40, 8, 12);
    let order: Vec<usize> = (0..40).map(|i| (i * 17 + 3) % 40).collect();
    let permuted = Problem::new(
        order.iter().map(|&i| original.x[i].clone()).collect(),
        order.iter().map(|&i| original.labels[i]).collect(),
    );
    let permute = |dual: &[f64]| order.iter().map(|&i| dual[i]).collect();
    check_same_path((&original, &permuted), permute, |k| order[k], 1e-9);
}

#[test]
fn flipping_all_labels_or_all_signs_mirrors_the_result() {
    let original = taught(40, 8, 13);
    let flipped = original.labels.iter().map(|y| -y).collect();
    let flipped = Problem::new(original.x.clone(), flipped);
    // To the bit.
    check_same_path((&original, &flipped), times(&[-1.0; 40]), |i| i, 0.0);
    // The examples (x, y) and (-x, -y) have the same plane and side.
    let signs: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { -1.0 } else { 1.0 }).collect();
    check_same_path((&original, &scaled(&original, &signs)), times(&signs), |i| i, 1e-12);
}

/// The impulses, the jumps of refreshes and the ends of the path add up to the arc integral (momentum identity).
#[test]
fn impulses_and_ends_give_the_arc_integral() {
    let problem = taught(60, 10, 14);
    let space = problem.space();
    let mut ball = ball(&space, &start(&space, 14));
    let before = ball.direction();
    let mut impulses = vec![0.0; 60];
    for _ in 0..5000 {
        let (plane, impulse) = ball.reflect(space.gram());
        assert!(impulse * f64::from(problem.labels[plane]) > 0.0);
        impulses[plane] += impulse;
    }
    let after = ball.direction();
    let total: Vec<f64> = (0..60).map(|i| impulses[i] + before[i] - after[i]).collect();
    assert_close(&problem.weight(&total), &problem.weight(&ball.take_arc_integral()), 1e-9);
}
