//! The reported error of the center is its true error, and the pilot's refresh is near the best one.

mod common;

use bayespoint::{Outcome, RefreshChoice, Settings, VersionSpace};
use common::{Problem, dual_angle, normals, rms, rng, run, seed, size, space, unit};

/// Root mean square of the true angles to a long run's center, over that of the reported ones.
fn honesty(name: &str, space: &VersionSpace<'_>, settings: &Settings) {
    let repetitions = size(50, 200);
    let outcomes: Vec<Outcome> = (0..repetitions)
        .map(|k| run(space, &Settings { seed: seed(1000 + k), ..settings.clone() }))
        .collect();
    let reported: Vec<f64> = outcomes.iter().map(|outcome| outcome.center_error).collect();
    let long = Settings {
        length: None,
        tol: Some(0.15 * rms(&reported)),
        max_bounces: None,
        n_trajectories: 8,
        seed: seed(99),
        n_threads: 2,
        ..settings.clone()
    };
    let exact = run(space, &long);
    let off: Vec<f64> =
        outcomes.iter().map(|outcome| dual_angle(space, &outcome.center, &exact.center)).collect();
    let (off, reported) = (rms(&off), rms(&reported));
    println!(
        "{name}: true {off:.4}, reported {reported:.4}, ratio {:.2}, long run {:.4}",
        off / reported,
        exact.center_error
    );
    assert!(exact.center_error < 0.3 * off, "{name}: the long run is not long");
    assert!((1.0 / 1.5..1.5).contains(&(off / reported)), "{name}: {off} against {reported}");
}

fn settings(length: f64) -> Settings {
    Settings { length: Some(length), tol: None, n_draws: 1, ..Settings::default() }
}

#[test]
fn nearly_orthogonal_cone() {
    let mut rng = rng(1);
    let x: Vec<Vec<f64>> = (0..40)
        .map(|i| {
            let mut x: Vec<f64> = normals(40, &mut rng).iter().map(|z| 0.03 * z).collect();
            x[i] += 1.0;
            x
        })
        .collect();
    let problem = Problem::new(x, (0..40).map(|i| if i % 2 == 0 { 1 } else { -1 }).collect());
    honesty("nearly orthogonal", &problem.space(), &settings(60.0));
}

#[test]
fn correlated_cone() {
    let (gram, labels) = common::rbf(150, 5.0, 2);
    honesty("correlated", &space(&gram, &labels, 0.1), &settings(30.0));
}

#[test]
fn teacher_problem() {
    let mut rng = rng(3);
    let teacher = unit(normals(20, &mut rng));
    let problem = Problem::taught(100, &teacher, 0.0, &mut rng);
    honesty("teacher", &problem.space(), &settings(15.0));
}

#[test]
fn one_trajectory() {
    let mut rng = rng(4);
    let teacher = unit(normals(10, &mut rng));
    let problem = Problem::taught(50, &teacher, 0.0, &mut rng);
    honesty("one trajectory", &problem.space(), &Settings { n_trajectories: 1, ..settings(60.0) });
}

#[test]
fn few_dimensions() {
    let mut rng = rng(5);
    let teacher = unit(normals(3, &mut rng));
    let problem = Problem::taught(10, &teacher, 0.0, &mut rng);
    honesty("polygon", &problem.space(), &settings(100.0));
}

/// What a tolerance promises, it keeps.
#[test]
fn runs_to_a_tolerance() {
    let (gram, labels) = common::rbf(150, 2.0, 6);
    let settings = Settings { tol: Some(0.1), n_draws: 1, ..Settings::default() };
    honesty("to 0.1 rad", &space(&gram, &labels, 0.1), &settings);
}

/// Work in bounces, refreshes counted by what they cost.
fn work(outcome: &Outcome, m: usize) -> f64 {
    let cost = match outcome.refresh {
        "full" => 3.0 + 0.3 * m as f64,
        "pair" => 1.3,
        _ => 0.0,
    };
    outcome.bounces.iter().sum::<u64>() as f64 + cost * outcome.refreshes.iter().sum::<u64>() as f64
}

/// Squared error times work of a fixed refresh: the spread of the centers of independent runs.
fn price(space: &VersionSpace<'_>, refresh: RefreshChoice, bounces: u64, salt: u64) -> f64 {
    // One long run gives the spread of many short ones: pieces of its trajectories far apart.
    let settings = Settings {
        n_trajectories: 12,
        n_draws: 1,
        tol: None,
        max_bounces: Some(bounces),
        refresh,
        seed: seed(salt),
        n_threads: 2,
        ..Settings::default()
    };
    let outcome = run(space, &settings);
    outcome.center_error.powi(2) * work(&outcome, space.len())
}

#[test]
fn the_pilot_is_within_a_factor_two_of_the_best() {
    let m = 400;
    for sigma in [1.0, 2.0, 5.0] {
        let (gram, labels) = common::rbf(m, sigma, 7);
        let space = space(&gram, &labels, 0.1);
        let bounces = size(10_000, 40_000);
        let per_radian = {
            let gauge = run(&space, &settings(20.0));
            gauge.bounces.iter().sum::<u64>() as f64 / gauge.lengths.iter().sum::<f64>()
        };
        let mut table = vec![("none".to_string(), price(&space, RefreshChoice::None, bounces, 1))];
        for rate in [0.3, 1.0, 4.0] {
            let full = RefreshChoice::Full(Some(rate));
            table.push((format!("full {rate}"), price(&space, full, bounces, 2)));
        }
        for rate in [10.0, 30.0, 100.0, 300.0] {
            let pair = RefreshChoice::Pair(Some(rate));
            table.push((format!("pair {rate}"), price(&space, pair, bounces, 3)));
        }
        let best = table.iter().map(|row| row.1).fold(f64::INFINITY, f64::min);
        // What the pilot chose, priced as the others are; several pilots, since each is a matter of chance.
        let mut chosen = Vec::new();
        for k in 0..4 {
            let pilot = run(&space, &Settings { seed: seed(50 + k), ..settings(20.0) });
            let refresh = match pilot.refresh {
                "full" => RefreshChoice::Full(Some(pilot.refresh_rate)),
                "pair" => RefreshChoice::Pair(Some(pilot.refresh_rate)),
                _ => RefreshChoice::None,
            };
            chosen.push((
                pilot.refresh,
                pilot.refresh_rate,
                price(&space, refresh, bounces, 4 + k) / best,
            ));
        }
        let show: Vec<_> =
            table.iter().map(|(name, price)| format!("{name}: {:.2}", price / best)).collect();
        println!(
            "σ = {sigma}, {per_radian:.0} bounces per radian: {}; chosen {chosen:?}",
            show.join(", ")
        );
        let mean = chosen.iter().map(|c| c.2).sum::<f64>() / chosen.len() as f64;
        assert!(mean < 2.0, "σ = {sigma}: {chosen:?}");
    }
}
