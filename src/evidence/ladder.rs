//! The ladder of mirrors from transparent walls to those of the targets, and ln Z along it.
//!
//! At position s the walls of both classes have the transparency κ = e^-s, but no less than that of the target: from s = 0,
//! where walls have no effect, to the target itself. Classes with equal transparencies stay equal, and pass every target on
//! the way. Otherwise one class reaches its target first and stays there. The density depends on one number of violations.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::mbar::{self, Influences, Shares, sum_by_key};
use super::walker::{LadderWalker, isotropic};
use crate::base::{Control, Result, Stream};
use crate::linalg::Factor;
use crate::space::{Mirror, VersionSpace};
use crate::trajectory::Layers;

/// Distance of neighboring rungs in standard deviations of the violations, so that their distributions overlap well.
const RUNG_STEP: f64 = 1.0;
/// Largest distance of neighboring rungs in s.
const LARGEST_STEP: f64 = 1.5;
/// Mean violations at which the ladder ends: the ball is then in version space most of the time.
const LAST_VIOLATIONS: f64 = 0.25;
/// s at which it ends otherwise.
const LAST_S: f64 = 25.0;
/// Path of the pilot on a rung, radians.
const PILOT_PATH: f64 = 12.0;
/// Path to burn in on a rung, radians.
pub const BURN_IN_PATH: f64 = 2.0;

/// The path of mirrors from transparent walls to the targets.
pub struct Descent {
    /// The s at which each class, -1 and +1, stays behind; infinity if it does not.
    depths: [f64; 2],
    /// The s of each target.
    pub targets: Vec<f64>,
}

fn differ([negative, positive]: [f64; 2]) -> bool {
    negative < positive || positive < negative
}

impl Descent {
    /// Returns the descent to all targets; none if there are several and the classes differ in one of them.
    pub fn to(targets: &[Mirror]) -> Option<Self> {
        // s = -ln κ, without a negative zero.
        let depth = |kappa: f64| 0.0 - kappa.ln();
        let each: Vec<[f64; 2]> = targets.iter().map(|target| target.0.map(depth)).collect();
        let depths = match each[..] {
            [one] if differ(one) => one,
            _ if each.iter().any(|&one| differ(one)) => return None,
            _ => [f64::INFINITY; 2],
        };
        Some(Self { depths, targets: each.iter().map(|s| s[0].max(s[1])).collect() })
    }

    pub fn mirror(&self, s: f64) -> Mirror {
        Mirror(self.depths.map(|depth| (-s.min(depth)).exp()))
    }

    /// The largest s of a target.
    pub fn end(&self) -> f64 {
        self.targets.iter().copied().fold(0.0, f64::max)
    }

    /// The stages, each of which begins where the one before ends.
    pub fn stages(&self) -> Vec<Stage> {
        let both = Stage { from: 0.0, to: f64::INFINITY, classes: [true; 2] };
        if !differ(self.depths) {
            return vec![both];
        }
        let junction = self.depths[0].min(self.depths[1]);
        let classes = self.depths.map(|depth| depth > junction);
        let one = Stage { from: junction, classes, ..both };
        vec![Stage { to: junction, ..both }, one]
    }

    /// Places the rungs with a pilot run: each a fixed number of standard deviations of the violations from the one before, down
    /// to the last target or to where hardly any plane is violated, and one at the beginning of each stage.
    pub fn place_rungs(
        &self,
        space: &VersionSpace,
        factor: &Arc<Factor>,
        rng: Stream,
        control: &Control,
    ) -> Result<Vec<f64>> {
        let pilot = isotropic(space, factor, rng, control)?;
        let mut pilot = LadderWalker::<Layers>::new(pilot, control);
        let last = self.end().min(LAST_S);
        let stages = self.stages();
        let junction = stages[stages.len() - 1].from;
        let mut ladder = vec![0.0];
        let mut s = 0.0;
        loop {
            pilot.enter(self.mirror(s), BURN_IN_PATH)?;
            let stage = stages.iter().rfind(|stage| stage.from <= s).expect("the first is from 0");
            let paths = stage.by_count(&pilot.count(PILOT_PATH)?);
            let total: f64 = paths.values().sum();
            let moment = |power: i32, center: f64| {
                let terms =
                    paths.iter().map(|(&n, path)| (f64::from(n) - center).powi(power) * path);
                terms.sum::<f64>() / total
            };
            let mean = moment(1, 0.0);
            let variance = moment(2, mean);
            let is_low = (mean <= LAST_VIOLATIONS && s > 0.0) || s >= last;
            if is_low && s >= junction {
                return Ok(ladder);
            }
            // Small counts are nearly Poisson distributed: a short path with hardly any still has that variance.
            let deviation = variance.max((0.5 * mean).min(1.0)).max(0.25).sqrt();
            let next = s + (RUNG_STEP / deviation).min(LARGEST_STEP);
            s = match (s < junction, is_low) {
                (true, true) => junction,
                (true, false) => next.min(junction),
                (false, _) => next.min(last),
            };
            ladder.push(s);
        }
    }
}

/// A part of the descent on which the transparencies of the same classes fall.
#[derive(Clone, Copy)]
pub struct Stage {
    pub from: f64,
    pub to: f64,
    /// The classes whose transparency falls.
    classes: [bool; 2],
}

impl Stage {
    /// Returns how many planes of the stage's classes are violated: the density on the stage depends on this count alone.
    pub fn count(&self, layer: [u32; 2]) -> u32 {
        layer.iter().zip(self.classes).map(|(n, falls)| if falls { *n } else { 0 }).sum()
    }

    /// Its rungs, including those at both ends.
    pub fn rungs(&self, ladder: &[f64]) -> Range<usize> {
        let below = ladder.partition_point(|&s| s < self.from);
        below..ladder.partition_point(|&s| s <= self.to)
    }

    pub fn by_count(&self, layers: &Layers) -> BTreeMap<u32, f64> {
        sum_by_key(layers.iter().map(|(&layer, &path)| (self.count(layer), path)))
    }

    /// ln of the weight of a count at s, relative to the beginning of the stage.
    pub fn log_weight(&self, count: u32, s: f64) -> f64 {
        // Hard walls have no effect where nothing is violated.
        if count == 0 { 0.0 } else { f64::from(count) * (self.from - s.min(self.to)) }
    }
}

/// A stage, the counts that occurred on it, and their shares of the distribution at its beginning.
pub type StageEstimate = (Stage, Vec<u32>, Shares);

/// Returns ln Z at the targets, with standard errors, from the ratios of all stages; where two meet, a rung counts twice.
pub fn log_z(stages: &[StageEstimate], targets: &[f64]) -> Vec<(f64, f64)> {
    let log_z = |&s: &f64| {
        let (mut value, mut influences): (f64, Vec<Influences>) = (0.0, Vec::new());
        for (stage, counts, shares) in stages {
            let (ratio, mut rungs) = shares.influences(|state| stage.log_weight(counts[state], s));
            value += ratio;
            if let Some(meeting) = influences.pop() {
                let both = rungs[0].iter_mut().zip(meeting);
                both.for_each(|((_, off), (_, before))| *off += before);
            }
            influences.extend(rungs);
        }
        let is_known = value > f64::NEG_INFINITY;
        (value, if is_known { mbar::error(&influences) } else { f64::INFINITY })
    };
    targets.iter().map(log_z).collect()
}
