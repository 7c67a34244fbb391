//! The light trap of Ruján and Marchand (section 18.5.2), with one-way mirrors.

use crate::ball::laying;
use crate::base::{Control, Error, Result, random};
use crate::interior::light_trap::{LEAST_ARRIVALS, REFRESH_RATE, step_in};
use crate::interior::{conflicts, max_margin};
use crate::space::{Mirror, VersionSpace, one_dimensional};
use crate::trajectory::dynamics::Geodesic;
use crate::trajectory::{Goal, Refresh, Trajectory};

/// Most arrivals at walls for each plane before the trap gives up.
const ARRIVALS_PER_PLANE: u64 = 1_000;

/// Result of [`one_way`].
#[derive(Clone, Debug)]
pub struct OneWay {
    /// Dual coefficients of a point in version space, of unit length.
    pub dual: Vec<f64>,
    /// Violated examples at the start and after each decrease. A decrease is by one, or by several for coinciding planes.
    pub errors: Vec<u32>,
    /// Bounces before each of them.
    pub bounces: Vec<u64>,
    /// Whether the trap caught the ball; if not, the point is that of the maximal-margin search.
    pub caught: bool,
}

/// Follows a ball among one-way mirrors. It starts from the difference of the class means in feature space, the solution of a
/// Gaussian kernel for σ → 0.
///
/// If the ball is not caught after 1000 arrivals per example, the maximal-margin search finds the point.
///
/// [`Error::Infeasible`] if there is no such point; [`Error::Interrupted`].
pub fn one_way(space: &VersionSpace, seed: u64, control: &Control) -> Result<OneWay> {
    conflicts::check(space, Mirror::HARD, control)?;
    let gram = space.gram();
    let m = gram.len();
    let (mut errors, mut bounces) = (Vec::new(), Vec::new());
    let counts = space.class_counts().map(f64::from);
    let means: Vec<f64> =
        (0..m).map(|i| space.sign(i) / counts[usize::from(space.sign(i) > 0.0)]).collect();
    let mut rng = random::stream(seed, 0);
    let ball = if one_dimensional::is_one_dimensional(gram) {
        None
    } else {
        match laying::ball_at(gram, &means, &mut rng, control) {
            // The class means coincide, so version space is empty. The maximal-margin search returns the certificate.
            Err(Error::Invalid { .. } | Error::Breakdown { .. }) => None,
            ball => Some(ball?),
        }
    };
    if let Some(ball) = ball {
        let mut trajectory = Trajectory::new(space, Geodesic, ball, rng);
        trajectory.set_refresh(Refresh::Pair { rate: REFRESH_RATE });
        let patience = LEAST_ARRIVALS + ARRIVALS_PER_PLANE * m as u64;
        loop {
            control.check()?;
            let violated = trajectory.violated();
            if errors.last().is_none_or(|&last| violated < last) {
                errors.push(violated);
                bounces.push(trajectory.tally().bounces);
            }
            let arrivals = trajectory.tally().arrivals();
            if violated == 0 || arrivals >= patience {
                break;
            }
            trajectory.run(Goal::either(f64::INFINITY, arrivals + 1), control)?;
        }
        if trajectory.violated() == 0 && step_in(space, &mut trajectory)? {
            let dual = trajectory.ball().position(0.0);
            return Ok(OneWay { dual, errors, bounces, caught: true });
        }
    }
    let dual = max_margin::interior_point(space, control)?;
    Ok(OneWay { dual, errors, bounces, caught: false })
}
