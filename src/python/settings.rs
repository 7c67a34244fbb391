//! Settings, read by name from the fields of a dataclass or from a mapping, and checked.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pythonize::Depythonizer;
use serde::de::DeserializeOwned;

use crate::base::Error;
use crate::correlation::CorrelationSettings;
use crate::ensemble::Settings;
use crate::evidence::EvidenceSettings;
use crate::interior::{MarginSettings, PerceptronSettings};
use crate::onion::OnionSettings;
use crate::trajectory::dynamics::Motion;

/// Reads settings of the engine. An error names the setting.
pub(super) fn read<T: DeserializeOwned>(values: &Bound<'_, PyAny>) -> PyResult<T> {
    serde_path_to_error::deserialize(&mut Depythonizer::from_object(values)).map_err(|error| {
        let text = format!("{} {}", error.path(), error.inner());
        let is_of_type = PyErr::from(error.into_inner()).is_instance_of::<PyTypeError>(values.py());
        if is_of_type { PyTypeError::new_err(text) } else { PyValueError::new_err(text) }
    })
}

/// Raises `ValueError` if settings are out of range or cannot be combined.
#[pyfunction]
pub fn check_settings(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<()> {
    match kind {
        "sample" => read::<Settings>(values)?.check()?,
        "dynamics" => read::<Motion>(values)?.check()?,
        "evidence" => read::<EvidenceSettings>(values)?.check()?,
        "onion" => read::<OnionSettings>(values)?.check()?,
        "margin" => read::<MarginSettings>(values)?.check()?,
        "perceptron" => read::<PerceptronSettings>(values)?.check()?,
        "correlation" => read::<CorrelationSettings>(values)?.check()?,
        other => {
            let wanted = "'sample', 'dynamics', 'evidence', 'onion', 'margin', 'perceptron' or 'correlation'";
            return Err(Error::invalid("kind", other, wanted).into());
        }
    }
    Ok(())
}
