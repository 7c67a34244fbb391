//! Tests of `trajectory::event_loop` that need its private parts.

use super::{LATEST, Trajectory};
use crate::ball::Ball;
use crate::base::{Control, random};
use crate::gram::Gram;
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::refresh::Refresh;

fn quadrant() -> VersionSpace<'static> {
    let gram = Gram::new(&[1.0, 0.0, 0.0, 1.0], 0.0, vec![0.0; 2]).expect("a matrix");
    VersionSpace::new(gram, vec![1, 1]).expect("a space")
}

fn trajectory<'s>(space: &'s VersionSpace<'s>) -> Trajectory<'s, Geodesic> {
    let control = Control::new();
    let ball = Ball::new(space.gram(), &[0.6, 0.8], &[0.8, -0.6], &control).expect("a ball");
    Trajectory::new(space, Geodesic, ball, random::stream(7, 0))
}

/// A forged state may have counts that no run has.
#[test]
fn counts_of_states_are_in_range() {
    let space = quadrant();
    let restored = |since, delay| {
        let mut state = trajectory(&space).state();
        (state.4, state.5) = (since, delay);
        Trajectory::restored(&space, (Mirror::HARD, &Refresh::None), state).is_ok()
    };
    assert!(restored(0, 1) && restored(10, LATEST));
    for (since, delay) in [(usize::MAX, 1), (0, 0), (0, LATEST + 1), (usize::MAX, 0)] {
        assert!(!restored(since, delay), "{since} {delay}");
    }
}

/// Without drift re-projections become rarer.
#[test]
fn the_delay_doubles_while_there_is_no_drift() {
    let space = quadrant();
    let mut trajectory = trajectory(&space);
    let mut delay = || {
        trajectory.reproject(&Control::new()).expect("no drift");
        trajectory.state().5
    };
    assert_eq!([delay(), delay(), delay(), delay()], [2, 4, 8, LATEST]);
}
