//! `warpbound bound`.

use warpbound_base::Diagnostic;
use warpbound_driver::{BoundOptions, ProfiledLaunch, Unusable};
use warpbound_report::{BoundWriter, KernelBound};

use crate::arguments::BoundArguments;
use crate::output::Output;
use crate::progress::Progress;
use crate::{CommandError, NO_BOUND, UNUSABLE, facts_options, input, print_diagnostic};

/// Maximum of text bytes spooled in memory until the table before them is complete; beyond it, a temporary file is
/// used.
const SPOOLED: usize = 16 << 20;

/// Bounds kernels and returns the exit code.
pub(crate) fn bound(arguments: &BoundArguments) -> Result<u8, CommandError> {
    let BoundArguments {
        input,
        kernel,
        facts,
        call_default,
        launch,
        domains,
        flow,
        format,
        output,
        explain,
        time_limit,
        timing,
        jobs,
        ..
    } = arguments;
    let library = input::library(&input.file)?;
    let profiled_launch = profiled_launch(arguments)?;
    let grid = profiled_launch.as_ref().map(|launch| &launch.file);
    // A launch is one of its kernel only.
    let kernel = kernel.clone().or_else(|| grid?.kernel.clone());
    let kernel = kernel.as_deref();
    let options = BoundOptions {
        block: launch.block.or(grid.map(|grid| grid.block)),
        warp_width: launch.warp_width,
        model: domains.model(),
        reading: (*flow).into(),
        call_default: *call_default,
        time_limit: *time_limit,
        timing: *timing,
        profiled_launch,
        ..facts_options(&library, facts)?
    };
    let jobs = jobs.and_then(|jobs| usize::try_from(jobs).ok());
    let jobs = jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let out = Output::open(output.output.as_deref())?;
    let mut report = BoundWriter::new(out, (*format).into(), &input.name())
        .spooled(tempfile::spooled_tempfile(SPOOLED))
        .explained(*explain);
    let images = library.select(&input.selection())?;
    let mut progress = Progress::new();
    let (mut is_empty, mut code) = (true, 0);
    // With --kernel, an unreadable image is no error of the command: the kernel may be in another one.
    let image_code = match kernel {
        Some(_) => 0,
        None => UNUSABLE,
    };
    let mut diagnostics = Vec::new();
    let each = |result: Result<KernelBound, Unusable>| {
        match result {
            Ok(kernel) => {
                is_empty = false;
                let position = kernel.image.and_then(|n| images.binary_search(&n).ok());
                progress.show(&kernel, position.unwrap_or(0), images.len());
                if kernel.verdict.bound().is_none() {
                    code = code.max(NO_BOUND);
                }
                report.kernel(&kernel)?;
            }
            Err(Unusable::Image(diagnostic)) => {
                code = code.max(image_code);
                diagnostics.push(diagnostic);
            }
            Err(Unusable::Kernel(diagnostic)) => {
                code = UNUSABLE;
                diagnostics.push(diagnostic);
            }
        }
        Ok(())
    };
    let done: Result<(), CommandError> = library.bounds(&images, kernel, &options, jobs, each);
    progress.clear();
    done?;
    if is_empty {
        let last = diagnostics.pop();
        diagnostics.iter().for_each(print_diagnostic);
        let nothing = || library.no_kernel(&images, kernel);
        return Err(last.unwrap_or_else(nothing).into());
    }
    report.finish()?.finish()?;
    diagnostics.iter().for_each(print_diagnostic);
    Ok(code)
}

/// Reads the launch whose warps are profiled, if one is stated.
fn profiled_launch(arguments: &BoundArguments) -> Result<Option<ProfiledLaunch>, Diagnostic> {
    let Some(path) = &arguments.launch_file else {
        return Ok(None);
    };
    Ok(Some(ProfiledLaunch {
        file: input::grid(path)?,
        contents: arguments.contents.into(),
    }))
}
