//! The measured path after burn-in: its pieces and stages, the decision to end after each stage, and its stored form.

use serde::{Deserialize, Serialize};

use crate::base::{Result, State, encode, ensure, ensure_finite, memory};
use crate::ensemble::chain::{Chain, ChainState, Snapshot, totals};
use crate::ensemble::context::Context;
use crate::ensemble::outcome::StopReason;
use crate::ensemble::settings::Settings;
use crate::ensemble::step::{self, Step};
use crate::ensemble::{center, merge, mixing};
use crate::space::VersionSpace;
use crate::trajectory::dynamics::{Dynamics, Motion, RunningCenter};
use crate::trajectory::{Goal, Recorder, RefreshChoice, RefreshState, Until};

/// First piece of path of a run without a given length, in radians and, for small version spaces, in arrivals.
const PIECE_PATH: f64 = std::f64::consts::FRAC_PI_2;
const PIECE_ARRIVALS: f64 = 1_000.0;
/// Error of a center of conditional means, radians, below which draws that do not suffice are worth more refreshes. It must not
/// depend on the tolerance: a run to a smaller one has the same bits as a run that stopped at a larger one and went on.
const ACCURATE: f64 = 0.04;
/// Evaluations of the densities at the walls in the first piece.
const EVALUATIONS: f64 = 2.0;

/// The plan of a measurement: length and number of the pieces of path.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Measurement {
    /// Length of the burn-in, radians, mean over the trajectories.
    pub burn_in_length: f64,
    /// Length of a piece, radians.
    unit: f64,
    /// Pieces of each trajectory at which the next decision is made.
    stage: usize,
    /// Whether some of them are still missing.
    is_open: bool,
}

/// Returns the largest number of pieces of each trajectory.
fn pieces(n_trajectories: usize) -> usize {
    if n_trajectories == 1 { 16 } else { 8 }
}

/// Returns the number of pieces at which the next decision is made.
fn next_stage(settings: &Settings, done: usize) -> usize {
    let pieces = pieces(settings.n_trajectories);
    if settings.tol.is_some() && done < pieces * 3 / 4 { pieces * 3 / 4 } else { pieces }
}

impl Measurement {
    /// Plans pieces and draws. Without a given length, or with a tolerance, pieces are joined two by two as the path grows,
    /// which doubles their length.
    pub fn begin<D: Dynamics>(
        run: &Context<'_, '_>,
        chains: &mut [Chain<'_, D>],
        burn_in_length: f64,
    ) -> Result<Self> {
        let (settings, gram) = (run.settings, run.space.gram());
        let pieces = pieces(chains.len());
        let length = settings.first_length.or(settings.length).unwrap_or(f64::INFINITY);
        let grows = settings.tol.is_some() || settings.length.is_none();
        let piece = {
            let (path, arrivals) = totals(chains);
            let per_arrival = if arrivals > 0 { path / arrivals as f64 } else { f64::INFINITY };
            PIECE_PATH.min(PIECE_ARRIVALS * per_arrival).min(length)
        };
        let unit = if grows { piece } else { length / pieces as f64 };
        // A growing run records twice the requested draws before it joins pieces, and returns the last ones.
        let kept = if grows { 2 * settings.n_draws } else { settings.n_draws };
        let spacing = unit * pieces as f64 / kept as f64;
        for chain in chains.iter_mut() {
            chain.reset(Some(Recorder::new(spacing, &run.watched, kept, gram)?));
            if let Some(densities) = &mut chain.densities {
                densities.sums.spacing = piece / EVALUATIONS;
            }
        }
        // Once more in one piece, for the outcome and for states of the run.
        memory::check_vectors(kept.saturating_mul(chains.len()), gram.len() + run.watched.len())?;
        Ok(Self { burn_in_length, unit, stage: next_stage(settings, 0), is_open: true })
    }

    /// Extends the path until one of the limits is reached. Returns the limit, and the state without its draws.
    pub fn run<D: Dynamics>(
        &mut self,
        run: &Context<'_, '_>,
        chains: &mut [Chain<'_, D>],
    ) -> Result<(StopReason, State)> {
        let settings = run.settings;
        let length = settings.length.unwrap_or(f64::INFINITY);
        let until =
            if settings.weight_tol().is_some() { Until::CenterConverged } else { Until::Never };
        let limit =
            Goal { until, ..Goal::either(length, settings.max_bounces.unwrap_or(u64::MAX)) };
        loop {
            let mut state = None;
            if self.is_open {
                if !self.fly(run, chains, limit)? {
                    // The state is that before the last pieces are cut short.
                    let state = self.save(run, chains);
                    chains.iter_mut().for_each(Chain::close);
                    return Ok((StopReason::MaxTime, state));
                }
                // The state is that before the last piece was cut short, so that a longer run has the same bits.
                self.is_open = chains.iter().any(Chain::is_cut);
                if !self.is_open && chains[0].batches.len() >= pieces(chains.len()) {
                    // Before the decision: the draws are then those of the whole path.
                    for recorder in chains.iter_mut().filter_map(|c| c.trajectory.recorder_mut()) {
                        if recorder.kept() >= 2 * settings.n_draws {
                            recorder.coarsen();
                        }
                    }
                }
                state = self.is_open.then(|| self.save(run, chains));
            }
            let Progress { ended, draws_lag } = self.progress(run, chains, limit)?;
            if let Some(reason) = ended {
                let state = state.unwrap_or_else(|| self.save(run, chains));
                return Ok((reason, state));
            }
            if draws_lag {
                hasten_refresh(run, chains);
            }
            if chains[0].batches.len() >= pieces(chains.len()) {
                self.unit *= 2.0;
                for chain in chains.iter_mut() {
                    center::join_pairs(&mut chain.batches);
                }
            }
            self.stage = next_stage(settings, chains[0].batches.len());
            self.is_open = true;
            chains.iter_mut().for_each(Chain::begin_stage);
        }
    }

    /// Runs the pieces of a stage and passes on states on request. Returns false if the time is over before.
    fn fly<D: Dynamics>(
        &self,
        run: &Context<'_, '_>,
        chains: &mut [Chain<'_, D>],
        limit: Goal,
    ) -> Result<bool> {
        let Context { settings, executor, control, .. } = *run;
        let done = chains.iter().map(|chain| chain.batches.len()).min().unwrap_or(0);
        // With a limit of time the trajectories go on piece by piece: none is then far behind when it ends.
        let by_piece = settings.max_time.is_some() && executor.is_none() && done < self.stage;
        let mut stage = if by_piece { done + 1 } else { self.stage };
        loop {
            if control.is_out_of_time() && chains.iter().all(|chain| !chain.batches.is_empty()) {
                return Ok(false);
            }
            // Here the pieces of all trajectories are prepared together.
            let prepare = executor.is_some() && settings.tol.is_some() && stage == self.stage;
            step::take(run, chains, Step::Extend { stage, unit: self.unit, limit, prepare })?;
            let is_done = chains.iter().all(|chain| chain.has(stage));
            // Workers in other processes do not pause. A requested state is the one between two steps.
            if is_done && (executor.is_none() || !control.is_asked_for_state()) {
                if stage == self.stage {
                    return Ok(true);
                }
                stage += 1;
                continue;
            }
            control.keep(|| {
                let mut state = self.save(run, chains);
                for (chain, &kept) in chains.iter().zip(&state.kept) {
                    if let Some(recorder) = chain.trajectory.recorder() {
                        let (draws, functionals) =
                            recorder.first(usize::try_from(kept).expect("a count of draws"));
                        state.draws.extend_from_slice(draws);
                        state.functionals.extend_from_slice(functionals);
                    }
                }
                state.held.clone_from(&state.kept);
                state
            });
            if is_done {
                return Ok(true);
            }
            if control.is_out_of_time() {
                return Ok(false);
            }
        }
    }

    /// Returns the reason to end the run after a stage, if there is one, and whether only the draws need a longer path.
    fn progress<D: Dynamics>(
        &self,
        run: &Context<'_, '_>,
        chains: &mut [Chain<'_, D>],
        limit: Goal,
    ) -> Result<Progress> {
        let mut draws_lag = false;
        if let Some(tol) = run.settings.tol {
            let center = merge::center(run, chains, self.burn_in_length)?;
            run.control.report(totals(chains).0 / chains.len() as f64, center.error);
            // A flipper restarts at its own running center, so its halves and its draws never agree.
            let flips = matches!(run.settings.motion, Motion::Flipper { .. });
            if center.error <= tol.max(ACCURATE) {
                let draws_suffice = flips || (center.mixed && suffices(run, chains));
                if draws_suffice && center.error <= tol {
                    return Ok(Progress { ended: Some(StopReason::Tol), draws_lag: false });
                }
                draws_lag = !draws_suffice && center.error <= ACCURATE;
            }
        }
        let converged = |chain: &Chain<'_, D>| {
            chain.trajectory.dynamics().running_center().is_some_and(RunningCenter::has_converged)
        };
        let reached = |chain: &Chain<'_, D>| chain.trajectory.tally().path >= limit.path;
        let exhausted =
            |chain: &Chain<'_, D>| chain.trajectory.tally().arrivals() >= limit.arrivals;
        let ended = if limit.until == Until::CenterConverged && chains.iter().any(converged) {
            Some(StopReason::WeightTol)
        } else if chains.iter().all(reached) {
            Some(StopReason::Length)
        } else {
            chains.iter().any(exhausted).then_some(StopReason::MaxBounces)
        };
        Ok(Progress { ended, draws_lag })
    }

    /// Returns the state of the run without its draws.
    fn save<D: Dynamics>(&self, run: &Context<'_, '_>, chains: &[Chain<'_, D>]) -> State {
        let (kept, states): (Vec<u64>, Vec<ChainState>) = chains
            .iter()
            .map(Chain::snapshot)
            .map(|Snapshot { state, kept }| (kept as u64, state))
            .unzip();
        let stored = RunState {
            examples: run.space.len(),
            trajectories: chains.len(),
            draws: run.settings.n_draws,
            motion: run.settings.code(),
            refresh: chains[0].trajectory.refresh().state(),
            measurement: *self,
            chains: states,
        };
        State { bytes: encode(&stored), held: vec![0; kept.len()], kept, ..State::default() }
    }

    /// Checks that a restored record belongs to this measurement.
    pub fn check_record<D: Dynamics>(
        &self,
        settings: &Settings,
        chain: &Chain<'_, D>,
    ) -> Result<()> {
        let stage = self.unit * pieces(settings.n_trajectories) as f64;
        let record = chain.trajectory.recorder();
        record.map_or(Ok(()), |record| record.check_spacing(stage, settings.n_draws))
    }
}

/// What has been reached after a stage.
struct Progress {
    ended: Option<StopReason>,
    /// Whether the center is accurate and the draws do not suffice.
    draws_lag: bool,
}

/// The stored form of a run, without its draws.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RunState {
    examples: usize,
    trajectories: usize,
    draws: usize,
    motion: u64,
    pub refresh: RefreshState,
    pub measurement: Measurement,
    pub chains: Vec<ChainState>,
}

impl RunState {
    /// Checks everything but the chains against the problem and the settings.
    pub fn check(&self, space: &VersionSpace<'_>, settings: &Settings) -> Result<()> {
        for (what, theirs, own) in [
            ("examples", self.examples, space.len()),
            ("trajectories", self.trajectories, settings.n_trajectories),
            ("trajectories", self.chains.len(), settings.n_trajectories),
            ("draws of each trajectory", self.draws, settings.n_draws),
        ] {
            ensure(theirs == own, || format!("one of {theirs} {what} where there are {own}"))?;
        }
        ensure(self.motion == settings.code(), || "one of another motion")?;
        let Measurement { burn_in_length, unit, stage, .. } = self.measurement;
        ensure_finite(&[&[burn_in_length, unit]])?;
        ensure(burn_in_length >= 0.0 && unit > 0.0, || "one with lengths below 0")?;
        ensure(stage <= pieces(settings.n_trajectories), || "one with more pieces than fit")
    }
}

/// Refreshes directions more often, if the center is one of conditional means, whose noise hardly depends on it, and the rate is
/// not given.
fn hasten_refresh<D: Dynamics>(run: &Context<'_, '_>, chains: &mut [Chain<'_, D>]) {
    let is_free = matches!(run.settings.refresh, RefreshChoice::Auto | RefreshChoice::Full(None));
    if run.smoother.is_some()
        && is_free
        && let Some(refresh) = chains[0].trajectory.refresh().hastened()
    {
        for chain in chains.iter_mut() {
            chain.trajectory.set_refresh(refresh.clone());
        }
    }
}

/// Returns whether the draws agree and are worth enough independent ones. A center can reach its tolerance earlier.
fn suffices<D: Dynamics>(run: &Context<'_, '_>, chains: &[Chain<'_, D>]) -> bool {
    let records: Vec<&Recorder> =
        chains.iter().filter_map(|chain| chain.trajectory.recorder()).collect();
    mixing::suffices(&records, run.settings.n_draws)
}
