//! Rows of results, for campaigns.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use warpbound_audit::audit;
use warpbound_base::Diagnostic;
use warpbound_bounds::bounds;
use warpbound_query::LaunchFile;
use warpbound_query::{AskedImages, Shard, Unusable, input};
use warpbound_report::{KernelBound, LeftOutImages};
use warpbound_rows::{
    AuditRecord, BoundRecord, ResultTable, RowFormat, RowWriter, RunOutcome, RunRecord, TableCell,
};
use warpbound_runs::{RunHooks, execute, simulate};

use crate::error::{DiagnosticParts, QueryError, parts};
use crate::file::{NativeFile, check_interrupt, kernel_name};
use crate::options::{AuditRequest, BoundRequest, RunRequest};

impl NativeFile {
    /// Returns the rows of the bounds of a shard, and the diagnostics of images and kernels that cannot be read.
    pub(crate) fn shard_rows(
        &self,
        request: BoundRequest,
        launch: Option<PathBuf>,
        shard: Shard,
    ) -> Result<(Vec<String>, Vec<DiagnosticParts>), QueryError> {
        let file = self.library.name();
        let launch = launch.map(|path| input::grid(&path)).transpose()?;
        let mut rows = Vec::new();
        let problems = self.bounds(
            request,
            launch.map(Into::into),
            shard,
            |position, kernel| {
                let record = BoundRecord {
                    position,
                    file,
                    kernel: kernel.as_ref(),
                };
                rows.push(ResultTable::Bounds.json_line(&record.cells()));
            },
        )?;
        Ok((rows, problems.iter().map(parts).collect()))
    }

    /// Audits a launch and returns its row.
    pub(crate) fn audited_row(
        &self,
        request: &AuditRequest,
        position: u64,
        path: PathBuf,
    ) -> Result<String, Diagnostic> {
        let name = path.display().to_string();
        // Outside the closure: wrong options are an error of the call, not of one launch.
        let options = request.facts.options(&self.library)?;
        let runs = request.options(&self.library)?;
        let audit = || {
            let launch = input::grid(&path)?;
            let (session, name) = self.launched(&request.kernels, &launch)?;
            let kernel = session.launched_kernel(name, launch.kernel.as_deref())?;
            audit(&session, kernel, &launch, &options, &runs, |_| ())
        };
        // A launch that fails has a row as well, with the reason.
        let audit = audit().map_err(|why| why.to_string());
        let record = AuditRecord {
            position,
            file: self.library.name(),
            launch: &name,
            audit: audit.as_ref().map_err(String::as_str),
        };
        Ok(ResultTable::Audits.json_line(&record.cells()))
    }

    /// Runs a launch and returns its row.
    pub(crate) fn simulated_row(
        &self,
        request: &RunRequest,
        position: u64,
        path: PathBuf,
    ) -> Result<String, Diagnostic> {
        let name = path.display().to_string();
        let row = |outcome: RunOutcome<'_>| {
            let record = RunRecord {
                position,
                file: self.library.name(),
                launch: &name,
                outcome,
            };
            ResultTable::Runs.json_line(&record.cells())
        };
        let run = || {
            let launch = input::grid(&path)?;
            let (session, name) = self.launched(&request.kernels, &launch)?;
            let kernel = session.launched_kernel(name, launch.kernel.as_deref())?;
            if request.functional {
                let run = execute(
                    &session,
                    kernel,
                    &launch,
                    &request.functional()?,
                    &mut |_| (),
                )?;
                return Ok(row(RunOutcome::Functional(&run.as_expected()?.report)));
            }
            let hooks = RunHooks {
                events: None,
                timeline: None,
                progress: &mut |_| (),
            };
            let run = simulate(&session, kernel, &launch, &request.timed(&session)?, hooks)?;
            match run.unexpected {
                Some(why) => Err(why),
                None => Ok(row(RunOutcome::Timed(&run.report))),
            }
        };
        // A campaign goes on after a launch that fails, so the failure becomes a row.
        Ok(run().unwrap_or_else(|why: Diagnostic| row(RunOutcome::Failed(&why.to_string()))))
    }

    /// Bounds the kernels of a shard. Returns the diagnostics of images and kernels that cannot be read. A shard
    /// without kernels is no error.
    pub(crate) fn bounds(
        &self,
        mut request: BoundRequest,
        launch: Option<Arc<LaunchFile>>,
        shard: Shard,
        mut each: impl FnMut(u64, Result<KernelBound, LeftOutImages>),
    ) -> Result<Vec<Diagnostic>, QueryError> {
        let library = &self.library;
        // Taken out first, because `options` consumes the request.
        let query = std::mem::take(&mut request.kernels);
        let jobs = request.jobs;
        let jobs =
            jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        let options = request.options(library, launch)?;
        let kernel = kernel_name(&query, &options);
        let images = library.select(&query.selection()?)?;
        library.check_launches(&images, kernel, &options.launches)?;
        let left_out = library.left_out(&query.selection()?, kernel);
        let mut is_empty = true;
        let mut problems = Vec::new();
        bounds(
            library,
            AskedImages {
                images: &images,
                left_out: &left_out,
            },
            kernel,
            &options,
            shard,
            jobs,
            |position, result| {
                match result {
                    Ok(bound) => {
                        is_empty = false;
                        each(position, Ok(bound));
                    }
                    Err(Unusable::LeftOut(images)) => {
                        problems.push(Diagnostic::new(images.message()));
                        each(position, Err(images));
                    }
                    Err(Unusable::Image(why) | Unusable::Kernel(why)) => problems.push(why),
                }
                check_interrupt()
            },
        )?;
        // Only the shard that would have the first kernel reports that there is none; otherwise all shards would.
        if is_empty && (shard.contains(0) || !problems.is_empty()) {
            let nothing = || library.no_kernel(&images, kernel);
            return Err(problems.pop().unwrap_or_else(nothing).into());
        }
        Ok(problems)
    }
}

/// Returns the table with this name: `bounds`, `audits` or `runs`.
fn table(name: &str) -> PyResult<ResultTable> {
    let tables = [ResultTable::Bounds, ResultTable::Audits, ResultTable::Runs];
    let found = tables.into_iter().find(|table| table.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("there is no table {name:?}")))
}

/// Value of a row.
#[derive(FromPyObject)]
pub(crate) enum RowValue {
    Text(String),
    Integer(i64),
    Real(f64),
}

impl From<RowValue> for TableCell {
    fn from(value: RowValue) -> TableCell {
        match value {
            RowValue::Text(text) => TableCell::Text(text),
            RowValue::Integer(number) => TableCell::Integer(number),
            RowValue::Real(number) => TableCell::Real(number),
        }
    }
}

/// Returns the Parquet file with the rows of a table, each a value for each column.
#[pyfunction]
pub(crate) fn parquet<'py>(
    py: Python<'py>,
    name: &str,
    rows: Vec<Vec<Option<RowValue>>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let table = table(name)?;
    let write = || {
        let mut writer = RowWriter::new(Vec::new(), RowFormat::Parquet, table)?;
        for row in rows {
            let cell = |value: Option<RowValue>| value.map_or(TableCell::Absent, TableCell::from);
            writer.row(row.into_iter().map(cell).collect())?;
        }
        writer.finish()
    };
    Ok(PyBytes::new(py, &py.detach(write)?))
}

/// Returns the names of the columns of a table.
#[pyfunction]
pub(crate) fn columns(name: &str) -> PyResult<Vec<&'static str>> {
    let columns = table(name)?.columns();
    Ok(columns.into_iter().map(|(name, _)| name).collect())
}
