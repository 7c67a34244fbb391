//! Whole runs: determinism, ends, degenerate problems, errors and interruption.

use std::time::{Duration, Instant};

use bayespoint::{
    Average, Control, Error, Gram, MarginSettings, Mirror, Outcome, RefreshChoice, Settings,
    StopReason, Tally, VersionSpace,
};

use crate::common::states::complete;
use crate::common::{
    Owned, Problem, alike, assert_same, blamed, dot, draws, each, mean_and_error, noisily_taught,
    normals, rng, run, seed, size, space, taught, uniform,
};

#[test]
fn same_seed_same_bits_for_any_number_of_threads() {
    let problem = noisily_taught(80, 15, 0.1, 1);
    let soft = Owned::new(problem.gram, problem.labels, 0.5);
    let base = Settings { n_trajectories: 5, tol: Some(0.05), ..Settings::default() };
    for (name, case, mirror) in [
        ("default", &soft, Mirror::HARD),
        ("transparent", &soft, alike(0.1)),
        ("conditional means", &soft.inverted(), Mirror::HARD),
    ] {
        let of = |n_threads, seed| case.run(&Settings { n_threads, seed, mirror, ..base.clone() });
        let one = of(1, 3);
        assert_same(&one, &of(2, 3), name);
        assert_same(&one, &of(8, 3), name);
        assert_ne!(one.draws, of(1, 4).draws, "{name}");
    }
}

/// The coordinates of an orthant are independent: each label is violated with odds κ : 1.
#[test]
fn mean_violations_behind_transparent_walls() {
    let m = 9;
    let gram = uniform(m, 1.0, 0.0);
    let labels: Vec<i8> = (0..m).map(|i| if i % 3 == 0 { -1 } else { 1 }).collect();
    let space = space(&gram, &labels, 0.0);
    for (negative, positive) in [(0.05, 0.05), (0.5, 0.1), (1.0, 1.0)] {
        let violations: Vec<f64> = (0..size(30, 200))
            .map(|k| {
                let settings = Settings {
                    n_trajectories: 1,
                    length: Some(150.0),
                    tol: None,
                    mirror: Mirror([negative, positive]),
                    // Near κ = 1 there are hardly any reflections: the refresh alone must mix.
                    refresh: RefreshChoice::Full(Some(0.5)),
                    seed: seed(k),
                    ..Settings::default()
                };
                run(&space, &settings).mean_violations
            })
            .collect();
        let (mean, error) = mean_and_error(&violations);
        let exact = 3.0 * negative / (1.0 + negative) + 6.0 * positive / (1.0 + positive);
        let close = (mean - exact).abs() <= 5.5 * error && error < 0.1;
        assert!(close, "κ = {negative}, {positive}: {mean} ± {error}, exact {exact}");
    }
}

#[test]
fn ends() {
    let problem = taught(60, 10, 2);
    let space = problem.space();
    let by_length = run(&space, &Settings { length: Some(30.0), tol: None, ..Settings::default() });
    assert_eq!((by_length.stop_reason, by_length.draws.dim().1), (StopReason::Length, 100));
    assert!(each(&by_length, |tally| tally.path).iter().all(|x| x.to_bits() == 30f64.to_bits()));
    let by_bounces =
        run(&space, &Settings { max_bounces: Some(777), tol: None, ..Settings::default() });
    assert_eq!(by_bounces.stop_reason, StopReason::MaxBounces);
    // The first trajectory with so many bounces ends the run; the others have run as far.
    let bounces = each(&by_bounces, |tally| tally.bounces);
    assert_eq!(bounces.iter().max(), Some(&777));
    assert!(bounces.iter().all(|n| *n > 700), "{bounces:?}");
    let by_tol = run(&space, &Settings { tol: Some(0.02), ..Settings::default() });
    assert_eq!((by_tol.stop_reason, by_tol.draws.dim().1), (StopReason::Tol, 100));
    assert!(by_tol.center.error <= 0.02);
    let first = Settings { tol: Some(1e-9), max_bounces: Some(2000), ..Settings::default() };
    assert_eq!(run(&space, &first).stop_reason, StopReason::MaxBounces);
    // A run that stops before its first draw records the end of the path.
    let short = Settings { max_bounces: Some(1), tol: None, ..Settings::default() };
    let short = run(&space, &short);
    assert_eq!(short.draws.dim(), (4, 1, 60));
}

#[test]
fn draws_are_unit_vectors_inside_at_equal_spacing() {
    let problem = taught(50, 8, 3);
    let space = problem.space();
    for settings in [
        Settings { length: Some(40.0), tol: None, ..Settings::default() },
        Settings { tol: Some(0.01), ..Settings::default() },
    ] {
        let outcome = run(&space, &settings);
        let (trajectories, n, m) = outcome.draws.dim();
        assert_eq!((trajectories, m), (4, 50));
        // With a fixed length the draws cover the run; otherwise they are the last of a record up to twice as long.
        let covered = n as f64 * outcome.spacing / outcome.tallies[0].path;
        let least = if settings.tol.is_some() { 0.5 } else { 1.0 };
        assert!((least - 1e-9..1.0 + 1e-9).contains(&covered), "{covered}");
        for (k, dual) in draws(&outcome).enumerate() {
            let w = problem.weight(dual);
            assert!((dot(&w, &w) - 1.0).abs() < 1e-9);
            assert!(space.contains(dual).expect("shapes fit"));
            for (q, &plane) in outcome.watched.iter().enumerate() {
                let f = dot(&w, &problem.x[plane]) / space.gram().diagonal(plane).sqrt();
                let kept = outcome.functionals[[k / n, k % n, q]];
                assert!((kept - f).abs() < 1e-9, "{kept} {f}");
            }
        }
        let support = outcome.hits.iter().zip(&outcome.center.impulse);
        assert!(support.clone().all(|(hits, c)| (*hits == 0) == (*c == 0.0)));
        assert!(support.zip(&problem.labels).all(|((_, c), y)| c * f64::from(*y) >= 0.0));
    }
}

/// Any weight vector violates one of each pair of equal inputs with different labels.
#[test]
fn contradictions_are_counted() {
    for (pairs, others) in [(1, 3), (10, 0), (50, 60)] {
        let mut rng = rng(40 + pairs as u64);
        let teacher = normals(4, &mut rng);
        let mut x: Vec<Vec<f64>> = (0..pairs + others).map(|_| normals(4, &mut rng)).collect();
        let mut labels: Vec<i8> =
            x.iter().map(|x| if dot(x, &teacher) > 0.0 { 1 } else { -1 }).collect();
        x.extend_from_within(..pairs);
        labels.extend(labels.clone()[..pairs].iter().map(|y| -y));
        let problem = Problem::new(x, labels);
        let control = Control::new();
        for error in [
            bayespoint::run(&problem.space(), &Settings::default(), &control).map(drop),
            bayespoint::feasible_point(&problem.space(), 1, &control).map(drop),
            bayespoint::papers::light_trap::one_way(&problem.space(), 1, &control).map(drop),
        ] {
            let Err(Error::Infeasible { violations, .. }) = error else { panic!("{error:?}") };
            let most = if others == 0 { pairs } else { pairs + others / 2 };
            assert!((pairs..=most).contains(&violations), "{violations} of {pairs} pairs");
        }
    }
}

#[test]
fn infeasible_data_are_an_error_with_counts_and_a_certificate() {
    let problem = noisily_taught(100, 5, 0.3, 6);
    let space = problem.space();
    let control = Control::new();
    let error = bayespoint::run(&space, &Settings::default(), &control).expect_err("not separable");
    let text = error.to_string();
    let Error::Infeasible { examples: 100, violations, margin_bound, certificate } = error else {
        panic!("{error}")
    };
    // One of a weight vector and its opposite satisfies half of the examples; both are tried.
    assert!((10..=50).contains(&violations), "{violations}");
    assert!(text.contains(&violations.to_string()));
    // The combination is as short as the bound, up to the square root of rounding.
    let length = problem.check_certificate(&certificate);
    assert!(
        (length - margin_bound).abs() < 1e-7 + 1e-3 * margin_bound && margin_bound < 0.01,
        "{length} {margin_bound}"
    );
    // Softness makes any labeling separable, and so does label noise.
    run(&crate::common::space(&problem.gram, &problem.labels, 0.1), &Settings::default());
    let noisy = Settings { mirror: alike(0.4), ..Settings::default() };
    assert!(run(&space, &noisy).mean_violations > 1.0);
}

#[test]
fn bad_input_is_an_error_that_names_the_argument() {
    let gram = [2.0, 0.5, 0.5, 2.0];
    for (name, gram, offset, softness) in [
        ("gram", gram, 0.0, &[][..]),
        ("gram", gram, 0.0, &[0.0; 3]),
        ("gram", [1.0, f64::NAN, 0.0, 1.0], 0.0, &[0.0; 2]),
        ("gram", [1.0, f64::INFINITY, 0.0, 1.0], 0.0, &[0.0; 2]),
        ("gram", [1.0, 0.5, 0.4, 1.0], 0.0, &[0.0; 2]),
        ("gram", [1.0, 0.0, 0.0, 0.0], 0.0, &[0.0; 2]),
        ("gram", [1.0, 0.0, 0.0, 1e-151], 0.0, &[0.0; 2]),
        ("gram", gram, 0.0, &[0.0, 1e151]),
        ("offset", gram, -1.0, &[0.0; 2]),
        ("softness", gram, 0.0, &[0.0, -1.0]),
        ("softness", gram, 0.0, &[0.0, f64::NAN]),
    ] {
        assert_eq!(blamed(Gram::new(&gram, offset, softness.to_vec())), name);
    }
    // An intercept or softness may make up for a zero diagonal.
    assert!(Gram::new(&[1.0, 0.0, 0.0, 0.0], 1.0, vec![0.0; 2]).is_ok());

    let good = || Gram::new(&gram, 0.0, vec![0.0; 2]).expect("valid");
    for labels in [vec![1], vec![1, 0]] {
        blamed(VersionSpace::new(good(), labels));
    }
    let space = VersionSpace::new(good(), vec![1, -1]).expect("valid");
    blamed(space.margins(&[1.0]));

    let default = Settings::default;
    for (name, settings) in [
        ("n_trajectories", Settings { n_trajectories: 0, ..default() }),
        ("n_draws", Settings { n_draws: 0, ..default() }),
        ("n_threads", Settings { n_threads: 0, ..default() }),
        ("length", Settings { length: Some(-1.0), ..default() }),
        ("length", Settings { length: Some(1e-7), ..default() }),
        ("tol", Settings { tol: Some(f64::NAN), ..default() }),
        ("max_bounces", Settings { max_bounces: Some(0), ..default() }),
        ("burn_in", Settings { burn_in: Some(-1.0), ..default() }),
        ("refresh_rate", Settings { refresh: RefreshChoice::Pair(Some(0.0)), ..default() }),
        ("refresh_rate", Settings { refresh: RefreshChoice::Full(Some(2e9)), ..default() }),
        ("transparency", Settings { mirror: Mirror([0.0, 2.0]), ..default() }),
        ("average", Settings { average: Average::Conditional, ..default() }),
        ("length, max_bounces, tol and max_time", Settings { tol: None, ..default() }),
        ("start", Settings { start: Some(vec![-1.0, 1.0]), ..default() }),
        ("dual", Settings { start: Some(vec![1.0]), ..default() }),
    ] {
        assert_eq!(blamed(bayespoint::run(&space, &settings, &Control::new())), name);
    }
}

/// A pivot is compared with its own diagonal entry, so that long vectors do not hide short ones.
#[test]
fn a_short_feature_vector_counts_as_much_as_a_long_one() {
    let lengths = [1e-6f64, 1.0, 1e6, 1e-74, 1e74];
    let m = lengths.len();
    let mut gram = vec![0.0; m * m];
    for (i, length) in lengths.iter().enumerate() {
        gram[i * m + i] = length * length;
    }
    let labels = [1, -1, 1, 1, -1];
    let space = space(&gram, &labels, 0.0);
    let factor = bayespoint::Factor::new(space.gram(), &Control::new()).expect("positive definite");
    assert_eq!(factor.rank(), m);
    for refresh in [RefreshChoice::Auto, RefreshChoice::Pair(None), RefreshChoice::Full(None)] {
        let settings = Settings { tol: Some(0.01), refresh, seed: seed(11), ..Settings::default() };
        let outcome = run(&space, &settings);
        for i in 0..m {
            let coordinate = outcome.center.dual[i] * lengths[i] * f64::from(labels[i]);
            let exact = (m as f64).sqrt().recip();
            assert!((coordinate - exact).abs() < 0.05, "{refresh:?}: {coordinate} at {i}");
        }
    }
}

#[test]
fn auto_does_without_a_factor_where_there_is_none() {
    // Rank two with an error of 1e-6, as in single precision: there is no factor, but the billiard works.
    let m = 12;
    let mut gram: Vec<f64> =
        (0..m * m).map(|at| (0.1 * (at / m) as f64 - 0.1 * (at % m) as f64).cos()).collect();
    (gram[0], gram[m + 1]) = (gram[0] - 1e-6, gram[m + 1] - 1e-6);
    let labels: Vec<i8> = (0..m).map(|i| if i < 6 { 1 } else { -1 }).collect();
    let space = space(&gram, &labels, 0.0);
    let control = Control::new();
    let refused = bayespoint::Factor::new(space.gram(), &control).expect_err("indefinite");
    assert!(matches!(refused, Error::Breakdown { .. }), "{refused}");
    let full = Settings { refresh: RefreshChoice::Full(None), ..Settings::default() };
    let refused = bayespoint::run(&space, &full, &control).expect_err("needs the factor");
    assert!(matches!(refused, Error::Breakdown { .. }), "{refused}");
    let auto = bayespoint::run(&space, &Settings::default(), &control).expect("pairs do");
    assert_eq!(auto.refresh, "pair");
}

#[test]
fn an_interrupt_stops_all_workers_soon() {
    let problem = Owned::rbf(600, 2.0, 0.1, 9);
    let space = problem.space();
    let control = Control::new();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let settings =
                Settings { length: Some(1e9), tol: None, n_threads: 2, ..Settings::default() };
            bayespoint::run(&space, &settings, &control)
        });
        std::thread::sleep(Duration::from_millis(300));
        let asked = Instant::now();
        control.interrupt();
        let result = worker.join().expect("no panic");
        let elapsed = asked.elapsed();
        assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
        assert_eq!(result.expect_err("was interrupted"), Error::Interrupted);
        assert!(control.bounces() > 0);
    });
    // Later calls are interrupted too.
    let again = bayespoint::feasible_point(&space, 1, &control);
    assert!(matches!(again, Err(Error::Interrupted)));
}

/// Checks what a run returned that the time ended.
pub fn check_ended_by_time(space: &VersionSpace<'_>, short: &Outcome) {
    assert_eq!(short.stop_reason, StopReason::MaxTime);
    assert!(!short.center.error.is_nan() && short.center.error > 1e-12);
    assert!(short.center.dual.iter().all(|c| c.is_finite()));
    assert!(short.draws.dim().1 > 0 && short.length() > 0.0);
    for dual in draws(short) {
        // A path that is too short for a draw gives its end, which may be on a wall.
        let margins = space.margins(dual).expect("shapes fit");
        assert!(margins.iter().all(|margin| *margin > -1e-9));
    }
}

/// A run that the time ends anywhere, also in burn-in, returns what there is; continued, it has the bits of a whole run.
#[test]
fn time_ends_a_run_with_what_there_is() {
    let arc = Owned::rbf(150, 2.0, 0.3, 12);
    let (space, conditional) = (arc.space(), arc.inverted());
    let point = bayespoint::max_margin(&space, &MarginSettings::default(), &Control::new());
    let inside = Some(point.expect("separable").dual);
    for (case, start) in [(&conditional, None), (&arc, inside)] {
        for (seconds, n_threads) in [(1e-9, 1), (1e-9, 2), (0.03, 1), (0.3, 2)] {
            let endless = Settings {
                tol: Some(1e-12),
                max_time: Some(seconds),
                start: start.clone(),
                n_threads,
                seed: seed(3),
                ..Settings::default()
            };
            let began = Instant::now();
            let short = case.run(&endless);
            assert!(began.elapsed() < Duration::from_secs(20));
            check_ended_by_time(&space, &short);
            if seconds > 0.1 {
                // No trajectory is far behind.
                let paths = each(&short, |tally| tally.path);
                let longest = paths.iter().copied().fold(0.0, f64::max);
                assert!(paths.iter().all(|path| *path > 0.7 * longest), "{paths:?}");
            }
            let bounces = 2 * each(&short, Tally::arrivals).into_iter().max().unwrap_or(0);
            let whole = Settings { max_time: None, max_bounces: Some(bounces), ..endless };
            // An end in burn-in makes the burn-in shorter.
            if seconds > 0.01 {
                let resumed = case.resume(&whole, &complete(&short)).expect("a state that fits");
                assert_same(&case.run(&whole), &resumed, "continued");
            }
        }
    }
}
