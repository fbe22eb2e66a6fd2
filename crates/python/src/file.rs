//! Files of the Python package, and the queries on them.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use warpbound_audit::audit;
use warpbound_base::Diagnostic;
use warpbound_query::LaunchFile;
use warpbound_query::{BoundOptions, Library, Session, Shard, input};
use warpbound_query::{Kernel, NamePattern};
use warpbound_report::{BoundFormat, BoundWriter, KernelReport, ListReport, ListedImage, to_json};
use warpbound_runs::{RunHooks, execute, simulate};

use crate::error::{DiagnosticParts, QueryError, parts};
use crate::launch::NativeLaunch;
use crate::options::{
    AuditRequest, BoundRequest, FlowRequest, KernelQuery, LaunchStatements, RunRequest, parse,
};

/// JSON document of a query, with the diagnostics of images and kernels that cannot be used.
type Answer = (String, Vec<DiagnosticParts>);

/// Buffer or variable at the end of a run: name, whether it is a variable, and contents as an NPY file.
type NamedArray = (String, bool, Vec<u8>);

/// File with machine code.
#[pyclass(frozen, module = "warpbound._native")]
pub struct NativeFile {
    pub(crate) library: Library,
}

#[pymethods]
impl NativeFile {
    /// Opens a file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<NativeFile> {
        let library = py.detach(|| input::library(&path));
        Ok(NativeFile {
            library: library.map_err(QueryError::from)?,
        })
    }

    /// Lists the images of the file, without their kernels.
    fn images(&self) -> String {
        let directory = self.library.directory();
        let images = directory.images.into_iter();
        to_json(&ListReport {
            schema: ListReport::SCHEMA,
            file: directory.file,
            kind: directory.kind,
            images: images
                .map(|image| ListedImage {
                    image,
                    contents: None,
                })
                .collect(),
            // The directory lists all images, so none is left out.
            left_out: Vec::new(),
        })
    }

    /// Lists the kernels of images.
    fn kernels(&self, py: Python<'_>, options: &str) -> PyResult<Answer> {
        Ok(py.detach(|| self.list_kernels(&parse(options)?))?)
    }

    /// Bounds kernels.
    fn bound(
        &self,
        py: Python<'_>,
        options: &str,
        launch: Option<&Bound<'_, NativeLaunch>>,
    ) -> PyResult<Answer> {
        let launch = launch_of(launch);
        Ok(py.detach(|| self.bound_kernels(parse(options)?, launch))?)
    }

    /// Reports the divergence of kernels.
    fn divergence(
        &self,
        py: Python<'_>,
        options: &str,
        launch: Option<&Bound<'_, NativeLaunch>>,
    ) -> PyResult<Answer> {
        let launch = launch_of(launch);
        Ok(py.detach(|| self.report(parse(options)?, launch, Session::divergence))?)
    }

    /// Reports the memory accesses of kernels.
    fn access(
        &self,
        py: Python<'_>,
        options: &str,
        launch: Option<&Bound<'_, NativeLaunch>>,
    ) -> PyResult<Answer> {
        let launch = launch_of(launch);
        Ok(py.detach(|| self.report(parse(options)?, launch, warpbound_bounds::access))?)
    }

    /// Runs a launch; returns the report, and the buffers and variables at the end.
    fn run(
        &self,
        py: Python<'_>,
        options: &str,
        launch: &Bound<'_, NativeLaunch>,
    ) -> PyResult<(String, Vec<NamedArray>)> {
        // Shared, because the work runs without the lock of the interpreter.
        let launch = Arc::clone(&launch.get().launch);
        Ok(py.detach(|| self.run_launch(&parse(options)?, &launch))?)
    }

    /// Audits a launch and its variations.
    fn audit(
        &self,
        py: Python<'_>,
        options: &str,
        launch: &Bound<'_, NativeLaunch>,
    ) -> PyResult<String> {
        let launch = Arc::clone(&launch.get().launch);
        Ok(py.detach(|| self.audit_launch(&parse(options)?, &launch))?)
    }

    /// Bounds part `number` of `count` of the kernels; returns a JSON line for each, and the diagnostics of images and
    /// kernels that cannot be read.
    fn bound_rows(
        &self,
        py: Python<'_>,
        options: &str,
        launch: Option<PathBuf>,
        shard: (u64, u64),
    ) -> PyResult<(Vec<String>, Vec<DiagnosticParts>)> {
        let shard = Shard::new(shard.0, shard.1);
        let shard = shard.ok_or_else(|| PyValueError::new_err("there is no such shard"))?;
        Ok(py.detach(|| self.shard_rows(parse(options)?, launch, shard))?)
    }

    /// Audits a launch; returns its row as a JSON line, also if it fails.
    fn audit_row(
        &self,
        py: Python<'_>,
        options: &str,
        position: u64,
        launch: PathBuf,
    ) -> PyResult<String> {
        Ok(py
            .detach(|| self.audited_row(&parse(options)?, position, launch))
            .map_err(QueryError::from)?)
    }

    /// Runs a launch; returns its row as a JSON line, also if it fails.
    fn run_row(
        &self,
        py: Python<'_>,
        options: &str,
        position: u64,
        launch: PathBuf,
    ) -> PyResult<String> {
        Ok(py
            .detach(|| self.simulated_row(&parse(options)?, position, launch))
            .map_err(QueryError::from)?)
    }
}

fn launch_of(launch: Option<&Bound<'_, NativeLaunch>>) -> Option<Arc<LaunchFile>> {
    launch.map(|launch| Arc::clone(&launch.get().launch))
}

/// Stops a query if the user has interrupted the interpreter.
pub(crate) fn check_interrupt() -> Result<(), QueryError> {
    // Python handles signals only while its lock is held, which queries have released.
    Ok(Python::attach(|py| py.check_signals())?)
}

/// Returns the name of the requested kernels, or else the name in the launch file.
pub(crate) fn kernel_name<'a>(
    query: &'a KernelQuery,
    options: &'a BoundOptions,
) -> Option<&'a str> {
    let file = options.launches.file.as_ref();
    query.kernel.as_deref().or_else(|| file?.kernel.as_deref())
}

impl NativeFile {
    fn list_kernels(&self, query: &KernelQuery) -> Result<Answer, QueryError> {
        let library = &self.library;
        let numbers = library.select(&query.selection()?)?;
        let pattern = query.kernel.as_deref().map(NamePattern::new);
        let directory = library.directory();
        let (mut images, mut problems) = (Vec::new(), Vec::new());
        for image in directory.images {
            if !numbers.contains(&image.number) {
                continue;
            }
            match library.session(image.number) {
                Ok(session) => {
                    let report = session.list_matching(pattern.as_ref());
                    if let Some(why) = &report.refused {
                        problems.push(Diagnostic::new(why).in_file(report.file.as_str()));
                    }
                    // With a name, images without such a kernel are not worth a line.
                    if pattern.is_none() || !report.kernels.is_empty() {
                        images.push(ListedImage {
                            image,
                            contents: Some(report),
                        });
                    }
                }
                Err(diagnostic) => problems.push(diagnostic),
            }
        }
        // If nothing is left, the last problem says why better than "no such kernel".
        if images.is_empty() {
            let nothing = || library.no_kernel(&numbers, query.kernel.as_deref());
            return Err(problems.pop().unwrap_or_else(nothing).into());
        }
        let left_out = library.left_out(&query.selection()?, query.kernel.as_deref());
        problems.extend(left_out.iter().map(|of| Diagnostic::new(of.message())));
        let document = to_json(&ListReport {
            schema: ListReport::SCHEMA,
            file: directory.file,
            kind: directory.kind,
            images,
            left_out,
        });
        Ok((document, problems.iter().map(parts).collect()))
    }

    fn bound_kernels(
        &self,
        request: BoundRequest,
        launch: Option<Arc<LaunchFile>>,
    ) -> Result<Answer, QueryError> {
        let mut document = BoundWriter::new(Vec::new(), BoundFormat::Json, self.library.name());
        let problems = self.bounds(request, launch, Shard::ALL, |_, bound| match bound {
            // Cannot fail, because a vector accepts every byte.
            Ok(bound) => drop(document.kernel(&bound)),
            Err(images) => document.leave_out(&images),
        })?;
        let document = document.finish().unwrap_or_default();
        let document = String::from_utf8(document).unwrap_or_default();
        Ok((document, problems.iter().map(parts).collect()))
    }

    /// Makes a report on each kernel. The document is the list of the reports.
    fn report<R: KernelReport>(
        &self,
        request: FlowRequest,
        launch: Option<Arc<LaunchFile>>,
        make: impl Fn(&Session, &Kernel, &BoundOptions) -> Result<R, Diagnostic>,
    ) -> Result<Answer, QueryError> {
        let library = &self.library;
        let FlowRequest { kernels, launches } = request;
        let options = statements(launches, library, launch)?;
        let name = kernel_name(&kernels, &options);
        let images = library.select(&kernels.selection()?)?;
        library.check_launches(&images, name, &options.launches)?;
        let (mut reports, mut problems) = (Vec::new(), Vec::new());
        for item in library.kernels(&images, name) {
            // Between kernels, because one analysis does not return to the interpreter.
            check_interrupt()?;
            let report = item
                .and_then(|(session, index)| make(&session, session.kernel_at(index)?, &options));
            match report {
                Ok(report) => reports.push(to_json(&report)),
                Err(why) => problems.push(why),
            }
        }
        if reports.is_empty() {
            let nothing = || library.no_kernel(&images, name);
            return Err(problems.pop().unwrap_or_else(nothing).into());
        }
        let left_out = library.left_out(&kernels.selection()?, name);
        problems.extend(left_out.iter().map(|of| Diagnostic::new(of.message())));
        let document = format!("[{}]", reports.join(","));
        Ok((document, problems.iter().map(parts).collect()))
    }

    fn run_launch(
        &self,
        request: &RunRequest,
        launch: &LaunchFile,
    ) -> Result<(String, Vec<NamedArray>), QueryError> {
        let (session, name) = self.launched(&request.kernels, launch)?;
        let kernel = session.launched_kernel(name, launch.kernel.as_deref())?;
        let array = |array: warpbound_query::FinalArray<'_>| {
            (
                array.name.to_owned(),
                array.is_variable,
                array.array.to_npy(),
            )
        };
        if request.functional {
            let run = execute(
                &session,
                kernel,
                launch,
                &request.functional()?,
                &mut |_| (),
            )?;
            let run = run.as_expected()?;
            let arrays = run.arrays(launch).map(array).collect();
            return Ok((to_json(&run.report), arrays));
        }
        let hooks = RunHooks {
            events: None,
            timeline: None,
            progress: &mut |_| (),
        };
        let run = simulate(&session, kernel, launch, &request.timed(&session)?, hooks)?;
        let arrays = run.arrays(launch).map(array).collect();
        match run.unexpected {
            Some(diagnostic) => Err(diagnostic.into()),
            None => Ok((to_json(&run.report), arrays)),
        }
    }

    fn audit_launch(
        &self,
        request: &AuditRequest,
        launch: &LaunchFile,
    ) -> Result<String, QueryError> {
        let (session, name) = self.launched(&request.kernels, launch)?;
        let kernel = session.launched_kernel(name, launch.kernel.as_deref())?;
        let options = request.facts.options(&self.library)?;
        let runs = request.options(&self.library)?;
        let report = audit(&session, kernel, launch, &options, &runs, |_| ())?;
        Ok(to_json(&report))
    }

    /// Returns the image with the kernel of a launch, and the requested name of the kernel if there is one.
    pub(crate) fn launched<'a>(
        &self,
        query: &'a KernelQuery,
        launch: &LaunchFile,
    ) -> Result<(Arc<Session>, Option<&'a str>), Diagnostic> {
        if self.library.is_text() {
            let message = "launches of the package are of GPU kernels, this is mini-SIMT";
            let refused = Diagnostic::new(message).in_file(self.library.name());
            return Err(refused.hint("the command `warpbound run` runs it"));
        }
        let name = query.kernel.as_deref();
        let session = self
            .library
            .launched_session(&query.selection()?, name, launch)?;
        Ok((session, name))
    }
}

/// Returns the options for an analysis of control flow.
fn statements(
    launches: LaunchStatements,
    library: &Library,
    launch: Option<Arc<LaunchFile>>,
) -> Result<BoundOptions, Diagnostic> {
    launches.options(library, launch, BoundOptions::default())
}
