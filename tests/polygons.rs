//! Spherical polygons, whose centroid is known exactly.

mod common;

use bayespoint::{RefreshChoice, Settings};
use common::{Problem, angle, dot, mean_and_error, normals, rng, run, seed, size, unit};

const POLYGONS: u64 = 4;

fn polygon(index: u64) -> Problem {
    let mut rng = rng(100 + index);
    let teacher = normals(3, &mut rng);
    Problem::taught(10, &teacher, 0.0, &mut rng)
}

fn settings(refresh: RefreshChoice, max_bounces: u64, seed: u64) -> Settings {
    Settings {
        tol: None,
        max_bounces: Some(max_bounces),
        n_draws: 10,
        refresh,
        seed,
        n_threads: 2,
        ..Settings::default()
    }
}

const PAIRS: RefreshChoice = RefreshChoice::Pair(Some(3.0));
const FULL: RefreshChoice = RefreshChoice::Full(Some(1.0));

/// The two coordinates of a direction across the exact centroid.
fn deviation(exact: &[f64], direction: &[f64]) -> [f64; 2] {
    let axis = if exact[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let first = unit(common::cross(exact, &axis));
    let second = common::cross(exact, &first);
    let direction = unit(direction.to_vec());
    [dot(&direction, &first), dot(&direction, &second)]
}

#[test]
fn arc_and_impulse_centers_are_unbiased() {
    let runs = size(8, 40);
    for index in 0..POLYGONS {
        let problem = polygon(index);
        let (space, exact) = (problem.space(), problem.polygon_centroid());
        for refresh in [PAIRS, FULL] {
            let outcomes: Vec<_> = (0..runs)
                .map(|k| run(&space, &settings(refresh, 25_000, seed(1000 * index + k))))
                .collect();
            for (k, outcome) in outcomes.iter().enumerate() {
                let off = angle(&exact, &problem.weight(&outcome.center));
                assert!(
                    off <= 4.0 * outcome.center_error,
                    "polygon {index}, {refresh:?}, run {k}: {off} rad off, reported {}",
                    outcome.center_error
                );
            }
            let arc: Vec<_> =
                outcomes.iter().map(|o| deviation(&exact, &problem.weight(&o.center))).collect();
            let impulse: Vec<_> = outcomes
                .iter()
                .map(|o| deviation(&exact, &problem.weight(&o.impulse_center)))
                .collect();
            for (name, deviations) in [("arc", arc), ("impulse", impulse)] {
                for axis in 0..2 {
                    let values: Vec<f64> = deviations.iter().map(|d| d[axis]).collect();
                    let (bias, error) = mean_and_error(&values);
                    // Student's t with 7 degrees of freedom, 32 comparisons: 6.5 errors are one chance in 100.
                    assert!(
                        bias.abs() <= 6.5 * error,
                        "polygon {index}, {refresh:?}, {name}: {bias} ± {error}"
                    );
                }
            }
        }
    }
}

#[test]
fn arc_center_is_exact_to_2e_3_at_a_million_bounces() {
    for index in 0..POLYGONS {
        let problem = polygon(index);
        let (space, exact) = (problem.space(), problem.polygon_centroid());
        for refresh in [PAIRS, FULL] {
            let outcome = run(&space, &settings(refresh, 250_000, seed(7 + index)));
            let off = angle(&exact, &problem.weight(&outcome.center));
            assert!(off < 2e-3 && off <= 4.0 * outcome.center_error, "polygon {index}: {off}");
        }
    }
}

/// Without refresh the billiard of a polygon is not ergodic: each trajectory has a center of its own, far further from the
/// exact one than with refresh. Documents why `refresh` is not off by default.
#[test]
fn without_refresh_single_trajectories_are_biased() {
    let off = |refresh, index: u64, k: u64| {
        let problem = polygon(index);
        let settings =
            Settings { n_trajectories: 1, ..settings(refresh, 400_000, seed(50 * index + k)) };
        let outcome = run(&problem.space(), &settings);
        angle(&problem.polygon_centroid(), &problem.weight(&outcome.center))
    };
    let all = |refresh| -> Vec<f64> {
        (0..POLYGONS)
            .flat_map(|i| (0..4).map(move |k| (i, k)))
            .map(|(i, k)| off(refresh, i, k))
            .collect()
    };
    let (bare, refreshed) = (common::rms(&all(RefreshChoice::None)), common::rms(&all(PAIRS)));
    assert!(bare > 4.0 * refreshed, "bare {bare}, with pairs {refreshed}");
}
