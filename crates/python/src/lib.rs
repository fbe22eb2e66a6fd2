//! Extension module `warpbound._native` of the Python package: files, launches and queries.
//!
//! Options arrive as JSON objects, and reports leave as the JSON documents of the command line, so that names and
//! values have one meaning everywhere. The package turns them into dataclasses. For example, `bound` takes
//! `{"formula": ["n"]}` and returns a `warpbound.bound/1` document. All work is done without the lock of the
//! interpreter.
//!
//! # Concepts
//!
//! * options, queries, arrays: `python/src/options.rs`, `file.rs`, `rows.rs`
//! * dataclasses from JSON: `python/warpbound/results`, `python/warpbound/_documents.py`
//! * launches made in Python: `python/src/launch.rs`, `python/warpbound/launches.py`
//! * campaigns, their tasks and journals: `python/warpbound/campaign`; tests `python/tests/test_campaign.py`
//! * times of the package: `python/benches/measure.py`

mod error;
mod file;
mod launch;
mod options;
mod rows;

use pyo3::prelude::*;

/// The module `warpbound._native`.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::file::NativeFile;
    #[pymodule_export]
    use crate::launch::NativeLaunch;
    #[pymodule_export]
    use crate::rows::{columns, parquet};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
