//! Trajectories that fly in other processes, step by step: the bits of a run that stays here.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bayespoint::dynamics::{Motion, Points};
use bayespoint::{
    Control, Elsewhere, Error, Gram, Inverse, Kernel, KernelRows, Mirror, Outcome, RefreshChoice,
    Settings, State, VersionSpace, resume, run_elsewhere, run_with, take_step,
};
use common::{normals, rng, seed};

/// A problem that others can be told of.
#[derive(Clone)]
struct Problem {
    inputs: Vec<f64>,
    gram: Vec<f64>,
    labels: Vec<i8>,
    softness: f64,
    /// Columns of a factor, and the diagonal of the inverse.
    inverse: Option<(Vec<f64>, Vec<f64>)>,
    on_demand: bool,
}

const DIMENSION: usize = 3;

impl Problem {
    fn new(m: usize, softness: f64, index: u64) -> Self {
        let mut rng = rng(index);
        let inputs = normals(DIMENSION * m, &mut rng);
        let x: Vec<&[f64]> = inputs.chunks_exact(DIMENSION).collect();
        let gram = x
            .iter()
            .flat_map(|a| x.iter().map(|b| a.iter().zip(*b).map(|(a, b)| a * b).sum::<f64>()))
            .collect();
        let labels = x.iter().map(|x| if x[0] + 0.3 * x[1] > 0.0 { 1 } else { -1 }).collect();
        Self { gram, labels, softness, inverse: None, on_demand: false, inputs: inputs.clone() }
    }

    /// With the inverse, for conditional means.
    fn inverted(mut self) -> Self {
        let m = self.labels.len();
        // Row j holds column j of the Cholesky factor L.
        let mut columns = vec![0.0; m * m];
        for j in 0..m {
            for i in j..m {
                let known: f64 = (0..j).map(|k| columns[k * m + i] * columns[k * m + j]).sum();
                let own = self.gram[i * m + j] + if i == j { self.softness } else { 0.0 } - known;
                columns[j * m + i] = if i == j { own.sqrt() } else { own / columns[j * m + j] };
            }
        }
        let diagonal = (0..m)
            .map(|i| {
                let mut column = vec![0.0; m];
                for row in i..m {
                    let known: f64 = (i..row).map(|k| columns[k * m + row] * column[k]).sum();
                    column[row] = (f64::from(u8::from(row == i)) - known) / columns[row * m + row];
                }
                column.iter().map(|x| x * x).sum()
            })
            .collect();
        self.inverse = Some((columns, diagonal));
        self
    }

    fn with<R>(&self, work: impl FnOnce(&VersionSpace<'_>, Option<Inverse<'_>>) -> R) -> R {
        let m = self.labels.len();
        let softness = vec![self.softness; m];
        let gram = if self.on_demand {
            let rows = KernelRows::new(&self.inputs, m, Kernel::Linear, 1.0, 50).expect("rows");
            Gram::computed(Arc::new(rows), 0.0, softness)
        } else {
            Gram::new(&self.gram, 0.0, softness)
        };
        let space = VersionSpace::new(gram.expect("a matrix"), self.labels.clone());
        let inverse = self
            .inverse
            .as_ref()
            .map(|(columns, diagonal)| Inverse::new(columns, diagonal).expect("an inverse"));
        work(&space.expect("a space"), inverse)
    }

    fn here(&self, settings: &Settings) -> Outcome {
        self.with(|space, inverse| run_with(space, settings, inverse, &Control::new()))
            .expect("a good run")
    }

    fn there(&self, settings: &Settings, others: Others) -> bayespoint::Result<Outcome> {
        self.with(|space, inverse| {
            run_elsewhere(space, settings, inverse, None, Box::new(others), &Control::new())
        })
    }
}

/// Others who take every step `times` times, as where the first to take it are lost.
struct Others {
    problem: Problem,
    times: usize,
    steps: Arc<AtomicUsize>,
}

impl Others {
    fn of(problem: &Problem) -> Self {
        Self { problem: problem.clone(), times: 1, steps: Arc::default() }
    }
}

impl Elsewhere for Others {
    fn take(
        &self,
        order: State,
        trajectories: Vec<State>,
        control: &Control,
    ) -> bayespoint::Result<Vec<State>> {
        self.problem.with(|space, inverse| {
            let mut taken = Vec::new();
            for state in trajectories {
                for _ in 1..self.times {
                    take_step(space, inverse, &order, &state, control)?;
                }
                taken.push(take_step(space, inverse, &order, &state, control)?);
                self.steps.fetch_add(1, Ordering::Relaxed);
            }
            Ok(taken)
        })
    }
}

fn assert_same(a: &Outcome, b: &Outcome, what: &str) {
    // All numbers are written with as many digits as tell them apart.
    assert!(format!("{a:?}") == format!("{b:?}"), "{what}");
}

fn settings() -> Settings {
    Settings { n_draws: 20, seed: seed(5), ..Settings::default() }
}

#[test]
fn the_same_bits_come_from_elsewhere() {
    let soft = Problem::new(40, 0.2, 1);
    let hard = Problem::new(40, 0.0, 2);
    let many = Problem { on_demand: true, ..Problem::new(1_100, 0.0, 3) };
    let half = Mirror { negative: 0.2, positive: 0.1 };
    let length = |length| Settings { length: Some(length), tol: None, ..settings() };
    let cases = [
        ("to a tolerance", &soft, settings()),
        ("conditional means", &soft.clone().inverted(), settings()),
        (
            "conditional means to a number of bounces",
            &soft.clone().inverted(),
            Settings { tol: None, max_bounces: Some(3_000), ..settings() },
        ),
        ("hard walls", &hard, settings()),
        ("a length", &hard, length(20.0)),
        ("no refresh", &hard, Settings { refresh: RefreshChoice::None, ..length(20.0) }),
        ("half-silvered", &soft, Settings { mirror: half, ..settings() }),
        ("one trajectory", &soft, Settings { n_trajectories: 1, ..settings() }),
        (
            "cut short",
            &soft,
            Settings { max_bounces: Some(777), length: Some(1e3), tol: Some(1e-9), ..settings() },
        ),
        ("near walls", &many, length(0.3)),
        (
            "from a point",
            &hard,
            Settings { start: Some(hard.here(&length(1.0)).center), ..settings() },
        ),
    ];
    for (what, problem, settings) in cases {
        let others = Others { times: 2, ..Others::of(problem) };
        let steps = Arc::clone(&others.steps);
        let there = problem.there(&settings, others).expect("a good run");
        assert_same(&problem.here(&settings), &there, what);
        assert!(steps.load(Ordering::Relaxed) >= 3 * settings.n_trajectories, "{what}");
    }
}

/// A run that was elsewhere goes on here, and the other way round.
#[test]
fn runs_go_on_here_and_there() {
    let problem = Problem::new(40, 0.2, 4).inverted();
    let first = Settings { length: Some(3.0), tol: None, first_length: Some(3.0), ..settings() };
    let longer = Settings { length: Some(10.0), ..first.clone() };
    let whole = problem.here(&longer);
    for starts_here in [true, false] {
        let begun = if starts_here {
            problem.here(&first)
        } else {
            problem.there(&first, Others::of(&problem)).expect("a good run")
        };
        let (m, q) = (begun.center.len(), begun.watched.len());
        let mut state = begun.state.clone().expect("a state");
        // The draws that it goes on with: of those that came out as many as it keeps.
        state.draws.clear();
        state.functionals.clear();
        for (t, &kept) in state.kept.iter().enumerate() {
            let kept = usize::try_from(kept).expect("small");
            let at = t * begun.n_draws;
            state.draws.extend(&begun.draws[at * m..(at + kept) * m]);
            state.functionals.extend(&begun.functionals[at * q..(at + kept) * q]);
        }
        state.held.clone_from(&state.kept);
        let control = Control::new();
        let ended = problem.with(|space, inverse| {
            if starts_here {
                let others = Box::new(Others::of(&problem));
                run_elsewhere(space, &longer, inverse, Some(&state), others, &control)
            } else {
                resume(space, &longer, inverse, &state, &control)
            }
        });
        assert_same(
            &whole,
            &ended.expect("a good run"),
            if starts_here { "there" } else { "here" },
        );
    }
}

/// A state that is asked for is given between two steps.
#[test]
fn states_are_given_between_steps() {
    struct Asking(Others, Mutex<usize>);
    impl Elsewhere for Asking {
        fn take(
            &self,
            order: State,
            trajectories: Vec<State>,
            control: &Control,
        ) -> bayespoint::Result<Vec<State>> {
            let mut steps = self.1.lock().expect("one thread");
            *steps += 1;
            if *steps == 5 {
                control.ask_for_state();
            }
            self.0.take(order, trajectories, &Control::new())
        }
    }
    let problem = Problem::new(40, 0.2, 6).inverted();
    let settings = Settings { tol: Some(0.02), ..settings() };
    let states = Arc::new(Mutex::new(Vec::new()));
    let keeper = Arc::clone(&states);
    let control = Control::new().kept_by(move |state| keeper.lock().expect("fine").push(state));
    let asking = Box::new(Asking(Others::of(&problem), Mutex::new(0)));
    let whole = problem
        .with(|space, inverse| run_elsewhere(space, &settings, inverse, None, asking, &control))
        .expect("a good run");
    let states = states.lock().expect("fine");
    assert_eq!(states.len(), 1);
    let ended = problem
        .with(|space, inverse| resume(space, &settings, inverse, &states[0], &Control::new()))
        .expect("a state that fits");
    assert_same(&whole, &ended, "from a state of a run elsewhere");
    assert_same(&whole, &problem.here(&settings), "whole");
}

#[test]
fn what_cannot_be_is_refused() {
    let problem = Problem::new(10, 0.2, 7);
    for motion in [
        Motion::Scattered { cosine: true, scatterer: None },
        Motion::Flipper { tau_max: 1e3, points: Points::Midpoints },
    ] {
        let settings = Settings { motion, ..settings() };
        let found = problem.there(&settings, Others::of(&problem));
        assert!(matches!(found, Err(Error::Invalid { name: "motion", .. })), "{found:?}");
    }
    struct Few(Others);
    impl Elsewhere for Few {
        fn take(
            &self,
            order: State,
            mut trajectories: Vec<State>,
            control: &Control,
        ) -> bayespoint::Result<Vec<State>> {
            trajectories.pop();
            self.0.take(order, trajectories, control)
        }
    }
    let few = Box::new(Few(Others::of(&problem)));
    let found = problem.with(|space, inverse| {
        run_elsewhere(space, &settings(), inverse, None, few, &Control::new())
    });
    assert!(matches!(found, Err(Error::Invalid { name: "state", .. })), "{found:?}");
}
