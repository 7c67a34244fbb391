//! The tests of the engine, in one binary with a module for each part.
//!
//! `cargo test --test engine evidence::` runs a module. Tests that take long are ignored unless they are asked for:
//! `make test-all` runs them too.

#[path = "../common/mod.rs"]
mod common;
#[path = "../hostile/mod.rs"]
mod hostile;

mod center_error;
mod conditional;
mod evidence;
mod fuzz;
mod invariance;
mod kernels;
mod margin;
mod onion;
mod polygons;
mod properties;
mod refresh;
mod resume;
mod runs;
mod scattered;
mod soft;
mod straight;
mod walls;
