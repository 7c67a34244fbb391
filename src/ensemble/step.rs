//! A step of a trajectory: what all of them do between two decisions.

use crate::base::{Control, Result};
use crate::ensemble::chain::Chain;
use crate::space::Mirror;
use crate::trajectory::Goal;
use crate::trajectory::dynamics::Dynamics;

/// What all trajectories do, each for itself.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Forgets what was tallied and flies to a goal.
    Run(Goal),
    /// Flies on in pieces; see [`Chain::extend`]. And prepares them for the center where it is asked for at once.
    Extend { stage: usize, unit: f64, limit: Goal, prepare: bool },
}

/// What is the same for all trajectories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub mirror: Mirror,
    /// Draws to keep of each; 0 where there is no record.
    pub draws: usize,
    /// The planes that it watches.
    pub watched: &'a [usize],
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
