//! Merges the results of the trajectories, in the order of their index.

use ndarray::Array3;

use crate::base::{Error, Result, memory};
use crate::ensemble::center::Center;
use crate::ensemble::chain::{Chain, Context, estimate, totals};
use crate::ensemble::outcome::{CenterOfMass, Outcome};
use crate::ensemble::settings::Average;
use crate::ensemble::stages::Measurement;
use crate::simd::Precision;
use crate::trajectory::dynamics::Dynamics;

/// Returns for each trajectory the share of the bounces of the others at planes that it never hit.
fn missed<D: Dynamics>(chains: &[Chain<'_, D>], hits: &[u64]) -> Vec<f64> {
    let share = |chain: &Chain<'_, D>| {
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
        if !(center.norm.is_finite() && center.dual.iter().all(|c| c.is_finite())) {
            let what = "length of the mean of the positions";
            return Err(Error::Breakdown { what, value: center.norm });
        }
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
        let mut center = estimate(self.run, &mut self.chains)?.after(self.plan.burn_in_length);
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
            for (sum, own) in all.iter_mut().zip(&chain.trajectory.tally().impulses) {
                *sum += own;
            }
        }
        normalize(self.run, &mut all)?;
        Ok(all)
    }
}

/// Returns the angle in radians between two unit vectors given by dual coefficients; infinity if the first is zero.
fn angle(run: &Context<'_, '_>, one: &[f64], other: &[f64]) -> Result<f64> {
    if one.iter().all(|c| *c == 0.0) {
        return Ok(f64::INFINITY);
    }
    let apart: Vec<f64> = one.iter().zip(other).map(|(a, b)| a - b).collect();
    let square = squared_length(run, &apart)?;
    Ok(2.0 * (0.5 * square.max(0.0).sqrt()).min(1.0).asin())
}

pub(crate) fn normalize(run: &Context<'_, '_>, dual: &mut [f64]) -> Result<()> {
    let square = squared_length(run, dual)?;
    if square > 0.0 {
        let scale = square.sqrt().recip();
        dual.iter_mut().for_each(|c| *c *= scale);
    }
    Ok(())
}

fn squared_length(run: &Context<'_, '_>, dual: &[f64]) -> Result<f64> {
    let field = run.space.gram().product(dual, Precision::Plain, run.control)?;
    Ok(dual.iter().zip(&field).map(|(c, f)| c * f).sum())
}
