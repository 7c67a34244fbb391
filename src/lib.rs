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

mod ball;
mod base;
mod correlation;
mod ensemble;
mod evidence;
mod gram;
mod interior;
mod linalg;
mod onion;
mod simd;
mod space;
mod trajectory;

#[cfg(feature = "python")]
mod python;

pub use ball::{Ball, Reflection};
pub use base::checkpoint::{Loader, Saver, State};
pub use base::control::Control;
pub use base::error::{Error, Result};
pub use correlation::{Correlation, CorrelationSettings, Pair, correlation};
pub use ensemble::executor::RemoteExecutor;
pub use ensemble::outcome::{Outcome, StopReason};
pub use ensemble::remote::take_step;
pub use ensemble::run::{resume, run, run_remotely, run_with};
pub use ensemble::settings::Settings;
pub use evidence::evidence;
pub use evidence::outcome::EvidenceOutcome;
pub use evidence::settings::{EvidenceSettings, Method};
pub use gram::{Gram, Kernel, KernelRows, Row, Stored, Values};
pub use interior::light_trap::{OneWay, one_way};
pub use interior::max_margin::{MarginSettings, MaxMargin, max_margin};
pub use interior::perceptron::{Perceptron, perceptron};
pub use interior::{Start, feasible_point, perceptron_point};
pub use linalg::factor::{Draw, Factor, Isotropic};
pub use linalg::inverse::Inverse;
pub use onion::onion;
pub use onion::outcome::OnionOutcome;
pub use onion::settings::{OnionMethod, OnionSettings};
pub use simd::dot::Precision;
pub use simd::pass;
pub use space::layers::LayerRange;
pub use space::mirror::{Encounter, Mirror};
pub use space::version_space::VersionSpace;
pub use trajectory::dynamics;
pub use trajectory::dynamics::{Addition, RunningCenter};
pub use trajectory::event_loop::Trajectory;
pub use trajectory::recorder::Recorder;
pub use trajectory::refresh::{Refresh, RefreshChoice};
pub use trajectory::tally::{Goal, Layers, Tally, Until};
