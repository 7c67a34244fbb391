//! Every source of Gram rows against the matrix in memory.

use bayespoint::pass;
use bayespoint::{
    Ball, Control, Entry, Gram, MarginSettings, OnionMethod, OnionOutcome, OnionSettings,
    RefreshChoice, Settings, VersionSpace, feasible_point, max_margin, one_way, onion,
    perceptron_point,
};
use ndarray::s;
use pulp::Arch;

use crate::common::{dot, dual_angle, normals, rng, run, seed, size, space_of};

/// Inputs in a few dimensions, row-major, and labels with a curved boundary.
fn inputs(m: usize, d: usize, index: u64) -> (Vec<f64>, Vec<i8>) {
    let x = normals(m * d, &mut rng(index));
    let labels =
        x.chunks(d).map(|x| if x[0] + (2.0 * x[1]).sin() / 2.0 > 0.0 { 1 } else { -1 }).collect();
    (x, labels)
}

fn linear_labels(x: &[f64], teacher: &[f64], threshold: f64) -> Vec<i8> {
    let rows = x.chunks(teacher.len());
    rows.map(|x| if dot(x, teacher) > threshold { 1 } else { -1 }).collect()
}

/// Returns the matrix of explicit features.
fn matrix(x: &[f64], d: usize) -> Vec<f64> {
    x.chunks(d).flat_map(|a| x.chunks(d).map(move |b| dot(a, b))).collect()
}

fn dense<'a, E: Entry>(matrix: &'a [E], labels: &[i8], softness: f64) -> VersionSpace<'a> {
    space_of(Gram::new(matrix, 0.5, vec![softness; labels.len()]), labels)
}

fn features(x: &[f64], d: usize, labels: &[i8], softness: f64) -> VersionSpace<'static> {
    space_of(Gram::of_features(x, d, 0.5, vec![softness; labels.len()]), labels)
}

/// Searches for a point end inside, and find the maximal margin of the matrix.
#[test]
fn features_give_the_points_of_their_matrix() {
    let (m, d) = (70, 4);
    let (x, labels) = inputs(m, d, 2);
    let matrix = matrix(&x, d);
    let spaces = [dense(&matrix, &labels, 0.01), features(&x, d, &labels, 0.01)];
    let control = Control::new();
    let margins = spaces.each_ref().map(|space| {
        let margin = max_margin(space, &MarginSettings::default(), &control).expect("feasible");
        let (trapped, _) = feasible_point(space, seed(2), &control).expect("feasible");
        let one_way = one_way(space, seed(2), &control).expect("feasible").dual;
        let learned = perceptron_point(space, 1000, &control).expect("feasible");
        for point in [&margin.dual, &trapped, &one_way, &learned] {
            assert!(spaces.iter().all(|space| space.contains(point).expect("one per example")));
        }
        margin.margin
    });
    assert!((margins[0] - margins[1]).abs() <= 1e-6 * margins[0], "{margins:?}");
}

/// The layers of the projected onion have the same centers.
#[test]
fn features_give_the_onion_of_their_matrix() {
    let (m, d) = (70, 4);
    let (x, labels) = inputs(m, d, 10);
    let matrix = matrix(&x, d);
    let (whole, thin) = (dense(&matrix, &labels, 0.1), features(&x, d, &labels, 0.1));
    let onion_of = |space: &VersionSpace<'_>, index: u64| {
        let settings = OnionSettings {
            max_errors: [1, 1],
            method: OnionMethod::Projected,
            tol: size(0.05, 0.02),
            seed: seed(index),
            ..OnionSettings::default()
        };
        onion(space, &settings, &Control::new()).expect("feasible")
    };
    let (a, b) = (onion_of(&whole, 11), onion_of(&thin, 12));
    for layer in [[0, 0], [0, 1], [1, 0], [1, 1]] {
        let center = |of: &OnionOutcome| of.centers.slice(s![layer[0], layer[1], ..]).to_vec();
        let apart = dual_angle(&whole, &center(&a), &center(&b));
        let error = a.errors[layer].hypot(b.errors[layer]);
        assert!(apart < 4.0 * error, "layer {layer:?}: {apart} {error}");
    }
}

/// Explicit features give the same path as the matrix, for as long as rounding allows, and the same center.
#[test]
fn features_of_low_rank_give_the_billiard_of_their_matrix() {
    let (m, r) = (300, 8);
    let mut rng = rng(5);
    let x = normals(m * r, &mut rng);
    let labels = linear_labels(&x, &normals(r, &mut rng), 0.0);
    let matrix = matrix(&x, r);
    let (whole, thin) = (dense(&matrix, &labels, 0.0), features(&x, r, &labels, 0.0));
    let control = Control::new();
    let (start, _) = feasible_point(&whole, seed(5), &control).expect("separable");
    let direction = normals(m, &mut rng);
    let mut balls = [&whole, &thin]
        .map(|space| Ball::new(space.gram(), &start, &direction, &control).expect("a tangent"));
    for bounce in 0..40 {
        let [a, b] = &mut balls;
        assert_eq!(a.reflect(whole.gram()).0, b.reflect(thin.gram()).0, "bounce {bounce}");
        for (f, g) in a.f().iter().zip(b.f()) {
            assert!((f - g).abs() < 1e-6, "bounce {bounce}: {f} {g}");
        }
        b.reproject(thin.gram(), &control).expect("keeps its norms");
    }
    let settings = Settings {
        length: Some(size(100.0, 1000.0)),
        tol: None,
        refresh: RefreshChoice::Pair(None),
        n_threads: 2,
        ..Settings::default()
    };
    let a = run(&whole, &Settings { seed: seed(6), ..settings.clone() });
    let b = run(&thin, &Settings { seed: seed(7), ..settings });
    assert!(thin.contains(&b.center.dual).expect("one per example"));
    let apart = dual_angle(&whole, &a.center.dual, &b.center.dual);
    assert!(apart < 4.0 * a.center.error.hypot(b.center.error), "{apart} {}", a.center.error);
    assert!(b.drift < 1e-9, "{}", b.drift);
}

/// Applies an event to a ball with a neighbor list, and to its twin that checks all walls.
fn assert_twins(near: &mut Ball, all: &mut Ball, gram: &Gram<'_>, event: usize, crosses: bool) {
    let flight = all.to_wall();
    let pair = (event % gram.len(), (event + 1 + event % 11) % gram.len());
    match event % 7 {
        // In every other block of 50 events most walls are crossed.
        0..=3 if crosses && (event % 7 == 3 || event / 50 % 2 == 1) => {
            assert_eq!(near.cross(gram), all.cross(gram), "event {event}");
        }
        4 => {
            let done = near.refresh_pair(gram, 0.5 * flight, pair);
            assert_eq!(done, all.refresh_pair(gram, 0.5 * flight, pair));
        }
        5 => [near, all].into_iter().for_each(|ball| ball.fly(gram, 0.3 * flight)),
        _ => {
            let (own, other) = (near.reflect(gram), all.reflect(gram));
            assert_eq!(own.0, other.0, "event {event}");
            assert!((own.1 - other.1).abs() < 1e-7, "event {event}");
        }
    }
}

/// A ball with a neighbor list meets the same walls as one that checks all: with bounces, crossings, refreshes and flights, with
/// and without softness, inside and outside version space.
#[test]
fn near_walls_are_the_walls_that_are_met() {
    let (m, r) = (3000, 6);
    let control = Control::new();
    // Crossings inside too, as under label noise.
    for (index, softness, inside, crosses) in [
        (20, 0.0, true, false),
        (21, 0.0, false, true),
        (22, 1e-6, true, false),
        (23, 1e-4, true, true),
        (24, 0.0, true, true),
        (25, 0.5, false, true),
    ] {
        let mut rng = rng(index);
        let x = normals(m * r, &mut rng);
        let labels = linear_labels(&x, &normals(r, &mut rng), 0.2);
        let space = features(&x, r, &labels, softness);
        let gram = space.gram();
        let start = if inside {
            feasible_point(&space, seed(index), &control).expect("separable").0
        } else {
            normals(m, &mut rng)
        };
        let mut near = Ball::new(gram, &start, &normals(m, &mut rng), &control).expect("a tangent");
        let mut all = near.clone();
        for event in 0..size(2000, 20_000) {
            let at = format!("softness {softness}, inside {inside}, event {event}");
            // Rounding errors grow: restart the twin from the same ball.
            if event % 50 == 0 {
                assert!(near.reproject(gram, &control).expect("keeps its norms") < 1e-9, "{at}");
                near.use_all_planes(gram);
                all = near.clone();
                near.use_neighbors(gram);
            }
            assert_eq!(near.next_wall().plane, all.next_wall().plane, "{at}");
            let watched = (7919 * event) % m;
            let (f, g) = near.coordinates(gram, watched);
            let (all_f, all_g) = (all.f()[watched], all.g()[watched]);
            assert!((f - all_f).abs() < 1e-8 && (g - all_g).abs() < 1e-8, "{at}");
            assert_eq!(f.is_sign_negative(), all_f.is_sign_negative(), "{at}");
            assert!(near.uses_neighbors(), "{at}");
            assert_twins(&mut near, &mut all, gram, event, crosses);
        }
    }
}

/// The list is rebuilt many times along a path. A full check never finds a wall before the next one.
#[test]
fn no_wall_is_overlooked() {
    [0.0, 1e-5].into_iter().for_each(assert_no_wall_is_overlooked);
}

fn assert_no_wall_is_overlooked(softness: f64) {
    let (m, r) = (2000, 5);
    let mut rng = rng(24);
    let x = normals(m * r, &mut rng);
    let labels = linear_labels(&x, &normals(r, &mut rng), 0.0);
    let space = features(&x, r, &labels, softness);
    let gram = space.gram();
    let control = Control::new();
    let (start, _) = feasible_point(&space, seed(24), &control).expect("separable");
    let mut ball = Ball::new(gram, &start, &normals(m, &mut rng), &control).expect("a tangent");
    ball.use_neighbors(gram);
    for event in 0..size(20_000, 200_000) {
        let next = ball.next_wall();
        assert!(ball.uses_neighbors(), "event {event}");
        // After some thousand events in a row the list is centered at the mean of the positions.
        if event % 4000 < 3000 {
            ball.reflect(gram);
            continue;
        }
        let mut whole = ball.clone();
        whole.use_all_planes(gram);
        let (mut f, mut g) = (whole.f().to_vec(), whole.g().to_vec());
        let first = pass::advance::<f64>(Arch::new(), &mut f, &mut g, (1.0, 0.0), &[], 0.0);
        assert!((first.angle() - next.angle()).abs() <= 1e-12, "event {event}: {first:?} {next:?}");
        assert!(space.labels().iter().zip(&f).all(|(y, f)| f.is_sign_positive() == (*y > 0)));
        if event % 5 == 4 {
            ball.refresh_pair(gram, 0.5 * next.angle(), (event % m, (event + 17) % m));
        } else {
            ball.reflect(gram);
        }
        if event % 8000 == 7999 {
            assert!(ball.reproject(gram, &control).expect("keeps its norms") < 1e-9);
        }
    }
}
