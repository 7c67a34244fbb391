//! Runs that are continued: to a smaller tolerance with the bits of a single run; after another limit, with its law.

use bayespoint::{
    Control, Error, Gram, Inverse, Mirror, Outcome, RefreshChoice, Settings, State, StopReason,
    Tally, VersionSpace, resume, run_with,
};
use rand::RngExt;

use crate::common::states::{complete, doubles, forge, set_double};
use crate::common::{assert_same, each, inverse, rbf, rng, seed, size, space, space_of, uniform};

/// A problem, and the inverse of its matrix for the center by conditional means.
struct Case<'a> {
    name: &'static str,
    space: VersionSpace<'a>,
    inverse: Option<Inverse<'a>>,
}

impl<'a> Case<'a> {
    fn dense(name: &'static str, gram: &'a [f64], labels: &[i8], softness: f64) -> Self {
        Case { name, space: space(gram, labels, softness), inverse: None }
    }

    fn run(&self, settings: &Settings) -> Outcome {
        run_with(&self.space, settings, self.inverse, &Control::new()).expect("a good run")
    }

    fn resume(&self, settings: &Settings, state: &State) -> Outcome {
        self.try_resume(settings, state).expect("a state that fits")
    }

    fn try_resume(&self, settings: &Settings, state: &State) -> Result<Outcome, Error> {
        resume(&self.space, settings, self.inverse, state, &Control::new())
    }
}

fn base(index: u64) -> Settings {
    Settings { n_trajectories: 3, n_draws: 12, tol: None, seed: seed(index), ..Settings::default() }
}

/// Cuts a run at lengths within flights and pieces. It goes on where it ended, with any number of threads.
fn cut_by_length(case: &Case<'_>, settings: &Settings, first: f64) {
    let to =
        |length: f64, n_threads| Settings { length: Some(length), n_threads, ..settings.clone() };
    let name = case.name;
    let mut outcome = case.run(&to(first, 1));
    for part in [1.13, 1.9, 2.77, 5.3] {
        let before = complete(&outcome);
        let [one, three] = [1, 3].map(|threads| case.resume(&to(part * first, threads), &before));
        assert_same(&one, &three, name);
        assert!((one.length() - part * first).abs() < 1e-9 * first, "{name}: {}", one.length());
        let goes_on = one.hits.iter().zip(&outcome.hits).all(|(after, before)| after >= before);
        assert!(goes_on && one.burn_in.to_bits() == outcome.burn_in.to_bits(), "{name}");
        outcome = one;
    }
    // Resumed for no further path.
    assert_same(&outcome, &case.resume(&to(5.3 * first, 1), &complete(&outcome)), name);
}

#[test]
fn every_refresh_on_a_matrix() {
    let (gram, labels) = rbf(40, 3.0, 1);
    let space = space(&gram, &labels, 0.05);
    for (name, refresh, transparency) in [
        ("auto", RefreshChoice::Auto, 0.0),
        ("none", RefreshChoice::None, 0.0),
        ("pair", RefreshChoice::Pair(None), 0.0),
        ("full", RefreshChoice::Full(Some(2.0)), 0.0),
        ("transparent", RefreshChoice::Pair(Some(5.0)), 0.2),
    ] {
        let mirror = Mirror::new(transparency, 0.5 * transparency).expect("in range");
        let settings = Settings { refresh, mirror, ..base(2) };
        let case = Case { name, space: space.clone(), inverse: None };
        cut_by_length(&case, &settings, size(7.0, 70.0));
    }
}

#[test]
fn a_matrix_of_singles() {
    let (gram, labels) = rbf(60, 3.0, 3);
    #[allow(clippy::cast_possible_truncation, reason = "rounded to singles")]
    let singles: Vec<f32> = gram.iter().map(|x| *x as f32).collect();
    let space = space_of(Gram::new(&singles, 0.5, vec![0.01; 60]), &labels);
    let case = Case { name: "singles", space, inverse: None };
    let settings = Settings { refresh: RefreshChoice::Pair(None), ..base(5) };
    cut_by_length(&case, &settings, size(5.0, 50.0));
}

/// A run to a smaller tolerance repeats that to a larger one.
#[test]
fn a_smaller_tolerance_goes_on_from_a_larger_one() {
    let (gram, labels) = rbf(40, 3.0, 8);
    let softness = 0.1;
    let (columns, diagonal) = inverse(&gram, softness);
    let space = space(&gram, &labels, softness);
    let inverse = Inverse::new(&columns, &diagonal).expect("an inverse");
    let conditional = Case { name: "conditional", space: space.clone(), inverse: Some(inverse) };
    let arc = Case { name: "arc", space, inverse: None };
    for case in [&conditional, &arc] {
        for n_trajectories in [1, 4] {
            let to = |tol| Settings { tol: Some(tol), n_trajectories, n_draws: 5, ..base(9) };
            let [tight, loose] = [size(0.02, 0.007), 0.15];
            let whole = case.run(&to(tight));
            assert_eq!(whole.stop_reason, StopReason::Tol);
            let start = case.run(&to(loose));
            assert!(start.length() < whole.length(), "{}", case.name);
            let middle = case.resume(&to(0.04), &complete(&start));
            assert_same(&whole, &case.resume(&to(tight), &complete(&start)), case.name);
            assert_same(&whole, &case.resume(&to(tight), &complete(&middle)), case.name);
            assert_same(&start, &case.resume(&to(loose), &complete(&start)), case.name);
            let threads = Settings { n_threads: 3, ..to(tight) };
            assert_same(&whole, &case.resume(&threads, &complete(&start)), case.name);
        }
    }
    cut_by_length(&conditional, &base(10), 9.0);
}

/// Where the center is accurate and the draws lag, directions are refreshed more often from there on, unless a rate is given.
/// It does not matter from which tolerance the run was continued.
#[test]
fn draws_that_lag_hasten_the_refresh() {
    let (gram, labels) = rbf(60, 3.0, 8);
    let softness = 1.0;
    let (columns, diagonal) = inverse(&gram, softness);
    let space = space(&gram, &labels, softness);
    let inverse = Inverse::new(&columns, &diagonal).expect("an inverse");
    let case = Case { name: "lagging draws", space, inverse: Some(inverse) };
    let to = |tol| Settings { tol: Some(tol), n_draws: 100, ..base(14) };
    let whole = case.run(&to(0.002));
    assert_eq!((whole.stop_reason, whole.refresh_rate), (StopReason::Tol, 0.5));
    let early = case.run(&Settings { max_bounces: Some(100), ..to(0.002) });
    assert_eq!((early.stop_reason, early.refresh_rate), (StopReason::MaxBounces, 0.1));
    for start in [case.run(&to(0.5)), case.run(&to(0.02))] {
        assert!(start.length() < whole.length());
        assert_same(&whole, &case.resume(&to(0.002), &complete(&start)), case.name);
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
    let (gram, labels) = rbf(30, 3.0, 13);
    let softness = 0.05;
    let (columns, diagonal) = inverse(&gram, softness);
    let space = space(&gram, &labels, softness);
    let whole = Inverse::new(&columns, &diagonal).ok();
    let kinds = [("conditional", whole, 0.0), ("transparent", None, 0.2)];
    for (name, inverse, transparency) in kinds {
        let case = Case { name, space: space.clone(), inverse };
        let mirror = Mirror::new(transparency, transparency).expect("in range");
        let own = Settings { mirror, ..base(14) };
        let exact = case.run(&Settings { tol: Some(size(0.02, 0.01)), ..own.clone() });
        let mut rng = rng(15);
        let bounces = |n| Settings { max_bounces: Some(n), ..own.clone() };
        let mut cut = case.run(&bounces(50));
        let mut most = 50;
        while cut.center.error > size(0.05, 0.025) {
            most += rng.random_range(1..size(3_000, 12_000));
            cut = case.resume(&bounces(most), &complete(&cut));
            assert_eq!(cut.stop_reason, StopReason::MaxBounces);
            assert!(each(&cut, Tally::arrivals).contains(&most));
        }
        let gap: Vec<f64> =
            cut.center.dual.iter().zip(&exact.center.dual).map(|(a, b)| a - b).collect();
        let margins = space.margins(&gap).expect("a vector");
        let square: f64 =
            margins.iter().zip(&labels).zip(&gap).map(|((f, y), c)| f * f64::from(*y) * c).sum();
        let (apart, error) = (square.sqrt(), cut.center.error.hypot(exact.center.error));
        // The error is that of a direction in some dimensions.
        assert!(apart < 4.0 * error, "{name}: {apart} with error {error}");
    }
}

/// Orthogonal planes without refresh: every path repeats itself.
#[test]
fn paths_that_repeat_themselves() {
    let identity = uniform(3, 1.0, 0.0);
    let case = Case::dense("octant", &identity, &[1, 1, 1], 0.0);
    cut_by_length(&case, &Settings { refresh: RefreshChoice::None, ..base(16) }, 20.0);
}

#[test]
fn states_that_do_not_fit_are_errors() {
    let (gram, labels) = rbf(30, 3.0, 17);
    let softness = 0.1;
    let own = Case::dense("", &gram, &labels, softness);
    let settings = Settings { length: Some(20.0), ..base(18) };
    let outcome = own.run(&settings);
    let state = complete(&outcome);
    let refused = |case: &Case<'_>, settings: &Settings, state: &State, text: &str| match case
        .try_resume(settings, state)
    {
        Err(error @ Error::Invalid { name: "state", .. }) => {
            assert!(error.to_string().contains(text), "{error} should say {text}");
        }
        other => panic!("{text}: {other:?}"),
    };
    refused(
        &own,
        &Settings { n_trajectories: 2, ..settings.clone() },
        &state,
        "3 trajectories where there are 2",
    );
    refused(&own, &Settings { n_draws: 13, ..settings.clone() }, &state, "12 draws");
    let (columns, diagonal) = inverse(&gram, softness);
    let inverse = Inverse::new(&columns, &diagonal).ok();
    refused(
        &Case { inverse, ..Case::dense("", &gram, &labels, softness) },
        &settings,
        &state,
        "without conditional means",
    );
    // Another label, another matrix, another size.
    let mut flipped = labels.clone();
    flipped[3] = -flipped[3];
    refused(&Case::dense("", &gram, &flipped, softness), &settings, &state, "violates");
    refused(&Case::dense("", &gram, &labels, 0.2), &settings, &state, "fit this Gram matrix");
    let few: Vec<f64> = gram.chunks(30).take(29).flat_map(|row| &row[..29]).copied().collect();
    let case = Case::dense("", &few, &labels[..29], softness);
    refused(&case, &settings, &state, "30 examples where there are 29");
    // Missing or additional draws; damaged bytes; bytes with a forged checksum.
    refused(&own, &settings, &outcome.state, "without all of its draws");
    refused(&own, &settings, &State::default(), "cut short or altered");
    let changed = |change: &dyn Fn(&mut State)| {
        let mut state = state.clone();
        change(&mut state);
        state
    };
    let forged = |change: &dyn Fn(&mut Vec<u8>)| changed(&|s| forge(&mut s.bytes, change));
    refused(&own, &settings, &changed(&|s| s.draws.truncate(s.draws.len() - 1)), "draws");
    refused(&own, &settings, &changed(&|s| s.draws[5] = f64::NAN), "not finite");
    refused(&own, &settings, &forged(&|bytes| bytes[0] = 99), "version 99");
    refused(&own, &settings, &forged(&|bytes| bytes.push(0)), "too long");
    let without_number = |&at: &usize| {
        let spoiled = forged(&|bytes| set_double(bytes, at, f64::NAN));
        let found = own.try_resume(&settings, &spoiled);
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

/// A modified state of a run is an error or resumes, without a panic and soon. (`fuzz` has few examples.)
#[test]
fn states_of_nonsense() {
    let (gram, labels) = rbf(100, 3.0, 5);
    let space = space(&gram, &labels, 1e-4);
    let case = Case { name: "nonsense", space, inverse: None };
    let settings = Settings { length: Some(0.5), n_draws: 2, n_trajectories: 2, ..base(21) };
    let state = complete(&case.run(&settings));
    let further = Settings { length: Some(0.7), ..settings };
    let (mut rng, tries, mut refused) = (rng(20), size(60, 600), 0);
    for _ in 0..tries {
        let mut state = state.clone();
        for _ in 0..rng.random_range(1..3) {
            forge(&mut state.bytes, |bytes| {
                if rng.random::<bool>() {
                    let k = rng.random_range(0..bytes.len());
                    bytes[k] = [rng.random(), rng.random_range(0..3), 255][rng.random_range(0..3)];
                } else {
                    let places = doubles(bytes);
                    let wild = [0.0, -1.0, 1e300, -1e-300, f64::INFINITY, 7.5];
                    let to = wild[rng.random_range(0..wild.len())];
                    set_double(bytes, places[rng.random_range(0..places.len())], to);
                }
            });
        }
        match case.try_resume(&further, &state) {
            Ok(_) => {}
            Err(Error::Invalid { .. } | Error::Breakdown { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > tries / 4, "{refused} of {tries}");
}
