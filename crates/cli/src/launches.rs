//! Launches that analyses assume: options and launch file.

use std::sync::Arc;

use warpbound_base::Diagnostic;
use warpbound_query::{BoundOptions, Library, StatedLaunches};

use crate::arguments::LaunchArguments;
use warpbound_query::input;

/// Adds the user's launches to options.
///
/// # Errors
///
/// If the launch file cannot be used.
pub(crate) fn launch_options(
    library: &Library,
    launch: &LaunchArguments,
    options: BoundOptions,
) -> Result<BoundOptions, Diagnostic> {
    let LaunchArguments {
        launch: file,
        block,
        grid,
        params,
        warp_width,
    } = launch;
    let file = match file {
        Some(_) if library.is_text() => {
            let message = "--launch is for GPU kernels, this is mini-SIMT";
            return Err(Diagnostic::new(message).in_file(library.name()));
        }
        Some(file) => Some(Arc::new(input::grid(file)?)),
        None => None,
    };
    Ok(BoundOptions {
        warp_width: *warp_width,
        launches: StatedLaunches {
            file,
            block: *block,
            grid: *grid,
            params: params.clone(),
        },
        ..options
    })
}

/// Returns the name of the requested kernels: from `--kernel`, else from the launch file.
pub(crate) fn kernel_name<'a>(
    kernel: Option<&'a str>,
    options: &'a BoundOptions,
) -> Option<&'a str> {
    let file = options.launches.file.as_ref();
    kernel.or_else(|| file?.kernel.as_deref())
}
