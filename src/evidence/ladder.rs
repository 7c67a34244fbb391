//! The way down from transparent walls to those of a target, its rungs, and what they tell together.
//!
//! At s the walls of a class let through with κ = e^-s, but with no less than the target asks of that class: from s = 0, where
//! nothing is a wall, to the target itself. Classes that are alike go down together and pass every target on the way. Of others
//! one is there first, and the other goes on alone: on either stage the law depends on one number of violated planes.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::base::{Control, Result};
use crate::evidence::mbar;
use crate::evidence::mbar::{Offsets, Shares};
use crate::evidence::walker::LadderWalker;
use crate::space::Mirror;
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Layers, Trajectory};

/// Distance of neighboring rungs in standard deviations of the violations: their laws overlap well.
const RUNG_STEP: f64 = 1.0;
/// Largest distance of neighboring rungs in s.
const LARGEST_STEP: f64 = 1.5;
/// Mean violations at which the ladder ends: version space is then visited most of the time.
const LAST_VIOLATIONS: f64 = 0.25;
/// s at which it ends where that never happens.
const LAST_S: f64 = 25.0;
/// Path on a rung while the rungs are placed, and to burn in on one, radians.
const PLACING_PATH: f64 = 12.0;
pub(crate) const BURN_IN_PATH: f64 = 2.0;

/// A way down.
#[derive(Clone, Debug)]
pub(crate) struct Descent {
    /// The s at which a class, -1 and +1, has reached its transparency; infinity where it goes on.
    depths: [f64; 2],
    /// The s at which each target is reached.
    pub targets: Vec<f64>,
}

/// s = -ln κ of both classes.
fn depths(target: Mirror) -> [f64; 2] {
    // No negative zero.
    [target.negative, target.positive].map(|kappa| 0.0 - kappa.ln())
}

fn differ([negative, positive]: [f64; 2]) -> bool {
    negative < positive || positive < negative
}

impl Descent {
    /// The way to all of the targets; none where several of them differ between the classes, each in its own way.
    pub fn to(targets: &[Mirror]) -> Option<Self> {
        let each: Vec<[f64; 2]> = targets.iter().map(|&target| depths(target)).collect();
        let depths = match each[..] {
            [one] if differ(one) => one,
            _ if each.iter().any(|&one| differ(one)) => return None,
            _ => [f64::INFINITY; 2],
        };
        Some(Self { depths, targets: each.iter().map(|s| s[0].max(s[1])).collect() })
    }

    /// The way of both classes to hard walls.
    pub fn to_hard_walls() -> Self {
        Self::to(&[Mirror::HARD]).expect("a single target")
    }

    pub fn mirror(&self, s: f64) -> Mirror {
        let [negative, positive] = self.depths.map(|depth| (-s.min(depth)).exp());
        Mirror { negative, positive }
    }

    /// The mirror at its end.
    pub fn last(&self) -> Mirror {
        self.mirror(self.targets.iter().copied().fold(0.0, f64::max))
    }

    /// The s at which one class stays behind, if one does.
    fn junction(&self) -> Option<f64> {
        differ(self.depths).then(|| self.depths[0].min(self.depths[1]))
    }

    /// The stages of the way, each of which begins where the one before ends.
    pub fn stages(&self) -> Vec<Stage> {
        let both = Stage { from: 0.0, to: f64::INFINITY, classes: [true; 2] };
        let Some(junction) = self.junction() else {
            return vec![both];
        };
        let classes = self.depths.map(|depth| depth > junction);
        let one = Stage { from: junction, classes, ..both };
        vec![Stage { to: junction, ..both }, one]
    }

    /// What is told rung by rung, stage by stage: with the s of the rung, and twice where two stages meet.
    pub fn profile(
        &self,
        ladder: &[f64],
        tell: impl Fn(usize, &Stage) -> f64,
    ) -> (Vec<f64>, Vec<f64>) {
        let stages = self.stages();
        let rungs = |stage: &'_ Stage| stage.rungs(ladder);
        let all = stages.iter().flat_map(|stage| rungs(stage).map(move |k| (k, stage)));
        all.map(|(k, stage)| (ladder[k], tell(k, stage))).unzip()
    }

    /// The stage that an s is on; at the junction the second.
    fn stage(&self, s: f64) -> Stage {
        *self.stages().iter().rfind(|stage| stage.from <= s).expect("the first is from 0")
    }

    /// Places the rungs with a pilot trajectory on its way down: each a fixed number of standard deviations of the violations
    /// from the one before, down to the last target or to where hardly any plane is violated; one at the beginning of each stage.
    pub fn place_rungs(
        &self,
        pilot: Trajectory<'_, Geodesic>,
        control: &Control,
    ) -> Result<Vec<f64>> {
        let mut pilot = LadderWalker::<Layers>::new(pilot);
        let last = self.targets.iter().copied().fold(0.0, f64::max).min(LAST_S);
        let junction = self.junction().unwrap_or(0.0);
        let mut ladder = vec![0.0];
        let mut s = 0.0;
        loop {
            pilot.enter(self.mirror(s), BURN_IN_PATH, control)?;
            let seen = self.stage(s).by_count(&pilot.count(PLACING_PATH, control)?);
            let total: f64 = seen.values().sum();
            let moment = |power: i32, center: f64| {
                let terms =
                    seen.iter().map(|(&n, path)| (f64::from(n) - center).powi(power) * path);
                terms.sum::<f64>() / total
            };
            let mean = moment(1, 0.0);
            let square = moment(2, mean);
            let is_low = (mean <= LAST_VIOLATIONS && s > 0.0) || s >= last;
            if is_low && s >= junction {
                return Ok(ladder);
            }
            // Few violations follow a law like Poisson's: a short path that saw hardly any still has that spread.
            let deviation = square.max((0.5 * mean).min(1.0)).max(0.25).sqrt();
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

/// A stretch of the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stage {
    pub from: f64,
    pub to: f64,
    /// Whose violated planes cost more the further down.
    classes: [bool; 2],
}

impl Stage {
    /// What the law on this stage depends on: how many planes are violated of the classes that go down.
    pub fn count(&self, layer: [u32; 2]) -> u32 {
        layer.iter().zip(self.classes).map(|(n, goes)| if goes { *n } else { 0 }).sum()
    }

    /// Its rungs, both of its ends among them.
    pub fn rungs(&self, ladder: &[f64]) -> Range<usize> {
        let below = ladder.partition_point(|&s| s < self.from);
        below..ladder.partition_point(|&s| s <= self.to)
    }

    /// Path by that number.
    pub fn by_count(&self, layers: &Layers) -> BTreeMap<u32, f64> {
        let mut paths = BTreeMap::new();
        for (&layer, path) in layers {
            *paths.entry(self.count(layer)).or_insert(0.0) += path;
        }
        paths
    }

    /// ln of what the weight loses on this stage until s.
    pub fn loss(&self, count: u32, s: f64) -> f64 {
        lost(count, s.min(self.to) - self.from)
    }
}

/// What was seen on a stage of the way: the counts of violated planes that its law depends on, and their shares of it.
pub(crate) struct Seen {
    pub stage: Stage,
    pub counts: Vec<u32>,
    pub shares: Shares,
}

/// What was seen on all of them, from the first.
pub(crate) struct Stages(pub Vec<Seen>);

impl Stages {
    /// ln Z at the targets, with standard errors. A stage tells the ratio of Z at both of its ends, and the rung where two of them
    /// meet pulls at both.
    pub fn log_z(&self, targets: &[f64]) -> Vec<(f64, f64)> {
        let log_z = |&s: &f64| {
            let (mut value, mut offsets): (f64, Vec<Offsets>) = (0.0, Vec::new());
            for Seen { stage, counts, shares } in &self.0 {
                let (ratio, mut rungs) = shares.offsets(|state| -stage.loss(counts[state], s));
                value += ratio;
                if let Some(meeting) = offsets.pop() {
                    let both = rungs[0].iter_mut().zip(meeting);
                    both.for_each(|((_, off), (_, before))| *off += before);
                }
                offsets.extend(rungs);
            }
            let is_known = value > f64::NEG_INFINITY;
            (value, if is_known { mbar::error(&offsets) } else { f64::INFINITY })
        };
        targets.iter().map(log_z).collect()
    }

    /// ln of the share of the sphere that violates v planes, for v from 0 to m: by the first stage, where they all count alike.
    pub fn log_share(&self, m: usize) -> Vec<f64> {
        let mut log_share = vec![f64::NEG_INFINITY; m + 1];
        let Seen { counts, shares, .. } = &self.0[0];
        for (&count, share) in counts.iter().zip(&shares.log_share) {
            log_share[count as usize] = *share;
        }
        log_share
    }
}

/// Hard walls cost nothing where nothing is violated.
fn lost(count: u32, depth: f64) -> f64 {
    if count == 0 { 0.0 } else { f64::from(count) * depth }
}
