//! Errors of the engine as Python exceptions.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::{
    PyFloatingPointError, PyKeyboardInterrupt, PyMemoryError, PyTimeoutError, PyValueError,
};
use pyo3::prelude::*;

use crate::base::Error;

pyo3::create_exception!(
    bayespoint._core,
    InfeasibleError,
    PyValueError,
    "No weight vector satisfies all examples, or none was found.\n\n\
     Attributes\n----------\n\
     what, advice : str\n    What was found, and what to write instead; the text of the error is both.\n\
     violations : int\n    Fewest violated examples of all weight vectors tried.\n\
     margin_bound : float\n    Upper bound of the margin by weak duality, to rounding (1e-7), relative to the longest feature vector.\n\
     certificate : ndarray of shape (m,) or (n_classes, m)\n    Weights a >= 0 of sum 1 whose combination sum a_i y_i phi_i is as short as the bound. With several classes a weight of \
     each example's wall to each class."
);

/// What to write instead where there is no version space, in the words of `VersionSpace`.
const ADVICE: &str = "Use softness > 0, or label noise (transparency > 0)";

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Invalid { .. } => PyValueError::new_err(text),
            Error::Breakdown { .. } => PyFloatingPointError::new_err(text),
            Error::Memory { .. } => PyMemoryError::new_err(text),
            Error::Time => PyTimeoutError::new_err(text),
            // A signal or a callback raised the flag. Both have an exception of their own, which replaces this one.
            Error::Interrupted => PyKeyboardInterrupt::new_err(text),
            Error::Infeasible { examples, violations, margin_bound, certificate } => {
                Python::attach(|py| {
                    let error = InfeasibleError::new_err(format!("{text}. {ADVICE}"));
                    let fill = || -> PyResult<()> {
                        let value = error.value(py);
                        value.setattr("what", text)?;
                        value.setattr("advice", ADVICE)?;
                        value.setattr("violations", violations)?;
                        value.setattr("margin_bound", margin_bound)?;
                        let classes = certificate.len().checked_div(examples).unwrap_or(1);
                        let weights = certificate.into_pyarray(py);
                        if classes > 1 {
                            return value
                                .setattr("certificate", weights.reshape([classes, examples])?);
                        }
                        value.setattr("certificate", weights)
                    };
                    fill().err().unwrap_or(error)
                })
            }
        }
    }
}
