//! The outcome of a run: merges the results of the trajectories, in the order of their index.

use ndarray::Array3;
use serde::Serialize;

use super::center::Center;
use super::chain::{Chain, Context, estimate, totals};
use super::settings::Average;
use super::stages::Measurement;
use crate::base::{Result, State, memory, require_sound};
use crate::interior::Start;
use crate::simd::{Precision, dot};
use crate::trajectory::{Dynamics, Tally};

/// The limit that ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The path length was reached.
    Length,
    /// The dynamics reached an end of its own.
    Ended,
    /// A trajectory reached the number of arrivals at walls.
    MaxBounces,
    /// The estimated error of the center fell to the tolerance, and the draws agree and suffice.
    Tol,
    /// The time was over.
    MaxTime,
}

/// The outcome of a run. Shapes: m examples, T trajectories. With walls m stands for their coordinates.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The center of mass.
    pub center: CenterOfMass,
    /// Dual coefficients of unit weight vectors at equal spacing along the paths, shape (T, n, m), at most as requested.
    pub draws: Array3<f64>,
    /// Indices of the planes watched, shape (q,).
    pub watched: Vec<usize>,
    /// Plane coordinates of the draws at the watched planes, relative to the feature vector's length, shape (T, n, q).
    pub functionals: Array3<f64>,
    /// Path between draws, radians; 0 where they are independent of one another.
    pub spacing: f64,
    /// Kinds of the starting points, shape (T,).
    pub starts: Vec<Start>,
    /// The paths averaged over and their events, shape (T,).
    pub tallies: Vec<Tally>,
    /// Share of the bounces of the other trajectories at planes that this one never hit, shape (T,).
    pub missed: Vec<f64>,
    /// Bounces per plane, or at all walls of a coordinate, shape (m,).
    pub hits: Vec<u64>,
    /// Time average of the number of violated planes.
    pub mean_violations: f64,
    /// Largest drift found at a re-projection, relative to the length of the feature vector.
    pub drift: f64,
    /// The refresh used: "pair", "full" or "none".
    pub refresh: &'static str,
    /// Refreshes per radian.
    pub refresh_rate: f64,
    /// Whether full refreshes leave out the direction that softness gives to an example.
    pub loses_softness: bool,
    /// Length of the burn-in, which was discarded, radians, mean over the trajectories.
    pub burn_in: f64,
    /// Why the run ended.
    pub stop_reason: StopReason,
    /// The state from which the run can be continued.
    pub state: State,
}

/// Estimates of the center of mass: dual coefficients of unit vectors, shape (m,).
#[derive(Clone, Debug)]
pub struct CenterOfMass {
    /// From the exact arc integral.
    pub dual: Vec<f64>,
    /// Length of the mean of the unit weight vectors, in (0, 1].
    pub norm: f64,
    /// Standard error of the direction of `dual`, radians; of `impulse` for [`crate::Average::Impulse`].
    pub error: f64,
    /// From the impulses on the walls: signed like the labels, zero for planes never hit.
    pub impulse: Vec<f64>,
}

impl Outcome {
    /// Path averaged over, radians, mean over the trajectories.
    pub fn length(&self) -> f64 {
        self.tallies.iter().map(|tally| tally.path).sum::<f64>() / self.tallies.len() as f64
    }
}

/// Returns for each trajectory the share of the bounces of the others at planes that it never hit.
fn missed<D: Dynamics>(chains: &[Chain<D>], hits: &[u64]) -> Vec<f64> {
    let share = |chain: &Chain<D>| {
        let (mut missed, mut others) = (0, 0);
        for (&own, all) in chain.trajectory.tally().hits.iter().zip(hits) {
            others += all - own;
            missed += if own == 0 { *all } else { 0 };
        }
        if others > 0 { missed as f64 / others as f64 } else { 0.0 }
    };
    chains.iter().map(share).collect()
}

impl<D: Dynamics> Measurement<'_, '_, D> {
    /// Runs the measurement and merges the trajectories.
    pub fn outcome(&mut self) -> Result<Outcome> {
        let (stop_reason, mut state) = self.run()?;
        let Context { space, settings, pool, control, .. } = *self.run;
        let m = space.gram().outer_len();
        // Measures the drift at the end, also of runs too short for a re-projection on the way.
        pool.each(&mut self.chains, |_, chain| chain.trajectory.reproject(control))?;
        let center = self.center()?;
        let is_finite = center.norm.is_finite() && center.dual.iter().all(|c| c.is_finite());
        require_sound(is_finite, "length of the mean of the positions", center.norm)?;
        let mut hits = vec![0; space.len()];
        let (mut violations, mut drift) = (0.0, 0f64);
        for chain in &self.chains {
            let tally = chain.trajectory.tally();
            hits.iter_mut().zip(&tally.hits).for_each(|(sum, own)| *sum += own);
            violations += tally.violations;
            drift = drift.max(tally.drift);
        }
        let impulse = self.impulses()?;
        // The last draws of each trajectory are those of the outcome. The state has the others.
        let shared = state.in_outcome(settings.n_draws);
        if shared == 0 {
            // The paths are too short for a draw: the outcome has the present positions.
            for chain in &mut self.chains {
                chain.recorder.record(chain.trajectory.ball(), space.gram(), 0.0);
            }
        }
        let n_draws = shared.max(1);
        let older = |kept: u64| usize::try_from(kept).unwrap_or(0) - shared;
        let others: usize = state.kept.iter().map(|&kept| older(kept)).sum();
        memory::reserve(&mut state.draws, others * m)?;
        // The draws of one trajectory are moved, not copied: they may take most of the memory.
        let alone = self.chains.len() == 1;
        let mut draws =
            memory::reserved(if alone { 0 } else { settings.n_trajectories * n_draws * m })?;
        let mut functionals = Vec::new();
        for (chain, &kept) in self.chains.iter_mut().zip(&state.kept) {
            let recorder = &mut chain.recorder;
            let (first, values) = recorder.first(older(kept));
            state.draws.extend_from_slice(first);
            state.functionals.extend_from_slice(values);
            let (last, values) = recorder.take_last(n_draws);
            if alone {
                draws = last;
            } else {
                draws.extend_from_slice(&last);
            }
            functionals.extend_from_slice(&values);
        }
        let Self { run, chains, plan } = self;
        let refresh = chains[0].trajectory.refresh();
        let shape = |width| (chains.len(), n_draws, width);
        Ok(Outcome {
            center: CenterOfMass {
                dual: space.gram().outer_duals(center.dual),
                norm: center.norm,
                error: center.error,
                impulse: space.gram().outer_duals(impulse),
            },
            draws: Array3::from_shape_vec(shape(m), draws).expect("m coefficients of each draw"),
            watched: run.watched.clone(),
            functionals: Array3::from_shape_vec(shape(run.watched.len()), functionals)
                .expect("a coordinate for each plane that is watched"),
            spacing: chains[0].recorder.spacing(),
            starts: chains.iter().map(|chain| chain.path.start).collect(),
            tallies: chains.iter().map(|chain| chain.trajectory.tally().clone()).collect(),
            missed: missed(chains, &hits),
            hits: space.walls().map_or_else(|| hits.clone(), |walls| walls.hits(&hits)),
            mean_violations: violations / totals(chains).0,
            drift,
            refresh: refresh.name(),
            refresh_rate: refresh.rate(),
            loses_softness: refresh.loses_softness(),
            burn_in: plan.burn_in_length,
            stop_reason,
            state,
        })
    }

    /// Returns the center of all paths, with the error of the requested estimate.
    pub fn center(&mut self) -> Result<Center> {
        let mut center = estimate(self.run, &mut self.chains, self.plan.burn_in_length)?;
        if center.error.is_nan() {
            center.error = f64::INFINITY;
        }
        if self.run.settings.average == Average::Impulse {
            let impulses = self.impulses()?;
            center.error = center.error.hypot(angle(self.run, &impulses, &center.dual)?);
        }
        Ok(center)
    }

    /// Returns the dual coefficients of the sum of all impulses on the walls, scaled to unit length; zeros without impulses.
    fn impulses(&self) -> Result<Vec<f64>> {
        let mut all = vec![0.0; self.run.space.len()];
        for chain in &self.chains {
            dot::add(&mut all, &chain.trajectory.tally().impulses);
        }
        normalize(self.run, &mut all)?;
        Ok(all)
    }
}

/// Returns the angle in radians between two unit vectors given by dual coefficients; infinity if the first is zero.
fn angle(run: &Context, one: &[f64], other: &[f64]) -> Result<f64> {
    if one.iter().all(|c| *c == 0.0) {
        return Ok(f64::INFINITY);
    }
    let apart: Vec<f64> = one.iter().zip(other).map(|(a, b)| a - b).collect();
    let square = squared_length(run, &apart)?;
    Ok(2.0 * (0.5 * square.max(0.0).sqrt()).min(1.0).asin())
}

pub fn normalize(run: &Context, dual: &mut [f64]) -> Result<()> {
    let square = squared_length(run, dual)?;
    if square > 0.0 {
        dot::scale(dual, square.sqrt().recip());
    }
    Ok(())
}

fn squared_length(run: &Context, dual: &[f64]) -> Result<f64> {
    let field = run.space.gram().product(dual, Precision::Plain, run.control)?;
    Ok(dual.iter().zip(&field).map(|(c, f)| c * f).sum())
}
