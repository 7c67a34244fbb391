//! What an evidence run finds.

/// What an evidence run found.
#[derive(Clone, Debug)]
pub struct EvidenceOutcome {
    /// ln Z at each target, nats; -∞ where version space was never entered.
    pub values: Vec<f64>,
    /// Standard errors, nats.
    pub errors: Vec<f64>,
    /// Half of what the trips up the ladder say more than the trips down, nats: trajectories that lag behind the ladder put the
    /// first too high and the second too low. NaN where there are no trips up, or one entered version space and the
    /// other did not.
    pub lags: Vec<f64>,
    /// s of the rungs, rising from 0: -ln κ, of the harder walls where the classes differ; of a bridge, how far its rungs are from
    /// the prior, from 0 to 1.
    pub ladder: Vec<f64>,
    /// Mean violations on the rungs, of the classes that go on from there: `-d ln Z / ds`. Where one class stays behind there is a
    /// rung for both and the same for the other.
    pub mean_violations: Vec<f64>,
    /// ln of the share of the sphere that violates v planes, shape (m + 1,); -∞ where none was seen.
    pub log_share: Vec<f64>,
    /// The layers that were seen: how many examples of label -1 and of label +1 are violated.
    pub layers: Vec<[u32; 2]>,
    /// Share of each of them in the path that violates as many.
    pub layer_shares: Vec<f64>,
    /// Path per trajectory, radians.
    pub length: f64,
    /// Whether every error reached the tolerance.
    pub converged: bool,
}
