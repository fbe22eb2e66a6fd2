//! Launches of the Python package.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use warpbound_base::Diagnostic;
use warpbound_query::LaunchFile;
use warpbound_query::input;

use crate::error::QueryError;

/// Launch of a grid, read from a file or from a text with arrays.
#[pyclass(frozen, module = "warpbound._native")]
pub struct NativeLaunch {
    pub(crate) launch: Arc<LaunchFile>,
}

#[pymethods]
impl NativeLaunch {
    /// Reads a launch file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<NativeLaunch> {
        let launch = py.detach(|| input::grid(&path)).map_err(QueryError::from)?;
        Ok(NativeLaunch {
            launch: Arc::new(launch),
        })
    }

    /// Parses the text of a launch file; `name` stands for the file in messages, `files` has the contents of the files
    /// that the text refers to.
    #[staticmethod]
    fn parse(
        py: Python<'_>,
        name: &str,
        text: &str,
        files: HashMap<String, Vec<u8>>,
    ) -> PyResult<NativeLaunch> {
        let read = |name: &str| {
            // Arrays of the caller stand for files, so nothing is read from disk.
            let contents = files.get(name).cloned();
            contents.ok_or_else(|| Diagnostic::new(format!("there is no array {name:?}")))
        };
        let launch = py.detach(|| LaunchFile::parse(name, text, &read));
        Ok(NativeLaunch {
            launch: Arc::new(launch.map_err(QueryError::from)?),
        })
    }
}
