//! The event loop of one trajectory.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::ball::{Ball, LayerIntegral};
use crate::base::{Control, Error, Result, RngState, ensure};
use crate::space::{LayerRange, LayerWalls, Mirror, RayBeyond, VersionSpace};
use crate::trajectory::dynamics::{Arrival, Dynamics, DynamicsState, RunningCenter};
use crate::trajectory::recorder::Recorder;
use crate::trajectory::refresh::Refresh;
use crate::trajectory::tally::{Goal, Layers, Tally, Until};

/// Events between two re-projections: their O(m²) work is about a fifteenth of the bounces' O(m), and on a Gram
/// matrix of condition 1e8 the norms still hold to 1e-10 (1e-9 with fresh directions, which are rounded to that).
const REPROJECT_EVERY: usize = 256;
const REPROJECT_EVERY_PER_PLANE: usize = 10;
/// Drift below which the interval to the next re-projection doubles, and the largest factor.
const NO_DRIFT: f64 = 1e-12;
const LATEST: usize = 8;

/// Consecutive checks of the stop flag without any gain of path after which the ball counts as stuck. Leaving a wedge of
/// angle 1e-6 takes three million bounces.
const STUCK: usize = 200_000;

/// Consecutive escapes after which no flight is expected to reach a wall.
const MOST_ESCAPES: u32 = 2_000;

/// Events between two checks of the stop flag.
const CHECK_EVERY: usize = 32;

/// How [`Trajectory::run_pausing`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The goal is reached, or only the last flight to it is left.
    AtGoal,
    /// Paused before the goal, because a state of the run was requested.
    Paused,
}

/// A ball with its dynamics, walls, refresh and random stream.
#[derive(Debug)]
pub struct Trajectory<'s, D> {
    space: &'s VersionSpace<'s>,
    dynamics: D,
    rng: ChaCha8Rng,
    ball: Ball,
    mirror: Mirror,
    refresh: Refresh<'s>,
    /// Radians to the next refresh.
    clock: f64,
    /// Walls whose transparency depends on the layer; they replace the mirror.
    walls: Option<Arc<LayerWalls>>,
    /// Arc integrals of the layers, if they are computed.
    kept: Option<LayerRange>,
    /// Rays beyond the walls, if they are integrated too.
    beyond: Option<RayBeyond>,
    /// Number of violated planes with label -1 and with label +1.
    violated: [u32; 2],
    /// The same, counting planes that coincide as on the same side.
    layer: [u32; 2],
    /// Number of violated walls of each example, if there are several classes.
    violated_walls: Vec<u32>,
    since_reprojection: usize,
    /// Factor on the smallest interval between re-projections.
    reprojection_delay: usize,
    /// Escapes since the last arrival.
    escapes_in_a_row: u32,
    tally: Tally,
    recorder: Option<Recorder>,
}

/// The stored form of a trajectory. It leaves out the problem, the mirrors, the settings of the dynamics, the refresh and the
/// draws. Layers and rays are not stored: only runs without them can be continued.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TrajectoryState {
    rng: RngState,
    ball: Ball,
    dynamics: DynamicsState,
    clock: f64,
    violated: [u32; 2],
    since_reprojection: usize,
    reprojection_delay: usize,
    escapes_in_a_row: u32,
    tally: Tally,
    /// [`Recorder::schedule`].
    record: Option<(f64, u64)>,
}

impl<'s, D: Dynamics> Trajectory<'s, D> {
    /// Starts a trajectory with hard walls and without refresh.
    pub fn new(space: &'s VersionSpace<'s>, dynamics: D, ball: Ball, rng: ChaCha8Rng) -> Self {
        let (violated, layer) = (space.violations(ball.f()), space.layer(ball.f()));
        let violated_walls = space.violated_walls(ball.f());
        Self {
            space,
            dynamics,
            rng,
            ball,
            mirror: Mirror::HARD,
            refresh: Refresh::None,
            clock: f64::INFINITY,
            walls: None,
            kept: None,
            beyond: None,
            violated,
            layer,
            violated_walls,
            since_reprojection: 0,
            reprojection_delay: 1,
            escapes_in_a_row: 0,
            tally: Tally::new(space.len()),
            recorder: None,
        }
    }

    /// Returns the stored form.
    pub(crate) fn state(&self) -> TrajectoryState {
        TrajectoryState {
            rng: RngState::of(&self.rng),
            ball: self.ball.clone(),
            dynamics: self.dynamics.state(),
            clock: self.clock,
            violated: self.violated,
            since_reprojection: self.since_reprojection,
            reprojection_delay: self.reprojection_delay,
            escapes_in_a_row: self.escapes_in_a_row,
            tally: self.tally.clone(),
            record: self.recorder.as_ref().map(Recorder::schedule),
        }
    }

    /// Restores a trajectory, with the given draws and functionals of the `watched` planes if it keeps a record.
    pub(crate) fn restored(
        space: &'s VersionSpace<'s>,
        mut dynamics: D,
        (mirror, refresh): (Mirror, &Refresh<'s>),
        (watched, draws): (&[usize], (&[f64], &[f64])),
        stored: TrajectoryState,
    ) -> Result<Self> {
        let ball = stored.ball.restored(space.gram())?;
        dynamics.restore(stored.dynamics)?;
        let mut trajectory = Self::new(space, dynamics, ball, stored.rng.restored()?);
        trajectory.set_mirror(mirror);
        ensure(stored.violated == trajectory.violated && trajectory.caught(), || {
            let (seen, said) = (trajectory.violated, stored.violated);
            format!("one that violates {seen:?} examples of the classes instead of {said:?}")
        })?;
        ensure(stored.clock >= 0.0, || "one with a refresh in the past")?;
        ensure(
            stored.since_reprojection <= usize::MAX >> 16
                && (1..=LATEST).contains(&stored.reprojection_delay)
                && stored.escapes_in_a_row <= MOST_ESCAPES,
            || "one with counts that are out of range",
        )?;
        stored.tally.check(space.len())?;
        let path = stored.tally.path;
        let restored = |schedule| Recorder::restored(schedule, watched, space.gram(), draws, path);
        trajectory.recorder = stored.record.map(restored).transpose()?;
        (trajectory.refresh, trajectory.clock) = (refresh.clone(), stored.clock);
        trajectory.since_reprojection = stored.since_reprojection;
        trajectory.reprojection_delay = stored.reprojection_delay;
        trajectory.escapes_in_a_row = stored.escapes_in_a_row;
        trajectory.tally = stored.tally;
        Ok(trajectory)
    }

    /// Returns the refresh.
    pub(crate) fn refresh(&self) -> &Refresh<'s> {
        &self.refresh
    }

    /// Returns the ball under another dynamics, with the same mirrors and refresh and an empty tally.
    pub(crate) fn under<E: Dynamics>(mut self, dynamics: E) -> Trajectory<'s, E> {
        // Another dynamics may have a center that depends on all planes.
        self.ball.use_all_planes(self.space.gram());
        let mut other = Trajectory::new(self.space, dynamics, self.ball, self.rng);
        other.set_mirror(self.mirror);
        (other.refresh, other.clock) = (self.refresh, self.clock);
        other.reset(None);
        other
    }

    /// Returns the ball, launched by another dynamics, with an empty tally.
    ///
    /// # Errors
    ///
    /// As [`Dynamics::launch`].
    pub fn launched_by<E: Dynamics>(
        self,
        dynamics: E,
        control: &Control,
    ) -> Result<Trajectory<'s, E>> {
        let mut other = self.under(dynamics);
        other.set_refresh(Refresh::None);
        other.dynamics.launch(&mut other.ball, other.space, &mut other.rng, control)?;
        other.reset(None);
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

    /// Returns the record, if there is one.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Records the present position, for paths too short for a draw.
    pub(crate) fn record_here(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(&self.ball, self.space.gram(), 0.0);
        }
    }

    /// Returns the version space.
    pub fn space(&self) -> &'s VersionSpace<'s> {
        self.space
    }

    pub(crate) fn recorder_mut(&mut self) -> Option<&mut Recorder> {
        self.recorder.as_mut()
    }

    /// Returns the number of violated planes.
    pub fn violated(&self) -> u32 {
        self.violated[0] + self.violated[1]
    }

    /// Returns whether no plane with a hard wall is violated: the ball can no longer leave version space.
    pub fn caught(&self) -> bool {
        (self.violated[0] == 0 || self.mirror.negative > 0.0)
            && (self.violated[1] == 0 || self.mirror.positive > 0.0)
    }

    #[inline]
    fn is_done(&self, until: Until) -> bool {
        match until {
            Until::Never => false,
            Until::Satisfied => self.violated() == 0,
            Until::Caught => self.caught(),
            Until::CenterConverged => {
                self.dynamics.running_center().is_some_and(RunningCenter::has_converged)
            }
        }
    }

    /// Returns the random stream, for use with another ball.
    pub(crate) fn into_rng(self) -> ChaCha8Rng {
        self.rng
    }

    /// Changes the mirrors.
    pub fn set_mirror(&mut self, mirror: Mirror) {
        self.mirror = mirror;
    }

    /// Replaces the mirror by walls that depend on the layer, or restores the mirror.
    pub(crate) fn set_walls(&mut self, walls: Option<Arc<LayerWalls>>) {
        self.walls = walls;
    }

    /// Starts to integrate the arc in every layer of a range. `beyond` adds the rays beyond the walls that are hit; the ball
    /// must then be inside hard walls. `None` stops the integration.
    pub(crate) fn keep_layers(&mut self, range: Option<LayerRange>, beyond: bool) {
        if beyond {
            // A ray beyond its wall can meet planes that are not in the neighbor list.
            self.ball.use_all_planes(self.space.gram());
        }
        let now = range.and_then(|range| range.index(self.layer));
        self.ball.keep_layers(range.map_or(0, |range| range.len()), now);
        self.kept = range;
        self.beyond = beyond.then(RayBeyond::default);
    }

    /// Returns the integrals of each layer since the last call.
    pub(crate) fn take_layer_integrals(&mut self) -> Vec<LayerIntegral> {
        self.ball.take_layers()
    }

    /// Changes the refresh and draws the time of the next one, which a Poisson process allows at any time.
    pub fn set_refresh(&mut self, refresh: Refresh<'s>) {
        self.refresh = refresh;
        self.clock = self.refresh.draw_clock(&mut self.rng);
    }

    /// Resets the tally and the integrals, and starts a record if one is given.
    pub fn reset(&mut self, recorder: Option<Recorder>) {
        self.tally = Tally::new(self.space.len());
        self.ball.lay_here(self.space.gram());
        self.ball.take_arc_integral();
        self.dynamics.reset();
        self.recorder = recorder;
    }

    /// As [`Trajectory::reset`] without a record; starts to count the path in every layer.
    pub fn reset_counting(&mut self) {
        self.reset(None);
        self.tally.layers = Some(Layers::new());
    }

    /// Returns the counts started by [`Trajectory::reset_counting`].
    pub fn take_layers(&mut self) -> Option<Layers> {
        self.tally.layers.take()
    }

    /// Runs events until a goal is reached.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Interrupted`], [`crate::Error::Breakdown`] found at a re-projection, or what
    /// [`Dynamics::launch`] returns.
    pub fn run(&mut self, goal: Goal, control: &Control) -> Result<()> {
        self.advance::<true, false>(goal, control).map(|_| ())
    }

    /// As [`Trajectory::run`], but stops early when a pause is requested.
    pub(crate) fn run_pausing(&mut self, goal: Goal, control: &Control) -> Result<Ended> {
        self.advance::<true, true>(goal, control)
    }

    /// As [`Trajectory::run_pausing`], but leaves out the last flight, which the goal would cut short. From there the path can
    /// be continued to any other goal.
    pub(crate) fn run_short(&mut self, goal: Goal, control: &Control) -> Result<Ended> {
        self.advance::<false, true>(goal, control)
    }

    /// The event loop.
    fn advance<const TO_THE_END: bool, const PAUSES: bool>(
        &mut self,
        goal: Goal,
        control: &Control,
    ) -> Result<Ended> {
        let gram = self.space.gram();
        let reproject_every =
            REPROJECT_EVERY.max(REPROJECT_EVERY_PER_PLANE.saturating_mul(gram.len()));
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
                if stuck >= STUCK {
                    let value = self.ball.to_wall();
                    return Err(Error::Breakdown { what: "flight of a ball that is stuck", value });
                }
                control.count_bounces(self.tally.bounces - reported);
                (since_check, reported) = (0, self.tally.bounces);
                if PAUSES && control.is_to_pause() {
                    return Ok(Ended::Paused);
                }
            }
            since_check += 1;
            if !TO_THE_END && self.ends_between_events(goal.path) {
                break;
            }
            self.since_reprojection += 1;
            if self.since_reprojection >= reproject_every * self.reprojection_delay {
                self.reproject(control)?;
            }
            self.event(goal.path, control)?;
        }
        control.count_bounces(self.tally.bounces - reported);
        Ok(Ended::AtGoal)
    }

    /// Returns whether the present flight leads beyond the end of the path without a refresh before it.
    #[inline]
    fn ends_between_events(&mut self, path_end: f64) -> bool {
        let to_end = path_end - self.tally.path;
        // No flight is longer than half a turn.
        to_end <= std::f64::consts::PI
            && self.clock > to_end
            && self.dynamics.flight(&self.ball).is_some_and(|flight| flight > to_end)
    }

    /// Recomputes the ball from its dual coefficients and tallies the drift found.
    ///
    /// # Errors
    ///
    /// As [`Ball::reproject`].
    pub fn reproject(&mut self, control: &Control) -> Result<()> {
        let drift = self.ball.reproject(self.space.gram(), control)?;
        self.tally.drift = self.tally.drift.max(drift);
        self.reprojection_delay =
            if drift < NO_DRIFT { LATEST.min(2 * self.reprojection_delay) } else { 1 };
        let f = self.ball.f();
        if self.violated != self.space.violations(f) || self.layer != self.space.layer(f) {
            let what = "violated examples of a ball that has not met their walls";
            return Err(Error::Breakdown { what, value: f64::from(self.violated()) });
        }
        self.since_reprojection = 0;
        Ok(())
    }

    /// Launches the ball again after an escape.
    #[cold]
    fn relaunch(&mut self, control: &Control) -> Result<()> {
        if self.escapes_in_a_row == MOST_ESCAPES {
            let got = "one that no flight reaches a wall in";
            return Err(Error::invalid("tau_max", got, "longer"));
        }
        self.escapes_in_a_row += 1;
        self.tally.escapes += 1;
        let drift = self.dynamics.launch(&mut self.ball, self.space, &mut self.rng, control)?;
        self.tally.drift = self.tally.drift.max(drift);
        self.since_reprojection = 0;
        Ok(())
    }

    /// Runs one flight to the next arrival, the next refresh or the end of the path, whichever is first, or launches the ball
    /// again if there is none.
    #[inline]
    fn event(&mut self, path_end: f64, control: &Control) -> Result<()> {
        let gram = self.space.gram();
        let Some(to_wall) = self.dynamics.flight(&self.ball) else {
            return self.relaunch(control);
        };
        let to_end = path_end - self.tally.path;
        let flight = to_wall.min(self.clock).min(to_end);
        if let Some(recorder) = &mut self.recorder {
            recorder.observe(&self.ball, gram, self.tally.path, flight);
        }
        self.tally.violations += f64::from(self.violated()) * flight;
        if let Some(layers) = self.tally.layers.as_mut().filter(|_| flight > 0.0) {
            *layers.entry(self.layer).or_insert(0.0) += flight;
        }
        if to_wall <= self.clock && to_wall <= to_end {
            self.tally.path += flight;
            self.clock -= flight;
            self.escapes_in_a_row = 0;
            self.arrive();
        } else if self.clock <= to_end {
            self.tally.path += flight;
            self.refresh.apply(&mut self.ball, gram, flight, &mut self.rng, control)?;
            self.dynamics.flew(flight);
            self.tally.refreshes += 1;
            self.clock = self.refresh.draw_clock(&mut self.rng);
        } else {
            // Assigned rather than added, so that the path ends exactly at its end.
            self.tally.path = path_end;
            self.clock -= flight;
            self.ball.fly(gram, flight);
            self.dynamics.flew(flight);
        }
        Ok(())
    }

    /// Returns the probability that the next wall lets the ball through.
    #[inline]
    fn transparency(&self) -> f64 {
        let plane = self.ball.next_wall().plane;
        let f = self.ball.f()[plane];
        if let Some(planes) = self.space.planes()
            && self.violated_walls[planes.place(plane)] > 0
        {
            // The example is violated on both sides, or the ball comes from there.
            return 1.0;
        }
        match &self.walls {
            None => self.space.transparency(plane, f, self.mirror),
            Some(walls) => {
                walls.transparency(self.layer, self.space.layer_behind(plane, f, self.layer))
            }
        }
    }

    /// Adds the arcs of the present flight beyond the wall at its end.
    fn add_beyond(&mut self) {
        let (Some(range), Some(mut ray)) = (self.kept, self.beyond.take()) else { return };
        let coordinates = (self.ball.f(), self.ball.g());
        for arc in ray.trace(coordinates, self.space.labels(), range) {
            self.ball.add_beyond(arc.layer, arc.from, arc.to);
        }
        self.beyond = Some(ray);
    }

    #[inline]
    fn arrive(&mut self) {
        let transparency = self.transparency();
        if self.beyond.is_some() {
            self.add_beyond();
        }
        match self.dynamics.arrive(&mut self.ball, self.space, transparency, &mut self.rng) {
            Arrival::Bounce { plane, impulse } => {
                self.tally.bounces += 1;
                self.tally.hits[plane] += 1;
                self.tally.impulses[plane] += impulse;
            }
            Arrival::Crossing { plane } => {
                self.tally.crossings += 1;
                let class = usize::from(self.space.labels()[plane] > 0);
                let f = self.ball.f()[plane];
                let is_satisfied = self.space.satisfied(plane, f);
                if let Some(planes) = self.space.planes() {
                    let walls = &mut self.violated_walls[planes.place(plane)];
                    let before = *walls;
                    *walls = if is_satisfied { before.saturating_sub(1) } else { before + 1 };
                    // Another wall decides whether the example is violated.
                    if before.max(*walls) > 1 {
                        return;
                    }
                }
                if is_satisfied {
                    self.violated[class] = self.violated[class].saturating_sub(1);
                } else {
                    self.violated[class] += 1;
                }
                let layer = match self.space.planes() {
                    None => self.space.layer_behind(plane, -f, self.layer),
                    Some(_) => self.violated,
                };
                if layer != self.layer {
                    self.layer = layer;
                    if let Some(range) = self.kept {
                        self.ball.enter_layer(range.index(layer));
                    }
                }
            }
            Arrival::Turn => self.tally.scatterings += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::Trajectory;
    use crate::ball::Ball;
    use crate::base::{Control, random};
    use crate::gram::Gram;
    use crate::linalg::Factor;
    use crate::space::{LayerRange, Mirror, VersionSpace};
    use crate::trajectory::dynamics::Geodesic;
    use crate::trajectory::refresh::Refresh;
    use crate::trajectory::tally::Goal;

    /// Integrates the same path twice: by layer, and with the arc integral from arrival to arrival.
    #[test]
    fn arcs_are_integrated_by_layer() {
        let (m, softness) = (12, 0.3);
        let gram: Vec<f64> = (0..m * m)
            .map(|k| f64::exp(-0.05 * ((k / m) as f64 - (k % m) as f64).powi(2)))
            .collect();
        let gram = Gram::new(&gram, 0.5, vec![softness; m]).expect("a matrix");
        let labels = (0..m).map(|i| if i % 3 == 0 { -1 } else { 1 }).collect();
        let space = VersionSpace::new(gram, labels).expect("a space");
        let control = Control::new();
        let factor = Arc::new(Factor::new(space.gram(), &control).expect("a factor"));
        let range = LayerRange { most: [2, 3] };
        for refresh in [
            Refresh::Pair { rate: 3.0 },
            Refresh::Full { rate: 0.5, source: Arc::clone(&factor) as _ },
        ] {
            let start = || {
                let mut rng = random::stream(7, 0);
                let [position, direction] = [(); 2].map(|()| factor.draw(&mut rng).dual);
                let ball =
                    Ball::new(space.gram(), &position, &direction, &control).expect("a ball");
                let mut trajectory = Trajectory::new(&space, Geodesic, ball, rng);
                trajectory.set_mirror(Mirror::alike(0.7));
                trajectory.set_refresh(refresh.clone());
                trajectory.reset(None);
                trajectory
            };
            // Long enough for many re-projections.
            let path = 500.0;
            let mut whole = start();
            whole.keep_layers(Some(range), false);
            whole.run(Goal::path(path), &control).expect("a run");
            let layers = whole.take_layer_integrals();
            let mut steps = start();
            let mut sums: BTreeMap<Option<usize>, (Vec<f64>, f64)> = BTreeMap::new();
            while steps.tally().path < path {
                let layer = range.index(space.layer(steps.ball().f()));
                let (from, arrivals) = (steps.tally().path, steps.tally().arrivals());
                steps.run(Goal::either(path, arrivals + 1), &control).expect("a run");
                let entry = sums.entry(layer).or_insert_with(|| (vec![0.0; m], 0.0));
                let arc = steps.ball_mut().take_arc_integral();
                entry.0.iter_mut().zip(arc).for_each(|(sum, arc)| *sum += arc);
                entry.1 += steps.tally().path - from;
            }
            assert_eq!(whole.tally().hits, steps.tally().hits, "the same path");
            let mut compared = 0;
            for (index, layer) in layers.iter().enumerate() {
                let Some((integral, path)) = sums.get(&Some(index)) else {
                    assert!(layer.events == 0 && layer.path <= 0.0);
                    continue;
                };
                assert!((layer.path - path).abs() < 1e-9 * (1.0 + path), "layer {index}");
                for (a, b) in layer.integral.iter().zip(integral) {
                    assert!((a - b).abs() < 1e-9 * (1.0 + path), "layer {index}: {a} {b}");
                }
                compared += 1;
            }
            assert!(compared >= 8, "{compared} layers were seen");
            // A second call finds nothing.
            assert!(whole.take_layer_integrals().iter().all(|layer| {
                layer.path == 0.0 && layer.events == 0 && layer.integral.iter().all(|x| *x == 0.0)
            }));
        }
    }
}
