//! Steps of trajectories: the work between two decisions about all of them.

use serde::{Deserialize, Serialize};

use crate::base::{Control, Result, ensure};
use crate::ensemble::chain::Chain;
use crate::space::Mirror;
use crate::trajectory::Goal;
use crate::trajectory::dynamics::Dynamics;

/// A step that every trajectory takes independently of the others.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Resets the tally and runs to a goal.
    Run(Goal),
    /// Extends the path in pieces; see [`Chain::extend`]. With `prepare`, also prepares them for the center.
    Extend { stage: usize, unit: f64, limit: Goal, prepare: bool },
}

/// Settings of a step that are the same for all trajectories.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub mirror: Mirror,
    /// Draws to keep of each trajectory; 0 if draws are not recorded.
    pub draws: usize,
    /// Indices of the planes whose coordinates are recorded with the draws.
    pub watched: Vec<usize>,
}

impl Terms {
    /// Checks terms from another process against the number m of examples.
    pub(super) fn check(&self, m: usize) -> Result<()> {
        let planes = self.watched.len() <= m && self.watched.iter().all(|&plane| plane < m);
        ensure(planes, || "one that watches other planes")?;
        ensure(u32::try_from(self.draws).is_ok(), || format!("one of {} draws", self.draws))
    }
}

impl<D: Dynamics> Chain<'_, D> {
    /// Takes a step.
    pub(super) fn take(&mut self, step: Step, control: &Control) -> Result<()> {
        match step {
            Step::Run(goal) => {
                self.reset(None);
                self.trajectory.run(goal, control)
            }
            Step::Extend { stage, unit, limit, prepare } => {
                self.extend(stage, unit, limit, control)?;
                // What is made of a path that was cut off is no part of a longer one.
                if prepare && !self.is_cut() { self.prepare(control) } else { Ok(()) }
            }
        }
    }
}
