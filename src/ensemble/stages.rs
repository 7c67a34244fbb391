//! The measured path after burn-in: its pieces and stages, the decision to end after each stage, and the state of a run.

use serde::{Deserialize, Serialize};

use super::burn_in::set_refresh;
use super::chain::{Chain, Context, Stored, totals};
use super::merge::StopReason;
use super::settings::Settings;
use super::{center, mixing};
use crate::base::{Result, State, decode, encode, ensure, ensure_finite, incompatible, memory};
use crate::trajectory::{Dynamics, Geodesic, Goal, Recorder, Refresh, RefreshChoice, Until};

/// First piece of path of a run without a given length, in radians and, for small version spaces, in arrivals.
const PIECE_PATH: f64 = std::f64::consts::FRAC_PI_2;
const PIECE_ARRIVALS: f64 = 1_000.0;
/// Error of a center of conditional means, radians, below which draws that do not suffice are worth more refreshes. It must not
/// depend on the tolerance: a run to a smaller one has the same bits as a run that stopped at a larger one and went on.
const ACCURATE: f64 = 0.04;
/// Evaluations of the densities at the walls in the first piece.
const EVALUATIONS: f64 = 2.0;

pub struct Measurement<'s, 'r, D> {
    pub run: &'r Context<'s, 'r>,
    pub chains: Vec<Chain<'s, D>>,
    pub plan: Plan,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct Plan {
    /// Length of the burn-in, radians, mean over the trajectories.
    pub burn_in_length: f64,
    /// Length of a piece, radians.
    unit: f64,
    /// Pieces of each trajectory at which the next decision is made.
    stage: usize,
    /// Whether some of them are still missing.
    is_open: bool,
}

fn pieces(n_trajectories: usize) -> usize {
    if n_trajectories == 1 { 16 } else { 8 }
}

/// Returns the number of pieces at which the next decision is made.
fn next_stage(settings: &Settings, done: usize) -> usize {
    let pieces = pieces(settings.n_trajectories);
    match settings.tol {
        Some(_) if done > 0 => done + pieces / 8,
        Some(_) => pieces * 3 / 4,
        None => pieces,
    }
}

impl<'s, 'r, D: Dynamics> Measurement<'s, 'r, D> {
    /// Plans pieces and draws. A path without a given length, or with a tolerance, grows: its pieces are joined two by two.
    pub fn begin(
        run: &'r Context<'s, 'r>,
        mut chains: Vec<Chain<'s, D>>,
        burn_in_length: f64,
    ) -> Result<Self> {
        let (settings, gram) = (run.settings, run.space.gram());
        let pieces = pieces(chains.len());
        let length = settings.length.unwrap_or(f64::INFINITY);
        let grows = settings.tol.is_some() || settings.length.is_none();
        let piece = {
            let (path, arrivals) = totals(&chains);
            let per_arrival = if arrivals > 0 { path / arrivals as f64 } else { f64::INFINITY };
            PIECE_PATH.min(PIECE_ARRIVALS * per_arrival).min(length)
        };
        let unit = if grows { piece } else { length / pieces as f64 };
        // A growing run records twice the requested draws before it joins pieces, and returns the last ones.
        let kept = if grows { 2 * settings.n_draws } else { settings.n_draws };
        let spacing = unit * pieces as f64 / kept as f64;
        for chain in &mut chains {
            chain.reset(Recorder::new(spacing, &run.watched, kept, gram)?);
            if let Some(densities) = &mut chain.densities {
                densities.spacing = piece / EVALUATIONS;
            }
        }
        // Once more in one piece, for the outcome and its state.
        memory::check_vectors(kept.saturating_mul(chains.len()), gram.len() + run.watched.len())?;
        let plan = Plan { burn_in_length, unit, stage: next_stage(settings, 0), is_open: true };
        Ok(Self { run, chains, plan })
    }

    /// Extends the path until one of the limits is reached. Returns the limit, and the state without its draws.
    ///
    /// A run continued to a smaller tolerance must have the bits of a single run with it. A state after the end of a stage is
    /// therefore that before its decision, which is then repeated. If another limit cuts a stage short, the state is that at the
    /// end of the path, with the present pieces open: these are closed for the outcome alone.
    pub fn run(&mut self) -> Result<(StopReason, State)> {
        let settings = self.run.settings;
        let length = settings.length.unwrap_or(f64::INFINITY);
        let arrivals = settings.max_bounces.unwrap_or(u64::MAX);
        let limit = Goal { path: length, arrivals, until: Until::Ended };
        loop {
            if self.plan.is_open {
                if let Some(reason) = self.fly(limit)? {
                    let state = self.save();
                    self.chains.iter_mut().for_each(Chain::close);
                    let in_time = reason != StopReason::MaxTime;
                    let is_good = in_time && self.accuracy()?.0;
                    return Ok((if is_good { StopReason::Tol } else { reason }, state));
                }
                self.plan.is_open = false;
                if self.is_whole() {
                    // Before the decision: the draws are then those of the whole path.
                    for Chain { recorder, .. } in &mut self.chains {
                        if recorder.kept() >= 2 * settings.n_draws {
                            recorder.coarsen();
                        }
                    }
                }
            }
            let (is_good, faster) = self.accuracy()?;
            if is_good {
                return Ok((StopReason::Tol, self.save()));
            }
            if let Some(refresh) = faster {
                set_refresh(&mut self.chains, &refresh);
            }
            if self.is_whole() {
                self.plan.unit *= 2.0;
                for chain in &mut self.chains {
                    center::join_pairs(&mut chain.path.pieces);
                }
            }
            self.plan.stage = next_stage(settings, self.chains[0].path.pieces.len());
            self.plan.is_open = true;
            self.chains.iter_mut().for_each(Chain::begin_stage);
        }
    }

    fn is_whole(&self) -> bool {
        self.chains[0].path.pieces.len() >= pieces(self.chains.len())
    }

    /// Runs the pieces of a stage. Returns the limit that cut it short, if one did.
    fn fly(&mut self, limit: Goal) -> Result<Option<StopReason>> {
        let Context { settings, pool, control, .. } = *self.run;
        let Plan { unit, stage: last, .. } = self.plan;
        let done = self.chains.iter().map(|chain| chain.path.pieces.len()).min().unwrap_or(0);
        // With a limit of time trajectories go on piece by piece, none far behind.
        for stage in if settings.max_time.is_some() { last.min(done + 1) } else { last }..=last {
            let have_begun = self.chains.iter().all(|chain| !chain.path.pieces.is_empty());
            if control.is_out_of_time() && have_begun {
                return Ok(Some(StopReason::MaxTime));
            }
            pool.each(&mut self.chains, |_, chain| chain.extend(stage, unit, limit, control))?;
            let is_done = |chain: &Chain<D>| {
                chain.path.pieces.len() >= stage || reached(chain, limit).is_some()
            };
            if !self.chains.iter().all(is_done) {
                return Ok(Some(StopReason::MaxTime));
            }
        }
        let reached: Vec<_> =
            self.chains.iter().filter_map(|chain| reached(chain, limit)).collect();
        let order = [StopReason::Ended, StopReason::MaxBounces, StopReason::Length];
        Ok(order.into_iter().find(|reason| reached.contains(reason)))
    }

    /// Returns whether center and draws suffice, and the refresh that helps if the center is accurate and the draws lag.
    ///
    /// The center takes longer than the statistics of the draws, and is left out where only these need a longer path, for all
    /// tolerances alike.
    fn accuracy(&mut self) -> Result<(bool, Option<Refresh<'s>>)> {
        let Context { settings, control, .. } = *self.run;
        let Some(tol) = settings.tol else { return Ok((false, None)) };
        let records: Vec<&Recorder> = self.chains.iter().map(|chain| &chain.recorder).collect();
        let mixes = self.chains[0].trajectory.dynamics().mixes();
        let short = if mixes { mixing::shortfall(&records, settings.n_draws) } else { None };
        // Each trajectory begins with a direction of its own.
        let refreshes = self.chains.iter().map(|chain| chain.trajectory.tally().refreshes + 1);
        let directions = refreshes.sum::<u64>() as f64;
        let faster = short.filter(|&size| size < directions).and_then(|_| self.faster_refresh());
        let length = totals(&self.chains).0 / self.chains.len() as f64;
        if short.is_some() && faster.is_none() {
            control.report(length, control.center_error());
            return Ok((false, None));
        }
        let center = self.center()?;
        control.report(length, center.error);
        let is_good = center.error <= tol && short.is_none() && (center.mixed || !mixes);
        Ok((is_good, faster.filter(|_| center.error <= ACCURATE)))
    }

    /// Returns more frequent refreshes, at a free rate, for a center of conditional means, whose noise hardly depends on it.
    fn faster_refresh(&self) -> Option<Refresh<'s>> {
        let Context { settings, smoother, .. } = self.run;
        let is_free = matches!(settings.refresh, RefreshChoice::Auto | RefreshChoice::Full(None));
        let refresh = self.chains[0].trajectory.refresh();
        (smoother.is_some() && is_free).then(|| refresh.hastened())?
    }

    /// Returns the state of the run without its draws.
    fn save(&self) -> State {
        let Self { run, chains, plan } = self;
        let refresh = chains[0].trajectory.refresh().state();
        let stored: Vec<Stored> = chains.iter().map(Chain::state).collect();
        let sizes = sizes(run).map(|(_, n)| n);
        State {
            bytes: encode(&(sizes, refresh, plan, stored)),
            kept: chains.iter().map(|chain| chain.recorder.kept() as u64).collect(),
            ..State::default()
        }
    }
}

impl<'s, 'r> Measurement<'s, 'r, Geodesic> {
    pub fn restored(run: &'r Context<'s, 'r>, state: &State) -> Result<Self> {
        let Context { space, settings, inverse, control, .. } = *run;
        type Saved = ([usize; 3], RefreshChoice, Plan, Vec<Stored>);
        let (numbers, refresh, plan, stored): Saved = decode(&state.bytes)?;
        for ((what, own), theirs) in sizes(run).into_iter().zip(numbers) {
            let got = format_args!("one of {theirs} {what} where there are {own}");
            ensure(theirs == own, got)?;
        }
        let Plan { burn_in_length, unit, stage, .. } = plan;
        ensure_finite(&[&[burn_in_length, unit]])?;
        ensure(burn_in_length >= 0.0 && unit > 0.0, "one with lengths below 0")?;
        let (n, most) = (settings.n_trajectories, pieces(settings.n_trajectories));
        ensure(stored.len() == n && stage <= most, "one with more pieces than fit")?;
        let refresh = Refresh::restored(refresh, space.gram(), inverse, control)?;
        let draws = draws(state, (space.gram().outer_len(), run.watched.len(), n))?;
        let restored = stored.into_iter().zip(draws).map(|(stored, draws)| {
            let chain = Chain::restored(run, &refresh, draws, stored)?;
            // A growing path records twice the requested draws, and twice that before thinning.
            let longest = chain.recorder.spacing() * 8.0 * settings.n_draws as f64;
            ensure(unit * most as f64 <= longest, "one with too many draws")?;
            Ok(chain)
        });
        let mut chains = restored.collect::<Result<Vec<_>>>()?;
        let fit = run.pool.each(&mut chains, |_, chain| {
            control.count_bounces(chain.trajectory.tally().bounces);
            chain.trajectory.ball().fits(space.gram(), control)
        })?;
        ensure(!fit.contains(&false), "one whose balls do not fit this Gram matrix")?;
        Ok(Self { run, chains, plan })
    }
}

/// Returns the sizes that a run and its continuation have in common, and their names.
fn sizes(run: &Context) -> [(&'static str, usize); 3] {
    let settings = run.settings;
    [
        ("examples", run.space.len()),
        ("trajectories", settings.n_trajectories),
        ("draws of each trajectory", settings.n_draws),
    ]
}

/// Returns the draws and functionals of each of t trajectories, of m dual coefficients with q watched planes.
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

fn reached<D: Dynamics>(chain: &Chain<D>, limit: Goal) -> Option<StopReason> {
    let tally = chain.trajectory.tally();
    if chain.trajectory.dynamics().has_ended() {
        Some(StopReason::Ended)
    } else if tally.path >= limit.path {
        Some(StopReason::Length)
    } else {
        (tally.arrivals() >= limit.arrivals).then_some(StopReason::MaxBounces)
    }
}
