//! Runs that are continued: to a smaller tolerance with the bits of a single run; after another limit, with its law.

use bayespoint::{
    Entry, Error, Mirror, Outcome, RefreshChoice, Settings, State, StopReason, Tally,
};
use rand::RngExt;

use crate::common::states::{complete, doubles, forge, set_double};
use crate::common::{Owned, alike, assert_same, dual_angle, each, rbf, rng, seed, size, uniform};

fn base(index: u64) -> Settings {
    Settings { n_trajectories: 3, n_draws: 12, tol: None, seed: seed(index), ..Settings::default() }
}

/// Cuts a run at lengths within flights and pieces. It goes on where it ended, with any number of threads.
fn cut_by_length<E: Entry>(name: &str, case: &Owned<E>, settings: &Settings, first: f64) {
    let to =
        |length: f64, n_threads| Settings { length: Some(length), n_threads, ..settings.clone() };
    let mut outcome = case.run(&to(first, 1));
    let on = |settings: &Settings, outcome: &Outcome| {
        case.resume(settings, &complete(outcome)).expect("a state that fits")
    };
    for part in [1.13, 1.9, 2.77, 5.3] {
        let [one, three] = [1, 3].map(|threads| on(&to(part * first, threads), &outcome));
        assert_same(&one, &three, name);
        assert!((one.length() - part * first).abs() < 1e-9 * first, "{name}: {}", one.length());
        let goes_on = one.hits.iter().zip(&outcome.hits).all(|(after, before)| after >= before);
        assert!(goes_on && one.burn_in.to_bits() == outcome.burn_in.to_bits(), "{name}");
        outcome = one;
    }
    // Resumed for no further path.
    assert_same(&outcome, &on(&to(5.3 * first, 1), &outcome), name);
}

#[test]
fn every_refresh_on_a_matrix() {
    let case = Owned::rbf(40, 3.0, 0.05, 1);
    for (name, refresh, transparency) in [
        ("auto", RefreshChoice::Auto, 0.0),
        ("none", RefreshChoice::None, 0.0),
        ("pair", RefreshChoice::Pair(None), 0.0),
        ("full", RefreshChoice::Full(Some(2.0)), 0.0),
        ("transparent", RefreshChoice::Pair(Some(5.0)), 0.2),
    ] {
        let mirror = Mirror([transparency, 0.5 * transparency]);
        let settings = Settings { refresh, mirror, ..base(2) };
        cut_by_length(name, &case, &settings, size(7.0, 70.0));
    }
}

#[test]
fn a_matrix_of_singles() {
    let (gram, labels) = rbf(60, 3.0, 3);
    #[allow(clippy::cast_possible_truncation, reason = "rounded to singles")]
    let singles: Vec<f32> = gram.iter().map(|x| *x as f32).collect();
    let settings = Settings { refresh: RefreshChoice::Pair(None), ..base(5) };
    cut_by_length("singles", &Owned::new(singles, labels, 0.01), &settings, size(5.0, 50.0));
}

/// A run to a smaller tolerance repeats that to a larger one.
#[test]
fn a_smaller_tolerance_goes_on_from_a_larger_one() {
    let arc = Owned::rbf(40, 3.0, 0.1, 8);
    let conditional = arc.inverted();
    for (name, case) in [("conditional", &conditional), ("arc", &arc)] {
        for n_trajectories in [1, 4] {
            let to = |tol| Settings { tol: Some(tol), n_trajectories, n_draws: 5, ..base(9) };
            let [tight, loose] = [size(0.02, 0.007), 0.15];
            let whole = case.run(&to(tight));
            assert_eq!(whole.stop_reason, StopReason::Tol);
            let start = case.run(&to(loose));
            assert!(start.length() < whole.length(), "{name}");
            let on = |settings: &Settings, outcome: &Outcome| {
                case.resume(settings, &complete(outcome)).expect("a state that fits")
            };
            let middle = on(&to(0.04), &start);
            let threads = Settings { n_threads: 3, ..to(tight) };
            assert_same(&whole, &on(&to(tight), &start), name);
            assert_same(&whole, &on(&to(tight), &middle), name);
            assert_same(&whole, &on(&threads, &start), name);
            assert_same(&start, &on(&to(loose), &start), name);
        }
    }
    cut_by_length("conditional", &conditional, &base(10), 9.0);
}

/// Where the center is accurate and the draws are worth fewer than there were directions, as with much softness, these are
/// refreshed more often from there on, unless a rate is given.
/// It does not matter from which tolerance the run was continued.
#[test]
fn draws_that_lag_hasten_the_refresh() {
    let case = Owned::rbf(60, 3.0, 100.0, 8).inverted();
    let to = |tol| Settings { tol: Some(tol), n_draws: 100, ..base(14) };
    let whole = case.run(&to(0.002));
    assert_eq!((whole.stop_reason, whole.refresh_rate), (StopReason::Tol, 0.5));
    let early = case.run(&Settings { max_bounces: Some(100), ..to(0.002) });
    assert_eq!((early.stop_reason, early.refresh_rate), (StopReason::MaxBounces, 0.1));
    for start in [case.run(&to(0.5)), case.run(&to(0.02))] {
        assert!(start.length() < whole.length());
        let continued = case.resume(&to(0.002), &complete(&start));
        assert_same(&whole, &continued.expect("a state that fits"), "lagging draws");
    }
    let rate = |refresh, tol: Option<f64>| {
        let length = if tol.is_some() { None } else { Some(50.0) };
        case.run(&Settings { refresh, tol, length, ..to(0.5) }).refresh_rate
    };
    let free = rate(RefreshChoice::Full(None), Some(0.5));
    let given = rate(RefreshChoice::Full(Some(0.2)), Some(0.5));
    let without_tolerance = rate(RefreshChoice::Auto, None);
    assert_eq!((free, given, without_tolerance), (0.5, 0.2, 0.1));
}

/// Runs that are cut again and again have the law of a single one.
#[test]
fn cuts_keep_the_law() {
    let soft = Owned::rbf(30, 3.0, 0.05, 13);
    for (name, case, transparency) in
        [("conditional", soft.inverted(), 0.0), ("transparent", soft, 0.2)]
    {
        let own = Settings { mirror: alike(transparency), ..base(14) };
        let exact = case.run(&Settings { tol: Some(size(0.02, 0.01)), ..own.clone() });
        let mut rng = rng(15);
        let bounces = |n| Settings { max_bounces: Some(n), ..own.clone() };
        let mut cut = case.run(&bounces(50));
        let mut most = 50;
        while cut.center.error > size(0.05, 0.025) {
            most += rng.random_range(1..size(3_000, 12_000));
            cut = case.resume(&bounces(most), &complete(&cut)).expect("a state that fits");
            assert_eq!(cut.stop_reason, StopReason::MaxBounces);
            assert!(each(&cut, Tally::arrivals).contains(&most));
        }
        let apart = dual_angle(&case.space(), &cut.center.dual, &exact.center.dual);
        let error = cut.center.error.hypot(exact.center.error);
        // The error is that of a direction in some dimensions.
        assert!(apart < 4.0 * error, "{name}: {apart} with error {error}");
    }
}

/// Orthogonal planes without refresh: every path repeats itself.
#[test]
fn paths_that_repeat_themselves() {
    let octant = Owned::new(uniform(3, 1.0, 0.0), vec![1; 3], 0.0);
    let settings = Settings { refresh: RefreshChoice::None, ..base(16) };
    cut_by_length("octant", &octant, &settings, 20.0);
}

#[test]
fn states_that_do_not_fit_are_errors() {
    let own = Owned::rbf(30, 3.0, 0.1, 17);
    let settings = Settings { length: Some(20.0), ..base(18) };
    let outcome = own.run(&settings);
    let state = complete(&outcome);
    let refused = |case: &Owned, settings: &Settings, state: &State, text: &str| match case
        .resume(settings, state)
    {
        Err(error @ Error::Invalid { name: "state", .. }) => {
            assert!(error.to_string().contains(text), "{error} should say {text}");
        }
        other => panic!("{text}: {other:?}"),
    };
    for (text, settings) in [
        ("3 trajectories where there are 2", Settings { n_trajectories: 2, ..settings.clone() }),
        ("12 draws", Settings { n_draws: 13, ..settings.clone() }),
    ] {
        refused(&own, &settings, &state, text);
    }
    // Another label, another matrix, another size.
    let mut flipped = own.labels.clone();
    flipped[3] = -flipped[3];
    let few = own.gram.chunks(30).take(29).flat_map(|row| &row[..29]).copied().collect();
    for (text, case) in [
        ("without conditional means", own.inverted()),
        ("violates", Owned { labels: flipped, ..own.clone() }),
        ("fit this Gram matrix", Owned { softness: 0.2, ..own.clone() }),
        ("30 examples where there are 29", Owned::new(few, own.labels[..29].to_vec(), 0.1)),
    ] {
        refused(&case, &settings, &state, text);
    }
    // Missing or additional draws; damaged bytes; bytes with a forged checksum.
    let changed = |change: &dyn Fn(&mut State)| {
        let mut state = state.clone();
        change(&mut state);
        state
    };
    let forged = |change: &dyn Fn(&mut Vec<u8>)| changed(&|s| forge(&mut s.bytes, change));
    for (text, state) in [
        ("without all of its draws", outcome.state.clone()),
        ("cut short or altered", State::default()),
        ("draws", changed(&|s| s.draws.truncate(s.draws.len() - 1))),
        ("not finite", changed(&|s| s.draws[5] = f64::NAN)),
        ("version 99", forged(&|bytes| bytes[0] = 99)),
        ("too long", forged(&|bytes| bytes.push(0))),
    ] {
        refused(&own, &settings, &state, text);
    }
    let without_number = |&at: &usize| {
        let spoiled = forged(&|bytes| set_double(bytes, at, f64::NAN));
        let found = own.resume(&settings, &spoiled);
        found.is_err_and(|error| error.to_string().contains("not finite"))
    };
    let places = doubles(&state.bytes[..state.bytes.len() - 8]); // not in the checksum
    assert!(2 * places.iter().filter(|at| without_number(at)).count() > places.len());
    let n = state.bytes.len();
    for length in (0..40).chain((0..40).map(|k| k * n / 40)).chain([n - 1]) {
        let cut = changed(&|s| s.bytes.truncate(length));
        refused(&own, &settings, &cut, "cut short or altered");
        let altered = changed(&|s| s.bytes[length] ^= 4);
        refused(&own, &settings, &altered, "cut short or altered");
        refused(&own, &settings, &forged(&|bytes| bytes.truncate(length.min(n - 9))), "state");
    }
}
