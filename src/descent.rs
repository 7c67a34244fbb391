//! The way down from transparent walls to those of a target, and its rungs.
//!
//! At s the walls of a class let through with κ = e^-s, but with no less than the target asks of that class: from s = 0, where
//! nothing is a wall, to the target itself. Classes that are alike go down together and pass every target on the way. Of others
//! one is there first, and the other goes on alone: on either stage the law depends on one number of violated planes.

use std::collections::BTreeMap;

use crate::control::Control;
use crate::dynamics::Geodesic;
use crate::error::Result;
use crate::mirror::Mirror;
use crate::tally::{Goal, Layers};
use crate::trajectory::Trajectory;

/// Distance of neighboring rungs in standard deviations of the violations: their laws overlap well.
const RUNG_STEP: f64 = 1.0;
/// Largest distance of neighboring rungs in s.
const LARGEST_STEP: f64 = 1.5;
/// Mean violations at which the ladder ends: version space is then visited most of the time.
const LAST_VIOLATIONS: f64 = 0.25;
/// s at which it ends where that never happens.
const LAST_S: f64 = 25.0;
/// Path on a rung while the rungs are placed, and to settle on one, radians.
const PLACING_PATH: f64 = 12.0;
pub(crate) const SETTLE_PATH: f64 = 2.0;

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

    /// The s at which one class stays behind, if one does; else where all begin.
    fn junction(&self) -> f64 {
        if differ(self.depths) { self.depths[0].min(self.depths[1]) } else { 0.0 }
    }

    /// The stages of the way, each of which begins where the one before ends.
    pub fn stages(&self) -> Vec<Stage> {
        let junction = self.junction();
        let both = Stage { from: 0.0, to: f64::INFINITY, classes: [true; 2] };
        if junction == 0.0 {
            return vec![both];
        }
        let classes = self.depths.map(|depth| depth > junction);
        let one = Stage { from: junction, classes, ..both };
        vec![Stage { to: junction, ..both }, one]
    }

    /// ln of what the weight of a layer loses from one s to a larger one.
    pub fn loss(&self, layer: [u32; 2], from: f64, to: f64) -> f64 {
        let part = |n: u32, depth: f64| lost(n, to.min(depth) - from.min(depth));
        part(layer[0], self.depths[0]) + part(layer[1], self.depths[1])
    }

    /// The stage that an s is on; at the junction the second.
    fn stage(&self, s: f64) -> Stage {
        *self.stages().iter().rfind(|stage| stage.from <= s).expect("the first is from 0")
    }

    /// Places the rungs with one trajectory on its way down: each a fixed number of standard deviations of the violations
    /// from the one before, down to the last target or to where hardly any plane is violated; one at the beginning of each stage.
    pub fn place_rungs(
        &self,
        trajectory: &mut Trajectory<'_, Geodesic>,
        control: &Control,
    ) -> Result<Vec<f64>> {
        let last = self.targets.iter().copied().fold(0.0, f64::max).min(LAST_S);
        let junction = self.junction();
        let mut ladder = vec![0.0];
        let mut s = 0.0;
        loop {
            trajectory.set_mirror(self.mirror(s));
            trajectory.reset(None);
            trajectory.run(Goal::path(SETTLE_PATH), control)?;
            trajectory.reset_counting();
            trajectory.run(Goal::path(PLACING_PATH), control)?;
            let seen = self.stage(s).by_count(&trajectory.take_layers().unwrap_or_default());
            let total: f64 = seen.values().sum();
            let moment = |power: i32, center: f64| {
                let terms =
                    seen.iter().map(|(&n, path)| (f64::from(n) - center).powi(power) * path);
                terms.sum::<f64>() / total
            };
            let mean = moment(1, 0.0);
            let square = moment(2, mean);
            let is_on_last_stage = s >= junction;
            if is_on_last_stage && (s >= last || (mean <= LAST_VIOLATIONS && s > 0.0)) {
                return Ok(ladder);
            }
            // Few violations follow a law like Poisson's: a short path that saw hardly any still has that spread.
            let deviation = square.max((0.5 * mean).min(1.0)).max(0.25).sqrt();
            let end = if is_on_last_stage { last } else { junction };
            s = (s + (RUNG_STEP / deviation).min(LARGEST_STEP)).min(end);
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
    fn count(&self, layer: [u32; 2]) -> u32 {
        layer.iter().zip(self.classes).map(|(n, goes)| if goes { *n } else { 0 }).sum()
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

/// Hard walls cost nothing where nothing is violated.
fn lost(count: u32, depth: f64) -> f64 {
    if count == 0 { 0.0 } else { f64::from(count) * depth }
}
