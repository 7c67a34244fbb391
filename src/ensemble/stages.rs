//! The measured path after burn-in: its pieces and stages, the decision to end after each stage, and the state of a run.

use serde::{Deserialize, Serialize};

use crate::base::{Result, State, decode, encode, ensure, ensure_finite, incompatible, memory};
use crate::ensemble::chain::{Chain, Context, Stored, totals};
use crate::ensemble::outcome::StopReason;
use crate::ensemble::settings::Settings;
use crate::ensemble::{center, merge, mixing};
use crate::trajectory::dynamics::{Dynamics, Motion, RunningCenter};
use crate::trajectory::{Goal, Recorder, Refresh, RefreshChoice, Until};

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
    /// Plans pieces and draws. A path without a given length, or with a tolerance, grows: its pieces are joined two by two.
    pub fn begin<D: Dynamics>(
        run: &Context<'_, '_>,
        chains: &mut [Chain<'_, D>],
        burn_in_length: f64,
    ) -> Result<Self> {
        let (settings, gram) = (run.settings, run.space.gram());
        let pieces = pieces(chains.len());
        let length = settings.length.unwrap_or(f64::INFINITY);
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
            chain.reset(Recorder::new(spacing, &run.watched, kept, gram)?);
            if let Some(densities) = &mut chain.densities {
                densities.spacing = piece / EVALUATIONS;
            }
        }
        // Once more in one piece, for the outcome and for states of the run.
        memory::check_vectors(kept.saturating_mul(chains.len()), gram.len() + run.watched.len())?;
        Ok(Self { burn_in_length, unit, stage: next_stage(settings, 0), is_open: true })
    }

    /// Extends the path until one of the limits is reached. Returns the limit, and the state without its draws.
    ///
    /// A run continued to a smaller tolerance must have the bits of a single run with it. A state after the end of a stage is
    /// therefore that before its decision, which is then repeated. If another limit cuts a stage short, the state is that at the
    /// end of the path, with the present pieces open: these are closed for the outcome alone.
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
            if self.is_open {
                if let Some(reason) = self.fly(run, chains, limit)? {
                    let state = self.save(run, chains);
                    chains.iter_mut().for_each(Chain::close);
                    let in_time = reason != StopReason::MaxTime;
                    let is_good = in_time && self.accuracy(run, chains)?.0;
                    return Ok((if is_good { StopReason::Tol } else { reason }, state));
                }
                self.is_open = false;
                if chains[0].path.pieces.len() >= pieces(chains.len()) {
                    // Before the decision: the draws are then those of the whole path.
                    for Chain { recorder, .. } in chains.iter_mut() {
                        if recorder.kept() >= 2 * settings.n_draws {
                            recorder.coarsen();
                        }
                    }
                }
            }
            let (is_good, draws_lag) = self.accuracy(run, chains)?;
            if is_good {
                return Ok((StopReason::Tol, self.save(run, chains)));
            }
            run.control.keep(|| self.save_all(run, chains));
            if draws_lag {
                hasten_refresh(run, chains);
            }
            if chains[0].path.pieces.len() >= pieces(chains.len()) {
                self.unit *= 2.0;
                for chain in chains.iter_mut() {
                    center::join_pairs(&mut chain.path.pieces);
                }
            }
            self.stage = next_stage(settings, chains[0].path.pieces.len());
            self.is_open = true;
            chains.iter_mut().for_each(Chain::begin_stage);
        }
    }

    /// Runs the pieces of a stage. Returns the limit that cut it short, if one did.
    fn fly<D: Dynamics>(
        &self,
        run: &Context<'_, '_>,
        chains: &mut [Chain<'_, D>],
        limit: Goal,
    ) -> Result<Option<StopReason>> {
        let Context { settings, control, .. } = *run;
        let done = chains.iter().map(|chain| chain.path.pieces.len()).min().unwrap_or(0);
        // With a limit of time the trajectories go on piece by piece: none is then far behind when it ends. Without a tolerance
        // a stage may be the whole run, and states are kept of every piece.
        let keeps = settings.tol.is_none() && control.keeps_states();
        let by_piece = settings.max_time.is_some() || keeps;
        let first = if by_piece { self.stage.min(done + 1) } else { self.stage };
        for stage in first..=self.stage {
            if control.is_out_of_time() && chains.iter().all(|chain| !chain.path.pieces.is_empty())
            {
                return Ok(Some(StopReason::MaxTime));
            }
            run.pool.each(chains, |_, chain| chain.extend(stage, self.unit, limit, control))?;
            let is_done = |chain: &Chain<'_, D>| {
                chain.path.pieces.len() >= stage || reached(chain, limit).is_some()
            };
            if !chains.iter().all(is_done) {
                return Ok(Some(StopReason::MaxTime));
            }
            if keeps && stage < self.stage {
                control.keep(|| self.save_all(run, chains));
            }
        }
        let reached: Vec<_> = chains.iter().filter_map(|chain| reached(chain, limit)).collect();
        let order = [StopReason::WeightTol, StopReason::MaxBounces, StopReason::Length];
        Ok(order.into_iter().find(|reason| reached.contains(reason)))
    }

    /// Returns whether center and draws suffice, and whether the center is accurate and only the draws need a longer path.
    fn accuracy<D: Dynamics>(
        &self,
        run: &Context<'_, '_>,
        chains: &mut [Chain<'_, D>],
    ) -> Result<(bool, bool)> {
        let Some(tol) = run.settings.tol else { return Ok((false, false)) };
        let center = merge::center(run, chains, self.burn_in_length)?;
        run.control.report(totals(chains).0 / chains.len() as f64, center.error);
        if center.error > tol.max(ACCURATE) {
            return Ok((false, false));
        }
        // A flipper restarts at its own running center, so its halves and its draws never agree.
        let flips = matches!(run.settings.motion, Motion::Flipper { .. });
        let records: Vec<&Recorder> = chains.iter().map(|chain| &chain.recorder).collect();
        let suffice = || mixing::suffices(&records, run.settings.n_draws);
        let draws_suffice = flips || (center.mixed && suffice());
        let is_good = draws_suffice && center.error <= tol;
        Ok((is_good, !draws_suffice && center.error <= ACCURATE))
    }

    /// Returns the state of the run without its draws.
    fn save<D: Dynamics>(&self, run: &Context<'_, '_>, chains: &[Chain<'_, D>]) -> State {
        let refresh = chains[0].trajectory.refresh().state();
        let stored: Vec<Stored> = chains.iter().map(Chain::state).collect();
        State {
            bytes: encode(&(
                run.settings.code(),
                sizes(run).map(|(_, n)| n),
                refresh,
                *self,
                stored,
            )),
            kept: chains.iter().map(|chain| chain.recorder.kept() as u64).collect(),
            ..State::default()
        }
    }

    fn save_all<D: Dynamics>(&self, run: &Context<'_, '_>, chains: &[Chain<'_, D>]) -> State {
        let mut state = self.save(run, chains);
        for Chain { recorder, .. } in chains {
            let (draws, functionals) = recorder.first(recorder.kept());
            state.draws.extend_from_slice(draws);
            state.functionals.extend_from_slice(functionals);
        }
        state
    }

    pub fn restored<'s, D: Dynamics>(
        run: &Context<'s, '_>,
        state: &State,
        dynamics: &D,
    ) -> Result<(Self, Vec<Chain<'s, D>>)> {
        let Context { space, settings, inverse, control, .. } = *run;
        type Saved = (u64, [usize; 3], RefreshChoice, Measurement, Vec<Stored>);
        let (motion, numbers, refresh, measurement, stored): Saved = decode(&state.bytes)?;
        for ((what, own), theirs) in sizes(run).into_iter().zip(numbers) {
            let got = format_args!("one of {theirs} {what} where there are {own}");
            ensure(theirs == own, got)?;
        }
        ensure(motion == settings.code(), "one of another motion")?;
        let Self { burn_in_length, unit, stage, .. } = measurement;
        ensure_finite(&[&[burn_in_length, unit]])?;
        ensure(burn_in_length >= 0.0 && unit > 0.0, "one with lengths below 0")?;
        let (n, most) = (settings.n_trajectories, pieces(settings.n_trajectories));
        ensure(stored.len() == n && stage <= most, "one with more pieces than fit")?;
        let refresh = Refresh::restored(refresh, space.gram(), inverse, control)?;
        let draws = draws(state, (space.len(), run.watched.len(), n))?;
        let restored = stored.into_iter().zip(draws).map(|(stored, draws)| {
            let chain = Chain::restored(run, dynamics.clone(), &refresh, draws, stored)?;
            chain.recorder.check_spacing(unit * most as f64, settings.n_draws)?;
            Ok(chain)
        });
        let mut chains = restored.collect::<Result<Vec<_>>>()?;
        let fit = run.pool.each(&mut chains, |_, chain| {
            control.count_bounces(chain.trajectory.tally().bounces);
            chain.trajectory.ball().fits(space.gram(), control)
        })?;
        ensure(!fit.contains(&false), "one whose balls do not fit this Gram matrix")?;
        Ok((measurement, chains))
    }
}

/// Returns the sizes that a run and its continuation have in common, and their names.
fn sizes(run: &Context<'_, '_>) -> [(&'static str, usize); 3] {
    let settings = run.settings;
    [
        ("examples", run.space.len()),
        ("trajectories", settings.n_trajectories),
        ("draws of each trajectory", settings.n_draws),
    ]
}

/// Returns the draws and functionals of each of t trajectories, on m examples with q watched planes.
fn draws(state: &State, (m, q, t): (usize, usize, usize)) -> Result<Vec<(&[f64], &[f64])>> {
    let missing = || incompatible("one without all of its draws");
    ensure(state.kept.len() == t, "one without all of its draws")?;
    let (mut draws, mut functionals) = (&*state.draws, &*state.functionals);
    let mut records = Vec::with_capacity(t);
    for &n in &state.kept {
        let n = usize::try_from(n).map_err(|_| missing())?;
        let (record, values);
        (record, draws) = draws.split_at_checked(n.saturating_mul(m)).ok_or_else(missing)?;
        (values, functionals) =
            functionals.split_at_checked(n.saturating_mul(q)).ok_or_else(missing)?;
        records.push((record, values));
    }
    ensure(draws.is_empty() && functionals.is_empty(), "one with too many draws")?;
    Ok(records)
}

fn reached<D: Dynamics>(chain: &Chain<'_, D>, limit: Goal) -> Option<StopReason> {
    let tally = chain.trajectory.tally();
    let converged = limit.until == Until::CenterConverged
        && chain.trajectory.dynamics().running_center().is_some_and(RunningCenter::has_converged);
    if converged {
        Some(StopReason::WeightTol)
    } else if tally.path >= limit.path {
        Some(StopReason::Length)
    } else {
        (tally.arrivals() >= limit.arrivals).then_some(StopReason::MaxBounces)
    }
}

/// Refreshes directions more often, at a free rate, for a center of conditional means, whose noise hardly depends on it.
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
