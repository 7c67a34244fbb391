//! Bayes-optimal kernel classification by billiards in version space.
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
//! for (center, exact) in outcome.center.iter().zip([third, -third, third]) {
//!     assert!((center - exact).abs() < 0.05);
//! }
//! # Ok::<(), bayespoint::Error>(())
//! ```
//!
//! References: P. Ruján, M. Marchand, "Computing the Bayes kernel classifier" (2000); R. Herbrich, T. Graepel,
//! C. Campbell, "Bayesian learning in reproducing kernel Hilbert spaces" (1999).

// With the door it is denied (Cargo.toml): PyO3's macros make code of which they vouch themselves.
#![cfg_attr(not(feature = "python"), forbid(unsafe_code))]

mod active_set;
mod annealing;
mod ascent;
mod average;
mod ball;
mod bridge;
mod center;
mod cholesky;
mod conditional;
mod control;
mod correlation;
mod crew;
mod cycle;
mod descent;
mod dot;
pub mod dynamics;
mod entry;
mod error;
mod even;
mod evidence;
mod factor;
mod free_set;
mod gas;
mod gram;
mod layers;
mod light_trap;
mod max_margin;
mod mirror;
mod onion;
mod outcome;
pub mod pass;
mod perceptron;
mod point_space;
mod recorder;
mod refresh;
mod reweight;
mod room;
mod settings;
mod state;
mod tally;
mod trajectory;
mod version_space;

#[cfg(feature = "python")]
mod python;

pub use average::{Addition, RunningCenter};
pub use ball::{Ball, Reflection};
pub use conditional::Inverse;
pub use control::Control;
pub use correlation::{Correlation, CorrelationSettings, Pair, correlation};
pub use error::{Error, Result};
pub use evidence::{EvidenceOutcome, EvidenceSettings, Method, evidence};
pub use factor::{Draw, Factor, Isotropic};
pub use gas::{Elsewhere, resume, run, run_elsewhere, run_with, take_step};
pub use gram::{Gram, Kernel, KernelRows, Precision, Row, Stored, Values};
pub use layers::LayerRange;
pub use light_trap::{OneWay, Start, feasible_point, one_way};
pub use max_margin::{MarginSettings, MaxMargin, max_margin};
pub use mirror::{Encounter, Mirror};
pub use onion::{OnionMethod, OnionOutcome, OnionSettings, onion};
pub use outcome::{Outcome, StopReason};
pub use perceptron::{Perceptron, perceptron, perceptron_point};
pub use recorder::Recorder;
pub use refresh::Refresh;
pub use settings::{RefreshChoice, Settings};
pub use state::{Loader, Saver, State};
pub use tally::{Goal, Layers, Tally, Until};
pub use trajectory::Trajectory;
pub use version_space::VersionSpace;
