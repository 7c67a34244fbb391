//! The automatic refresh is near the best one and mixes every direction.

use bayespoint::{Outcome, RefreshChoice, Settings, VersionSpace};

use crate::center_error::settings;
use crate::common::{
    Problem, dot, draws, each, mean_and_error, normals, rbf, rng, run, seed, size, space, total,
};

/// Returns the work in bounces, with refreshes weighted by their cost.
fn work(outcome: &Outcome, m: usize) -> f64 {
    let cost = match outcome.refresh {
        "full" => 3.0 + 0.3 * m as f64,
        "pair" => 1.3,
        _ => 0.0,
    };
    total(outcome, |tally| tally.bounces) as f64
        + cost * total(outcome, |tally| tally.refreshes) as f64
}

/// Returns squared error times work of a refresh.
fn price(space: &VersionSpace<'_>, refresh: RefreshChoice, bounces: u64, salt: u64) -> f64 {
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
    outcome.center.error.powi(2) * work(&outcome, space.len())
}

/// Returns the price of the automatic refresh, relative to the best of many.
fn price_of_choice(name: &str, space: &VersionSpace<'_>) -> f64 {
    let bounces = size(10_000, 40_000);
    let gauge = run(space, &settings(20.0));
    let per_radian = total(&gauge, |tally| tally.bounces) as f64
        / each(&gauge, |tally| tally.path).iter().sum::<f64>();
    let mut table = vec![("none".to_string(), price(space, RefreshChoice::None, bounces, 1))];
    for rate in [0.3, 1.0, 4.0] {
        let full = RefreshChoice::Full(Some(rate));
        table.push((format!("full {rate}"), price(space, full, bounces, 2)));
    }
    for share in [0.1, 0.3, 1.5] {
        let pair = RefreshChoice::Pair(Some(share * per_radian));
        table.push((format!("pair {share}"), price(space, pair, bounces, 3)));
    }
    let best = table.iter().map(|row| row.1).fold(f64::INFINITY, f64::min);
    let chosen = match gauge.refresh {
        "full" => RefreshChoice::Full(Some(gauge.refresh_rate)),
        "pair" => RefreshChoice::Pair(Some(gauge.refresh_rate)),
        _ => RefreshChoice::None,
    };
    let prices = (0..4).map(|k| price(space, chosen, bounces, 4 + k) / best);
    let mean = prices.sum::<f64>() / 4.0;
    let show: Vec<_> =
        table.iter().map(|(name, price)| format!("{name}: {:.2}", price / best)).collect();
    println!(
        "{name}, {per_radian:.0} bounces per radian: {}; chosen {} {:.2}: {mean:.2}",
        show.join(", "),
        gauge.refresh,
        gauge.refresh_rate
    );
    mean
}

#[test]
#[ignore = "long: make test-all"]
fn the_choice_is_within_a_factor_two_of_the_best() {
    for sigma in [1.0, 2.0, 5.0] {
        let (gram, labels) = rbf(400, sigma, 7);
        let price = price_of_choice(&format!("σ = {sigma}"), &space(&gram, &labels, 0.1));
        assert!(price < 2.0, "σ = {sigma}: {price}");
    }
}

/// Planes that are orthogonal to all others, alone and beside many that are not. Rare pair refreshes hardly change the path along
/// their normals.
#[test]
fn isolated_planes_get_fresh_directions() {
    for (isolated, others) in [(100, 0), (20, 100)] {
        let m = isolated + others;
        let mut rng = rng(8);
        let (near, mut labels) = rbf(others.max(2), 2.0, 7);
        let mut gram = vec![0.0; m * m];
        for i in 0..others {
            gram[i * m..][..others].copy_from_slice(&near[i * others..][..others]);
        }
        labels.truncate(others);
        labels.extend(normals(isolated, &mut rng).iter().map(|z| if *z > 0.0 { 1i8 } else { -1 }));
        for i in others..m {
            gram[i * m + i] = 1.0;
        }
        let space = space(&gram, &labels, 0.0);
        let found = run(&space, &settings(20.0));
        assert_eq!(found.refresh, "full");
        if others == 0 {
            let price = price_of_choice("isolated", &space);
            assert!(price < 2.0, "{price}");
        }
    }
}

/// With as many dimensions as examples hardly any plane bounds some of them. The norm of the center shows whether they mix. Rare
/// pair refreshes must fail; frequent ones, the choice without a factor, are better.
#[test]
fn as_many_dimensions_as_examples_get_fresh_directions() {
    let to = |tol, refresh, seed| Settings {
        tol: Some(tol),
        refresh,
        seed,
        n_draws: 1,
        ..Settings::default()
    };
    let problems = 12;
    let (mut chosen, mut many, mut wrong) = (0.0, 0.0, 0.0);
    for index in 0..problems {
        let (gram, labels) = rbf(150, 4.0, 40 + index);
        let space = space(&gram, &labels, 0.0);
        let fine = run(&space, &to(0.015, RefreshChoice::Full(None), seed(index)));
        let coarse = |refresh| run(&space, &to(0.08, refresh, seed(100 + index)));
        let auto = coarse(RefreshChoice::Auto);
        assert_eq!(auto.refresh, "full");
        let rare = coarse(RefreshChoice::Pair(None));
        let pairs = coarse(RefreshChoice::Pair(Some(30.0 * rare.refresh_rate)));
        chosen += (auto.center.norm - fine.center.norm) / problems as f64;
        many += (pairs.center.norm - fine.center.norm) / problems as f64;
        wrong += (rare.center.norm - fine.center.norm) / problems as f64;
    }
    assert!(chosen.abs() < 0.03 && wrong > 0.06, "{chosen} {wrong}");
    assert!(many < 0.7 * wrong, "{many} {wrong}");
}

/// Directions along which all feature vectors are short: their share of the squared length of draws is known by rejection. Pair
/// refreshes must fail. A direction with less than 1e-9 of the squared lengths is not refreshed, but must not disturb the others.
#[test]
fn thin_directions_have_their_share() {
    let (m, scales) = (40, [1.0, 0.1, 0.01, 1e-3, 1e-4]);
    let mut rng = rng(11);
    let x: Vec<Vec<f64>> = (0..m)
        .map(|_| normals(5, &mut rng).iter().zip(scales).map(|(z, s)| z * s).collect())
        .collect();
    let labels: Vec<i8> = x.iter().map(|x| if x[0] > 0.0 { 1 } else { -1 }).collect();
    let inside = |w: &[f64]| x.iter().zip(&labels).all(|(x, y)| dot(x, w) * f64::from(*y) > 0.0);
    let share = |w: &[f64]| (w[3] * w[3] + w[4] * w[4]) / dot(w, w);
    let accepted: Vec<f64> = (0..size(200_000, 1_000_000))
        .map(|_| normals(5, &mut rng))
        .filter(|w| inside(w))
        .map(|w| share(&w))
        .collect();
    let (exact, error) = mean_and_error(&accepted);
    let thinner: Vec<Vec<f64>> = x
        .iter()
        .map(|x| x.iter().copied().chain(normals(1, &mut rng).iter().map(|z| 1e-6 * z)).collect())
        .collect();
    let (wide, thin) = (Problem::new(x.clone(), labels.clone()), Problem::new(thinner, labels));
    let of = |problem: &Problem, refresh| {
        let settings = Settings {
            tol: None,
            length: Some(size(20_000.0, 100_000.0)),
            refresh,
            seed: seed(12),
            n_draws: 1000,
            ..Settings::default()
        };
        let outcome = run(&problem.space(), &settings);
        let shares: Vec<f64> = draws(&outcome).map(|c| share(&problem.weight(c)[..5])).collect();
        (outcome.refresh, mean_and_error(&shares))
    };
    for problem in [&wide, &thin] {
        let (kind, (auto, spread)) = of(problem, RefreshChoice::Auto);
        assert_eq!(kind, "full");
        assert!((auto - exact).abs() < 5.0 * error.hypot(spread), "{auto} {exact}");
        let (_, (pairs, _)) = of(problem, RefreshChoice::Pair(None));
        assert!(pairs < 0.8 * exact, "{pairs} {exact}");
    }
}
