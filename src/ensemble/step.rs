//! A step of a trajectory: what all of them do between two decisions.

use serde::{Deserialize, Serialize};

use crate::base::{Control, Result, ensure};
use crate::ensemble::chain::Chain;
use crate::space::Mirror;
use crate::trajectory::Goal;
use crate::trajectory::dynamics::Dynamics;

/// What all trajectories do, each for itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Forgets what was tallied and flies to a goal.
    Run(Goal),
    /// Flies on in pieces; see [`Chain::extend`]. And prepares them for the center where it is asked for at once.
    Extend { stage: usize, unit: f64, limit: Goal, prepare: bool },
}

/// What is the same for all trajectories.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub mirror: Mirror,
    /// Draws to keep of each; 0 where there is no record.
    pub draws: usize,
    /// The planes that it watches.
    pub watched: Vec<usize>,
}

impl Terms {
    /// Makes sure that terms from another process are of m examples.
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
