//! Centers of spherical polygons, whose centroid is known exactly.

use bayespoint::papers::motions::Motion;
use bayespoint::{RefreshChoice, Settings};

use crate::common::{angle, cross, dot, fly, mean_and_error, rms, run, seed, size, taught, unit};
use crate::scattered::{BOTH, COSINE, SPHERE, settings};

const PAIRS: RefreshChoice = RefreshChoice::Pair(Some(3.0));
const FULL: RefreshChoice = RefreshChoice::Full(Some(1.0));

/// Largest deviation in standard errors: Student's t with 11 degrees of freedom exceeds it once in 10 000 comparisons.
pub const ALLOWED: f64 = 6.0;

/// Returns the two coordinates of a direction orthogonal to the exact centroid.
fn deviation(exact: &[f64], direction: &[f64]) -> [f64; 2] {
    let axis = if exact[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let first = unit(cross(exact, &axis));
    let second = cross(exact, &first);
    let direction = unit(direction.to_vec());
    [dot(&direction, &first), dot(&direction, &second)]
}

/// Returns the largest bias of independent centers orthogonal to the exact one, in standard errors.
pub fn bias(exact: &[f64], centers: &[Vec<f64>]) -> f64 {
    let deviations: Vec<_> = centers.iter().map(|center| deviation(exact, center)).collect();
    (0..2)
        .map(|axis| {
            let values: Vec<f64> = deviations.iter().map(|d| d[axis]).collect();
            let (bias, error) = mean_and_error(&values);
            bias.abs() / error
        })
        .fold(0.0, f64::max)
}

/// Checks the centers from the arcs and from the impulses of twelve independent runs, without a motion on great circles.
fn check_centers(index: u64, motion: Option<Motion>, refresh: RefreshChoice) {
    let problem = taught(10, 3, 100 + index);
    let (space, exact) = (problem.space(), problem.polygon_centroid());
    let (mut arcs, mut impulses) = (Vec::new(), Vec::new());
    for k in 0..size(12, 48) {
        let settings = settings(refresh, 10_000, seed(1000 * index + k));
        let outcome = match motion {
            None => run(&space, &settings),
            Some(motion) => {
                let flight = fly(&space, motion, &settings);
                let with_sphere = [SPHERE, BOTH].contains(&motion);
                assert_eq!(flight.scatterings.iter().sum::<u64>() > 0, with_sphere);
                assert_eq!(flight.scatterer.is_some(), with_sphere);
                flight.run
            }
        };
        assert!(outcome.drift < 1e-9, "{}", outcome.drift);
        arcs.push(problem.weight(&outcome.center.dual));
        impulses.push(problem.weight(&outcome.center.impulse));
    }
    let total = (0..3).map(|k| arcs.iter().map(|center| center[k]).sum()).collect::<Vec<f64>>();
    let off = angle(&exact, &total);
    let (arc, impulse) = (bias(&exact, &arcs), bias(&exact, &impulses));
    let case = format!("polygon {index}, {motion:?}, {refresh:?}");
    println!("{case}: arcs {arc:.2}, impulses {impulse:.2} errors off; {off:.1e} rad");
    assert!(arc < ALLOWED && impulse < ALLOWED, "{case}: {arc} {impulse}");
    // Half a million bounces.
    assert!(motion.is_some() || off < 2e-3, "{case}: {off} rad");
}

#[test]
fn centers_are_unbiased() {
    for index in 0..2 {
        for (motion, refresh) in [(None, PAIRS), (None, FULL), (Some(COSINE), RefreshChoice::None)]
        {
            check_centers(index, motion, refresh);
        }
    }
}

/// Without the sphere alone, which mixes too slowly for runs of this length.
#[test]
#[ignore = "long: make test-all"]
fn centers_of_scattered_trajectories_are_unbiased() {
    for index in 2..4 {
        for (motion, refresh) in
            [(COSINE, PAIRS), (SPHERE, PAIRS), (BOTH, RefreshChoice::None), (BOTH, PAIRS)]
        {
            check_centers(index, Some(motion), refresh);
        }
    }
}

/// Without refresh the billiard of a polygon is not ergodic, and single trajectories are far off: the reason for the default.
#[test]
#[ignore = "long: make test-all"]
fn without_refresh_single_trajectories_are_biased() {
    let off = |refresh| -> f64 {
        let each = (0..4).flat_map(|index| (0..4).map(move |k| (index, k)));
        let off = each.map(|(index, k)| {
            let problem = taught(10, 3, 100 + index);
            let settings = settings(refresh, 400_000, seed(50 * index + k));
            let outcome = run(&problem.space(), &Settings { n_trajectories: 1, ..settings });
            angle(&problem.polygon_centroid(), &problem.weight(&outcome.center.dual))
        });
        rms(&off.collect::<Vec<f64>>())
    };
    let (bare, refreshed) = (off(RefreshChoice::None), off(PAIRS));
    assert!(bare > 4.0 * refreshed, "bare {bare}, with pairs {refreshed}");
}
