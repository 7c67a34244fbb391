//! Properties of the engine's functions on problems of every size. (Problems of `tests/hostile` have at most a dozen examples.)
//!
//! `PROPTEST_CASES` or `BAYESPOINT_SLOW=1` raises the number of cases.

use bayespoint::papers::motions::{Motion, MotionSettings, fly};
use bayespoint::papers::perceptron::{PerceptronSettings, perceptron};
use bayespoint::{Error, MarginSettings, RefreshChoice, Settings, feasible_point, max_margin, run};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::RngExt;

use crate::common::{assert_same, blamed, dot, normals, rbf, rng, seed, size, space};
use crate::hostile::engine::check_run;
use crate::hostile::long_deadline;
use crate::scattered::COSINE;
use crate::straight::{CHORD, FLIPPER};

/// A peculiarity of a problem.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Oddity {
    None,
    Duplicates,
    Opposites,
    NearDuplicates,
    Lengths,
}

/// Margins of the teacher relative to the lengths of the feature vectors.
const WELL_ABOVE_ROUNDING: f64 = 1e-6;

/// Features and labels by a teacher.
#[derive(Clone, Debug)]
struct Taught {
    x: Vec<Vec<f64>>,
    labels: Vec<i8>,
    /// The sine of the smallest angle between the teacher and a plane, for problems without peculiarities.
    margin: Option<f64>,
}

impl Taught {
    fn new(m: usize, rank: usize, oddity: Oddity, equal: bool, index: u64) -> Self {
        let mut rng = rng(index);
        let mut x: Vec<Vec<f64>> = (0..m).map(|_| normals(rank, &mut rng)).collect();
        for i in (1..m).step_by(3) {
            let other = x[rng.random_range(0..i)].clone();
            match oddity {
                Oddity::None => {}
                Oddity::Duplicates => x[i] = other,
                Oddity::Opposites => x[i] = other.iter().map(|x| -2.0 * x).collect(),
                Oddity::NearDuplicates => {
                    let near = 10f64.powi(-rng.random_range(2..7));
                    let step = normals(rank, &mut rng);
                    x[i] = other.iter().zip(&step).map(|(x, s)| x + near * s).collect();
                }
                Oddity::Lengths => {
                    let length = 10f64.powf(rng.random_range(-8.0..8.0));
                    x[i].iter_mut().for_each(|x| *x *= length);
                }
            }
        }
        let teacher = normals(rank, &mut rng);
        let labels =
            x.iter().map(|x| if equal || dot(x, &teacher) > 0.0 { 1 } else { -1 }).collect();
        let length = |x: &[f64]| dot(x, x).sqrt();
        let margin = (oddity == Oddity::None && !equal).then(|| {
            let sines = x.iter().map(|x| dot(x, &teacher).abs() / length(x) / length(&teacher));
            sines.fold(f64::INFINITY, f64::min)
        });
        Self { x, labels, margin }
    }

    /// True if an error would be wrong.
    fn must_be_solved(&self) -> bool {
        self.margin.is_some_and(|margin| margin > WELL_ABOVE_ROUNDING)
    }

    /// True if an error of a run would be wrong. One dimension is refused.
    fn must_be_sampled(&self) -> bool {
        let first = &self.x[0];
        let is_parallel = |x: &Vec<f64>| {
            let product = dot(first, first) * dot(x, x);
            product - dot(first, x).powi(2) <= 1e-12 * product
        };
        self.must_be_solved() && !self.x.iter().all(is_parallel)
    }

    fn gram(&self, scale: f64) -> Vec<f64> {
        self.x.iter().flat_map(|a| self.x.iter().map(move |b| scale * dot(a, b))).collect()
    }
}

fn taught() -> impl Strategy<Value = Taught> {
    let m = prop_oneof![Just(1_usize), 1..=8_usize, 9..=80_usize, 250..=300_usize];
    let rank = prop_oneof![Just(1_usize), 2..=5_usize, 6..=40_usize];
    let oddity = prop_oneof![
        Just(Oddity::None),
        Just(Oddity::Duplicates),
        Just(Oddity::Opposites),
        Just(Oddity::NearDuplicates),
        Just(Oddity::Lengths),
    ];
    (m, rank, oddity, prop::bool::weighted(0.1), any::<u32>()).prop_map(
        |(m, rank, oddity, equal, index)| Taught::new(m, rank, oddity, equal, index.into()),
    )
}

/// A motion of the papers, or none on great circles.
fn motion() -> impl Strategy<Value = Option<Motion>> {
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(COSINE)),
        1 => Just(Some(CHORD)),
        1 => Just(Some(FLIPPER)),
    ]
}

fn short() -> Settings {
    Settings {
        n_trajectories: 2,
        n_draws: 3,
        tol: None,
        max_bounces: Some(60),
        burn_in: Some(0.2),
        seed: seed(5),
        ..Settings::default()
    }
}

/// True for a typed error. Panics if a deadline has passed.
fn is_refused<T>(result: &bayespoint::Result<T>) -> bool {
    match result {
        Ok(_) => false,
        Err(Error::Interrupted) => panic!("it takes too long"),
        Err(_) => true,
    }
}

fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases =
        if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { size(40, 2_000) };
    let rng_seed = RngSeed::Fixed(seed(6));
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..default }
}

proptest! {
    #![proptest_config(cases())]

    /// A run stays in version space and has the same bits on two threads.
    #[test]
    fn runs_are_right(problem in taught(), motion in motion()) {
        let gram = problem.gram(1.0);
        let space = space(&gram, &problem.labels, 0.0);
        let settings = short();
        let of = |run: Settings| match motion {
            None => bayespoint::run(&space, &run, &long_deadline()),
            Some(motion) => {
                let settings = MotionSettings { motion, run };
                fly(&space, &settings, &long_deadline()).map(|flight| flight.run)
            }
        };
        let found = of(settings.clone());
        // Straight flights may never meet one of a few walls.
        let must = problem.must_be_sampled() && motion.is_none_or(|motion| motion == COSINE);
        prop_assert!(found.is_ok() || !must, "{:?}", found.err());
        if !is_refused(&found) {
            let found = found.expect("an answer");
            check_run(&space, &settings, &found);
            let both = of(Settings { n_threads: 2, ..settings });
            assert_same(&found, &both.expect("the same"), "two threads");
        }
    }

    /// A matrix times a power of four gives the same run, bit by bit, up to the power.
    #[test]
    fn scales_do_not_matter(problem in taught(), power in -230..230_i32) {
        let scale = 4f64.powi(power);
        let (plain, scaled) = (problem.gram(1.0), problem.gram(scale));
        let in_range = |gram: &[f64]| {
            let m = problem.labels.len();
            gram.iter().step_by(m + 1).all(|d| (1e-150..1e150).contains(d))
        };
        prop_assume!(in_range(&plain) && in_range(&scaled));
        // No entry may become subnormal.
        prop_assume!(plain.iter().all(|x| *x == 0.0 || x.abs() > 1e-120));
        let settings = Settings { refresh: RefreshChoice::Pair(None), ..short() };
        let of = |gram: &[f64]| {
            run(&space(gram, &problem.labels, 0.0), &settings, &long_deadline())
        };
        let (one, other) = (of(&plain), of(&scaled));
        prop_assert_eq!(is_refused(&one), is_refused(&other));
        prop_assert!(one.is_ok() || !problem.must_be_sampled(), "{:?}", one.err());
        if let (Ok(one), Ok(other)) = (one, other) {
            prop_assert_eq!(one.hits, other.hits);
            let root = 2f64.powi(power);
            for (a, b) in one.center.dual.iter().zip(&other.center.dual) {
                prop_assert!((a - b * root).abs() <= 1e-9 * a.abs().max(1e-9), "{} {}", a, b * root);
            }
        }
    }

    /// Points found by any method are in version space.
    #[test]
    fn points_are_inside(problem in taught(), softness in prop_oneof![Just(0.0), Just(0.1)]) {
        let gram = problem.gram(1.0);
        let space = space(&gram, &problem.labels, softness);
        let margin = max_margin(&space, &MarginSettings::default(), &long_deadline());
        prop_assert!(margin.is_ok() || !problem.must_be_solved(), "{:?}", margin.err());
        let mut bound = f64::INFINITY;
        if !is_refused(&margin) {
            let margin = margin.expect("an answer");
            prop_assert!(margin.margin > 0.0 && margin.margin <= margin.bound * (1.0 + 1e-6));
            bound = margin.bound * (1.0 + 1e-6) + 1e-9;
        }
        let found = feasible_point(&space, 1, &long_deadline());
        prop_assert!(found.is_ok() || !problem.must_be_solved(), "{:?}", found.err());
        if !is_refused(&found) {
            let (found, _) = found.expect("a point");
            prop_assert!(space.contains(&found)?);
            let margin = space.margins(&found)?.into_iter().fold(f64::INFINITY, f64::min);
            prop_assert!(margin <= bound, "{margin} {bound}");
        }
    }
}

/// Two planes that coincide up to rounding, with different labels, and a third.
fn in_conflict() -> ([f64; 9], Vec<i8>) {
    let nearly = 1.0 - f64::EPSILON;
    ([1.0, 0.3, nearly, 0.3, 1.0, 0.3, nearly, 0.3, 1.0], vec![1, 1, -1])
}

#[test]
fn conflicts_of_hard_walls_have_a_certificate() {
    let (gram, labels) = in_conflict();
    let space = space(&gram, &labels, 0.0);
    let start = Settings { start: Some(vec![1.0, 0.0, 0.0]), ..short() };
    for found in [
        run(&space, &short(), &long_deadline()).map(drop),
        run(&space, &start, &long_deadline()).map(drop),
        feasible_point(&space, 1, &long_deadline()).map(drop),
    ] {
        match found {
            Err(Error::Infeasible { margin_bound, certificate, .. }) => {
                assert!(margin_bound < 1e-7, "{margin_bound}");
                assert_eq!(certificate, [0.5, 0.0, 0.5]);
            }
            // A given start satisfies only one of the two labels.
            Err(Error::Invalid { name: "start", .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    // There is no conflict if one of the two walls is half-silvered.
    let soft = bayespoint::Mirror([0.5, 0.0]);
    let settings = Settings { mirror: soft, ..short() };
    check_run(&space, &settings, &run(&space, &settings, &long_deadline()).expect("an answer"));
}

#[test]
fn certificates_have_an_entry_for_every_example() {
    // The positive examples contradict each other; the wall of the negative one is transparent.
    #[rustfmt::skip]
    let gram = [
        1.0, -0.5, -0.5, 0.0,
        -0.5, 1.0, -0.5, 0.0,
        -0.5, -0.5, 1.0, 0.0,
        0.0, 0.0, 0.0, 1.0,
    ];
    let space = space(&gram, &[1, 1, 1, -1], 0.0);
    let mirror = bayespoint::Mirror([1.0, 0.0]);
    let settings = Settings { mirror, ..short() };
    match run(&space, &settings, &long_deadline()) {
        Err(Error::Infeasible { certificate, .. }) => {
            assert_eq!(certificate.len(), 4);
            assert!((certificate.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(certificate[3] == 0.0);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn overflows_are_errors_that_name_the_setting() {
    let (gram, labels) = rbf(10, 2.0, 1);
    let space = space(&gram, &labels, 0.1);
    let settings = Settings { refresh: RefreshChoice::Pair(Some(1e10)), ..short() };
    assert_eq!(blamed(run(&space, &settings, &long_deadline())), "refresh_rate");
    let order: Vec<usize> = (0..10).collect();
    let settings = PerceptronSettings { learning_rate: f64::MAX, max_epochs: 50 };
    match perceptron(&space, &order, &settings, &long_deadline()) {
        Ok(found) => assert!(found.dual.iter().all(|c| c.is_finite())),
        error => assert_eq!(blamed(error), "learning_rate"),
    }
}
