//! Steps of a remote executor with hostile orders.

use std::sync::{Arc, Mutex, OnceLock};

use bayespoint::{
    Control, Error, RefreshChoice, RemoteExecutor, Settings, run_remotely, take_step,
};

use super::states::{case, spoil_bytes};
use super::{Bytes, short_deadline, trace};
use crate::common::states::Owned;

/// A problem, an order and a trajectory.
type Step = (Owned, Vec<u8>, Vec<u8>);

/// Returns the steps that some runs requested from an executor.
fn steps() -> &'static [Step] {
    static STEPS: OnceLock<Vec<Step>> = OnceLock::new();

    struct Recorder(Owned, Arc<Mutex<Vec<Step>>>);

    impl RemoteExecutor for Recorder {
        fn take(
            &self,
            order: Vec<u8>,
            trajectories: Vec<Vec<u8>>,
            control: &Control,
        ) -> Result<Vec<Vec<u8>>, Error> {
            let mut seen = self.1.lock().expect("no panic");
            seen.push((self.0.clone(), order.clone(), trajectories[0].clone()));
            self.0.with(|space, inverse| {
                let step = |bytes: &Vec<u8>| take_step(space, inverse, &order, bytes, control);
                trajectories.iter().map(step).collect()
            })
        }
    }

    STEPS.get_or_init(|| {
        let seen = Arc::default();
        for case in [case(0.0), case(0.3), case(0.0).of_features()] {
            for refresh in [RefreshChoice::Auto, RefreshChoice::Pair(None)] {
                let settings = Settings {
                    n_draws: 3,
                    tol: Some(0.5),
                    max_bounces: Some(60),
                    burn_in: Some(0.5),
                    refresh,
                    seed: 1,
                    ..Settings::default()
                };
                let recorder = Recorder(case.clone(), Arc::clone(&seen));
                case.with(|space, inverse| {
                    run_remotely(space, &settings, inverse, None, &recorder, &Control::new())
                })
                .expect("a good run");
            }
        }
        Arc::into_inner(seen).expect("the runs are over").into_inner().expect("no panic")
    })
}

/// Takes a step with a modified order or trajectory.
pub fn step(bytes: &mut Bytes<'_>) -> Result<(), Error> {
    let all = steps();
    let (case, order, state) = &all[bytes.below(all.len())];
    let (mut order, mut state) = (order.clone(), state.clone());
    spoil_bytes(if bytes.rarely(2) { &mut order } else { &mut state }, bytes);
    trace(&(&order, &state));
    // The order may request a long path.
    match case.with(|space, inverse| take_step(space, inverse, &order, &state, &short_deadline())) {
        Err(Error::Interrupted) => Ok(()),
        result => result.map(drop),
    }
}
