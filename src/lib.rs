//! Gaussian process classification with calibrated probabilities, sampled by a billiard in version space.
//!
//! Weight vectors `w = Σ c_i φ_i` of a kernel classifier that agree with all m labeled examples form the *version
//! space* `{w : |w| = 1, y_i <w, φ_i> > 0}`, a polytope on a sphere. A ball that flies along great circles and
//! bounces off its walls covers it uniformly; the mean of its path is the *Bayes point*, the best single classifier.
//! All is done with one borrowed Gram matrix `K_ij = <φ_i, φ_j>`; a bounce costs O(m).
//!
//! ```
//! use bayespoint::{Control, Gram, Settings, VersionSpace, run};
//!
//! // Three orthogonal planes: version space is the octant of the sphere with signs (+, -, +).
//! let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
//! let gram = Gram::new(&identity, 0.0, vec![0.0; 3])?;
//! let space = VersionSpace::new(gram, vec![1, -1, 1])?;
//! let settings = Settings { tol: Some(0.01), ..Settings::default() };
//! let outcome = run(&space, &settings, &Control::new())?;
//! let third = 3f64.sqrt().recip();
//! for (center, exact) in outcome.center.dual.iter().zip([third, -third, third]) {
//!     assert!((center - exact).abs() < 0.05);
//! }
//! # Ok::<(), bayespoint::Error>(())
//! ```
//!
//! References: P. Ruján, M. Marchand, "Computing the Bayes kernel classifier" (2000); R. Herbrich, T. Graepel,
//! C. Campbell, "Bayesian learning in reproducing kernel Hilbert spaces" (1999).

// With the door it is denied (Cargo.toml): PyO3's macros make code of which they vouch themselves.
#![cfg_attr(not(feature = "python"), forbid(unsafe_code))]

// The layers: a folder uses only folders of the groups before it.
mod base;
mod simd;

mod gram;
mod laws;

mod linalg;
mod soft;
mod space;

mod ball;

mod trajectory;

mod interior;

mod ensemble;

mod evidence;
pub mod propagation;

pub mod predictions;

pub mod papers;

#[cfg(feature = "python")]
mod python;

pub use ball::Ball;
pub use base::{Control, Error, Result, State};
pub use ensemble::{Average, CenterOfMass, Outcome, Settings, StopReason, run, sample};
pub use evidence::{EvidenceOutcome, EvidenceSettings, evidence};
pub use gram::{Gram, Wall};
pub use interior::{MarginSettings, MaxMargin, Start, feasible_point, max_margin};
pub use laws::{Largest, Law, Observed, Paths, Trial};
pub use linalg::{Draw, Factor, Inverse, Isotropic};
pub use simd::{Entry, Precision, Row, distance, pass, tall};
pub use soft::{NormalLaw, SoftBalls, SoftDraws, SoftWalls, Turns};
pub use space::{Mirror, Transparency, VersionSpace};
pub use trajectory::{
    Goal, Layers, Observer, Recorder, Refresh, RefreshChoice, Tally, Trajectory, Until, dynamics,
};

#[cfg(test)]
#[path = "../tests/unit/mod.rs"]
mod unit;
