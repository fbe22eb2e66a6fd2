//! Diagnostics as exceptions of the Python package.

use pyo3::{PyErr, import_exception};
use warpbound_base::Diagnostic;

import_exception!(warpbound.errors, InputError);

/// Parts of a diagnostic: message, hint, file, kernel, position, source line.
pub(crate) type DiagnosticParts = (
    String,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// Returns the parts of a diagnostic, which are the arguments of the package's `Problem` and `InputError`.
pub(crate) fn parts(diagnostic: &Diagnostic) -> DiagnosticParts {
    let location = &diagnostic.location;
    (
        diagnostic.message.clone(),
        diagnostic.hint.clone(),
        location.file.clone(),
        location.kernel.clone(),
        location.position.clone(),
        location.source.clone(),
    )
}

/// Failure of a query.
pub(crate) enum QueryError {
    /// Unusable input.
    Input(Diagnostic),
    /// Exception of the interpreter, such as `KeyboardInterrupt`.
    Python(PyErr),
}

impl From<Diagnostic> for QueryError {
    fn from(diagnostic: Diagnostic) -> QueryError {
        QueryError::Input(diagnostic)
    }
}

impl From<PyErr> for QueryError {
    fn from(error: PyErr) -> QueryError {
        QueryError::Python(error)
    }
}

impl From<QueryError> for PyErr {
    fn from(error: QueryError) -> PyErr {
        match error {
            QueryError::Input(diagnostic) => InputError::new_err(parts(&diagnostic)),
            // An interrupt must arrive as itself, not as an error of the input.
            QueryError::Python(error) => error,
        }
    }
}
