//! What does not change during a run.

use std::sync::Arc;

use crate::base::{Control, Result};
use crate::ensemble::conditional_means::Smoother;
use crate::ensemble::pool::WorkerPool;
use crate::ensemble::settings::Settings;
use crate::ensemble::step::RemoteExecutor;
use crate::linalg::Inverse;
use crate::space::VersionSpace;

/// Number of planes whose coordinates are recorded with the draws, for R-hat and effective sample size.
const WATCHED: usize = 16;

/// The problem, the settings and the workers of a run.
pub(super) struct Context<'s, 'c> {
    pub space: &'s VersionSpace<'s>,
    pub settings: &'c Settings,
    pub inverse: Option<Inverse<'s>>,
    /// Present if the center is one of conditional means.
    pub smoother: Option<Arc<Smoother<'s>>>,
    /// Indices of the planes whose coordinates are recorded with the draws.
    pub watched: Vec<usize>,
    pub pool: &'c WorkerPool,
    /// Takes the steps in other processes, if there is one.
    pub executor: Option<&'c dyn RemoteExecutor>,
    pub control: &'c Control,
}

impl<'s, 'c> Context<'s, 'c> {
    pub fn new(
        space: &'s VersionSpace<'s>,
        settings: &'c Settings,
        inverse: Option<Inverse<'s>>,
        pool: &'c WorkerPool,
        control: &'c Control,
    ) -> Result<Self> {
        let smoother =
            inverse.map(|inverse| Smoother::new(inverse, control)).transpose()?.map(Arc::new);
        let (m, q) = (space.len(), WATCHED.min(space.len()));
        let watched = (0..q).map(|k| k * m / q).collect();
        Ok(Self { space, settings, inverse, smoother, watched, pool, executor: None, control })
    }
}
