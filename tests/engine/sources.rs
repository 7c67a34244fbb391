//! Every source of Gram rows against the matrix in memory.

use std::sync::Arc;

use bayespoint::dynamics::Motion;
use bayespoint::pass;
use bayespoint::{
    Ball, Control, CorrelationSettings, Error, EvidenceSettings, Gram, Kernel, KernelRows,
    MarginSettings, Mirror, OnionMethod, OnionOutcome, OnionSettings, RefreshChoice, Settings,
    Stored, VersionSpace, correlation, evidence, feasible_point, max_margin, one_way, onion,
    perceptron_point,
};
use ndarray::s;
use pulp::Arch;

use crate::common::{assert_same, dot, dual_angle, normals, rng, run, seed, size, space_of};

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

fn rows(x: &[f64], m: usize, kernel: Kernel, cached: usize) -> Arc<KernelRows> {
    Arc::new(KernelRows::new(x, m, kernel, 1.0, cached).expect("good inputs"))
}

/// Returns the matrix of computed rows.
fn matrix(rows: &KernelRows) -> Vec<f64> {
    let m = rows.len();
    let mut matrix = vec![0.0; m * m];
    matrix.chunks_mut(m).enumerate().for_each(|(i, row)| rows.compute(i, row));
    matrix
}

fn dense<'a, E: Stored>(matrix: &'a [E], labels: &[i8], softness: f64) -> VersionSpace<'a> {
    space_of(Gram::new(matrix, 0.5, vec![softness; labels.len()]), labels)
}

fn computed(rows: &Arc<KernelRows>, labels: &[i8], softness: f64) -> VersionSpace<'static> {
    space_of(Gram::computed(Arc::clone(rows), 0.5, vec![softness; labels.len()]), labels)
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

const KERNELS: [Kernel; 2] =
    [Kernel::Rbf { sigma: 2.0 }, Kernel::Polynomial { degree: 3, coef0: 1.0 }];

/// Runs on rows computed on demand have the bits of runs on their matrix, for every size of the cache, number of threads, dynamics
/// and transparency.
#[test]
fn computed_rows_give_the_run_of_the_matrix() {
    let m = 90;
    let (x, labels) = inputs(m, 4, 1);
    for (k, kernel) in KERNELS.into_iter().enumerate() {
        let matrix = matrix(&rows(&x, m, kernel, 1));
        let space = dense(&matrix, &labels, 0.1);
        let settings = |n_threads: usize| Settings {
            n_trajectories: 3,
            n_draws: 20,
            length: Some(size(30.0, 300.0)),
            tol: None,
            refresh: RefreshChoice::Pair(None),
            n_threads,
            seed: seed(k as u64),
            ..Settings::default()
        };
        let soft = Mirror::new(0.0, 0.2).expect("in range");
        let variants = [
            Settings { ..settings(1) },
            Settings { mirror: soft, ..settings(1) },
            Settings { refresh: RefreshChoice::None, ..settings(1) },
            Settings {
                motion: Motion::Chord { tau_max: 1e6, weight_tol: None },
                refresh: RefreshChoice::None,
                ..settings(1)
            },
        ];
        for variant in variants {
            let of_matrix = run(&space, &variant);
            for (cached, n_threads) in [(1, 1), (m / 4, 2), (m, 3)] {
                let space = computed(&rows(&x, m, kernel, cached), &labels, 0.1);
                let settings = Settings { n_threads, ..variant.clone() };
                assert_same(&of_matrix, &run(&space, &settings), &format!("{kernel:?}, {cached}"));
            }
        }
    }
}

/// The same for the searches for a point, the maximal margin and the projected onion.
#[test]
fn computed_rows_give_the_points_of_the_matrix() {
    let m = 70;
    let (x, labels) = inputs(m, 4, 2);
    for kernel in KERNELS {
        let matrix = matrix(&rows(&x, m, kernel, 1));
        let spaces =
            [dense(&matrix, &labels, 0.01), computed(&rows(&x, m, kernel, 9), &labels, 0.01)];
        let control = Control::new();
        let [a, b] = spaces.each_ref().map(|space| {
            let margin = max_margin(space, &MarginSettings::default(), &control).expect("feasible");
            let (trapped, _) = feasible_point(space, seed(2), &control).expect("feasible");
            let one_way = one_way(space, seed(2), &control).expect("feasible").dual;
            let learned = perceptron_point(space, 1000, &control).expect("feasible");
            let margins = space.margins(&margin.dual).expect("one per example");
            [margin.dual, margins, trapped, one_way, learned]
        });
        for (k, (a, b)) in a.iter().zip(&b).enumerate() {
            assert!(bits(a) == bits(b), "{kernel:?}, vector {k}");
        }
    }
}

/// The layers of the projected onion have the same centers. (Not the same bits: rows on demand may have other refreshes.)
#[test]
fn computed_rows_give_the_onion_of_the_matrix() {
    let m = 70;
    let (x, labels) = inputs(m, 4, 10);
    let source = rows(&x, m, KERNELS[0], 9);
    let matrix = matrix(&source);
    let (whole, thin) = (dense(&matrix, &labels, 0.1), computed(&source, &labels, 0.1));
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

/// Singles give the bits of doubles with the same values, factors and evidence included.
#[test]
fn singles_give_what_their_doubles_give() {
    let m = 60;
    let (x, labels) = inputs(m, 4, 3);
    #[allow(clippy::cast_possible_truncation, reason = "that is the point")]
    let singles: Vec<f32> = matrix(&rows(&x, m, KERNELS[0], 1)).iter().map(|&x| x as f32).collect();
    let doubles: Vec<f64> = singles.iter().map(|&x| f64::from(x)).collect();
    let (narrow, wide) = (dense(&singles, &labels, 0.1), dense(&doubles, &labels, 0.1));
    for refresh in
        [RefreshChoice::Auto, RefreshChoice::Pair(Some(5.0)), RefreshChoice::Full(Some(1.0))]
    {
        for mirror in [Mirror::HARD, Mirror::new(0.0, 0.2).expect("in range")] {
            let settings = Settings {
                n_draws: 10,
                length: Some(20.0),
                tol: None,
                refresh,
                mirror,
                seed: seed(3),
                ..Settings::default()
            };
            assert_same(&run(&narrow, &settings), &run(&wide, &settings), "singles");
        }
    }
    let settings = EvidenceSettings { tol: 0.5, seed: seed(4), ..EvidenceSettings::default() };
    let [a, b] = [&narrow, &wide].map(|space| {
        let found = evidence(space, &settings, &Control::new()).expect("feasible");
        let margin =
            max_margin(space, &MarginSettings::default(), &Control::new()).expect("feasible");
        [found.values, found.errors, margin.dual].concat()
    });
    assert!(bits(&a) == bits(&b));
}

/// Explicit features give the same path as the matrix, for as long as rounding allows, and the same center.
#[test]
fn features_of_low_rank_give_the_billiard_of_their_matrix() {
    let (m, r) = (300, 8);
    let mut rng = rng(5);
    let x = normals(m * r, &mut rng);
    let labels = linear_labels(&x, &normals(r, &mut rng), 0.0);
    let source = rows(&x, m, Kernel::Linear, 20);
    let matrix = matrix(&source);
    let (whole, thin) = (dense(&matrix, &labels, 0.0), computed(&source, &labels, 0.0));
    let control = Control::new();
    let (start, _) = feasible_point(&whole, seed(5), &control).expect("separable");
    let direction = normals(m, &mut rng);
    let mut balls = [&whole, &thin]
        .map(|space| Ball::new(space.gram(), &start, &direction, &control).expect("a tangent"));
    for bounce in 0..40 {
        let [a, b] = &mut balls;
        assert_eq!(a.reflect(whole.gram()).plane, b.reflect(thin.gram()).plane, "bounce {bounce}");
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
            assert_eq!(own.plane, other.plane, "event {event}");
            assert!((own.impulse - other.impulse).abs() < 1e-7, "event {event}");
        }
    }
}

/// A ball with a neighbor list meets the same walls as one that checks all: with bounces, crossings, refreshes and flights, with
/// and without softness, inside and outside version space.
#[test]
fn near_walls_are_the_walls_that_are_met() {
    let (m, r) = (3000, 6);
    let control = Control::new();
    // Crossings inside too, as under label noise. A larger softness has no list.
    for (index, softness, inside, crosses) in [
        (20, 0.0, true, false),
        (21, 0.0, false, true),
        (22, 1e-6, true, false),
        (23, 1e-4, true, true),
        (24, 0.0, true, true),
        (25, 0.5, false, true),
    ] {
        let mut n_near = 0;
        let mut rng = rng(index);
        let x = normals(m * r, &mut rng);
        let labels = linear_labels(&x, &normals(r, &mut rng), 0.2);
        let space = computed(&rows(&x, m, Kernel::Linear, 64), &labels, softness);
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
            n_near += i32::from(near.uses_neighbors());
            assert_twins(&mut near, &mut all, gram, event, crosses);
        }
        let often = 2 * n_near > size(2000, 20_000);
        assert!(softness > 0.1 || often, "softness {softness}, inside {inside}: {n_near}");
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
    let space = computed(&rows(&x, m, Kernel::Linear, 64), &labels, softness);
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

/// Coinciding inputs of both labels behind half-silvered walls.
#[test]
fn coinciding_inputs_are_one_plane() {
    let point = normals(30, &mut rng(8));
    let x: Vec<f64> = point.iter().chain(&point).copied().collect();
    let labels: Vec<i8> = (0..20).map(|i| if i % 3 == 0 { 1 } else { -1 }).collect();
    for kernel in KERNELS {
        let source = rows(&x, 20, kernel, 3);
        let matrix = matrix(&source);
        let settings = Settings {
            mirror: Mirror::new(0.4, 0.3).expect("in range"),
            n_draws: 5,
            length: Some(20.0),
            tol: None,
            refresh: RefreshChoice::Pair(Some(3.0)),
            seed: seed(8),
            ..Settings::default()
        };
        let [a, b] = [dense(&matrix, &labels, 0.0), computed(&source, &labels, 0.0)]
            .map(|space| run(&space, &settings));
        assert_same(&a, &b, "coinciding inputs");
    }
}

#[test]
fn a_factor_of_computed_rows_is_refused() {
    let (x, labels) = inputs(40, 4, 9);
    let space = computed(&rows(&x, 40, KERNELS[0], 9), &labels, 0.1);
    let control = Control::new();
    let refused = |result: Result<(), Error>| match result {
        Err(error @ Error::Invalid { name: "gram", .. }) => {
            assert!(error.to_string().contains("must be a matrix in memory"), "{error}");
        }
        other => panic!("{other:?}"),
    };
    for settings in [
        Settings { refresh: RefreshChoice::Full(None), ..Settings::default() },
        Settings {
            motion: Motion::Scattered { cosine: true, scatterer: None },
            ..Settings::default()
        },
    ] {
        refused(bayespoint::run(&space, &settings, &control).map(|_| ()));
    }
    refused(evidence(&space, &EvidenceSettings::default(), &control).map(|_| ()));
    refused(onion(&space, &OnionSettings::default(), &control).map(|_| ()));
    refused(correlation(&space, &CorrelationSettings::default(), &control).map(|_| ()));
    // `Auto` computes the rows for a factor where that is cheap.
    let outcome = run(&space, &Settings { seed: seed(9), ..Settings::default() });
    assert_eq!(outcome.refresh.name, "full");
}
