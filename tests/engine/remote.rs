//! Runs by a remote executor have the bits of local runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bayespoint::dynamics::Motion;
use bayespoint::{
    Control, Error, Mirror, Outcome, RefreshChoice, RemoteExecutor, Settings, resume, run_remotely,
    run_with, take_step,
};

use crate::common::states::{Owned, complete};
use crate::common::{assert_same, normals, rng, seed};

const DIMENSION: usize = 3;

fn problem(m: usize, softness: f64, index: u64) -> Owned {
    let inputs = normals(DIMENSION * m, &mut rng(index));
    let label = |x: &[f64]| if x[0] + 0.3 * x[1] > 0.0 { 1 } else { -1 };
    let labels = inputs.chunks_exact(DIMENSION).map(label).collect();
    Owned::new(inputs, DIMENSION, labels, softness)
}

fn here(problem: &Owned, settings: &Settings) -> Outcome {
    problem
        .with(|space, inverse| run_with(space, settings, inverse, &Control::new()))
        .expect("a good run")
}

fn there(problem: &Owned, settings: &Settings, others: &Others) -> bayespoint::Result<Outcome> {
    problem.with(|space, inverse| {
        run_remotely(space, settings, inverse, None, others, &Control::new())
    })
}

/// An executor that takes every step `times` times, as if earlier workers were lost.
struct Others {
    problem: Owned,
    times: usize,
    steps: Arc<AtomicUsize>,
}

impl Others {
    fn of(problem: &Owned) -> Self {
        Self { problem: problem.clone(), times: 1, steps: Arc::default() }
    }
}

impl RemoteExecutor for Others {
    fn take(
        &self,
        order: Vec<u8>,
        trajectories: Vec<Vec<u8>>,
        control: &Control,
    ) -> bayespoint::Result<Vec<Vec<u8>>> {
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

/// An executor that calls a function before each batch of steps.
struct Hook<F>(Others, F);

impl<F: Fn(&mut Vec<Vec<u8>>, &Control) + Send + Sync> RemoteExecutor for Hook<F> {
    fn take(
        &self,
        order: Vec<u8>,
        mut trajectories: Vec<Vec<u8>>,
        control: &Control,
    ) -> bayespoint::Result<Vec<Vec<u8>>> {
        (self.1)(&mut trajectories, control);
        self.0.take(order, trajectories, &Control::new())
    }
}

fn settings() -> Settings {
    Settings { n_draws: 20, seed: seed(5), ..Settings::default() }
}

#[test]
fn other_processes_give_the_same_bits() {
    let soft = problem(40, 0.2, 1);
    let hard = problem(40, 0.0, 2);
    let many = problem(1_100, 0.0, 3).of_features();
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
            Settings { start: Some(here(&hard, &length(1.0)).center.dual), ..settings() },
        ),
    ];
    for (what, problem, settings) in cases {
        let others = Others { times: 2, ..Others::of(problem) };
        let steps = Arc::clone(&others.steps);
        let there = there(problem, &settings, &others).expect("a good run");
        assert_same(&here(problem, &settings), &there, what);
        assert!(steps.load(Ordering::Relaxed) >= 3 * settings.n_trajectories, "{what}");
    }
}

/// Remote runs can be continued locally, and local ones remotely.
#[test]
fn runs_go_on_here_and_there() {
    let problem = problem(40, 0.2, 4).inverted();
    let first = Settings { length: Some(3.0), tol: None, first_length: Some(3.0), ..settings() };
    let longer = Settings { length: Some(10.0), ..first.clone() };
    let whole = here(&problem, &longer);
    for starts_here in [true, false] {
        let begun = if starts_here {
            here(&problem, &first)
        } else {
            there(&problem, &first, &Others::of(&problem)).expect("a good run")
        };
        let (state, control) = (complete(&begun), Control::new());
        let ended = problem.with(|space, inverse| {
            if starts_here {
                let others = Others::of(&problem);
                run_remotely(space, &longer, inverse, Some(&state), &others, &control)
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

/// A state can be requested between two steps.
#[test]
fn states_are_given_between_steps() {
    let problem = problem(40, 0.2, 6).inverted();
    let settings = Settings { tol: Some(0.02), ..settings() };
    let states = Arc::new(Mutex::new(Vec::new()));
    let keeper = Arc::clone(&states);
    let control = Control::new().kept_by(move |state| keeper.lock().expect("fine").push(state));
    let steps = AtomicUsize::new(0);
    let asking = Hook(Others::of(&problem), move |_: &mut Vec<_>, control: &Control| {
        if steps.fetch_add(1, Ordering::Relaxed) == 4 {
            control.ask_for_state();
        }
    });
    let whole = problem
        .with(|space, inverse| run_remotely(space, &settings, inverse, None, &asking, &control))
        .expect("a good run");
    let states = states.lock().expect("fine");
    assert_eq!(states.len(), 1);
    let ended = problem
        .with(|space, inverse| resume(space, &settings, inverse, &states[0], &Control::new()))
        .expect("a state that fits");
    assert_same(&whole, &ended, "from a state of a remote run");
    assert_same(&whole, &here(&problem, &settings), "whole");
}

#[test]
fn unsupported_motions_and_missing_trajectories_are_errors() {
    let problem = problem(10, 0.2, 7);
    for motion in
        [Motion::Scattered { cosine: true, scatterer: None }, Motion::Flipper { tau_max: 1e3 }]
    {
        let settings = Settings { motion, ..settings() };
        let found = there(&problem, &settings, &Others::of(&problem));
        assert!(matches!(found, Err(Error::Invalid { name: "motion", .. })), "{found:?}");
    }
    let pop = |trajectories: &mut Vec<_>, _: &Control| drop(trajectories.pop());
    let few = Hook(Others::of(&problem), pop);
    let found = problem.with(|space, inverse| {
        run_remotely(space, &settings(), inverse, None, &few, &Control::new())
    });
    assert!(matches!(found, Err(Error::Invalid { name: "state", .. })), "{found:?}");
}
