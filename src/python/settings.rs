//! The settings of a run, read from the attributes of `bayespoint.engine.settings.SampleSettings`.

use pyo3::prelude::*;

use crate::base::Error;
use crate::ensemble::Settings;
use crate::space::Mirror;
use crate::trajectory::RefreshChoice;
use crate::trajectory::dynamics::{Motion, Points, Radius};

/// A number, or "auto".
#[derive(FromPyObject)]
enum OrAuto {
    Number(f64),
    Auto(String),
}

impl OrAuto {
    fn number(self, name: &'static str) -> crate::base::Result<Option<f64>> {
        match self {
            Self::Number(x) => Ok(Some(x)),
            Self::Auto(word) if word == "auto" => Ok(None),
            Self::Auto(word) => Err(Error::invalid(name, word, "'auto' or a number")),
        }
    }
}

/// The attributes of `SampleSettings`, its ends filled in.
#[derive(FromPyObject)]
pub(super) struct SampleSettings<'py> {
    n_trajectories: usize,
    n_draws: usize,
    length: Option<f64>,
    tol: Option<f64>,
    max_bounces: Option<u64>,
    motion: Bound<'py, PyAny>,
    transparency: (f64, f64),
    refresh: Option<String>,
    refresh_rate: OrAuto,
    average: String,
}

impl SampleSettings<'_> {
    /// The settings of the engine, with the start, threads and seed of its default.
    pub(super) fn taken(self) -> PyResult<Settings> {
        let rate = self.refresh_rate.number("refresh_rate")?;
        let refresh = match self.refresh.as_deref() {
            Some("auto") => RefreshChoice::Auto,
            None => RefreshChoice::None,
            Some("pair") => RefreshChoice::Pair(rate),
            Some("full") => RefreshChoice::Full(rate),
            Some(other) => {
                let wanted = "'auto', 'pair', 'full' or None";
                return Err(Error::invalid("refresh", other, wanted).into());
            }
        };
        Ok(Settings {
            n_trajectories: self.n_trajectories,
            n_draws: self.n_draws,
            length: self.length,
            max_bounces: self.max_bounces,
            tol: self.tol,
            by_impulses: self.average == "impulse",
            motion: motion(&self.motion, &self.average)?,
            mirror: Mirror::new(self.transparency.0, self.transparency.1)?,
            refresh,
            ..Settings::default()
        })
    }
}

/// An object of `bayespoint.dynamics`, with the points that `average` asks for.
pub(super) fn motion(dynamics: &Bound<'_, PyAny>, average: &str) -> PyResult<Motion> {
    let name = dynamics.get_type().name()?;
    let tau_max = || dynamics.getattr("tau_max")?.extract::<f64>();
    Ok(match name.to_str()? {
        "Geodesic" => Motion::Geodesic,
        "Scattered" => scattered(dynamics)?,
        "Chord" => Motion::Chord {
            tau_max: tau_max()?,
            weight_tol: dynamics.getattr("weight_tol")?.extract()?,
        },
        "Flipper" => {
            let points = if average == "bounces" { Points::Bounces } else { Points::Midpoints };
            Motion::Flipper { tau_max: tau_max()?, points }
        }
        other => {
            let wanted = "an object of bayespoint.dynamics";
            return Err(Error::invalid("dynamics", other, wanted).into());
        }
    })
}

fn scattered(dynamics: &Bound<'_, PyAny>) -> PyResult<Motion> {
    let scattering: String = dynamics.getattr("scattering")?.extract()?;
    let cosine = match scattering.as_str() {
        "specular" => false,
        "cosine" => true,
        other => {
            return Err(Error::invalid("scattering", other, "'specular' or 'cosine'").into());
        }
    };
    let scatterer = match dynamics.getattr("scatterer")?.extract::<Option<OrAuto>>()? {
        None => None,
        Some(radius) => Some(radius.number("scatterer")?.map_or(Radius::Fitted, Radius::Given)),
    };
    Ok(match scatterer {
        None if !cosine => Motion::Geodesic,
        scatterer => Motion::Scattered { cosine, scatterer },
    })
}
