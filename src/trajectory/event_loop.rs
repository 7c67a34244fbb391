//! The event loop of one trajectory.

use super::dynamics::{Arrival, Dynamics, Geodesic};
use super::observer::Observer;
use super::refresh::Refresh;
use super::tally::{Goal, Tally, Until};
use crate::ball::Ball;
use crate::base::{Control, Result, Stream, ensure, random, require_sound};
use crate::space::{Mirror, Transparency, VersionSpace, Violations};

/// Events between two re-projections: their O(m²) work is about a fifteenth of the bounces' O(m), and on a Gram
/// matrix of condition 1e8 the norms still hold to 1e-10 (1e-9 with fresh directions, which are rounded to that).
const REPROJECT_EVERY: usize = 256;
const REPROJECT_EVERY_PER_PLANE: usize = 10;
/// Drift below which the interval to the next re-projection doubles, and the largest factor.
const NO_DRIFT: f64 = 1e-12;
const LATEST: usize = 8;

/// Consecutive checks without any path after which a ball is stuck. Leaving a wedge of angle 1e-6 takes three million bounces.
const STUCK: usize = 200_000;

const CHECK_EVERY: usize = 32;

/// A ball with its dynamics, walls, refresh and random stream.
pub struct Trajectory<'s, D> {
    space: &'s VersionSpace<'s>,
    dynamics: D,
    rng: Stream,
    ball: Ball,
    mirror: Mirror,
    refresh: Refresh<'s>,
    /// Radians to the next refresh.
    clock: f64,
    violated: Violations,
    since_reprojection: usize,
    /// Factor on the smallest interval between re-projections.
    reprojection_delay: usize,
    tally: Tally,
}

/// The stored form: random stream, ball, radians to the next refresh, violated examples of both classes, events since the last
/// re-projection, factor on the interval to the next, and counters. The problem, the dynamics and the settings are left out.
pub type TrajectoryState = (Vec<u8>, Ball, f64, [u32; 2], usize, usize, Tally);

impl<'s> Trajectory<'s, Geodesic> {
    pub(crate) fn restored(
        space: &'s VersionSpace<'s>,
        (mirror, refresh): (Mirror, &Refresh<'s>),
        (rng, ball, clock, said, since, delay, tally): TrajectoryState,
    ) -> Result<Self> {
        let ball = ball.restored(space.gram())?;
        let mut trajectory = Self::new(space, Geodesic, ball, random::restored(&rng)?);
        trajectory.set_mirror(mirror);
        let seen = trajectory.violated.examples;
        ensure(seen == said && trajectory.caught(), "one that violates other examples")?;
        ensure(clock >= 0.0, "one with a refresh in the past")?;
        let in_range = since <= usize::MAX >> 16 && (1..=LATEST).contains(&delay);
        ensure(in_range, "one with counts that are out of range")?;
        tally.check(space.len())?;
        (trajectory.refresh, trajectory.clock) = (refresh.clone(), clock);
        (trajectory.since_reprojection, trajectory.reprojection_delay) = (since, delay);
        trajectory.tally = tally;
        Ok(trajectory)
    }
}

impl<'s, D: Dynamics> Trajectory<'s, D> {
    /// Starts a trajectory with hard walls and without refresh.
    pub fn new(space: &'s VersionSpace<'s>, dynamics: D, ball: Ball, rng: Stream) -> Self {
        Self {
            space,
            dynamics,
            rng,
            mirror: Mirror::HARD,
            refresh: Refresh::None,
            clock: f64::INFINITY,
            violated: Violations::at(space, ball.f()),
            ball,
            since_reprojection: 0,
            reprojection_delay: 1,
            tally: Tally::new(space.len()),
        }
    }

    pub(crate) fn state(&self) -> TrajectoryState {
        (
            random::state(&self.rng),
            self.ball.clone(),
            self.clock,
            self.violated.examples,
            self.since_reprojection,
            self.reprojection_delay,
            self.tally.clone(),
        )
    }

    pub(crate) fn refresh(&self) -> &Refresh<'s> {
        &self.refresh
    }

    /// Returns the ball under another dynamics, with the same mirrors and refresh and an empty tally.
    pub(crate) fn under<E: Dynamics>(self, dynamics: E) -> Trajectory<'s, E> {
        let mut other = Trajectory::new(self.space, dynamics, self.ball, self.rng);
        other.set_mirror(self.mirror);
        (other.refresh, other.clock) = (self.refresh, self.clock);
        other.reset();
        other
    }

    /// Returns the ball, launched by another dynamics, with an empty tally. Errors as [`Dynamics::launch`].
    pub fn launched_by<E: Dynamics>(
        self,
        dynamics: E,
        control: &Control,
    ) -> Result<Trajectory<'s, E>> {
        let mut other = self.under(dynamics);
        other.set_refresh(Refresh::None);
        other.relaunch(control)?;
        other.reset();
        Ok(other)
    }

    /// Returns the dynamics.
    pub fn dynamics(&self) -> &D {
        &self.dynamics
    }

    /// Returns the ball.
    pub fn ball(&self) -> &Ball {
        &self.ball
    }

    /// Returns the ball for changes.
    pub fn ball_mut(&mut self) -> &mut Ball {
        &mut self.ball
    }

    /// Returns the counters since the last [`Trajectory::reset`].
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the version space.
    pub fn space(&self) -> &'s VersionSpace<'s> {
        self.space
    }

    /// Returns the number of violated planes.
    pub fn violated(&self) -> u32 {
        self.violated.examples.iter().sum()
    }

    /// Returns whether no plane with a hard wall is violated: the ball can no longer leave version space.
    pub fn caught(&self) -> bool {
        (0..2).all(|class| self.violated.examples[class] == 0 || self.mirror.0[class] > 0.0)
    }

    #[inline]
    fn is_done(&self, until: Until) -> bool {
        match until {
            Until::Never => false,
            Until::Satisfied => self.violated() == 0,
            Until::Caught => self.caught(),
            Until::Ended => self.dynamics.has_ended(),
        }
    }

    /// Returns the random stream, for use with another ball.
    pub(crate) fn into_rng(self) -> Stream {
        self.rng
    }

    /// Changes the mirrors.
    pub fn set_mirror(&mut self, mirror: Mirror) {
        self.mirror = mirror;
    }

    /// Changes the refresh and draws the time of the next one, which a Poisson process allows at any time.
    pub fn set_refresh(&mut self, refresh: Refresh<'s>) {
        self.refresh = refresh;
        self.clock = self.refresh.draw_clock(&mut self.rng);
    }

    /// Resets the tally and the integrals.
    pub fn reset(&mut self) {
        self.tally = Tally::new(self.space.len());
        self.ball.begin_path();
        self.dynamics.reset();
    }

    /// Runs events until a goal is reached, or until the time is over. [`crate::Error::Interrupted`],
    /// [`crate::Error::Breakdown`] found at a re-projection, or what [`Dynamics::launch`] returns.
    pub fn run(&mut self, goal: Goal, control: &Control) -> Result<()> {
        self.run_observed(goal, &mut (), control)
    }

    /// As [`Trajectory::run`], with an observer of all flights. Errors as [`Trajectory::run`].
    pub fn run_observed(
        &mut self,
        goal: Goal,
        observer: &mut impl Observer,
        control: &Control,
    ) -> Result<()> {
        let mirror = self.mirror;
        self.run_among(&mirror, goal, observer, control)
    }

    /// As [`Trajectory::run_observed`], among other walls than those of the mirror. Errors as [`Trajectory::run`].
    pub fn run_among(
        &mut self,
        walls: &impl Transparency,
        goal: Goal,
        observer: &mut impl Observer,
        control: &Control,
    ) -> Result<()> {
        let reproject_every =
            REPROJECT_EVERY.max(REPROJECT_EVERY_PER_PLANE.saturating_mul(self.space.len()));
        let mut since_check = 0;
        let (mut path_seen, mut stuck) = (self.tally.path, 0);
        let mut reported = self.tally.bounces;
        while self.tally.path < goal.path
            && self.tally.arrivals() < goal.arrivals
            && !self.is_done(goal.until)
        {
            if since_check == CHECK_EVERY {
                control.check()?;
                stuck = if self.tally.path > path_seen { 0 } else { stuck + 1 };
                path_seen = self.tally.path;
                let to_wall = self.ball.to_wall();
                require_sound(stuck < STUCK, "flight of a ball that is stuck", to_wall)?;
                control.count_bounces(self.tally.bounces - reported);
                (since_check, reported) = (0, self.tally.bounces);
                if control.is_out_of_time() {
                    return Ok(());
                }
            }
            since_check += 1;
            self.since_reprojection += 1;
            if self.since_reprojection >= reproject_every * self.reprojection_delay {
                self.reproject(control)?;
            }
            self.event(walls, goal.path, observer, control)?;
        }
        control.count_bounces(self.tally.bounces - reported);
        Ok(())
    }

    /// Recomputes the ball from its dual coefficients and tallies the drift found. Errors as [`Ball::reproject`].
    pub fn reproject(&mut self, control: &Control) -> Result<()> {
        let drift = self.ball.reproject(self.space.gram(), control)?;
        self.tally.drift = self.tally.drift.max(drift);
        self.reprojection_delay =
            if drift < NO_DRIFT { LATEST.min(2 * self.reprojection_delay) } else { 1 };
        let agrees = self.violated.agrees(self.space, self.ball.f());
        let what = "violated examples of a ball that has not met their walls";
        require_sound(agrees, what, f64::from(self.violated()))?;
        self.since_reprojection = 0;
        Ok(())
    }

    #[cold]
    fn relaunch(&mut self, control: &Control) -> Result<()> {
        let drift = self.dynamics.launch(&mut self.ball, self.space, &mut self.rng, control)?;
        self.tally.drift = self.tally.drift.max(drift);
        self.since_reprojection = 0;
        Ok(())
    }

    /// Runs one flight to the next arrival, the next refresh or the end of the path, or launches the ball if it has escaped.
    #[inline]
    fn event(
        &mut self,
        walls: &impl Transparency,
        end: f64,
        observer: &mut impl Observer,
        control: &Control,
    ) -> Result<()> {
        let gram = self.space.gram();
        let Some(to_wall) = self.dynamics.flight(&self.ball) else {
            return self.relaunch(control);
        };
        let to_end = end - self.tally.path;
        let flight = to_wall.min(self.clock).min(to_end);
        observer.flies(&self.ball, gram, (self.tally.path, flight), self.violated.layer);
        self.tally.violations += f64::from(self.violated()) * flight;
        if to_wall <= self.clock && to_wall <= to_end {
            self.tally.path += flight;
            self.clock -= flight;
            self.arrive(walls, observer);
        } else if self.clock <= to_end {
            self.tally.path += flight;
            self.refresh.apply(&mut self.ball, gram, flight, &mut self.rng, control)?;
            self.dynamics.flew(flight);
            self.tally.refreshes += 1;
            self.clock = self.refresh.draw_clock(&mut self.rng);
        } else {
            // Assigned rather than added, so that the path ends exactly at its end.
            self.tally.path = end;
            self.clock -= flight;
            self.ball.fly(gram, flight);
            self.dynamics.flew(flight);
        }
        Ok(())
    }

    /// Returns the probability that the next wall lets the ball through.
    #[inline]
    fn transparency(&self, walls: &impl Transparency) -> f64 {
        let plane = self.ball.next_wall().plane;
        if self.violated.makes_no_difference(self.space, plane) {
            // No wall, or one of an example that is violated on both sides or where the ball comes from.
            return 1.0;
        }
        walls.transparency(self.space, plane, self.ball.f()[plane], self.violated.layer)
    }

    #[inline]
    fn arrive(&mut self, walls: &impl Transparency, observer: &mut impl Observer) {
        let transparency = self.transparency(walls);
        observer.arrives(&self.ball, self.space);
        match self.dynamics.arrive(&mut self.ball, self.space, transparency, &mut self.rng) {
            Arrival::Bounce { plane, impulse } => {
                self.tally.bounces += 1;
                self.tally.hits[plane] += 1;
                self.tally.impulses[plane] += impulse;
            }
            Arrival::Crossing { plane } => {
                self.tally.crossings += 1;
                self.violated.cross(self.space, plane, self.ball.f()[plane]);
            }
            Arrival::Turn => {}
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/trajectory/event_loop.rs"]
mod tests;
